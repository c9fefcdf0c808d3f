/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The owner page survives a death at any store, and says so when it is of no use. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/data/owner_page.h"
#include "driver/nanet3.h"

static const struct owner_config config = {
	.groups = 2,
	.group_streams = {1, 2},
};

static const struct owner_account none = {.slice_blocks = {0, 1}};
static uint8_t page[NANET3_PAGE], before[NANET3_PAGE], after[NANET3_PAGE];

/* An account that tells which it is, everywhere. */
static struct owner_account account(unsigned n)
{
	struct owner_account a;

	memset(&a, 0, sizeof(a));
	a.cursor.frame = 1600 * n;
	a.cursor.count = a.cursor.frame + 1000 + n;
	a.loss_first = n;
	a.slice_blocks[0] = 200;
	a.slice_blocks[1] = 1;
	a.change_frame = 1600 * n;
	memset(a.acked, (int)n, sizeof(a.acked));
	a.link_rows = 1;
	a.link_row[0].second = n;
	return a;
}

static void test_life(void **state)
{
	struct owner_account a;

	memset(page, 0, sizeof(page));
	assert_int_equal(owner_load(page, &config, 3, &a), -ENODATA);
	memset(page, 0xff, sizeof(page)); /* garbage of another program */
	assert_int_equal(owner_load(page, &config, 3, &a), -EPROTO);
	owner_format(page, &config, 3, &none);
	assert_int_equal(owner_load(page, &config, 3, &a), 0);
	assert_int_equal(a.cursor.count, 0);
	for (unsigned n = 1; n < 50; n++) {
		struct owner_account written = account(n);

		owner_commit(page, &written);
		assert_int_equal(owner_load(page, &config, 3, &a), 0);
		assert_memory_equal(&a, &written, sizeof(a));
	}
	owner_set_sent(page, 77);
	assert_int_equal(owner_sent(page), 77);
}

static void test_no_use(void **state)
{
	struct owner_config other = config;
	struct owner_account a = account(1);

	owner_format(page, &config, 3, &none);
	owner_commit(page, &a);
	assert_int_equal(owner_load(page, &config, 4, &a), -ESTALE);
	other.group_streams[1] = 4;
	assert_int_equal(owner_load(page, &other, 3, &a), -EREMCHG);
	other = config;
	other.groups = 1;
	assert_int_equal(owner_load(page, &other, 3, &a), -EREMCHG);
	assert_int_equal(owner_load(page, &config, 3, &a), 0);
	page[4]++; /* version */
	assert_int_equal(owner_load(page, &config, 3, &a), -EPROTO);
}

/*
 * A death between two stores of a commit: the page then holds the new bytes up to there and the old
 * ones from there on, `active` being the last store. So: for every prefix of the bytes that a commit
 * changes (in the order of addresses, which memcpy keeps well enough, and in the reverse order), the
 * page loads as the account before; and with all of them and the switch, as the new one.
 */
static void test_death_in_commit(void **state)
{
	struct owner_account old = account(1), new = account(2), a;

	for (unsigned parity = 0; parity < 2; parity++) {
		size_t first = NANET3_PAGE, last = 0, active = 0;

		owner_format(page, &config, 3, &none);
		for (unsigned i = 0; i <= parity; i++) {
			owner_commit(page, &old);
		}
		memcpy(before, page, sizeof(page));
		owner_commit(page, &new);
		memcpy(after, page, sizeof(page));
		for (size_t i = 0; i < NANET3_PAGE; i++) {
			if (before[i] != after[i]) {
				/* The switch lies in the head, far before the copies. */
				if (i < 256) {
					active = i;
					continue;
				}
				first = i < first ? i : first;
				last = i;
			}
		}
		assert_true(active > 0 && first < last);
		for (size_t cut = first; cut <= last + 1; cut++) {
			memcpy(page, before, sizeof(page));
			memcpy(page + first, after + first, cut - first);
			assert_int_equal(owner_load(page, &config, 3, &a), 0);
			assert_memory_equal(&a, &old, sizeof(a));
			memcpy(page, before, sizeof(page));
			memcpy(page + cut, after + cut, last + 1 - cut);
			assert_int_equal(owner_load(page, &config, 3, &a), 0);
			assert_memory_equal(&a, &old, sizeof(a));
		}
		memcpy(page, after, sizeof(page));
		assert_int_equal(owner_load(page, &config, 3, &a), 0);
		assert_memory_equal(&a, &new, sizeof(a));
	}
}

