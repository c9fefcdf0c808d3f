/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Receives messages, for fcmdata_receive(). */
#include <errno.h>
#include <string.h>

#include "daemon/consumer/fcmdata_private.h"
#include "tdm/le.h"

#define PARTS_MAX    4u
#define MESSAGES_MAX 256u /* that are no block for the caller, before the time is looked at */
#define WAIT_MAX_MS  100  /* until the next look at what is due */

struct message {
	zmq_msg_t part[PARTS_MAX + 1]; /* the last: for what is thrown away */
	unsigned parts;
};

/* A signal in the middle of a message is no end of it. */
static int take_part(zmq_msg_t *part, void *socket, bool first)
{
	int r;

	do {
		r = zmq_msg_recv(part, socket, ZMQ_DONTWAIT);
	} while (r < 0 && !first && zmq_errno() == EINTR);
	return r;
}

/* A whole message; false: none waits. */
static bool take(void *socket, struct message *m)
{
	bool more = true;

	for (m->parts = 0; more; m->parts++) {
		zmq_msg_t *to = &m->part[m->parts < PARTS_MAX ? m->parts : PARTS_MAX];

		zmq_msg_init(to);
		if (take_part(to, socket, m->parts == 0) < 0) {
			zmq_msg_close(to);
			return m->parts > 0;
		}
		more = zmq_msg_more(to);
		if (m->parts >= PARTS_MAX) {
			zmq_msg_close(to);
		}
	}
	return true;
}

static void drop(struct message *m)
{
	for (unsigned i = 0; i < m->parts && i < PARTS_MAX; i++) {
		zmq_msg_close(&m->part[i]);
	}
}

static bool is(zmq_msg_t *part, const char *verb)
{
	return zmq_msg_size(part) == strlen(verb) &&
	       memcmp(zmq_msg_data(part), verb, strlen(verb)) == 0;
}

static void count_damage(struct fcmdata *h, enum fcmdata_damage damage)
{
	h->stats.header_crcs += damage == FCMDATA_HEADER_CRC;
	h->stats.payload_crcs += damage == FCMDATA_PAYLOAD_CRC;
	h->stats.malformed += damage == FCMDATA_MALFORMED;
}

static unsigned version_of(zmq_msg_t *header)
{
	return le16_get((const uint8_t *)zmq_msg_data(header) +
			offsetof(struct fcm_block_header, version));
}

static void count_block(struct fcmdata *h, const struct fcmdata_block *b, bool late)
{
	struct fcmdata_stats *s = &h->stats;

	s->blocks++;
	s->bytes += b->header.header_bytes + b->header.payload_bytes;
	s->frames += b->header.frames;
	s->repeats += b->repeat;
	s->agains += b->again;
	s->gaps += b->gap_frames > 0;
	s->gap_frames += b->gap_frames;
	s->gap_lost += b->gap_lost;
	s->late += late;
}

/* 1: a block for the caller; 0: a damaged one; -ENOMEM. What is not handed out is never acknowledged:
 * a new HELLO lets it come again, and frees the credit that it takes. */
static int on_block(struct fcmdata *h, zmq_msg_t part[3], struct received **ret_block)
{
	struct received *r = libfcmdata_get(h);
	enum fcmdata_damage damage;
	bool late;

	if (!r) {
		h->hello_again = true;
		return -ENOMEM;
	}
	zmq_msg_move(&r->payload, &part[2]);
	damage = fcmdata_check(zmq_msg_data(&part[0]), zmq_msg_size(&part[0]),
			       zmq_msg_data(&part[1]), zmq_msg_size(&part[1]),
			       zmq_msg_data(&r->payload), zmq_msg_size(&r->payload), &r->block);
	if (damage != FCMDATA_GOOD) {
		count_damage(h, damage);
		h->hello_again = true;
		if (damage == FCMDATA_VERSION) {
			libfcmdata_member_refuse_version(h, "sends data of version",
							 version_of(&part[1]));
		}
		libfcmdata_put(h, r);
		return 0;
	}
	if (libfcmdata_tracks_take(h->tracks,
				   h->mode == FCMDATA_RESERVED && h->stats.state == FCMDATA_MEMBER,
				   &r->block, &late) < 0) {
		h->hello_again = true;
		libfcmdata_put(h, r);
		return -ENOMEM;
	}
	count_block(h, &r->block, late);
	*ret_block = r;
	return 1;
}

