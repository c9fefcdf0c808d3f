/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bins as a table with bars: each line has its numbers, so the bar is only for the eye. Blocks of Unicode, or '#' where
 * the terminal knows no UTF-8. No I/O.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "slowctl/fcmctl/show/writer.h"

#define BARS_CELLS 40u /* of the fullest bin */

struct bars {
	const char *unit;    /* of `from`; "": none */
	const char *counted; /* "hits" */
	bool utf8;
	bool numbers_only; /* no bars: for programs */
};

/* `bins`: [[from, count], ..] side by side; `width` of each; `below` and `above`: how many are outside. */
void bars_table(struct writer *w, const struct bars *bars, const json_t *bins, double width,
		long long below, long long above);
