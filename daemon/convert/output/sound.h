/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The output as sound: the samples of each hydrophone as WAV or FLAC, 192 kHz, 24 bits, one channel. When it begins is in
 * the file (BWF's bext and a comment; FLAC's tags). A hole of a minute at most is filled with zeros, so that time goes on
 * evenly; behind a longer one, or where time makes a step, another file begins. OUTPUT.wav.pieces.csv and
 * OUTPUT.wav.missing.csv say where the holes are.
 *
 * OUTPUT.wav, when there is only one; else OUTPUT-T01F07H0.wav, then OUTPUT-T01F07H0-2.wav. Samples are collected in
 * OUTPUT.parts and encoded at the end.
 */
#pragma once

#include "daemon/convert/output/files.h"
#include "daemon/convert/output/sink.h"

struct sound_part {
	uint8_t tower, floor, hydrophone;
	bool wide;	 /* a sample does not fit into 24 bits */
	uint16_t number; /* of the hydrophone's, from 1 on */
	int32_t file;
	uint32_t dma_epoch, time_epoch;
	uint64_t next_frame;
	uint64_t zeros; /* samples that are missing */
	int64_t tai_ns; /* of the first sample */
	int32_t tai_utc_s;
};

struct sound_state {
	struct files_state files, tables;
	uint32_t parts_n;
	struct sound_part parts[FILES_MAX];
};

sink_open_fn wav_open, flac_open;
