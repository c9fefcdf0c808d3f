/* SPDX-License-Identifier: GPL-2.0-or-later */
/* JSON values of the daemon's answers as text: see value.h. */
#include "slowctl/fcmctl/show/value.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "slowctl/fcmctl/show/time.h"

const json_t *value_at(const json_t *object, const char *path)
{
	char key[64];

	while (object != NULL) {
		size_t length = strcspn(path, ".");

		if (length >= sizeof(key)) {
			return NULL;
		}
		memcpy(key, path, length);
		key[length] = '\0';
		object = json_object_get(object, key);
		if (path[length] == '\0') {
			return object;
		}
		path += length + 1;
	}
	return NULL;
}

double value_number(const json_t *object, const char *path)
{
	const json_t *value = value_at(object, path);

	return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

long long value_integer(const json_t *object, const char *path, long long otherwise)
{
	const json_t *value = value_at(object, path);
	long long number;

	if (json_is_integer(value)) {
		number = json_integer_value(value);
	} else if (json_is_real(value) &&
		   fabs(json_real_value(value)) < (double)VALUE_INTEGER_MOST) {
		number = llround(json_real_value(value));
	} else {
		return otherwise;
	}
	return number > VALUE_INTEGER_MOST    ? VALUE_INTEGER_MOST
	       : number < -VALUE_INTEGER_MOST ? -VALUE_INTEGER_MOST
					      : number;
}

const char *value_string(const json_t *object, const char *path, const char *otherwise)
{
	const json_t *value = value_at(object, path);

	return json_is_string(value) ? json_string_value(value) : otherwise;
}

bool value_true(const json_t *object, const char *path)
{
	return json_is_true(value_at(object, path));
}

void value_append(char *text, size_t size, const char *format, ...)
{
	size_t used = strlen(text);
	va_list ap;

	va_start(ap, format);
	vsnprintf(text + used, size - used, format, ap);
	va_end(ap);
}

static void rate_text(double rate, char *buf, size_t size)
{
	double magnitude = fabs(rate);

	if (magnitude < 9999.5) {
		snprintf(buf, size, "%.0f", rate);
	} else if (magnitude < 999950.0) {
		snprintf(buf, size, "%.1f k", rate / 1e3);
	} else if (magnitude < 999.995e6) {
		snprintf(buf, size, "%.2f M", rate / 1e6);
	} else {
		snprintf(buf, size, "%.2f G", rate / 1e9);
	}
}

static bool for_programs;

void value_plain(void)
{
	for_programs = true;
}

/* What spreadsheets and pandas read as a time. */
static void plain_text(double number, enum value_form form, char *buf, size_t size)
{
	if (form == VALUE_TIME || form == VALUE_TIME_MS) {
		ctl_time_text(number, 3, buf, size);
		buf[strcspn(buf, " ")] = 'T';
		value_append(buf, size, "Z");
	} else {
		snprintf(buf, size, "%.10g", number);
	}
}

static void number_text(double number, enum value_form form, char *buf, size_t size)
{
	if (for_programs) {
		plain_text(number, form, buf, size);
		return;
	}
	if (form == VALUE_TIME || form == VALUE_TIME_MS) {
		ctl_time_text(number, form == VALUE_TIME_MS ? 3 : 0, buf, size);
	} else if (form == VALUE_AGE) {
		ctl_span_text(number, buf, size);
	} else if (form == VALUE_RATE) {
		rate_text(number, buf, size);
	} else {
		snprintf(buf, size,
			 form == VALUE_COUNT	   ? "%.0f"
			 : form == VALUE_PS	   ? "%.1f"
			 : form == VALUE_PS_SIGNED ? "%+.1f"
						   : "%.10g",
			 number);
	}
}

/* Of texts or whole numbers: "0,2". */
static void array_text(const json_t *array, char *buf, size_t size)
{
	const json_t *member;
	size_t i;

	*buf = '\0';
	json_array_foreach (array, i, member) {
		value_append(buf, size, "%s", i > 0 ? "," : "");
		if (json_is_string(member)) {
			value_append(buf, size, "%s", json_string_value(member));
		} else {
			value_append(buf, size, "%lld", (long long)json_integer_value(member));
		}
	}
}

const char *value_text(const json_t *value, enum value_form form, char *buf, size_t size)
{
	if (json_is_integer(value) &&
	    (form == VALUE_PLAIN || form == VALUE_COUNT || form == VALUE_TYPED)) {
		snprintf(buf, size, "%lld", (long long)json_integer_value(value));
	} else if (json_is_number(value) && isfinite(json_number_value(value))) {
		number_text(json_number_value(value), form, buf, size);
	} else if (json_is_string(value) && json_string_length(value) > 0) {
		snprintf(buf, size, "%s", json_string_value(value));
	} else if (json_is_boolean(value) && form == VALUE_TYPED) {
		snprintf(buf, size, "%s", json_is_true(value) ? "on" : "off");
	} else if (json_is_boolean(value)) {
		snprintf(buf, size, "%s", json_is_true(value) ? "yes" : "no");
	} else if (json_array_size(value) > 0) {
		array_text(value, buf, size);
	} else {
		snprintf(buf, size, "-");
	}
	return buf;
}

const char *value_word(const json_t *value, const json_t *words, char *buf, size_t size)
{
	double number = json_is_number(value) ? json_number_value(value) : -1.0;

	if (number >= 0.0 && number < (double)json_array_size(words) && number == floor(number)) {
		value = json_array_get(words, (size_t)number);
	}
	return value_text(value, VALUE_PLAIN, buf, size);
}

/* "tower1.floor7", "floor7" without a tower, "-" when no floor has named itself. */
static void floor_text(const json_t *object, char *buf, size_t size)
{
	long long tower = value_integer(object, "tower", 0);
	long long floor = value_integer(object, "floor", 0);

	/* 255: the floor has not said who it is. */
	if (floor <= 0 || floor == 255) {
		snprintf(buf, size, "-");
	} else if (tower <= 0 || tower == 255) {
		snprintf(buf, size, "floor%lld", floor);
	} else {
		snprintf(buf, size, "tower%lld.floor%lld", tower, floor);
	}
}

/* Sum of the counts under the names of losses (of a count per block: its "blocks"), and which are not 0, as text:
 * "13 crc, 80 alignment", "-". */
static long long sum_losses(const json_t *object, char *buf, size_t size)
{
	static const char *const names[] = {"link-down", "board-fifo", "ring-full", "crc",
					    "alignment", "time-fault", "no-member", "slow",
					    "shutdown",	 "pool",       "no-time"};
	long long sum = 0;

	*buf = '\0';
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const json_t *loss = json_object_get(object, names[i]);
		long long count = json_is_object(loss) ? value_integer(loss, "blocks", 0)
						       : value_integer(object, names[i], 0);

		if (count != 0) {
			value_append(buf, size, "%s%lld %s", *buf != '\0' ? ", " : "", count,
				     names[i]);
		}
		sum += count;
	}
	value_append(buf, size, "%s", *buf != '\0' ? "" : "-");
	return sum;
}

