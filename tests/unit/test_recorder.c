/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The recorder's thread on a tap that the test feeds: recordings that go on after a death, black boxes. */
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/now.h"
#include "daemon/recorder.h"
#include "tdm/frame.h"

#define FIRST 80000u
#define LINK  1u

static char directory[64], place[96];
static struct tap T;
static struct recorder *R;
static uint32_t number; /* of the last order */
static uint8_t cells[16 * TDM_FRAME_BYTES];
static uint64_t position, count, age_ns; /* what is offered was taken so long ago */
static struct label label = {.time_epoch = 1};

static struct recorder_config config(void)
{
	return (struct recorder_config){
		.place = {.directory = place, .segment_bytes = 1 << 30},
		.links = 1u << LINK,
		.blackbox_s = 1,
		.blackbox_keep = 2,
	};
}

static void start(const struct recorder_config *c)
{
	assert_int_equal(tap_init(&T, 1024), 0);
	tap_begin(&T, LINK, 5, 7, 1, position);
	assert_int_equal(recorder_start(c, &T, &R), 0);
}

static void end(void)
{
	recorder_finish(R, 5000);
	recorder_destroy(R);
	tap_fini(&T);
}

static int set_up(void **state)
{
	(void)state;
	snprintf(directory, sizeof(directory), "/tmp/test_recorder.XXXXXX");
	assert_non_null(mkdtemp(directory));
	snprintf(place, sizeof(place), "%s/a/b", directory); /* made when needed */
	age_ns = 0;
	position = 0;
	count = FIRST;
	return 0;
}

static int tear_down(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", directory);
	return system(command);
}

/* As capture does, each millisecond: `n` completions of `frames` cells, data or gap. True while it is
 * wanted. */
static bool offer(unsigned n, uint32_t frames, uint32_t bytes)
{
	uint64_t at, now_ns = now_mono_ns();

	if (!tap_feeding(&T, LINK, position, now_ns, &at)) {
		return false;
	}
	for (unsigned i = 0; i < n; i++, position++, count += frames) {
		struct nanet3_event e = {.dma_epoch = 5,
					 .frame_count = count,
					 .frames = frames,
					 .length = bytes,
					 .reason = (uint8_t)(bytes ? 0 : NANET3_GAP_LINK_DOWN),
					 .time_ns = now_ns - age_ns};

		tap_offer(&T, LINK, position, &e, cells, bytes, &label, 0, now_ns);
	}
	return true;
}

static bool feed(unsigned n)
{
	return offer(n, 16, sizeof(cells));
}

static bool feed_gap(void)
{
	return offer(1, 1000, 0);
}

static void wait_event(struct recorder_event *e, enum recorder_event_type type)
{
	for (unsigned i = 0; i < 5000; i++) {
		if (recorder_next_event(R, e)) {
			assert_int_equal(e->type, type);
			return;
		}
		usleep(1000);
	}
	fail_msg("no event %d", type);
}

static void wait_wanted(bool wanted)
{
	for (unsigned i = 0; i < 5000 && atomic_load(&T.link[LINK].wanted) != wanted; i++) {
		usleep(1000);
	}
	assert_int_equal(atomic_load(&T.link[LINK].wanted), wanted);
}

/* All that was offered is taken. */
static void wait_taken(void)
{
	for (unsigned i = 0; i < 5000 && atomic_load(&T.link[LINK].done) < tap_ticket(1, position);
	     i++) {
		usleep(1000);
	}
	assert_true(atomic_load(&T.link[LINK].done) >= tap_ticket(1, position));
}

static void order(const char *name)
{
	struct record_spec spec = {.links = 1u << LINK, .begun_ns = now_utc_ns()};

	snprintf(spec.name, sizeof(spec.name), "%s", name);
	assert_int_equal(recorder_order_start(R, ++number, &spec), 0);
}

static bool there(const char *name, const char *file)
{
	char path[512];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s/%s", place, name, file);
	return stat(path, &st) == 0;
}

static json_t *passport(const char *name)
{
	char path[512];
	json_t *j;

	snprintf(path, sizeof(path), "%s/%s/recording.json", place, name);
	j = json_load_file(path, 0, NULL);
	assert_non_null(j);
	return j;
}

/* Cells, by recording.json; -1: it does not say. */
static long long let_go_told(const char *name)
{
	json_t *j = passport(name), *n = json_object_get(j, "let_go_frames");
	long long told = n ? json_integer_value(n) : -1;

	json_decref(j);
	return told;
}

