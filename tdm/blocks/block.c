/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Making a block: header and payload out of the carrying frames where they lie. See block.h for the
 * contract, schemas/fcm_data.h for the layout.
 *
 *   plan: frames (or losses), label --> status | index | channels' data --> CRC --> header
 *
 * Every valid byte is copied once, from the frame to its place; hits are checked and stamped there.
 * Block lengths divide 1600, so a block lies in one second of the count line: all its hits are stamped
 * with one of two seconds, and ordered by (FrameCounter, T5ns) with the second before as negative.
 */
#include "tdm/blocks/block.h"

#include <assert.h>
#include <string.h>

#include "tdm/deframe.h"
#include "tdm/hit_run.h"
#include "tdm/le.h"

#define SECOND_NS     1000000000ll
#define SLICE_NS      200000000ll
#define Y2000_UTC_NS  (946684800ll * SECOND_NS)
#define TELEMETRY     64u
#define SERIAL_HEADER 4u
/* Oldest hit that is believed: the FCM's FIFO holds below half a second at full rate. */
#define FIFO_FRAMES 4000
#define AHEAD	    4u	/* slots fetched ahead, */
#define AHEAD_LINES 12u /* cache lines of each */
/* Last of a frame's samples, after its start: 23 of 192 kHz. */
#define LAST_SAMPLE_NS (TDM_FRAME_NS * (TDM_SAMPLES - 1) / TDM_SAMPLES)

uint64_t slice_of_frame(const struct label *label, uint64_t frame)
{
	uint64_t start = frame - frame % FCM_SLICE_FRAMES;
	int64_t utc_ns;
	int leap;

	if (label->anchor_tai_ns == FCM_NO_TAI) {
		return 0;
	}
	/* Rounded: the anchor may be off the border. */
	utc_ns = label_utc_ns(label, label_tai_ns(label, start) + SLICE_NS / 2, &leap);
	return utc_ns < Y2000_UTC_NS ? 0 : (uint64_t)((utc_ns - Y2000_UTC_NS) / SLICE_NS);
}

/* ------------------------------------------------------------------------------------- time */

/* What the label makes of the second that a block lies in. */
struct second {
	uint64_t stamp[2]; /* hit_walk_stamp_bits() of this second and the one before */
	bool leap[2];	   /* it is 23:59:60, which a hit cannot say */
	bool known;
	uint64_t start; /* frame on the count line that begins it */
	int64_t utc_s;	/* as hits say it */
};

/* The UTC second that frame `start` begins. The anchor may be some ns off the border. 23:59:60 is the
 * next midnight by number: it stays in the old day, in its last legal second. */
static int64_t utc_second(const struct label *label, uint64_t start, bool *ret_leap)
{
	int64_t tai_s = (label_tai_ns(label, start) + SECOND_NS / 2) / SECOND_NS;
	int leap;
	int64_t utc_ns = label_utc_ns(label, tai_s * SECOND_NS, &leap);

	*ret_leap = leap != 0;
	return utc_ns / SECOND_NS - *ret_leap;
}

static uint64_t stamp_of(int64_t utc_s, enum hit_day_origin origin)
{
	struct hit_stamp stamp;

	hit_stamp_of(utc_s, origin, &stamp);
	return hit_walk_stamp_bits(&stamp);
}

static struct second second_of(const struct block_plan *plan)
{
	struct second s = {.start = plan->first_frame - plan->first_frame % TDM_FRAMES_PER_SECOND};
	int64_t before_s;

	s.known = plan->label.anchor_tai_ns != FCM_NO_TAI;
	if (!s.known) {
		return s;
	}
	s.utc_s = utc_second(&plan->label, s.start, &s.leap[0]);
	before_s = utc_second(&plan->label, s.start - TDM_FRAMES_PER_SECOND, &s.leap[1]);
	s.stamp[0] = stamp_of(s.utc_s, plan->day_origin);
	s.stamp[1] = stamp_of(before_s, plan->day_origin);
	return s;
}

