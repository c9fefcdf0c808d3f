/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside the parameters: the table of param.c, and the reader of sections (load.c) that the dictionary and a site's
 * own files (site.c) share.
 */
#pragma once

#include <stdio.h>

#include "slowctl/param/param.h"

#define PARAM_SECTION_MAX  (2 * PARAM_NAME_MAX)
#define PARAM_SECTIONS_MAX 512u /* of one file */

/* The kind of one parameter that a site changes for this one only. */
struct param_own {
	struct param_own *next;
	struct param_kind kind;
};

struct params {
	struct param_kind *kinds;
	unsigned kind_count, kind_room;
	struct param_own *own;
	struct param *table;
	unsigned count;
};

struct param_file;
/* At each new section: sets f->kind, which its keys are for (NULL: they are skipped), or complains. `section` is the
 * name, `line` where it begins. */
typedef void (*param_begin_fn)(struct param_file *f, const char *section, int line);

/* A file of sections being read. The first error is kept: in `result`, its text in `error`. */
struct param_file {
	const char *path;
	struct params *params;
	struct sc_error *error;
	param_begin_fn begin;
	bool site; /* hardware keys are refused */

	FILE *file;
	int line;    /* being parsed */
	int heading; /* line of the last [section]; 0: none yet */
	int result;
	struct param_kind *kind;
	uint64_t seen; /* keys of the section so far, a bit each */
	unsigned count;
	struct {
		char name[PARAM_SECTION_MAX];
		int line;
	} sections[PARAM_SECTIONS_MAX];
};

/* ---- load.c ---- */

/* Read `path` into p->kinds, checked. */
int param_load_kinds(const char *path, struct params *p, struct sc_error *error);
/* Read the sections of the dictionary, or of a file of the `site`; *ret_count: how many. */
int param_file_read(struct params *p, const char *path, bool site, param_begin_fn begin,
		    unsigned *ret_count, struct sc_error *error);
/* That a file or directory cannot be opened, for the reason `r`. Returns it. */
int param_file_unreadable(const char *path, bool site, int r, struct sc_error *error);
/* "PATH:LINE: ..." Returns f->result. */
int param_file_complain(struct param_file *f, int line, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
