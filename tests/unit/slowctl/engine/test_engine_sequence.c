/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sequences when the journal does not know what an FCM has executed: it is new, an old copy, or another's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tdm/registers.h"
#include "tests/unit/slowctl/engine/engine_rig.h"

#include <errno.h>
#include <string.h>

#define SETS 40u

static const uint64_t none[RIG_FLOORS];

/* Sets of one register, so that a remembered outcome looks like the answer to any of them. */
static void set_many(struct rig *r, unsigned first_value)
{
	for (unsigned n = 0; n < SETS; n++) {
		uint64_t id;

		assert_int_equal(rig_set(r, "floor1.om0.threshold", first_value + n, &id), 0);
		rig_until_end(r, id, 2000);
		rig_expect(r, id, "QUEUED SENT ACKED DONE", 1);
		assert_int_equal(r->floors[0].threshold[0], first_value + n);
	}
}

static void test_new_journal(void **state)
{
	struct rig *r = rig_create(1);

	for (unsigned round = 0; round < 3; round++) {
		uint64_t writes = r->floors[0].writes;

		set_many(r, 20 + 50 * round);
		assert_int_equal(r->floors[0].writes, writes + SETS);
		rig_journal_back(r, 0, none);
		rig_run(r, 10);
	}
	rig_destroy(r);
}

static void test_copy_of_the_journal(void **state)
{
	struct rig *r = rig_create(1);
	uint64_t reserved[RIG_FLOORS], last_id;

	set_many(r, 20);
	last_id = r->last_id;
	memcpy(reserved, r->reserved_until, sizeof(reserved));
	rig_crash(r); /* sequences behind all that was reserved by then */
	set_many(r, 70);
	rig_journal_back(r, last_id, reserved);
	rig_run(r, 10);
	set_many(r, 120);
	rig_destroy(r);
}

/* What was taken before the FCM has said what it remembers has a sequence of others'. */
static void test_taken_too_early(void **state)
{
	struct rig *r = rig_create(1);
	uint64_t id;

	set_many(r, 20);
	rig_journal_back(r, 0, none);
	assert_int_equal(rig_set(r, "floor1.om0.threshold", 150, &id), 0);
	rig_until_end(r, id, 2000);
	assert_string_equal(r->commands[id].states, "QUEUED FAILED");
	assert_non_null(strstr(r->commands[id].detail, "not sent"));
	assert_int_equal(r->floors[0].threshold[0], 20 + SETS - 1);
	assert_int_equal(rig_set(r, "floor1.om0.threshold", 150, &id), 0);
	rig_until_end(r, id, 2000);
	rig_expect(r, id, "QUEUED SENT ACKED DONE", 1);
	rig_destroy(r);
}

/* Nothing is sent blindly: it waits while answers are lost, and ends when none comes. */
static void test_no_answer(void **state)
{
	struct rig *r = rig_create(1);
	uint64_t id;

	set_many(r, 20);
	r->lose_up = 1000;
	rig_journal_back(r, 0, none);
	rig_run(r, 1000);
	assert_int_equal(rig_set(r, "floor1.om0.threshold", 150, &id), 0);
	rig_run(r, 500);
	rig_expect(r, id, "QUEUED", 0);
	rig_until_end(r, id, 5000);
	assert_string_equal(r->commands[id].states, "QUEUED FAILED");
	assert_non_null(
		strstr(r->commands[id].detail, "not sent: link 0 is up, but its floor does"));
	assert_int_equal(r->floors[0].threshold[0], 20 + SETS - 1);
	r->lose_up = 0;
	rig_run(r, 2000);
	set_many(r, 70);
	rig_destroy(r);
}

/* The floor was at another shore for a while, whose journal knows nothing of ours. */
static void test_another_shore(void **state)
{
	struct rig *r = rig_create(1);
	struct rig_floor *f = &r->floors[0];
	uint64_t id;

	set_many(r, 20);
	rig_link(r, 0, false);
	rig_run(r, 100);
	for (unsigned n = 0; n < 256; n++) { /* of the register that we set */
		f->outcomes[n] = f->outcomes[0];
		f->outcomes[n].sequence = r->commands[r->last_id].sequence + 1 + n;
		f->outcomes[n].value = 77;
	}
	f->outcome_count = 256;
	f->threshold[0] = 77;
	rig_link(r, 0, true);
	rig_run(r, 10);
	assert_int_equal(rig_set(r, "floor1.om0.threshold", 77, &id), 0);
	rig_until_end(r, id, 2000);
	rig_expect(r, id, "QUEUED SENT ACKED DONE", 1);
	set_many(r, 120);
	rig_destroy(r);
}

