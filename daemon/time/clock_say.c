// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The clock's texts for the operator: one sentence why it is in its state, one what to do. They depend on the state
 * alone, so that a state that does not change keeps its texts.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/core/text.h"
#include "daemon/time/clock_private.h"

struct trouble {
	const char *what; /* "gpsd does not answer" */
	const char *action;
	bool passes; /* by itself */
};

const char *clock_state_name(enum clock_state state)
{
	static const char *const names[] = {"no-time", "acquiring", "locked", "holdover", "fault"};

	return state <= CLOCK_FAULT ? names[state] : "?";
}

const char *label_source_name(enum label_source source)
{
	static const char *const names[] = {"none", "gpsd", "floors", "system", "emulator"};

	return source <= LABEL_EMULATOR ? names[source] : "?";
}

/* Why gpsd labels nothing: the first cause that applies. {NULL} when it does. */
static struct trouble gps_trouble(const struct clock *c)
{
	bool report = clock_heard(c, c->view.last_gps_ns),
	     pps = clock_heard(c, c->view.last_pps_ns);
	bool late = clock_heard(c, c->late_ns);
	const struct {
		bool is;
		struct trouble trouble;
	} causes[] = {
		{clock_heard(c, c->last_label_ns) && pps && !late, {NULL, ""}},
		{!c->view.gps_connected,
		 {"gpsd does not answer", "start gpsd, and see [clock] gpsd_host and gpsd_port"}},
		{!report && clock_heard(c, c->connected_ns),
		 {"gpsd has just answered", "wait some seconds", .passes = true}},
		{!report,
		 {"gpsd answers but its receiver is silent",
		  "check the receiver's power and serial cable; gpsmon shows what comes"}},
		{!clock_heard(c, c->last_fix_ns),
		 {"the GPS receiver has no fix",
		  "check the antenna, its cable and its view of the sky"}},
		{!clock_heard(c, c->last_whole_ns),
		 {"gpsd reports no whole seconds",
		  "set the receiver to report on the second, once a second"}},
		{!pps,
		 {"the board sees no PPS", "check the PPS cable from the receiver to the board"}},
		{late,
		 {"gpsd's reports come more than a second after their PPS",
		  "check the load of the host and the receiver's serial rate"}},
		{true,
		 {"gpsd's reports and the PPS do not go together",
		  "check that PPS and serial line come from the same receiver"}},
	};
	unsigned n = 0;

	while (!causes[n].is) {
		n++;
	}
	return causes[n].trouble;
}

/* The sentence why, and what to do. */
__attribute__((format(printf, 3, 4))) static void say(struct clock *c, const char *action,
						      const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(c->reason, sizeof(c->reason), format, args);
	va_end(args);
	c->view.action = action;
}

/* Gpsd and the running label contradict each other: with whom is the system clock? */
static const char *system_side(const struct clock *c)
{
	int64_t ahead_ns = c->view.system_minus_label_ns, side_ns = clock_side_ns(c);
	bool with_label, with_gpsd;

	if (!c->view.system_synced || ahead_ns == INT64_MIN) {
		return "the system clock is not synchronised and proves nothing";
	}
	with_label = llabs(ahead_ns) <= side_ns;
	with_gpsd = llabs(ahead_ns - c->view.gps_minus_board_ns) <= side_ns;
	if (with_label && with_gpsd) {
		return "the synchronised system clock is within its tolerance of both";
	}
	if (with_label) {
		return "the synchronised system clock sides with the time in use";
	}
	if (with_gpsd) {
		return "the synchronised system clock sides with gpsd";
	}
	return "the synchronised system clock sides with neither";
}

static const char *contradiction_action(const struct clock *c)
{
	switch (clock_denies(c, clock_label_offset(c) + c->view.gps_minus_board_ns)) {
	case CLOCK_DENIED_BY_SYSTEM:
		return "find out with a third clock which is wrong; time is not relabelled while "
		       "the system clock sides with it ([clock] system_tolerance_ms)";
	case CLOCK_DENIED_BY_LEAPS:
		return "gpsd's leap seconds are not the table's: wait for the receiver's almanac "
		       "(12.5 min), apt-get install tzdata; time is not relabelled till then";
	default:
		return "check the receiver; if gpsd keeps to it for 10 x [clock] confirm seconds "
		       "(30 by default), time is relabelled";
	}
}

static void say_fault(struct clock *c)
{
	char date[40];

	text_utc(date, sizeof(date), c->reject_utc_s * CLOCK_SECOND_NS);
	if (c->reject == CLOCK_REJECT_EARLY) {
		say(c,
		    "restart receiver and gpsd, update the receiver's firmware; time goes on by "
		    "the board's count meanwhile",
		    "gpsd says %s UTC, before the earliest date believed: a receiver that jumped "
		    "1024 weeks?",
		    date);
	} else if (c->reject == CLOCK_REJECT_FAR) {
		say(c,
		    "find out which of the two is wrong; if it is the system clock, correct it or "
		    "set [clock] far_s = 0",
		    "gpsd says %s UTC, %.0f s %s the synchronised system clock", date,
		    fabs(c->reject_by_s), c->reject_by_s < 0 ? "behind" : "ahead of");
	} else {
		say(c, contradiction_action(c),
		    "gpsd names another second than the board's count: it is %lld s %s the time in "
		    "use; %s",
		    (long long)llabs(c->view.gps_minus_board_ns / CLOCK_SECOND_NS),
		    c->view.gps_minus_board_ns < 0 ? "behind" : "ahead of", system_side(c));
	}
}

