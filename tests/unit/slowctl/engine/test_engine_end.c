/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Ends of commands: what settles them when the FCM is busy, refuses, boots or does not get the word, what a restart makes
 * of them, and what those who waited for them come to.
 */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tdm/registers.h"
#include "tests/unit/slowctl/engine/engine_rig.h"

#define HV	  "floor1.om2.hv"
#define POWER	  "floor1.om2.power"
#define RAMP	  "floor1.om2.ramp"
#define THRESHOLD "floor1.om2.threshold"

static struct param *get(struct rig *r, const char *name)
{
	struct param *p = NULL;

	assert_int_equal(params_find(r->params, name, &p, NULL), 0);
	return p;
}

static void says(const struct rig *r, uint64_t id, const char *words)
{
	if (!strstr(r->commands[id].detail, words)) {
		fail_msg("command %u: %s", (unsigned)id, r->commands[id].detail);
	}
}

static uint64_t after(struct rig *r, const char *name, double value, uint64_t before)
{
	struct engine_request q = {.parameter = name, .value = value, .after = before};
	uint64_t id;

	assert_int_equal(rig_submit(r, q, &id, NULL), 0);
	return id;
}

/* Part of a `safe`. */
static uint64_t safe(struct rig *r, const char *name, uint64_t job, uint64_t before)
{
	char reason[40];
	struct engine_request q = {
		.parameter = name, .reason = reason, .job = job, .after = before};
	uint64_t id;

	snprintf(reason, sizeof(reason), "safe %u", (unsigned)job);
	assert_int_equal(rig_submit(r, q, &id, NULL), 0);
	return id;
}

/* ------------------------------------------------------------------ the FCM says no */

static void reads_that_are_refused_are_tried_until_the_settle_time(void **state)
{
	struct rig *r = rig_create(1);
	uint64_t id;

	r->floors[0].busy_reads = 3;
	rig_set(r, THRESHOLD, 12, &id);
	rig_run(r, 900);
	rig_expect(r, id, "QUEUED SENT ACKED DONE", 1);
	assert_int_equal(r->floors[0].busy_reads, 0);
	r->floors[0].busy_reads = 1000000;
	rig_set(r, THRESHOLD, 13, &id);
	rig_run(r, 900);
	rig_expect(r, id, "QUEUED SENT ACKED", 1);
	rig_run(r, 600);
	rig_expect(r, id, "QUEUED SENT ACKED FAILED", 1);
	assert_string_equal(r->commands[id].detail,
			    "acknowledged, but its read-back cannot be read: it is busy");
	rig_destroy(r);
}

static void a_value_that_does_not_come_says_for_how_long(void **state)
{
	struct rig *r = rig_create(1);
	uint64_t id;

	r->floors[0].busy_reads = 1; /* that behind its word */
	rig_set(r, THRESHOLD, 20, &id);
	rig_run(r, 5);
	r->floors[0].threshold[2] = 11;
	rig_run(r, 900);
	rig_expect(r, id, "QUEUED SENT ACKED", 1);
	rig_run(r, 500);
	rig_expect(r, id, "QUEUED SENT ACKED FAILED", 1);
	says(r, id, "read-back 11 mV, wanted 20 mV within 0 after 1.");
	rig_destroy(r);
}

/* The READ behind a word is waited for as any. */
static void answers_that_come_in_another_order_are_no_time_outs(void **state)
{
	struct rig *r = rig_create(1);
	uint64_t id;

	r->jitter_us = 20000;
	for (unsigned n = 0; n < 50; n++) {
		rig_set(r, THRESHOLD, 12 + n, &id);
		rig_until_end(r, id, 1000);
		rig_expect(r, id, "QUEUED SENT ACKED DONE", 1);
	}
	assert_int_equal(rig_inside(r, 0)->timeouts, 0);
	assert_int_equal(rig_inside(r, 0)->flights, 0);
	rig_destroy(r);
}

/* Read after read is further from the one before, up to 0.2 s: a ramp is no load. */
static void a_read_back_is_repeated_at_growing_pauses(void **state)
{
	struct rig *r = rig_create(1);
	uint64_t id, reads;

	r->floors[0].slow = 20;
	rig_set(r, HV, 1500, &id);
	rig_run(r, 100);
	assert_in_range(r->floors[0].reads, 3, 5); /* behind it, after 10, 20, 40 ms */
	rig_run(r, 1000);
	reads = r->floors[0].reads;
	rig_run(r, 2000);
	assert_in_range(r->floors[0].reads - reads, 9, 10);
	rig_destroy(r);
}

