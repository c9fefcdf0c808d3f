/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How an MSI reaches the guest: QEMU's qtest socket writes it to the interrupt controller's address, as
 * the bus would. QEMU answers each write with a line, when its big lock is free; while a vCPU waits for
 * a register of ours it is not, so we must not wait for the answer. Of each vector at most one
 * message is under way.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "driver/nanet3.h"

/* Zero but for the descriptor at first. */
struct qtest {
	int fd;				 /* the caller's */
	uint8_t waiting[NANET3_VECTORS]; /* vectors under way, oldest first */
	unsigned count;
};

/* False: one is under way already, or the socket takes nothing now. */
bool qtest_send(struct qtest *q, unsigned vector, uint64_t address, uint32_t data);
/* Take what answers there are, without waiting: their number, or -errno; -EPIPE closed, -EPROTO an
 * answer to nothing, or one that says no. */
int qtest_receive(struct qtest *q);
