/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See args.h. */
#include "daemon/control/args.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a type is called, in words and in JSON Schema. */
static const struct {
	const char *words, *schema, *low, *high;
} types[] = {
	[ARG_TEXT] = {"a string", "string", "minLength", "maxLength"},
	[ARG_HEX] = {"hexadecimal, two of 0-9a-f a byte", "string", NULL, NULL},
	[ARG_INT] = {"an integer", "integer", "minimum", "maximum"},
	[ARG_NUMBER] = {"a number", "number", "minimum", "maximum"},
	[ARG_BOOL] = {"true or false", "boolean", NULL, NULL},
	[ARG_VALUE] = {"a string or a number", NULL, NULL, NULL},
	[ARG_TEXTS] = {"a list of strings", "array", "minItems", "maxItems"},
	[ARG_INTS] = {"a list of integers", "array", NULL, NULL},
};

/* --- checks --- */

static bool in_range(const struct control_arg *a, double value)
{
	bool any = a->min == 0 && a->max == 0;

	return any || (value >= a->min && (a->max < a->min || value <= a->max));
}

/* Whether the value is one of the words, if there are any. */
static bool is_listed(const struct control_arg *a, const json_t *j)
{
	char text[32];
	size_t length;

	if (!a->words) {
		return true;
	}
	snprintf(text, sizeof(text), "%s", json_is_string(j) ? json_string_value(j) : "");
	if (json_is_integer(j)) {
		snprintf(text, sizeof(text), "%lld", (long long)json_integer_value(j));
	}
	length = strlen(text);
	for (const char *w = a->words; *w; w += strcspn(w, "|"), w += *w == '|') {
		if (strcspn(w, "|") == length && memcmp(w, text, length) == 0) {
			return true;
		}
	}
	return false;
}

static bool is_hex(const struct control_arg *a, const json_t *j)
{
	const char *text = json_string_value(j);
	size_t length = text ? strlen(text) : 1;

	return length % 2 == 0 && text[strspn(text, "0123456789abcdef")] == '\0' &&
	       in_range(a, (double)(length / 2));
}

static bool items_fit(const struct control_arg *a, const json_t *list)
{
	size_t i;
	json_t *j;

	json_array_foreach (list, i, j) {
		if (a->type == ARG_TEXTS
			    ? !json_is_string(j)
			    : !json_is_integer(j) || !in_range(a, (double)json_integer_value(j))) {
			return false;
		}
	}
	return json_is_array(list);
}

static bool fits(const struct control_arg *a, const json_t *j)
{
	switch (a->type) {
	case ARG_TEXT:
		return json_is_string(j) && is_listed(a, j);
	case ARG_HEX:
		return is_hex(a, j);
	case ARG_INT:
		return json_is_integer(j) && is_listed(a, j) &&
		       in_range(a, (double)json_integer_value(j));
	case ARG_NUMBER:
		return json_is_number(j) && in_range(a, json_number_value(j));
	case ARG_BOOL:
		return json_is_boolean(j);
	case ARG_VALUE:
		return json_is_string(j) || json_is_number(j);
	case ARG_TEXTS:
		return items_fit(a, j) && in_range(a, (double)json_array_size(j));
	default:
		return items_fit(a, j);
	}
}

/* "an integer, 0 to 3" */
static const char *words_of(const struct control_arg *a, char *text, size_t size)
{
	const char *unit = a->type == ARG_HEX ? "bytes" : a->unit ? a->unit : "";
	const char *gap = *unit ? " " : "";

	if (a->words) {
		snprintf(text, size, "one of %s", a->words);
	} else if (a->type == ARG_TEXT || (a->min == 0 && a->max == 0)) {
		snprintf(text, size, "%s", types[a->type].words);
	} else if (a->max < a->min) {
		snprintf(text, size, "%s, at least %.10g%s%s", types[a->type].words, a->min, gap,
			 unit);
	} else {
		snprintf(text, size, "%s, %.10g to %.10g%s%s", types[a->type].words, a->min, a->max,
			 gap, unit);
	}
	return text;
}