enum writer_style value_style(const char *word)
{
	static const struct {
		enum writer_style style;
		const char *words;
	} styles[] = {
		{WRITER_GOOD, "WELL well up locked PASS first DONE good yes alive"},
		{WRITER_WARN, "ATTENTION warning aligning acquiring holdover DRIFT CANCELLED stale "
			      "never unknown"},
		{WRITER_BAD, "RED red dark silent no-time fault SLIP JUMP REFUSED FAILED UNKNOWN"},
		{WRITER_BAD, "bad no left too-slow damaged failing"},
		{WRITER_DIM, "off"},
	};
	size_t length = strcspn(word, ", ");

	for (size_t i = 0; length > 0 && i < sizeof(styles) / sizeof(styles[0]); i++) {
		const char *p = styles[i].words;

		for (size_t n = strcspn(p, " "); n > 0; n = strcspn(p, " ")) {
			if (n == length && strncmp(word, p, n) == 0) {
				return styles[i].style;
			}
			p += n + strspn(p + n, " ");
		}
	}
	return WRITER_PLAIN;
}

/* ------------------------------------------------------------------ texts and tables of members */

/* A row of the ledger has the time of its label, else that of the system clock. */
static void begun_text(const json_t *row, char *buf, size_t size)
{
	const json_t *begun = json_object_get(row, "begun");

	value_text(begun, VALUE_TIME_MS, buf, size);
	if (json_is_number(begun) && json_is_null(json_object_get(row, "tai"))) {
		value_append(buf, size, "*");
	}
}

/* The board's second of a row; of a longer one the first and the last. */
static void seconds_text(const json_t *row, char *buf, size_t size)
{
	long long seconds = value_integer(row, "seconds", 1);
	long long second = value_integer(row, "second", 0);

	snprintf(buf, size, "%lld", second);
	if (seconds > 1) {
		value_append(buf, size, "-%lld", second + seconds - 1);
	}
}

static void behind_text(const json_t *value, char *buf, size_t size)
{
	snprintf(buf, size, json_string_length(value) > 0 ? " %s" : "", json_string_value(value));
}

static void lost_text(const json_t *value, char *buf, size_t size)
{
	snprintf(buf, size, "%lld", sum_losses(value, buf, size));
}

static void losses_text(const json_t *value, char *buf, size_t size)
{
	sum_losses(value, buf, size);
}

/* The forms of value_text(), and those beyond. */
static const char *const forms[] = {
	[VALUE_PLAIN] = "plain",   [VALUE_COUNT] = "count", [VALUE_TIME] = "time",
	[VALUE_TIME_MS] = "ms",	   [VALUE_AGE] = "age",	    [VALUE_PS] = "ps",
	[VALUE_PS_SIGNED] = "+ps", [VALUE_RATE] = "rate",   [VALUE_TYPED] = "typed",
};
static const struct {
	const char *name;
	void (*text)(const json_t *value, char *buf, size_t size);
} more_forms[] = {
	{"behind", behind_text}, {"floor", floor_text}, {"lost", lost_text},
	{"losses", losses_text}, {"begun", begun_text}, {"seconds", seconds_text},
};

