/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How an MSI reaches the guest: QEMU's qtest socket writes it to the interrupt controller's address, as
 * the bus would. Registers of the guest's IOMMU are read the same way. QEMU answers each line with one, in order,
 * when its big lock is free; while a vCPU waits for a register of ours it is not, so we must not wait for the
 * answer. Of each vector at most one message is under way, and one reading.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "driver/nanet3.h"

/* Zero but for the descriptor at first. */
struct qtest {
	int fd;				     /* the caller's */
	uint8_t waiting[NANET3_VECTORS + 1]; /* vectors under way, oldest first; QTEST_READING */
	unsigned count;
	bool has_read; /* `value` is the answer to qtest_read(): the caller's to clear */
	uint64_t value;
};
#define QTEST_READING NANET3_VECTORS

/* False: one is under way already, or the socket takes nothing now. */
bool qtest_send(struct qtest *q, unsigned vector, uint64_t address, uint32_t data);
/* Ask for 64 bits at a guest-physical address. False as above. */
bool qtest_read(struct qtest *q, uint64_t address);
/* Take what answers there are, without waiting: their number, or -errno; -EPIPE closed, -EPROTO an
 * answer to nothing, or one that says no. */
int qtest_receive(struct qtest *q);
