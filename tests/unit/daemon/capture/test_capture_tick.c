/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What capture's thread does in a tick, in virtual time and without the thread: the board's handle, commands,
 * status, when it rests, how it stops. With real ones: test_capture.c.
 */
#include "tests/unit/daemon/capture/link_rig.h"

#include <errno.h>
#include <malloc.h>
#include <string.h>

#include "daemon/core/now.h"

static uint64_t mono_ns, mono_step_ns; /* a look at the time takes so long */
static uint64_t virtual_now_ns(void)
{
	return mono_ns += mono_step_ns;
}
#define now_mono_ns virtual_now_ns
#define tick	    capture_tick /* the rig has one */
#include "daemon/capture/capture.c"
#undef now_mono_ns

#define MS 1000000ull

static struct queue blocks, settled, commands, reports;
static struct capture *C;

static struct capture_config config(void)
{
	return (struct capture_config){
		.board_where = "the board of the rig",
		.links = 1,
		.block_frames = BLOCK,
		.tick_us = 2000,
		.groups = 1,
		.group_streams = {1u << FCM_PMT},
		.expected = {{1, 1}},
		.pool_bytes = 16u << 20,
	};
}

static void create(const struct capture_config *c)
{
	assert_int_equal(capture_create(c, &blocks, &settled, &commands, &reports, &C), 0);
	C->now_ns = mono_ns;
}

static int begin(void **state)
{
	assert_int_equal(set_up(state), 0);
	assert_int_equal(queue_init(&blocks, sizeof(struct block *), 1024, 0), 0);
	assert_int_equal(queue_init(&settled, sizeof(struct block *), 1024, 0), 0);
	assert_int_equal(queue_init(&commands, sizeof(struct capture_command), 64, 0), 0);
	assert_int_equal(queue_init(&reports, sizeof(struct capture_report), 1024, 0), 0);
	mono_ns = 100000 * MS;
	mono_step_ns = 0;
	B.can_open = true;
	B.waited_ms = -1;
	return 0;
}

static int end(void **state)
{
	capture_destroy(C);
	C = NULL;
	queue_fini(&blocks);
	queue_fini(&settled);
	queue_fini(&commands);
	queue_fini(&reports);
	return tear_down(state);
}

/* Into the ring, and so much time goes by. */
static void come(unsigned buffers)
{
	while (buffers-- > 0) {
		uint8_t *cells = B.cells[B.ring.write_position % DEPTH];

		for (unsigned i = 0; i < PER; i++) {
			floor_rig_frame(&B.floor, B.count + i - RIG_DELAY,
					cells + (size_t)i * TDM_FRAME_BYTES);
		}
		complete(PER, PER * TDM_FRAME_BYTES);
		mono_ns += PER * TDM_FRAME_NS;
	}
}

/* What a publisher would do at once. */
static unsigned settle_all(void)
{
	struct block **place;
	unsigned n = 0;

	for (; (place = queue_peek(&blocks)); n++) {
		struct block *b = *place;

		queue_release(&blocks);
		if (!b) { /* no memory */
			continue;
		}
		b->outcome[0] = OUTCOME_ACKED;
		*(struct block **)queue_reserve(&settled) = b;
		queue_commit(&settled);
	}
	return n;
}

static unsigned told(enum capture_report_type type)
{
	const struct capture_report *r;
	unsigned n = 0;

	while ((r = queue_peek(&reports))) {
		n += r->type == type;
		queue_release(&reports);
	}
	return n;
}

static void command(const struct capture_command *what)
{
	struct capture_command *place = queue_reserve(&commands);

	*place = *what;
	queue_commit(&commands);
}

/* ------------------------------------------------------------------ the contract's numbers */

