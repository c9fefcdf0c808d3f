/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note OR BSD-2-Clause */
/*
 * The contract of a NaNet3 board, in two halves.
 *
 *   1. board  <-> driver    registers in BAR 0, rings in host memory, events, TX descriptors
 *   2. driver <-> library   requests (ioctl numbers and their structs) and mappings
 *
 * "Driver" is the kernel module, or the emulator's user-space host in its place; both implement
 * both halves. The register map is OURS: the board's own is not public. All fields little-endian,
 * reserved fields zero, no implicit padding.
 *
 * The path of a link's data:
 *
 *   board                         driver                          owner (one process)
 *   fills buffer FREE -> BOARD
 *   full, or deadline:  --event-> completions[position % depth]
 *                                 write_position++  ----mapped--> reads buffer  (READER)
 *                                 release_position  <--RELEASE--- done with all below position
 *   may fill it again  <-register-
 *
 * **Every completion covers a range of board counts, [frame_count, frame_count + frames), and the
 * ranges of one DMA epoch follow each other without a hole**: data (length = frames x 10 000) or a
 * gap (length 0, reason says why). A dark link completes gaps at every deadline, so time continues
 * for a reader. When the ring is full the board drops whole cells and counts them; the next
 * completion is a gap of exactly that many cells with reason RING_FULL. Ring, positions and owner
 * page survive the owner.
 *
 * User buffers. A process registers memory of its own: the driver pins it, lists its pages, and the
 * board translates (buffer, offset) through that list, with a TLB before it. A put copies from one
 * registered buffer, through the board's loop-back port, into another, in packets of at most a
 * page. These are the papers' RDMA calls; nanet3-perf measures them.
 *
 * Rights. A handle that is not open for writing changes nothing. To act on a link (a word down, a reset,
 * its deadline) a handle must *act for* it: it owns the link's ring, or the owner has granted it the right
 * (for instance to another thread of a daemon); otherwise the process must be privileged. A link without an
 * owner has to be claimed first. Shared resources are limited: NANET3_LINK_WORDS and the constants
 * after it.
 *
 * Polling. Each event on the board's queue carries its own sequence number, written last. A process
 * that owns a link may map that queue for reading and the link's doorbell page for writing, and then
 * needs neither interrupt nor system call for a buffer: it follows the sequence numbers and writes
 * the release position itself. The driver follows the queue later, so ring state and take-over do
 * not change.
 *
 * Versions. Each half has a number of its own, raised only when who does not know of the change would do
 * something wrong. What a board can do beyond the oldest version is a bit of CAPS. Driver and caller agree
 * in INFO on the newest version of the second half that both speak. Without a new number come: reserved
 * fields, new requests, and fields at the end of a request's struct. Its size is in its code: who sends
 * fewer bytes than the driver knows means 0 by the rest, and who sends more, that are not 0, gets E2BIG.
 *
 * The one hole allowed: when a PPS comes before the end of the count's own second, the count jumps to
 * the next multiple of 8000, and the counts in between never exist. Open buffers are handed over
 * first, so a completion of cells never spans the hole; a gap that combines more gaps than the board can
 * remember may. The next completion begins at a multiple of 8000
 * above the end of the last one: this shows that the second was short. Counts never repeat or go
 * back; the first of a boot is 8000.
 */
#ifndef NANET3_H
#define NANET3_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define NANET3_HW_VERSION	 4u /* of the board: the newest that a driver knows, and the oldest */
#define NANET3_HW_VERSION_MIN	 4u
#define NANET3_ABI_VERSION	 4u /* of requests and mappings, likewise */
#define NANET3_ABI_VERSION_MIN	 4u
#define NANET3_LINKS		 4u
#define NANET3_FRAME_BYTES	 10000u
#define NANET3_FRAMES_PER_SECOND 8000u
#define NANET3_DEADLINE_MIN_US	 125u /* of a buffer's hand-over: a frame .. 1 s */
#define NANET3_DEADLINE_MAX_US	 1000000u
#define NANET3_FRAME_NS		 125000u
#define NANET3_PAGE		 4096u
#define NANET3_CHUNK_MAX	 (4u << 20) /* largest coherent chunk */
#define NANET3_PCI_VENDOR	 0x1172u
#define NANET3_PCI_DEVICE	 0xe003u /* a placeholder: SOURCES.md */

