// SPDX-License-Identifier: GPL-2.0-or-later
/* A driver of libhdf5 that keeps what it overwrites: see h5_driver.h. */
#include "daemon/convert/hdf5/h5_driver.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/convert/output/write.h"
#if H5_VERSION_GE(1, 14, 0)
#include <H5FDdevelop.h>
#endif

/* What a file's access properties carry. */
struct access {
	struct h5_disk *disk;
};

struct driver_file {
	H5FD_t of_hdf5; /* first */
	struct h5_disk *disk;
	haddr_t end; /* of what HDF5 has allocated */
};

static struct h5_disk *disk_of(const H5FD_t *f)
{
	return ((const struct driver_file *)f)->disk;
}

/* Notes the first error. */
static herr_t checked(struct h5_disk *d, int err)
{
	if (err == 0) {
		return 0;
	}
	if (d->error == 0) {
		d->error = err;
	}
	d->dead = true;
	return -1;
}

static H5FD_t *on_open(const char *name, unsigned flags, hid_t fapl, haddr_t maxaddr)
{
	const struct access *access = H5Pget_driver_info(fapl);
	struct driver_file *f = calloc(1, sizeof(*f));
	struct stat st;

	if (!f || !access || fstat(access->disk->fd, &st) < 0) {
		free(f);
		return NULL;
	}
	f->disk = access->disk;
	f->disk->size = (uint64_t)st.st_size;
	return &f->of_hdf5;
}

static herr_t on_close(H5FD_t *f)
{
	free(f);
	return 0;
}

static herr_t on_query(const H5FD_t *f, unsigned long *flags)
{
	*flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA |
		 H5FD_FEAT_DATA_SIEVE | H5FD_FEAT_AGGREGATE_SMALLDATA |
		 H5FD_FEAT_DEFAULT_VFD_COMPATIBLE;
	return 0;
}

static haddr_t on_get_eoa(const H5FD_t *f, H5FD_mem_t type)
{
	return ((const struct driver_file *)f)->end;
}

static herr_t on_set_eoa(H5FD_t *f, H5FD_mem_t type, haddr_t end)
{
	((struct driver_file *)f)->end = end;
	return 0;
}

static haddr_t on_get_eof(const H5FD_t *f, H5FD_mem_t type)
{
	return disk_of(f)->size;
}

static herr_t on_read(H5FD_t *f, H5FD_mem_t type, hid_t dxpl, haddr_t at, size_t n, void *to)
{
	struct h5_disk *d = disk_of(f);
	size_t there = at < d->size ? MIN(n, (size_t)(d->size - at)) : 0;

	memset((uint8_t *)to + there, 0, n - there);
	return checked(d, read_whole(d->fd, at, to, there));
}

static herr_t on_write(H5FD_t *f, H5FD_mem_t type, hid_t dxpl, haddr_t at, size_t n,
		       const void *from)
{
	struct h5_disk *d = disk_of(f);
	int err;

	if (d->dead) {
		return 0;
	}
	err = journal_keep(d->journal, d->fd, at, n);
	if (err == 0) {
		err = write_whole(d->fd, at, from, n);
	}
	d->size = MAX(d->size, at + n);
	return checked(d, err);
}

static herr_t on_truncate(H5FD_t *f, hid_t dxpl, hbool_t closing)
{
	struct h5_disk *d = disk_of(f);
	uint64_t end = ((struct driver_file *)f)->end;
	int err;

	if (d->dead || end == d->size) {
		return 0;
	}
	err = end < d->size ? journal_keep(d->journal, d->fd, end, d->size - end) : 0;
	if (err == 0 && ftruncate(d->fd, (off_t)end) < 0) {
		err = -errno;
	}
	d->size = end;
	return checked(d, err);
}

static const H5FD_class_t driver = {
#if H5_VERSION_GE(1, 14, 0)
	.version = H5FD_CLASS_VERSION,
	.value = 511, /* of those for in-house drivers */
#endif
	.name = "fcm-journal",
	.maxaddr = INT64_MAX,
	.fc_degree = H5F_CLOSE_WEAK,
	.fapl_size = sizeof(struct access),
	.open = on_open,
	.close = on_close,
	.query = on_query,
	.get_eoa = on_get_eoa,
	.set_eoa = on_set_eoa,
	.get_eof = on_get_eof,
	.read = on_read,
	.write = on_write,
	.truncate = on_truncate,
	.fl_map = H5FD_FLMAP_DICHOTOMY,
};

hid_t h5_driver_access(struct h5_disk *disk)
{
	const struct access access = {disk};
	hid_t id = H5FDregister(&driver), fapl = H5Pcreate(H5P_FILE_ACCESS);

	if (id < 0 || fapl < 0 || H5Pset_driver(fapl, id, &access) < 0) {
		return -1;
	}
	return fapl;
}
