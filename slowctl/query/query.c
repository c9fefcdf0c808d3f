/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Read-only queries: opens the database without changing it, makes JSON of SQLite's rows (private.h), and answers
 * queries of the journal of commands. See query.h for the answers.
 */
#include "slowctl/query/private.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "schemas/rows.h"
#include "slowctl/param/kind_key.h"
#include "slowctl/param/param.h"
#include "slowctl/query/sql_file.h"

#define BUSY_MS 1000
/* Of SQLite's machine, between two looks at the clock. A look costs less than one of them in a hundred; a row
 * that must come from the disk takes some ten. */
#define LOOK_STEPS 100
#define PATH_SIZE  4096

/* ------------------------------------------------------------------ opening */

/* `path` as SQLite's URI: what has a meaning there is escaped. */
static int make_uri(const char *path, const char *options, char *uri, size_t size)
{
	size_t n = (size_t)snprintf(uri, size, "file:");

	for (; *path; path++) {
		bool plain = *path != '%' && *path != '?' && *path != '#';

		if (n + 4 >= size) {
			return -ENAMETOOLONG;
		}
		n += (size_t)snprintf(uri + n, size - n, plain ? "%c" : "%%%02x",
				      (unsigned char)*path);
	}
	if (n + strlen(options) + 1 > size) {
		return -ENAMETOOLONG;
	}
	strcpy(uri + n, options);
	return 0;
}

/* `otherwise`: what the rest of SQLite's errors mean. */
static int errno_of(int rc, int otherwise)
{
	switch (rc & 0xff) {
	case SQLITE_OK:
		return 0;
	case SQLITE_NOTADB:
	case SQLITE_CORRUPT:
		return -EUCLEAN;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return -EBUSY;
	case SQLITE_NOMEM:
		return -ENOMEM;
	default:
		return otherwise;
	}
}

