/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The device model: registered buffers, their translation, puts through the loop-back port. */
#include <stdlib.h>
#include <string.h>

#include "driver/emu/common/model_fault.h"
#include "tests/unit/driver/emu/board/board_rig.h"

#define AT_TABLES 0x20000u  /* page list of buffer n: + n pages */
#define AT_PAGES  0x400000u /* 256 pages of buffer n: + n MiB, in a mixed-up order */
#define PAGES	  256u
#define NOWHERE	  (1ull << 50)

static uint64_t *page_list(struct rig *r, unsigned n)
{
	return (uint64_t *)(r->arena + AT_TABLES + n * NANET3_PAGE);
}

static void set_buffer(struct rig *r, unsigned n, uint64_t length, uint32_t offset)
{
	uint64_t table = AT_TABLES + n * NANET3_PAGE;

	for (uint64_t i = 0; i < PAGES; i++) {
		page_list(r, n)[i] = AT_PAGES + n * 0x100000ull + i * 7 % PAGES * NANET3_PAGE;
	}
	wr(r, NANET3_REG_BUFFER(n, NANET3_BREG_TABLE), (uint32_t)table);
	wr(r, NANET3_REG_BUFFER(n, NANET3_BREG_TABLE + 4), (uint32_t)(table >> 32));
	wr(r, NANET3_REG_BUFFER(n, NANET3_BREG_LENGTH), (uint32_t)length);
	wr(r, NANET3_REG_BUFFER(n, NANET3_BREG_LENGTH + 4), (uint32_t)(length >> 32));
	wr(r, NANET3_REG_BUFFER(n, NANET3_BREG_OFFSET), offset);
	wr(r, NANET3_REG_BUFFER(n, NANET3_BREG_CONTROL), NANET3_BUFFER_VALID);
}

/* Bus address of a byte; `at` counts from the first page's begin. */
static uint64_t bus_of(struct rig *r, unsigned n, uint64_t at)
{
	return page_list(r, n)[at / NANET3_PAGE] + at % NANET3_PAGE;
}

static uint8_t *byte_of(struct rig *r, unsigned n, uint64_t at)
{
	return r->arena + bus_of(r, n, at);
}

static struct nanet3_tx packet(uint64_t source, unsigned buffer, uint64_t destination,
			       uint32_t length, uint16_t flags)
{
	struct nanet3_tx_put put = {.source = source,
				    .destination = destination,
				    .length = length,
				    .buffer = (uint16_t)buffer,
				    .flags = flags,
				    .put_bytes = length};
	struct nanet3_tx tx = {.link = NANET3_LOOPBACK, .kind = NANET3_TX_PUT, .cookie = 0xc0ffee};

	memcpy(tx.bytes, &put, sizeof(put));
	return tx;
}

struct copy {
	unsigned from, to;
	uint64_t from_at, to_offset, length; /* from_at counts from the first page's begin */
	uint64_t cookie;
};

/* As a driver does: a packet a page of the source. */
static void put(struct rig *r, const struct copy *c)
{
	uint64_t done = 0;

	while (done < c->length) {
		uint64_t at = c->from_at + done, left = c->length - done;
		uint64_t room = NANET3_PAGE - at % NANET3_PAGE;
		struct nanet3_tx_put p = {
			.source = bus_of(r, c->from, at),
			.destination = c->to_offset + done,
			.length = (uint32_t)(left < room ? left : room),
			.buffer = (uint16_t)c->to,
			.flags = left <= room ? NANET3_PUT_LAST : 0,
			.put_bytes = c->length,
		};
		struct nanet3_tx tx = {
			.link = NANET3_LOOPBACK, .kind = NANET3_TX_PUT, .cookie = c->cookie};

		memcpy(tx.bytes, &p, sizeof(p));
		post(r, &tx);
		done += p.length;
	}
}

static void check_told(struct rig *r, const struct copy *c, unsigned reason)
{
	struct nanet3_event ev = next_of(r, NANET3_EVENT_TX);

	assert_int_equal(ev.link, NANET3_LOOPBACK);
	assert_int_equal(ev.reason, reason);
	assert_int_equal(ev.cookie, c->cookie);
	assert_int_equal(ev.frame_count, board_count(r->board));
	assert_true(next(r, &ev));
	assert_int_equal(ev.type, NANET3_EVENT_PUT);
	assert_int_equal(ev.reason, reason);
	assert_int_equal(ev.cookie, c->cookie);
	assert_int_equal(ev.value, c->to);
	assert_int_equal(ev.position, c->to_offset);
	assert_int_equal(ev.length, c->length);
}

