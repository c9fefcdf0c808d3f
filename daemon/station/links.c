// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The links as the main thread sees them: registers ten times a second, phase and its verdicts, resets
 * and the soak, rates and recent losses.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "daemon/station/station.h"

#define RELOCK_LIMIT_NS 10000000000ull

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

static void keep_reference(struct station *s, unsigned link, const struct phase_reference *r)
{
	store_put_phase_reference(s->store, link, r, "fcm-server", "first lock");
}

/* A lock that came before the reference was known is judged by it as a drift. */
void links_restore(struct station *s, const struct store_past *past)
{
	for (unsigned link = 0; link < NANET3_LINKS; link++) {
		struct phase_view view;

		phase_get_view(s->link[link].phase, now_mono_ns(), &view);
		if (past->reference[link].set && !s->restored) {
			phase_set_reference(s->link[link].phase, &past->reference[link]);
		} else if (!past->reference[link].set && view.reference.set) {
			keep_reference(s, link, &view.reference);
		}
	}
}

static void on_board_readable(evutil_socket_t fd, short what, void *arg)
{
	struct station *s = arg;

	(void)fd;
	(void)what;
	watch_dispatch(s->watch);
}

/* The board's descriptor changes each time it is opened, and so does capture's grant. */
static void follow_board(struct station *s)
{
	const struct nanet3_info *info;

	if (watch_generation(s->watch) == s->watch_generation) {
		return;
	}
	info = watch_info(s->watch);
	capture_grant(s->capture, info ? info->handle : 0);
	if (s->watch_event) {
		event_free(s->watch_event);
		s->watch_event = NULL;
	}
	if (watch_fd(s->watch) >= 0) {
		s->watch_event = station_follow(s, watch_fd(s->watch), on_board_readable);
		if (!s->watch_event) {
			return; /* no memory: the next tick tries again */
		}
	}
	s->watch_generation = watch_generation(s->watch);
}

int links_start(struct station *s)
{
	struct watch_events events = {.on_event = on_board_event, .context = s};
	int r = 0;

	for (unsigned link = 0; r == 0 && link < NANET3_LINKS; link++) {
		r = open_phase(s, link);
	}
	if (r < 0) {
		return r;
	}
	r = watch_create(s->config.board.device, station_links(s), &events, &s->watch);
	if (r < 0) {
		return r;
	}
	r = watch_poll(s->watch, now_mono_ns());
	follow_board(s);
	return r;
}

void links_stop(struct station *s)
{
	if (s->watch_event) {
		event_free(s->watch_event);
		s->watch_event = NULL;
	}
	watch_destroy(s->watch);
	s->watch = NULL;
	for (unsigned link = 0; link < NANET3_LINKS; link++) {
		json_decref(s->link[link].relock.results);
		s->link[link].relock.results = NULL;
		phase_destroy(s->link[link].phase);
		s->link[link].phase = NULL;
	}
}

static void say_board(struct station *s, bool present)
{
	if (present == s->board_present) {
		return;
	}
	s->board_present = present;
	if (present) {
		s->board_back_ns = now_mono_ns();
		log_event(LOG_NOTICE, "board", LOG_NO_LINK, LOG_ID_BOARD, "board is there: %s",
			  s->config.board.device);
	} else {
		s->board_gone_ns = now_mono_ns();
		log_event(
			LOG_ERR, "board", LOG_NO_LINK, LOG_ID_BOARD,
			"board is gone: %s; trying again twice a second. Check lspci and dmesg, or "
			"the emulator",
			s->config.board.device);
	}
}

/* --- light, lock, who is there --- */

