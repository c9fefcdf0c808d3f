/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The board's register file: which registers can be written and what that sets off, and the latched
 * reading of 64-bit pairs. What no write function below names is read-only; doorbells and what does
 * not exist read 0, and what does not exist ignores writes. A board that is gone reads all ones.
 */
#include <stddef.h>

#include "driver/emu/board/private.h"

/* ------------------------------------------------------------------------ the board's */

static void board_reset(struct board *b)
{
	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		dma_stop(b, &b->links[i]);
	}
	for (unsigned i = 0; i < NANET3_BUFFERS; i++) {
		buffer_control(b, i, 0);
	}
	tx_reset(b);
	fault_reset(b);
	REG(b, NANET3_REG_EVQ_WRITE) = 0;
	REG(b, NANET3_REG_EVQ_READ) = 0;
	REG(b, NANET3_REG_EVQ_LOST) = 0;
	b->lost_reported = 0;
	REG(b, NANET3_REG_IRQ_STATUS) = 0;
}

static void control_write(struct board *b, uint32_t value)
{
	if (value & NANET3_CONTROL_RESET) {
		board_reset(b);
		value = 0;
	}
	REG(b, NANET3_REG_CONTROL) = value & (NANET3_CONTROL_EVENTS | NANET3_CONTROL_TX);
	tx_take(b);
}

/* Sizes of the two queues in host memory: a power of two, else the queue is off. */
static uint32_t queue_size(uint32_t value)
{
	return value <= (1u << 24) && (value & (value - 1)) == 0 ? value : 0;
}

static void global_write(struct board *b, unsigned n, uint32_t offset, uint32_t value)
{
	switch (offset) {
	case NANET3_REG_CONTROL:
		control_write(b, value);
		break;
	case NANET3_REG_IRQ_STATUS:
		REG(b, offset) &= ~value;
		break;
	case NANET3_REG_EVQ_SIZE:
	case NANET3_REG_TX_SIZE:
		REG(b, offset) = queue_size(value);
		break;
	case NANET3_REG_EVQ_READ: /* room on the event queue: what waited for it goes on */
	case NANET3_REG_TX_WRITE:
		REG(b, offset) = value;
		tx_take(b);
		break;
	case NANET3_REG_MODEL_FAULT:
		fault_write(b, value);
		break;
	case NANET3_REG_DMA_EPOCH:
	case NANET3_REG_IRQ_MASK:
	case NANET3_REG_SCRATCH:
	case NANET3_REG_EVQ_BASE:
	case NANET3_REG_EVQ_BASE + 4:
	case NANET3_REG_TX_BASE:
	case NANET3_REG_TX_BASE + 4:
		REG(b, offset) = value;
		break;
	default:
		break;
	}
}

/* ------------------------------------------------------------------------ a link's */

static void link_control_write(struct board *b, unsigned n, uint32_t value)
{
	struct board_link *l = &b->links[n];
	bool enable = value & NANET3_LINK_ENABLE;

	if (value & (NANET3_LINK_RESET | NANET3_LINK_ALIGN)) {
		board_realign(b, l, value & NANET3_LINK_RESET);
	}
	if (enable && !l->dma.enabled) {
		dma_start(b, l);
	} else if (!enable) {
		dma_stop(b, l);
	}
}

static void link_write(struct board *b, unsigned n, uint32_t offset, uint32_t value)
{
	struct board_link *l = &b->links[n];

	switch (offset) {
	case NANET3_LREG_RELEASE:
		dma_release(l, (uint64_t)LREG(l, NANET3_LREG_RELEASE + 4) << 32 | value);
		break;
	case NANET3_LREG_CONTROL:
		link_control_write(b, n, value);
		break;
	case NANET3_LREG_RELEASE + 4:
	case NANET3_LREG_DEADLINE:
	case NANET3_LREG_FRAMES:
	case NANET3_LREG_TABLE:
	case NANET3_LREG_TABLE + 4:
	case NANET3_LREG_DEPTH:
		LREG(l, offset) = value;
		break;
	default:
		break;
	}
}

static void doorbell_write(struct board *b, unsigned n, uint32_t offset, uint32_t value)
{
	link_write(b, n, NANET3_LREG_RELEASE + offset, value);
}

