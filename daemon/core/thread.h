/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How the daemon starts its threads, and waits for them. */
#pragma once

#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <time.h>

/* With all signals blocked: they are the main thread's. `name`: as top shows it, at most 15 characters. 0, or
 * pthread_create()'s negative errno. */
static inline int thread_start(pthread_t *ret_thread, const char *name, void *(*run)(void *),
			       void *context)
{
	sigset_t all, before;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(ret_thread, NULL, run, context);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (r == 0) {
		pthread_setname_np(*ret_thread, name);
	}
	return -r;
}

/* pthread_cond_timedwait() until this time of CLOCK_MONOTONIC. 0, or ETIMEDOUT. */
static inline int thread_wait_until(pthread_cond_t *condition, pthread_mutex_t *lock,
				    uint64_t until_ns)
{
	struct timespec until = {.tv_sec = (time_t)(until_ns / 1000000000),
				 .tv_nsec = (long)(until_ns % 1000000000)};

	return pthread_cond_clockwait(condition, lock, CLOCK_MONOTONIC, &until);
}
