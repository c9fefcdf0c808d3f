// SPDX-License-Identifier: GPL-2.0-or-later
/* From slices to rows: a sink that writes down what it gets. */
#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
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
static unsigned calls_before_it; /* calls of the sink that do not fail */
static unsigned calls;
static struct out_group last_group;
static struct out_block last_block;
static struct out_hit last_hit;
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

static int called(void)
{
	return calls++ < calls_before_it ? 0 : fail_with;
}

static int on_hits(struct sink *s, const struct hit_run *run)
{
	assert_in_range(run->n, 1, 1024);
	last_hit = run->hits[run->n - 1];
	for (size_t i = 0; i < run->n; i++) {
		const struct out_hit *h = &run->hits[i];

		say("hit %u b%u w%" PRIu64 "+%u\n", h->t5ns, h->block, h->waveform_at, h->samples);
		assert_int_equal(h->tai_ns, RIG_TAI + h->t5ns * 5);
		assert_int_equal(run->payloads[run->rows[i].block][run->rows[i].samples_at],
				 h->charge);
	}
	return called();
}

static int on_table(struct sink *s, enum table_id id, const void *rows, size_t n)
{
	const struct out_block *b = rows;
	const struct out_group *g = rows;
	const struct out_index *x = rows;
	const struct out_piece *p = rows;
	const struct out_telemetry *t = rows;
	const struct out_serial *r = rows;

	switch (id) {
	case TABLE_BLOCKS:
		say("block s%u l%u g%u\n", b->stream, b->link, b->group_id);
		last_block = *b;
		break;
	case TABLE_GROUPS:
		say("group %u b%" PRIu64 "+%u h%" PRIu64 "+%u\n", g->group_id, g->first_block,
		    g->blocks, g->first_hit, g->hits);
		last_group = *g;
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
	case TABLE_TELEMETRY:
		for (; n > 0; n--, t++) {
			say("telemetry l%uT%uF%u b%u frame %" PRIu64 " tai %" PRId64 " %.4s\n",
			    t->link, t->tower, t->floor, t->block, t->frame - RIG_FIRST,
			    t->tai_ns == FCM_NO_TAI ? -1 : t->tai_ns - RIG_TAI, t->bytes);
		}
		break;
	case TABLE_SERIAL:
		say("serial l%uT%uF%u c%u #%u at %" PRIu64 "+%u frame %" PRIu64 " tai %" PRId64
		    "\n",
		    r->link, r->tower, r->floor, r->channel, r->sequence, r->at, r->length,
		    r->frame - RIG_FIRST, r->tai_ns - RIG_TAI);
		break;
	default:
		fail_msg("%s", tables[id].name);
	}
	return called();
}

static int on_sound(struct sink *s, const struct sound_run *run)
{
	say("sound F%uH%u frame %" PRIu64 " %d..%d%s\n", run->floor, run->hydrophone,
	    run->first_frame - RIG_FIRST, run->samples[0], run->samples[run->n - 1],
	    run->begins ? " begins" : "");
	return called();
}

static int on_serial(struct sink *s, const uint8_t *bytes, size_t n)
{
	say("%.*s\n", (int)n, (const char *)bytes);
	return called();
}

static const struct sink_ops ops = {
	.hits = on_hits, .table = on_table, .sound = on_sound, .serial = on_serial};
static struct sink sink = {.ops = &ops};

