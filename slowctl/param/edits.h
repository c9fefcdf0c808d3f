/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The distance between a mistyped word and a known one, for "did you mean". */
#pragma once

#include <limits.h>

#define EDITS_MAX 63u

/* The edits (insert, delete, replace a letter, swap two neighbours) that make `b` of `a`; UINT_MAX: one of them has
 * more than EDITS_MAX bytes. */
unsigned edits(const char *a, const char *b);
