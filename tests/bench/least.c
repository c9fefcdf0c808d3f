/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See least.h. */
#include "tests/bench/least.h"

#include <string.h>

#include "tdm/frame.h"
#include "tdm/hit.h"

static uint8_t *copy_module(struct least *l, const uint8_t *frame, unsigned module, uint8_t *to)
{
	struct tdm_pmt_slot slot;
	uint32_t n = 0;

	if (tdm_pmt_slot_get(frame, module, &slot) < 0) {
		l->bad++;
		return to;
	}
	memcpy(to, slot.stream, slot.length);
	for (uint32_t at = slot.first; at + HIT_HEADER_BYTES <= slot.length;
	     at += hit_bytes(slot.stream + at)) {
		l->hits[n++ % LEAST_HITS] = at;
	}
	l->found += n;
	return to + slot.length;
}

static uint8_t *copy_hydrophone(const uint8_t *frame, unsigned hydrophone, uint8_t *to)
{
	struct tdm_hydro_slot slot;

	tdm_hydro_slot_get(frame, hydrophone, &slot);
	memcpy(to, slot.samples, 4 * TDM_SAMPLES);
	return to + (size_t)4 * TDM_SAMPLES;
}

/* Module by module, as consumers want a block. */
static void copy_block(struct least *l, const uint8_t *const *frames, unsigned n)
{
	uint8_t *to = l->to;

	for (unsigned m = 0; m < TDM_MODULES; m++) {
		for (unsigned f = 0; f < n; f++) {
			to = copy_module(l, frames[f], m, to);
		}
	}
	for (unsigned h = 0; h < TDM_HYDROPHONES; h++) {
		for (unsigned f = 0; f < n; f++) {
			to = copy_hydrophone(frames[f], h, to);
		}
	}
}

static void take_turn(struct least *l, unsigned link, unsigned first, unsigned end)
{
	const uint8_t *frames[LEAST_BUFFERS * SEA_BUFFER_FRAMES];
	unsigned n = 0;

	for (unsigned b = first; b < end; b++) {
		const uint8_t *buffer = sea_buffer(l->set, link, b);

		for (unsigned f = 0; f < SEA_BUFFER_FRAMES; f++) {
			const uint8_t *frame = buffer + (size_t)f * TDM_FRAME_BYTES;

			l->bad += tdm_crc32c(frame, TDM_OFF_CRC) != le32_get(frame + TDM_OFF_CRC);
			frames[n++] = frame;
		}
	}
	copy_block(l, frames, n);
}

void least_lap(struct least *l)
{
	unsigned buffers = l->set->frames / SEA_BUFFER_FRAMES;

	for (unsigned first = 0; first < buffers; first += l->turn) {
		unsigned end = first + l->turn < buffers ? first + l->turn : buffers;

		for (unsigned link = 0; link < SEA_LINKS; link++) {
			take_turn(l, link, first, end);
		}
	}
}
