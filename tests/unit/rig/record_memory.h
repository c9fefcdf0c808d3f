/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A recorded segment in memory as the source of tdm_walk_begin(). */
#pragma once

#include <string.h>

#include "tdm/record.h"

struct record_memory {
	const void *bytes;
	size_t length;
};

/* `context`: struct record_memory. */
static inline ssize_t record_read_memory(void *context, uint64_t offset, void *to, size_t length)
{
	const struct record_memory *m = context;
	size_t left = offset < m->length ? m->length - (size_t)offset : 0;
	size_t n = length < left ? length : left;

	memcpy(to, (const uint8_t *)m->bytes + (n ? offset : 0), n);
	return (ssize_t)n;
}
