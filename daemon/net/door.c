/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Limits of a listening ZeroMQ socket: see door.h. */
#include "daemon/net/door.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netdb.h>
#include <zmq.h>

#include "daemon/net/address.h"
#include "daemon/net/listener.h"
#include "daemon/net/zmq_error.h"
#include "daemon/net/zmq_frames.h"

#define HANDSHAKE_MS 2000
#define BACK_S	     8u /* by then a handshake has succeeded or not */
#define NEWS_A_TURN  256u
#define UNDRAINED_NS 1000000000ull
#define GREETING     100u /* bytes, with a READY */
#define ZMTP_BYTES   64u  /* a greeting alone */
#define FOREIGN	     "it speaks another protocol"

struct place {
	uint64_t cookie; /* SO_COOKIE; 0: the place is free */
	char address[DOOR_ADDRESS_MAX];
	uint64_t number;	  /* of all that came */
	uint64_t whole, whole_ns; /* bytes it had sent, and when, at its last whole message or so */
	bool heard;		  /* whole messages since the last look */
	bool known, cut;
	bool foreign; /* cut: it does not speak ZeroMQ's protocol */
};

struct door {
	struct door_config config;
	struct door_status status;
	void *monitor;
	char endpoint[256];
	uint16_t port;	     /* 0: no TCP */
	struct place *place; /* by descriptor */
	unsigned places;
	const char *failed; /* why the handshake failed whose connection ends next; NULL */
	uint64_t accepted[BACK_S], answered; /* answered: refused with a reason */
	unsigned second;
	uint64_t now_ns, watched_ns;
};

/* --- descriptors that are libzmq's --- */

static uint64_t cookie_of(int fd)
{
	uint64_t cookie = 0;
	socklen_t size = sizeof(cookie);

	return getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &size) < 0 ? 0 : cookie;
}

/* Whether it was accepted by this socket; the descriptor of one that has ended may be anything by now. */
static bool is_ours(const struct door *d, int fd)
{
	struct sockaddr_storage address;

	return d->port == 0 || address_of(fd, false, &address) == d->port;
}

static void name_address(int fd, char text[DOOR_ADDRESS_MAX])
{
	struct sockaddr_storage a;

	if (address_of(fd, true, &a) != 0) {
		getnameinfo((struct sockaddr *)&a, sizeof(a), text, DOOR_ADDRESS_MAX, NULL, 0,
			    NI_NUMERICHOST);
	}
}

/* NULL: there is no such connection. */
static struct place *place_of(struct door *d, int fd)
{
	return fd >= 0 && (unsigned)fd < d->places && d->place[fd].cookie ? &d->place[fd] : NULL;
}

static struct place *place_for(struct door *d, int fd)
{
	unsigned places = d->places ? d->places : 64;
	struct place *more;

	while (places <= (unsigned)fd) {
		places *= 2;
	}
	if (places > d->places) {
		more = realloc(d->place, places * sizeof(*more));
		if (!more) {
			return NULL;
		}
		memset(more + d->places, 0, (places - d->places) * sizeof(*more));
		d->place = more;
		d->places = places;
	}
	return &d->place[fd];
}

/* By a copy of the descriptor, which cannot become another connection between check and shutdown. */
void door_cut(struct door *d, int fd)
{
	struct place *p = place_of(d, fd);
	int copy = p ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;

	if (copy < 0) {
		return;
	}
	if (cookie_of(copy) == p->cookie) {
		shutdown(copy, SHUT_RDWR);
	}
	p->cut = true;
	close(copy);
}

void door_cut_crowded(struct door *d, int fd)
{
	d->status.crowded++;
	door_cut(d, fd);
}

void door_cut_all(struct door *d)
{
	for (unsigned fd = 0; fd < d->places; fd++) {
		door_cut(d, (int)fd);
	}
}

/* --- connections begin and end --- */

void door_refused(struct door *d, const char *address, const char *key, const char *why)
{
	struct door_refusal *last = &d->status.last;

	d->answered++;
	d->status.refused++;
	snprintf(last->address, sizeof(last->address), "%.63s", address);
	snprintf(last->key, sizeof(last->key), "%.8s", key);
	last->why = why;
}

