// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One value of the configuration: from text, to text, compared. By type, through the table; pure.
 */
#include "daemon/config/private.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "daemon/core/log.h"
#include "slowctl/param/number.h"

static_assert(sizeof(enum config_holdover) == sizeof(int), "choices are int");

static void *place(const struct option *o, void *base)
{
	return (char *)base + o->offset;
}

static const void *place_const(const struct option *o, const void *base)
{
	return (const char *)base + o->offset;
}

/* What the escape at `p` ("%...") stands for, into `piece`. Returns its length, -EINVAL when unknown. */
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

/* Copies `text` with its escapes replaced. What would not survive a print and a read is refused. */
static int parse_string(const struct option *o, const char *text, unsigned instance, char *to,
			char *why, size_t why_size)
{
	char expanded[CONFIG_STRING];
	size_t n = 0;

	for (const char *p = text; *p; p++) {
		char piece[12] = {*p};

		if (iscntrl((unsigned char)*p) || *p == ';') {
			snprintf(why, why_size, "';' and control characters are not allowed");
			return -EINVAL;
		}
		if (*p == '%') {
			int length = expand(p, instance, piece, sizeof(piece));

			if (length < 0) {
				snprintf(
					why, why_size,
					"after %% comes N (the instance number), (NUMBER+N) or %%");
				return -EINVAL;
			}
			p += length - 1;
		}
		if (n + strlen(piece) >= o->size || n + strlen(piece) >= sizeof(expanded)) {
			snprintf(why, why_size, "longer than %zu characters", o->size - 1);
			return -EINVAL;
		}
		n += (size_t)snprintf(expanded + n, sizeof(expanded) - n, "%s", piece);
	}
	expanded[n] = '\0';
	if (n == 0 && !o->may_be_empty) {
		snprintf(why, why_size, "must not be empty");
		return -EINVAL;
	}
	memset(to, 0, o->size);
	memcpy(to, expanded, n);
	return 0;
}

/* What ZeroMQ would refuse only at the start. The port is what stands behind the last colon. */
static int check_endpoint(const struct option *o, const char *text, char *why, size_t why_size)
{
	const char *address = text + strlen("tcp://"), *port = strrchr(text, ':');
	char *end = NULL;
	unsigned long number = 0;

	if (!*text || (strncmp(text, "ipc://", 6) == 0 && text[6])) {
		return 0; /* where empty is wrong, parse_string() has said so */
	}
	if (strncmp(text, "tcp://", 6) == 0 && port > address && isdigit((unsigned char)port[1])) {
		number = strtoul(port + 1, &end, 10);
	}
	if (!end || *end || number < 1 || number > 65535) {
		char range[96];

		config_value_range(o, range, sizeof(range));
		snprintf(why, why_size, "\"%.60s\" is none; expected %s", text, range);
		return -EINVAL;
	}
	return 0;
}

static int parse_endpoint(const struct option *o, const char *text, unsigned instance, char *to,
			  char *why, size_t why_size)
{
	char endpoint[CONFIG_STRING] = "";
	int r = parse_string(o, text, instance, endpoint, why, why_size);

	r = r ? r : check_endpoint(o, endpoint, why, why_size);
	if (r == 0) {
		memcpy(to, endpoint, o->size);
	}
	return r;
}

