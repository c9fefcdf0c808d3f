/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lays frames into a stream, damages it, feeds the deframer and checks each verdict. See deframe_rig.h. */
#include "tests/unit/tdm/deframe_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tdm/le.h"

#define STREAM_BYTES ((size_t)RIG_FRAMES * 2 * TDM_FRAME_BYTES)

static void *allocate(size_t bytes)
{
	void *p = calloc(1, bytes);

	assert_non_null(p);
	return p;
}

struct rig *rig_create(uint64_t first, uint64_t seed)
{
	struct rig *r = allocate(sizeof(*r));

	r->d = tdm_deframe_create(RIG_KEEP);
	assert_non_null(r->d);
	r->first = first;
	r->next = first;
	r->random = seed * 0x9e3779b97f4a7c15ull + 1;
	r->stream = allocate(STREAM_BYTES);
	r->broken = allocate(STREAM_BYTES);
	r->frames = allocate((size_t)RIG_FRAMES * TDM_FRAME_BYTES);
	r->number_base =
		(uint32_t)((first + TDM_FRAMES_PER_SECOND - RIG_LAG) % TDM_FRAMES_PER_SECOND);
	r->floor = 3;
	return r;
}

void rig_destroy(struct rig *r)
{
	for (unsigned i = 0; i < r->pushed; i++) {
		free(r->pushes[i]);
	}
	tdm_deframe_destroy(r->d);
	free(r->stream);
	free(r->broken);
	free(r->frames);
	free(r);
}

static uint64_t next_random(struct rig *r)
{
	r->random ^= r->random << 13;
	r->random ^= r->random >> 7;
	r->random ^= r->random << 17;
	return r->random;
}

uint64_t rig_random(struct rig *r, uint64_t below)
{
	return (next_random(r) >> 11) % below;
}

/* ------------------------------------------------------------------------------------ laying */

static void append(struct rig *r, const uint8_t *bytes, size_t length)
{
	assert_true(r->bytes + length <= STREAM_BYTES);
	memcpy(r->stream + r->bytes, bytes, length);
	memset(r->broken + r->bytes, 0, length);
	r->bytes += length;
}

void rig_lay_numbered(struct rig *r, uint16_t number)
{
	uint8_t *frame = r->frames + (size_t)r->laid * TDM_FRAME_BYTES;
	struct tdm_header h = {
		.tower = 1,
		.floor = r->floor,
		.flags = r->flags,
		.sequence = r->sequence_base + r->laid,
		.time = {.frame = number, .quality = TDM_TIME_LOCKED},
	};

	assert_true(r->laid < RIG_FRAMES);
	for (unsigned i = TDM_HEADER_BYTES; i < TDM_OFF_CRC; i += 8) {
		le64_put(frame + i, next_random(r));
	}
	tdm_frame_seal(frame, &h);
	if (r->copy_header_at != 0) {
		memcpy(frame + r->copy_header_at, frame, TDM_HEADER_BYTES);
		tdm_frame_seal(frame, &h);
	}
	r->place[r->laid++] = r->bytes;
	append(r, frame, TDM_FRAME_BYTES);
}

void rig_lay(struct rig *r, unsigned frames)
{
	while (frames-- > 0) {
		rig_lay_numbered(r, (uint16_t)((r->number_base + r->laid) % TDM_FRAMES_PER_SECOND));
	}
}

void rig_lay_bytes(struct rig *r, const uint8_t *bytes, size_t length)
{
	uint8_t byte;

	if (bytes != NULL) {
		append(r, bytes, length);
		return;
	}
	while (length-- > 0) {
		byte = (uint8_t)next_random(r);
		append(r, &byte, 1);
	}
}

void rig_cut(struct rig *r, size_t bytes)
{
	assert_true(bytes <= r->bytes - r->fed);
	r->bytes -= bytes;
	for (uint32_t i = 0; i < r->laid; i++) {
		if (r->place[i] != RIG_NOWHERE && r->place[i] + TDM_FRAME_BYTES > r->bytes) {
			r->place[i] = RIG_NOWHERE;
		}
	}
}

void rig_damage(struct rig *r, uint32_t frame, unsigned offset)
{
	if (r->place[frame] != RIG_NOWHERE) {
		r->stream[r->place[frame] + offset] ^= 0x04;
		r->broken[r->place[frame] + offset] = RIG_DAMAGED;
	}
}

