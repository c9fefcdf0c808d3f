// SPDX-License-Identifier: GPL-2.0-or-later
/* The tables of a conversion and their fields: see tables.h. */
#include "daemon/convert/output/tables.h"

#define SMALL 1024u
#define NS    "ns"
#define TAI   "TAI since 1970; -2^63: the data had no time"

#define FIELD(row, member, type, unit, about)                                                      \
	{                                                                                          \
#member, type, offsetof(struct row, member), sizeof(((struct row *)0)->member),    \
			unit, about                                                                \
	}
#define LINK(row)                                                                                  \
	FIELD(row, link, FIELD_U1, "", "of the board, 0..3"),                                      \
		FIELD(row, tower, FIELD_U1, "", "number of the tower"),                            \
		FIELD(row, floor, FIELD_U1, "", "number of the floor in it")

static const struct field hit_fields[] = {
	FIELD(out_hit, tai_ns, FIELD_I8, NS, TAI),
	FIELD(out_hit, charge, FIELD_U4, "FCM counts", "22 bits, as the FCM computed it"),
	FIELD(out_hit, tower, FIELD_U1, "", "number of the tower"),
	FIELD(out_hit, floor, FIELD_U1, "", "number of the floor in it"),
	FIELD(out_hit, module, FIELD_U1, "", "optical module 0..5: the channel in which it came"),
	FIELD(out_hit, samples, FIELD_U1, "samples", "of its waveform, 0..63"),
	FIELD(out_hit, waveform_at, FIELD_U8, "samples", "where in /waveforms they begin"),
	FIELD(out_hit, flags, FIELD_U1, "bits",
	      "1: its samples were sent as bytes, 2: it goes on with the pulse of the module's hit "
	      "before it, 4: hits were lost in the FCM's FIFO"),
	FIELD(out_hit, pmt, FIELD_U1, "", "PMTID in the hit itself"),
	FIELD(out_hit, frame, FIELD_U2, "125 us", "frame of the second in which it was born"),
	FIELD(out_hit, t5ns, FIELD_U2, "5 ns", "its place in that frame"),
	FIELD(out_hit, block, FIELD_U4, "", "row of /blocks in which it came"),
	{0},
};

static const struct field block_fields[] = {
	FIELD(out_block, tai_ns, FIELD_I8, NS, "start of first_frame, cable delay added; " TAI),
	FIELD(out_block, first_item_tai_ns, FIELD_I8, NS, "earliest hit or sample"),
	FIELD(out_block, last_item_tai_ns, FIELD_I8, NS, "latest hit or sample"),
	FIELD(out_block, first_frame, FIELD_U8, "125 us", "carrying frame, on the board's count"),
	FIELD(out_block, sequence, FIELD_U8, "", "DMA epoch, and the block's number in it"),
	FIELD(out_block, slice_id, FIELD_U8, "200 ms", "UTC since 2000 without leap seconds"),
	FIELD(out_block, gap_first, FIELD_U8, "125 us", "first frame missing before the block"),
	FIELD(out_block, gap_frames, FIELD_U8, "125 us", "how many are missing there"),
	FIELD(out_block, gap_lost, FIELD_U8, "125 us", "of them lost for certain"),
	FIELD(out_block, group_id, FIELD_U4, "", "row of /group_info"),
	FIELD(out_block, flags, FIELD_U4, "bits", "FCM_BLOCK_... of fcm_data.h"),
	FIELD(out_block, run, FIELD_U4, "", "0: outside a run"),
	FIELD(out_block, dma_epoch, FIELD_U4, "", "counts of one epoch are of one series"),
	FIELD(out_block, time_epoch, FIELD_U4, "", "another one: another label of time"),
	FIELD(out_block, uncertainty_ns, FIELD_U4, NS, "of the label; 2^32 - 1: none"),
	FIELD(out_block, frames, FIELD_U4, "125 us", "covered"),
	FIELD(out_block, frames_lost, FIELD_U4, "125 us", "of them never came"),
	FIELD(out_block, frames_bad, FIELD_U4, "125 us", "of them came, but bad"),
	FIELD(out_block, cable_delay_ns, FIELD_U4, NS, "added to the label in all times"),
	FIELD(out_block, items, FIELD_U4, "", "hits, samples or records"),
	FIELD(out_block, item_faults, FIELD_U4, "", "hits dropped: their bytes made no sense"),
	FIELD(out_block, payload_bytes, FIELD_U4, "bytes", "of the data message"),
	FIELD(out_block, payload_crc, FIELD_U4, "", "CRC-32C of its payload"),
	FIELD(out_block, header_crc, FIELD_U4, "", "CRC-32C of its header"),
	FIELD(out_block, tai_utc_s, FIELD_I4, "s", "TAI - UTC; 0: no time"),
	FIELD(out_block, stream, FIELD_U1, "", "0 pmt, 1 hydrophone, 2 instrument"),
	FIELD(out_block, board, FIELD_U1, "", ""),
	FIELD(out_block, channels, FIELD_U1, "", "0: nothing came (GAP)"),
	LINK(out_block),
	FIELD(out_block, label_source, FIELD_U1, "",
	      "0 none, 1 gpsd, 2 floors, 3 system clock, 4 emulator"),
	FIELD(out_block, clock_state, FIELD_U1, "",
	      "0 no-time, 1 acquiring, 2 locked, 3 holdover, 4 fault"),
	{0},
};

