/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The groups of reserved consumers: scripts of events with what must come out of each, and random
 * events against the invariants of groups.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/groups.h"

#define BLOCK_FRAMES 800u /* two blocks a slice */
#define HOLD_BLOCKS  5u
#define DEAD_MS	     3000u

static const char *const outcomes[OUTCOMES] = {"-", "acked", "nobody", "slow", "shutdown", "pool", "no-time"};

static struct groups *make_groups(void)
{
	const struct groups_config config = {
		.groups = 2,
		.group = {{"trigger", 1u << FCM_PMT, HOLD_BLOCKS * BLOCK_FRAMES},
			  {"acoustics", 1u << FCM_PMT | 1u << FCM_HYDROPHONE,
			   HOLD_BLOCKS * BLOCK_FRAMES}},
		.dead_ns = DEAD_MS * 1000000ull,
	};
	struct groups *g = groups_create(&config);

	assert_non_null(g);
	return g;
}

/* The index-th block of a link and stream. */
static struct block *make_block(unsigned link, unsigned index, unsigned stream)
{
	struct block *b = calloc(1, sizeof(*b));

	assert_non_null(b);
	b->header = (struct fcm_block_header){
		.link = (uint8_t)link,
		.tower = 1,
		.floor = (uint8_t)(link + 1),
		.stream = (uint8_t)stream,
		.frames = BLOCK_FRAMES,
		.first_frame = (uint64_t)index * BLOCK_FRAMES,
		.sequence = 7ull << 40 | index,
		.slice_id = index / 2,
		.payload_bytes = 100,
	};
	b->monotonic_ns = index;
	return b;
}

static struct fcm_ack ack_of(unsigned link, unsigned index, unsigned stream)
{
	return (struct fcm_ack){.sequence = 7ull << 40 | index,
				.stream = (uint8_t)stream,
				.link = (uint8_t)link,
				.tower = 1,
				.floor = (uint8_t)(link + 1)};
}

/* ---- scripts ---- */

/*
 * Events: "hello NAME GROUP CREDIT", "leave NAME", "offer L.N" (L.Nh: hydrophone; L.N*: trigger had
 * acknowledged it before), "ack NAME L.N", "tick MS", "alive NAME MS", "pool", "shutdown", "full NAME"
 * (the next send to it fails).
 * Expected: "NAME:L.N" sent, "NAME:L.N!" sent again, "=L.N/trigger,acoustics" settled.
 */
struct step {
	const char *event, *expected;
};

struct script {
	struct groups *g;
	char refuses[48];
	char out[1024];
};

static void append(struct script *s, const char *text)
{
	size_t used = strlen(s->out);

	snprintf(s->out + used, sizeof(s->out) - used, "%s%s", used ? " " : "", text);
}

static const char *block_name(const struct block *b)
{
	static char text[32];

	snprintf(text, sizeof(text), "%u.%u%s", b->header.link,
		 (unsigned)(b->header.sequence & 0xffff),
		 b->header.stream == FCM_HYDROPHONE ? "h" : "");
	return text;
}

static void collect(struct script *s)
{
	struct groups_action a;
	char text[128];

	while (groups_next(s->g, &a)) {
		if (a.type == GROUPS_SETTLED) {
			snprintf(text, sizeof(text), "=%s/%s,%s", block_name(a.block),
				 outcomes[a.block->outcome[0]], outcomes[a.block->outcome[1]]);
			free(a.block);
		} else {
			const char *name = groups_member_name(s->g, a.member);

			snprintf(text, sizeof(text), "%s:%s%s", name, block_name(a.block),
				 a.resent ? "!" : "");
			if (strcmp(s->refuses, name) == 0) {
				s->refuses[0] = '\0';
				groups_unsent(s->g, &a);
				continue;
			}
		}
		append(s, text);
	}
}

static unsigned member_named(struct script *s, const char *name)
{
	for (unsigned i = 0; i < MEMBERS_MAX; i++) {
		if (strcmp(groups_member_name(s->g, i), name) == 0) {
			return i;
		}
	}
	fail_msg("no member %s", name);
	return 0;
}

