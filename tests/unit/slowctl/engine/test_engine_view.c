/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is seen of the command engine: its views, when it wants to be called next, and the reasons why slow control is
 * not well. The rig calls engine_tick() only when one is due, as the daemon does: what is due too late, every test of
 * the engine sees.
 */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/slowctl/engine/engine_rig.h"

#define HV	  "floor1.om2.hv"
#define THRESHOLD "floor1.om2.threshold"
#define SECOND_NS 1000000000ull

static struct param *get(struct rig *r, const char *name)
{
	struct param *p = NULL;

	assert_int_equal(params_find(r->params, name, &p, NULL), 0);
	return p;
}

/* The first reason with this code, and how many there are. */
struct wanted {
	const char *code;
	struct engine_reason found;
	unsigned count;
};

static void note(void *context, const struct engine_reason *reason)
{
	struct wanted *w = context;

	if (strcmp(reason->code, w->code) == 0 && w->count++ == 0) {
		w->found = *reason;
	}
}

static struct wanted reasons_of(struct rig *r, const char *code)
{
	struct wanted w = {.code = code};

	engine_reasons(r->e, r->now, note, &w);
	return w;
}

/* One reason with this code, and what it says. */
static void assert_reason(struct rig *r, const char *code, bool red, const char *object,
			  const char *text)
{
	struct wanted w = reasons_of(r, code);

	assert_int_equal(w.count, 1);
	assert_string_equal(w.found.object, object);
	assert_string_equal(w.found.text, text);
	assert_int_equal(w.found.red, red);
	assert_true(w.found.action[0]);
}

/* ------------------------------------------------------------------ views */

/* Whether a set of a floor's value would be sent; else the code of the refusal. */
static const char *taken(struct rig *r, const char *name)
{
	struct engine_request q = {.parameter = name, .value = 12};
	static struct sc_error error;
	uint64_t id;
	int result = engine_check(r->e, &q, r->now, &id, &error);

	assert_true(result == 0 || result == -EXDEV || result == -ENOLINK);
	return result == 0 ? "taken" : error.code;
}

static void a_link_is_seen_as_it_is(void **state)
{
	struct rig *r = rig_create(1);
	const struct link *l = rig_inside(r, 1);
	struct link before = *l;
	uint64_t id;

	assert_true(before.configured && before.locked && before.named_floor != 0xff);
	assert_string_equal(taken(r, "floor2.om0.threshold"), "taken");
	assert_int_equal(before.tower, 1);
	assert_int_equal(before.floor, 2);
	assert_int_equal(before.boot, RIG_FIRST_BOOT);
	assert_int_equal(before.words, 1); /* what does the FCM remember? */
	assert_int_equal(before.replies, 1);
	assert_int_equal(engine_last_reply_ns(r->e, 1), r->now.mono_ns - 7 * RIG_MS);
	rig_set(r, "floor2.om0.threshold", 12, &id);
	rig_run(r, 2);
	assert_int_equal(l->open_count, 1);
	assert_int_equal(l->flights, 2); /* and the READ behind it */
	assert_int_equal(l->next_sequence - before.next_sequence, 2);
	assert_int_equal(l->words, before.words + 2);
	rig_run(r, 20);
	assert_int_equal(l->replies, before.replies + 2);
	assert_true(l->open_count == 0 && l->flights == 0 && l->timeouts == 0 && l->strays == 0);
	engine_link(r->e, 1, true, 1, 7, r->now);
	assert_string_equal(taken(r, "floor2.om0.threshold"), "swapped");
	assert_true(l->named_tower == 1 && l->named_floor == 7);
	engine_link(r->e, 1, true, 0xff, 0xff, r->now);
	assert_true(l->locked && l->named_floor == 0xff);
	assert_string_equal(taken(r, "floor2.om0.threshold"), "not-identified");
	engine_link(r->e, 1, false, 1, 7, r->now);
	assert_false(l->locked);
	assert_string_equal(taken(r, "floor2.om0.threshold"), "not-locked");
	engine_link(r->e, 3, true, 1, 7, r->now); /* no floor is configured there */
	assert_false(rig_inside(r, 3)->configured);
	rig_destroy(r);
}

