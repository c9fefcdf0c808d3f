// SPDX-License-Identifier: GPL-2.0-or-later
/* Parameters as metrics: name, type and help from the dictionary, values and their quality from the daemon. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "slowctl/metrics/private.h"

#define PARAMETERS_MAX 4096u /* of one answer; a board has 541 */

struct metrics_dictionary {
	struct params *params;
	unsigned count;
	const struct param_kind *kinds[]; /* in the order of the file; no actions */
};

/* ------------------------------------------------------------------ the dictionary */

static bool has_kind(const struct metrics_dictionary *d, const struct param_kind *kind)
{
	for (unsigned n = 0; n < d->count; n++) {
		if (d->kinds[n] == kind) {
			return true;
		}
	}
	return false;
}

static int by_line(const void *a, const void *b)
{
	const struct param_kind *const *x = a, *const *y = b;

	return (*x)->line - (*y)->line;
}

int metrics_dictionary_load(const char *path, struct metrics_dictionary **ret_dictionary,
			    struct sc_error *error)
{
	static const struct param_floor floor = {.link = 0, .tower = 1, .floor = 1};
	struct metrics_dictionary *d;
	struct params *params;
	unsigned count;
	int r = params_load(path, &floor, 1, &params, error);

	if (r < 0) {
		return r;
	}
	count = params_count(params);
	d = calloc(1, sizeof(*d) + count * sizeof(const struct param_kind *));
	if (!d) {
		params_destroy(params);
		return param_no_memory(error);
	}
	d->params = params;
	for (unsigned n = 0; n < count; n++) {
		const struct param_kind *kind = params_at(params, n)->kind;

		if (kind->access != PARAM_ACTION && !has_kind(d, kind)) {
			d->kinds[d->count++] = kind;
		}
	}
	qsort((void *)d->kinds, d->count, sizeof(const struct param_kind *), by_line);
	*ret_dictionary = d;
	return 0;
}

void metrics_dictionary_free(struct metrics_dictionary *d)
{
	if (d) {
		params_destroy(d->params);
		free(d);
	}
}

/* ------------------------------------------------------------------ names and units */

/* Units as the dictionary has them, and Prometheus' base units. Dividing keeps decimal fractions exact to the last digit. */
static const struct unit {
	const char *unit, *name;
	double divide, multiply;
} units[] = {
	{"V", "volts", 1, 1},
	{"mV", "volts", 1e3, 1},
	{"V/s", "volts_per_second", 1, 1},
	{"A", "amperes", 1, 1},
	{"mA", "amperes", 1e3, 1},
	{"uA", "amperes", 1e6, 1},
	{"uW", "watts", 1e6, 1},
	{"degC", "celsius", 1, 1},
	{"deg", "degrees", 1, 1},
	{"%", "ratio", 100, 1},
	{"dB", "decibels", 1, 1},
	{"Hz", "hertz", 1, 1},
	{"frames/s", "frames_per_second", 1, 1},
	{"s", "seconds", 1, 1},
	{"ms", "seconds", 1e3, 1},
	{"us", "seconds", 1e6, 1},
	{"ns", "seconds", 1e9, 1},
	{"ps", "seconds", 1e12, 1},
	{"MB", "bytes", 1, 1e6},
};

static const struct unit *unit_of(const struct param_kind *kind)
{
	for (size_t n = 0; n < sizeof(units) / sizeof(units[0]); n++) {
		if (strcmp(units[n].unit, kind->unit) == 0) {
			return &units[n];
		}
	}
	return NULL;
}

/* A unit without a base unit ("counts", "rows") keeps its name, as far as a metric's name may have it. */
static void add_unit(char *name, const char *unit)
{
	size_t n = strlen(name);

	if (*unit && n + 1 < METRICS_NAME_MAX) {
		name[n++] = '_';
	}
	for (; *unit && n + 1 < METRICS_NAME_MAX; unit++) {
		name[n++] =
			strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_",
			       *unit)
				? *unit
				: '_';
	}
	name[n] = '\0';
}

const char *metrics_name(const struct param_kind *kind, bool set, char name[METRICS_NAME_MAX])
{
	const struct unit *unit = unit_of(kind);

	/* "fcm" begins each name; of the floor control module it would be there twice. */
	snprintf(name, METRICS_NAME_MAX, "fcm_%s_%s%s",
		 kind->object == PARAM_FCM ? "floor" : kind->object_name, kind->name,
		 set ? "_set" : "");
	add_unit(name, unit ? unit->name : kind->unit);
	if (kind->counter && !set) {
		add_unit(name, "total");
	}
	return name;
}

double metrics_base(const struct param_kind *kind, double value)
{
	const struct unit *unit = unit_of(kind);

	return unit ? value / unit->divide * unit->multiply : value;
}

