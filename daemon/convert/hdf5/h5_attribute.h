/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Attributes and types of HDF5 files, from the tables of tables.h. Calls return 0 or -1: HDF5 failed. */
#pragma once

#include <hdf5.h>
#include <stdint.h>

#include "daemon/convert/output/tables.h"

/* Made, or written again. Text may change its length. */
int h5_attribute_text(hid_t object, const char *name, const char *text);
int h5_attribute_number(hid_t object, const char *name, int64_t value);

/* To be closed with H5Tclose(); negative: HDF5 failed. */
hid_t h5_field_type(const struct field *f);
hid_t h5_row_type(const struct table *t);

/* `units` and `description`. */
int h5_describe_field(hid_t dataset, const struct field *f);
/* `description`, and in `fields` a line for each: name [unit]: what it is. */
int h5_describe_table(hid_t dataset, const struct table *t);
