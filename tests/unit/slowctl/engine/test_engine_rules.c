/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The command engine's interlocks, in virtual time: what is refused before anything is sent, what force
 * overrides, and that nothing which makes things safer is ever held up.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/slowctl/engine/engine_rig.h"

#define HV    "floor1.om2.hv"
#define POWER "floor1.om2.power"

static int set(struct rig *r, const char *name, double value, bool force, struct sc_error *error)
{
	uint64_t id;
	int result = rig_submit(
		r, (struct engine_request){.parameter = name, .value = value, .force = force}, &id,
		error);

	rig_run(r, 20000);
	return result;
}

/* Refused, nothing sent, in the journal with its text; the text has these words. */
static void refused(struct rig *r, const char *name, double value, const char *words)
{
	struct sc_error error = {0};
	uint64_t writes = r->floors[0].writes, last = r->last_id;

	assert_int_equal(set(r, name, value, false, &error), -EPERM);
	assert_string_equal(error.code, "interlock");
	if (!strstr(error.message, words)) {
		fail_msg("%s: no '%s' in it", error.message, words);
	}
	assert_true(error.hint[0]);
	assert_int_equal(r->floors[0].writes, writes);
	assert_int_equal(r->last_id, last + 1);
	assert_string_equal(r->commands[r->last_id].states, "REFUSED");
	assert_string_equal(r->commands[r->last_id].detail, error.message);
}

static void done(struct rig *r, const char *name, double value, bool force)
{
	struct sc_error error = {0};

	if (set(r, name, value, force, &error) != 0) {
		fail_msg("%s", error.message);
	}
	assert_string_equal(r->commands[r->last_id].state, "DONE");
}

static void test_unpowered(void **state)
{
	struct rig *r = rig_create(1);
	struct sc_error error = {0};
	uint64_t id;

	done(r, HV, 1450, false);
	done(r, POWER, 0, false);
	assert_string_equal(r->commands[r->last_id].detail, "read-back off");
	refused(r, HV, 1460, "needs tower1.floor1.om2.power, which is off");
	done(r, "floor1.om3.hv", 1460, false); /* the neighbour's business */
	done(r, "floor1.om2.threshold", 12, false);
	/* Past ours with force: then it is the FCM that refuses. */
	assert_int_equal(set(r, HV, 1460, true, NULL), 0);
	assert_string_equal(r->commands[r->last_id].states, "QUEUED SENT REFUSED");
	/* Lower than all that it is and is to become: none of the interlock's business. */
	assert_int_equal(set(r, HV, 0, false, NULL), 0);
	done(r, POWER, 1, false);
	done(r, HV, 1460, false);
	/* It is just being switched off. */
	assert_int_equal(rig_set(r, POWER, 0, &id), 0);
	assert_int_equal(set(r, HV, 1470, false, &error), -EPERM);
	assert_non_null(strstr(error.message, "which command 10 switches off"));
	rig_destroy(r);
}

static void test_not_known(void **state)
{
	struct rig *r = rig_create(1);
	struct param *power = NULL;

	r->power_unknown = true;
	rig_run(r, 31000);
	refused(r, HV, 1450, "is unknown (stale)");
	rig_crash(r);
	refused(r, HV, 1450, "is unknown (never)");
	done(r, HV, 1450, true);
	/* Known that it was 1450: what is lower goes, what is as high or higher does not. */
	refused(r, HV, 1450, "is unknown");
	done(r, HV, 1300, false);
	refused(r, HV, 1301, "is unknown");
	done(r, HV, 0, false);
	assert_int_equal(params_find(r->params, POWER, &power, NULL), 0);
	param_put_bad(power);
	refused(r, HV, 1301, "is unknown (bad)");
	rig_destroy(r);
}

/* What it was set to before its FCM booted, or while its link was away, makes no raise safer. */
static void test_forgotten_setpoint(void **state)
{
	struct rig *r = rig_create(1);

	done(r, HV, 1450, false);
	r->floors[0].power[2] = r->floors[0].hv_set[2] = 0;
	rig_boot(r, 0);
	rig_run(r, 1000);
	done(r, "floor1.om3.threshold", 12, false); /* whose reply tells the boot */
	refused(r, HV, 1400, "which is off");
	done(r, POWER, 1, false);
	done(r, HV, 1450, false);
	rig_link(r, 0, false);
	rig_run(r, 100);
	r->floors[0].power[2] = r->floors[0].hv_set[2] = 0;
	rig_link(r, 0, true);
	rig_run(r, 2000);
	refused(r, HV, 1400, "which is off");
	rig_destroy(r);
}

