// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The links as the main thread sees them: registers ten times a second, phase and its verdicts, rates
 * and recent losses.
 */
#include "daemon/station/links.h"

#include <errno.h>
#include <string.h>

#include "daemon/alarms/judge.h"
#include "daemon/capture/watch.h"
#include "daemon/core/log.h"
#include "daemon/core/now.h"
#include "daemon/station/base.h"
#include "daemon/station/station.h"
#include "daemon/store/store.h"
#include "daemon/time/clock.h"

static void on_board_event(const struct nanet3_event *event, void *context);

static int open_phase(struct station *s, unsigned link)
{
	struct phase_config config = {
		.tolerance_ps = s->config.phase.tolerance_ps,
		.drift_ps = s->config.phase.drift_ps,
		.relock_samples = s->config.phase.relock_samples,
	};
	struct station_link *l = &s->link[link];

	l->named_tower = l->named_floor = 0xff;
	l->enabled = s->config.link[link].enabled;
	l->phase = phase_create(&config);
	return l->phase ? 0 : -ENOMEM;
}

/* A lock that came before the reference was known is compared with it now; where it is out, that is a drift. */
void links_restore(struct station *s, const struct store_past *past)
{
	for (unsigned link = 0; link < NANET3_LINKS; link++) {
		struct phase_view view;

		phase_get_view(s->link[link].phase, now_mono_ns(), &view);
		if (past->reference[link].set && !s->restored) {
			phase_set_reference(s->link[link].phase, &past->reference[link]);
			phase_resume(s->link[link].phase, &past->phase[link]);
		} else if (!past->reference[link].set && view.reference.set) {
			store_put_phase_reference(s->store, link, &view.reference, "fcm-server",
						  "first lock");
		}
	}
}

static void on_board_readable(struct station *s)
{
	watch_dispatch(s->watch);
}

/* The board's descriptor changes each time it is opened, and so does capture's grant. */
static void follow_board(struct station *s)
{
	const struct nanet3_info *info;

	if (watch_generation(s->watch) == s->board_generation) {
		return;
	}
	info = watch_info(s->watch);
	capture_grant(s->capture, info ? info->handle : 0);
	station_unfollow(&s->board_event);
	if (watch_fd(s->watch) >= 0 && station_follow(s, &s->board_event, watch_fd(s->watch),
						      EV_READ, 0, on_board_readable) < 0) {
		return; /* no memory: the next tick tries again */
	}
	s->board_generation = watch_generation(s->watch);
}

int links_start(struct station *s)
{
	struct watch_events events = {.on_event = on_board_event, .context = s};
	int r = 0;

	for (unsigned link = 0; r == 0 && link < NANET3_LINKS; link++) {
		r = open_phase(s, link);
	}
	r = r ? r : watch_create(s->config.board.device, station_links(s), &events, &s->watch);
	if (r == 0) {
		r = watch_poll(s->watch, now_mono_ns());
		follow_board(s);
	}
	if (r < 0) {
		log_error("board", "%s: %s", s->config.board.device, strerror(-r));
	}
	return r;
}

void links_stop(struct station *s)
{
	station_unfollow(&s->board_event);
	watch_destroy(s->watch);
	for (unsigned link = 0; link < NANET3_LINKS; link++) {
		phase_destroy(s->link[link].phase);
	}
}

static void say_board(struct station *s, bool present)
{
	if (present == s->board.present) {
		return;
	}
	s->board.present = present;
	if (present) {
		s->board.back_ns = now_mono_ns();
		log_event(LOG_NOTICE, "board", LOG_NO_LINK, LOG_ID_BOARD, "board is present: %s",
			  s->config.board.device);
	} else {
		s->board.gone_ns = now_mono_ns();
		log_event(LOG_ERR, "board", LOG_NO_LINK, LOG_ID_BOARD,
			  "board is gone: %s; trying again twice a second. Check lspci and dmesg, "
			  "or the emulator",
			  s->config.board.device);
	}
}

