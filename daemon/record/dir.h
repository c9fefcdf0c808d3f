/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A recording: a directory with a series of segments a link and recording.json, which says what it is, who
 * asked for it, how it ended, and how many of its cells were let go by all daemons that wrote it (one that was
 * killed has not counted its own: then they are at least so many). One that has no end there is going on:
 * a daemon that starts takes it up. One thread (the recorder's).
 *
 *   DIRECTORY/NAME/recording.json, link0-00000.fcmr, ...
 */
#ifndef DAEMON_RECORD_DIR_H
#define DAEMON_RECORD_DIR_H

#include <jansson.h>
#include <limits.h>

#include "daemon/record/segment.h"
#include "daemon/data/tap.h"

#define RECORD_NAME    80u
#define RECORD_TROUBLE 128u
#define RECORD_BOX     "blackbox-" /* how the names of black boxes begin, and no others */

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

/* Links of a bit mask, ascending. */
json_t *record_links_json(unsigned links);
/* A name that may be a directory's: letters, digits, . _ -, not beginning with a dot. */
bool record_dir_name_ok(const char *name);
/* It begins as black boxes' names do. */
bool record_dir_name_is_box(const char *name);
/* -EEXIST: there is one of that name; or the disk's error. *spec: with the name it got. */
int record_dir_create(const struct record_place *place, struct record_spec *spec,
		      struct record_dir **ret_recording);
/* Go on with the newest recording that has no end; a black box is none. -ENOENT: none. */
int record_dir_resume(const struct record_place *place, struct record_dir **ret_recording);
/* Its files as they are, as after a kill. NULL is fine. */
void record_dir_destroy(struct record_dir *r);

const struct record_spec *record_dir_spec(const struct record_dir *r);
/* An entry of a link that it has, or has not. `tap` NULL: cells with data are let go. 0 or the disk's error. */
int record_dir_take(struct record_dir *r, struct tap *tap, const struct tap_entry *e);
int record_dir_tick(struct record_dir *r); /* once a second */
/* Segments with their index, on disk; the recording itself goes on. */
int record_dir_pause(struct record_dir *r);
/* The same at the end of a daemon: recording.json says how many cells were let go until now, for a successor. */
int record_dir_leave(struct record_dir *r);
/* After a pause: recording.json says how it ended; `trouble`: of the disk, or empty. As long as it does not
 * say so, the recording would go on with the next start of the daemon: on an error, try again to seal it. */
int record_dir_end(struct record_dir *r, const char *why, const char *trouble);
int record_dir_seal(struct record_dir *r);
/* Sums over its links, of this daemon's writing. */
void record_dir_counts(const struct record_dir *r, struct segment_counts *ret_counts);

/* A black box whose seconds are over: the alarm it is kept for, its end, and last its name: wherever this
 * breaks off, nothing of that name is half done. */
int record_dir_adopt(struct record_dir *r, const struct record_spec *spec, const char *registers);

/* DIRECTORY/NAME is a black box, by its name and by what it says itself. */
bool record_dir_is_box(const char *directory, const char *name);
/* Remove DIRECTORY/NAME and the files in it. */
int record_dir_remove(const char *directory, const char *name);
/* Free for the recorder's user. 0 or errno of statvfs(3). */
int record_dir_free_bytes(const char *directory, uint64_t *ret_bytes);

#endif