/* Whether the time word of a frame says another second than the label does. */
static bool word_disagrees(const struct second *s, const uint8_t *frame)
{
	struct tdm_time time;
	struct hit_stamp stamp;
	unsigned day;

	tdm_time_unpack(le64_get(frame + TDM_OFF_TIME), &time);
	if (!s->known || time.quality == TDM_TIME_NONE) {
		return false;
	}
	hit_stamp_of(s->utc_s, HIT_DAY_FROM_0, &stamp);
	day = (stamp.day_bcd >> 8) * 100u + (stamp.day_bcd >> 4 & 0xfu) * 10u +
	      (stamp.day_bcd & 0xfu);
	return time.second != (s->leap[0] ? 86400u : stamp.second) || time.day != day ||
	       time.year % 100u != (stamp.year_bcd >> 4) * 10u + (stamp.year_bcd & 0xfu);
}

/* ------------------------------------------------------------------------------ the payload */

struct builder {
	const struct block_plan *plan;
	struct fcm_block_header *header;
	uint8_t *payload;
	struct second second;
	uint32_t *index; /* of the channel being filled */
	uint8_t *at;	 /* where its next byte goes */
	uint32_t items, faults, flags;
	/* Earliest and latest item, as frames from second.start << 16 | units of 5 ns. */
	int32_t earliest, latest;
};

static uint32_t offset_at(const struct builder *x, const uint8_t *at)
{
	return (uint32_t)(at - x->payload);
}

static bool slot_valid(const uint8_t *frame, unsigned bit)
{
	return le16_get(frame + TDM_OFF_SLOT_VALID) & bit;
}

/* A module's share of a frame: false when its header makes no sense. A slot that is not valid has
 * nothing, which is not a fault. */
static bool module_slot(const uint8_t *frame, unsigned module, struct tdm_pmt_slot *ret_slot)
{
	if (!slot_valid(frame, TDM_VALID_MODULE(module))) {
		*ret_slot = (struct tdm_pmt_slot){0};
		return true;
	}
	return tdm_pmt_slot_get(frame, module, ret_slot) == 0;
}

static void note_item(struct builder *x, int32_t when)
{
	x->earliest = when < x->earliest ? when : x->earliest;
	x->latest = when > x->latest ? when : x->latest;
}

/*
 * One module's stream while it is being copied.
 *
 *   payload ...| whole, stamped hits |p: first bytes of a hit that goes on in the next frame |at
 */
struct stream {
	struct builder *x;
	uint8_t *pending;  /* start of the hit that is not whole yet; == at: there is none */
	uint32_t carrier;  /* frame of the second in which it starts */
	bool synchronised; /* the next frame must begin where this one ended */
	uint32_t indexed;  /* frames whose index is written */
};

/* What the walk over some hits of one carrier found. */
static void note_walk(struct builder *x, uint32_t carrier, int32_t earliest, int32_t latest)
{
	bool old = earliest < ((int32_t)carrier - FIFO_FRAMES) * 65536;

	note_item(x, earliest);
	note_item(x, latest);
	if (old || (latest >= 0 && x->second.leap[0]) || (earliest < 0 && x->second.leap[1])) {
		x->flags |= FCM_BLOCK_TIME_FAULT;
	}
}

/* What a clean run has found; what it has left of the payload is pending. */
static void take_run(struct stream *s, uint32_t carrier, const struct hit_run *run)
{
	if (run->hits > 0) {
		note_walk(s->x, carrier, (int32_t)run->earliest, (int32_t)run->latest);
	}
	s->x->items += run->hits;
	s->pending = run->copy + (run->bytes - run->left);
	s->carrier = carrier;
}

static bool of_this_second(const struct hit_run *run, uint32_t carrier)
{
	return run->hits == 0 || run->latest >> 16 <= carrier;
}

/* walk() where all is as it should be: legal hits of this second. False: it is not, look closely. */
static bool walk_clean(struct stream *s, uint32_t carrier, const uint8_t *from)
{
	struct hit_run run = {
		.from = from,
		.copy = s->pending,
		.bytes = (uint32_t)(s->x->at - s->pending),
	};

	if (!hit_run(&run, 1, s->x->second.stamp[0]) || !of_this_second(&run, carrier)) {
		return false;
	}
	take_run(s, carrier, &run);
	return true;
}

/* Check the whole hits in [from, from + bytes), whose copy is [pending, at), and stamp the copy; what is
 * left is pending. False: a header that is none, everything from it on is dropped. The inner loop of
 * the daemon: a few hits a microsecond for every module. So nothing in it goes through memory that a
 * store to the payload might alias, and headers are read where the frame lies: of what has just been
 * copied the processor would have to wait for its own stores. */
