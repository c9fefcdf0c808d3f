/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The output as an HDF5 file: LAYOUT.md has what is in it. */
#pragma once

#include "daemon/convert/output/sink.h"

#define HDF5_FORMAT  "fcm-hdf5"
#define HDF5_VERSION 1 /* of the layout; a reader refuses a higher one */

sink_open_fn hdf5_open;

/*
 * The files of a recording that are in such a file (--cells), to `directory`, which is made. 0; -ENODATA: there are none;
 * -EPROTO: no file of ours, or a newer one; -EEXIST: the directory is there; -EIO: HDF5 cannot read it; else errno of
 * writing. `why`: in words.
 */
int hdf5_restore(const char *path, const char *directory, char *why, size_t size);
