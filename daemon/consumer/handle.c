/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A handle's life: sockets, descriptor, the blocks in the caller's hands. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "daemon/consumer/fcmdata_private.h"
#include "slowctl/access/keyfile.h"

#define CREDIT_DEFAULT 64u
#define QUEUE_DEFAULT  64u
#define TOPIC_MAX      64u
#define LINGER_MS      500
#define MESSAGE_MAX    (64 << 20) /* bytes of a part; the largest block has 16 MB */
#define NAME_LETTERS   "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:-"
#define ENDPOINT_BYTES 64		 /* of an address at every interface */
#define EVENTS_INPROC  "inproc://events" /* a context of its own: no other handle sees it */

/* ---- opening ---- */

static bool name_legal(const char *name, size_t size)
{
	size_t length = name ? strlen(name) : 0;

	return length > 0 && length < size && strspn(name, NAME_LETTERS) == length;
}

static bool config_legal(const struct fcmdata_config *c)
{
	uint64_t set = 0;

	for (unsigned i = 0; i < sizeof(c->reserved) / sizeof(c->reserved[0]); i++) {
		set |= c->reserved[i];
	}
	if (set != 0 || !c->endpoint || !c->server_key != !c->key_file ||
	    (c->server_key && access_key_check(c->server_key) < 0)) {
		return false;
	}
	if (c->mode == FCMDATA_RESERVED) {
		return name_legal(c->name, FCMDATA_NAME_BYTES) &&
		       name_legal(c->group, FCMDATA_GROUP_BYTES) && c->credit <= FCMDATA_CREDIT_MAX;
	}
	for (unsigned i = 0; c->topics && c->topics[i]; i++) {
		if (strlen(c->topics[i]) > TOPIC_MAX) {
			return false;
		}
	}
	return c->mode == FCMDATA_MONITOR && c->queue <= 1000000;
}

/* ZeroMQ has errno values of its own. */
static int zmq_error(void)
{
	int e = zmq_errno();

	return e > 0 && e < ZMQ_HAUSNUMERO ? -e : -EINVAL;
}

static int set_options(struct fcmdata *h, const struct fcmdata_config *c)
{
	enum { BOTH = -1 };
	const int64_t message_max = MESSAGE_MAX;
	/* Never full for what the daemon may send to a member: its credit bounds it, not this. */
	const int queue = c->mode == FCMDATA_RESERVED ? 4 * (int)FCMDATA_CREDIT_MAX
						      : (int)(c->queue ? c->queue : QUEUE_DEFAULT);
	/* The daemon counts what a monitor sends, and cuts off who sends too much: no heartbeats. */
	const struct {
		int mode, option, value;
	} options[] = {
		{BOTH, ZMQ_LINGER, LINGER_MS},
		{BOTH, ZMQ_RECONNECT_IVL, 20},
		{BOTH, ZMQ_RECONNECT_IVL_MAX, 200},
		{BOTH, ZMQ_SNDHWM, 1000},
		{BOTH, ZMQ_RCVHWM, queue},
		{FCMDATA_RESERVED, ZMQ_HEARTBEAT_IVL, 1000},
		{FCMDATA_RESERVED, ZMQ_HEARTBEAT_TIMEOUT, 3000},
		{FCMDATA_MONITOR, ZMQ_TCP_KEEPALIVE, 1},
		{FCMDATA_MONITOR, ZMQ_TCP_KEEPALIVE_IDLE, 3},
		{FCMDATA_MONITOR, ZMQ_TCP_KEEPALIVE_INTVL, 1},
		{FCMDATA_MONITOR, ZMQ_TCP_KEEPALIVE_CNT, 3},
	};

	for (unsigned i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		if ((options[i].mode == BOTH || options[i].mode == (int)c->mode) &&
		    zmq_setsockopt(h->socket, options[i].option, &options[i].value, sizeof(int)) <
			    0) {
			return zmq_error();
		}
	}
	return zmq_setsockopt(h->socket, ZMQ_MAXMSGSIZE, &message_max, sizeof(message_max)) < 0
		       ? zmq_error()
		       : 0;
}

static int subscribe(struct fcmdata *h, const char *const *topics)
{
	static const char *const all[] = {"", NULL};

	for (topics = topics ? topics : all; *topics; topics++) {
		if (zmq_setsockopt(h->socket, ZMQ_SUBSCRIBE, *topics, strlen(*topics)) < 0) {
			return zmq_error();
		}
	}
	return 0;
}

