/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fcmctl record dump: what it says of a recording whose every cell is known, of one that is cut or damaged
 * at any place, and what it writes for Wireshark. Run as the command is, its output read back.
 */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "slowctl/fcmctl/commands.h"
#include "slowctl/fcmctl/show/value.h"
#include "tdm/deframe.h"
#include "tdm/hit.h"
#include "tdm/le.h"
#include "tdm/word.h"
#include "tests/unit/rig/floor_rig.h"
#include "tests/unit/rig/record_rig.h"

#define A	80000u
#define FRAMES	48u
#define ITEMS	8192u
#define PACKET0 (28u + 32u + 12u) /* bytes before the first packet: section, interface */

/* What was printed: JSON objects, one a line. */
static struct {
	json_t *item[ITEMS];
	unsigned items;
} out;

static void forget(void)
{
	for (unsigned i = 0; i < out.items; i++) {
		json_decref(out.item[i]);
	}
	out.items = 0;
}

struct words {
	const char *path, *what, *pcap;
	int link;	     /* -1: not given */
	double from, frames; /* 0: not given */
};

static char database[96]; /* of the station */

static struct ctl ctl_of(struct writer *to, bool json)
{
	struct ctl ctl = {.out = to, .json = json};

	snprintf(ctl.station.database, sizeof(ctl.station.database), "%s", database);
	return ctl;
}

static struct ctl_args args_of(const struct words *w, char *path[1])
{
	struct ctl_args args = {.command = &ctl_record_dump_commands[0], .words = 1, .word = path};

	path[0] = (char *)(uintptr_t)w->path;
	args.text[CTL_WHAT] = w->what;
	args.text[CTL_PCAP] = w->pcap;
	if (w->link >= 0) {
		args.text[CTL_LINK] = "";
		args.number[CTL_LINK] = w->link;
	}
	if (w->from > 0) {
		args.text[CTL_FROM] = "";
		args.number[CTL_FROM] = w->from;
	}
	if (w->frames > 0) {
		args.text[CTL_FRAMES] = "";
		args.number[CTL_FRAMES] = w->frames;
	}
	return args;
}

/* Run it as text; the caller's to free. */
static char *dump_text(const struct words *w, int *ret_code)
{
	char *path[1], *text = NULL;
	const struct ctl_args args = args_of(w, path);
	size_t size;
	FILE *f = open_memstream(&text, &size);
	struct ctl ctl = ctl_of(writer_create_text(f, false), false);

	*ret_code = args.command->run(&ctl, &args);
	writer_destroy(ctl.out);
	fclose(f);
	return text;
}

/* Run it as JSON into `out`: the exit code. */
static int dump(struct words w)
{
	char *path[1], *text = NULL, *rest, *line;
	const struct ctl_args args = args_of(&w, path);
	size_t size;
	FILE *f = open_memstream(&text, &size);
	struct ctl ctl = ctl_of(writer_create_json(f, false), true);
	int code = args.command->run(&ctl, &args);

	writer_destroy(ctl.out);
	fclose(f);
	forget();
	rest = text;
	while ((line = strsep(&rest, "\n")) != NULL && *line != '\0') {
		assert_true(out.items < ITEMS);
		out.item[out.items] = json_loads(line, 0, NULL);
		assert_non_null(out.item[out.items]);
		out.items++;
	}
	free(text);
	return code;
}

static const char *text_of(unsigned i, const char *name)
{
	return value_string(out.item[i], name, "?");
}

static long long number_of(unsigned i, const char *name)
{
	return value_integer(out.item[i], name, -1);
}

/* ---------------------------------------------------------------- a recording that is known */

static uint8_t frames[FRAMES][TDM_FRAME_BYTES];

/* Frame n of the floor comes in the cell of count A + n; a reply in the fifth. */
static void make_frames(void)
{
	struct floor_rig *floor = calloc(1, sizeof(*floor));
	const struct word reply = {.op = WORD_WRITE | WORD_REPLY,
				   .module = 2,
				   .reg = 7,
				   .value = -1450,
				   .sequence = 4711,
				   .boot = 3};
	uint8_t word[1][TDM_WORD_BYTES];
	struct tdm_header header;

	assert_non_null(floor);
	floor_rig_init(floor, 1, 3);
	floor->utc_s = REC_UTC_S;
	floor->slot_limit = 60; /* hits cross one border, or two */
	floor->hits = 1;
	for (unsigned n = 0; n < FRAMES; n++) {
		floor_rig_frame(floor, A + n, frames[n]);
	}
	free(floor);
	assert_int_equal(tdm_frame_check(frames[5], &header), TDM_OK);
	word_pack(&reply, word[0]);
	tdm_replies_put(frames[5], (const uint8_t(*)[TDM_WORD_BYTES])word, 1);
	header.slot_valid |= TDM_VALID_REPLIES;
	tdm_frame_seal(frames[5], &header);
}