/* ------------------------------------------------------------------ 1. board <-> driver */

/*
 * Registers, 32 bits each, BAR 0, 64 KiB. A 64-bit pair is read low word first; reading it latches
 * the high one. A board that is gone reads all ones.
 *
 * The driver counts DMA_EPOCH; a link's ENABLE latches it for that link's RX events. The event
 * queue keeps a place for each buffer that can still complete. An event is written after the data
 * that it reports; the driver disables relaxed ordering, so that the bus keeps this order. RX and TX events wait for room and
 * are never dropped. LINK, PPS and ERROR events can be dropped; EVQ_LOST counts them.
 */
#define NANET3_REG_ID	       0x0000u /* "NN3\0" little-endian: 0x00334e4e */
#define NANET3_REG_VERSION     0x0004u /* NANET3_HW_VERSION */
#define NANET3_REG_LINKS       0x0008u
#define NANET3_REG_SERIAL      0x000cu
#define NANET3_REG_CONTROL     0x0010u /* NANET3_CONTROL_* */
#define NANET3_REG_STATUS      0x0014u /* NANET3_STATUS_* */
#define NANET3_REG_DMA_EPOCH   0x0018u /* rw: number of the next DMA start, see above */
#define NANET3_REG_IRQ_STATUS  0x001cu /* write 1 to clear; bit n = link n, bit 4 = control */
#define NANET3_REG_IRQ_MASK    0x0020u /* 1 = enabled */
#define NANET3_REG_BOOT_COUNT  0x0024u
#define NANET3_REG_COUNT       0x0028u /* pair: the board's frame count, now */
#define NANET3_REG_PPS_COUNT   0x0030u /* pair: the frame count that the last PPS began */
#define NANET3_REG_PPS_NUMBER  0x0038u /* PPS seen since boot */
#define NANET3_REG_PPS_OFFSET  0x003cu /* signed ns: PPS minus the count's own second, last seen */
#define NANET3_REG_TEMPERATURE 0x0040u /* signed milli-degree C */
#define NANET3_REG_TOD	       0x0044u /* time of day from IRIG-B: second of the UTC day */
#define NANET3_REG_TOD_DATE    0x0048u /* day of year from 0 (bits 0-8), years since 2000 (9-15) */
#define NANET3_REG_TOD_FLAGS   0x004cu /* bits 0-3 TDM_TIME_*, 4-5 leap */
#define NANET3_REG_TLB_HITS    0x0050u
#define NANET3_REG_TLB_WALKS   0x0054u
#define NANET3_REG_TLB_MISSES  0x0058u /* address in no table: the transfer is dropped */
#define NANET3_REG_SCRATCH     0x005cu /* rw, no effect */
#define NANET3_REG_EVQ_BASE    0x0060u /* pair: bus address of the event queue */
#define NANET3_REG_EVQ_SIZE    0x0068u /* events, a power of two */
#define NANET3_REG_EVQ_WRITE   0x006cu /* ro: events written, wrapping */
#define NANET3_REG_EVQ_READ    0x0070u /* driver: events taken, wrapping */
#define NANET3_REG_EVQ_LOST    0x0074u /* ro: control events dropped, see above */
#define NANET3_REG_TX_BASE     0x0080u /* pair: bus address of the TX ring */
#define NANET3_REG_TX_SIZE     0x0088u /* descriptors, a power of two */
#define NANET3_REG_TX_WRITE    0x008cu /* doorbell: descriptors posted, wrapping */
#define NANET3_REG_TX_READ     0x0090u /* ro: descriptors fetched, wrapping: not what they ask for */
#define NANET3_REG_MODEL       0x0094u /* 0: a board; else a model, NANET3_EMULATED_* */
#define NANET3_REG_MODEL_FAULT 0x0098u /* wo, models only: driver/emu/common/model_fault.h */
#define NANET3_REG_CAPS	       0x009cu /* ro: NANET3_CAP_*; a board that has no such register reads 0 */
#define NANET3_BAR_BYTES       0x10000u

