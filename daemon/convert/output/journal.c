// SPDX-License-Identifier: GPL-2.0-or-later
/* The journal of a conversion: see journal.h. */
#include "daemon/convert/output/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <isa-l/crc.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <unistd.h>

#include "daemon/convert/output/write.h"

#define MAGIC	"FCMCNVT"
#define PIECE	((size_t)1 << 20) /* of what is overwritten, at a time */
#define PROGRAM 24u

struct head {
	char magic[8], program[PROGRAM];
	char boot[40];
	uint64_t mark;
	uint64_t part_bytes[JOURNAL_PARTS];
	uint32_t last;
	uint32_t crc; /* of head, with 0 here, and of the parts */
};

struct kept {
	uint64_t offset, bytes;
	uint32_t crc; /* of the bytes, begun with the two numbers' */
	uint32_t reserved;
};

struct journal {
	char path[PATH_MAX], fresh[PATH_MAX];
	int fd; /* -1: nothing was committed */
	struct head head;
	uint64_t end; /* of the whole records */
	uint64_t records_at;
	uint8_t *piece;
};

static void read_boot(char boot[40])
{
	FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");

	memset(boot, 0, 40);
	if (f && !fgets(boot, 40, f)) {
		boot[0] = '\0';
	}
	if (f) {
		fclose(f);
	}
}

static uint32_t crc_of(struct head head, const struct journal_part *parts, size_t n)
{
	uint32_t crc;

	head.crc = 0;
	crc = crc32_gzip_refl(0, (const uint8_t *)&head, sizeof(head));
	for (size_t i = 0; i < n; i++) {
		crc = crc32_gzip_refl(crc, parts[i].bytes, parts[i].n);
	}
	return crc;
}

static uint32_t crc_of_kept(const struct kept *k, const uint8_t *bytes)
{
	uint32_t crc = crc32_gzip_refl(0, (const uint8_t *)k, 2 * sizeof(uint64_t));

	return crc32_gzip_refl(crc, bytes, k->bytes);
}

int journal_create(const char *output, struct journal **ret_journal)
{
	struct journal *j = calloc(1, sizeof(*j));
	int n;

	if (!j || !(j->piece = malloc(PIECE))) {
		free(j);
		return -ENOMEM;
	}
	j->fd = -1;
	n = snprintf(j->path, sizeof(j->path), "%s.resume", output);
	if (n >= (int)sizeof(j->path) || snprintf(j->fresh, sizeof(j->fresh), "%s.resume.new",
						  output) >= (int)sizeof(j->fresh)) {
		journal_close(j);
		return -ENAMETOOLONG;
	}
	*ret_journal = j;
	return 0;
}

void journal_close(struct journal *j)
{
	if (!j) {
		return;
	}
	if (j->fd >= 0) {
		close(j->fd);
	}
	free(j->piece);
	free(j);
}

/* ---------------------------------------------------------------------------------------- read back */

static int read_state(struct journal *j, const struct journal_part *parts, size_t n)
{
	char boot[40];
	int err = read_whole(j->fd, 0, &j->head, sizeof(j->head));

	if (err < 0) {
		return err == -ENODATA ? -EBADMSG : err;
	}
	j->head.program[PROGRAM - 1] = '\0';
	if (memcmp(j->head.magic, MAGIC, sizeof(MAGIC)) != 0 ||
	    strcmp(j->head.program, FCM_VERSION) != 0) {
		return -EBADMSG;
	}
	j->records_at = sizeof(j->head);
	for (size_t i = 0; i < n; i++) {
		if (j->head.part_bytes[i] != parts[i].n ||
		    read_whole(j->fd, j->records_at, parts[i].bytes, parts[i].n) < 0) {
			return -EBADMSG;
		}
		j->records_at += parts[i].n;
	}
	if (crc_of(j->head, parts, n) != j->head.crc) {
		return -EBADMSG;
	}
	read_boot(boot);
	return j->head.last || strcmp(boot, j->head.boot) == 0 ? 0 : -ESTALE;
}

/* The record at `at`: its length, 0: none, or one that was not written to its end. */
static uint64_t read_kept(struct journal *j, uint64_t at, struct kept *ret_kept)
{
	if (read_whole(j->fd, at, ret_kept, sizeof(*ret_kept)) < 0 || ret_kept->bytes > PIECE ||
	    read_whole(j->fd, at + sizeof(*ret_kept), j->piece, ret_kept->bytes) < 0 ||
	    crc_of_kept(ret_kept, j->piece) != ret_kept->crc) {
		return 0;
	}
	return sizeof(*ret_kept) + ret_kept->bytes;
}

int journal_open(const char *output, const struct journal_part *parts, size_t n,
		 struct journal **ret_journal)
{
	struct journal *j;
	struct kept kept;
	uint64_t length;
	int err = journal_create(output, &j);

