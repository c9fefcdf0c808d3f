/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The configuration of a station and the files that it names: of an installed one all of /etc/fcm-server, drop-ins of
 * units and options of the kernel module; of a station in a directory its board.conf.
 */
#include "slowctl/fcmctl/backup/settings.h"

#include <ctype.h>
#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_MOST (4 << 20)

static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), of_end = strlen(end);

	return length >= of_end && strcmp(text + length - of_end, end) == 0;
}

/* Keys are written mode 600, and a group may have been allowed to read them. */
static bool is_secret(const char *path, const struct stat *st)
{
	return (st->st_mode & 0077) == 0 || ends_with(path, ".key");
}

static void add(json_t *list, const char *path)
{
	char real[PATH_MAX];
	struct stat st;
	size_t n;
	json_t *known;

	if (realpath(path, real) == NULL || stat(real, &st) < 0 || !S_ISREG(st.st_mode) ||
	    st.st_size > FILE_MOST) {
		return;
	}
	json_array_foreach (list, n, known) {
		if (strcmp(json_string_value(json_object_get(known, "path")), real) == 0) {
			return;
		}
	}
	json_array_append_new(
		list, json_pack("{s:s,s:b}", "path", real, "secret", (int)is_secret(real, &st)));
}

static void add_all(json_t *list, const char *pattern)
{
	glob_t found = {0};

	if (glob(pattern, 0, NULL, &found) == 0) {
		for (size_t n = 0; n < found.gl_pathc; n++) {
			add(list, found.gl_pathv[n]);
		}
	}
	globfree(&found);
}

/* "%N" of a value is the board's number. */
static void expand(const char *value, unsigned board, char *path, size_t size)
{
	const char *place = strstr(value, "%N");

	if (place != NULL) {
		snprintf(path, size, "%.*s%u%s", (int)(place - value), value, board, place + 2);
	} else {
		snprintf(path, size, "%s", value);
	}
}

/* "dictionary = /path" */
static void add_named(json_t *list, char *line, unsigned board)
{
	static const char *const keys[] = {"dictionary", "site_dictionary", "allow_list",
					   "key_file"};
	char *value = strchr(line, '='), path[PATH_MAX], inside[PATH_MAX + 8];
	size_t length;

	if (value == NULL) {
		return;
	}
	*value++ = '\0';
	line += strspn(line, " \t");
	line[strcspn(line, " \t")] = '\0';
	value += strspn(value, " \t");
	for (length = strcspn(value, "\n");
	     length > 0 && isspace((unsigned char)value[length - 1]);) {
		length--;
	}
	value[length] = '\0';
	for (size_t n = 0; n < sizeof(keys) / sizeof(keys[0]); n++) {
		if (strcmp(line, keys[n]) == 0 && value[0] == '/') {
			expand(value, board, path, sizeof(path));
			snprintf(inside, sizeof(inside), "%s/*.conf", path);
			add(list, path);
			add_all(list, inside);
		}
	}
}

static void add_configuration(json_t *list, const char *path, unsigned board)
{
	FILE *f = fopen(path, "re");
	char *line = NULL;
	size_t size = 0;

	add(list, path);
	while (f != NULL && getline(&line, &size, f) > 0) {
		add_named(list, line, board);
	}
	free(line);
	if (f != NULL) {
		fclose(f);
	}
}

json_t *settings_list(const struct ctl_station *station)
{
	json_t *list = json_array();
	char path[PATH_MAX + 16];
	const char *slash = strrchr(station->socket, '/');

	if (station->installed) {
		snprintf(path, sizeof(path), "/etc/fcm-server/board-%u.conf", station->board);
		add_configuration(list, path, station->board);
		add_all(list, "/etc/fcm-server/*");
		add_all(list, "/etc/systemd/system/fcm-*.service.d/*.conf");
		add_all(list, "/etc/modprobe.d/nanet3*.conf");
	} else {
		snprintf(path, sizeof(path), "%.*sboard.conf",
			 slash != NULL ? (int)(slash + 1 - station->socket) : 0, station->socket);
		add_configuration(list, path, station->board);
	}
	return list;
}
