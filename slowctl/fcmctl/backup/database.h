/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A copy of a database of the station, whether a daemon has it open or not. The copy is one file, checked, and on the
 * disk. Errors are negative errno, and `error` says what and what to do.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "slowctl/param/error.h"

/*
 * Copy `from` into the new file `to`. made_ns: not 0: the copy is marked as a backup of that time, or of its daemon's
 * last sign of life if that is earlier, so that the daemon that opens it gives no number twice
 * (daemon/store/copied.c): an old database may be copied each hour while another station goes on. *ret_rows:
 * {TABLE: rows, ...}, the same in both.
 */
int database_copy(const char *from, const char *to, int64_t made_ns, json_t **ret_rows,
		  struct sc_error *error);

/* What tells databases apart. */
struct database_facts {
	int64_t born_ns;		/* its first start of DMA; 0: none yet */
	int64_t alive_ns;		/* the last sign of life of its daemon */
	int64_t command, run, incident; /* the last numbers */
};
/* -ENOENT: there is no such file. */
int database_facts(const char *path, struct database_facts *ret_facts, struct sc_error *error);
/* Write its log into it, so that no -wal is left: nobody has it open. -EUCLEAN: it is damaged. */
int database_settle(const char *path);
