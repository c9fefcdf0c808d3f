/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A recording: a directory with a series of segments for each link, and recording.json. That says what it is, who
 * asked for it, how it ended, and how many cells were let go by all daemons that wrote it (a lower limit if one of them
 * was killed). A recording without an end there is active: the next daemon continues it. One thread
 * (the recorder's).
 *
 *   DIRECTORY/NAME/recording.json, link0-00000.fcmr, ...
 */
#pragma once

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
	struct segment_maker maker;
};

struct record_spec {
	char name[RECORD_NAME]; /* empty: the time */
	char note[160], who[64];
	unsigned links;	   /* bit mask */
	int64_t begun_ns;  /* UTC */
	int64_t until_ns;  /* UTC; 0: until it is stopped */
	char incident[32]; /* of a black box: its code; else empty */
	char incident_text[256];
	int64_t incident_ns;
};

struct record_dir;

/* Links of a bit mask, ascending. */
json_t *record_links_json(unsigned links);
/* A name that may be a directory's: letters, digits, . _ -, not beginning with a dot. */
bool record_dir_name_ok(const char *name);
/* A time as it is in names: 20261125T160214Z. */
void record_dir_name_time(int64_t utc_ns, char *name, size_t size);
/* The name is that of a black box. */
bool record_dir_name_is_box(const char *name);
/* -EEXIST: the name is in use; or the disk's error. *spec gets the name. */
int record_dir_create(const struct record_place *place, struct record_spec *spec,
		      struct record_dir **ret_recording);
/* Continue the newest recording without an end (no black box). -ENOENT: there is none. */
int record_dir_resume(const struct record_place *place, struct record_dir **ret_recording);
/* Leaves the files as they are, as after a kill. NULL is accepted. */
void record_dir_destroy(struct record_dir *r);

const struct record_spec *record_dir_spec(const struct record_dir *r);
/* An entry of any link; others than its own are ignored. `tap` NULL: cells with data are let go. 0
 * or the disk's error. */
int record_dir_take(struct record_dir *r, struct tap *tap, const struct tap_entry *e);
int record_dir_tick(struct record_dir *r); /* once a second */
/* Ends the segments; the recording itself continues. */
int record_dir_pause(struct record_dir *r);
/* The same at the end of a daemon: recording.json gets the number of cells let go, for the next daemon. */
int record_dir_leave(struct record_dir *r);
/* After a pause: recording.json gets the end; `trouble`: of the disk, or empty. Without the end the next daemon would
 * continue the recording: on an error, try record_dir_seal() again. */
int record_dir_end(struct record_dir *r, const char *why, const char *trouble);
int record_dir_seal(struct record_dir *r);
/* Sums over its links, of this daemon's writing. */
void record_dir_counts(const struct record_dir *r, struct segment_counts *ret_counts);

/* Keep a complete black box: writes its incident and its end, and renames it last, so that a directory
 * of that name is always complete. */
int record_dir_adopt(struct record_dir *r, const struct record_spec *spec, const char *registers);

/* DIRECTORY/NAME is a black box, by its name and by its recording.json. */
bool record_dir_is_box(const char *directory, const char *name);
/* Remove DIRECTORY/NAME and the files in it. */
int record_dir_remove(const char *directory, const char *name);
/* Bytes that the recorder's user can write. 0 or negative errno of statvfs(3). */
int record_dir_free_bytes(const char *directory, uint64_t *ret_bytes);
