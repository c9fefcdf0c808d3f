/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Words of the command engine: which values are polled, how often and in which places; what a reply, a boot, a word that
 * the board did not take and a link that is back mean.
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
#define THRESHOLD "floor1.om2.threshold"

static struct param *get(struct rig *r, const char *name)
{
	struct param *p = NULL;

	assert_int_equal(params_find(r->params, name, &p, NULL), 0);
	return p;
}

static struct rig *polling_rig(void)
{
	struct rig *r = rig_create(1);

	r->power_unknown = r->settings_unknown = true; /* what is known has been polled */
	r->config.poll = true;
	rig_crash(r);
	return r;
}

/* ------------------------------------------------------------------ polling */

static bool is_polled(const struct param *p)
{
	return p->kind->source == PARAM_POLLED && p->kind->access != PARAM_ACTION &&
	       p->kind->poll_s > 0;
}

static bool has_own_setting(const struct param *p)
{
	return p->kind->access == PARAM_RW && p->kind->reg != p->kind->readback_reg;
}

static void every_polled_value_comes_at_its_period(void **state)
{
	struct rig *r = polling_rig();
	double reads = 0;
	uint64_t before;

	rig_run(r, 61000);
	before = r->floors[0].reads;
	rig_run(r, 60000);
	for (unsigned i = 0; i < params_count(r->params); i++) {
		const struct param *p = params_at(r->params, i);

		if (p->floor == 1 && is_polled(p)) {
			reads += 60 / p->kind->poll_s * (1 + has_own_setting(p));
		}
		if (p->floor && is_polled(p)) {
			assert_int_equal(param_quality(p, r->now.mono_ns), PARAM_GOOD);
			assert_int_equal(p->has_setpoint, p->kind->access == PARAM_RW);
			assert_true(param_age_s(p, r->now.mono_ns) <= p->kind->poll_s + 0.1);
		} else {
			assert_false(p->has_value);
		}
	}
	assert_in_range(r->floors[0].reads - before, reads * 0.95, reads * 1.05);
	rig_destroy(r);
}

/* A job's roll-back asks the history what was set before. */
static void a_set_value_is_in_the_history_soon(void **state)
{
	struct rig *r = polling_rig();
	const struct param *p = get(r, HV);
	unsigned waits = 0;

	for (unsigned n = 0; n < 3000 && !p->has_setpoint; n++) {
		rig_run(r, 1);
	}
	assert_true(p->has_setpoint);
	for (; waits < 5000 && !(p->sampled && p->sampled_setpoint == p->setpoint); waits++) {
		rig_run(r, 1);
	}
	assert_in_range(waits, 0, 500); /* ms, where polling the value again takes 5 s */
	rig_destroy(r);
}

static void polls_take_four_places(void **state)
{
	struct rig *r = polling_rig();
	unsigned most = 0;

	r->delay_us = 50000;
	for (unsigned n = 0; n < 5000; n++) {
		unsigned polls = rig_inside(r, 0)->polls_flying;

		most = polls > most ? polls : most;
		rig_run(r, 1);
	}
	assert_int_equal(most, POLL_SLOTS);
	rig_destroy(r);
}

static void no_poll_leaves_when_commands_take_all_places(void **state)
{
	struct rig *r = polling_rig();
	char name[40];
	uint64_t id, reads;

	rig_run(r, 2000);
	r->floors[0].mute = true;
	for (unsigned n = 0; n < 8; n++) { /* actions: no READ goes behind them */
		snprintf(name, sizeof(name), "floor1.om%u.%s", n % 6,
			 n < 6 ? "reset" : "clear_trip");
		rig_action(r, name, &id);
	}
	rig_run(r, 5);
	assert_int_equal(rig_inside(r, 0)->flights, 8);
	rig_run(r, 15);
	reads = r->floors[0].reads;
	rig_run(r, 270);
	assert_int_equal(rig_inside(r, 0)->flights, 8);
	assert_int_equal(r->floors[0].reads, reads);
	rig_destroy(r);
}

