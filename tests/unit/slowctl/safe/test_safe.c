/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Making safe, in virtual time: HV down, then off, of all modules at once; with a queue that is full, floors that
 * are mute or away, modules that are off or do not come down, and a daemon that is killed in the middle.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "slowctl/safe/safe.h"
#include "tdm/registers.h"
#include "tests/unit/slowctl/engine/engine_rig.h"

static void on_progress(void *context, const struct engine_out *out)
{
	safe_progress(context, out);
}

static struct safe *begin(struct rig *r, const char *pattern)
{
	struct engine_request who = {
		.who = "anna", .origin = "local", .reason = "storm", .uid = 1, .pid = 2};
	struct sc_error error = {0};
	struct safe *s = NULL;

	if (safe_begin(r->e, r->params, pattern, &who, r->now, &s, &error) < 0) {
		fail_msg("%s", error.message);
	}
	r->on_progress = on_progress;
	r->context = s;
	rig_drain(r);
	return s;
}

static void end(struct rig *r, struct safe *s)
{
	safe_destroy(s);
	rig_destroy(r);
}

static void row_is(const struct safe *s, unsigned n, const char *module, enum command_state state,
		   const char *words)
{
	const struct safe_row *row = safe_row(s, n);

	assert_non_null(row);
	assert_string_equal(row->module, module);
	if (!row->settled || row->state != state || !strstr(row->text, words)) {
		fail_msg("%s: %s (%s)", row->module, command_state_name(row->state), row->text);
	}
}

static void test_all(void **state)
{
	struct rig *r = rig_create(1);
	struct safe *s = begin(r, NULL);
	char text[80];

	assert_int_equal(safe_count(s), 12);
	assert_string_equal(safe_text(s, text, sizeof(text)), "0 of 12 modules off");
	rig_run(r, 2000);
	for (unsigned m = 0; m < 12;
	     m++) { /* all are on their way, none is off before it is down */
		assert_true(r->floors[m / 6].hv[m % 6] < 14000);
		assert_int_equal(r->floors[m / 6].hv_set[m % 6], 0);
		assert_int_equal(r->floors[m / 6].power[m % 6], 1);
	}
	assert_false(safe_settled(s));
	rig_run(r, 20000);
	assert_true(safe_settled(s));
	assert_int_equal(safe_state(s), COMMAND_DONE);
	assert_string_equal(safe_text(s, text, sizeof(text)), "12 of 12 modules off");
	for (unsigned m = 0; m < 12; m++) {
		assert_int_equal(r->floors[m / 6].power[m % 6], 0);
	}
	assert_int_equal(r->last_id, 24);
	for (uint64_t id = 1; id <= 24; id++) {
		assert_string_equal(r->commands[id].states, "QUEUED SENT ACKED DONE");
		assert_string_equal(r->commands[id].reason, "safe 1: storm");
		assert_int_equal(rig_executed(r, id), 1);
	}
	end(r, s);
}

static void test_some(void **state)
{
	struct rig *r = rig_create(1);
	struct engine_request who = {.who = "anna"};
	struct sc_error error = {0};
	struct safe *s = NULL;

	assert_int_equal(safe_begin(r->e, r->params, "clock", &who, r->now, &s, &error), -ENOENT);
	assert_non_null(strstr(error.message, "has a high voltage"));
	s = begin(r, "floor2.om[23]");
	assert_int_equal(safe_count(s), 2);
	rig_run(r, 20000);
	row_is(s, 0, "tower1.floor2.om2", COMMAND_DONE, "down, and off");
	row_is(s, 1, "tower1.floor2.om3", COMMAND_DONE, "down, and off");
	assert_int_equal(r->floors[1].power[4], 1);
	assert_int_equal(r->floors[1].hv[4], 14000);
	end(r, s);
}

static void kept_from(struct rig *r, struct engine_request q)
{
	struct sc_error error = {0};
	uint64_t id;

	q.force = true; /* not even so */
	assert_int_equal(rig_submit(r, q, &id, &error), -EPERM);
	assert_non_null(strstr(error.message, "takes the module down"));
	assert_string_equal(error.code, "interlock");
}

