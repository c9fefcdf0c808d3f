/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A link of capture in virtual time. The fate of each cell is known beforehand. Limits: test_capture_limits.c.
 * With the thread and a real board's model: test_capture.c.
 */
#include "tests/unit/daemon/capture/link_rig.h"

#include <malloc.h>
#include <unistd.h>

/* ----------------------------------------------------------------------------------------- cases */

static void every_cell_is_accounted_for_by_its_name(void **state)
{
	const struct rig_stream *pmt = &R->consumer->stream[0][FCM_PMT];

	data(600, 0);
	data(1, 1u << 5);
	data(100, 0);
	gap(37, NANET3_GAP_BOARD_FIFO);
	data(100, 0);
	gap(53, NANET3_GAP_RING_FULL);
	data(100, 0);
	gap(11, 9); /* a reason that no board has */
	data(100, 0);
	gap(2000, NANET3_GAP_LINK_DOWN);
	data(600, 0);
	finish();
	no_complaint();
	assert_int_equal(cells_counted(), B.count - FIRST);
	assert_int_equal(cells_lost_as(TDM_LOSS_CRC), 1);
	assert_int_equal(cells_lost_as(TDM_LOSS_BOARD_FIFO), 37 + 11);
	assert_int_equal(cells_lost_as(TDM_LOSS_RING_FULL), 53);
	assert_int_equal(cells_lost_as(TDM_LOSS_LINK_DOWN), 2000);
	assert_int_equal(cells_lost_as(TDM_LOSS_ALIGNMENT), 2 * 3); /* to find the alignment */
	assert_int_equal(cells_lost_as(TDM_LOSS_TIME), 0);
	for (unsigned i = 1; i < TDM_LOSSES; i++) {
		assert_int_equal(R->lost_frames[i], cells_lost_as((enum tdm_loss)i));
		assert_int_equal(the_link()->status.cells[i], cells_lost_as((enum tdm_loss)i));
	}
	assert_true(pmt->blocks > 300 && pmt->gaps >= 1);
	assert_int_equal(the_link()->status.stale_completions, 0);
}

/* It would have kept account of cells that have not come: all until then would be read and shown to nobody. */
static void a_page_that_is_ahead_of_its_ring_is_not_believed(void **state)
{
	struct owner_account account;
	uint64_t blocks;

	data(200, 0);
	account = *ack_tracker_account(the_link()->settle);
	account.cursor.count += 100ull * TDM_FRAMES_PER_SECOND;
	account.cursor.frame += 100ull * TDM_FRAMES_PER_SECOND;
	owner_commit(B.page, &account);
	kill_and_start();
	blocks = R->block_count;
	data(200, 0);
	assert_true(R->block_count > blocks + 2 * 200 * PER / BLOCK);
	assert_int_equal(R->consumer->stream[0][FCM_PMT].unflagged, 0); /* repeats are flagged */
	finish();
}

/* A second is partial where the account begins, ends or jumps in it, and nowhere else. */
static void seconds_are_partial_where_they_are_cut(void **state)
{
	data(1000, 0);
	B.count += 100; /* a PPS */
	data(1500, 0);
	finish();
	no_complaint();
	assert_int_equal(B.count, FIRST + 40100);
	assert_int_equal(row_of(5)->partial, 1);
	assert_int_equal(row_of(6)->partial, 0);
	assert_int_equal(row_of(7)->partial, 1); /* the jump */
	assert_int_equal(row_of(8)->partial, 0);
	assert_int_equal(row_of(9)->partial, 0);
	assert_int_equal(row_of(10)->partial, 1);
	assert_int_equal(row_of(6)->cells, 8000);
	assert_int_equal(cells_counted(), 40000);
}

