/* SPDX-License-Identifier: GPL-2.0-or-later */
/* QEMU's qtest: see qtest.h. The protocol is described in QEMU's softmmu/qtest.c. */
#include "driver/emu/qemu/qtest.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define ANSWERS_MAX 256 /* bytes: a few lines of "OK", one with a value */

static bool ask(struct qtest *q, unsigned who, const char *line, int length)
{
	for (unsigned i = 0; i < q->count; i++) {
		if (q->waiting[i] == who) {
			return false;
		}
	}
	/* A handful of short lines are under way at most: there is room for all of it or the other end
	 * is gone. */
	if (send(q->fd, line, (size_t)length, MSG_DONTWAIT | MSG_NOSIGNAL) != length) {
		return false;
	}
	q->waiting[q->count++] = (uint8_t)who;
	return true;
}

bool qtest_send(struct qtest *q, unsigned vector, uint64_t address, uint32_t data)
{
	char line[64];

	return ask(q, vector, line,
		   snprintf(line, sizeof(line), "writel 0x%" PRIx64 " 0x%" PRIx32 "\n", address,
			    data));
}

bool qtest_read(struct qtest *q, uint64_t address)
{
	char line[64];

	return ask(q, QTEST_READING, line,
		   snprintf(line, sizeof(line), "readq 0x%" PRIx64 "\n", address));
}

/* One answer, to the oldest question. */
static bool take(struct qtest *q, const char *line)
{
	const bool reading = q->count > 0 && q->waiting[0] == QTEST_READING;
	char *end = NULL;

	if (q->count == 0 || strncmp(line, "OK", 2) != 0) {
		return false;
	}
	if (reading) {
		q->value = strtoull(line + 2, &end, 16);
		q->has_read = true;
	}
	memmove(q->waiting, q->waiting + 1, --q->count);
	return reading ? end != line + 2 && *end == '\0' : line[2] == '\0';
}

int qtest_receive(struct qtest *q)
{
	char text[ANSWERS_MAX + 1], *line = text, *end;
	/* Whole lines only: look first, they are short. */
	const ssize_t got = recv(q->fd, text, ANSWERS_MAX, MSG_DONTWAIT | MSG_PEEK);
	int answers = 0;

	if (got < 0) {
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	}
	if (got == 0) {
		return -EPIPE;
	}
	text[got] = '\0';
	while ((end = strchr(line, '\n')) != NULL) {
		*end = '\0';
		if (!take(q, line)) {
			return -EPROTO;
		}
		answers++;
		line = end + 1;
	}
	if (answers == 0) { /* the beginning of one, or nonsense that will never be one */
		return got < ANSWERS_MAX && strncmp(text, "OK", got < 2 ? (size_t)got : 2) == 0
			       ? 0
			       : -EPROTO;
	}
	(void)!recv(q->fd, text, (size_t)(line - text), MSG_DONTWAIT);
	return answers;
}
