/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The judge in virtual time: from a view of the station to incidents and what they cost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/core/text.h"
#include "judge_rig.h"

static struct judge_rig rig;
static const struct incident *i;

static int set_up(void **state)
{
	rig_open(&rig);
	return 0;
}

static int tear_down(void **state)
{
	rig_close(&rig);
	return 0;
}

static const char *headline(void)
{
	static char text[600];

	return incidents_headline(judge_incidents(rig.judge), text, sizeof(text));
}

static const char *word(void)
{
	return incidents_word(judge_incidents(rig.judge));
}

static void a_station_that_is_well_has_none(void **state)
{
	rig_run(&rig, 100);
	assert_int_equal(rig_count(&rig, INCIDENT_ACTIVE), 0);
	assert_string_equal(word(), "WELL");
	assert_string_equal(headline(), "nothing is wrong");
	assert_int_equal(rig.events, 0);
}

/* One cause, one entry, what it cost to the frame and to the module's second. */
static void a_cut_fibre_costs_its_frames_and_its_darkness(void **state)
{
	uint64_t begun;

	rig_cut(&rig, 1);
	rig_run(&rig, 0.1);
	begun = rig.v.now_ns;
	rig_run(&rig, 10);
	i = rig_only(&rig, INCIDENT_ACTIVE);
	assert_string_equal(rig_parts(&rig, i), "link-dark link1, link-loss link1 link-down");
	assert_string_equal(word(), "RED");
	assert_string_equal(headline(), "link1/link-dark: no light (explains 1 more)");
	assert_non_null(strstr(i->cause->action, "Check fibre and SFP"));
	assert_true(i->red && i->since_ns == begun && !i->over_ns && !*i->own);
	assert_int_equal(i->cost.frames, 101 * 800);
	assert_true(i->cost.dark_ns == 10 * 6 * RIG_S); /* six modules */
	rig_mend(&rig, 1);
	rig_lose(&rig, 1, TDM_LOSS_ALIGNMENT, 7); /* the lock is not there at once */
	rig_run(&rig, 4);
	i = rig_only(&rig, INCIDENT_CLEARED);
	assert_int_equal(i->parts, 3);
	assert_int_equal(i->cost.frames, 101 * 800 + 7);
	assert_true(i->cost.dark_ns == 10 * 6 * RIG_S);
	assert_int_equal(i->cost.hits + i->cost.dropped, 0);
	assert_true(i->over_ns > begun + 10 * RIG_S);
	assert_int_equal(i->number, 1);
	assert_string_equal(word(), "WELL");
	/* It is kept for ten minutes. */
	rig_run(&rig, 590);
	assert_int_equal(rig_count(&rig, INCIDENT_CLEARED), 1);
	rig_run(&rig, 10);
	assert_int_equal(rig_count(&rig, INCIDENT_CLEARED), 0);
}

/* A fact of the view is all that it needs: the model of a new incident (books/adding.md). */
static void a_leap_table_that_cannot_be_read(void **state)
{
	rig.v.leaps_error = -ENOENT;
	rig_run(&rig, 1);
	i = rig_only(&rig, INCIDENT_ACTIVE);
	assert_string_equal(rig_parts(&rig, i), "leap-table-missing clock");
	assert_string_equal(word(), "ATTENTION");
	assert_non_null(strstr(i->cause->text, "No such file"));
	assert_non_null(strstr(i->cause->action, "tzdata"));
	rig.v.leaps_error = 0;
	rig_run(&rig, 10);
	rig_only(&rig, INCIDENT_CLEARED);
	assert_string_equal(word(), "WELL");
}

static void an_old_cause_explains_no_new_loss(void **state)
{
	/* Before the cause: losses that go on are another's. */
	rig_lose(&rig, 0, TDM_LOSS_CRC, 3);
	rig_run(&rig, 2.5);
	rig_lose(&rig, 0, TDM_LOSS_CRC, 4);
	rig_cut(&rig, 0);
	rig_run(&rig, 2);
	assert_int_equal(rig_count(&rig, INCIDENT_ACTIVE), 2);
	rig_run(&rig, 3);
	i = rig_only(&rig, INCIDENT_CLEARED);
	assert_string_equal(rig_parts(&rig, i), "link-loss link0 crc");
	assert_int_equal(i->cost.frames, 7);
	rig_mend(&rig, 0);
	rig_run(&rig, 2.5);
	/* After it, though its own losses are not over yet. */
	rig_lose(&rig, 0, TDM_LOSS_CRC, 5);
	rig_run(&rig, 0.1);
	assert_int_equal(rig_count(&rig, INCIDENT_ACTIVE), 2);
	rig_run(&rig, 2);
	i = rig_only(&rig, INCIDENT_ACTIVE);
	assert_string_equal(rig_parts(&rig, i), "link-loss link0 crc");
	assert_int_equal(i->cost.frames, 5);
	/* Status shows losses of the last minute as one reason still. */
	rig_run(&rig, 10);
	assert_int_equal(rig_count(&rig, INCIDENT_ACTIVE), 0);
	assert_true(judge_has_reported(rig.judge, "link-loss", "link0"));
}

