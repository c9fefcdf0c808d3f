/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The commands `fcmctl plan` and `apply`: shows a plan, asks, sends the changes. With --roll-back, after a failure,
 * sets the old values again in reverse order. An interrupted job or roll-back can be continued (--job).
 */
#include "slowctl/fcmctl/jobs/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "slowctl/fcmctl/show/value.h"

struct apply {
	const struct plan *plan;
	struct ctl *ctl;
	struct many many;
	bool back;	  /* it is the roll-back */
	size_t not_back;  /* rows that have, or may have, changed and cannot be set back */
	json_t *outcomes; /* with --json: the outcome of each row */
};

static const char *const state_names[] = {
	[MANY_WAITS] = "not-sent", [MANY_SKIPPED] = "left",  [MANY_SENT] = "under-way",
	[MANY_DONE] = "done",	   [MANY_FAILED] = "failed", [MANY_UNKNOWN] = "unknown",
};

/* ------------------------------------------------------------------ telling */

static void report_row(struct apply *a, const struct many_row *row)
{
	const struct job_row *item = row->item;
	json_t *outcome = json_pack("{s:i,s:s,s:s,s:b,s:O?}", "line", (int)item->line, "parameter",
				    value_string(item->parameter, "name", "?"), "state",
				    state_names[row->state], "roll_back", a->back,
				    row->state == MANY_DONE ? "result" : "error", row->answer);

	json_array_append_new(a->outcomes, outcome);
}

/* An end, as it comes. */
static void on_end(void *context, struct many_row *row)
{
	struct apply *a = context;
	const struct job_row *item = row->item;
	char doing[200];

	if (a->ctl->json) {
		report_row(a, row);
		return;
	}
	many_clear_progress(&a->many);
	if (row->state == MANY_DONE) {
		writer_text(a->ctl->out, WRITER_PLAIN, "%s", a->back ? "set back: " : "");
		ctl_outcome(a->ctl->out, row->answer);
		return;
	}
	if (a->back) {
		snprintf(doing, sizeof(doing), "could not be set back: %s to %s",
			 value_string(row->args, "name", "?"),
			 value_string(row->args, "value", "?"));
	} else {
		job_doing(item, doing, sizeof(doing));
	}
	ctl_report_refusal(a->ctl, doing, row->answer);
}

static void sum_up(const struct apply *a)
{
	struct writer *w = a->ctl->out;
	size_t of[MANY_STATES];
	size_t wanted;

	many_count(&a->many, of);
	wanted = a->many.count - of[MANY_SKIPPED] + a->not_back;
	writer_phrase(w, of[MANY_DONE] == wanted ? WRITER_GOOD : WRITER_BAD, "%zu of %zu %s",
		      of[MANY_DONE], wanted, a->back ? "set back" : "done");
	if (a->back && of[MANY_SKIPPED] > 0) {
		writer_phrase(w, WRITER_PLAIN, ", %zu before", of[MANY_SKIPPED]);
	}
	many_write_rest(a->ctl, of);
	writer_phrase(w, WRITER_PLAIN, " (job %s)", a->plan->job->id);
	writer_newline(w);
}

/* Runs the rows and prints the outcome of each. */
static enum many_end run(struct apply *a)
{
	enum many_end end;

	for (size_t i = 0; i < a->many.count; i++) {
		if (a->many.rows[i].answer != NULL) { /* impossible, or an earlier run's */
			on_end(a, &a->many.rows[i]);
		}
	}
	end = many_run(&a->many);
	for (size_t i = 0; i < a->many.count; i++) {
		enum many_state state = a->many.rows[i].state;

		if (state == MANY_WAITS || state == MANY_SENT || state == MANY_SKIPPED) {
			report_row(a, &a->many.rows[i]);
		}
	}
	return end;
}

/* ------------------------------------------------------------------ roll-back */

/* It was not executed. Only a first attempt proves that: the journal's last attempt says nothing about those before. */
static bool was_refused(const json_t *command)
{
	return strcmp(value_string(command, "state", ""), "REFUSED") == 0 &&
	       job_attempt(command) == 1;
}

/* Whether it may have changed the value in the FCM: a ramp that was stopped is somewhere on its way. */
static bool had_effect(const json_t *command)
{
	return strcmp(value_string(command, "state", ""), "DONE") == 0 ||
	       (job_is_over(command) && value_integer(command, "attempts", 0) > 0 &&
		!was_refused(command));
}

/* By this run, or by an earlier one. */
static bool was_changed(const struct many_row *row)
{
	return row->state == MANY_DONE || had_effect(value_at(row->answer, "is")) ||
	       had_effect(((const struct job_row *)row->item)->before);
}

