/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Segments on a real directory: series, holes, ends, what is taken back, a disk that is full. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/record/segment.h"
#include "tdm/frame.h"
#include "tdm/le.h"
#include "tdm/recording.h"

#define FIRST 80000u

static char directory[64];
static int dir_fd;
static uint8_t cells[16 * TDM_FRAME_BYTES];
static struct segment_state state_1 = {.label = {.time_epoch = 1, .anchor_tai_ns = 5},
				       .run = 9,
				       .serial = 7,
				       .boot_count = 1,
				       .emulated = true};

static const struct segment_maker maker = {
	.block_frames = 16,
	.day_origin = HIT_DAY_FROM_1,
	.floors[2] = {.cable_delay_ns = 490000, .tower = 1, .floor = 3},
};

static int set_up(void **state)
{
	snprintf(directory, sizeof(directory), "/tmp/test_segment.XXXXXX");
	assert_non_null(mkdtemp(directory));
	dir_fd = open(directory, O_RDONLY | O_DIRECTORY);
	return dir_fd < 0;
}

static int tear_down(void **state)
{
	struct dirent *e;
	DIR *d = fdopendir(dir_fd);

	rewinddir(d);
	while ((e = readdir(d))) {
		unlinkat(dirfd(d), e->d_name, 0);
	}
	closedir(d);
	return rmdir(directory);
}

static struct segment *create(uint64_t bytes)
{
	struct segment_config c = {.directory = dir_fd, .link = 2, .maker = maker, .bytes = bytes};
	struct segment *s = NULL;

	assert_int_equal(segment_create(&c, &s), 0);
	segment_set_state(s, &state_1);
	return s;
}

static void fill(uint64_t count, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		memset(cells + i * TDM_FRAME_BYTES, (int)((count + i) % 251), TDM_FRAME_BYTES);
	}
}

static int put(struct segment *s, uint32_t epoch, uint64_t count, unsigned n)
{
	struct fcm_record_header h = {
		.kind = FCM_RECORD_DATA, .count = count, .frames = n, .bytes = n * TDM_FRAME_BYTES};
	int r = segment_turn(s, epoch, count, 1);

	fill(count, n);
	tdm_record_seal(&h, cells);
	return r ? r : segment_data(s, &h, cells);
}

/* ---- reading ---- */

/* A segment as a text: "L80000 D80000+16 G80016+4/1 I", and how it ends. Data are checked. */
static enum record_end show(unsigned number, char *text, size_t size,
			    struct fcm_segment_header *ret_header)
{
	static const char letters[] = "?DGHLI";
	static uint8_t data[FCM_RECORD_BYTES_MAX];
	struct fcm_record_header h;
	uint64_t offsets[64], offset;
	struct record_walk w;
	size_t used = 0, n = 0;
	char name[32];
	int fd;

	snprintf(name, sizeof(name), "link2-%05u.fcmr", number);
	fd = openat(dir_fd, name, O_RDONLY);
	assert_true(fd >= 0);
	assert_int_equal(tdm_walk_begin(&w, recording_read, (void *)(intptr_t)fd), 0);
	*text = '\0';
	for (offset = w.offset; tdm_walk_next(&w, &h, data) > 0; offset = w.offset) {
		if (h.kind != FCM_RECORD_LABEL) {
			assert_true(n < 64);
			offsets[n++] = offset;
		}
		if (h.kind == FCM_RECORD_INDEX) {
			assert_int_equal(h.bytes, n * 8);
			for (size_t i = 0; i < n; i++) {
				assert_int_equal(le64_get(data + i * 8), offsets[i]);
			}
		}
		used += (size_t)snprintf(text + used, size - used, "%s%c", used ? " " : "",
					 letters[h.kind]);
		if (h.kind == FCM_RECORD_LABEL) {
			used += (size_t)snprintf(text + used, size - used, "%d",
						 (int)(h.count - FIRST));
			continue;
		}
		used += (size_t)snprintf(text + used, size - used, "%d+%d", (int)(h.count - FIRST),
					 (int)h.frames);
		for (uint64_t i = 0; h.kind == FCM_RECORD_DATA && i < h.frames; i++) {
			assert_int_equal(data[i * TDM_FRAME_BYTES], (h.count + i) % 251);
		}
	}
	close(fd);
	*ret_header = w.segment;
	return w.end;
}

static void assert_segment(unsigned number, const char *text, enum record_end end)
{
	struct fcm_segment_header h;
	char got[1000];

	assert_int_equal(show(number, got, sizeof(got), &h), end);
	assert_string_equal(got, text);
	assert_int_equal(h.segment, number);
	assert_int_equal(h.link, 2);
	assert_int_equal(h.floor, 3);
	assert_int_equal(h.block_frames, 16);
	assert_int_equal(h.day_origin, 1);
	assert_int_equal(h.emulated, 1);
	assert_int_equal(h.floors[2].cable_delay_ns, 490000);
}