static void open_rows_are_partial_like_closed_ones(void **state)
{
	data(10, 0);
	assert_int_equal(the_link()->live.links[5].partial, 1);
	data(300, 0);
	assert_int_equal(the_link()->live.links[6].partial, 0);
	B.count += 9000;
	data(10, 0);
	assert_int_equal(the_link()->live.links[6].partial, 1);
	assert_int_equal(the_link()->live.links[7].partial, 1);
}

static void alignment_is_reported_when_gained_and_lost(void **state)
{
	data(10, 0);
	assert_int_equal(R->align_count, 1);
	assert_int_equal(R->aligns[0].align.aligned, 1);
	assert_int_equal(R->aligns[0].align.offset, 0);
	data(100, 0);
	assert_int_equal(R->align_count, 1);
	gap(2000, NANET3_GAP_LINK_DOWN);
	assert_int_equal(R->align_count, 2);
	assert_int_equal(R->aligns[1].align.aligned, 0);
	data(10, 0);
	assert_int_equal(R->align_count, 3);
	assert_int_equal(R->aligns[2].align.aligned, 1);
	assert_int_equal(the_link()->status.aligned, TDM_LOCKED);
}

static unsigned suspects(uint64_t *ret_count)
{
	const struct tap_entry *e;
	unsigned n = 0;

	while ((e = queue_peek(&R->tap.queue))) {
		n += e->kind == TAP_SUSPECT;
		*ret_count = e->kind == TAP_SUSPECT ? e->count : *ret_count;
		queue_release(&R->tap.queue);
	}
	return n;
}

/* The black box is offered the first loss after a second without losses, except losses of our
 * own. */
static void the_first_loss_after_a_calm_is_a_suspect(void **state)
{
	uint64_t at = 0, lost;

	atomic_store(&R->tap.link[0].armed, true);
	data(500, 0); /* 1 s */
	data(1, 1);
	data(6, 0);			    /* it is read by the block */
	assert_int_equal(suspects(&at), 0); /* not yet calm: the alignment was lost at first */
	data(510, 0);
	lost = B.count + 7;
	data(1, 1u << 7 | 1u << 9);
	data(6, 0);
	assert_int_equal(suspects(&at), 1);
	assert_int_equal(at, lost);
	data(400, 0);
	data(1, 1);
	data(6, 0);
	assert_int_equal(suspects(&at), 0);
	data(510, 0);
	gap(5, NANET3_GAP_RING_FULL);
	data(6, 0);
	assert_int_equal(suspects(&at), 0);
}

/* Completions of another epoch and cells already read are counted as stale and change nothing. */
static void stale_completions_change_nothing(void **state)
{
	struct nanet3_event *e;

	data(100, 0);
	B.count -= 32; /* twice the same */
	complete(PER, PER * TDM_FRAME_BYTES);
	complete(PER, PER * TDM_FRAME_BYTES);
	e = complete(PER, PER * TDM_FRAME_BYTES);
	e->dma_epoch--;
	B.count -= PER;
	e = complete(0, 0);
	tick();
	assert_int_equal(the_link()->status.stale_completions, 3);
	data(100, 0);
	finish();
	no_complaint();
	assert_int_equal(cells_counted(), 3200);
	assert_int_equal(cells_lost_as(TDM_LOSS_ALIGNMENT), 3);
}

/* Unsettled data stay in the ring; settled data are released, except the last frames, which a
 * successor needs. */
static void the_ring_is_released_behind_what_is_settled(void **state)
{
	uint64_t release;

	data(200, 0);
	release = B.ring.release_position;
	assert_in_range(B.ring.write_position - release, 1, 16);
	assert_true(R->c.status.first_release_ns > 0);
	R->holds = true;
	data(60, 0);
	assert_in_range(B.ring.release_position - release, 0, 5);
	release = B.ring.release_position;
	data(20, 0);
	assert_int_equal(B.ring.release_position, release);
	assert_true(out_waiting(the_link()) >= 15);
	assert_in_range(out_frames(the_link()), 15 * BLOCK, 17 * BLOCK);
	R->holds = false;
	data(20, 0);
	assert_in_range(B.ring.write_position - B.ring.release_position, 1, 16);
	assert_true(out_waiting(the_link()) <= 1);
	no_complaint();
}

