/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Many requests side by side, in a window (many.h); the line and the exit status of a command's outcome. */
#include "slowctl/fcmctl/jobs/many.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "slowctl/fcmctl/core/client.h"
#include "slowctl/fcmctl/show/time.h"
#include "slowctl/fcmctl/show/value.h"

#define SILENCE_S  120.0 /* without a message from the daemon: a ramp reports more often */
#define PROGRESS_S 0.25

struct run {
	struct many *m;
	struct many_row *flying[MANY_WINDOW];
	size_t flights;
	size_t next; /* row */
	size_t ended, failed;
	bool stopped;
	double start, shown; /* UTC s */
};

static bool failed(const struct many_row *row)
{
	return row->state == MANY_FAILED || row->state == MANY_UNKNOWN;
}

void many_clear_progress(const struct many *m)
{
	if (m->progress != NULL && m->ctl->terminal) {
		fputs("\r\033[K", stderr);
		fflush(stderr);
	}
}

static void show_progress(struct run *r)
{
	double now = ctl_now();
	double rate = (double)r->ended / (now - r->start > 0.1 ? now - r->start : 0.1);
	char left[32] = "?";

	if (r->m->progress == NULL || !r->m->ctl->terminal || now - r->shown < PROGRESS_S) {
		return;
	}
	r->shown = now;
	if (r->ended > 0) {
		ctl_span_text((double)(r->m->count - r->ended) / rate, left, sizeof(left));
	}
	fprintf(stderr, "\r\033[K  %zu of %zu %s, %zu failed, %zu under way, %.0f/s, %s left",
		r->ended, r->m->count, r->m->progress, r->failed, r->flights, rate, left);
	fflush(stderr);
}

static bool to_send(const struct run *r, const struct many_row *row)
{
	return row->state == MANY_WAITS && (!r->stopped || row->open);
}

/* Rows that are not to be sent are passed by. False: there is none, or it has to wait. */
static bool may_send(struct run *r)
{
	const struct many *m = r->m;

	while (r->next < m->count && !to_send(r, &m->rows[r->next])) {
		const struct many_row *row = &m->rows[r->next++];

		r->stopped |= m->stop_at_failure && failed(row);
		r->ended += row->state != MANY_WAITS;
	}
	return r->next < m->count && r->flights < MANY_WINDOW &&
	       (r->flights == 0 || r->flying[0]->step == m->rows[r->next].step);
}

static int send_next(struct run *r)
{
	struct many_row *row = &r->m->rows[r->next++];

	row->state = MANY_SENT; /* also when sending fails: part of it may have got there */
	r->flying[r->flights++] = row;
	return client_ask(r->m->ctl->client, row->op, json_incref(row->args), r->m->patience_s,
			  ctl_interrupted, &row->id);
}

static void take_answer(struct run *r, size_t at, const json_t *message)
{
	struct many_row *row = r->flying[at];
	json_t *result = json_object_get(message, "result");
	json_t *error = json_object_get(message, "error");

	r->flying[at] = r->flying[--r->flights];
	row->answer = json_incref(result != NULL ? result : error);
	row->command = value_integer(row->answer, "command", row->command);
	row->state = result != NULL					       ? MANY_DONE
		     : strcmp(value_string(error, "code", ""), "unknown") == 0 ? MANY_UNKNOWN
									       : MANY_FAILED;
	r->ended++;
	r->failed += failed(row);
	r->stopped |= r->m->stop_at_failure && failed(row);
	if (r->m->ended != NULL) {
		r->m->ended(r->m->context, row);
	}
}

