/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The ack tracker: spans handed out and settled, the cursor, the account. See ack_tracker.h.
 */
#include "daemon/data/ack_tracker.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define PER_SECOND TDM_FRAMES_PER_SECOND
#define ACKED_BITS (OWNER_ACKED * 64u)

struct span {
	struct assembled of; /* without its frames */
	uint8_t streams;     /* that it has */
	uint8_t out;	     /* of them, not settled yet */
	uint8_t outcome[FCM_STREAMS][GROUPS_MAX];
};

struct ack_tracker {
	uint8_t link;
	struct owner_config config;
	struct owner_account account;
	struct ledger ledger;
	uint8_t pairs;
	uint8_t pair_of[FCM_STREAMS][GROUPS_MAX];
	uint64_t first, end; /* spans [first, end) are out */
	struct span spans[SETTLE_SPANS];
};

struct ack_tracker *ack_tracker_create(uint8_t link, const struct owner_config *config)
{
	struct ack_tracker *s = calloc(1, sizeof(*s));

	if (!s) {
		return NULL;
	}
	s->link = link;
	s->config = *config;
	for (unsigned stream = 0; stream < FCM_STREAMS; stream++) {
		for (unsigned g = 0; g < config->groups; g++) {
			if (config->group_streams[g] & 1u << stream) {
				s->pair_of[stream][g] = s->pairs++;
			}
		}
	}
	return s;
}

void ack_tracker_destroy(struct ack_tracker *s)
{
	free(s);
}

const struct owner_account *ack_tracker_account(const struct ack_tracker *s)
{
	return &s->account;
}

struct owner_account *ack_tracker_change(struct ack_tracker *s)
{
	return &s->account;
}

const struct label *ack_tracker_label(const struct ack_tracker *s, uint64_t frame)
{
	return account_label(&s->account, frame);
}

struct ledger *ack_tracker_ledger(struct ack_tracker *s)
{
	return &s->ledger;
}

static void restore_rows(struct ack_tracker *s)
{
	const struct owner_account *a = &s->account;

	for (unsigned i = 0; i < a->link_rows && i < OWNER_LINK_ROWS; i++) {
		struct ledger_link_row row;

		owner_unpack_link(&a->link_row[i], s->ledger.dma_epoch, s->link, &row);
		if (ledger_room(&s->ledger, row.second)) {
			ledger_restore_link(&s->ledger, &row);
		}
	}
	for (unsigned i = 0; i < a->stream_rows && i < 2 * OWNER_PAIRS; i++) {
		struct ledger_stream_row row;

		owner_unpack_stream(&a->stream_row[i], s->ledger.dma_epoch, s->link, &row);
		if (ledger_takes(&s->ledger, row.group, row.stream) &&
		    ledger_room(&s->ledger, row.second)) {
			ledger_restore_stream(&s->ledger, &row);
		}
	}
	if (ledger_room(&s->ledger, a->cursor.count / PER_SECOND)) {
		ledger_identity(&s->ledger, a->cursor.tower, a->cursor.floor);
		ledger_restarted(&s->ledger, a->cursor.count / PER_SECOND);
	}
}

void ack_tracker_begin(struct ack_tracker *s, uint32_t dma_epoch,
		       const struct owner_account *account)
{
	assert(s->first == s->end);
	ledger_init(&s->ledger, s->link, s->config.groups, s->config.group_streams, dma_epoch);
	s->account = *account;
	if (s->account.labels > OWNER_LABELS || s->account.runs > OWNER_RUNS) {
		s->account.labels = 0;
		s->account.runs = 0;
	}
	if (account->cursor.count > 0) {
		restore_rows(s);
	}
}

/* --------------------------------------------------------------------------- acknowledged bits */

/* Number of blocks before `frame`, as if only the two lengths in the account had ever been used. */
static uint64_t blocks_before(const struct owner_account *a, uint64_t frame)
{
	uint64_t early = frame < a->change_frame ? frame : a->change_frame;

	return (early * a->slice_blocks[0] + (frame - early) * a->slice_blocks[1]) /
	       FCM_SLICE_FRAMES;
}

/* The bit of a block, counted from the cursor; false when it has no number of its own, or lies beyond what
 * is remembered. */
static bool bit_of(const struct ack_tracker *s, const struct assembled *span, unsigned stream,
		   unsigned group, uint64_t *ret_bit)
{
	uint64_t cursor = s->account.cursor.frame, block;

	if (span->frames == 0 || span->gap || span->split || s->pairs == 0 ||
	    span->first_frame < cursor || s->account.cursor.count == 0) {
		return false;
	}
	block = blocks_before(&s->account, span->first_frame) - blocks_before(&s->account, cursor);
	if (block >= ACKED_BITS / s->pairs) {
		return false;
	}
	*ret_bit = block * s->pairs + s->pair_of[stream][group];
	return true;
}

bool ack_tracker_acked(const struct ack_tracker *s, const struct assembled *span, unsigned stream,
		       unsigned group)
{
	uint64_t bit;

	return ledger_takes(&s->ledger, group, stream) && bit_of(s, span, stream, group, &bit) &&
	       (s->account.acked[bit / 64] >> bit % 64 & 1u);
}

