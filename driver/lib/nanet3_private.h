/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside libnanet3: a handle is a transport and what has been mapped through it.
 *
 *   nanet3.c  all public calls; everything that does not depend on the way in
 *   sock.c    the emulator's socket
 *   device.c  the character device
 */
#ifndef NANET3_PRIVATE_H
#define NANET3_PRIVATE_H

#include <stddef.h>

#include "driver/lib/libnanet3.h"

struct transport;

/* A way in. All functions return 0 or a negative errno; -ENODEV when the board is gone. */
struct transport_ops {
	/* Execute a request of driver/nanet3.h on its struct of `size` bytes, which it changes. */
	int (*request)(struct transport *t, uint32_t request, void *arg, size_t size);
	/* Map `bytes` of one of NANET3_MAP_*. */
	int (*map)(struct transport *t, uint64_t what, size_t bytes, bool writable, void **ret_p);
	/* Forget that events were signalled, before the queue is looked at. */
	void (*clear)(struct transport *t);
	/* Wait for a signal: 1, 0 on time-out. */
	int (*wait)(struct transport *t, int timeout_ms);
	int (*fd)(const struct transport *t);
	void (*close)(struct transport *t);
};

/* First member of each transport's own struct. */
struct transport {
	const struct transport_ops *ops;
};

int sock_open(const char *path, struct transport **ret_transport);
int device_open(const char *path, struct transport **ret_transport);

#endif
