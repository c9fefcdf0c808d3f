/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The device model's frame period: what the board does every 125 us.
 *
 *   count (PPS) -> transceivers, phase, status -> downstream frames out -> upstream cells in
 *
 * It depends on the registers and the world only: no clock, no thread. README.md lists the other files.
 */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "driver/emu/board/private.h"

#define PHASE_PERIOD_PS 12500 /* one byte slot: the word clock */
#define PHASE_ONE	(1 << 24)

_Static_assert(NANET3_GAP_LINK_DOWN == TDM_LOSS_LINK_DOWN &&
		       NANET3_GAP_BOARD_FIFO == TDM_LOSS_BOARD_FIFO &&
		       NANET3_GAP_RING_FULL == TDM_LOSS_RING_FULL,
	       "gap reasons are the ledger's names");
_Static_assert(NANET3_FRAME_BYTES == TDM_FRAME_BYTES, "a cell is as long as a frame");
_Static_assert(BOARD_GLOBAL_REGS * 4 > NANET3_REG_MODEL_FAULT, "global register file");
_Static_assert(BOARD_LINK_REGS * 4 == NANET3_LREG_RELEASE + 8, "link register file");
_Static_assert(BOARD_BUFFER_REGS * 4 > NANET3_BREG_STATUS, "buffer register file");

/* ------------------------------------------------------------------------ count and second */

static void pps(struct board *b, uint32_t offset_frames)
{
	int64_t offset_ns = (int64_t)offset_frames * NANET3_FRAME_NS;
	struct nanet3_event ev = {
		.type = NANET3_EVENT_PPS,
		.link = 0xff,
		.value = ++b->pps_number,
	};

	if (offset_ns >= 500000000) {
		offset_ns -= 1000000000;
	}
	b->pps_seen = true;
	b->pps_step = b->step;
	reg_pair_set(&REG(b, NANET3_REG_PPS_COUNT), b->count);
	REG(b, NANET3_REG_PPS_NUMBER) = b->pps_number;
	REG(b, NANET3_REG_PPS_OFFSET) = (uint32_t)(int32_t)offset_ns;
	event_control(b, &ev);
}

/* A whole second, so that the first PPS moves nothing. */
static uint64_t first_count(const struct board *b)
{
	uint64_t wrap = b->roof.wrap_frames;
	uint64_t second = ((1ull << 32) - wrap) / NANET3_FRAMES_PER_SECOND;

	return wrap > 0 ? second * NANET3_FRAMES_PER_SECOND : BOARD_FIRST_COUNT;
}

/* The next cell's count, given or counted. A PPS off the count's own second border begins a new second
 * there. */
static void count_step(struct board *b)
{
	const uint64_t next = b->step == 0 ? first_count(b) : b->count + 1;
	uint32_t offset = 0;
	uint64_t count = b->roof.count;

	if (!b->roof.counted) {
		offset = b->roof.pps ? (uint32_t)(next % NANET3_FRAMES_PER_SECOND) : 0;
		count = next + (offset != 0 ? NANET3_FRAMES_PER_SECOND - offset : 0);
	}
	for (unsigned i = 0; i < NANET3_LINKS && count != next && b->step > 0; i++) {
		dma_cut(b, &b->links[i]); /* open buffers end where the count moves */
	}
	b->count = count;
	if (b->roof.pps) {
		pps(b, offset);
	}
	reg_pair_set(&REG(b, NANET3_REG_COUNT), b->count);
}

static void stall_step(struct board *b)
{
	bool stalled = b->roof.stalled || b->step < b->fault_stall_until;
	struct nanet3_event ev = {
		.type = NANET3_EVENT_ERROR,
		.link = 0xff,
		.reason = NANET3_ERROR_STALLED,
		.value = stalled,
	};

	if (stalled == b->stalled) {
		return;
	}
	b->stalled = false; /* the event is the last thing out, or the first */
	event_control(b, &ev);
	b->stalled = stalled;
}

