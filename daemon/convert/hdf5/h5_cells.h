/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The files of a recording in an HDF5 file: a dataset of bytes for each, in /cells. Segments of several links are written
 * in turn, so a few of them are open at a time. Calls return 0 or -1, as those of h5_series.h.
 */
#pragma once

#include "daemon/convert/hdf5/h5_series.h"

#define H5_CELLS_OPEN 8u

struct h5_cells {
	struct h5_out *out;
	struct {
		char name[64];
		struct h5_series *series; /* NULL: free */
	} slots[H5_CELLS_OPEN];
};

int h5_cells_put(struct h5_cells *c, const char *file, const uint8_t *bytes, size_t n, bool last);
int h5_cells_flush(struct h5_cells *c);
void h5_cells_close(struct h5_cells *c);
