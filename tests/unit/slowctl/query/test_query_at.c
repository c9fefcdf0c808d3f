/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What parameters were at a time, who had set them, what differs between two: on a real file. What was never
 * kept is not known.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "slowctl/query/query.h"
#include "tests/unit/rig/query_rig.h"
#include "tests/unit/rig/store_rig.h"

#define HV "tower1.floor3.om2.hv"

/* Of the file, which the store has made; `text` with seconds behind RIG_UTC as AT(n). */
#define AT(s) "(1795000000 + " #s ") * 1000000000"
static void put(const struct store_rig *r, const char *sql)
{
	char *words = NULL;
	sqlite3 *db = NULL;

	assert_int_equal(sqlite3_open(r->path, &db), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, &words) != SQLITE_OK) {
		fail_msg("%s: %s", sql, words);
	}
	sqlite3_close(db);
}

#define COMMAND(id, asked, op, value, state, ended)                                                \
	"INSERT INTO command(id, time, who, origin, reason, parameter, op, new_value, state, "     \
	"ended)"                                                                                   \
	" VALUES (" #id ", " AT(asked) ", 'anna', 'local', 'why " #id "', '" HV "', '" op          \
				       "', " #value ", '" state "', " ended ");"
#define STEP(id, at, state)                                                                        \
	"INSERT INTO transition(command, number, time, state) SELECT " #id ", count(*) + 1, "      \
	"" AT(at) ", '" state "' FROM transition WHERE command = " #id ";"
#define SAMPLE(name, at, value, setpoint)                                                          \
	"INSERT INTO sample VALUES ('" name "', " AT(at) ", " #value ", " #setpoint ");"

static int setup(void **state)
{
	struct store_rig *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	store_rig_create(r);
	store_rig_open(r);
	store_rig_flush(r);
	/* At 100 s anna sets it to 1450: executed at 102, there at 110. At 200 she asks for 1500: refused. At 300
	 * a clear_trip, at 400 a set to 1460 that is executed at 402 and fails at 420. */
	put(r,
	    SAMPLE(HV, 50, 1400.1, 1400) SAMPLE(HV, 104, 1420, 1450) SAMPLE(HV, 110, 1449.8, 1450)
		    SAMPLE(HV, 410, 1459, 1450) SAMPLE("clock.state", 60, 2, NULL)
			    SAMPLE("clock.state", 500, 3, NULL)
				    SAMPLE("tower1.floor3.om1.hv", 60, 1300.2, 1300)
					    SAMPLE("tower1.floor3.om1.hv", 480, 1301.6, 1300));
	put(r, COMMAND(1, 100, "set", 1450, "DONE", AT(110)) STEP(1, 100, "QUEUED")
		       STEP(1, 101, "SENT") STEP(1, 102, "ACKED") STEP(1, 110, "DONE"));
	put(r, COMMAND(2, 200, "set", 1500, "REFUSED", AT(200)) STEP(2, 200, "REFUSED")
		       COMMAND(3, 300, "action", NULL, "DONE", AT(301)) STEP(3, 301, "DONE")
			       COMMAND(4, 400, "set", 1460, "FAILED", AT(420)) STEP(4, 402, "ACKED")
				       STEP(4, 420, "FAILED"));
	put(r,
	    "INSERT OR REPLACE INTO station VALUES ('unit.om.hv', 'V'), ('deadband.om.hv', '1.5'),"
	    " ('unit.clock.state', ''), ('words.clock.state', 'none acquiring locked holdover "
	    "fault')");
	*state = r;
	return 0;
}

static int teardown(void **state)
{
	struct store_rig *r = *state;

	store_rig_destroy(r);
	free(r);
	return 0;
}

/* The one parameter at `seconds`; a new reference. */
static json_t *at(struct query *q, const char *name, double seconds)
{
	json_t *names = json_pack("[s]", name), *json = NULL, *one;
	struct query_filter f = {.names = names, .at_ns = RIG_UTC + (int64_t)(seconds * 1e9)};

	assert_int_equal(query_at(q, &f, &json), 0);
	assert_true(json_number_value(json_object_get(json, "time")) == 1795000000 + seconds);
	one = json_incref(json_array_get(json_object_get(json, "parameters"), 0));
	assert_string_equal(json_string_value(json_object_get(one, "name")), name);
	json_decref(json);
	json_decref(names);
	return one;
}