static void the_last_open_set_is_found(void **state)
{
	struct rig *r = rig_create(1);
	uint64_t first, last, other, id;

	rig_set(r, HV, 1500, &first);
	rig_set(r, HV, 1510, &last);
	rig_set(r, "floor1.om3.hv", 1500, &other);
	assert_int_equal(engine_last_set(r->e, get(r, HV)), last);
	assert_int_equal(engine_last_set(r->e, get(r, "floor1.om3.hv")), other);
	assert_int_equal(engine_last_set(r->e, get(r, THRESHOLD)), 0);
	rig_action(r, "floor1.om2.reset", &id);
	assert_int_equal(engine_last_set(r->e, get(r, "floor1.om2.reset")), 0);
	rig_run(r, 30000);
	assert_int_equal(engine_last_set(r->e, get(r, HV)), 0);
	rig_destroy(r);
}

static void a_command_is_numbered_when_the_journal_has_it(void **state)
{
	struct rig *r = rig_create(1);
	struct engine_request q = {.parameter = THRESHOLD, .value = 12, .client_id = "c"};
	static struct engine_out out;
	struct engine_command_view v;
	uint64_t id, repeat;

	r->store_us = 50000;
	rig_submit(r, q, &id, NULL);
	assert_true(engine_command(r->e, id, &v));
	assert_false(engine_progress(r->e, id, &out) || v.ended);
	assert_non_null(v.row);
	assert_int_equal(rig_submit(r, q, &repeat, NULL), 1);
	assert_int_equal(repeat, id);
	assert_string_equal(v.parameter, "tower1.floor1.om2.threshold");
	assert_true(v.new_value == 12 && isnan(v.readback));
	assert_int_equal(v.time_ns, r->now.utc_ns);
	rig_run(r, 51);
	assert_true(engine_progress(r->e, id, &out));
	assert_true(out.progress.numbered && !out.progress.final);
	assert_true(isnan(r->commands[id].old_value));
	r->store_us = 1000;
	rig_run(r, 300);
	assert_true(engine_command(r->e, id, &v));
	assert_true(v.ended && v.readback == 12 && v.state == COMMAND_DONE);
	assert_true(engine_progress(r->e, id, &out) && out.progress.final);
	assert_true(v.changed_ns > v.time_ns);
	rig_set(r, THRESHOLD, 13, &id);
	rig_run(r, 10);
	assert_true(r->commands[id].old_value == 12 && !r->commands[id].client_id[0]);
	rig_destroy(r);
}

static void count_end(void *context, const struct engine_out *out)
{
	unsigned *ends = context;

	ends[out->progress.state] += out->progress.final;
}

static void each_command_ends_once(void **state)
{
	struct rig *r = rig_create(1);
	unsigned ends[COMMAND_UNKNOWN + 1] = {0};
	uint64_t id, stop;

	r->on_progress = count_end;
	r->context = ends;
	rig_set(r, THRESHOLD, 12, &id);
	rig_set(r, THRESHOLD, 1e6, &id); /* refused at once: was never taken */
	rig_set(r, THRESHOLD, 13, &id);
	assert_int_equal(engine_open_count(r->e), 2);
	assert_int_equal(
		engine_cancel(r->e, id, &(struct engine_request){.who = "t"}, r->now, &stop, NULL),
		0);
	rig_run(r, 100);
	assert_int_equal(engine_open_count(r->e), 0);
	assert_int_equal(ends[COMMAND_DONE], 1);
	assert_int_equal(ends[COMMAND_REFUSED], 1);
	assert_int_equal(ends[COMMAND_CANCELLED], 1);
	assert_int_equal(r->finals, 3);
	rig_destroy(r);
}

/* ------------------------------------------------------------------ when */