static void busy_is_an_end_but_for_a_safe(void **state)
{
	struct rig *r = rig_create(1);
	uint64_t id, job;

	r->floors[0].busy = 1;
	rig_set(r, HV, 0, &id);
	rig_run(r, 100);
	rig_expect(r, id, "QUEUED SENT REFUSED", 0);
	says(r, id, "refused by the FCM: it is busy");
	r->floors[0].busy = 2;
	job = engine_next_id(r->e, r->now);
	id = safe(r, HV, job, 0);
	rig_run(r, 100);
	assert_string_equal(r->commands[id].states, "QUEUED SENT QUEUED");
	says(r, id, "the FCM was busy (sequence 4): not executed; once more, 1 of 10");
	rig_run(r, 150);
	assert_string_equal(r->commands[id].states, "QUEUED SENT QUEUED"); /* 0.3 s later */
	rig_run(r, 20000);
	rig_expect(r, id, "QUEUED SENT QUEUED SENT QUEUED SENT ACKED DONE", 1);
	assert_int_equal(r->commands[id].attempts, 1); /* of that sequence */
	assert_int_equal(r->floors[0].hv[2], 0);
	r->floors[0].busy = 100;
	job = engine_next_id(r->e, r->now);
	id = safe(r, HV, job, 0);
	rig_run(r, 10000);
	assert_string_equal(r->commands[id].state, "REFUSED");
	assert_int_equal(r->floors[0].busy, 100 - 11); /* ten times more, no more */
	rig_destroy(r);
}

/* What waits for a command that the FCM refuses is cancelled; only a power off that is off already is not. */
static void what_waits_for_a_refused_one_is_cancelled(void **state)
{
	static const struct {
		uint8_t refusal;
		int32_t power;
		const char *off;
	} cases[] = {
		{WORD_REFUSED, 0, "QUEUED SENT ACKED DONE"},
		{WORD_REFUSED, 1, "QUEUED CANCELLED"},
		{WORD_BAD_VALUE, 0, "QUEUED CANCELLED"},
	};

	for (size_t n = 0; n < sizeof(cases) / sizeof(cases[0]); n++) {
		struct rig *r = rig_create(1);
		uint64_t hv, off, other;

		r->floors[0].hv_refusal = cases[n].refusal;
		r->floors[0].power[2] = cases[n].power;
		rig_set(r, HV, 0, &hv);
		off = after(r, POWER, 0, hv);
		other = after(r, THRESHOLD, 12, hv);
		rig_run(r, 3000);
		rig_expect(r, hv, "QUEUED SENT REFUSED", 0);
		rig_expect(r, off, cases[n].off, strstr(cases[n].off, "DONE") ? 1 : 0);
		rig_expect(r, other, "QUEUED CANCELLED", 0);
		says(r, other, "not sent: command 1 before it ended REFUSED");
		rig_destroy(r);
	}
}

static void a_tripped_module_names_its_trip(void **state)
{
	struct rig *r = rig_create(1);
	uint64_t id;

	r->floors[0].hv_refusal = WORD_REFUSED;
	param_put(get(r, "floor1.om2.trip"), 1, r->now.utc_ns, r->now.mono_ns);
	rig_set(r, HV, 1500, &id);
	rig_run(r, 100);
	says(r, id, "refused by the FCM: not possible while tower1.floor1.om2.trip is on");
	r->floors[0].hv_refusal = WORD_BAD_VALUE; /* that has nothing to do with the trip */
	rig_set(r, HV, 1501, &id);
	rig_run(r, 100);
	says(r, id, "refused by the FCM: the value is outside the hardware's range");
	rig_destroy(r);
}

/* ------------------------------------------------------------------ the FCM does not hear */

static void a_word_is_sent_three_times_at_most(void **state)
{
	struct rig *r = rig_create(1);
	uint64_t id;

	r->floors[0].no_commands = true;
	rig_set(r, THRESHOLD, 12, &id);
	rig_until_end(r, id, 10000);
	rig_expect(r, id, "QUEUED SENT UNKNOWN UNKNOWN SENT UNKNOWN UNKNOWN SENT UNKNOWN FAILED",
		   0);
	assert_string_equal(r->commands[id].detail,
			    "not executed: sent 3 times, it never reached the FCM");
	assert_int_equal(rig_inside(r, 0)->retries, 2);
	rig_destroy(r);
}