static void record_frames(struct rec *r)
{
	make_frames();
	rec_init(r);
	rec_segment(r, 2, 0, 7, A, REC_UTC_S);
	for (unsigned n = 0; n < 32; n += 8) {
		rec_cells(r, frames[n], 8);
	}
	rec_segment(r, 2, 1, 7, A + 32, REC_UTC_S + 1);
	rec_cells(r, frames[32], 16);
	rec_end(r);
}

static void records(void **state)
{
	struct rec r;
	int code;
	char *text;

	rec_init(&r);
	rec_segment(&r, 0, 0, 7, A, REC_UTC_S);
	rec_data(&r, 20);
	rec_gap(&r, TDM_LOSS_RING_FULL, 12);
	rec_let_go(&r, 100);
	rec_segment(&r, 3, 5, 7, A, REC_UTC_S);
	rec_data(&r, 1);
	rec_end(&r);
	assert_int_equal(dump((struct words){.path = r.directory, .link = -1}), CTL_DONE);
	assert_int_equal(out.items, 7 + 4);
	assert_string_equal(text_of(0, "what"), "segment");
	assert_string_equal(text_of(0, "segment"), "link0-00000.fcmr");
	assert_string_equal(text_of(0, "begun"), "2026-11-20T17:00:10.000000000");
	assert_string_equal(text_of(1, "kind"), "label");
	assert_string_equal(text_of(1, "source"), "gpsd");
	assert_string_equal(text_of(2, "kind"), "data");
	assert_string_equal(text_of(2, "utc"), "2026-11-20T17:00:10.000000000");
	assert_int_equal(number_of(3, "count"), A + 16);
	assert_int_equal(number_of(3, "frames"), 4);
	assert_string_equal(text_of(3, "utc"), "2026-11-20T17:00:10.002000000");
	assert_string_equal(text_of(4, "kind"), "gap");
	assert_string_equal(text_of(4, "reason"), "ring-full");
	assert_string_equal(text_of(5, "kind"), "let-go");
	assert_int_equal(number_of(5, "frames"), 100);
	assert_string_equal(text_of(6, "what"), "end");
	assert_string_equal(text_of(6, "end"), "open");
	assert_int_equal(number_of(6, "byte"), number_of(6, "size"));
	assert_int_equal(number_of(7, "number"), 5);
	/* one link of them, from a count on, only so many */
	assert_int_equal(
		dump((struct words){.path = r.directory, .link = 0, .from = A + 16, .frames = 10}),
		CTL_DONE);
	assert_int_equal(out.items, 1 + 1 + 2);
	assert_int_equal(number_of(2, "count"), A + 16);
	assert_string_equal(text_of(3, "kind"), "gap");
	text = dump_text(&(struct words){.path = r.path, .link = -1}, &code);
	assert_int_equal(code, CTL_DONE);
	assert_non_null(strstr(text, "\nlink3        80000  data          1 frames  byte"));
	assert_non_null(strstr(text, "without index"));
	free(text);
	rec_fini(&r);
}

static void frames_and_their_checks(void **state)
{
	struct rec r;

	record_frames(&r);
	assert_int_equal(dump((struct words){.path = r.directory, .what = "frames", .link = -1}),
			 CTL_DONE);
	assert_int_equal(out.items, FRAMES);
	for (unsigned n = 0; n < FRAMES; n++) {
		assert_int_equal(number_of(n, "count"), A + n);
		assert_string_equal(text_of(n, "verdict"), n < 3 ? "alignment" : "good");
		assert_string_equal(text_of(n, "check"), "ok");
		assert_int_equal(number_of(n, "tower"), 1);
		assert_int_equal(number_of(n, "floor"), 3);
		assert_int_equal(number_of(n, "time.frame"), n);
	}
	assert_string_equal(text_of(40, "utc"), "2026-11-20T17:00:10.005000000");
	/* from a count on: the alignment was found before */
	assert_int_equal(dump((struct words){.path = r.directory,
					     .what = "frames",
					     .link = -1,
					     .from = A + 20,
					     .frames = 20}),
			 CTL_DONE);
	assert_int_equal(out.items, 20);
	assert_int_equal(number_of(0, "count"), A + 20);
	assert_string_equal(text_of(0, "verdict"), "good");
	rec_fini(&r);
}

