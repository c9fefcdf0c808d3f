/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * truth-compare: what consumers recorded against what the emulator really sent, frame by frame, hash by
 * hash. The judgement is truth_book.c's; here are the options and the report.
 *
 * Exit: 0 all delivered frames are equal and every other one is named; 1 not so; 2 usage or a file that
 * cannot be read.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/system/truth_book.h"
#include "tests/system/truth_read.h"

static const char usage[] =
	"usage: truth-compare [--json] [--ledger DATABASE] [--group NAME] [--drift NS] TRUTH "
	"RECORD...\n"
	"  TRUTH     of nanet3-emu --truth\n"
	"  RECORD    of fcm-consumer --record\n"
	"  --ledger  the daemon's database: what it names as lost is explained\n"
	"  --group   the records are this group's: what others dropped explains nothing\n"
	"  --drift   largest difference of times with the clock locked, in ns (0)\n";

static const char *const streams[BOOK_STREAMS] = {"pmt", "hydrophone"};

static const char *fate_name(unsigned loss)
{
	static const char *const names[TDM_LOSSES] = {
		"ledger", "link-down", "board-fifo", "ring-full", "crc", "alignment", "time-fault"};

	return loss < TDM_LOSSES ? names[loss] : "unknown";
}

static uint64_t missing_named(const struct book_tally *t)
{
	uint64_t sum = t->dropped;

	for (unsigned k = 0; k < TDM_LOSSES; k++) {
		sum += t->missing[k];
	}
	return sum;
}

static bool empty(const struct book_tally *t)
{
	return t->first > t->last;
}

/* ---- JSON ---- */

struct field {
	const char *name;
	uint64_t value;
};

static void set_fields(json_t *object, const struct field *fields, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		json_t *old = json_object_get(object, fields[i].name);
		json_int_t sum = json_integer_value(old) + (json_int_t)fields[i].value;

		json_object_set_new(object, fields[i].name, json_integer(sum));
	}
}

/* Adds to what stands there: rows are made from one tally, the total from all. */
static void add_tally(json_t *object, const struct book_tally *t)
{
	const struct field fields[] = {
		{"frames", t->frames},
		{"equal", t->equal},
		{"cut", t->cut},
		{"different", t->different},
		{"missing_named", missing_named(t)},
		{"missing_unnamed", t->unnamed},
		{"dropped", t->dropped},
		{"late", t->late},
		{"hits", t->hits},
		{"samples", t->samples},
		{"repeats", t->repeats},
		{"repeats_unflagged", t->repeats_unflagged},
		{"not_in_truth", t->unknown},
		{"unexpected", t->unexpected},
		{"charged_but_delivered", t->charged},
		{"tai_errors", t->tai_errors},
		{"time_errors", t->time_errors},
		{"bad_hits", t->bad_hits},
		{"errors", book_errors(t)},
	};
	const int64_t max[2] = {t->tai_max_locked_ns, t->tai_max_ns};
	static const char *const max_names[2] = {"tai_max_difference_locked_ns",
						 "tai_max_difference_ns"};

	set_fields(object, fields, sizeof(fields) / sizeof(fields[0]));
	for (unsigned i = 0; i < 2; i++) {
		json_int_t old = json_integer_value(json_object_get(object, max_names[i]));

		json_object_set_new(object, max_names[i],
				    json_integer(max[i] > old ? max[i] : old));
	}
}

static json_t *row_json(const struct book_tally *t, unsigned link, unsigned stream)
{
	json_t *row = json_pack("{s:i, s:i, s:i, s:s, s:I, s:I}", "link", (int)link, "tower",
				(int)t->tower, "floor", (int)t->floor, "stream", streams[stream],
				"first", (json_int_t)t->first, "last", (json_int_t)t->last);
	json_t *missing = json_object();

	add_tally(row, t);
	for (unsigned k = 0; k < TDM_LOSSES; k++) {
		if (t->missing[k] > 0) {
			json_object_set_new(missing, fate_name(k),
					    json_integer((json_int_t)t->missing[k]));
		}
	}
	if (t->dropped > 0) {
		json_object_set_new(missing, "dropped", json_integer((json_int_t)t->dropped));
	}
	json_object_set_new(row, "missing", missing);
	return row;
}