/* Its outcome is unknown: it may still have an effect. */
static bool is_not_known(const struct many_row *row)
{
	const struct job_row *item = row->item;
	const json_t *last = row->id != 0 ? value_at(row->answer, "is") : item->before;

	return row->state == MANY_SENT || row->open ||
	       (row->state == MANY_UNKNOWN && !job_is_over(last));
}

/* The set value from when the plan was made, or from before an earlier run. NULL: unknown. */
static const json_t *set_before(const struct job_row *item)
{
	const json_t *was = item->before != NULL ? item->was : value_at(item->would, "setpoint");

	return was != NULL && !json_is_null(was) ? was : NULL;
}

/* Reports and counts a row that has changed but cannot be set back. */
static bool can_be_set_back(struct apply *a, const struct many_row *row)
{
	const struct job_row *item = row->item;
	const char *name = value_string(item->parameter, "name", "?");

	if (is_not_known(row)) {
		a->not_back++;
		ctl_remark("could not be set back: %s: the outcome of command %lld is unknown",
			   name, row->command);
		return false;
	}
	if (was_changed(row) && set_before(item) == NULL) {
		a->not_back++;
		ctl_remark("could not be set back: %s: its old value is unknown", name);
		return false;
	}
	return was_changed(row);
}

/* The request that sets `done` back, or the outcome of an earlier roll-back. */
static void set_back(const struct job *job, const struct many_row *done, struct many_row *row)
{
	struct job_row *item = done->item;
	char value[64];
	unsigned attempt = 1;

	if (item->back != NULL) {
		row->state = job_settled(item->back, false, &attempt);
		row->open = row->state == MANY_WAITS && !job_is_over(item->back);
		row->command = value_integer(item->back, "command", 0);
		row->answer = row->state == MANY_UNKNOWN ? job_earlier_answer(item->back) : NULL;
	}
	value_text(set_before(item), VALUE_TYPED, value, sizeof(value));
	row->op = "param.set";
	row->args = json_pack(
		"{s:s,s:s,s:o,s:o,s:b,s:b}", "name", value_string(item->parameter, "name", ""),
		"value", value, "client_id",
		json_sprintf("%s" JOB_BACK ".%u.%u.%u", job->id, item->line, item->index, attempt),
		"reason", json_sprintf("roll-back of job %s", job->id), "yes", 1, "force",
		ctl_given(job->args, CTL_FORCE));
	row->step = -done->step;
	row->item = item;
}

/* --dry-run of a roll-back that continues. */
static void show_roll_back(struct apply *a)
{
	for (size_t i = 0; i < a->many.count; i++) {
		const struct many_row *row = &a->many.rows[i];

		if (row->state == MANY_WAITS && !a->ctl->json) {
			writer_line(a->ctl->out, WRITER_PLAIN, "would set back %s to %s",
				    value_string(row->args, "name", "?"),
				    value_string(row->args, "value", "?"));
		}
		report_row(a, row);
	}
}

/* Sets back in reverse order. The exit code. */
static int roll_back(struct apply *done)
{
	struct apply a = {
		.plan = done->plan, .ctl = done->ctl, .back = true, .outcomes = done->outcomes};
	const struct job *job = done->plan->job;
	struct many_row *rows = ctl_memory(a.ctl, calloc(done->many.count + 1, sizeof(*rows)));
	size_t count = 0;
	size_t to_do = 0;
	enum many_end end;
	int code;

	for (size_t i = done->many.count; i-- > 0;) {
		if (can_be_set_back(&a, &done->many.rows[i])) {
			set_back(job, &done->many.rows[i], &rows[count]);
			to_do += rows[count++].state == MANY_WAITS;
		}
	}
	a.many = (struct many){
		.ctl = done->ctl,
		.rows = rows,
		.count = count,
		.ended = on_end,
		.context = &a,
	};
	if (ctl_given(job->args, CTL_DRY_RUN)) {
		show_roll_back(&a);
		code = CTL_DONE;
	} else if (count + a.not_back == 0) {
		ctl_remark("nothing was changed: there is nothing to set back");
		code = CTL_DONE;
	} else {
		ctl_remark("setting back %zu, in reverse order", to_do);
		end = run(&a);
		job_report_end(job, &a.many, end);
		sum_up(&a);
		code = job_exit(&a.many, end);
	}
	many_rows_free(rows, count);
	return code;
}

/* ------------------------------------------------------------------ apply */

