// SPDX-License-Identifier: GPL-2.0-or-later
/* The files of a recording into an output: in which order, up to where, and what cannot be read. */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/convert/cells.h"

#define PIECE (1u << 20) /* the most that one call of the sink has */

static char directory[32];
static struct input_segment segments[4];
static struct input input;
static struct cells_state state_of;
static struct cells *cells;
static char log_text[1024];
static uint8_t *wanted; /* the bytes that the sink is to get next; NULL: any */
static int sink_fails_with;
static int read_fails_with;
static bool interrupted; /* the next read is */

ssize_t pread(int fd, void *to, size_t length, off_t offset)
{
	if (read_fails_with || interrupted) {
		errno = interrupted ? EINTR : read_fails_with;
		interrupted = false;
		return -1;
	}
	errno = EINTR; /* left from an earlier call */
	return syscall(SYS_pread64, fd, to, length, offset);
}

static int on_cells(struct sink *s, const char *file, const uint8_t *bytes, size_t n, bool last)
{
	size_t at = strlen(log_text);

	snprintf(log_text + at, sizeof(log_text) - at, "%s+%zu%s\n", file, n, last ? " ends" : "");
	if (wanted) {
		assert_memory_equal(bytes, wanted, n);
		wanted += n;
	}
	return sink_fails_with;
}

static const struct sink_ops ops = {.cells = on_cells};
static struct sink sink;

static void file(const char *name, const void *bytes, size_t n)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	f = fopen(path, "we");
	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
}

/* A segment of so many bytes; NULL: its file is not there. */
static void segment(unsigned link, unsigned number, uint32_t run, const void *bytes, size_t n)
{
	struct input_segment *s = &segments[input.n++];

	s->header = (struct fcm_segment_header){.link = (uint8_t)link, .run = run};
	snprintf(s->name, sizeof(s->name), "link%u-%05u.fcmr", link, number);
	assert_true(asprintf(&s->path, "%s/%s", directory, s->name) > 0);
	if (bytes) {
		file(s->name, bytes, n);
	}
}

static void begin_as(bool one_run, uint32_t run)
{
	assert_int_equal(cells_create(&input, &sink, &state_of, one_run, run, &cells), 0);
}

static void begin(void)
{
	begin_as(false, 0);
}

static void got(const char *text)
{
	assert_string_equal(log_text, text);
	log_text[0] = '\0';
}

static int set_up(void **state)
{
	snprintf(directory, sizeof(directory), "/tmp/test_cells.XXXXXX");
	assert_non_null(mkdtemp(directory));
	memset(&state_of, 0, sizeof(state_of));
	input = (struct input){.kind = INPUT_DIRECTORY, .path = directory, .segments = segments};
	sink = (struct sink){.ops = &ops};
	log_text[0] = '\0';
	wanted = NULL;
	sink_fails_with = read_fails_with = 0;
	return 0;
}

static int tear_down(void **state)
{
	static const char *const texts[] = {"recording.json", "registers.txt"};
	char path[128];

	cells_destroy(cells);
	cells = NULL;
	for (size_t i = 0; i < input.n; i++) {
		unlink(segments[i].path);
		free(segments[i].path);
	}
	for (unsigned i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/%s", directory, texts[i]);
		unlink(path);
	}
	return rmdir(directory);
}

static void files_of_a_link_come_one_after_the_other(void **state)
{
	segment(1, 0, 7, "abc", 3);
	segment(1, 1, 7, "defg", 4);
	begin();
	assert_int_equal(cells_copy(cells, 1000), 0);
	got("link1-00000.fcmr+3\nlink1-00000.fcmr+0 ends\n"
	    "link1-00001.fcmr+4\nlink1-00001.fcmr+0 ends\n");
	assert_int_equal(cells_copy(cells, 1000), 0);
	got("");
}

