/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command engine and its journal: rows before words, a journal that refuses or is not there, what a restart finds. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/slowctl/engine/engine_rig.h"

static void test_never_before_stored(void **state)
{
	struct rig *r = rig_create(1);
	uint64_t id;

	r->store_us = 5000000;
	rig_set(r, "floor1.om0.threshold", 12, &id);
	rig_run(r, 4900);
	assert_int_equal(r->floors[0].writes, 0);
	rig_run(r, 300);
	assert_int_equal(r->floors[0].writes, 1);
	/* A row that took too long: by then nobody expects the command any more. */
	r->store_us = 11000000;
	rig_set(r, "floor1.om0.threshold", 13, &id);
	rig_run(r, 40000);
	rig_expect(r, id, "QUEUED FAILED", 0);
	rig_destroy(r);
}

static void test_journal_refuses(void **state)
{
#define NOTHING "nothing was sent: it could not be journaled in the database: "
	static const struct {
		int result;
		const char *text, *hint;
	} refusals[] = {
		{-ENOSPC, NOTHING "the disk is full", "df -h"},
		{-EROFS, NOTHING "it is read-only", "writable"},
		{-EBUSY, NOTHING "another program holds it", "fuser"},
		{-EIO, NOTHING "the disk fails", "dmesg"},
		{-ECANCELED, NOTHING "Operation canceled", "system log"},
	};
	struct rig *r = rig_create(1);
	uint64_t id;

	rig_run(r, 10);
	for (size_t n = 0; n < sizeof(refusals) / sizeof(refusals[0]); n++) {
		r->store_result = refusals[n].result;
		assert_int_equal(rig_set(r, "floor1.om0.threshold", 12, &id), 0);
		rig_run(r, 100);
		assert_true(r->final);
		assert_int_equal(r->last_state, COMMAND_REFUSED);
		/* What, where, why, what to do; errno's numbers are not for operators. */
		assert_string_equal(r->text, refusals[n].text);
		assert_non_null(strstr(r->hint, refusals[n].hint));
		assert_non_null(strstr(r->hint, "Then send it again."));
		assert_int_equal(r->floors[0].writes, 0);
	}
	r->store_result = 0;
	assert_int_equal(rig_set(r, "floor1.om0.threshold", 12, &id), 0);
	rig_run(r, 100);
	rig_expect(r, id, "QUEUED SENT ACKED DONE", 1);
	rig_destroy(r);
}

/* An FCM remembers 256 outcomes: those that it forgot before the restart and after it count together. */
static void test_forgotten_in_two_parts(void **state)
{
	static const char *const others[] = {"hv", "threshold"};
	struct rig *r = rig_create(1);
	struct rig_command *c;
	uint64_t id;

	rig_run(r, 10);
	r->last_id = 231;
	r->reserved_until[0] = 1000;
	for (unsigned n = 1; n <= r->last_id; n++) {
		c = &r->commands[n];
		*c = (struct rig_command){.known = true,
					  .id = n,
					  .ended = n > 1,
					  .new_value = 1402,
					  .sequence = n,
					  .boot = r->floors[0].boot,
					  .attempts = 1,
					  .frame = -1};
		strcpy(c->parameter, "tower1.floor1.om0.hv");
		strcpy(c->state, n > 1 ? "DONE" : "SENT");
	}
	r->floors[0].hv_set[0] = r->floors[0].hv[0] = 14020;
	r->floors[0].no_queries = true;
	rig_crash(r);
	rig_run(r, 10);
	r->lose_down = 1000;
	r->floors[0].no_queries = false;
	for (unsigned n = 0; n < 10; n++) {
		char name[32];

		snprintf(name, sizeof(name), "floor1.om%u.%s", 1 + n / 2, others[n % 2]);
		assert_int_equal(rig_set(r, name, n % 2 ? 12 : 1300, &id), 0);
		rig_run(r, 1000);
	}
	r->lose_down = 0;
	rig_until_end(r, 1, 20000);
	assert_null(strstr(r->commands[1].detail, "not executed"));
	assert_string_equal(r->commands[1].state, "DONE");
	rig_destroy(r);
}

