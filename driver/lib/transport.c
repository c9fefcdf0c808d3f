/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libnanet3's two transports. On the character device /dev/nanet3-N requests are ioctls, mappings
 * are offsets, and the descriptor polls readable while the handle's queue is not empty.
 *
 * The emulator's socket (driver/nanet3_socket.h) answers the same requests: one packet out, one packet
 * back. Descriptors to map come with the answer (SCM_RIGHTS), and an eventfd signals events. An epoll
 * descriptor joins eventfd and socket, so that the end of the emulator wakes a waiter, too.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "driver/lib/nanet3_private.h"
#include "driver/nanet3_socket.h"

/* An emulator that hangs must not block its readers for longer than their watchdog allows. */
#define ANSWER_S       3
#define FIRST_ANSWER_S 2 /* at the opening, which is tried again and again */

/* ------------------------------------------------------------------------ packets */

static int receive(struct transport *t, struct nanet3_sock_head *ret_head, void *arg, size_t size,
		   int *ret_fd)
{
	struct iovec iov[2] = {{ret_head, sizeof(*ret_head)}, {arg, size}};
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct msghdr msg = {.msg_iov = iov,
			     .msg_iovlen = 2,
			     .msg_control = control.bytes,
			     .msg_controllen = sizeof(control.bytes)};
	const struct cmsghdr *c;
	ssize_t n;

	do {
		n = recvmsg(t->fd, &msg, MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	if (n <= 0) {
		return -ENODEV;
	}
	c = CMSG_FIRSTHDR(&msg);
	if (c != NULL && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS) {
		size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		memcpy(ret_fd, CMSG_DATA(c), sizeof(*ret_fd));
		/* Aligned as it is, there is room for more than the one that belongs there. */
		for (size_t i = 1; i < count; i++) {
			int more;

			memcpy(&more, CMSG_DATA(c) + i * sizeof(int), sizeof(more));
			close(more);
		}
	}
	if ((size_t)n < sizeof(*ret_head) || msg.msg_flags & MSG_TRUNC ||
	    (size_t)n != sizeof(*ret_head) + ret_head->size) {
		return -EPROTO;
	}
	return 0;
}

static bool is_info(uint32_t request)
{
	return NANET3_REQUEST(request) == NANET3_REQUEST(NANET3_IOC_INFO);
}

/* One exchange. *ret_fd is -1 or the descriptor that came along. */
static int exchange(struct transport *t, uint32_t request, void *arg, size_t size, int *ret_fd)
{
	struct nanet3_sock_head head = {.request = request, .size = (uint32_t)size};
	struct iovec iov[2] = {{&head, sizeof(head)}, {arg, size}};
	struct msghdr msg = {.msg_iov = iov, .msg_iovlen = 2};
	ssize_t n;
	int r;

	head.flags = is_info(request) ? t->info_flags : 0;
	*ret_fd = -1;
	if (t->gone) {
		return -ENODEV;
	}
	do {
		n = sendmsg(t->fd, &msg, MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	r = n < 0 ? -ENODEV : receive(t, &head, arg, size, ret_fd);
	if (r == 0 && (head.request != request || head.result > 0 ||
		       (head.result == 0 && head.size != size))) {
		r = -EPROTO;
	}
	if (r < 0) {
		t->gone = true;
		return r;
	}
	return head.result;
}

/* A request that brings a descriptor on success. */
static int exchange_fd(struct transport *t, uint32_t request, void *arg, size_t size, int *ret_fd)
{
	int fd, r = exchange(t, request, arg, size, &fd);

	if (r == 0 && fd < 0) {
		return -EPROTO;
	}
	if (r < 0) {
		if (fd >= 0) {
			close(fd);
		}
		return r;
	}
	*ret_fd = fd;
	return 0;
}

/* ------------------------------------------------------------------------ the socket */

static int watch(struct transport *t, int fd, uint32_t events)
{
	struct epoll_event ev = {.events = events, .data.fd = fd};

	return epoll_ctl(t->poll_fd, EPOLL_CTL_ADD, fd, &ev) != 0 ? -errno : 0;
}

static int be_patient(struct transport *t, int seconds)
{
	const struct timeval limit = {.tv_sec = seconds};

	if (setsockopt(t->fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) != 0 ||
	    setsockopt(t->fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) != 0) {
		return -errno;
	}
	return 0;
}

/* INFO is also how the queue's eventfd comes. */
static int sock_info(struct transport *t, uint32_t code, void *arg, size_t size)
{
	int fd, r = exchange_fd(t, code, arg, size, &fd);

	if (r < 0) {
		return r;
	}
	if (t->event_fd >= 0) {
		close(fd); /* the same as before */
		return 0;
	}
	t->event_fd = fd;
	r = be_patient(t, ANSWER_S);
	return r < 0 ? r : watch(t, fd, EPOLLIN);
}

/* A descriptor to map, the caller's to close, and the offset in it. */
static int sock_map(struct transport *t, uint64_t what, size_t bytes, bool writable, int *ret_fd,
		    uint64_t *ret_offset)
{
	struct nanet3_sock_map map = {.what = what};
	int fd, r = exchange_fd(t, NANET3_SOCK_MAP, &map, sizeof(map), &fd);

	if (r < 0) {
		return r;
	}
	if (map.bytes < bytes || (writable && !map.writable)) {
		close(fd);
		return -EPROTO;
	}
	*ret_fd = fd;
	*ret_offset = map.offset;
	return 0;
}

static int sock_open(struct transport *t, const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int r;

	if (strlen(path) >= sizeof(address.sun_path)) {
		return -ENAMETOOLONG;
	}
	memcpy(address.sun_path, path, strlen(path));
	t->poll_fd = epoll_create1(EPOLL_CLOEXEC);
	t->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (t->poll_fd < 0 || t->fd < 0 ||
	    connect(t->fd, (const struct sockaddr *)&address, sizeof(address)) != 0) {
		return -errno;
	}
	r = watch(t, t->fd, EPOLLRDHUP);
	return r == 0 ? be_patient(t, FIRST_ANSWER_S) : r;
}

/* ------------------------------------------------------------------------ either */

static bool is_socket(const struct transport *t)
{
	return t->poll_fd != t->fd;
}

int libnanet3_transport_open(struct transport *t, const char *where, bool read_only)
{
	*t = (struct transport){.fd = -1, .event_fd = -1, .poll_fd = -1};
	if (strncmp(where, "unix:", 5) == 0) {
		t->info_flags = read_only ? NANET3_SOCK_READ_ONLY : 0;
		return sock_open(t, where + 5);
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
	int fd, r;

	if (!is_socket(t)) {
		return ioctl(t->fd, code, arg) < 0 ? -errno : 0; /* the size is in the code */
	}
	if (is_info(code)) {
		return sock_info(t, code, arg, size);
	}
	r = exchange(t, code, arg, size, &fd);
	if (fd >= 0) {
		close(fd);
	}
	return r;
}

int libnanet3_map(struct nanet3 *b, uint64_t what, size_t bytes, bool writable, void **ret_p)
{
	struct transport *t = &b->transport;
	uint64_t offset = what;
	int r, fd = t->fd;
	void *p;

	if (is_socket(t)) {
		r = sock_map(t, what, bytes, writable, &fd, &offset);
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

	/* Non-blocking; the device's readiness follows the queue. */
	if (b->transport.event_fd >= 0) {
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

/* The emulator reads and writes registered buffers with process_vm_readv(2). Where Yama is in force we
 * must allow that by name: one name per process, the last one counts. It is not taken back, because
 * another handle's buffers may still need it. The kernel's driver pins what it is given. */
int libnanet3_expose(struct nanet3 *b)
{
	struct ucred peer;
	socklen_t length = sizeof(peer);

	if (!is_socket(&b->transport)) {
		return 0;
	}
	if (getsockopt(b->transport.fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) {
		return -errno;
	}
	/* EINVAL: no Yama, nothing to allow. */
	return prctl(PR_SET_PTRACER, (unsigned long)peer.pid, 0, 0, 0) != 0 && errno != EINVAL
		       ? -errno
		       : 0;
}
