/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How often each value came: exact for whole values below a limit, folded into a few bins for a terminal. No I/O.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define TALLY_BINS 16u

struct tally {
	uint32_t *count; /* by value; memory is used where values are */
	uint32_t values; /* the limit: what is not below it counts as the last */
	uint64_t entries, sum;
	uint32_t least, greatest; /* of the values, if there are any */
};

/* 0 or -ENOMEM. */
int tally_init(struct tally *t, uint32_t values);
void tally_fini(struct tally *t);
void tally_add(struct tally *t, uint64_t value);
/* The least value that half of the entries, or more, do not exceed; 0 without entries. */
uint32_t tally_median(const struct tally *t);

/* Bins of one width, side by side; `below` and `above` is what is outside. */
struct tally_fold {
	unsigned bins; /* 0 without entries */
	uint32_t first, width;
	uint64_t count[TALLY_BINS], below, above;
};
/* The bins cover all but the lowest and the highest half per cent of the entries, and reach at most three times the distance of the
 * lowest tenth from the highest beyond either. Their width is 1, 2 or 5 times a power of ten, and the first begins at a
 * multiple of it. */
void tally_fold(const struct tally *t, struct tally_fold *ret_fold);
