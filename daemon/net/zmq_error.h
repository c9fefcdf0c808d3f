/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls of libzmq with errors as negative errno. */
#pragma once

#include <errno.h>
#include <stdint.h>
#include <zmq.h>

/* The last failed call's negative errno; -EINVAL for a value of ZeroMQ's own, which strerror() does not know. */
static inline int zmq_error(void)
{
	int e = zmq_errno();

	return e > 0 && e < ZMQ_HAUSNUMERO ? -e : -EINVAL;
}

struct zmq_number {
	int option, value;
};

/* Options of a socket that is not bound yet, and how many bytes a message of a peer may have at most. */
static inline int zmq_set_numbers(void *socket, const struct zmq_number *options, unsigned count,
				  int64_t message_max)
{
	for (unsigned i = 0; i < count; i++) {
		if (zmq_setsockopt(socket, options[i].option, &options[i].value, sizeof(int)) < 0) {
			return zmq_error();
		}
	}
	return zmq_setsockopt(socket, ZMQ_MAXMSGSIZE, &message_max, sizeof(message_max)) < 0
		       ? zmq_error()
		       : 0;
}
