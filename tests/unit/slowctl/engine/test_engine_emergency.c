/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Commands that make safer never wait for the disk: they leave with a database that is full, hangs, or was never
 * read, and their rows are in the emergency journal before their word is sent. Everything else waits. Each number is
 * used once, whatever happens to the disk.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/unit/slowctl/engine/engine_rig.h"

#include <errno.h>
#include <string.h>

#define HV    "floor1.om2.hv"
#define POWER "floor1.om2.power"

static void says(const struct rig *r, uint64_t id, const char *words)
{
	if (!strstr(r->commands[id].detail, words)) {
		fail_msg("command %d: %s", (int)id, r->commands[id].detail);
	}
}

/* The disk is full: the set to 0 leaves at once, the threshold does not. */
static void test_full_disk(void **state)
{
	struct rig *r = rig_create(1);
	uint64_t down, other;

	r->store_result = -ENOSPC;
	rig_set(r, HV, 0, &down);
	rig_set(r, "floor1.om2.threshold", 20, &other);
	rig_run(r, 20000);
	rig_expect(r, down, "QUEUED QUEUED SENT ACKED DONE", 1);
	assert_true(r->commands[down].emergency);
	says(r, down, "read-back 0.0 V; sent before it was journaled");
	assert_int_equal(r->floors[0].hv[2], 0);
	assert_false(r->commands[other].known);
	assert_int_equal(r->floors[0].threshold[2], 10);
	rig_destroy(r);
}

/* It hangs: the database is given 100 ms and no more. When it answers at last, nothing is sent twice. */
static void test_hung_disk(void **state)
{
	struct rig *r = rig_create(1);
	uint64_t down, off;

	r->store_hangs = true;
	rig_set(r, HV, 0, &down);
	rig_run(r, 95);
	assert_int_equal(r->floors[0].writes, 0);
	rig_run(r, 30);
	assert_int_equal(r->floors[0].writes, 1);
	rig_set(r, POWER, 0, &off);
	rig_run(r, 20000);
	says(r, down, "sent before it was journaled");
	assert_string_equal(r->commands[off].state, "DONE");
	r->store_hangs = false;
	rig_run(r, 1000);
	rig_expect(r, down, "QUEUED QUEUED SENT ACKED DONE", 1);
	rig_expect(r, off, "QUEUED QUEUED SENT ACKED DONE", 1);
	rig_destroy(r);
}

/* What waits for a disk that hangs is not in the way of what makes safer: it is ended, and never sent. */
static void test_less_safe_waits_for_a_hung_disk(void **state)
{
	struct rig *r = rig_create(1);
	uint64_t up, other, down;

	rig_set(r, HV, 1000, &up);
	rig_until_end(r, up, 60000);
	assert_int_equal(r->floors[0].hv[2], 10000);
	r->store_hangs = true;
	rig_set(r, HV, 1100, &up);
	rig_set(r, "floor1.om2.threshold", 20, &other);
	rig_run(r, 1000);
	rig_set(r, HV, 0, &down);
	rig_run(r, 60000);
	assert_string_equal(r->commands[down].state, "DONE");
	assert_int_equal(r->floors[0].hv[2], 0);
	assert_int_equal(r->floors[0].threshold[2], 10);
	r->store_hangs = false;
	rig_run(r, 60000);
	assert_int_equal(r->floors[0].hv[2], 0);
	assert_int_equal(rig_executed(r, up), 0);
	assert_int_equal(rig_executed(r, down), 1);
	rig_destroy(r);
}

/* A disk that answers within 100 ms has the row first, as of any command. */
static void test_slow_disk(void **state)
{
	struct rig *r = rig_create(1);
	uint64_t down;

	r->store_us = 90000;
	rig_set(r, HV, 0, &down);
	rig_run(r, 20000);
	rig_expect(r, down, "QUEUED SENT ACKED DONE", 1);
	assert_false(r->commands[down].emergency);
	assert_null(strstr(r->commands[down].detail, "before it was journaled"));
	rig_destroy(r);
}

static bool out(struct engine *e, enum engine_out_type type, const struct engine_out **ret_out)
{
	while (engine_next(e, ret_out)) {
		if ((*ret_out)->type == type) {
			return true;
		}
	}
	return false;
}

/* The FCM answers that `newest` is the largest it remembers. */
static void answer_newest(struct engine *e, struct engine_now now, uint32_t newest)
{
	const struct engine_out *o;
	struct word w;

	engine_tick(e, now);
	assert_true(out(e, ENGINE_SEND, &o));
	assert_int_equal(word_unpack(o->send.bytes, &w), 0);
	assert_int_equal(w.op, WORD_QUERY);
	assert_int_equal(w.value, 0);
	w.op |= WORD_REPLY;
	w.status = WORD_OK;
	w.value = (int32_t)newest;
	w.boot = 3;
	engine_reply(e, 0, &w, now);
}

