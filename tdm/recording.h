/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Recordings as files, for their readers (fcmctl, the emulator, the recorder): which segments
 * there are, and one of them opened for tdm/record.h to walk. The one part of tdm/ that does I/O.
 *
 * Files are read by pread(2), not mapped: one that becomes shorter meanwhile ends early and does no harm.
 */
#pragma once

#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tdm/record.h"

#define RECORDING_LINKS 4u

/*
 * Other users may put files into a directory of recordings: symbolic links are not followed, and
 * only regular files are opened (a pipe could block).
 */
/* Directory `name` in `place`, to read: a descriptor; -ENOTDIR: a link or a file; -ENOENT, also if `name` leads
 * out of `place`; else errno of open(2). `place` itself may be a link. */
int recording_enter(const char *place, const char *name);
/* Regular file `name` in `directory`, to be read or written (O_RDONLY, O_WRONLY): a descriptor; -ELOOP: a link,
 * -EISDIR, -EBADMSG: something else; else errno of open(2). */
int recording_open_below(int directory, const char *name, int access);
#define RECORDING_TEXT_SIZE 16384u /* no recording.json is as long */
/* The beginning of such a file as text that ends with a zero: its length, at most size - 1 bytes; negative as
 * recording_open_below() or pread(2). */
ssize_t recording_read_text(int directory, const char *name, char *text, size_t size);

struct recording_segment {
	char *path;
	unsigned link;
	uint32_t number; /* in the link's series */
};

struct recording {
	DIR *directory;			    /* NULL: of one segment, by its path */
	struct recording_segment *segments; /* by link, then number */
	size_t count;
};

/* -ENOENT: not a segment's name. "link2-00013.fcmr" -> 2, 13. */
int recording_name_parse(const char *name, unsigned *ret_link, uint32_t *ret_number);
/* pread(2) of all that there is, for a walk: `context` is the descriptor. */
record_read_fn recording_read;

/*
 * The segments of a recording: those in directory `path` whose names say that they are (linkL-NNNNN.fcmr),
 * or the one at `path`, whatever its name. -ENODATA: a directory without segments; else the errno
 * of open(2) or of the segment's header (record.h). recording_fini() after success only.
 */
int recording_init(struct recording *r, const char *path);
/* The same of directory `name` among those in `place`; as recording_enter(), too. */
int recording_init_in(struct recording *r, const char *place, const char *name);
void recording_fini(struct recording *r);

/* A segment being read. */
struct recording_file {
	int fd;
	struct record_walk walk;
	uint8_t *data; /* of the last record; room for segment.data_bytes_max */
};

/* 0, or the error of open(2), tdm_walk_begin() or malloc(3); *f is then untouched. */
int recording_open(struct recording_file *f, const char *path);
/* One of `r`; as recording_open_below(), too. */
int recording_open_segment(struct recording_file *f, const struct recording *r,
			   const struct recording_segment *segment);
void recording_close(struct recording_file *f);
/* tdm_walk_next() with data in f->data, checked. A segment that is being written is cut, or damaged, only when
 * it still is after 10 ms without a change. */
int recording_next(struct recording_file *f, struct fcm_record_header *ret_header);

/* The label of a LABEL record whose data are at `data`. */
struct fcm_record_label recording_label(const uint8_t *data);
/* TAI since 1970 of the start of `count`, ns. False: the label has no time, or the count is too far
 * away from it. */
bool recording_tai_ns(const struct fcm_record_label *label, uint64_t count, int64_t *ret_tai_ns);
/* UTC since 1970 of a TAI time; *ret_leap: it lies in 23:59:60, whose number is the one before plus one. */
int64_t recording_utc_ns(const struct fcm_record_label *label, int64_t tai_ns, bool *ret_leap);
