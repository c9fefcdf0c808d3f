/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See monitor.h. */
#include "slowctl/fcmctl/core/monitor.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zmq.h>

#include "slowctl/fcmctl/show/value.h"
#include "slowctl/access/keyfile.h"

#define EVENTS "inproc://events"
#define QUEUED 2000 /* messages: some seconds of a floor */

/* Where one connects to what the daemon has bound (tcp, every address): here. */
static void connect_address(const char *bound, char *buf, size_t size)
{
	static const char *const any[] = {"tcp://*:", "tcp://0.0.0.0:"};

	for (size_t i = 0; i < 2; i++) {
		if (strncmp(bound, any[i], strlen(any[i])) == 0) {
			snprintf(buf, size, "tcp://127.0.0.1:%s", bound + strlen(any[i]));
			return;
		}
	}
	snprintf(buf, size, "%s", bound);
}

static int encrypt(struct ctl *ctl, const struct ctl_args *args, const char *server_key,
		   void *socket)
{
	const char *file = ctl_given(args, CTL_KEY) ? args->text[CTL_KEY] : getenv("FCM_KEY");
	char secret[ACCESS_KEY_TEXT], public[ACCESS_KEY_TEXT];
	struct sc_error error = {0};
	int r;

	if (!file) {
		return ctl_fail(ctl, CTL_NOT, "refused",
				"--key FILE, of fcmctl key make NAME monitor, whose line stands in "
				"the daemon's allow list",
				"this daemon encrypts its data");
	}
	if (keyfile_read(file, secret, public, &error) < 0) {
		return ctl_fail(ctl, CTL_NOT, error.code, error.hint, "%s", error.message);
	}
	r = zmq_setsockopt(socket, ZMQ_CURVE_SERVERKEY, server_key, strlen(server_key) + 1);
	r |= zmq_setsockopt(socket, ZMQ_CURVE_PUBLICKEY, public, sizeof(public));
	r |= zmq_setsockopt(socket, ZMQ_CURVE_SECRETKEY, secret, sizeof(secret));
	explicit_bzero(secret, sizeof(secret));
	return r < 0 ? ctl_fail(ctl, CTL_NOT, "failed", "", "keys: %s", zmq_strerror(errno))
		     : CTL_DONE;
}

/* Its context is its own: no other socket has this name for its news. */
static int connect_to(struct ctl_monitor *m, const char *topic)
{
	m->events = zmq_socket(m->context, ZMQ_PAIR);
	if (m->events == NULL ||
	    zmq_setsockopt(m->socket, ZMQ_SUBSCRIBE, topic, strlen(topic)) != 0 ||
	    zmq_socket_monitor(m->socket, EVENTS,
			       ZMQ_EVENT_HANDSHAKE_FAILED_AUTH |
				       ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL) != 0 ||
	    zmq_connect(m->events, EVENTS) != 0 || zmq_connect(m->socket, m->endpoint) != 0) {
		return -errno;
	}
	return 0;
}

int ctl_monitor_open(struct ctl *ctl, const struct ctl_args *args, const json_t *where,
		     const char *topic, struct ctl_monitor *m)
{
	const char *server_key = json_string_value(json_object_get(where, "public_key"));
	const int hwm = QUEUED, none = 0;
	int r;

	*m = (struct ctl_monitor){0};
	connect_address(value_string(where, "monitor_endpoint", ""), m->endpoint,
			sizeof(m->endpoint));
	if (*m->endpoint == '\0') {
		return ctl_fail(ctl, CTL_NOT, "refused",
				"set monitor_endpoint in [data] of the configuration",
				"this daemon serves no monitors");
	}
	m->context = zmq_ctx_new();
	m->socket = m->context != NULL ? zmq_socket(m->context, ZMQ_SUB) : NULL;
	if (m->socket == NULL || zmq_setsockopt(m->socket, ZMQ_RCVHWM, &hwm, sizeof(hwm)) != 0 ||
	    zmq_setsockopt(m->socket, ZMQ_LINGER, &none, sizeof(none)) != 0) {
		return ctl_fail(ctl, CTL_NOT, "internal", "", "%s", zmq_strerror(errno));
	}
	r = server_key != NULL ? encrypt(ctl, args, server_key, m->socket) : CTL_DONE;
	if (r != CTL_DONE) {
		return r;
	}
	r = connect_to(m, topic);
	return r == 0 ? CTL_DONE
		      : ctl_fail(ctl, CTL_NOT, "failed",
				 "is the endpoint right? fcmctl --json status",
				 "cannot listen to %s: %s", m->endpoint, zmq_strerror(-r));
}

int ctl_monitor_look(struct ctl *ctl, struct ctl_monitor *m)
{
	uint8_t event[6], endpoint[1];
	uint16_t number;

	if (zmq_recv(m->events, event, sizeof(event), ZMQ_DONTWAIT) < 0) {
		return CTL_DONE;
	}
	zmq_recv(m->events, endpoint, sizeof(endpoint), ZMQ_DONTWAIT);
	memcpy(&number, event, sizeof(number));
	return ctl_fail(ctl, CTL_NOT, "refused",
			number == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH
				? "a line of fcmctl key make NAME monitor in its allow list, then "
				  "reload it"
				: "does another program listen there? fcmctl --json status",
			"%s does not let this key in", m->endpoint);
}

void ctl_monitor_close(struct ctl_monitor *m)
{
	if (m->events != NULL) {
		zmq_socket_monitor(m->socket, NULL, 0);
		zmq_close(m->events);
	}
	if (m->socket != NULL) {
		zmq_close(m->socket);
	}
	if (m->context != NULL) {
		zmq_ctx_term(m->context);
	}
}
