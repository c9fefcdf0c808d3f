// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fcm-notify: tells people about incidents, wherever they are. A reader of the control socket that asks for the incidents
 * once a second, decides by the rules of its receivers (receiver.h) what is due, keeps that (book.h), and delivers it
 * (deliver.h). All that waits for a receiver goes in one delivery. It tells the daemon whether its receivers can be
 * reached; a daemon that does not answer is an incident of its own making.
 */
#include <ctype.h>
#include <event2/event.h>
#include <getopt.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/core/log.h"
#include "daemon/core/now.h"
#include "daemon/core/text.h"
#include "slowctl/notify/book.h"
#include "slowctl/notify/deliver.h"
#include "slowctl/notify/words.h"
#include "slowctl/reader/reader.h"

#define BOARD_MAX   999u
#define EXIT_USAGE  2
#define EXIT_CONFIG 78	 /* systemd does not start it again */
#define AWAY_S	    60.0 /* a daemon that does not answer for so long is told */
#define PATIENCE_S  5.0	 /* an answer that does not come is asked for on a new connection */
#define SETTLED_S   35.0 /* what a daemon's start brings has cleared by then */
#define RETRY_S	    10.0 /* after the first failure; then twice as long each time */
#define RETRY_MAX_S 600.0
#define TOGETHER    50u /* notices in one delivery */
#define AWAY_NUMBER 0u	/* of no incident of the daemon */

enum question { INFO, INCIDENTS, REPORT, QUESTIONS };

/* A receiver at work. */
struct line {
	struct notify *notify;
	unsigned index;
	struct delivery *delivery; /* NULL: none is under way */
	bool untested;		   /* a test waits, or is on its way */
	unsigned failures;	   /* since the last that succeeded */
	double next_try, tokens, counted_at;
	char why[300]; /* the last failure; "": it works */
};

struct notify {
	struct event_base *base;
	struct reader_place place;
	struct reader *reader;
	struct receivers receivers;
	struct book *book;
	bool book_fails;
	struct line line[RECEIVERS_MAX];
	char station[40];
	double asked_at[QUESTIONS]; /* monotonic s; 0: nothing is asked */
	double answered_at;	    /* of the incidents; at the start: now */
	double daemon_started;	    /* UTC s */
	struct notify_incident away;
	json_int_t test; /* the newest that was asked for; -1: the daemon has not said */
	json_int_t tested;
};

static double mono(void)
{
	return (double)now_mono_ns() / 1e9;
}

static double utc(void)
{
	return (double)now_utc_ns() / 1e9;
}

/* ------------------------------------------------------------------ delivering */

static void delivered(void *context, const char *why)
{
	struct line *l = context;
	const char *name = l->notify->receivers.receiver[l->index].name;

	l->delivery = NULL;
	l->untested = false;
	if (!why) {
		if (l->failures) {
			log_notice("notify", "receiver %s can be reached again", name);
		}
		book_delivered(l->notify->book, l->index);
		l->failures = 0;
		l->why[0] = '\0';
		return;
	}
	book_send(l->notify->book, l->index, 0);
	l->tokens += 1.0; /* it has told nobody */
	snprintf(l->why, sizeof(l->why), "%s", why);
	if (l->failures++ == 0) {
		log_warning("notify", "receiver %s: %s; it is tried again", name, why);
	}
	l->next_try = mono() + fmin(RETRY_MAX_S, RETRY_S * pow(2.0, fmin(l->failures - 1, 10.0)));
}

/* A delivery an hour's share; saved up to one hour. */
static bool has_token(struct line *l, const struct receiver *r)
{
	double now = mono();

	l->tokens = fmin(r->per_hour, l->tokens + (now - l->counted_at) * r->per_hour / 3600.0);
	l->counted_at = now;
	return l->tokens >= 1.0;
}

static void deliver(struct line *l)
{
	struct notify *n = l->notify;
	const struct receiver *r = &n->receivers.receiver[l->index];
	unsigned waiting = book_waiting(n->book, l->index);
	unsigned sending = waiting < TOGETHER ? waiting : TOGETHER;
	struct notify_words words;
	char why[200] = "out of memory";

	if (!waiting || l->delivery || mono() < l->next_try || !has_token(l, r)) {
		return;
	}
	l->tokens -= 1.0;
	if (notify_words(n->station, book_notices(n->book, l->index), sending,
			 book_dropped(n->book, l->index), &words) == 0) {
		book_send(n->book, l->index, sending);
		l->delivery = delivery_begin(n->base, r, n->place.board, &words, delivered, l, why,
					     sizeof(why));
		notify_words_free(&words);
	}
	if (!l->delivery) {
		delivered(l, why);
	}
}

