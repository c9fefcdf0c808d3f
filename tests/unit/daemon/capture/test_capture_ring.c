/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A link of capture and its ring: want of memory, what is released, when it is read, backlogs, the recorder. */
#include "tests/unit/daemon/capture/link_rig.h"

#include <string.h>

/* ------------------------------------------------------------------ memory, and a model that waits */

/* A ring of which 3/4 are used, no memory, and nothing comes back. */
static void without_memory(bool unhurried, bool patient)
{
	struct label label = rig_label(2);

	data(20, 0);
	forget_daemon();
	block_pool_destroy(R->pool);
	R->pool = block_pool_create(2u << 20);
	new_daemon(true);
	R->c.config.patient = patient;
	label.source = unhurried ? LABEL_EMULATOR : LABEL_GPSD;
	account_add_label(ack_tracker_change(the_link()->settle),
			  assemble_frontier(the_link()->assembler), &label);
	R->holds = true;
	while (B.ring.write_position - B.ring.release_position < DEPTH * 3 / 4) {
		data(1, 0);
	}
	assert_true(the_link()->blocked);
	assert_int_equal(the_link()->status.blocks_dropped, 0);
}

/* At three quarters of the ring. A publisher is told once a tick, however many links and blocks find no memory. */
static void blocks_are_dropped_beyond_three_quarters_of_the_ring(void **state)
{
	unsigned starved;

	without_memory(false, false);
	publish();
	starved = R->starved;
	assert_true(starved > 0);
	R->c.now_ns++;
	link_drain(the_link());
	link_drain(the_link());
	publish();
	assert_int_equal(R->starved, starved + 1);
	assert_int_equal(the_link()->status.blocks_dropped, 0);
	data(1, 0);
	assert_true(the_link()->status.blocks_dropped > 0);
}

/* The emulator at full speed waits for us: as long as blocks came back within the last second. */
static void a_model_that_waits_has_a_second_of_patience(void **state)
{
	without_memory(true, false);
	assert_int_equal(R->starved, 0);
	R->c.now_ns = the_link()->moved_ns + 1000000000 - 10 * PER * TDM_FRAME_NS - 1;
	data(10, 0);
	assert_int_equal(R->c.now_ns, the_link()->moved_ns + 1000000000 - 1);
	assert_int_equal(the_link()->status.blocks_dropped, 0);
	R->c.now_ns++;
	tick();
	assert_true(the_link()->status.blocks_dropped > 0);
}

static void a_patient_daemon_waits_for_ever(void **state)
{
	without_memory(true, true);
	R->c.now_ns += 10000000000;
	data(20, 0);
	assert_int_equal(the_link()->status.blocks_dropped, 0);
	assert_int_equal(R->starved, 0);
}

/* What has no memory when an account ends is charged: nobody comes back to it. */
static void an_account_that_ends_without_memory_drops_its_blocks(void **state)
{
	without_memory(false, false);
	link_end(the_link());
	assert_true(the_link()->status.blocks_dropped > 0);
	assert_false(R->c.dropping);
}

/* ------------------------------------------------------------------ the ring */

/* Buffers go that end eight cells before the cursor, or earlier: a successor's deframer finds its lock there. */
static void the_ring_is_released_up_to_eight_cells_behind_the_cursor(void **state)
{
	B.count += 12; /* so that some end just there */
	for (unsigned i = 0; i < 200; i++) {
		uint64_t cursor, kept;

		data(1, 0);
		cursor = ack_tracker_account(the_link()->settle)->cursor.count;
		if (cursor > 0) {
			kept = B.ring.release_position;
			assert_true(kept < B.ring.write_position);
			assert_true(B.done[kept % DEPTH].frame_count + PER > cursor - 8);
			assert_true(kept == 0 ||
				    B.done[(kept - 1) % DEPTH].frame_count + PER <= cursor - 8);
			assert_int_equal(the_link()->release_position, kept);
		}
	}
	assert_true(B.ring.release_position > 150);
}

