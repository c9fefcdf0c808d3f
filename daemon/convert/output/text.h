/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A row of a table as text, for CSV; and the facts of a conversion as JSON. No I/O. */
#pragma once

#include <stddef.h>

#include "daemon/convert/output/sink.h"

#define TEXT_ROW 2048u /* no row, and no name line, is as long */

/* Names with commas between, a newline behind them: its length. */
size_t text_names(const struct table *t, char *text);
/* Values with commas between, no newline. */
size_t text_row(const struct table *t, const void *row, char *text);
size_t text_number(int64_t value, char *text);

/* malloc'ed; NULL: no memory. */
char *text_about(const struct about *a, const struct totals *t);
/* "2026-11-27T12:00:00.123456789Z" of a TAI time. */
void text_utc(int64_t tai_ns, int32_t tai_utc_s, char *text, size_t size);
