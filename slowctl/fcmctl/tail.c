/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fcmctl data tail: what is flowing, one line a block, or a hit (hits.c), as a monitor (listen.h). Here is the table of
 * the noun, too.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "slowctl/fcmctl/core/ctl.h"
#include "slowctl/fcmctl/hits.h"
#include "slowctl/fcmctl/listen.h"
#include "slowctl/fcmctl/record/items.h"
#include "slowctl/fcmctl/show/value.h"
#include "slowctl/fcmctl/spectrum.h"
#include "tdm/le.h"

struct tail {
	struct ctl *ctl;
	struct listen listen;
	unsigned items; /* of a block, at most */
	double interval_s;
	uint64_t left;				/* blocks to show */
	double shown_s[FCM_LINKS][FCM_STREAMS]; /* when a block of it was shown last */
};

/* --- saying it --- */

static const struct {
	uint32_t bit;
	const char *name;
} flag_names[] = {
	{FCM_BLOCK_RESENT, "resent"},
	{FCM_BLOCK_GAP, "gap"},
	{FCM_BLOCK_NO_TIME, "no-time"},
	{FCM_BLOCK_PARTIAL, "partial"},
	{FCM_BLOCK_STEP, "step"},
	{FCM_BLOCK_RELABEL, "relabel"},
	{FCM_BLOCK_FIFO_FULL, "fifo-full"},
	{FCM_BLOCK_IDENTITY, "identity"},
	{FCM_BLOCK_TIME_FAULT, "time-fault"},
	{FCM_BLOCK_EMULATED, "emulated"},
};

static json_t *hit_json(const struct fcmdata_hit *h, unsigned channel)
{
	return json_pack("{s:i,s:I,s:i,s:i,s:I,s:i,s:b,s:b}", "om", (int)channel, "second",
			 (json_int_t)h->second, "frame", (int)h->frame, "t5ns", (int)h->t5ns,
			 "charge", (json_int_t)h->charge, "samples", (int)h->samples, "fragment",
			 (int)h->fragment, "fifo_full", (int)h->fifo_full);
}

/* The first few items: hits of every module in turn, a sample of each hydrophone. */
static json_t *items_json(const struct fcmdata_block *b, unsigned most)
{
	const struct fcm_block_header *h = &b->header;
	json_t *items = json_array();

	for (unsigned c = 0; c < h->channels; c++) {
		const uint8_t *sample = b->payload + h->channel_offset[c];
		struct fcmdata_cursor cursor;
		struct fcmdata_hit hit;

		if (h->stream == FCM_HYDROPHONE &&
		    h->channel_offset[c + 1] - h->channel_offset[c] >= 4 &&
		    json_array_size(items) < most) {
			json_array_append_new(items,
					      json_pack("{s:i,s:i}", "hydrophone", (int)c, "sample",
							(int)(int32_t)le32_get(sample)));
		}
		fcmdata_begin(b, c, &cursor);
		while (json_array_size(items) < most &&
		       json_array_size(items) * h->channels < (size_t)most * (c + 1) &&
		       fcmdata_next_hit(&cursor, &hit) > 0) {
			json_array_append_new(items, hit_json(&hit, c));
		}
	}
	return items;
}

static json_t *block_json(const struct tail *t, const struct fcmdata_block *b)
{
	const struct fcm_block_header *h = &b->header;
	double utc = ctl_block_utc(h);
	json_t *flags = json_array();

	for (size_t i = 0; i < sizeof(flag_names) / sizeof(flag_names[0]); i++) {
		if ((h->flags & flag_names[i].bit) != 0) {
			json_array_append_new(flags, json_string(flag_names[i].name));
		}
	}
	return json_pack(
		"{s:s,s:i,s:i,s:i,s:i,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:o,s:o,s:s,s:s,s:o,s:I,"
		"s:I,s:o,s:o}",
		"stream", fcm_stream_name(h->stream), "board", (int)h->board, "link", (int)h->link,
		"tower", (int)h->tower, "floor", (int)h->floor, "run", (json_int_t)h->run,
		"dma_epoch", (json_int_t)h->dma_epoch, "sequence", (json_int_t)h->sequence,
		"first_frame", (json_int_t)h->first_frame, "frames", (json_int_t)h->frames,
		"frames_lost", (json_int_t)h->frames_lost, "frames_bad", (json_int_t)h->frames_bad,
		"utc", isfinite(utc) ? json_real(utc) : json_null(), "tai_ns",
		isfinite(utc) ? json_integer(h->tai_ns) : json_null(), "clock",
		record_clock_name(h->clock_state), "source", record_source_name(h->label_source),
		"uncertainty_ns",
		h->uncertainty_ns != FCM_NO_UNCERTAINTY ? json_integer(h->uncertainty_ns)
							: json_null(),
		"items", (json_int_t)h->items, "payload_bytes", (json_int_t)h->payload_bytes,
		"flags", flags, "first_items", items_json(b, t->items));
}

