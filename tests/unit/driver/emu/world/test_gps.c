/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The receiver on the roof: sentences, leap seconds, and the terminal that outlives its readers. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "driver/emu/world/gps.h"
#include "driver/emu/world/leap.h"

#define T_2026 1780000000 /* 2026-05-28 20:26:40 UTC */

/* Every line "$...*CS\r\n" with its checksum right; returns how many. */
static unsigned sentences(char *text)
{
	unsigned n = 0;

	for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
		const char *star = strchr(line, '*');
		unsigned sum = 0, said;

		assert_int_equal(line[0], '$');
		assert_non_null(star);
		assert_int_equal(strlen(star), 4); /* *CS\r */
		assert_true(strlen(line) <= 82);
		for (const char *c = line + 1; c < star; c++) {
			sum ^= (unsigned char)*c;
		}
		assert_int_equal(sscanf(star, "*%2X", &said), 1);
		assert_int_equal(sum, said);
		n++;
	}
	return n;
}

static void what_it_says(void **state)
{
	char text[1024];

	assert_true(gps_sentences(GPS_OK, T_2026, false, text, sizeof(text)) > 0);
	assert_non_null(strstr(text, "$GPRMC,202640.00,A,3641."));
	assert_non_null(strstr(text, ",280526,,,A*"));
	assert_non_null(strstr(text, "$GPGGA,202640.00,"));
	assert_non_null(strstr(text, "$GPGSA,A,3,"));
	assert_non_null(strstr(text, "$GPGSV,3,3,09,"));
	assert_non_null(strstr(text, "$GPZDA,202640.00,28,05,2026,00,00*"));
	assert_int_equal(sentences(text), 7);

	assert_true(gps_sentences(GPS_VOID, T_2026, false, text, sizeof(text)) > 0);
	assert_non_null(strstr(text, "$GPRMC,202640.00,V,"));
	assert_non_null(strstr(text, "$GPGSA,A,1,"));
	assert_int_equal(sentences(text), 5);

	assert_int_equal(gps_sentences(GPS_SILENT, T_2026, false, text, sizeof(text)), 0);
	/* no room: no half sentences */
	gps_sentences(GPS_OK, T_2026, false, text, 100);
	assert_int_equal(sentences(text), 1);
	/* the leap second itself */
	gps_sentences(GPS_OK, 1483228799, true, text, sizeof(text));
	assert_non_null(strstr(text, "$GPRMC,235960.00,A,"));
	assert_non_null(strstr(text, ",311216,"));
}

static void write_table(char path[64], const char *text)
{
	FILE *f;

	snprintf(path, 64, "/tmp/test-leap-XXXXXX");
	f = fdopen(mkstemp(path), "w");
	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static void leap_seconds(void **state)
{
	struct leap_table table;
	struct leap_utc utc;
	char path[64];

	/* 2015-07-01 36, 2017-01-01 37 */
	write_table(path, "# a comment\n#@ 3900000000\n3644697600 36 # 1 Jul 2015\n"
			  "3692217600\t37\t# 1 Jan 2017\n");
	assert_int_equal(leap_load(path, &table), 0);
	unlink(path);
	assert_int_equal(table.count, 2);
	static const struct {
		int64_t tai, utc;
		bool inserted, announced;
	} cases[] = {
		{1483142400 + 36 - 1, 1483142399, false, false}, /* 2016-12-30 23:59:59 */
		{1483142400 + 36, 1483142400, false, true},	 /* 2016-12-31 00:00:00 */
		{1483228799 + 36, 1483228799, false, true},	 /* 23:59:59 */
		{1483228799 + 37, 1483228799, true, true},	 /* 23:59:60 */
		{1483228800 + 37, 1483228800, false, false},
		{T_2026 + 37, T_2026, false, false},
	};
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		leap_to_utc(&table, cases[i].tai, &utc);
		assert_int_equal(utc.utc_s, cases[i].utc);
		assert_int_equal(utc.inserted, cases[i].inserted);
		assert_int_equal(utc.announced, cases[i].announced);
		if (!cases[i].inserted) {
			assert_int_equal(leap_to_tai(&table, cases[i].utc), cases[i].tai);
		}
	}
	leap_load_or_default("/nonexistent", &table);
	assert_int_equal(leap_to_tai(&table, T_2026), T_2026 + 37);
}

