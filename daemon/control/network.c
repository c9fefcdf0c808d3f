// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The control protocol over ZeroMQ with CURVE keys: see network.h. Every peer has proved at the
 * handshake that it has a key of the allow list; ZeroMQ names that key with every message
 * (User-Id).
 *
 * ZMQ_FD is edge-triggered: after every use of a socket, its events are looked at again (`turns`).
 */
#include "daemon/control/network.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <zmq.h>

#include <event2/event.h>

#include "daemon/core/annotate.h"
#include "daemon/core/limit.h"
#include "daemon/control/dispatch.h"
#include "daemon/core/now.h"
#include "daemon/net/zap.h"
#include "daemon/net/zmq_error.h"
#include "slowctl/access/keyfile.h"

#define MESSAGE_MAX	CONTROL_LINE_MAX
#define MESSAGE_MARGIN	256	 /* what encryption adds, and one byte that tells of more */
#define ID_LOOKED_FOR	4096u	 /* in a longer request that is refused, the id is not looked for */
#define REQUESTS_A_TURN 16u	 /* before other events have their turn */
#define TURN_NS		5000000u /* or so long */
#define PAUSE_US	1000	 /* then, when there is more */
#define QUEUED_IN	16	 /* messages of one connection that libzmq keeps for us */
#define QUEUED_OUT	2000	 /* answers */
#define KEEPALIVE_S	10	 /* of silence, then the kernel asks */
#define LINGER_MS	200

struct network_client {
	struct control_client base;
	struct network *network;
	uint8_t id[DOOR_ID_MAX]; /* ZeroMQ's routing id */
	uint8_t id_bytes;	 /* 0: the place is free */
	char key[ACCESS_KEY_TEXT];
	int fd; /* of its connection */
	_Atomic uint64_t
		unread; /* bytes that libzmq still has for it; counted down on its thread */
	uint64_t heard_ns;
	bool gone;
};

/* Of one key. */
struct logins {
	uint64_t count;
	char address[DOOR_ADDRESS_MAX]; /* of the last */
	struct reported_count reported;
};

struct network {
	struct event_base *base;
	struct dispatch *dispatch;
	void *context, *router;
	struct zap *zap;
	struct door *door;
	struct event *turns;
	struct event *events[5]; /* that lead to a turn, with `turns` as the last */
	struct network_client client[NETWORK_CLIENTS];
	struct access_list list;
	struct bucket bucket[ACCESS_KEYS_MAX]; /* as in the list */
	struct logins logins[ACCESS_KEYS_MAX]; /* likewise */
	struct network_config config;	       /* but for its texts */
	struct network_status status;
};

/* --- answers --- */

static struct network_client *client_of(struct control_client *base)
{
	return (struct network_client *)((char *)base - offsetof(struct network_client, base));
}

static void look_again(struct network *n)
{
	event_active(n->turns, EV_TIMEOUT, 0);
}

/* On libzmq's thread, mostly. */
static void sent(void *data, void *hint)
{
	_Atomic uint64_t *unread = hint;

	annotate_take(data);
	atomic_fetch_sub_explicit(unread, strlen(data), memory_order_relaxed);
	free(data);
}

/* `text` is taken over. */
static int send_text(struct network_client *cl, char *text)
{
	size_t length = strlen(text);
	zmq_msg_t message;

	if (zmq_send(cl->network->router, cl->id, cl->id_bytes, ZMQ_SNDMORE | ZMQ_DONTWAIT) < 0) {
		free(text);
		return zmq_error();
	}
	atomic_fetch_add_explicit(&cl->unread, length, memory_order_relaxed);
	annotate_give(text);
	if (zmq_msg_init_data(&message, text, length, sent, &cl->unread) < 0) {
		sent(text, &cl->unread);
		return -ENOMEM;
	}
	/* The first part has found the pipe: this one goes the same way. */
	if (zmq_msg_send(&message, cl->network->router, ZMQ_DONTWAIT) < 0) {
		zmq_msg_close(&message);
		return zmq_error();
	}
	return 0;
}

