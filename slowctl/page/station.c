// SPDX-License-Identifier: GPL-2.0-or-later
/* See station.h. */
#include "slowctl/page/station.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/core/now.h"

#define PARAMETERS_MAX 256u /* a board has 48 of them */
#define PATIENCE_NS                                                                                \
	5000000000ull /* a daemon that is silent for longer is asked on a new connection */

/* What is asked, each with an answer of its own; the last answer completes what is shown. */
enum question { MEMBERS, MODULES, STATUS, QUESTIONS };

static const struct {
	const char *op, *names[3];
} questions[QUESTIONS] = {
	[MEMBERS] = {"consumer.list"},
	[MODULES] = {"param.get", {"floor*.om*.rate", "floor*.om*.hv"}},
	[STATUS] = {"status"},
};

struct station {
	struct reader *reader;
	char fcmctl[4200]; /* as it is typed for this station */
	void (*news)(void *context);
	void *context;
	uint64_t asked_ns[QUESTIONS]; /* 0: nothing is asked */
	uint64_t answered_ns[QUESTIONS];
	json_t *answer[QUESTIONS];
};

/* ------------------------------------------------------------------ answers */

static void on_message(void *context, const json_t *message)
{
	struct station *s = context;
	json_t *result = json_object_get(message, "result");
	const json_t *id = json_object_get(message, "id");
	json_int_t q = json_integer_value(id);

	if (!json_is_integer(id) || q < 0 || q >= QUESTIONS) {
		return;
	}
	s->asked_ns[q] = 0;
	if (!result) { /* an error: it is asked again, and its age shows */
		return;
	}
	json_decref(s->answer[q]);
	s->answer[q] = json_incref(result);
	s->answered_ns[q] = now_mono_ns();
	if (q == STATUS) {
		reader_is_well(s->reader);
		s->news(s->context);
	}
}

/* ------------------------------------------------------------------ questions */

static void ask(struct station *s, enum question q, uint64_t now)
{
	json_t *args = json_object();
	json_t *names = questions[q].names[0] ? json_array() : NULL;

	for (size_t i = 0; names && questions[q].names[i]; i++) {
		json_array_append_new(names, json_string(questions[q].names[i]));
	}
	if (names) {
		json_object_set_new(args, "names", names);
	}
	reader_ask(s->reader, (int)q, questions[q].op, args);
	s->asked_ns[q] = now;
}

bool station_ask(struct station *s)
{
	uint64_t now = now_mono_ns();
	int r;

	if (s->asked_ns[STATUS] && now - s->asked_ns[STATUS] > PATIENCE_NS) {
		reader_give_up(s->reader, "the daemon has not answered for %.0f s",
			       (double)(now - s->asked_ns[STATUS]) / 1e9);
	}
	r = reader_connect(s->reader);
	if (r != 0) {
		memset(s->asked_ns, 0, sizeof(s->asked_ns));
	}
	for (enum question q = 0; r >= 0 && q < QUESTIONS; q++) {
		if (!s->asked_ns[q]) {
			ask(s, q, now);
		}
	}
	return r >= 0;
}

/* ------------------------------------------------------------------ what is shown */

/* The HV of the module whose rate is `name`, NULL: it has none. */
static const json_t *hv_of(const json_t *parameters, const char *name)
{
	size_t stem = strlen(name) - strlen("rate");
	size_t i;
	const json_t *p;

	json_array_foreach (parameters, i, p) {
		const char *other = json_string_value(json_object_get(p, "name"));

		if (other && strncmp(other, name, stem) == 0 && strcmp(other + stem, "hv") == 0) {
			return p;
		}
	}
	return NULL;
}

static json_t *value_or_null(const json_t *parameter, const char *key)
{
	json_t *value = json_object_get(parameter, key);

	return value ? json_incref(value) : json_null();
}

/* The older one's; null: one of them was never read. */
static json_t *older(const json_t *a, const json_t *b, double answer_s)
{
	const json_t *x = json_object_get(a, "age_s"), *y = json_object_get(b, "age_s");

	return json_is_number(x) && json_is_number(y)
		       ? json_real(fmax(json_number_value(x), json_number_value(y)) + answer_s)
		       : json_null();
}

