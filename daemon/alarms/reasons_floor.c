// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reasons of the floors: what the command engine says, the modules that have tripped or whose high voltage
 * is low, silence timers that have fired, hits that were lost in the modules' FIFOs. One line a floor, which names
 * its modules.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "daemon/alarms/private.h"
#include "daemon/alarms/silence.h"
#include "slowctl/param/plural.h"

#define HV_LOW 0.95 /* of what is set: a photomultiplier's gain goes with about its 7th power */

/* Modules of a floor, as bits: "om0, om2"; as a pattern "floor3.om[02]", one alone "floor3.om2". */
static void list_modules(uint32_t modules, char *text, size_t size)
{
	size_t used = 0;

	*text = '\0';
	for (unsigned m = 0; m < PARAM_OM_COUNT; m++) {
		if (modules & 1u << m && used < size) {
			used += (size_t)snprintf(text + used, size - used, "%som%u",
						 used ? ", " : "", m);
		}
	}
}

static void module_pattern(unsigned floor, uint32_t modules, char *text, size_t size)
{
	bool several = (modules & (modules - 1)) != 0;
	char digits[PARAM_OM_COUNT + 1] = "";
	unsigned n = 0;

	for (unsigned m = 0; m < PARAM_OM_COUNT; m++) {
		if (modules & 1u << m) {
			digits[n++] = (char)('0' + m);
		}
	}
	snprintf(text, size, several ? "floor%u.om[%s]" : "floor%u.om%s", floor, digits);
}

/* --- what the engine says --- */

struct trips {
	struct judge *j;
	struct {
		uint32_t modules, unknown; /* tripped; of them, those that cannot be asked now */
		double unknown_s;
		bool latch;
	} link[NANET3_LINKS];
	char advice[sizeof(((struct engine_reason *)0)->action)];
};

static bool note_trip(struct trips *t, const struct engine_reason *e)
{
	const struct param *p = e->param;

	if (strcmp(e->code, "alarm") != 0 || !p || strcmp(p->kind->section, "om.trip") != 0 ||
	    p->link < 0) {
		return false;
	}
	t->link[p->link].modules |= 1u << p->index;
	t->link[p->link].unknown |= (unsigned)(e->unknown_s > 0) << p->index;
	t->link[p->link].unknown_s = fmax(t->link[p->link].unknown_s, e->unknown_s);
	t->link[p->link].latch |= e->latch;
	snprintf(t->advice, sizeof(t->advice), "%s", e->action);
	return true;
}

static void engine_reason(void *context, const struct engine_reason *e)
{
	static const struct {
		const char *engine, *shown;
	} names[] = {
		{"unknown-command", "command-unknown"},
		{"mute", "floor-mute"},
	};
	const char *code = e->code, *last = strrchr(e->object, '.');
	struct trips *t = context;
	char action[400], object[sizeof(e->object)];
	struct what w = {.red = e->red,
			 .latch = e->latch,
			 .object = e->object,
			 .action = action,
			 .link = JUDGE_NO_LINK};

	if (strcmp(e->code, "swapped") == 0 || note_trip(t, e)) {
		return; /* floor-identity says it; trips are said together */
	}
	if (strcmp(e->code, "mute") == 0 && judge_just_late(t->j)) {
		return; /* it was we who did not listen */
	}
	for (unsigned n = 0; n < sizeof(names) / sizeof(*names); n++) {
		code = strcmp(e->code, names[n].engine) == 0 ? names[n].shown : code;
	}
	snprintf(object, sizeof(object), "%.*s",
		 last ? (int)(last - e->object) : (int)sizeof(object) - 1, e->object);
	reasons_name_objects(object, e->action, action, sizeof(action));
	w.code = code;
	/* A warning that becomes an alarm is an event. Others have one level, and may be told by two. */
	w.parts = strcmp(code, "alarm") == 0 && e->red;
	reasons_add_parts(t->j, &w, e->text);
}

/* About modules of a link's floor. */
static void add_of_floor(struct judge *j, unsigned link, struct what w, const char *text)
{
	const struct config_link *c = &j->v->config->link[link];
	char object[24];

	snprintf(object, sizeof(object), "tower%u.floor%u", c->tower, c->floor);
	w.object = object;
	w.link = JUDGE_NO_LINK;
	reasons_add_parts(j, &w, text);
}

