/* SPDX-License-Identifier: GPL-2.0-or-later */
/* libfcmdata on recordings: blocks as from a daemon, with what is missing before them, and hits as rows. */
#include <errno.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/consumer/fcmdata.h"
#include "tdm/frame.h"
#include "tdm/le.h"
#include "tests/unit/rig/floor_rig.h"
#include "tests/unit/rig/record_rig.h"

#define BLOCK REC_FRAMES
#define COUNT (REC_ANCHOR + 1600u)

static struct rec rec;
static struct floor_rig floor_rig;
static struct fcmdata_recording *recording;
static int read_fails_with;

ssize_t pread(int fd, void *to, size_t length, off_t offset)
{
	if (read_fails_with) {
		errno = read_fails_with;
		return -1;
	}
	return syscall(SYS_pread64, fd, to, length, offset);
}

static void frames(unsigned blocks)
{
	static uint8_t cells[REC_FRAMES * TDM_FRAME_BYTES];

	while (blocks-- > 0) {
		for (unsigned i = 0; i < REC_FRAMES; i++) {
			floor_rig_frame(&floor_rig, rec.count + i, cells + i * TDM_FRAME_BYTES);
		}
		rec_cells(&rec, cells, REC_FRAMES);
	}
}

static int set_up(void **state)
{
	rec_init(&rec);
	floor_rig_init(&floor_rig, 1, 2);
	rec_segment(&rec, 1, 0, 5, COUNT, REC_UTC_S);
	frames(4);
	return 0;
}

static int tear_down(void **state)
{
	fcmdata_recording_close(recording);
	recording = NULL;
	rec_fini(&rec);
	return 0;
}

static void open_as(const struct fcmdata_recording_config *config)
{
	assert_int_equal(fcmdata_recording_open(rec.directory, config, &recording), 0);
}

static const struct fcmdata_block *next(void)
{
	const struct fcmdata_block *b = NULL;

	assert_int_equal(fcmdata_recording_next(recording, &b), 1);
	return b;
}

static void blocks_are_checked_ones(void **state)
{
	const struct fcmdata_block *b;
	struct fcmdata_block again;
	const char *text = "";

	open_as(NULL);
	for (unsigned i = 0; i < 4 * FCM_STREAMS; i++) {
		char topic[FCM_TOPIC_BYTES];
		size_t length;

		b = next();
		length = fcm_topic(&b->header, topic);
		assert_int_equal(fcmdata_check(topic, length, &b->header, sizeof(b->header),
					       b->payload, b->header.payload_bytes, &again),
				 FCMDATA_GOOD);
		assert_memory_equal(&again.key, &b->key, sizeof(b->key));
		assert_false(b->repeat || b->again);
		assert_int_equal(b->gap_frames, 0);
	}
	assert_int_equal(fcmdata_recording_next(recording, &b), 0);
	assert_int_equal(fcmdata_recording_troubles(recording, &text), 0);
	assert_null(text);
}

static void what_is_missing_is_lost(void **state)
{
	const struct fcmdata_recording_config c = {.streams = 1u << FCM_HYDROPHONE};
	const struct fcmdata_block *b;

	rec_segment(&rec, 1, 3, 5, COUNT + 10 * BLOCK, REC_UTC_S);
	frames(1);
	open_as(&c);
	for (unsigned i = 0; i < 4; i++) {
		b = next();
		assert_int_equal(b->gap_frames, 0);
	}
	b = next();
	assert_int_equal(b->header.first_frame, COUNT + 10 * BLOCK);
	assert_int_equal(b->gap_first, COUNT + 4 * BLOCK);
	assert_int_equal(b->gap_frames, 6 * BLOCK);
	assert_int_equal(b->gap_lost, 6 * BLOCK);
}

/* What is missing at the begin and at the end of all is an edge; between two segments it is not. */
static void edges_are_counted(void **state)
{
	const struct fcmdata_recording_config c = {.streams = 1u << FCM_PMT};
	uint32_t begin, end, begins = 0, ends = 0, lost = 0;
	int64_t first_ns, last_ns;
	const struct fcmdata_block *b;
	unsigned n = 0;

	rec_fini(&rec);
	rec_init(&rec);
	rec_segment(&rec, 1, 0, 5, COUNT + 5, REC_UTC_S);
	frames(2);
	rec_segment(&rec, 1, 2, 5, COUNT + 10 * BLOCK + 7, REC_UTC_S);
	frames(2);
	open_as(&c);
	assert_int_equal(fcmdata_recording_range(recording, &first_ns, &last_ns), 0);
	assert_int_equal(last_ns - first_ns, (12 * BLOCK + 7 - 5) * TDM_FRAME_NS);
	while (fcmdata_recording_next(recording, &b) == 1) {
		fcmdata_recording_edges(recording, &begin, &end);
		assert_true(n == 0 || begin == 0);
		begins += begin;
		ends += end;
		lost += b->header.frames_lost;
		n++;
	}
	assert_int_equal(n, 6);
	assert_int_equal(begins, 5);
	assert_int_equal(ends, BLOCK - 7);
	assert_int_equal(lost, begins + ends + BLOCK - 5 + 7);
}

