// SPDX-License-Identifier: GPL-2.0-or-later
/* What is to be converted: see input.h. */
#include "daemon/convert/input.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <isa-l/crc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/convert/address.h"
#include "daemon/convert/output/write.h"

#define JSON_BYTES 16384u
#define FRAME_NS   125000ll
/* For two seconds. */
#define GROWS_TRIES    20u
#define GROWS_PAUSE_US 100000u
#define REACH	       (1ull << 45) /* counts and times of labels: beyond, sums could overflow */

static const uint8_t hdf5_magic[8] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};

/* ---------------------------------------------------------------------------------------- segments */

static int by_place(const void *a, const void *b)
{
	const struct input_segment *x = a, *y = b;

	return strcmp(x->name, y->name);
}

/* A segment's name, of one of the links. */
static bool is_segment_name(const char *name, unsigned links)
{
	unsigned link;
	uint32_t number;
	char back[32];

	if (sscanf(name, "link%1u-%9" SCNu32, &link, &number) != 2 || link >= INPUT_LINKS ||
	    !(links & 1u << link)) {
		return false;
	}
	snprintf(back, sizeof(back), "link%u-%05" PRIu32 FCM_SEGMENT_SUFFIX, link, number);
	return strcmp(name, back) == 0;
}

static void note_run(struct input *in, uint32_t run)
{
	for (unsigned i = 0; i < in->runs_n; i++) {
		if (in->runs[i] == run) {
			return;
		}
	}
	if (in->runs_n < INPUT_RUNS) {
		in->runs[in->runs_n++] = run;
	}
}

/* The header of the segment at `fd`: 0 or -EBADMSG. */
static int read_header(int fd, struct fcm_segment_header *ret_header)
{
	struct fcm_segment_header h;

	if (read_whole(fd, 0, &h, sizeof(h)) < 0 || h.magic != FCM_SEGMENT_MAGIC ||
	    h.version != FCM_SEGMENT_VERSION || h.link >= INPUT_LINKS) {
		return -EBADMSG;
	}
	*ret_header = h;
	return 0;
}

/* `fd` and `path` are the list's now, or gone. */
static int add(struct input *in, int fd, char *path, unsigned links)
{
	struct input_segment s = {.path = path};
	struct input_segment *more;
	struct stat st;
	int err = fstat(fd, &st) < 0 ? -errno : read_header(fd, &s.header);

	close(fd);
	if (err < 0 || !(links & 1u << s.header.link)) {
		in->bad += err < 0;
		free(path);
		return 0;
	}
	more = reallocarray(in->segments, in->n + 1, sizeof(*more));
	if (!more) {
		free(path);
		return -ENOMEM;
	}
	in->segments = more;
	s.bytes = (uint64_t)st.st_size;
	snprintf(s.name, sizeof(s.name), "link%u-%05" PRIu32 FCM_SEGMENT_SUFFIX, s.header.link & 7u,
		 s.header.segment);
	in->bytes += s.bytes;
	more[in->n++] = s;
	return 0;
}

