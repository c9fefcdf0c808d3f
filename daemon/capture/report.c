/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Capture's reports to the main thread. See private.h.
 *
 * Closed rows, losses, replies, runs, takeovers, identity and alignment must arrive: they wait here
 * while the queue is full. Open rows, telemetry and time words come again anyway: then they are lost
 * and counted.
 */
#include <string.h>

#include "daemon/capture/private.h"

static bool put(struct outbox *o, const struct capture_report *report)
{
	if (!queue_put(o->queue, report)) {
		return false;
	}
	o->rang = true;
	return true;
}

void outbox_send(struct outbox *o, const struct capture_report *report, bool must)
{
	if (o->count == 0 && put(o, report)) {
		return;
	}
	if (!must || o->count == OUTBOX_REPORTS) {
		o->lost++;
		return;
	}
	o->waiting[(o->first + o->count++) % OUTBOX_REPORTS] = *report;
}

void outbox_flush(struct outbox *o)
{
	while (o->count > 0 && put(o, &o->waiting[o->first])) {
		o->first = (o->first + 1) % OUTBOX_REPORTS;
		o->count--;
	}
	if (o->rang) {
		o->rang = false;
		queue_wake(o->queue);
	}
}

static struct capture_report report_of(const struct link *l, enum capture_report_type type,
				       uint64_t count)
{
	struct capture_report r;

	memset(&r, 0, sizeof(r));
	r.type = (uint8_t)type;
	r.link = l->number;
	r.tower = l->tower;
	r.floor = l->floor;
	r.dma_epoch = l->dma_epoch;
	r.generation = l->reporting;
	r.count = count;
	return r;
}

/* Rows of an ended DMA epoch had their label while they were open. */
static int64_t tai_of_second(const struct link *l, uint64_t second)
{
	uint64_t frame = second * TDM_FRAMES_PER_SECOND;
	bool goes_on = l->settle && l->reporting == l->generation;
	const struct label *label = goes_on ? ack_tracker_label(l->settle, frame) : NULL;

	return label && label->anchor_tai_ns != FCM_NO_TAI ? label_tai_ns(label, frame)
							   : FCM_NO_TAI;
}

static void send_link_row(void *context, const struct ledger_link_row *row)
{
	struct link *l = context;
	struct capture_report r = report_of(l, CAPTURE_LINK_ROW, l->head);

	r.dma_epoch = row->dma_epoch;
	r.tower = row->tower;
	r.floor = row->floor;
	r.tai_ns = tai_of_second(l, row->second);
	r.link_row = *row;
	outbox_send(&l->capture->outbox, &r, row->closed);
}

static void send_stream_row(void *context, const struct ledger_stream_row *row)
{
	struct link *l = context;
	struct capture_report r = report_of(l, CAPTURE_STREAM_ROW, l->head);

	r.dma_epoch = row->dma_epoch;
	r.stream_row = *row;
	outbox_send(&l->capture->outbox, &r, row->closed);
}

struct ledger_sink report_sink(struct link *l)
{
	return (struct ledger_sink){send_stream_row, send_link_row, l};
}

unsigned report_keep_loss(struct link *l, const struct ledger_loss *loss)
{
	bool gave_way;
	unsigned place = owner_keep_loss(l->page, loss, &gave_way);

	l->status.rows_forgotten += gave_way;
	l->loss_of_place[place] = UINT64_MAX;
	return place;
}

void report_losses_saved(struct link *l, uint64_t number)
{
	for (unsigned i = 0; l->claimed && i < OWNER_LOSSES; i++) {
		if (l->loss_of_place[i] > 0 && l->loss_of_place[i] <= number) {
			owner_loss_saved(l->page, i);
			l->loss_of_place[i] = 0;
		}
	}
}

static unsigned losses_kept(const struct link *l)
{
	unsigned n = 0;

	for (unsigned i = 0; i < OWNER_LOSSES; i++) {
		n += l->loss_of_place[i] > 0;
	}
	return n;
}

