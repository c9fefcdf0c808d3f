// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Why the station is not well: the list of reasons of status, each with what to do. No data is red. A
 * command in an advice can be typed as it stands: test_advice reads them from here.
 */
#include "daemon/alarms/reasons.h"
#include "daemon/alarms/alarms_say.h"
#include "daemon/alarms/reason_kinds.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define BOOT_SHOWN_NS 600000000000ull
#define BACK_SHOWN_NS 600000000000ull
#define LAG_NS	      500000000ull
#define TICK_STUCK_NS 1000000000ull
#define LATE_SHOWN_NS 60000000000ull
#define DISK_LOW      0.05

/* Of a reason while they are collected. */
#define SINCE_NS "since_ns"

static bool fresh_start(const struct station *s)
{
	return now_mono_ns() - s->started_ns < START_GRACE_NS;
}

static uint64_t hold_ns(const char *code)
{
	const struct reason_kind *k = reason_kind(code);

	return k ? k->hold_ns : 0;
}

static bool quiet(const char *code)
{
	const struct reason_kind *k = reason_kind(code);

	return k && k->quiet;
}

/* A mute floor whose link has gone dark is not over: it is when the floor has answered. */
static bool still_mute(struct station *s, const struct debounce_reason *e)
{
	if (strcmp(e->code, "floor-mute") != 0) {
		return false;
	}
	for (unsigned link = 0; link < NANET3_LINKS; link++) {
		struct engine_link_view v;
		char object[sizeof(e->object)];

		engine_link_view(s->engine, link, &v);
		snprintf(object, sizeof(object), "tower%u.floor%u", v.tower, v.floor);
		if (v.configured && strcmp(object, e->object) == 0) {
			return v.last_reply_ns < e->seen_ns;
		}
	}
	return false;
}

/* A group, as the object of a reason, that has no member now. */
static bool unattended(const struct station *s, const char *object)
{
	for (unsigned n = 0; n < s->publisher_status.groups; n++) {
		const struct publisher_group_status *g = &s->publisher_status.group[n];
		char name[48];

		snprintf(name, sizeof(name), "group %s", g->name);
		if (strcmp(name, object) == 0) {
			return g->members == 0;
		}
	}
	return false;
}

static struct engine_now now_of(const struct reasons *r)
{
	return (struct engine_now){r->now_ns, now_utc_ns()};
}

/* What is not seen any more because nobody can look is not over. Why not; NULL: it is. */
static const char *unseen(struct station *s, const struct debounce_reason *e)
{
	const struct reason_kind *k = reason_kind(e->code);
	unsigned link;

	if (still_mute(s, e)) {
		return "it cannot be asked";
	}
	if (k && k->board && !s->board_present) {
		return "the board is gone";
	}
	if (strncmp(e->code, "phase-", 6) == 0 && sscanf(e->object, "link%u", &link) == 1 &&
	    link < NANET3_LINKS && links_other_floor(s, link)) {
		return "another floor is on its fibre";
	}
	return reasons_floor_unseen(s, e);
}

/* What stands, as people see it: its level may be held, and it counts unless it is paused. It began when its
 * event and its alarm say; `since_ns` (UTC) is of one that has no alarm. */
static void list_reason(struct reasons *r, const struct what *w, const char *text,
			const struct alarm *alarm, int64_t since_ns)
{
	bool red = alarm ? alarm->level == LEVEL_ALARM : w->red;
	bool paused = alarm && alarm_is_paused(alarm);
	json_t *reason;

	since_ns = alarm ? alarm->since_ns : since_ns;
	reason = json_pack("{s:s,s:s,s:s,s:s,s:s,s:o,s:I}", "severity", red ? "red" : "warning",
			   "code", w->code, "object", w->object, "text", text, "action", w->action,
			   "since", json_time(since_ns), SINCE_NS, (json_int_t)since_ns);

	alarms_say_reason(reason, alarm);
	r->red += red && !paused;
	json_array_append_new(r->list, reason);
}

