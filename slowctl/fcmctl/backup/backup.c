/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fcmctl backup: the database of a station, its archives and its configuration, as a directory that is whole or has no
 * name. With the daemon running or not; nothing is asked of it.
 *
 *   DIR/fcm-backup-0-20261128T170000Z/
 *     SHA256SUMS        of all files below (sha256sum -c)
 *     backup.json       what it is, and where each file belongs
 *     station.db        the database, then its archives: station-2025.db
 *     files/etc/...     configuration, under its absolute path
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "slowctl/fcmctl/backup/archives.h"
#include "slowctl/fcmctl/backup/database.h"
#include "slowctl/fcmctl/backup/files.h"
#include "slowctl/fcmctl/backup/place.h"
#include "slowctl/fcmctl/backup/restore.h"
#include "slowctl/fcmctl/backup/settings.h"
#include "slowctl/fcmctl/core/args.h"
#include "slowctl/fcmctl/core/ctl.h"
#include "slowctl/fcmctl/show/time.h"
#include "slowctl/fcmctl/show/value.h"

#define SPARE_BYTES (4ll << 20) /* for configuration and directories */
#define MIB	    (1024.0 * 1024.0)

/* A backup while it is made. */
struct making {
	const struct ctl *ctl;
	struct place place;
	json_t *sums, *files, *left_out, *skipped, *rows;
	bool secrets;
	struct sc_error *error;
};

static double bytes_of(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? (double)st.st_size : 0.0;
}

/* The archive of this year beside a database. */
static const char *archive_path(const char *database, const char *year, char path[PATH_MAX])
{
	char stem[PATH_MAX];

	archives_stem(database, stem, sizeof(stem));
	return files_name(path, "%s-%s.db", stem, year);
}

/* Before anything is written: whether there is room. */
static int check_room(const struct making *m)
{
	const char *database = m->ctl->station.database;
	json_t *years = archives_years(database), *year;
	double need = bytes_of(database) + SPARE_BYTES, free_bytes;
	char path[PATH_MAX];
	struct statvfs disk;
	size_t n;

	need += bytes_of(files_name(path, "%s-wal", database));
	json_array_foreach (years, n, year) {
		need += bytes_of(archive_path(database, json_string_value(year), path));
	}
	json_decref(years);
	if (statvfs(m->place.directory, &disk) < 0) {
		return files_fail(m->error, -errno, "read", m->place.directory);
	}
	free_bytes = (double)disk.f_bavail * (double)disk.f_frsize;
	if (free_bytes >= need) {
		return 0;
	}
	return sc_fail(m->error, -ENOSPC, "disk-full",
		       "Free space on that disk, or name another directory.",
		       "the disk of %s is full: the backup needs %.0f MiB, %.0f MiB are free",
		       m->place.directory, need / MIB, free_bytes / MIB);
}

static void note_file(struct making *m, const char *name, const char *path, const char *kind,
		      unsigned mode, const char *sum)
{
	json_object_set_new(m->sums, name, json_string(sum));
	json_array_append_new(m->files, json_pack("{s:s,s:s,s:s,s:i}", "name", name, "path", path,
						  "kind", kind, "mode", (int)mode));
}

static int add_database(struct making *m, const char *from, const char *name, int64_t made_ns)
{
	char to[PATH_MAX], sum[FILES_SUM];
	json_t *rows = NULL;
	int r = database_copy(from, files_path(to, m->place.path, name), made_ns, &rows, m->error);

	r = r == 0 ? files_sum(to, sum, m->error) : r;
	if (r == 0) {
		note_file(m, name, from, made_ns != 0 ? "database" : "archive", 0640, sum);
	}
	if (r == 0 && made_ns != 0) {
		m->rows = json_incref(rows);
	}
	json_decref(rows);
	return r;
}

/* The database first: what the daemon moves to an archive meanwhile is then in both, and not in neither. */
static int add_databases(struct making *m)
{
	const char *database = m->ctl->station.database;
	json_t *years, *year;
	char path[PATH_MAX], name[32];
	size_t n;
	int r = add_database(m, database, "station.db", m->place.made_ns);

	years = archives_years(database);
	json_array_foreach (years, n, year) {
		snprintf(name, sizeof(name), "station-%s.db", json_string_value(year));
		archive_path(database, json_string_value(year), path);
		r = r == 0 ? add_database(m, path, name, 0) : r;
	}
	json_decref(years);
	return r;
}

