/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The consumer's checks and the judge, against blocks as the daemon builds them: a floor with a stream
 * of hits that cross frames is cut into blocks, received, recorded, and compared with the truth that was
 * written when the floor was made.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <sqlite3.h>
#include <unistd.h>
#include <xxhash.h>

#include "daemon/data/block.h"
#include "tdm/deframe.h"
#include "tests/system/consumer_check.h"
#include "tests/system/truth_book.h"

#define BLOCK_FRAMES 80u
#define BLOCKS	     4u
#define FRAMES	     (BLOCK_FRAMES * BLOCKS)
#define SAID	     (FRAMES + 1) /* one more, for the tails of the last */
#define FIRST	     (8000ull * 1234 + 7840)
#define COUNT_AHEAD  7u /* the board receives a frame so many counts later */
#define LINK	     2u
#define UTC_S	     1797638400ll /* 2026-12-18 */
#define TAI_UTC_S    37
#define CABLE_NS     490004 /* one way, 100 km */

struct floor_model {
	uint64_t rng;
	uint8_t pending[TDM_MODULES][HIT_MAX_BYTES]; /* rest of a hit that goes on */
	size_t pending_bytes[TDM_MODULES];
};

struct bench {
	uint8_t frame[SAID][TDM_FRAME_BYTES];
	struct truth_record truth[SAID];
	uint8_t loss[SAID]; /* enum tdm_loss */
	struct label label;
	struct consumer_check *check;
	char truth_path[32], record_path[32], ledger_path[32];
	const char *group; /* whose drops count; NULL: all groups' */
	int record_fd;
};

static struct bench bench;

static unsigned draw(struct floor_model *w, unsigned n)
{
	w->rng ^= w->rng << 13;
	w->rng ^= w->rng >> 7;
	w->rng ^= w->rng << 17;
	return (unsigned)(w->rng >> 20) % n;
}

/* A hit as the FCM sends it, born up to 1000 frames earlier, as far as the second before. */
static size_t make_hit(struct floor_model *w, unsigned module, uint64_t frame,
		       uint8_t bytes[HIT_MAX_BYTES])
{
	struct hit h = {
		.pmt = (uint8_t)module,
		.efcm = 3,
		.tower = 1,
		.t5ns = (uint16_t)draw(w, HIT_T5NS_MAX + 1),
		.frame = (uint16_t)((frame - draw(w, 1000)) % TDM_FRAMES_PER_SECOND),
		.samples = (uint8_t)draw(w, 37),
		.charge = draw(w, 1u << 22),
		.zip = draw(w, 2),
	};

	hit_pack(&h, bytes);
	for (size_t i = HIT_HEADER_BYTES; i < hit_bytes(bytes); i++) {
		bytes[i] = (uint8_t)draw(w, 256);
	}
	return hit_bytes(bytes);
}

/* One module's slot of a frame. Module 0 has always more than fits. */
static void fill_slot(struct floor_model *w, unsigned module, unsigned n)
{
	uint8_t stream[TDM_PMT_STREAM], hit[HIT_MAX_BYTES], all[2 * TDM_PMT_STREAM];
	struct truth_record *t = &bench.truth[n];
	unsigned hits = module == 0 ? 1000 : draw(w, 5);
	size_t used = w->pending_bytes[module], hashed = 0;
	struct tdm_pmt_slot slot = {.stream = stream, .flags = TDM_PMT_POWERED};

	memcpy(stream, w->pending[module], used);
	w->pending_bytes[module] = 0;
	slot.first = (uint16_t)used;
	while (hits-- > 0 && used < TDM_PMT_STREAM) {
		size_t bytes = make_hit(w, module, FIRST + n, hit);
		size_t here = bytes < TDM_PMT_STREAM - used ? bytes : TDM_PMT_STREAM - used;

		memcpy(stream + used, hit, here);
		used += here;
		w->pending_bytes[module] = bytes - here;
		memcpy(w->pending[module], hit + here, bytes - here);
		memcpy(all + hashed, hit, bytes);
		hashed += bytes;
		t->hits[module]++;
	}
	slot.length = (uint16_t)used;
	tdm_pmt_slot_put(bench.frame[n], module, &slot);
	t->hit_hash[module] = hashed > 0 ? XXH3_64bits(all, hashed) : 0;
}

