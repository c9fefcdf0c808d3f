/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Carrying out a plan, and setting back what it has changed: see ctl_plan.h.
 */
#include "slowctl/ctl_plan.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "slowctl/ctl_send.h"
#include "slowctl/ctl_value.h"

struct apply {
	const struct plan *plan;
	struct ctl *ctl;
	struct many many;
	bool back;    /* it is the roll-back */
	json_t *told; /* with --json: what became of each row */
};

static const char *const state_names[] = {
	[MANY_WAITS] = "not-sent", [MANY_SKIPPED] = "left",  [MANY_SENT] = "under-way",
	[MANY_DONE] = "done",	   [MANY_FAILED] = "failed", [MANY_UNKNOWN] = "unknown",
};

/* ------------------------------------------------------------------ telling */

static void tell_row(struct apply *a, const struct many_row *row)
{
	const struct job_row *item = row->item;
	json_t *told = json_pack("{s:i,s:s,s:s,s:b,s:O?}", "line", (int)item->line, "parameter",
				 value_string(item->parameter, "name", "?"), "state",
				 state_names[row->state], "roll_back", a->back,
				 row->state == MANY_DONE ? "result" : "error", row->answer);

	json_array_append_new(a->told, told);
}

/* An end, as it comes. */
static void on_end(void *context, struct many_row *row)
{
	struct apply *a = context;
	const struct job_row *item = row->item;
	const char *hint = value_string(row->answer, "hint", "");
	char doing[200];

	if (a->ctl->json) {
		tell_row(a, row);
		return;
	}
	many_clear_progress(&a->many);
	if (row->state == MANY_DONE) {
		writer_text(a->ctl->out, WRITER_PLAIN, "%s", a->back ? "set back: " : "");
		ctl_send_outcome(a->ctl->out, row->answer);
		return;
	}
	ctl_remark("%s%s: %s", a->back ? "could not be set back: " : "",
		   job_doing(item, doing, sizeof(doing)),
		   value_string(row->answer, "message", "?"));
	if (*hint != '\0') {
		ctl_remark("       -> %s", hint);
	}
}

static void count_states(const struct many *m, size_t of[MANY_UNKNOWN + 1])
{
	memset(of, 0, (MANY_UNKNOWN + 1) * sizeof(*of));
	for (size_t i = 0; i < m->count; i++) {
		of[m->rows[i].state]++;
	}
}

static void sum_up(const struct apply *a)
{
	struct writer *w = a->ctl->out;
	size_t of[MANY_UNKNOWN + 1];
	size_t wanted;

	count_states(&a->many, of);
	wanted = a->many.count - of[MANY_SKIPPED];
	writer_text(w, of[MANY_DONE] == wanted ? WRITER_GOOD : WRITER_BAD, "%zu of %zu %s",
		    of[MANY_DONE], wanted, a->back ? "set back" : "done");
	many_say_rest(w, of);
	writer_text(w, WRITER_PLAIN, " (job %s)", a->plan->job->id);
	writer_newline(w);
}

/* ------------------------------------------------------------------ roll-back */

/* Whether the FCM may have another value than before. */
static bool was_changed(const struct many_row *row)
{
	const json_t *is = value_at(row->answer, "is");

	return row->state == MANY_DONE ||
	       (row->state == MANY_FAILED && value_integer(is, "attempts", 0) > 0 &&
		strcmp(value_string(is, "state", ""), "FAILED") == 0);
}

/* What cannot be set back is said. */
static bool can_be_set_back(const struct many_row *row)
{
	const struct job_row *item = row->item;
	const json_t *was = value_at(item->would, "setpoint");
	const char *name = value_string(item->parameter, "name", "?");

	if (row->state == MANY_UNKNOWN || row->state == MANY_SENT) {
		ctl_remark("could not be set back: %s: the outcome of command %lld is not known",
			   name, row->command);
		return false;
	}
	if (was_changed(row) && (was == NULL || json_is_null(was))) {
		ctl_remark("could not be set back: %s: to what it was set before is not known",
			   name);
		return false;
	}
	return was_changed(row);
}

