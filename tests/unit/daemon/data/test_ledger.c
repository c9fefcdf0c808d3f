/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ledger's rows balance, close once, in order. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/data/ledger.h"
#include "tests/unit/rig/dies.h"
#include "tests/unit/rig/balances.h"

static const uint8_t streams[GROUPS_MAX] = {1u << FCM_PMT, 1u << FCM_HYDROPHONE | 1u << FCM_PMT};

static struct seen {
	struct ledger_link_row link[64];
	struct ledger_stream_row stream[64];
	unsigned links, streams;
	uint64_t order[128]; /* second x 2, + 1 for a link's row */
	unsigned rows;
} S;

static void on_stream(void *context, const struct ledger_stream_row *row)
{
	assert_true(ledger_stream_balances(row));
	S.stream[S.streams++] = *row;
	S.order[S.rows++] = row->second * 2;
}

static void on_link(void *context, const struct ledger_link_row *row)
{
	S.link[S.links++] = *row;
	S.order[S.rows++] = row->second * 2 + 1;
}

static const struct ledger_sink sink = {on_stream, on_link, NULL};

static void test_balances(void **state)
{
	struct ledger_link_row link = {.cells = 8000, .verdicts = {7990, 4, 1, 1, 2, 1, 1}};
	struct ledger_stream_row stream = {
		.offered = 800,
		.outcome = {0, 500, 100, 50, 25, 25},
		.in_flight = 100,
	};

	assert_true(ledger_link_balances(&link));
	link.verdicts[TDM_LOSS_CRC]++;
	assert_false(ledger_link_balances(&link));
	assert_true(ledger_stream_balances(&stream));
	stream.in_flight--;
	assert_false(ledger_stream_balances(&stream));
	stream.outcome[0] = 1; /* an offered frame cannot be "not offered" */
	assert_false(ledger_stream_balances(&stream));
}

static void test_rows(void **state)
{
	struct ledger l;

	memset(&S, 0, sizeof(S));
	ledger_init(&l, 3, 2, streams, 7);
	ledger_identity(&l, 1, 5);
	ledger_cells(&l, 8000 * 10 + 7000, 2000);
	ledger_verdict(&l, 10, TDM_GOOD, 990);
	ledger_verdict(&l, 10, TDM_LOSS_CRC, 10);
	ledger_verdict(&l, 11, TDM_GOOD, 1000);
	ledger_cut(&l, 10 * TDM_FRAMES_PER_SECOND + 1);
	ledger_cut(&l, 11 * TDM_FRAMES_PER_SECOND); /* it begins there */
	ledger_restarted(&l, 10);
	/* A floor's frame of the second before the first cell's. */
	ledger_offer(&l, FCM_PMT, 8000 * 10 - 80, 80);
	ledger_offer(&l, FCM_PMT, 8000 * 10, 1600);
	ledger_offer(&l, FCM_HYDROPHONE, 8000 * 10, 80);
	ledger_offer(&l, FCM_INSTRUMENT, 8000 * 10, 80); /* nobody takes it */
	ledger_outcome(&l, FCM_PMT, 0, 8000 * 10, 1600, OUTCOME_ACKED);
	ledger_outcome(&l, FCM_PMT, 1, 8000 * 10, 1600, OUTCOME_DROP_SLOW);

	ledger_each_open(&l, &sink);
	assert_int_equal(S.links, 2);
	assert_int_equal(S.streams, 2 + 3);
	assert_int_equal(S.link[0].cells, 1000);
	assert_true(ledger_link_balances(&S.link[0]) && ledger_link_balances(&S.link[1]));
	assert_int_equal(S.link[0].partial, 1);
	assert_int_equal(S.link[1].partial, 0);
	assert_int_equal(S.link[0].restarts, 1);
	assert_int_equal(S.link[0].floor, 5);
	assert_int_equal(S.link[0].closed, 0);
	assert_int_equal(S.stream[0].second, 9);
	assert_int_equal(S.stream[0].in_flight, 80);

	ledger_outcome(&l, FCM_PMT, 0, 8000 * 10 - 80, 80, OUTCOME_ACKED);
	ledger_outcome(&l, FCM_PMT, 1, 8000 * 10 - 80, 80, OUTCOME_DROP_POOL);
	ledger_outcome(&l, FCM_HYDROPHONE, 1, 8000 * 10, 80, OUTCOME_ACKED);
	memset(&S, 0, sizeof(S));
	ledger_close(&l, 11, &sink);
	assert_int_equal(S.links, 1);
	assert_int_equal(S.link[0].closed, 1);
	for (unsigned i = 0; i < S.streams; i++) {
		assert_int_equal(S.stream[i].in_flight, 0);
		assert_int_equal(S.stream[i].closed, 1);
	}
	/* Of a second the link comes last. */
	for (unsigned i = 1; i < S.rows; i++) {
		assert_true(S.order[i] >= S.order[i - 1]);
	}
	ledger_close(&l, 11, &sink);
	assert_int_equal(S.links, 1);
	assert_false(ledger_room(&l, 10));
}

