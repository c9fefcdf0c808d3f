/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Incidents from observations: each row of the table of causes, and the bounds of memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/incidents/incident.h"

#define S 1000000000ull

static struct incidents *all;
static struct params *params;
static uint64_t now;

static int set_up(void **state)
{
	static const struct param_floor floors[] = {{0, 1, 1}, {1, 1, 2}};
	struct sc_error error = {0};

	all = incidents_create();
	now = 1000 * S;
	return params_load("schemas/parameters.conf", floors, 2, &params, &error);
}

static int tear_down(void **state)
{
	incidents_destroy(all);
	params_destroy(params);
	return 0;
}

static struct param *get(const char *name)
{
	struct param *p = NULL;

	assert_int_equal(params_find(params, name, &p, NULL), 0);
	return p;
}

/* An object that such a code may have, on this link, or group. */
static struct alarm_object object_of(const char *code, unsigned link)
{
	const struct reason_kind *k = reason_kind(code);
	struct alarm_object o;

	assert_non_null(k);
	if (k->of & OF_LINK) {
		return object_link(link);
	}
	if (k->of & OF_FLOOR) {
		o = object_floor(1, (uint8_t)(link + 1), link);
		o.modules = 1u << 2;
		return o;
	}
	if (k->of & OF_GROUP) {
		return object_group(link, link ? "acoustic" : "trigger");
	}
	if (k->of & OF_FEED) {
		return object_feed(1, (uint8_t)(link + 1), link, link);
	}
	if (k->of & OF_VALUE) {
		return object_value(get(link ? "floor2.om2.current" : "floor1.om2.current"));
	}
	return k->of & OF_EPOCH ? object_epoch(link + 1) : object_thing(k->thing);
}

static struct observation seen(const char *code, struct alarm_object object, uint64_t since_ns)
{
	return (struct observation){.code = code,
				    .object = object,
				    .since_ns = since_ns,
				    .text = "it is wrong",
				    .action = "look"};
}

static void see(const char *code, struct alarm_object object, uint64_t since_ns)
{
	struct observation o = seen(code, object, since_ns);

	incidents_see(all, &o, now);
}

static size_t count(void)
{
	size_t count;

	incidents_list(all, &count);
	return count;
}

static const struct incident *at(size_t n)
{
	size_t count;
	const struct incident *const *list = incidents_list(all, &count);

	assert_true(n < count);
	return list[n];
}

static void look(void)
{
	incidents_tick(all, now);
	now += S / 10;
}

static void anew(void)
{
	incidents_destroy(all);
	all = incidents_create();
}

/* The same in a look, the cause a moment later, the effect long after, before, of another object, and too late. */
static void check_pair(const struct incident_row *row, const char *effect)
{
	const char *cause = row->cause;
	uint64_t then = now;
	unsigned number = 0;

	for (unsigned order = 0; order < 2; order++, anew()) {
		see(order ? cause : effect, object_of(order ? cause : effect, 0), now);
		see(order ? effect : cause, object_of(order ? effect : cause, 0), now);
		look();
		assert_int_equal(count(), 1);
		assert_string_equal(at(0)->cause->kind->code, cause);
		assert_int_equal(at(0)->parts, 2);
		assert_int_equal(at(0)->number, 1);
	}
	for (unsigned n = 0; n < 2; n++, then = now) { /* noticed later */
		see(effect, object_of(effect, 0), then);
		if (n == 1) {
			number = at(0)->number;
			see(cause, object_of(cause, 0), now);
		}
		look();
	}
	assert_int_equal(count(), 1);
	assert_int_equal(at(0)->number, number);
	assert_string_equal(at(0)->cause->kind->code, cause);
	for (anew(); now < then + 60 * S; now += S) { /* while the cause goes on */
		see(cause, object_of(cause, 0), then);
		if (now > then + 30 * S) {
			see(effect, object_of(effect, 0), now);
		}
		look();
	}
	assert_int_equal(count(), 1);
	anew();
	see(effect, object_of(effect, 0), now - 3 * S); /* before it */
	see(cause, object_of(cause, 0), now);
	look();
	assert_int_equal(count(), 2);
	anew();
	see(cause, object_of(cause, 0), now); /* behind it */
	look();
	look();
	now += 3 * S;
	see(effect, object_of(effect, 0), now);
	look();
	assert_int_equal(count(), 2);
	assert_int_equal(at(1)->state, INCIDENT_CLEARED);
	anew();
	see(cause, object_of(cause, 0), now);
	see(effect, object_of(effect, 1), now);
	look();
	assert_int_equal(count(), row->related == RELATED_ALWAYS ? 1 : 2);
	anew();
}