/* The secret is in libzmq's hands alone when this returns. */
static int encrypt(struct fcmdata *h, const struct fcmdata_config *c)
{
	char secret[ACCESS_KEY_TEXT], public[ACCESS_KEY_TEXT];
	struct sc_error error = {0};
	int r = c->key_file ? keyfile_read(geteuid(), c->key_file, secret, public, &error) : 0;

	if (r < 0 || !c->key_file) {
		return r;
	}
	if (zmq_setsockopt(h->socket, ZMQ_CURVE_SERVERKEY, c->server_key, ACCESS_KEY_TEXT) < 0 ||
	    zmq_setsockopt(h->socket, ZMQ_CURVE_PUBLICKEY, public, sizeof(public)) < 0 ||
	    zmq_setsockopt(h->socket, ZMQ_CURVE_SECRETKEY, secret, sizeof(secret)) < 0) {
		r = zmq_error();
	}
	explicit_bzero(secret, sizeof(secret));
	return r;
}

/* A daemon that binds tcp at every address of its host is on this one. */
static int connect_to(void *socket, const char *endpoint)
{
	static const char *const any[] = {"tcp://*:", "tcp://0.0.0.0:"};
	char here[ENDPOINT_BYTES];

	for (unsigned i = 0; i < sizeof(any) / sizeof(any[0]); i++) {
		size_t length = strlen(any[i]);

		if (strncmp(endpoint, any[i], length) == 0) {
			snprintf(here, sizeof(here), "tcp://127.0.0.1:%s", endpoint + length);
			return zmq_connect(socket, here);
		}
	}
	return zmq_connect(socket, endpoint);
}

static int open_sockets(struct fcmdata *h, const struct fcmdata_config *c)
{
	int r;

	h->context = zmq_ctx_new();
	if (!h->context) {
		return zmq_error();
	}
	h->socket = zmq_socket(h->context, c->mode == FCMDATA_MONITOR ? ZMQ_SUB : ZMQ_DEALER);
	h->events = h->socket ? zmq_socket(h->context, ZMQ_PAIR) : NULL;
	if (!h->events) {
		return zmq_error();
	}
	r = set_options(h, c);
	r = r ? r : encrypt(h, c);
	if (r == 0 && c->mode == FCMDATA_MONITOR) {
		r = subscribe(h, c->topics);
	}
	if (r < 0) {
		return r;
	}
	if (zmq_socket_monitor(h->socket, EVENTS_INPROC,
			       ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_DISCONNECTED |
				       ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL |
				       ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL |
				       ZMQ_EVENT_HANDSHAKE_FAILED_AUTH) < 0 ||
	    zmq_connect(h->events, EVENTS_INPROC) < 0 || connect_to(h->socket, c->endpoint) < 0) {
		return zmq_error();
	}
	return 0;
}

int fcmdata_open(const struct fcmdata_config *c, struct fcmdata **ret_handle)
{
	struct fcmdata *h;
	int r;

	if (!config_legal(c)) {
		return -EINVAL;
	}
	h = calloc(1, sizeof(*h));
	if (!h) {
		return -ENOMEM;
	}
	LIST_INIT(&h->held);
	LIST_INIT(&h->spare);
	h->epoll_fd = h->timer_fd = h->ready_fd = -1;
	h->mode = c->mode;
	h->keys = c->key_file != NULL;
	h->credit = c->credit ? c->credit : CREDIT_DEFAULT;
	if (c->mode == FCMDATA_RESERVED) {
		/* The names have only letters that need no quoting. */
		snprintf(h->hello, sizeof(h->hello),
			 "{\"protocol\":1,\"name\":\"%s\",\"group\":\"%s\",\"credit\":%u}", c->name,
			 c->group, h->credit);
	}
	h->tracks = libfcmdata_tracks_create(c->mode == FCMDATA_MONITOR ? TRACKS_MONITOR
					     : c->sole			? TRACKS_SOLE
									: TRACKS_MEMBER);
	r = h->tracks ? open_sockets(h, c) : -ENOMEM;
	if (r < 0) {
		fcmdata_close(h);
		return r;
	}
	*ret_handle = h;
	return 0;
}

/* ---- closing ---- */

static void free_list(struct received_list *list)
{
	struct received *r;

	while ((r = LIST_FIRST(list))) {
		LIST_REMOVE(r, next);
		zmq_msg_close(&r->payload);
		free(r);
	}
}

static void close_sockets(struct fcmdata *h)
{
	const int none = 0;

	if (h->events) {
		libfcmdata_member_bye(h);
		zmq_socket_monitor(h->socket, NULL, 0);
		zmq_setsockopt(h->events, ZMQ_LINGER, &none, sizeof(none));
		zmq_close(h->events);
	}
	if (h->socket) {
		zmq_close(h->socket);
	}
	if (h->context) {
		while (zmq_ctx_term(h->context) < 0 && zmq_errno() == EINTR) {
			/* a signal: go on waiting, it takes no longer than the linger time */
		}
	}
}

