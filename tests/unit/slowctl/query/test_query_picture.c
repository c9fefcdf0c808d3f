/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A long time at a glance: losses spread over their time, the phase as a scope shows it. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "slowctl/query/picture.h"
#include "slowctl/query/private.h"
#include "tdm/frame.h"
#include "tests/unit/rig/query_rig.h"

#define SECOND			     1000000000ll
#define assert_near(is, wanted, off) assert_true(fabs((is) - (wanted)) <= (off))
#define FRAMES			     8000 /* a second */

static int setup(void **state)
{
	struct store_rig *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	store_rig_create(r);
	store_rig_open(r);
	*state = r;
	return 0;
}

static int teardown(void **state)
{
	struct store_rig *r = *state;

	store_rig_destroy(r);
	free(r);
	return 0;
}

static void put_loss(struct store_rig *r, uint8_t kind, uint8_t code, uint64_t first,
		     uint64_t frames, uint64_t next, int64_t ended_s)
{
	static const char *const groups[] = {"trigger"};
	struct ledger_loss loss = {.kind = kind,
				   .code = code,
				   .link = 1,
				   .tower = 1,
				   .floor = 2,
				   .dma_epoch = 7,
				   .first = first,
				   .next = next,
				   .frames = frames,
				   .tai_ns = INT64_MIN};

	store_put_loss(r->s, 1, &loss, groups, RIG_UTC + ended_s * SECOND, 0, 0);
}

/* The picture of 10 s in columns of a second. */
static json_t *losses_of(struct store_rig *r)
{
	const struct picture_window w = {RIG_UTC, RIG_UTC + 10 * SECOND, 10, 0};
	struct query *q;
	json_t *json = NULL;

	store_rig_flush(r);
	q = query_rig_open(r);
	assert_int_equal(picture_losses(q, &w, &json), 0);
	query_close(q);
	return json;
}

/* Frames of that name in that column. */
static double frames_at(const json_t *picture, const char *name, size_t column)
{
	const json_t *names = json_at(picture, "names");
	const json_t *values = json_array_get(json_at(picture, "columns"), column);
	size_t n;
	const json_t *is;

	json_array_foreach (names, n, is) {
		if (strcmp(json_string_value(is), name) == 0) {
			return json_is_null(values) ? 0.0
						    : json_number_value(json_array_get(values, n));
		}
	}
	return 0.0;
}

/* A loss of seconds is in each of them; what was before the window is not in it. */
static void test_a_loss_is_spread_over_its_time(void **state)
{
	struct store_rig *r = *state;
	json_t *p;

	put_loss(r, 0, TDM_LOSS_LINK_DOWN, 1000000, 4 * FRAMES, 0, 6); /* 2 s to 6 s */
	put_loss(r, 0, TDM_LOSS_CRC, 2000000, 100, 0, 9);	       /* at 9 s */
	put_loss(r, 0, TDM_LOSS_RING_FULL, 3000000, 4 * FRAMES, 0, 1); /* -3 s to 1 s */
	put_loss(r, 1, OUTCOME_DROP_SLOW, 4000000, 80, 0, 7);
	p = losses_of(r);
	assert_near(json_number_at(p, "column_s"), 1.0, 1e-9);
	for (size_t c = 0; c < 10; c++) {
		assert_near(frames_at(p, "link-down", c), c >= 2 && c < 6 ? FRAMES : 0.0, 1e-3);
		assert_near(frames_at(p, "ring-full", c), c == 0 ? FRAMES : 0.0, 1e-3);
		assert_near(frames_at(p, "trigger: slow", c), c == 6 ? 80.0 : 0.0, 1e-3);
	}
	assert_near(frames_at(p, "crc", 8), 100.0, 1e-3);
	assert_true(json_is_null(json_array_get(json_at(p, "columns"), 9)));
	assert_true(json_is_false(json_at(p, "cut")));
	json_decref(p);
}

/* Of joined losses only the lost frames count, over the time from the first to the last. */
static void test_joined_losses(void **state)
{
	struct store_rig *r = *state;
	json_t *p;

	put_loss(r, 0, TDM_LOSS_CRC, 1000000, 200, 1000000 + 2 * FRAMES, 4);
	p = losses_of(r);
	assert_near(frames_at(p, "crc", 2), 100.0, 1e-3);
	assert_near(frames_at(p, "crc", 3), 100.0, 1e-3);
	assert_near(frames_at(p, "crc", 4), 0.0, 1e-3);
	json_decref(p);
}

