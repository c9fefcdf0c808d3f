/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside the configuration: the typed table (table.c), one value in and out (value.c), reading (config.c),
 * mistakes (report.c), rules between values (rules.c) and printing (print.c).
 */
#pragma once

#include "daemon/config/config.h"

enum option_type {
	OPTION_STRING,	 /* char[size]; %N, %(NUMBER+N) and %% are replaced */
	OPTION_ENDPOINT, /* likewise: tcp://ADDRESS:PORT or ipc://PATH */
	OPTION_BOOL,	 /* bool; yes or no */
	OPTION_U8,	 /* uint8_t in min..max */
	OPTION_U32,	 /* uint32_t in min..max */
	OPTION_DOUBLE,	 /* double in min..max */
	OPTION_CHOICE,	 /* an enum of int size; index into choices */
	OPTION_MASK,	 /* uint8_t, bits by choices, comma-separated, at least one */
	OPTION_DATE,	 /* int64_t UTC seconds in min..max; YYYY-MM-DD */
	OPTION_LEVEL,	 /* int of syslog.h */
};

struct option {
	const char *section; /* "board"; "group" and "link" for the repeatable ones */
	const char *key;
	enum option_type type;
	size_t offset; /* in struct config, config_group or config_link */
	size_t size;
	const char *value; /* default, as it would be written */
	double min, max;
	const char *const *choices; /* NULL-terminated */
	bool live;		    /* a change takes effect without a restart */
	bool may_be_empty;
	const char *unit;  /* "" or "ms", "ps", ... */
	const char *help;  /* one sentence */
	const char *about; /* of its section, in its first option: one line, for the example */
};

extern const struct option config_options[];	   /* ends with section NULL */
extern const struct option config_group_options[]; /* offsets in struct config_group */
extern const struct option config_link_options[];  /* offsets in struct config_link */

struct config_why {
	char text[256]; /* what is wrong with a value, and what is expected */
};
/* Parse `text` into the option's place at `base`. 0, or -EINVAL with *why. */
int config_value_parse(const struct option *o, const char *text, unsigned instance, void *base,
		       struct config_why *why);
/* As it would be written, such that parsing it yields the same. */
void config_value_format(const struct option *o, const void *base, char *text, size_t size);
/* "8..1600", "yes or no", "rb, ocxo-good, ...": what may stand there. */
void config_value_range(const struct option *o, char *text, size_t size);
/* Every option of the table to its default. */
void config_value_defaults(const struct option *table, unsigned instance, void *base);

#define CONFIG_ERRORS_MAX  200u
#define CONFIG_ORIGINS_MAX 128u /* values that a configuration can have */

struct origin {
	size_t value; /* offset in struct config */
	unsigned layer;
	char *text; /* "FILE:LINE", "command line" */
};

struct config_report {
	char *errors[CONFIG_ERRORS_MAX];
	size_t errors_count;
	struct origin origins[CONFIG_ORIGINS_MAX];
	size_t origins_count;
	bool out_of_memory;
};

/* A mistake at `file`:`line` (line 0: in the file; file NULL: on the command line). */
__attribute__((format(printf, 4, 5))) void config_complain(struct config_report *report,
							   const char *file, unsigned line,
							   const char *format, ...);
/* Where the value at this offset in struct config is from, likewise; twice in a layer (a file) is a mistake. */
void config_note_origin(struct config_report *report, size_t value, const char *section,
			const char *key, const char *file, unsigned line, unsigned layer);
/* "default", "FILE:LINE", "command line". */
const char *config_origin(const struct config_report *report, size_t value);
/* Rules between values; `where`: the file that has them. */
void config_check_rules(const struct config *c, struct config_report *report, const char *where);