/*
 * The database was damaged at the start, and nothing else is known: the FCM says what it remembers,
 * the command's sequence is beyond that, its number is of a range that no journal uses, and its row
 * is put out before its word.
 */
static void test_never_read(void **state)
{
	struct rig *r = rig_create(1);
	struct engine_request q = {.parameter = HV, .who = "t"};
	struct engine_marks marks = {0};
	struct engine_now now = r->now;
	const struct engine_out *o;
	struct engine *e = engine_create(r->params, &r->config);
	uint64_t id, next;
	bool row = false;
	struct word w = {0};

	engine_marks(e, &marks);
	engine_journal_lost(e, -EUCLEAN);
	engine_link(e, 0, true, 1, 1, now);
	assert_int_equal(engine_submit(e, &q, now, &id, NULL), 0);
	assert_true(id >= ENGINE_OWN_IDS);
	assert_int_equal(marks.last_own_id, id);
	assert_int_equal(marks.last_id, 0);
	answer_newest(e, now, 4711);
	now.mono_ns += 10 * RIG_MS;
	engine_tick(e, now);
	while (engine_next(e, &o)) {
		row = row || (o->type == ENGINE_EMERGENCY && o->store.row.id == ROW_TRANSITION &&
			      o->store.row.values[5].i > 4711);
		if (o->type == ENGINE_SEND && w.op != WORD_WRITE) {
			assert_true(row);
			assert_int_equal(word_unpack(o->send.bytes, &w), 0);
		}
	}
	assert_int_equal(w.op, WORD_WRITE);
	assert_true(w.sequence > 4711);
	assert_true(marks.floor[0].sequence >= w.sequence);
	assert_int_equal(engine_submit(e, &q, now, &next, NULL), 0);
	assert_int_equal(next, id + 1);
	/* The database is back: numbers continue from it, not in that range. */
	engine_journal_found(e);
	engine_recover_id(e, 40);
	engine_recover_id(e, id);
	assert_int_equal(engine_next_id(e, now), 41);
	engine_destroy(e);
	rig_destroy(r);
}

/*
 * The machine was switched off, the emergency journal is a copy of last week's, and the database is damaged: its last
 * number is not the last that was given. Numbers are of the range of their own until a database says it.
 */
static void test_marks_of_a_copy(void **state)
{
	struct rig *r = rig_create(1);
	struct engine_request q = {.parameter = HV, .who = "t"};
	struct engine_journal before = {
		.id = 17, .parameter = HV, .state = "SENT", .emergency = true};
	struct engine_marks marks = {.last_id = 16, .last_id_old = true};
	struct engine_now now = r->now;
	uint64_t id;

	for (unsigned life = 0; life < 2; life++) {
		struct engine *e = engine_create(r->params, &r->config);

		engine_marks(e, &marks);
		assert_int_equal(engine_recover_command(e, &before, now), 0);
		engine_journal_lost(e, -EUCLEAN);
		engine_link(e, 0, true, 1, 1, now);
		assert_int_equal(engine_submit(e, &q, now, &id, NULL), 0);
		assert_true(id >= ENGINE_OWN_IDS);
		assert_int_equal(marks.last_id, 17);
		if (life == 1) {
			engine_journal_found(e);
			engine_recover_id(e, 5000);
			assert_int_equal(engine_next_id(e, now), 5001);
			assert_false(marks.last_id_old);
		}
		engine_destroy(e);
	}
	rig_destroy(r);
}

/* Killed before its end: it is open in the emergency journal, and is settled like any other. */
static void test_killed(void **state)
{
	for (unsigned ms = 0; ms < 12; ms++) {
		struct rig *r = rig_create(1);
		uint64_t down, again;

		r->store_result = -ENOSPC;
		rig_set(r, HV, 0, &down);
		rig_run(r, ms);
		rig_crash(r);
		rig_run(r, 20000);
		assert_true(!r->commands[down].known || r->commands[down].ended);
		assert_true(rig_executed(r, down) <= 1);
		rig_set(r, HV, 0, &again);
		assert_true(again > down); /* its number is not used again */
		rig_run(r, 20000);
		assert_int_equal(r->floors[0].hv[2], 0);
		rig_destroy(r);
	}
}

/* A journal restored from a copy uses sequences that the FCM remembers: what makes safer gets
 * another one. */