static bool at_least_told(const char *name)
{
	json_t *j = passport(name);
	bool told = json_is_true(json_object_get(j, "let_go_at_least"));

	json_decref(j);
	return told;
}

/* Names that begin so; the last one. */
static unsigned names(const char *prefix, char *last)
{
	DIR *d = opendir(place);
	struct dirent *e;
	unsigned n = 0;

	while (d && (e = readdir(d))) {
		if (strncmp(e->d_name, prefix, strlen(prefix)) == 0) {
			n++;
			if (last) {
				snprintf(last, 256, "%s", e->d_name);
			}
		}
	}
	if (d) {
		closedir(d);
	}
	return n;
}

/* DIRECTORY/NAME/FILE, a text or a directory: whoever wants to write a file of that name then fails. */
static void put(const char *name, const char *file, const char *text)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", place, name);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/%s/%s", place, name, file);
	if (!text) {
		unlink(path);
		assert_int_equal(mkdir(path, 0700), 0);
		return;
	}
	f = fopen(path, "we");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void take_away(const char *name, const char *file)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s/%s", place, name, file);
	assert_int_equal(rmdir(path), 0);
}

/* ---- recordings ---- */

static void test_start_stop(void **state)
{
	struct recorder_config c = config();
	struct recorder_event e;

	(void)state;
	start(&c);
	wait_wanted(false); /* it held the links until it knew that nothing goes on */
	assert_int_equal(recorder_order_stop(R, ++number, "me"), 0);
	wait_event(&e, RECORDER_REFUSED);
	assert_int_equal(e.error, -EBUSY);
	order("one");
	wait_event(&e, RECORDER_STARTED);
	order("two");
	wait_event(&e, RECORDER_REFUSED);
	assert_int_equal(e.error, -EALREADY);
	assert_int_equal(e.order, number);
	wait_wanted(true);
	assert_true(feed(20));
	wait_taken();
	assert_int_equal(recorder_order_stop(R, ++number, "me"), 0);
	wait_event(&e, RECORDER_STOPPED);
	assert_int_equal(e.order, number);
	assert_false(e.resumed);
	assert_int_equal(e.counts.frames, 320);
	assert_int_equal(e.counts.let_go, 0);
	assert_true(there("one", "link1-00000.fcmr"));
	order("one");
	wait_event(&e, RECORDER_REFUSED);
	assert_int_equal(e.error, -EEXIST);
	end();
}

static void test_time_over(void **state)
{
	struct record_spec spec = {.links = 1u << LINK, .name = "short"};
	struct recorder_config c = config();
	struct recorder_event e;

	(void)state;
	start(&c);
	spec.begun_ns = now_utc_ns();
	spec.until_ns = spec.begun_ns + 1;
	assert_int_equal(recorder_order_start(R, ++number, &spec), 0);
	wait_event(&e, RECORDER_STARTED);
	assert_int_equal(e.order, number);
	wait_event(&e, RECORDER_STOPPED);
	assert_int_equal(e.order, 0); /* nobody asked: it is nobody's answer */
	end();
}

/* Of the end of a recording nothing is missing that is not named, however far behind the recorder is: it stands
 * still as long as somebody has the lease, with more in its queue than it takes between two looks at
 * its orders. */
#define WAITING 300u

static void stand_still(const char *name, int64_t until_ns)
{
	struct record_spec spec = {.links = 1u << LINK, .begun_ns = now_utc_ns()};
	struct recorder_event e;

	spec.until_ns = until_ns;
	snprintf(spec.name, sizeof(spec.name), "%s", name);
	assert_int_equal(recorder_order_start(R, ++number, &spec), 0);
	wait_event(&e, RECORDER_STARTED);
	wait_wanted(true);
	pthread_mutex_lock(&T.link[LINK].lease);
	assert_true(feed(WAITING));
}

static void go_on(void)
{
	pthread_mutex_unlock(&T.link[LINK].lease);
}

