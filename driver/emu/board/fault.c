/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Faults that a test injects through NANET3_REG_MODEL_FAULT: see model_fault.h for what they are.
 * Times are model time, in frame periods from the write on. MODEL_FAULT_GONE ends with a power-up.
 */
#include <stddef.h>
#include <string.h>

#include "driver/emu/board/private.h"
#include "driver/emu/common/model_fault.h"

#define UNKNOWN_TYPE 200u
#define UNKNOWN_LINK 77u

static void unstick(struct board *b, struct board_link *l)
{
	l->dma.stuck_until = 0;
	dma_stop(b, l);
}

void fault_reset(struct board *b)
{
	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		struct dma *d = &b->links[i].dma;

		d->stick = 0;
		if (dma_stuck(d) && d->stuck_until != FOR_EVER) {
			unstick(b, &b->links[i]);
		}
	}
	for (unsigned i = 0; i < NANET3_BUFFERS; i++) {
		struct user_buffer *u = &b->buffers[i];

		u->stick = 0;
		u->stuck_until = u->stuck_until == FOR_EVER ? FOR_EVER : 0;
		buffer_busy(b, i);
	}
}

static void flood(struct board *b, unsigned link, uint32_t count)
{
	struct nanet3_event ev = {
		.type = NANET3_EVENT_LINK,
		.link = (uint8_t)link,
		.value = LREG(&b->links[link], NANET3_LREG_STATUS) & ~NANET3_LSTAT_BUSY,
	};

	for (uint32_t i = 0; i < count; i++) {
		event_control(b, &ev);
	}
}

/* By turns an unknown type and, which a driver may index by, an RX event of a link that is not. */
static void bad_events(struct board *b, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		struct nanet3_event ev = {.type = UNKNOWN_TYPE, .link = 0xff};

		if (i % 2 != 0) {
			ev = (struct nanet3_event){.type = NANET3_EVENT_RX, .link = UNKNOWN_LINK};
		}
		event_post(b, &ev, true);
	}
}

/* An RX event of a full buffer, at so many positions from the next. */
static void false_event(struct board *b, unsigned link, uint32_t epoch, uint32_t ahead)
{
	const struct dma *d = &b->links[link].dma;
	struct nanet3_event ev = {
		.type = NANET3_EVENT_RX,
		.link = (uint8_t)link,
		.dma_epoch = epoch,
		.position = d->write + ahead,
		.frame_count = b->count,
		.frames = d->frames,
		.length = d->frames * NANET3_FRAME_BYTES,
	};

	event_post(b, &ev, true);
}

void fault_write(struct board *b, uint32_t value)
{
	const uint32_t code = value & 0xffu, which = value >> 8 & 0xffu, argument = value >> 16;
	const bool vector = which < NANET3_VECTORS, link = which < NANET3_LINKS;
	struct dma *d = &b->links[which % NANET3_LINKS].dma;

	switch (code) {
	case MODEL_FAULT_GONE:
		b->gone_steps = argument == 0 ? FOR_EVER : argument * STEPS_A_MS;
		break;
	case MODEL_FAULT_STALL:
		b->fault_stall_until = b->step + argument * STEPS_A_MS;
		break;
	case MODEL_FAULT_FLOOD:
		flood(b, which % NANET3_LINKS, argument);
		break;
	case MODEL_FAULT_BAD_EVENT:
		bad_events(b, argument);
		break;
	case MODEL_FAULT_LOSE_IRQS:
		if (vector) {
			b->lose_irqs[which] = argument;
		}
		break;
	case MODEL_FAULT_SPURIOUS:
		for (uint32_t i = 0; vector && i < argument; i++) {
			b->host.irq(b->host.context, which);
		}
		break;
	case MODEL_FAULT_STUCK_DMA:
		if (link) {
			d->stick = argument;
		}
		break;
	case MODEL_FAULT_SKIPPING_EVENT:
		if (link) {
			false_event(b, which, d->epoch, argument);
		}
		break;
	case MODEL_FAULT_STALE_EVENT:
		for (uint32_t i = 0; link && i < argument; i++) {
			false_event(b, which, d->epoch - 1, i);
		}
		break;
	case MODEL_FAULT_LOSE_READS:
		b->lose_reads = b->host.bus ? argument : 0;
		break;
	case MODEL_FAULT_DEAF:
		b->deaf_until = b->host.bus ? b->step + argument * STEPS_A_MS : 0;
		break;
	case MODEL_FAULT_LOSE_EVENTS:
		b->lose_events = b->host.bus ? argument : 0;
		break;
	case MODEL_FAULT_LOSE_DESCRIPTORS:
		b->lose_descriptors = b->host.bus ? argument : 0;
		break;
	case MODEL_FAULT_SLOW_PUTS:
		b->put_steps = b->host.bus ? argument * STEPS_A_MS : 0;
		break;
	case MODEL_FAULT_STUCK_BUFFER:
		b->buffers[which % NANET3_BUFFERS].stick = b->host.bus ? argument : 0;
		break;
	case MODEL_FAULT_REORDER:
		b->reorder = b->host.bus ? argument : 0;
		break;
	case MODEL_FAULT_TRAIN:
		if (b->host.bus) {
			b->host.bus->train(b->host.context, which, argument);
		}
		break;
	case MODEL_FAULT_VERSION:
		REG(b, NANET3_REG_VERSION) = argument;
		REG(b, NANET3_REG_CAPS) = which;
		break;
	default:
		break;
	}
}