static void fill(struct rig *r, unsigned n, unsigned seed)
{
	srand(seed);
	for (unsigned i = 0; i < 0x100000; i++) {
		r->arena[AT_PAGES + n * 0x100000 + i] = (uint8_t)rand();
	}
}

/* ------------------------------------------------------------------------ content */

/* Every byte arrives where the page list says, and none beside. */
static void puts_find_scattered_pages(void **state)
{
	struct rig *r = *state;
	static const struct {
		uint32_t offset; /* of the target in its first page */
		struct copy copy;
	} rows[] = {
		{0, {0, 1, 0, 0, 1, 1}},
		{0, {0, 1, 0, 0, 4096, 2}},
		{0, {0, 1, 5, 0, 4096, 3}},
		{1, {0, 1, 0, 0, 4096, 4}},
		{4095, {0, 1, 4095, 0, 4096, 5}},
		{4095, {0, 1, 1, 77777, 100001, 6}},
		{123, {0, 1, 321, 4096, 65536, 7}},
		{17, {0, 1, 3, 500000, 12345, 8}},
		{2048, {0, 1, 2048, 2047, 200000, 9}},
		{0, {0, 1, 4094, 4094, 4, ~0ull}},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct copy *c = &rows[i].copy;
		uint64_t begin = rows[i].offset + c->to_offset;

		fill(r, 0, (unsigned)i);
		set_buffer(r, 1, 700000, rows[i].offset);
		set_buffer(r, 0, 700000, 0);
		memset(r->arena + AT_PAGES + 0x100000, 0xee, 0x100000);
		put(r, c);
		check_told(r, c, 0);
		for (uint64_t k = 0; k < 710000; k++) {
			uint8_t expected = k < begin || k >= begin + c->length
						   ? 0xee
						   : *byte_of(r, 0, c->from_at + k - begin);

			if (*byte_of(r, 1, k) != expected) {
				fail_msg("row %zu byte %llu", i, (unsigned long long)k);
			}
		}
	}
	assert_int_equal(rd(r, NANET3_REG_TLB_MISSES), 0);
	assert_true(r->irqs[NANET3_LINKS] > 0);
	assert_int_equal(rd(r, NANET3_REG_COUNT), 0); /* not a step was made */
}

static void random_puts(void **state)
{
	struct rig *r = *state;
	static uint8_t mirror[4][0x100000];

	srand(3);
	for (unsigned n = 0; n < 4; n++) {
		fill(r, n, n);
		set_buffer(r, n, PAGES * NANET3_PAGE - n, n);
		for (unsigned k = 0; k < sizeof(mirror[n]); k++) {
			mirror[n][k] = *byte_of(r, n, k);
		}
	}
	for (unsigned i = 0; i < 3000; i++) {
		struct copy c = {.from = (unsigned)rand() % 4, .cookie = i};

		c.to = (c.from + 1 + (unsigned)rand() % 3) % 4;
		c.length = 1 + (unsigned)rand() % (rand() % 4 ? 300 : 60000);
		c.from_at = (unsigned)rand() % (PAGES * NANET3_PAGE - c.length);
		c.to_offset = (unsigned)rand() % (PAGES * NANET3_PAGE - c.to - c.length);
		put(r, &c);
		check_told(r, &c, 0);
		memcpy(mirror[c.to] + c.to + c.to_offset, mirror[c.from] + c.from_at, c.length);
		if (i % 50 == 0) {
			steps(r, 1);
		}
	}
	for (unsigned n = 0; n < 4; n++) {
		for (unsigned k = 0; k < sizeof(mirror[n]); k++) {
			assert_int_equal(mirror[n][k], *byte_of(r, n, k));
		}
	}
}

/* ------------------------------------------------------------------------ translation */