/* An old reading of the set value makes no raise safer: another shore may have set it since. */
static void test_stale_setpoint(void **state)
{
	struct rig *r = rig_create(1);

	r->power_unknown = r->settings_unknown = true;
	done(r, HV, 1450, true);
	rig_run(r, 60000);
	r->floors[0].hv_set[2] = 0;
	refused(r, HV, 1400, "is unknown");
	done(r, HV, 0, false); /* the safest value, whatever it is */
	r->power_unknown = r->settings_unknown = false;
	rig_run(r, 2000);
	done(r, HV, 1400, false);
	r->power_unknown = true;
	rig_run(r, 60000);
	refused(r, HV, 1450, "is unknown");
	done(r, HV, 1300, false); /* it is read as set to more */
	rig_destroy(r);
}

/* The refusal asks for what was not known: the next try a moment later may pass. */
static void test_asks(void **state)
{
	struct rig *r = rig_create(1);
	struct param *power = NULL;

	assert_int_equal(params_find(r->params, POWER, &power, NULL), 0);
	power->next_poll_ns = UINT64_MAX;
	power->has_value = false;
	r->power_unknown = true;
	refused(r, HV, 1450, "is unknown (never)");
	assert_true(power->next_poll_ns <= r->now.mono_ns);
	rig_destroy(r);
}

/* What waits in the queue counts, too: safer is what is lower than all of it. */
static void test_safer_than_the_queue(void **state)
{
	struct rig *r = rig_create(1);
	uint64_t id;

	done(r, HV, 1450, false);
	r->floors[0].power[2] = 0;
	rig_run(r, 2000);
	assert_int_equal(rig_set(r, HV, 500, &id), 0);
	assert_int_equal(rig_set(r, HV, 800, &id), -EPERM);
	assert_int_equal(rig_set(r, HV, 400, &id), 0);
	rig_destroy(r);
}

static void says(struct rig *r, uint64_t id, const char *words)
{
	if (!strstr(r->commands[id].detail, words)) {
		fail_msg("command %llu: %s", (unsigned long long)id, r->commands[id].detail);
	}
}

/* It was taken before, and its turn comes when it would not be any more. */
static void test_asked_again(void **state)
{
	struct rig *r = rig_create(1);
	struct engine_request forced = {.parameter = "floor1.om3.power", .value = 1, .force = true};
	uint64_t rate, reset, up, higher, forced_on;

	r->floors[0].deaf = true;
	rig_set(r, "floor1.om2.ramp", 200, &rate);
	rig_run(r, 10);
	assert_int_equal(rig_submit(r,
				    (struct engine_request){.parameter = "floor1.om4.power",
							    .value = 1,
							    .after = rate},
				    &reset, NULL),
			 0);
	forced.after = rate;
	assert_int_equal(rig_submit(r, forced, &forced_on, NULL), 0);
	rig_run(r, 10);
	engine_run(r->e, 41);
	r->floors[0].deaf = false;
	rig_run(r, 5000);
	rig_expect(r, rate, "QUEUED SENT UNKNOWN UNKNOWN SENT ACKED DONE", 1);
	rig_expect(r, reset, "QUEUED REFUSED", 0);
	says(r, reset, "is dangerous, and run 41 is under way; nothing was sent");
	rig_expect(r, forced_on, "QUEUED SENT ACKED DONE", 1);
	engine_run(r->e, 0);
	/* Its module was switched off while it waited behind a ramp. */
	rig_set(r, HV, 1700, &up);
	rig_run(r, 500);
	assert_int_equal(rig_set(r, HV, 1750, &higher), 0);
	rig_run(r, 10);
	r->floors[0].power[2] = 0;
	rig_run(r, 40000);
	rig_expect(r, up, "QUEUED SENT ACKED FAILED", 1);
	rig_expect(r, higher, "QUEUED REFUSED", 0);
	says(r, higher, "which is off; nothing was sent");
	rig_destroy(r);
}

