/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What several files of operations share: their tables, arguments that many operations have, common handlers. */
#pragma once

#include "daemon/control/control.h"
#include "daemon/control/json.h"
#include "daemon/core/log.h"
#include "daemon/core/now.h"
#include "daemon/ops/ops.h"
#include "daemon/station/base.h"
#include "daemon/station/lifecycle.h"
#include "daemon/station/links.h"
#include "daemon/station/records.h"
#include "daemon/station/runs.h"
#include "daemon/store/store.h"
#include "slowctl/engine/engine.h"
#include "slowctl/param/param.h"

struct question;

/* For json_pack(): the name of a member and the member. COUNT: for I of the format; NUMBER: for o. */
#define FIELD(object, member)  #member, (object)->member
#define COUNT(object, member)  #member, (json_int_t)(object)->member
#define NUMBER(object, member) #member, json_number_or_null((object)->member)

#define LINK(required)                                                                             \
	CONTROL_ARG("link", ARG_INT, required, 0, NANET3_LINKS - 1, .about = "links are 0 to 3")
#define REASON(required, bytes)                                                                    \
	CONTROL_ARG("reason", ARG_TEXT, required, 0, bytes, .about = "why, for the journal")
#define DRY_RUN                                                                                    \
	CONTROL_ARG("dry_run", ARG_BOOL, .about = "only answer what would be done, or why not")
#define YES CONTROL_ARG("yes", ARG_BOOL, .about = "do it although it is dangerous")
#define WAIT                                                                                       \
	CONTROL_ARG("wait", ARG_BOOL, .about = "false: answer when it is journaled, not at its end")
#define SINCE CONTROL_ARG("since", ARG_NUMBER, .unit = "s", .about = "not before this time")
#define UNTIL CONTROL_ARG("until", ARG_NUMBER, .unit = "s", .about = "before this time")
#define LIMIT                                                                                      \
	CONTROL_ARG("limit", ARG_INT, false, 1, 0, .about = "at most so many rows, the newest")
#define PATTERNS(required)                                                                         \
	CONTROL_ARG("names", ARG_TEXTS, required, required, 256,                                   \
		    .about = "names of parameters, or patterns: floor3.*")

extern const struct control_op record_ops[], param_ops[], history_ops[], snapshot_ops[], safe_ops[],
	serial_ops[], incident_ops[], logbook_ops[], notify_ops[];

/* True: `link` was not given, or is configured; *ret_link is QUERY_ALL or the link. False: refused, answered. */
bool link_arg(struct ops *ops, struct control_request *rq, const json_t *args, int *ret_link);

/* {"command": id} */
json_t *command_number(uint64_t id);
/* What the operation asks of the database. Its data is a struct question with `what`, `tell` and `ask` where they are not
 * the usual ones. */
struct question question_of(struct ops *ops, struct control_request *rq, json_t *args);
/* The handler of operations that the database answers. */
void ask_database(struct control_request *rq, json_t *args, void *context);

/* --- status.c: objects of schemas/control.md; new references --- */

json_t *status_json(struct ops *ops);
json_t *status_link(struct ops *ops, unsigned link);
json_t *status_phase(struct ops *ops, unsigned link);
json_t *status_clock(struct ops *ops);
json_t *status_groups(struct ops *ops);
json_t *status_members(struct ops *ops);
json_t *status_doors(struct ops *ops);
json_t *status_feed(struct ops *ops); /* null: not configured */
json_t *status_param(struct ops *ops, const struct param *p);
/* Of what is set: beyond them only with force. Of what is measured: beyond them it is an alarm. Null: none. */
json_t *status_limits(const struct param_kind *k);
/* A value of it as Parameter has it: a number, a bool, the word of an enum. */
json_t *status_value(const struct param *p, double value);
/* Our public key for consumers; null: data are not encrypted. */
json_t *status_data_key(const struct ops *ops);
/* A list of `item` of the wanted link (QUERY_ALL: of each enabled one). */
json_t *status_links(struct ops *ops, int wanted, json_t *(*item)(struct ops *ops, unsigned link));
json_t *status_reference(const struct phase_reference *r);
/* record.c */
json_t *status_record(struct ops *ops);

/* --- param.c --- */

/* What `patterns` match, each parameter once, in their order, made into JSON by `item`; it leaves out what it gives NULL
 * for. NULL: refused (one matches nothing), answered. */
json_t *match_patterns(struct ops *ops, struct control_request *rq, json_t *patterns,
		       json_t *(*item)(struct ops *ops, const struct param *p));
/* What the peer asks of the engine with these arguments: "name", "force", "reason", "client_id". */
struct engine_request request_of(const struct control_request *rq, const json_t *args);
/* Refused in the words of `error`, `id` the number of an existing command; 0: none. */
void refuse_command(struct control_request *rq, int r, const struct sc_error *error, uint64_t id);

/* dry_run.c: what the request, of parameter `p`, would do. 0 and the answer, or as engine_submit()
 * would fail; of -EPERM, an interlock, the answer is there as well: what it would be once that is over. */
int dry_run(struct ops *ops, const struct engine_request *q, const struct param *p, bool yes,
	    json_t **ret_json, struct sc_error *error);

/* snapshots.c: the store's answer, to whichever row. Stop: while clients can still be answered. */
void snapshots_stored(struct ops *ops, const struct store_done *done);
int snapshots_start(struct ops *ops);
void snapshots_stop(struct ops *ops);

/* safe.c */
void safing_progress(struct ops *ops, const struct engine_out *out);
void safing_stop(struct ops *ops);

/* --- waiters.c --- */

/* The client of `rq` waits for the end of command `id` (to_end), or for its journal row. */
void waiters_wait(struct ops *ops, uint64_t id, struct control_request *rq, bool to_end);
/* Answer a refusal of engine_submit() when it is known whether the journal has it, with its number
 * if so. `id` 0: at once. `code`: of schemas/control.md. */
void waiters_refused(struct ops *ops, uint64_t id, struct control_request *rq, const char *code,
		     const struct sc_error *error);
/* A client repeated this command: what its waiters wait for has perhaps been said already, and is said again. */
void waiters_repeat(struct ops *ops, uint64_t id);
void waiters_progress(struct ops *ops, const struct engine_out *out);
void waiters_stop(struct ops *ops);

/* --- relock.c --- */

#define SOAK_TRIALS_MAX 10000u
void op_relock(struct control_request *rq, json_t *args,
	       void *context); /* link.reset, link.align */
void op_soak(struct control_request *rq, json_t *args, void *context);
/* An FCM that boots at our command interrupts its link. */
void relock_progress(struct ops *ops, const struct engine_out *o);
void relock_judged(struct ops *ops, unsigned link, const struct phase_judgement *j);
void relock_tick(struct ops *ops);
void relock_stop(struct ops *ops);

/* serial.c: sessions whose clients are gone are closed; all sessions end. */
void serial_tick(struct ops *ops);
void serial_stop(struct ops *ops);