/* ------------------------------------------------------------------ what is due */

/* `json`: of the Incident. */
static void tell(struct notify *n, const struct notify_incident *i, const json_t *json)
{
	for (unsigned r = 0; r < n->receivers.count; r++) {
		enum notice due = receiver_due(&n->receivers.receiver[r], book_told(n->book, r, i),
					       i, book_started(n->book), utc());

		if (due == NOTICE_PASSED) {
			book_pass(n->book, r, i);
		} else if (due != NOTICE_NONE) {
			book_add(n->book, r, i, due, notice_make(due, json, utc()));
		}
	}
}

static bool has(const json_t *j, const char *key)
{
	const json_t *value = json_object_get(j, key);

	return value && !json_is_null(value);
}

static bool says(const json_t *j, const char *key, const char *text)
{
	const char *is = json_string_value(json_object_get(j, key));

	return is && strcmp(is, text) == 0;
}

static void take_incidents(struct notify *n, const json_t *result)
{
	size_t k;
	const json_t *j;

	json_array_foreach (json_object_get(result, "list"), k, j) {
		const char *object = json_string_value(json_object_get(j, "object"));
		struct notify_incident i = {
			.number = (uint32_t)json_integer_value(json_object_get(j, "number")),
			.red = says(j, "severity", "red"),
			.active = !says(j, "state", "cleared"),
			.acknowledged = has(j, "acknowledged"),
			.paused = says(j, "state", "paused"),
			.own = has(j, "own"),
			.object = object ? object : "",
			.since = json_number_value(json_object_get(j, "since")),
			.until = json_number_value(json_object_get(j, "until")),
		};

		tell(n, &i, j);
	}
}

/* The daemon's own absence, told as an incident. */
static void judge_absence(struct notify *n)
{
	double silent = mono() - n->answered_at;
	json_t *json;

	if (!n->away.active && silent < AWAY_S) {
		return;
	}
	if (!n->away.active) {
		n->away.since = utc() - silent;
	}
	n->away.active = silent >= AWAY_S;
	n->away.until = utc();
	json = json_pack("{s:s,s:i,s:s,s:s,s:s,s:s,s:f}", "severity", "red", "number",
			 (int)AWAY_NUMBER, "object", "daemon", "code", "daemon-away", "text",
			 *reader_away(n->reader) ? reader_away(n->reader)
						 : "the daemon does not answer",
			 "action", reader_action(n->reader), "since", n->away.since);
	tell(n, &n->away, json);
	json_decref(json);
}

static void add_tests(struct notify *n, json_int_t wanted)
{
	if (n->test >= 0 && wanted > n->test) { /* what was asked for before we began is old */
		for (unsigned r = 0; r < n->receivers.count; r++) {
			book_add(n->book, r, NULL, NOTICE_TEST,
				 notice_make(NOTICE_TEST, NULL, utc()));
			n->line[r].next_try = 0;
			n->line[r].untested = true;
		}
	} else if (n->test < 0) {
		n->tested = wanted;
	}
	n->test = wanted;
}

/* ------------------------------------------------------------------ the daemon */

static void on_message(void *context, const json_t *message)
{
	struct notify *n = context;
	const json_t *result = json_object_get(message, "result");
	json_int_t q = json_integer_value(json_object_get(message, "id"));
	const char *name;

	if (!json_is_integer(json_object_get(message, "id")) || q < 0 || q >= QUESTIONS) {
		return;
	}
	n->asked_at[q] = 0;
	if (!result) { /* an error: it is asked again */
		return;
	}
	if (q == INFO) {
		name = json_string_value(json_object_get(result, "name"));
		snprintf(n->station, sizeof(n->station), "%s", name ? name : "?");
		text_whole(n->station);
		n->daemon_started = json_number_value(json_object_get(result, "started"));
	} else if (q == INCIDENTS) {
		n->answered_at = mono();
		reader_is_well(n->reader);
		if (utc() - n->daemon_started > SETTLED_S) { /* else numbers may still change */
			take_incidents(n, result);
		}
	} else {
		add_tests(n, json_integer_value(json_object_get(result, "test")));
	}
}

