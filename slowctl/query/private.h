/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside the queries: from SQLite's rows to JSON. query.c has opening, commands and history;
 * station.c the rest of the station, ledger.c the ledger, at.c what was at a time.
 */
#ifndef SLOWCTL_QUERY_PRIVATE_H
#define SLOWCTL_QUERY_PRIVATE_H

#include <sqlite3.h>

#include "schemas/journal_sql.h"
#include "slowctl/query/query.h"

struct query {
	sqlite3 *db;
	sqlite3_stmt *command_now; /* query_command_now()'s, kept for all; NULL: not asked yet */
	uint64_t deadline_ns;	   /* monotonic; 0: none */
	unsigned limit_ms;
	int version; /* of the file */
	char error[200];
};

/* How a column becomes a member. NULL is null whatever the type. */
enum column_type {
	COLUMN_INT,
	COLUMN_REAL,
	COLUMN_TEXT,
	COLUMN_TIME, /* ns to s */
	COLUMN_BOOL,
	COLUMN_WORDS, /* text to an array of its words */
	COLUMN_END,
};
struct column {
	const char *key;
	enum column_type type;
};

/* A statement with its values bound in order; `types` as i (int64_t), s (const char *, NULL is NULL).
 * Negative errno. */
int query_prepare(struct query *q, sqlite3_stmt **ret_statement, const char *sql, const char *types,
		  ...);
/* 1: a row, 0: no more, negative errno. */
int query_step(struct query *q, sqlite3_stmt *statement);
/* The row's columns from `first` on; ends at COLUMN_END. A new reference, NULL: out of memory. */
json_t *query_object(sqlite3_stmt *statement, int first, const struct column *columns);
/* All rows as an array into *ret_array. Finalizes the statement, also on failure. */
int query_array(struct query *q, sqlite3_stmt *statement, const struct column *columns,
		json_t **ret_array);
/* {key: array} of it. */
int query_list(struct query *q, sqlite3_stmt *statement, const struct column *columns,
	       const char *key, json_t **ret_json);
/* Into `object`: missing, missing_s, begins, as query_ledger() tells them. Negative errno. */
int query_missing(struct query *q, int64_t since_ns, int64_t until_ns, int64_t link,
		  json_t *object);
/* {name, unit, words} of a full name. A file of an earlier daemon has units only in commands: else null. */
int query_head(struct query *q, const char *name, json_t **ret_head);
/* {time, value, setpoint} of a full name's last sample up to time_ns, null where it was stale or not known then. */
int query_standing(struct query *q, const char *name, int64_t time_ns, json_t **ret_json);
/* -ENOMEM when a jansson call failed, with its words kept. */
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

extern const struct column query_command_columns[];
#define QUERY_COMMAND_COLUMNS                                                                      \
	"id, client_id, time, who, uid, pid, origin, reason, parameter, op, old_value, "           \
	"new_value, "                                                                              \
	"unit, link, tower, floor, sequence, boot, state, detail, attempts, ended, " QUERY_WORDS(  \
		"parameter")

#endif
