// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The table of leap seconds, as tzdata ships it (leap-seconds.list, format of IERS and NIST):
 *
 *   #@ 4001702400            expiry, seconds since 1900
 *   3692217600  37  # ...    from this second of UTC on TAI-UTC is 37 s
 *
 * Seconds since 1900 count no leap seconds, like POSIX time. Pure but for reading the file.
 *
 * The emulator reads the same file with code of its own (driver/emu/world/leap.c), on purpose: it is the
 * judge of our time, and a mistake in shared code would be made on both sides and seen by nobody.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/time/clock.h"

#define SECONDS_1900_1970 2208988800ll
#define LINES_MAX	  10000

struct leaps {
	int64_t asked_utc_s;
	int64_t last_utc_s; /* entries must ascend */
	int32_t last_tai_utc_s;
	int32_t tai_utc_s;	/* of the entry at or before asked_utc_s; 0: none */
	int64_t next_utc_s;	/* of the one behind it */
	int32_t next_tai_utc_s; /* 0: none */
	int64_t expires_utc_s;	/* 0: the file does not say */
};

/* "3692217600 37 # ..." */
static int take_entry(struct leaps *l, const char *text)
{
	long long since_1900_s;
	int offset, end = 0;
	int64_t utc_s;

	if (sscanf(text, "%15lld%*[ \t]%5d%n", &since_1900_s, &offset, &end) != 2 ||
	    since_1900_s < SECONDS_1900_1970 || offset < 10 || offset > 1000) {
		return -EBADMSG;
	}
	text += end;
	text += strspn(text, " \t\r\n");
	utc_s = since_1900_s - SECONDS_1900_1970;
	if ((*text && *text != '#') ||
	    (l->last_tai_utc_s &&
	     (utc_s <= l->last_utc_s || abs(offset - l->last_tai_utc_s) != 1))) {
		return -EBADMSG;
	}
	l->last_utc_s = utc_s;
	l->last_tai_utc_s = offset;
	if (utc_s <= l->asked_utc_s) {
		l->tai_utc_s = offset;
	} else if (!l->next_tai_utc_s) {
		l->next_utc_s = utc_s;
		l->next_tai_utc_s = offset;
	}
	return 0;
}

static int take_line(struct leaps *l, const char *line)
{
	long long since_1900_s;

	line += strspn(line, " \t\r\n");
	if (strncmp(line, "#@", 2) != 0) {
		return *line && *line != '#' ? take_entry(l, line) : 0;
	}
	if (sscanf(line + 2, "%15lld", &since_1900_s) != 1 || since_1900_s < SECONDS_1900_1970) {
		return -EBADMSG;
	}
	l->expires_utc_s = since_1900_s - SECONDS_1900_1970;
	return 0;
}

static int read_lines(struct leaps *l, FILE *file)
{
	char line[512];

	for (unsigned n = 0; fgets(line, sizeof(line), file); n++) {
		if (n == LINES_MAX) {
			return -EBADMSG;
		}
		/* The rest of an overlong comment is no entry. */
		if (!strchr(line, '\n') && !feof(file)) {
			int c;

			if (line[0] != '#') {
				return -EBADMSG;
			}
			while ((c = getc(file)) != EOF && c != '\n') {
			}
		}
		if (take_line(l, line) < 0) {
			return -EBADMSG;
		}
	}
	return ferror(file) ? -EIO : 0;
}

int leap_table_read(const char *path, int64_t utc_s, struct leap_table *ret_table)
{
	struct leaps l = {.asked_utc_s = utc_s};
	FILE *file = fopen(path, "re");
	int r;

	if (!file) {
		return -errno;
	}
	r = read_lines(&l, file);
	fclose(file);
	if (r < 0 || !l.tai_utc_s) {
		return r < 0 ? r : -EBADMSG;
	}
	if (l.next_tai_utc_s && l.next_tai_utc_s != l.tai_utc_s + 1) {
		return -ENOTSUP;
	}
	*ret_table = (struct leap_table){
		.tai_utc_s = l.tai_utc_s,
		/* The new offset holds from next_utc_s on; the second before it, 23:59:60, begins at
		 * the TAI that the old offset gives next_utc_s. */
		.leap_tai_ns =
			l.next_tai_utc_s ? (l.next_utc_s + l.tai_utc_s) * 1000000000 : INT64_MAX,
		.expires_utc_s = l.expires_utc_s,
	};
	return 0;
}