static void translation_is_counted_and_takes_its_time(void **state)
{
	struct rig *r = *state;
	static const struct {
		uint64_t to_offset;
		uint32_t length, hits, walks;
	} rows[] = {
		{0, 64, 0, 1},				/* never seen */
		{64, 64, 1, 0},				/* same page */
		{4090, 64, 1, 1},			/* into the next */
		{4090, 64, 2, 0}, {64 * 4096, 1, 0, 1}, /* takes the first one's place */
		{0, 64, 0, 1},
	};
	uint32_t hits = 0, walks = 0;
	uint64_t delay_ns = 0;

	set_buffer(r, 5, 1u << 20, 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct nanet3_tx tx =
			packet(AT_PAGES, 5, rows[i].to_offset, rows[i].length, NANET3_PUT_LAST);

		post(r, &tx);
		hits += rows[i].hits;
		walks += rows[i].walks;
		delay_ns += rows[i].hits * 200 + rows[i].walks * 1600;
		assert_int_equal(rd(r, NANET3_REG_TLB_HITS), hits);
		assert_int_equal(rd(r, NANET3_REG_TLB_WALKS), walks);
		assert_int_equal(r->delay_ns, delay_ns);
	}
	set_buffer(r, 5, 1u << 20, 0); /* what was known of it is forgotten */
	post(r, &(struct nanet3_tx){0});
	for (unsigned i = 0; i < 2; i++) {
		struct nanet3_tx tx = packet(AT_PAGES, 5, 0, 1, NANET3_PUT_LAST);

		post(r, &tx);
	}
	assert_int_equal(rd(r, NANET3_REG_TLB_WALKS), walks + 1);
	assert_int_equal(rd(r, NANET3_REG_TLB_HITS), hits + 1);
}

static void senseless_buffers_are_refused(void **state)
{
	struct rig *r = *state;
	static const struct {
		uint64_t length;
		uint32_t offset;
		bool valid;
	} rows[] = {
		{1, 0, true},	  {NANET3_BUFFER_BYTES_MAX, 4095, true},
		{0, 0, false},	  {NANET3_BUFFER_BYTES_MAX + 1, 0, false},
		{1, 4096, false}, {~0ull, 0, false},
		{1, ~0u, false},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		set_buffer(r, 63, rows[i].length, rows[i].offset);
		assert_int_equal(rd(r, NANET3_REG_BUFFER(63, NANET3_BREG_CONTROL)), rows[i].valid);
		assert_int_equal(rd(r, NANET3_REG_BUFFER(63, NANET3_BREG_STATUS)), 0);
	}
}

/* ------------------------------------------------------------------------ faults */

enum harm { HARM_NONE, HARM_INVALID, HARM_TABLE, HARM_PAGE, HARM_SOURCE };

static void faults_are_told_once(void **state)
{
	struct rig *r = *state;
	static const struct {
		enum harm harm;
		uint64_t to_offset, length; /* of three packets, from 100 on in a page */
		uint64_t arrived;	    /* bytes before the fault */
	} rows[] = {
		{HARM_NONE, 50000 - 9000, 9000, 9000},
		{HARM_NONE, 50000 - 8999, 9000, 8092},
		{HARM_NONE, 50000, 9000, 0},
		{HARM_NONE, ~0ull, 9000, 0},
		{HARM_NONE, 1ull << 32, 9000, 0},
		{HARM_INVALID, 0, 9000, 0},
		{HARM_TABLE, 0, 9000, 0},
		{HARM_PAGE, 0, 9000, 8192},
		{HARM_SOURCE, 0, 9000, 3996},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct copy c = {0, 1, 100, rows[i].to_offset, rows[i].length, i};
		uint32_t misses = rd(r, NANET3_REG_TLB_MISSES);
		bool faulty = rows[i].arrived < rows[i].length;
		struct nanet3_event ev;

		fill(r, 0, (unsigned)i);
		memset(r->arena + AT_PAGES + 0x100000, 0xee, 0x100000);
		set_buffer(r, 0, 1u << 20, 0);
		set_buffer(r, 1, 50000, 0);
		if (rows[i].harm == HARM_INVALID) {
			wr(r, NANET3_REG_BUFFER(1, NANET3_BREG_CONTROL), 0);
		} else if (rows[i].harm == HARM_TABLE) {
			wr(r, NANET3_REG_BUFFER(1, NANET3_BREG_TABLE + 4), 1u << 20);
			wr(r, NANET3_REG_BUFFER(1, NANET3_BREG_CONTROL), NANET3_BUFFER_VALID);
		} else if (rows[i].harm == HARM_PAGE) {
			page_list(r, 1)[2] = NOWHERE;
		} else if (rows[i].harm == HARM_SOURCE) {
			page_list(r, 0)[1] = NOWHERE;
		}
		put(r, &c);
		if (faulty) {
			assert_true(next(r, &ev));
			assert_int_equal(ev.type, NANET3_EVENT_ERROR);
			assert_int_equal(ev.reason, NANET3_ERROR_DMA_FAULT);
			assert_int_equal(ev.value, NANET3_REG_BUFFER(1, NANET3_BREG_TABLE));
		}
		check_told(r, &c, faulty ? NANET3_TX_FAULT : 0);
		assert_false(next(r, &ev));
		assert_int_equal(rd(r, NANET3_REG_TLB_MISSES) > misses, faulty);
		page_list(r, 0)[1] = AT_PAGES + 7 * NANET3_PAGE;
		for (uint64_t k = 0; k < rows[i].arrived; k++) {
			assert_int_equal(*byte_of(r, 1, c.to_offset + k), *byte_of(r, 0, 100 + k));
		}
		/* The next put knows nothing of it. */
		set_buffer(r, 1, 50000, 0);
		c.to_offset = 0;
		put(r, &c);
		check_told(r, &c, 0);
	}
}

