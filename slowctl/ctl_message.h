/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A data message (schemas/fcm_data.h) as it came from outside: checked, then read. Pure; the bytes are
 * the caller's and must stay while the view is used.
 */
#ifndef SLOWCTL_CTL_MESSAGE_H
#define SLOWCTL_CTL_MESSAGE_H

#include <stddef.h>
#include <stdint.h>

#include "schemas/fcm_data.h"
#include "tdm/hit.h"

struct message {
	struct fcm_block_header header;
	const uint8_t *payload;
};

/*
 * Check magic, version, both CRCs, and that every offset of the header lies inside the payload, in
 * order. 0 and *ret_message, or -EBADMSG with what is wrong in *ret_why (a literal).
 */
int message_read(const void *header, size_t header_bytes, const void *payload, size_t payload_bytes,
		 struct message *ret_message, const char **ret_why);

/* The next hit of a channel of a pmt block; *at is 0 for the first and moves on. 1 and *ret_hit, 0 at
 * the end, -EBADMSG when the bytes there are no hit. */
int message_next_hit(const struct message *m, unsigned channel, uint32_t *at, struct hit *ret_hit);

/* UTC of the block's first frame, s since 1970; NaN without time. TAI-UTC is whole seconds, so a slice's
 * UTC and the TAI inside it are enough. */
double message_utc(const struct message *m);

#endif
