// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The operation `safe`: high voltage down, then power off (slowctl/safe.h does it). It goes on when its client
 * goes away; its beginning and its end are events, its commands are in the journal.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/station.h"
#include "slowctl/safe.h"

#define AT_ONCE	    32u		 /* several people may want several floors safe */
#define PROGRESS_NS 500000000ull /* one in this time at most, unless something has changed */

struct safing {
	struct safing *next;
	struct safe *safe;
	struct control_request *rq; /* NULL: answered already */
	uint64_t told_ns;
	char told[120];
};

/* ------------------------------------------------------------------ answers */

static json_t *row_json(const struct safe_row *row)
{
	json_t *commands = json_array();

	if (row->load_command) {
		json_array_append_new(commands, json_integer((json_int_t)row->load_command));
	}
	if (row->power_command) {
		json_array_append_new(commands, json_integer((json_int_t)row->power_command));
	}
	return json_pack("{s:s,s:s,s:s,s:s,s:o}", "module", row->module, "state",
			 command_state_name(row->state), "text", row->text, "hint", row->hint,
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
	char text[sizeof(g->told)];

	safe_text(g->safe, text, sizeof(text));
	if (!g->rq || (strcmp(text, g->told) == 0 && now - g->told_ns < PROGRESS_NS)) {
		return;
	}
	memcpy(g->told, text, sizeof(text));
	g->told_ns = now;
	control_progress(g->rq, json_pack("{s:I,s:s}", "safe", (json_int_t)safe_number(g->safe),
					  "text", text));
}

/* ------------------------------------------------------------------ its life */

static void note(struct station *s, const struct safing *g, const char *severity, const char *text,
		 const char *action)
{
	char object[40];

	snprintf(object, sizeof(object), "safe %llu", (unsigned long long)safe_number(g->safe));
	store_put_event(s->store, severity, "safe", object, text, action, now_utc_ns());
	log_event(LOG_WARNING, "command", LOG_NO_LINK, LOG_ID_COMMAND, "%s: %s", object, text);
}

static void finish(struct station *s, struct safing **at)
{
	struct safing *g = *at;
	enum command_state state = safe_state(g->safe);
	char text[120];

	*at = g->next;
	note(s, g, "info", safe_text(g->safe, text, sizeof(text)),
	     state == COMMAND_DONE ? "" : "fcmctl command list tells what each command came to");
	answer(g);
	safe_destroy(g->safe);
	free(g);
}

void safing_progress(struct station *s, const struct engine_out *o)
{
	struct safing **at = &s->safings;

	while (*at) {
		if (safe_progress((*at)->safe, o)) {
			tell(*at);
		}
		if (safe_settled((*at)->safe)) {
			finish(s, at);
		} else {
			at = &(*at)->next;
		}
	}
}

void safing_stop(struct station *s)
{
	struct safing *g;

	while ((g = s->safings)) {
		s->safings = g->next;
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

static void begun(struct station *s, struct safing *g, const struct engine_request *who,
		  const char *pattern, bool wait)
{
	char text[400];

	snprintf(text, sizeof(text), "begun by %s for %s, %u modules%s%s", who->who,
		 pattern ? pattern : "all floors", safe_count(g->safe), who->reason ? ": " : "",
		 who->reason ? who->reason : "");
	note(s, g, "warning", text, "wait for its end: fcmctl event list");
	g->next = s->safings;
	s->safings = g;
	if (!wait) {
		answer(g);
	}
}

static bool room(const struct station *s)
{
	unsigned count = 0;

	for (const struct safing *g = s->safings; g; g = g->next) {
		count++;
	}
	return count < AT_ONCE;
}

static void fail(struct control_request *rq, int r, const struct sc_error *error)
{
	control_fail(rq, r == -ENOENT ? "usage" : "internal", error->hint, NULL, "%s",
		     error->message);
}

/* How many modules it means, and what would be refused of it now. */
static void try_dry(struct station *s, struct control_request *rq, const json_t *args,
		    const char *pattern)
{
	const struct safe_row *first = NULL;
	struct sc_error error = {0};
	struct safe *safe;
	char but[400] = "";
	unsigned refused = 0;
	int r = safe_try(s->engine, s->params, pattern,
			 (struct engine_now){now_mono_ns(), now_utc_ns()}, &safe, &error);

	if (r < 0) {
		fail(rq, r, &error);
		return;
	}
	for (unsigned n = safe_count(safe); n-- > 0;) {
		if (safe_row(safe, n)->settled) {
			first = safe_row(safe, n);
			refused++;
		}
	}
	if (first) {
		snprintf(but, sizeof(but), "; of %u it would be refused now: %s", refused,
			 first->text);
	}
	control_dry(rq, args,
		    "would take the high voltage of %u modules down and switch them off%s",
		    safe_count(safe), but);
	safe_destroy(safe);
}

static void op_safe(struct control_request *rq, json_t *args, void *context)
{
	struct station *s = context;
	const struct control_peer *peer = control_peer(rq);
	const char *pattern = json_string_value(json_object_get(args, "pattern"));
	struct engine_request who = {
		.who = peer->who,
		.origin = peer->origin,
		.uid = peer->uid,
		.pid = peer->pid,
		.reason = json_string_value(json_object_get(args, "reason")),
	};
	struct sc_error error = {0};
	struct safing *g;
	int r;

	if (control_is_dry(args)) {
		try_dry(s, rq, args, pattern);
		return;
	}
	if (!json_is_true(json_object_get(args, "yes"))) {
		control_fail(rq, "needs-yes", "repeat it with --yes", NULL,
			     "safe takes the high voltage down and switches off the modules of %s",
			     pattern ? pattern : "all floors");
		return;
	}
	g = room(s) ? calloc(1, sizeof(*g)) : NULL;
	if (!g) {
		control_fail(rq, "refused", "wait for the end of one: fcmctl event list", NULL,
			     "%u of them are under way already", AT_ONCE);
		return;
	}
	r = safe_begin(s->engine, s->params, pattern, &who,
		       (struct engine_now){now_mono_ns(), now_utc_ns()}, &g->safe, &error);
	if (r < 0) {
		free(g);
		fail(rq, r, &error);
		return;
	}
	g->rq = rq;
	begun(s, g, &who, pattern, !json_is_false(json_object_get(args, "wait")));
	if (safe_settled(g->safe)) { /* all refused: no progress will come */
		finish(s, &s->safings);
	}
	detector_drain(s);
}

const struct control_op station_safe_ops[] = {
	{"safe", ACCESS_OPERATOR, op_safe, "pattern:s reason:s wait:b yes:b dry_run:b"},
	{0},
};
