/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a recording holds, as JSON and as lines: see items.h. */
#include "slowctl/fcmctl/record/items.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "slowctl/fcmctl/show/value.h"
#include "tdm/le.h"
#include "tdm/word.h"

#define SECOND_NS 1000000000ll
#define UTC_TEXT  80

/* ---------------------------------------------------------------- time */

int64_t record_utc_ns(const struct fcm_record_label *label, uint64_t count)
{
	int64_t tai_ns;
	bool leap;

	if (label == NULL || !recording_tai_ns(label, count, &tai_ns)) {
		return INT64_MIN;
	}
	return recording_utc_ns(label, tai_ns, &leap);
}

/* "2026-11-20T17:00:10.000125000", a leap second is the 60th. */
static const char *tai_text(const struct fcm_record_label *label, int64_t tai_ns, char *text)
{
	bool leap;
	const int64_t utc_ns = recording_utc_ns(label, tai_ns, &leap) - (leap ? SECOND_NS : 0);
	const time_t s = (time_t)(utc_ns / SECOND_NS);
	struct tm tm = {0};

	gmtime_r(&s, &tm);
	snprintf(text, UTC_TEXT, "%04d-%02d-%02dT%02d:%02d:%02d.%09lld",
		 (tm.tm_year + 1900) % 10000, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min,
		 tm.tm_sec + (leap ? 1 : 0), (long long)(utc_ns % SECOND_NS));
	return text;
}

static json_t *count_json(const struct fcm_record_label *label, uint64_t count)
{
	char text[UTC_TEXT];
	int64_t tai_ns;

	if (label == NULL || !recording_tai_ns(label, count, &tai_ns)) {
		return json_null();
	}
	return json_string(tai_text(label, tai_ns, text));
}

/* ---------------------------------------------------------------- passing on */

static void pass(const struct record_sink *to, json_t *item, writer_render_fn render, bool bad)
{
	if (item != NULL) {
		if (bad) {
			json_object_set_new(item, "bad", json_true());
		}
		to->item(to->context, item, render, bad);
	}
	json_decref(item);
}

static void render_place(struct writer *w, const json_t *i)
{
	value_say(w, WRITER_DIM, i, "link{link} {count:12}  ");
}

static void render_end_of_line(struct writer *w, const json_t *i)
{
	if (value_true(i, "bad")) {
		writer_text(w, WRITER_BAD, "  BAD%s%s",
			    json_object_get(i, "why") != NULL ? ": " : "",
			    value_string(i, "why", ""));
	}
	writer_newline(w);
}

/* An item of a place, with `members` (taken over). */
static json_t *at_json(const char *what, const struct record_place *at, json_t *members)
{
	json_t *item = json_pack("{s:s,s:i,s:I}", "what", what, "link", (int)at->link, "count",
				 (json_int_t)at->count);

	json_object_update(item, members);
	json_decref(members);
	return item;
}

/* ---------------------------------------------------------------- segments and records */

static void render_segment(struct writer *w, const json_t *i)
{
	writer_text(w, WRITER_BOLD, "%s", value_string(i, "segment", "?"));
	value_say(w, WRITER_PLAIN, i,
		  "  board {board} link {link} tower {tower} floor {floor}  DMA epoch {dma_epoch}  "
		  "run {run}  from count {count}  begun {begun} by the host's clock");
	writer_newline(w);
}

void record_show_segment(const struct record_sink *to, const char *name,
			 const struct fcm_segment_header *h)
{
	static const struct fcm_record_label utc = {.leap_tai_ns = INT64_MAX};
	char text[UTC_TEXT] = "-";

	if (h->utc_ns >= 0) {
		tai_text(&utc, h->utc_ns, text);
	}
	pass(to,
	     json_pack("{s:s,s:s,s:i,s:i,s:i,s:i,s:I,s:I,s:I,s:I,s:s}", "what", "segment",
		       "segment", name, "board", (int)h->board, "link", (int)h->link, "tower",
		       (int)h->tower, "floor", (int)h->floor, "dma_epoch", (json_int_t)h->dma_epoch,
		       "number", (json_int_t)h->segment, "run", (json_int_t)h->run, "count",
		       (json_int_t)h->count, "begun", text),
	     render_segment, false);
}