static unsigned files(void)
{
	struct dirent *e;
	unsigned n = 0, link;
	uint32_t number;
	DIR *d = opendir(directory);

	while ((e = readdir(d))) {
		n += recording_name_parse(e->d_name, &link, &number) == 0;
	}
	closedir(d);
	return n;
}

/* ---- the tests ---- */

static void test_series(void **state)
{
	struct segment *s = create(400000);
	struct segment_counts c;

	assert_int_equal(files(), 0); /* nothing before there is something */
	assert_int_equal(put(s, 5, FIRST, 16), 0);
	assert_int_equal(segment_turn(s, 5, FIRST + 16, 1), 0);
	assert_int_equal(segment_gap(s, FCM_RECORD_GAP, 1, FIRST + 16, 40, 1), 0);
	assert_int_equal(segment_gap(s, FCM_RECORD_GAP, 1, FIRST + 56, 40, 1), 0);
	assert_int_equal(segment_gap(s, FCM_RECORD_GAP, 3, FIRST + 96, 4, 1), 0);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(put(s, 5, FIRST + 100 + i * 16, 16), 0);
	}
	assert_int_equal(put(s, 6, FIRST + 500, 2), 0);
	assert_int_equal(segment_end(s), 0);
	segment_get_counts(s, &c);
	segment_destroy(s);
	assert_segment(0, "L0 D0+16 G16+80 G96+4 D100+16 D116+16 I0+132", RECORD_WHOLE);
	assert_segment(1, "L132 D132+16 I132+16", RECORD_WHOLE);
	assert_segment(2, "L500 D500+2 I500+2", RECORD_WHOLE);
	assert_int_equal(files(), 3);
	assert_int_equal(c.frames, 66);
	assert_int_equal(c.gaps, 84);
	assert_int_equal(c.segments, 3);
}

static void test_holes(void **state)
{
	struct segment *s = create(1 << 30);
	struct segment_counts c;

	assert_int_equal(put(s, 5, FIRST, 4), 0);
	assert_int_equal(put(s, 5, FIRST + 10, 4), 0);	  /* nobody has told of six cells */
	assert_int_equal(put(s, 5, FIRST + 8000, 4), 0);  /* counts that never were */
	assert_int_equal(put(s, 5, FIRST + 24000, 4), 0); /* too many for a PPS */
	assert_int_equal(segment_end(s), 0);
	segment_get_counts(s, &c);
	segment_destroy(s);
	assert_segment(0, "L0 D0+4 H4+6 D10+4 D8000+4 H8004+15996 D24000+4 I0+16018", RECORD_WHOLE);
	assert_int_equal(c.let_go, 16002);
}

static void test_new_label(void **state)
{
	struct segment *s = create(1 << 30);
	struct segment_state next = state_1;

	assert_int_equal(put(s, 5, FIRST, 4), 0);
	next.label.time_epoch = 2;
	segment_set_state(s, &next);
	assert_int_equal(put(s, 5, FIRST + 4, 4), 0);
	next.label.leap_tai_ns = 1; /* in the same time epoch */
	segment_set_state(s, &next);
	assert_int_equal(put(s, 5, FIRST + 8, 4), 0);
	segment_set_state(s, &next); /* no news */
	assert_int_equal(put(s, 5, FIRST + 12, 4), 0);
	assert_int_equal(segment_end(s), 0);
	segment_destroy(s);
	assert_segment(0, "L0 D0+4 L4 D4+4 L8 D8+4 D12+4 I0+16", RECORD_WHOLE);
}

static void test_new_run(void **state)
{
	struct segment *s = create(1 << 30);
	struct segment_state next = state_1;
	struct fcm_segment_header h;
	char text[100];

	assert_int_equal(put(s, 5, FIRST, 4), 0);
	next.run = 10;
	segment_set_state(s, &next);
	assert_int_equal(put(s, 5, FIRST + 4, 4), 0);
	assert_int_equal(segment_end(s), 0);
	segment_destroy(s);
	assert_int_equal(show(0, text, sizeof(text), &h), RECORD_WHOLE);
	assert_string_equal(text, "L0 D0+4 I0+4");
	assert_int_equal(h.run, 9);
	assert_int_equal(show(1, text, sizeof(text), &h), RECORD_WHOLE);
	assert_string_equal(text, "L4 D4+4 I4+4");
	assert_int_equal(h.run, 10);
}

