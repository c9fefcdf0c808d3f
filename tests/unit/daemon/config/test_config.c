// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The configuration: values, mistakes with their places, drop-ins, what is printed reads back the same,
 * the example is the defaults, the manual page names every key.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/config/private.h"
#include "schemas/fcm_data.h"

static char directory[] = "/tmp/test_config.XXXXXX";
static char file[64], drop_ins[64];

static int make_directory(void **state)
{
	assert_non_null(mkdtemp(directory));
	snprintf(file, sizeof(file), "%s/board.conf", directory);
	snprintf(drop_ins, sizeof(drop_ins), "%s/board.conf.d", directory);
	return mkdir(drop_ins, 0700);
}

static int remove_directory(void **state)
{
	unlink(file);
	rmdir(drop_ins);
	return rmdir(directory);
}

static void write_bytes(const char *path, const char *text, size_t length)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, length, f), length);
	assert_int_equal(fclose(f), 0);
}

static void write_text(const char *path, const char *text)
{
	write_bytes(path, text, strlen(text));
}

#define FLOORS "[link 0]\nfloor = 1\n"

static void load(const char *text, struct config *ret_config)
{
	struct config_report *report = NULL;

	write_text(file, text);
	if (config_load(file, 0, NULL, ret_config, &report) < 0) {
		config_print_errors(report, stderr);
		fail();
	}
	assert_int_equal(config_errors(report), 0);
	config_report_destroy(report);
}

static void defaults(void **state)
{
	struct config c;

	load(FLOORS, &c);
	assert_string_equal(c.board.device, "/dev/nanet3-0");
	assert_int_equal(c.data.block_frames, 80);
	assert_int_equal(c.data.day_origin, HIT_DAY_FROM_0);
	assert_string_equal(c.data.reserved_endpoint, "tcp://127.0.0.1:5710");
	assert_string_equal(c.data.monitor_endpoint, "tcp://127.0.0.1:5730");
	assert_int_equal(c.groups, 2);
	assert_string_equal(c.group[0].name, "trigger");
	assert_int_equal(c.group[0].streams, 1u << FCM_PMT);
	assert_string_equal(c.group[1].name, "acoustic");
	assert_int_equal(c.group[1].streams, 1u << FCM_HYDROPHONE | 1u << FCM_INSTRUMENT);
	assert_true(c.group[1].hold_fraction == 0.5);
	assert_true(c.link[0].enabled);
	assert_false(c.link[1].enabled);
	assert_int_equal(c.link[0].tower, 1);
	assert_true(c.clock.system_clock);
	assert_int_equal(c.clock.holdover, CONFIG_OCXO);
	assert_int_equal(c.clock.earliest_utc_s, 1767225600);
	assert_true(c.phase.tolerance_ps == 100);
	assert_int_equal(c.daemon.log_level, LOG_INFO);
}

/* A group's memory: as written, or its part of three quarters of the pool, by what its streams bring. */
static void budgets(void **state)
{
	static const char four[] =
		FLOORS "[data]\npool_mb = 16\n[group a]\nstreams = pmt\npolicy = wait\n"
		       "[group b]\nstreams = pmt\nbudget_mb = 2\npolicy = drop-newest\n"
		       "[group c]\nstreams = hydrophone\npolicy = disconnect\n"
		       "[group d]\nstreams = instrument\n";
	struct config c;
	uint64_t sum = 0;

	assert_int_equal(config_stream_bytes(1u << FCM_PMT), 9168);
	assert_int_equal(config_stream_bytes(1u << FCM_HYDROPHONE | 1u << FCM_INSTRUMENT), 384);
	load(FLOORS, &c);
	assert_int_equal(c.group[0].policy, FCM_DROP_OLDEST);
	assert_in_range(config_budget_bytes(&c, 0), 330ull << 20, 333ull << 20);
	assert_in_range(config_budget_bytes(&c, 1), 50ull << 20, 53ull << 20);
	load(four, &c);
	assert_int_equal(c.group[0].policy, FCM_WAIT);
	assert_int_equal(c.group[1].policy, FCM_DROP_NEWEST);
	assert_int_equal(c.group[2].policy, FCM_DISCONNECT);
	assert_int_equal(config_budget_bytes(&c, 1), 2ull << 20);
	for (unsigned n = 0; n < 4; n++) {
		sum += config_budget_bytes(&c, n);
		assert_true(config_budget_bytes(&c, n) > 500000);
	}
	assert_true(sum < 12ull << 20);
	/* A feed of four links and the groups leave an eighth of the pool free. */
	load(FLOORS "[link 1]\nfloor = 2\n[link 2]\nfloor = 3\n[link 3]\nfloor = 4\n"
		    "[feed]\nenabled = yes\n",
	     &c);
	assert_in_range(config_budget_bytes(&c, 0) + config_budget_bytes(&c, 1), 319ull << 20,
			320ull << 20);
}

