/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Time as an operator types it and as fcmctl prints it: see time.h. No locale, no time zone of the
 * machine: a shift log from another continent must mean the same.
 */
#include "slowctl/fcmctl/show/time.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DAY_S	   86400.0
#define SPAN_MAX_S (3660.0 * DAY_S)

static const struct {
	const char *name;
	double seconds;
} units[] = {
	{"s", 1.0},   {"sec", 1.0},   {"m", 60.0},     {"min", 60.0},	 {"h", 3600.0},
	{"d", DAY_S}, {"day", DAY_S}, {"days", DAY_S}, {"w", 7 * DAY_S}, {"week", 7 * DAY_S},
};

/* A decimal number without sign and exponent; *text is moved behind it. */
static bool take_number(const char **text, double *ret_value)
{
	size_t length = strspn(*text, "0123456789.");
	char digits[32];
	char *end;

	if (!isdigit((unsigned char)**text) || length >= sizeof(digits)) {
		return false;
	}
	memcpy(digits, *text, length);
	digits[length] = '\0';
	*ret_value = strtod(digits, &end);
	*text += end - digits;
	return true;
}

static bool take_unit(const char **text, double *ret_seconds)
{
	size_t length = strspn(*text, "abcdefghijklmnopqrstuvwxyz");

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strlen(units[i].name) == length && strncmp(units[i].name, *text, length) == 0) {
			*text += length;
			*ret_seconds = units[i].seconds;
			return true;
		}
	}
	return false;
}

int ctl_span_parse(const char *text, double *ret_s)
{
	double sum = 0.0;
	double value;
	double unit;

	if (*text == '\0') {
		return -EINVAL;
	}
	while (*text != '\0') {
		if (!take_number(&text, &value)) {
			return -EINVAL;
		}
		if (*text == '\0' && sum == 0.0) {
			unit = 1.0;
		} else if (!take_unit(&text, &unit)) {
			return -EINVAL;
		}
		sum += value * unit;
	}
	if (sum > SPAN_MAX_S) {
		return -ERANGE;
	}
	*ret_s = sum;
	return 0;
}

/* `format` of strptime(), which alone would take leading blanks and short fields. -ERANGE: such a time does not exist. */
static int take_fields(const char **text, const char *shape, const char *format, struct tm *tm)
{
	const char *end;

	for (size_t i = 0; shape[i] != '\0'; i++) {
		char c = (*text)[i];

		if (shape[i] == '0' ? !isdigit((unsigned char)c) : c != shape[i]) {
			return -EINVAL;
		}
	}
	end = strptime(*text, format, tm);
	if (end != *text + strlen(shape)) {
		return -ERANGE;
	}
	*text = end;
	return 0;
}

/* hh:mm[:ss[.fff]] -> seconds of the day. */
static int take_clock(const char **text, double *ret_s)
{
	struct tm tm = {0};
	double second = 0.0;
	int err = take_fields(text, "00:00", "%H:%M", &tm);

	if (err == 0 && **text == ':') {
		++*text;
		err = !take_number(text, &second) ? -EINVAL : second >= 61.0 ? -ERANGE : 0;
	}
	*ret_s = tm.tm_hour * 3600.0 + tm.tm_min * 60.0 + second;
	return err;
}

/* Z, +hh:mm, +hhmm, +hh or nothing, to the end -> seconds to subtract. */
static int take_zone(const char *text, double *ret_s)
{
	struct tm tm = {0};
	const char *end = *text != '\0' ? strptime(text, "%z", &tm) : text;

	if (end == NULL || *end != '\0' || strlen(text) == 2) {
		return -EINVAL;
	}
	*ret_s = (double)tm.tm_gmtoff;
	return labs(tm.tm_gmtoff) >= 15 * 3600 ? -ERANGE : 0;
}

static int parse_date_time(const char *text, double *ret_time)
{
	struct tm tm = {0};
	double clock = 0.0;
	double zone = 0.0;
	int err = take_fields(&text, "0000-00-00", "%Y-%m-%d", &tm);
	int day = tm.tm_mday;
	double date = (double)timegm(&tm);

	if (err == 0 && (date < 0.0 || tm.tm_mday != day)) { /* such as February 30 */
		err = -ERANGE;
	}
	if (err == 0 && *text != '\0') {
		if (*text != 'T' && *text != ' ') {
			return -EINVAL;
		}
		text++;
		err = take_clock(&text, &clock);
		err = err == 0 ? take_zone(text, &zone) : err;
	}
	if (err == 0) {
		*ret_time = date + clock - zone;
	}
	return err;
}

