// SPDX-License-Identifier: GPL-2.0-or-later
/* A zip file of stored members: see zip.h. Layout: PKWARE's APPNOTE, 4.3 and 4.5.3. */
#include "daemon/convert/output/zip.h"

#include <errno.h>
#include <fcntl.h>
#include <isa-l/crc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/convert/output/write.h"

#define PIECE	    ((size_t)1 << 20)
#define NEEDS	    45u /* zip64 */
#define NAME_UTF8   (1u << 11)
#define DATE_1980   0x21u      /* 1 January 1980: the time is in about.json */
#define ELSEWHERE   UINT32_MAX /* it is in the zip64 field */
#define ZIP64_LOCAL 16u	       /* bytes of that field's data */
#define ZIP64_LIST  24u
#define MEMBERS	    1024u

struct member {
	char *name;
	uint64_t at, bytes;
	uint32_t crc;
};

struct zip {
	int fd;
	uint64_t at;
	struct member members[MEMBERS];
	unsigned n;
	uint8_t *piece;
};

struct record {
	uint8_t bytes[128];
	size_t n;
};

static void put(struct record *r, uint64_t value, unsigned bytes)
{
	memcpy(r->bytes + r->n, &value, bytes); /* little-endian, as we are */
	r->n += bytes;
}

int zip_create(const char *path, struct zip **ret_zip)
{
	struct zip *z = calloc(1, sizeof(*z));

	if (!z || !(z->piece = malloc(PIECE))) {
		free(z);
		return -ENOMEM;
	}
	z->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (z->fd < 0) {
		int err = -errno;

		free(z->piece);
		free(z);
		return err;
	}
	*ret_zip = z;
	return 0;
}

void zip_close(struct zip *z)
{
	if (!z) {
		return;
	}
	for (unsigned i = 0; i < z->n; i++) {
		free(z->members[i].name);
	}
	close(z->fd);
	free(z->piece);
	free(z);
}

static int write_record(struct zip *z, const struct record *r, const char *name)
{
	int err = write_whole(z->fd, z->at, r->bytes, r->n);

	if (err == 0 && name) {
		err = write_whole(z->fd, z->at + r->n, name, strlen(name));
		z->at += strlen(name);
	}
	z->at += r->n;
	return err;
}

/* What local header and list have in common, from the needed version to the length of the name. */
static void put_common(struct record *r, const struct member *m)
{
	put(r, NEEDS, 2);
	put(r, NAME_UTF8, 2);
	put(r, 0, 2); /* stored */
	put(r, 0, 2);
	put(r, DATE_1980, 2);
	put(r, m->crc, 4);
	put(r, ELSEWHERE, 4);
	put(r, ELSEWHERE, 4);
	put(r, strlen(m->name), 2);
}

static int write_local(struct zip *z, const struct member *m)
{
	struct record r = {.n = 0}, extra = {.n = 0};
	int err;

	put(&r, 0x04034b50, 4);
	put_common(&r, m);
	put(&r, ZIP64_LOCAL + 4, 2);
	err = write_record(z, &r, m->name);
	put(&extra, 1, 2);
	put(&extra, ZIP64_LOCAL, 2);
	put(&extra, m->bytes, 8);
	put(&extra, m->bytes, 8);
	return err < 0 ? err : write_record(z, &extra, NULL);
}

/* The data, and what they are, into *m. */
static int copy(struct zip *z, struct member *m, int fd)
{
	ssize_t n;
	int err = 0;

	while (err == 0 && (n = pread(fd, z->piece, PIECE, (off_t)m->bytes)) != 0) {
		if (n < 0) {
			return -errno;
		}
		m->crc = crc32_gzip_refl(m->crc, z->piece, (uint64_t)n);
		err = write_whole(z->fd, z->at + m->bytes, z->piece, (size_t)n);
		m->bytes += (uint64_t)n;
	}
	z->at += m->bytes;
	return err;
}

int zip_add(struct zip *z, const char *name, const char *from)
{
	struct member *m = &z->members[z->n];
	uint64_t end;
	int fd, err;

	if (z->n == MEMBERS) {
		return -E2BIG;
	}
	fd = open(from, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		return -errno;
	}
	*m = (struct member){.name = strdup(name), .at = z->at};
	if (!m->name) {
		close(fd);
		return -ENOMEM;
	}
	z->n++;
	err = write_local(z, m); /* its place; length and checksum come behind */
	if (err == 0) {
		err = copy(z, m, fd);
	}
	close(fd);
	end = z->at;
	z->at = m->at;
	err = err < 0 ? err : write_local(z, m);
	z->at = end;
	return err;
}

static int write_listed(struct zip *z, const struct member *m)
{
	struct record r = {.n = 0}, extra = {.n = 0};
	int err;

	put(&r, 0x02014b50, 4);
	put(&r, NEEDS, 2); /* made by */
	put_common(&r, m);
	put(&r, ZIP64_LIST + 4, 2);
	put(&r, 0, 2); /* comment */
	put(&r, 0, 2); /* disk */
	put(&r, 0, 2);
	put(&r, 0, 4); /* attributes */
	put(&r, ELSEWHERE, 4);
	err = write_record(z, &r, m->name);
	put(&extra, 1, 2);
	put(&extra, ZIP64_LIST, 2);
	put(&extra, m->bytes, 8);
	put(&extra, m->bytes, 8);
	put(&extra, m->at, 8);
	return err < 0 ? err : write_record(z, &extra, NULL);
}

int zip_end(struct zip *z)
{
	const uint64_t list = z->at;
	struct record r = {.n = 0};
	uint64_t end;
	int err = 0;

	for (unsigned i = 0; i < z->n && err == 0; i++) {
		err = write_listed(z, &z->members[i]);
	}
	end = z->at;
	put(&r, 0x06064b50, 4); /* zip64: where the list is */
	put(&r, 44, 8);
	put(&r, NEEDS, 2);
	put(&r, NEEDS, 2);
	put(&r, 0, 4);
	put(&r, 0, 4);
	put(&r, z->n, 8);
	put(&r, z->n, 8);
	put(&r, end - list, 8);
	put(&r, list, 8);
	put(&r, 0x07064b50, 4); /* where that is */
	put(&r, 0, 4);
	put(&r, end, 8);
	put(&r, 1, 4);
	put(&r, 0x06054b50, 4); /* the end, as zip always had it */
	put(&r, 0, 2);
	put(&r, 0, 2);
	put(&r, UINT16_MAX, 2);
	put(&r, UINT16_MAX, 2);
	put(&r, ELSEWHERE, 4);
	put(&r, ELSEWHERE, 4);
	put(&r, 0, 2);
	err = err < 0 ? err : write_record(z, &r, NULL);
	return err == 0 && fsync(z->fd) < 0 ? -errno : err;
}