static uint64_t due_in_ms(struct rig *r)
{
	uint64_t due = engine_next_due(r->e);

	assert_true(due != UINT64_MAX && due >= r->now.mono_ns);
	assert_int_equal((due - r->now.mono_ns) % RIG_MS, 0);
	return (due - r->now.mono_ns) / RIG_MS;
}

static void assert_nothing_due(struct rig *r)
{
	assert_int_equal(engine_next_due(r->e), UINT64_MAX);
}

static void nothing_is_due_without_work(void **state)
{
	struct rig *r = rig_create(1);
	uint64_t before = r->ticks;

	assert_nothing_due(r);
	rig_link(r, 0, false);
	rig_run(r, 10000);
	assert_nothing_due(r);
	assert_int_equal(r->ticks, before);
	rig_destroy(r);
}

static void the_time_out_of_a_word_is_due(void **state)
{
	struct rig *r = rig_create(1);
	uint64_t id, behind, ticks;

	r->floors[0].deaf = true;
	rig_set(r, THRESHOLD, 12, &id);
	assert_nothing_due(r); /* the journal's answer comes by itself */
	ticks = r->ticks;
	rig_run(r, 1);
	assert_int_equal(due_in_ms(r), r->config.timeout_ms);
	rig_set(r, THRESHOLD, 13, &behind); /* waits for the first one */
	rig_run(r, 100);
	assert_int_equal(due_in_ms(r), r->config.timeout_ms - 100);
	assert_int_equal(r->ticks, ticks);
	rig_run(r, 10000);
	assert_true(r->ticks - ticks < 30); /* time-outs and questions, not each moment */
	assert_true(due_in_ms(r) <= ASK_AGAIN / RIG_MS);
	rig_destroy(r);
}

static void an_urgent_row_is_due_after_100_ms(void **state)
{
	struct rig *r = rig_create(1);
	uint64_t id;

	r->store_hangs = true;
	rig_set(r, HV, 0, &id);
	assert_int_equal(due_in_ms(r), 100);
	rig_run(r, 40);
	assert_int_equal(due_in_ms(r), 60);
	rig_destroy(r);
}

static void a_read_back_is_due_after_its_pause(void **state)
{
	struct rig *r = rig_create(1);
	uint64_t id, ticks;

	r->floors[0].slow = 20;
	rig_set(r, HV, 1500, &id);
	rig_run(r, 2000);
	assert_string_equal(r->commands[id].state, "ACKED");
	ticks = r->ticks;
	rig_run(r, 2000);
	assert_in_range(r->ticks - ticks, 8, 12); /* every 200 ms */
	rig_destroy(r);
}

static void what_waits_for_a_dark_link_is_due_when_it_has_been_away_too_long(void **state)
{
	struct rig *r = rig_create(1);
	uint64_t id;

	rig_set(r, THRESHOLD, 12, &id);
	rig_run(r, 1);
	rig_run(r, 100);
	r->store_us = 50000;
	rig_set(r, THRESHOLD, 13, &id);
	rig_link(r, 0, false);
	assert_int_equal(due_in_ms(r), 2001);
	rig_run(r, 1000);
	assert_int_equal(due_in_ms(r), 1001);
	rig_run(r, 1002);
	assert_string_equal(r->commands[id].states, "QUEUED");
	rig_run(r, 60); /* its end is written */
	rig_expect(r, id, "QUEUED FAILED", 0);
	assert_nothing_due(r);
	rig_destroy(r);
}

static void the_question_for_sequences_is_due(void **state)
{
	struct rig *r = rig_create(1);
	uint64_t id;

	rig_link(r, 0, false);
	r->floors[0].deaf = true;
	rig_link(r, 0, true);
	assert_int_equal(due_in_ms(r), r->config.timeout_ms);
	rig_run(r, 250);
	assert_int_equal(due_in_ms(r), r->config.timeout_ms - 250);
	rig_set(r, THRESHOLD, 12, &id);
	rig_run(r, 10);
	assert_int_equal(due_in_ms(r), r->config.timeout_ms - 260);
	rig_run(r, 1700); /* asked once a second by now; the command waits for 2 s and no more */
	assert_int_equal(due_in_ms(r), 2001 - 1960);
	rig_destroy(r);
}