static void a_poll_that_the_board_did_not_take_is_tried_again_soon(void **state)
{
	struct rig *r = polling_rig();
	uint64_t failures;

	rig_run(r, 10000);
	assert_int_equal(rig_inside(r, 0)->send_failures, 0);
	r->send_result = -EAGAIN;
	rig_run(r, 4000);
	failures = rig_inside(r, 0)->send_failures;
	assert_in_range(failures, 20, 4 * 81); /* each 50 ms, not each moment */
	assert_int_equal(rig_inside(r, 0)->polls_flying, 0);
	assert_int_equal(rig_inside(r, 0)->timeouts, 0);
	r->send_result = 0;
	rig_run(r, 200);
	assert_true(param_age_s(get(r, "floor1.om1.rate"), r->now.mono_ns) < 0.2);
	rig_run(r, 10000);
	assert_int_equal(rig_inside(r, 0)->send_failures, failures);
	rig_destroy(r);
}

static void a_mute_floor_is_asked_once_a_second(void **state)
{
	struct rig *r = polling_rig();
	uint64_t reads;

	r->floors[0].mute = true;
	rig_run(r, 10000);
	assert_int_equal(rig_inside(r, 0)->polls_flying, 1);
	reads = r->floors[0].reads;
	rig_run(r, 10000);
	assert_in_range(r->floors[0].reads - reads, 9, 11);
	assert_true(rig_inside(r, 0)->timeouts >= 14);
	assert_int_equal(rig_inside(r, 1)->timeouts, 0);
	rig_destroy(r);
}

/* What it was asked in vain is due at once when it answers again, not a period later: it would be stale by then. */
static void a_floor_that_answers_again_is_asked_all_it_missed(void **state)
{
	struct rig *r = polling_rig();
	char name[32];

	rig_run(r, 10000);
	r->floors[0].mute = true;
	rig_run(r, 80000);
	r->floors[0].mute = false;
	rig_run(r, 4000);
	for (unsigned om = 0; om < PARAM_OM_COUNT; om++) {
		snprintf(name, sizeof(name), "floor1.om%u.trips", om);
		assert_true(param_age_s(get(r, name), r->now.mono_ns) < 4);
	}
	rig_destroy(r);
}

/* At the end of all sequences, too: QUERY and read-back have the last 1024 of them. */
static void polling_leaves_the_last_sequences_to_commands(void **state)
{
	struct rig *r = polling_rig();
	uint32_t left;
	uint64_t id;

	rig_run(r, 1000);
	r->floors[0].outcome_count = 0;
	engine_recover_sequence(r->e, 1, 1, UINT32_MAX - 1100);
	rig_run(r, 10000);
	assert_int_equal(rig_sequences_left(r, 0), 1024);
	assert_int_equal(rig_set(r, "floor1.hydrophone0.gain", 20, &id), 0);
	rig_run(r, 100);
	assert_string_equal(r->commands[id].states, "QUEUED SENT REFUSED"); /* no hydrophones */
	assert_int_equal(rig_sequences_left(r, 0), 1022);
	r->floors[0].mute = true;
	assert_int_equal(rig_set(r, "floor1.hydrophone0.gain", 21, &id), 0);
	rig_run(r, 400);
	assert_int_equal(rig_inside(r, 0)->queries, 1);
	left = rig_sequences_left(r, 0);
	rig_link(r, 0, false);
	rig_link(r, 0, true);
	assert_int_equal(rig_sequences_left(r, 0), left - 1); /* what does the FCM remember? */
	rig_destroy(r);
}

static void telemetry_is_of_its_own_floor(void **state)
{
	static const struct {
		const char *name;
		double value;
	} values[] = {
		{"temperature", -1.5}, {"humidity", 45}, {"supply", 300.5}, {"current", 1.25},
		{"heading", 90.5},     {"pitch", -2},	 {"roll", 3},	    {"boot_count", 7},
		{"uptime", 100},       {"executed", 12}, {"rejected", 2},   {"rx_power", 250},
		{"power_mask", 0xff},
	};
	struct rig *r = rig_create(1);
	struct tdm_telemetry t = {.boot_count = 7,
				  .uptime_s = 100,
				  .temperature_mc = -1500,
				  .humidity_ppm = 450000,
				  .supply_mv = 300500,
				  .current_ma = 1250,
				  .rx_power_nw = 250000,
				  .heading_mdeg = 90500,
				  .pitch_mdeg = -2000,
				  .roll_mdeg = 3000,
				  .power_mask = 0xff,
				  .executed = 12,
				  .rejected = 2};
	char name[48];

	rig_link(r, 1, false);
	engine_telemetry(r->e, 1, &t, r->now);
	engine_telemetry(r->e, PARAM_LINKS, &t, r->now);
	assert_false(get(r, "floor1.fcm.temperature")->has_value);
	engine_telemetry(r->e, 0, &t, r->now);
	for (size_t n = 0; n < sizeof(values) / sizeof(values[0]); n++) {
		snprintf(name, sizeof(name), "floor1.fcm.%s", values[n].name);
		assert_true(get(r, name)->has_value && get(r, name)->value == values[n].value);
		snprintf(name, sizeof(name), "floor2.fcm.%s", values[n].name);
		assert_false(get(r, name)->has_value);
	}
	rig_destroy(r);
}

