/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The golden files of tests/data/golden (made by make.py there, not by our code): what the writers in C write, and what
 * the readers in C read, of today's format, of a grown one, and of the next major number. schemas/VERSIONS.md is the rule.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/consumer/fcmdata.h"
#include "daemon/data/block.h"
#include "daemon/data/owner_page.h"
#include "daemon/publish/hello.h"
#include "driver/nanet3.h"
#include "tdm/le.h"
#include "tdm/recording.h"
#include "tests/system/truth_read.h"
#include "tests/unit/rig/record_memory.h"

#define T0_NS	 1784500037000000000ll
#define TOPIC	 "pmt.T01.F07"
#define LINK	 2u
#define EPOCH	 5u
#define FIRST	 16000u
#define FILE_MAX 16384u

struct bytes {
	size_t length;
	_Alignas(64) uint8_t at[FILE_MAX];
};

static const char *path_of(const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "tests/data/golden/%s", name);
	return path;
}

static struct bytes *golden(const char *name)
{
	static struct bytes kept[2];
	static unsigned next;
	struct bytes *b = &kept[next++ % 2];
	FILE *f = fopen(path_of(name), "rb");

	assert_non_null(f);
	b->length = fread(b->at, 1, FILE_MAX, f);
	fclose(f);
	assert_in_range(b->length, 1, FILE_MAX - 1);
	return b;
}

/* ---- the data message ---- */

static void put_hit(uint8_t *stream, uint16_t *length, unsigned pmt, uint16_t t5ns, uint32_t charge,
		    uint8_t samples)
{
	const struct hit hit = {.pmt = (uint8_t)pmt,
				.efcm = 7,
				.tower = 1,
				.t5ns = t5ns,
				.samples = samples,
				.charge = charge,
				.zip = true};
	uint8_t *at = stream + *length;

	hit_pack(&hit, at);
	for (uint8_t i = 0; i < samples; i++) {
		at[HIT_HEADER_BYTES + i] = i;
	}
	*length = (uint16_t)(*length + HIT_HEADER_BYTES + samples);
}

static struct label label(void)
{
	return (struct label){.time_epoch = 9,
			      .source = LABEL_GPSD,
			      .state = CLOCK_LOCKED,
			      .uncertainty_ns = 100,
			      .tai_utc_s = 37,
			      .anchor_count = FIRST,
			      .anchor_tai_ns = T0_NS,
			      .leap_tai_ns = INT64_MAX};
}

static void test_block_is_written(void **state)
{
	static uint8_t frame[TDM_FRAME_BYTES], stream[2][TDM_PMT_STREAM];
	struct tdm_pmt_slot slot[2] = {{.stream = stream[0]}, {.stream = stream[1]}};
	const struct block_frame in[2] = {{.frame = frame}, {.loss = TDM_LOSS_CRC}};
	const struct block_plan plan = {
		.stream = FCM_PMT,
		.board = 3,
		.link = LINK,
		.tower = 1,
		.floor = 7,
		.run = 42,
		.dma_epoch = EPOCH,
		.flags = FCM_BLOCK_EMULATED,
		.first_frame = FIRST,
		.frames = 2,
		.block_frames = 2,
		.in = in,
		.label = label(),
		.cable_delay_ns = 490000,
	};
	struct block b = {.capacity = 4096};
	struct bytes *wanted;

	put_hit(stream[0], &slot[0].length, 0, 1000, 1500, 8);
	put_hit(stream[0], &slot[0].length, 0, 2000, 700, 0);
	put_hit(stream[1], &slot[1].length, 5, 24999, 4000000, 24);
	le16_put(frame + TDM_OFF_SLOT_VALID, TDM_VALID_MODULE(0) | TDM_VALID_MODULE(5));
	tdm_pmt_slot_put(frame, 0, &slot[0]);
	tdm_pmt_slot_put(frame, 5, &slot[1]);
	assert_true(block_capacity(&plan) <= b.capacity);
	b.payload = calloc(1, b.capacity);
	assert_non_null(b.payload);
	block_build(&plan, &b.header, b.payload);
	wanted = golden("block.payload");
	assert_int_equal(b.header.payload_bytes, wanted->length);
	assert_memory_equal(b.payload, wanted->at, wanted->length);
	wanted = golden("block.header");
	assert_int_equal(sizeof(b.header), wanted->length);
	assert_memory_equal(&b.header, wanted->at, wanted->length);
	free(b.payload);
}

static enum fcmdata_damage read_block(const char *name, struct fcmdata_block *ret_block)
{
	const struct bytes *payload = golden("block.payload"), *header = golden(name);

	return fcmdata_check(TOPIC, strlen(TOPIC), header->at, header->length, payload->at,
			     payload->length, ret_block);
}

