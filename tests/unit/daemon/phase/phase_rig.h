// SPDX-License-Identifier: GPL-2.0-or-later
/* A link in virtual time, for tests of its phase: a total delay, jitter, and what the board's registers make of it.
 * Seeded. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/phase/phase.h"

#define TENTH	 100000000ull
#define FRAME_PS 125000000.0

#define assert_near(value, expected, reach)                                                        \
	assert_float_equal((float)((value) - (expected)), 0, (float)(reach))

struct link {
	struct phase *phase;
	double total_ps; /* without the bits */
	double drift_ps_per_s;
	double sigma_ps;
	unsigned bits;
	unsigned aligns, measurements;
	bool dark;
	bool tear; /* bytes and phase are read at different moments: off by one near a wrap */
	uint64_t now_ns;
	uint64_t random;
	unsigned judgements, rows;
	struct phase_judgement judgement;
	struct phase_row row;
};

/* Tolerance 100 ps, drift 300 ps, five samples to judge a lock. The first sample is at 5 s. */
void setup(struct link *l, double total_ps, double sigma_ps);
void teardown(struct link *l);

/* Samples, a tenth of a second apart. */
void run(struct link *l, unsigned samples);
/* A sample of `total_ps` behind six frames, `ns` after the last one. */
void tell(struct link *l, double total_ps, uint64_t ns);
void relock(struct link *l);
struct phase_view view(const struct link *l);
