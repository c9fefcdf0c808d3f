/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The pace of the user-space host: when board_step() is called. There are three:
 *
 * Real time: `factor` seconds of model time per second of wall time. A timer wakes the loop once a millisecond
 * (a turn). As many whole turns of 8 steps are made as are due, also when a client's request has ended the wait
 * early: a ring starts with a turn, so its buffers are complete when the timer fires, not up to a turn earlier.
 * A late loop catches up in bursts and serves clients in between, so that they can release what a burst brings.
 * No step is ever skipped: model time is part of the data's meaning.
 *
 * Max speed: a step is made only while every running ring can take it, so nothing is dropped for want of room;
 * while no ring runs at all, model time stops.
 *
 * A recording (play.h): at the pace it was recorded at, a factor of that, or as fast as rings are released. An act
 * starts when its links have owners and these know the time: a client that has read the board's time of day a few
 * times since the last claim can label by it. Clients that never read it, and links that are never claimed, are
 * waited for only so long. Where the recording was relabelled it waits in the same way again. What was played is
 * released before the act ends.
 */
#include <errno.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "driver/emu/host/private.h"
#include "driver/emu/play/play.h"
#include "driver/emu/world/world.h"

#define TURN_NS	    ((uint64_t)1000000) /* one turn of the loop */
#define TURN_STEPS  (TURN_NS / NANET3_FRAME_NS)
#define BURST_STEPS (10 * TURN_STEPS) /* at most, before clients are served again */

#define SETTLED_READS 4u
#define SETTLED_NS    200000000ull  /* since the last claim */
#define IMPATIENT_NS  5000000000ull /* since the last claim, with links or readings missing */
#define DRAIN_NS      10000000000ull

struct pace {
	struct host *h;
	struct play *play; /* NULL: the world is modelled */
	volatile sig_atomic_t *stop;
	int timer_fd;	   /* readable once a turn */
	uint64_t start_ns; /* when step `start_step` was due */
	uint64_t start_step;
	uint64_t last_step; /* of the duration; ~0: endless */
	/* A recording: */
	enum play_state state; /* of the last turn */
	uint64_t since_ns;     /* in this state */
	/* WAIT */
	unsigned owned; /* links that had an owner, a mask */
	uint64_t claimed_ns;
	unsigned time_reads;	       /* when that last changed */
	uint64_t run_ns;	       /* RUN: when the act's first step was due */
	uint64_t steps;		       /* DRAIN, OVER: made since since_ns */
	uint64_t behind[NANET3_LINKS]; /* positions below hold what was played */
};

/* Stopped by the caller, or the duration or the recording is over. */
static bool finished(const struct pace *p)
{
	return *p->stop || p->h->stats.steps >= p->last_step ||
	       (p->play != NULL && p->h->config.play_once && play_state(p->play) == PLAY_OVER);
}

/* Serve clients; wait for the next turn at most, if `idle`. Negative errno. */
static int pace_turn(struct pace *p, bool idle)
{
	uint64_t ticks;
	/* The timer is a client, so to say: it ends the wait. */
	int r = host_poll(p->h, idle ? 100 : 0);

	(void)!read(p->timer_fd, &ticks, sizeof(ticks));
	return r == -EINTR ? 0 : r;
}

/* ------------------------------------------------------------------------ real time */

static uint64_t steps_due(const struct pace *p)
{
	double passed = (double)(nanet3_now_ns() - p->start_ns) * p->h->config.factor;
	uint64_t due = p->start_step + (uint64_t)(passed / NANET3_FRAME_NS);

	due -= (due - p->start_step) % TURN_STEPS;
	return due > p->h->stats.steps ? due - p->h->stats.steps : 0;
}

/* Model time is so far behind. */
static void note_lag(struct pace *p, uint64_t lag_ns)
{
	struct host_stats *s = &p->h->stats;

	s->worst_lag_ns = lag_ns > s->worst_lag_ns ? lag_ns : s->worst_lag_ns;
	s->too_slow = s->too_slow || lag_ns > p->h->config.depth_ms * 1000000ull;
}

static int real_time_turn(struct pace *p)
{
	uint64_t due = steps_due(p);

	note_lag(p, due * NANET3_FRAME_NS);
	for (uint64_t i = 0; i < due && i < BURST_STEPS && !finished(p); i++) {
		host_step(p->h);
	}
	/* With more than a turn to catch up, look at the clients, but do not wait. */
	return pace_turn(p, steps_due(p) <= TURN_STEPS);
}

/* ------------------------------------------------------------------------ max speed */

/* The steps of a turn at most, as rings have room and, with a recording, while it runs; waits for room where
 * there is none. */
static int max_speed_turn(struct pace *p)
{
	unsigned made = 0;

	while (made < TURN_STEPS && !finished(p) &&
	       (board_gone(p->h->board) || p->h->gone || board_rings_take(p->h->board)) &&
	       (p->play == NULL || play_state(p->play) == PLAY_RUN)) {
		host_step(p->h);
		made++;
	}
	return pace_turn(p, made == 0);
}

/* ------------------------------------------------------------------------ a recording */

