/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The self-test of the board's DMA to another place in memory (a "put"): copies patterns from a source to
 * a destination buffer, at unaligned offsets and with lengths that cross pages, and compares each copy bit
 * for bit. The destination's bytes before and after it must not change. Knows no board: the caller's
 * move() copies the bytes, so that tests can run it without one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SELFTEST_LONGEST 65536u				/* bytes of a put */
#define SELFTEST_BYTES	 (SELFTEST_LONGEST + 4 * 4096u) /* of each buffer */

enum pattern {
	PATTERN_WALKING_ONES, /* one bit in a byte, wandering: lines that stick or touch */
	PATTERN_COUNTER,      /* number of the 32-bit word: what lies in another's place */
	PATTERN_RANDOM,	      /* by seed */
	PATTERNS,
};

void pattern_fill(uint8_t *bytes, size_t count, enum pattern pattern, uint64_t seed);

struct difference {
	size_t first; /* byte */
	uint8_t is, should;
	size_t count; /* bytes that differ; 0: none does, the rest is not set */
};
struct difference pattern_compare(const uint8_t *is, const uint8_t *should, size_t count);

struct selftest_put {
	enum pattern pattern;
	uint64_t source_offset, destination_offset, length;
};

struct selftest_failure {
	uint64_t number; /* of the put, from 0 */
	struct selftest_put put;
	uint64_t offset; /* of the first byte that differs, in the destination buffer */
	bool outside;	 /* of what was to be written */
	uint8_t is, should;
	uint64_t wrong; /* bytes that differ */
};

struct selftest {
	uint8_t *source, *destination; /* SELFTEST_BYTES each */
	uint64_t seed;
	unsigned random; /* puts of random shape after the fixed ones */
	/* Move the bytes; returns when they are there. 0 or -errno, which ends the test. */
	int (*move)(void *context, const struct selftest_put *put);
	/* Called for each failure; true: continue. */
	bool (*failed)(void *context, const struct selftest_failure *failure);
	void *context;
};

struct selftest_result {
	uint64_t puts, bytes, failures;
};

/* 0 when it ran, well or not; -ENOMEM, or what move() said. *ret_result is what was done until then. */
int selftest_run(const struct selftest *test, struct selftest_result *ret_result);

/* A failure in words, one line: which byte, at what offset, of which put. */
void selftest_describe(const struct selftest_failure *failure, char *ret_text, size_t size);