static void it_is_known_what_of_a_ring_was_read(void **state)
{
	struct link *l = the_link();

	assert_false(link_is_read(l));
	assert_int_equal(link_front(l), 0);
	kill_and_start(); /* before its first tick */
	assert_false(link_is_read(l));
	for (unsigned i = 0; i < PER; i++) {
		floor_rig_frame(&B.floor, B.count + i - RIG_DELAY,
				B.cells[0] + (size_t)i * TDM_FRAME_BYTES);
	}
	complete(PER, PER * TDM_FRAME_BYTES);
	assert_int_equal(link_front(l), B.count); /* in the ring, but not read */
	assert_false(link_is_read(l));
	tick();
	assert_true(link_is_read(l));
	data(50, 0);
	assert_int_equal(link_front(l), B.count);
	complete(PER, 0)->frame_count = 1ull << 50; /* of a board that is not well */
	assert_int_equal(link_front(l), l->head);
	B.done[(B.ring.write_position - 1) % DEPTH].frame_count = l->head;
	assert_int_equal(link_front(l), l->head + PER);
	B.done[(B.ring.write_position - 1) % DEPTH].dma_epoch--;
	assert_int_equal(link_front(l), l->head);
	tick();
	kill_and_start();
	assert_true(link_is_read(l));
	take_reports();
	forget_daemon();
	memset(B.page, 0xff, sizeof(B.page)); /* says nothing */
	new_daemon(true);
	assert_true(link_is_read(l));
}

/* ------------------------------------------------------------------ a backlog */

/* The daemon was held up: so many buffers have come meanwhile. */
static void backlog(unsigned buffers)
{
	for (unsigned b = 0; b < buffers; b++) {
		uint8_t *cells = B.cells[B.ring.write_position % DEPTH];

		for (unsigned i = 0; i < PER; i++) {
			floor_rig_frame(&B.floor, B.count + i - RIG_DELAY,
					cells + (size_t)i * TDM_FRAME_BYTES);
		}
		complete(PER, PER * TDM_FRAME_BYTES);
	}
}

static uint64_t unread(void)
{
	return B.ring.write_position - the_link()->read_position;
}

/* All is read and acknowledged; then groups may hold so many frames. */
static void begin_backlog(uint64_t hold_frames)
{
	data(20, 0);
	R->c.hurried = true;
	tick();
	tick();
	R->c.hurried = false;
	assert_int_equal(unread(), 0);
	R->c.config.hold_frames = hold_frames;
}

/* Read in one go a backlog would pile up with the publisher: no more is out than half of what a group may hold,
 * and what is read at a time. */
static void a_backlog_is_read_as_fast_as_it_is_acknowledged(void **state)
{
	begin_backlog(800);
	backlog(DEPTH / 8); /* few enough */
	tick();
	assert_false(the_link()->catch_up.on);
	assert_in_range(unread(), 0, 4);
	begin_backlog(800);
	backlog(DEPTH / 8 + 1);
	tick();
	assert_true(the_link()->catch_up.on);
	begin_backlog(800);
	backlog(DEPTH * 5 / 8);
	tick();
	assert_int_equal(unread(), DEPTH * 5 / 8 - 32);
	tick();
	assert_int_equal(unread(), DEPTH * 5 / 8 - 64);
	assert_true(the_link()->catch_up.on);
	tick();
	assert_in_range(unread(), 0, 4);
	begin_backlog(0); /* nobody holds anything back */
	backlog(DEPTH * 5 / 8);
	tick();
	assert_in_range(unread(), 0, 4);
	no_complaint();
}

/* A backlog of so many buffers, and a publisher that gives nothing back. */
static void stand_still(unsigned buffers)
{
	begin_backlog(800);
	R->holds = true;
	backlog(buffers);
	tick();
	assert_true(the_link()->catch_up.on);
	assert_int_equal(unread(), buffers - 32);
}

static void catching_up_is_given_up_when_the_ring_is_almost_full(void **state)
{
	uint64_t used;

	stand_still(60);
	used = B.ring.write_position - B.ring.release_position;
	backlog((unsigned)(DEPTH - DEPTH / 8 - used));
	tick();
	assert_true(the_link()->catch_up.on);
	backlog(1);
	tick();
	assert_false(the_link()->catch_up.on);
	assert_in_range(unread(), 0, 4); /* the groups' policy decides, as always */
	R->holds = false;
	tick();
	no_complaint();
}

static void catching_up_is_given_up_when_it_does_not_help(void **state)
{
	stand_still(60);
	R->c.now_ns += 500000000 - 1;
	the_link()->catch_up.unread = 28; /* as if it had been as much half a second ago */
	tick();
	assert_true(the_link()->catch_up.on);
	R->c.now_ns++;
	tick();
	assert_false(the_link()->catch_up.on);
	assert_true(the_link()->catch_up.given_up);
	assert_in_range(unread(), 0, 4);
	R->holds = false;
	tick();
	no_complaint();
}