/* Nobody switches it on, raises its HV or acts on it while it is made safe. */
static void test_keeps_others_away(void **state)
{
	struct rig *r = rig_create(1);
	struct safe *s = begin(r, "floor1.om0");
	uint64_t id;

	rig_run(r, 100);
	kept_from(r, (struct engine_request){.parameter = "floor1.om0.power", .value = 1});
	kept_from(r, (struct engine_request){.parameter = "floor1.om0.hv", .value = 1000});
	kept_from(r, (struct engine_request){.parameter = "floor1.om0.reset", .action = true});
	kept_from(r, (struct engine_request){.parameter = "floor1.om0.clear_trip", .action = true});
	assert_int_equal(rig_set(r, "floor1.om0.threshold", 12, &id), 0);
	assert_int_equal(rig_set(r, "floor1.om1.hv", 1450, &id), 0);
	while (r->floors[0].hv[0] > 0) {
		rig_run(r, 1);
	}
	kept_from(r, (struct engine_request){.parameter = "floor1.om0.power", .value = 1});
	rig_run(r, 20000);
	row_is(s, 0, "tower1.floor1.om0", COMMAND_DONE, "down, and off");
	assert_int_equal(rig_set(r, "floor1.om0.power", 1, &id), 0); /* it is over */
	end(r, s);
}

static void not_cancelled(struct rig *r, uint64_t id)
{
	struct engine_request by = {.who = "me", .origin = "local"};
	struct sc_error error = {0};
	uint64_t stop;
	bool ramp;

	assert_int_equal(engine_check_cancel(r->e, id, r->now, &ramp, &error), -EBUSY);
	assert_string_equal(error.code, "safe");
	assert_int_equal(engine_cancel(r->e, id, &by, r->now, &stop, &error), -EBUSY);
	assert_non_null(strstr(error.message, "is part of safe 1"));
	assert_int_equal(stop, 0);
}

/* No part of it can be cancelled or stopped: not sent, under way, waiting for another part, with
 * the link down. */
static void test_not_cancelled(void **state)
{
	struct rig *r = rig_create(1);
	struct safe *s = begin(r, "floor1.om0");

	not_cancelled(r, 1);
	not_cancelled(r, 2);
	rig_run(r, 1000);
	assert_string_equal(r->commands[1].states, "QUEUED SENT ACKED");
	not_cancelled(r, 1);
	not_cancelled(r, 2);
	rig_link(r, 0, false);
	rig_run(r, 3000);
	not_cancelled(r, 1);
	not_cancelled(r, 2);
	rig_link(r, 0, true);
	rig_run(r, 20000);
	row_is(s, 0, "tower1.floor1.om0", COMMAND_DONE, "down, and off");
	end(r, s);
}

/* Ramps up, and what waits behind them, are ended; what is sent after it is refused until it is off. */
static void test_takes_over(void **state)
{
	struct rig *r = rig_create(1);
	struct sc_error error = {0};
	struct safe *s;
	uint64_t up, waits, id;

	rig_set(r, "floor1.om0.hv", 1700, &up);
	rig_run(r, 200);
	rig_set(r, "floor1.om0.hv", 1750, &waits);
	rig_run(r, 100);
	s = begin(r, "floor1.om0");
	rig_run(r, 100);
	assert_string_equal(r->commands[up].state, "FAILED");
	assert_string_equal(r->commands[waits].states, "QUEUED CANCELLED");
	assert_int_equal(
		rig_submit(r, (struct engine_request){.parameter = "floor1.om0.hv", .value = 1000},
			   &id, &error),
		-EPERM);
	assert_non_null(strstr(error.message, "takes the module down"));
	rig_run(r, 20000);
	row_is(s, 0, "tower1.floor1.om0", COMMAND_DONE, "down, and off");
	end(r, s);
}

