/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Metrics as text: the exposition format 0.0.4 of Prometheus
 * (https://prometheus.io/docs/instrumenting/exposition_formats/). A family is a metric's name, type and help, then its
 * samples; a family without a sample leaves nothing in the text.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdio.h>

#define METRICS_CONTENT_TYPE "text/plain; version=0.0.4; charset=utf-8"
#define METRICS_NAME_MAX     128u
#define METRICS_VALUE_MAX    128u /* of a label: what is longer is cut at the border of a character */

enum metrics_type { METRICS_GAUGE, METRICS_COUNTER };

struct metrics_text;

/* The labels of a sample, in the order in which they were added. Begin with {0}. */
struct metrics_labels {
	char text[1024];
};

/* NULL: out of memory. */
struct metrics_text *metrics_text_new(void);
void metrics_text_free(struct metrics_text *t); /* NULL is fine */
/* Ends the text and frees `t`. The text is the caller's to free; NULL: out of memory. */
char *metrics_text_end(struct metrics_text *t);

/* `name` and `help` stay the caller's until the next family. */
void metrics_family(struct metrics_text *t, const char *name, enum metrics_type type,
		    const char *help);
/* NaN is no value: there is no sample then. `labels` NULL: none. */
void metrics_sample(struct metrics_text *t, const struct metrics_labels *labels, double value);
/* A number of JSON, true or false; anything else is no value. A counter's negative integer is one of 64 bits without a
 * sign, as the daemon writes it. */
void metrics_json(struct metrics_text *t, const struct metrics_labels *labels, const json_t *value);
/* One sample for each of `states`, which ends with NULL: 1 for `state`, 0 for the others. */
void metrics_states(struct metrics_text *t, const struct metrics_labels *labels,
		    const char *const *states, const char *state);

/* A metric on a line of its own, for the list of them. */
void metrics_list_line(FILE *out, const char *name, enum metrics_type type, const char *labels,
		       const char *help);

/* A label that does not fit any more is left out. */
void metrics_label(struct metrics_labels *l, const char *key, const char *value);
void metrics_label_number(struct metrics_labels *l, const char *key, json_int_t value);
