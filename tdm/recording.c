// SPDX-License-Identifier: LGPL-2.1-or-later
/* Recordings as files: see recording.h. */
#include "tdm/recording.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tdm/frame.h"

#define SECOND_NS 1000000000ll
#define FRAME_NS  (SECOND_NS / TDM_FRAMES_PER_SECOND)
#define WAIT_NS	  10000000 /* a writer has written the rest of a record by then, or some of it */
#define WAITS_MAX 100u
#define FRESH_S	  10	       /* a file not written to for so long has no writer */
#define REACH	  (1ull << 45) /* counts: 139 years, and no sum below overflows */

/* ---------------------------------------------------------------------------------- segments */

int recording_name_parse(const char *name, unsigned *ret_link, uint32_t *ret_number)
{
	unsigned link;
	uint32_t number;
	char back[32];

	if (sscanf(name, "link%1u-%9" SCNu32, &link, &number) != 2 || link >= RECORDING_LINKS) {
		return -ENOENT;
	}
	/* Only as they are written: scanf takes blanks and signs, too. */
	snprintf(back, sizeof(back), "link%u-%05" PRIu32 FCM_SEGMENT_SUFFIX, link, number);
	if (strcmp(name, back) != 0) {
		return -ENOENT;
	}
	*ret_link = link;
	*ret_number = number;
	return 0;
}

/* -------------------------------------------------------------------- what others may have put there */

