/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Making safe: lowers the high voltage of modules, then switches their power off; all modules in
 * parallel. Each module needs two commands, both in the journal before the first word leaves. The
 * engine holds the power off back until the HV has been read as down. The reason of all commands
 * has the number of the first one: "safe 17: WHY". So a daemon that ends in the middle leaves
 * nothing that is not in the journal.
 *
 *   safe_begin() -> commands of the engine;  ENGINE_PROGRESS -> safe_progress() -> rows
 *
 * The dictionary says what is made safe: a kind with `needs` and `safest` (om.hv) is set to
 * `safest`, then the kind that it needs (om.power) is set to its own `safest`. A state machine
 * without I/O; after safe_begin(), drain the engine.
 */
#pragma once

#include "slowctl/engine/engine.h"

/* One of the two commands of a module. */
struct safe_part {
	struct param *param;
	uint64_t command; /* its number; 0: none, or refused */
	bool taken;	  /* by the engine, which will announce its end */
	bool journaled;
};

struct safe_row {
	struct safe_part load, power; /* the HV, and the power that it needs */
	char module[PARAM_NAME_MAX];
	bool down;		  /* the load has been read at its safest value, or is off */
	bool settled;		  /* it has ended, or its outcome is unknown for now */
	enum command_state state; /* of all, once settled; DONE: down and off */
	char text[320], hint[240];
};

struct safe;

/*
 * Begin it for all modules whose load or power matches the pattern (of params_match(); NULL: all).
 * From `who` only name, origin, uid, pid and reason are used; NULL: a dry run, nothing is sent. -ENOENT no such
 * module, -ENOMEM. A module whose commands were, or would be, refused is a row that has settled.
 */
int safe_begin(struct engine *e, struct params *params, const char *pattern,
	       const struct engine_request *who, struct engine_now now, struct safe **ret_safe,
	       struct sc_error *error);
void safe_destroy(struct safe *s);

/* The progress of any command. True: it was one of these, and a row has changed. */
bool safe_progress(struct safe *s, const struct engine_out *progress);

/* Number of the `safe` that a command was part of, from the beginning of its reason; 0: none. */
uint64_t safe_of(const char *reason, uint64_t id);

uint64_t safe_number(const struct safe *s);
unsigned safe_count(const struct safe *s);
const struct safe_row *safe_row(const struct safe *s, unsigned n);
/* All commands are in a journal: their numbers may be given out. */
bool safe_journaled(const struct safe *s);
/* All rows are settled. */
bool safe_settled(const struct safe *s);
/* Progress and end in words: "12 of 24 modules off, 6 more down, 2 NOT, 4 still unknown". Returns buf. */
const char *safe_text(const struct safe *s, char *buf, size_t size);
/* DONE, or the worst outcome of the rows: UNKNOWN, FAILED. */
enum command_state safe_state(const struct safe *s);
