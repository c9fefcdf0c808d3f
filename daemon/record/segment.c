// SPDX-License-Identifier: GPL-2.0-or-later
/* A link's series of segments: see segment.h. */
#include "daemon/record/segment.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "daemon/core/now.h"
#include "driver/nanet3.h"
#include "tdm/frame.h"
#include "tdm/recording.h"

#define INDEX_MAX    65536u /* records of a segment */
#define INDEX_A_TURN 8u	    /* of them between two turns: gaps that were pending, and data */
#define MERGE_MAX                                                                                  \
	TDM_FRAMES_PER_SECOND /* cells of a merged gap: it limits how long a reader waits */
#define NUMBER_MAX 99999u

struct segment {
	struct segment_config config;
	struct segment_state state;
	bool stated;	    /* state was set */
	bool label_written; /* the label of the open segment is that of the state */
	uint32_t number;    /* of the next segment */
	/* what is written */
	uint32_t dma_epoch, serial, boot_count;
	uint32_t run;  /* of the open segment */
	uint64_t next; /* behind the last cell; 0: none */
	/* the open segment */
	int fd; /* -1: none */
	uint64_t first, cells, offset, synced;
	uint64_t undo_offset, undo_next, undo_frames;
	struct fcm_record_header pending; /* of a gap; frames 0: none */
	uint64_t *index;
	size_t indexed;
	int before; /* the segment before it: its data are on their way; -1: none */
	struct segment_counts counts;
};

/* ------------------------------------------------------------------------------- what is there */

/* Whether the data at `offset` belong to the header; after a kill or a power cut they may not. */
static bool is_good(int fd, uint64_t offset, const struct fcm_record_header *h)
{
	uint8_t *data = malloc(h->bytes + 1ul);
	ssize_t n = data ? recording_read((void *)(intptr_t)fd, offset, data, h->bytes) : -ENOMEM;
	bool good = n == (ssize_t)h->bytes && tdm_record_check_data(h, data) == 0;

	free(data);
	return good;
}

/* Where the cells of a segment end: before its last record with cells, if that is invalid. */
static void read_end(struct segment *s, int fd)
{
	struct fcm_record_header h, last = {.frames = 0};
	struct record_walk walk;
	uint64_t data_at = 0;

	if (tdm_walk_begin(&walk, recording_read, (void *)(intptr_t)fd) < 0) {
		return; /* cut before its header was whole: it has no cells */
	}
	s->dma_epoch = walk.segment.dma_epoch;
	s->serial = walk.segment.serial;
	s->boot_count = walk.segment.boot_count;
	s->next = walk.segment.count;
	while (tdm_walk_next(&walk, &h, NULL) > 0) {
		if (tdm_record_has_cells(&h)) {
			last = h;
			data_at = walk.offset - h.bytes;
		}
	}
	if (last.frames > 0) {
		s->next = last.count + (is_good(fd, data_at, &last) ? last.frames : 0);
	}
}

static void name_of(const struct segment *s, uint32_t number, char *name, size_t size)
{
	snprintf(name, size, "link%u-%05u" FCM_SEGMENT_SUFFIX, s->config.link, number);
}

