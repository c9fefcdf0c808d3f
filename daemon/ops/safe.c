// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The operation `safe`: high voltage down, then power off (slowctl/safe/safe.h does it). It goes on when its client
 * goes away; its beginning and its end are events, its commands are in the journal.
 */
#include "daemon/ops/private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "slowctl/param/plural.h"
#include "slowctl/safe/safe.h"

#define AT_ONCE	    32u		 /* several people may want several floors safe */
#define PROGRESS_NS 500000000ull /* one in this time at most, unless something has changed */

struct safing {
	struct safing *next;
	struct safe *safe;
	struct control_request *rq; /* NULL: answered already */
	bool no_wait;		    /* answer as soon as all commands are in a journal */
	uint64_t sent_ns;
	char sent[120];
};

/* ------------------------------------------------------------------ answers */

static const char *modules(unsigned count, char *buf, size_t size)
{
	snprintf(buf, size, "%u module%s", count, plural(count));
	return buf;
}

static json_t *row_json(const struct safe_row *row)
{
	json_t *commands = json_array();

	if (row->load.command) {
		json_array_append_new(commands, json_integer((json_int_t)row->load.command));
	}
	if (row->power.command) {
		json_array_append_new(commands, json_integer((json_int_t)row->power.command));
	}
	return json_pack("{s:s,s:s,s:s,s:s,s:o}", FIELD(row, module), "state",
			 command_state_name(row->state), FIELD(row, text), FIELD(row, hint),
			 "commands", commands);
}

static json_t *safing_json(const struct safing *g)
{
	json_t *rows = json_array();
	char text[120];

	for (unsigned n = 0; n < safe_count(g->safe); n++) {
		json_array_append_new(rows, row_json(safe_row(g->safe, n)));
	}
	return json_pack("{s:I,s:s,s:s,s:o}", "safe", (json_int_t)safe_number(g->safe), "state",
			 safe_settled(g->safe) ? command_state_name(safe_state(g->safe)) : "QUEUED",
			 "text", safe_text(g->safe, text, sizeof(text)), "rows", rows);
}

static void answer(struct safing *g)
{
	if (g->rq) {
		control_answer(g->rq, safing_json(g));
		g->rq = NULL;
	}
}

static void tell(struct safing *g)
{
	uint64_t now = now_mono_ns();
	char text[sizeof(g->sent)];

	safe_text(g->safe, text, sizeof(text));
	if (!g->rq || g->no_wait ||
	    (strcmp(text, g->sent) == 0 && now - g->sent_ns < PROGRESS_NS)) {
		return;
	}
	memcpy(g->sent, text, sizeof(text));
	g->sent_ns = now;
	control_progress(g->rq, json_pack("{s:I,s:s}", "safe", (json_int_t)safe_number(g->safe),
					  "text", text));
}

/* ------------------------------------------------------------------ its life */

static void note(struct ops *ops, const struct safing *g, const char *severity, const char *text,
		 const char *action)
{
	char object[40];

	snprintf(object, sizeof(object), "safe %llu", (unsigned long long)safe_number(g->safe));
	store_put_event(ops->store, severity, "safe", object, text, action, now_utc_ns());
	log_event(LOG_WARNING, "command", LOG_NO_LINK, LOG_ID_COMMAND, "%s: %s", object, text);
}

static void finish(struct ops *ops, struct safing **at)
{
	struct safing *g = *at;
	enum command_state state = safe_state(g->safe);
	char text[120];

	*at = g->next;
	note(ops, g, "info", safe_text(g->safe, text, sizeof(text)),
	     state == COMMAND_DONE ? "" : "fcmctl command list shows the outcome of each command");
	answer(g);
	safe_destroy(g->safe);
	free(g);
}

void safing_progress(struct ops *ops, const struct engine_out *o)
{
	struct safing **at = &ops->safings;

	while (*at) {
		if (safe_progress((*at)->safe, o)) {
			tell(*at);
			if ((*at)->no_wait && safe_journaled((*at)->safe)) {
				answer(*at);
			}
		}
		if (safe_settled((*at)->safe)) {
			finish(ops, at);
		} else {
			at = &(*at)->next;
		}
	}
}

void safing_stop(struct ops *ops)
{
	struct safing *g;

	while ((g = ops->safings)) {
		ops->safings = g->next;
		if (g->rq) {
			control_fail(g->rq, "unknown",
				     "what was not sent is not sent any more: fcmctl safe again, "
				     "when the daemon is back",
				     NULL, "the daemon was stopped in the middle of safe %llu",
				     (unsigned long long)safe_number(g->safe));
		}
		safe_destroy(g->safe);
		free(g);
	}
}