static void fill_frame(struct floor_model *w, unsigned n)
{
	struct tdm_header header = {.tower = 1, .floor = 3, .slot_valid = 0x7ff};
	uint8_t samples[4 * TDM_SAMPLES];
	struct truth_record *t = &bench.truth[n];

	*t = (struct truth_record){
		.count = FIRST + n + COUNT_AHEAD,
		.floor_frame = FIRST + n,
		.tai_ns = label_tai_ns(&bench.label, FIRST + n) + CABLE_NS,
		.link = LINK,
		.tower = 1,
		.floor = 3,
	};
	for (unsigned m = 0; m < TDM_MODULES; m++) {
		fill_slot(w, m, n);
	}
	for (unsigned h = 0; h < TDM_HYDROPHONES; h++) {
		struct tdm_hydro_slot slot = {.samples = samples, .flags = 1, .counter = 24 * n};

		for (unsigned i = 0; i < sizeof(samples); i++) {
			samples[i] = (uint8_t)draw(w, 256);
		}
		tdm_hydro_slot_put(bench.frame[n], h, &slot);
		t->sample_hash[h] = XXH3_64bits(samples, sizeof(samples));
	}
	tdm_frame_seal(bench.frame[n], &header);
}

static int setup(void **state)
{
	struct floor_model w = {.rng = 0x1234567887654321ull};

	memset(&bench, 0, sizeof(bench));
	bench.label = (struct label){
		.time_epoch = 1,
		.source = LABEL_GPSD,
		.state = CLOCK_LOCKED,
		.uncertainty_ns = 50,
		.tai_utc_s = TAI_UTC_S,
		.anchor_count = 8000ull * 1234,
		.anchor_tai_ns = (UTC_S + TAI_UTC_S) * 1000000000ll,
		.leap_tai_ns = INT64_MAX,
	};
	for (unsigned n = 0; n < SAID; n++) {
		fill_frame(&w, n);
	}
	strcpy(bench.truth_path, "/tmp/fcm-truth-XXXXXX");
	strcpy(bench.record_path, "/tmp/fcm-record-XXXXXX");
	strcpy(bench.ledger_path, "/tmp/fcm-ledger-XXXXXX");
	close(mkstemp(bench.truth_path));
	close(mkstemp(bench.ledger_path));
	bench.record_fd = mkstemp(bench.record_path);
	bench.check = consumer_check_create(TAI_UTC_S, INT64_MAX, HIT_DAY_FROM_0, bench.record_fd);
	return bench.check ? 0 : -1;
}

static int teardown(void **state)
{
	consumer_check_destroy(bench.check);
	close(bench.record_fd);
	unlink(bench.truth_path);
	unlink(bench.record_path);
	unlink(bench.ledger_path);
	return 0;
}

/* ---- daemon's side ---- */

struct sent {
	struct fcm_block_header header;
	uint8_t *payload;
};

static struct sent build(unsigned n, enum fcm_stream stream)
{
	struct block_frame in[BLOCK_FRAMES];
	unsigned first = n * BLOCK_FRAMES, next = first + BLOCK_FRAMES;
	struct block_plan plan = {
		.stream = stream,
		.link = LINK,
		.tower = 1,
		.floor = 3,
		.dma_epoch = 9,
		.first_frame = FIRST + first,
		.frames = BLOCK_FRAMES,
		.block_frames = BLOCK_FRAMES,
		.in = in,
		.after = bench.loss[next] ? NULL : bench.frame[next],
		.label = bench.label,
		.cable_delay_ns = CABLE_NS,
	};
	struct block b = {.capacity = 0};

