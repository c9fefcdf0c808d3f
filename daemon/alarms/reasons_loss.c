// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What was lost, as reasons of status and as events: frames of a link, frames that a group's policy
 * dropped, and the members that go or come back. Each burst is an event at its beginning, with each further kind, and at its end, with totals
 * and the time from the first to the last lost frame.
 */
#include <stdio.h>
#include <string.h>

#include "daemon/alarms/reasons.h"
#include "slowctl/param/plural.h"

#define LOSS_RED     0.001	    /* of a minute's frames: more is red, less a warning */
#define FIRST_PPS_NS 10000000000ull /* of a board that is back: it comes within so long */
#define SAME_TIME_NS 2000000000ull  /* losses on all links so close have one cause */

typedef const char *(*name_fn)(unsigned n);

static const char *loss_name(unsigned n)
{
	return tdm_loss_name((enum tdm_loss)n);
}

static const char *drop_name(unsigned n)
{
	return outcome_name((enum outcome)n);
}

/* "520 link-down, 3 crc" */
static void list_names(const uint64_t *lost, unsigned count, name_fn name, char *text, size_t size)
{
	size_t used = 0;

	*text = '\0';
	for (unsigned n = 0; n < count; n++) {
		if (lost[n] && used < size) {
			used += (size_t)snprintf(text + used, size - used, "%s%llu %s",
						 used ? ", " : "", (unsigned long long)lost[n],
						 name(n));
		}
	}
}

/* All links lost frames so in the same seconds. When the first of them did; 0: they did not. */
static uint64_t all_lost(const struct station *s, enum tdm_loss name)
{
	uint64_t first = UINT64_MAX, last = 0;
	unsigned links = 0;

	for (unsigned link = 0; link < NANET3_LINKS; link++) {
		uint64_t at = s->link[link].bursts.grew_ns[name];

		if (s->link[link].enabled) {
			links++;
			first = at < first ? at : first;
			last = at > last ? at : last;
		}
	}
	return links > 1 && first > 0 && last - first < SAME_TIME_NS &&
			       now_mono_ns() - last < LOSS_WINDOW_S * 1000000000ull
		       ? first
		       : 0;
}

/* All links lose in the board at the same time: that is the board, or its way into this machine. */
static bool board_did_it(const struct station *s)
{
	return all_lost(s, TDM_LOSS_BOARD_FIFO) > 0;
}

/* The first PPS of a board that counts anew moves its count, and with it every floor's numbers. */
static bool board_restarted_count(const struct station *s)
{
	uint64_t at = all_lost(s, TDM_LOSS_TIME);

	return s->counts_restarted_ns && at >= s->counts_restarted_ns &&
	       at - s->counts_restarted_ns < FIRST_PPS_NS;
}

/* What the board did on all links stands apart: what a link lost besides has other causes. */
static void list_losses(const struct station *s, const uint64_t lost[TDM_LOSSES], char *text,
			size_t size)
{
	uint64_t own[TDM_LOSSES];
	size_t used;

	memcpy(own, lost, sizeof(own));
	own[TDM_GOOD] = 0;
	if (board_did_it(s)) {
		own[TDM_LOSS_BOARD_FIFO] = 0;
	}
	if (board_restarted_count(s)) {
		own[TDM_LOSS_TIME] = 0;
	}
	list_names(own, TDM_LOSSES, loss_name, text, size);
	used = strlen(text);
	if (own[TDM_LOSS_BOARD_FIFO] != lost[TDM_LOSS_BOARD_FIFO]) {
		snprintf(text + used, size - used,
			 "%s%llu %s on all links in the same seconds, so the board did it (its DMA "
			 "stood still)",
			 used ? "; " : "", (unsigned long long)lost[TDM_LOSS_BOARD_FIFO],
			 loss_name(TDM_LOSS_BOARD_FIFO));
		used = strlen(text);
	}
	if (own[TDM_LOSS_TIME] != lost[TDM_LOSS_TIME]) {
		snprintf(text + used, size - used,
			 "%s%llu %s on all links in the same seconds: the board is back and counts "
			 "anew",
			 used ? "; " : "", (unsigned long long)lost[TDM_LOSS_TIME],
			 loss_name(TDM_LOSS_TIME));
	}
}

static unsigned largest(const uint64_t by_name[TDM_LOSSES])
{
	unsigned most = 1;

	for (unsigned n = 2; n < TDM_LOSSES; n++) {
		most = by_name[n] > by_name[most] ? n : most;
	}
	return most;
}

