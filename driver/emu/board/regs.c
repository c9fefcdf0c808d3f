/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The board's register file: which registers can be written and what that sets off, and the latched
 * reading of 64-bit pairs. Everything not in the tables below is read-only; what does not exist
 * reads 0 and ignores writes.
 */
#include <stddef.h>

#include "driver/emu/board/private.h"

struct reg_write {
	uint16_t offset;
	/* NULL: just keep the value. The register still holds the old one during the call. `n`: which
	 * link, or buffer. */
	void (*write)(struct board *b, unsigned n, uint32_t value);
};

/* ------------------------------------------------------------------------ the board's */

static void board_reset(struct board *b)
{
	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		dma_stop(b, &b->links[i]);
	}
	fault_reset(b);
	tx_reset(b);
	buffers_reset(b);
	REG(b, NANET3_REG_EVQ_WRITE) = 0;
	REG(b, NANET3_REG_EVQ_READ) = 0;
	REG(b, NANET3_REG_EVQ_LOST) = 0;
	b->lost_told = 0;
	REG(b, NANET3_REG_IRQ_STATUS) = 0;
}

static void control_write(struct board *b, unsigned n, uint32_t value)
{
	(void)n;
	if (value & NANET3_CONTROL_RESET) {
		board_reset(b);
		value = 0;
	}
	REG(b, NANET3_REG_CONTROL) = value & (NANET3_CONTROL_EVENTS | NANET3_CONTROL_TX);
	tx_take(b);
}

static void irq_status_write(struct board *b, unsigned n, uint32_t value)
{
	(void)n;
	REG(b, NANET3_REG_IRQ_STATUS) &= ~value;
}

/* Sizes of the two queues in host memory: a power of two, else the queue is off. */
static uint32_t queue_size(uint32_t value)
{
	return value <= (1u << 24) && (value & (value - 1)) == 0 ? value : 0;
}

static void evq_size_write(struct board *b, unsigned n, uint32_t value)
{
	(void)n;
	REG(b, NANET3_REG_EVQ_SIZE) = queue_size(value);
}

/* Room on the event queue: what waited for it goes on. */
static void evq_read_write(struct board *b, unsigned n, uint32_t value)
{
	(void)n;
	REG(b, NANET3_REG_EVQ_READ) = value;
	tx_take(b);
}

static void tx_size_write(struct board *b, unsigned n, uint32_t value)
{
	(void)n;
	REG(b, NANET3_REG_TX_SIZE) = queue_size(value);
}

static void tx_write_write(struct board *b, unsigned n, uint32_t value)
{
	(void)n;
	REG(b, NANET3_REG_TX_WRITE) = value;
	tx_take(b);
}

static void model_fault_write(struct board *b, unsigned n, uint32_t value)
{
	(void)n;
	fault_write(b, value);
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
	{NANET3_REG_EVQ_READ, evq_read_write},
	{NANET3_REG_TX_BASE},
	{NANET3_REG_TX_BASE + 4},
	{NANET3_REG_TX_SIZE, tx_size_write},
	{NANET3_REG_TX_WRITE, tx_write_write},
	{NANET3_REG_MODEL_FAULT, model_fault_write},
};

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

static void release_low_write(struct board *b, unsigned n, uint32_t value)
{
	struct board_link *l = &b->links[n];

	dma_release(l, (uint64_t)LREG(l, NANET3_LREG_RELEASE + 4) << 32 | value);
}

static void release_high_write(struct board *b, unsigned n, uint32_t value)
{
	LREG(&b->links[n], NANET3_LREG_RELEASE + 4) = value;
}

static const struct reg_write link_writes[] = {
	{NANET3_LREG_RELEASE, release_low_write},
	{NANET3_LREG_RELEASE + 4, release_high_write},
	{NANET3_LREG_CONTROL, link_control_write},
	{NANET3_LREG_DEADLINE},
	{NANET3_LREG_FRAMES},
	{NANET3_LREG_TABLE},
	{NANET3_LREG_TABLE + 4},
	{NANET3_LREG_DEPTH},
};

static const struct reg_write doorbell_writes[] = {
	{0, release_low_write},
	{4, release_high_write},
};

/* ------------------------------------------------------------------------ a buffer's */

