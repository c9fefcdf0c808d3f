/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The output as numpy arrays: a directory of .npy files, which numpy.load(..., mmap_mode="r") maps, or one .npz. Tables are
 * arrays of rows, by the names of tables.h; waveforms, serial_bytes and each hydrophone (T01F07H0) arrays of numbers;
 * about.json has the rest. A .npz is put together at the end from a directory OUTPUT.parts.
 */
#pragma once

#include "daemon/convert/output/files.h"
#include "daemon/convert/output/sink.h"

struct numpy_state {
	struct files_state files;
};

sink_open_fn numpy_open, npz_open;
