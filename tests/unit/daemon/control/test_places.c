// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Who gets a place of the control socket, who is cut off for it, and whose turn it is. What a connection is doing, the
 * test says.
 */
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/control/places.h"
#include "tests/unit/rig/dies.h"

#define ROOM 1024

struct connection {
	struct place place;
	enum place_cost cost;
	int64_t uid;
};

static struct places places;
static struct connection connection[ROOM];
static unsigned count;

static enum place_cost cost_of(const struct place *place)
{
	return ((const struct connection *)((const char *)place -
					    offsetof(struct connection, place)))
		->cost;
}

static int begin(void **state)
{
	memset(connection, 0, sizeof(connection));
	count = 0;
	places_init(&places, cost_of);
	return 0;
}

static int end(void **state)
{
	struct place *place;

	while ((place = TAILQ_FIRST(&places.all))) {
		places_leave(&places, place);
	}
	places_fini(&places);
	return 0;
}

/* One more. Returns who was cut off for it, NULL: nobody was. */
static struct connection *enter(int64_t uid, enum place_cost cost)
{
	struct connection *c = &connection[count++];
	struct place *victim;

	assert_in_range(count, 1, ROOM);
	c->cost = cost;
	c->uid = uid;
	victim = places_enter(&places, &c->place, uid, uid == 0);
	if (!victim) {
		return NULL;
	}
	places_leave(&places, victim);
	return (struct connection *)((char *)victim - offsetof(struct connection, place));
}

static struct connection *last(void)
{
	return &connection[count - 1];
}

static void enter_many(int64_t uid, enum place_cost cost, unsigned many)
{
	for (unsigned n = 0; n < many; n++) {
		assert_null(enter(uid, cost));
		assert_false(last()->place.urgent);
	}
}

/* With one too many of a user, his own goes that was idle longest, and nobody else's. */
static void test_own_idle_first(void **state)
{
	enter_many(7, PLACE_IDLE, 1);
	enter_many(1000, PLACE_IDLE, PLACES_UID);
	places_heard(&places, &connection[1].place);
	assert_ptr_equal(enter(1000, PLACE_IDLE), &connection[2]);
	connection[3].cost = PLACE_NEWS;
	connection[4].cost = PLACE_WAITS;
	assert_ptr_equal(enter(1000, PLACE_IDLE), &connection[5]);
	assert_true(connection[0].place.seated);
	assert_int_equal(places.ordinary, 1 + PLACES_UID);
}

/* Subscribers keep no newcomer of their user out. */
static void test_news_make_room(void **state)
{
	enter_many(1000, PLACE_NEWS, PLACES_UID);
	assert_ptr_equal(enter(1000, PLACE_WAITS), &connection[0]);
	assert_false(last()->place.urgent);
}

/* All of a user's are busy: he still gets in, for what is urgent; and again and again. */
static void test_urgent(void **state)
{
	struct connection *first;

	enter_many(1000, PLACE_WAITS, PLACES_UID / 2);
	enter_many(1000, PLACE_ASKS, PLACES_UID / 2);
	first = &connection[count];
	for (unsigned n = 0; n < PLACES_URGENT_UID; n++) {
		assert_null(enter(1000, PLACE_ASKS));
		assert_true(last()->place.urgent);
	}
	first->cost = PLACE_WAITS;
	assert_ptr_equal(enter(1000, PLACE_ASKS), first + 1);
	assert_true(last()->place.urgent);
	for (unsigned n = 0; n < PLACES_URGENT_UID; n++) {
		first[n].cost = PLACE_WAITS;
	}
	last()->cost = PLACE_WAITS;
	assert_ptr_equal(enter(1000, PLACE_ASKS), first);
	assert_int_equal(places.urgent, PLACES_URGENT_UID);
	/* Nobody else notices. */
	assert_null(enter(1001, PLACE_IDLE));
	assert_false(last()->place.urgent);
}

/* Who has all that a user may have, and is busy in all, takes nobody else's: it gets an urgent place. */
static void test_no_place_of_another_user(void **state)
{
	enter_many(7, PLACE_IDLE, 3);
	enter_many(1000, PLACE_WAITS, PLACES_UID);
	assert_null(enter(1000, PLACE_IDLE));
	assert_true(last()->place.urgent);
	assert_true(connection[0].place.seated);
}

