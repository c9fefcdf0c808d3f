/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The QEMU host: the board is a PCI device of a guest, where the real kernel module meets it.
 *
 *   guest's driver --registers--> QEMU --socket--> this host --board.h--> board <--> world
 *                  <---memory, mapped here---             <--map(), irq()--
 *                  <--MSI-X--     QEMU <--qtest--
 *
 * One thread: the caller of qemu_run() owns host, board and world. Errors are negative errno.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "driver/emu/host/host.h"
#include "driver/emu/qemu/launch.h"

struct qemu_host;
struct world;

struct qemu_config {
	struct qemu_launch launch;
	struct qemu_child running; /* without a command: a QEMU that another process has started */
	uint32_t serial;
	enum host_speed speed;
	double factor;	   /* of real time */
	double duration_s; /* model time after which qemu_run() returns; 0 = endless */
};

struct qemu_stats {
	uint64_t steps;
	uint64_t worst_lag_ns; /* wall time by which model time fell behind, at worst */
	uint64_t accesses;     /* reads and writes of BARs and configuration */
	uint64_t interrupts;   /* messages sent */
	uint64_t memory_maps;  /* times that the guest's address space changed */
	uint64_t not_reached;  /* regions of it that are not shared with us */
	uint64_t resets;       /* of the function: by QEMU, FLR, D3, power-up */
};

/* Starts QEMU, unless one runs already. `world` stays the caller's and must outlive the host. */
int qemu_create(const struct qemu_config *config, struct world *world, struct qemu_host **ret_host);
/* Ends QEMU; returns its exit status, or negative errno. NULL is fine: 0. */
int qemu_destroy(struct qemu_host *q);

/* Wait for QEMU to want something, at most timeout_ns, and serve it, without a step. 0, or -errno; -ECHILD when
 * it has ended. */
int qemu_wait(struct qemu_host *q, uint64_t timeout_ns);
/* Step and serve at the configured speed until QEMU ends, *stop, or the duration has passed. */
int qemu_run(struct qemu_host *q, volatile sig_atomic_t *stop);

void qemu_stats(const struct qemu_host *q, struct qemu_stats *ret_stats);
