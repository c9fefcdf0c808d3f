/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nanet3-perf bandwidth: the throughput of puts (DMA from memory through the board back to memory,
 * measure.h). Many puts are in flight at a time: up to WINDOW packets, or until the TX ring is full. A put of
 * more than WINDOW / 2 packets is sent alone. One write of the doorbell starts at most BATCH puts. Each size
 * is measured in ROUNDS rounds; the results are the median, the minimum and the maximum of the rounds.
 */
#include <errno.h>
#include <string.h>

#include "driver/perf/measure.h"

#define COUNT  1000u
#define LOW    64u
#define HIGH   (256u << 10)
#define ROUNDS 10u
#define WINDOW 128u /* packets in flight: half of a small TX ring */
#define BATCH  16u  /* puts for a doorbell */

static const struct table figures = {
	.name = "bandwidth",
	.columns = {{"size_bytes", 0},
		    {"mode", -1},
		    {"count", 0},
		    {"MB_per_s", 2},
		    {"min_MB_per_s", 2},
		    {"max_MB_per_s", 2},
		    {"puts_per_s", 0}},
};

struct flow {
	struct loopback *l;
	enum perf_mode mode;
	uint64_t size, window; /* puts that may be in flight */
	uint64_t posted, arrived;
};

/* Wait for one put at least. Puts arrive in the order posted. */
static int reap(struct flow *f)
{
	uint64_t cookie, first = f->l->cookie - f->posted;
	int err = loopback_arrival(f->l, f->mode, false, &cookie);

	if (err == 0) {
		f->arrived = cookie - first;
	}
	return err;
}

/* Post up to a batch. A ring that is full has the doorbell rung for what came before. */
static int post(struct flow *f, uint64_t count)
{
	uint64_t room = f->window - (f->posted - f->arrived);
	uint64_t n = count - f->posted < room ? count - f->posted : room;

	n = n < BATCH ? n : BATCH;
	for (uint64_t i = 0; i < n; i++) {
		int err = loopback_put(f->l, 0, 0, f->size, i + 1 < n ? NANET3_PUT_MORE : 0);

		if (err == -EAGAIN && f->posted > f->arrived) {
			return 0;
		}
		if (err < 0) {
			return err;
		}
		f->posted++;
	}
	return 0;
}

static int flow(struct loopback *l, enum perf_mode mode, uint64_t size, uint64_t count,
		uint64_t *ret_ns)
{
	uint64_t packets = (size + NANET3_PAGE - 1) / NANET3_PAGE, begin = nanet3_now_ns();
	struct flow f = {.l = l, .mode = mode, .size = size};
	int err = 0;

	f.window = packets >= WINDOW ? 1 : WINDOW / packets;
	while (f.arrived < count && err == 0) {
		/* Half a window at a time, so that there is something to batch. */
		if (f.posted < count && f.posted - f.arrived <= f.window / 2) {
			err = post(&f, count);
		} else {
			err = reap(&f);
		}
	}
	*ret_ns = nanet3_now_ns() - begin;
	return err;
}

static int report(struct results *r, enum perf_mode mode, uint64_t size, uint64_t part,
		  struct samples *samples)
{
	struct summary s = samples_summary(samples);
	double bytes = (double)size * (double)part;

	return table_add(&r->figures, (double)size, perf_mode_name(mode), (double)(part * s.count),
			 bytes * 1e3 / (double)s.p50, bytes * 1e3 / (double)s.max,
			 bytes * 1e3 / (double)s.min, (double)part * 1e9 / (double)s.p50);
}

static int one_size(const struct perf_options *o, struct loopback *l, uint64_t size,
		    struct results *r)
{
	uint64_t part = ((o->count != 0 ? o->count : COUNT) + ROUNDS - 1) / ROUNDS, ns = 0;
	struct samples samples[PERF_MODES];
	int err = samples_make(samples, ROUNDS);

	for (unsigned round = 0; round < ROUNDS && err == 0; round++) {
		for_each_mode (o, m) {
			err = err == 0 ? flow(l, m, size, part, &ns) : err;
			samples_add(&samples[m], ns);
		}
	}
	for_each_mode (o, m) {
		err = err == 0 ? report(r, m, size, part, &samples[m]) : err;
	}
	samples_free(samples);
	return err;
}

int measure_bandwidth(const struct perf_options *o, struct nanet3 *b, struct results *r)
{
	r->figures = figures;
	return measure_sizes(o, b, r, LOW, HIGH, one_size);
}
