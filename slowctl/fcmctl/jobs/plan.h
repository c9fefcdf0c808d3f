/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Plans: the values of a file or a snapshot, compared with the present set values, set in a safe order. With
 * --roll-back they are set back when something fails. The order is the dictionary's (`order` in schemas/README.md).
 */
#pragma once

#include "slowctl/fcmctl/jobs/job.h"

/* What will happen to a row of a plan. */
enum plan_fate {
	PLAN_CHANGE,
	PLAN_LATER, /* an interlock refuses it now, but an earlier row changes the same object */
	PLAN_UNCHANGED,
	PLAN_IMPOSSIBLE
};

struct plan {
	struct job *job; /* its rows are in the order in which they are done */
	size_t of[PLAN_IMPOSSIBLE + 1];
};

/* Asks the daemon what each row would do, and puts the rows in order. CTL_DONE, or the exit code after an error message. */
int plan_make(struct job *job, struct plan *ret_plan);
/* Prints the table: all rows, or only those that change or cannot be done. */
void plan_show(const struct plan *plan, bool all);
/* Makes the plan of `job`, shows it, asks, and carries it out, with the options typed. The exit code. */
int plan_apply(struct job *job);

/* The present set value of a row, else its value. Borrowed. */
const json_t *plan_now(const struct job_row *row);
/* Sorts rows by step, then by their place in the file. Pure. */
void plan_sort(struct job_row *rows, size_t count);
/* `rows` in order; 0 <= at < count. Pure. */
enum plan_fate plan_fate(const struct job_row *rows, size_t at);
/* A parameter as a line of a plan; as a comment if its set value is unknown. */
void plan_line(struct writer *w, const json_t *parameter);
