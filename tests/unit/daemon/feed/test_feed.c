/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The TriDAS feed: its queue (line.h) alone, also with sockets that take any number of bytes; then with real
 * readers over loopback TCP, well, slow and vanishing ones: what they get, to the byte, in whole hits, and the
 * outcome of blocks that a reader did not get. Also: ports that cannot be opened, the stop.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/feed/line.h"
#include "tests/unit/rig/feed_rig.h"
#include "tdm/hit.h"

#define KILO 1000u
#define MEGA 1000000u

static struct feed_rig R;

/* ---- the line, without sockets ---- */

static struct block *line_block(struct block *b, unsigned bytes, uint32_t frames)
{
	memset(b, 0, sizeof(*b));
	b->header.channels = 6;
	b->header.channel_offset[0] = 10;
	for (unsigned i = 1; i <= 6; i++) {
		b->header.channel_offset[i] = 10 + bytes;
	}
	b->header.frames = frames;
	b->header.items = bytes;
	return b;
}

static void test_line(void **state)
{
	static struct feed_line line;
	static uint8_t payload[64];
	struct feed_place quick, slow, late;
	struct block b[4];
	struct iovec piece[2];
	enum outcome outcome = OUTCOME_NOT_OFFERED;

	memset(&line, 0, sizeof(line));
	feed_line_join(&line, &quick);
	feed_line_join(&line, &slow);
	assert_int_equal(feed_line_look(&line, &quick, SIZE_MAX, piece, 2), 0);
	for (unsigned i = 0; i < 4; i++) {
		line_block(&b[i], i == 1 ? 0 : 20, 80)->payload =
			payload; /* the second has no hits */
		feed_line_append(&line, &b[i]);
	}
	assert_int_equal(feed_line_behind_bytes(&line, &slow), 60);
	assert_int_equal(feed_line_behind_frames(&line, &slow), 320);
	assert_int_equal(feed_line_look(&line, &quick, SIZE_MAX, piece, 2), 2);
	assert_ptr_equal(piece[0].iov_base, payload + 10);
	assert_int_equal(feed_line_wrote(&line, &quick, 7), 0);
	assert_int_equal(feed_line_look(&line, &quick, SIZE_MAX, piece, 2), 2);
	assert_ptr_equal(piece[0].iov_base, payload + 17);
	assert_int_equal(piece[0].iov_len, 13);
	/* To the middle of the third: the first and the empty one are passed. */
	assert_int_equal(feed_line_wrote(&line, &quick, 13 + 5), 20);
	assert_int_equal(feed_line_behind_frames(&line, &quick), 160);
	assert_null(feed_line_settled(&line, &outcome));
	feed_line_join(&line, &late); /* it gets what comes, nothing of what is there */
	assert_int_equal(feed_line_behind_bytes(&line, &late), 0);
	/* The slow one has 19 of 20 bytes of the first block: it has none of the four. */
	assert_int_equal(feed_line_wrote(&line, &slow, 19), 0);
	assert_int_equal(feed_line_leave(&line, &slow, OUTCOME_DROP_SLOW), 320);
	assert_ptr_equal(feed_line_settled(&line, &outcome), &b[0]);
	assert_int_equal(outcome, OUTCOME_DROP_SLOW);
	feed_line_pop(&line);
	assert_ptr_equal(feed_line_settled(&line, &outcome), &b[1]);
	feed_line_pop(&line);
	assert_null(feed_line_settled(&line, &outcome));
	assert_int_equal(feed_line_leave(&line, &quick, OUTCOME_NOT_OFFERED), 160);
	assert_ptr_equal(feed_line_settled(&line, &outcome), &b[2]);
	feed_line_pop(&line);
	feed_line_pop(&line);
	/* The late one is there still; it takes one, leaves before the next. */
	feed_line_append(&line, &b[0]);
	feed_line_append(&line, &b[2]);
	feed_line_wrote(&line, &late, 20);
	assert_ptr_equal(feed_line_settled(&line, &outcome), &b[0]);
	assert_int_equal(outcome, OUTCOME_ACKED);
	feed_line_pop(&line);
	assert_int_equal(feed_line_leave(&line, &late, OUTCOME_NOT_OFFERED), 80);
	assert_ptr_equal(feed_line_settled(&line, &outcome), &b[2]);
	assert_int_equal(outcome, OUTCOME_DROP_NO_MEMBER);
	feed_line_pop(&line);
	assert_null(feed_line_oldest(&line));
}

