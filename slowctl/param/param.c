/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parameters: the kinds of the dictionary made into the parameters of the configured floors, links and
 * of the shore; looked up by name, given values, asked for their quality. See param.h.
 */
#include "slowctl/param/private.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "slowctl/param/edits.h"
#include "slowctl/param/number.h"
#include "tdm/frame.h"
#include "tdm/registers.h"

/* ------------------------------------------------------------------ making the table */

/* The parameters of one object (om2, fcm, link1, clock) in the order of the dictionary. */
static int add_object(struct params *p, enum param_object object, const struct param_floor *f,
		      unsigned index, uint8_t module)
{
	bool numbered = object != PARAM_FCM && object != PARAM_SHORE;
	bool on_floor = f && object != PARAM_LINK;
	char floor[32] = "", number[12] = "";

	if (on_floor) {
		snprintf(floor, sizeof(floor), "tower%u.floor%u.", f->tower, f->floor);
	}
	if (numbered) {
		snprintf(number, sizeof(number), "%u", index);
	}
	for (unsigned i = 0; i < p->kind_count; i++) {
		const struct param_kind *k = &p->kinds[i];
		struct param *param = &p->table[p->count];

		if (k->object != object) {
			continue;
		}
		*param = (struct param){.kind = k,
					.link = f ? f->link : -1,
					.tower = on_floor ? f->tower : 0,
					.floor = on_floor ? f->floor : 0,
					.index = (uint8_t)index,
					.module = module,
					.number = p->count++};
		if (snprintf(param->name, sizeof(param->name), "%s%s%s.%s", floor, k->object_name,
			     number, k->name) >= (int)sizeof(param->name)) {
			return -ENAMETOOLONG;
		}
	}
	return 0;
}

static int add_floor(struct params *p, const struct param_floor *f)
{
	int r = add_object(p, PARAM_FCM, f, 0, WORD_MODULE_FCM);

	for (unsigned m = 0; m < PARAM_OM_COUNT && r == 0; m++) {
		r = add_object(p, PARAM_OM, f, m, (uint8_t)m);
	}
	for (unsigned h = 0; h < PARAM_HYDROPHONE_COUNT && r == 0; h++) {
		r = add_object(p, PARAM_HYDROPHONE, f, h, (uint8_t)(REG_MODULE_HYDROPHONE + h));
	}
	return r;
}

static int check_floors(const struct param_floor *floors, unsigned count, struct sc_error *error)
{
	for (unsigned i = 0; i < count; i++) {
		const struct param_floor *f = &floors[i];

		if (f->link >= PARAM_LINKS || f->tower == 0 || f->floor == 0) {
			return sc_fail(error, -EINVAL, "configuration",
				       "Links are 0 to 3, towers and floors count from 1.",
				       "link %u: tower %u floor %u cannot be", f->link, f->tower,
				       f->floor);
		}
		for (unsigned j = 0; j < i; j++) {
			if (floors[j].link == f->link ||
			    (floors[j].tower == f->tower && floors[j].floor == f->floor)) {
				return sc_fail(error, -EINVAL, "configuration",
					       "Each link has one floor, each floor one link.",
					       "link %u and link %u: a link or tower %u floor %u "
					       "is configured twice",
					       floors[j].link, f->link, f->tower, f->floor);
			}
		}
	}
	return 0;
}

static int fill(struct params *p, const struct param_floor *floors, unsigned count)
{
	const unsigned objects = count * (1 + PARAM_OM_COUNT + PARAM_HYDROPHONE_COUNT + 1) + 1;
	int r = 0;

	p->table =
		calloc((size_t)objects * p->kind_count, sizeof(*p->table)); /* more than needed */
	if (!p->table) {
		return -ENOMEM;
	}
	for (unsigned i = 0; i < count && r == 0; i++) {
		r = add_floor(p, &floors[i]);
	}
	for (unsigned i = 0; i < count && r == 0; i++) {
		r = add_object(p, PARAM_LINK, &floors[i], floors[i].link, 0);
	}
	return r == 0 ? add_object(p, PARAM_SHORE, NULL, 0, 0) : r;
}

int params_load(const char *path, const struct param_floor *floors, unsigned floor_count,
		struct params **ret_params, struct sc_error *error)
{
	struct params *p = calloc(1, sizeof(*p));
	int r;

