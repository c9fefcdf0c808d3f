/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Disk, database, keys. */
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <unistd.h>

#include "slowctl/access/access.h"
#include "slowctl/access/keyfile.h"
#include "slowctl/fcmctl/doctor/bounded.h"
#include "slowctl/fcmctl/doctor/doctor.h"
#include "slowctl/fcmctl/show/time.h"
#include "slowctl/fcmctl/show/value.h"
#include "slowctl/query/query.h"

/* ------------------------------------------------------------------ disk */

static void directory_of(const char *path, char *buf, size_t size)
{
	const char *slash = strrchr(path, '/');

	snprintf(buf, size, "%.*s",
		 slash == NULL	 ? 1
		 : slash == path ? 1
				 : (int)(slash - path),
		 slash == NULL ? "." : path);
}

/* The daemon makes it at its first start. */
static void say_absent(const struct doctor *d, const char *what, json_t *lines)
{
	if (doctor_enabled(d)) {
		doctor_say(lines, DOCTOR_WARN, "findmnt",
			   "no %s, and fcm-server@%u is enabled: its disk may not be mounted", what,
			   d->ctl->station.board);
	} else {
		doctor_say(lines, DOCTOR_NONE, NULL, "no %s yet: the daemon makes it", what);
	}
}

/* Below this the database itself is soon without room. */
#define LEAST_MB 256.0

static void say_space(const struct doctor *d, const char *directory, bool records, json_t *lines)
{
	double wanted_mb = records ? strtod(doctor_value(d, "record.min_free_mb"), NULL) : LEAST_MB;
	char look[PATH_MAX + 64];
	double free_mb, all_mb;
	struct statvfs fs;

	doctor_fix(look, sizeof(look), "df -h", directory);
	if (statvfs(directory, &fs) < 0 && errno == ENOENT && d->info == NULL) {
		say_absent(d, directory, lines);
		return;
	}
	if (statvfs(directory, &fs) < 0) {
		doctor_say(lines, errno == EACCES ? DOCTOR_WARN : DOCTOR_FAIL, look,
			   errno == EACCES ? "not checked: %s: %s" : "%s: %s", directory,
			   strerror(errno));
		return;
	}
	free_mb = (double)fs.f_bavail * (double)fs.f_frsize / (1 << 20);
	all_mb = (double)fs.f_blocks * (double)fs.f_frsize / (1 << 20);
	if ((fs.f_flag & ST_RDONLY) != 0) {
		doctor_say(lines, DOCTOR_FAIL, "sudo journalctl -k -n 50 --no-pager",
			   "%s is mounted read only: the kernel's log says why", directory);
	} else if (free_mb < LEAST_MB || (fs.f_files > 0 && fs.f_favail < 16)) {
		doctor_say(lines, DOCTOR_FAIL, look, "%.0f MiB and %llu files free in %s", free_mb,
			   (unsigned long long)fs.f_favail, directory);
	} else if (free_mb < wanted_mb) {
		doctor_say(lines, DOCTOR_WARN, "fcmctl record list",
			   "%.0f MiB free in %s: recordings end at %.0f (min_free_mb)", free_mb,
			   directory, wanted_mb);
	} else {
		doctor_say(lines, DOCTOR_PASS, NULL, "%.1f of %.1f GiB free in %s", free_mb / 1024,
			   all_mb / 1024, directory);
	}
}

/* The daemon makes them for its user; a copy by root may have made them root's. */
static void say_owner(const struct doctor *d, const char *path, json_t *lines)
{
	char user[64], command[80], fix[PATH_MAX + 96];
	uid_t uid = doctor_user(d, user, sizeof(user));
	struct stat st;
	mode_t needed;

	if (!d->ctl->station.installed || *user == '\0' || stat(path, &st) < 0) {
		return;
	}
	needed = S_ISDIR(st.st_mode) ? S_IRWXU : S_IRUSR | S_IWUSR;
	if (st.st_uid != uid) {
		snprintf(command, sizeof(command), "sudo chown %s", user);
		doctor_say(lines, DOCTOR_FAIL, doctor_fix(fix, sizeof(fix), command, path),
			   "%s is of uid %u: the daemon's user %s cannot write there", path,
			   (unsigned)st.st_uid, user);
	} else if ((st.st_mode & needed) != needed) {
		doctor_say(lines, DOCTOR_FAIL,
			   doctor_fix(fix, sizeof(fix),
				      S_ISDIR(st.st_mode) ? "sudo chmod u+rwx" : "sudo chmod u+rw",
				      path),
			   "%s has mode %03o: the daemon's user %s cannot write there", path,
			   (unsigned)st.st_mode & 0777, user);
	}
}

