/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libnanet3's reader of the board's queue, on queue, ring states and doorbells in plain memory: the test
 * plays board and driver.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "driver/lib/poller.h"

#define SIZE  16u /* events on the board's queue */
#define DEPTH 8u  /* buffers in a ring */
#define EPOCH 5u

struct rig {
	struct nanet3_event queue[SIZE];
	uint32_t posted, taken; /* on the queue; by the driver */
	struct {
		_Alignas(64) uint8_t bytes[NANET3_PAGE + DEPTH * sizeof(struct nanet3_event)];
		uint32_t doorbell[2];
		uint64_t write; /* the board's */
	} links[NANET3_LINKS];
	struct poller poller;
};

static struct nanet3_ring *ring(struct rig *r, unsigned link)
{
	return (struct nanet3_ring *)r->links[link].bytes;
}

static void put_event(struct rig *r, struct nanet3_event ev)
{
	struct nanet3_event *place = &r->queue[r->posted % SIZE];

	ev.sequence = place->sequence;
	*place = ev;
	__atomic_store_n(&place->sequence, ++r->posted, __ATOMIC_RELEASE);
}

static void put_data(struct rig *r, unsigned link)
{
	uint64_t position = r->links[link].write++;

	put_event(r, (struct nanet3_event){.type = NANET3_EVENT_RX,
					   .link = (uint8_t)link,
					   .dma_epoch = EPOCH,
					   .position = position,
					   .frame_count = 8000 + 16 * position,
					   .frames = 16});
}

/* The driver takes all that is on the queue. */
static void drive(struct rig *r)
{
	for (; r->taken != r->posted; r->taken++) {
		const struct nanet3_event *ev = &r->queue[r->taken % SIZE];

		if (ev->type == NANET3_EVENT_RX && ev->link < NANET3_LINKS) {
			struct nanet3_ring *state = ring(r, ev->link);

			((struct nanet3_event *)(r->links[ev->link].bytes +
						 NANET3_RING_COMPLETIONS))[ev->position % DEPTH] =
				*ev;
			__atomic_store_n(&state->write_position, ev->position + 1,
					 __ATOMIC_RELEASE);
		}
	}
}

static int setup(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	r->poller = (struct poller){.events = r->queue, .size = SIZE, .next = 1};
	for (unsigned i = 0; i < 2; i++) {
		ring(r, i)->dma_epoch = EPOCH;
		assert_int_equal(libnanet3_poller_add(&r->poller, i, ring(r, i), DEPTH, EPOCH,
						      r->links[i].doorbell),
				 0);
	}
	*state = r;
	return 0;
}

static int teardown(void **state)
{
	struct rig *r = *state;

	libnanet3_poller_fini(&r->poller);
	free(r);
	return 0;
}

static void check(struct rig *r, unsigned link, uint64_t write)
{
	const struct poller_link *l = &r->poller.links[link];

	libnanet3_poller_drain(&r->poller);
	assert_int_equal(l->write, write);
	for (uint64_t p = l->release; p < write; p++) {
		assert_int_equal(l->completions[p % DEPTH].position, p);
		assert_int_equal(l->completions[p % DEPTH].link, link);
		assert_int_equal(l->completions[p % DEPTH].frame_count, 8000 + 16 * p);
	}
}

static void data_without_the_driver(void **state)
{
	struct rig *r = *state;
	struct nanet3_event ev;

	check(r, 0, 0);
	assert_int_equal(libnanet3_poller_news(&r->poller, &ev), 0);
	put_data(r, 0);
	put_data(r, 1);
	put_data(r, 0);
	check(r, 0, 2);
	check(r, 1, 1);
	assert_true(r->poller.links[0].completions[0].time_ns > 0);
	assert_int_equal(libnanet3_poller_news(&r->poller, &ev), 1); /* once for both */
	assert_int_equal(ev.link, 0);
	assert_int_equal(ev.position, 1);
	assert_int_equal(libnanet3_poller_news(&r->poller, &ev), 1);
	assert_int_equal(ev.link, 1);
	assert_int_equal(libnanet3_poller_news(&r->poller, &ev), 0);
	drive(r); /* what is known already is no news */
	check(r, 0, 2);
	assert_int_equal(libnanet3_poller_news(&r->poller, &ev), 0);
}

