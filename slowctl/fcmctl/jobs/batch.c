/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fcmctl batch: many commands from a file or the standard input. All lines are understood before the first is sent;
 * then they run side by side (many.h). What failed is told with its line.
 */
#include <stdio.h>
#include <string.h>

#include "slowctl/fcmctl/jobs/job.h"
#include "slowctl/fcmctl/jobs/send.h"
#include "slowctl/fcmctl/show/time.h"
#include "slowctl/fcmctl/show/value.h"
#include "slowctl/param/plural.h"

struct batch {
	struct job job;
	struct many many;
	bool dry;
};

/* With --json: a document a line of the file. */
static void tell_json(struct batch *b, const struct many_row *row)
{
	const struct job_row *item = row->item;
	const char *kind = row->state == MANY_DONE ? (b->dry ? "would" : "result") : "error";
	json_t *line = json_pack("{s:i,s:s,s:s,s:b,s:O}", "line", (int)item->line, "parameter",
				 value_string(item->parameter, "name", "?"), "op",
				 item->value != NULL ? "set" : "action", "ok",
				 row->state == MANY_DONE, kind, row->answer);

	writer_result(b->job.ctl->out, line, NULL);
	json_decref(line);
}

static void on_end(void *context, struct many_row *row)
{
	struct batch *b = context;
	const struct job_row *item = row->item;
	const char *hint = value_string(row->answer, "hint", "");
	char typed[900];
	char doing[200];

	if (b->job.ctl->json) {
		tell_json(b, row);
		return;
	}
	if (row->state == MANY_DONE && !b->dry) {
		return;
	}
	many_clear_progress(&b->many);
	if (row->state == MANY_DONE) {
		writer_text(b->job.ctl->out, WRITER_PLAIN, "%s%s",
			    value_string(row->answer, "text", "?"),
			    value_true(row->answer, "needs_yes") ? "; it is dangerous: needs --yes"
								 : "");
		writer_newline(b->job.ctl->out);
		return;
	}
	ctl_remark("%s:%u: %s: %s", b->job.source, item->line,
		   job_doing(item, doing, sizeof(doing)),
		   value_string(row->answer, "message", "?"));
	if (*hint != '\0') {
		ctl_remark("       -> %s", ctl_typed(b->job.ctl, hint, typed, sizeof(typed)));
	}
}

static void sum_up(const struct batch *b, double took_s)
{
	struct writer *w = b->job.ctl->out;
	size_t of[MANY_UNKNOWN + 1] = {0};
	size_t overtaken = 0;
	char span[32];

	for (size_t i = 0; i < b->many.count; i++) {
		of[b->many.rows[i].state]++;
		overtaken += ((const struct job_row *)b->many.rows[i].item)->overtaken > 0;
	}
	writer_text(w, of[MANY_DONE] + of[MANY_SKIPPED] == b->many.count ? WRITER_GOOD : WRITER_BAD,
		    "%zu of %zu %s", of[MANY_DONE], b->many.count,
		    b->dry ? "would be done; nothing was sent" : "done");
	if (of[MANY_SKIPPED] > overtaken) {
		writer_text(w, WRITER_PLAIN, ", %zu done before", of[MANY_SKIPPED] - overtaken);
	}
	if (overtaken > 0) {
		writer_text(w, WRITER_PLAIN, ", %zu overtaken by later lines", overtaken);
	}
	many_say_rest(b->job.ctl, of);
	if (!b->dry) {
		writer_text(w, WRITER_PLAIN, ", in %s (job %s)",
			    ctl_span_text(took_s, span, sizeof(span)), b->job.id);
	}
	writer_newline(w);
}