void report_loss(void *link, const struct ledger_loss *loss)
{
	struct link *l = link;
	struct capture_report r = report_of(l, CAPTURE_LOSS, loss->first);

	/* Into the link's page, which is of one DMA epoch. An open run of cells is in the account. */
	if (l->claimed && l->reporting == l->generation && (loss->kind == 1 || !loss->open)) {
		r.number = ++l->loss_number;
		l->loss_of_place[report_keep_loss(l, loss)] = r.number;
		r.urgent = losses_kept(l) > OWNER_LOSSES / 2;
	}
	r.dma_epoch = loss->dma_epoch;
	r.tower = loss->tower;
	r.floor = loss->floor;
	r.loss = *loss;
	outbox_send(&l->capture->outbox, &r, true);
}

void report_align(struct link *l, bool aligned, uint32_t offset)
{
	struct capture_report r = report_of(l, CAPTURE_ALIGN, l->head);

	r.align.aligned = aligned;
	r.align.offset = offset;
	outbox_send(&l->capture->outbox, &r, true);
}

void report_identity(struct link *l, uint64_t count)
{
	struct capture_report r = report_of(l, CAPTURE_IDENTITY, count);

	outbox_send(&l->capture->outbox, &r, true);
}

void report_takeover(struct link *l)
{
	const struct owner_account *a = ack_tracker_account(l->settle);
	struct capture_report r = report_of(l, CAPTURE_TAKEOVER, l->head);

	r.takeover.taken_over = l->kept ? 1 : l->status.taken_over ? 2 : 0;
	r.takeover.run = account_run(a, UINT64_MAX);
	r.takeover.label = *account_label(a, UINT64_MAX);
	r.takeover.release_position = l->release_position;
	r.takeover.write_position = nanet3_write_position(l->capture->board, l->number);
	r.takeover.depth = l->depth;
	outbox_send(&l->capture->outbox, &r, true);
}

void report_run(void *link, const struct run_change *change)
{
	struct link *l = link;
	struct capture_report r = report_of(
		l, change->planned ? CAPTURE_RUN_PLANNED : CAPTURE_RUN_CHANGED, change->frame);

	r.run.run = change->run;
	r.run.ended = change->ended;
	r.run.change = change->number;
	r.run.bordered = change->bordered;
	r.run.resumed = change->resumed;
	if (change->bordered) {
		r.run.slice_id =
			slice_of_frame(ack_tracker_label(l->settle, change->frame), change->frame);
	}
	if (r.run.slice_id && !change->planned) {
		l->capture->run_timed = r.run.run;
	}
	outbox_send(&l->capture->outbox, &r, true);
}

void report_run_timed(struct link *l, uint64_t frame, uint32_t run, const struct label *label)
{
	uint64_t slice_id = slice_of_frame(label, frame);

	if (slice_id) {
		struct capture_report r = report_of(l, CAPTURE_RUN_TIMED, frame);

		r.run.run = run;
		r.run.slice_id = slice_id;
		l->capture->run_timed = run;
		outbox_send(&l->capture->outbox, &r, true);
	}
}

void report_frame(struct link *l, const struct tdm_verdict *v)
{
	struct capture_report r = report_of(l, CAPTURE_TIME_WORD, v->count);

	r.time_word.time = v->header.time;
	r.time_word.floor_frame = v->floor_frame;
	outbox_send(&l->capture->outbox, &r, false);
	if (v->header.slot_valid & TDM_VALID_TELEMETRY) {
		r = report_of(l, CAPTURE_TELEMETRY, v->count);
		tdm_telemetry_get(v->frame, &r.telemetry);
		outbox_send(&l->capture->outbox, &r, false);
	}
}

void report_reply(struct link *l, const uint8_t *word, uint64_t count)
{
	struct capture_report r = report_of(l, CAPTURE_REPLY, count);

	memcpy(r.word, word, sizeof(r.word));
	outbox_send(&l->capture->outbox, &r, true);
}