static void check_block(const char *name, uint32_t flags)
{
	struct fcmdata_cursor c;
	struct fcmdata_block b;
	struct fcmdata_hit hit;

	assert_int_equal(read_block(name, &b), FCMDATA_GOOD);
	assert_int_equal(b.header.flags, flags);
	assert_int_equal(b.header.first_frame, FIRST);
	assert_true(b.header.tai_ns == T0_NS + 490000);
	assert_int_equal(b.key.block_frames, 2);
	assert_int_equal(fcmdata_status(&b, 1), TDM_LOSS_CRC);
	assert_int_equal(fcmdata_begin(&b, 0, &c), 0);
	assert_int_equal(fcmdata_next_hit(&c, &hit), 1);
	assert_int_equal(hit.charge, 1500);
	assert_int_equal(fcmdata_next_hit(&c, &hit), 1);
	assert_int_equal(fcmdata_next_hit(&c, &hit), 0);
	assert_int_equal(fcmdata_begin(&b, 5, &c), 0);
	assert_int_equal(fcmdata_next_hit(&c, &hit), 1);
	assert_int_equal(hit.charge, 4000000);
	assert_true(hit.tai_ns == b.header.last_item_tai_ns);
}

static void test_block_is_read(void **state)
{
	struct fcmdata_block b;

	check_block("block.header", FCM_BLOCK_PARTIAL | FCM_BLOCK_EMULATED);
	check_block("block-grown.header", FCM_BLOCK_PARTIAL | FCM_BLOCK_EMULATED | 1u << 31);
	assert_int_equal(read_block("block-next.header", &b), FCMDATA_VERSION);
}

/* What a later version puts behind the known header must all be there, and say how long it is. */
static void test_block_of_another_length(void **state)
{
	struct bytes *payload = golden("block.payload"), *header = golden("block-grown.header");
	struct fcmdata_block b;

	for (size_t n = 0; n < header->length; n++) {
		assert_int_equal(fcmdata_check(TOPIC, strlen(TOPIC), header->at, n, payload->at,
					       payload->length, &b),
				 FCMDATA_MALFORMED);
	}
}

/* Damage is not another version. */
static void test_damaged_version(void **state)
{
	struct bytes *payload = golden("block.payload"), *header = golden("block.header");
	struct fcmdata_block b;

	header->at[offsetof(struct fcm_block_header, version)] = 2;
	assert_int_equal(fcmdata_check(TOPIC, strlen(TOPIC), header->at, header->length,
				       payload->at, payload->length, &b),
			 FCMDATA_HEADER_CRC);
}

/* ---- HELLO and WELCOME ---- */

static void test_hello(void **state)
{
	static const char *const names[] = {"hello.json", "hello-grown.json"};
	struct hello hello;
	char hint[200];

	for (unsigned i = 0; i < 2; i++) {
		const struct bytes *text = golden(names[i]);

		assert_int_equal(hello_parse(text->at, text->length, &hello, hint, sizeof(hint)),
				 0);
		assert_string_equal(hello.name, "trigger-1");
		assert_string_equal(hello.group, "trigger");
		assert_int_equal(hello.credit, 64);
	}
	assert_int_equal(hello_parse(golden("hello-next.json")->at,
				     golden("hello-next.json")->length, &hello, hint, sizeof(hint)),
			 -EBADMSG);
	assert_string_equal(hint, "\"protocol\" must be 1");
}

static void test_welcome_is_written(void **state)
{
	const struct bytes *wanted = golden("welcome.json");
	char text[HELLO_TEXT_MAX];

	assert_int_equal(hello_welcome(3, "trigger", 1u << FCM_PMT, FCM_DROP_OLDEST, text),
			 wanted->length);
	assert_memory_equal(text, wanted->at, wanted->length);
}

/* ---- the recording ---- */

static void test_segment_is_written(void **state)
{
	const struct bytes *wanted = golden("segment.fcmr");
	struct fcm_segment_header h = {.board = 3,
				       .link = LINK,
				       .tower = 1,
				       .floor = 7,
				       .dma_epoch = EPOCH,
				       .frame_bytes = TDM_FRAME_BYTES,
				       .count = FIRST,
				       .utc_ns = T0_NS - 37000000000ll,
				       .run = 42,
				       .serial = 0x1234,
				       .boot_count = 8,
				       .data_bytes_max = 1u << 20};
	const struct fcm_record_label l = {.time_epoch = 9,
					   .source = 1,
					   .state = 2,
					   .uncertainty_ns = 100,
					   .tai_utc_s = 37,
					   .anchor_count = FIRST,
					   .anchor_tai_ns = T0_NS,
					   .leap_tai_ns = INT64_MAX};
	struct fcm_record_header r = {.kind = FCM_RECORD_LABEL,
				      .count = FIRST,
				      .monotonic_ns = 123456789,
				      .bytes = sizeof(l)};

	tdm_segment_seal(&h);
	tdm_record_seal(&r, &l);
	assert_memory_equal(wanted->at, &h, sizeof(h));
	assert_memory_equal(wanted->at + sizeof(h), &r, sizeof(r));
	assert_memory_equal(wanted->at + sizeof(h) + sizeof(r), &l, sizeof(l));
}