static const struct control_arg *find(const struct control_arg *described, const char *name)
{
	for (const struct control_arg *a = described; a && a->name; a++) {
		if (strcmp(a->name, name) == 0) {
			return a;
		}
	}
	return NULL;
}

static bool check(const struct control_arg *a, const char *name, const json_t *j,
		  struct arg_fault *fault)
{
	size_t bytes = json_string_length(j);
	char words[120];

	*fault = (struct arg_fault){.hint = a ? a->about : "see schemas/control.md"};
	if (!a) {
		snprintf(fault->message, sizeof(fault->message), "it takes no argument \"%.60s\"",
			 name);
	} else if (!json_is_null(j) && !fits(a, j)) {
		snprintf(fault->message, sizeof(fault->message), "\"%s\" has to be %s", name,
			 words_of(a, words, sizeof(words)));
	} else if (a->type == ARG_TEXT && a->max > 0 && (double)bytes > a->max) {
		fault->too_long = true;
		fault->hint = "make it shorter";
		snprintf(fault->message, sizeof(fault->message),
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
		if (!check(find(described, name), name, j, ret_fault)) {
			return false;
		}
		if (json_is_null(j)) {
			json_object_del(args, name);
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
	return value == (double)(json_int_t)value ? json_integer((json_int_t)value)
						  : json_real(value);
}

static void put_range(json_t *schema, const struct control_arg *a, const char *low,
		      const char *high)
{
	if (a->min == 0 && a->max == 0) {
		return;
	}
	if (a->min != 0 || a->type == ARG_INT || a->type == ARG_NUMBER || a->type == ARG_INTS) {
		json_object_set_new(schema, low, number(a->min));
	}
	if (a->max >= a->min) {
		json_object_set_new(schema, high, number(a->max));
	}
}

static json_t *words_json(const struct control_arg *a)
{
	json_t *list = json_array();

	for (const char *w = a->words; *w; w += strcspn(w, "|"), w += *w == '|') {
		json_array_append_new(list, a->type == ARG_INT ? json_integer(strtol(w, NULL, 10))
							       : json_stringn(w, strcspn(w, "|")));
	}
	if (!a->required) {
		json_array_append_new(list, json_null());
	}
	return list;
}

static void put_items(json_t *schema, const struct control_arg *a)
{
	json_t *items = json_pack("{s:s}", "type", a->type == ARG_TEXTS ? "string" : "integer");

	if (a->type == ARG_INTS) {
		put_range(items, a, "minimum", "maximum");
	}
	json_object_set_new(schema, "items", items);
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
	json_t *schema = json_pack("{s:s,s:o}", "description", a->about ? a->about : "", "type",
				   type_json(a));
	char pattern[64];

	if (a->unit) {
		json_object_set_new(schema, "unit", json_string(a->unit));
	}
	if (a->words) {
		json_object_set_new(schema, "enum", words_json(a));
	} else if (types[a->type].low) {
		put_range(schema, a, types[a->type].low, types[a->type].high);
	}
	if (a->type == ARG_TEXT && a->required) {
		json_object_set_new(schema, "minLength", json_integer(1));
	}
	if (a->type == ARG_HEX) {
		snprintf(pattern, sizeof(pattern), "^([0-9a-f][0-9a-f]){%.0f,%.0f}$", a->min,
			 a->max);
		json_object_set_new(schema, "pattern", json_string(pattern));
	}
	if (a->type == ARG_TEXTS || a->type == ARG_INTS) {
		put_items(schema, a);
	}
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

/* --- reading --- */

int64_t arg_ns(const json_t *args, const char *name, int64_t otherwise)
{
	const json_t *j = json_object_get(args, name);
	double ns = json_number_value(j) * 1e9;

	return !j ? otherwise : ns >= 9.2e18 ? INT64_MAX : ns <= 0 ? 0 : (int64_t)ns;
}
