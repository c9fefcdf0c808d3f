/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fcmctl restore: a backup becomes the station's database, with its archives, and its configuration where there is
 * none. All is checked before anything is changed. The database comes last, by one rename: a restore that is interrupted
 * leaves the database of before, or the restored one, and never none, for a daemon would begin an empty one then.
 */
#include "slowctl/fcmctl/backup/restore.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "slowctl/fcmctl/backup/archives.h"
#include "slowctl/fcmctl/backup/database.h"
#include "slowctl/fcmctl/backup/files.h"
#include "slowctl/fcmctl/backup/place.h"
#include "slowctl/fcmctl/core/args.h"
#include "slowctl/fcmctl/core/ctl.h"
#include "slowctl/fcmctl/show/time.h"
#include "slowctl/fcmctl/show/value.h"

#define TEMPORARY ".restoring"

struct restoring {
	struct ctl *ctl;
	char from[PATH_MAX];
	json_t *sums, *what; /* backup.json */
	struct database_facts backup, present;
	bool there; /* a database is */
	bool replace;
	uid_t user; /* whose the files will be */
	gid_t group;
	int lock;
	json_t *restored, *kept;
	struct sc_error *error;
};

/* ------------------------------------------------------------------ the backup */

static int read_backup(struct restoring *s, const char *directory)
{
	char path[PATH_MAX];
	json_error_t bad;
	int r = place_find(directory, s->ctl->station.board, s->from, s->error);

	r = r == 0 ? files_read_sums(s->from, &s->sums, s->error) : r;
	r = r == 0 ? files_check_sums(s->from, s->sums, s->error) : r;
	if (r < 0) {
		return r;
	}
	s->what = json_load_file(files_path(path, s->from, "backup.json"), 0, &bad);
	if (s->what == NULL || value_integer(s->what, "format", 0) != 1) {
		return sc_fail(s->error, -EPROTONOSUPPORT, "failed",
			       "Use the fcmctl of the version that made it.",
			       "%s is no backup that this version reads", s->from);
	}
	if (value_integer(s->what, "board", -1) != (long long)s->ctl->station.board) {
		return sc_fail(s->error, -EINVAL, "refused", "Name its board: --board N.",
			       "%s is a backup of board %lld, not of board %u", s->from,
			       value_integer(s->what, "board", -1), s->ctl->station.board);
	}
	return database_facts(files_path(path, s->from, "station.db"), &s->backup, s->error);
}

/* Of each file its sum is known: else it was not checked. */
static int check_list(struct restoring *s)
{
	const json_t *file;
	size_t n;

	json_array_foreach ((json_t *)(uintptr_t)value_at(s->what, "files"), n, file) {
		if (json_object_get(s->sums, value_string(file, "name", "")) == NULL ||
		    value_string(file, "path", "")[0] != '/' ||
		    strstr(value_string(file, "path", ""), "/../") != NULL) {
			return sc_fail(s->error, -EUCLEAN, "damaged", "Use another backup.",
				       "%s: backup.json does not fit to " FILES_SUMS, s->from);
		}
	}
	return 0;
}

/* ------------------------------------------------------------------ the place */

static void directory_of(const char *path, char ret_directory[PATH_MAX])
{
	char *slash;

	files_name(ret_directory, "%s", strchr(path, '/') != NULL ? path : "./");
	slash = strrchr(ret_directory, '/');
	if (slash != NULL) {
		slash[slash == ret_directory ? 1 : 0] = '\0';
	}
}

/* The lock of the daemon's store, and its socket: while its database fails it holds only that. */
static int check_daemon(struct restoring *s)
{
	char path[PATH_MAX];
	int r = ctl_connect(s->ctl);

	if (r < 0 && ctl_is_away(r)) {
		files_name(path, "%s.lock", s->ctl->station.database);
		s->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0660);
		r = s->lock < 0 ? -errno : flock(s->lock, LOCK_EX | LOCK_NB) < 0 ? -EBUSY : 0;
		if (r == 0 && geteuid() == 0 && fchown(s->lock, s->user, s->group) < 0) {
			r = -errno;
		}
		if (r < 0 && r != -EBUSY) {
			return files_fail(s->error, r, "opened", path);
		}
		if (r == 0) {
			return 0;
		}
	}
	ctl_disconnect(s->ctl);
	return sc_fail(s->error, -EBUSY, "refused",
		       s->ctl->station.installed ? "systemctl stop fcm-server@N, and again."
						 : "End it, and again.",
		       "a daemon of board %u runs on %s", s->ctl->station.board,
		       s->ctl->station.database);
}

