/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bench-forward: how much the daemon's publisher forwards to a reserved consumer without losing a block.
 *
 * The publisher is the daemon's own thread: queues in and out, groups, credit, ROUTER, acknowledgements,
 * each block back only when the consumer has said so. This program plays capture's part: it takes settled
 * blocks back and offers new ones, `window` of them out at most, as capture does with data that wait for it
 * (daemon/capture/link.c, held_back()).
 *
 * The blocks are real ones, 10 ms of a floor with every slot full, built once by block_build() (building is
 * measured by bench-demux); each is offered again with the header of a later time. Memory of the pool keeps
 * its payload from use to use. The other end is any consumer process, bench-consumer.
 *
 *   --window N      blocks out at most (256)
 *   --seconds S     measured (2), from when a consumer is there and a fifth of it has passed
 *
 * Prints "endpoint URL" for the consumer, then one line of JSON, the messages' sizes among it.
 */
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/publish/publisher.h"
#include "tdm/frame.h"
#include "tests/bench/sea_frames.h"
#include "tests/bench/usage.h"

#define BLOCK_FRAMES  80u
#define SEA_FRAMES    96u    /* a block, and the buffer behind it */
#define RING_FRAMES   16000u /* 2 s; what a group may hold of it and of memory is as by default */
#define SLICE_FRAMES  1600u
#define DMA_EPOCH     1ull
#define SEQUENCE_BITS 40
#define QUEUE_SIZE    4096u /* as fcm-server's */
#define POOL_BYTES    ((size_t)512 << 20)
#define TICK_US	      1000 /* of capture */
#define PATIENCE_NS   10000000000ull
#define GRACE_MS      2000

struct feed {
	struct block *model[FCM_STREAMS]; /* what every block of a stream is made after */
	unsigned window;
	double seconds;
	struct queue blocks, settled;
	struct block_pool *pool;
	struct publisher *publisher;
	uint64_t made, out;    /* blocks */
	uint64_t acked, bytes; /* settled since the last reset */
	uint64_t dropped;      /* settled otherwise, ever */
};

/* The first block of link 0, of each stream. */
static int make_models(struct feed *f)
{
	struct block_frame in[BLOCK_FRAMES];
	struct sea_frames set;
	int r = sea_frames_init(&set, SEA_FRAMES, 0, 1);

	if (r < 0) {
		return r;
	}
	for (unsigned i = 0; i < BLOCK_FRAMES; i++) {
		in[i] = (struct block_frame){.frame = sea_buffer(&set, 0, i / SEA_BUFFER_FRAMES) +
						      (size_t)(i % SEA_BUFFER_FRAMES) *
							      TDM_FRAME_BYTES};
	}
	for (unsigned stream = 0; stream < FCM_STREAMS && r == 0; stream++) {
		const struct block_plan plan = {
			.stream = (enum fcm_stream)stream,
			.tower = 1,
			.floor = 1,
			.dma_epoch = DMA_EPOCH,
			.flags = FCM_BLOCK_EMULATED,
			.first_frame = set.count - SEA_DELAY,
			.frames = BLOCK_FRAMES,
			.block_frames = BLOCK_FRAMES,
			.in = in,
			.after = sea_buffer(&set, 0, BLOCK_FRAMES / SEA_BUFFER_FRAMES),
			.label = set.label,
		};

		f->model[stream] = block_get(f->pool, block_capacity(&plan));
		if (f->model[stream]) {
			block_build(&plan, &f->model[stream]->header, f->model[stream]->payload);
		} else {
			r = -ENOMEM;
		}
	}
	sea_frames_fini(&set);
	return r;
}