static void an_event_half_written_is_not_taken(void **state)
{
	struct rig *r = *state;

	put_data(r, 0);
	r->queue[0].sequence = 0;
	check(r, 0, 0);
	r->queue[0].sequence = 1;
	check(r, 0, 1);
}

static void what_is_not_ours_is_skipped(void **state)
{
	struct rig *r = *state;
	struct nanet3_event ev = {.type = NANET3_EVENT_RX, .dma_epoch = EPOCH - 1};

	put_event(r, ev); /* stale */
	ev = (struct nanet3_event){.type = NANET3_EVENT_RX, .link = 3, .dma_epoch = EPOCH};
	put_event(r, ev); /* another client's link */
	ev.link = 200;
	put_event(r, ev); /* nonsense */
	ev = (struct nanet3_event){.type = NANET3_EVENT_PPS, .link = 0, .dma_epoch = EPOCH};
	put_event(r, ev);
	ev = (struct nanet3_event){.type = NANET3_EVENT_TX, .link = 0, .dma_epoch = EPOCH};
	put_event(r, ev);
	put_data(r, 0);
	check(r, 0, 1);
	check(r, 1, 0);
	assert_int_equal(r->poller.next, 7);
}

static void release_rings_the_doorbell(void **state)
{
	struct rig *r = *state;

	for (unsigned i = 0; i < 5; i++) {
		put_data(r, 0);
	}
	check(r, 0, 5);
	assert_int_equal(libnanet3_poller_release(&r->poller, 0, 6), -EINVAL);
	assert_int_equal(libnanet3_poller_release(&r->poller, 0, 3), 0);
	assert_int_equal(r->links[0].doorbell[0], 3);
	assert_int_equal(libnanet3_poller_release(&r->poller, 0, 2), -EINVAL);
	assert_int_equal(libnanet3_poller_release(&r->poller, 0, 3), 0);
	assert_int_equal(r->links[0].doorbell[0], 3);
	assert_int_equal(r->links[1].doorbell[0], 0);
	r->poller.links[0].write = 0x500000007; /* both words */
	assert_int_equal(libnanet3_poller_release(&r->poller, 0, 0x500000006), 0);
	assert_int_equal(r->links[0].doorbell[0], 6);
	assert_int_equal(r->links[0].doorbell[1], 5);
}

/* Less than a queue behind, nothing to make good; more, and the ring state has what was written over. */
static void overrun_is_made_good(void **state)
{
	struct rig *r = *state;
	uint64_t done = 0;

	for (unsigned behind = 1; behind < 5 * SIZE; behind++) {
		uint64_t before = r->poller.overruns;

		/* The reader of link 0 holds nothing back; link 1 makes the queue turn. */
		put_data(r, 0);
		done++;
		for (unsigned i = 1; i < behind; i++) {
			drive(r);
			put_event(r, (struct nanet3_event){.type = NANET3_EVENT_PPS});
		}
		check(r, 0, done);
		assert_int_equal(r->poller.next, r->posted + 1);
		assert_int_equal(r->poller.overruns > before, behind >= SIZE);
		assert_int_equal(libnanet3_poller_release(&r->poller, 0, done), 0);
	}
}

/* The place read from is the one that the board writes next: its neighbour tells. */
static void torn_event_is_not_taken(void **state)
{
	struct rig *r = *state;

	put_data(r, 0);
	drive(r);
	for (unsigned i = 1; i < SIZE; i++) {
		put_event(r, (struct nanet3_event){.type = NANET3_EVENT_PPS});
	}
	drive(r);
	r->poller.next = 2;
	r->queue[0].sequence = SIZE + 1; /* written; number 2 may be half written over */
	memset(&r->queue[1], 0xff, offsetof(struct nanet3_event, sequence));
	libnanet3_poller_drain(&r->poller);
	assert_int_equal(r->poller.overruns, 1);
	check(r, 0, 1); /* from the ring state */
	assert_int_equal(r->poller.next, SIZE + 2);
}

