/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers and times as schemas/control.md has them; new references. */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "daemon/core/now.h"

/* Numbers that do not exist are null. */
static inline json_t *json_number_or_null(double v)
{
	return __builtin_isfinite(v) ? json_real(v) : json_null();
}

/* Seconds since `then_ns` (CLOCK_MONOTONIC); null when it never was. */
static inline json_t *json_age(uint64_t then_ns)
{
	return then_ns ? json_real((double)(int64_t)(now_mono_ns() - then_ns) / 1e9) : json_null();
}

static inline json_t *json_time(int64_t utc_ns)
{
	return utc_ns ? json_real((double)utc_ns / 1e9) : json_null();
}

/* When that was, in UTC. */
static inline json_t *json_time_of(uint64_t then_ns)
{
	return then_ns ? json_time(now_utc_ns() - (int64_t)(now_mono_ns() - then_ns)) : json_null();
}
