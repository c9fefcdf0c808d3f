// SPDX-License-Identifier: GPL-2.0-or-later
/* A conversion: see convert.h. */
#include "daemon/convert/convert.h"

#include <errno.h>
#include <inttypes.h>
#include <isa-l/crc.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "daemon/convert/cells.h"
#include "daemon/convert/missing.h"
#include "daemon/convert/output/text.h"
#include "daemon/convert/slice.h"
#include "daemon/convert/source.h"
#include "daemon/convert/spread.h"

#define FRAME_BYTES 10000u
#define SECOND_NS   1000000000ll
#define CELLS_STEP  (16u << 20)

/* Kept with a commit. */
struct progress {
	uint32_t print;	 /* which input, and what of it */
	uint64_t blocks; /* of the source, that are converted */
	uint64_t bytes;	 /* of cells, about */
	struct totals totals;
};

struct convert {
	const struct options *o;
	const struct kind *kind;
	const struct input *in;
	const struct about *about;
	struct report *report;
	const volatile int *stop;
	unsigned streams;
	bool live;

	struct source *source;
	struct slice slice;
	struct sink *sink;
	struct journal *journal;
	struct spread *spread;
	struct cells *cells;
	double committed_s;
	unsigned troubles; /* damaged segments that were reported */
	bool saved;	   /* there has been a commit */
	bool other_run;	   /* another run began: the end */

	/* Kept with a commit. */
	struct progress progress;
	struct missing missing;
	struct spread_state spread_state;
	struct cells_state cells_state;
	void *sink_state;
};

/* ---------------------------------------------------------------------------------------- what is wanted */

/* TAI of a time as it was typed; 0: not given, or before the begin of all. */
static int64_t tai_of(const struct when *w, const struct input *in)
{
	if (!w->given) {
		return 0;
	}
	if (w->relative) {
		return in->begin_tai_ns + w->ns;
	}
	return w->utc ? w->ns + in->tai_utc_s * SECOND_NS : w->ns;
}

static struct source_config source_config(const struct convert *c)
{
	return (struct source_config){
		.path = c->in->path,
		.live = c->live,
		.links = c->o->links,
		.streams = c->streams,
		.one_run = c->o->one_run,
		.run = c->o->run,
		.from_tai_ns = tai_of(&c->o->from, c->in),
		.until_tai_ns = tai_of(&c->o->until, c->in),
		.seconds = c->o->seconds,
		.server_key = c->o->server_key,
		.key_file = c->o->key_file,
		.stop = c->stop,
		.report = c->report,
	};
}

/* The input, and what of it: another one cannot be gone on with. */
static uint32_t print_of(const struct convert *c)
{
	const struct options *o = c->o;
	const int64_t what[] = {o->one_run,
				o->run,
				o->all_runs,
				o->links,
				c->streams,
				o->cells,
				tai_of(&o->from, c->in),
				tai_of(&o->until, c->in)};

	return crc32_gzip_refl(input_print(c->in), (const uint8_t *)what, sizeof(what));
}

/* ------------------------------------------------------------------------------------------------ commit */

static size_t kept(struct convert *c, struct journal_part parts[JOURNAL_PARTS])
{
	const struct journal_part all[] = {
		{&c->progress, sizeof(c->progress)},
		{&c->missing, sizeof(c->missing)},
		{&c->spread_state, sizeof(c->spread_state)},
		{&c->cells_state, sizeof(c->cells_state)},
		{c->sink_state, c->kind->state_bytes},
	};

	memcpy(parts, all, sizeof(all));
	return sizeof(all) / sizeof(all[0]);
}

static int commit(struct convert *c, bool last)
{
	struct journal_part parts[JOURNAL_PARTS];
	size_t n = kept(c, parts);
	int err = c->sink->ops->commit(c->sink, &c->progress.totals, last);

	if (err == 0) {
		err = journal_commit(c->journal, parts, n, c->sink->mark, last);
		if (err < 0) {
			sink_fail(c->sink, err, "cannot write its journal", c->o->output);
		}
	}
	c->committed_s = report_seconds(c->report);
	c->saved = c->saved || err == 0;
	return err;
}

/* ------------------------------------------------------------------------------------------------- slices */

static int on_missing(void *context, const struct out_missing *row)
{
	struct convert *c = context;

	return c->sink->ops->table(c->sink, TABLE_MISSING, row, 1);
}