#define NANET3_CAP_LOST_DESCRIPTORS                                                                \
	0x1u /* DMA_FAULT of TX_BASE says which descriptor was not read */

/* MSI-X vectors: n = RX events of link n; NANET3_LINKS = everything else. The table is in BAR 2. */
#define NANET3_VECTORS (NANET3_LINKS + 1u)

#define NANET3_CONTROL_RESET  0x1u /* self-clearing: stops DMA, forgets rings and buffers */
#define NANET3_CONTROL_EVENTS 0x2u /* event queue enabled */
#define NANET3_CONTROL_TX     0x4u /* TX ring enabled */

#define NANET3_STATUS_PPS     0x1u /* a PPS within the last 1.5 s */
#define NANET3_STATUS_REF     0x2u /* 10 MHz reference locked */
#define NANET3_STATUS_TOD     0x4u /* IRIG-B label valid */
#define NANET3_STATUS_STALLED 0x8u /* internal error: no hand-overs */

/* Per link n at NANET3_REG_LINK(n, reg). */
#define NANET3_REG_LINK(n, reg)	 (0x1000u + 0x400u * (n) + (reg))
#define NANET3_LREG_CONTROL	 0x00u /* NANET3_LINK_* */
#define NANET3_LREG_STATUS	 0x04u /* NANET3_LSTAT_* */
#define NANET3_LREG_RX_POWER	 0x08u /* nW */
#define NANET3_LREG_TX_POWER	 0x0cu /* nW */
#define NANET3_LREG_PHASE	 0x10u /* recovered clock against reference: 0..12499 ps, 100 ms mean */
#define NANET3_LREG_RTT		 0x14u /* bits 0-7 whole frames, 8-21 byte offset, 22-25 bit slip */
#define NANET3_LREG_PHASE_NUMBER 0x18u /* of PHASE since the last align; 0: PHASE is old */
#define NANET3_LREG_ALIGNS	 0x1cu /* alignments gained since boot */
#define NANET3_LREG_CODE_ERRORS	 0x20u /* 8b10b errors */
#define NANET3_LREG_LOST_LOCKS	 0x24u
#define NANET3_LREG_DROP_FIFO	 0x28u /* cells dropped: board FIFO */
#define NANET3_LREG_DROP_RING	 0x2cu /* cells dropped: ring full */
#define NANET3_LREG_DROP_DOWN	 0x30u /* cell periods without link */
#define NANET3_LREG_CELLS	 0x34u /* cells handed over */
#define NANET3_LREG_DEADLINE	 0x38u /* us; default 5000 */
#define NANET3_LREG_FRAMES	 0x3cu /* frames a buffer */
#define NANET3_LREG_TABLE	 0x40u /* pair: bus address of depth x u64 buffer addresses */
#define NANET3_LREG_DEPTH	 0x48u /* buffers in the ring */
#define NANET3_LREG_WRITE	 0x50u /* pair, ro: buffers handed over since DMA start */
#define NANET3_LREG_RELEASE	 0x58u /* pair: buffers released since DMA start. Write high, then low */

#define NANET3_LINK_ENABLE 0x1u /* DMA runs; setting it begins at position 0 */
#define NANET3_LINK_RESET  0x2u /* self-clearing: transceiver reset, lock is lost and found again */
#define NANET3_LINK_ALIGN  0x4u /* self-clearing: word alignment again */

#define NANET3_LSTAT_SIGNAL 0x1u /* light */
#define NANET3_LSTAT_LOCKED 0x2u /* word-aligned on K28.5 */
#define NANET3_LSTAT_FULL   0x4u /* ring full now */
#define NANET3_LSTAT_BUSY                                                                          \
	0x8u /* DMA under way: after ENABLE is cleared, memory may be freed when
				  * this is clear too, and not before */

/*
 * User buffer n at NANET3_REG_BUFFER(n, reg). Setting VALID latches the other registers. Clearing
 * it ends translation through this buffer at once; BUSY is clear when the last transfer has ended.
 */
