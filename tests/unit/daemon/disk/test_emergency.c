/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The emergency journal on a real file and a real database: its rows survive a kill, reach the database once
 * however often they are brought, and are bounded.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "daemon/disk/emergency.h"
#include "tests/unit/rig/store_rig.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct engine_now now = {.mono_ns = 1000000000ull, .utc_ns = RIG_UTC};

struct place {
	char file[128], copy[128];
};

static struct place place_of(const struct store_rig *r)
{
	struct place p;

	snprintf(p.file, sizeof(p.file), "%s/emergency.journal", r->dir);
	snprintf(p.copy, sizeof(p.copy), "%s/copy", r->dir);
	return p;
}

static struct emergency *open_at(const struct place *p)
{
	struct sc_error error = {0};
	struct emergency *j;

	assert_int_equal(emergency_open(p->file, p->copy, &j, &error), 0);
	return j;
}

static void remove_all(const struct place *p)
{
	unlink(p->file);
	unlink(p->copy);
}

/* A command and its end. */
static void put(struct emergency *j, uint64_t id, bool ended)
{
	struct row row;

	store_rig_command(&row, id, NULL, (uint32_t)id);
	assert_int_equal(emergency_put(j, &row), 0);
	store_rig_transition(&row, id, "SENT", 17, "sent, attempt 1", false);
	assert_int_equal(emergency_put(j, &row), 0);
	if (ended) {
		now.utc_ns += 1000;
		store_rig_transition(&row, id, "DONE", -1, "read-back 0.0 V", true);
		assert_int_equal(emergency_put(j, &row), 0);
	}
}

static void bring(struct emergency *j, struct store_rig *r)
{
	struct emergency_status v;

	for (unsigned n = 0; n < 10; n++) {
		struct store_done done;

		now.mono_ns += 2000000000ull;
		emergency_bring(j, r->s, now);
		emergency_get_status(j, &v);
		if (v.rows == 0 && v.folded == 0) {
			return;
		}
		done = store_rig_wait(r);
		emergency_brought(j, done.cookie, done.result, now);
	}
	fail_msg("%u rows wait", v.rows);
}

/* Rows reach the database in order; brought once more, after a kill in between, nothing is there twice. */
static void test_brought_twice_is_there_once(void **state)
{
	struct store_rig r;
	struct place p;
	struct emergency *j;
	struct engine_marks *marks;

	store_rig_create(&r);
	p = place_of(&r);
	store_rig_open(&r);
	j = open_at(&p);
	put(j, 7, true);
	put(j, 8, false);
	marks = emergency_marks(j);
	marks->last_id = 8;
	assert_int_equal(link(p.file, p.copy),
			 0); /* as after a kill: no row is marked as brought */
	emergency_close(j);
	for (unsigned n = 0; n < 2; n++) {
		j = open_at(&p);
		assert_int_equal(emergency_marks(j)->last_id, 8);
		bring(j, &r);
		emergency_close(j);
		assert_int_equal(store_rig_number(&r, "SELECT count(*) FROM command"), 2);
		assert_int_equal(store_rig_number(&r, "SELECT count(*) FROM transition"), 3);
		assert_int_equal(store_rig_number(&r, "SELECT ended IS NOT NULL AND state = 'DONE'"
						      " FROM command WHERE id = 7"),
				 1);
		assert_int_equal(store_rig_number(&r, "SELECT ended IS NULL AND state = 'SENT'"
						      " FROM command WHERE id = 8"),
				 1);
	}
	store_rig_close(&r);
	remove_all(&p);
	store_rig_destroy(&r);
}

/* As disk.c does it. */
static void copy(struct emergency *j, const struct place *p)
{
	FILE *f = fopen(p->copy, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(emergency_image(j), 1, emergency_bytes(), f), emergency_bytes());
	fclose(f);
}

/* The copy has the whole file; all rows are brought a second time, as if none had been brought. */
static void test_an_old_copy_adds_nothing(void **state)
{
	struct store_rig r;
	struct place p;
	struct emergency *j;

	store_rig_create(&r);
	p = place_of(&r);
	store_rig_open(&r);
	j = open_at(&p);
	put(j, 7, true);
	copy(j, &p);
	bring(j, &r);
	emergency_close(j);
	unlink(p.file); /* the machine was switched off */
	j = open_at(&p);
	bring(j, &r);
	emergency_close(j);
	assert_int_equal(store_rig_number(&r, "SELECT count(*) FROM command"), 1);
	assert_int_equal(store_rig_number(&r, "SELECT count(*) FROM transition"), 2);
	store_rig_close(&r);
	remove_all(&p);
	store_rig_destroy(&r);
}

