/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Making safe: which commands, and the outcome for each module. See safe.h.
 */
#include "slowctl/safe/safe.h"

#include "slowctl/param/plural.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_MAX (PARAM_LINKS * (PARAM_OM_COUNT + PARAM_HYDROPHONE_COUNT))

struct safe {
	uint64_t number;
	unsigned count;
	struct safe_row rows[ROWS_MAX];
};

/* ------------------------------------------------------------------ which modules */

static void add_row(struct safe *s, struct params *params, struct param *load, const char *pattern)
{
	struct safe_row *row = &s->rows[s->count];
	struct param *power;

	if (!load->kind->needs[0] || isnan(load->kind->safest) || s->count == ROWS_MAX) {
		return;
	}
	power = params_sibling(params, load, load->kind->needs);
	if (!power || isnan(power->kind->safest) ||
	    (pattern && !param_name_matches(pattern, load->name) &&
	     !param_name_matches(pattern, power->name))) {
		return;
	}
	*row = (struct safe_row){.load.param = load, .power.param = power};
	snprintf(row->module, sizeof(row->module), "%.*s",
		 (int)(strrchr(load->name, '.') - load->name), load->name);
	s->count++;
}

/* ------------------------------------------------------------------ the commands */

static void refused(struct safe_row *row, const struct sc_error *error)
{
	row->settled = true;
	row->state = COMMAND_REFUSED;
	snprintf(row->text, sizeof(row->text), "%s", error->message);
	snprintf(row->hint, sizeof(row->hint), "%s", error->hint);
}

/* What the commands of all modules have in common. */
struct order {
	struct engine *e;
	struct engine_now now;
	struct engine_request q;
	bool dry; /* it is only checked whether the engine would take them */
};

/* The row is settled if it is refused. */
static void submit(const struct order *o, struct safe_row *row, struct safe_part *part,
		   uint64_t after)
{
	struct engine_request q = o->q;
	struct sc_error error = {0};
	int r;

	q.parameter = part->param->name;
	q.value = part->param->kind->safest;
	q.after = after;
	r = (o->dry ? engine_check : engine_submit)(o->e, &q, o->now, &part->command, &error);
	part->taken = r == 0 && !o->dry;
	if (r < 0) {
		refused(row, &error);
	}
	if (!part->taken) {
		part->command = 0; /* the journal does not have its number yet */
	}
}

/* A module known to be off takes no HV, not even 0; that it is off is shown by switching it off once more. */
static bool known_off(const struct safe_row *row, struct engine_now now)
{
	return row->power.param->value == row->power.param->kind->safest &&
	       param_quality(row->power.param, now.mono_ns) == PARAM_GOOD;
}

static void submit_all(struct safe *s, const struct order *o)
{
	for (unsigned n = 0; n < s->count; n++) { /* all loads first: their words leave first */
		struct safe_row *row = &s->rows[n];

		row->down = known_off(row, o->now);
		if (!row->down) {
			submit(o, row, &row->load, 0);
		}
	}
	for (unsigned n = 0; n < s->count; n++) {
		struct safe_row *row = &s->rows[n];

		if (!row->settled) {
			submit(o, row, &row->power, row->load.command);
		}
	}
}

/* All modules meant, nothing asked of them yet. */
static int gather(struct params *params, const char *pattern, struct safe **ret_safe,
		  struct sc_error *error)
{
	struct safe *s = calloc(1, sizeof(*s));

	if (!s) {
		return param_no_memory(error);
	}
	for (unsigned i = 0; i < params_count(params); i++) {
		add_row(s, params, params_at(params, i), pattern);
	}
	if (s->count == 0) {
		safe_destroy(s);
		return sc_fail(error, -ENOENT, "no-such-module",
			       "Name modules, floors or nothing: fcmctl safe floor3.om2, "
			       "fcmctl safe floor3, fcmctl safe.",
			       "nothing that matches '%.80s' has a high voltage",
			       pattern ? pattern : "");
	}
	*ret_safe = s;
	return 0;
}

int safe_begin(struct engine *e, struct params *params, const char *pattern,
	       const struct engine_request *who, struct engine_now now, struct safe **ret_safe,
	       struct sc_error *error)
{
	struct order o = {.e = e, .now = now, .dry = !who};
	struct safe *s = NULL;
	char reason[ROW_REASON_MAX];
	int r = gather(params, pattern, &s, error);

	if (!s) {
		return r;
	}
	if (who) {
		s->number = engine_next_id(e, now);
		snprintf(reason, sizeof(reason), "safe %llu%s%s", (unsigned long long)s->number,
			 who->reason && who->reason[0] ? ": " : "", who->reason ? who->reason : "");
		o.q = (struct engine_request){.who = who->who,
					      .origin = who->origin,
					      .uid = who->uid,
					      .pid = who->pid,
					      .reason = reason,
					      .job = s->number};
	}
	submit_all(s, &o);
	*ret_safe = s;
	return 0;
}