/* A damaged frame is bad; what the board lost is not. */
static void bad_frames(void **state)
{
	struct rec r;

	make_frames();
	rec_init(&r);
	frames[10][5000] ^= 1;
	rec_segment(&r, 2, 0, 7, A, REC_UTC_S);
	rec_cells(&r, frames[0], 16);
	rec_gap(&r, TDM_LOSS_BOARD_FIFO, 4);
	rec_cells(&r, frames[20], 16);
	rec_end(&r);
	assert_int_equal(dump((struct words){.path = r.path, .what = "frames", .link = -1}),
			 CTL_NOT);
	assert_int_equal(out.items, 36);
	assert_string_equal(text_of(10, "verdict"), "crc");
	assert_string_equal(text_of(10, "check"), "bad-crc");
	assert_true(value_true(out.item[10], "bad"));
	for (unsigned n = 3; n < 36; n++) {
		const bool lost = n >= 16 && n < 20;

		assert_string_equal(text_of(n, "verdict"), n == 10 ? "crc"
							   : lost  ? "board-fifo"
								   : "good");
		assert_true(n == 10 || !value_true(out.item[n], "bad"));
	}
	rec_fini(&r);
}

/* What the recorder let go the board has not lost. */
static void frames_let_go(void **state)
{
	struct rec r;
	int code;
	char *text;

	make_frames();
	rec_init(&r);
	rec_segment(&r, 2, 0, 7, A, REC_UTC_S);
	rec_cells(&r, frames[0], 16);
	rec_let_go(&r, 4);
	rec_gap(&r, TDM_LOSS_BOARD_FIFO, 4);
	rec_cells(&r, frames[24], 16);
	rec_end(&r);
	assert_int_equal(dump((struct words){.path = r.path, .what = "frames", .link = -1}),
			 CTL_DONE);
	assert_int_equal(out.items, 40);
	for (unsigned n = 3; n < 40; n++) {
		assert_string_equal(text_of(n, "verdict"), n < 16 || n >= 24 ? "good"
							   : n < 20	     ? "let-go"
									     : "board-fifo");
	}
	text = dump_text(
		&(struct words){
			.path = r.path, .what = "frames", .link = -1, .from = A + 16, .frames = 4},
		&code);
	assert_non_null(strstr(text, "link2        80016  let-go "));
	assert_null(strstr(text, "board-fifo"));
	free(text);
	rec_fini(&r);
}

/* A module's stream of good frames as a whole: what is to be found in it. */
static unsigned whole_hits(unsigned module, struct hit *hits, unsigned most, unsigned *ret_crossing)
{
	static uint8_t stream[FRAMES * TDM_PMT_STREAM];
	size_t length = 0, at = 0;
	unsigned n = 0;

	for (unsigned f = 3; f < FRAMES; f++) {
		struct tdm_pmt_slot s;

		assert_int_equal(tdm_pmt_slot_get(frames[f], module, &s), 0);
		at = f == 3 ? s.first : at;
		memcpy(stream + length, s.stream, s.length);
		length += s.length;
		*ret_crossing += f > 3 && s.first > 0;
	}
	while (length - at >= HIT_HEADER_BYTES && length - at >= hit_bytes(stream + at)) {
		assert_true(n < most);
		hit_unpack(stream + at, &hits[n++]);
		at += hit_bytes(stream + at);
	}
	return n;
}

