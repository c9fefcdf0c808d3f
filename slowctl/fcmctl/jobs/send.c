/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Commands as they are typed: fcmctl set, ramp and action, see ctl_send(). Each carries a client id, so that a repeat
 * after a broken connection is harmless.
 */
#include <stdio.h>
#include <string.h>

#include "slowctl/fcmctl/jobs/job.h"
#include "slowctl/fcmctl/show/value.h"

/* Longest silence of the daemon while a command runs: a ramp reports more often. */
#define COMMAND_S 120.0

static const char *doing_text(const struct ctl_args *args, char *buf, size_t size)
{
	snprintf(buf, size, "%s %s%s%s", args->command->verb, args->word[0],
		 args->words > 1 ? " " : "", args->words > 1 ? args->word[1] : "");
	return buf;
}

/* What was typed, into the request. */
static void fill_request(const struct ctl_args *args, json_t *what, bool wait)
{
	const char *client_id = args->text[CTL_CLIENT_ID];

	json_object_set_new(what, "name", json_string(args->word[0]));
	json_object_set_new(what, "client_id",
			    client_id != NULL ? json_string(client_id) : ctl_client_id());
	json_object_set_new(what, "wait", json_boolean(wait));
}

static int send_one(struct ctl *ctl, const struct ctl_args *args, const char *op, json_t *what)
{
	bool wait = !ctl_given(args, CTL_NO_WAIT) || ctl_given(args, CTL_DRY_RUN);
	char doing[256];
	char look[160];
	json_t *result = NULL;
	struct ctl_request request = {
		.op = op,
		.args = what,
		.timeout_s = wait ? COMMAND_S : 10.0,
		.doing = doing_text(args, doing, sizeof(doing)),
		.look = look,
	};
	int code;

	if (ctl_given(args, CTL_CLIENT_ID) && strlen(args->text[CTL_CLIENT_ID]) > 63) {
		json_decref(what);
		return ctl_usage(ctl, "at most 63 bytes", "--client-id is too long");
	}
	fill_request(args, what, wait);
	snprintf(look, sizeof(look), "command list; a repeat with --client-id %s never runs twice",
		 value_string(what, "client_id", ""));
	code = ctl_change(ctl, args, &request, wait ? ctl_outcome : job_render_number, &result);
	if (result != NULL) {
		code = ctl_exit_of_state(value_string(result, "state", ""));
	}
	json_decref(result);
	return code;
}

static int send_many(struct ctl *ctl, const struct ctl_args *args, const char *op, json_t *what)
{
	char doing[256];
	struct job job;
	int code;

	if (ctl_given(args, CTL_CLIENT_ID)) {
		json_decref(what);
		return ctl_usage(ctl, "each command of a pattern gets its own id",
				 "--client-id is for one command; '%s' may match several",
				 args->word[0]);
	}
	json_object_set_new(what, "wait", json_boolean(!ctl_given(args, CTL_NO_WAIT)));
	code = job_open_typed(ctl, args, doing_text(args, doing, sizeof(doing)), op, what, &job);
	code = code == CTL_DONE ? job_run(&job) : code;
	job_close(&job);
	return code;
}

int ctl_send(struct ctl *ctl, const struct ctl_args *args, const char *op, json_t *what)
{
	return (strpbrk(args->word[0], "*?[") != NULL ? send_many : send_one)(ctl, args, op, what);
}