static const char *kind_name(unsigned kind)
{
	static const char *const names[] = {"?", "data", "gap", "let-go", "label", "index"};

	return kind < sizeof(names) / sizeof(names[0]) ? names[kind] : "?";
}

static void render_record(struct writer *w, const json_t *i)
{
	const char *kind = value_string(i, "kind", "?");
	const bool lost = strcmp(kind, "gap") == 0 || strcmp(kind, "let-go") == 0;

	render_place(w, i);
	writer_text(w, lost ? WRITER_WARN : WRITER_PLAIN, "%-6s", kind);
	value_say(w, WRITER_PLAIN, i, " {frames:8} frames  byte {byte:12}  {bytes:7} bytes  {utc}");
	if (lost) {
		writer_text(w, WRITER_WARN, "  %s", value_string(i, "reason", "recorder too slow"));
	}
	if (strcmp(kind, "label") == 0) {
		value_say(w, WRITER_PLAIN, i,
			  "  time epoch {time_epoch} by {source}, {clock}, +- {uncertainty_ns|-1} "
			  "ns, TAI-UTC {tai_utc_s} s");
	}
	render_end_of_line(w, i);
}

const char *record_source_name(unsigned source)
{
	static const char *const names[] = {"none", "gpsd", "floors", "system", "emulator"};

	return source < sizeof(names) / sizeof(names[0]) ? names[source] : "?";
}

const char *record_clock_name(unsigned state)
{
	static const char *const names[] = {"no-time", "acquiring", "locked", "holdover", "fault"};

	return state < sizeof(names) / sizeof(names[0]) ? names[state] : "?";
}

static json_t *label_json(const struct fcm_record_label *l)
{
	return json_pack(
		"{s:I,s:s,s:s,s:o,s:i,s:I,s:o}", "time_epoch", (json_int_t)l->time_epoch, "source",
		record_source_name(l->source), "clock", record_clock_name(l->state),
		"uncertainty_ns",
		l->uncertainty_ns == UINT32_MAX ? json_null() : json_integer(l->uncertainty_ns),
		"tai_utc_s", (int)l->tai_utc_s, "anchor_count", (json_int_t)l->anchor_count,
		"anchor_tai_ns",
		l->anchor_tai_ns == INT64_MIN ? json_null() : json_integer(l->anchor_tai_ns));
}

void record_show_record(const struct record_sink *to, const struct record_place *at,
			const struct fcm_record_header *h, uint64_t offset, const uint8_t *data)
{
	json_t *item =
		at_json("record", at,
			json_pack("{s:s,s:I,s:I,s:I,s:I,s:o}", "kind", kind_name(h->kind), "frames",
				  (json_int_t)h->frames, "byte", (json_int_t)offset, "bytes",
				  (json_int_t)h->bytes, "monotonic_ns", (json_int_t)h->monotonic_ns,
				  "utc", count_json(at->label, h->count)));

	if (h->kind == FCM_RECORD_GAP) {
		json_object_set_new(item, "reason",
				    json_string(h->reason > TDM_GOOD && h->reason < TDM_LOSSES
							? tdm_loss_name((enum tdm_loss)h->reason)
							: "?"));
	} else if (h->kind == FCM_RECORD_LABEL) {
		const struct fcm_record_label label = recording_label(data);

		json_object_update_new(item, label_json(&label));
	}
	pass(to, item, render_record, false);
}

static void render_segment_end(struct writer *w, const json_t *i)
{
	value_say(w, value_true(i, "bad") ? WRITER_BAD : WRITER_PLAIN, i,
		  "{segment} ends at byte {byte} of {size}: {why}");
	writer_line(w, WRITER_PLAIN, " (%lld records)", value_integer(i, "records", 0));
}