static void test_run(void **state)
{
	struct rig *r = rig_create(1);
	struct sc_error error = {0};
	uint64_t id;

	done(r, "floor1.om4.power", 0, false);
	engine_run(r->e, 41);
	refused(r, "floor1.om4.power", 1, "is dangerous, and run 41 is under way");
	assert_int_equal(
		rig_submit(r,
			   (struct engine_request){.parameter = "floor1.fcm.reset", .action = true},
			   &id, &error),
		-EPERM);
	assert_non_null(strstr(error.hint, "--force"));
	assert_int_equal(r->floors[0].boot, 7);
	done(r, HV, 1460, false); /* careful is not dangerous */
	done(r, POWER, 0, false); /* makes safer */
	done(r, "floor1.om4.power", 1, true);
	assert_int_equal(rig_submit(r,
				    (struct engine_request){.parameter = "floor1.fcm.reset",
							    .action = true,
							    .force = true},
				    &id, NULL),
			 0);
	rig_run(r, 5000);
	assert_int_equal(r->floors[0].boot, 8);
	engine_run(r->e, 0);
	done(r, POWER, 1, false);
	rig_destroy(r);
}

/* HV down does not wait for a ramp up, nor for what waits behind that. */
static void test_gives_way(void **state)
{
	struct rig *r = rig_create(1);
	uint64_t up, higher, lower, as_low, down, again;

	rig_set(r, HV, 1700, &up);
	rig_run(r, 500);
	assert_string_equal(r->commands[up].state, "ACKED");
	rig_set(r, HV, 1750, &higher);
	rig_run(r, 100);
	rig_expect(r, higher, "QUEUED", 0);
	rig_set(r, HV, 300, &lower);
	rig_run(r, 20);
	rig_expect(r, up, "QUEUED SENT ACKED FAILED", 1);
	says(r, up, "took over: read-back 15"); /* how far it had come */
	says(r, up, "command 3, which makes it safer,");
	rig_expect(r, higher, "QUEUED CANCELLED", 0);
	says(r, higher, "cancelled by command 3");
	assert_int_equal(r->floors[0].hv_set[2], 3000);
	/* The same or more waits for its turn, as ever; less does not. */
	rig_set(r, HV, 300, &as_low);
	rig_set(r, HV, 0, &down);
	rig_set(r, HV, 0, &again);
	rig_run(r, 20);
	rig_expect(r, lower, "QUEUED SENT ACKED FAILED", 1);
	rig_expect(r, as_low, "QUEUED CANCELLED", 0);
	assert_string_equal(r->commands[down].state, "ACKED");
	rig_expect(r, again, "QUEUED", 0);
	rig_run(r, 30000);
	rig_expect(r, down, "QUEUED SENT ACKED DONE", 1);
	rig_expect(r, again, "QUEUED SENT ACKED DONE", 1);
	rig_destroy(r);
}

/* One whose word was lost is asked for, and then not sent again. */
static void test_lost_gives_way(void **state)
{
	struct rig *r = rig_create(1);
	uint64_t up, down;

	r->lose_down = 1000;
	rig_set(r, HV, 1700, &up);
	rig_run(r, 100);
	r->lose_down = 0;
	rig_set(r, HV, 0, &down);
	rig_run(r, 100);
	rig_expect(r, up, "QUEUED SENT", 0); /* it may have been executed: it is asked for */
	rig_run(r, 1000);
	rig_expect(r, up, "QUEUED SENT UNKNOWN UNKNOWN CANCELLED", 0);
	says(r, up, "not executed, and not sent again: command 2");
	rig_run(r, 30000);
	rig_expect(r, down, "QUEUED SENT ACKED DONE", 1);
	assert_int_equal(r->floors[0].hv[2], 0);
	rig_destroy(r);
}

static void stop(struct rig *r, uint64_t id, uint64_t *ret_stop)
{
	struct engine_request by = {.who = "me", .origin = "local"};

	if (engine_cancel(r->e, id, &by, r->now, ret_stop, NULL) < 0) {
		fail_msg("command %llu cannot be stopped", (unsigned long long)id);
	}
	rig_drain(r);
}

