/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * TAI to UTC and back, by the leap second table of tzdata (leap-seconds.list). Model time is TAI; the
 * GPS receiver and the IRIG-B label speak UTC. Seconds count from 1970 in both; a second of UTC is
 * POSIX's plus the flag `inserted` for 23:59:60.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define LEAP_ENTRIES 64u
#define LEAP_FILE    "/usr/share/zoneinfo/leap-seconds.list"

struct leap_table {
	unsigned count;
	struct {
		int64_t utc_s;	/* from here on ... */
		int32_t offset; /* ... TAI is ahead of UTC by so many seconds */
	} entries[LEAP_ENTRIES];
};

struct leap_utc {
	int64_t utc_s;
	bool inserted;	/* 23:59:60; utc_s is that of 23:59:59 */
	bool announced; /* one will be inserted at the end of this day */
};

/* -EINVAL when the file is no such table, or what opening it said; ret untouched. */
int leap_load(const char *path, struct leap_table *ret_table);
/* `path`, or the system's when that is NULL; without a good one 37 s, always. */
void leap_load_or_default(const char *path, struct leap_table *ret_table);

void leap_to_utc(const struct leap_table *table, int64_t tai_s, struct leap_utc *ret_utc);
int64_t leap_to_tai(const struct leap_table *table, int64_t utc_s);
