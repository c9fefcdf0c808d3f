/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where blocks come from: a recording, or a running daemon as its monitor. libfcmdata does the work. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "daemon/consumer/fcmdata.h"
#include "daemon/convert/input.h"
#include "daemon/convert/report.h"

struct source_config {
	const char *path; /* a recording, a segment, or an endpoint */
	bool live;
	unsigned links, streams; /* bit masks */
	bool one_run;
	uint32_t run;
	int64_t from_tai_ns, until_tai_ns; /* 0: no limit */
	double seconds;			   /* live: for so long; 0: until it is told to stop */
	const char *server_key, *key_file;
	const volatile int *stop; /* not 0: end */
	struct report *report;	  /* live: that nobody answers is said there */
	char why[400];		  /* of an error of source_open() */
};

struct source;

int source_open(struct source_config *config, struct source **ret_source);
void source_close(struct source *s); /* NULL is fine */

/* The next block, valid until the next call: 1; 0: there are no more; negative: source_why(). */
int source_next(struct source *s, const struct fcmdata_block **ret_block);
/* Whether there is a block at all: as source_next(), which has the same block then. */
int source_wait(struct source *s);
/* Says why there was none. */
void source_say_nothing(const struct source *s, const struct input *in);
const char *source_why(const struct source *s);
/* Segments that ended in damage so far; *ret_text: the last one, or NULL. */
unsigned source_troubles(const struct source *s, const char **ret_text);