/* The connection to cut off when `newest` is one too many: the oldest unknown one, of the same address or of all; else the
 * newest itself. NULL: there is room. */
static struct place *one_too_many(struct door *d, struct place *newest)
{
	struct place *first[2] = {newest, newest}; /* of its source; of all */
	unsigned count[2] = {0, 0};
	const unsigned most[2] = {d->config.most_a_source, d->config.most};

	for (unsigned fd = 0; fd < d->places; fd++) {
		struct place *p = &d->place[fd];
		bool same = strcmp(p->address, newest->address) == 0;

		if (!p->cookie || p->cut) {
			continue;
		}
		for (unsigned i = same ? 0 : 1; i < 2; i++) {
			count[i]++;
			if (!p->known && p->number < first[i]->number) {
				first[i] = p;
			}
		}
	}
	return count[0] > most[0] ? first[0] : count[1] > most[1] ? first[1] : NULL;
}

static void on_accepted(struct door *d, int fd)
{
	uint64_t cookie = fd >= 0 ? cookie_of(fd) : 0;
	struct place *p, *victim;

	d->status.accepted++;
	if (!cookie || !is_ours(d, fd)) {
		return; /* it has ended already */
	}
	p = place_for(d, fd);
	if (!p) {
		return;
	}
	*p = (struct place){.cookie = cookie, .number = d->status.accepted, .whole_ns = d->now_ns};
	name_address(fd, p->address);
	victim = one_too_many(d, p);
	if (victim) {
		door_cut_crowded(d, (int)(victim - d->place));
	}
}

static void on_ended(struct door *d, int fd)
{
	struct place *p = place_of(d, fd);

	d->status.ended++;
	if (d->failed) {
		door_refused(d, p ? p->address : "", "", p && p->foreign ? FOREIGN : d->failed);
		d->failed = NULL;
	}
	if (d->config.ended) {
		d->config.ended(d->config.ended_context, fd);
	}
	if (p) {
		p->cookie = 0;
	}
}

static const char *failure(int reason)
{
	return reason == ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH
		       ? "it does not encrypt (no CURVE), or we do not"
	       : reason == ZMQ_PROTOCOL_ERROR_ZMTP_CRYPTOGRAPHIC
		       ? "it does not have this server's public key, or is no CURVE client"
		       : "it does not follow ZeroMQ's handshake";
}

static bool news_one(struct door *d)
{
	struct zmq_frame f[2];
	uint16_t event;
	int32_t value;

	if (zmq_frames_take(d->monitor, f, 2) == 0) {
		return false;
	}
	memcpy(&event, f[0].bytes, sizeof(event));
	memcpy(&value, f[0].bytes + sizeof(event), sizeof(value));
	switch (event) {
	case ZMQ_EVENT_ACCEPTED:
		on_accepted(d, value);
		break;
	case ZMQ_EVENT_HANDSHAKE_SUCCEEDED:
		d->status.admitted++;
		break;
	case ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL:
		d->failed = failure(value);
		break;
	case ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL:
		d->failed = "it left in ZeroMQ's handshake: does it encrypt as this socket does?";
		break;
	case ZMQ_EVENT_DISCONNECTED:
		on_ended(d, value);
		break;
	default:
		break;
	}
	return true;
}

bool door_serve(struct door *d, uint64_t now_ns)
{
	bool any = true;

	d->now_ns = now_ns;
	for (unsigned i = 0; i < NEWS_A_TURN && any; i++) {
		any = news_one(d);
	}
	return any;
}

/* Connections whose handshake must be over by now, and of which libzmq reported neither success nor failure. */
static void count_others(struct door *d)
{
	uint64_t old = d->accepted[d->second % BACK_S], other;

	d->accepted[d->second++ % BACK_S] = d->status.accepted;
	if (old <= d->status.admitted + d->answered) {
		return;
	}
	other = old - d->status.admitted - d->answered;
	d->status.refused += other;
	d->answered += other;
	d->status.last = (struct door_refusal){.why = FOREIGN};
}

