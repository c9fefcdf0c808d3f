// SPDX-License-Identifier: GPL-2.0-or-later
/* Reasons of a link and of its phase. */
#include <math.h>
#include <stdio.h>

#include "daemon/alarms/private.h"

#define BOOT_SHOWN_NS 600000000000ull

static void dark_reason(struct judge *j, unsigned link)
{
	struct advice a = {.text = ""};

	if (j->v->link[link].signal) {
		reasons_add_link(
			j, true, "link-dark", link,
			advise(&a,
			       "fcmctl link reset %u; if it stays: fcmctl link show %u, is "
			       "there enough received power?",
			       link, link),
			"light, but no lock");
	} else {
		reasons_add_link(
			j, true, "link-dark", link,
			"is the floor powered? Check fibre and SFP; it locks by itself when "
			"the light is back",
			"no light");
	}
}

static void boot_reason(struct judge *j, unsigned link)
{
	const struct boots_floor *f = j->v->link[link].boot;
	char action[128], object[24];

	if (!f || !f->booted_ns || j->v->now_ns - f->booted_ns > BOOT_SHOWN_NS) {
		return;
	}
	snprintf(object, sizeof(object), "tower%u.floor%u", f->tower, f->floor);
	snprintf(action, sizeof(action),
		 "compare what is set: fcmctl get 'floor%u.om*.hv', and set anew what is gone",
		 f->floor);
	reasons_add(
		j, false, "fcm-booted", object, action,
		"the FCM of tower %u floor %u booted %.0f s ago (boot count %u): its settings may "
		"be lost",
		f->tower, f->floor, judge_seconds_since(j, f->booted_ns), f->count);
}

/*
 * Frames off the board's grid: bytes came in or went while the board held its lock (a new lock begins at
 * byte 0). The board measures the phase below that, so there is no re-lock to judge: say so, and how it is.
 * Each further slip is an event.
 */
static void slip_reason(struct judge *j, unsigned link)
{
	const struct judge_link *l = &j->v->link[link];
	struct advice a = {.text = ""};
	char text[256], object[16];
	struct what w = {.code = "byte-slip", .object = object, .link = (int)link};

	if (!l->offset) {
		return;
	}
	snprintf(object, sizeof(object), "link%u", link);
	snprintf(text, sizeof(text),
		 "frames begin at byte %u of the board's cells: bytes slipped in while its lock "
		 "held, so the phase gets no new verdict; it stands %+.0f ps from the reference",
		 l->offset, l->phase.difference_ps);
	w.parts = 1u << l->slips % 32;
	w.action = advise(&a, "fcmctl link align %u brings them back, and a verdict", link);
	reasons_add_parts(j, &w, text);
}

/* The way down is another fibre and another laser: nothing of what comes up need be wrong. */
static void downlink_reason(struct judge *j, unsigned link)
{
	const struct config_link *c = &j->v->config->link[link];
	uint64_t damaged = j->v->link[link].downlink;
	struct advice a = {.text = ""};

	if (!damaged) {
		return;
	}
	reasons_add_link(
		j, false, "downlink-errors", link,
		advise(&a,
		       "if it goes on: fcmctl get floor%u.fcm.rx_power; fcmctl link show %u, its "
		       "tx_power_nw; then clean the connectors of the fibre down",
		       c->floor, link),
		"the floor hears us badly: %llu of our frames came damaged there in the last "
		"minute; commands in them are lost and asked again, a floor that seems mute may "
		"only not hear",
		(unsigned long long)damaged);
}

static void state_reason(struct judge *j, unsigned link)
{
	const struct judge_link *l = &j->v->link[link];
	struct advice a = {.text = ""};

	if (l->state == LINK_DARK) {
		dark_reason(j, link);
	} else if (l->state == LINK_ALIGNING && !judge_fresh_start(j)) {
		reasons_add_link(j, true, "link-unaligned", link,
				 advise(&a,
					"fcmctl link align %u; if it stays, fcmctl link reset %u",
					link, link),
				 "locked, but no frame structure is found in the bytes");
	} else if (l->state == LINK_SILENT && !judge_fresh_start(j) && !judge_just_late(j) &&
		   !board_just_stalled(j)) {
		reasons_add_link(
			j, true, "link-silent", link,
			advise(&a,
			       "fcmctl link show %u: do bytes come at all? Then fcmctl link "
			       "reset %u",
			       link, link),
			"locked, but no good frame for %.1f s",
			judge_seconds_since(j, l->last_good_ns));
	}
}

