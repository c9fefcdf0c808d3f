/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fcmctl alarm: list, acknowledge, pause, resume, watch; and the lines about alarms in `status`. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "slowctl/fcmctl/core/client.h"
#include "slowctl/fcmctl/show/value.h"
#include "slowctl/fcmctl/watch/screens.h"

#define SILENT_S 20.0 /* the daemon gives a sign of life every 5 s */

bool ctl_alarm_paused(const json_t *alarm)
{
	const char *covers = value_string(alarm, "paused.covers", NULL);

	return covers != NULL && (strcmp(covers, "red") == 0 ||
				  strcmp(value_string(alarm, "severity", "red"), "red") != 0);
}

const char *ctl_alarm_dealt(const json_t *alarm, char *buf, size_t size)
{
	char seen[240] = "", paused[320] = "";

	if (json_is_object(value_at(alarm, "acknowledged"))) {
		value_fill(alarm,
			   *value_string(alarm, "acknowledged.text", "") != '\0'
				   ? "acknowledged by {acknowledged.who|?}: {acknowledged.text}"
				   : "acknowledged by {acknowledged.who|?}",
			   seen, sizeof(seen));
	}
	if (json_is_object(value_at(alarm, "paused"))) {
		value_fill(alarm,
			   ctl_alarm_paused(alarm)
				   ? "paused until {paused.until:time} UTC by {paused.who|?}: "
				     "{paused.text|}"
				   : "paused until {paused.until:time} UTC by {paused.who|?}: "
				     "{paused.text|} (of the warning; as an alarm it counts)",
			   paused, sizeof(paused));
	}
	snprintf(buf, size, "%s%s%s", seen, *seen != '\0' && *paused != '\0' ? "; " : "", paused);
	return buf;
}

void ctl_alarm_advise(struct writer *w, const json_t *alarm, size_t indent)
{
	bool raised = strcmp(value_string(alarm, "standing", "raised"), "raised") == 0;
	const char *text = value_string(alarm, "text", "");
	const char *action = value_string(alarm, "action", "");
	char dealt[400];

	if (*ctl_alarm_dealt(alarm, dealt, sizeof(dealt)) != '\0') {
		writer_paragraph(w, indent, WRITER_DIM, "%s", dealt);
	}
	if (*text != '\0') {
		writer_paragraph(w, indent, WRITER_PLAIN, "%s%s", raised ? "" : "last: ", text);
	}
	if (*action != '\0') {
		writer_paragraph(w, indent, WRITER_PLAIN, "-> %s", action);
	}
}

static const char *state_words(const json_t *alarm)
{
	const char *standing = value_string(alarm, "standing", "?");

	if (strcmp(standing, "latched") == 0) {
		return "cleared, not acknowledged";
	}
	if (strcmp(standing, "raised") != 0) {
		return "cleared";
	}
	return value_true(alarm, "new") ? "new" : "active";
}

static void render_alarm(struct writer *w, const json_t *alarm)
{
	const char *severity = value_string(alarm, "severity", "?");
	long long count = value_integer(alarm, "count", 0);

	writer_text(w, ctl_alarm_paused(alarm) ? WRITER_DIM : value_style(severity), "%-9s",
		    severity);
	value_say(w, WRITER_BOLD, alarm, "{name|?}");
	writer_text(w, value_true(alarm, "new") ? WRITER_BOLD : WRITER_PLAIN, "  %s",
		    state_words(alarm));
	if (json_is_number(value_at(alarm, "since"))) {
		value_say(w, WRITER_DIM, alarm, "  since {since:time} UTC");
	}
	if (count > 1) {
		writer_text(w, WRITER_DIM, ", began %lld times", count);
	}
	writer_newline(w);
	ctl_alarm_advise(w, alarm, 9);
}

static void render_list(struct writer *w, const json_t *result)
{
	const json_t *alarms = value_at(result, "alarms");
	size_t i;
	const json_t *alarm;

	json_array_foreach (alarms, i, alarm) {
		render_alarm(w, alarm);
	}
	if (json_array_size(alarms) == 0) {
		writer_line(w, WRITER_GOOD, "no alarm is active, none is paused");
	}
}

/* --- to change --- */

static void render_done(struct writer *w, const json_t *result)
{
	size_t i;
	const json_t *alarm;

	json_array_foreach (value_at(result, "alarms"), i, alarm) {
		char dealt[400];
		bool is_dealt = *ctl_alarm_dealt(alarm, dealt, sizeof(dealt)) != '\0';

		writer_line(w, WRITER_PLAIN, "%s: %s%s", value_string(alarm, "name", "?"),
			    is_dealt ? dealt : state_words(alarm),
			    is_dealt && strcmp(value_string(alarm, "standing", ""), "over") == 0
				    ? "; it is not active"
				    : "");
	}
}

static int pause_run(struct ctl *ctl, const struct ctl_args *args)
{
	if (!ctl_given(args, CTL_FOR) || !ctl_given(args, CTL_REASON)) {
		return ctl_usage(ctl, "fcmctl alarm pause ALARM --for 2h --reason TEXT",
				 "a pause needs its end and a reason");
	}
	return ctl_run_row(
		ctl, args,
		json_pack("{s:s,s:f}", "name", args->word[0], "seconds", args->number[CTL_FOR]));
}

/* --- to watch --- */

