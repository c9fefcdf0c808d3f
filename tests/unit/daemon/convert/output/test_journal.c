// SPDX-License-Identifier: GPL-2.0-or-later
/* The journal: whatever was overwritten since the last commit comes back, the state with it; damage is noticed. */
#include <errno.h>
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

#include "daemon/convert/output/files.h"
#include "daemon/convert/output/journal.h"
#include "daemon/convert/output/write.h"

#define SIZE (3u << 20) /* larger than what is kept at a time */

static char place[] = "/tmp/fcm-journal.XXXXXX", output[64], journal_path[80];
static uint64_t seed = 42;
static struct {
	uint64_t number;
	char text[16];
} a, b;
static struct journal_part parts[] = {{&a, sizeof(a)}, {&b, 8}};

static unsigned number(unsigned below)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (unsigned)(seed >> 33) % below;
}

static int set_up(void **state)
{
	strcpy(place + strlen(place) - 6, "XXXXXX");
	assert_non_null(mkdtemp(place));
	snprintf(output, sizeof(output), "%s/out", place);
	snprintf(journal_path, sizeof(journal_path), "%s.resume", output);
	return 0;
}

static int tear_down(void **state)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -r %s", place);
	assert_int_equal(system(command), 0);
	return 0;
}

static int open_output(void)
{
	int fd = open(output, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	return fd;
}

static void overwrite(struct journal *j, int fd, unsigned at, unsigned n)
{
	uint8_t *noise = malloc(n);

	memset(noise, (int)number(256), n);
	assert_int_equal(journal_keep(j, fd, at, n), 0);
	assert_int_equal(write_whole(fd, at, noise, n), 0);
	free(noise);
}

static void check(int fd, const uint8_t *wanted, size_t n)
{
	uint8_t *is = malloc(n + 1);
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_size, n);
	assert_int_equal(read_whole(fd, 0, is, n), 0);
	assert_memory_equal(is, wanted, n);
	free(is);
}

static void what_was_overwritten_comes_back(void **state)
{
	uint8_t *committed = malloc(SIZE);
	struct journal *j;
	int fd = open_output();

	for (unsigned i = 0; i < SIZE; i++) {
		committed[i] = (uint8_t)number(256);
	}
	assert_int_equal(write_whole(fd, 0, committed, SIZE), 0);
	assert_int_equal(journal_create(output, &j), 0);
	a.number = 7;
	b.number = 9;
	assert_int_equal(journal_commit(j, parts, 2, SIZE, false), 0);
	for (unsigned round = 0; round < 3; round++) {
		/* Over each other, beyond the mark, a cut. */
		for (unsigned i = 0; i < 20; i++) {
			overwrite(j, fd, number(SIZE), 1 + number(i == 7 ? SIZE : 5000));
		}
		assert_int_equal(journal_keep(j, fd, SIZE / 2, SIZE), 0);
		assert_int_equal(ftruncate(fd, SIZE / 2), 0);
		overwrite(j, fd, SIZE / 3, 10);
		/* The process dies; another one goes on. */
		journal_close(j);
		memset(&a, 0, sizeof(a));
		memset(&b, 0, sizeof(b));
		assert_int_equal(journal_open(output, parts, 2, &j), 0);
		assert_int_equal(a.number, 7);
		assert_int_equal(b.number, 9);
		assert_int_equal(journal_mark(j), SIZE);
		assert_int_equal(journal_roll_back(j, fd), 0);
		check(fd, committed, SIZE);
	}
	journal_close(j);
	close(fd);
	free(committed);
}

static void a_record_cut_off_was_not_followed_by_its_write(void **state)
{
	uint8_t committed[1000], noise = 0xff;
	struct journal *j;
	struct stat st;
	int fd = open_output();

	memset(committed, 5, sizeof(committed));
	assert_int_equal(write_whole(fd, 0, committed, sizeof(committed)), 0);
	assert_int_equal(journal_create(output, &j), 0);
	assert_int_equal(journal_commit(j, parts, 2, sizeof(committed), false), 0);
	overwrite(j, fd, 10, 100);
	assert_int_equal(stat(journal_path, &st), 0);
	assert_int_equal(journal_keep(j, fd, 500, 100), 0);
	journal_close(j);
	for (off_t cut = st.st_size; cut < st.st_size + 20; cut++) {
		assert_int_equal(truncate(journal_path, cut), 0);
		assert_int_equal(journal_open(output, parts, 2, &j), 0);
		assert_int_equal(journal_roll_back(j, fd), 0);
		check(fd, committed, sizeof(committed));
		journal_close(j);
		assert_int_equal(write_whole(fd, 50, &noise, 1), 0); /* that is kept */
	}
	close(fd);
}