/* ----------------------------------------------------------------------------------- feeding */

static bool is_laid(const struct rig *r, const uint8_t *frame, uint32_t index)
{
	return memcmp(frame, r->frames + (size_t)index * TDM_FRAME_BYTES, TDM_FRAME_BYTES) == 0;
}

static void check_good(struct rig *r, const struct tdm_verdict *v)
{
	size_t place = (size_t)(v->count - r->first) * TDM_FRAME_BYTES + v->offset;
	uint32_t index = 0;

	/* By place: the sequence may be moved by the test. */
	while (index < r->laid && r->place[index] != place) {
		index++;
	}
	assert_true(index < r->laid);
	assert_non_null(v->frame);
	assert_true(v->has_header);
	assert_true(is_laid(r, v->frame, index));
	assert_int_equal(v->floor_frame % TDM_FRAMES_PER_SECOND, v->header.time.frame);
	assert_true(v->floor_frame <= v->count);
	assert_true(v->count - v->floor_frame < TDM_FRAMES_PER_SECOND);
	assert_int_equal(r->good_count[index], 0);
	r->good_count[index] = v->count;
	for (unsigned i = 0; i < RIG_KEEP && i < r->goods; i++) {
		assert_true(is_laid(r, r->kept[i].frame, r->kept[i].index));
	}
	r->kept[r->goods % RIG_KEEP].frame = v->frame;
	r->kept[r->goods % RIG_KEEP].index = index;
	r->goods++;
}

static void emit(void *context, const struct tdm_verdict *v)
{
	struct rig *r = context;

	assert_int_equal(v->count, r->next);
	r->next++;
	if (v->loss == TDM_GOOD) {
		check_good(r, v);
	} else {
		assert_null(v->frame);
		assert_false(v->step);
	}
	assert_true(r->verdicts < sizeof(r->log) / sizeof(r->log[0]));
	r->log[r->verdicts++] = (struct rig_verdict){
		.count = v->count,
		.floor_frame = v->floor_frame,
		.loss = v->loss,
		.sequence = v->has_header ? v->header.sequence : 0,
		.offset = v->offset,
		.has_header = v->has_header,
		.step = v->step,
	};
}

void rig_feed(struct rig *r, unsigned cells, unsigned each)
{
	while (cells > 0 && r->bytes - r->fed >= TDM_FRAME_BYTES) {
		size_t whole = (r->bytes - r->fed) / TDM_FRAME_BYTES;
		size_t n = each > 0 ? each : 1 + rig_random(r, 20);
		uint8_t *copy;

		n = n < whole ? n : whole;
		n = n < cells ? n : cells;
		/* Memory of its own, so that a step beyond its end is found. */
		copy = allocate(n * TDM_FRAME_BYTES);
		memcpy(copy, r->stream + r->fed, n * TDM_FRAME_BYTES);
		assert_true(r->pushed < sizeof(r->pushes) / sizeof(r->pushes[0]));
		r->pushes[r->pushed++] = copy;
		tdm_deframe_push(r->d, copy, (uint32_t)n, r->first + r->fed / TDM_FRAME_BYTES, emit,
				 r);
		r->fed += n * TDM_FRAME_BYTES;
		cells -= (unsigned)n;
	}
}

void rig_gap(struct rig *r, unsigned cells, enum tdm_loss loss)
{
	size_t bytes = (size_t)cells * TDM_FRAME_BYTES;

	assert_true(r->bytes - r->fed >= bytes);
	memset(r->broken + r->fed, RIG_LOST, bytes);
	tdm_deframe_gap(r->d, cells, r->first + r->fed / TDM_FRAME_BYTES, loss, emit, r);
	r->fed += bytes;
}

void rig_assert_verdicts(const struct rig *r, const char *letters)
{
	static const char names[TDM_LOSSES] = "GDFRCAT";
	char said[4 * RIG_FRAMES + 1];

	for (unsigned i = 0; i < r->verdicts; i++) {
		said[i] = r->log[i].step ? 'S' : names[r->log[i].loss];
	}
	said[r->verdicts] = '\0';
	assert_string_equal(said, letters);
}
