/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The board's register file: which registers can be written and what that sets off, and the latched
 * reading of 64-bit pairs. Everything not in the tables below is read-only; what does not exist
 * reads 0 and ignores writes.
 */
#include <stddef.h>

#include "driver/emu/board_private.h"

struct reg_write {
	uint16_t offset;
	/* NULL: just keep the value. The register still holds the old one during the call. */
	void (*write)(struct board *b, struct board_link *l, uint32_t value);
};

static void control_write(struct board *b, struct board_link *l, uint32_t value)
{
	(void)l;
	if (value & NANET3_CONTROL_RESET) {
		for (unsigned i = 0; i < NANET3_LINKS; i++) {
			dma_stop(&b->links[i]);
		}
		tx_reset(b);
		REG(b, NANET3_REG_EVQ_WRITE) = 0;
		REG(b, NANET3_REG_EVQ_READ) = 0;
		REG(b, NANET3_REG_EVQ_LOST) = 0;
		b->lost_told = 0;
		REG(b, NANET3_REG_IRQ_STATUS) = 0;
		value = 0;
	}
	REG(b, NANET3_REG_CONTROL) = value & (NANET3_CONTROL_EVENTS | NANET3_CONTROL_TX);
}

static void irq_status_write(struct board *b, struct board_link *l, uint32_t value)
{
	(void)l;
	REG(b, NANET3_REG_IRQ_STATUS) &= ~value;
}

/* Sizes of the two queues in host memory: a power of two, else the queue is off. */
static uint32_t queue_size(uint32_t value)
{
	return value <= (1u << 24) && (value & (value - 1)) == 0 ? value : 0;
}

static void evq_size_write(struct board *b, struct board_link *l, uint32_t value)
{
	(void)l;
	REG(b, NANET3_REG_EVQ_SIZE) = queue_size(value);
}

static void tx_size_write(struct board *b, struct board_link *l, uint32_t value)
{
	(void)l;
	REG(b, NANET3_REG_TX_SIZE) = queue_size(value);
}

static void link_control_write(struct board *b, struct board_link *l, uint32_t value)
{
	bool enable = value & NANET3_LINK_ENABLE;

	if (value & (NANET3_LINK_RESET | NANET3_LINK_ALIGN)) {
		board_realign(b, l, value & NANET3_LINK_RESET);
	}
	if (enable && !l->dma.enabled) {
		dma_start(b, l);
	} else if (!enable) {
		dma_stop(l);
	}
}

static void release_low_write(struct board *b, struct board_link *l, uint32_t value)
{
	(void)b;
	dma_release(l, (uint64_t)LREG(l, NANET3_LREG_RELEASE + 4) << 32 | value);
}

static const struct reg_write global_writes[] = {
	{NANET3_REG_CONTROL, control_write},
	{NANET3_REG_DMA_EPOCH},
	{NANET3_REG_IRQ_STATUS, irq_status_write},
	{NANET3_REG_IRQ_MASK},
	{NANET3_REG_SCRATCH},
	{NANET3_REG_EVQ_BASE},
	{NANET3_REG_EVQ_BASE + 4},
	{NANET3_REG_EVQ_SIZE, evq_size_write},
	{NANET3_REG_EVQ_READ},
	{NANET3_REG_TX_BASE},
	{NANET3_REG_TX_BASE + 4},
	{NANET3_REG_TX_SIZE, tx_size_write},
	{NANET3_REG_TX_WRITE},
};

static const struct reg_write link_writes[] = {
	{NANET3_LREG_RELEASE, release_low_write},
	{NANET3_LREG_RELEASE + 4},
	{NANET3_LREG_CONTROL, link_control_write},
	{NANET3_LREG_DEADLINE},
	{NANET3_LREG_FRAMES},
	{NANET3_LREG_TABLE},
	{NANET3_LREG_TABLE + 4},
	{NANET3_LREG_DEPTH},
};

static const uint16_t global_pairs[] = {NANET3_REG_COUNT, NANET3_REG_PPS_COUNT, NANET3_REG_EVQ_BASE,
					NANET3_REG_TX_BASE};
static const uint16_t link_pairs[] = {NANET3_LREG_TABLE, NANET3_LREG_WRITE, NANET3_LREG_RELEASE};

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* Where `offset` lies: a link's index, or THE_BOARD, and the offset in that register file. Negative when
 * there is no such register. */
#define THE_BOARD ((int)NANET3_LINKS)

static int locate(uint32_t offset, uint32_t *ret_offset)
{
	const uint32_t base = NANET3_REG_LINK(0u, 0u), size = NANET3_REG_LINK(1u, 0u) - base;

	if (offset % 4 != 0) {
		return -1;
	}
	if (offset < BOARD_GLOBAL_REGS * 4) {
		*ret_offset = offset;
		return THE_BOARD;
	}
	if (offset < base || (offset - base) / size >= NANET3_LINKS ||
	    (offset - base) % size >= BOARD_LINK_REGS * 4) {
		return -1;
	}
	*ret_offset = (offset - base) % size;
	return (int)((offset - base) / size);
}

static uint32_t file_read(const uint32_t *regs, uint32_t *latch, uint32_t offset,
			  const uint16_t *pairs, size_t pair_count)
{
	uint32_t i = offset / 4;

	for (size_t p = 0; p < pair_count; p++) {
		if (offset == pairs[p]) {
			latch[i + 1] = regs[i + 1];
		} else if (offset == pairs[p] + 4u) {
			return latch[i];
		}
	}
	return regs[i];
}

uint32_t board_reg_read(struct board *b, uint32_t offset)
{
	int link = locate(offset, &offset);
	struct board_link *l;

	if (link < 0) {
		return 0;
	}
	if (link == THE_BOARD) {
		return file_read(b->regs, b->latch, offset, global_pairs, ARRAY_SIZE(global_pairs));
	}
	l = &b->links[link];
	return file_read(l->regs, l->latch, offset, link_pairs, ARRAY_SIZE(link_pairs));
}

static void file_write(struct board *b, struct board_link *l, const struct reg_write *writes,
		       size_t count, uint32_t *regs, uint32_t offset, uint32_t value)
{
	for (size_t i = 0; i < count; i++) {
		if (writes[i].offset != offset) {
			continue;
		}
		if (writes[i].write != NULL) {
			writes[i].write(b, l, value);
		} else {
			regs[offset / 4] = value;
		}
		return;
	}
}

void board_reg_write(struct board *b, uint32_t offset, uint32_t value)
{
	int link = locate(offset, &offset);
	struct board_link *l;

	if (link < 0) {
		return;
	}
	if (link == THE_BOARD) {
		file_write(b, NULL, global_writes, ARRAY_SIZE(global_writes), b->regs, offset,
			   value);
		return;
	}
	l = &b->links[link];
	file_write(b, l, link_writes, ARRAY_SIZE(link_writes), l->regs, offset, value);
}