static void malformed_packets_are_refused(void **state)
{
	struct rig *r = *state;
	struct nanet3_tx bad[] = {
		packet(AT_PAGES, 1, 0, 0, NANET3_PUT_LAST),
		packet(AT_PAGES, 1, 0, 4097, NANET3_PUT_LAST),
		packet(AT_PAGES + 1, 1, 0, 4096, NANET3_PUT_LAST), /* over a page's end */
		packet(AT_PAGES, 64, 0, 1, NANET3_PUT_LAST),
		packet(AT_PAGES, 0xffff, 0, 1, NANET3_PUT_LAST),
		packet(AT_PAGES, 1, 0, 1, NANET3_PUT_LAST | 2),
		packet(AT_PAGES, 1, 0, 1, NANET3_PUT_LAST),
	};
	const size_t n = sizeof(bad) / sizeof(bad[0]);

	set_buffer(r, 1, 50000, 0);
	bad[n - 1].link = 0;
	for (size_t i = 0; i < n; i++) {
		struct nanet3_event ev;

		post(r, &bad[i]);
		assert_true(next(r, &ev));
		assert_int_equal(ev.type, NANET3_EVENT_TX);
		assert_int_equal(ev.reason, NANET3_TX_REFUSED);
		assert_int_equal(ev.cookie, 0xc0ffee);
		assert_false(next(r, &ev));
	}
	assert_int_equal(r->arena[AT_PAGES + 0x100000], 0);
}

/* ------------------------------------------------------------------------ order and room */

/* A put passes words that wait for their frame, and none of them leaves sooner or later for it. */
static void puts_and_words_do_not_mind_each_other(void **state)
{
	struct rig *r = *state;
	struct nanet3_tx late = {.link = 0, .kind = NANET3_TX_REQUEST, .cookie = 1, .bytes = {1}};
	struct nanet3_tx soon = {.link = 0, .kind = NANET3_TX_REQUEST, .cookie = 2, .bytes = {1}};
	struct copy c = {0, 1, 0, 0, 5000, 3};
	struct nanet3_event ev;

	set_buffer(r, 0, 50000, 0);
	set_buffer(r, 1, 50000, 0);
	steps(r, 1);
	while (next(r, &ev)) {
	}
	late.at_frame = board_count(r->board) + 10;
	post(r, &late);
	put(r, &c);
	post(r, &soon);
	c.cookie = 4;
	put(r, &c);
	assert_int_equal(rd(r, NANET3_REG_TX_READ), 6);
	c.cookie = 3;
	check_told(r, &c, 0);
	c.cookie = 4;
	check_told(r, &c, 0);
	assert_false(next(r, &ev));
	steps(r, 1);
	assert_int_equal(next_of(r, NANET3_EVENT_TX).cookie, 2);
	steps(r, 8);
	assert_false(has(r, NANET3_EVENT_TX));
	steps(r, 1);
	ev = next_of(r, NANET3_EVENT_TX);
	assert_int_equal(ev.cookie, 1);
	assert_int_equal(ev.frame_count, late.at_frame);
}

