/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Registered buffers and puts: memory pinned at odd offsets, every byte where it belongs and none beside,
 * refusals by name, and nothing pinned when processes end in any way.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/vm/guest.h"

#define GUARD  0xa5u
#define NOBODY 65534

/* Memory of our own with a page of guard on either side. */
struct area {
	uint8_t *map, *p; /* p: the buffer, `offset` into its first page */
	size_t map_bytes, bytes;
};

static uint8_t pattern(uint64_t seed, size_t i)
{
	uint64_t x = (seed + i / 8) * 0x9e3779b97f4a7c15ull;

	return (uint8_t)(x >> (8 * (i % 8)));
}

static void area_create(struct area *a, size_t offset, size_t bytes)
{
	a->map_bytes = (offset + bytes + 3 * NANET3_PAGE) / NANET3_PAGE * NANET3_PAGE;
	a->map = mmap(NULL, a->map_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		      0);
	assert_true(a->map != MAP_FAILED);
	memset(a->map, GUARD, a->map_bytes);
	a->p = a->map + NANET3_PAGE + offset;
	a->bytes = bytes;
}

static void area_destroy(struct area *a)
{
	assert_int_equal(munmap(a->map, a->map_bytes), 0);
}

static void area_fill(struct area *a, uint64_t seed)
{
	for (size_t i = 0; i < a->bytes; i++) {
		a->p[i] = pattern(seed, i);
	}
}

static uint32_t area_register(struct nanet3 *b, struct area *a)
{
	uint32_t buffer = ~0u;

	assert_int_equal(nanet3_register_buffer(b, a->p, a->bytes, &buffer), 0);
	assert_true(buffer < NANET3_BUFFERS);
	return buffer;
}

/* Everything is guard, but [at, at + length) of the buffer is the pattern from `from` on. */
static void check_area(const struct area *a, size_t at, size_t length, uint64_t seed, size_t from)
{
	for (size_t i = 0; i < a->map_bytes; i++) {
		size_t in = (size_t)(a->map + i - a->p);
		bool inside = a->map + i >= a->p && in >= at && in < at + length;
		uint8_t want = inside ? pattern(seed, in - at + from) : GUARD;

		if (a->map[i] != want) {
			fail_msg("byte %zd of the buffer is %02x, not %02x (%s)",
				 (ssize_t)(a->map + i - a->p), a->map[i], want,
				 inside ? "of the put" : "beside it");
		}
	}
}

/* Both completions of one put; their reasons are equal, and returned. */
static unsigned finish_put(struct nanet3 *b, const struct nanet3_put *put)
{
	uint64_t until = guest_ms() + GUEST_LIMIT_MS;
	bool tx = false, arrived = false;
	unsigned reason = 0;

	while (!tx || !arrived) {
		struct nanet3_event ev;

		assert_true(guest_ms() < until);
		assert_true(nanet3_wait(b, 100) >= 0);
		while (nanet3_next_event(b, &ev) == 1) {
			if (ev.type != NANET3_EVENT_TX && ev.type != NANET3_EVENT_PUT) {
				continue;
			}
			assert_true(ev.cookie == put->cookie);
			assert_true(!(tx || arrived) || ev.reason == reason);
			reason = ev.reason;
			if (ev.type == NANET3_EVENT_PUT) {
				assert_int_equal(ev.value, put->destination);
				assert_true(ev.position == put->destination_offset);
				assert_int_equal(ev.length, put->length);
				arrived = true;
			} else {
				tx = true;
			}
		}
	}
	return reason;
}

static void put_and_finish(struct nanet3 *b, const struct nanet3_put *put)
{
	assert_int_equal(nanet3_put(b, put), 0);
	assert_int_equal(finish_put(b, put), 0);
}

/* ------------------------------------------------------------------------ content */

