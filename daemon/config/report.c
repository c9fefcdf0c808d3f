// SPDX-License-Identifier: GPL-2.0-or-later
/* Mistakes of a configuration: where, and what is wrong. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "daemon/config/private.h"

#define ERRORS_MAX 200u

void config_complain(struct config_report *report, const char *file, unsigned line,
		     const char *format, ...)
{
	char what[512], *text = NULL;
	char **errors;
	va_list args;
	int r;

	if (report->errors_count >= ERRORS_MAX) {
		return;
	}
	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	if (file && line) {
		r = asprintf(&text, "%s:%u: %s", file, line, what);
	} else {
		r = asprintf(&text, "%s: %s", file ? file : "command line", what);
	}
	errors = reallocarray(report->errors, report->errors_count + 1, sizeof(*errors));
	if (errors) {
		report->errors = errors;
	}
	if (r < 0 || !errors) {
		report->out_of_memory = true;
		free(r < 0 ? NULL : text);
		return;
	}
	report->errors[report->errors_count++] = text;
}
