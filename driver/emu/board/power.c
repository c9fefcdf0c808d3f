/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state of the board after power-up. */
#include <stddef.h>
#include <string.h>

#include "driver/emu/board/private.h"

void board_power_up(struct board *b)
{
	memset(b->regs, 0, sizeof(*b) - offsetof(struct board, regs));
	REG(b, NANET3_REG_ID) = 0x00334e4eu;
	REG(b, NANET3_REG_VERSION) = NANET3_VERSION;
	REG(b, NANET3_REG_LINKS) = NANET3_LINKS;
	REG(b, NANET3_REG_SERIAL) = b->serial;
	REG(b, NANET3_REG_BOOT_COUNT) = ++b->boots;
	REG(b, NANET3_REG_MODEL) = b->emulated;
	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		b->links[i].index = i;
		LREG(&b->links[i], NANET3_LREG_DEADLINE) = 5000;
	}
}
