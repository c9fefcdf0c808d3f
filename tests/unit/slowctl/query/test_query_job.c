/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Jobs, as the journal has them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "slowctl/query/query.h"
#include "tests/unit/rig/query_rig.h"
#include "tests/unit/rig/store_rig.h"

/* Jobs by their client ids: newest first, a roll-back goes with its job, what is no job is left out. */
static void test_jobs(void **state)
{
	static const struct {
		const char *client_id;
		const char *becomes; /* NULL: stays open */
	} commands[] = {
		{"20261121T010101-0000000a.1.0.1", "DONE"},
		{"20261121T010101-0000000a.10.0.1", "DONE"},
		{"20261121T010101-0000000a.2.0.1!3", "REFUSED"},
		{"20261122T020202-0000000b.1.0.1", "DONE"},
		{"20261122T020202-0000000b-b.1.0.1", "DONE"},
		{"20261122T020203-0000000c.1.0.1", NULL},
		{"20261122T020204 of another", "DONE"},
		{"daq.1.0.1", "DONE"},
		{"fcmctl-17-00000000000000aa", "DONE"},
	};
	static const char *const wanted[] = {"20261122T020203-0000000c", "20261122T020202-0000000b",
					     "20261121T010101-0000000a"};
	struct store_rig r = {0};
	struct sc_error error = {0};
	struct query *q = NULL;
	json_t *json = NULL, *job = NULL;
	struct row row;

	store_rig_create(&r);
	store_rig_open(&r);
	for (unsigned n = 0; n < sizeof(commands) / sizeof(commands[0]); n++) {
		store_rig_command(&row, n + 1, commands[n].client_id, 101 + n);
		store_submit(r.s, &row, 0, 0);
		if (commands[n].becomes) {
			store_rig_transition(&row, n + 1, commands[n].becomes, -1, "", true);
			store_submit(r.s, &row, 0, 0);
		}
	}
	store_rig_flush(&r);
	assert_int_equal(query_open(r.path, &q, &error), 0);
	assert_int_equal(query_jobs(q, &(struct query_filter){0}, &json), 0);
	assert_int_equal(json_array_size(json_at(json, "jobs")), 3);
	for (unsigned n = 0; n < 3; n++) {
		job = json_array_get(json_at(json, "jobs"), n);
		assert_string_equal(json_text_at(job, "job"), wanted[n]);
		assert_int_equal(json_number_at(job, "back"), n == 1);
		assert_int_equal(json_number_at(job, "open"), n == 0);
		assert_int_equal(json_number_at(job, "commands"), n == 2 ? 3 : 1);
		assert_int_equal(json_is_null(json_at(job, "ended")), n == 0);
	}
	assert_int_equal(json_number_at(json_at(job, "states"), "DONE"), 2);
	assert_int_equal(json_number_at(json_at(job, "states"), "REFUSED"), 1);
	json_decref(json);
	assert_int_equal(query_jobs(q, &(struct query_filter){.limit = 2}, &json), 0);
	assert_int_equal(json_array_size(json_at(json, "jobs")), 2);
	json_decref(json);
	/* Without its roll-back. */
	assert_int_equal(query_job(q, &(struct query_filter){.job = wanted[1]}, &json), 0);
	assert_int_equal(json_array_size(json_at(json, "commands")), 1);
	json_decref(json);
	assert_int_equal(query_job(q, &(struct query_filter){.job = wanted[2], .after = ""}, &json),
			 0);
	assert_int_equal(json_array_size(json_at(json, "commands")), 3);
	assert_string_equal(json_text_at(json_array_get(json_at(json, "commands"), 0), "unit"),
			    "V");
	json_decref(json);
	query_close(q);
	store_rig_destroy(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_jobs)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