/* {receivers, failing, waiting, tested} */
static json_t *report(struct notify *n)
{
	json_t *names = json_array(), *failing = json_array();
	unsigned waiting = 0;
	bool busy = false;
	char line[400];

	for (unsigned r = 0; r < n->receivers.count; r++) {
		const char *name = n->receivers.receiver[r].name;
		const struct line *l = &n->line[r];

		json_array_append_new(names, json_string(name));
		if (l->why[0]) {
			snprintf(line, sizeof(line), "%s: %s", name, l->why);
			json_array_append_new(failing, json_string(line));
		}
		busy |= l->untested;
		waiting += book_waiting(n->book, r);
	}
	n->tested = busy ? n->tested : n->test;
	return json_pack("{s:o,s:o,s:I,s:I}", "receivers", names, "failing", failing, "waiting",
			 (json_int_t)waiting, "tested", n->tested < 0 ? 0 : n->tested);
}

static void ask(struct notify *n)
{
	static const char *const ops[QUESTIONS] = {"info", "incident.list", "notify.report"};
	int r;

	if (n->asked_at[INCIDENTS] > 0 && mono() - n->asked_at[INCIDENTS] > PATIENCE_S) {
		reader_give_up(n->reader, "the daemon does not answer");
	}
	r = reader_connect(n->reader);
	if (r != 0) {
		memset(n->asked_at, 0, sizeof(n->asked_at));
	}
	for (int q = r == 1 ? INFO : INCIDENTS; r >= 0 && q < QUESTIONS; q++) {
		if (n->asked_at[q] == 0) {
			reader_ask(n->reader, q, ops[q], q == REPORT ? report(n) : NULL);
			n->asked_at[q] = mono();
		}
	}
}

static void keep(struct notify *n)
{
	int r = book_keep(n->book);

	if (r < 0 && !n->book_fails) {
		log_error("notify", "what waits cannot be kept: %s; a restart would lose it",
			  strerror(-r));
	}
	n->book_fails = r < 0;
}

static void on_tick(evutil_socket_t fd, short what, void *context)
{
	struct notify *n = context;

	ask(n);
	judge_absence(n);
	keep(n); /* before it is delivered: rather twice than never */
	for (unsigned r = 0; r < n->receivers.count; r++) {
		deliver(&n->line[r]);
	}
}

/* ------------------------------------------------------------------ options, start and stop */

static const char usage_text[] =
	"usage: fcm-notify [--board N | --dir DIR] [--config FILE] [--state FILE]\n"
	"       fcm-notify --check-config [--board N] [--config FILE]\n"
	"\n"
	"Tells people about the incidents of one station: by a program, by mail, by a webhook.\n"
	"\n"
	"  --board N         the station of board N (default 0)\n"
	"  --dir DIR         the station of a make run: its directory\n"
	"  --config FILE     default /etc/fcm-server/notify-N.conf, or DIR/notify.conf\n"
	"  --state FILE      what was told and what waits; default\n"
	"                    /var/lib/fcm-notify/N/notices.json, or DIR/notices.json\n"
	"  --check-config    check it and exit: 0 if correct, else 78\n"
	"  --version, --help\n"
	"\n"
	"Manual: fcm-notify(8). fcmctl notify test sends each receiver a test.\n";

struct options {
	unsigned board;
	const char *dir, *config, *state;
	int check;
	char of_station[2][4200]; /* the defaults of config and state */
};

static bool take_board(const char *text, unsigned *ret_board)
{
	char *end;
	unsigned long number = strtoul(text, &end, 10);

	if (!isdigit((unsigned char)*text) || *end || number > BOARD_MAX) {
		fprintf(stderr, "fcm-notify: --board %s: a number 0..%u\n", text, BOARD_MAX);
		return false;
	}
	*ret_board = (unsigned)number;
	return true;
}

