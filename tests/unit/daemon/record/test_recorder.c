/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Recordings: begun, stopped, on a disk that is slow, full or gone, and over the death of their daemon. */
#include "tests/unit/daemon/record/recorder_rig.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/core/now.h"

/* Cells, by recording.json; -1: it does not say. */
static long long let_go_told(const char *name)
{
	json_t *j = rig_passport(name), *n = json_object_get(j, "let_go_frames");
	long long told = n ? json_integer_value(n) : -1;

	json_decref(j);
	return told;
}

static bool at_least_told(const char *name)
{
	json_t *j = rig_passport(name);
	bool told = json_is_true(json_object_get(j, "let_go_at_least"));

	json_decref(j);
	return told;
}

static void test_start_stop(void **state)
{
	struct recorder_config c = rig_config();
	struct recorder_event e;

	rig_start(&c);
	rig_wait_wanted(false); /* it held the links until it knew that nothing goes on */
	assert_int_equal(recorder_order_stop(rig.recorder, ++rig.number, "me"), 0);
	rig_wait_event(&e, RECORDER_REFUSED);
	assert_int_equal(e.error, -EBUSY);
	rig_order("one");
	rig_wait_event(&e, RECORDER_STARTED);
	rig_order("two");
	rig_wait_event(&e, RECORDER_REFUSED);
	assert_int_equal(e.error, -EALREADY);
	assert_int_equal(e.order, rig.number);
	rig_wait_wanted(true);
	assert_true(rig_feed(20));
	rig_wait_taken();
	assert_int_equal(recorder_order_stop(rig.recorder, ++rig.number, "me"), 0);
	rig_wait_event(&e, RECORDER_STOPPED);
	assert_int_equal(e.order, rig.number);
	assert_false(e.resumed);
	assert_int_equal(e.counts.frames, 320);
	assert_int_equal(e.counts.let_go, 0);
	assert_true(rig_there("one", "link1-00000.fcmr"));
	rig_order("one");
	rig_wait_event(&e, RECORDER_REFUSED);
	assert_int_equal(e.error, -EEXIST);
	rig_end();
}

static void test_time_over(void **state)
{
	struct record_spec spec = {.links = 1u << RIG_LINK, .name = "short"};
	struct recorder_config c = rig_config();
	struct recorder_event e;

	rig_start(&c);
	spec.begun_ns = now_utc_ns();
	spec.until_ns = spec.begun_ns + 1;
	assert_int_equal(recorder_order_start(rig.recorder, ++rig.number, &spec), 0);
	rig_wait_event(&e, RECORDER_STARTED);
	assert_int_equal(e.order, rig.number);
	rig_wait_event(&e, RECORDER_STOPPED);
	assert_int_equal(e.order, 0); /* nobody asked: it is nobody's answer */
	rig_end();
}

/* Of the end of a recording nothing is missing that is not named, however far behind the recorder is: it stands
 * still as long as somebody has the lease, with more in its queue than it takes between two looks at
 * its orders. */
#define WAITING 300u

static void stand_still(const char *name, int64_t until_ns)
{
	struct record_spec spec = {.links = 1u << RIG_LINK, .begun_ns = now_utc_ns()};
	struct recorder_event e;

	spec.until_ns = until_ns;
	snprintf(spec.name, sizeof(spec.name), "%s", name);
	assert_int_equal(recorder_order_start(rig.recorder, ++rig.number, &spec), 0);
	rig_wait_event(&e, RECORDER_STARTED);
	rig_wait_wanted(true);
	pthread_mutex_lock(&rig.tap.link[RIG_LINK].lease);
	assert_true(rig_feed(WAITING));
}

static void go_on(void)
{
	pthread_mutex_unlock(&rig.tap.link[RIG_LINK].lease);
}

