/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A recording played: which cell comes at which count, what is lost and by which name, what time it is,
 * what becomes of files that end early or are damaged. The board is not here: steps are made by hand.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "driver/emu/play/play.h"
#include "tests/unit/rig/record_rig.h"

#define A 80000u /* the first count of most recordings here, at a second's border */

static unsigned remarks;
static char last_remark[512];

static void hear(const char *line)
{
	remarks++;
	snprintf(last_remark, sizeof(last_remark), "%s", line);
}

static struct play *begin(const struct rec *r)
{
	struct play *p = NULL;
	char error[256];

	remarks = 0;
	assert_int_equal(play_create(r->directory, hear, &p, error, sizeof(error)), 0);
	assert_int_equal(play_state(p), PLAY_LEAD);
	play_step(p);
	assert_int_equal(play_state(p), PLAY_WAIT);
	return p;
}

static uint64_t count_of(const struct play *p)
{
	struct world_roof roof;

	play_roof(p, &roof);
	assert_true(roof.counted);
	return roof.count;
}

/* What a link brings in this step: a name of loss, or a cell, which must be the one of its count. */
static enum tdm_loss look(struct play *p, unsigned link)
{
	static uint8_t cell[TDM_FRAME_BYTES], expected[TDM_FRAME_BYTES];
	struct world_fibre fibre;

	play_fibre(p, link, &fibre);
	assert_int_equal(fibre.signal, play_locked(p, link));
	if (!fibre.signal) {
		play_uplink(p, link, TDM_LOSS_LINK_DOWN, cell);
		return TDM_LOSS_LINK_DOWN;
	}
	play_uplink(p, link, (enum tdm_loss)fibre.lost, cell);
	if (fibre.lost == TDM_GOOD) {
		rec_cell(link, count_of(p), expected);
		assert_memory_equal(cell, expected, sizeof(cell));
	}
	return (enum tdm_loss)fibre.lost;
}

/* `steps` steps from count `from` on in which the link brings the same. */
static void expect(struct play *p, unsigned link, uint64_t from, unsigned steps, enum tdm_loss loss)
{
	for (unsigned i = 0; i < steps; i++) {
		play_step(p);
		assert_int_equal(play_state(p), PLAY_RUN);
		assert_int_equal(count_of(p), from + i);
		assert_int_equal(look(p, link), loss);
	}
}

static struct play_stats stats_of(const struct play *p)
{
	struct play_stats s;

	play_stats(p, &s);
	return s;
}

static void every_record_is_what_it_was(void **state)
{
	struct rec r;
	struct play *p;

	rec_init(&r);
	rec_segment(&r, 2, 0, 7, A + 100, REC_UTC_S);
	rec_data(&r, 40);
	rec_gap(&r, TDM_LOSS_LINK_DOWN, 5);
	rec_gap(&r, TDM_LOSS_BOARD_FIFO, 6);
	rec_gap(&r, TDM_LOSS_RING_FULL, 7);
	rec_gap(&r, 99, 1); /* of no known name */
	rec_let_go(&r, 8);
	rec_segment(&r, 2, 1, 7, r.count, REC_UTC_S + 1);
	rec_data(&r, 20);
	p = begin(&r);
	assert_int_equal(play_links(p), 1u << 2);
	assert_int_equal(count_of(p), A); /* the second's border before the first cell */
	assert_int_equal(look(p, 2), TDM_LOSS_LINK_DOWN);
	play_go(p);
	expect(p, 2, A + 100, 40, TDM_GOOD);
	assert_int_equal(look(p, 1), TDM_LOSS_LINK_DOWN); /* not in the recording */
	expect(p, 2, A + 140, 5, TDM_LOSS_LINK_DOWN);
	expect(p, 2, A + 145, 6, TDM_LOSS_BOARD_FIFO);
	expect(p, 2, A + 151, 7, TDM_LOSS_RING_FULL);
	expect(p, 2, A + 158, 1, TDM_LOSS_BOARD_FIFO);
	expect(p, 2, A + 159, 8, TDM_LOSS_BOARD_FIFO);
	assert_int_equal(remarks, 1);
	assert_string_equal(last_remark, "link 2: 8 cells from count 80159 on were let go by the "
					 "recorder: lost as board-fifo");
	expect(p, 2, A + 167, 20, TDM_GOOD);
	play_step(p);
	assert_int_equal(play_state(p), PLAY_DRAIN);
	assert_int_equal(count_of(p), A + 187);
	assert_int_equal(look(p, 2), TDM_LOSS_LINK_DOWN);
	play_step(p);
	assert_int_equal(count_of(p), A + 188);
	play_next(p);
	assert_int_equal(play_state(p), PLAY_OVER);
	assert_int_equal(stats_of(p).cells, 60);
	assert_int_equal(stats_of(p).gaps, 19);
	assert_int_equal(stats_of(p).let_go, 8);
	assert_int_equal(stats_of(p).missed + stats_of(p).absent + stats_of(p).damaged, 0);
	play_destroy(p);
	rec_fini(&r);
}

