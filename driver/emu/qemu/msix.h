/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * MSI-X: the vector table, its pending bits, and when a message goes out. An interrupt that cannot go
 * out (vector or function masked, no bus master, or the last message of that vector still on its way)
 * stays pending, and several become one, as on any board. Without MSI-X enabled it is forgotten.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "driver/nanet3.h"

struct msix_entry {
	uint32_t address_low, address_high, data, control;
};

struct msix {
	struct msix_entry table[NANET3_VECTORS];
	uint32_t pending;   /* bit per vector */
	bool enabled, held; /* held: no vector may send now */
	/* Send the message; false: not now, msix_retry() will be called. */
	bool (*send)(void *context, unsigned vector, uint64_t address, uint32_t data);
	void *context;
};

/* As after reset: disabled, all vectors masked. `send` and `context` stay. */
void msix_reset(struct msix *m);
/* What the capability and the command register say. */
void msix_configure(struct msix *m, bool enabled, bool held);
void msix_raise(struct msix *m, unsigned vector);
/* Send what is pending and may go now. */
void msix_retry(struct msix *m);

/* A 32-bit word of BAR 2; what is neither table nor pending bits reads 0 and ignores writes. */
uint32_t msix_read(const struct msix *m, uint32_t offset);
void msix_write(struct msix *m, uint32_t offset, uint32_t value);
