/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What was told and what waits: over restarts, bounded, with a damaged file. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "slowctl/notify/book.h"

static const struct receivers two = {
	2, {{.name = "shift", .cleared = true}, {.name = "expert", .cleared = true}}};

struct rig {
	char dir[64], path[96];
};

static int setup(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	strcpy(r->dir, "/tmp/test_book.XXXXXX");
	assert_non_null(mkdtemp(r->dir));
	snprintf(r->path, sizeof(r->path), "%s/notices.json", r->dir);
	*state = r;
	return 0;
}

static int teardown(void **state)
{
	struct rig *r = *state;
	char command[160];

	snprintf(command, sizeof(command), "rm -rf %s", r->dir);
	assert_int_equal(system(command), 0);
	free(r);
	return 0;
}

static struct notify_incident incident(uint32_t number, double since)
{
	return (struct notify_incident){
		.number = number, .red = true, .active = true, .object = "link2", .since = since};
}

static void add(struct book *b, unsigned receiver, const struct notify_incident *i)
{
	book_add(b, receiver, i, NOTICE_BEGAN, json_pack("{s:i}", "number", (int)i->number));
}

static json_int_t first_waiting(const struct book *b, unsigned receiver)
{
	return json_integer_value(
		json_object_get(json_array_get(book_notices(b, receiver), 0), "number"));
}

static void test_a_restart(void **state)
{
	struct rig *r = *state;
	struct book *b = book_open(r->path, &two);
	double started = book_started(b);
	struct notify_incident i = incident(7, 1000.0), other = incident(8, 1100.0);

	add(b, 0, &i);
	add(b, 0, &other);
	add(b, 1, &i);
	book_send(b, 1, 1);
	book_delivered(b, 1);
	assert_int_equal(book_keep(b), 0);
	b = (book_close(b), book_open(r->path, &two));
	assert_true(book_started(b) == started);
	assert_int_equal(book_waiting(b, 0), 2);
	assert_int_equal(book_waiting(b, 1), 0);
	assert_int_equal(first_waiting(b, 0), 7);
	assert_non_null(book_told(b, 1, &i));
	assert_true(book_told(b, 1, &i)->red);
	assert_null(book_told(b, 1, &other));
	book_close(b);
}

/* A new database gives the same numbers again, to others. */
static void test_numbers_of_another_database(void **state)
{
	struct rig *r = *state;
	struct book *b = book_open(r->path, &two);
	struct notify_incident i = incident(7, 100000.0), earlier = incident(7, 99000.0),
			       other = incident(7, 200000.0);

	add(b, 0, &i);
	assert_non_null(book_told(b, 0, &earlier));
	assert_null(book_told(b, 0, &other));
	i = incident(0, 100000.0); /* the daemon's absence has no number */
	add(b, 0, &i);
	other = incident(0, 100100.0);
	assert_null(book_told(b, 0, &other));
	book_close(b);
}

static void test_bounds(void **state)
{
	struct rig *r = *state;
	struct book *b = book_open(r->path, &two);
	struct notify_incident i;

	for (uint32_t n = 1; n <= BOOK_TOLD + 10; n++) {
		i = incident(n, 1e6 * n);
		add(b, 0, &i);
	}
	assert_int_equal(book_waiting(b, 0), BOOK_WAITING);
	assert_int_equal(book_dropped(b, 0), BOOK_TOLD + 10 - BOOK_WAITING);
	assert_int_equal(first_waiting(b, 0), BOOK_TOLD + 10 - BOOK_WAITING + 1);
	i = incident(10, 1e7);
	assert_null(book_told(b, 0, &i));
	i = incident(11, 1.1e7);
	assert_non_null(book_told(b, 0, &i));
	b = (book_close(b), book_open(r->path, &two));
	assert_int_equal(book_waiting(b, 0), BOOK_WAITING);
	assert_int_equal(book_dropped(b, 0), BOOK_TOLD + 10 - BOOK_WAITING);
	book_send(b, 0, 50);
	book_delivered(b, 0);
	assert_int_equal(book_waiting(b, 0), BOOK_WAITING - 50);
	assert_int_equal(book_dropped(b, 0), 0);
	book_close(b);
}

/* It is kept beside the new one; nothing is told that was over before. */
static void test_a_damaged_file(void **state)
{
	struct rig *r = *state;
	char damaged[128];
	FILE *f = fopen(r->path, "w");
	struct book *b;

	assert_non_null(f);
	assert_true(fputs("{\"started\": 12", f) >= 0);
	assert_int_equal(fclose(f), 0);
	b = book_open(r->path, &two);
	assert_true(book_started(b) > 1e9);
	assert_int_equal(book_waiting(b, 0), 0);
	snprintf(damaged, sizeof(damaged), "%s.damaged", r->path);
	assert_int_equal(access(damaged, F_OK), 0);
	book_close(b);
	assert_int_equal(access(r->path, F_OK), 0);
}

/* The disk is full or away: an error, and it is tried again. */
static void test_a_disk_that_fails(void **state)
{
	struct rig *r = *state;
	struct book *b = book_open(r->path, &two);
	struct notify_incident i = incident(7, 1000.0);
	char away[96];

	snprintf(away, sizeof(away), "%s.away", r->dir);
	assert_int_equal(rename(r->dir, away), 0);
	add(b, 0, &i);
	assert_int_equal(book_keep(b), -ENOENT);
	assert_int_equal(rename(away, r->dir), 0);
	assert_int_equal(book_keep(b), 0);
	book_close(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_a_restart, setup, teardown),
		cmocka_unit_test_setup_teardown(test_numbers_of_another_database, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bounds, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_damaged_file, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_disk_that_fails, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