static json_t *examples_json(const struct book *b)
{
	const struct book_example *e;
	unsigned n = book_examples(b, &e);
	json_t *list = json_array();

	for (unsigned i = 0; i < n; i++) {
		json_array_append_new(
			list,
			json_pack("{s:s, s:i, s:s, s:I, s:I, s:I, s:I}", "what", e[i].what, "link",
				  (int)e[i].link, "stream", streams[e[i].stream], "floor_frame",
				  (json_int_t)e[i].floor_frame, "count", (json_int_t)e[i].count,
				  "tai_ns", (json_int_t)e[i].record.tai_ns, "truth_tai_ns",
				  (json_int_t)e[i].truth.tai_ns));
	}
	return list;
}

static void print_json(const struct book *b, bool ok)
{
	json_t *root = json_object(), *rows = json_array();

	json_object_set_new(root, "ok", json_boolean(ok));
	for (unsigned link = 0; link < BOOK_LINKS; link++) {
		for (unsigned stream = 0; stream < BOOK_STREAMS; stream++) {
			const struct book_tally *t = book_tally(b, link, stream);

			add_tally(root, t);
			if (!empty(t)) {
				json_array_append_new(rows, row_json(t, link, stream));
			}
		}
	}
	json_object_set_new(root, "links", rows);
	json_object_set_new(root, "examples", examples_json(b));
	json_dumpf(root, stdout, JSON_COMPACT);
	putchar('\n');
	json_decref(root);
}

/* ---- text ---- */

static void print_notes(const struct book_tally *t, unsigned link, unsigned stream)
{
	const struct field notes[] = {
		{"hits cut with the next frame", t->cut},
		{"delivered though damaged on the way", t->unexpected},
		{"delivered though the ledger charges the link", t->charged},
		{"delivered too late, dropped for the group", t->late},
		{"repeats", t->repeats},
		{"ERROR: repeats without RESENT", t->repeats_unflagged},
		{"ERROR: not in the truth", t->unknown},
		{"ERROR: clock locked, time not that of the light", t->tai_errors},
		{"ERROR: hits with a wrong time of day", t->time_errors},
		{"ERROR: hits illegal", t->bad_hits},
	};

	for (unsigned i = 0; i < sizeof(notes) / sizeof(notes[0]); i++) {
		if (notes[i].value > 0) {
			printf("  link %u %s: %s: %" PRIu64 "\n", link, streams[stream],
			       notes[i].name, notes[i].value);
		}
	}
	for (unsigned k = 0; k < TDM_LOSSES; k++) {
		if (t->missing[k] > 0) {
			printf("  link %u %s: missing, %s: %" PRIu64 "\n", link, streams[stream],
			       fate_name(k), t->missing[k]);
		}
	}
	if (t->dropped > 0) {
		printf("  link %u %s: dropped for the group: %" PRIu64 "\n", link, streams[stream],
		       t->dropped);
	}
}

static void print_example(const struct book_example *e)
{
	printf("  %s: link %u %s frame %" PRIu64, e->what, e->link, streams[e->stream],
	       e->floor_frame);
	if (e->truth.count > 0) {
		printf(", count %" PRIu64 ", fate %u, flags 0x%x", e->count, e->truth.fate,
		       e->truth.flags);
	}
	if (e->record.magic != 0 && e->truth.count > 0) {
		printf(", tai - truth %" PRId64 " ns", e->record.tai_ns - e->truth.tai_ns);
		for (unsigned m = 0; m < 6 && e->stream == FCM_PMT; m++) {
			if (e->record.hash[m] != e->truth.hit_hash[m]) {
				printf(", module %u: %u hits of %u", m, e->record.hits[m],
				       e->truth.hits[m]);
			}
		}
	}
	putchar('\n');
}

