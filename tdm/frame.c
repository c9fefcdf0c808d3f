/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The TDM frame: checks, header, slots. frame.h has the map and the contract.
 *
 * tdm_frame_check() is the daemon's hot path, 32 000 times a second: one CRC-32C pass by isa-l over
 * the frame and a handful of loads. Everything else here touches only the bytes it names.
 *
 * Neighbours: deframe.c finds frames in the board's cells, hit.c and word.c read what slots carry.
 */
#include "tdm/frame.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include <isa-l.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

#include "tdm/le.h"

/* The version byte belongs to the sync word: a frame of another layout is no frame at all. */
const uint8_t tdm_sync[4] = {0xbc, 0xf6, 0x28, TDM_VERSION};
/* K29.7, then the sync word's other three bytes inverted. */
const uint8_t tdm_end[4] = {0xfd, 0x09, 0xd7, 0xff & ~TDM_VERSION};

/* The map has neither holes nor overlaps. */
_Static_assert(TDM_OFF_HEADER_CRC + 2 == TDM_HEADER_BYTES, "header");
_Static_assert(TDM_OFF_PMT == TDM_HEADER_BYTES, "first module behind the header");
_Static_assert(TDM_PMT_SLOT_HEADER + TDM_PMT_STREAM == TDM_PMT_SLOT, "module slot");
_Static_assert(TDM_OFF_PMT + TDM_MODULES * TDM_PMT_SLOT == TDM_OFF_HYDRO, "modules");
_Static_assert(8 + 4 * TDM_SAMPLES == TDM_HYDRO_SLOT, "hydrophone slot");
_Static_assert(TDM_OFF_HYDRO + TDM_HYDROPHONES * TDM_HYDRO_SLOT == TDM_OFF_REPLIES, "hydrophones");
_Static_assert(TDM_OFF_REPLIES + 8 + TDM_REPLIES * TDM_WORD_BYTES == TDM_OFF_SERIAL, "replies");
_Static_assert(TDM_OFF_SERIAL + 8 + TDM_SERIAL_BYTES == TDM_OFF_TELEMETRY, "serial tunnel");
_Static_assert(TDM_OFF_TELEMETRY + 64 == TDM_OFF_RESERVED, "telemetry");
_Static_assert(TDM_OFF_RESERVED + 200 == TDM_OFF_CRC, "reserved");
_Static_assert(TDM_OFF_CRC + 4 == TDM_OFF_END, "CRC");
_Static_assert(TDM_OFF_END + sizeof(tdm_end) == TDM_FRAME_BYTES, "end mark");
_Static_assert(TDM_OFF_REQUESTS + TDM_WORDS * TDM_WORD_BYTES == TDM_OFF_TIMING, "requests");
_Static_assert(TDM_OFF_TIMING + 32 == TDM_OFF_DOWN_SERIAL, "timing");

/* -------------------------------------------------------------------------------- checksums */

/*
 * isa-l's AVX-512 routines (2.30) return with the upper halves of the vector registers in use. Every
 * plain SSE instruction after that is slow: 145 ns a frame for the header alone on a Sapphire Rapids,
 * more than the CRC-32C itself (120 ns), and the whole process pays.
 */
#ifdef __x86_64__
__attribute__((target("avx"))) static void zero_upper(void)
{
	_mm256_zeroupper();
}

static void clean_vectors(void)
{
	if (__builtin_cpu_supports("avx")) {
		zero_upper();
	}
}
#else
static void clean_vectors(void)
{
}
#endif

uint32_t tdm_crc32c(const void *bytes, size_t length)
{
	uint32_t crc = 0xffffffffu;
	unsigned char *p = (unsigned char *)(uintptr_t)bytes; /* isa-l forgot the const */

	/* isa-l counts in int and leaves both inversions to the caller. */
	while (length > 0) {
		size_t piece = length < (1u << 30) ? length : 1u << 30;

		crc = crc32_iscsi(p, (int)piece, crc);
		p += piece;
		length -= piece;
	}
	clean_vectors();
	return ~crc;
}

uint16_t tdm_crc16(const void *bytes, size_t length)
{
	uint16_t crc = crc16_t10dif(0, bytes, length);

	clean_vectors();
	return crc;
}

