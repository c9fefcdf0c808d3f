/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages from consumers to the publisher, and the answers: HELLO, ACK, ALIVE, BYE; anything else
 * is counted. Nothing of it is believed before it is looked at; what is wrong is counted.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <zmq.h>

#include "daemon/core/text.h"
#include "daemon/publish/hello.h"
#include "daemon/publish/private.h"

/* With the routing id of another whose connection has just ended it is not that one. */
static bool same_peer(const struct peer *a, const struct peer *b)
{
	return a->id_bytes == b->id_bytes && memcmp(a->id, b->id, a->id_bytes) == 0 &&
	       strcmp(a->key, b->key) == 0;
}

static int find_member(const struct publisher *p, const struct peer *from)
{
	for (unsigned i = 0; i < MEMBERS_MAX; i++) {
		if (groups_alive(p->groups, i) && same_peer(&p->peer[i], from)) {
			return (int)i;
		}
	}
	return -1;
}

static void refuse(struct publisher *p, const struct peer *from, const char *error,
		   const char *hint, uint32_t retry_ms)
{
	p->counters.refused_hellos++;
	router_error(p->router, from, error, hint, retry_ms);
}

static void refuse_hello(struct publisher *p, const struct peer *from, int error)
{
	char hint[256] = "";

	switch (error) {
	case -ENOENT:
		snprintf(hint, sizeof(hint), "groups of this daemon:");
		for (unsigned i = 0; i < p->reserved_groups; i++) {
			text_add(hint, sizeof(hint), " %.32s", p->counters.group[i].name);
		}
		refuse(p, from, "no-such-group", hint, 0);
		break;
	case -EUSERS:
		snprintf(hint, sizeof(hint), "%u members are there: end one first", MEMBERS_MAX);
		refuse(p, from, "too-many-members", hint, 0);
		break;
	default:
		refuse(p, from, "bad-hello", strerror(-error), 0);
		break;
	}
}

/* The live member of this name on another connection, -1: none. One whose connection has ended does not count. */
static int find_namesake(struct publisher *p, const struct peer *from, const char *name)
{
	for (unsigned i = 0; i < MEMBERS_MAX; i++) {
		if (groups_alive(p->groups, i) && !same_peer(&p->peer[i], from) &&
		    strcmp(groups_member_name(p->groups, i), name) == 0) {
			return router_words(p->router, &p->peer[i], "ALIVE", NULL, 0) ==
					       -EHOSTUNREACH
				       ? -1
				       : (int)i;
		}
	}
	return -1;
}

/* A second process by mistake, or somebody who wants the data of another; or that one itself, whose old connection
 * has died without a word: then the name is free when it has been silent for long enough. */
static void refuse_namesake(struct publisher *p, const struct peer *from, const struct hello *hello,
			    int member)
{
	struct publisher_namesake *n = &p->counters.namesake;
	char hint[200];

	snprintf(hint, sizeof(hint),
		 "%s at %s is a member under this name: end that process, or choose another name",
		 hello->name, p->peer[member].address);
	refuse(p, from, "name-taken", hint, p->dead_ms);
	n->count++;
	memcpy(n->name, hello->name, sizeof(n->name));
	memcpy(n->group, hello->group, sizeof(n->group));
	memcpy(n->member, p->peer[member].address, sizeof(n->member));
	memcpy(n->refused, from->address, sizeof(n->refused));
}

static void on_hello(struct publisher *p, const struct peer *from, const uint8_t *body,
		     size_t length)
{
	int known = find_member(p, from);
	const struct group_config *group;
	struct hello hello;
	char hint[200], text[HELLO_TEXT_MAX];
	int namesake;
	unsigned member;
	int r = hello_parse(body, length, &hello, hint, sizeof(hint));

	if (known >= 0) { /* whatever becomes of this one */
		groups_leave(p->groups, (unsigned)known);
	}
	if (r < 0) {
		refuse(p, from, "bad-hello", hint, 0);
		return;
	}
	if (publisher_keys_forbid(p, from->key, hello.name, hello.group, hint, sizeof(hint))) {
		refuse(p, from, "not-your-name", hint, 0);
		return;
	}
	namesake = find_namesake(p, from, hello.name);
	if (namesake >= 0) {
		refuse_namesake(p, from, &hello, namesake);
		return;
	}
	r = groups_hello(p->groups, hello.name, hello.group, hello.credit, p->now_ns, &member);
	if (r < 0) {
		refuse_hello(p, from, r);
		return;
	}
	p->counters.hellos++;
	p->peer[member] = *from;
	p->peer[member].last_sent_ns = p->now_ns;
	group = groups_config_of(p->groups, member);
	length = hello_welcome(p->board, hello.group, group->streams, group->policy, text);
	if (router_words(p->router, from, "WELCOME", text, length) == -EHOSTUNREACH) {
		groups_leave(p->groups, member);
	}
}

