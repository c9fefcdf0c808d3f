/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The scenario language: what is understood, in which order, and what is said about mistakes. */
#include <errno.h>
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "driver/emu/world/gps.h"
#include "driver/emu/world/scenario.h"

struct good {
	const char *text;
	uint64_t step;
	uint8_t link, action, arg_count;
	double args[2];
};

static void understood(void **state)
{
	static const struct good cases[] = {
		{"at 3.0 link 2 crc 5", 24000, 2, SCENARIO_CRC, 1, {5}},
		{"  at 0 link 0 drop 1  # comment", 0, 0, SCENARIO_DROP, 1, {1}},
		{"at 1e1\tlink 3\tunalign", 80000, 3, SCENARIO_UNALIGN, 0, {0}},
		{"at 1 link 3 unalign 33\r", 8000, 3, SCENARIO_UNALIGN, 1, {33}},
		{"at 1 link 0 slip-on-align 0", 8000, 0, SCENARIO_SLIP, 1, {0}},
		{"at 1 link 0 unplug", 8000, 0, SCENARIO_UNPLUG, 0, {0}},
		{"at 1 link 0 unplug 2.5", 8000, 0, SCENARIO_UNPLUG, 1, {2.5}},
		{"at 1 link 0 plug", 8000, 0, SCENARIO_PLUG, 0, {0}},
		{"at 1 link 0 phase-drift -3.5", 8000, 0, SCENARIO_PHASE_DRIFT, 1, {-3.5}},
		{"at 1 link 0 phase-stop", 8000, 0, SCENARIO_PHASE, 0, {0}},
		{"at 1 link 0 phase-go", 8000, 0, SCENARIO_PHASE, 0, {1}},
		{"at 1 link 1 lose-replies 20%", 8000, 1, SCENARIO_LOSE_SHARE, 1, {0.2}},
		{"at 1 link 1 lose-replies 20", 8000, 1, SCENARIO_LOSE_REPLIES, 1, {20}},
		{"at 1 link 1 burst 1e6 2", 8000, 1, SCENARIO_BURST, 2, {1e6, 2}},
		{"at 1 link 1 hv-trip 5", 8000, 1, SCENARIO_TRIP, 1, {5}},
		{"at 1 gps silent", 8000, SCENARIO_SHORE, SCENARIO_GPS, 0, {GPS_SILENT}},
		{"at 1 gps jump -619315200",
		 8000,
		 SCENARIO_SHORE,
		 SCENARIO_GPS_JUMP,
		 1,
		 {-619315200}},
		{"at 1 pps off", 8000, SCENARIO_SHORE, SCENARIO_PPS, 0, {0}},
		{"at 1 pps on", 8000, SCENARIO_SHORE, SCENARIO_PPS, 0, {1}},
		{"at 1 beacons off", 8000, SCENARIO_SHORE, SCENARIO_BEACONS, 0, {0}},
		{"at 1 beacons on", 8000, SCENARIO_SHORE, SCENARIO_BEACONS, 0, {1}},
		{"at 1 swap 0 3", 8000, SCENARIO_SHORE, SCENARIO_SWAP, 2, {0, 3}},
		{"at 1 link 2 stuck-dma 50", 8000, 2, SCENARIO_STUCK_DMA, 1, {50}},
		{"at 1 link 3 lose-irqs 9", 8000, 3, SCENARIO_LOSE_IRQS, 1, {9}},
		{"at 1 board-gone 2.5", 8000, SCENARIO_SHORE, SCENARIO_BOARD_GONE, 1, {2.5}},
		{"at 1 board-deaf 0.5", 8000, SCENARIO_SHORE, SCENARIO_BOARD_DEAF, 1, {0.5}},
		{"at 1 lose-events 3", 8000, SCENARIO_SHORE, SCENARIO_LOSE_EVENTS, 1, {3}},
		{"at 1 lose-reads 3", 8000, SCENARIO_SHORE, SCENARIO_LOSE_READS, 1, {3}},
		{"at 1 slow-puts 0", 8000, SCENARIO_SHORE, SCENARIO_SLOW_PUTS, 1, {0}},
		{"at 1 link 2 extra-irqs 9", 8000, 2, SCENARIO_EXTRA_IRQS, 1, {9}},
		{"at 1 lose-descriptors 5",
		 8000,
		 SCENARIO_SHORE,
		 SCENARIO_LOSE_DESCRIPTORS,
		 1,
		 {5}},
		{"at 1 late-data 4", 8000, SCENARIO_SHORE, SCENARIO_LATE_DATA, 1, {4}},
		{"at 1 board-slot 4 1", 8000, SCENARIO_SHORE, SCENARIO_BOARD_SLOT, 2, {4, 1}},
		{"at 0.25 stall 0.5", 2000, SCENARIO_SHORE, SCENARIO_STALL, 1, {0.5}},
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct good *c = &cases[i];
		struct scenario s;
		char error[200] = "";

		if (scenario_parse("x", c->text, &s, error, sizeof(error)) != 0) {
			fail_msg("%s", error);
		}
		assert_int_equal(s.count, 1);
		assert_int_equal(s.events[0].step, c->step);
		assert_int_equal(s.events[0].link, c->link);
		assert_int_equal(s.events[0].action, c->action);
		assert_int_equal(s.events[0].arg_count, c->arg_count);
		assert_true(s.events[0].args[0] == c->args[0]);
		assert_true(s.events[0].args[1] == c->args[1]);
		scenario_fini(&s);
	}
}