static void each_row_explains(void **state)
{
	unsigned pairs = 0;

	for (const struct incident_row *row = incident_rows; row->cause; row++) {
		for (const char *const *e = row->effects; *e; e++) {
			check_pair(row, *e);
			pairs++;
		}
	}
	assert_true(pairs > 100);
}

static void what_is_forgiven_has_a_bound(void **state)
{
	for (unsigned beyond = 0; beyond < 2; beyond++, anew()) {
		see("link-loss", object_link(0), now - INCIDENT_NEAR_NS - beyond);
		see("link-dark", object_link(0), now);
		look();
		assert_int_equal(count(), 1 + beyond);
	}
	for (unsigned beyond = 0; beyond < 2; beyond++, anew()) {
		uint64_t over;

		see("link-dark", object_link(0), now);
		look();
		over = now;
		look();
		now = over + INCIDENT_NEAR_NS + beyond;
		see("link-loss", object_link(0), now);
		look();
		assert_int_equal(count(), 1 + beyond);
	}
	for (unsigned beyond = 0; beyond < 2; beyond++, anew()) { /* and of one code */
		see("link-dark", object_link(0), now - INCIDENT_NEAR_NS - beyond);
		see("link-dark", object_link(1), now);
		look();
		assert_int_equal(count(), 1 + beyond);
	}
}

/* Whether `to` is explained by `from`, by way of others. */
static bool leads(const char *from, const char *to, unsigned depth)
{
	assert_true(depth < 20);
	for (const struct incident_row *row = incident_rows; row->cause; row++) {
		for (const char *const *e = row->effects; strcmp(row->cause, from) == 0 && *e;
		     e++) {
			if (strcmp(*e, to) == 0 || leads(*e, to, depth + 1)) {
				return true;
			}
		}
	}
	return false;
}

static void no_cause_is_its_own_effect(void **state)
{
	for (const struct incident_row *row = incident_rows; row->cause; row++) {
		assert_false(leads(row->cause, row->cause, 0));
	}
}

static void modules_are_told_apart(void **state)
{
	see("hv-trip", object_of("hv-trip", 0), now);
	see("limit", object_value(get("floor1.om2.current")), now);
	see("limit", object_value(get("floor1.om3.current")), now); /* another module */
	look();
	assert_int_equal(count(), 2);
	assert_string_equal(at(0)->cause->kind->code, "hv-trip");
	assert_int_equal(at(0)->parts, 2);
	assert_string_equal(at(1)->cause->object, "tower1.floor1.om3.current");
}

/* Without phase samples the link's own values of it are stale. The floor's have another cause. */
static void a_silent_phase_is_no_mute_floor(void **state)
{
	see("phase-silent", object_link(1), now);
	see("stale", object_link(1), now);
	see("stale", object_link(2), now);
	see("stale", object_floor(1, 2, 1), now);
	look();
	assert_string_equal(at(0)->cause->kind->code, "phase-silent");
	assert_int_equal(at(0)->parts, 2);
	assert_int_equal(count(), 2); /* the others began together */
}

/* A cause that is noticed late takes only what is its own. */
static void what_began_together_is_parted_again(void **state)
{
	uint64_t then = now;

	for (unsigned n = 0; n < 10; n++) {
		for (unsigned link = 0; link < 2; link++) {
			see("link-dark", object_link(link), then);
			see("link-loss", object_link(link), then);
		}
		if (n == 5) {
			assert_int_equal(count(), 1);
		}
		if (n > 5) {
			see("fcm-booted", object_floor(1, 1, 0), then);
		}
		look();
	}
	assert_int_equal(count(), 2);
	assert_string_equal(at(0)->cause->kind->code, "link-dark");
	assert_string_equal(at(0)->cause->object, "link1");
	assert_int_equal(at(0)->parts, 2);
	assert_string_equal(at(1)->cause->kind->code, "fcm-booted");
	assert_int_equal(at(1)->parts, 3);
}