/* Four ports a board; a feed that is not enabled is not looked at. */
static void feed_ports(void **state)
{
	const char *const high[] = {"feed.enabled=yes", "feed.base_port=65532", NULL};
	const char *const off[] = {"feed.address=nonsense", NULL};
	struct config_report *report = NULL;
	struct config c;

	write_text(file, FLOORS "[feed]\nenabled = yes\naddress = ::1\n");
	assert_int_equal(config_load(file, 3, NULL, &c, &report), 0);
	assert_true(c.feed.enabled);
	assert_int_equal(config_feed_port(&c, 0), 5612);
	assert_int_equal(config_feed_port(&c, 3), 5615);
	config_report_destroy(report);
	assert_int_equal(config_load(file, 0, high, &c, &report), 0);
	assert_int_equal(config_feed_port(&c, 3), 65535);
	config_report_destroy(report);
	assert_int_equal(config_load(file, 1, high, &c, &report), -EINVAL);
	assert_non_null(strstr(config_error(report, 0), "beyond 65535"));
	config_report_destroy(report);
	write_text(file, FLOORS);
	assert_int_equal(config_load(file, 0, off, &c, &report), 0);
	assert_false(c.feed.enabled);
	config_report_destroy(report);
}

static void all_types(void **state)
{
	struct config c;
	const char *text =
		"\xef\xbb\xbf# comment\r\n[board]\r\ndevice = unix:/run/x.sock ; inline\r\n"
		"; another\n[data]\nblock_frames=1600\nday_origin : 1\nmonitor_endpoint =\n"
		"[link  3]\n  floor = 14\ntower = 8\nenabled = no\nname = cable 7, red\n"
		"[ link 1 ]\nfloor = 2\ncable_delay_ns = 490000\n"
		"[group a-1]\nstreams = pmt , instrument\nhold_fraction = .25\n"
		"[clock]\nholdover = rb\nsystem_clock = off\nearliest = 2027-02-28\n"
		"[daemon]\nlog_level = debug\nname = %N of 100%%\n";

	load(text, &c);
	assert_string_equal(c.board.device, "unix:/run/x.sock");
	assert_int_equal(c.data.block_frames, 1600);
	assert_int_equal(c.data.day_origin, HIT_DAY_FROM_1);
	assert_string_equal(c.data.monitor_endpoint, "");
	assert_int_equal(c.link[3].floor, 14);
	assert_int_equal(c.link[3].tower, 8);
	assert_false(c.link[3].enabled);
	assert_string_equal(c.link[3].name, "cable 7, red");
	assert_true(c.link[1].enabled);
	assert_int_equal(c.link[1].cable_delay_ns, 490000);
	assert_int_equal(c.groups, 1);
	assert_string_equal(c.group[0].name, "a-1");
	assert_int_equal(c.group[0].streams, 1u << FCM_PMT | 1u << FCM_INSTRUMENT);
	assert_true(c.group[0].hold_fraction == 0.25);
	assert_int_equal(c.clock.holdover, CONFIG_RB);
	assert_false(c.clock.system_clock);
	assert_int_equal(c.clock.earliest_utc_s, 1803772800);
	assert_int_equal(c.daemon.log_level, LOG_DEBUG);
	assert_string_equal(c.daemon.name, "0 of 100%");
}

