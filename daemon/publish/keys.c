/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which keys are accepted at the data sockets. A consumer's key is bound to its name and group, a
 * monitor's opens the monitors' door only; every message of a consumer has the key of its
 * connection with it, from ZeroMQ. Belongs to the publisher thread, but for publisher_allow().
 */
#include <stdio.h>
#include <string.h>

#include "daemon/publish/private.h"
#include "daemon/publish/publisher.h"

/* NULL: the key is in the list, for this door. */
static const char *judge(struct publisher *p, enum access_door right, struct door *door,
			 const char *address, const char *key)
{
	const char *why;

	if (access_list_find(&p->access, right, key)) {
		return NULL;
	}
	why = !*key			? "it does not encrypt (no CURVE)"
	      : right == ACCESS_MONITOR ? "its key is no monitor's in the allow list"
					: "its key is no consumer's in the allow list";
	door_refused(door, address, key, why);
	return why;
}

const char *publisher_keys_judge_consumer(void *context, const char *address, const char *key)
{
	struct publisher *p = context;

	return judge(p, ACCESS_CONSUMER, p->door, address, key);
}

const char *publisher_keys_judge_monitor(void *context, const char *address, const char *key)
{
	struct publisher *p = context;

	return judge(p, ACCESS_MONITOR, monitors_door(p->monitors), address, key);
}

bool publisher_keys_admit(struct publisher *p, const struct peer *from)
{
	if (!p->zap || access_list_find(&p->access, ACCESS_CONSUMER, from->key)) {
		return true;
	}
	p->bad_messages++;
	router_error(p->router, from, "key-refused",
		     "this key is no consumer's in the daemon's allow list any more", 0);
	door_cut(p->door, from->fd);
	return false;
}

const char *publisher_keys_forbid(const struct publisher *p, const char *key, const char *name,
				  const char *group, char *text, size_t size)
{
	const struct access_key *k =
		p->zap ? access_list_find(&p->access, ACCESS_CONSUMER, key) : NULL;

	if (!p->zap || (k && strcmp(k->name, name) == 0 && strcmp(k->right.group, group) == 0)) {
		return NULL;
	}
	snprintf(text, size,
		 "this key is of %s in group %s (on the daemon's host: fcmctl key list)",
		 k ? k->name : "nobody", k ? k->right.group : "none");
	return text;
}

/* --- another list --- */

static bool has_lost_monitor(const struct access_list *old, const struct access_list *new)
{
	for (unsigned n = 0; n < old->count; n++) {
		if (old->key[n].right.door == ACCESS_MONITOR &&
		    !access_list_find(new, ACCESS_MONITOR, old->key[n].key)) {
			return true;
		}
	}
	return false;
}

static void expel(struct publisher *p)
{
	char hint[160];

	for (unsigned i = 0; i < MEMBERS_MAX; i++) {
		const struct peer *peer = &p->peer[i];

		if (groups_alive(p->groups, i) &&
		    publisher_keys_forbid(p, peer->key, groups_member_name(p->groups, i),
					  groups_config_of(p->groups, i)->name, hint,
					  sizeof(hint))) {
			router_error(p->router, peer, "key-refused", hint, 0);
			groups_leave(p->groups, i);
		}
	}
}

static void take_list(struct publisher *p)
{
	struct access_list *next = &p->access_next;
	bool lost;

	pthread_mutex_lock(&p->lock);
	lost = has_lost_monitor(&p->access, next);
	p->access = *next;
	pthread_mutex_unlock(&p->lock);
	expel(p);
	if (lost && p->monitors) {
		door_cut_all(monitors_door(p->monitors));
	}
}

void publisher_keys_serve(struct publisher *p)
{
	if (!p->zap) {
		return;
	}
	if (atomic_exchange(&p->allowed, false)) {
		take_list(p);
	}
	zap_serve(p->zap);
}

void publisher_allow(struct publisher *p, const struct access_list *access)
{
	pthread_mutex_lock(&p->lock);
	p->access_next = *access;
	pthread_mutex_unlock(&p->lock);
	atomic_store(&p->allowed, true);
	bell_ring(p->wake_fd);
}