static void what_waits_for_its_acknowledgement_stands(void **state)
{
	struct observation o = seen("hv-trip", object_of("hv-trip", 0), now);

	o.red = true;
	o.much.dark[0] = 1u << 2;
	incidents_see(all, &o, now);
	look();
	o.since_ns = now;
	for (unsigned n = 0; n < 10; n++) {
		incidents_hold(all, &o, now);
		look();
	}
	assert_int_equal(at(0)->state, INCIDENT_ACTIVE);
	assert_true(at(0)->cost.dark_ns == 0); /* it was seen at one moment only */
	assert_string_equal(incidents_word(all), "RED");
	o.paused = true;
	incidents_hold(all, &o, now);
	look();
	assert_string_equal(incidents_word(all), "WELL");
	look();
	assert_int_equal(at(0)->state, INCIDENT_CLEARED);
	now += 5 * S;
	o.since_ns = now;
	incidents_hold(all, &o, now); /* of a daemon before us */
	look();
	assert_int_equal(count(), 2);
}

/* What is held waits for people: it explains nothing that begins later. */
static void what_is_held_explains_nothing_new(void **state)
{
	struct observation o = seen("hv-trip", object_of("hv-trip", 0), now);

	incidents_see(all, &o, now);
	look();
	for (unsigned n = 0; n < 50; n++) {
		incidents_hold(all, &o, now);
		if (n > 40) {
			see("limit", object_value(get("floor1.om2.current")), 0);
		}
		look();
	}
	assert_int_equal(count(), 2);
	assert_true(at(0)->held != at(1)->held);
}

/* A restart: the same cause takes up its number and its cost; another one gets a new number; what is not seen again ends. */
static void a_restart_goes_on_with_what_it_finds(void **state)
{
	const struct incident_before before[] = {
		{.number = 7,
		 .code = "link-dark",
		 .object = "link2",
		 .own = "reset by ann",
		 .since_ns = 5,
		 .red = true,
		 .cost = {.frames = 100, .dark_ns = 3 * S}},
		{.number = 8, .code = "link-dark", .object = "link3"},
		{.number = 9, .code = "disk-low", .object = "disk"},
	};

	see("data-open", object_thing("data"), now); /* before the database was read */
	look();
	assert_int_equal(at(0)->number, 1);
	incidents_recover(all, 9, before, 3);
	assert_int_equal(at(0)->number, 10);
	see("data-open", object_thing("data"), 0);
	see("link-dark", object_link(2), now);
	see("link-dark", object_link(3), now); /* together, but they were two */
	see("link-dark", object_link(1), now - 5 * S);
	look();
	assert_int_equal(count(), 4);
	for (unsigned n = 0; n < 4; n++) {
		bool known = strcmp(at(n)->cause->object, "link2") == 0;

		assert_int_equal(at(n)->cost.frames, known ? 100 : 0);
		assert_int_equal(at(n)->begun_ns, known ? 5 : 0);
		assert_int_equal(at(n)->number == 7, known);
		assert_int_equal(at(n)->number == 8, strcmp(at(n)->cause->object, "link3") == 0);
		assert_true(at(n)->number == 7 || at(n)->number == 8 || at(n)->number > 9);
		if (known) {
			assert_true(at(n)->cost.dark_ns == 3 * S);
			assert_string_equal(at(n)->own, "reset by ann");
		}
	}
	assert_int_equal(incidents_take_ended(all), 9);
	assert_int_equal(incidents_take_ended(all), 0);
}

/* By link and incident, without a rest: two modules for a second, then one more, and hits. */
static void darkness_is_accounted_for(void **state)
{
	struct observation trip = seen("hv-trip", object_of("hv-trip", 1), now),
			   hits = seen("hits-lost", object_floor(1, 1, 0), now);
	struct incident_dark d;
	uint64_t dark_ms = 0, lost = 0;

	trip.much.dark[1] = 0x03;
	for (unsigned n = 0; n <= 20; n++) {
		trip.much.dark[1] = n <= 10 ? 0x03 : 0x07;
		hits.much.hits = n;
		incidents_see(all, &trip, now);
		incidents_see(all, &hits, now);
		look();
		while (n % 7 == 0 && incidents_take_dark(all, &d)) {
			dark_ms += d.dark_ms;
			lost += d.hits;
			assert_int_equal(d.link, d.dark_ms ? 1 : 0);
			assert_true(!d.dark_ms || d.modules == 0x03 || d.modules == 0x07);
		}
	}
	while (incidents_take_dark(all, &d)) {
		dark_ms += d.dark_ms;
		lost += d.hits;
	}
	assert_int_equal(dark_ms, 2 * 1000 + 3 * 1000);
	assert_int_equal(lost, 20);
}

