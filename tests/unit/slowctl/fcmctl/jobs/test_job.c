// SPDX-License-Identifier: GPL-2.0-or-later
/* Plans and batches as files, and what an earlier run of a job settles. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "slowctl/fcmctl/jobs/plan.h"
#include "slowctl/fcmctl/jobs/snapshot.h"
#include "slowctl/fcmctl/show/value.h"

static int plan(const char *text, struct job_file *ret_file, struct ctl_fault *ret_fault)
{
	return job_file_parse(strdup(text), strlen(text), true, ret_file, ret_fault);
}

static int batch(const char *text, struct job_file *ret_file, struct ctl_fault *ret_fault)
{
	return job_file_parse(strdup(text), strlen(text), false, ret_file, ret_fault);
}

static void expect(const struct job_line *l, unsigned line, const char *name, const char *value)
{
	assert_int_equal(l->line, line);
	assert_string_equal(l->name, name);
	if (value == NULL) {
		assert_null(l->value);
	} else {
		assert_string_equal(l->value, value);
	}
}

static void test_plan(void **state)
{
	struct job_file f;
	struct ctl_fault fault;

	assert_int_equal(plan("# all\n\n  floor3.om2.hv=1450 V # gain\r\nfloor*.om?.power\t=  on\n"
			      "x = a = b",
			      &f, &fault),
			 0);
	assert_int_equal(f.count, 3);
	expect(&f.lines[0], 3, "floor3.om2.hv", "1450 V");
	expect(&f.lines[1], 4, "floor*.om?.power", "on");
	expect(&f.lines[2], 5, "x", "a = b");
	job_file_free(&f);
	assert_int_equal(plan("", &f, &fault), 0);
	assert_int_equal(f.count, 0);
	job_file_free(&f);
}

static void test_batch(void **state)
{
	struct job_file f;
	struct ctl_fault fault;

	assert_int_equal(batch("set floor3.om2.hv 1450\naction 'floor3.*.clear_trip' # all\nwait\n"
			       "\nfcmctl set \"floor3.om2.hv\" '1450 V'\nset a -5\nwait\nwait # "
			       "so\naction b",
			       &f, &fault),
			 0);
	assert_int_equal(f.count, 5);
	expect(&f.lines[0], 1, "floor3.om2.hv", "1450");
	expect(&f.lines[1], 2, "floor3.*.clear_trip", NULL);
	expect(&f.lines[2], 5, "floor3.om2.hv", "1450 V");
	expect(&f.lines[3], 6, "a", "-5");
	expect(&f.lines[4], 9, "b", NULL);
	assert_null(f.lines[1].value); /* an action */
	assert_int_equal(f.lines[0].step, 0);
	assert_int_equal(f.lines[1].step, 0);
	assert_int_equal(f.lines[2].step, 1);
	assert_int_equal(f.lines[4].step, 3);
	job_file_free(&f);
}