static int parse_number(const struct option *o, const char *text, double *ret_value, char *why,
			size_t why_size)
{
	char range[64], *whole_end = NULL;
	const char *end = NULL;
	double value = 0;

	config_value_range(o, range, sizeof(range));
	errno = 0;
	if (o->type != OPTION_DOUBLE) {
		value = isdigit((unsigned char)text[0]) ? (double)strtoull(text, &whole_end, 10)
							: -1;
		end = whole_end;
	} else if (isdigit((unsigned char)text[0]) || text[0] == '.') {
		number_parse(text, &value, &end);
	}
	if (!end || *end || errno) {
		snprintf(why, why_size, "\"%.40s\" is not a number; expected %s", text, range);
		return -EINVAL;
	}
	if (value < o->min || value > o->max) {
		snprintf(why, why_size, "%.40s is out of range; expected %s", text, range);
		return -EINVAL;
	}
	*ret_value = value;
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

static int not_a_choice(const struct option *o, const char *text, char *why, size_t why_size)
{
	char range[96];

	config_value_range(o, range, sizeof(range));
	snprintf(why, why_size, "\"%.40s\" is not known; expected %s", text, range);
	return -EINVAL;
}

static int parse_mask(const struct option *o, const char *text, uint8_t *to, char *why,
		      size_t why_size)
{
	unsigned mask = 0;

	for (const char *p = text; *p;) {
		size_t length;
		int index;

		p += strspn(p, " \t");
		length = strcspn(p, ", \t");
		index = choice_index(o, p, length);
		if (index < 0) {
			return not_a_choice(o, text, why, why_size);
		}
		mask |= 1u << index;
		p += length;
		p += strspn(p, " \t");
		if (*p == ',') {
			p++;
		} else if (*p) {
			return not_a_choice(o, text, why, why_size);
		}
	}
	if (!mask) {
		return not_a_choice(o, text, why, why_size);
	}
	*to = (uint8_t)mask;
	return 0;
}

static int parse_date(const struct option *o, const char *text, int64_t *to, char *why,
		      size_t why_size)
{
	struct tm tm = {0};
	const char *end = strptime(text, "%Y-%m-%d", &tm);
	int month = tm.tm_mon, day = tm.tm_mday;
	time_t t;

	/* timegm() turns 31 February into 3 March: only a date that comes back the same is one. */
	t = end && !*end ? timegm(&tm) : (time_t)-1;
	if (t < 0 || tm.tm_mon != month || tm.tm_mday != day) {
		snprintf(why, why_size, "\"%.40s\" is not a date; expected YYYY-MM-DD", text);
		return -EINVAL;
	}
	if ((double)t < o->min || (double)t > o->max) {
		char range[64];

		config_value_range(o, range, sizeof(range));
		snprintf(why, why_size, "%.40s is out of range; expected %s", text, range);
		return -EINVAL;
	}
	*to = t;
	return 0;
}

static int parse_bool(const struct option *o, const char *text, bool *to, char *why,
		      size_t why_size)
{
	static const char *const words[] = {"no", "yes", "false", "true", "off", "on", "0", "1"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (!strcasecmp(text, words[i])) {
			*to = i & 1;
			return 0;
		}
	}
	return not_a_choice(o, text, why, why_size);
}

int config_value_parse(const struct option *o, const char *text, unsigned instance, void *base,
		       char *why, size_t why_size)
{
	void *to = place(o, base);
	double number;
	int r;

	switch (o->type) {
	case OPTION_STRING:
		return parse_string(o, text, instance, to, why, why_size);
	case OPTION_ENDPOINT:
		return parse_endpoint(o, text, instance, to, why, why_size);
	case OPTION_BOOL:
		return parse_bool(o, text, to, why, why_size);
	case OPTION_MASK:
		return parse_mask(o, text, to, why, why_size);
	case OPTION_DATE:
		return parse_date(o, text, to, why, why_size);
	case OPTION_CHOICE:
		r = choice_index(o, text, strlen(text));
		break;
	case OPTION_LEVEL:
		r = log_level_parse(text);
		break;
	default:
		r = parse_number(o, text, &number, why, why_size);
		if (r < 0) {
			return r;
		}
		if (o->type == OPTION_DOUBLE) {
			*(double *)to = number;
		} else if (o->type == OPTION_U32) {
			*(uint32_t *)to = (uint32_t)number;
		} else {
			*(uint8_t *)to = (uint8_t)number;
		}
		return 0;
	}
	if (r < 0) {
		return not_a_choice(o, text, why, why_size);
	}
	*(int *)to = r;
	return 0;
}

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

static void format_mask(const struct option *o, uint8_t mask, char *text, size_t size)
{
	size_t n = 0;

	text[0] = '\0';
	for (unsigned i = 0; o->choices[i] && n < size; i++) {
		if (mask & 1u << i) {
			n += (size_t)snprintf(text + n, size - n, "%s%s", n ? "," : "",
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
	const void *from = place_const(o, base);

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
		format_mask(o, *(const uint8_t *)from, text, size);
		break;
	case OPTION_DATE:
		format_date(*(const int64_t *)from, text, size);
		break;
	case OPTION_LEVEL:
		snprintf(text, size, "%s", log_level_name(*(const int *)from));
		break;
	}
}

bool config_value_equal(const struct option *o, const void *a, const void *b)
{
	/* Strings are padded with zeros, so bytes decide for every type. */
	return memcmp(place_const(o, a), place_const(o, b), o->size) == 0;
}

void config_value_range(const struct option *o, char *text, size_t size)
{
	char first[16], last[16];
	size_t n = 0;

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
		text[0] = '\0';
		for (unsigned i = 0; o->choices[i] && n < size; i++) {
			n += (size_t)snprintf(text + n, size - n, "%s%s", n ? ", " : "",
					      o->choices[i]);
		}
		break;
	default:
		snprintf(text, size, "%.12g..%.12g%s%s", o->min, o->max, o->unit ? " " : "",
			 o->unit ? o->unit : "");
		break;
	}
}

void config_value_defaults(const struct option *table, unsigned instance, void *base)
{
	char why[128];

	for (const struct option *o = table; o->section; o++) {
		int r = config_value_parse(o, o->value, instance, base, why, sizeof(why));

		assert(r == 0);
		(void)r;
	}
}