/* As it was seen last. */
static void list_unseen(struct reasons *r, const struct debounce_reason *e, const char *why)
{
	const struct alarm *a = alarms_find(r->station->alarms, e->object, e->code);
	struct what w = {.code = e->code, .object = e->object};
	char text[sizeof(a->text) + 80];

	if (a && a->state == ALARM_RAISED) {
		w.action = a->action;
		snprintf(text, sizeof(text), "%s (not known for %.0f s: %s)", a->text,
			 (double)(r->now_ns - e->seen_ns) / 1e9, why);
		list_reason(r, &w, text, a, a->since_ns);
	}
}

static void forget_gone(struct reasons *r)
{
	struct station *s = r->station;
	struct debounce_reason *e = NULL;
	char text[256];

	while ((e = debounce_over(&s->standing, e, r->now_ns))) {
		const char *why = unseen(s, e);

		if (why) {
			list_unseen(r, e, why);
			continue;
		}
		if (e->told && !quiet(e->code)) {
			bool gone =
				strcmp(e->code, "consumer-lag") == 0 && unattended(s, e->object);

			snprintf(text, sizeof(text), "is over, after %.1f s%s",
				 (double)(e->seen_ns - e->since_ns) / 1e9,
				 gone ? ": the consumer is gone, not caught up" : "");
			if (strcmp(e->code, "hits-lost") == 0) {
				reasons_hits_over(s, e->object, text, sizeof(text));
			}
			store_put_event(s->store, "info", e->code, e->object, text, "",
					now_utc_ns());
		}
		alarms_over(s->alarms, e->object, e->code, now_of(r));
		debounce_forget(e);
	}
}

void reasons_add_parts(struct reasons *r, const struct what *w, const char *text)
{
	struct station *s = r->station;
	struct debounce_reason *e = debounce_see(&s->standing, w->code, w->object, hold_ns(w->code),
						 w->parts, r->now_ns);
	struct alarm_sight sight = {.object = w->object,
				    .code = w->code,
				    .text = text,
				    .action = w->action,
				    .level = w->red ? LEVEL_ALARM : LEVEL_WARNING,
				    .latch = w->latch,
				    .parts = w->parts};
	const struct reason_kind *kind = reason_kind(w->code);
	bool told;

	if (e && !debounce_begun(e)) {
		return;
	}
	/* What every start brings is no event of the station's history; what has outlived a daemon is. */
	told = e && (!fresh_start(s) || (kind && kind->outlives)) && debounce_tell(e);
	if (told && !(kind && kind->quiet)) {
		store_put_event(s->store, w->red ? "alarm" : "warning", w->code, w->object, text,
				w->action, now_utc_ns());
	}
	if (told && w->red) {
		records_alarm(s, w->object, w->code, text);
	}
	list_reason(r, w, text, e ? alarms_see(s->alarms, &sight, now_of(r)) : NULL,
		    now_of(r).utc_ns - (e ? (int64_t)(r->now_ns - e->since_ns - e->hold_ns) : 0));
}

/* Over, but nobody has acknowledged it. */
static void list_latched(struct reasons *r)
{
	const struct alarm *a = NULL;
	char text[sizeof(a->text) + 80];

	while ((a = alarms_next(r->station->alarms, a))) {
		struct what w = {.code = a->code, .object = a->object, .action = a->action};
		struct engine_now now = now_of(r);

		if (a->state != ALARM_LATCHED) {
			continue;
		}
		snprintf(text, sizeof(text),
			 "is over for %.0f s, and waits to be acknowledged; it was: %s",
			 (double)(now.utc_ns - a->over_ns) / 1e9, a->text);
		list_reason(r, &w, text, a, a->since_ns);
	}
}

void reasons_add(struct reasons *r, bool red, const char *code, const char *object,
		 const char *action, const char *format, ...)
{
	struct what w = {.red = red, .code = code, .object = object, .action = action};
	char text[400];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	reasons_add_parts(r, &w, text);
}

struct advice {
	char text[200];
};

/* What to do about something that has a number. */
static const char *__attribute__((format(printf, 2, 3)))
advise(struct advice *a, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(a->text, sizeof(a->text), format, ap);
	va_end(ap);
	return a->text;
}

static double seconds_since(uint64_t then_ns)
{
	return (double)(now_mono_ns() - then_ns) / 1e9;
}

