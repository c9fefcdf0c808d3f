// SPDX-License-Identifier: GPL-2.0-or-later
/* From slices to rows: a sink that writes down what it gets. */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/convert/spread.h"
#include "tests/unit/daemon/convert/block_rig.h"

static char log_text[1 << 16];
static int fail_with;
static struct spread_state state_of;
static struct spread *spread;
static struct slice slice;

static void say(const char *format, ...)
{
	size_t n = strlen(log_text);
	va_list args;

	va_start(args, format);
	vsnprintf(log_text + n, sizeof(log_text) - n, format, args);
	va_end(args);
}

static int on_hits(struct sink *s, const struct hit_run *run)
{
	for (size_t i = 0; i < run->n; i++) {
		const struct out_hit *h = &run->hits[i];

		say("hit %u b%u w%" PRIu64 "+%u\n", h->t5ns, h->block, h->waveform_at, h->samples);
		assert_int_equal(h->tai_ns, RIG_TAI + h->t5ns * 5);
		assert_int_equal(run->payloads[run->rows[i].block][run->rows[i].samples_at],
				 h->charge);
	}
	return fail_with;
}

static int on_table(struct sink *s, enum table_id id, const void *rows, size_t n)
{
	const struct out_block *b = rows;
	const struct out_group *g = rows;
	const struct out_index *x = rows;
	const struct out_piece *p = rows;

	switch (id) {
	case TABLE_BLOCKS:
		say("block s%u l%u g%u\n", b->stream, b->link, b->group_id);
		break;
	case TABLE_GROUPS:
		say("group %u b%" PRIu64 "+%u h%" PRIu64 "+%u\n", g->group_id, g->first_block,
		    g->blocks, g->first_hit, g->hits);
		break;
	case TABLE_HIT_INDICES:
	case TABLE_WAVEFORM_INDICES:
		say("%s %" PRIu64 "+%" PRIu64 "\n", tables[id].name, x->index, x->n_items);
		break;
	case TABLE_PIECES:
		say("piece F%uH%u at %" PRIu64 "+%" PRIu64 " frame %" PRIu64 " tai %" PRId64 "\n",
		    p->floor, p->hydrophone, p->at, p->samples, p->first_frame - RIG_FIRST,
		    p->tai_ns - RIG_TAI);
		break;
	default:
		say("%s %zu\n", tables[id].name, n);
	}
	return fail_with;
}

static int on_sound(struct sink *s, const struct sound_run *run)
{
	say("sound F%uH%u frame %" PRIu64 " %d..%d%s\n", run->floor, run->hydrophone,
	    run->first_frame - RIG_FIRST, run->samples[0], run->samples[run->n - 1],
	    run->begins ? " begins" : "");
	return fail_with;
}

static int on_serial(struct sink *s, const uint8_t *bytes, size_t n)
{
	return fail_with;
}

static const struct sink_ops ops = {
	.hits = on_hits, .table = on_table, .sound = on_sound, .serial = on_serial};
static struct sink sink = {.ops = &ops};

static int set_up(void **state)
{
	memset(log_text, 0, sizeof(log_text));
	memset(&state_of, 0, sizeof(state_of));
	fail_with = 0;
	assert_int_equal(slice_init(&slice), 0);
	return spread_create(&state_of, &sink, &spread);
}

static int tear_down(void **state)
{
	spread_destroy(spread);
	slice_fini(&slice);
	return 0;
}

static void add(void)
{
	assert_int_equal(slice_add(&slice, rig_block()), 0);
}

static void done(void)
{
	slice_order(&slice);
	assert_int_equal(spread_slice(spread, &slice), 0);
	slice_empty(&slice);
}

static void got(const char *wanted)
{
	assert_string_equal(log_text, wanted);
	memset(log_text, 0, sizeof(log_text));
}

