/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kinds of output, by their names. */
#pragma once

#include "daemon/convert/output/sink.h"

struct kind {
	const char *name;   /* of --to */
	const char *suffix; /* of an output's name */
	sink_open_fn *open; /* NULL: a recording, of which there is no sink */
	size_t state_bytes;
	unsigned streams;   /* it can have */
	unsigned by_itself; /* it has, when none are named */
};

/* By --to (NULL: not given), else by the output's suffix; NULL: unknown. */
const struct kind *kind_of(const char *to, const char *output);
/* What a conversion of this kind would write over: the first name of it that is there, or false. */
bool kind_there(const struct kind *kind, const char *output, char *found, size_t size);
/* All of that: removed, with the journal. 0 or negative errno. */
int kind_clear(const struct kind *kind, const char *output);