static void polls_are_due(void **state)
{
	struct rig *r = rig_create(1);
	uint64_t ticks, due;

	r->config.poll = true;
	rig_crash(r);
	rig_run(r, 60000);
	ticks = r->ticks;
	rig_run(r, 60000);
	assert_true(r->ticks - ticks < 2 * r->floors[0].reads); /* none for nothing */
	for (unsigned n = 0; n < 10000; n++) {
		due = engine_next_due(r->e);
		if (rig_inside(r, 0)->polls_flying == 0 && due > r->now.mono_ns + RIG_MS) {
			break;
		}
		rig_run(r, 1);
	}
	assert_true(due < r->now.mono_ns + 2 * SECOND_NS);
	r->floors[0].deaf = r->floors[1].deaf = true;
	rig_run(r, 10000);
	assert_true(engine_next_due(r->e) <= r->now.mono_ns + SECOND_NS); /* asked once a second */
	ticks = r->ticks;
	rig_run(r, 10000);
	assert_in_range(r->ticks - ticks, 20, 60);
	rig_destroy(r);
}

/* An end that the journal does not take is reported without it, once. */
static void a_late_end_is_due(void **state)
{
	struct rig *r = rig_create(1);
	static struct engine_out out;
	struct engine_command_view v = {.ended = false};
	uint64_t id;

	rig_set(r, THRESHOLD, 12, &id);
	rig_run(r, 2);
	r->store_hangs = true;
	for (unsigned n = 0; n < 100 && !v.ended; n++) {
		rig_run(r, 1);
		assert_true(engine_command(r->e, id, &v));
	}
	assert_true(v.ended && !engine_progress(r->e, id, &out));
	assert_in_range(engine_next_due(r->e) - r->now.mono_ns, END_WAIT - RIG_MS, END_WAIT);
	rig_run(r, (unsigned)(END_WAIT / RIG_MS) - 2);
	assert_int_equal(r->finals, 0);
	rig_run(r, 4);
	assert_int_equal(r->finals, 1);
	assert_non_null(strstr(r->text, "(the journal has not taken this)"));
	assert_true(engine_progress(r->e, id, &out)); /* whoever asks again reads the same */
	assert_non_null(strstr(out.progress.text, "(the journal has not taken this)"));
	assert_nothing_due(r);
	r->store_hangs = false;
	rig_run(r, 100);
	assert_int_equal(r->finals, 1);
	assert_true(engine_progress(r->e, id, &out));
	assert_null(strstr(out.progress.text, "(the journal has not taken this)"));
	rig_expect(r, id, "QUEUED SENT ACKED DONE", 1);
	rig_destroy(r);
}

static void a_late_refusal_is_due(void **state)
{
	struct rig *r = rig_create(1);
	uint64_t id;

	r->store_hangs = true;
	assert_int_equal(rig_set(r, THRESHOLD, 1e6, &id), -ERANGE);
	assert_int_equal(due_in_ms(r), (unsigned)(END_WAIT / RIG_MS));
	rig_run(r, (unsigned)(END_WAIT / RIG_MS));
	assert_int_equal(r->finals, 1);
	assert_nothing_due(r);
	rig_destroy(r);
}

static void a_refused_reservation_is_due_again(void **state)
{
	struct rig *r = rig_create(1);

	r->store_result = -ENOSPC;
	rig_crash(r);
	rig_link(r, 1, false);
	rig_run(r, 10);
	assert_int_equal(due_in_ms(r), 991); /* a second after the answer */
	r->store_result = 0;
	rig_run(r, 1000);
	assert_nothing_due(r);
	r->store_hangs = true;
	rig_crash(r);
	rig_run(r, 50);
	assert_int_equal(due_in_ms(r), 50); /* reads go without it after 100 ms */
	rig_destroy(r);
}

