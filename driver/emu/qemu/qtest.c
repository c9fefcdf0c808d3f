/* SPDX-License-Identifier: GPL-2.0-or-later */
/* MSI by qtest: see qtest.h. The protocol is described in QEMU's softmmu/qtest.c. */
#include "driver/emu/qemu/qtest.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

static const char ok[] = "OK\n";
#define OK_BYTES (sizeof(ok) - 1)

bool qtest_send(struct qtest *q, unsigned vector, uint64_t address, uint32_t data)
{
	char line[64];
	int length =
		snprintf(line, sizeof(line), "writel 0x%" PRIx64 " 0x%" PRIx32 "\n", address, data);

	for (unsigned i = 0; i < q->count; i++) {
		if (q->waiting[i] == vector) {
			return false;
		}
	}
	/* A handful of short lines are under way at most: there is room for all of it or the other end
	 * is gone. */
	if (send(q->fd, line, (size_t)length, MSG_DONTWAIT | MSG_NOSIGNAL) != length) {
		return false;
	}
	q->waiting[q->count++] = (uint8_t)vector;
	return true;
}

int qtest_receive(struct qtest *q)
{
	char text[NANET3_VECTORS * OK_BYTES];
	const size_t wanted = q->count * OK_BYTES;
	ssize_t got;
	unsigned answers;

	/* Whole answers only: look first, they are short. */
	got = recv(q->fd, text, wanted > 0 ? wanted : 1, MSG_DONTWAIT | MSG_PEEK);
	if (got < 0) {
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	}
	if (got == 0) {
		return -EPIPE;
	}
	answers = (unsigned)((size_t)got / OK_BYTES);
	for (size_t i = 0; i < (size_t)got; i++) {
		if (wanted == 0 || text[i] != ok[i % OK_BYTES]) {
			return -EPROTO;
		}
	}
	if (answers > 0) {
		(void)!recv(q->fd, text, answers * OK_BYTES, MSG_DONTWAIT);
		q->count -= answers;
		memmove(q->waiting, q->waiting + answers, q->count);
	}
	return (int)answers;
}
