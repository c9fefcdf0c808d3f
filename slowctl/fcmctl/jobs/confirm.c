/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Asking before many commands are sent: see job_confirm(). */
#include <stdio.h>
#include <string.h>

#include "slowctl/fcmctl/jobs/job.h"

#include "slowctl/fcmctl/show/value.h"

#define SHOWN 24u /* one per module of a station */

static const json_t *parameter_of(const struct many_row *row)
{
	return ((const struct job_row *)row->item)->parameter;
}

/* Dry runs of the rows to ask for, *ret_count of them in front. */
static struct many_row *rows_to_ask_for(const struct job *job, const struct many_row *rows,
					size_t *ret_count)
{
	struct many_row *would = job_requests(job, true, false);
	size_t count = 0;

	for (size_t i = 0; i < job->count; i++) {
		const json_t *parameter = parameter_of(&would[i]);
		struct many_row row = would[i];

		if (rows[i].state == MANY_WAITS &&
		    (ctl_is_dangerous(parameter) ||
		     strcmp(value_string(parameter, "danger", ""), "careful") == 0)) {
			would[i] = would[count];
			would[count++] = row;
		}
	}
	*ret_count = count;
	return would;
}

static size_t count_parameters(const struct many_row *rows, size_t count)
{
	json_t *names = json_object();
	size_t parameters;

	for (size_t i = 0; i < count; i++) {
		json_object_set_new(names, value_string(parameter_of(&rows[i]), "name", ""),
				    json_true());
	}
	parameters = json_object_size(names);
	json_decref(names);
	return parameters;
}

/* How many there are. */
static size_t list_dangerous(const struct many_row *rows, size_t count)
{
	size_t dangerous = 0;

	for (size_t i = 0; i < count; i++) {
		const json_t *parameter = parameter_of(&rows[i]);

		if (!ctl_is_dangerous(parameter)) {
			continue;
		}
		if (dangerous == 0) {
			ctl_remark("dangerous:");
		}
		if (dangerous++ < SHOWN) {
			ctl_remark("  %s: %s", value_string(parameter, "name", "?"),
				   value_string(parameter, "description", ""));
		}
	}
	if (dangerous > SHOWN) {
		ctl_remark("  and %zu more", dangerous - SHOWN);
	}
	return dangerous;
}

/* Show what the first SHOWN would change. CTL_DONE, or the exit code. */
static int show(const struct job *job, struct many_row *rows, size_t count)
{
	struct many many = {.ctl = job->ctl, .rows = rows, .count = count < SHOWN ? count : SHOWN};

	if (many_run(&many) != MANY_ALL) {
		return job_fail_dry(job);
	}
	for (size_t i = 0; i < many.count; i++) {
		const json_t *answer = rows[i].answer;

		if (rows[i].state == MANY_DONE) {
			ctl_remark("%s", value_string(answer, "text", "?"));
		} else {
			ctl_remark("refused now: %s", value_string(answer, "message", "?"));
		}
	}
	if (count > many.count) {
		ctl_remark("and %zu more: --dry-run shows all", count - many.count);
	}
	return CTL_DONE;
}

const char *ctl_yes_hint(const struct ctl *ctl, const struct ctl_args *args, char *buf, size_t size)
{
	snprintf(buf, size, "repeat it with --yes: ");
	ctl_append_typed(buf, size, ctl, args);
	value_append(buf, size, " --yes");
	return buf;
}

static int ask(const struct job *job, struct many_row *would, size_t count)
{
	size_t parameters = count_parameters(would, count);
	size_t dangerous = list_dangerous(would, count);
	char hint[2 * PATH_MAX];
	int code;

	if (dangerous == 0 && parameters <= 1) {
		return CTL_DONE;
	}
	code = show(job, would, count);
	if (code != CTL_DONE ||
	    ctl_ask_yes(job->ctl, "%s: type yes to go on with all: ", job->source)) {
		return code;
	}
	ctl_yes_hint(job->ctl, job->args, hint, sizeof(hint));
	if (dangerous > 0) {
		return ctl_fail(job->ctl, CTL_NOT, "needs-yes", hint,
				"%s: %zu of them are dangerous; nothing was sent", job->source,
				dangerous);
	}
	return ctl_fail(job->ctl, CTL_NOT, "needs-yes", hint,
			"%s: that is %zu parameters at once; nothing was sent", job->source,
			parameters);
}

int job_confirm(const struct job *job, const struct many_row *rows)
{
	struct many_row *would;
	size_t count;
	int code;

	if (ctl_given(job->args, CTL_YES) || ctl_given(job->args, CTL_DRY_RUN)) {
		return CTL_DONE;
	}
	would = rows_to_ask_for(job, rows, &count);
	code = ask(job, would, count);
	many_rows_free(would, job->count);
	return code;
}
