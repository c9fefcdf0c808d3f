/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Downstream: words from the TX ring into the frames that the board makes by itself.
 *
 *   TX ring --fetch--> words[] (wait for at_frame and for room) --place--> link's frame --> fibre
 *                                                               \--> TX event: left in frame N
 *
 * Packets of puts are no words: put.c executes them. A packet without room for its events waits, and all packets
 * after it wait, until the driver has taken events.
 *
 * A word is placed only when its completion event fits on the queue, so every word sent is reported.
 * Words that are due leave in the order posted; one that waits for a later frame does not delay others.
 */
#include <string.h>

#include "driver/emu/board/private.h"
#include "driver/nanet3_rules.h"
#include "tdm/le.h"

static void tx_fault(struct board *b)
{
	struct nanet3_event ev = {
		.type = NANET3_EVENT_ERROR,
		.link = 0xff,
		.reason = NANET3_ERROR_DMA_FAULT,
		.position = REG(b, NANET3_REG_TX_READ),
		.value = NANET3_REG_TX_BASE,
	};

	event_control(b, &ev);
}

/* One descriptor; false when it must stay where it is. */
static bool tx_descriptor(struct board *b, uint64_t bus)
{
	struct nanet3_tx tx;

	if (fault_hits(&b->lose_descriptors) || !board_fetch(b, bus, &tx, sizeof(tx))) {
		tx_fault(b);
		return true;
	}
	if (tx.kind == NANET3_TX_PUT) {
		return put_take(b, &tx);
	}
	if (b->word_count == BOARD_TX_WORDS) {
		return false;
	}
	b->words[b->word_count++] = tx;
	return true;
}

static bool tx_runs(const struct board *b)
{
	return !b->stalled && REG(b, NANET3_REG_CONTROL) & NANET3_CONTROL_TX;
}

void tx_take(struct board *b)
{
	uint32_t size = REG(b, NANET3_REG_TX_SIZE);
	uint64_t base = reg_pair_get(&REG(b, NANET3_REG_TX_BASE));

	/* A doorbell further ahead than the ring is long rings for nothing that could be there. */
	if (!tx_runs(b) || REG(b, NANET3_REG_TX_WRITE) - REG(b, NANET3_REG_TX_READ) > size) {
		return;
	}
	while (REG(b, NANET3_REG_TX_READ) != REG(b, NANET3_REG_TX_WRITE)) {
		uint64_t slot = REG(b, NANET3_REG_TX_READ) & (size - 1);

		if (!tx_descriptor(b, base + slot * NANET3_TX_STRIDE)) {
			return;
		}
		REG(b, NANET3_REG_TX_READ)++;
	}
}

static bool place_request(struct board_link *l, const struct nanet3_tx *tx)
{
	if (l->silent || l->requests == TDM_WORDS) {
		return false;
	}
	tdm_request_put(l->down, l->requests++, tx->bytes);
	l->dirty = true;
	return true;
}

static bool place_serial(struct board_link *l, const struct nanet3_tx *tx)
{
	struct tdm_serial serial = {
		.bytes = tx->bytes + 2,
		.length = tx->bytes[1],
		.channel = tx->bytes[0],
		.sequence = l->serial_sequence,
	};

	if (l->silent || l->serial) {
		return false;
	}
	tdm_serial_put(l->down, true, &serial);
	l->serial_sequence++;
	l->serial = true;
	l->dirty = true;
	return true;
}

/* On one link or, as a broadcast, on all in the same frame. */
static bool place_timing(struct board *b, const struct nanet3_tx *tx)
{
	struct tdm_timing timing = {
		.command = tx->bytes[0],
		.argument = le32_get(tx->bytes + 4),
		.sequence = le32_get(tx->bytes + 8),
	};
	unsigned from = tx->link == 0xff ? 0 : tx->link;
	unsigned to = tx->link == 0xff ? NANET3_LINKS : tx->link + 1u;

	for (unsigned i = from; i < to; i++) {
		if (b->links[i].silent || b->links[i].timing) {
			return false;
		}
	}
	for (unsigned i = from; i < to; i++) {
		tdm_timing_put(b->links[i].down, &timing);
		b->links[i].timing = true;
		b->links[i].dirty = true;
	}
	return true;
}