/* It counts anew since it was away: the rings, and what the floors sent meanwhile, are in no account. */
static void back_reason(struct station *s, struct reasons *r)
{
	static const char action[] =
		"nothing to do at the fibres; which time: fcmctl ledger show; why "
		"it went: dmesg";
	char text[128];

	if (s->counts_restarted_ns < s->board_gone_ns || !s->board_gone_ns ||
	    r->now_ns - s->board_back_ns > BACK_SHOWN_NS) {
		return;
	}
	snprintf(text, sizeof(text),
		 "the board was gone and counts anew: about %.1f s of all links are not accounted "
		 "for",
		 (double)(s->board_back_ns - s->board_gone_ns) / 1e9);
	if (s->board_back_told_ns != s->board_back_ns) {
		s->board_back_told_ns = s->board_back_ns;
		store_put_event(s->store, "warning", "board-back", "board", text, action,
				now_utc_ns());
	}
	reasons_add(r, false, "board-back", "board", action, "%s", text);
}

static void board_reasons(struct station *s, struct reasons *r)
{
	double tick_s = seconds_since(s->capture_status.last_tick_ns);

	if (!s->board_present) {
		reasons_add(r, true, "board-gone", "board",
			    "check lspci, dmesg and the module nanet3; the daemon re-opens it by "
			    "itself",
			    "the board at %s is gone", s->config.board.device);
		return;
	}
	back_reason(s, r);
	if (watch_board(s->watch)->status & NANET3_STATUS_STALLED) {
		s->stalled_at_ns = r->now_ns;
		reasons_add(r, true, "board-stalled", "board",
			    "if it does not recover within seconds, reload the module nanet3 or "
			    "power-cycle "
			    "the board",
			    "the board's DMA has stalled: it hands over no data");
	}
	if (s->capture_status.last_tick_ns && tick_s * 1e9 > (double)TICK_STUCK_NS) {
		reasons_add(
			r, true, "capture-stuck", "capture",
			"systemd's watchdog restarts the daemon; see journalctl -u fcm-server@N",
			"the capture thread has not ticked for %.1f s", tick_s);
	}
}

/* The machine did not let us run: what looks like silent links or slow consumers then is none. */
static void machine_reason(struct station *s, struct reasons *r)
{
	if (s->late_ns && now_mono_ns() - s->late_at_ns < LATE_SHOWN_NS) {
		reasons_add(r, false, "machine-late", "machine",
			    "what else runs on this PC? top, vmstat 1. Links seen as silent and "
			    "consumers dropped as slow in that time are its doing",
			    "the daemon did not get to run for %.1f s", (double)s->late_ns / 1e9);
	}
}

bool reasons_just_late(const struct station *s)
{
	uint64_t at = s->late_at_ns > s->held_at_ns ? s->late_at_ns : s->held_at_ns;

	return at && now_mono_ns() - at < 3 * SILENT_NS;
}

/* A board that hands over nothing is one reason, not one a link. */
static bool just_stalled(const struct station *s)
{
	return s->stalled_at_ns && now_mono_ns() - s->stalled_at_ns < 3 * SILENT_NS;
}

static void dark_reason(unsigned link, const struct watch_link *w, const char *object,
			struct reasons *r)
{
	struct advice a = {.text = ""};

	if (w->status & NANET3_LSTAT_SIGNAL) {
		reasons_add(r, true, "link-dark", object,
			    advise(&a,
				   "fcmctl link reset %u; if it stays: fcmctl link show %u, is "
				   "there enough received power?",
				   link, link),
			    "light, but no lock");
	} else {
		reasons_add(r, true, "link-dark", object,
			    "is the floor powered? Check fibre and SFP; it locks by itself when "
			    "the light is back",
			    "no light");
	}
}

