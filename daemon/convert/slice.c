// SPDX-License-Identifier: GPL-2.0-or-later
/* The blocks and hits of a slice: see slice.h. */
#include "daemon/convert/slice.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FRAME_NS    125000ll
#define SLICE_MS    200ll
#define UTC_2000_S  946684800ll
#define SECOND_NS   1000000000ll
#define ROWS_FIRST  ((size_t)1 << 16)
#define BYTES_FIRST ((size_t)4 << 20)

int slice_init(struct slice *s)
{
	*s = (struct slice){
		.blocks = malloc(SLICE_BLOCKS * sizeof(struct slice_block)),
		.payloads = malloc(SLICE_BLOCKS * sizeof(uint8_t *)),
	};
	if (!s->blocks || !s->payloads) {
		slice_fini(s);
		return -ENOMEM;
	}
	return 0;
}

void slice_fini(struct slice *s)
{
	free(s->blocks);
	free(s->payloads);
	free(s->bytes);
	free(s->rows);
	free(s->scratch);
	*s = (struct slice){0};
}

bool slice_takes(const struct slice *s, const struct fcm_block_header *h)
{
	const struct fcm_block_header *first = &s->blocks[0].header;
	uint64_t number = h->first_frame / FCM_SLICE_FRAMES;
	uint64_t ours = first->first_frame / FCM_SLICE_FRAMES;

	if (s->blocks_n == 0) {
		return true;
	}
	return h->dma_epoch == first->dma_epoch && h->run == first->run &&
	       (number == ours || number + 1 == ours) && s->blocks_n < SLICE_BLOCKS &&
	       s->rows_n + h->items <= SLICE_HITS && s->bytes_n + h->payload_bytes <= SLICE_BYTES;
}

/* Room for `more` more bytes: -ENOMEM. */
static int make_bytes(struct slice *s, size_t more)
{
	size_t room = s->bytes_room ? s->bytes_room : BYTES_FIRST;
	uint8_t *fresh;

	while (room < s->bytes_n + more) {
		room *= 2;
	}
	if (room == s->bytes_room) {
		return 0;
	}
	fresh = realloc(s->bytes, room);
	if (!fresh) {
		return -ENOMEM;
	}
	s->bytes = fresh;
	s->bytes_room = room;
	return 0;
}

static int make_rows(struct slice *s, size_t more)
{
	size_t room = s->rows_room ? s->rows_room : ROWS_FIRST;
	struct fcm_hit_row *rows, *scratch;

	while (room < s->rows_n + more) {
		room *= 2;
	}
	if (room == s->rows_room) {
		return 0;
	}
	scratch = realloc(s->scratch, room * sizeof(*scratch));
	if (!scratch) {
		return -ENOMEM;
	}
	s->scratch = scratch;
	rows = realloc(s->rows, room * sizeof(*rows));
	if (!rows) {
		return -ENOMEM;
	}
	s->rows = rows;
	s->rows_room = room;
	return 0;
}

static int add_hits(struct slice *s, const struct fcmdata_block *b)
{
	int64_t n;

	if (b->header.stream != FCM_PMT) {
		return 0;
	}
	if (make_rows(s, b->header.items) < 0) {
		return -ENOMEM;
	}
	n = fcmdata_hits(b, FCMDATA_ALL, (uint32_t)s->blocks_n, s->rows + s->rows_n,
			 s->rows_room - s->rows_n);
	s->bad_blocks += n < 0;
	s->rows_n += n > 0 ? (size_t)n : 0;
	return 0;
}

int slice_add(struct slice *s, const struct fcmdata_block *b)
{
	if (make_bytes(s, b->header.payload_bytes) < 0 || add_hits(s, b) < 0) {
		return -ENOMEM;
	}
	memcpy(s->bytes + s->bytes_n, b->payload, b->header.payload_bytes);
	s->blocks[s->blocks_n++] = (struct slice_block){
		.header = b->header,
		.gap_first = b->gap_first,
		.gap_frames = b->gap_frames,
		.gap_lost = b->gap_lost,
		.payload_at = s->bytes_n,
	};
	s->bytes_n += b->header.payload_bytes;
	return 0;
}

void slice_order(struct slice *s)
{
	for (size_t i = 0; i < s->blocks_n; i++) {
		s->payloads[i] = s->bytes + s->blocks[i].payload_at;
	}
	fcmdata_hits_order(s->rows, s->scratch, s->rows_n);
}

void slice_empty(struct slice *s)
{
	s->blocks_n = s->bytes_n = s->rows_n = 0;
}

struct fcmdata_block slice_block(const struct slice *s, size_t i)
{
	return (struct fcmdata_block){
		.header = s->blocks[i].header,
		.payload = s->payloads[i],
		.gap_first = s->blocks[i].gap_first,
		.gap_frames = s->blocks[i].gap_frames,
		.gap_lost = s->blocks[i].gap_lost,
	};
}

int32_t slice_tai_utc_s(const struct fcm_block_header *h)
{
	int64_t in_slice_ns = (int64_t)(h->first_frame % FCM_SLICE_FRAMES) * FRAME_NS;
	int64_t utc_ns, label_ns;

	/* Beyond, the number of a slice makes no sense (the year 2262). */
	if (h->flags & FCM_BLOCK_NO_TIME || h->tai_ns < 0 || h->slice_id > 40000000000ull) {
		return 0;
	}
	utc_ns = UTC_2000_S * SECOND_NS + (int64_t)h->slice_id * SLICE_MS * 1000000 + in_slice_ns;
	label_ns = h->tai_ns - h->cable_delay_ns;
	return (int32_t)((label_ns - utc_ns + SECOND_NS / 2) / SECOND_NS);
}
