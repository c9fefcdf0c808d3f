// SPDX-License-Identifier: GPL-2.0-or-later
/* The files of the recording into the output: see cells.h. */
#include "daemon/convert/cells.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PIECE ((size_t)1 << 20)
#define TEXT  ((size_t)1 << 16) /* no recording.json or registers.txt is as long */

struct cells {
	const struct input *in;
	struct sink *sink;
	struct cells_state *state;
	bool one_run;
	uint32_t run;
	int fd[INPUT_LINKS]; /* of the file being copied; -1: none */
	uint8_t *piece;
};

int cells_create(const struct input *in, struct sink *sink, struct cells_state *state, bool one_run,
		 uint32_t run, struct cells **ret_cells)
{
	struct cells *c = malloc(sizeof(*c));

	if (!c) {
		return -ENOMEM;
	}
	*c = (struct cells){.in = in,
			    .sink = sink,
			    .state = state,
			    .one_run = one_run,
			    .run = run,
			    .piece = malloc(PIECE)};
	for (unsigned i = 0; i < INPUT_LINKS; i++) {
		c->fd[i] = -1;
	}
	if (!c->piece) {
		cells_destroy(c);
		return -ENOMEM;
	}
	*ret_cells = c;
	return 0;
}

void cells_destroy(struct cells *c)
{
	if (!c) {
		return;
	}
	for (unsigned i = 0; i < INPUT_LINKS; i++) {
		if (c->fd[i] >= 0) {
			close(c->fd[i]);
		}
	}
	free(c->piece);
	free(c);
}

/* The link's file number `n` of those wanted; NULL: there are no more. */
static const struct input_segment *file_of(const struct cells *c, unsigned link, uint32_t n)
{
	for (size_t i = 0; i < c->in->n; i++) {
		const struct input_segment *s = &c->in->segments[i];

		if (s->header.link == link && (!c->one_run || s->header.run == c->run) &&
		    n-- == 0) {
			return s;
		}
	}
	return NULL;
}

static int cannot_read(struct cells *c, int err, const char *path)
{
	return sink_fail(c->sink, err, "cannot read", path);
}

/* What the file has from `at` on, a piece at most; how many bytes, 0: it ends. */
static ssize_t read_piece(struct cells *c, int fd, uint64_t at, size_t room)
{
	ssize_t n;

	do {
		n = pread(fd, c->piece, room, (off_t)at);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

static int copy_text(struct cells *c, const char *name)
{
	char path[4200];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", c->in->path, name);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0 && (errno == ENOENT || errno == ELOOP)) {
		return 0; /* it is not there; a symbolic link is not of the recording */
	}
	if (fd < 0) {
		return cannot_read(c, -errno, path);
	}
	n = read_piece(c, fd, 0, TEXT);
	close(fd);
	return n < 0 ? cannot_read(c, (int)n, path)
		     : c->sink->ops->cells(c->sink, name, c->piece, (size_t)n, true);
}

static int copy_texts(struct cells *c)
{
	int err = 0;

	if (!c->state->texts && c->in->kind == INPUT_DIRECTORY) {
		err = copy_text(c, "recording.json");
		err = err < 0 ? err : copy_text(c, "registers.txt");
	}
	c->state->texts = 1;
	return err;
}

/* One piece of a link: how many bytes; 0: it has no more. */
static ssize_t copy_piece(struct cells *c, unsigned link)
{
	const struct input_segment *s = file_of(c, link, c->state->files[link]);
	ssize_t n;
	int err;

	if (!s) {
		return 0;
	}
	if (c->fd[link] < 0) {
		c->fd[link] = open(s->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	}
	n = c->fd[link] < 0 ? -errno : read_piece(c, c->fd[link], c->state->at[link], PIECE);
	if (n < 0) {
		return cannot_read(c, (int)n, s->path);
	}
	err = c->sink->ops->cells(c->sink, s->name, c->piece, (size_t)n, n == 0);
	c->state->at[link] += (uint64_t)n;
	if (n == 0) {
		close(c->fd[link]);
		c->fd[link] = -1;
		c->state->files[link]++;
		c->state->at[link] = 0;
	}
	return err < 0 ? err : n > 0 ? n : 1;
}

int cells_copy(struct cells *c, uint64_t bytes)
{
	bool left = false;
	ssize_t n = copy_texts(c);

	for (unsigned i = 0; i < INPUT_LINKS && n >= 0; i++) {
		uint64_t copied = 0;

		do {
			n = copy_piece(c, i);
			copied += n > 0 ? (uint64_t)n : 0;
		} while (n > 0 && copied < bytes);
		left = left || n > 0;
	}
	return n < 0 ? (int)n : left;
}
