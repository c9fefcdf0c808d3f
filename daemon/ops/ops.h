/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Arguments of the control protocol's operations, as several of ops_NOUN.c read them. */
#ifndef DAEMON_OPS_OPS_H
#define DAEMON_OPS_OPS_H

#include <jansson.h>
#include <stdint.h>
#include "daemon/station/questions.h"

/* NULL: there is none. */
static inline const char *text_arg(json_t *args, const char *key)
{
	return json_string_value(json_object_get(args, key));
}

static inline int64_t since_arg(json_t *args)
{
	double ns = json_number_value(json_object_get(args, "since")) * 1e9;

	return ns >= 9.2e18 ? INT64_MAX : ns <= 0 ? 0 : (int64_t)ns;
}

/* 0: there is none. */
static inline int64_t until_arg(json_t *args)
{
	double until = json_number_value(json_object_get(args, "until"));

	return until > 0 && until < 9e9 ? (int64_t)(until * 1e9) : 0;
}

static inline unsigned limit_arg(json_t *args)
{
	json_int_t n = json_integer_value(json_object_get(args, "limit"));

	return n < 0 || n > ROWS_MAX ? 0 : (unsigned)n;
}

#endif