static unsigned owned_links(const struct host *h)
{
	unsigned owned = 0;

	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		owned |= h->links[i].ring->status == NANET3_RING_OWNED ? 1u << i : 0;
	}
	return owned;
}

static bool readers_ready(struct pace *p)
{
	const unsigned owned = owned_links(p->h), wanted = play_links(p->play);
	const uint64_t now = nanet3_now_ns();

	if (owned != p->owned) {
		p->owned = owned;
		p->claimed_ns = now;
		p->time_reads = p->h->time_reads;
	}
	if ((owned & wanted) == 0 || now - p->claimed_ns < SETTLED_NS) {
		return false;
	}
	return ((owned & wanted) == wanted && p->h->time_reads - p->time_reads >= SETTLED_READS) ||
	       now - p->claimed_ns >= IMPATIENT_NS;
}

static int await(struct pace *p)
{
	if (readers_ready(p)) {
		play_go(p->play);
		return 0;
	}
	return pace_turn(p, true);
}

/* The recorded pace. */
static int run_by_the_clock(struct pace *p)
{
	const double passed = (double)(nanet3_now_ns() - p->run_ns) * p->h->config.factor;
	unsigned made = 0;

	while (play_state(p->play) == PLAY_RUN && !finished(p) && made < BURST_STEPS &&
	       (double)play_due_ns(p->play) <= passed) {
		if (made++ == 0) {
			note_lag(p, (uint64_t)passed - play_due_ns(p->play));
		}
		host_step(p->h);
	}
	return pace_turn(p, made < BURST_STEPS);
}

/* Without light, 8000 steps a second at any speed: there is no hurry after the end. */
static int run_dark(struct pace *p)
{
	const uint64_t due = (nanet3_now_ns() - p->since_ns) / NANET3_FRAME_NS;
	const enum play_state state = play_state(p->play);
	unsigned made = 0;

	while (p->steps < due && made < BURST_STEPS && !finished(p) &&
	       play_state(p->play) == state) {
		host_step(p->h);
		p->steps++;
		made++;
	}
	return pace_turn(p, made < BURST_STEPS);
}

static bool taken(const struct pace *p)
{
	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		const struct nanet3_ring *ring = p->h->links[i].ring;

		if (ring->status != NANET3_RING_STOPPED && ring->release_position < p->behind[i]) {
			return false;
		}
	}
	return true;
}

static int drain(struct pace *p)
{
	const bool whole = taken(p);

	if (!whole && nanet3_now_ns() - p->since_ns < DRAIN_NS) {
		return run_dark(p);
	}
	play_next(p->play);
	if (play_state(p->play) == PLAY_OVER && p->h->config.played != NULL) {
		p->h->config.played(p->h->config.played_context, whole);
	}
	return 0;
}

static void follow_state(struct pace *p)
{
	const enum play_state state = play_state(p->play);

	if (state == p->state && p->since_ns != 0) {
		return;
	}
	p->state = state;
	p->since_ns = nanet3_now_ns();
	p->steps = 0;
	if (state == PLAY_WAIT) {
		p->owned = 0;
		p->claimed_ns = p->since_ns;
	} else if (state == PLAY_RUN) {
		p->run_ns = p->since_ns -
			    (uint64_t)((double)play_due_ns(p->play) / p->h->config.factor);
	} else if (state == PLAY_DRAIN) {
		/* What was played lies below the next position: the first dark cell ends the buffer
		 * under way. */
		for (unsigned i = 0; i < NANET3_LINKS; i++) {
			p->behind[i] = p->h->links[i].ring->write_position + 1;
		}
	}
}

static int play_turn(struct pace *p)
{
	follow_state(p);
	switch (p->state) {
	case PLAY_WAIT:
		return await(p);
	case PLAY_RUN:
		return p->h->config.speed == HOST_SPEED_MAX ? max_speed_turn(p)
							    : run_by_the_clock(p);
	case PLAY_DRAIN:
		return drain(p);
	case PLAY_OVER:
		return run_dark(p);
	default: /* LEAD, GONE */
		host_step(p->h);
		return pace_turn(p, false);
	}
}

/* ------------------------------------------------------------------------ run */

static int timer_create_turns(struct host *h, int *ret_fd)
{
	struct itimerspec turns = {.it_interval.tv_nsec = (long)TURN_NS,
				   .it_value.tv_nsec = (long)TURN_NS};
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

int host_run(struct host *h, volatile sig_atomic_t *stop)
{
	struct pace p = {
		.h = h,
		.play = world_play(h->world),
		.stop = stop,
		.start_ns = nanet3_now_ns(),
		.start_step = h->stats.steps,
		.last_step = UINT64_MAX,
	};
	int r;

	if (h->config.duration_s > 0) {
		p.last_step = p.start_step +
			      (uint64_t)(h->config.duration_s * NANET3_FRAMES_PER_SECOND + 0.5);
	}
	r = timer_create_turns(h, &p.timer_fd);
	if (r < 0) {
		return r;
	}
	while (r == 0 && !finished(&p)) {
		r = p.play != NULL			? play_turn(&p)
		    : h->config.speed == HOST_SPEED_MAX ? max_speed_turn(&p)
							: real_time_turn(&p);
	}
	close(p.timer_fd);
	return r;
}