/* Length of the whole hits that bytes begin with. */
static size_t whole_hits(const uint8_t *bytes, size_t length)
{
	size_t at = 0;

	while (length - at >= HIT_HEADER_BYTES && hit_bytes(bytes + at) <= length - at) {
		assert_true(hit_legal(bytes + at));
		at += hit_bytes(bytes + at);
	}
	return at;
}

/* Hits of every length, in blocks of some hundred, some blocks without any. Returns the bytes of all. */
static size_t fill_line(struct feed_line *line, struct block *b, unsigned blocks, uint8_t *hits)
{
	size_t at = 0;

	for (unsigned n = 0, number = 0; n < blocks; n++) {
		size_t begin = at;

		for (unsigned i = 0; i < n % 7 * 40; i++, number++) {
			struct hit h = {.samples = (uint8_t)(number * 5 % 37)};

			hit_pack(&h, hits + at);
			at += hit_bytes(hits + at);
		}
		/* A block's hits begin 10 bytes into its payload. */
		line_block(&b[n], (unsigned)(at - begin), 80)->payload = hits + begin - 10;
		feed_line_append(line, &b[n]);
	}
	return at;
}

/* A socket that has room for `room` bytes and takes `takes` of those that are offered. Returns how many. */
static size_t take_some(struct feed_line *line, struct feed_place *place, size_t room, size_t takes,
			uint8_t *to)
{
	const uint8_t *rest = NULL;
	struct iovec piece[3];
	size_t cut = feed_line_cut(line, place, &rest), offered = 0, taken = 0;
	unsigned count = feed_line_look(line, place, room, piece, 3);

	for (unsigned i = 0; i < count; i++) {
		const uint8_t *from = piece[i].iov_base;
		size_t begun = i == 0 ? cut : 0;
		size_t some = takes - taken < piece[i].iov_len ? takes - taken : piece[i].iov_len;

		/* The rest of a hit that was cut comes first; what is offered ends at a border. */
		assert_true(begun == 0 || (from == rest && piece[i].iov_len >= cut));
		assert_int_equal(whole_hits(from + begun, piece[i].iov_len - begun),
				 piece[i].iov_len - begun);
		memcpy(to + taken, from, some);
		offered += piece[i].iov_len;
		taken += some;
	}
	assert_true(offered <= room);
	/* Room for the longest hit is room for the next one. */
	assert_true(count > 0 || room < HIT_MAX_BYTES || feed_line_behind_bytes(line, place) == 0);
	feed_line_wrote(line, place, taken);
	return taken;
}

