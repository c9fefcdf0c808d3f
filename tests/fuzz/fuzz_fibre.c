// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What comes up a fibre: bytes to the deframer (the first byte is 'f'), laid by decisions as frames, parts of frames,
 * garbage, with gaps of the board's; and a slot's bytes to the walk along hits (else).
 *
 * What must be true: the same verdicts however the cells are cut into pushes, one a cell, in order; a good one's frame
 * is good. The fast walk over all of a slot, and over two side by side, finds what the slow one does hit by hit, and
 * stamps the same bytes. A hit's header is the same when it is unpacked and packed.
 */
#include "tdm/deframe.h"
#include "tdm/hit.h"
#include "tdm/hit_run.h"
#include "tests/fuzz/fuzz.h"
#include "tests/system/stamped_hit.h"

#define CELLS	 64u
#define KEEP	 8u
#define FIRST	 80000u
#define SEGMENTS 64u

/* ------------------------------------------------------------------------------------ a fibre */

static struct {
	uint8_t bytes[CELLS * TDM_FRAME_BYTES];
	uint32_t used, sequence;
	struct {
		unsigned cells;
		enum tdm_loss gap; /* TDM_GOOD: they come */
	} plan[SEGMENTS];
	unsigned segments;
} fibre;

struct verdict {
	struct tdm_verdict v;
	uint32_t crc;
};

struct log {
	struct verdict verdict[CELLS];
	unsigned count;
};

static void lay_bytes(const uint8_t *bytes, size_t length)
{
	size_t room = sizeof(fibre.bytes) - fibre.used;

	length = length < room ? length : room;
	memcpy(fibre.bytes + fibre.used, bytes, length);
	fibre.used += (uint32_t)length;
}

static void lay_frame(unsigned how, unsigned number)
{
	static uint8_t frame[TDM_FRAME_BYTES];
	struct tdm_header h = {
		.tower = 1,
		.floor = 2,
		.flags = how & 1 ? TDM_FLAG_DOWNSTREAM : 0,
		.sequence = fibre.sequence,
		.time = {.frame = (uint16_t)(how & 2 ? number : fibre.sequence % 8000),
			 .quality = TDM_TIME_NONE},
	};

	fibre.sequence++;
	tdm_frame_seal(frame, &h);
	if (how & 4) { /* a sound header inside */
		memcpy(frame + 32 + number % 9900, frame, TDM_HEADER_BYTES);
		tdm_frame_seal(frame, &h);
	}
	lay_bytes(frame, sizeof(frame));
}

static void lay_pattern(struct fuzz_input *in)
{
	uint8_t pattern[TDM_HEADER_BYTES];
	unsigned length = fuzz_take(in, 2) % 12000, each = 1 + fuzz_take(in, 1) % TDM_HEADER_BYTES;
	bool header = fuzz_take(in, 1) & 1 && fibre.used >= TDM_FRAME_BYTES;

	for (unsigned n = 0; n < each; n++) {
		pattern[n] = header ? fibre.bytes[fibre.used - TDM_FRAME_BYTES + n]
				    : (uint8_t)fuzz_take(in, 1);
	}
	for (unsigned n = 0; n < length; n += each) {
		lay_bytes(pattern, length - n < each ? length - n : each);
	}
}

static void lay(struct fuzz_input *in)
{
	uint32_t at, cut;

	fibre.used = 0;
	fibre.sequence = FIRST - 7;
	for (unsigned n = 0; n < 200 && in->left > 0 && fibre.used < sizeof(fibre.bytes); n++) {
		unsigned what = fuzz_take(in, 1);

		switch (what & 7) {
		case 0:
		case 1:
		case 2:
			for (unsigned k = 0; k <= what >> 3; k++) {
				lay_frame(0, 0);
			}
			break;
		case 3:
			lay_frame(what >> 3, fuzz_take(in, 2));
			break;
		case 4:
			lay_pattern(in);
			break;
		case 5:
			cut = fuzz_take(in, 2);
			fibre.used -= cut < fibre.used ? cut : fibre.used;
			break;
		case 6:
			at = fuzz_take(in, 3);
			fibre.bytes[fibre.used ? at % fibre.used : 0] ^= (uint8_t)(1 + (what >> 3));
			break;
		default: /* the floor counts on without us */
			fibre.sequence += what >> 3;
			break;
		}
	}
}