static void check_space(const struct doctor *d, json_t *lines)
{
	const char *records = doctor_value(d, "record.directory");
	static const char *const files[] = {"", "-wal", "-shm"};
	char directory[PATH_MAX], file[PATH_MAX];

	directory_of(doctor_database(d), directory, sizeof(directory));
	say_owner(d, directory, lines);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		snprintf(file, sizeof(file), "%.4000s%s", doctor_database(d), files[i]);
		say_owner(d, file, lines);
	}
	say_space(d, directory, *records == '\0', lines);
	if (*records != '\0') {
		say_space(d, records, true, lines);
	}
}

#define SYNC_WARN_S 0.1 /* each command waits so long before it is sent */
#define SYNC_FAIL_S 1.0

/* A page in a file without a name, written through to the disk. s, or negative errno. */
static double sync_s(const char *directory)
{
	static const char page[4096];
	int fd = open(directory, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	double begun = ctl_monotonic(), taken;

	if (fd < 0) {
		return -errno;
	}
	taken = write(fd, page, sizeof(page)) != (ssize_t)sizeof(page) || fdatasync(fd) < 0
			? -errno
			: ctl_monotonic() - begun;
	close(fd);
	return taken;
}

static void check_sync(const struct doctor *d, json_t *lines)
{
	char directory[PATH_MAX], look[] = "iostat -x 1 5";
	double worst = 0.0, s = 0.0;

	directory_of(doctor_database(d), directory, sizeof(directory));
	for (unsigned n = 0; n < (d->deep ? 20u : 3u) && s >= 0.0; n++) {
		s = sync_s(directory);
		worst = s > worst ? s : worst;
		if (d->deep) {
			bounded_alive();
		}
	}
	if (s == -EACCES || s == -EPERM) {
		doctor_say_rights(d, lines, "and write the directory of the database");
	} else if (s == -ENOENT && d->info == NULL) {
		say_absent(d, directory, lines);
	} else if (s == -EOPNOTSUPP || s == -EISDIR) {
		doctor_say(lines, DOCTOR_WARN, NULL, "not checked: %s has no files without a name",
			   directory);
	} else if (s < 0.0) {
		doctor_say(lines, DOCTOR_FAIL, look, "%s cannot be written: %s", directory,
			   strerror((int)-s));
	} else {
		doctor_say(lines,
			   worst > SYNC_FAIL_S	 ? DOCTOR_FAIL
			   : worst > SYNC_WARN_S ? DOCTOR_WARN
						 : DOCTOR_PASS,
			   worst > SYNC_WARN_S ? look : NULL, "a write is on disk after %.1f ms%s",
			   worst * 1e3, worst > SYNC_WARN_S ? ": each command waits for it" : "");
	}
}

/* ------------------------------------------------------------------ database */

#define QUICK_MS 1200

static struct query *checked;
static bool quick;

/* In a long check a sign of life; of a quick one the end. */
static void on_tick(int number)
{
	if (quick) {
		query_interrupt(checked);
	} else {
		bounded_alive();
	}
}

static void tick(unsigned every_ms)
{
	const struct itimerval timer = {
		.it_interval = {.tv_sec = every_ms / 1000, .tv_usec = every_ms % 1000 * 1000},
		.it_value = {.tv_sec = every_ms / 1000, .tv_usec = every_ms % 1000 * 1000}};
	const struct sigaction action = {.sa_handler = on_tick, .sa_flags = SA_RESTART};

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
}

/* What can be read goes into another file; the damaged one stays as it is. */
static const char *recover(const char *path, char *buf, size_t size)
{
	doctor_fix(buf, size, "sqlite3 -readonly", path);
	value_append(buf, size, " .dump > recovered.sql");
	return buf;
}

static void say_faults(const char *path, const json_t *faults, json_t *lines)
{
	char fix[2 * PATH_MAX];
	const json_t *fault;
	size_t i;

	json_array_foreach (faults, i, fault) {
		doctor_say(lines, DOCTOR_FAIL, recover(path, fix, sizeof(fix)), "damaged: %.300s",
			   json_string_value(fault));
	}
}

/* What the daemon found, which reads all tables once a day: true where that is more than we know. */
static bool say_as_read(const struct doctor *d, const char *path, bool all_read, json_t *lines)
{
	const char *damage = value_string(d->status, "store.damage", "");
	double age_s = value_number(d->status, "store.read_age_s");
	char age[48], fix[2 * PATH_MAX];

	if (*damage != '\0') {
		doctor_say(lines, DOCTOR_FAIL, recover(path, fix, sizeof(fix)),
			   "damaged, as the daemon has found: %.300s", damage);
		return true;
	}
	if (!all_read && age_s >= 0) {
		doctor_say(lines, DOCTOR_PASS, NULL,
			   "%s: no damage, the daemon has read all tables %s ago", path,
			   ctl_span_text(age_s, age, sizeof(age)));
		return true;
	}
	return false;
}

static void say_own_reading(const struct doctor *d, const char *path, double mb, bool all_read,
			    json_t *lines)
{
	if (all_read) {
		doctor_say(lines, DOCTOR_PASS, NULL, "%s, %.0f MiB: no damage%s", path, mb,
			   d->deep ? " in the whole file"
				   : " in its structure (--deep compares the indexes, too)");
	} else {
		doctor_say(lines, DOCTOR_WARN, "fcmctl doctor --deep",
			   "not checked to its end: no damage in what %.1f s read of %.0f MiB",
			   QUICK_MS / 1e3, mb);
	}
}

static void check_whole(const struct doctor *d, const char *path, const struct stat *st,
			json_t *lines)
{
	double mb = (double)st->st_size / (1 << 20);
	char fix[2 * PATH_MAX];
	json_t *faults = NULL;
	int r;

	quick = !d->deep;
	tick(d->deep ? 500 : QUICK_MS);
	r = query_check(checked, d->deep, &faults);
	tick(0);
	if (json_array_size(faults) > 0) {
		say_faults(path, faults, lines);
	} else if (r < 0 && r != -EINTR) {
		doctor_say(lines, DOCTOR_FAIL, recover(path, fix, sizeof(fix)), "%s: %s", path,
			   query_error(checked));
	} else if (!say_as_read(d, path, r == 0, lines)) {
		say_own_reading(d, path, mb, r == 0, lines);
	}
	json_decref(faults);
}

static void check_database(const struct doctor *d, json_t *lines)
{
	const char *path = doctor_database(d);
	char fix[2 * PATH_MAX];
	struct sc_error error = {0};
	struct stat st;
	int r = stat(path, &st) < 0 ? -errno : 0;

	if (r == -ENOENT) {
		if (d->info != NULL) {
			doctor_say(lines, DOCTOR_FAIL, "fcmctl status",
				   "%s was removed below the running daemon", path);
		} else {
			say_absent(d, path, lines);
		}
		return;
	}
	if (r == -EACCES || (r == 0 && access(path, R_OK) < 0 && errno == EACCES)) {
		doctor_say_rights(d, lines, path);
		return;
	}
	if (r == 0 && !S_ISREG(st.st_mode)) {
		doctor_fix(fix, sizeof(fix), "ls -l", path);
		doctor_say(lines, DOCTOR_FAIL, fix, "%s is no file", path);
		return;
	}
	r = r < 0 ? r : query_open(path, &checked, &error);
	if (r < 0) {
		if (r == -EUCLEAN) {
			recover(path, fix, sizeof(fix));
		} else {
			doctor_fix(fix, sizeof(fix), "ls -l", path);
		}
		doctor_say(lines, DOCTOR_FAIL, fix, "%s",
			   error.message[0] != '\0' ? error.message : strerror(-r));
		return;
	}
	check_whole(d, path, &st, lines);
	query_close(checked);
}

/* ------------------------------------------------------------------ keys */

static bool uses_keys(const struct doctor *d)
{
	return doctor_yes(d, "data.curve") || *doctor_value(d, "network.endpoint") != '\0';
}

/* Below the root where it is a file of the machine. */
static const char *place_of(const struct doctor *d, const char *key, char buf[PATH_MAX])
{
	const char *path = doctor_value(d, key);

	return strncmp(path, "/etc/", 5) == 0 ? doctor_path(d, buf, "%s", path) : path;
}

/* What makes it right, and takes no right from the daemon; "" where there is no such command. `ours`: root may make a
 * file there, and change its owner. */
static void key_fix(const char *path, bool ours, const char *user, uid_t uid, int r,
		    const struct sc_error *error, char *fix, size_t size)
{
	static const char directory[] = "chmod go-w ";
	struct stat st;

	*fix = '\0';
	if (r == -ENOENT && ours) {
		doctor_fix(fix, size, "sudo fcmctl key server", path);
		if (*user != '\0') {
			value_append(fix, size, " && sudo chown %s ", user);
			ctl_append_word(fix, size, "", path);
		}
	} else if (strcmp(error->code, "mode") == 0 && strncmp(error->hint, directory, 11) == 0) {
		doctor_fix(fix, size, "sudo chmod go-w", error->hint + sizeof(directory) - 1);
	} else if (strcmp(error->code, "mode") == 0 && stat(path, &st) == 0) {
		/* root's own gives it to the daemon by its group */
		doctor_fix(fix, size, st.st_uid == uid ? "sudo chmod 600" : "sudo chmod o-rwx,g-wx",
			   path);
	} else if (ours && strcmp(error->code, "owner") == 0 && stat(path, &st) == 0 &&
		   *user != '\0' && strncmp(error->hint, "chown ", 6) == 0) {
		snprintf(fix, size, "sudo chown %s ", user);
		ctl_append_word(fix, size, "", path);
	}
}

static void check_key_file(const struct doctor *d, json_t *lines)
{
	char secret[ACCESS_KEY_TEXT], public[ACCESS_KEY_TEXT], buf[PATH_MAX], user[64];
	char fix[2 * PATH_MAX];
	const char *configured = doctor_value(d, "network.key_file");
	const char *path = place_of(d, "network.key_file", buf);
	uid_t uid = doctor_user(d, user, sizeof(user));
	struct sc_error error = {.code = ""};
	int r = keyfile_read(uid, path, secret, public, &error);

	explicit_bzero(secret, sizeof(secret));
	if (r == 0) {
		doctor_say(lines, DOCTOR_PASS, NULL, "%s: a key that only the daemon can read",
			   path);
	} else if (r == -EACCES && strcmp(error.code, "file") == 0) {
		doctor_say_rights(d, lines, path);
	} else {
		key_fix(path, fnmatch("/etc/fcm-server/*", configured, FNM_PATHNAME) == 0, user,
			uid, r, &error, fix, sizeof(fix));
		doctor_say(lines, DOCTOR_FAIL, fix, "%s", error.message);
	}
}

static void keep_mistake(void *context, const char *text)
{
	json_array_append_new(context, json_string(text));
}

static void check_allow_list(const struct doctor *d, json_t *lines)
{
	struct access_list *list = ctl_memory(NULL, calloc(1, sizeof(*list)));
	char buf[PATH_MAX], user[64], fix[2 * PATH_MAX];
	const char *path = place_of(d, "network.allow_list", buf);
	uid_t uid = doctor_user(d, user, sizeof(user));
	json_t *mistakes = json_array();

	if (access(path, R_OK) < 0 && errno == EACCES) {
		doctor_say_rights(d, lines, path);
	} else if (access_list_read(uid, path, list, keep_mistake, mistakes) < 0) {
		doctor_say(lines, DOCTOR_FAIL,
			   doctor_fix(fix, sizeof(fix), "fcmctl key list", path), "%.300s",
			   json_array_size(mistakes) > 0
				   ? json_string_value(json_array_get(mistakes, 0))
				   : path);
	} else {
		doctor_say(lines, DOCTOR_PASS, NULL, "%s: %u keys", path, list->count);
	}
	json_decref(mistakes);
	free(list);
}

/* It may name passwords of receivers. */
static void check_notices(const struct doctor *d, json_t *lines)
{
	char path[PATH_MAX], fix[2 * PATH_MAX];
	struct stat st;

	doctor_path(d, path, "/etc/fcm-server/notify-%u.conf", d->ctl->station.board);
	if (d->ctl->station.installed && stat(path, &st) == 0 && (st.st_mode & S_IRWXO) != 0) {
		doctor_fix(fix, sizeof(fix), "sudo chgrp fcm-notify", path);
		value_append(fix, sizeof(fix), " && sudo chmod 640 ");
		ctl_append_word(fix, sizeof(fix), "", path);
		doctor_say(lines, DOCTOR_WARN, fix,
			   "%s may name secrets, and every user can read it (mode %03o)", path,
			   (unsigned)st.st_mode & 0777);
	}
}

static void check_keys(const struct doctor *d, json_t *lines)
{
	check_notices(d, lines);
	if (!doctor_needs_values(d, lines)) {
		return;
	}
	if (!uses_keys(d)) {
		doctor_say(lines, DOCTOR_NONE, NULL, "no keys are configured");
		return;
	}
	check_key_file(d, lines);
	check_allow_list(d, lines);
}

const struct doctor_check doctor_file_checks[] = {
	{"disk", check_space, "sudo journalctl -k -n 50 --no-pager", DOCTOR_FAIL},
	{"sync", check_sync, "iostat -x 1 5", DOCTOR_FAIL},
	{"database", check_database, "iostat -x 1 5", DOCTOR_FAIL},
	{"keys", check_keys, "sudo journalctl -k -n 50 --no-pager", DOCTOR_FAIL},
	{0},
};
