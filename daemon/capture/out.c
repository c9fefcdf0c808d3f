/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From closed spans to blocks with the publisher, and from settled blocks to released buffers. See
 * private.h.
 *
 * When there is no memory for a block, or the publisher's queue is full, the link waits: it reads no
 * further, so its data stay in the ring. When memory is missing, a NULL in the publisher's queue says so: it
 * drops what is oldest. That lasts while the ring is less than 3/4 full; then, if no memory has come back,
 * the block is charged DROP_POOL to every group that takes it.
 */
#include <string.h>

#include "daemon/capture/private.h"

#define PATIENCE_NS  1000000000ull /* see out_unhurried() */
#define REWIND_CELLS 8u /* behind the cursor, for a successor's deframer to find its lock */

static uint64_t number_of(const struct block *b)
{
	return b->order / FCM_STREAMS;
}

/* ------------------------------------------------------------------------------------ blocks out */

static uint32_t plan_flags(const struct link *l, const struct assembled *span,
			   const struct label *label)
{
	const struct capture *c = l->capture;
	uint32_t flags = 0;

	flags |= span->first_frame < l->resent_below ? FCM_BLOCK_RESENT : 0;
	flags |= span->gap ? FCM_BLOCK_GAP : 0;
	flags |= span->step ? FCM_BLOCK_STEP : 0;
	flags |= span->tower != c->config.expected[l->number].tower ||
				 span->floor != c->config.expected[l->number].floor
			 ? FCM_BLOCK_IDENTITY
			 : 0;
	flags |= nanet3_info(c->board)->emulated ? FCM_BLOCK_EMULATED : 0;
	if (span->first_frame > 0 &&
	    ack_tracker_label(l->settle, span->first_frame - 1)->time_epoch != label->time_epoch) {
		flags |= FCM_BLOCK_RELABEL;
	}
	return flags;
}

/* The delay belongs to the cable to a floor, whichever link the floor is on now. */
static uint32_t cable_delay_ns(const struct link *l, const struct assembled *span)
{
	const struct capture_config *c = &l->capture->config;

	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		if (c->expected[i].tower == span->tower && c->expected[i].floor == span->floor) {
			return c->cable_delay_ns[i];
		}
	}
	return c->cable_delay_ns[l->number];
}

static struct block_plan plan_of(const struct link *l, const struct assembled *span,
				 unsigned stream)
{
	const struct capture_config *config = &l->capture->config;
	const struct label *label = ack_tracker_label(l->settle, span->first_frame);

	return (struct block_plan){
		.stream = (enum fcm_stream)stream,
		.board = (uint8_t)config->board,
		.link = l->number,
		.tower = span->tower,
		.floor = span->floor,
		.run = account_run(ack_tracker_account(l->settle), span->first_frame),
		.dma_epoch = l->dma_epoch,
		.flags = plan_flags(l, span, label),
		.first_frame = span->first_frame,
		.frames = span->frames,
		.block_frames =
			account_block_frames(ack_tracker_account(l->settle), span->first_frame),
		.in = span->in,
		.after = span->after,
		.label = *label,
		.day_origin = config->day_origin,
		.cable_delay_ns = cable_delay_ns(l, span),
	};
}

/* When the completion that brought the cell was handed over. */
static uint64_t handed_over_ns(const struct link *l, uint64_t count)
{
	uint64_t time_ns = 0, best = UINT64_MAX;

	for (unsigned i = 0; i < CAPTURE_RECENT; i++) {
		if (l->recent[i].count > count && l->recent[i].count < best) {
			best = l->recent[i].count;
			time_ns = l->recent[i].time_ns;
		}
	}
	return time_ns ? time_ns : l->capture->now_ns;
}

static void count_block(struct link *l, const struct block *b)
{
	struct capture_link_status *s = &l->status;

	s->blocks++;
	s->resent += (b->header.flags & FCM_BLOCK_RESENT) != 0;
	s->bytes += b->header.payload_bytes;
	s->items[b->header.stream] += b->header.items;
	s->item_faults += b->header.item_faults;
}