static void note_block(struct convert *c, const struct fcm_block_header *h)
{
	struct totals *t = &c->progress.totals;
	unsigned first_stream = 0;

	while (!(c->streams & 1u << first_stream)) {
		first_stream++;
	}
	if (h->stream == first_stream) {
		c->progress.bytes += (uint64_t)h->frames * FRAME_BYTES;
	}
	if (c->progress.blocks++ == 0) {
		t->run = h->run;
		t->board = h->board;
	}
	t->several_runs |= h->run != t->run;
	t->emulated |= (h->flags & FCM_BLOCK_EMULATED) != 0;
	if (!(h->flags & FCM_BLOCK_NO_TIME)) {
		int64_t end = (int64_t)((uint64_t)h->tai_ns + h->frames * 125000ull);

		t->first_tai_ns =
			t->first_tai_ns == FCM_NO_TAI ? h->tai_ns : MIN(t->first_tai_ns, h->tai_ns);
		t->last_tai_ns = MAX(t->last_tai_ns, end);
		t->tai_utc_s = t->tai_utc_s ? t->tai_utc_s : slice_tai_utc_s(h);
	}
}

static void note_totals(struct convert *c)
{
	struct totals *t = &c->progress.totals;
	const char *text;
	unsigned troubles;

	t->blocks = c->spread_state.blocks;
	t->hits = c->spread_state.hits;
	t->groups = c->spread_state.groups;
	t->frames_missing = missing_all(&c->missing);
	t->edge_frames = c->missing.edge_frames;
	troubles = source_troubles(c->source, &text);
	if (troubles > c->troubles) {
		report_say(c->report, "%s; what comes after that in the segment is missing", text);
	}
	c->troubles = troubles;
	t->troubles = troubles;
}

/* The slice that is complete goes to the sink. */
static int end_slice(struct convert *c)
{
	uint64_t bytes = c->progress.bytes;
	int err = 0;

	if (c->slice.blocks_n == 0) {
		return 0;
	}
	slice_order(&c->slice);
	for (size_t i = 0; i < c->slice.blocks_n && err == 0; i++) {
		struct fcmdata_block b = slice_block(&c->slice, i);

		note_block(c, &b.header);
		err = missing_block(&c->missing, &b, on_missing, c);
	}
	if (err == 0) {
		err = spread_slice(c->spread, &c->slice);
	}
	if (err == -E2BIG) {
		sink_fail(c->sink, err, "more hydrophones than a board can have", c->in->path);
	}
	if (err == 0 && c->cells) {
		err = MIN(cells_copy(c->cells, (c->progress.bytes - bytes) / FCM_LINKS), 0);
	}
	slice_empty(&c->slice);
	note_totals(c);
	report_progress(c->report, "", c->progress.bytes, c->progress.totals.frames_missing);
	return err;
}

static bool other_run(const struct convert *c, const struct fcm_block_header *h)
{
	const struct progress *p = &c->progress;

	if (c->o->all_runs || c->o->one_run) {
		return false;
	}
	if (p->blocks > 0) {
		return h->run != p->totals.run;
	}
	return c->slice.blocks_n > 0 && h->run != c->slice.blocks[0].header.run;
}

static int take_block(struct convert *c, const struct fcmdata_block *b)
{
	int err = 0;

	if (!slice_takes(&c->slice, &b->header)) {
		err = end_slice(c);
		if (err == 0 && report_seconds(c->report) - c->committed_s >= c->o->save_s) {
			err = commit(c, false);
		}
	}
	return err < 0 ? err : slice_add(&c->slice, b);
}

/* Up to the end of the input, or until we are to stop. 0: the end; 1: stopped after a slice; negative. */
static int take_blocks(struct convert *c)
{
	const struct fcmdata_block *b;
	int n = 0;

	while ((n = source_next(c->source, &b)) > 0) {
		if (other_run(c, &b->header)) {
			c->other_run = true;
			break;
		}
		if (*c->stop && !c->live && !slice_takes(&c->slice, &b->header)) {
			n = end_slice(c);
			return n < 0 ? n : 1;
		}
		n = take_block(c, b);
		if (n < 0) {
			return n == -ENOMEM ? sink_fail(c->sink, n, "no memory", c->in->path) : n;
		}
	}
	if (n < 0) {
		snprintf(c->sink->why, sizeof(c->sink->why), "%s", source_why(c->source));
		return n;
	}
	return end_slice(c);
}

/* The blocks that were converted by an earlier process go by. 0; 1: stopped; negative: said. */
static int skip(struct convert *c, uint64_t blocks)
{
	const struct fcmdata_block *b;
	uint64_t bytes = 0;
	int n = 1;

	for (uint64_t i = 0; i < blocks && n > 0 && !*c->stop; i++) {
		n = source_next(c->source, &b);
		if (n > 0 && b->header.stream == FCM_PMT) {
			bytes += (uint64_t)b->header.frames * FRAME_BYTES;
			report_progress(c->report, "reading what is converted: ", bytes, 0);
		}
	}
	if (n < 0) {
		report_say(c->report, "%s", source_why(c->source));
	} else if (n == 0) {
		report_say(c->report,
			   "%s has become shorter: it cannot be gone on with; --force "
			   "begins again",
			   c->in->path);
	}
	return n <= 0 ? -EIO : *c->stop ? 1 : 0;
}

