/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Annotations for the thread sanitizer. It cannot see that memory is handed from thread to thread
 * through a library that is not instrumented (libzmq: the atomics of its queues order the
 * hand-over). These macros are used in pairs, only at such a hand-over; between our own threads
 * queue.h and C11 atomics suffice. Without the sanitizer they are empty.
 */
#pragma once

#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
/* Everything that this thread did up to here happens before ... */
static inline void annotate_give(void *object)
{
	__tsan_release(object);
}
/* ... everything that the thread which takes `object` does from here on. */
static inline void annotate_take(void *object)
{
	__tsan_acquire(object);
}
#else
static inline void annotate_give(void *object)
{
}
static inline void annotate_take(void *object)
{
}
#endif
