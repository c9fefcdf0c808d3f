/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Receives a multipart ZeroMQ message from an inproc socket, without waiting: see zmq_frames.h. Used for ZAP
 * requests (zap.c) and for ZeroMQ's events of connections (door.c).
 */
#include "daemon/net/zmq_frames.h"

#include <zmq.h>

unsigned zmq_frames_take(void *socket, struct zmq_frame *frames, unsigned most)
{
	const size_t room = sizeof(frames[0].bytes) - 1;
	unsigned count = 0;
	int more;

	do {
		struct zmq_frame rest = {.length = 0}, *f = count < most ? &frames[count] : &rest;
		size_t size = sizeof(more);
		int r = zmq_recv(socket, f->bytes, room, ZMQ_DONTWAIT);

		if (r < 0) {
			return 0;
		}
		f->length = (size_t)r < room ? (size_t)r : room;
		f->bytes[f->length] = '\0';
		count++;
		zmq_getsockopt(socket, ZMQ_RCVMORE, &more, &size);
	} while (more);
	return count;
}
