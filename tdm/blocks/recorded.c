/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Blocks of a recording, out of the spans of its lanes: see recorded.h. */
#include "tdm/blocks/recorded.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "tdm/blocks/block.h"
#include "tdm/blocks/lane.h"

#define PAYLOAD_ALIGN 64u

struct recorded {
	struct lane_source source;
	struct lane lanes[RECORDING_LINKS];
	struct block_frame edge[FCM_SLICE_FRAMES];
	uint32_t edge_begin, edge_end; /* of the last block */
	struct fcm_block_header header;
	uint8_t *payload;
	size_t capacity;
};

/* ------------------------------------------------------------------------------------- blocks out */

/* Frames of cells that the recording does not have: it begins or ends in this block. */
static const struct block_frame *frames_of(const struct lane *l, const struct assembled *span,
					   struct block_frame *edge)
{
	uint64_t first = span->first_frame + span->behind.delay;

	if (first >= l->begin && first + span->frames <= l->next) {
		return span->in;
	}
	for (uint32_t f = 0; f < span->frames; f++) {
		edge[f] = span->in[f];
		if (!edge[f].frame && (first + f < l->begin || first + f >= l->next)) {
			edge[f].loss = TDM_LOSS_BOARD_FIFO;
		}
	}
	return edge;
}

static uint32_t flags_of(const struct lane *l, const struct assembled *span)
{
	const struct label *label = lane_label(l, span->first_frame);
	uint32_t flags = l->segment.emulated ? FCM_BLOCK_EMULATED : 0;

	flags |= span->gap ? FCM_BLOCK_GAP : 0;
	flags |= span->step ? FCM_BLOCK_STEP : 0;
	flags |= span->tower != l->segment.tower || span->floor != l->segment.floor
			 ? FCM_BLOCK_IDENTITY
			 : 0;
	if (span->first_frame > 0 &&
	    lane_label(l, span->first_frame - 1)->time_epoch != label->time_epoch) {
		flags |= FCM_BLOCK_RELABEL;
	}
	return flags;
}

/* The delay belongs to the cable to a floor, whichever link the floor is on now. */
static uint32_t cable_delay_ns(const struct lane *l, const struct assembled *span)
{
	const struct fcm_segment_floor *floors = l->segment.floors;

	for (unsigned i = 0; i < RECORDING_LINKS; i++) {
		if (floors[i].tower == span->tower && floors[i].floor == span->floor) {
			return floors[i].cable_delay_ns;
		}
	}
	return floors[l->link].cable_delay_ns;
}

static struct block_plan plan_of(const struct lane *l, const struct assembled *span,
				 struct block_frame *edge)
{
	return (struct block_plan){
		.stream = (enum fcm_stream)l->stream,
		.board = l->segment.board,
		.link = (uint8_t)l->link,
		.tower = span->tower,
		.floor = span->floor,
		.run = lane_run(l, span->first_frame),
		.dma_epoch = l->segment.dma_epoch,
		.flags = flags_of(l, span),
		.first_frame = span->first_frame,
		.frames = span->frames,
		.block_frames = lane_block_frames(l),
		.in = frames_of(l, span, edge),
		.after = span->after,
		.label = *lane_label(l, span->first_frame),
		.day_origin = l->segment.day_origin ? HIT_DAY_FROM_1 : HIT_DAY_FROM_0,
		.cable_delay_ns = cable_delay_ns(l, span),
	};
}

static int make_room(struct recorded *r, size_t bytes)
{
	size_t capacity = MAX(r->capacity, (size_t)1 << 20);
	uint8_t *fresh;

	if (bytes <= r->capacity) {
		return 0;
	}
	while (capacity < bytes) {
		capacity *= 2;
	}
	fresh = aligned_alloc(PAYLOAD_ALIGN, capacity);
	if (!fresh) {
		return -ENOMEM;
	}
	free(r->payload);
	r->payload = fresh;
	r->capacity = capacity;
	return 0;
}

/* Whether blocks of the span are asked for; behind the last of them the lane is done. */
static bool wanted(struct lane *l, const struct assembled *span)
{
	const struct recorded_config *c = &l->source->config;
	const struct label *label = lane_label(l, span->first_frame);
	bool limited = c->from_tai_ns != INT64_MIN || c->until_tai_ns != INT64_MAX;
	int64_t from_ns, end_ns;

	if (span->frames == 0 || (c->run && lane_run(l, span->first_frame) != c->run)) {
		return false;
	}
	if (!limited) {
		return true;
	}
	if (label->anchor_tai_ns == FCM_NO_TAI) {
		return false;
	}
	from_ns = label_tai_ns(label, span->first_frame) + cable_delay_ns(l, span);
	end_ns = from_ns + (int64_t)span->frames * TDM_FRAME_NS;
	l->done = from_ns >= c->until_tai_ns;
	return !l->done && end_ns > c->from_tai_ns;
}

