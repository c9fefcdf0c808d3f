/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside the QEMU host: what host.c and pace.c share. The files are listed in qemu.h. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "driver/emu/board/board.h"
#include "driver/emu/common/spin.h"
#include "driver/emu/qemu/qemu.h"
#include "driver/emu/qemu/iommu.h"
#include "driver/emu/qemu/memory.h"
#include "driver/emu/qemu/msix.h"
#include "driver/emu/qemu/pci.h"
#include "driver/emu/qemu/proxy.h"
#include "driver/emu/qemu/qtest.h"

struct qemu_host {
	struct qemu_config config;
	struct qemu_child child;
	struct board *board;
	struct pci_function pci;
	struct msix msix;
	struct proxy proxy;
	struct qtest qtest;
	struct guest_memory memory;
	struct iommu iommu;
	bool gone;	/* the board is off the bus */
	bool unplugged; /* QEMU has closed the wire: the device was taken out of the guest */
	struct qemu_stats stats;
};

/* A host for a QEMU that runs already; it is the host's from then on. */
int qemu_attach(const struct qemu_config *config, struct world *world,
		const struct qemu_child *child, struct qemu_host **ret_host);
/* One frame period of the board. */
void qemu_step(struct qemu_host *q);
/* Handle what has come, without waiting: 0, or -errno. */
int qemu_serve_now(struct qemu_host *q);