static void boot_reason(struct station *s, unsigned link, struct reasons *r)
{
	const struct station_link *l = &s->link[link];
	const struct boots_floor *f = boots_find(&s->boots, l->named_tower, l->named_floor);
	char action[128], object[24];

	if (!f || !f->booted_ns || now_mono_ns() - f->booted_ns > BOOT_SHOWN_NS) {
		return;
	}
	snprintf(object, sizeof(object), "tower%u.floor%u", f->tower, f->floor);
	snprintf(action, sizeof(action),
		 "compare what is set: fcmctl get 'floor%u.om*.hv', and set anew what is gone",
		 f->floor);
	reasons_add(
		r, false, "fcm-booted", object, action,
		"the FCM of tower %u floor %u booted %.0f s ago (boot count %u): its settings may "
		"be lost",
		f->tower, f->floor, seconds_since(f->booted_ns), f->count);
}

/*
 * Frames off the board's grid: bytes came in or went while the board held its lock (a new lock begins at
 * byte 0). The board measures the phase below that, so there is no re-lock to judge: say so, and how it is.
 * Each further slip is an event.
 */
static void slip_reason(struct station *s, unsigned link, const char *object, struct reasons *r)
{
	struct what w = {.code = "byte-slip", .object = object};
	uint32_t offset = links_offset(s, link);
	struct advice a = {.text = ""};
	struct phase_view v;
	char text[256];

	if (!offset) {
		return;
	}
	phase_get_view(s->link[link].phase, now_mono_ns(), &v);
	snprintf(text, sizeof(text),
		 "frames begin at byte %u of the board's cells: bytes slipped in while its lock "
		 "held, so the phase gets no new verdict; it stands %+.0f ps from the reference",
		 offset, v.difference_ps);
	w.parts = 1u << s->link[link].slips % 32;
	w.action = advise(&a, "fcmctl link align %u brings them back, and a verdict", link);
	reasons_add_parts(r, &w, text);
}

/* The way down is another fibre and another laser: nothing of what comes up need be wrong. */
static void downlink_reason(struct station *s, unsigned link, const char *object, struct reasons *r)
{
	const struct config_link *c = &s->config.link[link];
	uint64_t damaged = links_recent_downlink(s, link);
	struct advice a = {.text = ""};

	if (!damaged) {
		return;
	}
	reasons_add(
		r, false, "downlink-errors", object,
		advise(&a,
		       "if it goes on: fcmctl get floor%u.fcm.rx_power; fcmctl link show %u, its "
		       "tx_power_nw; then clean the connectors of the fibre down",
		       c->floor, link),
		"the floor hears us badly: %llu of our frames came damaged there in the last "
		"minute; commands in them are lost and asked again, a floor that seems mute may "
		"only not hear",
		(unsigned long long)damaged);
}

static void link_reasons(struct station *s, unsigned link, struct reasons *r)
{
	const struct station_link *l = &s->link[link];
	const struct config_link *c = &s->config.link[link];
	const char *state = status_link_state(s, link);
	struct advice a = {.text = ""};
	char object[16];

	snprintf(object, sizeof(object), "link%u", link);
	if (strcmp(state, "dark") == 0) {
		dark_reason(link, watch_link(s->watch, link), object, r);
	} else if (strcmp(state, "aligning") == 0 && !fresh_start(s)) {
		reasons_add(r, true, "link-unaligned", object,
			    advise(&a, "fcmctl link align %u; if it stays, fcmctl link reset %u",
				   link, link),
			    "locked, but no frame structure is found in the bytes");
	} else if (strcmp(state, "silent") == 0 && !fresh_start(s) && !reasons_just_late(s) &&
		   !just_stalled(s)) {
		reasons_add(r, true, "link-silent", object,
			    advise(&a,
				   "fcmctl link show %u: do bytes come at all? Then fcmctl link "
				   "reset %u",
				   link, link),
			    "locked, but no good frame for %.1f s",
			    seconds_since(l->data.last_good_ns));
	}
	if (links_other_floor(s, link)) {
		reasons_add(r, true, "floor-identity", object,
			    "swap the fibres back, or correct [link] in the configuration",
			    "tower %u floor %u is on this fibre, configured is tower %u floor %u: "
			    "swapped fibres? Its data keep its own name, writes to it are refused, "
			    "the phase is not judged until the right floor is back",
			    l->named_tower, l->named_floor, c->tower, c->floor);
	}
	slip_reason(s, link, object, r);
	reasons_link_loss(r, link, object);
	downlink_reason(s, link, object, r);
	if (l->data.ring_depth &&
	    (l->data.ring_write - l->data.ring_release) * 4 > l->data.ring_depth * 3) {
		reasons_add(r, true, "ring-fill", object,
			    "fcmctl consumer list: who holds it back?",
			    "the link ring is %llu %% full",
			    (unsigned long long)((l->data.ring_write - l->data.ring_release) * 100 /
						 l->data.ring_depth));
	}
	boot_reason(s, link, r);
}

