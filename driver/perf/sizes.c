/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Repeats a measurement for each packet size of a range; samples of both modes (measure.h). */
#include <stdio.h>
#include <string.h>

#include "driver/perf/measure.h"

int samples_make(struct samples samples[PERF_MODES], size_t room)
{
	int err = samples_create(&samples[0], room), other = samples_create(&samples[1], room);

	return err < 0 ? err : other;
}

void samples_free(struct samples samples[PERF_MODES])
{
	samples_destroy(&samples[0]);
	samples_destroy(&samples[1]);
}

int measure_sizes(const struct perf_options *o, struct nanet3 *b, struct results *r, uint64_t low,
		  uint64_t high, one_size_fn one_size)
{
	struct loopback l;
	int err;

	low = o->size_low != 0 ? o->size_low : low;
	high = o->size_low != 0 ? o->size_high : high;
	err = loopback_create(b, high, &l);
	if (err < 0) {
		strcpy(r->note, "registering buffers");
		return err;
	}
	for (uint64_t size = low; size <= high && err == 0; size *= 2) {
		err = one_size(o, &l, size, r);
		if (err < 0) {
			snprintf(r->note, sizeof(r->note), "puts of %llu bytes",
				 (unsigned long long)size);
		}
	}
	loopback_destroy(&l);
	return err;
}