/* A ramp is stopped where it is, by a command of its own, which also ends what waits behind it. */
static void test_stop_ramp(void **state)
{
	struct rig *r = rig_create(1);
	uint64_t up, behind, by, down;
	int32_t at;

	rig_set(r, "floor1.om2.ramp", 200, &up); /* what the rig's module really does */
	rig_run(r, 1000);
	rig_set(r, HV, 1700, &up);
	rig_run(r, 500);
	assert_non_null(strstr(r->text, "% of the way, about "));
	rig_set(r, HV, 1750, &behind);
	rig_run(r, 10);
	at = r->floors[0].hv[2];
	stop(r, up, &by);
	assert_true(by > 0);
	rig_run(r, 20000);
	rig_expect(r, up, "QUEUED SENT ACKED CANCELLED", 1);
	says(r, up, "stopped on its way: command 4 holds it at 15");
	rig_expect(r, behind, "QUEUED CANCELLED", 0);
	says(r, behind, "cancelled by command 4, which holds the value where it is");
	rig_expect(r, by, "QUEUED SENT ACKED DONE", 1);
	assert_string_equal(r->commands[by].reason, "stops command 2");
	assert_in_range(r->floors[0].hv[2], at - 20, at + 20); /* 2 V */
	/* Down as well. */
	rig_set(r, HV, 100, &down);
	rig_run(r, 1000);
	at = r->floors[0].hv[2];
	stop(r, down, &by);
	rig_run(r, 20000);
	rig_expect(r, down, "QUEUED SENT ACKED CANCELLED", 1);
	rig_expect(r, by, "QUEUED SENT ACKED DONE", 1);
	assert_in_range(r->floors[0].hv[2], at - 20, at + 20);
	rig_destroy(r);
}

static int try_stop(struct rig *r, uint64_t id, struct sc_error *error)
{
	struct engine_request by = {.who = "me", .origin = "local"};
	uint64_t stop;
	int result = engine_cancel(r->e, id, &by, r->now, &stop, error);

	rig_drain(r);
	return result;
}

/* What makes safer takes over from a ramp: nobody stops that any more, and the HV does not go up again. */
static void test_stop_never_undoes_safer(void **state)
{
	struct rig *r = rig_create(1);
	struct sc_error error = {0};
	uint64_t up, down;

	rig_set(r, HV, 1700, &up);
	rig_run(r, 500);
	r->store_us = 80000;
	rig_set(r, HV, 0, &down); /* waits for the journal */
	rig_run(r, 50);
	assert_int_equal(try_stop(r, up, &error), -EBUSY);
	assert_non_null(strstr(error.message, "command 2, which makes it safer, takes over"));
	rig_run(r, 30000);
	rig_expect(r, down, "QUEUED SENT ACKED DONE", 1);
	assert_int_equal(r->floors[0].hv[2], 0);
	assert_int_equal(r->last_id, down);
	rig_destroy(r);
}

/* It ends before the stop can leave: the stop ends too, and nothing goes back to the old value. */
static void test_stop_too_late(void **state)
{
	struct rig *r = rig_create(1);
	uint64_t up, by;

	rig_set(r, HV, 1700, &up);
	rig_run(r, 1000);
	assert_string_equal(r->commands[up].state, "ACKED");
	r->store_us = 5000000;
	stop(r, up, &by);
	rig_run(r, 30000);
	rig_expect(r, up, "QUEUED SENT ACKED DONE", 1);
	rig_expect(r, by, "QUEUED CANCELLED", 0);
	says(r, by, "command 1, which it was to stop, has ended DONE");
	assert_int_equal(r->floors[0].hv_set[2], 17000);
	rig_destroy(r);
}

/* A stop is a command as any: it needs room, a link and the journal. */
static void test_stop_is_checked(void **state)
{
	struct rig *r = rig_create(1);
	struct sc_error error = {0};
	uint64_t up, id;

	r->config.commands_max = 1;
	rig_crash(r);
	rig_run(r, 1000);
	rig_set(r, HV, 1700, &up);
	rig_run(r, 500);
	assert_int_equal(rig_set(r, "floor1.om3.hv", 0, &id), 0);
	assert_int_equal(try_stop(r, up, &error), -EAGAIN);
	rig_link(r, 0, false);
	assert_int_equal(try_stop(r, up, &error), -ENOLINK);
	engine_journal_lost(r->e, -EIO);
	assert_int_equal(try_stop(r, up, &error), -EIO);
	rig_run(r, 20);
	assert_int_equal(r->last_id, id);
	rig_destroy(r);
}

