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

void monitors_serve(struct monitors *m)
{
	uint8_t bytes[256];

	for (unsigned i = 0; m->xpub && i < MESSAGES_A_TURN; i++) {
		int n = zmq_recv(m->xpub, bytes, sizeof(bytes), ZMQ_DONTWAIT);

		if (n < 0) {
			return;
		}
		if (n == 0 || bytes[0] > 1) {
			m->bad_messages++;
		} else if ((size_t)n <= sizeof(bytes)) {
			note_subscription(m, bytes, (size_t)n);
		}
	}
}