	for (unsigned f = 0; f < BLOCK_FRAMES; f++) {
		in[f] = (struct block_frame){
			.frame = bench.loss[first + f] ? NULL : bench.frame[first + f],
			.loss = bench.loss[first + f],
		};
	}
	b.capacity = block_capacity(&plan);
	b.payload = malloc(b.capacity);
	assert_non_null(b.payload);
	block_build(&plan, &b.header, b.payload);
	return (struct sent){b.header, b.payload};
}

/* After a change to the bytes. */
static void seal(struct sent *s)
{
	s->header.payload_crc = tdm_crc32c(s->payload, s->header.payload_bytes);
	s->header.header_crc =
		tdm_crc32c(&s->header, offsetof(struct fcm_block_header, header_crc));
}

/* The hits of a block lie between the times that its header names, and both are reached. */
static void hold_times(const struct fcmdata_block *b)
{
	int64_t first = INT64_MAX, last = INT64_MIN;
	struct fcmdata_cursor c;
	struct fcmdata_hit hit;
	unsigned hits = 0;

	for (unsigned m = 0; m < b->header.channels; m++) {
		assert_int_equal(fcmdata_begin(b, m, &c), 0);
		while (fcmdata_next_hit(&c, &hit) == 1) {
			first = hit.tai_ns < first ? hit.tai_ns : first;
			last = hit.tai_ns > last ? hit.tai_ns : last;
			hits++;
		}
	}
	assert_int_equal(hits, b->header.items);
	assert_true(first == b->header.first_item_tai_ns && last == b->header.last_item_tai_ns);
}

/* As libfcmdata would hand it out, were it new. */
static enum fcmdata_damage look(const struct sent *s, struct fcmdata_block *ret_block)
{
	const char *topic = s->header.stream == FCM_PMT ? "pmt.T01.F03" : "hydrophone.T01.F03";

	return fcmdata_check(topic, strlen(topic), &s->header, sizeof(s->header), s->payload,
			     s->header.payload_bytes, ret_block);
}

static bool receive_as(const struct sent *s, bool repeat)
{
	struct fcmdata_block b;

	if (look(s, &b) != FCMDATA_GOOD) {
		return false;
	}
	b.repeat = repeat;
	assert_int_equal(b.key.sequence, s->header.sequence);
	assert_int_equal(b.key.floor, s->header.floor);
	return consumer_check_block(bench.check, &b, s->header.tai_ns + 11000000);
}

static bool receive(const struct sent *s)
{
	return receive_as(s, false);
}

static void receive_all(void)
{
	for (unsigned n = 0; n < BLOCKS; n++) {
		for (unsigned stream = FCM_PMT; stream <= FCM_HYDROPHONE; stream++) {
			struct sent s = build(n, stream);
			struct fcmdata_block b;

			assert_int_equal(look(&s, &b), FCMDATA_GOOD);
			if (stream == FCM_PMT) {
				hold_times(&b);
			}
			assert_true(receive(&s));
			free(s.payload);
		}
	}
}

/* ---- judging ---- */

struct loss_row {
	int kind;
	const char *code, *stream;
	uint64_t first, frames;
};

static void write_ledger(const struct loss_row *rows, unsigned count)
{
	char text[512];
	sqlite3 *db;

	assert_int_equal(sqlite3_open(bench.ledger_path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db,
				      "CREATE TABLE IF NOT EXISTS loss (kind, code, link, stream, "
				      "grp, first, frames, until)",
				      NULL, NULL, NULL),
			 SQLITE_OK);
	for (unsigned i = 0; i < count; i++) {
		snprintf(text, sizeof(text),
			 "INSERT INTO loss VALUES (%d, '%s', %u, '%s', 'g', %llu, %llu, NULL)",
			 rows[i].kind, rows[i].code, LINK, rows[i].stream,
			 (unsigned long long)rows[i].first, (unsigned long long)rows[i].frames);
		assert_int_equal(sqlite3_exec(db, text, NULL, NULL, NULL), SQLITE_OK);
	}
	sqlite3_close(db);
}

