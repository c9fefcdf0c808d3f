/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a backup has, which ones are removed, and what a restore makes. */
#include <setjmp.h>
#include <stdarg.h>
#include <sqlite3.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "slowctl/fcmctl/backup/database.h"
#include "slowctl/fcmctl/backup/files.h"
#include "slowctl/fcmctl/backup/place.h"
#include "slowctl/fcmctl/backup/settings.h"
#include "slowctl/fcmctl/show/value.h"

#define NOW_NS 1795885200000000000ll /* 2026-11-28 17:00:00 UTC */

static char top[] = "/tmp/test_backup.XXXXXX";

static const char *inside(char path[PATH_MAX], const char *name)
{
	return files_path(path, top, name);
}

static void make_directory(const char *name)
{
	char path[PATH_MAX];

	assert_int_equal(mkdir(inside(path, name), 0750), 0);
}

static void write_file(const char *name, const char *text)
{
	char path[PATH_MAX];
	struct sc_error error;

	unlink(inside(path, name));
	assert_int_equal(files_make_parents(top, name, 0755, &error), 0);
	assert_int_equal(files_write(path, text, &error), 0);
}

static bool is_there(const char *name)
{
	char path[PATH_MAX];

	return access(inside(path, name), F_OK) == 0;
}

static void test_thin(void **state)
{
	struct place p = {.board = 0, .made_ns = NOW_NS, .lock = -1};
	json_t *removed = json_array(), *later;
	struct sc_error error;
	static const char *const names[] = {
		"b/fcm-backup-0-20261126T170000Z",  "b/fcm-backup-0-20261127T170000Z",
		"b/fcm-backup-0-20261128T170000Z",  "b/fcm-backup-0-20261128T170000Za",
		"b/fcm-backup-0-20991128T170000Z",  "b/fcm-backup-0-of-ann",
		"b/fcm-backup-01-20261126T170000Z",
	};

	make_directory("b");
	for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++) {
		make_directory(names[n]);
	}
	files_path(p.directory, top, "b");
	files_path(p.path, top, names[2]);
	assert_int_equal(place_thin(&p, 3, removed, &error), 0);
	assert_int_equal(json_array_size(removed), 1);
	assert_false(is_there(names[0]));
	assert_int_equal(place_thin(&p, 1, removed, &error), 0);
	assert_int_equal(json_array_size(removed), 3);
	assert_true(is_there(names[2]));
	assert_true(is_there(names[4]));
	assert_true(is_there(names[5]));
	assert_true(is_there(names[6]));
	later = place_later(p.directory, 0, NOW_NS);
	assert_int_equal(json_array_size(later), 1);
	json_decref(later);
	json_decref(removed);
	(void)state;
}

static struct ctl_station station_in(const char *directory)
{
	struct ctl_station s = {.board = 0};

	snprintf(s.socket, sizeof(s.socket), "%s/control.sock", directory);
	return s;
}

/* Of the files of an installed station. */
static void test_allowed(void **state)
{
	struct ctl_station s = {.board = 2, .installed = true, .socket = "/run/fcm-server/2/c"};
	json_t *files = json_pack("[{s:s}]", "path", "/etc/fcm-server/board-2.conf");
	static const struct {
		const char *path;
		bool allowed;
	} cases[] = {
		{"/etc/fcm-server/board-2.conf", true},
		{"/etc/fcm-server/network-2.key", true},
		{"/etc/fcm-server/board-2.conf.d/site.conf", true},
		{"/etc/fcm-server/other/site.conf", false},
		{"/etc/fcm-server/../cron.d/x", false},
		{"/etc/systemd/system/fcm-server@2.service.d/x.conf", true},
		{"/etc/systemd/system/ssh.service.d/x.conf", false},
		{"/etc/modprobe.d/nanet3.conf", true},
		{"/etc/cron.d/x", false},
		{"/srv/dictionaries/a.conf", true},
		{"/srv/dictionaries/a.sh", false},
		{"/srv/keys/2.allow", true},
		{"/srv/keys/3.allow", false},
		{"/srv/db/station.db", false},
		{"etc/fcm-server/x", false},
		{"", false},
	};

	write_file("backup/files/etc/fcm-server/board-2.conf",
		   "[slowctl]\ndictionary = /srv/dictionaries\n"
		   "[network]\n allow_list=/srv/keys/%N.allow \n"
		   "[store]\ndatabase = /srv/db/station.db\n");
	for (size_t n = 0; n < sizeof(cases) / sizeof(cases[0]); n++) {
		char from[PATH_MAX];

		if (settings_allowed(&s, inside(from, "backup"), files, cases[n].path) !=
		    cases[n].allowed) {
			fail_msg("%s: not %d", cases[n].path, cases[n].allowed);
		}
	}
	json_decref(files);
	(void)state;
}

static const json_t *of(const json_t *list, const char *name)
{
	char path[PATH_MAX];
	const json_t *setting;
	size_t n;

	inside(path, name);
	json_array_foreach ((json_t *)(uintptr_t)list, n, setting) {
		if (strcmp(value_string(setting, "path", ""), path) == 0) {
			return setting;
		}
	}
	return NULL;
}