static bool walk(struct stream *s, uint32_t carrier, const uint8_t *from)
{
	struct builder *x = s->x;
	const uint8_t *p = from, *const end = from + (x->at - s->pending);
	uint8_t *const copy = s->pending;
	const uint64_t stamp = x->second.stamp[0], stamp_before = x->second.stamp[1];
	int32_t earliest = INT32_MAX, latest = INT32_MIN;
	uint32_t items = 0;
	bool legal = true;

	if (from != copy && walk_clean(s, carrier, from)) {
		return true;
	}
	while ((size_t)(end - p) >= HIT_HEADER_BYTES) {
		struct hit_walk hit = hit_walk_look(p);
		bool before = hit.born >> 16 > carrier;
		int32_t when = (int32_t)(hit.born - (before ? TDM_FRAMES_PER_SECOND << 16 : 0));

		if (!hit.legal) {
			legal = false;
			break;
		}
		if (hit.bytes > (size_t)(end - p)) {
			break;
		}
		hit_walk_stamp(copy + (p - from), hit.time, before ? stamp_before : stamp);
		earliest = when < earliest ? when : earliest;
		latest = when > latest ? when : latest;
		items++;
		p += hit.bytes;
	}
	if (items > 0) {
		note_walk(x, carrier, earliest, latest);
	}
	x->items += items;
	s->pending = copy + (p - from);
	s->carrier = carrier;
	if (!legal) {
		x->faults++;
		x->at = s->pending;
	}
	return legal;
}

static void drop_pending(struct stream *s)
{
	if (s->pending != s->x->at) {
		s->x->faults++;
		s->x->at = s->pending;
	}
	s->synchronised = false;
}

/* Frames up to `frame` (inclusive) begin here, unless a hit that started earlier is still open. */
static void index_until(struct stream *s, uint32_t frame)
{
	if (s->pending != s->x->at) {
		return;
	}
	while (s->indexed <= frame) {
		s->x->index[s->indexed++] = offset_at(s->x, s->x->at);
	}
}

/* The bytes before a slot's first hit end the pending one, exactly; or they belong to no hit. */
static void take_tail(struct stream *s, const struct tdm_pmt_slot *slot)
{
	size_t have = (size_t)(s->x->at - s->pending);

	if (have == 0) {
		/* After a loss, or at the block's start, they belong to a hit we do not have. */
		if (s->synchronised && slot->first > 0) {
			s->x->faults++;
		}
		return;
	}
	if (have + slot->first > HIT_MAX_BYTES) {
		drop_pending(s);
		return;
	}
	if (slot->first > 0) {
		memcpy(s->x->at, slot->stream, slot->first);
		s->x->at += slot->first;
		if (!walk(s, s->carrier, s->pending)) {
			s->synchronised = false;
		}
	}
	/* A hit that is still open is well only when no other one starts in this slot. */
	if (s->pending != s->x->at && slot->first < slot->length) {
		drop_pending(s);
	}
}

static void take_slot(struct stream *s, uint32_t carrier, const struct tdm_pmt_slot *slot)
{
	size_t rest = (size_t)(slot->length - slot->first);

	if (rest > 0) {
		memcpy(s->x->at, slot->stream + slot->first, rest);
		s->x->at += rest;
		s->synchronised = walk(s, carrier, slot->stream + slot->first);
	}
}

/* Whether the bytes are one hit, whole. */
static bool one_hit(const uint8_t *p, size_t bytes)
{
	struct hit_walk hit;

	if (bytes < HIT_HEADER_BYTES) {
		return false;
	}
	hit = hit_walk_look(p);
	return hit.legal && hit.bytes == bytes;
}

/*
 * Two slots of a module in one go, where all is as it should be: legal hits of this second, and the last
 * of the first slot ends where the second one says. False: it is not; nothing has been taken.
 */
static bool take_two(struct stream *s, uint32_t f, uint32_t carrier,
		     const struct tdm_pmt_slot *slot, const struct tdm_pmt_slot *next)
{
	uint32_t rest = (uint32_t)(slot->length - slot->first);
	uint8_t *copy = s->x->at, *behind = copy + rest;
	struct hit_run runs[2] = {
		{.from = slot->stream + slot->first, .copy = copy, .bytes = rest},
		{.from = next->stream + next->first,
		 .copy = behind + next->first,
		 .bytes = (uint32_t)(next->length - next->first)},
	};

	memcpy(copy, slot->stream + slot->first, rest);
	memcpy(behind, next->stream, next->length);
	if (!hit_run(runs, 2, s->x->second.stamp[0]) || !of_this_second(&runs[0], carrier) ||
	    !of_this_second(&runs[1], carrier + 1)) {
		return false;
	}
	if (runs[0].left + next->first > 0 &&
	    !one_hit(behind - runs[0].left, runs[0].left + next->first)) {
		return false;
	}
	take_run(s, carrier, &runs[0]);
	s->x->at = behind + next->first;
	s->synchronised = true;
	if (s->pending != s->x->at) {
		(void)walk(s, carrier, s->pending);
	}
	index_until(s, f + 1);
	s->x->at += runs[1].bytes;
	take_run(s, carrier + 1, &runs[1]);
	return true;
}

