/* SPDX-License-Identifier: GPL-2.0-or-later */
/* data-layout: prints where the C compiler puts the fields of the data message's and the truth file's structs, and of
 * those by which Python calls libfcmdata, as JSON: for the tests that hold schemas/fcm_data.py, daemon/consumer/fcmdata and
 * truth_file.py against C. */
#include <stdio.h>

#include "daemon/consumer/fcmdata.h"
#include "driver/emu/common/truth.h"
#include "schemas/fcm_data.h"
#include "schemas/fcm_hits.h"
#include "tdm/hit.h"

struct field {
	const char *name;
	size_t offset, bytes;
};

#define FIELD(type, name)                                                                          \
	{                                                                                          \
#name, offsetof(struct type, name), sizeof(((struct type *)0)->name)               \
	}

static void print_struct(const char *name, size_t bytes, const struct field *f, size_t count)
{
	printf("\"%s\":{\"bytes\":%zu,\"fields\":{", name, bytes);
	for (size_t i = 0; i < count; i++) {
		printf("%s\"%s\":[%zu,%zu]", i > 0 ? "," : "", f[i].name, f[i].offset, f[i].bytes);
	}
	printf("}}");
}

static const struct field header[] = {
	FIELD(fcm_block_header, magic),
	FIELD(fcm_block_header, version),
	FIELD(fcm_block_header, header_bytes),
	FIELD(fcm_block_header, stream),
	FIELD(fcm_block_header, board),
	FIELD(fcm_block_header, link),
	FIELD(fcm_block_header, channels),
	FIELD(fcm_block_header, tower),
	FIELD(fcm_block_header, floor),
	FIELD(fcm_block_header, label_source),
	FIELD(fcm_block_header, clock_state),
	FIELD(fcm_block_header, flags),
	FIELD(fcm_block_header, run),
	FIELD(fcm_block_header, dma_epoch),
	FIELD(fcm_block_header, time_epoch),
	FIELD(fcm_block_header, uncertainty_ns),
	FIELD(fcm_block_header, frames),
	FIELD(fcm_block_header, frames_lost),
	FIELD(fcm_block_header, frames_bad),
	FIELD(fcm_block_header, sequence),
	FIELD(fcm_block_header, first_frame),
	FIELD(fcm_block_header, tai_ns),
	FIELD(fcm_block_header, slice_id),
	FIELD(fcm_block_header, first_item_tai_ns),
	FIELD(fcm_block_header, last_item_tai_ns),
	FIELD(fcm_block_header, cable_delay_ns),
	FIELD(fcm_block_header, items),
	FIELD(fcm_block_header, payload_bytes),
	FIELD(fcm_block_header, status_offset),
	FIELD(fcm_block_header, index_offset),
	FIELD(fcm_block_header, data_offset),
	FIELD(fcm_block_header, channel_offset),
	FIELD(fcm_block_header, item_faults),
	FIELD(fcm_block_header, reserved),
	FIELD(fcm_block_header, payload_crc),
	FIELD(fcm_block_header, header_crc),
};

static const struct field ack[] = {
	FIELD(fcm_ack, sequence), FIELD(fcm_ack, stream), FIELD(fcm_ack, link),
	FIELD(fcm_ack, tower),	  FIELD(fcm_ack, floor),  FIELD(fcm_ack, block_frames),
};

static const struct field truth_head[] = {
	FIELD(truth_head, magic),    FIELD(truth_head, version), FIELD(truth_head, record_bytes),
	FIELD(truth_head, links),    FIELD(truth_head, seed),	 FIELD(truth_head, tai_start_ns),
	FIELD(truth_head, reserved),
};

static const struct field truth_record[] = {
	FIELD(truth_record, count),	  FIELD(truth_record, floor_frame),
	FIELD(truth_record, tai_ns),	  FIELD(truth_record, link),
	FIELD(truth_record, tower),	  FIELD(truth_record, floor),
	FIELD(truth_record, fate),	  FIELD(truth_record, flags),
	FIELD(truth_record, hits_lost),	  FIELD(truth_record, hits),
	FIELD(truth_record, reserved),	  FIELD(truth_record, hit_hash),
	FIELD(truth_record, sample_hash), FIELD(truth_record, reserved2),
};

static const struct field truth_light[] = {
	FIELD(truth_light, flash_tai_ns), FIELD(truth_light, ping_tai_ns),
	FIELD(truth_light, travel_ps),	  FIELD(truth_light, spread_ps),
	FIELD(truth_light, electrons),	  FIELD(truth_light, light),
	FIELD(truth_light, led),	  FIELD(truth_light, pinger),
	FIELD(truth_light, sound),	  FIELD(truth_light, reserved),
	FIELD(truth_light, sound_ns),	  FIELD(truth_light, reserved2),
};

