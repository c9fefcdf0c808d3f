/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The device model: faults that a test asks for, and memory that goes away. */
#include <string.h>

#include "driver/emu/common/model_fault.h"
#include "tests/unit/driver/emu/board/board_rig.h"

#define MS 8u /* steps */

static void fault(struct rig *r, unsigned code, unsigned which, unsigned argument)
{
	wr(r, NANET3_REG_MODEL_FAULT, MODEL_FAULT(code, which, argument));
}

static unsigned count_events(struct rig *r)
{
	struct nanet3_event ev;
	unsigned n = 0;

	while (next(r, &ev)) {
		n++;
	}
	return n;
}

/* ------------------------------------------------------------------------ interrupts and events */

static void lost_interrupts(void **state)
{
	struct rig *r = *state;
	unsigned others;

	start(r, 2);
	others = r->irqs[NANET3_LINKS];
	fault(r, MODEL_FAULT_LOSE_IRQS, 2, 3);
	steps(r, 5 * FRAMES);
	assert_int_equal(lrd(r, 2, NANET3_LREG_WRITE), 5);
	assert_int_equal(r->irqs[2], 2);
	assert_true(rd(r, NANET3_REG_IRQ_STATUS) & 1u << 2);
	assert_true(r->irqs[NANET3_LINKS] > others); /* those of another vector come */
	fault(r, MODEL_FAULT_LOSE_IRQS, NANET3_VECTORS, 3);
	fault(r, MODEL_FAULT_LOSE_IRQS, 0xff, 3);
}

static void spurious_interrupts(void **state)
{
	struct rig *r = *state;
	uint32_t status = rd(r, NANET3_REG_IRQ_STATUS);

	fault(r, MODEL_FAULT_SPURIOUS, 1, 3);
	fault(r, MODEL_FAULT_SPURIOUS, 4, 2);
	fault(r, MODEL_FAULT_SPURIOUS, 5, 2);
	assert_int_equal(r->irqs[1], 3);
	assert_int_equal(r->irqs[4], 2);
	assert_int_equal(rd(r, NANET3_REG_IRQ_STATUS), status);
	assert_int_equal(count_events(r), 0);
}

static void strange_events(void **state)
{
	struct rig *r = *state;
	struct nanet3_event ev;

	start(r, 3);
	steps(r, FRAMES);
	count_events(r);
	fault(r, MODEL_FAULT_BAD_EVENT, 0, 2);
	assert_true(next(r, &ev));
	assert_true(ev.type > NANET3_EVENT_PUT);
	assert_true(next(r, &ev));
	assert_int_equal(ev.type, NANET3_EVENT_RX);
	assert_true(ev.link >= NANET3_LINKS);
	fault(r, MODEL_FAULT_STALE_EVENT, 3, 2);
	for (unsigned i = 0; i < 2; i++) {
		assert_true(next(r, &ev));
		assert_int_equal(ev.type, NANET3_EVENT_RX);
		assert_int_equal(ev.link, 3);
		assert_int_equal(ev.dma_epoch, 102); /* the one before */
		assert_int_equal(ev.position, 1 + i);
	}
	fault(r, MODEL_FAULT_FLOOD, 1, 20);
	for (unsigned i = 0; i < 20; i++) {
		assert_true(next(r, &ev));
		assert_int_equal(ev.type, NANET3_EVENT_LINK);
		assert_int_equal(ev.link, 1);
	}
	assert_false(next(r, &ev));
	steps(r, FRAMES); /* the stream is as it was */
	ev = next_of(r, NANET3_EVENT_RX);
	assert_int_equal(ev.position, 1);
	check_data(r, &ev);
}

/* However many events come, the places of buffers are theirs. */
static void flood_leaves_room_for_data(void **state)
{
	struct rig *r = *state;
	unsigned rx = 0;
	struct nanet3_event ev;

	start(r, 0);
	fault(r, MODEL_FAULT_FLOOD, 0, 0xffff);
	assert_int_equal(rd(r, NANET3_REG_EVQ_WRITE), EVQ - DEPTH);
	assert_int_equal(rd(r, NANET3_REG_EVQ_LOST), 0xffff - (EVQ - DEPTH));
	fault(r, MODEL_FAULT_BAD_EVENT, 0, 100);
	fault(r, MODEL_FAULT_STALE_EVENT, 0, 100);
	steps(r, DEPTH * FRAMES);
	while (next(r, &ev)) {
		rx += ev.type == NANET3_EVENT_RX;
	}
	assert_int_equal(rx, DEPTH);
}

