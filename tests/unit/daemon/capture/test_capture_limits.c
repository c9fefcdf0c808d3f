/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A link of capture at its limits: losses until they are saved, reports, blocks, completions. */
#include "tests/unit/daemon/capture/link_rig.h"

#include <string.h>

static void tell_losses(bool all)
{
	losses_tick(&the_link()->losses, the_link()->next_verdict, all);
	take_reports();
}

/* ------------------------------------------------------------------ losses until they are saved */

static void a_loss_is_told_to_every_successor_until_it_is_saved(void **state)
{
	const struct label label = rig_label(1);
	uint64_t lost;

	data(20, 0);
	tell_losses(false);
	lost = B.count + 3;
	data(1, 1u << 3);
	data(20, 0);
	tell_losses(false);
	assert_int_equal(R->loss_count, 2); /* to find the alignment, and this */
	assert_int_equal(R->losses[1].number, R->losses[0].number + 1);
	report_losses_saved(the_link(), R->losses[0].number);
	for (unsigned life = 0; life < 2; life++) {
		kill_and_start();
		assert_int_equal(R->loss_count, 1);
		assert_int_equal(R->losses[0].loss.code, TDM_LOSS_CRC);
		assert_int_equal(R->losses[0].loss.first, lost);
		assert_int_equal(R->losses[0].loss.frames, 1);
		assert_int_equal(R->losses[0].loss.tai_ns, label_tai_ns(&label, lost));
	}
	report_losses_saved(the_link(), R->losses[0].number);
	kill_and_start();
	assert_int_equal(R->loss_count, 0);
}

/* An open run is the account's: no number, so nothing to be saved. */
static void an_open_loss_has_no_number(void **state)
{
	data(20, 0);
	tell_losses(false);
	R->loss_count = 0;
	gap(160, NANET3_GAP_BOARD_FIFO);
	tell_losses(true);
	assert_int_equal(R->loss_count, 1);
	assert_int_equal(R->losses[0].loss.open, 1);
	assert_int_equal(R->losses[0].number, 0);
	data(20, 0);
	tell_losses(true);
	assert_int_equal(R->loss_count, 2);
	assert_int_equal(R->losses[1].loss.open, 0);
	assert_true(R->losses[1].number > 0);
}

/* The page has 18 places: with more than half of them taken saving is urgent, beyond them losses give way. */
static void saving_is_urgent_when_half_the_places_are_taken(void **state)
{
	for (unsigned n = 1; n <= OWNER_LOSSES + 1; n++) {
		assert_int_equal(the_link()->status.rows_forgotten, 0);
		data(1, n > 1); /* the first is to find the alignment */
		data(9, 0);
		tell_losses(false);
		assert_int_equal(R->loss_count, n);
		assert_int_equal(R->losses[n - 1].urgent, n > OWNER_LOSSES / 2);
	}
	assert_int_equal(the_link()->status.rows_forgotten, 1);
}

static void everything_may_be_saved_at_once(void **state)
{
	uint64_t next;

	data(20, 0);
	tell_losses(false);
	next = the_link()->next_verdict;
	report_losses_saved(the_link(), UINT64_MAX - 1);
	assert_int_equal(the_link()->next_verdict, next);
	kill_and_start();
	assert_int_equal(R->loss_count, 0);
}

