/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * feed-compare: what a reader of the TriDAS feed got, against what the emulator really sent. The stream
 * says of no hit in which frame it travelled, so the place where it begins is found in the truth: at the
 * border of a block, where the hashes of all modules fit. From there on each frame's hits are taken off
 * the stream, module by module, and their hash must be the truth's.
 *
 * Exit: 0 all frames up to the end of the stream are equal; 1 not so; 2 usage or a file that cannot be read.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "tdm/deframe.h"
#include "tdm/hit.h"
#include "tests/system/truth_read.h"
#include "tests/system/stamped_hit.h"

#define MODULES 6u

static const char usage[] =
	"usage: feed-compare TRUTH LINK BLOCK_FRAMES STREAM\n"
	"  TRUTH   of nanet3-emu --truth\n"
	"  STREAM  what was read from the link's port\n"
	"prints JSON: frames [first, end) of whole blocks that are equal, how many "
	"frames are,\n"
	"hits and bytes of the stream, cut_bytes of a hit cut off at its end\n";

struct module {
	uint8_t **hit;
	size_t count, room, at;
};

struct compare {
	const struct truth_record **frame; /* by floor frame - base */
	uint64_t base, span;
	struct module module[MODULES];
	size_t hits, cut;
	bool illegal;
};

static void *must(void *p)
{
	if (!p) {
		fputs("feed-compare: out of memory\n", stderr);
		exit(2);
	}
	return p;
}

static uint8_t *read_file(const char *path, size_t *ret_bytes)
{
	FILE *f = fopen(path, "rb");
	uint8_t *bytes = NULL;
	size_t room = 1 << 20, n;

	if (!f) {
		fprintf(stderr, "feed-compare: %s cannot be read\n", path);
		exit(2);
	}
	*ret_bytes = 0;
	do {
		room *= 2;
		bytes = must(realloc(bytes, room));
		n = fread(bytes + *ret_bytes, 1, room - *ret_bytes, f);
		*ret_bytes += n;
	} while (*ret_bytes == room);
	fclose(f);
	return bytes;
}

static void index_truth(struct compare *c, const uint8_t *bytes, size_t length, unsigned link)
{
	struct truth truth;
	uint64_t high = 0;
	int r = truth_read(bytes, length, &truth);

	if (r < 0) {
		fprintf(stderr, "feed-compare: %s\n", truth_error(r));
		exit(2);
	}
	c->base = UINT64_MAX;
	for (size_t i = 0; i < truth.records; i++) {
		const struct truth_record *t = truth_at(&truth, i);

		if (t->link == link && t->fate == TDM_GOOD) {
			c->base = t->floor_frame < c->base ? t->floor_frame : c->base;
			high = t->floor_frame > high ? t->floor_frame : high;
		}
	}
	c->span = c->base <= high ? high - c->base + 1 : 0;
	c->frame = must(calloc(c->span + 1, sizeof(*c->frame)));
	for (size_t i = 0; i < truth.records; i++) {
		const struct truth_record *t = truth_at(&truth, i);

		if (t->link == link && t->fate == TDM_GOOD) {
			c->frame[t->floor_frame - c->base] = t;
		}
	}
}

/* Hits by module, in the form that is hashed. */
static void split(struct compare *c, uint8_t *bytes, size_t length)
{
	size_t at = 0, hit = 0;

	for (; length - at >= HIT_HEADER_BYTES; at += hit) {
		struct module *m;

		if (!hit_legal_stamped(bytes + at)) {
			c->illegal = true;
			return;
		}
		hit = hit_bytes(bytes + at);
		if (hit > length - at) {
			break;
		}
		hit_unstamp(bytes + at);
		m = &c->module[(bytes[at] & 0xfu) % MODULES];
		if (m->count == m->room) {
			m->room = m->room ? 2 * m->room : 4096;
			m->hit = must(realloc(m->hit, m->room * sizeof(*m->hit)));
		}
		m->hit[m->count++] = bytes + at;
		c->hits++;
	}
	c->cut = length - at;
}

enum fit { FITS, DIFFERS, ENDS };

static enum fit module_fits(const struct module *m, unsigned hits, uint64_t hash)
{
	static uint8_t scratch[1 << 20];
	size_t used = 0;

	if (m->count - m->at < hits) {
		return ENDS;
	}
	for (unsigned i = 0; i < hits; i++) {
		size_t bytes = hit_bytes(m->hit[m->at + i]);

		memcpy(scratch + used, m->hit[m->at + i], bytes);
		used += bytes;
	}
	return hits == 0 || XXH3_64bits(scratch, used) == hash ? FITS : DIFFERS;
}

static enum fit frame_fits(struct compare *c, uint64_t frame)
{
	const struct truth_record *t = frame - c->base < c->span ? c->frame[frame - c->base] : NULL;
	enum fit fit = t ? FITS : ENDS;

	for (unsigned m = 0; m < MODULES && fit == FITS; m++) {
		fit = module_fits(&c->module[m], t->hits[m], t->hit_hash[m]);
	}
	for (unsigned m = 0; m < MODULES && fit == FITS; m++) {
		c->module[m].at += t->hits[m];
	}
	return fit;
}

/* Whether the stream begins with this block, or, where `part` is allowed, ends inside of it. */
static bool begins_with(struct compare *c, uint64_t first, unsigned block, bool part)
{
	enum fit fit = FITS;
	unsigned fitting = 0;
	size_t hits = 0;

	while (fitting < block && (fit = frame_fits(c, first + fitting)) == FITS) {
		fitting++;
	}
	for (unsigned m = 0; m < MODULES; m++) {
		hits += c->module[m].at;
		c->module[m].at = 0;
	}
	return fitting == block || (part && fit == ENDS && hits > 0);
}

/* The first block whose frames all fit, or else the first that is cut off; UINT64_MAX: none. */
static uint64_t find_begin(struct compare *c, unsigned block)
{
	for (int part = 0; part < 2; part++) {
		uint64_t first = (c->base + block - 1) / block * block;

		for (; first + block <= c->base + c->span; first += block) {
			if (begins_with(c, first, block, part)) {
				return first;
			}
		}
	}
	return UINT64_MAX;
}

int main(int argc, char **argv)
{
	static struct compare c;
	size_t truth_bytes, stream_bytes;
	uint64_t first, end;
	uint8_t *truth, *stream;
	enum fit fit = FITS;
	unsigned block;

	if (argc != 5 || (block = (unsigned)atoi(argv[3])) == 0) {
		fputs(usage, stderr);
		return 2;
	}
	truth = read_file(argv[1], &truth_bytes);
	stream = read_file(argv[4], &stream_bytes);
	index_truth(&c, truth, truth_bytes, (unsigned)atoi(argv[2]));
	split(&c, stream, stream_bytes);
	first = find_begin(&c, block);
	for (end = first; first != UINT64_MAX && fit == FITS; end += fit == FITS) {
		fit = frame_fits(&c, end);
	}
	printf("{\"first\": %" PRIu64 ", \"end\": %" PRIu64 ", \"frames\": %" PRIu64
	       ", \"hits\": %zu, \"bytes\": %zu, \"cut_bytes\": %zu, \"illegal\": %s, "
	       "\"differs\": %s}\n",
	       first, end / block * block, end - first, c.hits, stream_bytes, c.cut,
	       c.illegal ? "true" : "false", fit == DIFFERS ? "true" : "false");
	return first == UINT64_MAX || c.illegal || fit == DIFFERS;
}
