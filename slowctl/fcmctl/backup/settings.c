/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The configuration of a station and the files that it names: of an installed one all of /etc/fcm-server, drop-ins of
 * units and options of the kernel module; of a station in a directory its board.conf.
 */
#include "slowctl/fcmctl/backup/settings.h"

#include <ctype.h>
#include <fnmatch.h>
#include <glob.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "slowctl/fcmctl/backup/files.h"
#include "slowctl/fcmctl/show/value.h"

#define FILE_MOST (4 << 20)

/* Of an installed station, beside board-N.conf. */
static const char *const patterns[] = {
	"/etc/fcm-server/*",
	"/etc/fcm-server/board-*.conf.d/*.conf",
	"/etc/systemd/system/fcm-*.service.d/*.conf",
	"/etc/modprobe.d/nanet3*.conf",
};

static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), of_end = strlen(end);

	return length >= of_end && strcmp(text + length - of_end, end) == 0;
}

/* SHA256SUMS and a restore take only such paths. */
static bool is_plain(const char *path)
{
	return path[0] == '/' && strstr(path, "..") == NULL && strstr(path, "//") == NULL &&
	       strstr(path, "/./") == NULL && strpbrk(path, "\n\\") == NULL &&
	       !ends_with(path, "/");
}

/* Keys are written mode 600, and a group may have been allowed to read them. Receivers of fcm-notify have passwords. */
static bool is_secret(const char *path, const struct stat *st)
{
	return (st->st_mode & 0077) == 0 || ends_with(path, ".key") ||
	       fnmatch("*/notify-*.conf", path, 0) == 0;
}

/* One of the modes that a restore gives. */
static int mode_of(const struct stat *st, bool secret)
{
	return (st->st_mode & 0004) != 0 && !secret ? 0644
	       : (st->st_mode & 0044) != 0	    ? 0640
						    : 0600;
}

/* What is being listed. */
struct listing {
	json_t *list, *skipped;
};

static void add(struct listing *l, const char *path)
{
	const struct passwd *user;
	const struct group *group;
	struct stat st;
	size_t n;
	json_t *known;
	bool secret;

	if (stat(path, &st) < 0 || !S_ISREG(st.st_mode)) {
		return;
	}
	json_array_foreach (l->list, n, known) {
		if (strcmp(value_string(known, "path", ""), path) == 0) {
			return;
		}
	}
	if (st.st_size > FILE_MOST || !is_plain(path)) {
		json_object_set_new(l->skipped, path,
				    json_string(st.st_size > FILE_MOST
							? "larger than 4 MiB"
							: "its path has .., // or \\"));
		return;
	}
	secret = is_secret(path, &st);
	user = getpwuid(st.st_uid);
	group = getgrgid(st.st_gid);
	json_array_append_new(l->list, json_pack("{s:s,s:b,s:i,s:s,s:s}", "path", path, "secret",
						 (int)secret, "mode", mode_of(&st, secret), "owner",
						 user != NULL ? user->pw_name : "root", "group",
						 group != NULL ? group->gr_name : "root"));
}

static void add_all(struct listing *l, const char *pattern)
{
	glob_t found = {0};

	if (glob(pattern, 0, NULL, &found) == 0) {
		for (size_t n = 0; n < found.gl_pathc; n++) {
			add(l, found.gl_pathv[n]);
		}
	}
	globfree(&found);
}

/* ------------------------------------------------------------------ what a configuration names */

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

/* Is called with each absolute path. */
typedef void named(void *arg, const char *key, const char *path);

/* "dictionary = /path" */
static void read_line(char *line, unsigned board, named *take, void *arg)
{
	static const char *const keys[] = {"dictionary", "site_dictionary", "allow_list",
					   "key_file", "database"};
	char *value = strchr(line, '='), path[PATH_MAX];
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
	while (length > 1 && value[length - 1] == '/') {
		length--;
	}
	value[length] = '\0';
	for (size_t n = 0; n < sizeof(keys) / sizeof(keys[0]); n++) {
		if (strcmp(line, keys[n]) == 0 && value[0] == '/') {
			expand(value, board, path, sizeof(path));
			take(arg, keys[n], path);
		}
	}
}

static void read_file(const char *path, unsigned board, named *take, void *arg)
{
	FILE *f = fopen(path, "re");
	char *line = NULL;
	size_t size = 0;

	while (f != NULL && getline(&line, &size, f) > 0) {
		read_line(line, board, take, arg);
	}
	free(line);
	if (f != NULL) {
		fclose(f);
	}
}