static void test_old_sequence(void **state)
{
	struct rig *r = rig_create(1);
	uint64_t reserved[RIG_FLOORS] = {0}, id;

	for (unsigned n = 0; n < 5; n++) {
		rig_set(r, "floor1.om1.threshold", 20 + n, &id);
		rig_run(r, 100);
	}
	rig_journal_back(r, 0, reserved);
	rig_set(r, HV, 0, &id); /* before the FCM has said what it remembers */
	rig_run(r, 20000);
	assert_string_equal(r->commands[id].state, "DONE");
	assert_int_equal(r->floors[0].hv[2], 0);
	assert_int_equal(rig_executed(r, id), 1);
	rig_destroy(r);
}

/* A refusal's number is given out when its row is on the disk, not before; never when the disk does not answer. */
static void test_refusal_is_stored_first(void **state)
{
	struct rig *r = rig_create(1);
	struct sc_error error = {0};
	uint64_t id, next;

	assert_int_equal(rig_submit(r,
				    (struct engine_request){.parameter = "floor1.om0.threshold",
							    .value = 1e6},
				    &id, &error),
			 -ERANGE);
	assert_true(id > 0);
	assert_int_equal(r->finals, 0);
	rig_run(r, 10);
	assert_int_equal(r->finals, 1);
	assert_true(r->final && r->numbered);
	assert_string_equal(r->commands[id].state, "REFUSED");
	r->store_hangs = true;
	assert_true(rig_submit(r,
			       (struct engine_request){.parameter = "floor1.om0.threshold",
						       .value = 1e6},
			       &next, NULL) < 0);
	rig_run(r, (unsigned)(END_WAIT / RIG_MS) + 10);
	assert_int_equal(r->finals, 2);
	assert_true(r->final && !r->numbered);
	rig_destroy(r);
}

/* Killed in between: the number is not used again, because it was noted before use. */
static void test_number_of_killed_refusal(void **state)
{
	struct rig *r = rig_create(1);
	uint64_t id, next;

	r->store_hangs = true;
	assert_true(rig_submit(r,
			       (struct engine_request){.parameter = "floor1.om0.threshold",
						       .value = 1e6},
			       &id, NULL) < 0);
	r->store_hangs = false;
	rig_crash(r);
	assert_int_equal(rig_set(r, "floor1.om0.threshold", 12, &next), 0);
	assert_true(next > id);
	rig_destroy(r);
}

/* A refusal that the database did not store has no number, and its client id may be used again. */
static void test_not_journaled_has_no_number(void **state)
{
	struct rig *r = rig_create(1);
	struct engine_request q = {
		.parameter = "floor1.om0.threshold", .value = 12, .client_id = "c1"};
	uint64_t id, again;

	r->store_result = -ENOSPC;
	assert_int_equal(rig_submit(r, q, &id, NULL), 0);
	rig_run(r, 100);
	assert_true(r->final && !r->numbered);
	r->store_result = 0;
	assert_int_equal(rig_submit(r, q, &again, NULL), 0);
	rig_run(r, 2000);
	rig_expect(r, again, "QUEUED SENT ACKED DONE", 1);
	rig_destroy(r);
}

/* A repeat of a command that a previous daemon has ended is answered with that command and its
 * number. */
static void test_repeat_after_a_restart_has_its_number(void **state)
{
	struct rig *r = rig_create(1);
	struct engine_request q = {
		.parameter = "floor1.om0.threshold", .value = 12, .client_id = "c1"};
	static struct engine_out out;
	struct engine_command_view v;
	uint64_t id, again;

	rig_submit(r, q, &id, NULL);
	rig_run(r, 100);
	rig_crash(r);
	assert_int_equal(rig_submit(r, q, &again, NULL), 1);
	assert_int_equal(again, id);
	assert_true(engine_command(r->e, again, &v));
	assert_true(v.ended && v.state == COMMAND_DONE);
	assert_true(engine_progress(r->e, again, &out) && out.progress.numbered);
	rig_destroy(r);
}

/* A client id of a command that is no longer in memory is reported as its repeat, not as "nothing
 * was sent". */