/* Any byte of the account in force that is not as it was written is found. */
static void test_damage(void **state)
{
	struct owner_account a = account(5);
	unsigned found = 0;

	owner_format(page, &config, 3, &none);
	owner_commit(page, &a); /* now copy 0 is in force */
	owner_commit(page, &a);
	memcpy(before, page, sizeof(page));
	for (size_t i = 0; i < NANET3_PAGE; i++) {
		memcpy(page, before, sizeof(page));
		page[i] ^= 0x40;
		if (owner_load(page, &config, 3, &a) != 0) {
			found++;
		} else {
			struct owner_account same = account(5);

			assert_memory_equal(&a, &same, sizeof(a));
		}
	}
	assert_true(found >= sizeof(a));
}

/* With right checksums: what no owner writes, and what those that go on with it must not meet. */
static void test_what_no_owner_has_written(void **state)
{
#define SET(what) offsetof(struct owner_account, what), sizeof(((struct owner_account *)0)->what)
	static const struct {
		size_t at, size;
		uint64_t value;
	} wrong[] = {
		{SET(slice_blocks[1]), 0},	    /* blocks of no length: a division */
		{SET(slice_blocks[1]), 7},	    /* or that fill no slice */
		{SET(slice_blocks[0]), 0},	    /* before the change */
		{SET(slice_blocks[0]), 255},	    /* likewise */
		{SET(change_frame), 1601},	    /* not where a slice begins */
		{SET(change_frame), 1600ull << 45}, /* in ten thousand years */
		{SET(cursor.count), 1ull << 50},    /* likewise: nothing would be read until then */
		{SET(cursor.frame), UINT64_MAX - 1599},	 /* of a floor that is ahead of its board */
		{SET(cursor.frame), 1601},		 /* in the middle of a block */
		{SET(link_rows), OWNER_LINK_ROWS + 1},	 /* more than there is room for */
		{SET(stream_rows), 2 * OWNER_PAIRS + 1}, /* likewise */
		{SET(labels), OWNER_LABELS + 1},	 /* likewise */
		{SET(runs), 255},			 /* likewise */
		{SET(label[0].label.anchor_count), 1ull << 60}, /* sums that do not fit */
		{SET(label[0].label.anchor_tai_ns), INT64_MAX}, /* likewise */
		{SET(label[0].label.tai_utc_s), 0x7fffffff},	/* likewise */
		{SET(label[0].label.source), 200},		/* no name of it */
		{SET(label[0].label.state), 5},			/* likewise */
		{SET(label[0].from_frame), UINT64_MAX},
		{SET(run[0].from_frame), UINT64_MAX},
		{SET(loss_first), 1ull << 40}, /* a loss that begins behind the cursor */
		{SET(loss), TDM_LOSSES},
	};
	struct owner_account good = account(2), a, b;

	good.labels = good.runs = 1;
	good.loss = TDM_LOSS_CRC;
	good.loss_frames = 3;
	for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		owner_format(page, &config, 3, &good);
		assert_int_equal(owner_load(page, &config, 3, &a), 0);
		b = good;
		memcpy((uint8_t *)&b + wrong[i].at, &wrong[i].value, wrong[i].size);
		owner_commit(page, &b);
		if (owner_load(page, &config, 3, &a) != -EBADMSG) {
			fail_msg("taken: number %u", i);
		}
		memset(&a, 0, sizeof(a));
		assert_int_equal(owner_adopt(page, &config, 3, &a), -EBADMSG);
	}
	owner_format(page, &config, 3, &good);
	owner_set_sent(page, 1ull << 60);
	assert_int_equal(owner_load(page, &config, 3, &a), -EBADMSG);
}

static struct {
	struct ledger_link_row link[16];
	struct ledger_stream_row stream[64];
	unsigned links, streams;
	uint64_t last;
} S;

