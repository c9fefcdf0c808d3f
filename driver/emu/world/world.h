/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The world around the board: four fibres with a floor at each end, the sea, the GPS receiver on
 * the roof, and the scenario that injects faults. Deterministic: a seed, model time and the
 * downstream frames decide everything.
 *
 * Model time is a count of frame periods since the start (`step`), so speed does not matter here; it
 * means TAI ns = tai_start_ns + step x 125 000. The board calls, in this order, once per step:
 * world_step(), then for every link world_downlink() and world_uplink().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "driver/emu/common/light.h"
#include "driver/nanet3.h"
#include "tdm/deframe.h" /* enum tdm_loss */

struct world;

/* Advance model time by one frame period; floors, sea, faults and the receiver move on. */
void world_step(struct world *w);

/* What the board sees of its surroundings now. */
void world_roof(const struct world *w, struct world_roof *ret_roof);

/* The next of this step's faults of the board itself, for NANET3_REG_MODEL_FAULT (model_fault.h); 0: there
 * is no more. */
uint32_t world_fault(struct world *w);

/* What the transceiver of a link sees now, and the code errors since the last call. */
void world_fibre(struct world *w, unsigned link, struct world_fibre *ret_fibre);

/* One-way delay of the fibre on a link, as it is now; 0 for a recording. */
int64_t world_delay_ns(const struct world *w, unsigned link);

/* The downstream frame of this step leaves for `link` (NULL: transmitter off). It arrives after the
 * fibre's one-way delay. */
void world_downlink(struct world *w, unsigned link, const uint8_t *frame);

/*
 * Fill the 10 000 bytes at `cell` with what arrives on `link` in this step, cut on the board's grid.
 * Called for every link and step, also when the cell will be lost: `fate` says what the board will do
 * with it (TDM_GOOD = hand it over), so that the truth knows. `count` is the board's count.
 */
void world_uplink(struct world *w, unsigned link, uint64_t count, enum tdm_loss fate,
		  uint8_t *cell);

/* The board has reset or aligned the link's transceiver: its grid is decided again (a
 * scenario may make it slip). The lock is back after world's own relock time. */
void world_realign(struct world *w, unsigned link, bool reset);
/* Whether the receiver has found words (K28.5) on this link. */
bool world_locked(const struct world *w, unsigned link);

/* The recording that is played in the place of sea and floors; NULL: they are modelled. */
struct play;
struct play *world_play(struct world *w);

/*
 * Set-up, for the program and for tests. Strings are only needed during world_create(); NULL: none.
 */
enum world_load {
	WORLD_DESIGN, /* about 300 Mbps a floor, the published load */
	WORLD_QUIET,  /* 50 kHz a module: about 155 Mbps */
	WORLD_FULL,   /* every slot full, 640 Mbps on the fibre */
};

struct world_config {
	uint64_t seed;
	int64_t tai_start_ns; /* TAI since 1970 of step 0; a multiple of 125 000 */
	uint8_t tower;
	uint8_t floors[NANET3_LINKS]; /* which floor hangs on which link */
	double fibre_km[NANET3_LINKS];
	enum world_load load;
	double rate_hz; /* hits a module in a quiet sea; 0: as `load` says */
	uint32_t fifo_bytes;
	bool cold; /* modules begin without power */
	double wrap_s; /* counters wrap so long after step 0, those of events with the next; 0: not soon */
	double beacons_hz; /* flashes a second of each LED beacon; 0: the sea has no beacons */
	const char
		*play_path; /* a recording, in the place of all above; nothing below goes with it */
	void (*play_say)(const char *line); /* remarks on it */
	const char *scenario_path;
	const char *truth_path;
	const char *executed_path; /* every WRITE and ACTION an FCM decided, a line each */
	const char *gps_path;	   /* where the receiver's terminal shall be linked */
	unsigned gps_port;	   /* or the UDP port that it sends to; 0: no receiver */
	bool gps_mute;		   /* it says nothing: its seconds are not those of the wall */
	const char *leap_path;	   /* leap-seconds.list; NULL: the system's, 37 s without one */
};
void world_config_default(struct world_config *config);

/* Negative errno; then `error` says in a line what was wrong with which file. */
int world_create(const struct world_config *config, struct world **ret_world, char *error,
		 size_t error_size);
/* Move the start, before the first step: -EBUSY after it, -EINVAL when not at a frame's border. */
int world_start_at(struct world *w, int64_t tai_start_ns);
/* Closes the files. 0, or the first error in writing them. NULL is fine. */
int world_destroy(struct world *w);

/* TAI now, by the system clock and the leap second table at `leap_path` (as above), ns. */
int64_t world_tai_now(const char *leap_path);

struct world_stats {
	uint64_t cells[TDM_LOSSES]; /* by expected fate */
	uint64_t hits, hits_lost;
	uint64_t executed;	 /* WRITE and ACTION words decided by FCMs */
	uint64_t events;	 /* scenario events applied */
	uint64_t flashes, pings; /* of beacons */
};
void world_stats(const struct world *w, struct world_stats *ret_stats);