/* Slots lie 10 000 bytes apart: the processor does not guess the next ones by itself. */
static void fetch_slots(const struct block_plan *plan, uint32_t frame, unsigned module)
{
	for (uint32_t f = frame + AHEAD; f < frame + AHEAD + 2 && f < plan->frames; f++) {
		const uint8_t *slot = plan->in[f].frame;

		for (unsigned i = 0; slot && i < AHEAD_LINES; i++) {
			__builtin_prefetch(slot + TDM_OFF_PMT + (size_t)module * TDM_PMT_SLOT +
					   (size_t)i * 64);
		}
	}
}

static void note_fifo(struct builder *x, const struct tdm_pmt_slot *slot)
{
	if (slot->flags & TDM_PMT_FIFO_FULL) {
		x->flags |= FCM_BLOCK_FIFO_FULL;
	}
}

/* A frame's slot, if it has one that makes sense; else what is pending has no end. */
static bool begin_slot(struct stream *s, uint32_t f, unsigned module, struct tdm_pmt_slot *ret_slot)
{
	struct builder *x = s->x;
	const uint8_t *frame = x->plan->in[f].frame;

	if (frame && module_slot(frame, module, ret_slot)) {
		return true;
	}
	x->faults += frame != NULL;
	drop_pending(s);
	index_until(s, f);
	return false;
}

static void fill_module(struct builder *x, unsigned module)
{
	const struct block_plan *plan = x->plan;
	struct stream s = {.x = x, .pending = x->at};
	uint32_t first = (uint32_t)(plan->first_frame - x->second.start);
	struct tdm_pmt_slot slot, next;

	for (uint32_t f = 0; f < plan->frames; f++) {
		const uint8_t *behind = f + 1 < plan->frames ? plan->in[f + 1].frame : NULL;

		fetch_slots(plan, f, module);
		if (!begin_slot(&s, f, module, &slot)) {
			continue;
		}
		note_fifo(x, &slot);
		take_tail(&s, &slot);
		index_until(&s, f);
		if (slot.first == slot.length) {
			continue;
		}
		if (behind && module_slot(behind, module, &next) && next.length > 0 &&
		    take_two(&s, f, first + f, &slot, &next)) {
			note_fifo(x, &next);
			f++;
		} else {
			take_slot(&s, first + f, &slot);
		}
	}
	if (plan->after && module_slot(plan->after, module, &slot)) {
		take_tail(&s, &slot);
	}
	drop_pending(&s);
	index_until(&s, plan->frames);
}

static void put_samples(struct builder *x, const uint8_t *frame, unsigned hydrophone, int32_t when)
{
	struct tdm_hydro_slot slot;

	if (slot_valid(frame, TDM_VALID_HYDROPHONE(hydrophone))) {
		tdm_hydro_slot_get(frame, hydrophone, &slot);
		memcpy(x->at, slot.samples, 4 * TDM_SAMPLES);
		x->at += 4 * TDM_SAMPLES;
		x->items += TDM_SAMPLES;
		note_item(x, when);
		note_item(x, when + (int32_t)(LAST_SAMPLE_NS / 5));
	}
}

static void put_serial(struct builder *x, const uint8_t *frame, int32_t when)
{
	struct tdm_serial serial;

	if (!slot_valid(frame, TDM_VALID_SERIAL)) {
		return;
	}
	if (tdm_serial_get(frame, false, &serial) < 0) {
		x->faults++;
	} else if (serial.length > 0) {
		x->at[0] = serial.channel;
		x->at[1] = serial.length;
		le16_put(x->at + 2, serial.sequence);
		memcpy(x->at + SERIAL_HEADER, serial.bytes, serial.length);
		x->at += SERIAL_HEADER + serial.length;
		x->items++;
		note_item(x, when);
	}
}

