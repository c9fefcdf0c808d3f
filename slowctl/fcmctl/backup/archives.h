/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The archive files of a database: station-2025.db beside station.db, one per year (daemon/store/archive.c). */
#pragma once

#include <jansson.h>
#include <stddef.h>

/* Without ".db": what the names of its archives begin with. Returns buf. */
const char *archives_stem(const char *database, char *buf, size_t size);
/* Years as texts: ["2025", "2026"]. */
json_t *archives_years(const char *database);