/* ------------------------------------------------------------------------------------------ begin and end */

static int open_journal(struct convert *c)
{
	struct journal_part parts[JOURNAL_PARTS];
	size_t n = kept(c, parts);
	const uint32_t print = print_of(c);
	int err = c->o->resume ? journal_open(c->o->output, parts, n, &c->journal)
			       : journal_create(c->o->output, &c->journal);

	if (err < 0) {
		report_say(c->report, "%s.resume: %s", c->o->output,
			   err == -ENOENT    ? "not there: nothing to go on with"
			   : err == -EBADMSG ? "damaged, or of another version of fcm-convert; "
					       "--force begins again"
			   : err == -ESTALE  ? "the machine was restarted while it was being "
					       "written; --force begins again"
					     : strerror(-err));
		return err;
	}
	if (c->o->resume && c->progress.print != print) {
		report_say(c->report,
			   "%s was started with another input or other options: give the same "
			   "ones, or --force begins again",
			   c->o->output);
		return -EINVAL;
	}
	c->progress.print = print;
	return 0;
}

static int open_sink(struct convert *c)
{
	struct sink_config config = {
		.path = c->o->output,
		.about = c->about,
		.journal = c->journal,
		.resume = c->o->resume,
		.again = c->o->force,
		.state = c->sink_state,
		.threads = c->o->threads,
		.streams = c->streams,
	};
	int err = c->kind->open(&config, &c->sink);

	if (err < 0) {
		report_say(c->report, "%s", config.why);
	}
	return err;
}

/* An output is made, and one that is there goes, only when there is something to write. 0, or negative: said. */
static int look(struct convert *c)
{
	int n = c->o->resume ? 1 : source_wait(c->source);

	if (n < 0) {
		report_say(c->report, "%s", source_why(c->source));
		return n == -ENOMEM ? -EIO : n;
	}
	if (n == 0 && !c->o->cells) { /* cells may be there without a block */
		source_say_nothing(c->source, c->in);
		return -ENODATA;
	}
	n = c->o->force ? kind_clear(c->kind, c->o->output) : 0;
	if (n < 0) {
		report_say(c->report, "%s: %s", c->o->output, strerror(-n));
	}
	return n < 0 ? n : 0;
}

static int open_all(struct convert *c)
{
	struct source_config config = source_config(c);
	int err = source_open(&config, &c->source);

	if (err < 0) {
		report_say(c->report, "%s", config.why);
		return err;
	}
	err = look(c);
	if (err == 0) {
		err = slice_init(&c->slice);
	}
	if (err == 0) {
		err = open_journal(c);
	}
	if (err == 0) {
		err = open_sink(c);
	}
	if (err == 0) {
		err = spread_create(&c->spread_state, c->sink, &c->spread);
	}
	if (err == 0 && c->o->cells) {
		err = cells_create(c->in, c->sink, &c->cells_state, c->o->one_run, c->o->run,
				   &c->cells);
	}
	return err;
}

static void close_all(struct convert *c)
{
	cells_destroy(c->cells);
	spread_destroy(c->spread);
	if (c->sink) {
		c->sink->ops->close(c->sink);
	}
	journal_close(c->journal);
	slice_fini(&c->slice);
	source_close(c->source);
	free(c->sink_state);
}

/* The rest of the cells: 0; 1: stopped; negative. */
static int copy_cells(struct convert *c)
{
	int n = c->cells ? 1 : 0;

	while (n > 0 && !*c->stop) {
		n = cells_copy(c->cells, CELLS_STEP);
		report_progress(c->report, "copying cells: ", c->progress.bytes, 0);
		if (n > 0 && report_seconds(c->report) - c->committed_s >= c->o->save_s) {
			int err = commit(c, false);

			n = err < 0 ? err : n;
		}
	}
	return n;
}

/* Everything is converted. 0; 1: stopped before the end; negative. */
static int finish(struct convert *c)
{
	int err = copy_cells(c);

	if (err == 0) {
		err = missing_end(&c->missing, on_missing, c);
	}
	if (err == 0) {
		err = spread_end(c->spread);
	}
	note_totals(c);
	c->progress.totals.complete = err == 0;
	if (err == 0) {
		err = c->sink->ops->finish(c->sink, &c->progress.totals);
	}
	return err;
}

