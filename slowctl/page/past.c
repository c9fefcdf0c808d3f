// SPDX-License-Identifier: GPL-2.0-or-later
/* See past.h. */
#include "slowctl/page/past.h"

#include <errno.h>
#include <event2/keyvalq_struct.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/core/now.h"
#include "daemon/core/worker.h"
#include "slowctl/query/ask.h"
#include "slowctl/query/picture.h"
#include "slowctl/query/recordings.h"

#define BUSY_NS (2000000ull * PAST_LIMIT_MS) /* a disk that hangs */

/* What may be asked: numbers. */
static const struct argument {
	const char *name;
	double low, high;
} arguments_known[] = {
	{"since", 0, 9e9},
	{"until", 0, 9e9},
	{"limit", 1, 4000},
	{"link", 0, 3},
	{"columns", 1, PICTURE_COLUMNS},
	{"rows", 1, PICTURE_ROWS},
};

struct question {
	struct work work; /* first */
	struct past *past;
	struct server_client *client; /* NULL: it has gone */
	_Atomic bool gone;	      /* the same, for the thread */
	const struct known *known;
	json_t *args;
	json_t *answer;
	int result;
	char words[320]; /* about a failure */
};

typedef int (*answer_fn)(struct query *q, const struct question *question, json_t **ret_json);

struct past {
	struct worker *worker;
	const struct reader_place *place;
};

static int ask_operation(struct query *q, const struct question *question, json_t **ret_json);
static int ask_losses(struct query *q, const struct question *question, json_t **ret_json);
static int ask_phase(struct query *q, const struct question *question, json_t **ret_json);
static int ask_recordings(struct query *q, const struct question *question, json_t **ret_json);

/* `rows`: the most, and where nothing was asked for. */
static const struct known {
	const char *name;
	answer_fn ask;
	int rows;
} all_known[] = {
	{"incident.history", ask_operation, 200},
	{"command.list", ask_operation, 200},
	{"event.list", ask_operation, 200},
	{"run.show", ask_operation, 50},
	{"dark.show", ask_operation, 100},
	{"ledger.show", ask_operation, 1},
	{"record.list", ask_recordings, 100},
	{"losses", ask_losses, 0},
	{"phase", ask_phase, 0},
};

/* ------------------------------------------------------------------ on the thread */

static double number(const struct question *question, const char *name, double otherwise)
{
	const json_t *j = json_object_get(question->args, name);

	return j ? json_number_value(j) : otherwise;
}

static int ask_operation(struct query *q, const struct question *question, json_t **ret_json)
{
	return query_ask(q, question->known->name, question->args, NULL, ret_json);
}

static struct picture_window window_of(const struct question *question)
{
	int64_t until = query_ns(question->args, "until", now_utc_ns());

	return (struct picture_window){
		.since_ns = query_ns(question->args, "since", until - 3600ll * 1000000000),
		.until_ns = until,
		.columns = (unsigned)number(question, "columns", 300),
		.rows = (unsigned)number(question, "rows", 100),
	};
}

static int ask_losses(struct query *q, const struct question *question, json_t **ret_json)
{
	struct picture_window w = window_of(question);

	return picture_losses(q, &w, ret_json);
}

static int ask_phase(struct query *q, const struct question *question, json_t **ret_json)
{
	struct picture_window w = window_of(question);

	return picture_phase(q, (int)number(question, "link", 0), &w, ret_json);
}

static int ask_recordings(struct query *q, const struct question *question, json_t **ret_json)
{
	json_t *station = NULL, *list = NULL;
	char beside[PATH_MAX];
	const char *directory;
	int r = query_station(q, &station);

	directory = json_string_value(
		json_object_get(json_object_get(station, "station"), "recordings"));
	if (!directory || !*directory) {
		directory =
			recordings_beside(question->past->place->database, beside, sizeof(beside));
	}
	r = r == 0 ? recordings_list(directory, (unsigned)number(question, "limit", 0), &list) : r;
	json_decref(station);
	*ret_json = r == 0 ? json_pack("{s:o}", "recordings", list) : NULL;
	return r;
}

static void run(struct work *work)
{
	struct question *question = (struct question *)work;
	struct sc_error error = {0};
	struct query *q = NULL;

	if (question->gone) {
		return;
	}
	question->result = query_open(question->past->place->database, &q, &error);
	if (question->result < 0) {
		snprintf(question->words, sizeof(question->words), "%s", error.message);
		question->result = -EIO; /* whatever there is not */
		return;
	}
	query_limit(q, PAST_LIMIT_MS);
	question->result = question->known->ask(q, question, &question->answer);
	if (question->result < 0) {
		snprintf(question->words, sizeof(question->words), "%s", query_error(q));
	}
	query_close(q);
}