/* `setting` is of settings_list(): its mode and owner are those of a restored file. */
static int add_setting(struct making *m, const json_t *setting)
{
	const char *path = value_string(setting, "path", "");
	bool secret = value_true(setting, "secret");
	const struct files_as as = {geteuid(), getegid(), secret ? 0600 : 0640};
	char name[PATH_MAX], to[PATH_MAX], sum[FILES_SUM];
	json_t *file;
	int r;

	if (secret && !m->secrets) {
		json_object_set_new(m->skipped, path, json_string("a secret (--with-keys)"));
		return 0;
	}
	files_name(name, "files%s", path);
	r = files_make_parents(m->place.path, name, 0750, m->error);
	r = r == 0 ? files_copy(path, files_path(to, m->place.path, name), &as, sum, m->error) : r;
	if (r == 0) {
		note_file(m, name, path, secret ? "secret" : "configuration",
			  (unsigned)value_integer(setting, "mode", 0600), sum);
		file = json_array_get(m->files, json_array_size(m->files) - 1);
		json_object_set(file, "owner", json_object_get(setting, "owner"));
		json_object_set(file, "group", json_object_get(setting, "group"));
	}
	return r;
}

static int add_settings(struct making *m)
{
	json_t *list = settings_list(&m->ctl->station, m->skipped), *setting, *why;
	const char *path;
	size_t n;
	int r = 0;

	json_array_foreach (list, n, setting) {
		r = r == 0 ? add_setting(m, setting) : r;
	}
	json_decref(list);
	json_object_foreach (m->skipped, path, why) {
		json_array_append_new(m->left_out, json_string(path));
	}
	return r;
}

/* That the daemon has another one would be seen at the restore, or when it begins with number 1. */
static int check_database(const struct making *m, bool named)
{
	char path[PATH_MAX];

	if (named || settings_database(&m->ctl->station, path)[0] == '\0' ||
	    strcmp(path, m->ctl->station.database) == 0) {
		return 0;
	}
	return sc_fail(m->error, -EINVAL, "refused", "Name the one to copy: --database PATH.",
		       "the configuration of board %u has the database %s, not %s",
		       m->ctl->station.board, path, m->ctl->station.database);
}

/* backup.json; *ret_what is the answer of the command, too. */
static int add_description(struct making *m, json_t **ret_what)
{
	struct database_facts facts;
	char path[PATH_MAX], sum[FILES_SUM], *text;
	int r = database_facts(files_path(path, m->place.path, "station.db"), &facts, m->error);

	if (r < 0) {
		return r;
	}
	*ret_what = json_pack(
		"{s:i,s:s,s:i,s:f,s:s,s:{s:I,s:I,s:I},s:O,s:O,s:O,s:O}", "format", 1, "version",
		FCM_VERSION, "board", (int)m->place.board, "made", (double)m->place.made_ns / 1e9,
		"database", m->ctl->station.database, "last", "command", (json_int_t)facts.command,
		"run", (json_int_t)facts.run, "incident", (json_int_t)facts.incident, "rows",
		m->rows, "files", m->files, "left_out", m->left_out, "reasons", m->skipped);
	text = json_dumps(*ret_what, JSON_INDENT(1));
	files_path(path, m->place.path, "backup.json");
	r = text != NULL ? files_write(path, text, m->error)
			 : files_fail(m->error, -ENOMEM, "written", path);
	free(text);
	r = r == 0 ? files_sum(path, sum, m->error) : r;
	if (r == 0) {
		json_object_set_new(m->sums, "backup.json", json_string(sum));
	}
	return r == 0 ? files_write_sums(m->place.path, m->sums, m->error) : r;
}

static int make(struct making *m, const char *directory, bool named, json_t **ret_what)
{
	int64_t made_ns = (int64_t)(ctl_now() * 1e9);
	int r = check_database(m, named);

	r = r == 0 ? place_begin(directory, m->ctl->station.board, made_ns, &m->place, m->error)
		   : r;
	r = r == 0 ? check_room(m) : r;
	r = r == 0 ? add_databases(m) : r;
	r = r == 0 ? add_settings(m) : r;
	r = r == 0 ? add_description(m, ret_what) : r;
	r = r == 0 ? place_finish(&m->place, m->error) : r;
	if (r < 0 && m->place.lock >= 0 && r != -EBUSY) {
		place_drop(&m->place);
	}
	return r;
}

