/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The command engine, case by case, in virtual time: what each misfortune does to one command. The
 * random campaign is test_engine_random.c.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/slowctl/engine/engine_rig.h"

static struct param *get(struct rig *r, const char *name)
{
	struct param *p = NULL;

	assert_int_equal(params_find(r->params, name, &p, NULL), 0);
	return p;
}

static void test_set(void **state)
{
	struct rig *r = rig_create(1);
	struct engine_command_view v;
	uint64_t id;

	assert_int_equal(rig_set(r, "floor2.om2.hv", 1450, &id), 0);
	assert_int_equal(id, 1);
	assert_int_equal(r->floors[1].writes, 0); /* not before the row is stored */
	rig_until_end(r, id, 30000);
	rig_expect(r, id, "QUEUED SENT ACKED DONE", 1);
	assert_int_equal(r->floors[1].hv_set[2], 14500);
	assert_in_range(r->floors[1].hv[2], 14480, 14520);
	assert_true(r->commands[id].frame > 0);
	assert_true(get(r, "floor2.om2.hv")->setpoint == 1450);
	rig_run(r, 10);
	assert_true(r->final);
	assert_int_equal(r->last_state, COMMAND_DONE);
	assert_int_equal(r->finals, 1);
	assert_true(r->samples > 0);
	assert_true(engine_command(r->e, id, &v));
	assert_true(v.ended);
	assert_false(engine_command(r->e, 99, &v));
	rig_destroy(r);
}

/* Until the value is found to be another. */
static void test_who_set_it(void **state)
{
	struct rig *r = rig_create(1);
	const struct param *hv = get(r, "floor2.om2.hv"), *power = get(r, "floor2.om2.power");
	struct engine_request q = {.parameter = "floor2.om2.hv", .value = 0, .who = "ann"};
	struct engine_command_view v;
	uint64_t id, job, first;

	assert_string_equal(hv->by.who, "");
	assert_int_equal(rig_submit(r, q, &first, NULL), 0);
	rig_run(r, 1000); /* long before it is down */
	assert_string_equal(hv->by.who, "ann");
	assert_false(hv->by.safe);
	assert_true(hv->by.time_ns == r->commands[first].time_ns);
	assert_true(engine_command(r->e, first, &v));
	assert_string_equal(v.who, "ann");
	rig_until_end(r, first, 30000);
	/* The next one does what is done; of a `safe` as well. */
	q.who = "bert";
	assert_int_equal(rig_submit(r, q, &id, NULL), 0);
	rig_until_end(r, id, 30000);
	assert_string_equal(hv->by.who, "ann");
	q.parameter = "floor2.om2.power";
	q.job = engine_next_id(r->e, r->now);
	assert_int_equal(rig_submit(r, q, &job, NULL), 0);
	rig_until_end(r, job, 30000);
	assert_string_equal(power->by.who, "bert");
	assert_true(power->by.safe);
	rig_set(r, "floor2.om2.power", 1, &id);
	rig_until_end(r, id, 30000);
	assert_string_equal(power->by.who, "test");
	assert_false(power->by.safe);
	param_put_setpoint(get(r, "floor2.om2.hv"), 1400, r->now.mono_ns);
	assert_string_equal(hv->by.who, "");
	/* A daemon that takes a command up does not know whose it was. */
	q = (struct engine_request){.parameter = "floor2.om2.hv", .value = 1300, .who = "ann"};
	r->floors[1].mute = true;
	assert_int_equal(rig_submit(r, q, &id, NULL), 0);
	rig_run(r, 100);
	rig_crash(r);
	r->floors[1].mute = false;
	rig_until_end(r, id, 60000);
	assert_true(get(r, "floor2.om2.hv")->setpoint == 1300);
	assert_string_equal(get(r, "floor2.om2.hv")->by.who, "");
	rig_destroy(r);
}

static void test_refused_at_once(void **state)
{
	struct rig *r = rig_create(1);
	struct sc_error error = {0};
	struct engine_request q = {.parameter = "floor1.om0.hv", .value = 1900, .who = "t"};
	uint64_t id;

	assert_int_equal(engine_submit(r->e, &q, r->now, &id, &error), -ERANGE);
	assert_non_null(strstr(error.message, "soft limits"));
	q.force = true;
	q.value = 2500;
	assert_int_equal(engine_submit(r->e, &q, r->now, &id, &error), -ERANGE);
	q.value = 1400;
	q.action = true;
	assert_int_equal(engine_submit(r->e, &q, r->now, &id, &error), -EINVAL);
	assert_int_equal(rig_set(r, "floor9.om0.hv", 1, &id), -ENOENT);
	assert_int_equal(id, 0);
	assert_int_equal(rig_set(r, "clock.state", 1, &id), -EACCES);
	rig_link(r, 0, false);
	assert_int_equal(rig_set(r, "floor1.om0.hv", 1400, &id), -ENOLINK);
	rig_run(r, 10);
	rig_expect(r, id, "REFUSED", 0);
	/* Locked again, but another floor answers. */
	engine_link(r->e, 0, true, 1, 2, r->now);
	assert_int_equal(rig_set(r, "floor1.om0.hv", 1400, &id), -EXDEV);
	engine_link(r->e, 0, true, 0xff, 0xff, r->now);
	assert_int_equal(rig_set(r, "floor1.om0.hv", 1400, &id), -ENOLINK);
	rig_run(r, 10);
	assert_int_equal(r->floors[0].writes, 0);
	rig_destroy(r);
}

