/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libfcmdata: for a program that reads FCM-Server's data. Connects to a daemon, receives blocks (format:
 * fcm_data.h), checks each one's length, checksum and place in its stream, and acknowledges it. With each
 * block it says whether it is a repeat and how many frames are missing before it. A program reads as a
 * reserved consumer, whose blocks are kept until it acknowledges them, or as a monitor, which may miss some.
 *
 * A handle belongs to one thread, and so do its blocks. The library does not log and never exits; its
 * only threads are ZeroMQ's two per handle. Calls return 0 (or the value in their comment) or a negative
 * errno, and leave ret_ arguments untouched on failure.
 *
 * Duty of a reserved consumer: call fcmdata_receive() or fcmdata_alive() at least once a second, or the
 * daemon considers it dead (consumer_dead_ms, 3 s) and gives its blocks to other members of its group.
 * Both send acknowledgements and ALIVE when they are due, and HELLO again on a new connection or to a
 * restarted daemon. Only fcmdata_receive() reads the daemon's answers.
 */
#ifndef FCMDATA_H
#define FCMDATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schemas/fcm_data.h"
#include "schemas/fcm_hits.h"

#ifdef __cplusplus
extern "C" {
#endif

#define FCMDATA_NAME_BYTES  48u /* of a member's name, its end included */
#define FCMDATA_GROUP_BYTES 32u
#define FCMDATA_CREDIT_MAX  1024u
#define FCMDATA_SAMPLES	    24u /* of a hydrophone a frame */
#define FCMDATA_TELEMETRY   64u /* bytes a frame */

struct fcmdata;

enum fcmdata_mode {
	FCMDATA_RESERVED = 0, /* member of a group: every block, acknowledged */
	FCMDATA_MONITOR = 1,  /* best effort: listens, acknowledges nothing */
};

/* Set all of it to 0 first: 0 is each member's default. */
struct fcmdata_config {
	enum fcmdata_mode mode;
	/* "tcp://127.0.0.1:5710": for members, or for monitors. As the daemon binds it: at every address
	 * (its host 0.0.0.0, or an asterisk) means this host. */
	const char *endpoint;
	/* Reserved. Letters, digits and "._:-". No two live members have the same name: the second is
	 * refused, after consumer_dead_ms in which the first might have been its own dead connection. One
	 * that comes back under its old name gets what it had not acknowledged. */
	const char *name;
	const char *group;
	unsigned credit; /* blocks in flight to this member, 1..FCMDATA_CREDIT_MAX; 0: 64 */
	bool sole;	 /* the group has no other member: then gaps are losses, see gap_lost */
	/* Monitor. */
	const char *const
		*topics; /* prefixes, NULL after the last: "pmt.", "pmt.T01.F07"; NULL: all */
	unsigned queue;	 /* blocks that may wait here before more are lost; 0: 64 */
	/* Both, where the daemon asks for keys, or neither. */
	const char *server_key; /* the daemon's public key, 40 characters: fcmctl status says it */
	const char *key_file;	/* of fcmctl key make; readable by its owner only */
	uint64_t reserved[6];	/* 0 */
};

struct fcmdata_block {
	struct fcm_block_header header; /* checked, see fcmdata_check() */
	const uint8_t *payload; /* header.payload_bytes, where ZeroMQ put them: of any alignment */
	struct fcm_ack key;	/* for fcmdata_ack(), also after the block's release */
	/* Whether this handle has had it: always the whole block or nothing. A reserved consumer
	 * acknowledges repeats, too. */
	bool repeat; /* handed out and acknowledged before: its data have been processed */
	bool again; /* handed out before, not acknowledged since. A monitor's repeats are all of this kind */
	/*
	 * Frames [gap_first, gap_first + gap_frames) of this link and stream, right before this block, have
	 * not come to this handle. The first gap_lost of them were this member's for certain and are lost;
	 * the rest may have gone to other members. Of a monitor all are lost, and of a sole member, but for those
	 * after a RESENT block, which an earlier life of it may have acknowledged; before a block flagged STEP
	 * none for certain, the numbering moved. The daemon's ledger has each by name.
	 * Reported once, when the block after them comes for the first time, and inside a DMA epoch only.
	 */
	uint64_t gap_first, gap_frames, gap_lost;
};

enum fcmdata_state {
	FCMDATA_CONNECTING = 0, /* no daemon there (yet) */
	FCMDATA_ASKED = 1,	/* HELLO is sent, no answer yet */
	FCMDATA_MEMBER = 2,	/* of a monitor: connected */
	FCMDATA_REFUSED = 3,	/* finally: see fcmdata_refusal() */
};

/* Since fcmdata_open(). */
struct fcmdata_stats {
	enum fcmdata_state state;
	uint64_t connections; /* to a daemon; all but the first are reconnects */
	uint64_t hellos, welcomes;
	uint64_t too_slow; /* ERRORs of the daemon: a membership ended, another was asked for */
	uint64_t blocks, bytes, frames;	     /* handed out; bytes of header and payload */
	uint64_t repeats, agains;	     /* of these blocks */
	uint64_t gaps, gap_frames, gap_lost; /* gaps, their frames, of them surely lost */
	uint64_t late;			     /* blocks from before a gap that had been reported */
	uint64_t acknowledged;		     /* sent to the daemon */
	uint64_t header_crcs, payload_crcs; /* damaged messages: not handed out, not acknowledged */
	uint64_t malformed;		    /* blocks whose header makes no sense; likewise */
	uint64_t strangers;		    /* messages that are none of the protocol */
	/* Connections that the other side ended before the first word: it is no daemon, is crowded, wants keys,
	 * or has another key than server_key. */
	uint64_t failed_handshakes;
	uint64_t reserved[7];
};

/*
 * A handle for `config`, whose strings are copied. Does not wait for the daemon: that is what receiving
 * does. -EINVAL: name, group, credit, topic, endpoint or a key make no sense. Of the key file -ENOENT, -EACCES (also
 * when others than its owner may read it). -ENOTSUP: this libzmq cannot encrypt. -ENOMEM, -EMFILE.
 */
int fcmdata_open(const struct fcmdata_config *config, struct fcmdata **ret_handle);
/* Sends what is acknowledged and BYE, takes half a second at most. All blocks are void. NULL is fine. */
void fcmdata_close(struct fcmdata *h);

/*
 * Wait up to `timeout_ms` (0: not at all, -1: for ever) for a block: 1 and *ret_block, 0 when the time is
 * over. -EINTR: a signal came. -ECONNREFUSED: the daemon does not want this member, fcmdata_refusal()
 * says why; it stays so, to try again open a new handle. -ENOMEM: try again; a reserved consumer gets the
 * block again, a monitor has lost it, which shows as a gap.
 * The block is valid until fcmdata_release(). More than one may be held: memory is the caller's credit.
 * Acknowledgements are sent first, when enough of them wait or no message does.
 */
int fcmdata_receive(struct fcmdata *h, int timeout_ms, const struct fcmdata_block **ret_block);
/* Give the memory back; says nothing to the daemon. NULL is fine. */
void fcmdata_release(struct fcmdata *h, const struct fcmdata_block *b);

/*
 * What `key` names is processed: only that is delivered, for the daemon. Sent with others, at once when
 * enough of them wait, else by the next receive, alive or flush. Acknowledging twice, or what the daemon
 * has meanwhile given to others, is harmless: it is noted for `repeat`, and not sent. -EINVAL: a monitor
 * acknowledges nothing. -EAGAIN: too many wait and cannot be sent; nothing is noted, call again.
 */
int fcmdata_ack(struct fcmdata *h, const struct fcm_ack *key);
/* From the caller's own books, before receiving: an earlier life of this consumer had processed
 * `key`, perhaps without the daemon's hearing of it. It is a repeat when it comes. The newest 65000
 * or so blocks of each stream and length are remembered. -ENOMEM. */
int fcmdata_remember(struct fcmdata *h, const struct fcm_ack *key);
/* Send what is acknowledged now. 0; -ENOTCONN: not a member at present, what is named will come again, as
 * a repeat; -EAGAIN: the daemon takes nothing just now, it is kept. */
int fcmdata_flush(struct fcmdata *h);
/* For long computations, at least once a second: what is due is said. Cheap when nothing is. Receives no
 * block. 0 or -ECONNREFUSED. */
int fcmdata_alive(struct fcmdata *h);

/*
 * A descriptor for poll loops: readable whenever fcmdata_receive(h, 0, ...) has something to do: a block,
 * acknowledgements to send, or a duty (it then may return 0). The handle's; -EMFILE, -ENOMEM.
 */
int fcmdata_fd(struct fcmdata *h);
/* "error: hint" in the daemon's words, NULL when not refused. The handle's. */
const char *fcmdata_refusal(const struct fcmdata *h);
void fcmdata_get_stats(const struct fcmdata *h, struct fcmdata_stats *ret_stats);

/* ---- what is in a block ---- */

/* "good"; or the first check that failed. */
enum fcmdata_damage {
	FCMDATA_GOOD = 0,
	FCMDATA_MALFORMED,   /* sizes, magic, version, numbers, offsets, topic */
	FCMDATA_HEADER_CRC,  /* header_crc is not that of the header */
	FCMDATA_PAYLOAD_CRC, /* payload_crc is not that of the payload */
	FCMDATA_VERSION,     /* undamaged, but of a version that this library does not read */
};

/*
 * Check a message: sizes, both CRCs, topic against header, every offset and index against the payload.
 * FCMDATA_GOOD: *ret_block reads it (its facts are 0), as long as `payload` lives. What
 * fcmdata_receive() hands out is checked so; this is for messages that came otherwise.
 */
enum fcmdata_damage fcmdata_check(const void *topic, size_t topic_bytes, const void *header,
				  size_t header_bytes, const void *payload, size_t payload_bytes,
				  struct fcmdata_block *ret_block);

/* What became of carrying frame `frame` (from 0): 0 = good, else enum tdm_loss as fcm_data.py names them:
 * 1 link-down, 2 board-fifo, 3 ring-full, 4 crc, 5 alignment, 6 time-fault. -EINVAL: no such frame. */
int fcmdata_status(const struct fcmdata_block *b, uint32_t frame);

/* The bytes that `channel` got from carrying frame `frame`: how many, and *ret_bytes where they are. 0
 * for none, also of a GAP block. -EINVAL: no such channel of this stream, no such frame. */
int fcmdata_bytes(const struct fcmdata_block *b, unsigned channel, uint32_t frame,
		  const uint8_t **ret_bytes);

/* An iteration: fcmdata_begin(), then the same fcmdata_next_...() until it says 0. */
struct fcmdata_cursor {
	const struct fcmdata_block *block;
	unsigned channel;
	uint32_t frame, at, end;
};
/* -EINVAL: no such channel of this stream. */
int fcmdata_begin(const struct fcmdata_block *b, unsigned channel,
		  struct fcmdata_cursor *ret_cursor);

/* A TriDAS hit, whole (its layout is public). */
struct fcmdata_hit {
	const uint8_t *bytes; /* header of 16, samples after it; of any alignment */
	size_t length;
	uint32_t carrier; /* carrying frame of the block that it starts in, from 0 */
	int64_t tai_ns; /* TAI since 1970 of the hit, cable delay added as in the header; FCM_NO_TAI */
	uint8_t pmt, efcm, tower;
	uint16_t t5ns;	 /* 0..24999, units of 5 ns in its frame */
	uint16_t frame;	 /* 0..7999 of the second it was born in, at or before its carrier */
	uint32_t second; /* of the UTC day, as stamped: without the cable delay */
	uint16_t day_bcd;
	uint8_t year_bcd;
	uint8_t samples; /* of one byte with `zip`, two without */
	uint32_t charge; /* 22 bits */
	bool fifo_full, fragment, zip;
};
/* The next hit of a pmt channel (optical module): 1, 0 at the end, -EBADMSG: the bytes there are no hit
 * (the next frame's hits follow, when called again), -EINVAL: not a pmt block. */
int fcmdata_next_hit(struct fcmdata_cursor *c, struct fcmdata_hit *ret_hit);

/* The samples of a hydrophone in one frame: FCMDATA_SAMPLES, or 0 when none came. -EINVAL: no such
 * hydrophone or frame, not a hydrophone block; -EBADMSG: another number of bytes. */
int fcmdata_samples(const struct fcmdata_block *b, unsigned hydrophone, uint32_t frame,
		    int32_t ret_samples[FCMDATA_SAMPLES]);

/* The FCM's telemetry of one frame: FCMDATA_TELEMETRY and where it is, or 0 when none came; -EINVAL,
 * -EBADMSG as above. */
int fcmdata_telemetry(const struct fcmdata_block *b, uint32_t frame, const uint8_t **ret_bytes);

#define FCMDATA_CHANNEL_TELEMETRY 0u /* of an instrument block */
#define FCMDATA_CHANNEL_SERIAL	  1u

/* What the serial tunnel carried. */
struct fcmdata_serial {
	const uint8_t *bytes;
	uint8_t length;
	uint8_t channel; /* of the tunnel */
	uint16_t sequence;
	uint32_t carrier; /* carrying frame of the block, from 0 */
};
/* The next record of FCMDATA_CHANNEL_SERIAL: 1, 0, -EBADMSG, -EINVAL as for hits. */
int fcmdata_next_serial(struct fcmdata_cursor *c, struct fcmdata_serial *ret_serial);

/* ---- hits as rows and columns ---- */

#define FCMDATA_ALL (-1)

/*
 * The hits of a block as rows (fcm_hits.h), module by module in the order sent; of one module, or FCMDATA_ALL. `number`:
 * what `block` of each row says. `room`: rows that there is place for, header.items is always enough. How many;
 * -EINVAL: not a block of hits, no such module; -EBADMSG: a hit that is none; -ENOSPC.
 */
int64_t fcmdata_hits(const struct fcmdata_block *b, int module, uint32_t number,
		     struct fcm_hit_row *rows, size_t room);
/* Sort by time; those of the same ns stay in the order given. Rows of several floors are merged so: put the rows of their
 * blocks of one slice after each other first. `scratch`: as many rows. */
void fcmdata_hits_order(struct fcm_hit_row *rows, struct fcm_hit_row *scratch, size_t n);
/* Each field to its column. */
void fcmdata_hits_split(const struct fcm_hit_row *rows, size_t n, const struct fcm_hit_columns *to);
/* How many samples the rows have in all. */
size_t fcmdata_hits_samples(const struct fcm_hit_row *rows, size_t n);
/* The samples as 16-bit values, expanded where the floor sent bytes. `payloads`: of the rows' blocks, by `block`. Row i has
 * values[offsets[i]] up to values[offsets[i + 1]]; `values`: fcmdata_hits_samples() of them, `offsets`: n + 1. */
void fcmdata_hits_waveforms(const struct fcm_hit_row *rows, size_t n,
			    const uint8_t *const payloads[], uint16_t *values, uint64_t *offsets);

/* ---- recordings ---- */

struct fcmdata_recording;

/* Set all of it to 0 first: 0 is each member's default. */
struct fcmdata_recording_config {
	unsigned links;	  /* bit mask; 0: all */
	unsigned streams; /* bit mask, 1 << enum fcm_stream; 0: all */
	uint32_t run;	  /* blocks of this run only; 0: all */
	/* With data of [from, until), TAI since 1970 in ns; 0: no limit. With a limit blocks without time are left
	 * out. */
	int64_t from_tai_ns, until_tai_ns;
	uint32_t block_frames; /* divisor of 1600; 0: as the daemon had it */
	bool follow; /* it is being written: at its end fcmdata_recording_next() waits for more */
	uint64_t reserved[6]; /* 0 */
};

/*
 * The blocks of a recording: a directory of segments, or one segment. They are those that the daemon made, without its
 * flag RESENT; where the recording begins or ends inside a block, the frames that it does not have are lost for
 * board-fifo. `config` may be NULL. -ENOENT, -ENODATA: no segments there; -EBADMSG, -EPROTO: not a segment, or of another
 * version; -EINVAL: no divisor; errno of open(2).
 */
int fcmdata_recording_open(const char *path, const struct fcmdata_recording_config *config,
			   struct fcmdata_recording **ret_recording);
/*
 * The next block: 1, valid until the next call; its gap_ members say what the recording lacks before it. 0: there are no more,
 * with `follow` none now: ask again. -ENOMEM, -EIO and the like may be asked again, too. Blocks of a link come in order, those
 * of several links by board count.
 */
int fcmdata_recording_next(struct fcmdata_recording *r, const struct fcmdata_block **ret_block);
/* Of the block handed out last: so many frames at its begin and at its end are missing only because the recording begins or
 * ends there. They are no loss. */
void fcmdata_recording_edges(const struct fcmdata_recording *r, uint32_t *ret_begin,
			     uint32_t *ret_end);
/* TAI since 1970 in ns of the recorded cells' begin and end, of the links in the configuration, whatever its other limits:
 * 0; the data in them are up to 12 ms older. -ENODATA: they have no time. */
int fcmdata_recording_range(const struct fcmdata_recording *r, int64_t *ret_first_tai_ns,
			    int64_t *ret_last_tai_ns);
/* Segments damaged so far, after whose damage reading went on with the next segment; *ret_text: the last one, in
 * words, or NULL. */
unsigned fcmdata_recording_troubles(const struct fcmdata_recording *r, const char **ret_text);
void fcmdata_recording_close(struct fcmdata_recording *r); /* NULL is fine */

#ifdef __cplusplus
}
#endif

#endif
