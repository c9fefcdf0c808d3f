/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fcmctl notify: those whom fcm-notify tells of incidents. */
#include <stdio.h>
#include <string.h>

#include "slowctl/fcmctl/core/ctl.h"
#include "slowctl/fcmctl/core/client.h"
#include "slowctl/fcmctl/show/value.h"

#define TEST_S	75.0 /* a delivery takes a minute at most */
#define PAUSE_S 0.5

static bool reports(const json_t *result)
{
	return json_is_number(json_object_get(result, "age_s"));
}

static void render_show(struct writer *w, const json_t *result)
{
	const char *failing = value_string(result, "failing", "");

	if (!reports(result)) {
		writer_line(w, WRITER_WARN, "fcm-notify has not reported to this daemon");
		return;
	}
	value_line(w, WRITER_PLAIN, result, "receivers  {receivers}");
	value_line(w, WRITER_PLAIN, result, "waiting    {waiting:count} notices");
	value_line(w, WRITER_PLAIN, result, "reported   {age_s:age} ago");
	if (*failing != '\0') {
		writer_line(w, WRITER_WARN, "failing    %s", failing);
	}
}

/* Whether a test has ended, by what fcm-notify has reported since. */
static int wait_for_test(struct ctl *ctl, json_int_t test, json_t **ret_result)
{
	double end = ctl_monotonic() + TEST_S;

	for (;;) {
		int code = ctl_ask(ctl, "notify.show", NULL, ret_result);

		if (code != CTL_DONE || value_integer(*ret_result, "tested", 0) >= test) {
			return code;
		}
		json_decref(*ret_result);
		if (ctl_monotonic() > end) {
			return ctl_fail(ctl, CTL_UNKNOWN, "unknown", "fcmctl notify show",
					"the test has not ended after %.0f s", TEST_S);
		}
		client_wait(-1, 0, ctl_monotonic() + PAUSE_S, NULL);
	}
}

static int test_run(struct ctl *ctl, const struct ctl_args *args)
{
	const struct ctl_request request = {.op = "notify.test",
					    .args = json_object(),
					    .doing = "test the receivers",
					    .look = "notify show"};
	json_t *begun = NULL, *result = NULL;
	const char *failing;
	int code;

	ctl_put_options(args, request.args);
	code = ctl_request(ctl, &request, &begun);
	if (code == CTL_DONE && ctl_show_dry_run(ctl, begun)) {
		json_decref(begun);
		return code;
	}
	code = code == CTL_DONE ? wait_for_test(ctl, value_integer(begun, "test", 0), &result)
				: code;
	json_decref(begun);
	if (code != CTL_DONE) {
		return code;
	}
	failing = value_string(result, "failing", "");
	if (*failing != '\0') {
		code = ctl_fail(ctl, CTL_NOT, "failed", "fcm-notify(8)", "%s", failing);
	} else {
		writer_result(ctl->out, result, render_show);
	}
	json_decref(result);
	return code;
}

const struct ctl_command ctl_notify_commands[] = {
	{"notify", "show", "", "who is told of incidents, and who cannot be reached",
	 .help = "As fcm-notify(8) has reported.", .op = "notify.show", .render = render_show},
	{"notify", "test", "", "send each of them a test",
	 .help = "Exit 1: one of them cannot be reached.", .options = CTL_BIT(CTL_DRY_RUN),
	 .run = test_run, .op = "notify.test", .look = "notify show"},
	{0},
};
