/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The deframer under random slips, damage, gaps and push sizes. Whatever is done to the fibre:
 *   - every cell gets one verdict, in order, and a good frame is the one that was sent (the rig's
 *     own checks);
 *   - every frame that was not touched and is not near a place where alignment or numbering was
 *     broken is delivered;
 *   - the verdicts do not depend on how the cells were cut into pushes.
 * And garbage of every kind crashes nothing (run it under ASan).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tdm/hit.h"
#include "tdm/word.h"
#include "tests/unit/tdm/deframe_rig.h"
#include "tests/system/stamped_hit.h"

#define TRIALS	 60u
#define FRAMES	 250u
#define SEGMENTS 400u
/* Untouched frames behind a place of trouble after which all must be well again: 3 misses, up to 3
 * frames for a false header, 3 to confirm, 3 for the numbering; 16 when a copy of the header may have
 * come to stand where the header was. */
#define SETTLED(r) ((r)->copy_header_at == 0 ? 12u : 28u)

enum harm { UNHARMED, DAMAGED, NO_SYNC, RENUMBERED };

struct trial {
	struct rig *r;
	enum harm harm[RIG_FRAMES];
	bool trouble
		[RIG_FRAMES]; /* the stream was cut, filled or went dark before or in this frame */
	struct {
		unsigned cells;
		enum tdm_loss gap; /* TDM_GOOD: a push */
	} plan[SEGMENTS];
	unsigned segments;
	/* one in so many frames, 0 = never */
	unsigned slip_rate, damage_rate, sync_rate, number_rate, gap_rate;
};

static unsigned pick(struct rig *r, unsigned n, const unsigned *from)
{
	return from[rig_random(r, n)];
}

static bool happens(struct trial *t, unsigned rate)
{
	return rate > 0 && rig_random(t->r, rate) == 0;
}

/* ------------------------------------------------------------------------------ laying a sea */

static void lay_headers(struct rig *r, unsigned n)
{
	uint8_t header[TDM_HEADER_BYTES];

	if (r->laid == 0) {
		return;
	}
	memcpy(header, r->frames + (size_t)(r->laid - 1) * TDM_FRAME_BYTES, sizeof(header));
	for (unsigned i = 0; i < n; i++) {
		rig_lay_bytes(r, header, sizeof(header));
	}
}

static void slip(struct trial *t)
{
	static const unsigned lengths[] = {1, 2, 31, 32, 33, 9968, 9999, 10000, 10001, 20000};
	static const uint8_t partial[] = {0xbc, 0xf6, 0x28, 0xbc, 0xf6, 0xbc};
	struct rig *r = t->r;
	size_t length = rig_random(r, 2) ? pick(r, 10, lengths) : 1 + rig_random(r, 15000);

	t->trouble[r->laid] = true;
	switch (rig_random(r, 4)) {
	case 0:
		rig_lay_bytes(r, NULL, length);
		break;
	case 1:
		lay_headers(r, 1 + (unsigned)rig_random(r, 300));
		break;
	case 2:
		for (unsigned i = 0; i < 1 + length / 100; i++) {
			rig_lay_bytes(r, partial, sizeof(partial));
		}
		break;
	default:
		if (r->bytes > 40000) {
			rig_cut(r, length);
			for (uint32_t i = r->laid; i-- > 0 && r->place[i] == RIG_NOWHERE;) {
				t->trouble[i] = true;
			}
		}
	}
}

static void lay_sea(struct trial *t)
{
	struct rig *r = t->r;

	if (rig_random(r, 3) > 0) {
		rig_lay_bytes(r, NULL, rig_random(r, TDM_FRAME_BYTES));
	}
	if (rig_random(r, 4) == 0) {
		r->copy_header_at = 32 + 8 * (unsigned)rig_random(r, 1200);
	}
	for (unsigned i = 0; i < FRAMES; i++) {
		if (happens(t, t->slip_rate)) {
			slip(t);
		}
		if (happens(t, t->number_rate)) {
			t->harm[r->laid] = RENUMBERED;
			rig_lay_numbered(r, (uint16_t)rig_random(r, 8192));
			continue;
		}
		rig_lay(r, 1);
		if (happens(t, t->damage_rate)) {
			t->harm[i] = DAMAGED;
			rig_damage(r, i, 4 + (unsigned)rig_random(r, TDM_FRAME_BYTES - 4));
		}
		if (happens(t, t->sync_rate)) {
			t->harm[i] = NO_SYNC;
			rig_damage(r, i, (unsigned)rig_random(r, 4));
		}
	}
}

