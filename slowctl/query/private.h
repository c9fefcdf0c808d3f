/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside the queries: from SQLite's rows to JSON.
 */
#pragma once

#include <sqlite3.h>

#include "schemas/sql.h"
#include "slowctl/query/query.h"

struct query {
	sqlite3 *db;
	sqlite3_stmt *command_now; /* query_command_now()'s, kept for all; NULL: not asked yet */
	uint64_t deadline_ns;	   /* monotonic; 0: none */
	unsigned limit_ms;
	int version; /* of the file */
	char error[200];
};

/* A statement with its values bound in order; `types` as i (int64_t), s (const char *, NULL is NULL).
 * Negative errno. */
int query_prepare(struct query *q, sqlite3_stmt **ret_statement, const char *sql, const char *types,
		  ...);
/* 1: a row, 0: no more, negative errno. */
int query_step(struct query *q, sqlite3_stmt *statement);

/*
 * The row as an object. The SQL names its members: a column "slow" is the member "slow", with the type that SQLite has;
 * "dropped.slow" is a member of the object "dropped". A letter behind a colon converts a value that
 * is not NULL:
 *   begun:t  UTC ns: seconds    open:b  0, 1: false, true    words:w  text: an array of its words    states:j  JSON
 * Behind '?', as in "until:t?", there is no member where the value is NULL.
 * A new reference, NULL: out of memory.
 */
json_t *query_object(sqlite3_stmt *statement);
/* The first row as an object, null without one; values as for query_prepare(). Negative errno. */
int query_row(struct query *q, json_t **ret_json, const char *sql, const char *types, ...);
/* All rows, behind those that the array `key` of `object` has already. `r` < 0: an earlier part of
 * the answer has failed, nothing is asked. 0, `r`, or negative errno. */
int query_add_rows(struct query *q, int r, json_t *object, const char *key, const char *sql,
		   const char *types, ...);
/* {KEY:[rows]}, the newest `limit` (0: 100; ?2) from since_ns (?1) on and before until_ns (?3). */
int query_list(struct query *q, const char *key, const char *sql, const struct query_filter *f,
	       json_t **ret_json);
/* Before this time; of a filter without one no time is after it. */
int64_t query_until_ns(const struct query_filter *f);
/* The end of an answer: *ret_json is `object`, which is released where `r` < 0 or a part of it is missing. `r`. */
int query_answer(struct query *q, int r, json_t *object, json_t **ret_json);
/* Into `object`: missing, missing_s, begins, as in the answer of query_ledger(). Negative errno. */
int query_missing(struct query *q, int64_t since_ns, int64_t until_ns, int64_t link,
		  json_t *object);
/* {name, unit, words} of a full name. A file of an earlier daemon has units only in commands: else null. */
int query_head(struct query *q, const char *name, json_t **ret_head);
/* {time, value, setpoint} of a full name's last sample up to time_ns, null if it was stale or unknown then. */
int query_last_sample(struct query *q, const char *name, int64_t time_ns, json_t **ret_json);
/* UTC ns since 1970 by the system clock. */
int64_t query_utc_ns(void);
/* -ENOMEM when a jansson call failed; the error text is kept. */
int query_no_memory(struct query *q);

/* sampled(n), summed(n), asked(n): the names of all parameters that have samples, old ones, ended commands, and a
 * null. Skips from name to name over the keys, so that the length of history and journal does not matter. known(n):
 * all of them, and those of the open commands. */
#define QUERY_NEXT_NAMES(name, rows)                                                               \
	name "(n) AS (SELECT (SELECT min(parameter) FROM " rows ") UNION"                          \
	     " SELECT (SELECT min(parameter) FROM " rows " AND parameter > n) FROM " name          \
	     " WHERE n IS NOT NULL)"
#define QUERY_SAMPLED QUERY_NEXT_NAMES("sampled", "sample WHERE true")
#define QUERY_SUMMED  QUERY_NEXT_NAMES("summed", "sample_sum WHERE true")
#define QUERY_ASKED   QUERY_NEXT_NAMES("asked", "command WHERE ended IS NOT NULL")
#define QUERY_KNOWN_NAMES                                                                          \
	"WITH RECURSIVE " QUERY_SAMPLED ", " QUERY_SUMMED ", " QUERY_ASKED                         \
	", known(n) AS (SELECT n FROM sampled UNION SELECT n FROM summed UNION SELECT n FROM"      \
	" asked UNION SELECT parameter FROM command WHERE " JOURNAL_OPEN ") SELECT n FROM known"

/* The words of a parameter's values as the daemon left them (schemas/rows.h): NULL where it has none. */
#define QUERY_WORDS(parameter)                                                                     \
	"(SELECT value FROM station WHERE key = kind_key('words.', " parameter "))"
/* The same of its unit, "" without one: every kind of the dictionary is there. */
#define QUERY_UNIT(parameter)                                                                      \
	"(SELECT value FROM station WHERE key = kind_key('unit.', " parameter "))"

/* A Command of schemas/control.md. */
#define QUERY_COMMAND                                                                              \
	"SELECT id AS command, client_id, time AS [time:t], who, uid, pid, origin, reason,"        \
	" parameter, op, old_value AS old, new_value AS new, unit, link, tower, floor, sequence,"  \
	" boot, state, detail, attempts, ended AS [ended:t], " QUERY_WORDS(                        \
		"parameter") " AS [words:w] FROM "
