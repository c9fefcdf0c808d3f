/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes recordings, record by record, for the tests of their readers. See record_rig.h. */
#include "tests/unit/rig/record_rig.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "tdm/record.h"

void rec_init(struct rec *r)
{
	*r = (struct rec){.directory = "/tmp/fcm-record.XXXXXX", .fd = -1};
	assert_non_null(mkdtemp(r->directory));
}

void rec_fini(struct rec *r)
{
	DIR *d = opendir(r->directory);
	const struct dirent *e;

	rec_end(r);
	while (d && (e = readdir(d))) {
		unlinkat(dirfd(d), e->d_name, 0);
	}
	if (d) {
		closedir(d);
	}
	rmdir(r->directory);
}

void rec_raw(struct rec *r, const void *bytes, size_t length)
{
	assert_int_equal(write(r->fd, bytes, length), length);
	r->bytes += length;
}

void rec_record(struct rec *r, struct fcm_record_header h, const void *data)
{
	tdm_record_seal(&h, data);
	rec_raw(r, &h, sizeof(h));
	rec_raw(r, data, h.bytes);
}

void rec_end(struct rec *r)
{
	if (r->fd >= 0) {
		close(r->fd);
	}
	r->fd = -1;
}

void rec_label(struct rec *r, uint32_t epoch, int64_t by_s)
{
	const struct fcm_record_label label = {
		.time_epoch = epoch,
		.source = 1,
		.state = 2,
		.uncertainty_ns = 50,
		.tai_utc_s = REC_TAI_UTC,
		.anchor_count = REC_ANCHOR,
		.anchor_tai_ns = (REC_UTC_S + REC_TAI_UTC + by_s) * 1000000000,
		.leap_tai_ns = INT64_MAX,
	};

	rec_record(r,
		   (struct fcm_record_header){
			   .kind = FCM_RECORD_LABEL, .count = r->count, .bytes = sizeof(label)},
		   &label);
}

void rec_segment(struct rec *r, unsigned link, uint32_t number, uint32_t epoch, uint64_t count,
		 int64_t utc_s)
{
	rec_end(r);
	snprintf(r->path, sizeof(r->path), "%s/link%u-%05u" FCM_SEGMENT_SUFFIX, r->directory, link,
		 number);
	r->fd = open(r->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(r->fd >= 0);
	r->segment = (struct fcm_segment_header){
		.link = (uint8_t)link,
		.tower = 1,
		.floor = (uint8_t)(link + 1),
		.dma_epoch = epoch,
		.segment = number,
		.frame_bytes = TDM_FRAME_BYTES,
		.count = count,
		.utc_ns = utc_s * 1000000000,
		.run = r->run,
		.boot_count = r->boot,
		.block_frames = REC_FRAMES,
		.emulated = 1,
		.data_bytes_max = REC_FRAMES * TDM_FRAME_BYTES,
	};
	r->segment.floors[link % 4] = (struct fcm_segment_floor){
		.cable_delay_ns = REC_DELAY_NS, .tower = 1, .floor = (uint8_t)(link + 1)};
	tdm_segment_seal(&r->segment);
	r->count = count;
	r->bytes = 0;
	rec_raw(r, &r->segment, sizeof(r->segment));
	rec_label(r, 1, 0);
}

uint64_t rec_mono_ns(uint64_t count)
{
	return REC_MONO_NS + count * TDM_FRAME_NS;
}

static void put(struct rec *r, uint8_t kind, uint8_t reason, uint64_t frames, const uint8_t *cells)
{
	rec_record(r,
		   (struct fcm_record_header){
			   .kind = kind,
			   .reason = reason,
			   .count = r->count,
			   .frames = frames,
			   .monotonic_ns = rec_mono_ns(r->count + frames - 1),
			   .bytes = cells ? (uint32_t)frames * TDM_FRAME_BYTES : 0,
		   },
		   cells ? cells : (const uint8_t *)"");
	r->count += frames;
}

void rec_cells(struct rec *r, const uint8_t *cells, unsigned frames)
{
	put(r, FCM_RECORD_DATA, 0, frames, cells);
}

void rec_data(struct rec *r, unsigned frames)
{
	static uint8_t cells[REC_FRAMES * TDM_FRAME_BYTES];

	while (frames > 0) {
		const unsigned n = frames < REC_FRAMES ? frames : REC_FRAMES;

		for (unsigned i = 0; i < n; i++) {
			rec_cell(r->segment.link, r->count + i,
				 cells + (size_t)i * TDM_FRAME_BYTES);
		}
		rec_cells(r, cells, n);
		frames -= n;
	}
}

void rec_gap(struct rec *r, uint8_t reason, uint64_t frames)
{
	put(r, FCM_RECORD_GAP, reason, frames, NULL);
}

void rec_let_go(struct rec *r, uint64_t frames)
{
	put(r, FCM_RECORD_LET_GO, 0, frames, NULL);
}

void rec_cell(unsigned link, uint64_t count, uint8_t cell[TDM_FRAME_BYTES])
{
	const uint64_t word = (count << 8 | link) * 0x9e3779b97f4a7c15u;

	for (unsigned i = 0; i < TDM_FRAME_BYTES; i += sizeof(word)) {
		memcpy(cell + i, &word, sizeof(word));
	}
}

uint8_t *rec_load(const char *path, size_t *ret_length)
{
	FILE *f = fopen(path, "rbe");
	uint8_t *bytes;
	long length;

	assert_non_null(f);
	assert_int_equal(fseek(f, 0, SEEK_END), 0);
	length = ftell(f);
	assert_true(length >= 0);
	rewind(f);
	bytes = malloc((size_t)length + 1);
	assert_non_null(bytes);
	assert_int_equal(fread(bytes, 1, (size_t)length, f), length);
	fclose(f);
	*ret_length = (size_t)length;
	return bytes;
}

void rec_store(const char *path, const void *bytes, size_t length)
{
	FILE *f = fopen(path, "wbe");

	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, length, f), length);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(utimensat(AT_FDCWD, path, (struct timespec[2]){{1}, {1}}, 0), 0);
}
