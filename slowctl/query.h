/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Read-only questions to the database, answered as JSON (jansson): the same answers whether the daemon
 * gives them or fcmctl reads the file while the daemon is away.
 *
 * Opening changes nothing: no migration, no checkpoint, no recovery of the file. Works beside a writing
 * daemon (WAL: a snapshot per query) and after one that was killed (its -wal is read). One thread per
 * struct query. Every answer is a new reference of the caller's; times are UTC ns since 1970 as integers
 * ("time") with an ISO 8601 text beside them ("time_text").
 */
#ifndef SLOWCTL_QUERY_H
#define SLOWCTL_QUERY_H

#include <jansson.h>
#include <stdint.h>

#include "slowctl/error.h"

struct query;

/* -ENOENT no such file, -EACCES, -EPROTONOSUPPORT (schema newer than this program), -EUCLEAN. */
int query_open(const char *path, struct query **ret_query, struct sc_error *error);
void query_close(struct query *q);

#define QUERY_ALL (-1)

struct query_filter {
	unsigned limit;	  /* 0: 100 */
	int64_t since_ns; /* 0: from the beginning */
	const char *
		parameter; /* shell pattern on the full name, or on its end without the tower; NULL: all */
	const char *state; /* "DONE", ...; "open": not ended; NULL: all */
	const char *who;   /* NULL: all */
};
/* Newest first. {"commands":[{id,client_id,time,time_text,who,...,state,detail,attempts,ended}]} */
int query_commands(struct query *q, const struct query_filter *filter, json_t **ret_json);
/* {"command":{...,"transitions":[{time,state,frame,detail}]}}; -ENOENT. */
int query_command(struct query *q, uint64_t id, json_t **ret_json);
int query_command_by_client(struct query *q, const char *client_id, json_t **ret_json);
/* Oldest first, the newest `limit` (0: 1000). {"parameter":..,"samples":[{time,time_text,value,setpoint}],
 * "sets":[commands that set it]}. `parameter`: full name; without tower where that is unambiguous
 * (-ENOTUNIQ, -ENOENT: never sampled). */
int query_history(struct query *q, const char *parameter, int64_t since_ns, unsigned limit,
		  json_t **ret_json);
/*
 * The ledger from since_ns (time of the row) on; link: 0..3 or QUERY_ALL.
 * {"balanced":bool,"links":[{link,tower,floor,cells,good,lost,link_down,...,seconds,partial,open,restarts,
 *   balanced}],
 *  "streams":[{link,stream,group,offered,acked,...,in_flight,balanced}],
 *  "unbalanced":[rows that do not balance],
 *  "losses":[{kind,code,name,link,tower,floor,stream,group,session,dma_epoch,first,last,frames,tai_ns,time,
 *   text}]}
 * with_rows: "link_rows" and "stream_rows" too.
 */
int query_ledger(struct query *q, int64_t since_ns, int link, int with_rows, json_t **ret_json);
/* {"reference":[..],"events":[..],"rows":[..]}, the newest `limit` of each (0: 600). */
int query_phase_history(struct query *q, int link, int64_t since_ns, unsigned limit,
			json_t **ret_json);
int query_runs(struct query *q, unsigned limit, json_t **ret_json); /* {"runs":[..]} */
int query_events(struct query *q, int64_t since_ns, unsigned limit, json_t **ret_json);
int query_clock_history(struct query *q, int64_t since_ns, unsigned limit, json_t **ret_json);
/* {"station":{key:value,...},"last_alive":ns,"schema":1,...} */
int query_station(struct query *q, json_t **ret_json);

/* "2026-11-20T12:00:00.123Z" of a UTC time; buf of at least 32 bytes. Returns buf. */
const char *query_time_text(int64_t utc_ns, char *buf, size_t size);

#endif