/* Channel 0: telemetry; channel 1: serial tunnel. */
static void put_instrument(struct builder *x, const uint8_t *frame, unsigned channel, int32_t when)
{
	if (channel == 1) {
		put_serial(x, frame, when);
	} else if (slot_valid(frame, TDM_VALID_TELEMETRY)) {
		memcpy(x->at, frame + TDM_OFF_TELEMETRY, TELEMETRY);
		x->at += TELEMETRY;
		x->items++;
		note_item(x, when);
	}
}

/* What a channel gets from each frame is whole in it. */
static void fill_frames(struct builder *x, unsigned channel)
{
	const struct block_plan *plan = x->plan;
	int32_t carrier = (int32_t)(plan->first_frame - x->second.start);

	for (uint32_t f = 0; f < plan->frames; f++) {
		const uint8_t *frame = plan->in[f].frame;
		int32_t when = (carrier + (int32_t)f) * 65536;

		x->index[f] = offset_at(x, x->at);
		if (frame && plan->stream == FCM_HYDROPHONE) {
			put_samples(x, frame, channel, when);
		} else if (frame) {
			put_instrument(x, frame, channel, when);
		}
	}
	x->index[plan->frames] = offset_at(x, x->at);
}

/* --------------------------------------------------------------------------------- capacity */

static unsigned plan_channels(const struct block_plan *plan)
{
	return plan->flags & FCM_BLOCK_GAP ? 0 : fcm_stream_channels(plan->stream);
}

static size_t index_offset(const struct block_plan *plan)
{
	return (plan->frames + 3u) & ~(size_t)3;
}

static size_t data_offset(const struct block_plan *plan)
{
	size_t words = (size_t)plan_channels(plan) * (plan->frames + 1u);

	return (index_offset(plan) + 4 * words + 7u) & ~(size_t)7;
}

static size_t pmt_bytes(const uint8_t *frame)
{
	size_t bytes = 0;

	for (unsigned m = 0; m < TDM_MODULES; m++) {
		struct tdm_pmt_slot slot;

		if (module_slot(frame, m, &slot)) {
			bytes += slot.length;
		}
	}
	return bytes;
}

static size_t serial_bytes(const uint8_t *frame)
{
	struct tdm_serial serial;

	if (!slot_valid(frame, TDM_VALID_SERIAL) || tdm_serial_get(frame, false, &serial) < 0) {
		return 0;
	}
	return SERIAL_HEADER + serial.length;
}

size_t block_capacity(const struct block_plan *plan)
{
	size_t bytes = data_offset(plan);

	if (plan_channels(plan) == 0) {
		return bytes;
	}
	for (uint32_t f = 0; f < plan->frames; f++) {
		const uint8_t *frame = plan->in[f].frame;

		if (!frame) {
			continue;
		}
		bytes += plan->stream == FCM_PMT ? pmt_bytes(frame)
			 : plan->stream == FCM_HYDROPHONE
				 ? (size_t)4 * TDM_SAMPLES * TDM_HYDROPHONES
				 : TELEMETRY + serial_bytes(frame);
	}
	/* The tails in the frame behind: a hit's worth a module. */
	return plan->stream == FCM_PMT ? bytes + (size_t)TDM_MODULES * HIT_MAX_BYTES : bytes;
}

/* ------------------------------------------------------------------------------- the header */

static bool never_came(uint8_t loss)
{
	return loss == TDM_LOSS_LINK_DOWN || loss == TDM_LOSS_BOARD_FIFO ||
	       loss == TDM_LOSS_RING_FULL;
}

/* status[], and what the header says about it. */
static void fill_status(struct builder *x)
{
	const struct block_plan *plan = x->plan;
	struct fcm_block_header *h = x->header;
	bool judged = false;

	for (uint32_t f = 0; f < plan->frames; f++) {
		const struct block_frame *in = &plan->in[f];
		uint8_t loss = in->frame ? (uint8_t)TDM_GOOD : in->loss;

		x->payload[f] = loss;
		if (!in->frame) {
			h->frames_lost += never_came(loss);
			h->frames_bad += !never_came(loss);
		} else if (!judged) {
			judged = true;
			if (word_disagrees(&x->second, in->frame)) {
				x->flags |= FCM_BLOCK_TIME_FAULT;
			}
		}
	}
	if (h->frames_lost + h->frames_bad > 0) {
		x->flags |= FCM_BLOCK_PARTIAL;
	}
}

