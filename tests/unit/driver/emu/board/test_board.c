/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The device model: registers, rings, gaps, trouble, and a random life. Count, downstream and phase
 * are in test_board_link.c. */
#include <stdlib.h>
#include <string.h>

#include "tests/unit/driver/emu/board/board_rig.h"

/* ------------------------------------------------------------------------ registers */

static void registers(void **state)
{
	struct rig *r = *state;
	static const struct {
		uint32_t offset, value;
	} fixed[] = {
		{NANET3_REG_ID, 0x00334e4e},
		{NANET3_REG_VERSION, NANET3_HW_VERSION},
		{NANET3_REG_LINKS, 4},
		{NANET3_REG_SERIAL, 77},
		{NANET3_REG_MODEL, NANET3_EMULATED_REAL_TIME},
		{NANET3_REG_MODEL_FAULT, 0},
		{0x00a0, 0},	   /* behind the last */
		{0x0fff & ~3u, 0}, /* between board and links */
		{NANET3_REG_BUFFER(0, NANET3_BREG_STATUS), 0},
		{NANET3_REG_BUFFER(0, 0x1c), 0},
		{NANET3_REG_BUFFER(64, 0), 0}, /* behind the last buffer */
		{NANET3_REG_DOORBELL(0), 0},   /* write-only */
		{NANET3_REG_DOORBELL(0) + 8, 0},
		{NANET3_REG_DOORBELL(4), 0},
		{NANET3_REG_LINK(0, 0x60), 0}, /* behind a link's last */
		{NANET3_BAR_BYTES - 4, 0},
		{0xfffffffc, 0},
		{NANET3_REG_ID + 1, 0}, /* not aligned */
	};

	for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++) {
		wr(r, fixed[i].offset, 0x5a5a5a5a);
		assert_int_equal(rd(r, fixed[i].offset), fixed[i].value);
	}
	wr(r, NANET3_REG_SCRATCH, 0x12345678);
	assert_int_equal(rd(r, NANET3_REG_SCRATCH), 0x12345678);
	wr(r, NANET3_REG_EVQ_SIZE, 100); /* no power of two: off */
	assert_int_equal(rd(r, NANET3_REG_EVQ_SIZE), 0);
}

static void surroundings(void **state)
{
	struct rig *r = *state;

	steps(r, 9);
	assert_int_equal(rd(r, NANET3_REG_TEMPERATURE), 41500);
	assert_int_equal(rd(r, NANET3_REG_TOD), 45296);
	assert_int_equal(rd(r, NANET3_REG_TOD_DATE), 171 | 26 << 9);
	assert_int_equal(rd(r, NANET3_REG_TOD_FLAGS), TDM_TIME_LOCKED);
	assert_int_equal(rd(r, NANET3_REG_STATUS),
			 NANET3_STATUS_PPS | NANET3_STATUS_REF | NANET3_STATUS_TOD);
	assert_int_equal(lrd(r, 2, NANET3_LREG_RTT), 7 | 1002 << 8 | 3 << 22);
	assert_int_equal(lrd(r, 2, NANET3_LREG_RX_POWER), 200000);
	assert_int_equal(lrd(r, 2, NANET3_LREG_TX_POWER), 500000);
	r->world.pps = false;
	steps(r, 12000);
	assert_int_equal(rd(r, NANET3_REG_STATUS), NANET3_STATUS_REF | NANET3_STATUS_TOD);
}

static void pair_is_latched(void **state)
{
	struct rig *r = *state;
	uint32_t low;

	steps(r, 5);
	low = rd(r, NANET3_REG_COUNT);
	assert_int_equal(low, board_count(r->board));
	assert_int_equal(rd(r, NANET3_REG_COUNT + 4), 0);
	wr(r, NANET3_REG_EVQ_BASE + 4, 1);
	assert_int_equal(rd(r, NANET3_REG_EVQ_BASE), AT_EVQ);
	wr(r, NANET3_REG_EVQ_BASE + 4, 2);
	assert_int_equal(rd(r, NANET3_REG_EVQ_BASE + 4), 1); /* as of the low one's read */
	rd(r, NANET3_REG_EVQ_BASE);
	assert_int_equal(rd(r, NANET3_REG_EVQ_BASE + 4), 2);
}

