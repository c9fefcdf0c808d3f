/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the thread sanitizer cannot see: memory handed from thread to thread through a library that is
 * not instrumented (libzmq: its queues order the hand-over, by atomics of its own). Said in pairs, at
 * exactly such a hand-over and nowhere else; between our own threads queue.h and C11 atomics speak for
 * themselves. Without the sanitizer these are nothing.
 */
#ifndef DAEMON_CORE_ANNOTATE_H
#define DAEMON_CORE_ANNOTATE_H

#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
/* What this thread did up to here is done ... */
static inline void annotate_give(void *object)
{
	__tsan_release(object);
}
/* ... before what the one that takes `object` does from here on. */
static inline void annotate_take(void *object)
{
	__tsan_acquire(object);
}
#else
static inline void annotate_give(void *object)
{
	(void)object;
}
static inline void annotate_take(void *object)
{
	(void)object;
}
#endif

#endif
