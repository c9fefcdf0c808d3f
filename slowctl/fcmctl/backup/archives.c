/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The archive files of a database: see archives.h. */
#include "slowctl/fcmctl/backup/archives.h"

#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

const char *archives_stem(const char *database, char *buf, size_t size)
{
	size_t length = strlen(database);

	if (length > 3 && strcmp(database + length - 3, ".db") == 0) {
		length -= 3;
	}
	snprintf(buf, size, "%.*s", (int)length, database);
	return buf;
}

json_t *archives_years(const char *database)
{
	char stem[PATH_MAX - 64], pattern[PATH_MAX];
	json_t *years = json_array();
	glob_t found = {0};

	archives_stem(database, stem, sizeof(stem));
	snprintf(pattern, sizeof(pattern), "%s-[0-9][0-9][0-9][0-9].db", stem);
	if (glob(pattern, 0, NULL, &found) == 0) {
		for (size_t n = 0; n < found.gl_pathc; n++) {
			char year[5] = "";

			memcpy(year, found.gl_pathv[n] + strlen(found.gl_pathv[n]) - 7, 4);
			json_array_append_new(years, json_string(year));
		}
	}
	globfree(&found);
	return years;
}