/* What no row accounts for is not free of losses. */
static void test_unaccounted(void **state)
{
	struct ledger_link_row row = {.link = 1, .dma_epoch = 7, .cells = FRAMES};
	struct store_rig *r = *state;
	const struct picture_window now = {query_utc_ns() - 10 * SECOND, query_utc_ns(), 10, 0};
	struct query *q;
	json_t *p;

	for (int64_t second = 2; second < 5; second++) {
		row.second = (uint64_t)second;
		store_put_link_row(r->s, 1, &row, INT64_MIN, RIG_UTC + second * SECOND, 0, 0);
	}
	store_rig_flush(r);
	store_rig_run(r->path, "INSERT INTO ledger_link_sum SELECT session, dma_epoch, link, 6, "
			       "60, 2, 1, 1, 0, 0, 0, 0, 0, "
			       "0, 0, 0, 0, 0, min(time) + 4500000000, min(time) + 5500000000, "
			       "NULL FROM ledger_link");
	p = losses_of(r);
	for (size_t c = 0, n = 0; c < 10; c++) {
		if (!((c >= 2 && c < 5) || c == 6 || c == 7)) {
			assert_int_equal(
				json_integer_value(json_array_get(json_at(p, "unaccounted"), n)),
				c);
			n++;
		}
	}
	assert_int_equal(json_array_size(json_at(p, "unaccounted")), 5);
	json_decref(p);

	/* The newest rows may be late, by less than 5 s. */
	row.second = 100;
	store_put_link_row(r->s, 1, &row, INT64_MIN, now.until_ns - 4 * SECOND, 0, 0);
	store_rig_flush(r);
	q = query_rig_open(r);
	assert_int_equal(picture_losses(q, &now, &p), 0);
	query_close(q);
	assert_int_equal(json_array_size(json_at(p, "unaccounted")), 6);
	assert_int_equal(json_integer_value(json_array_get(json_at(p, "unaccounted"), 5)), 5);
	json_decref(p);
}

static json_t *phase_of(struct store_rig *r, int64_t seconds, unsigned columns, unsigned rows)
{
	const struct picture_window w = {RIG_UTC, RIG_UTC + seconds * SECOND, columns, rows};
	struct query *q;
	json_t *json = NULL;

	store_rig_flush(r);
	q = query_rig_open(r);
	assert_int_equal(picture_phase(q, 2, &w, &json), 0);
	query_close(q);
	return json;
}

static void put_bits(struct store_rig *r, int64_t time_ns, double mean, double sigma, uint8_t bits)
{
	const struct phase_row row = {.mean_ps = mean,
				      .rtt_bits = bits,
				      .sigma_ps = sigma,
				      .min_ps = -2.0 * sigma,
				      .max_ps = 2.0 * sigma,
				      .samples = 10};

	store_put_phase_row(r->s, 2, &row, RIG_UTC + time_ns);
}

static void put_phase(struct store_rig *r, int64_t time_ns, double mean, double sigma)
{
	put_bits(r, time_ns, mean, sigma, 0);
}

/* The value of a cell. */
static unsigned cell(const json_t *p, unsigned column, unsigned row)
{
	const char *text = json_text_at(p, "picture");
	char digits[3] = {0};

	memcpy(digits, text + 2 * (column * (unsigned)json_number_at(p, "rows") + row), 2);
	return (unsigned)strtoul(digits, NULL, 16);
}

/* A step from 100 ps to 400 ps: each half of the picture has its own line, the histogram has both. */
static void test_the_scope(void **state)
{
	struct store_rig *r = *state;
	const struct phase_reference reference = {.phase_ps = 90.0, .time_ns = RIG_UTC};
	double sum = 0.0;
	unsigned rows;
	json_t *p;

	for (int second = 0; second < 100; second++) {
		put_phase(r, second * SECOND, second < 50 ? 100.0 : 400.0, 20.0);
	}
	store_put_phase_reference(r->s, 2, &reference, "ann", "");
	p = phase_of(r, 100, 10, 60);
	rows = (unsigned)json_number_at(p, "rows");
	assert_int_equal(strlen(json_text_at(p, "picture")), 2 * 10 * rows);
	for (unsigned c = 0; c < 10; c++) {
		for (unsigned row = 0; row < rows; row++) {
			double ps = json_number_at(p, "low_ps") +
				    (row + 0.5) * json_number_at(p, "row_ps");
			double off = fabs(ps - (c < 5 ? 100.0 : 400.0));

			assert_true(off > 10.0 || cell(p, c, row) > 200);
			assert_true(off < 90.0 || cell(p, c, row) == 0);
		}
	}
	for (unsigned row = 0; row < rows; row++) {
		sum += json_number_value(json_array_get(json_at(p, "histogram"), row));
	}
	assert_near(sum, 1.0, 1e-6);
	assert_near(json_number_at(p, "mean_ps"), 250.0, 1.0);
	assert_near(json_number_at(p, "sigma_ps"), sqrt(150.0 * 150.0 + 20.0 * 20.0), 1.0);
	assert_near(json_number_at(p, "reference_ps"), 90.0, 1e-9);
	assert_int_equal(json_number_at(p, "samples"), 100);
	assert_int_equal(json_array_size(json_at(p, "trace")), 10);
	assert_near(json_number_value(json_array_get(json_array_get(json_at(p, "trace"), 9), 1)),
		    400.0, 1e-9);
	json_decref(p);
}

