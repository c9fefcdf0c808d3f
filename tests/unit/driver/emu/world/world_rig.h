/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A shore for the emulator's world, in a test: it sends downstream frames with words, takes the cells
 * as a board does, finds the frames with tdm's deframer, puts hits together again, and keeps what it
 * got of every cell, to be compared with the truth file.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "driver/emu/common/truth.h"
#include "driver/emu/world/world.h"
#include "tdm/deframe.h"
#include "tdm/word.h"

#define RIG_LINKS   4u
#define RIG_CELLS   60000u /* a link */
#define RIG_REPLIES 1024u
#define RIG_HITS    200000u /* a module */
#define RIG_COUNT   8000u   /* board count of step 0 */

struct got {
	uint64_t count, floor_frame;
	enum tdm_loss loss;
	uint16_t hits[6];
	bool complete[6]; /* the tail came too */
	uint64_t hit_hash[6], sample_hash[2];
};

struct rig_reply {
	uint64_t count; /* cell in which it came */
	struct word word;
};

struct rig_hit {
	uint64_t time; /* 5 ns since frame 0 of the board's count, in the floor's frames */
	uint32_t charge;
};

struct rig_module {
	uint8_t bytes[4096];
	uint32_t length;  /* of the hits that began in the last frame */
	uint32_t last;	  /* where the last of them begins */
	uint64_t carrier; /* the floor's number of that frame */
	bool open;
	uint64_t last_time;   /* of the last hit, as below */
	struct rig_hit *hits; /* in order of time, when they are kept */
	uint32_t hit_count;
};

struct rig_link {
	struct tdm_deframe *deframe;
	struct got *got;
	uint32_t got_count;
	struct rig_module modules[6];
	bool keep_hits; /* set by the test before it runs */
	uint8_t down[TDM_FRAME_BYTES];
	struct word words[TDM_WORDS];
	unsigned word_count;
	struct tdm_timing timing;
	bool spoil; /* the next word leaves with a wrong CRC */
	struct rig_reply replies[RIG_REPLIES];
	uint32_t reply_count, reply_read;
	struct world_fibre fibre;
	uint64_t code_errors;	  /* of all steps */
	struct tdm_header header; /* of the last good frame */
	uint64_t header_count;	  /* its cell */
	struct tdm_telemetry telemetry;
	uint8_t cell[TDM_FRAME_BYTES];
	uint64_t cells_hash; /* of all cells, running */
	uint64_t slot_bytes, good, fifo_full_slots, fifo_full_hits, fragments, wide_hits;
	uint32_t disorder; /* hits out of order or not legal */
};

struct rig {
	struct world *world;
	struct world_config config;
	uint64_t step;
	struct world_roof roof;
	struct rig_link links[RIG_LINKS];
	char truth_path[64], scenario_path[64], executed_path[64];
	bool downstream; /* send at all */
};

/* A world with defaults, changed by `change` (may be NULL), and a scenario's text (may be NULL). */
struct rig *rig_create(void (*change)(struct world_config *config), const char *scenario);
/* Ends the world and removes its files. */
void rig_destroy(struct rig *r);

void rig_run(struct rig *r, unsigned steps);
void rig_seconds(struct rig *r, double seconds);
/* A word leaves with the next step. */
void rig_send(struct rig *r, unsigned link, uint8_t op, uint8_t module, uint8_t reg, int32_t value,
	      uint32_t sequence);
/* The next reply of a link, waiting at most 20 frames; false when none comes. */
bool rig_reply(struct rig *r, unsigned link, struct rig_reply *ret_reply);
/* Send and wait: the reply's status, its value through ret_value. -1: no answer. */
int rig_ask(struct rig *r, unsigned link, uint8_t op, uint8_t module, uint8_t reg, int32_t value,
	    uint32_t sequence, int32_t *ret_value);

/* Ends the world and reads its truth; the caller frees. One link's records in order of count. */
struct truth_record *rig_truth(struct rig *r, unsigned link, uint32_t *ret_count,
			       struct truth_head *ret_head);
/* The light of these records, likewise; fails when the file has none. */
struct truth_light *rig_light(struct rig *r, unsigned link, uint32_t *ret_count);
/* Ends the world; asserts that what was got equals the truth: fates, numbers, hashes. Returns how
 * many cells were good. `fates` counts them by fate when not NULL. */
uint64_t rig_compare(struct rig *r, unsigned link, uint64_t fates[TDM_LOSSES]);