/* The count jumps far: the account ends, and the next one begins where the count continues. */
static void another_count_is_another_account(void **state)
{
	data(200, 0);
	B.count += 8000 * 20;
	B.ring.start_count = B.count;
	data(200, 0);
	assert_int_equal(the_link()->generation, 2);
	finish();
	assert_int_equal(cells_counted(), 2 * 200 * PER);
	assert_int_equal(R->consumer->stream[0][FCM_PMT].bad, 0);
}

static uint64_t dice;
static uint32_t roll(uint32_t n)
{
	dice = dice * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(dice >> 33) % n;
}

/* Killed at any tick, with blocks out and losses: the rows are those of an uninterrupted daemon,
 * repeats are flagged. */
static void deaths_change_no_account(void **state)
{
	uint64_t lost[TDM_LOSSES] = {0};

	dice = 7;
	for (unsigned life = 0; life < 60; life++) {
		for (unsigned steps = 1 + roll(40); steps > 0; steps--) {
			unsigned what = roll(20);

			R->holds = roll(4) == 0 &&
				   B.ring.write_position - B.ring.release_position < DEPTH / 2;
			if (what == 0) {
				data(1, 1u << 3);
				lost[TDM_LOSS_CRC]++;
			} else if (what == 1) {
				gap(20, NANET3_GAP_BOARD_FIFO);
				lost[TDM_LOSS_BOARD_FIFO] += 20;
			} else {
				data(1 + roll(8), 0);
			}
		}
		forget_daemon();
		new_daemon(true);
		R->holds = false;
		data(1, 0);
	}
	data(20, 0);
	finish();
	no_complaint();
	assert_int_equal(R->consumer->stream[0][FCM_PMT].holes, 0);
	assert_int_equal(cells_counted(), B.count - FIRST);
	assert_int_equal(cells_lost_as(TDM_LOSS_CRC), lost[TDM_LOSS_CRC]);
	assert_int_equal(cells_lost_as(TDM_LOSS_BOARD_FIFO), lost[TDM_LOSS_BOARD_FIFO]);
	assert_int_equal(cells_lost_as(TDM_LOSS_TIME), 0);
}

/* A reply is reported in the tick in which it arrives; everything else is read one block at a time. */
static void replies_are_reported_at_once_and_blocks_are_read_whole(void **state)
{
	unsigned replies = 0;

	data(50, 0);
	R->moves = 0;
	R->type_count[CAPTURE_REPLY] = 0;
	for (uint64_t n = B.count - RIG_DELAY; n < B.count - RIG_DELAY + 500 * PER; n++) {
		replies += n % FLOOR_RIG_REPLY == 0;
	}
	data(500, 0);
	assert_true(replies >= 7);
	assert_int_equal(R->type_count[CAPTURE_REPLY], replies);
	assert_int_equal(R->late_replies, 0);
	assert_in_range(R->moves, 500 / 5, 500 / 5 + 2 * replies);
}

static void a_beginning_says_what_it_found(void **state)
{
	take_reports();
	assert_int_equal(R->takeover.takeover.taken_over, 0);
	forget_daemon(); /* before its first tick */
	new_daemon(true);
	take_reports();
	assert_int_equal(R->takeover.takeover.taken_over, 1);
	assert_int_equal(R->takeover.generation, 1);
	assert_int_equal(R->takeover.takeover.depth, DEPTH);
	data(300, 0);
	forget_daemon();
	B.page[200] ^= 1; /* damage */
	B.page[400] ^= 1;
	new_daemon(true);
	take_reports();
	assert_int_equal(R->takeover.takeover.taken_over, 2);
	forget_daemon();
	R->run = 42;
	new_daemon(false);
	take_reports();
	assert_int_equal(R->takeover.takeover.taken_over, 0);
	assert_int_equal(R->takeover.takeover.run, 42);
}