/* The site's soft limits are for who raises: 0 V lies outside of them, and is safer. */
static void test_safer_than_soft(void **state)
{
	struct rig *r = rig_create(1);
	struct param *hv = NULL;
	struct param_kind kind;
	struct sc_error error = {0};

	assert_int_equal(params_find(r->params, HV, &hv, NULL), 0);
	kind = *hv->kind;
	kind.soft_min = 700;
	kind.soft_max = 1500;
	hv->kind = &kind;
	done(r, HV, 1450, false);
	assert_int_equal(set(r, HV, 1501, false, &error), -ERANGE);
	done(r, HV, 300, false);
	assert_int_equal(set(r, HV, 400, false, &error), -ERANGE); /* up, and outside */
	done(r, HV, 0, false);
	assert_int_equal(set(r, HV, -1, false, &error), -ERANGE); /* the hardware's */
	rig_destroy(r);
}

/* It trips on the way: that is the end, and its text names the trip. */
static void test_trip_on_the_ramp(void **state)
{
	struct rig *r = rig_create(1);
	struct param *trip = NULL;
	uint64_t up;

	assert_int_equal(params_find(r->params, "floor1.om2.trip", &trip, NULL), 0);
	rig_set(r, HV, 1700, &up);
	rig_run(r, 500);
	r->floors[0].trip[2] = 1;
	param_put_raw(trip, 1, r->now.utc_ns, r->now.mono_ns);
	rig_run(r, 500);
	rig_expect(r, up, "QUEUED SENT ACKED FAILED", 1);
	says(r, up, "tower1.floor1.om2.trip is on");
	rig_destroy(r);
}

/* It waits for the command before it, and goes only when that is done. */
static void test_after(void **state)
{
	struct rig *r = rig_create(1);
	struct engine_request q = {.parameter = HV, .value = 1500};
	struct sc_error error = {0};
	uint64_t rate, hv;

	rig_set(r, "floor1.om2.ramp", 50, &rate);
	q.after = rate;
	assert_int_equal(rig_submit(r, q, &hv, NULL), 0);
	rig_run(r, 20000);
	rig_expect(r, hv, "QUEUED SENT ACKED DONE", 1);
	assert_int_equal(rig_submit(r, q, &hv, &error), -ECANCELED); /* that one has ended */
	r->floors[0].deaf = true;
	rig_set(r, "floor1.om2.ramp", 60, &rate);
	q.after = rate;
	q.value = 1600;
	assert_int_equal(rig_submit(r, q, &hv, NULL), 0);
	rig_run(r, 3000);
	rig_expect(r, hv, "QUEUED", 0);
	rig_boot(r, 0);
	r->floors[0].deaf = false;
	rig_run(r, 5000); /* it cannot remember: the register is read, and is not as set */
	assert_string_equal(r->commands[rate].state, "FAILED");
	rig_expect(r, hv, "QUEUED CANCELLED", 0);
	says(r, hv, "before it ended FAILED");
	rig_destroy(r);
}

/* The one before it was executed, as is known an hour later: too late for what waited for that. */
static void test_after_too_late(void **state)
{
	struct rig *r = rig_create(1);
	struct engine_request q = {.parameter = HV, .value = 1600};
	uint64_t rate, hv;

	rig_run(r, 1000);
	r->floors[0].mute = true;
	rig_set(r, "floor1.om2.ramp", 60, &rate);
	q.after = rate;
	assert_int_equal(rig_submit(r, q, &hv, NULL), 0);
	rig_run(r, 3600000);
	assert_false(r->commands[rate].ended);
	r->floors[0].mute = false;
	rig_run(r, 30000);
	assert_string_equal(r->commands[rate].state, "DONE");
	rig_expect(r, hv, "QUEUED FAILED", 0);
	says(r, hv, "its floor does not answer");
	rig_destroy(r);
}

