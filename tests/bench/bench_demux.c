/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What demultiplexing costs, against the cheapest thing that could be done with the same frames.
 *
 *   copy:  memcpy() of every frame, 10 000 bytes at a time
 *   demux: tdm_deframe_push() by the buffer and block_build() of all three streams: every check and
 *          checksum that the daemon makes, its one copy, every hit looked at and stamped
 *
 * Both sides read the same frames: the daemon's a block (10 ms, and the buffer that ends it) of each of
 * four links in turn, as it does (daemon/capture/link.c, can_wait()); the copy's a buffer (2 ms) of each. Both
 * write to one block's worth of memory (10 ms of a floor) again and again: consumers acknowledge within
 * milliseconds, so the pool's memory is warm in the daemon too. The copy's memory begins at a page: 16 bytes
 * further on, where malloc() puts it now and then, memcpy is 10 % slower. They are timed in turn in one run; a ratio
 * is copy time / demux time, the median of all rounds is printed. Ratios survive a noisy machine, the
 * absolute figures behind `#` do not. Beside them `least_over_memcpy...`: the same ratio of a loop that
 * does only what nobody can leave out (least.h), as a bound on what this machine allows.
 *
 * `_as_it_comes` reads each buffer when it comes: then the frames of four links' blocks have left the
 * core's own cache when they are copied; the difference is what waiting for a whole block saves.
 *
 * `_rested_over_steady` is the same work as a station asks for it: a block of each link, then asleep until
 * 10 ms have passed; over the same without a rest. What a core costs more that has slept is in every core
 * share, and no program's to save.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "daemon/data/block.h"
#include "tdm/deframe.h"
#include "tdm/le.h"
#include "tests/bench/least.h"
#include "tests/bench/sea_frames.h"

#define BLOCK_FRAMES  80u
#define BLOCK	      (BLOCK_FRAMES / SEA_BUFFER_FRAMES) /* buffers */
#define MEMORY_FRAMES 6720u				 /* a link: 268.8 MB in all */
#define CACHE_FRAMES  240u				 /* a link: 9.6 MB in all */
#define DESIGN_MBPS   350.0
#define CACHE_LAPS    16u /* a lap of the small set is too short to time */
#define ROUNDS_MAX    101u
#define POOL_BYTES    ((size_t)64 << 20)
#define REST_ROUNDS   7u /* at most: a lap is as long as the frames took at sea */
#define BLOCK_NS      (BLOCK_FRAMES * TDM_FRAME_NS)
#define PAGE	      4096u
#define BLOCK_BYTES   ((size_t)BLOCK_FRAMES * TDM_FRAME_BYTES)

/* What the daemon keeps for a link: a block's frames until the block is whole. */
struct lane {
	struct tdm_deframe *deframe;
	struct block_frame in[BLOCK_FRAMES];
	unsigned frames;
	uint64_t first_frame;
};

struct demux {
	const struct sea_frames *set;
	unsigned turn; /* buffers of a link that are read in one go */
	bool rested;   /* the next block of all links when its time has come, not at once */
	struct lane lanes[SEA_LINKS];
	unsigned link; /* being pushed */
	struct block_pool *pool;
	uint64_t blocks, faults, bad;
};

struct figure {
	const char *name, *goal;
	double mbps; /* 0: full */
	unsigned frames, turn;
	bool rested; /* a ratio of demux with rests over demux without */
};

static const struct figure figures[] = {
	{"demux_over_memcpy_memory", "0.75/0.9", DESIGN_MBPS, MEMORY_FRAMES, BLOCK, false},
	{"demux_over_memcpy_cache", "0.50/0.6", DESIGN_MBPS, CACHE_FRAMES, BLOCK, false},
	{"demux_over_memcpy_memory_full", "0.50/0.6", 0, MEMORY_FRAMES, BLOCK, false},
	{"demux_over_memcpy_cache_full", "0.32/0.4", 0, CACHE_FRAMES, BLOCK, false},
	{"demux_over_memcpy_memory_as_it_comes", "-", DESIGN_MBPS, MEMORY_FRAMES, 1, false},
	{"demux_rested_over_steady", "-", 0, MEMORY_FRAMES, BLOCK, true},
};

/* Of this thread alone: who else runs is not to be in it. */
static double cpu_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Asleep until the time of a block has passed since `*at`. */
static void rest(struct timespec *at)
{
	at->tv_nsec += BLOCK_NS;
	at->tv_sec += at->tv_nsec / 1000000000;
	at->tv_nsec %= 1000000000;
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, at, NULL) == EINTR) {
	}
}

