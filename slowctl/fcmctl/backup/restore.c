/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fcmctl restore: a backup becomes the station's database, with its archives, and its configuration where there is
 * none. All is checked before anything is changed. The database comes last, by one rename: a restore that is interrupted
 * leaves the database of before, or the restored one, and never none, for a daemon would begin an empty one then.
 */
#include "slowctl/fcmctl/backup/restore.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <grp.h>
#include <pwd.h>
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
#include "slowctl/fcmctl/backup/settings.h"
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
	bool named; /* --database */
	bool dry;
	struct files_as as; /* the database will be */
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
	r = r == 0 ? files_check_writers(s->from, s->sums, s->error) : r;
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

static bool is_kind(const json_t *file, const char *kind)
{
	return strcmp(value_string(file, "kind", ""), kind) == 0;
}

/* Such a file is part of a backup, with this name, path and mode. */
static bool is_part(const struct restoring *s, const json_t *file)
{
	const char *name = value_string(file, "name", ""), *path = value_string(file, "path", "");
	long long mode = value_integer(file, "mode", -1);

	if (mode != 0600 && mode != 0640 && mode != 0644) {
		return false;
	}
	if (is_kind(file, "database")) {
		return strcmp(name, "station.db") == 0;
	}
	if (is_kind(file, "archive")) {
		return fnmatch("station-[0-9][0-9][0-9][0-9].db", name, 0) == 0;
	}
	return (is_kind(file, "configuration") || is_kind(file, "secret")) &&
	       strncmp(name, "files", 5) == 0 && strcmp(name + 5, path) == 0 &&
	       settings_allowed(&s->ctl->station, s->from, value_at(s->what, "files"), path);
}

/* Of each file the sum is known: else it was not checked. A restore is root's: it makes no other files than these. */
static int check_list(struct restoring *s)
{
	const json_t *files = value_at(s->what, "files"), *file;
	size_t n, databases = 0;

	json_array_foreach ((json_t *)(uintptr_t)files, n, file) {
		const char *name = value_string(file, "name", "");

		if (json_object_get(s->sums, name) == NULL || !is_part(s, file)) {
			return sc_fail(s->error, -EUCLEAN, "damaged", "Use another backup.",
				       "%s: '%.200s' is no part of a backup, as backup.json has it",
				       s->from, name);
		}
		databases += is_kind(file, "database");
	}
	if (databases != 1 || json_object_get(s->sums, "backup.json") == NULL) {
		return sc_fail(s->error, -EUCLEAN, "damaged", "Use another backup.",
			       "%s: backup.json does not fit to " FILES_SUMS, s->from);
	}
	return 0;
}

/* An installed daemon reads the path of its configuration: in another place it would begin with number 1. */
static int check_target(struct restoring *s)
{
	const char *was = value_string(s->what, "database", ""), *is = s->ctl->station.database;

	if (!s->ctl->station.installed || s->named || strcmp(was, is) == 0) {
		return 0;
	}
	return sc_fail(s->error, -EINVAL, "refused",
		       "Name the one of the daemon's configuration ([store] database): "
		       "--database PATH.",
		       "the database of the backup was %s, not %s", was, is);
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

/*
 * The lock of the daemon's store. Its directory is the daemon's user's, who may have put a link there: only a file that
 * was just made is given to that user. 0 or negative errno; -EBUSY: a daemon has it.
 */
static int take_lock(struct restoring *s, const char *path)
{
	const int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
	bool made = false;

	s->lock = open(path, flags);
	if (s->lock < 0 && errno == ENOENT) {
		if (s->dry) {
			return 0;
		}
		s->lock = open(path, flags | O_CREAT | O_EXCL, 0660);
		made = true;
	}
	if (s->lock < 0) {
		return -errno;
	}
	if (made && geteuid() == 0 && fchown(s->lock, s->as.user, s->as.group) < 0) {
		return -errno;
	}
	return flock(s->lock, LOCK_EX | LOCK_NB) == 0 ? 0 : errno == EWOULDBLOCK ? -EBUSY : -errno;
}

/* The lock, and the socket: while its database fails a daemon holds only that. */
static int check_daemon(struct restoring *s)
{
	char path[PATH_MAX];
	int r = ctl_connect(s->ctl);

	if (r < 0 && ctl_is_away(r)) {
		r = take_lock(s, files_name(path, "%s.lock", s->ctl->station.database));
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
			"%s is newer than the backup: its daemon was alive at %s UTC, that of "
			"the backup at %s",
			database,
			ctl_time_text((double)s->present.alive_ns / 1e9, 0, alive, sizeof(alive)),
			ctl_time_text((double)s->backup.alive_ns / 1e9, 0, made, sizeof(made)));
	}
	return 0;
}

/* As systemd makes it at the first start of the daemon. */
static int make_directory(const char *directory, const struct stat *above)
{
	int fd, r = mkdir(directory, 0750) < 0 ? -errno : 0;

	if (r < 0 || geteuid() != 0) {
		return r;
	}
	fd = open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	r = fd < 0 || fchown(fd, above->st_uid, above->st_gid) < 0 ? -errno : 0;
	if (fd >= 0) {
		close(fd);
	}
	return r;
}

