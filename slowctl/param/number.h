/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A number as an operator types it: decimal, with a point. */
#ifndef SLOWCTL_PARAM_NUMBER_H
#define SLOWCTL_PARAM_NUMBER_H

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The end of the digits at `p`; *ret_any: there are some. */
static inline const char *number_digits(const char *p, bool *ret_any)
{
	*ret_any = *ret_any || isdigit((unsigned char)*p);
	while (isdigit((unsigned char)*p)) {
		p++;
	}
	return p;
}

/*
 * The number at the beginning of `text`, after blanks: "1450", "-0.5", "1.45e3". *ret_end: the text
 * after it. -EINVAL: no number (hexadecimal, nan and inf are refused), or outside the range of a
 * double. In a locale with a decimal comma a point is refused, never read as the end (our programs
 * keep LC_NUMERIC).
 */
static inline int number_parse(const char *text, double *ret_value, const char **ret_end)
{
	const char *p = text + strspn(text, " \t"), *e;
	bool any = false, exponent = false;
	char *end;
	double value;

	p = number_digits(p + (*p == '-' || *p == '+'), &any);
	p = *p == '.' ? number_digits(p + 1, &any) : p;
	if (*p == 'e' || *p == 'E') {
		e = number_digits(p + 1 + (p[1] == '-' || p[1] == '+'), &exponent);
		p = exponent ? e : p;
	}
	errno = 0;
	value = strtod(text, &end);
	if (!any || end != p || errno || !isfinite(value)) {
		return -EINVAL;
	}
	*ret_value = value;
	*ret_end = p;
	return 0;
}

#endif
