/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bench-consumer: a reserved consumer on libfcmdata that does nothing but what any consumer must: receive (every
 * block is checked, both CRCs among it), acknowledge, release. So what is measured is the way to it.
 *
 * SIGUSR1 ends a window: one line of JSON about all blocks since the one before, its own CPU time, and how
 * many frames have been missing since it began. It ends on SIGTERM.
 *
 * Latency (with --board): a message carries no time of the host. But the board's driver stamps each
 * completion with CLOCK_MONOTONIC, and anyone may map a ring's completions for reading. A block names its
 * carrying frames; floor frame f arrives in cell f + d of the board's count, d being the link's round trip
 * (a register) rounded up to whole frames. So the time between the completion that brought a block's cell
 * and fcmdata_receive()'s return here is known on one clock, with nothing assumed about the emulator's pace. The
 * completion is still there: its buffer is released only after our acknowledgement.
 *   whole:  from the cell behind the block's last: it has the tails of the last hits and closes the block
 *   last:   from the block's own last cell. Equal, but where the two came in different buffers
 */
#include <errno.h>
#include <getopt.h>
#include <malloc.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/consumer/fcmdata.h"
#include "driver/lib/libnanet3.h"
#include "driver/perf/statistics.h"
#include "tests/bench/usage.h"

#define WAIT_MS	    250
#define SAMPLES_MAX (1u << 20) /* of a window */

struct sight { /* of a link's completions */
	bool known;
	uint32_t delay;	   /* cells between a floor's frame and its arrival */
	uint64_t position; /* of the completion looked at last */
};

struct window {
	uint64_t begin_ns;
	double cpu_s; /* at its begin */
	uint64_t blocks[FCM_STREAMS], bytes[FCM_STREAMS];
	uint64_t frames_lost, unmatched;
	struct samples whole, last;
};

struct consumer {
	struct fcmdata_config config;
	const char *where;
	struct fcmdata *data;
	struct nanet3 *board;
	struct sight sight[NANET3_LINKS];
	struct window window;
};

static volatile sig_atomic_t ended, look;

static void on_signal(int number)
{
	if (number == SIGUSR1) {
		look = 1;
	} else {
		ended = 1;
	}
}

/* ------------------------------------------------------------------------------------ latency */

static int open_board(struct consumer *c)
{
	int r = nanet3_open(c->where, &c->board);

	for (unsigned link = 0; r == 0 && link < NANET3_LINKS; link++) {
		r = nanet3_observe(c->board, link);
	}
	return r;
}

/* The round trip in whole frames, rounded up: the floor answers on the grid it receives. */
static bool learn_delay(struct consumer *c, unsigned link)
{
	struct sight *s = &c->sight[link];
	uint32_t rtt;

	if (nanet3_reg_read(c->board, NANET3_REG_LINK(link, NANET3_LREG_RTT), &rtt, 1) < 0) {
		return false;
	}
	s->delay = (rtt & 0xff) + ((rtt >> 8 & 0x3fff) > 0);
	s->position = nanet3_release_position(c->board, link);
	s->known = true;
	return true;
}

/* When the driver took the completion that covers `cell`, from position *at on; 0: it is not there. */
static uint64_t handed_over_ns(const struct consumer *c, unsigned link, uint64_t cell, uint64_t *at)
{
	uint64_t write = nanet3_write_position(c->board, link);

	for (; *at < write; (*at)++) {
		const struct nanet3_event *e = nanet3_completion(c->board, link, *at);

		if (e->frame_count > cell) {
			return 0;
		}
		if (e->frame_count + e->frames > cell) {
			return e->time_ns;
		}
	}
	return 0;
}

static void note_latency(struct consumer *c, const struct fcm_block_header *h, uint64_t now_ns)
{
	struct sight *s = &c->sight[h->link];
	struct window *w = &c->window;
	uint64_t end, at, last_ns, whole_ns = 0;

	if (!c->board) {
		return;
	}
	if (s->known && s->position > nanet3_write_position(c->board, h->link)) {
		s->known = false; /* DMA has started anew */
	}
	if (!s->known && !learn_delay(c, h->link)) {
		return;
	}
	end = h->first_frame + h->frames + s->delay;
	at = s->position;
	last_ns = handed_over_ns(c, h->link, end - 1, &at);
	if (last_ns > 0) {
		s->position = at; /* the block's other streams ask for it again */
		whole_ns = handed_over_ns(c, h->link, end, &at);
	}
	if (whole_ns == 0 || whole_ns > now_ns) {
		w->unmatched++;
		return;
	}
	samples_add(&w->last, now_ns - last_ns);
	samples_add(&w->whole, now_ns - whole_ns);
}

/* ------------------------------------------------------------------------------------- blocks */

