// SPDX-License-Identifier: GPL-2.0-or-later
/* From a slice to the rows of the output: see spread.h. */
#include "daemon/convert/spread.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#define BATCH	 1024u /* hits at a time: they stay in the first-level cache */
#define FRAME_NS 125000ll

struct spread {
	struct spread_state *state;
	struct sink *sink;
	struct out_hit hits[BATCH];
	int32_t samples[FCM_SLICE_FRAMES * FCMDATA_SAMPLES];
	struct out_telemetry telemetry[FCM_SLICE_FRAMES];
};

int spread_create(struct spread_state *state, struct sink *sink, struct spread **ret_spread)
{
	struct spread *s = malloc(sizeof(*s));

	if (!s) {
		return -ENOMEM;
	}
	s->state = state;
	s->sink = sink;
	*ret_spread = s;
	return 0;
}

void spread_destroy(struct spread *s)
{
	free(s);
}

static int put_rows(struct spread *s, enum table_id table, const void *rows, size_t n)
{
	return n > 0 ? s->sink->ops->table(s->sink, table, rows, n) : 0;
}

static int64_t tai_of(const struct fcm_block_header *h, uint32_t frame)
{
	return h->flags & FCM_BLOCK_NO_TIME
		       ? FCM_NO_TAI
		       : (int64_t)((uint64_t)h->tai_ns + (uint64_t)(frame * FRAME_NS));
}

/* ------------------------------------------------------------------------------------------ hits */

static struct out_hit hit_of(const struct spread_state *state, const struct fcm_hit_row *r,
			     uint64_t waveform)
{
	return (struct out_hit){
		.tai_ns = r->tai_ns,
		.waveform_at = waveform,
		.charge = r->charge,
		.block = (uint32_t)state->blocks + r->block,
		.frame = r->frame,
		.t5ns = r->t5ns,
		.tower = r->tower,
		.floor = r->floor,
		.module = r->module,
		.pmt = r->pmt,
		.samples = r->samples,
		.flags = r->flags,
	};
}

static int put_hits(struct spread *s, const struct slice *slice, uint64_t *ret_samples)
{
	uint64_t waveform = s->state->waveform;
	int err = 0;

	for (size_t at = 0; at < slice->rows_n && err == 0; at += BATCH) {
		const struct fcm_hit_row *rows = slice->rows + at;
		const struct hit_run run = {s->hits, rows, MIN(slice->rows_n - at, BATCH),
					    slice->payloads};

		for (size_t i = 0; i < run.n; i++) {
			s->hits[i] = hit_of(s->state, &rows[i], waveform);
			waveform += rows[i].samples;
		}
		err = s->sink->ops->hits(s->sink, &run);
	}
	*ret_samples = waveform - s->state->waveform;
	return err;
}

/* ---------------------------------------------------------------------------------------- blocks */

static struct out_block block_of(const struct spread_state *state, const struct slice_block *b)
{
	const struct fcm_block_header *h = &b->header;

	return (struct out_block){
		.tai_ns = h->tai_ns,
		.first_item_tai_ns = h->first_item_tai_ns,
		.last_item_tai_ns = h->last_item_tai_ns,
		.first_frame = h->first_frame,
		.sequence = h->sequence,
		.slice_id = h->slice_id,
		.gap_first = b->gap_first,
		.gap_frames = b->gap_frames,
		.gap_lost = b->gap_lost,
		.group_id = (uint32_t)state->groups,
		.flags = h->flags,
		.run = h->run,
		.dma_epoch = h->dma_epoch,
		.time_epoch = h->time_epoch,
		.uncertainty_ns = h->uncertainty_ns,
		.frames = h->frames,
		.frames_lost = h->frames_lost,
		.frames_bad = h->frames_bad,
		.cable_delay_ns = h->cable_delay_ns,
		.items = h->items,
		.item_faults = h->item_faults,
		.payload_bytes = h->payload_bytes,
		.payload_crc = h->payload_crc,
		.header_crc = h->header_crc,
		.tai_utc_s = slice_tai_utc_s(h),
		.stream = h->stream,
		.board = h->board,
		.link = h->link,
		.channels = h->channels,
		.tower = h->tower,
		.floor = h->floor,
		.label_source = h->label_source,
		.clock_state = h->clock_state,
	};
}

static int put_blocks(struct spread *s, const struct slice *slice)
{
	int err = 0;

	for (size_t i = 0; i < slice->blocks_n && err == 0; i++) {
		struct out_block row = block_of(s->state, &slice->blocks[i]);

		err = put_rows(s, TABLE_BLOCKS, &row, 1);
	}
	return err;
}