/* A pipe in the place of a file must not hold us up. */
static int open_regular(int directory, const char *name, int flags)
{
	int fd = openat(directory, name, flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	int err;

	if (fd < 0) {
		return -errno;
	}
	err = fstat(fd, &st) < 0 ? -errno : 0;
	if (err == 0 && !S_ISREG(st.st_mode)) {
		err = S_ISDIR(st.st_mode) ? -EISDIR : -EBADMSG;
	}
	if (err < 0) {
		close(fd);
		return err;
	}
	return fd;
}

int recording_enter(const char *place, const char *name)
{
	char path[PATH_MAX];
	int fd;

	if (strchr(name, '/') || strcmp(name, ".") == 0 || strcmp(name, "..") == 0) {
		return -ENOENT;
	}
	if (snprintf(path, sizeof(path), "%s/%s", place, name) >= (int)sizeof(path)) {
		return -ENAMETOOLONG;
	}
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int recording_open_below(int directory, const char *name, int access)
{
	return open_regular(directory, name, access | O_NOFOLLOW);
}

ssize_t recording_read_text(int directory, const char *name, char *text, size_t size)
{
	int fd = recording_open_below(directory, name, O_RDONLY);
	ssize_t n;

	if (fd < 0) {
		return fd;
	}
	n = recording_read((void *)(intptr_t)fd, 0, text, size - 1);
	close(fd);
	if (n >= 0) {
		text[n] = '\0';
	}
	return n;
}

/* ---------------------------------------------------------------------------------- a recording's list */

/* `path` is the recording's now, or freed; NULL: there was no memory for it. */
static int add(struct recording *r, char *path, unsigned link, uint32_t number)
{
	struct recording_segment *more =
		path ? reallocarray(r->segments, r->count + 1, sizeof(*r->segments)) : NULL;

	if (!more) {
		free(path);
		return -ENOMEM;
	}
	r->segments = more;
	more[r->count++] = (struct recording_segment){path, link, number};
	return 0;
}

static int by_number(const void *a, const void *b)
{
	const struct recording_segment *x = a, *y = b;

	if (x->link != y->link) {
		return x->link < y->link ? -1 : 1;
	}
	return x->number < y->number ? -1 : x->number > y->number;
}

/* `fd` is the recording's now, or closed. */
static int list_directory(struct recording *r, int fd, const char *path)
{
	const struct dirent *entry;
	uint32_t number;
	unsigned link;
	char *name;
	int err = 0;

	r->directory = fdopendir(fd);
	if (!r->directory) {
		err = -errno;
		close(fd);
		return err;
	}
	while (err == 0 && (entry = readdir(r->directory))) {
		if (recording_name_parse(entry->d_name, &link, &number) == 0) {
			err = asprintf(&name, "%s/%s", path, entry->d_name) < 0
				      ? -ENOMEM
				      : add(r, name, link, number);
		}
	}
	if (err == 0 && r->count == 0) {
		err = -ENODATA;
	}
	if (err == 0) {
		qsort(r->segments, r->count, sizeof(*r->segments), by_number);
	}
	return err;
}

static int list_file(struct recording *r, const char *path)
{
	struct recording_file f = {.fd = -1};
	int err = recording_open(&f, path);

	if (err < 0) {
		return err;
	}
	err = f.walk.segment.link < RECORDING_LINKS
		      ? add(r, strdup(path), f.walk.segment.link, f.walk.segment.segment)
		      : -EBADMSG;
	recording_close(&f);
	return err;
}

/* `fd`: of the directory; -ENOTDIR: `path` is a segment. */
static int init(struct recording *r, int fd, const char *path)
{
	struct recording found = {0};
	int err = fd == -ENOTDIR ? list_file(&found, path) : fd;

	if (fd >= 0) {
		err = list_directory(&found, fd, path);
	}
	if (err < 0) {
		recording_fini(&found);
		return err;
	}
	*r = found;
	return 0;
}

int recording_init(struct recording *r, const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return init(r, fd < 0 ? -errno : fd, path);
}

int recording_init_in(struct recording *r, const char *place, const char *name)
{
	int fd = recording_enter(place, name);
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", place, name);
	return fd < 0 ? fd : init(r, fd, path);
}

void recording_fini(struct recording *r)
{
	for (size_t i = 0; i < r->count; i++) {
		free(r->segments[i].path);
	}
	free(r->segments);
	if (r->directory) {
		closedir(r->directory);
	}
	*r = (struct recording){0};
}

/* ------------------------------------------------------------------------------------- a file */

ssize_t recording_read(void *context, uint64_t offset, void *to, size_t length)
{
	const int fd = (int)(intptr_t)context;
	size_t done = 0;

	while (done < length && offset + done <= INT64_MAX) {
		ssize_t n = pread(fd, (uint8_t *)to + done, length - done, (off_t)(offset + done));

		if (n < 0 && errno == EINTR) {
			continue;
		}
		if (n < 0) {
			return -errno;
		}
		if (n == 0) {
			break;
		}
		done += (size_t)n;
	}
	return (ssize_t)done;
}

/* The file ends early: its writer may be in the middle of it. True: wait()ed, look again. `*size`: at the last
 * look, first -1. */
static bool may_grow(int fd, off_t *size)
{
	const struct timespec wait = {.tv_nsec = WAIT_NS};
	struct stat st;

	if (fstat(fd, &st) < 0 || st.st_size == *size ||
	    llabs(time(NULL) - st.st_mtime) > FRESH_S) {
		return false;
	}
	*size = st.st_size;
	nanosleep(&wait, NULL);
	return true;
}

static int begin_walk(struct recording_file *f)
{
	off_t size = -1;
	int err;

	do {
		err = tdm_walk_begin(&f->walk, recording_read, (void *)(intptr_t)f->fd);
	} while (err == -ENODATA && may_grow(f->fd, &size));
	return err;
}

/* `fd` is the file's now, or closed. */
static int open_as(struct recording_file *f, int fd)
{
	struct recording_file new = {.fd = fd};
	int err;

	if (fd < 0) {
		return fd;
	}
	err = begin_walk(&new);
	if (err == 0) {
		new.data = malloc((size_t) new.walk.segment.data_bytes_max + 1);
		if (new.data) {
			*f = new;
			return 0;
		}
		err = -ENOMEM;
	}
	close(fd);
	return err;
}

int recording_open(struct recording_file *f, const char *path)
{
	return open_as(f, open_regular(AT_FDCWD, path, O_RDONLY));
}

int recording_open_segment(struct recording_file *f, const struct recording *r,
			   const struct recording_segment *segment)
{
	if (!r->directory) {
		return recording_open(f, segment->path);
	}
	return open_as(f, recording_open_below(dirfd(r->directory), strrchr(segment->path, '/') + 1,
					       O_RDONLY));
}

void recording_close(struct recording_file *f)
{
	free(f->data);
	close(f->fd);
	*f = (struct recording_file){.fd = -1};
}

int recording_next(struct recording_file *f, struct fcm_record_header *ret_header)
{
	unsigned waits = 0;
	off_t size = -1;
	int n;

	do { /* damaged, too: a record that is taken back makes place for another */
		n = tdm_walk_next(&f->walk, ret_header, f->data);
	} while (n == 0 && (f->walk.end == RECORD_CUT || f->walk.end == RECORD_DAMAGED) &&
		 waits++ < WAITS_MAX && may_grow(f->fd, &size));
	return n;
}

/* ------------------------------------------------------------------------------------- labels */

struct fcm_record_label recording_label(const uint8_t *data)
{
	struct fcm_record_label label;

	memcpy(&label, data, sizeof(label));
	return label;
}

bool recording_tai_ns(const struct fcm_record_label *l, uint64_t count, int64_t *ret_tai_ns)
{
	/* Far enough from the ends of the range for the sums below. */
	const int64_t limit = INT64_MAX / 4;
	int64_t tai_ns;

	if (l->anchor_tai_ns < 0 || l->anchor_tai_ns > limit || count >= REACH ||
	    l->anchor_count >= REACH) {
		return false;
	}
	tai_ns = l->anchor_tai_ns + ((int64_t)count - (int64_t)l->anchor_count) * FRAME_NS;
	if (tai_ns < 0 || tai_ns > limit) {
		return false;
	}
	*ret_tai_ns = tai_ns;
	return true;
}

int64_t recording_utc_ns(const struct fcm_record_label *l, int64_t tai_ns, bool *ret_leap)
{
	int64_t offset = l->tai_utc_s;

	*ret_leap = false;
	if (l->leap_tai_ns > 0 && tai_ns >= l->leap_tai_ns) {
		*ret_leap = tai_ns - l->leap_tai_ns < SECOND_NS;
		offset += *ret_leap ? 0 : 1;
	}
	return tai_ns - offset * SECOND_NS;
}