/* The numbers in a copy are as old as it is: the database may have given larger ones since. */
static void test_a_copy_does_not_know_the_last_number(void **state)
{
	struct store_rig r;
	struct place p;
	struct emergency *j;

	store_rig_create(&r);
	p = place_of(&r);
	j = open_at(&p);
	emergency_marks(j)->last_id = 8;
	assert_false(emergency_marks(j)->last_id_old);
	copy(j, &p);
	emergency_close(j);
	j = open_at(&p);
	assert_false(emergency_marks(j)->last_id_old);
	emergency_close(j);
	unlink(p.file);
	for (unsigned n = 0; n < 2; n++) { /* killed before a database was read, it is still so */
		j = open_at(&p);
		assert_int_equal(emergency_marks(j)->last_id, 8);
		assert_true(emergency_marks(j)->last_id_old);
		emergency_close(j);
	}
	remove_all(&p);
	store_rig_destroy(&r);
}

static void overwrite(const char *path, size_t at, const char *bytes, size_t count)
{
	FILE *f = fopen(path, "r+");

	assert_non_null(f);
	assert_int_equal(fseek(f, (long)at, SEEK_SET), 0);
	assert_int_equal(fwrite(bytes, 1, count, f), count);
	fclose(f);
}

/* Blocks that a lying disk gives back as something else: a sequence out of them would use up all that the floor has. */
static void test_a_torn_copy_is_none(void **state)
{
	struct store_rig r;
	struct place p;
	struct emergency *j;
	size_t at;

	store_rig_create(&r);
	p = place_of(&r);
	for (unsigned torn = 0; torn < 2; torn++) {
		j = open_at(&p);
		emergency_marks(j)->floor[0].sequence = 70;
		at = (size_t)((const char *)&emergency_marks(j)->floor[0].sequence -
			      (const char *)emergency_image(j));
		copy(j, &p);
		emergency_close(j);
		unlink(p.file);
		if (torn) {
			overwrite(p.copy, at, "\xff\xff\xff\xff", 4);
		}
		j = open_at(&p);
		assert_int_equal(emergency_marks(j)->floor[0].sequence, torn ? 0 : 70);
		emergency_close(j);
	}
	remove_all(&p);
	store_rig_destroy(&r);
}

/* An upgrade does not erase what only the old version can read. */
static void test_a_file_of_another_version_is_kept(void **state)
{
	struct store_rig r;
	struct place p;
	struct emergency *j;
	char aside[160];

	store_rig_create(&r);
	p = place_of(&r);
	snprintf(aside, sizeof(aside), "%s.other-version", p.file);
	j = open_at(&p);
	put(j, 7, false);
	emergency_close(j);
	overwrite(p.file, 0, "FCMEMRG1", 8);
	j = open_at(&p);
	assert_int_equal(access(aside, F_OK), 0);
	emergency_close(j);
	assert_int_equal(unlink(aside), 0);
	j = open_at(&p); /* its own stays */
	assert_int_equal(access(aside, F_OK), -1);
	emergency_close(j);
	remove_all(&p);
	store_rig_destroy(&r);
}

/* The next daemon finds an open command that is older than those counted as settled. */
static void test_an_open_one_is_not_settled(void **state)
{
	struct store_rig r;
	struct place p;
	struct emergency *j;
	struct row row;

	store_rig_create(&r);
	p = place_of(&r);
	store_rig_open(&r);
	store_rig_command(&row, 20, NULL, 20);
	assert_int_equal(store_submit(r.s, &row, 0, STORE_URGENT), 0);
	store_rig_transition(&row, 20, "DONE", -1, "", true);
	assert_int_equal(store_submit(r.s, &row, 0, STORE_URGENT), 0);
	store_put_alive(r.s, RIG_UTC);
	store_rig_flush(&r);
	assert_int_equal(
		store_rig_number(&r, "SELECT value FROM station WHERE key = 'settled_until'"), 20);
	j = open_at(&p);
	put(j, 8, false);
	put(j, ENGINE_OWN_IDS + 5, false);
	bring(j, &r);
	emergency_close(j);
	assert_int_equal(
		store_rig_number(&r, "SELECT value FROM station WHERE key = 'settled_until'"), 7);
	store_put_alive(r.s, RIG_UTC);
	store_rig_flush(&r);
	assert_int_equal(
		store_rig_number(&r, "SELECT value FROM station WHERE key = 'settled_until'"), 7);
	store_rig_close(&r);
	remove_all(&p);
	store_rig_destroy(&r);
}