/* Of a predecessor's losses that is told again which lies behind the cursor; what does not will happen again. */
static void of_kept_losses_what_lies_beyond_the_cursor_is_left_out(void **state)
{
	struct ledger_loss drop = {.kind = 1, .code = OUTCOME_DROP_SLOW, .dma_epoch = 3};
	struct ledger_loss cells = {.kind = 0, .code = TDM_LOSS_CRC, .dma_epoch = 3, .frames = 1};
	uint64_t frame, count;
	bool gave_way;

	data(50, 0);
	tell_losses(false);
	report_losses_saved(the_link(), R->losses[R->loss_count - 1].number);
	frame = ack_tracker_account(the_link()->settle)->cursor.frame;
	count = ack_tracker_account(the_link()->settle)->cursor.count;
	assert_true(count > frame);
	for (unsigned i = 0; i < 3; i++) { /* behind it, over it, beyond it */
		drop.group = (uint8_t)(i % 2);
		drop.stream = FCM_PMT;
		drop.first = frame - 2 * BLOCK + i * BLOCK;
		drop.next = drop.first + 2 * BLOCK;
		drop.frames = 2 * BLOCK;
		owner_keep_loss(B.page, &drop, &gave_way);
		cells.first = count - 1 + i;
		cells.next = cells.first + 1;
		owner_keep_loss(B.page, &cells, &gave_way);
	}
	kill_and_start();
	assert_int_equal(R->loss_count, 3);
	for (unsigned i = 0; i < 3; i++) {
		const struct ledger_loss *l = &R->losses[i].loss;

		if (l->kind == 0) {
			assert_int_equal(l->first, count - 1);
			assert_int_equal(l->next, count);
		} else {
			assert_true(l->first == frame - 2 * BLOCK || l->first == frame - BLOCK);
			assert_int_equal(l->next, frame);
			assert_int_equal(l->frames, frame - l->first);
		}
		assert_true(l->tai_ns != FCM_NO_TAI);
	}
	kill_and_start(); /* and what was left out is forgotten */
	assert_int_equal(R->loss_count, 3);
}

/* ------------------------------------------------------------------ reports */

static const struct capture_report *last_report(void)
{
	static struct capture_report last;
	const struct capture_report *r;

	outbox_flush(&R->c.outbox);
	memset(&last, 0, sizeof(last));
	while ((r = queue_peek(&R->reports))) {
		last = *r;
		queue_release(&R->reports);
	}
	return &last;
}

static void fill_the_queue(void)
{
	struct capture_report *place;

	while ((place = queue_reserve(&R->reports))) {
		memset(place, 0, sizeof(*place));
		queue_commit(&R->reports);
	}
}

/* What comes again anyway is lost when the queue is full; all else waits. */
static void of_a_full_queue_only_what_comes_again_is_lost(void **state)
{
	const struct run_change change = {.number = 1, .run = 7};
	const struct ledger_loss loss = {.open = 1, .code = TDM_LOSS_CRC};
	const uint8_t word[TDM_WORD_BYTES] = {1, 2, 3};
	const struct label label = rig_label(1);
	struct outbox *o = &R->c.outbox;
	struct link *l = the_link();
	struct ledger_sink sink = report_sink(l);
	struct tdm_verdict v = {.count = FIRST, .frame = B.cells[0]};
	static const uint8_t types[] = {CAPTURE_ALIGN,	     CAPTURE_IDENTITY,	CAPTURE_TAKEOVER,
					CAPTURE_RUN_CHANGED, CAPTURE_RUN_TIMED, CAPTURE_REPLY,
					CAPTURE_LOSS,	     CAPTURE_LINK_ROW,	CAPTURE_STREAM_ROW};
	const struct capture_report *r;

	take_reports();
	fill_the_queue();
	report_align(l, true, 17);
	report_identity(l, FIRST);
	report_takeover(l);
	report_run(l, &change);
	report_run_timed(l, FIRST, 7, &label);
	report_reply(l, word, FIRST);
	report_loss(l, &loss);
	sink.link(sink.context, &(struct ledger_link_row){.closed = 1});
	sink.stream(sink.context, &(struct ledger_stream_row){.closed = 1});
	assert_int_equal(o->count, sizeof(types));
	assert_int_equal(o->lost, 0);
	sink.link(sink.context, &(struct ledger_link_row){.closed = 0});
	sink.stream(sink.context, &(struct ledger_stream_row){.closed = 0});
	report_frame(l, &v);
	assert_int_equal(o->lost, 3);
	v.header.slot_valid = TDM_VALID_TELEMETRY;
	report_frame(l, &v);
	assert_int_equal(o->lost, 5);
	assert_int_equal(o->count, sizeof(types));
	while ((r = queue_peek(&R->reports))) {
		queue_release(&R->reports);
	}
	outbox_flush(o);
	for (unsigned i = 0; i < sizeof(types); i++) {
		r = queue_peek(&R->reports);
		assert_non_null(r);
		assert_int_equal(r->type, types[i]);
		assert_int_equal(r->link, 0);
		assert_int_equal(r->generation, 1);
		queue_release(&R->reports);
	}
	assert_null(queue_peek(&R->reports));
}

