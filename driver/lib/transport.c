/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libnanet3's way in through the character device /dev/nanet3-N: requests are ioctls, mappings are
 * offsets, the descriptor polls readable while the handle's queue is not empty.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "driver/lib/nanet3_private.h"

struct device {
	struct transport base;
	int fd;
};

static int device_request(struct transport *t, uint32_t request, void *arg, size_t size)
{
	(void)size; /* is in the code */
	return ioctl(((struct device *)t)->fd, request, arg) < 0 ? -errno : 0;
}

static int device_map(struct transport *t, uint64_t what, size_t bytes, bool writable, void **ret_p)
{
	void *p = mmap(NULL, bytes, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED,
		       ((struct device *)t)->fd, (off_t)what);

	if (p == MAP_FAILED) {
		return -errno;
	}
	*ret_p = p;
	return 0;
}

static void device_clear(struct transport *t)
{
	(void)t; /* readiness follows the queue */
}

static int device_wait(struct transport *t, int timeout_ms)
{
	struct pollfd p = {.fd = ((struct device *)t)->fd, .events = POLLIN};
	int n = poll(&p, 1, timeout_ms);

	if (n <= 0) {
		return n < 0 ? -errno : 0;
	}
	return p.revents & POLLIN ? 1 : -ENODEV;
}

static int device_expose(struct transport *t)
{
	(void)t; /* the driver pins what it is given */
	return 0;
}

static int device_fd(const struct transport *t)
{
	return ((const struct device *)t)->fd;
}

static void device_close(struct transport *t)
{
	close(((struct device *)t)->fd);
	free(t);
}

static const struct transport_ops device_ops = {
	.request = device_request,
	.map = device_map,
	.clear = device_clear,
	.wait = device_wait,
	.expose = device_expose,
	.fd = device_fd,
	.close = device_close,
};

int libnanet3_device_open(const char *path, bool read_only, struct transport **ret_transport)
{
	struct device *d = calloc(1, sizeof(*d));
	int r;

	if (d == NULL) {
		return -ENOMEM;
	}
	d->base.ops = &device_ops;
	d->fd = open(path, (read_only ? O_RDONLY : O_RDWR) | O_CLOEXEC);
	if (d->fd < 0) {
		r = -errno;
		free(d);
		return r;
	}
	*ret_transport = &d->base;
	return 0;
}