static void roof_step(struct board *b)
{
	const struct world_roof *r = &b->roof;
	uint32_t status = 0;

	if (b->pps_seen && b->step - b->pps_step < NANET3_FRAMES_PER_SECOND * 3 / 2) {
		status |= NANET3_STATUS_PPS;
	}
	status |= r->reference ? NANET3_STATUS_REF : 0;
	status |= r->tod_valid ? NANET3_STATUS_TOD : 0;
	status |= b->stalled ? NANET3_STATUS_STALLED : 0;
	REG(b, NANET3_REG_STATUS) = status;
	REG(b, NANET3_REG_TEMPERATURE) = (uint32_t)r->temperature_mc;
	REG(b, NANET3_REG_TOD) = r->tod_second;
	REG(b, NANET3_REG_TOD_DATE) = (r->tod_day & 0x1ffu) | (uint32_t)(r->tod_year & 0x7fu) << 9;
	REG(b, NANET3_REG_TOD_FLAGS) = (r->tod_quality & 0xfu) | (uint32_t)(r->tod_leap & 0x3u)
									 << 4;
}

/* ------------------------------------------------------------------------ transceivers */

static void phase_reset(struct board_link *l)
{
	l->phase = (struct phase){.number = l->phase_from};
	LREG(l, NANET3_LREG_PHASE_NUMBER) = 0;
}

static void phase_add(struct board_link *l, uint32_t phase_ps)
{
	struct phase *p = &l->phase;
	unsigned at = p->number % BOARD_PHASE_WINDOW;
	double angle = 2 * M_PI / PHASE_PERIOD_PS * phase_ps, mean;

	p->cosine_sum -= p->cosine[at];
	p->sine_sum -= p->sine[at];
	p->cosine[at] = (int32_t)lround(cos(angle) * PHASE_ONE);
	p->sine[at] = (int32_t)lround(sin(angle) * PHASE_ONE);
	p->cosine_sum += p->cosine[at];
	p->sine_sum += p->sine[at];
	p->number++;

	mean = atan2((double)p->sine_sum, (double)p->cosine_sum) * PHASE_PERIOD_PS / (2 * M_PI);
	LREG(l, NANET3_LREG_PHASE) = (uint32_t)(lround(mean + PHASE_PERIOD_PS) % PHASE_PERIOD_PS);
	LREG(l, NANET3_LREG_PHASE_NUMBER) = p->number;
}

void board_realign(struct board *b, struct board_link *l, bool reset)
{
	l->commanded = true;
	l->relock = true;
	l->silent = l->silent || reset;
	phase_reset(l);
	world_realign(b->world, l->index, reset);
}

/* Lock gained and lost, and its event. Without room for the event it is tried again at the next step: the
 * state is reported late, never lost. */
static void status_step(struct board *b, struct board_link *l, bool signal, bool locked)
{
	uint32_t bits = (signal ? NANET3_LSTAT_SIGNAL : 0) | (locked ? NANET3_LSTAT_LOCKED : 0);
	struct nanet3_event ev = {
		.type = NANET3_EVENT_LINK,
		.link = (uint8_t)l->index,
		.frame_count = b->count,
	};

	if (locked != l->locked) {
		LREG(l, locked ? NANET3_LREG_ALIGNS : NANET3_LREG_LOST_LOCKS)++;
		phase_reset(l);
	}
	l->locked = locked;
	LREG(l, NANET3_LREG_STATUS) =
		bits | (LREG(l, NANET3_LREG_STATUS) & (NANET3_LSTAT_FULL | NANET3_LSTAT_BUSY));
	if (bits == l->reported) {
		return;
	}
	ev.value = LREG(l, NANET3_LREG_STATUS) & ~NANET3_LSTAT_BUSY;
	ev.reason = (uint8_t)((bits ^ l->reported) | (l->commanded ? NANET3_CAUSE_COMMAND : 0));
	if (event_post(b, &ev, true) || !(REG(b, NANET3_REG_CONTROL) & NANET3_CONTROL_EVENTS)) {
		l->reported = bits;
		l->commanded = l->commanded && !locked;
	}
}

