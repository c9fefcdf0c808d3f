/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Commands to the floors: see send.h. Writes go through the journal of the daemon; each carries a client
 * id, so that a repeat after a broken connection is harmless. Many are sent first, without waiting, so that
 * they run side by side; then each is asked for again under its id, which waits for its end.
 */
#include "slowctl/fcmctl/jobs/send.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "slowctl/fcmctl/jobs/confirm.h"
#include "slowctl/fcmctl/show/time.h"
#include "slowctl/fcmctl/show/value.h"

/* No word for so long while a command runs: a ramp tells of itself more often. */
#define COMMAND_S 120.0

/* DONE, or what became of it, in one line. */
void ctl_send_outcome(struct writer *w, const json_t *c)
{
	const char *state = value_string(c, "state", "?");
	const char *detail = value_string(c, "detail", "");
	const char *unit = value_string(c, "unit", "");
	const json_t *words = value_at(c, "words");
	double took = value_number(c, "ended") - value_number(c, "time");
	char old[64];
	char new[64];
	char span[32];

	writer_text(w, WRITER_PLAIN, "%s ", value_string(c, "parameter", "?"));
	if (strcmp(value_string(c, "op", "set"), "action") != 0) {
		writer_text(w, WRITER_PLAIN, "%s -> %s%s%s ",
			    value_word(value_at(c, "old"), words, old, sizeof(old)),
			    value_word(value_at(c, "new"), words, new, sizeof(new)),
			    *unit != '\0' ? " " : "", unit);
	}
	writer_text(w, value_style(state), "%s", state);
	if (isfinite(took)) {
		writer_text(w, WRITER_PLAIN, " in %s", ctl_span_text(took, span, sizeof(span)));
	}
	writer_text(w, WRITER_PLAIN, "%s%s (command %lld)", *detail != '\0' ? ": " : "", detail,
		    value_integer(c, "command", 0));
	writer_newline(w);
}

/* --no-wait: the number alone, for a script. */
static void render_number(struct writer *w, const json_t *c)
{
	writer_text(w, WRITER_PLAIN, "%lld", value_integer(c, "command", 0));
	writer_newline(w);
}

static int exit_of_state(const char *state, bool wait)
{
	if (strcmp(state, "DONE") == 0) {
		return CTL_DONE;
	}
	if (strcmp(state, "UNKNOWN") == 0) {
		return CTL_UNKNOWN;
	}
	if (!wait && (strcmp(state, "QUEUED") == 0 || strcmp(state, "SENT") == 0 ||
		      strcmp(state, "ACKED") == 0)) {
		return CTL_DONE;
	}
	return CTL_NOT;
}

uint64_t ctl_send_random(void)
{
	uint64_t random = 0;

	/* Never fails for 8 bytes once the kernel is up. */
	if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random)) {
		random = 0;
	}
	return random;
}

static void new_client_id(char *buf, size_t size)
{
	snprintf(buf, size, "fcmctl-%ld-%016" PRIx64, (long)getpid(), ctl_send_random());
}

/* What was typed, as a request for one parameter. `what` has the value already. */
static void fill_request(const struct ctl_args *args, json_t *what, const char *name,
			 const char *client_id)
{
	json_object_set_new(what, "name", json_string(name));
	if (client_id != NULL) {
		json_object_set_new(what, "client_id", json_string(client_id));
	}
	if (ctl_given(args, CTL_REASON)) {
		json_object_set_new(what, "reason", json_string(args->text[CTL_REASON]));
	}
	if (ctl_given(args, CTL_YES)) {
		json_object_set_new(what, "yes", json_true());
	}
	if (ctl_given(args, CTL_FORCE)) {
		json_object_set_new(what, "force", json_true());
	}
	ctl_put_dry(args, what);
}

static const char *doing_text(const struct ctl_args *args, const char *name, char *buf, size_t size)
{
	snprintf(buf, size, "%s %s%s%s", args->command->verb, name, args->words > 1 ? " " : "",
		 args->words > 1 ? args->word[1] : "");
	return buf;
}

/* Send it, or ask for it again under its client id. The exit code; everything that went wrong is said. */
static int send_request(struct ctl *ctl, const char *op, json_t *what, const char *doing, bool wait,
			json_t **ret_result)
{
	char look[160];
	struct ctl_request request = {
		.op = op,
		.args = what,
		.timeout_s = wait ? COMMAND_S : 10.0,
		.doing = doing,
		.look = look,
	};

	snprintf(look, sizeof(look), "command list; a repeat with --client-id %s never runs twice",
		 value_string(what, "client_id", ""));
	json_object_set_new(what, "wait", json_boolean(wait));
	return ctl_request(ctl, &request, ret_result);
}