/* ------------------------------------------------------------------ the daemon's answer */

struct item {
	const struct param_kind *kind;
	const json_t *parameter;
	struct metrics_labels labels;
	char object[PARAM_NAME_MAX]; /* "tower1.floor3.om2", "link2", "clock" */
	bool seen;
};

struct items {
	unsigned count;
	struct item item[];
};

static const struct param_kind *kind_of(const struct metrics_dictionary *d, const char *object,
					const char *name)
{
	size_t length = strcspn(object, "0123456789");

	for (unsigned n = 0; n < d->count; n++) {
		if (strcmp(d->kinds[n]->name, name) == 0 &&
		    strlen(d->kinds[n]->object_name) == length &&
		    strncmp(d->kinds[n]->object_name, object, length) == 0) {
			return d->kinds[n];
		}
	}
	return NULL;
}

static void add_place(struct metrics_labels *labels, json_int_t link, json_int_t tower,
		      json_int_t floor)
{
	metrics_label_number(labels, "link", link);
	if (floor) {
		metrics_label_number(labels, "tower", tower);
		metrics_label_number(labels, "floor", floor);
	}
}

/* False: it is of no kind of the dictionary, or an action. */
static bool item_of(const struct metrics_dictionary *d, const json_t *status,
		    const json_t *parameter, struct item *i)
{
	const char *name = json_string_value(json_object_get(parameter, "name"));
	const json_t *link = json_object_get(parameter, "link");
	const char *dot = name ? strrchr(name, '.') : NULL;
	char *module;
	json_int_t tower = 0, floor = 0;
	unsigned named_tower, named_floor;

	if (!dot || (size_t)(dot - name) >= sizeof(i->object)) {
		return false;
	}
	memcpy(i->object, name, (size_t)(dot - name));
	module = strrchr(i->object, '.');
	module = module ? module + 1 : i->object;
	i->parameter = parameter;
	i->kind = kind_of(d, module, dot + 1);
	if (!i->kind || !json_is_integer(link)) {
		return i->kind != NULL;
	}
	metrics_floor_of(status, json_integer_value(link), &tower, &floor);
	if (sscanf(name, "tower%u.floor%u.", &named_tower, &named_floor) == 2) {
		tower = (json_int_t)named_tower;
		floor = (json_int_t)named_floor;
	}
	add_place(&i->labels, json_integer_value(link), tower, floor);
	if (i->kind->object == PARAM_OM || i->kind->object == PARAM_HYDROPHONE) {
		metrics_label(&i->labels, "module", module);
	}
	return true;
}

static struct items *items_of(const struct metrics_dictionary *d, const struct metrics_answers *a)
{
	size_t n, count = json_array_size(a->parameters);
	const json_t *parameter;
	struct items *items;

	count = count < PARAMETERS_MAX ? count : PARAMETERS_MAX;
	items = calloc(1, sizeof(*items) + count * sizeof(struct item));
	if (!items) {
		return NULL;
	}
	json_array_foreach (a->parameters, n, parameter) {
		if (n < count && item_of(d, a->status, parameter, &items->item[items->count])) {
			items->count++;
		} else if (n < count) {
			items->item[items->count] = (struct item){0};
		}
	}
	return items;
}

static bool is_good(const json_t *parameter)
{
	const char *quality = json_string_value(json_object_get(parameter, "quality"));

	return quality && strcmp(quality, "good") == 0;
}

/* ------------------------------------------------------------------ samples */

static void write_value(struct metrics_text *t, const struct item *i, const char *key)
{
	const struct param_kind *kind = i->kind;
	const json_t *value = json_object_get(i->parameter, key);
	const char *states[PARAM_ENUM_MAX + 1] = {NULL};

	if (kind->type == PARAM_ENUM && json_is_string(value)) {
		for (unsigned n = 0; n < kind->enum_count; n++) {
			states[n] = kind->enum_names[n];
		}
		metrics_states(t, &i->labels, states, json_string_value(value));
	} else if (json_is_number(value)) {
		metrics_sample(t, &i->labels, metrics_base(kind, json_number_value(value)));
	} else {
		metrics_json(t, &i->labels, value);
	}
}

static const char *help_of(const struct param_kind *kind, bool set, char help[160])
{
	snprintf(help, 160, "%s%s", set ? "set value: " : "", kind->description);
	return help;
}

