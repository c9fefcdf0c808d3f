/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Recorded data: raw cells of a link as the board handed them over. OURS; version 1. Little-endian.
 *
 * A recording is a directory RECORDING/ of append-only segments, one series a link:
 *
 *   link0-00000.fcmr, link0-00001.fcmr, ..., link3-00000.fcmr, ...
 *
 *   segment   struct fcm_segment_header, records, and when it was ended in order an index
 *   record    struct fcm_record_header, then `bytes` of data
 *     DATA      frames x 10 000 bytes: cells [count, count + frames) as they came off the fibre
 *     GAP       the board has no data for these cells; reason: NANET3_GAP_* of driver/nanet3.h
 *     LET_GO    the recorder did not keep up and let these cells go
 *     LABEL     struct fcm_record_label: which TAI a count is, from this record on; the first record of
 *               every segment, and again whenever something in it has changed
 *     INDEX     the last of a segment: u64 offset[] of its DATA, GAP and LET_GO records, in order, and last
 *               its own: so the last 8 bytes of the file say where it begins; `count` and `frames` as of
 *               the first of them and of all of them together
 *
 * Cells follow each other without a hole inside a DMA epoch: what is not there is a GAP or a LET_GO. (But
 * for counts that never existed: after a PPS that came early the next record begins at a higher multiple
 * of 8000, as in driver/nanet3.h.) A new epoch begins a new segment, and so do a new run and a daemon that
 * goes on with a recording; the cells of a series never overlap.
 *
 * A segment may end anywhere: its writer was killed, or the disk was full. Everything before the
 * first record whose header or data do not match their checksum is good; that there is no INDEX means nothing
 * else. (It is for readers that want one place of many: no program here uses it, all walk, as labels and
 * alignment come from what is before.) Readers need no other file.
 */
#ifndef FCM_RECORD_H
#define FCM_RECORD_H

#include <stddef.h>
#include <stdint.h>

#define FCM_SEGMENT_MAGIC   0x534d4346u /* "FCMS" */
#define FCM_RECORD_MAGIC    0x524d4346u /* "FCMR" */
#define FCM_SEGMENT_VERSION 1u
#define FCM_SEGMENT_SUFFIX  ".fcmr"
/* No record's data are larger, whatever a header says: data_bytes_max is at most this. */
#define FCM_RECORD_BYTES_MAX (16u << 20)

enum fcm_record_kind {
	FCM_RECORD_DATA = 1,
	FCM_RECORD_GAP = 2,
	FCM_RECORD_LET_GO = 3,
	FCM_RECORD_LABEL = 4,
	FCM_RECORD_INDEX = 5,
};

/* A floor as the daemon was configured for it. */
struct fcm_segment_floor {
	uint32_t cable_delay_ns;
	uint8_t tower, floor;
	uint8_t reserved[2];
};

struct fcm_segment_header {
	uint32_t magic;
	uint16_t version, header_bytes; /* 1, 128 (more in a later version: records begin behind) */
	uint8_t board, link;
	uint8_t tower, floor; /* as configured for the link */
	uint32_t dma_epoch;
	uint32_t segment;     /* from 0 on, in the link's series */
	uint32_t frame_bytes; /* 10000 */
	uint64_t count;	      /* of the first cell */
	int64_t utc_ns;	      /* when it was begun, by the host's clock, for people */
	uint32_t run;	      /* 0: outside a run */
	uint32_t serial; /* of the board, and which of its boots: counts of one boot never repeat */
	uint32_t boot_count;
	/* How the daemon makes blocks of these cells, so that a reader makes the same ones. */
	uint32_t block_frames; /* 0: not said */
	uint8_t emulated;      /* 1: from a model, not from the sea */
	uint8_t day_origin;    /* of the stamps in hits: enum hit_day_origin of tdm/hit.h */
	uint8_t reserved0[2];
	struct fcm_segment_floor floors[4]; /* by link */
	uint8_t reserved[28];		    /* 0, as all that is reserved; see VERSIONS.md */
	uint32_t data_bytes_max;	    /* of a record */
	uint32_t header_crc;		    /* CRC-32C of the 124 bytes before */
};
_Static_assert(sizeof(struct fcm_segment_header) == 128, "segment header");

struct fcm_record_header {
	uint32_t magic;
	uint8_t kind;	/* enum fcm_record_kind */
	uint8_t reason; /* GAP */
	uint16_t reserved;
	uint64_t count; /* the board's, of the first cell */
	uint64_t frames;
	uint64_t monotonic_ns; /* of the completion, by the host's clock: the original pace */
	uint32_t bytes;	       /* that follow */
	uint32_t data_crc;     /* CRC-32C of them */
	uint32_t reserved1;
	uint32_t header_crc; /* CRC-32C of the 44 bytes before */
};
_Static_assert(sizeof(struct fcm_record_header) == 48, "record header");

/* tdm/blocks/label.h in a form that stays. A later version may add bytes after it. */
struct fcm_record_label {
	uint32_t time_epoch;
	uint8_t source, state; /* as label_source and clock_state of struct fcm_block_header */
	uint16_t reserved;
	uint32_t uncertainty_ns;
	int32_t tai_utc_s;
	uint64_t anchor_count;
	int64_t anchor_tai_ns; /* INT64_MIN: no time */
	int64_t leap_tai_ns;   /* INT64_MAX: none announced */
};
_Static_assert(sizeof(struct fcm_record_label) == 40, "record label");

#endif