static const struct field group_fields[] = {
	FIELD(out_group, group_id, FIELD_U4, "", "its own row"),
	FIELD(out_group, slice_id, FIELD_U8, "200 ms", "UTC since 2000 without leap seconds"),
	FIELD(out_group, tai_ns, FIELD_I8, NS, "earliest start of its blocks; " TAI),
	FIELD(out_group, first_frame, FIELD_U8, "125 us", "of the slice, on the board's count"),
	FIELD(out_group, run, FIELD_U4, "", "of its first block; 0: outside a run"),
	FIELD(out_group, dma_epoch, FIELD_U4, "", "of its first block"),
	FIELD(out_group, first_block, FIELD_U8, "", "row of /blocks"),
	FIELD(out_group, blocks, FIELD_U4, "", "how many"),
	FIELD(out_group, first_hit, FIELD_U8, "", "index in the columns of /hits"),
	FIELD(out_group, hits, FIELD_U4, "", "how many"),
	{0},
};

static const struct field index_fields[] = {
	FIELD(out_index, index, FIELD_U8, "", "first item of the group"),
	FIELD(out_index, n_items, FIELD_U8, "", "how many"),
	{0},
};

static const struct field missing_fields[] = {
	FIELD(out_missing, tai_ns, FIELD_I8, NS, "start of first_frame; " TAI),
	FIELD(out_missing, first_frame, FIELD_U8, "125 us", "carrying frame, on the board's count"),
	FIELD(out_missing, frames, FIELD_U8, "125 us", "how many in a row"),
	FIELD(out_missing, reason, FIELD_TEXT, "",
	      "link-down, board-fifo, ring-full, crc, alignment, time-fault, no-block"),
	FIELD(out_missing, stream, FIELD_U1, "", "0 pmt, 1 hydrophone, 2 instrument"),
	LINK(out_missing),
	FIELD(out_missing, code, FIELD_U1, "", "the reason as a number, 1..7"),
	FIELD(out_missing, edge, FIELD_U1, "",
	      "1: only because the input begins or ends here; nothing was lost"),
	FIELD(out_missing, run, FIELD_U4, "", "0: outside a run"),
	FIELD(out_missing, dma_epoch, FIELD_U4, "", "counts of one epoch are of one series"),
	{0},
};

static const struct field piece_fields[] = {
	FIELD(out_piece, tai_ns, FIELD_I8, NS, "of its first sample; " TAI),
	FIELD(out_piece, at, FIELD_U8, "samples", "where it begins in its hydrophone's samples"),
	FIELD(out_piece, samples, FIELD_U8, "samples", "without a hole, 192 000 a second"),
	FIELD(out_piece, first_frame, FIELD_U8, "125 us", "carrying frame, on the board's count"),
	FIELD(out_piece, dma_epoch, FIELD_U4, "", "counts of one epoch are of one series"),
	LINK(out_piece),
	FIELD(out_piece, hydrophone, FIELD_U1, "", "of the floor, 0..1"),
	{0},
};