static struct book *judge_drift(bool with_ledger, int64_t drift_ns)
{
	struct truth_head head = {.magic = TRUTH_MAGIC,
				  .version = TRUTH_VERSION,
				  .record_bytes = sizeof(struct truth_record),
				  .links = 4};
	FILE *f = fopen(bench.truth_path, "w");
	const char *reason = "";
	struct book *b;

	assert_non_null(f);
	assert_int_equal(fwrite(&head, sizeof(head), 1, f), 1);
	assert_int_equal(fwrite(bench.truth, sizeof(bench.truth[0]), SAID, f), SAID);
	fclose(f);
	assert_int_equal(consumer_check_flush(bench.check), 0);
	assert_int_equal(book_open(bench.truth_path, &b), 0);
	if (with_ledger) {
		assert_int_equal(book_add_ledger(b, bench.ledger_path, bench.group, &reason), 0);
	}
	book_allow_drift(b, drift_ns);
	assert_int_equal(book_add_record(b, bench.record_path), 0);
	book_judge(b);
	return b;
}

static struct book *judge(bool with_ledger)
{
	return judge_drift(with_ledger, 0);
}

static void test_all_equal(void **state)
{
	const struct consumer_counts *n;
	struct book *b;

	receive_all();
	n = consumer_check_counts(bench.check);
	assert_int_equal(n->blocks, 2 * BLOCKS);
	assert_int_equal(n->frames, 2 * FRAMES);
	assert_int_equal(n->link_frames[LINK], FRAMES);
	assert_int_equal(n->samples, FRAMES * TDM_SAMPLES * TDM_HYDROPHONES);
	assert_true(n->hits > 20 * FRAMES);
	assert_int_equal(n->misjudged + n->malformed + n->bad_hits + n->time_errors, 0);
	assert_int_equal(n->label_errors + n->repeats + n->gaps + n->no_time, 0);
	assert_int_equal(n->latency_min_ns, 1000000);
	assert_int_equal(consumer_check_latency(n, 0.99), 1500000);
	b = judge(false);
	for (unsigned stream = 0; stream < BOOK_STREAMS; stream++) {
		const struct book_tally *t = book_tally(b, LINK, stream);

		assert_int_equal(t->frames, FRAMES);
		assert_int_equal(t->equal, FRAMES);
		assert_int_equal(book_errors(t), 0);
		assert_int_equal(t->tai_max_ns, 0);
		assert_int_equal(t->floor, 3);
	}
	assert_int_equal(book_tally(b, LINK, FCM_PMT)->hits, n->hits);
	assert_int_equal(book_tally(b, LINK, FCM_HYDROPHONE)->samples, n->samples);
	assert_int_equal(book_tally(b, 0, FCM_PMT)->frames, 0);
	book_close(b);
}

/* Frames lost on the way: in the middle of a block, and the first of one, whose tails the block before
 * then lacks. Module 0's last hit always crosses: the frame before is cut by it. */