static void play(struct script *s, const char *event)
{
	char name[48], group[32], mark[2] = "";
	unsigned a, b;

	if (sscanf(event, "hello %47s %31s %u", name, group, &a) == 3) {
		unsigned member;

		assert_int_equal(groups_hello(s->g, name, group, a, 0, &member), 0);
	} else if (sscanf(event, "leave %47s", name) == 1) {
		groups_leave(s->g, member_named(s, name));
	} else if (sscanf(event, "offer %u.%u%1s", &a, &b, mark) >= 2) {
		struct block *block = make_block(a, b, mark[0] == 'h' ? FCM_HYDROPHONE : FCM_PMT);

		block->already[0] = mark[0] == '*';
		assert_int_equal(groups_offer(s->g, block), 0);
	} else if (sscanf(event, "ack %47s %u.%u%1s", name, &a, &b, mark) >= 3) {
		struct fcm_ack ack = ack_of(a, b, mark[0] == 'h' ? FCM_HYDROPHONE : FCM_PMT);

		groups_ack(s->g, member_named(s, name), &ack);
	} else if (sscanf(event, "tick %u", &a) == 1) {
		groups_tick(s->g, a * 1000000ull);
	} else if (sscanf(event, "alive %47s %u", name, &a) == 2) {
		groups_seen(s->g, member_named(s, name), a * 1000000ull);
	} else if (strcmp(event, "pool") == 0) {
		groups_pool_empty(s->g);
	} else if (strcmp(event, "shutdown") == 0) {
		groups_shutdown(s->g);
	} else if (sscanf(event, "full %47s", name) == 1) {
		strcpy(s->refuses, name);
	} else {
		fail_msg("no such event: %s", event);
	}
}

static void run_script(const struct step *steps)
{
	struct script s = {.g = make_groups()};

	for (; steps->event; steps++) {
		s.out[0] = '\0';
		play(&s, steps->event);
		collect(&s);
		if (strcmp(s.out, steps->expected) != 0) {
			fail_msg("after \"%s\": expected \"%s\", got \"%s\"", steps->event,
				 steps->expected, s.out);
		}
	}
	groups_shutdown(s.g);
	collect(&s);
	assert_int_equal(groups_held(s.g), 0);
	groups_destroy(s.g);
}

static void test_delivery(void **state)
{
	static const struct step steps[] = {
		{"hello A trigger 8", ""},
		{"hello X acoustics 8", ""},
		{"offer 0.0", "A:0.0 X:0.0"},
		{"ack A 0.0", ""},
		{"ack X 0.0", "=0.0/acked,acked"},
		{"offer 0.1h", "X:0.1h"},
		{"ack A 0.1h", ""}, /* never sent to it */
		{"ack X 0.1h", "=0.1h/-,acked"},
		{"ack X 0.1h", ""}, /* repeated */
		{"offer 0.2*", "X:0.2"},
		{"ack X 0.2", "=0.2/acked,acked"},
		{NULL},
	};

	(void)state;
	run_script(steps);
}

static void test_nobody_there_waits_then_pays(void **state)
{
	static const struct step steps[] = {
		{"hello X acoustics 100", ""},
		{"offer 0.0", "X:0.0"},
		{"ack X 0.0", ""},
		{"offer 0.1", "X:0.1"},
		{"ack X 0.1", ""},
		{"offer 0.2", "X:0.2"},
		{"offer 0.3", "X:0.3"},
		{"offer 0.4", "X:0.4"},
		{"offer 0.5", "=0.0/nobody,acked X:0.5"},
		{"offer 1.0", "X:1.0"}, /* another link has its own share */
		{"hello A trigger 3", "A:0.1 A:1.0 A:0.2"},
		{"ack A 0.1", "=0.1/acked,acked A:0.3"},
		{NULL},
	};

	(void)state;
	run_script(steps);
}