static void print_text(const struct book *b, bool ok)
{
	const struct book_example *e;
	unsigned n = book_examples(b, &e);

	printf("%4s %-10s %5s %10s %10s %9s %9s %9s %12s\n", "link", "stream", "floor", "frames",
	       "equal", "different", "named", "UNNAMED", "max dt [ns]");
	for (unsigned i = 0; i < BOOK_LINKS * BOOK_STREAMS; i++) {
		const struct book_tally *t = book_tally(b, i / BOOK_STREAMS, i % BOOK_STREAMS);

		if (!empty(t)) {
			printf("%4u %-10s %5u %10" PRIu64 " %10" PRIu64 " %9" PRIu64 " %9" PRIu64
			       " %9" PRIu64 " %12" PRId64 "\n",
			       i / BOOK_STREAMS, streams[i % BOOK_STREAMS], t->floor, t->frames,
			       t->equal, t->different, missing_named(t), t->unnamed,
			       t->tai_max_locked_ns);
		}
	}
	for (unsigned i = 0; i < BOOK_LINKS * BOOK_STREAMS; i++) {
		print_notes(book_tally(b, i / BOOK_STREAMS, i % BOOK_STREAMS), i / BOOK_STREAMS,
			    i % BOOK_STREAMS);
	}
	for (unsigned i = 0; i < n; i++) {
		print_example(&e[i]);
	}
	printf("%s\n", ok ? "equal: every delivered frame is the truth's, every other is named"
			  : "NOT EQUAL");
}

/* ---- main ---- */

static int load(struct book **ret_book, const char *ledger, const char *group, int64_t drift_ns,
		char **files, int count)
{
	const char *reason = "";
	int r = book_open(files[0], ret_book);

	if (r < 0) {
		fprintf(stderr, "truth-compare: %s: %s\n", files[0],
			r == -EBADMSG || r == -EPROTO ? truth_error(r) : strerror(-r));
		return r;
	}
	if (ledger && (r = book_add_ledger(*ret_book, ledger, group, &reason)) < 0) {
		fprintf(stderr, "truth-compare: %s: %s\n", ledger, reason);
		return r;
	}
	book_allow_drift(*ret_book, drift_ns);
	for (int i = 1; i < count; i++) {
		r = book_add_record(*ret_book, files[i]);
		if (r < 0) {
			fprintf(stderr, "truth-compare: %s: %s\n", files[i],
				r == -EBADMSG ? "not a record file" : strerror(-r));
			return r;
		}
	}
	book_judge(*ret_book);
	return 0;
}

/* Without any frame delivered nothing was shown. */
static bool all_well(const struct book *b)
{
	uint64_t equal = 0, errors = 0;

	for (unsigned i = 0; i < BOOK_LINKS * BOOK_STREAMS; i++) {
		const struct book_tally *t = book_tally(b, i / BOOK_STREAMS, i % BOOK_STREAMS);

		equal += t->equal;
		errors += book_errors(t);
	}
	return equal > 0 && errors == 0;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"json", no_argument, NULL, 'j'},	 {"ledger", required_argument, NULL, 'l'},
		{"group", required_argument, NULL, 'g'}, {"drift", required_argument, NULL, 'd'},
		{"help", no_argument, NULL, 'h'},	 {NULL},
	};
	const char *ledger = NULL, *group = NULL;
	struct book *b = NULL;
	bool json = false, ok;
	int64_t drift_ns = 0;
	int k;

	while ((k = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (k == 'j') {
			json = true;
		} else if (k == 'l') {
			ledger = optarg;
		} else if (k == 'g') {
			group = optarg;
		} else if (k == 'd') {
			drift_ns = atoll(optarg);
		} else {
			fputs(usage, k == 'h' ? stdout : stderr);
			return k == 'h' ? 0 : 2;
		}
	}
	if (argc - optind < 2) {
		fputs(usage, stderr);
		return 2;
	}
	if (load(&b, ledger, group, drift_ns, argv + optind, argc - optind) < 0) {
		book_close(b);
		return 2;
	}
	ok = all_well(b);
	if (json) {
		print_json(b, ok);
	} else {
		print_text(b, ok);
	}
	book_close(b);
	return ok ? 0 : 1;
}
