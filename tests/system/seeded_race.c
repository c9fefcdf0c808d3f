/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A race on purpose: does the thread sanitizer, with our suppressions, still see the one bug that
 * queues between threads are prone to?
 *
 *   seeded_race seeded   the hand-over of daemon/core/queue.h with its release store made a relaxed one
 *   seeded_race sound    daemon/core/queue.h as it is
 *
 * Under the thread sanitizer the first must be reported and the second must not; seeded_race.sh is the
 * judge. On x86 both compute the same, which is why only a sanitizer finds such a bug.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "daemon/core/queue.h"

#define ITEMS  20000u
#define PLACES 64u

struct item {
	uint64_t number, twice;
};

struct hand_over {
	struct queue queue;
	bool seeded;
	uint64_t wrong;
};

/* queue_commit(), but for the memory order: what is published may be seen before what it stands for. */
static void commit_relaxed(struct queue *q)
{
	uint32_t head = atomic_load_explicit(&q->head, memory_order_relaxed);

	atomic_store_explicit(&q->head, head + 1, memory_order_relaxed);
}

static void *produce(void *context)
{
	struct hand_over *h = context;

	for (uint64_t i = 0; i < ITEMS;) {
		struct item *item = queue_reserve(&h->queue);

		if (item) {
			*item = (struct item){.number = i, .twice = 2 * i};
			i++;
			if (h->seeded) {
				commit_relaxed(&h->queue);
			} else {
				queue_commit(&h->queue);
			}
		}
	}
	return NULL;
}

static void *consume(void *context)
{
	struct hand_over *h = context;

	for (uint64_t i = 0; i < ITEMS;) {
		const struct item *item = queue_peek(&h->queue);

		if (item) {
			h->wrong += item->number != i || item->twice != 2 * i;
			queue_release(&h->queue);
			i++;
		}
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct hand_over h = {.seeded = argc == 2 && strcmp(argv[1], "seeded") == 0};
	pthread_t producer, consumer;

	if (argc != 2 || (!h.seeded && strcmp(argv[1], "sound") != 0)) {
		fputs("usage: seeded_race seeded|sound\n", stderr);
		return 2;
	}
	if (queue_init(&h.queue, sizeof(struct item), PLACES, 0) < 0 ||
	    pthread_create(&producer, NULL, produce, &h) != 0) {
		fputs("seeded_race: no queue, no thread\n", stderr);
		return 3;
	}
	if (pthread_create(&consumer, NULL, consume, &h) != 0) {
		fputs("seeded_race: no thread\n", stderr);
		return 3; /* the producer ends with us */
	}
	pthread_join(producer, NULL);
	pthread_join(consumer, NULL);
	queue_fini(&h.queue);
	printf("%u items, %llu wrong\n", ITEMS, (unsigned long long)h.wrong);
	return h.wrong ? 1 : 0;
}
