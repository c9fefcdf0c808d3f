/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Quantities of hits in blocks that are written down here: charges, samples, rates, times over threshold. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "slowctl/fcmctl/quantity.h"
#include "tdm/hit.h"
#include "tdm/le.h"

#define FRAMES 80u
#define DATA   (FRAMES + 6 * (FRAMES + 1) * 4)

/* A block of one link being written: all hits of a module in its first frame. */
struct paper {
	struct fcmdata_block b;
	uint8_t payload[DATA + 4096];
	size_t at;
	unsigned module;
};

static void begin(struct paper *p, unsigned link)
{
	memset(p, 0, sizeof(*p));
	p->b.payload = p->payload;
	p->b.header = (struct fcm_block_header){
		.stream = FCM_PMT,
		.link = (uint8_t)link,
		.channels = 6,
		.frames = FRAMES,
		.index_offset = FRAMES,
	};
	p->at = DATA;
}

/* The index from here to the next module's hits. */
static void next_module(struct paper *p, size_t from)
{
	uint8_t *index = p->payload + FRAMES + (size_t)p->module * (FRAMES + 1) * 4;

	for (unsigned f = 0; f <= FRAMES; f++) {
		le32_put(index + 4 * (size_t)f, (uint32_t)(f == 0 ? from : p->at));
	}
	p->module++;
}

struct sketch {
	unsigned module;
	uint32_t charge;
	bool fragment, wide;
	unsigned samples;
	uint16_t sample[12];
};

static void put(struct paper *p, const struct sketch *s)
{
	const struct hit h = {
		.pmt = (uint8_t)s->module,
		.charge = s->charge,
		.fragment = s->fragment,
		.zip = !s->wide,
		.samples = (uint8_t)s->samples,
	};

	hit_pack(&h, p->payload + p->at);
	p->at += HIT_HEADER_BYTES;
	for (unsigned i = 0; i < s->samples; i++) {
		p->payload[p->at++] = (uint8_t)s->sample[i];
		if (s->wide) {
			p->payload[p->at++] = (uint8_t)(s->sample[i] >> 8);
		}
	}
}

/* Hits, by module. */
static void write_block(struct paper *p, unsigned link, const struct sketch *hits, unsigned count)
{
	begin(p, link);
	for (unsigned m = 0; m < 6; m++) {
		size_t from = p->at;

		for (unsigned i = 0; i < count; i++) {
			if (hits[i].module == m) {
				put(p, &hits[i]);
			}
		}
		next_module(p, from);
	}
	p->b.header.items = count;
}

static struct paper P;
static struct quantity Q;

static void start(enum quantity_kind kind, unsigned over)
{
	assert_int_equal(quantity_init(&Q, kind, over), 0);
}

static void counted(uint64_t entries, const uint32_t *values, unsigned count)
{
	assert_int_equal(Q.tally.entries, entries);
	for (unsigned i = 0; i < count; i++) {
		assert_true(Q.tally.count[values[i]] > 0);
	}
	quantity_fini(&Q);
}

static const struct sketch some[] = {
	{.module = 0, .charge = 4194303, .samples = 3, .sample = {8, 8, 90}},
	{.module = 0, .charge = 0, .samples = 0},
	{.module = 5, .charge = 1500, .samples = 12, .wide = true, .sample = {8, 300}},
};

static void test_of_each_hit(void **state)
{
	start(QUANTITY_CHARGE, 0);
	write_block(&P, 1, some, 3);
	assert_int_equal(quantity_take(&Q, &P.b, FCMDATA_ALL), 3);
	assert_int_equal(Q.hits, 3);
	counted(3, (const uint32_t[]){0, 1500, 4194303}, 3);

	start(QUANTITY_SAMPLES, 0);
	assert_int_equal(quantity_take(&Q, &P.b, 5), 1);
	assert_int_equal(quantity_take(&Q, &P.b, 3), 0);
	counted(1, (const uint32_t[]){12}, 1);
}

/* Pulses by the frames that came; modules without hits have a rate too, a gap has none. */
static void test_rate(void **state)
{
	struct sketch hits[40];

	for (unsigned i = 0; i < 40; i++) {
		hits[i] = (struct sketch){.module = 2, .fragment = i % 4 == 3};
	}
	start(QUANTITY_RATE, 0);
	write_block(&P, 0, hits, 40);
	quantity_take(&Q, &P.b, FCMDATA_ALL);
	assert_int_equal(Q.tally.count[0], 5);
	assert_int_equal(Q.tally.count[30], 1); /* 3.0 kHz: 30 pulses in 10 ms */
	memset(P.payload + FRAMES / 2, 3, FRAMES / 2);
	assert_int_equal(quantity_frames(&P.b), 40);
	quantity_take(&Q, &P.b, 2);
	assert_int_equal(Q.tally.count[60], 1); /* in half of the time */
	P.b.header.channels = 0;
	assert_int_equal(quantity_take(&Q, &P.b, FCMDATA_ALL), 0);
	counted(7, NULL, 0);
}

#define BASE 8, 8, 8, 8

static void test_over_threshold(void **state)
{
	static const struct sketch first[] = {
		{.module = 1, .samples = 9, .sample = {BASE, 11, 12, 13, 12, 8}},  /* 3 of them */
		{.module = 1, .samples = 8, .sample = {8, 9, 8, 9, 12, 13, 8, 8}}, /* mean 8.5: 1 */
		/* Three hits; one of them in the next block. */
		{.module = 1, .samples = 6, .wide = true, .sample = {BASE, 500, 600}},
		{.module = 1, .samples = 3, .fragment = true, .sample = {200, 100, 50}},
	};
	static const struct sketch second[] = {
		{.module = 1, .samples = 3, .fragment = true, .sample = {12, 8, 8}},
		{.module = 1, .samples = 4, .sample = {BASE}},
	};
	static const struct sketch headless = {
		.module = 1, .samples = 2, .fragment = true, .sample = {200, 200}};

	start(QUANTITY_OVER, 4);
	write_block(&P, 3, first, 4);
	quantity_take(&Q, &P.b, FCMDATA_ALL);
	assert_int_equal(Q.tally.count[3], 1);
	assert_int_equal(Q.tally.count[1], 1);
	assert_int_equal(Q.tally.entries, 2); /* the third is not at its end */
	write_block(&P, 2, second, 2);	      /* another link's */
	quantity_take(&Q, &P.b, FCMDATA_ALL);
	assert_int_equal(Q.tally.entries, 2);
	write_block(&P, 3, second, 2);
	quantity_take(&Q, &P.b, FCMDATA_ALL);
	assert_int_equal(Q.tally.count[6], 1);
	/* Behind a gap the pulse that was open, and one whose beginning is missing, are not counted. */
	write_block(&P, 3, &headless, 1);
	P.b.gap_frames = 80;
	quantity_take(&Q, &P.b, FCMDATA_ALL);
	write_block(&P, 3, first, 2);
	quantity_take(&Q, &P.b, FCMDATA_ALL);
	assert_int_equal(Q.tally.count[3], 2);
	counted(4, NULL, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_of_each_hit),
		cmocka_unit_test(test_rate),
		cmocka_unit_test(test_over_threshold),
	};

	return cmocka_run_group_tests_name("quantities of hits", tests, NULL, NULL);
}
