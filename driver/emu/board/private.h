/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside the device model: one struct board, one thread; README.md lists the files.
 *
 * Registers that only the board writes are kept in the register file itself, so that a read needs no
 * code; what the board needs at every step is kept in fields beside it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "driver/emu/board/board.h"
#include "driver/emu/world/world.h"
#include "driver/nanet3.h"
#include "tdm/frame.h"

#define BOARD_FIRST_COUNT NANET3_FRAMES_PER_SECOND
#define BOARD_GLOBAL_REGS 0x28u /* words up to NANET3_REG_CAPS */
#define BOARD_LINK_REGS	  0x18u /* words up to NANET3_LREG_RELEASE's high one */
#define BOARD_BUFFER_REGS 0x08u /* words up to NANET3_BREG_STATUS, rounded up to a pair */

#define BOARD_GAPS	   64u	/* gap records a link can hold while its ring is full */
#define BOARD_TLB_PAGES	   64u	/* direct-mapped; of each link, and of all registered buffers */
#define BOARD_TX_WORDS	   256u /* words fetched and waiting for their frame */
#define BOARD_TX_PUTS	   64u	/* packets of puts fetched and not done */
#define BOARD_PHASE_EVERY  8u	/* steps from measurement to measurement */
#define BOARD_PHASE_WINDOW 100u /* measurements in 100 ms */

/* Cells lost for one reason, [first, first + frames), not yet completed. */
struct gap {
	uint64_t first;
	uint32_t frames;
	uint8_t reason; /* NANET3_GAP_* */
};

/*
 * A link's ring as the board sees it. Completions come in the order: the open buffer, the gaps from
 * the oldest on, the next buffer. A buffer that can take no more cells, because a gap follows it, is
 * `sealed`.
 */
struct dma {
	bool enabled;
	uint32_t epoch, frames, depth;
	uint64_t table;
	uint64_t write, release; /* positions handed over, released */
	bool open;		 /* a buffer is being filled, at position `write` */
	uint64_t bus;		 /* its address */
	uint32_t fill;		 /* cells in it */
	uint64_t first;		 /* count of its first cell */
	uint64_t due_step;	 /* step by whose end it is handed over, or the gaps are */
	bool sealed;
	uint64_t fault_position; /* last one whose address was in no table, + 1 */
	unsigned gap_head, gap_count;
	struct gap gaps[BOARD_GAPS];
	/* A test has asked for an engine that does not stop: see fault.c. */
	uint32_t stick;	      /* argument of MODEL_FAULT_STUCK_DMA for the next stop; 0: none */
	uint64_t stuck_until; /* step; 0: it has stopped */
};

/* Circular mean of the phase over a sliding window, in fixed point so that sums never drift. */
struct phase {
	int32_t cosine[BOARD_PHASE_WINDOW], sine[BOARD_PHASE_WINDOW];
	int64_t cosine_sum, sine_sum;
	uint32_t number; /* of measurements since the last align */
};

struct board_link {
	unsigned index;
	uint32_t regs[BOARD_LINK_REGS], latch[BOARD_LINK_REGS];
	struct dma dma;
	struct phase phase;
	uint32_t phase_from;	       /* the number of its last measurement before a lock */
	uint64_t tlb[BOARD_TLB_PAGES]; /* page number + 1 */
	bool locked;
	bool commanded;	   /* a reset or align has been commanded, lock is not back yet */
	bool relock;	   /* and was so since the last step: lock is lost at least once */
	bool silent;	   /* transmitter off for this step: reset */
	uint32_t reported; /* LSTAT bits of the last LINK event */
	/* downstream */
	unsigned requests; /* in the frame being built */
	bool timing, serial;
	bool dirty; /* the frame holds words of the last step */
	uint16_t serial_sequence, parity;
	uint8_t down[TDM_FRAME_BYTES];
	uint8_t scratch[NANET3_FRAME_BYTES]; /* cells that are lost land here */
	/* A cell that is still on the bus when its event has arrived: a test has asked for it. */
	uint8_t late[NANET3_FRAME_BYTES];
	uint64_t late_bus; /* its address */
	uint64_t late_due; /* step in which it arrives; 0: there is none */
};