/* What the daemon's start brings is shown briefly; what is found to be wrong at the start stays. */
static void a_start_is_soon_forgotten(void **state)
{
	for (unsigned lasts = 0; lasts < 2; lasts++, anew()) {
		uint64_t then = now, end = then + (lasts ? INCIDENT_START_NS : 9 * S);

		incidents_start(all, now + S);
		for (; now < end; now += S) {
			see("link-dark", object_link(0), then);
			look();
			assert_int_equal(at(0)->of_start, 1);
		}
		for (unsigned n = 0; n < 15; n++, now += S) {
			look();
		}
		assert_int_equal(count(), lasts);
		if (lasts) {
			assert_false(at(0)->of_start);
		}
	}
}

/* An effect that comes and goes is one observation, and adds up. */
static void what_comes_again_adds_up(void **state)
{
	struct observation o = seen("link-loss", object_link(0), now);
	uint64_t then = now;

	for (unsigned n = 0; n < 40; n++) {
		o.much = (struct observed){.frames = 5, .dropped = 7, .hits = 11};
		see("board-gone", object_thing("board"), then);
		if (n % 10 < 5) { /* five looks of the same, four times */
			o.since_ns = n % 10 ? o.since_ns : now;
			incidents_see(all, &o, now);
		}
		look();
	}
	assert_int_equal(count(), 1);
	assert_int_equal(at(0)->parts, 2);
	assert_int_equal(at(0)->cost.frames, 20);
	assert_int_equal(at(0)->cost.dropped, 28);
	assert_int_equal(at(0)->cost.hits, 44);
	assert_true(incidents_part(all, at(0), incidents_part(all, at(0), NULL))->first_ns == then);
}

static void see_values(unsigned first, unsigned number, uint64_t apart_ns)
{
	for (unsigned n = first; n < first + number; n++) {
		struct observation o =
			seen("limit", object_value(params_at(params, n)), 1000 * S + n * apart_ns);

		o.red = true;
		incidents_see(all, &o, now);
	}
}

static void a_full_house_says_so(void **state)
{
	unsigned numbers;

	/* Each of its own: more than there are incidents. */
	see_values(0, INCIDENTS_MAX + 5, 3 * S);
	look();
	assert_int_equal(count(), INCIDENTS_MAX);
	assert_int_equal(incidents_left_out(all), 5);
	see_values(0, INCIDENTS_MAX, 3 * S);
	look();
	assert_int_equal(incidents_left_out(all), 0);
	/* The last ones are over: the first of them that was makes room. */
	see_values(0, INCIDENTS_MAX - 1, 3 * S);
	look();
	see_values(0, INCIDENTS_MAX - 2, 3 * S);
	look();
	assert_int_equal(count(), INCIDENTS_MAX);
	numbers = at(INCIDENTS_MAX - 3)->number; /* the oldest that is active */
	assert_int_equal(numbers, 1);
	see_values(0, INCIDENTS_MAX - 2, 3 * S);
	see("link-dark", object_link(0), now);
	look();
	assert_int_equal(count(), INCIDENTS_MAX);
	assert_int_equal(incidents_left_out(all), 0);
	for (size_t n = 0; n < count(); n++) {
		assert_int_not_equal(at(n)->number,
				     INCIDENTS_MAX); /* it went, not the one after it */
	}
	/* One incident with more observations than there is room for. */
	anew();
	for (unsigned n = 0; n < 3; n++) {
		see_values(0, 120, 0);
		for (unsigned m = 0; m < INCIDENT_PARTS_MAX - 120 + 7; m++) {
			char name[32];

			snprintf(name, sizeof(name), "value%u", m);
			see("limit", object_thing(name), 1000 * S);
		}
		look();
	}
	assert_int_equal(count(), 1);
	assert_int_equal(at(0)->parts, INCIDENT_PARTS_MAX);
	assert_int_equal(incidents_left_out(all), 7);
}

static void what_has_no_room_is_red_still(void **state)
{
	char text[600];

	see_values(0, INCIDENTS_MAX + 1, 3 * S);
	look();
	assert_string_equal(incidents_word(all), "RED");
	see("no-such-code", object_link(0), now);
	look();
	assert_string_equal(incidents_word(all), "ATTENTION");
	assert_string_equal(incidents_headline(all, text, sizeof(text)),
			    "more is wrong than there is room for");
	look();
	assert_string_equal(incidents_word(all), "WELL");
}

