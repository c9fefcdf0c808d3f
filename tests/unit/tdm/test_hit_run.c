/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Hits by the million: at a glance, and by the slot, they are what hit.h says. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tdm/frame.h"
#include "tdm/hit_run.h"
#include "tdm/hit.h"
#include "tdm/le.h"

static uint64_t dice;
static uint32_t roll(void)
{
	dice = dice * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(dice >> 33);
}

/* What hit.h finds in a run, hit by hit. False: a hit that is none. */
static bool look(struct hit_run *r, uint64_t stamp_bits, uint8_t *stamped)
{
	const uint8_t *p = r->from;

	r->left = r->bytes;
	r->hits = 0;
	memcpy(stamped, r->from, r->bytes);
	for (; r->left >= HIT_HEADER_BYTES; r->hits++) {
		struct hit_walk w = hit_walk_look(p);

		if (!w.legal) {
			return false;
		}
		if (w.bytes > r->left) {
			return true;
		}
		hit_walk_stamp(stamped + (p - r->from), w.time, stamp_bits);
		r->earliest = r->hits == 0 || w.born < r->earliest ? w.born : r->earliest;
		r->latest = r->hits == 0 || w.born > r->latest ? w.born : r->latest;
		r->left -= w.bytes;
		p += w.bytes;
	}
	return true;
}

/* Some hits, the last cut off anywhere; every eighth run has a byte that is not what it was. */
static uint32_t some_hits(uint8_t *to)
{
	uint32_t bytes = 0, room = roll() % TDM_PMT_STREAM;

	while (bytes < room) {
		uint8_t *p = to + bytes;

		for (unsigned i = 0; i < HIT_MAX_BYTES; i++) {
			p[i] = (uint8_t)roll();
		}
		le16_put(p + 2, HIT_SYNC);
		le64_put(p + 4, (uint64_t)roll() << 31 | (roll() % (HIT_FRAME_MAX + 1)) << 16 |
					roll() % (HIT_T5NS_MAX + 1));
		p[12] = (uint8_t)(roll() % 37);
		bytes += (uint32_t)hit_bytes(p);
	}
	if (roll() % 8 == 0 && room > 0) {
		to[roll() % room] ^= (uint8_t)(1u << roll() % 8);
	}
	return room;
}

static void test_run_is_walk(void **state)
{
	static uint8_t from[2][TDM_PMT_STREAM + 2 * HIT_MAX_BYTES], copy[2][sizeof(from[0])],
		stamped[2][sizeof(from[0])];
	struct hit_run nothing = {.from = from[0], .copy = copy[0]};
	unsigned well = 0;

	if (!hit_run(&nothing, 1, 0)) {
		skip(); /* a processor that has not what it takes */
	}
	for (unsigned i = 0; i < 40000; i++) {
		struct hit_stamp stamp = {roll() % 86400, (uint16_t)(roll() % 0x366), 0x26};
		uint64_t bits = hit_walk_stamp_bits(&stamp);
		unsigned n = 1 + roll() % 2;
		struct hit_run quick[2], slow[2];
		bool legal = true;

		for (unsigned k = 0; k < n; k++) {
			quick[k] = (struct hit_run){.from = from[k], .copy = copy[k]};
			quick[k].bytes = some_hits(from[k]);
			slow[k] = quick[k];
			memcpy(copy[k], from[k], sizeof(from[k]));
			legal &= look(&slow[k], bits, stamped[k]);
		}
		assert_int_equal(hit_run(quick, n, bits), legal);
		for (unsigned k = 0; legal && k < n; k++) {
			assert_int_equal(quick[k].hits, slow[k].hits);
			assert_int_equal(quick[k].left, slow[k].left);
			assert_memory_equal(copy[k], stamped[k], slow[k].bytes);
			if (slow[k].hits > 0) {
				assert_int_equal(quick[k].earliest, slow[k].earliest);
				assert_int_equal(quick[k].latest, slow[k].latest);
			}
		}
		well += legal;
	}
	assert_in_range(well, 20000, 39999);
}

/* The fields that are looked at are those that hit_unpack() finds, and a stamp is what it reads back. */
static void test_walk_is_hit(void **state)
{
	unsigned well = 0;

	for (unsigned i = 0; i < 200000; i++) {
		struct hit_stamp stamp = {roll() % 86400, (uint16_t)(roll() % 0x366), 0x26};
		uint8_t bytes[HIT_HEADER_BYTES], was[HIT_HEADER_BYTES], wanted[HIT_HEADER_BYTES];
		struct hit_walk w;
		struct hit h;
		uint32_t length;

		for (unsigned b = 0; b < sizeof(bytes); b++) {
			bytes[b] = (uint8_t)roll();
		}
		if (i % 2) {
			le16_put(bytes + 2, HIT_SYNC);
			le16_put(bytes + 4, (uint16_t)(roll() % 25100));
		}
		memcpy(was, bytes, sizeof(bytes));
		hit_unpack(bytes, &h);
		w = hit_walk_look(bytes);
		length = HIT_HEADER_BYTES + h.samples * (h.zip ? 1u : 2u);
		assert_int_equal(w.bytes, length);
		assert_int_equal(w.born, (uint32_t)h.frame << 16 | h.t5ns);
		assert_int_equal(w.legal,
				 le16_get(bytes + 2) == HIT_SYNC && h.t5ns <= HIT_T5NS_MAX &&
					 h.frame <= HIT_FRAME_MAX && length <= HIT_MAX_BYTES);
		well += w.legal;
		hit_walk_stamp(bytes, w.time, hit_walk_stamp_bits(&stamp));
		h.second = stamp.second;
		h.day_bcd = stamp.day_bcd;
		h.year_bcd = stamp.year_bcd;
		hit_pack(&h, wanted);
		assert_memory_equal(bytes + 4, wanted + 4, 8);
		assert_memory_equal(bytes, was, 4);
		assert_memory_equal(bytes + 12, was + 12, 4);
	}
	assert_true(well > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_run_is_walk),
		cmocka_unit_test(test_walk_is_hit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
