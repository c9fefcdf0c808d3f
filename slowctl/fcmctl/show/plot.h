/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A parameter's history as a small plot of a terminal: values over time as dots (braille, or '*' where the
 * terminal knows no UTF-8), times that nothing is known of left open, limits as a line where they are in
 * sight. What stands still stands until the next sample, but no longer than 15 minutes: an unchanged value is
 * kept every 10. No I/O.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "slowctl/fcmctl/show/writer.h"

#define PLOT_WIDTH_MAX 240u

struct plot_frame {
	double from, to; /* UTC s; from NaN: the first sample's */
	bool utf8;
};

/* The answer of param.history, with a heading above and least, greatest and last value below. */
void plot_history(struct writer *w, const json_t *result, const struct plot_frame *frame);
