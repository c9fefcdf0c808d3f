/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Groups of reserved consumers under test, see groups_rig.h. */
#include "tests/unit/daemon/publish/groups_rig.h"

#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *const outcomes[OUTCOMES] = {"-",	   "acked", "nobody", "slow",
					       "shutdown", "pool",  "no-time"};

size_t groups_rig_memory(void)
{
	return mallinfo2().uordblks;
}

struct groups *groups_rig_make(const struct groups_config *config)
{
	struct groups *g = groups_create(config);

	assert_non_null(g);
	return g;
}

/* The index-th block of a link and stream. */
struct block *groups_rig_block(unsigned link, unsigned index, unsigned stream)
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
	b->capacity = BLOCK_MEMORY - sizeof(*b);
	memset(b->outcome, 0xa5, sizeof(b->outcome)); /* as the last one left it */
	return b;
}

struct fcm_ack groups_rig_ack(unsigned link, unsigned index, unsigned stream)
{
	return (struct fcm_ack){.sequence = 7ull << 40 | index,
				.stream = (uint8_t)stream,
				.link = (uint8_t)link,
				.tower = 1,
				.floor = (uint8_t)(link + 1)};
}

/* ---- scripts ---- */

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
		} else if (a.type == GROUPS_EXPEL) {
			snprintf(text, sizeof(text), "-%s", groups_member_name(s->g, a.member));
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
		struct block *block =
			groups_rig_block(a, b, mark[0] == 'h' ? FCM_HYDROPHONE : FCM_PMT);

		block->already[0] = mark[0] == '*';
		assert_int_equal(groups_offer(s->g, block), 0);
	} else if (sscanf(event, "large %u.%u", &a, &b) == 2) {
		struct block *block = groups_rig_block(a, b, FCM_PMT);

		block->capacity = LARGE_MEMORY - sizeof(*block);
		assert_int_equal(groups_offer(s->g, block), 0);
	} else if (sscanf(event, "ack %47s %u.%u%1s", name, &a, &b, mark) >= 3) {
		struct fcm_ack ack =
			groups_rig_ack(a, b, mark[0] == 'h' ? FCM_HYDROPHONE : FCM_PMT);

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

static void run_script(const struct groups_config *config, const struct groups_step *steps)
{
	struct script s = {.g = groups_rig_make(config)};

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

/* Several times, because the allocator keeps freed memory at first. */
void groups_script(const struct groups_config *config, const struct groups_step *steps)
{
	size_t memory = 0;

	for (unsigned i = 0; i < 4; i++) {
		memory = groups_rig_memory();
		run_script(config, steps);
	}
	assert_int_equal(groups_rig_memory(), memory);
}
