/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Walks over all hits of a slot with vector instructions: see hit_run.h. A header is 16 bytes, a
 * register. Nothing is decided hit by hit: what is wrong with any, and when the first and the last
 * were born, is gathered and looked at behind the last. Only the way to the next hit is not: its
 * length is bounded whatever it says, and compared with what is left. Each length has to wait for
 * the one before; of two runs side by side the processor follows both in little more than the time
 * of one.
 *
 *   16-bit lane   0    1      2      3               4  5          6  7
 *   header        id   sync   T5ns   FrameCounter,   time of day   shape
 *                                    time of day
 */
#include "tdm/hit_run.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

#include "tdm/hit.h"

#ifdef __x86_64__

#define WITH_AVX  __attribute__((target("avx,bmi2")))
#define BORN_LANE 1 /* of 32 bits */

struct walker {
	const uint8_t *from;
	uint8_t *copy;
	uint32_t left, hits, longest;
	__m128i wrong, earliest, latest;
};

static inline WITH_AVX struct walker begin(const struct hit_run *r)
{
	return (struct walker){
		.from = r->from,
		.copy = r->copy,
		.left = r->bytes,
		.wrong = _mm_setzero_si128(),
		.earliest = _mm_set1_epi32(-1),
		.latest = _mm_setzero_si128(),
	};
}

/* One hit further; false: no whole one is left. */
static inline WITH_AVX bool step(struct walker *w, __m128i stamp)
{
	const __m128i sync = _mm_setr_epi16(0, (short)HIT_SYNC, 0, 0, 0, 0, 0, 0);
	const __m128i looked_at = _mm_setr_epi16(0, -1, -1, 0x1fff, 0, 0, 0, 0);
	const __m128i most = _mm_setr_epi16(0, 0, HIT_T5NS_MAX, HIT_FRAME_MAX, 0, 0, 0, 0);
	const __m128i kept = _mm_setr_epi16(-1, -1, -1, 0x1fff, 0, 0, -1, -1);
	__m128i header = _mm_loadu_si128((const __m128i *)(const void *)w->from);
	__m128i born = _mm_and_si128(_mm_xor_si128(header, sync), looked_at);
	uint32_t length = hit_bytes(w->from);

	if (length > w->left) {
		return false;
	}
	w->wrong = _mm_or_si128(w->wrong, _mm_subs_epu16(born, most));
	w->earliest = _mm_min_epu32(w->earliest, born);
	w->latest = _mm_max_epu32(w->latest, born);
	_mm_storeu_si128((__m128i *)(void *)w->copy,
			 _mm_or_si128(_mm_and_si128(header, kept), stamp));
	w->longest = length > w->longest ? length : w->longest;
	w->hits++;
	w->left -= length;
	w->from += length;
	w->copy += length;
	return true;
}

static inline WITH_AVX bool end(const struct walker *w, struct hit_run *r)
{
	r->hits = w->hits;
	r->left = w->left;
	r->earliest = (uint32_t)_mm_extract_epi32(w->earliest, BORN_LANE);
	r->latest = (uint32_t)_mm_extract_epi32(w->latest, BORN_LANE);
	return _mm_testz_si128(w->wrong, w->wrong) && w->longest <= HIT_MAX_BYTES &&
	       (w->left < HIT_HEADER_BYTES || hit_walk_look(w->from).legal);
}

static WITH_AVX bool one(struct hit_run *r, uint64_t stamp_bits)
{
	const __m128i stamp = _mm_slli_si128(_mm_cvtsi64_si128((long long)stamp_bits), 4);
	struct walker w = begin(r);

	while (step(&w, stamp)) {
	}
	return end(&w, r);
}

static WITH_AVX bool two(struct hit_run *runs, uint64_t stamp_bits)
{
	const __m128i stamp = _mm_slli_si128(_mm_cvtsi64_si128((long long)stamp_bits), 4);
	struct walker a = begin(&runs[0]), b = begin(&runs[1]);
	bool well;

	while (step(&a, stamp) & step(&b, stamp)) {
	}
	while (step(&a, stamp)) {
	}
	while (step(&b, stamp)) {
	}
	well = end(&a, &runs[0]);
	return end(&b, &runs[1]) && well;
}

bool hit_run(struct hit_run *runs, unsigned n, uint64_t stamp_bits)
{
	if (!__builtin_cpu_supports("avx") || !__builtin_cpu_supports("bmi2")) {
		return false;
	}
	return n == 1 ? one(&runs[0], stamp_bits) : two(runs, stamp_bits);
}

#else /* hit.h does it hit by hit */

bool hit_run(struct hit_run *runs, unsigned n, uint64_t stamp_bits)
{
	return false;
}

#endif
