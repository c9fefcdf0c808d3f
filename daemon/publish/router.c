/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages to the members of groups, see router.h. */
#include "daemon/publish/router.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <zmq.h>

#include "daemon/core/annotate.h"
#include "daemon/publish/hello.h"
#include "daemon/net/address.h"
#include "daemon/net/zmq_error.h"
#include "tdm/frame.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "headers are sent as they lie in memory");

void router_lend(struct router_loans *loans, struct block *b)
{
	for (unsigned i = 0; i < GROUPS_MAX; i++) {
		b->loan[i] = (struct block_loan){b, &loans->bytes[i]};
	}
}

static void unhold(void *data, void *hint)
{
	struct block_loan *loan = hint;

	annotate_take(hint);
	atomic_fetch_sub_explicit(loan->bytes, block_cost(loan->block), memory_order_relaxed);
	block_put(loan->block);
}

/* The payload as a message that holds the block. */
static int payload_message(struct block *b, unsigned group, zmq_msg_t *ret_message)
{
	struct block_loan *loan = &b->loan[group];

	if (b->header.payload_bytes == 0) {
		zmq_msg_init(ret_message);
		return 0;
	}
	block_hold(b);
	atomic_fetch_add_explicit(loan->bytes, block_cost(b), memory_order_relaxed);
	annotate_give(loan); /* to libzmq's I/O thread */
	if (zmq_msg_init_data(ret_message, b->payload, b->header.payload_bytes, unhold, loan) < 0) {
		unhold(NULL, loan);
		return -ENOMEM;
	}
	return 0;
}

static int send_part(void *socket, const void *bytes, size_t length, int flags)
{
	return zmq_send(socket, bytes, length, flags | ZMQ_DONTWAIT) < 0 ? zmq_error() : 0;
}

int router_words(void *router, const struct peer *peer, const char *verb, const char *body,
		 size_t length)
{
	int r = send_part(router, peer->id, peer->id_bytes, ZMQ_SNDMORE);

	if (r < 0) {
		return r;
	}
	r = send_part(router, verb, strlen(verb), body ? ZMQ_SNDMORE : 0);
	if (r == 0 && body) {
		r = send_part(router, body, length, 0);
	}
	return r;
}

int router_block(void *router, const struct peer *peer, const struct router_loans *loans,
		 unsigned group, struct block *b, bool resent)
{
	uint64_t lent = atomic_load_explicit(&loans->bytes[group], memory_order_relaxed);
	struct fcm_block_header header = b->header;
	char topic[FCM_TOPIC_BYTES];
	size_t topic_bytes = fcm_topic(&header, topic);
	zmq_msg_t payload;
	int r;

	if (loans->most[group] && lent > loans->most[group]) {
		return -EAGAIN;
	}
	if (resent && !(header.flags & FCM_BLOCK_RESENT)) {
		header.flags |= FCM_BLOCK_RESENT;
		header.header_crc =
			tdm_crc32c(&header, offsetof(struct fcm_block_header, header_crc));
	}
	r = payload_message(b, group, &payload);
	if (r < 0) {
		return r;
	}
	r = send_part(router, peer->id, peer->id_bytes, ZMQ_SNDMORE);
	if (r == 0) {
		r = send_part(router, "BLOCK", 5, ZMQ_SNDMORE);
	}
	if (r == 0) {
		r = send_part(router, topic, topic_bytes, ZMQ_SNDMORE);
	}
	if (r == 0) {
		r = send_part(router, &header, sizeof(header), ZMQ_SNDMORE);
	}
	if (r == 0 && zmq_msg_send(&payload, router, ZMQ_DONTWAIT) < 0) {
		r = zmq_error();
	}
	if (r < 0) {
		zmq_msg_close(&payload);
	}
	return r;
}

void router_error(void *router, const struct peer *to, const char *error, const char *hint,
		  uint32_t retry_ms)
{
	char text[HELLO_TEXT_MAX];
	size_t length = hello_error(error, hint, retry_ms, text);

	(void)router_words(router, to, "ERROR", text, length); /* it may be gone: nothing to do */
}

void router_address(zmq_msg_t *message, char text[PEER_ADDRESS_MAX])
{
	const char *host = zmq_msg_gets(message, "Peer-Address");
	struct sockaddr_storage address;
	/* The descriptor is libzmq's, and may be closed by now, or another's: then only the port is wrong. */
	uint16_t port = address_of(zmq_msg_get(message, ZMQ_SRCFD), true, &address);

	if (port) {
		snprintf(text, PEER_ADDRESS_MAX, "%.50s:%u", host ? host : "?", port);
	} else {
		snprintf(text, PEER_ADDRESS_MAX, "%.60s", host ? host : "?");
	}
}