/* The kinds of a segment's records as letters; those that are not known, "?". */
static void check_segment(const char *name, const char *kinds)
{
	struct tdm_header frame;
	struct fcm_record_header h;
	struct recording_file f;
	unsigned n = 0;

	assert_int_equal(recording_open(&f, path_of(name)), 0);
	assert_int_equal(f.walk.segment.run, 42);
	for (; recording_next(&f, &h) > 0; n++) {
		const char letter = h.kind <= FCM_RECORD_INDEX ? "-DGLTI"[h.kind] : '?';

		assert_int_equal(letter, kinds[n]);
		if (h.kind == FCM_RECORD_LABEL) {
			assert_true(recording_label(f.data).anchor_tai_ns == T0_NS);
		} else if (h.kind == FCM_RECORD_DATA) {
			assert_int_equal(tdm_frame_check(f.data, &frame), TDM_OK);
			assert_int_equal(frame.floor, 7);
		} else if (h.kind == FCM_RECORD_GAP) {
			assert_int_equal(tdm_record_loss(&h),
					 h.reason == 1 ? TDM_LOSS_LINK_DOWN : TDM_LOSS_BOARD_FIFO);
		}
	}
	assert_int_equal(n, strlen(kinds));
	assert_int_equal(f.walk.end, RECORD_WHOLE);
	recording_close(&f);
}

static void test_segment_is_read(void **state)
{
	struct recording_file f;

	check_segment("segment.fcmr", "TDGLI");
	check_segment("segment-grown.fcmr", "T?DGLI");
	assert_int_equal(recording_open(&f, path_of("segment-next.fcmr")), -EPROTO);
}

/* A segment whose longer header is not whole yet is as short as one without. */
static void test_segment_cut_in_its_header(void **state)
{
	const struct bytes *whole = golden("segment-grown.fcmr");
	struct record_walk w;

	for (size_t length = 0; length <= 160; length++) {
		struct record_memory m = {whole->at, length};

		assert_int_equal(tdm_walk_begin(&w, record_read_memory, &m),
				 length < 160 ? -ENODATA : 0);
	}
	assert_int_equal(w.offset, 160);
}

/* ---- the owner page ---- */

static const struct owner_config groups = {.groups = 2, .group_streams = {1, 2}};

static struct owner_account account(void)
{
	struct owner_account a;

	memset(&a, 0, sizeof(a));
	a.cursor =
		(struct assemble_point){.count = 17604,
					.frame = 17600,
					.delay = 4,
					.delay_known = 1,
					.tower = 1,
					.floor = 7,
					.slice_good = 1,
					.marked = 1,
					.mark = {.count = 17603, .sequence = 1600, .number = 1599}};
	a.labels = a.runs = 1;
	a.slice_blocks[1] = 20;
	a.label[0].label = label();
	a.run[0] = (struct owner_run){.from_frame = FIRST, .run = 42};
	a.acked[0] = 5;
	return a;
}

/* A change of these bytes needs another VERSION in owner_page.c, or belongs into reserved ones. */
static void test_page_is_written(void **state)
{
	static uint8_t page[NANET3_PAGE];
	struct owner_account a = account();
	struct ledger_link_row link = {.second = 1, .cells = 8000, .tower = 1, .floor = 7};
	struct ledger_stream_row stream = {.second = 1, .offered = 8000};
	const struct ledger_loss loss = {.code = TDM_LOSS_CRC,
					 .tower = 1,
					 .floor = 7,
					 .first = 9000,
					 .next = 9001,
					 .frames = 1};
	const struct bytes *wanted = golden("owner.page");
	bool gave_way;

	owner_format(page, &groups, EPOCH, &a);
	owner_set_sent(page, 17600);
	link.verdicts[TDM_GOOD] = 7999;
	link.verdicts[TDM_LOSS_CRC] = 1;
	stream.outcome[OUTCOME_ACKED] = 7900;
	stream.outcome[OUTCOME_DROP_SLOW] = 100;
	assert_true(owner_keep_link(page, &link));
	assert_true(owner_keep_stream(page, &stream));
	assert_int_equal(owner_keep_loss(page, &loss, &gave_way), 0);
	assert_int_equal(wanted->length, NANET3_PAGE);
	for (size_t i = 0; i < NANET3_PAGE; i++) {
		if (page[i] != wanted->at[i]) {
			fail_msg("byte %zu is %02x, golden %02x", i, page[i], wanted->at[i]);
		}
	}
}

