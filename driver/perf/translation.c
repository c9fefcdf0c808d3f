/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The time of address translation (measure.h). Puts of eight bytes are posted behind a doorbell
 * that is rung once for all of a batch, and timed from there to the last one's arrival: the calls
 * that post them do not count. A batch has either
 *
 *   hit   one page all the time
 *   walk  a page after the other of more pages than any TLB holds
 *   miss  an offset that is in no table, until the event that says so
 *
 * and the board's own counters have to bear that out.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "driver/perf/measure.h"

#define BATCHES	  200u
#define BATCH	  64u /* puts; fewer where the TX ring takes fewer */
#define PUT_BYTES 8u
#define PAGES                                                                                      \
	1024u /* of the destination: many more than the papers' board keeps, about a hundred */

enum kind { KIND_HIT, KIND_WALK, KIND_MISS, KINDS };
static const char *const kind_names[KINDS] = {"hit", "walk", "miss"};

static const struct table figures = {
	.name = "translation",
	.columns = {{"case", -1},
		    {"mode", -1},
		    {"count", 0},
		    {"p50_ns", 0},
		    {"mean_ns", 0},
		    {"min_ns", 0},
		    {"p99_ns", 0},
		    {"hits", 2},
		    {"walks", 2},
		    {"misses", 2}},
};

struct counters {
	uint32_t hits, walks, misses;
};

struct cell_of {
	struct samples samples;	      /* ns a put */
	uint64_t hits, walks, misses; /* while measuring */
	uint64_t puts;
};

struct translation {
	struct loopback l;
	unsigned batch;
	uint64_t page; /* of the walk, goes on from batch to batch */
	struct cell_of cells[KINDS][PERF_MODES];
};

static int read_counters(struct nanet3 *b, struct counters *ret)
{
	uint32_t v[3];
	int err = nanet3_reg_read(b, NANET3_REG_TLB_HITS, v, 3);

	if (err == 0) {
		*ret = (struct counters){v[0], v[1], v[2]};
	}
	return err;
}

/* The hit's page, 0, stays out of the walk. */
static uint64_t walk_page(struct translation *t)
{
	return 1 + t->page++ % (PAGES - 1);
}

/* Post the batch, ring for it with the last. -EAGAIN: the ring takes no more than *ret_posted. */
static int post(struct translation *t, enum kind kind, unsigned *ret_posted, uint64_t *ret_begin)
{
	uint64_t miss = t->l.bytes;

	for (unsigned i = 0; i < t->batch; i++) {
		bool last = i + 1 == t->batch;
		uint32_t flags = (last ? 0 : NANET3_PUT_MORE) |
				 (kind == KIND_MISS ? NANET3_PUT_UNCHECKED : 0);
		uint64_t to = kind == KIND_MISS	  ? miss
			      : kind == KIND_WALK ? walk_page(t) * NANET3_PAGE
						  : 0;
		int err;

		*ret_posted = i;
		*ret_begin = perf_now_ns();
		err = loopback_put(&t->l, 0, to, PUT_BYTES, flags);
		if (err < 0) {
			return err;
		}
	}
	*ret_posted = t->batch;
	return 0;
}

static int batch(struct translation *t, enum kind kind, enum perf_mode mode)
{
	struct cell_of *cell = &t->cells[kind][mode];
	struct counters before = {0}, after = {0};
	uint64_t begin = 0, end;
	unsigned posted;
	int err, full;

	err = read_counters(t->l.board, &before);
	if (err < 0) {
		return err;
	}
	full = post(t, kind, &posted, &begin);
	if (full < 0 && (full != -EAGAIN || posted == 0)) {
		return full;
	}
	err = loopback_settle(&t->l, mode, kind == KIND_MISS);
	end = perf_now_ns();
	if (err < 0) {
		return err;
	}
	if (full == -EAGAIN) { /* the doorbell was rung in the middle: no figure */
		t->batch = posted;
		return full;
	}
	err = read_counters(t->l.board, &after);
	if (err < 0) {
		return err;
	}
	samples_add(&cell->samples, (end - begin) / t->batch);
	cell->puts += t->batch;
	cell->hits += after.hits - before.hits;
	cell->walks += after.walks - before.walks;
	cell->misses += after.misses - before.misses;
	return 0;
}

/* The counters are the board's: others may add to them, none subtracts. A few may be off: hits
 * begin with a walk, and a TLB may keep a page longer than a simple one does. */
static void check_evidence(struct results *r, enum kind kind, const struct cell_of *cell)
{
	uint64_t evidence = kind == KIND_HIT	? cell->hits
			    : kind == KIND_WALK ? cell->walks
						: cell->misses;

	if (evidence * 10 < cell->puts * 9) {
		r->unsound = true;
		snprintf(r->note, sizeof(r->note),
			 "%s: the board counts %" PRIu64 " of %" PRIu64 " puts as such",
			 kind_names[kind], evidence, cell->puts);
	}
}

static int tell(struct results *r, enum kind kind, enum perf_mode mode, struct cell_of *cell)
{
	struct summary s = samples_summary(&cell->samples);
	double puts = (double)cell->puts;

	check_evidence(r, kind, cell);
	return table_add(&r->figures, kind_names[kind], perf_mode_name(mode), puts, (double)s.p50,
			 s.mean, (double)s.min, (double)s.p99, (double)cell->hits / puts,
			 (double)cell->walks / puts, (double)cell->misses / puts);
}

static int round_of_all(const struct perf_options *o, struct translation *t)
{
	int err = 0;

	for (int m = 0; m < PERF_MODES; m++) {
		for (int k = 0; k < KINDS && err == 0 && o->modes[m]; k++) {
			do {
				err = batch(t, (enum kind)k, (enum perf_mode)m);
			} while (err == -EAGAIN);
		}
	}
	return err;
}

static int measure(const struct perf_options *o, struct translation *t, struct results *r)
{
	uint64_t count = o->count != 0 ? o->count : BATCHES;
	int err = 0;

	for (int i = 0; i < KINDS * PERF_MODES && err == 0; i++) {
		err = samples_create(&t->cells[i / PERF_MODES][i % PERF_MODES].samples, count);
	}
	for (uint64_t i = 0; i < count && err == 0; i++) {
		err = round_of_all(o, t);
	}
	for (int i = 0; i < KINDS * PERF_MODES && err == 0; i++) {
		enum perf_mode mode = (enum perf_mode)(i % PERF_MODES);

		if (o->modes[mode]) {
			err = tell(r, (enum kind)(i / PERF_MODES), mode,
				   &t->cells[i / PERF_MODES][mode]);
		}
	}
	return err;
}

int measure_translation(const struct perf_options *o, struct nanet3 *b, struct results *r)
{
	struct translation t = {.batch = BATCH};
	int err = loopback_create(b, (size_t)PAGES * NANET3_PAGE, &t.l);

	r->figures = figures;
	if (err < 0) {
		strcpy(r->note, "registering buffers");
		return err;
	}
	err = measure(o, &t, r);
	if (err < 0) {
		strcpy(r->note, "puts of 8 bytes");
	}
	for (int i = 0; i < KINDS * PERF_MODES; i++) {
		samples_destroy(&t.cells[i / PERF_MODES][i % PERF_MODES].samples);
	}
	loopback_destroy(&t.l);
	return err;
}