/* ---------------------------------------------------------------------------- the demux side */

static void make_block(struct demux *d, const struct lane *lane, enum fcm_stream stream,
		       const uint8_t *after)
{
	const struct block_plan plan = {
		.stream = stream,
		.link = (uint8_t)d->link,
		.tower = 1,
		.floor = (uint8_t)(d->link + 1),
		.flags = FCM_BLOCK_EMULATED,
		.first_frame = lane->first_frame,
		.frames = lane->frames,
		.block_frames = BLOCK_FRAMES,
		.in = lane->in,
		.after = after,
		.label = d->set->label,
	};
	struct block *b = block_get(d->pool, block_capacity(&plan));

	if (!b) {
		d->bad++;
		return;
	}
	block_build(&plan, &b->header, b->payload);
	d->blocks++;
	d->faults += b->header.item_faults;
	d->bad += b->header.flags != FCM_BLOCK_EMULATED;
	block_put(b);
}

static void make_blocks(struct demux *d, struct lane *lane, const uint8_t *after)
{
	for (unsigned stream = 0; stream < FCM_STREAMS; stream++) {
		make_block(d, lane, (enum fcm_stream)stream, after);
	}
	lane->frames = 0;
}

/* The first frame behind a block completes it: the last hits end there. */
static void on_verdict(void *context, const struct tdm_verdict *v)
{
	struct demux *d = context;
	struct lane *lane = &d->lanes[d->link];

	if (lane->frames == BLOCK_FRAMES) {
		make_blocks(d, lane, v->frame);
	}
	if (lane->frames == 0) {
		lane->first_frame = v->floor_frame;
	}
	lane->in[lane->frames++] = (struct block_frame){
		.frame = v->frame,
		.loss = (uint8_t)v->loss,
		.header_flags = v->header.flags,
	};
}

static void push_buffer(struct demux *d, unsigned link, unsigned buffer)
{
	const struct sea_frames *set = d->set;

	d->link = link;
	tdm_deframe_push(d->lanes[link].deframe, sea_buffer(set, link, buffer), SEA_BUFFER_FRAMES,
			 set->count + (uint64_t)buffer * SEA_BUFFER_FRAMES, on_verdict, d);
}

/* Every lap is the same second anew: locked from the first frame on, as in the middle of a run. */
static void begin_lane(struct demux *d, unsigned link)
{
	const struct sea_frames *set = d->set;
	struct tdm_deframe_mark mark = {
		.count = set->count - 1,
		.number = TDM_FRAMES_PER_SECOND - 1,
		.sequence = le32_get(sea_buffer(set, link, 0) + TDM_OFF_SEQUENCE) - 1,
	};

	tdm_deframe_resume(d->lanes[link].deframe, &mark);
}

/* `turn` buffers of each link in turn. */
static void demux_lap(struct demux *d)
{
	unsigned buffers = d->set->frames / SEA_BUFFER_FRAMES;
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	for (unsigned link = 0; link < SEA_LINKS; link++) {
		begin_lane(d, link);
	}
	for (unsigned first = 0, end; first < buffers; first = end) {
		end = first == 0 ? d->turn + 1 : first + d->turn;
		end = end < buffers ? end : buffers;
		for (unsigned link = 0; link < SEA_LINKS; link++) {
			for (unsigned b = first; b < end; b++) {
				push_buffer(d, link, b);
			}
		}
		if (d->rested) {
			rest(&at);
		}
	}
	for (unsigned link = 0; link < SEA_LINKS; link++) {
		d->link = link;
		make_blocks(d, &d->lanes[link], NULL);
	}
}

static void demux_fini(struct demux *d)
{
	block_pool_destroy(d->pool);
	for (unsigned link = 0; link < SEA_LINKS; link++) {
		tdm_deframe_destroy(d->lanes[link].deframe);
	}
}

static int demux_init(struct demux *d, const struct sea_frames *set, unsigned turn)
{
	*d = (struct demux){.set = set, .turn = turn};
	d->pool = block_pool_create(POOL_BYTES);
	if (!d->pool) {
		return -ENOMEM;
	}
	for (unsigned link = 0; link < SEA_LINKS; link++) {
		d->lanes[link].deframe = tdm_deframe_create(2 * BLOCK_FRAMES);
		if (!d->lanes[link].deframe) {
			return -ENOMEM;
		}
	}
	return 0;
}

