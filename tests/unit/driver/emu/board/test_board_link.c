/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The device model: count and PPS, downstream frames, lock, phase. Rings are in test_board.c. */
#include <string.h>

#include "driver/emu/common/model_fault.h"
#include "tests/unit/driver/emu/board/board_rig.h"

/* ------------------------------------------------------------------------ count and PPS */

static void count_runs_free(void **state)
{
	struct rig *r = *state;

	r->world.pps = false;
	steps(r, 20000);
	assert_int_equal(board_count(r->board), FIRST + 19999);
	assert_int_equal(rd(r, NANET3_REG_PPS_NUMBER), 0);
	assert_false(rd(r, NANET3_REG_STATUS) & NANET3_STATUS_PPS);
}

static void pps_on_the_border_changes_nothing(void **state)
{
	struct rig *r = *state;
	struct nanet3_event ev;

	steps(r, 16001);
	assert_int_equal(board_count(r->board), FIRST + 16000);
	for (uint32_t i = 0; i < 3; i++) {
		ev = next_of(r, NANET3_EVENT_PPS);
		assert_int_equal(ev.value, i + 1);
		assert_int_equal(ev.frame_count, FIRST + 8000 * i);
	}
	assert_int_equal(rd(r, NANET3_REG_PPS_NUMBER), 3);
	assert_int_equal(rd(r, NANET3_REG_PPS_COUNT), FIRST + 16000);
	assert_int_equal(rd(r, NANET3_REG_PPS_OFFSET), 0);
}

static void pps_off_the_border_begins_a_second(void **state)
{
	struct rig *r = *state;
	static const struct {
		uint32_t phase;
		int32_t offset_ns;
	} rows[] = {{1, 125000}, {3000, 375000000}, {4000, -500000000}, {7999, -125000}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct nanet3_event ev;
		uint64_t step, border;
		uint32_t cells = 0;

		tear_down(state);
		set_up(state);
		r = *state;
		r->world.pps_phase = rows[i].phase;
		start(r, 0);
		border = 2 * NANET3_FRAMES_PER_SECOND;
		for (step = 0; step <= rows[i].phase; step++) {
			steps(r, 1);
			while (next(r, &ev)) {
				if (ev.type == NANET3_EVENT_RX) {
					assert_int_equal(ev.frame_count, FIRST + cells);
					check_data(r, &ev);
					cells += ev.frames;
					release(r, 0, ev.position + 1);
				}
			}
		}
		assert_int_equal(cells, rows[i].phase); /* the short second is handed over */
		assert_int_equal(board_count(r->board), border);
		assert_int_equal((int32_t)rd(r, NANET3_REG_PPS_OFFSET), rows[i].offset_ns);
		steps(r, FRAMES - 1);
		ev = next_of(r, NANET3_EVENT_RX);
		assert_int_equal(ev.frame_count, border);
		assert_int_equal(ev.frames, FRAMES);
		check_data(r, &ev);
		r->world.links[0].dark = true;
		steps(r, 8000 - FRAMES + 1);
		assert_int_equal(board_count(r->board), border + 8000); /* in step from now on */
		assert_int_equal(rd(r, NANET3_REG_PPS_OFFSET), 0);
	}
}

/* ------------------------------------------------------------------------ downstream */

static void down_header(struct rig *r, unsigned link, struct tdm_header *ret_header)
{
	assert_int_equal(tdm_frame_check(r->world.links[link].down, ret_header), TDM_OK);
}

