// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An hour of four floors through the converter's HDF5 output, as fast as it goes: what the converter would make of a
 * recording of a terabyte, without one. Blocks are made here: few hits, the full rate of blocks, samples, telemetry and
 * commits, frames that are missing in every slice. Prints the peak of the memory after each tenth, in kB.
 *
 *   convert-hour OUTPUT.h5 [SLICES]
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/convert/hdf5/hdf5.h"
#include "daemon/convert/missing.h"
#include "daemon/convert/slice.h"
#include "daemon/convert/spread.h"
#include "tdm/hit.h"
#include "tdm/le.h"

#define HOUR	18000u /* slices */
#define FRAMES	80u
#define BLOCKS	20u /* a slice, link and stream */
#define HITS	8u  /* a module and block */
#define SAMPLES 20u
#define FIRST	(1600ull * 1000000)
#define TAI	1795194047000000000ll

static uint8_t payloads[FCM_STREAMS][1 << 20];
static struct fcm_block_header headers[FCM_STREAMS];
static struct missing missing;
static struct spread_state state;
static struct totals totals;
static struct journal *journal;

static void die(const char *what, int err)
{
	fprintf(stderr, "convert-hour: %s: %s\n", what, strerror(-err));
	exit(1);
}

static uint32_t put_hit(uint8_t *at, unsigned module, unsigned i)
{
	const struct hit hit = {.pmt = (uint8_t)module,
				.t5ns = (uint16_t)(1000 * i),
				.samples = SAMPLES,
				.charge = 100 * i,
				.zip = true};

	hit_pack(&hit, at);
	for (unsigned k = 0; k < SAMPLES; k++) {
		at[HIT_HEADER_BYTES + k] = (uint8_t)rand();
	}
	return HIT_HEADER_BYTES + SAMPLES;
}

/* What a channel has of frame `f`, at `at`: how many bytes. */
static uint32_t put_frame(unsigned stream, unsigned channel, unsigned f, uint8_t *at)
{
	uint32_t n = 0;

	if (stream == FCM_PMT) {
		for (unsigned i = 0; f == 0 && i < HITS; i++) {
			n += put_hit(at + n, channel, i);
		}
		return n;
	}
	return stream == FCM_HYDROPHONE ? 4 * FCMDATA_SAMPLES
	       : channel == 0		? FCMDATA_TELEMETRY
					: 0;
}

static void make(unsigned stream)
{
	struct fcm_block_header *h = &headers[stream];
	uint8_t *p = payloads[stream];
	uint32_t at;

	*h = (struct fcm_block_header){
		.stream = (uint8_t)stream,
		.channels = (uint8_t)fcm_stream_channels(stream),
		.tower = 1,
		.run = 1,
		.dma_epoch = 1,
		.time_epoch = 1,
		.frames = FRAMES,
		.items = stream == FCM_PMT ? 6 * HITS : 0,
		.index_offset = FRAMES,
	};
	at = h->index_offset + 4 * h->channels * (FRAMES + 1);
	for (unsigned c = 0; c < h->channels; c++) {
		for (unsigned f = 0; f <= FRAMES; f++) {
			le32_put(p + h->index_offset + 4 * (c * (FRAMES + 1) + f), at);
			at += f < FRAMES ? put_frame(stream, c, f, p + at) : 0;
		}
	}
	p[7] = OUT_CRC;
	h->payload_bytes = at;
}

static int on_missing(void *sink, const struct out_missing *row)
{
	struct sink *s = sink;

	return s->ops->table(s, TABLE_MISSING, row, 1);
}

static void put_block(struct slice *slice, struct sink *sink, uint64_t frame, unsigned link,
		      unsigned stream)
{
	struct fcmdata_block b = {.header = headers[stream], .payload = payloads[stream]};
	int err;

	b.header.link = (uint8_t)link;
	b.header.floor = (uint8_t)(link + 1);
	b.header.first_frame = frame;
	b.header.tai_ns = TAI + (int64_t)(frame - FIRST) * 125000;
	err = slice_add(slice, &b);
	if (err == 0) {
		err = missing_block(&missing, &b, on_missing, sink);
	}
	if (err < 0) {
		die("a block", err);
	}
}

static void commit(struct sink *sink)
{
	struct journal_part parts[] = {{&missing, sizeof(missing)}, {&state, sizeof(state)}};
	int err = sink->ops->commit(sink, &totals, false);

	if (err == 0) {
		err = journal_commit(journal, parts, 2, sink->mark, false);
	}
	if (err < 0) {
		die("commit", err);
	}
}

static unsigned peak_kb(void)
{
	FILE *f = fopen("/proc/self/status", "re");
	char line[128];
	unsigned kb = 0;

	while (f && fgets(line, sizeof(line), f)) {
		sscanf(line, "VmHWM: %u", &kb);
	}
	if (f) {
		fclose(f);
	}
	return kb;
}

static void run(struct sink *sink, unsigned slices)
{
	struct spread *spread;
	struct slice slice;

	if (slice_init(&slice) < 0 || spread_create(&state, sink, &spread) < 0) {
		die("begin", -12);
	}
	for (unsigned i = 0; i < slices; i++) {
		for (unsigned k = 0; k < BLOCKS * FCM_LINKS * FCM_STREAMS; k++) {
			put_block(&slice, sink,
				  FIRST + 1600ull * i + k / (FCM_LINKS * FCM_STREAMS) * FRAMES,
				  k / FCM_STREAMS % FCM_LINKS, k % FCM_STREAMS);
		}
		slice_order(&slice);
		if (spread_slice(spread, &slice) < 0) {
			die(sink->why, 0);
		}
		slice_empty(&slice);
		if (i % 50 == 0) { /* as often as every ten seconds of conversion at real time */
			commit(sink);
		}
		if ((i + 1) % (slices / 10) == 0) {
			printf("%u\n", peak_kb());
			fflush(stdout);
		}
	}
	spread_destroy(spread);
	slice_fini(&slice);
}

int main(int argc, char **argv)
{
	static const struct about about = {
		.source = "hour", .command = "convert-hour", .host = "none"};
	struct sink_config config = {.about = &about, .threads = 2, .streams = 7};
	struct sink *sink;
	int err;

	if (argc < 2) {
		fprintf(stderr, "usage: convert-hour OUTPUT.h5 [SLICES]\n");
		return 2;
	}
	config.path = argv[1];
	for (unsigned s = 0; s < FCM_STREAMS; s++) {
		make(s);
	}
	err = journal_create(config.path, &journal);
	config.journal = journal;
	if (err == 0) {
		err = hdf5_open(&config, &sink);
	}
	if (err < 0) {
		die(config.why, err);
	}
	run(sink, argc > 2 ? (unsigned)atoi(argv[2]) : HOUR);
	totals.complete = true;
	err = sink->ops->finish(sink, &totals);
	if (err < 0) {
		die(sink->why, err);
	}
	sink->ops->close(sink);
	journal_remove(journal);
	journal_close(journal);
	return 0;
}
