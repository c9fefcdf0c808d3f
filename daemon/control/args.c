/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Arguments of operations, checked against their description: see args.h. */
#include "daemon/control/args.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INTEGER (1u << JSON_INTEGER)
#define NUMBER	(INTEGER | 1u << JSON_REAL)
#define STRING	(1u << JSON_STRING)
#define ARRAY	(1u << JSON_ARRAY)

/* Each type in words, in JSON Schema (with what a range is called there), and in jansson. */
static const struct {
	const char *words, *schema, *low, *high;
	unsigned json; /* 1 << enum json_type, several */
} types[] = {
	[ARG_TEXT] = {"a string", "string", "minLength", "maxLength", STRING},
	[ARG_HEX] = {"hexadecimal, two of 0-9a-f a byte", "string", NULL, NULL, STRING},
	[ARG_INT] = {"an integer", "integer", "minimum", "maximum", INTEGER},
	[ARG_NUMBER] = {"a number", "number", "minimum", "maximum", NUMBER},
	[ARG_BOOL] = {"true or false", "boolean", NULL, NULL, 1u << JSON_TRUE | 1u << JSON_FALSE},
	[ARG_VALUE] = {"a string or a number", NULL, NULL, NULL, STRING | NUMBER},
	[ARG_TEXTS] = {"a list of strings", "array", "minItems", "maxItems", ARRAY},
	[ARG_INTS] = {"a list of integers", "array", NULL, NULL, ARRAY},
};

static bool is_of(unsigned json_types, const json_t *j)
{
	return json_types >> json_typeof(j) & 1;
}

static bool has_range(const struct control_arg *a)
{
	return a->min != 0 || a->max != 0;
}

static bool has_max(const struct control_arg *a)
{
	return has_range(a) && a->max >= a->min;
}

/* The words as a list; NULL: there are none. */
static json_t *words_json(const struct control_arg *a)
{
	json_t *list = a->words ? json_array() : NULL;
	size_t length;

	for (const char *w = a->words; w && *w; w += length + (w[length] == '|')) {
		length = strcspn(w, "|");
		json_array_append_new(list, a->type == ARG_INT ? json_integer(strtol(w, NULL, 10))
							       : json_stringn(w, length));
	}
	return list;
}

/* --- checks --- */

static bool in_range(const struct control_arg *a, double value)
{
	return !has_range(a) || (value >= a->min && (!has_max(a) || value <= a->max));
}

static bool is_listed(const struct control_arg *a, const json_t *value)
{
	json_t *list = words_json(a), *word;
	bool listed = !list;
	size_t i;

	json_array_foreach (list, i, word) {
		listed |= json_equal(word, value) == 1;
	}
	json_decref(list);
	return listed;
}

static bool is_hex(const struct control_arg *a, const char *text)
{
	size_t digits = strspn(text, "0123456789abcdef"), bytes = digits / 2;

	return text[digits] == '\0' && digits == 2 * bytes && in_range(a, (double)bytes);
}

static bool items_fit(const struct control_arg *a, const json_t *list)
{
	bool texts = a->type == ARG_TEXTS,
	     fit = !texts || in_range(a, (double)json_array_size(list));
	json_t *j;
	size_t i;

	json_array_foreach (list, i, j) {
		fit = fit && is_of(texts ? STRING : INTEGER, j) &&
		      (texts || in_range(a, json_number_value(j)));
	}
	return fit;
}

/* But for the bytes of a text. */
static bool fits(const struct control_arg *a, const json_t *j)
{
	if (!is_of(types[a->type].json, j)) {
		return false;
	}
	switch (a->type) {
	case ARG_HEX:
		return is_hex(a, json_string_value(j));
	case ARG_INT:
	case ARG_NUMBER:
		return in_range(a, json_number_value(j)) && is_listed(a, j);
	case ARG_TEXTS:
	case ARG_INTS:
		return items_fit(a, j);
	default:
		return is_listed(a, j);
	}
}

/* "\"link\" has to be an integer, 0 to 3" */
static void say_unfit(const struct control_arg *a, char *text, size_t size)
{
	const char *unit = a->type == ARG_HEX ? " bytes" : a->unit ? a->unit : "";
	int used = snprintf(text, size, "\"%s\" has to be %s%s", a->name,
			    a->words ? "one of " : types[a->type].words, a->words ? a->words : "");

	text += used;
	size -= (size_t)used;
	if (has_max(a) && a->type != ARG_TEXT) {
		snprintf(text, size, ", %.10g to %.10g%s%s", a->min, a->max, a->unit ? " " : "",
			 unit);
	} else if (has_range(a) && a->type != ARG_TEXT) {
		snprintf(text, size, ", at least %.10g%s%s", a->min, a->unit ? " " : "", unit);
	}
}