/* --- light, lock, floor --- */

static void say_link(struct station *s, unsigned link)
{
	struct station_link *l = &s->link[link];
	const struct watch_link *w = watch_link(s->watch, link);
	uint32_t now = w->status & (NANET3_LSTAT_SIGNAL | NANET3_LSTAT_LOCKED);

	engine_link(s->engine, link, now & NANET3_LSTAT_LOCKED, l->named_tower, l->named_floor,
		    station_now());
	if (now == l->last_status) {
		return;
	}
	log_event(now & NANET3_LSTAT_LOCKED ? LOG_NOTICE : LOG_WARNING, "link", (int)link,
		  LOG_ID_LINK, "link %u: %s", link,
		  now & NANET3_LSTAT_LOCKED   ? "locked"
		  : now & NANET3_LSTAT_SIGNAL ? "light, but no lock"
					      : "no light");
	l->last_status = now;
}

bool links_other_floor(const struct station *s, unsigned link)
{
	const struct station_link *l = &s->link[link];
	const struct config_link *c = &s->config.link[link];

	return l->named_floor != 0xff && (l->named_tower != c->tower || l->named_floor != c->floor);
}

/* The phase is the configured floor's: while another one is on the link it has no lock. */
static void sample_phase(struct station *s, unsigned link, uint64_t now)
{
	struct phase_reading reading = watch_link(s->watch, link)->phase;

	reading.locked = reading.locked && !links_other_floor(s, link);
	phase_sample(s->link[link].phase, &reading, now);
}

/* --- verdicts --- */

/* A verdict on a step is kept with the time and the size of the step; the others with the time of the verdict. */
static void keep_judgement(struct station *s, unsigned link, const struct phase_judgement *j)
{
	int64_t at_ns = now_utc_ns();
	char stepped[40] = "";

	if (j->step_ps != 0) {
		at_ns -= (int64_t)(now_mono_ns() - j->time_ns);
		snprintf(stepped, sizeof(stepped), "stepped %+.0f ps", j->step_ps);
	}
	store_put_phase_event(s->store, link, j, "", stepped, at_ns);
}

static void log_judgement(unsigned link, const struct phase_judgement *j)
{
	bool good = j->verdict == PHASE_PASS || j->verdict == PHASE_FIRST;
	char stepped[60] = "";

	if (j->step_ps != 0) {
		snprintf(stepped, sizeof(stepped),
			 "stepped %+.0f ps inside its lock: ", j->step_ps);
	}
	log_event(!good		    ? LOG_WARNING
		  : j->step_ps != 0 ? LOG_NOTICE
				    : LOG_INFO,
		  "phase", (int)link, LOG_ID_PHASE,
		  "link %u: %s%s%s%.0d, %.1f ps from the reference", link, stepped,
		  phase_verdict_name(j->verdict), j->verdict == PHASE_SLIP ? " " : "",
		  j->verdict == PHASE_SLIP ? j->slip : 0, j->difference_ps);
}

static void judge(struct station *s, unsigned link)
{
	struct phase_judgement j;

	if (!phase_take_judgement(s->link[link].phase, &j)) {
		return;
	}
	if (j.verdict != PHASE_FIRST || s->restored) {
		keep_judgement(s, link, &j);
	}
	if (j.verdict == PHASE_FIRST) {
		struct phase_view view;

		phase_get_view(s->link[link].phase, now_mono_ns(), &view);
		view.reference.time_ns = now_utc_ns();
		phase_set_reference(s->link[link].phase, &view.reference);
		if (s->restored) { /* else the journal's own may be there */
			store_put_phase_reference(s->store, link, &view.reference, "fcm-server",
						  "first lock");
		}
	}
	log_judgement(link, &j);
	/* Who asked for a lock waits for a verdict on a lock. */
	if ((j.verdict != PHASE_DRIFT || j.drifted) && j.step_ps == 0 && s->ops) {
		s->ops->judged(s->ops_context, link, &j);
	}
}