	if (!p) {
		return param_no_memory(error);
	}
	r = param_load_kinds(path, p, error);
	r = r == 0 ? check_floors(floors, floor_count, error) : r;
	if (r == 0) {
		r = fill(p, floors, floor_count);
		if (r < 0) {
			sc_fail(error, r, "memory", "", "parameters: %s", strerror(-r));
		}
	}
	if (r < 0) {
		params_destroy(p);
		return r;
	}
	*ret_params = p;
	return 0;
}

void params_destroy(struct params *p)
{
	struct param_own *own;

	if (!p) {
		return;
	}
	while ((own = p->own)) {
		p->own = own->next;
		free(own);
	}
	free(p->kinds);
	free(p->table);
	free(p);
}

unsigned params_count(const struct params *p)
{
	return p->count;
}

struct param *params_at(struct params *p, unsigned number)
{
	return number < p->count ? &p->table[number] : NULL;
}

/* ------------------------------------------------------------------ look-up */

/* The name without its tower; the name itself where it has none. */
static const char *short_name(const struct param *param)
{
	return param->tower ? strchr(param->name, '.') + 1 : param->name;
}

/* Another number is another floor or module: that is no slip of a letter, and is not guessed. */
static bool same_numbers(const char *a, const char *b)
{
	static const char digits[] = "0123456789";

	for (;;) {
		a += strcspn(a, digits);
		b += strcspn(b, digits);
		size_t n = strspn(a, digits);

		if (n != strspn(b, digits) || strncmp(a, b, n) != 0) {
			return false;
		}
		if (n == 0) {
			return true;
		}
		a += n;
		b += n;
	}
}

/* How far a typed name is from one that there is; UINT_MAX: it means another thing. */
static unsigned distance(const char *typed, const char *name)
{
	return same_numbers(typed, name) ? edits(typed, name) : UINT_MAX;
}

static const char *nearest(const struct params *p, const char *name)
{
	const char *best = NULL;
	unsigned least = 5;

	if (strlen(name) >= PARAM_NAME_MAX) {
		return NULL;
	}
	for (unsigned i = 0; i < p->count; i++) {
		const struct param *param = &p->table[i];
		unsigned full = distance(name, param->name);
		unsigned brief = distance(name, short_name(param));

		if (full < least || brief < least) {
			least = full < brief ? full : brief;
			best = full < brief ? param->name : short_name(param);
		}
	}
	return best;
}

/* "The floors here: tower1.floor1 tower1.floor2", when the name is of a floor that there is not. False: it is not. */
static bool floors_hint(const struct params *p, const char *name, char *buf, size_t size)
{
	unsigned floor, tower = 0;
	size_t used;

	if (sscanf(name, "tower%u.floor%u", &tower, &floor) != 2 &&
	    sscanf(name, "floor%u", &floor) != 1) {
		return false;
	}
	used = (size_t)snprintf(buf, size, "The floors here:");
	for (unsigned i = 0; i < p->count; i++) {
		const struct param *q = &p->table[i], *before = i > 0 ? q - 1 : NULL;

		if (!q->floor ||
		    (before && before->tower == q->tower && before->floor == q->floor)) {
			continue;
		}
		if (q->floor == floor && (tower == 0 || q->tower == tower)) {
			return false;
		}
		if (used < size) {
			used += (size_t)snprintf(buf + used, size - used, " tower%u.floor%u",
						 q->tower, q->floor);
		}
	}
	return true;
}

static int not_found(const struct params *p, const char *name, struct sc_error *error)
{
	const char *near = error ? nearest(p, name) : NULL;
	char hint[128];

	if (strpbrk(name, "*?[")) {
		snprintf(hint, sizeof(hint),
			 "* stays between dots: floor*.om*.trip, floor3.*, link*.phase.");
	} else if (near) {
		snprintf(hint, sizeof(hint), "Did you mean %s?", near);
	} else if (!floors_hint(p, name, hint, sizeof(hint))) {
		snprintf(hint, sizeof(hint),
			 "Names are like floor3.om2.hv, link2.phase, clock.state.");
	}
	return sc_fail(error, -ENOENT, "no-such-parameter", hint, "there is no parameter %.80s",
		       name);
}

int params_find(struct params *p, const char *name, struct param **ret_param,
		struct sc_error *error)
{
	struct param *found = NULL;

	for (unsigned i = 0; i < p->count; i++) {
		struct param *param = &p->table[i];

		if (strcmp(param->name, name) == 0) {
			*ret_param = param;
			return 0;
		}
		if (param->tower && strcmp(short_name(param), name) == 0) {
			if (found) {
				return sc_fail(error, -ENOTUNIQ, "ambiguous", "Say the tower.",
					       "%.80s may be %s or %s", name, found->name,
					       param->name);
			}
			found = param;
		}
	}
	if (!found) {
		return not_found(p, name, error);
	}
	*ret_param = found;
	return 0;
}