static int send_one(struct ctl *ctl, const struct ctl_args *args, const char *op, json_t *what)
{
	bool wait = !ctl_given(args, CTL_NO_WAIT) || ctl_given(args, CTL_DRY_RUN);
	char client_id[64];
	char doing[256];
	json_t *result = NULL;
	int code;

	if (ctl_given(args, CTL_CLIENT_ID)) {
		if (strlen(args->text[CTL_CLIENT_ID]) >= sizeof(client_id)) {
			json_decref(what);
			return ctl_fail(ctl, CTL_USAGE, "usage", "at most 63 bytes",
					"--client-id is too long");
		}
		snprintf(client_id, sizeof(client_id), "%s", args->text[CTL_CLIENT_ID]);
	} else {
		new_client_id(client_id, sizeof(client_id));
	}
	fill_request(args, what, args->word[0], client_id);
	code = send_request(ctl, op, what, doing_text(args, args->word[0], doing, sizeof(doing)),
			    wait, &result);
	if (code == CTL_DONE && !ctl_told_would(ctl, result)) {
		writer_result(ctl->out, result, wait ? ctl_send_outcome : render_number);
		code = exit_of_state(value_string(result, "state", ""), wait);
	}
	json_decref(result);
	return code;
}

/* ------------------------------------------------------------------ many */

/* One of many: what is sent for it, and what came of it so far. */
struct one {
	const char *name;
	json_t *what;
	char doing[256];
	bool sent; /* the daemon has it: its end is worth waiting for */
	int code;
};

static bool is_pattern(const char *name)
{
	return strpbrk(name, "*?[") != NULL;
}

/* The parameters that a pattern means: of all that match, those that take a value, or the actions.
 * CTL_DONE, or the exit code. */
static int find_all(struct ctl *ctl, const struct ctl_args *args, const char *op,
		    json_t **ret_found)
{
	const char *wanted = strcmp(op, "param.action") == 0 ? "action" : "rw";
	json_t *result = NULL;
	size_t i;
	json_t *p;
	int err = ctl_connect(ctl);
	int code;

	if (err != 0) {
		return ctl_away_fail(ctl, err, true);
	}
	code = ctl_ask(ctl, "param.get", json_pack("{s:[s]}", "names", args->word[0]), &result);
	if (code != CTL_DONE) {
		return code;
	}
	*ret_found = json_array();
	json_array_foreach (value_at(result, "parameters"), i, p) {
		if (strcmp(value_string(p, "access", ""), wanted) == 0) {
			json_array_append(*ret_found, p);
		}
	}
	json_decref(result);
	if (json_array_size(*ret_found) == 0) {
		return ctl_fail(ctl, CTL_USAGE, "usage", "fcmctl get lists them with their access",
				"nothing that matches '%s' %s", args->word[0],
				*wanted == 'a' ? "is an action" : "can be set");
	}
	return CTL_DONE;
}

/* Ask once, about all. CTL_DONE: continue. */
static int confirm_all(struct ctl *ctl, const struct ctl_args *args, const char *op,
		       const json_t *what, const json_t *found)
{
	struct many_row *would = calloc(json_array_size(found), sizeof(*would));
	size_t count = 0;
	char doing[256];
	size_t i;
	json_t *p;
	int code;

	if (would == NULL) {
		return ctl_fail(ctl, CTL_NOT, "internal", "", "out of memory");
	}
	json_array_foreach (found, i, p) {
		if (ctl_is_careful(p)) {
			would[count].op = op;
			would[count].args = json_copy((json_t *)(uintptr_t)what);
			would[count].item = p;
			fill_request(args, would[count].args, value_string(p, "name", ""), NULL);
			json_object_set_new(would[count++].args, "dry_run", json_true());
		}
	}
	code = ctl_confirm(ctl, args, doing_text(args, args->word[0], doing, sizeof(doing)), would,
			   count);
	many_rows_free(would, count);
	return code;
}

/* The numbers are known at once, the end is not. A dry run has no other end. */
static void send_all(struct ctl *ctl, const char *op, struct one *all, size_t count, bool tell)
{
	bool broken = false;

	for (size_t i = 0; i < count; i++) {
		json_t *result = NULL;

		all[i].code = CTL_UNKNOWN;
		if (broken) {
			continue;
		}
		all[i].code =
			send_request(ctl, op, json_copy(all[i].what), all[i].doing, false, &result);
		all[i].sent = all[i].code == CTL_DONE;
		broken = all[i].code == CTL_UNKNOWN;
		if (all[i].sent && tell && !ctl_told_would(ctl, result)) {
			writer_result(ctl->out, result, render_number);
		}
		json_decref(result);
	}
}