static void test_slow_member(void **state)
{
	static const struct step steps[] = {
		{"hello A trigger 2", ""},
		{"offer 0.0*", ""},
		{"offer 0.1*", ""},
		{"shutdown", "=0.0/acked,shutdown =0.1/acked,shutdown"},
		{"offer 0.2", "A:0.2"},
		{"offer 0.3", "A:0.3"},
		{"offer 0.4", ""}, /* out of credit */
		{"offer 0.5", ""},
		{"offer 0.6", ""},
		/* The oldest is dropped though A has it; A gets nothing for it. Nobody is in
		 * acoustics. */
		{"offer 0.7", "=0.2/slow,nobody"},
		{"offer 0.8", "=0.3/slow,nobody"},
		{"ack A 0.2", "A:0.4"}, /* late: no delivery, but the credit is free again */
		{"ack A 0.2", ""},
		{"ack A 0.4", "A:0.5"},
		{"leave A", ""},
		{"offer 0.9", "=0.4/acked,nobody"},
		{"offer 0.10", "=0.5/nobody,nobody"},
		{NULL},
	};

	(void)state;
	run_script(steps);
}

static void test_slices_stay_together(void **state)
{
	static const struct step steps[] = {
		{"hello A trigger 4", ""},
		{"hello B trigger 4", ""},
		{"hello X acoustics 100", ""},
		{"offer 0.0", "A:0.0 X:0.0"},
		{"offer 1.0", "A:1.0 X:1.0"},
		{"offer 0.2", "B:0.2 X:0.2"}, /* next slice: more free credit */
		{"offer 1.1", "A:1.1 X:1.1"},
		{"offer 0.1", "A:0.1 X:0.1"},
		{"offer 2.0", "X:2.0"}, /* A is out of credit: the slice waits for it */
		{"offer 1.2", "B:1.2 X:1.2"},
		{"ack A 0.0", "A:2.0"},
		/* All of slice 0 acknowledged: a late floor's block still goes to A. */
		{"ack A 1.0", ""},
		{"ack A 1.1", ""},
		{"ack A 0.1", ""},
		{"ack A 2.0", ""},
		{"offer 3.0", "A:3.0 X:3.0"},
		{NULL},
	};

	(void)state;
	run_script(steps);
}

static void test_death_and_redelivery(void **state)
{
	static const struct step steps[] = {
		{"hello A trigger 3", ""},
		{"hello B trigger 2", ""},
		{"offer 0.0", "A:0.0"},
		{"offer 0.1", "A:0.1"},
		{"offer 0.2", "B:0.2"},
		{"offer 1.0", "A:1.0"},
		{"ack A 0.1", ""},
		{"offer 1.1", "A:1.1"},
		/* 0.0, 1.0, 1.1 were A's, in this order; B has credit for one. */
		{"leave A", "B:0.0!"},
		{"ack B 0.2", "B:1.0!"},
		{"offer 0.3", ""}, /* B's own younger slice waits for credit */
		{"ack A 1.1", ""}, /* from a dead member: not counted as delivered */
		{"ack B 0.0", "B:1.1!"},
		{"ack B 1.1", "B:0.3"},
		{"hello X acoustics 9", "X:0.0 X:0.1 X:1.0 X:1.1 X:0.2 X:0.3"},
		{"ack X 1.1", "=1.1/acked,acked"},
		{NULL},
	};

	(void)state;
	run_script(steps);
}

static void test_silence_is_death(void **state)
{
	static const struct step steps[] = {
		{"hello A trigger 3", ""},
		{"hello B trigger 3", ""},
		{"offer 0.0", "A:0.0"},
		{"alive B 2000", ""},
		{"tick 3000", ""},
		{"tick 3001", "B:0.0!"},
		{"hello A trigger 3", ""},
		{"offer 0.2", "A:0.2"},
		{"hello A trigger 3", "A:0.2!"}, /* a new connection of the same name */
		{NULL},
	};

	(void)state;
	run_script(steps);
}

static void test_full_pipe(void **state)
{
	static const struct step steps[] = {
		{"hello A trigger 3", ""}, {"full A", ""}, {"offer 0.0", ""}, {"offer 0.1", ""},
		{"tick 1", "A:0.0 A:0.1"}, {NULL},
	};

	(void)state;
	run_script(steps);
}

