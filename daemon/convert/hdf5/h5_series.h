/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A dataset of one dimension that grows at its end: chunks are filled here, compressed by pack.h and written as they are
 * (H5Dwrite_chunk), so that HDF5's own filters take no time of this thread. For its readers it is an ordinary dataset with
 * shuffle and deflate.
 *
 * One thread. Calls return 0 or -1, HDF5 has failed then: h5_out_error().
 */
#pragma once

#include "daemon/convert/hdf5/column.h"
#include "daemon/convert/hdf5/h5_driver.h"
#include "daemon/convert/hdf5/pack.h"

#define H5_CHUNK_BYTES ((size_t)1 << 20) /* HDF5's readers cache one chunk of at most this size */

/* A file being written. */
struct h5_out {
	struct h5_disk disk;
	hid_t file;
	struct pack *pack;
};

struct h5_series;

/* A dataset of `type`, made in `group` or found there (a file that is gone on with). NULL: no memory, or HDF5 failed. */
struct h5_series *h5_series_open(struct h5_out *out, hid_t group, const char *name, hid_t type,
				 uint32_t chunk_items);
void h5_series_close(struct h5_series *s); /* NULL is fine; what is in no chunk yet is dropped */

/* Items, each `stride` bytes behind the one before. */
int h5_series_put(struct h5_series *s, const void *items, size_t stride, size_t n);
int h5_series_put_samples(struct h5_series *s, const uint8_t *samples, bool bytes, size_t n);
/* The chunk that is not full is given to be written, too; it is written again when it is fuller. */
int h5_series_flush(struct h5_series *s);
hid_t h5_series_id(const struct h5_series *s);

/* Whatever is compressed goes into the file; `all`: waits for the rest. */
int h5_out_write(struct h5_out *out, bool all);
/* Negative errno of the disk; 0: HDF5 itself has failed. */
int h5_out_error(const struct h5_out *out);