static void tell_overtaken(const struct batch *b, const struct job_row *item)
{
	char doing[200];

	if (b->job.ctl->json) {
		json_t *line =
			json_pack("{s:i,s:s,s:s,s:b,s:i}", "line", (int)item->line, "parameter",
				  value_string(item->parameter, "name", "?"), "op", "set", "ok", 1,
				  "overtaken_by", (int)item->overtaken);

		writer_result(b->job.ctl->out, line, NULL);
		json_decref(line);
		return;
	}
	ctl_remark("%s:%u: %s: not sent: an earlier run has sent line %u, which counts",
		   b->job.source, item->line, job_doing(item, doing, sizeof(doing)),
		   item->overtaken);
}

/* What an earlier run has left that cannot be done again, or must not be. */
static void tell_settled(struct batch *b)
{
	for (size_t i = 0; i < b->many.count; i++) {
		const struct job_row *item = b->many.rows[i].item;

		if (b->many.rows[i].answer != NULL) {
			on_end(b, &b->many.rows[i]);
		} else if (item->overtaken > 0) {
			tell_overtaken(b, item);
		}
	}
}

static int run_batch(struct batch *b)
{
	struct ctl *ctl = b->job.ctl;
	double begun = ctl_now();
	enum many_end end;
	int code;

	b->many = (struct many){
		.ctl = ctl,
		.rows = job_requests(&b->job, b->dry, !b->dry || ctl_given(b->job.args, CTL_YES)),
		.count = b->job.count,
		.progress = b->dry ? NULL : "ended",
		.ended = on_end,
		.context = b,
	};
	if (b->many.rows == NULL) {
		return ctl_fail(ctl, CTL_NOT, "internal", "", "out of memory");
	}
	code = b->dry ? CTL_DONE : job_confirm(&b->job, b->many.rows, b->many.count);
	if (code == CTL_DONE) {
		if (!b->dry) {
			ctl_remark("job %s: %zu command%s", b->job.id, b->job.count,
				   plural(b->job.count));
		}
		tell_settled(b);
		end = many_run(&b->many);
		job_tell_end(&b->job, &b->many, end);
		sum_up(b, ctl_now() - begun);
		code = end == MANY_BROKEN || end == MANY_INTERRUPTED
			       ? CTL_UNKNOWN
			       : job_exit(b->many.rows, b->many.count);
	}
	many_rows_free(b->many.rows, b->many.count);
	return code;
}

static int batch_run(struct ctl *ctl, const struct ctl_args *args)
{
	struct batch b = {.dry = ctl_given(args, CTL_DRY_RUN)};
	int code = job_open_batch(ctl, args, &b.job);

	code = code == CTL_DONE ? run_batch(&b) : code;
	job_close(&b.job);
	return code;
}

const struct ctl_command ctl_batch_commands[] = {
	{
		.verb = "batch",
		.arguments = "FILE|-",
		.summary = "many commands, from a file or the standard input",
		.help = "A command a line, as typed: set NAME VALUE, action NAME; # begins a "
			"comment. All lines "
			"are\nunderstood before the first is sent. They run side by side, those of "
			"one parameter "
			"in their\norder; a line 'wait' waits until all before it has ended. What "
			"failed is told "
			"with its\nline, the others go on. Ctrl-C says what is under way and what "
			"was not sent.\n"
			"It shows the changes and asks once if they are for more than one "
			"parameter, unless\nthey are harmless; or give --yes.\n"
			"What was interrupted goes on with --job: what was executed is not "
			"executed again, nor is\na value set behind one that stands later in the "
			"file.\n\n"
			"  fcmctl batch gains.txt --reason 'gain matching' --dry-run\n"
			"  generate | fcmctl --json batch - --yes\n"
			"  fcmctl batch gains.txt --job 20261122T074512-3fa29c01",
		.options = CTL_BIT(CTL_REASON) | CTL_BIT(CTL_YES) | CTL_BIT(CTL_FORCE) |
			   CTL_BIT(CTL_DRY_RUN) | CTL_BIT(CTL_JOB),
		.min_words = 1,
		.max_words = 1,
		.run = batch_run,
	},
	{0},
};