static void test_lost_frames(void **state)
{
	const struct loss_row named[] = {{0, "crc", "", FIRST + 40 + COUNT_AHEAD, 1},
					 {0, "crc", "", FIRST + 80 + COUNT_AHEAD, 1},
					 {0, "alignment", "", FIRST + 100 + COUNT_AHEAD, 2}};
	const struct book_tally *t;
	struct book *b;

	bench.loss[40] = TDM_LOSS_CRC;
	bench.truth[40].fate = TDM_LOSS_CRC;
	bench.loss[80] = TDM_LOSS_CRC;
	bench.truth[80].fate = TDM_LOSS_CRC;
	bench.loss[100] = TDM_LOSS_ALIGNMENT; /* the truth does not know */
	bench.loss[101] = TDM_LOSS_ALIGNMENT;
	receive_all();
	assert_int_equal(consumer_check_counts(bench.check)->frames_bad, 8);
	b = judge(false); /* without a ledger the block's word is enough */
	assert_int_equal(book_errors(book_tally(b, LINK, FCM_PMT)), 0);
	book_close(b);
	write_ledger(NULL, 0); /* what truth and block know must stand in it, too */
	b = judge(true);
	assert_int_equal(book_tally(b, LINK, FCM_PMT)->unnamed, 4);
	book_close(b);
	write_ledger(named, 3);
	b = judge(true);
	t = book_tally(b, LINK, FCM_PMT);
	assert_int_equal(book_errors(t), 0);
	assert_int_equal(t->missing[TDM_LOSS_CRC], 2);
	assert_int_equal(t->missing[TDM_GOOD], 2);
	assert_in_range(t->cut, 1, 3); /* a hit may end exactly with its frame */
	assert_int_equal(t->equal + t->cut, FRAMES - 4);
	t = book_tally(b, LINK, FCM_HYDROPHONE);
	assert_int_equal(t->equal, FRAMES - 4);
	assert_int_equal(t->cut, 0);
	book_close(b);
}

static void test_dropped_blocks(void **state)
{
	const struct loss_row named[] = {{1, "slow", "pmt", FIRST + BLOCK_FRAMES, BLOCK_FRAMES}};
	const struct loss_row late = {1, "slow", "pmt", FIRST + 2 * BLOCK_FRAMES, BLOCK_FRAMES};
	struct book *b;

	for (unsigned n = 0; n < BLOCKS; n++) {
		struct sent s = build(n, FCM_PMT);

		assert_true(n == 1 || receive(&s));
		free(s.payload);
	}
	assert_int_equal(consumer_check_counts(bench.check)->gaps, BLOCK_FRAMES);
	write_ledger(NULL, 0);
	b = judge(true);
	assert_int_equal(book_tally(b, LINK, FCM_PMT)->unnamed, BLOCK_FRAMES);
	book_close(b);
	write_ledger(named, 1);
	b = judge(true);
	assert_int_equal(book_tally(b, LINK, FCM_PMT)->dropped, BLOCK_FRAMES);
	assert_int_equal(book_errors(book_tally(b, LINK, FCM_PMT)), 0);
	assert_int_equal(book_tally(b, LINK, FCM_PMT)->late, 0);
	book_close(b);
	write_ledger(&late, 1); /* delivered all the same: what it acknowledged came too late */
	b = judge(true);
	assert_int_equal(book_tally(b, LINK, FCM_PMT)->dropped, BLOCK_FRAMES);
	assert_int_equal(book_tally(b, LINK, FCM_PMT)->late, BLOCK_FRAMES);
	book_close(b);
	bench.group = "g";
	b = judge(true);
	assert_int_equal(book_tally(b, LINK, FCM_PMT)->dropped, BLOCK_FRAMES);
	book_close(b);
	bench.group = "h"; /* what others dropped explains nothing */
	b = judge(true);
	assert_int_equal(book_tally(b, LINK, FCM_PMT)->unnamed, BLOCK_FRAMES);
	assert_int_equal(book_tally(b, LINK, FCM_PMT)->late, 0);
	book_close(b);
}

static void test_repeats(void **state)
{
	struct sent s = build(0, FCM_PMT);
	const struct consumer_counts *n;
	struct book *b;

	assert_true(receive(&s));
	s.header.flags |= FCM_BLOCK_RESENT;
	seal(&s);
	assert_true(receive_as(&s, true));
	n = consumer_check_counts(bench.check);
	assert_int_equal(n->repeats, 1);
	assert_int_equal(n->repeats_unflagged + n->misjudged, 0);
	b = judge(false);
	assert_int_equal(book_tally(b, LINK, FCM_PMT)->repeats, BLOCK_FRAMES);
	assert_int_equal(book_errors(book_tally(b, LINK, FCM_PMT)), 0);
	book_close(b);
	s.header.flags &= ~FCM_BLOCK_RESENT;
	seal(&s);
	assert_true(receive(&s));
	assert_int_equal(consumer_check_counts(bench.check)->repeats_unflagged, 1);
	b = judge(false);
	assert_int_equal(book_tally(b, LINK, FCM_PMT)->repeats_unflagged, BLOCK_FRAMES);
	book_close(b);
	assert_int_equal(n->misjudged, 0);
	assert_true(receive_as(&s, true)); /* a library that calls repeat what is not flagged */
	assert_int_equal(n->misjudged, 1);
	free(s.payload);
}