static void a_configuration_out_of_range_is_refused(void **state)
{
	struct capture_config c = config();
	struct capture *none = NULL;

	create(&c);
	for (unsigned i = 0; i < 4; i++) {
		c = config();
		c.block_frames = i == 0 ? 0 : i == 1 ? 81 : BLOCK;
		c.tick_us = i == 2 ? 999 : 1000;
		c.groups = i == 3 ? GROUPS_MAX + 1 : 1;
		assert_int_equal(capture_create(&c, NULL, NULL, NULL, NULL, &none), -EINVAL);
	}
	capture_destroy(C);
	c = config();
	c.tick_us = 1000;
	c.groups = GROUPS_MAX;
	create(&c);
}

static void so_many_frames_may_be_out(void **state)
{
	struct capture_config c = config();

	create(&c);
	assert_int_equal(capture_out_frames(16000, 80), 16000);
	assert_int_equal(capture_out_frames(1000000, 8), 4096 * 7 / 8 * 8);
	assert_int_equal(capture_out_frames(1000000, 1600), 14 * 8000);
}

/* ------------------------------------------------------------------ the handle */

static void only_the_links_of_the_configuration_are_claimed(void **state)
{
	struct capture_config c = config();

	c.links = 0x5;
	create(&c);
	assert_int_equal(open_board(C), 0);
	assert_int_equal(B.claims, 2);
	assert_true(C->links[0].claimed && C->links[2].claimed);
	assert_false(C->links[1].claimed || C->links[3].claimed);
	assert_int_equal(told(CAPTURE_TAKEOVER), 2);
}

/* All links or none. */
static void a_board_whose_link_is_taken_is_closed_again(void **state)
{
	struct capture_config c = config();

	create(&c);
	B.claim_error = -EBUSY;
	assert_int_equal(capture_start(C), -EBUSY);
	assert_null(C->board);
	assert_int_equal(B.closed, 1);
	assert_false(C->running);
}

/* An account that is over has a place until its blocks are back: without one for each link nothing is opened. */
static void a_board_is_not_opened_before_there_is_a_place_for_its_end(void **state)
{
	struct capture_config c = config();
	struct capture_status s;

	create(&c);
	for (unsigned i = 0; i < CAPTURE_RETIRED; i++) {
		assert_int_equal(open_board(C), 0);
		come(10);
		tick(C, true);
		capture_get_status(C, &s);
		assert_true(s.links[0].claimed);
		close_board(C);
		B.ring.release_position = B.ring.write_position;
		B.ring.start_count = B.count;
	}
	assert_int_equal(open_board(C), -EAGAIN);
	assert_int_equal(B.opened, CAPTURE_RETIRED);
	settle_all();
	tick(C, false);
	capture_get_status(C, &s);
	assert_false(s.links[0].claimed);
	assert_int_equal(open_board(C), 0);
}

/* Every half second. */
static void a_board_that_is_gone_is_looked_for_again(void **state)
{
	struct capture_config c = config();

	create(&c);
	assert_int_equal(open_board(C), 0);
	tick(C, true);
	assert_int_equal(B.waited_ms, 0);
	B.gone = true;
	tick(C, true);
	assert_null(C->board);
	assert_true(C->published.board_gone);
	assert_int_equal(C->published.board_error, -ENODEV);
	assert_false(C->links[0].claimed);
	assert_int_equal(B.closed, 1);
	B.gone = false;
	B.can_open = false;
	mono_ns += 500 * MS - 1;
	tick(C, true);
	assert_int_equal(C->next_retry_ns, mono_ns + 1);
	mono_ns++;
	tick(C, true);
	assert_int_equal(C->next_retry_ns, mono_ns + 500 * MS);
	assert_true(C->published.board_gone);
	B.can_open = true;
	mono_ns += 500 * MS;
	tick(C, false); /* stopping: no new data */
	assert_null(C->board);
	tick(C, true);
	assert_non_null(C->board);
	assert_false(C->published.board_gone);
	assert_int_equal(C->published.board_error, 0);
	B.wait_error = -EINTR;
	tick(C, true);
	assert_non_null(C->board);
	B.wait_error = -EIO;
	tick(C, true);
	assert_null(C->board);
	assert_int_equal(C->published.board_error, -EIO);
}

