/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Directories of backups. A whole one is fcm-backup-BOARD-20261128T170000Z in the directory that was named; while it is
 * made its name begins with a dot. A rename is the last step, so a directory with the plain name is whole.
 */
#pragma once

#include <jansson.h>
#include <limits.h>
#include <stdint.h>

#include "slowctl/param/error.h"

struct place {
	char directory[PATH_MAX]; /* that was named */
	char path[PATH_MAX];	  /* of the backup; while it is made, its temporary name */
	unsigned board;
	int64_t made_ns;
	int lock; /* on the directory: one backup at a time */
};

/* Makes the directory if there is none, removes what interrupted backups have left, and begins one. */
int place_begin(const char *directory, unsigned board, int64_t made_ns, struct place *ret_place,
		struct sc_error *error);
/* All is written: sync, and give it its name. */
int place_finish(struct place *p, struct sc_error *error);
/* Remove what was written. */
void place_drop(struct place *p);
/* Only the `keep` newest of this board stay, this one among them; those of place_later() are not touched. Removed ones
 * are added to the array. */
int place_thin(const struct place *p, unsigned keep, json_t *removed, struct sc_error *error);
/* [path, ...] of the board's backups whose names have a later time than `now_ns`: a clock is or was wrong. */
json_t *place_later(const char *directory, unsigned board, int64_t now_ns);
void place_end(struct place *p);

/* The backup `path` is, or the newest one of this board in it. */
int place_find(const char *path, unsigned board, char ret_path[PATH_MAX], struct sc_error *error);
