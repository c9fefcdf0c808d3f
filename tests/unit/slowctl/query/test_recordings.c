/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The list of recordings when somebody has put something else than files and directories in their place. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "slowctl/query/recordings.h"

#define PATIENCE_S 10 /* whoever waits for a pipe's writer waits for ever */

static char top[64], place[96];

static const char *at(const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", top, name);
	return path;
}

static void put(const char *name, const char *text)
{
	FILE *f = fopen(at(name), "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

/* A recording "real" and, where no recording may be read from, a file and a directory. */
static int set_up(void **state)
{
	strcpy(top, "/tmp/test_recordings.XXXXXX");
	assert_non_null(mkdtemp(top));
	snprintf(place, sizeof(place), "%s/recordings", top);
	assert_int_equal(mkdir(place, 0700), 0);
	assert_int_equal(mkdir(at("recordings/real"), 0700), 0);
	put("recordings/real/recording.json", "{\"note\": \"ours\"}");
	put("recordings/real/link0-00000.fcmr", "0123456789");
	assert_int_equal(mkdir(at("elsewhere"), 0700), 0);
	put("elsewhere/recording.json", "{\"note\": \"secret\"}");
	put("elsewhere/link0-00000.fcmr", "01234567890123456789");
	return 0;
}

static int tear_down(void **state)
{
	char command[96];

	snprintf(command, sizeof(command), "rm -rf %s", top);
	return system(command);
}

static json_t *list(void)
{
	json_t *got = NULL;

	alarm(PATIENCE_S);
	assert_int_equal(recordings_list(place, 0, &got), 0);
	alarm(0);
	return got;
}

static void assert_real(const json_t *entry, const char *note, int segments, int bytes)
{
	const char *is = json_string_value(json_object_get(entry, "note"));

	assert_string_equal(json_string_value(json_object_get(entry, "name")), "real");
	assert_string_equal(is ? is : "none", note);
	assert_int_equal(json_integer_value(json_object_get(entry, "segments")), segments);
	assert_int_equal(json_integer_value(json_object_get(entry, "bytes")), bytes);
}

static void what_is_there_is_listed(void **state)
{
	json_t *got = list();

	assert_int_equal(json_array_size(got), 1);
	assert_real(json_array_get(got, 0), "ours", 1, 10);
	json_decref(got);
}

static void a_link_is_no_recording(void **state)
{
	json_t *got;

	assert_int_equal(symlink("../elsewhere", at("recordings/link")), 0);
	got = list();
	assert_int_equal(json_array_size(got), 1);
	assert_real(json_array_get(got, 0), "ours", 1, 10);
	json_decref(got);
}

static void links_in_a_recording_are_not_followed(void **state)
{
	json_t *got;

	assert_int_equal(unlink(at("recordings/real/recording.json")), 0);
	assert_int_equal(
		symlink("../../elsewhere/recording.json", at("recordings/real/recording.json")), 0);
	assert_int_equal(
		symlink("../../elsewhere/link0-00000.fcmr", at("recordings/real/link0-00001.fcmr")),
		0);
	got = list();
	assert_int_equal(json_array_size(got), 1);
	assert_real(json_array_get(got, 0), "none", 1, 10);
	json_decref(got);
}

static void a_pipe_holds_nobody_up(void **state)
{
	json_t *got;

	assert_int_equal(unlink(at("recordings/real/recording.json")), 0);
	assert_int_equal(mkfifo(at("recordings/real/recording.json"), 0600), 0);
	assert_int_equal(mkfifo(at("recordings/real/link0-00001.fcmr"), 0600), 0);
	got = list();
	assert_int_equal(json_array_size(got), 1);
	assert_real(json_array_get(got, 0), "none", 1, 10);
	json_decref(got);
}

static void assert_box(const char *text)
{
	json_t *got, *box;

	put("recordings/real/recording.json", text);
	got = list();
	box = json_array_get(got, 0);
	assert_string_equal(json_string_value(json_object_get(box, "cause")), "link-dark");
	assert_string_equal(json_string_value(json_object_get(box, "cause_text")), "no light");
	assert_string_equal(json_string_value(json_object_get(box, "why")), "incident");
	json_decref(got);
}

/* Those that a daemon wrote when incidents were alarms read as those of today do. */
static void a_box_of_an_alarm_is_one_of_an_incident(void **state)
{
	assert_box("{\"kind\": \"black-box\", \"incident\": \"link-dark\", "
		   "\"incident_text\": \"no light\", \"why\": \"incident\"}");
	assert_box("{\"kind\": \"black-box\", \"alarm\": \"link-dark\", \"alarm_text\": "
		   "\"no light\", \"why\": \"alarm\"}");
}

#define IN_PLACE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_PLACE(what_is_there_is_listed),
		IN_PLACE(a_link_is_no_recording),
		IN_PLACE(links_in_a_recording_are_not_followed),
		IN_PLACE(a_pipe_holds_nobody_up),
		IN_PLACE(a_box_of_an_alarm_is_one_of_an_incident),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