#define NANET3_BUFFERS		  64u
#define NANET3_REG_BUFFER(n, reg) (0x2000u + 0x20u * (n) + (reg))
#define NANET3_BREG_TABLE	  0x00u /* pair: bus address of `pages` x u64 page addresses */
#define NANET3_BREG_LENGTH	  0x08u /* pair: bytes */
#define NANET3_BREG_OFFSET	  0x10u /* of the first byte in the first page */
#define NANET3_BREG_CONTROL	  0x14u
#define NANET3_BREG_STATUS	  0x18u
#define NANET3_BUFFER_VALID	  0x1u
#define NANET3_BSTAT_BUSY	  0x1u

/*
 * Doorbell page of link n, alone in its page so that the owner may map it: a write-only alias of
 * LREG_RELEASE (high word at 4 first, then the low one at 0). Positions that go backwards or beyond
 * WRITE are ignored, as in LREG_RELEASE.
 */
#define NANET3_REG_DOORBELL(n) (0x8000u + NANET3_PAGE * (n))

enum nanet3_event_type {
	NANET3_EVENT_NONE = 0,
	NANET3_EVENT_RX = 1,	/* a buffer, or a gap, was completed */
	NANET3_EVENT_TX = 2,	/* a posted word has left; frame_count = the frame it left in */
	NANET3_EVENT_LINK = 3,	/* signal or lock changed; value = NANET3_LSTAT_*, reason below */
	NANET3_EVENT_PPS = 4,	/* frame_count = the count the PPS began; value = PPS number */
	NANET3_EVENT_ERROR = 5, /* board error; reason = NANET3_ERROR_*, value below */
	NANET3_EVENT_GONE = 6,	/* the board, or this handle, is no longer there; driver only */
	NANET3_EVENT_PUT =
		7, /* a put has arrived: value = buffer, position = offset, length, cookie
				 * = the sender's. For the buffer's registrant */
};

/* reason of an RX event with length 0; equal to the ledger's names (enum tdm_loss). */
#define NANET3_GAP_LINK_DOWN  1u
#define NANET3_GAP_BOARD_FIFO 2u
#define NANET3_GAP_RING_FULL  3u

#define NANET3_ERROR_STALLED  1u /* value 1: hand-overs have stopped; 0: they continue */
#define NANET3_ERROR_EVQ_FULL 2u /* value: events lost since boot */
#define NANET3_ERROR_DMA_FAULT                                                                     \
	3u /* address in no table; value: register offset of the table. TX_BASE: a
	    * descriptor was not read; position, with CAP_LOST_DESCRIPTORS: how many
	    * were taken before it */

/* reason of LINK: the LSTAT bits that changed, and */
#define NANET3_CAUSE_COMMAND 0x80u /* a commanded reset or align is under way */
#define NANET3_TX_REFUSED    1u /* reason of a TX event: descriptor malformed, nothing was sent */
#define NANET3_TX_FAULT	     2u /* reason of a TX event: an address in no table, (rest) not delivered */

#define NANET3_RX_DEADLINE 0x1u /* handed over by its deadline, not full */

/* One event, 64 bytes; on the board's queue, in a ring's completions and in a client's queue. */
struct nanet3_event {
	__u8 type;   /* enum nanet3_event_type */
	__u8 link;   /* 0..3; TX, PUT: also as posted (NANET3_LOOPBACK, 0xff); 0xff = the board */
	__u8 reason; /* see above */
	__u8 flags;  /* RX: NANET3_RX_* */
	__u32 dma_epoch;
	__u64 position; /* RX: of the buffer since DMA start; buffer = position % depth */
	__u64 frame_count; /* RX: board count of the first cell covered; see the types; else of the moment,
			    * or 0: EVQ_FULL, and what the driver made (GONE, TX and PUT of a reset) */
	__u32 frames;  /* RX: cells covered */
	__u32 length;  /* RX: valid bytes */
	__u64 time_ns; /* CLOCK_MONOTONIC when the driver took the event */
	__u64 cookie;  /* TX, PUT: the sender's */
	__u32 value;
	__u32 reserved[2];
	__u32 sequence; /* on the board's queue: events posted on it before, plus 1; written last */
};

