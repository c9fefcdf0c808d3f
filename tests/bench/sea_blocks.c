/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sea-blocks: writes blocks as the daemon makes them of a sea of four floors, without a station: what readers of blocks
 * are tested and measured with.
 *
 *   sea-blocks [--mbps N] [--blocks N] [--lose N] [--seed N] >FILE
 *     --mbps N     fill of a floor (0: every slot full)
 *     --blocks N   of 10 ms, of each floor and stream (10)
 *     --lose N     one frame of N is lost, at random (0: none)
 *     --seed N     of the sea and of the losses (1)
 *
 * FILE: header (256 bytes) and payload of each block, one behind the other: blocks of one time together, by floor, then
 * stream.
 */
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tdm/blocks/block.h"
#include "tdm/deframe.h"
#include "tests/bench/sea_frames.h"

#define BLOCK_FRAMES   80u
#define BLOCKS_MAX     (TDM_FRAMES_PER_SECOND / BLOCK_FRAMES - 1)
#define DMA_EPOCH      3u
#define CABLE_DELAY_NS 490000u

struct options {
	double mbps;
	unsigned blocks, lose;
	uint64_t seed;
};

/* Numbers for losses: a linear congruence (Knuth's MMIX). */
static uint32_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(*state >> 32);
}

static const uint8_t *frame_of(const struct sea_frames *set, unsigned link, unsigned frame)
{
	return sea_buffer(set, link, frame / SEA_BUFFER_FRAMES) +
	       (size_t)(frame % SEA_BUFFER_FRAMES) * TDM_FRAME_BYTES;
}

static bool write_block(const struct block_plan *plan)
{
	struct fcm_block_header header;
	size_t capacity = (block_capacity(plan) + 63) / 64 * 64;
	uint8_t *payload = aligned_alloc(64, capacity);
	bool good = payload;

	if (good) {
		block_build(plan, &header, payload);
		good = fwrite(&header, sizeof(header), 1, stdout) == 1 &&
		       fwrite(payload, header.payload_bytes, 1, stdout) == 1;
	}
	free(payload);
	return good;
}

static bool write_streams(const struct sea_frames *set, const struct options *o, unsigned link,
			  unsigned number, uint64_t *random)
{
	struct block_frame in[BLOCK_FRAMES];
	struct block_plan plan = {
		.link = (uint8_t)link,
		.tower = 1,
		.floor = (uint8_t)(link + 1),
		.dma_epoch = DMA_EPOCH,
		.flags = FCM_BLOCK_EMULATED,
		.first_frame = set->count - SEA_DELAY + (uint64_t)number * BLOCK_FRAMES,
		.frames = BLOCK_FRAMES,
		.block_frames = BLOCK_FRAMES,
		.in = in,
		.after = frame_of(set, link, (number + 1) * BLOCK_FRAMES),
		.label = set->label,
		.cable_delay_ns = CABLE_DELAY_NS,
	};
	bool good = true;

	for (unsigned f = 0; f < BLOCK_FRAMES; f++) {
		bool lost = o->lose > 0 && next_random(random) % o->lose == 0;

		in[f] = (struct block_frame){
			.frame = lost ? NULL : frame_of(set, link, number * BLOCK_FRAMES + f),
			.loss = lost ? TDM_LOSS_CRC : 0,
		};
	}
	for (unsigned stream = 0; stream < FCM_STREAMS && good; stream++) {
		plan.stream = (enum fcm_stream)stream;
		good = write_block(&plan);
	}
	return good;
}

static int run(const struct options *o)
{
	uint64_t random = o->seed;
	struct sea_frames set;
	bool good = true;
	int r = sea_frames_init(&set, (o->blocks + 1) * BLOCK_FRAMES, o->mbps, o->seed);

	if (r < 0) {
		fprintf(stderr, "sea-blocks: %s\n", strerror(-r));
		return 1;
	}
	for (unsigned n = 0; n < o->blocks && good; n++) {
		for (unsigned link = 0; link < SEA_LINKS && good; link++) {
			good = write_streams(&set, o, link, n, &random);
		}
	}
	sea_frames_fini(&set);
	if (!good || fflush(stdout) != 0) {
		perror("sea-blocks");
		return 1;
	}
	return 0;
}

static bool parse_options(int argc, char **argv, struct options *o)
{
	static const struct option longs[] = {{"mbps", 1, NULL, 'm'},
					      {"blocks", 1, NULL, 'b'},
					      {"lose", 1, NULL, 'l'},
					      {"seed", 1, NULL, 's'},
					      {NULL}};
	int k;

	while ((k = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		switch (k) {
		case 'm':
			o->mbps = strtod(optarg, NULL);
			break;
		case 'b':
			o->blocks = (unsigned)strtoul(optarg, NULL, 10);
			break;
		case 'l':
			o->lose = (unsigned)strtoul(optarg, NULL, 10);
			break;
		case 's':
			o->seed = strtoull(optarg, NULL, 10);
			break;
		default:
			return false;
		}
	}
	return optind == argc && o->blocks > 0 && o->blocks <= BLOCKS_MAX;
}

int main(int argc, char **argv)
{
	struct options o = {.blocks = 10, .seed = 1};

	if (!parse_options(argc, argv, &o)) {
		fprintf(stderr,
			"usage: sea-blocks [--mbps N] [--blocks N] [--lose N] [--seed N] >FILE\n");
		return 2;
	}
	return run(&o);
}
