// SPDX-License-Identifier: GPL-2.0-or-later
/* The files of a recording, into an HDF5 file and out of it: see h5_cells.h and hdf5.h. */
#include "daemon/convert/hdf5/h5_cells.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/convert/hdf5/h5_attribute.h"
#include "daemon/convert/hdf5/hdf5.h"
#include "daemon/convert/output/write.h"

#define GROUP "cells"

static const struct field cell_bytes = {GROUP, FIELD_U1, 0,
					1,     "bytes",	 "a file of the recording, byte by byte"};

/* ---------------------------------------------------------------------------------------------- into */

static struct h5_series *open_series(struct h5_out *out, const char *name)
{
	bool there = H5Lexists(out->file, GROUP, H5P_DEFAULT) > 0;
	hid_t group = there ? H5Gopen2(out->file, GROUP, H5P_DEFAULT)
			    : H5Gcreate2(out->file, GROUP, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
	struct h5_series *s =
		group < 0 ? NULL : h5_series_open(out, group, name, H5T_STD_U8LE, H5_CHUNK_BYTES);

	H5Gclose(group);
	if (s && h5_describe_field(h5_series_id(s), &cell_bytes) < 0) {
		h5_series_close(s);
		return NULL;
	}
	return s;
}

int h5_cells_put(struct h5_cells *c, const char *file, const uint8_t *bytes, size_t n, bool last)
{
	unsigned spare = H5_CELLS_OPEN, i;
	int err;

	for (i = 0; i < H5_CELLS_OPEN; i++) {
		if (c->slots[i].series && strcmp(c->slots[i].name, file) == 0) {
			break;
		}
		spare = c->slots[i].series ? spare : i;
	}
	if (i == H5_CELLS_OPEN) {
		i = spare;
		if (i == H5_CELLS_OPEN || !(c->slots[i].series = open_series(c->out, file))) {
			return -1;
		}
		snprintf(c->slots[i].name, sizeof(c->slots[i].name), "%s", file);
	}
	err = h5_series_put(c->slots[i].series, bytes, 1, n);
	if (err == 0 && last) {
		err = h5_series_flush(c->slots[i].series);
		err = err < 0 ? err
			      : h5_out_write(c->out, true); /* none of its chunks is under way */
		h5_series_close(c->slots[i].series);
		c->slots[i].series = NULL;
	}
	return err;
}

int h5_cells_flush(struct h5_cells *c)
{
	int err = 0;

	for (unsigned i = 0; i < H5_CELLS_OPEN && err == 0; i++) {
		err = c->slots[i].series ? h5_series_flush(c->slots[i].series) : 0;
	}
	return err;
}

void h5_cells_close(struct h5_cells *c)
{
	for (unsigned i = 0; i < H5_CELLS_OPEN; i++) {
		h5_series_close(c->slots[i].series);
		c->slots[i].series = NULL;
	}
}

/* --------------------------------------------------------------------------------------------- out of */

/* A name in the file may be anything: only those that a recording's files have. */
static bool is_safe(const char *name)
{
	for (const char *c = name; *c; c++) {
		if (!isalnum((unsigned char)*c) && !strchr("._-", *c)) {
			return false;
		}
	}
	return *name && *name != '.';
}

static int64_t number_of(hid_t file, const char *name)
{
	int64_t value = 0;
	hid_t attribute = H5Aexists(file, name) > 0 ? H5Aopen(file, name, H5P_DEFAULT) : -1;

	if (attribute >= 0) {
		H5Aread(attribute, H5T_NATIVE_INT64, &value);
		H5Aclose(attribute);
	}
	return value;
}

/* Bytes [at, at + n) of a dataset. */
static int read_bytes(hid_t dataset, hid_t there, hsize_t at, hsize_t n, uint8_t *to)
{
	hid_t here = H5Screate_simple(1, &n, NULL);
	int err = H5Sselect_hyperslab(there, H5S_SELECT_SET, &at, NULL, &n, NULL) < 0 ||
				  H5Dread(dataset, H5T_STD_U8LE, here, there, H5P_DEFAULT, to) < 0
			  ? -EIO
			  : 0;

	H5Sclose(here);
	return err;
}

static int copy_out(hid_t dataset, int fd, uint8_t *piece)
{
	hid_t there = H5Dget_space(dataset);
	hsize_t bytes = 0;
	int err = H5Sget_simple_extent_ndims(there) == 1 &&
				  H5Sget_simple_extent_dims(there, &bytes, NULL) == 1
			  ? 0
			  : -EIO;

	for (hsize_t at = 0; at < bytes && err == 0; at += H5_CHUNK_BYTES) {
		hsize_t n = MIN(bytes - at, (hsize_t)H5_CHUNK_BYTES);

		err = read_bytes(dataset, there, at, n, piece);
		err = err == 0 ? write_whole(fd, at, piece, n) : err;
	}
	H5Sclose(there);
	return err;
}

static int restore_file(hid_t group, const char *name, int place, uint8_t *piece)
{
	int fd = is_safe(name) ? openat(place, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666)
			       : -1;
	int err = fd < 0 ? (is_safe(name) ? -errno : -EBADMSG) : 0;
	hid_t dataset;

	if (err < 0) {
		return err;
	}
	dataset = H5Dopen2(group, name, H5P_DEFAULT);
	err = dataset < 0 ? -EIO : copy_out(dataset, fd, piece);
	if (dataset >= 0) {
		H5Dclose(dataset);
	}
	if (err == 0 && fsync(fd) < 0) {
		err = -errno;
	}
	close(fd);
	return err;
}

static int restore_all(hid_t group, int place, char *name, size_t size)
{
	uint8_t *piece = malloc(H5_CHUNK_BYTES);
	H5G_info_t info;
	int err = !piece ? -ENOMEM : H5Gget_info(group, &info) < 0 ? -EIO : 0;

	for (hsize_t i = 0; err == 0 && i < info.nlinks; i++) {
		err = H5Lget_name_by_idx(group, ".", H5_INDEX_NAME, H5_ITER_INC, i, name, size,
					 H5P_DEFAULT) < 0
			      ? -EIO
			      : restore_file(group, name, place, piece);
	}
	free(piece);
	return err;
}

static int tell(char *why, size_t size, int err, const char *path, const char *text)
{
	snprintf(why, size, "%s: %s", path, text);
	return err;
}

/* What can be said before anything is made. */
static int look_at(hid_t file, const char *path, char *why, size_t size)
{
	if (H5Aexists(file, "format_number") <= 0) {
		return tell(why, size, -EPROTO, path, "not made by fcm-convert");
	}
	if (number_of(file, "format_number") > HDF5_VERSION) {
		return tell(why, size, -EPROTO, path,
			    "made by a newer fcm-convert, which can read it");
	}
	if (H5Lexists(file, GROUP, H5P_DEFAULT) <= 0) {
		return tell(why, size, -ENODATA, path,
			    "has no cells in it, so no recording can be made of it; convert the "
			    "recording again with --cells");
	}
	if (number_of(file, "complete") != 1) {
		return tell(why, size, -EPROTO, path,
			    "its conversion was not finished; go on with it by --resume");
	}
	return 0;
}

static int restore_from(hid_t file, const char *path, const char *directory, char *why, size_t size)
{
	char name[64] = "";
	hid_t group;
	int place, err = look_at(file, path, why, size);

	if (err < 0) {
		return err;
	}
	if (mkdir(directory, 0777) < 0) {
		err = -errno;
		if (err == -EEXIST) {
			snprintf(why, size,
				 "%s: is there already; name a new directory, for example %s/NAME",
				 directory, directory);
			return err;
		}
		return tell(why, size, err, directory, strerror(-err));
	}
	place = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (place < 0) {
		return tell(why, size, -errno, directory, strerror(errno));
	}
	group = H5Gopen2(file, GROUP, H5P_DEFAULT);
	err = group < 0 ? -EIO : restore_all(group, place, name, sizeof(name));
	H5Gclose(group);
	fsync(place);
	close(place);
	if (err < 0) {
		snprintf(why, size, "%s/%s: %s", directory, name,
			 err == -EIO ? "cannot be read from the HDF5 file" : strerror(-err));
	}
	return err;
}

int hdf5_restore(const char *path, const char *directory, char *why, size_t size)
{
	hid_t file;
	int err;

	H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
	if (access(path, R_OK) < 0) {
		return tell(why, size, -errno, path, strerror(errno));
	}
	file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
	if (file < 0) {
		return tell(why, size, -EPROTO, path,
			    "not an HDF5 file, or one whose conversion was cut off (go on with it "
			    "by --resume)");
	}
	err = restore_from(file, path, directory, why, size);
	H5Fclose(file);
	return err;
}