static json_t *back_args(const struct job *job, const struct job_row *item, const char *id)
{
	char value[64];
	char client_id[64];

	snprintf(client_id, sizeof(client_id), "%s.%u.%u.1", id, item->line, item->index);
	plan_value_text(value_at(item->would, "setpoint"), value, sizeof(value));
	return json_pack("{s:s,s:s,s:s,s:o,s:b,s:b}", "name",
			 value_string(item->parameter, "name", ""), "value", value, "client_id",
			 client_id, "reason", json_sprintf("roll-back of job %s", job->id), "yes",
			 1, "force", ctl_given(job->args, CTL_FORCE));
}

/* In reverse order of what was done; the old values are those of the plan. The exit code. */
static int roll_back(struct apply *done)
{
	struct apply a = {.plan = done->plan, .ctl = done->ctl, .back = true, .told = done->told};
	const struct job *job = done->plan->job;
	struct many_row *rows = calloc(done->many.count + 1, sizeof(*rows));
	size_t count = 0;
	char id[48];
	int code;

	if (rows == NULL) {
		return ctl_fail(done->ctl, CTL_NOT, "internal", "", "out of memory");
	}
	snprintf(id, sizeof(id), "%s-b%04x", job->id, (unsigned)(ctl_send_random() & 0xffff));
	for (size_t i = done->many.count; i-- > 0;) {
		struct many_row *row = &done->many.rows[i];

		if (!can_be_set_back(row)) {
			continue;
		}
		rows[count].op = "param.set";
		rows[count].args = back_args(job, row->item, id);
		rows[count].step = -row->step;
		rows[count++].item = row->item;
	}
	ctl_remark("setting back %zu, in reverse order", count);
	a.many = (struct many){
		.ctl = done->ctl,
		.rows = rows,
		.count = count,
		.ended = on_end,
		.context = &a,
	};
	job_tell_end(job, &a.many, many_run(&a.many));
	sum_up(&a);
	code = job_exit(rows, count);
	many_rows_free(rows, count);
	return code;
}

/* ------------------------------------------------------------------ apply */

static int by_order(const void *a, const void *b)
{
	const struct many_row *x = a;
	const struct many_row *y = b;
	const struct job_row *p = x->item;
	const struct job_row *q = y->item;

	if (x->step != y->step) {
		return x->step < y->step ? -1 : 1;
	}
	return p < q ? -1 : p > q;
}

/* Of each row what is to become of it; in the order in which it is done. */
static struct many_row *requests_of(const struct plan *plan)
{
	struct many_row *rows = job_requests(plan->job, false, true);

	for (size_t i = 0; rows != NULL && i < plan->job->count; i++) {
		const struct job_row *row = plan->rows[i];
		struct many_row *r = &rows[row - plan->job->rows];
		enum plan_fate fate = plan_fate(plan->rows, i);

		if (r->state != MANY_WAITS) {
			continue; /* an earlier run settled it */
		}
		if (fate == PLAN_UNCHANGED) {
			r->state = MANY_SKIPPED;
		} else if (fate == PLAN_IMPOSSIBLE) {
			r->state = MANY_FAILED;
			r->answer = json_incref(row->refusal);
		}
	}
	if (rows != NULL) {
		qsort(rows, plan->job->count, sizeof(*rows), by_order);
	}
	return rows;
}

static int ask(const struct plan *plan, size_t changes)
{
	struct ctl *ctl = plan->job->ctl;
	char line[16] = "";

	if (ctl_given(plan->job->args, CTL_YES)) {
		return CTL_DONE;
	}
	if (ctl->can_ask) {
		fprintf(stderr, "%s: type yes to change these %zu: ", plan->job->source, changes);
		fflush(stderr);
		if (fgets(line, sizeof(line), stdin) == NULL) {
			fputc('\n', stderr);
		}
	}
	if (strcmp(line, "yes\n") == 0 || strcmp(line, "y\n") == 0) {
		return CTL_DONE;
	}
	return ctl_fail(ctl, CTL_NOT, "needs-yes", "repeat it with --yes",
			"%s: %zu to change; nothing was sent", plan->job->source, changes);
}