static const struct control_arg *find(const struct control_arg *described, const char *name)
{
	while (described && described->name && strcmp(described->name, name) != 0) {
		described++;
	}
	return described && described->name ? described : NULL;
}

static bool check(const struct control_arg *a, const char *name, const json_t *j,
		  struct arg_fault *fault)
{
	char *text = fault->message;
	size_t bytes = json_string_length(j);

	fault->hint = a ? a->about : "ops.list shows them; see schemas/control.md";
	fault->too_long = a && a->type == ARG_TEXT && has_max(a) && (double)bytes > a->max;
	if (!a) {
		snprintf(text, sizeof(fault->message), "it takes no argument \"%.60s\"", name);
	} else if (!fits(a, j)) {
		say_unfit(a, text, sizeof(fault->message));
	} else if (fault->too_long) {
		fault->hint = "make it shorter";
		snprintf(text, sizeof(fault->message),
			 "\"%s\" has %zu bytes (UTF-8), at most %.0f; nothing was done", name,
			 bytes, a->max);
	} else {
		return true;
	}
	return false;
}

bool args_fit(const struct control_arg *described, json_t *args, struct arg_fault *ret_fault)
{
	const char *name;
	void *next;
	json_t *j;

	json_object_foreach_safe(args, next, name, j)
	{
		const struct control_arg *a = find(described, name);

		if (a && json_is_null(j)) {
			json_object_del(args, name);
		} else if (!check(a, name, j, ret_fault)) {
			return false;
		}
	}
	return true;
}

bool args_complete(const struct control_arg *described, const json_t *args,
		   struct arg_fault *ret_fault)
{
	for (const struct control_arg *a = described; a && a->name; a++) {
		const json_t *j = json_object_get(args, a->name);
		bool empty = a->type == ARG_TEXT && json_string_length(j) == 0;

		if (a->required && (!j || empty)) {
			*ret_fault = (struct arg_fault){.hint = a->about};
			snprintf(ret_fault->message, sizeof(ret_fault->message),
				 "\"%s\" is missing", a->name);
			return false;
		}
	}
	return true;
}

/* --- as JSON Schema --- */

static json_t *number(double value)
{
	bool whole = value == (double)(json_int_t)value;

	return whole ? json_integer((json_int_t)value) : json_real(value);
}

static void put_range(json_t *schema, const struct control_arg *a, const char *low,
		      const char *high)
{
	bool size = a->type == ARG_TEXT || a->type == ARG_TEXTS; /* none is below 0 */
	double min = a->type == ARG_TEXT && a->required && a->min < 1 ? 1 : a->min;

	if (low && (size ? min > 0 : has_range(a))) {
		json_object_set_new(schema, low, number(min));
	}
	if (high && has_max(a)) {
		json_object_set_new(schema, high, number(a->max));
	}
}

/* What is optional may be null. */
static json_t *type_json(const struct control_arg *a)
{
	if (a->type == ARG_VALUE) {
		return json_pack("[s,s]", "string", "number");
	}
	return a->required ? json_string(types[a->type].schema)
			   : json_pack("[s,s]", types[a->type].schema, "null");
}

static json_t *arg_schema(const struct control_arg *a)
{
	json_t *words = words_json(a), *items = NULL, *schema;
	char pattern[64];

	if (words && !a->required) {
		json_array_append_new(words, json_null());
	}
	if (a->type == ARG_TEXTS || a->type == ARG_INTS) {
		items = json_pack("{s:s}", "type", a->type == ARG_TEXTS ? "string" : "integer");
	}
	if (a->type == ARG_INTS) {
		put_range(items, a, "minimum", "maximum");
	}
	snprintf(pattern, sizeof(pattern), "^([0-9a-f][0-9a-f]){%.0f,%.0f}$", a->min, a->max);
	schema = json_pack("{s:s,s:o,s:s*,s:o*,s:s*,s:o*}", "description", a->about ? a->about : "",
			   "type", type_json(a), "unit", a->unit, "enum", words, "pattern",
			   a->type == ARG_HEX ? pattern : NULL, "items", items);
	put_range(schema, a, types[a->type].low, types[a->type].high);
	return schema;
}

json_t *args_schema(const struct control_arg *described)
{
	json_t *properties = json_object(), *required = json_array();

	for (const struct control_arg *a = described; a && a->name; a++) {
		json_object_set_new(properties, a->name, arg_schema(a));
		if (a->required) {
			json_array_append_new(required, json_string(a->name));
		}
	}
	return json_pack("{s:s,s:o,s:o,s:b}", "type", "object", "required", required, "properties",
			 properties, "additionalProperties", 0);
}