/* What was timed must have been the real thing: every frame good, every byte of it understood. */
static int demux_sound(const struct demux *d, uint64_t laps)
{
	uint64_t cells = laps * SEA_LINKS * d->set->frames, good = 0;
	uint64_t blocks = cells / BLOCK_FRAMES * FCM_STREAMS;

	for (unsigned link = 0; link < SEA_LINKS; link++) {
		struct tdm_deframe_stats stats;

		tdm_deframe_stats(d->lanes[link].deframe, &stats);
		good += stats.cells[TDM_GOOD];
	}
	/* A lap ends in the middle of the hits that cross into the next frame: a fault a module. */
	if (good == cells && d->faults <= laps * SEA_LINKS * TDM_MODULES && d->bad == 0 &&
	    d->blocks == blocks) {
		return 0;
	}
	fprintf(stderr,
		"bench-demux: %llu of %llu cells good, %llu of %llu blocks, %llu hits dropped, "
		"%llu "
		"blocks with flags: these are not the frames that were meant\n",
		(unsigned long long)good, (unsigned long long)cells, (unsigned long long)d->blocks,
		(unsigned long long)blocks, (unsigned long long)d->faults,
		(unsigned long long)d->bad);
	return -EBADMSG;
}

/* ----------------------------------------------------------------------------- the copy side */

/* A frame to its place in a block of frames. */
static void copy_lap(const struct sea_frames *set, uint8_t *to, bool rested)
{
	struct timespec at;
	unsigned place = 0;

	clock_gettime(CLOCK_MONOTONIC, &at);

	for (unsigned b = 0; b < set->frames / SEA_BUFFER_FRAMES; b++) {
		for (unsigned link = 0; link < SEA_LINKS; link++) {
			const uint8_t *from = sea_buffer(set, link, b);

			for (unsigned f = 0; f < SEA_BUFFER_FRAMES; f++) {
				memcpy(to + (size_t)place * TDM_FRAME_BYTES,
				       from + (size_t)f * TDM_FRAME_BYTES, TDM_FRAME_BYTES);
				place = place + 1 == BLOCK_FRAMES ? 0 : place + 1;
			}
		}
		if (rested && (b + 1) % BLOCK == 0) {
			rest(&at);
		}
	}
}

/* ----------------------------------------------------------------------------------- rounds */

struct race {
	struct demux demux;
	struct least least;
	uint8_t *to;
	double bytes; /* of frames, a lap */
	unsigned laps;
	double copy_s, demux_s, least_s; /* of the last round, a lap */
};

static double time_copy(struct race *r)
{
	double begin = cpu_s();

	for (unsigned i = 0; i < r->laps; i++) {
		copy_lap(r->demux.set, r->to, r->demux.rested);
		__asm__ volatile("" ::"r"(r->to) : "memory"); /* it is wanted */
	}
	return (cpu_s() - begin) / r->laps;
}

static double time_demux(struct race *r)
{
	double begin = cpu_s();

	for (unsigned i = 0; i < r->laps; i++) {
		demux_lap(&r->demux);
	}
	return (cpu_s() - begin) / r->laps;
}

static double time_least(struct race *r)
{
	double begin = cpu_s();

	for (unsigned i = 0; i < r->laps; i++) {
		least_lap(&r->least);
		__asm__ volatile("" ::"r"(r->to) : "memory");
	}
	return (cpu_s() - begin) / r->laps;
}

