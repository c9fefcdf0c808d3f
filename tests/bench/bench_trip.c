/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bench-trip: a slow-control word's own way down and its reply's way up, without a daemon: from nanet3_send() to the
 * completion that brings the reply, by the driver's stamp. It reads a register of link 0's floor again and again, each
 * time from anywhere in a buffer.
 *
 *   bench-trip WHERE [COUNT]     claims link 0 and gives it back
 *
 * Prints one line of JSON, times in us.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "driver/lib/libnanet3.h"
#include "tdm/frame.h"
#include "tdm/registers.h"
#include "tdm/word.h"
#include "tests/bench/usage.h"

#define LINK	       0u
#define COUNT_MAX      10000u
#define FIRST_SEQUENCE 0xf0000000u /* of a journal that is never ours: a daemon's begins low */
#define WAIT_MS	       100
#define PATIENCE_NS    10000000000ull
#define PHASE_US       4000u /* two buffers: a trip's length depends on where in one it begins */

struct trip {
	struct nanet3 *board;
	uint64_t position; /* to be read next */
	uint32_t sequence; /* asked with */
	uint64_t came_ns;  /* its reply; 0: not yet */
	struct samples times;
};

static void look_at_frame(struct trip *t, const uint8_t *frame, uint64_t time_ns)
{
	struct tdm_header header;
	const uint8_t *words;
	struct word w;
	int n;

	if (tdm_frame_check(frame, &header) != TDM_OK || !(header.slot_valid & TDM_VALID_REPLIES)) {
		return;
	}
	n = tdm_replies_get(frame, &words);
	for (int i = 0; i < n; i++) {
		if (word_unpack(words + i * (int)TDM_WORD_BYTES, &w) == 0 &&
		    w.op == (WORD_READ | WORD_REPLY) && w.sequence == t->sequence) {
			t->came_ns = time_ns;
		}
	}
}

/* All buffers that are there; they are given back. */
static int look_at_buffers(struct trip *t)
{
	uint64_t write = nanet3_write_position(t->board, LINK);

	for (; t->position < write; t->position++) {
		const struct nanet3_event *e = nanet3_completion(t->board, LINK, t->position);
		const uint8_t *bytes = nanet3_buffer(t->board, LINK, t->position);

		for (uint32_t at = 0; at + TDM_FRAME_BYTES <= e->length; at += TDM_FRAME_BYTES) {
			look_at_frame(t, bytes + at, e->time_ns);
		}
	}
	return nanet3_release(t->board, LINK, t->position);
}

/* A turn of waiting and looking. */
static int turn(struct trip *t)
{
	struct nanet3_event e;
	int r = nanet3_wait(t->board, WAIT_MS);

	while (r > 0 && nanet3_next_event(t->board, &e) > 0) {
	}
	r = r == -EINTR || r > 0 ? 0 : r;
	return r < 0 ? r : look_at_buffers(t);
}

/* 0: the reply has come. */
static int ask(struct trip *t)
{
	struct word w = {.op = WORD_READ, .module = 0, .reg = REG_OM_THRESHOLD};
	struct nanet3_tx tx = {.link = LINK, .kind = NANET3_TX_REQUEST};
	uint64_t begin_ns = bench_now_ns();
	int r;

	w.sequence = ++t->sequence;
	t->came_ns = 0;
	word_pack(&w, tx.bytes);
	r = nanet3_send(t->board, &tx);
	while (r == 0 && t->came_ns == 0) {
		r = bench_now_ns() - begin_ns > PATIENCE_NS ? -ETIMEDOUT : turn(t);
	}
	if (r == 0) {
		samples_add(&t->times, t->came_ns - begin_ns);
	}
	return r;
}

/* Lock takes a moment. */
static int ask_first(struct trip *t)
{
	uint64_t begin_ns = bench_now_ns();
	int r = ask(t);

	while (r == -ENOLINK && bench_now_ns() - begin_ns < PATIENCE_NS) {
		r = turn(t);
		r = r ? r : ask(t);
	}
	t->times.count = 0;
	return r;
}

static int run(struct trip *t, const char *where, unsigned count)
{
	bool taken_over;
	int r = samples_create(&t->times, count);

	r = r ? r : nanet3_open(where, &t->board);
	r = r ? r : nanet3_claim(t->board, LINK, NANET3_CLAIM_FRESH, &taken_over);
	r = r ? r : ask_first(t);
	for (unsigned i = 0; r == 0 && i < count; i++) {
		usleep((useconds_t)random() % PHASE_US);
		r = ask(t);
	}
	if (r == 0) {
		r = nanet3_yield(t->board, LINK);
	}
	nanet3_close(t->board);
	return r;
}

int main(int argc, char **argv)
{
	unsigned count = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 200;
	struct trip t = {.sequence = FIRST_SEQUENCE};
	int r;

	if (argc < 2 || argc > 3 || count < 1 || count > COUNT_MAX) {
		fprintf(stderr, "usage: bench-trip WHERE [COUNT]    1 to %u, default 200\n",
			COUNT_MAX);
		return 2;
	}
	r = run(&t, argv[1], count);
	if (r == 0) {
		printf("{\"trip\":");
		bench_print_latency(&t.times);
		printf("}\n");
	} else {
		fprintf(stderr, "bench-trip: %s: %s\n", argv[1], strerror(-r));
	}
	samples_destroy(&t.times);
	return r != 0;
}
