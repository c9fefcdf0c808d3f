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

#include "daemon/alarms/reason_kinds.h"

static void test_schema(void **state)
{
	json_t *schema = json_load_file("schemas/control.schema.json", 0, NULL), *codes, *code;
	size_t n, count = 0;

	(void)state;
	assert_int_equal(json_unpack(schema, "{s:{s:{s:{s:{s:o}}}}}", "$defs", "reason",
				     "properties", "code", "enum", &codes),
			 0);
	json_array_foreach (codes, n, code) {
		if (!reason_kind(json_string_value(code))) {
			fail_msg("no reason has the schema's %s", json_string_value(code));
		}
	}
	for (const struct reason_kind *k = reason_kinds; k->code; k++) {
		assert_ptr_equal(reason_kind(k->code), k); /* each once */
		assert_true(k->of != 0);
		assert_int_equal((k->of & 1u << OF_THING) != 0, k->thing != NULL);
		count++;
	}
	assert_int_equal(count, json_array_size(codes));
	json_decref(schema);
}

static void test_objects(void **state)
{
	char buf[400];

	(void)state;
	assert_null(reason_kind("hv-tripp"));
	assert_true(reason_kind_is_of(reason_kind("hv-trip"), OF_FLOOR, "tower1.floor3"));
	assert_false(reason_kind_is_of(reason_kind("hv-trip"), OF_VALUE, "tower1.floor3.om2.hv"));
	assert_true(reason_kind_is_of(reason_kind("stale"), OF_THING, "shore"));
	assert_false(reason_kind_is_of(reason_kind("stale"), OF_THING, "store"));
	assert_string_equal(reason_kinds_of(OF_VALUE, "x", buf, sizeof(buf)),
			    "alarm, command-unknown");
	assert_string_equal(reason_kinds_of(OF_THING, "safe", buf, sizeof(buf)), "safe-cut");
	assert_string_equal(reason_kinds_of(OF_NOTHING, "", buf, sizeof(buf)), "");
	assert_true(reason_thing("recorder"));
	assert_false(reason_thing("records"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_schema),
		cmocka_unit_test(test_objects),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
