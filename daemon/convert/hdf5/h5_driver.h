/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libhdf5 on a file with a journal (journal.h): a driver of HDF5's own interface for them, like its default one but that
 * what is overwritten is kept first. So the file can be put back to its last commit, whatever happened to the process or
 * the disk. An error of the disk is remembered with its errno; behind it nothing is written any more, so that HDF5 can
 * be closed in order.
 */
#pragma once

#include <hdf5.h>
#include <stdbool.h>
#include <stdint.h>

#include "daemon/convert/output/journal.h"

struct h5_disk {
	int fd; /* the caller's */
	struct journal *journal;
	int error;     /* of the first call that failed; negative errno */
	bool dead;     /* nothing is written any more */
	uint64_t size; /* of the file */
};

/* A list of access properties for files on `disk`, which must live as long as they are open; negative: HDF5 failed. */
hid_t h5_driver_access(struct h5_disk *disk);