/*
 * One downstream word on the TX ring: a page per descriptor on the board, 64 bytes used. A frame of
 * a link has room for 16 requests, one timing command and one piece of serial data. Words that are
 * due leave in the order in which they were posted.
 */
#define NANET3_TX_STRIDE  NANET3_PAGE
#define NANET3_TX_AHEAD	  80000u /* frames: SEND refuses an at_frame further ahead (10 s) */
#define NANET3_TX_REQUEST 1u	 /* 16 bytes: a slow-control word */
#define NANET3_TX_TIMING  2u	 /* 12 bytes: command u8, 3 zero, argument u32, sequence u32 */
#define NANET3_TX_SERIAL  3u	 /* channel u8, length u8 <= 30, bytes */

#define NANET3_TX_PUT 4u /* struct nanet3_tx_put; driver only, made from NANET3_IOC_PUT */

struct nanet3_tx {
	__u8 link; /* 0..3; 0xff with TIMING: broadcast; NANET3_LOOPBACK with PUT */
	__u8 kind; /* NANET3_TX_* */
	__u16 reserved0;
	__u32 flags;	/* NANET3_TX_MORE, for the driver; on the ring 0 */
	__u64 at_frame; /* board count to leave in; 0 or past = the next one with room */
	__u64 cookie;	/* comes back in the completion event */
	__u8 bytes[32];
	__u64 reserved2;
};
#define NANET3_TX_MORE                                                                             \
	0x1u /* ring the doorbell with the next one: words that belong together leave together */

/*
 * Limits of the resources that clients share, and the parts that are reserved for handles that act
 * for a link: no other client can use up their words, their part of the TX ring or all registered
 * buffers. Words that the last owner has scheduled (at_frame, at most 10 s ahead) leave, and count,
 * also when the link has another owner.
 */
#define NANET3_LINK_WORDS   64u /* words under way to a link; a broadcast counts on each */
#define NANET3_OTHERS_WORDS 16u /* of them, in all, from handles that do not act for the link */
#define NANET3_TX_WORDS                                                                            \
	(NANET3_LINKS * NANET3_LINK_WORDS) /* descriptors of the TX ring reserved for words */
#define NANET3_HANDLE_BUFFERS 16u	   /* registered by one handle */
#define NANET3_OTHERS_BUFFERS                                                                      \
	48u			/* registered in all; beyond, only by handles that act for a link */
#define NANET3_READ_HANDLES 48u /* open in all; beyond, only handles that are open for writing */

/*
 * One packet of a put, in the bytes of its descriptor: at most a page, and inside one page at the
 * source. All packets of a put carry its cookie. The TX and PUT events of the LAST one are those of
 * the put, with reason NANET3_TX_FAULT if any of its packets failed. Packets leave in order, at
 * once, not by frames. The PUT event comes when all bytes are read at the source and written at the
 * destination: until then the board may use both.
 */
#define NANET3_LOOPBACK 0xf0u
#define NANET3_PUT_LAST 0x1u
struct nanet3_tx_put {
	__u64 source;	   /* bus address */
	__u64 destination; /* offset in the buffer */
	__u32 length;	   /* bytes, 1..NANET3_PAGE */
	__u16 buffer;
	__u16 flags;
	__u64 put_bytes; /* of the whole put: length of its PUT event, whose position is its start */
};

/* ------------------------------------------------------------------ 2. driver <-> library */

enum nanet3_ring_status {
	NANET3_RING_STOPPED = 0,   /* no DMA */
	NANET3_RING_OWNED = 1,	   /* running for its owner */
	NANET3_RING_LINGERING = 2, /* owner gone, DMA continues until the linger time has passed */
};

/*
 * A link's ring state, mapped read-only: this header in the first page, then completions from
 * NANET3_RING_COMPLETIONS on, `depth` of them. The driver writes completions[write_position % depth]
 * first and write_position after it (release store); a reader loads write_position with acquire.
 * A completion is valid until its buffer is released.
 */
