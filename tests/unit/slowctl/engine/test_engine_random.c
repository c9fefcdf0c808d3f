/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The command engine under a random campaign: words and answers lost, doubled, late and out of order, FCMs
 * that boot, are busy, fall mute or deaf, links that go away, a board that gives words back, a disk that
 * refuses and keeps, and kill -9 of the daemon, all at once. FCM_SEEDS=n runs more of it, FCM_SEED=n one again.
 * At the end everything is healed, and then for every command of the journal: it has ended, it was executed at
 * most once, and what the journal says of it is true.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/slowctl/engine/engine_rig.h"

#define SEEDS	 40u
#define COMMANDS 120u

struct tally {
	unsigned ended[COMMAND_UNKNOWN + 1], executed, crashes, boots;
};

/* As a safe does: HV down, then power off; its FCM may be busy. */
static void make_safe(struct rig *r, unsigned floor, unsigned om)
{
	char name[64], reason[40];
	struct engine_request q = {.parameter = name, .reason = reason};
	uint64_t id;

	q.job = engine_next_id(r->e, r->now);
	snprintf(reason, sizeof(reason), "safe %llu", (unsigned long long)q.job);
	snprintf(name, sizeof(name), "floor%u.om%u.hv", floor, om);
	r->floors[floor - 1].busy += rig_random(r, 2) ? rig_random(r, 8) : 0;
	if (rig_submit(r, q, &q.after, NULL) == 0) {
		snprintf(name, sizeof(name), "floor%u.om%u.power", floor, om);
		rig_submit(r, q, &id, NULL);
	}
}

static void switch_on(struct rig *r, unsigned floor)
{
	char name[64];
	uint64_t id;

	for (unsigned om = 0; om < 6; om++) {
		snprintf(name, sizeof(name), "floor%u.om%u.power", floor, om);
		rig_set(r, name, 1, &id);
	}
}

/* Sets take a value of their own each, so that a value tells who wrote it. */
static void submit(struct rig *r, unsigned n)
{
	static const char *const actions[] = {"reset", "clear_trip", "power_cycle"};
	char name[64];
	unsigned floor = 1 + rig_random(r, 2), om = rig_random(r, 6);
	uint64_t id, stop;

	switch (rig_random(r, 10)) {
	case 9:
		make_safe(r, floor, om);
		break;
	case 0:
		snprintf(name, sizeof(name), "floor%u.om%u.%s", floor, om,
			 actions[rig_random(r, 3)]);
		rig_action(r, name, &id);
		break;
	case 1:
		if (rig_random(r, 4) == 0) {
			snprintf(name, sizeof(name), "floor%u.fcm.reset", floor);
			rig_action(r, name, &id);
			break;
		}
		/* fall through */
	case 2:
	case 3:
		snprintf(name, sizeof(name), "floor%u.om%u.ramp", floor, om);
		rig_set(r, name, 101 + n * 0.1, &id);
		break;
	case 4: /* makes safer: leaves first, ends what it undoes */
		snprintf(name, sizeof(name), "floor%u.om%u.hv", floor, om);
		rig_set(r, name, 1399 - n * 0.1, &id);
		break;
	case 5: /* takes back, or stops on its way, one of the last */
		if (engine_next_id(r->e, r->now) > 1) {
			uint64_t last = engine_next_id(r->e, r->now) - 1;

			id = last - rig_random(r, last < 8 ? (unsigned)last : 8);
			engine_cancel(r->e, id, &(struct engine_request){.who = "test"}, r->now,
				      &stop, NULL);
			rig_drain(r);
		}
		break;
	default:
		snprintf(name, sizeof(name), "floor%u.om%u.hv", floor, om);
		rig_set(r, name, 1401 + n * 0.1, &id);
		break;
	}
}

static void misfortune(struct rig *r, struct tally *t)
{
	unsigned f = rig_random(r, RIG_FLOORS);

	switch (rig_random(r, 40)) {
	case 0:
		rig_crash(r);
		t->crashes++;
		break;
	case 1:
		rig_boot(r, f);
		t->boots++;
		break;
	case 2:
		r->floors[f].mute = true;
		break;
	case 3:
		r->floors[f].deaf = true;
		break;
	case 4:
		rig_link(r, f, false);
		break;
	case 5:
		r->store_result = -28;
		break;
	case 6:
		r->store_us = rig_random(r, 200000);
		break;
	case 7:
		r->send_result = -11;
		break;
	case 14:
		r->refuse_words = 1 + rig_random(r, 3);
		break;
	case 8:
	case 9:
	case 10:
	case 11:
	case 12:
	case 13: /* things get better by themselves, too */
		r->floors[f].mute = r->floors[f].deaf = false;
		r->store_result = r->send_result = 0;
		r->store_us = 1000;
		switch_on(r, f + 1);
		rig_link(r, f, true);
		break;
	default:
		break;
	}
}