static void on_block(struct consumer *c, const struct fcmdata_block *b)
{
	const struct fcm_block_header *h = &b->header;
	struct window *w = &c->window;

	note_latency(c, h, bench_now_ns());
	w->blocks[h->stream]++;
	w->bytes[h->stream] += sizeof(*h) + h->payload_bytes;
	w->frames_lost += h->frames_lost + h->frames_bad;
	(void)fcmdata_ack(c->data, &b->key);
	fcmdata_release(c->data, b);
}

/* ------------------------------------------------------------------------------------- windows */

static void window_begin(struct window *w)
{
	struct samples whole = w->whole, last = w->last;

	whole.count = last.count = 0;
	*w = (struct window){
		.begin_ns = bench_now_ns(), .cpu_s = bench_cpu_s(), .whole = whole, .last = last};
}

static void window_print(struct consumer *c)
{
	struct window *w = &c->window;
	double seconds = (double)(bench_now_ns() - w->begin_ns) * 1e-9;
	struct fcmdata_stats stats;

	printf("{\"seconds\":%.6f,\"cpu_s\":%.6f,\"blocks\":[", seconds, bench_cpu_s() - w->cpu_s);
	for (unsigned s = 0; s < FCM_STREAMS; s++) {
		printf("%s%llu", s ? "," : "", (unsigned long long)w->blocks[s]);
	}
	printf("],\"bytes\":[");
	for (unsigned s = 0; s < FCM_STREAMS; s++) {
		printf("%s%llu", s ? "," : "", (unsigned long long)w->bytes[s]);
	}
	fcmdata_get_stats(c->data, &stats);
	printf("],\"missing\":%llu,\"frames_lost\":%llu,\"unmatched\":%llu",
	       (unsigned long long)stats.gap_lost, (unsigned long long)w->frames_lost,
	       (unsigned long long)w->unmatched);
	printf(",\"whole\":");
	bench_print_latency(&w->whole);
	printf(",\"last\":");
	bench_print_latency(&w->last);
	printf("}\n");
	fflush(stdout);
}

/* 0: told to end. */
static int loop(struct consumer *c)
{
	while (!ended) {
		const struct fcmdata_block *b;
		int r = fcmdata_receive(c->data, WAIT_MS, &b);

		if (r == 1) {
			on_block(c, b);
		} else if (r == -ECONNREFUSED) {
			fprintf(stderr, "bench-consumer: %s\n", fcmdata_refusal(c->data));
			return r;
		}
		if (look) {
			look = 0;
			window_print(c);
			window_begin(&c->window);
		}
	}
	return 0;
}

/* ---------------------------------------------------------------------------------------- life */

static int start(struct consumer *c)
{
	int r = samples_create(&c->window.whole, SAMPLES_MAX);

	r = r ? r : samples_create(&c->window.last, SAMPLES_MAX);
	if (r < 0) {
		fprintf(stderr, "bench-consumer: %s\n", strerror(-r));
		return r;
	}
	r = c->where ? open_board(c) : 0;
	if (r < 0) {
		fprintf(stderr, "bench-consumer: %s: %s\n", c->where, strerror(-r));
		return r;
	}
	r = fcmdata_open(&c->config, &c->data);
	if (r < 0) {
		fprintf(stderr, "bench-consumer: %s: %s\n", c->config.endpoint, strerror(-r));
		return r;
	}
	window_begin(&c->window);
	return 0;
}

static void stop(struct consumer *c)
{
	fcmdata_close(c->data);
	nanet3_close(c->board);
	samples_destroy(&c->window.whole);
	samples_destroy(&c->window.last);
}

static bool parse_options(int argc, char **argv, struct consumer *c)
{
	static const struct option longs[] = {
		{"endpoint", 1, NULL, 'e'}, {"name", 1, NULL, 'n'},  {"group", 1, NULL, 'g'},
		{"credit", 1, NULL, 'c'},   {"board", 1, NULL, 'b'}, {NULL},
	};
	int k;

	while ((k = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		switch (k) {
		case 'e':
			c->config.endpoint = optarg;
			break;
		case 'n':
			c->config.name = optarg;
			break;
		case 'g':
			c->config.group = optarg;
			break;
		case 'c':
			c->config.credit = (unsigned)strtoul(optarg, NULL, 10);
			break;
		case 'b':
			c->where = optarg;
			break;
		default:
			return false;
		}
	}
	return optind == argc && c->config.endpoint;
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = on_signal};
	struct consumer c = {.config = {.name = "bench-1", .group = "bench", .sole = true}};
	int r;

	if (!parse_options(argc, argv, &c)) {
		fprintf(stderr,
			"usage: bench-consumer --endpoint URL [--name NAME] [--group GROUP] "
			"[--credit 1..1024] [--board unix:PATH]\n");
		return 2;
	}
	/* No SA_RESTART: a signal ends the wait for a message. */
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGUSR1, &action, NULL);
	/* fcmdata(3), Memory */
	mallopt(M_MMAP_THRESHOLD, 32 << 20);
	mallopt(M_TRIM_THRESHOLD, 256 << 20);
	r = start(&c);
	r = r ? r : loop(&c);
	stop(&c);
	return r < 0;
}
