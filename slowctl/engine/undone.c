/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What stays to be done on a parameter: commands whose outcome is not known, and what the end of a daemon cut off of
 * a `safe`. State of the parameter, whatever becomes of the commands kept in memory: a reason (view.c) until a
 * later command on it is done.
 */
#include "slowctl/engine/private.h"

#include <errno.h>
#include <string.h>

static void note_unknown(struct undone *u, uint64_t id, const char *detail, const char *hint)
{
	if (id > u->unknown && id > u->done) {
		u->unknown = id;
		snprintf(u->detail, sizeof(u->detail), "%s", detail);
		snprintf(u->hint, sizeof(u->hint), "%s", hint);
	}
}

static void note_cut(struct undone *u, uint64_t id, uint64_t job)
{
	if (id > u->cut && id > u->done) {
		u->cut = id;
		u->cut_job = job;
	}
}

void engine_note_end(struct engine *e, const struct command *c)
{
	struct undone *u = &e->undone[c->param->number];

	if (c->state == COMMAND_DONE) {
		u->done = c->id > u->done ? c->id : u->done;
		u->unknown = u->unknown > u->done ? u->unknown : 0;
		u->cut = u->cut > u->done ? u->cut : 0;
		return;
	}
	if (c->state == COMMAND_UNKNOWN) {
		note_unknown(u, c->id, c->detail, c->hint);
	}
	if (c->job && c->recovered) {
		note_cut(u, c->id, c->job);
	}
}

int engine_recover_undone(struct engine *e, const struct engine_journal *j)
{
	struct param *p = NULL;

	if (params_find(e->params, j->parameter, &p, NULL) < 0) {
		return -ENOENT;
	}
	if (strcmp(j->state, command_state_name(COMMAND_UNKNOWN)) == 0) {
		note_unknown(&e->undone[p->number], j->id, j->detail, HINT_LOOK);
	}
	if (j->cut && j->job) {
		note_cut(&e->undone[p->number], j->id, j->job);
	}
	return 0;
}