/* All is full, the window and the queue: what makes safer is taken, and is the next word. */
static void test_full(void **state)
{
	static const char *const names[] = {"threshold", "ramp"};
	struct rig *r = rig_create(1);
	uint64_t id, down;
	char name[40];

	r->config.commands_max = 100;
	rig_crash(r);
	rig_run(r, 10);
	r->delay_us = 100000;
	for (unsigned n = 0; n < r->config.commands_max; n++) {
		snprintf(name, sizeof(name), "floor1.om%u.%s", n % 6, names[n / 6 % 2]);
		assert_int_equal(rig_set(r, name, 10 + n % 50, &id), 0);
	}
	assert_int_equal(rig_set(r, "floor1.om0.threshold", 10, &id), -EAGAIN);
	assert_int_equal(rig_set(r, HV, 1500, &id), -EAGAIN);
	rig_run(r, 50);
	assert_int_equal(rig_inside(r, 0)->flights, WINDOW);
	assert_int_equal(rig_set(r, HV, 0, &down), 0);
	rig_run(r, 10);
	assert_int_equal(rig_inside(r, 0)->flights, WINDOW + 2); /* and the READ behind it */
	rig_run(r, 200);
	assert_int_equal(r->floors[0].hv_set[2], 0);
	/* It has room of its own, not all the room there is. */
	for (unsigned n = 1; n < r->config.commands_max; n++) {
		assert_int_equal(rig_set(r, HV, 0, &id), 0);
	}
	assert_int_equal(rig_set(r, HV, 0, &id), -EAGAIN);
	rig_destroy(r);
}

static int as_job(struct rig *r, const char *name, uint64_t job, uint64_t after, uint64_t *ret_id)
{
	struct engine_request q = {.parameter = name, .job = job, .after = after};

	return rig_submit(r, q, ret_id, NULL);
}

/* Nothing less safe, not even with force, on a module that is being made safe; nothing of that is taken back. */
static void a_module_being_made_safe_is_left_alone(void **state)
{
	static const struct {
		const char *name;
		bool action;
		double value;
		int result;
	} cases[] = {
		{HV, false, 1000, -EPERM},
		{POWER, false, 1, -EPERM},
		{"floor1.om2.reset", true, 0, -EPERM},
		{"floor1.om2.threshold", false, 12, 0}, /* neither safe nor unsafe */
		{HV, false, 0, 0},
		{"floor1.om3.hv", false, 1450, 0},
		{"floor1.om3.reset", true, 0, 0},
		{"floor2.om2.hv", false, 1450, 0},
	};
	struct rig *r = rig_create(1);
	struct sc_error error = {0};
	uint64_t job = engine_next_id(r->e, r->now), waiting, threshold, down, off, id;

	r->floors[0].deaf = true;
	rig_set(r, "floor1.om2.ramp", 100, &threshold);
	assert_int_equal(rig_submit(r,
				    (struct engine_request){.parameter = "floor1.om2.reset",
							    .action = true,
							    .after = threshold},
				    &waiting, NULL),
			 0);
	rig_run(r, 10);
	assert_int_equal(as_job(r, HV, job, 0, &down), 0);
	assert_int_equal(as_job(r, POWER, job, down, &off), 0);
	for (size_t n = 0; n < sizeof(cases) / sizeof(cases[0]); n++) {
		struct engine_request q = {.parameter = cases[n].name,
					   .value = cases[n].value,
					   .action = cases[n].action,
					   .force = true};

		if (rig_submit(r, q, &id, &error) != cases[n].result) {
			fail_msg("%s", cases[n].name);
		}
	}
	assert_int_equal(try_stop(r, off, &error), -EBUSY);
	assert_string_equal(error.code, "safe");
	r->floors[0].deaf = false;
	rig_until_end(r, waiting, 3000); /* it was taken before */
	rig_expect(r, waiting, "QUEUED REFUSED", 0);
	says(r, waiting, "takes the module down");
	rig_run(r, 20000);
	rig_expect(r, off, "QUEUED SENT ACKED DONE", 1);
	assert_int_equal(rig_set(r, POWER, 1, &id), 0);
	rig_destroy(r);
}