static void no_limit_is_zero(void **state)
{
	struct fcmdata_recording_config c = {.streams = 1u << FCM_PMT};
	const struct fcmdata_block *b;
	int64_t second_ns;

	open_as(&c);
	next();
	second_ns = next()->header.tai_ns;
	fcmdata_recording_close(recording);
	c.from_tai_ns = second_ns;
	c.until_tai_ns = second_ns + 1;
	open_as(&c);
	assert_int_equal(next()->header.tai_ns, second_ns);
	assert_int_equal(fcmdata_recording_next(recording, &b), 0);
}

/* Row by row what fcmdata_next_hit() says. */
static void rows_are_the_hits(void **state)
{
	const struct fcmdata_recording_config c = {.streams = 1u << FCM_PMT};
	struct fcm_hit_row *rows;
	const struct fcmdata_block *b;
	int64_t n, i = 0;

	open_as(&c);
	next();
	b = next();
	rows = calloc(b->header.items, sizeof(*rows));
	n = fcmdata_hits(b, FCMDATA_ALL, 9, rows, b->header.items);
	assert_int_equal(n, b->header.items);
	assert_true(n > 20);
	for (unsigned m = 0; m < 6; m++) {
		struct fcmdata_cursor cursor;
		struct fcmdata_hit hit;

		assert_int_equal(fcmdata_begin(b, m, &cursor), 0);
		while (fcmdata_next_hit(&cursor, &hit) == 1) {
			const struct fcm_hit_row *r = &rows[i++];

			assert_int_equal(r->tai_ns, hit.tai_ns);
			assert_int_equal(r->charge, hit.charge);
			assert_int_equal(r->module, m);
			assert_int_equal(r->samples, hit.samples);
			assert_int_equal(r->block, 9);
			assert_ptr_equal(b->payload + r->samples_at, hit.bytes + 16);
		}
	}
	assert_int_equal(i, n);
	free(rows);
}

static void rows_become_columns_and_waveforms(void **state)
{
	const struct fcmdata_recording_config c = {.streams = 1u << FCM_PMT};
	struct fcm_hit_row rows[512], scratch[512];
	static uint16_t values[512 * 64];
	uint64_t offsets[513];
	int64_t tai_ns[512];
	const struct fcmdata_block *b;
	size_t n, samples = 0;

	open_as(&c);
	next();
	b = next();
	n = (size_t)fcmdata_hits(b, FCMDATA_ALL, 0, rows, 512);
	assert_in_range(n, 20, 512);
	fcmdata_hits_order(rows, scratch, n);
	fcmdata_hits_split(rows, n, &(struct fcm_hit_columns){.tai_ns = tai_ns});
	fcmdata_hits_waveforms(rows, n, &b->payload, values, offsets);
	for (size_t i = 0; i < n; i++) {
		assert_true(i == 0 || tai_ns[i - 1] <= tai_ns[i]);
		assert_int_equal(tai_ns[i], rows[i].tai_ns);
		assert_int_equal(offsets[i], samples);
		samples += rows[i].samples;
		for (unsigned k = 0; k < rows[i].samples; k++) {
			const uint8_t *at = b->payload + rows[i].samples_at;
			bool zip = rows[i].flags & FCM_HIT_ZIP;

			assert_int_equal(values[offsets[i] + k],
					 zip ? at[k] : le16_get(at + (size_t)2 * k));
		}
	}
	assert_int_equal(offsets[n], samples);
	assert_int_equal(fcmdata_hits_samples(rows, n), samples);
}

/* The disk's error is returned; what could not be read is read later. */
static void a_disk_that_fails_is_asked_again(void **state)
{
	const struct fcmdata_recording_config c = {.streams = 1u << FCM_PMT};
	const struct fcmdata_block *b = NULL;
	unsigned n = 1;

	open_as(&c);
	next();
	read_fails_with = EIO;
	while (fcmdata_recording_next(recording, &b) == 1) {
		n++;
	}
	assert_int_equal(fcmdata_recording_next(recording, &b), -EIO);
	read_fails_with = 0;
	while (fcmdata_recording_next(recording, &b) == 1) {
		n++;
	}
	assert_int_equal(n, 4);
}

static void nothing_stays_open_or_allocated(void **state)
{
	struct rlimit was, few = {.rlim_cur = 32};
	const struct fcmdata_block *b;
	size_t memory = 0;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
	few.rlim_max = was.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	for (unsigned i = 0; i < 60; i++) {
		memory = i == 20 ? mallinfo2().uordblks + mallinfo2().hblkhd : memory;
		open_as(NULL);
		assert_int_equal(fcmdata_recording_next(recording, &b), 1);
		fcmdata_recording_close(recording);
		recording = NULL;
		assert_int_equal(fcmdata_recording_open("/nowhere", NULL, &recording), -ENOENT);
	}
	assert_int_equal(mallinfo2().uordblks + mallinfo2().hblkhd, memory);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
}

static void what_cannot_be_opened(void **state)
{
	assert_int_equal(fcmdata_recording_open("/nowhere", NULL, &recording), -ENOENT);
	assert_null(recording);
	fcmdata_recording_close(NULL);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(blocks_are_checked_ones),
		CASE(what_is_missing_is_lost),
		CASE(edges_are_counted),
		CASE(no_limit_is_zero),
		CASE(rows_are_the_hits),
		CASE(what_cannot_be_opened),
		CASE(rows_become_columns_and_waveforms),
		CASE(a_disk_that_fails_is_asked_again),
		CASE(nothing_stays_open_or_allocated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
