/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Hits as rows and columns: see hit_rows.h. */
#include "tdm/blocks/hit_rows.h"

#include <errno.h>
#include <string.h>
#include <sys/param.h>

#include "tdm/hit.h"
#include "tdm/le.h"

#define DIGIT_BITS 11u
#define DIGITS	   (1u << DIGIT_BITS)

/* ---------------------------------------------------------------------------------- from blocks */

struct walk {
	const struct fcm_block_header *header;
	const uint8_t *payload;
	struct fcm_hit_row *next, *end;
	uint32_t block;
};

static uint8_t flags_of(uint32_t shape)
{
	return (uint8_t)((shape >> 31 ? FCM_HIT_ZIP : 0) |
			 (shape >> 30 & 1 ? FCM_HIT_FRAGMENT : 0) |
			 (shape >> 7 & 1 ? FCM_HIT_FIFO_FULL : 0));
}

/* The hits of one carrying frame, whose bytes are [at, end) of the payload: 0 or negative. */
static int frame_rows(struct walk *w, unsigned module, uint32_t carrier, uint32_t at, uint32_t end)
{
	const struct fcm_block_header *h = w->header;

	while (at < end) {
		const uint8_t *p = w->payload + at;
		struct hit_walk hit;
		uint32_t shape;

		if (end - at < HIT_HEADER_BYTES) {
			return -EBADMSG;
		}
		hit = hit_walk_look(p);
		if (!hit.legal || hit.bytes > end - at) {
			return -EBADMSG;
		}
		if (w->next == w->end) {
			return -ENOSPC;
		}
		shape = le32_get(p + HIT_SHAPE);
		*w->next++ = (struct fcm_hit_row){
			.tai_ns = hit_tai_ns(h, carrier, hit.born >> 16, hit.born & 0xffff),
			.charge = shape >> 8 & 0x3fffff,
			.samples_at = at + HIT_HEADER_BYTES,
			.block = w->block,
			.frame = (uint16_t)(hit.born >> 16),
			.t5ns = (uint16_t)hit.born,
			.tower = h->tower,
			.floor = h->floor,
			.module = (uint8_t)module,
			.pmt = p[0] & 0xf,
			.samples = shape & HIT_SAMPLES,
			.flags = flags_of(shape),
		};
		at += hit.bytes;
	}
	return 0;
}

static int module_rows(struct walk *w, unsigned module)
{
	const struct fcm_block_header *h = w->header;
	const uint8_t *index = w->payload + h->index_offset + (size_t)module * (h->frames + 1) * 4;
	uint32_t at = le32_get(index);
	int err = 0;

	for (uint32_t f = 0; f < h->frames && err == 0; f++) {
		uint32_t end = le32_get(index + 4 * (size_t)(f + 1));

		err = frame_rows(w, module, f, at, end);
		at = end;
	}
	return err;
}

int64_t hit_rows(const struct fcm_block_header *header, const uint8_t *payload, int module,
		 uint32_t block, struct fcm_hit_row *rows, size_t room)
{
	struct walk w = {header, payload, rows, rows + room, block};
	int first = module == HIT_ROWS_ALL ? 0 : module;
	int end = module == HIT_ROWS_ALL ? (int)header->channels : module + 1;
	int err = 0;

	if (header->stream != FCM_PMT || module < HIT_ROWS_ALL ||
	    module >= (int)fcm_stream_channels(FCM_PMT)) {
		return -EINVAL;
	}
	if (header->channels == 0) { /* a GAP */
		return 0;
	}
	for (int m = first; m < end && err == 0; m++) {
		err = module_rows(&w, (unsigned)m);
	}
	return err < 0 ? err : w.next - rows;
}

/* ------------------------------------------------------------------------------------ in time order */

/* The rows' times, as distances from the earliest. */
struct span_of_time {
	uint64_t least, reach;
	bool ordered;
};

static uint64_t time_key(const struct fcm_hit_row *r)
{
	return (uint64_t)r->tai_ns ^ 1ull << 63; /* unsigned, in the same order */
}

static struct span_of_time span_of(const struct fcm_hit_row *rows, size_t n)
{
	struct span_of_time s = {.least = UINT64_MAX, .ordered = true};
	uint64_t most = 0;

	for (size_t i = 0; i < n; i++) {
		uint64_t key = time_key(&rows[i]);

		s.ordered = s.ordered && key >= most;
		s.least = MIN(s.least, key);
		most = MAX(most, key);
	}
	s.reach = n > 0 ? most - s.least : 0;
	return s;
}

/* By one digit of the distance; keeps the order of equal ones. */
static void by_digit(const struct fcm_hit_row *from, struct fcm_hit_row *to, size_t n,
		     uint64_t least, unsigned shift)
{
	size_t place[DIGITS] = {0}, sum = 0;

	for (size_t i = 0; i < n; i++) {
		place[(time_key(&from[i]) - least) >> shift & (DIGITS - 1)]++;
	}
	for (unsigned d = 0; d < DIGITS; d++) {
		size_t count = place[d];

		place[d] = sum;
		sum += count;
	}
	for (size_t i = 0; i < n; i++) {
		to[place[(time_key(&from[i]) - least) >> shift & (DIGITS - 1)]++] = from[i];
	}
}

void hit_rows_order(struct fcm_hit_row *rows, struct fcm_hit_row *scratch, size_t n)
{
	struct span_of_time s = span_of(rows, n);
	struct fcm_hit_row *from = rows, *to = scratch, *was;

	if (s.ordered) {
		return;
	}
	for (unsigned shift = 0; shift < 64 && s.reach >> shift > 0; shift += DIGIT_BITS) {
		by_digit(from, to, n, s.least, shift);
		was = from;
		from = to;
		to = was;
	}
	if (from != rows) {
		memcpy(rows, from, n * sizeof(*rows));
	}
}

/* ------------------------------------------------------------------------------ columns, waveforms */

#define COLUMN(field)                                                                              \
	for (size_t i = 0; to->field && i < n; i++) {                                              \
		to->field[i] = rows[i].field;                                                      \
	}

void hit_rows_split(const struct fcm_hit_row *rows, size_t n, const struct fcm_hit_columns *to){
	COLUMN(tai_ns) COLUMN(charge) COLUMN(samples_at) COLUMN(block) COLUMN(frame) COLUMN(t5ns)
		COLUMN(tower) COLUMN(floor) COLUMN(module) COLUMN(pmt) COLUMN(samples)
			COLUMN(flags)}

size_t hit_rows_samples(const struct fcm_hit_row *rows, size_t n)
{
	size_t samples = 0;

	for (size_t i = 0; i < n; i++) {
		samples += rows[i].samples;
	}
	return samples;
}

void hit_rows_waveforms(const struct fcm_hit_row *rows, size_t n, const uint8_t *const payloads[],
			uint16_t *values, uint64_t *offsets)
{
	uint64_t at = 0;

	for (size_t i = 0; i < n; i++) {
		const struct fcm_hit_row *r = &rows[i];
		const uint8_t *from = payloads[r->block] + r->samples_at;

		offsets[i] = at;
		for (unsigned k = 0; k < r->samples; k++) {
			values[at + k] = r->flags & FCM_HIT_ZIP ? from[k] : le16_get(from + 2 * k);
		}
		at += r->samples;
	}
	offsets[n] = at;
}
