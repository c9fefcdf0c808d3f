// SPDX-License-Identifier: GPL-2.0-or-later
/* See scrape.h. A round asks the daemon each question once; it ends when all are answered, or in time. */
#include "slowctl/page/scrape.h"

#include <event2/event.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "daemon/core/now.h"

#define SHARED_NS 1000000000ull /* so long the end of a round is the answer for all */
#define ROUNDS	  1000000
#define TEXT_TYPE "text/plain; charset=utf-8"

enum question { STATUS, PARAMETERS, QUESTIONS };

static const char *const operations[QUESTIONS] = {[STATUS] = "status", [PARAMETERS] = "param.list"};

typedef void answer_fn(struct scrape *s, struct server_client *c);

/* Someone who waits for the end of a round. */
struct waiter {
	struct server_client *client;
	answer_fn *answer;
	LIST_ENTRY(waiter) next;
};

struct scrape {
	struct reader *reader;
	const struct metrics_dictionary *dictionary;
	struct event *patience;
	bool asking;
	int round;
	json_t *pending[QUESTIONS]; /* of this round */
	uint64_t ended_ns;	    /* the last round; 0: there was none */
	uint64_t answered_ns;	    /* the last that was answered; 0: none was */
	json_t *answer[QUESTIONS];  /* of the last round; NULL: it was not answered */
	char *text;		    /* /metrics after the last round */
	LIST_HEAD(, waiter) waiters;
};

/* ------------------------------------------------------------------ answers */

static bool fresh(const struct scrape *s)
{
	return s->answer[STATUS] != NULL;
}

static void answer_metrics(struct scrape *s, struct server_client *c)
{
	server_answer_text(c, HTTP_OK, METRICS_CONTENT_TYPE, s->text);
}

static void say(struct server_client *c, bool good, const char *why)
{
	char line[700];

	snprintf(line, sizeof(line), "%s\n", why);
	server_answer_text(c, good ? HTTP_OK : HTTP_SERVUNAVAIL, TEXT_TYPE, line);
}

static void say_away(struct scrape *s, struct server_client *c)
{
	const char *action = reader_action(s->reader);
	char why[640];

	snprintf(why, sizeof(why), "%s%s%s", reader_away(s->reader), *action ? ": " : "", action);
	say(c, false, why);
}

static void answer_healthz(struct scrape *s, struct server_client *c)
{
	if (fresh(s)) {
		say(c, true, "fcm-server answers");
	} else {
		say_away(s, c);
	}
}

static void answer_readyz(struct scrape *s, struct server_client *c)
{
	char why[512];

	if (fresh(s)) {
		say(c, metrics_ready(s->answer[STATUS], why, sizeof(why)), why);
	} else {
		say_away(s, c);
	}
}

/* ------------------------------------------------------------------ a round */

static void forget(json_t *answer[QUESTIONS])
{
	for (size_t q = 0; q < QUESTIONS; q++) {
		json_decref(answer[q]);
		answer[q] = NULL;
	}
}

static void end_round(struct scrape *s, bool answered)
{
	struct metrics_answers a = {0};
	struct waiter *w;

	s->asking = false;
	event_del(s->patience);
	s->ended_ns = now_mono_ns();
	forget(s->answer);
	if (answered) {
		memcpy(s->answer, s->pending, sizeof(s->answer));
		memset(s->pending, 0, sizeof(s->pending));
		s->answered_ns = s->ended_ns;
		reader_is_well(s->reader);
	}
	forget(s->pending);
	a.status = s->answer[STATUS];
	a.parameters = json_object_get(s->answer[PARAMETERS], "parameters");
	a.age_s = s->answered_ns ? (double)(s->ended_ns - s->answered_ns) / 1e9 : (double)NAN;
	free(s->text);
	s->text = metrics_write(s->dictionary, &a);
	while ((w = LIST_FIRST(&s->waiters)) != NULL) {
		LIST_REMOVE(w, next);
		w->answer(s, w->client);
		free(w);
	}
}