/* Links go by the same count: one begins later, one ends earlier. */
static void links_in_step(void **state)
{
	struct rec r;
	struct play *p;

	rec_init(&r);
	rec_segment(&r, 0, 0, 7, A, REC_UTC_S);
	rec_data(&r, 30);
	rec_segment(&r, 3, 4, 8, A + 10, REC_UTC_S + 1); /* another epoch's number, the same time */
	rec_data(&r, 40);
	p = begin(&r);
	assert_int_equal(count_of(p), A - 8000);
	play_go(p);
	for (unsigned i = 0; i < 50; i++) {
		play_step(p);
		assert_int_equal(count_of(p), A + i);
		assert_int_equal(look(p, 0), i < 30 ? TDM_GOOD : TDM_LOSS_LINK_DOWN);
		assert_int_equal(look(p, 3), i >= 10 ? TDM_GOOD : TDM_LOSS_LINK_DOWN);
	}
	play_step(p);
	assert_int_equal(play_state(p), PLAY_DRAIN);
	play_destroy(p);
	rec_fini(&r);
}

static struct world_roof roof_of(const struct play *p)
{
	struct world_roof roof;

	play_roof(p, &roof);
	return roof;
}

/* The time of day is that of the label, from before the first cell on. */
static void time_of_day(void **state)
{
	struct world_roof roof;
	struct rec r;
	struct play *p;

	rec_init(&r);
	rec_segment(&r, 0, 0, 7, A + 7998, REC_UTC_S);
	rec_data(&r, 4);
	rec_label(&r, 2, 3600);
	rec_data(&r, 4);
	rec_label(&r, 1, 0); /* an old one is no news */
	rec_data(&r, 4);
	p = begin(&r);
	roof = roof_of(p);
	assert_true(roof.tod_valid && roof.pps);
	assert_int_equal(roof.tod_second, REC_UTC_S % 86400);
	assert_int_equal(roof.tod_day, 323); /* 20 November */
	assert_int_equal(roof.tod_year, 26);
	play_go(p);
	expect(p, 0, A + 7998, 2, TDM_GOOD);
	assert_false(roof_of(p).pps);
	expect(p, 0, A + 8000, 1, TDM_GOOD);
	assert_true(roof_of(p).pps);
	assert_int_equal(roof_of(p).tod_second, REC_UTC_S % 86400 + 1);
	expect(p, 0, A + 8001, 1, TDM_GOOD);
	/* Relabelled: one cell, which the registers go with, and then the owners must know. */
	play_step(p);
	assert_int_equal(play_state(p), PLAY_WAIT);
	assert_int_equal(look(p, 0), TDM_GOOD);
	assert_int_equal(roof_of(p).tod_second, REC_UTC_S % 86400 + 3601);
	play_go(p);
	expect(p, 0, A + 8003, 7, TDM_GOOD);
	assert_int_equal(roof_of(p).tod_second, REC_UTC_S % 86400 + 3601);
	play_destroy(p);
	rec_fini(&r);
}

static void put_label(struct rec *r, struct fcm_record_label label)
{
	rec_record(r,
		   (struct fcm_record_header){
			   .kind = FCM_RECORD_LABEL, .count = r->count, .bytes = sizeof(label)},
		   &label);
}