/* One message: for a row under way, or for an earlier request that was given up. */
static int take_message(struct run *r)
{
	json_t *message = NULL;
	unsigned id;
	int err = client_next(r->m->ctl->client, r->m->patience_s, ctl_interrupted, &id, &message);

	if (err != 0) {
		return err;
	}
	for (size_t at = 0; at < r->flights; at++) {
		const json_t *progress = json_object_get(message, "progress");

		if (r->flying[at]->id != id) {
			continue;
		}
		if (progress != NULL) {
			r->flying[at]->command =
				value_integer(progress, "command", r->flying[at]->command);
		} else {
			take_answer(r, at, message);
		}
		break;
	}
	json_decref(message);
	return 0;
}

void many_count(const struct many *m, size_t ret_of[MANY_STATES])
{
	memset(ret_of, 0, MANY_STATES * sizeof(*ret_of));
	for (size_t i = 0; i < m->count; i++) {
		ret_of[m->rows[i].state]++;
	}
}

enum many_end many_run(struct many *m)
{
	struct run r = {.m = m, .start = ctl_now()};
	size_t of[MANY_STATES];
	int err = ctl_connect(m->ctl);

	m->patience_s = m->ctl->timeout_s > 0.0 ? m->ctl->timeout_s : SILENCE_S;
	ctl_catch_interrupt();
	while (err == 0) {
		while (err == 0 && may_send(&r)) {
			err = ctl_interrupted() ? -EINTR : send_next(&r);
		}
		if (err != 0 || r.flights == 0) {
			break;
		}
		show_progress(&r);
		err = take_message(&r);
	}
	ctl_release_interrupt();
	many_clear_progress(m);
	if (err == 0) {
		many_count(m, of);
		return of[MANY_WAITS] == 0 ? MANY_ALL : MANY_STOPPED;
	}
	ctl_disconnect(m->ctl); /* half a message may be on its way */
	m->err = err;
	return err == -EINTR ? MANY_INTERRUPTED : MANY_BROKEN;
}

void many_rows_free(struct many_row *rows, size_t count)
{
	for (size_t i = 0; rows != NULL && i < count; i++) {
		json_decref(rows[i].args);
		json_decref(rows[i].answer);
	}
	free(rows);
}

void ctl_outcome(struct writer *w, const json_t *c)
{
	const char *state = value_string(c, "state", "?");
	const char *detail = value_string(c, "detail", "");
	double took = value_number(c, "ended") - value_number(c, "time");
	char span[32];

	value_say(w, WRITER_PLAIN, c,
		  strcmp(value_string(c, "op", "set"), "action") == 0
			  ? "{parameter|?} "
			  : "{parameter|?} {old:word} -> {new:word}{unit:behind} ");
	writer_text(w, value_style(state), "%s", state);
	if (isfinite(took)) {
		writer_text(w, WRITER_PLAIN, " in %s", ctl_span_text(took, span, sizeof(span)));
	}
	writer_line(w, WRITER_PLAIN, "%s%s (command %lld)", *detail != '\0' ? ": " : "", detail,
		    value_integer(c, "command", 0));
}

int ctl_exit_of_state(const char *state)
{
	static const char *const good[] = {"DONE", "QUEUED", "SENT", "ACKED"};

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		if (strcmp(state, good[i]) == 0) {
			return CTL_DONE;
		}
	}
	return strcmp(state, "UNKNOWN") == 0 ? CTL_UNKNOWN : CTL_NOT;
}

void many_write_rest(const struct ctl *ctl, const size_t of[MANY_STATES])
{
	struct writer *w = ctl->out;

	if (of[MANY_FAILED] > 0) {
		writer_phrase(w, WRITER_PLAIN, ", %zu refused or failed", of[MANY_FAILED]);
	}
	if (of[MANY_UNKNOWN] + of[MANY_SENT] > 0) {
		writer_phrase(w, WRITER_PLAIN, ", %zu with unknown outcome: %s command list",
			      of[MANY_UNKNOWN] + of[MANY_SENT], ctl->self);
	}
	if (of[MANY_WAITS] > 0) {
		writer_phrase(w, WRITER_PLAIN, ", %zu not sent", of[MANY_WAITS]);
	}
}
