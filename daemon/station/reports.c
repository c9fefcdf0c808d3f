// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Passes capture's reports on: slow-control replies and telemetry to the engine, ledger rows and losses to the store,
 * the floors' time words to the clock, changes of the run to runs.c.
 */
#include "daemon/station/reports.h"

#include <string.h>

#include "daemon/alarms/judge.h"
#include "daemon/capture/watch.h"
#include "daemon/core/log.h"
#include "daemon/core/now.h"
#include "daemon/station/base.h"
#include "daemon/station/lifecycle.h"
#include "daemon/station/links.h"
#include "daemon/station/runs.h"
#include "daemon/station/station.h"
#include "daemon/store/store.h"
#include "daemon/time/clock.h"
#include "slowctl/param/plural.h"

/* --- ledger --- */

/* DMA epochs come again with the board, while blocks of an old one may still be out. */
static uint32_t session_of(const struct station *s, const struct capture_report *r)
{
	const struct station_link *l = &s->link[r->link];

	return l->session[r->generation % STATION_SESSIONS];
}

/* Closed rows come back as "saved" with this cookie: capture may then forget them. */
static uint64_t saved_cookie(const struct capture_report *r)
{
	return (uint64_t)r->link << 60 | (uint64_t)(r->generation & 0xfffff) << 40 |
	       (r->link_row.second & 0xffffffffff);
}

void reports_saved(struct station *s, uint64_t cookie)
{
	struct capture_command command = {
		.type = CAPTURE_SAVED,
		.link = (uint8_t)(cookie >> 60),
		.generation = cookie >> 40 & 0xfffff,
		.second = cookie & 0xffffffffff,
	};

	/* A full queue: the command of the next second covers both. */
	station_order(s, &command);
}

/* The same of losses, by their number. */
#define LOSS_NUMBER ((1ull << 60) - 1)

static uint64_t loss_cookie(const struct capture_report *r)
{
	return (uint64_t)r->link << 60 | (r->number & LOSS_NUMBER);
}

void reports_losses_saved(struct station *s)
{
	for (unsigned link = 0; link < NANET3_LINKS; link++) {
		struct capture_command command = {
			.type = CAPTURE_LOSS_SAVED,
			.link = (uint8_t)link,
			.number = s->losses_saved[link] & LOSS_NUMBER,
		};

		if (s->losses_saved[link]) { /* a full queue: the next command covers both */
			station_order(s, &command);
			s->losses_saved[link] = 0;
		}
	}
}

static void on_link_row(struct station *s, const struct capture_report *r)
{
	const struct ledger_link_row *row = &r->link_row;

	store_put_link_row(s->store, session_of(s, r), row, r->tai_ns, now_utc_ns(),
			   saved_cookie(r), row->closed ? STORE_ANSWER : 0);
}

static void on_stream_row(struct station *s, const struct capture_report *r)
{
	store_put_stream_row(s->store, session_of(s, r), &r->stream_row, s->group_names,
			     now_utc_ns(), 0, 0);
}

static void on_loss(struct station *s, const struct capture_report *r)
{
	const struct ledger_loss *loss = &r->loss;
	/* A floor that has not named itself yet is the configured one. */
	unsigned floor = loss->floor == 0xff ? s->config.link[loss->link].floor : loss->floor;

	store_put_loss(s->store, session_of(s, r), loss, s->group_names, now_utc_ns(),
		       loss_cookie(r),
		       (r->number ? STORE_ANSWER : 0) | (r->urgent ? STORE_URGENT : 0));
	if (loss->kind == 0 && s->link[loss->link].accounted) {
		judge_lost(s->judge, loss->link, loss->dma_epoch, loss->first, loss->next);
	} else if (loss->kind == 1) {
		judge_dropped(s->judge, loss->group, loss->first, loss->next);
	}
	if (loss->open) {
		return; /* logged once, when its length is known */
	}
	if (loss->kind == 0) {
		log_event(LOG_WARNING, "link", (int)loss->link, LOG_ID_LOSS,
			  "link %u floor %u: %llu frame%s lost, %s, from board count %llu on",
			  loss->link, floor, (unsigned long long)loss->frames, plural(loss->frames),
			  tdm_loss_name(loss->code), (unsigned long long)loss->first);
	} else {
		log_event(LOG_WARNING, "consumer", (int)loss->link, LOG_ID_DROP,
			  "group %s, floor %u: %llu frame%s dropped, %s, from frame %llu on",
			  s->group_names[loss->group], floor, (unsigned long long)loss->frames,
			  plural(loss->frames), outcome_name(loss->code),
			  (unsigned long long)loss->first);
	}
}