/* Frames that came in blocks of one length and come again in longer ones: a block that is partly
 * old is an error. */
static void test_partly_repeated(void **state)
{
	const struct consumer_counts *n;
	struct sent s = build(0, FCM_PMT), next = build(1, FCM_PMT);

	assert_true(receive(&s));
	assert_true(receive(&next));
	n = consumer_check_counts(bench.check);
	assert_int_equal(n->repeats + n->partly + n->gaps, 0);
	next.header.first_frame -= BLOCK_FRAMES / 2; /* all of it had */
	next.header.flags |= FCM_BLOCK_RESENT;
	seal(&next);
	assert_true(receive_as(&next, true));
	assert_int_equal(n->repeats, 1);
	next.header.first_frame += BLOCK_FRAMES; /* half of it */
	next.header.flags &= ~FCM_BLOCK_RESENT;
	seal(&next);
	assert_true(receive(&next));
	assert_int_equal(n->repeats, 1);
	assert_int_equal(n->partly, 1);
	assert_int_equal(n->repeats_unflagged, 1);
	assert_int_equal(n->misjudged, 0);
	assert_int_equal(consumer_check_counts(bench.check)->gaps, 0);
	free(s.payload);
	free(next.payload);
}

/* Wrong bytes with right CRCs: only the comparison can tell. */
static void test_wrong_content(void **state)
{
	struct sent s = build(1, FCM_PMT);
	uint32_t at = s.header.channel_offset[0];
	const struct book_example *e;
	struct book *b;

	s.payload[at + 13] ^= 1; /* charge of module 0's first hit */
	seal(&s);
	assert_true(receive(&s));
	b = judge(false);
	assert_int_equal(book_tally(b, LINK, FCM_PMT)->different, 1);
	assert_int_equal(book_tally(b, LINK, FCM_PMT)->equal, BLOCK_FRAMES - 1);
	assert_int_equal(book_examples(b, &e), 1);
	assert_int_equal(e->floor_frame, FIRST + BLOCK_FRAMES);
	book_close(b);
	free(s.payload);
}

static void test_wrong_times(void **state)
{
	struct sent s = build(0, FCM_PMT);
	const struct consumer_counts *n = consumer_check_counts(bench.check);
	uint32_t at = s.header.channel_offset[0];
	struct book *b;

	/* A second of one hit. */
	s.payload[at + 8] ^= 1;
	seal(&s);
	assert_true(receive(&s));
	assert_int_equal(n->time_errors, 1);
	assert_int_equal(n->label_errors, 0);
	free(s.payload);
	/* A label one second off agrees with itself, not with the truth. */
	bench.label.anchor_tai_ns += 1000000000;
	s = build(1, FCM_PMT);
	assert_true(receive(&s));
	assert_int_equal(n->time_errors, 1);
	assert_int_equal(n->label_errors, 0);
	/* A slice id that is not that of the time. */
	s.header.slice_id++;
	s.header.flags |= FCM_BLOCK_RESENT;
	seal(&s);
	assert_true(receive(&s));
	assert_int_equal(n->label_errors, 1);
	free(s.payload);
	b = judge(false);
	assert_int_equal(book_tally(b, LINK, FCM_PMT)->time_errors, 1);
	assert_int_equal(book_tally(b, LINK, FCM_PMT)->tai_errors, 2 * BLOCK_FRAMES);
	assert_int_equal(book_tally(b, LINK, FCM_PMT)->tai_max_locked_ns, 1000000000);
	book_close(b);
}