/* Every hit once, in order, those across two frames and two segments too, with the time it was born. */
static void every_hit(void **state)
{
	static struct hit hits[2048];
	struct rec r;
	unsigned crossing = 0;

	record_frames(&r);
	assert_int_equal(dump((struct words){.path = r.directory, .what = "hits", .link = -1}),
			 CTL_DONE);
	for (unsigned m = 0; m < TDM_MODULES; m++) {
		const unsigned n = whole_hits(m, hits, 2048, &crossing);
		unsigned i = 0;

		for (unsigned k = 0; k < out.items; k++) {
			char second[40];

			if (number_of(k, "om") != m) {
				continue;
			}
			assert_true(i < n);
			assert_int_equal(number_of(k, "frame"), hits[i].frame);
			assert_int_equal(number_of(k, "t5ns"), hits[i].t5ns);
			assert_int_equal(number_of(k, "charge"), hits[i].charge);
			/* born in the carrying second, or the one before */
			snprintf(second, sizeof(second), "2026-11-20T17:00:%s.%09u",
				 hits[i].frame <= number_of(k, "count") - A ? "10" : "09",
				 hits[i].frame * 125000u + hits[i].t5ns * 5u);
			assert_string_equal(text_of(k, "utc"), second);
			i++;
		}
		assert_int_equal(i, n);
		assert_true(n > 20);
	}
	assert_true(crossing > 20);
	rec_fini(&r);
}

static void slots_samples_words(void **state)
{
	struct rec r;
	int code;
	char *text;

	record_frames(&r);
	assert_int_equal(dump((struct words){.path = r.directory,
					     .what = "slots",
					     .link = 2,
					     .from = A + 5,
					     .frames = 1}),
			 CTL_DONE);
	assert_int_equal(out.items, TDM_MODULES + TDM_HYDROPHONES);
	assert_int_equal(number_of(0, "om"), 0);
	assert_int_equal(dump((struct words){.path = r.directory,
					     .what = "samples",
					     .link = 2,
					     .from = A + 5,
					     .frames = 2}),
			 CTL_DONE);
	assert_int_equal(out.items, 2 * TDM_HYDROPHONES);
	assert_string_equal(text_of(3, "utc"), "2026-11-20T17:00:10.000750000");
	for (unsigned i = 0; i < TDM_SAMPLES; i++) {
		assert_int_equal(json_integer_value(json_array_get(
					 json_object_get(out.item[3], "samples"), i)),
				 floor_rig_sample(3, 1, A + 6, i));
	}
	assert_int_equal(dump((struct words){.path = r.directory, .what = "words", .link = 2}),
			 CTL_DONE);
	assert_int_equal(out.items, 1);
	assert_int_equal(number_of(0, "value"), -1450);
	text = dump_text(&(struct words){.path = r.directory, .what = "words", .link = -1}, &code);
	assert_string_equal(
		text, "link2        80005  write  module  2 reg   7 =       -1450  ok         seq "
		      "      4711 boot 3\n");
	free(text);
	rec_fini(&r);
}

/* ---------------------------------------------------------------- files that are not well */

/* Cut at any byte: all before is shown, the place is named, the exit code says so. */
static void cut_anywhere(void **state)
{
	struct rec r;
	size_t length;
	uint8_t *bytes;

	rec_init(&r);
	rec_segment(&r, 0, 0, 7, A, REC_UTC_S);
	rec_gap(&r, 1, 5);
	rec_data(&r, 1);
	rec_end(&r);
	bytes = rec_load(r.path, &length);
	for (size_t at = 0; at < length; at += at < 400 || at + 100 > length ? 1 : 97) {
		/* header, label, gap, data */
		const bool edge = at == 128 || at == 128 + 88 || at == 128 + 88 + 48;
		const unsigned whole = at >= 128 + 88 + 48 ? 2 : at >= 128 + 88 ? 1 : 0;

		rec_store(r.path, bytes, at);
		assert_int_equal(dump((struct words){.path = r.directory, .link = -1}),
				 edge ? CTL_DONE : CTL_NOT);
		if (at >= 128) {
			assert_int_equal(out.items, 2 + whole);
			assert_string_equal(text_of(out.items - 1, "end"), edge ? "open" : "cut");
			assert_int_equal(number_of(out.items - 1, "size"), at);
			assert_int_equal(number_of(out.items - 1, "byte"), whole == 0	? 128
									   : whole == 1 ? 216
											: 264);
		}
	}
	free(bytes);
	rec_fini(&r);
}

struct writer_of_rest {
	const char *path;
	const uint8_t *rest;
	size_t length;
};

static void *write_rest(void *context)
{
	const struct writer_of_rest *w = context;
	FILE *f = fopen(w->path, "abe");

	for (size_t done = 0; f && done < w->length; done += 2000) {
		usleep(1000);
		fwrite(w->rest + done, 1, w->length - done < 2000 ? w->length - done : 2000, f);
		fflush(f);
	}
	if (f) {
		fclose(f);
	}
	return NULL;
}