static const struct field hit_row[] = {
	FIELD(fcm_hit_row, tai_ns),   FIELD(fcm_hit_row, charge),  FIELD(fcm_hit_row, samples_at),
	FIELD(fcm_hit_row, block),    FIELD(fcm_hit_row, frame),   FIELD(fcm_hit_row, t5ns),
	FIELD(fcm_hit_row, tower),    FIELD(fcm_hit_row, floor),   FIELD(fcm_hit_row, module),
	FIELD(fcm_hit_row, pmt),      FIELD(fcm_hit_row, samples), FIELD(fcm_hit_row, flags),
	FIELD(fcm_hit_row, reserved),
};

static const struct field block[] = {
	FIELD(fcmdata_block, header),	  FIELD(fcmdata_block, payload),
	FIELD(fcmdata_block, key),	  FIELD(fcmdata_block, repeat),
	FIELD(fcmdata_block, again),	  FIELD(fcmdata_block, gap_first),
	FIELD(fcmdata_block, gap_frames), FIELD(fcmdata_block, gap_lost),
};

static const struct field recording_config[] = {
	FIELD(fcmdata_recording_config, links),
	FIELD(fcmdata_recording_config, streams),
	FIELD(fcmdata_recording_config, run),
	FIELD(fcmdata_recording_config, from_tai_ns),
	FIELD(fcmdata_recording_config, until_tai_ns),
	FIELD(fcmdata_recording_config, block_frames),
	FIELD(fcmdata_recording_config, follow),
	FIELD(fcmdata_recording_config, reserved),
};

static const struct {
	const char *name;
	uint32_t value;
} numbers[] = {
	{"magic", FCM_BLOCK_MAGIC},
	{"version", FCM_BLOCK_VERSION},
	{"channels_max", FCM_CHANNELS_MAX},
	{"links", FCM_LINKS},
	{"slice_frames", FCM_SLICE_FRAMES},
	{"sequence_bits", FCM_SEQUENCE_BITS},
	{"epoch_mask", FCM_EPOCH_MASK},
	{"no_uncertainty", FCM_NO_UNCERTAINTY},
	{"hit_header_bytes", HIT_HEADER_BYTES},
	{"truth_version", TRUTH_VERSION},
	{"hit_max_bytes", HIT_MAX_BYTES},
	{"hit_sync", HIT_SYNC},
	{"hit_t5ns_max", HIT_T5NS_MAX},
	{"hit_frame_max", HIT_FRAME_MAX},
	{"hit zip", FCM_HIT_ZIP},
	{"hit fragment", FCM_HIT_FRAGMENT},
	{"hit fifo-full", FCM_HIT_FIFO_FULL},
	{"damage version", FCMDATA_VERSION},
	{"flag resent", FCM_BLOCK_RESENT},
	{"flag gap", FCM_BLOCK_GAP},
	{"flag no-time", FCM_BLOCK_NO_TIME},
	{"flag partial", FCM_BLOCK_PARTIAL},
	{"flag step", FCM_BLOCK_STEP},
	{"flag relabel", FCM_BLOCK_RELABEL},
	{"flag fifo-full", FCM_BLOCK_FIFO_FULL},
	{"flag identity", FCM_BLOCK_IDENTITY},
	{"flag time-fault", FCM_BLOCK_TIME_FAULT},
	{"flag emulated", FCM_BLOCK_EMULATED},
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

int main(void)
{
	printf("{");
	print_struct("header", sizeof(struct fcm_block_header), header, COUNT(header));
	printf(",");
	print_struct("truth_head", sizeof(struct truth_head), truth_head, COUNT(truth_head));
	printf(",");
	print_struct("truth_record", sizeof(struct truth_record), truth_record,
		     COUNT(truth_record));
	printf(",");
	print_struct("truth_light", sizeof(struct truth_light), truth_light, COUNT(truth_light));
	printf(",");
	print_struct("ack", sizeof(struct fcm_ack), ack, COUNT(ack));
	printf(",");
	print_struct("hit_row", sizeof(struct fcm_hit_row), hit_row, COUNT(hit_row));
	printf(",");
	print_struct("block", sizeof(struct fcmdata_block), block, COUNT(block));
	printf(",");
	print_struct("recording_config", sizeof(struct fcmdata_recording_config), recording_config,
		     COUNT(recording_config));
	printf(",\"numbers\":{");
	for (size_t i = 0; i < COUNT(numbers); i++) {
		printf("%s\"%s\":%u", i > 0 ? "," : "", numbers[i].name, numbers[i].value);
	}
	printf("},\"streams\":[");
	for (unsigned i = 0; i < FCM_STREAMS; i++) {
		printf("%s\"%s\"", i > 0 ? "," : "", fcm_stream_name(i));
	}
	printf("]}\n");
	return 0;
}
