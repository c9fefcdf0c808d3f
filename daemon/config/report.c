// SPDX-License-Identifier: GPL-2.0-or-later
/* The report of one reading: mistakes, and the origin of each value. */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "daemon/config/private.h"

void config_complain(struct config_report *report, const char *file, unsigned line,
		     const char *format, ...)
{
	char what[512], *text = NULL;
	va_list args;
	int r;

	if (report->errors_count >= CONFIG_ERRORS_MAX) {
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
	if (r < 0) {
		report->out_of_memory = true;
		return;
	}
	report->errors[report->errors_count++] = text;
}

size_t config_errors(const struct config_report *report)
{
	return report->errors_count;
}

const char *config_error(const struct config_report *report, size_t index)
{
	return index < report->errors_count ? report->errors[index] : NULL;
}

void config_print_errors(const struct config_report *report, FILE *out)
{
	for (size_t i = 0; i < report->errors_count; i++) {
		fprintf(out, "%s\n", report->errors[i]);
	}
}

static struct origin *find_origin(const struct config_report *report, size_t value)
{
	for (size_t i = 0; i < report->origins_count; i++) {
		if (report->origins[i].value == value) {
			return (struct origin *)&report->origins[i];
		}
	}
	return NULL;
}

const char *config_origin(const struct config_report *report, size_t value)
{
	const struct origin *o = find_origin(report, value);

	return o ? o->text : "default";
}

void config_note_origin(struct config_report *report, size_t value, const char *section,
			const char *key, const char *file, unsigned line, unsigned layer)
{
	struct origin *o = find_origin(report, value);
	bool duplicate = o && o->layer == layer;
	char *text = NULL;
	int r = file ? asprintf(&text, "%s:%u", file, line) : asprintf(&text, "command line");

	if (r < 0) {
		report->out_of_memory = true;
		return;
	}
	if (duplicate && file) {
		config_complain(report, file, line, "[%s] %s is a duplicate: first at %s", section,
				key, o->text);
	}
	if (o) {
		free(o->text);
	} else {
		assert(report->origins_count < CONFIG_ORIGINS_MAX);
		o = &report->origins[report->origins_count++];
	}
	*o = (struct origin){value, layer, text};
}

void config_report_destroy(struct config_report *report)
{
	if (!report) {
		return;
	}
	for (size_t i = 0; i < report->errors_count; i++) {
		free(report->errors[i]);
	}
	for (size_t i = 0; i < report->origins_count; i++) {
		free(report->origins[i].text);
	}
	free(report);
}