static void test_list(void **state)
{
	char directory[PATH_MAX], path[PATH_MAX], link_path[PATH_MAX], text[2 * PATH_MAX];
	struct ctl_station s = station_in(inside(directory, "st"));
	json_t *skipped = json_object(), *list;

	snprintf(text, sizeof(text), "dictionary = %s/named/\nallow_list = %s/large\n", top, top);
	write_file("st/real.conf", text);
	write_file("named/a.conf", "");
	write_file("large", "");
	assert_int_equal(truncate(inside(path, "large"), (4 << 20) + 1), 0);
	assert_int_equal(symlink("real.conf", inside(link_path, "st/board.conf")), 0);
	snprintf(text, sizeof(text), "key_file = %s/notify-0.conf\n", top);
	write_file("st/board.conf.d/key.conf", text);
	write_file("notify-0.conf", "password\n");
	list = settings_list(&s, skipped);
	assert_non_null(of(list, "st/board.conf"));
	assert_null(of(list, "st/real.conf"));
	assert_non_null(of(list, "st/board.conf.d/key.conf"));
	assert_true(value_true(of(list, "notify-0.conf"), "secret"));
	assert_int_equal(value_integer(of(list, "notify-0.conf"), "mode", 0), 0640);
	assert_string_not_equal(value_string(of(list, "notify-0.conf"), "owner", ""), "");
	assert_non_null(of(list, "named/a.conf"));
	assert_int_equal(json_object_size(skipped), 1);
	assert_string_equal(json_string_value(json_object_get(skipped, inside(path, "large"))),
			    "larger than 4 MiB");
	json_decref(list);
	json_decref(skipped);
	(void)state;
}

/* A right sum is no proof where others may write both. */
static void test_writers(void **state)
{
	char directory[PATH_MAX], path[PATH_MAX];
	json_t *sums = json_pack("{s:s}", "station.db", "sum");
	struct sc_error error;

	inside(directory, "w");
	write_file("w/" FILES_SUMS, "x");
	write_file("w/station.db", "x");
	assert_int_equal(files_check_writers(directory, sums, &error), 0);
	assert_int_equal(chmod(inside(path, "w/station.db"), 0660), 0);
	assert_true(files_check_writers(directory, sums, &error) < 0);
	assert_int_equal(chmod(path, 0640), 0);
	assert_int_equal(chmod(directory, 0777), 0);
	assert_true(files_check_writers(directory, sums, &error) < 0);
	json_decref(sums);
	(void)state;
}

static void run(const char *path, const char *sql)
{
	sqlite3 *db = NULL;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

static long long copied(const char *path)
{
	sqlite3 *db = NULL;
	sqlite3_stmt *q = NULL;
	long long value;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, "SELECT value FROM station WHERE key = 'copied'",
					    -1, &q, NULL),
			 SQLITE_OK);
	assert_int_equal(sqlite3_step(q), SQLITE_ROW);
	value = sqlite3_column_int64(q, 0);
	sqlite3_finalize(q);
	sqlite3_close(db);
	return value;
}

/* The time in a copy: of the copy, of the last sign of life, of the copy that it is a copy of; the earliest. */
static void test_copied(void **state)
{
	char from[PATH_MAX], link_path[PATH_MAX], to[PATH_MAX];
	static const struct {
		const char *sql;
		long long copied;
	} cases[] = {
		{"SELECT 1", 1000},
		{"INSERT INTO station VALUES('last_alive', '900')", 900},
		{"UPDATE station SET value = '2000'", 1000},
		{"INSERT INTO station VALUES('copied', '800')", 800},
		{"UPDATE station SET value = '700' WHERE key = 'last_alive'", 700},
		{"UPDATE station SET value = ''", 1000},
	};
	struct sc_error error;
	json_t *rows;

	inside(from, "real.db");
	inside(to, "copy.db");
	run(from, "PRAGMA application_id = 1178815745; PRAGMA user_version = 2;"
		  "CREATE TABLE station(key TEXT PRIMARY KEY, value TEXT) STRICT, WITHOUT ROWID");
	assert_int_equal(symlink("real.db", inside(link_path, "station.db")), 0);
	for (size_t n = 0; n < sizeof(cases) / sizeof(cases[0]); n++) {
		run(from, cases[n].sql);
		assert_int_equal(database_copy(link_path, to, 1000, &rows, &error), 0);
		assert_int_equal(copied(to), cases[n].copied);
		json_decref(rows);
		unlink(to);
	}
	(void)state;
}

static int begin(void **state)
{
	(void)state;
	return mkdtemp(top) != NULL ? 0 : -1;
}

static int end(void **state)
{
	char command[64];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", top);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_thin),   cmocka_unit_test(test_allowed),
		cmocka_unit_test(test_list),   cmocka_unit_test(test_writers),
		cmocka_unit_test(test_copied),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
