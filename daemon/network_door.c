// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The door of the network's control server: ZeroMQ asks us about every key (ZAP, RFC 27), and tells of
 * connections (its socket monitor). See network_private.h for what it does not tell.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <zmq.h>

#include "daemon/network_private.h"

#define ZAP_ENDPOINT	 "inproc://zeromq.zap.01"
#define MONITOR_ENDPOINT "inproc://control-door"
#define ZAP_FRAMES	 7u
#define ZAP_A_TURN	 32u
#define NEWS_A_TURN	 256u
#define KEY_BYTES	 32u

/* One that has come, with a reason. */
static void refuse(struct network *n, const char *address, const char *key, const char *why)
{
	struct network_refusal *last = &n->status.last;

	n->door.told++;
	n->status.refused++;
	snprintf(last->address, sizeof(last->address), "%.63s", address);
	snprintf(last->key, sizeof(last->key), "%s", key);
	last->why = why;
}

/* --- whose key --- */

struct frame {
	char bytes[256];
	size_t length;
};

/* Frames of one message; more, and longer ones, are cut. 0: none is there. */
static unsigned receive(void *socket, struct frame *frames, unsigned most)
{
	unsigned count = 0;
	int more;

	do {
		struct frame rest = {.length = 0}, *f = count < most ? &frames[count] : &rest;
		size_t size = sizeof(more);
		int r = zmq_recv(socket, f->bytes, sizeof(f->bytes) - 1, ZMQ_DONTWAIT);

		if (r < 0) {
			return 0;
		}
		f->length = (size_t)r < sizeof(f->bytes) - 1 ? (size_t)r : sizeof(f->bytes) - 1;
		f->bytes[f->length] = '\0';
		count++;
		zmq_getsockopt(socket, ZMQ_RCVMORE, &more, &size);
	} while (more);
	return count;
}

static void zap_reply(void *zap, const struct frame *id, const char *code, const char *text,
		      const char *user)
{
	zmq_send(zap, "1.0", 3, ZMQ_SNDMORE | ZMQ_DONTWAIT);
	zmq_send(zap, id->bytes, id->length, ZMQ_SNDMORE | ZMQ_DONTWAIT);
	zmq_send(zap, code, strlen(code), ZMQ_SNDMORE | ZMQ_DONTWAIT);
	zmq_send(zap, text, strlen(text), ZMQ_SNDMORE | ZMQ_DONTWAIT);
	zmq_send(zap, user, strlen(user), ZMQ_SNDMORE | ZMQ_DONTWAIT);
	zmq_send(zap, "", 0, ZMQ_DONTWAIT);
}

/* Version, request id, domain, address, identity, mechanism, credentials. */
static bool zap_one(struct network *n)
{
	struct frame f[ZAP_FRAMES];
	unsigned count = receive(n->door.zap, f, ZAP_FRAMES);
	char key[ACCESS_KEY_TEXT] = "";

	if (count == 0) {
		return false;
	}
	if (count != ZAP_FRAMES || strcmp(f[5].bytes, "CURVE") != 0 || f[6].length != KEY_BYTES ||
	    !zmq_z85_encode(key, (const uint8_t *)f[6].bytes, KEY_BYTES)) {
		zap_reply(n->door.zap, &f[1], "400", "CURVE only", "");
		refuse(n, count > 3 ? f[3].bytes : "", "", "it does not encrypt (no CURVE)");
	} else if (access_list_find(&n->list, key)) {
		zap_reply(n->door.zap, &f[1], "200", "OK", key);
	} else {
		zap_reply(n->door.zap, &f[1], "400", "this key is not in the allow list", "");
		n->status.refused_key++;
		refuse(n, f[3].bytes, key, "its key is not in the allow list");
	}
	return true;
}

/* --- who comes and goes --- */

static bool port_of(int fd, bool peer, struct sockaddr_storage *ret_address, uint16_t *ret_port)
{
	socklen_t length = sizeof(*ret_address);
	struct sockaddr *address = (struct sockaddr *)ret_address;

	address->sa_family = AF_UNSPEC;
	if ((peer ? getpeername(fd, address, &length) : getsockname(fd, address, &length)) < 0) {
		return false;
	}
	if (address->sa_family == AF_INET) {
		*ret_port = ntohs(((struct sockaddr_in *)address)->sin_port);
	} else if (address->sa_family == AF_INET6) {
		*ret_port = ntohs(((struct sockaddr_in6 *)address)->sin6_port);
	} else {
		return false;
	}
	return true;
}

/* The descriptor is libzmq's, and may be closed by now or be another's. */
static bool is_ours(const struct network *n, int fd)
{
	struct sockaddr_storage address;
	uint16_t port;

	return fd >= 0 && port_of(fd, false, &address, &port) && port == n->door.port;
}

void door_cut(struct network *n, int fd)
{
	if (is_ours(n, fd)) {
		shutdown(fd, SHUT_RDWR);
	}
}

static void name_place(struct network *n, int fd, char *text, size_t size)
{
	struct sockaddr_storage address;
	char host[INET6_ADDRSTRLEN] = "";
	uint16_t port;

	text[0] = '\0';
	if (!is_ours(n, fd) || !port_of(fd, true, &address, &port)) {
		return;
	}
	if (address.ss_family == AF_INET) {
		inet_ntop(AF_INET, &((struct sockaddr_in *)&address)->sin_addr, host, sizeof(host));
	} else {
		inet_ntop(AF_INET6, &((struct sockaddr_in6 *)&address)->sin6_addr, host,
			  sizeof(host));
	}
	snprintf(text, size, "%s", host);
}

