/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * An error for an operator: a code for programs, a sentence that says what was refused, on which object and why, and
 * one that says what to do. Filled by slowctl and the store, shown by
 * the control server and fcmctl. Plain memory, no ownership.
 */
#pragma once

#include <stdarg.h>
#include <stdio.h>

struct sc_error {
	const char *code;  /* a literal: "not-locked", "out-of-range", ...; NULL: no error yet */
	char message[320]; /* what, which, why */
	char hint[240];	   /* what to do; "" when there is nothing to say */
};

/* Fill `error` (may be NULL) and return `r`, so that a refusal is one line. */
__attribute__((format(printf, 5, 6))) static inline int
sc_fail(struct sc_error *error, int r, const char *code, const char *hint, const char *format, ...)
{
	va_list args;

	if (!error) {
		return r;
	}
	error->code = code;
	snprintf(error->hint, sizeof(error->hint), "%s", hint ? hint : "");
	va_start(args, format);
	vsnprintf(error->message, sizeof(error->message), format, args);
	va_end(args);
	return r;
}