static void frames_are_sealed_and_labelled(void **state)
{
	struct rig *r = *state;
	struct tdm_header h, h2;
	uint16_t parity;

	r->world.pps_phase = 10;
	steps(r, 3);
	for (unsigned i = 0; i < 4; i++) {
		down_header(r, i, &h);
		assert_int_equal(h.flags, TDM_FLAG_DOWNSTREAM | TDM_FLAG_BOOTED);
		assert_int_equal(h.sequence, 2);
		assert_int_equal(h.time.frame, 2);
		assert_int_equal(h.time.quality, TDM_TIME_NONE); /* no PPS yet */
		assert_int_equal(h.time.lock, TDM_LOCK_CLOCK | TDM_LOCK_UPLINK);
	}
	steps(r, 8);
	down_header(r, 1, &h);
	assert_int_equal(h.sequence, 10);
	assert_int_equal(h.time.frame, 0); /* the PPS began a second */
	assert_int_equal(h.time.second, 45296);
	assert_int_equal(h.time.day, 171);
	assert_int_equal(h.time.year, 26);
	assert_int_equal(h.time.quality, TDM_TIME_LOCKED);
	assert_int_equal(h.time.lock, TDM_LOCK_PPS | TDM_LOCK_CLOCK | TDM_LOCK_UPLINK);
	parity = tdm_frame_parity(r->world.links[1].down);
	steps(r, 1);
	down_header(r, 1, &h2);
	assert_int_equal(h2.parity, parity);
	r->world.links[1].dark = true;
	steps(r, 8000);
	down_header(r, 1, &h);
	assert_int_equal(h.flags, TDM_FLAG_DOWNSTREAM);
	assert_false(h.time.lock & TDM_LOCK_UPLINK);
}

static void requests_leave_sixteen_a_frame(void **state)
{
	struct rig *r = *state;
	struct nanet3_tx tx = {.link = 2, .kind = NANET3_TX_REQUEST, .bytes = {1}};

	steps(r, 1);
	for (uint8_t i = 0; i < 40; i++) {
		tx.cookie = 1000u + i;
		tx.bytes[1] = i;
		post(r, &tx);
	}
	for (unsigned frame = 0; frame < 3; frame++) {
		unsigned in_frame = frame < 2 ? 16 : 8;
		struct tdm_header h;

		steps(r, 1);
		down_header(r, 2, &h);
		for (unsigned p = 0; p < 16; p++) {
			const uint8_t *word = tdm_request(r->world.links[2].down, p);

			assert_int_equal(word[0], p < in_frame ? 1 : 0);
			assert_int_equal(word[1], p < in_frame ? frame * 16 + p : 0);
			assert_int_equal(tdm_request(r->world.links[1].down, p)[0], 0);
		}
		for (unsigned p = 0; p < in_frame; p++) {
			struct nanet3_event ev = next_of(r, NANET3_EVENT_TX);

			assert_int_equal(ev.cookie, 1000 + frame * 16 + p);
			assert_int_equal(ev.frame_count, board_count(r->board));
			assert_int_equal(ev.reason, 0);
		}
	}
	steps(r, 1);
	assert_int_equal(tdm_request(r->world.links[2].down, 0)[0], 0); /* sent once */
	assert_int_equal(rd(r, NANET3_REG_TX_READ), 40);
	assert_false(has(r, NANET3_EVENT_TX));
}

static void words_wait_for_their_frame(void **state)
{
	struct rig *r = *state;
	struct nanet3_tx late = {
		.link = 0, .kind = NANET3_TX_REQUEST, .cookie = 1, .bytes = {1, 1}};
	struct nanet3_tx soon = {
		.link = 0, .kind = NANET3_TX_REQUEST, .cookie = 2, .bytes = {1, 2}};
	struct nanet3_event ev;

	steps(r, 1);
	late.at_frame = board_count(r->board) + 5;
	soon.at_frame = 3; /* long past */
	post(r, &late);
	post(r, &soon);
	steps(r, 4);
	ev = next_of(r, NANET3_EVENT_TX);
	assert_int_equal(ev.cookie, 2);
	assert_int_equal(ev.frame_count, late.at_frame - 4);
	assert_false(has(r, NANET3_EVENT_TX));
	steps(r, 1);
	ev = next_of(r, NANET3_EVENT_TX);
	assert_int_equal(ev.cookie, 1);
	assert_int_equal(ev.frame_count, late.at_frame);
	assert_int_equal(tdm_request(r->world.links[0].down, 0)[1], 1);
}

