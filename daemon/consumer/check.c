/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Checks a data message against its own header, before anything in it is used. No I/O.
 *
 * What is checked here is what items.c relies on: every index lies inside the payload and inside its
 * channel, and never goes back.
 */
#include <string.h>

#include "daemon/consumer/fcmdata_private.h"
#include "tdm/frame.h"
#include "tdm/le.h"

#define FIRST_FRAME_MAX (1ull << 62)
#define PAYLOAD_MAX	(1u << 30) /* bytes; the largest real one is 16 MB */

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "headers are read as they lie in memory");

static bool topic_agrees(const struct fcm_block_header *h, const void *topic, size_t bytes)
{
	char expected[FCM_TOPIC_BYTES];

	return fcm_topic(h, expected) == bytes && memcmp(expected, topic, bytes) == 0;
}

static bool numbers_sane(const struct fcm_block_header *h, size_t payload_bytes)
{
	return h->stream < FCM_STREAMS &&
	       (h->channels == 0 || h->channels == fcm_stream_channels(h->stream)) &&
	       h->link < FCM_LINKS && h->frames >= 1 && h->frames <= FCM_SLICE_FRAMES &&
	       h->first_frame <= FIRST_FRAME_MAX && h->payload_bytes == payload_bytes &&
	       payload_bytes <= PAYLOAD_MAX && h->frames_lost <= h->frames &&
	       h->frames_bad <= h->frames - h->frames_lost &&
	       h->sequence >> FCM_SEQUENCE_BITS == (h->dma_epoch & FCM_EPOCH_MASK);
}

static bool index_sane(const struct fcmdata_block *b, unsigned channel)
{
	const struct fcm_block_header *h = &b->header;
	const uint8_t *index = b->payload + h->index_offset + (size_t)channel * (h->frames + 1) * 4;
	uint32_t before = h->channel_offset[channel], end = h->channel_offset[channel + 1];

	if (end > h->payload_bytes) {
		return false;
	}
	for (uint32_t f = 0; f <= h->frames; f++) {
		uint32_t at = le32_get(index + 4 * (size_t)f);

		if (at < before || at > end) {
			return false;
		}
		before = at;
	}
	return true;
}

/* Status, index and channels lie inside the payload. */
static bool layout_sane(const struct fcmdata_block *b)
{
	const struct fcm_block_header *h = &b->header;
	uint64_t index_bytes = (uint64_t)h->channels * (h->frames + 1) * 4;

	if ((uint64_t)h->status_offset + h->frames > h->payload_bytes) {
		return false;
	}
	if (h->channels == 0) {
		return true;
	}
	if (h->index_offset + index_bytes > h->payload_bytes || h->data_offset > h->payload_bytes ||
	    h->channel_offset[0] < h->data_offset) {
		return false;
	}
	for (unsigned c = 0; c < h->channels; c++) {
		if (!index_sane(b, c)) {
			return false;
		}
	}
	return true;
}

/* Block length by which this block is numbered; a GAP is longer. 0: unknown (number 0). */
static uint32_t block_frames(const struct fcm_block_header *h)
{
	uint64_t number = h->sequence & FCM_SEQUENCE_MASK;

	return number > 0 ? (uint32_t)(h->first_frame / number) : 0;
}

struct fcm_ack libfcmdata_key(const struct fcm_block_header *h)
{
	return (struct fcm_ack){
		.sequence = h->sequence,
		.stream = h->stream,
		.link = h->link,
		.tower = h->tower,
		.floor = h->floor,
		.block_frames = block_frames(h),
	};
}

enum fcmdata_damage fcmdata_check(const void *topic, size_t topic_bytes, const void *header,
				  size_t header_bytes, const void *payload, size_t payload_bytes,
				  struct fcmdata_block *ret_block)
{
	struct fcmdata_block b = {.payload = payload};
	const struct fcm_block_header *h = &b.header;

	/* A longer header has fields that this version does not know behind those that it does. */
	if (header_bytes < sizeof(b.header)) {
		return FCMDATA_MALFORMED;
	}
	memcpy(&b.header, header, sizeof(b.header));
	if (tdm_crc32c(h, offsetof(struct fcm_block_header, header_crc)) != h->header_crc) {
		return FCMDATA_HEADER_CRC;
	}
	if (h->magic != FCM_BLOCK_MAGIC || h->header_bytes != header_bytes) {
		return FCMDATA_MALFORMED;
	}
	if (h->version != FCM_BLOCK_VERSION) {
		return FCMDATA_VERSION;
	}
	if (!numbers_sane(h, payload_bytes) || !topic_agrees(h, topic, topic_bytes)) {
		return FCMDATA_MALFORMED;
	}
	if (tdm_crc32c(payload, payload_bytes) != h->payload_crc) {
		return FCMDATA_PAYLOAD_CRC;
	}
	if (!layout_sane(&b)) {
		return FCMDATA_MALFORMED;
	}
	b.key = libfcmdata_key(h);
	*ret_block = b;
	return FCMDATA_GOOD;
}
