/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The store's file: opened or created, checked, migrated to this program's schema.
 */
#include "daemon/core/now.h"
#include "daemon/core/text.h"
#include "daemon/core/thread.h"
#include "daemon/store/private.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "slowctl/param/kind_key.h"
#include "slowctl/query/sql_file.h"

#define DAMAGED_HINT                                                                               \
	"Move the file away with its -wal and -shm (sqlite3 FILE .recover repairs); then mv a "    \
	"good copy there, or restart the daemon to begin a new one."

static int file_fail(struct store *s, int r, struct sc_error *error, const char *doing)
{
	static const struct {
		int r;
		const char *hint;
	} hints[] = {
		{-EUCLEAN, DAMAGED_HINT},
		{-EACCES, "Give the daemon's user the directory and the file."},
		{-EROFS, "Make the file system writable."},
		{-ENOENT, "Make its directory, or name another file: [store] database."},
		{-ESTALE, "mv it back, or a good copy there; or restart the daemon to begin a new "
			  "one."},
		{-EISDIR, "That is a directory: name a file in it: [store] database."},
		{-ENOSPC, "Free space on that disk."},
		{-EBUSY, "Another daemon, or a program that writes, has it open: end it."},
	};
	const char *hint = "Look at the disk and at the system log.";

	for (size_t i = 0; i < sizeof(hints) / sizeof(hints[0]); i++) {
		if (hints[i].r == r) {
			hint = hints[i].hint;
		}
	}
	return sc_fail(error, r, "database", hint, "database %s: %s: %s", s->config.path, doing,
		       s->db && sqlite3_errcode(s->db) != SQLITE_OK ? sqlite3_errmsg(s->db)
								    : strerror(-r));
}

static int run_sql(struct store *s, const char *sql)
{
	return store_errno(s->db, sqlite3_exec(s->db, sql, NULL, NULL, NULL));
}

/* A pragma or query of one value as text. */
static int one_text(struct store *s, const char *sql, char *text, size_t size)
{
	struct store_query q = store_query(s->db, sql);
	const unsigned char *got = store_query_next(&q) ? sqlite3_column_text(q.q, 0) : NULL;

	snprintf(text, size, "%s", got ? (const char *)got : "");
	return store_query_end(&q);
}

static int set_modes(struct store *s, struct sc_error *error)
{
	char mode[32];
	int r;

	r = one_text(s, "PRAGMA journal_mode=WAL", mode, sizeof(mode));
	if (r == 0 && strcmp(mode, "wal") != 0) {
		r = -EROFS;
	}
	if (r == 0) {
		r = run_sql(s, "PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON;"
			       "PRAGMA wal_autocheckpoint=1000; PRAGMA journal_size_limit=16777216;"
			       /* Debian's default writes zeros over all that is deleted. */
			       "PRAGMA secure_delete=OFF");
	}
	return r < 0 ? file_fail(s, r, error, "cannot be made ready for writing") : 0;
}

/* A database grows for years; the start must not wait until all of it is read. Pages of tables that are not checked in
 * this time are checked when they are used, and by whole.c. */
#define CHECK_LIMIT_NS 300000000ull

/* SQLite walks through all pages of the file in one step: only another thread can end it. */
struct limit {
	sqlite3 *db;
	pthread_mutex_t lock;
	pthread_cond_t ended;
	bool is_over;
};

/* More than once: before the first step an interrupt has no effect. */
static void *interrupt_late(void *context)
{
	struct limit *l = context;
	uint64_t at_ns = now_mono_ns() + CHECK_LIMIT_NS;

	pthread_mutex_lock(&l->lock);
	while (!l->is_over) {
		if (thread_wait_until(&l->ended, &l->lock, at_ns) == ETIMEDOUT && !l->is_over) {
			sqlite3_interrupt(l->db);
			at_ns += CHECK_LIMIT_NS;
		}
	}
	pthread_mutex_unlock(&l->lock);
	return NULL;
}

static int check(struct store *s, struct sc_error *error)
{
	struct limit l = {
		.db = s->db, .lock = PTHREAD_MUTEX_INITIALIZER, .ended = PTHREAD_COND_INITIALIZER};
	char answer[160];
	pthread_t thread;
	int r = thread_start(&thread, "check", interrupt_late, &l);

	if (r < 0) {
		return file_fail(s, r, error, "check");
	}
	r = one_text(s, "PRAGMA quick_check(1)", answer, sizeof(answer));
	pthread_mutex_lock(&l.lock);
	l.is_over = true;
	pthread_cond_signal(&l.ended);
	pthread_mutex_unlock(&l.lock);
	pthread_join(thread, NULL);
	if (r < 0 && sqlite3_errcode(s->db) == SQLITE_INTERRUPT) {
		return 0;
	}
	if (r == 0 && strcmp(answer, "ok") != 0) {
		return sc_fail(error, -EUCLEAN, "database", DAMAGED_HINT,
			       "database %s is damaged: %s", s->config.path, answer);
	}
	return r < 0 ? file_fail(s, r, error, "check") : 0;
}

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_ino && a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static int stat_beside(const struct store *s, const char *end, char *path, size_t size,
		       struct stat *ret_st)
{
	snprintf(path, size, "%s%s", s->config.path, end);
	return stat(path, ret_st);
}