/* What turned out to be nobody's while it was written. */
static void test_undo(void **state)
{
	struct segment *s = create(1 << 30);
	struct segment_counts c;

	assert_int_equal(put(s, 5, FIRST, 4), 0);
	assert_int_equal(put(s, 5, FIRST + 4, 16), 0);
	segment_undo(s);
	assert_segment(0, "L0 D0+4", RECORD_OPEN);
	assert_int_equal(segment_gap(s, FCM_RECORD_LET_GO, 0, FIRST + 4, 16, 1), 0);
	assert_int_equal(put(s, 5, FIRST + 20, 1), 0);
	assert_int_equal(segment_end(s), 0);
	segment_get_counts(s, &c);
	segment_destroy(s);
	assert_segment(0, "L0 D0+4 H4+16 D20+1 I0+21", RECORD_WHOLE);
	assert_int_equal(c.frames, 5);
	assert_int_equal(c.let_go, 16);
}

/* Killed, and taken up again: numbers go on, cells do not repeat. */
static void test_resumed(void **state)
{
	struct segment *s = create(1 << 30);
	struct segment_state booted = state_1;
	char path[128];
	int fd;

	assert_int_equal(put(s, 5, FIRST, 16), 0);
	assert_int_equal(put(s, 5, FIRST + 16, 16), 0);
	segment_destroy(s);
	snprintf(path, sizeof(path), "%s/link2-00000.fcmr", directory);
	assert_int_equal(truncate(path, 200000), 0); /* in the middle of the second record */
	s = create(1 << 30);
	assert_int_equal(segment_next(s), FIRST + 16);
	assert_int_equal(put(s, 5, FIRST + 16, 4), 0);
	segment_destroy(s);
	assert_segment(0, "L0 D0+16", RECORD_CUT);
	assert_segment(1, "L16 D16+4", RECORD_OPEN);

	/* The bytes of the last record are others than its checksum is of: as if it had not been. */
	snprintf(path, sizeof(path), "%s/link2-00001.fcmr", directory);
	fd = open(path, O_WRONLY);
	assert_int_equal(pwrite(fd, "!", 1, 30000), 1);
	close(fd);
	s = create(1 << 30);
	assert_int_equal(segment_next(s), FIRST + 16);
	assert_int_equal(put(s, 5, FIRST + 16, 4), 0);
	segment_destroy(s);
	assert_segment(1, "L16", RECORD_DAMAGED);
	assert_segment(2, "L16 D16+4", RECORD_OPEN);

	/* Another boot of the board counts anew. */
	s = create(1 << 30);
	assert_int_equal(segment_next(s), FIRST + 20);
	booted.boot_count = 2;
	segment_set_state(s, &booted);
	assert_int_equal(segment_next(s), 0);
	assert_int_equal(put(s, 1, FIRST, 4), 0);
	assert_int_equal(segment_end(s), 0);
	segment_destroy(s);
	assert_segment(3, "L0 D0+4 I0+4", RECORD_WHOLE);

	/* A segment that was cut in its header hides nothing. */
	snprintf(path, sizeof(path), "%s/link2-00004.fcmr", directory);
	assert_int_equal(close(open(path, O_CREAT | O_WRONLY, 0600)), 0);
	s = create(1 << 30);
	segment_set_state(s, &booted);
	assert_int_equal(segment_next(s), FIRST + 4);
	assert_int_equal(put(s, 1, FIRST + 4, 1), 0);
	segment_destroy(s);
	assert_segment(5, "L4 D4+1", RECORD_OPEN);
}

/* After a kill the hole between the last cell written and the first there is is told. */
static void test_resumed_with_hole(void **state)
{
	struct segment *s = create(1 << 30);

	assert_int_equal(put(s, 5, FIRST, 16), 0);
	segment_destroy(s);
	s = create(1 << 30);
	assert_int_equal(put(s, 5, FIRST + 50, 4), 0);
	segment_destroy(s);
	assert_segment(1, "L16 H16+34 D50+4", RECORD_OPEN);
}

static void limit_files(rlim_t bytes)
{
	struct rlimit l;

	getrlimit(RLIMIT_FSIZE, &l);
	l.rlim_cur = bytes;
	setrlimit(RLIMIT_FSIZE, &l);
}

