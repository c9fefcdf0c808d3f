/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copies to the monitors, see monitors.h. */
#include "daemon/publish/monitors.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <zmq.h>

#include "daemon/core/queue.h"
#include "daemon/core/thread.h"
#include "daemon/net/zmq_error.h"

#define COPIES		128u /* blocks on their way to the thread */
#define MESSAGES_A_TURN 256u
#define KEEPALIVE_S	3 /* of silence, then the kernel asks */
#define QUEUED_IN	64 /* topics of one monitor that libzmq takes before the thread has seen some */
#define TURN_MS		100
/* Of a message of theirs, a handshake's among them: libzmq asks for topics by SUBSCRIBE and its 10 bytes. CURVE's
 * handshake is longer, and comes from those with a key. */
#define PLAIN_MAX 64
#define CURVE_MAX 512

struct topic {
	char prefix[MONITORS_TOPIC_MAX];
	uint8_t length;
};

struct copy {
	zmq_msg_t part[3];
};

struct monitors {
	void *context, *xpub; /* xpub: used under `use` */
	struct zap *zap;
	struct door *door;
	struct queue copies;
	bool copied; /* since the last monitors_wake() */
	pthread_t thread;
	bool started;
	_Atomic bool stopping;
	pthread_mutex_t use;

	pthread_mutex_t lock;
	struct topic topic[MONITORS_TOPICS];
	unsigned topics;
	unsigned unlisted; /* topics beyond those: while there are any, all is copied */

	_Atomic uint64_t blocks, dropped, bad_messages;
};

/* ---- topics ---- */

static bool is_wanted(struct monitors *m, const char *topic, size_t length)
{
	bool found;

	pthread_mutex_lock(&m->lock);
	found = m->unlisted > 0;
	for (unsigned i = 0; i < m->topics && !found; i++) {
		const struct topic *t = &m->topic[i];

		found = t->length <= length && memcmp(t->prefix, topic, t->length) == 0;
	}
	pthread_mutex_unlock(&m->lock);
	return found;
}

/* XPUB tells of the first subscription to a prefix (1, prefix) and of the end of the last (0, prefix). */
static void note_topic(struct monitors *m, bool begins, const uint8_t *prefix, size_t length)
{
	struct topic *t = m->topic;

	while (t < m->topic + m->topics &&
	       (t->length != length || memcmp(t->prefix, prefix, length) != 0)) {
		t++;
	}
	if (t < m->topic + m->topics) {
		if (!begins) {
			*t = m->topic[--m->topics];
		}
	} else if (begins && m->topics < MONITORS_TOPICS) {
		m->topics++;
		memcpy(t->prefix, prefix, length);
		t->length = (uint8_t)length;
	} else if (begins) {
		m->unlisted++;
	} else if (m->unlisted > 0) {
		m->unlisted--;
	}
}

static void take_topic(struct monitors *m, zmq_msg_t *message)
{
	const uint8_t *bytes = zmq_msg_data(message);
	size_t length = zmq_msg_size(message);

	if (length == 0 || bytes[0] > 1) {
		atomic_fetch_add(&m->bad_messages, 1);
	} else if (length - 1 <= MONITORS_TOPIC_MAX) { /* longer ones match no topic */
		pthread_mutex_lock(&m->lock);
		note_topic(m, bytes[0] == 1, bytes + 1, length - 1);
		pthread_mutex_unlock(&m->lock);
	}
}

/* ---- the thread ---- */

static bool take_topics(struct monitors *m)
{
	bool any = true;

	for (unsigned i = 0; i < MESSAGES_A_TURN && any; i++) {
		zmq_msg_t message;

		zmq_msg_init(&message);
		any = zmq_msg_recv(&message, m->xpub, ZMQ_DONTWAIT) >= 0;
		if (any) {
			take_topic(m, &message);
		}
		zmq_msg_close(&message);
	}
	return any;
}

static void send_copy(struct monitors *m, struct copy *c)
{
	bool sent = true;

	for (unsigned i = 0; i < 3; i++) {
		sent = sent && zmq_msg_send(&c->part[i], m->xpub,
					    ZMQ_DONTWAIT | (i < 2 ? ZMQ_SNDMORE : 0)) >= 0;
		if (!sent) {
			zmq_msg_close(&c->part[i]);
		}
	}
	atomic_fetch_add(sent ? &m->blocks : &m->dropped, 1);
}

static void send_copies(struct monitors *m)
{
	struct copy *c;

	while ((c = queue_peek(&m->copies))) {
		send_copy(m, c);
		queue_release(&m->copies);
	}
}

/* libzmq's descriptor tells of a change only: each turn takes all that there is. */
static void *monitors_main(void *arg)
{
	struct monitors *m = arg;
	struct pollfd fds[2] = {{.fd = m->copies.fd, .events = POLLIN},
				{.fd = -1, .events = POLLIN}};
	size_t size = sizeof(fds[1].fd);
	bool more = true;

	zmq_getsockopt(m->xpub, ZMQ_FD, &fds[1].fd, &size);
	while (!atomic_load(&m->stopping)) {
		poll(fds, 2, more ? 0 : TURN_MS);
		queue_hush(&m->copies);
		pthread_mutex_lock(&m->use);
		send_copies(m);
		more = take_topics(m);
		pthread_mutex_unlock(&m->use);
	}
	return NULL;
}

/* ---- the publisher's side ---- */

static bool fill(zmq_msg_t *part, const void *bytes, size_t length)
{
	if (zmq_msg_init_size(part, length) < 0) {
		zmq_msg_init(part);
		return false;
	}
	memcpy(zmq_msg_data(part), bytes, length);
	return true;
}

