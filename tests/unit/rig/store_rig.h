/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A store on a real file in a directory of its own, for the tests of store and queries.
 */
#pragma once

#include "daemon/store/store.h"

struct sqlite3;

#define RIG_UTC 1795000000000000000ll

struct store_rig {
	char dir[64], path[96];
	struct store_config config;
	struct store *s;
};

void store_rig_create(struct store_rig *r);
void store_rig_destroy(struct store_rig *r); /* the file too */
void store_rig_open(struct store_rig *r);    /* and start */
void store_rig_close(struct store_rig *r);   /* orderly */
/* The next answer, at most 5 s. */
struct store_done store_rig_wait(struct store_rig *r);
/* Until nothing is queued, at most 5 s. */
void store_rig_flush(struct store_rig *r);
/* One number of the file, read by a connection of its own. */
int64_t store_rig_number(const struct store_rig *r, const char *sql);

/* Run it, on a connection of the test's own. */
void store_rig_sql(struct sqlite3 *db, const char *sql);
/* The same on a connection of its own. */
void store_rig_run(const char *path, const char *sql);
/* A file of less than 64 KiB as text, to be freed. */
char *store_rig_text(const char *path);
/* DIRECTORY/NNNN_*.sql. */
char *store_rig_migration(const char *directory, unsigned number);

/* A command row: QUEUED, set of floor3.om2.hv to 1450 V. */
void store_rig_command(struct row *row, uint64_t id, const char *client_id, uint32_t sequence);
void store_rig_transition(struct row *row, uint64_t id, const char *state, int64_t frame,
			  const char *detail, bool ended);