static void started(struct ops *ops, struct safing *g, const struct engine_request *who,
		    const char *pattern)
{
	char text[ROW_WHO_MAX + ROW_REASON_MAX + 200], count[32];

	snprintf(text, sizeof(text), "started by %s for %.100s, %s%s%s", who->who,
		 pattern ? pattern : "all floors",
		 modules(safe_count(g->safe), count, sizeof(count)), who->reason ? ": " : "",
		 who->reason ? who->reason : "");
	note(ops, g, "warning", text, "wait for its end: fcmctl event list");
	g->next = ops->safings;
	ops->safings = g;
}

static bool room(const struct ops *ops)
{
	unsigned count = 0;

	for (const struct safing *g = ops->safings; g; g = g->next) {
		count++;
	}
	return count < AT_ONCE;
}

static void fail(struct control_request *rq, int r, const struct sc_error *error)
{
	control_fail_error(rq, r == -ENOENT ? "usage" : "internal", error, NULL);
}

/* What would be done to each module, in the order of the commands: all HV first. */
static json_t *plan_json(const struct safe *safe)
{
	json_t *rows = json_array();
	char is[48], text[400];

	for (unsigned n = 0; n < safe_count(safe); n++) {
		const struct safe_row *row = safe_row(safe, n);
		const struct param *load = row->load.param;

		if (row->settled) {
			snprintf(text, sizeof(text), "refused now: %s", row->text);
		} else if (row->down) {
			snprintf(text, sizeof(text), "it is off: the power off once more");
		} else {
			snprintf(text, sizeof(text),
				 "high voltage from %s%s%s down, then the power off",
				 load->has_value ? param_format(load, load->value, is, sizeof(is))
						 : "an unknown value",
				 load->has_value ? " " : "",
				 load->has_value ? load->kind->unit : "");
		}
		json_array_append_new(rows,
				      json_pack("{s:s,s:b,s:b,s:s}", FIELD(row, module), "off",
						row->down, "refused", row->settled, "text", text));
	}
	return rows;
}

static void tell_plan(struct control_request *rq, const struct safe *safe)
{
	unsigned refused = 0, off = 0;
	char count[32];
	json_t *text;

	for (unsigned n = 0; n < safe_count(safe); n++) {
		refused += safe_row(safe, n)->settled;
		off += safe_row(safe, n)->down;
	}
	text = json_sprintf("would take the high voltage of %s down and switch them off; %u off "
			    "already, %u refused now",
			    modules(safe_count(safe), count, sizeof(count)), off, refused);
	control_answer(rq, json_pack("{s:b,s:o,s:o}", "dry_run", 1, "text", text, "rows",
				     plan_json(safe)));
}

/* Whether there is anything to do, before it is asked for; with dry_run that is all. True: go on, do it. */
static bool asked_for(struct ops *ops, struct control_request *rq, const json_t *args,
		      const char *pattern)
{
	bool dry = control_is_dry(args), yes = arg_true(args, "yes");
	struct sc_error error = {0};
	struct safe *safe;
	char count[32];
	int r;

	if (yes && !dry) {
		return true;
	}
	r = safe_begin(ops->engine, ops->params, pattern, NULL, station_now(), &safe, &error);
	if (r < 0) {
		fail(rq, r, &error);
		return false;
	}
	if (dry) {
		tell_plan(rq, safe);
	} else {
		control_fail(rq, "needs-yes", "repeat it with --yes", NULL,
			     "it takes the high voltage down and switches off %s of %s",
			     modules(safe_count(safe), count, sizeof(count)),
			     pattern ? pattern : "all floors");
	}
	safe_destroy(safe);
	return false;
}

static void op_safe(struct control_request *rq, json_t *args, void *context)
{
	struct ops *ops = context;
	const char *pattern = arg_text(args, "pattern");
	struct engine_request who = request_of(rq, args);
	struct sc_error error = {0};
	struct safing *g;
	int r;

	if (!asked_for(ops, rq, args, pattern)) {
		return;
	}
	g = room(ops) ? calloc(1, sizeof(*g)) : NULL;
	if (!g) {
		control_fail(rq, "refused", "wait for the end of one: fcmctl event list", NULL,
			     "%u safe operations are already running", AT_ONCE);
		return;
	}
	r = safe_begin(ops->engine, ops->params, pattern, &who, station_now(), &g->safe, &error);
	if (r < 0) {
		free(g);
		fail(rq, r, &error);
		return;
	}
	g->rq = rq;
	g->no_wait = arg_false(args, "wait");
	started(ops, g, &who, pattern);
	if (safe_settled(g->safe)) { /* all refused: no progress will come */
		finish(ops, &ops->safings);
	}
}

const struct control_op safe_ops[] = {
	{"safe", ACCESS_OPERATOR, op_safe, "high voltage down, then power off",
	 CONTROL_ARGS(
		 {"pattern", ARG_TEXT, .about = "modules whose HV or power it names; else all"},
		 REASON(false, 400), WAIT, YES, DRY_RUN),
	 .urgent = true},
	{0},
};
