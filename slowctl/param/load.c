/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The parameter dictionary from its file: libinih cuts lines, a typed table says which keys there are,
 * a check at the end says what does not fit together. Every error names file and line.
 */
#include "slowctl/param/private.h"

#include <ctype.h>
#include <errno.h>
#include <ini.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "slowctl/param/number.h"

#define LINE_MAX_BYTES 197 /* libinih cuts longer lines in two without a word */
#define HINT	       "Correct the parameter dictionary; schemas/README.md explains its keys."

int param_no_memory(struct sc_error *error)
{
	return sc_fail(error, -ENOMEM, "memory", "", "out of memory");
}

int param_file_complain(struct param_file *f, int line, const char *format, ...)
{
	char text[240];
	va_list args;

	if (f->result < 0) { /* the first error is the one to read */
		return f->result;
	}
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	f->result =
		sc_fail(f->error, -EINVAL, "dictionary", HINT, "%s:%d: %s", f->path, line, text);
	return f->result;
}

/* ------------------------------------------------------------------ values of keys */

/* A key of the dictionary: where its value belongs in struct param_kind. */
struct key {
	const char *name;
	const struct key_type *type;
	size_t offset, size;
	bool hardware; /* not a site's to change */
};

/* A type of values. `read` puts the value in its place; negative: it is not what it `wants`. */
struct key_type {
	const char *wants; /* what a good value looks like, for the error */
	int (*read)(void *place, const struct key *key, const char *value);
	const char *const *names; /* of an enumeration; else NULL */
};

static int read_number(void *place, const struct key *key, const char *value)
{
	const char *end;
	double number;

	if (number_parse(value, &number, &end) < 0 || *end) {
		return -EINVAL;
	}
	*(double *)place = number;
	return 0;
}

static int read_positive(void *place, const struct key *key, const char *value)
{
	return read_number(place, key, value) < 0 || *(double *)place < 0 ? -EINVAL : 0;
}

static int read_factor(void *place, const struct key *key, const char *value)
{
	return read_positive(place, key, value) < 0 || *(double *)place == 0 ? -EINVAL : 0;
}

static int read_text(void *place, const struct key *key, const char *value)
{
	if (strlen(value) >= key->size) {
		return -E2BIG;
	}
	strcpy(place, value); /* it fits: just measured */
	return 0;
}

static int read_name(void *place, const struct key *key, const char *value)
{
	for (int i = 0; key->type->names[i]; i++) {
		if (strcmp(key->type->names[i], value) == 0) {
			*(int *)place = i;
			return 0;
		}
	}
	return -EINVAL;
}

static int read_yes(void *place, const struct key *key, const char *value)
{
	*(bool *)place = strcmp(value, "yes") == 0;
	return *(bool *)place || strcmp(value, "no") == 0 ? 0 : -EINVAL;
}

static int read_register(void *place, const struct key *key, const char *value)
{
	double number;

	if (read_positive(&number, key, value) < 0 || number != floor(number) || number > 255) {
		return -EINVAL;
	}
	*(int *)place = (int)number;
	return 0;
}

/* "0..2000", "..45", "500.." */
static int read_range(void *place, const struct key *key, const char *value)
{
	char text[64];
	char *dots, *high;
	double bounds[2] = {-INFINITY, INFINITY};

	if (strlen(value) >= sizeof(text)) {
		return -E2BIG;
	}
	strcpy(text, value);
	dots = strstr(text, "..");
	if (!dots) {
		return -EINVAL;
	}
	*dots = 0;
	high = dots + 2;
	if ((text[0] && read_number(&bounds[0], key, text) < 0) ||
	    (high[0] && read_number(&bounds[1], key, high) < 0) || bounds[0] > bounds[1]) {
		return -EINVAL;
	}
	memcpy(place, bounds, sizeof(bounds));
	return 0;
}

/* "10 40" */
static int read_order(void *place, const struct key *key, const char *value)
{
	double *steps = place;
	int end = 0;
	unsigned lower, raise;

	if (sscanf(value, "%3u %3u%n", &lower, &raise, &end) != 2 || value[end] ||
	    strchr(value, '-')) {
		return -EINVAL;
	}
	steps[0] = lower;
	steps[1] = raise;
	return 0;
}