static void link_reasons(struct judge *j, unsigned link)
{
	const struct judge_link *l = &j->v->link[link];

	state_reason(j, link);
	if (l->other_floor) {
		reasons_add_link(
			j, true, "floor-identity", link,
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
		reasons_add_link(j, true, "ring-fill", link,
				 "fcmctl consumer list: who holds it back?",
				 "the link ring is %llu %% full",
				 (unsigned long long)(l->ring_used * 100 / l->ring_depth));
	}
	boot_reason(j, link);
}

/* Nothing is known of a phase that nobody measures, however good it was. */
static void silent_phase(struct judge *j, unsigned link)
{
	const struct phase_view *v = &j->v->link[link].phase;
	struct advice a = {.text = ""};

	if (!(v->silent || v->unjudged) || judge_just_late(j)) {
		return;
	}
	advise(&a,
	       "fcmctl link reset %u; if it stays, power-cycle the board; until then nobody "
	       "sees a slip",
	       link);
	if (v->silent) {
		reasons_add_link(j, true, "phase-silent", link, a.text,
				 "locked, but the board has measured no phase for %.1f s",
				 judge_seconds_since(j, v->heard_ns));
	} else {
		reasons_add_link(j, true, "phase-silent", link, a.text,
				 "locked, but too few phases came in %.1f s to judge it",
				 judge_seconds_since(j, v->lock_ns));
	}
}

/* An event at each doubling of what is tolerated. Red from half a bit on: what is off by more may be
 * taken for a slip at the next lock. */
static void drift_reason(struct judge *j, unsigned link)
{
	const struct phase_view *v = &j->v->link[link].phase;
	double tolerated_ps = j->v->config->phase.drift_ps;
	struct advice a = {.text = ""};
	char text[160], object[16];
	struct what w = {.code = "phase-drift", .object = object, .link = (int)link};

	snprintf(object, sizeof(object), "link%u", link);
	w.red = v->farthest_ps > fmax(PHASE_UI_PS / 2.0, 2 * tolerated_ps);
	w.parts = w.red;
	for (unsigned n = 1; v->farthest_ps >= ldexp(tolerated_ps, (int)n); n++) {
		w.parts |= 1u << n;
	}
	w.action = advise(&a,
			  "compare with the fibre's temperature: fcmctl phase history %u; tell the "
			  "detector expert when it goes on",
			  link);
	snprintf(text, sizeof(text),
		 "the phase drifts: %.0f ps from the reference (%.0f are tolerated), %+.2f ps/s in "
		 "the last minute of this lock",
		 v->difference_ps, tolerated_ps, v->slope_ps_per_s);
	reasons_add_parts(j, &w, text);
}

static void phase_reasons(struct judge *j, unsigned link)
{
	const struct phase_judgement *last = &j->v->link[link].phase.last;
	struct advice a = {.text = ""};

	if (j->v->link[link].other_floor) {
		return; /* nobody is to accept that floor's phase */
	}
	silent_phase(j, link);
	switch (last->verdict) {
	case PHASE_SLIP:
		reasons_add_link(
			j, true, "phase-slip", link,
			advise(&a,
			       "fcmctl link reset %u; if it stays and is understood: fcmctl "
			       "phase accept %u --reason TEXT",
			       link, link),
			"the last re-lock came back %d bit(s) off: %.0f ps from the reference",
			last->slip, last->difference_ps);
		break;
	case PHASE_JUMP:
		reasons_add_link(
			j, true, "phase-jump", link,
			advise(&a,
			       "was the fibre changed? fcmctl phase history %u; once: fcmctl "
			       "link reset %u; what stays is the expert's to accept: fcmctl "
			       "phase accept %u --reason TEXT",
			       link, link, link),
			"the last re-lock came back %.0f ps from the reference",
			last->difference_ps);
		break;
	case PHASE_DRIFT:
		drift_reason(j, link);
		break;
	default:
		break;
	}
}

void reasons_link(struct judge *j, unsigned link)
{
	link_reasons(j, link);
	phase_reasons(j, link);
}