/* ------------------------------------------------------------------ replies */

static void reply(struct rig *r, struct word w)
{
	engine_reply(r->e, 0, &w, r->now);
	rig_drain(r);
}

/* The count is 32 bits wide, a reply has the low half: it moves forward only. */
static void the_boot_count_of_a_reply_moves_forward(void **state)
{
	struct rig *r = rig_create(1);
	struct word w = {.op = WORD_READ | WORD_REPLY, .sequence = 99999};

	engine_boot(r->e, 0, 0x1ffff, r->now);
	assert_int_equal(rig_inside(r, 0)->boots, 1);
	w.boot = 0xfffe; /* late */
	reply(r, w);
	w.boot = 0xffff;
	reply(r, w);
	w.boot = 0x7fff; /* half the range on, or as far back */
	reply(r, w);
	assert_int_equal(rig_inside(r, 0)->boot, 0x1ffff);
	assert_int_equal(rig_inside(r, 0)->boots, 1);
	w.boot = 0;
	reply(r, w);
	assert_int_equal(rig_inside(r, 0)->boot, 0x20000);
	assert_int_equal(rig_inside(r, 0)->boots, 2);
	engine_boot(r->e, 0, 0x30000, r->now); /* the high half was not known: no boot */
	assert_int_equal(rig_inside(r, 0)->boot, 0x30000);
	assert_int_equal(rig_inside(r, 0)->boots, 2);
	engine_boot(r->e, 0, 0x30001, r->now);
	assert_int_equal(rig_inside(r, 0)->boots, 3);
	engine_boot(r->e, PARAM_LINKS, 5, r->now);
	engine_link(r->e, PARAM_LINKS, false, 1, 1, r->now);
	engine_reply(r->e, PARAM_LINKS, &w, r->now);
	assert_int_equal(rig_inside(r, 0)->boot, 0x30001);
	assert_true(rig_inside(r, 0)->locked);
	rig_link(r, 0, false);
	engine_boot(r->e, 0, 0x30009, r->now);
	assert_int_equal(rig_inside(r, 0)->boot, 0x30001);
	rig_destroy(r);
}

/* An FCM that has booted holds other set values; its neighbour does not. */
static void a_boot_forgets_the_set_values_of_its_floor(void **state)
{
	struct rig *r = polling_rig();

	rig_run(r, 31000);
	engine_boot(r->e, 0, RIG_FIRST_BOOT + 1, r->now);
	for (unsigned i = 0; i < params_count(r->params); i++) {
		const struct param *p = params_at(r->params, i);

		assert_int_equal(p->has_setpoint,
				 p->floor == 2 && is_polled(p) && p->kind->access == PARAM_RW);
	}
	r->floors[0].boot++;
	rig_run(r, 200); /* and asks for them at once */
	assert_true(get(r, HV)->has_setpoint && get(r, THRESHOLD)->has_setpoint);
	assert_true(get(r, "floor1.hydrophone1.gain")->has_setpoint);
	rig_destroy(r);
}

