/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs a job and prints each end as it comes, then a summary: fcmctl batch, and a pattern that was typed. Plans are run
 * by apply.c.
 */
#include <stdio.h>
#include <string.h>

#include "slowctl/fcmctl/jobs/job.h"
#include "slowctl/fcmctl/show/time.h"
#include "slowctl/fcmctl/show/value.h"
#include "slowctl/param/plural.h"

struct run {
	struct job *job;
	struct many many;
	bool dry;
	bool file; /* a file's lines, not what was typed */
};

void job_render_number(struct writer *w, const json_t *command)
{
	writer_line(w, WRITER_PLAIN, "%lld", value_integer(command, "command", 0));
}

/* With --json: a document a line of the file; what became of it is `member`, taken over. */
static void write_json(const struct run *b, const struct job_row *item, bool ok, const char *member,
		       json_t *value)
{
	json_t *line = json_pack("{s:i,s:s,s:s,s:b,s:o}", "line", (int)item->line, "parameter",
				 value_string(item->parameter, "name", "?"), "op",
				 item->value != NULL ? "set" : "action", "ok", ok, member, value);

	writer_result(b->job->ctl->out, line, NULL);
	json_decref(line);
}

static void on_end(void *context, struct many_row *row)
{
	struct run *b = context;
	const struct job_row *item = row->item;
	struct ctl *ctl = b->job->ctl;
	bool wait = !ctl_given(b->job->args, CTL_NO_WAIT);
	char text[900] = "";
	size_t used;

	if (ctl->json && b->file) {
		write_json(b, item, row->state == MANY_DONE,
			   row->state != MANY_DONE ? "error"
			   : b->dry		   ? "would"
						   : "result",
			   json_incref(row->answer));
		return;
	}
	many_clear_progress(&b->many);
	if (row->state != MANY_DONE) {
		if (b->file) {
			snprintf(text, sizeof(text), "%.250s:%u: ", b->job->source, item->line);
		}
		used = strlen(text);
		job_doing(item, text + used, sizeof(text) - used);
		ctl_report_refusal(ctl, text, row->answer);
	} else if (!ctl_show_dry_run(ctl, row->answer) && !b->file) {
		writer_result(ctl->out, row->answer, wait ? ctl_outcome : job_render_number);
	}
}

static void sum_up(const struct run *b, double took_s)
{
	struct writer *w = b->job->ctl->out;
	size_t of[MANY_STATES];
	size_t overtaken = 0;
	char span[32];

	many_count(&b->many, of);
	for (size_t i = 0; i < b->many.count; i++) {
		overtaken += ((const struct job_row *)b->many.rows[i].item)->overtaken > 0;
	}
	writer_phrase(w,
		      of[MANY_DONE] + of[MANY_SKIPPED] == b->many.count ? WRITER_GOOD : WRITER_BAD,
		      "%zu of %zu %s", of[MANY_DONE], b->many.count,
		      b->dry ? "would be done; nothing was sent" : "done");
	if (of[MANY_SKIPPED] > overtaken) {
		writer_phrase(w, WRITER_PLAIN, ", %zu done before", of[MANY_SKIPPED] - overtaken);
	}
	if (overtaken > 0) {
		writer_phrase(w, WRITER_PLAIN, ", %zu overtaken by later lines", overtaken);
	}
	many_write_rest(b->job->ctl, of);
	if (!b->dry && b->file) {
		writer_phrase(w, WRITER_PLAIN, ", in %s (job %s)",
			      ctl_span_text(took_s, span, sizeof(span)), b->job->id);
	}
	writer_newline(w);
}

static void report_overtaken(const struct run *b, const struct job_row *item)
{
	char doing[200];

	if (b->job->ctl->json) {
		write_json(b, item, true, "overtaken_by", json_integer(item->overtaken));
		return;
	}
	ctl_remark("%s:%u: %s: not sent: an earlier run has sent line %u, which counts",
		   b->job->source, item->line, job_doing(item, doing, sizeof(doing)),
		   item->overtaken);
}

/* What an earlier run has left that cannot be done again, or must not be. */
static void report_settled(struct run *b)
{
	for (size_t i = 0; i < b->many.count; i++) {
		const struct job_row *item = b->many.rows[i].item;

		if (b->many.rows[i].answer != NULL) {
			on_end(b, &b->many.rows[i]);
		} else if (item->overtaken > 0) {
			report_overtaken(b, item);
		}
	}
}

static int run_rows(struct run *b)
{
	struct job *job = b->job;
	double start = ctl_now();
	enum many_end end;

	if (!b->dry && b->file) {
		ctl_remark("job %s: %zu command%s", job->id, job->count, plural(job->count));
	}
	report_settled(b);
	end = many_run(&b->many);
	job_report_end(job, &b->many, end);
	if (b->dry || b->file || !ctl_given(job->args, CTL_NO_WAIT)) {
		sum_up(b, ctl_now() - start);
	}
	return job_exit(&b->many, end);
}

int job_run(struct job *job)
{
	bool dry = ctl_given(job->args, CTL_DRY_RUN);
	struct run b = {.job = job, .dry = dry, .file = *job->id != '\0'};
	int code;

	b.many = (struct many){
		.ctl = job->ctl,
		.rows = job_requests(job, dry, !dry || ctl_given(job->args, CTL_YES)),
		.count = job->count,
		.progress = dry ? NULL : "ended",
		.ended = on_end,
		.context = &b,
	};
	code = job_confirm(job, b.many.rows);
	code = code == CTL_DONE ? run_rows(&b) : code;
	many_rows_free(b.many.rows, b.many.count);
	return code;
}

static int batch_run(struct ctl *ctl, const struct ctl_args *args)
{
	struct job job;
	int code = job_open_batch(ctl, args, &job);

	code = code == CTL_DONE ? job_run(&job) : code;
	job_close(&job);
	return code;
}

const struct ctl_command ctl_batch_commands[] = {
	{NULL, "batch", "FILE|-", "many commands, from a file or the standard input",
	 .help = "One command a line, as you type it: set NAME VALUE, action NAME. #\n"
		 "begins a comment. fcmctl understands all lines before it sends the\n"
		 "first. They run side by side, those of one parameter in their order; a\n"
		 "line 'wait' waits until all before it have ended. A command that fails\n"
		 "is reported with its line; the others continue. Ctrl-C reports what is\n"
		 "under way and what was not sent. fcmctl shows the changes and asks\n"
		 "once if they are for more than one parameter, unless they are harmless\n"
		 "or you give --yes.\n"
		 "--job continues an interrupted batch: no command is executed twice,\n"
		 "and no value is set that a later line has already replaced.\n\n"
		 "  fcmctl batch gains.txt --reason 'gain matching' --dry-run\n"
		 "  generate | fcmctl --json batch - --yes\n"
		 "  fcmctl batch gains.txt --job 20261122T074512-3fa29c01",
	 .options = CTL_BIT(CTL_REASON) | CTL_BIT(CTL_YES) | CTL_BIT(CTL_FORCE) |
		    CTL_BIT(CTL_DRY_RUN) | CTL_BIT(CTL_JOB),
	 .run = batch_run},
	{0},
};