/* Everything in the ring is accounted for when it goes, whatever waits; what has no memory is dropped. */
static void a_board_that_goes_leaves_no_cell_unread(void **state)
{
	struct capture_config c = config();

	c.pool_bytes = 1u << 20;
	create(&c);
	assert_int_equal(open_board(C), 0);
	come(21); /* blocks and a piece of one */
	tick(C, true);
	come(60);
	B.gone = true;
	tick(C, true);
	assert_int_equal(C->links[0].head, B.count);
	assert_true(C->links[0].status.blocks_dropped > 0);
	assert_false(C->hurried);
	assert_false(C->dropping);
	settle_all();
	tick(C, true);
	assert_true(out_retired(&C->links[0]));
}

/* The ended losses to the board that were reported: how many frames, from where. */
static uint64_t lost_to_board(uint64_t *ret_first)
{
	const struct capture_report *r;
	uint64_t frames = 0;

	while ((r = queue_peek(&reports))) {
		if (r->type == CAPTURE_LOSS && r->loss.code == TDM_LOSS_BOARD_FIFO &&
		    !r->loss.open) {
			*ret_first = frames == 0 ? r->loss.first : *ret_first;
			frames += r->loss.frames;
		}
		queue_release(&reports);
	}
	return frames;
}

/* The board is found again, after `away` frames; a ring of another epoch begins with its next one. */
static void found_again(uint64_t away, bool new_epoch)
{
	B.gone = false;
	B.count += away;
	if (new_epoch) {
		B.ring.dma_epoch++;
		B.ring.start_count = B.count;
		B.ring.write_position = B.ring.release_position = 0;
	}
	mono_ns += 1000 * MS;
	tick(C, false);
	tick(C, true);
	assert_non_null(C->board);
}

/* What a board counts while its driver has lost it has a name, if it is the same boot and another ring. */
static void what_a_lost_board_counts_is_lost_by_name(void **state)
{
	static const struct {
		uint32_t boots;
		uint64_t away; /* frames */
		unsigned losses;
		bool taken_over, same_ring;
		uint64_t told;
	} rows[] = {
		{0, 5000, 1, false, false, 5000},
		{0, 40000, 1, false, false, 40000},
		{0, 0, 1, false, false, 0},
		{1, 5000, 1, false, false, 0},
		{0, 5000, 3, false, false, 15000}, /* again before anything came */
		{0, 5000, 1, true, false, 5000},   /* a ring of our own that was not read */
		{0, 0, 1, true, true, 0},	   /* it went on */
		{0, 240001, 1, false, false, 0},   /* more than is told */
		{0, 1ull << 33, 1, false, false, 0},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct capture_config c = config();
		uint64_t broke_off, first = 0;

		if (i > 0) {
			assert_int_equal(end(state), 0);
			assert_int_equal(begin(state), 0);
		}
		create(&c);
		assert_int_equal(open_board(C), 0);
		come(21);
		tick(C, true);
		come(3); /* these are read when it is gone */
		B.gone = true;
		tick(C, true);
		broke_off = B.count;
		settle_all();
		lost_to_board(&first);
		B.info.boot_count += rows[i].boots;
		for (unsigned n = 0; n < rows[i].losses; n++) {
			B.gone = true;
			tick(C, true);
			B.taken_over = rows[i].taken_over;
			found_again(rows[i].away, !rows[i].same_ring);
		}
		for (unsigned n = 0; n < 60; n++) {
			come(1);
			tick(C, true);
			settle_all();
		}
		B.gone = true;
		tick(C, true);
		assert_int_equal(lost_to_board(&first), rows[i].told);
		assert_int_equal(C->links[0].status.cells[TDM_LOSS_BOARD_FIFO], rows[i].told);
		assert_true(rows[i].told == 0 || first == broke_off);
		assert_true(C->links[0].status.cells[TDM_GOOD] > 1200);
		B.gone = false;
	}
}

