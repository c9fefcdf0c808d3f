/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Each fault of the scenario language ends where it should: in the verdicts that tdm's deframer
 * passes, which must be those the truth file expects, cell by cell; and the other links lose nothing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "driver/emu/common/model_fault.h"
#include "tests/unit/driver/emu/world/world_rig.h"

#define START 83u /* 80 cells to the first lock, 3 to confirm it */

struct fault {
	const char *scenario; /* all at 0.05 s, on link 1 */
	unsigned down, fifo, crc, alignment, time;
};

static const struct fault faults[] = {
	{"at 0.05 link 1 crc 5", 0, 0, 5, 0, 0},
	{"at 0.05 every 0.01 times 3 link 1 crc 2", 0, 0, 6, 0, 0},
	{"at 0.05 link 1 drop 7", 0, 7, 0, 0, 0},
	{"at 0.05 link 1 unalign 1", 0, 0, 0, 3, 0},
	{"at 0.05 link 1 unalign 9999", 0, 0, 0, 3, 0},
	{"at 0.05 link 1 unalign\nat 0.06 link 1 unalign 700\nat 0.07 link 1 crc 3", 0, 0, 3, 6, 0},
	/* a lost cell takes the frames that begin and that end in it */
	{"at 0.05 link 1 unalign 2500\nat 0.06 link 1 drop 4", 0, 5, 0, 3, 0},
	{"at 0.05 link 1 time-fault 4", 0, 0, 0, 0, 4},
	{"at 0.05 link 1 unplug 0.1", 800 + 80, 0, 0, 3, 0},
	{"at 0.05 link 1 unplug\nat 0.1 link 1 plug", 400 + 80, 0, 0, 3, 0},
	{"at 0.05 link 1 fcm-boot", 4000 + 80, 0, 0, 3, 0},
	/* and the light that goes takes the frame that ends in the dark */
	{"at 0.05 link 1 unalign 77\nat 0.06 link 1 unplug 0.01", 1 + 80 + 80, 0, 0, 6, 0},
};

static void one_fault(const struct fault *f)
{
	struct rig *r = rig_create(NULL, f->scenario);
	uint64_t fates[TDM_LOSSES] = {0}, others[TDM_LOSSES] = {0};

	rig_run(r, 5500);
	/* Of light that goes some, of a damaged frame two, of bytes that come in between one. */
	if (f->down > 0 ? r->links[1].code_errors == 0
			: r->links[1].code_errors != 2 * f->crc + f->alignment / 3) {
		fail_msg("%s: %lu code errors", f->scenario, r->links[1].code_errors);
	}
	assert_int_equal(r->links[0].code_errors, 0);
	rig_compare(r, 1, fates);
	if (fates[TDM_LOSS_LINK_DOWN] != 80 + f->down || fates[TDM_LOSS_BOARD_FIFO] != f->fifo ||
	    fates[TDM_LOSS_CRC] != f->crc || fates[TDM_LOSS_ALIGNMENT] != 3 + f->alignment ||
	    fates[TDM_LOSS_TIME] != f->time) {
		fail_msg("%s: down %lu fifo %lu crc %lu alignment %lu time %lu", f->scenario,
			 fates[TDM_LOSS_LINK_DOWN], fates[TDM_LOSS_BOARD_FIFO], fates[TDM_LOSS_CRC],
			 fates[TDM_LOSS_ALIGNMENT], fates[TDM_LOSS_TIME]);
	}
	for (unsigned link = 0; link < RIG_LINKS; link++) {
		if (link != 1) {
			assert_int_equal(rig_compare(r, link, others), 5500 - START);
		}
	}
	rig_destroy(r);
}

static void each_fault_in_its_place(void **state)
{
	for (unsigned i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		one_fault(&faults[i]);
	}
}

static void realign_heals_and_slips(void **state)
{
	static const unsigned slips[] = {3, 0, 9, 0};
	struct rig *r = rig_create(NULL, "at 0.02 link 2 unalign 1234\n"
					 "at 0.03 link 2 slip-on-align 3\n"
					 "at 0.03 link 2 slip-on-align 0\n"
					 "at 0.03 link 2 slip-on-align 9\n");
	const uint64_t bytes = 3147;

	rig_run(r, 400);
	assert_int_equal(r->links[2].fibre.rtt_bytes, bytes);
	for (unsigned i = 0; i < 4; i++) {
		world_realign(r->world, 2, i % 2);
		assert_false(world_locked(r->world, 2));
		rig_run(r, i % 2 ? 79 : 15);
		assert_false(world_locked(r->world, 2));
		rig_run(r, 20);
		assert_true(world_locked(r->world, 2));
		assert_int_equal(r->links[2].fibre.rtt_bits, slips[i]);
		assert_int_equal(r->links[2].fibre.rtt_bytes, bytes);
	}
	rig_compare(r, 2, NULL);
	rig_destroy(r);
}