/* Who may not is in the journal as well, and nothing else comes of it. */
static void test_refused_by_role(void **state)
{
	struct rig *r = rig_create(1);
	struct engine_request q = {.parameter = "floor1.om0.hv",
				   .value = 1400,
				   .who = "grafana",
				   .origin = "curve:grafana",
				   .uid = -1,
				   .pid = -1,
				   .client_id = "somebody else's"};
	uint64_t id = 0;

	assert_int_equal(engine_refuse(r->e, &q, "that is for operators", r->now, &id), 0);
	rig_run(r, 500);
	rig_expect(r, id, "REFUSED", 0);
	assert_string_equal(r->commands[id].detail, "that is for operators");
	assert_string_equal(r->commands[id].client_id, "");
	assert_int_equal(r->floors[0].writes, 0);
	assert_int_equal(rig_set(r, "floor1.om0.hv", 1400, &id), 0);
	rig_run(r, 2000);
	rig_expect(r, id, "QUEUED SENT ACKED DONE", 1);
	q.parameter = "floor9.om0.hv";
	assert_int_equal(engine_refuse(r->e, &q, "", r->now, &id), -ENOENT);
	rig_destroy(r);
}

/* What a dry run says and what becomes of the same request is the same, and a dry run leaves no trace. */
static int as_checked(struct rig *r, const struct engine_request *q)
{
	struct sc_error dry = {0}, wet = {0};
	uint64_t dry_id, id;
	int would = engine_check(r->e, q, r->now, &dry_id, &dry);
	int did;

	assert_int_equal(engine_check(r->e, q, r->now, &dry_id, NULL), would);
	did = engine_submit(r->e, q, r->now, &id, &wet);
	assert_int_equal(would, did);
	assert_string_equal(dry.message, wet.message);
	assert_string_equal(dry.hint, wet.hint);
	if (did == 1) {
		assert_int_equal(dry_id, id);
	} else {
		assert_int_equal(dry_id, 0);
	}
	return did;
}

static void test_check_is_submit(void **state)
{
	struct rig *r = rig_create(1);
	struct engine_request good = {
		.parameter = "floor1.om0.hv", .value = 1410, .who = "t", .client_id = "once"};
	struct engine_request q = good;
	uint64_t id, next = engine_next_id(r->e, r->now), progress = r->progress;

	assert_int_equal(engine_check(r->e, &good, r->now, &id, NULL), 0);
	assert_int_equal(engine_next_id(r->e, r->now), next); /* none was taken or refused */
	assert_int_equal(engine_open_count(r->e), 0);
	rig_run(r, 500);
	assert_int_equal(r->progress, progress);
	assert_int_equal(r->floors[0].writes, 0);
	assert_int_equal(as_checked(r, &good), 0);
	assert_int_equal(as_checked(r, &good), 1);
	q.value = 1420;
	assert_int_equal(as_checked(r, &q), -EINVAL); /* that client id is another's */
	q.client_id = NULL;
	q.value = 1900;
	assert_int_equal(as_checked(r, &q), -ERANGE);
	q.force = true;
	assert_int_equal(as_checked(r, &q), 0);
	q.parameter = "floor1.om0.trips";
	assert_int_equal(as_checked(r, &q), -EACCES);
	q.parameter = "floor1.om9.hv";
	assert_int_equal(as_checked(r, &q), -ENOENT);
	q.parameter = "floor1.om0.hv";
	q.action = true;
	assert_int_equal(as_checked(r, &q), -EINVAL);
	rig_link(r, 0, false);
	assert_int_equal(as_checked(r, &(struct engine_request){.parameter = "floor1.om0.hv",
								.value = 1300,
								.who = "t"}),
			 -ENOLINK);
	rig_destroy(r);
}

static void test_refused_by_fcm(void **state)
{
	struct rig *r = rig_create(1);
	uint64_t id;

	r->floors[0].power[3] = 0;
	rig_set(r, "floor1.om3.hv", 1500, &id);
	rig_run(r, 200);
	rig_expect(r, id, "QUEUED SENT REFUSED", 0);
	assert_non_null(strstr(r->commands[id].detail, "not possible now"));
	rig_destroy(r);
}

/* An end is reported once, when the journal has it; until then a repeat has to wait for that. */
static void test_reported(void **state)
{
	struct rig *r = rig_create(1);
	static struct engine_out out;
	struct engine_command_view view;
	uint64_t id;

	r->store_us = 100000;
	rig_set(r, "floor1.om0.threshold", 12, &id);
	do {
		rig_run(r, 1);
		assert_true(engine_command(r->e, id, &view));
		assert_true(!engine_progress(r->e, id, &out) || !out.progress.final);
	} while (!view.ended);
	rig_run(r, 50);
	assert_true(engine_command(r->e, id, &view) && !engine_progress(r->e, id, &out));
	rig_run(r, 100);
	assert_true(engine_progress(r->e, id, &out) && out.progress.final);
	rig_destroy(r);
}

static void test_readback_disagrees(void **state)
{
	struct rig *r = rig_create(1);
	uint64_t id;

	r->floors[0].hv_offset = -900;
	rig_set(r, "floor1.om3.hv", 1450, &id);
	rig_until_end(r, id, 120000);
	rig_expect(r, id, "QUEUED SENT ACKED FAILED", 1);
	assert_non_null(strstr(r->commands[id].detail, "read-back 1360.0 V, wanted 1450.0 V"));
	rig_destroy(r);
}