/* An action whose word was lost, or whose row waits for the disk, does not go after the module was made safe: it would
 * be on again. */
static void test_no_action_behind_it(void **state)
{
	for (unsigned hangs = 0; hangs < 2; hangs++) {
		struct rig *r = rig_create(1);
		struct safe *s;
		uint64_t cycle;

		r->floors[0].hv[0] = r->floors[0].hv_set[0] = 0; /* on, and its HV is down */
		rig_run(r, 2000);
		r->lose_down = hangs ? 0 : 1000;
		r->store_hangs = hangs;
		assert_int_equal(rig_action(r, "floor1.om0.power_cycle", &cycle), 0);
		rig_run(r, 50);
		r->lose_down = 0;
		s = begin(r, "floor1.om0");
		rig_run(r, 250);
		r->store_hangs = false;
		rig_run(r, 5000);
		row_is(s, 0, "tower1.floor1.om0", COMMAND_DONE, "down, and off");
		assert_int_equal(r->floors[0].power[0], 0);
		assert_int_equal(rig_executed(r, cycle), 0);
		assert_true(r->commands[cycle].ended);
		end(r, s);
	}
}

/* The database opens while a safe goes, and has a power-off of the daemon before that was never sent. Settling that one
 * does not end the safe's own. */
static void test_journal_found_on_the_way(void **state)
{
	struct rig *r = rig_create(1);
	struct engine_journal row = {.id = 1,
				     .parameter = "tower1.floor1.om0.power",
				     .state = "QUEUED",
				     .new_value = 0,
				     .sequence = 1,
				     .boot = r->floors[0].boot};
	uint64_t id;
	struct safe *s;

	assert_int_equal(rig_set(r, "floor1.om1.threshold", 20, &id), 0);
	rig_run(r, 1000);
	engine_journal_lost(r->e, -EIO);
	s = begin(r, "floor1.om0");
	rig_run(r, 50);
	row.sequence = r->commands[id].sequence + 100;
	row.id = id + 100;
	r->commands[row.id].known = true;
	engine_journal_found(r->e);
	assert_int_equal(engine_recover_command(r->e, &row, r->now), 0);
	rig_run(r, 30000);
	row_is(s, 0, "tower1.floor1.om0", COMMAND_DONE, "down, and off");
	assert_int_equal(r->floors[0].power[0], 0);
	end(r, s);
}

static void test_full_queue(void **state)
{
	static const char *const names[] = {"threshold", "ramp"};
	struct rig *r = rig_create(1);
	struct safe *s;
	uint64_t id;
	char name[40];

	r->config.commands_max = 300;
	rig_crash(r);
	r->delay_us = 20000;
	for (unsigned n = 0; n < r->config.commands_max; n++) {
		snprintf(name, sizeof(name), "floor1.om%u.%s", n % 6, names[n / 6 % 2]);
		assert_int_equal(rig_set(r, name, 100 + n % 50, &id), 0);
	}
	assert_int_equal(rig_set(r, "floor1.om0.threshold", 10, &id), -EAGAIN);
	s = begin(r, NULL);
	rig_run(r, 100); /* a way down: before the 290 that wait */
	for (unsigned m = 0; m < 12; m++) {
		assert_int_equal(r->floors[m / 6].hv_set[m % 6], 0);
	}
	rig_run(r, 20000);
	assert_int_equal(safe_state(s), COMMAND_DONE);
	end(r, s);
}

/* Off already, tripped, not coming down, a floor that is away: each row says what is so. */
static void test_rows(void **state)
{
	struct rig *r = rig_create(1);
	struct safe *s;

	r->floors[0].power[0] = 0;
	r->floors[0].hv[0] = r->floors[0].hv_set[0] = 0;
	r->floors[0].trip[1] = 1;
	rig_run(r, 2000);
	r->floors[0].power[2] = 0; /* and nobody has read that yet */
	r->floors[0].hv_offset = 0;
	rig_link(r, 1, false);
	s = begin(r, NULL);
	rig_run(r, 20000);
	row_is(s, 0, "tower1.floor1.om0", COMMAND_DONE, "down, and off");
	assert_int_equal(safe_row(s, 0)->load.command, 0);
	row_is(s, 1, "tower1.floor1.om1", COMMAND_DONE, "down, and off");
	row_is(s, 2, "tower1.floor1.om2", COMMAND_DONE, "down, and off");
	row_is(s, 6, "tower1.floor2.om0", COMMAND_REFUSED, "link 1 is not locked");
	assert_int_equal(safe_state(s), COMMAND_FAILED);
	end(r, s);
}

