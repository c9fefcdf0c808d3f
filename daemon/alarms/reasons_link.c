// SPDX-License-Identifier: GPL-2.0-or-later
/* Reasons of a link and of its phase. */
#include <math.h>
#include <stdio.h>

#include "daemon/alarms/private.h"
#include "daemon/core/text.h"

#define BOOT_SHOWN_NS 600000000000ull
#define BOOT_CAUSES_S 60 /* then links and values are there again, or have another cause */
#define LOCKING_NS    1000000000ull /* a lock takes 10 ms */

static void dark_reason(struct judge *j, unsigned link)
{
	struct alarm_object object = object_link(link);
	bool signal = j->v->link[link].signal, light;
	char name[ALARM_OBJECT_BYTES];

	if (!signal) {
		j->no_light_ns[link] = j->v->now_ns;
	}
	light = signal && j->v->now_ns > j->no_light_ns[link] + LOCKING_NS;
	object_name(&object, name, sizeof(name));
	if (light && judge_own_command(j, link, j->v->now_ns) &&
	    !debounce_is_reported(&j->debounce, "link-dark", name)) {
		return; /* it looks for its lock, as it was asked to */
	}
	reasons_add(j, true, "link-dark", object,
		    light ? "fcmctl link reset LINK; if it stays: fcmctl link show LINK, is there "
			    "enough received power?"
			  : "is the floor powered? Check fibre and SFP; it locks by itself when "
			    "the light is back",
		    "%s", light ? "light, but no lock" : "no light");
}

static void boot_reason(struct judge *j, unsigned link)
{
	const struct boots_floor *f = j->v->link[link].boot;
	const char *own;
	char when[32];

	if (!f || !f->booted_ns || j->v->now_ns - f->booted_ns > BOOT_SHOWN_NS) {
		return;
	}
	own = judge_own_command(j, link, f->booted_ns);
	text_utc(when, sizeof(when), j->v->utc_ns - (int64_t)(j->v->now_ns - f->booted_ns));
	observe(j,
		&(struct observation){.code = "fcm-booted",
				      .object = object_floor(f->tower, f->floor, link),
				      .advice = "compare what is set: fcmctl get 'floorN.om*.hv', "
						"and set again what is gone",
				      .since_ns = f->booted_ns,
				      .past = judge_seconds_since(j, f->booted_ns) > BOOT_CAUSES_S},
		"the FCM of tower %u floor %u booted at %s UTC (boot count %u%s%s): its settings "
		"may be lost",
		f->tower, f->floor, when + strlen("2026-11-22 "), f->count, own ? "; " : "",
		own ? own : "");
}

/*
 * Frames off the board's grid: bytes came in or went while the board held its lock (a new lock begins at
 * byte 0). The board measures the phase below that, so there is no re-lock to judge: the text has the phase of now.
 * Each further slip is an event.
 */
static void slip_reason(struct judge *j, unsigned link)
{
	const struct judge_link *l = &j->v->link[link];

	if (!l->offset) {
		return;
	}
	observe(j,
		&(struct observation){
			.code = "byte-slip",
			.object = object_link(link),
			.parts = 1u << l->slips % 32,
			.advice = "fcmctl link align LINK brings them back, and a verdict"},
		"frames begin at byte %u of the board's cells: bytes slipped in while its lock "
		"held, so the phase gets no new verdict; it stands %+.0f ps from the reference",
		l->offset, l->phase.difference_ps);
}

/* The way down is another fibre and another laser: the data that come up may all be good. */
static void downlink_reason(struct judge *j, unsigned link)
{
	uint64_t damaged = j->v->link[link].downlink;
	struct alarm_object object = object_link(link);

	if (!damaged) {
		return;
	}
	object.floor = j->v->link[link].floor;
	reasons_add(j, false, "downlink-errors", object,
		    "if it goes on: fcmctl get floorN.fcm.rx_power; fcmctl link show LINK, its "
		    "tx_power_nw; then clean the connectors of the fibre down",
		    "the floor hears us badly: %llu of our frames came damaged there within a "
		    "minute; commands in them are lost and asked again, a floor that seems mute "
		    "may only not hear",
		    (unsigned long long)damaged);
}

static void state_reason(struct judge *j, unsigned link)
{
	const struct judge_link *l = &j->v->link[link];

	if (l->state != LINK_DARK) {
		j->no_light_ns[link] = 0;
	}
	if (l->state == LINK_DARK) {
		dark_reason(j, link);
	} else if (l->state == LINK_ALIGNING && !judge_fresh_start(j)) {
		reasons_add(j, true, "link-unaligned", object_link(link),
			    "fcmctl link align LINK; if it stays, fcmctl link reset LINK",
			    "locked, but no frame structure is found in the bytes");
	} else if (l->state == LINK_SILENT && !judge_fresh_start(j) && !judge_just_late(j) &&
		   !board_just_stalled(j)) {
		observe(j,
			&(struct observation){.red = true,
					      .code = "link-silent",
					      .object = object_link(link),
					      .since_ns = l->last_good_ns,
					      .advice = "fcmctl link show LINK: do bytes come at "
							"all? Then fcmctl link reset LINK"},
			"locked, but no good frame for %.1f s",
			judge_seconds_since(j, l->last_good_ns));
	}
}

