// SPDX-License-Identifier: GPL-2.0-or-later
/* fcmctl's command line: options anywhere, commands cut short, faults that help. With a table of its
 * own, so that a new command does not change the test. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "slowctl/fcmctl/core/args.h"

#define NOW 1795187523.25

static int run_nothing(struct ctl *ctl, const struct ctl_args *args)
{
	return CTL_DONE;
}

static const struct ctl_command bare[] = {
	{.verb = "status", .arguments = "", .run = run_nothing},
	{.verb = "get",
	 .arguments = "[PATTERN...]",
	 .options = CTL_BIT(CTL_AT),
	 .run = run_nothing},
	{.verb = "set",
	 .arguments = "NAME VALUE",
	 .options = CTL_BIT(CTL_REASON) | CTL_BIT(CTL_NO_WAIT) | CTL_BIT(CTL_RATE),
	 .run = run_nothing},
	{0},
};
static const struct ctl_command nouns[] = {
	{.noun = "link", .verb = "list", .arguments = "", .run = run_nothing},
	{.noun = "link", .verb = "reset", .arguments = "LINK", .run = run_nothing},
	{.noun = "ledger",
	 .verb = "show",
	 .arguments = "",
	 .options = CTL_BIT(CTL_SINCE) | CTL_BIT(CTL_LINK) | CTL_BIT(CTL_INTERVAL) |
		    CTL_BIT(CTL_AT) | CTL_BIT(CTL_AT_AGAIN),
	 .run = run_nothing},
	{0},
};
static const struct ctl_command *const tables[] = {bare, nouns, NULL};

/* A line split at blanks; "_" inside a word stands for a blank. */
static int parse(const char *line, struct ctl_args *ret_args, struct ctl_fault *ret_fault)
{
	static char copy[256];
	static char *argv[32];
	static char *words[33];
	int argc = 0;

	snprintf(copy, sizeof(copy), "fcmctl %s", line);
	for (char *save, *word = strtok_r(copy, " ", &save); word != NULL;
	     word = strtok_r(NULL, " ", &save)) {
		for (char *c = word; *c != '\0'; c++) {
			*c = *c == '_' ? ' ' : *c;
		}
		argv[argc++] = word;
	}
	argv[argc] = NULL;
	memset(ret_args, 0, sizeof(*ret_args));
	memset(ret_fault, 0, sizeof(*ret_fault));
	return ctl_args_parse(argc, argv, NOW, words, ret_args, ret_fault);
}

