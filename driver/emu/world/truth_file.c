/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The truth file's writer: see truth_file.h. 4 MB a second at full pace, so a write now and then. */
#include "driver/emu/world/truth_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#define RECORDS 4096u /* half a megabyte, an eighth of a second */

struct truth_file {
	int fd;
	int err;
	unsigned count;
	struct truth_record records[RECORDS];
};

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "truth records are written as they lie");

static int write_all(int fd, const void *bytes, size_t length)
{
	const char *at = bytes;

	while (length > 0) {
		const ssize_t n = write(fd, at, length);

		if (n < 0 && errno == EINTR) {
			continue;
		}
		if (n <= 0) {
			return n < 0 ? -errno : -EIO;
		}
		at += n;
		length -= (size_t)n;
	}
	return 0;
}

int truth_file_create(const char *path, uint64_t seed, int64_t tai_start_ns, unsigned links,
		      struct truth_file **ret_file)
{
	const struct truth_head head = {
		.magic = TRUTH_MAGIC,
		.version = TRUTH_VERSION,
		.record_bytes = sizeof(struct truth_record),
		.links = links,
		.seed = seed,
		.tai_start_ns = tai_start_ns,
	};
	struct truth_file *t = calloc(1, sizeof(*t));
	int err;

	if (t == NULL) {
		return -ENOMEM;
	}
	t->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	err = t->fd < 0 ? -errno : write_all(t->fd, &head, sizeof(head));
	if (err < 0) {
		truth_file_destroy(t);
		return err;
	}
	*ret_file = t;
	return 0;
}

void truth_file_start(struct truth_file *t, int64_t tai_start_ns)
{
	const off_t at = offsetof(struct truth_head, tai_start_ns);

	if (pwrite(t->fd, &tai_start_ns, sizeof(tai_start_ns), at) != sizeof(tai_start_ns) &&
	    t->err == 0) {
		t->err = errno != 0 ? -errno : -EIO;
	}
}

/* Write what is buffered. 0, or the first error since the beginning. */
static int truth_file_flush(struct truth_file *t)
{
	if (t->err == 0 && t->count > 0) {
		t->err = write_all(t->fd, t->records, t->count * sizeof(t->records[0]));
	}
	t->count = 0;
	return t->err;
}

void truth_file_put(struct truth_file *t, const struct truth_record *record)
{
	t->records[t->count++] = *record;
	if (t->count == RECORDS) {
		truth_file_flush(t);
	}
}

int truth_file_destroy(struct truth_file *t)
{
	int err;

	if (t == NULL) {
		return 0;
	}
	err = t->fd >= 0 ? truth_file_flush(t) : 0;
	if (t->fd >= 0 && close(t->fd) < 0 && err == 0) {
		err = -errno;
	}
	free(t);
	return err;
}
