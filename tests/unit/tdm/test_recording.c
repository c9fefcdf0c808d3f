// SPDX-License-Identifier: GPL-2.0-or-later
/* Recordings as files: which they are, read completely from a file system that returns pieces and while they are being
 * written; times by their labels. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
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
#include <time.h>
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

static int grows_fd = -1; /* a file whose writer goes on while its reader waits */
static const uint8_t *grows_by;
static size_t grows_each, grows_left; /* bytes a wait; and in all */
static unsigned waits;

int nanosleep(const struct timespec *wait, struct timespec *left)
{
	const size_t n = grows_left < grows_each ? grows_left : grows_each;

	waits++;
	if (n > 0) {
		assert_int_equal(write(grows_fd, grows_by, n), n);
		grows_by += n;
		grows_left -= n;
	}
	return 0;
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
	write_file("link0-00003.fcmr", "", 0);
	write_file("link0-00001.fcmr", "", 0);
	write_file("bytes", "0123456789", 10);
	return 0;
}

static int tear_down(void **state)
{
	static const char *const names[] = {"link1-00007.fcmr", "link4-00007.other",
					    "link0-00002.fcmr", "link0-00003.fcmr",
					    "link0-00001.fcmr", "bytes"};

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
	assert_int_equal(r.count, 4);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(r.segments[i].link, 0);
		assert_int_equal(r.segments[i].number, i + 1);
	}
	assert_int_equal(r.segments[3].link, 1);
	recording_fini(&r);
}

static void a_name_is_a_segments_only_as_it_is_written(void **state)
{
	static const char *const others[] = {
		"link4-00000.fcmr",  "link1-0000.fcmr",	  "link1-000001.fcmr", "link1-+0001.fcmr",
		"link 1-00001.fcmr", "link1-00001.fcmr~", "link1-00001",       "link1-x.fcmr",
		"Link1-00001.fcmr",  "link11-00001.fcmr"};
	uint32_t number = 99;
	unsigned link = 99;

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		if (recording_name_parse(others[i], &link, &number) != -ENOENT) {
			fail_msg("%s", others[i]);
		}
	}
	assert_int_equal(link, 99);
	assert_int_equal(number, 99);
	assert_int_equal(recording_name_parse("link3-00013.fcmr", &link, &number), 0);
	assert_int_equal(link, 3);
	assert_int_equal(number, 13);
	assert_int_equal(recording_name_parse("link0-123456789.fcmr", &link, &number), 0);
	assert_int_equal(link, 0);
	assert_int_equal(number, 123456789);
}