static void timing_and_serial(void **state)
{
	struct rig *r = *state;
	struct nanet3_tx all = {.link = 0xff,
				.kind = NANET3_TX_TIMING,
				.bytes = {TDM_TIMING_ARM_PPS, 0, 0, 0, 0x78, 0x56, 0x34, 0x12, 9}};
	struct nanet3_tx one = {.link = 1, .kind = NANET3_TX_TIMING, .bytes = {TDM_TIMING_ALIGN}};
	struct nanet3_tx text = {.link = 1, .kind = NANET3_TX_SERIAL, .bytes = {3, 2, 'h', 'i'}};
	struct tdm_timing timing;
	struct tdm_serial serial;
	struct tdm_header h;

	post(r, &one);
	post(r, &all);
	post(r, &text);
	steps(r, 1);
	tdm_timing_get(r->world.links[1].down, &timing);
	assert_int_equal(timing.command, TDM_TIMING_ALIGN);
	tdm_timing_get(r->world.links[0].down, &timing);
	assert_int_equal(timing.command, TDM_TIMING_NONE); /* all in the same frame, or none */
	assert_int_equal(tdm_serial_get(r->world.links[1].down, true, &serial), 0);
	assert_int_equal(serial.length, 2);
	assert_int_equal(serial.channel, 3);
	assert_memory_equal(serial.bytes, "hi", 2);
	down_header(r, 1, &h);
	assert_int_equal(h.slot_valid, TDM_VALID_SERIAL);
	steps(r, 1);
	for (unsigned i = 0; i < 4; i++) {
		tdm_timing_get(r->world.links[i].down, &timing);
		assert_int_equal(timing.command, TDM_TIMING_ARM_PPS);
		assert_int_equal(timing.argument, 0x12345678);
		assert_int_equal(timing.sequence, 9);
	}
	down_header(r, 1, &h);
	assert_int_equal(h.slot_valid, 0);
	steps(r, 1);
	tdm_timing_get(r->world.links[0].down, &timing);
	assert_int_equal(timing.command, TDM_TIMING_NONE);
}

static void malformed_words_are_refused(void **state)
{
	struct rig *r = *state;
	static const struct nanet3_tx bad[] = {
		{.link = 4, .kind = NANET3_TX_REQUEST, .bytes = {1}},
		{.link = 0xff, .kind = NANET3_TX_REQUEST, .bytes = {1}},
		{.link = 0, .kind = 0, .bytes = {1}},
		{.link = 0, .kind = 9, .bytes = {1}},
		{.link = 0, .kind = NANET3_TX_REQUEST},
		{.link = 0, .kind = NANET3_TX_SERIAL, .bytes = {0, 31}},
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct nanet3_event ev;

		post(r, &bad[i]);
		steps(r, 1);
		ev = next_of(r, NANET3_EVENT_TX);
		assert_int_equal(ev.reason, NANET3_TX_REFUSED);
	}
}

/* ------------------------------------------------------------------------ link and phase */