static void test_stop_when_behind(void **state)
{
	struct recorder_config c = config();
	struct recorder_event e;

	(void)state;
	start(&c);
	stand_still("one", 0);
	assert_int_equal(recorder_order_stop(R, ++number, "me"), 0);
	assert_true(feed(20)); /* too late to be its */
	go_on();
	wait_event(&e, RECORDER_STOPPED);
	assert_int_equal(e.order, number);
	assert_int_equal(e.counts.frames, WAITING * 16);
	assert_int_equal(e.counts.let_go, 0);
	/* The same when capture has not waited for it. */
	wait_wanted(false);
	assert_false(feed(1));
	stand_still("two", 0);
	assert_int_equal(recorder_order_stop(R, ++number, "me"), 0);
	assert_int_equal(recorder_order_stop(R, ++number, "me too"), 0);
	tap_release(&T, LINK, position, WAITING, 1024, now_mono_ns() + 2 * TAP_BEHIND_NS);
	go_on();
	wait_event(&e, RECORDER_REFUSED);
	assert_int_equal(e.error, -EBUSY);
	wait_event(&e, RECORDER_STOPPED);
	assert_int_equal(e.order, number - 1);
	assert_int_equal(e.counts.frames, 0);
	assert_int_equal(e.counts.let_go, WAITING * 16);
	end();
}

static void test_time_over_when_behind(void **state)
{
	int64_t until_ns = now_utc_ns() + 1000000000;
	struct recorder_config c = config();
	struct recorder_event e;
	bool in_time;

	(void)state;
	start(&c);
	stand_still("one", until_ns);
	in_time = now_utc_ns() < until_ns;
	usleep(1300000);
	assert_true(feed(20)); /* too late to be its */
	go_on();
	wait_event(&e, RECORDER_STOPPED);
	assert_int_equal(e.order, 0);
	if (in_time) { /* else the host was too slow to prove it */
		assert_int_equal(e.counts.frames, WAITING * 16);
	}
	end();
}

static void *finish_now(void *context)
{
	(void)context;
	recorder_finish(R, 0);
	return NULL;
}

static void assert_nothing_goes_on(const struct recorder_config *c);

/* Stopped, and then the daemon ends and has no time for what is left: it is named, and it stays stopped. */
static void test_daemon_ends_behind(void **state)
{
	struct recorder_config c = config();
	struct recorder_event e;
	pthread_t t;

	(void)state;
	start(&c);
	stand_still("one", 0);
	assert_int_equal(recorder_order_stop(R, ++number, "me"), 0);
	/* Whoever has locked it unlocks it: the end is another's matter here. */
	assert_int_equal(pthread_create(&t, NULL, finish_now, NULL), 0);
	usleep(50000);
	go_on();
	pthread_join(t, NULL);
	wait_event(&e, RECORDER_STOPPED);
	assert_int_equal(e.order, number);
	assert_int_equal(e.counts.frames + e.counts.let_go, WAITING * 16);
	end();
	assert_nothing_goes_on(&c);
}

static void test_no_room(void **state)
{
	struct recorder_config c = config();
	struct recorder_event e;

	(void)state;
	c.min_free_bytes = UINT64_MAX;
	start(&c);
	order("one");
	wait_event(&e, RECORDER_REFUSED);
	assert_int_equal(e.error, -ENOSPC);
	assert_true(e.no_room);
	assert_non_null(strstr(e.trouble, "min_free_mb = 17592186044415 MiB"));
	assert_int_equal(names("one", NULL), 0);
	end();
}

/* Of the path above the recordings. */
static void put_file_for_directory(char *path, size_t size)
{
	FILE *f;

	snprintf(path, size, "%s/a", directory);
	f = fopen(path, "we");
	assert_non_null(f);
	fclose(f);
}

/* Where nothing can be known of the disk it is not called full. */
static void test_room_not_known(void **state)
{
	struct recorder_config c = config();
	struct recorder_event e;
	char path[96];

	(void)state;
	put_file_for_directory(path, sizeof(path));
	start(&c);
	order("one");
	wait_event(&e, RECORDER_REFUSED);
	assert_int_equal(e.error, -ENOTDIR);
	assert_false(e.no_room);
	assert_string_equal(e.trouble, "Not a directory");
	end();
}

/* The directory goes away under it: the recording ends, told as the disk's doing. */
static void test_disk_fails(void **state)
{
	struct recorder_config c = config();
	struct recorder_event e;
	char command[200];

	(void)state;
	c.place.segment_bytes = 1;
	start(&c);
	order("one");
	wait_event(&e, RECORDER_STARTED);
	wait_wanted(true);
	assert_true(feed(2));
	wait_taken();
	snprintf(command, sizeof(command), "rm -rf %s/one", place);
	assert_int_equal(system(command), 0);
	assert_true(feed(2));
	wait_event(&e, RECORDER_FAILED);
	assert_int_equal(e.error, -ENOENT);
	assert_int_equal(e.counts.frames, 32);
	wait_wanted(false);
	end();
}