static void test_at(void **state)
{
	static const struct {
		double at, value, setpoint, age_s;
		const char *quality;
		int author, open; /* 0: none */
	} cases[] = {
		{50, 1400.1, 1400, 0, "good", 0, 0},
		{99, 1400.1, 1400, 49, "good", 0, 0},
		{101, 1400.1, 1400, 51, "good", 0, 1},	/* asked, not executed */
		{103, 1400.1, 1450, 53, "good", 1, 1},	/* executed, no sample yet */
		{105, 1420, 1450, 1, "good", 1, 1},	/* it ramps */
		{250, 1449.8, 1450, 140, "good", 1, 0}, /* a refusal sets nothing */
		{350, 1449.8, 1450, 240, "good", 1, 0}, /* nor does an action */
		{405, 1449.8, 1460, 295, "good", 4, 4},
		{421, 1459, 1450, 11, "good", 0, 0}, /* the sample knows better: not command 4 */
		{410 + 900, 1459, 1450, 900, "good", 0, 0},
		{410 + 901, 1459, 1450, 901, "stale", 0, 0},
	};
	struct query *q = query_rig_open(*state);

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		json_t *one = at(q, HV, cases[i].at);
		const json_t *author = json_object_get(one, "author");
		const json_t *open = json_object_get(one, "open");
		const char *by;

		print_message("at %g\n", cases[i].at);
		assert_true(json_number_at(one, "value") == cases[i].value);
		assert_true(json_number_at(one, "setpoint") == cases[i].setpoint);
		assert_true(json_number_at(one, "age_s") == cases[i].age_s);
		assert_string_equal(json_string_value(json_object_get(one, "quality")),
				    cases[i].quality);
		assert_int_equal(json_integer_value(json_object_get(author, "command")),
				 cases[i].author);
		assert_int_equal(json_integer_value(open), cases[i].open);
		by = json_string_value(json_object_get(one, "set_by"));
		assert_string_equal(by ? by : "-", cases[i].author     ? "command"
						   : cases[i].at > 420 ? "fcm"
								       : "-");
		json_decref(one);
	}
	query_close(q);
}

static void test_author(void **state)
{
	struct query *q = query_rig_open(*state);
	json_t *one = at(q, HV, 405);
	const json_t *author = json_object_get(one, "author");

	assert_string_equal(json_string_value(json_object_get(author, "who")), "anna");
	assert_string_equal(json_string_value(json_object_get(author, "reason")), "why 4");
	assert_string_equal(json_string_value(json_object_get(author, "state")), "FAILED");
	assert_true(json_number_at(author, "new") == 1460);
	assert_true(json_number_at(author, "time") == 1795000400);
	assert_true(json_number_at(author, "executed") == 1795000402);
	json_decref(one);
	query_close(q);
}

/* Before the first sample, and of what nobody ever kept: null, not 0. */
static void test_not_known(void **state)
{
	struct query *q = query_rig_open(*state);
	static const struct {
		const char *name;
		double at;
	} cases[] = {{HV, 49}, {HV, -1e9}, {"tower1.floor9.om0.hv", 1000}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		static const char *const keys[] = {"value",  "sampled", "age_s", "setpoint",
						   "set_by", "author",	"open"};
		json_t *one = at(q, cases[i].name, cases[i].at);

		for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++) {
			assert_true(json_is_null(json_object_get(one, keys[k])));
		}
		assert_string_equal(json_string_value(json_object_get(one, "quality")), "never");
		json_decref(one);
	}
	query_close(q);
}

/* What stood when a history begins: as fresh as at() would have it, and only where no row says it. */
static void test_before(void **state)
{
	static const struct {
		double since, before; /* 0: not known */
		unsigned limit, rows;
	} cases[] = {
		{49, 0, 0, 4},	{51, 1400.1, 0, 3},	 {104, 0, 0, 3},       {105, 1420, 0, 2},
		{105, 0, 1, 1}, {410 + 900, 1459, 0, 0}, {410 + 901, 0, 0, 0},
	};
	struct query *q = query_rig_open(*state);

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct query_filter f = {.name = HV,
					 .since_ns = RIG_UTC + (int64_t)(cases[i].since * 1e9),
					 .limit = cases[i].limit};
		json_t *json = NULL;
		const json_t *before;

		assert_int_equal(query_history(q, &f, &json), 0);
		before = json_object_get(json, "before");
		print_message("since %g\n", cases[i].since);
		assert_int_equal(json_array_size(json_object_get(json, "rows")), cases[i].rows);
		assert_int_equal(json_is_null(before), cases[i].before == 0);
		if (cases[i].before != 0) {
			assert_true(json_number_at(before, "value") == cases[i].before);
			assert_true(json_number_at(before, "time") < 1795000000 + cases[i].since);
		}
		json_decref(json);
	}
	query_close(q);
}

