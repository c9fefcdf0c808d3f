// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A data message from somebody who says that he is the daemon, or from a network that damages, as libfcmdata reads it for
 * consumers and for fcmctl. The first byte says what is put right before, so that more than the first check is met:
 * 1 both checksums, 2 magic, version and sizes, 4 topic and sequence. Then the topic's length, topic, header, payload.
 *
 * What must be true: whatever is read from a good one lies in its payload, in order; iterations end.
 */
#include <errno.h>

#include "daemon/consumer/fcmdata.h"
#include "slowctl/fcmctl/core/monitor.h"
#include "tdm/frame.h"
#include "tests/fuzz/fuzz.h"

struct message_bytes {
	char topic[FCM_TOPIC_BYTES];
	size_t topic_bytes;
	struct fcm_block_header header;
	uint8_t *payload; /* of its own, so that what reads beyond it is seen */
	size_t payload_bytes;
};

static void put_right(struct message_bytes *m, unsigned how)
{
	struct fcm_block_header *h = &m->header;

	if (how & 2) {
		h->magic = FCM_BLOCK_MAGIC;
		h->version = FCM_BLOCK_VERSION;
		h->header_bytes = sizeof(*h);
		h->payload_bytes = (uint32_t)m->payload_bytes;
	}
	if (how & 4) {
		h->stream %= FCM_STREAMS;
		h->sequence &= FCM_SEQUENCE_MASK;
		h->sequence |= (uint64_t)(h->dma_epoch & FCM_EPOCH_MASK) << FCM_SEQUENCE_BITS;
		m->topic_bytes = fcm_topic(h, m->topic);
	}
	if (how & 1) {
		h->payload_crc = tdm_crc32c(m->payload, m->payload_bytes);
		h->header_crc = tdm_crc32c(h, offsetof(struct fcm_block_header, header_crc));
	}
}

static void inside(const struct fcmdata_block *b, const uint8_t *bytes, size_t length)
{
	must(bytes >= b->payload && length <= b->header.payload_bytes &&
	     (size_t)(bytes - b->payload) <= b->header.payload_bytes - length);
}

static void read_frames(const struct fcmdata_block *b, unsigned channel)
{
	int32_t samples[FCMDATA_SAMPLES];
	const uint8_t *bytes, *before = b->payload;

	for (uint32_t f = 0; f < b->header.frames; f++) {
		int n = fcmdata_bytes(b, channel, f, &bytes);

		if (n == -EINVAL) {
			return;
		}
		must(n >= 0);
		inside(b, bytes, (size_t)n);
		must(bytes >= before);
		before = bytes + n;
		must(fcmdata_status(b, f) >= 0);
		n = fcmdata_samples(b, channel, f, samples);
		must(n == (int)FCMDATA_SAMPLES || n <= 0);
		n = fcmdata_telemetry(b, f, &bytes);
		must(n == (int)FCMDATA_TELEMETRY || n <= 0);
		if (n > 0) {
			inside(b, bytes, (size_t)n);
		}
	}
	must(fcmdata_status(b, b->header.frames) == -EINVAL);
}

static void read_items(const struct fcmdata_block *b, unsigned channel)
{
	size_t most =
		b->header.payload_bytes + b->header.frames; /* each takes a byte, or a frame */
	struct fcmdata_serial serial;
	struct fcmdata_cursor c;
	struct fcmdata_hit hit;
	int n;

	if (fcmdata_begin(b, channel, &c) < 0) {
		return;
	}
	while ((n = fcmdata_next_hit(&c, &hit)) == 1 || n == -EBADMSG) {
		must(most-- > 0);
		if (n == 1) {
			inside(b, hit.bytes, hit.length);
			must(hit.carrier < b->header.frames && hit.length >= 16);
		}
	}
	must(n == 0 || b->header.stream != FCM_PMT);
	must(fcmdata_begin(b, channel, &c) == 0);
	while ((n = fcmdata_next_serial(&c, &serial)) == 1 || n == -EBADMSG) {
		must(most-- > 0);
		if (n == 1) {
			inside(b, serial.bytes, serial.length);
			must(serial.carrier < b->header.frames);
		}
	}
}

static void try_message(const struct message_bytes *m)
{
	struct fcmdata_block b;

	if (fcmdata_check(m->topic, m->topic_bytes, &m->header, sizeof(m->header), m->payload,
			  m->payload_bytes, &b) != FCMDATA_GOOD) {
		return;
	}
	for (unsigned c = 0; c <= FCM_CHANNELS_MAX; c++) {
		read_frames(&b, c);
		read_items(&b, c);
	}
	ctl_block_utc(&b.header);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct message_bytes m = {0};
	struct fuzz_input in = {data, size};
	unsigned how = fuzz_take(&in, 1);

	m.topic_bytes = fuzz_take(&in, 1) % sizeof(m.topic);
	for (size_t n = 0; n < m.topic_bytes; n++) {
		m.topic[n] = (char)fuzz_take(&in, 1);
	}
	for (size_t n = 0; n < sizeof(m.header); n++) {
		((uint8_t *)&m.header)[n] = (uint8_t)fuzz_take(&in, 1);
	}
	m.payload_bytes = in.left;
	m.payload = malloc(in.left);
	must(m.payload || in.left == 0);
	if (in.left > 0) {
		memcpy(m.payload, in.at, in.left);
	}
	put_right(&m, how);
	try_message(&m);
	free(m.payload);
	return 0;
}