static void test_faults(void **state)
{
	static const struct {
		int (*parse)(const char *text, struct job_file *ret_file, struct ctl_fault *ret);
		const char *text;
		unsigned line;
		const char *says;
	} cases[] = {
		{plan, "a = 1\nfloor3.om2.hv 1450\n", 2, "is not NAME = VALUE"},
		{plan, "a =\n", 1, "a name and a value"},
		{plan, "= 3", 1, "a name and a value"},
		{plan, "a b = 3", 1, "a name and a value"},
		{plan, "set floor3.om2.hv 1", 1, "is not NAME = VALUE"},
		{batch, "floor3.om2.hv = 1450", 1, "'floor3.om2.hv' is not a batch command"},
		{batch, "set a\n", 1, "'set' is followed by 1 word"},
		{batch, "set a 1450 V\n", 1, "'set' is followed by 3 words"},
		{batch, "action a b", 1, "'action' is followed by 2 words"},
		{batch, "\n\nset a b c d e f g", 3, "'set' is followed by"},
		{batch, "set a 1 --force\n", 1, "'--force': options are not allowed in a line"},
		{batch, "set a '1\nset b 2\n", 1, "the closing quote is missing"},
		{batch, "wait 5\n", 1, "'wait' is not a batch command"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct job_file f;
		struct ctl_fault fault = {0};

		assert_int_equal(cases[i].parse(cases[i].text, &f, &fault), -EINVAL);
		assert_int_equal(fault.line, cases[i].line);
		if (strstr(fault.text, cases[i].says) == NULL) {
			fail_msg("'%s' says '%s'", cases[i].text, fault.text);
		}
	}
}

/* No byte at all makes it fall over. */
static void test_any_bytes(void **state)
{
	unsigned seed = 1;

	for (int n = 0; n < 20000; n++) {
		static const char bytes[] =
			"set action wait fcmctl = # '\" \t\r\n\n floor3.om2.hv*\x01\xff";
		size_t length = (size_t)rand_r(&seed) % 60;
		char *text = malloc(length + 1);
		struct job_file f;
		struct ctl_fault fault;

		for (size_t i = 0; i < length; i++) {
			text[i] = bytes[(size_t)rand_r(&seed) % (sizeof(bytes) - (n % 10 != 0))];
		}
		text[length] = '\0';
		if (job_file_parse(text, length, n % 2 != 0, &f, &fault) == 0) {
			for (size_t i = 0; i < f.count; i++) {
				assert_true(f.lines[i].name[0] != '\0' || n % 2 == 0);
			}
			job_file_free(&f);
		}
	}
}

static void test_read(void **state)
{
	char path[] = "/tmp/fcm-job-XXXXXX";
	int fd = mkstemp(path);
	size_t length = 0;
	size_t wanted = 200000;
	char *text = malloc(wanted);

	memset(text, 'x', wanted);
	assert_int_equal(write(fd, text, wanted), (ssize_t)wanted);
	free(text);
	assert_int_equal(job_file_read(path, &text, &length), 0);
	assert_int_equal(length, wanted);
	assert_int_equal(strlen(text), wanted);
	free(text);
	assert_int_equal(ftruncate(fd, JOB_FILE_MAX + 1), 0);
	assert_int_equal(job_file_read(path, &text, &length), -EFBIG);
	close(fd);
	unlink(path);
	assert_int_equal(job_file_read(path, &text, &length), -ENOENT);
	assert_int_equal(job_file_read("/tmp", &text, &length), -EIO);
}

static enum many_state settled(const char *command_state, bool ended, int attempts, bool action,
			       unsigned *ret_attempt)
{
	json_t *c = json_pack("{s:s,s:s,s:i,s:o}", "client_id", "20261122T074512-3fa29c01.17.0.3",
			      "state", command_state, "attempts", attempts, "ended",
			      ended ? json_real(1) : json_null());
	enum many_state s = job_settled(c, action, ret_attempt);

	json_decref(c);
	return s;
}

/* What was executed, or may have been, is never sent under a new client id. */
static void test_settled(void **state)
{
	unsigned attempt = 0;

	assert_int_equal(settled("DONE", true, 1, true, &attempt), MANY_SKIPPED);
	assert_int_equal(settled("UNKNOWN", true, 1, true, &attempt), MANY_UNKNOWN);
	assert_int_equal(settled("SENT", false, 1, true, &attempt), MANY_WAITS);
	assert_int_equal(attempt, 3); /* the same one */
	assert_int_equal(settled("UNKNOWN", false, 1, true, &attempt), MANY_WAITS);
	assert_int_equal(attempt, 3);
	assert_int_equal(settled("FAILED", true, 1, true, &attempt), MANY_FAILED);
	assert_int_equal(settled("FAILED", true, 0, true, &attempt), MANY_WAITS); /* never sent */
	assert_int_equal(attempt, 4);
	assert_int_equal(settled("FAILED", true, 1, false, &attempt), MANY_WAITS); /* a set */
	assert_int_equal(attempt, 4);
	assert_int_equal(settled("REFUSED", true, 1, true, &attempt), MANY_WAITS);
	assert_int_equal(attempt, 4);
	assert_int_equal(settled("CANCELLED", true, 0, true, &attempt), MANY_WAITS);
	assert_int_equal(attempt, 4);
}

/* The commands of an earlier run; a client id says the line. */
static json_t *journaled(unsigned line, const char *command_state, bool ended, double new)
{
	char id[64];

	snprintf(id, sizeof(id), "20261122T074512-3fa29c01.%u.0.1", line);
	return json_pack("{s:i,s:s,s:s,s:i,s:o,s:f}", "command", 17, "client_id", id, "state",
			 command_state, "attempts", 1, "ended", ended ? json_real(1) : json_null(),
			 "new", new);
}

/* What stands later in the file wins also when only an earlier line is left to be sent. */
static void test_overtaken(void **state)
{
	static const struct {
		const char *name, *value, *before; /* before NULL: none; small: still open */
		enum many_state becomes;
		unsigned overtaken;
		bool open;
	} cases[] = {
		{"f1.hv", "1400", "FAILED", MANY_SKIPPED, 2, false},
		{"f1.hv", "1450", "DONE", MANY_SKIPPED, 0, false},
		{"f1.hv", "1500", NULL, MANY_WAITS, 0, false}, /* nothing later was sent */
		{"f2.hv", "1400", NULL, MANY_SKIPPED, 5, false},
		{"f2.hv", "1450", "sent", MANY_WAITS, 0, true}, /* its end is waited for */
		{"f3.hv", "1400", "CANCELLED", MANY_SKIPPED, 7, false},
		{"f3.hv", "1450", "UNKNOWN", MANY_UNKNOWN, 0, false}, /* it may count */
		{"f4.hv", "1400", NULL, MANY_WAITS, 0, false},
		{"f4.hv", "1450", "FAILED", MANY_WAITS, 0, false}, /* sent anew, behind it */
		{"f5.reset", NULL, "CANCELLED", MANY_WAITS, 0, false},
		{"f5.reset", NULL, "DONE", MANY_SKIPPED, 0, false}, /* an action is no value */
	};
	enum { COUNT = sizeof(cases) / sizeof(cases[0]) };
	const struct ctl_command verb = {.verb = "batch"};
	const struct ctl_args args = {.command = &verb};
	struct job_row rows[COUNT] = {0};
	struct job job = {
		.args = &args, .source = "x", .goes_on = true, .rows = rows, .count = COUNT};
	struct many_row *sent;

	for (unsigned i = 0; i < COUNT; i++) {
		bool open = cases[i].before != NULL && cases[i].before[0] == 's';

		rows[i] = (struct job_row){.line = i + 1, .value = cases[i].value, .attempt = 1};
		rows[i].parameter = json_pack("{s:s}", "name", cases[i].name);
		rows[i].before =
			cases[i].before == NULL
				? NULL
				: journaled(i + 1, open ? "SENT" : cases[i].before, !open, 1450);
	}
	sent = job_requests(&job, false, true);
	for (unsigned i = 0; i < COUNT; i++) {
		if (sent[i].state != cases[i].becomes || sent[i].open != cases[i].open ||
		    rows[i].overtaken != cases[i].overtaken) {
			fail_msg("line %u: state %d, open %d, overtaken by %u", i + 1,
				 (int)sent[i].state, sent[i].open, rows[i].overtaken);
		}
		json_decref((json_t *)(uintptr_t)rows[i].parameter);
		json_decref((json_t *)(uintptr_t)rows[i].before);
	}
	many_rows_free(sent, COUNT);
}

/* Another file under a job's name is told by what the journal has. */
static void test_same(void **state)
{
	static const struct {
		const char *value, *would; /* NULL: the daemon refuses it now */
		double journal;
		bool same;
	} cases[] = {
		{"1450 V", "{\"new\":1450}", 1450, true},
		{"1450 V", "{\"new\":1450.0}", 1400, false},
		{"12.34", "{\"new\":12.3}", 12.3, true}, /* what its register can tell apart */
		{"on", "{\"new\":true}", 1, true},
		{"off", "{\"new\":false}", 1, false},
		{"1450 V", NULL, 1450, true},
		{"1500 V", NULL, 1450, false},
		{"on", NULL, 1, true},
		{"much", NULL, 1, false},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		json_t *before = journaled(1, "DONE", true, cases[i].journal);
		json_t *would = cases[i].would != NULL ? json_loads(cases[i].would, 0, NULL) : NULL;
		const struct job_row row = {
			.value = cases[i].value, .before = before, .would = would};

		if (job_is_same(&row) != cases[i].same) {
			fail_msg("%s, %g in the journal", cases[i].value, cases[i].journal);
		}
		assert_true(job_stands(&row));
		json_decref(before);
		json_decref(would);
	}
	assert_true(job_is_back("20261122T074512-3fa29c01-b"));
	assert_false(job_is_back("20261122T074512-3fa29c0b"));
	assert_false(job_is_back("-b"));
}

/* A row: `would` of a dry run as JSON text; `refused`: by an interlock, or (would NULL) for good. */
static void make_row(struct job_row *row, unsigned line, const char *name, const char *would,
		     bool refused)
{
	*row = (struct job_row){.line = line, .value = "1"};
	row->parameter = json_pack("{s:s}", "name", name);
	row->would = would != NULL ? json_loads(would, 0, NULL) : NULL;
	row->step = row->would != NULL ? json_number_value(json_object_get(row->would, "step")) : 0;
	row->refusal = refused ? json_pack("{s:s}", "message", "no") : NULL;
}

static void drop_rows(struct job_row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		json_decref((json_t *)(uintptr_t)rows[i].parameter);
		json_decref(rows[i].would);
		json_decref(rows[i].refusal);
	}
}

