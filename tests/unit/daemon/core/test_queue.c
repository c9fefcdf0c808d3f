/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The queue between two threads: order, fullness, wake-ups. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/core/queue.h"

#define ITEMS 400000u

struct item {
	uint64_t number, square;
};

static void test_full_and_empty(void **state)
{
	struct queue q;
	struct item *p;

	assert_int_equal(queue_init(&q, sizeof(struct item), 4, 0), 0);
	assert_null(queue_peek(&q));
	for (unsigned i = 0; i < 4; i++) {
		p = queue_reserve(&q);
		assert_non_null(p);
		p->number = i;
		assert_ptr_equal(queue_reserve(&q), p); /* reserving is not sending */
		queue_commit(&q);
	}
	assert_null(queue_reserve(&q));
	assert_int_equal(q.refused, 1);
	for (unsigned i = 0; i < 4; i++) {
		p = queue_peek(&q);
		assert_int_equal(p->number, i);
		queue_release(&q);
	}
	assert_null(queue_peek(&q));
	assert_non_null(queue_reserve(&q));
	queue_wake(&q); /* no descriptor: nothing happens */
	queue_hush(&q);
	queue_fini(&q);
}

static void test_bell(void **state)
{
	struct queue q;
	struct pollfd fd = {.events = POLLIN};

	assert_int_equal(queue_init(&q, 8, 2, 1), 0);
	fd.fd = q.fd;
	assert_int_equal(poll(&fd, 1, 0), 0);
	queue_wake(&q);
	queue_wake(&q);
	assert_int_equal(poll(&fd, 1, 0), 1);
	queue_hush(&q);
	assert_int_equal(poll(&fd, 1, 0), 0);
	queue_hush(&q);
	queue_fini(&q);
}

/* The numbers wrap at 2^32: begin close to it. */
static void test_wrap(void **state)
{
	struct queue q;

	assert_int_equal(queue_init(&q, sizeof(uint64_t), 8, 0), 0);
	atomic_store(&q.head, UINT32_MAX - 3);
	atomic_store(&q.tail, UINT32_MAX - 3);
	q.seen_head = q.seen_tail = UINT32_MAX - 3;
	for (uint64_t i = 0; i < 100; i++) {
		uint64_t *p = queue_reserve(&q);

		*p = i;
		queue_commit(&q);
		assert_int_equal(*(uint64_t *)queue_peek(&q), i);
		queue_release(&q);
	}
	queue_fini(&q);
}

static void *produce(void *arg)
{
	struct queue *q = arg;

	for (uint64_t i = 0; i < ITEMS;) {
		struct item *p = queue_reserve(q);

		if (!p) {
			sched_yield();
			continue;
		}
		*p = (struct item){i, i * i};
		queue_commit(q);
		i++;
	}
	return NULL;
}

static void test_two_threads(void **state)
{
	struct queue q;
	pthread_t thread;

	assert_int_equal(queue_init(&q, sizeof(struct item), 64, 0), 0);
	assert_int_equal(pthread_create(&thread, NULL, produce, &q), 0);
	for (uint64_t i = 0; i < ITEMS;) {
		struct item *p = queue_peek(&q);

		if (!p) {
			sched_yield();
			continue;
		}
		if (p->number != i || p->square != i * i) {
			fail_msg("item %llu", (unsigned long long)i);
		}
		queue_release(&q);
		i++;
	}
	pthread_join(thread, NULL);
	assert_null(queue_peek(&q));
	queue_fini(&q);
}

/* Where queues live on the heap their cache lines are theirs alone. */
static void test_home(void **state)
{
	struct home {
		char first;
		struct queue q;
		char last;
	} * home[8];

	for (unsigned i = 0; i < 8; i++) {
		home[i] = queue_home_alloc(sizeof(*home[i]));
		assert_non_null(home[i]);
		assert_int_equal((uintptr_t)home[i] % alignof(struct queue), 0);
		assert_int_equal(home[i]->first + home[i]->last, 0);
		memset(home[i], 0xff, sizeof(*home[i]));
	}
	for (unsigned i = 0; i < 8; i++) {
		free(home[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_full_and_empty), cmocka_unit_test(test_bell),
		cmocka_unit_test(test_wrap),	       cmocka_unit_test(test_two_threads),
		cmocka_unit_test(test_home),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
