/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The time of address translation (measure.h). A batch of puts of eight bytes is posted, then the
 * doorbell is rung once. The time counts from there to the arrival of the last put, so it excludes the
 * calls that post them. A batch is one of
 *
 *   hit   always the same page
 *   walk  one page after the other, of more pages than any TLB holds
 *   miss  an offset that is in no table, until the event that reports it
 *
 * and the board's own counters have to confirm it.
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

/* What the board's counters say of the puts of a kind: its registers come in the order of the kinds. */
struct evidence {
	uint64_t puts;
	uint64_t counts[KINDS];
};

struct translation {
	struct loopback l;
	unsigned batch;
	uint64_t page;				   /* of the walk, goes on from batch to batch */
	struct samples samples[KINDS][PERF_MODES]; /* ns a put */
	struct evidence evidence[KINDS][PERF_MODES];
};

/* The hit's page, 0, stays out of the walk. */
static uint64_t walk_page(struct translation *t)
{
	return 1 + t->page++ % (PAGES - 1);
}

/* Post the batch, ring for it with the last. How many the ring has taken, fewer when it is full. */
static int post(struct translation *t, enum kind kind, uint64_t *ret_begin)
{
	for (unsigned i = 0; i < t->batch; i++) {
		bool last = i + 1 == t->batch;
		uint32_t flags = (last ? 0 : NANET3_PUT_MORE) |
				 (kind == KIND_MISS ? NANET3_PUT_UNCHECKED : 0);
		uint64_t to = kind == KIND_MISS	  ? t->l.bytes
			      : kind == KIND_WALK ? walk_page(t) * NANET3_PAGE
						  : 0;
		int err;

		*ret_begin = nanet3_now_ns();
		err = loopback_put(&t->l, 0, to, PUT_BYTES, flags);
		if (err < 0) {
			return err == -EAGAIN && i > 0 ? (int)i : err;
		}
	}
	return (int)t->batch;
}

static int batch(struct translation *t, enum kind kind, enum perf_mode mode)
{
	struct evidence *evidence = &t->evidence[kind][mode];
	uint32_t before[KINDS], after[KINDS];
	uint64_t begin = 0, end;
	int err, posted;

	err = nanet3_reg_read(t->l.board, NANET3_REG_TLB_HITS, before, KINDS);
	if (err < 0) {
		return err;
	}
	posted = post(t, kind, &begin);
	if (posted <= 0) {
		return posted;
	}
	err = loopback_settle(&t->l, mode, kind == KIND_MISS);
	end = nanet3_now_ns();
	if (err < 0) {
		return err;
	}
	if ((unsigned)posted < t->batch) { /* the doorbell was rung in the middle: no figure */
		t->batch = (unsigned)posted;
		return -EAGAIN;
	}
	err = nanet3_reg_read(t->l.board, NANET3_REG_TLB_HITS, after, KINDS);
	if (err < 0) {
		return err;
	}
	samples_add(&t->samples[kind][mode], (end - begin) / (unsigned)posted);
	evidence->puts += (unsigned)posted;
	for (int k = 0; k < KINDS; k++) {
		evidence->counts[k] += after[k] - before[k];
	}
	return 0;
}

/* The counters are the board's: others may add to them, none subtracts. A few may be off: hits
 * begin with a walk, and a TLB may keep a page longer than a simple one does. */
static void check_evidence(struct results *r, enum kind kind, const struct evidence *e)
{
	if (e->counts[kind] * 10 < e->puts * 9) {
		r->unsound = true;
		snprintf(r->note, sizeof(r->note),
			 "%s: the board counts %" PRIu64 " of %" PRIu64 " puts as such",
			 kind_names[kind], e->counts[kind], e->puts);
	}
}

static int report(struct results *r, enum kind kind, enum perf_mode mode, struct translation *t)
{
	const struct evidence *e = &t->evidence[kind][mode];
	struct summary s = samples_summary(&t->samples[kind][mode]);
	double puts = (double)e->puts;

	check_evidence(r, kind, e);
	return table_add(&r->figures, kind_names[kind], perf_mode_name(mode), puts, (double)s.p50,
			 s.mean, (double)s.min, (double)s.p99, (double)e->counts[KIND_HIT] / puts,
			 (double)e->counts[KIND_WALK] / puts, (double)e->counts[KIND_MISS] / puts);
}

static int round_of_all(const struct perf_options *o, struct translation *t)
{
	int err = 0;

	for_each_mode (o, m) {
		for (int k = 0; k < KINDS && err == 0; k++) {
			do {
				err = batch(t, (enum kind)k, m);
			} while (err == -EAGAIN);
		}
	}
	return err;
}

static int measure(const struct perf_options *o, struct translation *t, struct results *r)
{
	uint64_t count = o->count != 0 ? o->count : BATCHES;
	int err = 0;

	for (int k = 0; k < KINDS && err == 0; k++) {
		err = samples_make(t->samples[k], count);
	}
	for (uint64_t i = 0; i < count && err == 0; i++) {
		err = round_of_all(o, t);
	}
	for (int k = 0; k < KINDS; k++) {
		for_each_mode (o, m) {
			err = err == 0 ? report(r, (enum kind)k, m, t) : err;
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
	for (int k = 0; k < KINDS; k++) {
		samples_free(t.samples[k]);
	}
	loopback_destroy(&t.l);
	return err;
}
