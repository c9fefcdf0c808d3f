// SPDX-License-Identifier: GPL-2.0-or-later
/* The ledger of what is missing: see missing.h. */
#include "daemon/convert/missing.h"

#include <stdio.h>
#include <string.h>
#include <sys/param.h>

#include "daemon/convert/output/tables.h"

#define FRAME_NS    125000ll
#define FRAMES_S    8000.0
#define FIND_FRAMES 16u /* the deframer takes fewer to find the frames */

/* Where the input begins: cells that it does not have, then those that the deframer takes to find the frames. */
static bool is_of_edges(unsigned reason)
{
	return reason == OUT_BOARD_FIFO || reason == OUT_ALIGNMENT || reason == OUT_LINK_DOWN;
}

static int close_row(struct missing *m, struct missing_line *l, bool at_end, missing_row_fn *take,
		     void *context)
{
	struct out_missing *row = &l->row;

	if (!l->open) {
		return 0;
	}
	l->open = false;
	if (at_end && row->code == OUT_BOARD_FIFO) {
		row->edge = 1;
	}
	if (row->code == OUT_LINK_DOWN && row->frames > FIND_FRAMES) { /* it was down indeed */
		row->edge = 0;
		l->cut = false;
	}
	if (row->edge) {
		m->edge_frames += row->frames;
	} else {
		m->frames[row->link][row->stream][row->code] += row->frames;
	}
	return take(context, row);
}

static int64_t tai_of(const struct fcm_block_header *h, uint64_t frame)
{
	/* Any two numbers may be in a header: wrap, do not overflow. */
	return h->flags & FCM_BLOCK_NO_TIME
		       ? FCM_NO_TAI
		       : (int64_t)((uint64_t)h->tai_ns +
				   (uint64_t)FRAME_NS * (frame - h->first_frame));
}

static bool goes_on(const struct missing_line *l, const struct fcm_block_header *h, uint64_t first,
		    unsigned reason)
{
	const struct out_missing *row = &l->row;

	return l->open && row->code == reason && row->first_frame + row->frames == first &&
	       row->tower == h->tower && row->floor == h->floor && row->dma_epoch == h->dma_epoch &&
	       row->run == h->run;
}

/* Frames [first, first + n) are missing. */
static int add_run(struct missing *m, const struct fcm_block_header *h, uint64_t first, uint64_t n,
		   unsigned reason, missing_row_fn *take, void *context)
{
	struct missing_line *l = &m->lines[h->link][h->stream];
	int err;

	if (goes_on(l, h, first, reason)) {
		l->row.frames += n;
		return 0;
	}
	err = close_row(m, l, false, take, context);
	l->cut = (l->begun ? l->cut : true) && is_of_edges(reason);
	l->row = (struct out_missing){
		.tai_ns = tai_of(h, first),
		.first_frame = first,
		.frames = n,
		.run = h->run,
		.dma_epoch = h->dma_epoch,
		.stream = h->stream,
		.link = h->link,
		.tower = h->tower,
		.floor = h->floor,
		.code = (uint8_t)reason,
		.edge = l->cut,
	};
	memcpy(l->row.reason, out_reason_name(reason), strlen(out_reason_name(reason)));
	l->open = true;
	l->begun = true;
	return err;
}

static int good_run(struct missing *m, struct missing_line *l, missing_row_fn *take, void *context)
{
	l->begun = true;
	l->cut = false;
	return close_row(m, l, false, take, context);
}

int missing_block(struct missing *m, const struct fcmdata_block *b, missing_row_fn *take,
		  void *context)
{
	const struct fcm_block_header *h = &b->header;
	struct missing_line *l;
	uint32_t end;
	int err = 0;

	if (h->link >= FCM_LINKS || h->stream >= FCM_STREAMS) {
		return 0;
	}
	l = &m->lines[h->link][h->stream];
	m->covered[h->link][h->stream] += h->frames + b->gap_frames;
	if (b->gap_frames > 0) {
		err = add_run(m, h, b->gap_first, b->gap_frames, OUT_NO_BLOCK, take, context);
	}
	for (uint32_t f = 0; f < h->frames && err == 0; f = end) {
		unsigned status = (unsigned)fcmdata_status(b, f);

		for (end = f + 1; end < h->frames && fcmdata_status(b, end) == (int)status; end++) {
		}
		/* A later version may know more reasons than we do. */
		err = status == 0 ? good_run(m, l, take, context)
				  : add_run(m, h, h->first_frame + f, end - f,
					    MIN(status, OUT_TIME_FAULT), take, context);
	}
	return err;
}

int missing_end(struct missing *m, missing_row_fn *take, void *context)
{
	int err = 0;

	for (unsigned i = 0; i < FCM_LINKS * FCM_STREAMS && err == 0; i++) {
		err = close_row(m, &m->lines[i / FCM_STREAMS][i % FCM_STREAMS], true, take,
				context);
	}
	return err;
}

uint64_t missing_of_link(const struct missing *m, unsigned link, enum out_reason reason)
{
	uint64_t most = 0;

	for (unsigned s = 0; s < FCM_STREAMS; s++) {
		most = MAX(most, m->frames[link][s][reason]);
	}
	return most;
}

void missing_words(const struct missing *m, unsigned link, enum out_reason reason, bool live,
		   char *text, size_t size)
{
	static const char *const why[OUT_REASONS] = {
		[OUT_LINK_DOWN] = "the link was down",
		[OUT_BOARD_FIFO] = "the board's memory was full, or the recorder did not keep up",
		[OUT_RING_FULL] = "the daemon did not empty the ring in time",
		[OUT_CRC] = "their checksums were wrong",
		[OUT_ALIGNMENT] = "no frames were found in the link's bytes",
		[OUT_TIME_FAULT] = "their numbers could not be trusted",
		[OUT_NO_BLOCK] = "there are no blocks of them",
	};
	const double frames = (double)missing_of_link(m, link, reason);
	uint64_t covered = 1;
	double percent;

	for (unsigned s = 0; s < FCM_STREAMS; s++) {
		covered = MAX(covered, m->covered[link][s]);
	}
	percent = 100 * frames / (double)covered;
	snprintf(text, size, "%.6g s (%s%.3g %%): %s: %s", frames / FRAMES_S,
		 percent < 0.01 ? "< " : "", MAX(percent, 0.01), out_reason_name(reason),
		 live && reason == OUT_NO_BLOCK
			 ? "the monitor did not get these blocks: live data are best effort; to "
			   "lose nothing, record (fcmctl record start), then convert the recording"
			 : why[reason]);
}

uint64_t missing_all(const struct missing *m)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < FCM_LINKS; i++) {
		for (unsigned r = 1; r < OUT_REASONS; r++) {
			sum += missing_of_link(m, i, (enum out_reason)r);
		}
	}
	return sum;
}
