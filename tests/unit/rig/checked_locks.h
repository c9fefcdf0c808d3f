/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * In the place of the C library's: a mutex that is given back by a thread that does not hold it ends the test. To be
 * included by one file of a test.
 */
#pragma once

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

#define CHECKED_LOCKS_MAX 8u

static _Thread_local pthread_mutex_t *checked_locks_held[CHECKED_LOCKS_MAX];

static pthread_mutex_t **checked_locks_find(const pthread_mutex_t *mutex)
{
	for (unsigned i = 0; i < CHECKED_LOCKS_MAX; i++) {
		if (checked_locks_held[i] == mutex) {
			return &checked_locks_held[i];
		}
	}
	return NULL;
}

static int checked_locks_take(pthread_mutex_t *mutex, int r)
{
	pthread_mutex_t **place = checked_locks_find(NULL);

	if (!place) {
		abort();
	}
	*place = r == 0 ? mutex : NULL;
	return r;
}

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
	int (*lock)(pthread_mutex_t *) =
		(int (*)(pthread_mutex_t *))dlsym(RTLD_NEXT, "pthread_mutex_lock");

	return checked_locks_take(mutex, lock(mutex));
}

int pthread_mutex_trylock(pthread_mutex_t *mutex)
{
	int (*trylock)(pthread_mutex_t *) =
		(int (*)(pthread_mutex_t *))dlsym(RTLD_NEXT, "pthread_mutex_trylock");

	return checked_locks_take(mutex, trylock(mutex));
}

int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	int (*unlock)(pthread_mutex_t *) =
		(int (*)(pthread_mutex_t *))dlsym(RTLD_NEXT, "pthread_mutex_unlock");
	pthread_mutex_t **place = checked_locks_find(mutex);

	if (!place) {
		abort();
	}
	*place = NULL;
	return unlock(mutex);
}
