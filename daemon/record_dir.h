/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A recording: a directory with a series of segments a link and recording.json, which says what it is, who
 * asked for it, and how it ended. One that has no end there is going on: a daemon that starts takes it
 * up. One thread (the recorder's).
 *
 *   DIRECTORY/NAME/recording.json, link0-00000.fcmr, ...
 */
#ifndef DAEMON_RECORD_DIR_H
#define DAEMON_RECORD_DIR_H

#include <limits.h>

#include "daemon/segment.h"
#include "daemon/tap.h"

#define RECORD_NAME 80u

struct record_place {
	const char *directory; /* of all recordings */
	uint8_t board;
	uint64_t segment_bytes;
	struct {
		uint8_t tower, floor;
	} expected[NANET3_LINKS];
};

struct record_spec {
	char name[RECORD_NAME]; /* empty: the time */
	char note[160], who[64];
	unsigned links;	  /* bit mask */
	int64_t begun_ns; /* UTC */
	int64_t until_ns; /* UTC; 0: until it is stopped */
	char alarm[32];	  /* of a black box: the reason's code; else empty */
	char alarm_text[256];
	int64_t alarm_ns;
};

struct record_dir;

/* A name that may be a directory's: letters, digits, . _ -, not beginning with a dot. */
bool record_dir_name_ok(const char *name);
/* -EEXIST: there is one of that name; or the disk's error. *spec: with the name it got. */
int record_dir_create(const struct record_place *place, struct record_spec *spec,
		      struct record_dir **ret_recording);
/* Go on with the recording that has no end. -ENOENT: none. */
int record_dir_resume(const struct record_place *place, struct record_dir **ret_recording);
/* Its files as they are, as after a kill. NULL is fine. */
void record_dir_destroy(struct record_dir *r);

const struct record_spec *record_dir_spec(const struct record_dir *r);
const char *record_dir_path(const struct record_dir *r);
/* An entry of a link that it has, or has not. 0 or the disk's error. */
int record_dir_take(struct record_dir *r, struct tap *tap, const struct tap_entry *e);
int record_dir_tick(struct record_dir *r); /* once a second */
/* Segments with their index, on disk; the recording itself goes on. */
int record_dir_pause(struct record_dir *r);
/* The same, and recording.json says how it ended: `trouble` 0, or the disk's error. */
int record_dir_end(struct record_dir *r, const char *why, int trouble);
/* Sums over its links, of this daemon's writing. */
void record_dir_counts(const struct record_dir *r, struct segment_counts *ret_counts);

/* A black box: the alarm it is kept for, and its name, from now on. */
int record_dir_adopt(struct record_dir *r, const struct record_spec *spec, const char *registers);

/* Remove DIRECTORY/NAME and the files in it. */
int record_dir_remove(const char *directory, const char *name);
/* Free for the recorder's user; 0 when it cannot be known. */
uint64_t record_dir_free_bytes(const char *directory);

#endif