/* The board's phase is as before, its bits are not; 8 to 1 is 3 bits on, with the next byte. */
static void test_a_slip_is_seen(void **state)
{
	static const struct {
		uint8_t bits;
		double off_ps;
	} cases[] = {{8, 0}, {1, 3 * 1250.0}, {7, -1250}, {3, -5 * 1250.0}};
	struct store_rig *r = *state;
	const struct phase_reference reference = {
		.phase_ps = 90.0, .rtt_bits = 8, .time_ns = RIG_UTC};
	json_t *p;

	store_put_phase_reference(r->s, 2, &reference, "ann", "");
	for (size_t n = 0; n < 4; n++) {
		put_bits(r, (int64_t)n * 10 * SECOND, 100.0, 5.0, cases[n].bits);
	}
	p = phase_of(r, 40, 4, 60);
	for (size_t n = 0; n < 4; n++) {
		assert_near(json_number_value(
				    json_array_get(json_array_get(json_at(p, "trace"), n), 1)),
			    100.0 + cases[n].off_ps, 1e-9);
	}
	json_decref(p);
}

/* Nothing was measured: an empty scope, and no mean. */
static void test_an_empty_scope(void **state)
{
	json_t *p = phase_of(*state, 100, 10, 20);

	assert_int_equal(json_number_at(p, "samples"), 0);
	assert_true(json_is_null(json_at(p, "mean_ps")));
	assert_true(json_is_null(json_at(p, "reference_ps")));
	assert_true(json_number_at(p, "high_ps") > json_number_at(p, "low_ps"));
	for (unsigned c = 0; c < 10; c++) {
		assert_int_equal(cell(p, c, 10), 0);
	}
	json_decref(p);
}

/* Of a time with more rows than are read, those that are read cover all of it. */
static void test_a_long_time_is_sampled(void **state)
{
	struct store_rig *r = *state;
	json_t *p;

	store_rig_flush(r);
	store_rig_run(
		r->path,
		"WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 59999)"
		" INSERT INTO phase_row SELECT 2, 1795000000000000000 + i * 1000000000,"
		" 100.0 + i / 1000.0, 5.0, -10.0, 10.0, 10, 0, 0, 0 FROM n");
	p = phase_of(r, 60000, 60, 50);
	assert_true(json_number_at(p, "samples") <= 20001);
	assert_true(json_number_at(p, "samples") >= 15000);
	assert_near(json_number_at(p, "every_s"), 3.0, 1e-6);
	assert_int_equal(json_array_size(json_at(p, "trace")), 60);
	assert_near(json_number_at(p, "mean_ps"), 130.0, 1.0);
	json_decref(p);
}

/* More than the time that the caller gives: an error, not a late answer. */
static void test_a_limit(void **state)
{
	struct store_rig *r = *state;
	const struct picture_window w = {RIG_UTC, RIG_UTC + 60000 * SECOND, 60, 50};
	struct query *q;
	json_t *json = NULL;

	store_rig_flush(r);
	store_rig_run(
		r->path,
		"WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 59999)"
		" INSERT INTO phase_row SELECT 2, 1795000000000000000 + i * 1000000000,"
		" 100.0, 5.0, -10.0, 10.0, 10, 0, 0, 0 FROM n");
	q = query_rig_open(r);
	query_limit(q, 1);
	assert_int_equal(picture_phase(q, 2, &w, &json), -ETIME);
	query_close(q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_a_loss_is_spread_over_its_time, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_joined_losses, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unaccounted, setup, teardown),
		cmocka_unit_test_setup_teardown(test_the_scope, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_slip_is_seen, setup, teardown),
		cmocka_unit_test_setup_teardown(test_an_empty_scope, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_long_time_is_sampled, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_limit, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