/* Of the reason and of the event, and what the manual says by name. */
static void loss_action(const struct station *s, unsigned link, unsigned name, char *text,
			size_t size)
{
	static const char *const actions[TDM_LOSSES] = {
		[TDM_LOSS_LINK_DOWN] = "light or lock went: was it unplugged or reset? Else look "
				       "at the received power: fcmctl link show %u",
		[TDM_LOSS_BOARD_FIFO] = "the board overflowed on this link: watch it, and tell the "
					"expert if it goes on: fcmctl link show %u",
		[TDM_LOSS_RING_FULL] = "the daemon emptied the ring too late: was it restarted, is "
				       "this machine overloaded? top; fcmctl event list",
		[TDM_LOSS_CRC] = "damaged on the way; if it goes on or comes again, look at "
				 "received power and code errors: fcmctl link show %u; then clean "
				 "the connectors",
		[TDM_LOSS_ALIGNMENT] = "the frame border moved; if it goes on without a re-lock: "
				       "fcmctl link align %u",
		[TDM_LOSS_TIME] = "the floor's frame numbers jumped: has it booted? If it goes "
				  "on: fcmctl link reset %u",
	};

	if (name == TDM_LOSS_BOARD_FIFO && board_did_it(s)) {
		snprintf(text, size,
			 "one cause, nothing to do at the fibres: see board-stalled in fcmctl "
			 "event list; if it comes again, reload the module nanet3");
	} else if (name == TDM_LOSS_ALIGNMENT && links_offset(s, link) != 0) {
		snprintf(text, size,
			 "the frame border has moved (byte-slip): fcmctl link align %u brings it "
			 "back, and a verdict of the phase",
			 link);
	} else if (name == TDM_LOSS_TIME && board_restarted_count(s)) {
		snprintf(text, size,
			 "one cause, nothing to do at fibres or floors: see board-back");
	} else {
		snprintf(text, size, actions[name], link);
	}
}

static bool grave(const struct station *s, unsigned link, uint64_t by_name[TDM_LOSSES])
{
	uint64_t lost = links_recent_losses(s, link, by_name);

	return (double)lost > LOSS_RED * (double)(lost + by_name[TDM_GOOD]);
}

/* That it has ended is only known when nothing was lost for some seconds. */
static void last_text(const struct loss_episodes *b, char *text, size_t size)
{
	uint64_t now = now_mono_ns();
	double ago_s = b->grown_ns ? (double)(now - b->grown_ns) / 1e9 : 0;

	*text = '\0';
	if (!loss_episodes_going_on(b, now)) {
		snprintf(text, size, "; ended %.0f s ago", ago_s);
	} else if (ago_s >= 1) {
		snprintf(text, size, "; none for %.0f s", ago_s);
	}
}

/* What it loses now is its beginning, until a good frame has come; of one that has none this is told again. */
static bool just_restarted(const struct station *s, unsigned link)
{
	return s->link[link].anew_ns && now_mono_ns() - s->link[link].anew_ns < START_GRACE_NS;
}

void reasons_link_loss(struct reasons *r, unsigned link, const char *object)
{
	const struct station *s = r->station;
	const struct loss_episodes *b = &s->link[link].bursts;
	uint64_t by_name[TDM_LOSSES];
	bool red = grave(s, link, by_name) && loss_episodes_going_on(b, now_mono_ns());
	char text[300], action[200], last[40];

	list_losses(s, by_name, text, sizeof(text));
	if (!*text || (!s->link[link].accounted && just_restarted(s, link))) {
		return;
	}
	last_text(b, last, sizeof(last));
	loss_action(s, link, largest(by_name), action, sizeof(action));
	reasons_add(r, red, "link-loss", object, action, "frames lost in the last minute: %s%s",
		    text, last);
}

/* The last group is the TriDAS feed, if there is one: its readers are told of by floor and address. */
static bool is_feed(const struct station *s, unsigned group)
{
	return s->publisher_status.has_feed && group + 1 == s->publisher_status.groups;
}

/* What is not the policy that everybody expects. */
static const char *policy_words(const struct station *s, unsigned group)
{
	enum fcm_policy policy = s->publisher_status.group[group].policy;
	static const char *const words[FCM_POLICIES] = {
		[FCM_DROP_OLDEST] = "",
		[FCM_DROP_NEWEST] = " (policy drop-newest)",
		[FCM_DISCONNECT] = " (policy disconnect)",
		[FCM_WAIT] = " (policy wait: 3/4 of the ring, or all its memory, was used)",
	};

	return policy < FCM_POLICIES && !is_feed(s, group) ? words[policy] : "";
}

