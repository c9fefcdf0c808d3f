// SPDX-License-Identifier: GPL-2.0-or-later
/* Whole reads and writes: see write.h. */
#include "daemon/convert/output/write.h"

#include <errno.h>
#include <unistd.h>

int read_whole(int fd, uint64_t offset, void *to, size_t n)
{
	uint8_t *bytes = to;

	while (n > 0) {
		ssize_t got = pread(fd, bytes, n, (off_t)offset);

		if (got < 0 && errno == EINTR) {
			continue;
		}
		if (got <= 0) {
			return got < 0 ? -errno : -ENODATA;
		}
		bytes += got;
		offset += (uint64_t)got;
		n -= (size_t)got;
	}
	return 0;
}

int write_whole(int fd, uint64_t offset, const void *from, size_t n)
{
	const uint8_t *bytes = from;

	while (n > 0) {
		ssize_t put = pwrite(fd, bytes, n, (off_t)offset);

		if (put < 0 && errno == EINTR) {
			continue;
		}
		if (put < 0) {
			return -errno;
		}
		bytes += put;
		offset += (uint64_t)put;
		n -= (size_t)put;
	}
	return 0;
}
