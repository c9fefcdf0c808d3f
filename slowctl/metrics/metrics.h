/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the daemon says of a station, as metrics of Prometheus. Pure: the answers of `status` and `param.list`
 * (schemas/control.md) in, text out.
 *
 * Each metric is described once: those of parameters by the dictionary (schemas/parameters.conf), which gives name, unit,
 * type and help; those of status by the table in status.c. A value that is not fresh has no sample.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "slowctl/metrics/text.h"
#include "slowctl/param/param.h"

struct metrics_dictionary;

/* The parameter dictionary at `path`. Negative errno and *error. */
int metrics_dictionary_load(const char *path, struct metrics_dictionary **ret_dictionary,
			    struct sc_error *error);
void metrics_dictionary_free(struct metrics_dictionary *d); /* NULL is fine */

/* The name of the metric of a kind, or of its set value, in base units. Returns `name`. */
const char *metrics_name(const struct param_kind *kind, bool set, char name[METRICS_NAME_MAX]);
/* A value of this kind in base units. A counter that wraps to 0 is for Prometheus one that was reset. */
double metrics_base(const struct param_kind *kind, double value);

/* What the station says. */
struct metrics_answers {
	const json_t *status,
		*parameters; /* results of `status` and `param.list`; NULL: none that is fresh */
	double age_s;	     /* of the newest answer; NaN: there was none */
};

/* NULL: out of memory. The text is the caller's to free. */
char *metrics_write(const struct metrics_dictionary *d, const struct metrics_answers *a);
/* Each metric that there can be, a line each: name, type, labels (separated by a space), help, separated by tabs. */
void metrics_list(const struct metrics_dictionary *d, FILE *out);

/* Whether the data of each link that is not off are fresh and the station is not RED; `why` is one line for people, also
 * when it is ready. */
bool metrics_ready(const json_t *status, char *why, size_t size);
