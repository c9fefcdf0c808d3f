/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The board's DMA engine: link rings and gap records.
 *
 *   cell good   -> open buffer at position `write` (opened when a position is free)
 *   cell lost   -> gap record (FIFO, same reason grows the last one); the open buffer is sealed
 *   full / due  -> completion event, write++; a gap takes a position too, with no data
 *
 * Invariants: completions of an epoch are posted in the order of counts; a completion's range has no
 * hole; a position is only used while write - release < depth; no cell is lost without a record.
 * A ring that was full takes data again only when there is room for all gap records and a buffer
 * more, so that a slow reader gets data and not a gap per freed buffer. At their deadline records are
 * completed as soon as there is room for them alone.
 */
#include <string.h>

#include "driver/emu/board/private.h"

#define LATE_STEPS 8u /* a model fault: by so many an event is ahead of its buffer's last cell */

/* ------------------------------------------------------------------------ translation */

/* The pages a cell is written to: found in the link's table of recent pages, or walked for. */
static void tlb_touch(struct board *b, struct board_link *l, uint64_t bus)
{
	uint64_t last = (bus + NANET3_FRAME_BYTES - 1) / NANET3_PAGE;

	for (uint64_t page = bus / NANET3_PAGE; page <= last; page++) {
		uint64_t *entry = &l->tlb[page % BOARD_TLB_PAGES];

		if (*entry == page + 1) {
			REG(b, NANET3_REG_TLB_HITS)++;
		} else {
			REG(b, NANET3_REG_TLB_WALKS)++;
			*entry = page + 1;
		}
	}
}

/* ------------------------------------------------------------------------ completions */

static uint64_t free_positions(const struct dma *d)
{
	return d->depth - (d->write - d->release);
}

static bool complete(struct board *b, struct board_link *l, struct nanet3_event *ev)
{
	struct dma *d = &l->dma;

	ev->type = NANET3_EVENT_RX;
	ev->link = (uint8_t)l->index;
	ev->dma_epoch = d->epoch;
	ev->position = d->write;
	if (!event_post(b, ev, false)) {
		return false;
	}
	d->write++;
	reg_pair_set(&LREG(l, NANET3_LREG_WRITE), d->write);
	return true;
}

/* Complete the open buffer; without room for the event it stays, sealed. */
static bool hand_over(struct board *b, struct board_link *l, uint8_t flags)
{
	struct dma *d = &l->dma;
	struct nanet3_event ev = {
		.flags = flags,
		.frame_count = d->first,
		.frames = d->fill,
		.length = d->fill * NANET3_FRAME_BYTES,
	};

	if (!complete(b, l, &ev)) {
		d->sealed = true;
		return false;
	}
	LREG(l, NANET3_LREG_CELLS) += d->fill;
	d->open = false;
	d->sealed = false;
	return true;
}

static bool gap_complete(struct board *b, struct board_link *l)
{
	struct dma *d = &l->dma;
	const struct gap *gap = &d->gaps[d->gap_head];
	struct nanet3_event ev = {
		.reason = gap->reason,
		.frame_count = gap->first,
		.frames = gap->frames,
	};

	if (free_positions(d) == 0 || !complete(b, l, &ev)) {
		return false;
	}
	d->gap_head = (d->gap_head + 1) % BOARD_GAPS;
	d->gap_count--;
	return true;
}

/* Complete what is open, as far as there are positions. True: nothing is left. */
static bool flush(struct board *b, struct board_link *l)
{
	struct dma *d = &l->dma;

	if (d->open && !hand_over(b, l, 0)) {
		return false;
	}
	while (d->gap_count > 0) {
		if (!gap_complete(b, l)) {
			return false;
		}
	}
	return true;
}

void dma_cut(struct board *b, struct board_link *l)
{
	if (l->dma.enabled) {
		flush(b, l);
	}
}

/* ------------------------------------------------------------------------ buffers and gaps */

static uint64_t deadline_steps(const struct board_link *l)
{
	uint64_t ns = (uint64_t)LREG(l, NANET3_LREG_DEADLINE) * 1000u;

	return ns < NANET3_FRAME_NS ? 1 : ns / NANET3_FRAME_NS;
}

static void fault(struct board *b, struct board_link *l)
{
	struct nanet3_event ev = {
		.type = NANET3_EVENT_ERROR,
		.link = (uint8_t)l->index,
		.reason = NANET3_ERROR_DMA_FAULT,
		.dma_epoch = l->dma.epoch,
		.position = l->dma.write,
		.value = NANET3_REG_LINK(l->index, NANET3_LREG_TABLE),
	};

	if (l->dma.fault_position != l->dma.write + 1) {
		l->dma.fault_position = l->dma.write + 1;
		event_control(b, &ev);
	}
}

