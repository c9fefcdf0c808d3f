/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counts the downstream frames that a floor has received damaged, from the counter in each frame of
 * the floor: 8 bits, wrapping, 0 at the FCM's boot. Its counts while no frame of the floor came are
 * unknown. No I/O.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "tdm/blocks/block.h"

/* Frames between two looks: less than the counter's range, all of them may be damaged. */
#define DOWNLINK_LOOK 200u

struct downlink {
	bool known, booted;
	uint8_t tower, floor; /* whose counter it is */
	uint8_t counter;      /* as seen last */
	uint64_t errors;      /* damaged frames, since the daemon started */
};

static inline void downlink_see(struct downlink *d, uint8_t counter, bool booted)
{
	uint8_t before = booted && !d->booted ? 0 : d->counter;

	if (d->known) {
		d->errors += (uint8_t)(counter - before);
	}
	d->known = true;
	d->booted = booted;
	d->counter = counter;
}

/* The frames of a block, `frames` of them, of one floor. None is good: counting restarts with the next good one. */
static inline void downlink_block(struct downlink *d, uint8_t tower, uint8_t floor,
				  const struct block_frame *in, uint32_t frames)
{
	bool heard = false;

	if (tower != d->tower || floor != d->floor) {
		d->known = false;
	}
	d->tower = tower;
	d->floor = floor;
	for (uint32_t done = 0, end; done < frames; done = end) {
		uint32_t n;

		end = frames - done > DOWNLINK_LOOK ? done + DOWNLINK_LOOK : frames;
		n = end;
		while (n > done && !in[n - 1].frame) {
			n--;
		}
		if (n > done) {
			downlink_see(d, in[n - 1].frame[TDM_OFF_LINK_ERRORS],
				     (in[n - 1].header_flags & TDM_FLAG_BOOTED) != 0);
			heard = true;
		}
	}
	d->known = heard && d->known;
}
