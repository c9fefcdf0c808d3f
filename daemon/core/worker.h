/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A thread for work of the main thread that may hang with a disk: files, the database, name services. It does one
 * piece after the other and reports the end of each in the main thread's event loop. When a piece hangs, the main
 * thread continues, and sees for how long.
 *
 * Only the main thread calls these functions.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

struct event_base;
struct worker;

/* The first member of the struct of a piece of work. Until done() is called only run() may access
 * that struct. */
struct work {
	void (*run)(struct work *w);  /* on the thread */
	void (*done)(struct work *w); /* then, in the event loop; owns the work again */
	STAILQ_ENTRY(work) next;      /* the worker's */
};

/* `name`: of the thread, at most 15 characters. Negative errno. */
int worker_start(struct event_base *base, const char *name, struct worker **ret_worker);
void worker_give(struct worker *w, struct work *work);
/* How long the current piece has been running, ns; 0: there is none. */
uint64_t worker_busy_ns(struct worker *w);
/* Calls done() for every finished piece; pieces that were not begun are leaked. Waits at most a
 * second for the running piece; false: it hangs, and the thread ends with the process. NULL is
 * fine. */
bool worker_stop(struct worker *w);
