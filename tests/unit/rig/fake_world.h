/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A world of a few lines for tests of the board and its host: four fibres that do what the test sets,
 * cells filled with a pattern of count and link, and a memory of what the board did to each cell.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "driver/emu/world/world.h"
#include "tdm/frame.h"

#define FAKE_LINKS 4u
#define FAKE_FATES (1u << 16) /* cells whose fate is remembered, a link */

struct fake_link {
	bool dark, fifo_drop, no_phase;
	enum tdm_loss lost; /* what each cell is lost to else; TDM_GOOD: to nothing */
	uint64_t relock_steps, locked_from; /* lock is back so long after a realign */
	uint32_t phase_ps, code_errors;
	unsigned realigns, resets;
	uint64_t counts[FAKE_FATES]; /* by count % FAKE_FATES */
	uint8_t fates[FAKE_FATES];
	uint64_t down_frames;
	bool down_off; /* the last downlink had the transmitter off */
	uint8_t down[TDM_FRAME_BYTES];
};

struct world {
	uint64_t step; /* steps so far; the first is 0 */
	bool pps;      /* there is a PPS, at steps with step % 8000 == pps_phase */
	uint32_t pps_phase;
	struct world_roof roof; /* pps is set by the step */
	struct fake_link links[FAKE_LINKS];
	bool started;
	uint32_t fault; /* of the board, at the next step */
};

void fake_world_init(struct world *w);
/* The 64-bit word that cell (count, link) is filled with. */
uint64_t fake_pattern(uint64_t count, unsigned link);
/* The fate of a cell among the last FAKE_FATES, -1 when there was none of that count. */
int fake_fate(const struct world *w, unsigned link, uint64_t count);
