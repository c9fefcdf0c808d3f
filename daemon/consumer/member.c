/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A member (one program of a group of reserved consumers) talks to the daemon: HELLO, WELCOME, ALIVE, ACK,
 * BYE, as schemas/fcm_data.h defines them. This file is the member's state machine:
 *
 *   CONNECTING --connected, HELLO sent--> ASKED --WELCOME--> MEMBER
 *   MEMBER     --unknown-member, too-slow: HELLO again-----> ASKED
 *   any state  --connection ends---------------------------> CONNECTING
 *   any state  --any other ERROR---------------------------> REFUSED (the end)
 *
 * Acknowledgements are sent as MEMBER only. ZeroMQ keeps what is written to a dead connection for the next
 * daemon, which would answer each with unknown-member. Such answers come before the WELCOME, so they are
 * ignored while ASKED. ALIVE is sent as ASKED, too: the daemon counts a member as alive from its HELLO on,
 * even when the program reads its WELCOME late (fcmdata_alive()).
 *
 * Each HELLO that arrives starts a membership and is answered by a WELCOME. The connection keeps the order:
 * what comes before a WELCOME belongs to the membership before.
 *
 * name-taken may be caused by this program's own old connection: when it broke without notice, the daemon
 * removes it only after a time of silence. HELLO is sent again until the time that the daemon names is over;
 * only then the state is REFUSED.
 */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "daemon/consumer/fcmdata_private.h"

#define ANSWER_MS 3000 /* without an answer to HELLO: say it again */
#define LOOK_MS	  50   /* between looks at the connection's events, while blocks come */
#define AGAIN_MS  1000 /* between HELLOs for the sake of damaged blocks */
#define TAKEN_MS  500  /* between HELLOs under a name that another has */
#define LEAVE_MS  10   /* for the BYE, before the socket is closed */

int64_t libfcmdata_now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int libfcmdata_events(void *socket)
{
	int events = 0;
	size_t size = sizeof(events);

	return zmq_getsockopt(socket, ZMQ_EVENTS, &events, &size) == 0 ? events : 0;
}

/* A signal must not leave half a message standing, which the next word would become a part of. */
static bool say_part(struct fcmdata *h, const void *bytes, size_t length, int flags)
{
	int r;

	do {
		r = zmq_send(h->socket, bytes, length, ZMQ_DONTWAIT | flags);
	} while (r < 0 && zmq_errno() == EINTR);
	return r >= 0;
}

/* `verb` and perhaps a body. Only the first part can find the pipe full: -EAGAIN. */
static int say(struct fcmdata *h, const char *verb, const void *body, size_t bytes)
{
	if (!say_part(h, verb, strlen(verb), body ? ZMQ_SNDMORE : 0) ||
	    (body && !say_part(h, body, bytes, 0))) {
		return -EAGAIN;
	}
	h->sent_ms = h->now_ms;
	return 0;
}

static void refuse(struct fcmdata *h, const char *error, const char *hint)
{
	snprintf(h->refusal, sizeof(h->refusal), "%.200s%s%.300s",
		 error ? error : "no reason given", hint ? ": " : "", hint ? hint : "");
	h->stats.state = FCMDATA_REFUSED;
}

void libfcmdata_member_refuse_version(struct fcmdata *h, const char *does, int64_t version)
{
	char hint[160];

	snprintf(hint, sizeof(hint),
		 "the daemon %s %" PRId64
		 ", this library reads %u: install the daemon's libfcmdata",
		 does, version, FCM_BLOCK_VERSION);
	refuse(h, "version", hint);
}

static void say_hello(struct fcmdata *h)
{
	h->stats.state = FCMDATA_ASKED;
	h->asked = say(h, "HELLO", h->hello, strlen(h->hello)) == 0;
	h->stats.hellos += h->asked;
	h->asked_ms = h->now_ms;
}

static void on_connected(struct fcmdata *h)
{
	h->stats.connections++;
	if (h->mode == FCMDATA_MONITOR) {
		h->stats.state = FCMDATA_MEMBER;
	} else {
		say_hello(h);
	}
}

/* One event of the connection: number and value, then the endpoint. */
static bool take_event(struct fcmdata *h)
{
	uint8_t event[6] = {0}, endpoint[1];
	uint16_t number;
	int32_t value;

	if (zmq_recv(h->events, event, sizeof(event), ZMQ_DONTWAIT) < 0) {
		return false;
	}
	while (zmq_recv(h->events, endpoint, sizeof(endpoint), ZMQ_DONTWAIT) < 0 &&
	       zmq_errno() == EINTR) {
		/* a signal: it is there, and must not be taken for the next number */
	}
	memcpy(&number, event, sizeof(number));
	memcpy(&value, event + sizeof(number), sizeof(value));
	if (h->stats.state == FCMDATA_REFUSED) {
		return true;
	}
	h->stats.failed_handshakes += number == ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL ||
				      number == ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL;
	if (number == ZMQ_EVENT_HANDSHAKE_SUCCEEDED) {
		on_connected(h);
	} else if (number == ZMQ_EVENT_DISCONNECTED) {
		h->stats.state = FCMDATA_CONNECTING;
	} else if (number == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH) {
		refuse(h, "key-refused",
		       "the daemon's allow list does not have this key for this door");
	} else if (number == ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL &&
		   value == ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH) {
		refuse(h, "keys",
		       h->keys ? "this daemon does not encrypt: leave server_key and key_file out"
			       : "this daemon encrypts: give server_key and key_file");
	}
	return true;
}