uint16_t tdm_frame_parity(const uint8_t *frame)
{
	uint64_t a = 0, b = 0;

	_Static_assert(TDM_FRAME_BYTES % 16 == 0, "parity folds 16 bytes at a time");
	for (size_t i = 0; i < TDM_FRAME_BYTES; i += 16) {
		a ^= le64_get(frame + i);
		b ^= le64_get(frame + i + 8);
	}
	a ^= b;
	a ^= a >> 32;
	a ^= a >> 16;
	return (uint16_t)a;
}

/* -------------------------------------------------------------------------------- time word */

uint64_t tdm_time_pack(const struct tdm_time *t)
{
	return (uint64_t)(t->frame & 0x1fffu) | (uint64_t)(t->second & 0x1ffffu) << 13 |
	       (uint64_t)(t->day & 0x1ffu) << 30 | (uint64_t)(t->year & 0x7fu) << 39 |
	       (uint64_t)(t->quality & 0xfu) << 46 | (uint64_t)(t->leap & 0x3u) << 50 |
	       (uint64_t)(t->lock & 0xfu) << 52;
}

void tdm_time_unpack(uint64_t word, struct tdm_time *ret_t)
{
	*ret_t = (struct tdm_time){
		.frame = word & 0x1fffu,
		.second = (uint32_t)(word >> 13) & 0x1ffffu,
		.day = (uint16_t)(word >> 30) & 0x1ffu,
		.year = (uint8_t)(word >> 39) & 0x7fu,
		.quality = (uint8_t)(word >> 46) & 0xfu,
		.leap = (uint8_t)(word >> 50) & 0x3u,
		.lock = (uint8_t)(word >> 52) & 0xfu,
	};
}

bool tdm_time_legal(const struct tdm_time *t)
{
	/* 2000..2127: 2100 is the one year divisible by four that has no leap day. */
	uint16_t last_day = t->year % 4 == 0 && t->year != 100 ? 365 : 364;

	if (t->frame >= TDM_FRAMES_PER_SECOND || t->quality > TDM_TIME_LOCKED || t->leap > 2 ||
	    t->lock > 0xf) {
		return false;
	}
	if (t->quality == TDM_TIME_NONE) {
		return true;
	}
	return t->second <= 86400 && t->year <= 127 && t->day <= last_day;
}

/* -------------------------------------------------------------------------- header and tail */

static void header_get(const uint8_t *frame, struct tdm_header *ret_header)
{
	ret_header->tower = frame[TDM_OFF_TOWER];
	ret_header->floor = frame[TDM_OFF_FLOOR];
	ret_header->flags = frame[TDM_OFF_FLAGS];
	ret_header->slot_map = frame[TDM_OFF_SLOT_MAP];
	ret_header->sequence = le32_get(frame + TDM_OFF_SEQUENCE);
	tdm_time_unpack(le64_get(frame + TDM_OFF_TIME), &ret_header->time);
	ret_header->echo = le32_get(frame + TDM_OFF_ECHO);
	ret_header->slot_valid = le16_get(frame + TDM_OFF_SLOT_VALID);
	ret_header->crc_errors = frame[TDM_OFF_LINK_ERRORS];
	ret_header->code_errors = frame[TDM_OFF_LINK_ERRORS + 1];
	ret_header->parity = le16_get(frame + TDM_OFF_PARITY);
}

static void header_put(uint8_t *frame, const struct tdm_header *header)
{
	memcpy(frame + TDM_OFF_SYNC, tdm_sync, sizeof(tdm_sync));
	frame[TDM_OFF_TOWER] = header->tower;
	frame[TDM_OFF_FLOOR] = header->floor;
	frame[TDM_OFF_FLAGS] = header->flags;
	frame[TDM_OFF_SLOT_MAP] = header->slot_map;
	le32_put(frame + TDM_OFF_SEQUENCE, header->sequence);
	le64_put(frame + TDM_OFF_TIME, tdm_time_pack(&header->time));
	le32_put(frame + TDM_OFF_ECHO, header->echo);
	le16_put(frame + TDM_OFF_SLOT_VALID, header->slot_valid);
	frame[TDM_OFF_LINK_ERRORS] = header->crc_errors;
	frame[TDM_OFF_LINK_ERRORS + 1] = header->code_errors;
	le16_put(frame + TDM_OFF_PARITY, header->parity);
	le16_put(frame + TDM_OFF_HEADER_CRC,
		 tdm_crc16(frame + TDM_OFF_TOWER, TDM_OFF_HEADER_CRC - TDM_OFF_TOWER));
}