bool out_unhurried(const struct link *l)
{
	return ack_tracker_label(l->settle, UINT64_MAX)->source == LABEL_EMULATOR &&
	       (l->capture->config.patient || l->capture->now_ns < l->moved_ns + PATIENCE_NS);
}

static bool may_drop(const struct link *l)
{
	uint64_t used = nanet3_write_position(l->capture->board, l->number) - l->release_position;

	return l->capture->dropping || (used * 4 > (uint64_t)l->depth * 3 && !out_unhurried(l));
}

static void count_drop(struct link *l, const struct assembled *span, unsigned stream,
		       unsigned group)
{
	struct capture_drops *d = &l->capture->status.pool_drops[group];

	d->blocks++;
	d->frames += span->frames;
	d->last = (struct block_drop){span->tower,	 span->floor,	    (uint8_t)stream,
				      OUTCOME_DROP_POOL, span->first_frame, span->frames,
				      l->capture->now_ns};
}

/* There is no room for the block: every group that takes it is charged. */
static void drop_block(struct link *l, const struct assembled *span, unsigned stream)
{
	uint8_t outcome[GROUPS_MAX];

	memset(outcome, OUTCOME_DROP_POOL, sizeof(outcome));
	for (unsigned g = 0; g < GROUPS_MAX; g++) {
		if (ack_tracker_acked(l->settle, span, stream, g)) {
			outcome[g] = OUTCOME_ACKED;
		}
		if (ledger_takes(&l->live, g, stream)) {
			ledger_outcome(&l->live, stream, g, span->first_frame, span->frames,
				       (enum outcome)outcome[g]);
			if (outcome[g] == OUTCOME_DROP_POOL) {
				count_drop(l, span, stream, g);
			}
		}
	}
	ack_tracker_block(l->settle, l->span_number - l->number_base, stream, outcome);
	l->status.blocks_dropped++;
}

/* No memory for a block: the group that holds back the oldest pays for the next ones. Said once a tick; a
 * model that waits for us waits for memory, too. `place`: in the publisher's queue. */
static void say_pool_empty(struct link *l, struct block **place)
{
	struct capture *c = l->capture;

	if (c->pool_said_ns != c->now_ns && !c->dropping && !out_unhurried(l)) {
		*place = NULL;
		queue_commit(c->blocks);
		c->blocks_queued = true;
		c->pool_said_ns = c->now_ns;
	}
}

/* True when it is out, or dropped; false: wait. */
static bool block_out(struct link *l, const struct assembled *span, unsigned stream)
{
	struct capture *c = l->capture;
	struct block_plan plan = plan_of(l, span, stream);
	struct block **place = queue_reserve(c->blocks);
	struct block *b = place ? block_get(c->pool, block_capacity(&plan)) : NULL;

	if (!b) {
		if (place) {
			say_pool_empty(l, place);
		}
		if (!may_drop(l)) {
			return false;
		}
		drop_block(l, span, stream);
		return true;
	}
	block_build(&plan, &b->header, b->payload);
	b->order = l->span_number * FCM_STREAMS + stream;
	b->end_count = span->end_count;
	b->monotonic_ns = handed_over_ns(l, span->last_good_count ? span->last_good_count
								  : span->end_count - 1);
	b->publisher = NULL;
	for (unsigned g = 0; g < GROUPS_MAX; g++) {
		b->outcome[g] = OUTCOME_NOT_OFFERED;
		b->already[g] = ack_tracker_acked(l->settle, span, stream, g);
	}
	/* Before the publisher can have it: it may have been sent. */
	if (l->sent < span->first_frame + span->frames) {
		l->sent = span->first_frame + span->frames;
		owner_set_sent(l->page, l->sent);
	}
	count_block(l, b);
	*place = b;
	queue_commit(c->blocks);
	c->blocks_queued = true;
	return true;
}

/* Of a run that began without a time, and once of one that a predecessor began. */
static void report_run_time(struct link *l, uint64_t frame)
{
	const struct capture *c = l->capture;

	if (c->runs.run && c->runs.run != c->run_timed &&
	    account_run(ack_tracker_account(l->settle), frame) == c->runs.run) {
		report_run_timed(l, frame, c->runs.run, ack_tracker_label(l->settle, frame));
	}
}

