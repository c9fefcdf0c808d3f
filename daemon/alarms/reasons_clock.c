// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reasons that the clock gives to `status`: its state if not LOCKED; a relabelling, or a disagreement with the system
 * clock; a leap-second table that is missing, expired or contradicted.
 */
#include <stdio.h>

#include "daemon/alarms/private.h"

/* Warnings that can appear in any state, also in LOCKED. */
static void clock_doubts(struct judge *j, const struct clock_view *v)
{
	char text[200];

	if (v->relabelled.when_ns && j->v->now_ns - v->relabelled.when_ns < RELABEL_SHOWN_NS) {
		clock_relabelled_words(&v->relabelled, text, sizeof(text));
		reasons_add_at(
			j, "clock-relabelled", object_epoch(v->relabelled.epoch),
			v->relabelled.when_ns, 0,
			"which time is right? Compare with a third clock (fcmctl clock show), tell "
			"the trigger and acoustic groups; it is shown for an hour",
			"%s", text);
	}
	if (v->system_disagrees) {
		clock_system_words(v, text, sizeof(text));
		reasons_add(j, false, "clock-system", object_thing("clock"),
			    "compare both with a third clock: chronyc tracking or timedatectl "
			    "timesync-status, and gpsmon; events and commands are timed by the "
			    "system clock, data by the label",
			    "the system clock is %s", text);
	}
}

static void leap_reasons(struct judge *j, const struct clock_view *v)
{
	if (j->v->leaps_error) {
		reasons_add(j, false, "leap-table-missing", object_thing("clock"),
			    "apt-get install tzdata, or name the file in [clock] leap_file; it is "
			    "read again every minute",
			    "%s: %s; TAI-UTC = %d s is taken as it was%s", j->v->config.leap_file,
			    strerror(-j->v->leaps_error), v->label.tai_utc_s,
			    v->label.leap ? ", and the leap second that it announced" : "");
	}
	if (v->leap_table_expired) {
		reasons_add(
			j, false, "leap-table-expired", object_thing("clock"),
			"apt-get install tzdata",
			"the table of leap seconds has expired; TAI-UTC = %d s is taken as it was",
			v->label.tai_utc_s);
	}
	if (v->leap_mismatch) {
		reasons_add(j, false, "leap-mismatch", object_thing("clock"),
			    "a receiver that started cold: wait 12.5 minutes; if it stays, apt-get "
			    "install tzdata: the table is older than the receiver's almanac",
			    "gpsd or the floors' time words count other leap seconds than the "
			    "table, which says TAI-UTC = %d s",
			    v->label.tai_utc_s);
	}
}

void reasons_clock(struct judge *j)
{
	static const char *const codes[] = {
		[CLOCK_NO_TIME] = "clock-no-time",
		[CLOCK_ACQUIRING] = "clock-acquiring",
		[CLOCK_LOCKED] = NULL,
		[CLOCK_HOLDOVER] = "clock-holdover",
		[CLOCK_FAULT] = "clock-fault",
	};
	const struct clock_view *v = &j->v->clock;
	const char *code = codes[v->label.state];
	char words[64];

	if (code) {
		clock_words(&v->label, words, sizeof(words));
		reasons_add(j, v->label.state == CLOCK_NO_TIME || v->label.state == CLOCK_FAULT,
			    code, object_thing("clock"), v->action ? v->action : "", "%s: %s",
			    words, v->reason ? v->reason : "");
	}
	clock_doubts(j, v);
	leap_reasons(j, v);
}