/* A record that is just being written is waited for, as long as it grows. */
static void being_written(void **state)
{
	const struct timespec now[2] = {{.tv_nsec = UTIME_NOW}, {.tv_nsec = UTIME_NOW}};
	int code = CTL_NOT;
	size_t length;
	uint8_t *bytes;
	struct rec r;

	rec_init(&r);
	rec_segment(&r, 0, 0, 7, A, REC_UTC_S);
	rec_data(&r, 1);
	rec_end(&r);
	bytes = rec_load(r.path, &length);
	/* The machine may be too busy for the writer to go on in time. */
	for (unsigned i = 0; i < 50 && code != CTL_DONE; i++) {
		struct writer_of_rest w = {r.path, bytes + 300, length - 300};
		pthread_t writer;

		rec_store(r.path, bytes, 300);
		assert_int_equal(utimensat(AT_FDCWD, r.path, now, 0), 0);
		assert_int_equal(pthread_create(&writer, NULL, write_rest, &w), 0);
		code = dump((struct words){.path = r.directory, .link = -1});
		pthread_join(writer, NULL);
	}
	assert_int_equal(code, CTL_DONE);
	assert_string_equal(text_of(out.items - 1, "end"), "open");
	assert_int_equal(number_of(out.items - 1, "byte"), length);
	free(bytes);
	rec_fini(&r);
}

/* Any bytes: no crash, whatever is asked for. */
static void damaged_anywhere(void **state)
{
	struct rec r;
	size_t length;
	uint8_t *bytes;

	make_frames();
	rec_init(&r);
	rec_segment(&r, 1, 0, 7, A, REC_UTC_S);
	rec_cells(&r, frames[0], 4);
	rec_gap(&r, 3, 2);
	rec_cells(&r, frames[6], 4);
	rec_end(&r);
	bytes = rec_load(r.path, &length);
	srand(2);
	for (unsigned i = 0; i < 400; i++) {
		static const char *const whats[] = {"records", "frames",  "slots",
						    "hits",    "samples", "words"};
		const size_t at = i < 264 ? i : (size_t)rand() % length;

		bytes[at] ^= (uint8_t)(1u << (i % 8));
		rec_store(r.path, bytes, length);
		assert_int_equal(
			dump((struct words){.path = r.directory, .what = whats[i % 6], .link = -1}),
			CTL_NOT);
		bytes[at] ^= (uint8_t)(1u << (i % 8));
	}
	free(bytes);
	rec_fini(&r);
}

/* Sound checksums around nonsense: frames of random bytes, slots and hits that are none, giant gaps. */
static void hostile(void **state)
{
	struct fcm_record_header giant = {.kind = FCM_RECORD_GAP, .reason = 200};
	static uint8_t noise[REC_FRAMES * TDM_FRAME_BYTES];
	struct rec r;

	make_frames();
	srand(3);
	for (size_t i = 0; i < sizeof(noise); i++) {
		noise[i] = (uint8_t)rand();
	}
	for (unsigned n = 4; n < 32; n++) { /* sealed frames of random slots */
		struct tdm_header h;

		assert_int_equal(tdm_frame_check(frames[n], &h), TDM_OK);
		memcpy(frames[n] + TDM_OFF_PMT, noise + n * 3000, 9000);
		for (unsigned m = 0; m < TDM_MODULES && n % 2 != 0; m++) {
			le16_put(frames[n] + TDM_OFF_PMT + (size_t)m * TDM_PMT_SLOT, 1528);
			le16_put(frames[n] + TDM_OFF_PMT + (size_t)m * TDM_PMT_SLOT + 2,
				 (uint16_t)(rand() % 100));
		}
		h.slot_valid = 0xffff;
		tdm_frame_seal(frames[n], &h);
	}
	rec_init(&r);
	rec_segment(&r, 0, 0, 7, A, REC_UTC_S);
	rec_cells(&r, frames[0], 16);
	rec_cells(&r, frames[16], 16);
	rec_cells(&r, noise, 16);
	giant.count = r.count;
	giant.frames = UINT64_MAX - r.count;
	rec_record(&r, giant, "");
	rec_end(&r);
	for (unsigned i = 0; i < 6; i++) {
		static const char *const whats[] = {"records", "frames",  "slots",
						    "hits",    "samples", "words"};

		dump((struct words){.path = r.path, .what = whats[i], .link = -1, .frames = 100});
		assert_true(i == 5 || out.items > 0);
	}
	rec_fini(&r);
}