static int parse_clock(const char *text, double now, double *ret_time)
{
	double midnight = floor(now / DAY_S) * DAY_S;
	double clock;
	int err = take_clock(&text, &clock);

	if (err == 0 && strcmp(text, "Z") != 0 && *text != '\0') {
		err = -EINVAL;
	}
	if (err == 0) {
		*ret_time = midnight + clock > now ? midnight + clock - DAY_S : midnight + clock;
	}
	return err;
}

int ctl_time_parse(const char *text, double now, double *ret_time)
{
	double midnight = floor(now / DAY_S) * DAY_S;
	double value;
	int err;

	if (strcmp(text, "now") == 0) {
		*ret_time = now;
		return 0;
	}
	if (strcmp(text, "today") == 0 || strcmp(text, "yesterday") == 0) {
		*ret_time = *text == 't' ? midnight : midnight - DAY_S;
		return 0;
	}
	if (*text == '@') {
		text++;
		if (!take_number(&text, &value) || *text != '\0') {
			return -EINVAL;
		}
		*ret_time = value;
		return 0;
	}
	if (strlen(text) >= 3 && text[2] == ':') {
		return parse_clock(text, now, ret_time);
	}
	if (strlen(text) >= 5 && text[4] == '-') {
		return parse_date_time(text, ret_time);
	}
	err = ctl_span_parse(text, &value);
	if (err == 0 && isdigit((unsigned char)text[strlen(text) - 1])) {
		return -EINVAL; /* a bare number could mean anything */
	}
	if (err == 0) {
		*ret_time = now - value;
	}
	return err;
}

const char *ctl_time_text(double time, int decimals, char *buf, size_t size)
{
	/* Cut, not rounded: an event must not be shown in a second that has not begun. The half
	 * microsecond undoes the double's own rounding. */
	double shown = time + (decimals > 0 ? 0.5e-6 : 0.0);
	time_t whole = fabs(time) < 2.5e11 ? (time_t)floor(shown) : 0;
	struct tm tm;
	char fraction[16];
	size_t length;

	if (!(fabs(time) < 2.5e11) || gmtime_r(&whole, &tm) == NULL) {
		snprintf(buf, size, "?");
		return buf;
	}
	length = strftime(buf, size, "%Y-%m-%d %H:%M:%S", &tm);
	buf[length] = '\0';
	if (decimals > 0) {
		snprintf(fraction, sizeof(fraction), "%.6f",
			 floor((shown - (double)whole) * 1e6) / 1e6);
		snprintf(buf + length, size - length, "%.*s", decimals + 1, fraction + 1);
	}
	return buf;
}

const char *ctl_time_ns_text(int64_t time_ns, char *buf, size_t size)
{
	const int64_t second_ns = 1000000000;
	int64_t ns = time_ns % second_ns;
	time_t whole = (time_t)(time_ns / second_ns) - (ns < 0);
	struct tm tm;
	size_t length;

	ns += ns < 0 ? second_ns : 0;
	if (time_ns == INT64_MIN || gmtime_r(&whole, &tm) == NULL) {
		snprintf(buf, size, "-");
		return buf;
	}
	length = strftime(buf, size, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(buf + length, size - length, ".%09lld", (long long)ns);
	return buf;
}

const char *ctl_span_text(double seconds, char *buf, size_t size)
{
	const char *sign = seconds < 0.0 ? "-" : "";
	double s = fabs(seconds);
	long long whole;

	if (!isfinite(seconds) || s > 1e12) {
		snprintf(buf, size, "?");
		return buf;
	}
	whole = llround(s);
	if (s < 0.0995) {
		snprintf(buf, size, "%s%.0f ms", sign, s * 1000.0);
	} else if (s < 9.95) {
		snprintf(buf, size, "%s%.1f s", sign, s);
	} else if (whole < 60) {
		snprintf(buf, size, "%s%lld s", sign, whole);
	} else if (whole < 3600) {
		snprintf(buf, size, "%s%lld min %lld s", sign, whole / 60, whole % 60);
	} else if (whole < 86400) {
		snprintf(buf, size, "%s%lld h %lld min", sign, whole / 3600, whole % 3600 / 60);
	} else {
		snprintf(buf, size, "%s%lld d %lld h", sign, whole / 86400, whole % 86400 / 3600);
	}
	return buf;
}