static int read_enums(void *place, const struct key *key, const char *value)
{
	struct param_kind *k = place;
	char text[200];
	char *save = NULL;

	if (strlen(value) >= sizeof(text)) {
		return -E2BIG;
	}
	strcpy(text, value);
	for (char *w = strtok_r(text, " ,", &save); w; w = strtok_r(NULL, " ,", &save)) {
		if (k->enum_count == PARAM_ENUM_MAX || strlen(w) >= sizeof(k->enum_names[0])) {
			return -E2BIG;
		}
		strcpy(k->enum_names[k->enum_count++], w);
	}
	return k->enum_count > 0 ? 0 : -EINVAL;
}

const char *const param_type_names[] = {"float", "int", "bool", "enum", NULL};
const char *const param_access_names[] = {"ro", "rw", "action", NULL};
const char *const param_danger_names[] = {"safe", "careful", "dangerous", NULL};
const char *const param_quality_names[] = {"never", "good", "stale", "bad", NULL};
static const char *const source_names[] = {"poll", "telemetry", "daemon", NULL};

static const struct key_type text_type = {"a text (this one is too long)", read_text};
static const struct key_type type_type = {"float, int, bool or enum", read_name, param_type_names};
static const struct key_type access_type = {"ro, rw or action", read_name, param_access_names};
static const struct key_type source_type = {"poll, telemetry or daemon", read_name, source_names};
static const struct key_type danger_type = {"safe, careful or dangerous", read_name,
					    param_danger_names};
static const struct key_type register_type = {"a register number, 0 to 255", read_register};
static const struct key_type range_type = {"a range: LOW..HIGH, ..HIGH or LOW..", read_range};
static const struct key_type factor_type = {"a number other than 0", read_factor};
static const struct key_type positive_type = {"a number from 0 on", read_positive};
static const struct key_type order_type = {"two numbers from 0 on: of lowering it, of raising it",
					   read_order};
static const struct key_type yes_type = {"yes or no", read_yes};
static const struct key_type number_type = {"a number", read_number};
static const struct key_type enums_type = {"up to 16 words of up to 23 bytes", read_enums};

#define AT(field)   offsetof(struct param_kind, field)
#define SIZE(field) sizeof(((struct param_kind *)0)->field)

static const struct key keys[] = {
	{"description", &text_type, AT(description), SIZE(description)},
	{"unit", &text_type, AT(unit), SIZE(unit), true},
	{"type", &type_type, AT(type), 0, true},
	{"access", &access_type, AT(access), 0, true},
	{"source", &source_type, AT(source), 0, true},
	{"danger", &danger_type, AT(danger), 0},
	{"register", &register_type, AT(reg), 0, true},
	{"readback", &register_type, AT(readback_reg), 0, true},
	{"scale", &factor_type, AT(scale), 0, true},
	{"range", &range_type, AT(hard_min), 0, true},
	{"soft", &range_type, AT(soft_min), 0},
	{"warn", &range_type, AT(limits.warn_min), 0},
	{"alarm", &range_type, AT(limits.alarm_min), 0},
	{"hysteresis", &positive_type, AT(limits.hysteresis), 0},
	{"delay", &positive_type, AT(limits.delay_s), 0},
	{"latch", &yes_type, AT(latch), 0},
	{"tolerance", &positive_type, AT(tolerance), 0},
	{"settle", &positive_type, AT(settle_s), 0},
	{"settle_by", &text_type, AT(settle_by), SIZE(settle_by), true},
	{"see", &text_type, AT(see), SIZE(see), true},
	{"needs", &text_type, AT(needs), SIZE(needs), true},
	{"powered_by", &text_type, AT(powered_by), SIZE(powered_by), true},
	{"safest", &number_type, AT(safest), 0, true},
	{"optional", &yes_type, AT(optional), 0, true},
	{"moves", &text_type, AT(moves), SIZE(moves), true},
	{"order", &order_type, AT(order_lower), 0},
	{"poll", &positive_type, AT(poll_s), 0},
	{"stale", &positive_type, AT(stale_s), 0},
	{"history", &positive_type, AT(history_s), 0},
	{"deadband", &positive_type, AT(deadband), 0},
	{"on_alarm", &text_type, AT(on_alarm), SIZE(on_alarm)},
	{"values", &enums_type, 0, 0, true},
	{"counter", &yes_type, AT(counter), 0, true},
};
#define KEYS (sizeof(keys) / sizeof(keys[0]))
_Static_assert(KEYS <= 64, "a bit for each");