/* Nothing is known of a phase that nobody measures, however good it was. */
static void silent_phase(struct station *s, unsigned link, const struct phase_view *v,
			 const char *object, struct reasons *r)
{
	struct advice a = {.text = ""};

	if (!(v->silent || v->unjudged) || reasons_just_late(s)) {
		return;
	}
	advise(&a,
	       "fcmctl link reset %u; if it stays, power-cycle the board; until then nobody "
	       "sees a slip",
	       link);
	if (v->silent) {
		reasons_add(r, true, "phase-silent", object, a.text,
			    "locked, but the board has measured no phase for %.1f s",
			    seconds_since(v->heard_ns));
	} else {
		reasons_add(r, true, "phase-silent", object, a.text,
			    "locked, but too few phases came in %.1f s to judge it",
			    seconds_since(v->lock_ns));
	}
}

/* An event at each doubling of what is tolerated. Red from half a bit on: what is off by more may be
 * taken for a slip at the next lock. */
static void drift_reason(struct station *s, unsigned link, const struct phase_view *v,
			 const char *object, struct reasons *r)
{
	struct what w = {.code = "phase-drift", .object = object};
	struct advice a = {.text = ""};
	double tolerated_ps = s->config.phase.drift_ps;
	char text[160];

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
	reasons_add_parts(r, &w, text);
}

static void phase_reasons(struct station *s, unsigned link, struct reasons *r)
{
	struct phase_view v;
	struct advice a = {.text = ""};
	char object[16];

	if (links_other_floor(s, link)) {
		return; /* nobody is to accept that floor's phase */
	}
	phase_get_view(s->link[link].phase, now_mono_ns(), &v);
	snprintf(object, sizeof(object), "link%u", link);
	silent_phase(s, link, &v, object, r);
	switch (v.last.verdict) {
	case PHASE_SLIP:
		reasons_add(r, true, "phase-slip", object,
			    advise(&a,
				   "fcmctl link reset %u; if it stays and is understood: fcmctl "
				   "phase accept %u --reason TEXT",
				   link, link),
			    "the last re-lock came back %d bit(s) off: %.0f ps from the reference",
			    v.last.slip, v.last.difference_ps);
		break;
	case PHASE_JUMP:
		reasons_add(r, true, "phase-jump", object,
			    advise(&a,
				   "was the fibre changed? fcmctl phase history %u; once: fcmctl "
				   "link reset %u; what stays is the expert's to accept: fcmctl "
				   "phase accept %u --reason TEXT",
				   link, link, link),
			    "the last re-lock came back %.0f ps from the reference",
			    v.last.difference_ps);
		break;
	case PHASE_DRIFT:
		drift_reason(s, link, &v, object, r);
		break;
	default:
		break;
	}
}

/* What stays to be told when the clock's state is well again. */
static void clock_doubts(const struct clock_view *v, struct reasons *r)
{
	char text[200], object[32];

	if (v->relabelled.when_ns && r->now_ns - v->relabelled.when_ns < RELABEL_SHOWN_NS) {
		clock_relabelled_words(&v->relabelled, text, sizeof(text));
		snprintf(object, sizeof(object), "time epoch %u", v->relabelled.epoch);
		reasons_add(
			r, false, "clock-relabelled", object,
			"which time is right? Compare with a third clock (fcmctl clock show), tell "
			"the trigger and acoustic groups; it is shown for an hour",
			"%s", text);
	}
	if (v->system_disagrees) {
		clock_system_words(v, text, sizeof(text));
		reasons_add(
			r, false, "clock-system", "clock",
			"compare both with a third clock: chronyc tracking or timedatectl "
			"timesync-status, and gpsmon; events and commands are timed by the system "
			"clock, data by the label",
			"the system clock is %s", text);
	}
}

