/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The arguments of an operation: how they are described, checked and read. The description is the only one:
 * control.schema.json, control.md and `ops.list` are generated from it. A handler gets arguments that fit it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

enum arg_type {
	ARG_TEXT,
	ARG_HEX, /* two hexadecimal digits a byte, a-f in lower case */
	ARG_INT,
	ARG_NUMBER,
	ARG_BOOL,
	ARG_VALUE, /* a string or a number */
	ARG_TEXTS, /* a list of strings */
	ARG_INTS,  /* a list of integers */
};

struct control_arg {
	const char *name;
	enum arg_type type;
	bool required; /* then a text has at least one byte */
	/* A number, and each of ARG_INTS: the range. A text: bytes. ARG_TEXTS: how many. max < min:
	 * no upper limit; both 0: no limit. */
	double min, max;
	const char *words; /* "align|reset", "1|60|3600": one of these; NULL: any */
	const char *unit;  /* NULL: none */
	const char *about; /* one line */
};

/* For tables: an argument; all arguments of an operation. */
#define CONTROL_ARG(...)                                                                           \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}
#define CONTROL_ARGS(...) ((const struct control_arg[]){__VA_ARGS__, CONTROL_ARG(0)})

struct arg_fault {
	char message[200]; /* "\"link\" has to be an integer, 0 to 3" */
	const char *hint;
	bool too_long; /* a text, for its bytes */
};

/* Whether each given argument is known and matches its description. null is removed: it counts as
 * not given. False: `ret_fault` says what is wrong. `described` ends with name NULL; NULL: there
 * are none. */
bool args_fit(const struct control_arg *described, json_t *args, struct arg_fault *ret_fault);
/* Whether no required argument is missing. As above. */
bool args_complete(const struct control_arg *described, const json_t *args,
		   struct arg_fault *ret_fault);
/* The arguments as JSON Schema: {"type":"object", ...}. */
json_t *args_schema(const struct control_arg *described);

/* --- reading them, once they fit --- */

/* NULL: not given. */
static inline const char *arg_text(const json_t *args, const char *name)
{
	return json_string_value(json_object_get(args, name));
}

/* "": not given. */
static inline const char *arg_words(const json_t *args, const char *name)
{
	const char *text = arg_text(args, name);

	return text ? text : "";
}

static inline int64_t arg_int(const json_t *args, const char *name, int64_t otherwise)
{
	const json_t *j = json_object_get(args, name);

	return j ? json_integer_value(j) : otherwise;
}

static inline double arg_number(const json_t *args, const char *name, double otherwise)
{
	const json_t *j = json_object_get(args, name);

	return j ? json_number_value(j) : otherwise;
}

/* Given, and true. */
static inline bool arg_true(const json_t *args, const char *name)
{
	return json_is_true(json_object_get(args, name));
}

/* Given, and false. */
static inline bool arg_false(const json_t *args, const char *name)
{
	return json_is_false(json_object_get(args, name));
}