static void render(struct writer *w, const json_t *result)
{
	const json_t *reasons = value_at(result, "reasons"), *removed = value_at(result, "removed"),
		     *later = value_at(result, "later"), *path;
	const char *left_out;
	size_t n;

	value_line(w, WRITER_GOOD, result,
		   "backup of board {board}, checked: {backup} ({size} MiB)");
	value_line(w, WRITER_PLAIN, result,
		   "last numbers: command {last.command:count}, run {last.run:count}, incident "
		   "{last.incident:count}");
	json_object_foreach ((json_t *)(uintptr_t)reasons, left_out, path) {
		writer_line(w, WRITER_WARN, "left out: %s: %s", left_out, json_string_value(path));
	}
	if (value_true(result, "same_disk")) {
		writer_line(w, WRITER_WARN,
			    "it is on the disk of the database: a copy elsewhere is needed, too");
	}
	json_array_foreach ((json_t *)(uintptr_t)later, n, path) {
		writer_line(w, WRITER_WARN, "later than this PC's clock: %s",
			    json_string_value(path));
	}
	json_array_foreach ((json_t *)(uintptr_t)removed, n, path) {
		writer_line(w, WRITER_PLAIN, "removed: %s", json_string_value(path));
	}
}

static double size_of(const struct making *m)
{
	char path[PATH_MAX];
	const char *name;
	const json_t *sum;
	double bytes = 0.0;

	json_object_foreach (m->sums, name, sum) {
		bytes += bytes_of(files_path(path, m->place.path, name));
	}
	return bytes;
}

static bool same_disk(const struct making *m)
{
	struct stat backup, database;

	return stat(m->place.path, &backup) == 0 &&
	       stat(m->ctl->station.database, &database) == 0 && backup.st_dev == database.st_dev;
}

static void answer(const struct making *m, json_t *what, json_t *removed)
{
	json_object_set_new(what, "backup", json_string(m->place.path));
	json_object_set_new(what, "bytes", json_integer((json_int_t)size_of(m)));
	json_object_set_new(what, "size", json_sprintf("%.1f", size_of(m) / MIB));
	json_object_set(what, "removed", removed);
	json_object_set_new(what, "same_disk", json_boolean(same_disk(m)));
	json_object_set_new(what, "later",
			    place_later(m->place.directory, m->place.board, m->place.made_ns));
	writer_result(m->ctl->out, what, render);
}

static int run_backup(struct ctl *ctl, const struct ctl_args *args)
{
	struct sc_error error = {0};
	struct making m = {.ctl = ctl,
			   .place.lock = -1,
			   .sums = json_object(),
			   .files = json_array(),
			   .left_out = json_array(),
			   .skipped = json_object(),
			   .secrets = ctl_given(args, CTL_WITH_KEYS),
			   .error = &error};
	json_t *what = NULL, *removed = json_array();
	int r = make(&m, args->word[0], ctl_given(args, CTL_DATABASE), &what), code = CTL_DONE;

	if (r < 0) {
		code = ctl_fail(ctl, CTL_NOT, "failed", error.hint, "no backup was made: %s",
				error.message);
	} else if (ctl_given(args, CTL_KEEP) &&
		   place_thin(&m.place, (unsigned)args->number[CTL_KEEP], removed, &error) < 0) {
		code = ctl_fail(ctl, CTL_NOT, "failed", error.hint,
				"the backup %s is made, but an older one stays: %s", m.place.path,
				error.message);
	} else {
		answer(&m, what, removed);
	}
	place_end(&m.place);
	json_decref(what);
	json_decref(removed);
	json_decref(m.sums);
	json_decref(m.files);
	json_decref(m.left_out);
	json_decref(m.skipped);
	json_decref(m.rows);
	return code;
}

const struct ctl_command ctl_backup_commands[] = {
	{NULL, "backup", "DIR", "copy database, archives and configuration to DIR, checked",
	 .help = "Makes the directory fcm-backup-BOARD-TIME in DIR, with the daemon running or "
		 "not.\n"
		 "The copies are checked, and SHA256SUMS has their sums. What is interrupted has "
		 "no\n"
		 "such name; older backups stay. Secrets are left out without --with-keys.\n"
		 "Recordings are not part of it.\n\n"
		 "  fcmctl backup /mnt/backup --keep 7",
	 .options = CTL_BIT(CTL_KEEP) | CTL_BIT(CTL_WITH_KEYS), .run = run_backup},
	{NULL, "restore", "DIR",
	 "a spare PC takes over: put a backup where the station's files are",
	 .help = "DIR is a backup, or a directory with backups: then the newest one of this "
		 "board.\n"
		 "It is trusted as root: only root, or the caller, may be able to write it.\n"
		 "It is checked first. While a daemon runs, nothing is restored. A database that "
		 "is\n"
		 "newer, or of another station, is replaced only with --replace; what was there "
		 "is\n"
		 "kept beside it. Configuration that is there is not changed.\n"
		 "The daemon that is started then gives no number twice.\n\n"
		 "  fcmctl restore /mnt/backup --dry-run",
	 .options = CTL_BIT(CTL_REPLACE) | CTL_BIT(CTL_DRY_RUN), .run = restore_run},
	{0},
};
