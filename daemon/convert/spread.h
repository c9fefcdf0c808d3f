/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From a slice to the rows of the output: hits with their waveforms, blocks, groups, samples of hydrophones in pieces,
 * telemetry, the serial tunnel. Knows where each stands; nothing of files.
 */
#pragma once

#include "daemon/convert/output/sink.h"
#include "daemon/convert/slice.h"

struct spread_sound {
	bool used, open; /* `piece` may go on */
	uint32_t time_epoch;
	uint64_t samples; /* so far */
	struct out_piece piece;
};

/* Kept with a commit as it is: no pointers. */
struct spread_state {
	uint64_t blocks, groups, hits, waveform, serial_bytes;
	struct spread_sound sounds[SOUNDS_MAX];
};

struct spread;

/* `state`: the caller's, all 0 at the beginning. -ENOMEM. */
int spread_create(struct spread_state *state, struct sink *sink, struct spread **ret_spread);
void spread_destroy(struct spread *s);

/* An ordered slice. 0; the sink's error; -E2BIG: more hydrophones than a board can have. */
int spread_slice(struct spread *s, const struct slice *slice);
/* The pieces that are open end. */
int spread_end(struct spread *s);