/* What a daemon has sent before its page was of no use comes again with the flag, also when the next one dies before it
 * has come as far. */
static void repeats_are_flagged_when_a_page_of_no_use_is_lost_again(void **state)
{
	uint64_t sent;

	R->holds = true;
	data(100, 0);
	sent = owner_sent(B.page);
	assert_true(sent > 0);
	forget_daemon();
	B.page[200] ^= 1; /* damage */
	B.page[400] ^= 1;
	new_daemon(true);
	assert_true(the_link()->resent_below >= sent);
	forget_daemon();
	new_daemon(true);
	assert_true(the_link()->resent_below >= sent);
}

/* Without CAPTURE_SAVED the page overflows: each row that is dropped is counted. */
static void rows_that_leave_the_page_are_counted(void **state)
{
	unsigned links = 0, streams = 0;

	data(14 * 500, 0);
	links = 14; /* seconds 5 to 18 are complete, 5 is a half */
	streams = 3 * links;
	assert_int_equal(row_of(18)->closed, 1);
	assert_int_equal(the_link()->status.rows_forgotten, (links - 6) + (streams - 36));
}

/* Without memory for blocks the link waits; when its ring is 3/4 full, blocks are dropped and charged. */
static void without_memory_blocks_are_dropped_when_the_ring_fills(void **state)
{
	uint64_t dropped = 0, frames[GROUPS_MAX] = {0};
	unsigned buffers;

	data(20, 0);
	forget_daemon();
	block_pool_destroy(R->pool);
	R->pool = block_pool_create(2u << 20);
	new_daemon(true);
	R->holds = true;
	for (buffers = 0; the_link()->status.blocks_dropped == 0; buffers++) {
		assert_true(buffers < DEPTH);
		data(1, 0);
	}
	assert_true(R->starved > 0);
	assert_in_range(B.ring.write_position - B.ring.release_position, DEPTH * 3 / 4,
			DEPTH * 3 / 4 + 2);
	data(10, 0);
	R->holds = false;
	data(100, 0);
	dropped = the_link()->status.blocks_dropped;
	R->c.dropping = false;
	finish();
	for (unsigned g = 0; g < GROUPS_MAX; g++) {
		for (unsigned st = 0; st < FCM_STREAMS; st++) {
			for (unsigned i = 0; i < RIG_ROWS; i++) {
				frames[g] += R->rows.stream[0][st][g][i].outcome[OUTCOME_DROP_POOL];
			}
		}
		assert_int_equal(R->c.status.pool_drops[g].frames, frames[g]);
		assert_int_equal(R->c.status.pool_drops[g].blocks * BLOCK, frames[g]);
	}
	assert_true(dropped > 0 && frames[0] > 0 && frames[1] >= 2 * frames[0]);
	assert_int_equal(cells_counted(), B.count - FIRST);
}

/* Blocks of an ended account that return after the next one has started count in their own
 * account. */
static void late_blocks_find_their_account(void **state)
{
	data(100, 0);
	R->holds = true;
	data(30, 0);
	B.count += 8000 * 20;
	B.ring.start_count = B.count;
	data(30, 0);
	assert_int_equal(the_link()->generation, 2);
	assert_false(out_retired(the_link()));
	assert_true(out_waiting(the_link()) > 6);
	R->holds = false;
	data(100, 0);
	assert_true(out_retired(the_link()));
	finish();
	assert_int_equal(cells_counted(), 260 * PER);
}

static void a_link_gives_its_memory_back(void **state)
{
	size_t memory = 0;

	for (unsigned i = 0; i < 12; i++) {
		memory = i == 6 ? mallinfo2().uordblks + mallinfo2().hblkhd : memory;
		data(10, 0);
		link_end(the_link()); /* retired, never settled */
		forget_daemon();
		new_daemon(true);
		data(10, 0);
		forget_daemon();
		new_daemon(true);
	}
	/* The pool's blocks grow a little; a leaked machine would be larger. */
	assert_true(mallinfo2().uordblks + mallinfo2().hblkhd < memory + 200000);
}