/* Without room for its events a put waits on the ring, and goes on by itself when events are taken. */
static void put_waits_for_room(void **state)
{
	struct rig *r = *state;
	struct copy c = {0, 1, 0, 0, 10, 0};
	struct nanet3_event ev;

	set_buffer(r, 0, 50000, 0);
	set_buffer(r, 1, 50000, 0);
	wr(r, NANET3_REG_EVQ_SIZE, 16);
	for (c.cookie = 0; c.cookie < 20; c.cookie++) {
		put(r, &c);
	}
	assert_true(rd(r, NANET3_REG_TX_READ) < 20);
	assert_true(rd(r, NANET3_REG_EVQ_WRITE) <= 16);
	for (unsigned i = 0; i < 40; i++) { /* each event taken lets go on what waited for it */
		assert_true(rd(r, NANET3_REG_EVQ_WRITE) != r->read);
		ev = ((struct nanet3_event *)(r->arena + AT_EVQ))[r->read % 16];
		assert_int_equal(ev.type, i % 2 ? NANET3_EVENT_PUT : NANET3_EVENT_TX);
		assert_int_equal(ev.cookie, i / 2);
		assert_int_equal(ev.reason, 0);
		wr(r, NANET3_REG_EVQ_READ, ++r->read);
	}
	assert_int_equal(rd(r, NANET3_REG_TX_READ), 20);
	assert_int_equal(rd(r, NANET3_REG_EVQ_WRITE), r->read);
	assert_int_equal(rd(r, NANET3_REG_EVQ_LOST), 0);
}

static void put_waits_while_off_and_stalled(void **state)
{
	struct rig *r = *state;
	struct copy c = {0, 1, 0, 0, 5000, 9};

	set_buffer(r, 0, 50000, 0);
	set_buffer(r, 1, 50000, 0);
	wr(r, NANET3_REG_CONTROL, NANET3_CONTROL_EVENTS);
	put(r, &c);
	assert_int_equal(rd(r, NANET3_REG_TX_READ), 0);
	wr(r, NANET3_REG_CONTROL, NANET3_CONTROL_EVENTS | NANET3_CONTROL_TX);
	check_told(r, &c, 0);
	stall(r, 1);
	steps(r, 1);
	put(r, &c);
	steps(r, 5);
	assert_false(has(r, NANET3_EVENT_TX));
	stall(r, 0);
	steps(r, 1);
	check_told(r, &c, 0);
}

static void reset_forgets_buffers(void **state)
{
	struct rig *r = *state;

	set_buffer(r, 7, 50000, 0);
	assert_int_equal(rd(r, NANET3_REG_BUFFER(7, NANET3_BREG_CONTROL)), NANET3_BUFFER_VALID);
	wr(r, NANET3_REG_CONTROL, NANET3_CONTROL_RESET);
	assert_int_equal(rd(r, NANET3_REG_BUFFER(7, NANET3_BREG_CONTROL)), 0);
}

/* ------------------------------------------------------------------------ model faults */

static void fault(struct rig *r, unsigned code, unsigned which, unsigned argument)
{
	wr(r, NANET3_REG_MODEL_FAULT, MODEL_FAULT(code, which, argument));
}

static bool busy(struct rig *r, unsigned n)
{
	return rd(r, NANET3_REG_BUFFER(n, NANET3_BREG_STATUS)) & NANET3_BSTAT_BUSY;
}

/* On a bus the doorbell only fetches: the ring is free again before any data have moved. */
static void puts_are_done_behind_the_doorbell(void **state)
{
	struct rig *r = *state;
	const struct copy c = {0, 1, 0, 0, 64 * NANET3_PAGE, 3};

	fill(r, 0, 5);
	set_buffer(r, 0, 1u << 20, 0);
	set_buffer(r, 1, 1u << 20, 0);
	for (unsigned i = 0; i < 2; i++) {
		put(r, &c); /* as much as it takes at once */
		assert_int_equal(rd(r, NANET3_REG_TX_READ), rd(r, NANET3_REG_TX_WRITE));
		assert_true(busy(r, 1));
		assert_false(has(r, NANET3_EVENT_PUT));
		if (i == 0) { /* at the latest in the next step */
			steps(r, 1);
		} else {
			board_work(r->board);
		}
		assert_false(busy(r, 1));
		check_told(r, &c, 0);
	}
	assert_memory_equal(byte_of(r, 1, 0), byte_of(r, 0, 0), NANET3_PAGE);
	put(r, &c);
	put(r, &c); /* these packets wait on the ring */
	assert_int_not_equal(rd(r, NANET3_REG_TX_READ), rd(r, NANET3_REG_TX_WRITE));
	for (unsigned i = 0; i < 2; i++) {
		board_work(r->board);
		check_told(r, &c, 0);
	}
	assert_int_equal(rd(r, NANET3_REG_TX_READ), rd(r, NANET3_REG_TX_WRITE));
	put(r, &c);
	stall(r, true);
	steps(r, 1);
	board_work(r->board);
	assert_false(has(r, NANET3_EVENT_PUT));
}