static void mistakes(void **state)
{
	static const struct {
		const char *text, *error;
	} cases[] = {
		{"bang", "f:1: a line must begin with 'at' or 'from', not 'bang'"},
		{"\n\nat", "f:3: at is missing"},
		{"at x link 0 crc 1", "f:1: at: 'x' is not a number"},
		{"at 1x link 0 crc 1", "f:1: at: '1x' is not a number"},
		{"at nan link 0 crc 1", "f:1: at: 'nan' is not a number"},
		{"at -1 link 0 crc 1", "f:1: at: -1 is outside 0..1e+06"},
		{"at 1", "f:1: an action is missing"},
		{"at 1 link", "f:1: link is missing"},
		{"at 1 link 4 crc 1", "f:1: link: 4 is outside 0..3"},
		{"at 1 link 1.5 crc 1", "f:1: link: '1.5' is not a whole number"},
		{"at 1 link 1", "f:1: an action is missing"},
		{"at 1 link 1 explode", "f:1: unknown action 'explode'"},
		{"at 1 link 1 crc", "f:1: COUNT is missing"},
		{"at 1 link 1 crc 0", "f:1: COUNT: 0 is outside 1..1e+09"},
		{"at 1 link 1 crc 1 2", "f:1: unexpected argument '2'"},
		{"at 1 crc 1", "f:1: 'crc' needs 'link L' before it"},
		{"at 1 link 0 pps off", "f:1: 'pps' does not take a link"},
		{"at 1 gps", "f:1: 'gps' needs one of: ok, void, silent, jump"},
		{"at 1 gps lost", "f:1: 'gps' needs one of: ok, void, silent, jump"},
		{"at 1 pps", "f:1: 'pps' needs one of: off, on"},
		{"at 1 beacons", "f:1: 'beacons' needs one of: off, on"},
		{"at 1 link 0 beacons off", "f:1: 'beacons' does not take a link"},
		{"at 1 link 0 lose-replies 120%", "f:1: COUNT: '120%' is not a number"},
		{"at 1 link 0 hv-trip 6", "f:1: MODULE: 6 is outside 0..5"},
		{"at 1 swap 2 2", "f:1: swap needs two different links"},
		{"at 1 swap 2", "f:1: LINK is missing"},
		{"at 1 every 2 link 0 crc 1", "f:1: 'every SECONDS' needs 'times N' after it"},
		{"at 1 every 0 times 2 pps off", "f:1: every: 0 is outside 0.001..1e+06"},
		{"at 1 every 1 times 0 pps off", "f:1: times: 0 is outside 1..100000"},
		{"from", "f:1: 'from' needs 'start' or 'data'"},
		{"from data now", "f:1: unexpected argument 'now'"},
		{"at 1 pps off\nat 2 \x01 off", "f:2: not plain text"},
		{"a a a a a a a a a a a a a a a a a", "f:1: more than 16 words"},
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct scenario s = {0};
		char error[200] = "";

		assert_int_equal(scenario_parse("f", cases[i].text, &s, error, sizeof(error)),
				 -EINVAL);
		assert_string_equal(error, cases[i].error);
		assert_null(s.events);
	}
}

static void order_and_repetition(void **state)
{
	struct scenario s;
	char error[200];

	assert_int_equal(scenario_parse("f",
					"# nothing\nfrom data\nat 2 pps off\n"
					"at 1 every 0.5 times 3 link 1 crc 2\nat 1 link 0 mute\n",
					&s, error, sizeof(error)),
			 0);
	assert_true(s.from_data);
	assert_int_equal(s.count, 5);
	assert_int_equal(s.events[0].action, SCENARIO_CRC);
	assert_int_equal(s.events[1].action, SCENARIO_MUTE); /* same time: as in the file */
	assert_int_equal(s.events[2].step, 12000);
	assert_int_equal(s.events[3].action, SCENARIO_PPS);
	assert_int_equal(s.events[4].line, 4);
	scenario_fini(&s);
	assert_int_equal(scenario_parse("f", "", &s, error, sizeof(error)), 0);
	assert_int_equal(s.count, 0);
	assert_false(s.from_data);
	scenario_fini(&s);
	/* a short buffer cuts the message, nothing else */
	assert_int_equal(scenario_parse("f", "bang", &s, error, 8), -EINVAL);
	assert_string_equal(error, "f:1: a ");
}

static void limits(void **state)
{
	struct scenario s;
	char error[200];

	assert_int_equal(scenario_parse("f",
					"at 0 every 1 times 100000 pps off\n"
					"at 0 every 1 times 1 pps off\n",
					&s, error, sizeof(error)),
			 -EINVAL);
	assert_string_equal(error, "f:2: more than 100000 events");
	assert_int_equal(scenario_load("/nonexistent", &s, error, sizeof(error)), -ENOENT);
	assert_string_equal(error, "/nonexistent: No such file or directory");
	assert_int_equal(scenario_load("/dev/zero", &s, error, sizeof(error)), -EFBIG);
	assert_int_equal(scenario_load("/proc/self/environ", &s, error, sizeof(error)), -EINVAL);
}

/* Every scenario that comes with the tests can be read. */
static void examples(void **state)
{
	glob_t found;

	assert_int_equal(glob("tests/data/scenarios/*.scn", 0, NULL, &found), 0);
	assert_true(found.gl_pathc >= 16);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		struct scenario s;
		char error[200];

		if (scenario_load(found.gl_pathv[i], &s, error, sizeof(error)) != 0) {
			fail_msg("%s", error);
		}
		assert_true(s.count > 0);
		scenario_fini(&s);
	}
	globfree(&found);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(understood),
		cmocka_unit_test(mistakes),
		cmocka_unit_test(order_and_repetition),
		cmocka_unit_test(limits),
		cmocka_unit_test(examples),
	};

	return cmocka_run_group_tests_name("scenario", tests, NULL, NULL);
}
