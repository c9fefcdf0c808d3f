/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Short messages of several frames on ZeroMQ's inproc sockets (ZAP, events of connections). */
#pragma once

#include <stddef.h>

struct zmq_frame {
	char bytes[256]; /* what is longer is cut; a 0 behind */
	size_t length;
};

/* How many frames the next message has; those beyond `most` are not kept. 0: there is none. Never waits. */
unsigned zmq_frames_take(void *socket, struct zmq_frame *frames, unsigned most);
