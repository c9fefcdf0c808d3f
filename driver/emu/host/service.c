/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Serves the clients of the user-space host: the listening socket, connections, packets.
 *
 * Clients are not trusted: packets are checked for size, shared memory cannot be shrunk, and a client that does
 * not take its answers is dropped. Clients are named by an id that is never reused, so that a stale readiness
 * event finds none.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "driver/emu/host/private.h"

#define PACKETS_A_TURN 64

/* ------------------------------------------------------------------------ packets */

static int answer(struct client *c, const struct nanet3_sock_head *head, void *arg, int fd)
{
	struct iovec iov[2] = {{(void *)(uintptr_t)head, sizeof(*head)}, {arg, head->size}};
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct msghdr msg = {.msg_iov = iov, .msg_iovlen = 2};

	if (fd >= 0) {
		msg.msg_control = control.bytes;
		msg.msg_controllen = sizeof(control.bytes);
		*CMSG_FIRSTHDR(&msg) = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(int)),
							.cmsg_level = SOL_SOCKET,
							.cmsg_type = SCM_RIGHTS};
		memcpy(CMSG_DATA(CMSG_FIRSTHDR(&msg)), &fd, sizeof(fd));
	}
	return sendmsg(c->fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* One packet of `length` bytes (0 and more) in a buffer of NANET3_SOCK_MAX. */
static int packet(struct host *h, struct client *c, uint8_t *bytes, size_t length, bool truncated)
{
	struct nanet3_sock_head head = {0};
	void *arg = bytes + sizeof(head);

	if (length >= sizeof(head)) {
		memcpy(&head, bytes, sizeof(head));
	}
	head.result = -EINVAL;
	if (NANET3_REQUEST(head.request) == NANET3_REQUEST(NANET3_IOC_INFO) && !c->greeted) {
		c->read_only = head.flags & NANET3_SOCK_READ_ONLY;
		head.flags &= ~NANET3_SOCK_READ_ONLY;
	}
	if (!truncated && length >= sizeof(head) && head.size == length - sizeof(head) &&
	    head.flags == 0) {
		head.result = request_execute(h, c, head.request, arg, head.size);
	}
	if (head.result < 0) {
		head.size = 0;
	}
	head.flags = 0;
	return answer(c, &head, arg, head.result == 0 ? h->pass_fd : -1);
}

void client_service(struct host *h, struct client *c)
{
	_Alignas(8) uint8_t bytes[NANET3_SOCK_MAX];

	for (int i = 0; i < PACKETS_A_TURN; i++) {
		struct iovec iov = {bytes, sizeof(bytes)};
		struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
		ssize_t n = recvmsg(c->fd, &msg, MSG_DONTWAIT);

		if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
			return;
		}
		/* 0 is the end of file, or an empty packet. */
		if (n < 0 || (n == 0 && client_hung_up(c)) ||
		    packet(h, c, bytes, (size_t)n, msg.msg_flags & MSG_TRUNC) < 0) {
			client_drop(h, c);
			return;
		}
	}
}

static int client_init(struct host *h, struct client *c, int fd)
{
	struct ucred peer = {.uid = (uid_t)-1};
	socklen_t length = sizeof(peer);
	struct epoll_event ev = {.events = EPOLLIN | EPOLLRDHUP};
	int r, event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	*c = (struct client){.fd = -1, .event_fd = -1};
	if (event_fd < 0) {
		return -errno;
	}
	r = client_queue_create(h, &c->queue);
	if (r < 0) {
		goto fail;
	}
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) {
		r = -errno;
		goto fail;
	}
	c->id = ++h->client_ids;
	ev.data.u64 = c->id;
	if (epoll_ctl(h->epoll_fd, EPOLL_CTL_ADD, fd, &ev) != 0) {
		r = -errno;
		goto fail;
	}
	c->fd = fd;
	c->event_fd = event_fd;
	c->pid = peer.pid;
	c->uid = peer.uid;
	c->privileged = peer.uid == 0 || peer.uid == geteuid();
	h->counts.clients++;
	return 0;

fail:
	shared_destroy(&c->queue);
	close(event_fd);
	return r;
}

/* Out of descriptors: give up the spare one to take the connection and close it, or its readiness
 * would keep us busy for ever. */
static void turn_away(struct host *h)
{
	close(h->spare_fd);
	h->spare_fd = accept4(h->listen_fd, NULL, NULL, SOCK_CLOEXEC);
	close(h->spare_fd);
	h->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

void clients_accept(struct host *h)
{
	int fd = accept4(h->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0) {
		if (errno == EMFILE || errno == ENFILE) {
			turn_away(h);
		}
		return;
	}
	for (unsigned i = 0; !h->gone && i < HOST_CLIENTS; i++) {
		if (h->clients[i].fd < 0) {
			if (client_init(h, &h->clients[i], fd) < 0) {
				break;
			}
			return;
		}
	}
	close(fd);
}

/* ------------------------------------------------------------------------ life */

/* Whether somebody answers at `address`; a socket file without a server is what a crash left. */
static bool served(const struct sockaddr_un *address)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	bool yes = fd >= 0 && connect(fd, (const struct sockaddr *)address, sizeof(*address)) == 0;

	if (fd >= 0) {
		close(fd);
	}
	return yes;
}

static int listen_at(struct host *h, const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct stat st;

	if (strlen(path) >= sizeof(address.sun_path)) {
		return -ENAMETOOLONG;
	}
	memcpy(address.sun_path, path, strlen(path));
	if (served(&address)) {
		return -EADDRINUSE;
	}
	if (lstat(path, &st) == 0) {
		if (!S_ISSOCK(st.st_mode)) {
			return -EEXIST;
		}
		if (unlink(path) != 0) {
			return -errno;
		}
	}
	h->listen_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (h->listen_fd < 0 ||
	    bind(h->listen_fd, (const struct sockaddr *)&address, sizeof(address)) != 0) {
		return -errno;
	}
	h->bound = true;
	return listen(h->listen_fd, 16) != 0 ? -errno : 0;
}

int clients_create(struct host *h)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.u64 = HOST_LISTEN_ID};
	int r;

	h->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	h->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (h->epoll_fd < 0 || h->spare_fd < 0) {
		return -errno;
	}
	/* Above those of an earlier emulator: a grant to one of its clients names none of ours. */
	h->client_ids = (uint32_t)(nanet3_now_ns() / 1000000);
	r = listen_at(h, h->config.socket_path);
	if (r < 0) {
		return r;
	}
	return epoll_ctl(h->epoll_fd, EPOLL_CTL_ADD, h->listen_fd, &ev) != 0 ? -errno : 0;
}

static void close_if_open(int fd)
{
	if (fd >= 0) {
		close(fd);
	}
}

void client_gone(struct host *h, struct client *c)
{
	struct nanet3_event gone = {
		.type = NANET3_EVENT_GONE, .link = 0xff, .time_ns = nanet3_now_ns()};

	client_post(h, c, &gone);
	clients_wake(h);
	client_drop(h, c);
}

void clients_gone(struct host *h)
{
	for (unsigned i = 0; i < HOST_CLIENTS; i++) {
		if (h->clients[i].fd >= 0) {
			client_gone(h, &h->clients[i]);
		}
	}
}

void clients_destroy(struct host *h)
{
	clients_gone(h);
	if (h->bound) {
		unlink(h->config.socket_path);
	}
	close_if_open(h->listen_fd);
	close_if_open(h->epoll_fd);
	close_if_open(h->spare_fd);
}
