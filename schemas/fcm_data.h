/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The data message: what the trigger and the acoustic server receive. OURS; version 1.
 *
 *   frame 1  topic    "pmt.T01.F07", "hydrophone.T01.F07", "instrument.T01.F07" (tower, floor)
 *   frame 2  header   struct fcm_block_header, 256 bytes, little-endian
 *   frame 3  payload  payload_bytes, laid out as the header says:
 *
 *     status_offset   u8  status[frames]                 0 = good, else enum tdm_loss: what became of
 *                                                        each carrying frame of the block
 *     index_offset    u32 index[channels][frames + 1]    byte offsets into the payload: what the
 *                                                        channel got from frame f is
 *                                                        [index[c][f], index[c][f + 1])
 *     data_offset     the channels' data, one after the other; channel c is [channel_offset[c],
 *                     channel_offset[c + 1])
 *
 * pmt: channel = optical module 0..5, data = whole TriDAS hits (tdm/hit.h), stamped, in the order sent;
 *   a hit belongs to the frame it starts in, its bytes are whole here.
 * hydrophone: channel = hydrophone 0..1, data = 24 x int32 a frame.
 * instrument: channel 0 = telemetry (64 bytes a frame), channel 1 = serial tunnel: records of u8
 *   channel, u8 length, u16 sequence, bytes.
 *
 * Time: a floor numbers its frames by what it receives, so its label lags true time by the one-way delay
 * of the cable. tai_ns and the item times are label + cable_delay_ns: true time where the configured delay
 * is that of the cable. The slice and the stamps in hits are those of the label.
 *
 * A block covers `frames` carrying frames from first_frame on; first_frame counts the floor's own
 * frames on the board's count line, is a multiple of the block length, and a block never straddles a
 * slice (1600 frames). A daemon that is started with another block length uses it from the first slice
 * on that no block sent before reaches. So data are sent again in the same blocks, and no block is partly
 * a repeat. The length is first_frame / number; blocks of two lengths may have the same number. A link
 * without alignment sends one GAP block a slice: no channels, status only.
 * schemas/fcm_data.py has the numpy dtype; tests hold the two against each other. daemon/consumer/ has
 * libraries for C and Python that speak what follows.
 *
 * How all of this may grow: schemas/VERSIONS.md. Readers pass over what they do not know: bytes behind header byte 256,
 * reserved bytes, flags, values, JSON members.
 *
 * Consumers (reserved): a DEALER speaks to the daemon's ROUTER in messages whose first frame is a verb:
 *   -> HELLO   {"protocol":1,"name":"trigger-1","group":"trigger","credit":64}   JSON; credit = blocks
 *              that may be in flight to this member, 1..1024; name of letters, digits and "._:-". A
 *              HELLO starts again: what the name held before is sent again
 *   <- WELCOME {"protocol":1,"board":0,"group":"trigger","streams":["pmt"],"policy":"drop-oldest"}
 *              policy: one of FCM_POLICY_NAMES, what happens when the group falls behind
 *   <- ERROR   {"error":"...","hint":"..."}      the sender is not a member:
 *              "unknown-member" (say HELLO: the daemon is a new one, or took the member for dead),
 *              "bad-hello", "no-such-group", "too-many-members" (the HELLO is refused), "name-taken"
 *              (refused: a member of this name lives on another connection; it may be the sender's own,
 *              whose end was not noticed: with "retry_ms": the time within which the name is free then),
 *              "not-your-name" (refused: the key is of another name or group), "key-refused" (the key is
 *              taken from the allow list),
 *              "too-slow" (policy disconnect: what it had goes to the other members, or is dropped when
 *              there are none; say HELLO again)
 *   <- BLOCK   topic, header, payload
 *   <- ALIVE   the daemon's, when it has sent nothing for a while
 *   -> ACK     n x struct fcm_ack, at most 4096: processed; only acknowledged is delivered
 *   -> ALIVE   at least every second when there is nothing to acknowledge; 3 s of silence = dead
 *   -> BYE     leaves; what it has not acknowledged goes to other members
 * Monitors: a SUB at the daemon's XPUB, [topic, header, payload], best effort.
 * Where the daemon asks for keys both encrypt by ZeroMQ's CURVE, and what is said is the same.
 */
#ifndef FCM_DATA_H
#define FCM_DATA_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define FCM_BLOCK_MAGIC	   0x424d4346u /* "FCMB" */
#define FCM_BLOCK_VERSION  1u
#define FCM_CHANNELS_MAX   6u
#define FCM_LINKS	   4u	 /* of a board: header.link is below */
#define FCM_SLICE_FRAMES   1600u /* 200 ms; no block is longer */
#define FCM_NO_UNCERTAINTY UINT32_MAX
#define FCM_NO_TAI	   INT64_MIN
/* A sequence: the block's number in these bits, above them as much of the DMA epoch as there is room for. */
#define FCM_SEQUENCE_BITS 40u
#define FCM_SEQUENCE_MASK ((1ull << FCM_SEQUENCE_BITS) - 1)
#define FCM_EPOCH_MASK	  (UINT32_MAX >> (FCM_SEQUENCE_BITS - 32))

enum fcm_stream { FCM_PMT = 0, FCM_HYDROPHONE = 1, FCM_INSTRUMENT = 2, FCM_STREAMS = 3 };
/* What topics, HELLO, the database and the configuration call them. */
#define FCM_STREAM_NAMES "pmt", "hydrophone", "instrument"

/* "?": no stream. */
static inline const char *fcm_stream_name(unsigned stream)
{
	static const char *const names[FCM_STREAMS] = {FCM_STREAM_NAMES};

	return stream < FCM_STREAMS ? names[stream] : "?";
}

