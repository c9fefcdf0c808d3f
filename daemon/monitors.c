/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copies to the monitors, see monitors.h. */
#include "daemon/monitors.h"

#include <string.h>
#include <zmq.h>

#include "daemon/hello.h"

#define MESSAGES_A_TURN 256u

static bool subscribed(const struct monitors *m, const char *topic, size_t length)
{
	for (unsigned i = 0; i < m->subscriptions; i++) {
		const struct subscription *s = &m->subscription[i];

		if (s->length <= length && memcmp(s->prefix, topic, s->length) == 0) {
			return true;
		}
	}
	return m->unlisted > 0;
}

static bool send_part(void *socket, const void *bytes, size_t length, int flags)
{
	return zmq_send(socket, bytes, length, flags | ZMQ_DONTWAIT) >= 0;
}

void monitors_copy(struct monitors *m, const struct block *b)
{
	char topic[FCM_TOPIC_BYTES];
	size_t length = fcm_topic(&b->header, topic);
	bool sent;

	if (!m->xpub || !subscribed(m, topic, length)) {
		return;
	}
	sent = send_part(m->xpub, topic, length, ZMQ_SNDMORE) &&
	       send_part(m->xpub, &b->header, sizeof(b->header), ZMQ_SNDMORE) &&
	       send_part(m->xpub, b->payload, b->header.payload_bytes, 0);
	m->blocks += sent;
	m->dropped += !sent;
}

/* XPUB tells of the first subscription to a prefix (1, prefix) and of the end of the last (0, prefix). */
static void note_subscription(struct monitors *m, const uint8_t *bytes, size_t length)
{
	size_t prefix = length - 1;

	if (prefix > SUBSCRIPTION_MAX) {
		return; /* it matches no topic */
	}
	for (unsigned i = 0; i < m->subscriptions; i++) {
		struct subscription *s = &m->subscription[i];

		if (s->length == prefix && memcmp(s->prefix, bytes + 1, prefix) == 0) {
			if (bytes[0] == 0) {
				*s = m->subscription[--m->subscriptions];
			}
			return;
		}
	}
	if (bytes[0] == 1 && m->subscriptions < SUBSCRIPTIONS) {
		struct subscription *s = &m->subscription[m->subscriptions++];

		memcpy(s->prefix, bytes + 1, prefix);
		s->length = (uint8_t)prefix;
	} else if (bytes[0] == 1) {
		m->unlisted++;
	} else if (m->unlisted > 0) {
		m->unlisted--;
	}
}

/* libzmq makes a node of each byte of a topic, and keeps it: who asks for more than there can be goes. */
static bool is_greedy(struct monitors *m, int fd, const uint8_t *bytes, size_t length)
{
	return door_topics(m->door, fd, bytes[0] ? 1 : -1) > SUBSCRIPTIONS ||
	       length - 1 > SUBSCRIPTION_MAX;
}

static void take(struct monitors *m, zmq_msg_t *message)
{
	const uint8_t *bytes = zmq_msg_data(message);
	size_t length = zmq_msg_size(message);
	int fd = zmq_msg_get(message, ZMQ_SRCFD); /* -1: its connection has ended */

	door_heard(m->door, fd, true);
	if (length == 0 || bytes[0] > 1) {
		m->bad_messages++;
		return;
	}
	if (is_greedy(m, fd, bytes, length)) {
		m->greedy++;
		door_cut(m->door, fd);
	}
	note_subscription(m, bytes, length);
}

void monitors_serve(struct monitors *m, uint64_t now_ns)
{
	bool drained = false;
	zmq_msg_t message;

	if (!m->xpub) {
		return;
	}
	zmq_msg_init(&message);
	for (unsigned i = 0; i < MESSAGES_A_TURN && !drained; i++) {
		drained = zmq_msg_recv(&message, m->xpub, ZMQ_DONTWAIT) < 0;
		if (!drained) {
			take(m, &message);
		}
	}
	zmq_msg_close(&message);
	door_watch(m->door, drained, now_ns);
}