/* What the FCM remembers of another shore, which began behind the largest that the FCM remembered. */
static void put_outcome(struct rig *r, uint64_t id, uint8_t reg, int32_t value)
{
	struct rig_floor *f = &r->floors[0];
	unsigned n = f->outcome_count++ % 256;

	f->outcomes[n].sequence = r->commands[id].sequence;
	f->outcomes[n].status = WORD_OK;
	f->outcomes[n].module = 0;
	f->outcomes[n].reg = reg;
	f->outcomes[n].value = value;
}

/* A command that makes safer has overtaken those that wait, all their words are lost with the link,
 * and another shore uses their sequences: its outcomes are not taken for ours. */
static void test_another_shore_in_the_queue(void **state)
{
	struct rig *r = rig_create(1);
	uint64_t sent, waits, lower, down;

	set_many(r, 20);
	r->lose_down = 1000;
	assert_int_equal(rig_action(r, "floor1.om0.reset", &sent), 0);
	assert_int_equal(rig_action(r, "floor1.om0.reset", &waits), 0);
	assert_int_equal(rig_set(r, "floor1.om0.threshold", 99, &lower), 0);
	assert_int_equal(rig_set(r, "floor1.om0.hv", 0, &down), 0);
	rig_run(r, 20);
	rig_expect(r, waits, "QUEUED", 0);
	rig_link(r, 0, false);
	rig_run(r, 1000);
	put_outcome(r, sent, REG_OM_THRESHOLD, 98);
	put_outcome(r, waits, REG_OM_ACTION_RESET, 1);
	put_outcome(r, lower, REG_OM_THRESHOLD, 98);
	put_outcome(r, down, REG_OM_HV_SET, 14500);
	r->floors[0].threshold[0] = 98;
	r->floors[0].hv_set[0] = 14500;
	r->lose_down = 0;
	rig_link(r, 0, true);
	rig_run(r, 20000);
	assert_string_equal(r->commands[sent].state, "UNKNOWN");
	assert_string_equal(r->commands[waits].states, "QUEUED FAILED");
	assert_non_null(strstr(r->commands[waits].detail,
			       "not sent: the FCM has executed another command under its"));
	assert_string_equal(r->commands[lower].state, "UNKNOWN"); /* another value */
	assert_non_null(strstr(r->commands[lower].detail, "another command under its sequence"));
	assert_string_equal(r->commands[down].state, "DONE");
	assert_int_equal(rig_executed(r, down), 1);
	assert_int_equal(r->floors[0].hv[0], 0);
	assert_int_equal(r->floors[0].resets[0], 0);
	rig_destroy(r);
}

/* The same without another shore: overtaken commands are sent once when the link is back. */
static void test_overtaken_then_link_away(void **state)
{
	struct rig *r = rig_create(1);
	uint64_t first, waits, down;

	set_many(r, 20);
	r->delay_us = 50000;
	assert_int_equal(rig_set(r, "floor1.om0.threshold", 98, &first), 0);
	assert_int_equal(rig_set(r, "floor1.om0.threshold", 99, &waits), 0);
	assert_int_equal(rig_set(r, "floor1.om0.hv", 0, &down), 0);
	rig_run(r, 70); /* executed, and the answers lost */
	assert_int_equal(rig_executed(r, down), 1);
	assert_true(r->commands[down].sequence > r->commands[waits].sequence);
	rig_link(r, 0, false);
	rig_run(r, 1000);
	rig_link(r, 0, true);
	rig_run(r, 20000);
	assert_string_equal(r->commands[first].state, "DONE");
	rig_expect(r, waits, "QUEUED SENT ACKED DONE", 1);
	assert_string_equal(r->commands[down].state, "DONE");
	assert_int_equal(rig_executed(r, down), 1);
	rig_destroy(r);
}

/* As long as the link is up nobody else can have used the floor: it is not asked again. */
static void test_asked_once(void **state)
{
	struct rig *r = rig_create(1);
	uint64_t words;

	set_many(r, 20);
	words = rig_inside(r, 0)->words;
	rig_run(r, 10000);
	assert_int_equal(rig_inside(r, 0)->words, words);
	rig_link(r, 0, false);
	rig_link(r, 0, true);
	rig_run(r, 10000);
	assert_int_equal(rig_inside(r, 0)->words, words + 1);
	rig_destroy(r);
}