static uint32_t next_random(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

/* However little room a socket has, and however much of it it takes: each write ends at the border of a hit. */
static void line_takes(size_t most_room, size_t most_taken)
{
	static struct feed_line line;
	static struct block b[70];
	static uint8_t hits[1 << 20], got[1 << 20];
	size_t length, at = 0, whole = 0;
	uint32_t random = (uint32_t)(most_room * 31 + most_taken);
	struct feed_place place;

	memset(&line, 0, sizeof(line));
	feed_line_join(&line, &place);
	length = fill_line(&line, b, 70, hits + 10);
	while (at < length) {
		size_t room = most_room == SIZE_MAX ? SIZE_MAX : next_random(&random) % most_room;
		size_t takes =
			most_taken == SIZE_MAX ? SIZE_MAX : 1 + next_random(&random) % most_taken;
		const uint8_t *rest;

		at += take_some(&line, &place, room, takes, got + at);
		/* A socket that takes all that it has room for never has a part of a hit. */
		assert_true(most_taken != SIZE_MAX || feed_line_cut(&line, &place, &rest) == 0);
		whole += whole_hits(got + whole, at - whole);
		assert_int_equal(whole, place.border);
	}
	assert_int_equal(at, length);
	assert_memory_equal(got, hits + 10, length);
}

static void test_borders(void **state)
{
	static const size_t rooms[] = {89, 200, 5000, 100000, SIZE_MAX};
	static const size_t taken[] = {1, 3, 60, 3000, SIZE_MAX};

	for (unsigned r = 0; r < 5; r++) {
		for (unsigned t = 0; t < 5; t++) {
			line_takes(rooms[r], taken[t]);
		}
	}
}

/* ---- what readers get ---- */

static void test_content(void **state)
{
	struct feed_status s;
	int fd[3], other;
	uint64_t hits = 0;

	feed_rig_start(&R, 16 * MEGA, 1000);
	feed_rig_offer(&R, 1, 10 * KILO, 0); /* nobody is there */
	feed_rig_wait_back(&R, 1);
	assert_int_equal(R.block[0].outcome, OUTCOME_DROP_NO_MEMBER);
	for (unsigned i = 0; i < 3; i++) {
		fd[i] = feed_rig_connect(&R, 1, 0);
	}
	other = feed_rig_connect(&R, 0, 0);
	for (unsigned i = 0; i < 50; i++) {
		/* Empty blocks, blocks of one hit, many: each is there at once, without another behind it. */
		unsigned n = feed_rig_offer(&R, 1, i % 5 * i * 400, 0);

		hits += R.block[n].hits;
		for (unsigned k = 0; k < 3; k++) {
			feed_rig_expect(&R, 1, fd[k], R.block[n].begin, R.block[n].end);
		}
		feed_rig_offer(&R, 0, 500, i == 7 ? FCM_BLOCK_GAP : 0);
	}
	feed_rig_expect(&R, 0, other, 0, R.length[0]);
	feed_rig_wait_back(&R, R.offered);
	assert_int_equal(feed_rig_count(&R, OUTCOME_ACKED), 100);
	FEED_RIG_WAIT(&R, s, s.group.acked == 100 && s.readers == 4);
	for (unsigned i = 0; i < 4; i++) {
		assert_int_equal(s.reader[i].behind_bytes, 0);
		if (s.reader[i].link == 1) {
			assert_int_equal(s.reader[i].hits, hits);
			assert_int_equal(s.reader[i].bytes, R.length[1] - R.block[0].end);
		}
	}
	assert_memory_equal(s.reader[0].address, "127.0.0.1:", 10);
	assert_int_equal(s.group.dropped[OUTCOME_DROP_NO_MEMBER], 1);
	assert_int_equal(s.group.offered, 101);
	/* Not a byte more. */
	for (unsigned i = 0; i < 3; i++) {
		uint8_t byte;

		assert_int_equal(recv(fd[i], &byte, 1, MSG_DONTWAIT), -1);
		close(fd[i]);
	}
	close(other);
	feed_rig_finish(&R);
}

struct slow_read {
	int fd;
	uint8_t *to;
	size_t length;
};

static void *read_slowly(void *arg)
{
	struct slow_read *s = arg;
	size_t step = 1;

	for (size_t at = 0; at < s->length; at += step) {
		step = step * 7 % 9973 + 1;
		step = step < s->length - at ? step : s->length - at;
		if (feed_rig_read(s->fd, s->to + at, step) != step) {
			return s;
		}
	}
	return NULL;
}

/* Blocks far larger than what the socket takes at once, a quick reader beside the slow one. */
static void test_partial_writes(void **state)
{
	struct slow_read slow;
	pthread_t thread;
	void *cut;
	int quick;

	feed_rig_start(&R, 100 * MEGA, 1000);
	slow.fd = feed_rig_connect(&R, 2, 4096);
	quick = feed_rig_connect(&R, 2, 0);
	for (unsigned i = 0; i < 8; i++) {
		feed_rig_offer(&R, 2, 3 * MEGA, 0);
	}
	slow.length = R.length[2];
	slow.to = malloc(slow.length);
	assert_int_equal(pthread_create(&thread, NULL, read_slowly, &slow), 0);
	feed_rig_expect(&R, 2, quick, 0, R.length[2]);
	pthread_join(thread, &cut);
	assert_null(cut);
	assert_memory_equal(slow.to, R.stream[2], slow.length);
	feed_rig_wait_back(&R, 8);
	assert_int_equal(feed_rig_count(&R, OUTCOME_ACKED), 8);
	free(slow.to);
	close(quick);
	close(slow.fd);
	feed_rig_finish(&R);
}

/* A reader begins on a hit, whenever it comes. */
static void test_in_the_middle(void **state)
{
	struct feed_status s;
	int first, fd[6];

	feed_rig_start(&R, 100 * MEGA, 1000);
	first = feed_rig_connect(&R, 1, 4096);
	for (unsigned i = 0; i < 6; i++) {
		/* The first one is in the middle of these when the next one comes. */
		feed_rig_offer(&R, 1, 4 * MEGA, 0);
		feed_rig_offer(&R, 1, 1000, 0);
		FEED_RIG_WAIT(&R, s, s.group.offered == R.offered);
		fd[i] = feed_rig_connect(&R, 1, 0);
	}
	feed_rig_offer(&R, 1, 5000, 0);
	for (unsigned i = 0; i < 6; i++) {
		feed_rig_expect(&R, 1, fd[i], R.block[2 * i + 1].end, R.length[1]);
		close(fd[i]);
	}
	feed_rig_expect(&R, 1, first, 0, R.length[1]);
	close(first);
	feed_rig_finish(&R);
}

static void test_no_time(void **state)
{
	struct feed_status s;
	int fd;

	feed_rig_start(&R, MEGA, 1000);
	feed_rig_offer(&R, 1, 1000, FCM_BLOCK_NO_TIME); /* whether anybody is there or not */
	fd = feed_rig_connect(&R, 1, 0);
	for (unsigned i = 0; i < 30; i++) {
		feed_rig_offer(&R, 1, 1000, i % 3 ? 0 : FCM_BLOCK_NO_TIME);
	}
	feed_rig_expect(&R, 1, fd, 0, R.length[1]);
	feed_rig_wait_back(&R, 31);
	for (unsigned n = 0; n < 31; n++) {
		assert_int_equal(R.block[n].outcome,
				 n == 0 || n % 3 == 1 ? OUTCOME_DROP_NO_TIME : OUTCOME_ACKED);
	}
	FEED_RIG_WAIT(&R, s, s.group.dropped[OUTCOME_DROP_NO_TIME] == 11);
	assert_int_equal(s.group.dropped_frames[OUTCOME_DROP_NO_TIME], 11 * FEED_RIG_FRAMES);
	assert_int_equal(s.group.last_drop.outcome, OUTCOME_DROP_NO_TIME);
	close(fd);
	feed_rig_finish(&R);
}

/* ---- readers that are too slow ---- */

/*
 * One reader stands still, another of the floor and one of another floor go on. Until it is dropped all is
 * waiting for it; then exactly the blocks that it has not got whole are charged, and what it had been
 * given is there to read.
 */
static void stalled(uint64_t budget, uint64_t hold_blocks)
{
	struct feed_status s = {0};
	size_t had, whole = 0;
	uint8_t *got;
	int still, quick, other;

	feed_rig_start(&R, budget, hold_blocks);
	still = feed_rig_connect(&R, 1, 4096);
	quick = feed_rig_connect(&R, 1, 0);
	other = feed_rig_connect(&R, 0, 0);
	while (s.dropped == 0 && R.offered < 300) {
		unsigned n = feed_rig_offer(&R, 1, 200 * KILO, 0);

		feed_rig_expect(&R, 1, quick, R.block[n].begin, R.block[n].end);
		n = feed_rig_offer(&R, 0, 1000, 0);
		feed_rig_expect(&R, 0, other, R.block[n].begin, R.block[n].end);
		feed_get_status(R.feed, &s);
		usleep(1000);
	}
	assert_int_equal(s.dropped, 1);
	feed_rig_wait_back(&R, R.offered);
	got = malloc(R.length[1]);
	had = feed_rig_read(still, got, R.length[1]);
	assert_true(had > 0 && had < R.length[1]);
	assert_memory_equal(got, R.stream[1], had);
	assert_int_equal(s.gone[0].reader.bytes, had);
	assert_int_equal(whole_hits(got, had), had);
	for (unsigned n = 0; n < R.offered; n++) {
		bool charged = R.block[n].link == 1 && R.block[n].end > had &&
			       R.block[n].outcome == OUTCOME_DROP_SLOW;

		if (R.block[n].link == 0 || R.block[n].end <= had) {
			assert_int_equal(R.block[n].outcome, OUTCOME_ACKED);
		}
		whole += R.block[n].link == 1 && R.block[n].end <= had;
		/* What came after it had gone is nobody's loss. */
		assert_true(charged || R.block[n].outcome == OUTCOME_ACKED);
	}
	assert_int_equal(s.gone[0].why, OUTCOME_DROP_SLOW);
	assert_int_equal(s.gone[0].frames, feed_rig_count(&R, OUTCOME_DROP_SLOW) * FEED_RIG_FRAMES);
	/* The charged ones follow the last that it had, without a hole. */
	for (unsigned n = 0, k = 0; n < R.offered; n++) {
		if (R.block[n].link == 1 && k++ >= whole &&
		    k <= whole + feed_rig_count(&R, OUTCOME_DROP_SLOW)) {
			assert_int_equal(R.block[n].outcome, OUTCOME_DROP_SLOW);
		}
	}
	FEED_RIG_WAIT(&R, s,
		      s.group.dropped_frames[OUTCOME_DROP_SLOW] ==
			      feed_rig_count(&R, OUTCOME_DROP_SLOW) * FEED_RIG_FRAMES);
	assert_int_equal(s.readers, 2);
	assert_int_equal(s.left, 0);
	free(got);
	close(still);
	close(quick);
	close(other);
	feed_rig_finish(&R);
}

static void test_stalled_bytes(void **state)
{
	stalled(2 * MEGA, 100000);
	assert_in_range(feed_rig_count(&R, OUTCOME_DROP_SLOW), 10, 15);
}

static void test_stalled_frames(void **state)
{
	stalled(1000ull * MEGA, 20);
	assert_in_range(feed_rig_count(&R, OUTCOME_DROP_SLOW), 20, 25);
}

/* A block larger than the budget is waited for. */
static void test_large_block(void **state)
{
	int fd;

	feed_rig_start(&R, MEGA, 100);
	fd = feed_rig_connect(&R, 1, 4096);
	feed_rig_offer(&R, 1, 20 * MEGA, 0);
	usleep(150000);
	feed_rig_expect(&R, 1, fd, 0, R.length[1]);
	feed_rig_wait_back(&R, 1);
	assert_int_equal(R.block[0].outcome, OUTCOME_ACKED);
	close(fd);
	feed_rig_finish(&R);
}

static void test_pool_empty(void **state)
{
	struct feed_status s;
	int fd, quick;

	feed_rig_start(&R, 1000 * MEGA, 1000);
	assert_true(feed_oldest_ns(R.feed) == UINT64_MAX);
	feed_pool_empty(R.feed); /* nobody holds anything: nothing happens */
	fd = feed_rig_connect(&R, 1, 4096);
	quick = feed_rig_connect(&R, 1, 0);
	for (unsigned i = 0; i < 10; i++) {
		feed_rig_offer(&R, 1, 3 * MEGA, 0);
	}
	feed_rig_expect(&R, 1, quick, 0, R.length[1]);
	FEED_RIG_WAIT(&R, s, s.group.in_flight > 0 && s.group.oldest_ns > 0);
	assert_true(feed_oldest_ns(R.feed) < 1010);
	feed_pool_empty(R.feed);
	feed_rig_wait_back(&R, 10);
	FEED_RIG_WAIT(&R, s, s.dropped == 1 && s.readers == 1);
	assert_int_equal(s.gone[0].why, OUTCOME_DROP_POOL);
	assert_int_equal(feed_rig_count(&R, OUTCOME_DROP_POOL) * FEED_RIG_FRAMES, s.gone[0].frames);
	close(fd);
	close(quick);
	feed_rig_finish(&R);
}

/* ---- readers that behave badly, or go ---- */

/* One that goes by itself is not slow: others' deliveries count, and without others nobody was there. */
static void test_goes(void **state)
{
	struct feed_status s;
	int fd, quick;

	feed_rig_start(&R, 1000 * MEGA, 1000);
	fd = feed_rig_connect(&R, 1, 4096);
	quick = feed_rig_connect(&R, 2, 0);
	for (unsigned i = 0; i < 5; i++) {
		feed_rig_offer(&R, 1, 3 * MEGA, 0);
	}
	FEED_RIG_WAIT(&R, s, s.group.in_flight == 5);
	close(fd);
	feed_rig_wait_back(&R, 5);
	assert_int_equal(feed_rig_count(&R, OUTCOME_DROP_NO_MEMBER), 5);
	FEED_RIG_WAIT(&R, s, s.left == 1 && s.dropped == 0);
	feed_rig_offer(&R, 2, 1000, 0);
	feed_rig_expect(&R, 2, quick, 0, R.length[2]);
	close(quick);
	feed_rig_finish(&R);
}

static void test_garbage(void **state)
{
	static uint8_t garbage[65536];
	struct feed_status s;
	uint64_t sent = 0;
	int fd, half;

	feed_rig_start(&R, 16 * MEGA, 1000);
	fd = feed_rig_connect(&R, 1, 0);
	half = feed_rig_connect(&R, 1, 0);
	shutdown(half, SHUT_WR); /* as netcat does at the end of its input */
	memset(garbage, 0x5a, sizeof(garbage));
	for (unsigned i = 0; i < 200; i++) {
		ssize_t n = send(fd, garbage, sizeof(garbage), MSG_DONTWAIT);
		unsigned number = feed_rig_offer(&R, 1, 2000, 0);

		sent += n > 0 ? (uint64_t)n : 0;
		feed_rig_expect(&R, 1, fd, R.block[number].begin, R.block[number].end);
		feed_rig_expect(&R, 1, half, R.block[number].begin, R.block[number].end);
	}
	FEED_RIG_WAIT(&R, s, s.heard_bytes >= FEED_HEARD);
	assert_in_range(s.heard_bytes, FEED_HEARD, FEED_HEARD + 4096);
	assert_true(sent > s.heard_bytes);
	assert_int_equal(s.readers, 2);
	close(fd);
	close(half);
	feed_rig_finish(&R);
}

static unsigned descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	unsigned count = 0;

	while (readdir(d)) {
		count++;
	}
	closedir(d);
	return count;
}