/* Another handle acts for the links: said once, and again of a board that was opened again. */
static void another_handle_is_granted_once(void **state)
{
	struct capture_config c = config();

	c.links = 0x3;
	create(&c);
	assert_int_equal(open_board(C), 0);
	tick(C, true);
	assert_int_equal(B.grants, 0);
	capture_grant(C, 77);
	tick(C, true);
	tick(C, true);
	assert_int_equal(B.grants, 2);
	assert_int_equal(B.granted, 77);
	B.gone = true;
	tick(C, true);
	capture_grant(C, 78);
	tick(C, true); /* nothing to grant while it is gone */
	assert_int_equal(B.grants, 2);
	B.gone = false;
	mono_ns += 500 * MS;
	tick(C, true);
	assert_int_equal(B.grants, 4);
	assert_int_equal(B.granted, 78);
}

/* ------------------------------------------------------------------ labels */

static void a_label_speaks_of_one_boot_of_one_board(void **state)
{
	struct capture_config c = config();

	create(&c);
	for (unsigned i = 0; i < 4; i++) {
		B.info.serial += i == 1;
		B.info.boot_count += i == 2;
		assert_int_equal(open_board(C), 0);
		assert_int_equal(C->label_known, i == 3);
		C->label_known = true;
		C->label = rig_label(1);
		close_board(C);
	}
}

static void a_label_is_in_the_page_before_a_block_carries_it(void **state)
{
	struct capture_command label = {.type = CAPTURE_LABEL, .label = rig_label(9)};
	struct capture_config c = config();
	struct owner_account account;

	create(&c);
	assert_int_equal(open_board(C), 0);
	command(&label);
	tick(C, true);
	assert_int_equal(owner_load(B.page, &C->links[0].owner, B.ring.dma_epoch, &account), 0);
	assert_int_equal(account.labels, 1);
	assert_int_equal(account.label[0].label.time_epoch, 9);
	assert_true(C->label_known);
}

/* ------------------------------------------------------------------ commands of the store */

/* Rows of an earlier beginning of the link say nothing of those in this one's page. */
static void saved_rows_leave_the_page_of_their_own_beginning_only(void **state)
{
	struct capture_config c = config();

	create(&c);
	for (unsigned generation = 1; generation <= 2; generation++) {
		struct capture_command saved = {.type = CAPTURE_SAVED, .generation = 1};

		assert_int_equal(open_board(C), 0);
		assert_int_equal(C->links[0].generation, generation);
		for (unsigned n = 0; n < 8 * 100; n++) { /* 8 seconds */
			come(5);
			tick(C, true);
			settle_all();
			tick(C, true);
			told(0);
			saved.second = B.count / 8000;
			command(&saved);
		}
		assert_int_equal(C->links[0].status.rows_forgotten > 0, generation == 2);
		close_board(C);
		settle_all();
		tick(C, false);
		B.ring.start_count = B.count;
		B.ring.release_position = B.ring.write_position;
	}
}

/* ------------------------------------------------------------------ reports and status */

static void open_rows_are_told_every_half_second(void **state)
{
	struct capture_config c = config();

	create(&c);
	assert_int_equal(open_board(C), 0);
	come(20);
	tick(C, true);
	settle_all();
	mono_ns += 500 * MS;
	tick(C, true);
	assert_false(C->outbox.rang); /* the bell has been rung for them */
	assert_true(told(CAPTURE_LINK_ROW) > 0);
	mono_ns += 500 * MS - 1;
	tick(C, true);
	assert_int_equal(told(CAPTURE_LINK_ROW), 0);
	mono_ns++;
	tick(C, true);
	assert_true(told(CAPTURE_LINK_ROW) > 0);
}

