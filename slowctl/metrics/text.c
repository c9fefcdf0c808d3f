// SPDX-License-Identifier: GPL-2.0-or-later
/* See text.h. */
#include "slowctl/metrics/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/core/text.h"

struct metrics_text {
	FILE *out;
	char *text;
	size_t length;
	const char *name, *help;
	enum metrics_type type;
	bool begun; /* the family has a sample */
};

/* ------------------------------------------------------------------ labels */

/* `text` with \, the line's end and (of a label) " escaped; what does not fit is cut. */
static void escape(char *out, size_t size, const char *text, bool quotes)
{
	size_t n = 0;

	for (; *text && n + 3 <= size; text++) {
		if (*text == '\\' || *text == '\n' || (quotes && *text == '"')) {
			out[n++] = '\\';
		}
		out[n++] = *text == '\n' ? 'n' : *text;
	}
	out[n] = '\0';
}

void metrics_label(struct metrics_labels *l, const char *key, const char *value)
{
	char cut[METRICS_VALUE_MAX], escaped[2 * METRICS_VALUE_MAX + 2];
	size_t used = strlen(l->text);
	int n;

	snprintf(cut, sizeof(cut), "%s", value);
	text_whole(cut);
	escape(escaped, sizeof(escaped), cut, true);
	n = snprintf(l->text + used, sizeof(l->text) - used, "%s%s=\"%s\"", used ? "," : "", key,
		     escaped);
	if (n < 0 || (size_t)n >= sizeof(l->text) - used) {
		l->text[used] = '\0';
	}
}

void metrics_label_number(struct metrics_labels *l, const char *key, json_int_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" JSON_INTEGER_FORMAT, value);
	metrics_label(l, key, text);
}

/* ------------------------------------------------------------------ samples */

static const char *type_name(enum metrics_type type)
{
	return type == METRICS_COUNTER ? "counter" : "gauge";
}

void metrics_family(struct metrics_text *t, const char *name, enum metrics_type type,
		    const char *help)
{
	t->name = name;
	t->type = type;
	t->help = help;
	t->begun = false;
}

static void begin_sample(struct metrics_text *t, const struct metrics_labels *labels)
{
	char help[512];

	if (!t->begun) {
		escape(help, sizeof(help), t->help, false);
		fprintf(t->out, "# HELP %s %s\n# TYPE %s %s\n", t->name, help, t->name,
			type_name(t->type));
		t->begun = true;
	}
	if (labels && labels->text[0]) {
		fprintf(t->out, "%s{%s} ", t->name, labels->text);
	} else {
		fprintf(t->out, "%s ", t->name);
	}
}

void metrics_sample(struct metrics_text *t, const struct metrics_labels *labels, double value)
{
	char text[32];

	if (isnan(value)) {
		return;
	}
	begin_sample(t, labels);
	if (isinf(value)) {
		fputs(value > 0 ? "+Inf\n" : "-Inf\n", t->out);
		return;
	}
	/* The shortest that is read as the same number. */
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, value);
		if (strtod(text, NULL) == value) {
			break;
		}
	}
	fprintf(t->out, "%s\n", text);
}

void metrics_json(struct metrics_text *t, const struct metrics_labels *labels, const json_t *value)
{
	if (json_is_integer(value)) {
		json_int_t n = json_integer_value(value);

		begin_sample(t, labels);
		if (t->type == METRICS_COUNTER) {
			fprintf(t->out, "%" PRIu64 "\n", (uint64_t)n);
		} else {
			fprintf(t->out, "%" JSON_INTEGER_FORMAT "\n", n);
		}
	} else if (json_is_number(value)) {
		metrics_sample(t, labels, json_number_value(value));
	} else if (json_is_boolean(value)) {
		metrics_sample(t, labels, json_is_true(value));
	}
}

void metrics_states(struct metrics_text *t, const struct metrics_labels *labels,
		    const char *const *states, const char *state)
{
	for (; *states; states++) {
		struct metrics_labels each = labels ? *labels : (struct metrics_labels){0};

		metrics_label(&each, "state", *states);
		metrics_sample(t, &each, strcmp(*states, state) == 0);
	}
}

void metrics_list_line(FILE *out, const char *name, enum metrics_type type, const char *labels,
		       const char *help)
{
	fprintf(out, "%s\t%s\t%s\t%s\n", name, type_name(type), labels, help);
}

/* ------------------------------------------------------------------ begin and end */

struct metrics_text *metrics_text_new(void)
{
	struct metrics_text *t = calloc(1, sizeof(*t));

	if (t) {
		t->out = open_memstream(&t->text, &t->length);
	}
	if (t && !t->out) {
		free(t);
		return NULL;
	}
	return t;
}

char *metrics_text_end(struct metrics_text *t)
{
	bool failed = ferror(t->out) != 0;
	char *text;

	failed = fclose(t->out) != 0 || failed;
	text = t->text;
	free(t);
	if (failed) {
		free(text);
		return NULL;
	}
	return text;
}

void metrics_text_free(struct metrics_text *t)
{
	if (t) {
		free(metrics_text_end(t));
	}
}
