// SPDX-License-Identifier: GPL-2.0-or-later
/* Speaks ZeroMQ's wire protocol by hand over loopback TCP, to send what libzmq never sends. See zmtp_rig.h. */
#include "tests/unit/rig/zmtp_rig.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

int zmtp_connect_from(uint32_t address, uint16_t port)
{
	struct sockaddr_in from = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(address)};
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				 .sin_port = htons(port)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&from, sizeof(from)), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	return fd;
}

int zmtp_connect(uint16_t port)
{
	return zmtp_connect_from(INADDR_LOOPBACK, port);
}

void zmtp_send_all(int fd, const void *bytes, size_t length)
{
	assert_int_equal(send(fd, bytes, length, MSG_NOSIGNAL), (ssize_t)length);
}

/* libzmq 4.3.4 does not understand a command that comes with the greeting: its own is awaited. */
void zmtp_shake_hands_as(int fd, const char *type)
{
	uint8_t theirs[64];
	uint8_t greeting[64] = {0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f, 3, 0, 'N', 'U', 'L', 'L'};
	uint8_t ready[64] = "\x04\x00\x05READY\x0bSocket-Type\x00\x00\x00";
	const size_t length = strlen(type), head = 23;

	zmtp_send_all(fd, greeting, sizeof(greeting));
	assert_int_equal(recv(fd, theirs, sizeof(theirs), MSG_WAITALL), sizeof(theirs));
	ready[1] = (uint8_t)(head - 1 + length);
	ready[head] = (uint8_t)length;
	memcpy(ready + head + 1, type, length);
	zmtp_send_all(fd, ready, head + 1 + length);
}

void zmtp_shake_hands(int fd)
{
	zmtp_shake_hands_as(fd, "DEALER");
}

void zmtp_send(int fd, uint8_t flags, const void *bytes, uint8_t length)
{
	uint8_t frame[257] = {flags, length};

	memcpy(frame + 2, bytes, length);
	zmtp_send_all(fd, frame, 2u + length);
}

ssize_t zmtp_try(int fd, const void *bytes, size_t length)
{
	ssize_t n = send(fd, bytes, length, MSG_NOSIGNAL | MSG_DONTWAIT);

	return n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK) ? 0 : n;
}

/* Behind what has come back from there. */
bool zmtp_is_open(int fd)
{
	char bytes[4096];
	ssize_t n;

	do {
		n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
	} while (n > 0);
	return n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

int zmtp_peer_of(int fd)
{
	struct sockaddr_in ours, theirs;
	socklen_t length = sizeof(ours);

	assert_int_equal(getsockname(fd, (struct sockaddr *)&ours, &length), 0);
	for (int other = 0; other < 1024; other++) {
		length = sizeof(theirs);
		if (getpeername(other, (struct sockaddr *)&theirs, &length) == 0 &&
		    length == sizeof(theirs) && theirs.sin_family == AF_INET &&
		    theirs.sin_port == ours.sin_port) {
			return other;
		}
	}
	return -1;
}
