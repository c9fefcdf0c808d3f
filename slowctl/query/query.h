/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Read-only queries of the database, answered as JSON (jansson) in the shapes of
 * schemas/control.md. The answers are the same whether the daemon gives them or fcmctl reads the
 * file while the daemon is not running.
 *
 * Opening changes nothing: no migration, no checkpoint. Works beside a writing daemon (WAL: a snapshot per
 * query) and after one that was killed (its -wal is read). One thread per struct query. Every answer is
 * a new reference of the caller's. Times in answers are UTC seconds since 1970 with fraction; since_ns
 * is UTC ns since 1970, 0: from the beginning. Results: 0 or negative errno (-EIO, -EBUSY, -ENOMEM,
 * -ETIME: see query_limit()); query_error() has SQLite's message.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "slowctl/param/error.h"

struct query;

/* -ENOENT no such file, -EACCES, -EPROTONOSUPPORT (the schema is not this program's), -EUCLEAN (no
 * database of ours, or damaged). */
int query_open(const char *path, struct query **ret_query, struct sc_error *error);
void query_close(struct query *q);
const char *query_error(struct query *q); /* of the last query that failed; valid until the next */

/*
 * Queries from here on must end within limit_ms, counted from now, or end with -ETIME: a caller
 * that blocks others calls this before each query. The time is checked about every 100 steps of
 * SQLite's virtual machine, so an answer is late by no more than a few reads from the disk. 0: no
 * limit.
 */
void query_limit(struct query *q, unsigned limit_ms);

#define QUERY_ALL (-1)

/* What is asked for; 0, NULL: not given. Each query says what it uses. */
struct query_filter {
	unsigned limit; /* rows */
	int64_t since_ns;
	int64_t until_ns;
	int64_t at_ns, from_ns, to_ns;
	const char *name; /* of a parameter; the tower may be left out where that is unambiguous */
	const json_t *names;   /* full names of parameters */
	const char *parameter; /* shell pattern on the name, the tower may be left out */
	const char *state;     /* "DONE", ..., "open" (not ended) */
	const char *who;
	int tower, floor;
	uint64_t command;
	int64_t incident;
	const char *job, *after;
	int link; /* 0..3, of the ledger also QUERY_ALL */
	unsigned
		by_s; /* 60, 3600: of the ledger, rows of links and streams by minute or hour; of the phase, the last
		       * row of each; else as kept */
};
/* By limit (0: 100), since_ns, until_ns, parameter, state, who, tower, floor. Newest first. {commands:[Command]} */
int query_commands(struct query *q, const struct query_filter *f, json_t **ret_json);
/* The command with that client id; -ENOENT. */
int query_client(struct query *q, const char *client_id, json_t **ret_json);
/* The command in its present state; -ENOENT. */
int query_command_now(struct query *q, uint64_t id, json_t **ret_json);
/* `command` with transitions:[{time, state, frame, detail}], oldest first; -ENOENT. */
int query_command(struct query *q, const struct query_filter *f, json_t **ret_json);
/* {snapshots:[{name, time, who, note, pattern, parameters, unknown}]}, newest first. */
int query_snapshots(struct query *q, unsigned limit, json_t **ret_json);
/* One of them, with `id` and values:[{parameter, value}] by name; -ENOENT. */
int query_snapshot(struct query *q, const char *name, json_t **ret_json);
/* The commands of `job` (client ids JOB.N...), by client id, at most 250 from behind client id `after` (NULL: the
 * first) on: {job, commands:[Command], more}. */
int query_job(struct query *q, const struct query_filter *f, json_t **ret_json);
/* The last jobs, those that began last first, at most `limit` (0: 20): {jobs:[{job, time, who, reason, ended|null,
 * commands, open, back (commands of its roll-back), states:{STATE: commands}}]}. Names of jobs begin with the year. */
int query_jobs(struct query *q, const struct query_filter *f, json_t **ret_json);
/* The parameter `name`. Oldest first, the newest `limit` (0: 1000) before until_ns (0: all). {name, unit|null, words:[..]|null,
 * before:{time, value, setpoint}|null (the value at since_ns, not stale then, where no row has
 * it), rows:[{time, value, setpoint}] (and of old samples, rolled up, value is their mean: {..,
 * until (time of the last of them), min, max, samples, span_s (60, 3600)}), sets:[Command] (that
 * asked for another value in that time)}. words[n] is what value n means. -ENOTUNIQ: say the tower; never sampled nor set: -ENODATA of a kind that the
 * dictionary has, else -ENOENT. */
int query_history(struct query *q, const struct query_filter *f, json_t **ret_json);
/* Full names of all parameters that have samples or were set, and match one of the patterns (an array of texts;
 * NULL or empty: all), in order. -ENOENT: nothing matches one of them. */