static void test_order(void **state)
{
	struct job_row rows[6];
	static const unsigned wanted[] = {6, 2, 5, 3, 4, 1};

	make_row(&rows[0], 1, "f1.om2.power", "{\"step\":50}", false);
	make_row(&rows[1], 2, "f1.om2.hv", "{\"step\":10}", false);
	make_row(&rows[2], 3, "f1.om1.hv", "{\"step\":40}", false);
	make_row(&rows[3], 4, "f1.om3.hv", "{\"step\":40}", false);
	make_row(&rows[4], 5, "f1.om3.power", "{\"step\":20}", false);
	make_row(&rows[5], 6, "f9.om3.power", NULL, true); /* what nobody knows stands first */
	plan_sort(rows, 6);
	for (size_t i = 0; i < 6; i++) {
		assert_int_equal(rows[i].line, wanted[i]);
	}
	drop_rows(rows, 6);
}

/* An interlock that an earlier row of the same object may lift is asked again; all else is final. */
static void test_fate(void **state)
{
	struct job_row rows[11];
	static const enum plan_fate wanted[] = {PLAN_CHANGE,	 PLAN_UNCHANGED,  PLAN_LATER,
						PLAN_IMPOSSIBLE, PLAN_IMPOSSIBLE, PLAN_IMPOSSIBLE,
						PLAN_IMPOSSIBLE, PLAN_CHANGE,	  PLAN_UNCHANGED,
						PLAN_UNCHANGED,	 PLAN_LATER};

	make_row(&rows[0], 1, "f1.om2.power", "{\"step\":20,\"unchanged\":false}", false);
	make_row(&rows[1], 2, "f1.om3.power", "{\"step\":20,\"unchanged\":true}", false);
	make_row(&rows[2], 3, "f1.om2.hv", "{\"step\":40}", true);
	make_row(&rows[3], 4, "f1.om3.hv", "{\"step\":40}", true);   /* its power does not change */
	make_row(&rows[4], 5, "f1.om20.hv", "{\"step\":40}", true);  /* another module */
	make_row(&rows[5], 6, "f1.om2.ramp", "{\"step\":20}", true); /* side by side, not before */
	make_row(&rows[6], 7, "f1.om2.threshold", NULL, true);	     /* out of range: for good */
	/* The module of the one is switched on before it, that of the other is not. */
	make_row(&rows[7], 8, "f1.om2.gain",
		 "{\"step\":30,\"unchanged\":true,\"needs\":\"f1.om2.power\"}", false);
	make_row(&rows[8], 9, "f1.om3.gain",
		 "{\"step\":30,\"unchanged\":true,\"needs\":\"f1.om3.power\"}", false);
	/* What changes nothing need not be possible now, unless it is to be set again. */
	make_row(&rows[9], 10, "f1.om4.power", "{\"step\":20,\"unchanged\":true}", true);
	make_row(&rows[10], 11, "f1.om2.rate",
		 "{\"step\":30,\"unchanged\":true,\"needs\":\"f1.om2.power\"}", true);
	for (size_t i = 0; i < 11; i++) {
		assert_int_equal(plan_fate(rows, i), wanted[i]);
	}
	drop_rows(rows, 11);
}

