/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The contents of a checked block: frames, hits, samples, telemetry, serial records. No I/O. */
#include <errno.h>
#include <string.h>

#include "daemon/consumer/fcmdata_private.h"
#include "tdm/frame.h"
#include "tdm/hit.h"
#include "tdm/blocks/hit_rows.h"
#include "tdm/le.h"

#define SERIAL_HEADER 4u /* u8 channel, u8 length, u16 sequence */

_Static_assert(FCMDATA_SAMPLES == TDM_SAMPLES, "samples a frame");

int fcmdata_status(const struct fcmdata_block *b, uint32_t frame)
{
	return frame < b->header.frames ? b->payload[b->header.status_offset + frame] : -EINVAL;
}

/* Where in the payload the channel's part of a frame begins; `frame` == frames: where the last ends. */
static uint32_t index_of(const struct fcmdata_block *b, unsigned channel, uint32_t frame)
{
	return le32_get(b->payload + b->header.index_offset +
			((size_t)channel * (b->header.frames + 1) + frame) * 4);
}

int fcmdata_bytes(const struct fcmdata_block *b, unsigned channel, uint32_t frame,
		  const uint8_t **ret_bytes)
{
	uint32_t from;

	if (frame >= b->header.frames || channel >= fcm_stream_channels(b->header.stream)) {
		return -EINVAL;
	}
	if (b->header.channels == 0) {
		*ret_bytes = b->payload;
		return 0;
	}
	from = index_of(b, channel, frame);
	*ret_bytes = b->payload + from;
	return (int)(index_of(b, channel, frame + 1) - from);
}

int fcmdata_begin(const struct fcmdata_block *b, unsigned channel,
		  struct fcmdata_cursor *ret_cursor)
{
	if (channel >= fcm_stream_channels(b->header.stream)) {
		return -EINVAL;
	}
	*ret_cursor = (struct fcmdata_cursor){.block = b, .channel = channel};
	return 0;
}

/* On to the next frame that has bytes left, if need be: those bytes, or NULL at the end. `frame` is the
 * one behind the cursor's. */
static const uint8_t *cursor_bytes(struct fcmdata_cursor *c, size_t *ret_left)
{
	const struct fcm_block_header *h = &c->block->header;

	while (c->at >= c->end) {
		if (c->frame >= h->frames || h->channels == 0) {
			return NULL;
		}
		c->at = index_of(c->block, c->channel, c->frame);
		c->end = index_of(c->block, c->channel, c->frame + 1);
		c->frame++;
	}
	*ret_left = c->end - c->at;
	return c->block->payload + c->at;
}

int fcmdata_next_hit(struct fcmdata_cursor *c, struct fcmdata_hit *ret_hit)
{
	const struct fcm_block_header *h = &c->block->header;
	const uint8_t *bytes;
	struct hit hit;
	size_t left;

	if (h->stream != FCM_PMT) {
		return -EINVAL;
	}
	bytes = cursor_bytes(c, &left);
	if (!bytes) {
		return 0;
	}
	if (left < HIT_HEADER_BYTES || !hit_legal(bytes) || hit_bytes(bytes) > left) {
		c->at = c->end;
		return -EBADMSG;
	}
	hit_unpack(bytes, &hit);
	*ret_hit = (struct fcmdata_hit){
		.bytes = bytes,
		.length = hit_bytes(bytes),
		.carrier = c->frame - 1,
		.tai_ns = hit_tai_ns(h, c->frame - 1, hit.frame, hit.t5ns),
		.pmt = hit.pmt,
		.efcm = hit.efcm,
		.tower = hit.tower,
		.t5ns = hit.t5ns,
		.frame = hit.frame,
		.second = hit.second,
		.day_bcd = hit.day_bcd,
		.year_bcd = hit.year_bcd,
		.samples = hit.samples,
		.charge = hit.charge,
		.fifo_full = hit.fifo_full,
		.fragment = hit.fragment,
		.zip = hit.zip,
	};
	c->at += (uint32_t)ret_hit->length;
	return 1;
}

int fcmdata_samples(const struct fcmdata_block *b, unsigned hydrophone, uint32_t frame,
		    int32_t ret_samples[FCMDATA_SAMPLES])
{
	const uint8_t *bytes;
	int n = b->header.stream == FCM_HYDROPHONE ? fcmdata_bytes(b, hydrophone, frame, &bytes)
						   : -EINVAL;

	if (n <= 0) {
		return n;
	}
	if (n != 4 * (int)FCMDATA_SAMPLES) {
		return -EBADMSG;
	}
	for (unsigned i = 0; i < FCMDATA_SAMPLES; i++) {
		ret_samples[i] = (int32_t)le32_get(bytes + 4 * (size_t)i);
	}
	return (int)FCMDATA_SAMPLES;
}

int fcmdata_telemetry(const struct fcmdata_block *b, uint32_t frame, const uint8_t **ret_bytes)
{
	const uint8_t *bytes;
	int n = b->header.stream == FCM_INSTRUMENT
			? fcmdata_bytes(b, FCMDATA_CHANNEL_TELEMETRY, frame, &bytes)
			: -EINVAL;

	if (n > 0 && n != (int)FCMDATA_TELEMETRY) {
		return -EBADMSG;
	}
	if (n > 0) {
		*ret_bytes = bytes;
	}
	return n;
}

int fcmdata_next_serial(struct fcmdata_cursor *c, struct fcmdata_serial *ret_serial)
{
	const uint8_t *bytes;
	size_t left;

	if (c->block->header.stream != FCM_INSTRUMENT || c->channel != FCMDATA_CHANNEL_SERIAL) {
		return -EINVAL;
	}
	bytes = cursor_bytes(c, &left);
	if (!bytes) {
		return 0;
	}
	if (left < SERIAL_HEADER || left - SERIAL_HEADER < bytes[1]) {
		c->at = c->end;
		return -EBADMSG;
	}
	*ret_serial = (struct fcmdata_serial){
		.bytes = bytes + SERIAL_HEADER,
		.length = bytes[1],
		.channel = bytes[0],
		.sequence = le16_get(bytes + 2),
		.carrier = c->frame - 1,
	};
	c->at += SERIAL_HEADER + bytes[1];
	return 1;
}

/* ------------------------------------------------------------------------------ rows and columns */

int64_t fcmdata_hits(const struct fcmdata_block *b, int module, uint32_t number,
		     struct fcm_hit_row *rows, size_t room)
{
	return hit_rows(&b->header, b->payload, module, number, rows, room);
}

void fcmdata_hits_order(struct fcm_hit_row *rows, struct fcm_hit_row *scratch, size_t n)
{
	hit_rows_order(rows, scratch, n);
}

void fcmdata_hits_split(const struct fcm_hit_row *rows, size_t n, const struct fcm_hit_columns *to)
{
	hit_rows_split(rows, n, to);
}

size_t fcmdata_hits_samples(const struct fcm_hit_row *rows, size_t n)
{
	return hit_rows_samples(rows, n);
}

void fcmdata_hits_waveforms(const struct fcm_hit_row *rows, size_t n,
			    const uint8_t *const payloads[], uint16_t *values, uint64_t *offsets)
{
	hit_rows_waveforms(rows, n, payloads, values, offsets);
}