static void member_text(const json_t *object, const char *path, const char *form, char *buf,
			size_t size)
{
	const json_t *value = *path != '\0' ? value_at(object, path) : object;

	if (strcmp(form, "word") == 0) {
		value_word(value, value_at(object, "words"), buf, size);
		return;
	}
	for (size_t i = 0; i < sizeof(more_forms) / sizeof(more_forms[0]); i++) {
		if (strcmp(more_forms[i].name, form) == 0) {
			more_forms[i].text(value, buf, size);
			return;
		}
	}
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		if (strcmp(forms[i], form) == 0) {
			value_text(value, (enum value_form)i, buf, size);
			return;
		}
	}
	assert(!"a form of value_fill()");
}

/* "12", "-12", "02", "03x" */
static void wide_text(const json_t *value, const char *form, char *buf, size_t size)
{
	char text[256];
	char *end;
	int width = (int)strtol(form, &end, 10);

	if (*end == 'x') {
		snprintf(buf, size, "%0*llx", width, (long long)json_integer_value(value));
	} else if (*form == '0' && json_is_integer(value)) {
		snprintf(buf, size, "%0*lld", width, (long long)json_integer_value(value));
	} else {
		snprintf(buf, size, "%*s", width,
			 value_text(value, VALUE_PLAIN, text, sizeof(text)));
	}
}

/* "PATH:FORM|OTHERWISE" as text. */
static void place_text(const json_t *object, char *place, char *buf, size_t size)
{
	char *otherwise = strchr(place, '|');
	char *form;

	if (otherwise != NULL) {
		*otherwise++ = '\0';
	}
	form = strchr(place, ':');
	if (form != NULL) {
		*form++ = '\0';
	}
	if (form != NULL && strchr("-0123456789", *form) != NULL) {
		wide_text(value_at(object, place), form, buf, size);
	} else {
		member_text(object, place, form != NULL ? form : "plain", buf, size);
	}
	if (otherwise != NULL && strcmp(buf, "-") == 0) {
		snprintf(buf, size, "%s", otherwise);
	}
}

const char *value_fill(const json_t *object, const char *text, char *buf, size_t size)
{
	char place[64];
	size_t used = 0;

	buf[0] = '\0';
	while (*text != '\0' && used + 1 < size) {
		size_t plain = strcspn(text, "{");
		size_t length = strcspn(text + plain, "}");

		snprintf(buf + used, size - used, "%.*s", (int)plain, text);
		used += strlen(buf + used);
		text += plain;
		if (*text == '{') {
			snprintf(place, sizeof(place), "%.*s", (int)length - 1, text + 1);
			place_text(object, place, buf + used, size - used);
			used += strlen(buf + used);
			text += length + 1;
		}
	}
	return buf;
}

void value_say(struct writer *w, enum writer_style style, const json_t *object, const char *text)
{
	char buf[1024];

	writer_text(w, style, "%s", value_fill(object, text, buf, sizeof(buf)));
}

void value_line(struct writer *w, enum writer_style style, const json_t *object, const char *text)
{
	char buf[1024];

	writer_paragraph(w, 0, style, "%s", value_fill(object, text, buf, sizeof(buf)));
}

void value_pair(struct writer *w, const char *name, enum writer_style style, const json_t *object,
		const char *text)
{
	char buf[1024];

	writer_pair(w, name, style, "%s", value_fill(object, text, buf, sizeof(buf)));
}

static enum writer_style painted(enum value_paint paint, const char *text)
{
	switch (paint) {
	case VALUE_BY_WORD:
		return value_style(text);
	case VALUE_WARN:
		return strcmp(text, "0") == 0 || strcmp(text, "-") == 0 ? WRITER_PLAIN
									: WRITER_WARN;
	case VALUE_AS_IS:
		break;
	}
	return WRITER_PLAIN;
}

void value_table(struct writer *w, const json_t *rows, const struct value_column *columns,
		 const char *empty)
{
	const char *headings[WRITER_COLUMNS_MAX];
	char buf[1024];
	size_t count = 0;
	size_t i;
	const json_t *row;

	for (; count < WRITER_COLUMNS_MAX && columns[count].heading != NULL; count++) {
		headings[count] = columns[count].heading;
	}
	writer_table(w, headings, count);
	json_array_foreach (rows, i, row) {
		for (size_t c = 0; c < count; c++) {
			if (columns[c].cell != NULL) {
				columns[c].cell(w, row);
				continue;
			}
			value_fill(row, columns[c].text, buf, sizeof(buf));
			writer_cell(w, painted(columns[c].paint, buf), "%s", buf);
		}
	}
	writer_table_end(w, empty);
}