/* --- what a connection costs --- */

void door_heard(struct door *d, int fd, bool known)
{
	struct place *p = place_of(d, fd);

	if (p) {
		p->heard = true;
		p->known |= known;
	}
}

/* Bytes that libzmq has taken from the connection, or less if more come meanwhile. False: it is no TCP, or none any
 * more. */
static bool taken(int fd, uint64_t *ret_bytes)
{
	struct tcp_info info = {.tcpi_state = 0};
	socklen_t size = sizeof(info);
	uint64_t received;
	int waiting = 0; /* in the kernel */

	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) < 0 ||
	    ioctl(fd, SIOCINQ, &waiting) < 0) {
		return false;
	}
	received = (uint64_t)info.tcpi_bytes_received;
	*ret_bytes = received > (uint64_t)waiting ? received - (uint64_t)waiting : 0;
	return true;
}

/* libzmq 4.3.4 ends such a connection itself, in HANDSHAKE_MS; 4.3.5 (Debian 13) may take its first bytes for ZMTP 1.0,
 * and waits for the rest for ever. It is cut before count_others() would count it. */
static bool is_foreign(const struct place *p, uint64_t bytes, uint64_t now_ns)
{
	return bytes < ZMTP_BYTES && now_ns - p->whole_ns > 2 * HANDSHAKE_MS * 1000000ull;
}

static void watch_one(struct door *d, int fd, struct place *p, uint64_t now_ns)
{
	uint64_t bytes;

	if (!taken(fd, &bytes)) {
		return;
	}
	p->known |= d->config.life && bytes > GREETING;
	if (d->config.life && bytes > d->config.life) {
		d->status.greedy++;
	} else if (p->heard) {
		p->heard = false;
		p->whole = bytes;
		p->whole_ns = now_ns;
		return;
	} else if (d->config.unfinished && bytes > p->whole + d->config.unfinished) {
		d->status.unfinished++;
	} else if (d->config.silent_ns && now_ns - p->whole_ns > d->config.silent_ns) {
		d->status.silent++;
	} else if (is_foreign(p, bytes, now_ns)) {
		p->foreign = true;
	} else {
		return;
	}
	door_cut(d, fd);
}

void door_watch(struct door *d, bool drained, uint64_t now_ns)
{
	if (now_ns - d->watched_ns < (drained ? DOOR_WATCH_NS : UNDRAINED_NS)) {
		return;
	}
	d->watched_ns = now_ns;
	for (unsigned fd = 0; fd < d->places; fd++) {
		if (d->place[fd].cookie && !d->place[fd].cut) {
			watch_one(d, (int)fd, &d->place[fd], now_ns);
		}
	}
}

/* --- life --- */

void *door_router(void *context)
{
	unsigned seed;

	if (getrandom(&seed, sizeof(seed), 0) != (ssize_t)sizeof(seed)) {
		return NULL;
	}
	srand(seed);
	return zmq_socket(context, ZMQ_ROUTER);
}

int door_open(const struct door_config *config, struct door **ret_door)
{
	const int zero = 0, handshake = HANDSHAKE_MS,
		  all = ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_HANDSHAKE_SUCCEEDED |
			ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL | ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL |
			ZMQ_EVENT_DISCONNECTED;
	struct door *d = calloc(1, sizeof(*d));
	char endpoint[64];
	int r;

	if (!d) {
		return -ENOMEM;
	}
	d->config = *config;
	snprintf(endpoint, sizeof(endpoint), "inproc://door-%s", config->name);
	/* No limit: with one, libzmq's thread would wait for us when the monitor's queue is full. */
	d->monitor = zmq_socket(config->context, ZMQ_PAIR);
	if (!d->monitor || zmq_setsockopt(d->monitor, ZMQ_RCVHWM, &zero, sizeof(zero)) < 0 ||
	    zmq_setsockopt(d->monitor, ZMQ_LINGER, &zero, sizeof(zero)) < 0 ||
	    zmq_setsockopt(config->socket, ZMQ_HANDSHAKE_IVL, &handshake, sizeof(handshake)) < 0 ||
	    zmq_socket_monitor(config->socket, endpoint, all) < 0 ||
	    zmq_connect(d->monitor, endpoint) < 0) {
		r = zmq_error();
		door_close(d);
		return r;
	}
	*ret_door = d;
	return 0;
}

