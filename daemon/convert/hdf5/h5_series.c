// SPDX-License-Identifier: GPL-2.0-or-later
/* Datasets that grow at their end: see h5_series.h. */
#include "daemon/convert/hdf5/h5_series.h"

#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#define DEFLATE_LEVEL 1 /* what readers see; isa-l's, which is no zlib's */

struct h5_series {
	struct h5_out *out;
	hid_t dataset;
	struct column column;
	uint64_t chunk;	  /* number of the one being filled */
	uint64_t written; /* items of the dataset in the file */
};

/* ------------------------------------------------------------------------------------------ chunks */

static int write_chunk(struct pack_job *job)
{
	struct h5_series *s = job->context;
	const hsize_t at = job->number * s->column.chunk_items, end = at + job->items;
	/* The filters that were left out, by their place: shuffle is there for more than one byte. */
	const uint32_t left_out = job->out_bytes > 0 ? 0 : s->column.width > 1 ? 2 : 1;

	if (end > s->written) {
		if (H5Dset_extent(s->dataset, &end) < 0) {
			return -1;
		}
		s->written = end;
	}
	return H5Dwrite_chunk(s->dataset, H5P_DEFAULT, left_out, &at,
			      job->out_bytes > 0 ? job->out_bytes : job->in_bytes,
			      job->out_bytes > 0 ? job->out : job->in) < 0
		       ? -1
		       : 0;
}

int h5_out_write(struct h5_out *out, bool all)
{
	struct pack_job *job;
	int err = 0;

	while (err == 0 && (job = all ? pack_take(out->pack) : pack_take_done(out->pack))) {
		err = write_chunk(job);
		pack_put(out->pack, job);
	}
	return err;
}

/* A job that is free: waits for the oldest if need be. NULL: HDF5 failed. */
static struct pack_job *get_job(struct h5_out *out)
{
	struct pack_job *job;

	if (h5_out_write(out, false) < 0) {
		return NULL;
	}
	job = pack_get(out->pack);
	if (!job) {
		job = pack_take(out->pack);
		if (write_chunk(job) < 0) {
			pack_put(out->pack, job);
			return NULL;
		}
	}
	return job;
}

static void give(struct h5_series *s, struct pack_job *job)
{
	job->context = s;
	job->number = s->chunk;
	job->items = s->column.used;
	job->in_bytes = column_bytes(&s->column);
	pack_give(s->out->pack, job);
}

/* The full chunk goes; its memory is exchanged for the job's. */
static int send_full(struct h5_series *s)
{
	struct pack_job *job = get_job(s->out);
	uint8_t *planes;

	if (!job) {
		return -1;
	}
	planes = job->in;
	job->in = s->column.planes;
	s->column.planes = planes;
	give(s, job);
	s->chunk++;
	s->column.used = 0;
	return 0;
}

int h5_series_flush(struct h5_series *s)
{
	struct pack_job *job;

	if (s->column.used == 0) {
		return 0;
	}
	job = get_job(s->out);
	if (!job) {
		return -1;
	}
	column_copy(&s->column, job->in);
	give(s, job);
	return 0;
}

int h5_series_put(struct h5_series *s, const void *items, size_t stride, size_t n)
{
	const uint8_t *from = items;
	int err = 0;

	while (n > 0 && err == 0) {
		size_t took = column_put(&s->column, from, stride, n);

		from += took * stride;
		n -= took;
		err = column_full(&s->column) ? send_full(s) : 0;
	}
	return err;
}

int h5_series_put_samples(struct h5_series *s, const uint8_t *samples, bool bytes, size_t n)
{
	int err = 0;

	while (n > 0 && err == 0) {
		size_t took = column_put_samples(&s->column, samples, bytes, n);

		samples += bytes ? took : 2 * took;
		n -= took;
		err = column_full(&s->column) ? send_full(s) : 0;
	}
	return err;
}

/* ------------------------------------------------------------------------------------ open and close */

static hid_t create_dataset(hid_t group, const char *name, hid_t type, uint32_t chunk_items,
			    unsigned width)
{
	const hsize_t none = 0, unlimited = H5S_UNLIMITED, chunk = chunk_items;
	hid_t space = H5Screate_simple(1, &none, &unlimited), dataset = -1;
	hid_t list = H5Pcreate(H5P_DATASET_CREATE);

	if (space >= 0 && list >= 0 && H5Pset_chunk(list, 1, &chunk) >= 0 &&
	    (width == 1 || H5Pset_shuffle(list) >= 0) && H5Pset_deflate(list, DEFLATE_LEVEL) >= 0) {
		dataset = H5Dcreate2(group, name, type, space, H5P_DEFAULT, list, H5P_DEFAULT);
	}
	H5Pclose(list);
	H5Sclose(space);
	return dataset;
}

/* Items [first, end) of the dataset, which are in the chunk that is not full, come back. */
static int read_rest(struct h5_series *s, hid_t type, uint64_t first, uint64_t end)
{
	const hsize_t at = first, n = end - first;
	hid_t there = H5Dget_space(s->dataset), here = H5Screate_simple(1, &n, NULL);
	uint8_t *items = malloc(MAX(n, 1u) * s->column.width);
	int err = -1;

	if (items && there >= 0 && here >= 0 &&
	    H5Sselect_hyperslab(there, H5S_SELECT_SET, &at, NULL, &n, NULL) >= 0 &&
	    H5Dread(s->dataset, type, here, there, H5P_DEFAULT, items) >= 0) {
		column_put(&s->column, items, s->column.width, n);
		err = 0;
	}
	free(items);
	H5Sclose(here);
	H5Sclose(there);
	return err;
}

static int take_up(struct h5_series *s, hid_t type)
{
	hid_t space = H5Dget_space(s->dataset);
	hsize_t items = 0;
	uint64_t first;

	if (space < 0 || H5Sget_simple_extent_dims(space, &items, NULL) != 1) {
		return -1;
	}
	H5Sclose(space);
	s->written = items;
	s->chunk = items / s->column.chunk_items;
	first = s->chunk * s->column.chunk_items;
	return items > first ? read_rest(s, type, first, items) : 0;
}

struct h5_series *h5_series_open(struct h5_out *out, hid_t group, const char *name, hid_t type,
				 uint32_t chunk_items)
{
	struct h5_series *s = calloc(1, sizeof(*s));
	bool there = s && H5Lexists(group, name, H5P_DEFAULT) > 0;

	if (!s) {
		return NULL;
	}
	s->out = out;
	s->column = (struct column){
		.width = (unsigned)H5Tget_size(type),
		.chunk_items = chunk_items,
		.planes = malloc(H5_CHUNK_BYTES), /* a job's is as large */
	};
	s->dataset = there ? H5Dopen2(group, name, H5P_DEFAULT)
			   : create_dataset(group, name, type, chunk_items, s->column.width);
	if (!s->column.planes || s->dataset < 0 || (there && take_up(s, type) < 0)) {
		h5_series_close(s);
		return NULL;
	}
	return s;
}

void h5_series_close(struct h5_series *s)
{
	if (s) {
		if (s->dataset >= 0) {
			H5Dclose(s->dataset);
		}
		free(s->column.planes);
		free(s);
	}
}

hid_t h5_series_id(const struct h5_series *s)
{
	return s->dataset;
}

int h5_out_error(const struct h5_out *out)
{
	return out->disk.error;
}
