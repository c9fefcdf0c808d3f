/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The pace of the user-space host: model time against the monotonic clock.
 *
 * By the clock, at `factor` seconds of model time in one of the wall's (1: real time): a timer wakes the
 * loop once a millisecond; as many turns of 8 steps are made as are due, whole ones, also when a client's request
 * has woken it in between: a ring begins with a turn, and its buffers are complete when the timer looks, not up to
 * a turn before. A late loop catches up in bursts and serves clients in between, so that they can release what
 * the burst brings. No step is ever skipped: model time is part of the data's meaning.
 *
 * Max speed: a step is made only while every running ring can take it, so nothing is ever dropped
 * for want of room; while no ring runs at all, model time stops.
 *
 * A recording has a pace of its own, see pace_play.c, where host_run() chooses.
 */
#include <errno.h>
#include <unistd.h>

#include "driver/emu/host/private.h"
#include "driver/emu/play/play.h"

bool pace_finished(const struct pace *p)
{
	return *p->stop || p->h->stats.steps >= p->last_step;
}

static void steps(struct pace *p, uint64_t count)
{
	for (uint64_t i = 0; i < count && !pace_finished(p); i++) {
		host_step(p->h);
	}
}

static int turn(struct pace *p, int timeout_ms)
{
	int r = host_poll(p->h, timeout_ms);

	return r == -EINTR ? 0 : r;
}

int pace_turn(struct pace *p, bool idle)
{
	uint64_t ticks;
	/* The timer is a client, so to say: it ends the wait. */
	int r = turn(p, idle ? 100 : 0);

	(void)!read(p->timer_fd, &ticks, sizeof(ticks));
	return r;
}

/* ------------------------------------------------------------------------ real time */

static uint64_t steps_due(const struct pace *p)
{
	double passed = (double)(emu_now_ns() - p->start_ns) * p->h->config.factor;
	uint64_t due = p->start_step + (uint64_t)(passed / NANET3_FRAME_NS);

	due -= (due - p->start_step) % PACE_TURN_STEPS;
	return due > p->h->stats.steps ? due - p->h->stats.steps : 0;
}

void pace_note_lag(struct pace *p, uint64_t lag_ns)
{
	struct host_stats *s = &p->h->stats;

	s->worst_lag_ns = lag_ns > s->worst_lag_ns ? lag_ns : s->worst_lag_ns;
	s->too_slow = s->too_slow || lag_ns > p->h->config.depth_ms * 1000000ull;
}

int pace_real_time(struct pace *p)
{
	int r = 0;

	while (r == 0 && !pace_finished(p)) {
		uint64_t due = steps_due(p);

		pace_note_lag(p, due * NANET3_FRAME_NS);
		steps(p, due < PACE_BURST_STEPS ? due : PACE_BURST_STEPS);
		/* With more than a turn to catch up, look at the clients, but do not wait. */
		r = pace_turn(p, steps_due(p) <= PACE_TURN_STEPS);
	}
	return r;
}

/* ------------------------------------------------------------------------ max speed */

int pace_unhurried_turn(struct pace *p, const struct play *play)
{
	unsigned made = 0;
	uint64_t from;
	int r;

	while (made < PACE_TURN_STEPS && !pace_finished(p) &&
	       (p->h->gone || board_rings_take(p->h->board)) &&
	       (play == NULL || play_state(play) == PLAY_RUN)) {
		host_step(p->h);
		made++;
	}
	if (made > 0) {
		return turn(p, 0);
	}
	from = emu_now_ns();
	r = turn(p, 1);
	p->h->stats.waited_ns += emu_now_ns() - from;
	return r;
}

int pace_max_speed(struct pace *p)
{
	int r = 0;

	while (r == 0 && !pace_finished(p)) {
		r = pace_unhurried_turn(p, NULL);
	}
	return r;
}