static void test_room(void **state)
{
	struct ledger l;

	ledger_init(&l, 0, 0, streams, 1);
	assert_true(ledger_room(&l, 1ull << 40));
	ledger_cells(&l, 8000 * 100, 1);
	assert_true(ledger_room(&l, 100 + LEDGER_SECONDS - 1));
	assert_false(ledger_room(&l, 100 + LEDGER_SECONDS));
	assert_true(ledger_room(&l, 101 - LEDGER_SECONDS));
	assert_false(ledger_room(&l, 100 - LEDGER_SECONDS));
	ledger_close(&l, 1000, NULL);
	assert_true(ledger_room(&l, 1000));
	assert_true(ledger_room(&l, 1ull << 40));
}

/* Old content of the memory and data of missing groups are cleared. */
static void test_a_fresh_ledger_is_empty(void **state)
{
	static const uint8_t more[GROUPS_MAX] = {1u << FCM_PMT, 0, 1u << FCM_PMT};
	struct ledger l;

	memset(&S, 0, sizeof(S));
	memset(&l, 0xa5, sizeof(l));
	ledger_init(&l, 3, 2, more, 7);
	assert_true(ledger_takes(&l, 0, FCM_PMT));
	assert_false(ledger_takes(&l, 1, FCM_PMT));
	assert_false(ledger_takes(&l, 2, FCM_PMT));
	assert_true(ledger_room(&l, 0));
	ledger_each_open(&l, &sink);
	assert_int_equal(S.rows, 0);
}

static void test_each_open_second_is_told_once(void **state)
{
	struct ledger l;

	memset(&S, 0, sizeof(S));
	ledger_init(&l, 3, 2, streams, 7);
	ledger_cells(&l, 8000 * 100, 8000 * LEDGER_SECONDS);
	ledger_each_open(&l, &sink);
	assert_int_equal(S.links, LEDGER_SECONDS);
	for (unsigned i = 0; i < LEDGER_SECONDS; i++) {
		assert_int_equal(S.link[i].second, 100 + i);
		assert_int_equal(S.link[i].cells, 8000);
	}
}

static void no_room(void *l)
{
	ledger_cells(l, 8000ull * (100 + LEDGER_SECONDS), 1);
}

static void more_than_was_offered(void *l)
{
	ledger_outcome(l, FCM_PMT, 0, 8000 * 100, 81, OUTCOME_ACKED);
}

static void not_offered_after_all(void *l)
{
	ledger_outcome(l, FCM_PMT, 0, 8000 * 100, 80, OUTCOME_NOT_OFFERED);
}

static void no_outcome(void *l)
{
	ledger_outcome(l, FCM_PMT, 0, 8000 * 100, 80, OUTCOMES);
}

static void test_what_cannot_be_entered_is_our_bug(void **state)
{
	static void (*const calls[])(void *l) = {no_room, more_than_was_offered,
						 not_offered_after_all, no_outcome};
	struct ledger l;

	ledger_init(&l, 3, 2, streams, 7);
	ledger_offer(&l, FCM_PMT, 8000 * 100, 80);
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		assert_true(dies(calls[i], &l));
	}
	ledger_outcome(&l, FCM_PMT, 0, 8000 * 100, 80, OUTCOME_ACKED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_balances),
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_room),
		cmocka_unit_test(test_a_fresh_ledger_is_empty),
		cmocka_unit_test(test_each_open_second_is_told_once),
		cmocka_unit_test(test_what_cannot_be_entered_is_our_bug),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
