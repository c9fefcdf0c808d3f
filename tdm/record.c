// SPDX-License-Identifier: LGPL-2.1-or-later
/* Recorded cells: seals and checks headers, walks through a segment, says how it ends. No I/O. See record.h. */
#include "tdm/record.h"

#include <errno.h>
#include <string.h>

#include "tdm/frame.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
	       "headers are written as they lie in memory");

/* ---------------------------------------------------------------------------------- headers */

void tdm_segment_seal(struct fcm_segment_header *h)
{
	h->magic = FCM_SEGMENT_MAGIC;
	h->version = FCM_SEGMENT_VERSION;
	h->header_bytes = sizeof(*h);
	h->header_crc = tdm_crc32c(h, offsetof(struct fcm_segment_header, header_crc));
}

int tdm_segment_check(const void *bytes, struct fcm_segment_header *ret_header)
{
	struct fcm_segment_header h;

	memcpy(&h, bytes, sizeof(h));
	if (h.magic != FCM_SEGMENT_MAGIC) {
		return -EBADMSG;
	}
	/* Another version may keep its checksum elsewhere. */
	if (h.version != FCM_SEGMENT_VERSION) {
		return -EPROTO;
	}
	if (h.header_bytes < sizeof(h) ||
	    h.header_crc != tdm_crc32c(bytes, offsetof(struct fcm_segment_header, header_crc)) ||
	    h.frame_bytes != TDM_FRAME_BYTES || h.data_bytes_max > FCM_RECORD_BYTES_MAX) {
		return -EBADMSG;
	}
	*ret_header = h;
	return 0;
}

bool tdm_segment_same_boot(const struct fcm_segment_header *a, const struct fcm_segment_header *b)
{
	return a->serial == b->serial && a->boot_count == b->boot_count;
}

bool tdm_segment_same_epoch(const struct fcm_segment_header *a, const struct fcm_segment_header *b)
{
	return tdm_segment_same_boot(a, b) && a->dma_epoch == b->dma_epoch;
}

void tdm_record_seal(struct fcm_record_header *h, const void *data)
{
	h->magic = FCM_RECORD_MAGIC;
	h->data_crc = tdm_crc32c(data, h->bytes);
	h->header_crc = tdm_crc32c(h, offsetof(struct fcm_record_header, header_crc));
}

/* What the kind of a record says about its size. */
static int fits_its_kind(const struct fcm_record_header *h, const struct fcm_segment_header *s)
{
	switch (h->kind) {
	case FCM_RECORD_DATA:
		return h->frames > 0 && h->bytes % s->frame_bytes == 0 &&
		       h->bytes / s->frame_bytes == h->frames;
	case FCM_RECORD_GAP:
	case FCM_RECORD_LET_GO:
		return h->frames > 0 && h->bytes == 0;
	case FCM_RECORD_LABEL:
		return h->bytes >= sizeof(struct fcm_record_label);
	case FCM_RECORD_INDEX:
		return h->bytes > 0 && h->bytes % sizeof(uint64_t) == 0;
	default:
		return 1;
	}
}

int tdm_record_check(const void *bytes, const struct fcm_segment_header *segment,
		     struct fcm_record_header *ret_header)
{
	struct fcm_record_header h;

	memcpy(&h, bytes, sizeof(h));
	if (h.magic != FCM_RECORD_MAGIC ||
	    h.header_crc != tdm_crc32c(bytes, offsetof(struct fcm_record_header, header_crc)) ||
	    h.bytes > segment->data_bytes_max || h.count > UINT64_MAX - h.frames ||
	    !fits_its_kind(&h, segment)) {
		return -EBADMSG;
	}
	*ret_header = h;
	return 0;
}

bool tdm_record_has_cells(const struct fcm_record_header *h)
{
	return h->kind == FCM_RECORD_DATA || h->kind == FCM_RECORD_GAP ||
	       h->kind == FCM_RECORD_LET_GO;
}

enum tdm_loss tdm_record_loss(const struct fcm_record_header *h)
{
	return h->kind == FCM_RECORD_GAP && h->reason >= TDM_LOSS_LINK_DOWN &&
			       h->reason <= TDM_LOSS_RING_FULL
		       ? (enum tdm_loss)h->reason
		       : TDM_LOSS_BOARD_FIFO;
}

int tdm_record_check_data(const struct fcm_record_header *header, const void *data)
{
	return tdm_crc32c(data, header->bytes) == header->data_crc ? 0 : -EBADMSG;
}

/* ------------------------------------------------------------------------------------ walking */

const char *record_end_name(enum record_end end)
{
	static const char *const names[] = {"more", "whole", "open", "cut", "damaged"};

	return names[end];
}

int tdm_walk_begin(struct record_walk *walk, record_read_fn *read, void *context)
{
	uint8_t bytes[sizeof(struct fcm_segment_header)];
	struct record_walk w = {.read = read, .context = context};
	ssize_t n = read(context, 0, bytes, sizeof(bytes));
	int r;

	if (n < (ssize_t)sizeof(bytes)) {
		return n < 0 ? (int)n : -ENODATA;
	}
	r = tdm_segment_check(bytes, &w.segment);
	if (r < 0) {
		return r;
	}
	/* What a later version has added is passed over, once it is there. */
	w.offset = w.segment.header_bytes;
	n = read(context, w.offset - 1, bytes, 1);
	if (n < 1) {
		return n < 0 ? (int)n : -ENODATA;
	}
	*walk = w;
	return 0;
}

static int ends(struct record_walk *w, enum record_end end)
{
	w->end = end;
	return 0;
}

/* The record's data are there, and good where they can be looked at: 1. 0: the end. */
static int take_data(struct record_walk *w, const struct fcm_record_header *h, void *data)
{
	uint64_t at = w->offset + sizeof(*h);
	uint8_t last;
	ssize_t n;

	if (h->bytes == 0) {
		return 1;
	}
	n = data ? w->read(w->context, at, data, h->bytes)
		 : w->read(w->context, at + h->bytes - 1, &last, 1);
	if (n < 0) {
		return (int)n;
	}
	if (n < (data ? (ssize_t)h->bytes : 1)) {
		return ends(w, RECORD_CUT);
	}
	if (data && tdm_record_check_data(h, data) < 0) {
		return ends(w, RECORD_DAMAGED);
	}
	return 1;
}

int tdm_walk_next(struct record_walk *walk, struct fcm_record_header *ret_header, void *data)
{
	uint8_t bytes[sizeof(struct fcm_record_header)];
	struct fcm_record_header h;
	ssize_t n;
	int r;

	if (walk->end == RECORD_WHOLE) { /* nothing follows an index */
		return 0;
	}
	n = walk->read(walk->context, walk->offset, bytes, sizeof(bytes));
	if (n < 0) {
		return (int)n;
	}
	if (n < (ssize_t)sizeof(bytes)) {
		return ends(walk, n == 0 ? RECORD_OPEN : RECORD_CUT);
	}
	if (tdm_record_check(bytes, &walk->segment, &h) < 0) {
		return ends(walk, RECORD_DAMAGED);
	}
	r = take_data(walk, &h, data);
	if (r > 0) {
		walk->offset += sizeof(h) + h.bytes;
		walk->end = h.kind == FCM_RECORD_INDEX ? RECORD_WHOLE : RECORD_MORE;
		*ret_header = h;
	}
	return r;
}