static void realign_is_told(void **state)
{
	struct rig *r = *state;
	uint32_t link1 = NANET3_REG_LINK(1, NANET3_LREG_CONTROL);
	struct nanet3_event ev;

	start(r, 1);
	steps(r, 20);
	ev = next_of(r, NANET3_EVENT_LINK);
	while (ev.link != 1) {
		ev = next_of(r, NANET3_EVENT_LINK);
	}
	assert_int_equal(ev.value, NANET3_LSTAT_SIGNAL | NANET3_LSTAT_LOCKED);
	assert_int_equal(ev.reason, NANET3_LSTAT_SIGNAL | NANET3_LSTAT_LOCKED);
	while (next(r, &ev)) {
	}
	wr(r, link1, NANET3_LINK_ENABLE | NANET3_LINK_RESET);
	assert_int_equal(rd(r, link1), NANET3_LINK_ENABLE);
	steps(r, 1);
	assert_true(r->world.links[1].down_off);
	assert_int_equal(r->world.links[1].resets, 1);
	ev = next_of(r, NANET3_EVENT_LINK);
	assert_int_equal(ev.value, NANET3_LSTAT_SIGNAL);
	assert_int_equal(ev.reason, NANET3_LSTAT_LOCKED | NANET3_CAUSE_COMMAND);
	assert_int_equal(lrd(r, 1, NANET3_LREG_LOST_LOCKS), 1);
	assert_int_equal(lrd(r, 1, NANET3_LREG_PHASE_NUMBER), 0);
	steps(r, 1);
	assert_false(r->world.links[1].down_off);
	steps(r, 400);
	ev = next_of(r, NANET3_EVENT_LINK);
	assert_int_equal(ev.reason, NANET3_LSTAT_LOCKED | NANET3_CAUSE_COMMAND);
	assert_int_equal(lrd(r, 1, NANET3_LREG_ALIGNS), 2);
	/* A lock that comes back at once was lost all the same. */
	r->world.links[1].relock_steps = 0;
	wr(r, link1, NANET3_LINK_ENABLE | NANET3_LINK_ALIGN);
	steps(r, 2);
	assert_int_equal(lrd(r, 1, NANET3_LREG_ALIGNS), 3);
	assert_int_equal(r->world.links[1].realigns, 2);
	r->world.links[1].dark = true;
	while (next(r, &ev)) {
	}
	steps(r, 1);
	ev = next_of(r, NANET3_EVENT_LINK);
	assert_int_equal(ev.reason, NANET3_LSTAT_SIGNAL | NANET3_LSTAT_LOCKED);
	assert_int_equal(ev.value & ~NANET3_LSTAT_FULL, 0);
}

static void phase_mean_is_circular(void **state)
{
	struct rig *r = *state;
	static const struct {
		uint32_t a, b, mean;
	} rows[] = {{1000, 1000, 1000},
		    {12450, 50, 0},
		    {12400, 200, 50},
		    {12300, 100, 12450},
		    {0, 0, 0}};

	r->world.links[0].relock_steps = 0;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint32_t mean;

		wr(r, NANET3_REG_LINK(0, NANET3_LREG_CONTROL), NANET3_LINK_ALIGN);
		for (unsigned s = 0; s < 200; s++) {
			r->world.links[0].phase_ps = s % 2 ? rows[i].a : rows[i].b;
			steps(r, 8);
		}
		mean = lrd(r, 0, NANET3_LREG_PHASE);
		assert_true(mean < 12500);
		assert_true((mean + 12500 - rows[i].mean + 1) % 12500 <= 2);
		assert_in_range(lrd(r, 0, NANET3_LREG_PHASE_NUMBER), 199, 200);
	}
	/* The window slides: after 100 ms nothing is left of before. */
	r->world.links[0].phase_ps = 5000;
	steps(r, 801);
	assert_int_equal(lrd(r, 0, NANET3_LREG_PHASE), 5000);
	/* A measurement that has stopped leaves the registers as they are. */
	uint32_t number = lrd(r, 0, NANET3_LREG_PHASE_NUMBER);

	r->world.links[0].no_phase = true;
	r->world.links[0].phase_ps = 7000;
	steps(r, 801);
	assert_int_equal(lrd(r, 0, NANET3_LREG_PHASE), 5000);
	assert_int_equal(lrd(r, 0, NANET3_LREG_PHASE_NUMBER), number);
	r->world.links[0].no_phase = false;
	steps(r, 801);
	assert_int_equal(lrd(r, 0, NANET3_LREG_PHASE), 7000);
}