/* Where the board will lose cells; the same for all ways of pushing. */
static void plan(struct trial *t)
{
	struct rig *r = t->r;
	size_t cells = r->bytes / TDM_FRAME_BYTES, begin = 0;

	while (begin < cells && t->segments < SEGMENTS) {
		bool gap = happens(t, t->gap_rate);
		size_t n = 1 + rig_random(r, gap ? 4 : 20);
		enum tdm_loss loss = gap ? (enum tdm_loss)(1 + rig_random(r, 3)) : TDM_GOOD;

		n = n < cells - begin ? n : cells - begin;
		t->plan[t->segments].cells = (unsigned)n;
		t->plan[t->segments++].gap = loss;
		begin += n;
	}
}

static struct trial *trial_create(unsigned number)
{
	static const unsigned rates[] = {0, 0, 8, 25, 60};
	struct trial *t = calloc(1, sizeof(*t));

	assert_non_null(t);
	t->r = rig_create(8000 + 1234 * number, number + 1);
	for (unsigned i = 0; i < 8; i++) { /* xorshift begins slowly */
		rig_random(t->r, 2);
	}
	t->slip_rate = pick(t->r, 5, rates) * 2;
	t->damage_rate = pick(t->r, 5, rates);
	t->sync_rate = pick(t->r, 5, rates);
	t->number_rate = pick(t->r, 5, rates);
	t->gap_rate = pick(t->r, 4, (const unsigned[]){0, 3, 10, 2});
	lay_sea(t);
	plan(t);
	return t;
}

static void trial_destroy(struct trial *t)
{
	rig_destroy(t->r);
	free(t);
}

static void trial_feed(struct trial *t, unsigned each)
{
	for (unsigned i = 0; i < t->segments; i++) {
		if (t->plan[i].gap == TDM_GOOD) {
			rig_feed(t->r, t->plan[i].cells, each);
			continue;
		}
		if (t->plan[i].gap == TDM_LOSS_LINK_DOWN) {
			for (uint32_t f = 0; f < t->r->laid; f++) {
				size_t place = t->r->place[f];

				if (place != RIG_NOWHERE && place + TDM_FRAME_BYTES > t->r->fed) {
					t->trouble[f] = true;
					break;
				}
			}
		}
		rig_gap(t->r, t->plan[i].cells, t->plan[i].gap);
	}
}

/* ----------------------------------------------------------------------------- what must hold */

static bool has(const struct rig *r, uint32_t frame, uint8_t what)
{
	return memchr(r->broken + r->place[frame], what, TDM_FRAME_BYTES) != NULL;
}

static unsigned check_delivered(const struct trial *t)
{
	const struct rig *r = t->r;
	unsigned clean = 0, misses = 0, demanded = 0;
	bool settled = false;

	for (uint32_t i = 0; i < r->laid; i++) {
		bool here = r->place[i] != RIG_NOWHERE, lost = here && has(r, i, RIG_LOST);
		bool whole = here && !lost && t->harm[i] == UNHARMED;

		if (here && r->place[i] + TDM_FRAME_BYTES > r->fed) {
			break;
		}
		misses = t->harm[i] == NO_SYNC ? misses + 1 : lost ? misses : 0;
		if (t->trouble[i] || !here || misses >= 3) {
			settled = false;
			clean = 0;
		}
		clean = whole ? clean + 1 : 0;
		if (clean > SETTLED(r)) {
			settled = true;
		}
		if (settled && whole) {
			demanded++;
			assert_int_not_equal(r->good_count[i], 0);
		}
		if (!whole) {
			assert_int_equal(r->good_count[i], 0);
		}
	}
	return demanded;
}