static void on_link(void *context, const struct ledger_link_row *row)
{
	assert_true(row->second >= S.last && row->closed);
	S.last = row->second;
	S.link[S.links++] = *row;
}

static void on_stream(void *context, const struct ledger_stream_row *row)
{
	assert_true(row->second >= S.last && row->closed);
	S.last = row->second;
	S.stream[S.streams++] = *row;
}

static const struct ledger_sink sink = {on_stream, on_link, NULL};

static void each(void)
{
	memset(&S, 0, sizeof(S));
	owner_each_kept(page, 3, 2, UINT64_MAX, &sink);
}

static void test_kept_rows(void **state)
{
	struct ledger_link_row link = {.dma_epoch = 3,
				       .cells = 8000,
				       .verdicts = {7000, 900, 100},
				       .link = 2,
				       .tower = 1,
				       .floor = 9,
				       .restarts = 2,
				       .closed = 1};
	struct ledger_stream_row stream = {.dma_epoch = 3,
					   .link = 2,
					   .stream = 1,
					   .group = 1,
					   .closed = 1,
					   .offered = 8150,
					   .outcome = {0, 8000, 10, 20, 30, 40, 50}};

	owner_format(page, &config, 3, &none);
	for (unsigned n = 20; n > 14; n--) {
		link.second = n;
		stream.second = n;
		assert_true(owner_keep_stream(page, &stream));
		assert_true(owner_keep_link(page, &link));
	}
	each();
	assert_int_equal(S.links, 6);
	assert_int_equal(S.streams, 6);
	link.second = 15;
	assert_memory_equal(&S.link[0], &link, sizeof(link));
	stream.second = 15;
	assert_memory_equal(&S.stream[0], &stream, sizeof(stream));
	/* The same row again takes the same place. */
	link.restarts = 3;
	assert_true(owner_keep_link(page, &link));
	each();
	assert_int_equal(S.links, 6);
	assert_int_equal(S.link[0].restarts, 3);
	/* No place: the oldest gives way, and it is said. */
	link.second = 21;
	assert_false(owner_keep_link(page, &link));
	each();
	assert_int_equal(S.link[0].second, 16);
	owner_saved(page, 18);
	each();
	assert_int_equal(S.links, 3);
	assert_int_equal(S.streams, 2);
	assert_int_equal(S.link[0].second, 19);
	owner_saved(page, UINT32_MAX);
	each();
	assert_int_equal(S.links + S.streams, 0);
}

static struct {
	unsigned count;
	struct ledger_loss loss[OWNER_LOSSES];
} L;

static void on_loss(void *context, const struct ledger_loss *loss)
{
	L.loss[L.count++] = *loss;
}

static unsigned losses(void)
{
	memset(&L, 0, sizeof(L));
	owner_each_loss(page, 3, 2, on_loss, NULL);
	return L.count;
}

/* Every run comes back as it was kept last; one that lies in the database does not; without place the oldest
 * gives way; a damaged one is none. */
static void test_kept_losses(void **state)
{
	struct ledger_loss loss = {.kind = 1,
				   .code = OUTCOME_DROP_POOL,
				   .link = 2,
				   .tower = 1,
				   .floor = 9,
				   .stream = 2,
				   .group = 3,
				   .dma_epoch = 3,
				   .tai_ns = INT64_MIN};
	unsigned place[OWNER_LOSSES];
	bool gave_way;

	owner_format(page, &config, 3, &none);
	for (unsigned n = 0; n < OWNER_LOSSES; n++) {
		loss.first = (1ull << 40) + n;
		loss.next = loss.first + 100 + n;
		loss.frames = 80 + n;
		place[n] = owner_keep_loss(page, &loss, &gave_way);
		assert_false(gave_way);
		assert_true(place[n] < OWNER_LOSSES);
		assert_int_equal(losses(), n + 1);
		assert_memory_equal(&L.loss[n], &loss, sizeof(loss));
	}
	loss.next += 1000; /* it has grown */
	loss.frames += 1000;
	assert_int_equal(owner_keep_loss(page, &loss, &gave_way), place[OWNER_LOSSES - 1]);
	assert_false(gave_way);
	loss.group = 2; /* another one */
	assert_int_equal(owner_keep_loss(page, &loss, &gave_way), place[0]);
	assert_true(gave_way);
	assert_int_equal(losses(), OWNER_LOSSES);
	assert_int_equal(L.loss[OWNER_LOSSES - 1].frames, 80 + OWNER_LOSSES - 1 + 1000);
	owner_loss_saved(page, place[3]);
	assert_int_equal(losses(), OWNER_LOSSES - 1);
	for (size_t i = 0; i < sizeof(page); i++) { /* whatever byte is not what it was */
		page[i] ^= 0x10;
		losses();
		for (unsigned n = 0; n < L.count; n++) {
			assert_true(L.loss[n].first >= 1ull << 40 && L.loss[n].frames < 1200);
		}
		page[i] ^= 0x10;
	}
}