/* The span enters the accounts. False: no room there, wait. */
static bool span_begin(struct link *l, const struct assembled *span)
{
	const unsigned all = (1u << FCM_STREAMS) - 1;

	if (ack_tracker_out(l->settle) == SETTLE_SPANS ||
	    (span->frames > 0 &&
	     !ledger_room(&l->live, span->first_frame / TDM_FRAMES_PER_SECOND))) {
		return false;
	}
	l->span_number = l->number_base + ack_tracker_push(l->settle, span, span->frames ? all : 0);
	l->next_number = l->span_number + 1;
	for (unsigned s = 0; span->frames > 0 && s < FCM_STREAMS; s++) {
		ledger_offer(&l->live, s, span->first_frame, span->frames);
	}
	if (span->frames > 0) {
		run_border_report(&l->capture->runs, ack_tracker_account(l->settle),
				  span->first_frame, report_run, l);
		report_run_time(l, span->first_frame);
		downlink_block(&l->downlink, span->tower, span->floor, span->in, span->frames);
		l->status.downlink_errors = l->downlink.errors;
	}
	l->pushed = true;
	l->stream = 0;
	return true;
}

bool out_spans(struct link *l)
{
	const struct assembled *span;

	l->blocked = false;
	while ((span = assemble_next(l->assembler))) {
		if (!l->pushed && !span_begin(l, span)) {
			l->blocked = true;
			return false;
		}
		while (span->frames > 0 && l->stream < FCM_STREAMS) {
			if (!block_out(l, span, l->stream)) {
				l->blocked = true;
				return false;
			}
			l->stream++;
		}
		l->pushed = false;
		assemble_take(l->assembler);
	}
	return true;
}

/* ----------------------------------------------------------------------------------- blocks back */

/* Whose block is it? Epochs follow each other in numbers. */
static struct ack_tracker *settle_of(struct link *l, uint64_t number, uint64_t *ret_base)
{
	struct ack_tracker *found = NULL;

	if (l->settle && number >= l->number_base) {
		*ret_base = l->number_base;
		return l->settle;
	}
	*ret_base = 0;
	for (unsigned i = 0; i < CAPTURE_RETIRED; i++) {
		const struct retired *r = &l->retired[i];

		if (r->settle && number >= r->number_base &&
		    (!found || r->number_base > *ret_base)) {
			found = r->settle;
			*ret_base = r->number_base;
		}
	}
	return found;
}

void out_settled(struct link *l, const struct block *b)
{
	const struct fcm_block_header *h = &b->header;
	uint8_t outcome[GROUPS_MAX];
	uint64_t base;
	struct ack_tracker *s = settle_of(l, number_of(b), &base);

	if (!s) {
		return;
	}
	for (unsigned g = 0; g < GROUPS_MAX; g++) {
		outcome[g] = b->already[g] ? (uint8_t)OUTCOME_ACKED : b->outcome[g];
		if (outcome[g] == OUTCOME_NOT_OFFERED || outcome[g] >= OUTCOMES) {
			outcome[g] = OUTCOME_DROP_NO_MEMBER; /* as ack_tracker_block() will */
		}
		if (s == l->settle && ledger_takes(&l->live, g, h->stream)) {
			ledger_outcome(&l->live, h->stream, g, h->first_frame, h->frames,
				       (enum outcome)outcome[g]);
		}
	}
	ack_tracker_block(s, number_of(b) - base, h->stream, outcome);
	l->dirty = true;
}

/* ------------------------------------------------------------------------------------ the cursor */

/* `context`: the losses of the block's epoch. */
static void on_outcome(void *context, const struct label *label, unsigned stream, unsigned group,
		       uint64_t first_frame, uint32_t frames, enum outcome outcome)
{
	struct losses *losses = context;
	struct link *l = losses->context;
	const struct ledger_loss *loss;

	losses_block(losses, stream, group, first_frame, frames, outcome, label);
	loss = losses_drop(losses, stream, group);
	/* Before the commit that has the block behind the cursor. */
	if (outcome > OUTCOME_ACKED && losses == &l->losses && loss) {
		report_keep_loss(l, loss);
	}
}