/* A registered buffer: what its registers said when VALID was set. */
struct user_buffer {
	uint32_t regs[BOARD_BUFFER_REGS], latch[BOARD_BUFFER_REGS];
	bool valid;
	uint64_t table, length;
	uint32_t offset; /* of the first byte in the first page */
	/* A test has asked for one that stays busy, as in struct dma. */
	uint32_t stick;
	uint64_t stuck_until;
	uint64_t stuck_bus; /* what it writes meanwhile */
};

/* A packet of a put that has been fetched. */
struct board_packet {
	struct nanet3_tx tx;
	uint64_t due; /* step in which it is done */
};

struct tlb_entry {
	uint64_t tag; /* buffer << 32 | page of it, + 1; 0: empty */
	uint64_t bus; /* of the page */
};

struct board {
	struct board_host host;
	struct world *world;
	uint32_t serial, emulated, boots;
	uint64_t gone_steps; /* frame periods still to be off the bus; ~0: for good */
	/* From here on all is lost with the power. */
	uint32_t regs[BOARD_GLOBAL_REGS], latch[BOARD_GLOBAL_REGS];
	uint64_t step;	/* frame periods since boot; deadlines are kept in it */
	uint64_t count; /* of the current cell */
	uint64_t pps_step;
	uint32_t pps_number;
	bool pps_seen;
	bool stalled;
	uint32_t lost_reported; /* EVQ_LOST at the last EVQ_FULL event */
	struct world_roof roof;
	struct nanet3_tx words[BOARD_TX_WORDS];
	unsigned word_count;
	uint64_t put_cookie;
	bool put_faulted; /* a packet of the put under way did */
	struct board_packet packets[BOARD_TX_PUTS];
	unsigned packet_head, packet_count;
	uint64_t put_steps; /* from fetch to execution: a test has asked for slow puts */
	struct user_buffer buffers[NANET3_BUFFERS];
	struct tlb_entry tlb[BOARD_TLB_PAGES];
	uint32_t lose_irqs[NANET3_VECTORS]; /* a test has asked for */
	uint64_t fault_stall_until;
	uint32_t lose_reads, lose_events, lose_descriptors, reorder;
	uint64_t deaf_until; /* step */
	struct board_link links[NANET3_LINKS];
};

#define REG(b, offset)	((b)->regs[(offset) / 4])
#define LREG(l, offset) ((l)->regs[(offset) / 4])
#define BREG(u, offset) ((u)->regs[(offset) / 4])

static inline void reg_pair_set(uint32_t *low, uint64_t value)
{
	low[0] = (uint32_t)value;
	low[1] = (uint32_t)(value >> 32);
}

static inline uint64_t reg_pair_get(const uint32_t *low)
{
	return (uint64_t)low[1] << 32 | low[0];
}

/* board.c: what register writes set off. */
void board_realign(struct board *b, struct board_link *l, bool reset);

/* How long the DMA engine of a link is stuck, in the argument of MODEL_FAULT_STUCK_DMA and in dma.stuck_until. */
#define STEPS_A_MS	  (NANET3_FRAMES_PER_SECOND / 1000u)
#define STUCK_TILL_RESET  0xffffu
#define STUCK_FOR_EVER	  0xfffeu
#define FOR_EVER	  UINT64_MAX
#define FOR_EVER_TO_RESET (UINT64_MAX - 1)

/* Step until which something stays stuck; 0: it does not. */
static inline uint64_t stuck_until(const struct board *b, uint32_t argument)
{
	if (argument == STUCK_TILL_RESET) {
		return FOR_EVER_TO_RESET;
	}
	if (argument == STUCK_FOR_EVER) {
		return FOR_EVER;
	}
	return argument > 0 ? b->step + argument * STEPS_A_MS : 0;
}

