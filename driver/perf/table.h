/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Results: named columns and rows of numbers and words, and the ways to write them. */
#ifndef PERF_TABLE_H
#define PERF_TABLE_H

#include <stdio.h>

#define TABLE_COLUMNS 10u

struct column {
	const char *name; /* with its unit: p50_us */
	int digits;	  /* after the point; -1: words */
};

struct cell {
	double number;
	const char *word; /* of a column of words; static */
};

struct table {
	const char *name;
	struct column columns[TABLE_COLUMNS]; /* up to the first without a name */
	struct cell (*rows)[TABLE_COLUMNS];
	size_t count;
};

/* -ENOMEM. */
int table_add(struct table *t, const struct cell row[TABLE_COLUMNS]);
void table_fini(struct table *t);

void table_text(FILE *f, const struct table *t);
void table_csv(FILE *f, const struct table *t);
/* An array of objects. */
void table_json(FILE *f, const struct table *t);
/* A string of JSON, quoted. */
void print_json_string(FILE *f, const char *text);

#endif