static int add_file(struct input *in, int place, const char *name, unsigned links)
{
	int fd = openat(place, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	char *path;

	if (fd < 0) { /* the reader reports it */
		in->bad++;
		return 0;
	}
	if (asprintf(&path, "%s/%s", in->path, name) < 0) {
		close(fd);
		return -ENOMEM;
	}
	return add(in, fd, path, links);
}

static void read_json(struct input *in, int place)
{
	int fd = openat(place, "recording.json", O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	ssize_t n;

	in->json = fd < 0 ? NULL : calloc(1, JSON_BYTES);
	if (in->json) {
		n = pread(fd, in->json, JSON_BYTES - 1, 0);
		while (n > 0 && strchr(" \n", in->json[n - 1])) { /* it has room for its end */
			n--;
		}
		in->json[n > 0 ? n : 0] = '\0';
	}
	if (fd >= 0) {
		close(fd);
	}
}

static int list(struct input *in, DIR *d, unsigned links)
{
	const struct dirent *e;
	int err = 0;

	while (err == 0 && (e = readdir(d))) {
		if (is_segment_name(e->d_name, links)) {
			err = add_file(in, dirfd(d), e->d_name, links);
		}
	}
	read_json(in, dirfd(d));
	if (err < 0 || in->n == 0) {
		return err < 0 ? err : -ENODATA;
	}
	qsort(in->segments, in->n, sizeof(*in->segments), by_place);
	return err;
}

static int open_file(struct input *in, unsigned links)
{
	int fd = open(in->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	uint8_t magic[sizeof(hdf5_magic)] = {0};
	char *path;
	int err;

	if (fd < 0) {
		return -errno;
	}
	if (read_whole(fd, 0, magic, sizeof(magic)) == 0 &&
	    memcmp(magic, hdf5_magic, sizeof(magic)) == 0) {
		in->kind = INPUT_HDF5;
		close(fd);
		return 0;
	}
	in->kind = INPUT_SEGMENT;
	path = strdup(in->path);
	if (!path) {
		close(fd);
		return -ENOMEM;
	}
	err = add(in, fd, path, links);
	return err < 0 ? err : in->n > 0 ? 0 : in->bad > 0 ? -EBADMSG : -ENODATA;
}

/* ------------------------------------------------------------------------------------------- labels */

/* The record at `*at`, which goes on to the next one. A label with a time goes to *ret_label: 1. 0: none; -1: the end. */
static int next_record(int fd, uint64_t *at, struct fcm_record_header *ret_record,
		       struct fcm_record_label *ret_label)
{
	const uint64_t data = *at + sizeof(*ret_record);
	struct fcm_record_label label;

	if (read_whole(fd, *at, ret_record, sizeof(*ret_record)) < 0 ||
	    ret_record->magic != FCM_RECORD_MAGIC || ret_record->bytes > FCM_RECORD_BYTES_MAX) {
		return -1;
	}
	*at = data + ret_record->bytes;
	if (ret_record->kind == FCM_RECORD_LABEL &&
	    read_whole(fd, data, &label, sizeof(label)) == 0 && label.anchor_tai_ns > 0 &&
	    label.anchor_tai_ns < INT64_MAX / 4 && label.anchor_count < REACH) {
		*ret_label = label;
		return 1;
	}
	return 0;
}

static int64_t tai_of(const struct fcm_record_label *label, uint64_t count)
{
	return label->anchor_tai_ns + ((int64_t)count - (int64_t)label->anchor_count) * FRAME_NS;
}

/* When the recording begins, by the first label of a segment that has a time: it may begin before the clock was locked. */
static void read_label(struct input *in, const struct input_segment *s)
{
	struct fcm_record_label label;
	struct fcm_record_header record;
	uint64_t at = s->header.header_bytes;
	int fd = open(s->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), found = -1;
	int64_t tai_ns;

	if (fd >= 0 && s->header.count < REACH) {
		do {
			found = next_record(fd, &at, &record, &label);
		} while (found == 0);
	}
	if (fd >= 0) {
		close(fd);
	}
	if (found < 0) {
		return;
	}
	tai_ns = tai_of(&label, s->header.count);
	if (in->begin_tai_ns == INT64_MIN || tai_ns < in->begin_tai_ns) {
		in->begin_tai_ns = tai_ns;
		in->tai_utc_s = label.tai_utc_s;
	}
}

static int64_t segment_end(const struct input_segment *s)
{
	struct fcm_record_label label = {.anchor_tai_ns = INT64_MIN};
	struct fcm_record_header record;
	uint64_t at = s->header.header_bytes, end = s->header.count;
	int fd = open(s->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	while (fd >= 0 && next_record(fd, &at, &record, &label) >= 0) {
		if (record.kind < FCM_RECORD_LABEL && record.count < REACH &&
		    record.frames < REACH) {
			end = record.count + record.frames;
		}
	}
	if (fd >= 0) {
		close(fd);
	}
	return label.anchor_tai_ns == INT64_MIN || end >= 2 * REACH ? INT64_MIN
								    : tai_of(&label, end);
}

int64_t input_end_tai_ns(const struct input *in)
{
	int64_t end = in->begin_tai_ns;

	for (size_t i = 0; i < in->n; i++) {
		if (i + 1 == in->n ||
		    in->segments[i].header.link != in->segments[i + 1].header.link) {
			end = MAX(end, segment_end(&in->segments[i]));
		}
	}
	return end;
}

/* ---------------------------------------------------------------------------------------- the end */

/* "ended": null. (A quote in a text has a backslash before it.) */
static bool has_no_end(const char *json)
{
	const char *ended = json ? strstr(json, "\"ended\"") : NULL;

	if (ended) {
		ended += strlen("\"ended\"");
		ended += strspn(ended, ": \t\n");
	}
	return ended && strncmp(ended, "null", 4) == 0;
}

/* A recorder writes many times a second; only that tells it from one that was killed. */
static bool seen_to_grow(const struct input *in)
{
	struct stat st;

	for (unsigned i = 0; i < GROWS_TRIES; i++) {
		for (size_t k = 0; k < in->n; k++) {
			if (stat(in->segments[k].path, &st) == 0 &&
			    (uint64_t)st.st_size > in->segments[k].bytes) {
				return true;
			}
		}
		usleep(GROWS_PAUSE_US);
	}
	return false;
}

/* ---------------------------------------------------------------------------------- open, close, name */

int input_open(const char *path, unsigned links, struct input *ret_input)
{
	struct input in = {.path = path, .begin_tai_ns = INT64_MIN};
	DIR *d;
	int err;

	if (address_is(path)) {
		in.kind = INPUT_LIVE;
		*ret_input = in;
		return 0;
	}
	d = opendir(path);
	err = d ? list(&in, d, links) : errno == ENOTDIR ? open_file(&in, links) : -errno;
	if (d) {
		closedir(d);
	}
	if (err < 0) {
		input_close(&in);
		return err;
	}
	for (size_t i = 0; i < in.n; i++) {
		note_run(&in, in.segments[i].header.run);
		if (i == 0 || in.segments[i].header.link != in.segments[i - 1].header.link) {
			read_label(&in, &in.segments[i]);
		}
	}
	in.no_end = has_no_end(in.json);
	in.grows = in.no_end && seen_to_grow(&in);
	*ret_input = in;
	return 0;
}

void input_close(struct input *in)
{
	for (size_t i = 0; i < in->n; i++) {
		free(in->segments[i].path);
	}
	free(in->segments);
	free(in->json);
	*in = (struct input){0};
}

uint32_t input_print(const struct input *in)
{
	uint32_t print = 0;

	for (size_t i = 0; i < in->n; i++) {
		const struct input_segment *s = &in->segments[i];

		if (i == 0 || s->header.link != in->segments[i - 1].header.link) {
			print = crc32_gzip_refl(print, (const uint8_t *)&s->header,
						sizeof(s->header));
		}
	}
	return print;
}
