/* SPDX-License-Identifier: GPL-2.0-or-later */
/* JSON values of the daemon's answers as text: see value.h. */
#include "slowctl/fcmctl/show/value.h"

#include <math.h>
#include <stdio.h>
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

static void number_text(double number, enum value_form form, char *buf, size_t size)
{
	switch (form) {
	case VALUE_PLAIN:
		snprintf(buf, size, "%.10g", number);
		break;
	case VALUE_COUNT:
		snprintf(buf, size, "%.0f", number);
		break;
	case VALUE_TIME:
		ctl_time_text(number, 0, buf, size);
		break;
	case VALUE_TIME_MS:
		ctl_time_text(number, 3, buf, size);
		break;
	case VALUE_AGE:
		ctl_span_text(number, buf, size);
		break;
	case VALUE_PS:
		snprintf(buf, size, "%.1f", number);
		break;
	case VALUE_PS_SIGNED:
		snprintf(buf, size, "%+.1f", number);
		break;
	case VALUE_RATE:
		rate_text(number, buf, size);
		break;
	}
}

const char *value_text(const json_t *value, enum value_form form, char *buf, size_t size)
{
	if (json_is_integer(value) && (form == VALUE_PLAIN || form == VALUE_COUNT)) {
		snprintf(buf, size, "%lld", (long long)json_integer_value(value));
	} else if (json_is_number(value) && isfinite(json_number_value(value))) {
		number_text(json_number_value(value), form, buf, size);
	} else if (json_is_string(value) && json_string_length(value) > 0) {
		snprintf(buf, size, "%s", json_string_value(value));
	} else if (json_is_boolean(value)) {
		snprintf(buf, size, "%s", json_is_true(value) ? "yes" : "no");
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

void value_word_cell(struct writer *w, const json_t *object, const char *path, const json_t *words)
{
	char buf[512];

	writer_cell(w, WRITER_PLAIN, "%s",
		    value_word(value_at(object, path), words, buf, sizeof(buf)));
}

void value_cell(struct writer *w, const json_t *object, const char *path, enum value_form form)
{
	char buf[512];

	writer_cell(w, WRITER_PLAIN, "%s",
		    value_text(value_at(object, path), form, buf, sizeof(buf)));
}

const char *value_floor(const json_t *object, char *buf, size_t size)
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
	return buf;
}

static const char *const link_losses[] = {"link-down", "board-fifo", "ring-full",
					  "crc",       "alignment",  "time-fault"};
static const char *const drops[] = {"no-member", "slow", "shutdown", "pool", "no-time"};
const struct value_names value_link_losses = {link_losses, 6};
const struct value_names value_drops = {drops, 5};

long long value_losses(const json_t *object, const struct value_names *names, const char *member,
		       char *buf, size_t size)
{
	long long sum = 0;
	size_t used = 0;

	snprintf(buf, size, "-");
	for (size_t i = 0; i < names->count; i++) {
		const json_t *loss = json_object_get(object, names->name[i]);
		long long count = member != NULL ? value_integer(loss, member, 0)
						 : value_integer(object, names->name[i], 0);

		if (count != 0 && used < size) {
			used += (size_t)snprintf(buf + used, size - used, "%s%lld %s",
						 used > 0 ? ", " : "", count, names->name[i]);
		}
		sum += count;
	}
	return sum;
}

enum writer_style value_style(const char *word)
{
	static const struct {
		const char *word;
		enum writer_style style;
	} styles[] = {
		{"well", WRITER_GOOD},	 {"red", WRITER_BAD},	     {"warning", WRITER_WARN},
		{"alarm", WRITER_BAD},	 {"up", WRITER_GOOD},	     {"aligning", WRITER_WARN},
		{"dark", WRITER_BAD},	 {"silent", WRITER_BAD},     {"off", WRITER_DIM},
		{"locked", WRITER_GOOD}, {"acquiring", WRITER_WARN}, {"holdover", WRITER_WARN},
		{"no-time", WRITER_BAD}, {"fault", WRITER_BAD},	     {"PASS", WRITER_GOOD},
		{"first", WRITER_GOOD},	 {"SLIP", WRITER_BAD},	     {"JUMP", WRITER_BAD},
		{"DRIFT", WRITER_WARN},	 {"DONE", WRITER_GOOD},	     {"REFUSED", WRITER_BAD},
		{"FAILED", WRITER_BAD},	 {"UNKNOWN", WRITER_BAD},    {"CANCELLED", WRITER_WARN},
		{"good", WRITER_GOOD},	 {"stale", WRITER_WARN},     {"never", WRITER_WARN},
		{"bad", WRITER_BAD},
	};

	for (size_t i = 0; i < sizeof(styles) / sizeof(styles[0]); i++) {
		if (strcmp(word, styles[i].word) == 0) {
			return styles[i].style;
		}
	}
	return WRITER_PLAIN;
}