static void client_say(struct control_client *base, json_t *message)
{
	struct network_client *cl = client_of(base);
	struct network *n = cl->network;
	char *text = NULL;
	int r;

	if (!cl->gone) {
		text = json_dumps(message, JSON_COMPACT | JSON_REAL_PRECISION(15));
	}
	json_decref(message);
	r = text ? send_text(cl, text) : -ENOTCONN;
	if (r < 0) {
		n->status.unsent++;
		cl->gone |= r == -EHOSTUNREACH;
	}
	if (r == -EAGAIN) { /* it would go on with a hole in its answers, and not know */
		door_cut(n->door, cl->fd);
	}
	look_again(n);
}

static const struct control_transport transport = {.say = client_say};

/* --- clients --- */

/* Of one key. */
static void owed_by(const struct network *n, const char *key, unsigned *ret_open,
		    uint64_t *ret_unread)
{
	*ret_open = 0;
	*ret_unread = 0;
	for (const struct network_client *cl = n->client; cl < n->client + NETWORK_CLIENTS; cl++) {
		if (strcmp(cl->key, key) == 0) {
			*ret_open += cl->base.open;
			*ret_unread += atomic_load_explicit(&cl->unread, memory_order_relaxed);
		}
	}
}

static void client_free(struct network_client *cl)
{
	if (cl->id_bytes) {
		control_client_fini(&cl->base);
		cl->id_bytes = 0;
		cl->fd = -1;
		cl->network->status.clients--;
	}
}

/* A free place; else that of the client that has been silent longest, of those that wait for nothing. A place with bytes
 * that libzmq still has to send is not free. */
static struct network_client *find_place(struct network *n)
{
	struct network_client *oldest = NULL;

	for (struct network_client *cl = n->client; cl < n->client + NETWORK_CLIENTS; cl++) {
		uint64_t unread = atomic_load_explicit(&cl->unread, memory_order_relaxed);

		if (!cl->id_bytes && unread == 0) {
			return cl;
		}
		if (unread == 0 && !control_client_waits(&cl->base) &&
		    (!oldest || cl->heard_ns < oldest->heard_ns)) {
			oldest = cl;
		}
	}
	if (oldest) {
		client_free(oldest);
	}
	return oldest;
}

/* A limit for each key, so that others have room: beyond it, a client that waits for nothing is cut off, or else any; of
 * those the one that has been silent longest. */
static void limit_key(struct network *n, const char *key)
{
	struct network_client *first = NULL;
	unsigned count = 0;

	for (struct network_client *cl = n->client; cl < n->client + NETWORK_CLIENTS; cl++) {
		bool waits = control_client_waits(&cl->base), first_waits;

		if (!cl->id_bytes || strcmp(cl->key, key) != 0) {
			continue;
		}
		count++;
		first_waits = first && control_client_waits(&first->base);
		if (!first || waits < first_waits ||
		    (waits == first_waits && cl->heard_ns < first->heard_ns)) {
			first = cl;
		}
	}
	if (count >= NETWORK_CLIENTS_KEY) {
		door_cut_crowded(n->door, first->fd);
		client_free(first);
	}
}

/* The client that has sent it; NULL: there is no place. */
static struct network_client *sender(struct network *n, zmq_msg_t *id, zmq_msg_t *body)
{
	const char *key = zmq_msg_gets(body, "User-Id");
	size_t id_bytes = zmq_msg_size(id);
	struct network_client *cl = NULL;

	for (unsigned i = 0; i < NETWORK_CLIENTS && !cl; i++) {
		if (id_bytes == n->client[i].id_bytes &&
		    memcmp(n->client[i].id, zmq_msg_data(id), id_bytes) == 0) {
			cl = &n->client[i];
		}
	}
	if (cl && key && strcmp(cl->key, key) != 0) {
		client_free(cl); /* one that names itself has come back with another key */
		cl = NULL;
	}
	if (!cl) {
		limit_key(n, key ? key : "");
		cl = find_place(n);
		if (!cl) {
			return NULL;
		}
		control_client_init(&cl->base, n->dispatch, &transport);
		memcpy(cl->id, zmq_msg_data(id), id_bytes);
		cl->id_bytes = (uint8_t)id_bytes;
		snprintf(cl->key, sizeof(cl->key), "%s", key ? key : "");
		cl->gone = false;
		n->status.clients++;
	}
	cl->fd = zmq_msg_get(body, ZMQ_SRCFD);
	cl->heard_ns = now_mono_ns();
	door_heard(n->door, cl->fd, true);
	return cl;
}

