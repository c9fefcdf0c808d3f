/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Asking the daemon: the bridge between commands and the connection (client.c). Every failure ends in ctl_fail()
 * (say.c).
 */
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "schemas/error_detail.h"
#include "slowctl/fcmctl/core/args.h"
#include "slowctl/fcmctl/core/client.h"
#include "slowctl/fcmctl/show/time.h"
#include "slowctl/fcmctl/show/value.h"
#include "slowctl/query/ask.h"

#define ANSWER_S 5.0 /* a healthy daemon answers a question within milliseconds */

static volatile sig_atomic_t interrupted;

bool ctl_interrupted(void)
{
	return interrupted != 0;
}

static void on_signal(int number)
{
	interrupted = 1;
}

static void set_handler(void (*handler)(int))
{
	struct sigaction action = {.sa_handler = handler}; /* no SA_RESTART: waiting must end */

	sigemptyset(&action.sa_mask);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

void ctl_catch_interrupt(void)
{
	interrupted = 0;
	set_handler(on_signal);
}

void ctl_release_interrupt(void)
{
	set_handler(SIG_DFL);
}

int ctl_connect(struct ctl *ctl)
{
	return ctl->client != NULL ? 0 : client_open(ctl->station.socket, &ctl->client);
}

void ctl_disconnect(struct ctl *ctl)
{
	client_close(ctl->client);
	ctl->client = NULL;
}

/* A call in progress. */
struct call {
	struct ctl *ctl;
	const struct ctl_request *request;
	long long command; /* 0: not known */
};

static void on_progress(void *context, const json_t *progress)
{
	struct call *call = context;
	const char *text = value_string(progress, "text", "");
	const char *state = value_string(progress, "state", "");

	call->command = value_integer(progress, "command", call->command);
	if (call->request->progress != NULL) {
		call->request->progress(call->request->context, progress);
	} else if (call->ctl->terminal) {
		char line[512];

		snprintf(line, sizeof(line), "%s%s%s", state, *state && *text ? "  " : "", text);
		ctl_print_line("  ", line);
	}
}

/* How long a word of the daemon is waited for. */
static double patience_s(const struct call *call)
{
	return call->ctl->timeout_s > 0.0	? call->ctl->timeout_s
	       : call->request->timeout_s > 0.0 ? call->request->timeout_s
						: ANSWER_S;
}

const char *ctl_broken_text(int err, double patience_s, char *buf, size_t size)
{
	char span[32];

	switch (err) {
	case -EINTR:
		return "interrupted";
	case -ECONNRESET:
		return "the daemon closed the connection";
	case -EPROTO:
		return "the daemon sent something that is not a control message";
	case -ETIMEDOUT:
		snprintf(buf, size, "no message from the daemon for %s",
			 ctl_span_text(patience_s, span, sizeof(span)));
		return buf;
	default:
		return strerror(-err);
	}
}

/* The connection broke, or nothing came. */
static int fail_broken(const struct call *call, int err)
{
	const struct ctl_request *request = call->request;
	const char *self = call->ctl->self;
	const char *code = "unknown";
	char buf[96];
	const char *what = ctl_broken_text(err, patience_s(call), buf, sizeof(buf));
	char look[2 * PATH_MAX + 128];
	char end[64] = "";

	ctl_disconnect(call->ctl);
	if (request->look == NULL) {
		code = err == -ETIMEDOUT ? "time-out" : "broken";
		snprintf(look, sizeof(look), "%s status shows the state of the daemon", self);
	} else if (request->ends_with_us) {
		snprintf(look, sizeof(look), "%s %s", self, request->look);
		snprintf(end, sizeof(end), "; it has ended early");
	} else if (call->command > 0) {
		snprintf(look, sizeof(look), "to see its outcome: %s command show %lld", self,
			 call->command);
		snprintf(end, sizeof(end), "; command %lld continues in the daemon", call->command);
	} else {
		snprintf(look, sizeof(look), "to see its outcome: %s %s", self, request->look);
		snprintf(end, sizeof(end), "; its outcome is unknown");
	}
	return ctl_fail(call->ctl, CTL_UNKNOWN, code, look, "%s: %s%s", request->doing, what, end);
}

static int exit_of_code(const char *code)
{
	if (strcmp(code, "usage") == 0) {
		return CTL_USAGE;
	}
	return strcmp(code, "unknown") == 0 ? CTL_UNKNOWN : CTL_NOT;
}

int ctl_report_refusal(struct ctl *ctl, const char *doing, json_t *error)
{
	const char *code = value_string(error, "code", "internal");
	const char *hint = value_string(error, "hint", "");
	long long command = value_integer(error, "command", 0);
	char text[1024];
	char look[2 * PATH_MAX + 512];

	if (strcmp(code, "needs-yes") == 0 && *hint == '\0') {
		hint = "to do it, repeat it with --yes";
	}
	if (command > 0) {
		snprintf(look, sizeof(look), "%s%s%s command show %lld%s", hint, *hint ? " (" : "",
			 ctl->self, command, *hint ? ")" : "");
		hint = look;
	}
	snprintf(text, sizeof(text), "%s: %s%s", doing,
		 value_string(error, "message", "no reason was given"),
		 strcmp(code, "needs-yes") == 0 ? "; nothing was sent" : "");
	ctl_report_failure(ctl, text, hint, error);
	return exit_of_code(code);
}

static bool is_detail(const json_t *error, enum error_detail detail)
{
	return error_detail_of(value_string(error, "detail", "")) == detail;
}

/* The question is too large for the daemon, or its database lacks the latest rows: reads the file if it may. Otherwise
 * the daemon's error is reported, which says what to do. */
static int read_instead(const struct call *call, const json_t *args, json_t *error,
			json_t **ret_result)
{
	struct ctl *ctl = call->ctl;
	char remark[PATH_MAX + 64];
	json_t *info = NULL;
	const char *database = NULL;
	int code;

	if (ctl_call_quietly(ctl, "info", NULL, &info) == 0) {
		database = value_string(info, "database", NULL);
	}
	if (database != NULL && *database == '/') {
		snprintf(ctl->station.database, sizeof(ctl->station.database), "%s", database);
	}
	json_decref(info);
	snprintf(remark, sizeof(remark),
		 "query too large for the running daemon: reading %s instead",
		 ctl->station.database);
	code = ctl_away_read(
		ctl, call->request->op, args,
		is_detail(error, DETAIL_NOT_WRITTEN) ? value_string(error, "message", "") : remark,
		ret_result);
	return code >= 0 ? code : ctl_report_refusal(ctl, call->request->doing, error);
}

bool ctl_ask_yes(const struct ctl *ctl, const char *format, ...)
{
	char line[16] = "";
	va_list ap;

	if (!ctl->can_ask) {
		return false;
	}
	ctl_catch_interrupt(); /* before the question: whoever sees it may press Ctrl-C at once */
	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fflush(stderr);
	if (client_wait(STDIN_FILENO, POLLIN, (double)INFINITY, ctl_interrupted) != 0 ||
	    fgets(line, sizeof(line), stdin) == NULL) {
		fputc('\n', stderr);
	}
	ctl_release_interrupt();
	return strcmp(line, "yes\n") == 0;
}

/* Somebody is there to answer, and said yes. */
static bool asked_yes(const struct call *call, const json_t *error)
{
	if (call->ctl->can_ask) {
		ctl_print_line("", value_string(error, "message", "this is dangerous"));
	}
	return ctl_ask_yes(call->ctl, "%s: type yes to go on: ", call->request->doing);
}

static int call_once(struct call *call, json_t *args, json_t **ret_answer)
{
	struct ctl *ctl = call->ctl;
	const struct ctl_request *request = call->request;
	int err;

	if (request->look != NULL) {
		ctl_catch_interrupt();
	}
	err = client_call(ctl->client, request->op, json_incref(args), patience_s(call),
			  on_progress, call, request->look != NULL ? ctl_interrupted : NULL,
			  ret_answer);
	if (request->look != NULL) {
		ctl_release_interrupt();
	}
	return err;
}

int ctl_request(struct ctl *ctl, const struct ctl_request *request, json_t **ret_result)
{
	struct call call = {.ctl = ctl, .request = request};
	json_t *args = request->args != NULL ? request->args : json_object();
	json_t *answer = NULL;
	json_t *error;
	int err = ctl_connect(ctl);
	int code = CTL_DONE;

	if (err != 0) {
		code = ctl_away_fail(ctl, err, request->look != NULL);
		goto out;
	}
	err = call_once(&call, args, &answer);
	error = err == 0 ? json_object_get(answer, "error") : NULL;
	if (error != NULL && strcmp(value_string(error, "code", ""), "needs-yes") == 0 &&
	    asked_yes(&call, error)) {
		json_decref(answer);
		answer = NULL;
		json_object_set_new(args, "yes", json_true());
		err = call_once(&call, args, &answer);
		error = err == 0 ? json_object_get(answer, "error") : NULL;
	}
	if (err != 0) {
		code = fail_broken(&call, err);
	} else if (error != NULL && query_can(request->op) &&
		   (is_detail(error, DETAIL_TOO_MUCH) || is_detail(error, DETAIL_NOT_WRITTEN))) {
		code = read_instead(&call, args, error, ret_result);
	} else if (error != NULL) {
		code = ctl_report_refusal(ctl, request->doing, error);
	} else {
		*ret_result = json_incref(json_object_get(answer, "result"));
	}
out:
	json_decref(answer);
	json_decref(args);
	return code;
}

int ctl_call_quietly(struct ctl *ctl, const char *op, json_t *args, json_t **ret_result)
{
	json_t *answer = NULL;
	int err = ctl_connect(ctl);

	if (err != 0) {
		json_decref(args);
		return err;
	}
	err = client_call(ctl->client, op, args, ctl->timeout_s > 0.0 ? ctl->timeout_s : ANSWER_S,
			  NULL, NULL, ctl_interrupted, &answer);
	if (err != 0) {
		ctl_disconnect(ctl);
		return err;
	}
	if (json_object_get(answer, "result") != NULL) {
		*ret_result = json_incref(json_object_get(answer, "result"));
	} else {
		err = -EREMOTEIO;
	}
	json_decref(answer);
	return err;
}

int ctl_ask(struct ctl *ctl, const char *op, json_t *args, json_t **ret_result)
{
	struct ctl_request request = {.op = op, .args = args, .doing = ctl->doing};
	int err = ctl_connect(ctl);
	int code;

	if (ctl_is_away(err) && query_can(op)) {
		code = ctl_away_ask(ctl, op, args, ret_result);
		json_decref(args);
		return code;
	}
	return ctl_request(ctl, &request, ret_result);
}

/* A list that is as long as it may be says that it may go on. */
static void say_limit(struct ctl *ctl, const json_t *result, json_int_t limit)
{
	json_t *member;
	const char *name;

	json_object_foreach ((json_t *)(uintptr_t)result, name, member) {
		if (limit > 0 && json_array_size(member) == (size_t)limit) {
			writer_line(ctl->out, WRITER_DIM,
				    "-- the newest %lld: --limit shows more, --since fewer",
				    (long long)limit);
			return;
		}
	}
}

/* Adds `typed` to rows that say what to do: with the options that name this station. */
static void type_actions(const struct ctl *ctl, json_t *result)
{
	char typed[PATH_MAX];
	const char *name, *action;
	json_t *rows, *row;
	size_t i;

	json_object_foreach (result, name, rows) {
		json_array_foreach (rows, i, row) {
			action = json_string_value(json_object_get(row, "action"));
			if (action != NULL) {
				ctl_typed(ctl, action, typed, sizeof(typed));
				json_object_set_new(row, "typed", json_string(typed));
			}
		}
	}
}

int ctl_show(struct ctl *ctl, const char *op, json_t *args, writer_render_fn render)
{
	json_int_t limit = json_integer_value(json_object_get(args, "limit"));
	json_t *result = NULL;
	int code = ctl_ask(ctl, op, args, &result);

	if (code == CTL_DONE && !ctl->json) {
		type_actions(ctl, result);
	}
	if (code == CTL_DONE) {
		writer_result(ctl->out, result, render);
		say_limit(ctl, result, limit);
	}
	json_decref(result);
	return code;
}

int ctl_link_number(struct ctl *ctl, const char *text, int *ret_link)
{
	const char *digits = strncmp(text, "link", 4) == 0 ? text + 4 : text;

	if (digits[0] < '0' || digits[0] > '3' || digits[1] != '\0') {
		return ctl_usage(ctl, "links are numbered 0 to 3", "'%.60s' is not a link", text);
	}
	*ret_link = digits[0] - '0';
	return CTL_DONE;
}

void ctl_put_given(const struct ctl_args *args, ctl_options options, json_t *what)
{
	for (int i = 0; i < CTL_OPTIONS; i++) {
		const struct ctl_option_row *row = ctl_option_row((enum ctl_option)i);
		const char *member = i == CTL_DRY_RUN ? "dry_run" : row->name;
		json_t *value;

		if ((options & CTL_BIT(i)) == 0 || !ctl_given(args, i)) {
			continue;
		}
		value = row->value == NULL	  ? json_true()
			: row->type == CTL_TEXT	  ? json_string(args->text[i])
			: row->type == CTL_NUMBER ? json_integer((json_int_t)args->number[i])
						  : json_real(args->number[i]);
		json_object_set_new(what, member, value);
	}
}

void ctl_put_options(const struct ctl_args *args, json_t *what)
{
	ctl_put_given(args,
		      CTL_BIT(CTL_REASON) | CTL_BIT(CTL_YES) | CTL_BIT(CTL_FORCE) |
			      CTL_BIT(CTL_DRY_RUN),
		      what);
}

static void render_would(struct writer *w, const json_t *would)
{
	value_line(w, WRITER_PLAIN, would,
		   value_true(would, "needs_yes") ? "{text|?}; it is dangerous: needs --yes"
						  : "{text|?}");
}

bool ctl_show_dry_run(struct ctl *ctl, const json_t *result)
{
	if (!value_true(result, "dry_run")) {
		return false;
	}
	writer_result(ctl->out, result, render_would);
	return true;
}

int ctl_change(struct ctl *ctl, const struct ctl_args *args, const struct ctl_request *request,
	       writer_render_fn render, json_t **ret_result)
{
	json_t *result = NULL;
	int code;

	ctl_put_options(args, request->args);
	code = ctl_request(ctl, request, &result);
	if (code == CTL_DONE && !ctl_show_dry_run(ctl, result)) {
		writer_result(ctl->out, result, render);
		if (ret_result != NULL) {
			*ret_result = json_incref(result);
		}
	}
	json_decref(result);
	return code;
}

json_t *ctl_names(const struct ctl_args *args)
{
	json_t *names = json_array();

	for (int i = 0; i < args->words; i++) {
		json_array_append_new(names, json_string(args->word[i]));
	}
	return json_pack("{s:o}", "names", names);
}

json_t *ctl_filter(const struct ctl_args *args, unsigned limit)
{
	json_t *filter = limit > 0 ? json_pack("{s:i}", "limit", (int)limit) : json_object();

	ctl_put_given(args,
		      CTL_BIT(CTL_SINCE) | CTL_BIT(CTL_LIMIT) | CTL_BIT(CTL_LINK) |
			      CTL_BIT(CTL_FLOOR) | CTL_BIT(CTL_STATE),
		      filter);
	if (ctl_given(args, CTL_TO)) {
		json_object_set_new(filter, "until", json_real(args->number[CTL_TO]));
	}
	return filter;
}

int ctl_check_state(struct ctl *ctl, const struct ctl_args *args)
{
	static const char *const states[] = {"open",	"QUEUED", "SENT",      "ACKED",	 "DONE",
					     "REFUSED", "FAILED", "CANCELLED", "UNKNOWN"};
	bool found = !ctl_given(args, CTL_STATE);

	for (size_t i = 0; !found && i < sizeof(states) / sizeof(states[0]); i++) {
		found = strcasecmp(args->text[CTL_STATE], states[i]) == 0;
	}
	return found ? CTL_DONE
		     : ctl_usage(ctl,
				 "open, or one of QUEUED, SENT, ACKED, DONE, REFUSED, FAILED, "
				 "CANCELLED, UNKNOWN",
				 "'%.40s' is not a state of a command", args->text[CTL_STATE]);
}

int ctl_command_number(struct ctl *ctl, const char *text, json_int_t *ret_command)
{
	char *end;
	long long command;

	errno = 0;
	command = strtoll(text, &end, 10);
	if (errno != 0 || end == text || *end != '\0' || command <= 0) {
		return ctl_usage(ctl, "fcmctl command list shows the numbers",
				 "'%.40s' is not a command number", text);
	}
	*ret_command = command;
	return CTL_DONE;
}

/* {since, limit, ..., member: what was typed}; CTL_USAGE after an error message. */
static int plain_args(struct ctl *ctl, const struct ctl_args *args, json_t **ret_what)
{
	const struct ctl_command *c = args->command;
	const char *member = args->words > 0 && c->member != NULL ? c->member : "";
	json_t *what = ctl_filter(args, c->limit);
	json_int_t command = 0;
	int link = 0;
	int code = ctl_check_state(ctl, args);

	if (strcmp(member, "names") == 0) {
		json_object_update_new(what, ctl_names(args));
	} else if (strcmp(member, "link") == 0) {
		code = ctl_link_number(ctl, args->word[0], &link);
		json_object_set_new(what, member, json_integer(link));
	} else if (strcmp(member, "command") == 0) {
		code = ctl_command_number(ctl, args->word[0], &command);
		json_object_set_new(what, member, json_integer(command));
	} else if (*member != '\0') {
		json_object_set_new(what, member, json_string(args->word[0]));
	}
	*ret_what = what;
	return code;
}

int ctl_run_row(struct ctl *ctl, const struct ctl_args *args, json_t *what)
{
	const struct ctl_command *c = args->command;
	struct ctl_request request = {.op = c->op,
				      .args = what,
				      .doing = ctl->doing,
				      .look = c->look,
				      .timeout_s = c->timeout_s};

	return c->look != NULL ? ctl_change(ctl, args, &request, c->render, NULL)
			       : ctl_show(ctl, c->op, what, c->render);
}

int ctl_run_plain(struct ctl *ctl, const struct ctl_args *args)
{
	json_t *what;
	int code = plain_args(ctl, args, &what);

	if (code != CTL_DONE) {
		json_decref(what);
		return code;
	}
	return ctl_run_row(ctl, args, what);
}
