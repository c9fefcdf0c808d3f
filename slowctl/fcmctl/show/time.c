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
#include <stdint.h>
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
	const char *p = *text;
	double value = 0.0;
	double weight = 0.1;

	if (!isdigit((unsigned char)*p)) {
		return false;
	}
	while (isdigit((unsigned char)*p)) {
		value = value * 10.0 + (*p++ - '0');
	}
	if (*p == '.') {
		for (p++; isdigit((unsigned char)*p); p++) {
			value += (*p - '0') * weight;
			weight /= 10.0;
		}
	}
	*text = p;
	*ret_value = value;
	return true;
}

static bool take_unit(const char **text, double *ret_seconds)
{
	size_t length = 0;

	while (isalpha((unsigned char)(*text)[length])) {
		length++;
	}
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

/* Exactly `digits` digits. */
static bool take_digits(const char **text, int digits, int *ret_value)
{
	int value = 0;

	for (int i = 0; i < digits; i++) {
		if (!isdigit((unsigned char)(*text)[i])) {
			return false;
		}
		value = value * 10 + ((*text)[i] - '0');
	}
	*text += digits;
	*ret_value = value;
	return true;
}

static bool take_char(const char **text, char c)
{
	if (**text != c) {
		return false;
	}
	(*text)++;
	return true;
}

/* hh:mm[:ss[.fff]] -> seconds of the day. */
static int take_clock(const char **text, double *ret_s)
{
	int hour;
	int minute;
	double second = 0.0;

	if (!take_digits(text, 2, &hour) || !take_char(text, ':') ||
	    !take_digits(text, 2, &minute)) {
		return -EINVAL;
	}
	if (take_char(text, ':') && !take_number(text, &second)) {
		return -EINVAL;
	}
	if (hour > 23 || minute > 59 || second >= 61.0) {
		return -ERANGE;
	}
	*ret_s = hour * 3600.0 + minute * 60.0 + second;
	return 0;
}

/* Z, +hh:mm, +hhmm, +hh or nothing -> seconds to subtract. */
static int take_zone(const char **text, double *ret_s)
{
	int hour;
	int minute = 0;
	double sign = **text == '-' ? -1.0 : 1.0;

	*ret_s = 0.0;
	if (**text == '\0' || take_char(text, 'Z')) {
		return 0;
	}
	if (!take_char(text, '+') && !take_char(text, '-')) {
		return -EINVAL;
	}
	if (!take_digits(text, 2, &hour)) {
		return -EINVAL;
	}
	if (take_char(text, ':') || **text != '\0') {
		if (!take_digits(text, 2, &minute)) {
			return -EINVAL;
		}
	}
	if (hour > 14 || minute > 59) {
		return -ERANGE;
	}
	*ret_s = sign * (hour * 3600.0 + minute * 60.0);
	return 0;
}

/* yyyy-mm-dd -> UTC seconds of its midnight. */
static int take_date(const char **text, double *ret_s)
{
	static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	struct tm tm = {0};
	bool leap;

	if (!take_digits(text, 4, &tm.tm_year) || !take_char(text, '-') ||
	    !take_digits(text, 2, &tm.tm_mon) || !take_char(text, '-') ||
	    !take_digits(text, 2, &tm.tm_mday)) {
		return -EINVAL;
	}
	leap = (tm.tm_year % 4 == 0 && tm.tm_year % 100 != 0) || tm.tm_year % 400 == 0;
	if (tm.tm_year < 1970 || tm.tm_mon < 1 || tm.tm_mon > 12 || tm.tm_mday < 1 ||
	    tm.tm_mday > days[tm.tm_mon - 1] + (tm.tm_mon == 2 && leap)) {
		return -ERANGE;
	}
	tm.tm_year -= 1900;
	tm.tm_mon--;
	*ret_s = (double)timegm(&tm);
	return 0;
}

static int parse_date_time(const char *text, double *ret_time)
{
	double date;
	double clock = 0.0;
	double zone = 0.0;
	int err = take_date(&text, &date);

	if (err == 0 && *text != '\0') {
		if (!take_char(&text, 'T') && !take_char(&text, ' ')) {
			return -EINVAL;
		}
		err = take_clock(&text, &clock);
		if (err == 0) {
			err = take_zone(&text, &zone);
		}
	}
	if (err == 0 && *text != '\0') {
		err = -EINVAL;
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

	if (err == 0 && *text == 'Z') {
		text++;
	}
	if (err != 0 || *text != '\0') {
		return err != 0 ? err : -EINVAL;
	}
	*ret_time = midnight + clock > now ? midnight + clock - DAY_S : midnight + clock;
	return 0;
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
	static const int64_t power[] = {1, 10, 100, 1000, 10000, 100000, 1000000};
	struct tm tm;
	int64_t scale;
	int64_t ticks;
	time_t whole;
	size_t length;

	if (!isfinite(time) || fabs(time) > 2.5e11) {
		snprintf(buf, size, "?");
		return buf;
	}
	if (decimals < 0 || decimals > 6) {
		decimals = 6;
	}
	scale = power[decimals];
	/* Cut, not rounded: an event must not be shown in a second that has not begun. The half
	 * microsecond undoes the double's own rounding. */
	ticks = (int64_t)floor((time + (decimals > 0 ? 0.5e-6 : 0.0)) * (double)scale);
	whole = (time_t)(ticks / scale);
	if (ticks % scale < 0) {
		whole--;
	}
	if (gmtime_r(&whole, &tm) == NULL) {
		snprintf(buf, size, "?");
		return buf;
	}
	length = strftime(buf, size, "%Y-%m-%d %H:%M:%S", &tm);
	if (decimals > 0 && length > 0) {
		snprintf(buf + length, size - length, ".%0*lld", decimals,
			 (long long)(ticks - (int64_t)whole * scale));
	}
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