static void what_the_board_does_not_take_is_named(void **state)
{
	static const struct {
		int result;
		const char *text;
	} cases[] = {
		{-ENOLINK, "not sent: the link is not locked"},
		{-ENODEV, "not sent: the board is gone"},
		{-EPERM, "not sent: another program owns the link"},
		{-EIO, "not sent: Input/output error"},
	};
	struct rig *r = rig_create(1);
	static struct engine_out out;
	uint64_t id;

	for (size_t n = 0; n < sizeof(cases) / sizeof(cases[0]); n++) {
		r->send_result = cases[n].result;
		rig_set(r, THRESHOLD, 12, &id);
		rig_run(r, 100);
		rig_expect(r, id, "QUEUED FAILED", 0);
		assert_string_equal(r->commands[id].detail, cases[n].text);
		assert_int_equal(r->commands[id].attempts, 0); /* it has certainly not left */
	}
	rig_set(r, HV, 0, &id); /* what makes safer is kept */
	rig_run(r, 1000);
	assert_true(engine_progress(r->e, id, &out) && out.progress.alarm && !out.progress.final);
	assert_string_equal(out.progress.text,
			    "Input/output error: not sent yet: it is sent as soon as possible");
	r->send_result = 0;
	rig_run(r, 20000);
	assert_string_equal(r->commands[id].state, "DONE");
	assert_int_equal(rig_executed(r, id), 1);
	rig_destroy(r);
}

/* A word that the board gives back is tried again in 2 ms when its ring was full, else in 50 ms. */
static void a_read_that_the_board_does_not_take_is_tried_again(void **state)
{
	struct rig *r = rig_create(1);
	uint64_t id;

	r->floors[0].slow = 20;
	rig_set(r, HV, 1500, &id);
	rig_run(r, 2000);
	r->send_result = -ENODEV;
	rig_run(r, 1000);
	assert_in_range(rig_inside(r, 0)->send_failures, 15, 21);
	r->send_result = -EAGAIN;
	rig_run(r, 200);
	assert_in_range(rig_inside(r, 0)->send_failures, 80, 125);
	assert_int_equal(rig_inside(r, 0)->flights, 0);
	r->send_result = 0;
	rig_run(r, 60000);
	rig_expect(r, id, "QUEUED SENT ACKED DONE", 1);
	rig_destroy(r);
}

/* ------------------------------------------------------------------ boots and counters */

static void a_counter_proves_an_action(void **state)
{
	struct rig *r = rig_create(1);
	uint64_t id;

	r->floors[0].resets[2] = 4;
	rig_action(r, "floor1.om2.reset", &id);
	rig_run(r, 100);
	rig_expect(r, id, "QUEUED SENT ACKED DONE", 1);
	assert_string_equal(r->commands[id].detail, "its counter stands at 5");
	rig_action(r, "floor1.om2.reset", &id);
	rig_run(r, 3);
	r->floors[0].resets[2] = 5; /* it goes back, and on later, beyond */
	rig_run(r, 500);
	assert_string_equal(r->commands[id].state, "ACKED");
	r->floors[0].resets[2] = 9;
	rig_run(r, 300);
	rig_expect(r, id, "QUEUED SENT ACKED DONE", 1);
	r->floors[0].resets[2] = -2; /* it wraps behind the 32 bits */
	rig_action(r, "floor1.om2.reset", &id);
	rig_run(r, 3);
	r->floors[0].resets[2] = 0;
	rig_run(r, 300);
	rig_expect(r, id, "QUEUED SENT ACKED DONE", 1);
	rig_action(r, "floor1.om2.reset", &id);
	rig_run(r, 3);
	r->floors[0].resets[2] = 0;
	rig_run(r, 1900);
	assert_string_equal(r->commands[id].state, "ACKED");
	rig_run(r, 400);
	rig_expect(r, id, "QUEUED SENT ACKED FAILED", 1);
	says(r, id, "acknowledged, but its counter stands at 0, not ");
	says(r, id, "after 2.0 s");
	rig_destroy(r);
}