static void make_plan(struct fuzz_input *in)
{
	unsigned left = fibre.used / TDM_FRAME_BYTES;

	fibre.segments = 0;
	while (left > 0 && fibre.segments < SEGMENTS) {
		unsigned what = fibre.segments + 1 < SEGMENTS ? fuzz_take(in, 1) : 0;
		unsigned cells = what ? 1 + (what >> 2) : left;

		cells = cells < left ? cells : left;
		fibre.plan[fibre.segments].gap = (enum tdm_loss)(what & 3);
		fibre.plan[fibre.segments++].cells = cells;
		left -= cells;
	}
}

static void on_verdict(void *context, const struct tdm_verdict *v)
{
	struct log *log = context;
	struct verdict *to = &log->verdict[log->count];
	struct tdm_header header;

	must(log->count < CELLS && v->count == FIRST + log->count && v->loss < TDM_LOSSES);
	memset(to, 0, sizeof(*to));
	to->v.count = v->count;
	to->v.loss = v->loss;
	to->v.has_header = v->has_header;
	if (v->has_header) {
		to->crc = v->header.sequence ^ (uint32_t)v->header.flags << 24;
	}
	if (v->loss == TDM_GOOD) {
		to->v.floor_frame = v->floor_frame;
		to->v.offset = v->offset;
		to->v.step = v->step;
		must(v->has_header && tdm_frame_check(v->frame, &header) == TDM_OK);
		must(v->floor_frame <= v->count && v->floor_frame % 8000 == header.time.frame);
		to->crc ^= tdm_crc32c(v->frame, TDM_FRAME_BYTES);
	}
	log->count++;
}

/* Bytes of the caller's, gone behind the call. */
static void push(struct tdm_deframe *d, unsigned cell, unsigned cells, struct log *log)
{
	size_t length = (size_t)cells * TDM_FRAME_BYTES;
	uint8_t *bytes = malloc(length);

	must(bytes);
	memcpy(bytes, fibre.bytes + (size_t)cell * TDM_FRAME_BYTES, length);
	tdm_deframe_push(d, bytes, cells, FIRST + cell, on_verdict, log);
	free(bytes);
}

static void feed(unsigned each, struct log *log)
{
	struct tdm_deframe *d = tdm_deframe_create(KEEP);
	struct tdm_deframe_stats stats;
	unsigned cell = 0;
	uint64_t sum = 0;

	must(d);
	log->count = 0;
	for (unsigned s = 0; s < fibre.segments; s++) {
		unsigned end = cell + fibre.plan[s].cells;

		if (fibre.plan[s].gap) {
			tdm_deframe_gap(d, end - cell, FIRST + cell, fibre.plan[s].gap, on_verdict,
					log);
			cell = end;
		}
		while (cell < end) {
			unsigned n = end - cell < each ? end - cell : each;

			push(d, cell, n, log);
			cell += n;
		}
	}
	tdm_deframe_gap(d, 0, FIRST + cell, TDM_LOSS_LINK_DOWN, on_verdict, log);
	must(log->count == cell);
	tdm_deframe_stats(d, &stats);
	for (unsigned i = 0; i < TDM_LOSSES; i++) {
		sum += stats.cells[i];
	}
	must(sum == cell);
	tdm_deframe_destroy(d);
}

static void try_fibre(struct fuzz_input *in)
{
	static struct log whole, single, some;
	unsigned each = 2 + fuzz_take(in, 1) % 7, bytes = fuzz_take(in, 1);
	struct fuzz_input plan = *in;

	/* The plan first, of so many bytes; then what is laid. */
	plan.left = bytes < in->left ? bytes : in->left;
	in->at += plan.left;
	in->left -= plan.left;
	lay(in);
	make_plan(&plan);
	feed(CELLS, &whole);
	feed(1, &single);
	feed(each, &some);
	must(whole.count == single.count && whole.count == some.count);
	must(memcmp(whole.verdict, single.verdict, whole.count * sizeof(whole.verdict[0])) == 0);
	must(memcmp(whole.verdict, some.verdict, whole.count * sizeof(whole.verdict[0])) == 0);
}

/* --------------------------------------------------------------------------------------- hits */