static void telemetry_is_reported_as_the_floor_sent_it(void **state)
{
	struct tdm_verdict v = {.count = FIRST, .frame = B.cells[0]};
	struct tdm_telemetry telemetry;
	const struct capture_report *r;

	v.header.slot_valid = TDM_VALID_TELEMETRY;
	for (unsigned i = 0; i < TDM_FRAME_BYTES; i++) {
		B.cells[0][i] = (uint8_t)(i * 7 + 1);
	}
	tdm_telemetry_get(B.cells[0], &telemetry);
	report_frame(the_link(), &v);
	r = last_report();
	assert_int_equal(r->type, CAPTURE_TELEMETRY);
	assert_int_equal(r->count, FIRST);
	assert_memory_equal(&r->telemetry, &telemetry, sizeof(telemetry));
}

/* A row has its label's time while its account goes on; an account that is over has no label. */
static void closed_rows_have_the_time_of_their_account(void **state)
{
	const struct label label = rig_label(1);

	data(1000, 0);
	assert_int_equal(row_of(6)->closed, 1);
	assert_int_equal(R->row_tai_ns[6], label_tai_ns(&label, 6 * 8000));
	R->c.label = label;
	R->c.label_known = true;
	R->holds = true; /* so the last second closes behind the beginning of the next account */
	data(20, 0);
	B.ring.start_count = B.count;
	B.count += 8000 * 20;
	data(20, 0);
	assert_int_equal(the_link()->generation, 2);
	assert_int_equal(ack_tracker_account(the_link()->settle)->labels, 1);
	assert_int_equal(row_of(7)->closed, 0);
	R->holds = false;
	data(1000, 0);
	assert_int_equal(row_of(7)->closed, 1);
	assert_int_equal(R->row_tai_ns[7], FCM_NO_TAI);
	assert_int_equal(row_of(28)->closed, 1);
	assert_int_equal(R->row_tai_ns[28], label_tai_ns(&label, 28 * 8000));
}

/* UTC of frame 8000 n is RIG_UTC_ZERO + n, but for the 150 ns that the anchor may be off. */
static void a_run_is_reported_with_the_slice_of_its_border(void **state)
{
	const uint64_t slice = (RIG_UTC_ZERO - 946684800) * 5 + 8 * 5 + 3;
	struct owner_account *a = ack_tracker_change(the_link()->settle);
	struct run_change change = {.run = 7, .ended = 6, .number = 3, .bordered = true};
	struct label label = rig_label(2);

	label.anchor_tai_ns -= 150;
	account_add_label(a, 8000, &label);
	change.frame = 8 * 8000 + 3 * 1600;
	change.planned = true;
	report_run(the_link(), &change);
	assert_int_equal(last_report()->type, CAPTURE_RUN_PLANNED);
	assert_int_equal(R->c.run_timed, 0);
	change.planned = false;
	change.bordered = false;
	report_run(the_link(), &change);
	assert_int_equal(last_report()->run.slice_id, 0);
	assert_int_equal(R->c.run_timed, 0);
	change.bordered = true;
	report_run(the_link(), &change);
	assert_int_equal(last_report()->run.slice_id, slice);
	assert_int_equal(R->c.run_timed, 7);
	report_run_timed(the_link(), change.frame + 1599, 8, &label);
	assert_int_equal(last_report()->run.slice_id, slice);
	assert_int_equal(R->c.run_timed, 8);
	label.anchor_tai_ns = FCM_NO_TAI;
	report_run_timed(the_link(), change.frame, 9, &label);
	assert_int_equal(last_report()->type, 0); /* none */
	account_add_label(a, 16000, &label);
	change.run = 9;
	report_run(the_link(), &change);
	assert_int_equal(last_report()->run.slice_id, 0);
	assert_int_equal(R->c.run_timed, 8);
}

/* ------------------------------------------------------------------ blocks */