static void test_pool_empty(void **state)
{
	static const struct step steps[] = {
		{"pool", ""},
		{"hello A trigger 1", ""},
		{"offer 1.3", "A:1.3"},
		{"offer 0.1", ""},
		{"offer 0.2", ""},
		{"pool", "=0.1/pool,pool"},
		{"pool", "=0.2/pool,pool"},
		{"pool", "=1.3/pool,pool"},
		{"ack A 1.3", ""},
		{"offer 0.4", "A:0.4"},
		{NULL},
	};

	(void)state;
	run_script(steps);
}

static void test_refused(void **state)
{
	struct groups *g = make_groups();
	unsigned member;
	char name[64];

	(void)state;
	assert_int_equal(groups_hello(g, "A", "nosuch", 1, 0, &member), -ENOENT);
	assert_int_equal(groups_hello(g, "", "trigger", 1, 0, &member), -EINVAL);
	assert_int_equal(groups_hello(g, "A", "trigger", 0, 0, &member), -EINVAL);
	assert_int_equal(groups_hello(g, "A", "trigger", GROUPS_CREDIT_MAX + 1, 0, &member),
			 -EINVAL);
	for (unsigned i = 0; i < MEMBERS_MAX; i++) {
		snprintf(name, sizeof(name), "M%u", i);
		assert_int_equal(groups_hello(g, name, "trigger", 1, i, &member), 0);
	}
	assert_int_equal(groups_hello(g, "more", "trigger", 1, 99, &member), -EUSERS);
	groups_leave(g, 5);
	groups_leave(g, 3);
	assert_int_equal(groups_hello(g, "more", "trigger", 1, 99, &member), 0);
	assert_int_equal(member, 3); /* the one dead for longest */
	groups_destroy(g);
}

static void test_status(void **state)
{
	struct groups *g = make_groups();
	struct publisher_status s = {0};
	struct groups_action a;
	struct fcm_ack ack = ack_of(0, 0, FCM_PMT);
	unsigned member;

	(void)state;
	assert_int_equal(groups_hello(g, "A", "trigger", 2, 0, &member), 0);
	for (unsigned i = 0; i < HOLD_BLOCKS + 2; i++) {
		assert_int_equal(groups_offer(g, make_block(0, i, FCM_PMT)), 0);
		while (groups_next(g, &a)) {
			if (a.type == GROUPS_SETTLED) {
				free(a.block);
			}
		}
	}
	groups_ack(g, member, &ack); /* late */
	ack = ack_of(0, 77, FCM_PMT);
	groups_ack(g, member, &ack);
	groups_get_status(g, 1000, &s);
	assert_int_equal(s.late_acks, 1);
	assert_int_equal(s.unknown_acks, 1);
	assert_int_equal(s.groups, 2);
	assert_int_equal(s.group[0].members, 1);
	assert_int_equal(s.group[0].offered, HOLD_BLOCKS + 2);
	assert_int_equal(s.group[0].dropped[OUTCOME_DROP_SLOW], 2);
	assert_int_equal(s.group[0].dropped_frames[OUTCOME_DROP_SLOW], 2 * BLOCK_FRAMES);
	assert_int_equal(s.group[1].dropped[OUTCOME_DROP_NO_MEMBER], 2);
	assert_int_equal(s.group[0].last_drop_floor, 1);
	assert_int_equal(s.group[0].last_drop_first_frame, BLOCK_FRAMES);
	assert_int_equal(s.group[0].oldest_ns, 1000 - 2);
	assert_int_equal(s.members, 1);
	assert_int_equal(s.member[0].in_flight, 1); /* one dropped, not yet acknowledged */
	groups_shutdown(g);
	while (groups_next(g, &a)) {
		free(a.block);
	}
	groups_destroy(g);
}

/* ---- random events ---- */

#define RANDOM_BLOCKS  4000u
#define RANDOM_MEMBERS 6u