/* Between two reads of the counter, and with one on its way. */
static void a_boot_before_the_proof_leaves_an_action_unknown(void **state)
{
	for (unsigned ms = 300; ms < 520; ms += 20) {
		struct rig *r = rig_create(1);
		uint64_t id, set, boot;

		r->delay_us = 20000;
		rig_action(r, "floor1.om2.reset", &id);
		rig_set(r, HV, 1500, &set);
		rig_action(r, "floor1.fcm.reset", &boot);
		rig_run(r, 30);
		r->floors[0].resets[2] = 0;
		r->floors[0].reset_at = 0;
		rig_run(r, ms - 30);
		assert_string_equal(r->commands[id].state, "ACKED");
		engine_boot(r->e, 0, RIG_FIRST_BOOT + 1, r->now);
		rig_drain(r);
		rig_run(r, 10);
		rig_expect(r, id, "QUEUED SENT ACKED UNKNOWN", 1);
		assert_string_equal(
			r->commands[id].detail,
			"acknowledged, but the FCM booted before its counter proved it");
		assert_false(r->commands[set].ended);  /* the value can be read still */
		assert_false(r->commands[boot].ended); /* that is what it waits for */
		rig_destroy(r);
	}
}

static void a_cleared_trip_says_where_the_hv_goes(void **state)
{
	struct rig *r = rig_create(1);
	struct param *hv = get(r, HV), *trip = get(r, "floor1.om2.trip");
	uint64_t id;

	r->settings_unknown = true;
	rig_action(r, "floor1.om2.clear_trip", &id);
	rig_run(r, 100);
	assert_string_equal(r->commands[id].detail,
			    "its counter stands at 1; tower1.floor1.om2.hv now goes to its set "
			    "value");
	param_put_setpoint(hv, 1400, r->now.mono_ns);
	rig_action(r, "floor1.om2.clear_trip", &id);
	rig_run(r, 100);
	assert_string_equal(r->commands[id].detail, "its counter stands at 2; tower1.floor1.om2.hv "
						    "now goes to 1400.0 V");
	param_put(get(r, RAMP), 100, r->now.utc_ns, r->now.mono_ns);
	param_put(hv, 1390, r->now.utc_ns, r->now.mono_ns);
	rig_action(r, "floor1.om2.clear_trip", &id);
	rig_run(r, 100);
	says(r, id, "now goes to 1400.0 V, within 17 s");
	param_put(hv, 1398, r->now.utc_ns, r->now.mono_ns); /* within its tolerance */
	rig_action(r, "floor1.om2.clear_trip", &id);
	rig_run(r, 100);
	assert_string_equal(r->commands[id].detail, "its counter stands at 4");
	param_put(trip, 1, r->now.utc_ns, r->now.mono_ns); /* the value is of before */
	rig_action(r, "floor1.om2.clear_trip", &id);
	rig_run(r, 100);
	says(r, id, "now goes to 1400.0 V, within 17 s");
	rig_destroy(r);
}

/* A command has changed a module: its values are read at once, those of others are not. */
static void the_module_of_a_command_is_read_at_once(void **state)
{
	struct rig *r = rig_create(1);
	uint64_t id;

	for (unsigned i = 0; i < params_count(r->params); i++) {
		params_at(r->params, i)->next_poll_ns = UINT64_MAX;
	}
	rig_set(r, THRESHOLD, 12, &id);
	rig_run(r, 100);
	rig_expect(r, id, "QUEUED SENT ACKED DONE", 1);
	for (unsigned i = 0; i < params_count(r->params); i++) {
		const struct param *p = params_at(r->params, i);
		bool of_it = p->floor == 1 && p->module == 2;

		assert_int_equal(p->next_poll_ns < r->now.mono_ns, of_it);
	}
	rig_destroy(r);
}

/* ------------------------------------------------------------------ ramps */

struct heard {
	unsigned count;
	char first[320], last[320];
};

static void hear_way(void *context, const struct engine_out *out)
{
	struct heard *h = context;

	if (strstr(out->progress.text, "of the way")) {
		memcpy(h->count++ == 0 ? h->first : h->last, out->progress.text, sizeof(h->last));
	}
}