/* Blocks that capture had no memory for are a group's as well, but the publisher has never seen them. */
static void add_pool_drops(struct group_status *g, const struct capture_drops *d)
{
	g->offered += d->blocks;
	g->dropped[OUTCOME_DROP_POOL] += d->blocks;
	g->dropped_frames[OUTCOME_DROP_POOL] += d->frames;
	if (d->last.at_ns > g->last_drop.at_ns) {
		g->last_drop = d->last;
	}
}

void reports_groups(struct station *s)
{
	publisher_get_status(s->publisher, &s->publisher_status);
	for (unsigned n = 0; n < s->publisher_status.groups; n++) {
		add_pool_drops(&s->publisher_status.group[n], &s->capture_status.pool_drops[n]);
	}
}

/* --- the floor at the end of a link --- */

static void on_identity(struct station *s, const struct capture_report *r)
{
	struct station_link *l = &s->link[r->link];
	const struct config_link *c = &s->config.link[r->link];
	bool right = r->tower == c->tower && r->floor == c->floor;

	l->named_tower = r->tower;
	l->named_floor = r->floor;
	log_set_floor(r->link, r->tower, r->floor);
	if (right) {
		log_event(LOG_NOTICE, "link", r->link, LOG_ID_IDENTITY,
			  "link %u: tower %u floor %u is connected", r->link, r->tower, r->floor);
	} else {
		log_event(LOG_ERR, "link", r->link, LOG_ID_IDENTITY,
			  "link %u: tower %u floor %u names itself where tower %u floor %u is "
			  "configured: swapped fibres? Its data keep its own name; writes are "
			  "refused",
			  r->link, r->tower, r->floor, c->tower, c->floor);
	}
	engine_link(s->engine, r->link, watch_link(s->watch, r->link)->status & NANET3_LSTAT_LOCKED,
		    r->tower, r->floor, station_now());
}

/* An event of its own, without an end: status shows it for a while. */
static void say_boot(struct station *s, const struct capture_report *r, uint32_t before)
{
	char object[24], text[128], action[96];

	snprintf(object, sizeof(object), "tower%u.floor%u", r->tower, r->floor);
	snprintf(text, sizeof(text),
		 "the FCM of tower %u floor %u has booted (boot count %u, was %u): its settings "
		 "may be lost",
		 r->tower, r->floor, r->telemetry.boot_count, before);
	snprintf(action, sizeof(action), "compare what is set: fcmctl get 'floor%u.om*.hv'",
		 r->floor);
	log_event(LOG_WARNING, "link", r->link, LOG_ID_LINK, "link %u: %s", r->link, text);
	store_put_event(s->store, "warning", "fcm-booted", object, text, action, now_utc_ns());
}

static void on_telemetry(struct station *s, const struct capture_report *r)
{
	struct station_link *l = &s->link[r->link];
	struct engine_now now = station_now();
	const struct boots_floor *f = boots_find(&s->boots, r->tower, r->floor);
	bool known = f && f->count == r->telemetry.boot_count;
	uint32_t before = 0;

	l->telemetry = r->telemetry;
	l->telemetry_ns = now.mono_ns;
	if (boots_heard(&s->boots, r->tower, r->floor, r->telemetry.boot_count,
			r->telemetry.uptime_s, now.mono_ns, &before)) {
		say_boot(s, r, before);
	}
	if (!known) {
		char text[BOOTS_TEXT_MAX];

		boots_write(&s->boots, text);
		store_put_station(s->store, "boots", text);
	}
	engine_boot(s->engine, r->link, r->telemetry.boot_count, now);
	engine_telemetry(s->engine, r->link, &r->telemetry, now);
}

