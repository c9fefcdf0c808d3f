/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bench-libav: how fast libavformat takes an MPEG transport stream apart, the widely used demultiplexer whose
 * work is nearest to ours: packets of fixed size with a sync byte, continuity checked, the payload of each PID
 * put together. It computes no checksum of the payload, we do.
 *
 * The stream is made like ours: 54 packets a frame period (10 152 bytes), nine PIDs as a floor has nine slots,
 * an elementary packet of each a frame: six modules 727 bytes, half of a slot; two hydrophones and the
 * instruments a packet each; the other half is null packets, as a multiplex of constant rate is filled up.
 *
 * The stream is made here and lies in memory, larger than the caches. Built only where libavformat is
 * installed (tests/setup/setup.sh bench). Prints one line of JSON: the median rate over the rounds.
 *
 * Constants of the stream: ISO/IEC 13818-1.
 */
#include <errno.h>
#include <libavformat/avformat.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/bench/usage.h"

#define TS_BYTES    188u
#define TS_SYNC	    0x47u
#define TS_BODY	    184u
#define STREAMS	    9u
#define FIRST_PID   0x100u
#define PMT_PID	    0x1000u
#define PES_HEADER  9u
#define NULL_PID    0x1fffu
#define TS_PACKETS  54u	   /* a frame */
#define FRAMES	    12800u /* 130 MB */
#define TABLES_EACH 800u   /* frames: 100 ms */
#define AVIO_BYTES  (256u << 10)
#define ROUNDS_MAX  101u

/* Packets of an elementary packet, by stream; none needs stuffing. */
static const uint8_t pes_packets[STREAMS] = {4, 4, 4, 4, 4, 4, 1, 1, 1};

struct stream {
	uint8_t *bytes;
	size_t length, at;
	uint8_t continuity[STREAMS + 3]; /* of each PID; the tables' and the null packets' */
};

/* ------------------------------------------------------------------------ making the stream */

static uint8_t *begin_packet(struct stream *s, unsigned pid, bool begins, unsigned counter)
{
	uint8_t *p = s->bytes + s->length;

	s->length += TS_BYTES;
	p[0] = TS_SYNC;
	p[1] = (uint8_t)((begins ? 0x40 : 0) | pid >> 8);
	p[2] = (uint8_t)pid;
	p[3] = (uint8_t)(0x10 | (s->continuity[counter]++ & 0xf));
	return p + 4;
}

/* CRC-32 of program tables: polynomial 0x04c11db7, most significant bit first, no final inversion. */
static uint32_t table_crc(const uint8_t *bytes, size_t length)
{
	uint32_t crc = 0xffffffff;

	for (size_t i = 0; i < length; i++) {
		crc ^= (uint32_t)bytes[i] << 24;
		for (unsigned bit = 0; bit < 8; bit++) {
			crc = crc << 1 ^ (crc >> 31 ? 0x04c11db7u : 0);
		}
	}
	return crc;
}

/* A section of `length` bytes from its table id on, its CRC behind it; the rest of the packet is filled. */
static void put_table(struct stream *s, unsigned pid, unsigned counter, uint8_t *section,
		      size_t length)
{
	uint8_t *body = begin_packet(s, pid, true, counter);
	uint32_t crc;

	section[1] = (uint8_t)(0xb0 | (length + 4 - 3) >> 8);
	section[2] = (uint8_t)(length + 4 - 3);
	crc = table_crc(section, length);
	memset(body, 0xff, TS_BODY);
	body[0] = 0;
	memcpy(body + 1, section, length);
	for (unsigned i = 0; i < 4; i++) {
		body[1 + length + i] = (uint8_t)(crc >> (24 - 8 * i));
	}
}

static void put_tables(struct stream *s)
{
	uint8_t pat[] = {0x00, 0, 0, 0, 1, 0xc1, 0, 0, 0, 1, 0xe0 | PMT_PID >> 8, PMT_PID & 0xff};
	uint8_t pmt[12 + 11 * STREAMS] = {0x02, 0, 0, 0, 1, 0xc1, 0, 0, 0xff, 0xff, 0xf0, 0};
	/* Private data that says what it is, so that nobody probes it: KLV metadata. */
	static const uint8_t entry[11] = {0x06, 0, 0, 0xf0, 6, 0x05, 4, 'K', 'L', 'V', 'A'};

	for (unsigned i = 0; i < STREAMS; i++) {
		uint8_t *e = pmt + 12 + sizeof(entry) * i;

		memcpy(e, entry, sizeof(entry));
		e[1] = (uint8_t)(0xe0 | (FIRST_PID + i) >> 8);
		e[2] = (uint8_t)(FIRST_PID + i);
	}
	put_table(s, 0, STREAMS, pat, sizeof(pat));
	put_table(s, PMT_PID, STREAMS + 1, pmt, sizeof(pmt));
}

