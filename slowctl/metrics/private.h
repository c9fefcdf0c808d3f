/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Between the files of this room. */
#pragma once

#include "slowctl/metrics/metrics.h"

/* The floor that is configured for a link, by status; 0 and 0: unknown. */
void metrics_floor_of(const json_t *status, json_int_t link, json_int_t *ret_tower,
		      json_int_t *ret_floor);

/* Writes the samples of parameters. */
void metrics_parameters(struct metrics_text *t, const struct metrics_dictionary *d,
			const struct metrics_answers *a);
void metrics_parameters_list(const struct metrics_dictionary *d, FILE *out);
/* Writes what status says. */
void metrics_status(struct metrics_text *t, const json_t *status);
void metrics_status_list(FILE *out);