static void remember(struct ack_tracker *s, const struct assembled *span, unsigned stream,
		     unsigned group)
{
	uint64_t bit;

	if (bit_of(s, span, stream, group, &bit)) {
		s->account.acked[bit / 64] |= 1ull << bit % 64;
	}
}

/* The cursor has moved by `blocks`: what was block n is block n - blocks. */
static void shift_acked(struct ack_tracker *s, uint64_t blocks)
{
	uint64_t *w = s->account.acked;
	uint64_t bits = blocks * s->pairs;
	uint64_t words = bits / 64;
	unsigned rest = bits % 64;

	for (uint64_t i = 0; i < OWNER_ACKED; i++) {
		uint64_t low = i + words < OWNER_ACKED ? w[i + words] : 0;
		uint64_t high = i + words + 1 < OWNER_ACKED ? w[i + words + 1] : 0;

		w[i] = rest ? low >> rest | high << (64 - rest) : low;
	}
}

/* --------------------------------------------------------------------------------- out and back */

uint64_t ack_tracker_out(const struct ack_tracker *s)
{
	return s->end - s->first;
}

uint64_t ack_tracker_push(struct ack_tracker *s, const struct assembled *from, unsigned streams)
{
	struct span *span = &s->spans[s->end % SETTLE_SPANS];

	assert(ack_tracker_out(s) < SETTLE_SPANS);
	*span = (struct span){*from, .streams = (uint8_t)streams, .out = (uint8_t)streams};
	span->of.in = NULL;
	span->of.after = NULL;
	return s->end++;
}

void ack_tracker_block(struct ack_tracker *s, uint64_t number, unsigned stream,
		       const uint8_t *outcome)
{
	struct span *span = &s->spans[number % SETTLE_SPANS];

	if (number < s->first || number >= s->end || !(span->out & 1u << stream)) {
		return; /* settled twice: the first word counts */
	}
	span->out &= (uint8_t) ~(1u << stream);
	for (unsigned g = 0; g < s->config.groups; g++) {
		if (!ledger_takes(&s->ledger, g, stream)) {
			continue;
		}
		/* Nobody can say it was not offered: that would never leave the row. */
		span->outcome[stream][g] = outcome[g] > OUTCOME_NOT_OFFERED && outcome[g] < OUTCOMES
						   ? outcome[g]
						   : (uint8_t)OUTCOME_DROP_NO_MEMBER;
		if (span->outcome[stream][g] == OUTCOME_ACKED) {
			remember(s, &span->of, stream, g);
		}
	}
}

/* ----------------------------------------------------------------------------------- the cursor */

static void enter_cells(struct ack_tracker *s, const struct assembled *span)
{
	ledger_identity(&s->ledger, span->tower, span->floor);
	ledger_cells(&s->ledger, span->first_count, span->end_count - span->first_count);
	for (unsigned i = 0; i < ASSEMBLE_SECONDS; i++) {
		for (unsigned loss = 0; loss < TDM_LOSSES; loss++) {
			if (span->verdicts[i][loss] > 0) {
				ledger_verdict(&s->ledger, span->first_second + i,
					       (enum tdm_loss)loss, span->verdicts[i][loss]);
			}
		}
	}
	if (span->hole) {
		ledger_cut(&s->ledger, span->end_count);
		ledger_cut(&s->ledger, span->behind.count);
	}
}

static void enter_outcomes(struct ack_tracker *s, const struct span *out,
			   ack_tracker_block_fn block, void *context)
{
	const struct assembled *span = &out->of;
	const struct label *label = account_label(&s->account, span->first_frame);

	for (unsigned stream = 0; stream < FCM_STREAMS; stream++) {
		if (!(out->streams & 1u << stream)) {
			continue;
		}
		ledger_offer(&s->ledger, stream, span->first_frame, span->frames);
		for (unsigned g = 0; g < s->config.groups; g++) {
			enum outcome outcome = (enum outcome)out->outcome[stream][g];

			if (!ledger_takes(&s->ledger, g, stream)) {
				continue;
			}
			ledger_outcome(&s->ledger, stream, g, span->first_frame, span->frames,
				       outcome);
			if (block) {
				block(context, label, stream, g, span->first_frame, span->frames,
				      outcome);
			}
		}
	}
}

/* The run of lost cells that the cursor is in. */
static void enter_loss(struct owner_account *a, const struct assembled *span)
{
	uint64_t cells = span->end_count - span->first_count;

	if (cells == 0 && !span->hole) {
		return;
	}
	if (span->tail_loss == TDM_GOOD || span->hole) {
		a->loss = TDM_GOOD;
		a->loss_first = 0;
		a->loss_frames = 0;
	} else if (span->tail_loss == a->loss && span->tail_cells == cells) {
		a->loss_frames += cells;
	} else {
		a->loss = span->tail_loss;
		a->loss_first = span->end_count - span->tail_cells;
		a->loss_frames = span->tail_cells;
	}
}