static void cleared_and_again_is_another_one(void **state)
{
	for (unsigned n = 1; n <= 3; n++) {
		rig_cut(&rig, 2);
		rig_run(&rig, 1);
		assert_int_equal(rig_only(&rig, INCIDENT_ACTIVE)->number, n);
		rig_mend(&rig, 2);
		rig_run(&rig, 5);
		assert_int_equal(rig_count(&rig, INCIDENT_CLEARED), n);
	}
	/* Again before it is cleared is the same one. */
	for (unsigned n = 0; n < 5; n++) {
		rig_cut(&rig, 2);
		rig_run(&rig, 1);
		rig_mend(&rig, 2);
		rig_run(&rig, 2.5);
	}
	i = rig_only(&rig, INCIDENT_ACTIVE);
	assert_int_equal(i->parts, 2);
	assert_int_equal(i->cost.frames, 5 * 10 * 800);
	assert_true(i->cost.dark_ns == 5 * 9 * 6 * RIG_S / 10);
}

static void links_that_go_dark_together_are_one_entry(void **state)
{
	for (unsigned link = 0; link < NANET3_LINKS; link++) {
		rig_cut(&rig, link);
	}
	rig_run(&rig, 5);
	i = rig_only(&rig, INCIDENT_ACTIVE);
	assert_int_equal(i->parts, 8);
	assert_int_equal(i->cost.frames, 4 * 50 * 800);
	assert_true(i->cost.dark_ns == 24 * 49 * RIG_S / 10);
}

static void an_operator_acknowledges_the_cause(void **state)
{
	const struct alarm_hand hand = {.who = "ann", .origin = "here"};

	rig_cut(&rig, 3);
	rig_run(&rig, 1);
	assert_int_equal(
		alarms_acknowledge(judge_alarms(rig.judge), "link3", "link-dark", &hand, NULL), 0);
	rig_run(&rig, 5);
	i = rig_only(&rig, INCIDENT_ACKNOWLEDGED);
	assert_string_equal(i->acknowledged.who, "ann");
	assert_string_equal(word(), "RED"); /* it is true still */
	rig.boot = (struct boots_floor){1, 3, 8, rig.v.now_ns};
	rig.v.link[2].boot = &rig.boot;
	rig_run(&rig, 1);
	assert_false(rig_only(&rig, INCIDENT_ACTIVE)->red);
	assert_non_null(strstr(headline(), "link3/link-dark")); /* what makes the word red */
	rig.v.link[2].boot = NULL;
	rig_run(&rig, 5);
	rig_cut(&rig, 0); /* another one is listed above it */
	rig_run(&rig, 3);
	assert_non_null(strstr(headline(), "link0/link-dark"));
	rig_mend(&rig, 0);
	rig_mend(&rig, 3);
	rig_run(&rig, 5);
	assert_int_equal(rig_count(&rig, INCIDENT_CLEARED), 3);
}

static void what_is_paused_does_not_count(void **state)
{
	const struct alarm_hand hand = {.who = "ann", .text = "known"};
	struct engine_now now;

	rig_cut(&rig, 3);
	rig_run(&rig, 1);
	now = (struct engine_now){rig.v.now_ns, rig.v.utc_ns};
	assert_int_equal(
		alarms_pause(judge_alarms(rig.judge), "link3", "link-dark", 600, &hand, now, NULL),
		0);
	assert_int_equal(
		alarms_pause(judge_alarms(rig.judge), "link3", "link-loss", 600, &hand, now, NULL),
		0);
	rig_run(&rig, 1);
	assert_string_equal(word(), "WELL");
	assert_int_equal(rig_count(&rig, INCIDENT_PAUSED), 1);
}

/* What a paused cause explains does not count either; a pause of a warning does not cover what is red. */
static void a_paused_cause_covers_what_it_explains(void **state)
{
	const struct alarm_hand hand = {.who = "ann", .text = "known"};

	rig_cut(&rig, 3);
	rig_run(&rig, 1);
	assert_int_equal(alarms_pause(judge_alarms(rig.judge), "link3", "link-dark", 600, &hand,
				      (struct engine_now){rig.v.now_ns, rig.v.utc_ns}, NULL),
			 0);
	rig_run(&rig, 20); /* the losses go on, the values become old */
	assert_true(rig_only(&rig, INCIDENT_PAUSED)->parts > 1);
	assert_string_equal(word(), "WELL");
	rig_cut(&rig, 1);
	rig_run(&rig, 1);
	assert_string_equal(word(), "RED");
}

/* "reset by ann at 15:12:03", of now; valid until the fourth call after it. */
static const char *now_did(const char *did)
{
	static char texts[4][80];
	static unsigned next;
	char date[32];

	text_utc(date, sizeof(date), rig.v.utc_ns);
	next = (next + 1) % 4;
	snprintf(texts[next], sizeof(texts[next]), "%s at %s", did, strchr(date, ' ') + 1);
	return texts[next];
}

/* Our command to the link, just now; what is to be said of it. */
static const char *we_do(unsigned link, const char *did)
{
	rig.v.link[link].own = did;
	rig.v.link[link].own_ns = rig.v.now_ns;
	return now_did(did);
}

