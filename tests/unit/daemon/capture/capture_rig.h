/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A whole data path for tests of capture: the emulator's host in a process of its own, with floors
 * (floor_rig.h) at the ends of its fibres, and a consumer that checks every block it is given.
 *
 *   host process: world of floors -> board -> socket      this process: capture -> consumer
 *
 * What the world shall do wrong is set in shared memory at any time.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon/data/block.h"
#include "daemon/data/ledger.h"
#include "driver/emu/host/host.h"
#include "driver/nanet3.h"

#define RIG_DELAY    4u
#define RIG_UTC_ZERO 1700000000ll /* UTC second of count 0 */
#define RIG_TAI_UTC  37

struct rig_control {
	_Atomic unsigned links; /* bit mask; the others are dark */
	_Atomic unsigned dark;	/* bit mask */
	_Atomic unsigned fifo_drop;
	_Atomic unsigned crc_every[NANET3_LINKS];  /* every n-th frame is damaged; 0 none */
	_Atomic unsigned down_every[NANET3_LINKS]; /* of those it receives; 0 none */
	_Atomic unsigned floor[NANET3_LINKS];	   /* how the floor names itself */
	_Atomic unsigned offset[NANET3_LINKS];	   /* where its frames begin in the board's cells */
	_Atomic uint64_t damaged[NANET3_LINKS];	   /* frames so far */
	_Atomic uint64_t damaged_down[NANET3_LINKS];
};

/* Shared with all children. */
struct rig_control *rig_control_create(void);
/* The host's process, ready to serve; dies with its parent. */
pid_t rig_host_start(const struct host_config *config, struct rig_control *control);
void rig_host_end(pid_t pid, int signal);

/* The label that the floors' time words agree with. */
struct label rig_label(uint32_t time_epoch);

/* What a consumer has seen of a link's stream. */
#define RIG_SEEN      16384u
#define RIG_IN_FLIGHT 4000u /* frames: a ring of 500 ms */
struct rig_stream {
	bool begun, clean; /* clean: no hit is missing up to here */
	uint8_t floor;
	uint64_t next_frame;
	uint64_t next_hit[6];
	_Atomic uint64_t blocks; /* tests look at it while blocks come */
	uint64_t repeats, unflagged, different, holes, bad, gaps, items, faults;
	uint64_t frames, frames_missing;
	uint32_t cable_delay_ns, block_frames; /* of the last block */
	/* Of the last blocks, whatever their length: where they begin, are they gaps, and of whom. */
	struct {
		uint64_t which;
		uint32_t frames, crc;
	} seen[RIG_SEEN];
	uint64_t first[RIG_SEEN]; /* frame, of the last block with a number */
};
struct rig_consumer {
	struct rig_stream stream[NANET3_LINKS][FCM_STREAMS];
	uint64_t bytes[NANET3_LINKS]; /* of payload, all streams */
	char complaint[200];	      /* the first error */
};
void rig_consume(struct rig_consumer *c, const struct fcm_block_header *header,
		 const uint8_t *payload);

/* Ledger rows as they were last told, closed ones apart. */
#define RIG_ROWS 128u
struct rig_rows {
	struct ledger_link_row link[NANET3_LINKS][RIG_ROWS]; /* by second % RIG_ROWS */
	struct ledger_stream_row stream[NANET3_LINKS][FCM_STREAMS][GROUPS_MAX][RIG_ROWS];
	unsigned closed_twice; /* with other sums */
};
void rig_link_row(struct rig_rows *r, const struct ledger_link_row *row);
void rig_stream_row(struct rig_rows *r, const struct ledger_stream_row *row);
