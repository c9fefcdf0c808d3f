// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reasons of the floors: those of the command engine, modules that have tripped or whose high voltage is low, silence
 * timers that have fired, hits lost in the modules' FIFOs. One reason for each floor, which names its modules.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "daemon/alarms/private.h"
#include "daemon/alarms/silence.h"
#include "daemon/core/text.h"
#include "slowctl/param/plural.h"

#define HV_DOWN 50.0 /* V: nothing is seen */
#define HV_LOW	0.95 /* of what is set: a photomultiplier's gain goes with about its 7th power */

/* --- reasons of the engine --- */

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

	if (strcmp(e->code, "limit") != 0 || !p || strcmp(p->kind->section, "om.trip") != 0 ||
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

static struct alarm_object floor_on(const struct judge *j, unsigned link)
{
	const struct judge_link *l = &j->v->link[link];

	return object_floor(l->tower, l->floor, link);
}

static void engine_reason(struct trips *t, const struct engine_reason *e)
{
	struct observation o = {.red = e->red,
				.latch = e->latch,
				.code = e->code,
				.object = object_thing(e->object),
				.advice = e->action};

	if (note_trip(t, e)) {
		return; /* trips are reported together */
	}
	if (strcmp(e->code, "floor-mute") == 0 && judge_just_late(t->j)) {
		return; /* this process did not listen */
	}
	if (e->param) {
		o.object = object_value(e->param);
	} else if (e->of_link) {
		o.object = object_link((unsigned)e->link);
	} else if (e->link >= 0) {
		o.object = floor_on(t->j, (unsigned)e->link);
	}
	/* A warning that becomes an alarm is an event. Others have one level; two reasons may have the same object. */
	o.parts = strcmp(o.code, "limit") == 0 && e->red;
	observe(t->j, &o, "%s", e->text);
}

static void trip_reason(struct trips *t, unsigned link)
{
	struct observation o = {.red = true,
				.latch = t->link[link].latch,
				.code = "hv-trip",
				.object = floor_on(t->j, link),
				.parts = t->link[link].modules,
				.advice = t->advice};
	char modules[48], unknown[48], asked[100] = "";

	if (!o.parts) {
		return;
	}
	o.object.modules = (uint8_t)o.parts;
	if (t->link[link].unknown) {
		snprintf(asked, sizeof(asked), " (state of %s unknown for %.0f s)",
			 text_bits(unknown, sizeof(unknown), "om", t->link[link].unknown),
			 t->link[link].unknown_s);
	}
	observe(t->j, &o, "the high voltage has tripped on over-current and is off: %s%s",
		text_bits(modules, sizeof(modules), "om", o.parts), asked);
}

static void engine_all(struct judge *j)
{
	struct trips t = {.j = j};

	for (size_t n = 0; n < j->v->engine_reasons; n++) {
		engine_reason(&t, &j->v->engine_reason[n]);
	}
	for (unsigned link = 0; link < NANET3_LINKS; link++) {
		trip_reason(&t, link);
	}
}

/* --- hits lost in the modules --- */

void floors_look(struct judge *j)
{
	_Static_assert(OVERFLOW_MODULES == PARAM_OM_COUNT, "a counter for each module");
	for (unsigned n = 0; n < NANET3_LINKS * PARAM_OM_COUNT; n++) {
		unsigned link = n / PARAM_OM_COUNT, module = n % PARAM_OM_COUNT;
		const struct judge_link *l = &j->v->link[link];
		const struct param *p = l->enabled ? l->module[module].lost : NULL;

		j->overflow[link].booted_ns = l->boot ? l->boot->booted_ns : 0;
		if (p && p->has_value) {
			overflow_read(&j->overflow[link], module, (uint64_t)p->value, p->mono_ns);
		}
	}
}

/* "om0 120, om3 7" */
static void list_lost(unsigned module, uint64_t lost, char *text, size_t size)
{
	if (lost) {
		text_list(text, size, "om%u %llu", module, (unsigned long long)lost);
	}
}

/* "1240 hits lost by the modules' FIFOs within 12 s: om0 120, om3 1120": of the whole episode. Returns text. */
static const char *say_lost(const struct overflow_floor *f, char *text, size_t size)
{
	char names[160] = "";
	uint64_t sum = 0;

	for (unsigned m = 0; m < PARAM_OM_COUNT; m++) {
		sum += f->lost[m];
		list_lost(m, f->lost[m], names, sizeof(names));
	}
	snprintf(text, size, "%llu hit%s lost by the modules' FIFOs within %.0f s: %s",
		 (unsigned long long)sum, plural(sum),
		 ceil((double)(f->last_ns - f->first_ns) / 1e9), names);
	return text;
}

void floor_hits_cleared(const struct judge *j, unsigned link, char *text, size_t size)
{
	char lost[220];

	snprintf(text, size, "is over: %s", say_lost(&j->overflow[link], lost, sizeof(lost)));
}

static void hits_reason(struct judge *j, unsigned link)
{
	struct observation o = {
		.code = "hits-lost",
		.object = floor_on(j, link),
		.advice = "light passes by itself; if it stays: fcmctl get 'floorN.om*.rate'; then "
			  "raise the threshold of the loud ones, or lower their hv"};
	const struct overflow_floor *f = &j->overflow[link];
	char lost[220];
	uint64_t recent = 0;

	for (unsigned m = 0; m < PARAM_OM_COUNT; m++) {
		recent += overflow_recent(&f->module[m], j->v->now_ns);
		/* Light comes and goes: a module is reported once in an episode. */
		o.parts |= (unsigned)(f->lost[m] > 0) << m;
		o.much.hits += f->lost[m];
	}
	if (recent) {
		observe(j, &o, "bioluminescence or rate too high: %s",
			say_lost(f, lost, sizeof(lost)));
	}
}

/* --- modules that see nothing --- */

/* It is known, and on or off. */
static bool is(const struct param *p, bool on)
{
	return p && p->has_value && (p->value != 0) == on;
}

enum judge_module_state judge_module(const struct judge_module *m, uint64_t now_ns)
{
	const struct param *p = m->hv;

	if (is(m->trip, true)) {
		return JUDGE_MODULE_TRIPPED;
	}
	if (is(m->power, false) || (p && p->has_setpoint && p->setpoint == 0)) {
		return JUDGE_MODULE_OFF;
	}
	if (!p || param_quality(p, now_ns) != PARAM_GOOD) {
		return JUDGE_MODULE_UNKNOWN;
	}
	return p->has_setpoint && is(m->power, true) && p->value < HV_LOW * p->setpoint
		       ? JUDGE_MODULE_LOW
		       : JUDGE_MODULE_ON;
}

static void hv_reason(struct judge *j, unsigned link)
{
	struct observation o = {
		.code = "hv-low",
		.object = floor_on(j, link),
		.advice = "wait while it ramps: fcmctl get 'floorN.om*.hv'; if it does not rise, "
			  "look at power and trip, and tell the detector expert"};
	char names[200] = "";

	for (unsigned m = 0; m < PARAM_OM_COUNT; m++) {
		const struct judge_module *module = &j->v->link[link].module[m];

		if (judge_module(module, j->v->now_ns) == JUDGE_MODULE_LOW) {
			o.parts |= 1u << m;
			text_list(names, sizeof(names), "om%u %.0f of %.0f V", m, module->hv->value,
				  module->hv->setpoint);
		}
	}
	if (o.parts) {
		observe(j, &o, "the high voltage is far below what is set, little is seen: %s",
			names);
	}
}

/* A command of ours has set it to 0. */
static bool we_set_0(const struct param *p)
{
	return p && p->setpoint == 0 && p->by.who[0];
}

/* Our command that has switched the module off is added to `text`; false: none is known. */
static bool we_did(const struct judge_module *m, char *text)
{
	const struct param *p = we_set_0(m->hv) ? m->hv : m->power;
	char did[OWN_BYTES];

	if (!we_set_0(p)) {
		return false;
	}
	snprintf(did, sizeof(did), "%s by %s",
		 p->by.safe   ? "safe"
		 : p == m->hv ? "hv 0"
			      : "power off",
		 p->by.who);
	if (!judge_has_own(text, did)) {
		judge_add_own(text, did, p->by.time_ns);
	}
	return true;
}

#define SWITCH_ON                                                                                  \
	"to switch it on: fcmctl set floorN.omM.power on, then fcmctl set floorN.omM.hv VOLTS"

/* Not by a silence timer, which is a reason of its own. */
static void off_reason(struct judge *j, unsigned link)
{
	struct observation o = {
		.code = "hv-off",
		.object = floor_on(j, link),
		.advice = "if nobody has switched it off: fcmctl command list; " SWITCH_ON};
	char names[200] = "", own[OWN_BYTES] = "";
	bool ours = true;

	for (unsigned m = 0; m < PARAM_OM_COUNT && !j->v->link[link].silence.fired; m++) {
		const struct judge_module *module = &j->v->link[link].module[m];

		if (judge_module(module, j->v->now_ns) == JUDGE_MODULE_OFF) {
			o.parts |= 1u << m;
			text_list(names, sizeof(names), "om%u%s", m,
				  is(module->power, false) ? "" : " (powered)");
			ours = we_did(module, own) && ours;
		}
	}
	if (o.parts) {
		o.object.modules = (uint8_t)o.parts;
		o.own = ours ? own : NULL;
		o.advice = ours ? SWITCH_ON : o.advice;
		observe(j, &o, "modules are switched off and see nothing: %s%s%s", names,
			ours ? "; " : "", ours ? own : "");
	}
}

/* Modules whose high voltage the timer has brought down. */
static uint8_t hv_down(const struct judge *j, unsigned link)
{
	uint8_t modules = 0;

	for (unsigned m = 0; m < PARAM_OM_COUNT; m++) {
		const struct param *p = j->v->link[link].module[m].hv;

		if (p && param_quality(p, j->v->now_ns) == PARAM_GOOD && p->value < HV_DOWN) {
			modules |= (uint8_t)(1u << m);
		}
	}
	return modules;
}

static void silence_reason(struct judge *j, unsigned link)
{
	struct observation o = {.red = true,
				.code = "hv-silenced",
				.object = floor_on(j, link),
				.advice = silence_advice};
	const struct silence_view *v = &j->v->link[link].silence;
	char text[320];

	if (v->fired) {
		o.parts = 1u << v->fired % 32; /* each time it fires is an event */
		o.much.dark[link] = hv_down(j, link);
		silence_say(v, text, sizeof(text));
		observe(j, &o, "%s", text);
	}
}

/* A module that is off or has tripped is not asked: its values may be old. */
const char *floor_unknown(const struct judge *j, const struct debounce_reason *e)
{
	bool hv = strcmp(e->code, "hv-low") == 0;

	for (unsigned n = 0; n < PARAM_OM_COUNT && (hv || strcmp(e->code, "hits-lost") == 0); n++) {
		const struct judge_module *m = &j->v->link[e->of.link].module[n];
		const struct param *p = hv ? m->hv : m->lost;

		if (p && (e->parts & 1u << n) && !is(m->power, false) && !is(m->trip, true) &&
		    (param_quality(p, j->v->now_ns) != PARAM_GOOD || (hv && !p->has_setpoint))) {
			return "its modules cannot be asked";
		}
	}
	return NULL;
}

bool floor_still_mute(const struct judge *j, const struct debounce_reason *e)
{
	return strcmp(e->code, "floor-mute") == 0 &&
	       j->v->link[e->of.link].last_reply_ns < e->seen_ns;
}

void reasons_floors(struct judge *j)
{
	engine_all(j);
	for (unsigned link = 0; link < NANET3_LINKS; link++) {
		if (j->v->link[link].enabled) {
			silence_reason(j, link);
			hits_reason(j, link);
			hv_reason(j, link);
			off_reason(j, link);
		}
	}
}