/* No room in the middle of a record: an error, and the file is good up to the one before. */
/* Gaps that follow each other are a record each: the index has room for those of a whole turn. */
static void test_many_records(void **state)
{
	static uint8_t data[FCM_RECORD_BYTES_MAX];
	struct segment *s = create(1ull << 40);
	uint64_t count = FIRST, records = 0;
	struct fcm_record_header h;
	struct record_walk w;
	struct stat st;
	int fd;

	while (fstatat(dir_fd, "link2-00001.fcmr", &st, 0) < 0) {
		assert_int_equal(segment_turn(s, 1, count + 1, 1), 0); /* one was let go */
		for (unsigned i = 0; i < 4; i++) {
			uint8_t reason = (uint8_t)(1 + i % 2);

			count++;
			assert_int_equal(segment_gap(s, FCM_RECORD_GAP, reason, count, 1, 1), 0);
		}
		count++;
		records += 5;
		assert_in_range(records, 1, 70000);
	}
	assert_int_equal(segment_end(s), 0);
	segment_destroy(s);
	fd = openat(dir_fd, "link2-00000.fcmr", O_RDONLY);
	assert_int_equal(tdm_walk_begin(&w, recording_read, (void *)(intptr_t)fd), 0);
	for (records = 0; tdm_walk_next(&w, &h, data) > 0;) {
		records += h.kind != FCM_RECORD_LABEL && h.kind != FCM_RECORD_INDEX;
	}
	assert_in_range(records, 65536 - 16, 65536);
	close(fd);
}

static void test_full_disk(void **state)
{
	struct segment *s = create(1 << 30);

	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(put(s, 5, FIRST, 16), 0);
	limit_files(200000);
	assert_int_equal(put(s, 5, FIRST + 16, 16), -EFBIG);
	assert_segment(0, "L0 D0+16", RECORD_OPEN);
	limit_files(160300); /* not even for an index */
	assert_int_equal(segment_end(s), -EFBIG);
	limit_files(RLIM_INFINITY);
	segment_destroy(s);
	assert_segment(0, "L0 D0+16", RECORD_OPEN);
}

static void test_ticks(void **state)
{
	struct segment *s = create(1 << 30);

	assert_int_equal(segment_tick(s), 0);
	assert_int_equal(put(s, 5, FIRST, 1), 0);
	assert_int_equal(segment_gap(s, FCM_RECORD_GAP, 1, FIRST + 1, 40, 1), 0);
	assert_int_equal(segment_tick(s), 0); /* a gap does not wait for its end */
	assert_segment(0, "L0 D0+1 G1+40", RECORD_OPEN);
	segment_destroy(s);
}

/* A pipe lies in the place of a segment: the series goes on behind its number, and nobody waits for it. */
static void test_pipe_for_segment(void **state)
{
	struct segment *s;

	assert_int_equal(mkfifoat(dir_fd, "link2-00000.fcmr", 0600), 0);
	alarm(10);
	s = create(1 << 30);
	alarm(0);
	assert_int_equal(put(s, 5, FIRST, 16), 0);
	segment_destroy(s);
	assert_segment(1, "L0 D0+16", RECORD_OPEN);
}

static void test_names(void **state)
{
	unsigned link = 9;
	uint32_t number = 9;

	assert_int_equal(recording_name_parse("link3-00042.fcmr", &link, &number), 0);
	assert_int_equal(link, 3);
	assert_int_equal(number, 42);
	assert_int_equal(recording_name_parse("link4-00000.fcmr", &link, &number), -ENOENT);
	assert_int_equal(recording_name_parse("link0-00000.fcmr.gz", &link, &number), -ENOENT);
	assert_int_equal(recording_name_parse("link0-00000", &link, &number), -ENOENT);
	assert_int_equal(recording_name_parse("recording.json", &link, &number), -ENOENT);
	/* Nearly: a number that is none, or not the one that the writer would write. */
	assert_int_equal(recording_name_parse("link2--1.fcmr", &link, &number), -ENOENT);
	assert_int_equal(recording_name_parse("link2-   -1.fcmr", &link, &number), -ENOENT);
	assert_int_equal(recording_name_parse("link2-+0001.fcmr", &link, &number), -ENOENT);
	assert_int_equal(recording_name_parse("link2- 0001.fcmr", &link, &number), -ENOENT);
	assert_int_equal(recording_name_parse("link 2-00001.fcmr", &link, &number), -ENOENT);
	assert_int_equal(recording_name_parse("link2-1.fcmr", &link, &number), -ENOENT);
	assert_int_equal(number, 42); /* untouched */
	assert_int_equal(recording_name_parse("link2-100000.fcmr", &link, &number), 0);
	assert_int_equal(number, 100000);
}

int main(void)
{
#define ON_DISK(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		ON_DISK(test_series),
		ON_DISK(test_holes),
		ON_DISK(test_new_label),
		ON_DISK(test_new_run),
		ON_DISK(test_undo),
		ON_DISK(test_resumed),
		ON_DISK(test_resumed_with_hole),
		ON_DISK(test_many_records),
		ON_DISK(test_full_disk),
		ON_DISK(test_ticks),
		ON_DISK(test_pipe_for_segment),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests_name("segments", tests, NULL, NULL);
}