/* Channels of a stream, but for a GAP's 0; 0: no stream. */
static inline unsigned fcm_stream_channels(unsigned stream)
{
	static const uint8_t channels[FCM_STREAMS] = {6, 2, 2};

	return stream < FCM_STREAMS ? channels[stream] : 0;
}

/*
 * What happens when a group falls behind: when it has used up its share of the ring (hold_fraction) or
 * three quarters of its memory (budget_mb). Every drop is counted by floor, stream and frame range.
 *   drop-oldest  its oldest blocks are dropped
 *   drop-newest  new blocks are dropped until it has worked off what it holds
 *   disconnect   the member that holds it up gets ERROR "too-slow"; its membership ends
 *   wait         nothing: the ring is held back further
 * Beyond 3/4 of the ring, or the whole of its memory, the oldest are dropped whatever the policy.
 */
enum fcm_policy {
	FCM_DROP_OLDEST = 0,
	FCM_DROP_NEWEST = 1,
	FCM_DISCONNECT = 2,
	FCM_WAIT = 3,
	FCM_POLICIES = 4
};
/* What WELCOME, the status and the configuration call them. */
#define FCM_POLICY_NAMES "drop-oldest", "drop-newest", "disconnect", "wait"

/* "?": no policy. */
static inline const char *fcm_policy_name(unsigned policy)
{
	static const char *const names[FCM_POLICIES] = {FCM_POLICY_NAMES};

	return policy < FCM_POLICIES ? names[policy] : "?";
}

/* flags */
/* RESENT: a repeat has the same frames; its link, floor, stream, sequence and block length identify it. */
#define FCM_BLOCK_RESENT    0x001u /* may have been sent before */
#define FCM_BLOCK_GAP	    0x002u /* nothing came: the link is down or not aligned */
#define FCM_BLOCK_NO_TIME   0x004u /* tai_ns and slice_id are void */
#define FCM_BLOCK_PARTIAL   0x008u /* frames are missing: see status */
#define FCM_BLOCK_STEP	    0x010u /* the floor's numbering moved in here */
#define FCM_BLOCK_RELABEL   0x020u /* first block of a time epoch */
#define FCM_BLOCK_FIFO_FULL 0x040u /* hits were lost in the FCM's FIFO */
#define FCM_BLOCK_IDENTITY  0x080u /* the floor is not the one configured for this link */
/* Hits whose birth frame is out of reach, or the floor's time word disagrees with the label. */
#define FCM_BLOCK_TIME_FAULT 0x100u
#define FCM_BLOCK_EMULATED   0x200u /* from a model, not from the sea */

struct fcm_block_header {
	uint32_t magic;
	uint16_t version, header_bytes; /* 1, 256 (more in a later version) */
	uint8_t stream;			/* enum fcm_stream */
	uint8_t board, link, channels;
	uint8_t tower, floor;
	uint8_t label_source; /* enum label_source: 0 none, 1 gpsd, 2 floors' time word, 3 system clock,
			       * 4 the emulator's own */
	uint8_t clock_state; /* enum clock_state: 0 no-time, 1 acquiring, 2 locked, 3 holdover, 4 fault */
	uint32_t flags;
	uint32_t run; /* 0 outside a run */
	uint32_t dma_epoch, time_epoch;
	uint32_t uncertainty_ns; /* of the label alone; FCM_NO_UNCERTAINTY: none */
	uint32_t frames;	 /* carrying frames covered */
	uint32_t frames_lost;	 /* of them: never came (link-down, board-fifo, ring-full) */
	uint32_t frames_bad;	 /* of them: came, but bad (crc, alignment, time-fault) */
	uint64_t sequence;	 /* dma_epoch << 40 | first_frame / block length: computed */
	uint64_t first_frame;
	int64_t tai_ns; /* TAI since 1970 of the start of first_frame: label + delay; FCM_NO_TAI */
	uint64_t slice_id; /* of the label: UTC ms since 2000-01-01 (no leap seconds) / 200 */
	int64_t first_item_tai_ns,
		last_item_tai_ns; /* earliest and latest hit (or sample); FCM_NO_TAI */
	uint32_t cable_delay_ns;  /* added to the label in tai_ns and the item times: 0 = none */
	uint32_t items;		  /* hits, samples, or records */
	uint32_t payload_bytes;
	uint32_t status_offset, index_offset, data_offset;
	uint32_t channel_offset[FCM_CHANNELS_MAX + 1];
	uint32_t item_faults; /* hits dropped here because their bytes made no sense */
	uint8_t reserved[96]; /* 0 */
	uint32_t payload_crc; /* CRC-32C of the payload */
	uint32_t header_crc;  /* CRC-32C of the 252 bytes before */
};
static_assert(sizeof(struct fcm_block_header) == 256, "block header");
static_assert(offsetof(struct fcm_block_header, sequence) == 48, "block header");
static_assert(offsetof(struct fcm_block_header, channel_offset) == 120, "block header");

#define FCM_TOPIC_BYTES 32u /* with its 0 */

/* "pmt.T01.F07"; returns its length. */
static inline size_t fcm_topic(const struct fcm_block_header *h, char topic[FCM_TOPIC_BYTES])
{
	return (size_t)snprintf(topic, FCM_TOPIC_BYTES, "%s.T%02u.F%02u",
				fcm_stream_name(h->stream), (unsigned)h->tower, (unsigned)h->floor);
}

struct fcm_ack {
	uint64_t sequence;
	uint8_t stream, link, tower, floor;
	uint32_t block_frames; /* the block length, for a consumer's own books; 0: not given */
};
static_assert(sizeof(struct fcm_ack) == 16, "ack");

#endif