/* A power off that waits for the HV gives way to one that does not wait. */
static void what_waits_longer_gives_way(void **state)
{
	struct rig *r = rig_create(1);
	struct engine_request q = {.parameter = POWER};
	uint64_t down, waits, also, now;

	r->floors[0].slow = 20;
	rig_set(r, HV, 0, &down);
	q.after = down;
	assert_int_equal(rig_submit(r, q, &waits, NULL), 0);
	assert_int_equal(rig_submit(r, q, &also, NULL), 0);
	rig_run(r, 100);
	rig_expect(r, waits, "QUEUED", 0);
	rig_expect(r, also, "QUEUED", 0); /* both wait, in their order */
	rig_set(r, POWER, 0, &now);
	rig_run(r, 100);
	rig_expect(r, now, "QUEUED SENT ACKED DONE", 1);
	rig_expect(r, waits, "QUEUED CANCELLED", 0);
	rig_expect(r, also, "QUEUED CANCELLED", 0);
	assert_int_equal(r->floors[0].power[2], 0);
	rig_destroy(r);
}

/* A cancelled command leaves its parameter to the next one. */
static void the_next_on_the_parameter_goes_when_one_is_taken_back(void **state)
{
	struct rig *r = rig_create(1);
	uint64_t first, other, next, by;

	r->send_result = -EAGAIN;
	rig_set(r, "floor1.om2.threshold", 12, &first);
	rig_set(r, "floor1.om3.threshold", 13, &other);
	rig_set(r, "floor1.om2.threshold", 14, &next);
	rig_run(r, 10);
	stop(r, first, &by);
	assert_int_equal(by, 0);
	r->send_result = 0;
	rig_run(r, 100);
	rig_expect(r, first, "QUEUED CANCELLED", 0);
	says(r, first, "cancelled by me before it was sent");
	rig_expect(r, next, "QUEUED SENT ACKED DONE", 1);
	rig_expect(r, other, "QUEUED SENT ACKED DONE", 1);
	rig_destroy(r);
}

/* What is safest need not be 0: of the silence timer it is "on". */
static void only_what_is_less_safe_gives_way(void **state)
{
	static const char timer[] = "floor1.fcm.silence_timer";
	struct rig *r = rig_create(1);
	uint64_t off, on, also;

	r->send_result = -EAGAIN;
	rig_set(r, timer, 0, &off);
	rig_set(r, timer, 1, &on);
	rig_set(r, timer, 1, &also);
	rig_run(r, 20);
	r->send_result = 0;
	rig_run(r, 100);
	rig_expect(r, off, "QUEUED CANCELLED", 0);
	assert_string_equal(r->commands[on].states, "QUEUED SENT REFUSED"); /* the rig has none */
	assert_string_equal(r->commands[also].states, "QUEUED SENT REFUSED");
	rig_destroy(r);
}

static void urgent_ones_take_no_room_from_others(void **state)
{
	struct rig *r = rig_create(1);
	uint64_t id;

	r->config.commands_max = 4;
	rig_crash(r);
	rig_run(r, 10);
	r->send_result = -EAGAIN;
	for (unsigned n = 0; n < 4; n++) {
		assert_int_equal(rig_set(r, "floor1.om0.hv", 0, &id), 0);
	}
	for (unsigned n = 0; n < 4; n++) {
		assert_int_equal(rig_set(r, "floor1.om0.threshold", 12, &id), 0);
	}
	assert_int_equal(rig_set(r, "floor1.om0.threshold", 12, &id), -EAGAIN);
	rig_destroy(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unpowered),
		cmocka_unit_test(test_not_known),
		cmocka_unit_test(test_asks),
		cmocka_unit_test(test_forgotten_setpoint),
		cmocka_unit_test(test_stale_setpoint),
		cmocka_unit_test(test_safer_than_the_queue),
		cmocka_unit_test(test_run),
		cmocka_unit_test(test_asked_again),
		cmocka_unit_test(test_gives_way),
		cmocka_unit_test(test_stop_ramp),
		cmocka_unit_test(test_trip_on_the_ramp),
		cmocka_unit_test(test_after),
		cmocka_unit_test(test_after_too_late),
		cmocka_unit_test(test_lost_gives_way),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_stop_never_undoes_safer),
		cmocka_unit_test(test_stop_too_late),
		cmocka_unit_test(test_stop_is_checked),
		cmocka_unit_test(test_safer_than_soft),
		cmocka_unit_test(a_module_being_made_safe_is_left_alone),
		cmocka_unit_test(what_waits_longer_gives_way),
		cmocka_unit_test(the_next_on_the_parameter_goes_when_one_is_taken_back),
		cmocka_unit_test(only_what_is_less_safe_gives_way),
		cmocka_unit_test(urgent_ones_take_no_room_from_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