static void a_long_file_comes_in_pieces(void **state)
{
	const size_t n = 2 * PIECE + 5;
	uint8_t *bytes = malloc(n);

	assert_non_null(bytes);
	for (size_t i = 0; i < n; i++) {
		bytes[i] = (uint8_t)(i * 7 + i / PIECE);
	}
	segment(0, 0, 7, bytes, n);
	wanted = bytes;
	begin();
	assert_int_equal(cells_copy(cells, PIECE), 1);
	got("link0-00000.fcmr+1048576\n");
	assert_int_equal(cells_copy(cells, PIECE + 1), 1);
	got("link0-00000.fcmr+1048576\nlink0-00000.fcmr+5\n");
	assert_int_equal(cells_copy(cells, 1), 1);
	got("link0-00000.fcmr+0 ends\n");
	assert_int_equal(cells_copy(cells, 1), 0);
	assert_ptr_equal(wanted, bytes + n);
	free(bytes);
}

static void links_come_in_turn(void **state)
{
	segment(0, 0, 7, "abc", 3);
	segment(3, 0, 7, "d", 1);
	segment(3, 1, 7, "e", 1);
	begin();
	assert_int_equal(cells_copy(cells, 1), 1);
	got("link0-00000.fcmr+3\nlink3-00000.fcmr+1\n");
	assert_int_equal(cells_copy(cells, 1), 1);
	got("link0-00000.fcmr+0 ends\nlink3-00000.fcmr+0 ends\n");
	assert_int_equal(cells_copy(cells, 1), 1);
	got("link3-00001.fcmr+1\n");
}

static void only_segments_of_the_run_are_copied(void **state)
{
	segment(0, 0, 0, "a", 1);
	segment(0, 1, 7, "bc", 2);
	begin_as(true, 7);
	assert_int_equal(cells_copy(cells, 1000), 0);
	got("link0-00001.fcmr+2\nlink0-00001.fcmr+0 ends\n");
	cells_destroy(cells);
	memset(&state_of, 0, sizeof(state_of));
	begin_as(true, 0);
	assert_int_equal(cells_copy(cells, 1000), 0);
	got("link0-00000.fcmr+1\nlink0-00000.fcmr+0 ends\n");
}

static void it_goes_on_where_it_was_interrupted(void **state)
{
	segment(2, 0, 7, "abc", 3);
	segment(2, 1, 7, "defg", 4);
	state_of = (struct cells_state){.texts = 1, .files = {[2] = 1}, .at = {[2] = 3}};
	file("recording.json", "{}", 2);
	wanted = (uint8_t *)(uintptr_t) "g";
	begin();
	assert_int_equal(cells_copy(cells, 1000), 0);
	got("link2-00001.fcmr+1\nlink2-00001.fcmr+0 ends\n");
	assert_int_equal(state_of.files[2], 2);
	assert_int_equal(state_of.at[2], 0);
}

static void texts_come_first_and_once(void **state)
{
	segment(0, 0, 7, "abc", 3);
	file("recording.json", "{}", 2);
	file("registers.txt", "r 1\n", 4);
	begin();
	assert_int_equal(cells_copy(cells, 1), 1);
	got("recording.json+2 ends\nregisters.txt+4 ends\nlink0-00000.fcmr+3\n");
	assert_int_equal(cells_copy(cells, 1), 1);
	got("link0-00000.fcmr+0 ends\n");
}

static void an_empty_text_is_a_file_too(void **state)
{
	file("registers.txt", "", 0);
	begin();
	assert_int_equal(cells_copy(cells, 1), 0);
	got("registers.txt+0 ends\n");
	assert_string_equal(sink.why, "");
}

/* It is a file of its own, whatever lies beside it. */
static void a_segment_by_its_path_has_no_texts(void **state)
{
	file("recording.json", "{}", 2);
	input.kind = INPUT_SEGMENT;
	begin();
	assert_int_equal(cells_copy(cells, 1), 0);
	got("");
}

static void a_symbolic_link_is_no_text_of_the_recording(void **state)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/recording.json", directory);
	assert_int_equal(symlink("/etc/hostname", path), 0);
	begin();
	assert_int_equal(cells_copy(cells, 1), 0);
	got("");
}

/* Nothing is left out silently. */
static void a_text_that_cannot_be_opened_is_named(void **state)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/recording.json", directory);
	assert_int_equal(mknod(path, S_IFSOCK | 0600, 0), 0);
	begin();
	assert_int_equal(cells_copy(cells, 1), -ENXIO);
	assert_non_null(strstr(sink.why, path));
	got("");
}