static bool place(struct board *b, const struct nanet3_tx *tx)
{
	switch (tx->kind) {
	case NANET3_TX_REQUEST:
		return place_request(&b->links[tx->link], tx);
	case NANET3_TX_SERIAL:
		return place_serial(&b->links[tx->link], tx);
	default:
		return place_timing(b, tx);
	}
}

/* True when the word is done: sent or refused, and its event posted. */
static bool tx_word(struct board *b, const struct nanet3_tx *tx)
{
	if (!event_room(b, 1, true)) {
		return false;
	}
	if (!nanet3_word_sound(tx)) {
		return event_tx(b, tx, NANET3_TX_REFUSED);
	}
	if (tx->at_frame > b->count || !place(b, tx)) {
		return false;
	}
	event_tx(b, tx, 0);
	return true;
}

static void frame_begin(struct board_link *l)
{
	if (l->dirty) {
		memset(l->down + TDM_OFF_REQUESTS, 0,
		       TDM_OFF_DOWN_SERIAL + 8 + TDM_SERIAL_BYTES - TDM_OFF_REQUESTS);
	}
	l->dirty = false;
	l->requests = 0;
	l->timing = false;
	l->serial = false;
}

void tx_work(struct board *b)
{
	if (tx_runs(b)) {
		put_step(b);
		tx_take(b);
	}
}

void tx_step(struct board *b)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		frame_begin(&b->links[i]);
	}
	if (!tx_runs(b)) {
		return;
	}
	tx_work(b);
	for (unsigned i = 0; i < b->word_count; i++) {
		if (!tx_word(b, &b->words[i])) {
			b->words[kept++] = b->words[i];
		}
	}
	b->word_count = kept;
}

/* The label is void until a PPS has put the count's seconds in step with those of the label. */
static struct tdm_time time_label(const struct board *b, const struct board_link *l)
{
	uint32_t status = REG(b, NANET3_REG_STATUS);
	struct tdm_time t = {.frame = (uint16_t)(b->count % TDM_FRAMES_PER_SECOND)};

	if (status & NANET3_STATUS_TOD && b->pps_seen) {
		t.second = b->roof.tod_second;
		t.day = b->roof.tod_day;
		t.year = b->roof.tod_year;
		t.quality = b->roof.tod_quality & 0xfu;
		t.leap = b->roof.tod_leap & 0x3u;
	}
	t.lock = (uint8_t)((status & NANET3_STATUS_PPS ? TDM_LOCK_PPS : 0) |
			   (status & NANET3_STATUS_REF ? TDM_LOCK_CLOCK : 0) |
			   (l->locked ? TDM_LOCK_UPLINK : 0));
	return t;
}

void tx_send(struct board *b, struct board_link *l)
{
	struct tdm_header header = {
		.tower = 0xff, /* for whatever floor hangs there */
		.floor = 0xff,
		.flags = TDM_FLAG_DOWNSTREAM,
		.sequence = (uint32_t)(b->step - b->roof.wrap_frames),
		.time = time_label(b, l),
		.slot_valid = l->serial ? TDM_VALID_SERIAL : 0,
		.code_errors = (uint8_t)LREG(l, NANET3_LREG_CODE_ERRORS),
		.parity = l->parity,
	};

	if (b->step < NANET3_FRAMES_PER_SECOND) {
		header.flags |= TDM_FLAG_BOOTED;
	}
	tdm_frame_seal(l->down, &header);
	l->parity = tdm_frame_parity(l->down);
	world_downlink(b->world, l->index, l->silent ? NULL : l->down);
	l->silent = false;
}

void tx_reset(struct board *b)
{
	b->word_count = 0;
	put_reset(b);
	REG(b, NANET3_REG_TX_WRITE) = 0;
	REG(b, NANET3_REG_TX_READ) = 0;
}
