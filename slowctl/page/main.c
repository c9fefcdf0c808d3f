// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fcm-page: a read-only page of one station, for a wall screen and for an expert's phone. A reader of the control socket
 * (station.c), of the database (past.c) and of the monitor stream (sample.c): a process of its own, because what
 * strangers may speak to has no part in the high voltage.
 */
#include <ctype.h>
#include <errno.h>
#include <event2/event.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/core/log.h"
#include "slowctl/page/files.h"
#include "slowctl/page/live.h"
#include "slowctl/page/past.h"
#include "slowctl/page/scrape.h"

#define BOARD_MAX  999u
#define PORT	   5770u /* + board */
#define EXIT_USAGE 2
/* After 1 systemd starts it again: a port is taken, an address is not there yet, memory is short. */
#define EXIT_PASSES 1
#define EXIT_CONFIG 78 /* only another configuration mends it */

static const char usage_text[] =
	"usage: fcm-page [--board N | --dir DIR] [--address A] [--port N] [--host NAME]...\n"
	"                [--key FILE] [--files DIR] [--dictionary FILE]\n"
	"       fcm-page --list-metrics [--dictionary FILE]\n"
	"\n"
	"A read-only page of one station, and its metrics, by HTTP.\n"
	"\n"
	"  --board N      the station of board N (default 0)\n"
	"  --dir DIR      the station of a make run: its directory\n"
	"  --address A    numeric address to listen on (default 127.0.0.1)\n"
	"  --port N       default 5770 + board; 0: any that is free\n"
	"  --host NAME    the page is also called by this name; may be repeated\n"
	"  --key FILE     for data that are encrypted: of fcmctl key make NAME monitor\n"
	"  --files DIR    the page's files (default " FCM_DATADIR "/page)\n"
	"  --dictionary FILE  describes the parameters for /metrics\n"
	"                 (default " FCM_DATADIR "/parameters.conf)\n"
	"  --list-metrics print each metric: name, type, labels, what it is\n"
	"  --version, --help\n"
	"\n"
	"From elsewhere: ssh -L 5770:127.0.0.1:5770 HOST, then http://localhost:5770/\n"
	"Manual: fcm-page(8).\n";

struct options {
	struct reader_place place;
	struct server_config server;
	unsigned board, hosts;
	const char *dir, *key, *files, *dictionary;
	bool list;
	int port; /* -1: not given */
};

static bool whole(const char *text, unsigned most, unsigned *ret)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (!isdigit((unsigned char)*text) || *end || n > most) {
		return false;
	}
	*ret = (unsigned)n;
	return true;
}

/* False: the value is invalid. */
static bool take(struct options *o, int option, const char *value)
{
	unsigned n;

	switch (option) {
	case 'b':
		return whole(value, BOARD_MAX, &o->board);
	case 'p':
		if (!whole(value, 65535, &n)) {
			return false;
		}
		o->port = (int)n;
		return true;
	case 'H':
		if (o->hosts == SERVER_HOSTS_MAX) {
			return false;
		}
		o->server.hosts[o->hosts++] = value;
		return true;
	case 'd':
		o->dir = value;
		return true;
	case 'a':
		o->server.address = value;
		return true;
	case 'k':
		o->key = value;
		return true;
	case 'D':
		o->dictionary = value;
		return true;
	case 'l':
		o->list = true;
		return true;
	default:
		o->files = value;
		return true;
	}
}