struct param *params_sibling(struct params *p, const struct param *param, const char *name)
{
	for (unsigned i = 0; i < p->count; i++) {
		struct param *q = &p->table[i];

		if (q->kind->object == param->kind->object && q->index == param->index &&
		    q->tower == param->tower && q->floor == param->floor &&
		    strcmp(q->kind->object_name, param->kind->object_name) == 0 &&
		    strcmp(q->kind->name, name) == 0) {
			return q;
		}
	}
	return NULL;
}

/* ------------------------------------------------------------------ values */

void param_put(struct param *p, double value, int64_t utc_ns, uint64_t mono_ns)
{
	if (!isfinite(value)) {
		param_put_bad(p);
		return;
	}
	limits_see(&p->kind->limits, &p->beyond, value, mono_ns);
	p->value = value;
	p->has_value = true;
	p->bad = false;
	p->time_ns = utc_ns;
	p->mono_ns = mono_ns;
}

void param_put_raw(struct param *p, int32_t raw, int64_t utc_ns, uint64_t mono_ns)
{
	p->raw = raw;
	param_put(p, param_from_raw(p->kind, raw), utc_ns, mono_ns);
}

/* Where the telemetry has a register's value: 32 bits, as READ would answer. */
static int32_t telemetry_of(const struct tdm_telemetry *t, int reg)
{
#define AT(field) (offsetof(struct tdm_telemetry, field) + 1)
	static const size_t places[256] = {
		[REG_FCM_TEMPERATURE] = AT(temperature_mc),
		[REG_FCM_HUMIDITY] = AT(humidity_ppm),
		[REG_FCM_SUPPLY] = AT(supply_mv),
		[REG_FCM_CURRENT] = AT(current_ma),
		[REG_FCM_HEADING] = AT(heading_mdeg),
		[REG_FCM_PITCH] = AT(pitch_mdeg),
		[REG_FCM_ROLL] = AT(roll_mdeg),
		[REG_FCM_BOOT_COUNT] = AT(boot_count),
		[REG_FCM_UPTIME] = AT(uptime_s),
		[REG_FCM_POWER_MASK] = AT(power_mask),
		[REG_FCM_EXECUTED] = AT(executed),
		[REG_FCM_REJECTED] = AT(rejected),
		[REG_FCM_RX_POWER] = AT(rx_power_nw),
	};
#undef AT
	size_t place = places[(uint8_t)reg];
	int32_t value = 0;

	memcpy(&value, (const char *)t + (place ? place - 1 : 0), place ? sizeof(value) : 0);
	return value;
}

void param_put_telemetry(struct param *p, const struct tdm_telemetry *telemetry, int64_t utc_ns,
			 uint64_t mono_ns)
{
	param_put_raw(p, telemetry_of(telemetry, p->kind->reg), utc_ns, mono_ns);
}

void param_put_bad(struct param *p)
{
	p->bad = true;
}

void param_put_setpoint(struct param *p, double setpoint, uint64_t mono_ns)
{
	if (setpoint != p->setpoint) {
		p->by.who[0] = '\0';
	}
	p->setpoint = setpoint;
	p->has_setpoint = true;
	p->setpoint_ns = mono_ns;
}

/* Stale after the same time as a value of its kind. */
bool param_setpoint_good(const struct param *p, uint64_t mono_ns)
{
	double age_s = mono_ns > p->setpoint_ns ? (double)(mono_ns - p->setpoint_ns) / 1e9 : 0;

	return p->has_setpoint && !p->bad && (p->kind->stale_s <= 0 || age_s <= p->kind->stale_s);
}

enum param_quality param_quality(const struct param *p, uint64_t mono_ns)
{
	if (p->bad) {
		return PARAM_BAD;
	}
	if (!p->has_value) {
		return PARAM_NEVER;
	}
	return p->kind->stale_s > 0 && param_age_s(p, mono_ns) > p->kind->stale_s ? PARAM_STALE
										  : PARAM_GOOD;
}

double param_age_s(const struct param *p, uint64_t mono_ns)
{
	if (!p->has_value) {
		return -1;
	}
	return mono_ns > p->mono_ns ? (double)(mono_ns - p->mono_ns) / 1e9 : 0;
}

