/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs of losses. See losses.h. A run of cells that ends inside a tick is told once, closed; one that
 * lives longer is told open first.
 */
#include "daemon/data/losses.h"

#include <string.h>

void losses_init(struct losses *l, uint8_t link, uint32_t dma_epoch)
{
	memset(l, 0, sizeof(*l));
	l->link = link;
	l->dma_epoch = dma_epoch;
	l->tower = 0xff;
	l->floor = 0xff;
}

void losses_identity(struct losses *l, uint8_t tower, uint8_t floor)
{
	l->tower = tower;
	l->floor = floor;
}

static struct ledger_loss loss_of(const struct losses *l, const struct losses_run *r, unsigned kind,
				  unsigned stream, unsigned group)
{
	return (struct ledger_loss){
		.kind = (uint8_t)kind,
		.code = r->code,
		.link = l->link,
		.tower = r->tower,
		.floor = r->floor,
		.stream = (uint8_t)stream,
		.group = (uint8_t)group,
		.open = r->open,
		.dma_epoch = l->dma_epoch,
		.first = r->first,
		.next = r->next,
		.frames = r->frames,
		.tai_ns = r->tai_ns,
	};
}

static void tell_run(const struct losses *l, const struct losses_run *r, unsigned kind,
		     unsigned stream, unsigned group, losses_tell_fn tell, void *context)
{
	struct ledger_loss loss = loss_of(l, r, kind, stream, group);

	tell(context, &loss);
}

static void begin(const struct losses *l, struct losses_run *r, uint8_t code, uint64_t first,
		  const struct label *label)
{
	*r = (struct losses_run){
		.open = true,
		.code = code,
		.tower = l->tower,
		.floor = l->floor,
		.first = first,
		.next = first,
		.tai_ns = label && label->anchor_tai_ns != FCM_NO_TAI ? label_tai_ns(label, first)
								      : FCM_NO_TAI,
	};
}

static void end_cells(struct losses *l, struct losses_run *r, losses_tell_fn tell, void *context)
{
	r->open = false;
	tell_run(l, r, 0, 0, 0, tell, context);
}

void losses_restore(struct losses *l, enum tdm_loss loss, uint64_t first, uint64_t next,
		    uint64_t frames)
{
	struct losses_run *r = &l->cells[loss];

	begin(l, r, (uint8_t)loss, first, NULL);
	r->next = next;
	r->frames = frames;
	r->told = true;
}

/* Whether runs begin so fast that they are joined now. */
static bool crowded(const struct losses *l, uint64_t count)
{
	return l->second == count / TDM_FRAMES_PER_SECOND && l->begun >= LOSSES_PER_SECOND;
}

void losses_cell(struct losses *l, uint64_t count, enum tdm_loss loss, const struct label *label,
		 losses_tell_fn tell, void *context)
{
	struct losses_run *r = &l->cells[loss];

	if (r->open && r->next != count && !crowded(l, count)) {
		end_cells(l, r, tell, context);
	}
	if (!r->open) {
		begin(l, r, (uint8_t)loss, count, label);
		if (l->second != count / TDM_FRAMES_PER_SECOND) {
			l->second = count / TDM_FRAMES_PER_SECOND;
			l->begun = 0;
		}
		l->begun++;
	}
	r->next = count + 1;
	r->frames++;
}

void losses_block(struct losses *l, unsigned stream, unsigned group, uint64_t first_frame,
		  uint32_t frames, enum outcome outcome, const struct label *label,
		  losses_tell_fn tell, void *context)
{
	struct losses_run *r = &l->drops[stream][group];

	if (r->open && (r->code != outcome || r->next != first_frame)) {
		r->open = false;
		tell_run(l, r, 1, stream, group, tell, context);
	}
	if (outcome <= OUTCOME_ACKED) {
		return;
	}
	if (!r->open) {
		begin(l, r, (uint8_t)outcome, first_frame, label);
	}
	r->next = first_frame + frames;
	r->frames += frames;
}

bool losses_drop(const struct losses *l, unsigned stream, unsigned group,
		 struct ledger_loss *ret_loss)
{
	const struct losses_run *r = &l->drops[stream][group];

	if (r->open) {
		*ret_loss = loss_of(l, r, 1, stream, group);
	}
	return r->open;
}

static void tick_run(const struct losses *l, struct losses_run *r, bool all, unsigned kind,
		     unsigned stream, unsigned group, losses_tell_fn tell, void *context)
{
	if (r->open && (all || !r->told)) {
		r->told = true;
		tell_run(l, r, kind, stream, group, tell, context);
	}
}

void losses_tick(struct losses *l, uint64_t head, bool all, losses_tell_fn tell, void *context)
{
	for (unsigned i = 1; i < TDM_LOSSES; i++) {
		struct losses_run *r = &l->cells[i];

		if (r->open && r->next < head && !crowded(l, head)) {
			end_cells(l, r, tell, context);
		}
		tick_run(l, r, all, 0, 0, 0, tell, context);
	}
	for (unsigned s = 0; s < FCM_STREAMS; s++) {
		for (unsigned g = 0; g < GROUPS_MAX; g++) {
			tick_run(l, &l->drops[s][g], all, 1, s, g, tell, context);
		}
	}
}

void losses_end(struct losses *l, losses_tell_fn tell, void *context)
{
	for (unsigned i = 1; i < TDM_LOSSES; i++) {
		if (l->cells[i].open) {
			end_cells(l, &l->cells[i], tell, context);
		}
	}
	for (unsigned s = 0; s < FCM_STREAMS; s++) {
		for (unsigned g = 0; g < GROUPS_MAX; g++) {
			struct losses_run *r = &l->drops[s][g];

			if (r->open) {
				r->open = false;
				tell_run(l, r, 1, s, g, tell, context);
			}
		}
	}
}