bool ack_tracker_advance(struct ack_tracker *s, ack_tracker_block_fn block, void *context)
{
	bool moved = false;

	while (s->first < s->end && s->spans[s->first % SETTLE_SPANS].out == 0) {
		const struct span *out = &s->spans[s->first % SETTLE_SPANS];
		const struct assembled *span = &out->of;
		uint64_t from =
			s->account.cursor.count > 0 ? s->account.cursor.frame : span->first_frame;

		enter_cells(s, span);
		if (span->frames > 0) {
			enter_outcomes(s, out, block, context);
		}
		enter_loss(&s->account, span);
		s->account.cursor = span->behind;
		if (span->behind.frame > from) {
			shift_acked(s, blocks_before(&s->account, span->behind.frame) -
					       blocks_before(&s->account, from));
		}
		account_forget(&s->account);
		s->first++;
		moved = true;
	}
	return moved;
}

uint64_t ack_tracker_second(const struct ack_tracker *s)
{
	const struct assemble_point *p = &s->account.cursor;

	return (p->count < p->frame ? p->count : p->frame) / PER_SECOND;
}

/* --------------------------------------------------------------------------------- the account */

static void pack_stream(void *context, const struct ledger_stream_row *row)
{
	struct owner_account *a = context;

	if (a->stream_rows < 2 * OWNER_PAIRS) {
		owner_pack_stream(row, &a->stream_row[a->stream_rows++]);
	}
}

static void pack_link(void *context, const struct ledger_link_row *row)
{
	struct owner_account *a = context;

	if (a->link_rows < OWNER_LINK_ROWS) {
		owner_pack_link(row, &a->link_row[a->link_rows++]);
	}
}

void ack_tracker_pack(struct ack_tracker *s)
{
	struct owner_account *a = &s->account;
	const struct ledger_sink sink = {pack_stream, pack_link, a};

	a->link_rows = 0;
	a->stream_rows = 0;
	ledger_each_open(&s->ledger, &sink);
}

void account_begin(struct owner_account *a, uint32_t block_frames)
{
	memset(a, 0, sizeof(*a));
	a->slice_blocks[1] = (uint8_t)(FCM_SLICE_FRAMES / block_frames);
}

uint32_t account_block_frames(const struct owner_account *a, uint64_t frame)
{
	return FCM_SLICE_FRAMES / a->slice_blocks[frame >= a->change_frame];
}

bool account_change_length(struct owner_account *a, uint64_t frame, uint32_t block_frames)
{
	if (account_block_frames(a, frame) == block_frames || a->cursor.frame < a->change_frame) {
		return false;
	}
	a->slice_blocks[0] = a->slice_blocks[1];
	a->slice_blocks[1] = (uint8_t)(FCM_SLICE_FRAMES / block_frames);
	a->change_frame = frame;
	return true;
}

const struct label *account_label(const struct owner_account *a, uint64_t frame)
{
	static const struct label none = {
		.uncertainty_ns = FCM_NO_UNCERTAINTY,
		.anchor_tai_ns = FCM_NO_TAI,
		.leap_tai_ns = INT64_MAX,
	};
	const struct label *label = &none;

	for (unsigned i = 0; i < a->labels && a->label[i].from_frame <= frame; i++) {
		label = &a->label[i].label;
	}
	return label;
}

uint32_t account_run(const struct owner_account *a, uint64_t frame)
{
	uint32_t run = 0;

	for (unsigned i = 0; i < a->runs && a->run[i].from_frame <= frame; i++) {
		run = a->run[i].run;
	}
	return run;
}

void account_add_label(struct owner_account *a, uint64_t frame, const struct label *label)
{
	struct owner_label *last = a->labels > 0 ? &a->label[a->labels - 1] : NULL;

	if (last && memcmp(&last->label, label, sizeof(*label)) == 0) {
		return;
	}
	if (last && last->from_frame >= frame) { /* no block has it yet */
		last->label = *label;
		return;
	}
	if (a->labels == OWNER_LABELS) {
		memmove(&a->label[1], &a->label[2], sizeof(a->label[0]) * (OWNER_LABELS - 2));
		a->labels--;
	}
	a->label[a->labels++] = (struct owner_label){.from_frame = frame, .label = *label};
}

bool account_add_run(struct owner_account *a, uint64_t frame, uint32_t run, uint32_t change)
{
	if (a->runs == OWNER_RUNS) {
		return false;
	}
	a->run[a->runs++] = (struct owner_run){frame, run, change};
	return true;
}

void account_forget(struct owner_account *a)
{
	uint64_t needed = a->cursor.frame;

	while (a->runs > 1 && a->run[1].from_frame <= a->cursor.frame && a->run[1].change == 0) {
		memmove(&a->run[0], &a->run[1], sizeof(a->run[0]) * --a->runs);
	}
	for (unsigned i = 0; i < a->runs; i++) {
		if (a->run[i].change && a->run[i].from_frame < needed) {
			needed = a->run[i].from_frame;
		}
	}
	while (a->labels > 1 && a->label[1].from_frame < needed) {
		memmove(&a->label[0], &a->label[1], sizeof(a->label[0]) * --a->labels);
	}
}
