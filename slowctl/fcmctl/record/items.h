/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a recording holds, one line each: records and how segments end, frames, slots, hits, samples,
 * slow-control words. Each is a JSON object with "what", and a function that renders it as text.
 *
 * A hit that the end of its slot cuts continues in the next frame: to show hits, keep a struct record_hits for each link.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "slowctl/fcmctl/show/writer.h"
#include "tdm/deframe.h"
#include "tdm/hit.h"
#include "tdm/recording.h"

/* Where an item comes from. */
struct record_place {
	const char *segment; /* its name */
	unsigned link;
	uint64_t count;			      /* of the cell */
	const struct fcm_record_label *label; /* NULL: none yet */
	bool let_go; /* the recorder let the cell go: its loss is none of the station's */
};

/* A hit that a slot's end has cut, of each module. */
struct record_hits {
	struct {
		uint8_t bytes[HIT_MAX_BYTES];
		unsigned have; /* 0: none */
		uint64_t count, floor_frame;
	} cut[TDM_MODULES];
};

/* Takes an item, which stays the caller's; `bad`: there is something wrong with it. */
struct record_sink {
	void (*item)(void *context, const json_t *item, writer_render_fn render, bool bad);
	void *context;
};

void record_show_segment(const struct record_sink *to, const char *name,
			 const struct fcm_segment_header *h);
void record_show_record(const struct record_sink *to, const struct record_place *at,
			const struct fcm_record_header *h, uint64_t offset, const uint8_t *data);
/* How the segment ends: at `offset` of `size` bytes, behind so many records. */
void record_show_end(const struct record_sink *to, const char *name, enum record_end end,
		     uint64_t offset, uint64_t size, uint64_t records);

/* A black box's registers, lines of text in a file. */
void record_show_registers(const struct record_sink *to, const char *file, const char *text);

/* The verdict on a cell, and of the frame in it what can be read. `cell`: its bytes; NULL: there are none,
 * or they are gone. */
void record_show_frame(const struct record_sink *to, const struct record_place *at,
		       const struct tdm_verdict *v, const uint8_t *cell);
/* The parts of a good frame. */
void record_show_slots(const struct record_sink *to, const struct record_place *at,
		       const struct tdm_verdict *v);
void record_show_samples(const struct record_sink *to, const struct record_place *at,
			 const struct tdm_verdict *v);
void record_show_words(const struct record_sink *to, const struct record_place *at,
		       const struct tdm_verdict *v);
/* `show` false: only follow, for what is cut. A frame that is lost: v->frame NULL. */
void record_show_hits(const struct record_sink *to, const struct record_place *at,
		      const struct tdm_verdict *v, struct record_hits *hits, bool show);

/* What a label's source and the clock's state are called; "?": no such number. */
const char *record_source_name(unsigned source);
const char *record_clock_name(unsigned state);

/* UTC at which a count begins, by the label, ns since 1970; INT64_MIN: unknown. */
int64_t record_utc_ns(const struct fcm_record_label *label, uint64_t count);
