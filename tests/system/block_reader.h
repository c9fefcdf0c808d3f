/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The consumer's side of the data message (schemas/fcm_data.h): a received message checked in full
 * before anything in it is believed. Pure; points into the message's memory.
 */
#ifndef TESTS_BLOCK_READER_H
#define TESTS_BLOCK_READER_H

#include <stddef.h>
#include <stdint.h>

#include "schemas/fcm_data.h"

struct block_reader {
	struct fcm_block_header header;
	const uint8_t *payload;
};

enum block_reader_error {
	BLOCK_READER_OK = 0,
	BLOCK_READER_MALFORMED, /* sizes, offsets, magic, topic */
	BLOCK_READER_HEADER_CRC,
	BLOCK_READER_PAYLOAD_CRC,
};

/* Check header and payload against each other and against their CRCs. */
enum block_reader_error block_reader_open(struct block_reader *r, const void *topic,
					  size_t topic_bytes, const void *header,
					  size_t header_bytes, const void *payload,
					  size_t payload_bytes);

/* enum tdm_loss of carrying frame `frame`, 0 = good. */
uint8_t block_reader_status(const struct block_reader *r, uint32_t frame);
/* What channel `channel` got from carrying frame `frame`: its bytes; 0 of them when nothing. */
size_t block_reader_data(const struct block_reader *r, unsigned channel, uint32_t frame,
			 const uint8_t **ret_data);

#endif
