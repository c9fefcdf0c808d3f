/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs of losses, see losses.h. */
#include "daemon/data/losses.h"

void losses_init(struct losses *l, uint8_t link, uint32_t dma_epoch, losses_report_fn report,
		 void *context)
{
	*l = (struct losses){
		.link = link,
		.tower = 0xff,
		.floor = 0xff,
		.dma_epoch = dma_epoch,
		.report = report,
		.context = context,
	};
	for (unsigned s = 0; s < FCM_STREAMS; s++) {
		for (unsigned g = 0; g < GROUPS_MAX; g++) {
			l->drops[s][g].loss = (struct ledger_loss){
				.kind = 1, .stream = (uint8_t)s, .group = (uint8_t)g};
		}
	}
}

void losses_identity(struct losses *l, uint8_t tower, uint8_t floor)
{
	l->tower = tower;
	l->floor = floor;
}

static void begin(const struct losses *l, struct losses_run *r, unsigned code, uint64_t first,
		  const struct label *label)
{
	r->reported = false;
	r->loss = (struct ledger_loss){
		.kind = r->loss.kind,
		.code = (uint8_t)code,
		.link = l->link,
		.tower = l->tower,
		.floor = l->floor,
		.stream = r->loss.stream,
		.group = r->loss.group,
		.open = true,
		.dma_epoch = l->dma_epoch,
		.first = first,
		.next = first,
		.tai_ns = label && label->anchor_tai_ns != FCM_NO_TAI ? label_tai_ns(label, first)
								      : FCM_NO_TAI,
	};
}

static void extend(struct losses_run *r, uint64_t first, uint64_t frames)
{
	r->loss.next = first + frames;
	r->loss.frames += frames;
}

static void end(const struct losses *l, struct losses_run *r)
{
	if (r->loss.open) {
		r->loss.open = false;
		l->report(l->context, &r->loss);
	}
}

void losses_restore(struct losses *l, enum tdm_loss loss, uint64_t first, uint64_t next,
		    uint64_t frames)
{
	struct losses_run *r = &l->cells[loss];

	begin(l, r, loss, first, NULL);
	r->loss.next = next;
	r->loss.frames = frames;
	r->reported = true;
}

/* Whether runs begin so fast that they are joined now. */
static bool crowded(const struct losses *l, uint64_t count)
{
	return l->second == count / TDM_FRAMES_PER_SECOND && l->runs >= LOSSES_PER_SECOND;
}

void losses_cell(struct losses *l, uint64_t count, enum tdm_loss loss, const struct label *label)
{
	struct losses_run *r = &l->cells[loss];

	if (r->loss.next != count && !crowded(l, count)) {
		end(l, r);
	}
	if (!r->loss.open) {
		begin(l, r, loss, count, label);
		if (l->second != count / TDM_FRAMES_PER_SECOND) {
			l->second = count / TDM_FRAMES_PER_SECOND;
			l->runs = 0;
		}
		l->runs++;
	}
	extend(r, count, 1);
}

void losses_block(struct losses *l, unsigned stream, unsigned group, uint64_t first_frame,
		  uint32_t frames, enum outcome outcome, const struct label *label)
{
	struct losses_run *r = &l->drops[stream][group];

	if (r->loss.code != outcome || r->loss.next != first_frame) {
		end(l, r);
	}
	if (outcome <= OUTCOME_ACKED) {
		return;
	}
	if (!r->loss.open) {
		begin(l, r, outcome, first_frame, label);
	}
	extend(r, first_frame, frames);
}

const struct ledger_loss *losses_drop(const struct losses *l, unsigned stream, unsigned group)
{
	const struct losses_run *r = &l->drops[stream][group];

	return r->loss.open ? &r->loss : NULL;
}

static void tick_run(const struct losses *l, struct losses_run *r, bool all)
{
	if (r->loss.open && (all || !r->reported)) {
		r->reported = true;
		l->report(l->context, &r->loss);
	}
}

void losses_tick(struct losses *l, uint64_t head, bool all)
{
	for (unsigned i = 1; i < TDM_LOSSES; i++) {
		struct losses_run *r = &l->cells[i];

		if (r->loss.next < head && !crowded(l, head)) {
			end(l, r);
		}
		tick_run(l, r, all);
	}
	for (unsigned i = 0; i < FCM_STREAMS * GROUPS_MAX; i++) {
		tick_run(l, &l->drops[i / GROUPS_MAX][i % GROUPS_MAX], all);
	}
}

void losses_end(struct losses *l)
{
	for (unsigned i = 1; i < TDM_LOSSES; i++) {
		end(l, &l->cells[i]);
	}
	for (unsigned i = 0; i < FCM_STREAMS * GROUPS_MAX; i++) {
		end(l, &l->drops[i / GROUPS_MAX][i % GROUPS_MAX]);
	}
}
