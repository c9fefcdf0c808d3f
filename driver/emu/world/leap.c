/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Leap seconds: see leap.h. The table (leap-seconds.list) counts UTC seconds from 1900, as NTP does.
 *
 * The daemon reads the same table with code of its own (daemon/time/leap.c), on purpose: the emulator's time is the
 * reference in tests of the daemon's, and a mistake in shared code would be on both sides and never be found.
 */
#include "driver/emu/world/leap.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#define NTP_TO_POSIX 2208988800LL
#define DEFAULT_S    37
#define DAY_S	     86400

static bool add_line(struct leap_table *table, const char *line)
{
	int64_t ntp_s;
	int32_t offset;

	if (line[0] == '#' || line[0] == '\n' || line[0] == '\r') {
		return true;
	}
	if (sscanf(line, "%" SCNd64 " %" SCNd32, &ntp_s, &offset) != 2 ||
	    table->count == LEAP_ENTRIES || ntp_s < NTP_TO_POSIX || offset < 0 || offset > 1000 ||
	    (table->count > 0 && ntp_s - NTP_TO_POSIX <= table->entries[table->count - 1].utc_s)) {
		return false;
	}
	table->entries[table->count].utc_s = ntp_s - NTP_TO_POSIX;
	table->entries[table->count].offset = offset;
	table->count++;
	return true;
}

int leap_load(const char *path, struct leap_table *ret_table)
{
	struct leap_table table = {0};
	FILE *file = fopen(path, "re");
	char line[256];
	bool good = true;

	if (file == NULL) {
		return -errno;
	}
	while (good && fgets(line, sizeof(line), file) != NULL) {
		good = add_line(&table, line);
	}
	fclose(file);
	if (!good || table.count == 0) {
		return -EINVAL;
	}
	*ret_table = table;
	return 0;
}

void leap_load_or_default(const char *path, struct leap_table *ret_table)
{
	if (leap_load(path != NULL ? path : LEAP_FILE, ret_table) < 0) {
		*ret_table = (struct leap_table){.count = 1, .entries = {{.offset = DEFAULT_S}}};
	}
}

/* TAI at which entry i begins: its UTC plus its own offset. */
static int64_t begin_tai(const struct leap_table *table, unsigned i)
{
	return table->entries[i].utc_s + table->entries[i].offset;
}

void leap_to_utc(const struct leap_table *table, int64_t tai_s, struct leap_utc *ret_utc)
{
	unsigned i = table->count - 1;
	int64_t day_end;

	while (i > 0 && tai_s < begin_tai(table, i)) {
		i--;
	}
	*ret_utc = (struct leap_utc){.utc_s = tai_s - table->entries[i].offset};
	if (i + 1 == table->count || table->entries[i + 1].offset <= table->entries[i].offset) {
		return;
	}
	if (tai_s == begin_tai(table, i + 1) - 1) {
		ret_utc->inserted = true;
		ret_utc->utc_s = table->entries[i + 1].utc_s - 1;
	}
	day_end = (ret_utc->utc_s / DAY_S + 1) * DAY_S;
	ret_utc->announced = table->entries[i + 1].utc_s == day_end;
}

int64_t leap_to_tai(const struct leap_table *table, int64_t utc_s)
{
	unsigned i = table->count - 1;

	while (i > 0 && utc_s < table->entries[i].utc_s) {
		i--;
	}
	return utc_s + table->entries[i].offset;
}