static void leap_reasons(struct station *s, const struct clock_view *v, struct reasons *r)
{
	if (s->leaps_error) {
		reasons_add(
			r, false, "leap-table-missing", "clock",
			"apt-get install tzdata, or name the file in [clock] leap_file; it is read "
			"again every minute",
			"%s: %s; TAI-UTC = %d s is taken as it was%s", s->config.clock.leap_file,
			strerror(-s->leaps_error), v->label.tai_utc_s,
			v->label.leap ? ", and the leap second that it announced" : "");
	}
	if (v->leap_table_expired) {
		reasons_add(
			r, false, "leap-table-expired", "clock", "apt-get install tzdata",
			"the table of leap seconds has expired; TAI-UTC = %d s is taken as it was",
			v->label.tai_utc_s);
	}
	if (v->leap_mismatch) {
		reasons_add(
			r, false, "leap-mismatch", "clock",
			"a receiver that started cold: wait 12.5 minutes; if it stays, apt-get "
			"install tzdata: the table is older than the receiver's almanac",
			"gpsd or the floors' time words count other leap seconds than the table, "
			"which says TAI-UTC = %d s",
			v->label.tai_utc_s);
	}
}

static void clock_reasons(struct station *s, struct reasons *r)
{
	struct clock_view v;
	const char *code;
	char words[64];

	clock_get_view(s->clock, &v);
	switch ((enum clock_state)v.label.state) {
	case CLOCK_NO_TIME:
		code = "clock-no-time";
		break;
	case CLOCK_FAULT:
		code = "clock-fault";
		break;
	case CLOCK_ACQUIRING:
		code = "clock-acquiring";
		break;
	case CLOCK_HOLDOVER:
		code = "clock-holdover";
		break;
	default:
		code = NULL;
	}
	if (code) {
		clock_words(&v.label, words, sizeof(words));
		reasons_add(r, v.label.state == CLOCK_NO_TIME || v.label.state == CLOCK_FAULT, code,
			    "clock", v.action ? v.action : "", "%s: %s", words,
			    v.reason ? v.reason : "");
	}
	clock_doubts(&v, r);
	leap_reasons(s, &v, r);
}

static bool lags(const struct publisher_group_status *g)
{
	return g->members > 0 && g->oldest_ns > LAG_NS;
}

/* Different programs that are all late at once: what they have in common is this machine. */
static bool all_lag(const struct publisher_status *p)
{
	unsigned lagging = 0, attended = 0;

	for (unsigned n = 0; n < p->groups; n++) {
		attended += p->group[n].members > 0;
		lagging += lags(&p->group[n]);
	}
	return lagging > 1 && lagging == attended;
}

/* ": acoustic-1 holds it" where a member holds the oldest block, "" where it waits in the group. */
static const char *slowest(const struct publisher_status *p, unsigned group, char *text,
			   size_t size)
{
	const struct publisher_group_status *g = &p->group[group];

	*text = '\0';
	for (unsigned n = 0; n < p->members; n++) {
		const struct publisher_member_status *m = &p->member[n];

		if (strcmp(m->group, g->name) == 0 && m->oldest_ns == g->oldest_ns) {
			snprintf(text, size, ": %s holds it", m->name);
		}
	}
	return text;
}

/* One that was stopped is there still: a second one beside it is not what helps. */
static void nobody_reason(struct station *s, const char *group, const char *object,
			  struct reasons *r)
{
	static const char loses[] = "its data are dropped once its share of ring or memory is used";
	const char *endpoint = s->config.data.reserved_endpoint;
	char action[CONFIG_STRING + 160], silent[120];

	if (member_events_silent(&s->publisher_status, group, r->now_ns, now_utc_ns(), silent,
				 sizeof(silent))) {
		snprintf(action, sizeof(action),
			 "is that program hung, or its machine or network gone? It goes on by "
			 "itself when it runs again; start it anew only where it has ended: it "
			 "connects to %s",
			 endpoint);
		reasons_add(r, true, "consumer-none", object, action,
			    "%s: is it stopped? No other consumer is connected: %s", silent, loses);
		return;
	}
	snprintf(action, sizeof(action), "start the consumer; it connects to %s", endpoint);
	reasons_add(r, true, "consumer-none", object, action, "no consumer is connected: %s",
		    loses);
}