/* The FCM refuses the HV of a module that is on, whatever for: the power is not cut under it, and that is said. */
static void test_refused_under_hv(void **state)
{
	static const struct {
		uint8_t status;
		const char *words;
	} cases[] = {
		{WORD_REFUSED, "hv: refused by the FCM: not possible now"},
		{WORD_BAD_VALUE, "hv: refused by the FCM: the value is outside"},
		{WORD_BAD_REG, "hv: refused by the FCM: it knows no such register"},
		{WORD_BUSY, "hv: refused by the FCM: it is busy"},
	};

	for (size_t n = 0; n < sizeof(cases) / sizeof(cases[0]); n++) {
		struct rig *r = rig_create(1);
		struct safe *s;

		r->floors[0].hv_refusal = cases[n].status;
		s = begin(r, "floor1.om3");
		rig_run(r, 20000);
		row_is(s, 0, "tower1.floor1.om3", COMMAND_REFUSED, cases[n].words);
		assert_int_equal(safe_state(s), COMMAND_FAILED);
		assert_int_equal(r->floors[0].power[3], 1);
		assert_int_equal(r->floors[0].hv[3], 14000);
		assert_string_equal(r->commands[2].states, "QUEUED CANCELLED");
		end(r, s);
	}
}

/* A busy FCM gets the row again, HV and power off, each under a sequence of its own; others it does not. */
static void test_busy(void **state)
{
	struct rig *r = rig_create(1);
	struct safe *s = begin(r, "floor1.om3");
	struct sc_error error = {0};
	uint64_t id;

	r->floors[0].busy = 3;
	while (!strstr(r->commands[1].states, "ACKED")) {
		assert_true(rig_submit(r,
				       (struct engine_request){.parameter = "floor1.om3.hv",
							       .value = 1500,
							       .force = true},
				       &id, &error) < 0); /* it is held as safe meanwhile */
		rig_run(r, 20);
	}
	assert_string_equal(r->commands[1].states,
			    "QUEUED SENT QUEUED SENT QUEUED SENT QUEUED SENT ACKED");
	r->floors[0].busy = 1;
	rig_run(r, 20000);
	row_is(s, 0, "tower1.floor1.om3", COMMAND_DONE, "down, and off");
	assert_string_equal(r->commands[2].states, "QUEUED SENT QUEUED SENT ACKED DONE");
	assert_int_equal(rig_executed(r, 1), 1);
	assert_int_equal(rig_executed(r, 2), 1);
	assert_int_equal(r->floors[0].power[3], 0);
	r->floors[0].busy = 1;
	assert_int_equal(rig_set(r, "floor1.om4.hv", 1300, &id), 0);
	rig_until_end(r, id, 1000);
	assert_string_equal(r->commands[id].states, "QUEUED SENT REFUSED");
	end(r, s);
}

/* The database takes no row while the FCM is busy: making safe continues without it. */
static void test_busy_without_journal(void **state)
{
	struct rig *r = rig_create(1);
	struct safe *s = begin(r, "floor1.om3");

	r->floors[0].busy = 1;
	while (r->floors[0].outcome_count == 0) {
		rig_run(r, 1);
	}
	r->store_result = -ENOSPC;
	rig_run(r, 1000);
	r->store_result = 0;
	rig_run(r, 20000);
	row_is(s, 0, "tower1.floor1.om3", COMMAND_DONE, "down, and off");
	assert_string_equal(r->commands[1].states, "QUEUED SENT QUEUED SENT ACKED DONE");
	assert_true(r->commands[1].emergency);
	assert_non_null(strstr(r->commands[1].detail, "sent before it was journaled"));
	assert_int_equal(r->floors[0].outcome_count, 3);
	assert_int_equal(r->floors[0].hv[3], 0);
	assert_int_equal(r->floors[0].power[3], 0);
	end(r, s);
}