/* ------------------------------------------------------------------ reasons */

static void a_link_at_another_floor_takes_no_sets(void **state)
{
	struct rig *r = rig_create(1);
	const char *name = "floor1.om2.threshold";

	assert_string_equal(taken(r, name), "taken");
	engine_link(r->e, 0, true, 1, 2, r->now);
	assert_string_equal(taken(r, name), "swapped");
	engine_link(r->e, 0, true, 2, 1, r->now);
	assert_string_equal(taken(r, name), "swapped");
	engine_link(r->e, 0, true, 0xff, 0xff, r->now);
	assert_string_equal(taken(r, name), "not-identified");
	engine_link(r->e, 0, false, 1, 2, r->now);
	assert_string_equal(taken(r, name), "not-locked");
	rig_destroy(r);
}

static void a_mute_floor_is_a_reason_after_5_s(void **state)
{
	struct rig *r = rig_create(1);
	struct param *p;
	uint64_t id, last;

	rig_run(r, 10000);
	p = get(r, THRESHOLD);
	r->floors[0].mute = true;
	rig_set(r, THRESHOLD, 12, &id); /* after ten seconds in which nothing was asked */
	rig_run(r, 500);
	assert_true(isnan(engine_mute_s(r->e, p, r->now))); /* one word is unanswered */
	assert_int_equal(engine_reasons(r->e, r->now, NULL, NULL), 0);
	rig_run(r, 3000);
	assert_reason(r, "floor-mute", true, "tower1.floor1",
		      "the FCM of tower 1 floor 1 does not answer slow control, though link 0 is "
		      "locked");
	assert_true(engine_mute_s(r->e, p, r->now) > 13);
	assert_int_equal(reasons_of(r, "stale").count, 0); /* said once */
	rig_link(r, 0, false);
	assert_int_equal(reasons_of(r, "floor-mute").count, 0);
	rig_link(r, 0, true);
	last = r->now.mono_ns;
	rig_run(r, 4900); /* it may be booting */
	assert_true(isnan(engine_mute_s(r->e, p, r->now)));
	rig_run(r, 1000);
	assert_true(engine_mute_s(r->e, p, r->now) == (double)(r->now.mono_ns - last) / 1e9);
	assert_true(isnan(engine_mute_s(r->e, get(r, "clock.state"), r->now)));
	rig_destroy(r);
}

static void sequences_that_run_out_are_a_reason(void **state)
{
	struct rig *r = rig_create(1);
	const uint32_t tenth = UINT32_MAX / 10;

	engine_recover_sequence(r->e, 1, 2, UINT32_MAX - tenth - 1);
	assert_int_equal(reasons_of(r, "sequences").count, 0);
	engine_recover_sequence(r->e, 1, 2, UINT32_MAX - tenth);
	assert_reason(r, "sequences", false, "tower1.floor2",
		      "tower 1 floor 2: nine tenths of all sequence numbers are used up");
	engine_recover_sequence(r->e, 1, 2, UINT32_MAX - 1);
	assert_int_equal(rig_sequences_left(r, 1), 1);
	assert_false(reasons_of(r, "sequences").found.red);
	engine_recover_sequence(r->e, 1, 2, UINT32_MAX);
	assert_int_equal(rig_sequences_left(r, 1), 0);
	assert_true(reasons_of(r, "sequences").found.red);
	rig_destroy(r);
}

/* A value at a time from now. */
static void put(struct rig *r, const char *name, double value, unsigned after_ms)
{
	rig_run(r, after_ms);
	param_put(get(r, name), value, r->now.utc_ns, r->now.mono_ns);
}