/* With its drop-ins, in the daemon's order. */
static void read_configuration(const char *path, unsigned board, named *take, void *arg)
{
	char pattern[PATH_MAX];
	glob_t found = {0};

	read_file(path, board, take, arg);
	if (glob(files_name(pattern, "%s.d/*.conf", path), 0, NULL, &found) == 0) {
		for (size_t n = 0; n < found.gl_pathc; n++) {
			read_file(found.gl_pathv[n], board, take, arg);
		}
	}
	globfree(&found);
}

static const char *main_file(const struct ctl_station *station, char path[PATH_MAX])
{
	const char *slash = strrchr(station->socket, '/');

	if (station->installed) {
		return files_name(path, "/etc/fcm-server/board-%u.conf", station->board);
	}
	return files_name(path, "%.*sboard.conf",
			  slash != NULL ? (int)(slash + 1 - station->socket) : 0, station->socket);
}

static void add_named(void *arg, const char *key, const char *path)
{
	char inside[PATH_MAX];

	if (strcmp(key, "database") != 0) {
		add(arg, path);
		add_all(arg, files_name(inside, "%s/*.conf", path));
	}
}

/* A station in a directory: its configuration, by an absolute path. */
static void add_main(struct listing *l, const char *path, char real[PATH_MAX])
{
	char directory[PATH_MAX], pattern[PATH_MAX];
	char *slash;

	files_name(real, "%s", path);
	if (!is_plain(path)) { /* "--dir ." */
		files_name(directory, "%s%s", strchr(path, '/') != NULL ? "" : "./", path);
		slash = strrchr(directory, '/');
		slash[1] = '\0';
		if (realpath(directory, pattern) != NULL) {
			files_name(real, "%s/%s", pattern,
				   strrchr(path, '/') != NULL ? strrchr(path, '/') + 1 : path);
		}
	}
	add(l, real);
	add_all(l, files_name(pattern, "%s.d/*.conf", real));
}

json_t *settings_list(const struct ctl_station *station, json_t *skipped)
{
	struct listing l = {.list = json_array(), .skipped = skipped};
	char path[PATH_MAX], real[PATH_MAX];

	add_main(&l, main_file(station, path), real);
	read_configuration(real, station->board, add_named, &l);
	for (size_t n = 0; n < sizeof(patterns) / sizeof(patterns[0]) && station->installed; n++) {
		add_all(&l, patterns[n]);
	}
	return l.list;
}

static void take_database(void *arg, const char *key, const char *path)
{
	if (strcmp(key, "database") == 0) {
		files_name(arg, "%s", path);
	}
}

const char *settings_database(const struct ctl_station *station, char path[PATH_MAX])
{
	char configuration[PATH_MAX];

	path[0] = '\0';
	if (station->installed) {
		read_configuration(main_file(station, configuration), station->board, take_database,
				   path);
	}
	return path;
}

/* ------------------------------------------------------------------ what may be restored */

/* The configuration of the daemon, or a drop-in of it. */
static bool is_configuration(const struct ctl_station *station, const char *path)
{
	char file[PATH_MAX], pattern[PATH_MAX];

	if (!station->installed) { /* it was perhaps in another directory */
		return fnmatch("*/board.conf", path, 0) == 0 ||
		       fnmatch("*/board.conf.d/*.conf", path, 0) == 0;
	}
	main_file(station, file);
	return strcmp(path, file) == 0 || fnmatch(files_name(pattern, "%s.d/*.conf", file), path,
						  FNM_PATHNAME | FNM_PERIOD) == 0;
}

/* A path that is looked for among those that a configuration names. */
struct looked_for {
	const char *path;
	bool found;
};

static void compare(void *arg, const char *key, const char *path)
{
	struct looked_for *l = arg;
	size_t length = strlen(path);

	if (strcmp(key, "database") == 0) {
		return;
	}
	if (strcmp(path, l->path) == 0 ||
	    (strncmp(path, l->path, length) == 0 && l->path[length] == '/' &&
	     strchr(l->path + length + 1, '/') == NULL && ends_with(l->path, ".conf"))) {
		l->found = true;
	}
}

bool settings_allowed(const struct ctl_station *station, const char *from, const json_t *files,
		      const char *path)
{
	struct looked_for l = {.path = path};
	char copy[PATH_MAX];
	const json_t *file;
	size_t n;

	if (!is_plain(path)) {
		return false;
	}
	l.found = is_configuration(station, path);
	for (n = 0; n < sizeof(patterns) / sizeof(patterns[0]) && station->installed; n++) {
		l.found |= fnmatch(patterns[n], path, FNM_PATHNAME | FNM_PERIOD) == 0;
	}
	json_array_foreach ((json_t *)(uintptr_t)files, n, file) {
		if (!l.found && is_configuration(station, value_string(file, "path", ""))) {
			read_file(files_name(copy, "%s/files%s", from,
					     value_string(file, "path", "")),
				  station->board, compare, &l);
		}
	}
	return l.found;
}