static void unknown_faults_are_none(void **state)
{
	struct rig *r = *state;

	fault(r, 0, 0, 0);
	fault(r, MODEL_FAULT_STUCK_BUFFER + 1, 0, 1);
	fault(r, 0xff, 0xff, 0xffff);
	fault(r, MODEL_FAULT_STUCK_DMA, 4, 1);
	fault(r, MODEL_FAULT_STALE_EVENT, 4, 1);
	assert_int_equal(count_events(r), 0);
	steps(r, 1);
}

/* ------------------------------------------------------------------------ the bus */

static void lost_reads(void **state)
{
	struct rig *r = *state;
	uint32_t id = rd(r, NANET3_REG_ID);

	fault(r, MODEL_FAULT_LOSE_READS, 0, 2);
	assert_int_equal(rd(r, NANET3_REG_ID), UINT32_MAX);
	wr(r, NANET3_REG_SCRATCH, 7); /* writes arrive */
	assert_int_equal(lrd(r, 3, NANET3_LREG_DEADLINE), UINT32_MAX);
	assert_int_equal(rd(r, NANET3_REG_ID), id);
	assert_int_equal(rd(r, NANET3_REG_SCRATCH), 7);
}

static void deaf_for_a_while(void **state)
{
	struct rig *r = *state;
	struct nanet3_event ev;

	start(r, 1);
	fault(r, MODEL_FAULT_DEAF, 0, 3);
	assert_false(board_gone(r->board));
	steps(r, 3 * MS - 1);
	assert_int_equal(rd(r, NANET3_REG_BOOT_COUNT), UINT32_MAX);
	steps(r, 1);
	assert_int_equal(rd(r, NANET3_REG_BOOT_COUNT), 1);
	ev = next_of(r, NANET3_EVENT_RX); /* data went on */
	assert_int_equal(ev.position, 0);
	check_data(r, &ev);
	fault(r, MODEL_FAULT_DEAF, 0, 1000);
	assert_int_equal(rd(r, NANET3_REG_ID), UINT32_MAX);
	fault(r, MODEL_FAULT_DEAF, 0, 0);
	assert_int_equal(rd(r, NANET3_REG_BOOT_COUNT), 1);
}

/* Counted, with their interrupts, and never there. */
static void lost_events(void **state)
{
	struct rig *r = *state;
	const struct nanet3_event *queue = (void *)(r->arena + AT_EVQ);
	unsigned irqs;
	uint32_t written;

	start(r, 1);
	steps(r, FRAMES);
	count_events(r);
	irqs = r->irqs[1];
	written = rd(r, NANET3_REG_EVQ_WRITE);
	fault(r, MODEL_FAULT_LOSE_EVENTS, 0, 1);
	steps(r, 2 * FRAMES);
	assert_int_equal(rd(r, NANET3_REG_EVQ_WRITE), written + 2);
	assert_int_equal(r->irqs[1], irqs + 2);
	assert_int_not_equal(queue[written % EVQ].sequence, written + 1);
	assert_int_equal(queue[(written + 1) % EVQ].sequence, written + 2);
}

/* ------------------------------------------------------------------------ stuck DMA */

static void busy_is_from_start_to_stop(void **state)
{
	struct rig *r = *state;
	struct nanet3_event ev;

	assert_false(lrd(r, 0, NANET3_LREG_STATUS) & NANET3_LSTAT_BUSY);
	start(r, 0);
	assert_true(lrd(r, 0, NANET3_LREG_STATUS) & NANET3_LSTAT_BUSY);
	steps(r, 20);
	assert_true(lrd(r, 0, NANET3_LREG_STATUS) & NANET3_LSTAT_BUSY);
	ev = next_of(r, NANET3_EVENT_LINK);
	assert_false(ev.value & NANET3_LSTAT_BUSY);
	wr(r, NANET3_REG_LINK(0, NANET3_LREG_CONTROL), 0);
	assert_false(lrd(r, 0, NANET3_LREG_STATUS) & NANET3_LSTAT_BUSY);
}

static bool busy(struct rig *r)
{
	return lrd(r, 1, NANET3_LREG_STATUS) & NANET3_LSTAT_BUSY;
}