struct random_block {
	struct block *b;
	bool settled;
	int with[2];   /* member that has it, -1 */
	bool acked[2]; /* we acknowledged while it was with the member */
	bool sent[2];
};
struct random_world {
	struct groups *g;
	uint64_t rng, now;
	struct random_block block[RANDOM_BLOCKS];
	unsigned offered, settled;
	unsigned next[4]; /* per link */
	uint32_t credit[MEMBERS_MAX];
	int slice_member[2][RANDOM_BLOCKS];
};

static unsigned draw(struct random_world *w, unsigned n)
{
	w->rng ^= w->rng << 13;
	w->rng ^= w->rng >> 7;
	w->rng ^= w->rng << 17;
	return (unsigned)(w->rng >> 20) % n;
}

static unsigned group_index(struct random_world *w, unsigned member)
{
	return strcmp(groups_config_of(w->g, member)->name, "trigger") != 0;
}

static void check_sent(struct random_world *w, const struct groups_action *a)
{
	unsigned group = group_index(w, a->member), slice = (unsigned)a->block->header.slice_id;
	struct random_block *r = &w->block[a->block->monotonic_ns];
	int *owner = &w->slice_member[group][slice];

	assert_ptr_equal(r->b, a->block);
	assert_false(r->settled);
	assert_int_equal(r->with[group], -1);
	assert_int_equal(a->resent, r->sent[group]);
	assert_true(groups_alive(w->g, a->member));
	/* All of a slice to one member, while it lives. */
	assert_true(*owner < 0 || *owner == (int)a->member);
	if (draw(w, 20) == 0) {
		groups_unsent(w->g, a);
		return;
	}
	*owner = (int)a->member;
	r->with[group] = (int)a->member;
	r->sent[group] = true;
}

static void check_settled(struct random_world *w, struct block *b)
{
	struct random_block *r = &w->block[b->monotonic_ns];

	assert_ptr_equal(r->b, b);
	assert_false(r->settled);
	r->settled = true;
	w->settled++;
	for (unsigned group = 0; group < 2; group++) {
		bool wanted = group == 1 || b->header.stream == FCM_PMT;

		if (!wanted) {
			assert_int_equal(b->outcome[group], OUTCOME_NOT_OFFERED);
		} else if (r->acked[group] || b->already[group]) {
			assert_int_equal(b->outcome[group], OUTCOME_ACKED);
		} else {
			assert_in_range(b->outcome[group], OUTCOME_DROP_NO_MEMBER, OUTCOMES - 1);
		}
	}
}

static void drain(struct random_world *w)
{
	struct publisher_status s = {0};
	struct groups_action a;

	while (groups_next(w->g, &a)) {
		if (a.type == GROUPS_SEND) {
			check_sent(w, &a);
		} else {
			check_settled(w, a.block);
		}
	}
	groups_get_status(w->g, w->now, &s);
	for (unsigned i = 0; i < s.members; i++) {
		assert_true(!s.member[i].alive || s.member[i].in_flight <= s.member[i].credit);
		assert_true(s.member[i].alive || s.member[i].in_flight == 0);
	}
	for (unsigned i = 0; i < s.groups; i++) {
		uint64_t sum = s.group[i].acked + s.group[i].in_flight + s.group[i].waiting;

		for (unsigned k = 0; k < OUTCOMES; k++) {
			sum += s.group[i].dropped[k];
		}
		assert_int_equal(sum, s.group[i].offered);
	}
	assert_int_equal(groups_held(w->g), w->offered - w->settled);
}

static void forget_member(struct random_world *w, unsigned member)
{
	unsigned group = group_index(w, member);

	for (unsigned i = 0; i < w->offered; i++) {
		struct random_block *r = &w->block[i];

		r->with[group] = r->with[group] == (int)member ? -1 : r->with[group];
		w->slice_member[group][i] =
			w->slice_member[group][i] == (int)member ? -1 : w->slice_member[group][i];
	}
}

