/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What each table and each field of the output is: names, types, units, in words. HDF5, numpy and CSV are written from
 * these; LAYOUT.md says the same to people, and a test holds the two against each other.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "daemon/convert/output/rows.h"

enum field_type {
	FIELD_U1,
	FIELD_U2,
	FIELD_U4,
	FIELD_U8,
	FIELD_I4,
	FIELD_I8,
	FIELD_TEXT,  /* of `bytes`, padded with zeros */
	FIELD_BYTES, /* an array of u1 */
};

struct field {
	const char *name;
	enum field_type type;
	uint16_t at, bytes; /* in a row */
	const char *unit;   /* "": a number without one */
	const char *about;
};

struct table {
	const char *name; /* of a numpy array or a CSV file */
	const char *path; /* in an HDF5 file */
	uint16_t row_bytes;
	uint32_t chunk_rows;
	const struct field *fields; /* a field without a name ends them */
	const char *about;
};

enum table_id {
	TABLE_HITS,
	TABLE_BLOCKS,
	TABLE_GROUPS,
	TABLE_HIT_INDICES,	/* of the hits of each group */
	TABLE_WAVEFORM_INDICES, /* of their samples */
	TABLE_MISSING,
	TABLE_PIECES,
	TABLE_TELEMETRY,
	TABLE_SERIAL,
	TABLES
};

extern const struct table tables[TABLES];

/* What is no table: numbers one after the other. */
extern const struct field waveforms_field, hydrophone_field, serial_bytes_field;

/* "crc" of OUT_CRC; "good" of 0, "?" of none. */
const char *out_reason_name(unsigned reason);
