/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A program of somebody else's, who has libnanet3 installed and nothing of this tree: test_outsider.py
 * builds it against an installed library and runs it on the emulator. Reads a link, waiting and polling,
 * and lets the board copy a buffer. Prints what it did; exit 1 and what failed.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <nanet3/libnanet3.h>

#define BUFFERS 20u

static int failed(const char *what, int r)
{
	printf("%s: %s\n", what, strerror(r < 0 ? -r : EPROTO));
	return 1;
}

/* Frames of the next BUFFERS buffers of link 0, which must follow each other. */
static int read_link(struct nanet3 *b, uint64_t *ret_frames)
{
	uint64_t next = nanet3_release_position(b, 0), end = next + BUFFERS, frame = 0, frames = 0;

	while (next < end) {
		struct nanet3_event ev;
		int r = nanet3_wait(b, 2000);

		if (r <= 0) {
			return failed("nanet3_wait", r == 0 ? -ETIMEDOUT : r);
		}
		while (nanet3_next_event(b, &ev) == 1) {
			/* positions tell */
		}
		for (; next < end && next < nanet3_write_position(b, 0); next++) {
			const struct nanet3_event *c = nanet3_completion(b, 0, next);

			if (nanet3_buffer(b, 0, next) == NULL ||
			    (frame != 0 && c->frame_count != frame && c->frame_count % 8000 != 0)) {
				return failed("completion", -EPROTO);
			}
			frame = c->frame_count + c->frames;
			frames += c->frames;
		}
		r = nanet3_release(b, 0, next);
		if (r < 0) {
			return failed("nanet3_release", r);
		}
	}
	*ret_frames = frames;
	return 0;
}

static int copy(struct nanet3 *b)
{
	static char from[10000], to[10000];
	struct nanet3_put put = {.source_offset = 1,
				 .destination_offset = 2,
				 .length = sizeof(from) - 2,
				 .cookie = 42};
	struct nanet3_event ev;
	int r;

	memset(from, 'n', sizeof(from));
	r = nanet3_register_buffer(b, from, sizeof(from), &put.source);
	r = r < 0 ? r : nanet3_register_buffer(b, to, sizeof(to), &put.destination);
	r = r < 0 ? r : nanet3_put(b, &put);
	if (r < 0) {
		return failed("put", r);
	}
	do {
		r = nanet3_wait(b, 2000);
		if (r <= 0) {
			return failed("waiting for a put", r == 0 ? -ETIMEDOUT : r);
		}
	} while (nanet3_next_event(b, &ev) != 1 || ev.type != NANET3_EVENT_PUT);
	if (ev.cookie != 42 || ev.reason != 0 || memcmp(from + 1, to + 2, put.length) != 0) {
		return failed("what was put", -EPROTO);
	}
	r = nanet3_unregister_buffer(b, put.source);
	r = r < 0 ? r : nanet3_unregister_buffer(b, put.destination);
	return r < 0 ? failed("nanet3_unregister_buffer", r) : 0;
}

static int run(struct nanet3 *b)
{
	uint64_t waiting, polling;
	int r = nanet3_claim(b, 0, NANET3_CLAIM_FRESH, NULL);

	if (r < 0) {
		return failed("nanet3_claim", r);
	}
	if (read_link(b, &waiting) != 0) {
		return 1;
	}
	r = nanet3_polling(b, true);
	if (r < 0) {
		return failed("nanet3_polling", r);
	}
	if (read_link(b, &polling) != 0 || copy(b) != 0) {
		return 1;
	}
	r = nanet3_yield(b, 0);
	if (r < 0) {
		return failed("nanet3_yield", r);
	}
	printf("%s: %s frames waiting, %s polling, a buffer copied\n", nanet3_info(b)->name,
	       waiting > 0 ? "some" : "no", polling > 0 ? "some" : "no");
	return 0;
}

int main(int argc, char **argv)
{
	struct nanet3 *b;
	int r = argc == 2 ? nanet3_open(argv[1], &b) : -EINVAL;

	if (r < 0) {
		return failed("nanet3_open", r);
	}
	r = run(b);
	nanet3_close(b);
	return r;
}
