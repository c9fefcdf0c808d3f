/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Capture files: see pcap.h. Blocks of pcapng (draft-ietf-opsawg-pcapng), little-endian. */
#include "slowctl/fcmctl/record/pcap.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tdm/le.h"
#include "tdm/recording.h"

#define DLT_USER0   147u
#define SECTION	    0x0a0d0d0au
#define INTERFACE   1u
#define PACKET	    6u
#define BYTE_ORDER_ 0x1a2b3c4du
#define IF_NAME	    2u
#define IF_TSRESOL  9u
#define NANOSECONDS 9u

struct record_pcap {
	FILE *file;
	uint64_t packets;
	bool failed;
	int interface[RECORDING_LINKS]; /* -1: not there yet */
	int interfaces;
};

static void put(struct record_pcap *p, const void *bytes, size_t length)
{
	if (fwrite(bytes, 1, length, p->file) != length) {
		p->failed = true;
	}
}

/* Type, length, body (padded to 4), length. */
static void put_block(struct record_pcap *p, uint32_t type, const uint8_t *head, size_t head_bytes,
		      const uint8_t *tail, size_t tail_bytes)
{
	static const uint8_t zero[4];
	const size_t pad = (4 - (head_bytes + tail_bytes) % 4) % 4;
	uint8_t word[8];

	le32_put(word, type);
	le32_put(word + 4, (uint32_t)(12 + head_bytes + tail_bytes + pad));
	put(p, word, 8);
	put(p, head, head_bytes);
	put(p, tail, tail_bytes);
	put(p, zero, pad);
	put(p, word + 4, 4);
}

static void put_section(struct record_pcap *p)
{
	uint8_t head[16];

	le32_put(head, BYTE_ORDER_);
	le16_put(head + 4, 1);
	le16_put(head + 6, 0);
	memset(head + 8, 0xff, 8); /* section length: not given */
	put_block(p, SECTION, head, sizeof(head), head, 0);
}

static void put_interface(struct record_pcap *p, unsigned link)
{
	uint8_t head[8 + 12 + 8 + 4] = {0};

	le16_put(head, DLT_USER0);
	le32_put(head + 4, 0); /* packets are whole */
	le16_put(head + 8, IF_NAME);
	le16_put(head + 10, 5);
	memcpy(head + 12, (const uint8_t[]){'l', 'i', 'n', 'k', (uint8_t)('0' + link)}, 5);
	le16_put(head + 20, IF_TSRESOL);
	le16_put(head + 22, 1);
	head[24] = NANOSECONDS;
	put_block(p, INTERFACE, head, sizeof(head), head, 0);
	p->interface[link] = p->interfaces++;
}

int record_pcap_create(const char *path, struct record_pcap **ret_pcap)
{
	struct record_pcap *p = calloc(1, sizeof(*p));
	int err;

	if (p == NULL) {
		return -ENOMEM;
	}
	p->file = fopen(path, "wbe");
	if (p->file == NULL) {
		err = -errno;
		free(p);
		return err;
	}
	for (unsigned i = 0; i < RECORDING_LINKS; i++) {
		p->interface[i] = -1;
	}
	put_section(p);
	*ret_pcap = p;
	return 0;
}

void record_pcap_put(struct record_pcap *p, unsigned link, int64_t utc_ns, const uint8_t *bytes,
		     size_t length)
{
	const uint64_t when = utc_ns > 0 ? (uint64_t)utc_ns : 0;
	uint8_t head[20];

	if (link >= RECORDING_LINKS) {
		return;
	}
	if (p->interface[link] < 0) {
		put_interface(p, link);
	}
	le32_put(head, (uint32_t)p->interface[link]);
	le32_put(head + 4, (uint32_t)(when >> 32));
	le32_put(head + 8, (uint32_t)when);
	le32_put(head + 12, (uint32_t)length);
	le32_put(head + 16, (uint32_t)length);
	put_block(p, PACKET, head, sizeof(head), bytes, length);
	p->packets++;
}

int record_pcap_close(struct record_pcap *p, uint64_t *ret_packets)
{
	int err = fclose(p->file) != 0 || p->failed ? -EIO : 0;

	*ret_packets = p->packets;
	free(p);
	return err;
}
