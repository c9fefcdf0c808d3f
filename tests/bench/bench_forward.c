/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bench-forward: how much the daemon's publisher forwards to a reserved consumer without losing a block.
 *
 * The publisher is the daemon's own thread: queues in and out, groups, credit, ROUTER, acknowledgements,
 * each block back only when the consumer has said so. This program plays capture's part: it takes settled
 * blocks back and offers new ones, `window` of them out at most, as capture does with data that wait for it
 * (daemon/capture_link.c, held_back()), each with the header that capture would give it. Payloads are made
 * once: making them is measured by bench-demux. The other end is any consumer process, bench-consumer.
 *
 *   --sizes A,B,C   payload bytes of a block of each stream
 *   --window N      blocks out at most (256)
 *   --seconds S     measured (2), from when a consumer is there and a fifth of it has passed
 *
 * Prints "endpoint URL" for the consumer, then one line of JSON.
 */
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/publisher.h"
#include "tdm/frame.h"
#include "tests/bench/usage.h"

#define LINKS	     4u
#define BLOCK_FRAMES 80u
#define RING_FRAMES  16000u /* 2 s; what a group may hold of it and of memory is as by default */
#define SLICE_FRAMES 1600u
#define QUEUE_SIZE   4096u /* as fcm-server's */
#define POOL_BYTES   ((size_t)512 << 20)
#define TICK_US	     1000 /* of capture */
#define PATIENCE_NS  10000000000ull
#define GRACE_MS     2000

struct feed {
	uint32_t size[FCM_STREAMS];
	unsigned window;
	double seconds;
	struct queue blocks, settled;
	struct block_pool *pool;
	struct publisher *publisher;
	uint64_t made, out;		/* blocks */
	uint64_t acked, bytes, dropped; /* settled since the last reset */
};

static void fill_header(struct block *b, const struct feed *f)
{
	uint64_t turn = f->made / (LINKS * FCM_STREAMS);
	unsigned link = (unsigned)(f->made / FCM_STREAMS % LINKS);
	unsigned stream = (unsigned)(f->made % FCM_STREAMS);

	b->header = (struct fcm_block_header){
		.magic = FCM_BLOCK_MAGIC,
		.version = FCM_BLOCK_VERSION,
		.header_bytes = sizeof(b->header),
		.stream = (uint8_t)stream,
		.link = (uint8_t)link,
		.tower = 1,
		.floor = (uint8_t)(link + 1),
		.frames = BLOCK_FRAMES,
		.first_frame = turn * BLOCK_FRAMES,
		.sequence = 1ull << 40 | turn,
		.dma_epoch = 1,
		.slice_id = turn * BLOCK_FRAMES / SLICE_FRAMES,
		.payload_bytes = f->size[stream],
	};
	b->header.header_crc =
		tdm_crc32c(&b->header, offsetof(struct fcm_block_header, header_crc));
	b->order = turn * FCM_STREAMS + stream;
	b->monotonic_ns = bench_now_ns();
	b->publisher = NULL;
	memset(b->already, 0, sizeof(b->already));
	memset(b->outcome, OUTCOME_NOT_OFFERED, sizeof(b->outcome));
}

static void take_back(struct feed *f)
{
	struct block **place;

	while ((place = queue_peek(&f->settled))) {
		struct block *b = *place;

		queue_release(&f->settled);
		f->out--;
		if (b->outcome[0] == OUTCOME_ACKED) {
			f->acked++;
			f->bytes += sizeof(b->header) + b->header.payload_bytes;
		} else {
			f->dropped++;
		}
		block_put(b);
	}
}

static void offer(struct feed *f)
{
	bool any = false;

	while (f->out < f->window) {
		struct block **place = queue_reserve(&f->blocks);
		struct block *b = place ? block_get(f->pool, f->size[f->made % FCM_STREAMS]) : NULL;

		if (!b) {
			break;
		}
		fill_header(b, f);
		*place = b;
		queue_commit(&f->blocks);
		f->made++;
		f->out++;
		any = true;
	}
	if (any) {
		queue_wake(&f->blocks);
	}
}

static void feed_for(struct feed *f, double seconds)
{
	uint64_t end = bench_now_ns() + (uint64_t)(seconds * 1e9);

	while (bench_now_ns() < end) {
		take_back(f);
		offer(f);
		usleep(TICK_US);
	}
}