static int64_t earliest(const struct slice *slice)
{
	int64_t least = INT64_MAX;

	for (size_t i = 0; i < slice->blocks_n; i++) {
		const struct fcm_block_header *h = &slice->blocks[i].header;

		if (!(h->flags & FCM_BLOCK_NO_TIME)) {
			least = MIN(least, h->tai_ns);
		}
	}
	return least == INT64_MAX ? FCM_NO_TAI : least;
}

static int put_group(struct spread *s, const struct slice *slice, uint64_t samples)
{
	const struct fcm_block_header *first = &slice->blocks[0].header;
	const struct spread_state *state = s->state;
	const struct out_group group = {
		.group_id = (uint32_t)state->groups,
		.run = first->run,
		.dma_epoch = first->dma_epoch,
		.tai_ns = earliest(slice),
		.slice_id = first->slice_id,
		.first_frame = first->first_frame - first->first_frame % FCM_SLICE_FRAMES,
		.first_block = state->blocks,
		.first_hit = state->hits,
		.blocks = (uint32_t)slice->blocks_n,
		.hits = (uint32_t)slice->rows_n,
	};
	const struct out_index of_hits = {state->hits, slice->rows_n};
	const struct out_index of_waveforms = {state->waveform, samples};
	int err = put_rows(s, TABLE_GROUPS, &group, 1);

	if (err == 0) {
		err = put_rows(s, TABLE_HIT_INDICES, &of_hits, 1);
	}
	return err < 0 ? err : put_rows(s, TABLE_WAVEFORM_INDICES, &of_waveforms, 1);
}

/* ----------------------------------------------------------------------------------- hydrophones */

/* NULL: there are too many. */
static struct spread_sound *sound_of(struct spread_state *state, const struct fcm_block_header *h,
				     unsigned hydrophone)
{
	for (unsigned i = 0; i < SOUNDS_MAX; i++) {
		struct spread_sound *sound = &state->sounds[i];
		const struct out_piece *p = &sound->piece;

		if (!sound->used) {
			sound->used = true;
			sound->piece = (struct out_piece){.tower = h->tower,
							  .floor = h->floor,
							  .hydrophone = (uint8_t)hydrophone};
			return sound;
		}
		if (p->tower == h->tower && p->floor == h->floor && p->hydrophone == hydrophone) {
			return sound;
		}
	}
	return NULL;
}

static int end_piece(struct spread *s, struct spread_sound *sound)
{
	if (!sound->open) {
		return 0;
	}
	sound->open = false;
	return put_rows(s, TABLE_PIECES, &sound->piece, 1);
}

static bool piece_goes_on(const struct spread_sound *sound, const struct fcm_block_header *h,
			  uint64_t frame)
{
	const struct out_piece *p = &sound->piece;

	return sound->open && p->dma_epoch == h->dma_epoch && p->link == h->link &&
	       sound->time_epoch == h->time_epoch &&
	       p->first_frame + p->samples / FCMDATA_SAMPLES == frame;
}

/* Samples of carrying frames from `f` on, `n` of them in s->samples. */
static int put_sound(struct spread *s, struct spread_sound *sound, const struct fcm_block_header *h,
		     uint32_t f, size_t n)
{
	struct sound_run run = {
		.link = h->link,
		.tower = h->tower,
		.floor = h->floor,
		.hydrophone = sound->piece.hydrophone,
		.dma_epoch = h->dma_epoch,
		.time_epoch = h->time_epoch,
		.first_frame = h->first_frame + f,
		.tai_ns = tai_of(h, f),
		.tai_utc_s = slice_tai_utc_s(h),
		.samples = s->samples,
		.n = n,
	};
	int err = 0;

	if (!piece_goes_on(sound, h, run.first_frame)) {
		err = end_piece(s, sound);
		sound->open = run.begins = true;
		sound->time_epoch = h->time_epoch;
		sound->piece = (struct out_piece){
			.tai_ns = run.tai_ns,
			.at = sound->samples,
			.first_frame = run.first_frame,
			.dma_epoch = run.dma_epoch,
			.link = run.link,
			.tower = run.tower,
			.floor = run.floor,
			.hydrophone = run.hydrophone,
		};
	}
	sound->piece.samples += n;
	sound->samples += n;
	return err < 0 ? err : s->sink->ops->sound(s->sink, &run);
}