/* The command that moves the file away with its log, which is a part of it, to a directory that does not exist yet. */
static void move_hint(const struct store *s, char *hint, size_t size)
{
	static const char *const ends[] = {"", "-wal", "-shm"};
	const char *path = s->config.path, *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	char beside[4096], old[16] = ".old", files[240] = "";
	int directory = slash > path ? (int)(slash - path) : 1, n;
	struct stat st;

	for (unsigned i = 2; stat_beside(s, old, beside, sizeof(beside), &st) == 0; i++) {
		snprintf(old, sizeof(old), ".old%u", i);
	}
	for (size_t i = 0; i < 3; i++) {
		if (stat_beside(s, ends[i], beside, sizeof(beside), &st) == 0) {
			text_add(files, sizeof(files), " %s%s", name, ends[i]);
		}
	}
	n = snprintf(hint, size, "Move it away: cd %.*s && mkdir %s%s && mv%s %s%s (%s).",
		     directory, slash ? path : ".", name, old, files, name, old,
		     s->seen ? "then mv the right one there" : "the daemon then begins a new one");
	if (n >= (int)size) {
		snprintf(hint, size, "Move it with its -wal and -shm to another directory.");
	}
}

/* Before anything is changed: is it ours, and not newer than we are? Else it stays as it is, with its log. A new file
 * is begun when it has been moved away, unless there was one of ours before. */
static int check_schema(struct store *s, struct sc_error *error)
{
	int version = 0, r = store_schema_version(s->db, &store_schema, &version);
	char hint[240];

	if (r != -EPROTONOSUPPORT) {
		return r < 0 ? file_fail(s, r, error, "cannot be read") : 0;
	}
	sqlite3_db_config(s->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	s->seen = s->sessions_known;
	move_hint(s, hint, sizeof(hint));
	return sc_fail(error, r, "schema", hint,
		       "database %s is of another version of FCM-Server, or of another program: "
		       "its schema is %d, not %d of this version",
		       s->config.path, version, STORE_SCHEMA);
}

static int migrate(struct store *s, struct sc_error *error)
{
	int r = store_schema_migrate(s->db, &store_schema, s->config.at_work);

	return r < 0 ? file_fail(s, r, error, "migration") : 0;
}

static int prepare(struct store *s, struct sc_error *error)
{
	int rc = SQLITE_OK;

	for (unsigned id = 1; id < ROW_IDS && rc == SQLITE_OK; id++) {
		for (unsigned n = 0; n < STORE_STEPS && store_sql[id].sql[n] && rc == SQLITE_OK;
		     n++) {
			rc = sqlite3_prepare_v3(s->db, store_sql[id].sql[n], -1,
						SQLITE_PREPARE_PERSISTENT, &s->steps[id][n], NULL);
		}
	}
	if (rc == SQLITE_OK) {
		rc = kind_key_register(s->db);
	}
	return rc == SQLITE_OK ? 0 : file_fail(s, store_errno(s->db, rc), error, "statement");
}

static void unprepare(struct store *s)
{
	for (unsigned id = 0; id < ROW_IDS; id++) {
		for (unsigned n = 0; n < STORE_STEPS; n++) {
			sqlite3_finalize(s->steps[id][n]);
			s->steps[id][n] = NULL;
		}
	}
}

/* One writer: a lock on a file of its own beside the database (SQLite's own locks come and go with
 * transactions, and a descriptor of ours on the database would drop them when closed). */
static int take_lock(struct store *s, struct sc_error *error)
{
	char path[4096];
	int r;

	if (snprintf(path, sizeof(path), "%s.lock", s->config.path) >= (int)sizeof(path)) {
		return file_fail(s, -ENAMETOOLONG, error, "lock");
	}
	s->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0660);
	if (s->lock_fd < 0) {
		r = -errno;
		return file_fail(s, r, error, "lock file");
	}
	if (flock(s->lock_fd, LOCK_EX | LOCK_NB) < 0) {
		r = errno == EWOULDBLOCK ? -EBUSY : -errno;
		s->final = r == -EBUSY;
		return sc_fail(error, r, "database",
			       "Another daemon of this board runs: end it, or give each board its "
			       "own directory.",
			       "database %s is in use", s->config.path);
	}
	return 0;
}

static void note_log(struct store *s)
{
	char path[4096];

	if (stat_beside(s, "-wal", path, sizeof(path), &s->wal) < 0) {
		s->wal = (struct stat){0};
	}
}