/* Memory that had another stream's block, or none, gets its payload; what is back from a use has it. */
static void fill(struct feed *f, struct block *b, const struct block *model)
{
	uint64_t turn = f->made / (SEA_LINKS * FCM_STREAMS);
	unsigned link = (unsigned)(f->made / FCM_STREAMS % SEA_LINKS);
	struct fcm_block_header *h = &b->header;

	if (h->magic != FCM_BLOCK_MAGIC || h->stream != model->header.stream) {
		memcpy(b->payload, model->payload, model->header.payload_bytes);
	}
	*h = model->header;
	h->link = (uint8_t)link;
	h->floor = (uint8_t)(link + 1);
	h->first_frame += turn * BLOCK_FRAMES;
	h->sequence = DMA_EPOCH << SEQUENCE_BITS | h->first_frame / BLOCK_FRAMES;
	h->tai_ns += (int64_t)(turn * BLOCK_FRAMES) * TDM_FRAME_NS;
	h->slice_id += (h->first_frame - model->header.first_frame) / SLICE_FRAMES;
	h->header_crc = tdm_crc32c(h, offsetof(struct fcm_block_header, header_crc));
	b->order = turn * FCM_STREAMS + h->stream;
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
		const struct block *model = f->model[f->made % FCM_STREAMS];
		struct block *b = place ? block_get(f->pool, model->capacity) : NULL;

		if (!b) {
			break;
		}
		fill(f, b, model);
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

static unsigned message_bytes(const struct feed *f, unsigned stream)
{
	return (unsigned)(sizeof(struct fcm_block_header) + f->model[stream]->header.payload_bytes);
}

/* What is out at the end may still be acknowledged. */
static void await_acks(struct feed *f)
{
	uint64_t by_ns = bench_now_ns() + GRACE_MS * 1000000ull;

	while (f->out > 0 && bench_now_ns() < by_ns) {
		take_back(f);
		usleep(1000);
	}
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
	       "\"cpu_s_per_GB\":%.6f,\"sizes\":[%u,%u,%u]",
	       seconds, (unsigned long long)f->acked, (double)f->bytes / seconds, cpu_s,
	       f->bytes ? cpu_s / ((double)f->bytes * 1e-9) : 0, message_bytes(f, 0),
	       message_bytes(f, 1), message_bytes(f, 2));
	return 0;
}

static int start(struct feed *f)
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
	r = f->pool ? make_models(f) : -ENOMEM;
	r = r ? r : queue_init(&f->blocks, sizeof(struct block *), QUEUE_SIZE, 1);
	r = r ? r : queue_init(&f->settled, sizeof(struct block *), QUEUE_SIZE, 0);
	return r ? r : publisher_start(&config, &f->blocks, &f->settled, &f->publisher);
}

static void finish(struct feed *f)
{
	publisher_destroy(f->publisher);
	for (unsigned stream = 0; stream < FCM_STREAMS; stream++) {
		if (f->model[stream]) {
			block_put(f->model[stream]);
		}
	}
	block_pool_destroy(f->pool);
	queue_fini(&f->blocks);
	queue_fini(&f->settled);
}

/* Dropped blocks, and those that have not come back, are those of the whole life: at the end, all must have
 * been acknowledged. */
static int run(struct feed *f)
{
	int r = start(f);

	if (r < 0) {
		fprintf(stderr, "bench-forward: %s\n", strerror(-r));
	} else {
		r = measure(f);
		await_acks(f);
		publisher_stop(f->publisher);
		take_back(f);
	}
	if (r == 0) {
		printf(",\"dropped\":%llu,\"unsettled\":%llu}\n", (unsigned long long)f->dropped,
		       (unsigned long long)f->out);
	}
	finish(f);
	return r != 0;
}

static bool parse_options(int argc, char **argv, struct feed *f)
{
	static const struct option longs[] = {
		{"window", 1, NULL, 'w'}, {"seconds", 1, NULL, 't'}, {NULL}};
	int k;

	while ((k = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		if (k == 'w') {
			f->window = (unsigned)strtoul(optarg, NULL, 10);
		} else if (k == 't') {
			f->seconds = strtod(optarg, NULL);
		} else {
			return false;
		}
	}
	return optind == argc && f->window > 0 && f->window <= QUEUE_SIZE / 2 && f->seconds > 0;
}

int main(int argc, char **argv)
{
	struct feed f = {.window = 256, .seconds = 2};

	if (!parse_options(argc, argv, &f)) {
		fprintf(stderr, "usage: bench-forward [--window N] [--seconds S]\n");
		return 2;
	}
	return run(&f);
}
