/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A program of somebody else's, who has libfcmdata installed and nothing of this tree: test_outsider.py
 * builds it against an installed library. Receives a block, acknowledges it, prints what it was.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <fcmdata/fcmdata.h>

static int failed(const char *what, int r)
{
	printf("%s: %s\n", what, strerror(-r));
	return 1;
}

int main(int argc, char **argv)
{
	struct fcmdata_config config = {.name = "outsider", .group = "trigger"};
	const struct fcmdata_block *b;
	struct fcmdata_cursor c;
	struct fcmdata_hit hit;
	struct fcmdata *h;
	unsigned hits = 0, bad = 0;
	int r;

	config.endpoint = argc == 2 ? argv[1] : NULL;
	r = fcmdata_open(&config, &h);
	if (r < 0) {
		return failed("fcmdata_open", r);
	}
	do {
		r = fcmdata_receive(h, 20000, &b);
	} while (r == -EINTR);
	if (r != 1) {
		return failed("fcmdata_receive", r == 0 ? -ETIMEDOUT : r);
	}
	for (unsigned m = 0; m < b->header.channels; m++) {
		fcmdata_begin(b, m, &c);
		/* -EBADMSG: no hit there, on with the next frame */
		while ((r = fcmdata_next_hit(&c, &hit)) == 1 || r == -EBADMSG) {
			hits += r == 1;
			bad += r < 0;
		}
	}
	printf("%s of floor %d, %u frames, %u hits, %u bad\n", fcm_stream_name(b->header.stream),
	       b->header.floor, (unsigned)b->header.frames, hits, bad);
	fcmdata_ack(h, &b->key);
	fcmdata_release(h, b);
	fcmdata_close(h);
	return 0;
}