/* The word arrives, its answer does not. */
static void test_lost_reply(void **state)
{
	struct rig *r = rig_create(1);
	uint64_t id;

	r->floors[0].mute = true;
	rig_set(r, "floor1.om0.threshold", 12, &id);
	rig_run(r, 100);
	assert_int_equal(r->floors[0].writes, 1);
	r->floors[0].mute = false;
	rig_run(r, 500);
	rig_expect(r, id, "QUEUED SENT UNKNOWN ACKED DONE", 1);
	assert_int_equal(r->floors[0].queries, 1);
	rig_destroy(r);
}

/* Whether a progress has had these words. */
struct listener {
	const char *words;
	bool heard;
};

static void listen_to(void *context, const struct engine_out *out)
{
	struct listener *l = context;

	l->heard |= strstr(out->progress.text, l->words) != NULL;
}

/* The word does not arrive: sent again under the same sequence, because the FCM denied it. */
static void test_lost_request(void **state)
{
	struct rig *r = rig_create(1);
	struct listener denied = {.words = "the FCM never got it (attempt 1): to be sent again"};
	uint64_t id;

	r->floors[0].deaf = true;
	rig_set(r, "floor1.om0.threshold", 12, &id);
	rig_run(r, 100);
	r->floors[0].deaf = false;
	r->on_progress = listen_to;
	r->context = &denied;
	rig_run(r, 800);
	assert_true(denied.heard);
	rig_expect(r, id, "QUEUED SENT UNKNOWN UNKNOWN SENT ACKED DONE", 1);
	assert_int_equal(rig_inside(r, 0)->retries, 1);
	assert_int_equal(r->commands[id].attempts, 2);
	rig_destroy(r);
}

/* The FCM's memory of outcomes counts from this command on: it denies, whatever came before. */
static void test_lost_request_after_many(void **state)
{
	struct rig *r = rig_create(1);
	uint64_t id;

	for (unsigned i = 0; i < 260; i++) { /* more than an FCM remembers */
		rig_set(r, "floor1.om1.threshold", 12 + i % 2, &id);
		rig_run(r, 100);
	}
	assert_string_equal(r->commands[id].state, "DONE");
	r->floors[0].deaf = true;
	rig_set(r, "floor1.om0.threshold", 12, &id);
	rig_run(r, 100);
	r->floors[0].deaf = false;
	rig_run(r, 800);
	rig_expect(r, id, "QUEUED SENT UNKNOWN UNKNOWN SENT ACKED DONE", 1);
	rig_destroy(r);
}

static void test_mute_floor(void **state)
{
	struct rig *r = rig_create(1);
	struct listener mute = {"to be sent, though the floor has not answered for 6", false};
	uint64_t id, other;

	r->floors[0].mute = true;
	rig_set(r, "floor1.om0.threshold", 12, &id);
	rig_set(r, "floor2.om0.threshold", 14, &other);
	rig_run(r, 3000);
	rig_expect(r, other, "QUEUED SENT ACKED DONE", 1); /* nobody waits for another floor */
	rig_expect(r, id, "QUEUED SENT UNKNOWN UNKNOWN", 1);
	assert_false(r->commands[id].ended);
	assert_true(engine_reasons(r->e, r->now, NULL, NULL) >= 1);
	rig_run(r, 60000);
	assert_false(r->commands[id].ended);
	assert_true(engine_mute_s(r->e, get(r, "floor1.om0.threshold"), r->now) > 60);
	assert_true(isnan(engine_mute_s(r->e, get(r, "floor2.om0.threshold"), r->now)));
	rig_set(r, "floor1.om1.threshold", 12, &other);
	r->on_progress = listen_to;
	r->context = &mute;
	rig_run(r, 20);
	assert_true(mute.heard);
	r->floors[0].mute = false;
	rig_run(r, 3000);
	rig_expect(r, id, "QUEUED SENT UNKNOWN UNKNOWN ACKED DONE", 1);
	assert_int_equal(engine_reasons(r->e, r->now, NULL, NULL), 0);
	rig_destroy(r);
}

/* A floor that nobody has heard of for long: what an operator wanted then is not done when it is back; what makes
 * safer is. */
static void test_too_late(void **state)
{
	struct rig *r = rig_create(1);
	uint64_t sent, behind, hv, safer, anew, ramp, stop;

	r->floors[1].ramp[0] = 10;
	rig_set(r, "floor2.om0.hv", 1500, &ramp);
	rig_run(r, 200);
	r->floors[0].deaf = r->floors[1].deaf = true;
	assert_int_equal(engine_cancel(r->e, ramp, &(struct engine_request){.who = "test"}, r->now,
				       &stop, NULL),
			 0);
	rig_set(r, "floor1.om0.threshold", 12, &sent);
	rig_run(r, 5000);
	rig_set(r, "floor1.om0.threshold", 14, &behind);
	rig_set(r, "floor1.om1.hv", 1410, &hv);
	rig_set(r, "floor1.om1.hv", 0, &safer);
	rig_run(r, 20000);
	assert_string_equal(r->commands[behind].state, "QUEUED"); /* it may be booting */
	rig_run(r, 20000);
	assert_string_equal(r->commands[behind].state, "FAILED");
	assert_string_equal(r->commands[behind].detail,
			    "not sent: link 0 is up, but its floor does not answer");
	assert_false(r->commands[sent].ended);
	assert_false(r->commands[safer].ended);
	rig_run(r, 3600000);
	r->floors[0].deaf = r->floors[1].deaf = false;
	rig_run(r, 30000);
	rig_expect(r, stop, "QUEUED SENT UNKNOWN UNKNOWN FAILED", 0); /* at what the HV was then */
	rig_expect(r, sent, "QUEUED SENT UNKNOWN UNKNOWN FAILED", 0);
	assert_non_null(strstr(r->commands[sent].detail, "not executed"));
	assert_int_equal(rig_executed(r, behind), 0);
	assert_int_equal(rig_executed(r, hv), 0);
	assert_string_equal(r->commands[safer].state, "DONE");
	assert_int_equal(rig_executed(r, safer), 1);
	rig_set(r, "floor1.om0.threshold", 16, &anew);
	rig_run(r, 1000);
	assert_string_equal(r->commands[anew].state, "DONE");
	rig_destroy(r);
}

