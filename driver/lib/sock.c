/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libnanet3's way in through the emulator's socket (driver/nanet3_socket.h): one packet out, one
 * packet back; descriptors come along by SCM_RIGHTS. An epoll descriptor joins the queue's eventfd
 * and the socket, so that the board's end wakes a waiter too.
 *
 * Once an exchange has failed in the middle, or was not answered in time, the socket is of no use: the
 * board counts as gone.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "driver/lib/nanet3_private.h"
#include "driver/nanet3_socket.h"

/* An emulator that stands still must not hold its readers longer than a watchdog bears. */
#define ANSWER_S       3
#define FIRST_ANSWER_S 2 /* at the opening, which is tried again and again */

struct sock {
	struct transport base;
	int fd, event_fd, epoll_fd;
	uint32_t info_flags; /* NANET3_SOCK_READ_ONLY or 0 */
	bool gone;
};

/* ------------------------------------------------------------------------ packets */

static void take_descriptor(struct msghdr *msg, int *ret_fd)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c != NULL; c = CMSG_NXTHDR(msg, c)) {
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
		    c->cmsg_len == CMSG_LEN(sizeof(int))) {
			memcpy(ret_fd, CMSG_DATA(c), sizeof(*ret_fd));
			return;
		}
	}
}

static int receive(struct sock *s, struct nanet3_sock_head *ret_head, void *arg, size_t size,
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
	ssize_t n;

	do {
		n = recvmsg(s->fd, &msg, MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	if (n <= 0) {
		return -ENODEV;
	}
	take_descriptor(&msg, ret_fd);
	if ((size_t)n < sizeof(*ret_head) || msg.msg_flags & MSG_TRUNC ||
	    (size_t)n != sizeof(*ret_head) + ret_head->size) {
		return -EPROTO;
	}
	return 0;
}

/* One exchange. *ret_fd is -1 or the descriptor that came along. */
static int exchange(struct sock *s, uint32_t request, void *arg, size_t size, int *ret_fd)
{
	struct nanet3_sock_head head = {.request = request, .size = (uint32_t)size};
	struct iovec iov[2] = {{&head, sizeof(head)}, {arg, size}};
	struct msghdr msg = {.msg_iov = iov, .msg_iovlen = 2};
	ssize_t n;
	int r;

	head.flags = request == NANET3_IOC_INFO ? s->info_flags : 0;
	*ret_fd = -1;
	if (s->gone) {
		return -ENODEV;
	}
	do {
		n = sendmsg(s->fd, &msg, MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	r = n < 0 ? -ENODEV : receive(s, &head, arg, size, ret_fd);
	if (r == 0 && (head.request != request || head.result > 0 ||
		       (head.result == 0 && head.size != size))) {
		r = -EPROTO;
	}
	if (r < 0) {
		s->gone = true;
		return r;
	}
	return head.result;
}

/* A request that brings a descriptor on success. */
static int exchange_fd(struct sock *s, uint32_t request, void *arg, size_t size, int *ret_fd)
{
	int fd, r = exchange(s, request, arg, size, &fd);

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

/* ------------------------------------------------------------------------ transport */

static int watch(struct sock *s, int fd, uint32_t events)
{
	struct epoll_event ev = {.events = events, .data.fd = fd};

	return epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, fd, &ev) != 0 ? -errno : 0;
}

static int be_patient(struct sock *s, int seconds)
{
	const struct timeval t = {.tv_sec = seconds};

	if (setsockopt(s->fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t)) != 0 ||
	    setsockopt(s->fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof(t)) != 0) {
		return -errno;
	}
	return 0;
}

/* INFO is also how the queue's eventfd comes. */
static int sock_info(struct sock *s, void *arg, size_t size)
{
	int fd, r = exchange_fd(s, NANET3_IOC_INFO, arg, size, &fd);

	if (r < 0) {
		return r;
	}
	if (s->event_fd >= 0) {
		close(fd); /* the same as before */
		return 0;
	}
	s->event_fd = fd;
	r = be_patient(s, ANSWER_S);
	return r < 0 ? r : watch(s, fd, EPOLLIN);
}

static int sock_request(struct transport *t, uint32_t request, void *arg, size_t size)
{
	struct sock *s = (struct sock *)t;
	int fd, r;

	if (request == NANET3_IOC_INFO) {
		return sock_info(s, arg, size);
	}
	r = exchange(s, request, arg, size, &fd);
	if (fd >= 0) {
		close(fd);
	}
	return r;
}

static int sock_map(struct transport *t, uint64_t what, size_t bytes, bool writable, void **ret_p)
{
	struct sock *s = (struct sock *)t;
	struct nanet3_sock_map map = {.what = what};
	int fd, r = exchange_fd(s, NANET3_SOCK_MAP, &map, sizeof(map), &fd);
	void *p;

	if (r < 0) {
		return r;
	}
	if (map.bytes < bytes || (writable && !map.writable)) {
		close(fd);
		return -EPROTO;
	}
	p = mmap(NULL, bytes, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, fd,
		 (off_t)map.offset);
	r = p == MAP_FAILED ? -errno : 0;
	close(fd);
	if (r == 0) {
		*ret_p = p;
	}
	return r;
}

static void sock_clear(struct transport *t)
{
	struct sock *s = (struct sock *)t;
	uint64_t count;

	(void)!read(s->event_fd, &count, sizeof(count)); /* non-blocking */
}

static int sock_wait(struct transport *t, int timeout_ms)
{
	struct sock *s = (struct sock *)t;
	struct pollfd p[2] = {{.fd = s->event_fd, .events = POLLIN},
			      {.fd = s->fd, .events = POLLRDHUP}};
	int n;

	if (s->gone) {
		return -ENODEV;
	}
	n = poll(p, 2, timeout_ms);
	if (n <= 0) {
		return n < 0 ? -errno : 0;
	}
	if (p[0].revents == 0 && p[1].revents != 0) {
		s->gone = true;
		return -ENODEV;
	}
	return 1;
}

/* The board's end reads and writes registered buffers with process_vm_readv(2), which where Yama is in
 * force we must allow it by name. There is one name a process, the last one holds; it is not taken
 * back, because another handle's buffers may still need it. */
static int sock_expose(struct transport *t)
{
	struct sock *s = (struct sock *)t;
	struct ucred peer;
	socklen_t length = sizeof(peer);

	if (getsockopt(s->fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) {
		return -errno;
	}
	/* EINVAL: no Yama, nothing to allow. */
	if (prctl(PR_SET_PTRACER, (unsigned long)peer.pid, 0, 0, 0) != 0 && errno != EINVAL) {
		return -errno;
	}
	return 0;
}

static int sock_fd(const struct transport *t)
{
	return ((const struct sock *)t)->epoll_fd;
}

static void sock_close(struct transport *t)
{
	struct sock *s = (struct sock *)t;

	if (s->fd >= 0) {
		close(s->fd);
	}
	if (s->event_fd >= 0) {
		close(s->event_fd);
	}
	if (s->epoll_fd >= 0) {
		close(s->epoll_fd);
	}
	free(s);
}

static const struct transport_ops sock_ops = {
	.request = sock_request,
	.map = sock_map,
	.clear = sock_clear,
	.wait = sock_wait,
	.expose = sock_expose,
	.fd = sock_fd,
	.close = sock_close,
};

int libnanet3_sock_open(const char *path, bool read_only, struct transport **ret_transport)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct sock *s;
	int r;

	if (strlen(path) >= sizeof(address.sun_path)) {
		return -ENAMETOOLONG;
	}
	memcpy(address.sun_path, path, strlen(path));
	s = calloc(1, sizeof(*s));
	if (s == NULL) {
		return -ENOMEM;
	}
	s->base.ops = &sock_ops;
	s->info_flags = read_only ? NANET3_SOCK_READ_ONLY : 0;
	s->event_fd = -1;
	s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	s->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (s->epoll_fd < 0 || s->fd < 0 ||
	    connect(s->fd, (const struct sockaddr *)&address, sizeof(address)) != 0) {
		r = -errno;
		goto fail;
	}
	r = watch(s, s->fd, EPOLLRDHUP);
	r = r == 0 ? be_patient(s, FIRST_ANSWER_S) : r;
	if (r < 0) {
		goto fail;
	}
	*ret_transport = &s->base;
	return 0;

fail:
	sock_close(&s->base);
	return r;
}