/* What was settled before anything is sent: impossible, or by an earlier run. */
static void tell_settled(struct apply *a)
{
	for (size_t i = 0; i < a->many.count; i++) {
		if (a->many.rows[i].answer != NULL) {
			on_end(a, &a->many.rows[i]);
		}
	}
}

static void tell_rest(struct apply *a)
{
	for (size_t i = 0; i < a->many.count; i++) {
		enum many_state state = a->many.rows[i].state;

		if (state == MANY_WAITS || state == MANY_SENT || state == MANY_SKIPPED) {
			tell_row(a, &a->many.rows[i]);
		}
	}
}

static int run_and_tell(struct apply *a)
{
	const struct job *job = a->plan->job;
	bool back = ctl_given(job->args, CTL_ROLL_BACK);
	enum many_end end;
	int code;

	ctl_remark("job %s", job->id);
	tell_settled(a);
	end = many_run(&a->many);
	code = job_exit(a->many.rows, a->many.count);
	sum_up(a);
	tell_rest(a);
	if (end == MANY_BROKEN || end == MANY_INTERRUPTED) {
		job_tell_end(job, &a->many, end);
		return CTL_UNKNOWN;
	}
	if (code != CTL_DONE && back) {
		int set_back = roll_back(a);

		return set_back > code ? set_back : code;
	}
	job_tell_end(job, &a->many, end);
	return code;
}

static int run_apply(struct apply *a)
{
	const struct plan *plan = a->plan;
	size_t of[MANY_UNKNOWN + 1];
	json_t *result;
	int code;

	count_states(&a->many, of);
	if (of[MANY_WAITS] == 0 && of[MANY_FAILED] + of[MANY_UNKNOWN] == 0) {
		plan_show(plan, false);
		return CTL_DONE;
	}
	if (!a->ctl->json) {
		plan_show(plan, false);
	}
	code = ask(plan, of[MANY_WAITS]);
	if (code != CTL_DONE) {
		return code;
	}
	code = run_and_tell(a);
	if (a->ctl->json) {
		result = json_pack("{s:s,s:b,s:O}", "job", plan->job->id, "done", code == CTL_DONE,
				   "rows", a->told);
		writer_result(a->ctl->out, result, NULL);
		json_decref(result);
	}
	return code;
}

int plan_apply(struct plan *plan)
{
	const struct ctl_args *args = plan->job->args;
	struct apply a = {.plan = plan, .ctl = plan->job->ctl};
	int code;

	if (ctl_given(args, CTL_DRY_RUN)) {
		plan_show(plan, false);
		return plan->of[PLAN_IMPOSSIBLE] > 0 ? CTL_NOT : CTL_DONE;
	}
	if (plan->of[PLAN_IMPOSSIBLE] > 0 && !ctl_given(args, CTL_KEEP_GOING)) {
		if (!a.ctl->json) {
			plan_show(plan, false);
		}
		return ctl_fail(a.ctl, CTL_NOT, "refused",
				"put them right, or do the others with --keep-going",
				"%s: %zu cannot be done; nothing was sent", plan->job->source,
				plan->of[PLAN_IMPOSSIBLE]);
	}
	a.told = json_array();
	a.many = (struct many){
		.ctl = a.ctl,
		.rows = requests_of(plan),
		.count = plan->job->count,
		.stop_at_failure = !ctl_given(args, CTL_KEEP_GOING),
		.progress = "ended",
		.ended = on_end,
		.context = &a,
	};
	code = a.many.rows != NULL ? run_apply(&a)
				   : ctl_fail(a.ctl, CTL_NOT, "internal", "", "out of memory");
	many_rows_free(a.many.rows, a.many.count);
	json_decref(a.told);
	return code;
}
