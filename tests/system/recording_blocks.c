// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The blocks of a recording, by libfcmdata, on stdout: each header of 256 bytes, gap_first, gap_frames and gap_lost as u64,
 * and the payload. For tests that compare what a program made of the recording with what is in it.
 *
 *   recording-blocks RECORDING
 */
#include <stdio.h>
#include <string.h>

#include "daemon/consumer/fcmdata.h"

static int put(const struct fcmdata_block *b)
{
	const uint64_t gap[] = {b->gap_first, b->gap_frames, b->gap_lost};

	return fwrite(&b->header, sizeof(b->header), 1, stdout) == 1 &&
			       fwrite(gap, sizeof(gap), 1, stdout) == 1 &&
			       fwrite(b->payload, 1, b->header.payload_bytes, stdout) ==
				       b->header.payload_bytes
		       ? 0
		       : -1;
}

int main(int argc, char **argv)
{
	struct fcmdata_recording *r;
	const struct fcmdata_block *b;
	int n = argc == 2 ? fcmdata_recording_open(argv[1], NULL, &r) : -1;

	if (n < 0) {
		fprintf(stderr, "usage: recording-blocks RECORDING\n");
		return 2;
	}
	while ((n = fcmdata_recording_next(r, &b)) > 0) {
		if (put(b) < 0) {
			n = -1;
			break;
		}
	}
	fcmdata_recording_close(r);
	return n < 0 || fflush(stdout) != 0;
}