static void a_value_beyond_a_limit_is_a_reason_that_names_it(void **state)
{
#define TEMPERATURE "tower1.floor1.fcm.temperature"
	static const struct {
		double value;
		bool red;
		const char *text; /* NULL: no reason */
	} steps[] = {
		{36, false, "is 36.000 degC, above 35.000"},
		{34.5, false,
		 "is 34.500 degC, not yet well inside 35.000; at worst 36.000, above 35.000"},
		{35, false,
		 "is 35.000 degC, not yet well inside 35.000; at worst 36.000, above 35.000"},
		{33.9, false, NULL},
		{41, true, "is 41.000 degC, above 40.000"},
		{39.5, true,
		 "is 39.500 degC, not yet well inside 40.000; at worst 41.000, above 40.000"},
		{38, false, "is 38.000 degC, above 35.000; at worst 41.000, above 40.000"},
		{20, false, NULL},
		{-1, false, "is -1.000 degC, below 0.000"},
		{0.5, false,
		 "is 0.500 degC, not yet well inside 0.000; at worst -1.000, below 0.000"},
		{-6, true, "is -6.000 degC, below -5.000"},
		{-1, false, "is -1.000 degC, below 0.000; at worst -6.000, below -5.000"},
		{36, false, "is 36.000 degC, above 35.000; at worst -6.000, below -5.000"},
		{20, false, NULL},
		{-6, true, "is -6.000 degC, below -5.000"},
	};
	struct rig *r = rig_create(1);
	char text[320];

	for (size_t n = 0; n < sizeof(steps) / sizeof(steps[0]); n++) {
		put(r, TEMPERATURE, steps[n].value, 1);
		put(r, TEMPERATURE, steps[n].value, 2000); /* the dictionary's delay */
		if (!steps[n].text) {
			assert_int_equal(reasons_of(r, "limit").count, 0);
			continue;
		}
		snprintf(text, sizeof(text), TEMPERATURE " %s", steps[n].text);
		assert_reason(r, "limit", steps[n].red, TEMPERATURE, text);
		assert_false(reasons_of(r, "limit").found.latch);
		assert_true(reasons_of(r, "limit").found.unknown_s == 0);
	}
	rig_run(r, 6000);
	assert_reason(r, "limit", true, TEMPERATURE,
		      TEMPERATURE " was -6.000 degC, below -5.000 (not read for 6 s)");
	assert_true(reasons_of(r, "limit").found.unknown_s == 6);
	rig_destroy(r);
}

static void a_state_beyond_its_limit_is_told_by_what_it_means(void **state)
{
	struct rig *r = rig_create(1);
	struct wanted w;
	char text[320];

	put(r, "floor1.om1.trip", 1, 0);
	snprintf(text, sizeof(text), "tower1.floor1.om1.trip is on: %s",
		 get(r, "floor1.om1.trip")->kind->description);
	w = reasons_of(r, "limit");
	assert_int_equal(w.count, 1);
	assert_string_equal(w.found.text, text);
	assert_string_equal(w.found.action, get(r, "floor1.om1.trip")->kind->on_alarm);
	rig_destroy(r);
}

static void the_oldest_of_the_shores_values_is_named(void **state)
{
	struct rig *r = rig_create(1);

	engine_shore(r->e, get(r, "clock.uncertainty"), 10, r->now);
	put(r, "floor1.fcm.supply", 300, 0); /* without polling a floor's are no reason */
	rig_run(r, 3000);
	engine_shore(r->e, get(r, "clock.state"), 2, r->now);
	engine_shore(r->e, get(r, "clock.source"), 1, r->now);
	rig_run(r, 3000);
	assert_reason(r, "stale", false, "shore", "1 value is stale; clock.uncertainty is 6 s old");
	rig_run(r, 3000);
	assert_reason(r, "stale", false, "shore",
		      "3 values are stale; clock.uncertainty is 9 s old");
	engine_shore(r->e, get(r, "clock.uncertainty"), 10, r->now);
	assert_reason(r, "stale", false, "shore", "2 values are stale; clock.state is 6 s old");
	rig_destroy(r);
}