static const struct reg_write buffer_writes[] = {
	{NANET3_BREG_TABLE},	  {NANET3_BREG_TABLE + 4}, {NANET3_BREG_LENGTH},
	{NANET3_BREG_LENGTH + 4}, {NANET3_BREG_OFFSET},	   {NANET3_BREG_CONTROL, buffer_control},
};

/* ------------------------------------------------------------------------ where they lie */

static const uint16_t global_pairs[] = {NANET3_REG_COUNT, NANET3_REG_PPS_COUNT, NANET3_REG_EVQ_BASE,
					NANET3_REG_TX_BASE};
static const uint16_t link_pairs[] = {NANET3_LREG_TABLE, NANET3_LREG_WRITE, NANET3_LREG_RELEASE};
static const uint16_t buffer_pairs[] = {NANET3_BREG_TABLE, NANET3_BREG_LENGTH};

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define TABLES(name)                                                                               \
	name##_writes, ARRAY_SIZE(name##_writes), name##_pairs, ARRAY_SIZE(name##_pairs)

/* Register files of one kind: `count` of them, `stride` bytes apart. */
static const struct bank {
	uint32_t base, stride, count, words;
	const struct reg_write *writes;
	size_t write_count;
	const uint16_t *pairs;
	size_t pair_count;
} banks[] = {
	{0, NANET3_BAR_BYTES, 1, BOARD_GLOBAL_REGS, TABLES(global)},
	{NANET3_REG_LINK(0u, 0u), NANET3_REG_LINK(1u, 0u) - NANET3_REG_LINK(0u, 0u), NANET3_LINKS,
	 BOARD_LINK_REGS, TABLES(link)},
	{NANET3_REG_BUFFER(0u, 0u), NANET3_REG_BUFFER(1u, 0u) - NANET3_REG_BUFFER(0u, 0u),
	 NANET3_BUFFERS, BOARD_BUFFER_REGS, TABLES(buffer)},
	{NANET3_REG_DOORBELL(0u), NANET3_PAGE, NANET3_LINKS, 2, doorbell_writes,
	 ARRAY_SIZE(doorbell_writes), NULL, 0},
};

struct place {
	const struct bank *bank;
	unsigned n;
	uint32_t offset;	/* in the register file */
	uint32_t *regs, *latch; /* NULL: nothing is kept there */
};

static bool locate(struct board *b, uint32_t offset, struct place *ret_place)
{
	struct place p = {0};

	for (size_t i = 0; i < ARRAY_SIZE(banks) && offset % 4 == 0; i++) {
		const struct bank *bank = &banks[i];

		if (offset >= bank->base && (offset - bank->base) / bank->stride < bank->count &&
		    (offset - bank->base) % bank->stride < bank->words * 4) {
			p.bank = bank;
			p.n = (offset - bank->base) / bank->stride;
			p.offset = (offset - bank->base) % bank->stride;
		}
	}
	if (p.bank == NULL) {
		return false;
	}
	if (p.bank->writes == global_writes) {
		p.regs = b->regs;
		p.latch = b->latch;
	} else if (p.bank->writes == link_writes) {
		p.regs = b->links[p.n].regs;
		p.latch = b->links[p.n].latch;
	} else if (p.bank->writes == buffer_writes) {
		p.regs = b->buffers[p.n].regs;
		p.latch = b->buffers[p.n].latch;
	}
	*ret_place = p;
	return true;
}

uint32_t board_reg_read(struct board *b, uint32_t offset)
{
	struct place p;
	uint32_t i;

	if (board_gone(b)) {
		return ~0u;
	}
	if (!locate(b, offset, &p) || p.regs == NULL) {
		return 0;
	}
	i = p.offset / 4;
	for (size_t pair = 0; pair < p.bank->pair_count; pair++) {
		if (p.offset == p.bank->pairs[pair]) {
			p.latch[i + 1] = p.regs[i + 1];
		} else if (p.offset == p.bank->pairs[pair] + 4u) {
			return p.latch[i];
		}
	}
	return p.regs[i];
}

void board_reg_write(struct board *b, uint32_t offset, uint32_t value)
{
	struct place p;

	if (board_gone(b) || !locate(b, offset, &p)) {
		return;
	}
	for (size_t i = 0; i < p.bank->write_count; i++) {
		const struct reg_write *w = &p.bank->writes[i];

		if (w->offset != p.offset) {
			continue;
		}
		if (w->write != NULL) {
			w->write(b, p.n, value);
		} else {
			p.regs[p.offset / 4] = value;
		}
		return;
	}
}
