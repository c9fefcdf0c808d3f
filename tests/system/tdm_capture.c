/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tdm-capture: frames as floors send them, as a capture file of link type USER0 on standard output, for
 * test_dissector.py. The floors are the emulator's (tests/bench/sea_frames.h); the first frame has
 * slow-control replies and a serial tunnel put in, the last is a downstream one with requests and a
 * timing command. Words, by number n: op 1 + n % 4 (a reply's, if it is one), module n, register 2 n,
 * value -1000 n, sequence 70000 + n.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tdm/word.h"
#include "tests/bench/sea_frames.h"

#define FRAMES	    16u
#define FILL_MBPS   200.0
#define LINK_USER0  147u
#define PCAP_MAGIC  0xa1b2c3d4u
#define PCAP_SECOND 1794000000u

static void put(const void *bytes, size_t length)
{
	if (fwrite(bytes, 1, length, stdout) != length) {
		perror("tdm-capture");
		exit(1);
	}
}

static void put_frame(const uint8_t *frame)
{
	static uint32_t number;
	const uint32_t head[4] = {PCAP_SECOND, number++ * 125, TDM_FRAME_BYTES, TDM_FRAME_BYTES};

	put(head, sizeof(head));
	put(frame, TDM_FRAME_BYTES);
}

static void make_word(unsigned n, uint8_t reply, uint8_t bytes[TDM_WORD_BYTES])
{
	const struct word w = {
		.op = (uint8_t)((1 + n % 4) | reply),
		.module = (uint8_t)n,
		.reg = (uint8_t)(2 * n),
		.status = reply ? (uint8_t)(n % 8) : 0,
		.value = -1000 * (int)n,
		.sequence = 70000 + n,
		.boot = reply ? 3 : 0,
	};

	word_pack(&w, bytes);
}

static void with_replies(const uint8_t *from)
{
	const struct tdm_serial serial = {(const uint8_t *)"$PING*", 6, 2, 513};
	uint8_t frame[TDM_FRAME_BYTES], words[TDM_REPLIES][TDM_WORD_BYTES];
	struct tdm_header header;

	memcpy(frame, from, sizeof(frame));
	if (tdm_frame_check(frame, &header) != TDM_OK) {
		fprintf(stderr, "tdm-capture: a floor's frame is not good\n");
		exit(1);
	}
	for (unsigned n = 0; n < TDM_REPLIES; n++) {
		make_word(n, WORD_REPLY, words[n]);
	}
	tdm_replies_put(frame, words, TDM_REPLIES);
	tdm_serial_put(frame, false, &serial);
	header.slot_valid |= TDM_VALID_REPLIES | TDM_VALID_SERIAL;
	tdm_frame_seal(frame, &header);
	put_frame(frame);
}

static void downstream(void)
{
	const struct tdm_timing timing = {TDM_TIMING_ALIGN, 4242, 9};
	const struct tdm_serial serial = {(const uint8_t *)"down", 4, 1, 7};
	const struct tdm_header header = {.flags = TDM_FLAG_DOWNSTREAM, .sequence = 123456};
	uint8_t frame[TDM_FRAME_BYTES] = {0}, word[TDM_WORD_BYTES];

	for (unsigned n = 0; n < TDM_WORDS; n += 5) {
		make_word(n, 0, word);
		tdm_request_put(frame, n, word);
	}
	tdm_timing_put(frame, &timing);
	tdm_serial_put(frame, true, &serial);
	tdm_frame_seal(frame, &header);
	put_frame(frame);
}

int main(void)
{
	const uint32_t head[6] = {PCAP_MAGIC, 4u << 16 | 2u, 0, 0, 262144, LINK_USER0};
	struct sea_frames sea;

	if (sea_frames_init(&sea, FRAMES, FILL_MBPS, 1) < 0) {
		fprintf(stderr, "tdm-capture: out of memory\n");
		return 1;
	}
	put(head, sizeof(head));
	with_replies(sea_buffer(&sea, 0, 0));
	for (unsigned link = 0; link < SEA_LINKS; link++) {
		for (unsigned n = 0; n < FRAMES; n++) {
			put_frame(sea_buffer(&sea, link, 0) + (size_t)n * TDM_FRAME_BYTES);
		}
	}
	downstream();
	sea_frames_fini(&sea);
	return fflush(stdout) ? 1 : 0;
}