static void link_reasons(struct judge *j, unsigned link)
{
	const struct judge_link *l = &j->v->link[link];

	state_reason(j, link);
	if (l->other_floor) {
		reasons_add(j, true, "floor-identity", object_link(link),
			    "swap the fibres back, or correct [link] in the configuration",
			    "tower %u floor %u is on this fibre, configured is tower %u floor %u: "
			    "swapped fibres? Its data keep its own name, writes to it are refused, "
			    "the phase is not judged until the right floor is back",
			    l->named_tower, l->named_floor, l->tower, l->floor);
	}
	slip_reason(j, link);
	reasons_link_loss(j, link);
	downlink_reason(j, link);
	if (l->ring_depth && l->ring_used * 4 > l->ring_depth * 3) {
		reasons_add(j, true, "ring-fill", object_link(link),
			    "fcmctl consumer list: who holds it back?",
			    "the link ring is %llu %% full",
			    (unsigned long long)(l->ring_used * 100 / l->ring_depth));
	}
	boot_reason(j, link);
}

/* A phase that is not measured is unknown, however good it was. */
static void silent_phase(struct judge *j, unsigned link)
{
	const struct phase_view *v = &j->v->link[link].phase;
	struct observation o = {.red = true,
				.code = "phase-silent",
				.object = object_link(link),
				.advice = "fcmctl link reset LINK; if it stays, power-cycle the "
					  "board; until then nobody sees a slip"};

	if (!(v->silent || v->unjudged) || judge_just_late(j)) {
		return;
	}
	o.since_ns = v->silent ? v->heard_ns : v->lock_ns;
	observe(j, &o,
		v->silent ? "locked, but the board has measured no phase for %.1f s"
			  : "locked, but too few phases came in %.1f s to judge it",
		judge_seconds_since(j, o.since_ns));
}

/* A new lock came back where the phase had drifted to, and the phase is not half way home. */
static bool is_still_off(const struct judge *j, unsigned link)
{
	const struct phase_view *v = &j->v->link[link].phase;
	struct alarm_object object = object_link(link);
	char name[ALARM_OBJECT_BYTES];
	bool reported;

	if (!v->last.drifted) {
		return false;
	}
	object_name(&object, name, sizeof(name));
	reported = debounce_is_reported(&j->debounce, "phase-drift", name);
	return fabs(v->difference_ps) > j->v->config.drift_ps / (reported ? 2 : 1);
}

/* Of a drift, in one lock or through several. An event when what is tolerated is passed, and at each doubling. Red from
 * half a bit on: what is off by more may be taken for a slip at the next lock. */
static void drift_reason(struct judge *j, unsigned link)
{
	const struct phase_view *v = &j->v->link[link].phase;
	double tolerated_ps = j->v->config.drift_ps;
	double farthest_ps = fmax(v->drifting ? v->farthest_ps : 0,
				  v->last.drifted ? fabs(v->difference_ps) : 0);
	struct observation o = {
		.code = "phase-drift",
		.object = object_link(link),
		.advice = "fcmctl phase history LINK; tell the detector expert when it goes on"};
	char text[ALARM_TEXT_BYTES];

	o.red = farthest_ps > fmax(PHASE_UI_PS / 2.0, 2 * tolerated_ps);
	o.parts = o.red;
	for (unsigned n = 0; farthest_ps >= ldexp(tolerated_ps, (int)n); n++) {
		o.parts |= 2u << n;
	}
	if (v->drifting) {
		observe(j, &o, "%s", phase_say_drift(v, tolerated_ps, text, sizeof(text)));
	} else {
		observe(j, &o,
			"the phase is %+.0f ps from the reference: it had drifted there before "
			"the last re-lock",
			v->difference_ps);
	}
}

/* Of a new lock, or of a step inside one; that is true since the step. */
static void displaced(struct judge *j, unsigned link, const char *code, const char *advice)
{
	const struct phase_view *v = &j->v->link[link].phase;
	struct observation o = {
		.red = true, .code = code, .object = object_link(link), .advice = advice};
	char what[120] = "the last re-lock came back", when[32], bits[40] = "";

	if (v->last.step_ps != 0) {
		o.since_ns = v->lock_ns;
		text_utc(when, sizeof(when), j->v->utc_ns - (int64_t)(j->v->now_ns - v->lock_ns));
		snprintf(what, sizeof(what),
			 "the phase stepped %+.0f ps at %s UTC, without a new lock: it is",
			 v->last.step_ps, when);
	}
	if (v->last.slip != 0) {
		snprintf(bits, sizeof(bits), "%d bit(s) off, ", v->last.slip);
	}
	observe(j, &o, "%s %s%.0f ps from the reference", what, bits, v->last.difference_ps);
}

static void phase_reasons(struct judge *j, unsigned link)
{
	const struct phase_judgement *last = &j->v->link[link].phase.last;

	if (j->v->link[link].other_floor) {
		return; /* nobody is to accept that floor's phase */
	}
	silent_phase(j, link);
	if (last->verdict == PHASE_SLIP) {
		displaced(j, link, "phase-slip",
			  "fcmctl link align LINK; if no PASS comes: fcmctl link reset LINK; if it "
			  "stays and is understood: fcmctl phase accept LINK --reason TEXT");
	} else if (last->verdict == PHASE_JUMP) {
		displaced(j, link, "phase-jump",
			  "was the fibre changed? fcmctl phase history LINK; once: fcmctl link "
			  "reset LINK; what stays is the expert's to accept: fcmctl phase accept "
			  "LINK --reason TEXT");
	}
	if (j->v->link[link].phase.drifting || is_still_off(j, link)) {
		drift_reason(j, link);
	}
}

void reasons_link(struct judge *j, unsigned link)
{
	link_reasons(j, link);
	phase_reasons(j, link);
}