/* Frames of a group count once in each stream of each floor: ", of 8 streams". */
static const char *streams_words(const struct station *s, unsigned group, char *text, size_t size)
{
	unsigned kinds = (unsigned)__builtin_popcount(s->publisher_status.group[group].streams);
	unsigned floors = station_links_count(s);

	*text = '\0';
	if (kinds * floors > 1) {
		snprintf(text, size, ", of %u streams", kinds * floors);
	}
	return text;
}

/* What the feed withholds for want of a label is told by the clock's own reason; each start brings some. */
static bool consumers_own(unsigned outcome)
{
	return outcome != OUTCOME_DROP_NO_TIME;
}

/* What a group's policy dropped in the last minute, by name. */
void reasons_drops(struct reasons *r, unsigned group, const char *object)
{
	const struct station *s = r->station;
	const uint64_t *now = s->publisher_status.group[group].dropped_frames;
	const uint64_t *then = s->drop_at[(s->loss_second + 1) % (LOSS_WINDOW_S + 1)][group];
	bool going_on = loss_episodes_going_on(&s->drops[group], now_mono_ns());
	uint64_t dropped[OUTCOMES] = {0};
	char text[160], last[40], streams[32];

	for (unsigned o = OUTCOME_DROP_NO_MEMBER; o < OUTCOMES; o++) {
		dropped[o] = consumers_own(o) ? now[o] - then[o] : 0;
	}
	list_names(dropped, OUTCOMES, drop_name, text, sizeof(text));
	if (!*text) {
		return;
	}
	last_text(&s->drops[group], last, sizeof(last));
	reasons_add(r, going_on, "consumer-dropping", object,
		    "fcmctl ledger show names floors and frames; who is slow: fcmctl consumer list",
		    "frames dropped in the last minute: %s%s%s%s", text,
		    streams_words(s, group, streams, sizeof(streams)), policy_words(s, group),
		    last);
}

/* --- events --- */

struct told {
	enum loss_episodes_news news;
	bool grave;
	struct loss_episodes_report report;
};

static void put_news(struct station *s, const struct told *t, const char *code, const char *object,
		     const char *names, const char *cause, const char *action)
{
	char text[400];

	switch (t->news) {
	case LOSS_EPISODES_BEGUN:
		snprintf(text, sizeof(text), "frames are being lost: %s%s", names, cause);
		break;
	case LOSS_EPISODES_MORE:
		snprintf(text, sizeof(text), "more frames were lost, until now: %s%s", names,
			 cause);
		break;
	default:
		snprintf(text, sizeof(text), "is over: %llu frame%s lost in %.1f s: %s%s",
			 (unsigned long long)t->report.sum, plural(t->report.sum),
			 t->report.seconds, names, cause);
		break;
	}
	store_put_event(s->store,
			t->news == LOSS_EPISODES_OVER ? "info"
			: t->grave		      ? "alarm"
						      : "warning",
			code, object, text, t->news == LOSS_EPISODES_OVER ? "" : action,
			now_utc_ns());
}

static void say_link(struct station *s, unsigned link, const struct told *t)
{
	char object[8], names[300], action[200];

	snprintf(object, sizeof(object), "link%u", link);
	list_losses(s, t->report.lost, names, sizeof(names));
	loss_action(s, link, largest(t->report.lost), action, sizeof(action));
	put_news(s, t, "link-loss", object, names, "", action);
}

/* All are counted before one is said: what they have in common is known then. */
static void links_news(struct station *s, uint64_t now)
{
	struct told told[NANET3_LINKS] = {{.news = LOSS_EPISODES_NOTHING}};
	uint64_t counts[LOSS_EPISODES_NAMES] = {0}, by_name[TDM_LOSSES];

	for (unsigned link = 0; link < NANET3_LINKS; link++) {
		struct station_link *l = &s->link[link];
		struct told *t = &told[link];

		if (l->accounted) {
			memcpy(counts, l->data.cells, sizeof(l->data.cells));
			counts[TDM_GOOD] = 0;
			t->grave = grave(s, link, by_name);
			t->news = loss_episodes_step(&l->bursts, counts, t->grave, now, &t->report);
		}
	}
	for (unsigned link = 0; link < NANET3_LINKS; link++) {
		if (told[link].news != LOSS_EPISODES_NOTHING) {
			say_link(s, link, &told[link]);
		}
	}
}

