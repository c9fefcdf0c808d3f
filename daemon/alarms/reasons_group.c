// SPDX-License-Identifier: GPL-2.0-or-later
/* Reasons and events of consumers: groups without a member, members that lag, come and go. */
#include <stdio.h>

#include "daemon/alarms/private.h"

#define LAG_NS 500000000ull

static bool lags(const struct publisher_group_status *g)
{
	return g->members > 0 && g->oldest_ns > LAG_NS;
}

/* Different programs that are all late at once: what they have in common is this machine. */
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
	const struct publisher_group_status *g = &p->group[group];

	*text = '\0';
	for (unsigned n = 0; n < p->members; n++) {
		const struct publisher_member_status *m = &p->member[n];

		if (strcmp(m->group, g->name) == 0 && m->oldest_ns == g->oldest_ns) {
			snprintf(text, size, ": %s holds it", m->name);
		}
	}
	return text;
}

/* One that was stopped is there still: a second one beside it is not what helps. */
static void nobody_reason(struct judge *j, const char *group, const char *object)
{
	static const char loses[] = "its data are dropped once its share of ring or memory is used";
	const char *endpoint = j->v->config->data.reserved_endpoint;
	char action[CONFIG_STRING + 160], silent[120];

	if (member_events_silent(j->v->publisher, group, j->v->now_ns, j->v->utc_ns, silent,
				 sizeof(silent))) {
		snprintf(action, sizeof(action),
			 "is that program hung, or its machine or network gone? It goes on by "
			 "itself when it runs again; start it anew only where it has ended: it "
			 "connects to %s",
			 endpoint);
		reasons_add(j, true, "consumer-none", object, action,
			    "%s: is it stopped? No other consumer is connected: %s", silent, loses);
		return;
	}
	snprintf(action, sizeof(action), "start the consumer; it connects to %s", endpoint);
	reasons_add(j, true, "consumer-none", object, action, "no consumer is connected: %s",
		    loses);
}

static void open_reason(struct judge *j)
{
	const struct config *c = j->v->config;

	if (config_is_open(c)) {
		reasons_add(j, false, "data-open", "data",
			    "give consumers keys and the daemon [data] curve = yes (fcmctl key "
			    "make NAME ROLE), or let a firewall keep all others out",
			    "[data] insecure: whoever reaches %s%s%s can take the data, or a "
			    "consumer's place",
			    c->data.reserved_endpoint, *c->data.monitor_endpoint ? " or " : "",
			    c->data.monitor_endpoint);
	}
}

void reasons_groups(struct judge *j)
{
	const struct publisher_status *p = j->v->publisher;
	bool together = all_lag(p);

	open_reason(j);
	for (unsigned n = 0; n < p->groups; n++) {
		const struct publisher_group_status *g = &p->group[n];
		char object[48], who[64];

		snprintf(object, sizeof(object), "group %s", g->name);
		if (judge_is_feed(j, n)) {
			reasons_feed(j);
		} else if (g->members == 0 && !judge_fresh_start(j)) {
			nobody_reason(j, g->name, object);
		} else if (lags(g) && !judge_fresh_start(j)) {
			reasons_add(j, false, "consumer-lag", object,
				    together ? "all groups lag together: look at this machine "
					       "first, what else runs on it? top, vmstat 1; "
					       "then fcmctl consumer list"
					     : "is the consumer busy? fcmctl consumer list",
				    "the oldest block waits for %.1f s%s",
				    (double)g->oldest_ns / 1e9, slowest(p, n, who, sizeof(who)));
		}
		reasons_drops(j, n, object);
	}
}

bool group_unattended(const struct judge *j, const char *object)
{
	for (unsigned n = 0; n < j->v->publisher->groups; n++) {
		const struct publisher_group_status *g = &j->v->publisher->group[n];
		char name[48];

		snprintf(name, sizeof(name), "group %s", g->name);
		if (strcmp(name, object) == 0) {
			return g->members == 0;
		}
	}
	return false;
}

/* --- events --- */

/* A member that its group's policy has sent away is over when it is told: it may be back already. */
static void disconnected_news(struct judge *j, unsigned group)
{
	const struct publisher_group_status *g = &j->v->publisher->group[group];
	char object[48], text[200];
	size_t used;

	if (g->disconnected == j->disconnected[group]) {
		return;
	}
	snprintf(object, sizeof(object), "group %s", g->name);
	used = (size_t)snprintf(
		text, sizeof(text),
		"too slow for policy disconnect, told so and taken off: %llu time(s)",
		(unsigned long long)(g->disconnected - j->disconnected[group]));
	for (unsigned n = 0; n < j->v->publisher->members && used < sizeof(text); n++) {
		const struct publisher_member_status *m = &j->v->publisher->member[n];

		if (m->state == MEMBER_TOO_SLOW && strcmp(m->group, g->name) == 0) {
			used += (size_t)snprintf(text + used, sizeof(text) - used, ", %s", m->name);
		}
	}
	j->disconnected[group] = g->disconnected;
	judge_put_event(j, "warning", "consumer-disconnected", object, text,
			"is the consumer busy, is its machine? fcmctl consumer list");
}

/* Who is there after our own start has been there before. */
static void members_news(struct judge *j)
{
	struct member_event event;
	char object[48];

	while (member_events_next(&j->members, j->v->publisher, judge_fresh_start(j), j->v->now_ns,
				  &event)) {
		snprintf(object, sizeof(object), "group %s", event.group);
		judge_log_event(j, "info", "consumer-member", object, event.text, "", "consumer",
				JUDGE_NO_LINK);
	}
}

/* Somebody said HELLO under the name of a member that lives. */
static void namesake_news(struct judge *j)
{
	const struct publisher_namesake *n = &j->v->publisher->namesake;
	uint64_t more = told_news(&j->namesakes, n->count, j->v->now_ns);
	char object[48], text[400];

	if (more == 0) {
		return;
	}
	snprintf(object, sizeof(object), "group %s", n->group);
	snprintf(text, sizeof(text),
		 "a connection from %s asked for the name of member %s, which lives at %s, and was "
		 "refused (%llu refused since this was last told)",
		 n->refused, n->name, n->member, (unsigned long long)more);
	judge_log_event(
		j, "warning", "consumer-name-taken", object, text,
		"two processes by mistake? Give each a name of its own; if nobody knows the "
		"second one: find out who runs there what",
		"consumer", JUDGE_NO_LINK);
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