/* Reports that an earlier run has set the value, and that another value was set since. */
static void report_replaced(const struct job_row *row, long long command)
{
	const json_t *set = value_at(row->would, "setpoint");
	char doing[200];
	char now[64];

	if (set == NULL || json_is_null(set) || json_equal(set, value_at(row->would, "new"))) {
		return;
	}
	ctl_remark("%s: done by command %lld, set to %s since: it is not set again",
		   job_doing(row, doing, sizeof(doing)), command,
		   value_text(set, VALUE_TYPED, now, sizeof(now)));
}

/* The requests of a plan, with the state of the rows that need none. */
static struct many_row *requests_of(const struct plan *plan)
{
	struct many_row *rows = job_requests(plan->job, false, true);

	for (size_t i = 0; i < plan->job->count; i++) {
		const struct job_row *row = &plan->job->rows[i];
		struct many_row *r = &rows[i];
		enum plan_fate fate = plan_fate(plan->job->rows, i);

		if (r->state == MANY_SKIPPED) {
			report_replaced(row, r->command);
		}
		if (r->state != MANY_WAITS || r->open) {
			continue; /* an earlier run settled it, or will have */
		}
		if (fate == PLAN_UNCHANGED) {
			r->state = MANY_SKIPPED;
		} else if (fate == PLAN_IMPOSSIBLE) {
			r->state = MANY_FAILED;
			r->answer = json_incref(row->refusal);
		}
	}
	return rows;
}

/* Asks for yes; `what`: "change", "set back". */
static int ask(const struct plan *plan, size_t changes, const char *what)
{
	struct ctl *ctl = plan->job->ctl;
	char hint[2 * PATH_MAX];

	if (ctl_given(plan->job->args, CTL_YES) ||
	    ctl_ask_yes(ctl, "%s: type yes to %s these %zu: ", plan->job->source, what, changes)) {
		return CTL_DONE;
	}
	return ctl_fail(ctl, CTL_NOT, "needs-yes",
			ctl_yes_hint(ctl, plan->job->args, hint, sizeof(hint)),
			"%s: %zu to %s; nothing was sent", plan->job->source, changes, what);
}

static int run_and_report(struct apply *a)
{
	const struct job *job = a->plan->job;
	bool back = ctl_given(job->args, CTL_ROLL_BACK);
	enum many_end end;
	int code;

	ctl_remark("job %s", job->id);
	end = run(a);
	code = job_exit(&a->many, end);
	sum_up(a);
	if (code != CTL_DONE && back && end != MANY_BROKEN && end != MANY_INTERRUPTED) {
		int back_code = roll_back(a);

		return back_code > code ? back_code : code;
	}
	job_report_end(job, &a->many, end);
	return code;
}

static void write_outcomes(const struct apply *a, int code)
{
	json_t *result;

	if (a->ctl->json) {
		result = json_pack("{s:s,s:b,s:O}", "job", a->plan->job->id, "done",
				   code == CTL_DONE, "rows", a->outcomes);
		writer_result(a->ctl->out, result, NULL);
		json_decref(result);
	}
}

/* Continues the roll-back of an earlier run. The values of the file are not set, so it exits 1. */
static int go_on_back(struct apply *a)
{
	const struct plan *plan = a->plan;
	bool dry = ctl_given(plan->job->args, CTL_DRY_RUN);
	int code = dry ? CTL_DONE : ask(plan, plan->job->count, "set back");

	if (code != CTL_DONE) {
		return code;
	}
	ctl_remark("job %s", plan->job->id);
	code = roll_back(a);
	code = code == CTL_DONE && !dry ? CTL_NOT : code;
	write_outcomes(a, code);
	return code;
}

static int run_apply(struct apply *a)
{
	const struct plan *plan = a->plan;
	size_t of[MANY_STATES];
	int code;

	many_count(&a->many, of);
	if (of[MANY_WAITS] == 0 && of[MANY_FAILED] + of[MANY_UNKNOWN] == 0) {
		plan_show(plan, false);
		return CTL_DONE;
	}
	if (!a->ctl->json) {
		plan_show(plan, false);
	}
	code = ask(plan, of[MANY_WAITS], "change");
	if (code != CTL_DONE) {
		return code;
	}
	code = run_and_report(a);
	write_outcomes(a, code);
	return code;
}

/* Rows that cannot be done, without those that an earlier run has done. */
static size_t count_impossible(const struct plan *plan)
{
	size_t count = 0;

	for (size_t i = 0; i < plan->job->count; i++) {
		count += plan_fate(plan->job->rows, i) == PLAN_IMPOSSIBLE &&
			 !job_stands(&plan->job->rows[i]);
	}
	return count;
}

