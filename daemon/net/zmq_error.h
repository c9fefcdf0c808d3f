/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The errors of libzmq's calls as ours. */
#ifndef DAEMON_NET_ZMQ_ERROR_H
#define DAEMON_NET_ZMQ_ERROR_H

#include <errno.h>
#include <zmq.h>

/* The last failed call's negative errno; -EINVAL for a value of ZeroMQ's own, which strerror() does not know. */
static inline int zmq_error(void)
{
	int e = zmq_errno();

	return e > 0 && e < ZMQ_HAUSNUMERO ? -e : -EINVAL;
}

#endif