static void reset_forgets(void **state)
{
	struct rig *r = *state;

	start(r, 0);
	steps(r, 20);
	wr(r, NANET3_REG_CONTROL, NANET3_CONTROL_RESET);
	assert_int_equal(rd(r, NANET3_REG_CONTROL), 0);
	assert_int_equal(lrd(r, 0, NANET3_LREG_CONTROL), 0);
	assert_int_equal(rd(r, NANET3_REG_EVQ_WRITE), 0);
	steps(r, 100);
	assert_int_equal(rd(r, NANET3_REG_EVQ_WRITE), 0);
}

static void bad_geometry_is_refused(void **state)
{
	struct rig *r = *state;
	static const uint32_t bad[][2] = {{0, 8}, {420, 8}, {~0u, 8}, {16, 0}, {16, 1}, {16, ~0u}};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		wr(r, NANET3_REG_LINK(1, NANET3_LREG_FRAMES), bad[i][0]);
		wr(r, NANET3_REG_LINK(1, NANET3_LREG_DEPTH), bad[i][1]);
		wr(r, NANET3_REG_LINK(1, NANET3_LREG_CONTROL), NANET3_LINK_ENABLE);
		assert_int_equal(lrd(r, 1, NANET3_LREG_CONTROL), 0);
	}
	steps(r, 10);
}

/* ------------------------------------------------------------------------ rings */

static void buffers_follow_each_other(void **state)
{
	struct rig *r = *state;
	uint64_t count = FIRST;

	start(r, 2);
	for (uint64_t position = 0; position < 3 * DEPTH; position++) {
		struct nanet3_event ev;

		steps(r, FRAMES);
		ev = next_of(r, NANET3_EVENT_RX);
		assert_int_equal(ev.link, 2);
		assert_int_equal(ev.dma_epoch, 102);
		assert_int_equal(ev.position, position);
		assert_int_equal(ev.frame_count, count);
		assert_int_equal(ev.frames, FRAMES);
		assert_int_equal(ev.reason, 0);
		assert_int_equal(ev.flags, 0);
		check_data(r, &ev);
		check_fates(r, &ev);
		count += FRAMES;
		release(r, 2, position + 1);
	}
	assert_int_equal(r->irqs[2], 3 * DEPTH);
	assert_int_equal(r->irqs[0], 0);
	assert_int_equal(lrd(r, 2, NANET3_LREG_CELLS), 3 * DEPTH * FRAMES);
	assert_int_equal(lrd(r, 2, NANET3_LREG_WRITE), 3 * DEPTH);
	assert_int_equal(lrd(r, 2, NANET3_LREG_RELEASE), 3 * DEPTH);
	assert_true(rd(r, NANET3_REG_TLB_WALKS) > 0 && rd(r, NANET3_REG_TLB_HITS) > 0);
	assert_int_equal(rd(r, NANET3_REG_TLB_MISSES), 0);
	/* A link that is not enabled lives, but hands over nothing. */
	assert_int_equal(fake_fate(&r->world, 1, count - 1), TDM_LOSS_RING_FULL);
	assert_int_equal(lrd(r, 1, NANET3_LREG_DROP_RING), 0);
}

static void deadline_hands_over(void **state)
{
	struct rig *r = *state;
	struct nanet3_event ev;
	static const struct {
		uint32_t deadline_us, frames;
		uint8_t flags;
	} rows[] = {
		{0, 1, NANET3_RX_DEADLINE},
		{124, 1, NANET3_RX_DEADLINE},
		{500, 4, NANET3_RX_DEADLINE},
		{1875, 15, NANET3_RX_DEADLINE},
		{2000, 16, 0},
		{5000, 16, 0},
		{~0u, 16, 0},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		wr(r, NANET3_REG_LINK(0, NANET3_LREG_DEADLINE), rows[i].deadline_us);
		start(r, 0);
		steps(r, rows[i].frames - 1);
		assert_false(has(r, NANET3_EVENT_RX));
		steps(r, 1);
		ev = next_of(r, NANET3_EVENT_RX);
		assert_int_equal(ev.frames, rows[i].frames);
		assert_int_equal(ev.flags, rows[i].flags);
		check_data(r, &ev);
		wr(r, NANET3_REG_LINK(0, NANET3_LREG_CONTROL), 0);
	}
}