/* Killed between: what was to go once more is settled as any, never sent late. */
static void test_busy_and_killed(void **state)
{
	for (unsigned ms = 0; ms < 12; ms++) {
		struct rig *r = rig_create(1);
		struct safe *s = begin(r, "floor1.om3");

		r->floors[0].busy = 1;
		while (r->floors[0].outcome_count == 0) {
			rig_run(r, 1);
		}
		rig_run(r, ms);
		r->on_progress = NULL;
		rig_crash(r);
		rig_run(r, 20000);
		assert_true(r->commands[1].ended);
		assert_true(r->commands[2].ended);
		assert_string_not_equal(r->commands[1].state, "DONE");
		assert_int_equal(r->floors[0].hv[3], 14000);
		assert_int_equal(r->floors[0].power[3], 1);
		end(r, s);
	}
}

/* Off without our knowing, and its floor does not say so at first: it goes on when it does. */
static void test_refused_and_mute(void **state)
{
	struct rig *r = rig_create(1);
	struct safe *s;

	r->floors[0].power[3] = 0;
	s = begin(r, "floor1.om3");
	while (strcmp(r->commands[1].state, "REFUSED") != 0) {
		rig_run(r, 1);
		r->floors[0].mute = r->floors[0].outcome_count > 0;
	}
	rig_run(r, 20000);
	assert_int_equal(safe_state(s), COMMAND_UNKNOWN);
	assert_non_null(strstr(safe_row(s, 0)->text, "not sent yet"));
	r->floors[0].mute = false;
	rig_run(r, 5000);
	row_is(s, 0, "tower1.floor1.om3", COMMAND_DONE, "down, and off");
	end(r, s);
}

static void test_stays_up(void **state)
{
	struct rig *r = rig_create(1);
	struct safe *s;

	r->floors[0].hv_offset = 500; /* it reads 50 V too much, for ever */
	s = begin(r, "floor1.om3");
	rig_run(r, 90000);
	row_is(s, 0, "tower1.floor1.om3", COMMAND_FAILED, "hv: read-back 50.0 V, wanted 0.0 V");
	assert_int_equal(r->floors[0].power[3], 1);
	assert_string_equal(r->commands[2].states, "QUEUED CANCELLED");
	assert_non_null(
		strstr(r->commands[2].detail, "not sent: command 1 before it ended FAILED"));
	/* Somebody who wants it off all the same need not wait for anything. */
	safe_destroy(s);
	s = begin(r, "floor1.om3");
	rig_run(r, 1000);
	assert_int_equal(rig_set(r, "floor1.om3.power", 0, &(uint64_t){0}), 0);
	rig_run(r, 100);
	assert_int_equal(r->floors[0].power[3], 0);
	end(r, s);
}

/* Nobody can say of a mute floor; when it answers again, it goes on. */
static void test_mute(void **state)
{
	struct rig *r = rig_create(1);
	struct safe *s;
	char text[80];

	rig_run(r, 10);
	r->floors[1].mute = true;
	s = begin(r, NULL);
	rig_run(r, 20000);
	assert_true(safe_settled(s));
	assert_int_equal(safe_state(s), COMMAND_UNKNOWN);
	assert_string_equal(safe_text(s, text, sizeof(text)),
			    "6 of 12 modules off, 6 still unknown");
	r->floors[1].mute = false;
	rig_run(r, 5000);
	assert_int_equal(safe_state(s), COMMAND_DONE);
	for (unsigned m = 0; m < 6; m++) {
		assert_int_equal(r->floors[1].power[m], 0);
	}
	end(r, s);
}