static void blocks_say_what_is_special_about_them(void **state)
{
	struct label label = rig_label(2);
	uint64_t from;

	data(20, 0);
	R->holds = true;
	B.info.emulated = 1;
	from = assemble_frontier(the_link()->assembler);
	account_add_label(ack_tracker_change(the_link()->settle), from, &label);
	data(40, 0);
	assert_true(R->held_count > 18);
	for (unsigned i = 0; i < R->held_count; i++) {
		const struct fcm_block_header *h = &R->held[i]->header;

		if (h->first_frame >= from) {
			assert_int_equal(h->flags,
					 FCM_BLOCK_EMULATED |
						 (h->first_frame == from ? FCM_BLOCK_RELABEL : 0));
		}
	}
}

/* A successor flags what may have been sent, and nothing else. */
static void only_what_may_have_been_sent_is_flagged(void **state)
{
	uint64_t sent;
	unsigned flagged = 0;

	data(20, 0);
	R->holds = true;
	data(30, 0);
	sent = owner_sent(B.page);
	forget_daemon();
	new_daemon(true);
	data(30, 0);
	for (unsigned i = 0; i < R->held_count; i++) {
		const struct fcm_block_header *h = &R->held[i]->header;

		assert_int_equal((h->flags & FCM_BLOCK_RESENT) != 0, h->first_frame < sent);
		flagged += h->first_frame < sent;
	}
	assert_in_range(flagged, 15, R->held_count - 15);
	no_complaint();
}

/* A gap waits for its slice only as long as a quarter of the ring holds it: 400 of 2048 cells. */
static void gaps_fit_the_ring(void **state)
{
	unsigned gaps = 0;

	data(100, 0); /* to a slice's end, and some */
	R->holds = true;
	gap(1700, NANET3_GAP_LINK_DOWN);
	data(20, 0);
	for (unsigned i = 0; i < R->held_count; i++) {
		const struct fcm_block_header *h = &R->held[i]->header;

		if (h->flags & FCM_BLOCK_GAP) {
			assert_int_equal(h->frames, 400);
			assert_int_equal(h->first_frame % 400, 0);
			gaps++;
		}
	}
	assert_in_range(gaps, 3 * 3, 4 * 3);
}

/* A run that this daemon has not told the slice of: with its first block that has a time, once. */
static void a_run_is_told_the_time_of_once(void **state)
{
	struct label label = rig_label(2);

	data(50, 0);
	assert_int_equal(R->type_count[CAPTURE_RUN_TIMED], 0); /* no run */
	forget_daemon();
	R->run = 42;
	new_daemon(false);
	label.anchor_tai_ns = FCM_NO_TAI;
	account_add_label(ack_tracker_change(the_link()->settle), 0, &label);
	data(20, 0);
	assert_int_equal(R->type_count[CAPTURE_RUN_TIMED], 0); /* no time */
	label = rig_label(3);
	account_add_label(ack_tracker_change(the_link()->settle),
			  assemble_frontier(the_link()->assembler), &label);
	data(50, 0);
	assert_int_equal(R->type_count[CAPTURE_RUN_TIMED], 1);
}

/* A successor knows the floor's numbering before it has seen a good frame: behind the cursor all are lost. */
static void a_successor_places_lost_cells_as_its_predecessor_did(void **state)
{
	const struct rig_stream *pmt = &R->consumer->stream[0][FCM_PMT];
	uint64_t border, missing;

	data(110, 0); /* 10 buffers into a slice, to a block's end but for the delay */
	border = B.count + RIG_DELAY;
	missing = pmt->frames_missing;
	data(1, 0xffffu << RIG_DELAY);
	gap(BLOCK / 2, NANET3_GAP_BOARD_FIFO);
	tick();
	assert_int_equal(ack_tracker_account(the_link()->settle)->cursor.count, border);
	forget_daemon();
	new_daemon(true);
	gap((uint32_t)(border + 7 * BLOCK - B.count), NANET3_GAP_BOARD_FIFO);
	data(100, 0);
	assert_int_equal(pmt->holes + pmt->gaps, 0);
	assert_int_equal(pmt->frames_missing - missing, 7 * BLOCK);
	finish();
	no_complaint();
	assert_int_equal(cells_lost_as(TDM_LOSS_BOARD_FIFO), 7 * BLOCK - (PER - RIG_DELAY));
	assert_int_equal(cells_lost_as(TDM_LOSS_CRC), PER - RIG_DELAY);
	assert_int_equal(cells_lost_as(TDM_LOSS_TIME), 0);
}