static void stuck_dma(void **state)
{
	struct rig *r = *state;
	static const struct {
		unsigned argument;
		unsigned steps; /* after which it has let go; 0: never */
		bool by_reset;
	} rows[] = {{1, MS, true}, {50, 50 * MS, true}, {0xffff, 0, true}, {0xfffe, 0, false}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		for (int reset = 0; reset < 2; reset++) {
			uint8_t *page;

			tear_down(state);
			set_up(state);
			r = *state;
			page = r->arena + rig_table(r, 1)[0];
			start(r, 1);
			page = r->arena + rig_table(r, 1)[0];
			fault(r, MODEL_FAULT_STUCK_DMA, 1, rows[i].argument);
			steps(r, 3);
			assert_true(busy(r));
			wr(r, NANET3_REG_LINK(1, NANET3_LREG_CONTROL), 0);
			assert_int_equal(lrd(r, 1, NANET3_LREG_CONTROL), 0);
			assert_true(busy(r));
			count_events(r);
			memset(page, 0, NANET3_FRAME_BYTES);
			steps(r, 1);
			assert_true(page[1] != 0 || page[2] != 0); /* it still writes */
			assert_false(has(r, NANET3_EVENT_RX));
			wr(r, NANET3_REG_LINK(1, NANET3_LREG_CONTROL), NANET3_LINK_ENABLE);
			assert_int_equal(lrd(r, 1, NANET3_LREG_CONTROL), 0);
			if (reset) {
				wr(r, NANET3_REG_CONTROL, NANET3_CONTROL_RESET);
				assert_int_equal(busy(r), !rows[i].by_reset);
				continue;
			}
			steps(r, rows[i].steps > 0 ? rows[i].steps - 1 : 1000 * MS);
			assert_true(rows[i].steps == 0 || rows[i].steps == MS || busy(r));
			steps(r, 1);
			assert_int_equal(busy(r), rows[i].steps == 0);
			if (busy(r)) {
				continue;
			}
			memset(page, 0, NANET3_FRAME_BYTES);
			steps(r, 2);
			assert_true(page[1] == 0 && page[2] == 0);
			start(r, 1); /* once asked for, once stuck */
			steps(r, FRAMES);
			assert_true(has(r, NANET3_EVENT_RX));
			wr(r, NANET3_REG_LINK(1, NANET3_LREG_CONTROL), 0);
			assert_false(busy(r));
		}
	}
}

/* ------------------------------------------------------------------------ the whole board */

static void gone_and_back(void **state)
{
	struct rig *r = *state;
	struct nanet3_event ev;
	uint8_t *page;
	unsigned irqs;

	start(r, 0);
	steps(r, FRAMES + 3);
	count_events(r);
	irqs = r->irqs[0] + r->irqs[4];
	page = r->arena + rig_table(r, 0)[1];
	assert_false(board_gone(r->board));
	fault(r, MODEL_FAULT_GONE, 0, 10);
	assert_true(board_gone(r->board));
	memset(page, 0, STRIDE);
	for (unsigned i = 0; i < 10 * MS; i++) {
		assert_int_equal(rd(r, NANET3_REG_ID), ~0u);
		assert_int_equal(rd(r, NANET3_BAR_BYTES - 4), ~0u);
		assert_int_equal(lrd(r, 0, NANET3_LREG_STATUS), ~0u);
		wr(r, NANET3_REG_SCRATCH, 1);
		fault(r, MODEL_FAULT_SPURIOUS, 0, 1);
		assert_true(board_gone(r->board));
		steps(r, 1);
	}
	assert_false(board_gone(r->board));
	assert_int_equal(r->irqs[0] + r->irqs[4], irqs);
	assert_true(page[1] == 0 && page[NANET3_FRAME_BYTES * 4 + 1] == 0);
	/* As after power-up, but for the boot count. */
	assert_int_equal(rd(r, NANET3_REG_ID), 0x00334e4e);
	assert_int_equal(rd(r, NANET3_REG_SERIAL), 77);
	assert_int_equal(rd(r, NANET3_REG_BOOT_COUNT), 2);
	assert_int_equal(rd(r, NANET3_REG_MODEL), NANET3_EMULATED_REAL_TIME);
	assert_int_equal(rd(r, NANET3_REG_SCRATCH), 0);
	assert_int_equal(rd(r, NANET3_REG_CONTROL), 0);
	assert_int_equal(rd(r, NANET3_REG_EVQ_WRITE), 0);
	assert_int_equal(rd(r, NANET3_REG_EVQ_BASE), 0);
	assert_int_equal(lrd(r, 0, NANET3_LREG_CONTROL), 0);
	assert_int_equal(lrd(r, 0, NANET3_LREG_DEADLINE), 5000);
	assert_int_equal(lrd(r, 0, NANET3_LREG_DEPTH), 0);
	assert_int_equal(r->world.links[0].resets, 1);
	r->world.pps = false;
	steps(r, 1);
	assert_int_equal(board_count(r->board), FIRST);
	/* And works when it is set up. */
	r->read = 0;
	wr(r, NANET3_REG_EVQ_BASE, AT_EVQ);
	wr(r, NANET3_REG_EVQ_SIZE, EVQ);
	wr(r, NANET3_REG_CONTROL, NANET3_CONTROL_EVENTS);
	steps(r, 500);
	start(r, 0);
	steps(r, FRAMES);
	ev = next_of(r, NANET3_EVENT_RX);
	assert_int_equal(ev.reason, 0);
	check_data(r, &ev);
}