/* --- events and ticks --- */

static void on_board_event(const struct nanet3_event *event, void *context)
{
	struct station *s = context;
	struct engine_now now = station_now();

	switch (event->type) {
	case NANET3_EVENT_TX:
		if (event->reason == NANET3_TX_REFUSED) {
			engine_send_failed(s->engine, event->cookie, -EINVAL, now);
		} else {
			engine_sent(s->engine, event->cookie, event->frame_count, now);
		}
		break;
	case NANET3_EVENT_PPS:
		clock_pps(s->clock, event->frame_count, event->value, event->time_ns);
		break;
	case NANET3_EVENT_ERROR:
		log_event(LOG_ERR, "board", LOG_NO_LINK, LOG_ID_BOARD, "board error: %s",
			  event->reason == NANET3_ERROR_STALLED	   ? "its DMA has stalled"
			  : event->reason == NANET3_ERROR_EVQ_FULL ? "event queue full"
								   : "DMA address in no table");
		break;
	default:
		break; /* LINK: the registers show it within 100 ms; RX belongs to capture */
	}
}

/* What was lost before a restarted ring was first aligned is not counted as a loss: the account of the last minute
 * starts after it. */
static void begin_account(struct station *s, unsigned link)
{
	struct station_link *l = &s->link[link];

	for (unsigned n = 0; n <= LOSS_WINDOW_S; n++) {
		memcpy(l->loss_at[n], l->data.cells, sizeof(l->data.cells));
		l->downlink_at[n] = l->data.downlink_errors;
	}
	judge_account(s->judge, link, l->data.cells, l->data.dma_epoch, l->data.last_good_count,
		      l->restarted_ns != 0);
	l->accounted = true;
}

/* A good frame of this ring has been seen, or the ring is a predecessor's. */
static bool has_begun(const struct station_link *l)
{
	return l->restarted_ns ? l->data.last_good_ns > l->restarted_ns
			       : l->data.taken_over || l->data.last_good_ns;
}

void links_ring_restarted(struct station *s, unsigned link)
{
	s->board.restarted_ns = s->link[link].restarted_ns = now_mono_ns();
	s->link[link].accounted = false;
}

/* A tick is due every 100 ms. */
static void note_lateness(struct station *s, uint64_t now)
{
	struct late_tick tick = {now, now_thread_cpu_ns(), watch_waited_ns(s->watch)};
	uint64_t ns = 0;

	switch (late_judge(&s->tick, &tick, &ns)) {
	case LATE_NOT:
		break;
	case LATE_MACHINE:
		s->late.ns = ns;
		s->late.at_ns = now;
		log_warning("machine", "the daemon did not get to run for %.1f s",
			    (double)ns / 1e9);
		break;
	case LATE_BOARD:
		s->late.held_at_ns = now;
		if (s->board.present) { /* else that has been logged */
			log_warning("board", "the board did not answer for %.1f s",
				    (double)ns / 1e9);
		}
		break;
	case LATE_BUSY:
		s->late.held_at_ns = now;
		log_notice("fcm-server", "the main thread was busy for %.1f s", (double)ns / 1e9);
		break;
	}
	s->tick = tick;
}

void links_tick(struct station *s)
{
	uint64_t now = now_mono_ns();
	int r;

	note_lateness(s, now);
	r = watch_poll(s->watch, now);
	say_board(s, r == 0);
	s->board.stalled = watch_board(s->watch)->status & NANET3_STATUS_STALLED;
	follow_board(s);
	capture_get_status(s->capture, &s->capture_status);
	for (unsigned link = 0; link < NANET3_LINKS; link++) {
		struct station_link *l = &s->link[link];
		struct phase_row row;

		if (!l->enabled) {
			continue;
		}
		l->data = s->capture_status.links[link];
		if (!l->accounted && has_begun(l)) {
			begin_account(s, link);
		}
		if (r == 0) {
			sample_phase(s, link, now);
			say_link(s, link);
		} else if (!watch_info(s->watch)) {
			phase_lose(l->phase);
		}
		judge(s, link);
		if (phase_take_row(l->phase, &row)) {
			store_put_phase_row(s->store, link, &row, now_utc_ns());
		}
	}
}

