/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the files of operations: their tables, arguments that many operations have, common
 * handlers. */
#ifndef DAEMON_OPS_OPS_H
#define DAEMON_OPS_OPS_H

#include "daemon/station/station.h"

/* For json_pack(): the name of a member and the member. COUNT: for I of the format. */
#define FIELD(object, member) #member, (object)->member
#define COUNT(object, member) #member, (json_int_t)(object)->member

/* Arguments. */
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

extern const struct control_op param_ops[], history_ops[], snapshot_ops[], safe_ops[], serial_ops[],
	alarm_ops[];

/* True: `link` was not given, or is configured; *ret_link is QUERY_ALL or the link. False: refused, answered. */
bool link_arg(struct station *s, struct control_request *rq, const json_t *args, int *ret_link);

/* The handler of operations that the database answers: its data is a struct question with `what`, `ask`, `tell`. */
void ask_database(struct control_request *rq, json_t *args, void *context);

/* status.c: a list of `item` of the wanted link (QUERY_ALL: of each enabled one); a phase's reference. */
json_t *status_links(struct station *s, int wanted,
		     json_t *(*item)(struct station *s, unsigned link));
json_t *status_reference(const struct phase_reference *r);

/* --- param.c --- */

/* What `patterns` match, each parameter once, in their order, made into JSON by `item`; it leaves out what it gives NULL
 * for. NULL: refused (one matches nothing), answered. */
json_t *match_patterns(struct station *s, struct control_request *rq, json_t *patterns,
		       json_t *(*item)(struct station *s, const struct param *p));
/* Refused in the words of `error`, `id` the number of an existing command; 0: none. */
void refuse_command(struct control_request *rq, int r, const struct sc_error *error, uint64_t id);

/* dry_run.c: what the request, of parameter `p`, would do. 0 and the answer, or as engine_submit()
 * would fail; of -EPERM, an interlock, the answer is there as well: what it would be once that is over. */
int dry_run(struct station *s, const struct engine_request *q, const struct param *p, bool yes,
	    json_t **ret_json, struct sc_error *error);

/* snapshots.c: the store's answer, to whichever row. Stop: while clients can still be answered. */
void snapshots_stored(struct station *s, const struct store_done *done);
void snapshots_stop(struct station *s);

/* safe.c */
void safing_progress(struct station *s, const struct engine_out *out);
void safing_stop(struct station *s);

/* serial.c: all sessions end. */
void serial_stop(struct station *s);

#endif