static void write_kind(struct metrics_text *t, const struct param_kind *kind, bool set,
		       const struct items *items)
{
	char name[METRICS_NAME_MAX], help[160];

	metrics_family(t, metrics_name(kind, set, name),
		       kind->counter ? METRICS_COUNTER : METRICS_GAUGE, help_of(kind, set, help));
	for (unsigned n = 0; n < items->count; n++) {
		const struct item *i = &items->item[n];

		if (i->kind == kind && is_good(i->parameter)) {
			write_value(t, i, set ? "setpoint" : "value");
		}
	}
}

/* ------------------------------------------------------------------ ages */

static const char age_name[] = "fcm_parameters_age_seconds",
		  age_help[] = "age of the oldest value that is read again and again, of an object",
		  out_name[] = "fcm_parameters_left_out",
		  out_help[] =
			  "parameters of an object without a sample: stale, never read, or bad",
		  other_name[] = "fcm_parameters_other",
		  other_help[] =
			  "parameters of the daemon that the dictionary of fcm-page does not have";

/* Of all parameters of the object of item `first`. NaN: no age. */
static double oldest(struct items *items, unsigned first, unsigned *ret_left_out)
{
	double age = NAN;

	*ret_left_out = 0;
	for (unsigned n = first; n < items->count; n++) {
		struct item *i = &items->item[n];
		const json_t *its = json_object_get(i->parameter, "age_s");

		if (strcmp(i->object, items->item[first].object) == 0) {
			i->seen = true;
			*ret_left_out += !is_good(i->parameter);
			age = i->kind->stale_s > 0 && json_is_number(its)
				      ? fmax(age, json_number_value(its))
				      : age;
		}
	}
	return age;
}

/* Ages, or how many are left out: one sample for each object. */
static void write_objects(struct metrics_text *t, struct items *items, bool ages)
{
	unsigned left_out;

	for (unsigned n = 0; n < items->count; n++) {
		items->item[n].seen = false;
	}
	for (unsigned n = 0; n < items->count; n++) {
		struct item *i = &items->item[n];

		if (!i->seen) {
			struct metrics_labels labels = i->labels;
			double age = oldest(items, n, &left_out);

			metrics_label(&labels, "name", i->object);
			metrics_sample(t, &labels, ages ? age : left_out);
		}
	}
}

static size_t actions(const json_t *parameters)
{
	size_t n, count = 0;
	const json_t *p;

	json_array_foreach (parameters, n, p) {
		const char *access = json_string_value(json_object_get(p, "access"));

		count += access && strcmp(access, param_access_names[PARAM_ACTION]) == 0;
	}
	return count;
}

void metrics_parameters(struct metrics_text *t, const struct metrics_dictionary *d,
			const struct metrics_answers *a)
{
	struct items *items = a->parameters ? items_of(d, a) : NULL;

	if (!items) {
		return;
	}
	for (unsigned n = 0; n < d->count; n++) {
		write_kind(t, d->kinds[n], false, items);
		if (d->kinds[n]->access == PARAM_RW) {
			write_kind(t, d->kinds[n], true, items);
		}
	}
	metrics_family(t, age_name, METRICS_GAUGE, age_help);
	write_objects(t, items, true);
	metrics_family(t, out_name, METRICS_GAUGE, out_help);
	write_objects(t, items, false);
	metrics_family(t, other_name, METRICS_GAUGE, other_help);
	metrics_sample(
		t, NULL,
		(double)(json_array_size(a->parameters) - actions(a->parameters) - items->count));
	free(items);
}

/* ------------------------------------------------------------------ the list of them */

static const char *labels_of(const struct param_kind *kind)
{
	static const char *const labels[] = {
		[PARAM_OM] = "link tower floor module",
		[PARAM_HYDROPHONE] = "link tower floor module",
		[PARAM_FCM] = "link tower floor",
		[PARAM_LINK] = "link tower floor",
		[PARAM_SHORE] = "",
	};

	if (kind->type == PARAM_ENUM) {
		return kind->object == PARAM_SHORE ? "state" : "link tower floor state";
	}
	return labels[kind->object];
}

void metrics_parameters_list(const struct metrics_dictionary *d, FILE *out)
{
	char name[METRICS_NAME_MAX], help[160];

	for (unsigned n = 0; n < d->count; n++) {
		const struct param_kind *kind = d->kinds[n];

		for (unsigned set = 0; set < (kind->access == PARAM_RW ? 2u : 1u); set++) {
			metrics_list_line(out, metrics_name(kind, set, name),
					  kind->counter ? METRICS_COUNTER : METRICS_GAUGE,
					  labels_of(kind), help_of(kind, set, help));
		}
	}
	metrics_list_line(out, age_name, METRICS_GAUGE, "link tower floor module name", age_help);
	metrics_list_line(out, out_name, METRICS_GAUGE, "link tower floor module name", out_help);
	metrics_list_line(out, other_name, METRICS_GAUGE, "", other_help);
}