/* ------------------------------------------------------------------ in the event loop */

static void on_end(void *context)
{
	struct question *question = context;

	question->client = NULL;
	question->gone = true;
}

static void answer(struct question *question)
{
	const char *words = question->words[0] ? question->words : strerror(-question->result);

	switch (question->result) {
	case 0:
		server_answer(question->client, HTTP_OK, question->answer);
		question->answer = NULL;
		break;
	case -ENOENT:
	case -ENODATA:
	case -ENOTUNIQ:
		server_refuse(question->client, HTTP_NOTFOUND, "",
			      "the database has nothing of it: %s", words);
		break;
	case -ETIME:
		server_refuse(question->client, HTTP_SERVUNAVAIL, "ask for a shorter time",
			      "the database needs more than %u ms for it", PAST_LIMIT_MS);
		break;
	default:
		server_refuse(question->client, HTTP_INTERNAL, "", "%s", words);
	}
}

static void done(struct work *work)
{
	struct question *question = (struct question *)work;

	if (question->client) {
		answer(question);
	}
	json_decref(question->args);
	json_decref(question->answer);
	free(question);
}

/* The argument into `args`; false: there is no such one, or its value is out of range. */
static bool take_argument(json_t *args, const char *name, const char *value)
{
	char *end;
	double v = strtod(value, &end);

	for (size_t i = 0; i < sizeof(arguments_known) / sizeof(arguments_known[0]); i++) {
		const struct argument *a = &arguments_known[i];

		if (strcmp(name, a->name) == 0) {
			bool whole = a->high < 9e9;

			return *value && !*end && v >= a->low && v <= a->high &&
			       (!whole || v == floor(v)) &&
			       json_object_set_new(args, name,
						   whole ? json_integer((json_int_t)v)
							 : json_real(v)) == 0;
		}
	}
	return false;
}

static const struct known *find(const char *name)
{
	for (size_t i = 0; i < sizeof(all_known) / sizeof(all_known[0]); i++) {
		if (strcmp(all_known[i].name, name) == 0) {
			return &all_known[i];
		}
	}
	return NULL;
}

static void bound_rows(json_t *args, int most)
{
	json_int_t limit = json_integer_value(json_object_get(args, "limit"));

	if (most && (limit < 1 || limit > most)) {
		json_object_set_new(args, "limit", json_integer(most));
	}
}

void past_ask(void *context, struct server_client *c, const char *rest,
	      const struct evkeyvalq *arguments)
{
	struct past *p = context;
	const struct known *known = find(rest);
	struct question *question;
	const struct evkeyval *a;
	json_t *args = json_object();

	if (!known) {
		server_refuse(c, HTTP_NOTFOUND, "", "there is no such question");
		json_decref(args);
		return;
	}
	TAILQ_FOREACH (a, arguments, next) {
		if (!take_argument(args, a->key, a->value)) {
			server_refuse(c, HTTP_BADREQUEST,
				      "since, until: UTC s; limit, link, columns, rows",
				      "an argument is unknown or out of range");
			json_decref(args);
			return;
		}
	}
	question = worker_busy_ns(p->worker) < BUSY_NS ? calloc(1, sizeof(*question)) : NULL;
	if (!question) {
		server_refuse(c, HTTP_SERVUNAVAIL, "look at the disk: dmesg",
			      "the database does not answer, or there is no memory");
		json_decref(args);
		return;
	}
	bound_rows(args, known->rows);
	question->work = (struct work){.run = run, .done = done};
	question->past = p;
	question->client = c;
	question->known = known;
	question->args = args;
	server_on_end(c, on_end, question);
	worker_give(p->worker, &question->work);
}

struct past *past_new(struct event_base *base, const struct reader_place *place)
{
	struct past *p = calloc(1, sizeof(*p));

	if (p) {
		p->place = place;
		if (worker_start(base, "past", &p->worker) < 0) {
			free(p);
			return NULL;
		}
	}
	return p;
}

/* A thread that hangs with the disk keeps what it needs: the process is about to end. */
void past_free(struct past *p)
{
	if (p && worker_stop(p->worker)) {
		free(p);
	}
}