/* A delay is that of the cable to a floor, whichever link it hangs on; of an unknown floor the link's. */
static void a_delay_is_that_of_the_floor(void **state)
{
	static const uint8_t floors[] = {1, 3, 9};
	static const uint32_t delay_ns[] = {100, 300, 100};

	for (unsigned i = 0; i < 4; i++) {
		R->c.config.expected[i].tower = 1;
		R->c.config.expected[i].floor = (uint8_t)(i + 1);
		R->c.config.cable_delay_ns[i] = 100 * (i + 1);
	}
	for (unsigned i = 0; i < 3; i++) {
		B.floor.floor = floors[i];
		data(20, 0);
		assert_int_equal(R->consumer->stream[0][FCM_PMT].floor, floors[i]);
		assert_int_equal(R->consumer->stream[0][FCM_PMT].cable_delay_ns, delay_ns[i]);
	}
}

static void what_is_handed_over_is_counted(void **state)
{
	const struct capture_link_status *s = &the_link()->status;
	uint64_t blocks = 0, items;

	data(100, 0);
	data(1, 0xff);
	data(100, 0);
	publish();
	for (unsigned st = 0; st < FCM_STREAMS; st++) {
		items = R->consumer->stream[0][st].items;
		blocks += R->consumer->stream[0][st].blocks;
		assert_true(items > 0);
		assert_int_equal(s->items[st], items);
	}
	assert_int_equal(s->blocks, blocks);
	assert_int_equal(s->bytes, R->consumer->bytes[0]);
	assert_int_equal(s->item_faults, R->consumer->stream[0][FCM_PMT].faults);
	assert_true(s->item_faults > 0);
	assert_int_equal(s->resent, 0);
}

/* Blocks of five accounts are out at a time: each is charged to its own. There is no place for a sixth: its data
 * wait in the ring until one is settled. */
static void blocks_of_many_accounts_find_theirs(void **state)
{
	uint64_t offered = 0, acked = 0;

	R->holds = true;
	for (unsigned i = 0; i < 6; i++) {
		data(10, 0);
		B.count += 8000 * 20;
	}
	assert_int_equal(the_link()->generation, CAPTURE_RETIRED + 1);
	assert_true(the_link()->blocked);
	assert_true(out_waiting(the_link()) >= 5 * 2);
	R->holds = false;
	data(20, 0);
	assert_int_equal(the_link()->generation, 7);
	finish();
	assert_int_equal(cells_counted(), 80 * PER);
	for (unsigned i = 0; i < RIG_ROWS; i++) {
		const struct ledger_stream_row *row = &R->rows.stream[0][FCM_PMT][0][i];

		assert_int_equal(row->in_flight, 0);
		offered += row->offered;
		acked += row->outcome[OUTCOME_ACKED];
	}
	assert_true(offered >= 80 * PER - 12 * BLOCK);
	assert_int_equal(acked, offered);
}

/* The publisher's word is not to be trusted with the account: an unknown outcome is nobody's. */
static void an_unknown_outcome_is_a_drop(void **state)
{
	uint64_t frames = 0;
	struct block *b;

	data(20, 0);
	R->holds = true;
	data(20, 0);
	publish();
	while (R->held[0]->header.stream != FCM_PMT) {
		data(1, 0);
		memmove(R->held, R->held + 1, --R->held_count * sizeof(R->held[0]));
	}
	b = R->held[0];
	memset(b->outcome, OUTCOMES, sizeof(b->outcome));
	out_settled(the_link(), b);
	block_put(b);
	memmove(R->held, R->held + 1, --R->held_count * sizeof(R->held[0]));
	R->holds = false;
	data(20, 0);
	finish();
	for (unsigned i = 0; i < RIG_ROWS; i++) {
		frames += R->rows.stream[0][FCM_PMT][0][i].outcome[OUTCOME_DROP_NO_MEMBER];
	}
	assert_int_equal(frames, BLOCK);
}