static int check_present(struct restoring *s)
{
	const char *database = s->ctl->station.database;
	char alive[32], made[32];
	int r;

	s->there = access(database, F_OK) == 0;
	if (!s->there || s->replace) {
		return 0;
	}
	r = database_facts(database, &s->present, s->error);
	if (r < 0) {
		snprintf(s->error->hint, sizeof(s->error->hint),
			 "If you want the backup in its place: --replace.");
		return r;
	}
	if (s->present.born_ns != 0 && s->present.born_ns != s->backup.born_ns) {
		return sc_fail(s->error, -EEXIST, "refused",
			       "If you want the backup in its place: --replace.",
			       "%s is the database of another station than the backup", database);
	}
	if (s->present.alive_ns > s->backup.alive_ns) {
		return sc_fail(
			s->error, -EEXIST, "refused",
			"Start the daemon with it; if you want the backup in its place: "
			"--replace.",
			"%s is newer than the backup: its daemon was alive at %s UTC, the "
			"backup is of %s",
			database,
			ctl_time_text((double)s->present.alive_ns / 1e9, 0, alive, sizeof(alive)),
			ctl_time_text((double)s->backup.alive_ns / 1e9, 0, made, sizeof(made)));
	}
	return 0;
}

/* Files belong to whom the directory of the database belongs. */
static int check_place(struct restoring *s)
{
	char directory[PATH_MAX];
	struct stat st;

	directory_of(s->ctl->station.database, directory);
	if (stat(directory, &st) < 0) {
		return sc_fail(s->error, -errno, "failed",
			       "Install the packages first; systemd-tmpfiles --create makes it.",
			       "there is no directory %s", directory);
	}
	s->user = st.st_uid;
	s->group = st.st_gid;
	return 0;
}

/* ------------------------------------------------------------------ files */

static int give_away(const struct restoring *s, const char *path)
{
	return geteuid() != 0 || lchown(path, s->user, s->group) == 0
		       ? 0
		       : files_fail(s->error, -errno, "given to the daemon's user", path);
}

/* The copy beside `to`, checked again while it is made. */
static int copy_beside(const struct restoring *s, const char *name, const char *to, mode_t mode,
		       char ret_beside[PATH_MAX])
{
	char from[PATH_MAX], sum[FILES_SUM];
	int r;

	unlink(files_name(ret_beside, "%s" TEMPORARY, to));
	r = files_copy(files_path(from, s->from, name), ret_beside, mode, sum, s->error);
	if (r == 0 && strcmp(sum, json_string_value(json_object_get(s->sums, name))) != 0) {
		r = sc_fail(s->error, -EUCLEAN, "damaged", "Look at the disk of the backup.",
			    "%s has changed while it was read", from);
	}
	r = r == 0 ? give_away(s, ret_beside) : r;
	if (r < 0) {
		unlink(ret_beside);
	}
	return r;
}

/* What was there stays under another name: FILE.before-restore-TIME. */
static int keep_old(struct restoring *s, const char *path, const char *end)
{
	char from[PATH_MAX], to[PATH_MAX];

	if (access(files_name(from, "%s%s", path, end), F_OK) < 0) {
		return 0;
	}
	files_name(to, "%s.before-restore-%lld%s", path, (long long)ctl_now(), end);
	/* The database keeps its name until the new one takes it; a log must not be applied to the new one. */
	if ((end[0] == '\0' ? link(from, to) : rename(from, to)) < 0) {
		return files_fail(s->error, -errno, "kept", from);
	}
	if (end[0] == '\0') {
		json_array_append_new(s->kept, json_string(to));
	}
	return 0;
}

static int put_database(struct restoring *s, const char *name, const char *to, mode_t mode)
{
	char beside[PATH_MAX], directory[PATH_MAX];
	int r = copy_beside(s, name, to, mode, beside);

	if (r == 0 && access(to, F_OK) == 0) {
		database_settle(to); /* one that is damaged keeps its log, beside it */
		r = keep_old(s, to, "");
		r = r == 0 ? keep_old(s, to, "-wal") : r;
		r = r == 0 ? keep_old(s, to, "-shm") : r;
	}
	if (r == 0 && rename(beside, to) < 0) {
		r = files_fail(s->error, -errno, "given its name", to);
	}
	directory_of(to, directory);
	r = r == 0 ? files_sync(directory, s->error) : r;
	if (r == 0) {
		json_array_append_new(s->restored, json_string(to));
	}
	return r;
}