static void test_stop_when_behind(void **state)
{
	struct recorder_config c = rig_config();
	struct recorder_event e;

	rig_start(&c);
	stand_still("one", 0);
	assert_int_equal(recorder_order_stop(rig.recorder, ++rig.number, "me"), 0);
	assert_true(rig_feed(20)); /* too late to be its */
	go_on();
	rig_wait_event(&e, RECORDER_STOPPED);
	assert_int_equal(e.order, rig.number);
	assert_int_equal(e.counts.frames, WAITING * 16);
	assert_int_equal(e.counts.let_go, 0);
	/* The same when capture has not waited for it. */
	rig_wait_wanted(false);
	assert_false(rig_feed(1));
	stand_still("two", 0);
	assert_int_equal(recorder_order_stop(rig.recorder, ++rig.number, "me"), 0);
	assert_int_equal(recorder_order_stop(rig.recorder, ++rig.number, "me too"), 0);
	tap_release(&rig.tap, RIG_LINK, rig.position, WAITING, 1024,
		    now_mono_ns() + 2 * TAP_BEHIND_NS);
	go_on();
	rig_wait_event(&e, RECORDER_REFUSED);
	assert_int_equal(e.error, -EBUSY);
	rig_wait_event(&e, RECORDER_STOPPED);
	assert_int_equal(e.order, rig.number - 1);
	assert_int_equal(e.counts.frames, 0);
	assert_int_equal(e.counts.let_go, WAITING * 16);
	rig_end();
}

static void test_time_over_when_behind(void **state)
{
	int64_t until_ns = now_utc_ns() + 1000000000;
	struct recorder_config c = rig_config();
	struct recorder_event e;
	bool in_time;

	rig_start(&c);
	stand_still("one", until_ns);
	in_time = now_utc_ns() < until_ns;
	usleep(1300000);
	assert_true(rig_feed(20)); /* too late to be its */
	go_on();
	rig_wait_event(&e, RECORDER_STOPPED);
	assert_int_equal(e.order, 0);
	if (in_time) { /* else the host was too slow to prove it */
		assert_int_equal(e.counts.frames, WAITING * 16);
	}
	rig_end();
}

static void *finish_now(void *context)
{
	recorder_finish(rig.recorder, 0);
	return NULL;
}

/* Stopped, and then the daemon ends and has no time for what is left: it is named, and it stays stopped. */
static void test_daemon_ends_behind(void **state)
{
	struct recorder_config c = rig_config();
	struct recorder_event e;
	pthread_t t;

	rig_start(&c);
	stand_still("one", 0);
	assert_int_equal(recorder_order_stop(rig.recorder, ++rig.number, "me"), 0);
	/* Whoever has locked it unlocks it: the end is another's matter here. */
	assert_int_equal(pthread_create(&t, NULL, finish_now, NULL), 0);
	usleep(50000);
	go_on();
	pthread_join(t, NULL);
	rig_wait_event(&e, RECORDER_STOPPED);
	assert_int_equal(e.order, rig.number);
	assert_int_equal(e.counts.frames + e.counts.let_go, WAITING * 16);
	rig_end();
	rig_assert_nothing_goes_on(&c);
}

static void test_no_room(void **state)
{
	struct recorder_config c = rig_config();
	struct recorder_event e;

	c.min_free_bytes = UINT64_MAX;
	rig_start(&c);
	rig_order("one");
	rig_wait_event(&e, RECORDER_REFUSED);
	assert_int_equal(e.error, -ENOSPC);
	assert_true(e.no_room);
	assert_non_null(strstr(e.trouble, "min_free_mb = 17592186044415 MiB"));
	assert_int_equal(rig_names("one", NULL), 0);
	rig_end();
}

/* Of the path above the recordings. */
static void put_file_for_directory(char *path, size_t size)
{
	FILE *f;

	snprintf(path, size, "%s/a", rig.directory);
	f = fopen(path, "we");
	assert_non_null(f);
	fclose(f);
}