static const struct field telemetry_fields[] = {
	FIELD(out_telemetry, tai_ns, FIELD_I8, NS, "start of its frame; " TAI),
	FIELD(out_telemetry, frame, FIELD_U8, "125 us", "carrying frame, on the board's count"),
	FIELD(out_telemetry, block, FIELD_U4, "", "row of /blocks in which it came"),
	LINK(out_telemetry),
	FIELD(out_telemetry, bytes, FIELD_BYTES, "",
	      "telemetry of the FCM, as tdm/FRAME.md has it"),
	{0},
};

static const struct field serial_fields[] = {
	FIELD(out_serial, tai_ns, FIELD_I8, NS, "start of its frame; " TAI),
	FIELD(out_serial, frame, FIELD_U8, "125 us", "carrying frame, on the board's count"),
	FIELD(out_serial, at, FIELD_U8, "bytes", "where in /instrument/serial_bytes it begins"),
	FIELD(out_serial, sequence, FIELD_U2, "", "of the tunnel"),
	LINK(out_serial),
	FIELD(out_serial, channel, FIELD_U1, "", "of the tunnel"),
	FIELD(out_serial, length, FIELD_U1, "bytes", "how many"),
	{0},
};

#define TABLE(name, path, row, rows, fields, about)                                                \
	{                                                                                          \
		name, path, sizeof(struct row), rows, fields, about                                \
	}

const struct table tables[TABLES] = {
	[TABLE_HITS] = TABLE("hits", "/hits", out_hit, 65536, hit_fields,
			     "hits, those of a group in order of time, all floors together"),
	[TABLE_BLOCKS] = TABLE("blocks", "/blocks", out_block, 4096, block_fields,
			       "headers of the blocks in the order in which they were read"),
	[TABLE_GROUPS] = TABLE("group_info", "/group_info", out_group, SMALL, group_fields,
			       "a group is a slice of 200 ms of all floors"),
	[TABLE_HIT_INDICES] = TABLE("hits_indices", "/hits/_indices", out_index, SMALL,
				    index_fields, "the hits of each group"),
	[TABLE_WAVEFORM_INDICES] =
		TABLE("waveforms_indices", "/waveforms_indices", out_index, SMALL, index_fields,
		      "the samples of the hits of each group"),
	[TABLE_MISSING] = TABLE("missing", "/missing", out_missing, SMALL, missing_fields,
				"frames that are missing, each with its reason"),
	[TABLE_PIECES] = TABLE("pieces", "/hydrophones/pieces", out_piece, SMALL, piece_fields,
			       "pieces of a hydrophone's samples without a hole"),
	[TABLE_TELEMETRY] = TABLE("telemetry", "/instrument/telemetry", out_telemetry, 8192,
				  telemetry_fields, "telemetry of the FCMs, a row a frame"),
	[TABLE_SERIAL] = TABLE("serial", "/instrument/serial", out_serial, SMALL, serial_fields,
			       "records of the serial tunnel"),
};

const struct field waveforms_field = {
	"waveforms", FIELD_U2, 0, 2, "ADC counts", "samples of the hits, one hit after the other"};
const struct field hydrophone_field = {"hydrophone",
				       FIELD_I4,
				       0,
				       4,
				       "ADC counts",
				       "192 000 a second, 24 bits; holes are left out: see pieces"};
const struct field serial_bytes_field = {"serial_bytes",
					 FIELD_U1,
					 0,
					 1,
					 "",
					 "bytes of the serial tunnel, one record after the other"};

const char *out_reason_name(unsigned reason)
{
	static const char *const names[OUT_REASONS] = {"good",	     "link-down", "board-fifo",
						       "ring-full",  "crc",	  "alignment",
						       "time-fault", "no-block"};

	return reason < OUT_REASONS ? names[reason] : "?";
}
