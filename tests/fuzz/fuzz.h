/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the fuzz targets share. A target is fuzz_NAME.c: LLVMFuzzerTestOneInput() takes bytes that somebody
 * hostile, broken or careless may have sent, and must() says what has to be true whatever they are.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A finding: libFuzzer keeps the input that led here. */
#define must(what)                                                                                 \
	do {                                                                                       \
		if (!(what)) {                                                                     \
			fprintf(stderr, "%s:%d: must be true: %s\n", __FILE__, __LINE__, #what);   \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

/* The input as a supply of small decisions; zeros when it is used up. */
struct fuzz_input {
	const uint8_t *at;
	size_t left;
};

static inline uint32_t fuzz_take(struct fuzz_input *in, unsigned bytes)
{
	uint32_t v = 0;

	for (unsigned n = 0; n < bytes && in->left > 0; n++, in->at++, in->left--) {
		v |= (uint32_t)*in->at << 8 * n;
	}
	return v;
}