static void say_no_time(struct clock *c, const struct trouble *t)
{
	say(c, t->what ? t->action : "wait some seconds", "%s%s%s%s",
	    t->what ? t->what : "labels do not agree yet",
	    c->config.system_clock && !c->view.system_synced
		    ? "; the system clock is not synchronised"
		    : "",
	    c->void_reason[0] ? "; " : "", c->void_reason);
}

/* gpsd's labels agree with each other, but not with the synchronised system clock. */
static bool say_denied(struct clock *c)
{
	const struct clock_line *line = clock_track_best(c, &c->gpsd, c->config.confirm);
	double by_s;

	if (!line || clock_has_label(c) || !clock_denies(c, line->offset)) {
		return false;
	}
	by_s = (double)clock_line_minus_system(c, line->offset) / 1e9;
	say(c,
	    "reports of the receiver that come a second late? Else find out which is wrong; if it "
	    "is the system clock, correct it or set [clock] system_tolerance_ms = 0",
	    "gpsd is %.0f s %s the synchronised system clock: as the first label that is not taken",
	    fabs(by_s), by_s < 0 ? "behind" : "ahead of");
	return true;
}

static void say_acquiring(struct clock *c, const struct trouble *t)
{
	if (say_denied(c)) {
		return;
	}
	if (c->provisional) {
		say(c, "wait for its confirmation",
		    "a PPS moved the board's count; the second was carried over");
		return;
	}
	say(c, t->what ? t->action : "wait some seconds", "labels are being compared%s%s%s%s",
	    t->what ? "; " : "", t->what ? t->what : "", c->void_reason[0] ? "; " : "",
	    c->void_reason);
}

static void say_locked(struct clock *c, const struct trouble *t)
{
	const char *other = t->what ? t->what : "gpsd is being compared";

	c->holdover_by = NULL;
	if (c->label.source == LABEL_GPSD) {
		say(c, "", "gpsd and PPS agree with the board's count");
	} else if (c->label.source == LABEL_EMULATOR) {
		say(c, "", "the emulator labels itself; gpsd is not asked");
	} else {
		say(c, t->action, "%s agree; %s",
		    c->label.source == LABEL_FLOORS ? "the floors' time words"
						    : "system clock and PPS",
		    other);
	}
}

static void say_holdover(struct clock *c, const struct trouble *t)
{
	const char *how = c->adopted ? "the predecessor's label, not confirmed yet"
			  : c->label.source == LABEL_FLOORS && !c->source_good
				  ? "the floors' time words say: receiver without fix"
			  : c->label.source == LABEL_SYSTEM ? "time by the system clock"
							    : "time goes on by the board's count";

	if (t->what && !t->passes) {
		c->holdover_by = t->what;
	}
	if (t->what || !c->holdover_by) {
		say(c, t->action, "%s; %s", how, t->what ? t->what : "labels are being compared");
	} else {
		say(c, t->action, "%s; labels are being compared (it was: %s)", how,
		    c->holdover_by);
	}
}

void clock_say(struct clock *c)
{
	struct trouble t = gps_trouble(c);

	if (c->board_gone && c->label.state != CLOCK_LOCKED && c->label.state != CLOCK_FAULT) {
		say(c, "see board-gone: time comes back with the board",
		    "the board is gone, and with it its count and its PPS");
		return;
	}
	if (c->emulated && c->label.state != CLOCK_LOCKED) {
		say(c, "wait until links are aligned",
		    "the emulator labels itself, but its floors' time words are not there");
		return;
	}
	switch ((enum clock_state)c->label.state) {
	case CLOCK_NO_TIME:
		say_no_time(c, &t);
		break;
	case CLOCK_ACQUIRING:
		say_acquiring(c, &t);
		break;
	case CLOCK_LOCKED:
		say_locked(c, &t);
		break;
	case CLOCK_HOLDOVER:
		say_holdover(c, &t);
		break;
	case CLOCK_FAULT:
		say_fault(c);
		break;
	}
}

void clock_words(const struct label *label, char *text, size_t size)
{
	enum clock_state state = (enum clock_state)label->state;
	const char *name = clock_state_name(state);

	if (state == CLOCK_NO_TIME) {
		snprintf(text, size, "no time, no source");
	} else if (label->source == LABEL_NONE) {
		snprintf(text, size, "%s, no source yet", name);
	} else {
		snprintf(text, size, "%s%s by %s", name, state == CLOCK_LOCKED ? "" : ", last",
			 label_source_name(label->source));
	}
}

void clock_relabelled_words(const struct clock_relabelling *r, char *text, size_t size)
{
	char date[40];

	text_utc(date, sizeof(date), r->utc_ns);
	snprintf(text, size,
		 "time relabelled by %+.3f s at %s UTC (the new time), time epoch %u -> %u",
		 (double)r->by_ns / 1e9, date, r->epoch - 1, r->epoch);
}

void clock_system_words(const struct clock_view *v, char *text, size_t size)
{
	double ahead_s = (double)v->system_minus_label_ns / 1e9;

	if (v->system_minus_label_ns == INT64_MIN) {
		snprintf(text, size, "%ssynchronised; there is no label to compare it with",
			 v->system_synced ? "" : "not ");
	} else if (v->system_disagrees) {
		snprintf(text, size,
			 "synchronised, yet %.3f s %s the time in use, labelled by %s: one of the "
			 "two is wrong, neither is proven right",
			 fabs(ahead_s), ahead_s < 0 ? "behind" : "ahead of",
			 label_source_name(v->label.source));
	} else {
		snprintf(text, size, "%ssynchronised%s, %.6f s %s the time in use",
			 v->system_synced ? "" : "not ",
			 v->system_synced ? "" : " and proves nothing", fabs(ahead_s),
			 ahead_s < 0 ? "behind" : "ahead of");
	}
}