static void a_command_of_ours_is_named(void **state)
{
	const char *said = we_do(1, "reset by ann");

	rig_cut(&rig, 1);
	rig_run(&rig, 1);
	assert_string_equal(rig_only(&rig, INCIDENT_ACTIVE)->own, said);
	rig_mend(&rig, 1);
	rig_run(&rig, 5);
	assert_string_equal(rig_only(&rig, INCIDENT_CLEARED)->own, said);
	/* An old command did nothing of this. */
	rig_cut(&rig, 1);
	rig_run(&rig, 1);
	assert_string_equal(rig_only(&rig, INCIDENT_ACTIVE)->own, "");
}

/* One soon after the other; of one that is repeated the last. */
static void two_commands_are_both_named(void **state)
{
	const char *reset, *align;
	char both[80];

	we_do(2, "reset by bert");
	rig_run(&rig, 1.5);
	reset = we_do(2, "reset by bert");
	rig_run(&rig, 1.5);
	align = we_do(2, "align by ann");
	rig_lose(&rig, 2, TDM_LOSS_ALIGNMENT, 7);
	rig_run(&rig, 0.1);
	snprintf(both, sizeof(both), "%s, %s", reset, align);
	assert_string_equal(rig_only(&rig, INCIDENT_CLEARED)->own, both);
	rig_run(&rig, 60);
	align = we_do(2, "align by ann");
	rig_lose(&rig, 2, TDM_LOSS_ALIGNMENT, 7);
	rig_run(&rig, 0.1);
	assert_string_equal(incidents_list(judge_incidents(rig.judge), &(size_t){0})[0]->own,
			    align);
}

static struct param *of(const char *name)
{
	struct param *p = NULL;

	assert_int_equal(params_find(rig.params, name, &p, NULL), 0);
	return p;
}

/* It is read as set to 0; `who` NULL: by no command of ours. */
static void set_0(const char *name, const char *who, bool safe)
{
	struct param *p = of(name);

	rig_read(&rig, name, 0);
	param_put_setpoint(p, 1, rig.v.now_ns);
	param_put_setpoint(p, 0, rig.v.now_ns);
	assert_string_equal(p->by.who, "");
	if (who) {
		snprintf(p->by.who, sizeof(p->by.who), "%s", who);
		p->by.safe = safe;
		p->by.time_ns = rig.v.utc_ns;
	}
}

static void what_we_have_switched_off_is_ours(void **state)
{
	static const char off[] = "modules are switched off and see nothing";
	const char *hv = now_did("hv 0 by ann"), *power;
	char text[240], own[80];

	set_0("floor3.om0.hv", "ann", false);
	rig_run(&rig, 4);
	i = rig_only(&rig, INCIDENT_ACTIVE);
	assert_string_equal(word(), "ATTENTION");
	assert_string_equal(i->own, hv);
	snprintf(text, sizeof(text), "%s: om0 (powered); %s", off, hv);
	assert_string_equal(i->cause->text, text);
	assert_string_equal(i->cause->action,
			    "to switch it on: fcmctl set floor3.om0.power on, then fcmctl set "
			    "floor3.om0.hv VOLTS");
	power = now_did("power off by bert");
	set_0("floor3.om1.power", "bert", false);
	rig_run(&rig, 1);
	snprintf(own, sizeof(own), "%s, %s", hv, power);
	assert_string_equal(i->own, own);
	assert_null(strstr(i->cause->action, "nobody"));
	/* One more, and who knows by whom. */
	set_0("floor3.om2.power", NULL, false);
	rig_run(&rig, 1);
	snprintf(text, sizeof(text), "%s: om0 (powered), om1, om2", off);
	assert_string_equal(i->cause->text, text);
	assert_string_equal(i->cause->action,
			    "if nobody has switched it off: fcmctl command list; to switch it on: "
			    "fcmctl set 'floor3.om[012].power' on, then fcmctl set "
			    "'floor3.om[012].hv' VOLTS");
}

static void safe_is_named_once(void **state)
{
	const char *said = now_did("safe by ann");

	set_0("floor3.om0.hv", "ann", true);
	set_0("floor3.om1.hv", "ann", true);
	rig_run(&rig, 4);
	set_0("floor3.om0.power", "ann", true);
	rig_run(&rig, 1);
	assert_string_equal(rig_only(&rig, INCIDENT_ACTIVE)->own, said);
}

/* "safe by anna at ..." does not name ann; nor does a reset of hers replace one of anna's. */
static void names_that_begin_alike_are_two(void **state)
{
	const char *anna = now_did("safe by anna"), *ann = now_did("safe by ann"), *first;
	char both[80];

	set_0("floor3.om0.hv", "anna", true);
	set_0("floor3.om1.hv", "ann", true);
	rig_run(&rig, 4);
	snprintf(both, sizeof(both), "%s, %s", anna, ann);
	assert_string_equal(rig_only(&rig, INCIDENT_ACTIVE)->own, both);
	rig_read(&rig, "floor3.om0.hv", 1400);
	param_put_setpoint(of("floor3.om0.hv"), 1400, rig.v.now_ns);
	rig_read(&rig, "floor3.om1.hv", 1400);
	param_put_setpoint(of("floor3.om1.hv"), 1400, rig.v.now_ns);
	rig_run(&rig, 700);
	first = we_do(1, "reset by anna");
	rig_run(&rig, 1);
	ann = we_do(1, "reset by ann");
	rig_lose(&rig, 1, TDM_LOSS_LINK_DOWN, 7);
	rig_run(&rig, 0.1);
	snprintf(both, sizeof(both), "%s, %s", first, ann);
	assert_string_equal(rig_only(&rig, INCIDENT_CLEARED)->own, both);
}