/* Descriptors are taken ahead of the data; what is written to is busy until then. */
static void slow_puts(void **state)
{
	struct rig *r = *state;
	const struct copy c = {0, 1, 100, 50, 9000, 77};

	fill(r, 0, 7);
	set_buffer(r, 0, 1u << 20, 0);
	set_buffer(r, 1, 1u << 20, 0);
	fault(r, MODEL_FAULT_SLOW_PUTS, 0, 1);
	put(r, &c);
	assert_int_equal(rd(r, NANET3_REG_TX_READ), rd(r, NANET3_REG_TX_WRITE));
	steps(r, 8);
	assert_true(busy(r, 1));
	assert_false(busy(r, 0));
	assert_false(has(r, NANET3_EVENT_PUT));
	*byte_of(r, 0, 100) ^= 1; /* read as late as that */
	steps(r, 1);
	check_told(r, &c, 0);
	assert_false(busy(r, 1));
	for (uint64_t k = 0; k < c.length; k++) {
		assert_int_equal(*byte_of(r, 1, 50 + k), *byte_of(r, 0, 100 + k));
	}
	put(r, &c);
	wr(r, NANET3_REG_BUFFER(1, NANET3_BREG_CONTROL), 0); /* from now on nothing is delivered */
	assert_true(busy(r, 1));
	steps(r, 9);
	assert_false(busy(r, 1));
	check_told(r, &c, NANET3_TX_FAULT);
	set_buffer(r, 1, 1u << 20, 0);
	put(r, &c);
	fault(r, MODEL_FAULT_SLOW_PUTS, 0, 0); /* from now on at once, but in order */
	put(r, &c);
	assert_false(has(r, NANET3_EVENT_PUT));
	steps(r, 9);
	check_told(r, &c, 0);
	check_told(r, &c, 0);
	fault(r, MODEL_FAULT_SLOW_PUTS, 0, 1);
	put(r, &c);
	wr(r, NANET3_REG_CONTROL, NANET3_CONTROL_RESET);
	assert_false(busy(r, 1));
}

static void stuck_buffers(void **state)
{
	static const struct {
		unsigned argument, steps; /* after which it has let go; 0: never */
		bool by_reset;
	} rows[] = {{1, 8, true}, {50, 400, true}, {0xffff, 0, true}, {0xfffe, 0, false}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		for (int reset = 0; reset < 2; reset++) {
			struct rig *r;

			tear_down(state);
			set_up(state);
			r = *state;
			set_buffer(r, 9, 1, 0);
			fault(r, MODEL_FAULT_STUCK_BUFFER, 9, rows[i].argument);
			assert_false(busy(r, 9));
			wr(r, NANET3_REG_BUFFER(9, NANET3_BREG_CONTROL), 0);
			assert_true(busy(r, 9));
			if (reset) {
				wr(r, NANET3_REG_CONTROL, NANET3_CONTROL_RESET);
				assert_int_equal(busy(r, 9), !rows[i].by_reset);
				continue;
			}
			*byte_of(r, 9, 0) = 0;
			steps(r, rows[i].steps > 0 ? rows[i].steps : 1000);
			assert_true(busy(r, 9));
			assert_int_not_equal(*byte_of(r, 9, 0), 0); /* it writes */
			steps(r, 1);
			assert_int_equal(busy(r, 9), rows[i].steps == 0);
			*byte_of(r, 9, 0) = 0;
			steps(r, 1);
			assert_int_equal(*byte_of(r, 9, 0) != 0, busy(r, 9));
		}
	}
}