static void name_peer(struct network_client *cl, const struct access_key *key)
{
	struct control_peer *p = &cl->base.peer;

	p->uid = p->pid = -1;
	p->role = key->right.role;
	snprintf(p->who, sizeof(p->who), "%s", key->name);
	snprintf(p->origin, sizeof(p->origin), "curve:%s", key->name);
}

/* --- requests --- */

static void bad(struct network *n, struct network_client *cl, const char *why)
{
	n->status.bad_messages++;
	dispatch_refuse(&cl->base, NULL, "usage",
			"a DEALER socket, one JSON object a message in one frame, at most 1 MiB",
			DETAIL_NONE, why);
}

/* Refuse a request: answered to its id, if the request is short. */
static void beyond(struct network *n, struct network_client *cl, zmq_msg_t *body,
		   enum error_detail detail, const char *why)
{
	json_t *message = NULL;
	json_error_t error;

	if (zmq_msg_size(body) <= ID_LOOKED_FOR) {
		message = dispatch_load(zmq_msg_data(body), zmq_msg_size(body), &error);
	}
	n->status.refused_rate++;
	dispatch_refuse(&cl->base, json_object_get(message, "id"), "refused",
			"wait for answers, ask less often; [network] rate and burst are the "
			"limits of every key",
			detail, why);
	json_decref(message);
}

static void serve(struct network *n, struct network_client *cl, const struct access_key *key,
		  zmq_msg_t *body)
{
	struct bucket *bucket = &n->bucket[key - n->list.key];
	json_error_t error;
	const char *fault;
	uint64_t unread;
	unsigned open;

	owed_by(n, cl->key, &open, &unread);
	if (unread > CONTROL_BACKLOG_MAX) {
		n->status.unsent++;
		door_cut(n->door, cl->fd);
	} else if (!bucket_take(bucket, n->config.rate, n->config.burst, now_mono_ns())) {
		beyond(n, cl, body, DETAIL_RATE, "too many requests of this key a second");
	} else if (open >= NETWORK_OPEN_MAX) {
		beyond(n, cl, body, DETAIL_OPEN,
		       "too many requests of this key wait for their ends");
	} else if (zmq_msg_size(body) > MESSAGE_MAX) {
		bad(n, cl, "the message is longer than 1 MiB");
	} else {
		n->status.requests++;
		fault = dispatch_bytes(&cl->base, zmq_msg_data(body), zmq_msg_size(body), &error);
		if (fault) {
			n->status.requests--;
			bad(n, cl, fault);
		}
	}
}

static void take(struct network *n, zmq_msg_t *id, zmq_msg_t *body, bool one_frame)
{
	const struct access_key *key;
	struct network_client *cl;

	if (zmq_msg_size(id) > DOOR_ID_MAX) {
		n->status.bad_messages++;
		door_cut(n->door, zmq_msg_get(body, ZMQ_SRCFD));
		return;
	}
	cl = sender(n, id, body);
	if (!cl) {
		n->status.unsent++;
		return;
	}
	key = access_list_find(&n->list, ACCESS_CONTROL, cl->key);
	if (!key) {
		n->status.removed++;
		dispatch_refuse(&cl->base, NULL, "refused",
				"ask who keeps the allow list of the daemon", DETAIL_KEY,
				"this key is not in the allow list any more");
		door_cut(n->door, cl->fd);
		return;
	}
	name_peer(cl, key);
	if (one_frame) {
		serve(n, cl, key, body);
	} else {
		bad(n, cl, "not one frame");
	}
}

/* False: there is none. */
static bool receive(struct network *n)
{
	zmq_msg_t id, body, rest;
	bool any, more;

	zmq_msg_init(&id);
	zmq_msg_init(&body);
	zmq_msg_init(&rest);
	any = zmq_msg_recv(&id, n->router, ZMQ_DONTWAIT) >= 0;
	if (any && zmq_msg_more(&id) && zmq_msg_recv(&body, n->router, ZMQ_DONTWAIT) >= 0) {
		more = zmq_msg_more(&body);
		while (more && zmq_msg_recv(&rest, n->router, ZMQ_DONTWAIT) >= 0) {
			more = zmq_msg_more(&rest); /* whatever it is */
		}
		take(n, &id, &body, !zmq_msg_more(&body));
	}
	zmq_msg_close(&rest);
	zmq_msg_close(&body);
	zmq_msg_close(&id);
	return any;
}

/* --- the loop --- */