/* Killed without a word, and back: it goes on where it was, nothing twice. */
static void test_death(void **state)
{
	struct recorder_config c = config();
	struct recorder_event e;
	int status;
	pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		start(&c);
		order("one");
		wait_event(&e, RECORDER_STARTED);
		wait_wanted(true);
		feed(20);
		wait_taken();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	position = 15;
	count = FIRST + 15 * 16; /* five were not released yet: they come again */
	start(&c);
	wait_event(&e, RECORDER_RESUMED);
	assert_string_equal(e.spec.name, "one");
	assert_true(feed(10));
	wait_taken();
	assert_int_equal(recorder_order_stop(R, ++number, "me"), 0);
	wait_event(&e, RECORDER_STOPPED);
	assert_true(e.resumed); /* what was written before is not counted */
	assert_int_equal(let_go_told("one"), 0);
	assert_true(at_least_told("one")); /* nor is what the dead one let go */
	assert_int_equal(e.counts.frames, 80);
	assert_int_equal(e.counts.let_go, 0);
	assert_true(there("one", "link1-00001.fcmr"));
	end();
}

/* Ended in order, too: it is no `record stop`. */
static void test_restart(void **state)
{
	struct recorder_config c = config();
	struct recorder_event e;

	(void)state;
	start(&c);
	order("one");
	wait_event(&e, RECORDER_STARTED);
	wait_wanted(true);
	feed(20);
	end(); /* takes what waits */
	start(&c);
	wait_event(&e, RECORDER_RESUMED);
	end();
	assert_true(there("one", "link1-00000.fcmr"));
	assert_false(there("one", "link1-00001.fcmr"));
}