int query_names(struct query *q, const json_t *patterns, json_t **ret_names);
/*
 * What the parameters `names` were at at_ns: {time, parameters:[{name, unit|null, words|null, value,
 * sampled, age_s, quality, setpoint, mean_of, set_by, author, open}]}. value is that of the last
 * sample before (taken at `sampled`, age_s before at_ns), null and quality "never" when there is
 * none. An unchanged value is kept every 10 minutes: behind 15 the quality is "stale". mean_of:
 * {span_s, samples, min, max} where old samples were rolled up and value is their mean (`sampled`
 * the last of them, or at_ns when it is among them), else null. setpoint: as the sample has it,
 * or what was executed since. author: {command, who, origin, reason, op, new, state (as it ended),
 * time (asked), executed} of the last command that the floor had executed by then; set_by:
 * "command" (author), "fcm" where the set register read since holds what that command did not set
 * (a module without power has HV 0), author is null then; null: none in the journal; open: number
 * of one under way then, or null.
 */
int query_at(struct query *q, const struct query_filter *f, json_t **ret_json);
/* Of `names`, between from_ns and to_ns: {from, to, compared, differences:[{name, unit, words, from:{value, ... as above}, to:{..}}]}: those whose set
 * point differs, or whose value by more than the dictionary's deadband. */
int query_diff(struct query *q, const struct query_filter *f, json_t **ret_json);
/*
 * The ledger of the rows of `link` whose time is from since_ns on and before until_ns (0: now); limit 0: 200.
 * {balanced, totals:{links:[{link, tower, floor, seconds, span, open, partial, restarts, cells, good, lost,
 *   "link-down", ..., balanced}], streams:[{link, stream, group, seconds, span, open, offered, acknowledged,
 *   in_flight, lost, dropped:{...}, balanced}]},
 *  links:[LinkRow], streams:[StreamRow], losses:[Loss],
 *  hops:[{hop, code, link, tower, floor, stream, group, frames, losses, first, last, dma_epoch, tai, begun,
 *   ended}],
 *  missing:[{begun, ended, links:[n]}], missing_s, begins}
 * Totals and balance are over all rows; links, streams and losses hold the newest `limit`, oldest
 * first, and `unbalanced`: every row that does not balance (at most 100), `off`: frames that it lacks. Rows
 * carry `session` too; one of more than a second (`seconds`) is a sum: of the span asked for, or because it is
 * old and was rolled up (totals: `span` 60 or 3600 is the longest in it). A row counts where its last second
 * does, so that whole minutes or hours of UTC have the same answer before and after that.
 * A total with rows of several floors (fibre swapped) is one entry per floor. Losses of one kind, floor,
 * group and reason that follow each other frame by frame are one entry, however many rows they have (a
 * daemon that is restarted begins a new one). `hops`: where frames were lost, of all losses of that time, most
 * frames first: hop is "link" (fibre), "board", "ring", "daemon" or "group"; a board that was reopened restarts
 * its count, and the losses of each count are an entry of their own. `missing` are the times from
 * since_ns (but not before the ledger's first row, `begins`, null when that is earlier) to until_ns that no row
 * accounts for, a gap of less than 2 s (at the end 5 s) left out, oldest first; missing_s their sum.
 */
int query_ledger(struct query *q, const struct query_filter *f, json_t **ret_json);
/* {reference:{...}|null, rows:[..], events:[..]} of one link from since_ns on and before until_ns (0: all), the newest
 * `limit` of each (0: 600). */
int query_phase_history(struct query *q, const struct query_filter *f, json_t **ret_json);
/* From since_ns on and before until_ns (0: all), the newest `limit` (0: 100) of each, newest first: {current, runs:[..]} with
 * the runs that had a part of that time, and {events:[..]} twice; with `incident` only the remarks about it. */
int query_runs(struct query *q, const struct query_filter *f, json_t **ret_json);
int query_events(struct query *q, const struct query_filter *f, json_t **ret_json);
int query_clock_history(struct query *q, const struct query_filter *f, json_t **ret_json);
/* Of since_ns to until_ns (0: now): what was active then, oldest first, the newest `limit` (0: 1000); with `incident` only
 * the one of that number:
 * {incidents:[{number, state:"active"|"cleared", severity (its worst), code, object, text, action, since, until|null, own|null,
 * observations (how many), acknowledged_by|null, acknowledged_text|null, cost:{frames, dropped, hits, dark_s}}]}. */
int query_incidents(struct query *q, const struct query_filter *f, json_t **ret_json);
/* What modules did not see in that time, by incident and link, the largest first: {dark_s (of all modules together), hits,
 * causes:[{incident, code|null, object|null, link, tower, floor, since, dark_s, hits}]}. */
int query_dark(struct query *q, const struct query_filter *f, json_t **ret_json);
/* {station:{key:value, ...}, schema, program_schema, last_write} schema: of the file, when it was
 * opened; program_schema: the newest that this program supports; last_write: time of the newest row
 * anywhere, null: none. */
int query_station(struct query *q, json_t **ret_json);
/* Whether the file is whole, by SQLite's quick_check, or with `whole` by its integrity_check, which reads all of it and
 * takes minutes where it is large: an array of what is wrong (at most 5 texts), a new reference in any case. -EINTR:
 * query_interrupt(), which may be called in a signal handler, has ended it early. */
int query_check(struct query *q, bool whole, json_t **ret_faults);
void query_interrupt(struct query *q);
