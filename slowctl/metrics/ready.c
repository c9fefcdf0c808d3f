// SPDX-License-Identifier: GPL-2.0-or-later
/* Whether a station is ready, for /readyz. */
#include <string.h>

#include "daemon/core/text.h"
#include "slowctl/metrics/metrics.h"

#define STALE_S 5.0 /* frames come 8000 times a second */

static bool is_fresh(const json_t *link)
{
	const json_t *age = json_object_get(link, "age_s");

	return json_is_number(age) && json_number_value(age) <= STALE_S;
}

/* The first link without fresh data, NULL: each has them; and how many have them. */
static const json_t *first_stale(const json_t *status, unsigned *ret_fresh)
{
	const json_t *first = NULL, *l;
	size_t n;

	*ret_fresh = 0;
	json_array_foreach (json_object_get(status, "links"), n, l) {
		const char *state = json_string_value(json_object_get(l, "state"));

		if (is_fresh(l)) {
			(*ret_fresh)++;
		} else if (!first && !(state && strcmp(state, "off") == 0)) {
			first = l;
		}
	}
	return first;
}

static void say_stale(const json_t *link, char *why, size_t size)
{
	const char *state = json_string_value(json_object_get(link, "state"));
	const json_t *age = json_object_get(link, "age_s");
	char since[40] = "yet";

	if (json_is_number(age)) {
		snprintf(since, sizeof(since), "for %.0f s", json_number_value(age));
	}
	snprintf(why, size, "data are stale: link %d is %s, no good frame %s",
		 (int)json_integer_value(json_object_get(link, "link")), state ? state : "?",
		 since);
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
	unsigned fresh;
	const json_t *stale = first_stale(status, &fresh);

	if (!word || !headline) {
		snprintf(why, size, "the daemon has sent no status");
		return false;
	}
	if (!json_is_number(tick) || json_number_value(tick) > STALE_S) {
		snprintf(why, size, "the capture thread does not report");
		return false;
	}
	if (fresh == 0) {
		snprintf(why, size, "data are stale: no link has had a good frame for %.0f s",
			 STALE_S);
		return false;
	}
	/* Also while its incident is paused: a pause is of the incident, and the data are not there. */
	if (stale && strcmp(word, "RED") != 0) {
		say_stale(stale, why, size);
		return say(false, why);
	}
	snprintf(why, size, "%s: %s", word, headline);
	return say(strcmp(word, "RED") != 0, why);
}