/* Answers in doubles, and one that comes only when the command is long over. */
static void test_doubles(void **state)
{
	struct rig *r = rig_create(3);
	uint64_t id;

	r->double_up = 1000;
	rig_set(r, "floor1.om0.threshold", 12, &id);
	rig_run(r, 200);
	rig_expect(r, id, "QUEUED SENT ACKED DONE", 1);
	r->late_up = 1000;
	rig_set(r, "floor1.om0.threshold", 15, &id);
	rig_run(r, 100);
	r->late_up = 0;
	rig_run(r, 5000);
	assert_string_equal(r->commands[id].state, "DONE");
	assert_int_equal(rig_executed(r, id), 1);
	rig_destroy(r);
}

static void test_boot_before_answer(void **state)
{
	struct rig *r = rig_create(1);
	uint64_t held, gone, act;

	r->floors[0].mute = true;
	rig_set(r, "floor1.om0.threshold", 12, &held);
	rig_set(r, "floor1.om1.threshold", 13, &gone);
	rig_action(r, "floor1.om2.reset", &act);
	rig_run(r, 50);
	r->floors[0].mute = false;
	r->floors[0].threshold[1] = 10; /* as if it had not been executed */
	rig_boot(r, 0);
	rig_run(r, 4000);
	rig_expect(r, held, "QUEUED SENT UNKNOWN ACKED DONE", 1);
	assert_string_equal(r->commands[gone].state, "FAILED");
	assert_non_null(strstr(r->commands[gone].detail, "not in effect"));
	assert_string_equal(r->commands[act].state, "UNKNOWN");
	assert_true(r->commands[act].ended);
	assert_int_equal(rig_executed(r, act), 1);
	assert_true(engine_reasons(r->e, r->now, NULL, NULL) == 1);
	/* Done again, the alarm is over. */
	rig_action(r, "floor1.om2.reset", &act);
	rig_run(r, 1000);
	rig_expect(r, act, "QUEUED SENT ACKED DONE", 1);
	assert_int_equal(engine_reasons(r->e, r->now, NULL, NULL), 0);
	rig_destroy(r);
}

/* The count of a new FCM, and the one after the largest of 32 bits. */
static void test_boot_count_0(void **state)
{
	struct rig *r = rig_create(1);
	uint64_t set, act, boots;

	r->floors[0].boot = UINT32_MAX;
	engine_boot(r->e, 0, UINT32_MAX, r->now);
	boots = rig_inside(r, 0)->boots;
	rig_boot(r, 0);
	rig_run(r, 600);
	rig_set(r, "floor1.om0.threshold", 12, &set);
	rig_until_end(r, set, 5000);
	assert_string_equal(r->commands[set].state, "DONE");
	assert_int_equal(rig_inside(r, 0)->boot, 0);
	assert_int_equal(rig_inside(r, 0)->boots, boots + 1);
	/* Its word is lost: the FCM, in this boot, has not executed it, and it is sent again. */
	r->floors[0].no_commands = true;
	rig_action(r, "floor1.om2.reset", &act);
	rig_run(r, 50);
	r->floors[0].no_commands = false;
	rig_until_end(r, act, 5000);
	rig_expect(r, act, "QUEUED SENT UNKNOWN UNKNOWN SENT ACKED DONE", 1);
	/* Sent in boot 0, as the journal tells the next engine. */
	r->floors[0].mute = true;
	rig_action(r, "floor1.fcm.reset", &act);
	rig_run(r, 200);
	r->floors[0].mute = false;
	assert_int_equal(r->floors[0].boot, 1);
	rig_crash(r);
	rig_until_end(r, act, 5000);
	assert_string_equal(r->commands[act].state, "DONE");
	assert_int_equal(rig_executed(r, act), 1);
	rig_boot(r, 0);
	rig_run(r, 600);
	rig_set(r, "floor1.om0.threshold", 13, &set);
	rig_until_end(r, set, 5000);
	assert_int_equal(rig_inside(r, 0)->boot, 2);
	rig_destroy(r);
}

/* As the engine is told by the telemetry, too: a boot out of count 0 is one. */
static void test_boot_from_0(void **state)
{
	struct rig *r = rig_create(1);
	uint64_t boots;

	engine_boot(r->e, 0, 0, r->now);
	boots = rig_inside(r, 0)->boots;
	engine_boot(r->e, 0, 1, r->now);
	assert_int_equal(rig_inside(r, 0)->boots, boots + 1);
	rig_destroy(r);
}