static int pes_payload(unsigned i)
{
	return (int)(pes_packets[i] * TS_BODY - PES_HEADER);
}

static void put_pes(struct stream *s, unsigned i)
{
	unsigned length = (unsigned)pes_payload(i) + 3; /* behind the length field */
	const uint8_t head[PES_HEADER] = {0,	0, 1, 0xbd, (uint8_t)(length >> 8), (uint8_t)length,
					  0x80, 0, 0};

	for (unsigned packet = 0; packet < pes_packets[i]; packet++) {
		uint8_t *body = begin_packet(s, FIRST_PID + i, packet == 0, i);

		memset(body, (int)(packet + i + 1), TS_BODY);
		if (packet == 0) {
			memcpy(body, head, sizeof(head));
		}
	}
}

static void put_frame(struct stream *s, bool tables)
{
	size_t end = s->length + (size_t)TS_PACKETS * TS_BYTES;

	if (tables) {
		put_tables(s);
	}
	for (unsigned i = 0; i < STREAMS; i++) {
		put_pes(s, i);
	}
	while (s->length < end) {
		memset(begin_packet(s, NULL_PID, false, STREAMS + 2), 0xff, TS_BODY);
	}
}

static int make_stream(struct stream *s)
{
	*s = (struct stream){.bytes = malloc((size_t)FRAMES * TS_PACKETS * TS_BYTES)};
	if (!s->bytes) {
		return -ENOMEM;
	}
	for (unsigned frame = 0; frame < FRAMES; frame++) {
		put_frame(s, frame % TABLES_EACH == 0);
	}
	return 0;
}

/* ------------------------------------------------------------------------ taking it apart */

static int read_stream(void *context, uint8_t *to, int room)
{
	struct stream *s = context;
	size_t left = s->length - s->at, n = left < (size_t)room ? left : (size_t)room;

	if (n == 0) {
		return AVERROR_EOF;
	}
	memcpy(to, s->bytes + s->at, n);
	s->at += n;
	return (int)n;
}

/* How many elementary packets came out whole; negative: libavformat's error. */
static int take_apart(AVFormatContext *f)
{
	AVPacket *packet = av_packet_alloc();
	int whole = 0;

	while (packet && av_read_frame(f, packet) == 0) {
		whole += packet->stream_index < (int)STREAMS &&
			 packet->size == pes_payload((unsigned)packet->stream_index) &&
			 !(packet->flags & AV_PKT_FLAG_CORRUPT);
		av_packet_unref(packet);
	}
	av_packet_free(&packet);
	return whole;
}

/* Seconds of a lap; negative: not what was meant. */
static double lap(struct stream *s)
{
	AVFormatContext *f = avformat_alloc_context();
	uint8_t *buffer = av_malloc(AVIO_BYTES);
	uint64_t begin = bench_now_ns();
	int whole = -1;

	s->at = 0;
	if (f && buffer) {
		f->pb = avio_alloc_context(buffer, AVIO_BYTES, 0, s, read_stream, NULL, NULL);
	}
	if (f && f->pb &&
	    avformat_open_input(&f, NULL, av_find_input_format("mpegts"), NULL) == 0) {
		AVIOContext *pb = f->pb;

		whole = take_apart(f);
		avformat_close_input(&f);
		av_freep(&pb->buffer);
		avio_context_free(&pb);
	}
	/* The first and the last of a stream may be held back. */
	if (whole < (int)((FRAMES - 2) * STREAMS)) {
		fprintf(stderr, "bench-libav: %d of %u packets came out whole\n", whole,
			FRAMES * STREAMS);
		return -1;
	}
	return (double)(bench_now_ns() - begin) * 1e-9;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	unsigned rounds = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 7;
	double seconds[ROUNDS_MAX];
	struct stream s;

	if (argc > 2 || rounds < 1 || rounds > ROUNDS_MAX) {
		fprintf(stderr, "usage: bench-libav [ROUNDS]    1 to %u, default 7\n", ROUNDS_MAX);
		return 2;
	}
	av_log_set_level(AV_LOG_ERROR);
	if (make_stream(&s) < 0) {
		fprintf(stderr, "bench-libav: out of memory\n");
		return 1;
	}
	for (unsigned i = 0; i < rounds; i++) {
		seconds[i] = lap(&s);
		if (seconds[i] < 0) {
			return 1;
		}
	}
	qsort(seconds, rounds, sizeof(seconds[0]), by_value);
	printf("{\"bytes_per_s\":%.0f,\"rounds\":%u,\"pids\":%u,\"version\":\"%s\"}\n",
	       (double)s.length / seconds[rounds / 2], rounds, STREAMS, av_version_info());
	free(s.bytes);
	return 0;
}