/* Numbers of groups, streams and reasons are indices for those that are told. */
static void test_kept_of_no_kind(void **state)
{
	static const struct ledger_loss wrong[] = {
		{.kind = 0, .code = TDM_GOOD},
		{.kind = 0, .code = TDM_LOSSES},
		{.kind = 1, .code = OUTCOME_ACKED},
		{.kind = 1, .code = OUTCOMES},
		{.kind = 1, .code = OUTCOME_DROP_SLOW, .group = GROUPS_MAX},
		{.kind = 1, .code = OUTCOME_DROP_SLOW, .stream = FCM_STREAMS},
		{.kind = 2, .code = TDM_LOSS_CRC},
	};
	struct ledger_stream_row row = {.closed = 1, .second = 15, .offered = 80};
	bool gave_way;

	for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		owner_format(page, &config, 3, &none);
		owner_keep_loss(page, &wrong[i], &gave_way);
		assert_int_equal(losses(), 0);
	}
	for (unsigned i = 0; i < 2; i++) {
		owner_format(page, &config, 3, &none);
		row.stream = i ? FCM_STREAMS : 0;
		row.group = i ? 0 : GROUPS_MAX;
		owner_keep_stream(page, &row);
		each();
		assert_int_equal(S.streams, 0);
	}
}

static unsigned told;

static void count_told(void *context, const struct ledger_loss *loss)
{
	told += loss->group == 0;
}

/* Another configuration: the account goes on, without what depends on that. */
static void test_adopt(void **state)
{
	struct owner_config other = config;
	struct ledger_stream_row row = {
		.dma_epoch = 3, .link = 2, .closed = 1, .second = 15, .offered = 80};
	struct ledger_loss loss = {
		.kind = 1, .code = OUTCOME_DROP_SLOW, .dma_epoch = 3, .frames = 80};
	struct owner_account a = account(1), b;
	bool gave_way;

	owner_format(page, &config, 3, &none);
	owner_set_sent(page, 77);
	a.stream_rows = 2;
	a.stream_row[0].group = 1;
	a.stream_row[1].offered = 400;
	owner_commit(page, &a);
	for (row.group = 0; row.group < 2; row.group++) {
		loss.group = row.group;
		owner_keep_stream(page, &row);
		owner_keep_loss(page, &loss, &gave_way);
	}
	other.group_streams[1] ^= 4;
	assert_int_equal(owner_adopt(page, &other, 4, &b), -ESTALE);
	assert_int_equal(owner_load(page, &config, 3, &b), 0); /* as it was */
	assert_memory_equal(&a, &b, sizeof(a));
	assert_int_equal(owner_load(page, &other, 3, &b), -EREMCHG);
	assert_int_equal(owner_adopt(page, &other, 3, &b), 0);
	assert_int_equal(b.cursor.count, a.cursor.count);
	assert_int_equal(b.link_rows, 1);
	assert_int_equal(b.acked[0], 0);
	/* The group that takes other streams now is another one. */
	assert_int_equal(b.stream_rows, 1);
	assert_int_equal(b.stream_row[0].offered, 400);
	each();
	assert_int_equal(S.streams, 1);
	assert_int_equal(S.stream[0].group, 0);
	told = 0;
	owner_each_loss(page, 3, 2, count_told, NULL);
	assert_int_equal(told, 1);
	assert_int_equal(owner_sent(page), 77);
	assert_int_equal(owner_load(page, &other, 3, &a), 0);
	assert_memory_equal(&a, &b, sizeof(a));
}