static void a_directory_without_segments_has_no_data(void **state)
{
	struct recording r = {.count = 99};

	assert_int_equal(mkdir(in_directory("empty"), 0700), 0);
	assert_int_equal(recording_init(&r, in_directory("empty")), -ENODATA);
	assert_int_equal(recording_init(&r, in_directory("nowhere")), -ENOENT);
	assert_int_equal(r.count, 99); /* untouched */
	assert_int_equal(rmdir(in_directory("empty")), 0);
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

/* A recording is a directory right below the place; the place itself may be a symbolic link. */
static void no_name_leads_out_of_the_place(void **state)
{
	static const char *const names[] = {".", "..", "../x", "sub/", "/tmp"};
	struct recording r;
	int fd;

	assert_int_equal(mkdir(in_directory("sub"), 0700), 0);
	assert_int_equal(symlink("sub", in_directory("other")), 0);
	assert_int_equal(symlink(directory, in_directory("here")), 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		assert_int_equal(recording_enter(directory, names[i]), -ENOENT);
	}
	assert_int_equal(recording_enter(directory, "other"), -ENOTDIR);
	assert_int_equal(recording_enter(directory, "bytes"), -ENOTDIR);
	assert_int_equal(recording_enter(directory, "nowhere"), -ENOENT);
	fd = recording_enter(in_directory("here"), "sub");
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(recording_init_in(&r, directory, "other"), -ENOTDIR);
	assert_int_equal(recording_init_in(&r, directory, "sub"), -ENODATA);
	unlink(in_directory("other"));
	unlink(in_directory("here"));
	rmdir(in_directory("sub"));
}

/* Else "ab" would become "a", which is another recording. */
static void a_path_too_long_is_refused_and_not_cut(void **state)
{
	char place[PATH_MAX];
	const size_t n = strlen(directory);

	assert_int_equal(mkdir(in_directory("a"), 0700), 0);
	memset(place, '/', sizeof(place));
	memcpy(place, directory, n);
	place[PATH_MAX - strlen("/ab")] = '\0';
	assert_int_equal(recording_enter(place, "ab"), -ENAMETOOLONG);
	rmdir(in_directory("a"));
}

static void a_recording_is_found_by_its_name(void **state)
{
	struct recording_file f;
	struct recording r;

	assert_int_equal(recording_init_in(&r, "/tmp", directory + strlen("/tmp/")), 0);
	assert_int_equal(r.count, 4);
	assert_string_equal(r.segments[3].path, in_directory("link1-00007.fcmr"));
	assert_int_equal(recording_open_segment(&f, &r, &r.segments[3]), 0);
	assert_int_equal(f.walk.segment.segment, 7);
	recording_close(&f);
	recording_fini(&r);
	assert_int_equal(recording_init(&r, in_directory("link1-00007.fcmr")), 0);
	assert_int_equal(recording_open_segment(&f, &r, &r.segments[0]), 0);
	recording_close(&f);
	recording_fini(&r);
}

static void a_segment_that_became_a_symbolic_link_is_not_opened(void **state)
{
	const char *name = "link0-00001.fcmr";
	struct recording_file f;
	struct recording r;

	assert_int_equal(recording_init(&r, directory), 0);
	unlink(in_directory(name));
	assert_int_equal(symlink("link1-00007.fcmr", in_directory(name)), 0);
	assert_int_equal(recording_open_segment(&f, &r, &r.segments[0]), -ELOOP);
	recording_fini(&r);
	unlink(in_directory(name));
	write_file(name, "", 0);
}

static void a_text_is_read_up_to_the_room_for_it(void **state)
{
	char text[16] = "untouched";
	int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_int_equal(recording_read_text(fd, "nowhere", text, sizeof(text)), -ENOENT);
	fails_with = EIO;
	assert_int_equal(recording_read_text(fd, "bytes", text, sizeof(text)), -EIO);
	fails_with = 0;
	assert_string_equal(text, "untouched");
	assert_int_equal(recording_read_text(fd, "bytes", text, sizeof(text)), 10);
	assert_string_equal(text, "0123456789");
	assert_int_equal(recording_read_text(fd, "link0-00001.fcmr", text, sizeof(text)), 0);
	assert_string_equal(text, "");
	memset(text, 'x', sizeof(text));
	assert_int_equal(recording_read_text(fd, "bytes", text, 5), 4);
	assert_memory_equal(text, "0123\0xx", 7);
	close(fd);
}

/* A service that was started without standard input gets it. */
static void descriptor_0_is_one_like_others(void **state)
{
	const int kept = dup(STDIN_FILENO);
	struct recording_file f;
	struct recording r;
	char text[16];

	close(STDIN_FILENO);
	assert_int_equal(recording_init(&r, directory), 0);
	assert_int_equal(dirfd(r.directory), STDIN_FILENO);
	recording_fini(&r);
	assert_int_equal(recording_init_in(&r, "/tmp", directory + strlen("/tmp/")), 0);
	assert_int_equal(dirfd(r.directory), STDIN_FILENO);
	recording_fini(&r);
	assert_int_equal(recording_open(&f, in_directory("link1-00007.fcmr")), 0);
	assert_int_equal(f.fd, STDIN_FILENO);
	recording_close(&f);
	assert_int_equal(recording_read_text(AT_FDCWD, in_directory("bytes"), text, sizeof(text)),
			 10);
	assert_int_equal(dup2(kept, STDIN_FILENO), STDIN_FILENO);
	close(kept);
}

/* The file "grows" has the first of these bytes; the others come as its reader waits. */
static void grow(const void *bytes, size_t now, size_t each, size_t left)
{
	write_file("grows", bytes, now);
	grows_fd = open(in_directory("grows"), O_WRONLY | O_APPEND | O_CLOEXEC);
	grows_by = (const uint8_t *)bytes + now;
	grows_each = each;
	grows_left = left;
	waits = 0;
}

static void grown(void)
{
	close(grows_fd);
	grows_left = 0;
	unlink(in_directory("grows"));
}

struct small {
	struct fcm_segment_header segment;
	struct fcm_record_header record;
	uint8_t data[304];
};

/* A segment with one record of an unknown kind: it may have any bytes. */
static struct small small(void)
{
	struct small s = {.segment = {.frame_bytes = TDM_FRAME_BYTES, .data_bytes_max = 304},
			  .record = {.kind = 200, .bytes = sizeof(s.data)}};

	tdm_segment_seal(&s.segment);
	memset(s.data, 'x', sizeof(s.data));
	tdm_record_seal(&s.record, s.data);
	return s;
}

static void a_reader_waits_for_a_writer(void **state)
{
	const struct small s = small();
	struct fcm_record_header h;
	struct recording_file f;

	grow(&s, 100, 20, sizeof(s.segment) - 100);
	assert_int_equal(recording_open(&f, in_directory("grows")), 0);
	assert_int_equal(waits, 2);
	assert_int_equal(recording_next(&f, &h), 0);
	assert_int_equal(f.walk.end, RECORD_OPEN); /* at the end of a record nothing is due */
	assert_int_equal(waits, 2);
	grows_by = (const uint8_t *)&s.record;
	assert_int_equal(write(grows_fd, grows_by, 20), 20);
	grows_by += 20;
	grows_each = 100;
	grows_left = sizeof(s) - sizeof(s.segment) - 20;
	assert_int_equal(recording_next(&f, &h), 1);
	assert_int_equal(h.bytes, sizeof(s.data));
	assert_memory_equal(f.data, s.data, sizeof(s.data));
	assert_int_equal(waits, 6);
	recording_close(&f);
	grown();
}

/* Its writer was killed, or goes on without an end: the record is cut. */
static void a_reader_does_not_wait_for_ever(void **state)
{
	static uint8_t much[1 << 16];
	struct small s = small();
	struct fcm_record_header h;
	struct recording_file f;

	grow(&s, sizeof(s) - 1, 0, 0);
	assert_int_equal(recording_open(&f, in_directory("grows")), 0);
	assert_int_equal(recording_next(&f, &h), 0);
	assert_int_equal(f.walk.end, RECORD_CUT);
	assert_int_equal(waits, 1);
	assert_int_equal(futimens(f.fd, (struct timespec[2]){{1}, {1}}), 0); /* long ago */
	assert_int_equal(recording_next(&f, &h), 0);
	assert_int_equal(waits, 1);
	recording_close(&f);
	grown();
	grow(&s, 100, 0, 0);
	assert_int_equal(recording_open(&f, in_directory("grows")), -ENODATA);
	assert_int_equal(waits, 1);
	grown();
	s.segment.data_bytes_max = sizeof(much);
	s.record.bytes = sizeof(much);
	tdm_segment_seal(&s.segment);
	tdm_record_seal(&s.record, much);
	grow(&s, sizeof(s), 1, 1000);
	grows_by = much;
	assert_int_equal(recording_open(&f, in_directory("grows")), 0);
	assert_int_equal(recording_next(&f, &h), 0);
	assert_int_equal(f.walk.end, RECORD_CUT);
	assert_in_range(waits, 10, 200);
	recording_close(&f);
	grown();
}

/* A record that its writer takes back makes place for another. */
static void what_looks_damaged_is_looked_at_again(void **state)
{
	struct small s = small();
	struct fcm_record_header h;
	struct recording_file f;

	s.data[0]++;
	grow(&s, sizeof(s), 1, 1);
	grows_by = s.data;
	assert_int_equal(recording_open(&f, in_directory("grows")), 0);
	assert_int_equal(recording_next(&f, &h), 0);
	assert_int_equal(f.walk.end, RECORD_DAMAGED);
	assert_int_equal(waits, 2);
	recording_close(&f);
	grown();
}

static void nothing_stays_open_or_allocated(void **state)
{
	struct rlimit was, few = {.rlim_cur = 32};
	char text[16];
	size_t memory = 0;

	assert_int_equal(mkdir(in_directory("empty"), 0700), 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
	few.rlim_max = was.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	for (unsigned i = 0; i < 60; i++) {
		struct recording_file f;
		struct recording r;

		memory = i == 20 ? mallinfo2().uordblks : memory;
		assert_int_equal(recording_init(&r, directory), 0);
		recording_fini(&r);
		assert_int_equal(recording_init(&r, in_directory("link1-00007.fcmr")), 0);
		recording_fini(&r);
		assert_true(recording_init(&r, in_directory("bytes")) < 0);
		assert_true(recording_init(&r, in_directory("link4-00007.other")) < 0);
		assert_true(recording_init(&r, in_directory("empty")) < 0);
		assert_true(recording_open(&f, directory) < 0);
		assert_true(recording_read_text(AT_FDCWD, in_directory("bytes"), text,
						sizeof(text)) > 0);
	}
	assert_int_equal(mallinfo2().uordblks, memory);
	assert_int_equal(rmdir(in_directory("empty")), 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
}

/* By counts of 125 us from the label's; and only within what can be reckoned with. */
static void a_count_has_a_time_by_its_label(void **state)
{
	const int64_t s = 1000000000, limit = INT64_MAX / 4;
	const uint64_t reach = 1ull << 45;
	struct fcm_record_label label = {.anchor_count = 80000, .anchor_tai_ns = 1795194047 * s};
	int64_t tai = 5;

	assert_true(recording_tai_ns(&label, 80008, &tai));
	assert_int_equal(tai, label.anchor_tai_ns + 1000000);
	assert_true(recording_tai_ns(&label, 0, &tai));
	assert_int_equal(tai, label.anchor_tai_ns - 10 * s);
	assert_true(recording_tai_ns(&label, 80001, &tai));
	assert_int_equal(tai, label.anchor_tai_ns + 125000);
	assert_false(recording_tai_ns(&label, reach, &tai));
	assert_int_equal(tai, label.anchor_tai_ns + 125000); /* untouched */
	label.anchor_count = reach;
	assert_false(recording_tai_ns(&label, 80000, &tai));
	label.anchor_count = reach - 1;
	label.anchor_tai_ns = limit;
	assert_true(recording_tai_ns(&label, reach - 1, &tai));
	assert_int_equal(tai, limit);
	label.anchor_count = 0;
	assert_false(recording_tai_ns(&label, 1, &tai));
	assert_int_equal(tai, limit); /* untouched, here too */
	label.anchor_tai_ns = limit + 1;
	assert_false(recording_tai_ns(&label, 0, &tai));
	label = (struct fcm_record_label){.anchor_count = 8, .anchor_tai_ns = 0};
	assert_true(recording_tai_ns(&label, 8, &tai));
	assert_int_equal(tai, 0);
	assert_false(recording_tai_ns(&label, 7, &tai));
	label.anchor_tai_ns = -1;
	assert_false(recording_tai_ns(&label, 80000, &tai));
	label.anchor_tai_ns = INT64_MIN; /* it has no time */
	assert_false(recording_tai_ns(&label, 8, &tai));
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
		cmocka_unit_test(a_name_is_a_segments_only_as_it_is_written),
		cmocka_unit_test(a_directory_without_segments_has_no_data),
		cmocka_unit_test(one_segment_is_a_recording),
		cmocka_unit_test(only_regular_files_are_segments),
		cmocka_unit_test(no_name_leads_out_of_the_place),
		cmocka_unit_test(a_path_too_long_is_refused_and_not_cut),
		cmocka_unit_test(a_recording_is_found_by_its_name),
		cmocka_unit_test(a_segment_that_became_a_symbolic_link_is_not_opened),
		cmocka_unit_test(a_text_is_read_up_to_the_room_for_it),
		cmocka_unit_test(descriptor_0_is_one_like_others),
		cmocka_unit_test(a_reader_waits_for_a_writer),
		cmocka_unit_test(a_reader_does_not_wait_for_ever),
		cmocka_unit_test(what_looks_damaged_is_looked_at_again),
		cmocka_unit_test(nothing_stays_open_or_allocated),
		cmocka_unit_test(a_count_has_a_time_by_its_label),
		cmocka_unit_test(the_leap_second_begins_and_ends_at_its_border),
	};

	return cmocka_run_group_tests_name("recording", tests, set_up, tear_down);
}
