// SPDX-License-Identifier: GPL-2.0-or-later
/* Recordings as files: read completely from a file system that returns pieces; no file stays
 * open. */
#include <errno.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "tdm/frame.h"
#include "tdm/recording.h"

static char directory[] = "/tmp/test_recording.XXXXXX";
static size_t piece;   /* most bytes that one read returns */
static unsigned turn;  /* every third read is interrupted */
static int fails_with; /* errno of every read */

/* The file system that is read from. */
ssize_t pread(int fd, void *to, size_t length, off_t offset)
{
	if (fails_with || (piece && turn++ % 3 == 1)) {
		errno = fails_with ? fails_with : EINTR;
		return -1;
	}
	errno = EINTR; /* left from an earlier call */
	return syscall(SYS_pread64, fd, to, piece && length > piece ? piece : length, offset);
}

static const char *in_directory(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	return path;
}

static void write_file(const char *name, const void *bytes, size_t length)
{
	FILE *f = fopen(in_directory(name), "w");

	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, length, f), length);
	fclose(f);
}

static void write_segment(const char *name, uint8_t link)
{
	struct fcm_segment_header h = {.link = link, .segment = 7, .frame_bytes = TDM_FRAME_BYTES};

	tdm_segment_seal(&h);
	write_file(name, &h, sizeof(h));
}

static int set_up(void **state)
{
	assert_non_null(mkdtemp(directory));
	write_segment("link1-00007.fcmr", 1);
	write_segment("link4-00007.other", RECORDING_LINKS);
	write_file("link0-00002.fcmr", "", 0);
	write_file("link0-00001.fcmr", "", 0);
	write_file("bytes", "0123456789", 10);
	return 0;
}

static int tear_down(void **state)
{
	static const char *const names[] = {"link1-00007.fcmr", "link4-00007.other",
					    "link0-00002.fcmr", "link0-00001.fcmr", "bytes"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		unlink(in_directory(names[i]));
	}
	rmdir(directory);
	return 0;
}

static void pieces_make_the_whole(void **state)
{
	FILE *f = fopen(in_directory("bytes"), "r");
	void *fd = (void *)(intptr_t)fileno(f);
	char text[16];

	for (piece = 1; piece < 12; piece++) {
		memset(text, 'x', sizeof(text));
		assert_int_equal(recording_read(fd, 1, text + 2, 8), 8);
		assert_memory_equal(text, "xx12345678xxxxxx", 16);
		assert_int_equal(recording_read(fd, 7, text, 8), 3); /* its end */
		assert_int_equal(recording_read(fd, 20, text, 8), 0);
		assert_int_equal(recording_read(fd, 1ull << 63, text, 8), 0);
	}
	piece = 0;
	fails_with = EIO;
	assert_int_equal(recording_read(fd, 0, text, 8), -EIO);
	fails_with = 0;
	fclose(f);
}

static void segments_are_in_order(void **state)
{
	struct recording r;

	assert_int_equal(recording_init(&r, directory), 0);
	assert_int_equal(r.count, 3);
	assert_int_equal(r.segments[0].number, 1);
	assert_int_equal(r.segments[1].number, 2);
	assert_int_equal(r.segments[2].link, 1);
	recording_fini(&r);
}

/* A segment opened by path belongs to the link named in its header, if that link exists. */
static void one_segment_is_a_recording(void **state)
{
	struct recording r;

	assert_int_equal(recording_init(&r, in_directory("link1-00007.fcmr")), 0);
	assert_int_equal(r.count, 1);
	assert_int_equal(r.segments[0].link, 1);
	assert_int_equal(r.segments[0].number, 7);
	recording_fini(&r);
	assert_int_equal(recording_init(&r, in_directory("link4-00007.other")), -EBADMSG);
}

/* A pipe instead of a segment is refused and does not block the reader. */
static void only_regular_files_are_segments(void **state)
{
	struct recording_file f;

	assert_int_equal(mkfifo(in_directory("pipe"), 0600), 0);
	assert_int_equal(recording_open(&f, in_directory("pipe")), -EBADMSG);
	unlink(in_directory("pipe"));
	assert_int_equal(recording_open(&f, directory), -EISDIR);
}

static void nothing_stays_open_or_allocated(void **state)
{
	struct rlimit was, few = {.rlim_cur = 32};
	size_t memory = 0;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
	few.rlim_max = was.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	for (unsigned i = 0; i < 60; i++) {
		struct recording r;

		memory = i == 20 ? mallinfo2().uordblks : memory;
		assert_int_equal(recording_init(&r, directory), 0);
		recording_fini(&r);
		assert_int_equal(recording_init(&r, in_directory("link1-00007.fcmr")), 0);
		recording_fini(&r);
		assert_true(recording_init(&r, in_directory("bytes")) < 0);
	}
	assert_int_equal(mallinfo2().uordblks, memory);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
}

/* 2016-12-31: TAI - UTC 36 s, then 37 s. The leap second is its day's second 86400: UTC stands still in it. */
static void the_leap_second_begins_and_ends_at_its_border(void **state)
{
	const int64_t s = 1000000000, leap_tai = 1483228836 * s;
	const struct fcm_record_label label = {.tai_utc_s = 36, .leap_tai_ns = leap_tai};
	const struct fcm_record_label none = {.tai_utc_s = 36};
	bool leap = true;

	assert_int_equal(recording_utc_ns(&label, leap_tai - 1, &leap), 1483228800 * s - 1);
	assert_false(leap);
	assert_int_equal(recording_utc_ns(&label, leap_tai, &leap), 1483228800 * s);
	assert_true(leap);
	assert_int_equal(recording_utc_ns(&label, leap_tai + s - 1, &leap), 1483228801 * s - 1);
	assert_true(leap);
	assert_int_equal(recording_utc_ns(&label, leap_tai + s, &leap), 1483228800 * s);
	assert_false(leap);
	assert_int_equal(recording_utc_ns(&none, leap_tai, &leap), 1483228800 * s);
	assert_false(leap);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pieces_make_the_whole),
		cmocka_unit_test(segments_are_in_order),
		cmocka_unit_test(one_segment_is_a_recording),
		cmocka_unit_test(only_regular_files_are_segments),
		cmocka_unit_test(nothing_stays_open_or_allocated),
		cmocka_unit_test(the_leap_second_begins_and_ends_at_its_border),
	};

	return cmocka_run_group_tests_name("recording", tests, set_up, tear_down);
}