/* Users come and go for years. */
static void test_users_leave_nothing(void **state)
{
	size_t memory = 0;

	for (unsigned i = 0; i < 40; i++) {
		for (unsigned user = 0; user < 100; user++) {
			enter_many(user, PLACE_IDLE, 1);
			places_leave(&places, &last()->place);
			count = 0;
		}
		memory = i == 20 ? mallinfo2().uordblks : memory;
	}
	assert_int_equal(mallinfo2().uordblks, memory);
}

static void finish(void *context)
{
	places_fini(context);
}

static void test_its_end_is_when_all_have_left(void **state)
{
	enter_many(1000, PLACE_IDLE, 1);
	assert_true(dies(finish, &places));
	places_leave(&places, &last()->place);
	assert_false(dies(finish, &places));
}

/* However many users keep all places busy, root gets an ordinary one, and everybody an urgent one. */
static void test_reserved(void **state)
{
	unsigned users = (PLACES - PLACES_RESERVED) / PLACES_UID;

	for (unsigned user = 0; user < users; user++) {
		enter_many(1000 + user, PLACE_WAITS, PLACES_UID);
	}
	for (unsigned n = 0; n < PLACES_URGENT; n++) {
		assert_null(enter(2000 + n, PLACE_WAITS));
		assert_true(last()->place.urgent);
	}
	assert_non_null(enter(3000, PLACE_IDLE));
	assert_true(last()->place.urgent);
	enter_many(0, PLACE_WAITS, PLACES_RESERVED);
	assert_int_equal(places.ordinary, PLACES);
	assert_int_equal(places.urgent, PLACES_URGENT);
	assert_non_null(enter(0, PLACE_IDLE));
	assert_true(last()->place.urgent);
	assert_int_equal(places.urgent, PLACES_URGENT);
}

/* All are taken, not all busy: who has most gives; root's are not given to others. */
static void test_most_gives(void **state)
{
	enter_many(0, PLACE_IDLE, PLACES_UID - 1);
	enter_many(1000, PLACE_IDLE, 20);
	enter_many(1001, PLACE_WAITS, PLACES_UID);
	enter_many(1002, PLACE_IDLE, PLACES - PLACES_RESERVED - places.ordinary);
	assert_ptr_equal(enter(1003, PLACE_WAITS), &connection[PLACES_UID - 1]);
	assert_false(last()->place.urgent);
}

/* A user's hundred requests and another's one have turns alike; of one's own those go first that have been served
 * least. */
static void test_turns(void **state)
{
	struct connection *busy = connection, *other, *new;

	enter_many(1000, PLACE_ASKS, 30);
	enter_many(1001, PLACE_ASKS, 1);
	other = last();
	for (unsigned n = 0; n < 30; n++) {
		busy[n].place.served = 100;
		places_wait(&places, &busy[n].place);
	}
	places_wait(&places, &other->place);
	places_wait(&places, &other->place);
	assert_int_equal(places.waiting, 31);
	assert_ptr_equal(places_next(&places), &busy[0].place);
	assert_ptr_equal(places_next(&places), &other->place);
	places_wait(&places, &busy[0].place);
	places_wait(&places, &other->place);
	assert_null(enter(1000, PLACE_ASKS));
	new = last();
	places_wait(&places, &new->place);
	assert_ptr_equal(places_next(&places), &new->place);
	new->place.served = 1;
	places_wait(&places, &new->place);
	assert_ptr_equal(places_next(&places), &other->place);
	assert_null(enter(1000, PLACE_ASKS));
	places_wait(&places, &last()->place);
	assert_ptr_equal(places_next(&places), &last()->place);
	assert_ptr_equal(places_next(&places), &new->place);
	for (unsigned n = 1; n < 30; n++) {
		assert_ptr_equal(places_next(&places), &busy[n].place);
	}
	places_leave(&places, &busy[0].place); /* out of the line, too */
	assert_null(places_next(&places));
	assert_int_equal(places.waiting, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_own_idle_first, begin, end),
		cmocka_unit_test_setup_teardown(test_news_make_room, begin, end),
		cmocka_unit_test_setup_teardown(test_urgent, begin, end),
		cmocka_unit_test_setup_teardown(test_reserved, begin, end),
		cmocka_unit_test_setup_teardown(test_most_gives, begin, end),
		cmocka_unit_test_setup_teardown(test_turns, begin, end),
		cmocka_unit_test_setup_teardown(test_no_place_of_another_user, begin, end),
		cmocka_unit_test_setup_teardown(test_users_leave_nothing, begin, end),
		cmocka_unit_test_setup_teardown(test_its_end_is_when_all_have_left, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