static void test_commands(void **state)
{
	static const struct {
		const char *line, *noun, *verb;
		int words;
		const char *last;
	} rows[] = {
		{"status", NULL, "status", 0, ""},
		{"sta", NULL, "status", 0, ""},
		{"--json status", NULL, "status", 0, ""},
		{"status --json", NULL, "status", 0, ""},
		{"get", NULL, "get", 0, ""},
		{"get a b", NULL, "get", 2, "b"},
		{"link list", "link", "list", 0, ""},
		{"li r 2", "link", "reset", 1, "2"},
		{"le --since 1h s", "ledger", "show", 0, ""},
		{"set floor3.x -5", NULL, "set", 2, "-5"},
		{"set floor3.x -.5 --no-wait", NULL, "set", 2, "-.5"},
		{"set -- floor3.x --json", NULL, "set", 2, "--json"},
		{"set --reason shift_change floor3.x 1450", NULL, "set", 2, "1450"},
		{"set --rea=shift floor3.x 1450", NULL, "set", 2, "1450"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct ctl_args args;
		struct ctl_fault fault;

		if (parse(rows[i].line, &args, &fault) != 0) {
			fail_msg("%s: %s", rows[i].line, fault.text);
		}
		assert_non_null(args.command);
		assert_string_equal(args.command->verb, rows[i].verb);
		if (rows[i].noun != NULL) {
			assert_string_equal(args.command->noun, rows[i].noun);
		} else {
			assert_null(args.command->noun);
		}
		assert_int_equal(args.words, rows[i].words);
		if (args.words > 0) {
			assert_string_equal(args.word[args.words - 1], rows[i].last);
		}
	}
}

static void test_options(void **state)
{
	struct ctl_args args;
	struct ctl_fault fault;

	assert_int_equal(parse("-b 3 -j ledger show --since 30m -l link2 -i 1m30s --timeout 2",
			       &args, &fault),
			 0);
	assert_true(ctl_given(&args, CTL_JSON));
	assert_true(args.number[CTL_BOARD] == 3.0);
	assert_true(args.number[CTL_SINCE] == NOW - 1800.0);
	assert_true(args.number[CTL_LINK] == 2.0);
	assert_true(args.number[CTL_INTERVAL] == 90.0);
	assert_true(args.number[CTL_TIMEOUT] == 2.0);
	assert_false(ctl_given(&args, CTL_YES));
	assert_int_equal(parse("set a 1 --reason shift_change", &args, &fault), 0);
	assert_string_equal(args.text[CTL_REASON], "shift change");
	/* Two times where a command compares, in their order. */
	assert_int_equal(parse("ledger show --at 2h --at 1h", &args, &fault), 0);
	assert_true(args.number[CTL_AT] == NOW - 7200.0);
	assert_true(args.number[CTL_AT_AGAIN] == NOW - 3600.0);
	assert_int_equal(parse("get a --at 2h", &args, &fault), 0);
	assert_true(ctl_given(&args, CTL_AT) && !ctl_given(&args, CTL_AT_AGAIN));
}

/* The step of a ramp's register is 0.1 V/s. */
static void test_rate_has_tenths(void **state)
{
	struct ctl_args args;
	struct ctl_fault fault;

	assert_int_equal(parse("set a 1 --rate 12.5", &args, &fault), 0);
	assert_true(args.number[CTL_RATE] == 12.5);
	assert_int_equal(parse("set a 1 --rate 20", &args, &fault), 0);
	assert_true(args.number[CTL_RATE] == 20);
	assert_int_equal(parse("set a 1 --rate=0.1", &args, &fault), 0);
	assert_true(args.number[CTL_RATE] == 0.1);
}

static void test_faults(void **state)
{
	static const struct {
		const char *line, *text, *hint;
	} rows[] = {
		{"", "which command?", "fcmctl status"},
		{"statsu", "there is no command 'statsu'", "did you mean 'status'?"},
		{"frobnicate", "there is no command 'frobnicate'",
		 "there are: status, get, set, link"},
		{"s", "is ambiguous: status, set", "type more"},
		{"l list", "is ambiguous: link, ledger", "type more"},
		{"link", "'link' needs a verb: list, reset", ""},
		{"link rset 2", "'rset'", "did you mean 'reset'?"},
		{"link reset", "needs LINK", "usage: fcmctl link reset LINK"},
		{"link reset 1 2", "unexpected argument '2'", "usage:"},
		{"status now", "unexpected argument 'now'", "usage: fcmctl status"},
		{"set a", "needs NAME VALUE", "usage:"},
		{"status --since 1h", "'status' has no option --since", "status --help"},
		{"--jsno status", "there is no option '--jsno'", "did you mean --json?"},
		{"-x status", "there is no option '-x'", "--help"},
		{"ledger show --at 3h --at 2h --at 1h", "--at is given three times", "leave one"},
		{"get a --at 3h --at 2h", "'get' takes one --at", "fcmctl diff"},
		{"ledger show --since", "needs a value", ""},
		{"ledger show --since 5", "is not a time", "30m, 1h"},
		{"ledger show --since 2026-11-21", "in the future", "UTC"},
		{"ledger show --link 4", "is invalid", "from 0 to 3"},
		{"ledger show --link", "needs a value", ""},
		{"ledger show --link two", "is invalid", "from 0 to 3"},
		{"ledger show --interval 0", "is invalid", "a span"},
		{"--board 1000 status", "is invalid", "from 0 to 999"},
		{"--board -1 status", "is invalid", "from 0 to 999"},
		{"set a 1 --reason=", "is empty", ""},
		{"set a 1 --rate fast", "is invalid", "a number from 0.1 to 10000"},
		{"set a 1 --rate 0x14", "is invalid", "a number from"},
		{"set a 1 --rate nan", "is invalid", "a number from"},
		{"set a 1 --rate inf", "is invalid", "a number from"},
		{"set a 1 --rate 12,5", "is invalid", "a number from"},
		{"set a 1 --rate 12.5V", "is invalid", "a number from"},
		{"set a 1 --rate _12", "is invalid", "a number from"},
		{"set a 1 --rate 0", "is invalid", "a number from"},
		{"set a 1 --rate -5", "is invalid", "a number from"},
		{"set a 1 --rate=", "is invalid", "a number from"},
		{"--json=yes status", "", ""},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct ctl_args args;
		struct ctl_fault fault;

		if (parse(rows[i].line, &args, &fault) != -EINVAL ||
		    strstr(fault.text, rows[i].text) == NULL ||
		    strstr(fault.hint, rows[i].hint) == NULL) {
			fail_msg("'%s': '%s' '%s'", rows[i].line, fault.text, fault.hint);
		}
	}
}

static void test_help(void **state)
{
	struct ctl_args args;
	struct ctl_fault fault;

	assert_int_equal(parse("--help", &args, &fault), 0);
	assert_null(args.command);
	assert_int_equal(parse("help", &args, &fault), 0);
	assert_true(ctl_given(&args, CTL_HELP));
	assert_int_equal(parse("link --help", &args, &fault), 0);
	assert_null(args.command);
	assert_string_equal(args.topic, "link");
	assert_int_equal(parse("help link reset", &args, &fault), 0);
	assert_string_equal(args.command->verb, "reset");
	assert_int_equal(parse("link reset -h", &args, &fault), 0);
	assert_string_equal(args.command->verb, "reset");
	assert_int_equal(parse("help lnk", &args, &fault), -EINVAL);
	assert_int_equal(parse("--version", &args, &fault), 0);
}

static void set_variable(const char *name, const char *value)
{
	assert_int_equal(value != NULL ? setenv(name, value, 1) : unsetenv(name), 0);
}

static void test_station(void **state)
{
	static const struct {
		const char *line;
		struct {
			const char *board, *dir, *socket, *database;
		} environment;
		const char *socket, *database;
		bool installed;
	} rows[] = {
		{"status",
		 {0},
		 "/run/fcm-server/0/control.sock",
		 "/var/lib/fcm-server/0/station.db",
		 true},
		{"-b 2 status",
		 {0},
		 "/run/fcm-server/2/control.sock",
		 "/var/lib/fcm-server/2/station.db",
		 true},
		{"status",
		 {.board = "1"},
		 "/run/fcm-server/1/control.sock",
		 "/var/lib/fcm-server/1/station.db",
		 true},
		{"status --dir build/run",
		 {0},
		 "build/run/control.sock",
		 "build/run/station.db",
		 false},
		{"status -d x/", {0}, "x/control.sock", "x/station.db", false},
		{"status", {.dir = "/tmp/x"}, "/tmp/x/control.sock", "/tmp/x/station.db", false},
		{"-b 2 status",
		 {.dir = "/tmp/x", .socket = "/s"},
		 "/run/fcm-server/2/control.sock",
		 "/var/lib/fcm-server/2/station.db",
		 true},
		{"--socket a/b.sock status", {.dir = "/x"}, "a/b.sock", "a/station.db", false},
		{"--socket b.sock status", {0}, "b.sock", "./station.db", false},
		{"status", {.socket = "a/b.sock"}, "a/b.sock", "a/station.db", false},
		{"status", {.socket = "a/b.sock", .database = "c.db"}, "a/b.sock", "c.db", false},
		{"--database c.db status",
		 {.database = "d.db"},
		 "/run/fcm-server/0/control.sock",
		 "c.db",
		 true},
		{"--dir y --database c.db status", {0}, "y/control.sock", "c.db", false},
	};
	struct ctl_fault fault;
	struct ctl_args args;
	struct ctl_station station;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(parse(rows[i].line, &args, &fault), 0);
		set_variable("FCM_BOARD", rows[i].environment.board);
		set_variable("FCM_DIR", rows[i].environment.dir);
		set_variable("FCM_SOCKET", rows[i].environment.socket);
		set_variable("FCM_DATABASE", rows[i].environment.database);
		assert_int_equal(ctl_station_find(&args, &station, &fault), 0);
		assert_string_equal(station.socket, rows[i].socket);
		assert_string_equal(station.database, rows[i].database);
		assert_int_equal(station.installed, rows[i].installed);
	}
	assert_int_equal(parse("status", &args, &fault), 0);
	set_variable("FCM_BOARD", "one");
	assert_int_equal(ctl_station_find(&args, &station, &fault), -EINVAL);
	set_variable("FCM_BOARD", NULL);
	assert_non_null(strstr(fault.text, "$FCM_BOARD"));
}