static void on_patience(evutil_socket_t fd, short what, void *context)
{
	struct scrape *s = context;

	reader_give_up(s->reader, "fcm-server has not answered within %d s", SCRAPE_WAIT_S);
	end_round(s, false);
}

static void on_message(void *context, const json_t *message)
{
	struct scrape *s = context;
	const json_t *id = json_object_get(message, "id");
	const char *why =
		json_string_value(json_object_get(json_object_get(message, "error"), "message"));
	json_int_t q = json_integer_value(id) - (json_int_t)s->round * QUESTIONS;

	if (s->asking && why && json_is_null(id)) { /* all that this client asks is refused */
		end_round(s, false);
		return;
	}
	if (!s->asking || !json_is_integer(id) || q < 0 || q >= QUESTIONS) {
		return; /* of an earlier round */
	}
	if (why) {
		reader_give_up(s->reader, "fcm-server refuses: %s", why);
		end_round(s, false);
		return;
	}
	json_decref(s->pending[q]);
	s->pending[q] = json_incref(json_object_get(message, "result"));
	if (s->pending[STATUS] && s->pending[PARAMETERS]) {
		end_round(s, true);
	}
}

static void begin_round(struct scrape *s)
{
	static const struct timeval patience = {.tv_sec = SCRAPE_WAIT_S};

	if (reader_connect(s->reader) < 0) {
		end_round(s, false);
		return;
	}
	s->asking = true;
	s->round = (s->round + 1) % ROUNDS;
	for (int q = 0; q < QUESTIONS; q++) {
		reader_ask(s->reader, s->round * QUESTIONS + q, operations[q], NULL);
	}
	event_add(s->patience, &patience);
}

/* ------------------------------------------------------------------ requests */

static void on_end(void *context)
{
	struct waiter *w = context;

	LIST_REMOVE(w, next);
	free(w);
}

static void ask(struct scrape *s, struct server_client *c, answer_fn *answer)
{
	struct waiter *w;

	if (!s->asking && s->ended_ns && now_mono_ns() - s->ended_ns < SHARED_NS) {
		answer(s, c);
		return;
	}
	w = calloc(1, sizeof(*w));
	if (!w) {
		server_refuse(c, HTTP_INTERNAL, "", "out of memory");
		return;
	}
	w->client = c;
	w->answer = answer;
	server_on_end(c, on_end, w);
	LIST_INSERT_HEAD(&s->waiters, w, next);
	if (!s->asking) {
		begin_round(s);
	}
}

void scrape_metrics(void *context, struct server_client *c, const char *rest,
		    const struct evkeyvalq *arguments)
{
	ask(context, c, answer_metrics);
}

void scrape_healthz(void *context, struct server_client *c, const char *rest,
		    const struct evkeyvalq *arguments)
{
	ask(context, c, answer_healthz);
}

void scrape_readyz(void *context, struct server_client *c, const char *rest,
		   const struct evkeyvalq *arguments)
{
	ask(context, c, answer_readyz);
}

/* ------------------------------------------------------------------ begin and end */

struct scrape *scrape_new(struct event_base *base, const struct reader_place *place,
			  const struct metrics_dictionary *dictionary)
{
	struct scrape *s = calloc(1, sizeof(*s));

	if (!s) {
		return NULL;
	}
	LIST_INIT(&s->waiters);
	s->dictionary = dictionary;
	s->patience = event_new(base, -1, 0, on_patience, s);
	s->reader = reader_new(base, place, on_message, s);
	if (!s->patience || !s->reader) {
		scrape_free(s);
		return NULL;
	}
	return s;
}

void scrape_free(struct scrape *s)
{
	if (!s) {
		return;
	}
	if (s->patience) {
		event_free(s->patience);
	}
	reader_free(s->reader);
	forget(s->pending);
	forget(s->answer);
	free(s->text);
	free(s);
}
