/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Asking before many commands are sent: see confirm.h. */
#include "slowctl/fcmctl/jobs/confirm.h"

#include <stdio.h>
#include <string.h>

#include "slowctl/fcmctl/show/value.h"

#define SHOWN 24u /* one per module of a station */

bool ctl_is_dangerous(const json_t *parameter)
{
	return strcmp(value_string(parameter, "danger", ""), "dangerous") == 0;
}

bool ctl_is_careful(const json_t *parameter)
{
	return ctl_is_dangerous(parameter) ||
	       strcmp(value_string(parameter, "danger", ""), "careful") == 0;
}

static size_t count_parameters(const struct many_row *rows, size_t count)
{
	json_t *names = json_object();
	size_t parameters;

	for (size_t i = 0; i < count; i++) {
		json_object_set_new(names, value_string(rows[i].item, "name", ""), json_true());
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
		if (!ctl_is_dangerous(rows[i].item)) {
			continue;
		}
		if (dangerous == 0) {
			ctl_remark("dangerous:");
		}
		if (dangerous++ < SHOWN) {
			ctl_remark("  %s: %s", value_string(rows[i].item, "name", "?"),
				   value_string(rows[i].item, "description", ""));
		}
	}
	if (dangerous > SHOWN) {
		ctl_remark("  and %zu more", dangerous - SHOWN);
	}
	return dangerous;
}

/* Show what the first SHOWN would change. CTL_DONE, or the exit code. */
static int show(struct ctl *ctl, const char *what, struct many_row *rows, size_t count)
{
	struct many many = {.ctl = ctl, .rows = rows, .count = count < SHOWN ? count : SHOWN};

	if (many_run(&many) != MANY_ALL) {
		return ctl_fail(ctl, CTL_UNKNOWN, "broken", "",
				"%s: the daemon did not say what it would do; nothing was sent",
				what);
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
	snprintf(buf + strlen(buf), size - strlen(buf), " --yes");
	return buf;
}

/* Refused because it was not confirmed. */
static int refuse(struct ctl *ctl, const struct ctl_args *args, const char *what, size_t dangerous,
		  size_t parameters)
{
	char hint[2 * PATH_MAX];

	ctl_yes_hint(ctl, args, hint, sizeof(hint));
	if (dangerous > 0) {
		return ctl_fail(ctl, CTL_NOT, "needs-yes", hint,
				"%s: %zu of them are dangerous; nothing was sent", what, dangerous);
	}
	return ctl_fail(ctl, CTL_NOT, "needs-yes", hint,
			"%s: that is %zu parameters at once; nothing was sent", what, parameters);
}

int ctl_confirm(struct ctl *ctl, const struct ctl_args *args, const char *what,
		struct many_row *would, size_t count)
{
	size_t parameters = count_parameters(would, count);
	size_t dangerous;
	int code;

	if (ctl_given(args, CTL_YES) || ctl_given(args, CTL_DRY_RUN)) {
		return CTL_DONE;
	}
	dangerous = list_dangerous(would, count);
	if (dangerous == 0 && parameters <= 1) {
		return CTL_DONE;
	}
	code = show(ctl, what, would, count);
	if (code != CTL_DONE || ctl_ask_yes(ctl, "%s: type yes to go on with all: ", what)) {
		return code;
	}
	return refuse(ctl, args, what, dangerous, parameters);
}