struct nanet3_ring {
	__u32 version;
	__u32 link;
	__u32 frames_per_buffer;
	__u32 buffer_stride; /* bytes from buffer to buffer, page-aligned */
	__u32 depth;	     /* buffers */
	__u32 chunk_buffers; /* buffers in a chunk (mapping); the last chunk may hold fewer */
	__u32 chunks;
	__u32 deadline_us;
	__u32 linger_ms;
	__u32 dma_epoch;   /* of the running or last DMA */
	__u32 status;	   /* enum nanet3_ring_status */
	__u32 owner_pid;   /* 0: none */
	__u64 start_count; /* board count of this DMA epoch's first cell, once write_position > 0 */
	__u64 reserved0;
	__u64 write_position __attribute__((aligned(64)));   /* completions so far */
	__u64 release_position __attribute__((aligned(64))); /* released so far */
	__u64 reserved1[7];
};
#define NANET3_RING_COMPLETIONS NANET3_PAGE

/*
 * A client's own event queue, mapped read-write: one page of header, then `size` events. The driver
 * writes events[write % size], then write; the client advances read. When it is full, lost control
 * events are counted in `lost`. RX events are only wake-ups (the ring state is authoritative) and
 * may be merged.
 */
struct nanet3_queue {
	__u32 version;
	__u32 size; /* a power of two */
	__u64 lost;
	__u64 reserved[6];
	__u64 write __attribute__((aligned(64)));
	__u64 read __attribute__((aligned(64)));
	__u64 reserved1[7];
};
#define NANET3_QUEUE_EVENTS NANET3_PAGE

/* Mappings: mmap offsets of the device; the argument of NANET3_SOCK_MAP on the emulator's socket. */
#define NANET3_MAP_QUEUE	  (0x1ull << 40)
#define NANET3_MAP_EVENTS	  (0x5ull << 40) /* the board's queue, read-only; a link's owner only */
#define NANET3_MAP_DOORBELL(link) ((0x6ull << 40) | ((unsigned long long)(link) << 36))
#define NANET3_MAP_RING(link)	  ((0x2ull << 40) | ((unsigned long long)(link) << 36))
#define NANET3_MAP_OWNER(link)	  ((0x3ull << 40) | ((unsigned long long)(link) << 36))
#define NANET3_MAP_CHUNK(link, n)                                                                  \
	((0x4ull << 40) | ((unsigned long long)(link) << 36) | ((unsigned long long)(n) << 24))
/* The owner page: NANET3_PAGE bytes, read-write for the owner, zeroed when a new DMA epoch begins. */

#define NANET3_EMULATED_REAL_TIME 1u
#define NANET3_EMULATED_UNPACED	  2u /* its time is not real time: its own labels are the time */

struct nanet3_info {
	__u32 version; /* in: the newest that the caller speaks; out: what both speak from now on */
	__u32 links;
	__u32 serial;
	__u32 boot_count;
	__u64 handle;	  /* number of this handle, for GRANT; not 0, never reused */
	__u32 emulated;	  /* 0: a board; else a model: NANET3_EMULATED_* */
	__u32 queue_size; /* events of this client's queue */
	char name[32];	  /* "nanet3-0" */
	/* The struct's first version ends here: NANET3_INFO_LEAST bytes are accepted. */
	__u32 version_min; /* in: the oldest that the caller speaks; 0: as version */
	__u32 hw_version;  /* the board's */
	__u32 caps;	   /* NANET3_CAP_* */
	__u32 reserved;
};
#define NANET3_INFO_LEAST 64u

struct nanet3_claim {
	__u32 link;
	__u32 flags;	 /* in: NANET3_CLAIM_*; out: NANET3_CLAIMED_* */
	__u32 dma_epoch; /* out */
	__u32 reserved;
};
#define NANET3_CLAIM_FRESH	0x1u /* do not take over a lingering ring: start a new DMA epoch */
#define NANET3_CLAIMED_TAKEOVER 0x100u /* ring, positions and owner page are the last owner's */

struct nanet3_grant {
	__u32 link;
	__u32 reserved;
	__u64 handle; /* nanet3_info.handle of another handle that acts for the link; 0: none */
};

struct nanet3_release {
	__u32 link;
	__u32 reserved;
	__u64 position; /* all buffers below are released: release_position..write_position */
};

