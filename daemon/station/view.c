// SPDX-License-Identifier: GPL-2.0-or-later
/* Fills the judge's view of the station, runs the judge, and stores its events. */
#include "daemon/station/view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/alarms/judge.h"
#include "daemon/capture/watch.h"
#include "daemon/core/log.h"
#include "daemon/core/now.h"
#include "daemon/disk/disk.h"
#include "daemon/disk/emergency.h"
#include "daemon/station/incident_actions.h"
#include "daemon/station/links.h"
#include "daemon/station/network_say.h"
#include "daemon/station/station.h"
#include "daemon/station/records.h"
#include "daemon/station/reports.h"
#include "daemon/store/store.h"
#include "daemon/time/clock.h"

static void on_event(void *context, const struct judge_event *e)
{
	struct station *s = context;

	store_put_event(s->store, e->severity, e->code, e->object, e->text, e->action,
			now_utc_ns());
	if (e->log) {
		log_event(strcmp(e->severity, "info") == 0 ? LOG_NOTICE : LOG_WARNING, e->log,
			  e->link < 0 ? LOG_NO_LINK : e->link, LOG_ID_CONSUMER, "%s: %s", e->object,
			  e->text);
	}
}

/* What judge_view points to and nobody else keeps. */
struct view {
	struct judge_module module[NANET3_LINKS][PARAM_OM_COUNT];
	struct engine_reason *reason;
	size_t reasons, room;
	char closed_doors[DOORS_TEXT];
};

static void find_modules(const struct station *s, struct view *v)
{
	for (unsigned n = 0; n < params_count(s->params); n++) {
		const struct param *p = params_at(s->params, n);

		if (strcmp(p->kind->section, "om.hv") == 0) {
			v->module[p->link][p->index] = (struct judge_module){
				.hv = p,
				.power = params_sibling(s->params, p, "power"),
				.trip = params_sibling(s->params, p, "trip"),
				.lost = params_sibling(s->params, p, "lost")};
		}
	}
}

int view_start(struct station *s)
{
	const struct judge_ops ops = {.event = on_event, .box = records_incident, .context = s};

	s->view = calloc(1, sizeof(*s->view));
	s->judge = judge_create(&ops);
	if (!s->view || !s->judge) {
		return -ENOMEM;
	}
	find_modules(s, s->view);
	return 0;
}

enum judge_module_state view_module(const struct station *s, unsigned link, unsigned module)
{
	return judge_module(&s->view->module[link][module], now_mono_ns());
}

void view_stop(struct station *s)
{
	judge_destroy(s->judge);
	s->judge = NULL;
	free(s->view ? s->view->reason : NULL);
	free(s->view);
	s->view = NULL;
}

/* Without memory the reason is left out of this look. */
static void add_engine_reason(void *context, const struct engine_reason *reason)
{
	struct view *v = context;

	if (v->reasons == v->room) {
		size_t room = v->room ? 2 * v->room : 16;
		struct engine_reason *more = reallocarray(v->reason, room, sizeof(*more));

		if (!more) {
			return;
		}
		v->reason = more;
		v->room = room;
	}
	v->reason[v->reasons++] = *reason;
}

static void look_at_link(struct station *s, unsigned link, uint64_t now_ns, struct judge_link *v)
{
	const struct station_link *l = &s->link[link];

	if (!l->enabled) {
		return;
	}
	*v = (struct judge_link){
		.enabled = true,
		.state = links_state(s, link),
		.signal = watch_link(s->watch, link)->status & NANET3_LSTAT_SIGNAL,
		.tower = s->config.link[link].tower,
		.floor = s->config.link[link].floor,
		.named_tower = l->named_tower,
		.named_floor = l->named_floor,
		.other_floor = links_other_floor(s, link),
		.last_good_ns = l->data.last_good_ns,
		.offset = links_offset(s, link),
		.slips = l->slips,
		.accounted = l->accounted,
		.restarted_ns = l->restarted_ns,
		.downlink = links_recent_downlink(s, link),
		.ring_used = l->data.ring_write - l->data.ring_release,
		.ring_depth = l->data.ring_depth,
		.own = l->own,
		.own_ns = l->own_ns,
		.boot = boots_find(&s->boots, l->named_tower, l->named_floor),
		.module = s->view->module[link],
		.last_reply_ns = engine_last_reply_ns(s->engine, link),
	};
	memcpy(v->cells, l->data.cells, sizeof(v->cells));
	links_recent_losses(s, link, v->lost);
	silence_get(s->params, link, now_ns, &v->silence);
	phase_get_view(l->phase, now_ns, &v->phase);
}

static void look_at_drops(struct station *s, struct judge_view *v)
{
	for (unsigned n = 0; n < s->publisher_status.groups; n++) {
		const uint64_t *then = s->drop_at[(s->loss_second + 1) % (LOSS_WINDOW_S + 1)][n];

		for (unsigned o = 0; o < OUTCOMES; o++) {
			v->dropped[n][o] = s->publisher_status.group[n].dropped_frames[o] - then[o];
		}
	}
}

static void look_at_all(struct station *s, struct judge_view *v)
{
	reports_groups(s);
	clock_get_view(s->clock, &v->clock);
	look_at_drops(s, v);
	doors_closed(s, s->view->closed_doors, sizeof(s->view->closed_doors));
	store_get_status(s->store, &v->store);
	disk_get_status(s->disk, &v->disk);
	v->notices = s->notices.report;
	emergency_get_status(s->emergency, &v->emergency);
	records_view(s, &v->recorder);
	v->now_ns = now_mono_ns(); /* later than all times in it */
	v->utc_ns = now_utc_ns();
	for (unsigned link = 0; link < NANET3_LINKS; link++) {
		look_at_link(s, link, v->now_ns, &v->link[link]);
	}
	s->view->reasons = 0;
	engine_reasons(s->engine, (struct engine_now){v->now_ns, v->utc_ns}, add_engine_reason,
		       s->view);
	v->engine_reason = s->view->reason;
	v->engine_reasons = s->view->reasons;
}

void view_judge(struct station *s)
{
	const struct config *c = &s->config;
	struct judge_view v = {
		.started_ns = s->started_ns,
		.config = {.device = c->board.device,
			   .database = c->store.database,
			   .leap_file = c->clock.leap_file,
			   .feed_address = c->feed.address,
			   .reserved_endpoint = c->data.reserved_endpoint,
			   .monitor_endpoint = c->data.monitor_endpoint,
			   .data_open = config_is_open(c),
			   .drift_ps = c->phase.drift_ps},
		.board = s->board,
		.late = s->late,
		.capture_tick_ns = s->capture_status.last_tick_ns,
		.reports_lost = s->capture_status.reports_lost,
		.leaps_error = s->timing.leaps_error,
		.publisher = &s->publisher_status,
		.closed_doors = s->view->closed_doors,
	};

	look_at_all(s, &v);
	judge_tick(s->judge, &v);
	incident_actions_drain(s);
	alarms_tick(judge_alarms(s->judge), (struct engine_now){v.now_ns, v.utc_ns});
	incident_actions_drain(s);
}