static void ours(unsigned link)
{
	we_do(link, "reset by ann");
}

/* It is counted and named. */
static void what_our_command_costs_is_expected(void **state)
{
	const char *said = we_do(2, "reset by ann");
	char text[160];

	rig_lose(&rig, 2, TDM_LOSS_LINK_DOWN, 60);
	rig_run(&rig, 1);
	rig_lose(&rig, 2, TDM_LOSS_LINK_DOWN, 19);
	rig_lose(&rig, 2, TDM_LOSS_ALIGNMENT, 3);
	rig_run(&rig, 0.1);
	assert_string_equal(word(), "WELL");
	i = rig_only(&rig, INCIDENT_CLEARED);
	assert_string_equal(i->own, said);
	assert_int_equal(i->cost.frames, 82);
	assert_true(!i->red && i->over_ns > 0 && i->over_ns <= rig.v.now_ns);
	snprintf(text, sizeof(text), "79 frames lost in 1.0 s: link-down (%s)", said);
	assert_string_equal(i->cause->text, text);
	assert_string_equal(i->cause->action, "");
	assert_int_equal(rig.boxes, 0);
	snprintf(text, sizeof(text),
		 "info link-loss: more frames were lost, until now: 79 link-down, 3 alignment: %s",
		 said);
	assert_string_equal(rig.said, text);
	rig_run(&rig, 60);
	i = rig_only(&rig, INCIDENT_CLEARED);
	assert_int_equal(i->cost.frames, 82);
	assert_int_equal(i->parts, 2);
	/* Of two links they are two, however near. */
	ours(1);
	rig_lose(&rig, 1, TDM_LOSS_LINK_DOWN, 80);
	rig_run(&rig, 0.5);
	rig_lose(&rig, 3, TDM_LOSS_LINK_DOWN, 7);
	rig_run(&rig, 0.1);
	assert_int_equal(rig_count(&rig, INCIDENT_CLEARED), 2);
	assert_string_equal(rig_parts(&rig, rig_only(&rig, INCIDENT_ACTIVE)),
			    "link-loss link3 link-down");
	assert_string_equal(rig.said, "red link-loss: frames are being lost: 7 link-down");
}

/* For hours: one incident, and each frame is charged once. */
static void a_long_row_is_one_incident(void **state)
{
	for (unsigned n = 0; n < 300; n++) {
		ours(2);
		rig_lose(&rig, 2, TDM_LOSS_LINK_DOWN, 79);
		rig_run(&rig, 2.5);
	}
	i = rig_only(&rig, INCIDENT_CLEARED);
	assert_int_equal(i->cost.frames, 300 * 79);
	assert_int_equal(i->number, 1);
	assert_true(rig.v.now_ns - i->over_ns < 3 * RIG_S);
	rig_run(&rig, 590);
	assert_int_equal(rig_count(&rig, INCIDENT_CLEARED), 1);
	rig_run(&rig, 15);
	assert_int_equal(rig_count(&rig, INCIDENT_CLEARED), 0);
}

/* A command that did not help ends nothing, and explains nothing of before. */
static void a_command_in_vain_changes_nothing(void **state)
{
	unsigned boxes, number;

	rig_cut(&rig, 2);
	rig.v.link[2].signal = true;
	rig_run(&rig, 60);
	number = rig_only(&rig, INCIDENT_ACTIVE)->number;
	boxes = rig.boxes;
	for (unsigned n = 0; n < 3; n++) {
		ours(2);
		rig_run(&rig, 10);
		i = rig_only(&rig, INCIDENT_ACTIVE);
		assert_int_equal(i->number, number);
		assert_string_equal(i->own, "");
		assert_string_equal(word(), "RED");
	}
	assert_int_equal(rig.boxes, boxes);
	assert_null(strstr(rig.said, "reset by ann"));
}

/* Each has its own cause. */
static void another_loss_of_the_same_moment_is_apart(void **state)
{
	ours(2);
	rig_lose(&rig, 2, TDM_LOSS_LINK_DOWN, 79);
	rig_lose(&rig, 2, TDM_LOSS_CRC, 5);
	rig_run(&rig, 0.2);
	assert_string_equal(rig_parts(&rig, rig_only(&rig, INCIDENT_CLEARED)),
			    "link-loss link2 link-down");
	assert_string_equal(rig_parts(&rig, rig_only(&rig, INCIDENT_ACTIVE)),
			    "link-loss link2 crc");
}

/* A few among many are a warning, more than one in a thousand are red; so is each that a group did not get. */
static void few_are_a_warning(void **state)
{
	rig.v.link[2].lost[TDM_GOOD] = 5000;
	rig_lose(&rig, 2, TDM_LOSS_ALIGNMENT, 5);
	rig_run(&rig, 0.1);
	assert_string_equal(word(), "ATTENTION");
	assert_string_equal(rig.said, "warning link-loss: frames are being lost: 5 alignment");
	i = rig_only(&rig, INCIDENT_ACTIVE);
	assert_string_equal(i->cause->text, "5 frames lost: alignment");
	assert_string_equal(i->cause->action, "the frame border moved; if it goes on without a "
					      "re-lock: fcmctl link align 2");
	rig_lose(&rig, 2, TDM_LOSS_ALIGNMENT, 1);
	rig_run(&rig, 0.1);
	assert_string_equal(word(), "RED");
	assert_string_equal(rig.said,
			    "red link-loss: more frames were lost, until now: 6 alignment");
	rig_run(&rig, 4);
	assert_string_equal(word(), "WELL");
	rig_drop(&rig, OUTCOME_DROP_NO_MEMBER, 3);
	rig_run(&rig, 0.1);
	assert_string_equal(word(), "RED");
	assert_string_equal(rig.said, "red consumer-dropping: frames are being lost: 3 no-member");
}