struct wanted_reason {
	const char *code;
	struct engine_reason found;
	unsigned count;
};

static void note_wanted(void *context, const struct engine_reason *reason)
{
	struct wanted_reason *w = context;

	if (strcmp(reason->code, w->code) == 0) {
		w->found = *reason;
		w->count++;
	}
}

static struct wanted_reason reasons_of(struct rig *r, const char *code)
{
	struct wanted_reason w = {.code = code};

	engine_reasons(r->e, r->now, note_wanted, &w);
	return w;
}

/* Nobody knows whether it was executed: so it is however many commands and engines come after it. */
static void test_unknown_stays(void **state)
{
	struct rig *r = rig_create(1);
	static struct engine_out out;
	struct engine_command_view v = {.ended = false};
	uint64_t act, id;

	r->floors[0].mute = true;
	rig_action(r, "floor1.om2.reset", &act);
	rig_run(r, 50);
	r->floors[0].mute = false;
	rig_boot(r, 0);
	r->store_us = 500000;
	for (unsigned n = 0; n < 4000 && !v.ended; n++) {
		rig_run(r, 1);
		assert_true(engine_command(r->e, act, &v));
	}
	assert_int_equal(v.state, COMMAND_UNKNOWN);
	assert_false(engine_progress(r->e, act, &out)); /* the journal does not have it yet */
	assert_int_equal(reasons_of(r, "command-unknown").count, 1);
	r->store_us = 1000;
	rig_run(r, 1000);
	for (unsigned n = 0; n < 1200; n++) {
		assert_int_equal(rig_set(r, "floor1.om0.threshold", 12 + n % 2, &id), 0);
		rig_until_end(r, id, 1000);
		assert_string_equal(r->commands[id].state, "DONE");
	}
	assert_int_equal(reasons_of(r, "command-unknown").count, 1);
	for (unsigned n = 0; n < 2; n++) {
		rig_crash(r);
		rig_run(r, 100);
		assert_int_equal(reasons_of(r, "command-unknown").count, 1);
	}
	assert_string_equal(reasons_of(r, "command-unknown").found.object,
			    "tower1.floor1.om2.reset");
	rig_action(r, "floor1.om2.reset", &act);
	rig_run(r, 1000);
	rig_expect(r, act, "QUEUED SENT ACKED DONE", 1);
	assert_int_equal(reasons_of(r, "command-unknown").count, 0);
	rig_crash(r);
	rig_run(r, 100);
	assert_int_equal(reasons_of(r, "command-unknown").count, 0);
	rig_destroy(r);
}

/* A sensor that breaks does not end the alarm of its value. */
static void test_alarm_unknown(void **state)
{
	struct rig *r = rig_create(1);
	struct wanted_reason w, stale;
	struct param *p;

	r->config.poll = true;
	rig_crash(r); /* begin anew with polling */
	rig_run(r, 10);
	assert_int_equal(params_find(r->params, "floor1.fcm.humidity", &p, NULL), 0);
	param_put(p, 90, r->now.utc_ns, r->now.mono_ns);
	rig_run(r, 10000);
	param_put(p, 90, r->now.utc_ns, r->now.mono_ns);
	w = reasons_of(r, "limit");
	assert_int_equal(w.count, 1);
	assert_true(w.found.red && w.found.unknown_s == 0);
	assert_null(strstr(w.found.text, "not known"));
	rig_run(r, 12000);
	stale = reasons_of(r, "stale");
	assert_non_null(strstr(stale.found.text, "1 value is stale; "));
	param_put_bad(p);
	assert_string_equal(reasons_of(r, "stale").found.text, stale.found.text);
	w = reasons_of(r, "limit");
	assert_int_equal(w.count, 1);
	assert_true(w.found.red && w.found.latch);
	assert_non_null(strstr(w.found.text, "was 90"));
	assert_non_null(strstr(w.found.text, "(unknown for 12 s: it cannot be measured)"));
	param_put(p, 59, r->now.utc_ns, r->now.mono_ns); /* not yet inside by the hysteresis */
	assert_int_equal(reasons_of(r, "limit").count, 1);
	param_put(p, 30, r->now.utc_ns, r->now.mono_ns);
	assert_int_equal(reasons_of(r, "limit").count, 0);
	rig_destroy(r);
}

static void test_actions(void **state)
{
	struct rig *r = rig_create(1);
	uint64_t id;

	r->floors[0].trip[4] = 1;
	rig_action(r, "floor1.om4.clear_trip", &id);
	rig_run(r, 200);
	rig_expect(r, id, "QUEUED SENT ACKED DONE", 1);
	assert_int_equal(r->floors[0].trip[4], 0);
	rig_action(r, "floor1.fcm.reset", &id);
	rig_until_end(r, id, 5000);
	rig_expect(r, id, "QUEUED SENT ACKED DONE", 1);
	assert_int_equal(r->floors[0].boot, 8);
	/* The answer to a reset is lost: the boot itself is the proof. */
	r->floors[0].mute = true;
	rig_action(r, "floor1.fcm.reset", &id);
	rig_run(r, 200);
	r->floors[0].mute = false;
	rig_until_end(r, id, 5000);
	assert_string_equal(r->commands[id].state, "DONE");
	assert_int_equal(rig_executed(r, id), 1);
	assert_int_equal(r->floors[0].boot, 9);
	rig_destroy(r);
}