static void another_state_is_refused(void **state)
{
	struct journal_part other[] = {{&a, sizeof(a)}, {&b, 16}};
	struct journal *j;
	uint8_t byte;
	int fd;

	assert_int_equal(journal_open(output, parts, 2, &j), -ENOENT);
	assert_int_equal(journal_create(output, &j), 0);
	assert_int_equal(journal_mark(j), 0);
	assert_int_equal(journal_commit(j, parts, 2, 0, true), 0);
	journal_close(j);
	assert_int_equal(journal_open(output, other, 2, &j), -EBADMSG);
	fd = open(journal_path, O_RDWR | O_CLOEXEC);
	for (uint64_t at = 0; at < 400; at += 13) { /* damaged anywhere */
		assert_int_equal(read_whole(fd, at, &byte, 1), 0);
		byte ^= 0x10;
		assert_int_equal(write_whole(fd, at, &byte, 1), 0);
		if (journal_open(output, parts, 2, &j) == 0) {
			fail_msg("damage at %d was not noticed", (int)at);
		}
		byte ^= 0x10;
		assert_int_equal(write_whole(fd, at, &byte, 1), 0);
		if (at + 13 >= sizeof(a)) {
			struct stat st;

			assert_int_equal(fstat(fd, &st), 0);
			if (at + 13 >= (uint64_t)st.st_size) {
				break;
			}
		}
	}
	close(fd);
	assert_int_equal(journal_open(output, parts, 2, &j), 0);
	assert_int_equal(journal_remove(j), 0);
	journal_close(j);
	assert_int_equal(access(journal_path, F_OK), -1);
}

/* ---- files that grow */

static void growing_files_are_cut_to_the_commit(void **state)
{
	static struct files_state kept, now;
	char text[64], prefix[80];
	struct files *f;
	struct stat st;
	int file;

	memset(&now, 0, sizeof(now));
	snprintf(prefix, sizeof(prefix), "%s/x.", place);
	assert_int_equal(files_open(prefix, &now, false, false, &f), 0);
	file = files_find(f, "one", 16);
	assert_int_equal(file, 0);
	assert_int_equal(files_put(f, file, "abcdef", 6), 0);
	assert_int_equal(files_commit(f, true), 0);
	kept = now;
	assert_int_equal(files_put(f, file, "ghi", 3), 0);
	assert_int_equal(files_put(f, files_find(f, "two", 0), "x", 1), 0);
	assert_int_equal(files_commit(f, false), 0);
	files_close(f);

	now = kept;
	assert_int_equal(files_open(prefix, &now, true, false, &f), 0);
	assert_int_equal(files_find(f, "two", 0), 1); /* made again */
	assert_int_equal(files_put(f, files_find(f, "one", 16), "XYZ", 3), 0);
	assert_int_equal(files_put_head(f, 0, "head", 4), 0);
	assert_int_equal(files_commit(f, false), 0);
	files_close(f);
	snprintf(text, sizeof(text), "%s/x.one", place);
	assert_int_equal(stat(text, &st), 0);
	assert_int_equal(st.st_size, 16 + 9);
	file = open(text, O_RDONLY | O_CLOEXEC);
	assert_int_equal(read_whole(file, 0, text, 25), 0);
	close(file);
	assert_memory_equal(text, "head\0\0\0\0\0\0\0\0\0\0\0\0abcdefXYZ", 25);

	/* Without leave nothing is written over. */
	memset(&now, 0, sizeof(now));
	assert_int_equal(files_open(prefix, &now, false, false, &f), 0);
	assert_int_equal(files_find(f, "one", 0), -EEXIST);
	assert_true(strlen(files_failed(f)) > 0);
	files_close(f);
}

static void more_files_than_descriptors(void **state)
{
	static struct files_state now;
	char name[16], prefix[80];
	struct files *f;

	memset(&now, 0, sizeof(now));
	snprintf(prefix, sizeof(prefix), "%s/y.", place);
	assert_int_equal(files_open(prefix, &now, false, false, &f), 0);
	for (unsigned round = 0; round < 2; round++) {
		for (unsigned i = 0; i < 200; i++) {
			snprintf(name, sizeof(name), "%u", i);
			assert_int_equal(files_put(f, files_find(f, name, 0), name, 3), 0);
		}
	}
	assert_int_equal(files_commit(f, true), 0);
	for (unsigned i = 0; i < 200; i++) {
		struct stat st;

		assert_int_equal(stat(files_path(f, (int)i), &st), 0);
		assert_int_equal(st.st_size, 6);
	}
	for (unsigned i = 200; i < FILES_MAX; i++) {
		snprintf(name, sizeof(name), "%u", i);
		assert_int_equal(files_find(f, name, 0), i);
	}
	assert_int_equal(files_find(f, "one more", 0), -E2BIG);
	files_close(f);
	files_close(NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_was_overwritten_comes_back),
		TEST(a_record_cut_off_was_not_followed_by_its_write),
		TEST(another_state_is_refused),
		TEST(growing_files_are_cut_to_the_commit),
		TEST(more_files_than_descriptors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