/* Boots, epochs of a boot, and counts of an epoch follow each other. */
static bool before(const struct lane *a, const struct assembled *x, const struct lane *b,
		   const struct assembled *y)
{
	if (a->segment.boot_count != b->segment.boot_count) {
		return a->segment.boot_count < b->segment.boot_count;
	}
	if (a->segment.dma_epoch != b->segment.dma_epoch) {
		return a->segment.dma_epoch < b->segment.dma_epoch;
	}
	return x->first_count < y->first_count;
}

/* The lane whose span is the next one: 1; 0: none has one. */
static int choose(struct recorded *r, struct lane **ret_lane, const struct assembled **ret_span)
{
	const struct assembled *span = NULL, *best = NULL;
	struct lane *lane = NULL;

	for (unsigned i = 0; i < RECORDING_LINKS; i++) {
		struct lane *l = &r->lanes[i];
		int n = l->done ? 0 : lane_span(l, &span);

		if (n < 0) {
			return n;
		}
		if (n > 0 && (!best || before(l, span, lane, best))) {
			best = span;
			lane = l;
		}
	}
	*ret_lane = lane;
	*ret_span = best;
	return best != NULL;
}

static bool takes(const struct recorded *r, unsigned stream)
{
	return r->source.config.streams == 0 || r->source.config.streams & 1u << stream;
}

int recorded_next(struct recorded *r, const struct fcm_block_header **ret_header,
		  const uint8_t **ret_payload)
{
	const struct assembled *span = NULL;
	struct block_plan plan;
	struct lane *l = NULL;
	int n;

	while ((n = choose(r, &l, &span)) > 0) {
		while (l->stream < FCM_STREAMS && !takes(r, l->stream)) {
			l->stream++;
		}
		if (l->stream == FCM_STREAMS || !wanted(l, span)) {
			lane_span_done(l, span);
			continue;
		}
		plan = plan_of(l, span, r->edge);
		n = make_room(r, block_capacity(&plan));
		if (n < 0) {
			return n;
		}
		block_build(&plan, &r->header, r->payload);
		lane_edges(l, span, &r->edge_begin, &r->edge_end);
		l->stream++;
		*ret_header = &r->header;
		*ret_payload = r->payload;
		return 1;
	}
	if (n == 0) {
		lane_look_again(&r->source);
	}
	return n;
}

/* ------------------------------------------------------------------------------------ begin and end */

static int begin(struct recorded *r, const char *path)
{
	const struct recorded_config *c = &r->source.config;
	int err = recording_init(&r->source.list, path);

	r->source.path = strdup(path);
	if (err == 0 && !r->source.path) {
		err = -ENOMEM;
	}
	for (unsigned i = 0; i < RECORDING_LINKS && err == 0; i++) {
		if ((c->run || c->from_tai_ns != INT64_MIN) && !r->lanes[i].done) {
			err = lane_find_begin(&r->lanes[i]);
		}
	}
	return err;
}

int recorded_open(const char *path, const struct recorded_config *config,
		  struct recorded **ret_recorded)
{
	struct recorded *r;
	int err;

	if (config->block_frames && FCM_SLICE_FRAMES % config->block_frames != 0) {
		return -EINVAL;
	}
	r = calloc(1, sizeof(*r));
	if (!r) {
		return -ENOMEM;
	}
	r->source.config = *config;
	for (unsigned i = 0; i < RECORDING_LINKS; i++) {
		lane_init(&r->lanes[i], &r->source, i);
	}
	err = begin(r, path);
	if (err < 0) {
		recorded_close(r);
		return err;
	}
	*ret_recorded = r;
	return 0;
}

void recorded_close(struct recorded *r)
{
	if (!r) {
		return;
	}
	for (unsigned i = 0; i < RECORDING_LINKS; i++) {
		lane_fini(&r->lanes[i]);
	}
	recording_fini(&r->source.list);
	free(r->source.path);
	free(r->payload);
	free(r);
}

void recorded_edges(const struct recorded *r, uint32_t *ret_begin, uint32_t *ret_end)
{
	*ret_begin = r->edge_begin;
	*ret_end = r->edge_end;
}

bool recorded_range(const struct recorded *r, int64_t *ret_first_ns, int64_t *ret_last_ns)
{
	const uint8_t links = r->source.config.links;
	int64_t first_ns, last_ns;
	bool found = false;

	for (unsigned i = 0; i < RECORDING_LINKS; i++) {
		if ((links && !(links & 1u << i)) ||
		    !lane_range(&r->lanes[i], &first_ns, &last_ns)) {
			continue;
		}
		*ret_first_ns = found ? MIN(*ret_first_ns, first_ns) : first_ns;
		*ret_last_ns = found ? MAX(*ret_last_ns, last_ns) : last_ns;
		found = true;
	}
	return found;
}

unsigned recorded_troubles(const struct recorded *r, const char **ret_text)
{
	*ret_text = r->source.troubles ? r->source.trouble : NULL;
	return r->source.troubles;
}