/* A scenario's faults are the same ones. */
static void faults_of_the_scenario(void **state)
{
	struct rig *r = *state;

	r->world.fault = MODEL_FAULT(MODEL_FAULT_GONE, 0, 1);
	steps(r, 1);
	assert_true(board_gone(r->board));
	steps(r, MS - 1);
	assert_false(board_gone(r->board));
}

static void gone_for_good(void **state)
{
	struct rig *r = *state;

	fault(r, MODEL_FAULT_GONE, 0, 0);
	steps(r, 20000);
	assert_true(board_gone(r->board));
	assert_int_equal(rd(r, NANET3_REG_ID), ~0u);
	assert_true(r->world.links[0].down_off);
}

static void stalled_for_a_while(void **state)
{
	struct rig *r = *state;
	struct nanet3_event ev;

	start(r, 0);
	steps(r, 1);
	fault(r, MODEL_FAULT_STALL, 0, 5);
	steps(r, 1);
	ev = next_of(r, NANET3_EVENT_ERROR);
	assert_int_equal(ev.reason, NANET3_ERROR_STALLED);
	assert_int_equal(ev.value, 1);
	steps(r, 5 * MS - 1);
	assert_false(has(r, NANET3_EVENT_ERROR));
	steps(r, 1);
	assert_int_equal(next_of(r, NANET3_EVENT_ERROR).value, 0);
}

static void unpaced_is_told(void **state)
{
	struct rig *r = *state;

	board_unpaced(r->board);
	assert_int_equal(rd(r, NANET3_REG_MODEL), NANET3_EMULATED_UNPACED);
	fault(r, MODEL_FAULT_GONE, 0, 1);
	steps(r, MS);
	assert_int_equal(rd(r, NANET3_REG_MODEL), NANET3_EMULATED_UNPACED);
}

/* ------------------------------------------------------------------------ memory */

/* Memory that is taken from under a buffer that is being filled: what came before is handed over. */
static void memory_that_goes_away(void **state)
{
	struct rig *r = *state;
	struct nanet3_event ev;

	start(r, 0);
	steps(r, 5);
	r->hidden_at = AT_RING;
	steps(r, 4);
	r->hidden_at = 0;
	steps(r, FRAMES);
	ev = next_of(r, NANET3_EVENT_ERROR);
	assert_int_equal(ev.reason, NANET3_ERROR_DMA_FAULT);
	assert_int_equal(ev.value, NANET3_REG_LINK(0, NANET3_LREG_TABLE));
	ev = next_of(r, NANET3_EVENT_RX);
	assert_int_equal(ev.frames, 5);
	check_data(r, &ev);
	for (unsigned lost = 0; lost < 4; lost += ev.frames) {
		ev = next_of(r, NANET3_EVENT_RX);
		assert_int_equal(ev.reason, NANET3_GAP_BOARD_FIFO);
		check_fates(r, &ev);
	}
	ev = next_of(r, NANET3_EVENT_RX);
	assert_int_equal(ev.frame_count, FIRST + 9);
	assert_int_equal(ev.frames, FRAMES);
	check_data(r, &ev);
}