static void say_link(struct station *s, unsigned link)
{
	struct station_link *l = &s->link[link];
	const struct watch_link *w = watch_link(s->watch, link);
	uint32_t now = w->status & (NANET3_LSTAT_SIGNAL | NANET3_LSTAT_LOCKED);

	engine_link(s->engine, link, now & NANET3_LSTAT_LOCKED, l->named_tower, l->named_floor,
		    (struct engine_now){now_mono_ns(), now_utc_ns()});
	if (now == l->last_status) {
		return;
	}
	if (!(now & NANET3_LSTAT_LOCKED)) {
		l->dark_since_ns = now_mono_ns();
	} else {
		l->dark_since_ns = 0;
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

static void relock_end(struct station *s, unsigned link, const struct phase_judgement *j);

static void judge(struct station *s, unsigned link)
{
	struct phase_judgement j;

	if (!phase_take_judgement(s->link[link].phase, &j)) {
		return;
	}
	if (j.verdict != PHASE_FIRST || s->restored) {
		store_put_phase_event(s->store, link, &j, "", "", now_utc_ns());
	}
	if (j.verdict == PHASE_FIRST) {
		struct phase_view view;

		phase_get_view(s->link[link].phase, now_mono_ns(), &view);
		view.reference.time_ns = now_utc_ns();
		phase_set_reference(s->link[link].phase, &view.reference);
		if (s->restored) { /* else the journal's own may be there */
			keep_reference(s, link, &view.reference);
		}
	}
	log_event(j.verdict == PHASE_PASS || j.verdict == PHASE_FIRST ? LOG_INFO : LOG_WARNING,
		  "phase", (int)link, LOG_ID_PHASE, "link %u: %s%s%.0d, %.1f ps from the reference",
		  link, phase_verdict_name(j.verdict), j.verdict == PHASE_SLIP ? " " : "",
		  j.verdict == PHASE_SLIP ? j.slip : 0, j.difference_ps);
	if (j.verdict != PHASE_DRIFT) {
		relock_end(s, link, &j);
	}
}

static json_t *judgement_json(const struct phase_judgement *j)
{
	return json_pack("{s:s,s:i,s:o,s:o}", "verdict", phase_verdict_name(j->verdict), "slip",
			 j->slip, "difference_ps", json_number_or_null(j->difference_ps), "mean_ps",
			 json_number_or_null(j->mean_ps));
}

static void soak_end(struct relock *k, unsigned link)
{
	unsigned judged = k->passes + k->slips + k->jumps;
	double mean = judged ? k->sum_ps / judged : NAN;
	double variance = judged > 1 ? (k->sum2_ps - judged * mean * mean) / (judged - 1) : NAN;
	/* No slip in n trials bounds its probability below 1 - 0.05^(1/n) (95 %). */
	double bound = judged && k->slips == 0 ? 1 - pow(0.05, 1.0 / judged) : NAN;

	control_answer(k->rq, json_pack("{s:i,s:o,s:i,s:i,s:i,s:i,s:o,s:o,s:o}", "link", (int)link,
					"trials", k->results, "passes", k->passes, "slips",
					k->slips, "jumps", k->jumps, "failed", k->failed,
					"mean_difference_ps", json_number_or_null(mean), "sigma_ps",
					json_number_or_null(variance >= 0 ? sqrt(variance) : NAN),
					"slip_probability_95", json_number_or_null(bound)));
	memset(k, 0, sizeof(*k));
}

static void soak_trial_end(struct relock *k, unsigned link, const struct phase_judgement *j)
{
	json_t *trial = j ? judgement_json(j)
			  : json_pack("{s:s,s:i,s:n,s:n}", "verdict", "FAILED", "slip", 0,
				      "difference_ps", "mean_ps");
	json_t *said;
	char text[96];

	k->waiting = false;
	k->trial++;
	if (!j) {
		k->failed++;
	} else {
		k->passes += j->verdict == PHASE_PASS || j->verdict == PHASE_FIRST;
		k->slips += j->verdict == PHASE_SLIP;
		k->jumps += j->verdict == PHASE_JUMP;
		k->sum_ps += j->difference_ps;
		k->sum2_ps += j->difference_ps * j->difference_ps;
	}
	snprintf(text, sizeof(text), "trial %u of %u: %s", k->trial, k->trials,
		 j ? phase_verdict_name(j->verdict) : "FAILED: not locked and judged within 10 s");
	json_object_set_new(trial, "trial", json_integer(k->trial));
	json_object_set_new(trial, "time", json_time(now_utc_ns()));
	json_array_append(k->results, trial);
	said = json_deep_copy(trial);
	json_object_set_new(said, "of", json_integer(k->trials));
	json_object_set_new(said, "text", json_string(text));
	json_decref(trial);
	control_progress(k->rq, said);
	if (k->trial == k->trials) {
		soak_end(k, link);
	}
}

static void relock_end(struct station *s, unsigned link, const struct phase_judgement *j)
{
	struct relock *k = &s->link[link].relock;
	double took_s = (double)(now_mono_ns() - k->began_ns) / 1e9;
	json_t *result;
	char hint[64];

	if (!k->rq) {
		return;
	}
	if (k->trials) {
		if (k->waiting) {
			soak_trial_end(k, link, j);
		}
		return;
	}
	if (!j) {
		snprintf(hint, sizeof(hint), "fcmctl link show %u tells light, lock and counters",
			 link);
		control_fail(k->rq, "failed", hint, NULL,
			     links_other_floor(s, link)
				     ? "link %u: another floor than configured is on it, its phase "
				       "is not judged"
				     : "link %u was not locked and judged within 10 s",
			     link);
	} else {
		result = judgement_json(j);
		json_object_set_new(result, "link", json_integer(link));
		json_object_set_new(result, "took_s", json_real(took_s));
		control_answer(k->rq, result);
	}
	memset(k, 0, sizeof(*k));
}

/* The link is cut by ourselves, and by whom. */
static void note_own(struct station *s, unsigned link, const char *what)
{
	struct station_link *l = &s->link[link];

	snprintf(l->own, sizeof(l->own), "%s by %s", what, control_peer(l->relock.rq)->who);
	l->own_ns = l->relock.began_ns;
}

static void begin_trial(struct station *s, unsigned link)
{
	struct relock *k = &s->link[link].relock;

	k->began_ns = now_mono_ns();
	k->next_ns += k->interval_ns;
	k->waiting = true;
	note_own(s, link, "soak");
	if (watch_link_command(s->watch, link, k->command) < 0) {
		soak_trial_end(k, link, NULL);
	}
}

/* Time-outs, and the next trial of a soak. */
static void relock_tick(struct station *s, unsigned link)
{
	struct relock *k = &s->link[link].relock;
	uint64_t now = now_mono_ns();

	if (!k->rq) {
		return;
	}
	if (k->trials && !control_alive(k->rq)) {
		soak_end(k, link); /* into the void: nobody reads on */
		return;
	}
	if ((!k->trials || k->waiting) && now - k->began_ns > RELOCK_LIMIT_NS) {
		relock_end(s, link, NULL);
	} else if (k->trials && !k->waiting && now >= k->next_ns) {
		begin_trial(s, link);
	}
}

static bool may_relock(struct station *s, unsigned link, struct control_request *rq)
{
	if (!s->link[link].enabled) {
		control_fail(rq, "refused", "give it a floor in the configuration", NULL,
			     "link %u is not configured", link);
		return false;
	}
	if (s->link[link].relock.rq) {
		control_fail(rq, "refused", "wait for it, or end that client", NULL,
			     "link %u: a reset, align or soak is under way", link);
		return false;
	}
	return true;
}

/* Answered if it is only asked. */
static bool relock_dry(const struct station *s, unsigned link, struct control_request *rq,
		       const json_t *args, const char *doing)
{
	if (control_is_dry(args) && !s->board_present) {
		control_fail(rq, "refused", "is the board there? fcmctl status", NULL,
			     "link %u: there is no board", link);
		return true;
	}
	return control_dry(rq, args, "would %s: its frames are lost until it is locked again",
			   doing);
}

void links_reset(struct station *s, unsigned link, uint32_t command, struct control_request *rq,
		 json_t *args)
{
	const char *verb = command & NANET3_LINK_RESET ? "reset" : "align";
	const char *reason = json_string_value(json_object_get(args, "reason"));
	struct relock *k = &s->link[link].relock;
	char text[256], object[8];
	int r;

	if (!may_relock(s, link, rq)) {
		return;
	}
	snprintf(text, sizeof(text), "%s link %u", verb, link);
	if (relock_dry(s, link, rq, args, text)) {
		return;
	}
	snprintf(object, sizeof(object), "link%u", link);
	snprintf(text, sizeof(text), "%s by %s: %s", verb, control_peer(rq)->who,
		 reason ? reason : "no reason given");
	store_put_event(s->store, "info", verb, object, text, "", now_utc_ns());
	log_event(LOG_NOTICE, "link", (int)link, LOG_ID_LINK, "link %u: %s", link, text);
	r = watch_link_command(s->watch, link, command);
	if (r < 0) {
		control_fail(rq, "refused", "is the board there? fcmctl status", NULL,
			     "link %u: the board did not take it: %s", link, strerror(-r));
		return;
	}
	*k = (struct relock){.rq = rq, .began_ns = now_mono_ns(), .command = command};
	note_own(s, link, verb);
	control_progress(rq, json_pack("{s:s}", "text", "waiting for lock and verdict"));
}

void links_soak(struct station *s, unsigned link, uint32_t command, unsigned trials,
		double interval_s, struct control_request *rq, json_t *args)
{
	struct relock *k = &s->link[link].relock;
	char doing[80];

	if (!may_relock(s, link, rq)) {
		return;
	}
	snprintf(doing, sizeof(doing), "%s link %u %u times, every %.10g s",
		 command & NANET3_LINK_RESET ? "reset" : "align", link, trials, interval_s);
	if (relock_dry(s, link, rq, args, doing)) {
		return;
	}
	*k = (struct relock){
		.rq = rq,
		.command = command,
		.trials = trials,
		.interval_ns = (uint64_t)(interval_s * 1e9),
		.next_ns = now_mono_ns(),
		.results = json_array(),
	};
}

/* --- the clockwork --- */

static void on_board_event(const struct nanet3_event *event, void *context)
{
	struct station *s = context;
	struct engine_now now = {now_mono_ns(), now_utc_ns()};

	switch (event->type) {
	case NANET3_EVENT_TX:
		if (event->reason == NANET3_TX_REFUSED) {
			engine_send_failed(s->engine, event->cookie, -EINVAL, now);
		} else {
			engine_sent(s->engine, event->cookie, event->frame_count, now);
		}
		break;
	case NANET3_EVENT_PPS:
		timing_pps(s, event);
		break;
	case NANET3_EVENT_ERROR:
		log_event(LOG_ERR, "board", LOG_NO_LINK, LOG_ID_BOARD, "board error: %s",
			  event->reason == NANET3_ERROR_STALLED	   ? "its DMA has stalled"
			  : event->reason == NANET3_ERROR_EVQ_FULL ? "event queue full"
								   : "DMA address in no table");
		break;
	default:
		break; /* LINK: the registers tell it within 100 ms; RX belongs to capture */
	}
}

/* What was lost until a ring begun anew was first aligned is its beginning, not a loss: the minute's
 * account starts behind it. */
static void begin_account(struct station *s, unsigned link)
{
	struct station_link *l = &s->link[link];

	for (unsigned n = 0; n <= LOSS_WINDOW_S; n++) {
		memcpy(l->loss_at[n], l->data.cells, sizeof(l->data.cells));
		l->downlink_at[n] = l->data.downlink_errors;
	}
	judge_account(s->judge, link, l->data.cells, l->data.dma_epoch, l->data.last_good_count,
		      l->anew_ns != 0);
	l->accounted = true;
}

/* A good frame of this ring has been seen, or the ring is a predecessor's. */
static bool has_begun(const struct station_link *l)
{
	return l->anew_ns ? l->data.last_good_ns > l->anew_ns
			  : l->data.taken_over || l->data.last_good_ns;
}

void links_ring_restarted(struct station *s, unsigned link)
{
	s->counts_restarted_ns = s->link[link].anew_ns = now_mono_ns();
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
		s->late_ns = ns;
		s->late_at_ns = now;
		log_warning("machine", "the daemon did not get to run for %.1f s",
			    (double)ns / 1e9);
		break;
	case LATE_BOARD:
		s->held_at_ns = now;
		if (s->board_present) { /* else that has been said */
			log_warning("board", "the board did not answer for %.1f s",
				    (double)ns / 1e9);
		}
		break;
	case LATE_BUSY:
		s->held_at_ns = now;
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
		} else if (!watch_present(s->watch)) {
			phase_lose(l->phase);
		}
		judge(s, link);
		relock_tick(s, link);
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
	struct rates_now rates;

	for (unsigned n = 0; n < TDM_LOSSES; n++) {
		now.cells += d->cells[n];
	}
	rates_add(&l->rates, &now);
	rates = rates_get(&l->rates);
	l->frames_per_s = rates.frames;
	l->bytes_per_s = rates.bytes;
	l->hits_per_s = rates.hits;
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

enum link_state links_state(const struct station *s, unsigned link)
{
	const struct station_link *l = &s->link[link];

	if (!l->enabled) {
		return LINK_OFF;
	}
	if (!s->board_present || !(watch_link(s->watch, link)->status & NANET3_LSTAT_LOCKED)) {
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
	static const char *const names[] = {"off", "dark", "aligning", "silent", "up"};

	return names[state];
}
