/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Puts between two registered buffers, and the two ways of waiting: see loopback.h. */
#include "driver/perf/loopback.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define PATIENCE_NS  2000000000u
#define SPINS_A_LOOK 1024u /* at the mapped queue between two looks at the clock */

const char *perf_mode_name(enum perf_mode mode)
{
	return mode == PERF_POLLING ? "polling" : "interrupt";
}

/* Memory that is there: faults of its first use are not the board's. */
static uint8_t *memory(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

int loopback_create(struct nanet3 *board, size_t bytes, struct loopback *ret_loopback)
{
	struct loopback l = {.board = board,
			     .bytes = (bytes + NANET3_PAGE - 1) & -(size_t)NANET3_PAGE};
	int r;

	l.source = memory(2 * l.bytes);
	if (l.source == NULL) {
		return -ENOMEM;
	}
	l.destination = l.source + l.bytes;
	r = nanet3_register_buffer(board, l.source, bytes, &l.source_id);
	if (r == 0) {
		r = nanet3_register_buffer(board, l.destination, bytes, &l.destination_id);
		if (r < 0) {
			(void)nanet3_unregister_buffer(board, l.source_id);
		}
	}
	if (r < 0) {
		munmap(l.source, 2 * l.bytes);
		return r;
	}
	*ret_loopback = l;
	return 0;
}

void loopback_destroy(struct loopback *l)
{
	/* If the board is gone, it cannot write there any more. */
	(void)nanet3_unregister_buffer(l->board, l->source_id);
	(void)nanet3_unregister_buffer(l->board, l->destination_id);
	munmap(l->source, 2 * l->bytes);
}

int loopback_put(struct loopback *l, uint64_t from, uint64_t to, uint64_t length, uint32_t flags)
{
	struct nanet3_put put = {
		.source = l->source_id,
		.destination = l->destination_id,
		.source_offset = from,
		.destination_offset = to,
		.length = length,
		.cookie = l->cookie + 1,
		.flags = flags,
	};
	int r = nanet3_put(l->board, &put);

	if (r == 0) {
		l->cookie++;
	}
	return r;
}

static int next_polled(struct nanet3 *b, struct nanet3_event *ret_event)
{
	uint64_t until = 0;

	for (unsigned spins = 1; nanet3_next_event(b, ret_event) == 0; spins++) {
		if (spins % SPINS_A_LOOK != 0) {
			continue;
		}
		if (until == 0) {
			until = nanet3_now_ns() + PATIENCE_NS;
		} else if (nanet3_now_ns() > until) {
			return -ETIMEDOUT;
		}
	}
	return 0;
}

static int next_woken(struct nanet3 *b, struct nanet3_event *ret_event)
{
	while (nanet3_next_event(b, ret_event) == 0) {
		int r = nanet3_wait(b, (int)(PATIENCE_NS / 1000000));

		if (r == 0 || (r < 0 && r != -EINTR)) {
			return r == 0 ? -ETIMEDOUT : r;
		}
	}
	return 0;
}

int loopback_arrival(struct loopback *l, enum perf_mode mode, bool fault_expected,
		     uint64_t *ret_cookie)
{
	for (;;) {
		struct nanet3_event ev;
		int r = mode == PERF_POLLING ? next_polled(l->board, &ev)
					     : next_woken(l->board, &ev);

		if (r < 0) {
			return r;
		}
		if (ev.type == NANET3_EVENT_GONE) {
			return -ENODEV;
		}
		if (ev.type != NANET3_EVENT_PUT) { /* TX: it has left; that is not yet there */
			continue;
		}
		*ret_cookie = ev.cookie;
		return ev.reason != 0 && !fault_expected ? -EIO : 0;
	}
}

int loopback_settle(struct loopback *l, enum perf_mode mode, bool fault_expected)
{
	uint64_t cookie = 0;
	int r = 0;

	while (r == 0 && cookie != l->cookie) {
		r = loopback_arrival(l, mode, fault_expected, &cookie);
	}
	return r;
}

int loopback_move(struct loopback *l, enum perf_mode mode, uint64_t from, uint64_t to,
		  uint64_t length)
{
	int r = loopback_put(l, from, to, length, 0);

	return r < 0 ? r : loopback_settle(l, mode, false);
}
