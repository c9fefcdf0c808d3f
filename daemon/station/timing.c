// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The main thread's side of time: gpsd's reports, the board's PPS and count and the system clock go into the clock; its
 * labels go to capture, its changes of state to the log and the store.
 */
#include "daemon/station/timing.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/timex.h>

#include "daemon/alarms/view.h"
#include "daemon/capture/watch.h"
#include "daemon/core/log.h"
#include "daemon/core/now.h"
#include "daemon/core/text.h"
#include "daemon/station/base.h"
#include "daemon/station/questions.h"
#include "daemon/station/station.h"
#include "daemon/store/store.h"
#include "daemon/time/gps.h"

#define RECONNECT_NS   1000000000ull
#define LEAPS_EVERY_NS 86400000000000ull
#define LEAPS_AGAIN_NS 60000000000ull /* after a reading that failed */

static void on_tpv(void *context, const struct clock_gps *gps)
{
	struct station *s = context;

	clock_tpv(s->clock, gps, now_mono_ns());
}

static void on_gpsd_readable(struct station *s)
{
	if (gps_read_reports(s->timing.gps, on_tpv, s) < 0) {
		station_unfollow(&s->timing.event);
		log_warning("clock", "gpsd at %s:%u is gone; trying again every second",
			    s->config.clock.gpsd_host, s->config.clock.gpsd_port);
		clock_gpsd(s->clock, false, now_mono_ns());
	}
}

static void follow_gpsd(struct station *s, uint64_t now)
{
	struct timing *t = &s->timing;
	bool answers;

	if (t->event.event || (t->tried_ns && now - t->tried_ns < RECONNECT_NS)) {
		return;
	}
	t->tried_ns = now;
	answers = gps_connect(t->gps) == 0 &&
		  station_follow(s, &t->event, gps_fd(t->gps), EV_READ, 0, on_gpsd_readable) == 0;
	clock_gpsd(s->clock, answers, now);
	if (answers) {
		log_info("clock", "gpsd at %s:%u answers", s->config.clock.gpsd_host,
			 s->config.clock.gpsd_port);
	}
}

/* On any thread. */
static void read_leaps(struct work *work)
{
	struct station_leaps *l = (struct station_leaps *)work;

	l->result = leap_table_read(l->path, now_utc_ns() / 1000000000, &l->table);
}

/* False: it cannot be read. */
static bool leaps_are_read(struct station *s)
{
	int r = s->timing.leaps.result;

	s->timing.leaps.asked = false;
	s->timing.leaps_read_ns = now_mono_ns();
	if (r < 0 && r != s->timing.leaps_error) {
		log_warning("clock",
			    "%s: %s; TAI-UTC goes on as known. Install tzdata or name the file in "
			    "[clock] leap_file",
			    s->config.clock.leap_file, strerror(-r));
	}
	s->timing.leaps_error = r;
	return r == 0;
}

/* A table that cannot be read now is no reason to forget what it said. */
static void take_leaps(struct work *work)
{
	struct station_leaps *l = (struct station_leaps *)work;
	struct station *s = l->station;

	if (leaps_are_read(s)) {
		clock_leap(s->clock, &l->table);
	}
}

void timing_leaps(struct station *s)
{
	if (!s->timing.leaps.asked) {
		s->timing.leaps.asked = true;
		questions_work(s, &s->timing.leaps.work);
	}
}

/* A package update may replace the table while we run: look once a day. */
void timing_second(struct station *s)
{
	if (now_mono_ns() - s->timing.leaps_read_ns >
	    (s->timing.leaps_error ? LEAPS_AGAIN_NS : LEAPS_EVERY_NS)) {
		timing_leaps(s);
	}
}

/* An earlier daemon's relabelling is shown until an hour has passed, or another one comes. */
void timing_restore(struct station *s, const struct store_past *past)
{
	struct clock_relabelling relabelled;
	long long when, by, utc, age;

	if (s->timing.kept_relabel_ns || sscanf(past->relabelled, "%lld %lld %lld %u", &when, &by,
						&utc, &relabelled.epoch) != 4) {
		return;
	}
	age = now_utc_ns() - when;
	if (age < 0 || (uint64_t)age >= RELABEL_SHOWN_NS) {
		return;
	}
	relabelled.when_ns = now_mono_ns() - (uint64_t)age;
	relabelled.by_ns = by;
	relabelled.utc_ns = utc;
	clock_restore_relabelling(s->clock, &relabelled);
	s->timing.kept_relabel_ns = relabelled.when_ns;
}

