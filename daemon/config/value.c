// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One value of the configuration, by the type that the table says: read from text, written as text, compared. No I/O.
 */
#include "daemon/config/private.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "daemon/core/log.h"
#include "slowctl/param/number.h"

static_assert(sizeof(enum config_holdover) == sizeof(int), "choices are int");

__attribute__((format(printf, 2, 3))) static int wrong(struct config_why *why, const char *format,
						       ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(why->text, sizeof(why->text), format, args);
	va_end(args);
	return -EINVAL;
}

/* `what`: "is not a number". */
static int unexpected(const struct option *o, const char *text, const char *what,
		      struct config_why *why)
{
	char range[96];

	config_value_range(o, range, sizeof(range));
	return wrong(why, "\"%.60s\" %s; expected %s", text, what, range);
}

/* ------------------------------------------------------------------ from text */

/* The replacement for the escape at `p` ("%..."), into `piece`. Returns its length, -EINVAL when unknown. */
static int expand(const char *p, unsigned instance, char *piece, size_t size)
{
	unsigned base;
	int length = 0;

	if (p[1] == '%') {
		snprintf(piece, size, "%%");
		return 2;
	}
	if (p[1] == 'N') {
		snprintf(piece, size, "%u", instance);
		return 2;
	}
	if (sscanf(p, "%%(%5u+N)%n", &base, &length) == 1 && length > 0) {
		snprintf(piece, size, "%u", base + instance);
		return length;
	}
	return -EINVAL;
}

/* ZeroMQ would refuse others only at the start. The port is behind the last colon. */
static bool is_endpoint(const char *text)
{
	const char *address = text + strlen("tcp://"), *port = strrchr(text, ':');
	char *end = NULL;
	unsigned long number = 0;

	if (!*text || (strncmp(text, "ipc://", 6) == 0 && text[6])) {
		return true; /* parse_string() says where it must not be empty */
	}
	if (strncmp(text, "tcp://", 6) == 0 && port > address && isdigit((unsigned char)port[1])) {
		number = strtoul(port + 1, &end, 10);
	}
	return end && !*end && number >= 1 && number <= 65535;
}

/* Copies `text` with its escapes replaced. What would be lost by printing and reading it again is refused. */
static int parse_string(const struct option *o, const char *text, unsigned instance, char *to,
			struct config_why *why)
{
	char expanded[CONFIG_STRING] = "";
	size_t n = 0;

	for (const char *p = text; *p; p++) {
		char piece[12] = {*p};
		int length = *p == '%' ? expand(p, instance, piece, sizeof(piece)) : 1;

		if (iscntrl((unsigned char)*p) || *p == ';') {
			return wrong(why, "';' and control characters are not allowed");
		}
		if (length < 0) {
			return wrong(why,
				     "after %% comes N (the instance number), (NUMBER+N) or %%");
		}
		if (n + strlen(piece) >= o->size || n + strlen(piece) >= sizeof(expanded)) {
			return wrong(why, "longer than %zu characters", o->size - 1);
		}
		p += length - 1;
		n += (size_t)snprintf(expanded + n, sizeof(expanded) - n, "%s", piece);
	}
	if (n == 0 && !o->may_be_empty) {
		return wrong(why, "must not be empty");
	}
	if (o->type == OPTION_ENDPOINT && !is_endpoint(expanded)) {
		return unexpected(o, expanded, "is not an endpoint", why);
	}
	memset(to, 0, o->size);
	memcpy(to, expanded, n);
	return 0;
}

static int parse_number(const struct option *o, const char *text, void *to, struct config_why *why)
{
	char *whole_end = NULL;
	const char *end = NULL;
	double value = 0;

	errno = 0;
	if (o->type != OPTION_DOUBLE) {
		value = isdigit((unsigned char)text[0]) ? (double)strtoull(text, &whole_end, 10)
							: -1;
		end = whole_end;
	} else if (isdigit((unsigned char)text[0]) || text[0] == '.') {
		number_parse(text, &value, &end);
	}
	if (!end || *end || errno) {
		return unexpected(o, text, "is not a number", why);
	}
	if (value < o->min || value > o->max) {
		return unexpected(o, text, "is out of range", why);
	}
	if (o->type == OPTION_DOUBLE) {
		*(double *)to = value;
	} else if (o->type == OPTION_U32) {
		*(uint32_t *)to = (uint32_t)value;
	} else {
		*(uint8_t *)to = (uint8_t)value;
	}
	return 0;
}

static int choice_index(const struct option *o, const char *text, size_t length)
{
	for (int i = 0; o->choices[i]; i++) {
		if (strlen(o->choices[i]) == length && !strncmp(o->choices[i], text, length)) {
			return i;
		}
	}
	return -EINVAL;
}

/* Choices separated by commas. */
static int parse_mask(const struct option *o, const char *text, uint8_t *to, struct config_why *why)
{
	unsigned mask = 0;
	const char *p = text;

	do {
		size_t length;
		int index;

		p += *p == ',';
		p += strspn(p, " \t");
		length = strcspn(p, ", \t");
		index = choice_index(o, p, length);
		p += length + strspn(p + length, " \t");
		if (index < 0) {
			return unexpected(o, text, "is unknown", why);
		}
		mask |= 1u << index;
	} while (*p == ',' && p[1]);
	if (*p && *p != ',') {
		return unexpected(o, text, "is unknown", why);
	}
	*to = (uint8_t)mask;
	return 0;
}

