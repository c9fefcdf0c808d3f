// SPDX-License-Identifier: GPL-2.0-or-later
/* Whether a station is ready, for /readyz. */
#include <math.h>
#include <string.h>

#include "daemon/core/text.h"
#include "slowctl/metrics/metrics.h"

#define STALE_S 5.0 /* frames come 8000 times a second */

/* Of the link with the newest data. INFINITY: no link has data. */
static double newest_data_s(const json_t *status)
{
	double newest = INFINITY;
	size_t n;
	const json_t *l;

	json_array_foreach (json_object_get(status, "links"), n, l) {
		const json_t *age = json_object_get(l, "age_s");

		newest = json_is_number(age) ? fmin(newest, json_number_value(age)) : newest;
	}
	return newest;
}

/* One line, whatever it was. */
static bool say(bool ready, char *why)
{
	text_whole(why);
	for (; *why; why++) {
		*why = (unsigned char)*why < ' ' ? ' ' : *why;
	}
	return ready;
}

bool metrics_ready(const json_t *status, char *why, size_t size)
{
	const json_t *incidents = json_object_get(status, "incidents");
	const json_t *tick = json_object_get(json_object_get(status, "capture"), "tick_age_s");
	const char *word = json_string_value(json_object_get(incidents, "word"));
	const char *headline = json_string_value(json_object_get(incidents, "headline"));
	double newest = newest_data_s(status);

	if (!word || !headline) {
		snprintf(why, size, "the daemon has sent no status");
		return false;
	}
	if (!json_is_number(tick) || json_number_value(tick) > STALE_S) {
		snprintf(why, size, "the capture thread does not report");
		return false;
	}
	if (newest > STALE_S) {
		snprintf(why, size, "data are stale: no link has had a good frame for %.0f s",
			 STALE_S);
		return false;
	}
	snprintf(why, size, "%s: %s", word, headline);
	return say(strcmp(word, "RED") != 0, why);
}
