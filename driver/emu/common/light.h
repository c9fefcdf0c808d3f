/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The board's inputs in one step: clock and temperature in the counting room, light on a fibre. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct world_roof {
	bool pps;	     /* a PPS edge falls into this step */
	bool reference;	     /* 10 MHz present */
	bool tod_valid;	     /* IRIG-B label below is good */
	uint32_t tod_second; /* UTC second of day of this step */
	uint16_t tod_day;    /* from 0 */
	uint8_t tod_year;    /* since 2000 */
	uint8_t tod_quality; /* TDM_TIME_* */
	uint8_t tod_leap;
	int32_t temperature_mc; /* of the board */
	bool stalled;		/* scenario: the board's DMA engine hangs */
	uint64_t
		wrap_frames; /* the step in which counters wrap, as far as they can; 0: after days and years */
	bool counted;	/* this step's count is given, as with a recording: */
	uint64_t count; /* higher than the last one's; a PPS comes with multiples of 8000 */
};

struct world_fibre {
	bool signal; /* light */
	uint32_t rx_power_nw, tx_power_nw;
	bool no_phase;	      /* the measurement of the phase has stopped */
	uint32_t phase_ps;    /* 0..12499, with jitter: one measurement */
	uint8_t rtt_frames;   /* round trip: whole frames x 125 us */
	uint16_t rtt_bytes;   /* + bytes x 12.5 ns, 0..9999 */
	uint8_t rtt_bits;     /* + bit slip x 1.25 ns, 0..9 */
	uint32_t code_errors; /* 8b10b errors of this step */
	uint8_t lost; /* enum tdm_loss: what this cell is lost to on its way to the ring; mostly
		       * TDM_GOOD */
};
