/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Receives, checks and answers QEMU's messages for x-pci-proxy-dev on a stream socket, with descriptors: see
 * proxy.h. The numbers are those of QEMU 7.2, include/hw/remote/mpqemu-link.h.
 */
#include "driver/emu/qemu/proxy.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

_Static_assert(sizeof(struct proxy_header) == 16, "header on the wire");
_Static_assert(sizeof(struct proxy_memory) == 192, "SYNC_SYSMEM on the wire");
_Static_assert(sizeof(struct proxy_config) == 12, "CONFIG_* on the wire");
_Static_assert(sizeof(struct proxy_bar) == 24, "BAR_* on the wire");

static const struct {
	size_t bytes;
	unsigned fds; /* at most */
} commands[PROXY_COMMANDS] = {
	[PROXY_SYNC_SYSMEM] = {sizeof(struct proxy_memory), PROXY_REGIONS},
	[PROXY_RET] = {sizeof(uint64_t), 0},
	[PROXY_CONFIG_WRITE] = {sizeof(struct proxy_config), 0},
	[PROXY_CONFIG_READ] = {sizeof(struct proxy_config), 0},
	[PROXY_BAR_WRITE] = {sizeof(struct proxy_bar), 0},
	[PROXY_BAR_READ] = {sizeof(struct proxy_bar), 0},
	[PROXY_SET_IRQFD] = {0, 2},
	[PROXY_DEVICE_RESET] = {0, 0},
};

void proxy_close_fds(struct proxy_message *m)
{
	for (unsigned i = 0; i < m->fd_count; i++) {
		close(m->fds[i]);
	}
	m->fd_count = 0;
}

/* ------------------------------------------------------------------------ receiving */

/* Keep the descriptors that came along; more than a message may have are closed and an error. */
static int take_fds(struct proxy_message *m, const struct msghdr *msg)
{
	int r = msg->msg_flags & MSG_CTRUNC ? -EPROTO : 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c != NULL;
	     c = CMSG_NXTHDR((struct msghdr *)msg, c)) {
		size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		int fds[PROXY_REGIONS];

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) {
			continue;
		}
		/* Room for control data is exactly PROXY_REGIONS descriptors: count is no more. */
		memcpy(fds, CMSG_DATA(c), count * sizeof(int));
		for (size_t i = 0; i < count; i++) {
			if (m->fd_count < PROXY_REGIONS) {
				m->fds[m->fd_count++] = fds[i];
			} else {
				close(fds[i]);
				r = -EPROTO;
			}
		}
	}
	return r;
}

/* Up to `bytes` more: their number, 0 when there are none now, or an error. */
static ssize_t take_bytes(struct proxy *p, void *at, size_t bytes)
{
	union {
		char bytes[CMSG_SPACE(PROXY_REGIONS * sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec iov = {.iov_base = at, .iov_len = bytes};
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	ssize_t got = recvmsg(p->fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	int r;

	if (got < 0) {
		if (errno == ECONNRESET) {
			return -EPIPE;
		}
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	}
	r = take_fds(&p->message, &msg);
	if (r < 0) {
		return r;
	}
	p->got += (size_t)got;
	return got == 0 ? -EPIPE : got;
}

static bool header_sound(const struct proxy_header *h)
{
	return h->command >= 0 && h->command < PROXY_COMMANDS &&
	       h->bytes == commands[h->command].bytes;
}

static bool message_sound(const struct proxy_message *m)
{
	switch (m->command) {
	case PROXY_CONFIG_READ:
	case PROXY_CONFIG_WRITE:
		return m->config.length == 1 || m->config.length == 2 || m->config.length == 4;
	case PROXY_BAR_READ:
	case PROXY_BAR_WRITE:
		return m->bar.length <= 8 && (m->bar.length & (m->bar.length - 1)) == 0 &&
		       m->bar.length != 0;
	default:
		return true;
	}
}

int proxy_receive(struct proxy *p, struct proxy_message *ret_message)
{
	const size_t head = sizeof(p->header);
	uint8_t *body = (uint8_t *)&p->message.memory; /* the largest of the union */
	ssize_t got;

	while (p->got < head) {
		got = take_bytes(p, (uint8_t *)&p->header + p->got, head - p->got);
		if (got <= 0) {
			return (int)got;
		}
		if (p->got == head && !header_sound(&p->header)) {
			return -EPROTO;
		}
	}
	while (p->got < head + p->header.bytes) {
		got = take_bytes(p, body + (p->got - head), head + p->header.bytes - p->got);
		if (got <= 0) {
			return (int)got;
		}
	}
	p->message.command = (enum proxy_command)p->header.command;
	if (p->message.fd_count > commands[p->header.command].fds || !message_sound(&p->message)) {
		return -EPROTO;
	}
	*ret_message = p->message;
	memset(&p->message, 0, sizeof(p->message));
	p->got = 0;
	return 1;
}

/* ------------------------------------------------------------------------ answering */

int proxy_answer(struct proxy *p, uint64_t value)
{
	struct {
		struct proxy_header header;
		uint64_t value;
	} ret = {{.command = PROXY_RET, .bytes = sizeof(value)}, value};
	ssize_t sent;

	/* One answer at a time is under way, so there is always room for its 24 bytes. */
	do {
		sent = send(p->fd, &ret, sizeof(ret), MSG_NOSIGNAL | MSG_DONTWAIT);
	} while (sent < 0 && errno == EINTR);
	if (sent < 0) {
		return errno == ECONNRESET ? -EPIPE : -errno;
	}
	return sent == (ssize_t)sizeof(ret) ? 0 : -EPROTO;
}
