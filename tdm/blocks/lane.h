/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A lane: a link's way through a recording, from segments to spans. For recorded.c.
 *
 * Its machines (deframer, assembler) live as long as the cells follow each other; where they do not (another DMA epoch, a
 * segment that is missing), new machines begin. Data of records are kept until the assembler has let go of the frames in
 * them.
 */
#pragma once

#include <sys/queue.h>

#include "tdm/blocks/assemble.h"
#include "tdm/blocks/recorded.h"
#include "tdm/recording.h"

#define LANE_LABELS 16u /* that speak of frames still in a lane */

/* What the lanes share. */
struct lane_source {
	struct recording list;
	char *path;
	struct recorded_config config;
	unsigned troubles;
	char trouble[320];
};

struct dated_label {
	uint64_t from; /* frame */
	struct label label;
};

struct part;
STAILQ_HEAD(part_list, part);

struct lane {
	struct lane_source *source;
	unsigned link;
	int64_t number; /* of the last segment opened; -1: none */
	bool open;	/* `file` is */
	bool taken;	/* and the machines take its cells */
	bool begun;	/* there have been machines */
	bool first;	/* and these are the first */
	bool done;
	struct recording_file file;
	struct part_list parts;
	struct part *newest;
	unsigned parts_n;

	/* The machines, and what is true of the cells in them. */
	struct tdm_deframe *deframe;
	struct assembler *assembler;
	bool closing; /* no more cells: spans to the last, then the machines end */
	bool inside;  /* they begin inside a DMA epoch, where the daemon had its lock */
	struct fcm_segment_header segment; /* the first one's, but for the run */
	uint64_t begin, next;		   /* counts: of the first cell, behind the last */
	uint64_t gap_next, gap_end;	   /* cells without data that are not pushed yet */
	enum tdm_loss gap_loss;
	struct dated_label labels[LANE_LABELS];
	unsigned labels_n;
	uint32_t run, run_before;
	uint64_t run_from; /* frame */
	unsigned stream;   /* of the span that comes next */
};

void lane_init(struct lane *l, struct lane_source *source, unsigned link);
void lane_fini(struct lane *l);
/* With a run or a time to begin at: find the first record whose cells are wanted; the lane is done where there are none.
 * 0, or negative errno. */
int lane_find_begin(struct lane *l);
/* The lane's next span, which stays until lane_span_done(): 1; 0: none (now); negative errno. */
int lane_span(struct lane *l, const struct assembled **ret_span);
void lane_span_done(struct lane *l, const struct assembled *span);
/* What is true of a frame. */
const struct label *lane_label(const struct lane *l, uint64_t frame);
uint32_t lane_run(const struct lane *l, uint64_t frame);
uint32_t lane_block_frames(const struct lane *l);
/* So many frames at the span's begin and end have their cells before the first or after the last one of the link. */
void lane_edges(const struct lane *l, const struct assembled *span, uint32_t *ret_begin,
		uint32_t *ret_end);
/* TAI of the link's first and last cells with a time: true; false: it has none. */
bool lane_range(const struct lane *l, int64_t *ret_first_ns, int64_t *ret_last_ns);
/* New segments may have come. */
void lane_look_again(struct lane_source *source);