/* Open the buffer at `write`, which is free. An address in no table becomes a gap. */
static enum tdm_loss open_buffer(struct board *b, struct board_link *l)
{
	struct dma *d = &l->dma;
	uint64_t bus, entry = d->table + d->write % d->depth * sizeof(bus);

	if (!board_fetch(b, entry, &bus, sizeof(bus)) ||
	    board_map(b, bus, d->frames * NANET3_FRAME_BYTES) == NULL) {
		fault(b, l);
		return TDM_LOSS_BOARD_FIFO;
	}
	d->open = true;
	d->bus = bus;
	d->fill = 0;
	d->first = b->count;
	d->due_step = b->step + deadline_steps(l);
	return TDM_GOOD;
}

/* Make sure that a buffer is open for a good cell; else say what the cell is lost to. */
static enum tdm_loss want_buffer(struct board *b, struct board_link *l)
{
	struct dma *d = &l->dma;
	/* For this cell's buffer, the gap records before it, and a sealed buffer before those. */
	uint64_t needed = 1u + d->gap_count + (d->open);

	if (d->open && !d->sealed) {
		return TDM_GOOD;
	}
	if (free_positions(d) < (needed < d->depth ? needed : d->depth) || !flush(b, l) ||
	    free_positions(d) == 0) {
		return TDM_LOSS_RING_FULL;
	}
	return open_buffer(b, l);
}

static struct gap *last_gap(struct dma *d)
{
	return &d->gaps[(d->gap_head + d->gap_count - 1) % BOARD_GAPS];
}

static bool extends_last(struct dma *d, enum tdm_loss loss, uint64_t count)
{
	struct gap *last = last_gap(d);

	return d->gap_count > 0 && last->reason == loss && last->frames < UINT32_MAX &&
	       last->first + last->frames == count;
}

/* The name a loss will get. Records pile up only while the ring is full: when just one more fits, it
 * is kept for that. */
static enum tdm_loss gap_name(struct dma *d, enum tdm_loss loss, uint64_t count)
{
	if (d->gap_count < BOARD_GAPS - 1 || extends_last(d, loss, count)) {
		return loss;
	}
	return TDM_LOSS_RING_FULL;
}

static void gap_add(struct board *b, struct board_link *l, enum tdm_loss loss)
{
	struct dma *d = &l->dma;

	if (d->open) {
		d->sealed = true;
	}
	if (extends_last(d, loss, b->count)) {
		last_gap(d)->frames++;
		return;
	}
	if (d->gap_count == BOARD_GAPS) {
		/* A short second in a ring that has been full through dozens of changes: the one
		 * record left spans the counts that never were. */
		last_gap(d)->frames = (uint32_t)(b->count + 1 - last_gap(d)->first);
		return;
	}
	if (d->gap_count == 0) {
		d->due_step = b->step + deadline_steps(l);
	}
	d->gap_count++;
	*last_gap(d) = (struct gap){.first = b->count, .frames = 1, .reason = (uint8_t)loss};
}

static void count_loss(struct board_link *l, enum tdm_loss loss)
{
	if (loss == TDM_LOSS_LINK_DOWN) {
		LREG(l, NANET3_LREG_DROP_DOWN)++;
	} else if (!l->dma.enabled) {
		return;
	} else if (loss == TDM_LOSS_RING_FULL) {
		LREG(l, NANET3_LREG_DROP_RING)++;
	} else {
		LREG(l, NANET3_LREG_DROP_FIFO)++;
	}
}

/* Where the next cell of the open buffer goes. Looked up each time: a guest's memory may move. */
static uint8_t *cell_map(struct board *b, struct board_link *l)
{
	struct dma *d = &l->dma;
	uint8_t *p =
		board_map(b, d->bus + (uint64_t)d->fill * NANET3_FRAME_BYTES, NANET3_FRAME_BYTES);

	if (p == NULL) {
		d->open = d->fill > 0;
		fault(b, l);
	}
	return p;
}

/* The open buffer will be handed over after this cell. */
static bool is_last_cell(const struct board *b, const struct dma *d)
{
	return d->fill + 1 == d->frames || b->step + 1 >= d->due_step;
}

/* If a model fault has kept one on the bus. */
static void late_cell_arrives(struct board *b, struct board_link *l)
{
	uint8_t *cell = l->late_due != 0 ? board_map(b, l->late_bus, NANET3_FRAME_BYTES) : NULL;

	if (cell != NULL) {
		memcpy(cell, l->late, NANET3_FRAME_BYTES);
	}
	l->late_due = 0;
}

void dma_late_step(struct board *b, struct board_link *l)
{
	if (b->step >= l->late_due) {
		late_cell_arrives(b, l);
	}
}

/* A model fault: where the cell waits until its buffer's event has passed it. */
static uint8_t *passed_by_its_event(struct board *b, struct board_link *l)
{
	late_cell_arrives(b, l);
	l->late_bus = l->dma.bus + (uint64_t)l->dma.fill * NANET3_FRAME_BYTES;
	l->late_due = b->step + LATE_STEPS;
	return l->late;
}

