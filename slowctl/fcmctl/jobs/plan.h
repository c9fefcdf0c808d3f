/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Plans: what a file (or a snapshot) wants, held against what is set now; carried out in a safe order; set back when
 * something fails. The order is the dictionary's (`order` in schemas/README.md).
 */
#ifndef SLOWCTL_FCMCTL_JOBS_PLAN_H
#define SLOWCTL_FCMCTL_JOBS_PLAN_H

#include "slowctl/fcmctl/jobs/job.h"

/* What a row of a plan comes to. */
enum plan_fate {
	PLAN_CHANGE,
	PLAN_LATER, /* an interlock refuses it now, but an earlier row of the plan works on its object */
	PLAN_UNCHANGED,
	PLAN_IMPOSSIBLE
};

struct plan {
	struct job *job; /* its rows are in the order in which they are done */
	size_t of[PLAN_IMPOSSIBLE + 1];
};

/* Ask the daemon what each row would do, and put them in order. CTL_DONE, or the exit code, everything said. */
int plan_make(struct job *job, struct plan *ret_plan);
/* The table: of all rows, or only of those that change or cannot be done. */
void plan_show(const struct plan *plan, bool all);
/* Make it, show it, ask, do it, with the options typed; the exit code. */
int plan_apply(struct job *job);

/* What it is now: the set value, else the value. Borrowed. */
const json_t *plan_now(const struct job_row *row);
/* `rows` by step, what stands earlier in the file first. Pure. */
void plan_sort(struct job_row *rows, size_t count);
/* `rows` in order; 0 <= at < count. Pure. */
enum plan_fate plan_fate(const struct job_row *rows, size_t at);
/* A value as it is typed. Returns buf. */
const char *plan_value_text(const json_t *value, char *buf, size_t size);
/* A parameter as a line of a plan; what is not known as a comment. */
void plan_line(struct writer *w, const json_t *parameter);

#endif