static json_t *worse_quality(const json_t *a, const json_t *b)
{
	const char *x = json_string_value(json_object_get(a, "quality"));
	bool good = x && strcmp(x, "good") == 0;

	return value_or_null(good && b ? b : a, "quality");
}

/* One object for each module, from its parameters, which came `answer_s` ago. */
static json_t *modules(const json_t *parameters, double answer_s)
{
	json_t *list = json_array();
	size_t i;
	const json_t *p;

	json_array_foreach (parameters, i, p) {
		const char *name =
			i < PARAMETERS_MAX ? json_string_value(json_object_get(p, "name")) : NULL;
		const char *rate = name ? strstr(name, ".rate") : NULL;
		unsigned tower, floor, om;
		const json_t *hv;

		if (!rate || sscanf(name, "tower%u.floor%u.om%u.", &tower, &floor, &om) != 3) {
			continue;
		}
		hv = hv_of(parameters, name);
		json_array_append_new(
			list,
			json_pack("{s:s%,s:o,s:i,s:i,s:i,s:o,s:o,s:o,s:o,s:o}", "name", name,
				  (size_t)(rate - name), "link", value_or_null(p, "link"), "tower",
				  (int)tower, "floor", (int)floor, "om", (int)om, "rate",
				  value_or_null(p, "value"), "hv", value_or_null(hv, "value"),
				  "hv_set", value_or_null(hv, "setpoint"), "quality",
				  worse_quality(p, hv), "age_s", older(p, hv, answer_s)));
	}
	return list;
}

static json_t *text_or_null(const char *text)
{
	return *text ? json_string(text) : json_null();
}

static double seconds_since(uint64_t then_ns)
{
	return then_ns ? (double)(now_mono_ns() - then_ns) / 1e9 : (double)INFINITY;
}

static json_t *age(uint64_t then_ns)
{
	return then_ns ? json_real(seconds_since(then_ns)) : json_null();
}

json_t *station_now(const struct station *s)
{
	const json_t *members = json_object_get(s->answer[MEMBERS], "members");

	return json_pack("{s:f,s:s,s:o,s:o,s:o,s:O?,s:o,s:o,s:o,s:o}", "time",
			 (double)now_utc_ns() / 1e9, "fcmctl", s->fcmctl, "age_s",
			 age(s->answered_ns[STATUS]), "away", text_or_null(reader_away(s->reader)),
			 "do",
			 text_or_null(*reader_away(s->reader) ? reader_action(s->reader) : ""),
			 "status", s->answer[STATUS], "members",
			 members ? json_incref((json_t *)(uintptr_t)members) : json_array(),
			 "members_age_s", age(s->answered_ns[MEMBERS]), "modules",
			 modules(json_object_get(s->answer[MODULES], "parameters"),
				 seconds_since(s->answered_ns[MODULES])),
			 "modules_age_s", age(s->answered_ns[MODULES]));
}

const char *station_monitors(const struct station *s, const char **ret_public_key)
{
	const json_t *data = json_object_get(s->answer[STATUS], "data");
	const char *endpoint = json_string_value(json_object_get(data, "monitors"));

	*ret_public_key = json_string_value(json_object_get(data, "public_key"));
	return endpoint ? endpoint : "";
}

/* ------------------------------------------------------------------ begin and end */

struct station *station_new(struct event_base *base, const struct reader_place *place,
			    void (*news)(void *context), void *context)
{
	struct station *s = calloc(1, sizeof(*s));

	if (s) {
		s->news = news;
		s->context = context;
		s->reader = reader_new(base, place, on_message, s);
		if (place->installed) {
			snprintf(s->fcmctl, sizeof(s->fcmctl), "fcmctl --board %u", place->board);
		} else {
			snprintf(s->fcmctl, sizeof(s->fcmctl), "fcmctl --dir %s", place->dir);
		}
	}
	if (s && !s->reader) {
		free(s);
		s = NULL;
	}
	return s;
}

void station_free(struct station *s)
{
	if (!s) {
		return;
	}
	reader_free(s->reader);
	for (size_t q = 0; q < QUESTIONS; q++) {
		json_decref(s->answer[q]);
	}
	free(s);
}