void monitors_copy(struct monitors *m, const struct block *b)
{
	char topic[FCM_TOPIC_BYTES];
	size_t length = fcm_topic(&b->header, topic);
	struct copy *c;
	bool good;

	if (!is_wanted(m, topic, length)) {
		return;
	}
	c = queue_reserve(&m->copies);
	if (!c) {
		atomic_fetch_add(&m->dropped, 1);
		return;
	}
	good = fill(&c->part[0], topic, length);
	good &= fill(&c->part[1], &b->header, sizeof(b->header));
	good &= fill(&c->part[2], b->payload, b->header.payload_bytes);
	if (!good) {
		for (unsigned i = 0; i < 3; i++) {
			zmq_msg_close(&c->part[i]);
		}
		atomic_fetch_add(&m->dropped, 1);
		return;
	}
	queue_commit(&m->copies);
	m->copied = true;
}

void monitors_wake(struct monitors *m)
{
	if (m->copied) {
		queue_wake(&m->copies);
		m->copied = false;
	}
}

/* What is done once a second may touch the socket: when its thread has no time, the next second does. */
void monitors_watch(struct monitors *m, bool second, uint64_t now_ns)
{
	if (m->zap) {
		zap_serve(m->zap);
	}
	door_serve(m->door, now_ns);
	door_watch(m->door, true, now_ns);
	if (second && pthread_mutex_trylock(&m->use) == 0) {
		door_second(m->door);
		pthread_mutex_unlock(&m->use);
	}
}

unsigned monitors_wait_for(struct monitors *m, void *ret_sockets[2])
{
	ret_sockets[0] = door_socket(m->door);
	ret_sockets[1] = m->zap ? zap_socket(m->zap) : NULL;
	return m->zap ? 2 : 1;
}

void monitors_get_status(struct monitors *m, struct monitors_status *ret_status)
{
	ret_status->blocks = atomic_load(&m->blocks);
	ret_status->dropped = atomic_load(&m->dropped);
	ret_status->bad_messages = atomic_load(&m->bad_messages);
}

struct door *monitors_door(struct monitors *m)
{
	return m->door;
}

/* ---- life ---- */

/* A monitor says what it wants and then nothing: all that it sends is counted (door.h), so whether it is there is
 * asked by the kernel and not by ZeroMQ's heartbeats, which it would have to answer. */
static int set_options(void *xpub, const struct monitors_config *config)
{
	const struct zmq_number options[] = {
		{ZMQ_LINGER, 0},
		{ZMQ_SNDHWM, config->hwm},
		{ZMQ_RCVHWM, QUEUED_IN},
		{ZMQ_TCP_KEEPALIVE, 1},
		{ZMQ_TCP_KEEPALIVE_IDLE, KEEPALIVE_S},
		{ZMQ_TCP_KEEPALIVE_INTVL, 1},
		{ZMQ_TCP_KEEPALIVE_CNT, KEEPALIVE_S},
	};

	int r = zmq_set_numbers(xpub, options, sizeof(options) / sizeof(options[0]),
				config->secret ? CURVE_MAX : PLAIN_MAX);

	return r || !config->secret ? r : zap_guard(xpub, config->secret);
}

static int open_socket(struct monitors *m, const struct monitors_config *config)
{
	struct door_config door = {
		.name = "monitor",
		.most = DOOR_MOST,
		.most_a_source = DOOR_MOST_A_SOURCE,
		.life = MONITORS_WORDS,
	};
	int r;

	m->context = door.context = zmq_ctx_new();
	m->xpub = door.socket = m->context ? zmq_socket(m->context, ZMQ_XPUB) : NULL;
	if (!m->xpub) {
		return zmq_error();
	}
	r = config->secret ? zap_open(m->context, config->judge, config->context, &m->zap) : 0;
	r = r ? r : set_options(m->xpub, config);
	r = r ? r : door_open(&door, &m->door);
	return r ? r : door_bind(m->door, config->endpoint);
}

int monitors_start(const struct monitors_config *config, struct monitors **ret_monitors)
{
	struct monitors *m = queue_home_alloc(sizeof(*m));
	int r;

	if (!m) {
		return -ENOMEM;
	}
	pthread_mutex_init(&m->use, NULL);
	pthread_mutex_init(&m->lock, NULL);
	r = queue_init(&m->copies, sizeof(struct copy), COPIES, 1);
	r = r ? r : open_socket(m, config);
	r = r ? r : thread_start(&m->thread, "monitors", monitors_main, m);
	m->started = r == 0;
	if (r < 0) {
		monitors_stop(m);
		return r;
	}
	*ret_monitors = m;
	return 0;
}

static void forget_copies(struct monitors *m)
{
	struct copy *c;

	while (m->copies.items && (c = queue_peek(&m->copies))) {
		for (unsigned i = 0; i < 3; i++) {
			zmq_msg_close(&c->part[i]);
		}
		queue_release(&m->copies);
	}
}

void monitors_stop(struct monitors *m)
{
	if (!m) {
		return;
	}
	if (m->started) {
		atomic_store(&m->stopping, true);
		door_cut_all(m->door); /* no peer keeps the thread busy with topics */
		queue_wake(&m->copies);
		pthread_join(m->thread, NULL);
	}
	forget_copies(m);
	door_close(m->door);
	zap_close(m->zap);
	if (m->xpub) {
		zmq_close(m->xpub);
	}
	if (m->context) {
		zmq_ctx_term(m->context);
	}
	queue_fini(&m->copies);
	pthread_mutex_destroy(&m->lock);
	pthread_mutex_destroy(&m->use);
	free(m);
}