/* The last sequences of all: none is left behind them, and none is begun at 1. */
static void test_last_sequence(void **state)
{
	struct rig *r = rig_create(1);
	struct rig_floor *f = &r->floors[0];
	struct sc_error error = {0};
	uint64_t id;

	set_many(r, 20);
	f->outcomes[0].sequence = UINT32_MAX;
	rig_journal_back(r, 0, none);
	rig_run(r, 10);
	assert_int_equal(rig_submit(r,
				    (struct engine_request){.parameter = "floor1.om0.threshold",
							    .value = 150},
				    &id, &error),
			 -EOVERFLOW);
	assert_string_equal(error.code, "sequences");
	rig_destroy(r);
}

/* The next outputs have one row that reserves, up to what is returned; 0: none. */
static uint64_t reservation(struct engine *e, uint64_t *ret_cookie)
{
	const struct engine_out *o;
	uint64_t until = 0;

	while (engine_next(e, &o)) {
		if (o->type == ENGINE_STORE && o->store.row.id == ROW_SEQUENCE) {
			assert_int_equal(until, 0);
			until = (uint64_t)o->store.row.values[2].i;
			*ret_cookie = o->cookie;
		}
	}
	return until;
}

/* Half a block ahead is reserved, one reservation at a time, and a refused one again after a second. */
static void test_reserved_ahead(void **state)
{
	struct rig *r = rig_create(1);
	const uint32_t block = r->config.sequence_block;
	struct engine_now now = r->now;
	struct engine *e;
	uint64_t cookie = 0;

	r->config.poll = false;
	e = engine_create(r->params, &r->config);
	engine_recover_sequence(e, 1, 1, 1000);
	engine_link(e, 0, true, 1, 1, now);
	assert_int_equal(reservation(e, &cookie), 1001 + block);
	engine_link(e, 0, true, 1, 1, now);
	assert_int_equal(reservation(e, &cookie), 0); /* it is on its way */
	engine_stored(e, cookie, -ENOSPC, now);
	assert_int_equal(reservation(e, &cookie), 0);
	now.mono_ns += 999 * RIG_MS;
	engine_link(e, 0, true, 1, 1, now);
	assert_int_equal(reservation(e, &cookie), 0);
	now.mono_ns += RIG_MS;
	engine_link(e, 0, true, 1, 1, now);
	assert_true(reservation(e, &cookie) > 1001 + block); /* reads went on meanwhile */
	engine_stored(e, cookie, 0, now);
	engine_recover_sequence(e, 1, 1, 1000 + block / 2);
	engine_link(e, 0, true, 1, 1, now);
	assert_int_equal(reservation(e, &cookie), 0);
	engine_recover_sequence(e, 1, 1, 1010 + block / 2);
	engine_link(e, 0, true, 1, 1, now);
	assert_int_equal(reservation(e, &cookie), 1011 + block / 2 + block);
	engine_stored(e, cookie, 0, now);
	engine_recover_sequence(e, 1, 1, UINT32_MAX - 5);
	engine_link(e, 0, true, 1, 1, now);
	assert_int_equal(reservation(e, &cookie), UINT32_MAX); /* and no further */
	engine_stored(e, cookie, 0, now);
	engine_link(e, 0, true, 1, 1, now);
	assert_int_equal(reservation(e, &cookie), 0);
	engine_destroy(e);
	rig_destroy(r);
}

/* What the FCM remembers is asked for at each time-out, three of them; then once a second. */
static void test_asked_more_seldom(void **state)
{
	struct rig *r = rig_create(1);

	r->floors[0].deaf = true;
	rig_crash(r);
	rig_run(r, 1500);
	assert_int_equal(rig_inside(r, 0)->words, 4); /* at 0, 0.3, 0.6, 0.9 s */
	assert_int_equal(rig_inside(r, 0)->timeouts, 3);
	rig_run(r, 5000);
	assert_int_equal(rig_inside(r, 0)->words, 9);
	r->send_result = -EAGAIN; /* not taken by the board: no time-out */
	rig_link(r, 0, false);
	rig_link(r, 0, true);
	rig_run(r, 200);
	assert_in_range(rig_inside(r, 0)->send_failures, 4, 5);
	assert_int_equal(rig_inside(r, 0)->timeouts, 8);
	rig_destroy(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_new_journal),
		cmocka_unit_test(test_copy_of_the_journal),
		cmocka_unit_test(test_taken_too_early),
		cmocka_unit_test(test_no_answer),
		cmocka_unit_test(test_another_shore),
		cmocka_unit_test(test_asked_once),
		cmocka_unit_test(test_last_sequence),
		cmocka_unit_test(test_another_shore_in_the_queue),
		cmocka_unit_test(test_overtaken_then_link_away),
		cmocka_unit_test(test_reserved_ahead),
		cmocka_unit_test(test_asked_more_seldom),
	};

	return cmocka_run_group_tests_name("engine, sequences", tests, NULL, NULL);
}