/* Who goes first changes, so that neither always finds what the other left in the caches. */
static void round_of(struct race *r, unsigned number)
{
	if (number % 2) {
		r->demux_s = time_demux(r);
		r->copy_s = time_copy(r);
	} else {
		r->copy_s = time_copy(r);
		r->demux_s = time_demux(r);
	}
	r->least_s = time_least(r);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *values, unsigned n)
{
	qsort(values, n, sizeof(*values), by_value);
	return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

static int run_race(struct race *r, const struct figure *f, unsigned rounds)
{
	double ratio[ROUNDS_MAX], least[ROUNDS_MAX], copy[ROUNDS_MAX], demux[ROUNDS_MAX], middle;
	int err;

	round_of(r, 0); /* touch all memory */
	for (unsigned i = 0; i < rounds; i++) {
		round_of(r, i);
		ratio[i] = r->copy_s / r->demux_s;
		least[i] = r->copy_s / r->least_s;
		copy[i] = r->bytes / r->copy_s / 1e9;
		demux[i] = r->bytes / r->demux_s / 1e9;
	}
	err = demux_sound(&r->demux, (uint64_t)(rounds + 1) * r->laps);
	if (err == 0 && r->least.bad > 0) {
		err = -EBADMSG;
	}
	if (err < 0) {
		return err;
	}
	middle = median(ratio, rounds); /* sorts */
	printf("bench %s %.3f ratio goal %s\n", f->name, middle, f->goal);
	printf("# %s: demux %.2f GB/s, memcpy %.2f GB/s of frames; %u rounds, ratio %.3f to %.3f; "
	       "a floor %.0f Mbps, a module %.0f kHz\n",
	       f->name, median(demux, rounds), median(copy, rounds), rounds, ratio[0],
	       ratio[rounds - 1], r->demux.set->fill_mbps, r->demux.set->hit_khz);
	printf("bench least_%s %.3f ratio goal -\n", strchr(f->name, '_') + 1,
	       median(least, rounds));
	fflush(stdout);
	return 0;
}

/* A lap's time over the frames in it. */
static double frame_us(const struct race *r, double lap_s)
{
	return lap_s * 1e6 * TDM_FRAME_BYTES / r->bytes;
}

/* Both sides without a rest and with, in turn. */
static int run_rested(struct race *r, const struct figure *f, unsigned rounds)
{
	enum { STEADY, RESTED, WAYS };
	double copy[WAYS][ROUNDS_MAX], demux[WAYS][ROUNDS_MAX], copied[WAYS], done[WAYS];
	unsigned n = rounds < REST_ROUNDS ? rounds : REST_ROUNDS;
	int err;

	round_of(r, 0); /* touch all memory */
	for (unsigned i = 0; i < n; i++) {
		for (unsigned way = STEADY; way < WAYS; way++) {
			r->demux.rested = way == RESTED;
			round_of(r, i);
			copy[way][i] = frame_us(r, r->copy_s);
			demux[way][i] = frame_us(r, r->demux_s);
		}
	}
	err = demux_sound(&r->demux, (uint64_t)WAYS * n + 1);
	if (err < 0) {
		return err;
	}
	for (unsigned way = STEADY; way < WAYS; way++) {
		copied[way] = median(copy[way], n);
		done[way] = median(demux[way], n);
	}
	printf("bench %s %.3f ratio goal %s\n", f->name, done[RESTED] / done[STEADY], f->goal);
	printf("bench memcpy_rested_over_steady %.3f ratio goal -\n",
	       copied[RESTED] / copied[STEADY]);
	printf("# %s: a full frame takes %.2f us rested, %.2f us steady; memcpy of it %.2f and "
	       "%.2f us; "
	       "%u rounds\n",
	       f->name, done[RESTED], done[STEADY], copied[RESTED], copied[STEADY], n);
	fflush(stdout);
	return 0;
}

static int measure(const struct figure *f, unsigned rounds)
{
	struct sea_frames set;
	struct race r = {.laps = f->frames == CACHE_FRAMES ? CACHE_LAPS : 1};
	int err = sea_frames_init(&set, f->frames, f->mbps, 1);

	if (err < 0) {
		return err;
	}
	r.bytes = (double)SEA_LINKS * set.frames * TDM_FRAME_BYTES;
	r.to = aligned_alloc(PAGE, (BLOCK_BYTES + PAGE - 1) / PAGE * PAGE);
	r.least = (struct least){.set = &set, .turn = f->turn, .to = r.to};
	err = r.to ? demux_init(&r.demux, &set, f->turn) : -ENOMEM;
	if (err == 0) {
		err = f->rested ? run_rested(&r, f, rounds) : run_race(&r, f, rounds);
	}
	demux_fini(&r.demux);
	free(r.to);
	sea_frames_fini(&set);
	return err;
}

int main(int argc, char **argv)
{
	unsigned rounds = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 21;

	if (argc > 2 || rounds < 3 || rounds > ROUNDS_MAX) {
		fprintf(stderr, "usage: bench-demux [ROUNDS]    3 to %u, default 21\n", ROUNDS_MAX);
		return 2;
	}
	for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++) {
		const struct figure *f = &figures[i];
		int err = measure(f, rounds);

		if (err < 0) {
			fprintf(stderr, "bench-demux: %s: %s\n", f->name, strerror(-err));
			return 1;
		}
	}
	return 0;
}
