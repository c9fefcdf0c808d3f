/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Time as an operator types it and as fcmctl prints it. All of it is UTC; pure functions, the present
 * is an argument.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * Parse a point in time into UTC seconds since 1970:
 *   now, today, yesterday            the present, 00:00 UTC of the day
 *   30s 5m 1h30m 2d 1w               so long ago
 *   02:00, 02:00:30.5                the last time it was so late (UTC)
 *   2026-11-01, 2026-11-01T02:00:30  T or a blank; Z, +01:00 or -0500 behind it: a zone, else UTC
 *   @1790000000.5                    seconds since 1970
 * -EINVAL: none of these; -ERANGE: a field out of its range. ret untouched then.
 */
int ctl_time_parse(const char *text, double now, double *ret_time);

/* A span: "10", "10s", "1h30m", "0.5"; a bare number is seconds. -EINVAL; -ERANGE above 10 years. */
int ctl_span_parse(const char *text, double *ret_s);

/* "2026-11-20 15:12:03" with `decimals` (0..6) behind the second. Returns buf. */
const char *ctl_time_text(double time, int decimals, char *buf, size_t size);

/* "2026-11-20T15:12:03.250936725" of ns since 1970, "-" of INT64_MIN. Returns buf. */
const char *ctl_time_ns_text(int64_t time_ns, char *buf, size_t size);

/* How long: "12 ms", "0.8 s", "47 s", "4 min 10 s", "2 h 5 min", "3 d 4 h". Returns buf. */
const char *ctl_span_text(double seconds, char *buf, size_t size);
