/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A data message as it came from outside: see ctl_message.h. */
#include "slowctl/ctl_message.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "tdm/frame.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the header is read as it lies");

static const char *wrong_header(const struct fcm_block_header *h, size_t payload_bytes)
{
	size_t index_bytes = (size_t)h->channels * ((size_t)h->frames + 1) * 4;

	if (h->payload_bytes != payload_bytes) {
		return "the payload's length is not the header's";
	}
	if (h->channels > FCM_CHANNELS_MAX || h->stream >= FCM_STREAMS) {
		return "too many channels, or no such stream";
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

int message_read(const void *header, size_t header_bytes, const void *payload, size_t payload_bytes,
		 struct message *ret_message, const char **ret_why)
{
	struct message m = {.payload = payload};
	const char *why = NULL;

	if (header_bytes != sizeof(m.header)) {
		*ret_why = "the header has not 256 bytes";
		return -EBADMSG;
	}
	memcpy(&m.header, header, sizeof(m.header));
	if (m.header.magic != FCM_BLOCK_MAGIC || m.header.version != FCM_BLOCK_VERSION) {
		why = "another format or version";
	} else if (m.header.header_crc !=
		   tdm_crc32c(header, offsetof(struct fcm_block_header, header_crc))) {
		why = "the header is damaged";
	} else {
		why = wrong_header(&m.header, payload_bytes);
	}
	if (why == NULL && m.header.payload_crc != tdm_crc32c(payload, payload_bytes)) {
		why = "the payload is damaged";
	}
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
	int64_t in_slice = m->header.tai_ns % 200000000;

	if ((m->header.flags & FCM_BLOCK_NO_TIME) != 0 || m->header.tai_ns == FCM_NO_TAI) {
		return (double)NAN;
	}
	/* 946684800: 2000-01-01 */
	return 946684800.0 + (double)m->header.slice_id * 0.2 + (double)in_slice * 1e-9;
}