/* Neither other losses nor those that go on. */
static void no_other_loss_is_expected(void **state)
{
	unsigned boxes;
	const char *said;

	ours(2);
	rig_lose(&rig, 2, TDM_LOSS_LINK_DOWN, 82);
	rig_lose(&rig, 2, TDM_LOSS_CRC, 5);
	rig_run(&rig, 0.1);
	assert_string_equal(word(), "RED");
	rig_run(&rig, 70);
	assert_string_equal(word(), "WELL");
	said = we_do(2, "reset by ann");
	for (unsigned n = 0; n < 6; n++) {
		rig_lose(&rig, 2, TDM_LOSS_ALIGNMENT, 10);
		rig_run(&rig, 1);
		assert_string_equal(word(), n < 5 ? "WELL" : "RED");
	}
	assert_string_equal(rig_only(&rig, INCIDENT_ACTIVE)->own, said);
	rig_run(&rig, 70);
	/* A link that does not come back: at once without light, with light when it has had the time for a lock. */
	ours(2);
	rig_cut(&rig, 2);
	rig_run(&rig, 0.1);
	assert_string_equal(word(), "RED");
	rig_mend(&rig, 2);
	rig_run(&rig, 70);
	ours(2);
	rig_cut(&rig, 2);
	rig.v.link[2].signal = true;
	boxes = rig.boxes;
	rig_run(&rig, 1.9);
	assert_string_equal(word(), "WELL");
	assert_int_equal(rig.boxes, boxes);
	rig_run(&rig, 0.3);
	assert_string_equal(word(), "RED");
	assert_string_equal(rig_only(&rig, INCIDENT_ACTIVE)->cause->text, "light, but no lock");
}

/* One soon after the other: all are expected. */
static void a_row_of_our_commands_is_expected(void **state)
{
	for (unsigned n = 0; n < 8; n++) {
		ours(2);
		rig_lose(&rig, 2, TDM_LOSS_LINK_DOWN, 79);
		rig_lose(&rig, 2, TDM_LOSS_ALIGNMENT, 3);
		rig_run(&rig, 0.1);
		assert_string_equal(word(), "WELL");
		rig_run(&rig, 2.4);
	}
	assert_int_equal(rig_only(&rig, INCIDENT_CLEARED)->cost.frames, 8 * 82);
	for (unsigned n = 0; n < 6; n++) { /* nor do they come and go */
		rig_run(&rig, 7);
		assert_int_equal(rig_count(&rig, INCIDENT_CLEARED), n + 1);
		ours(2);
		rig_lose(&rig, 2, TDM_LOSS_LINK_DOWN, 79);
	}
	rig_run(&rig, 6);
	rig_lose(&rig, 2, TDM_LOSS_LINK_DOWN, 79);
	rig_run(&rig, 0.1);
	assert_string_equal(word(), "RED");
	assert_string_equal(rig_only(&rig, INCIDENT_ACTIVE)->own, "");
	assert_null(strstr(rig_only(&rig, INCIDENT_ACTIVE)->cause->text, "comes and goes"));
}

/* With light again it looks for its lock: that is no other cause until it has failed to find one. */
static void a_dark_link_was_dark_also_when_the_light_is_back(void **state)
{
	rig_cut(&rig, 1);
	rig_run(&rig, 5);
	rig.v.link[1].signal = true;
	rig_run(&rig, 0.5);
	i = rig_only(&rig, INCIDENT_ACTIVE);
	assert_string_equal(i->cause->text, "no light");
	assert_non_null(strstr(i->cause->action, "Check fibre"));
	rig_run(&rig, 1);
	assert_string_equal(i->cause->text, "light, but no lock");
	assert_non_null(strstr(i->cause->action, "link reset 1"));
	rig_mend(&rig, 1);
	rig_run(&rig, 10);
	rig_cut(&rig, 1);
	rig_run(&rig, 0.2);
	rig_mend(&rig, 1);
	rig_run(&rig, 0.2);
	rig.v.link[1].state = LINK_DARK; /* it has locked, and lost the lock: not the light */
	rig_run(&rig, 0.2);
	i = rig_only(&rig, INCIDENT_ACTIVE);
	assert_string_equal(i->cause->text, "light, but no lock");
}