static void tables_that_are_none(void **state)
{
	static const char *const texts[] = {"",
					    "# only words\n",
					    "3692217600\n",
					    "12 37\n",
					    "3692217600 37\n3692217600 38\n",
					    "x y\n"};
	struct leap_table table = {.count = 99};
	char path[64];

	for (unsigned i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		write_table(path, texts[i]);
		assert_int_equal(leap_load(path, &table), -EINVAL);
		unlink(path);
	}
	assert_int_equal(leap_load("/nonexistent", &table), -ENOENT);
	assert_int_equal(table.count, 99);
}

/* Waits until so many bytes can be read; they stay there. */
static void wait_bytes(const char *path, int bytes)
{
	int fd = open(path, O_RDWR | O_NOCTTY | O_NONBLOCK), there = 0;

	assert_true(fd >= 0);
	for (unsigned i = 0; i < 10000 && there < bytes; i++) {
		usleep(1000);
		assert_int_equal(ioctl(fd, FIONREAD, &there), 0);
	}
	assert_int_equal(there, bytes);
	close(fd);
}

static void the_terminal(void **state)
{
	char directory[] = "/tmp/test-gps-XXXXXX";
	char path[64], buffer[64] = "";
	struct gps *g;
	struct stat st;
	int fd;

	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/gps.tty", directory);
	assert_int_equal(symlink("/nowhere", path), 0); /* a stale link is replaced */
	assert_int_equal(gps_create(path, 0, &g), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_true(S_ISCHR(st.st_mode));
	assert_int_equal(st.st_mode & 0777, 0660);
	gps_say(g, "old\r\n", 5);
	wait_bytes(path, 5);
	gps_say(g, "new\r\n", 5); /* nobody has read: the old one is gone */
	wait_bytes(path, 5);
	fd = open(path, O_RDWR | O_NOCTTY | O_NONBLOCK);
	assert_true(fd >= 0);
	assert_int_equal(read(fd, buffer, sizeof(buffer)), 5);
	assert_memory_equal(buffer, "new\r\n", 5);
	assert_int_equal(write(fd, "$PMTK", 5), 5); /* a probe: no echo, no answer */
	gps_say(g, "next\r\n", 6);
	wait_bytes(path, 6);
	assert_int_equal(read(fd, buffer, sizeof(buffer)), 6);
	close(fd); /* a reader goes, another comes */
	gps_say(g, "again\r\n", 7);
	wait_bytes(path, 7);
	fd = open(path, O_RDWR | O_NOCTTY | O_NONBLOCK);
	assert_int_equal(read(fd, buffer, sizeof(buffer)), 7);
	close(fd);
	for (unsigned i = 0; i < 10000; i++) { /* nobody reads for hours */
		gps_say(g, "0123456789012345678901234567890123456789\r\n", 42);
	}
	gps_destroy(g);
	assert_int_equal(lstat(path, &st), -1);
	fd = open(path, O_CREAT | O_WRONLY, 0600);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(gps_create(path, 0, &g), -EEXIST); /* somebody's file */
	unlink(path);
	rmdir(directory);
	gps_destroy(NULL);
}

static void by_udp(void **state)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof(at);
	char buffer[64];
	struct gps *g;
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&at, length), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &length), 0);
	assert_int_equal(gps_create(NULL, ntohs(at.sin_port), &g), 0);
	gps_say(g, "one\r\n", 5);
	gps_say(g, "two\r\n", 5);
	assert_int_equal(read(fd, buffer, sizeof(buffer)), 5);
	assert_memory_equal(buffer, "one\r\n", 5);
	assert_int_equal(read(fd, buffer, sizeof(buffer)), 5);
	assert_memory_equal(buffer, "two\r\n", 5);
	close(fd); /* gpsd has ended: the receiver does not care */
	gps_say(g, "three\r\n", 7);
	gps_say(g, "four\r\n", 6);
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, length), 0);
	gps_say(g, "five\r\n", 6); /* the kernel tells it now that the one before was refused */
	gps_say(g, "six\r\n", 5);
	assert_true(read(fd, buffer, sizeof(buffer)) > 0);
	close(fd);
	gps_destroy(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_it_says),
		cmocka_unit_test(leap_seconds),
		cmocka_unit_test(tables_that_are_none),
		cmocka_unit_test(the_terminal),
		cmocka_unit_test(by_udp),
	};

	return cmocka_run_group_tests_name("gps", tests, NULL, NULL);
}