/* Its time was over while there was no daemon: what belongs to it is in the ring. */
static void test_time_over_meanwhile(void **state)
{
	struct record_spec spec = {.links = 1u << LINK, .name = "one", .begun_ns = now_utc_ns()};
	struct recorder_config c = config();
	struct recorder_event e;
	int status;
	pid_t pid;

	(void)state;
	spec.until_ns = spec.begun_ns + 500000000;
	pid = fork();
	if (pid == 0) {
		start(&c);
		assert_int_equal(recorder_order_start(R, ++number, &spec), 0);
		wait_event(&e, RECORDER_STARTED);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	usleep(600000);
	start(&c);
	wait_event(&e, RECORDER_RESUMED);
	usleep(400000); /* capture is on its way */
	age_ns = 10000000000;
	assert_true(feed(20));
	age_ns = 0;
	assert_true(feed(20)); /* too late to be its */
	wait_event(&e, RECORDER_STOPPED);
	assert_int_equal(e.counts.frames, 320);
	end();
}

/* What was let go is counted through restarts. */
static void test_let_go_is_told(void **state)
{
	struct recorder_config c = config();
	struct recorder_event e;

	(void)state;
	start(&c);
	order("one");
	wait_event(&e, RECORDER_STARTED);
	wait_wanted(true);
	feed(20);
	count += 160; /* these are nobody's any more */
	feed(1);
	end();
	assert_int_equal(let_go_told("one"), 160);
	assert_false(at_least_told("one"));
	start(&c);
	wait_event(&e, RECORDER_RESUMED);
	assert_int_equal(let_go_told("one"), -1); /* killed now, nobody knew */
	wait_wanted(true);
	count += 32;
	feed(1);
	wait_taken();
	assert_int_equal(recorder_order_stop(R, ++number, "me"), 0);
	wait_event(&e, RECORDER_STOPPED);
	assert_int_equal(e.counts.let_go, 32);
	assert_int_equal(let_go_told("one"), 192);
	assert_false(at_least_told("one"));
	end();
}

/* A daemon that starts finds nothing that goes on. */
static void assert_nothing_goes_on(const struct recorder_config *c)
{
	struct recorder_event e;

	start(c);
	assert_int_equal(recorder_order_stop(R, ++number, "me"), 0);
	wait_event(&e, RECORDER_REFUSED);
	assert_int_equal(e.error, -EBUSY);
	end();
}

/* The disk has no room for a second recording.json. */
static void test_end_without_room(void **state)
{
	struct recorder_config c = config();
	struct recorder_event e;

	(void)state;
	start(&c);
	order("one");
	wait_event(&e, RECORDER_STARTED);
	put("one", ".recording.json.new", NULL);
	assert_int_equal(recorder_order_stop(R, ++number, "me"), 0);
	wait_event(&e, RECORDER_STOPPED);
	end();
	assert_nothing_goes_on(&c);
}

/* How it ended cannot be written at all, and later it can. */
static void test_end_is_not_forgotten(void **state)
{
	struct recorder_config c = config();
	struct recorder_event e;
	char path[96], away[96];

	(void)state;
	start(&c);
	order("one");
	wait_event(&e, RECORDER_STARTED);
	put("one", ".recording.json.new", NULL);
	put("one", "recording.json", NULL);
	assert_int_equal(recorder_order_stop(R, ++number, "me"), 0);
	wait_event(&e, RECORDER_FAILED);
	assert_int_equal(e.error, -EISDIR);
	order("two");
	wait_event(&e, RECORDER_REFUSED);
	assert_int_equal(e.error, -EISDIR);
	assert_string_equal(e.spec.name, "one");
	/* A refusal that has another cause is not the old one's. */
	snprintf(path, sizeof(path), "%s/a", directory);
	snprintf(away, sizeof(away), "%s/away", directory);
	assert_int_equal(rename(path, away), 0);
	put_file_for_directory(path, sizeof(path));
	order("two");
	wait_event(&e, RECORDER_REFUSED);
	assert_int_equal(e.error, -ENOTDIR);
	assert_string_equal(e.spec.name, "two");
	assert_int_equal(unlink(path) | rename(away, path), 0);
	take_away("one", ".recording.json.new");
	take_away("one", "recording.json");
	for (unsigned i = 0; i < 5000 && !there("one", "recording.json"); i++) {
		usleep(1000);
	}
	assert_true(there("one", "recording.json")); /* nobody asked */
	order("two");
	wait_event(&e, RECORDER_STARTED);
	assert_int_equal(recorder_order_stop(R, ++number, "me"), 0);
	wait_event(&e, RECORDER_STOPPED);
	end();
	assert_nothing_goes_on(&c);
}

/* ---- black boxes ---- */

static void freeze(const char *code)
{
	struct record_spec alarm = {.alarm_ns = now_utc_ns()};

	snprintf(alarm.alarm, sizeof(alarm.alarm), "%s", code);
	snprintf(alarm.alarm_text, sizeof(alarm.alarm_text), "no light");
	assert_int_equal(recorder_order_freeze(R, LINK, &alarm, "board.status = 1\n"), 0);
}

static void wait_armed(bool armed)
{
	for (unsigned i = 0; i < 5000 && atomic_load(&T.link[LINK].armed) != armed; i++) {
		usleep(1000);
	}
	assert_int_equal(atomic_load(&T.link[LINK].armed), armed);
}

/* A loss begins: what the ring holds and a second more; then the alarm comes, and it is kept. */
static void test_box(void **state)
{
	struct recorder_config c = config();
	struct recorder_event e;
	char name[256];

	(void)state;
	start(&c);
	wait_armed(true);
	tap_suspect(&T, LINK, FIRST, now_mono_ns());
	assert_true(feed(10));
	wait_wanted(true);
	while (feed_gap() && position < 600) {
		wait_taken();
	}
	assert_int_equal(names(".box-", NULL), 1);
	assert_int_equal(names("blackbox-", NULL), 0);
	freeze("link-dark");
	wait_event(&e, RECORDER_BLACK_BOX);
	assert_int_equal(e.link, LINK);
	assert_true(e.counts.frames == 160 && e.counts.gaps >= 7000 && e.counts.gaps < 10000);
	assert_int_equal(names(".box-", NULL), 0);
	assert_int_equal(names("blackbox-", name), 1);
	assert_non_null(strstr(name, "-link1-link-dark"));
	assert_true(there(name, "registers.txt"));
	assert_true(there(name, "link1-00000.fcmr"));
	wait_armed(false); /* not again at once */
	end();
}

/* The disk refuses when all but its end is written: nothing is kept that looks as if it went on. */
static void test_box_half_kept(void **state)
{
	struct recorder_config c = config();
	struct recorder_status s = {0};

	(void)state;
	start(&c);
	wait_wanted(false);
	freeze("link-dark");
	wait_wanted(true);
	put(".box-link1", ".recording.json.new", NULL);
	put(".box-link1", "recording.json", NULL);
	while (feed_gap()) {
		wait_taken();
	}
	for (unsigned i = 0; i < 5000 && s.box_failed == 0; i++) {
		usleep(1000);
		recorder_get_status(R, &s);
	}
	assert_int_equal(s.box_failed, 1);
	assert_int_equal(names("blackbox-", NULL), 0);
	end();
	assert_nothing_goes_on(&c);
}

/* What has a black box's name, or is one, does not go on, whatever it says of its end. */
static void test_box_is_no_recording(void **state)
{
	struct recorder_config c = config();
	struct recorder_event e;

	(void)state;
	start(&c);
	order("one");
	wait_event(&e, RECORDER_STARTED);
	end();
	put("blackbox-a", "recording.json",
	    "{\"kind\": \"recording\", \"begun\": 4000000000, \"ended\": null}");
	put("a", "recording.json",
	    "{\"kind\": \"black-box\", \"begun\": 4000000000, \"ended\": null}");
	start(&c);
	wait_event(&e, RECORDER_RESUMED);
	assert_string_equal(e.spec.name, "one");
	end();
}

/* An alarm without a loss: from what the ring holds. The oldest boxes make room, and there are limits. */
static void test_boxes_are_few(void **state)
{
	struct recorder_config c = config();
	struct recorder_status s;
	struct recorder_event e;
	char code[32];

	(void)state;
	start(&c);
	wait_wanted(false);
	for (unsigned n = 0; n < BOX_HOURLY; n++) {
		snprintf(code, sizeof(code), "phase-jump%u", n);
		freeze(code);
		wait_wanted(true);
		while (feed_gap()) {
			wait_taken();
			if (recorder_next_event(R, &e)) {
				assert_int_equal(e.type, RECORDER_BLACK_BOX);
				break;
			}
		}
		wait_wanted(false);
		/* Somebody's, who has found such a name; and another that knows nothing of itself. */
		put("blackbox-0", "recording.json", "{\"kind\": \"recording\"}");
		put("blackbox-1", "note", "");
	}
	assert_true(there("blackbox-0", "recording.json") && there("blackbox-1", "note"));
	assert_int_equal(names("blackbox-2", NULL), 2);
	freeze("one-more");
	for (unsigned i = 0; i < 5000; i++) {
		recorder_get_status(R, &s);
		if (s.box_refused) {
			break;
		}
		usleep(1000);
	}
	assert_int_equal(s.box_refused, 1);
	assert_int_equal(s.boxes, BOX_HOURLY);
	end();
}

/* What a predecessor left half done goes; the recorder without black boxes arms nobody. */
static void test_box_left_behind(void **state)
{
	struct recorder_config c = config();
	int status;
	pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		start(&c);
		wait_armed(true);
		tap_suspect(&T, LINK, FIRST, now_mono_ns());
		feed(10);
		wait_wanted(true);
		_exit(names(".box-", NULL) != 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	c.blackbox_s = 0;
	start(&c);
	wait_wanted(false);
	assert_int_equal(names(".box-", NULL), 0);
	wait_armed(false);
	end();
}

static void test_names(void **state)
{
	(void)state;
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
#define ON_DISK(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		ON_DISK(test_start_stop),
		ON_DISK(test_time_over),
		ON_DISK(test_stop_when_behind),
		ON_DISK(test_time_over_when_behind),
		ON_DISK(test_daemon_ends_behind),
		ON_DISK(test_no_room),
		ON_DISK(test_room_not_known),
		ON_DISK(test_disk_fails),
		ON_DISK(test_death),
		ON_DISK(test_restart),
		ON_DISK(test_time_over_meanwhile),
		ON_DISK(test_let_go_is_told),
		ON_DISK(test_end_without_room),
		ON_DISK(test_end_is_not_forgotten),
		ON_DISK(test_box),
		ON_DISK(test_box_half_kept),
		ON_DISK(test_box_is_no_recording),
		ON_DISK(test_boxes_are_few),
		ON_DISK(test_box_left_behind),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests_name("recorder", tests, NULL, NULL);
}