#define NANET3_REGS_MAX 28u
struct nanet3_regs {
	__u32 offset; /* first register, multiple of 4 */
	__u32 count;  /* 1..NANET3_REGS_MAX registers */
	__u32 values[NANET3_REGS_MAX];
};

struct nanet3_link_command {
	__u32 link;
	__u32 command; /* NANET3_LINK_RESET | NANET3_LINK_ALIGN */
};

struct nanet3_subscribe {
	__u32 mask; /* bit per enum nanet3_event_type: LINK, PPS, ERROR. RX of claimed links, TX of own
		     * sends and GONE always come */
	__u32 reserved;
};

struct nanet3_wait {
	__u32 timeout_ms; /* 0 = do not wait, ~0 = for ever */
	__u32 reserved;
};

/* Polling on or off for all links that the caller owns: while on, no interrupts are raised for them
 * and the driver follows the board's queue by itself every few ms. */
struct nanet3_polling {
	__u32 on;
	__u32 queue_size;    /* out: events on the board's queue */
	__u32 next_sequence; /* out: of the first event that was not reported to the caller */
	__u32 reserved;
};

#define NANET3_BUFFER_BYTES_MAX (1ull << 30)
struct nanet3_register {
	__u64 address; /* of the caller's memory, any alignment */
	__u64 length;  /* 1..NANET3_BUFFER_BYTES_MAX */
	__u32 buffer;  /* out: its number */
	__u32 reserved;
};

/* From one registered buffer into another, or the same. Both must be the caller's. */
struct nanet3_put {
	__u32 source, destination; /* buffers */
	__u64 source_offset, destination_offset;
	__u64 length;
	__u64 cookie; /* of its TX and PUT events */
	__u32 flags;  /* NANET3_PUT_MORE: ring the doorbell with the next one */
	__u32 reserved;
};
#define NANET3_PUT_MORE 0x1u
#define NANET3_PUT_UNCHECKED                                                                       \
	0x2u /* let the board find out whether the destination is in its table */

struct nanet3_link_stats {
	__u64 interrupts;    /* of its vector */
	__u64 buffers, gaps; /* completions taken */
	__u64 stale;	     /* events of an earlier DMA epoch, dropped */
	__u64 starts;	     /* of DMA */
	__u64 takeovers, lingers;
};
struct nanet3_stats {
	struct nanet3_link_stats links[NANET3_LINKS];
	__u64 control_interrupts, spurious; /* spurious: nothing was there */
	__u64 rescued;		  /* events found without an interrupt (lost, or polling) */
	__u64 events, bad_events; /* taken; of no known type, link or position */
	__u64 queue_lost;	  /* control events lost because a client's queue was full */
	__u64 tx_words, tx_faults, puts, put_bytes;
	__u64 resets; /* of the whole board, by the driver */
	__u32 clients;
	__u32 buffers;	    /* registered now */
	__u64 pinned_pages; /* by them */
	__u64 quarantined;  /* pages never given back, as a board would not stop writing: of all
			     * boards, since the driver was loaded */
};

