// SPDX-License-Identifier: GPL-2.0-or-later
/* What fcm-convert says on stderr: see report.h. */
#include "daemon/convert/report.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define EVERY_S 0.5

static double mono_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

void report_begin(struct report *r, bool quiet, uint64_t bytes_all)
{
	*r = (struct report){
		.quiet = quiet,
		.terminal = isatty(STDERR_FILENO),
		.began_s = mono_s(),
		.bytes_all = bytes_all,
	};
}

double report_seconds(const struct report *r)
{
	return mono_s() - r->began_s;
}

void report_progress(struct report *r, const char *what, uint64_t bytes, uint64_t missing)
{
	double now = mono_s(), mb = (double)bytes / 1e6, rate = mb / (now - r->began_s + 1e-6);
	double all = (double)r->bytes_all / 1e6;

	if (r->quiet || !r->terminal || now - r->last_s < EVERY_S) {
		return;
	}
	r->last_s = now;
	r->shown = true;
	fprintf(stderr, "\r\033[Kfcm-convert: %s%.0f", what, mb);
	if (all > mb && rate > 0) {
		fprintf(stderr, " of %.0f MB, %.0f MB/s, %.0f s left", all, rate,
			(all - mb) / rate);
	} else {
		fprintf(stderr, " MB, %.0f MB/s", rate);
	}
	if (missing > 0) {
		fprintf(stderr, ", %" PRIu64 " frames missing", missing);
	}
}

void report_clear(struct report *r)
{
	if (r->shown) {
		fputs("\r\033[K", stderr);
		r->shown = false;
	}
}

void report_say(struct report *r, const char *format, ...)
{
	va_list args;

	report_clear(r);
	fputs("fcm-convert: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

void report_missing(struct report *r, const struct missing *m, bool live)
{
	char text[300];

	for (unsigned link = 0; link < FCM_LINKS; link++) {
		for (unsigned reason = 1; reason < OUT_REASONS; reason++) {
			if (missing_of_link(m, link, (enum out_reason)reason) > 0) {
				missing_words(m, link, (enum out_reason)reason, live, text,
					      sizeof(text));
				report_say(r, "missing: link %u, %s", link, text);
			}
		}
	}
}