static unsigned told;

static void tell_link(void *context, const struct ledger_link_row *row)
{
	told += row->verdicts[TDM_LOSS_CRC] == 1 && row->cells == 8000;
}

static void tell_stream(void *context, const struct ledger_stream_row *row)
{
	told += row->outcome[OUTCOME_DROP_SLOW] == 100 && row->closed;
}

static void tell_loss(void *context, const struct ledger_loss *loss)
{
	told += loss->first == 9000 && loss->next == 9001;
}

static void test_page_is_read(void **state)
{
	static const char *const names[] = {"owner.page", "owner-grown.page"};
	const struct ledger_sink sink = {tell_stream, tell_link, NULL};
	struct owner_account a, wanted = account();

	for (unsigned i = 0; i < 2; i++) {
		struct bytes *page = golden(names[i]);

		assert_int_equal(owner_load(page->at, &groups, EPOCH, &a), 0);
		assert_memory_equal(&a, &wanted, sizeof(a));
		assert_int_equal(owner_sent(page->at), 17600);
		told = 0;
		owner_each_kept(page->at, EPOCH, LINK, UINT64_MAX, &sink);
		owner_each_loss(page->at, EPOCH, LINK, tell_loss, NULL);
		assert_int_equal(told, 3);
	}
	assert_int_equal(owner_load(golden("owner-next.page")->at, &groups, EPOCH, &a), -EPROTO);
}

/* What a later version says in the head's reserved bytes does not hold of what we write: adopted without it. */
static void test_page_head_in_use(void **state)
{
	struct bytes *page = golden("owner.page");
	struct owner_account a;
	uint32_t crc;

	page->at[13] = 0xa5;
	crc = tdm_crc32c(page->at, 20);
	memcpy(page->at + 20, &crc, sizeof(crc));
	assert_int_equal(owner_load(page->at, &groups, EPOCH, &a), -EREMCHG);
	assert_int_equal(owner_adopt(page->at, &groups, EPOCH, &a), 0);
	assert_int_equal(a.cursor.count, 17604);
	assert_int_equal(page->at[13], 0);
	assert_int_equal(owner_load(page->at, &groups, EPOCH, &a), 0);
}

/* ---- the emulator's truth ---- */

static void test_truth_is_written(void **state)
{
	const struct truth_head head = {.magic = TRUTH_MAGIC,
					.version = TRUTH_VERSION,
					.record_bytes = sizeof(struct truth_record),
					.links = 4,
					.seed = 7,
					.tai_start_ns = T0_NS};
	const struct truth_record record = {.count = FIRST,
					    .floor_frame = FIRST,
					    .tai_ns = T0_NS + 490000,
					    .link = LINK,
					    .tower = 1,
					    .floor = 7,
					    .hits = {2, 0, 0, 0, 0, 1},
					    .hit_hash = {1, 2, 3, 4, 5, 6},
					    .sample_hash = {8, 9}};
	const struct bytes *wanted = golden("truth.bin");

	assert_memory_equal(wanted->at, &head, sizeof(head));
	assert_memory_equal(wanted->at + sizeof(head), &record, sizeof(record));
}

static void test_truth_is_read(void **state)
{
	static const char *const names[] = {"truth.bin", "truth-grown.bin"};
	struct truth t = {.records = 0};

	for (unsigned i = 0; i < 2; i++) {
		const struct bytes *file = golden(names[i]);

		assert_int_equal(truth_read(file->at, file->length, &t), 0);
		assert_int_equal(t.records, 2);
		assert_int_equal(truth_at(&t, 1)->count, FIRST + 1);
		assert_int_equal(truth_at(&t, 1)->fate, TDM_LOSS_CRC);
		assert_int_equal(truth_at(&t, 1)->hits[0], 2);
		assert_int_equal(truth_at(&t, 1)->sample_hash[1], 9);
	}
	assert_int_equal(truth_read(golden("truth-next.bin")->at, 384, &t), -EPROTO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_block_is_written),
		cmocka_unit_test(test_block_is_read),
		cmocka_unit_test(test_block_of_another_length),
		cmocka_unit_test(test_damaged_version),
		cmocka_unit_test(test_hello),
		cmocka_unit_test(test_welcome_is_written),
		cmocka_unit_test(test_segment_is_written),
		cmocka_unit_test(test_segment_is_read),
		cmocka_unit_test(test_segment_cut_in_its_header),
		cmocka_unit_test(test_page_is_written),
		cmocka_unit_test(test_page_is_read),
		cmocka_unit_test(test_page_head_in_use),
		cmocka_unit_test(test_truth_is_written),
		cmocka_unit_test(test_truth_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