enum limits_level param_level(const struct param *p, uint64_t mono_ns)
{
	switch (param_quality(p, mono_ns)) {
	case PARAM_GOOD:
		return limits_level(&p->kind->limits, &p->beyond, p->mono_ns);
	case PARAM_STALE:
	case PARAM_BAD:
		return limits_level(&p->kind->limits, &p->beyond, mono_ns);
	default:
		return LEVEL_NORMAL;
	}
}

int32_t param_to_raw(const struct param_kind *k, double value)
{
	double raw = round(value / k->scale);

	if (raw <= INT32_MIN) {
		return INT32_MIN;
	}
	return raw >= INT32_MAX ? INT32_MAX : (int32_t)raw;
}

double param_from_raw(const struct param_kind *k, int32_t raw)
{
	/* 14500 x 0.1 is 1450.0000000000002; divide by the inverse where that is whole. */
	double inverse = round(1 / k->scale);
	double whole = k->counter ? (double)(uint32_t)raw : (double)raw;

	return fabs(k->scale * inverse - 1) < 1e-12 ? whole / inverse : whole * k->scale;
}

const char *param_enum_name(const struct param_kind *k, double value)
{
	if (k->type == PARAM_BOOL) {
		return value == 0 ? "off" : value == 1 ? "on" : NULL;
	}
	if (k->type != PARAM_ENUM || !(value >= 0) || value >= k->enum_count ||
	    value != floor(value)) {
		return NULL;
	}
	return k->enum_names[(unsigned)value];
}

/* Digits behind the point that the register can tell apart. */
static int digits_of(const struct param_kind *k)
{
	int digits = (int)ceil(-log10(k->scale) - 1e-9);

	if (k->source == PARAM_DAEMON) {
		return 3;
	}
	return digits < 0 ? 0 : digits > 6 ? 6 : digits;
}

const char *param_format(const struct param *p, double value, char *buf, size_t size)
{
	const char *name = param_enum_name(p->kind, value);

	if (isnan(value)) {
		snprintf(buf, size, "-");
	} else if (name) {
		snprintf(buf, size, "%s", name);
	} else if (p->kind->type == PARAM_FLOAT) {
		snprintf(buf, size, "%.*f", digits_of(p->kind), value);
	} else {
		snprintf(buf, size, "%.0f", value);
	}
	return buf;
}

const char *param_text(const struct param *p, double value, char *buf, size_t size)
{
	const char *unit = isnan(value) ? "" : p->kind->unit;
	char number[32];

	snprintf(buf, size, "%s%s%s", param_format(p, value, number, sizeof(number)),
		 *unit ? " " : "", unit);
	return buf;
}

/* "above 40.000" */
static void passed_text(const struct param *p, enum limits_level level, double value, char *text,
			size_t size)
{
	const struct limits *l = &p->kind->limits;
	double passed = limits_passed(l, level, value);
	bool low = passed == (level == LEVEL_ALARM ? l->alarm_min : l->warn_min);
	bool inside = low ? value >= passed : value <= passed;
	char limit[32];

	snprintf(text, size, "%s %s",
		 inside ? "not yet well inside"
		 : low	? "below"
			: "above",
		 param_format(p, passed, limit, sizeof(limit)));
}

/* "; at worst 62.287, above 40.000": the text stays when the value is well again. "": it is the worst one. */
static void worst_text(const struct param *p, char *text, size_t size)
{
	double worst = p->beyond.worst;
	char v[32], passed[64];

	*text = '\0';
	if (worst != p->value) {
		passed_text(p, limits_beyond(&p->kind->limits, worst), worst, passed,
			    sizeof(passed));
		snprintf(text, size, "; at worst %s, %s", param_format(p, worst, v, sizeof(v)),
			 passed);
	}
}

void param_level_text(const struct param *p, enum limits_level level, uint64_t mono_ns, char *text,
		      size_t size)
{
	enum param_quality quality = param_quality(p, mono_ns);
	const char *is = quality == PARAM_GOOD ? "is" : "was";
	char v[32], passed[64], worst[120];
	size_t used;

	param_format(p, p->value, v, sizeof(v));
	if (p->kind->type == PARAM_BOOL || p->kind->type == PARAM_ENUM) {
		snprintf(text, size, "%s %s %s: %s", p->name, is, v, p->kind->description);
	} else {
		passed_text(p, level, p->value, passed, sizeof(passed));
		worst_text(p, worst, sizeof(worst));
		snprintf(text, size, "%s %s %s %s, %s%s", p->name, is, v, p->kind->unit, passed,
			 worst);
	}
	used = strlen(text);
	if (quality != PARAM_GOOD && used < size) {
		snprintf(text + used, size - used, " (%s for %.0f s%s)",
			 quality == PARAM_BAD ? "unknown" : "not read", param_age_s(p, mono_ns),
			 quality == PARAM_BAD ? ": it cannot be measured" : "");
	}
}