static void check_sums(const struct rig *r)
{
	struct tdm_deframe_stats s;
	uint64_t sum = 0;

	tdm_deframe_stats(r->d, &s);
	for (unsigned i = 0; i < TDM_LOSSES; i++) {
		sum += s.cells[i];
	}
	assert_int_equal(sum, r->verdicts);
	assert_int_equal(s.cells[TDM_GOOD], r->goods);
	assert_true(sum == r->fed / TDM_FRAME_BYTES || sum + 1 == r->fed / TDM_FRAME_BYTES);
	assert_int_equal(s.locks - s.unlocks, s.state == TDM_LOCKED);
	/* Some of the last bytes wait for more; a frame that failed to confirm counts once. */
	assert_true(s.hunted_bytes <= r->fed);
	assert_int_equal(s.steps <= s.cells[TDM_LOSS_TIME] + s.locks, 1);
}

static void check_same(const struct rig *a, const struct rig *b)
{
	assert_int_equal(a->verdicts, b->verdicts);
	for (unsigned i = 0; i < a->verdicts; i++) {
		assert_int_equal(a->log[i].count, b->log[i].count);
		assert_int_equal(a->log[i].loss, b->log[i].loss);
		assert_int_equal(a->log[i].floor_frame, b->log[i].floor_frame);
		assert_int_equal(a->log[i].offset, b->log[i].offset);
		assert_int_equal(a->log[i].step, b->log[i].step);
		assert_int_equal(a->log[i].has_header, b->log[i].has_header);
		assert_int_equal(a->log[i].sequence, b->log[i].sequence);
	}
}

static void test_property(void **state)
{
	static const unsigned each[] = {0, 1, 16, 0};
	unsigned demanded = 0;

	for (unsigned number = 0; number < TRIALS; number++) {
		struct trial *first = trial_create(number);

		for (unsigned i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
			struct trial *t = i == 0 ? first : trial_create(number);

			trial_feed(t, each[i]);
			demanded += check_delivered(t);
			check_sums(t->r);
			check_same(first->r, t->r);
			if (i > 0) {
				trial_destroy(t);
			}
		}
		trial_destroy(first);
	}
	/* The test itself would be worth nothing if hardly a frame had to come. */
	print_message("[          ] %u of %u frames had to come, and came\n", demanded,
		      (unsigned)(TRIALS * FRAMES * 4));
	assert_true(demanded > TRIALS * FRAMES * 4 / 4);
}

/* ----------------------------------------------------------------------------------- garbage */

struct garbage {
	struct rig *r; /* for its random numbers and headers */
	uint64_t next;
	uint64_t verdicts, goods;
	uint32_t sum;
};

static void take_anything(void *context, const struct tdm_verdict *v)
{
	struct garbage *g = context;

	assert_int_equal(v->count, g->next);
	g->next++;
	g->verdicts++;
	if (v->loss == TDM_GOOD) {
		g->goods++;
		g->sum ^= tdm_crc32c(v->frame, TDM_FRAME_BYTES);
	}
}

static void fill(struct garbage *g, uint8_t *bytes, size_t length)
{
	static const uint8_t alphabet[] = {0xbc, 0xf6, 0x28, TDM_VERSION, 0xbc, 0};
	unsigned letters = 1 + (unsigned)rig_random(g->r, sizeof(alphabet));
	unsigned headers = (unsigned)rig_random(g->r, 3) * (unsigned)rig_random(g->r, 60);
	bool any = rig_random(g->r, 2);

	for (size_t i = 0; i < length; i++) {
		bytes[i] =
			any ? (uint8_t)rig_random(g->r, 256) : alphabet[rig_random(g->r, letters)];
	}
	for (unsigned i = 0; i < headers; i++) {
		const uint8_t *frame =
			g->r->frames + rig_random(g->r, g->r->laid) * TDM_FRAME_BYTES;
		size_t n = rig_random(g->r, 4) ? TDM_HEADER_BYTES : TDM_FRAME_BYTES;
		size_t at = rig_random(g->r, length);

		memcpy(bytes + at, frame, n < length - at ? n : length - at);
	}
}