static void open_reason(struct station *s, struct reasons *r)
{
	const struct config *c = &s->config;

	if (config_is_open(c)) {
		reasons_add(r, false, "data-open", "data",
			    "give consumers keys and the daemon [data] curve = yes (fcmctl key "
			    "make NAME ROLE), or let a firewall keep all others out",
			    "[data] insecure: whoever reaches %s%s%s can take the data, or a "
			    "consumer's place",
			    c->data.reserved_endpoint, *c->data.monitor_endpoint ? " or " : "",
			    c->data.monitor_endpoint);
	}
}

static void consumer_reasons(struct station *s, struct reasons *r)
{
	bool together;

	open_reason(s, r);
	reports_groups(s);
	together = all_lag(&s->publisher_status);
	for (unsigned n = 0; n < s->publisher_status.groups; n++) {
		const struct publisher_group_status *g = &s->publisher_status.group[n];
		char object[48], who[64];

		snprintf(object, sizeof(object), "group %s", g->name);
		if (s->publisher_status.has_feed && n + 1 == s->publisher_status.groups) {
			reasons_feed(r, fresh_start(s));
		} else if (g->members == 0 && !fresh_start(s)) {
			nobody_reason(s, g->name, object, r);
		} else if (lags(g) && !fresh_start(s)) {
			reasons_add(r, false, "consumer-lag", object,
				    together ? "all groups lag together: look at this machine "
					       "first, what else runs on it? top, vmstat 1; "
					       "then fcmctl consumer list"
					     : "is the consumer busy? fcmctl consumer list",
				    "the oldest block waits for %.1f s%s",
				    (double)g->oldest_ns / 1e9,
				    slowest(&s->publisher_status, n, who, sizeof(who)));
		}
		reasons_drops(r, n, object);
	}
}

/* As found by the disk thread (disk.h): this thread does not access the disk. */
static void disk_reasons(struct station *s, struct reasons *r)
{
	uint64_t now = now_mono_ns();
	struct disk_status v;

	disk_get_status(s->disk, &v);
	if (v.asked_ns && now - v.asked_ns > DISK_HANGS_NS) {
		reasons_add(
			r, true, "disk-hangs", "disk",
			"look at the disk: dmesg, iostat. What makes safer (fcmctl safe) does "
			"not need it",
			"the disk of %s has not answered for %.1f s; other commands wait for it",
			s->config.store.database, (double)(now - v.asked_ns) / 1e9);
	}
	if (v.known && v.free_bytes < DISK_LOW * v.size_bytes) {
		reasons_add(r, true, "disk-low", "disk", "free space",
			    "less than %.0f %% of the disk of %s is free", DISK_LOW * 100,
			    s->config.store.database);
	}
}

static void emergency_reasons(struct station *s, struct reasons *r)
{
	struct emergency_status v;

	emergency_get_status(s->emergency, &v);
	if (v.rows > 0 || v.folded > 0) {
		reasons_add(r, false, "emergency-rows", "store",
			    "none for these: they are stored when the database answers",
			    "what made safer was sent before it was journaled: %u rows and %llu "
			    "commands without rows wait in the emergency journal",
			    v.rows, (unsigned long long)v.folded);
	}
	if (v.own_memory) {
		reasons_add(
			r, false, "emergency-memory", "store",
			"make its directory, of the daemon's user, on a tmpfs: [store] emergency",
			"the emergency journal cannot be mapped (%s): what it holds does not "
			"survive the daemon",
			v.error);
	}
	if (v.dropped > 0) {
		reasons_add(r, true, "emergency-full", "store", "the system log names the commands",
			    "%llu rows did not fit into the emergency journal and are not "
			    "recorded",
			    (unsigned long long)v.dropped);
	}
}

