/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counted nouns in texts for operators. */
#pragma once

/* The ending of the noun: "1 frame", "2 frames". */
static inline const char *plural(unsigned long long count)
{
	return count == 1 ? "" : "s";
}