static int set_up(void **state)
{
	memset(log_text, 0, sizeof(log_text));
	memset(&state_of, 0, sizeof(state_of));
	fail_with = 0;
	calls = calls_before_it = 0;
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

static void many_hits_come_in_batches(void **state)
{
	rig_begin(FCM_PMT, 0, RIG_FIRST);
	for (unsigned i = 0; i < 2100; i++) {
		rig_hit(i, 1, true, (uint16_t)(i & 0xff));
	}
	add();
	done();
	assert_int_equal(last_hit.t5ns, 2099);
	assert_int_equal(last_hit.waveform_at, 2099);
	assert_int_equal(calls, 3 + 4); /* the block, its group, two indices */
	assert_non_null(strstr(log_text, "hits_indices 0+2100\nwaveforms_indices 0+2100\n"));
	for (unsigned i = 0; i < 2100; i++) {
		char hit[64];

		snprintf(hit, sizeof(hit), "hit %u b0 w%u+1\n", i, i);
		assert_non_null(strstr(log_text, hit));
	}
}

/* It begins with its slice, and with the earliest of its blocks that has a time. */
static void a_group_is_of_its_slice(void **state)
{
	rig_begin(FCM_PMT, 0, RIG_FIRST + 400);
	rig_block()->header.slice_id = 99;
	rig_block()->header.flags = FCM_BLOCK_NO_TIME;
	rig_block()->header.tai_ns = 5;
	add();
	done();
	assert_int_equal(last_group.tai_ns, FCM_NO_TAI);
	assert_int_equal(last_group.first_frame, RIG_FIRST);
	for (unsigned i = 0; i < 3; i++) {
		rig_begin(FCM_PMT, i, RIG_FIRST + 404 - 4 * i);
		rig_block()->header.slice_id = 99;
		rig_block()->header.flags = i == 2 ? FCM_BLOCK_NO_TIME : 0;
		rig_block()->header.run = 8;
		rig_block()->header.dma_epoch = 9;
		add();
	}
	done();
	assert_int_equal(last_group.group_id, 1);
	assert_int_equal(last_group.run, 8);
	assert_int_equal(last_group.dma_epoch, 9);
	assert_int_equal(last_group.slice_id, 99);
	assert_int_equal(last_group.tai_ns, RIG_TAI + 400 * 125000);
	assert_int_equal(last_group.first_frame, RIG_FIRST);
	assert_int_equal(last_group.first_block, 1);
	assert_int_equal(last_group.blocks, 3);
}

static void a_row_of_a_block_has_what_is_missing_before_it(void **state)
{
	rig_begin(FCM_PMT, 0, RIG_FIRST);
	rig_block()->gap_first = 7;
	rig_block()->gap_frames = 8;
	rig_block()->gap_lost = 9;
	add();
	done();
	assert_int_equal(last_block.gap_first, 7);
	assert_int_equal(last_block.gap_frames, 8);
	assert_int_equal(last_block.gap_lost, 9);
	assert_int_equal(last_block.first_frame, RIG_FIRST);
	assert_int_equal(last_block.tai_ns, RIG_TAI);
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

static void another_link_or_epoch_is_another_piece(void **state)
{
	for (unsigned i = 0; i < 3; i++) {
		rig_begin(FCM_HYDROPHONE, i == 1, RIG_FIRST + 4 * i);
		rig_block()->header.floor = 1;
		rig_block()->header.dma_epoch = i == 2 ? 2 : 1;
		rig_block()->header.link = i > 0;
		rig_sound(0, "xxxx", 0);
		add();
	}
	done();
	assert_int_equal(spread_end(spread), 0);
	assert_non_null(strstr(log_text, "piece F1H0 at 0+96 frame 0 "));
	assert_non_null(strstr(log_text, "piece F1H0 at 96+96 frame 4 "));
	assert_non_null(strstr(log_text, "piece F1H0 at 192+96 frame 8 "));
}

static void hydrophones_have_pieces_of_their_own(void **state)
{
	for (unsigned i = 0; i < 4; i++) {
		rig_begin(FCM_HYDROPHONE, 0, RIG_FIRST);
		rig_block()->header.tower = (uint8_t)(1 + (i == 2));
		rig_block()->header.floor = (uint8_t)(1 + (i == 3));
		rig_sound(i == 1, "xx..", 100 * (int)i);
		add();
	}
	done();
	assert_int_equal(spread_end(spread), 0);
	got("block s1 l0 g0\nblock s1 l0 g0\nblock s1 l0 g0\nblock s1 l0 g0\n"
	    "sound F1H0 frame 0 0..47 begins\n"
	    "sound F1H1 frame 0 100..147 begins\n"
	    "sound F1H0 frame 0 200..247 begins\n"
	    "sound F2H0 frame 0 300..347 begins\n"
	    "group 0 b0+4 h0+0\nhits_indices 0+0\nwaveforms_indices 0+0\n"
	    "piece F1H0 at 0+48 frame 0 tai 0\n"
	    "piece F1H1 at 0+48 frame 0 tai 0\n"
	    "piece F1H0 at 0+48 frame 0 tai 0\n"
	    "piece F2H0 at 0+48 frame 0 tai 0\n");
}

static void telemetry_and_serial_records_have_rows(void **state)
{
	static const char telemetry[][64] = {"one, and so on", "two, and so on"};
	static const uint8_t two[] = {3, 2, 0x34, 0x12, 'a', 'b', 4, 1, 1, 0, 'c'};
	static const uint8_t cut[] = {5, 1, 7, 0, 'd', 6, 9, 0, 0, 'e'};
	static const uint8_t last[] = {7, 3, 2, 0, 'f', 'g', 'h'};

	rig_begin(FCM_PMT, 0, RIG_FIRST);
	add();
	rig_begin(FCM_INSTRUMENT, 1, RIG_FIRST);
	rig_bytes(0, 1, telemetry[0], 64);
	rig_bytes(0, 2, telemetry[1], 20); /* none: too short */
	rig_bytes(0, 3, telemetry[1], 64);
	rig_bytes(1, 0, two, sizeof(two));
	rig_bytes(1, 2, cut, sizeof(cut)); /* the frame's first record is whole */
	rig_bytes(1, 3, last, sizeof(last));
	add();
	done();
	got("block s0 l0 g0\nblock s2 l1 g0\n"
	    "telemetry l1T1F2 b1 frame 1 tai 125000 one,\n"
	    "telemetry l1T1F2 b1 frame 3 tai 375000 two,\n"
	    "serial l1T1F2 c3 #4660 at 0+2 frame 0 tai 0\nab\n"
	    "serial l1T1F2 c4 #1 at 2+1 frame 0 tai 0\nc\n"
	    "serial l1T1F2 c5 #7 at 3+1 frame 2 tai 250000\nd\n"
	    "serial l1T1F2 c7 #2 at 4+3 frame 3 tai 375000\nfgh\n"
	    "group 0 b0+2 h0+0\nhits_indices 0+0\nwaveforms_indices 0+0\n");
	rig_begin(FCM_INSTRUMENT, 1, RIG_FIRST);
	rig_block()->header.flags = FCM_BLOCK_NO_TIME;
	rig_bytes(0, 3, telemetry[0], 64);
	add();
	done();
	got("block s2 l1 g1\ntelemetry l1T1F2 b2 frame 3 tai -1 one,\n"
	    "group 1 b2+1 h0+0\nhits_indices 0+0\nwaveforms_indices 0+0\n");
}

/* The frames of a block without channels did not come. */
static void nothing_is_in_a_block_without_channels(void **state)
{
	for (enum fcm_stream stream = 0; stream < FCM_STREAMS; stream++) {
		rig_begin(stream, 0, RIG_FIRST);
		rig_block()->header.channels = 0;
		rig_block()->header.frames = 1600;
		add();
	}
	done();
	got("block s0 l0 g0\nblock s1 l0 g0\nblock s2 l0 g0\n"
	    "group 0 b0+3 h0+0\nhits_indices 0+0\nwaveforms_indices 0+0\n");
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

static void memory_is_given_back(void **state)
{
	size_t memory = 0;

	for (unsigned i = 0; i < 30; i++) {
		memory = i == 20 ? mallinfo2().uordblks + mallinfo2().hblkhd : memory;
		spread_destroy(spread);
		assert_int_equal(spread_create(&state_of, &sink, &spread), 0);
	}
	assert_int_equal(mallinfo2().uordblks + mallinfo2().hblkhd, memory);
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

static void a_bit_of_everything(void)
{
	static const uint8_t record[] = {3, 2, 0x34, 0x12, 'a', 'b'};
	static const uint8_t telemetry[64];

	rig_begin(FCM_PMT, 0, RIG_FIRST);
	rig_hit(20, 3, true, 5);
	add();
	for (unsigned hydrophone = 0; hydrophone < 2; hydrophone++) {
		rig_begin(FCM_HYDROPHONE, 0, RIG_FIRST);
		rig_sound(hydrophone, "x.xx", 100);
		add();
	}
	rig_begin(FCM_INSTRUMENT, 0, RIG_FIRST);
	rig_bytes(0, 0, telemetry, 64);
	rig_bytes(1, 0, record, sizeof(record));
	rig_bytes(1, 1, record, sizeof(record));
	add();
	slice_order(&slice);
}

/* Whichever call it is: it is the last one, and its error is returned. */
static void a_sink_that_fails_ends_it(void **state)
{
	unsigned all;

	a_bit_of_everything();
	assert_int_equal(spread_slice(spread, &slice), 0);
	all = calls;
	assert_int_equal(all, 1 + 4 + 3 + 3 + 1 + 4 + 3);
	assert_int_equal(spread_end(spread), 0);
	assert_int_equal(calls, all + 2);
	fail_with = -ENOSPC;
	for (calls_before_it = 0; calls_before_it < all; calls_before_it++) {
		memset(&state_of, 0, sizeof(state_of));
		calls = 0;
		assert_int_equal(spread_slice(spread, &slice), -ENOSPC);
		assert_int_equal(calls, calls_before_it + 1);
	}
	memset(&state_of, 0, sizeof(state_of));
	calls = 0;
	calls_before_it = all;
	assert_int_equal(spread_slice(spread, &slice), 0);
	assert_int_equal(spread_end(spread), -ENOSPC);
	assert_int_equal(calls, all + 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(numbers_go_on_from_slice_to_slice),
		TEST(many_hits_come_in_batches),
		TEST(a_group_is_of_its_slice),
		TEST(a_row_of_a_block_has_what_is_missing_before_it),
		TEST(sound_in_pieces),
		TEST(another_link_or_epoch_is_another_piece),
		TEST(hydrophones_have_pieces_of_their_own),
		TEST(telemetry_and_serial_records_have_rows),
		TEST(nothing_is_in_a_block_without_channels),
		TEST(another_label_of_time_is_another_piece),
		TEST(the_state_can_be_kept_as_bytes),
		TEST(memory_is_given_back),
		TEST(no_more_hydrophones_than_there_is_room),
		TEST(a_sink_that_fails_ends_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