static void on_reply(struct station *s, const struct capture_report *r)
{
	struct word word;

	if (word_unpack(r->word, &word) < 0) {
		return; /* a broken reply is no reply; the engine asks again */
	}
	engine_reply(s->engine, r->link, &word, station_now());
}

static void on_takeover(struct station *s, const struct capture_report *r)
{
	const struct nanet3_info *info = watch_info(s->watch);

	/* A ring whose page was of no use is read again from its release: a new account. */
	s->link[r->link].session[r->generation % STATION_SESSIONS] =
		store_session(s->store, r->link, r->dma_epoch, r->takeover.taken_over == 1,
			      info ? info->serial : 0, info ? info->boot_count : 0, now_utc_ns());
	lifecycle_takeover(s, r->link, r->takeover.taken_over);
	if (r->generation > 1 && r->takeover.taken_over == 0) {
		links_ring_restarted(s, r->link);
	}
	log_event(LOG_NOTICE, "link", r->link, LOG_ID_TAKEOVER,
		  "link %u: %s, DMA epoch %u, %llu of %llu buffers waiting", r->link,
		  r->takeover.taken_over ? "ring taken over" : "ring restarted", r->dma_epoch,
		  (unsigned long long)(r->takeover.write_position - r->takeover.release_position),
		  (unsigned long long)r->takeover.depth);
	if (r->takeover.taken_over) {
		clock_adopt(s->clock, &r->takeover.label, now_mono_ns());
	}
	run_state_carried(&s->run.state, r->takeover.run);
	engine_run(s->engine, s->run.state.number);
}

static void on_align(struct station *s, const struct capture_report *r)
{
	s->link[r->link].slips += r->align.aligned && r->align.offset != 0;
	log_event(r->align.aligned ? LOG_INFO : LOG_WARNING, "link", r->link, LOG_ID_LINK,
		  r->align.aligned ? "link %u: frames found at byte %u of the board's grid"
				   : "link %u: frame alignment lost (was at byte %u)",
		  r->link, r->align.offset);
}

static void on_run_changed(struct station *s, const struct capture_report *r)
{
	run_state_effect(&s->run.state, r, now_mono_ns());
}

static void on_run_planned(struct station *s, const struct capture_report *r)
{
	run_state_plan(&s->run.state, r);
}

static void on_time_word(struct station *s, const struct capture_report *r)
{
	clock_time_word(s->clock, &r->time_word.time, r->time_word.floor_frame, now_mono_ns());
}

static void (*const take[])(struct station *, const struct capture_report *) = {
	[CAPTURE_REPLY] = on_reply,
	[CAPTURE_TELEMETRY] = on_telemetry,
	[CAPTURE_LINK_ROW] = on_link_row,
	[CAPTURE_STREAM_ROW] = on_stream_row,
	[CAPTURE_LOSS] = on_loss,
	[CAPTURE_ALIGN] = on_align,
	[CAPTURE_IDENTITY] = on_identity,
	[CAPTURE_RUN_CHANGED] = on_run_changed,
	[CAPTURE_RUN_PLANNED] = on_run_planned,
	[CAPTURE_RUN_TIMED] = runs_timed,
	[CAPTURE_TAKEOVER] = on_takeover,
	[CAPTURE_TIME_WORD] = on_time_word,
};

void reports_drain(struct station *s)
{
	const struct capture_report *r;

	queue_hush(&s->reports);
	while ((r = queue_peek(&s->reports))) {
		take[r->type](s, r);
		queue_release(&s->reports);
	}
}
