/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The self-test: its patterns, puts and checks, independent of a board. See selftest.h. */
#include "driver/perf/selftest.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE  4096u
#define GUARD 256u /* bytes before and behind that must stay as they were */

/* ------------------------------------------------------------------------ patterns */

/* The next of a sequence of random numbers (splitmix64, public domain, S. Vigna). */
static uint64_t next_random(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15u);

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

/* Eight bytes of a pattern. */
static uint64_t word_of(enum pattern pattern, uint64_t index, uint64_t *state)
{
	uint64_t word = 0;

	switch (pattern) {
	case PATTERN_WALKING_ONES: /* each byte its own bit, and each word one further */
		for (unsigned i = 0; i < 8; i++) {
			word |= 1ull << (8 * i + (i + index) % 8);
		}
		return word;
	case PATTERN_COUNTER:
		return (2 * index + 1) << 32 | (uint32_t)(2 * index);
	default:
		return next_random(state);
	}
}

void pattern_fill(uint8_t *bytes, size_t count, enum pattern pattern, uint64_t seed)
{
	for (size_t i = 0; i < count; i += 8) {
		uint64_t word = word_of(pattern, i / 8, &seed);

		memcpy(bytes + i, &word, count - i < 8 ? count - i : 8);
	}
}

struct difference pattern_compare(const uint8_t *is, const uint8_t *should, size_t count)
{
	struct difference d = {0};

	if (memcmp(is, should, count) == 0) {
		return d;
	}
	for (size_t i = 0; i < count; i++) {
		if (is[i] == should[i]) {
			continue;
		}
		if (d.count++ == 0) {
			d.first = i;
			d.is = is[i];
			d.should = should[i];
		}
	}
	return d;
}

/* ------------------------------------------------------------------------ puts */

struct run {
	const struct selftest *test;
	struct selftest_result *result;
	uint8_t *image; /* what the destination should hold */
	uint64_t random;
	bool ended;
};

static int one_put(struct run *r, const struct selftest_put *put)
{
	const struct selftest *t = r->test;
	uint64_t low = put->destination_offset < GUARD ? 0 : put->destination_offset - GUARD;
	uint64_t end = put->destination_offset + put->length, high = end + GUARD;
	struct difference d;
	int err;

	high = high > SELFTEST_BYTES ? SELFTEST_BYTES : high;
	/* Each byte begins as the complement of what it shall become: what is not written is seen. */
	pattern_fill(r->image + low, high - low, PATTERN_RANDOM, r->random);
	memcpy(t->destination + low, r->image + low, high - low);
	pattern_fill(t->source + put->source_offset, put->length, put->pattern, r->random);
	memcpy(r->image + put->destination_offset, t->source + put->source_offset, put->length);
	for (uint64_t i = put->destination_offset; i < end; i++) {
		t->destination[i] = (uint8_t)~r->image[i];
	}
	err = t->move(t->context, put);
	if (err < 0) {
		return err;
	}
	d = pattern_compare(t->destination + low, r->image + low, high - low);
	if (d.count > 0) {
		struct selftest_failure failure = {
			.number = r->result->puts,
			.put = *put,
			.offset = low + d.first,
			.outside = low + d.first < put->destination_offset || low + d.first >= end,
			.is = d.is,
			.should = d.should,
			.wrong = d.count,
		};

		r->result->failures++;
		r->ended = !t->failed(t->context, &failure);
	}
	r->result->puts++;
	r->result->bytes += put->length;
	return 0;
}

/* Lengths round words, packets and pages, at offsets that make them cross page borders on either
 * side, both, or none. */
static int fixed_puts(struct run *r)
{
	static const uint32_t lengths[] = {1,	 2,    3,    7,	   8,	 9,	63,    64,   65,
					   1000, 4095, 4096, 4097, 8191, 12289, 20000, 65536};
	static const uint32_t offsets[] = {0, 1, 7, 2049, PAGE - 1};
	const size_t n = sizeof(offsets) / sizeof(offsets[0]);

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]) * n * n * PATTERNS; i++) {
		struct selftest_put put = {
			.pattern = (enum pattern)(i % PATTERNS),
			.source_offset = offsets[i / PATTERNS % n],
			.destination_offset = offsets[i / PATTERNS / n % n],
			.length = lengths[i / PATTERNS / n / n],
		};
		int err = one_put(r, &put);

		if (err < 0 || r->ended) {
			return err;
		}
		(void)next_random(&r->random);
	}
	return 0;
}

static int random_puts(struct run *r)
{
	for (unsigned i = 0; i < r->test->random; i++) {
		struct selftest_put put = {.pattern = PATTERN_RANDOM};
		int err;

		/* Short ones as often as long ones. */
		put.length =
			1 + next_random(&r->random) % (1u << (1 + next_random(&r->random) % 16));
		put.source_offset = next_random(&r->random) % (SELFTEST_BYTES - put.length + 1);
		put.destination_offset =
			next_random(&r->random) % (SELFTEST_BYTES - put.length + 1);
		err = one_put(r, &put);
		if (err < 0 || r->ended) {
			return err;
		}
	}
	return 0;
}

int selftest_run(const struct selftest *test, struct selftest_result *ret_result)
{
	struct run r = {
		.test = test,
		.result = ret_result,
		.image = malloc(SELFTEST_BYTES),
		.random = test->seed,
	};
	int err;

	*ret_result = (struct selftest_result){0};
	if (r.image == NULL) {
		return -ENOMEM;
	}
	err = fixed_puts(&r);
	if (err == 0 && !r.ended) {
		err = random_puts(&r);
	}
	free(r.image);
	return err;
}

void selftest_describe(const struct selftest_failure *f, char *ret_text, size_t size)
{
	static const char *const names[PATTERNS] = {"walking ones", "counter", "random"};
	int64_t at = (int64_t)(f->offset - f->put.destination_offset);

	snprintf(ret_text, size,
		 "put %" PRIu64 " (%s, %" PRIu64 " bytes, source offset %" PRIu64
		 ", destination offset %" PRIu64 "): byte %" PRId64
		 " of it%s, at destination offset %" PRIu64
		 ", is 0x%02x, should be 0x%02x, bits 0x%02x; %" PRIu64 " bytes differ",
		 f->number, names[f->put.pattern], f->put.length, f->put.source_offset,
		 f->put.destination_offset, at, f->outside ? ", outside" : "", f->offset, f->is,
		 f->should, f->is ^ f->should, f->wrong);
}
