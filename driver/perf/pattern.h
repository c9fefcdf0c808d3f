/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Patterns that the self-test writes, and the comparison with what arrived. */
#ifndef PERF_PATTERN_H
#define PERF_PATTERN_H

#include <stddef.h>
#include <stdint.h>

enum pattern {
	PATTERN_WALKING_ONES, /* one bit in a byte, wandering: lines that stick or touch */
	PATTERN_COUNTER,      /* number of the 32-bit word: what lies in another's place */
	PATTERN_RANDOM,	      /* by seed */
	PATTERNS,
};

const char *pattern_name(enum pattern pattern);
void pattern_fill(uint8_t *bytes, size_t count, enum pattern pattern, uint64_t seed);
/* The next of a sequence of random numbers (splitmix64, public domain, S. Vigna). */
uint64_t pattern_random(uint64_t *state);

struct difference {
	size_t first; /* byte */
	uint8_t is, should;
	size_t count; /* bytes that differ; 0: none does, the rest is not set */
};
struct difference pattern_compare(const uint8_t *is, const uint8_t *should, size_t count);

#endif
