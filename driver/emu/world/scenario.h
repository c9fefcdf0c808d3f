/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A scenario: faults at given times, from a text file. The language is described in nanet3-emu(1)
 * and driver/emu/scenario.md; the table in scenario.c is its one definition.
 *
 * Here it is only read and put in order of time; the world applies it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum scenario_action {
	/* of a link */
	SCENARIO_CRC,
	SCENARIO_DOWN_CRC,
	SCENARIO_DROP,
	SCENARIO_UNALIGN,
	SCENARIO_SLIP,
	SCENARIO_UNPLUG,
	SCENARIO_PLUG,
	SCENARIO_PHASE_DRIFT,
	SCENARIO_PHASE_STEP,
	SCENARIO_PHASE, /* measured: 0 or 1 */
	/* of the board's side of it */
	SCENARIO_STUCK_DMA,
	SCENARIO_LOSE_IRQS,
	/* of the floor on that link */
	SCENARIO_MUTE, /* 0 or 1 */
	SCENARIO_BOOT,
	SCENARIO_TRIP,
	SCENARIO_LOSE_REPLIES,
	SCENARIO_LOSE_SHARE, /* the same with a percentage */
	SCENARIO_DUPLICATE_REPLIES,
	SCENARIO_REORDER_REPLIES,
	SCENARIO_REFUSE,
	SCENARIO_BURST,
	SCENARIO_TIME_FAULT,
	SCENARIO_TEMPERATURE,
	/* of the shore */
	SCENARIO_GPS, /* enum gps_state */
	SCENARIO_GPS_JUMP,
	SCENARIO_PPS,
	SCENARIO_REFERENCE,
	SCENARIO_TOD,
	SCENARIO_STALL,
	SCENARIO_BOARD_GONE,
	SCENARIO_BOARD_DEAF,
	SCENARIO_LOSE_EVENTS,
	SCENARIO_LOSE_READS,
	SCENARIO_EXTRA_IRQS,
	SCENARIO_SLOW_PUTS,
	SCENARIO_LOSE_DESCRIPTORS,
	SCENARIO_LATE_DATA,
	SCENARIO_BOARD_SLOT,
	SCENARIO_BOARD_TEMPERATURE,
	SCENARIO_SWAP,
	/* of the sea */
	SCENARIO_BEACONS, /* 0 or 1 */
};

#define SCENARIO_ARGS  2u
#define SCENARIO_SHORE 0xffu

struct scenario_event {
	uint64_t step;	/* frame periods behind the origin */
	unsigned line;	/* of the file */
	uint8_t link;	/* 0..3, SCENARIO_SHORE */
	uint8_t action; /* enum scenario_action */
	uint8_t arg_count;
	double args[SCENARIO_ARGS];
};

struct scenario {
	struct scenario_event *events; /* in order of time, then of the file */
	size_t count;
	bool from_data; /* times count from the first step in which all links are handed over */
};

/* Read a file. -EINVAL or what opening it said; then `error` reads "FILE:LINE: what is wrong". The
 * caller's scenario_fini() on success only. */
int scenario_load(const char *path, struct scenario *ret_scenario, char *error, size_t error_size);
/* The same from memory; `name` is used for the file in errors. */
int scenario_parse(const char *name, const char *text, struct scenario *ret_scenario, char *error,
		   size_t error_size);
void scenario_fini(struct scenario *s);