/* A record of 48 bytes says that cells of a million years are lost: what shows no line for each does not count them. */
static void a_gap_without_end_holds_nobody_up(void **state)
{
	static const char *const whats[] = {"slots", "hits", "samples", "words", NULL};
	char pcap[96];
	struct rec r;

	make_frames();
	rec_init(&r);
	snprintf(pcap, sizeof(pcap), "%s/out.pcapng", r.directory);
	rec_segment(&r, 0, 0, 7, A, REC_UTC_S);
	rec_cells(&r, frames[0], 16);
	rec_gap(&r, TDM_LOSS_RING_FULL, 1ull << 62);
	rec_end(&r);
	alarm(30); /* ends the test, and says so */
	for (unsigned i = 0; i < 5; i++) {
		assert_int_equal(dump((struct words){.path = r.path,
						     .what = whats[i],
						     .pcap = whats[i] ? NULL : pcap,
						     .link = -1}),
				 CTL_DONE);
		assert_true(out.items > 0 || (whats[i] && strcmp(whats[i], "words") == 0));
	}
	/* Those shown are counted all the same. */
	assert_int_equal(dump((struct words){.path = r.path,
					     .what = "slots",
					     .link = -1,
					     .from = A + 4,
					     .frames = 20000}),
			 CTL_DONE);
	alarm(0);
	rec_fini(&r);
}

static void no_recording(void **state)
{
	struct rec r;

	rec_init(&r);
	assert_int_equal(dump((struct words){.path = r.directory, .link = -1}), CTL_NOT);
	assert_int_equal(dump((struct words){.path = "/nonexistent", .link = -1}), CTL_NOT);
	assert_int_equal(dump((struct words){.path = r.directory, .what = "nonsense", .link = -1}),
			 CTL_USAGE);
	rec_fini(&r);
}

/* The name that record list shows will do; where there is none both places are named. */
static void by_name(void **state)
{
	char beside[96];
	struct rec r;

	rec_init(&r);
	rec_segment(&r, 0, 0, 7, A, REC_UTC_S);
	rec_data(&r, 1);
	rec_end(&r);
	snprintf(database, sizeof(database), "%s/station.db", r.directory);
	snprintf(beside, sizeof(beside), "%s/recordings", r.directory);
	assert_int_equal(symlink("..", beside), 0);
	assert_int_equal(dump((struct words){.path = strrchr(r.directory, '/') + 1, .link = -1}),
			 CTL_DONE);
	assert_int_equal(out.items, 4);
	assert_int_equal(dump((struct words){.path = "nightshift", .link = -1}), CTL_NOT);
	assert_non_null(strstr(text_of(0, "error.message"), "nightshift"));
	assert_non_null(strstr(text_of(0, "error.message"), beside));
	*database = '\0';
	rec_fini(&r);
}

/* A link in the directory of recordings, or in one, leads to files of others: it is not followed. What was
 * typed is. */
static void links_are_not_followed(void **state)
{
	char beside[96], path[160];
	struct rec r, other;

	rec_init(&r);
	rec_init(&other);
	rec_segment(&other, 0, 0, 7, A, REC_UTC_S);
	rec_data(&other, 1);
	rec_end(&other);
	snprintf(path, sizeof(path), "%s/registers.txt", other.directory);
	rec_store(path, "link.locked = 0\n", 16);
	snprintf(database, sizeof(database), "%s/station.db", r.directory);
	snprintf(beside, sizeof(beside), "%s/recordings", r.directory);
	assert_int_equal(symlink(".", beside), 0);
	snprintf(path, sizeof(path), "%s/night", r.directory);
	assert_int_equal(symlink(other.directory, path), 0);
	assert_int_equal(dump((struct words){.path = "night", .link = -1}), CTL_NOT);
	assert_int_equal(dump((struct words){.path = path, .link = -1}), CTL_DONE);
	assert_int_equal(out.items, 1 + 4);
	snprintf(path, sizeof(path), "%s/link0-00000.fcmr", r.directory);
	assert_int_equal(symlink(other.path, path), 0);
	assert_int_equal(dump((struct words){.path = path, .link = -1}), CTL_DONE);
	assert_int_equal(out.items, 4);
	snprintf(path, sizeof(path), "%s/registers.txt", r.directory);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	assert_int_equal(dump((struct words){.path = r.directory, .link = -1}), CTL_NOT);
	assert_int_equal(out.items, 0);
	*database = '\0';
	rec_fini(&other);
	rec_fini(&r);
}