static void render_flags(struct writer *w, const json_t *flags)
{
	size_t i;
	const json_t *flag;

	json_array_foreach (flags, i, flag) {
		const char *name = json_string_value(flag);
		bool usual = strcmp(name, "emulated") == 0 || strcmp(name, "relabel") == 0;

		writer_text(w, usual ? WRITER_DIM : WRITER_WARN, " %s", name);
	}
}

/* UTC of a hit inside its day: the stamped second and what the FCM counted. */
static void render_item(struct writer *w, const json_t *item)
{
	long long second = value_integer(item, "second", 0);
	long long ns =
		value_integer(item, "frame", 0) * 125000 + value_integer(item, "t5ns", 0) * 5;
	char text[96];

	if (json_object_get(item, "hydrophone") != NULL) {
		value_fill(item, " | hydrophone{hydrophone} {sample}", text, sizeof(text));
	} else {
		snprintf(text, sizeof(text), " | om%lld %02lld.%09lld charge %lld",
			 value_integer(item, "om", 0), second % 60, ns,
			 value_integer(item, "charge", 0));
	}
	if (strlen(text) > writer_room(w)) {
		writer_newline(w);
		writer_text(w, WRITER_PLAIN, "%23s", "");
	}
	writer_text(w, WRITER_PLAIN, "%s", text);
}

static void render_block(struct writer *w, const json_t *b)
{
	const char *stream = value_string(b, "stream", "?");
	long long lost = value_integer(b, "frames_lost", 0);
	long long bad = value_integer(b, "frames_bad", 0);
	size_t i;
	const json_t *item;

	value_say(w, WRITER_DIM, b, "{utc:ms}");
	value_say(w, WRITER_PLAIN, b,
		  " link{link} T{tower:02}.F{floor:02} {stream} run {run} "
		  "frames {first_frame}+{frames}");
	if (lost > 0 || bad > 0) {
		writer_text(w, WRITER_WARN, " (%lld lost, %lld bad)", lost, bad);
	}
	writer_text(w, WRITER_BOLD, " %lld %s", value_integer(b, "items", 0),
		    strcmp(stream, "pmt") == 0		? "hits"
		    : strcmp(stream, "hydrophone") == 0 ? "samples"
							: "records");
	render_flags(w, value_at(b, "flags"));
	json_array_foreach (value_at(b, "first_items"), i, item) {
		render_item(w, item);
	}
	writer_newline(w);
}

/* --- taking it --- */

static bool is_due(struct tail *t, const struct fcm_block_header *h)
{
	double now = ctl_monotonic();
	double *shown_s = &t->shown_s[h->link][h->stream];

	if (t->interval_s > 0.0 && now - *shown_s < t->interval_s) {
		return false;
	}
	*shown_s = now;
	return true;
}

static void take_block(struct tail *t, const struct fcmdata_block *b)
{
	json_t *block;

	if (!is_due(t, &b->header)) {
		return;
	}
	block = block_json(t, b);
	if (block != NULL) {
		writer_result(t->ctl->out, block, render_block);
		t->left--;
	}
	json_decref(block);
}

static int tail_loop(struct tail *t)
{
	int code = CTL_DONE;

	while (code == CTL_DONE && t->left > 0 && !ctl_interrupted()) {
		const struct fcmdata_block *b;

		code = listen_next(&t->listen, &b);
		if (b != NULL) {
			listen_heard(&t->listen);
			take_block(t, b);
			listen_release(&t->listen, b);
			code = writer_flush(t->ctl->out) != 0 ? CTL_NOT : CTL_DONE;
		}
	}
	return code;
}

static int parse_stream(const char *text)
{
	for (unsigned i = 0; i < FCM_STREAMS; i++) {
		if (strcmp(text, fcm_stream_name(i)) == 0) {
			return (int)i;
		}
	}
	return strcmp(text, "all") == 0 ? -1 : -EINVAL;
}

static int usage_of(struct ctl *ctl, const struct ctl_args *args, int stream)
{
	bool hits = ctl_given(args, CTL_HITS);

	if (stream == -EINVAL) {
		return ctl_usage(ctl, "pmt, hydrophone, instrument or all",
				 "there is no stream '%.40s'", args->text[CTL_STREAM]);
	}
	if (hits && stream != FCM_PMT) {
		return ctl_usage(ctl, "leave --stream out", "--hits are those of stream pmt");
	}
	if (hits && ctl_given(args, CTL_ITEMS)) {
		return ctl_usage(ctl, "leave one out", "--hits shows all, --items some of a block");
	}
	if (!hits && ctl_given(args, CTL_MODULE)) {
		return ctl_usage(ctl, "add --hits", "a block is of all modules of a floor");
	}
	return CTL_DONE;
}