static void odd_offsets(void **state)
{
	static const struct {
		size_t source, destination; /* of the memory in its first page */
		uint64_t from, to, length;  /* of the put in the buffers */
	} cases[] = {
		{0, 0, 0, 0, 1},	  {0, 0, 0, 0, 4096},	    {0, 0, 0, 0, 65536},
		{1, 0, 0, 0, 4096},	  {0, 1, 0, 0, 4096},	    {1, 4095, 0, 0, 8193},
		{4095, 1, 4095, 1, 4097}, {7, 11, 13, 17, 19},	    {2048, 2047, 2049, 2051, 40000},
		{4088, 8, 3, 65000, 500}, {333, 444, 0, 0, 100001},
	};
	struct nanet3 *b = guest_open();

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct area s, d;
		struct nanet3_put put = {.source_offset = cases[i].from,
					 .destination_offset = cases[i].to,
					 .length = cases[i].length,
					 .cookie = 1000 + i};

		area_create(&s, cases[i].source, cases[i].from + cases[i].length + 5);
		area_create(&d, cases[i].destination, cases[i].to + cases[i].length + 5);
		area_fill(&s, i);
		put.source = area_register(b, &s);
		put.destination = area_register(b, &d);
		put_and_finish(b, &put);
		check_area(&d, cases[i].to, cases[i].length, i, cases[i].from);
		assert_int_equal(nanet3_unregister_buffer(b, put.source), 0);
		assert_int_equal(nanet3_unregister_buffer(b, put.destination), 0);
		area_destroy(&s);
		area_destroy(&d);
	}
	guest_close(b);
}