/* A run of drops that an account ends in is over with it. */
static void drops_at_the_end_of_an_account_are_told(void **state)
{
	uint64_t frames = 0, held = 0;

	data(20, 0);
	R->holds = true;
	data(20, 0);
	link_end(the_link());
	publish();
	for (unsigned i = 0; i < R->held_count; i++) {
		struct block *b = R->held[i];

		held += b->header.stream == FCM_PMT ? b->header.frames : 0;
		memset(b->outcome, OUTCOME_DROP_SLOW, sizeof(b->outcome));
		out_settled(the_link(), b);
		block_put(b);
	}
	R->held_count = 0;
	R->loss_count = 0;
	assert_true(out_retired(the_link()));
	take_reports();
	for (unsigned i = 0; i < R->loss_count; i++) {
		const struct ledger_loss *l = &R->losses[i].loss;

		if (l->kind == 1 && l->stream == FCM_PMT && l->group == 0) {
			assert_int_equal(l->open, 0);
			assert_int_equal(l->code, OUTCOME_DROP_SLOW);
			frames += l->frames;
		}
	}
	assert_true(held > 0);
	assert_int_equal(frames, held);
}

/* ------------------------------------------------------------------ completions */

/* Data for some of its cells: the others are a gap, by the reason of the board. */
static void a_completion_has_data_for_as_many_cells_as_it_says(void **state)
{
	data(20, 0);
	complete(PER, 5 * TDM_FRAME_BYTES)->reason = NANET3_GAP_BOARD_FIFO;
	for (unsigned i = 0; i < 5; i++) {
		floor_rig_frame(&B.floor, B.count - PER + i - RIG_DELAY,
				B.cells[20] + (size_t)i * TDM_FRAME_BYTES);
	}
	tick();
	complete(3, 5 * TDM_FRAME_BYTES); /* more bytes than cells */
	for (unsigned i = 0; i < 3; i++) {
		floor_rig_frame(&B.floor, B.count - 3 + i - RIG_DELAY,
				B.cells[21] + (size_t)i * TDM_FRAME_BYTES);
	}
	tick();
	for (unsigned i = 0; i < PER; i++) {
		floor_rig_frame(&B.floor, B.count + i - RIG_DELAY,
				B.cells[22] + (size_t)i * TDM_FRAME_BYTES);
	}
	complete(PER + 4, (PER + 4) * TDM_FRAME_BYTES)->reason = NANET3_GAP_RING_FULL;
	tick(); /* more cells than a buffer has */
	data(20, 0);
	finish();
	no_complaint();
	assert_int_equal(cells_lost_as(TDM_LOSS_BOARD_FIFO), 11);
	assert_int_equal(cells_lost_as(TDM_LOSS_RING_FULL), 4);
	assert_int_equal(cells_counted(), 40 * PER + PER + 3 + PER + 4);
}

/* The ledger has room for 16 open seconds: the rest of a long gap waits until some are settled. */
static void a_long_gap_waits_for_its_seconds_to_be_settled(void **state)
{
	data(20, 0);
	R->holds = true;
	gap(20 * 8000, NANET3_GAP_LINK_DOWN);
	tick();
	assert_true(the_link()->blocked);
	assert_in_range(the_link()->head / 8000, 5 + LEDGER_SECONDS - 2, 5 + LEDGER_SECONDS);
	R->holds = false;
	for (unsigned i = 0; i < 10; i++) {
		tick();
	}
	assert_int_equal(the_link()->head, B.count);
	data(20, 0);
	finish();
	no_complaint();
	assert_int_equal(cells_counted(), B.count - FIRST);
	assert_int_equal(cells_lost_as(TDM_LOSS_LINK_DOWN), 20 * 8000);
}

/* A PPS moves the count by less than a second; two and more are another count altogether. */
static void a_count_that_jumps_far_begins_another_account(void **state)
{
	data(50, 0);
	B.count += 16000;
	data(10, 0);
	assert_int_equal(the_link()->generation, 1);
	B.count += 16001;
	data(10, 0);
	assert_int_equal(the_link()->generation, 2);
}