static int tail_run(struct ctl *ctl, const struct ctl_args *args)
{
	bool hits = ctl_given(args, CTL_HITS);
	struct tail t = {
		.ctl = ctl,
		.items = (unsigned)ctl_number(args, CTL_ITEMS, 3),
		.interval_s = args->number[CTL_INTERVAL],
		.left = (uint64_t)ctl_number(args, CTL_COUNT, 1e18),
	};
	int stream = ctl_given(args, CTL_STREAM) ? parse_stream(args->text[CTL_STREAM]) : FCM_PMT;
	int code = usage_of(ctl, args, stream);

	if (code != CTL_DONE) {
		return code;
	}
	code = listen_open(&t.listen, ctl, args, stream, hits ? "hit" : "block");
	if (code == CTL_DONE) {
		ctl_catch_interrupt();
		code = hits ? hits_tail(&t.listen, args) : tail_loop(&t);
		ctl_release_interrupt();
	}
	listen_close(&t.listen);
	return code;
}

const struct ctl_command ctl_data_commands[] = {
	{"data", "tail", "", "the data as they flow, one line a block or a hit",
	 .help = "Listens as a monitor: best effort; it does not disturb other readers, and\n"
		 "says on stderr what it has missed.\n"
		 "One line for each block (10 ms of a floor): UTC, link, floor, stream,\n"
		 "run, first frame and number of frames, items, flags, and the first few\n"
		 "hits (second.ns of UTC, charge), which go on in the next line where the\n"
		 "screen ends. Without --stream: pmt. --timeout SPAN\n"
		 "ends it after a silence of that length.\n\n"
		 "With --hits one line for each hit: UTC to the ns (with the cable delay of\n"
		 "the floor), link, floor, module, charge, number of samples, flags: zip\n"
		 "(samples of one byte), fragment (goes on with the pulse before it),\n"
		 "fifo-full (hits lost in the FCM). In the order of time within a block.\n\n"
		 "Flags of a block: resent, gap (nothing came), no-time, partial (frames\n"
		 "are missing), step, relabel, fifo-full (hits lost in the FCM), identity\n"
		 "(not the expected floor), time-fault, emulated.\n\n"
		 "  fcmctl data tail --floor 3 --count 20\n"
		 "  fcmctl data tail --stream all --interval 1s\n"
		 "  fcmctl data tail --hits --floor 3 --module 2 --count 100",
	 .options = CTL_BIT(CTL_STREAM) | CTL_BIT(CTL_LINK) | CTL_BIT(CTL_TOWER) |
		    CTL_BIT(CTL_FLOOR) | CTL_BIT(CTL_MODULE) | CTL_BIT(CTL_COUNT) |
		    CTL_BIT(CTL_HITS) | CTL_BIT(CTL_ITEMS) | CTL_BIT(CTL_INTERVAL) |
		    CTL_BIT(CTL_KEY),
	 .run = tail_run},
	{"data", "plot", "[QUANTITY]", "charge, rate, ... of the hits as a histogram",
	 .help = "Listens as a monitor for 5 s, or --for SPAN, or until Ctrl-C, and shows how\n"
		 "the QUANTITY is distributed, as numbers and as bars:\n\n"
		 "  charge               of each hit, as the FCM computed it (the default)\n"
		 "  rate                 pulses of a module in a block (10 ms), in kHz\n"
		 "  samples              number of samples of each hit\n"
		 "  time-over-threshold  of each pulse, in ns: 5 for each sample that is at\n"
		 "                       least --over N counts (default 4) above the mean of\n"
		 "                       the pulse's first four samples\n\n"
		 "The bins are those of 99 % of the values; what is outside is counted in\n"
		 "\"below\" and \"above\". What was missed here, and what the station has lost,\n"
		 "is below the bins. --csv prints the bins.\n\n"
		 "  fcmctl data plot\n"
		 "  fcmctl data plot rate --floor 3 --module 2 --for 1m",
	 .options = CTL_BIT(CTL_LINK) | CTL_BIT(CTL_TOWER) | CTL_BIT(CTL_FLOOR) |
		    CTL_BIT(CTL_MODULE) | CTL_BIT(CTL_FOR) | CTL_BIT(CTL_OVER) | CTL_BIT(CTL_KEY),
	 .run = spectrum_run},
	{0},
};
