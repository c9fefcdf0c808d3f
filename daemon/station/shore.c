// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The shore's own parameters (link2.phase, clock.state, disk.free ...), once a second, so that get, history, alarms and
 * staleness are the same for them as for the floors'. A value that does not exist is not put: it becomes stale.
 */
#include "daemon/station/shore.h"

#include <math.h>
#include <string.h>

#include "daemon/capture/watch.h"
#include "daemon/control/control.h"
#include "daemon/core/now.h"
#include "daemon/disk/disk.h"
#include "daemon/station/links.h"
#include "daemon/station/base.h"
#include "daemon/station/station.h"
#include "daemon/store/store.h"
#include "daemon/time/clock.h"

static void put(struct station *s, const char *name, double value)
{
	struct param *p;

	if (isfinite(value) && params_find(s->params, name, &p, NULL) == 0) {
		engine_shore(s->engine, p, value, station_now());
	}
}

static void put_link(struct station *s, unsigned link, const char *name, double value)
{
	char full[PARAM_NAME_MAX];

	snprintf(full, sizeof(full), "link%u.%s", link, name);
	put(s, full, value);
}

static void shore_phase(struct station *s, unsigned link)
{
	struct phase_view v;

	phase_get_view(s->link[link].phase, now_mono_ns(), &v);
	/* What the board measured once is not new a second later. */
	if (v.heard_ns == s->link[link].phase_put_ns) {
		return;
	}
	s->link[link].phase_put_ns = v.heard_ns;
	put_link(s, link, "phase_verdict", v.last.verdict);
	if (!v.valid) {
		return;
	}
	put_link(s, link, "phase", v.second_ps);
	if (v.reference.set) {
		put_link(s, link, "phase_difference", v.difference_ps);
	}
	put_link(s, link, "round_trip",
		 v.reading.rtt_frames * 125e3 + v.reading.rtt_bytes * 12.5 +
			 v.reading.rtt_bits * 1.25 + v.reading.phase_ps / 1e3);
}

static void shore_link(struct station *s, unsigned link)
{
	const struct station_link *l = &s->link[link];
	const struct watch_link *w = watch_link(s->watch, link);
	uint64_t by_name[TDM_LOSSES];

	put_link(s, link, "state", links_state(s, link));
	put_link(s, link, "rx_power", w->rx_power_nw / 1e3);
	put_link(s, link, "code_errors", w->code_errors);
	put_link(s, link, "rate", l->per_s.frames);
	put_link(s, link, "hits", l->per_s.hits);
	put_link(s, link, "loss", (double)links_recent_losses(s, link, by_name));
	shore_phase(s, link);
}

static void shore_clock(struct station *s)
{
	struct clock_view v;

	clock_get_view(s->clock, &v);
	put(s, "clock.state", v.label.state);
	put(s, "clock.source", v.label.source);
	put(s, "clock.uncertainty",
	    v.label.uncertainty_ns == UINT32_MAX ? NAN : (double)v.label.uncertainty_ns);
	put(s, "clock.satellites", v.satellites_used < 0 ? NAN : (double)v.satellites_used);
}

static void shore_board(struct station *s)
{
	const struct watch_board *b = watch_board(s->watch);
	enum { WELL, NO_PPS, NO_REFERENCE, NO_LABEL, STALLED, GONE } state = WELL;

	state = b->status & NANET3_STATUS_TOD ? state : NO_LABEL;
	state = b->status & NANET3_STATUS_REF ? state : NO_REFERENCE;
	state = b->status & NANET3_STATUS_PPS ? state : NO_PPS;
	state = b->status & NANET3_STATUS_STALLED ? STALLED : state;
	state = s->board.present ? state : GONE;
	put(s, "board.status", state);
	put(s, "board.temperature", s->board.present ? b->temperature_mc / 1e3 : NAN);
	put(s, "board.pool",
	    s->capture_status.pool_bytes ? 100.0 * (double)s->capture_status.pool_in_use /
						   (double)s->capture_status.pool_bytes
					 : NAN);
}

static void shore_store(struct station *s)
{
	struct store_status v;
	struct disk_status disk;

	store_get_status(s->store, &v);
	put(s, "store.lag", (double)v.lag_ns / 1e9);
	put(s, "store.queued", (double)v.queued);
	disk_get_status(s->disk, &disk);
	if (disk.known) {
		put(s, "disk.free", disk.free_bytes / 1e6);
	}
}

static void shore_control(struct station *s)
{
	struct control_stats v;

	control_get_stats(s->control, &v);
	put(s, "control.clients", (double)v.clients);
	put(s, "control.bad_messages", (double)v.bad_messages);
}

void shore_second(struct station *s)
{
	for (unsigned link = 0; link < NANET3_LINKS; link++) {
		if (s->link[link].enabled && s->board.present) {
			shore_link(s, link);
		}
	}
	shore_clock(s);
	shore_board(s);
	shore_store(s);
	shore_control(s);
	put(s, "run.number", s->run.state.number);
}