_Static_assert(AT(hard_max) == AT(hard_min) + sizeof(double), "a range is a pair");
_Static_assert(AT(soft_max) == AT(soft_min) + sizeof(double), "a range is a pair");
_Static_assert(AT(order_raise) == AT(order_lower) + sizeof(double), "an order is a pair");
_Static_assert(AT(limits.warn_max) == AT(limits.warn_min) + sizeof(double), "a range is a pair");
_Static_assert(AT(limits.alarm_max) == AT(limits.alarm_min) + sizeof(double), "a range is a pair");
_Static_assert(sizeof(enum param_type) == sizeof(int), "read_name() writes an int");

static const struct key *key_named(const char *name)
{
	for (const struct key *key = keys; key < keys + KEYS; key++) {
		if (strcmp(key->name, name) == 0) {
			return key;
		}
	}
	return NULL;
}

static uint64_t key_bit(const struct key *key)
{
	return 1ull << (unsigned)(key - keys);
}

/* ------------------------------------------------------------------ checks */

static bool kind_has(const struct params *p, const char *object, const char *name)
{
	for (unsigned i = 0; i < p->kind_count; i++) {
		if (strcmp(p->kinds[i].object_name, object) == 0 &&
		    strcmp(p->kinds[i].name, name) == 0) {
			return true;
		}
	}
	return false;
}

static bool on_floor(const struct param_kind *k)
{
	return k->object == PARAM_OM || k->object == PARAM_HYDROPHONE || k->object == PARAM_FCM;
}

/* A sibling that a key names, or none is named. */
static bool sibling_fits(const struct params *p, const struct param_kind *k, const char *name)
{
	return !name[0] || kind_has(p, k->object_name, name);
}

/* What a kind misses or has too much; NULL: nothing. */
static const char *kind_fault(const struct params *p, const struct param_kind *k)
{
	bool rw = k->access == PARAM_RW, action = k->access == PARAM_ACTION, floor = on_floor(k);
	bool limits = limits_given(&k->limits);
	const struct {
		bool is;
		const char *fault;
	} faults[] = {
		{!k->description[0], "has no description"},
		{(k->type == PARAM_ENUM) != (k->enum_count > 0),
		 "values belong to type = enum, and it needs them"},
		{floor == (k->source == PARAM_DAEMON),
		 "source: poll or telemetry on a floor, daemon on the shore"},
		{floor && k->reg < 0, "has no register"},
		{!floor && k->access != PARAM_RO, "only floors have registers to write"},
		{rw && k->type == PARAM_FLOAT && !(isfinite(k->hard_min) && isfinite(k->hard_max)),
		 "a register to write needs its hardware's range"},
		{rw && k->source != PARAM_POLLED, "a register to write is polled"},
		{rw && k->settle_s == 0, "needs a settle time"},
		{action && (k->readback_reg < 0 || k->settle_s == 0),
		 "an action names the counter that proves it (readback) and a settle time"},
		{action && k->poll_s > 0, "an action has no value to poll"},
		{(isfinite(k->soft_min) && k->soft_min < k->hard_min) ||
			 (isfinite(k->soft_max) && k->soft_max > k->hard_max),
		 "soft limits lie outside the hardware's range"},
		{!sibling_fits(p, k, k->settle_by), "settle_by names no kind of the same object"},
		{!sibling_fits(p, k, k->see), "see names no kind of the same object"},
		{k->needs[0] && (k->access == PARAM_RO || !sibling_fits(p, k, k->needs)),
		 "needs: of what can be written, and names a kind of the same object"},
		{k->powered_by[0] && (!rw || !sibling_fits(p, k, k->powered_by)),
		 "powered_by: of what can be set, and names a kind of the same object"},
		{!isnan(k->safest) && (!rw || k->safest < k->hard_min || k->safest > k->hard_max),
		 "safest: of what can be set, inside its range"},
		{k->optional && k->source != PARAM_POLLED, "optional: of what is polled"},
		{!sibling_fits(p, k, k->moves), "moves names no kind of the same object"},
		{limits && !k->on_alarm[0], "has limits, but on_alarm does not say what to do"},
		{k->counter && (k->type != PARAM_INT || k->access != PARAM_RO),
		 "a counter is an int that cannot be written"},
		{!limits && k->latch, "latch belongs to alarm or warn, and it has neither"},
		{k->limits.hysteresis > 0 && (k->type == PARAM_BOOL || k->type == PARAM_ENUM),
		 "hysteresis is for numbers: a switch is on or off"},
	};

	for (size_t n = 0; n < sizeof(faults) / sizeof(faults[0]); n++) {
		if (faults[n].is) {
			return faults[n].fault;
		}
	}
	return limits_fault(&k->limits);
}