	if (err < 0) {
		return err;
	}
	j->fd = open(j->path, O_RDWR | O_CLOEXEC);
	err = j->fd < 0 ? -errno : read_state(j, parts, n);
	if (err < 0) {
		journal_close(j);
		return err;
	}
	j->end = j->records_at;
	while ((length = read_kept(j, j->end, &kept)) > 0) {
		j->end += length;
	}
	*ret_journal = j;
	return 0;
}

/* ------------------------------------------------------------------------------------------- commit */

static int write_state(int fd, const struct head *head, const struct journal_part *parts, size_t n)
{
	uint64_t at = sizeof(*head);
	int err = write_whole(fd, 0, head, sizeof(*head));

	for (size_t i = 0; i < n && err == 0; i++) {
		err = write_whole(fd, at, parts[i].bytes, parts[i].n);
		at += parts[i].n;
	}
	return err;
}

/* The directory's entry, too. */
static void sync_place(const char *path)
{
	char place[PATH_MAX];
	char *slash;
	int fd;

	snprintf(place, sizeof(place), "%s", path);
	slash = strrchr(place, '/');
	if (slash) {
		*slash = '\0';
	}
	fd = open(slash ? place : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0) {
		fsync(fd);
		close(fd);
	}
}

int journal_commit(struct journal *j, const struct journal_part *parts, size_t n, uint64_t mark,
		   bool last)
{
	struct head head = {.magic = MAGIC, .program = FCM_VERSION, .mark = mark, .last = last};
	int fd = open(j->fresh, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	uint64_t end = sizeof(head);
	int err;

	if (fd < 0) {
		return -errno;
	}
	read_boot(head.boot);
	for (size_t i = 0; i < n; i++) {
		head.part_bytes[i] = parts[i].n;
		end += parts[i].n;
	}
	head.crc = crc_of(head, parts, n);
	err = write_state(fd, &head, parts, n);
	if (err == 0 && last && fsync(fd) < 0) {
		err = -errno;
	}
	if (err == 0 && rename(j->fresh, j->path) < 0) {
		err = -errno;
	}
	if (err < 0) {
		close(fd);
		unlink(j->fresh);
		return err;
	}
	if (last) {
		sync_place(j->path);
	}
	if (j->fd >= 0) {
		close(j->fd);
	}
	j->fd = fd;
	j->head = head;
	j->end = j->records_at = end;
	return 0;
}

uint64_t journal_mark(const struct journal *j)
{
	return j->fd >= 0 ? j->head.mark : 0;
}

int journal_keep(struct journal *j, int fd, uint64_t offset, uint64_t n)
{
	uint64_t mark = journal_mark(j), end = offset + n < mark ? offset + n : mark;
	int err = 0;

	while (offset < end && err == 0) {
		struct kept k = {.offset = offset, .bytes = MIN(end - offset, PIECE)};

		err = read_whole(fd, offset, j->piece, k.bytes);
		k.crc = crc_of_kept(&k, j->piece);
		if (err == 0) {
			err = write_whole(j->fd, j->end + sizeof(k), j->piece, k.bytes);
		}
		if (err == 0) { /* a record without its head is none */
			err = write_whole(j->fd, j->end, &k, sizeof(k));
		}
		j->end += err == 0 ? sizeof(k) + k.bytes : 0;
		offset += k.bytes;
	}
	return err;
}

/* ---------------------------------------------------------------------------------------- roll back */

/* The places of all records; NULL: no memory. */
static uint64_t *list_records(struct journal *j, size_t *ret_n)
{
	uint64_t *places = malloc(sizeof(*places)), *more;
	struct kept k;
	size_t n = 0;

	for (uint64_t at = j->records_at; places && at < j->end;) {
		more = reallocarray(places, n + 1, sizeof(*places));
		if (!more) {
			free(places);
			return NULL;
		}
		places = more;
		places[n++] = at;
		at += read_kept(j, at, &k);
	}
	*ret_n = n;
	return places;
}

int journal_roll_back(struct journal *j, int fd)
{
	size_t n = 0;
	uint64_t *places = list_records(j, &n);
	int err = places ? 0 : -ENOMEM;

	while (n > 0 && err == 0) {
		struct kept k;

		err = read_kept(j, places[--n], &k) > 0
			      ? write_whole(fd, k.offset, j->piece, k.bytes)
			      : -EIO;
	}
	free(places);
	if (err == 0 && ftruncate(fd, (off_t)j->head.mark) < 0) {
		err = -errno;
	}
	return err;
}

int journal_remove(struct journal *j)
{
	return unlink(j->path) < 0 && errno != ENOENT ? -errno : 0;
}