static void the_status_is_that_of_the_last_tick(void **state)
{
	struct capture_config c = config();
	struct capture_status s;

	create(&c);
	assert_int_equal(open_board(C), 0);
	come(20);
	tick(C, true);
	settle_all();
	tick(C, true);
	tick(C, true);
	capture_get_status(C, &s);
	assert_int_equal(s.ticks, 3);
	assert_int_equal(s.last_tick_ns, mono_ns);
	assert_int_equal(s.pool_bytes, 16u << 20);
	assert_int_equal(s.links[0].floor, 1);
	assert_int_equal(s.links[0].dma_epoch, 3);
	assert_int_equal(s.links[0].ring_write, 20);
	assert_int_equal(s.links[0].ring_release, B.ring.release_position);
	assert_int_equal(s.links[0].ring_depth, DEPTH);
	assert_int_equal(s.links[0].cursor_count,
			 ack_tracker_account(C->links[0].settle)->cursor.count);
	assert_true(s.links[0].cursor_count > 0);
	assert_int_equal(s.links[1].ring_depth, 0);
}

/* ------------------------------------------------------------------ the journal's run */

/* New rings wait for it, as long as they may; a ring that was read does not. */
static void new_rings_wait_for_the_journals_run(void **state)
{
	struct capture_config c = config();
	uint64_t read;

	create(&c);
	assert_int_equal(open_board(C), 0);
	C->journal_by_ns = mono_ns + 100 * PER * TDM_FRAME_NS;
	come(10);
	tick(C, true);
	assert_int_equal(C->links[0].read_position, 0);
	come(89);
	tick(C, true);
	assert_int_equal(C->links[0].read_position, 0);
	come(1);
	tick(C, true);
	assert_true(C->links[0].read_position > 0);
	C->journal_by_ns = UINT64_MAX; /* it was read */
	read = C->links[0].read_position;
	tick(C, true);
	assert_true(C->links[0].read_position > read);
}

static void a_run_that_is_known_is_not_waited_for(void **state)
{
	struct capture_command journal = {.type = CAPTURE_RUN_JOURNAL, .run = 5};
	struct capture_config c = config();

	create(&c);
	assert_int_equal(open_board(C), 0);
	C->journal_by_ns = UINT64_MAX;
	come(10);
	command(&journal);
	tick(C, true);
	assert_true(C->links[0].read_position > 0);
}

/* ------------------------------------------------------------------ rest */

/* Blocks of two ticks at most come when the board hands over, replies that are awaited at once. */
static void who_waits_for_the_board_is_woken_by_it(void **state)
{
	static const struct {
		uint32_t block_frames;
		bool attended;
		int waited_ms;
	} table[] = {{32, false, 2}, {40, false, -1}, {80, false, -1}, {80, true, 2}};
	struct capture_config c = config();

	for (unsigned i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		capture_destroy(C);
		c.block_frames = table[i].block_frames;
		create(&c);
		B.waited_ms = -1;
		rest(C); /* no board: the clock alone */
		assert_int_equal(B.waited_ms, -1);
		assert_int_equal(open_board(C), 0);
		if (table[i].attended) {
			capture_attend(C);
			mono_ns += 10 * MS - 1;
			C->now_ns = mono_ns;
		}
		rest(C);
		assert_int_equal(B.waited_ms, table[i].waited_ms);
		B.waited_ms = -1;
		mono_ns += table[i].attended; /* 10 ms are over */
		C->now_ns = mono_ns;
		rest(C);
		assert_int_equal(B.waited_ms, table[i].attended ? -1 : table[i].waited_ms);
		close_board(C);
		settle_all();
	}
	c.block_frames = 32;
	capture_destroy(C);
	create(&c);
	assert_int_equal(open_board(C), 0);
	B.waited_ms = -1;
	C->now_ns = mono_ns - 2 * MS; /* the tick took that long */
	rest(C);
	assert_int_equal(B.waited_ms, -1);
	C->now_ns++;
	rest(C);
	assert_int_equal(B.waited_ms, 1); /* rounded up */
}

/* ------------------------------------------------------------------ stop */

static void a_ring_needs_three_eighths_for_a_successor(void **state)
{
	struct capture_config c = config();

	create(&c);
	assert_int_equal(open_board(C), 0);
	come(DEPTH / 8 * 5);
	assert_true(rings_have_room(C));
	come(1);
	assert_false(rings_have_room(C));
}

