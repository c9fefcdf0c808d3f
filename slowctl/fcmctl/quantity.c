/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See quantity.h. */
#include "slowctl/fcmctl/quantity.h"

#include <string.h>

#include "tdm/frame.h"
#include "tdm/hit.h"
#include "tdm/le.h"

#define BASELINE 4u   /* samples */
#define RATE_HZ	 100u /* step of the rate */

static const struct quantity_row rows[QUANTITIES] = {
	[QUANTITY_CHARGE] = {"charge", "", "hits", 1.0, 1u << 22},
	[QUANTITY_RATE] = {"rate", "kHz", "blocks of a module", RATE_HZ / 1e3, 1u << 16},
	[QUANTITY_SAMPLES] = {"samples", "", "hits", 1.0, HIT_SAMPLES + 1},
	[QUANTITY_OVER] = {"time-over-threshold", "ns", "pulses", 5.0, 1u << 16},
};

const struct quantity_row *quantity_row(enum quantity_kind kind)
{
	return &rows[kind];
}

int quantity_init(struct quantity *q, enum quantity_kind kind, unsigned over)
{
	*q = (struct quantity){.kind = kind, .over = over};
	return tally_init(&q->tally, rows[kind].values);
}

void quantity_fini(struct quantity *q)
{
	tally_fini(&q->tally);
}

uint32_t quantity_frames(const struct fcmdata_block *b)
{
	uint32_t good = 0;

	for (uint32_t f = 0; f < b->header.frames; f++) {
		good += fcmdata_status(b, f) == 0;
	}
	return good;
}

static uint32_t sample_at(const struct fcmdata_hit *h, unsigned i)
{
	const uint8_t *samples = h->bytes + HIT_HEADER_BYTES;

	return h->zip ? samples[i] : le16_get(samples + 2 * (size_t)i);
}

static void take_samples(struct quantity_pulse *p, const struct fcmdata_hit *h, unsigned over)
{
	if (!h->fragment) {
		*p = (struct quantity_pulse){.open = true};
		for (; p->samples < h->samples && p->samples < BASELINE; p->samples++) {
			p->sum += sample_at(h, p->samples);
		}
	}
	for (unsigned i = 0; i < h->samples; i++) {
		/* Against the mean, without rounding it. */
		p->over += sample_at(h, i) * p->samples >= p->sum + over * p->samples;
	}
}

/* A hit without FragFlag ends the pulse before it. What begins with FragFlag has begun in data that did not come. */
static void take_pulse(struct quantity *q, struct quantity_pulse *p, const struct fcmdata_hit *h)
{
	if (!h->fragment && p->open) {
		tally_add(&q->tally, p->over);
	}
	if (!h->fragment || p->open) {
		take_samples(p, h, q->over);
	}
}

static uint64_t take_module(struct quantity *q, const struct fcmdata_block *b, unsigned module,
			    uint32_t frames)
{
	struct fcmdata_cursor cursor;
	struct fcmdata_hit hit;
	uint64_t hits = 0, pulses = 0;
	int r = fcmdata_begin(b, module, &cursor);

	while (r >= 0 && (r = fcmdata_next_hit(&cursor, &hit)) == 1) {
		hits++;
		pulses += !hit.fragment;
		if (q->kind == QUANTITY_CHARGE) {
			tally_add(&q->tally, hit.charge);
		} else if (q->kind == QUANTITY_SAMPLES) {
			tally_add(&q->tally, hit.samples);
		} else if (q->kind == QUANTITY_OVER) {
			take_pulse(q, &q->pulse[b->header.link][module], &hit);
		}
	}
	if (q->kind == QUANTITY_RATE && frames > 0) {
		tally_add(&q->tally,
			  (pulses * (TDM_FRAMES_PER_SECOND / RATE_HZ) + frames / 2) / frames);
	}
	return hits;
}

uint64_t quantity_take(struct quantity *q, const struct fcmdata_block *b, int module)
{
	unsigned first = module == FCMDATA_ALL ? 0 : (unsigned)module;
	unsigned end = module == FCMDATA_ALL ? QUANTITY_MODULES : first + 1;
	uint32_t frames = quantity_frames(b);
	uint64_t hits = 0;

	if (b->gap_frames > 0 || frames < b->header.frames) {
		memset(q->pulse[b->header.link], 0, sizeof(q->pulse[0]));
	}
	for (unsigned m = first; m < end && b->header.channels > 0; m++) {
		hits += take_module(q, b, m, frames);
	}
	q->hits += hits;
	return hits;
}