/* Where nothing can be known of the disk it is not called full. */
static void test_room_not_known(void **state)
{
	struct recorder_config c = rig_config();
	struct recorder_event e;
	char path[96];

	put_file_for_directory(path, sizeof(path));
	rig_start(&c);
	rig_order("one");
	rig_wait_event(&e, RECORDER_REFUSED);
	assert_int_equal(e.error, -ENOTDIR);
	assert_false(e.no_room);
	assert_string_equal(e.trouble, "Not a directory");
	rig_end();
}

/* The directory goes away under it: the recording ends, told as the disk's doing. */
static void test_disk_fails(void **state)
{
	struct recorder_config c = rig_config();
	struct recorder_event e;
	char command[200];

	c.place.segment_bytes = 1;
	rig_start(&c);
	rig_order("one");
	rig_wait_event(&e, RECORDER_STARTED);
	rig_wait_wanted(true);
	assert_true(rig_feed(2));
	rig_wait_taken();
	snprintf(command, sizeof(command), "rm -rf %s/one", rig.place);
	assert_int_equal(system(command), 0);
	assert_true(rig_feed(2));
	rig_wait_event(&e, RECORDER_FAILED);
	assert_int_equal(e.error, -ENOENT);
	assert_int_equal(e.counts.frames, 32);
	rig_wait_wanted(false);
	rig_end();
}

/* Killed without a word, and back: it goes on where it was, nothing twice. */
static void test_death(void **state)
{
	struct recorder_config c = rig_config();
	struct recorder_event e;
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		rig_start(&c);
		rig_order("one");
		rig_wait_event(&e, RECORDER_STARTED);
		rig_wait_wanted(true);
		rig_feed(20);
		rig_wait_taken();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	rig.position = 15;
	rig.count = RIG_FIRST + 15 * 16; /* five were not released yet: they come again */
	rig_start(&c);
	rig_wait_event(&e, RECORDER_RESUMED);
	assert_string_equal(e.spec.name, "one");
	assert_true(rig_feed(10));
	rig_wait_taken();
	assert_int_equal(recorder_order_stop(rig.recorder, ++rig.number, "me"), 0);
	rig_wait_event(&e, RECORDER_STOPPED);
	assert_true(e.resumed); /* what was written before is not counted */
	assert_int_equal(let_go_told("one"), 0);
	assert_true(at_least_told("one")); /* nor is what the dead one let go */
	assert_int_equal(e.counts.frames, 80);
	assert_int_equal(e.counts.let_go, 0);
	assert_true(rig_there("one", "link1-00001.fcmr"));
	rig_end();
}

/* Ended in order, too: it is no `record stop`. */
static void test_restart(void **state)
{
	struct recorder_config c = rig_config();
	struct recorder_event e;

	rig_start(&c);
	rig_order("one");
	rig_wait_event(&e, RECORDER_STARTED);
	rig_wait_wanted(true);
	rig_feed(20);
	rig_end(); /* takes what waits */
	rig_start(&c);
	rig_wait_event(&e, RECORDER_RESUMED);
	rig_end();
	assert_true(rig_there("one", "link1-00000.fcmr"));
	assert_false(rig_there("one", "link1-00001.fcmr"));
}