/* Labels without time, or that make no sense, are no time; a leap second is the 86400th. */
static void odd_labels(void **state)
{
	static const struct {
		struct fcm_record_label label;
		bool valid;
		uint32_t second;
	} rows[] = {
		{{.anchor_tai_ns = INT64_MIN, .leap_tai_ns = INT64_MAX}, false, 0},
		{{.anchor_tai_ns = INT64_MAX, .leap_tai_ns = INT64_MAX}, false, 0},
		{{.anchor_tai_ns = -1, .leap_tai_ns = INT64_MIN}, false, 0},
		{{.anchor_tai_ns = 1795194047000000000, .anchor_count = UINT64_MAX}, false, 0},
		{{.anchor_tai_ns = 1795194047000000000, .anchor_count = 80001}, false, 0},
		{{.anchor_tai_ns = 1795194047000000001, .anchor_count = 80000}, false, 0},
		/* 2026-12-31 23:59:60, and before and behind */
		{{.anchor_tai_ns = 1798761636000000000,
		  .anchor_count = 80000,
		  .tai_utc_s = 37,
		  .leap_tai_ns = 1798761637000000000},
		 true,
		 86399},
		{{.anchor_tai_ns = 1798761637000000000,
		  .anchor_count = 80000,
		  .tai_utc_s = 37,
		  .leap_tai_ns = 1798761637000000000},
		 true,
		 86400},
		{{.anchor_tai_ns = 1798761638000000000,
		  .anchor_count = 80000,
		  .tai_utc_s = 37,
		  .leap_tai_ns = 1798761637000000000},
		 true,
		 0},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fcm_record_label label = rows[i].label;
		struct rec r;
		struct play *p;

		rec_init(&r);
		rec_segment(&r, 0, 0, 7, A + 1, REC_UTC_S);
		label.time_epoch = 9;
		put_label(&r, label);
		rec_data(&r, 1);
		p = begin(&r);
		assert_int_equal(roof_of(p).tod_valid, rows[i].valid);
		if (rows[i].valid) {
			assert_int_equal(roof_of(p).tod_second, rows[i].second);
		}
		play_destroy(p);
		rec_fini(&r);
	}
}

/* A leap second may be announced within a time epoch. */
static void leap_announced(void **state)
{
	struct fcm_record_label label = {.time_epoch = 9,
					 .tai_utc_s = 37,
					 .anchor_count = A,
					 .anchor_tai_ns = 1798761636000000000,
					 .leap_tai_ns = INT64_MAX};
	struct rec r;
	struct play *p;

	rec_init(&r);
	rec_segment(&r, 0, 0, 7, A, REC_UTC_S);
	put_label(&r, label);
	rec_data(&r, 1);
	label.leap_tai_ns = 1798761637000000000;
	put_label(&r, label);
	rec_data(&r, 1);
	r.count = A + 8000;
	rec_data(&r, 2);
	p = begin(&r);
	play_go(p);
	expect(p, 0, A, 2, TDM_GOOD); /* nobody waits for it */
	expect(p, 0, A + 8000, 1, TDM_GOOD);
	assert_int_equal(roof_of(p).tod_second, 86400);
	play_destroy(p);
	rec_fini(&r);
}

/* A short second: the count goes up to the next, and a PPS is there. Another hole is a loss. */
static void holes_in_the_count(void **state)
{
	struct rec r;
	struct play *p;

	rec_init(&r);
	rec_segment(&r, 1, 0, 7, A + 10, REC_UTC_S);
	rec_data(&r, 10);
	r.count = A + 8000;
	rec_data(&r, 10);
	r.count += 90;
	rec_data(&r, 10);
	p = begin(&r);
	play_go(p);
	expect(p, 1, A + 10, 10, TDM_GOOD);
	expect(p, 1, A + 8000, 1, TDM_GOOD);
	assert_true(roof_of(p).pps);
	expect(p, 1, A + 8001, 9, TDM_GOOD);
	assert_int_equal(remarks, 0);
	expect(p, 1, A + 8010, 90, TDM_LOSS_BOARD_FIFO);
	assert_int_equal(remarks, 1);
	assert_string_equal(last_remark, "link 1: 90 cells from count 88010 on are not in the "
					 "recording: lost as board-fifo");
	expect(p, 1, A + 8100, 10, TDM_GOOD);
	assert_int_equal(stats_of(p).absent, 90);
	play_destroy(p);
	rec_fini(&r);
}