static void a_hole_is_filled_from_the_ring_state(void **state)
{
	struct rig *r = *state;

	put_data(r, 0);
	put_data(r, 0);
	put_data(r, 0);
	r->queue[1].dma_epoch = 0; /* never to be seen here */
	check(r, 0, 1);
	r->queue[1].dma_epoch = EPOCH;
	drive(r);
	check(r, 0, 3);
	put_data(r, 0);
	check(r, 0, 4);
}

static void sequences_wrap(void **state)
{
	struct rig *r = *state;

	r->posted = r->taken = UINT32_MAX - 20;
	for (uint32_t i = 0; i < SIZE; i++) { /* what the lap before has left */
		uint32_t sequence = r->posted - i;

		r->queue[(sequence - 1) % SIZE].sequence = sequence;
	}
	r->poller.next = r->posted + 1;
	for (uint64_t i = 0; i < 100; i++) {
		put_data(r, 0);
		check(r, 0, i + 1);
		assert_int_equal(libnanet3_poller_release(&r->poller, 0, i + 1), 0);
	}
	assert_int_equal(r->poller.overruns, 0);
	assert_int_equal(r->poller.next, 80);
}

static void joins_a_running_ring(void **state)
{
	struct rig *r = *state;

	for (unsigned i = 0; i < 6; i++) {
		put_data(r, 2);
	}
	ring(r, 2)->dma_epoch = EPOCH;
	ring(r, 2)->release_position = 2;
	drive(r);
	check(r, 2, 0); /* not followed */
	assert_int_equal(
		libnanet3_poller_add(&r->poller, 2, ring(r, 2), DEPTH, EPOCH, r->links[2].doorbell),
		0);
	check(r, 2, 6);
	assert_int_equal(r->poller.links[2].release, 2);
	put_data(r, 2);
	check(r, 2, 7);
	libnanet3_poller_remove(&r->poller, 2);
	put_data(r, 2);
	check(r, 2, 0);
	assert_false(poller_has(&r->poller, 2));
	assert_false(poller_has(&r->poller, 200));
}

/* ------------------------------------------------------------------------ with a board that runs */

#define RACE_EVENTS 400000u

static void *race_board(void *arg)
{
	struct rig *r = arg;

	for (uint32_t i = 0; i < RACE_EVENTS;) {
		uint64_t released = __atomic_load_n(&r->links[0].doorbell[0], __ATOMIC_ACQUIRE);

		/* The driver takes each event before the next: readers are overrun at will. */
		if (i % 3 != 0) {
			put_event(r, (struct nanet3_event){.type = NANET3_EVENT_PPS});
		} else if (r->links[0].write - released < DEPTH) {
			put_data(r, 0);
		} else {
			sched_yield(); /* on one core the reader waits for us to stop */
			continue;
		}
		drive(r);
		i++;
	}
	return NULL;
}

static void nothing_is_lost_in_a_race(void **state)
{
	struct rig *r = *state;
	uint64_t done = 0, all = (RACE_EVENTS + 2) / 3;
	pthread_t board;

	assert_int_equal(pthread_create(&board, NULL, race_board, r), 0);
	while (done < all) {
		const struct poller_link *l = &r->poller.links[0];

		libnanet3_poller_drain(&r->poller);
		if (done == l->write) {
			sched_yield();
		}
		for (; done < l->write; done++) {
			assert_int_equal(l->completions[done % DEPTH].position, done);
			assert_int_equal(l->completions[done % DEPTH].frame_count,
					 8000 + 16 * done);
		}
		assert_int_equal(libnanet3_poller_release(&r->poller, 0, done), 0);
	}
	pthread_join(board, NULL);
	assert_int_equal(r->poller.links[0].write, all);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(data_without_the_driver),
		TEST(an_event_half_written_is_not_taken),
		TEST(what_is_not_ours_is_skipped),
		TEST(release_rings_the_doorbell),
		TEST(overrun_is_made_good),
		TEST(torn_event_is_not_taken),
		TEST(a_hole_is_filled_from_the_ring_state),
		TEST(sequences_wrap),
		TEST(joins_a_running_ring),
		TEST(nothing_is_lost_in_a_race),
	};

	return cmocka_run_group_tests_name("libnanet3: polling", tests, NULL, NULL);
}
