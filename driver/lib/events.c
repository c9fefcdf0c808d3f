/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libnanet3: events. A handle's own queue is mapped and filled by the driver; while polling is on,
 * the wake-ups for data in it are skipped and the board's queue is followed instead (poller.h).
 */
#include <errno.h>

#include "driver/lib/nanet3_private.h"
#include "driver/now.h"

#define SPINS_A_LOOK 256u /* turns of a polling wait between two looks at the clock */
#define SILENCE_MS   100  /* polling: this long without news, the kernel is asked for the board */

int nanet3_fd(const struct nanet3 *b)
{
	return b->transport.poll_fd;
}

static bool queue_empty(const struct nanet3 *b)
{
	return b->queue == NULL ||
	       __atomic_load_n(&b->queue->write, __ATOMIC_ACQUIRE) == b->queue_read;
}

static const struct nanet3_event *queue_head(const struct nanet3 *b)
{
	return (const struct nanet3_event *)((const uint8_t *)b->queue + NANET3_QUEUE_EVENTS) +
	       (b->queue_read & (b->info.queue_size - 1));
}

static void queue_advance(struct nanet3 *b)
{
	b->queue_read++;
	__atomic_store_n(&b->queue->read, b->queue_read, __ATOMIC_RELEASE);
}

static void cpu_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

static int64_t now_ms(void)
{
	return (int64_t)(nanet3_now_ns() / 1000000);
}

/* Wake-ups on the client's queue say nothing to one who follows the board's. */
static void skip_wakeups(struct nanet3 *b)
{
	while (!queue_empty(b)) {
		const struct nanet3_event *ev = queue_head(b);

		if (ev->type != NANET3_EVENT_RX || !poller_has(&b->polling->poller, ev->link)) {
			return;
		}
		queue_advance(b);
	}
}

static bool polling_news(struct nanet3 *b)
{
	const struct poller *p = &b->polling->poller;

	skip_wakeups(b);
	if (!queue_empty(b)) {
		return true;
	}
	libnanet3_poller_drain(&b->polling->poller);
	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		if (p->links[i].news) {
			return true;
		}
	}
	return false;
}

/* Shared memory does not show that the other end has died: ask the kernel. */
static int silence_check(struct nanet3 *b)
{
	struct lib_polling *p = b->polling;
	int64_t now = now_ms();
	int r;

	if (now - p->news_ms < SILENCE_MS) {
		return 0;
	}
	p->news_ms = now;
	libnanet3_clear(b);
	r = libnanet3_wait(b, 0);
	p->gone = r == -ENODEV;
	return p->gone && !polling_news(b) ? r : 0;
}

static int polling_wait(struct nanet3 *b, int timeout_ms)
{
	struct lib_polling *p = b->polling;
	int64_t until = timeout_ms > 0 ? now_ms() + timeout_ms : 0;

	for (;;) {
		if (polling_news(b)) {
			p->turns = 0;
			p->news_ms = 0;
			return 1;
		}
		if (p->gone) {
			return -ENODEV;
		}
		if (++p->turns % SPINS_A_LOOK == 0) {
			int r;

			if (p->news_ms == 0) {
				p->news_ms = now_ms();
			}
			r = silence_check(b);
			if (r < 0 || (timeout_ms > 0 && now_ms() >= until)) {
				return r;
			}
		}
		if (timeout_ms == 0) {
			return 0;
		}
		cpu_relax();
	}
}

int nanet3_wait(struct nanet3 *b, int timeout_ms)
{
	int64_t until = timeout_ms > 0 ? now_ms() + timeout_ms : 0;

	if (b->queue == NULL) {
		return -EBADF;
	}
	if (b->polling != NULL) {
		return polling_wait(b, timeout_ms);
	}
	for (;;) {
		int r;

		libnanet3_clear(b);
		if (!queue_empty(b)) {
			return 1;
		}
		r = libnanet3_wait(b, timeout_ms);
		if (r <= 0) {
			/* What came last is still to be had when the board has gone. */
			return r == -ENODEV && !queue_empty(b) ? 1 : r;
		}
		if (timeout_ms > 0) {
			int64_t left = until - now_ms();

			timeout_ms = left > 0 ? (int)left : 0;
		}
	}
}

int nanet3_next_event(struct nanet3 *b, struct nanet3_event *ret_event)
{
	if (b->polling != NULL) {
		skip_wakeups(b);
	}
	if (queue_empty(b)) {
		if (b->polling == NULL) {
			return 0;
		}
		libnanet3_poller_drain(&b->polling->poller);
		return libnanet3_poller_news(&b->polling->poller, ret_event);
	}
	*ret_event = *queue_head(b);
	queue_advance(b);
	return 1;
}

uint64_t nanet3_events_lost(const struct nanet3 *b)
{
	return b->queue != NULL ? __atomic_load_n(&b->queue->lost, __ATOMIC_RELAXED) : 0;
}

int nanet3_subscribe(struct nanet3 *b, uint32_t mask)
{
	struct nanet3_subscribe s = {.mask = mask};

	return libnanet3_request(b, NANET3_IOC_SUBSCRIBE, &s, sizeof(s));
}