static void dark_link_tells_at_every_deadline(void **state)
{
	struct rig *r = *state;
	uint64_t expected;
	struct nanet3_event ev;

	start(r, 3);
	steps(r, 5);
	r->world.links[3].dark = true;
	expected = FIRST + 5;
	steps(r, 1);
	ev = next_of(r, NANET3_EVENT_RX); /* what was begun, at once */
	assert_int_equal(ev.frames, 5);
	assert_int_equal(ev.flags, 0);
	steps(r, 3 * 40 - 1);
	for (int i = 0; i < 3; i++, expected += 40) {
		ev = next_of(r, NANET3_EVENT_RX);
		assert_int_equal(ev.reason, NANET3_GAP_LINK_DOWN);
		assert_int_equal(ev.length, 0);
		assert_int_equal(ev.frame_count, expected);
		assert_int_equal(ev.frames, 40);
		check_fates(r, &ev);
	}
	assert_int_equal(lrd(r, 3, NANET3_LREG_DROP_DOWN), 120);
	r->world.links[3].dark = false;
	steps(r, FRAMES);
	ev = next_of(r, NANET3_EVENT_RX);
	assert_int_equal(ev.frame_count, expected);
	assert_int_equal(ev.frames, FRAMES);
	check_data(r, &ev);
}

static void fifo_drop_is_a_gap_of_its_length(void **state)
{
	struct rig *r = *state;
	struct nanet3_event ev;

	start(r, 0);
	steps(r, 7);
	r->world.links[0].fifo_drop = true;
	steps(r, 1);
	r->world.links[0].fifo_drop = false;
	steps(r, FRAMES);
	ev = next_of(r, NANET3_EVENT_RX);
	assert_int_equal(ev.frames, 7);
	ev = next_of(r, NANET3_EVENT_RX);
	assert_int_equal(ev.reason, NANET3_GAP_BOARD_FIFO);
	assert_int_equal(ev.frames, 1);
	assert_int_equal(ev.frame_count, FIRST + 7);
	check_fates(r, &ev);
	ev = next_of(r, NANET3_EVENT_RX);
	assert_int_equal(ev.frames, FRAMES);
	assert_int_equal(ev.position, 2);
	check_data(r, &ev);
	assert_int_equal(lrd(r, 0, NANET3_LREG_DROP_FIFO), 1);
}

/* A recording's world says what the count is, and what was lost to a full ring then. */
static void counts_and_losses_given(void **state)
{
	static const uint64_t counts[] = {1000, 1001, 1002, 16000, 16001, 16002, 16003};
	struct rig *r = *state;
	struct nanet3_event ev;

	start(r, 0);
	r->world.roof.counted = true;
	r->world.pps_phase = 3;
	for (unsigned i = 0; i < 7; i++) {
		r->world.roof.count = counts[i];
		r->world.links[0].lost = i == 5 ? TDM_LOSS_RING_FULL : TDM_GOOD;
		steps(r, 1);
		assert_int_equal(rd(r, NANET3_REG_COUNT), counts[i]);
	}
	for (unsigned i = 0; i < 50; i++) {
		r->world.roof.count++;
		steps(r, 1);
	}
	ev = next_of(r, NANET3_EVENT_RX);
	assert_int_equal(ev.frame_count, 1000);
	assert_int_equal(ev.frames, 3); /* nothing grows over a hole */
	check_data(r, &ev);
	ev = next_of(r, NANET3_EVENT_PPS);
	assert_int_equal(ev.frame_count, 16000);
	ev = next_of(r, NANET3_EVENT_RX);
	assert_int_equal(ev.frame_count, 16000);
	assert_int_equal(ev.frames, 2);
	ev = next_of(r, NANET3_EVENT_RX);
	assert_int_equal(ev.reason, NANET3_GAP_RING_FULL);
	assert_int_equal(ev.frame_count, 16002);
	assert_int_equal(ev.frames, 1);
	check_fates(r, &ev);
	assert_int_equal(lrd(r, 0, NANET3_LREG_DROP_RING), 1);
	ev = next_of(r, NANET3_EVENT_RX);
	assert_int_equal(ev.frame_count, 16003);
	check_data(r, &ev);
}