static void values_that_never_come_are_a_reason_after_20_s(void **state)
{
	struct rig *r = rig_create(1);

	r->config.poll = true;
	r->floors[0].no_rate = true;
	rig_crash(r);
	rig_run(r, 19500);
	assert_int_equal(engine_reasons(r->e, r->now, NULL, NULL), 0);
	rig_run(r, 1000);
	assert_reason(r, "stale", false, "tower1.floor1",
		      "6 values have never come: tower1.floor1.om0.rate and others");
	for (unsigned m = 1; m < 6; m++) {
		char name[40];

		snprintf(name, sizeof(name), "floor1.om%u.rate", m);
		put(r, name, 1000, 0);
	}
	assert_reason(r, "stale", false, "tower1.floor1",
		      "1 value has never come: tower1.floor1.om0.rate");
	rig_destroy(r);
}

/* ------------------------------------------------------------------ commands whose end is not known */

/* As the journal has it, of a daemon before us. */
static void recover(struct rig *r, uint64_t id, const char *parameter, const char *state,
		    uint64_t job)
{
	struct engine_journal j = {
		.id = id, .ended = true, .undone = true, .job = job, .cut = job != 0};

	snprintf(j.parameter, sizeof(j.parameter), "%s", parameter);
	snprintf(j.state, sizeof(j.state), "%s", state);
	snprintf(j.detail, sizeof(j.detail), "detail of %u", (unsigned)id);
	assert_int_equal(engine_recover_command(r->e, &j, r->now), 0);
}

/* A daemon's end cuts commands of a `safe` off; it cuts no other's, and an ended one of a `safe` was not cut off. */
static void only_a_cut_command_of_a_safe_is_a_cut_safe(void **state)
{
	struct rig *r = rig_create(1);
	struct engine_journal j = {.id = 52, .ended = true, .undone = true, .cut = true};

	snprintf(j.parameter, sizeof(j.parameter), "tower1.floor1.om0.hv");
	snprintf(j.state, sizeof(j.state), "FAILED");
	assert_int_equal(engine_recover_command(r->e, &j, r->now), 0);
	assert_int_equal(reasons_of(r, "safe-cut").count, 0);
	j.id = 53;
	j.cut = false;
	j.job = 50;
	assert_int_equal(engine_recover_command(r->e, &j, r->now), 0);
	assert_int_equal(reasons_of(r, "safe-cut").count, 0);
	j.cut = true;
	j.id = 54;
	assert_int_equal(engine_recover_command(r->e, &j, r->now), 0);
	assert_int_equal(reasons_of(r, "safe-cut").count, 1);
	rig_destroy(r);
}

static void the_newest_unknown_command_of_a_parameter_is_told(void **state)
{
	struct rig *r = rig_create(1);
	uint64_t early, id;

	r->store_us = 500000;
	rig_set(r, THRESHOLD, 12, &early);
	recover(r, 101, "tower1.floor1.om2.threshold", "UNKNOWN", 0);
	recover(r, 100, "tower1.floor1.om2.threshold", "UNKNOWN", 0);
	recover(r, 99, "tower1.floor1.om2.threshold", "FAILED", 0); /* its end is known */
	assert_reason(r, "command-unknown", true, "tower1.floor1.om2.threshold",
		      "command 101: detail of 101");
	rig_run(r, 2000);
	assert_string_equal(r->commands[early].state, "DONE");
	assert_int_equal(reasons_of(r, "command-unknown").count, 1); /* it was before that */
	r->store_us = 1000;
	rig_set(r, THRESHOLD, 13, &id);
	assert_true(id > 101);
	rig_run(r, 1000);
	assert_int_equal(reasons_of(r, "command-unknown").count, 0);
	recover(r, 100, "tower1.floor1.om2.threshold", "UNKNOWN", 0); /* it is made good */
	recover(r, 100, "tower1.floor1.om2.threshold", "FAILED", 100);
	assert_int_equal(engine_reasons(r->e, r->now, NULL, NULL), 0);
	rig_destroy(r);
}

