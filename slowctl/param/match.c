/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which names a shell pattern means. * ? and [...] stay between dots, so a name is matched part by part; of all the
 * names there are only some tens of different parts, and each is held against each part of a pattern once. No pattern
 * costs more than the square of a part's length: a client's 256 of them are matched while all else waits.
 */
#include "slowctl/param/private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PATTERN_MAX  (2u * PARAM_NAME_MAX)
#define PART_END(at) ((at) + strcspn(at, "."))

/* ------------------------------------------------------------------ one part */

/* Behind the bracket expression that begins at `p` if `c` is in it; NULL: it is not, or `p` begins none. */
static const char *in_bracket(const char *p, const char *end, char c)
{
	const char *close = p + 1;
	bool but = close < end && (*close == '!' || *close == '^'), found = false;

	close += but;
	for (const char *first = close; close < end && (*close != ']' || close == first); close++) {
		if (close + 2 < end && close[1] == '-' && close[2] != ']') {
			found |= c >= close[0] && c <= close[2];
			close += 2;
		} else {
			found |= c == *close;
		}
	}
	return close < end && found != but ? close + 1 : NULL;
}

/* Behind what stands at `p` for one character, if that may be `c`; else NULL. */
static const char *one(const char *p, const char *end, char c)
{
	if (p == end) {
		return NULL;
	}
	if (*p == '[') {
		return in_bracket(p, end, c);
	}
	return *p == '?' || *p == c ? p + 1 : NULL;
}

/* The last star only is tried anew: what stands before it fits as well wherever that begins. */
static bool part_matches(const char *p, const char *end, const char *text, const char *text_end)
{
	const char *star = NULL, *from = NULL;

	while (text < text_end) {
		const char *next = one(p, end, *text);

		if (p < end && *p == '*') {
			star = ++p;
			from = text;
		} else if (next) {
			p = next;
			text++;
		} else if (star) {
			p = star;
			text = ++from;
		} else {
			return false;
		}
	}
	return p + strspn(p, "*") >= end;
}

/* ------------------------------------------------------------------ one name */

/* Whether the pattern's parts are the first ones of `name`. */
static bool begins(const char *pattern, const char *name)
{
	for (;;) {
		const char *end = PART_END(pattern), *name_end = PART_END(name);

		if (!part_matches(pattern, end, name, name_end)) {
			return false;
		}
		if (!*end || !*name_end) {
			return !*end;
		}
		pattern = end + 1;
		name = name_end + 1;
	}
}

bool param_name_matches(const char *pattern, const char *name)
{
	const char *brief = strncmp(name, "tower", 5) == 0 ? strchr(name, '.') : NULL;

	if (strlen(pattern) >= PATTERN_MAX || strchr(pattern, '/') || strchr(name, '/')) {
		return false;
	}
	return begins(pattern, name) || (brief && begins(pattern, brief + 1));
}

/* ------------------------------------------------------------------ all names */

static int part_number(struct params *p, const char *text, size_t length)
{
	void *more;

	for (unsigned i = 0; i < p->part_count; i++) {
		if (strlen(p->parts[i]) == length && memcmp(p->parts[i], text, length) == 0) {
			return (int)i;
		}
	}
	more = realloc(p->parts, (p->part_count + 1) * sizeof(*p->parts));
	if (!more) {
		return -ENOMEM;
	}
	p->parts = more;
	snprintf(p->parts[p->part_count], sizeof(*p->parts), "%.*s", (int)length, text);
	return (int)p->part_count++;
}

int param_note_parts(struct params *p, struct param *param)
{
	const char *at = param->name;

	for (;;) {
		const char *end = PART_END(at);
		int number = part_number(p, at, (size_t)(end - at));

		if (number < 0 || param->part_count == PARAM_PARTS) {
			return number < 0 ? number : -ENAMETOOLONG;
		}
		param->part[param->part_count++] = (uint16_t)number;
		if (!*end) {
			return 0;
		}
		at = end + 1;
	}
}

/* A pattern, and which parts of names its own have been found to match. */
struct pattern {
	const char *part[PARAM_PARTS];
	unsigned count;
	enum { UNTRIED, MATCHES, DIFFERS } * tried; /* by its part and the name's */
};

static bool has_part(const struct params *p, struct pattern *t, unsigned n, unsigned part)
{
	unsigned at = n * p->part_count + part;
	const char *text = p->parts[part];

	if (t->tried[at] == UNTRIED) {
		t->tried[at] =
			part_matches(t->part[n], PART_END(t->part[n]), text, text + strlen(text))
				? MATCHES
				: DIFFERS;
	}
	return t->tried[at] == MATCHES;
}

static bool begins_at(const struct params *p, struct pattern *t, const struct param *param,
		      unsigned first)
{
	unsigned n = 0;

	if (first + t->count > param->part_count) {
		return false;
	}
	while (n < t->count && has_part(p, t, n, param->part[first + n])) {
		n++;
	}
	return n == t->count;
}

static bool pattern_split(struct pattern *t, const char *text)
{
	if (strlen(text) >= PATTERN_MAX || strchr(text, '/')) {
		return false;
	}
	for (;;) {
		if (t->count == PARAM_PARTS) {
			return false;
		}
		t->part[t->count++] = text;
		text = PART_END(text);
		if (!*text) {
			return true;
		}
		text++;
	}
}

unsigned params_match(struct params *p, const char *pattern,
		      void (*fn)(void *context, struct param *param), void *context)
{
	struct pattern t = {.count = 0};
	unsigned matches = 0;

	if (!pattern_split(&t, pattern)) {
		return 0;
	}
	t.tried = calloc((size_t)t.count * p->part_count + 1, sizeof(*t.tried));
	for (unsigned i = 0; t.tried && i < p->count; i++) {
		struct param *param = &p->table[i];

		if (begins_at(p, &t, param, 0) || (param->tower && begins_at(p, &t, param, 1))) {
			matches++;
			if (fn) {
				fn(context, param);
			}
		}
	}
	free(t.tried);
	return matches;
}