static void keep_link(void *context, const struct ledger_link_row *row)
{
	struct link *l = context;
	struct ledger_sink report = report_sink(l);

	l->status.rows_forgotten += !owner_keep_link(l->page, row);
	report.link(report.context, row);
}

static void keep_stream(void *context, const struct ledger_stream_row *row)
{
	struct link *l = context;
	struct ledger_sink report = report_sink(l);

	l->status.rows_forgotten += !owner_keep_stream(l->page, row);
	report.stream(report.context, row);
}

static void release(struct link *l)
{
	const struct assemble_point *cursor = &ack_tracker_account(l->settle)->cursor;
	uint64_t limit = cursor->count > REWIND_CELLS ? cursor->count - REWIND_CELLS : 0;
	uint64_t to = l->release_position;

	while (to < l->read_position) {
		const struct nanet3_event *e = nanet3_completion(l->capture->board, l->number, to);

		if (e->dma_epoch == l->dma_epoch && e->frame_count + e->frames > limit) {
			break;
		}
		to++;
	}
	l->release_waits = false;
	if (l->capture->config.tap && to > l->release_position) {
		uint64_t write = nanet3_write_position(l->capture->board, l->number), own = to;
		/* A ring that is full because its board waits for us is no danger. */
		uint64_t used = out_unhurried(l) ? 0 : write - l->release_position;

		to = tap_release(l->capture->config.tap, l->number, own, used, l->depth,
				 l->capture->now_ns);
		l->release_waits = to < own;
	}
	if (to == l->release_position || nanet3_release(l->capture->board, l->number, to) < 0) {
		return; /* a board that is gone is noticed by the tick */
	}
	l->release_position = to;
	if (l->capture->status.first_release_ns == 0) {
		l->capture->status.first_release_ns = l->capture->now_ns;
	}
}

void out_advance(struct link *l)
{
	struct ledger_sink keep = {keep_stream, keep_link, l};
	bool moved = ack_tracker_advance(l->settle, on_outcome, &l->losses);

	if (moved) {
		l->moved_ns = l->capture->now_ns;
		ledger_close(ack_tracker_ledger(l->settle), ack_tracker_second(l->settle), &keep);
		ledger_close(&l->live, ack_tracker_second(l->settle), NULL);
		link_change_length(l);
	}
	if (moved || l->dirty) {
		ack_tracker_pack(l->settle);
		owner_commit(l->page, ack_tracker_account(l->settle));
		l->dirty = false;
	}
	if (moved || l->release_waits) {
		release(l);
	}
}

bool out_retired(struct link *l)
{
	bool none = true;

	for (unsigned i = 0; i < CAPTURE_RETIRED; i++) {
		struct retired *r = &l->retired[i];
		struct ledger_sink report = report_sink(l);

		if (!r->settle) {
			continue;
		}
		l->reporting = r->generation;
		ack_tracker_advance(r->settle, on_outcome, &r->losses);
		if (ack_tracker_out(r->settle) > 0) {
			none = false;
			continue;
		}
		ledger_close(ack_tracker_ledger(r->settle), UINT64_MAX, &report);
		losses_end(&r->losses);
		ack_tracker_destroy(r->settle);
		r->settle = NULL;
	}
	l->reporting = l->generation;
	return none;
}

uint64_t out_frames(const struct link *l)
{
	const struct assemble_point *cursor = &ack_tracker_account(l->settle)->cursor;
	uint64_t frontier = assemble_frontier(l->assembler);

	if (cursor->count == 0) { /* nothing has come back yet */
		return ack_tracker_out(l->settle) *
		       account_block_frames(ack_tracker_account(l->settle), frontier);
	}
	return frontier > cursor->frame ? frontier - cursor->frame : 0;
}

uint64_t out_waiting(const struct link *l)
{
	uint64_t out = l->settle ? ack_tracker_out(l->settle) : 0;

	for (unsigned i = 0; i < CAPTURE_RETIRED; i++) {
		out += l->retired[i].settle ? ack_tracker_out(l->retired[i].settle) : 0;
	}
	return out;
}