static int put_hydrophone(struct spread *s, const struct fcmdata_block *b, unsigned hydrophone)
{
	const struct fcm_block_header *h = &b->header;
	struct spread_sound *sound = NULL;
	size_t n = 0;
	int err = 0;

	for (uint32_t f = 0; f <= h->frames && err == 0; f++) {
		/* After the last frame there is none: that ends the samples, too. */
		int got = fcmdata_samples(b, hydrophone, f, s->samples + n);

		if (got > 0) {
			n += (size_t)got;
			continue;
		}
		if (n > 0) {
			sound = sound ? sound : sound_of(s->state, h, hydrophone);
			err = sound ? put_sound(s, sound, h, f - (uint32_t)(n / FCMDATA_SAMPLES), n)
				    : -E2BIG;
		}
		n = 0;
	}
	return err;
}

/* ----------------------------------------------------------------------------------- instruments */

static int put_telemetry(struct spread *s, const struct fcmdata_block *b, uint32_t number)
{
	const struct fcm_block_header *h = &b->header;
	const uint8_t *bytes;
	size_t n = 0;

	for (uint32_t f = 0; f < h->frames; f++) {
		struct out_telemetry *row = &s->telemetry[n];

		if (fcmdata_telemetry(b, f, &bytes) <= 0) {
			continue;
		}
		row->tai_ns = tai_of(h, f);
		row->frame = h->first_frame + f;
		row->block = number;
		row->link = h->link;
		row->tower = h->tower;
		row->floor = h->floor;
		memcpy(row->bytes, bytes, sizeof(row->bytes));
		n++;
	}
	return put_rows(s, TABLE_TELEMETRY, s->telemetry, n);
}

static int put_record(struct spread *s, const struct fcm_block_header *h,
		      const struct fcmdata_serial *r)
{
	const struct out_serial row = {
		.tai_ns = tai_of(h, r->carrier),
		.frame = h->first_frame + r->carrier,
		.at = s->state->serial_bytes,
		.sequence = r->sequence,
		.link = h->link,
		.tower = h->tower,
		.floor = h->floor,
		.channel = r->channel,
		.length = r->length,
	};
	int err = put_rows(s, TABLE_SERIAL, &row, 1);

	s->state->serial_bytes += r->length;
	return err < 0 ? err : s->sink->ops->serial(s->sink, r->bytes, r->length);
}

static int put_serial(struct spread *s, const struct fcmdata_block *b)
{
	struct fcmdata_cursor cursor;
	struct fcmdata_serial record;
	int n = fcmdata_begin(b, FCMDATA_CHANNEL_SERIAL, &cursor), err = 0;

	while (err == 0 && n >= 0 && (n = fcmdata_next_serial(&cursor, &record)) != 0) {
		if (n > 0) {
			err = put_record(s, &b->header, &record);
		}
		n = n == -EBADMSG ? 0 : n; /* the next frame's follow */
	}
	return err;
}

/* --------------------------------------------------------------------------------------- a slice */

static int put_block(struct spread *s, const struct slice *slice, size_t i)
{
	struct fcmdata_block b = slice_block(slice, i);
	int err = 0;

	if (b.header.channels == 0) {
		return 0;
	}
	if (b.header.stream == FCM_HYDROPHONE) {
		for (unsigned k = 0; k < b.header.channels && err == 0; k++) {
			err = put_hydrophone(s, &b, k);
		}
	} else if (b.header.stream == FCM_INSTRUMENT) {
		err = put_telemetry(s, &b, (uint32_t)(s->state->blocks + i));
		err = err < 0 ? err : put_serial(s, &b);
	}
	return err;
}

int spread_slice(struct spread *s, const struct slice *slice)
{
	uint64_t samples = 0;
	int err = put_hits(s, slice, &samples);

	if (err == 0) {
		err = put_blocks(s, slice);
	}
	for (size_t i = 0; i < slice->blocks_n && err == 0; i++) {
		err = put_block(s, slice, i);
	}
	if (err == 0) {
		err = put_group(s, slice, samples);
	}
	s->state->blocks += slice->blocks_n;
	s->state->hits += slice->rows_n;
	s->state->waveform += samples;
	s->state->groups++;
	return err;
}

int spread_end(struct spread *s)
{
	int err = 0;

	for (unsigned i = 0; i < SOUNDS_MAX && err == 0; i++) {
		err = end_piece(s, &s->state->sounds[i]);
	}
	return err;
}