/* Full of ended commands: they are counted per parameter, and the next one still gets its rows.
 * Full of open ones: dropped rows are counted. */
static void test_it_is_bounded(void **state)
{
	struct store_rig r;
	struct place p;
	struct emergency *j;
	struct emergency_status v;
	struct row row;
	uint64_t id = 1;
	int result = 0;

	store_rig_create(&r);
	p = place_of(&r);
	j = open_at(&p);
	for (; id < 3000; id++) {
		put(j, id, true);
	}
	emergency_get_status(j, &v);
	assert_true(v.folded > 1000);
	assert_true(v.rows > 0 && v.folded + v.rows / 3 == 2999);
	assert_int_equal(v.dropped, 0);
	for (; result == 0 && id < 6000; id++) {
		store_rig_command(&row, id, NULL, (uint32_t)id);
		result = emergency_put(j, &row);
	}
	assert_int_equal(result, -ENOSPC);
	emergency_get_status(j, &v);
	assert_int_equal(v.dropped, 1);
	assert_int_equal(v.folded, 2999);
	store_rig_open(&r);
	bring(j, &r);
	store_rig_flush(&r);
	assert_int_equal(store_rig_number(&r, "SELECT count(*) FROM event WHERE code ="
					      " 'emergency-folded' AND text LIKE '2999 commands%'"),
			 1);
	emergency_close(j);
	store_rig_close(&r);
	remove_all(&p);
	store_rig_destroy(&r);
}

/* Bytes after the last whole row, from a kill or a damaged file, are not a row. */
static void test_damage_ends_it(void **state)
{
	struct store_rig r;
	struct place p;
	struct emergency *j;
	struct emergency_status v;
	struct stat st;
	int fd;

	store_rig_create(&r);
	p = place_of(&r);
	for (unsigned step = 0; step < 40; step++) {
		j = open_at(&p);
		put(j, 7, true);
		emergency_close(j);
		fd = open(p.file, O_RDWR);
		assert_int_equal(fstat(fd, &st), 0);
		for (off_t at = 300 + (off_t)step * 97; at < st.st_size; at += 8191) {
			assert_int_equal(pwrite(fd, "\xff\x80", 2, at), 2);
		}
		close(fd);
		j = open_at(&p);
		emergency_get_status(j, &v);
		assert_true(v.rows <= 3);
		emergency_close(j);
		remove_all(&p);
	}
	store_rig_destroy(&r);
}

/* Without a file it works in memory, and says why it does not survive. */
static void test_without_a_file(void **state)
{
	struct sc_error error = {0};
	struct emergency_status v;
	struct emergency *j;
	struct row row;

	assert_int_equal(emergency_open("/nonexistent/dir/journal", NULL, &j, &error), 1);
	assert_non_null(strstr(error.message, "/nonexistent/dir/journal"));
	assert_true(error.hint[0]);
	store_rig_command(&row, 7, NULL, 7);
	assert_int_equal(emergency_put(j, &row), 0);
	emergency_get_status(j, &v);
	assert_true(v.own_memory && v.rows == 1);
	assert_non_null(strstr(v.error, "No such file"));
	emergency_close(j);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_brought_twice_is_there_once),
		cmocka_unit_test(test_an_old_copy_adds_nothing),
		cmocka_unit_test(test_a_copy_does_not_know_the_last_number),
		cmocka_unit_test(test_a_torn_copy_is_none),
		cmocka_unit_test(test_a_file_of_another_version_is_kept),
		cmocka_unit_test(test_an_open_one_is_not_settled),
		cmocka_unit_test(test_it_is_bounded),
		cmocka_unit_test(test_damage_ends_it),
		cmocka_unit_test(test_without_a_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
