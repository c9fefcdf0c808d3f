/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whole reads and writes at an offset: 0 or negative errno; no short ones. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* -ENODATA: the file ends before. */
int read_whole(int fd, uint64_t offset, void *to, size_t n);
int write_whole(int fd, uint64_t offset, const void *from, size_t n);