static void heal(struct rig *r)
{
	r->lose_down = r->lose_up = r->double_up = r->late_up = r->not_taken = 0;
	r->store_us = 1000;
	r->store_result = r->send_result = 0;
	r->refuse_words = 0;
	for (unsigned f = 0; f < RIG_FLOORS; f++) {
		r->floors[f].mute = r->floors[f].deaf = false;
		rig_link(r, f, true);
	}
	rig_run(r, 70000); /* a ramp whose rate is not known may take a minute */
}

static bool says(const struct rig_command *c, const char *text)
{
	return strstr(c->detail, text) != NULL;
}

static bool says_why(const struct rig_command *c, const char *text)
{
	return strncmp(c->reason, text, strlen(text)) == 0;
}

static void judge(struct rig *r, const struct rig_command *c, uint64_t seed, struct tally *t)
{
	unsigned executed = rig_executed(r, c->id);
	bool never = says(c, "not executed") || says(c, "not sent") ||
		     says(c, "nothing was sent") || !strcmp(c->state, "REFUSED") ||
		     (!strcmp(c->state, "CANCELLED") && !says(c, "stopped on its way"));
	enum command_state state;
	bool right = c->ended && executed <= 1 && command_state_parse(c->state, &state) == 0;

	if (right && !strcmp(c->state, "DONE")) {
		/* Of a reset the boot itself is the proof, whoever caused it. */
		right = executed == 1 || says(c, "the FCM has booted since") ||
			/* others set 0 and on, too: the register holds it when it has to be asked */
			(c->new_value <= 1 && strstr(c->states, "UNKNOWN")) ||
			says_why(c, "stops command"); /* where it had come to already */
	} else if (right && never) {
		right = executed == 0;
	} else if (right && !strcmp(c->state, "CANCELLED")) {
		right = executed == 1; /* a ramp, stopped by a command of its own */
	} else if (right && !strcmp(c->state, "FAILED")) {
		right = says(c, "read-back") || says(c, "not in effect") || says(c, "counter");
	} else if (right) {
		/* The end that nobody can avoid: an action, and a boot that wiped the traces, or too many words
		 * since. */
		right = !strcmp(c->state, "UNKNOWN") && c->action &&
			(r->floors[c->link].boot > RIG_FIRST_BOOT ||
			 says(c, "the FCM no longer remembers"));
	}
	if (!right) {
		fail_msg("seed %llu: command %llu %s: %s (%s), executed %u times",
			 (unsigned long long)seed, (unsigned long long)c->id, c->parameter,
			 c->states, c->detail, executed);
	}
	t->ended[state]++;
	t->executed += executed;
}

static void campaign(uint64_t seed, struct tally *t)
{
	struct rig *r = rig_create(seed);
	uint64_t journaled = 0, seen = 0;

	r->jitter_us = 3000;
	r->store_keeps = true;
	r->not_taken = rig_random(r, 2) ? rig_random(r, 100) : 0;
	r->lose_down = rig_random(r, 200);
	r->lose_up = rig_random(r, 200);
	r->double_up = rig_random(r, 200);
	r->late_up = rig_random(r, 50);
	for (unsigned n = 0; n < COMMANDS; n++) {
		submit(r, n);
		rig_run(r, rig_random(r, 60));
		misfortune(r, t);
	}
	heal(r);
	for (uint64_t id = 1; id <= r->last_id; id++) {
		const struct rig_command *c = &r->commands[id];

		if (c->known) {
			judge(r, c, seed, t);
			journaled++;
		}
	}
	/* What was executed is in the journal, all of it. */
	for (uint64_t id = 1; id <= r->last_id; id++) {
		seen += rig_executed(r, id);
	}
	assert_int_equal(seen, r->floors[0].writes + r->floors[1].writes);
	assert_true(journaled > 0);
	rig_destroy(r);
}

static void test_campaign(void **state)
{
	struct tally t = {0};
	const char *only = getenv("FCM_SEED"), *seeds = getenv("FCM_SEEDS");
	uint64_t last = seeds ? strtoull(seeds, NULL, 10) : SEEDS;

	if (only) {
		campaign(strtoull(only, NULL, 10), &t);
	} else {
		for (uint64_t seed = 1; seed <= last; seed++) {
			campaign(seed, &t);
		}
	}
	print_message("%u executed;", t.executed);
	for (unsigned s = COMMAND_DONE; s <= COMMAND_UNKNOWN; s++) {
		print_message(" %s %u", command_state_name(s), t.ended[s]);
	}
	print_message("; %u crashes, %u boots\n", t.crashes, t.boots);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_campaign)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
