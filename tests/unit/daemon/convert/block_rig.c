// SPDX-License-Identifier: GPL-2.0-or-later
/* Blocks in memory: see block_rig.h. */
#include "tests/unit/daemon/convert/block_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "tdm/hit.h"
#include "tdm/le.h"

#define DATA_AT 256u

static struct fcmdata_block block;
static uint8_t payload[1 << 16];

static void put_index(unsigned channel, unsigned frame)
{
	le32_put(payload + block.header.index_offset + 4 * (channel * (RIG_FRAMES + 1) + frame),
		 block.header.payload_bytes);
}

/* Everything from here on begins where the data end now. */
static void put_indices(unsigned channel, unsigned frame)
{
	for (; channel < block.header.channels; channel++, frame = 0) {
		for (; frame <= RIG_FRAMES; frame++) {
			put_index(channel, frame);
		}
	}
}

const struct fcmdata_block *rig_begin(enum fcm_stream stream, unsigned link, uint64_t first_frame)
{
	memset(payload, 0, sizeof(payload));
	block = (struct fcmdata_block){
		.header = {.stream = (uint8_t)stream,
			   .link = (uint8_t)link,
			   .channels = (uint8_t)fcm_stream_channels(stream),
			   .tower = 1,
			   .floor = (uint8_t)(link + 1),
			   .run = 7,
			   .dma_epoch = 1,
			   .time_epoch = 1,
			   .frames = RIG_FRAMES,
			   .first_frame = first_frame,
			   .tai_ns = RIG_TAI + (int64_t)(first_frame - RIG_FIRST) * 125000,
			   .index_offset = 8,
			   .payload_bytes = DATA_AT},
		.payload = payload,
	};
	put_indices(0, 0);
	return &block;
}

struct fcmdata_block *rig_block(void)
{
	return &block;
}

void rig_status(const char *status)
{
	for (unsigned f = 0; f < RIG_FRAMES; f++) {
		payload[f] = status[f] == '.' ? 0 : (uint8_t)(status[f] - '0');
	}
}

void rig_hit(unsigned t5ns, unsigned samples, bool zip, uint16_t first)
{
	const struct hit hit = {.pmt = 3,
				.frame = (uint16_t)(block.header.first_frame % 8000),
				.t5ns = (uint16_t)t5ns,
				.samples = (uint8_t)samples,
				.charge = first,
				.zip = zip};
	uint8_t *at = payload + block.header.payload_bytes;

	hit_pack(&hit, at);
	at += HIT_HEADER_BYTES;
	for (unsigned i = 0; i < samples; i++) {
		if (zip) {
			at[i] = (uint8_t)(first + i);
		} else {
			le16_put(at + 2 * i, (uint16_t)(first + i));
		}
	}
	block.header.payload_bytes += HIT_HEADER_BYTES + samples * (zip ? 1 : 2);
	block.header.items++;
	put_indices(0, 1);
}

void rig_bytes(unsigned channel, unsigned frame, const void *bytes, size_t n)
{
	memcpy(payload + block.header.payload_bytes, bytes, n);
	block.header.payload_bytes += (uint32_t)n;
	put_indices(channel, frame + 1);
}

void rig_sound(unsigned hydrophone, const char *frames, int32_t first)
{
	for (unsigned f = 0; f < RIG_FRAMES; f++) {
		put_index(hydrophone, f);
		for (unsigned i = 0; frames[f] != '.' && i < FCMDATA_SAMPLES; i++) {
			le32_put(payload + block.header.payload_bytes, (uint32_t)first++);
			block.header.payload_bytes += 4;
		}
		put_indices(hydrophone, f + 1);
	}
}
