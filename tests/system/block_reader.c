/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The consumer's side of the data message, see block_reader.h. */
#include "tests/system/block_reader.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "tdm/frame.h"
#include "tdm/le.h"

#define FRAMES_MAX 1600u
#define LINKS	   4u

static bool topic_agrees(const struct fcm_block_header *h, const void *topic, size_t bytes)
{
	char expected[64];
	int n = snprintf(expected, sizeof(expected), "%s.T%02u.F%02u", fcm_stream_name(h->stream),
			 h->tower, h->floor);

	return (size_t)n == bytes && memcmp(expected, topic, bytes) == 0;
}

static bool header_sane(const struct fcm_block_header *h, size_t payload_bytes)
{
	return h->magic == FCM_BLOCK_MAGIC && h->version == FCM_BLOCK_VERSION &&
	       h->header_bytes == sizeof(*h) && h->stream < FCM_STREAMS &&
	       h->channels <= FCM_CHANNELS_MAX && h->link < LINKS && h->frames >= 1 &&
	       h->frames <= FRAMES_MAX && h->payload_bytes == payload_bytes &&
	       h->frames_lost + h->frames_bad <= h->frames;
}

/* Status, index and channels lie inside the payload; the index never goes back. */
static bool layout_sane(const struct block_reader *r)
{
	const struct fcm_block_header *h = &r->header;
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
		const uint8_t *index =
			r->payload + h->index_offset + (size_t)c * (h->frames + 1) * 4;
		uint32_t before = h->channel_offset[c];

		for (uint32_t f = 0; f <= h->frames; f++) {
			uint32_t at = le32_get(index + 4 * (size_t)f);

			if (at < before || at > h->channel_offset[c + 1]) {
				return false;
			}
			before = at;
		}
		if (h->channel_offset[c + 1] > h->payload_bytes) {
			return false;
		}
	}
	return true;
}

enum block_reader_error block_reader_open(struct block_reader *r, const void *topic,
					  size_t topic_bytes, const void *header,
					  size_t header_bytes, const void *payload,
					  size_t payload_bytes)
{
	struct fcm_block_header *h = &r->header;

	if (header_bytes != sizeof(*h)) {
		return BLOCK_READER_MALFORMED;
	}
	memcpy(h, header, sizeof(*h)); /* little-endian, as this reader's machine is */
	r->payload = payload;
	if (tdm_crc32c(h, offsetof(struct fcm_block_header, header_crc)) != h->header_crc) {
		return BLOCK_READER_HEADER_CRC;
	}
	if (!header_sane(h, payload_bytes) || !topic_agrees(h, topic, topic_bytes)) {
		return BLOCK_READER_MALFORMED;
	}
	if (tdm_crc32c(payload, payload_bytes) != h->payload_crc) {
		return BLOCK_READER_PAYLOAD_CRC;
	}
	return layout_sane(r) ? BLOCK_READER_OK : BLOCK_READER_MALFORMED;
}

uint8_t block_reader_status(const struct block_reader *r, uint32_t frame)
{
	return r->payload[r->header.status_offset + frame];
}

size_t block_reader_data(const struct block_reader *r, unsigned channel, uint32_t frame,
			 const uint8_t **ret_data)
{
	const uint8_t *index = r->payload + r->header.index_offset +
			       ((size_t)channel * (r->header.frames + 1) + frame) * 4;
	uint32_t from = le32_get(index), to = le32_get(index + 4);

	*ret_data = r->payload + from;
	return to - from;
}