/* The counters near their wrap: those of events at their largest (with the first lock, the first second in the
 * dark), the others so that they wrap about when the count does. Those of the queues begin at 0 with a reset. */
static void age(struct board *b, uint64_t frames)
{
	const uint32_t left = (uint32_t)frames;

	b->pps_number = -(left / NANET3_FRAMES_PER_SECOND);
	REG(b, NANET3_REG_TLB_HITS) =
		-left * NANET3_LINKS; /* a cell has its part of two known pages */
	REG(b, NANET3_REG_TLB_WALKS) = -left * NANET3_LINKS * 2;
	REG(b, NANET3_REG_TLB_MISSES) = UINT32_MAX;
	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		struct board_link *l = &b->links[i];

		l->phase_from = -(left / BOARD_PHASE_EVERY);
		LREG(l, NANET3_LREG_ALIGNS) = UINT32_MAX - 1;
		LREG(l, NANET3_LREG_CODE_ERRORS) = UINT32_MAX;
		LREG(l, NANET3_LREG_LOST_LOCKS) = UINT32_MAX;
		LREG(l, NANET3_LREG_DROP_FIFO) = UINT32_MAX;
		LREG(l, NANET3_LREG_DROP_RING) = UINT32_MAX;
		LREG(l, NANET3_LREG_DROP_DOWN) = -NANET3_FRAMES_PER_SECOND;
		LREG(l, NANET3_LREG_CELLS) = -left;
	}
}

void board_power_up(struct board *b)
{
	memset(b->regs, 0, sizeof(*b) - offsetof(struct board, regs));
	REG(b, NANET3_REG_ID) = 0x00334e4eu;
	REG(b, NANET3_REG_VERSION) = NANET3_HW_VERSION;
	REG(b, NANET3_REG_CAPS) = NANET3_CAP_LOST_DESCRIPTORS;
	REG(b, NANET3_REG_LINKS) = NANET3_LINKS;
	REG(b, NANET3_REG_SERIAL) = b->serial;
	REG(b, NANET3_REG_BOOT_COUNT) = ++b->boots;
	REG(b, NANET3_REG_MODEL) = b->emulated;
	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		b->links[i].index = i;
		LREG(&b->links[i], NANET3_LREG_DEADLINE) = 5000;
	}
	world_roof(b->world, &b->roof);
	if (b->roof.wrap_frames > 0) {
		age(b, b->roof.wrap_frames);
	}
}

void fault_gone_step(struct board *b)
{
	b->gone_steps -= b->gone_steps == FOR_EVER ? 0 : 1;
	if (b->gone_steps > 0) {
		return;
	}
	board_power_up(b);
	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		world_realign(b->world, i, true);
	}
}

void fault_step(struct board *b)
{
	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		struct dma *d = &b->links[i].dma;

		if (dma_stuck(d) && b->step >= d->stuck_until) {
			unstick(b, &b->links[i]);
		}
		dma_late_step(b, &b->links[i]);
	}
	for (unsigned i = 0; i < NANET3_BUFFERS; i++) {
		struct user_buffer *u = &b->buffers[i];

		if (u->stuck_until != 0 && b->step >= u->stuck_until) {
			u->stuck_until = 0;
			buffer_busy(b, i);
		} else if (u->stuck_until != 0) {
			buffer_stuck_step(b, u);
		}
	}
}