void record_show_end(const struct record_sink *to, const char *name, enum record_end end,
		     uint64_t offset, uint64_t size, uint64_t records)
{
	static const char *const whys[] = {
		[RECORD_MORE] = "not read further",
		[RECORD_WHOLE] = "whole, with its index",
		[RECORD_OPEN] =
			"after a record, without index: being written, or its writer was killed",
		[RECORD_CUT] = "CUT OFF in the middle of a record; all before is good",
		[RECORD_DAMAGED] = "DAMAGED, a checksum is wrong; all before is good",
	};

	pass(to,
	     json_pack("{s:s,s:s,s:I,s:I,s:s,s:s,s:I}", "what", "end", "segment", name, "byte",
		       (json_int_t)offset, "size", (json_int_t)size, "end", record_end_name(end),
		       "why", whys[end], "records", (json_int_t)records),
	     render_segment_end, end == RECORD_CUT || end == RECORD_DAMAGED);
}

/* ---------------------------------------------------------------- registers */

static void render_registers(struct writer *w, const json_t *i)
{
	const char *line = value_string(i, "text", "");

	writer_line(w, WRITER_BOLD, "%s", value_string(i, "file", "?"));
	while (*line != '\0') {
		const size_t length = strcspn(line, "\n");

		writer_line(w, WRITER_PLAIN, "  %.*s", (int)length, line);
		line += length + (line[length] != '\0');
	}
}

void record_show_registers(const struct record_sink *to, const char *file, const char *text)
{
	/* No text: it is none. */
	pass(to,
	     json_pack("{s:s,s:s,s:o*}", "what", "registers", "file", file, "text",
		       json_string(text)),
	     render_registers, false);
}

/* ---------------------------------------------------------------- frames */

static const char *check_name(enum tdm_check check)
{
	static const char *const names[] = {"ok", "no-sync", "bad-header", "bad-crc"};

	return names[check];
}

static json_t *header_json(const struct tdm_header *h)
{
	static const char *const qualities[] = {"none", "labelled", "locked"};

	return json_pack(
		"{s:i,s:i,s:i,s:i,s:I,s:{s:i,s:I,s:i,s:i,s:s,s:i,s:i},s:I,s:i,s:i,s:i,s:i}",
		"tower", (int)h->tower, "floor", (int)h->floor, "flags", (int)h->flags, "slot_map",
		(int)h->slot_map, "sequence", (json_int_t)h->sequence, "time", "frame",
		(int)h->time.frame, "second", (json_int_t)h->time.second, "day", (int)h->time.day,
		"year", 2000 + (int)h->time.year, "quality",
		h->time.quality < 3 ? qualities[h->time.quality] : "?", "leap", (int)h->time.leap,
		"lock", (int)h->time.lock, "echo", (json_int_t)h->echo, "slot_valid",
		(int)h->slot_valid, "crc_errors", (int)h->crc_errors, "code_errors",
		(int)h->code_errors, "parity", (int)h->parity);
}

static void render_frame(struct writer *w, const json_t *i)
{
	const char *verdict = value_string(i, "verdict", "?");

	render_place(w, i);
	writer_text(w, strcmp(verdict, "good") == 0 ? WRITER_GOOD : WRITER_WARN, "%-10s ", verdict);
	value_say(w, WRITER_PLAIN, i, "{check:-10} ");
	if (json_object_get(i, "sequence") != NULL) {
		value_say(w, WRITER_PLAIN, i,
			  "T{tower:02}.F{floor:02} seq {sequence:10} echo {echo:10}  "
			  "frame {time.frame:4} of {time.year}/{time.day:03} {time.second:05} "
			  "{time.quality:-8} slots {slot_valid:03x} errors "
			  "{crc_errors}/{code_errors}");
		if (value_integer(i, "offset", 0) != 0) {
			writer_text(w, WRITER_WARN, " at byte %lld", value_integer(i, "offset", 0));
		}
		writer_text(w, WRITER_PLAIN, "  %s", value_string(i, "utc", "-"));
	}
	render_end_of_line(w, i);
}