static int parse_date(const struct option *o, const char *text, int64_t *to, struct config_why *why)
{
	struct tm tm = {0};
	const char *end = strptime(text, "%Y-%m-%d", &tm);
	int month = tm.tm_mon, day = tm.tm_mday;
	time_t t = end && !*end ? timegm(&tm) : (time_t)-1;

	/* timegm() turns 31 February into 3 March: only a date that comes back the same is one. */
	if (t < 0 || tm.tm_mon != month || tm.tm_mday != day) {
		return unexpected(o, text, "is not a date", why);
	}
	if ((double)t < o->min || (double)t > o->max) {
		return unexpected(o, text, "is out of range", why);
	}
	*to = t;
	return 0;
}

static int parse_bool(const char *text)
{
	static const char *const words[] = {"no", "yes", "false", "true", "off", "on", "0", "1"};

	for (int i = 0; i < (int)(sizeof(words) / sizeof(words[0])); i++) {
		if (!strcasecmp(text, words[i])) {
			return i & 1;
		}
	}
	return -EINVAL;
}

int config_value_parse(const struct option *o, const char *text, unsigned instance, void *base,
		       struct config_why *why)
{
	void *to = (char *)base + o->offset;
	int index;

	switch (o->type) {
	case OPTION_STRING:
	case OPTION_ENDPOINT:
		return parse_string(o, text, instance, to, why);
	case OPTION_MASK:
		return parse_mask(o, text, to, why);
	case OPTION_DATE:
		return parse_date(o, text, to, why);
	case OPTION_BOOL:
		index = parse_bool(text);
		break;
	case OPTION_CHOICE:
		index = choice_index(o, text, strlen(text));
		break;
	case OPTION_LEVEL:
		index = log_level_parse(text);
		break;
	default:
		return parse_number(o, text, to, why);
	}
	if (index < 0) {
		return unexpected(o, text, "is unknown", why);
	}
	if (o->type == OPTION_BOOL) {
		*(bool *)to = index;
	} else {
		*(int *)to = index;
	}
	return 0;
}

/* ------------------------------------------------------------------ to text */

static void format_string(const char *from, char *text, size_t size)
{
	size_t n = 0;

	for (; *from && n + 2 < size; from++) {
		if (*from == '%') {
			text[n++] = '%';
		}
		text[n++] = *from;
	}
	text[n] = '\0';
}

/* The choices whose bits are set. */
static void format_choices(const struct option *o, unsigned mask, const char *separator, char *text,
			   size_t size)
{
	size_t n = 0;

	text[0] = '\0';
	for (unsigned i = 0; o->choices[i] && n < size; i++) {
		if (mask & 1u << i) {
			n += (size_t)snprintf(text + n, size - n, "%s%s", n ? separator : "",
					      o->choices[i]);
		}
	}
}

static void format_date(int64_t utc_s, char *text, size_t size)
{
	time_t t = (time_t)utc_s;
	struct tm tm;

	gmtime_r(&t, &tm);
	if (!strftime(text, size, "%Y-%m-%d", &tm)) {
		text[0] = '\0';
	}
}

void config_value_format(const struct option *o, const void *base, char *text, size_t size)
{
	const void *from = (const char *)base + o->offset;

	switch (o->type) {
	case OPTION_STRING:
	case OPTION_ENDPOINT:
		format_string(from, text, size);
		break;
	case OPTION_BOOL:
		snprintf(text, size, "%s", *(const bool *)from ? "yes" : "no");
		break;
	case OPTION_U8:
		snprintf(text, size, "%u", *(const uint8_t *)from);
		break;
	case OPTION_U32:
		snprintf(text, size, "%u", *(const uint32_t *)from);
		break;
	case OPTION_DOUBLE:
		snprintf(text, size, "%.12g", *(const double *)from);
		break;
	case OPTION_CHOICE:
		snprintf(text, size, "%s", o->choices[*(const int *)from]);
		break;
	case OPTION_MASK:
		format_choices(o, *(const uint8_t *)from, ",", text, size);
		break;
	case OPTION_DATE:
		format_date(*(const int64_t *)from, text, size);
		break;
	case OPTION_LEVEL:
		snprintf(text, size, "%s", log_level_name(*(const int *)from));
		break;
	}
}

void config_value_range(const struct option *o, char *text, size_t size)
{
	char first[16], last[16];

	switch (o->type) {
	case OPTION_STRING:
		snprintf(text, size, "text");
		break;
	case OPTION_BOOL:
		snprintf(text, size, "yes or no");
		break;
	case OPTION_ENDPOINT:
		snprintf(text, size, "tcp://ADDRESS:PORT, port 1..65535, or ipc://PATH");
		break;
	case OPTION_DATE:
		format_date((int64_t)o->min, first, sizeof(first));
		format_date((int64_t)o->max, last, sizeof(last));
		snprintf(text, size, "YYYY-MM-DD, %s..%s", first, last);
		break;
	case OPTION_LEVEL:
		snprintf(text, size, "error, warning, notice, info, debug");
		break;
	case OPTION_CHOICE:
	case OPTION_MASK:
		format_choices(o, UINT_MAX, ", ", text, size);
		break;
	default:
		snprintf(text, size, "%.12g..%.12g%s%s", o->min, o->max, o->unit ? " " : "",
			 o->unit ? o->unit : "");
		break;
	}
}

void config_value_defaults(const struct option *table, unsigned instance, void *base)
{
	struct config_why why;

	for (const struct option *o = table; o->section; o++) {
		int r = config_value_parse(o, o->value, instance, base, &why);

		assert(r == 0);
	}
}