static void on_accepted(struct network *n, int fd)
{
	unsigned at = (unsigned)fd % DOOR_PLACES;

	n->status.accepted++;
	n->door.place[at].fd = fd;
	name_place(n, fd, n->door.place[at].address, sizeof(n->door.place[at].address));
	if (n->status.accepted - n->status.ended > NETWORK_CLIENTS) {
		n->status.crowded++;
		door_cut(n, fd);
	}
}

static void on_ended(struct network *n, int fd)
{
	unsigned at = (unsigned)fd % DOOR_PLACES;

	n->status.ended++;
	/* No message of a later connection with this descriptor has been taken by now: it would have had to ask
	 * at the door first, behind this news. */
	for (unsigned i = 0; i < NETWORK_CLIENTS; i++) {
		n->client[i].gone |= n->client[i].fd == fd;
	}
	if (n->door.failed) {
		refuse(n, n->door.place[at].fd == fd ? n->door.place[at].address : "", "",
		       n->door.failed);
		n->door.failed = NULL;
	}
}

static const char *failure(int reason)
{
	switch (reason) {
	case ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH:
		return "it does not encrypt (no CURVE)";
	case ZMQ_PROTOCOL_ERROR_ZMTP_CRYPTOGRAPHIC:
		return "it has not this server's public key, or is no CURVE client";
	default:
		return "it does not keep to ZeroMQ's handshake";
	}
}

static bool news_one(struct network *n)
{
	struct frame f[2];
	uint16_t event;
	int32_t value;

	if (receive(n->door.monitor, f, 2) == 0) {
		return false;
	}
	memcpy(&event, f[0].bytes, sizeof(event));
	memcpy(&value, f[0].bytes + sizeof(event), sizeof(value));
	switch (event) {
	case ZMQ_EVENT_ACCEPTED:
		on_accepted(n, value);
		break;
	case ZMQ_EVENT_HANDSHAKE_SUCCEEDED:
		n->status.admitted++;
		break;
	case ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL:
		n->door.failed = failure(value);
		break;
	case ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL:
		n->door.failed = "it has not ended ZeroMQ's handshake";
		break;
	case ZMQ_EVENT_DISCONNECTED:
		on_ended(n, value);
		break;
	default:
		break;
	}
	return true;
}

bool door_serve(struct network *n)
{
	bool zap = true, news = true;

	for (unsigned i = 0; i < ZAP_A_TURN && zap; i++) {
		zap = zap_one(n);
	}
	for (unsigned i = 0; i < NEWS_A_TURN && news; i++) {
		news = news_one(n);
	}
	return zap || news;
}

/* Connections old enough that were neither let in nor refused for a reason that libzmq told. */
void door_second(struct network *n)
{
	struct door *d = &n->door;
	uint64_t old = d->accepted[d->second % DOOR_BACK], other;

	d->accepted[d->second++ % DOOR_BACK] = n->status.accepted;
	if (old <= n->status.admitted + d->told) {
		return;
	}
	other = old - n->status.admitted - d->told;
	n->status.refused += other;
	d->told += other;
	n->status.last = (struct network_refusal){.why = "it speaks another protocol"};
}

/* --- life --- */

int door_open(struct network *n)
{
	struct door *d = &n->door;
	int all = ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_HANDSHAKE_SUCCEEDED |
		  ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL | ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL |
		  ZMQ_EVENT_DISCONNECTED,
	    zero = 0;

	d->zap = zmq_socket(n->context, ZMQ_REP);
	d->monitor = zmq_socket(n->context, ZMQ_PAIR);
	if (!d->zap || !d->monitor) {
		return -zmq_errno();
	}
	/* libzmq's thread waits for room in a monitor's pipe, whatever we do meanwhile. */
	zmq_setsockopt(d->monitor, ZMQ_RCVHWM, &zero, sizeof(zero));
	zmq_setsockopt(d->monitor, ZMQ_LINGER, &zero, sizeof(zero));
	zmq_setsockopt(d->zap, ZMQ_LINGER, &zero, sizeof(zero));
	if (zmq_bind(d->zap, ZAP_ENDPOINT) < 0 ||
	    zmq_socket_monitor(n->router, MONITOR_ENDPOINT, all) < 0 ||
	    zmq_connect(d->monitor, MONITOR_ENDPOINT) < 0) {
		return -zmq_errno();
	}
	return 0;
}

int door_bound(struct network *n)
{
	char endpoint[256] = "";
	size_t size = sizeof(endpoint);
	const char *port;

	if (zmq_getsockopt(n->router, ZMQ_LAST_ENDPOINT, endpoint, &size) < 0) {
		return -zmq_errno();
	}
	port = strrchr(endpoint, ':');
	n->door.port = port ? (uint16_t)strtoul(port + 1, NULL, 10) : 0;
	return 0;
}

void door_close(struct network *n)
{
	if (n->router) {
		zmq_socket_monitor(n->router, NULL, 0);
	}
	if (n->door.monitor) {
		zmq_close(n->door.monitor);
	}
	if (n->door.zap) {
		zmq_close(n->door.zap);
	}
}
