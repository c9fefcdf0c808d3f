// SPDX-License-Identifier: GPL-2.0-or-later
/* Reasons and events of consumers: groups without a member, members that lag, join and leave. */
#include <stdio.h>

#include "daemon/alarms/private.h"
#include "daemon/core/text.h"

#define LAG_NS 500000000ull

static bool lags(const struct group_status *g)
{
	return g->members > 0 && g->oldest_ns > LAG_NS;
}

/* Different programs lag at the same time: what they have in common is this machine. */
static bool all_lag(const struct publisher_status *p)
{
	unsigned lagging = 0, attended = 0;

	for (unsigned n = 0; n < p->groups; n++) {
		attended += p->group[n].members > 0;
		lagging += lags(&p->group[n]);
	}
	return lagging > 1 && lagging == attended;
}

/* ": acoustic-1 holds it" where a member holds the oldest block, "" where it waits in the group. */
static const char *slowest(const struct publisher_status *p, unsigned group, char *text,
			   size_t size)
{
	const struct group_status *g = &p->group[group];

	*text = '\0';
	for (unsigned n = 0; n < p->members; n++) {
		const struct member_status *m = &p->member[n];

		if (strcmp(m->group, g->name) == 0 && m->oldest_ns == g->oldest_ns) {
			snprintf(text, size, ": %s holds it", m->name);
		}
	}
	return text;
}

/* A consumer that was stopped still exists: a second one beside it does not help. */
static void no_member_reason(struct judge *j, struct alarm_object object)
{
	static const char loses[] = "its data are dropped once its share of ring or memory is used";
	struct observation o = {.red = true,
				.code = "consumer-none",
				.object = object,
				.advice = "start the consumer; it connects to %s",
				.with = j->v->config.reserved_endpoint};
	char silent[120];

	if (member_events_silent(j->v->publisher, object.name, j->v->now_ns, j->v->utc_ns, silent,
				 sizeof(silent))) {
		o.advice = "is that program hung, or its machine or network gone? It goes on by "
			   "itself when it runs again; start it again only where it has ended: it "
			   "connects to %s";
		observe(j, &o, "%s: is it stopped? No other consumer is connected: %s", silent,
			loses);
		return;
	}
	observe(j, &o, "no consumer is connected: %s", loses);
}

static void open_reason(struct judge *j)
{
	const struct judge_config *c = &j->v->config;

	if (c->data_open) {
		reasons_add(j, false, "data-open", object_thing("data"),
			    "give consumers keys and the daemon [data] curve = yes (fcmctl key "
			    "make NAME ROLE), or let a firewall keep all others out",
			    "[data] insecure: whoever reaches %s%s%s can take the data, or a "
			    "consumer's place",
			    c->reserved_endpoint, *c->monitor_endpoint ? " or " : "",
			    c->monitor_endpoint);
	}
}

void reasons_groups(struct judge *j)
{
	const struct publisher_status *p = j->v->publisher;
	bool together = all_lag(p);

	open_reason(j);
	for (unsigned n = 0; n < p->groups; n++) {
		const struct group_status *g = &p->group[n];
		struct alarm_object object = object_group(n, g->name);
		char who[64];

		if (judge_is_feed(j, n)) {
			reasons_feed(j);
		} else if (g->members == 0 && !judge_fresh_start(j)) {
			no_member_reason(j, object);
		} else if (lags(g) && !judge_fresh_start(j)) {
			reasons_add(j, false, "consumer-lag", object,
				    together ? "all groups lag together: look at this machine "
					       "first, what else runs on it? top, vmstat 1; then "
					       "fcmctl consumer list"
					     : "is the consumer busy? fcmctl consumer list",
				    "the oldest block waits for %.1f s%s",
				    (double)g->oldest_ns / 1e9, slowest(p, n, who, sizeof(who)));
		}
		reasons_drops(j, n);
	}
}

/* --- events --- */

/* That a group's policy has disconnected a member is an event without an end: it may be back already. */
static void disconnected_news(struct judge *j, unsigned group)
{
	const struct group_status *g = &j->v->publisher->group[group];
	char text[200];

	if (g->disconnected == j->disconnected[group]) {
		return;
	}
	snprintf(text, sizeof(text),
		 "too slow for policy disconnect, notified and disconnected: %llu time(s)",
		 (unsigned long long)(g->disconnected - j->disconnected[group]));
	for (unsigned n = 0; n < j->v->publisher->members; n++) {
		const struct member_status *m = &j->v->publisher->member[n];

		if (m->state == MEMBER_TOO_SLOW && strcmp(m->group, g->name) == 0) {
			text_list(text, sizeof(text), "%s", m->name);
		}
	}
	j->disconnected[group] = g->disconnected;
	judge_put_event(j, "warning", "consumer-disconnected", object_group(group, g->name), text,
			"is the consumer busy, is its machine? fcmctl consumer list", NULL);
}

static struct alarm_object group_named(const char *name)
{
	return (struct alarm_object){
		.of = OF_GROUP, .name = name, .link = OBJECT_NONE, .group = OBJECT_NONE};
}

/* Members that join soon after our own start were there before. */
static void members_news(struct judge *j)
{
	struct member_event event;

	while (member_events_next(&j->members, j->v->publisher, judge_fresh_start(j), j->v->now_ns,
				  &event)) {
		judge_put_event(j, "info", "consumer-member", group_named(event.group), event.text,
				"", "consumer");
	}
}

/* Somebody said HELLO with the name of a member that is alive. */
static void namesake_news(struct judge *j)
{
	const struct publisher_namesake *n = &j->v->publisher->namesake;
	uint64_t more = reported_growth(&j->namesakes, n->count, j->v->now_ns);
	char text[400];

	if (more == 0) {
		return;
	}
	snprintf(text, sizeof(text),
		 "a connection from %s asked for the name of member %s, which lives at %s, and was "
		 "refused (%llu refused since this was last reported)",
		 n->refused, n->name, n->member, (unsigned long long)more);
	judge_put_event(j, "warning", "consumer-name-taken", group_named(n->group), text,
			"two processes by mistake? Give each a name of its own; if nobody knows "
			"the second one: find out who runs there what",
			"consumer");
}

void events_members(struct judge *j)
{
	for (unsigned n = 0; n < j->v->publisher->groups; n++) {
		if (!judge_is_feed(j, n)) {
			disconnected_news(j, n);
		}
	}
	members_news(j);
	namesake_news(j);
}
