/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A data message (schemas/fcm_data.h) as it came from outside: checked, then read. Pure; the bytes are
 * the caller's and must stay while the view is used.
 *
 * The rules are those of libfcmdata (daemon/consumer/check.c, track.c), which is for consumers: slowctl/
 * includes nothing of daemon/, so fcmctl has the little that it shows of a block on its own.
 */
#ifndef SLOWCTL_FCMCTL_RECORD_MESSAGE_H
#define SLOWCTL_FCMCTL_RECORD_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schemas/fcm_data.h"
#include "tdm/hit.h"

struct message {
	struct fcm_block_header header;
	const uint8_t *payload;
};

/*
 * Check magic, version, both CRCs, numbers, topic against header, and that every offset and index lies
 * inside the payload, in order. 0 and *ret_message, whose link is below FCM_LINKS and stream below
 * FCM_STREAMS; or -EBADMSG with what is wrong in *ret_why (a literal).
 */
int message_read(const void *topic, size_t topic_bytes, const void *header, size_t header_bytes,
		 const void *payload, size_t payload_bytes, struct message *ret_message,
		 const char **ret_why);

/* The next hit of a channel of a pmt block; *at is 0 for the first and moves on. 1 and *ret_hit, 0 at
 * the end, -EBADMSG when the bytes there are no hit. */
int message_next_hit(const struct message *m, unsigned channel, uint32_t *at, struct hit *ret_hit);

/* UTC of the block's first frame, cable delay added as in tai_ns, s since 1970; NaN without time.
 * TAI-UTC is whole seconds, so a slice's UTC and the TAI inside it are enough. */
double message_utc(const struct message *m);

/* Up to which frame blocks of a link and stream have come. Begins as 0. */
struct message_line {
	bool known;
	uint32_t dma_epoch;
	uint64_t end;
};
/* The frames right before this block that have not come; the line moves on to its end. None where the
 * floor's numbering moved (STEP), or a block comes again. */
uint64_t message_missed(struct message_line *line, const struct fcm_block_header *h);

#endif