/* Times are compared with those of the light to the ns; drift of the fibre only where allowed. */
static void test_times_of_the_light(void **state)
{
	static const struct {
		int64_t off_ns, drift_ns;
		bool wrong;
	} rows[] = {{1, 0, true}, {5, 5, false}, {6, 5, true}, {-2 * CABLE_NS, 10, true}};
	struct sent s = build(0, FCM_PMT);

	assert_true(receive(&s));
	free(s.payload);
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct book *b;

		for (unsigned n = 0; n < SAID; n++) {
			bench.truth[n].tai_ns -= rows[i].off_ns;
		}
		b = judge_drift(false, rows[i].drift_ns);
		assert_int_equal(book_tally(b, LINK, FCM_PMT)->tai_errors,
				 rows[i].wrong ? BLOCK_FRAMES : 0);
		assert_int_equal(book_tally(b, LINK, FCM_PMT)->tai_max_ns, llabs(rows[i].off_ns));
		book_close(b);
		for (unsigned n = 0; n < SAID; n++) {
			bench.truth[n].tai_ns += rows[i].off_ns;
		}
	}
}

/* Damage that gets past libfcmdata, with CRCs made right, is survived. */
static void test_damaged_messages(void **state)
{
	struct sent s = build(0, FCM_PMT), bad;
	unsigned taken = 0;

	for (unsigned i = 0; i < 252 + 2048; i++) {
		uint8_t *byte;

		bad = s;
		byte = i < 252 ? (uint8_t *)&bad.header + i
			       : s.payload + s.header.index_offset + (i - 252);
		*byte ^= 0x81;
		if (bad.header.payload_bytes == s.header.payload_bytes) {
			seal(&bad);
			taken += receive(&bad);
		}
		if (i >= 252) {
			*byte ^= 0x81;
		}
	}
	assert_in_range(taken, 50, 1000);
	free(s.payload);
}

static void test_bad_files(void **state)
{
	const char *reason = NULL;
	struct book *b = NULL;
	FILE *f;

	assert_int_equal(book_open("/nonexistent/truth", &b), -ENOENT);
	assert_int_equal(book_open(bench.truth_path, &b), -EBADMSG); /* empty */
	f = fopen(bench.truth_path, "w");
	assert_non_null(f);
	for (unsigned i = 0; i < 100; i++) {
		fputs("nonsense that is no truth ", f);
	}
	fclose(f);
	assert_int_equal(book_open(bench.truth_path, &b), -EBADMSG);
	assert_int_equal(book_add_record(NULL, "/nonexistent/record"), -ENOENT);
	b = judge(false); /* nothing recorded */
	assert_int_equal(book_tally(b, LINK, FCM_PMT)->frames, 0);
	f = fopen(bench.record_path, "w");
	assert_non_null(f);
	for (unsigned i = 0; i < 100; i++) {
		fputs("nonsense that is no record ", f);
	}
	fclose(f);
	assert_int_equal(book_add_record(b, bench.record_path), -EBADMSG);
	assert_int_equal(book_add_ledger(b, bench.record_path, NULL, &reason), -EIO);
	assert_non_null(reason);
	book_close(b);
	book_close(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_all_equal, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lost_frames, setup, teardown),
		cmocka_unit_test_setup_teardown(test_dropped_blocks, setup, teardown),
		cmocka_unit_test_setup_teardown(test_repeats, setup, teardown),
		cmocka_unit_test_setup_teardown(test_partly_repeated, setup, teardown),
		cmocka_unit_test_setup_teardown(test_wrong_content, setup, teardown),
		cmocka_unit_test_setup_teardown(test_wrong_times, setup, teardown),
		cmocka_unit_test_setup_teardown(test_times_of_the_light, setup, teardown),
		cmocka_unit_test_setup_teardown(test_damaged_messages, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bad_files, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
