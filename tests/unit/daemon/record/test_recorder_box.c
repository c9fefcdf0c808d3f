/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Black boxes: armed, frozen, kept or not, few, and what a predecessor has left of one. */
#include "tests/unit/daemon/record/recorder_rig.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/core/now.h"

static void freeze(const char *code)
{
	struct record_spec incident = {.incident_ns = now_utc_ns()};

	snprintf(incident.incident, sizeof(incident.incident), "%s", code);
	snprintf(incident.incident_text, sizeof(incident.incident_text), "no light");
	assert_int_equal(
		recorder_order_freeze(rig.recorder, RIG_LINK, &incident, "board.status = 1\n"), 0);
}

static void wait_armed(bool armed)
{
	for (unsigned i = 0; i < 5000 && atomic_load(&rig.tap.link[RIG_LINK].armed) != armed; i++) {
		usleep(1000);
	}
	assert_int_equal(atomic_load(&rig.tap.link[RIG_LINK].armed), armed);
}

/* A loss begins: what the ring holds and a second more; then the incident comes, and it is kept. */
static void test_box(void **state)
{
	struct recorder_config c = rig_config();
	struct recorder_event e;
	char name[256];
	json_t *j;

	rig_start(&c);
	wait_armed(true);
	tap_suspect(&rig.tap, RIG_LINK, RIG_FIRST, now_mono_ns());
	assert_true(rig_feed(10));
	rig_wait_wanted(true);
	while (rig_feed_gap() && rig.position < 600) {
		rig_wait_taken();
	}
	assert_int_equal(rig_names(".box-", NULL), 1);
	assert_int_equal(rig_names("blackbox-", NULL), 0);
	freeze("link-dark");
	rig_wait_event(&e, RECORDER_BLACK_BOX);
	assert_int_equal(e.link, RIG_LINK);
	assert_true(e.counts.frames == 160 && e.counts.gaps >= 7000 && e.counts.gaps < 10000);
	assert_int_equal(rig_names(".box-", NULL), 0);
	assert_int_equal(rig_names("blackbox-", name), 1);
	assert_non_null(strstr(name, "-link1-link-dark"));
	assert_true(rig_there(name, "registers.txt"));
	assert_true(rig_there(name, "link1-00000.fcmr"));
	j = rig_passport(name);
	assert_string_equal(json_string_value(json_object_get(j, "incident")), "link-dark");
	assert_string_equal(json_string_value(json_object_get(j, "incident_text")), "no light");
	assert_true(json_is_real(json_object_get(j, "incident_time")));
	assert_string_equal(json_string_value(json_object_get(j, "why")), "incident");
	json_decref(j);
	wait_armed(false); /* not again at once */
	rig_end();
}

/* The disk refuses when all but its end is written: nothing is kept that looks as if it went on. */
static void test_box_half_kept(void **state)
{
	struct recorder_config c = rig_config();
	struct recorder_status s = {0};

	rig_start(&c);
	rig_wait_wanted(false);
	freeze("link-dark");
	rig_wait_wanted(true);
	rig_put(".box-link1", ".recording.json.new", NULL);
	rig_put(".box-link1", "recording.json", NULL);
	while (rig_feed_gap()) {
		rig_wait_taken();
	}
	for (unsigned i = 0; i < 5000 && s.box_failed == 0; i++) {
		usleep(1000);
		recorder_get_status(rig.recorder, &s);
	}
	assert_int_equal(s.box_failed, 1);
	assert_int_equal(rig_names("blackbox-", NULL), 0);
	rig_end();
	rig_assert_nothing_goes_on(&c);
}

/* What has a black box's name, or is one, does not go on, whatever it says of its end. */
static void test_box_is_no_recording(void **state)
{
	struct recorder_config c = rig_config();
	struct recorder_event e;

	rig_start(&c);
	rig_order("one");
	rig_wait_event(&e, RECORDER_STARTED);
	rig_end();
	rig_put("blackbox-a", "recording.json",
		"{\"kind\": \"recording\", \"begun\": 4000000000, \"ended\": null}");
	rig_put("a", "recording.json",
		"{\"kind\": \"black-box\", \"begun\": 4000000000, \"ended\": null}");
	rig_start(&c);
	rig_wait_event(&e, RECORDER_RESUMED);
	assert_string_equal(e.spec.name, "one");
	rig_end();
}

/* An incident without a loss: from what the ring holds. The oldest boxes make room, and there are limits. */
static void test_boxes_are_few(void **state)
{
	struct recorder_config c = rig_config();
	struct recorder_status s;
	struct recorder_event e;
	char code[32];

	rig_start(&c);
	rig_wait_wanted(false);
	for (unsigned n = 0; n < BOX_HOURLY; n++) {
		snprintf(code, sizeof(code), "phase-jump%u", n);
		freeze(code);
		rig_wait_wanted(true);
		while (rig_feed_gap()) {
			rig_wait_taken();
			if (recorder_next_event(rig.recorder, &e)) {
				assert_int_equal(e.type, RECORDER_BLACK_BOX);
				break;
			}
		}
		rig_wait_wanted(false);
		/* Somebody's, who has found such a name; and another that knows nothing of itself. */
		rig_put("blackbox-0", "recording.json", "{\"kind\": \"recording\"}");
		rig_put("blackbox-1", "note", "");
	}
	assert_true(rig_there("blackbox-0", "recording.json") && rig_there("blackbox-1", "note"));
	assert_int_equal(rig_names("blackbox-2", NULL), 2);
	freeze("one-more");
	for (unsigned i = 0; i < 5000; i++) {
		recorder_get_status(rig.recorder, &s);
		if (s.box_refused) {
			break;
		}
		usleep(1000);
	}
	assert_int_equal(s.box_refused, 1);
	assert_int_equal(s.boxes, BOX_HOURLY);
	rig_end();
}

/* What a predecessor left half done goes; the recorder without black boxes arms nobody. */
static void test_box_left_behind(void **state)
{
	struct recorder_config c = rig_config();
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		rig_start(&c);
		wait_armed(true);
		tap_suspect(&rig.tap, RIG_LINK, RIG_FIRST, now_mono_ns());
		rig_feed(10);
		rig_wait_wanted(true);
		_exit(rig_names(".box-", NULL) != 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	c.blackbox_s = 0;
	rig_start(&c);
	rig_wait_wanted(false);
	assert_int_equal(rig_names(".box-", NULL), 0);
	wait_armed(false);
	rig_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(test_box),
		RIG_TEST(test_box_half_kept),
		RIG_TEST(test_box_is_no_recording),
		RIG_TEST(test_boxes_are_few),
		RIG_TEST(test_box_left_behind),
	};

	return cmocka_run_group_tests_name("recorder_box", tests, NULL, NULL);
}