static int on_message(struct fcmdata *h, struct message *m, struct received **ret_block)
{
	unsigned verbs = h->mode == FCMDATA_MONITOR ? 0 : 1;

	if (verbs == 0 || is(&m->part[0], "BLOCK")) {
		if (m->parts == verbs + 3) {
			return on_block(h, &m->part[verbs], ret_block);
		}
		h->hello_again = true; /* whatever it was, it takes a credit */
		h->stats.strangers++;
		return 0;
	}
	if (m->parts == 2 && is(&m->part[0], "WELCOME")) {
		libfcmdata_member_welcome(h, zmq_msg_data(&m->part[1]), zmq_msg_size(&m->part[1]));
	} else if (m->parts == 2 && is(&m->part[0], "ERROR")) {
		libfcmdata_member_error(h, zmq_msg_data(&m->part[1]), zmq_msg_size(&m->part[1]));
	} else if (m->parts != 1 || !is(&m->part[0], "ALIVE")) {
		h->stats.strangers++;
	}
	return 0;
}

/* What waits: 1 and a block, 0 when none of it is one, negative errno. */
static int drain(struct fcmdata *h, struct received **ret_block)
{
	struct message m;
	int r = 0;

	for (unsigned i = 0; i < MESSAGES_MAX && r == 0; i++) {
		if (h->stats.state == FCMDATA_REFUSED) {
			return -ECONNREFUSED;
		}
		if (!take(h->socket, &m)) {
			return 0;
		}
		r = on_message(h, &m, ret_block);
		drop(&m);
	}
	return r;
}

static bool enough_acks(const struct fcmdata *h)
{
	return h->acks >= 32 || h->acks * 4 >= h->credit;
}

/* Until something comes, or is due, or `left_ms` are over. */
static int wait_for_more(struct fcmdata *h, int64_t left_ms)
{
	zmq_pollitem_t items[] = {
		{.socket = h->socket, .events = ZMQ_POLLIN},
		{.socket = h->events, .events = ZMQ_POLLIN},
	};

	if (zmq_poll(items, 2, left_ms < WAIT_MAX_MS ? (long)left_ms : WAIT_MAX_MS) < 0) {
		return zmq_errno() == EINTR ? -EINTR : -EIO;
	}
	h->looked_ms = items[1].revents ? 0 : h->looked_ms;
	return 0;
}

static int receive(struct fcmdata *h, int timeout_ms, struct received **ret_block)
{
	int64_t begin_ms;
	int r;

	libfcmdata_member_serve(h);
	begin_ms = h->now_ms;
	for (;;) {
		int64_t left_ms;

		if (enough_acks(h)) {
			(void)libfcmdata_member_flush(h);
		}
		r = drain(h, ret_block);
		if (r != 0) {
			return r;
		}
		(void)libfcmdata_member_flush(h);
		left_ms = timeout_ms < 0 ? WAIT_MAX_MS : begin_ms + timeout_ms - h->now_ms;
		if (left_ms <= 0) {
			return 0;
		}
		r = wait_for_more(h, left_ms);
		if (r < 0) {
			return r;
		}
		libfcmdata_member_serve(h);
	}
}

int fcmdata_receive(struct fcmdata *h, int timeout_ms, const struct fcmdata_block **ret_block)
{
	struct received *block = NULL;
	int r = receive(h, timeout_ms, &block);

	libfcmdata_settle_fd(h);
	if (r == 1) {
		*ret_block = &block->block;
	}
	return r;
}

int fcmdata_ack(struct fcmdata *h, const struct fcm_ack *key)
{
	if (h->mode == FCMDATA_MONITOR) {
		return -EINVAL;
	}
	if (h->acks == FCMDATA_CREDIT_MAX && fcmdata_flush(h) < 0) {
		return -EAGAIN;
	}
	if (libfcmdata_tracks_ack(h->tracks, key)) {
		h->ack[h->acks++] = *key;
	}
	if (enough_acks(h)) {
		(void)fcmdata_flush(h); /* what cannot be sent now is sent by a later call */
	} else {
		libfcmdata_settle_fd(h);
	}
	return 0;
}

int fcmdata_remember(struct fcmdata *h, const struct fcm_ack *key)
{
	return libfcmdata_tracks_remember(h->tracks, key);
}

int fcmdata_flush(struct fcmdata *h)
{
	int r;

	h->now_ms = libfcmdata_now_ms();
	r = libfcmdata_member_flush(h);
	libfcmdata_settle_fd(h);
	return r;
}

int fcmdata_alive(struct fcmdata *h)
{
	libfcmdata_member_serve(h);
	libfcmdata_settle_fd(h);
	return h->stats.state == FCMDATA_REFUSED ? -ECONNREFUSED : 0;
}
