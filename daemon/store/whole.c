/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Is the file whole? What is seldom read may be damaged for months. So once a day the thread reads each row of each table, a
 * slice a second: between two slices the file may change as it likes. Indexes are not read: they can be made again.
 */
#include "daemon/store/private.h"

#include <string.h>

#include "daemon/core/now.h"

#define S	 1000000000ull
#define SLICE_NS (S / 100) /* of reading ... */
#define EVERY_NS S	   /* ... in so long; rows wait meanwhile */
#define FIRST_NS (10 * S)
#define DAY_NS	 (86400 * S)
#define AGAIN_NS (600 * S) /* after damage */

static void forget_key(struct store_whole *w)
{
	for (int n = 0; n < w->keys; n++) {
		sqlite3_value_free(w->key[n]);
	}
	w->keys = 0;
}

static uint64_t pause_ns(const struct store *s, uint64_t ns)
{
	return s->config.whole_ms ? s->config.whole_ms * 1000000ull : ns;
}

void store_whole_begin(struct store *s)
{
	forget_key(&s->whole);
	s->whole.table[0] = s->whole.damage[0] = '\0';
	s->whole.next_ns = now_mono_ns() + pause_ns(s, FIRST_NS);
}

void store_whole_end(struct store *s)
{
	forget_key(&s->whole);
}

/* Two columns, for the table. SQLITE_ROW, SQLITE_DONE or an error. */
static int ask(struct store *s, const char *sql, char *text, size_t size, int *ret_number)
{
	sqlite3_stmt *q = NULL;
	char table[sizeof(s->whole.table)];
	int rc = sqlite3_prepare_v2(s->db, sql, -1, &q, NULL);

	snprintf(table, sizeof(table), "%s", s->whole.table);
	if (rc == SQLITE_OK) {
		sqlite3_bind_text(q, 1, table, -1, SQLITE_STATIC);
		rc = sqlite3_step(q);
	}
	if (rc == SQLITE_ROW) {
		const char *got = (const char *)sqlite3_column_text(q, 0);

		snprintf(text, size, "%s", got ? got : "");
		*ret_number = sqlite3_column_int(q, 1);
	}
	sqlite3_finalize(q);
	return rc;
}

/* By name. SQLITE_DONE: there is none after this one. */
static int next_table(struct store *s)
{
	struct store_whole *w = &s->whole;
	int rc, unused;

	forget_key(w);
	rc = ask(s,
		 "SELECT name, 0 FROM sqlite_schema WHERE type = 'table' AND rootpage > 0"
		 " AND name > ?1 ORDER BY name LIMIT 1",
		 w->table, sizeof(w->table), &unused);
	if (rc != SQLITE_ROW) {
		return rc;
	}
	rc = ask(s,
		 "SELECT group_concat(name), count(*) FROM (SELECT name FROM pragma_table_info(?1)"
		 " WHERE pk > 0 AND (SELECT wr FROM pragma_table_list(?1)) ORDER BY pk)",
		 w->columns, sizeof(w->columns), &w->column_count);
	if (rc == SQLITE_ROW && w->column_count == 0) {
		snprintf(w->columns, sizeof(w->columns), "rowid");
		w->column_count = 1;
	}
	return rc == SQLITE_ROW && w->column_count > STORE_KEY_MAX ? SQLITE_RANGE : rc;
}