enum tdm_check tdm_header_check(const uint8_t *header)
{
	if (memcmp(header + TDM_OFF_SYNC, tdm_sync, sizeof(tdm_sync)) != 0) {
		return TDM_NO_SYNC;
	}
	if (tdm_crc16(header + TDM_OFF_TOWER, TDM_OFF_HEADER_CRC - TDM_OFF_TOWER) !=
	    le16_get(header + TDM_OFF_HEADER_CRC)) {
		return TDM_BAD_HEADER;
	}
	return TDM_OK;
}

enum tdm_check tdm_frame_check(const uint8_t *frame, struct tdm_header *ret_header)
{
	enum tdm_check check = tdm_header_check(frame);

	if (check != TDM_OK) {
		return check;
	}
	header_get(frame, ret_header);
	if (tdm_crc32c(frame, TDM_OFF_CRC) != le32_get(frame + TDM_OFF_CRC) ||
	    memcmp(frame + TDM_OFF_END, tdm_end, sizeof(tdm_end)) != 0) {
		return TDM_BAD_CRC;
	}
	return TDM_OK;
}

void tdm_frame_seal(uint8_t *frame, const struct tdm_header *header)
{
	header_put(frame, header);
	le32_put(frame + TDM_OFF_CRC, tdm_crc32c(frame, TDM_OFF_CRC));
	memcpy(frame + TDM_OFF_END, tdm_end, sizeof(tdm_end));
}

/* -------------------------------------------------------------------------------- PMT slots */

int tdm_pmt_slot_get(const uint8_t *frame, unsigned module, struct tdm_pmt_slot *ret_slot)
{
	const uint8_t *slot = frame + TDM_OFF_PMT + (size_t)module * TDM_PMT_SLOT;
	uint16_t length = le16_get(slot), first = le16_get(slot + 2);

	assert(module < TDM_MODULES);
	if (length > TDM_PMT_STREAM || first > length) {
		return -EBADMSG;
	}
	*ret_slot = (struct tdm_pmt_slot){
		.stream = slot + TDM_PMT_SLOT_HEADER,
		.length = length,
		.first = first,
		.flags = slot[4],
		.sequence = slot[5],
		.fill = le16_get(slot + 6),
	};
	return 0;
}

void tdm_pmt_slot_put(uint8_t *frame, unsigned module, const struct tdm_pmt_slot *slot)
{
	uint8_t *p = frame + TDM_OFF_PMT + (size_t)module * TDM_PMT_SLOT;

	assert(module < TDM_MODULES && slot->length <= TDM_PMT_STREAM &&
	       slot->first <= slot->length);
	le16_put(p, slot->length);
	le16_put(p + 2, slot->first);
	p[4] = slot->flags;
	p[5] = slot->sequence;
	le16_put(p + 6, slot->fill);
	p += TDM_PMT_SLOT_HEADER;
	if (slot->length > 0 && slot->stream != p) {
		memcpy(p, slot->stream, slot->length);
	}
	memset(p + slot->length, 0, TDM_PMT_STREAM - slot->length);
}

/* ------------------------------------------------------------------------------ hydrophones */

void tdm_hydro_slot_get(const uint8_t *frame, unsigned hydrophone, struct tdm_hydro_slot *ret_slot)
{
	const uint8_t *slot = frame + TDM_OFF_HYDRO + (size_t)hydrophone * TDM_HYDRO_SLOT;

	assert(hydrophone < TDM_HYDROPHONES);
	*ret_slot = (struct tdm_hydro_slot){
		.samples = slot + 8,
		.flags = slot[0],
		.counter = le32_get(slot + 4),
	};
}

void tdm_hydro_slot_put(uint8_t *frame, unsigned hydrophone, const struct tdm_hydro_slot *slot)
{
	uint8_t *p = frame + TDM_OFF_HYDRO + (size_t)hydrophone * TDM_HYDRO_SLOT;

	assert(hydrophone < TDM_HYDROPHONES);
	memset(p, 0, 4);
	p[0] = slot->flags;
	le32_put(p + 4, slot->counter);
	memcpy(p + 8, slot->samples, (size_t)4 * TDM_SAMPLES);
}

/* ---------------------------------------------------------------------- slow-control places */

