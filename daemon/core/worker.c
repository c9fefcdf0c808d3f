// SPDX-License-Identifier: GPL-2.0-or-later
/* A thread for work that may hang, see worker.h. */
#include "daemon/core/worker.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <event2/event.h>

#include "daemon/core/now.h"
#include "daemon/core/thread.h"

#define STOP_NS 1000000000ull

STAILQ_HEAD(list, work);

struct worker {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake, over;
	struct list todo, done;
	uint64_t since_ns; /* when the present piece began; 0: there is none */
	bool stop, ended;
	unsigned users; /* thread and owner; the last one frees it */
	int fd;		/* readable: something is done */
	struct event *event;
};

static struct work *take_first(struct list *l)
{
	struct work *work = STAILQ_FIRST(l);

	if (work) {
		STAILQ_REMOVE_HEAD(l, next);
	}
	return work;
}

static void release(struct worker *w)
{
	if (w->event) {
		event_free(w->event);
	}
	if (w->fd >= 0) {
		close(w->fd);
	}
	pthread_cond_destroy(&w->wake);
	pthread_cond_destroy(&w->over);
	pthread_mutex_destroy(&w->lock);
	free(w);
}

/* For who holds the lock, and is done with it. */
static void leave(struct worker *w)
{
	bool last = --w->users == 0;

	pthread_mutex_unlock(&w->lock);
	if (last) {
		release(w);
	}
}

/* Owns the piece that it is at. */
static void *worker_main(void *arg)
{
	struct worker *w = arg;
	struct work *work;

	pthread_mutex_lock(&w->lock);
	while (!w->stop) {
		work = take_first(&w->todo);
		if (!work) {
			pthread_cond_wait(&w->wake, &w->lock);
			continue;
		}
		w->since_ns = now_mono_ns();
		pthread_mutex_unlock(&w->lock);
		work->run(work);
		pthread_mutex_lock(&w->lock);
		w->since_ns = 0;
		STAILQ_INSERT_TAIL(&w->done, work, next);
		eventfd_write(w->fd, 1);
	}
	w->ended = true;
	pthread_cond_signal(&w->over);
	leave(w);
	return NULL;
}

static void tell_done(struct worker *w)
{
	struct work *work;

	do {
		pthread_mutex_lock(&w->lock);
		work = take_first(&w->done);
		pthread_mutex_unlock(&w->lock);
		if (work) {
			work->done(work);
		}
	} while (work);
}

static void on_done(evutil_socket_t fd, short what, void *arg)
{
	eventfd_t count;

	if (eventfd_read(fd, &count) == 0) {
		tell_done(arg);
	}
}

int worker_start(struct event_base *base, const char *name, struct worker **ret_worker)
{
	struct worker *w = calloc(1, sizeof(*w));
	int r;

	if (!w) {
		return -ENOMEM;
	}
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->wake, NULL);
	pthread_cond_init(&w->over, NULL);
	w->users = 2;
	STAILQ_INIT(&w->todo);
	STAILQ_INIT(&w->done);
	w->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r = w->fd < 0 ? -errno : 0;
	w->event = r == 0 ? event_new(base, w->fd, EV_READ | EV_PERSIST, on_done, w) : NULL;
	if (r == 0 && (!w->event || event_add(w->event, NULL) < 0)) {
		r = -ENOMEM;
	}
	r = r ? r : thread_start(&w->thread, name, worker_main, w);
	if (r < 0) {
		release(w);
		return r;
	}
	*ret_worker = w;
	return 0;
}

void worker_give(struct worker *w, struct work *work)
{
	pthread_mutex_lock(&w->lock);
	STAILQ_INSERT_TAIL(&w->todo, work, next);
	pthread_cond_signal(&w->wake);
	pthread_mutex_unlock(&w->lock);
}

uint64_t worker_busy_ns(struct worker *w)
{
	uint64_t since_ns;

	pthread_mutex_lock(&w->lock);
	since_ns = w->since_ns;
	pthread_mutex_unlock(&w->lock);
	return since_ns ? now_mono_ns() - since_ns : 0;
}

bool worker_stop(struct worker *w)
{
	uint64_t until_ns = now_mono_ns() + STOP_NS;
	bool ended;
	int r = 0;

	if (!w) {
		return true;
	}
	pthread_mutex_lock(&w->lock);
	w->stop = true;
	pthread_cond_signal(&w->wake);
	while (!w->ended && r == 0) {
		r = thread_wait_until(&w->over, &w->lock, until_ns);
	}
	ended = w->ended;
	pthread_mutex_unlock(&w->lock);
	tell_done(w);
	event_free(w->event);
	w->event = NULL;
	if (ended) {
		pthread_join(w->thread, NULL);
	} else { /* it ends with its piece, or with the process */
		pthread_detach(w->thread);
	}
	pthread_mutex_lock(&w->lock);
	leave(w);
	return ended;
}