/* The state is unknown until the new lock is judged; then the phase is where it was before the reset. */
static void a_step_is_one_incident_through_resets(void **state)
{
	struct phase_view *phase = &rig.v.link[1].phase;

	phase->last = (struct phase_judgement){
		.verdict = PHASE_JUMP, .step_ps = -353, .difference_ps = -348};
	phase->lock_ns = rig.v.now_ns;
	rig_run(&rig, 90);
	for (unsigned n = 0; n < 2; n++) {
		ours(1);
		phase->last = (struct phase_judgement){.verdict = PHASE_NONE};
		rig_cut(&rig, 1);
		rig_run(&rig, 1);
		rig_mend(&rig, 1);
		rig_run(&rig, 5);
		i = rig_only(&rig, INCIDENT_ACTIVE);
		assert_non_null(strstr(i->cause->text, "no new lock is judged"));
		phase->lock_ns = rig.v.now_ns;
		phase->last =
			(struct phase_judgement){.verdict = PHASE_JUMP, .difference_ps = -338};
		rig_run(&rig, 60);
		i = rig_only(&rig, INCIDENT_ACTIVE);
		assert_int_equal(i->number, 1);
		assert_string_equal(i->own, "");
		assert_string_equal(i->cause->text,
				    "the last re-lock came back -338 ps from the reference");
	}
	phase->last = (struct phase_judgement){.verdict = PHASE_PASS};
	rig_run(&rig, 5);
	assert_int_equal(rig_count(&rig, INCIDENT_ACTIVE), 0);
}

/* A lock in the middle of it makes no second one. */
static void a_drift_is_one_incident_through_a_lock(void **state)
{
	struct phase_view *phase = &rig.v.link[1].phase;

	*phase = (struct phase_view){.drifting = true,
				     .moved_ps = 540,
				     .farthest_ps = 540,
				     .difference_ps = 540,
				     .last = {.verdict = PHASE_DRIFT}};
	rig_run(&rig, 30);
	i = rig_only(&rig, INCIDENT_ACTIVE);
	assert_string_equal(i->cause->kind->code, "phase-drift");
	phase->drifting = false;
	phase->last = (struct phase_judgement){.verdict = PHASE_NONE};
	rig_cut(&rig, 1);
	rig_run(&rig, 5);
	rig_mend(&rig, 1);
	phase->last = (struct phase_judgement){
		.verdict = PHASE_DRIFT, .difference_ps = 558, .drifted = true};
	rig_run(&rig, 20);
	i = rig_only(&rig, INCIDENT_ACTIVE);
	assert_int_equal(i->number, 1);
	assert_string_equal(i->cause->kind->code, "phase-drift");
	assert_false(i->red);
	assert_string_equal(i->cause->text,
			    "the phase is +540 ps from the reference: it had drifted there before "
			    "the last re-lock");
	phase->difference_ps = 700; /* it goes on, as yet less than a drift of this lock */
	rig_run(&rig, 5);
	assert_true(rig_only(&rig, INCIDENT_ACTIVE)->red);
	phase->drifting = true; /* 360 from where the lock came back */
	phase->moved_ps = phase->farthest_ps = 360;
	phase->difference_ps = 900;
	rig_run(&rig, 5);
	assert_true(rig_only(&rig, INCIDENT_ACTIVE)->red);
	phase->drifting = false;
	phase->difference_ps = 160;
	rig_run(&rig, 5);
	assert_int_equal(rig_only(&rig, INCIDENT_ACTIVE)->number, 1);
	phase->difference_ps = 140; /* half way home, in the same lock */
	rig_run(&rig, 5);
	assert_int_equal(rig_count(&rig, INCIDENT_ACTIVE), 0);
	phase->difference_ps = 290; /* tolerated */
	phase->last.difference_ps = 290;
	rig_run(&rig, 5);
	assert_int_equal(rig_count(&rig, INCIDENT_ACTIVE), 0);
}

/* What cannot be seen any more stays, and is the board's. */
static void the_board_is_gone_and_back(void **state)
{
	uint64_t gone;

	rig.v.board.gone_ns = gone = rig.v.now_ns;
	rig.v.board.present = false;
	rig_run(&rig, 5);
	i = rig_only(&rig, INCIDENT_ACTIVE);
	assert_string_equal(rig_parts(&rig, i), "board-gone board");
	assert_true(i->cost.dark_ns == 24 * 49 * RIG_S / 10);
	rig.v.board.present = true;
	rig.v.board.back_ns = rig.v.board.restarted_ns = rig.v.now_ns;
	for (unsigned link = 0; link < NANET3_LINKS; link++) {
		rig_cut(&rig, link);
	}
	rig.v.clock.label.state = CLOCK_ACQUIRING;
	rig_run(&rig, 1);
	for (unsigned link = 0; link < NANET3_LINKS; link++) {
		rig_mend(&rig, link);
	}
	i = rig_only(&rig, INCIDENT_ACTIVE);
	assert_string_equal(i->cause->kind->code, "board-gone");
	assert_int_equal(i->parts, 1 + 1 + 8 + 1); /* gone, back, dark and loss, clock */
	assert_int_equal(i->cost.frames, 4 * 10 * 800);
	rig_run(&rig, 5);
	assert_string_equal(word(), "ATTENTION"); /* the clock goes on */
	rig.v.clock.label.state = CLOCK_LOCKED;
	rig_run(&rig, 1);
	i = rig_only(&rig, INCIDENT_CLEARED);
	assert_int_equal(i->parts, 11);
	/* Minutes later the board's return explains nothing, though status shows it still. */
	rig_lose(&rig, 0, TDM_LOSS_TIME, 9);
	rig_run(&rig, 1);
	assert_string_equal(rig_parts(&rig, rig_only(&rig, INCIDENT_ACTIVE)),
			    "link-loss link0 time-fault");
}

