// SPDX-License-Identifier: GPL-2.0-or-later
/* Attributes and types of HDF5 files: see h5_attribute.h. */
#include "daemon/convert/hdf5/h5_attribute.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int write_attribute(hid_t object, const char *name, hid_t type, const void *value)
{
	hid_t space = H5Screate(H5S_SCALAR), attribute = -1;
	herr_t err = -1;

	if (H5Aexists(object, name) <= 0 || H5Adelete(object, name) >= 0) {
		attribute = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
	}
	if (attribute >= 0) {
		err = H5Awrite(attribute, type, value);
		H5Aclose(attribute);
	}
	H5Sclose(space);
	return err < 0 ? -1 : 0;
}

/* Of exactly `bytes`, padded with zeros. */
static hid_t text_type(size_t bytes)
{
	hid_t type = H5Tcopy(H5T_C_S1);

	if (H5Tset_size(type, bytes > 0 ? bytes : 1) < 0 ||
	    H5Tset_strpad(type, H5T_STR_NULLPAD) < 0) {
		H5Tclose(type);
		return -1;
	}
	return type;
}

/* Of no fixed length: so h5py has it as str. */
int h5_attribute_text(hid_t object, const char *name, const char *text)
{
	hid_t type = H5Tcopy(H5T_C_S1);
	int err = H5Tset_size(type, H5T_VARIABLE) < 0 || H5Tset_cset(type, H5T_CSET_UTF8) < 0
			  ? -1
			  : write_attribute(object, name, type, &text);

	H5Tclose(type);
	return err;
}

int h5_attribute_number(hid_t object, const char *name, int64_t value)
{
	hid_t attribute;
	herr_t err;

	/* As large as before: written over, so that a commit changes little. */
	if (H5Aexists(object, name) > 0) {
		attribute = H5Aopen(object, name, H5P_DEFAULT);
		err = H5Awrite(attribute, H5T_NATIVE_INT64, &value);
		H5Aclose(attribute);
		return err < 0 ? -1 : 0;
	}
	return write_attribute(object, name, H5T_STD_I64LE, &value);
}

hid_t h5_field_type(const struct field *f)
{
	const hsize_t n = f->bytes;

	switch (f->type) {
	case FIELD_U1:
		return H5Tcopy(H5T_STD_U8LE);
	case FIELD_U2:
		return H5Tcopy(H5T_STD_U16LE);
	case FIELD_U4:
		return H5Tcopy(H5T_STD_U32LE);
	case FIELD_U8:
		return H5Tcopy(H5T_STD_U64LE);
	case FIELD_I4:
		return H5Tcopy(H5T_STD_I32LE);
	case FIELD_I8:
		return H5Tcopy(H5T_STD_I64LE);
	case FIELD_TEXT:
		return text_type(f->bytes);
	case FIELD_BYTES:
		return H5Tarray_create2(H5T_STD_U8LE, 1, &n);
	}
	return -1;
}

hid_t h5_row_type(const struct table *t)
{
	hid_t row = H5Tcreate(H5T_COMPOUND, t->row_bytes);

	for (const struct field *f = t->fields; f->name; f++) {
		hid_t type = h5_field_type(f);

		if (type < 0 || H5Tinsert(row, f->name, f->at, type) < 0) {
			return -1;
		}
		H5Tclose(type);
	}
	return row;
}

int h5_describe_field(hid_t dataset, const struct field *f)
{
	int err = h5_attribute_text(dataset, "units", f->unit);

	return err < 0 ? err : h5_attribute_text(dataset, "description", f->about);
}

int h5_describe_table(hid_t dataset, const struct table *t)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);
	int err;

	if (!f) {
		return -1;
	}
	for (const struct field *field = t->fields; field->name; field++) {
		fprintf(f, "%s%s%s%s%s: %s", field == t->fields ? "" : "\n", field->name,
			*field->unit ? " [" : "", field->unit, *field->unit ? "]" : "",
			field->about);
	}
	err = fclose(f) == 0 ? h5_attribute_text(dataset, "fields", text) : -1;
	free(text);
	return err < 0 ? err : h5_attribute_text(dataset, "description", t->about);
}
