/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The emergency journal: rows of commands that make something safer, sent while the database does not answer, and the
 * numbers that the engine has used. It is a mapped and locked file below /run: a write to it is a write to memory
 * and waits for no disk. It survives kill -9, not a power cut; disk.c copies it to the state directory, beside the
 * database, when that disk answers.
 *
 *   engine --ENGINE_EMERGENCY--> rows --bring--> store --answer--> brought: forgotten when their command has ended
 *                                 '--recover--> the engine of the next daemon
 *
 * Invariants:
 *  - a row is valid or absent: valid once `used` is behind it, and an area once it is active;
 *  - a row that is written to the database twice is there once (ROW_COMMAND_BROUGHT, ROW_TRANSITION_BROUGHT);
 *  - its size is fixed. When it is full, ended commands are replaced by a count per parameter; if there is still no
 *    room, the row is dropped and counted. The command is sent in any case.
 *
 * All calls are the main thread's.
 */
#pragma once

#include "slowctl/engine/engine.h"

struct emergency;
struct store;

/*
 * Map the file at `path`, or create it: from `copy` if that is a whole copy of such a file, else empty. A file of
 * another version is renamed, with a warning in the log. If the file cannot be mapped, memory of the process is used
 * instead, and `error` says why. 0; 1: memory of the process; -ENOMEM.
 */
int emergency_open(const char *path, const char *copy, struct emergency **ret_journal,
		   struct sc_error *error);
void emergency_close(struct emergency *j); /* NULL is accepted; the file stays */

/* For the engine: engine_marks(). */
struct engine_marks *emergency_marks(struct emergency *j);
/* A row of ENGINE_EMERGENCY. -ENOSPC: it is full of open commands; counted. */
int emergency_put(struct emergency *j, const struct row *row);

/* Load the commands of a previous daemon into the engine. -ENOMEM. */
int emergency_recover(const struct emergency *j, struct engine *e, struct engine_now now);
/* Give the store the rows that it does not have yet, while it can write. Cheap: call it often. */
void emergency_bring(struct emergency *j, struct store *s, struct engine_now now);
/* The store's answer to the last row of emergency_bring(): its cookie and result. */
void emergency_brought(struct emergency *j, uint64_t cookie, int result, struct engine_now now);

struct emergency_status {
	unsigned rows;	  /* not in the database yet */
	uint64_t folded;  /* commands kept as a count only, not in the database yet */
	uint64_t dropped; /* rows lost since the file was created */
	bool own_memory;  /* not a file: it does not survive the process */
	char error[200];  /* why not */
};
void emergency_get_status(const struct emergency *j, struct emergency_status *ret_status);

/* The whole image, for a copy: size, and memory with its sum as of now. True: it has changed since `*generation`,
 * which is then updated. */
size_t emergency_bytes(void);
const void *emergency_image(const struct emergency *j);
bool emergency_changed(const struct emergency *j, uint64_t *generation);