static void trip_reason(struct trips *t, unsigned link)
{
	const struct config_link *c = &t->j->v->config->link[link];
	char modules[48], which[32], action[400], text[200];
	struct what w = {.red = true,
			 .latch = t->link[link].latch,
			 .code = "hv-trip",
			 .action = action,
			 .parts = t->link[link].modules};
	size_t used;

	if (!w.parts) {
		return;
	}
	list_modules(w.parts, modules, sizeof(modules));
	module_pattern(c->floor, w.parts, which, sizeof(which));
	reasons_name_objects(which, t->advice, action, sizeof(action));
	used = (size_t)snprintf(text, sizeof(text),
				"the high voltage has tripped on over-current and is off: %s",
				modules);
	if (t->link[link].unknown) {
		list_modules(t->link[link].unknown, modules, sizeof(modules));
		snprintf(text + used, sizeof(text) - used, " (not known of %s for %.0f s)", modules,
			 t->link[link].unknown_s);
	}
	add_of_floor(t->j, link, w, text);
}

static void engine_all(struct judge *j)
{
	struct trips t = {.j = j};

	engine_reasons(j->v->engine, judge_now(j), engine_reason, &t);
	for (unsigned link = 0; link < NANET3_LINKS; link++) {
		trip_reason(&t, link);
	}
}

/* --- hits lost in the modules --- */

void floors_look(struct judge *j)
{
	_Static_assert(OVERFLOW_MODULES == PARAM_OM_COUNT, "a counter for each module");
	for (unsigned n = 0; n < params_count(j->v->params); n++) {
		const struct param *p = params_at(j->v->params, n);

		if (p->has_value && p->link >= 0 && p->index < PARAM_OM_COUNT &&
		    strcmp(p->kind->section, "om.lost") == 0) {
			overflow_read(&j->overflow[p->link], p->index, (uint64_t)p->value,
				      p->mono_ns);
		}
	}
}

/* "om0 120, om3 7" */
static void list_lost(unsigned module, uint64_t lost, char *text, size_t size)
{
	size_t used = strlen(text);

	if (lost) {
		snprintf(text + used, size - used, "%som%u %llu", used ? ", " : "", module,
			 (unsigned long long)lost);
	}
}

void floor_hits_over(const struct judge *j, const char *object, char *text, size_t size)
{
	for (unsigned link = 0; link < NANET3_LINKS; link++) {
		const struct config_link *c = &j->v->config->link[link];
		const struct overflow_floor *f = &j->overflow[link];
		char floor[24], names[160] = "";
		uint64_t sum = 0;

		snprintf(floor, sizeof(floor), "tower%u.floor%u", c->tower, c->floor);
		if (!j->v->link[link].enabled || strcmp(floor, object) != 0) {
			continue;
		}
		for (unsigned m = 0; m < PARAM_OM_COUNT; m++) {
			sum += f->lost[m];
			list_lost(m, f->lost[m], names, sizeof(names));
		}
		snprintf(text, size, "is over: %llu hit%s lost within %.0f s: %s",
			 (unsigned long long)sum, plural(sum),
			 (double)(f->grown_ns - f->begun_ns) / 1e9, names);
	}
}

static void hits_reason(struct judge *j, unsigned link)
{
	char names[160] = "", text[300], action[200];
	struct what w = {.code = "hits-lost", .action = action};
	uint64_t sum = 0;

	for (unsigned m = 0; m < PARAM_OM_COUNT; m++) {
		uint64_t lost = overflow_recent(&j->overflow[link].module[m], j->v->now_ns);

		sum += lost;
		/* Light comes and goes: a module is told once a spell. */
		w.parts |= (unsigned)(j->overflow[link].lost[m] > 0) << m;
		list_lost(m, lost, names, sizeof(names));
	}
	if (!sum) {
		return;
	}
	snprintf(text, sizeof(text),
		 "bioluminescence or rate too high: %llu hit%s lost by the modules' FIFOs in the "
		 "last minute: %s",
		 (unsigned long long)sum, plural(sum), names);
	snprintf(action, sizeof(action),
		 "light passes by itself; if it stays: fcmctl get 'floor%u.om*.rate'; then raise "
		 "the threshold of the loud ones, or lower their hv",
		 j->v->config->link[link].floor);
	add_of_floor(j, link, w, text);
}

/* --- modules that see nothing --- */

static bool is_on(const struct judge *j, const struct param *p, const char *sibling)
{
	const struct param *q = params_sibling(j->v->params, p, sibling);

	return q && q->has_value && q->value != 0;
}