static void test_garbage_cells(void **state)
{
	struct garbage g = {.r = rig_create(100, 77)};
	struct tdm_deframe_stats s;
	uint8_t *bytes[4] = {NULL};
	uint64_t count = 0;

	rig_lay(g.r, 20);
	for (unsigned turn = 0; turn < 600; turn++) {
		uint32_t cells = (uint32_t)rig_random(g.r, 5);
		uint8_t **slot = &bytes[turn % 4];

		free(*slot);
		*slot = malloc((size_t)cells * TDM_FRAME_BYTES + 1);
		assert_non_null(*slot);
		fill(&g, *slot, (size_t)cells * TDM_FRAME_BYTES + 1);
		switch (rig_random(g.r, 20)) {
		case 0:
			tdm_deframe_reset(g.r->d);
			count = rig_random(g.r, 1u << 20);
			g.next = count;
			break;
		case 1:
			tdm_deframe_resume(g.r->d,
					   &(struct tdm_deframe_mark){
						   .count = count,
						   .sequence = turn,
						   .number = (uint16_t)rig_random(g.r, 8000),
						   .offset = (uint16_t)rig_random(g.r, 10000),
					   });
			g.next = count;
			break;
		case 2:
			tdm_deframe_gap(g.r->d, cells, count,
					(enum tdm_loss)(1 + rig_random(g.r, 3)), take_anything, &g);
			count += cells;
			break;
		default:
			tdm_deframe_push(g.r->d, *slot, cells, count, take_anything, &g);
			count += cells;
		}
		assert_true(g.next == count || g.next + 1 == count);
	}
	tdm_deframe_stats(g.r->d, &s);
	print_message("[          ] %u cells, %u good, %u locks\n", (unsigned)g.verdicts,
		      (unsigned)g.goods, (unsigned)s.locks);
	for (unsigned i = 0; i < 4; i++) {
		free(bytes[i]);
	}
	rig_destroy(g.r);
}

/* Frames of noise with a right seal on them: what a sick FCM may send. Each reader returns what lies
 * inside the frame, or an error. */
static void test_garbage_slots(void **state)
{
	struct rig *r = rig_create(100, 78);
	uint8_t *frame = malloc(TDM_FRAME_BYTES); /* the heap's fence stands right behind it */
	uint32_t sum = 0;

	assert_non_null(frame);
	for (unsigned turn = 0; turn < 2000; turn++) {
		struct tdm_pmt_slot slot;
		struct tdm_hydro_slot hydro;
		struct tdm_serial serial;
		struct tdm_telemetry telemetry;
		struct tdm_timing timing;
		struct tdm_header header;
		const uint8_t *words;
		struct word word;
		int n;

		for (unsigned i = 0; i < TDM_FRAME_BYTES; i += 1 + (unsigned)rig_random(r, 8)) {
			frame[i] = (uint8_t)(rig_random(r, 256) >> rig_random(r, 8));
		}
		for (unsigned m = 0; m < TDM_MODULES; m++) {
			if (tdm_pmt_slot_get(frame, m, &slot) == 0) {
				sum ^= tdm_crc32c(slot.stream, slot.length);
				sum ^= tdm_crc32c(slot.stream, slot.first);
			}
		}
		for (unsigned h = 0; h < TDM_HYDROPHONES; h++) {
			tdm_hydro_slot_get(frame, h, &hydro);
			sum ^= tdm_crc32c(hydro.samples, 4 * TDM_SAMPLES);
		}
		for (unsigned down = 0; down < 2; down++) {
			if (tdm_serial_get(frame, down, &serial) == 0) {
				sum ^= tdm_crc32c(serial.bytes, serial.length);
			}
		}
		n = tdm_replies_get(frame, &words);
		for (int i = 0; i < n; i++) {
			sum += (unsigned)word_unpack(words + i * (int)TDM_WORD_BYTES, &word);
		}
		for (unsigned i = 0; i < TDM_WORDS; i++) {
			sum += (unsigned)word_unpack(tdm_request(frame, i), &word);
		}
		for (unsigned i = 0; i + HIT_HEADER_BYTES <= 1024; i++) {
			if (hit_legal(frame + i)) {
				sum += (unsigned)hit_bytes(frame + i);
			}
			sum += hit_legal_stamped(frame + i);
		}
		tdm_telemetry_get(frame, &telemetry);
		tdm_timing_get(frame, &timing);
		sum ^= telemetry.executed ^ timing.argument ^ tdm_frame_parity(frame);
		sum += tdm_frame_check(frame, &header);
	}
	assert_int_not_equal(sum, 0);
	free(frame);
	rig_destroy(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_property),
		cmocka_unit_test(test_garbage_cells),
		cmocka_unit_test(test_garbage_slots),
	};

	return cmocka_run_group_tests_name("tdm deframer, at random", tests, NULL, NULL);
}