/* The journal's text of its parts while nothing can be sent; they are open. */
static void waits_unsent(struct rig *r, const char *words)
{
	for (uint64_t id = 7; id <= 12; id++) {
		if (r->commands[id].ended ||
		    strcmp(r->commands[id].states, "QUEUED UNKNOWN") != 0 ||
		    !strstr(r->commands[id].detail, words)) {
			fail_msg("%s: %s", r->commands[id].states, r->commands[id].detail);
		}
	}
}

static void all_off(struct rig *r, struct safe *s, const char *states)
{
	rig_run(r, 20000);
	assert_int_equal(safe_state(s), COMMAND_DONE);
	for (unsigned m = 0; m < 6; m++) {
		assert_int_equal(r->floors[0].power[m], 0);
		rig_expect(r, 7 + m, states, 1);
	}
}

/* Ramps down that take longer than expected: the power goes off at their end. */
static void test_slow_ramps(void **state)
{
	struct rig *r = rig_create(1);
	struct safe *s;

	r->floors[0].slow = 20;
	s = begin(r, "floor1");
	rig_run(r, 100000);
	assert_false(safe_settled(s));
	rig_run(r, 30000);
	all_off(r, s, "QUEUED SENT ACKED DONE");
	end(r, s);
}

/* The link is down for longer than other commands are kept: the power offs wait, say so, and are
 * sent when it is up. */
static void test_link_away_on_the_way(void **state)
{
	struct rig *r = rig_create(1);
	struct safe *s = begin(r, "floor1");

	rig_run(r, 1000);
	rig_link(r, 0, false);
	rig_run(r, 3000);
	waits_unsent(r, "link 0 is not locked: not sent yet");
	assert_int_equal(safe_state(s), COMMAND_UNKNOWN);
	rig_run(r, 3600000);
	waits_unsent(r, "link 0 is not locked: not sent yet");
	rig_link(r, 0, true);
	all_off(r, s, "QUEUED UNKNOWN QUEUED SENT ACKED DONE");
	end(r, s);
}

/* Another shore had the floor meanwhile and used the sequences of waiting commands: they are sent
 * under others. */
static void test_another_shore_on_the_way(void **state)
{
	struct rig *r = rig_create(1);
	struct safe *s = begin(r, "floor1");
	struct rig_floor *f = &r->floors[0];

	rig_run(r, 1000);
	rig_link(r, 0, false);
	rig_run(r, 60000);
	for (uint64_t id = 7; id <= 12; id++) { /* it switched them on */
		unsigned n = f->outcome_count++ % 256;

		f->outcomes[n].sequence = r->commands[id].sequence;
		f->outcomes[n].status = WORD_OK;
		f->outcomes[n].module = (uint8_t)(id - 7);
		f->outcomes[n].reg = REG_OM_POWER;
		f->outcomes[n].value = id == 12 ? 0 : 1; /* and off and on */
	}
	rig_link(r, 0, true);
	all_off(r, s, "QUEUED UNKNOWN QUEUED QUEUED SENT ACKED DONE");
	end(r, s);
}

/* The link is up, but its floor does not answer: they keep waiting. */
static void test_floor_away_on_the_way(void **state)
{
	struct rig *r = rig_create(1);
	struct safe *s;

	s = begin(r, "floor1");
	rig_run(r, 1000);
	rig_link(r, 0, false);
	r->floors[0].deaf = true;
	rig_run(r, 1000);
	rig_link(r, 0, true);
	rig_run(r, 60000);
	assert_non_null(strstr(r->commands[7].states, "QUEUED"));
	assert_false(r->commands[7].ended);
	r->floors[0].deaf = false;
	rig_run(r, 20000);
	assert_int_equal(safe_state(s), COMMAND_DONE);
	for (unsigned m = 0; m < 6; m++) {
		assert_int_equal(r->floors[0].power[m], 0);
	}
	end(r, s);
}

