// SPDX-License-Identifier: GPL-2.0-or-later
/* Text put together piece by piece. See text.h. */
#include "daemon/core/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static void add(char *text, size_t size, const char *format, va_list ap)
{
	size_t used = strlen(text);

	vsnprintf(text + used, size - used, format, ap);
}

void text_whole(char *text)
{
	size_t length = strlen(text), begin = length;

	while (begin > 0 && length - begin < 3 && ((unsigned char)text[begin - 1] & 0xc0) == 0x80) {
		begin--;
	}
	if (begin > 0 && (unsigned char)text[begin - 1] >= 0xc0) {
		unsigned char first = (unsigned char)text[begin - 1];
		size_t wanted = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;

		if (length - (begin - 1) < wanted) {
			text[begin - 1] = '\0';
		}
	}
}

void text_add(char *text, size_t size, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	add(text, size, format, ap);
	va_end(ap);
}

void text_list(char *text, size_t size, const char *format, ...)
{
	va_list ap;

	if (*text) {
		text_add(text, size, ", ");
	}
	va_start(ap, format);
	add(text, size, format, ap);
	va_end(ap);
}

const char *text_bits(char *text, size_t size, const char *name, uint32_t bits)
{
	*text = '\0';
	for (unsigned n = 0; n < 32; n++) {
		if (bits & 1u << n) {
			text_list(text, size, "%s%u", name, n);
		}
	}
	return text;
}

const char *text_utc(char *text, size_t size, int64_t utc_ns)
{
	time_t utc_s = (time_t)(utc_ns / 1000000000);
	struct tm tm;

	if (!gmtime_r(&utc_s, &tm) || !strftime(text, size, "%Y-%m-%d %H:%M:%S", &tm)) {
		snprintf(text, size, "a date out of range");
	}
	return text;
}