static void test_client_id(void **state)
{
	struct rig *r = rig_create(1);
	struct engine_request q = {
		.parameter = "floor1.om0.threshold", .value = 12, .who = "t", .client_id = "abc"};
	struct sc_error error = {0};
	uint64_t id, again;

	assert_int_equal(engine_submit(r->e, &q, r->now, &id, &error), 0);
	assert_int_equal(engine_submit(r->e, &q, r->now, &again, &error), 1);
	assert_int_equal(id, again);
	rig_run(r, 200);
	assert_int_equal(engine_submit(r->e, &q, r->now, &again, &error), 1);
	assert_int_equal(id, again);
	q.value = 13;
	assert_int_equal(engine_submit(r->e, &q, r->now, &again, &error), -EINVAL);
	q.value = 12;
	rig_crash(r);
	assert_int_equal(engine_submit(r->e, &q, r->now, &again, &error), 1);
	assert_int_equal(id, again);
	rig_run(r, 200);
	assert_int_equal(rig_executed(r, id), 1);
	assert_int_equal(r->last_id, id);
	rig_destroy(r);
}

/* The journal tells whose refusal it was, and the id stays free for the same command when it can be done. */
static void test_client_id_refused(void **state)
{
	struct rig *r = rig_create(1);
	struct engine_request q = {.parameter = "floor1.om0.threshold",
				   .value = 1e6,
				   .who = "t",
				   .client_id = "job.1"};
	struct sc_error error = {0};
	uint64_t refused, id;
	char wanted[32];

	assert_int_equal(engine_submit(r->e, &q, r->now, &refused, &error), -ERANGE);
	rig_run(r, 200);
	snprintf(wanted, sizeof(wanted), "job.1!%u", (unsigned)refused);
	assert_string_equal(r->commands[refused].client_id, wanted);
	assert_int_equal(engine_submit(r->e, &q, r->now, &refused, &error), -ERANGE); /* again */
	q.value = 12;
	assert_int_equal(engine_submit(r->e, &q, r->now, &id, &error), 0);
	rig_run(r, 200);
	assert_string_equal(r->commands[id].client_id, "job.1");
	rig_expect(r, id, "QUEUED SENT ACKED DONE", 1);
	rig_destroy(r);
}

static void test_one_write_a_parameter(void **state)
{
	struct rig *r = rig_create(1);
	uint64_t a, b, other;

	rig_set(r, "floor1.om0.hv", 1450, &a); /* ramps for half a second */
	rig_set(r, "floor1.om0.hv", 1460, &b);
	rig_set(r, "floor1.om1.threshold", 12, &other);
	rig_run(r, 100);
	assert_string_equal(r->commands[other].state, "DONE");
	assert_string_equal(r->commands[a].state, "ACKED");
	assert_string_equal(r->commands[b].state, "QUEUED");
	assert_int_equal(r->floors[0].hv_set[0], 14500);
	rig_until_end(r, b, 20000);
	rig_expect(r, a, "QUEUED SENT ACKED DONE", 1);
	rig_expect(r, b, "QUEUED SENT ACKED DONE", 1);
	rig_destroy(r);
}

static void test_cancel(void **state)
{
	struct rig *r = rig_create(1);
	struct sc_error error = {0};
	struct engine_request me = {.who = "me"};
	uint64_t a, b, sent, stop;

	rig_set(r, "floor1.om0.hv", 1450, &a);
	rig_set(r, "floor1.om0.hv", 1460, &b);
	rig_run(r, 50);
	rig_set(r, "floor1.om0.threshold", 20, &sent);
	rig_run(r, 2);
	assert_int_equal(engine_cancel(r->e, sent, &me, r->now, &stop, &error), -EBUSY);
	assert_int_equal(engine_cancel(r->e, b, &me, r->now, &stop, &error), 0);
	assert_int_equal(stop, 0);
	assert_int_equal(engine_cancel(r->e, b, &me, r->now, &stop, &error), -EALREADY);
	assert_int_equal(engine_cancel(r->e, 77, &me, r->now, &stop, &error), -ENOENT);
	rig_until_end(r, a, 20000);
	rig_run(r, 100);
	rig_expect(r, b, "QUEUED CANCELLED", 0);
	rig_destroy(r);
}

static void test_link_lost(void **state)
{
	struct rig *r = rig_create(1);
	uint64_t sent, waiting;

	rig_set(r, "floor1.om0.hv", 1500, &sent);
	rig_set(r, "floor1.om0.hv", 1510, &waiting);
	rig_run(r, 20);
	r->floors[0].deaf = true;
	rig_link(r, 0, false);
	rig_run(r, 4000);
	assert_string_equal(r->commands[waiting].state, "FAILED");
	assert_non_null(strstr(r->commands[waiting].detail, "not sent: link 0 is not locked"));
	rig_expect(r, sent, "QUEUED SENT ACKED UNKNOWN", 1);
	assert_false(r->commands[sent].ended);
	r->floors[0].deaf = false;
	rig_link(r, 0, true);
	rig_run(r, 200);
	rig_expect(r, sent, "QUEUED SENT ACKED UNKNOWN DONE", 1);
	rig_destroy(r);
}

