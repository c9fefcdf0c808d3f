/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes a truth file (driver/emu/common/truth.h), buffered. After the first error no more records are written;
 * truth_file_destroy() returns that error.
 */
#pragma once

#include <stdbool.h>

#include "driver/emu/common/truth.h"

struct truth_file;

/* `light`: records of a sea with beacons. */
int truth_file_create(const char *path, uint64_t seed, int64_t tai_start_ns, unsigned links,
		      bool light, struct truth_file **ret_file);
/* Correct the head's start, before anything depends on it. */
void truth_file_start(struct truth_file *t, int64_t tai_start_ns);
/* `light`: NULL in a file without. */
void truth_file_put(struct truth_file *t, const struct truth_record *record,
		    const struct truth_light *light);
/* Write what is buffered and close; NULL is fine. 0, or the first error since the beginning. */
int truth_file_destroy(struct truth_file *t);
