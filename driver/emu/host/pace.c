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
 * for want of room; while no ring runs at all, model time stands still.
 *
 * A recording has a pace of its own, see pace_play.c.
 */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "driver/emu/host/private.h"
#include "driver/emu/play/play.h"
#include "driver/emu/world/world.h"

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

	if (p->h->config.tick != NULL) {
		p->h->config.tick(p->h->config.tick_context);
	}
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
	double passed = (double)(host_now_ns() - p->start_ns) * p->h->config.factor;
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

static int real_time(struct pace *p)
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

static int timer_create_turns(struct host *h, int *ret_fd)
{
	struct itimerspec turns = {.it_interval.tv_nsec = (long)PACE_TURN_NS,
				   .it_value.tv_nsec = (long)PACE_TURN_NS};
	struct epoll_event ev = {.events = EPOLLIN, .data.u64 = HOST_TIMER_ID};
	int r, fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);

	if (fd < 0) {
		return -errno;
	}
	if (timerfd_settime(fd, 0, &turns, NULL) != 0 ||
	    epoll_ctl(h->epoll_fd, EPOLL_CTL_ADD, fd, &ev) != 0) {
		r = -errno;
		close(fd);
		return r;
	}
	*ret_fd = fd;
	return 0;
}

/* ------------------------------------------------------------------------ max speed */

/* Whether every running ring has the positions that one step may use at worst: the open buffer, a gap
 * that cuts it, and the next buffer. */
static bool rings_take(const struct host *h)
{
	bool any = h->gone; /* it comes back by model time */

	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		const struct nanet3_ring *ring = h->links[i].ring;
		uint64_t used = ring->write_position - ring->release_position;

		if (ring->status == NANET3_RING_STOPPED) {
			continue;
		}
		any = true;
		if (used + 3 > ring->depth) {
			return false;
		}
	}
	return any;
}

int pace_unhurried_turn(struct pace *p, const struct play *play)
{
	unsigned made = 0;
	uint64_t from;
	int r;

	while (made < PACE_TURN_STEPS && !pace_finished(p) && rings_take(p->h) &&
	       (play == NULL || play_state(play) == PLAY_RUN)) {
		host_step(p->h);
		made++;
	}
	if (made > 0) {
		return turn(p, 0);
	}
	from = host_now_ns();
	r = turn(p, 1);
	p->h->stats.waited_ns += host_now_ns() - from;
	return r;
}

static int max_speed(struct pace *p)
{
	int r = 0;

	while (r == 0 && !pace_finished(p)) {
		r = pace_unhurried_turn(p, NULL);
	}
	return r;
}

/* ------------------------------------------------------------------------ run */

int host_run(struct host *h, volatile sig_atomic_t *stop)
{
	struct play *play = world_play(h->world);
	struct pace p = {
		.h = h,
		.stop = stop,
		.timer_fd = -1,
		.start_ns = host_now_ns(),
		.start_step = h->stats.steps,
		.last_step = UINT64_MAX,
	};
	int r;

	if (h->config.duration_s > 0) {
		p.last_step = p.start_step +
			      (uint64_t)(h->config.duration_s * NANET3_FRAMES_PER_SECOND + 0.5);
	}
	if (h->config.speed == HOST_SPEED_MAX && play == NULL) {
		return max_speed(&p);
	}
	r = timer_create_turns(h, &p.timer_fd);
	if (r < 0) {
		return r;
	}
	r = play != NULL ? pace_play(&p, play) : real_time(&p);
	close(p.timer_fd);
	return r;
}