static void doorbell_is_the_release_register(void **state)
{
	struct rig *r = *state;
	static const struct {
		uint64_t position, expected;
	} rows[] = {{1, 1},	     {3, 3},	 {2, 3}, /* backwards */
		    {5, 3},				 /* beyond */
		    {1ull << 32, 3}, {~0ull, 3}, {4, 4}};

	start(r, 2);
	steps(r, 4 * FRAMES);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		wr(r, NANET3_REG_DOORBELL(2) + 4, (uint32_t)(rows[i].position >> 32));
		wr(r, NANET3_REG_DOORBELL(2), (uint32_t)rows[i].position);
		assert_int_equal(lrd(r, 2, NANET3_LREG_RELEASE), rows[i].expected);
		assert_int_equal(lrd(r, 2, NANET3_LREG_RELEASE + 4), 0);
	}
}

/* ------------------------------------------------------------------------ the bus */

static uint64_t first_word(struct rig *r, unsigned position, unsigned cell)
{
	uint64_t word;

	memcpy(&word, r->arena + rig_table(r, 1)[position % DEPTH] + cell * NANET3_FRAME_BYTES, 8);
	return word;
}

/* Where writes may pass one another, an event comes before its buffer's last cell, and no other cell is late. */
static void events_before_their_data(void **state)
{
	struct rig *r = *state;
	struct nanet3_event ev;

	start(r, 1);
	fault(r, MODEL_FAULT_REORDER, 0, 1);
	r->reorders = true;
	steps(r, FRAMES);
	ev = next_of(r, NANET3_EVENT_RX);
	assert_int_equal(ev.frames, FRAMES);
	assert_int_equal(first_word(r, 0, FRAMES - 2), fake_pattern(FIRST + FRAMES - 2, 1));
	assert_int_equal(first_word(r, 0, FRAMES - 1), 0);
	steps(r, FRAMES); /* it has come by now, and the next one is as it should be */
	check_data(r, &ev);
	ev = next_of(r, NANET3_EVENT_RX);
	check_data(r, &ev);

	fault(r, MODEL_FAULT_REORDER, 0, 2);
	steps(r, FRAMES); /* a stop ends the writing */
	wr(r, NANET3_REG_LINK(1, NANET3_LREG_CONTROL), 0);
	ev = next_of(r, NANET3_EVENT_RX);
	check_data(r, &ev);
}

static void writes_in_order(void **state)
{
	struct rig *r = *state;
	struct nanet3_event ev;

	start(r, 1);
	fault(r, MODEL_FAULT_REORDER, 0, 100);
	for (unsigned i = 0; i < 3; i++) {
		steps(r, FRAMES);
		ev = next_of(r, NANET3_EVENT_RX);
		check_data(r, &ev);
	}
}

static void link_retrained(void **state)
{
	struct rig *r = *state;

	fault(r, MODEL_FAULT_TRAIN, 4, 1);
	assert_int_equal(r->lanes, 4);
	assert_int_equal(r->generation, 1);
}

static void version_until_power_off(void **state)
{
	struct rig *r = *state;

	fault(r, MODEL_FAULT_VERSION, 0, 99);
	assert_int_equal(rd(r, NANET3_REG_VERSION), 99);
	assert_int_equal(rd(r, NANET3_REG_CAPS), 0);
	wr(r, NANET3_REG_CONTROL, NANET3_CONTROL_RESET);
	assert_int_equal(rd(r, NANET3_REG_VERSION), 99);
	fault(r, MODEL_FAULT_GONE, 0, 1);
	steps(r, MS);
	assert_int_equal(rd(r, NANET3_REG_VERSION), NANET3_HW_VERSION);
	assert_int_equal(rd(r, NANET3_REG_CAPS), NANET3_CAP_LOST_DESCRIPTORS);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		T(lost_interrupts),
		T(spurious_interrupts),
		T(strange_events),
		T(flood_leaves_room_for_data),
		T(unknown_faults_are_none),
		T(lost_reads),
		T(deaf_for_a_while),
		T(lost_events),
		T(busy_is_from_start_to_stop),
		T(stuck_dma),
		T(gone_and_back),
		T(faults_of_the_scenario),
		T(gone_for_good),
		T(stalled_for_a_while),
		T(unpaced_is_told),
		T(memory_that_goes_away),
		T(doorbell_is_the_release_register),
		T(events_before_their_data),
		T(writes_in_order),
		T(link_retrained),
		T(version_until_power_off),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