static void a_ramp_says_how_far_it_is(void **state)
{
	struct rig *r = rig_create(1);
	struct heard heard = {0};
	uint64_t id;

	r->floors[0].slow = 20;
	r->floors[0].ramp[2] = 100; /* 10 V/s, by the rig's slow steps */
	r->on_progress = hear_way;
	r->context = &heard;
	param_put_raw(get(r, RAMP), 100, r->now.utc_ns, r->now.mono_ns);
	param_put_raw(get(r, HV), 14000, r->now.utc_ns, r->now.mono_ns);
	rig_set(r, HV, 1300, &id);
	rig_run(r, 1000);
	rig_run(r, 4000);
	assert_true(heard.count > 10);
	assert_string_equal(heard.first, "read-back 1400.0 V, 0 % of the way, about 10 s to go");
	assert_non_null(strstr(heard.last, ", 50 % of the way, about 6 s to go"));
	rig_run(r, 10000);
	rig_expect(r, id, "QUEUED SENT ACKED DONE", 1);
	rig_destroy(r);
}

/* ------------------------------------------------------------------ after a restart */

/* What was open is settled in its order: a set that was not sent ends no ramp that is on its way. */
static void a_restart_makes_no_set_urgent(void **state)
{
	struct rig *r = rig_create(1);
	uint64_t up, lower;

	r->floors[0].slow = 20;
	rig_set(r, HV, 1500, &up);
	rig_set(r, HV, 1450, &lower);
	rig_run(r, 100);
	rig_expect(r, lower, "QUEUED", 0);
	rig_crash(r);
	rig_run(r, 60000);
	rig_expect(r, up, "QUEUED SENT ACKED UNKNOWN ACKED DONE", 1);
	rig_expect(r, lower, "QUEUED UNKNOWN FAILED", 0);
	rig_destroy(r);
}

static void note_cut(void *context, const struct engine_reason *reason)
{
	unsigned *count = context;

	*count += strcmp(reason->code, "safe-cut") == 0;
}

/* A `safe` that its daemon's end cut off is a reason as soon as that is known. */
static void a_restart_in_a_safe_is_a_reason(void **state)
{
	struct rig *r = rig_create(1);
	uint64_t job = engine_next_id(r->e, r->now), hv, off;
	unsigned count = 0;

	hv = safe(r, HV, job, 0);
	off = safe(r, POWER, job, hv);
	rig_run(r, 100);
	rig_crash(r);
	engine_reasons(r->e, r->now, note_cut, &count);
	assert_int_equal(count, 0);
	rig_run(r, 20000);
	rig_expect(r, off, "QUEUED UNKNOWN FAILED", 0);
	assert_string_equal(r->commands[hv].state, "DONE");
	engine_reasons(r->e, r->now, note_cut, &count);
	assert_int_equal(count, 1);
	rig_destroy(r);
}

/* Its floor is no longer configured: that it cannot be asked for is written down, once. */
static void a_restart_without_its_floor_ends_a_command(void **state)
{
	struct rig *r = rig_create(1);
	struct engine_journal j = {.id = 500,
				   .parameter = "tower1.floor9.om0.hv",
				   .state = "SENT",
				   .sequence = 77,
				   .boot = 3,
				   .attempts = 2};
	const struct engine_out *o;

	assert_int_equal(engine_recover_command(r->e, &j, r->now), -ENOENT);
	assert_true(engine_next(r->e, &o));
	assert_int_equal(o->type, ENGINE_STORE);
	assert_int_equal(o->store.flags, ENGINE_STORE_URGENT);
	assert_int_equal(o->store.row.id, ROW_TRANSITION);
	assert_int_equal(o->store.row.count, 9);
	assert_int_equal(o->store.row.values[0].i, 500);
	assert_string_equal(o->store.row.arena + o->store.row.values[2].text, "UNKNOWN");
	assert_int_equal(o->store.row.values[5].i, 77);
	assert_int_equal(o->store.row.values[8].i, r->now.utc_ns);
	assert_false(engine_next(r->e, &o));
	assert_int_equal(engine_next_id(r->e, r->now), 501);
	j.ended = true;
	assert_int_equal(engine_recover_command(r->e, &j, r->now), -ENOENT);
	assert_false(engine_next(r->e, &o));
	rig_destroy(r);
}

static void a_refusal_is_told_with_its_text(void **state)
{
	struct rig *r = rig_create(1);
	struct sc_error error = {0};
	struct engine_request q = {.parameter = THRESHOLD, .value = 1e6};
	uint64_t id;

	assert_int_equal(rig_submit(r, q, &id, &error), -ERANGE);
	rig_run(r, 10);
	assert_int_equal(r->finals, 1);
	assert_int_equal(r->last_state, COMMAND_REFUSED);
	assert_string_equal(r->text, error.message);
	assert_string_equal(r->hint, error.hint);
	assert_false(r->alarm);
	rig_destroy(r);
}