enum tdm_loss dma_cell(struct board *b, struct board_link *l, enum tdm_loss loss,
		       uint8_t **ret_cell)
{
	struct dma *d = &l->dma;
	uint8_t *cell;

	*ret_cell = l->scratch;
	if (!d->enabled) {
		/* An engine that does not stop continues to write where it was, without events. */
		cell = dma_stuck(d) && d->open ? board_map(b, d->bus, NANET3_FRAME_BYTES) : NULL;
		*ret_cell = cell != NULL ? cell : l->scratch;
		/* The link has no owner, and so no buffers. */
		loss = loss == TDM_GOOD ? TDM_LOSS_RING_FULL : loss;
		count_loss(l, loss);
		return loss;
	}
	if (loss == TDM_GOOD) {
		loss = want_buffer(b, l);
	}
	cell = loss == TDM_GOOD ? cell_map(b, l) : NULL;
	if (cell != NULL) {
		*ret_cell = is_last_cell(b, d) && fault_hits(&b->reorder) &&
					    b->host.bus->reorders(b->host.context)
				    ? passed_by_its_event(b, l)
				    : cell;
		tlb_touch(b, l, d->bus + (uint64_t)d->fill * NANET3_FRAME_BYTES);
		d->fill++;
		return TDM_GOOD;
	}
	loss = gap_name(d, loss == TDM_GOOD ? TDM_LOSS_BOARD_FIFO : loss, b->count);
	gap_add(b, l, loss);
	count_loss(l, loss);
	return loss;
}

void dma_cell_done(struct board *b, struct board_link *l)
{
	struct dma *d = &l->dma;
	bool due = b->step + 1 >= d->due_step;

	if (!d->enabled) {
		return;
	}
	if (d->sealed || (d->open && d->fill == d->frames)) {
		hand_over(b, l, 0);
	} else if (d->open && due) {
		hand_over(b, l, NANET3_RX_DEADLINE);
	}
	if (!d->open && d->gap_count > 0 && due) {
		flush(b, l);
	}
	LREG(l, NANET3_LREG_STATUS) &= ~NANET3_LSTAT_FULL;
	if (!d->open && (free_positions(d) == 0 ||
			 (d->gap_count > 0 && last_gap(d)->reason == NANET3_GAP_RING_FULL))) {
		LREG(l, NANET3_LREG_STATUS) |= NANET3_LSTAT_FULL;
	}
}

/* ------------------------------------------------------------------------ start and stop */

void dma_start(struct board *b, struct board_link *l)
{
	uint32_t frames = LREG(l, NANET3_LREG_FRAMES), depth = LREG(l, NANET3_LREG_DEPTH);

	if (frames == 0 || frames > NANET3_CHUNK_MAX / NANET3_FRAME_BYTES || depth < 2 ||
	    depth > (1u << 24) || dma_stuck(&l->dma)) {
		return;
	}
	l->dma = (struct dma){
		.stick = l->dma.stick,
		.enabled = true,
		.epoch = REG(b, NANET3_REG_DMA_EPOCH),
		.frames = frames,
		.depth = depth,
		.table = reg_pair_get(&LREG(l, NANET3_LREG_TABLE)),
	};
	memset(l->tlb, 0, sizeof(l->tlb));
	LREG(l, NANET3_LREG_CONTROL) |= NANET3_LINK_ENABLE;
	LREG(l, NANET3_LREG_STATUS) |= NANET3_LSTAT_BUSY;
	reg_pair_set(&LREG(l, NANET3_LREG_WRITE), 0);
	reg_pair_set(&LREG(l, NANET3_LREG_RELEASE), 0);
}

/* A model fault: the engine does not stop. */
static void stick(struct board *b, struct board_link *l)
{
	struct dma *d = &l->dma;

	d->stuck_until = stuck_until(b, d->stick);
	d->stick = 0;
}

void dma_stop(struct board *b, struct board_link *l)
{
	struct dma *d = &l->dma;

	late_cell_arrives(b, l);
	if (d->enabled) {
		d->enabled = false;
		stick(b, l);
	}
	LREG(l, NANET3_LREG_CONTROL) &= ~NANET3_LINK_ENABLE;
	LREG(l, NANET3_LREG_STATUS) &= ~NANET3_LSTAT_FULL;
	if (!dma_stuck(d)) {
		d->open = false;
		LREG(l, NANET3_LREG_STATUS) &= ~NANET3_LSTAT_BUSY;
	}
}

void dma_release(struct board_link *l, uint64_t position)
{
	struct dma *d = &l->dma;

	if (d->enabled && position >= d->release && position <= d->write) {
		d->release = position;
	}
	reg_pair_set(&LREG(l, NANET3_LREG_RELEASE), d->enabled ? d->release : 0);
}