static void test_thousand_connects(void **state)
{
	struct feed_status s;
	unsigned before, open = 0, number;
	int fd[20], other;

	feed_rig_start(&R, 16 * MEGA, 1000);
	other = feed_rig_connect(&R, 2, 0);
	before = descriptors();
	for (unsigned i = 0; i < 1000; i++) {
		feed_rig_flash(&R, 1);
		if (i % 100 == 0) {
			number = feed_rig_offer(&R, 2, 1000, 0);
			feed_rig_expect(&R, 2, other, R.block[number].begin, R.block[number].end);
		}
	}
	FEED_RIG_WAIT(&R, s, s.connects + s.refused == 1001);
	/* Those that are gone have not written a word since; the next one finds a place all the same. */
	for (unsigned i = 0; i < 20; i++) {
		fd[i] = feed_rig_connect(&R, 1, 0);
	}
	number = feed_rig_offer(&R, 1, 1000, 0);
	for (unsigned i = 0; i < 20; i++) {
		uint8_t byte;

		if (recv(fd[i], &byte, 1, 0) == 1) {
			assert_int_equal(byte, R.stream[1][R.block[number].begin]);
			open++;
		}
		close(fd[i]);
	}
	assert_int_equal(open, FEED_READERS_LINK);
	FEED_RIG_WAIT(&R, s, s.refused > 0);
	assert_int_equal(s.refused_last.link, 1);
	assert_memory_equal(s.refused_last.address, "127.0.0.1:", 10);
	/* Two writes find out who is gone. */
	for (unsigned i = 0; i < 3; i++) {
		feed_rig_offer(&R, 1, 1000, 0);
		usleep(20000);
	}
	FEED_RIG_WAIT(&R, s, s.readers == 1);
	assert_int_equal(s.dropped, 0);
	assert_int_equal(descriptors(), before);
	close(other);
	feed_rig_finish(&R);
}