static void full_ring_counts_and_tells(void **state)
{
	struct rig *r = *state;
	struct nanet3_event ev = {0};

	start(r, 1);
	steps(r, DEPTH * FRAMES);
	for (unsigned i = 0; i < DEPTH; i++) {
		ev = next_of(r, NANET3_EVENT_RX);
	}
	steps(r, 333);
	assert_false(has(r, NANET3_EVENT_RX));
	assert_int_equal(lrd(r, 1, NANET3_LREG_DROP_RING), 333);
	assert_true(lrd(r, 1, NANET3_LREG_STATUS) & NANET3_LSTAT_FULL);
	/* One place freed is for the gap, as its deadline is long past; data need one more. */
	release(r, 1, 1);
	steps(r, 1);
	ev = next_of(r, NANET3_EVENT_RX);
	assert_int_equal(ev.reason, NANET3_GAP_RING_FULL);
	assert_int_equal(ev.frames, 334);
	assert_int_equal(ev.frame_count, FIRST + DEPTH * FRAMES);
	assert_int_equal(ev.position, DEPTH);
	check_fates(r, &ev);
	release(r, 1, 2);
	steps(r, 1);
	assert_int_equal(lrd(r, 1, NANET3_LREG_DROP_RING), 334);
	assert_false(lrd(r, 1, NANET3_LREG_STATUS) & NANET3_LSTAT_FULL);
	steps(r, FRAMES - 1);
	ev = next_of(r, NANET3_EVENT_RX);
	assert_int_equal(ev.frame_count, FIRST + DEPTH * FRAMES + 334);
	check_data(r, &ev);
}

static void full_ring_waits_for_two_places(void **state)
{
	struct rig *r = *state;
	struct nanet3_event ev;

	start(r, 1);
	steps(r, DEPTH * FRAMES + 10);
	while (has(r, NANET3_EVENT_RX)) {
	}
	release(r, 1, 1);
	steps(r, 10);
	assert_false(has(r, NANET3_EVENT_RX)); /* a slow reader gets data, not a gap a buffer */
	release(r, 1, 2);
	steps(r, FRAMES);
	ev = next_of(r, NANET3_EVENT_RX);
	assert_int_equal(ev.frames, 20);
	assert_int_equal(ev.reason, NANET3_GAP_RING_FULL);
	ev = next_of(r, NANET3_EVENT_RX);
	check_data(r, &ev);
}

static void gaps_of_different_reasons_keep_their_order(void **state)
{
	struct rig *r = *state;
	static const struct {
		bool dark, fifo;
		uint32_t steps;
		uint8_t reason;
	} rows[] = {
		{false, false, 5, NANET3_GAP_RING_FULL}, {true, false, 6, NANET3_GAP_LINK_DOWN},
		{false, true, 7, NANET3_GAP_BOARD_FIFO}, {false, false, 8, NANET3_GAP_RING_FULL},
		{true, true, 9, NANET3_GAP_LINK_DOWN},
	};
	const size_t n = sizeof(rows) / sizeof(rows[0]);
	uint64_t count = FIRST + DEPTH * FRAMES;

	start(r, 0);
	steps(r, DEPTH * FRAMES);
	while (has(r, NANET3_EVENT_RX)) {
	}
	for (size_t i = 0; i < n; i++) {
		r->world.links[0].dark = rows[i].dark;
		r->world.links[0].fifo_drop = rows[i].fifo;
		steps(r, rows[i].steps);
	}
	r->world.links[0].dark = r->world.links[0].fifo_drop = false;
	release(r, 0, DEPTH);
	steps(r, 1);
	for (size_t i = 0; i < n; i++) {
		struct nanet3_event ev = next_of(r, NANET3_EVENT_RX);

		assert_int_equal(ev.reason, rows[i].reason);
		assert_int_equal(ev.frames, rows[i].steps);
		assert_int_equal(ev.frame_count, count);
		check_fates(r, &ev);
		count += rows[i].steps;
	}
}

static void release_rules(void **state)
{
	struct rig *r = *state;
	static const uint64_t bad[] = {0, 1, 9, 1ull << 32, 2 + (1ull << 32), ~0ull};

	start(r, 0);
	steps(r, 3 * FRAMES);
	release(r, 0, 2);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		release(r, 0, bad[i]);
		assert_int_equal(lrd(r, 0, NANET3_LREG_RELEASE), 2);
		assert_int_equal(lrd(r, 0, NANET3_LREG_RELEASE + 4), 0);
	}
}