/* Taken, not read: who it was of is found by its number. */
static void lost_descriptors(void **state)
{
	struct rig *r = *state;
	struct nanet3_tx tx = packet(AT_PAGES, 1, 0, 64, NANET3_PUT_LAST);
	struct nanet3_event ev;

	set_buffer(r, 1, 1u << 20, 0);
	post(r, &tx);
	steps(r, 1);
	assert_true(has(r, NANET3_EVENT_PUT));
	fault(r, MODEL_FAULT_LOSE_DESCRIPTORS, 0, 1);
	post(r, &tx);
	assert_int_equal(rd(r, NANET3_REG_TX_READ), 2);
	ev = next_of(r, NANET3_EVENT_ERROR);
	assert_int_equal(ev.reason, NANET3_ERROR_DMA_FAULT);
	assert_int_equal(ev.value, NANET3_REG_TX_BASE);
	assert_int_equal(ev.position, 1);
	assert_false(next(r, &ev));
	post(r, &tx);
	steps(r, 1);
	assert_true(has(r, NANET3_EVENT_PUT));
}

static void post_packet(struct rig *r, uint64_t source, uint16_t flags, uint64_t cookie)
{
	struct nanet3_tx tx = packet(source, 1, 0, 64, flags);

	tx.cookie = cookie;
	post(r, &tx);
}

/* A put whose first packet faults, and whose last is lost or refused, has no event. The next one does not report its fault. */
static void fault_of_another_put(void **state)
{
	for (int refused = 0; refused < 2; refused++) {
		struct nanet3_event ev;
		struct rig *r;

		tear_down(state);
		set_up(state);
		r = *state;
		set_buffer(r, 1, 1u << 20, 0);
		post_packet(r, NOWHERE, 0, 111);
		if (!refused) {
			fault(r, MODEL_FAULT_LOSE_DESCRIPTORS, 0, 1);
		}
		post_packet(r, refused ? AT_PAGES + NANET3_PAGE - 1 : AT_PAGES, NANET3_PUT_LAST,
			    111);
		post_packet(r, AT_PAGES, NANET3_PUT_LAST, 222);
		steps(r, 1);
		ev = next_of(r, NANET3_EVENT_PUT);
		assert_int_equal(ev.cookie, 222);
		assert_int_equal(ev.reason, 0);
	}
}

/* Control events were lost before, and the queue has room for three: the put waits. */
static void put_event_is_never_dropped(void **state)
{
	struct rig *r = *state;
	struct nanet3_event ev;
	unsigned puts = 0;

	steps(r, 1);
	while (next(r, &ev)) {
	}
	set_buffer(r, 1, 1u << 20, 0);
	fault(r, MODEL_FAULT_FLOOD, 0, EVQ + 5);
	for (unsigned i = 0; i < 3; i++) {
		assert_true(next(r, &ev));
	}
	post_packet(r, NOWHERE, NANET3_PUT_LAST, 7);
	for (unsigned i = 0; i < 20; i++) {
		steps(r, 1);
		while (next(r, &ev)) {
			puts += ev.type == NANET3_EVENT_PUT;
		}
	}
	assert_int_equal(puts, 1);
}

/* A reset makes a buffer void, too. */
static void stuck_by_the_reset(void **state)
{
	static const unsigned arguments[] = {50, 0xffff, 0xfffe};

	for (size_t i = 0; i < sizeof(arguments) / sizeof(arguments[0]); i++) {
		struct rig *r = *state;

		set_buffer(r, 9, 1, 0);
		fault(r, MODEL_FAULT_STUCK_BUFFER, 9, arguments[i]);
		wr(r, NANET3_REG_CONTROL, NANET3_CONTROL_RESET);
		assert_int_equal(busy(r, 9), arguments[i] == 0xfffe);
	}
}

int main(void)
{
#define T(f)   cmocka_unit_test_setup_teardown(f, set_up_without_bus, tear_down)
#define BUS(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		T(puts_find_scattered_pages),
		T(random_puts),
		T(translation_is_counted_and_takes_its_time),
		T(senseless_buffers_are_refused),
		T(faults_are_told_once),
		T(malformed_packets_are_refused),
		T(puts_and_words_do_not_mind_each_other),
		T(put_waits_for_room),
		T(put_waits_while_off_and_stalled),
		T(reset_forgets_buffers),
		BUS(puts_are_done_behind_the_doorbell),
		BUS(slow_puts),
		BUS(stuck_buffers),
		BUS(lost_descriptors),
		BUS(fault_of_another_put),
		BUS(put_event_is_never_dropped),
		BUS(stuck_by_the_reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
