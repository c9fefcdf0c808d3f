/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The TDM frame: 10 000 bytes every 125 us, up and down the fibre.
 *
 * This format is OURS: the experiment's own slot map is not public. It is defined only in this
 * file, so that the real one can replace it. All numbers are little-endian.
 *
 * Pure functions: no I/O, no allocation, no logging, no state. Frames are plain byte arrays in the
 * ring; a view points into them and is valid as long as they are.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TDM_FRAME_BYTES	      10000u /* 640 Mbps payload x 125 us */
#define TDM_FRAMES_PER_SECOND 8000u
#define TDM_FRAME_NS	      125000u
#define TDM_VERSION	      1u
#define TDM_MODULES	      6u  /* optical modules a floor */
#define TDM_HYDROPHONES	      2u  /* hydrophones a floor */
#define TDM_SAMPLES	      24u /* hydrophone samples a frame: 192 kHz / 8 kHz */

/* The map, upstream. */
#define TDM_OFF_SYNC	    0u
#define TDM_OFF_TOWER	    4u
#define TDM_OFF_FLOOR	    5u
#define TDM_OFF_FLAGS	    6u
#define TDM_OFF_SLOT_MAP    7u
#define TDM_OFF_SEQUENCE    8u	/* u32, counts frames since the sender's boot */
#define TDM_OFF_TIME	    12u /* u64, struct tdm_time packed */
#define TDM_OFF_ECHO	    20u /* u32, sequence of the downstream frame being received */
#define TDM_OFF_SLOT_VALID  24u /* u16, TDM_VALID_* */
#define TDM_OFF_LINK_ERRORS 26u /* u8 CRC errors, u8 code errors seen downstream, wrapping */
#define TDM_OFF_PARITY	    28u /* u16, exclusive or of the previous frame's 16-bit words */
#define TDM_OFF_HEADER_CRC  30u /* u16, CRC-16/T10-DIF of bytes 4..29, start value 0 */
#define TDM_HEADER_BYTES    32u
#define TDM_OFF_PMT	    32u
#define TDM_PMT_SLOT	    1536u
#define TDM_PMT_SLOT_HEADER 8u
#define TDM_PMT_STREAM	    1528u
#define TDM_OFF_HYDRO	    9248u
#define TDM_HYDRO_SLOT	    104u
#define TDM_OFF_REPLIES	    9456u
#define TDM_OFF_SERIAL	    9592u
#define TDM_SERIAL_BYTES    128u /* of payload, behind 8 bytes of header */
#define TDM_OFF_TELEMETRY   9728u
#define TDM_OFF_RESERVED    9792u
#define TDM_OFF_CRC	    9992u /* CRC-32C of bytes 0..9991 */
#define TDM_OFF_END	    9996u

/* The map, downstream: the same header and tail, in between: */
#define TDM_OFF_REQUESTS    32u	 /* 16 slow-control requests of 16 bytes */
#define TDM_OFF_TIMING	    288u /* struct tdm_timing packed in 32 bytes */
#define TDM_OFF_DOWN_SERIAL 320u

#define TDM_WORDS      16u /* slow-control requests a frame, down */
#define TDM_REPLIES    8u  /* slow-control replies a frame, up: the map has no room for more */
#define TDM_WORD_BYTES 16u

extern const uint8_t tdm_sync[4]; /* K28.5, 0xF6, 0x28, version */
extern const uint8_t tdm_end[4];  /* the end mark */

/* TDM_OFF_FLAGS */
#define TDM_FLAG_DOWNSTREAM 0x01u
#define TDM_FLAG_BOOTED	    0x02u /* the first 8000 frames after the sender's boot */

/* TDM_OFF_SLOT_VALID */
#define TDM_VALID_MODULE(m)	(1u << (m))	   /* 0..5 */
#define TDM_VALID_HYDROPHONE(h) (1u << (6u + (h))) /* 0..1 */
#define TDM_VALID_REPLIES	(1u << 8)
#define TDM_VALID_SERIAL	(1u << 9)
#define TDM_VALID_TELEMETRY	(1u << 10)

