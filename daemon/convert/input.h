/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is to be converted: a recording (a directory of segments, or one of them), a file of our own, or a running daemon.
 * Of a recording the headers of its segments are read (schemas/fcm_record.h): its runs, its size, when it begins.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schemas/fcm_record.h"

#define INPUT_LINKS 4u
#define INPUT_RUNS  64u

enum input_kind {
	INPUT_DIRECTORY,
	INPUT_SEGMENT,
	INPUT_HDF5,
	INPUT_LIVE,
};

struct input_segment {
	char name[32]; /* as in a recording: link0-00000.fcmr */
	char *path;
	uint64_t bytes;
	struct fcm_segment_header header;
};

struct input {
	enum input_kind kind;
	const char *path;
	struct input_segment *segments; /* by link, then number */
	size_t n;
	uint64_t bytes; /* of them all */
	uint32_t runs[INPUT_RUNS];
	unsigned runs_n;      /* different ones */
	unsigned bad;	      /* segments whose header makes no sense: they are left out */
	int64_t begin_tai_ns; /* by the first label with a time; INT64_MIN: none */
	int32_t tai_utc_s;    /* by the same; 0: none */
	char *json;	      /* recording.json, or NULL */
	bool no_end;	      /* says recording.json: it grows, or its daemon was killed */
	bool grows;	      /* it was seen to */
};

/* `links`: bit mask. 0; -ENOENT and the like of open(2); -ENODATA: no segments; -EBADMSG: neither a segment nor HDF5. */
int input_open(const char *path, unsigned links, struct input *ret_input);
void input_close(struct input *in);
/* When it ends, by its segments' records and the labels in them; INT64_MIN: without a time. */
int64_t input_end_tai_ns(const struct input *in);
/* Which recording it is: the same as long as its first segments are. */
uint32_t input_print(const struct input *in);
