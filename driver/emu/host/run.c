/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The loop of the user-space host, at the pace that its world asks for. */
#include <errno.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "driver/emu/host/private.h"
#include "driver/emu/world/world.h"

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

int host_run(struct host *h, volatile sig_atomic_t *stop)
{
	struct play *play = world_play(h->world);
	struct pace p = {
		.h = h,
		.stop = stop,
		.timer_fd = -1,
		.start_ns = emu_now_ns(),
		.start_step = h->stats.steps,
		.last_step = UINT64_MAX,
	};
	int r;

	if (h->config.duration_s > 0) {
		p.last_step = p.start_step +
			      (uint64_t)(h->config.duration_s * NANET3_FRAMES_PER_SECOND + 0.5);
	}
	if (h->config.speed == HOST_SPEED_MAX && play == NULL) {
		return pace_max_speed(&p);
	}
	r = timer_create_turns(h, &p.timer_fd);
	if (r < 0) {
		return r;
	}
	r = play != NULL ? pace_play(&p, play) : pace_real_time(&p);
	close(p.timer_fd);
	return r;
}