static void a_file_that_went_away_is_named(void **state)
{
	segment(0, 0, 7, NULL, 0);
	begin();
	assert_int_equal(cells_copy(cells, 1), -ENOENT);
	assert_non_null(strstr(sink.why, "cannot read"));
	assert_non_null(strstr(sink.why, segments[0].path));
}

static void a_disk_that_fails_ends_it(void **state)
{
	segment(0, 0, 7, "abc", 3);
	file("recording.json", "{}", 2);
	begin();
	read_fails_with = EIO;
	assert_int_equal(cells_copy(cells, 1), -EIO);
	assert_non_null(strstr(sink.why, "recording.json"));
	got("");
	sink.why[0] = '\0';
	assert_int_equal(cells_copy(cells, 1), -EIO);
	assert_non_null(strstr(sink.why, "link0-00000.fcmr"));
	got("");
}

static void an_interrupted_read_is_tried_again(void **state)
{
	segment(0, 0, 7, "abc", 3);
	begin();
	interrupted = true;
	assert_int_equal(cells_copy(cells, 1), 1);
	got("link0-00000.fcmr+3\n");
}

static void a_sink_that_fails_ends_it(void **state)
{
	segment(0, 0, 7, "abc", 3);
	segment(1, 0, 7, "abc", 3);
	file("recording.json", "{}", 2);
	begin();
	sink_fails_with = -ENOSPC;
	assert_int_equal(cells_copy(cells, 1000), -ENOSPC);
	got("recording.json+2 ends\n");
	assert_int_equal(cells_copy(cells, 1000), -ENOSPC);
	got("link0-00000.fcmr+3\n");
}

static unsigned descriptors(void)
{
	unsigned n = 0;

	for (int fd = 0; fd < 256; fd++) {
		n += fcntl(fd, F_GETFD) >= 0;
	}
	return n;
}

static void memory_is_given_back(void **state)
{
	size_t memory = 0;

	begin();
	for (unsigned i = 0; i < 30; i++) {
		memory = i == 20 ? mallinfo2().uordblks + mallinfo2().hblkhd : memory;
		cells_destroy(cells);
		begin();
	}
	assert_int_equal(mallinfo2().uordblks + mallinfo2().hblkhd, memory);
}

static void no_file_stays_open(void **state)
{
	const int kept = dup(STDIN_FILENO);
	unsigned before;

	close(STDIN_FILENO); /* a service may have none: 0 is a file like others */
	before = descriptors();
	file("registers.txt", "r 1\n", 4);
	for (unsigned link = 0; link < INPUT_LINKS; link++) {
		segment(link, 0, 7, "abc", 3);
	}
	begin();
	assert_int_equal(cells_copy(cells, 1), 1);
	assert_int_equal(descriptors(), before + INPUT_LINKS);
	assert_int_equal(cells_copy(cells, 1), 1);
	assert_int_equal(descriptors(), before);
	assert_int_equal(cells_copy(cells, 1), 0);
	memset(&state_of, 0, sizeof(state_of));
	assert_int_equal(cells_copy(cells, 1), 1);
	cells_destroy(cells);
	cells = NULL;
	assert_int_equal(descriptors(), before);
	assert_int_equal(dup2(kept, STDIN_FILENO), STDIN_FILENO);
	close(kept);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(files_of_a_link_come_one_after_the_other),
		TEST(a_long_file_comes_in_pieces),
		TEST(links_come_in_turn),
		TEST(only_segments_of_the_run_are_copied),
		TEST(it_goes_on_where_it_was_interrupted),
		TEST(texts_come_first_and_once),
		TEST(an_empty_text_is_a_file_too),
		TEST(a_segment_by_its_path_has_no_texts),
		TEST(a_symbolic_link_is_no_text_of_the_recording),
		TEST(a_text_that_cannot_be_opened_is_named),
		TEST(a_file_that_went_away_is_named),
		TEST(a_disk_that_fails_ends_it),
		TEST(an_interrupted_read_is_tried_again),
		TEST(a_sink_that_fails_ends_it),
		TEST(memory_is_given_back),
		TEST(no_file_stays_open),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
