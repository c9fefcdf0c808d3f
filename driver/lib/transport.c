/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libnanet3's two transports. On the character device /dev/nanet3-N requests are ioctls, mappings
 * are offsets, and the descriptor polls readable while the handle's queue is not empty. The
 * emulator's socket (sock.c) answers the same requests; descriptors to map come with the answer,
 * and an eventfd is signalled instead.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "driver/lib/nanet3_private.h"
#include "driver/nanet3_socket.h"

static bool is_socket(const struct transport *t)
{
	return t->poll_fd != t->fd;
}

int libnanet3_transport_open(struct transport *t, const char *where, bool read_only)
{
	*t = (struct transport){.fd = -1, .event_fd = -1, .poll_fd = -1};
	if (strncmp(where, "unix:", 5) == 0) {
		t->info_flags = read_only ? NANET3_SOCK_READ_ONLY : 0;
		return libnanet3_sock_open(t, where + 5);
	}
	t->fd = t->poll_fd = open(where, (read_only ? O_RDONLY : O_RDWR) | O_CLOEXEC);
	return t->fd < 0 ? -errno : 0;
}

void libnanet3_transport_close(struct transport *t)
{
	if (is_socket(t) && t->poll_fd >= 0) {
		close(t->poll_fd);
	}
	if (t->event_fd >= 0) {
		close(t->event_fd);
	}
	if (t->fd >= 0) {
		close(t->fd);
	}
}

int libnanet3_request(struct nanet3 *b, uint32_t code, void *arg, size_t size)
{
	struct transport *t = &b->transport;

	if (is_socket(t)) {
		return libnanet3_sock_request(t, code, arg, size);
	}
	return ioctl(t->fd, code, arg) < 0 ? -errno : 0; /* the size is in the code */
}

int libnanet3_map(struct nanet3 *b, uint64_t what, size_t bytes, bool writable, void **ret_p)
{
	struct transport *t = &b->transport;
	uint64_t offset = what;
	int r, fd = t->fd;
	void *p;

	if (is_socket(t)) {
		r = libnanet3_sock_map(t, what, bytes, writable, &fd, &offset);
		if (r < 0) {
			return r;
		}
	}
	p = mmap(NULL, bytes, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, fd,
		 (off_t)offset);
	r = p == MAP_FAILED ? -errno : 0;
	if (is_socket(t)) {
		close(fd);
	}
	if (r == 0) {
		*ret_p = p;
	}
	return r;
}

void libnanet3_clear(struct nanet3 *b)
{
	uint64_t count;

	if (b->transport.event_fd >=
	    0) { /* non-blocking; the device's readiness follows the queue */
		(void)!read(b->transport.event_fd, &count, sizeof(count));
	}
}

int libnanet3_wait(struct nanet3 *b, int timeout_ms)
{
	struct transport *t = &b->transport;
	struct pollfd p[2] = {{.fd = is_socket(t) ? t->event_fd : t->fd, .events = POLLIN},
			      {.fd = is_socket(t) ? t->fd : -1, .events = POLLRDHUP}};
	int n;

	if (t->gone) {
		return -ENODEV;
	}
	n = poll(p, 2, timeout_ms);
	if (n <= 0) {
		return n < 0 ? -errno : 0;
	}
	if (p[0].revents & POLLIN) {
		return 1;
	}
	t->gone = is_socket(t);
	return -ENODEV;
}

int libnanet3_expose(struct nanet3 *b)
{
	/* The kernel's driver pins what it is given. */
	return is_socket(&b->transport) ? libnanet3_sock_expose(&b->transport) : 0;
}