static void a_safe_that_was_cut_off_is_a_reason_until_it_is_made_good(void **state)
{
	struct rig *r = rig_create(1);
	uint64_t id;

	recover(r, 52, "tower1.floor1.om0.hv", "FAILED", 50);
	recover(r, 41, "tower1.floor1.om1.hv", "UNKNOWN", 40);
	recover(r, 51, "tower1.floor2.om1.hv", "CANCELLED", 50);
	recover(r, 42, "tower1.floor1.om0.hv", "FAILED", 40); /* by a later one */
	assert_reason(r, "safe-cut", true, "safe",
		      "safe 40 was cut off by the daemon's end: 3 of its commands were not done, "
		      "tower1.floor1.om1.hv among them");
	assert_int_equal(reasons_of(r, "command-unknown").count, 1);
	rig_set(r, "floor1.om1.hv", 0, &id);
	rig_run(r, 20000);
	assert_string_equal(r->commands[id].state, "DONE");
	assert_reason(r, "safe-cut", true, "safe",
		      "safe 50 was cut off by the daemon's end: 2 of its commands were not done, "
		      "tower1.floor2.om1.hv among them");
	assert_int_equal(reasons_of(r, "command-unknown").count, 0);
	rig_set(r, "floor1.om0.hv", 0, &id);
	rig_set(r, "floor2.om1.hv", 0, &id);
	rig_run(r, 20000);
	assert_int_equal(engine_reasons(r->e, r->now, NULL, NULL), 0);
	rig_destroy(r);
}

/* Changes that come at once: eight are kept, then one a `history`. */
static void eight_changes_in_a_row_are_kept(void **state)
{
	struct rig *r = rig_create(1);

	for (unsigned n = 0; n < 20; n++) {
		engine_shore(r->e, get(r, "link0.rx_power"), n % 2 ? 100 : 200, r->now);
	}
	rig_run(r, 10);
	assert_int_equal(r->samples, 8);
	engine_shore(r->e, get(r, "link0.rx_power"), NAN, r->now); /* bad: no sample */
	engine_shore(r->e, get(r, "store.queued"), 5, r->now);	   /* the dictionary keeps none */
	rig_run(r, 10);
	assert_int_equal(r->samples, 8);
	rig_destroy(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_link_is_seen_as_it_is),
		cmocka_unit_test(the_last_open_set_is_found),
		cmocka_unit_test(a_command_is_numbered_when_the_journal_has_it),
		cmocka_unit_test(each_command_ends_once),
		cmocka_unit_test(nothing_is_due_without_work),
		cmocka_unit_test(the_time_out_of_a_word_is_due),
		cmocka_unit_test(an_urgent_row_is_due_after_100_ms),
		cmocka_unit_test(a_read_back_is_due_after_its_pause),
		cmocka_unit_test(what_waits_for_a_dark_link_is_due_when_it_has_been_away_too_long),
		cmocka_unit_test(the_question_for_sequences_is_due),
		cmocka_unit_test(polls_are_due),
		cmocka_unit_test(a_late_end_is_due),
		cmocka_unit_test(a_late_refusal_is_due),
		cmocka_unit_test(a_refused_reservation_is_due_again),
		cmocka_unit_test(a_link_at_another_floor_takes_no_sets),
		cmocka_unit_test(a_mute_floor_is_a_reason_after_5_s),
		cmocka_unit_test(sequences_that_run_out_are_a_reason),
		cmocka_unit_test(a_value_beyond_a_limit_is_a_reason_that_names_it),
		cmocka_unit_test(a_state_beyond_its_limit_is_told_by_what_it_means),
		cmocka_unit_test(the_oldest_of_the_shores_values_is_named),
		cmocka_unit_test(values_that_never_come_are_a_reason_after_20_s),
		cmocka_unit_test(only_a_cut_command_of_a_safe_is_a_cut_safe),
		cmocka_unit_test(the_newest_unknown_command_of_a_parameter_is_told),
		cmocka_unit_test(a_safe_that_was_cut_off_is_a_reason_until_it_is_made_good),
		cmocka_unit_test(eight_changes_in_a_row_are_kept),
	};

	return cmocka_run_group_tests_name("engine, as it is seen", tests, NULL, NULL);
}
