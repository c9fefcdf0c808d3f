// SPDX-License-Identifier: GPL-2.0-or-later
/* See live.h. While nobody looks, nothing is asked. */
#include "slowctl/page/live.h"

#include <event2/event.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "daemon/core/now.h"
#include "slowctl/page/sample.h"
#include "slowctl/page/station.h"

#define SILENT_NS 1500000000ull

/* Someone who looks. */
struct looker {
	struct live *live;
	struct server_client *client;
	LIST_ENTRY(looker) next;
};

struct live {
	struct event *tick;
	uint64_t sent_ns; /* the last `station` */
	struct station *station;
	struct sample *sample;
	LIST_HEAD(, looker) lookers;
};

static void on_end(void *context)
{
	struct looker *l = context;

	LIST_REMOVE(l, next);
	free(l);
}

/* `json` is taken over. A client that does not read is disconnected later: on_end() comes from the event loop. */
static void send_all(struct live *l, const char *event, json_t *json)
{
	char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
	struct looker *k;

	if (text) {
		LIST_FOREACH (k, &l->lookers, next) {
			server_send_event(k->client, event, text);
		}
	}
	free(text);
	json_decref(json);
}

static void send_station(void *context)
{
	struct live *l = context;

	l->sent_ns = now_mono_ns();
	send_all(l, "station", station_now(l->station));
}

static void send_sample(void *context, json_t *sample)
{
	send_all(context, "sample", sample);
}

/* The daemon's answer is sent when it comes; without one its age is sent. */
static void look(struct live *l)
{
	const char *key;
	const char *endpoint = station_monitors(l->station, &key);

	if (!station_ask(l->station) || now_mono_ns() - l->sent_ns > SILENT_NS) {
		send_station(l);
	}
	sample_ask(l->sample, endpoint, key);
}

static void on_tick(evutil_socket_t fd, short what, void *context)
{
	struct live *l = context;

	if (!LIST_EMPTY(&l->lookers)) {
		look(l);
	}
}

void live_ask(void *context, struct server_client *c, const char *rest,
	      const struct evkeyvalq *arguments)
{
	struct live *l = context;
	struct looker *k = calloc(1, sizeof(*k));

	if (!k) {
		server_refuse(c, HTTP_INTERNAL, "", "out of memory");
		return;
	}
	if (!server_begin_events(c)) {
		free(k);
		return;
	}
	*k = (struct looker){.live = l, .client = c};
	server_on_end(c, on_end, k);
	LIST_INSERT_HEAD(&l->lookers, k, next);
	look(l);
}

struct live *live_new(struct event_base *base, const struct reader_place *place,
		      const char *key_file)
{
	const struct timeval second = {.tv_sec = 1};
	struct live *l = calloc(1, sizeof(*l));

	if (!l) {
		return NULL;
	}
	LIST_INIT(&l->lookers);
	l->station = station_new(base, place, send_station, l);
	l->sample = sample_new(base, key_file, send_sample, l);
	l->tick = event_new(base, -1, EV_PERSIST, on_tick, l);
	if (!l->station || !l->sample || !l->tick || event_add(l->tick, &second) < 0) {
		live_free(l);
		return NULL;
	}
	return l;
}

void live_free(struct live *l)
{
	if (l) {
		if (l->tick) {
			event_free(l->tick);
		}
		station_free(l->station);
		sample_free(l->sample);
		free(l);
	}
}