/* 0: go on; 1: printed what was asked for; 2: wrong usage, reported. */
static int parse(int argc, char **argv, struct options *o)
{
	const struct option longs[] = {
		{"board", required_argument, NULL, 'b'},
		{"dir", required_argument, NULL, 'd'},
		{"config", required_argument, NULL, 'c'},
		{"state", required_argument, NULL, 's'},
		{"check-config", no_argument, &o->check, true},
		{"version", no_argument, NULL, 'V'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	int c;

	while ((c = getopt_long(argc, argv, "h", longs, NULL)) != -1) {
		if (c == 'V' || c == 'h') {
			fputs(c == 'h' ? usage_text : "fcm-notify " FCM_VERSION "\n", stdout);
			return 1;
		}
		if (c == '?' || (c == 'b' && !take_board(optarg, &o->board))) {
			return EXIT_USAGE;
		}
		o->dir = c == 'd' ? optarg : o->dir;
		o->config = c == 'c' ? optarg : o->config;
		o->state = c == 's' ? optarg : o->state;
	}
	if (optind < argc) {
		fprintf(stderr, "fcm-notify: unexpected argument '%s'; fcm-notify --help\n",
			argv[optind]);
		return EXIT_USAGE;
	}
	if (o->dir) {
		snprintf(o->of_station[0], sizeof(o->of_station[0]), "%s/notify.conf", o->dir);
		snprintf(o->of_station[1], sizeof(o->of_station[1]), "%s/notices.json", o->dir);
	} else {
		snprintf(o->of_station[0], sizeof(o->of_station[0]),
			 "/etc/fcm-server/notify-%u.conf", o->board);
		snprintf(o->of_station[1], sizeof(o->of_station[1]),
			 "/var/lib/fcm-notify/%u/notices.json", o->board);
	}
	o->config = o->config ? o->config : o->of_station[0];
	o->state = o->state ? o->state : o->of_station[1];
	return 0;
}

static void on_signal(evutil_socket_t number, short what, void *base)
{
	event_base_loopbreak(base);
}

/* False: out of memory or descriptors. */
static bool begin(struct notify *n, const struct options *o)
{
	reader_find(&n->place, o->board, o->dir);
	snprintf(n->station, sizeof(n->station), "board %u", o->board);
	n->answered_at = mono();
	n->test = -1;
	n->away = (struct notify_incident){.number = AWAY_NUMBER, .red = true, .object = "daemon"};
	n->base = event_base_new();
	n->reader = n->base ? reader_new(n->base, &n->place, on_message, n) : NULL;
	n->book = book_open(o->state, &n->receivers);
	for (unsigned r = 0; r < n->receivers.count; r++) {
		n->line[r] = (struct line){.notify = n,
					   .index = r,
					   .tokens = n->receivers.receiver[r].per_hour,
					   .counted_at = mono()};
	}
	return n->reader && n->book;
}

static void end(struct notify *n)
{
	for (unsigned r = 0; r < n->receivers.count; r++) {
		delivery_kill(n->line[r].delivery);
	}
	book_close(n->book);
	reader_free(n->reader);
	if (n->base) {
		event_base_free(n->base);
	}
}

static int serve(struct notify *n)
{
	const struct timeval second = {.tv_sec = 1};
	struct event *events[3];
	int code = EXIT_FAILURE;

	events[0] = evsignal_new(n->base, SIGTERM, on_signal, n->base);
	events[1] = evsignal_new(n->base, SIGINT, on_signal, n->base);
	events[2] = event_new(n->base, -1, EV_PERSIST, on_tick, n);
	if (events[0] && events[1] && events[2] && event_add(events[0], NULL) == 0 &&
	    event_add(events[1], NULL) == 0 && event_add(events[2], &second) == 0) {
		log_info("notify", "%u receivers", n->receivers.count);
		event_base_dispatch(n->base);
		code = 0;
	}
	for (size_t i = 0; i < 3; i++) {
		if (events[i]) {
			event_free(events[i]);
		}
	}
	return code;
}

int main(int argc, char **argv)
{
	static struct notify notify;
	static struct options o;
	struct sc_error error = {0};
	int code = parse(argc, argv, &o);

	if (code != 0) {
		return code == 1 ? 0 : code;
	}
	if (receivers_read(o.config, &notify.receivers, &error) < 0) {
		fprintf(stderr, "fcm-notify: %s\n  -> %s\n", error.message, error.hint);
		return EXIT_CONFIG;
	}
	if (o.check) {
		printf("%s: %u receivers\n", o.config, notify.receivers.count);
		return 0;
	}
	signal(SIGPIPE, SIG_IGN);
	log_open(o.board, LOG_INFO);
	if (begin(&notify, &o)) {
		code = serve(&notify);
	} else {
		fputs("fcm-notify: out of memory or descriptors\n", stderr);
		code = EXIT_FAILURE;
	}
	end(&notify);
	log_close();
	return code;
}