/* A run is reported together with the first block that carries it. */
static void a_run_is_reported_with_its_first_block(void **state)
{
	uint64_t border;

	data(50, 0);
	border = (B.count / ASSEMBLE_SLICE + 2) * ASSEMBLE_SLICE;
	assert_true(account_add_run(ack_tracker_change(the_link()->settle), border, 7, 1));
	while (R->type_count[CAPTURE_RUN_CHANGED] == 0) {
		assert_true(B.count < border + ASSEMBLE_SLICE);
		data(1, 0);
	}
	assert_int_equal(owner_sent(B.page), border + BLOCK);
	data(100, 0);
	assert_int_equal(R->type_count[CAPTURE_RUN_CHANGED], 1);
}

/* ------------------------------------------------------------------------------------- the outbox */

/* Reports that must arrive wait, in order; reports that are repeated anyway are dropped and
 * counted. */
static void what_must_arrive_waits_in_order(void **state)
{
	struct capture_report r = {.type = CAPTURE_ALIGN};
	const struct capture_report *next;
	static struct outbox o;
	struct queue small;
	uint64_t rung;

	assert_int_equal(queue_init(&small, sizeof(r), 8, 1), 0);
	o.queue = &small;
	outbox_flush(&o);
	assert_int_equal(read(small.fd, &rung, sizeof(rung)), -1); /* nothing to ring for */
	for (r.count = 0; r.count < 20; r.count++) {
		outbox_send(&o, &r, true);
	}
	outbox_send(&o, &r, false);
	assert_int_equal(o.lost, 1);
	for (uint64_t n = 0; n < 20;) {
		outbox_flush(&o);
		assert_int_equal(read(small.fd, &rung, sizeof(rung)), sizeof(rung));
		while ((next = queue_peek(&small))) {
			assert_int_equal(next->count, n++);
			queue_release(&small);
		}
	}
	outbox_send(&o, &r, false);
	assert_int_equal(o.lost, 1);
	for (unsigned n = 0; n < 7 + OUTBOX_REPORTS; n++) {
		outbox_send(&o, &r, true);
	}
	assert_int_equal(o.lost, 1);
	outbox_send(&o, &r, true); /* more than can wait */
	assert_int_equal(o.lost, 2);
	queue_fini(&small);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON_LINK(a_page_that_is_ahead_of_its_ring_is_not_believed),
		ON_LINK(every_cell_is_accounted_for_by_its_name),
		ON_LINK(seconds_are_partial_where_they_are_cut),
		ON_LINK(open_rows_are_partial_like_closed_ones),
		ON_LINK(alignment_is_reported_when_gained_and_lost),
		ON_LINK(the_first_loss_after_a_calm_is_a_suspect),
		ON_LINK(stale_completions_change_nothing),
		ON_LINK(the_ring_is_released_behind_what_is_settled),
		ON_LINK(another_count_is_another_account),
		ON_LINK(deaths_change_no_account),
		ON_LINK(replies_are_reported_at_once_and_blocks_are_read_whole),
		ON_LINK(a_beginning_says_what_it_found),
		ON_LINK(repeats_are_flagged_when_a_page_of_no_use_is_lost_again),
		ON_LINK(rows_that_leave_the_page_are_counted),
		ON_LINK(without_memory_blocks_are_dropped_when_the_ring_fills),
		ON_LINK(late_blocks_find_their_account),
		ON_LINK(a_link_gives_its_memory_back),
		ON_LINK(a_run_is_reported_with_its_first_block),
		ON_LINK(what_must_arrive_waits_in_order),
	};

	return cmocka_run_group_tests_name("capture link", tests, NULL, NULL);
}