static int failed(struct convert *c)
{
	report_say(c->report, "%s", *c->sink->why ? c->sink->why : "out of memory");
	if (c->saved || c->o->resume) {
		report_say(c->report,
			   "%s is valid up to its last save; --resume goes on from there",
			   c->o->output);
	}
	return EXIT_FAILED;
}

static int stopped(struct convert *c)
{
	c->progress.totals.complete = false;
	if (commit(c, true) < 0) {
		return failed(c);
	}
	report_say(c->report, "stopped; %s is complete up to a slice, --resume goes on",
		   c->o->output);
	return EXIT_STOPPED;
}

static void say_no_end(const struct convert *c)
{
	const struct totals *t = &c->progress.totals;
	char utc[48] = "its last data";

	if (t->last_tai_ns != FCM_NO_TAI) {
		text_utc(t->last_tai_ns, t->tai_utc_s, utc, sizeof(utc));
	}
	if (c->in->grows) {
		report_say(c->report,
			   "%s is still being recorded: it is converted up to %s; convert it again "
			   "when it has ended (fcmctl record stop)",
			   c->in->path, utc);
	} else if (c->in->no_end) {
		report_say(c->report,
			   "%s has no end yet: it is still being recorded, or its daemon was "
			   "killed; it is converted up to %s",
			   c->in->path, utc);
	}
}

static int done(struct convert *c)
{
	const struct totals *t = &c->progress.totals;
	double seconds = report_seconds(c->report);
	const char *text = NULL;
	unsigned troubles = source_troubles(c->source, &text);

	journal_remove(c->journal);
	report_clear(c->report);
	if (!c->o->quiet) {
		if (!*c->sink->made) {
			snprintf(c->sink->made, sizeof(c->sink->made),
				 "%" PRIu64 " hits in %" PRIu64 " blocks", t->hits, t->blocks);
		}
		report_say(c->report, "%s: %s; %.0f MB in %.1f s, %.0f MB/s%s", c->o->output,
			   c->sink->made, (double)c->progress.bytes / 1e6, seconds,
			   (double)c->progress.bytes / 1e6 / MAX(seconds, 1e-3),
			   t->emulated ? "; EMULATED DATA" : "");
	}
	if (c->other_run) {
		report_say(c->report,
			   "run %" PRIu32 " has ended: another run is not mixed in "
			   "(--all-runs would)",
			   t->run);
	}
	say_no_end(c);
	report_missing(c->report, &c->missing, c->live);
	if (c->slice.bad_blocks > 0) {
		report_say(c->report, "%" PRIu64 " blocks had hits that could not be read",
			   c->slice.bad_blocks);
	}
	if (troubles > 0) {
		report_say(c->report, "%u segments are damaged", troubles);
	}
	return t->frames_missing > 0 || troubles > 0 || c->slice.bad_blocks > 0 || c->in->bad > 0 ||
			       c->in->grows
		       ? EXIT_MISSING
		       : EXIT_DONE;
}

static int run(struct convert *c)
{
	const uint64_t blocks = c->progress.blocks;
	int n = c->o->resume ? skip(c, blocks) : commit(c, false);

	if (n != 0) {
		return n > 0 ? EXIT_STOPPED : c->o->resume ? EXIT_FAILED : failed(c);
	}
	c->committed_s = report_seconds(c->report);
	n = take_blocks(c);
	if (n == 1) {
		return stopped(c);
	}
	if (n == 0) {
		/* A process that dies in here begins at the last slice again. */
		n = commit(c, false);
	}
	if (n == 0) {
		n = finish(c);
	}
	return n < 0 ? failed(c) : n > 0 ? stopped(c) : done(c);
}

int convert(const struct options *o, const struct kind *kind, const struct input *in,
	    const struct about *about, struct report *report, const volatile int *stop)
{
	static struct convert c; /* large */
	int err, code;

	c = (struct convert){
		.o = o,
		.kind = kind,
		.in = in,
		.about = about,
		.report = report,
		.stop = stop,
		.streams = o->streams ? o->streams & kind->streams : kind->by_itself,
		.live = in->kind == INPUT_LIVE,
		.progress = {.totals = {.first_tai_ns = FCM_NO_TAI, .last_tai_ns = FCM_NO_TAI}},
		.sink_state = calloc(1, MAX(kind->state_bytes, 1u)),
	};
	err = c.sink_state ? open_all(&c) : -ENOMEM;
	if (err == -ENOMEM) {
		report_say(report, "out of memory");
	}
	code = err < 0 ? EXIT_REFUSED : run(&c);
	report_clear(report);
	close_all(&c);
	return code;
}