static void test_nearest(void **state)
{
	static const char *const known[] = {"status", "top", "ledger"};

	assert_string_equal(ctl_nearest("sttaus", known, 3), "status");
	assert_string_equal(ctl_nearest("leger", known, 3), "ledger");
	assert_null(ctl_nearest("x", known, 3));
	assert_null(ctl_nearest("tip_top", known, 3));
	assert_null(ctl_nearest("a word that is much longer than any command", known, 3));
}

/* ctl_options must hold all of them. */
static void test_option_rows(void **state)
{
	assert_true(CTL_OPTIONS <= 8 * sizeof(ctl_options));
	for (int i = 0; i < CTL_OPTIONS; i++) {
		const struct ctl_option_row *row = ctl_option_row((enum ctl_option)i);

		assert_non_null(row->name);
		assert_non_null(row->help);
		for (int k = 0; k < i; k++) {
			const struct ctl_option_row *other = ctl_option_row((enum ctl_option)k);

			/* The second of one that may be given twice has its name. */
			if (i != CTL_AT_AGAIN || k != CTL_AT) {
				assert_string_not_equal(row->name, other->name);
			}
			assert_true(row->letter == 0 || row->letter != other->letter);
		}
	}
}

/* A parse begins anew whatever the one before broke off in, also when the first word is a negative number. */
static void begins_anew(void **state)
{
	struct ctl_args args;
	struct ctl_fault fault = {0};

	assert_int_equal(parse("-Zxyz", &args, &fault), -EINVAL);
	assert_int_equal(parse("-55 status", &args, &fault), -EINVAL);
	assert_null(strstr(fault.text, "option"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_commands),
		cmocka_unit_test(test_options),
		cmocka_unit_test(test_rate_has_tenths),
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_help),
		cmocka_unit_test(test_station),
		cmocka_unit_test(test_nearest),
		cmocka_unit_test(test_option_rows),
		cmocka_unit_test(begins_anew),
	};

	ctl_tables = tables;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