/* Go on behind the last segment that has a header. */
static int read_series(struct segment *s)
{
	struct dirent *e;
	char name[32];
	DIR *d;
	int fd = openat(s->config.directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	d = fd < 0 ? NULL : fdopendir(fd);
	if (!d) {
		return -errno;
	}
	while ((e = readdir(d))) {
		unsigned link;
		uint32_t number;

		if (recording_name_parse(e->d_name, &link, &number) == 0 &&
		    link == s->config.link && number >= s->number) {
			s->number = number + 1;
		}
	}
	closedir(d);
	for (uint32_t n = s->number; n > 0 && s->next == 0; n--) {
		name_of(s, n - 1, name, sizeof(name));
		fd = recording_open_below(s->config.directory, name, O_RDONLY);
		if (fd >= 0) {
			read_end(s, fd);
			close(fd);
		}
	}
	return 0;
}

int segment_create(const struct segment_config *config, struct segment **ret_segment)
{
	struct segment *s = calloc(1, sizeof(*s));
	int r;

	if (!s) {
		return -ENOMEM;
	}
	s->config = *config;
	s->fd = -1;
	s->before = -1;
	s->index = calloc(INDEX_MAX + 1, sizeof(*s->index));
	r = s->index ? read_series(s) : -ENOMEM;
	if (r < 0) {
		segment_destroy(s);
		return r;
	}
	*ret_segment = s;
	return 0;
}

void segment_destroy(struct segment *s)
{
	if (!s) {
		return;
	}
	if (s->fd >= 0) {
		close(s->fd);
	}
	if (s->before >= 0) {
		close(s->before);
	}
	free(s->index);
	free(s);
}

/* ------------------------------------------------------------------------------------ writing */

/* All of it at `offset`, or nothing: what was written of it is cut off again. */
static int write_at(struct segment *s, struct iovec *v, int n)
{
	uint64_t at = s->offset;

	while (n > 0) {
		ssize_t done = pwritev(s->fd, v, n, (off_t)at);

		if (done < 0 && errno == EINTR) {
			continue;
		}
		if (done <= 0) {
			int r = done < 0 ? -errno : -EIO;

			if (ftruncate(s->fd, (off_t)s->offset) < 0) {
				return r; /* readers find the checksum wrong there */
			}
			return r;
		}
		at += (uint64_t)done;
		while (n > 0 && (size_t)done >= v->iov_len) {
			done -= (ssize_t)v->iov_len;
			v++;
			n--;
		}
		if (n > 0) {
			v->iov_base = (uint8_t *)v->iov_base + done;
			v->iov_len -= (size_t)done;
		}
	}
	s->counts.bytes += at - s->offset;
	s->offset = at;
	return 0;
}

static int write_record(struct segment *s, const struct fcm_record_header *header, const void *data)
{
	struct fcm_record_header h = *header;
	struct iovec v[2] = {{&h, sizeof(h)}, {(void *)(uintptr_t)data, h.bytes}};
	uint64_t at = s->offset;
	int r = write_at(s, v, h.bytes ? 2 : 1);

	if (r == 0 && h.kind != FCM_RECORD_LABEL && h.kind != FCM_RECORD_INDEX) {
		assert(s->indexed < INDEX_MAX);
		s->index[s->indexed++] = at;
		s->cells += h.frames;
	}
	return r;
}

static int write_label(struct segment *s, uint64_t count, uint64_t time_ns)
{
	const struct label *l = &s->state.label;
	struct fcm_record_label label = {
		.time_epoch = l->time_epoch,
		.source = l->source,
		.state = l->state,
		.uncertainty_ns = l->uncertainty_ns,
		.tai_utc_s = l->tai_utc_s,
		.anchor_count = l->anchor_count,
		.anchor_tai_ns = s->stated ? l->anchor_tai_ns : INT64_MIN,
		.leap_tai_ns = s->stated ? l->leap_tai_ns : INT64_MAX,
	};
	struct fcm_record_header h = {
		.kind = FCM_RECORD_LABEL,
		.count = count,
		.monotonic_ns = time_ns,
		.bytes = sizeof(label),
	};

	s->label_written = true;
	tdm_record_seal(&h, &label);
	return write_record(s, &h, &label);
}

static int flush_pending(struct segment *s)
{
	int r;

	if (s->pending.frames == 0) {
		return 0;
	}
	tdm_record_seal(&s->pending, "");
	r = write_record(s, &s->pending, NULL);
	s->pending.frames = 0;
	return r;
}

static int write_index(struct segment *s)
{
	struct fcm_record_header h = {
		.kind = FCM_RECORD_INDEX,
		.count = s->first,
		.frames = s->cells,
		.bytes = (uint32_t)((s->indexed + 1) * sizeof(*s->index)),
	};

	s->index[s->indexed] = s->offset;
	tdm_record_seal(&h, s->index);
	return write_record(s, &h, s->index);
}

/* The segment before was written back long ago; this returns the errors of that. */
static int settle_before(struct segment *s)
{
	int r = 0;

	if (s->before >= 0) {
		r = fdatasync(s->before) < 0 ? -errno : 0;
		close(s->before);
		s->before = -1;
	}
	return r;
}

static int close_segment(struct segment *s)
{
	int r, r2;

	if (s->fd < 0) {
		return 0;
	}
	r = flush_pending(s);
	r = r ? r : write_index(s);
	r2 = settle_before(s);
	s->before = s->fd;
	s->fd = -1;
	return r ? r : r2;
}

static int open_segment(struct segment *s, uint32_t dma_epoch, uint64_t count, uint64_t time_ns)
{
	const struct segment_maker *maker = &s->config.maker;
	struct fcm_segment_header h = {
		.board = s->config.board,
		.link = s->config.link,
		.tower = maker->floors[s->config.link].tower,
		.floor = maker->floors[s->config.link].floor,
		.dma_epoch = dma_epoch,
		.segment = s->number,
		.frame_bytes = TDM_FRAME_BYTES,
		.count = count,
		.utc_ns = now_utc_ns(),
		.run = s->state.run,
		.serial = s->state.serial,
		.boot_count = s->state.boot_count,
		.block_frames = maker->block_frames,
		.emulated = s->state.emulated,
		.day_origin = (uint8_t)maker->day_origin,
		.data_bytes_max = NANET3_CHUNK_MAX,
	};
	struct iovec v = {&h, sizeof(h)};
	char name[32];
	int r;

	if (s->number > NUMBER_MAX) {
		return -EFBIG;
	}
	memcpy(h.floors, maker->floors, sizeof(h.floors));
	name_of(s, s->number, name, sizeof(name));
	s->fd = openat(s->config.directory, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0640);
	if (s->fd < 0) {
		return -errno;
	}
	s->number++;
	s->counts.segments++;
	s->first = count;
	s->offset = s->synced = 0;
	s->undo_offset = 0;
	s->indexed = 0;
	s->cells = 0;
	s->dma_epoch = dma_epoch;
	s->serial = h.serial;
	s->boot_count = h.boot_count;
	s->run = h.run;
	tdm_segment_seal(&h);
	r = write_at(s, &v, 1);
	return r ? r : write_label(s, count, time_ns);
}

/* ----------------------------------------------------------------------------------- the contract */

void segment_set_state(struct segment *s, const struct segment_state *state)
{
	if (s->stated && s->fd >= 0 && label_changed(&s->state.label, &state->label)) {
		s->label_written = false;
	}
	s->state = *state;
	s->stated = true;
}

/* Counts go on in this boot of the board only. */
static bool same_boot(const struct segment *s)
{
	return s->serial == s->state.serial && s->boot_count == s->state.boot_count;
}

uint64_t segment_next(const struct segment *s)
{
	return same_boot(s) ? s->next : 0;
}

/* Counts between that were skipped, because a PPS came early. */
static bool is_pps_hole(uint64_t from, uint64_t to)
{
	return to % TDM_FRAMES_PER_SECOND == 0 && to - from < TDM_FRAMES_PER_SECOND;
}

int segment_turn(struct segment *s, uint32_t dma_epoch, uint64_t count, uint64_t time_ns)
{
	bool goes_on = s->next && same_boot(s) && s->dma_epoch == dma_epoch && s->next <= count;
	uint64_t from = goes_on && !is_pps_hole(s->next, count) ? s->next : count;
	int r = 0;

	if (s->fd >= 0 && (!goes_on || s->run != s->state.run || s->offset >= s->config.bytes ||
			   s->indexed + INDEX_A_TURN > INDEX_MAX)) {
		r = close_segment(s);
	}
	if (r == 0 && s->fd < 0) {
		r = open_segment(s, dma_epoch, from, time_ns);
	}
	s->next = from;
	if (r == 0 && from < count) {
		r = segment_gap(s, FCM_RECORD_LET_GO, 0, from, count - from, time_ns);
	}
	if (r == 0 && !s->label_written) {
		r = flush_pending(s);
		r = r ? r : write_label(s, count, time_ns);
	}
	return r;
}

int segment_data(struct segment *s, const struct fcm_record_header *header, const void *data)
{
	int r = flush_pending(s);

	if (r < 0) {
		return r;
	}
	s->undo_offset = s->offset;
	s->undo_next = s->next;
	s->undo_frames = header->frames;
	r = write_record(s, header, data);
	if (r < 0) {
		s->undo_offset = 0;
		return r;
	}
	s->next = header->count + header->frames;
	s->counts.frames += header->frames;
	return 0;
}

void segment_undo(struct segment *s)
{
	if (!s->undo_offset) {
		return;
	}
	/* What stays behind the end if this fails is written over, or has a wrong checksum. */
	if (ftruncate(s->fd, (off_t)s->undo_offset) < 0) {
		errno = 0;
	}
	s->counts.bytes -= s->offset - s->undo_offset;
	s->counts.frames -= s->undo_frames;
	s->cells -= s->undo_frames;
	s->offset = s->undo_offset;
	s->next = s->undo_next;
	s->indexed--;
	s->undo_offset = 0;
}

int segment_gap(struct segment *s, enum fcm_record_kind kind, uint8_t reason, uint64_t count,
		uint64_t frames, uint64_t time_ns)
{
	struct fcm_record_header *p = &s->pending;
	int r = 0;

	if (p->frames > 0 && (p->kind != kind || p->reason != reason ||
			      p->count + p->frames != count || p->frames >= MERGE_MAX)) {
		r = flush_pending(s);
	}
	if (p->frames == 0) {
		*p = (struct fcm_record_header){
			.kind = (uint8_t)kind,
			.reason = reason,
			.count = count,
			.monotonic_ns = time_ns,
		};
	}
	p->frames += frames;
	s->next = count + frames;
	*(kind == FCM_RECORD_GAP ? &s->counts.gaps : &s->counts.let_go) += frames;
	return r;
}

int segment_tick(struct segment *s)
{
	int r;

	if (s->fd < 0) {
		return 0;
	}
	r = flush_pending(s);
	if (r == 0 && s->offset > s->synced) {
		/* Where the file system cannot do that it writes back when it likes. */
		if (sync_file_range(s->fd, (off_t)s->synced, (off_t)(s->offset - s->synced),
				    SYNC_FILE_RANGE_WRITE) < 0 &&
		    (errno == EIO || errno == ENOSPC)) {
			r = -errno;
		}
		s->synced = s->offset;
	}
	return r;
}

int segment_end(struct segment *s)
{
	int r = close_segment(s), r2 = settle_before(s);

	return r ? r : r2;
}

void segment_get_counts(const struct segment *s, struct segment_counts *ret_counts)
{
	*ret_counts = s->counts;
}
