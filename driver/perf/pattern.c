/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Patterns of the self-test, and their comparison: see pattern.h. */
#include "driver/perf/pattern.h"

#include <string.h>

const char *pattern_name(enum pattern pattern)
{
	static const char *const names[PATTERNS] = {"walking ones", "counter", "random"};

	return pattern < PATTERNS ? names[pattern] : "?";
}

uint64_t pattern_random(uint64_t *state)
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
		return pattern_random(state);
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