/* Its time was over while there was no daemon: what belongs to it is in the ring. */
static void test_time_over_meanwhile(void **state)
{
	struct record_spec spec = {
		.links = 1u << RIG_LINK, .name = "one", .begun_ns = now_utc_ns()};
	struct recorder_config c = rig_config();
	struct recorder_event e;
	int status;
	pid_t pid;

	spec.until_ns = spec.begun_ns + 500000000;
	pid = fork();
	if (pid == 0) {
		rig_start(&c);
		assert_int_equal(recorder_order_start(rig.recorder, ++rig.number, &spec), 0);
		rig_wait_event(&e, RECORDER_STARTED);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	usleep(600000);
	rig_start(&c);
	rig_wait_event(&e, RECORDER_RESUMED);
	usleep(400000); /* capture is on its way */
	rig.age_ns = 10000000000;
	assert_true(rig_feed(20));
	rig.age_ns = 0;
	assert_true(rig_feed(20)); /* too late to be its */
	rig_wait_event(&e, RECORDER_STOPPED);
	assert_int_equal(e.counts.frames, 320);
	rig_end();
}

/* What was let go is counted through restarts. */
static void test_let_go_is_told(void **state)
{
	struct recorder_config c = rig_config();
	struct recorder_event e;

	rig_start(&c);
	rig_order("one");
	rig_wait_event(&e, RECORDER_STARTED);
	rig_wait_wanted(true);
	rig_feed(20);
	rig.count += 160; /* these are nobody's any more */
	rig_feed(1);
	rig_end();
	assert_int_equal(let_go_told("one"), 160);
	assert_false(at_least_told("one"));
	rig_start(&c);
	rig_wait_event(&e, RECORDER_RESUMED);
	assert_int_equal(let_go_told("one"), -1); /* killed now, nobody knew */
	rig_wait_wanted(true);
	rig.count += 32;
	rig_feed(1);
	rig_wait_taken();
	assert_int_equal(recorder_order_stop(rig.recorder, ++rig.number, "me"), 0);
	rig_wait_event(&e, RECORDER_STOPPED);
	assert_int_equal(e.counts.let_go, 32);
	assert_int_equal(let_go_told("one"), 192);
	assert_false(at_least_told("one"));
	rig_end();
}

/* The disk has no room for a second recording.json. */
static void test_end_without_room(void **state)
{
	struct recorder_config c = rig_config();
	struct recorder_event e;

	rig_start(&c);
	rig_order("one");
	rig_wait_event(&e, RECORDER_STARTED);
	rig_put("one", ".recording.json.new", NULL);
	assert_int_equal(recorder_order_stop(rig.recorder, ++rig.number, "me"), 0);
	rig_wait_event(&e, RECORDER_STOPPED);
	rig_end();
	rig_assert_nothing_goes_on(&c);
}

/* How it ended cannot be written at all, and later it can. */
static void test_end_is_not_forgotten(void **state)
{
	struct recorder_config c = rig_config();
	struct recorder_event e;
	char path[96], away[96];

	rig_start(&c);
	rig_order("one");
	rig_wait_event(&e, RECORDER_STARTED);
	rig_put("one", ".recording.json.new", NULL);
	rig_put("one", "recording.json", NULL);
	assert_int_equal(recorder_order_stop(rig.recorder, ++rig.number, "me"), 0);
	rig_wait_event(&e, RECORDER_FAILED);
	assert_int_equal(e.error, -EISDIR);
	rig_order("two");
	rig_wait_event(&e, RECORDER_REFUSED);
	assert_int_equal(e.error, -EISDIR);
	assert_string_equal(e.spec.name, "one");
	/* A refusal that has another cause is not the old one's. */
	snprintf(path, sizeof(path), "%s/a", rig.directory);
	snprintf(away, sizeof(away), "%s/away", rig.directory);
	assert_int_equal(rename(path, away), 0);
	put_file_for_directory(path, sizeof(path));
	rig_order("two");
	rig_wait_event(&e, RECORDER_REFUSED);
	assert_int_equal(e.error, -ENOTDIR);
	assert_string_equal(e.spec.name, "two");
	assert_int_equal(unlink(path) | rename(away, path), 0);
	rig_take_away("one", ".recording.json.new");
	rig_take_away("one", "recording.json");
	for (unsigned i = 0; i < 5000 && !rig_there("one", "recording.json"); i++) {
		usleep(1000);
	}
	assert_true(rig_there("one", "recording.json")); /* nobody asked */
	rig_order("two");
	rig_wait_event(&e, RECORDER_STARTED);
	assert_int_equal(recorder_order_stop(rig.recorder, ++rig.number, "me"), 0);
	rig_wait_event(&e, RECORDER_STOPPED);
	rig_end();
	rig_assert_nothing_goes_on(&c);
}

static void put_directory(const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", rig.directory, name);
	assert_int_equal(mkdir(path, 0700), 0);
}

/* A pipe in the place of recording.json: nobody writes to it, and nobody waits for that. */
static void test_pipe_for_passport(void **state)
{
	struct recorder_config c = rig_config();
	struct record_dir *r = NULL;
	char path[512];

	put_directory("a");
	put_directory("a/b");
	put_directory("a/b/one");
	snprintf(path, sizeof(path), "%s/one/recording.json", rig.place);
	assert_int_equal(mkfifo(path, 0600), 0);
	alarm(10);
	assert_int_equal(record_dir_resume(&c.place, &r), -ENOENT);
	alarm(0);
}

/* Among the recordings, a link to a directory elsewhere: nothing is read, written or removed there. */
static void test_link_for_recording(void **state)
{
	struct recorder_config c = rig_config();
	struct record_dir *r = NULL;
	char path[512];

	put_directory("a");
	put_directory("a/b");
	put_directory("two");
	snprintf(path, sizeof(path), "%s/night", rig.place);
	assert_int_equal(symlink("../../two", path), 0);
	rig_put("night", "recording.json", "{\"kind\": \"recording\", \"ended\": null}");
	assert_int_equal(record_dir_resume(&c.place, &r), -ENOENT);
	snprintf(path, sizeof(path), "%s/blackbox-1", rig.place);
	assert_int_equal(symlink("../../two", path), 0);
	rig_put("night", "recording.json", "{\"kind\": \"black-box\"}");
	assert_false(record_dir_is_box(rig.place, "blackbox-1"));
	assert_int_equal(record_dir_remove(rig.place, "blackbox-1"), -ENOTDIR);
	assert_true(rig_there("night", "recording.json"));
}

/* Nor is a file elsewhere written through a link that lies where recording.json is prepared. */
static void test_link_for_fresh_passport(void **state)
{
	struct recorder_config c = rig_config();
	struct recorder_event e;
	char path[512];
	struct stat st;

	rig_start(&c);
	rig_order("one");
	rig_wait_event(&e, RECORDER_STARTED);
	put_directory("two");
	snprintf(path, sizeof(path), "%s/one/.recording.json.new", rig.place);
	assert_int_equal(symlink("../../../two/theirs", path), 0);
	assert_int_equal(recorder_order_stop(rig.recorder, ++rig.number, "me"), 0);
	rig_wait_event(&e, RECORDER_STOPPED);
	rig_end();
	snprintf(path, sizeof(path), "%s/two/theirs", rig.directory);
	assert_int_equal(stat(path, &st), -1);
	snprintf(path, sizeof(path), "%s/one/recording.json", rig.place);
	assert_int_equal(lstat(path, &st), 0);
	assert_true(S_ISREG(st.st_mode));
	rig_assert_nothing_goes_on(&c); /* its end has been written all the same */
}

static void test_names(void **state)
{
	assert_true(record_dir_name_ok("noise_floor-2.a"));
	assert_false(record_dir_name_ok(""));
	assert_false(record_dir_name_ok(".."));
	assert_false(record_dir_name_ok("a/b"));
	assert_false(record_dir_name_ok("a b"));
	assert_false(record_dir_name_ok("0123456789012345678901234567890123456789"
					"0123456789012345678901234567890123456789"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(test_start_stop),
		RIG_TEST(test_time_over),
		RIG_TEST(test_stop_when_behind),
		RIG_TEST(test_time_over_when_behind),
		RIG_TEST(test_daemon_ends_behind),
		RIG_TEST(test_no_room),
		RIG_TEST(test_room_not_known),
		RIG_TEST(test_disk_fails),
		RIG_TEST(test_death),
		RIG_TEST(test_restart),
		RIG_TEST(test_time_over_meanwhile),
		RIG_TEST(test_let_go_is_told),
		RIG_TEST(test_end_without_room),
		RIG_TEST(test_end_is_not_forgotten),
		RIG_TEST(test_link_for_recording),
		RIG_TEST(test_link_for_fresh_passport),
		RIG_TEST(test_pipe_for_passport),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests_name("recorder", tests, NULL, NULL);
}