static void random_offer(struct random_world *w)
{
	unsigned link = draw(w, 4), n = w->offered;
	unsigned stream = draw(w, 3) == 0 ? FCM_HYDROPHONE : FCM_PMT;
	struct random_block *r;

	/* Links may be apart by what a slice is remembered, not more. */
	for (unsigned other = 0; other < 4; other++) {
		link = w->next[other] + 8 < w->next[link] ? other : link;
	}
	if (n == RANDOM_BLOCKS) {
		return;
	}
	r = &w->block[n];
	r->b = make_block(link, w->next[link]++, stream);
	r->b->monotonic_ns = n;
	r->b->already[1] = draw(w, 30) == 0;
	r->with[0] = r->with[1] = -1;
	w->offered++;
	assert_int_equal(groups_offer(w->g, r->b), 0);
}

static void random_ack(struct random_world *w)
{
	unsigned back = draw(w, 40), member = draw(w, RANDOM_MEMBERS);
	unsigned n = w->offered > back ? w->offered - 1 - back : 0;
	const struct fcm_block_header *h;
	struct random_block *r;
	enum groups_ack_result result;
	struct fcm_ack ack;
	unsigned group;

	if (w->offered == 0 || !groups_alive(w->g, member)) {
		return;
	}
	r = &w->block[n];
	h = &r->b->header;
	group = group_index(w, member);
	ack = ack_of(h->link, (unsigned)(h->sequence & 0xffff), h->stream);
	result = groups_ack(w->g, member, &ack);
	if (r->with[group] != (int)member) {
		assert_int_equal(result, GROUPS_ACK_UNKNOWN);
		return;
	}
	r->with[group] = -1;
	assert_true(result == GROUPS_ACKED || result == GROUPS_ACK_LATE);
	r->acked[group] |= result == GROUPS_ACKED;
}

static void random_event(struct random_world *w)
{
	unsigned member = draw(w, RANDOM_MEMBERS), what = draw(w, 100), got;
	char name[16];

	w->now++;
	if (what < 38) {
		random_offer(w);
	} else if (what < 90) {
		random_ack(w);
	} else if (what < 94) {
		snprintf(name, sizeof(name), "M%u", member);
		if (groups_alive(w->g, member)) {
			forget_member(w, member);
		}
		assert_int_equal(groups_hello(w->g, name, draw(w, 2) ? "trigger" : "acoustics",
					      1 + draw(w, 12), w->now, &got),
				 0);
	} else if (what < 96) {
		if (groups_alive(w->g, member)) {
			forget_member(w, member);
			groups_leave(w->g, member);
		}
	} else if (what < 97) {
		groups_pool_empty(w->g);
	} else {
		groups_tick(w->g, w->now);
	}
	drain(w);
}

static void test_random(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 12; seed++) {
		struct random_world *w = calloc(1, sizeof(*w));
		unsigned got;

		assert_non_null(w);
		w->g = make_groups();
		w->rng = seed * 0x9e3779b97f4a7c15ull;
		memset(w->slice_member, 0xff, sizeof(w->slice_member));
		for (unsigned i = 0; i < RANDOM_MEMBERS;
		     i++) { /* rows are numbered in this order */
			char name[16];

			snprintf(name, sizeof(name), "M%u", i);
			assert_int_equal(groups_hello(w->g, name, "trigger", 4, 0, &got), 0);
			assert_int_equal(got, i);
		}
		while (w->offered < RANDOM_BLOCKS) {
			random_event(w);
		}
		groups_shutdown(w->g);
		drain(w);
		assert_int_equal(w->settled, RANDOM_BLOCKS);
		for (unsigned i = 0; i < RANDOM_BLOCKS; i++) {
			free(w->block[i].b);
		}
		groups_destroy(w->g);
		free(w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_delivery),
		cmocka_unit_test(test_nobody_there_waits_then_pays),
		cmocka_unit_test(test_slow_member),
		cmocka_unit_test(test_slices_stay_together),
		cmocka_unit_test(test_death_and_redelivery),
		cmocka_unit_test(test_silence_is_death),
		cmocka_unit_test(test_full_pipe),
		cmocka_unit_test(test_pool_empty),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_status),
		cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