static void test_send_fails(void **state)
{
	struct rig *r = rig_create(1);
	uint64_t id;

	r->send_result = -EAGAIN;
	rig_set(r, "floor1.om0.threshold", 12, &id);
	rig_run(r, 500);
	assert_string_equal(r->commands[id].state, "QUEUED");
	r->send_result = 0;
	rig_run(r, 100);
	rig_expect(r, id, "QUEUED SENT ACKED DONE", 1);
	r->send_result = -ENODEV;
	rig_set(r, "floor1.om0.threshold", 13, &id);
	rig_run(r, 100);
	rig_expect(r, id, "QUEUED FAILED", 0);
	rig_destroy(r);
}

/* The word of a set finds no room, the READ behind it does: its answer is nothing to the set, which goes once more. */
static void test_send_fails_alone(void **state)
{
	struct rig *r = rig_create(1);
	uint64_t id;

	r->refuse_words = 1;
	rig_set(r, "floor1.om0.threshold", 12, &id);
	rig_run(r, 500);
	rig_expect(r, id, "QUEUED SENT ACKED DONE", 1);
	assert_int_equal(r->refuse_words, 0);
	rig_destroy(r);
}

/* TX completions that never come change nothing but the frame number. */
static void test_no_completion(void **state)
{
	struct rig *r = rig_create(1);
	uint64_t id;

	r->no_completions = true;
	rig_set(r, "floor1.om0.threshold", 12, &id);
	rig_run(r, 200);
	rig_expect(r, id, "QUEUED SENT ACKED DONE", 1);
	assert_int_equal(r->commands[id].frame, -1);
	rig_destroy(r);
}

static void test_polling(void **state)
{
	struct rig *r = rig_create(1);
	uint64_t id;

	r->config.poll = true;
	rig_crash(r); /* begin anew with polling */
	rig_run(r, 2000);
	assert_int_equal(param_quality(get(r, "floor1.om5.hv"), r->now.mono_ns), PARAM_GOOD);
	assert_true(get(r, "floor1.om5.hv")->has_setpoint);
	assert_true(get(r, "floor1.om5.hv")->setpoint == 1400);
	rig_run(r, 60000);
	assert_int_equal(param_quality(get(r, "floor1.om5.threshold"), r->now.mono_ns), PARAM_GOOD);
	assert_int_equal(engine_reasons(r->e, r->now, NULL, NULL), 0);
	assert_true(r->floors[0].reads < 62 * 30);
	/* A trip is seen within its period. */
	r->floors[0].trip[1] = 1;
	rig_run(r, 2200);
	assert_int_equal(param_level(get(r, "floor1.om1.trip"), r->now.mono_ns), LEVEL_ALARM);
	/* A mute floor is probed slowly and its values grow stale; then it is back. */
	r->floors[0].mute = true;
	rig_run(r, 30000);
	assert_int_equal(param_quality(get(r, "floor1.om1.trip"), r->now.mono_ns), PARAM_STALE);
	/* Of what is read rarely, too: nobody answers for it now. */
	assert_int_equal(param_quality(get(r, "floor1.om1.threshold"), r->now.mono_ns), PARAM_GOOD);
	assert_int_equal(engine_quality(r->e, get(r, "floor1.om1.threshold"), r->now), PARAM_STALE);
	assert_int_equal(engine_quality(r->e, get(r, "floor2.om1.threshold"), r->now), PARAM_GOOD);
	assert_int_equal(param_quality(get(r, "floor2.om1.trip"), r->now.mono_ns), PARAM_GOOD);
	assert_true(engine_reasons(r->e, r->now, NULL, NULL) >= 1);
	r->floors[0].mute = false;
	r->floors[0].trip[1] = 0;
	rig_run(r, 10000);
	assert_int_equal(param_quality(get(r, "floor1.om1.trip"), r->now.mono_ns), PARAM_GOOD);
	assert_int_equal(engine_quality(r->e, get(r, "floor1.om1.threshold"), r->now), PARAM_GOOD);
	assert_int_equal(engine_reasons(r->e, r->now, NULL, NULL), 0);
	/* Polling leaves room for commands. */
	rig_set(r, "floor1.om0.threshold", 12, &id);
	rig_run(r, 20);
	rig_expect(r, id, "QUEUED SENT ACKED DONE", 1);
	assert_true(rig_sequences_left(r, 0) > 1000000);
	assert_true(engine_next_due(r->e) < r->now.mono_ns + 10000000000ull);
	rig_destroy(r);
}

static void test_telemetry(void **state)
{
	struct rig *r = rig_create(1);
	struct tdm_telemetry t = {.boot_count = 7, .temperature_mc = -1500, .humidity_ppm = 450000};

	engine_telemetry(r->e, 0, &t, r->now);
	assert_true(get(r, "floor1.fcm.temperature")->value == -1.5);
	assert_true(get(r, "floor1.fcm.humidity")->value == 45);
	t.boot_count = 9;
	engine_telemetry(r->e, 0, &t, r->now);
	assert_int_equal(rig_inside(r, 0)->boot, 9);
	assert_int_equal(rig_inside(r, 0)->boots, 1);
	engine_telemetry(r->e, 9, &t, r->now);
	rig_destroy(r);
}