/* Of the registers that count events each wraps with the next; the others get there with the count. */
static void counters_wrap(void **state)
{
	struct rig *r = *state;
	const struct nanet3_tx word = {.link = 1, .kind = NANET3_TX_REQUEST, .bytes = {1}};
	uint32_t sent = 0;
	struct nanet3_event ev;

	start(r, 1);
	assert_int_equal(rd(r, NANET3_REG_BOOT_COUNT), UINT32_MAX - 1);
	assert_int_equal(lrd(r, 1, NANET3_LREG_PHASE_NUMBER), 0);
	steps(r, 1);
	assert_int_equal(board_count(r->board), ((1ull << 32) - AGED_FRAMES) / 8000 * 8000);
	ev = next_of(r, NANET3_EVENT_PPS);
	assert_int_equal(ev.value, UINT32_MAX);
	assert_int_equal(rd(r, NANET3_REG_STATUS),
			 NANET3_STATUS_PPS | NANET3_STATUS_REF | NANET3_STATUS_TOD);
	assert_int_equal(lrd(r, 1, NANET3_LREG_ALIGNS), UINT32_MAX);
	assert_int_equal(lrd(r, 1, NANET3_LREG_LOST_LOCKS), UINT32_MAX);
	assert_int_equal(lrd(r, 1, NANET3_LREG_CODE_ERRORS), UINT32_MAX);
	assert_int_equal(lrd(r, 1, NANET3_LREG_DROP_FIFO), UINT32_MAX);
	assert_int_equal(lrd(r, 1, NANET3_LREG_DROP_RING), UINT32_MAX);
	assert_true(lrd(r, 1, NANET3_LREG_DROP_DOWN) > UINT32_MAX - 8000);
	assert_true(lrd(r, 1, NANET3_LREG_CELLS) > INT32_MAX);
	assert_true(lrd(r, 1, NANET3_LREG_PHASE_NUMBER) == 0);
	steps(r, 8);
	assert_int_equal(lrd(r, 1, NANET3_LREG_PHASE_NUMBER), -(uint32_t)(AGED_FRAMES / 8) + 1);
	post(r, &word); /* words leave as ever */
	for (unsigned n = 0; n < 2950; n++) {
		steps(r, 8);
		while (next(r, &ev)) {
			if (ev.type == NANET3_EVENT_RX) {
				release(r, 1, ev.position + 1);
			}
			sent += ev.type == NANET3_EVENT_TX && ev.reason == 0;
		}
	}
	assert_int_equal(sent, 1);
	assert_true(board_count(r->board) > UINT32_MAX);
	assert_int_equal(rd(r, NANET3_REG_PPS_NUMBER), 1);
	assert_true(rd(r, NANET3_REG_STATUS) & NANET3_STATUS_PPS);
	assert_in_range(lrd(r, 1, NANET3_LREG_CELLS), 7500, 7600);
	assert_in_range(lrd(r, 1, NANET3_LREG_PHASE_NUMBER), 940, 960);
	r->world.links[1].code_errors = 1;
	r->world.links[1].lost = TDM_LOSS_BOARD_FIFO;
	steps(r, 1);
	r->world.links[1].lost = TDM_GOOD;
	r->world.links[1].code_errors = 0;
	assert_int_equal(lrd(r, 1, NANET3_LREG_CODE_ERRORS), 0);
	assert_int_equal(lrd(r, 1, NANET3_LREG_DROP_FIFO), 0);
	wr(r, NANET3_REG_LINK(1, NANET3_LREG_CONTROL), NANET3_LINK_ENABLE | NANET3_LINK_ALIGN);
	r->world.links[1].relock_steps = 0;
	steps(r, 500);
	assert_int_equal(lrd(r, 1, NANET3_LREG_LOST_LOCKS), 0);
	assert_int_equal(lrd(r, 1, NANET3_LREG_ALIGNS), 0);
	r->world.links[1].dark = true;
	steps(r, 8000);
	assert_true(lrd(r, 1, NANET3_LREG_DROP_DOWN) < 8000);
	for (uint32_t boot = UINT32_MAX; boot != 1; boot++) {
		wr(r, NANET3_REG_MODEL_FAULT, MODEL_FAULT(MODEL_FAULT_GONE, 0, 1));
		steps(r, 8);
		assert_int_equal(rd(r, NANET3_REG_BOOT_COUNT), boot);
	}
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		T(count_runs_free),
		T(pps_on_the_border_changes_nothing),
		T(pps_off_the_border_begins_a_second),
		T(frames_are_sealed_and_labelled),
		T(requests_leave_sixteen_a_frame),
		T(words_wait_for_their_frame),
		T(timing_and_serial),
		T(malformed_words_are_refused),
		T(realign_is_told),
		T(phase_mean_is_circular),
		cmocka_unit_test_setup_teardown(counters_wrap, set_up_aged, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