/* A member that its group's policy has sent away is over when it is told: it may be back already. */
static void disconnected_news(struct station *s, unsigned group)
{
	const struct publisher_group_status *g = &s->publisher_status.group[group];
	char object[48], text[200];
	size_t used;

	if (g->disconnected == s->disconnected[group]) {
		return;
	}
	snprintf(object, sizeof(object), "group %s", g->name);
	used = (size_t)snprintf(
		text, sizeof(text),
		"too slow for policy disconnect, told so and taken off: %llu time(s)",
		(unsigned long long)(g->disconnected - s->disconnected[group]));
	for (unsigned n = 0; n < s->publisher_status.members && used < sizeof(text); n++) {
		const struct publisher_member_status *m = &s->publisher_status.member[n];

		if (m->state == MEMBER_TOO_SLOW && strcmp(m->group, g->name) == 0) {
			used += (size_t)snprintf(text + used, sizeof(text) - used, ", %s", m->name);
		}
	}
	s->disconnected[group] = g->disconnected;
	store_put_event(s->store, "warning", "consumer-disconnected", object, text,
			"is the consumer busy, is its machine? fcmctl consumer list", now_utc_ns());
}

/* Who is there after our own start has been there before. */
static void members_news(struct station *s, uint64_t now)
{
	bool quiet = now - s->started_ns < START_GRACE_NS;
	struct member_event coming;
	char object[48];

	while (member_events_next(&s->comings, &s->publisher_status, quiet, now, &coming)) {
		snprintf(object, sizeof(object), "group %s", coming.group);
		log_event(LOG_NOTICE, "consumer", LOG_NO_LINK, LOG_ID_CONSUMER, "%s: %s", object,
			  coming.text);
		store_put_event(s->store, "info", "consumer-member", object, coming.text, "",
				now_utc_ns());
	}
}

/* Somebody said HELLO under the name of a member that lives. */
static void namesake_news(struct station *s, uint64_t now)
{
	const struct publisher_namesake *n = &s->publisher_status.namesake;
	uint64_t more = told_news(&s->namesakes, n->count, now);
	char object[48], text[400];

	if (more == 0) {
		return;
	}
	snprintf(object, sizeof(object), "group %s", n->group);
	snprintf(text, sizeof(text),
		 "a connection from %s asked for the name of member %s, which lives at %s, and was "
		 "refused (%llu refused since this was last told)",
		 n->refused, n->name, n->member, (unsigned long long)more);
	log_event(LOG_WARNING, "consumer", LOG_NO_LINK, LOG_ID_CONSUMER, "%s: %s", object, text);
	store_put_event(
		s->store, "warning", "consumer-name-taken", object, text,
		"two processes by mistake? Give each a name of its own; if nobody knows the "
		"second one: find out who runs there what",
		now_utc_ns());
}

static void group_news(struct station *s, unsigned group, uint64_t now)
{
	uint64_t counts[LOSS_EPISODES_NAMES] = {0};
	struct told t = {.grave = true};
	char object[48], names[160], streams[32], cause[160];

	for (unsigned o = OUTCOME_DROP_NO_MEMBER; o < OUTCOMES; o++) {
		counts[o] =
			consumers_own(o) ? s->publisher_status.group[group].dropped_frames[o] : 0;
	}
	t.news = loss_episodes_step(&s->drops[group], counts, true, now, &t.report);
	if (t.news == LOSS_EPISODES_NOTHING) {
		return;
	}
	snprintf(object, sizeof(object), "group %s", s->publisher_status.group[group].name);
	list_names(t.report.lost, OUTCOMES, drop_name, names, sizeof(names));
	snprintf(cause, sizeof(cause), "%s%s", streams_words(s, group, streams, sizeof(streams)),
		 policy_words(s, group));
	put_news(s, &t, "consumer-dropping", object, names, cause,
		 "fcmctl ledger show names floors and frames; who is slow: fcmctl consumer list");
}

void reasons_losses_tick(struct station *s)
{
	uint64_t now = now_mono_ns();

	_Static_assert((int)TDM_LOSSES <= (int)LOSS_EPISODES_NAMES, "a counter for each loss");
	_Static_assert((int)OUTCOMES <= (int)LOSS_EPISODES_NAMES, "a counter for each outcome");
	reports_groups(s);
	links_news(s, now);
	for (unsigned n = 0; n < s->publisher_status.groups; n++) {
		group_news(s, n, now);
		if (!is_feed(s, n)) {
			disconnected_news(s, n);
		}
	}
	members_news(s, now);
	namesake_news(s, now);
	reasons_feed_tick(s);
}
