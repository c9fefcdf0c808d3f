/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blocks in memory for the tests of the converter: of one module's hits, of a hydrophone's samples, of an instrument's bytes,
 * or of nothing.
 */
#pragma once

#include "daemon/consumer/fcmdata.h"

#define RIG_TAI	   1795194047000000000ll /* of frame RIG_FIRST of every floor */
#define RIG_FIRST  (1600ull * 5000)
#define RIG_FRAMES 4u

/* The block that the calls below fill; valid until the next rig_begin(). */
const struct fcmdata_block *rig_begin(enum fcm_stream stream, unsigned link, uint64_t first_frame);
struct fcmdata_block *rig_block(void);
/* What became of its frames: a reason a letter's place, '.' good, else a digit. */
void rig_status(const char *status);
/* The next hit of module 0 in frame 0: its samples are first, first + 1, ... */
void rig_hit(unsigned t5ns, unsigned samples, bool zip, uint16_t first);
/* What a channel of an instrument block got in a frame; frame after frame, channel after channel. */
void rig_bytes(unsigned channel, unsigned frame, const void *bytes, size_t n);
/* Frames of hydrophone 0 or 1 that have samples: one character a frame, '.' none. Sample i of all is `first` + i. */
void rig_sound(unsigned hydrophone, const char *frames, int32_t first);
