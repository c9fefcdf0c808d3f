// SPDX-License-Identifier: GPL-2.0-or-later
/* The judge looks at the station: what it is shown, and what becomes of what it says. */
#include "daemon/station/view.h"

#include <errno.h>
#include <string.h>

#include "daemon/alarms/judge.h"
#include "daemon/capture/watch.h"
#include "daemon/core/log.h"
#include "daemon/core/now.h"
#include "daemon/disk/disk.h"
#include "daemon/disk/emergency.h"
#include "daemon/station/alarm_actions.h"
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

int view_start(struct station *s)
{
	const struct judge_ops ops = {.event = on_event, .box = records_alarm, .context = s};

	s->judge = judge_create(&ops);
	return s->judge ? 0 : -ENOMEM;
}

void view_stop(struct station *s)
{
	judge_destroy(s->judge);
	s->judge = NULL;
}

static void look_at_link(struct station *s, unsigned link, struct judge_link *v)
{
	const struct station_link *l = &s->link[link];
	const struct config_link *c = &s->config.link[link];

	*v = (struct judge_link){
		.enabled = l->enabled,
		.state = links_state(s, link),
		.tower = c->tower,
		.floor = c->floor,
		.named_tower = l->named_tower,
		.named_floor = l->named_floor,
		.last_good_ns = l->data.last_good_ns,
		.slips = l->slips,
		.accounted = l->accounted,
		.restarted_ns = l->restarted_ns,
		.ring_used = l->data.ring_write - l->data.ring_release,
		.ring_depth = l->data.ring_depth,
		.own = l->own,
		.own_ns = l->own_ns,
		.boot = boots_find(&s->boots, l->named_tower, l->named_floor),
	};
	if (!l->enabled) {
		return;
	}
	v->signal = watch_link(s->watch, link)->status & NANET3_LSTAT_SIGNAL;
	v->other_floor = links_other_floor(s, link);
	v->offset = links_offset(s, link);
	memcpy(v->cells, l->data.cells, sizeof(v->cells));
	links_recent_losses(s, link, v->lost);
	v->downlink = links_recent_downlink(s, link);
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

/* `closed_doors`: room for those words. */
static void look_at_all(struct station *s, struct judge_view *v, char *closed_doors, size_t size)
{
	reports_groups(s);
	for (unsigned link = 0; link < NANET3_LINKS; link++) {
		look_at_link(s, link, &v->link[link]);
	}
	clock_get_view(s->clock, &v->clock);
	look_at_drops(s, v);
	doors_closed(s, closed_doors, size);
	store_get_status(s->store, &v->store);
	disk_get_status(s->disk, &v->disk);
	emergency_get_status(s->emergency, &v->emergency);
	records_view(s, &v->recorder);
	v->now_ns = now_mono_ns(); /* behind all times in it */
	v->utc_ns = now_utc_ns();
	for (unsigned link = 0; link < NANET3_LINKS; link++) {
		if (v->link[link].enabled) {
			phase_get_view(s->link[link].phase, v->now_ns, &v->link[link].phase);
		}
	}
}

void view_judge(struct station *s)
{
	char closed_doors[sizeof(s->doors_logged)];
	struct judge_view v = {
		.started_ns = s->started_ns,
		.config = &s->config,
		.board_present = s->board.present,
		.board_stalled = watch_board(s->watch)->status & NANET3_STATUS_STALLED,
		.board_gone_ns = s->board.gone_ns,
		.board_back_ns = s->board.back_ns,
		.counts_restarted_ns = s->board.restarted_ns,
		.capture_tick_ns = s->capture_status.last_tick_ns,
		.reports_lost = s->capture_status.reports_lost,
		.late_ns = s->late.ns,
		.late_at_ns = s->late.at_ns,
		.held_at_ns = s->late.held_at_ns,
		.leaps_error = s->timing.leaps_error,
		.publisher = &s->publisher_status,
		.closed_doors = closed_doors,
		.engine = s->engine,
		.params = s->params,
	};

	look_at_all(s, &v, closed_doors, sizeof(closed_doors));
	judge_tick(s->judge, &v);
	alarm_actions_drain(s);
	alarms_tick(judge_alarms(s->judge), (struct engine_now){v.now_ns, v.utc_ns});
	alarm_actions_drain(s);
}