/* Killed between its word and the row that says so: that the FCM refused it proves that it has left. */
static void a_restart_learns_that_a_refused_word_has_left(void **state)
{
	struct rig *r = rig_create(1);
	uint64_t id;

	r->floors[0].hv_refusal = WORD_BAD_VALUE;
	rig_set(r, HV, 1500, &id);
	r->store_us = 60000000; /* of all rows after its first */
	rig_run(r, 4);
	assert_int_equal(r->floors[0].outcome_count, 1);
	assert_string_equal(r->commands[id].states, "QUEUED");
	r->store_us = 1000;
	rig_crash(r);
	rig_run(r, 1000);
	rig_expect(r, id, "QUEUED UNKNOWN REFUSED", 0);
	assert_int_equal(r->commands[id].attempts, 1);
	rig_destroy(r);
}

/* Its word, and three questions. */
static void the_third_unanswered_question_is_an_alarm(void **state)
{
	struct rig *r = rig_create(1);
	static struct engine_out out;
	uint64_t id;

	r->floors[0].mute = true;
	rig_set(r, THRESHOLD, 12, &id);
	rig_run(r, 4 * r->config.timeout_ms - 10);
	assert_true(engine_progress(r->e, id, &out) && !out.progress.alarm);
	rig_run(r, 20);
	assert_true(engine_progress(r->e, id, &out) && out.progress.alarm);
	assert_string_equal(out.progress.text,
			    "the floor does not answer: whether it was executed is still unknown");
	rig_destroy(r);
}

/* The last progress of a command that has just been journaled. */
static void assert_journaled(struct rig *r, const char *text)
{
	rig_run(r, 3);
	assert_string_equal(r->text, text);
}

static void a_command_that_waits_says_for_which(void **state)
{
	struct rig *r = rig_create(1);
	uint64_t ramp, up;

	rig_set(r, HV, 1500, &up);
	rig_run(r, 20);
	r->send_result = -EAGAIN; /* nothing more leaves */
	rig_set(r, RAMP, 50, &ramp);
	assert_journaled(r, "journaled; to be sent");
	rig_set(r, RAMP, 60, &ramp);
	assert_journaled(r, "journaled; waits for command 2");
	after(r, THRESHOLD, 12, up);
	assert_journaled(r, "journaled; waits for command 1");
	after(r, POWER, 0, ramp); /* urgent, and waits for what it was given to wait for */
	assert_journaled(r, "journaled; waits for command 3");
	rig_destroy(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_that_are_refused_are_tried_until_the_settle_time),
		cmocka_unit_test(a_value_that_does_not_come_says_for_how_long),
		cmocka_unit_test(answers_that_come_in_another_order_are_no_time_outs),
		cmocka_unit_test(a_read_back_is_repeated_at_growing_pauses),
		cmocka_unit_test(busy_is_an_end_but_for_a_safe),
		cmocka_unit_test(what_waits_for_a_refused_one_is_cancelled),
		cmocka_unit_test(a_tripped_module_names_its_trip),
		cmocka_unit_test(a_word_is_sent_three_times_at_most),
		cmocka_unit_test(what_the_board_does_not_take_is_named),
		cmocka_unit_test(a_read_that_the_board_does_not_take_is_tried_again),
		cmocka_unit_test(a_counter_proves_an_action),
		cmocka_unit_test(a_boot_before_the_proof_leaves_an_action_unknown),
		cmocka_unit_test(a_cleared_trip_says_where_the_hv_goes),
		cmocka_unit_test(the_module_of_a_command_is_read_at_once),
		cmocka_unit_test(a_ramp_says_how_far_it_is),
		cmocka_unit_test(a_restart_makes_no_set_urgent),
		cmocka_unit_test(a_restart_in_a_safe_is_a_reason),
		cmocka_unit_test(a_restart_without_its_floor_ends_a_command),
		cmocka_unit_test(a_refusal_is_told_with_its_text),
		cmocka_unit_test(a_restart_learns_that_a_refused_word_has_left),
		cmocka_unit_test(the_third_unanswered_question_is_an_alarm),
		cmocka_unit_test(a_command_that_waits_says_for_which),
	};

	return cmocka_run_group_tests_name("engine, ends", tests, NULL, NULL);
}