/* TDM_PMT slot flags */
#define TDM_PMT_FIFO_FULL 0x01u /* hits were lost in the FCM since the last frame */
#define TDM_PMT_POWERED	  0x02u

/* The time word: the label of a frame, and its quality. Bits from the least significant. */
struct tdm_time {
	uint16_t frame;	 /* 13 bits: 0..7999, the frame of the second */
	uint32_t second; /* 17 bits: 0..86399 second of the UTC day (86400 in a leap second) */
	uint16_t day;	 /* 9 bits: 0 = 1 January */
	uint8_t year;	 /* 7 bits: years since 2000 */
	uint8_t quality; /* 4 bits: TDM_TIME_* */
	uint8_t leap; /* 2 bits: at the end of the day a second will be 1 = inserted, 2 = removed */
	uint8_t lock; /* 4 bits: TDM_LOCK_* */
};
#define TDM_TIME_NONE	  0u /* counter runs, no label: second, day and year are void */
#define TDM_TIME_LABELLED 1u /* labelled, receiver without fix: holdover */
#define TDM_TIME_LOCKED	  2u
#define TDM_LOCK_PPS	  0x1u
#define TDM_LOCK_CLOCK	  0x2u /* 10 MHz reference present */
#define TDM_LOCK_UPLINK	  0x4u /* the sender's receive clock is locked */

/* The time word of a header, its fields from bit 0 up in the order of the struct. */
uint64_t tdm_time_pack(const struct tdm_time *t);
/* Every field as it is, legal or not. */
void tdm_time_unpack(uint64_t word, struct tdm_time *ret_t);
/* Whether every field is inside its range. Under TDM_TIME_NONE second, day and year are void and not
 * looked at. Packing masks each field to its width. */
bool tdm_time_legal(const struct tdm_time *t);

struct tdm_header {
	uint8_t tower, floor, flags, slot_map;
	uint32_t sequence;
	struct tdm_time time;
	uint32_t echo;
	uint16_t slot_valid;
	uint8_t crc_errors, code_errors;
	uint16_t parity;
};

/* Why a frame is not good. The order is that of the checks. */
enum tdm_check { TDM_OK, TDM_NO_SYNC, TDM_BAD_HEADER, TDM_BAD_CRC };

/*
 * Check sync, header CRC, CRC-32C and end mark of the 10 000 bytes at `frame`.
 * TDM_BAD_CRC still fills ret_header when the header's own CRC is right (counters are kept, slots
 * dropped); TDM_NO_SYNC and TDM_BAD_HEADER leave it untouched.
 */
enum tdm_check tdm_frame_check(const uint8_t *frame, struct tdm_header *ret_header);

/* The first two of these checks on the TDM_HEADER_BYTES at `header`: TDM_OK, TDM_NO_SYNC,
 * TDM_BAD_HEADER. For the search of frames. */
enum tdm_check tdm_header_check(const uint8_t *header);

/* Write header, CRCs and end mark into a frame whose slots are filled. `header->parity` is used as
 * given; tdm_frame_parity() of the previous frame yields it. */
void tdm_frame_seal(uint8_t *frame, const struct tdm_header *header);
uint16_t tdm_frame_parity(const uint8_t *frame);

/* One module's share of a frame: `length` bytes of the hit stream; the first hit that *starts* here
 * does so at `first`; bytes before it end a hit of an earlier frame. first == length: none starts. */