/* A read that was answered before a boot says nothing of what is set after it. */
static void a_late_answer_of_before_the_boot_is_no_set_value(void **state)
{
	struct rig *r = polling_rig();

	rig_run(r, 31000);
	r->delay_us = 100000;
	rig_run(r, 10150); /* words are on their way both ways */
	assert_true(rig_inside(r, 0)->polls_flying > 0);
	engine_boot(r->e, 0, RIG_FIRST_BOOT + 1, r->now);
	rig_run(r, 5000); /* the floor answers as in its boot before */
	assert_true(rig_inside(r, 0)->polls_flying > 0 || rig_inside(r, 0)->replies > 0);
	for (unsigned i = 0; i < params_count(r->params); i++) {
		const struct param *p = params_at(r->params, i);

		assert_false(p->floor == 1 && p->has_setpoint);
	}
	assert_int_equal(param_quality(get(r, HV), r->now.mono_ns), PARAM_GOOD);
	rig_destroy(r);
}

static void each_stray_is_counted_once_and_each_question(void **state)
{
	struct rig *r = rig_create(1);
	uint64_t id;
	struct word w = {.op = WORD_WRITE | WORD_REPLY,
			 .module = 2,
			 .reg = REG_OM_THRESHOLD,
			 .value = 12,
			 .boot = RIG_FIRST_BOOT};

	rig_set(r, THRESHOLD, 12, &id);
	rig_run(r, 20);
	rig_expect(r, id, "QUEUED SENT ACKED DONE", 1);
	assert_int_equal(rig_inside(r, 0)->strays, 0);
	w.sequence = r->commands[id].sequence;
	reply(r, w); /* doubled: it has ended */
	assert_int_equal(rig_inside(r, 0)->strays, 1);
	assert_int_equal(rig_inside(r, 0)->queries, 0);
	r->floors[0].mute = true;
	rig_set(r, THRESHOLD, 13, &id);
	rig_run(r, 320); /* its time-out, and QUERY */
	assert_int_equal(rig_inside(r, 0)->queries, 1);
	assert_int_equal(rig_inside(r, 0)->timeouts, 1);
	w.sequence = r->commands[id].sequence;
	w.status = WORD_DUPLICATE;
	reply(r, w); /* that it was executed is being asked for already */
	assert_int_equal(rig_inside(r, 0)->strays, 2);
	assert_int_equal(rig_inside(r, 0)->duplicates, 0);
	w.status = WORD_OK;
	w.value = 13;
	reply(r, w); /* its own answer, late: that is proof */
	assert_int_equal(rig_inside(r, 0)->strays, 2);
	r->floors[0].mute = false;
	rig_run(r, 100);
	rig_expect(r, id, "QUEUED SENT UNKNOWN ACKED DONE", 1);
	assert_int_equal(rig_inside(r, 0)->queries, 1);
	assert_int_equal(rig_inside(r, 0)->flights, 0);
	rig_destroy(r);
}

/* A completion is of the word, once; that of the READ behind it says nothing. */
static void a_completion_counts_once(void **state)
{
	struct rig *r = rig_create(1);
	const struct engine_out *o;
	const struct engine_request q = {.parameter = THRESHOLD, .value = 12, .who = "t"};
	uint64_t cookies[2] = {0}, row = 0, id;
	unsigned words = 0, rows = 0;

	assert_int_equal(engine_submit(r->e, &q, r->now, &id, NULL), 0);
	while (engine_next(r->e, &o)) {
		row = o->cookie;
	}
	engine_stored(r->e, row, 0, r->now);
	while (engine_next(r->e, &o)) {
		if (o->type == ENGINE_SEND) {
			assert_true(words < 2);
			assert_int_equal(o->send.more, words == 0); /* they leave together */
			assert_int_equal(o->send.awaited, words == 0);
			cookies[words++] = o->cookie;
		}
	}
	assert_int_equal(words, 2);
	engine_sent(r->e, cookies[1], 41, r->now);
	engine_sent(r->e, cookies[0], 42, r->now);
	engine_sent(r->e, cookies[0], 43, r->now);
	while (engine_next(r->e, &o)) {
		if (o->type == ENGINE_STORE && o->store.row.id == ROW_TRANSITION) {
			assert_int_equal(o->store.row.values[3].i, 42);
			rows++;
		}
	}
	assert_int_equal(rows, 1);
	rig_destroy(r);
}

/* ------------------------------------------------------------------ sent again */