static void test_repeat_of_the_forgotten(void **state)
{
	struct rig *r = rig_create(1);
	struct engine_request q = {
		.parameter = "floor1.om0.threshold", .value = 12, .client_id = "c1"};
	char repeats[64] = "";
	uint64_t id;
	const struct engine_out *o;

	rig_submit(r, q, &id, NULL);
	rig_run(r, 100);
	assert_int_equal(r->commands[id].ended, true);
	for (unsigned n = 0; n < 1100; n++) { /* more ended ones than are kept */
		rig_set(r, "floor2.om1.threshold", 20 + n % 2, &id);
		rig_until_end(r, id, 1000);
	}
	assert_int_equal(engine_submit(r->e, &q, r->now, &id, NULL), 0);
	while (engine_next(r->e, &o)) {
		if (o->type == ENGINE_STORE && o->store.row.id == ROW_COMMAND) {
			uint64_t cookie = o->cookie;

			engine_stored(r->e, cookie, -EEXIST, r->now);
		} else if (o->type == ENGINE_PROGRESS && o->progress.id == id) {
			memcpy(repeats, o->progress.repeats, sizeof(repeats));
			assert_false(o->progress.numbered);
		}
	}
	assert_string_equal(repeats, "c1");
	assert_int_equal(r->floors[0].executed[r->commands[1].sequence], 1);
	rig_destroy(r);
}

/* The same, and it would be refused now: what it asks for was done, so "nothing was sent" is no answer. */
static void test_refused_repeat_of_the_forgotten(void **state)
{
	struct rig *r = rig_create(1);
	struct engine_request q = {
		.parameter = "floor1.om0.threshold", .value = 12, .client_id = "c!1"};
	struct engine_command_view v;
	char repeats[64] = "";
	uint64_t id;
	const struct engine_out *o;

	rig_run(r, 100);
	rig_link(r, 0, false);
	assert_true(engine_submit(r->e, &q, r->now, &id, NULL) < 0);
	assert_true(id != 0);
	while (engine_next(r->e, &o)) {
		if (o->type == ENGINE_STORE && o->store.row.id == ROW_COMMAND) {
			const struct row *row = &o->store.row;
			char client_id[64];
			uint64_t cookie = o->cookie;

			snprintf(client_id, sizeof(client_id), "c!1!%llu", (unsigned long long)id);
			assert_string_equal(row->arena + row->values[1].text, client_id);
			engine_stored(r->e, cookie, -EEXIST, r->now);
		} else if (o->type == ENGINE_PROGRESS && o->progress.id == id) {
			memcpy(repeats, o->progress.repeats, sizeof(repeats));
			assert_true(o->progress.final);
			assert_false(o->progress.numbered);
		}
	}
	assert_string_equal(repeats, "c!1");
	assert_true(engine_command(r->e, id, &v)); /* what it was, to compare with the journal's */
	assert_string_equal(v.parameter, "tower1.floor1.om0.threshold");
	assert_true(v.new_value == 12 && !v.action);
	assert_true(engine_submit(r->e, &q, r->now, &id, NULL) <
		    0); /* the client id is not its own */
	rig_destroy(r);
}

/* No text is ever cut: a request with a text that is too long is refused, and the text named. */
static void test_long_texts(void **state)
{
	struct rig *r = rig_create(1);
	struct sc_error error = {0};
	char reason[ROW_REASON_MAX + 1];
	uint64_t id;

	memset(reason, 'x', sizeof(reason));
	reason[ROW_REASON_MAX] = 0;
	assert_int_equal(rig_submit(r,
				    (struct engine_request){.parameter = "floor1.om0.threshold",
							    .value = 12,
							    .reason = reason},
				    &id, &error),
			 -E2BIG);
	assert_non_null(strstr(error.message, "reason: 433 bytes, at most 432"));
	reason[ROW_REASON_MAX - 1] = 0;
	assert_int_equal(rig_submit(r,
				    (struct engine_request){.parameter = "floor1.om0.threshold",
							    .value = 12,
							    .reason = reason},
				    &id, &error),
			 0);
	rig_run(r, 100);
	rig_expect(r, id, "QUEUED SENT ACKED DONE", 1);
	assert_string_equal(r->commands[id].parameter, "tower1.floor1.om0.threshold");
	rig_destroy(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_full_disk),
		cmocka_unit_test(test_hung_disk),
		cmocka_unit_test(test_less_safe_waits_for_a_hung_disk),
		cmocka_unit_test(test_slow_disk),
		cmocka_unit_test(test_never_read),
		cmocka_unit_test(test_marks_of_a_copy),
		cmocka_unit_test(test_killed),
		cmocka_unit_test(test_old_sequence),
		cmocka_unit_test(test_refusal_is_stored_first),
		cmocka_unit_test(test_number_of_killed_refusal),
		cmocka_unit_test(test_not_journaled_has_no_number),
		cmocka_unit_test(test_repeat_after_a_restart_has_its_number),
		cmocka_unit_test(test_repeat_of_the_forgotten),
		cmocka_unit_test(test_refused_repeat_of_the_forgotten),
		cmocka_unit_test(test_long_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