/*
 * A death while a page is adopted: the account behind the switch is the new one already, the head is not. With
 * whatever of the head written, and in whatever order, it is adopted once more, the same.
 */
static void test_death_in_adopt(void **state)
{
	struct owner_config other = config;
	struct owner_account a = account(1), b;
	const size_t head = 20, head_crc = head; /* bytes of it, and where its CRC lies */

	other.groups = 1;
	other.group_streams[1] = 0;
	owner_format(page, &config, 3, &none);
	owner_commit(page, &a);
	memcpy(before, page, sizeof(page));
	assert_int_equal(owner_adopt(page, &other, 3, &b), 0);
	memcpy(after, page, sizeof(page));
	assert_int_not_equal(memcmp(before + head_crc, after + head_crc, 4), 0);
	for (size_t cut = 0; cut <= 2 * head; cut++) {
		/* From the first byte on, or up to the last. */
		size_t from = cut <= head ? 0 : cut - head, to = cut <= head ? cut : head;

		memcpy(page, after, sizeof(page));
		memcpy(page, before, head);
		memcpy(page + from, after + from, to - from);
		memset(page + head_crc, 0, 4);
		assert_int_equal(owner_load(page, &other, 3, &b), -EREMCHG);
		assert_int_equal(owner_load(page, &config, 3, &b), -EREMCHG);
		assert_int_equal(owner_load(page, &config, 4, &b), -ESTALE);
		assert_int_equal(owner_adopt(page, &other, 3, &b), 0);
		assert_int_equal(b.cursor.count, a.cursor.count);
		assert_int_equal(b.acked[0], 0);
		assert_int_equal(owner_load(page, &other, 3, &a), 0);
		assert_memory_equal(&a, &b, sizeof(a));
	}
	/* Before the switch it is the old one's. */
	memcpy(page, before, sizeof(page));
	memset(page + head_crc, 0, 4);
	assert_int_equal(owner_adopt(page, &other, 3, &b), 0);
	assert_int_equal(b.cursor.count, a.cursor.count);
}

/* ---- rows and losses side by side ---- */

static uint64_t dice;
static uint32_t roll(uint32_t n)
{
	dice = dice * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(dice >> 33) % n;
}

/* The model: `places` different seconds; a known one is replaced, else the smallest is dropped. */
static bool keep(uint64_t *seconds, unsigned *count, unsigned places, uint64_t second)
{
	unsigned oldest = 0;

	for (unsigned i = 0; i < *count; i++) {
		if (seconds[i] == second) {
			return true;
		}
		oldest = seconds[i] < seconds[oldest] ? i : oldest;
	}
	if (*count < places) {
		seconds[(*count)++] = second;
		return true;
	}
	seconds[oldest] = second;
	return false;
}

static void forget(uint64_t *seconds, unsigned *count, uint64_t second)
{
	for (unsigned i = 0; i < *count;) {
		if (seconds[i] <= second) {
			seconds[i] = seconds[--*count];
		} else {
			i++;
		}
	}
}

static bool has(const uint64_t *seconds, unsigned count, uint64_t second)
{
	for (unsigned i = 0; i < count; i++) {
		if (seconds[i] == second) {
			return true;
		}
	}
	return false;
}

#define LINK_PLACES   6u
#define STREAM_PLACES 36u

/* Rows in any order, saved now and then: as many are kept as there are places, reported without
 * gaps, and neither kind takes a place of the other or of a loss. */
