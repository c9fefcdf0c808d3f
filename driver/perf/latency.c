/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Latency of one put at a time (measure.h). */
#include <string.h>

#include "driver/perf/measure.h"

#define COUNT  1000u
#define LOW    16u
#define HIGH   4096u
#define ROUNDS 20u
#define WARM   10u /* puts before those that count */

const struct table latency_figures = {
	.name = "latency",
	.columns = {{"size_bytes", 0},
		    {"mode", -1},
		    {"count", 0},
		    {"mean_us", 2},
		    {"p10_us", 2},
		    {"p50_us", 2},
		    {"p99_us", 2},
		    {"min_us", 2},
		    {"max_us", 2}},
};
const struct table latency_histogram = {
	.name = "histogram",
	.columns = {{"size_bytes", 0}, {"mode", -1}, {"low_us", 3}, {"high_us", 3}, {"count", 0}},
};

static int put_many(struct loopback *l, enum perf_mode mode, uint64_t size, uint64_t count,
		    struct samples *samples)
{
	for (uint64_t i = 0; i < count; i++) {
		uint64_t begin = nanet3_now_ns();
		int err = loopback_move(l, mode, 0, 0, size);

		if (err < 0) {
			return err;
		}
		if (samples != NULL) {
			samples_add(samples, nanet3_now_ns() - begin);
		}
	}
	return 0;
}

int latency_report(struct results *r, enum perf_mode mode, uint64_t size, struct samples *samples)
{
	struct summary s = samples_summary(samples);
	const char *name = perf_mode_name(mode);
	struct bin bins[HISTOGRAM_BINS];
	unsigned n = samples_histogram(samples, bins);
	int err = table_add(&r->figures, (double)size, name, (double)s.count, s.mean * 1e-3,
			    (double)s.p10 * 1e-3, (double)s.p50 * 1e-3, (double)s.p99 * 1e-3,
			    (double)s.min * 1e-3, (double)s.max * 1e-3);

	for (unsigned i = 0; i < n && err == 0; i++) {
		err = table_add(&r->histogram, (double)size, name, (double)bins[i].low * 1e-3,
				(double)bins[i].high * 1e-3, (double)bins[i].count);
	}
	return err;
}

static int one_size(const struct perf_options *o, struct loopback *l, uint64_t size,
		    struct results *r)
{
	uint64_t count = o->count != 0 ? o->count : COUNT;
	struct samples samples[PERF_MODES];
	int err = samples_make(samples, count);

	for_each_mode (o, m) {
		err = err == 0 ? put_many(l, m, size, WARM, NULL) : err;
	}
	for (uint64_t done = 0, part; done < count && err == 0; done += part) {
		part = (count + ROUNDS - 1) / ROUNDS;
		part = part < count - done ? part : count - done;
		for_each_mode (o, m) {
			err = err == 0 ? put_many(l, m, size, part, &samples[m]) : err;
		}
	}
	for_each_mode (o, m) {
		err = err == 0 ? latency_report(r, m, size, &samples[m]) : err;
	}
	samples_free(samples);
	return err;
}

int measure_latency(const struct perf_options *o, struct nanet3 *b, struct results *r)
{
	r->figures = latency_figures;
	r->histogram = latency_histogram;
	return measure_sizes(o, b, r, LOW, HIGH, one_size);
}