static void a_link_that_was_dark_before_the_board_went_is_its_own(void **state)
{
	rig_cut(&rig, 0);
	rig_run(&rig, 10);
	rig.v.board.gone_ns = rig.v.now_ns;
	rig.v.board.present = false;
	rig_run(&rig, 10);
	assert_int_equal(rig_count(&rig, INCIDENT_ACTIVE), 2);
	i = incidents_list(judge_incidents(rig.judge), &(size_t){0})[1];
	assert_string_equal(i->cause->kind->code, "link-dark"); /* the older one */
	assert_true(i->cost.dark_ns == 6 * 199 * RIG_S / 10);
	i = incidents_list(judge_incidents(rig.judge), &(size_t){0})[0];
	assert_true(i->cost.dark_ns == 18 * 99 * RIG_S / 10);
}

/* The FCM's boot is known when it says so: later than the link went dark. */
static void a_boot_is_noticed_late(void **state)
{
	rig_cut(&rig, 2);
	rig_run(&rig, 1);
	assert_string_equal(rig_only(&rig, INCIDENT_ACTIVE)->cause->kind->code, "link-dark");
	rig_run(&rig, 10);
	rig_mend(&rig, 2);
	rig_run(&rig, 1);
	rig.boot = (struct boots_floor){1, 3, 8, rig.v.now_ns - 12 * RIG_S};
	rig.v.link[2].boot = &rig.boot;
	rig_run(&rig, 1);
	i = rig_only(&rig, INCIDENT_ACTIVE);
	assert_string_equal(i->cause->kind->code, "fcm-booted");
	assert_int_equal(i->parts, 3);
	assert_int_equal(i->cost.frames, 110 * 800);
	assert_true(i->cost.dark_ns == 6 * 109 * RIG_S / 10);
	rig_run(&rig, 100); /* it is shown longer, and causes nothing */
	rig_cut(&rig, 2);
	rig_run(&rig, 1);
	assert_string_equal(rig_only(&rig, INCIDENT_ACTIVE)->cause->kind->code, "link-dark");
}

static void a_boot_by_our_command_is_named(void **state)
{
	const char *said = we_do(2, "fcm.reset by ann");
	char text[160], date[32];

	rig_cut(&rig, 2);
	rig_run(&rig, 0.5);
	rig_mend(&rig, 2);
	rig_run(&rig, 0.5);
	rig.boot = (struct boots_floor){1, 3, 8, rig.v.now_ns - RIG_S / 2};
	rig.v.link[2].boot = &rig.boot;
	text_utc(date, sizeof(date), rig.v.utc_ns - (int64_t)(RIG_S / 2));
	rig_run(&rig, 1);
	i = rig_only(&rig, INCIDENT_ACTIVE);
	assert_string_equal(i->cause->kind->code, "fcm-booted");
	assert_string_equal(i->own, said);
	snprintf(text, sizeof(text),
		 "the FCM of tower 1 floor 3 booted at %s UTC (boot count 8; %s): its settings may "
		 "be lost",
		 date + strlen("2026-11-22 "), said);
	assert_string_equal(i->cause->text, text);
	assert_string_equal(word(), "ATTENTION");
}

static void a_group_without_a_member_drops(void **state)
{
	rig.publisher.group[0].members = 0;
	rig_run(&rig, 5);
	rig_drop(&rig, OUTCOME_DROP_NO_MEMBER, 160);
	rig_run(&rig, 1);
	rig_drop(&rig, OUTCOME_DROP_NO_MEMBER, 80);
	rig_run(&rig, 1);
	i = rig_only(&rig, INCIDENT_ACTIVE);
	assert_string_equal(i->cause->kind->code, "consumer-none");
	assert_int_equal(i->cost.dropped, 240);
	assert_int_equal(i->cost.frames, 0);
	assert_true(i->cost.dark_ns == 0);
}

static void hits_and_tripped_modules_are_counted(void **state)
{
	rig_read(&rig, "floor2.om1.lost", 0);
	rig_run(&rig, 1);
	rig_read(&rig, "floor2.om1.lost", 120);
	rig_run(&rig, 10);
	i = rig_only(&rig, INCIDENT_ACTIVE);
	assert_string_equal(rig_parts(&rig, i), "hits-lost tower1.floor2");
	assert_int_equal(i->cost.hits, 120);
	assert_string_equal(word(), "ATTENTION");
	rig_run(&rig, 70); /* nobody asks the module any more */
	i = rig_only(&rig, INCIDENT_ACTIVE);
	assert_int_equal(i->cost.hits, 120);
	assert_non_null(strstr(i->cause->text, "120 hits lost"));
	rig_read(&rig, "floor2.om1.lost", 120);
	rig_run(&rig, 1);
	assert_int_equal(rig_only(&rig, INCIDENT_CLEARED)->cost.hits, 120);
	rig_latch(&rig, "floor3.om0.trip");
	rig_read(&rig, "floor3.om0.trip", 1);
	rig_read(&rig, "floor3.om4.trip", 1);
	rig_run(&rig, 5);
	i = rig_only(&rig, INCIDENT_ACTIVE);
	assert_string_equal(rig_parts(&rig, i), "hv-trip tower1.floor3");
	assert_non_null(strstr(i->cause->action, "fcmctl set 'floor3.om[04].hv' VOLTS"));
	assert_non_null(strstr(i->cause->action, "of neighbours are normal: fcmctl get "
						 "'floor*.om*.rate'. "));
	assert_true(i->cost.dark_ns == 2 * 49 * RIG_S / 10);
	rig_read(&rig, "floor3.om0.trip", 0);
	rig_read(&rig, "floor3.om4.trip", 0);
	rig_run(&rig, 5);
	/* Over, and nobody has acknowledged it: it stands, and costs nothing more. */
	i = rig_only(&rig, INCIDENT_ACTIVE);
	assert_string_equal(word(), "RED");
	assert_true(i->cost.dark_ns == 2 * 49 * RIG_S / 10);
}

