/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A data message as it came from outside: see message.h. */
#include "slowctl/fcmctl/record/message.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "tdm/frame.h"
#include "tdm/le.h"

#define FIRST_FRAME_MAX (1ull << 62)
#define SLICE_NS	200000000ll

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the header is read as it lies");

static const char *wrong_numbers(const struct fcm_block_header *h)
{
	static const uint8_t channels[FCM_STREAMS] = {TDM_MODULES, TDM_HYDROPHONES, 2};

	if (h->stream >= FCM_STREAMS || h->link >= FCM_LINKS) {
		return "no such stream or link";
	}
	if (h->channels != 0 && h->channels != channels[h->stream]) {
		return "not the stream's number of channels";
	}
	if (h->frames < 1 || h->frames > FCM_SLICE_FRAMES || h->first_frame > FIRST_FRAME_MAX ||
	    h->frames_lost > h->frames || h->frames_bad > h->frames - h->frames_lost) {
		return "numbers of frames that cannot be";
	}
	return h->sequence >> FCM_SEQUENCE_BITS != (h->dma_epoch & FCM_EPOCH_MASK)
		       ? "a sequence of another DMA epoch"
		       : NULL;
}

static bool topic_agrees(const struct fcm_block_header *h, const void *topic, size_t bytes)
{
	char expected[FCM_TOPIC_BYTES];

	return fcm_topic(h, expected) == bytes && memcmp(expected, topic, bytes) == 0;
}

static const char *wrong_layout(const struct fcm_block_header *h, size_t payload_bytes)
{
	size_t index_bytes = (size_t)h->channels * ((size_t)h->frames + 1) * 4;

	if (h->payload_bytes != payload_bytes) {
		return "the payload's length is not the header's";
	}
	if (h->status_offset > payload_bytes || h->frames > payload_bytes - h->status_offset) {
		return "the frames' status lies outside";
	}
	if (h->channels == 0) {
		return NULL; /* a gap: status only */
	}
	if (h->index_offset > payload_bytes || index_bytes > payload_bytes - h->index_offset ||
	    h->data_offset > payload_bytes) {
		return "the index lies outside";
	}
	for (unsigned c = 0; c < h->channels; c++) {
		if (h->channel_offset[c] < h->data_offset ||
		    h->channel_offset[c] > h->channel_offset[c + 1] ||
		    h->channel_offset[c + 1] > payload_bytes) {
			return "a channel lies outside";
		}
	}
	return NULL;
}

/* Every place of the index lies inside its channel, none goes back. */
static const char *wrong_index(const struct message *m)
{
	const struct fcm_block_header *h = &m->header;
	const uint8_t *index = m->payload + h->index_offset;

	for (unsigned c = 0; c < h->channels; c++) {
		uint32_t before = h->channel_offset[c];

		for (uint32_t f = 0; f <= h->frames; f++, index += 4) {
			uint32_t at = le32_get(index);

			if (at < before || at > h->channel_offset[c + 1]) {
				return "the index leads out of its channel";
			}
			before = at;
		}
	}
	return NULL;
}

/* The first check that fails; NULL: none. */
static const char *wrong(const struct message *m, const void *topic, size_t topic_bytes,
			 size_t payload_bytes)
{
	const struct fcm_block_header *h = &m->header;
	const char *why;

	if (h->magic != FCM_BLOCK_MAGIC || h->version != FCM_BLOCK_VERSION ||
	    h->header_bytes != sizeof(*h)) {
		return "another format or version";
	}
	if (h->header_crc != tdm_crc32c(h, offsetof(struct fcm_block_header, header_crc))) {
		return "the header is damaged";
	}
	why = wrong_numbers(h);
	if (why == NULL && !topic_agrees(h, topic, topic_bytes)) {
		why = "the topic is not the header's";
	}
	if (why == NULL) {
		why = wrong_layout(h, payload_bytes);
	}
	if (why == NULL && h->payload_crc != tdm_crc32c(m->payload, payload_bytes)) {
		why = "the payload is damaged";
	}
	return why != NULL ? why : wrong_index(m);
}

int message_read(const void *topic, size_t topic_bytes, const void *header, size_t header_bytes,
		 const void *payload, size_t payload_bytes, struct message *ret_message,
		 const char **ret_why)
{
	struct message m = {.payload = payload};
	const char *why;

	if (header_bytes != sizeof(m.header)) {
		*ret_why = "the header has not 256 bytes";
		return -EBADMSG;
	}
	memcpy(&m.header, header, sizeof(m.header));
	why = wrong(&m, topic, topic_bytes, payload_bytes);
	if (why != NULL) {
		*ret_why = why;
		return -EBADMSG;
	}
	*ret_message = m;
	return 0;
}

int message_next_hit(const struct message *m, unsigned channel, uint32_t *at, struct hit *ret_hit)
{
	uint32_t begin = m->header.channel_offset[channel];
	uint32_t length = m->header.channel_offset[channel + 1] - begin;
	const uint8_t *bytes;

	if (*at >= length) {
		return 0;
	}
	bytes = m->payload + begin + *at;
	if (length - *at < HIT_HEADER_BYTES || !hit_legal(bytes) ||
	    hit_bytes(bytes) > length - *at) {
		return -EBADMSG;
	}
	hit_unpack(bytes, ret_hit);
	*at += (uint32_t)hit_bytes(bytes);
	return 1;
}

double message_utc(const struct message *m)
{
	const struct fcm_block_header *h = &m->header;
	int64_t counted_ns = (int64_t)(h->first_frame % FCM_SLICE_FRAMES) * TDM_FRAME_NS;
	int64_t off_ns;

	if ((h->flags & FCM_BLOCK_NO_TIME) != 0 || h->tai_ns == FCM_NO_TAI) {
		return (double)NAN;
	}
	/* The slice goes by the floor's frames, tai_ns is later by the cable delay: the frames say which
	 * slice's beginning is near, tai_ns how far off. */
	off_ns = (h->tai_ns % SLICE_NS - counted_ns) % SLICE_NS;
	off_ns += off_ns < -SLICE_NS / 2 ? SLICE_NS : off_ns >= SLICE_NS / 2 ? -SLICE_NS : 0;
	/* 946684800: 2000-01-01 */
	return 946684800.0 + (double)h->slice_id * 0.2 + (double)(counted_ns + off_ns) * 1e-9;
}

uint64_t message_missed(struct message_line *line, const struct fcm_block_header *h)
{
	bool resent = (h->flags & FCM_BLOCK_RESENT) != 0;
	bool goes_on = line->known && line->dma_epoch == h->dma_epoch;
	uint64_t missed = 0;

	if (resent && line->known && (!goes_on || h->first_frame + h->frames <= line->end)) {
		return 0;
	}
	if (goes_on && h->first_frame > line->end && (h->flags & FCM_BLOCK_STEP) == 0) {
		missed = h->first_frame - line->end;
	}
	*line = (struct message_line){true, h->dma_epoch, h->first_frame + h->frames};
	return missed;
}