int libfcmdata_member_flush(struct fcmdata *h)
{
	int r;

	if (h->acks == 0) {
		return 0;
	}
	if (h->stats.state != FCMDATA_MEMBER) {
		return -ENOTCONN;
	}
	r = say(h, "ACK", h->ack, h->acks * sizeof(h->ack[0]));
	if (r == 0) {
		h->stats.acknowledged += h->acks;
		h->acks = 0;
	}
	return r;
}

/* Again, only when no answer came: where something waits it may be the answer, and each HELLO more makes
 * the daemon send all blocks in flight once more. */
static bool hello_due(const struct fcmdata *h)
{
	int64_t since_ms = h->now_ms - h->asked_ms;

	if (h->stats.state == FCMDATA_ASKED && h->taken_ms) {
		return since_ms >= TAKEN_MS;
	}
	if (h->stats.state == FCMDATA_ASKED) {
		return !h->asked ||
		       (since_ms >= ANSWER_MS && !(libfcmdata_events(h->socket) & ZMQ_POLLIN));
	}
	return h->stats.state == FCMDATA_MEMBER && h->hello_again && since_ms >= AGAIN_MS;
}

void libfcmdata_member_serve(struct fcmdata *h)
{
	h->now_ms = libfcmdata_now_ms();
	if (h->now_ms - h->looked_ms >= LOOK_MS) {
		h->looked_ms = h->now_ms;
		while (take_event(h)) {
			/* all of them: they say what the connection's state is */
		}
	}
	if (h->mode == FCMDATA_MONITOR) {
		return;
	}
	if (hello_due(h)) {
		say_hello(h);
	}
	if ((h->stats.state == FCMDATA_MEMBER || (h->stats.state == FCMDATA_ASKED && h->asked)) &&
	    h->now_ms - h->sent_ms >= LIBFCMDATA_ALIVE_MS &&
	    (h->acks == 0 || libfcmdata_member_flush(h) < 0)) {
		(void)say(h, "ALIVE", NULL, 0);
	}
}

/* Members of the object that this version does not know are passed over. */
static bool speaks_our_protocol(struct fcmdata *h, const void *text, size_t bytes)
{
	json_t *root = json_loadb(text, bytes, 0, NULL);
	const json_t *protocol = json_object_get(root, "protocol");
	json_int_t said = protocol ? json_integer_value(protocol) : FCM_BLOCK_VERSION;

	json_decref(root);
	if (said != FCM_BLOCK_VERSION) {
		libfcmdata_member_refuse_version(h, "speaks protocol", said);
	}
	return said == FCM_BLOCK_VERSION;
}

/* Acknowledgements that wait are of the membership that has ended: what they name comes again. */
void libfcmdata_member_welcome(struct fcmdata *h, const void *text, size_t bytes)
{
	h->stats.welcomes++;
	if (!speaks_our_protocol(h, text, bytes)) {
		return;
	}
	h->acks = 0;
	h->taken_ms = 0;
	libfcmdata_tracks_restart(h->tracks);
	if (h->stats.state == FCMDATA_ASKED) {
		h->stats.state = FCMDATA_MEMBER;
		h->hello_again = false;
	}
}

/* The daemon says within which time the name is free if it was ours. */
static void name_taken(struct fcmdata *h, const char *error, const char *hint, int64_t retry_ms)
{
	h->taken_ms = h->taken_ms ? h->taken_ms : h->now_ms;
	if (h->now_ms - h->taken_ms > retry_ms + 2 * TAKEN_MS) {
		refuse(h, error, hint);
	}
}

void libfcmdata_member_error(struct fcmdata *h, const void *text, size_t bytes)
{
	json_t *root = json_loadb(text, bytes, 0, NULL);
	const char *error = json_string_value(json_object_get(root, "error"));
	const char *hint = json_string_value(json_object_get(root, "hint"));

	if (error && (strcmp(error, "unknown-member") == 0 || strcmp(error, "too-slow") == 0)) {
		h->stats.too_slow += error[0] == 't';
		if (h->stats.state == FCMDATA_MEMBER) {
			say_hello(h);
		}
	} else if (error && strcmp(error, "name-taken") == 0) {
		name_taken(h, error, hint, json_integer_value(json_object_get(root, "retry_ms")));
	} else {
		refuse(h, error, hint);
	}
	json_decref(root);
}

/* A socket that is closed while its last word leaves loses the memory of the message that is half in: libzmq 4.3.4
 * deletes that pipe without pipe_t::rollback(). */
void libfcmdata_member_bye(struct fcmdata *h)
{
	if (h->mode == FCMDATA_RESERVED && h->stats.state == FCMDATA_MEMBER) {
		(void)libfcmdata_member_flush(h);
		(void)say(h, "BYE", NULL, 0);
		poll(NULL, 0, LEAVE_MS);
	}
}