static bool is_off(const struct judge *j, const struct param *p, const char *sibling)
{
	const struct param *q = params_sibling(j->v->params, p, sibling);

	return q && q->has_value && q->value == 0;
}

/* Powered, not tripped (that is a reason of its own), and far below what is set. */
static bool hv_is_low(struct judge *j, const struct param *p, uint64_t now_ns)
{
	return strcmp(p->kind->section, "om.hv") == 0 && p->has_setpoint &&
	       param_quality(p, now_ns) == PARAM_GOOD && p->value < HV_LOW * p->setpoint &&
	       is_on(j, p, "power") && !is_on(j, p, "trip");
}

static void hv_reason(struct judge *j, unsigned link)
{
	char names[200] = "", text[320], action[200];
	struct what w = {.code = "hv-low", .action = action};

	for (unsigned n = 0; n < params_count(j->v->params); n++) {
		const struct param *p = params_at(j->v->params, n);
		size_t used = strlen(names);

		if (p->link == (int)link && p->index < PARAM_OM_COUNT &&
		    hv_is_low(j, p, j->v->now_ns)) {
			w.parts |= 1u << p->index;
			snprintf(names + used, sizeof(names) - used, "%som%u %.0f of %.0f V",
				 used ? ", " : "", p->index, p->value, p->setpoint);
		}
	}
	if (!w.parts) {
		return;
	}
	snprintf(text, sizeof(text),
		 "the high voltage is far below what is set, little is seen: %s", names);
	snprintf(action, sizeof(action),
		 "wait while it ramps: fcmctl get 'floor%u.om*.hv'; if it does not rise, look at "
		 "power and trip, and tell the detector expert",
		 j->v->config->link[link].floor);
	add_of_floor(j, link, w, text);
}

static void silence_reason(struct judge *j, unsigned link)
{
	char text[320], action[320];
	struct what w = {.red = true, .code = "hv-silenced", .action = action};
	struct silence_view v;

	silence_get(j->v->params, link, j->v->now_ns, &v);
	if (v.fired) {
		w.parts = 1u << v.fired % 32; /* each time it fires is an event */
		silence_say(&v, j->v->config->link[link].floor, text, sizeof(text), action,
			    sizeof(action));
		add_of_floor(j, link, w, text);
	}
}

/* Whether the modules' values that would tell are known; of one that is off or tripped nobody asks. */
const char *floor_unseen(const struct judge *j, const struct debounce_reason *e)
{
	bool hv = strcmp(e->code, "hv-low") == 0;
	const char *section = hv ? "om.hv" : strcmp(e->code, "hits-lost") == 0 ? "om.lost" : NULL;
	uint64_t now_ns = j->v->now_ns;

	for (unsigned n = 0; section && n < params_count(j->v->params); n++) {
		const struct param *p = params_at(j->v->params, n);
		char floor[24];

		snprintf(floor, sizeof(floor), "tower%u.floor%u", p->tower, p->floor);
		if (strcmp(p->kind->section, section) == 0 && strcmp(floor, e->object) == 0 &&
		    (e->parts & 1u << p->index) && !is_off(j, p, "power") && !is_on(j, p, "trip") &&
		    (param_quality(p, now_ns) != PARAM_GOOD || (hv && !p->has_setpoint))) {
			return "its modules cannot be asked";
		}
	}
	return NULL;
}

/* A mute floor whose link has gone dark is not over: it is when the floor has answered. */
bool floor_still_mute(const struct judge *j, const struct debounce_reason *e)
{
	if (strcmp(e->code, "floor-mute") != 0) {
		return false;
	}
	for (unsigned link = 0; link < NANET3_LINKS; link++) {
		struct engine_link_view v;
		char object[sizeof(e->object)];

		engine_link_view(j->v->engine, link, &v);
		snprintf(object, sizeof(object), "tower%u.floor%u", v.tower, v.floor);
		if (v.configured && strcmp(object, e->object) == 0) {
			return v.last_reply_ns < e->seen_ns;
		}
	}
	return false;
}

void reasons_floors(struct judge *j)
{
	engine_all(j);
	for (unsigned link = 0; link < NANET3_LINKS; link++) {
		if (j->v->link[link].enabled) {
			silence_reason(j, link);
			hits_reason(j, link);
			hv_reason(j, link);
		}
	}
}