/* Anything may come up the fibre. */
static void test_strays(void **state)
{
	struct rig *r = rig_create(1);
	struct word words[3] = {{.op = WORD_READ | WORD_REPLY, .sequence = 5, .boot = 7},
				{.op = WORD_WRITE, .sequence = 1, .boot = 7},
				{.op = 0xff, .module = 99, .sequence = UINT32_MAX, .boot = 7}};
	uint64_t id;

	for (unsigned i = 0; i < 3; i++) {
		engine_reply(r->e, 0, &words[i], r->now);
		engine_reply(r->e, 3, &words[i], r->now);
		engine_reply(r->e, 4000, &words[i], r->now);
	}
	assert_int_equal(rig_inside(r, 0)->strays, 3);
	for (unsigned i = 0; i < 20000; i++) {
		struct word w = {.op = (uint8_t)rig_random(r, 256),
				 .module = (uint8_t)rig_random(r, 256),
				 .reg = (uint8_t)rig_random(r, 256),
				 .status = (uint8_t)rig_random(r, 256),
				 .value = (int32_t)r->random,
				 .sequence = rig_random(r, 50),
				 .boot = 7};

		if (i % 5000 == 0) {
			rig_set(r, "floor1.om0.threshold", 12 + i / 5000, &id);
			rig_run(r, 2);
		}
		engine_reply(r->e, 0, &w, r->now);
	}
	rig_run(r, 5000);
	rig_destroy(r);
}

/* Give a shore's parameter a value at this second; how many samples that keeps, and the last one. */
static unsigned kept(struct rig *r, const char *name, double second, double value, double *ret_last)
{
	struct engine_now at = {r->now.mono_ns + (uint64_t)(second * 1e9),
				r->now.utc_ns + (int64_t)(second * 1e9)};
	const struct engine_out *o;
	unsigned n = 0;

	engine_shore(r->e, get(r, name), value, at);
	while (engine_next(r->e, &o)) {
		if (o->type == ENGINE_STORE && o->store.row.id == ROW_SAMPLE) {
			assert_int_equal(o->store.row.values[1].i, at.utc_ns);
			*ret_last = o->store.row.values[2].d;
			n++;
		}
	}
	return n;
}

/* What the history says is what was: a dip ends there when it ended. */
static void test_history(void **state)
{
	/* link0.rx_power: history 60 s, deadband 1 uW. */
	static const struct {
		double second, value;
		unsigned kept;
		const char *why;
	} steps[] = {
		{0, 250, 1, "the first"},
		{1, 250.9, 0, "within the deadband"},
		{5, 0, 1, "unplugged, soon after a kept one"},
		{6, 0.5, 0, "still dark"},
		{15, 250, 1, "plugged in again, ten seconds later"},
		{16, 0, 1, "and out"},
		{17, 250, 1, "and in"},
		{616, 250.5, 0, "nothing new"},
		{617, 250.5, 1, "the heartbeat"},
		{618, 249.4, 1, "beyond the deadband of the kept one"},
	};
	struct rig *r = rig_create(1);
	double last = 0;

	rig_run(r, 10);
	for (size_t n = 0; n < sizeof(steps) / sizeof(steps[0]); n++) {
		if (kept(r, "link0.rx_power", steps[n].second, steps[n].value, &last) !=
		    steps[n].kept) {
			fail_msg("at %.0f s: %s", steps[n].second, steps[n].why);
		}
	}
	rig_destroy(r);
}

/* A value that never rests does not fill the disk, and the last one is kept all the same. */
static void test_history_noise(void **state)
{
	struct rig *r = rig_create(1);
	unsigned samples = 0, states = 0;
	double last = 0;

	rig_run(r, 10);
	for (unsigned s = 0; s < 1200; s++) {
		samples += kept(r, "link0.rx_power", s, s % 2 ? 250 : 100, &last);
	}
	assert_in_range(samples, 20, 8 + 1200 / 60);
	last = 0;
	for (unsigned s = 1200; s < 1260; s++) {
		samples += kept(r, "link0.rx_power", s, 33, &last);
	}
	assert_true(last == 33);
	for (unsigned s = 0; s < 100; s++) {
		states += kept(r, "link0.state", s, s % 2 ? 4 : 1, &last);
	}
	assert_int_equal(states, 100);
	rig_destroy(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_set),
		cmocka_unit_test(test_who_set_it),
		cmocka_unit_test(test_refused_at_once),
		cmocka_unit_test(test_refused_by_role),
		cmocka_unit_test(test_check_is_submit),
		cmocka_unit_test(test_refused_by_fcm),
		cmocka_unit_test(test_reported),
		cmocka_unit_test(test_readback_disagrees),
		cmocka_unit_test(test_lost_reply),
		cmocka_unit_test(test_lost_request),
		cmocka_unit_test(test_lost_request_after_many),
		cmocka_unit_test(test_mute_floor),
		cmocka_unit_test(test_too_late),
		cmocka_unit_test(test_doubles),
		cmocka_unit_test(test_boot_before_answer),
		cmocka_unit_test(test_boot_count_0),
		cmocka_unit_test(test_boot_from_0),
		cmocka_unit_test(test_unknown_stays),
		cmocka_unit_test(test_alarm_unknown),
		cmocka_unit_test(test_actions),
		cmocka_unit_test(test_client_id),
		cmocka_unit_test(test_client_id_refused),
		cmocka_unit_test(test_one_write_a_parameter),
		cmocka_unit_test(test_cancel),
		cmocka_unit_test(test_link_lost),
		cmocka_unit_test(test_send_fails),
		cmocka_unit_test(test_send_fails_alone),
		cmocka_unit_test(test_no_completion),
		cmocka_unit_test(test_polling),
		cmocka_unit_test(test_telemetry),
		cmocka_unit_test(test_strays),
		cmocka_unit_test(test_history),
		cmocka_unit_test(test_history_noise),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
