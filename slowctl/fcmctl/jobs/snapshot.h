/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Snapshots held against each other. No I/O. */
#pragma once

#include <jansson.h>

/* {name: {value, unit}} of values:[{parameter, value, unit}] of op snapshot.show, or of parameters:[Parameter] as they
 * are set now, of those in `among` (NULL: all). An unknown value is left out; the names of those in `among` are
 * appended to `unknown` (NULL: not asked). New references. */
json_t *snapshot_values(const json_t *shown);
json_t *snapshot_values_now(const json_t *listed, const json_t *among, json_t *unknown);
/* [{parameter, unit, a|null, b|null}] of all names in which they differ, by name. null: it is not in that one. */
json_t *snapshot_diff(const json_t *a, const json_t *b);
/* A plan of those values whose names match `pattern` (NULL: all): malloc'ed. *ret_left: how many there are of parameters
 * that are no longer configured; they are left out. */
char *snapshot_plan(const json_t *shown, const char *pattern, size_t *ret_left);