/* Checks the plan before anything is asked or sent. CTL_DONE: go on. */
static int may_apply(const struct plan *plan)
{
	const struct job *job = plan->job;
	size_t impossible = count_impossible(plan);

	if (job_goes_back(job) && !ctl_given(job->args, CTL_ROLL_BACK)) {
		return ctl_usage(job->ctl,
				 "continue that: --roll-back; to set it all again begin a new job: "
				 "leave --job out",
				 "job %s was rolled back; nothing was sent", job->id);
	}
	if (impossible == 0 || ctl_given(job->args, CTL_KEEP_GOING) || job_goes_back(job)) {
		return CTL_DONE;
	}
	if (!job->ctl->json) {
		plan_show(plan, false);
	}
	return ctl_fail(job->ctl, CTL_NOT, "refused",
			"correct them, or set the others with --keep-going",
			"%s: %zu cannot be done; nothing was sent", job->source, impossible);
}

int plan_apply(struct job *job)
{
	bool back = ctl_given(job->args, CTL_ROLL_BACK);
	struct plan plan;
	struct apply a = {.plan = &plan, .ctl = job->ctl};
	int code = plan_make(job, &plan);

	if (code == CTL_DONE && ctl_given(job->args, CTL_DRY_RUN) && !job_goes_back(job)) {
		plan_show(&plan, false);
		return plan.of[PLAN_IMPOSSIBLE] > 0 ? CTL_NOT : CTL_DONE;
	}
	code = code == CTL_DONE ? may_apply(&plan) : code;
	if (code != CTL_DONE) {
		return code;
	}
	a.outcomes = json_array();
	a.many = (struct many){
		.ctl = job->ctl,
		.rows = requests_of(&plan),
		.count = job->count,
		.stop_at_failure = !ctl_given(job->args, CTL_KEEP_GOING),
		.progress = "ended",
		.ended = on_end,
		.context = &a,
	};
	code = job->goes_on && back ? job_read_was(job) : CTL_DONE;
	if (code == CTL_DONE) {
		code = job_goes_back(job) ? go_on_back(&a) : run_apply(&a);
	}
	many_rows_free(a.many.rows, a.many.count);
	json_decref(a.outcomes);
	return code;
}

static int plan_run(struct ctl *ctl, const struct ctl_args *args)
{
	struct job job;
	struct plan plan;
	int code = job_open_plan(ctl, args, &job);

	code = code == CTL_DONE ? plan_make(&job, &plan) : code;
	if (code == CTL_DONE) {
		plan_show(&plan, true);
		code = plan.of[PLAN_IMPOSSIBLE] > 0 ? CTL_NOT : CTL_DONE;
	}
	job_close(&job);
	return code;
}

static int apply_run(struct ctl *ctl, const struct ctl_args *args)
{
	struct job job;
	int code = job_open_plan(ctl, args, &job);

	code = code == CTL_DONE ? plan_apply(&job) : code;
	job_close(&job);
	return code;
}

const struct ctl_command ctl_plan_commands[] = {
	{NULL, "plan", "FILE|-", "what a file of values would change",
	 .help = "The file has lines NAME = VALUE; # begins a comment. A name may be a\n"
		 "pattern; a line with the parameter's own name overrides a pattern.\n"
		 "Shows, in the order of apply, for each parameter its value now, its\n"
		 "value then, its danger, and a remark. Nothing is sent. Exit 1 when a\n"
		 "value cannot be set.\n\n"
		 "  fcmctl get --plan 'floor3.om*.hv' > gains.plan    # then edit it\n"
		 "  fcmctl plan gains.plan",
	 .options = CTL_BIT(CTL_FORCE), .run = plan_run},
	{NULL, "apply", "FILE|-", "set what a file of values says, as one job",
	 .help = "Shows what would change and asks. Then it sets the values in a safe\n"
		 "order: HV down, modules on, ramps and thresholds, HV up, modules off.\n"
		 "Each step begins when the step before it has ended. It stops at the\n"
		 "first failure; with --keep-going it sets all that it can. With\n"
		 "--roll-back it then sets back what it has changed, in reverse order.\n"
		 "--job continues an interrupted job.\n\n"
		 "  fcmctl apply gains.plan --reason 'gain matching' --roll-back",
	 .options = CTL_BIT(CTL_REASON) | CTL_BIT(CTL_YES) | CTL_BIT(CTL_FORCE) |
		    CTL_BIT(CTL_DRY_RUN) | CTL_BIT(CTL_JOB) | CTL_BIT(CTL_KEEP_GOING) |
		    CTL_BIT(CTL_ROLL_BACK),
	 .run = apply_run},
	{0},
};