static void phase_is_steady_or_drifts(void **state)
{
	struct rig *r =
		rig_create(NULL, "at 0.5 link 0 phase-drift 1000\nat 0.5 link 1 phase-step 700\n"
				 "at 0.5 link 2 phase-stop\nat 0.5 link 3 phase-stop\n"
				 "at 0.6 link 3 phase-go\n");
	double sum[RIG_LINKS] = {0}, square = 0;
	uint32_t before[RIG_LINKS];

	for (unsigned i = 0; i < 2000; i++) {
		rig_run(r, 1);
		for (unsigned link = 0; link < RIG_LINKS; link++) {
			sum[link] += r->links[link].fibre.phase_ps;
		}
	}
	for (unsigned link = 0; link < RIG_LINKS; link++) {
		before[link] = (uint32_t)(sum[link] / 2000);
	}
	rig_run(r, 2000);
	for (unsigned i = 0; i < 2000; i++) {
		const double d = r->links[3].fibre.phase_ps - (double)before[3];

		square += d * d;
		rig_run(r, 1);
	}
	assert_in_range((unsigned)(square / 2000), 15 * 15, 25 * 25);
	rig_seconds(r, 0.75);
	assert_in_range(r->links[0].fibre.phase_ps, before[0] + 850, before[0] + 1150);
	assert_in_range(r->links[1].fibre.phase_ps, before[1] + 580, before[1] + 820);
	assert_in_range(r->links[2].fibre.phase_ps, before[2] - 120, before[2] + 120);
	assert_false(r->links[1].fibre.no_phase || r->links[3].fibre.no_phase);
	assert_true(r->links[2].fibre.no_phase);
	rig_destroy(r);
}

static void burst_overflows_the_fifo(void **state)
{
	struct rig *r = rig_create(NULL, "at 0.1 link 3 burst 3e6 0.3\n");
	struct truth_head head;
	struct truth_record *t;
	uint64_t lost = 0, told = 0;
	uint32_t n;

	rig_run(r, 5600);
	assert_true(r->links[3].fifo_full_slots > 100);
	assert_true(r->links[3].fifo_full_hits > 100);
	assert_int_equal(r->links[2].fifo_full_slots, 0);
	rig_compare(r, 3, NULL);
	rig_compare(r, 2, NULL);
	t = rig_truth(r, 3, &n, &head);
	for (uint32_t i = 0; i < n; i++) {
		lost += t[i].hits_lost;
		told += (t[i].flags & TRUTH_FIFO_FULL) != 0;
		assert_int_equal(t[i].hits_lost > 0, (t[i].flags & TRUTH_FIFO_FULL) != 0);
	}
	assert_true(lost > 1000000);
	assert_true(told > 1000);
	free(t);
	rig_destroy(r);
}

static void fibres_change_places(void **state)
{
	struct rig *r = rig_create(NULL, "at 0.1 swap 0 3\n");

	rig_run(r, 790);
	assert_int_equal(r->links[0].header.floor, 1);
	rig_run(r, 1600);
	assert_false(r->links[0].fibre.signal);
	assert_false(r->links[3].fibre.signal);
	rig_run(r, 200);
	assert_int_equal(r->links[0].header.floor, 4);
	assert_int_equal(r->links[3].header.floor, 1);
	assert_int_equal(r->links[0].fibre.rtt_frames, 7);
	for (unsigned link = 0; link < RIG_LINKS; link++) {
		rig_compare(r, link, NULL);
	}
	rig_destroy(r);
}

static void damaged_downstream(void **state)
{
	struct rig *r = rig_create(NULL, "at 0.1 link 0 down-crc 9\n");
	struct rig_reply reply;

	rig_run(r, 800);
	rig_send(r, 0, WORD_READ, WORD_MODULE_FCM, 1, 0, 1);
	assert_false(rig_reply(r, 0, &reply));
	assert_int_equal(r->links[0].header.crc_errors, 9);
	assert_int_equal(rig_compare(r, 0, NULL), 820 - START); /* it counts on, in step */
	rig_destroy(r);
}