/* Another file is there beside the log of the last one: SQLite would write that log into it. */
static void drop_old_log(struct store *s, const struct stat *file)
{
	char path[4096];
	struct stat wal;

	if (s->opened.st_ino && !same_file(&s->opened, file) &&
	    stat_beside(s, "-wal", path, sizeof(path), &wal) == 0 && same_file(&s->wal, &wal)) {
		unlink(path);
		snprintf(path, sizeof(path), "%s-shm", s->config.path);
		unlink(path);
	}
}

/* Look at the path: the file of before, another one, none, a directory. */
static int look(struct store *s, struct sc_error *error)
{
	struct stat st;

	if (stat(s->config.path, &st) < 0) {
		return s->seen && errno == ENOENT
			       ? file_fail(s, -ESTALE, error, "is not there any more")
			       : 0;
	}
	if (S_ISDIR(st.st_mode)) {
		s->final = true;
		return file_fail(s, -EISDIR, error, "cannot be opened");
	}
	s->seen |= st.st_size > 0;
	drop_old_log(s, &st);
	return 0;
}

static int open_file(struct store *s, int busy_ms, struct sc_error *error)
{
	int rc, r = look(s, error);

	if (r < 0) {
		return r;
	}
	rc = sqlite3_open_v2(s->config.path, &s->db,
			     SQLITE_OPEN_READWRITE | (s->seen ? 0 : SQLITE_OPEN_CREATE) |
				     SQLITE_OPEN_NOMUTEX,
			     NULL);
	rc = rc == SQLITE_OK ? sql_guard(s->db) : rc;
	if (rc != SQLITE_OK) {
		int e = s->db ? sqlite3_system_errno(s->db) : 0;

		return file_fail(s, e > 0 ? -e : -EACCES, error, "cannot be opened");
	}
	sqlite3_extended_result_codes(s->db, 1);
	sqlite3_busy_timeout(s->db, busy_ms);
	/* SQLite opens a file that it may not write for reading only. */
	if (sqlite3_db_readonly(s->db, "main") == 1) {
		return file_fail(s, access(s->config.path, W_OK) < 0 ? -errno : -EROFS, error,
				 "cannot be written");
	}
	if (stat(s->config.path, &s->opened) < 0) {
		return file_fail(s, -errno, error, "cannot be opened");
	}
	return 0;
}

bool store_file_replaced(const struct store *s)
{
	struct stat st;

	return stat(s->config.path, &st) < 0 ? errno == ENOENT : !same_file(&s->opened, &st);
}

/* A transition without its command (that row was refused, or is in another file) would be taken for one of the next
 * command with this number. */
#define LEFT_OVER "FROM transition WHERE command > coalesce((SELECT max(id) FROM command), 0)"

static int drop_left_over(struct store *s, struct sc_error *error)
{
	int r = store_find(s->db, "SELECT 1 " LEFT_OVER " LIMIT 1", 0, NULL, 0);

	if (r > 0) {
		r = run_sql(s, "DELETE " LEFT_OVER);
	}
	return r < 0 ? file_fail(s, r, error, "transitions without a command") : 0;
}

static int number_again(struct store *s, struct sc_error *error)
{
	int r = store_after_copy(s);

	return r < 0 ? file_fail(s, r, error, "the numbers after a backup") : 0;
}

static int read_all(struct store *s, struct sc_error *error)
{
	struct store_sessions sessions;
	struct store_past *past = NULL;
	int r = store_read_sessions(s, &sessions);

	r = r == 0 ? store_read_alive(s) : r;
	r = r == 0 ? store_read_past(s, &past) : r;
	if (r < 0) {
		return file_fail(s, r, error, "cannot be read");
	}
	store_adopt(s, &sessions, past);
	return 0;
}

int store_file_open(struct store *s, int busy_ms, struct sc_error *error)
{
	int r;

	s->final = false;
	r = take_lock(s, error);
	r = r == 0 ? open_file(s, busy_ms, error) : r;
	r = r == 0 ? check_schema(s, error) : r;
	r = r == 0 ? set_modes(s, error) : r;
	r = r == 0 ? check(s, error) : r;
	r = r == 0 ? migrate(s, error) : r;
	r = r == 0 ? prepare(s, error) : r;
	r = r == 0 ? drop_left_over(s, error) : r;
	r = r == 0 ? number_again(s, error) : r;
	r = r == 0 ? read_all(s, error) : r;
	if (r < 0) {
		store_file_close(s);
	} else {
		s->seen = true;
		note_log(s);
		store_whole_begin(s);
		pthread_mutex_lock(&s->lock);
		s->status.whole_ns = 0;
		s->status.damage[0] = '\0';
		pthread_mutex_unlock(&s->lock);
		sqlite3_busy_timeout(s->db, STORE_BUSY_MS);
	}
	return r;
}

void store_file_close(struct store *s)
{
	if (s->db && !store_file_replaced(s)) {
		note_log(s);
	}
	unprepare(s);
	sqlite3_close(s->db);
	s->db = NULL;
	s->doubt = false;
	if (s->lock_fd >= 0) {
		close(s->lock_fd);
		s->lock_fd = -1;
	}
}
