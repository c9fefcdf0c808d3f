// SPDX-License-Identifier: GPL-2.0-or-later
/* Reasons and events of the TriDAS feed's readers, by floor and address. */
#include <stdio.h>

#include "daemon/alarms/private.h"
#include "daemon/core/text.h"

#define SHOWN_NS 60000000000ull /* a reader that was dropped stays a reason for so long */

static struct alarm_object object_of(const struct judge *j, unsigned link)
{
	const struct judge_link *l = &j->v->link[link];

	return object_feed(l->tower, l->floor, link, j->v->publisher->groups - 1);
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
				  "and goes on with the newest hits: fcmctl consumer list";

static void no_reader_reason(struct judge *j, unsigned link)
{
	const struct feed_status *f = &j->v->publisher->feed;
	char where[80];

	for (unsigned n = 0; n < f->readers; n++) {
		if (f->reader[n].link == link) {
			return;
		}
	}
	snprintf(where, sizeof(where), "%s port %u", j->v->config.feed_address, f->port[link]);
	observe(j,
		&(struct observation){.red = true,
				      .code = "consumer-none",
				      .object = object_of(j, link),
				      .advice = "start the trigger's reader; it connects to %s",
				      .with = where},
		"no reader is connected: its hits are dropped");
}

/* The last one of each floor that was dropped within the last minute. */
static void gone_reason(struct judge *j, unsigned link)
{
	const struct feed_gone_status *last = &j->v->publisher->feed.last_gone[link];
	char text[200];

	if (last->at_ns && j->v->now_ns < last->at_ns + SHOWN_NS) {
		gone_text(last, text, sizeof(text));
		reasons_add_at(j, "feed-reader-dropped", object_of(j, link), last->at_ns, 0,
			       gone_action, "%s", text);
	}
}

void reasons_feed(struct judge *j)
{
	const struct feed_status *f = &j->v->publisher->feed;

	for (unsigned link = 0; link < NANET3_LINKS; link++) {
		if (f->port[link]) {
			if (!judge_fresh_start(j)) {
				no_reader_reason(j, link);
			}
			gone_reason(j, link);
		}
	}
}

/* A reader that is refused is closed at once, and tries again: reported once a minute. */
static void refused_news(struct judge *j)
{
	const struct feed_status *f = &j->v->publisher->feed;
	uint64_t more = reported_growth(&j->readers_refused, f->refused, j->v->now_ns);
	char text[200];

	if (more == 0) {
		return;
	}
	snprintf(text, sizeof(text),
		 "reader %s was refused: %u readers are there already (%llu refused since this was "
		 "last reported)",
		 f->refused_last.address, FEED_READERS_LINK, (unsigned long long)more);
	judge_put_event(j, "warning", "feed-reader-refused", object_of(j, f->refused_last.link),
			text, "end a reader that is not needed: fcmctl consumer list", "feed");
}

/* One that stalls, is dropped and connects again, in a loop, is one event a minute for its floor. */
static void dropped_news(struct judge *j, const struct feed_gone_status *g, uint64_t more)
{
	char text[300];

	gone_text(g, text, sizeof(text));
	if (more > 1) {
		text_add(text, sizeof(text),
			 "; the last of %llu readers of this floor since the event before",
			 (unsigned long long)more);
	}
	judge_put_event(j, "warning", "feed-reader-dropped", object_of(j, g->reader.link), text,
			gone_action, "feed");
}

void events_feed(struct judge *j)
{
	const struct feed_status *f = &j->v->publisher->feed;

	refused_news(j);
	for (unsigned link = 0; link < NANET3_LINKS; link++) {
		uint64_t more = reported_growth(&j->readers_dropped[link], f->dropped_of[link],
						j->v->now_ns);

		if (more) {
			dropped_news(j, &f->last_gone[link], more);
		}
	}
}
