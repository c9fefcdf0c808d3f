/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Directories of backups: see place.h. */
#include "slowctl/fcmctl/backup/place.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "slowctl/fcmctl/backup/files.h"

#define PREFIX "fcm-backup-"
#define NAMES  64

static int remove_tree(const char *path)
{
	char *const roots[] = {(char *)(uintptr_t)path, NULL};
	FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	int r = tree != NULL ? 0 : -errno;
	FTSENT *e;

	while (tree != NULL && (e = fts_read(tree)) != NULL) {
		if (e->fts_info != FTS_D && remove(e->fts_accpath) < 0 && r == 0) {
			r = -errno;
		}
	}
	if (tree != NULL) {
		fts_close(tree);
	}
	return r;
}

static int newest_first(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*b)->d_name, (*a)->d_name);
}

/* 20261128T170000Z, and a letter where there were two in that second. */
static bool is_time(const char *text)
{
	static const char form[] = "ddddddddTddddddZ";
	size_t n = 0;

	while (form[n] != '\0' &&
	       (form[n] == 'd' ? isdigit((unsigned char)text[n]) != 0 : text[n] == form[n])) {
		n++;
	}
	return form[n] == '\0' &&
	       (text[n] == '\0' || (islower((unsigned char)text[n]) && text[n + 1] == '\0'));
}

static void time_of_name(int64_t ns, char *buf, size_t size)
{
	time_t seconds = (time_t)(ns / 1000000000);
	struct tm utc;

	gmtime_r(&seconds, &utc);
	strftime(buf, size, "%Y%m%dT%H%M%SZ", &utc);
}

/* Backups in the directory whose name begins so, the newest first; negative errno. */
static int list(const char *directory, const char *begin, struct dirent ***ret_entries)
{
	int count = scandir(directory, ret_entries, NULL, newest_first), kept = 0;

	for (int n = 0; n < count; n++) {
		const char *name = (*ret_entries)[n]->d_name;

		if (strncmp(name, begin, strlen(begin)) == 0 && is_time(name + strlen(begin))) {
			(*ret_entries)[kept++] = (*ret_entries)[n];
		} else {
			free((*ret_entries)[n]);
		}
	}
	return count < 0 ? -errno : kept;
}

static void free_list(struct dirent **entries, int count)
{
	for (int n = 0; n < count; n++) {
		free(entries[n]);
	}
	if (count >= 0) {
		free(entries);
	}
}

/* ------------------------------------------------------------------ made */