static void test_value_text(void **state)
{
	static const struct {
		const char *json, *text;
	} cases[] = {{"true", "on"},	   {"false", "off"},   {"1450.0", "1450"},
		     {"1449.8", "1449.8"}, {"-0.05", "-0.05"}, {"100000000", "100000000"},
		     {"\"up\"", "up"},	   {"null", "-"},      {"12345.678", "12345.678"}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		json_t *value = json_loads(cases[i].json, JSON_DECODE_ANY, NULL);
		char text[64];

		assert_string_equal(value_text(value, VALUE_TYPED, text, sizeof(text)),
				    cases[i].text);
		json_decref(value);
	}
}

/* What differs, by name; what is in one only; a switch that is 1 where it is no longer known to be one. */
static void test_snapshot_diff(void **state)
{
	json_t *shown = json_loads(
		"{\"values\":[{\"parameter\":\"f1.b\",\"value\":1400.0,\"unit\":\"V\","
		"\"configured\":true},{\"parameter\":\"f1.a\",\"value\":true,\"unit\":\"\","
		"\"configured\":true},{\"parameter\":\"f1.gone\",\"value\":3.0,\"unit\":\"\","
		"\"configured\":false}]}",
		0, NULL);
	json_t *listed = json_loads(
		"{\"parameters\":[{\"name\":\"f1.a\",\"access\":\"rw\",\"setpoint\":false,\"unit\":"
		"\"\"},"
		"{\"name\":\"f1.b\",\"access\":\"rw\",\"setpoint\":1400,\"unit\":\"V\"},"
		"{\"name\":\"f1.c\",\"access\":\"rw\",\"setpoint\":null,\"unit\":\"V\"},"
		"{\"name\":\"f1.d\",\"access\":\"ro\",\"setpoint\":null,\"value\":3,\"unit\":\"V\"}"
		","
		"{\"name\":\"f1.new\",\"access\":\"rw\",\"setpoint\":5,\"unit\":\"V\"}]}",
		0, NULL);
	json_t *a = snapshot_values(shown);
	json_t *b = snapshot_values_now(listed, NULL, NULL);
	json_t *rows = snapshot_diff(a, b);
	json_t *none = snapshot_diff(a, a);
	json_t *unknown = json_array();
	json_t *among = snapshot_values_now(listed, a, unknown);
	char *said = json_dumps(rows, JSON_COMPACT);
	size_t left;
	char *plan_text = snapshot_plan(shown, NULL, &left);

	assert_string_equal(said, "[{\"parameter\":\"f1.a\",\"unit\":\"\",\"a\":true,\"b\":false},"
				  "{\"parameter\":\"f1.gone\",\"unit\":\"\",\"a\":3.0,\"b\":null},"
				  "{\"parameter\":\"f1.new\",\"unit\":\"V\",\"a\":null,\"b\":5}]");
	assert_int_equal(json_array_size(none), 0);
	assert_int_equal(json_array_size(unknown), 0); /* f1.gone is no longer configured */
	json_decref(among);
	json_object_set_new(a, "f1.c", json_integer(3));
	among = snapshot_values_now(listed, a, unknown);
	assert_null(json_object_get(among, "f1.c"));
	json_decref(among);
	assert_int_equal(json_array_size(unknown), 1);
	assert_string_equal(json_string_value(json_array_get(unknown, 0)), "f1.c");
	json_decref(unknown);
	assert_string_equal(plan_text, "f1.b = 1400\nf1.a = on\n");
	assert_int_equal(left, 1);
	free(plan_text);
	plan_text = snapshot_plan(shown, "f1.b", &left);
	assert_string_equal(plan_text, "f1.b = 1400\n");
	free(plan_text);
	free(said);
	json_decref(rows);
	json_decref(none);
	json_decref(a);
	json_decref(b);
	json_decref(shown);
	json_decref(listed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plan),	   cmocka_unit_test(test_batch),
		cmocka_unit_test(test_faults),	   cmocka_unit_test(test_any_bytes),
		cmocka_unit_test(test_order),	   cmocka_unit_test(test_fate),
		cmocka_unit_test(test_value_text), cmocka_unit_test(test_snapshot_diff),
		cmocka_unit_test(test_read),	   cmocka_unit_test(test_settled),
		cmocka_unit_test(test_overtaken),  cmocka_unit_test(test_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
