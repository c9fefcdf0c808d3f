/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See usage.h. */
#include "tests/bench/usage.h"

#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

uint64_t bench_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

double bench_cpu_s(void)
{
	struct rusage r;

	getrusage(RUSAGE_SELF, &r);
	return (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) +
	       (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) * 1e-6;
}

void bench_print_latency(struct samples *s)
{
	struct summary sum = samples_summary(s);
	size_t at = 0;

	printf("{\"n\":%zu,\"p50\":%.1f,\"p99\":%.1f,\"p999\":%.1f,\"max\":%.1f,\"histogram\":[",
	       sum.count, (double)sum.p50 * 1e-3, (double)sum.p99 * 1e-3,
	       (double)samples_quantile(s, 0.999) * 1e-3, (double)sum.max * 1e-3);
	for (uint64_t below = 1000; at < s->count; below *= 2) {
		size_t begin = at;

		while (at < s->count && s->ns[at] < below) {
			at++;
		}
		if (at > begin) {
			printf("%s[%llu,%zu]", begin ? "," : "", (unsigned long long)below / 1000,
			       at - begin);
		}
	}
	printf("]}");
}
