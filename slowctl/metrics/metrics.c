// SPDX-License-Identifier: GPL-2.0-or-later
/* See metrics.h. */
#include <math.h>
#include <string.h>

#include "slowctl/metrics/private.h"

static const char
	up_name[] = "fcm_up",
	up_help[] = "1: the daemon has answered; 0: it has not, and there is nothing else of it",
	age_name[] = "fcm_answer_age_seconds",
	age_help[] = "time since the daemon's last answer; none: it has never answered";

char *metrics_write(const struct metrics_dictionary *d, const struct metrics_answers *a)
{
	struct metrics_text *t = metrics_text_new();

	if (!t) {
		return NULL;
	}
	metrics_family(t, up_name, METRICS_GAUGE, up_help);
	metrics_sample(t, NULL, a->status && a->parameters);
	metrics_family(t, age_name, METRICS_GAUGE, age_help);
	metrics_sample(t, NULL, a->age_s);
	metrics_status(t, a->status);
	metrics_parameters(t, d, a);
	return metrics_text_end(t);
}

void metrics_list(const struct metrics_dictionary *d, FILE *out)
{
	metrics_list_line(out, up_name, METRICS_GAUGE, "", up_help);
	metrics_list_line(out, age_name, METRICS_GAUGE, "", age_help);
	metrics_status_list(out);
	metrics_parameters_list(d, out);
}