/* What the scenario does to the board itself comes once, in the step it is meant for. */
static void the_board(void **state)
{
	struct rig *r = rig_create(
		NULL, "at 0.01 link 2 stuck-dma 50\nat 0.01 link 2 drop 1\n"
		      "at 0.01 link 3 lose-irqs 7\nat 0.02 board-gone 1.5\n"
		      "at 0.02 board-deaf 0.25\nat 0.02 lose-events 3\n"
		      "at 0.02 link 1 extra-irqs 6\nat 0.02 lose-reads 8\nat 0.02 slow-puts 2\n"
		      "at 0.02 lose-descriptors 5\nat 0.02 late-data 4\nat 0.02 board-slot 2 1\n");

	rig_run(r, 80);
	assert_int_equal(world_fault(r->world), 0);
	rig_run(r, 1);
	assert_int_equal(world_fault(r->world), MODEL_FAULT(MODEL_FAULT_STUCK_DMA, 2, 50));
	assert_int_equal(world_fault(r->world), MODEL_FAULT(MODEL_FAULT_LOSE_IRQS, 3, 7));
	assert_int_equal(world_fault(r->world), 0);
	rig_run(r, 80);
	assert_int_equal(world_fault(r->world), MODEL_FAULT(MODEL_FAULT_GONE, 0, 1500));
	assert_int_equal(world_fault(r->world), MODEL_FAULT(MODEL_FAULT_DEAF, 0, 250));
	assert_int_equal(world_fault(r->world), MODEL_FAULT(MODEL_FAULT_LOSE_EVENTS, 0, 3));
	assert_int_equal(world_fault(r->world), MODEL_FAULT(MODEL_FAULT_SPURIOUS, 1, 6));
	assert_int_equal(world_fault(r->world), MODEL_FAULT(MODEL_FAULT_LOSE_READS, 0, 8));
	assert_int_equal(world_fault(r->world), MODEL_FAULT(MODEL_FAULT_SLOW_PUTS, 0, 2));
	assert_int_equal(world_fault(r->world), MODEL_FAULT(MODEL_FAULT_LOSE_DESCRIPTORS, 0, 5));
	assert_int_equal(world_fault(r->world), MODEL_FAULT(MODEL_FAULT_REORDER, 0, 4));
	assert_int_equal(world_fault(r->world), MODEL_FAULT(MODEL_FAULT_TRAIN, 2, 1));
	rig_run(r, 1);
	assert_int_equal(world_fault(r->world), 0);
	rig_destroy(r);
}

static void the_roof(void **state)
{
	struct rig *r =
		rig_create(NULL, "at 0.5 gps void\nat 0.6 reference off\n"
				 "at 0.7 tod off\nat 0.8 pps off\nat 0.9 stall 0.01\n"
				 "at 1.5 pps on\nat 1.5 gps ok\nat 1.5 board-temperature 70.5\n");

	rig_run(r, 1);
	assert_true(r->roof.pps && r->roof.reference && r->roof.tod_valid && !r->roof.stalled);
	assert_int_equal(r->roof.tod_second, 1780000000 % 86400);
	assert_int_equal(r->roof.tod_year, 26);
	assert_int_equal(r->roof.tod_day, 147); /* 28 May */
	assert_int_equal(r->roof.tod_quality, TDM_TIME_LOCKED);
	rig_run(r, 1);
	assert_false(r->roof.pps);
	rig_run(r, 7199);
	assert_int_equal(r->roof.tod_quality, TDM_TIME_LABELLED);
	assert_false(r->roof.reference || r->roof.tod_valid);
	assert_true(r->roof.stalled);
	rig_run(r, 800);
	assert_int_equal(r->step, 8001);
	assert_false(r->roof.pps || r->roof.stalled);
	rig_run(r, 8000);
	assert_true(r->roof.pps);
	assert_int_equal(r->roof.temperature_mc, 70500);
	assert_int_equal(r->roof.tod_second, 1780000002 % 86400);
	rig_compare(r, 0, NULL);
	rig_destroy(r);
}

static void times_from_data(void **state)
{
	struct rig *r = rig_create(NULL, "from data\nat 0.01 link 0 crc 1\n");
	struct truth_head head;
	struct truth_record *t;
	uint32_t n;

	rig_run(r, 400);
	t = rig_truth(r, 0, &n, &head);
	/* the first cells are handed over in step 80, the world knows in 81; 0.01 s are 80 more */
	assert_int_equal(t[160].fate, TDM_GOOD);
	assert_int_equal(t[161].fate, TDM_LOSS_CRC);
	assert_int_equal(t[162].fate, TDM_GOOD);
	free(t);
	rig_destroy(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_fault_in_its_place),
		cmocka_unit_test(realign_heals_and_slips),
		cmocka_unit_test(phase_is_steady_or_drifts),
		cmocka_unit_test(burst_overflows_the_fifo),
		cmocka_unit_test(fibres_change_places),
		cmocka_unit_test(damaged_downstream),
		cmocka_unit_test(the_board),
		cmocka_unit_test(the_roof),
		cmocka_unit_test(times_from_data),
	};

	return cmocka_run_group_tests_name("world faults", tests, NULL, NULL);
}