/* A lost word goes once more under its sequence though the FCM remembers later ones: it was asked about this one. */
static void a_lost_word_is_sent_again_behind_later_ones(void **state)
{
	struct rig *r = rig_create(1);
	uint64_t lost, later;

	r->lose_down = 1000;
	rig_set(r, THRESHOLD, 12, &lost);
	rig_run(r, 2);
	r->lose_down = 0;
	rig_set(r, "floor1.om3.threshold", 12, &later);
	rig_run(r, 20);
	rig_expect(r, later, "QUEUED SENT ACKED DONE", 1);
	rig_expect(r, lost, "QUEUED SENT", 0);
	rig_link(r, 0, false);
	rig_link(r, 0, true);
	rig_run(r, 2000);
	rig_expect(r, lost, "QUEUED SENT UNKNOWN UNKNOWN SENT ACKED DONE", 1);
	assert_int_equal(rig_inside(r, 0)->retries, 1);
	assert_int_equal(rig_inside(r, 0)->queries, 1);
	rig_destroy(r);
}

/* It waited for the next question to a floor that did not answer; its link is back: it need not wait. */
static void a_link_that_is_back_is_asked_at_once(void **state)
{
	struct rig *r = rig_create(1);
	uint64_t id;

	r->floors[0].mute = true;
	rig_set(r, THRESHOLD, 12, &id);
	rig_run(r, 5000);
	while (engine_next_due(r->e) < r->now.mono_ns + 1500 * RIG_MS) {
		rig_run(r, 10);
	}
	rig_link(r, 0, false);
	r->floors[0].mute = false;
	rig_run(r, 100);
	rig_link(r, 0, true);
	rig_run(r, 30);
	assert_string_equal(r->commands[id].state, "DONE");
	rig_destroy(r);
}

/* What makes safer is kept for a link that is away, as an alarm until it goes. */
static void what_makes_safer_waits_for_its_link(void **state)
{
	struct rig *r = rig_create(1);
	static struct engine_out out;
	uint64_t down, up;

	rig_set(r, HV, 1500, &up);
	rig_run(r, 2000);
	r->store_us = 90000;
	rig_set(r, HV, 0, &down);
	rig_link(r, 0, false);
	rig_run(r, 3000);
	assert_true(engine_progress(r->e, down, &out));
	assert_true(out.progress.alarm && out.progress.hint[0]);
	assert_int_equal(out.progress.state, COMMAND_UNKNOWN);
	assert_string_equal(out.progress.text,
			    "link 0 is not locked: not sent yet: it is sent as soon as possible");
	rig_run(r, 60000);
	assert_int_equal(rig_executed(r, down), 0);
	rig_link(r, 0, true);
	rig_run(r, 20);
	assert_true(engine_progress(r->e, down, &out));
	assert_false(out.progress.alarm || out.progress.hint[0]);
	rig_run(r, 20000);
	rig_expect(r, down, "QUEUED UNKNOWN QUEUED SENT ACKED DONE", 1);
	assert_int_equal(engine_reasons(r->e, r->now, NULL, NULL), 0);
	rig_destroy(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_polled_value_comes_at_its_period),
		cmocka_unit_test(a_set_value_is_in_the_history_soon),
		cmocka_unit_test(polls_take_four_places),
		cmocka_unit_test(no_poll_leaves_when_commands_take_all_places),
		cmocka_unit_test(a_poll_that_the_board_did_not_take_is_tried_again_soon),
		cmocka_unit_test(a_mute_floor_is_asked_once_a_second),
		cmocka_unit_test(a_floor_that_answers_again_is_asked_all_it_missed),
		cmocka_unit_test(polling_leaves_the_last_sequences_to_commands),
		cmocka_unit_test(telemetry_is_of_its_own_floor),
		cmocka_unit_test(the_boot_count_of_a_reply_moves_forward),
		cmocka_unit_test(a_boot_forgets_the_set_values_of_its_floor),
		cmocka_unit_test(a_late_answer_of_before_the_boot_is_no_set_value),
		cmocka_unit_test(each_stray_is_counted_once_and_each_question),
		cmocka_unit_test(a_completion_counts_once),
		cmocka_unit_test(a_lost_word_is_sent_again_behind_later_ones),
		cmocka_unit_test(a_link_that_is_back_is_asked_at_once),
		cmocka_unit_test(what_makes_safer_waits_for_its_link),
	};

	return cmocka_run_group_tests_name("engine, words", tests, NULL, NULL);
}