static void test_words(void **state)
{
	struct query *q = query_rig_open(*state);
	json_t *one = at(q, "clock.state", 100);

	assert_true(json_number_at(one, "value") == 2);
	assert_int_equal(json_array_size(json_object_get(one, "words")), 5);
	assert_true(json_is_null(json_object_get(one, "setpoint")));
	json_decref(one);
	query_close(q);
}

static void test_names(void **state)
{
	static const struct {
		const char *patterns[3];
		const char *found; /* NULL: -ENOENT */
	} cases[] = {
		{{NULL}, "clock.state tower1.floor3.om1.hv " HV " "},
		{{"floor3"}, "tower1.floor3.om1.hv " HV " "},
		{{"floor3.om2.hv"}, HV " "},
		{{"clock", "floor*.om1.*"}, "clock.state tower1.floor3.om1.hv "},
		{{"clock", "floor4"}, NULL},
		{{"'; DROP TABLE sample; --"}, NULL},
	};
	struct query *q = query_rig_open(*state);

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		json_t *patterns = json_array(), *names = NULL;
		const json_t *name;
		char text[200] = "";
		size_t n;

		for (n = 0; n < 3 && cases[i].patterns[n]; n++) {
			json_array_append_new(patterns, json_string(cases[i].patterns[n]));
		}
		assert_int_equal(query_names(q, patterns, &names), cases[i].found ? 0 : -ENOENT);
		json_array_foreach (names, n, name) {
			strcat(strcat(text, json_string_value(name)), " ");
		}
		assert_string_equal(text, cases[i].found ? cases[i].found : "");
		json_decref(names);
		json_decref(patterns);
	}
	query_close(q);
}

static void test_diff(void **state)
{
	static const struct {
		double from, to;
		const char *differ;
	} cases[] = {
		{60, 60, ""},
		{49, 50, HV " "},		   /* known from then on */
		{61, 105, HV " "},		   /* set, and on its way */
		{112, 390, ""},			   /* refused: nothing differs */
		{61, 490, HV " "},		   /* om1 moved by less than its deadband */
		{390, 501, "clock.state " HV " "}, /* a state is another one */
		{501, 100000, ""},		   /* stale is not another value */
	};
	struct query *q = query_rig_open(*state);
	json_t *names = NULL;

	assert_int_equal(query_names(q, NULL, &names), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct query_filter f = {.names = names,
					 .from_ns = RIG_UTC + (int64_t)(cases[i].from * 1e9),
					 .to_ns = RIG_UTC + (int64_t)(cases[i].to * 1e9)};
		json_t *json = NULL;
		const json_t *one;
		char text[200] = "";
		size_t n;

		assert_int_equal(query_diff(q, &f, &json), 0);
		assert_int_equal(json_integer_value(json_object_get(json, "compared")), 3);
		json_array_foreach (json_object_get(json, "differences"), n, one) {
			strcat(strcat(text, json_string_value(json_object_get(one, "name"))), " ");
			assert_non_null(json_object_get(json_object_get(one, "from"), "quality"));
			assert_non_null(json_object_get(json_object_get(one, "to"), "author"));
		}
		print_message("from %g to %g\n", cases[i].from, cases[i].to);
		assert_string_equal(text, cases[i].differ);
		json_decref(json);
	}
	json_decref(names);
	query_close(q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_at, setup, teardown),
		cmocka_unit_test_setup_teardown(test_author, setup, teardown),
		cmocka_unit_test_setup_teardown(test_not_known, setup, teardown),
		cmocka_unit_test_setup_teardown(test_before, setup, teardown),
		cmocka_unit_test_setup_teardown(test_words, setup, teardown),
		cmocka_unit_test_setup_teardown(test_names, setup, teardown),
		cmocka_unit_test_setup_teardown(test_diff, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
