/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The codes of reasons: the schema and the manual have the same, and each knows of what it may be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "daemon/incidents/reason_kinds.h"
#include "tdm/deframe.h"

static void test_schema(void **state)
{
	json_t *schema = json_load_file("schemas/control.schema.json", 0, NULL), *codes, *code;
	size_t n, count = 0;

	assert_int_equal(json_unpack(schema, "{s:{s:{s:o}}}", "$defs", "code", "enum", &codes), 0);
	json_array_foreach (codes, n, code) {
		if (!reason_kind(json_string_value(code))) {
			fail_msg("no reason has the schema's %s", json_string_value(code));
		}
	}
	for (const struct reason_kind *k = reason_kinds; k->code; k++) {
		assert_ptr_equal(reason_kind(k->code), k); /* each once */
		assert_true(k->of != 0);
		assert_int_equal((k->of & OF_THING) != 0, k->thing != NULL);
		count++;
	}
	assert_int_equal(count, json_array_size(codes));
	json_decref(schema);
}

/* What the runbook explains and is no reason: an outcome of frames, an event, fcmctl's own. */
static bool is_other(const char *code)
{
	static const char *const others[] = {
		"daemon-away",	   "consumer-member",	 "consumer-name-taken",
		"network-refused", "data-refused",	 "consumer-disconnected",
		"access-refused",  "network-allow-list", "feed-reader-refused",
	};

	for (unsigned n = 0; n < TDM_LOSSES; n++) {
		if (strcmp(tdm_loss_name(n), code) == 0) {
			return true;
		}
	}
	for (size_t n = 0; n < sizeof(others) / sizeof(others[0]); n++) {
		if (strcmp(others[n], code) == 0) {
			return true;
		}
	}
	return false;
}

/* THE SHIFT of fcmctl.1 says of each code what to do, once, and of nothing else. */
static void test_runbook(void **state)
{
	FILE *page = fopen("slowctl/fcmctl.1", "r");
	bool shift = false, told[128] = {false};
	char line[400], code[64];
	size_t entries = 0;

	assert_non_null(page);
	while (fgets(line, sizeof(line), page)) {
		if (strncmp(line, ".Sh ", 4) == 0) {
			shift = strcmp(line, ".Sh THE SHIFT\n") == 0;
		}
		if (!shift || sscanf(line, ".It Sy %63s", code) != 1) {
			continue;
		}
		entries++;
		if (!reason_kind(code)) {
			if (!is_other(code)) {
				fail_msg("no reason has the runbook's %s", code);
			}
		} else if (told[reason_kind(code) - reason_kinds]) {
			fail_msg("the runbook has %s twice", code);
		} else {
			told[reason_kind(code) - reason_kinds] = true;
		}
	}
	fclose(page);
	assert_true(entries > 50);
	for (const struct reason_kind *k = reason_kinds; k->code; k++) {
		if (!told[k - reason_kinds]) {
			fail_msg("the runbook does not have %s", k->code);
		}
	}
}

/* What --reasons prints: each code in the table's order, its objects, what to do. */
static void test_printed(void **state)
{
	json_t *printed = reason_kinds_json(), *reasons = json_object_get(printed, "reasons"),
	       *stale;
	const char *text = NULL, *floor = NULL, *link = NULL, *shore = NULL;
	size_t n;

	for (n = 0; reason_kinds[n].code; n++) {
		json_t *reason = json_array_get(reasons, n);

		assert_string_equal(json_string_value(json_object_get(reason, "code")),
				    reason_kinds[n].code);
		text = json_string_value(json_object_get(reason, "runbook"));
		assert_non_null(text);
		assert_true(strlen(text) > 20);
		assert_null(strstr(text, "##"));
		if (strcmp(reason_kinds[n].code, "link-dark") == 0) {
			assert_memory_equal(text, "No light, or light without lock.\n", 33);
		} else if (strcmp(reason_kinds[n].code, "stale") == 0) {
			stale = json_object_get(reason, "objects");
			assert_int_equal(json_unpack(stale, "[s, s, s!]", &shore, &link, &floor),
					 0);
		}
	}
	assert_int_equal(json_array_size(reasons), n);
	assert_string_equal(shore, "shore");
	assert_string_equal(link, "link");
	assert_string_equal(link, "link");
	assert_string_equal(floor, "floor");
	json_decref(printed);
}

static void test_objects(void **state)
{
	char buf[400];

	assert_null(reason_kind("hv-tripp"));
	assert_true(reason_kind_is_of(reason_kind("hv-trip"), OF_FLOOR, "tower1.floor3"));
	assert_false(reason_kind_is_of(reason_kind("hv-trip"), OF_VALUE, "tower1.floor3.om2.hv"));
	assert_true(reason_kind_is_of(reason_kind("stale"), OF_THING, "shore"));
	assert_false(reason_kind_is_of(reason_kind("stale"), OF_THING, "store"));
	assert_string_equal(reason_kinds_of(OF_VALUE, "x", buf, sizeof(buf)),
			    "limit, command-unknown");
	assert_string_equal(reason_kinds_of(OF_THING, "safe", buf, sizeof(buf)), "safe-cut");
	assert_string_equal(reason_kinds_of(OF_NOTHING, "", buf, sizeof(buf)), "");
	assert_true(reason_thing("recorder"));
	assert_false(reason_thing("records"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_schema),
		cmocka_unit_test(test_runbook),
		cmocka_unit_test(test_printed),
		cmocka_unit_test(test_objects),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