static int take_lock(struct place *p, struct sc_error *error)
{
	p->lock = open(p->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (p->lock < 0) {
		return files_fail(error, -errno, "opened", p->directory);
	}
	if (flock(p->lock, LOCK_EX | LOCK_NB) < 0) {
		return sc_fail(error, -EBUSY, "refused", "Wait for its end.",
			       "another fcmctl makes a backup in %s", p->directory);
	}
	return 0;
}

static void remove_interrupted(const struct place *p)
{
	struct dirent **entries;
	char begin[32], path[PATH_MAX];
	int count;

	snprintf(begin, sizeof(begin), "." PREFIX "%u-", p->board);
	count = list(p->directory, begin, &entries);
	for (int n = 0; n < count; n++) {
		remove_tree(files_path(path, p->directory, entries[n]->d_name));
	}
	free_list(entries, count);
}

int place_begin(const char *directory, unsigned board, int64_t made_ns, struct place *ret_place,
		struct sc_error *error)
{
	struct place *p = ret_place;
	char name[64], when[32];
	int r;

	*p = (struct place){.board = board, .made_ns = made_ns, .lock = -1};
	snprintf(p->directory, sizeof(p->directory), "%s", directory);
	if (mkdir(directory, 0750) < 0 && errno != EEXIST) {
		return files_fail(error, -errno, "made", directory);
	}
	r = take_lock(p, error);
	if (r < 0) {
		return r;
	}
	remove_interrupted(p);
	time_of_name(made_ns, when, sizeof(when));
	snprintf(name, sizeof(name), "." PREFIX "%u-%s", board, when);
	files_path(p->path, directory, name);
	return mkdir(p->path, 0750) == 0 ? 0 : files_fail(error, -errno, "made", p->path);
}

/* Each directory below, and itself. */
static int sync_tree(const char *path, struct sc_error *error)
{
	char *const roots[] = {(char *)(uintptr_t)path, NULL};
	FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	int r = tree != NULL ? 0 : files_fail(error, -errno, "read", path);
	FTSENT *e;

	while (r == 0 && (e = fts_read(tree)) != NULL) {
		r = e->fts_info == FTS_DP ? files_sync(e->fts_accpath, error) : 0;
	}
	if (tree != NULL) {
		fts_close(tree);
	}
	return r;
}

int place_finish(struct place *p, struct sc_error *error)
{
	const char *name = strrchr(p->path, '/') + 2; /* without the dot */
	char whole[PATH_MAX], other[PATH_MAX];
	int r = sync_tree(p->path, error);

	if (r < 0) {
		return r;
	}
	files_path(whole, p->directory, name);
	/* Two in the same second. */
	for (char n = 'a'; access(whole, F_OK) == 0 && n <= 'z'; n++) {
		snprintf(other, sizeof(other), "%.200s%c", name, n);
		files_path(whole, p->directory, other);
	}
	if (rename(p->path, whole) < 0) {
		return files_fail(error, -errno, "given its name", whole);
	}
	memcpy(p->path, whole, sizeof(whole));
	return files_sync(p->directory, error);
}

void place_drop(struct place *p)
{
	if (p->path[0] != '\0') {
		remove_tree(p->path);
	}
}

int place_thin(const struct place *p, unsigned keep, json_t *removed, struct sc_error *error)
{
	struct dirent **entries;
	char begin[32], now[32], path[PATH_MAX], gone[PATH_MAX];
	const char *own = strrchr(p->path, '/') + 1;
	unsigned kept = 1; /* this one */
	int r = 0, count;

	snprintf(begin, sizeof(begin), PREFIX "%u-", p->board);
	time_of_name(p->made_ns, now, sizeof(now));
	count = list(p->directory, begin, &entries);
	for (int n = 0; n < count && r == 0; n++) {
		const char *name = entries[n]->d_name;
		char hidden[300];

		if (strcmp(name, own) == 0 || strncmp(name + strlen(begin), now, strlen(now)) > 0 ||
		    kept++ < keep) {
			continue;
		}
		/* It is not whole any more from its first file on: it gets the name of such. */
		snprintf(hidden, sizeof(hidden), ".%s", name);
		files_path(path, p->directory, name);
		files_path(gone, p->directory, hidden);
		r = rename(path, gone) < 0 ? -errno : remove_tree(gone);
		if (r < 0) {
			files_fail(error, r, "removed", path);
		} else {
			json_array_append_new(removed, json_string(path));
		}
	}
	free_list(entries, count);
	return r;
}

json_t *place_later(const char *directory, unsigned board, int64_t now_ns)
{
	json_t *later = json_array();
	struct dirent **entries;
	char begin[32], now[32], path[PATH_MAX];
	int count;

	snprintf(begin, sizeof(begin), PREFIX "%u-", board);
	time_of_name(now_ns, now, sizeof(now));
	count = list(directory, begin, &entries);
	for (int n = 0; n < count; n++) {
		if (strncmp(entries[n]->d_name + strlen(begin), now, strlen(now)) > 0) {
			json_array_append_new(later, json_string(files_path(path, directory,
									    entries[n]->d_name)));
		}
	}
	free_list(entries, count);
	return later;
}

void place_end(struct place *p)
{
	if (p->lock >= 0) {
		close(p->lock);
		p->lock = -1;
	}
}

/* ------------------------------------------------------------------ found */

int place_find(const char *path, unsigned board, char ret_path[PATH_MAX], struct sc_error *error)
{
	struct dirent **entries;
	char begin[32], sums[PATH_MAX];
	int count;

	snprintf(ret_path, PATH_MAX, "%s", path);
	if (access(files_path(sums, path, FILES_SUMS), F_OK) == 0) {
		return 0;
	}
	snprintf(begin, sizeof(begin), PREFIX "%u-", board);
	count = list(path, begin, &entries);
	if (count > 0) {
		files_path(ret_path, path, entries[0]->d_name);
	}
	free_list(entries, count);
	if (count < 0) {
		return files_fail(error, count, "read", path);
	}
	return count > 0 ? 0
			 : sc_fail(error, -ENOENT, "usage",
				   "Name a directory that fcmctl backup has written; --board N for "
				   "another board.",
				   "there is no backup of board %u in %s", board, path);
}