static void red_ones_come_first(void **state)
{
	static const struct alarm_hand ann = {.who = "ann"};
	struct observation o = seen("disk-low", object_thing("disk"), now - 20 * S);

	see("data-open", object_thing("data"), now - 9 * S);
	see("link-dark", object_link(0), now - 5 * S);
	incidents_see(all, &o, now);
	look();
	assert_string_equal(at(0)->cause->kind->code, "link-dark"); /* the newest */
	assert_string_equal(at(1)->cause->kind->code, "data-open");
	assert_string_equal(at(2)->cause->kind->code, "disk-low");
	see("data-open", object_thing("data"), now - 9 * S);
	see("link-dark", object_link(0), now - 5 * S);
	o.red = true;
	incidents_see(all, &o, now);
	look();
	assert_string_equal(at(0)->cause->kind->code, "disk-low");
	o.acknowledged = &ann;
	incidents_see(all, &o, now);
	see("link-dark", object_link(0), 0);
	look();
	assert_string_equal(at(0)->cause->kind->code, "link-dark");
	assert_string_equal(at(1)->cause->kind->code, "disk-low");
	assert_int_equal(at(1)->state, INCIDENT_ACKNOWLEDGED);
	assert_string_equal(at(2)->cause->kind->code, "data-open"); /* cleared */
	assert_string_equal(incident_state_name(at(2)->state), "cleared");
}

/* Also when its cause has ended: each observation that is left. */
static void what_is_left_is_acknowledged(void **state)
{
	static const struct alarm_hand ann = {.who = "ann"};
	struct observation mute = seen("floor-mute", object_of("floor-mute", 0), now),
			   stale = seen("stale", object_of("stale", 0), now);

	see("link-dark", object_link(0), now);
	incidents_see(all, &mute, now);
	incidents_see(all, &stale, now);
	look();
	mute.acknowledged = &ann; /* not the cause */
	see("link-dark", object_link(0), now);
	incidents_see(all, &mute, now);
	incidents_see(all, &stale, now);
	look();
	assert_int_equal(count(), 1);
	assert_int_equal(at(0)->state, INCIDENT_ACTIVE);
	for (unsigned n = 0; n < 2; n++) { /* the cause has ended */
		incidents_see(all, &stale, now);
		incidents_see(all, &mute, now);
		look();
		assert_int_equal(at(0)->state, n ? INCIDENT_ACKNOWLEDGED : INCIDENT_ACTIVE);
		stale.acknowledged = &ann;
	}
	assert_string_equal(at(0)->acknowledged.who, "ann");
	assert_string_equal(at(0)->cause->kind->code, "link-dark");
}

static void names_and_advices_are_written(void **state)
{
	struct alarm_object floor = object_floor(1, 3, 2);
	struct observation o = {.object = floor,
				.advice = "fcmctl get 'floorN.om*.rate'; link LINK; %s",
				.with = "tcp://x"};
	char text[200];

	assert_string_equal(object_name(&floor, text, sizeof(text)), "tower1.floor3");
	observation_advice(&o, text, sizeof(text));
	assert_string_equal(text, "fcmctl get 'floor3.om*.rate'; link 2; tcp://x");
	o.advice = "fcmctl set floorN.omM.hv VOLTS; then floorN.omM";
	o.object.modules = 0x15;
	observation_advice(&o, text, sizeof(text));
	assert_string_equal(text, "fcmctl set 'floor3.om[024].hv' VOLTS; then 'floor3.om[024]'");
	o.object = object_value(get("floor2.om4.hv"));
	observation_advice(&o, text, sizeof(text));
	assert_string_equal(text, "fcmctl set tower1.floor2.om4.hv VOLTS; then tower1.floor2.om4");
	observation_advice(&o, text, 20);
	assert_int_equal(strlen(text), 19);
	floor = object_feed(1, 3, 2, 0);
	assert_string_equal(object_name(&floor, text, sizeof(text)), "feed tower1.floor3");
	floor = object_epoch(4);
	assert_string_equal(object_name(&floor, text, sizeof(text)), "time epoch 4");
	floor = object_group(0, "trigger");
	assert_string_equal(object_name(&floor, text, sizeof(text)), "group trigger");
}