static void on_ack(struct publisher *p, unsigned member, const uint8_t *body, size_t length)
{
	struct fcm_ack ack;

	if (length == 0 || length > PUBLISHER_INCOMING_MAX || length % sizeof(ack) != 0) {
		p->bad_messages++;
		return;
	}
	for (size_t at = 0; at < length; at += sizeof(ack)) {
		memcpy(&ack, body + at, sizeof(ack));
		groups_ack(p->groups, member, &ack);
	}
}

enum verb { VERB_HELLO, VERB_ACK, VERB_ALIVE, VERB_BYE, VERBS };

static enum verb verb_of(const uint8_t *bytes, size_t length)
{
	static const char *const names[VERBS] = {"HELLO", "ACK", "ALIVE", "BYE"};
	unsigned verb = 0;

	while (verb < VERBS &&
	       (strlen(names[verb]) != length || memcmp(names[verb], bytes, length) != 0)) {
		verb++;
	}
	return verb;
}

/* One whole message: `parts` parts behind the sender's id, the first two of them at hand. */
static void on_message(struct publisher *p, struct peer *from, unsigned parts, zmq_msg_t part[2])
{
	enum verb verb =
		parts == 0 ? VERBS : verb_of(zmq_msg_data(&part[0]), zmq_msg_size(&part[0]));
	bool has_body = verb == VERB_HELLO || verb == VERB_ACK;
	const uint8_t *body = has_body && parts > 1 ? zmq_msg_data(&part[1]) : NULL;
	int member;

	if (verb == VERBS || parts != 1u + has_body) {
		p->bad_messages++;
		return;
	}
	if (!publisher_keys_admit(p, from)) {
		return;
	}
	if (verb == VERB_HELLO) {
		router_address(&part[1], from->address);
		on_hello(p, from, body, zmq_msg_size(&part[1]));
		return;
	}
	member = find_member(p, from);
	if (member < 0) {
		if (verb != VERB_BYE) {
			router_error(p->router, from, "unknown-member", "say HELLO", 0);
		}
		p->stray_acks += verb == VERB_ACK;
		return;
	}
	groups_seen(p->groups, (unsigned)member, p->now_ns);
	if (verb == VERB_ACK) {
		on_ack(p, (unsigned)member, body, zmq_msg_size(&part[1]));
	} else if (verb == VERB_BYE) {
		groups_leave(p->groups, (unsigned)member);
	}
}

static bool more(void *socket)
{
	int value = 0;
	size_t size = sizeof(value);

	return zmq_getsockopt(socket, ZMQ_RCVMORE, &value, &size) == 0 && value;
}

/* Take one message off the ROUTER, whatever it is made of. */
bool publisher_receive(struct publisher *p)
{
	struct peer from = {.id_bytes = 0};
	int n = zmq_recv(p->router, from.id, sizeof(from.id), ZMQ_DONTWAIT);
	zmq_msg_t part[2], rest;
	unsigned parts = 0;
	const char *key;
	bool named = n <= (int)sizeof(from.id); /* a longer one is cut: it would be another's */

	if (n < 0) {
		return false;
	}
	from.id_bytes = (uint8_t)n;
	zmq_msg_init(&part[0]);
	zmq_msg_init(&part[1]);
	zmq_msg_init(&rest);
	while (more(p->router)) {
		zmq_msg_t *to = parts < 2 ? &part[parts] : &rest;

		if (zmq_msg_recv(to, p->router, ZMQ_DONTWAIT) < 0) {
			break;
		}
		parts++;
	}
	from.fd = zmq_msg_get(&part[0], ZMQ_SRCFD);
	key = zmq_msg_gets(&part[0], "User-Id");
	snprintf(from.key, sizeof(from.key), "%s", key ? key : "");
	if (named) {
		on_message(p, &from, parts, part);
		door_heard(p->door, from.fd, find_member(p, &from) >= 0);
	} else {
		p->bad_messages++;
		door_cut(p->door, from.fd);
	}
	zmq_msg_close(&part[0]);
	zmq_msg_close(&part[1]);
	zmq_msg_close(&rest);
	return true;
}