static void rate_link(struct station_link *l)
{
	const struct capture_link_status *d = &l->data;
	struct rates_point now = {
		.good = d->cells[TDM_GOOD],
		.bytes = d->bytes,
		.hits = d->items[FCM_PMT],
	};

	for (unsigned n = 0; n < TDM_LOSSES; n++) {
		now.cells += d->cells[n];
	}
	rates_add(&l->rates, &now);
	l->per_s = rates_get(&l->rates);
}

void links_second(struct station *s)
{
	s->loss_second = (s->loss_second + 1) % (LOSS_WINDOW_S + 1);
	for (unsigned n = 0; n < GROUPS_MAX; n++) {
		memcpy(s->drop_at[s->loss_second][n], s->publisher_status.group[n].dropped_frames,
		       sizeof(s->drop_at[0][n]));
	}
	for (unsigned link = 0; link < NANET3_LINKS; link++) {
		struct station_link *l = &s->link[link];

		if (!l->enabled) {
			continue;
		}
		rate_link(l);
		memcpy(l->loss_at[s->loss_second], l->data.cells, sizeof(l->data.cells));
		l->downlink_at[s->loss_second] = l->data.downlink_errors;
	}
}

uint64_t links_recent_losses(const struct station *s, unsigned link, uint64_t ret[TDM_LOSSES])
{
	const struct station_link *l = &s->link[link];
	/* The place after the newest is the oldest; begin_account() has filled those not yet reached. */
	const uint64_t *then = l->loss_at[(s->loss_second + 1) % (LOSS_WINDOW_S + 1)];
	uint64_t sum = 0;

	for (unsigned n = 0; n < TDM_LOSSES; n++) {
		ret[n] = l->data.cells[n] - then[n];
		sum += n == TDM_GOOD ? 0 : ret[n];
	}
	return sum;
}

uint64_t links_recent_downlink(const struct station *s, unsigned link)
{
	const struct station_link *l = &s->link[link];

	return l->data.downlink_errors - l->downlink_at[(s->loss_second + 1) % (LOSS_WINDOW_S + 1)];
}

uint32_t links_offset(const struct station *s, unsigned link)
{
	bool locked = watch_link(s->watch, link)->status & NANET3_LSTAT_LOCKED;

	return locked && s->link[link].data.aligned == TDM_LOCKED ? s->link[link].data.offset : 0;
}

void links_note_own(struct station *s, unsigned link, const char *what, const char *who)
{
	struct station_link *l = &s->link[link];

	snprintf(l->own, sizeof(l->own), "%s by %s", what, who);
	l->own_ns = now_mono_ns();
}

bool links_board_present(const struct station *s)
{
	return s->board.present;
}

enum link_state links_state(const struct station *s, unsigned link)
{
	const struct station_link *l = &s->link[link];

	if (!l->enabled) {
		return LINK_OFF;
	}
	if (!s->board.present) {
		return LINK_UNKNOWN;
	}
	if (!(watch_link(s->watch, link)->status & NANET3_LSTAT_LOCKED)) {
		return LINK_DARK;
	}
	if (l->data.aligned != TDM_LOCKED) {
		return LINK_ALIGNING;
	}
	if (!l->data.last_good_ns || now_mono_ns() - l->data.last_good_ns > LINK_SILENT_NS) {
		return LINK_SILENT;
	}
	return LINK_UP;
}

const char *link_state_name(enum link_state state)
{
	static const char *const names[] = {"off", "dark", "aligning", "silent", "up", "unknown"};

	return names[state];
}
