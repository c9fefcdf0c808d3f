// SPDX-License-Identifier: GPL-2.0-or-later
/* A command of the engine as in schemas/control.md, from memory: without access to the disk. */
#include "daemon/station/station.h"

static json_t *row_value_json(const struct row *row, unsigned n)
{
	const struct row_value *v = &row->values[n];

	switch (v->type) {
	case ROW_INT:
		return json_integer(v->i);
	case ROW_REAL:
		return json_real(v->d);
	case ROW_TEXT:
		return json_string(row->arena + v->text);
	default:
		return json_null();
	}
}

static json_t *words_json(const struct param_kind *k)
{
	json_t *words;

	if (!param_enum_name(k, 0)) {
		return json_null();
	}
	words = json_array();
	for (unsigned value = 0; param_enum_name(k, value); value++) {
		json_array_append_new(words, json_string(param_enum_name(k, value)));
	}
	return words;
}

/* Fields of its first row, by column (schemas/rows.h). */
static const struct {
	const char *key;
	unsigned place;
} begun[] = {{"client_id", 1}, {"who", 3},  {"uid", 4},	  {"pid", 5},	 {"origin", 6},
	     {"reason", 7},    {"link", 8}, {"tower", 9}, {"floor", 10}, {"parameter", 11},
	     {"op", 12},       {"old", 13}, {"new", 14},  {"unit", 15}};

json_t *command_json(struct station *s, const struct engine_command_view *v)
{
	json_t *j = json_pack("{s:I,s:o,s:s,s:s,s:I,s:o}", "command", (json_int_t)v->id, "time",
			      json_time(v->time_ns), "state", command_state_name(v->state),
			      "detail", v->detail, "attempts", (json_int_t)v->attempts, "ended",
			      v->ended ? json_time(v->changed_ns) : json_null());
	struct param *p;

	json_object_set_new(j, "sequence",
			    v->sequence ? json_integer((json_int_t)v->sequence) : json_null());
	json_object_set_new(j, "boot", v->boot ? json_integer((json_int_t)v->boot) : json_null());
	for (unsigned n = 0; v->row && n < sizeof(begun) / sizeof(begun[0]); n++) {
		json_object_set_new(j, begun[n].key, row_value_json(v->row, begun[n].place));
	}
	if (params_find(s->params, v->parameter, &p, NULL) == 0) {
		json_object_set_new(j, "words", words_json(p->kind));
	}
	return j;
}