static void catching_up_goes_on_while_it_helps(void **state)
{
	stand_still(60);
	R->c.now_ns += 500000000;
	tick(); /* 28 and not 60 */
	assert_true(the_link()->catch_up.on);
	R->c.now_ns += 500000000 - 1;
	tick();
	assert_true(the_link()->catch_up.on);
	R->c.now_ns++;
	tick(); /* still 28 */
	assert_false(the_link()->catch_up.on);
	R->holds = false;
	tick();
	/* Given up until the backlog is gone; then another one is caught up again. */
	assert_in_range(unread(), 0, 4);
	stand_still(60);
	R->holds = false;
	tick();
	no_complaint();
}

/* ------------------------------------------------------------------ when a link is read */

/* A block that does not become whole is read when two blocks' time has passed. */
static void what_came_of_a_block_is_read_after_two_blocks_time(void **state)
{
	uint64_t since;

	begin_backlog(0);
	data(35, 0);
	while (unread() > 0) { /* to the end of a block */
		data(1, 0);
	}
	data(1, 0);
	since = R->c.now_ns;
	assert_int_equal(unread(), 1);
	R->c.now_ns = since + 2ull * BLOCK * TDM_FRAME_NS;
	tick();
	assert_int_equal(unread(), 1);
	R->c.now_ns++;
	tick();
	assert_int_equal(unread(), 0);
}

/* Of a long block no more waits in the ring than a sixteenth of it. */
static void a_long_block_is_read_in_pieces(void **state)
{
	take_reports();
	forget_daemon();
	R->block_frames = ASSEMBLE_SLICE;
	new_daemon(false);
	begin_backlog(0);
	R->moves = 0;
	data(45, 0);
	assert_int_equal(R->moves, 45 / (DEPTH / 16 + 1));
}

/* ------------------------------------------------------------------ the recorder */

static unsigned offered(uint64_t *ret_cells)
{
	const struct tap_entry *e;
	unsigned n = 0;

	*ret_cells = 0;
	while ((e = queue_peek(&R->tap.queue))) {
		n += e->kind == TAP_CELLS;
		*ret_cells += e->kind == TAP_CELLS ? e->frames : 0;
		queue_release(&R->tap.queue);
	}
	return n;
}

/* Every completion once, but for those that are of no account. */
static void the_recorder_is_offered_what_was_read(void **state)
{
	uint64_t cells;

	begin_backlog(0);
	atomic_store(&R->tap.link[0].wanted, true);
	tick();
	offered(&cells);
	backlog(5);
	complete(0, 0);
	complete(PER, PER * TDM_FRAME_BYTES)->dma_epoch--;
	B.count -= PER;
	complete(PER, PER * TDM_FRAME_BYTES)->frame_count = 1ull << 50;
	B.count -= PER;
	gap(40, NANET3_GAP_BOARD_FIFO);
	assert_int_equal(offered(&cells), 6);
	assert_int_equal(cells, 5 * PER + 40);
	tick();
	assert_int_equal(offered(&cells), 0);
}

/* It may hold half of the ring, and an eighth alone. */
static void the_recorder_holds_the_ring_to_its_half(void **state)
{
	uint64_t release;

	data(60, 0);
	atomic_store(&R->tap.link[0].wanted, true);
	tick();
	release = B.ring.release_position;
	assert_true(release > 40);
	data((unsigned)(DEPTH / 2 + release - B.ring.write_position), 0);
	assert_in_range(B.ring.release_position, release, release + 1);
	assert_true(the_link()->release_waits);
	data(10, 0);
	assert_true(B.ring.release_position > release + 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON_LINK(blocks_are_dropped_beyond_three_quarters_of_the_ring),
		ON_LINK(a_model_that_waits_has_a_second_of_patience),
		ON_LINK(a_patient_daemon_waits_for_ever),
		ON_LINK(an_account_that_ends_without_memory_drops_its_blocks),
		ON_LINK(the_ring_is_released_up_to_eight_cells_behind_the_cursor),
		ON_LINK(it_is_known_what_of_a_ring_was_read),
		ON_LINK(a_backlog_is_read_as_fast_as_it_is_acknowledged),
		ON_LINK(catching_up_is_given_up_when_the_ring_is_almost_full),
		ON_LINK(catching_up_is_given_up_when_it_does_not_help),
		ON_LINK(catching_up_goes_on_while_it_helps),
		ON_LINK(what_came_of_a_block_is_read_after_two_blocks_time),
		ON_LINK(a_long_block_is_read_in_pieces),
		ON_LINK(the_recorder_is_offered_what_was_read),
		ON_LINK(the_recorder_holds_the_ring_to_its_half),
	};

	return cmocka_run_group_tests_name("capture ring", tests, NULL, NULL);
}
