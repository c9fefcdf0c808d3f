/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The output as text with commas: OUTPUT.csv has the hits, a line each, its samples in the last column with blanks between.
 * Beside it the other tables, by their names: OUTPUT.blocks.csv, OUTPUT.missing.csv, ...; OUTPUT.hydrophones.csv has a line
 * a frame and hydrophone. The first line of each are the names of its columns.
 */
#pragma once

#include "daemon/convert/output/files.h"
#include "daemon/convert/output/sink.h"

struct csv_state {
	struct files_state files;
};

sink_open_fn csv_open;

/* A row of a table into a file of `files`, which is made with its names if need be. */
int csv_put_row(struct files *files, enum table_id id, const void *row);