static void instance_number(void **state)
{
	struct config_report *report;
	struct config c;
	const char *overrides[] = {"link 0.floor=1", "daemon.name=%(100+N)x%%", NULL};

	assert_int_equal(config_load(NULL, 3, overrides, &c, &report), 0);
	assert_string_equal(c.board.device, "/dev/nanet3-3");
	assert_string_equal(c.data.reserved_endpoint, "tcp://127.0.0.1:5713");
	assert_string_equal(c.data.monitor_endpoint, "tcp://127.0.0.1:5733");
	assert_string_equal(c.control.socket, "/run/fcm-server/3/control.sock");
	assert_string_equal(c.store.database, "/var/lib/fcm-server/3/station.db");
	assert_string_equal(c.daemon.name, "103x%");
	assert_int_equal(c.instance, 3);
	config_report_destroy(report);
	assert_int_equal(config_load(NULL, 4000000000u, overrides, &c, &report), -EINVAL);
	config_report_destroy(report);
}

/* Each text holds one mistake; what is said of it, and where. Links are named where none is meant. */
static void mistakes(void **state)
{
	static const struct {
		const char *text;
		unsigned line; /* 0: of the file as a whole */
		const char *words;
	} cases[] = {
		{FLOORS "[data]\nblock_frames = 81\n", 0, "81 is not a divisor of 1600"},
		{FLOORS "[data]\nblock_frames = 4\n", 4, "out of range; expected 8..1600 frames"},
		{FLOORS "[data]\nblock_frames = 4x\n", 4, "\"4x\" is not a number"},
		{FLOORS "[data]\nblock_frames = -8\n", 4, "not a number"},
		{FLOORS "[data]\nblock_frames =\n", 4, "not a number"},
		{FLOORS "[data]\nblock_frames = 99999999999999999999999\n", 4, "not a number"},
		{FLOORS "[data]\nblok_frames = 80\n", 4, "(did you mean block_frames?)"},
		{FLOORS "[data]\ngpsd_host = x\n", 4, "it belongs in [clock]"},
		{FLOORS "[data]\nzzzzzzzzzzzz = x\n", 4, "unknown key zzzzzzzzzzzz in [data]"},
		{FLOORS "[clok]\nconfirm = 3\n", 4, "(did you mean [clock]?)"},
		{FLOORS "[whatsoever]\nconfirm = 3\n", 4, "unknown section [whatsoever]"},
		{"x = 1\n" FLOORS, 1, "before the first [section]"},
		{FLOORS "[link 4]\nfloor = 3\n", 4, "links are 0 to 3"},
		{FLOORS "[link]\nfloor = 3\n", 4, "[link 0]"},
		{FLOORS "[group]\nstreams = pmt\n", 4, "[group trigger]"},
		{FLOORS "[group a/b]\nstreams = pmt\n", 4, "letters, digits"},
		{FLOORS "[group x]\npolicy = drop-oldest\n", 0, "takes no stream"},
		{FLOORS "[group x]\nstreams = pmt,sound\n", 4, "pmt, hydrophone, instrument"},
		{FLOORS "[group x]\nstreams = pmt instrument\n", 4, "pmt, hydrophone"},
		{FLOORS "[group x]\nstreams = pmt\npolicy = never\n", 5, "drop-oldest"},
		{FLOORS "[group x]\nstreams = pmt\npolicy = never\n", 5, "disconnect, wait"},
		{FLOORS "[group x]\nstreams = pmt\nbudget_mb = 600\n", 0,
		 "groups and feed may hold 600 MiB, more than 7/8 of the pool's 512"},
		{FLOORS "[group x]\nstreams = pmt\nhold_fraction = 0.9\n", 5, "0.05..0.5"},
		{FLOORS "[group x]\nstreams = pmt\nhold_fraction = nan\n", 5, "not a number"},
		{FLOORS "[phase]\ntolerance_ps = 0x64\n", 4, "not a number"},
		{FLOORS "[link 1]\nfloor = 1\n", 0, "both name tower 1 floor 1"},
		{FLOORS "floor = 2\n", 3, "is a duplicate"},
		{FLOORS "[clock]\nearliest = 2026-02-30\n", 4, "YYYY-MM-DD"},
		{FLOORS "[clock]\nearliest = yesterday\n", 4, "YYYY-MM-DD"},
		{FLOORS "[clock]\nearliest = 1999-12-31\n", 4, "2000-01-01..2099-12-31"},
		{FLOORS "[clock]\nearliest = 3026-01-01\n", 4, "out of range"},
		{FLOORS "[clock]\ngpsd_port = 99999\n", 4, "out of range; expected 1..65535"},
		{FLOORS "[clock]\ngpsd_port = 0\n", 4, "out of range; expected 1..65535"},
		{FLOORS "[clock]\ngpsd_port = gpsd\n", 4, "not a number"},
		{FLOORS "[clock]\nsystem_clock = perhaps\n", 4, "yes or no"},
		{FLOORS "[clock]\nholdover = quartz\n", 4, "ocxo-good"},
		{FLOORS "[daemon]\nlog_level = loud\n", 4, "notice"},
		{FLOORS "[daemon]\nname = 50%\n", 4, "after % comes N"},
		{FLOORS "[daemon]\nname =\n", 4, "must not be empty"},
		{FLOORS "[daemon]\nname = "
			"0123456789012345678901234567890123456789012345678901234567890123\n",
		 4, "longer than 63"},
		{FLOORS "[phase]\ndrift_ps = 50\n", 0, "above tolerance_ps"},
		{FLOORS "[data]\nmonitor_endpoint = tcp://127.0.0.1:5710\n", 0, "are the same"},
		{FLOORS "[data]\nmonitor_endpoint = tcp://127.0.0.1:65536\n", 4, "port 1..65535"},
		{FLOORS "[data]\nreserved_endpoint = tcp://127.0.0.1\n", 4, "tcp://ADDRESS:PORT"},
		{FLOORS "[data]\nreserved_endpoint =\n", 4, "must not be empty"},
		{FLOORS "[data]\nreserved_endpoint = tcp://10.0.0.5:5710\n", 0,
		 "reserved_endpoint: beyond this machine"},
		{FLOORS "[data]\nmonitor_endpoint = tcp://*:5730\n", 0,
		 "monitor_endpoint: beyond this machine"},
		{FLOORS "[control]\nsocket = /aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
			"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n",
		 0, "longer than 107"},
		{FLOORS "[feed]\nenabled = yes\naddress = localhost\n", 0, "address in numbers"},
		{FLOORS "[feed]\nenabled = yes\nbase_port = 65533\n", 0, "beyond 65535"},
		{FLOORS
		 "[feed]\nenabled = yes\n[group a]\nstreams = pmt\n[group b]\nstreams = pmt\n"
		 "[group c]\nstreams = pmt\n[group d]\nstreams = pmt\n",
		 0, "there are 4 already"},
		{FLOORS "[feed]\nenabled = yes\n[group tridas]\nstreams = pmt\n", 0,
		 "the feed's own name"},
		{FLOORS "[feed]\nenabled = yes\nbudget_mb = 200\n", 0,
		 "may hold 456 MiB, more than 7/8 of the pool's 512 (lower their budget_mb"},
		{FLOORS "[data\ntick_us = 1000\n", 3, "[ without ]"},
		{FLOORS "[data]\nnonsense\n", 4, "neither [section] nor key = value: nonsense"},
		{"", 0, "no link has a floor"},
		{"[link 0]\nfloor = 3\nenabled = no\n", 0, "no link has a floor"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct config_report *report = NULL;
		struct config c;
		char place[96];
		bool found = false;

		write_text(file, cases[i].text);
		assert_int_equal(config_load(file, 0, NULL, &c, &report), -EINVAL);
		snprintf(place, sizeof(place), cases[i].line ? "%s:%u: " : "%s: ", file,
			 cases[i].line);
		for (size_t e = 0; e < config_errors(report); e++) {
			const char *error = config_error(report, e);

			found |= strstr(error, place) == error && strstr(error, cases[i].words);
		}
		if (!found) {
			print_message("case %zu, wanted \"%s%s\"\n", i, place, cases[i].words);
			config_print_errors(report, stderr);
		}
		assert_true(found);
		assert_null(config_error(report, config_errors(report)));
		/* A wrong value leaves a right one in its place. */
		assert_in_range(c.data.block_frames, 8, 1600);
		config_report_destroy(report);
	}
}

static void collects_all(void **state)
{
	struct config_report *report;
	struct config c;

	write_text(file, "[data]\ntick_us = 1\nnonsense\n[clock\n[phase]\ntolerance = 3\n");
	assert_int_equal(config_load(file, 0, NULL, &c, &report), -EINVAL);
	assert_int_equal(config_errors(report), 5); /* and no floor */
	config_report_destroy(report);
}

static void not_a_text(void **state)
{
	struct config_report *report;
	struct config c;
	char *big = malloc(3000000);

	assert_non_null(big);
	write_bytes(file, "[data]\nti\0ck_us = 3\n", 20);
	assert_int_equal(config_load(file, 0, NULL, &c, &report), -EINVAL);
	assert_non_null(strstr(config_error(report, 0), ":2: a zero byte"));
	config_report_destroy(report);
	memset(big, 'a', 3000000);
	write_bytes(file, big, 100000);
	assert_int_equal(config_load(file, 0, NULL, &c, &report), -EINVAL);
	assert_non_null(strstr(config_error(report, 0), ":1: line longer"));
	config_report_destroy(report);
	write_bytes(file, big, 3000000);
	assert_int_equal(config_load(file, 0, NULL, &c, &report), -EINVAL);
	assert_non_null(strstr(config_error(report, 0), "not a configuration file"));
	config_report_destroy(report);
	assert_int_equal(config_load(directory, 0, NULL, &c, &report), -EINVAL);
	assert_non_null(strstr(config_error(report, 0), "not a configuration file"));
	config_report_destroy(report);
	assert_int_equal(config_load("/nowhere/at/all.conf", 0, NULL, &c, &report), -EINVAL);
	assert_non_null(strstr(config_error(report, 0), "no such file"));
	config_report_destroy(report);
	free(big);
}

static void later_ones_win(void **state)
{
	const char *overrides[] = {"daemon.name=from the command line", "phase.relock_samples=20",
				   NULL};
	const char *wrong[] = {"nonsense", "data.tick_us", "x=3", "data.tick_us=1", "a.b=c", NULL};
	struct config_report *report;
	char one[128], two[128], other[128];
	struct config c;

	snprintf(two, sizeof(two), "%s/20-b.conf", drop_ins);
	snprintf(one, sizeof(one), "%s/10-a.conf", drop_ins);
	snprintf(other, sizeof(other), "%s/30-c.conf~", drop_ins);
	write_text(file, FLOORS "[data]\ntick_us = 1500\nmonitor_hwm = 5\n");
	write_text(two, "[data]\ntick_us = 3000\n[link 0]\nfloor = 5\n");
	write_text(one, "[data]\ntick_us = 2000\npool_mb = 64\n");
	write_text(other, "[data]\ntick_us = 9000\n");
	assert_int_equal(config_load(file, 0, overrides, &c, &report), 0);
	config_report_destroy(report);
	assert_int_equal(c.data.tick_us, 3000);
	assert_int_equal(c.data.pool_mb, 64);
	assert_int_equal(c.data.monitor_hwm, 5);
	assert_int_equal(c.link[0].floor, 5);
	assert_int_equal(c.phase.relock_samples, 20);
	assert_string_equal(c.daemon.name, "from the command line");
	assert_int_equal(config_load(file, 0, wrong, &c, &report), -EINVAL);
	assert_int_equal(config_errors(report), 5);
	assert_non_null(strstr(config_error(report, 3), "command line: [data] tick_us"));
	config_report_destroy(report);
	unlink(one);
	unlink(two);
	unlink(other);
}

static char *printed(int (*print)(const char *, unsigned, const char *const *, FILE *, FILE *),
		     const char *path, int expected)
{
	char *out = NULL, *err = NULL;
	size_t out_size, err_size;
	FILE *o = open_memstream(&out, &out_size), *e = open_memstream(&err, &err_size);

	assert_int_equal(print(path, 0, NULL, o, e), expected);
	fclose(o);
	fclose(e);
	assert_true((err_size == 0) == (expected == 0));
	free(err);
	return out;
}

static void check_and_print(void **state)
{
	struct config a, b;
	char *text, *again;

	load("[link 2]\nfloor = 7\nname = a 50%% thing\n[group z]\nstreams = instrument\n"
	     "[phase]\ndrift_ps = 1234.5\n[data]\nmonitor_endpoint=\n",
	     &a);
	text = printed(config_check, file, 0);
	assert_non_null(strstr(text, "valid"));
	free(text);
	text = printed(config_print, file, 0);
	assert_non_null(strstr(text, "drift_ps = 1234.5 ; "));
	assert_non_null(strstr(text, "board.conf:7\n"));
	assert_non_null(strstr(text, "tick_us = 2000 ; default\n"));
	load(text, &b);
	assert_memory_equal(&a, &b, sizeof(a));
	again = printed(config_print, file, 0);
	assert_non_null(again);
	free(again);
	free(text);
	write_text(file, "[data]\ntick_us = x\n");
	free(printed(config_check, file, 78));
	free(printed(config_print, file, 78));
}

struct changes {
	char text[512];
};

static void on_change(void *context, const char *section, const char *key, bool restart)
{
	struct changes *c = context;
	size_t n = strlen(c->text);

	snprintf(c->text + n, sizeof(c->text) - n, "%s.%s%s ", section, key, restart ? "!" : "");
}

static void reload(void **state)
{
	struct changes changes = {""};
	struct config a, b;

	load(FLOORS, &a);
	assert_int_equal(config_diff(&a, &a, on_change, &changes), 0);
	assert_string_equal(changes.text, "");
	load("[link 0]\nfloor = 2\nname = n\n[daemon]\nlog_level = debug\n[group trigger]\n"
	     "hold_fraction = 0.4\n[data]\ntick_us = 3000\n",
	     &b);
	assert_int_equal(config_diff(&a, &b, on_change, &changes), 4);
	assert_string_equal(changes.text,
			    "data.tick_us! group trigger.hold_fraction! link 0.floor! "
			    "link 0.name daemon.log_level group acoustic.streams! ");
}

/* What the shipped example says, with and without its comment signs, is what the program does. */
static void example(void **state)
{
	char *made = NULL, *shipped = NULL, *line, *rest;
	size_t made_size, shipped_size;
	struct config example_config, defaults_config, uncommented;
	FILE *f = open_memstream(&made, &made_size), *bare;

	config_print_example(f);
	fclose(f);
	f = fopen("schemas/example.conf", "r");
	if (!f) {
		free(made);
		skip(); /* not run from the top of the tree */
	}
	bare = open_memstream(&shipped, &shipped_size);
	for (int c; (c = getc(f)) != EOF;) {
		putc(c, bare);
	}
	fclose(f);
	fclose(bare);
	assert_string_equal(made, shipped);

	load(shipped, &example_config);
	load("[link 0]\nfloor=1\n[link 1]\nfloor=2\n[link 2]\nfloor=3\n[link 3]\nfloor=4\n",
	     &defaults_config);
	assert_memory_equal(&example_config, &defaults_config, sizeof(defaults_config));

	bare = fopen(file, "w");
	for (line = strtok_r(shipped, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		fprintf(bare, "%s\n", line[0] == '#' && line[1] != ' ' ? line + 1 : line);
	}
	fclose(bare);
	{
		struct config_report *report;

		assert_int_equal(config_load(file, 0, NULL, &uncommented, &report), 0);
		config_report_destroy(report);
	}
	assert_memory_equal(&uncommented, &defaults_config, sizeof(defaults_config));
	free(made);
	free(shipped);
}

static void must_take(const struct option *o, double value, bool right)
{
	struct config_why why = {.text = ""};
	char text[32];
	union { /* room for any of the structs */
		struct config all;
		struct config_group group;
		struct config_link link;
	} base;
	bool taken;

	snprintf(text, sizeof(text), "%.12g", value);
	taken = config_value_parse(o, text, 0, &base, &why) == 0;
	if (taken != right) {
		fail_msg("[%s] %s = %s: %s", o->section, o->key, text, taken ? "taken" : why.text);
	}
}

/* Every number has a range that its type can hold, and keeps to it; ports are ports. */
static void ranges(void **state)
{
	const struct option *tables[] = {config_options, config_group_options, config_link_options};
	unsigned numbers = 0;

	for (size_t t = 0; t < sizeof(tables) / sizeof(tables[0]); t++) {
		for (const struct option *o = tables[t]; o->section; o++) {
			double step = o->type == OPTION_DOUBLE ? 1e-3 : 1;

			if (strstr(o->key, "port") != NULL) {
				assert_true(o->type == OPTION_U32 && o->min == 1 &&
					    o->max == 65535);
			}
			if (o->type != OPTION_U8 && o->type != OPTION_U32 &&
			    o->type != OPTION_DOUBLE) {
				assert_true(o->type == OPTION_DATE || o->max == 0);
				continue;
			}
			numbers++;
			assert_true(o->min < o->max);
			assert_true(o->max <= (o->type == OPTION_U8 ? UINT8_MAX : UINT32_MAX));
			must_take(o, o->min, true);
			must_take(o, o->max, true);
			must_take(o, o->min - step, false);
			must_take(o, o->max + step, false);
		}
	}
	assert_true(numbers > 15);
}

static void endpoints(void **state)
{
	static const struct {
		const char *text;
		bool right;
	} cases[] = {
		{"tcp://127.0.0.1:5710", true},
		{"tcp://*:1", true},
		{"tcp://[::1]:65535", true},
		{"tcp://eth0:%(5710+N)", true},
		{"ipc:///run/fcm-server/data", true},
		{"tcp://127.0.0.1:0", false},
		{"tcp://127.0.0.1:65536", false},
		{"tcp://127.0.0.1:99999", false},
		{"tcp://127.0.0.1:%(65536+N)", false},
		{"tcp://127.0.0.1:57x", false},
		{"tcp://127.0.0.1:", false},
		{"tcp://127.0.0.1", false},
		{"tcp://:5710", false},
		{"127.0.0.1:5710", false},
		{"udp://127.0.0.1:5710", false},
		{"ipc://", false},
	};
	const struct option *o = config_options;

	while (strcmp(o->key, "reserved_endpoint") != 0) {
		o++;
	}
	for (size_t n = 0; n < sizeof(cases) / sizeof(cases[0]); n++) {
		struct config c;
		struct config_why why = {.text = ""};

		if ((config_value_parse(o, cases[n].text, 0, &c, &why) == 0) != cases[n].right) {
			fail_msg("%s: %s", cases[n].text, cases[n].right ? why.text : "taken");
		}
	}
}

static void manual_page(void **state)
{
	char *text = NULL, *line = NULL;
	size_t size, room = 0;
	unsigned keys = 0;
	FILE *f = fopen("daemon/fcm-server.conf.5", "r"), *all, *example_file;

	if (!f) {
		skip(); /* not run from the top of the tree */
	}
	all = open_memstream(&text, &size);
	for (int c; (c = getc(f)) != EOF;) {
		putc(c, all);
	}
	fclose(f);
	fclose(all);
	example_file = tmpfile();
	config_print_example(example_file);
	rewind(example_file);
	while (getline(&line, &room, example_file) > 0) {
		char key[64], wanted[80];

		if (sscanf(line, "#%63[a-z_] =", key) == 1 ||
		    sscanf(line, "%63[a-z_] =", key) == 1) {
			snprintf(wanted, sizeof(wanted), ".It Cm %s\n", key);
			if (!strstr(text, wanted)) {
				print_message("the manual page lacks %s\n", key);
			}
			assert_non_null(strstr(text, wanted));
			keys++;
		}
	}
	assert_true(keys > 40);
	free(line);
	free(text);
	fclose(example_file);
}

static void holdover_classes(void **state)
{
	/* Neither what 4 h nor what 24 h cost is exceeded. */
	assert_true(config_holdover_ppb(CONFIG_RB) * 86400 >= 1000);
	assert_true(config_holdover_ppb(CONFIG_RB) * 14400 >= 199.9);
	assert_true(config_holdover_ppb(CONFIG_OCXO_GOOD) * 86400 >= 9999);
	assert_true(config_holdover_ppb(CONFIG_OCXO) * 14400 >= 1000);
	assert_true(config_holdover_ppb(CONFIG_TCXO) * 86400 >= 449999);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults),	   cmocka_unit_test(budgets),
		cmocka_unit_test(feed_ports),	   cmocka_unit_test(all_types),
		cmocka_unit_test(instance_number), cmocka_unit_test(mistakes),
		cmocka_unit_test(collects_all),	   cmocka_unit_test(not_a_text),
		cmocka_unit_test(later_ones_win),  cmocka_unit_test(check_and_print),
		cmocka_unit_test(reload),	   cmocka_unit_test(example),
		cmocka_unit_test(manual_page),	   cmocka_unit_test(holdover_classes),
		cmocka_unit_test(ranges),	   cmocka_unit_test(endpoints),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
