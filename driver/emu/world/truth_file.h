/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes a truth file (driver/emu/common/truth.h), buffered. After the first error no more records are written;
 * truth_file_destroy() returns that error.
 */
#pragma once

#include "driver/emu/common/truth.h"

struct truth_file;

int truth_file_create(const char *path, uint64_t seed, int64_t tai_start_ns, unsigned links,
		      struct truth_file **ret_file);
/* Correct the head's start, before anything depends on it. */
void truth_file_start(struct truth_file *t, int64_t tai_start_ns);
void truth_file_put(struct truth_file *t, const struct truth_record *record);
/* Write what is buffered and close; NULL is fine. 0, or the first error since the beginning. */
int truth_file_destroy(struct truth_file *t);