/* ---- begin and end ---- */

static void test_refused_starts(void **state)
{
	struct feed_config c = {.address = "nowhere", .links = 1};
	struct feed *f = NULL, *g = NULL;
	struct feed_status s;
	uint16_t port = 7;

	assert_int_equal(feed_start(&c, &f, &port), -EINVAL);
	assert_null(f);
	assert_int_equal(port, 0);
	c.address = "192.0.2.1"; /* nobody's, or not yet */
	assert_int_equal(feed_start(&c, &f, &port), 0);
	feed_get_status(f, &s);
	assert_int_equal(s.closed[0], -EADDRNOTAVAIL);
	feed_destroy(f);
	c.address = "::1";
	assert_int_equal(feed_start(&c, &f, &port), 0);
	feed_get_status(f, &s);
	assert_int_equal(s.closed[0], 0);
	c.links = 3;
	c.port[1] = s.port[0];
	assert_int_equal(feed_start(&c, &g, &port), 0);
	feed_get_status(g, &s);
	assert_int_equal(s.closed[0], 0);
	assert_int_equal(s.closed[1], -EADDRINUSE);
	assert_int_equal(s.port[1], c.port[1]);
	feed_stop(f);
	feed_stop(f);
	feed_destroy(f);
	for (unsigned i = 0; s.closed[1] && i < 1000; i++) {
		usleep(10000);
		feed_get_status(g, &s);
	}
	assert_int_equal(s.closed[1], 0); /* had when the other one has gone */
	assert_int_equal(s.port[1], c.port[1]);
	feed_destroy(g);
	feed_destroy(NULL);
}