/* The rows of the table after the last one that was read, in the order of its key. */
static int after_key(struct store *s, sqlite3_stmt **ret_rows)
{
	const struct store_whole *w = &s->whole;
	sqlite3_str *sql = sqlite3_str_new(s->db);
	char *text;
	int rc;

	sqlite3_str_appendf(sql, "SELECT %s, * FROM \"%w\"", w->columns, w->table);
	for (int n = 0; n < w->keys; n++) {
		sqlite3_str_appendf(sql, n == 0 ? " WHERE (%s) > (?" : ", ?", w->columns);
	}
	sqlite3_str_appendf(sql, w->keys > 0 ? ") ORDER BY %s" : " ORDER BY %s", w->columns);
	text = sqlite3_str_finish(sql);
	rc = text ? sqlite3_prepare_v2(s->db, text, -1, ret_rows, NULL) : SQLITE_NOMEM;
	sqlite3_free(text);
	for (int n = 0; n < w->keys && rc == SQLITE_OK; n++) {
		rc = sqlite3_bind_value(*ret_rows, n + 1, w->key[n]);
	}
	return rc;
}

/* The next slice begins after this row. */
static int keep_key(struct store_whole *w, sqlite3_stmt *rows)
{
	forget_key(w);
	for (; w->keys < w->column_count; w->keys++) {
		w->key[w->keys] = sqlite3_value_dup(sqlite3_column_value(rows, w->keys));
		if (!w->key[w->keys]) {
			return SQLITE_NOMEM;
		}
	}
	return SQLITE_ROW;
}

/* SQLITE_ROW: there is more of the table. SQLITE_DONE: there is not. Else an error. */
static int read_rows(struct store *s, uint64_t until_ns)
{
	sqlite3_stmt *rows = NULL;
	int rc = after_key(s, &rows);

	if (rc == SQLITE_OK) {
		do {
			rc = sqlite3_step(rows); /* decodes all of the row */
		} while (rc == SQLITE_ROW && now_mono_ns() < until_ns);
	}
	if (rc == SQLITE_ROW) {
		rc = keep_key(&s->whole, rows);
	}
	sqlite3_finalize(rows);
	return rc;
}

static bool is_damage(int rc)
{
	rc &= 0xff;
	return rc == SQLITE_CORRUPT || rc == SQLITE_NOTADB || rc == SQLITE_IOERR;
}

static void publish(struct store *s, bool ended)
{
	pthread_mutex_lock(&s->lock);
	if (ended) {
		s->status.whole_ns = now_mono_ns();
	}
	if (ended || s->whole.damage[0]) {
		snprintf(s->status.damage, sizeof(s->status.damage), "%s", s->whole.damage);
	}
	pthread_mutex_unlock(&s->lock);
}

/* The first that is found is shown at once. */
static void note_damage(struct store *s, const char *what)
{
	struct store_whole *w = &s->whole;

	if (!w->damage[0]) {
		snprintf(w->damage, sizeof(w->damage), "%s: %s", what, sqlite3_errmsg(s->db));
		publish(s, false);
	}
}

static void end_pass(struct store *s)
{
	uint64_t after_ns = s->whole.damage[0] ? AGAIN_NS : DAY_NS;

	publish(s, true);
	store_whole_begin(s);
	s->whole.next_ns = now_mono_ns() + pause_ns(s, after_ns);
}

/* An error that is no damage, as of a lock, makes it try again a second later. */
void store_whole_step(struct store *s)
{
	struct store_whole *w = &s->whole;
	uint64_t until_ns = now_mono_ns() + SLICE_NS;

	w->next_ns = now_mono_ns() + pause_ns(s, EVERY_NS);
	if (!w->table[0]) {
		sqlite3_db_release_memory(s->db); /* pages as they were when they were read last */
	}
	while (now_mono_ns() < until_ns) {
		int rc = w->table[0] ? read_rows(s, until_ns) : SQLITE_DONE;

		if (is_damage(rc)) {
			note_damage(s, w->table); /* its other rows cannot be found */
		} else if (rc != SQLITE_DONE) {
			return;
		}
		rc = next_table(s);
		if (is_damage(rc)) {
			note_damage(s, "the list of tables");
		}
		if (rc == SQLITE_DONE || is_damage(rc)) {
			end_pass(s);
		}
		if (rc != SQLITE_ROW) {
			w->table[0] = '\0'; /* begins again */
			return;
		}
	}
}