void record_show_frame(const struct record_sink *to, const struct record_place *at,
		       const struct tdm_verdict *v, const uint8_t *cell)
{
	const bool good = v->loss == TDM_GOOD;
	struct tdm_header header = v->header;
	bool has_header = v->has_header;
	enum tdm_check check = TDM_OK;
	json_t *item;

	if (!good && cell != NULL) {
		check = tdm_frame_check(cell, &header);
		has_header = has_header || check == TDM_OK;
	}
	item = at_json("frame", at,
		       json_pack("{s:s,s:s?}", "verdict",
				 at->let_go ? "let-go" : tdm_loss_name(v->loss), "check",
				 good || cell != NULL ? check_name(check) : NULL));
	if (has_header) {
		json_object_update_new(item, header_json(v->has_header ? &v->header : &header));
	}
	if (good) {
		json_object_update_new(item,
				       json_pack("{s:i,s:I,s:o}", "offset", (int)v->offset,
						 "floor_frame", (json_int_t)v->floor_frame, "utc",
						 count_json(at->label, v->floor_frame)));
	}
	/* Sound frames that only confirm the alignment are not bad, nor is what the board lost, or
	 * the recorder let go. */
	pass(to, item, render_frame,
	     v->loss == TDM_LOSS_CRC || v->loss == TDM_LOSS_TIME ||
		     (v->loss == TDM_LOSS_ALIGNMENT && check != TDM_OK));
}

/* ---------------------------------------------------------------- slots, samples */

static void render_slot(struct writer *w, const json_t *i)
{
	render_place(w, i);
	if (json_object_get(i, "hydrophone") != NULL) {
		value_say(w, WRITER_PLAIN, i, "hydrophone{hydrophone}  sample {counter:10} on");
	} else {
		value_say(w, WRITER_PLAIN, i,
			  "om{om}  {bytes:4} bytes, first hit at {first:4}  slot {sequence:3}  "
			  "FIFO {fifo_bytes:7} bytes");
	}
	writer_text(w, WRITER_PLAIN, "%s%s", value_true(i, "powered") ? "" : "  no power",
		    value_true(i, "fifo_full") ? "  FIFO FULL" : "");
	render_end_of_line(w, i);
}

static void show_module(const struct record_sink *to, const struct record_place *at,
			const uint8_t *frame, unsigned m)
{
	struct tdm_pmt_slot s = {0};
	const bool bad = tdm_pmt_slot_get(frame, m, &s) < 0;

	pass(to,
	     at_json("slot", at,
		     json_pack("{s:i,s:i,s:i,s:i,s:I,s:b,s:b,s:s*}", "om", (int)m, "bytes",
			       (int)s.length, "first", (int)s.first, "sequence", (int)s.sequence,
			       "fifo_bytes", (json_int_t)s.fill * 64, "powered",
			       (s.flags & TDM_PMT_POWERED) != 0, "fifo_full",
			       (s.flags & TDM_PMT_FIFO_FULL) != 0, "why",
			       bad ? "length or first hit out of range" : NULL)),
	     render_slot, bad);
}

void record_show_slots(const struct record_sink *to, const struct record_place *at,
		       const struct tdm_verdict *v)
{
	struct tdm_hydro_slot s;

	for (unsigned m = 0; m < TDM_MODULES; m++) {
		if (v->header.slot_valid & TDM_VALID_MODULE(m)) {
			show_module(to, at, v->frame, m);
		}
	}
	for (unsigned h = 0; h < TDM_HYDROPHONES; h++) {
		if (v->header.slot_valid & TDM_VALID_HYDROPHONE(h)) {
			tdm_hydro_slot_get(v->frame, h, &s);
			pass(to,
			     at_json("slot", at,
				     json_pack("{s:i,s:I,s:b}", "hydrophone", (int)h, "counter",
					       (json_int_t)s.counter, "powered", s.flags & 1)),
			     render_slot, false);
		}
	}
}

static void render_samples(struct writer *w, const json_t *i)
{
	size_t n;
	const json_t *sample;

	render_place(w, i);
	value_say(w, WRITER_PLAIN, i, "hydrophone{hydrophone} {utc} {counter:10} ");
	json_array_foreach (json_object_get(i, "samples"), n, sample) {
		writer_text(w, WRITER_PLAIN, " %8lld", (long long)json_integer_value(sample));
	}
	render_end_of_line(w, i);
}

