/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The pace of the QEMU host: model time against the monotonic clock, as pace.c does it for the socket,
 * with one difference: a vCPU that reads a register waits for the answer. So requests are served
 * after every single step, and a request ends every wait.
 */
#include <errno.h>

#include "driver/emu/qemu/private.h"

#define TURN_NS	   1000000u /* steps are made in groups of so much wall time */
#define TURN_STEPS (TURN_NS / NANET3_FRAME_NS)

struct pace {
	struct qemu_host *q;
	volatile sig_atomic_t *stop;
	double steps_per_ns;
	uint64_t start_ns; /* when step `start_step` was due */
	uint64_t start_step;
	uint64_t last_step; /* of the duration; ~0: endless */
};

static bool finished(const struct pace *p)
{
	return *p->stop || p->q->stats.steps >= p->last_step;
}

/* One step, and what the guest wanted meanwhile. */
static int step(struct pace *p)
{
	qemu_step(p->q);
	return qemu_serve_now(p->q);
}

/* ------------------------------------------------------------------------ by the clock */

static uint64_t steps_due(const struct pace *p)
{
	uint64_t due = p->start_step +
		       (uint64_t)((double)(nanet3_now_ns() - p->start_ns) * p->steps_per_ns);

	return due > p->q->stats.steps ? due - p->q->stats.steps : 0;
}

/* Until the next group of steps is due. */
static uint64_t wait_ns(const struct pace *p)
{
	const double turn = TURN_NS * p->steps_per_ns;
	const double next = (double)(p->q->stats.steps - p->start_step) + (turn > 1 ? turn : 1);
	const uint64_t at = p->start_ns + (uint64_t)(next / p->steps_per_ns);
	const uint64_t now = nanet3_now_ns();

	return at > now ? at - now : 0;
}

static int turn_by_the_clock(struct pace *p)
{
	uint64_t due = steps_due(p), lag_ns = (uint64_t)((double)due / p->steps_per_ns);
	struct qemu_stats *s = &p->q->stats;
	int r = 0;

	s->worst_lag_ns = lag_ns > s->worst_lag_ns ? lag_ns : s->worst_lag_ns;
	for (; due > 0 && r == 0 && !finished(p); due--) {
		r = step(p);
	}
	return r == 0 ? qemu_wait(p->q, wait_ns(p)) : r;
}

/* ------------------------------------------------------------------------ by the reader */

static int turn_by_the_reader(struct pace *p)
{
	int r = 0;

	for (unsigned i = 0; r == 0 && i < TURN_STEPS && !finished(p) &&
			     (board_gone(p->q->board) || board_rings_take(p->q->board));
	     i++) {
		r = step(p);
	}
	return r == 0 ? qemu_wait(p->q, board_rings_take(p->q->board) ? 0 : TURN_NS) : r;
}

/* ------------------------------------------------------------------------ run */

int qemu_run(struct qemu_host *q, volatile sig_atomic_t *stop)
{
	struct pace p = {
		.q = q,
		.stop = stop,
		.steps_per_ns = q->config.factor / NANET3_FRAME_NS,
		.start_ns = nanet3_now_ns(),
		.start_step = q->stats.steps,
		.last_step = UINT64_MAX,
	};
	int r = 0;

	if (q->config.duration_s > 0) {
		p.last_step = p.start_step +
			      (uint64_t)(q->config.duration_s * NANET3_FRAMES_PER_SECOND + 0.5);
	}
	while (r == 0 && !finished(&p)) {
		r = q->config.speed == HOST_SPEED_MAX ? turn_by_the_reader(&p)
						      : turn_by_the_clock(&p);
	}
	return r == -ECHILD ? 0 : r;
}