static void address_in_no_table(void **state)
{
	struct rig *r = *state;
	struct nanet3_event ev;

	start(r, 0);
	rig_table(r, 0)[1] = 1ull << 50;
	steps(r, 2 * FRAMES + 1);
	ev = next_of(r, NANET3_EVENT_RX);
	assert_int_equal(ev.length, FRAMES * NANET3_FRAME_BYTES);
	ev = next_of(r, NANET3_EVENT_ERROR);
	assert_int_equal(ev.reason, NANET3_ERROR_DMA_FAULT);
	assert_int_equal(ev.link, 0);
	ev = next_of(r, NANET3_EVENT_RX);
	assert_int_equal(ev.reason, NANET3_GAP_BOARD_FIFO);
	assert_int_equal(ev.position, 1);
	assert_int_equal(ev.frames, 1);
	check_fates(r, &ev);
	ev = next_of(r, NANET3_EVENT_RX); /* the next buffer's address is good */
	assert_int_equal(ev.position, 2);
	check_data(r, &ev);
	assert_int_equal(rd(r, NANET3_REG_TLB_MISSES), 1);
}

static void table_of_nothing_never_crashes(void **state)
{
	struct rig *r = *state;

	start(r, 0);
	wr(r, NANET3_REG_LINK(0, NANET3_LREG_CONTROL), 0);
	wr(r, NANET3_REG_LINK(0, NANET3_LREG_TABLE + 4), ~0u);
	wr(r, NANET3_REG_LINK(0, NANET3_LREG_TABLE), ~0u);
	wr(r, NANET3_REG_LINK(0, NANET3_LREG_CONTROL), NANET3_LINK_ENABLE);
	steps(r, 100);
	assert_int_equal(lrd(r, 0, NANET3_LREG_DROP_FIFO) + lrd(r, 0, NANET3_LREG_DROP_RING), 100);
	wr(r, NANET3_REG_EVQ_BASE, 0);
	wr(r, NANET3_REG_TX_BASE, ~0u);
	wr(r, NANET3_REG_TX_WRITE, ~0u);
	steps(r, 100);
}

/* ------------------------------------------------------------------------ trouble */

static void stall_is_told_and_charged(void **state)
{
	struct rig *r = *state;
	struct nanet3_tx tx = {.link = 0, .kind = NANET3_TX_REQUEST, .bytes = {1}};
	struct nanet3_event ev;
	uint32_t written;

	start(r, 0);
	steps(r, 5);
	stall(r, 1);
	steps(r, 1);
	ev = next_of(r, NANET3_EVENT_ERROR);
	assert_int_equal(ev.reason, NANET3_ERROR_STALLED);
	assert_int_equal(ev.value, 1);
	assert_true(rd(r, NANET3_REG_STATUS) & NANET3_STATUS_STALLED);
	written = rd(r, NANET3_REG_EVQ_WRITE);
	post(r, &tx);
	steps(r, 9000); /* a PPS is in it */
	assert_int_equal(rd(r, NANET3_REG_EVQ_WRITE), written);
	assert_int_equal(rd(r, NANET3_REG_TX_READ), 0);
	assert_int_equal(rd(r, NANET3_REG_EVQ_LOST), 0);
	stall(r, 0);
	steps(r, FRAMES);
	ev = next_of(r, NANET3_EVENT_ERROR);
	assert_int_equal(ev.value, 0);
	ev = next_of(r, NANET3_EVENT_TX);
	ev = next_of(r, NANET3_EVENT_RX);
	assert_int_equal(ev.frames, 5);
	check_data(r, &ev);
	ev = next_of(r, NANET3_EVENT_RX);
	assert_int_equal(ev.reason, NANET3_GAP_BOARD_FIFO);
	assert_int_equal(ev.frames, 9001);
	check_fates(r, &ev);
	ev = next_of(r, NANET3_EVENT_RX);
	check_data(r, &ev);
}