/* It waits for what is out: as long as some comes back, at most as long as it may, and while rings have room. */
static void a_stop_waits_while_blocks_come_back(void **state)
{
	struct capture_config c = config();
	uint64_t from, read;

	create(&c);
	assert_int_equal(open_board(C), 0);
	come(20);
	tick(C, true);
	assert_true(blocks_out(C) > 0);
	come(10); /* for a successor */
	read = C->links[0].read_position;
	mono_step_ns = MS;
	atomic_store(&C->stop_by_ns, mono_ns + 10000 * MS);
	from = mono_ns;
	settle_down(C); /* nothing comes: 100 ms */
	assert_in_range(mono_ns - from, 100 * MS, 110 * MS);
	atomic_store(&C->stop_by_ns, mono_ns + 20 * MS);
	from = mono_ns;
	settle_down(C);
	assert_in_range(mono_ns - from, 20 * MS, 30 * MS);
	settle_all();
	atomic_store(&C->stop_by_ns, mono_ns + 10000 * MS);
	from = mono_ns;
	settle_down(C);
	assert_int_equal(blocks_out(C), 0);
	assert_in_range(mono_ns - from, 0, 10 * MS);
	assert_int_equal(C->links[0].read_position, read);
	told(0);
}

/* Whatever waits in the queues when it ends is given back. */
static void what_is_in_the_queues_at_the_end_is_freed(void **state)
{
	struct capture_config c = config();
	size_t memory = 0;

	for (unsigned i = 0; i < 6; i++) {
		memory = i == 3 ? mallinfo2().uordblks + mallinfo2().hblkhd : memory;
		create(&c);
		assert_int_equal(open_board(C), 0);
		come(20);
		tick(C, true);
		settle_all();
		come(10);
		tick(C, false);
		drain_links(C);
		assert_non_null(queue_peek(&blocks));
		capture_destroy(C);
		C = NULL;
		assert_null(queue_peek(&blocks));
		assert_null(queue_peek(&settled));
		told(0);
		B.ring.release_position = B.ring.write_position;
		B.ring.start_count = B.count;
	}
	assert_true(mallinfo2().uordblks + mallinfo2().hblkhd < memory + 100000);
}

int main(void)
{
#define IN_TICKS(f) cmocka_unit_test_setup_teardown(f, begin, end)
	const struct CMUnitTest tests[] = {
		IN_TICKS(a_configuration_out_of_range_is_refused),
		IN_TICKS(so_many_frames_may_be_out),
		IN_TICKS(only_the_links_of_the_configuration_are_claimed),
		IN_TICKS(a_board_whose_link_is_taken_is_closed_again),
		IN_TICKS(a_board_is_not_opened_before_there_is_a_place_for_its_end),
		IN_TICKS(a_board_that_is_gone_is_looked_for_again),
		IN_TICKS(what_a_lost_board_counts_is_lost_by_name),
		IN_TICKS(a_board_that_goes_leaves_no_cell_unread),
		IN_TICKS(another_handle_is_granted_once),
		IN_TICKS(a_label_speaks_of_one_boot_of_one_board),
		IN_TICKS(a_label_is_in_the_page_before_a_block_carries_it),
		IN_TICKS(saved_rows_leave_the_page_of_their_own_beginning_only),
		IN_TICKS(open_rows_are_told_every_half_second),
		IN_TICKS(the_status_is_that_of_the_last_tick),
		IN_TICKS(new_rings_wait_for_the_journals_run),
		IN_TICKS(a_run_that_is_known_is_not_waited_for),
		IN_TICKS(who_waits_for_the_board_is_woken_by_it),
		IN_TICKS(a_ring_needs_three_eighths_for_a_successor),
		IN_TICKS(a_stop_waits_while_blocks_come_back),
		IN_TICKS(what_is_in_the_queues_at_the_end_is_freed),
	};

	return cmocka_run_group_tests_name("capture tick", tests, NULL, NULL);
}