/* Run an act to its end: how many cells came on the link. */
static unsigned run_act(struct play *p, unsigned link)
{
	unsigned cells = 0;

	play_go(p);
	for (unsigned i = 0; play_state(p) == PLAY_RUN; i++) {
		assert_true(i < 100000);
		play_step(p);
		cells += look(p, link) == TDM_GOOD && play_state(p) == PLAY_RUN;
	}
	return cells;
}

/* The board goes, and comes back with the next act. */
static void change_act(struct play *p)
{
	assert_int_equal(play_state(p), PLAY_DRAIN);
	play_next(p);
	assert_int_equal(play_state(p), PLAY_GONE);
	play_step(p);
	assert_true(play_fault(p) != 0);
	assert_true(play_fault(p) == 0);
	assert_int_equal(look(p, 0), TDM_LOSS_LINK_DOWN);
	play_step(p);
	assert_int_equal(play_state(p), PLAY_GONE);
	play_powered(p);
	assert_int_equal(play_state(p), PLAY_LEAD);
	play_step(p);
	assert_int_equal(play_state(p), PLAY_WAIT);
}

/* Each DMA epoch is an act; so is what lies behind a hole too long to be one. Counts may begin anew. */
static void epochs(void **state)
{
	struct rec r;
	struct play *p;

	rec_init(&r);
	for (unsigned link = 0; link < 2; link++) {
		rec_segment(&r, link, 0, 7, A, REC_UTC_S);
		rec_data(&r, 32);
		rec_segment(&r, link, 1, 8, 8100, REC_UTC_S + 40);
		rec_label(&r, 5, 100);
		rec_data(&r, 16);
		r.count += 100000;
		rec_data(&r, 5);
	}
	p = begin(&r);
	assert_int_equal(run_act(p, 0), 32);
	change_act(p);
	assert_int_equal(play_links(p), 3);
	assert_int_equal(count_of(p), 8000);
	assert_int_equal(roof_of(p).tod_second, (REC_UTC_S - 9 + 100) % 86400);
	assert_int_equal(run_act(p, 1), 16);
	change_act(p);
	assert_true(roof_of(p).tod_valid); /* the label goes on */
	assert_int_equal(run_act(p, 0), 5);
	play_next(p);
	assert_int_equal(play_state(p), PLAY_OVER);
	assert_int_equal(stats_of(p).acts, 3);
	assert_int_equal(remarks, 0);
	play_destroy(p);
	rec_fini(&r);
}

/* The host was switched off and on: epochs, and counts, begin anew with each boot of the board. */
static void boots(void **state)
{
	struct rec r;
	struct play *p;

	rec_init(&r);
	for (unsigned link = 0; link < 2; link++) {
		r.boot = 1;
		rec_segment(&r, link, 0, 1, A, REC_UTC_S + 5 * link);
		rec_data(&r, 32);
		r.boot = 2;
		rec_segment(&r, link, 1, 1, 8100, REC_UTC_S + 6);
		rec_data(&r, 16);
	}
	p = begin(&r);
	assert_int_equal(play_links(p), 3);
	assert_int_equal(run_act(p, 1), 32);
	change_act(p);
	assert_int_equal(play_links(p), 3);
	assert_int_equal(count_of(p), 8000);
	assert_int_equal(run_act(p, 0), 16);
	play_next(p);
	assert_int_equal(play_state(p), PLAY_OVER);
	assert_int_equal(stats_of(p).cells, 48);
	assert_int_equal(stats_of(p).acts, 2);
	assert_int_equal(remarks, 0);
	play_destroy(p);
	rec_fini(&r);
}

/* The pace: what completions say; never back, never a pause longer than 2 s. */
static void pace(void **state)
{
	static const int64_t monotonic_ms[] = {5000, 5002, 5010, 4000, 5011, 4000000, 4000001};
	static const uint64_t due_us[] = {0, 2000, 10000, 10875, 11000, 2011875, 2012000 + 875};
	struct rec r;
	struct play *p;

	rec_init(&r);
	rec_segment(&r, 0, 0, 7, A, REC_UTC_S);
	for (unsigned i = 0; i < 7; i++) {
		rec_record(&r,
			   (struct fcm_record_header){
				   .kind = FCM_RECORD_GAP,
				   .reason = TDM_LOSS_BOARD_FIFO,
				   .count = A + i * 8,
				   .frames = 8,
				   .monotonic_ns = (uint64_t)monotonic_ms[i] * 1000000 + 875000,
			   },
			   "");
	}
	p = begin(&r);
	play_go(p);
	for (unsigned i = 0; i < 56; i++) {
		if (i % 8 == 0) {
			assert_int_equal(play_due_ns(p), due_us[i / 8] * 1000);
		}
		play_step(p);
	}
	play_destroy(p);
	rec_fini(&r);
}

