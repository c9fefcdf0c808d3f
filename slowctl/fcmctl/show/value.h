/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * JSON values of the daemon's answers as text. What is missing, null or of another type is unknown and shown as "-":
 * the answer of an older or a newer daemon does not end the client.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "slowctl/fcmctl/show/writer.h"

/* A member reached through "clock.gpsd.fix"; NULL: none. Borrowed. */
const json_t *value_at(const json_t *object, const char *path);
/* NaN when there is no such number. */
double value_number(const json_t *object, const char *path);
/* Not beyond this either way, whatever an answer says: sums of several do not overflow. */
#define VALUE_INTEGER_MOST (1ll << 60)
long long value_integer(const json_t *object, const char *path, long long otherwise);
/* `otherwise` when there is no such text. */
const char *value_string(const json_t *object, const char *path, const char *otherwise);
bool value_true(const json_t *object, const char *path);

enum value_form {
	VALUE_PLAIN,	 /* text, number (as few digits as it needs), yes/no, "0,2" of an array */
	VALUE_COUNT,	 /* whole number */
	VALUE_TIME,	 /* UTC s -> 2026-11-20 15:12:03 */
	VALUE_TIME_MS,	 /* ... .123 */
	VALUE_AGE,	 /* s -> 4 min 10 s */
	VALUE_PS,	 /* 6213.4 */
	VALUE_PS_SIGNED, /* +12.3 */
	VALUE_RATE,	 /* 8000, 37.5 k, 1.20 M */
	VALUE_TYPED,	 /* as VALUE_PLAIN, but a switch is on or off, as it is typed */
};
/* Text of a value, "-" when it is not known. Returns buf. */
const char *value_text(const json_t *value, enum value_form form, char *buf, size_t size);
/* From here on for programs: times as 2026-11-20T15:12:03.250Z, spans in seconds, rates as numbers. */
void value_plain(void);
/* The same for a number that may have a word: `words` is an array, the n-th word is that of value n;
 * NULL or null: it has none. */
const char *value_word(const json_t *value, const json_t *words, char *buf, size_t size);

/* Green, yellow, red for the words of the protocol: states of links, clock, commands, severities,
 * verdicts. Plain for another word. Behind the word may stand more: "SENT, open". */
enum writer_style value_style(const char *word);

/*
 * `text` with members of `object` in the place of "{PATH}", "{PATH:FORM}" and "{PATH:FORM|OTHERWISE}". FORM is plain
 * (default), count, time, ms, age, ps, +ps, rate, typed as above; word (of the object's "words"); behind: with a blank
 * before it, or nothing; 12, -12, 02, 03x: plain, so many columns wide (right, left, with zeros, hexadecimal); of objects: floor, lost
 * and losses (sum and names), and of rows of the ledger begun ('*' behind the system clock's time) and
 * seconds (of the board). An empty PATH is the object itself. OTHERWISE stands for what is not known, "-" without.
 * Returns buf; what does not fit is cut.
 */
const char *value_fill(const json_t *object, const char *text, char *buf, size_t size);
/* The same as text, to the end of the line, as a pair (all of writer.h). */
void value_say(struct writer *w, enum writer_style style, const json_t *object, const char *text);
void value_line(struct writer *w, enum writer_style style, const json_t *object, const char *text);
void value_pair(struct writer *w, const char *name, enum writer_style style, const json_t *object,
		const char *text);

/* Appends to `text`; what does not fit is cut. */
void value_append(char *text, size_t size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* A table, a row for each object of `rows`. The list of columns ends with one without heading. */
enum value_paint {
	VALUE_AS_IS,   /* plain */
	VALUE_BY_WORD, /* value_style() */
	VALUE_WARN,    /* yellow unless it is 0 or "-" */
};
struct value_column {
	const char *heading; /* of writer_table() */
	const char *text;    /* of value_fill() */
	enum value_paint paint;
	/* Writes the cell instead, where it needs more than that. */
	void (*cell)(struct writer *w, const json_t *row);
};
void value_table(struct writer *w, const json_t *rows, const struct value_column *columns,
		 const char *empty);