static void full_queue_loses_control_events_only(void **state)
{
	struct rig *r = *state;
	struct nanet3_event ev;
	unsigned rx = 0, link = 0;
	bool told = false;

	wr(r, NANET3_REG_EVQ_SIZE, 16);
	start(r, 0);
	for (unsigned i = 0; i < 40; i++) { /* LINK events without end, nobody takes any */
		r->world.links[1].dark = i % 2;
		steps(r, 1);
		r->world.pps_phase = (uint32_t)(r->world.step + 1) % 8000;
	}
	steps(r, DEPTH * FRAMES);
	assert_true(rd(r, NANET3_REG_EVQ_LOST) > 0);
	assert_int_equal(rd(r, NANET3_REG_EVQ_WRITE), 16);
	r->world.pps = false;
	for (unsigned i = 0; i < 100; i++) {
		while (rd(r, NANET3_REG_EVQ_WRITE) != r->read) {
			ev = ((struct nanet3_event *)(r->arena + AT_EVQ))[r->read % 16];
			wr(r, NANET3_REG_EVQ_READ, ++r->read);
			if (ev.type == NANET3_EVENT_RX) {
				assert_int_equal(ev.position, rx++);
				release(r, 0, rx);
			}
			link += ev.type == NANET3_EVENT_LINK;
			told |= ev.type == NANET3_EVENT_ERROR && ev.reason == NANET3_ERROR_EVQ_FULL;
		}
		r->world.pps = i == 50;
		r->world.pps_phase = (uint32_t)(r->world.step + 1) % 8000;
		steps(r, 1);
	}
	assert_true(rx >= DEPTH);
	assert_true(link > 0 && told);
}

static void read_index_of_nonsense(void **state)
{
	struct rig *r = *state;

	start(r, 0);
	wr(r, NANET3_REG_EVQ_READ, 12345);
	steps(r, 1000);
	assert_int_equal(rd(r, NANET3_REG_EVQ_WRITE), 0); /* looks full: nothing is overwritten */
}

/* Faults, releases, deadlines and PPS at random: ranges stay contiguous but for the one hole, and the
 * world was told the truth of every cell. */
static void random_life(void **state)
{
	struct rig *r = *state;
	uint64_t released[4] = {0}, expected[4] = {0}, holes = 0, cells = 0;

	srand(20261120);
	for (unsigned i = 0; i < 4; i++) {
		start(r, i);
	}
	for (unsigned s = 0; s < 60000; s++) {
		struct fake_link *l = &r->world.links[rand() % 4];
		struct nanet3_event ev;

		if (rand() % 20 == 0) {
			l->dark = rand() % 4 == 0;
			l->fifo_drop = rand() % 4 == 0;
		}
		if (rand() % 5000 == 0) {
			r->world.pps_phase = (uint32_t)rand() % 8000;
			wr(r, NANET3_REG_LINK(s % 4, NANET3_LREG_DEADLINE),
			   (uint32_t)rand() % 6000);
		}
		if (rand() % 3000 == 0) {
			stall(r, rand() % 2);
		}
		steps(r, 1);
		while (next(r, &ev)) {
			if (ev.type != NANET3_EVENT_RX) {
				continue;
			}
			if (expected[ev.link] != 0 && ev.frame_count != expected[ev.link]) {
				assert_true(ev.frame_count > expected[ev.link]);
				assert_int_equal(ev.frame_count % 8000, 0);
				assert_true(ev.frame_count - expected[ev.link] < 8000);
				holes++;
			}
			expected[ev.link] = ev.frame_count + ev.frames;
			cells += ev.frames;
			check_fates(r, &ev);
			if (ev.reason == 0) {
				check_data(r, &ev);
			}
		}
		if (rand() % 40 == 0) { /* now and then too slow */
			unsigned k = (unsigned)rand() % 4;
			uint64_t write = lrd(r, k, NANET3_LREG_WRITE);

			released[k] += (uint64_t)rand() % (write - released[k] + 1);
			release(r, k, released[k]);
		}
	}
	assert_true(holes > 0);
	assert_true(cells > 200000);
	for (unsigned i = 0; i < 4; i++) {
		assert_true(lrd(r, i, NANET3_LREG_DROP_RING) > 0);
	}
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		T(registers),
		T(surroundings),
		T(pair_is_latched),
		T(reset_forgets),
		T(bad_geometry_is_refused),
		T(buffers_follow_each_other),
		T(deadline_hands_over),
		T(dark_link_tells_at_every_deadline),
		T(fifo_drop_is_a_gap_of_its_length),
		T(counts_and_losses_given),
		T(full_ring_counts_and_tells),
		T(full_ring_waits_for_two_places),
		T(gaps_of_different_reasons_keep_their_order),
		T(release_rules),
		T(address_in_no_table),
		T(table_of_nothing_never_crashes),
		T(stall_is_told_and_charged),
		T(full_queue_loses_control_events_only),
		T(read_index_of_nonsense),
		T(random_life),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