/* Cut or damaged anywhere: no crash, every cell that comes is right, and it is told. */
static void damaged_files(void **state)
{
	struct rec r;
	size_t length;
	uint8_t *bytes;

	rec_init(&r);
	rec_segment(&r, 0, 0, 7, A, REC_UTC_S);
	rec_data(&r, 2);
	rec_gap(&r, 1, 3);
	rec_data(&r, 2);
	rec_end(&r);
	bytes = rec_load(r.path, &length);
	srand(1);
	for (unsigned i = 0; i < 600; i++) {
		const size_t at = i < 300 ? i : (size_t)rand() % length;
		struct play *p = NULL;
		char error[256];

		remarks = 0;
		if (i % 2 != 0) {
			bytes[at] ^= 0x40;
		}
		rec_store(r.path, bytes, i % 2 != 0 ? length : at);
		bytes[at] ^= i % 2 != 0 ? 0x40 : 0;
		if (play_create(r.directory, hear, &p, error, sizeof(error)) < 0) {
			assert_string_not_equal(error, "");
			continue;
		}
		play_step(p);
		run_act(p, 0); /* looks at the cells */
		assert_true(stats_of(p).cells <= 4);
		assert_true(i % 2 == 0 || remarks > 0);
		play_destroy(p);
	}
	free(bytes);
	rec_fini(&r);
}

/* A segment that is none, between others, costs its own cells. */
static void a_segment_missing(void **state)
{
	struct rec r;
	struct play *p;

	rec_init(&r);
	rec_segment(&r, 0, 0, 7, A, REC_UTC_S);
	rec_data(&r, 10);
	rec_segment(&r, 0, 1, 7, A + 10, REC_UTC_S);
	rec_data(&r, 10);
	rec_store(r.path, "nonsense", 8);
	rec_segment(&r, 0, 2, 7, A + 20, REC_UTC_S);
	rec_data(&r, 10);
	p = begin(&r);
	play_go(p);
	expect(p, 0, A, 10, TDM_GOOD);
	expect(p, 0, A + 10, 10, TDM_LOSS_BOARD_FIFO);
	expect(p, 0, A + 20, 10, TDM_GOOD);
	assert_int_equal(stats_of(p).damaged, 1);
	play_destroy(p);
	rec_fini(&r);
}

static void nothing_to_play(void **state)
{
	struct play *p = NULL;
	struct rec r;
	char error[256];

	rec_init(&r);
	assert_int_equal(play_create(r.directory, hear, &p, error, sizeof(error)), -ENODATA);
	assert_non_null(strstr(error, "no segment"));
	rec_segment(&r, 0, 0, 7, A, REC_UTC_S);
	assert_int_equal(play_create(r.directory, hear, &p, error, sizeof(error)), -ENODATA);
	assert_non_null(strstr(error, "no cell that can be played"));
	assert_int_equal(play_create("/nonexistent", hear, &p, error, sizeof(error)), -ENOENT);
	rec_store(r.path, "nonsense", 8);
	assert_int_equal(play_create(r.path, hear, &p, error, sizeof(error)), -ENODATA);
	assert_null(p);
	rec_fini(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_record_is_what_it_was),
		cmocka_unit_test(links_in_step),
		cmocka_unit_test(time_of_day),
		cmocka_unit_test(odd_labels),
		cmocka_unit_test(holes_in_the_count),
		cmocka_unit_test(epochs),
		cmocka_unit_test(boots),
		cmocka_unit_test(leap_announced),
		cmocka_unit_test(pace),
		cmocka_unit_test(damaged_files),
		cmocka_unit_test(a_segment_missing),
		cmocka_unit_test(nothing_to_play),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
