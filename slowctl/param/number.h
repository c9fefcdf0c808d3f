/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A number as an operator types it: decimal, with a point. */
#pragma once

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/*
 * The number at the beginning of `text`, after blanks: "1450", "-0.5", "1.45e3". *ret_end: the text after it. -EINVAL:
 * no number (hexadecimal, nan and inf are refused), or outside the range of a double. In a locale with a decimal comma
 * a point is refused, never read as the end (our programs keep LC_NUMERIC).
 */
static inline int number_parse(const char *text, double *ret_value, const char **ret_end)
{
	const char *first = text + strspn(text, " \t");
	const char *digit = first + (*first == '-' || *first == '+');
	char *end;
	double value;

	errno = 0;
	value = strtod(first, &end);
	if (end == first || errno || !isfinite(value) || *end == '.' ||
	    isalpha((unsigned char)*digit) ||
	    strspn(first, "+-.0123456789eE") < (size_t)(end - first)) {
		return -EINVAL;
	}
	*ret_value = value;
	*ret_end = end;
	return 0;
}