/*
 * Requests. All are refused with ENODEV once the board is gone, with EINVAL when their struct is shorter than
 * its first version, with E2BIG when it is longer than the driver's and the rest is not 0 (of STATS, which the
 * driver only writes, the rest stays as it is). The device opens 64 times at once, for reading only as long as
 * fewer than NANET3_READ_HANDLES are open, then EMFILE. A handle that is not open for writing gets EBADF for all
 * but INFO, REG_READ, STATS and WAIT.
 *   INFO      first call of every client; EINVAL when `reserved` is not 0; EPROTO when there is no version that
 *             both speak, and for any other request before it
 *   CLAIM     become a link's one owner: EBUSY when it has one (also this client), EINVAL no such link
 *             A link whose completions do not follow one another is stopped, and its owner loses its
 *             handle: GONE, then ENODEV, as if the board had gone
 *   YIELD     release it (u32 link): DMA stops at once, no linger. EPERM when not the owner. Its mappings
 *             stay, but are of no meaning any more
 *   GRANT     let one other handle act for the link, instead of the last one: EPERM when not the owner, ENOENT
 *             when no such handle is open. Ends with the ownership, and with that handle
 *   RELEASE   EPERM when not the owner, EINVAL beyond write_position or backwards
 *   SEND      one downstream word: EINVAL malformed, EPERM when the caller does not act for the link (broadcast:
 *             for all of them) and has no CAP_SYS_ADMIN, ENOLINK when the link is not locked (broadcast: none is),
 *             EAGAIN when the TX ring or the link's room for words is full. A refused SEND rings the doorbell for
 *             words that MORE held back; so does the end of the handle that holds them back
 *   REG_READ  EINVAL out of range or not aligned. Bus addresses read as 0 unless the caller is privileged
 *   REG_WRITE EPERM unless it is SCRATCH, or a DEADLINE within its limits of a link that the caller acts for, or
 *             the caller has CAP_SYS_RAWIO
 *   LINK_CMD  reset, align: EINVAL when neither, or no such link; EPERM when the caller does not act for the link
 *             and has no CAP_SYS_ADMIN
 *   SUBSCRIBE which control events this client wants: EINVAL for others than those three
 *   POLLING   EPERM when the caller owns no link. Off: ring state has caught up when it returns. Ends with
 *             the last link that the caller gives back
 *   REGISTER  EINVAL length, EFAULT memory not the caller's or not writable, ENOMEM over its
 *             RLIMIT_MEMLOCK, ENOSPC no buffer is free for this handle. Memory stays pinned until UNREGISTER
 *             or close
 *   UNREGISTER  (u32 buffer) ENOENT not the caller's; returns when the board does not write there any
 *             more. While packets from or to it wait on the TX ring, its number is not used again
 *   PUT       ENOENT a buffer is not the caller's, EINVAL outside of it (the destination only without
 *             UNCHECKED), EAGAIN the puts' part of the TX ring is full, or the source is being written to where
 *             DMA is bounced or an IOMMU translates: nothing was posted, and the doorbell is rung for what MORE
 *             held back; E2BIG it will never fit
 *   STATS     counters since the driver was bound to the board, through all its losses; any handle
 *   WAIT      until the client's queue is not empty: ETIMEDOUT, EINTR (device only; on the socket the
 *             library polls the queue's eventfd)
 */
#define NANET3_IOC_INFO	      _IOWR('N', 0x00, struct nanet3_info)
#define NANET3_IOC_CLAIM      _IOWR('N', 0x01, struct nanet3_claim)
#define NANET3_IOC_YIELD      _IOW('N', 0x02, __u32)
#define NANET3_IOC_RELEASE    _IOW('N', 0x03, struct nanet3_release)
#define NANET3_IOC_SEND	      _IOW('N', 0x04, struct nanet3_tx)
#define NANET3_IOC_REG_READ   _IOWR('N', 0x05, struct nanet3_regs)
#define NANET3_IOC_REG_WRITE  _IOW('N', 0x06, struct nanet3_regs)
#define NANET3_IOC_LINK_CMD   _IOW('N', 0x07, struct nanet3_link_command)
#define NANET3_IOC_SUBSCRIBE  _IOW('N', 0x08, struct nanet3_subscribe)
#define NANET3_IOC_WAIT	      _IOW('N', 0x09, struct nanet3_wait)
#define NANET3_IOC_POLLING    _IOWR('N', 0x0a, struct nanet3_polling)
#define NANET3_IOC_REGISTER   _IOWR('N', 0x0b, struct nanet3_register)
#define NANET3_IOC_UNREGISTER _IOW('N', 0x0c, __u32)
#define NANET3_IOC_PUT	      _IOW('N', 0x0d, struct nanet3_put)
#define NANET3_IOC_STATS      _IOR('N', 0x0e, struct nanet3_stats)
#define NANET3_IOC_GRANT      _IOW('N', 0x0f, struct nanet3_grant)

/* A request's code without the size of its struct. */
#define NANET3_REQUEST(code) ((__u32)(code) & ~((__u32)_IOC_SIZEMASK << _IOC_SIZESHIFT))

#endif
