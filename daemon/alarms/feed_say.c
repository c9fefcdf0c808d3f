// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The TriDAS feed in the operator's words: its readers (consumer.list), why it is red, and events of readers
 * that were dropped or refused, by floor and address.
 */
#include <stdio.h>

#include "daemon/alarms/reasons.h"

#define SHOWN_NS 60000000000ull /* a reader that was dropped stays a reason for so long */

static json_t *floor_json(const struct station *s, unsigned link)
{
	const struct config_link *l = &s->config.link[link];

	return json_pack("{s:i,s:i,s:i,s:i}", "link", (int)link, "tower", l->tower, "floor",
			 l->floor, "port", s->publisher_status.feed.port[link]);
}

static json_t *reader_json(const struct station *s, const struct feed_reader_status *r,
			   const struct feed_gone_status *gone)
{
	json_t *j = floor_json(s, r->link);
	json_t *dropped = json_null();

	if (gone) {
		dropped = json_pack("{s:s,s:I,s:o}", "outcome", outcome_name(gone->why), "frames",
				    (json_int_t)gone->frames, "time", json_time_of(gone->at_ns));
	}
	json_object_update_new(
		j, json_pack("{s:s,s:o,s:I,s:I,s:I,s:I,s:o}", "address", r->address, "since",
			     json_time_of(r->since_ns), "bytes", (json_int_t)r->bytes, "hits",
			     (json_int_t)r->hits, "behind_bytes", (json_int_t)r->behind_bytes,
			     "behind_frames", (json_int_t)r->behind_frames, "dropped", dropped));
	return j;
}

json_t *status_feed(struct station *s)
{
	const struct feed_status *f = &s->publisher_status.feed;
	json_t *floors = json_array(), *readers = json_array();

	reports_groups(s);
	if (!s->publisher_status.has_feed) {
		json_decref(floors);
		json_decref(readers);
		return json_null();
	}
	for (unsigned link = 0; link < NANET3_LINKS; link++) {
		if (f->port[link]) {
			json_array_append_new(floors, floor_json(s, link));
		}
	}
	for (unsigned n = 0; n < f->readers; n++) {
		json_array_append_new(readers, reader_json(s, &f->reader[n], NULL));
	}
	for (uint64_t n = f->dropped > FEED_GONE ? f->dropped - FEED_GONE : 0; n < f->dropped;
	     n++) {
		const struct feed_gone_status *gone = &f->gone[n % FEED_GONE];

		json_array_append_new(readers, reader_json(s, &gone->reader, gone));
	}
	return json_pack("{s:s,s:o,s:o,s:I,s:I,s:I,s:I,s:I}", "address", s->config.feed.address,
			 "floors", floors, "readers", readers, "connects", (json_int_t)f->connects,
			 "refused", (json_int_t)f->refused, "left", (json_int_t)f->left, "dropped",
			 (json_int_t)f->dropped, "ignored_bytes", (json_int_t)f->heard_bytes);
}

static void object_of(const struct station *s, unsigned link, char *text, size_t size)
{
	const struct config_link *l = &s->config.link[link];

	snprintf(text, size, "feed tower%u.floor%u", l->tower, l->floor);
}

static void gone_text(const struct feed_gone_status *g, char *text, size_t size)
{
	snprintf(
		text, size,
		"reader %s was disconnected (%s), %.1f MB behind: %llu frames were not given to it",
		g->reader.address, outcome_name(g->why), (double)g->reader.behind_bytes / 1e6,
		(unsigned long long)g->frames);
}

static const char gone_action[] = "is that program or its network too slow? It may connect again, "
				  "and goes on with the newest "
				  "hits: fcmctl consumer list";

static void nobody(struct reasons *r, unsigned link)
{
	const struct station *s = r->station;
	const struct feed_status *f = &s->publisher_status.feed;
	char object[48], action[128];

	for (unsigned n = 0; n < f->readers; n++) {
		if (f->reader[n].link == link) {
			return;
		}
	}
	object_of(s, link, object, sizeof(object));
	snprintf(action, sizeof(action), "start the trigger's reader; it connects to %s port %u",
		 s->config.feed.address, f->port[link]);
	reasons_add(r, true, "consumer-none", object, action,
		    "no reader is connected: its hits are dropped");
}

/* The last one of each floor that was dropped within the last minute. */
static void gone(struct reasons *r, unsigned link)
{
	const struct station *s = r->station;
	const struct feed_gone_status *last = &s->publisher_status.feed.last_gone[link];
	char object[48], text[200];

	if (last->at_ns && r->now_ns < last->at_ns + SHOWN_NS) {
		object_of(s, link, object, sizeof(object));
		gone_text(last, text, sizeof(text));
		reasons_add(r, false, "feed-reader-dropped", object, gone_action, "%s", text);
	}
}

void reasons_feed(struct reasons *r, bool fresh)
{
	const struct feed_status *f = &r->station->publisher_status.feed;

	for (unsigned link = 0; link < NANET3_LINKS; link++) {
		if (f->port[link]) {
			if (!fresh) {
				nobody(r, link);
			}
			gone(r, link);
		}
	}
}

/* A reader that is refused is closed at once, and tries again: told once a minute. */
static void refused_news(struct station *s)
{
	const struct feed_status *f = &s->publisher_status.feed;
	uint64_t more = told_news(&s->readers_refused, f->refused, now_mono_ns());
	char object[48], text[200];

	if (more == 0) {
		return;
	}
	object_of(s, f->refused_last.link, object, sizeof(object));
	snprintf(text, sizeof(text),
		 "reader %s was refused: %u readers are there already (%llu refused since this was "
		 "last told)",
		 f->refused_last.address, FEED_READERS_LINK, (unsigned long long)more);
	log_event(LOG_WARNING, "feed", f->refused_last.link, LOG_ID_CONSUMER, "%s: %s", object,
		  text);
	store_put_event(s->store, "warning", "feed-reader-refused", object, text,
			"end a reader that is not needed: fcmctl consumer list", now_utc_ns());
}

/* One that stalls, is dropped and connects again, in a loop, is an event of its floor a minute. */
static void dropped_news(struct station *s, const struct feed_gone_status *g, uint64_t more)
{
	char object[48], last[200], others[100] = "", text[300];

	object_of(s, g->reader.link, object, sizeof(object));
	gone_text(g, last, sizeof(last));
	if (more > 1) {
		snprintf(others, sizeof(others),
			 "; the last of %llu readers of this floor since the event before",
			 (unsigned long long)more);
	}
	snprintf(text, sizeof(text), "%s%s", last, others);
	log_event(LOG_WARNING, "feed", g->reader.link, LOG_ID_CONSUMER, "%s: %s", object, text);
	store_put_event(s->store, "warning", "feed-reader-dropped", object, text, gone_action,
			now_utc_ns());
}

void reasons_feed_tick(struct station *s)
{
	const struct feed_status *f = &s->publisher_status.feed;

	refused_news(s);
	for (unsigned link = 0; link < NANET3_LINKS; link++) {
		uint64_t more =
			told_news(&s->readers_dropped[link], f->dropped_of[link], now_mono_ns());

		if (more) {
			dropped_news(s, &f->last_gone[link], more);
		}
	}
}