static void buffer_write(struct board *b, unsigned n, uint32_t offset, uint32_t value)
{
	if (offset == NANET3_BREG_CONTROL) {
		buffer_control(b, n, value);
	} else if (offset < NANET3_BREG_CONTROL) {
		BREG(&b->buffers[n], offset) = value;
	}
}

/* ------------------------------------------------------------------------ where they lie */

#define ARRAY_SIZE(a)	 (sizeof(a) / sizeof((a)[0]))
#define LOW_HALF(offset) (1ull << (offset) / 4)

/* Register files of one kind: `count` of them, `stride` bytes apart. */
static const struct bank {
	uint32_t base, stride, count, words;
	void (*write)(struct board *b, unsigned n, uint32_t offset, uint32_t value);
	uint64_t pairs;		  /* a bit for each word that is the low half of one */
	size_t regs, latch, size; /* where struct board keeps them, and the next n's; 0: nowhere */
} banks[] = {
	{0, NANET3_BAR_BYTES, 1, BOARD_GLOBAL_REGS, global_write,
	 LOW_HALF(NANET3_REG_COUNT) | LOW_HALF(NANET3_REG_PPS_COUNT) |
		 LOW_HALF(NANET3_REG_EVQ_BASE) | LOW_HALF(NANET3_REG_TX_BASE),
	 offsetof(struct board, regs), offsetof(struct board, latch), 0},
	{NANET3_REG_LINK(0u, 0u), NANET3_REG_LINK(1u, 0u) - NANET3_REG_LINK(0u, 0u), NANET3_LINKS,
	 BOARD_LINK_REGS, link_write,
	 LOW_HALF(NANET3_LREG_TABLE) | LOW_HALF(NANET3_LREG_WRITE) | LOW_HALF(NANET3_LREG_RELEASE),
	 offsetof(struct board, links[0].regs), offsetof(struct board, links[0].latch),
	 sizeof(struct board_link)},
	{NANET3_REG_BUFFER(0u, 0u), NANET3_REG_BUFFER(1u, 0u) - NANET3_REG_BUFFER(0u, 0u),
	 NANET3_BUFFERS, BOARD_BUFFER_REGS, buffer_write,
	 LOW_HALF(NANET3_BREG_TABLE) | LOW_HALF(NANET3_BREG_LENGTH),
	 offsetof(struct board, buffers[0].regs), offsetof(struct board, buffers[0].latch),
	 sizeof(struct user_buffer)},
	{NANET3_REG_DOORBELL(0u), NANET3_PAGE, NANET3_LINKS, 2, doorbell_write},
};

/* The bank that holds a register, NULL when there is none; which file of it, and where in that. */
static const struct bank *locate(uint32_t offset, unsigned *ret_n, uint32_t *ret_offset)
{
	for (size_t i = ARRAY_SIZE(banks); i-- > 0 && offset % 4 == 0;) {
		const struct bank *bank = &banks[i];

		if (offset >= bank->base && (offset - bank->base) / bank->stride < bank->count &&
		    (offset - bank->base) % bank->stride < bank->words * 4) {
			*ret_n = (offset - bank->base) / bank->stride;
			*ret_offset = (offset - bank->base) % bank->stride;
			return bank;
		}
	}
	return NULL;
}

uint32_t board_reg_read(struct board *b, uint32_t offset)
{
	const struct bank *bank;
	uint32_t *regs, *latch;
	unsigned n, i;

	if (board_gone(b) || b->step < b->deaf_until || fault_hits(&b->lose_reads)) {
		return ~0u;
	}
	bank = locate(offset, &n, &offset);
	if (bank == NULL || bank->regs == 0) {
		return 0;
	}
	regs = (uint32_t *)(void *)((char *)b + bank->regs + n * bank->size);
	latch = (uint32_t *)(void *)((char *)b + bank->latch + n * bank->size);
	i = offset / 4;
	if (bank->pairs >> i & 1) {
		latch[i + 1] = regs[i + 1];
	}
	return bank->pairs << 1 >> i & 1 ? latch[i] : regs[i];
}

void board_reg_write(struct board *b, uint32_t offset, uint32_t value)
{
	const struct bank *bank;
	unsigned n;

	if (!board_gone(b)) {
		bank = locate(offset, &n, &offset);
		if (bank != NULL) {
			bank->write(b, n, offset, value);
		}
	}
}