/* Databases belong to whom their directory belongs, or the one above it: on a new PC there is none yet. */
static int check_place(struct restoring *s)
{
	char directory[PATH_MAX], above[PATH_MAX];
	struct stat st;
	int r = 0;

	directory_of(s->ctl->station.database, directory);
	if (stat(directory, &st) < 0) {
		directory_of(directory, above);
		if (errno != ENOENT || stat(above, &st) < 0) {
			return sc_fail(
				s->error, -errno, "failed",
				"Install the packages first; systemd-tmpfiles --create makes "
				"/var/lib/fcm-server.",
				"there is no directory %s", directory);
		}
		r = s->dry ? 0 : make_directory(directory, &st);
	}
	s->as = (struct files_as){st.st_uid, st.st_gid, 0640};
	return r == 0 ? 0 : files_fail(s->error, r, "made", directory);
}

/* ------------------------------------------------------------------ files */

/* The copy beside `to`, checked again while it is made. */
static int copy_beside(const struct restoring *s, const char *name, const char *to,
		       const struct files_as *as, char ret_beside[PATH_MAX])
{
	char from[PATH_MAX], sum[FILES_SUM];
	int r;

	unlink(files_name(ret_beside, "%s" TEMPORARY, to));
	r = files_copy(files_path(from, s->from, name), ret_beside, as, sum, s->error);
	if (r == 0 && strcmp(sum, json_string_value(json_object_get(s->sums, name))) != 0) {
		r = sc_fail(s->error, -EUCLEAN, "damaged", "Look at the disk of the backup.",
			    "%s has changed while it was read", from);
	}
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

static int put_database(struct restoring *s, const char *name, const char *to)
{
	char beside[PATH_MAX], directory[PATH_MAX];
	int r = copy_beside(s, name, to, &s->as, beside);

	if (r == 0 && access(to, F_OK) == 0) {
		r = database_settle(to);
		/* One that is damaged keeps its log, beside it. */
		r = r == 0 || r == -EUCLEAN ? keep_old(s, to, "")
					    : files_fail(s->error, r, "kept", to);
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

/* By name, for the numbers differ between PCs; without such a user it is root's. */
static struct files_as owner_of(const json_t *file)
{
	const struct passwd *user = getpwnam(value_string(file, "owner", "root"));
	const struct group *group = getgrnam(value_string(file, "group", "root"));

	return (struct files_as){user != NULL ? user->pw_uid : 0, group != NULL ? group->gr_gid : 0,
				 (mode_t)value_integer(file, "mode", 0600)};
}

/* Configuration is the administrator's: what is there stays. */
static int put_setting(struct restoring *s, const json_t *file)
{
	const char *name = value_string(file, "name", ""), *to = value_string(file, "path", "");
	const struct files_as as = owner_of(file);
	char beside[PATH_MAX], sum[FILES_SUM];
	int r;

	if (access(to, F_OK) == 0) {
		r = files_sum(to, sum, s->error);
		if (r == 0 && strcmp(sum, json_string_value(json_object_get(s->sums, name))) != 0) {
			json_array_append_new(s->kept, json_string(to));
		}
		return r;
	}
	r = files_make_parents("", to + 1, 0755, s->error);
	r = r == 0 ? copy_beside(s, name, to, &as, beside) : r;
	if (r == 0 && rename(beside, to) < 0) {
		r = files_fail(s->error, -errno, "given its name", to);
	}
	if (r == 0) {
		json_array_append_new(s->restored, json_string(to));
	}
	return r;
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
						 target(s, file, path));
		}
	}
	return r;
}

/* ------------------------------------------------------------------ the command */

static void render(struct writer *w, const json_t *result)
{
	const json_t *path;
	size_t n;

	json_array_foreach ((json_t *)(uintptr_t)value_at(result, "later"), n, path) {
		writer_line(w, WRITER_WARN, "later than this PC's clock: %s",
			    json_string_value(path));
	}
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

static int restore(struct restoring *s, const char *directory)
{
	int r = read_backup(s, directory);

	r = r == 0 ? check_target(s) : r;
	r = r == 0 ? check_list(s) : r;
	r = r == 0 ? check_place(s) : r;
	r = r == 0 ? check_daemon(s) : r;
	r = r == 0 ? check_present(s) : r;
	return r == 0 && !s->dry ? put_all(s) : r;
}

int restore_run(struct ctl *ctl, const struct ctl_args *args)
{
	struct sc_error error = {0};
	struct restoring s = {.ctl = ctl,
			      .replace = ctl_given(args, CTL_REPLACE),
			      .named = ctl_given(args, CTL_DATABASE),
			      .dry = ctl_given(args, CTL_DRY_RUN),
			      .lock = -1,
			      .restored = json_array(),
			      .kept = json_array(),
			      .error = &error};
	int r = restore(&s, args->word[0]), code = CTL_DONE;
	json_t *result;

	if (r < 0) {
		code = ctl_fail(ctl, CTL_NOT, "refused", error.hint, "%s: %s",
				json_array_size(s.restored) > 0 ? "restored only in part"
								: "nothing was restored",
				error.message);
	} else {
		result = json_pack(
			"{s:s,s:O,s:s,s:b,s:O,s:O,s:O,s:o}", "backup", s.from, "made",
			json_object_get(s.what, "made"), "database", ctl->station.database,
			"dry_run", (int)s.dry, "last", json_object_get(s.what, "last"), "restored",
			s.restored, "kept", s.kept, "later",
			place_later(args->word[0], ctl->station.board, (int64_t)(ctl_now() * 1e9)));
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