/* Read-write shared memory is as good as private memory, and so is what a child shares after fork. */
static void kinds_of_memory(void **state)
{
	struct nanet3 *b = guest_open();
	struct area s;
	uint8_t *shared = mmap(NULL, 8 * NANET3_PAGE, PROT_READ | PROT_WRITE,
			       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct nanet3_put put = {.length = 5000, .destination_offset = 100, .cookie = 5};

	assert_true(shared != MAP_FAILED);
	area_create(&s, 50, 5000);
	area_fill(&s, 77);
	put.source = area_register(b, &s);
	assert_int_equal(nanet3_register_buffer(b, shared + 3, 7 * NANET3_PAGE, &put.destination),
			 0);
	put_and_finish(b, &put);
	for (size_t i = 0; i < 5000; i++) {
		assert_int_equal(shared[103 + i], pattern(77, i));
	}
	munmap(shared, 8 * NANET3_PAGE);
	area_destroy(&s);
	guest_close(b);
}

static void nothing(void *context)
{
}

/* A fork after registering: copy on write must not part the parent from the board's pages. */
static void fork_after_register(void **state)
{
	struct nanet3 *b = guest_open();
	struct area s, d;
	struct nanet3_put put = {.length = 9000, .cookie = 6};
	pid_t pid;

	area_create(&s, 1, 9000);
	area_create(&d, 2, 9000);
	put.source = area_register(b, &s);
	put.destination = area_register(b, &d);
	pid = guest_fork(nothing, NULL);
	area_fill(&s, 9); /* written behind the fork */
	assert_int_equal(guest_join(pid), 0);
	put_and_finish(b, &put);
	check_area(&d, 0, 9000, 9, 0);
	area_destroy(&s);
	area_destroy(&d);
	guest_close(b);
}

static void many_puts_in_order(void **state)
{
	enum { PUTS = 200, BYTES = 3000 };
	struct nanet3 *b = guest_open();
	struct area s, d;
	struct nanet3_put put = {.length = BYTES};
	uint64_t tx = 0, arrived = 0, posted = 0, until = guest_ms() + GUEST_LIMIT_MS;

	area_create(&s, 9, PUTS * BYTES);
	area_create(&d, 99, PUTS * BYTES);
	area_fill(&s, 3);
	put.source = area_register(b, &s);
	put.destination = area_register(b, &d);
	while (arrived < PUTS) {
		struct nanet3_event ev;
		int r = 0;

		assert_true(guest_ms() < until);
		for (; posted < PUTS && r == 0; posted += r == 0) {
			put.source_offset = put.destination_offset = posted * BYTES;
			put.cookie = posted;
			put.flags = posted % 8 != 7 && posted != PUTS - 1 ? NANET3_PUT_MORE : 0;
			r = nanet3_put(b, &put);
		}
		assert_true(r == 0 || r == -EAGAIN);
		assert_true(nanet3_wait(b, 100) >= 0);
		while (nanet3_next_event(b, &ev) == 1) {
			if (ev.type == NANET3_EVENT_TX) {
				assert_true(ev.cookie == tx++);
			} else if (ev.type == NANET3_EVENT_PUT) {
				assert_true(ev.cookie == arrived++);
			}
			assert_int_equal(ev.reason, 0);
		}
	}
	check_area(&d, 0, PUTS * BYTES, 3, 0);
	guest_close(b); /* registered as they are */
	area_destroy(&s);
	area_destroy(&d);
}

/* The second put sends what the first brings, posted behind it at once: in order on the ring, or refused for
 * the time being where memory is bounced, but never old bytes. */
static void relayed_puts(void **state)
{
	struct nanet3 *b = guest_open();
	struct area a[3];
	struct nanet3_put put = {.length = 9000};
	uint32_t buffer[3];

	for (unsigned i = 0; i < 3; i++) {
		area_create(&a[i], 5 * i, 9000);
		buffer[i] = area_register(b, &a[i]);
	}
	for (unsigned round = 0; round < 20; round++) {
		uint64_t until = guest_ms() + GUEST_LIMIT_MS;
		unsigned arrived = 0;

		area_fill(&a[0], 1000 + round);
		put.source = buffer[0];
		put.destination = buffer[1];
		assert_int_equal(nanet3_put(b, &put), 0);
		put.source = buffer[1];
		put.destination = buffer[2];
		for (bool posted = false; !posted || arrived < 2;) {
			struct nanet3_event ev;
			int r = posted ? 0 : nanet3_put(b, &put);

			assert_true(r == 0 || r == -EAGAIN);
			posted = r == 0;
			assert_true(guest_ms() < until);
			assert_true(nanet3_wait(b, 10) >= 0);
			while (nanet3_next_event(b, &ev) == 1) {
				assert_int_equal(ev.reason, 0);
				arrived += ev.type == NANET3_EVENT_PUT;
			}
		}
		check_area(&a[2], 0, 9000, 1000 + round, 0);
	}
	guest_close(b);
	for (unsigned i = 0; i < 3; i++) {
		area_destroy(&a[i]);
	}
}

/* ------------------------------------------------------------------------ refusals */

static void refused_registers(void **state)
{
	struct nanet3 *b = guest_open();
	uint8_t *p = mmap(NULL, 4 * NANET3_PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	static uint8_t many[(NANET3_BUFFERS + 1) * NANET3_PAGE];
	uint8_t *text = mmap(NULL, NANET3_PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint32_t buffers[NANET3_BUFFERS + 1], buffer = 12345;
	unsigned n = 0;
	int r;

	assert_int_equal(nanet3_register_buffer(b, p, 0, &buffer), -EINVAL);
	assert_int_equal(nanet3_register_buffer(b, p, NANET3_BUFFER_BYTES_MAX + 1, &buffer),
			 -EINVAL);
	assert_int_equal(nanet3_register_buffer(b, NULL, NANET3_PAGE, &buffer), -EFAULT);
	assert_int_equal(nanet3_register_buffer(b, text, NANET3_PAGE, &buffer), -EFAULT);
	assert_int_equal(munmap(p + 3 * NANET3_PAGE, NANET3_PAGE), 0);
	assert_int_equal(nanet3_register_buffer(b, p, 4 * NANET3_PAGE, &buffer), -EFAULT);
	r = nanet3_register_buffer(b, (void *)0xffff800000000000ull, NANET3_PAGE, &buffer);
	assert_true(r == -EFAULT || r == -EINVAL);
	r = nanet3_register_buffer(b, (void *)~0xfffull, 2 * NANET3_PAGE, &buffer); /* wraps */
	assert_true(r == -EFAULT || r == -EINVAL);
	assert_int_equal(buffer, 12345);
	/* Two to a page; a DMA debugger counts no more than 7. */
	while ((r = nanet3_register_buffer(b, many + n * NANET3_PAGE + 2048, NANET3_PAGE,
					   &buffers[n])) == 0) {
		assert_true(++n <= NANET3_BUFFERS);
	}
	assert_int_equal(r, -ENOSPC);
	assert_int_equal(n, NANET3_HANDLE_BUFFERS);
	assert_int_equal(nanet3_unregister_buffer(b, buffers[7]), 0);
	assert_int_equal(nanet3_unregister_buffer(b, buffers[7]), -ENOENT);
	assert_int_equal(nanet3_unregister_buffer(b, 4711), -ENOENT);
	assert_int_equal(nanet3_register_buffer(b, p, 100, &buffers[7]), 0);
	/* All of them are in use only with an owner among the handles. */
	for (unsigned k = 1; k <= 4; k++) {
		struct nanet3 *more = guest_open();

		if (k == 4) {
			guest_claim(more, 3);
		}
		while ((r = nanet3_register_buffer(more, many + n % NANET3_BUFFERS * NANET3_PAGE,
						   100, &buffers[n])) == 0) {
			assert_true(++n <= NANET3_BUFFERS);
		}
		assert_int_equal(r, -ENOSPC);
		assert_int_equal(n, k < 3    ? (k + 1) * NANET3_HANDLE_BUFFERS
				    : k == 3 ? NANET3_OTHERS_BUFFERS
					     : NANET3_BUFFERS);
	}
	assert_int_equal(guest_stats(b).buffers, NANET3_BUFFERS);
	guest_close_all(state);
	munmap(p, 3 * NANET3_PAGE);
	munmap(text, NANET3_PAGE);
}

static void refused_puts(void **state)
{
	struct nanet3 *a = guest_open(), *b = guest_open();
	struct area s, d;
	struct nanet3_put good = {.length = 100, .cookie = 8}, put;

	area_create(&s, 5, 10000);
	area_create(&d, 6, 10000);
	good.source = area_register(a, &s);
	good.destination = area_register(a, &d);
	assert_int_equal(nanet3_put(b, &good), -ENOENT); /* somebody else's */
	assert_int_equal(nanet3_unregister_buffer(b, good.source), -ENOENT);
	put = good;
	put.source = 63;
	assert_int_equal(nanet3_put(a, &put), -ENOENT);
	put = good;
	put.destination = 1u << 31;
	assert_int_equal(nanet3_put(a, &put), -ENOENT);
	put = good;
	put.length = 0;
	assert_int_equal(nanet3_put(a, &put), -EINVAL);
	put = good;
	put.source_offset = 9901;
	assert_int_equal(nanet3_put(a, &put), -EINVAL);
	put = good;
	put.source_offset = ~0ull - 50;
	assert_int_equal(nanet3_put(a, &put), -EINVAL);
	put = good;
	put.destination_offset = 9901;
	assert_int_equal(nanet3_put(a, &put), -EINVAL);
	put = good;
	put.flags = NANET3_PUT_UNCHECKED;
	put.destination_offset = ~0ull - 50; /* comes round to the start */
	assert_int_equal(nanet3_put(a, &put), -EINVAL);
	put = good;
	put.flags = 0x80;
	assert_int_equal(nanet3_put(a, &put), -EINVAL);
	check_area(&d, 0, 0, 0, 0);
	guest_close(a);
	guest_close(b);
	area_destroy(&s);
	area_destroy(&d);
}

/* The board's own check: what lies in no table is not written, and is told. */
static void unchecked_put_faults(void **state)
{
	struct nanet3 *b = guest_open();
	struct area s, d;
	struct nanet3_put put = {.length = 100,
				 .cookie = 9,
				 .destination_offset = 1 << 20,
				 .flags = NANET3_PUT_UNCHECKED};
	struct nanet3_stats before = guest_stats(b);

	area_create(&s, 5, 10000);
	area_create(&d, 6, 10000);
	area_fill(&s, 4);
	put.source = area_register(b, &s);
	put.destination = area_register(b, &d);
	assert_int_equal(nanet3_put(b, &put), 0);
	assert_int_equal(finish_put(b, &put), NANET3_TX_FAULT);
	check_area(&d, 0, 0, 0, 0);
	assert_true(guest_stats(b).tx_faults > before.tx_faults);
	put.destination_offset = 0;
	put_and_finish(b, &put); /* and it goes on */
	check_area(&d, 0, 100, 4, 0);
	guest_close(b);
	area_destroy(&s);
	area_destroy(&d);
}

/* Without privilege, no more than RLIMIT_MEMLOCK is pinned, over all buffers and handles. */
static void as_nobody(void *context)
{
	const struct rlimit limit = {8 * NANET3_PAGE, 8 * NANET3_PAGE};
	uint8_t *p = mmap(NULL, 16 * NANET3_PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct nanet3 *a, *b;
	uint32_t first, second;

	assert_int_equal(setrlimit(RLIMIT_MEMLOCK, &limit), 0);
	assert_int_equal(setgid(NOBODY), 0);
	assert_int_equal(setuid(NOBODY), 0);
	a = guest_open();
	b = guest_open();
	assert_int_equal(nanet3_register_buffer(a, p, 9 * NANET3_PAGE, &first), -ENOMEM);
	assert_int_equal(nanet3_register_buffer(a, p, 5 * NANET3_PAGE, &first), 0);
	assert_int_equal(nanet3_register_buffer(b, p, 5 * NANET3_PAGE, &second), -ENOMEM);
	assert_int_equal(nanet3_register_buffer(b, p, 3 * NANET3_PAGE, &second), 0);
	assert_int_equal(nanet3_unregister_buffer(a, first), 0);
	assert_int_equal(nanet3_register_buffer(b, p, 5 * NANET3_PAGE, &second), 0);
	guest_close(b);
	assert_int_equal(nanet3_register_buffer(a, p, 8 * NANET3_PAGE, &first), 0);
	guest_close(a);
}

static void memlock_is_the_limit(void **state)
{
	struct stat s;

	assert_int_equal(stat(guest_where(), &s), 0);
	assert_int_equal(chmod(guest_where(), 0666), 0);
	assert_int_equal(guest_join(guest_fork(as_nobody, NULL)), 0);
	assert_int_equal(chmod(guest_where(), s.st_mode & 0777), 0);
}

/* ------------------------------------------------------------------------ ends */

static uint64_t let_go(void *context)
{
	struct nanet3_stats s = guest_stats(context);

	return s.buffers == 0 && s.pinned_pages == 0;
}

/* Puts without end. */
static void put_for_ever(void *context)
{
	int told = *(int *)context;
	struct nanet3 *b = guest_open();
	struct area s, d;
	struct nanet3_put put = {.length = 1 << 16};
	struct nanet3_event ev;

	area_create(&s, 5, 1 << 20);
	area_create(&d, 6, 1 << 20);
	put.source = area_register(b, &s);
	put.destination = area_register(b, &d);
	for (unsigned i = 0;; i++) {
		int r = nanet3_put(b, &put);

		assert_true(r == 0 || r == -EAGAIN);
		while (nanet3_next_event(b, &ev) == 1) {
		}
		if (i == 20) {
			assert_int_equal(write(told, "!", 1), 1);
		}
	}
}

static void killed_while_putting(void **state)
{
	struct nanet3 *b = guest_open();

	guest_wait_for(let_go, b, 1, "nothing pinned before");
	for (unsigned round = 0; round < 5; round++) {
		int ends[2];
		char c;
		pid_t pid;

		assert_int_equal(pipe(ends), 0);
		pid = guest_fork(put_for_ever, &ends[1]);
		close(ends[1]);
		assert_int_equal(read(ends[0], &c, 1), 1);
		close(ends[0]);
		assert_int_equal(guest_stats(b).buffers, 2);
		guest_sleep_ms(7 * round);
		assert_int_equal(kill(pid, SIGKILL), 0);
		assert_int_equal(guest_join(pid), -SIGKILL);
		guest_wait_for(let_go, b, 1, "nothing pinned after");
	}
	guest_close(b);
}

/* The pages stay the board's although the process unmapped them; unregistering waits for the board. */
static void unmapped_and_unregistered_while_putting(void **state)
{
	struct nanet3 *b = guest_open();

	for (unsigned round = 0; round < 10; round++) {
		struct nanet3_put put = {.length = 1 << 16, .cookie = round};
		struct area s, d;
		uint32_t first;

		area_create(&s, 5, 1 << 17);
		area_create(&d, 6, 1 << 17);
		put.source = area_register(b, &s);
		put.destination = area_register(b, &d);
		assert_int_equal(nanet3_put(b, &put), 0);
		if (round % 2 == 0) {
			area_destroy(&s);
			area_destroy(&d);
		}
		first = round % 4 < 2 ? put.source : put.destination;
		assert_int_equal(nanet3_unregister_buffer(b, first), 0);
		assert_int_equal(nanet3_unregister_buffer(b, first == put.source ? put.destination
										 : put.source),
				 0);
		if (round % 2 == 1) { /* nobody writes there any more */
			memset(d.map, GUARD, d.map_bytes);
			guest_sleep_ms(10);
			check_area(&d, 0, 0, 0, 0);
			area_destroy(&s);
			area_destroy(&d);
		}
		assert_int_equal(guest_wait_event(b, NANET3_EVENT_TX).cookie, round);
	}
	assert_true(let_go(b));
	guest_close(b);
}

/* ------------------------------------------------------------------------ a ring that stands still */

/* Words for later frames fill their part of the ring; puts and their completions continue. */
static void words_hold_up_no_puts(void **state)
{
	struct nanet3 *b = guest_open(), *owner = guest_open();
	uint64_t resets = guest_stats(b).resets;
	struct nanet3_put put = {.length = 9000, .cookie = 30};
	struct nanet3_tx word = {.kind = NANET3_TX_REQUEST, .bytes = {1}, .cookie = 31};
	struct area s, d;
	unsigned sent = 0;
	int r;

	area_create(&s, 1, 9000);
	area_create(&d, 2, 9000);
	area_fill(&s, 30);
	put.source = area_register(b, &s);
	put.destination = area_register(b, &d);
	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		guest_claim(owner, i);
		assert_int_equal(nanet3_grant(owner, i, nanet3_info(b)->handle), 0);
	}
	word.at_frame = guest_reg(b, NANET3_REG_COUNT) + 3000;
	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		word.link = (uint8_t)i;
		while ((r = nanet3_send(b, &word)) == 0) {
			assert_true(++sent < 1000);
		}
		assert_int_equal(r, -EAGAIN);
	}
	assert_int_equal(sent, NANET3_TX_WORDS);
	put_and_finish(b, &put);
	check_area(&d, 0, 9000, 30, 0);
	assert_int_equal(nanet3_unregister_buffer(b, put.source), 0);
	assert_int_equal(nanet3_unregister_buffer(b, put.destination), 0);
	assert_true(let_go(b));
	while (sent-- > 0) {
		assert_true(guest_wait_event(b, NANET3_EVENT_TX).cookie == word.cookie);
	}
	assert_true(guest_stats(b).resets == resets);
	guest_close(owner);
	guest_close(b);
	area_destroy(&s);
	area_destroy(&d);
}

/* The ring stands still from the board's next step on. */
static uint64_t stalled(void *context)
{
	return (guest_reg(context, NANET3_REG_STATUS) & NANET3_STATUS_STALLED) != 0;
}

/* A packet names its buffer by a number: the number's next owner must get nothing of it. */
static void put_outlives_its_buffer(void **state)
{
	struct nanet3 *a = guest_open(), *b = guest_open();
	uint64_t resets = guest_stats(a).resets;
	struct nanet3_put put = {.length = 9000, .cookie = 32};
	struct area s, d, next;
	uint32_t number;

	area_create(&s, 1, 9000);
	area_create(&d, 2, 9000);
	area_create(&next, 2, 9000);
	area_fill(&s, 32);
	put.source = area_register(a, &s);
	put.destination = area_register(a, &d);
	guest_fault(a, MODEL_FAULT_STALL, 0, 150);
	guest_wait_for(stalled, a, 1, "stall");
	assert_int_equal(nanet3_put(a, &put), 0);
	assert_int_equal(nanet3_unregister_buffer(a, put.destination), 0);
	assert_int_equal(nanet3_unregister_buffer(a, put.destination), -ENOENT);
	assert_int_equal(nanet3_unregister_buffer(a, put.source), 0);
	number = area_register(b, &next);
	assert_int_equal(guest_wait_event(a, NANET3_EVENT_TX).cookie, put.cookie);
	assert_int_equal(guest_wait_event(a, NANET3_EVENT_PUT).cookie, put.cookie);
	check_area(&next, 0, 0, 0, 0);
	assert_int_equal(nanet3_unregister_buffer(b, number), 0);
	guest_wait_for(let_go, b, 1, "nothing pinned once the ring has moved");
	assert_true(guest_stats(b).resets == resets);
	guest_close(a);
	guest_close(b);
	area_destroy(&s);
	area_destroy(&d);
	area_destroy(&next);
}

/* The board fetches descriptors ahead: what it is still to read stays where it is. */
static void put_outlives_its_source(void **state)
{
	struct nanet3 *b = guest_open();
	struct nanet3_put put = {.length = 9000, .cookie = 33};
	struct area s, d;

	area_create(&s, 1, 9000);
	area_create(&d, 2, 9000);
	area_fill(&s, 33);
	put.source = area_register(b, &s);
	put.destination = area_register(b, &d);
	guest_fault(b, MODEL_FAULT_SLOW_PUTS, 0, 500);
	assert_int_equal(nanet3_put(b, &put), 0);
	assert_int_equal(guest_reg(b, NANET3_REG_TX_READ), guest_reg(b, NANET3_REG_TX_WRITE));
	assert_int_equal(nanet3_unregister_buffer(b, put.source), 0);
	assert_int_equal(guest_stats(b).pinned_pages, 6);
	assert_int_equal(finish_put(b, &put), 0);
	check_area(&d, 0, 9000, 33, 0);
	guest_fault(b, MODEL_FAULT_SLOW_PUTS, 0, 0);
	assert_int_equal(nanet3_unregister_buffer(b, put.destination), 0);
	guest_wait_for(let_go, b, 1, "nothing pinned once the put is done");
	guest_close(b);
	area_destroy(&s);
	area_destroy(&d);
}

/* A descriptor that the board cannot read: what it was part of ends, with a fault. */
static void descriptors_not_read(void **state)
{
	struct nanet3 *b = guest_open();
	struct nanet3_tx word = {.link = 0, .kind = NANET3_TX_REQUEST, .bytes = {1}, .cookie = 34};
	struct nanet3_put put = {.length = 9000, .cookie = 35};
	uint64_t resets = guest_stats(b).resets;
	struct nanet3_event ev;
	struct area s, d;

	guest_wait_locked(b, 0);
	guest_fault(b, MODEL_FAULT_LOSE_DESCRIPTORS, 0, 1);
	assert_int_equal(nanet3_send(b, &word), 0);
	ev = guest_wait_event(b, NANET3_EVENT_TX);
	assert_true(ev.cookie == word.cookie && ev.reason == NANET3_TX_FAULT);
	area_create(&s, 1, 9000);
	area_create(&d, 2, 9000);
	area_fill(&s, 35);
	put.source = area_register(b, &s);
	put.destination = area_register(b, &d);
	guest_fault(b, MODEL_FAULT_LOSE_DESCRIPTORS, 0, 1);
	assert_int_equal(nanet3_put(b, &put), 0);
	assert_int_equal(finish_put(b, &put), NANET3_TX_FAULT);
	assert_int_equal(guest_stats(b).resets, resets);
	guest_fault(b, MODEL_FAULT_LOSE_DESCRIPTORS, 0, 3); /* its last one, too: no event comes */
	assert_int_equal(nanet3_put(b, &put), 0);
	assert_int_equal(finish_put(b, &put), NANET3_TX_FAULT);
	assert_int_equal(guest_stats(b).resets, resets + 1);
	put_and_finish(b, &put);
	check_area(&d, 0, 9000, 35, 0);
	guest_close(b);
	area_destroy(&s);
	area_destroy(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		GUEST_TEST(odd_offsets),
		GUEST_TEST(kinds_of_memory),
		GUEST_TEST(fork_after_register),
		GUEST_TEST(many_puts_in_order),
		GUEST_TEST(relayed_puts),
		GUEST_TEST(refused_registers),
		GUEST_TEST(refused_puts),
		GUEST_TEST(unchecked_put_faults),
		GUEST_TEST(memlock_is_the_limit),
		GUEST_TEST(killed_while_putting),
		GUEST_TEST(unmapped_and_unregistered_while_putting),
		GUEST_TEST(words_hold_up_no_puts),
		GUEST_TEST(put_outlives_its_buffer),
		GUEST_TEST(put_outlives_its_source),
		GUEST_TEST(descriptors_not_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
