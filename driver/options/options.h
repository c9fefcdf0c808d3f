/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A command line by a table of options: values are checked and stored in a struct of settings. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the option sets, at offset `at` of the settings. */
enum option_kind {
	OPTION_OWN,	/* whatever take() does */
	OPTION_FLAG,	/* a bool, to true; takes no argument */
	OPTION_TEXT,	/* const char *, which points into argv */
	OPTION_BYTE,	/* uint8_t */
	OPTION_WHOLE,	/* unsigned */
	OPTION_WHOLE64, /* uint64_t; decimal, or hexadecimal with 0x */
	OPTION_NUMBER,	/* double */
};

struct option_entry {
	const char *name;
	const char *arg; /* as the help shows it; NULL: takes none */
	const char *help;
	enum option_kind kind;
	size_t at;
	double low, high;  /* of numbers; high 0: no limit */
	const char *wants; /* of numbers: what the message says that the option wants */
	/* Of OPTION_OWN: NULL when the argument was taken, else what the option wants. */
	const char *(*take)(void *settings, const char *arg);
	bool marked; /* options_parse() reports the last one that was given */
};

struct options {
	const char *program;
	const char *head, *tail; /* of the help text, around the list of options */
	const struct option_entry *entries;
	size_t count;
};

/* 0 and *ret_rest, the index of the first word that is no option; 1 when help or version was printed; -EINVAL, and
 * *ret_error says why. *ret_marked: name of the last marked option, untouched without one; may be NULL. */
int options_parse(const struct options *o, int argc, char **argv, void *settings, int *ret_rest,
		  const char **ret_marked, char *ret_error, size_t error_size);

/* A finite number within limits, and nothing behind it. */
bool option_number(const char *text, double low, double high, double *ret_value);
/* A whole number that begins the text; *ret_end: what is behind it. */
bool option_whole(const char *text, uint64_t low, uint64_t high, uint64_t *ret_value,
		  const char **ret_end);