static void wait_for_all(struct ctl *ctl, const char *op, struct one *all, size_t count)
{
	bool left = false; /* Ctrl-C, or the daemon went: they go on without us */

	for (size_t i = 0; i < count; i++) {
		json_t *result = NULL;

		if (!all[i].sent) {
			continue;
		}
		all[i].code = CTL_UNKNOWN;
		if (left) {
			continue;
		}
		all[i].code =
			send_request(ctl, op, json_copy(all[i].what), all[i].doing, true, &result);
		left = ctl_interrupted() || ctl->client == NULL;
		if (all[i].code == CTL_DONE) {
			writer_result(ctl->out, result, ctl_send_outcome);
			all[i].code = exit_of_state(value_string(result, "state", ""), true);
		}
		json_decref(result);
	}
}

/* The worst of their exit codes; a person gets a line that counts them, `done` is what they are then. */
static int sum_up(struct ctl *ctl, const struct one *all, size_t count, const char *done)
{
	size_t of[CTL_UNKNOWN + 1] = {0};
	size_t unsent = 0;
	int worst = CTL_DONE;

	for (size_t i = 0; i < count; i++) {
		worst = all[i].code > worst ? all[i].code : worst;
		of[all[i].code]++;
		unsent += !all[i].sent && all[i].code == CTL_UNKNOWN;
	}
	if (unsent > 1) { /* of the first of them it is not known */
		ctl_remark("%zu of them were not sent any more", unsent - 1);
	}
	if (!ctl->json && done != NULL) {
		struct writer *w = ctl->out;

		writer_text(w, worst == CTL_DONE ? WRITER_GOOD : WRITER_BAD, "%zu of %zu %s",
			    of[CTL_DONE], count, done);
		if (of[CTL_NOT] + of[CTL_USAGE] > 0) {
			writer_text(w, WRITER_PLAIN, ", %zu refused or failed",
				    of[CTL_NOT] + of[CTL_USAGE]);
		}
		if (of[CTL_UNKNOWN] > 0) {
			writer_text(w, WRITER_PLAIN,
				    ", of %zu the outcome is not known: %s command list",
				    of[CTL_UNKNOWN], ctl->self);
		}
		writer_newline(w);
	}
	return worst;
}

static int send_each(struct ctl *ctl, const struct ctl_args *args, const char *op,
		     const json_t *what, const json_t *found)
{
	bool dry = ctl_given(args, CTL_DRY_RUN);
	bool wait = !ctl_given(args, CTL_NO_WAIT) && !dry;
	size_t count = json_array_size(found);
	struct one *all = calloc(count, sizeof(*all));
	int code;

	if (all == NULL) {
		return ctl_fail(ctl, CTL_NOT, "internal", "", "out of memory");
	}
	for (size_t i = 0; i < count; i++) {
		const json_t *p = json_array_get(found, i);
		char client_id[64];

		new_client_id(client_id, sizeof(client_id));
		all[i].name = value_string(p, "name", "");
		all[i].what = json_copy((json_t *)what);
		fill_request(args, all[i].what, all[i].name, client_id);
		if (ctl_is_dangerous(p) && !dry) { /* confirmed already */
			json_object_set_new(all[i].what, "yes", json_true());
		}
		doing_text(args, all[i].name, all[i].doing, sizeof(all[i].doing));
	}
	send_all(ctl, op, all, count, !wait);
	if (wait) {
		wait_for_all(ctl, op, all, count);
	}
	code = sum_up(ctl, all, count,
		      dry    ? "would be done; nothing was sent"
		      : wait ? "done"
			     : NULL);
	for (size_t i = 0; i < count; i++) {
		json_decref(all[i].what);
	}
	free(all);
	return code;
}

static int send_many(struct ctl *ctl, const struct ctl_args *args, const char *op,
		     const json_t *what)
{
	json_t *found = NULL;
	int code;

	if (ctl_given(args, CTL_CLIENT_ID)) {
		return ctl_fail(ctl, CTL_USAGE, "usage", "each of many gets one of its own",
				"--client-id is for one command, '%s' may be many", args->word[0]);
	}
	code = find_all(ctl, args, op, &found);
	code = code == CTL_DONE ? confirm_all(ctl, args, op, what, found) : code;
	code = code == CTL_DONE ? send_each(ctl, args, op, what, found) : code;
	json_decref(found);
	return code;
}

int ctl_send(struct ctl *ctl, const struct ctl_args *args, const char *op, json_t *what)
{
	int code;

	if (!is_pattern(args->word[0])) {
		return send_one(ctl, args, op, what);
	}
	code = send_many(ctl, args, op, what);
	json_decref(what);
	return code;
}