int tdm_replies_get(const uint8_t *frame, const uint8_t **ret_words)
{
	unsigned count = frame[TDM_OFF_REPLIES];

	if (count > TDM_REPLIES) {
		return -EBADMSG;
	}
	*ret_words = frame + TDM_OFF_REPLIES + 8;
	return (int)count;
}

void tdm_replies_put(uint8_t *frame, const uint8_t (*words)[TDM_WORD_BYTES], unsigned count)
{
	uint8_t *p = frame + TDM_OFF_REPLIES;

	assert(count <= TDM_REPLIES);
	memset(p, 0, 8 + TDM_REPLIES * TDM_WORD_BYTES);
	p[0] = (uint8_t)count;
	if (count > 0) {
		memcpy(p + 8, words, count * sizeof(words[0]));
	}
}

const uint8_t *tdm_request(const uint8_t *frame, unsigned place)
{
	assert(place < TDM_WORDS);
	return frame + TDM_OFF_REQUESTS + (size_t)place * TDM_WORD_BYTES;
}

void tdm_request_put(uint8_t *frame, unsigned place, const uint8_t word[TDM_WORD_BYTES])
{
	assert(place < TDM_WORDS);
	memcpy(frame + TDM_OFF_REQUESTS + (size_t)place * TDM_WORD_BYTES, word, TDM_WORD_BYTES);
}

/* ---------------------------------------------------------------------------- serial tunnel */

int tdm_serial_get(const uint8_t *frame, bool downstream, struct tdm_serial *ret_serial)
{
	const uint8_t *p = frame + (downstream ? TDM_OFF_DOWN_SERIAL : TDM_OFF_SERIAL);

	if (p[0] > TDM_SERIAL_BYTES) {
		return -EBADMSG;
	}
	*ret_serial = (struct tdm_serial){
		.bytes = p + 8,
		.length = p[0],
		.channel = p[1],
		.sequence = le16_get(p + 2),
	};
	return 0;
}

void tdm_serial_put(uint8_t *frame, bool downstream, const struct tdm_serial *serial)
{
	uint8_t *p = frame + (downstream ? TDM_OFF_DOWN_SERIAL : TDM_OFF_SERIAL);

	assert(serial->length <= TDM_SERIAL_BYTES);
	memset(p, 0, 8 + TDM_SERIAL_BYTES);
	p[0] = serial->length;
	p[1] = serial->channel;
	le16_put(p + 2, serial->sequence);
	if (serial->length > 0) {
		memcpy(p + 8, serial->bytes, serial->length);
	}
}

/* --------------------------------------------------------------------- telemetry and timing */

/* Its fields are the words of the struct, in order. */
#define TELEMETRY_WORDS 13u
_Static_assert(sizeof(struct tdm_telemetry) == 4 * TELEMETRY_WORDS, "telemetry");

void tdm_telemetry_get(const uint8_t *frame, struct tdm_telemetry *ret_telemetry)
{
	uint32_t words[TELEMETRY_WORDS];

	for (size_t i = 0; i < TELEMETRY_WORDS; i++) {
		words[i] = le32_get(frame + TDM_OFF_TELEMETRY + 4 * i);
	}
	memcpy(ret_telemetry, words, sizeof(words));
}

void tdm_telemetry_put(uint8_t *frame, const struct tdm_telemetry *telemetry)
{
	uint32_t words[TELEMETRY_WORDS];

	memcpy(words, telemetry, sizeof(words));
	memset(frame + TDM_OFF_TELEMETRY, 0, 64);
	for (size_t i = 0; i < TELEMETRY_WORDS; i++) {
		le32_put(frame + TDM_OFF_TELEMETRY + 4 * i, words[i]);
	}
}

void tdm_timing_get(const uint8_t *frame, struct tdm_timing *ret_timing)
{
	const uint8_t *p = frame + TDM_OFF_TIMING;

	*ret_timing = (struct tdm_timing){
		.command = p[0],
		.argument = le32_get(p + 4),
		.sequence = le32_get(p + 8),
	};
}

void tdm_timing_put(uint8_t *frame, const struct tdm_timing *timing)
{
	uint8_t *p = frame + TDM_OFF_TIMING;

	memset(p, 0, 32);
	p[0] = timing->command;
	le32_put(p + 4, timing->argument);
	le32_put(p + 8, timing->sequence);
}