struct tdm_pmt_slot {
	const uint8_t *stream;
	uint16_t length; /* 0..1528 */
	uint16_t first;	 /* 0..length */
	uint8_t flags;
	uint8_t sequence; /* counts frames of this slot, wrapping */
	uint16_t fill;	  /* FIFO fill of the FCM in units of 64 bytes */
};
/* -EBADMSG when length or first are out of range; ret untouched. `module` 0..5. */
int tdm_pmt_slot_get(const uint8_t *frame, unsigned module, struct tdm_pmt_slot *ret_slot);
/* Writes the slot's header, copies length bytes of stream (unless they are there already, built in
 * place) and zeroes the rest of the slot. */
void tdm_pmt_slot_put(uint8_t *frame, unsigned module, const struct tdm_pmt_slot *slot);

struct tdm_hydro_slot {
	const uint8_t *samples; /* TDM_SAMPLES x int32, little-endian, 24 bits significant */
	uint8_t flags;		/* 1 = powered */
	uint32_t counter;	/* number of the first sample since boot, wrapping */
};
void tdm_hydro_slot_get(const uint8_t *frame, unsigned hydrophone, struct tdm_hydro_slot *ret_slot);
void tdm_hydro_slot_put(uint8_t *frame, unsigned hydrophone, const struct tdm_hydro_slot *slot);

/* Slow-control replies, words of 16 bytes, upstream: how many (0..TDM_REPLIES) and where. -EBADMSG
 * when the count is out of range. tdm_replies_put() writes count and words and clears the places
 * left; more than TDM_REPLIES is the caller's bug. */
int tdm_replies_get(const uint8_t *frame, const uint8_t **ret_words);
void tdm_replies_put(uint8_t *frame, const uint8_t (*words)[TDM_WORD_BYTES], unsigned count);
/* Downstream: a word whose op byte is 0 is an empty place. */
const uint8_t *tdm_request(const uint8_t *frame, unsigned place);
void tdm_request_put(uint8_t *frame, unsigned place, const uint8_t word[TDM_WORD_BYTES]);

/* Serial tunnel to an instrument: channel and at most 128 bytes. */
struct tdm_serial {
	const uint8_t *bytes;
	uint8_t length, channel;
	uint16_t sequence;
};
int tdm_serial_get(const uint8_t *frame, bool downstream, struct tdm_serial *ret_serial);
void tdm_serial_put(uint8_t *frame, bool downstream, const struct tdm_serial *serial);

/* FCM telemetry, 64 bytes, in every frame. */
struct tdm_telemetry {
	uint32_t boot_count;
	uint32_t uptime_s;
	int32_t temperature_mc;
	uint32_t humidity_ppm;
	uint32_t supply_mv, current_ma;
	uint32_t rx_power_nw;
	uint32_t heading_mdeg;
	int32_t pitch_mdeg, roll_mdeg;
	uint32_t power_mask; /* bit 0..5 modules, 6..7 hydrophones */
	uint32_t executed;   /* slow-control requests executed since boot */
	uint32_t rejected;   /* refused or malformed */
};
void tdm_telemetry_get(const uint8_t *frame, struct tdm_telemetry *ret_telemetry);
void tdm_telemetry_put(uint8_t *frame, const struct tdm_telemetry *telemetry);

/* Broadcast timing command, downstream. */
struct tdm_timing {
	uint8_t command; /* TDM_TIMING_* */
	uint32_t argument;
	uint32_t sequence;
};
enum { TDM_TIMING_NONE, TDM_TIMING_LOAD, TDM_TIMING_ARM_PPS, TDM_TIMING_RESET, TDM_TIMING_ALIGN };
void tdm_timing_get(const uint8_t *frame, struct tdm_timing *ret_timing);
void tdm_timing_put(uint8_t *frame, const struct tdm_timing *timing);

/* CRC-32C (Castagnoli, reflected, start and final xor all ones: "123456789" -> 0xE3069283). */
uint32_t tdm_crc32c(const void *bytes, size_t length);
/* CRC-16/T10-DIF: polynomial 0x8BB7, start 0, no reflection ("123456789" -> 0xD0DB). */
uint16_t tdm_crc16(const void *bytes, size_t length);