static void store_reasons(struct station *s, struct reasons *r)
{
	struct store_status v;

	store_get_status(s->store, &v);
	if (v.away) {
		struct advice a = {.text = ""};

		reasons_add(r, true, "store-failing", "store",
			    advise(&a, "%s It is tried again by itself", v.last_error_hint),
			    "%s; commands are refused, except what makes safer; %llu rows wait in "
			    "memory",
			    v.last_error_text, (unsigned long long)v.queued);
	} else if (v.failing) {
		struct journal_trouble t = journal_trouble(v.last_error);
		struct advice a = {.text = ""};

		reasons_add(r, true, "store-failing", "store",
			    advise(&a, "%s It is tried again by itself", t.action),
			    "the database %s cannot be written: %s; commands are refused, except "
			    "what makes safer",
			    s->config.store.database, t.what);
	} else if (v.lag_ns > 5000000000ull) {
		reasons_add(r, true, "store-lag", "store", "is the disk slow? iostat",
			    "rows wait for %.1f s to be written", (double)v.lag_ns / 1e9);
	}
	if (v.keep_failing && !v.failing) {
		reasons_add(r, false, "store-keep", "store",
			    "a clock: set it right, or restart the daemon if it is; else look at "
			    "the disk. The file grows until this is well again",
			    "old rows of %s cannot be rolled up: %s", s->config.store.database,
			    v.keep_error_text);
	}
	if (v.given_up || v.refused || s->capture_status.reports_lost) {
		reasons_add(
			r, true, "store-lost", "store",
			"keep the system log: what the database misses stands there; look at the "
			"disk",
			"rows lost since the start: %llu given up, %llu refused by a full queue, "
			"%llu "
			"reports of capture",
			(unsigned long long)v.given_up, (unsigned long long)v.refused,
			(unsigned long long)s->capture_status.reports_lost);
	}
	disk_reasons(s, r);
	emergency_reasons(s, r);
}

static json_int_t since_of(const json_t *reason)
{
	return json_integer_value(json_object_get(reason, SINCE_NS));
}

/* 0: red and counts, 1: a warning, 2: paused. */
static int rank(const json_t *reason)
{
	const json_t *covers = json_object_get(json_object_get(reason, "paused"), "covers");
	bool red = strcmp(json_string_value(json_object_get(reason, "severity")), "red") == 0;

	if (covers && (!red || strcmp(json_string_value(covers), "red") == 0)) {
		return 2;
	}
	return red ? 0 : 1;
}

/* Red ones first, paused ones last, then the oldest; as collected where both are the same. */
static bool comes_before(const json_t *a, const json_t *b)
{
	return rank(a) != rank(b) ? rank(a) < rank(b) : since_of(a) < since_of(b);
}

static void put_in_order(struct reasons *r)
{
	json_t *sorted = json_array(), *e;
	size_t n;

	json_array_foreach (r->list, n, e) {
		size_t place = json_array_size(sorted);

		while (place > 0 && comes_before(e, json_array_get(sorted, place - 1))) {
			place--;
		}
		json_array_insert(sorted, place, e);
	}
	json_array_foreach (sorted, n, e) {
		json_object_del(e, SINCE_NS);
	}
	json_decref(r->list);
	r->list = sorted;
}

struct reasons reasons_collect(struct station *s)
{
	struct reasons r = {.station = s, .list = json_array(), .now_ns = now_mono_ns()};

	board_reasons(s, &r);
	machine_reason(s, &r);
	for (unsigned link = 0; s->board_present && link < NANET3_LINKS; link++) {
		if (s->link[link].enabled) {
			link_reasons(s, link, &r);
			phase_reasons(s, link, &r);
		}
	}
	clock_reasons(s, &r);
	consumer_reasons(s, &r);
	reasons_doors(&r);
	store_reasons(s, &r);
	records_reasons(&r);
	reasons_floors(&r);
	forget_gone(&r);
	list_latched(&r);
	put_in_order(&r);
	return r;
}

/* So that a reason's beginning is known though nobody was looking. */
void reasons_tick(struct station *s)
{
	struct reasons r;

	reasons_losses_tick(s);
	reasons_floors_tick(s);
	r = reasons_collect(s);
	json_decref(r.list);
	alarms_say_drain(s);
	alarms_tick(s->alarms, (struct engine_now){now_mono_ns(), now_utc_ns()});
	alarms_say_drain(s);
}
