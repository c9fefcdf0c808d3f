/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Results: named columns and rows of numbers and words, and the ways to write them. */
#pragma once

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

/* Add a row: for each column a double, or of a column of words a const char * that stays. -ENOMEM. */
int table_add(struct table *t, ...);
void table_fini(struct table *t);

void table_cell(FILE *f, const struct column *column, const struct cell *cell, int width);
/* Names and rows as lines: cells at least so wide, with this between them. */
void table_lines(FILE *f, const struct table *t, int width, const char *between);
/* An array of objects. */
void table_json(FILE *f, const struct table *t);
/* A string of JSON, quoted. */
void print_json_string(FILE *f, const char *text);