static void forget_gone(struct network *n)
{
	for (unsigned i = 0; i < NETWORK_CLIENTS; i++) {
		if (n->client[i].gone) {
			client_free(&n->client[i]);
		}
	}
}

static void on_turn(evutil_socket_t fd, short what, void *arg)
{
	static const struct timeval pause = {0, PAUSE_US};
	struct network *n = arg;
	uint64_t end_ns = now_mono_ns() + TURN_NS;
	bool asked = zap_serve(n->zap), knocks = door_serve(n->door, now_mono_ns()), more = true;

	for (unsigned i = 0; i < REQUESTS_A_TURN && more && now_mono_ns() < end_ns; i++) {
		more = receive(n);
	}
	door_watch(n->door, !more, now_mono_ns());
	forget_gone(n);
	if (more || knocks || asked) {
		event_add(n->turns, &pause);
	}
}

static int add_events(struct network *n)
{
	static const struct timeval every = {0, DOOR_WATCH_NS / 1000};
	void *const sockets[3] = {n->router, zap_socket(n->zap), door_socket(n->door)};

	n->turns = n->events[4] = evtimer_new(n->base, on_turn, n);
	n->events[3] = event_new(n->base, -1, EV_PERSIST, on_turn, n);
	if (!n->turns || !n->events[3] || event_add(n->events[3], &every) < 0) {
		return -ENOMEM;
	}
	for (unsigned i = 0; i < 3; i++) {
		int fd;
		size_t size = sizeof(fd);

		if (zmq_getsockopt(sockets[i], ZMQ_FD, &fd, &size) < 0) {
			return zmq_error();
		}
		n->events[i] = event_new(n->base, fd, EV_READ | EV_PERSIST, on_turn, n);
		if (!n->events[i] || event_add(n->events[i], NULL) < 0) {
			return -ENOMEM;
		}
	}
	look_again(n);
	return 0;
}

/* --- life --- */

/* Not ZeroMQ's heartbeats: what a client sends is counted, and who waits for news sends nothing. */
static int set_limits(void *router, const char *endpoint)
{
	const struct zmq_number options[] = {
		{ZMQ_ROUTER_MANDATORY, 1},
		{ZMQ_IPV6, strchr(endpoint, '[') != NULL},
		{ZMQ_RCVHWM, QUEUED_IN},
		{ZMQ_SNDHWM, QUEUED_OUT},
		{ZMQ_TCP_KEEPALIVE, 1},
		{ZMQ_TCP_KEEPALIVE_IDLE, KEEPALIVE_S},
		{ZMQ_TCP_KEEPALIVE_INTVL, KEEPALIVE_S / 2},
		{ZMQ_TCP_KEEPALIVE_CNT, 4},
		{ZMQ_LINGER, LINGER_MS},
	};

	return zmq_set_numbers(router, options, sizeof(options) / sizeof(options[0]),
			       MESSAGE_MAX + MESSAGE_MARGIN);
}

static void report_logins(struct network *n, const struct access_key *key)
{
	struct logins *l = &n->logins[key - n->list.key];
	uint64_t more = reported_growth(&l->reported, l->count, now_mono_ns());

	if (more && n->config.login) {
		n->config.login(n->config.login_context, key, l->address, more);
	}
}

static void note_login(struct network *n, const struct access_key *key, const char *address)
{
	struct logins *l = &n->logins[key - n->list.key];

	if (strcmp(l->address, address) != 0) {
		report_logins(n, key); /* those from the other address */
		l->reported.at_ns = 0;
		snprintf(l->address, sizeof(l->address), "%s", address);
	}
	l->count++;
	report_logins(n, key);
}

/* A message without the name of a key in the list is served nothing. */
static const char *judge(void *context, const char *address, const char *key)
{
	struct network *n = context;
	const struct access_key *known = access_list_find(&n->list, ACCESS_CONTROL, key);
	const char *why =
		*key ? "its key is not in the allow list" : "it does not encrypt (no CURVE)";

	if (known) {
		note_login(n, known, address);
		return NULL;
	}
	n->status.refused_key += *key != '\0';
	door_refused(n->door, address, key, why);
	return why;
}

static void on_ended(void *context, int fd)
{
	struct network *n = context;

	for (unsigned i = 0; i < NETWORK_CLIENTS; i++) {
		n->client[i].gone |= n->client[i].fd == fd;
	}
}