/* 0: go on; 1: printed what was asked for; 2: wrong usage, reported. */
static int parse(int argc, char **argv, struct options *o)
{
	static const struct option longs[] = {
		{"board", required_argument, NULL, 'b'},
		{"dir", required_argument, NULL, 'd'},
		{"address", required_argument, NULL, 'a'},
		{"port", required_argument, NULL, 'p'},
		{"host", required_argument, NULL, 'H'},
		{"key", required_argument, NULL, 'k'},
		{"files", required_argument, NULL, 'f'},
		{"dictionary", required_argument, NULL, 'D'},
		{"list-metrics", no_argument, NULL, 'l'},
		{"version", no_argument, NULL, 'V'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	int c, index;

	while ((c = getopt_long(argc, argv, "h", longs, &index)) != -1) {
		if (c == 'V') {
			puts("fcm-page " FCM_VERSION);
			return 1;
		}
		if (c == 'h') {
			fputs(usage_text, stdout);
			return 1;
		}
		if (c == '?') {
			return EXIT_USAGE;
		}
		if (!take(o, c, optarg)) {
			fprintf(stderr, "fcm-page: --%s %s: invalid; fcm-page --help\n",
				longs[index].name, optarg);
			return EXIT_USAGE;
		}
	}
	if (optind < argc) {
		fprintf(stderr, "fcm-page: unexpected argument '%s'; fcm-page --help\n",
			argv[optind]);
		return EXIT_USAGE;
	}
	reader_find(&o->place, o->board, o->dir);
	o->server.port = (unsigned short)(o->port < 0 ? PORT + o->board : (unsigned)o->port);
	return 0;
}

static void on_signal(evutil_socket_t number, short what, void *base)
{
	event_base_loopbreak(base);
}

/* The exit status. */
static int fail(int code, const struct sc_error *error)
{
	fprintf(stderr, "fcm-page: %s%s%s\n", error->message, error->hint[0] ? "\n  -> " : "",
		error->hint);
	return code;
}

static void say_address(const struct options *o, const struct server *server)
{
	bool six = strchr(o->server.address, ':');

	printf("http://%s%s%s:%u/\n", six ? "[" : "", o->server.address, six ? "]" : "",
	       server_port(server));
	fflush(stdout);
}

static int serve(struct options *o, struct event_base *base, struct files *files,
		 const struct metrics_dictionary *dictionary)
{
	struct live *live = live_new(base, &o->place, o->key);
	struct past *past = past_new(base, &o->place);
	struct scrape *scrape = scrape_new(base, &o->place, dictionary);
	struct server *server = NULL;
	struct sc_error error = {.message = "out of memory"};
	int code = 0, r = -ENOMEM;

	o->server.route[0] = (struct server_route){"/live", live_ask, live};
	o->server.route[1] = (struct server_route){"/past/", past_ask, past};
	o->server.route[2] = (struct server_route){"/metrics", scrape_metrics, scrape};
	o->server.route[3] = (struct server_route){"/healthz", scrape_healthz, scrape};
	o->server.route[4] = (struct server_route){"/readyz", scrape_readyz, scrape};
	o->server.route[5] = (struct server_route){"/", files_ask, files};
	if (live && past && scrape) {
		r = server_open(base, &o->server, &server, &error);
	}
	if (r == 0) {
		say_address(o, server);
		event_base_dispatch(base);
	} else { /* a port below 1024 */
		code = fail(r == -EACCES ? EXIT_CONFIG : EXIT_PASSES, &error);
	}
	server_close(server);
	live_free(live);
	past_free(past);
	scrape_free(scrape);
	return code;
}

/* Until a signal. */
static int run(struct options *o, const struct metrics_dictionary *dictionary)
{
	struct event_base *base = event_base_new();
	struct event *stop[2];
	struct files *files = NULL;
	struct sc_error error = {0};
	int code, r;

	if (!base) {
		fputs("fcm-page: no event loop: out of memory or descriptors\n", stderr);
		return EXIT_PASSES;
	}
	stop[0] = evsignal_new(base, SIGTERM, on_signal, base);
	stop[1] = evsignal_new(base, SIGINT, on_signal, base);
	evsignal_add(stop[0], NULL);
	evsignal_add(stop[1], NULL);
	r = files_open(o->files, &files, &error);
	code = r == 0 ? serve(o, base, files, dictionary)
		      : fail(r == -ENOMEM ? EXIT_PASSES : EXIT_CONFIG, &error);
	files_close(files);
	event_free(stop[0]);
	event_free(stop[1]);
	event_base_free(base);
	return code;
}

int main(int argc, char **argv)
{
	struct options o = {
		.server = {.address = "127.0.0.1"},
		.files = FCM_DATADIR "/page",
		.dictionary = FCM_DATADIR "/parameters.conf",
		.port = -1,
	};
	struct metrics_dictionary *dictionary;
	struct sc_error error = {0};
	int code = parse(argc, argv, &o), r;

	if (code != 0) {
		return code == 1 ? 0 : code;
	}
	r = metrics_dictionary_load(o.dictionary, &dictionary, &error);
	if (r < 0) {
		snprintf(error.hint, sizeof(error.hint), "--dictionary FILE names it");
		return fail(r == -ENOMEM ? EXIT_PASSES : EXIT_CONFIG, &error);
	}
	if (o.list) {
		metrics_list(dictionary, stdout);
	} else {
		signal(SIGPIPE, SIG_IGN);
		log_open(o.board, LOG_INFO);
		code = run(&o, dictionary);
		log_close();
	}
	metrics_dictionary_free(dictionary);
	return code;
}