int timing_start(struct station *s)
{
	struct clock_config c = {
		.silence_ms = s->config.clock.silence_ms,
		.confirm = s->config.clock.confirm,
		.holdover_ppb = config_holdover_ppb(s->config.clock.holdover),
		.receiver_ns = s->config.clock.receiver_ns,
		.fault_ns = s->config.clock.holdover_limit_ns,
		.floor_utc_s = s->config.clock.earliest_utc_s,
		.system_clock = s->config.clock.system_clock,
		.far_s = s->config.clock.far_s,
		.system_tolerance_ms = s->config.clock.system_tolerance_ms,
		/* Without a table: what is known in 2026, no second announced. */
		.leaps = {.tai_utc_s = 37, .leap_tai_ns = INT64_MAX},
	};
	char port[16];

	snprintf(port, sizeof(port), "%u", s->config.clock.gpsd_port);
	s->timing.leaps = (struct station_leaps){.work = {.run = read_leaps, .done = take_leaps},
						 .station = s,
						 .path = s->config.clock.leap_file};
	read_leaps(&s->timing.leaps.work);
	if (leaps_are_read(s)) {
		c.leaps = s->timing.leaps.table;
	}
	s->clock = clock_create(&c);
	s->timing.gps = gps_create(s->config.clock.gpsd_host, port);
	return s->clock && s->timing.gps ? 0 : -ENOMEM;
}

void timing_stop(struct station *s)
{
	station_unfollow(&s->timing.event);
	gps_destroy(s->timing.gps);
	clock_destroy(s->clock);
}

static bool system_synchronised(void)
{
	struct timex t = {0};
	int state = adjtimex(&t);

	return state >= 0 && state != TIME_ERROR && !(t.status & STA_UNSYNC);
}

static void hand_over_label(struct station *s)
{
	struct capture_command command = {.type = CAPTURE_LABEL};

	if (clock_take_label(s->clock, &s->timing.label)) {
		s->timing.label_waits = true;
	}
	command.label = s->timing.label;
	if (s->timing.label_waits && station_order(s, &command) == 0) {
		s->timing.label_waits = false;
	}
}

/* Readers of the file turn a loss's TAI into UTC with it. */
static void keep_tai_utc(struct station *s, int32_t tai_utc_s)
{
	char text[16];

	if (tai_utc_s != s->timing.kept_tai_utc_s) {
		snprintf(text, sizeof(text), "%d", tai_utc_s);
		if (store_put_station(s->store, "tai_utc_s", text) == 0) {
			s->timing.kept_tai_utc_s = tai_utc_s;
		}
	}
}

static void keep_relabelling(struct station *s, const struct clock_relabelling *r)
{
	char text[96];

	snprintf(text, sizeof(text), "%lld %lld %lld %u",
		 (long long)(now_utc_ns() - (int64_t)(now_mono_ns() - r->when_ns)),
		 (long long)r->by_ns, (long long)r->utc_ns, r->epoch);
	store_put_station(s->store, "relabelled", text);
	s->timing.kept_relabel_ns = r->when_ns;
}

static void say_clock(struct station *s)
{
	struct clock_view v;
	char words[64], reason[400];
	bool relabelled;

	clock_get_view(s->clock, &v);
	keep_tai_utc(s, v.label.tai_utc_s);
	if (v.label.state == s->timing.logged_state &&
	    v.label.time_epoch == s->timing.logged_epoch) {
		return;
	}
	relabelled = v.relabelled.when_ns != s->timing.kept_relabel_ns;
	s->timing.logged_state = v.label.state;
	s->timing.logged_epoch = v.label.time_epoch;
	snprintf(reason, sizeof(reason), "%s", v.reason);
	if (relabelled) {
		keep_relabelling(s, &v.relabelled);
		clock_relabelled_words(&v.relabelled, reason, sizeof(reason));
		text_add(reason, sizeof(reason), "; %s", v.reason);
	}
	clock_words(&v.label, words, sizeof(words));
	log_event(v.label.state == CLOCK_LOCKED && !relabelled ? LOG_NOTICE : LOG_WARNING, "clock",
		  LOG_NO_LINK, LOG_ID_CLOCK, "%s, time epoch %u: %s%s%s", words, v.label.time_epoch,
		  reason, *v.action ? "; " : "", v.action);
	store_put_clock_event(s->store, &v.label, reason, now_utc_ns());
}

void timing_tick(struct station *s)
{
	uint64_t now = now_mono_ns();
	const struct watch_board *b = watch_board(s->watch);

	follow_gpsd(s, now);
	if (s->board.present) {
		int64_t utc_then = now_utc_ns() - (int64_t)(now_mono_ns() - b->read_ns);

		clock_board(s->clock, b->count, utc_then, system_synchronised(), b->read_ns);
	}
	if (watch_info(s->watch)) {
		clock_emulated(s->clock, watch_info(s->watch)->emulated == NANET3_EMULATED_UNPACED);
		clock_own_time(s->clock, &b->time, b->count, b->read_ns);
	}
	clock_board_gone(s->clock, !s->board.present);
	clock_tick(s->clock, now);
	hand_over_label(s);
	say_clock(s);
}