/* What was left out is made from what was given. */
static void kind_complete(struct param_kind *k)
{
	if (k->readback_reg < 0) {
		k->readback_reg = k->reg;
	}
	if (k->access == PARAM_RW) {
		k->soft_min = isfinite(k->soft_min) ? k->soft_min : k->hard_min;
		k->soft_max = isfinite(k->soft_max) ? k->soft_max : k->hard_max;
	}
	if (k->access == PARAM_RW && k->tolerance == 0) {
		k->tolerance = k->type == PARAM_FLOAT ? k->scale / 2 : 0;
	}
	if (!(k->given & key_bit(key_named("stale")))) {
		k->stale_s = k->source == PARAM_TELEMETRY ? 5 : 3 * k->poll_s;
	}
}

static void kind_finish(struct param_file *f, struct param_kind *k, const char *section)
{
	const char *fault = kind_fault(f->params, k);

	if (fault) {
		param_file_complain(f, k->line, "[%s] %s", section, fault);
	}
	kind_complete(k);
}

/* ------------------------------------------------------------------ sections */

static bool word_legal(const char *word)
{
	return islower((unsigned char)word[0]) &&
	       !word[strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789_")];
}

static void kind_default(struct param_kind *k, int line)
{
	*k = (struct param_kind){
		.object = PARAM_SHORE,
		.type = PARAM_FLOAT,
		.access = PARAM_RO,
		.source = PARAM_POLLED,
		.reg = -1,
		.readback_reg = -1,
		.scale = 1,
		.hard_min = -INFINITY,
		.hard_max = INFINITY,
		.soft_min = -INFINITY,
		.soft_max = INFINITY,
		.order_lower = 30,
		.order_raise = 30,
		.limits = {.warn_min = -INFINITY,
			   .warn_max = INFINITY,
			   .alarm_min = -INFINITY,
			   .alarm_max = INFINITY},
		.safest = NAN,
		.line = line,
	};
}

static enum param_object object_of(const char *name)
{
	static const char *const names[PARAM_SHORE] = {[PARAM_OM] = "om",
						       [PARAM_HYDROPHONE] = "hydrophone",
						       [PARAM_FCM] = "fcm",
						       [PARAM_LINK] = "link"};
	enum param_object object = PARAM_OM;

	while (object < PARAM_SHORE && strcmp(names[object], name) != 0) {
		object++;
	}
	return object;
}

/* A new kind of the dictionary. */
static void kind_begin(struct param_file *f, const char *section, int line)
{
	struct params *p = f->params;
	const char *dot = strchr(section, '.');
	struct param_kind *k;

	if (p->kind_count == p->kind_room) {
		unsigned room = p->kind_room ? 2 * p->kind_room : 64;

		k = realloc(p->kinds, room * sizeof(*k));
		if (!k) {
			f->result = param_no_memory(f->error);
			return;
		}
		p->kinds = k;
		p->kind_room = room;
	}
	k = &p->kinds[p->kind_count];
	kind_default(k, line);
	if (!dot || strlen(section) >= sizeof(k->section) ||
	    (size_t)(dot - section) >= sizeof(k->object_name) ||
	    strlen(dot + 1) >= sizeof(k->name)) {
		param_file_complain(f, line, "[%s] is not of the form [object.name]", section);
		return;
	}
	strcpy(k->section, section);
	memcpy(k->object_name, section, (size_t)(dot - section));
	strcpy(k->name, dot + 1);
	if (!word_legal(k->object_name) || !word_legal(k->name)) {
		param_file_complain(f, line, "[%s]: small letters, digits and _ only", section);
		return;
	}
	k->object = object_of(k->object_name);
	p->kind_count++;
	f->kind = k;
}

static void section_key(struct param_file *f, const char *section, const char *name,
			const char *value)
{
	const struct key *key = key_named(name);

	if (!key) {
		param_file_complain(f, f->line, "[%s] knows no key \"%s\"", section, name);
		return;
	}
	if (f->site && key->hardware) {
		param_file_complain(f, f->line,
				    "[%s] %s is the hardware's: only the dictionary has it",
				    section, name);
	} else if (f->seen & key_bit(key)) {
		param_file_complain(f, f->line, "[%s] has %s twice", section, name);
	} else if (key->type->read((char *)f->kind + key->offset, key, value) < 0) {
		param_file_complain(f, f->line, "[%s] %s = %s: wanted %s", section, name, value,
				    key->type->wants);
	}
	f->seen |= key_bit(key);
	f->kind->given |= key_bit(key);
}

/* What a site's section has changed still has to fit together; the dictionary is checked as a whole. */
static void section_end(struct param_file *f)
{
	if (f->site && f->kind && f->result == 0) {
		kind_finish(f, f->kind, f->sections[f->count - 1].name);
	}
	f->kind = NULL;
	f->seen = 0;
}

static void section_begin(struct param_file *f, const char *section)
{
	int line = f->heading ? f->heading : f->line;

	section_end(f);
	if (f->result < 0) {
		return;
	}
	if (strlen(section) >= PARAM_SECTION_MAX || f->count == PARAM_SECTIONS_MAX) {
		param_file_complain(f, line, "[%.40s]: %s", section,
				    f->count == PARAM_SECTIONS_MAX
					    ? "too many sections: divide the file in two"
					    : "no name is so long");
		return;
	}
	for (unsigned n = 0; n < f->count; n++) {
		if (strcmp(f->sections[n].name, section) == 0) {
			param_file_complain(f, line, "[%s] is a duplicate, first in line %d",
					    section, f->sections[n].line);
			return;
		}
	}
	strcpy(f->sections[f->count].name, section);
	f->sections[f->count++].line = line;
	f->begin(f, section, line);
}

/* libinih's handler: 1 goes on. All errors are kept in the file. */
static int on_key(void *user, const char *section, const char *name, const char *value)
{
	struct param_file *f = user;

	if (f->result == 0 &&
	    (f->count == 0 || strcmp(f->sections[f->count - 1].name, section) != 0)) {
		section_begin(f, section);
	}
	if (f->result == 0 && f->kind) {
		section_key(f, section, name, value);
	}
	return 1;
}

/* libinih's reader: counts lines, and refuses those it would cut. */
static char *on_line(char *str, int num, void *stream)
{
	struct param_file *f = stream;
	char *got = fgets(str, num, f->file);

	if (!got) {
		return NULL;
	}
	f->line++;
	if (got[strspn(got, " \t")] == '[') {
		f->heading = f->line;
	}
	if (strlen(got) > LINE_MAX_BYTES && got[strlen(got) - 1] != '\n') {
		param_file_complain(f, f->line, "line is longer than %d bytes", LINE_MAX_BYTES);
		return NULL;
	}
	return got;
}

int param_file_read(struct params *p, const char *path, bool site, param_begin_fn begin,
		    unsigned *ret_count, struct sc_error *error)
{
	struct param_file *f = calloc(1, sizeof(*f));
	int bad_line, r;

	if (!f) {
		return param_no_memory(error);
	}
	f->path = path;
	f->params = p;
	f->error = error;
	f->begin = begin;
	f->site = site;
	f->file = fopen(path, "re");
	if (!f->file) {
		r = -errno;
		free(f);
		return param_file_unreadable(path, site, r, error);
	}
	bad_line = ini_parse_stream(on_line, f, on_key, f);
	if (bad_line > 0) {
		param_file_complain(f, bad_line, "neither [section] nor key = value");
	} else if (ferror(f->file)) {
		param_file_complain(f, f->line, "cannot be read");
	}
	fclose(f->file);
	section_end(f);
	for (unsigned i = 0; !site && f->result == 0 && i < p->kind_count; i++) {
		kind_finish(f, &p->kinds[i], p->kinds[i].section);
	}
	if (!site && f->result == 0 && p->kind_count == 0) {
		param_file_complain(f, 1, "no parameters in it");
	}
	*ret_count = f->count;
	r = f->result;
	free(f);
	return r;
}

int param_file_unreadable(const char *path, bool site, int r, struct sc_error *error)
{
	return sc_fail(error, r, "dictionary",
		       site ? "Make it readable, or correct [slowctl] site_dictionary."
			    : "Name the file in the configuration ([slowctl] dictionary).",
		       "%s dictionary %s: %s", site ? "site" : "parameter", path, strerror(-r));
}

int param_load_kinds(const char *path, struct params *p, struct sc_error *error)
{
	unsigned count;

	return param_file_read(p, path, false, kind_begin, &count, error);
}