static void fill_channels(struct builder *x)
{
	const struct block_plan *plan = x->plan;
	struct fcm_block_header *h = x->header;
	unsigned channels = plan_channels(plan);

	for (unsigned c = 0; c < channels; c++) {
		x->index = (uint32_t *)(void *)(x->payload + h->index_offset) +
			   (size_t)c * (plan->frames + 1u);
		h->channel_offset[c] = offset_at(x, x->at);
		if (plan->stream == FCM_PMT) {
			fill_module(x, c);
		} else {
			fill_frames(x, c);
		}
	}
	for (unsigned c = channels; c <= FCM_CHANNELS_MAX; c++) {
		h->channel_offset[c] = offset_at(x, x->at);
	}
}

/* A floor numbers its frames by what it receives: true time is label + delay down. */
static int64_t item_tai_ns(const struct builder *x, int32_t when)
{
	/* The shift of a negative number rounds down, as it must. */
	return label_tai_ns(&x->plan->label, x->second.start) + x->plan->cable_delay_ns +
	       (int64_t)(when >> 16) * TDM_FRAME_NS + (int64_t)(when & 0xffff) * 5;
}

static void fill_time(struct builder *x)
{
	const struct block_plan *plan = x->plan;
	struct fcm_block_header *h = x->header;

	h->label_source = plan->label.source;
	h->clock_state = plan->label.state;
	h->time_epoch = plan->label.time_epoch;
	h->uncertainty_ns = plan->label.uncertainty_ns;
	h->tai_ns = FCM_NO_TAI;
	h->first_item_tai_ns = FCM_NO_TAI;
	h->last_item_tai_ns = FCM_NO_TAI;
	if (!x->second.known) {
		h->uncertainty_ns = FCM_NO_UNCERTAINTY;
		x->flags |= FCM_BLOCK_NO_TIME;
		return;
	}
	h->tai_ns = label_tai_ns(&plan->label, plan->first_frame) + plan->cable_delay_ns;
	h->cable_delay_ns = plan->cable_delay_ns;
	h->slice_id = slice_of_frame(&plan->label, plan->first_frame);
	if (x->items > 0) {
		h->first_item_tai_ns = item_tai_ns(x, x->earliest);
		h->last_item_tai_ns = item_tai_ns(x, x->latest);
	}
}

static void fill_header(struct builder *x)
{
	const struct block_plan *plan = x->plan;
	struct fcm_block_header *h = x->header;

	h->magic = FCM_BLOCK_MAGIC;
	h->version = FCM_BLOCK_VERSION;
	h->header_bytes = sizeof(*h);
	h->stream = (uint8_t)plan->stream;
	h->board = plan->board;
	h->link = plan->link;
	h->channels = (uint8_t)plan_channels(plan);
	h->tower = plan->tower;
	h->floor = plan->floor;
	h->run = plan->run;
	h->dma_epoch = plan->dma_epoch;
	h->frames = plan->frames;
	h->sequence = (uint64_t)plan->dma_epoch << FCM_SEQUENCE_BITS |
		      plan->first_frame / plan->block_frames;
	h->first_frame = plan->first_frame;
	h->index_offset = (uint32_t)index_offset(plan);
	h->data_offset = (uint32_t)data_offset(plan);
}

void block_build(const struct block_plan *plan, struct fcm_block_header *h, uint8_t *payload)
{
	struct builder x = {
		.plan = plan,
		.header = h,
		.payload = payload,
		.second = second_of(plan),
		.earliest = INT32_MAX,
		.latest = INT32_MIN,
	};

	assert(plan->frames > 0 && plan->frames <= FCM_SLICE_FRAMES);
	memset(h, 0, sizeof(*h));
	fill_header(&x);
	memset(payload + plan->frames, 0, h->index_offset - plan->frames);
	memset(payload + h->data_offset - 8, 0, 8); /* index fills what is not padding */
	fill_status(&x);
	x.at = payload + h->data_offset;
	fill_channels(&x);
	fill_time(&x);
	h->items = x.items;
	h->item_faults = x.faults;
	h->flags = plan->flags | x.flags;
	h->payload_bytes = offset_at(&x, x.at);
	h->payload_crc = tdm_crc32c(payload, h->payload_bytes);
	h->header_crc = tdm_crc32c(h, offsetof(struct fcm_block_header, header_crc));
}