/* fcm-notify: it has never reported, all is well, a receiver fails, it is gone. */
static void people_who_cannot_be_told_are_an_incident(void **state)
{
	rig_run(&rig, 100);
	assert_int_equal(rig_count(&rig, INCIDENT_ACTIVE), 0);
	rig.v.notices.reported_ns = rig.v.now_ns;
	rig_run(&rig, 50);
	assert_int_equal(rig_count(&rig, INCIDENT_ACTIVE), 0);
	rig.v.notices.reported_ns = rig.v.now_ns;
	rig.v.notices.waiting = 3;
	strcpy(rig.v.notices.failing, "shift: exit 1");
	rig_run(&rig, 1);
	i = rig_only(&rig, INCIDENT_ACTIVE);
	assert_string_equal(i->cause->kind->code, "notify-failing");
	assert_string_equal(i->cause->text,
			    "cannot be notified of incidents, 3 notices wait: shift: exit 1");
	assert_string_equal(word(), "ATTENTION");
	rig.v.notices.reported_ns = rig.v.now_ns;
	rig.v.notices.failing[0] = '\0';
	rig_run(&rig, 1);
	assert_int_equal(rig_count(&rig, INCIDENT_ACTIVE), 0);
	rig_run(&rig, 60);
	i = rig_only(&rig, INCIDENT_ACTIVE);
	assert_non_null(strstr(i->cause->text, "has not reported for 6"));
}

/* Half an hour of a bad connector: a few incidents, all frames charged, few events. */
static void a_fibre_that_flaps_is_bounded(void **state)
{
	uint64_t frames = 0;
	unsigned events = rig.events;
	size_t count;
	const struct incident *const *list;

	for (unsigned n = 0; n < 180; n++) {
		rig_cut(&rig, 1);
		rig_run(&rig, 2);
		rig_mend(&rig, 1);
		rig_run(&rig, 8);
	}
	i = rig_only(&rig, INCIDENT_ACTIVE);
	assert_string_equal(i->cause->kind->code, "link-dark");
	assert_non_null(strstr(i->cause->text, "comes and goes"));
	list = incidents_list(judge_incidents(rig.judge), &count);
	assert_true(count <= 4);
	for (size_t n = 0; n < count; n++) {
		frames += list[n]->cost.frames;
	}
	assert_true(frames >=
		    170ull * 20 * 800);	       /* the first ones are forgotten after ten minutes */
	assert_true(rig.events - events < 60); /* the ledger's losses have theirs */
	rig_run(&rig, 120);
	assert_int_equal(rig_count(&rig, INCIDENT_ACTIVE), 0);
	assert_string_equal(word(), "WELL");
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_station_that_is_well_has_none),
		CASE(a_cut_fibre_costs_its_frames_and_its_darkness),
		CASE(a_leap_table_that_cannot_be_read),
		CASE(an_old_cause_explains_no_new_loss),
		CASE(cleared_and_again_is_another_one),
		CASE(links_that_go_dark_together_are_one_entry),
		CASE(an_operator_acknowledges_the_cause),
		CASE(what_is_paused_does_not_count),
		CASE(a_paused_cause_covers_what_it_explains),
		CASE(a_command_of_ours_is_named),
		CASE(two_commands_are_both_named),
		CASE(what_we_have_switched_off_is_ours),
		CASE(safe_is_named_once),
		CASE(names_that_begin_alike_are_two),
		CASE(what_our_command_costs_is_expected),
		CASE(no_other_loss_is_expected),
		CASE(a_row_of_our_commands_is_expected),
		CASE(a_long_row_is_one_incident),
		CASE(a_command_in_vain_changes_nothing),
		CASE(another_loss_of_the_same_moment_is_apart),
		CASE(few_are_a_warning),
		CASE(a_step_is_one_incident_through_resets),
		CASE(a_drift_is_one_incident_through_a_lock),
		CASE(a_dark_link_was_dark_also_when_the_light_is_back),
		CASE(the_board_is_gone_and_back),
		CASE(a_link_that_was_dark_before_the_board_went_is_its_own),
		CASE(a_boot_is_noticed_late),
		CASE(a_boot_by_our_command_is_named),
		CASE(a_group_without_a_member_drops),
		CASE(hits_and_tripped_modules_are_counted),
		CASE(people_who_cannot_be_told_are_an_incident),
		CASE(a_fibre_that_flaps_is_bounded),
	};

	return cmocka_run_group_tests_name("judge", tests, NULL, NULL);
}
