/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What fcm-convert says on stderr: progress on a terminal, and at the end what was missing. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "daemon/convert/missing.h"

struct report {
	bool quiet, terminal, shown; /* a line of progress is there */
	double began_s, last_s;
	uint64_t bytes_all; /* of the input; 0: unknown */
};

void report_begin(struct report *r, bool quiet, uint64_t bytes_all);
/* At most twice a second. `what`: "" or a word before the figures. */
void report_progress(struct report *r, const char *what, uint64_t bytes, uint64_t missing);
/* The line of progress goes. */
void report_clear(struct report *r);
/* Always said, also with --quiet. */
void report_say(struct report *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* What is missing by link and reason; nothing when there is none. */
void report_missing(struct report *r, const struct missing *m, bool live);
double report_seconds(const struct report *r);