static void close_fds(struct fcmdata *h)
{
	int *const fds[] = {&h->epoll_fd, &h->timer_fd, &h->ready_fd};

	for (unsigned i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
		if (*fds[i] >= 0) {
			close(*fds[i]);
			*fds[i] = -1;
		}
	}
}

void fcmdata_close(struct fcmdata *h)
{
	if (!h) {
		return;
	}
	free_list(&h->held);
	free_list(&h->spare);
	close_sockets(h);
	close_fds(h);
	libfcmdata_tracks_destroy(h->tracks);
	free(h);
}

/* ---- blocks ---- */

struct received *libfcmdata_get(struct fcmdata *h)
{
	struct received *r = LIST_FIRST(&h->spare);

	if (r) {
		LIST_REMOVE(r, next);
	} else if (!(r = malloc(sizeof(*r)))) {
		return NULL;
	}
	zmq_msg_init(&r->payload);
	LIST_INSERT_HEAD(&h->held, r, next);
	return r;
}

void libfcmdata_put(struct fcmdata *h, struct received *r)
{
	zmq_msg_close(&r->payload);
	zmq_msg_init(&r->payload); /* so that every one of a list may be closed */
	LIST_REMOVE(r, next);
	LIST_INSERT_HEAD(&h->spare, r, next);
}

void fcmdata_release(struct fcmdata *h, const struct fcmdata_block *b)
{
	if (b) {
		/* It is the first thing in a `received`, and not const there. */
		libfcmdata_put(h, (struct received *)(uintptr_t)b);
	}
}

/* ---- the descriptor ---- */

/* ZeroMQ's own descriptor, which speaks of commands to a socket, not of messages in it. */
static int add_socket(struct fcmdata *h, void *socket)
{
	struct epoll_event event = {.events = EPOLLIN};
	size_t size = sizeof(int);
	int fd;

	if (zmq_getsockopt(socket, ZMQ_FD, &fd, &size) < 0) {
		return zmq_error();
	}
	return epoll_ctl(h->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

static int open_fd(struct fcmdata *h)
{
	const struct itimerspec period = {{0, LIBFCMDATA_ALIVE_MS * 1000000l},
					  {0, LIBFCMDATA_ALIVE_MS * 1000000l}};
	struct epoll_event event = {.events = EPOLLIN};
	int r;

	h->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	h->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	h->ready_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (h->epoll_fd < 0 || h->timer_fd < 0 || h->ready_fd < 0 ||
	    timerfd_settime(h->timer_fd, 0, &period, NULL) < 0 ||
	    epoll_ctl(h->epoll_fd, EPOLL_CTL_ADD, h->timer_fd, &event) < 0 ||
	    epoll_ctl(h->epoll_fd, EPOLL_CTL_ADD, h->ready_fd, &event) < 0) {
		return -errno;
	}
	r = add_socket(h, h->socket);
	return r < 0 ? r : add_socket(h, h->events);
}

int fcmdata_fd(struct fcmdata *h)
{
	int r = h->epoll_fd >= 0 ? 0 : open_fd(h);

	if (r == 0) {
		libfcmdata_settle_fd(h);
		return h->epoll_fd;
	}
	close_fds(h);
	return r;
}

/* Our own calls may take the edge that ZeroMQ's descriptor is readable for: what waits then is said by a
 * descriptor of our own. */
void libfcmdata_settle_fd(struct fcmdata *h)
{
	uint64_t value = 1;
	int events;
	bool ready;
	ssize_t n;

	if (h->epoll_fd < 0) {
		return;
	}
	n = read(h->timer_fd, &value, sizeof(value));
	events = libfcmdata_events(h->socket);
	ready = h->stats.state == FCMDATA_REFUSED || events & ZMQ_POLLIN ||
		(h->acks > 0 && h->stats.state == FCMDATA_MEMBER && events & ZMQ_POLLOUT);
	if (libfcmdata_events(h->events) & ZMQ_POLLIN) {
		h->looked_ms = 0; /* the next call looks at once */
		ready = true;
	}
	if (ready != h->ready) {
		value = 1;
		n = ready ? write(h->ready_fd, &value, sizeof(value))
			  : read(h->ready_fd, &value, sizeof(value));
		h->ready = ready;
	}
	(void)n; /* none of them can fail but with EAGAIN, when nothing is there */
}

/* ---- asking ---- */

const char *fcmdata_refusal(const struct fcmdata *h)
{
	return h->stats.state == FCMDATA_REFUSED ? h->refusal : NULL;
}

void fcmdata_get_stats(const struct fcmdata *h, struct fcmdata_stats *ret_stats)
{
	*ret_stats = h->stats;
}