void safe_destroy(struct safe *s)
{
	free(s);
}

/* ------------------------------------------------------------------ what becomes of them */

static void take_end(struct safe_row *row, const char *what, const struct engine_out *o)
{
	row->state = o->progress.alarm ? COMMAND_UNKNOWN : o->progress.state;
	snprintf(row->text, sizeof(row->text), "%s: %.280s", what, o->progress.text);
	snprintf(row->hint, sizeof(row->hint), "%s", o->progress.hint);
}

/* Of its load only what did not end well is kept; the power's end comes behind it, whatever it was. */
static void on_load(struct safe_row *row, const struct engine_out *o)
{
	const char *name = row->load.param->kind->name;

	row->settled = o->progress.alarm || (o->progress.final && !row->power.taken);
	if (o->progress.final && o->progress.state == COMMAND_DONE) {
		row->down = true;
	} else if (o->progress.final || o->progress.alarm) {
		take_end(row, name, o);
	}
}

static void on_power(struct safe_row *row, const struct engine_out *o)
{
	bool done = o->progress.final && o->progress.state == COMMAND_DONE;
	bool not_reached = !row->down && o->progress.state == COMMAND_CANCELLED &&
			   (row->state == COMMAND_FAILED || row->state == COMMAND_REFUSED);

	row->settled = o->progress.final || o->progress.alarm;
	if (done) {
		row->down = true;
		row->state = COMMAND_DONE;
		row->hint[0] = 0;
		snprintf(row->text, sizeof(row->text), "down, and off");
	} else if (row->settled && !not_reached) {
		take_end(row, row->power.param->kind->name, o);
	}
}

static bool is_of(struct safe_part *part, const struct engine_out *o)
{
	bool is = part->taken && part->command == o->progress.id;

	part->journaled |= is;
	return is;
}

bool safe_progress(struct safe *s, const struct engine_out *o)
{
	for (unsigned n = 0; n < s->count; n++) {
		struct safe_row *row = &s->rows[n];

		if (is_of(&row->load, o)) {
			on_load(row, o);
			return true;
		}
		if (is_of(&row->power, o)) {
			on_power(row, o);
			return true;
		}
	}
	return false;
}

/* ------------------------------------------------------------------ views */

uint64_t safe_of(const char *reason, uint64_t id)
{
	unsigned long long job = 0;
	int end = 0;

	if (sscanf(reason, "safe %llu%n", &job, &end) != 1 || (reason[end] && reason[end] != ':')) {
		return 0;
	}
	return job <= id && id - job < 1000 ? job : 0;
}

uint64_t safe_number(const struct safe *s)
{
	return s->number;
}

unsigned safe_count(const struct safe *s)
{
	return s->count;
}

const struct safe_row *safe_row(const struct safe *s, unsigned n)
{
	return n < s->count ? &s->rows[n] : NULL;
}

bool safe_settled(const struct safe *s)
{
	for (unsigned n = 0; n < s->count; n++) {
		if (!s->rows[n].settled) {
			return false;
		}
	}
	return true;
}

bool safe_journaled(const struct safe *s)
{
	for (unsigned n = 0; n < s->count; n++) {
		const struct safe_row *row = &s->rows[n];

		if (row->load.taken > row->load.journaled ||
		    row->power.taken > row->power.journaled) {
			return false;
		}
	}
	return true;
}

static bool row_done(const struct safe_row *row)
{
	return row->settled && row->state == COMMAND_DONE;
}

/* The floor does not answer: it may be off, or it is switched off when the floor is back. */
static bool row_unknown(const struct safe_row *row)
{
	return row->settled && row->state == COMMAND_UNKNOWN;
}

const char *safe_text(const struct safe *s, char *buf, size_t size)
{
	unsigned off = 0, down = 0, not_done = 0, unknown = 0;

	for (unsigned n = 0; n < s->count; n++) {
		const struct safe_row *row = &s->rows[n];

		off += row_done(row);
		down += !row->settled && row->down;
		unknown += row_unknown(row);
		not_done += row->settled && !row_done(row) && !row_unknown(row);
	}
	snprintf(buf, size, "%u of %u module%s off", off, s->count, plural(s->count));
	if (down > 0) {
		snprintf(buf + strlen(buf), size - strlen(buf), ", %u more down", down);
	}
	if (not_done > 0) {
		snprintf(buf + strlen(buf), size - strlen(buf), ", %u NOT", not_done);
	}
	if (unknown > 0) {
		snprintf(buf + strlen(buf), size - strlen(buf), ", %u still unknown", unknown);
	}
	return buf;
}

enum command_state safe_state(const struct safe *s)
{
	enum command_state worst = COMMAND_DONE;

	for (unsigned n = 0; n < s->count; n++) {
		if (row_unknown(&s->rows[n])) {
			return COMMAND_UNKNOWN;
		}
		worst = row_done(&s->rows[n]) ? worst : COMMAND_FAILED;
	}
	return worst;
}