/* It was acknowledged; then, before the journal took its end, the value became another one. */
static void test_was_in_effect_before_the_restart(void **state)
{
	static const struct {
		const char *state, *detail, *end;
	} rows[] = {
		{"ACKED", "acknowledged; waiting for the read-back",
		 "read-back unknown: the value was in effect at a restart of the daemon, and the "
		 "FCM holds 0.0 V, not 1402.0 V"},
		{"UNKNOWN", "the daemon was restarted when this was ACKED; asking the FCM",
		 "read-back unknown: "},
		{"UNKNOWN", "the daemon was restarted when this was SENT; asking the FCM",
		 "not in effect: no answer came, and the FCM holds 0.0 V, not 1402.0 V"},
		{"SENT", "sent, attempt 1", "not in effect: no answer came"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rig *r = rig_create(1);
		struct rig_command *c = &r->commands[1];

		rig_run(r, 10);
		r->last_id = 300; /* the FCM has forgotten it */
		r->reserved_until[0] = 1000;
		for (unsigned n = 1; n <= r->last_id; n++) {
			r->commands[n] = (struct rig_command){.known = true,
							      .id = n,
							      .ended = n > 1,
							      .new_value = n > 1 ? 0 : 1402,
							      .sequence = n,
							      .boot = r->floors[0].boot,
							      .attempts = 1,
							      .frame = -1};
			strcpy(r->commands[n].parameter, "tower1.floor1.om0.hv");
			strcpy(r->commands[n].state, "DONE");
		}
		strcpy(c->state, rows[i].state);
		strcpy(c->detail, rows[i].detail);
		r->floors[0].hv_set[0] = r->floors[0].hv[0] = 0;
		rig_crash(r);
		rig_until_end(r, 1, 20000);
		assert_string_equal(c->state, "FAILED");
		if (strstr(c->detail, rows[i].end) != c->detail) {
			fail_msg("'%s', wanted '%s'", c->detail, rows[i].end);
		}
		rig_destroy(r);
	}
}

/* More commands than an FCM remembers were executed after it, though requested before it: that the
 * FCM does not remember it does not mean that it was not executed. */
static void test_overtakes_and_killed(void **state)
{
	struct rig *r = rig_create(1);
	uint64_t id, ramp;

	r->floors[0].slow = 20;
	for (unsigned n = 0; n < 300; n++) {
		char name[32];

		snprintf(name, sizeof(name), "floor1.om%u.threshold", n % 6);
		assert_int_equal(rig_set(r, name, 10 + n % 50, &id), 0);
	}
	assert_int_equal(rig_set(r, "floor1.om2.hv", 0, &ramp), 0);
	rig_until_end(r, id, 20000);
	rig_run(r, 1000);
	assert_int_equal(r->floors[0].writes, 301);
	rig_expect(r, ramp, "QUEUED SENT ACKED", 1);
	rig_crash(r);
	rig_run(r, 200000);
	rig_expect(r, ramp, "QUEUED SENT ACKED UNKNOWN ACKED DONE", 1);
	rig_destroy(r);
}

/* The answer to somebody else's row takes no reservation for written. */
static void test_stray_answer(void **state)
{
	struct rig *r = rig_create(1);
	uint64_t id;

	rig_run(r, 10);
	r->store_hangs = true;
	rig_crash(r);
	assert_int_equal(rig_set(r, "floor1.om0.threshold", 12, &id), 0);
	rig_run(r, 50); /* no sequences: the reservation is being written */
	engine_stored(r->e, 0, 0, r->now);
	rig_run(r, 40);
	assert_int_equal(r->floors[0].writes, 0); /* the FCM is asked first what it remembers */
	assert_int_equal(r->floors[0].reads, 0);
	r->store_hangs = false;
	rig_run(r, 2000);
	rig_expect(r, id, "QUEUED SENT ACKED DONE", 1);
	rig_destroy(r);
}

/* Killed after its word left and before that was written down: the journal must not say that it never left, or
 * `fcmctl action --job` would do it again. */
static void test_crash_before_sent_is_stored(void **state)
{
	struct rig *r = rig_create(1);
	uint64_t id;

	assert_int_equal(rig_action(r, "floor1.om2.reset", &id), 0);
	r->store_us = 60000000; /* of all rows after its first */
	r->floors[0].mute = true;
	rig_run(r, 50);
	assert_int_equal(rig_executed(r, id), 1);
	assert_string_equal(r->commands[id].states, "QUEUED");
	r->floors[0].resets[2] = 0; /* its counter never comes */
	r->floors[0].mute = false;
	r->store_us = 1000;
	rig_crash(r);
	rig_run(r, 60000);
	rig_expect(r, id, "QUEUED UNKNOWN ACKED FAILED", 1);
	assert_int_equal(r->commands[id].attempts, 1);
	rig_destroy(r);
}

/* kill -9 at each point of a command's life. */
static void test_crash(void **state)
{
	static const struct {
		const char *what;
		unsigned ms10; /* tenths of ms after submit */
		bool known;
		unsigned executed;
		const char *state;
	} cases[] = {
		{"before the row is stored", 5, false, 0, NULL},
		{"stored, the answer not seen", 20, true, 0, NULL},
		{"word on its way down", 25, true, 1, "DONE"},
		{"answer on its way up", 35, true, 1, "DONE"},
		{"waiting for the read-back", 45, true, 1, "DONE"},
		{"done", 1000, true, 1, "DONE"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rig *r = rig_create(i + 1);
		uint64_t id, after;

		rig_run(r, 10);
		r->store_us = 2000;
		rig_set(r, "floor1.om0.hv", 1402, &id);
		if (i == 1) { /* the row is in the file, but the engine has not heard */
			r->store_us = 0;
			r->send_result = -EAGAIN;
		}
		rig_run(r, cases[i].ms10 / 10);
		if (cases[i].ms10 % 10) {
			rig_run(r, 1);
		}
		r->send_result = 0;
		rig_crash(r);
		r->store_us = 1000;
		rig_run(r, 20000);
		assert_int_equal(r->commands[id].known, cases[i].known);
		assert_int_equal(rig_executed(r, id), cases[i].executed);
		if (cases[i].known) {
			assert_true(r->commands[id].ended);
		}
		if (i == 1) {
			assert_string_equal(r->commands[id].state, "FAILED");
			assert_non_null(strstr(r->commands[id].detail, "not executed"));
		}
		if (cases[i].state && strcmp(r->commands[id].state, cases[i].state) != 0) {
			fail_msg("%s: %s %s", cases[i].what, r->commands[id].states,
				 r->commands[id].detail);
		}
		/* Numbers are not used twice. */
		rig_set(r, "floor1.om0.hv", 1403, &after);
		rig_until_end(r, after, 20000);
		assert_string_equal(r->commands[after].state, "DONE");
		if (cases[i].known) {
			assert_true(after > id);
			assert_true(r->commands[after].sequence > r->commands[id].sequence);
		}
		rig_destroy(r);
	}
}

static unsigned reads;

/* Until the journal is known: floors are read, nothing is set, nothing reserved or stored. */
static void reads_only(struct engine *e, struct engine_now *now)
{
	const struct engine_out *o;
	struct word w;

	for (unsigned n = 0; n < 50; n++) {
		now->mono_ns += 100000000;
		engine_tick(e, *now);
		while (engine_next(e, &o)) {
			assert_int_equal(o->type, ENGINE_SEND);
			assert_int_equal(word_unpack(o->send.bytes, &w), 0);
			assert_true(w.op == WORD_READ || w.op == WORD_QUERY);
			reads++;
		}
	}
}

/* Numbers come from the journal: without it a request has none. What it knows comes first. */
static void test_journal_unknown(void **state)
{
	struct rig *r = rig_create(1);
	struct sc_error error = {0};
	struct engine_request q = {.parameter = "floor1.om0.threshold", .value = 12, .who = "t"};
	struct engine_command_view v;
	const struct engine_out *o;
	struct engine_now now = r->now;
	struct engine *e;
	uint64_t id = 7;

	r->config.poll = true;
	e = engine_create(r->params, &r->config);
	engine_journal_lost(e, -EUCLEAN);
	engine_link(e, 0, true, 1, 1, now);
	reads_only(e, &now);
	assert_true(reads > 0);
	assert_true(engine_submit(e, &q, now, &id, &error) < 0);
	assert_int_equal(id, 0);
	assert_non_null(strstr(error.message, "nothing was sent"));
	assert_true(error.hint[0]);
	reads_only(e, &now);
	engine_journal_found(e);
	engine_recover_id(e, 40);
	engine_recover_sequence(e, 1, 1, 100000);
	assert_int_equal(engine_submit(e, &q, now, &id, &error), 0);
	assert_int_equal(id, 41);
	assert_true(engine_command(e, id, &v) && v.sequence == 100001);
	while (engine_next(e, &o)) {
		assert_int_not_equal(o->type, ENGINE_EMERGENCY);
	}
	engine_destroy(e);
	rig_destroy(r);
}

/* It goes away while we run and comes back, perhaps as another file. */
static void test_journal_lost(void **state)
{
	struct rig *r = rig_create(1);
	struct engine_command_view v;
	uint64_t id;

	rig_run(r, 10);
	engine_journal_lost(r->e, -EUCLEAN);
	assert_true(rig_set(r, "floor1.om0.threshold", 12, &id) < 0);
	/* It is opened, and knows more than we: from then on. */
	engine_journal_found(r->e);
	engine_recover_id(r->e, 40);
	engine_recover_sequence(r->e, 1, 1, 100000);
	assert_int_equal(rig_set(r, "floor1.om0.threshold", 12, &id), 0);
	assert_int_equal(id, 41);
	rig_until_end(r, id, 10000);
	rig_expect(r, id, "QUEUED SENT ACKED DONE", 1);
	assert_true(engine_command(r->e, id, &v) && v.sequence > 100000);
	assert_true(r->reserved_until[0] > 100000);
	/* Again, while commands are known: they stay as they are. */
	engine_journal_lost(r->e, -ENOENT);
	engine_journal_found(r->e);
	assert_int_equal(engine_recover_command(r->e,
						&(struct engine_journal){
							.id = 41,
							.parameter = "tower1.floor1.om0.threshold",
							.state = "SENT",
							.sequence = 100001},
						r->now),
			 0);
	assert_true(engine_command(r->e, id, &v) && v.ended && v.state == COMMAND_DONE);
	assert_int_equal(rig_set(r, "floor1.om0.threshold", 13, &id), 0);
	rig_until_end(r, id, 10000);
	rig_expect(r, id, "QUEUED SENT ACKED DONE", 1);
	rig_destroy(r);
}

/* The numbers that were given are those of the marks or of the engine, whatever is larger; both go on behind. */
static void test_marks(void **state)
{
	struct rig *r = rig_create(1);
	struct engine_marks low = {.last_id = 3}, high = {.last_id = 900};
	struct engine_now now = r->now;
	struct engine *e = engine_create(r->params, &r->config);

	engine_recover_id(e, 40);
	engine_recover_sequence(e, 1, 2, 500);
	engine_marks(e, &low);
	assert_int_equal(low.last_id, 40);
	assert_int_equal(low.floor[0].sequence, 0);
	assert_true(low.floor[1].tower == 1 && low.floor[1].floor == 2);
	assert_int_equal(low.floor[1].sequence, 500);
	assert_int_equal(engine_next_id(e, now), 41);
	high.floor[2].tower = 1; /* the floor was on another link then */
	high.floor[2].floor = 2;
	high.floor[2].sequence = 7000;
	engine_marks(e, &high);
	assert_int_equal(engine_next_id(e, now), 901);
	assert_int_equal(high.floor[1].sequence, 7000);
	assert_int_equal(e->links[1].next_sequence, 7001);
	assert_int_equal(e->links[0].next_sequence, 1);
	engine_recover_sequence(e, 1, 2, 6000); /* less than is known */
	engine_recover_sequence(e, 2, 2, 9000); /* another floor's */
	engine_recover_sequence(e, 1, 9, 9000);
	assert_int_equal(e->links[1].next_sequence, 7001);
	engine_recover_id(e, 40);
	assert_int_equal(engine_next_id(e, now), 901);
	/* The marks know numbers of the journal: that it cannot be read changes nothing. */
	engine_journal_lost(e, -EIO);
	assert_int_equal(engine_next_id(e, now), 901);
	engine_destroy(e);
	/* Without marks and without a journal: a range of its own, by the time, and never backwards. */
	e = engine_create(r->params, &r->config);
	engine_journal_lost(e, -EIO);
	now.utc_ns = 1795000000000000000ll;
	assert_int_equal(engine_next_id(e, now), ENGINE_OWN_IDS + 1795000000000ull);
	engine_recover_id(e, ENGINE_OWN_IDS + 1795000000000ull);
	assert_int_equal(engine_next_id(e, now), ENGINE_OWN_IDS + 1795000000001ull);
	engine_recover_id(e, ENGINE_OWN_IDS);
	assert_int_equal(engine_next_id(e, now), ENGINE_OWN_IDS + 1795000000001ull);
	engine_recover_id(e, 12);
	assert_int_equal(engine_next_id(e, now), 13);
	engine_destroy(e);
	rig_destroy(r);
}

/* What a row of a command says of who gave it: root is somebody, -1 is not known. */
static void test_row_of_a_command(void **state)
{
	struct rig *r = rig_create(1);
	struct engine_request q = {.parameter = "floor1.om0.threshold", .value = 12};
	const struct engine_out *o;
	uint64_t id;

	for (int n = 0; n < 2; n++) {
		const struct row *row;

		q.uid = q.pid = -n;
		assert_int_equal(engine_submit(r->e, &q, r->now, &id, NULL), 0);
		assert_true(engine_next(r->e, &o));
		assert_int_equal(o->type, ENGINE_STORE);
		assert_int_equal(o->store.flags, ENGINE_STORE_URGENT | ENGINE_STORE_ANSWER |
							 ENGINE_STORE_NOW_OR_NEVER);
		row = &o->store.row;
		assert_int_equal(row->values[0].i, id);
		assert_int_equal(row->values[1].type, ROW_NULL);
		assert_string_equal(row->arena + row->values[3].text, "unknown");
		assert_int_equal(row->values[4].type, n == 0 ? ROW_INT : ROW_NULL);
		assert_int_equal(row->values[5].type, n == 0 ? ROW_INT : ROW_NULL);
		assert_int_equal(row->values[8].i, 0);		 /* the link */
		assert_int_equal(row->values[16].type, ROW_INT); /* its sequence */
		assert_int_equal(row->values[17].i, RIG_FIRST_BOOT);
		assert_int_equal(row->values[20].type, ROW_NULL); /* it has not ended */
	}
	q.parameter = "clock.state";
	assert_int_equal(engine_submit(r->e, &q, r->now, &id, NULL), -EACCES);
	assert_true(engine_next(r->e, &o));
	assert_int_equal(o->store.row.values[8].type, ROW_NULL);
	assert_int_equal(o->store.row.values[16].type, ROW_NULL);
	assert_int_equal(o->store.row.values[17].type, ROW_NULL);
	assert_int_equal(o->store.row.values[20].i, r->now.utc_ns);
	rig_destroy(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_journal_unknown),
		cmocka_unit_test(test_journal_lost),
		cmocka_unit_test(test_never_before_stored),
		cmocka_unit_test(test_journal_refuses),
		cmocka_unit_test(test_forgotten_in_two_parts),
		cmocka_unit_test(test_was_in_effect_before_the_restart),
		cmocka_unit_test(test_overtakes_and_killed),
		cmocka_unit_test(test_stray_answer),
		cmocka_unit_test(test_crash),
		cmocka_unit_test(test_crash_before_sent_is_stored),
		cmocka_unit_test(test_marks),
		cmocka_unit_test(test_row_of_a_command),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