void record_show_samples(const struct record_sink *to, const struct record_place *at,
			 const struct tdm_verdict *v)
{
	for (unsigned h = 0; h < TDM_HYDROPHONES; h++) {
		struct tdm_hydro_slot s;
		json_t *samples;

		if (!(v->header.slot_valid & TDM_VALID_HYDROPHONE(h))) {
			continue;
		}
		samples = json_array();
		tdm_hydro_slot_get(v->frame, h, &s);
		for (unsigned n = 0; n < TDM_SAMPLES; n++) {
			json_array_append_new(samples, json_integer((int32_t)le32_get(
							       s.samples + (size_t)n * 4)));
		}
		pass(to,
		     at_json("samples", at,
			     json_pack("{s:i,s:I,s:o,s:o}", "hydrophone", (int)h, "counter",
				       (json_int_t)s.counter, "utc",
				       count_json(at->label, v->floor_frame), "samples", samples)),
		     render_samples, false);
	}
}

/* ---------------------------------------------------------------- words */

static void render_word(struct writer *w, const json_t *i)
{
	render_place(w, i);
	value_say(w, WRITER_PLAIN, i,
		  "{op:-6} module {module:2} reg {reg:3} = {value:11}  {status:-10} "
		  "seq {sequence:10} boot {boot}");
	render_end_of_line(w, i);
}

static void show_word(const struct record_sink *to, const struct record_place *at,
		      const uint8_t *bytes)
{
	static const char *const ops[] = {"?", "read", "write", "action", "query"};
	struct word word = {0};
	const bool bad = word_unpack(bytes, &word) < 0;
	const unsigned op = word.op & ~(unsigned)WORD_REPLY;

	pass(to,
	     at_json("word", at,
		     json_pack("{s:s,s:i,s:i,s:I,s:s,s:I,s:I,s:s*}", "op", op < 5 ? ops[op] : "?",
			       "module", (int)word.module, "reg", (int)word.reg, "value",
			       (json_int_t)word.value, "status", word_status_name(word.status),
			       "sequence", (json_int_t)word.sequence, "boot", (json_int_t)word.boot,
			       "why", bad ? "checksum" : NULL)),
	     render_word, bad);
}

void record_show_words(const struct record_sink *to, const struct record_place *at,
		       const struct tdm_verdict *v)
{
	const uint8_t *words;
	int n;

	if (!(v->header.slot_valid & TDM_VALID_REPLIES)) {
		return;
	}
	n = tdm_replies_get(v->frame, &words);
	for (int i = 0; i < n; i++) {
		show_word(to, at, words + (size_t)i * TDM_WORD_BYTES);
	}
}

/* ---------------------------------------------------------------- hits */

static void render_hit(struct writer *w, const json_t *i)
{
	render_place(w, i);
	writer_text(w, WRITER_PLAIN, "om%lld ", value_integer(i, "om", 0));
	if (json_object_get(i, "t5ns") != NULL) {
		value_say(w, WRITER_PLAIN, i,
			  "{utc:-29}  frame {frame:4} t5ns {t5ns:5}  T{tower:02}.F{efcm:02}.{pmt}  "
			  "charge {charge:7}  {samples:2} samples");
		writer_text(w, WRITER_PLAIN, "%s%s%s", value_true(i, "zip") ? "" : " of 2 bytes",
			    value_true(i, "fragment") ? "  fragment" : "",
			    value_true(i, "fifo_full") ? "  FIFO FULL" : "");
	}
	render_end_of_line(w, i);
}

/* When it was born, by the frame that its first byte travels in. */
static json_t *born_json(const struct fcm_record_label *label, const struct hit *hit,
			 uint64_t floor_frame)
{
	const unsigned carrier = (unsigned)(floor_frame % TDM_FRAMES_PER_SECOND);
	char text[UTC_TEXT];
	int64_t tai_ns;

	if (label == NULL || !recording_tai_ns(label, floor_frame - carrier, &tai_ns)) {
		return json_null();
	}
	tai_ns += hit_second_offset(hit->frame, carrier) * SECOND_NS +
		  (int64_t)hit->frame * TDM_FRAME_NS + (int64_t)hit->t5ns * 5;
	return json_string(tai_text(label, tai_ns, text));
}

struct hit_walk_on {
	const struct record_sink *to;
	struct record_place at;
	unsigned module;
	uint64_t floor_frame;
	bool show;
};

