/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The edit distance of two words: see edits.h. Cell [i][k] is that of the first i letters from the first k. */
#include "slowctl/param/edits.h"

#include <string.h>

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

unsigned edits(const char *a, const char *b)
{
	unsigned d[EDITS_MAX + 1][EDITS_MAX + 1];
	size_t la = strlen(a), lb = strlen(b);

	if (la > EDITS_MAX || lb > EDITS_MAX) {
		return UINT_MAX;
	}
	for (size_t i = 0; i <= la; i++) {
		for (size_t k = 0; k <= lb; k++) {
			if (i == 0 || k == 0) {
				d[i][k] = (unsigned)(i + k);
				continue;
			}
			d[i][k] = least(least(d[i - 1][k], d[i][k - 1]) + 1,
					d[i - 1][k - 1] + (a[i - 1] != b[k - 1]));
			if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1]) {
				d[i][k] = least(d[i][k], d[i - 2][k - 2] + 1);
			}
		}
	}
	return d[la][lb];
}
