/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Answers ZeroMQ's authentication requests (ZAP, RFC 27) for the CURVE sockets of one context: the caller's judge
 * function accepts or refuses each client's public key.
 */
#include "daemon/net/zap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

#include "daemon/net/zmq_error.h"
#include "daemon/net/zmq_frames.h"

#define DOMAIN	  "fcm-server" /* one for all sockets: each context has its own judge */
#define ENDPOINT  "inproc://zeromq.zap.01"
#define FRAMES	  7u
#define A_TURN	  32u
#define KEY_BYTES 32u

struct zap {
	void *socket;
	zap_judge_fn judge;
	void *context;
};

int zap_open(void *zmq_context, zap_judge_fn judge, void *context, struct zap **ret_zap)
{
	struct zap *z = calloc(1, sizeof(*z));
	const int zero = 0;
	int r;

	if (!z) {
		return -ENOMEM;
	}
	z->judge = judge;
	z->context = context;
	z->socket = zmq_socket(zmq_context, ZMQ_REP);
	if (!z->socket || zmq_setsockopt(z->socket, ZMQ_LINGER, &zero, sizeof(zero)) < 0 ||
	    zmq_bind(z->socket, ENDPOINT) < 0) {
		r = zmq_error();
		zap_close(z);
		return r;
	}
	*ret_zap = z;
	return 0;
}

int zap_guard(void *socket, const char *secret)
{
	const int one = 1;
	int r = zmq_setsockopt(socket, ZMQ_CURVE_SERVER, &one, sizeof(one));

	r |= zmq_setsockopt(socket, ZMQ_CURVE_SECRETKEY, secret, ACCESS_KEY_TEXT);
	r |= zmq_setsockopt(socket, ZMQ_ZAP_DOMAIN, DOMAIN, strlen(DOMAIN));
	return r < 0 ? zmq_error() : 0;
}

void *zap_socket(struct zap *z)
{
	return z->socket;
}

static void reply(struct zap *z, const struct zmq_frame *id, const char *why, const char *user)
{
	const struct {
		const char *bytes;
		size_t length;
	} part[] = {
		{"1.0", 3},
		{id->bytes, id->length},
		{why ? "400" : "200", 3},
		{why ? why : "OK", strlen(why ? why : "OK")},
		{user, strlen(user)},
		{"", 0},
	};
	const unsigned last = sizeof(part) / sizeof(part[0]) - 1;

	for (unsigned i = 0; i <= last; i++) {
		zmq_send(z->socket, part[i].bytes, part[i].length,
			 ZMQ_DONTWAIT | (i < last ? ZMQ_SNDMORE : 0));
	}
}

/* Version, request id, domain, address, identity, mechanism, credentials. */
static bool serve_one(struct zap *z)
{
	struct zmq_frame f[FRAMES] = {0};
	unsigned count = zmq_frames_take(z->socket, f, FRAMES);
	char key[ACCESS_KEY_TEXT] = "";
	const char *why;

	if (count == 0) {
		return false;
	}
	if (count != FRAMES) {
		reply(z, &f[1], "a malformed request", "");
		return true;
	}
	if (strcmp(f[5].bytes, "CURVE") != 0 || f[6].length != KEY_BYTES ||
	    !zmq_z85_encode(key, (const uint8_t *)f[6].bytes, KEY_BYTES)) {
		key[0] = '\0';
	}
	why = z->judge(z->context, f[3].bytes, key);
	reply(z, &f[1], why, why ? "" : key);
	return true;
}

bool zap_serve(struct zap *z)
{
	bool any = true;

	for (unsigned i = 0; i < A_TURN && any; i++) {
		any = serve_one(z);
	}
	return any;
}

void zap_close(struct zap *z)
{
	if (!z) {
		return;
	}
	if (z->socket) {
		zmq_close(z->socket);
	}
	free(z);
}