static void test_the_youngest_rows_are_kept(void **state)
{
	for (unsigned seed = 0; seed < 50; seed++) {
		uint64_t links[LINK_PLACES], streams[STREAM_PLACES];
		unsigned link_count = 0, stream_count = 0;
		struct ledger_loss loss = {
			.code = TDM_LOSS_CRC, .dma_epoch = 3, .first = 1, .next = 3, .frames = 2};
		bool gave_way;

		dice = seed;
		owner_format(page, &config, 3, &none);
		owner_keep_loss(page, &loss, &gave_way);
		for (unsigned i = 0; i < 400; i++) {
			struct ledger_link_row link = {.second = i / 10 + roll(12), .cells = 1};
			struct ledger_stream_row stream = {.second = i / 10 + roll(60),
							   .offered = 1};

			if (seed % 3 != 0) {
				assert_int_equal(
					owner_keep_link(page, &link),
					keep(links, &link_count, LINK_PLACES, link.second));
			}
			if (seed % 3 != 1) {
				assert_int_equal(
					owner_keep_stream(page, &stream),
					keep(streams, &stream_count, STREAM_PLACES, stream.second));
			}
			if (roll(20) == 0) {
				owner_saved(page, i / 10 + 3);
				forget(links, &link_count, i / 10 + 3);
				forget(streams, &stream_count, i / 10 + 3);
			}
			each();
			assert_int_equal(S.links, link_count);
			assert_int_equal(S.streams, stream_count);
			for (unsigned n = 0; n < S.links; n++) {
				assert_true(has(links, link_count, S.link[n].second));
			}
			for (unsigned n = 0; n < S.streams; n++) {
				assert_true(has(streams, stream_count, S.stream[n].second));
			}
			assert_int_equal(losses(), 1);
		}
	}
}

/* Blocks of a row without outcome are in flight. */
static void test_what_is_not_settled_is_in_flight(void **state)
{
	struct ledger_stream_row row = {.offered = 100, .outcome = {0, 40, 5, 5, 5, 5}}, back;
	struct owner_stream_row packed;

	owner_pack_stream(&row, &packed);
	owner_unpack_stream(&packed, 3, 2, &back);
	assert_int_equal(back.in_flight, 40);
	packed.offered = 50; /* invalid: in flight is never negative */
	owner_unpack_stream(&packed, 3, 2, &back);
	assert_int_equal(back.in_flight, 0);
}

/* With another configuration lost cells still belong to the link; losses of other groups would get
 * wrong names. */
static void test_adopted_losses_are_of_the_same_groups(void **state)
{
	struct owner_config other = config;
	struct ledger_loss loss = {.dma_epoch = 3, .code = TDM_LOSS_CRC, .first = 10, .frames = 1};
	struct owner_account a;
	bool gave_way;

	owner_format(page, &config, 3, &none);
	owner_keep_loss(page, &loss, &gave_way);
	loss.group = 1; /* a loss of cells has no group */
	loss.first = 20;
	owner_keep_loss(page, &loss, &gave_way);
	loss.kind = 1;
	loss.code = OUTCOME_DROP_SLOW;
	loss.first = 30;
	owner_keep_loss(page, &loss, &gave_way);
	assert_int_equal(losses(), 3);
	other.group_streams[1] = 4;
	assert_int_equal(owner_adopt(page, &other, 3, &a), 0);
	assert_int_equal(losses(), 2);
	assert_int_equal(L.loss[0].first, 10);
	assert_int_equal(L.loss[1].first, 20);
}

static __attribute__((noinline)) void leave_junk_on_the_stack(void)
{
	volatile uint8_t junk[3 * NANET3_PAGE];

	for (size_t i = 0; i < sizeof(junk); i++) {
		junk[i] = 0xa5;
	}
}

/* Equal configurations compare equal, whatever the unused memory contains. */
static void test_the_same_configuration_is_the_same(void **state)
{
	struct owner_account a;

	owner_format(page, &config, 3, &none);
	leave_junk_on_the_stack();
	assert_int_equal(owner_load(page, &config, 3, &a), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_life),
		cmocka_unit_test(test_no_use),
		cmocka_unit_test(test_adopt),
		cmocka_unit_test(test_death_in_adopt),
		cmocka_unit_test(test_death_in_commit),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_what_no_owner_has_written),
		cmocka_unit_test(test_kept_rows),
		cmocka_unit_test(test_kept_losses),
		cmocka_unit_test(test_kept_of_no_kind),
		cmocka_unit_test(test_the_youngest_rows_are_kept),
		cmocka_unit_test(test_what_is_not_settled_is_in_flight),
		cmocka_unit_test(test_adopted_losses_are_of_the_same_groups),
		cmocka_unit_test(test_the_same_configuration_is_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