static bool await_member(struct feed *f)
{
	uint64_t end = bench_now_ns() + PATIENCE_NS;
	struct publisher_status status;

	do {
		usleep(10000);
		publisher_get_status(f->publisher, &status);
	} while (status.members == 0 && bench_now_ns() < end);
	return status.members > 0;
}

static int measure(struct feed *f)
{
	uint64_t begin_ns;
	double cpu_s, seconds;

	printf("endpoint %s\n", publisher_reserved_endpoint(f->publisher));
	fflush(stdout);
	if (!await_member(f)) {
		fprintf(stderr, "bench-forward: no consumer came\n");
		return 1;
	}
	feed_for(f, f->seconds / 5);
	f->acked = f->bytes = 0;
	begin_ns = bench_now_ns();
	cpu_s = bench_cpu_s();
	feed_for(f, f->seconds);
	seconds = (double)(bench_now_ns() - begin_ns) * 1e-9;
	cpu_s = bench_cpu_s() - cpu_s;
	printf("{\"seconds\":%.6f,\"blocks\":%llu,\"bytes_per_s\":%.0f,\"cpu_s\":%.6f,"
	       "\"cpu_s_per_GB\":%.6f",
	       seconds, (unsigned long long)f->acked, (double)f->bytes / seconds, cpu_s,
	       f->bytes ? cpu_s / ((double)f->bytes * 1e-9) : 0);
	return 0;
}

/* Dropped blocks are those of the whole life: at the end, all must have been acknowledged. */
static int run(struct feed *f)
{
	const struct publisher_config config = {
		.reserved_endpoint = "tcp://127.0.0.1:*",
		.groups = 1,
		.group = {{.name = "bench",
			   .streams = (1u << FCM_STREAMS) - 1,
			   .hold_frames = RING_FRAMES / 2,
			   .limit_frames = RING_FRAMES / 4 * 3,
			   .budget_bytes = POOL_BYTES / 4 * 3}},
		.dead_ms = 3000,
	};
	int r;

	f->pool = block_pool_create(POOL_BYTES);
	r = f->pool ? 0 : -ENOMEM;
	r = r ? r : queue_init(&f->blocks, sizeof(struct block *), QUEUE_SIZE, 1);
	r = r ? r : queue_init(&f->settled, sizeof(struct block *), QUEUE_SIZE, 0);
	r = r ? r : publisher_start(&config, &f->blocks, &f->settled, &f->publisher);
	if (r < 0) {
		fprintf(stderr, "bench-forward: %s\n", strerror(-r));
		return 1;
	}
	r = measure(f);
	publisher_stop(f->publisher, GRACE_MS);
	take_back(f);
	if (r == 0) {
		printf(",\"dropped\":%llu}\n", (unsigned long long)f->dropped);
	}
	publisher_destroy(f->publisher);
	block_pool_destroy(f->pool);
	queue_fini(&f->blocks);
	queue_fini(&f->settled);
	return r;
}

static bool parse_options(int argc, char **argv, struct feed *f)
{
	static const struct option longs[] = {{"sizes", 1, NULL, 's'},
					      {"window", 1, NULL, 'w'},
					      {"seconds", 1, NULL, 't'},
					      {NULL}};
	int k;

	while ((k = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		if (k == 's' && sscanf(optarg, "%u,%u,%u", &f->size[0], &f->size[1], &f->size[2]) !=
					FCM_STREAMS) {
			return false;
		} else if (k == 'w') {
			f->window = (unsigned)strtoul(optarg, NULL, 10);
		} else if (k == 't') {
			f->seconds = strtod(optarg, NULL);
		} else if (k != 's') {
			return false;
		}
	}
	return optind == argc && f->size[0] > 0 && f->size[1] > 0 && f->size[2] > 0 &&
	       f->window > 0 && f->window <= QUEUE_SIZE / 2 && f->seconds > 0;
}

int main(int argc, char **argv)
{
	struct feed f = {.window = 256, .seconds = 2};

	if (!parse_options(argc, argv, &f)) {
		fprintf(stderr,
			"usage: bench-forward --sizes PMT,HYDROPHONE,INSTRUMENT [--window N] "
			"[--seconds S]\n");
		return 2;
	}
	return run(&f);
}