/* A black box's registers come first, with where they are. */
static void registers(void **state)
{
	static const char lines[] = "link.locked = 0\nlink.signal = 1\n";
	char path[96];
	struct rec r;
	int code;
	char *text;

	rec_init(&r);
	rec_segment(&r, 0, 0, 7, A, REC_UTC_S);
	rec_data(&r, 1);
	rec_end(&r);
	snprintf(path, sizeof(path), "%s/registers.txt", r.directory);
	rec_store(path, lines, strlen(lines));
	assert_int_equal(dump((struct words){.path = r.directory, .link = -1}), CTL_DONE);
	assert_int_equal(out.items, 1 + 4);
	assert_string_equal(text_of(0, "what"), "registers");
	assert_string_equal(text_of(0, "file"), path);
	assert_string_equal(text_of(0, "text"), lines);
	text = dump_text(&(struct words){.path = r.directory, .link = -1}, &code);
	assert_int_equal(code, CTL_DONE);
	assert_non_null(strstr(text, "/registers.txt\n  link.locked = 0\n  link.signal = 1\n"
				     "link0-00000.fcmr"));
	free(text);
	/* Whatever stands there */
	rec_store(path, "\xff\033[31m", 6);
	assert_int_equal(dump((struct words){.path = r.directory, .link = -1}), CTL_DONE);
	assert_int_equal(out.items, 1 + 4);
	rec_fini(&r);
}

/* ---------------------------------------------------------------- Wireshark */

static void capture_file(void **state)
{
	char path[160];
	struct rec r;
	size_t length, at = PACKET0;
	uint8_t *b;
	unsigned n = 0;

	record_frames(&r);
	snprintf(path, sizeof(path), "%s/x.pcapng", r.directory);
	assert_int_equal(dump((struct words){.path = r.directory,
					     .pcap = path,
					     .link = -1,
					     .from = A + 2,
					     .frames = 40}),
			 CTL_DONE);
	assert_int_equal(out.items, 1);
	assert_int_equal(number_of(0, "packets"), 40);
	b = rec_load(path, &length);
	assert_int_equal(le32_get(b), 0x0a0d0d0a);
	assert_int_equal(le32_get(b + 28), 1);
	assert_int_equal(le16_get(b + 36), 147);
	for (; at < length; n++) {
		const uint32_t bytes = le32_get(b + at + 4);
		const uint64_t when = (uint64_t)le32_get(b + at + 12) << 32 | le32_get(b + at + 16);

		assert_int_equal(le32_get(b + at), 6);
		assert_int_equal(bytes, 32 + TDM_FRAME_BYTES);
		assert_int_equal(le32_get(b + at + 20), TDM_FRAME_BYTES);
		assert_memory_equal(b + at + 28, frames[2 + n], TDM_FRAME_BYTES);
		assert_int_equal(when, (uint64_t)REC_UTC_S * 1000000000 + (2 + n) * 125000);
		assert_int_equal(le32_get(b + at + bytes - 4), bytes);
		at += bytes;
	}
	assert_int_equal(n, 40);
	free(b);
	assert_int_equal(dump((struct words){.path = r.directory, .pcap = "/dev/full", .link = -1}),
			 CTL_NOT);
	assert_int_equal(
		dump((struct words){.path = r.directory, .pcap = "/nonexistent/x", .link = -1}),
		CTL_NOT);
	rec_fini(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records),
		cmocka_unit_test(frames_and_their_checks),
		cmocka_unit_test(bad_frames),
		cmocka_unit_test(frames_let_go),
		cmocka_unit_test(every_hit),
		cmocka_unit_test(slots_samples_words),
		cmocka_unit_test(cut_anywhere),
		cmocka_unit_test(being_written),
		cmocka_unit_test(damaged_anywhere),
		cmocka_unit_test(hostile),
		cmocka_unit_test(a_gap_without_end_holds_nobody_up),
		cmocka_unit_test(no_recording),
		cmocka_unit_test(by_name),
		cmocka_unit_test(links_are_not_followed),
		cmocka_unit_test(registers),
		cmocka_unit_test(capture_file),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	forget();
	return failed;
}