/* A fault that hits the next *left: does it hit this one? */
static inline bool fault_hits(uint32_t *left)
{
	const bool hit = *left > 0;

	*left -= hit;
	return hit;
}

/* dma.c */
/* Begin at position 0 with the geometry in the registers. Refused (ENABLE stays clear) when that
 * makes no sense. */
void dma_start(struct board *b, struct board_link *l);
void dma_stop(struct board *b, struct board_link *l);
/* RELEASE was written: backwards and beyond `write` are ignored. */
void dma_release(struct board_link *l, uint64_t position);
/* Decide what becomes of this step's cell, given what the fibre says (TDM_GOOD, or a loss), and where
 * its bytes go. dma_cell_done() once they are there. */
enum tdm_loss dma_cell(struct board *b, struct board_link *l, enum tdm_loss loss,
		       uint8_t **ret_cell);
void dma_cell_done(struct board *b, struct board_link *l);
/* A cell that a model fault has kept on the bus arrives, if it is due. */
void dma_late_step(struct board *b, struct board_link *l);
/* Hand over open buffers and gaps, as far as there is room; none continues over this point. */
void dma_cut(struct board *b, struct board_link *l);

/* Whether the engine was stopped and has not stopped: it may still write to its memory. */
static inline bool dma_stuck(const struct dma *d)
{
	return d->stuck_until != 0;
}

/* event.c */
/* Put an event on the queue and raise its interrupt. False when stalled, off or without room.
 * `control`: only into room that no buffer may need. */
bool event_post(struct board *b, struct nanet3_event *ev, bool control);
/* Room for so many of them. */
bool event_room(const struct board *b, uint32_t events, bool control);
/* Post the completion of a descriptor; false: no room. */
bool event_tx(struct board *b, const struct nanet3_tx *tx, uint8_t reason);
/* Post a LINK, PPS or ERROR event of this step; what does not fit is counted and reported later. */
void event_control(struct board *b, struct nanet3_event *ev);
/* Host memory to write `length` bytes to; NULL counts a miss. Good until the host is entered again. */
void *board_map(struct board *b, uint64_t bus, uint32_t length);
/* The same, to read from. */
const void *board_map_read(struct board *b, uint64_t bus, uint32_t length);
/* Copy from host memory, whatever its alignment: what a driver writes into a register is its own affair. */
bool board_fetch(struct board *b, uint64_t bus, void *ret_bytes, uint32_t length);

/* tx.c */
/* Take descriptors off the ring as far as that goes: words go to wait for their frame, packets of puts
 * are done. To be called whenever there may be something new, or room again. */
void tx_take(struct board *b);
/* Do the packets that are due, and take more. */
void tx_work(struct board *b);
/* Place the words that are due into this step's frames, post their completions. */
void tx_step(struct board *b);
/* Seal and send this step's frame. */
void tx_send(struct board *b, struct board_link *l);
void tx_reset(struct board *b);

/* put.c */
/* Take a packet off the ring. False when it must stay there. */
bool put_take(struct board *b, const struct nanet3_tx *tx);
/* Do the packets that are due. */
void put_step(struct board *b);
void put_reset(struct board *b);
/* Set BUSY as it is: after anything that may have changed it. */
void buffer_busy(struct board *b, unsigned buffer);
/* An engine that does not stop writes on: a byte a step. */
void buffer_stuck_step(struct board *b, const struct user_buffer *u);
/* CONTROL of a registered buffer was written. */
void buffer_control(struct board *b, unsigned buffer, uint32_t value);

/* fault.c */
/* MODEL_FAULT was written. */
void fault_write(struct board *b, uint32_t value);
/* What has a time of its own. */
void fault_step(struct board *b);
/* The end of a step off the bus; the last one brings the power back. */
void fault_gone_step(struct board *b);
/* CONTROL_RESET ends what it can end. */
void fault_reset(struct board *b);
/* As after power-up, one boot later. */
void board_power_up(struct board *b);
