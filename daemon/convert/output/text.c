// SPDX-License-Identifier: GPL-2.0-or-later
/* Rows as text, facts as JSON: see text.h. */
#include "daemon/convert/output/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SECOND_NS 1000000000ll

/* Digits of a number, faster than printf: hits come by the million. */
static size_t put_unsigned(uint64_t value, char *text)
{
	char digits[20];
	size_t n = 0;

	do {
		digits[n++] = (char)('0' + value % 10);
		value /= 10;
	} while (value > 0);
	for (size_t i = 0; i < n; i++) {
		text[i] = digits[n - 1 - i];
	}
	return n;
}

size_t text_number(int64_t value, char *text)
{
	if (value >= 0) {
		return put_unsigned((uint64_t)value, text);
	}
	text[0] = '-';
	return 1 + put_unsigned(-(uint64_t)value, text + 1);
}

static size_t put_hex(const uint8_t *bytes, size_t n, char *text)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < n; i++) {
		text[2 * i] = digits[bytes[i] >> 4];
		text[2 * i + 1] = digits[bytes[i] & 15];
	}
	return 2 * n;
}

static size_t put_field(const struct field *f, const uint8_t *at, char *text)
{
	uint64_t u8 = 0;
	int64_t i8;
	int32_t i4;
	size_t n;

	switch (f->type) {
	case FIELD_I8:
		memcpy(&i8, at, sizeof(i8));
		return text_number(i8, text);
	case FIELD_I4:
		memcpy(&i4, at, sizeof(i4));
		return text_number(i4, text);
	case FIELD_TEXT:
		n = strnlen((const char *)at, f->bytes);
		memcpy(text, at, n);
		return n;
	case FIELD_BYTES:
		return put_hex(at, f->bytes, text);
	default: /* little-endian, of `bytes` */
		memcpy(&u8, at, f->bytes);
		return put_unsigned(u8, text);
	}
}

size_t text_row(const struct table *t, const void *row, char *text)
{
	size_t n = 0;

	for (const struct field *f = t->fields; f->name; f++) {
		if (f != t->fields) {
			text[n++] = ',';
		}
		n += put_field(f, (const uint8_t *)row + f->at, text + n);
	}
	return n;
}

size_t text_names(const struct table *t, char *text)
{
	size_t n = 0;

	for (const struct field *f = t->fields; f->name; f++) {
		n += (size_t)snprintf(text + n, TEXT_ROW - n, "%s%s", f == t->fields ? "" : ",",
				      f->name);
	}
	return n;
}

void text_utc(int64_t tai_ns, int32_t tai_utc_s, char *text, size_t size)
{
	int64_t utc_ns = tai_ns - tai_utc_s * SECOND_NS;
	const time_t seconds = (time_t)(utc_ns / SECOND_NS);
	char date[24];
	struct tm tm;

	gmtime_r(&seconds, &tm);
	strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(text, size, "%s.%09" PRId64 "Z", date, (int64_t)(utc_ns % SECOND_NS));
}

static void put_string(FILE *f, const char *text)
{
	fputc('"', f);
	for (const char *c = text; *c; c++) {
		if ((unsigned char)*c < 0x20) {
			fprintf(f, "\\u%04x", *c);
		} else {
			fprintf(f, *c == '"' || *c == '\\' ? "\\%c" : "%c", *c);
		}
	}
	fputc('"', f);
}

static void put_text(FILE *f, const char *name, const char *text)
{
	if (text) {
		fprintf(f, " \"%s\": ", name);
		put_string(f, text);
		fputs(",\n", f);
	}
}

static void put_int(FILE *f, const char *name, int64_t value)
{
	fprintf(f, " \"%s\": %" PRId64 ",\n", name, value);
}

char *text_about(const struct about *a, const struct totals *t)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f) {
		return NULL;
	}
	fputs("{\n", f);
	put_text(f, "program", "fcm-convert " FCM_VERSION);
	put_text(f, "WARNING",
		 t->emulated ? "EMULATED DATA: FROM A MODEL, NOT FROM THE SEA" : NULL);
	put_text(f, "source", a->source);
	put_text(f, "command", a->command);
	put_text(f, "host", a->host);
	put_text(f, "station", a->station);
	put_text(f, "recording_json", a->recording_json);
	put_int(f, "created_utc_s", a->created_utc_s);
	put_int(f, "board", t->board);
	put_int(f, "run", t->run);
	put_int(f, "several_runs", t->several_runs);
	put_int(f, "tai_utc", t->tai_utc_s);
	put_int(f, "first_tai_ns", t->first_tai_ns);
	put_int(f, "last_tai_ns", t->last_tai_ns);
	put_int(f, "blocks", (int64_t)t->blocks);
	put_int(f, "hits", (int64_t)t->hits);
	put_int(f, "frames_missing", (int64_t)t->frames_missing);
	put_int(f, "frames_missing_at_edges", (int64_t)t->edge_frames);
	put_int(f, "segments_damaged", (int64_t)t->troubles);
	fprintf(f, " \"complete\": %d\n}\n", t->complete);
	return fclose(f) == 0 ? text : NULL;
}