/* Seen from `since_ns` on for a second, with its cost, then not for `pause_s`. */
static void come_and_go(uint64_t frames, unsigned pause_s)
{
	struct observation o = seen("link-dark", object_link(0), now);

	for (unsigned n = 0; n < 10; n++) {
		o.much.frames = frames * (n + 1) / 10;
		incidents_see(all, &o, now);
		look();
	}
	for (unsigned n = 0; n < 10 * pause_s; n++) {
		look();
	}
}

/* A fibre that flaps for an hour: few entries, no frame forgotten, over when it has been quiet for a minute. */
static void what_comes_and_goes_is_one(void **state)
{
	unsigned newest = 0;

	for (unsigned n = 0; n < 360; n++) {
		come_and_go(8000, 9);
	}
	assert_int_equal(at(0)->state, INCIDENT_ACTIVE);
	assert_int_equal(at(0)->number, INCIDENT_FLAPS + 1);
	assert_string_equal(at(0)->cause->text, "it is wrong (comes and goes: 357 times)");
	assert_int_equal(at(0)->cost.frames, 357 * 8000);
	for (unsigned n = 0; n < 520; n++) { /* it has been quiet for 9 s */
		look();
	}
	assert_int_equal(at(0)->state, INCIDENT_CLEARED);
	come_and_go(8000, 1);
	for (size_t n = 0; n < count(); n++) {
		assert_int_equal(at(n)->state, INCIDENT_CLEARED);
		newest = at(n)->number > newest ? at(n)->number : newest;
	}
	assert_int_equal(newest, INCIDENT_FLAPS + 2);
}

/* While it is quiet it explains nothing, is charged no darkness, and another loss is its own. */
static void quiet_explains_nothing(void **state)
{
	for (unsigned n = 0; n < 5; n++) {
		come_and_go(8000, 9);
	}
	see("link-loss", object_link(0), now);
	look();
	assert_int_equal(at(1)->number, INCIDENT_FLAPS + 1);
	assert_int_equal(at(1)->parts, 1);
	assert_string_equal(at(0)->cause->kind->code, "link-loss");
}

/* Three within two minutes are three; of other objects, and slower ones too. */
static void what_does_not_flap(void **state)
{
	for (unsigned n = 0; n < 3; n++) {
		come_and_go(8000, 9);
		assert_int_equal(at(0)->state, INCIDENT_CLEARED);
	}
	anew();
	for (unsigned n = 0; n < 6; n++) {
		come_and_go(8000, 60);
		assert_int_equal(at(0)->state, INCIDENT_CLEARED);
	}
	assert_int_equal(count(), 6);
}

/* Every module of every floor trips in a second, and all floors are mute: entries by floor, everything in them. */
static void a_storm(void **state)
{
	for (unsigned n = 0; n < 10; n++) {
		for (unsigned link = 0; link < 2; link++) {
			struct alarm_object floor = object_of("hv-trip", link);

			floor.modules = (uint8_t)((1u << (n < 6 ? n + 1 : 6)) - 1);
			see("hv-trip", floor, 1000 * S);
			see("floor-mute", object_of("floor-mute", link), 1000 * S);
			see("stale", object_of("stale", link), 1000 * S);
		}
		look();
	}
	assert_int_equal(incidents_left_out(all), 0);
	assert_true(count() <= 4);
	for (size_t n = 0; n < count(); n++) {
		assert_int_equal(at(n)->state, INCIDENT_ACTIVE);
	}
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(each_row_explains),
		CASE(what_is_forgiven_has_a_bound),
		CASE(no_cause_is_its_own_effect),
		CASE(modules_are_told_apart),
		CASE(a_silent_phase_is_no_mute_floor),
		CASE(what_began_together_is_parted_again),
		CASE(what_waits_for_its_acknowledgement_stands),
		CASE(what_comes_again_adds_up),
		CASE(what_is_held_explains_nothing_new),
		CASE(a_restart_goes_on_with_what_it_finds),
		CASE(darkness_is_accounted_for),
		CASE(a_start_is_soon_forgotten),
		CASE(a_full_house_says_so),
		CASE(what_has_no_room_is_red_still),
		CASE(red_ones_come_first),
		CASE(what_is_left_is_acknowledged),
		CASE(names_and_advices_are_written),
		CASE(what_comes_and_goes_is_one),
		CASE(quiet_explains_nothing),
		CASE(what_does_not_flap),
		CASE(a_storm),
	};

	return cmocka_run_group_tests_name("incidents", tests, NULL, NULL);
}