static int parse_word(const struct param_kind *k, const char *text, double *ret_value)
{
	static const struct {
		const char *word;
		double value;
	} words[] = {{"on", 1}, {"off", 0}, {"true", 1}, {"false", 0}, {"yes", 1}, {"no", 0}};

	for (size_t i = 0; k->type == PARAM_BOOL && i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcasecmp(words[i].word, text) == 0) {
			*ret_value = words[i].value;
			return 0;
		}
	}
	for (unsigned i = 0; i < k->enum_count; i++) {
		if (strcasecmp(k->enum_names[i], text) == 0) {
			*ret_value = i;
			return 0;
		}
	}
	return -EINVAL;
}

/* A unit, right or wrong, or nothing. */
static bool is_unit(const char *text)
{
	return !*text || *text == '%' || isalpha((unsigned char)*text);
}

int param_parse(const struct param *p, const char *text, double *ret_value, struct sc_error *error)
{
	const struct param_kind *k = p->kind;
	const char *end;
	double value;

	if (parse_word(k, text, ret_value) == 0) {
		return 0;
	}
	end = text;
	if (number_parse(text, &value, &end) == 0) {
		end += strspn(end, " \t");
	}
	if (end == text || !is_unit(end)) {
		return sc_fail(
			error, -EINVAL, "not-a-value",
			k->type == PARAM_BOOL ? "Say on or off."
					      : "Give a decimal number, with its unit if you like.",
			"%s: \"%.40s\" is no %s value", p->name, text, param_type_names[k->type]);
	}
	if (*end && strcmp(end, k->unit) != 0) {
		char hint[64];

		snprintf(hint, sizeof(hint), "Its unit is %s.", k->unit[0] ? k->unit : "none");
		return sc_fail(error, -EINVAL, "wrong-unit", hint,
			       "%s: \"%.40s\" is in another unit", p->name, text);
	}
	if (k->type != PARAM_FLOAT && value != floor(value)) {
		return sc_fail(error, -EINVAL, "not-a-value", "Give a whole number.",
			       "%s takes whole numbers, not %.40s", p->name, text);
	}
	*ret_value = value;
	return 0;
}

static int out_of(const struct param *p, double value, const char *which, double low, double high,
		  const char *hint, struct sc_error *error)
{
	char v[32], a[32], b[32];

	return sc_fail(error, -ERANGE, "out-of-range", hint,
		       "%s = %s %s is outside its %s %s..%s %s", p->name,
		       param_format(p, value, v, sizeof(v)), p->kind->unit, which,
		       param_format(p, low, a, sizeof(a)), param_format(p, high, b, sizeof(b)),
		       p->kind->unit);
}

int param_check_set(const struct param *p, double value, bool force, struct sc_error *error)
{
	const struct param_kind *k = p->kind;

	if (k->access != PARAM_RW) {
		return sc_fail(error, -EACCES, "read-only",
			       k->access == PARAM_ACTION
				       ? "It is an action: it takes no value."
				       : "It can be read only: fcmctl get shows it.",
			       "%s cannot be set", p->name);
	}
	if (!isfinite(value) || (k->type != PARAM_FLOAT && value != floor(value))) {
		return sc_fail(error, -EINVAL, "not-a-value", "Give a number.",
			       "%s takes %s values", p->name, param_type_names[k->type]);
	}
	if (k->scale == 1 && value != floor(value)) {
		return sc_fail(error, -EINVAL, "not-a-value", "Give a whole number.",
			       "%s has steps of 1 %s", p->name, k->unit);
	}
	if ((k->type == PARAM_BOOL || k->type == PARAM_ENUM) && !param_enum_name(k, value)) {
		return sc_fail(error, -ERANGE, "out-of-range",
			       k->type == PARAM_BOOL ? "Say on or off." : "Give one of its names.",
			       "%s has no value %.0f", p->name, value);
	}
	if (value < k->hard_min || value > k->hard_max) {
		return out_of(p, value, "hardware's range", k->hard_min, k->hard_max,
			      "The hardware would refuse it: choose a value inside.", error);
	}
	if (!force && (value < k->soft_min || value > k->soft_max)) {
		return out_of(p, value, "soft limits", k->soft_min, k->soft_max,
			      "Choose a value inside; an expert may go beyond with --force.",
			      error);
	}
	return 0;
}
