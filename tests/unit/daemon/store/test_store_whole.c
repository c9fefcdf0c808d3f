/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The reading of the whole file: damage is found where nobody reads, and is over when the file is well again. */
#include <fcntl.h>
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/rig/store_rig.h"

#define PAGE 4096u

static struct store_status status(const struct store_rig *r)
{
	struct store_status v;

	store_get_status(r->s, &v);
	return v;
}

/* After a reading that began after now: the next but one that ends. */
static const char *damage(const struct store_rig *r, char *text, size_t size)
{
	for (unsigned ends = 0, ms = 0; ends < 2; ms++) {
		uint64_t before = status(r).whole_ns;

		assert_in_range(ms, 0, 60000);
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
		ends += status(r).whole_ns != before;
	}
	snprintf(text, size, "%s", status(r).damage);
	return text;
}

/* Of a file of up to 64 MiB. The caller frees it. */
static unsigned char *content(const struct store_rig *r, size_t *ret_bytes)
{
	unsigned char *bytes = malloc(64 << 20);
	int fd = open(r->path, O_RDONLY | O_CLOEXEC);
	ssize_t got;

	assert_non_null(bytes);
	for (*ret_bytes = 0; (got = read(fd, bytes + *ret_bytes, (64 << 20) - *ret_bytes)) > 0;) {
		*ret_bytes += (size_t)got;
	}
	assert_int_equal(got, 0);
	close(fd);
	return bytes;
}

/* The head of the page that has this text is replaced; returns what was there. */
static void swap_head(const struct store_rig *r, const char *mark, char head[8])
{
	size_t size;
	unsigned char *bytes = content(r, &size), *at = memmem(bytes, size, mark, strlen(mark));
	int fd = open(r->path, O_WRONLY | O_CLOEXEC);
	char was[8];
	size_t page;

	assert_non_null(at);
	page = (size_t)(at - bytes) / PAGE * PAGE;
	memcpy(was, bytes + page, sizeof(was));
	assert_int_equal(pwrite(fd, head, sizeof(was), (off_t)page), sizeof(was));
	memcpy(head, was, sizeof(was));
	close(fd);
	free(bytes);
}

/* Tables of many slices: the last page of each is read, whatever its key is. What is written meanwhile is written. */
static void damage_is_found(void **state)
{
	static const struct {
		const char *mark, *table;
	} cases[] = {{"last-of-events", "event"}, {"zz.last-of-samples", "sample"}};
	struct store_rig r;
	char text[240];

	store_rig_create(&r);
	store_rig_open(&r);
	store_rig_close(&r);
	store_rig_run(r.path,
		      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 60000)"
		      " INSERT INTO event(time, severity, code, object, text, action)"
		      " SELECT i, 'info', 'run', 'run', iif(i = 60000, 'last-of-events', 'a run'), "
		      "'' FROM n");
	store_rig_run(r.path,
		      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 60000)"
		      " INSERT INTO sample(parameter, time, value) SELECT"
		      " iif(i = 60000, 'zz.last-of-samples', 'floor' || i % 4 || "
		      "'.fcm.temperature'), i, 1 FROM n");
	r.config.whole_ms = 1;
	store_rig_open(&r);
	assert_string_equal(damage(&r, text, sizeof(text)), "");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char head[8] = "ZZZZZZZ", name[80];

		swap_head(&r, cases[i].mark, head);
		snprintf(name, sizeof(name), "%s: ", cases[i].table);
		assert_non_null(strstr(damage(&r, text, sizeof(text)), name));
		store_put_station(r.s, "board", cases[i].table);
		store_rig_flush(&r);
		assert_false(status(&r).failing);
		swap_head(&r, cases[i].mark, head);
		assert_string_equal(damage(&r, text, sizeof(text)), "");
	}
	assert_int_equal(
		store_rig_number(&r, "SELECT count(*) FROM station WHERE value = 'sample'"), 1);
	store_rig_destroy(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(damage_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