static void render_change(struct writer *w, const json_t *news)
{
	const json_t *alarm = value_at(news, "alarm");
	const char *change = value_string(news, "change", "?");
	const char *severity = value_string(alarm, "severity", "?");
	char dealt[400];

	if (strcmp(change, "snapshot") == 0) {
		render_list(w, news);
		return;
	}
	value_say(w, WRITER_DIM, news, "{time:time}  ");
	writer_text(w, value_style(severity), "%-13s", change);
	value_say(w, WRITER_BOLD, alarm, "{name|?}");
	ctl_alarm_dealt(alarm, dealt, sizeof(dealt));
	writer_paragraph(w, 11, WRITER_PLAIN, "  %s%s%s%s%s",
			 strcmp(change, "over") == 0 ? "last: " : "",
			 value_string(alarm, "text", ""), *dealt != '\0' ? " (" : "", dealt,
			 *dealt != '\0' ? ")" : "");
	if (*value_string(alarm, "action", "") != '\0' && value_true(alarm, "new")) {
		writer_paragraph(w, 11, WRITER_PLAIN, "-> %s", value_string(alarm, "action", ""));
	}
}

/* Signs of life are for programs only. */
static void on_news(void *context, const json_t *news)
{
	struct ctl *ctl = context;

	if (ctl->json || strcmp(value_string(news, "change", ""), "alive") != 0) {
		writer_result(ctl->out, (json_t *)(uintptr_t)news, render_change);
		writer_flush(ctl->out);
	}
}

static int watch_run(struct ctl *ctl, const struct ctl_args *args)
{
	const struct timespec pause = {.tv_sec = 1};
	double silent_s = ctl->timeout_s > 0.0 ? ctl->timeout_s : SILENT_S;
	json_t *answer = NULL;
	bool reported = false;
	int err = ctl_connect(ctl);
	int code = CTL_DONE;

	if (err != 0) {
		return ctl_away_fail(ctl, err, false);
	}
	ctl_catch_interrupt();
	while (!ctl_interrupted() && writer_flush(ctl->out) == 0) {
		err = ctl_connect(ctl);
		if (err == 0) {
			err = client_call(ctl->client, "alarm.watch", NULL, silent_s, on_news, ctl,
					  ctl_interrupted, &answer);
			ctl_disconnect(ctl);
		}
		/* The daemon ended the watch: it stops, or it has too many watchers. */
		if (err == 0 && strcmp(value_string(answer, "error.code", ""), "unknown") != 0) {
			code = ctl_fail(ctl, CTL_NOT, value_string(answer, "error.code", "?"),
					value_string(answer, "error.hint", ""), "alarm watch: %s",
					value_string(answer, "error.message", "?"));
			break;
		}
		json_decref(answer);
		answer = NULL;
		reported = reported && ctl_is_away(err);
		if (!reported && !ctl_interrupted()) {
			ctl_remark("the daemon is not running; waiting for it");
			reported = true;
		}
		nanosleep(&pause, NULL);
	}
	json_decref(answer);
	ctl_release_interrupt();
	return code;
}

const struct ctl_command ctl_alarm_commands[] = {
	{"alarm", "list", "", "active and paused alarms, and who has acknowledged them",
	 .help = "The alarms of status, each with its name OBJECT/CODE, and the pauses of\n"
		 "alarms that are not active. New: not acknowledged.",
	 .op = "alarm.list", .render = render_list},
	{"alarm", "ack", "ALARM...", "acknowledge it: show that you have seen it",
	 .help = "The alarm stays active, and status stays red; it is no longer new, and\n"
		 "shows who has acknowledged it. It becomes new again when it gets worse or\n"
		 "returns after it has cleared. A latched alarm that has cleared is removed.\n"
		 "ALARM is OBJECT/CODE, or OBJECT for all alarms of it and below it; * does\n"
		 "not cross a dot.\n"
		 "\n"
		 "  fcmctl alarm ack floor3/hv-trip --reason 'clearing it at daylight'\n"
		 "  fcmctl alarm ack floor3",
	 .options = CTL_BIT(CTL_REASON) | CTL_BIT(CTL_DRY_RUN), .op = "alarm.ack",
	 .member = "names", .look = "alarm list", .render = render_done},
	{"alarm", "pause", "ALARM", "pause it for a while: --for SPAN --reason TEXT",
	 .help = "Until then the alarm is listed, but status is not red because of it. At\n"
		 "most 24 h; the reason tells the others why. An alarm may be paused before\n"
		 "it is active; then its name must be complete. A pause of a warning does\n"
		 "not cover it when it becomes an alarm.\n"
		 "\n"
		 "  fcmctl alarm pause link2/link-dark --for 2h --reason 'fibre is exchanged'",
	 .options = CTL_BIT(CTL_FOR) | CTL_BIT(CTL_REASON) | CTL_BIT(CTL_DRY_RUN), .run = pause_run,
	 .op = "alarm.pause", .look = "alarm list", .render = render_done},
	{"alarm", "resume", "ALARM...", "end a pause before its time",
	 .help = "The alarm counts in status again.", .options = CTL_BIT(CTL_DRY_RUN),
	 .op = "alarm.resume", .member = "names", .look = "alarm list", .render = render_done},
	{"alarm", "watch", "", "each change as it comes, until Ctrl-C",
	 .help = "Shows all active alarms, then a line for each that began, became worse,\n"
		 "cleared, was acknowledged or paused. Continues after a restart of the\n"
		 "daemon, with all active alarms. With --json an object for each line, and\n"
		 "a sign of life every 5 s.",
	 .run = watch_run},
	{0},
};