/* The address of tcp://ADDRESS:PORT in numbers, either of them perhaps *. The caller's; NULL: it is another one. */
static struct addrinfo *numeric_address(const char *endpoint)
{
	const struct addrinfo hints = {.ai_flags = AI_PASSIVE | AI_NUMERICHOST | AI_NUMERICSERV,
				       .ai_socktype = SOCK_STREAM};
	const char *begin = endpoint + strlen("tcp://"), *colon = strrchr(endpoint, ':');
	struct addrinfo *found = NULL;
	char host[INET6_ADDRSTRLEN + 16];
	int length;

	if (strncmp(endpoint, "tcp://", 6) != 0 || colon < begin) {
		return NULL;
	}
	length = (int)(colon - begin);
	if (length > 2 && begin[0] == '[' && begin[length - 1] == ']') {
		begin++;
		length -= 2;
	}
	if (snprintf(host, sizeof(host), "%.*s", length, begin) >= (int)sizeof(host)) {
		return NULL;
	}
	return getaddrinfo(strcmp(host, "*") == 0 ? "0.0.0.0" : host,
			   strcmp(colon + 1, "*") == 0 ? "0" : colon + 1, &hints, &found) == 0
		       ? found
		       : NULL;
}

/* libzmq listens with the descriptor that it is given, and closes it. */
static int bind_kept(struct door *d, const struct addrinfo *address)
{
	int fd = listener_open(d->config.name, address->ai_addr, address->ai_addrlen), none = -1, r;

	if (fd < 0) {
		return fd;
	}
	if (zmq_setsockopt(d->config.socket, ZMQ_USE_FD, &fd, sizeof(fd)) < 0) {
		close(fd);
		return zmq_error();
	}
	r = zmq_bind(d->config.socket, d->endpoint) < 0 ? zmq_error() : 0;
	zmq_setsockopt(d->config.socket, ZMQ_USE_FD, &none, sizeof(none));
	return r;
}

static int bind_now(struct door *d)
{
	struct addrinfo *address = numeric_address(d->endpoint);
	size_t size = sizeof(d->endpoint);
	const char *port;
	int r;

	if (address) {
		r = bind_kept(d, address);
		freeaddrinfo(address);
	} else {
		r = zmq_bind(d->config.socket, d->endpoint) < 0 ? zmq_error() : 0;
	}
	if (r == 0 && zmq_getsockopt(d->config.socket, ZMQ_LAST_ENDPOINT, d->endpoint, &size) < 0) {
		r = zmq_error();
	}
	port = strncmp(d->endpoint, "tcp:", 4) == 0 ? strrchr(d->endpoint, ':') : NULL;
	d->port = port ? (uint16_t)strtoul(port + 1, NULL, 10) : 0;
	return r;
}

int door_bind(struct door *d, const char *endpoint)
{
	int r;

	if (strlen(endpoint) >= sizeof(d->endpoint)) {
		return -EINVAL;
	}
	strcpy(d->endpoint, endpoint);
	r = bind_now(d);
	d->status.closed = listener_may_wait(r) ? r : 0;
	return d->status.closed ? 0 : r;
}

void door_second(struct door *d)
{
	count_others(d);
	if (d->status.closed) {
		d->status.closed = bind_now(d);
	}
}

const char *door_endpoint(const struct door *d)
{
	return d->endpoint;
}

void *door_socket(struct door *d)
{
	return d->monitor;
}

void door_get_status(const struct door *d, struct door_status *ret_status)
{
	*ret_status = d->status;
}

void door_close(struct door *d)
{
	if (!d) {
		return;
	}
	zmq_socket_monitor(d->config.socket, NULL, 0);
	if (d->monitor) {
		zmq_close(d->monitor);
	}
	free(d->place);
	free(d);
}