static void fibre_step(struct board *b, struct board_link *l, struct world_fibre *ret_fibre)
{
	struct world_fibre *f = ret_fibre;
	bool locked;

	world_fibre(b->world, l->index, f);
	locked = f->signal && !l->relock && world_locked(b->world, l->index);
	l->relock = false;
	LREG(l, NANET3_LREG_RX_POWER) = f->rx_power_nw;
	LREG(l, NANET3_LREG_TX_POWER) = f->tx_power_nw;
	LREG(l, NANET3_LREG_CODE_ERRORS) += f->code_errors;
	status_step(b, l, f->signal, locked);
	if (!locked) {
		return;
	}
	LREG(l, NANET3_LREG_RTT) = f->rtt_frames | (uint32_t)(f->rtt_bytes & 0x3fffu) << 8 |
				   (uint32_t)(f->rtt_bits & 0xfu) << 22;
	if (b->step % BOARD_PHASE_EVERY == l->index && !f->no_phase) {
		phase_add(l, f->phase_ps);
	}
}

/* ------------------------------------------------------------------------ the step */

static void link_step(struct board *b, struct board_link *l)
{
	enum tdm_loss loss = TDM_GOOD;
	struct world_fibre fibre;
	uint8_t *cell;

	fibre_step(b, l, &fibre);
	tx_send(b, l);
	if (!l->locked) {
		loss = TDM_LOSS_LINK_DOWN;
	} else if (b->stalled) {
		loss = TDM_LOSS_BOARD_FIFO;
	} else {
		loss = (enum tdm_loss)fibre.lost;
	}
	loss = dma_cell(b, l, loss, &cell);
	world_uplink(b->world, l->index, b->count, loss, cell);
	dma_cell_done(b, l);
}

/* Off the bus: no light goes out, what comes in is lost. */
static void gone_step(struct board *b)
{
	b->count++;
	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		world_downlink(b->world, i, NULL);
		world_uplink(b->world, i, b->count, TDM_LOSS_LINK_DOWN, b->links[i].scratch);
	}
	fault_gone_step(b);
}

void board_step(struct board *b)
{
	uint32_t fault;

	world_step(b->world);
	while ((fault = world_fault(b->world)) != 0) {
		fault_write(b, fault);
	}
	if (board_gone(b)) {
		gone_step(b);
		return;
	}
	fault_step(b);
	world_roof(b->world, &b->roof);
	count_step(b);
	stall_step(b);
	roof_step(b);
	tx_step(b);
	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		link_step(b, &b->links[i]);
	}
	b->step++;
}

void board_work(struct board *b)
{
	if (b->host.bus && !board_gone(b)) {
		tx_work(b);
	}
}

uint64_t board_count(const struct board *b)
{
	return b->count;
}

/* ------------------------------------------------------------------------ life */

struct board *board_create(const struct board_host *host, struct world *world, uint32_t serial)
{
	struct board *b = calloc(1, sizeof(*b));

	if (b == NULL) {
		return NULL;
	}
	b->host = *host;
	b->world = world;
	b->serial = serial;
	b->emulated = NANET3_EMULATED_REAL_TIME;
	world_roof(world, &b->roof);
	b->boots =
		b->roof.wrap_frames > 0 ? UINT32_MAX - 2 : 0; /* all ones is a board that is gone */
	board_power_up(b);
	return b;
}

void board_unpaced(struct board *b)
{
	b->emulated = NANET3_EMULATED_UNPACED;
	REG(b, NANET3_REG_MODEL) = b->emulated;
}

bool board_gone(const struct board *b)
{
	return b->gone_steps > 0;
}

bool board_rings_take(const struct board *b)
{
	bool any = false;

	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		const struct dma *d = &b->links[i].dma;

		if (d->enabled && d->write - d->release + 3 > d->depth) {
			return false;
		}
		any = any || d->enabled;
	}
	return any;
}

void board_destroy(struct board *b)
{
	free(b);
}
