/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside the parameters: the table, shared by param.c (values, look-up) and param_load.c (dictionary).
 */
#ifndef SLOWCTL_PARAM_PRIVATE_H
#define SLOWCTL_PARAM_PRIVATE_H

#include "slowctl/param.h"

struct params {
	struct param_kind *kinds;
	unsigned kind_count, kind_room;
	struct param *table;
	unsigned count, room;
};

/* Read `path` into p->kinds, checked. param_load.c */
int param_load_kinds(const char *path, struct params *p, struct sc_error *error);

#endif