static int open_as(struct query *q, const char *path, const char *options)
{
	char uri[3 * PATH_SIZE];
	int r = make_uri(path, options, uri, sizeof(uri));
	int rc;

	if (r < 0) {
		return r;
	}
	sqlite3_close(q->db);
	q->db = NULL;
	rc = sqlite3_open_v2(uri, &q->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL);
	rc = rc == SQLITE_OK ? sql_guard(q->db) : rc;
	if (rc == SQLITE_OK) {
		sqlite3_busy_timeout(q->db, BUSY_MS);
		sqlite3_db_config(q->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
		/* Opening is lazy: only a read tells. */
		rc = sqlite3_exec(q->db, "SELECT count(*) FROM sqlite_schema", NULL, NULL, NULL);
	}
	return errno_of(rc, -EACCES);
}

/*
 * With a -wal there is, or was, a daemon: SQLite reads it (and its -shm; without the right to write that,
 * from a private copy of the index). Without one the file is complete and has no writer: it is read as it is,
 * and not even a -shm is made.
 */
static int open_best(struct query *q, const char *path)
{
	char wal[PATH_SIZE + 8];
	int r;

	snprintf(wal, sizeof(wal), "%.*s-wal", PATH_SIZE, path);
	if (access(wal, F_OK) < 0) {
		r = open_as(q, path, "?mode=ro&immutable=1");
		/* A daemon may have come up meanwhile; then its -wal counts. */
		return r == 0 && access(wal, F_OK) == 0 ? open_as(q, path, "?mode=ro") : r;
	}
	r = open_as(q, path, "?mode=ro");
	return r == -EACCES ? open_as(q, path, "?mode=ro&readonly_shm=1") : r;
}

static void on_name_matches(sqlite3_context *context, int count, sqlite3_value **values)
{
	const unsigned char *pattern = sqlite3_value_text(values[0]);
	const unsigned char *name = sqlite3_value_text(values[1]);

	sqlite3_result_int(context,
			   pattern && name &&
				   param_name_matches((const char *)pattern, (const char *)name));
}

static int check_schema(struct query *q, const char *path, struct sc_error *error)
{
	struct sql_schema is = {.version = 0};

	if (sql_schema_read(q->db, &is) != SQLITE_OK || is.empty) {
		return sc_fail(error, -EUCLEAN, "database", "Is it the right file?",
			       "%s is no database of FCM-Server", path);
	}
	if (is.application_id != ROWS_APPLICATION || is.version < 1 || is.version > ROWS_SCHEMA) {
		return sc_fail(error, -EPROTONOSUPPORT, "schema", "Use that version's own program.",
			       "database %s is of another version of FCM-Server, or of another "
			       "program: its schema is %d, not %d of this version",
			       path, is.version, ROWS_SCHEMA);
	}
	q->version = is.version;
	if (sqlite3_create_function(q->db, "name_matches", 2, SQLITE_UTF8, NULL, on_name_matches,
				    NULL, NULL) != SQLITE_OK ||
	    kind_key_register(q->db) != SQLITE_OK) {
		return param_no_memory(error);
	}
	return 0;
}

static int open_fail(int r, const char *path, struct query *q, struct sc_error *error)
{
	const char *hint =
		r == -EUCLEAN  ? "The file is damaged, or no database: sqlite3 FILE .recover"
		: r == -EACCES ? "You may lack the right to read it: ask for the daemon's group."
			       : "Try again.";

	return sc_fail(error, r, "database", hint, "database %s: %s", path,
		       q->db ? sqlite3_errmsg(q->db) : strerror(-r));
}

int query_open(const char *path, struct query **ret_query, struct sc_error *error)
{
	struct query *q;
	int r;

	if (access(path, F_OK) < 0) {
		r = -errno;
		return sc_fail(error, r, "database",
			       "Has a daemon run here? Name its state directory or board.",
			       "database %s: %s", path, strerror(-r));
	}
	q = calloc(1, sizeof(*q));
	if (!q) {
		return param_no_memory(error);
	}
	r = open_best(q, path);
	r = r < 0 ? open_fail(r, path, q, error) : check_schema(q, path, error);
	if (r < 0) {
		query_close(q);
		return r;
	}
	*ret_query = q;
	return 0;
}

void query_close(struct query *q)
{
	if (!q) {
		return;
	}
	sqlite3_finalize(q->command_now);
	sqlite3_close(q->db);
	free(q);
}

const char *query_error(struct query *q)
{
	return q->error;
}

static int64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t query_utc_ns(void)
{
	return clock_ns(CLOCK_REALTIME);
}

static int past_deadline(void *context)
{
	const struct query *q = context;

	return q->deadline_ns && (uint64_t)clock_ns(CLOCK_MONOTONIC) > q->deadline_ns;
}

void query_limit(struct query *q, unsigned limit_ms)
{
	q->limit_ms = limit_ms;
	q->deadline_ns = limit_ms ? (uint64_t)clock_ns(CLOCK_MONOTONIC) + limit_ms * 1000000ull : 0;
	sqlite3_progress_handler(q->db, LOOK_STEPS, limit_ms ? past_deadline : NULL, q);
	sqlite3_busy_timeout(q->db, limit_ms && limit_ms < BUSY_MS ? (int)limit_ms : BUSY_MS);
}

/* ------------------------------------------------------------------ rows to JSON */

static int query_fail(struct query *q, int rc)
{
	if ((rc & 0xff) == SQLITE_INTERRUPT) {
		snprintf(q->error, sizeof(q->error), "not answered within %u ms", q->limit_ms);
		return -ETIME;
	}
	snprintf(q->error, sizeof(q->error), "%s", sqlite3_errmsg(q->db));
	return errno_of(rc, -EIO);
}

int query_no_memory(struct query *q)
{
	snprintf(q->error, sizeof(q->error), "out of memory");
	return -ENOMEM;
}

static int prepare(struct query *q, sqlite3_stmt **ret_statement, const char *sql,
		   const char *types, va_list args)
{
	sqlite3_stmt *s = NULL;
	int rc = sqlite3_prepare_v2(q->db, sql, -1, &s, NULL);

	for (int place = 1; types[place - 1] && rc == SQLITE_OK; place++) {
		if (types[place - 1] == 'i') {
			rc = sqlite3_bind_int64(s, place, va_arg(args, int64_t));
		} else {
			rc = sqlite3_bind_text(s, place, va_arg(args, const char *), -1,
					       SQLITE_TRANSIENT);
		}
	}
	if (rc != SQLITE_OK) {
		sqlite3_finalize(s);
		return query_fail(q, rc);
	}
	*ret_statement = s;
	return 0;
}

int query_prepare(struct query *q, sqlite3_stmt **ret_statement, const char *sql, const char *types,
		  ...)
{
	va_list args;
	int r;

	va_start(args, types);
	r = prepare(q, ret_statement, sql, types, args);
	va_end(args);
	return r;
}

int query_step(struct query *q, sqlite3_stmt *statement)
{
	int rc = sqlite3_step(statement);

	return rc == SQLITE_ROW ? 1 : rc == SQLITE_DONE ? 0 : query_fail(q, rc);
}

/* A text that is not UTF-8 (an operator's terminal may send anything) is cut to "?" */
static json_t *text_of(const char *text)
{
	json_t *json = json_string(text);

	return json ? json : json_string("?");
}

static json_t *words_of(const char *text)
{
	json_t *words = json_array();

	while (words && *text) {
		size_t length = strcspn(text, " ");

		if (length > 0) {
			json_array_append_new(words, json_stringn(text, length));
		}
		text += length + (text[length] == ' ');
	}
	return words;
}

static json_t *value_of(sqlite3_stmt *statement, int n, char form)
{
	const char *text;
	int type = sqlite3_column_type(statement, n);

	if (type == SQLITE_NULL) {
		return json_null();
	}
	if (form == 't') {
		return json_real((double)sqlite3_column_int64(statement, n) / 1e9);
	}
	if (form == 'b') {
		return json_boolean(sqlite3_column_int(statement, n));
	}
	if (type == SQLITE_INTEGER) {
		return json_integer(sqlite3_column_int64(statement, n));
	}
	if (type == SQLITE_FLOAT) {
		return json_real(sqlite3_column_double(statement, n));
	}
	text = (const char *)sqlite3_column_text(statement, n);
	return form == 'w'   ? words_of(text)
	       : form == 'j' ? json_loads(text, JSON_DECODE_ANY, NULL)
			     : text_of(text);
}

/* The object that the column named `name` is a member of; *name is the member's name in it then. */
static json_t *owner_of(json_t *object, const char **name)
{
	const char *dot = strchr(*name, '.');
	char key[32];
	json_t *inner;

	if (!dot) {
		return object;
	}
	snprintf(key, sizeof(key), "%.*s", (int)(dot - *name), *name);
	*name = dot + 1;
	inner = json_object_get(object, key);
	if (!inner) {
		inner = json_object();
		json_object_set_new(object, key, inner);
	}
	return inner;
}

json_t *query_object(sqlite3_stmt *statement)
{
	json_t *object = json_object();

	for (int n = 0; object && n < sqlite3_column_count(statement); n++) {
		const char *name = sqlite3_column_name(statement, n);
		json_t *owner = owner_of(object, &name);
		const char *form = name + strcspn(name, ":");
		char key[32];

		if (strchr(form, '?') && sqlite3_column_type(statement, n) == SQLITE_NULL) {
			continue;
		}
		snprintf(key, sizeof(key), "%.*s", (int)(form - name), name);
		if (json_object_set_new(owner, key,
					value_of(statement, n, *form ? form[1] : '\0')) < 0) {
			json_decref(object);
			return NULL;
		}
	}
	return object;
}

int query_row(struct query *q, json_t **ret_json, const char *sql, const char *types, ...)
{
	sqlite3_stmt *s;
	va_list args;
	json_t *row;
	int r;

	va_start(args, types);
	r = prepare(q, &s, sql, types, args);
	va_end(args);
	if (r < 0) {
		return r;
	}
	r = query_step(q, s);
	if (r >= 0) {
		row = r > 0 ? query_object(s) : json_null();
		r = query_answer(q, row ? 0 : query_no_memory(q), row, ret_json);
	}
	sqlite3_finalize(s);
	return r;
}

int query_add_rows(struct query *q, int r, json_t *object, const char *key, const char *sql,
		   const char *types, ...)
{
	json_t *array = json_object_get(object, key);
	sqlite3_stmt *s = NULL;
	va_list args;

	if (r < 0) {
		return r;
	}
	if (!array) {
		array = json_array();
		r = json_object_set_new(object, key, array) < 0 ? query_no_memory(q) : 0;
	}
	va_start(args, types);
	r = r == 0 ? prepare(q, &s, sql, types, args) : r;
	va_end(args);
	while (r == 0 && (r = query_step(q, s)) > 0) {
		r = json_array_append_new(array, query_object(s)) < 0 ? query_no_memory(q) : 0;
	}
	sqlite3_finalize(s);
	return r;
}

int64_t query_until_ns(const struct query_filter *f)
{
	return f->until_ns ? f->until_ns : INT64_MAX;
}

int query_list(struct query *q, const char *key, const char *sql, const struct query_filter *f,
	       json_t **ret_json)
{
	json_t *json = json_object();
	int r = query_add_rows(q, 0, json, key, sql, "iii", f->since_ns,
			       (int64_t)(f->limit ? f->limit : 100), query_until_ns(f));

	return query_answer(q, r, json, ret_json);
}

int query_answer(struct query *q, int r, json_t *object, json_t **ret_json)
{
	r = r == 0 && !object ? query_no_memory(q) : r;
	if (r < 0) {
		json_decref(object);
		return r;
	}
	*ret_json = object;
	return 0;
}

/* ------------------------------------------------------------------ commands */

#define COMMANDS_SQL(which)                                                                        \
	QUERY_COMMAND                                                                              \
	"command WHERE time >= ?1 AND time < ?8 AND (?2 IS NULL OR name_matches(?2, parameter)) "  \
	"AND " which                                                                               \
	" AND (?4 IS NULL OR who = ?4) AND (?5 = 0 OR tower = ?5) AND (?6 = 0 OR floor = ?6)"      \
	" ORDER BY id DESC LIMIT ?7"

int query_commands(struct query *q, const struct query_filter *f, json_t **ret_json)
{
	bool open = f->state && strcmp(f->state, "open") == 0;
	json_t *json = json_object();
	/* The open ones are near its end: the length of the journal does not matter. */
	int r = query_add_rows(q, 0, json, "commands",
			       open ? COMMANDS_SQL(JOURNAL_OPEN)
				    : COMMANDS_SQL("(?3 IS NULL OR state = ?3 COLLATE NOCASE)"),
			       "isssiiii", f->since_ns, f->parameter, open ? NULL : f->state,
			       f->who, (int64_t)f->tower, (int64_t)f->floor,
			       (int64_t)(f->limit ? f->limit : 100), query_until_ns(f));

	return query_answer(q, r, json, ret_json);
}

static int no_such_command(struct query *q)
{
	snprintf(q->error, sizeof(q->error), "no such command");
	return -ENOENT;
}

/* Its statement is compiled when first asked for. Once stepped it is reset, or it would hold its snapshot. */
int query_command_now(struct query *q, uint64_t id, json_t **ret_json)
{
	json_t *command = NULL;
	int r = q->command_now ? 0
			       : query_prepare(q, &q->command_now,
					       QUERY_COMMAND "command WHERE id = ?1", "");

	if (r == 0) {
		r = sqlite3_bind_int64(q->command_now, 1, (int64_t)id);
		r = r == SQLITE_OK ? query_step(q, q->command_now) : query_fail(q, r);
		command = r > 0 ? query_object(q->command_now) : NULL;
		r = r > 0 ? 0 : r == 0 ? no_such_command(q) : r;
		sqlite3_reset(q->command_now);
	}
	return query_answer(q, r, command, ret_json);
}

int query_client(struct query *q, const char *client_id, json_t **ret_json)
{
	json_t *command = NULL;
	int r = query_row(q, &command, QUERY_COMMAND "command WHERE client_id = ?1", "s",
			  client_id);

	r = r == 0 && json_is_null(command) ? no_such_command(q) : r;
	return query_answer(q, r, command, ret_json);
}

int query_command(struct query *q, const struct query_filter *f, json_t **ret_json)
{
	json_t *command = NULL;
	int r = query_command_now(q, f->command, &command);

	r = query_add_rows(q, r, command, "transitions",
			   "SELECT time AS [time:t], state, frame, detail FROM command_life"
			   " WHERE command = ?1 ORDER BY number",
			   "i", (int64_t)f->command);
	return query_answer(q, r, command, ret_json);
}

int query_head(struct query *q, const char *name, json_t **ret_head)
{
	return query_row(q, ret_head,
			 "SELECT ?1 AS name, coalesce(" QUERY_UNIT(
				 "?1") ", (SELECT unit FROM " JOURNAL_BY_PARAMETER
				       " WHERE parameter = ?1 ORDER BY id DESC LIMIT 1)) AS unit,"
				       " " QUERY_WORDS("?1") " AS [words:w]",
			 "s", name);
}