static void show_bad_hit(const struct hit_walk_on *x, const char *why)
{
	json_t *item = x->show ? at_json("hit", &x->at,
					 json_pack("{s:i,s:s}", "om", (int)x->module, "why", why))
			       : NULL;

	pass(x->to, item, render_hit, true);
}

static void show_hit(const struct hit_walk_on *x, const uint8_t *bytes)
{
	struct hit h;

	if (!x->show) {
		return;
	}
	hit_unpack(bytes, &h);
	pass(x->to,
	     at_json("hit", &x->at,
		     json_pack("{s:i,s:o,s:i,s:i,s:i,s:i,s:i,s:I,s:i,s:b,s:b,s:b}", "om",
			       (int)x->module, "utc", born_json(x->at.label, &h, x->floor_frame),
			       "tower", (int)h.tower, "efcm", (int)h.efcm, "pmt", (int)h.pmt,
			       "frame", (int)h.frame, "t5ns", (int)h.t5ns, "charge",
			       (json_int_t)h.charge, "samples", (int)h.samples, "zip", (int)h.zip,
			       "fragment", (int)h.fragment, "fifo_full", (int)h.fifo_full)),
	     render_hit, false);
}

/* The rest of a hit that the last frame's slot cut, or a part of it that fills this slot too. */
static void end_cut(struct hit_walk_on x, struct record_hits *hits, const struct tdm_pmt_slot *s)
{
	typeof(hits->cut[0]) *cut = &hits->cut[x.module];
	bool header, whole;

	if (cut->have == 0) {
		return;
	}
	x.at.count = cut->count;
	x.floor_frame = cut->floor_frame;
	if (s->first <= HIT_MAX_BYTES - cut->have) {
		memcpy(cut->bytes + cut->have, s->stream, s->first);
		cut->have += s->first;
	}
	header = cut->have >= HIT_HEADER_BYTES;
	whole = header && hit_legal(cut->bytes) && hit_bytes(cut->bytes) == cut->have;
	if (whole) {
		show_hit(&x, cut->bytes);
	} else if (s->first == s->length && (!header || hit_bytes(cut->bytes) > cut->have)) {
		return;
	} else {
		show_bad_hit(&x, "its fragments do not form a hit");
	}
	cut->have = 0;
}

static void keep_cut(const struct hit_walk_on *x, struct record_hits *hits, const uint8_t *bytes,
		     unsigned length)
{
	typeof(hits->cut[0]) *cut = &hits->cut[x->module];

	memcpy(cut->bytes, bytes, length);
	cut->have = length;
	cut->count = x->at.count;
	cut->floor_frame = x->floor_frame;
}

static void walk_hits(const struct hit_walk_on *x, struct record_hits *hits,
		      const struct tdm_pmt_slot *s)
{
	unsigned at = s->first;

	while (at < s->length) {
		const uint8_t *p = s->stream + at;
		const unsigned left = s->length - at;

		if (left >= HIT_HEADER_BYTES && !hit_legal(p)) {
			show_bad_hit(x, "no hit begins at the expected place");
			return;
		}
		if (left < HIT_HEADER_BYTES || hit_bytes(p) > left) {
			keep_cut(x, hits, p, left);
			return;
		}
		show_hit(x, p);
		at += (unsigned)hit_bytes(p);
	}
}

void record_show_hits(const struct record_sink *to, const struct record_place *at,
		      const struct tdm_verdict *v, struct record_hits *hits, bool show)
{
	for (unsigned m = 0; m < TDM_MODULES; m++) {
		const struct hit_walk_on x = {to, *at, m, v->floor_frame, show};
		struct tdm_pmt_slot s;

		if (v->frame == NULL || !(v->header.slot_valid & TDM_VALID_MODULE(m))) {
			hits->cut[m].have = 0;
			continue;
		}
		if (tdm_pmt_slot_get(v->frame, m, &s) < 0) {
			show_bad_hit(&x, "the slot's length or first hit is out of range");
			hits->cut[m].have = 0;
			continue;
		}
		end_cut(x, hits, &s);
		walk_hits(&x, hits, &s);
	}
}