static void numbers_go_on_from_slice_to_slice(void **state)
{
	for (unsigned i = 0; i < 2; i++) {
		rig_begin(FCM_PMT, 0, RIG_FIRST);
		rig_hit(20, 3, true, 5);
		add();
		rig_begin(FCM_PMT, 1, RIG_FIRST);
		rig_hit(10, 2, false, 6);
		add();
		done();
	}
	got("hit 10 b1 w0+2\nhit 20 b0 w2+3\nblock s0 l0 g0\nblock s0 l1 g0\n"
	    "group 0 b0+2 h0+2\nhits_indices 0+2\nwaveforms_indices 0+5\n"
	    "hit 10 b3 w5+2\nhit 20 b2 w7+3\nblock s0 l0 g1\nblock s0 l1 g1\n"
	    "group 1 b2+2 h2+2\nhits_indices 2+2\nwaveforms_indices 5+5\n");
}

static void sound_in_pieces(void **state)
{
	rig_begin(FCM_HYDROPHONE, 0, RIG_FIRST);
	rig_sound(0, "xx.x", 100);
	add();
	rig_begin(FCM_HYDROPHONE, 0, RIG_FIRST + 4);
	rig_sound(0, "x...", 500);
	add();
	done();
	got("block s1 l0 g0\nblock s1 l0 g0\n"
	    "sound F1H0 frame 0 100..147 begins\n"
	    "piece F1H0 at 0+48 frame 0 tai 0\n"
	    "sound F1H0 frame 3 148..171 begins\n"
	    "sound F1H0 frame 4 500..523\n"
	    "group 0 b0+2 h0+0\nhits_indices 0+0\nwaveforms_indices 0+0\n");
	assert_int_equal(spread_end(spread), 0);
	got("piece F1H0 at 48+48 frame 3 tai 375000\n");
	assert_int_equal(spread_end(spread), 0);
	got("");
}

static void another_label_of_time_is_another_piece(void **state)
{
	rig_begin(FCM_HYDROPHONE, 0, RIG_FIRST);
	rig_sound(1, "xxxx", 0);
	add();
	rig_begin(FCM_HYDROPHONE, 0, RIG_FIRST + 4);
	rig_block()->header.time_epoch = 2;
	rig_sound(1, "xxxx", 96);
	add();
	done();
	assert_non_null(strstr(log_text, "piece F1H1 at 0+96"));
	assert_non_null(strstr(log_text, "sound F1H1 frame 4 96..191 begins"));
}

static void the_state_can_be_kept_as_bytes(void **state)
{
	struct spread_state kept;

	rig_begin(FCM_HYDROPHONE, 0, RIG_FIRST);
	rig_sound(0, "xxxx", 0);
	add();
	done();
	kept = state_of;
	spread_destroy(spread);
	memset(&state_of, 0xff, sizeof(state_of));
	state_of = kept;
	assert_int_equal(spread_create(&state_of, &sink, &spread), 0);
	memset(log_text, 0, sizeof(log_text));
	rig_begin(FCM_HYDROPHONE, 0, RIG_FIRST + 4);
	rig_sound(0, "xxxx", 96);
	add();
	done();
	assert_non_null(strstr(log_text, "sound F1H0 frame 4 96..191\n"));
	assert_int_equal(spread_end(spread), 0);
	assert_non_null(strstr(log_text, "piece F1H0 at 0+192 frame 0"));
}

static void no_more_hydrophones_than_there_is_room(void **state)
{
	for (unsigned i = 0; i <= SOUNDS_MAX; i++) {
		rig_begin(FCM_HYDROPHONE, 0, RIG_FIRST);
		rig_block()->header.floor = (uint8_t)i;
		rig_sound(0, "xxxx", 0);
		add();
		slice_order(&slice);
		assert_int_equal(spread_slice(spread, &slice), i < SOUNDS_MAX ? 0 : -E2BIG);
		slice_empty(&slice);
	}
}

static void a_sink_that_fails_ends_it(void **state)
{
	rig_begin(FCM_PMT, 0, RIG_FIRST);
	rig_hit(20, 3, true, 5);
	add();
	slice_order(&slice);
	fail_with = -ENOSPC;
	assert_int_equal(spread_slice(spread, &slice), -ENOSPC);
	got("hit 20 b0 w0+3\n");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(numbers_go_on_from_slice_to_slice),      TEST(sound_in_pieces),
		TEST(another_label_of_time_is_another_piece), TEST(the_state_can_be_kept_as_bytes),
		TEST(no_more_hydrophones_than_there_is_room), TEST(a_sink_that_fails_ends_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