/* A reader that has not got all of it: what it has are whole hits. */
static void test_stop(void **state)
{
	uint8_t *got = malloc(15 * MEGA);
	struct feed_status s;
	size_t had;
	int fd;

	assert_non_null(got);
	feed_rig_start(&R, 1000 * MEGA, 1000);
	fd = feed_rig_connect(&R, 1, 4096);
	for (unsigned i = 0; i < 5; i++) {
		feed_rig_offer(&R, 1, 3 * MEGA, 0);
	}
	FEED_RIG_WAIT(&R, s, s.group.in_flight == 5);
	feed_rig_finish(&R);
	assert_int_equal(feed_rig_count(&R, OUTCOME_DROP_SHUTDOWN), 5);
	had = feed_rig_read(fd, got, 15 * MEGA);
	assert_in_range(had, 1, 15 * MEGA - 1);
	assert_int_equal(whole_hits(got, had), had);
	assert_int_equal(recv(fd, got, 1, 0), 0); /* an end, no error */
	free(got);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_line),
		cmocka_unit_test(test_borders),
		cmocka_unit_test(test_content),
		cmocka_unit_test(test_partial_writes),
		cmocka_unit_test(test_in_the_middle),
		cmocka_unit_test(test_no_time),
		cmocka_unit_test(test_stalled_bytes),
		cmocka_unit_test(test_stalled_frames),
		cmocka_unit_test(test_large_block),
		cmocka_unit_test(test_pool_empty),
		cmocka_unit_test(test_goes),
		cmocka_unit_test(test_garbage),
		cmocka_unit_test(test_thousand_connects),
		cmocka_unit_test(test_refused_starts),
		cmocka_unit_test(test_stop),
	};

	return cmocka_run_group_tests_name("TriDAS feed", tests, NULL, NULL);
}
