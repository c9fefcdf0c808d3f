/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside the parameters: the table, shared by param.c (values, look-up), match.c (patterns), load.c
 * (dictionary) and site.c (what a site has otherwise).
 */
#ifndef SLOWCTL_PARAM_PRIVATE_H
#define SLOWCTL_PARAM_PRIVATE_H

#include <stdio.h>

#include "slowctl/param/param.h"

/* The kind of one parameter that a site has otherwise than its like. */
struct param_own {
	struct param_own *next;
	struct param_kind kind;
};

struct params {
	struct param_kind *kinds;
	unsigned kind_count, kind_room;
	struct param_own *own;
	struct param *table;
	unsigned count, room;
	char (*parts)[PARAM_NAME_MAX]; /* all different parts of names */
	unsigned part_count;
};

/* A file of sections being read. The first error is kept: in `result` and, said, in `error`. */
struct param_file {
	const char *path;
	FILE *file;
	int line;    /* being parsed */
	int section; /* where the last [section] stood; 0: none yet */
	int result;
	struct sc_error *error;
};

/* match.c */

/* The parts of its name. -ENOMEM, -ENAMETOOLONG. */
int param_note_parts(struct params *p, struct param *param);

/* load.c */

/* Read `path` into p->kinds, checked. */
int param_load_kinds(const char *path, struct params *p, struct sc_error *error);

/* Open and parse; `on_key` is libinih's, of `user`. The file's errors are said. */
int param_file_read(struct param_file *f,
		    int (*on_key)(void *user, const char *section, const char *name,
				  const char *value),
		    void *user);
/* "PATH:LINE: ..." Returns f->result. */
int param_file_complain(struct param_file *f, int line, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* A key of a section of this kind. `seen`: the keys of the section met so far, a bit each. */
void param_key_put(struct param_file *f, struct param_kind *k, const char *section,
		   const char *name, const char *value, uint64_t *seen);
/* What the hardware is, not a site's to change. */
bool param_key_fixed(const char *name);

/* What a kind misses or has too much; NULL: nothing. */
const char *param_kind_fault(const struct params *p, const struct param_kind *k);
/* What was left out is made from what was said. */
void param_kind_complete(struct param_kind *k);

#endif