static void counts_that_no_board_reaches_are_stale(void **state)
{
	data(50, 0);
	complete(PER, PER * TDM_FRAME_BYTES)->frame_count = 1ull << 50;
	B.count -= PER;
	data(10, 0);
	assert_int_equal(the_link()->status.stale_completions, 1);
	assert_int_equal(the_link()->generation, 1);
	finish();
	assert_int_equal(cells_counted(), 60 * PER);
}

/* A jump from one second's border to another's cuts none. */
static void a_jump_between_borders_leaves_whole_seconds(void **state)
{
	data(250 + 500, 0);
	assert_int_equal(B.count % 8000, 0);
	B.count += 8000;
	data(500 + 10, 0);
	assert_int_equal(the_link()->live.links[6].partial, 0);
	finish();
	assert_int_equal(row_of(6)->partial, 0);
	assert_int_equal(row_of(8)->partial, 0);
	assert_int_equal(row_of(8)->cells, 8000);
}

/* ------------------------------------------------------------------ a label over another beginning */

/* The label of before is kept when the count has gone on as time has, to less than a second. */
static void a_label_holds_while_the_count_keeps_pace_with_time(void **state)
{
	static const struct {
		int64_t off;
		unsigned labels;
	} table[] = {{0, 1}, {7999, 1}, {-7999, 1}, {8000, 0}, {-8000, 0}, {160000, 0}};

	for (unsigned i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		data(20, 0);
		finish();
		R->c.label = rig_label(1);
		R->c.label_known = true;
		R->c.now_ns += 8000 * TDM_FRAME_NS;
		B.ring.start_count = (uint64_t)((int64_t)B.count + 8000 + table[i].off);
		B.ring.release_position = B.ring.write_position;
		B.count = B.ring.start_count;
		assert_int_equal(link_begin(the_link(), false), 0);
		assert_int_equal(ack_tracker_account(the_link()->settle)->labels, table[i].labels);
	}
	finish();
	R->c.label_known = false;
	B.ring.start_count = B.count;
	assert_int_equal(link_begin(the_link(), false), 0);
	assert_int_equal(ack_tracker_account(the_link()->settle)->labels, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON_LINK(a_loss_is_told_to_every_successor_until_it_is_saved),
		ON_LINK(an_open_loss_has_no_number),
		ON_LINK(saving_is_urgent_when_half_the_places_are_taken),
		ON_LINK(everything_may_be_saved_at_once),
		ON_LINK(of_kept_losses_what_lies_beyond_the_cursor_is_left_out),
		ON_LINK(of_a_full_queue_only_what_comes_again_is_lost),
		ON_LINK(telemetry_is_reported_as_the_floor_sent_it),
		ON_LINK(closed_rows_have_the_time_of_their_account),
		ON_LINK(a_run_is_reported_with_the_slice_of_its_border),
		ON_LINK(blocks_say_what_is_special_about_them),
		ON_LINK(only_what_may_have_been_sent_is_flagged),
		ON_LINK(gaps_fit_the_ring),
		ON_LINK(a_run_is_told_the_time_of_once),
		ON_LINK(a_successor_places_lost_cells_as_its_predecessor_did),
		ON_LINK(a_delay_is_that_of_the_floor),
		ON_LINK(what_is_handed_over_is_counted),
		ON_LINK(blocks_of_many_accounts_find_theirs),
		ON_LINK(an_unknown_outcome_is_a_drop),
		ON_LINK(drops_at_the_end_of_an_account_are_told),
		ON_LINK(a_completion_has_data_for_as_many_cells_as_it_says),
		ON_LINK(a_long_gap_waits_for_its_seconds_to_be_settled),
		ON_LINK(a_count_that_jumps_far_begins_another_account),
		ON_LINK(counts_that_no_board_reaches_are_stale),
		ON_LINK(a_jump_between_borders_leaves_whole_seconds),
		ON_LINK(a_label_holds_while_the_count_keeps_pace_with_time),
	};

	return cmocka_run_group_tests_name("capture limits", tests, NULL, NULL);
}
