// SPDX-License-Identifier: GPL-2.0-or-later
/* Files that only grow: see files.h. */
#include "daemon/convert/output/files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <unistd.h>

#include "daemon/convert/output/write.h"

#define BUFFER ((size_t)1 << 18)
#define OPEN   64u /* descriptors at a time */

struct open_file {
	int fd; /* -1: closed */
	uint8_t *buffer;
	size_t used;
};

struct files {
	const char *prefix;
	struct files_state *state;
	bool again;
	struct open_file open[FILES_MAX];
	unsigned open_n;
	char path[PATH_MAX];
	int failed;
};

static const char *path_of(struct files *f, const char *name)
{
	snprintf(f->path, sizeof(f->path), "%s%s", f->prefix, name);
	return f->path;
}

const char *files_path(struct files *f, int file)
{
	return path_of(f, f->state->file[file].name);
}

const char *files_failed(struct files *f)
{
	return f->failed >= 0 ? files_path(f, f->failed) : f->path;
}

/* What was written behind the last commit goes. */
static int cut(struct files *f)
{
	for (uint32_t i = 0; i < f->state->n; i++) {
		if (truncate(files_path(f, (int)i), (off_t)f->state->file[i].bytes) < 0) {
			f->failed = (int)i;
			return -errno;
		}
	}
	return 0;
}

int files_open(const char *prefix, struct files_state *state, bool resume, bool again,
	       struct files **ret_files)
{
	struct files *f = calloc(1, sizeof(*f));
	int err;

	if (!f) {
		return -ENOMEM;
	}
	f->prefix = prefix;
	f->state = state;
	f->again = again || resume;
	f->failed = -1;
	for (unsigned i = 0; i < FILES_MAX; i++) {
		f->open[i].fd = -1;
	}
	err = strlen(prefix) + FILES_NAME > PATH_MAX ? -ENAMETOOLONG : resume ? cut(f) : 0;
	if (err < 0) {
		files_close(f);
		return err;
	}
	*ret_files = f;
	return 0;
}

static void close_file(struct files *f, unsigned i)
{
	if (f->open[i].fd >= 0) {
		close(f->open[i].fd);
		free(f->open[i].buffer);
		f->open[i] = (struct open_file){.fd = -1};
		f->open_n--;
	}
}

void files_close(struct files *f)
{
	for (unsigned i = 0; f && i < FILES_MAX; i++) {
		close_file(f, i);
	}
	free(f);
}

static int fails(struct files *f, int file, int err)
{
	if (err < 0) {
		f->failed = file;
	}
	return err;
}

/* What is buffered goes to the file. */
static int flush(struct files *f, int file)
{
	struct open_file *o = &f->open[file];
	uint64_t end = f->state->file[file].bytes;
	int err = o->used > 0 ? write_whole(o->fd, end - o->used, o->buffer, o->used) : 0;

	o->used = err == 0 ? 0 : o->used;
	return fails(f, file, err);
}

/* The first open one makes place. */
static int make_place(struct files *f)
{
	for (unsigned i = 0; i < FILES_MAX; i++) {
		if (f->open[i].fd >= 0) {
			int err = flush(f, (int)i);

			close_file(f, i);
			return err;
		}
	}
	return 0;
}

static int open_one(struct files *f, int file, int flags)
{
	struct open_file *o = &f->open[file];
	int err = f->open_n == OPEN ? make_place(f) : 0;

	if (err < 0) {
		return err;
	}
	o->buffer = malloc(BUFFER);
	o->fd = o->buffer ? open(files_path(f, file), O_WRONLY | O_CLOEXEC | flags, 0666) : -1;
	if (o->fd < 0) {
		err = o->buffer ? -errno : -ENOMEM;
		free(o->buffer);
		o->buffer = NULL;
		return fails(f, file, err);
	}
	f->open_n++;
	return 0;
}

int files_find(struct files *f, const char *name, size_t head)
{
	struct files_state *s = f->state;
	int i, err;

	for (i = 0; i < (int)s->n; i++) {
		if (strcmp(s->file[i].name, name) == 0) {
			return i;
		}
	}
	if (s->n == FILES_MAX) {
		return -E2BIG;
	}
	snprintf(s->file[i].name, FILES_NAME, "%s", name);
	s->file[i].bytes = head;
	s->file[i].items = 0;
	err = open_one(f, i, O_CREAT | (f->again ? O_TRUNC : O_EXCL));
	if (err == 0 && ftruncate(f->open[i].fd, (off_t)head) < 0) {
		err = fails(f, i, -errno);
	}
	s->n += err == 0;
	return err < 0 ? err : i;
}

int files_put(struct files *f, int file, const void *bytes, size_t n)
{
	struct open_file *o = &f->open[file];
	const uint8_t *from = bytes;
	int err = o->fd < 0 ? open_one(f, file, 0) : 0;

	while (n > 0 && err == 0 && o->buffer) {
		size_t some = MIN(n, BUFFER - o->used);

		memcpy(o->buffer + o->used, from, some);
		o->used += some;
		f->state->file[file].bytes += some;
		from += some;
		n -= some;
		err = o->used == BUFFER ? flush(f, file) : 0;
	}
	return err;
}

int files_put_head(struct files *f, int file, const void *bytes, size_t n)
{
	int err = f->open[file].fd < 0 ? open_one(f, file, 0) : 0;

	return err < 0 ? err : fails(f, file, write_whole(f->open[file].fd, 0, bytes, n));
}

uint64_t files_length(const struct files *f, int file)
{
	return f->state->file[file].bytes;
}

int files_commit(struct files *f, bool sync)
{
	int err = 0;

	for (int i = 0; i < (int)f->state->n && err == 0; i++) {
		err = f->open[i].fd >= 0 ? flush(f, i) : 0;
		if (err == 0 && sync && f->open[i].fd >= 0 && fsync(f->open[i].fd) < 0) {
			err = fails(f, i, -errno);
		}
	}
	return err;
}
