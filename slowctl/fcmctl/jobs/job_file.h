/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is read from a file and carried out as one job. Two forms, both with # comments and empty lines:
 *
 *   a plan    NAME = VALUE          floor3.om2.hv = 1450     # of fcmctl plan, apply; written by get --plan
 *   a batch   set NAME VALUE        set 'floor3.*.hv' 1450   # of fcmctl batch: as typed to fcmctl
 *             action NAME           action floor3.om2.clear_trip
 *             wait                  wait                     # until all before it has ended
 *
 * A name may be a pattern. Pure: text in, lines out; it does not know which names exist.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "slowctl/fcmctl/core/args.h"

struct job_line {
	unsigned line;		  /* in the file, from 1 */
	unsigned step;		  /* counts the waits before it */
	const char *name, *value; /* inside `text`; value NULL: an action */
};

struct job_file {
	char *text; /* taken apart in place */
	struct job_line *lines;
	size_t count;
};

/* The longest file taken, in bytes: some 200 000 commands. */
#define JOB_FILE_MAX (16u << 20)

/* A plan, or else a batch. `text` (malloc'ed, `length` bytes and a zero) is taken over, also on failure.
 * -EINVAL with *ret_fault, -ENOMEM. */
int job_file_parse(char *text, size_t length, bool plan, struct job_file *ret_file,
		   struct ctl_fault *ret_fault);
/* All of `path`, "-": of the standard input, as `text` of the above. Negative errno, -EFBIG: longer than
 * JOB_FILE_MAX. */
int job_file_read(const char *path, char **ret_text, size_t *ret_length);
void job_file_free(struct job_file *file);