/* No link, or no board, at the moment their words should leave: they leave when it is back. */
static void test_not_taken_by_the_board(void **state)
{
	static const int results[] = {-ENOLINK, -ENODEV};

	for (size_t n = 0; n < sizeof(results) / sizeof(results[0]); n++) {
		struct rig *r = rig_create(1);
		struct safe *s;

		r->send_result = results[n];
		s = begin(r, "floor1");
		rig_run(r, 10000);
		for (uint64_t id = 1; id <= 6; id++) {
			rig_expect(r, id, "QUEUED UNKNOWN", 0);
		}
		r->send_result = 0;
		all_off(r, s, "QUEUED SENT ACKED DONE");
		end(r, s);
	}
}

static void note_cut(void *context, const struct engine_reason *reason)
{
	if (strcmp(reason->code, "safe-cut") == 0) {
		memcpy(context, reason, sizeof(*reason));
	}
}

static bool cut(struct rig *r, struct engine_reason *ret)
{
	*ret = (struct engine_reason){0};
	engine_reasons(r->e, r->now, note_cut, ret);
	return ret->code != NULL;
}

/* Killed in the middle: what had left is settled, what had not is not done, and that is said until it is. */
static void test_killed(void **state)
{
	struct rig *r = rig_create(1);
	struct safe *s = begin(r, "floor1");
	struct engine_reason reason;

	rig_run(r, 1000);
	assert_false(cut(r, &reason));
	r->on_progress = NULL;
	safe_destroy(s);
	rig_crash(r);
	rig_run(r, 40000);
	for (unsigned m = 0; m < 6; m++) {
		assert_string_equal(r->commands[1 + m].state, "DONE");
		assert_int_equal(rig_executed(r, 1 + m), 1);
		assert_string_equal(r->commands[7 + m].states, "QUEUED UNKNOWN FAILED");
		assert_int_equal(rig_executed(r, 7 + m), 0);
		assert_int_equal(r->floors[0].power[m], 1);
	}
	assert_true(cut(r, &reason));
	assert_true(reason.red);
	assert_non_null(strstr(reason.text, "safe 1 was cut off"));
	assert_non_null(strstr(reason.text, "6 of its commands were not done"));
	rig_crash(r); /* those who come after know it, too */
	rig_run(r, 1000);
	assert_true(cut(r, &reason));
	assert_non_null(strstr(reason.text, "safe 1 was cut off"));
	assert_non_null(strstr(reason.text, "6 of its commands were not done"));
	s = begin(r, "floor1.om[0-4]");
	rig_run(r, 20000);
	assert_true(cut(r, &reason));
	assert_non_null(strstr(reason.text, "1 of its commands"));
	assert_non_null(strstr(reason.text, "tower1.floor1.om5.power"));
	/* Or somebody wants it on. */
	assert_int_equal(rig_set(r, "floor1.om5.power", 1, &(uint64_t){0}), 0);
	rig_run(r, 1000);
	assert_false(cut(r, &reason));
	end(r, s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all),
		cmocka_unit_test(test_some),
		cmocka_unit_test(test_takes_over),
		cmocka_unit_test(test_keeps_others_away),
		cmocka_unit_test(test_not_cancelled),
		cmocka_unit_test(test_no_action_behind_it),
		cmocka_unit_test(test_journal_found_on_the_way),
		cmocka_unit_test(test_full_queue),
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_refused_under_hv),
		cmocka_unit_test(test_refused_and_mute),
		cmocka_unit_test(test_busy),
		cmocka_unit_test(test_busy_without_journal),
		cmocka_unit_test(test_busy_and_killed),
		cmocka_unit_test(test_stays_up),
		cmocka_unit_test(test_mute),
		cmocka_unit_test(test_killed),
		cmocka_unit_test(test_slow_ramps),
		cmocka_unit_test(test_link_away_on_the_way),
		cmocka_unit_test(test_another_shore_on_the_way),
		cmocka_unit_test(test_floor_away_on_the_way),
		cmocka_unit_test(test_not_taken_by_the_board),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