/* Configuration is the administrator's: what is there stays. */
static int put_setting(struct restoring *s, const json_t *file)
{
	const char *name = value_string(file, "name", ""), *to = value_string(file, "path", "");
	char beside[PATH_MAX], sum[FILES_SUM];
	int r;

	if (access(to, F_OK) == 0) {
		r = files_sum(to, sum, s->error);
		if (r == 0 && strcmp(sum, json_string_value(json_object_get(s->sums, name))) != 0) {
			json_array_append_new(s->kept, json_string(to));
		}
		return r;
	}
	r = files_make_parents("", to + 1, s->error);
	r = r == 0 ? copy_beside(s, name, to, (mode_t)value_integer(file, "mode", 0600), beside)
		   : r;
	if (r == 0 && rename(beside, to) < 0) {
		r = files_fail(s->error, -errno, "given its name", to);
	}
	if (r == 0) {
		json_array_append_new(s->restored, json_string(to));
	}
	return r;
}

static bool is_kind(const json_t *file, const char *kind)
{
	return strcmp(value_string(file, "kind", ""), kind) == 0;
}

/* Archives have the name of the database that they belong to. */
static const char *target(const struct restoring *s, const json_t *file, char path[PATH_MAX])
{
	const char *name = value_string(file, "name", "");
	char stem[PATH_MAX];

	if (is_kind(file, "database")) {
		return s->ctl->station.database;
	}
	archives_stem(s->ctl->station.database, stem, sizeof(stem));
	return files_name(path, "%s%s", stem, name + strlen("station"));
}

static int put_all(struct restoring *s)
{
	static const char *const order[] = {"configuration", "secret", "archive", "database"};
	const json_t *files = value_at(s->what, "files"), *file;
	char path[PATH_MAX];
	size_t n;
	int r = 0;

	for (size_t k = 0; k < sizeof(order) / sizeof(order[0]); k++) {
		json_array_foreach ((json_t *)(uintptr_t)files, n, file) {
			if (r < 0 || !is_kind(file, order[k])) {
				continue;
			}
			r = k < 2 ? put_setting(s, file)
				  : put_database(s, value_string(file, "name", ""),
						 target(s, file, path),
						 (mode_t)value_integer(file, "mode", 0640));
		}
	}
	return r;
}

/* ------------------------------------------------------------------ the command */

static void render(struct writer *w, const json_t *result)
{
	const json_t *path;
	size_t n;

	if (value_true(result, "dry_run")) {
		value_line(
			w, WRITER_GOOD, result,
			"{backup} of {made:time} UTC is whole and can be restored to {database}");
		return;
	}
	value_line(w, WRITER_GOOD, result, "restored from {backup} of {made:time} UTC:");
	json_array_foreach ((json_t *)(uintptr_t)value_at(result, "restored"), n, path) {
		writer_line(w, WRITER_PLAIN, "  %s", json_string_value(path));
	}
	json_array_foreach ((json_t *)(uintptr_t)value_at(result, "kept"), n, path) {
		writer_line(w, WRITER_WARN, "kept: %s", json_string_value(path));
	}
	value_line(
		w, WRITER_PLAIN, result,
		"Start the daemon: its numbers go on far above command {last.command:count}, run "
		"{last.run:count}, incident {last.incident:count}.");
}

static int restore(struct restoring *s, const char *directory, bool dry)
{
	int r = read_backup(s, directory);

	r = r == 0 ? check_list(s) : r;
	r = r == 0 ? check_place(s) : r;
	r = r == 0 ? check_daemon(s) : r;
	r = r == 0 ? check_present(s) : r;
	return r == 0 && !dry ? put_all(s) : r;
}

int restore_run(struct ctl *ctl, const struct ctl_args *args)
{
	struct sc_error error = {0};
	struct restoring s = {.ctl = ctl,
			      .replace = ctl_given(args, CTL_REPLACE),
			      .lock = -1,
			      .restored = json_array(),
			      .kept = json_array(),
			      .error = &error};
	bool dry = ctl_given(args, CTL_DRY_RUN);
	int r = restore(&s, args->word[0], dry), code = CTL_DONE;
	json_t *result;

	if (r < 0) {
		code = ctl_fail(ctl, CTL_NOT, "refused", error.hint, "%s: %s",
				json_array_size(s.restored) > 0 ? "restored only in part"
								: "nothing was restored",
				error.message);
	} else {
		result = json_pack("{s:s,s:O,s:s,s:b,s:O,s:O,s:O}", "backup", s.from, "made",
				   json_object_get(s.what, "made"), "database",
				   ctl->station.database, "dry_run", (int)dry, "last",
				   json_object_get(s.what, "last"), "restored", s.restored, "kept",
				   s.kept);
		writer_result(ctl->out, result, render);
		json_decref(result);
	}
	if (s.lock >= 0) {
		close(s.lock);
	}
	json_decref(s.sums);
	json_decref(s.what);
	json_decref(s.restored);
	json_decref(s.kept);
	return code;
}