/* Hit by hit; false: one is not legal. */
static bool walk(struct hit_run *r, uint64_t stamp_bits)
{
	const uint8_t *p = r->from;
	uint8_t *copy = r->copy;

	r->hits = 0;
	r->left = r->bytes;
	r->earliest = UINT32_MAX;
	r->latest = 0;
	while (r->left >= HIT_HEADER_BYTES) {
		struct hit_walk w = hit_walk_look(p);

		must(w.legal == hit_legal(p) && w.bytes == hit_bytes(p));
		if (!w.legal) {
			return false;
		}
		if (w.bytes > r->left) {
			break;
		}
		hit_walk_stamp(copy, w.time, stamp_bits);
		r->earliest = w.born < r->earliest ? w.born : r->earliest;
		r->latest = w.born > r->latest ? w.born : r->latest;
		r->hits++;
		r->left -= w.bytes;
		p += w.bytes;
		copy += w.bytes;
	}
	return true;
}

static void same_hit(const uint8_t *bytes)
{
	uint8_t again[HIT_HEADER_BYTES];
	struct hit h;

	hit_unpack(bytes, &h);
	hit_pack(&h, again);
	again[HIT_SHAPE] |= bytes[HIT_SHAPE] & 0x40; /* the unused bit */
	if (hit_legal(bytes)) {
		must(memcmp(again, bytes, sizeof(again)) == 0);
	}
	must(!hit_legal_stamped(bytes) || (hit_legal(bytes) && h.second <= HIT_SECOND_MAX));
}

struct slot {
	uint8_t *from, *copy, *wanted;
	uint32_t bytes;
};

/* Headers may be read as if they were whole. */
static struct slot make_slot(const uint8_t *data, size_t size)
{
	size_t room = size + HIT_HEADER_BYTES;
	struct slot s = {calloc(1, room), calloc(1, room), calloc(1, room), (uint32_t)size};

	must(s.from && s.copy && s.wanted);
	if (size > 0) {
		memcpy(s.from, data, size);
		memcpy(s.copy, data, size);
		memcpy(s.wanted, data, size);
	}
	return s;
}

static void free_slot(struct slot *s)
{
	free(s->from);
	free(s->copy);
	free(s->wanted);
}

static void try_hits(const uint8_t *data, size_t size, unsigned n, uint64_t stamp_bits)
{
	size_t half = n == 2 ? size / 2 : size;
	struct slot slot[2] = {make_slot(data, half), make_slot(data + half, size - half)};
	struct hit_run quick[2], slow[2];
	bool legal = true, done;

	for (unsigned k = 0; k < n; k++) {
		quick[k] = (struct hit_run){slot[k].from, slot[k].copy, slot[k].bytes, 0, 0, 0, 0};
		slow[k] = (struct hit_run){slot[k].from, slot[k].wanted, slot[k].bytes, 0, 0, 0, 0};
		legal = walk(&slow[k], stamp_bits) && legal;
	}
	done = hit_run(quick, n, stamp_bits);
	must(!done || legal);
	for (unsigned k = 0; k < n && done; k++) {
		must(quick[k].hits == slow[k].hits && quick[k].left == slow[k].left);
		must(quick[k].hits == 0 ||
		     (quick[k].earliest == slow[k].earliest && quick[k].latest == slow[k].latest));
		must(memcmp(slot[k].copy, slot[k].wanted, slot[k].bytes) == 0);
	}
	/* It may leave it to the slow one only where something is wrong, or the processor is old. */
	if (legal && !done) {
		struct hit_run nothing = {slot[0].from, slot[0].copy, 0, 0, 0, 0, 0};

		must(!hit_run(&nothing, 1, 0));
	}
	free_slot(&slot[0]);
	free_slot(&slot[1]);
}

/* ------------------------------------------------------------------------------------------- */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = {data, size};
	struct hit_stamp stamp;
	unsigned what = fuzz_take(&in, 1);

	if (what == 'f') {
		try_fibre(&in);
		return 0;
	}
	hit_stamp_of((int64_t)((uint64_t)fuzz_take(&in, 4) << 32 | fuzz_take(&in, 4)),
		     (enum hit_day_origin)(what & 1), &stamp);
	must(stamp.second <= HIT_SECOND_MAX && stamp.day_bcd <= 0x366 && stamp.year_bcd <= 0x99);
	if (in.left > TDM_PMT_STREAM * 2) {
		return 0;
	}
	if (in.left >= HIT_HEADER_BYTES) {
		same_hit(in.at);
	}
	try_hits(in.at, in.left, 1, hit_walk_stamp_bits(&stamp));
	try_hits(in.at, in.left, 2, hit_walk_stamp_bits(&stamp));
	return 0;
}
