/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Blocks of a recording (tdm/recording.h): its cells go through the same deframer, assembler and builder as in the
 * daemon, so the blocks are those that the daemon made of them, byte by byte, without its flag RESENT.
 *
 *   segments of a link --records--> deframer --> assembler --> spans  \
 *   ... of each link                                                  +--> in order of count --> recorded_next()
 *
 * Where the recording begins and ends in the middle of a block, the block's other frames count as BOARD_FIFO losses, as
 * cells do that the recorder let go. Damage ends a segment; reading goes on with the next one, and
 * recorded_trouble() says so.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "schemas/fcm_data.h"

struct recorded_config {
	uint8_t links;	 /* bit mask; 0: all */
	uint8_t streams; /* 1 << enum fcm_stream; 0: all */
	uint32_t run;	 /* blocks of this run only; 0: all */
	/* Blocks with data of [from, until), TAI since 1970, only; INT64_MIN, INT64_MAX: no limit. With a limit blocks
	 * without time are left out. */
	int64_t from_tai_ns, until_tai_ns;
	uint32_t block_frames; /* 0: as the daemon had it; 80 where the recording does not say */
	bool follow;	       /* it is being written: see recorded_next() */
};

struct recorded;

/* `path`: a recording's directory, or one segment. As recording_init(); -EINVAL: no divisor of 1600; -ENOMEM. */
int recorded_open(const char *path, const struct recorded_config *config,
		  struct recorded **ret_recorded);
void recorded_close(struct recorded *r); /* NULL is accepted */

/*
 * The next block: 1; both pointers are valid until the next call. 0: there are no more; with `follow`: not now, ask
 * again. Blocks of a link come in order, those of several links by board count; with `follow` the links do not wait for
 * each other. -ENOMEM, -EIO and the like: errno of reading; may be asked again.
 */
int recorded_next(struct recorded *r, const struct fcm_block_header **ret_header,
		  const uint8_t **ret_payload);

/* Of the block that recorded_next() gave last: so many frames at its begin and at its end are missing only because the
 * link's cells begin or end there. */
void recorded_edges(const struct recorded *r, uint32_t *ret_begin, uint32_t *ret_end);
/* TAI of the first and the last cells with a time, of the links of the configuration; floors lag by less than 100
 * frames. True; false: none has a time. It reads the headers of the first and the last segments. */
bool recorded_range(const struct recorded *r, int64_t *ret_first_ns, int64_t *ret_last_ns);

/* Segments that ended in damage so far, and of the last one what and where: "link0-00001.fcmr: damaged at byte
 * 4096"; NULL: none. A segment that is cut, because its writer was killed, is not damaged. */
unsigned recorded_troubles(const struct recorded *r, const char **ret_text);