/* Before the socket is bound: until ZAP is answered, everybody would be let in. */
static int open_doors(struct network *n)
{
	const struct door_config door = {
		.context = n->context,
		.socket = n->router,
		.name = "control",
		.most = DOOR_MOST,
		.most_a_source = DOOR_MOST_A_SOURCE,
		.unfinished = MESSAGE_MAX + (64u << 10),
		.ended = on_ended,
		.ended_context = n,
	};
	int r = zap_open(n->context, judge, n, &n->zap);

	return r ? r : door_open(&door, &n->door);
}

int network_open(struct event_base *base, const struct network_config *config,
		 const struct access_list *list, struct dispatch *dispatch,
		 struct network **ret_network, struct sc_error *error)
{
	char secret[ACCESS_KEY_TEXT];
	struct network *n = calloc(1, sizeof(*n));
	int r;

	if (!n) {
		return sc_fail(error, -ENOMEM, "memory", "", "out of memory");
	}
	n->base = base;
	n->dispatch = dispatch;
	n->config = *config;
	for (unsigned i = 0; i < NETWORK_CLIENTS; i++) {
		n->client[i].network = n;
		n->client[i].fd = -1;
	}
	r = keyfile_read(geteuid(), config->key_file, secret, n->status.public_key, error);
	if (r < 0) {
		free(n);
		return r;
	}
	network_allow(n, list, config->rate, config->burst);
	n->context = zmq_ctx_new();
	n->router = n->context ? door_router(n->context) : NULL;
	r = n->router ? 0 : -ENOMEM;
	r = r ? r : set_limits(n->router, config->endpoint);
	r = r ? r : zap_guard(n->router, secret);
	explicit_bzero(secret, sizeof(secret));
	r = r ? r : open_doors(n);
	if (r < 0) {
		sc_fail(error, r, "zeromq", "", "the network's control server: %s",
			zmq_strerror(-r));
	} else {
		r = door_bind(n->door, config->endpoint);
		if (r < 0) {
			sc_fail(error, r, "endpoint",
				"Give it as tcp://ADDRESS:PORT, an address of this machine",
				"[network] endpoint %s: %s", config->endpoint, strerror(-r));
		}
	}
	r = r ? r : add_events(n);
	if (r < 0) {
		network_close(n);
		return r;
	}
	*ret_network = n;
	return 0;
}

void network_allow(struct network *n, const struct access_list *list, double rate, double burst)
{
	struct bucket bucket[ACCESS_KEYS_MAX] = {0};
	struct logins logins[ACCESS_KEYS_MAX] = {0};

	for (unsigned i = 0; i < list->count; i++) {
		const struct access_key *old =
			access_list_find(&n->list, ACCESS_CONTROL, list->key[i].key);

		if (old) {
			bucket[i] = n->bucket[old - n->list.key];
			logins[i] = n->logins[old - n->list.key];
		}
	}
	memcpy(n->bucket, bucket, sizeof(bucket));
	memcpy(n->logins, logins, sizeof(logins));
	n->list = *list;
	n->config.rate = rate;
	n->config.burst = burst;
	n->status.keys = list->count;
	for (unsigned i = 0; i < NETWORK_CLIENTS; i++) {
		if (n->client[i].id_bytes &&
		    !access_list_find(list, ACCESS_CONTROL, n->client[i].key)) {
			door_cut(n->door, n->client[i].fd);
		}
	}
}

void network_tend(struct network *n)
{
	door_second(n->door);
	for (unsigned i = 0; i < n->list.count; i++) {
		report_logins(n, &n->list.key[i]);
	}
	look_again(n);
}

void network_get_status(const struct network *n, struct network_status *ret_status)
{
	*ret_status = n->status;
	door_get_status(n->door, &ret_status->door);
}

void network_close(struct network *n)
{
	if (!n) {
		return;
	}
	for (unsigned i = 0; i < NETWORK_CLIENTS; i++) {
		client_free(&n->client[i]);
	}
	for (unsigned i = 0; i < 5; i++) {
		if (n->events[i]) {
			event_free(n->events[i]);
		}
	}
	door_close(n->door);
	zap_close(n->zap);
	if (n->router) {
		zmq_close(n->router);
	}
	if (n->context) {
		zmq_ctx_term(n->context); /* until then libzmq counts `unread` down */
	}
	free(n);
}
