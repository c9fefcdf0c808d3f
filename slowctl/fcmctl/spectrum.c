/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See spectrum.h: blocks of a while (listen.h) into a tally (quantity.h), which is shown as bins with bars. */
#include "slowctl/fcmctl/spectrum.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "slowctl/fcmctl/listen.h"
#include "slowctl/fcmctl/quantity.h"
#include "slowctl/fcmctl/show/bars.h"
#include "slowctl/fcmctl/show/time.h"
#include "slowctl/fcmctl/show/value.h"
#include "slowctl/param/plural.h"

#define FOR_S 5.0
#define OVER  4 /* counts */

/* What came of a link. */
struct link_data {
	unsigned tower, floor;
	uint64_t first_frame, end_frame, frames, lost,
		hits; /* frames: all in blocks; lost: of them */
};

struct spectrum {
	struct listen listen;
	struct quantity quantity;
	int module;
	bool any;	    /* block has come */
	double from, until; /* UTC of the data; NaN: none with time */
	struct link_data link[FCM_LINKS];
};

/* ------------------------------------------------------------------ taking it */

static void take_block(struct spectrum *x, const struct fcmdata_block *b)
{
	const struct fcm_block_header *h = &b->header;
	struct link_data *l = &x->link[h->link];
	double utc = ctl_block_utc(h);

	x->any = true;
	l->first_frame = l->frames == 0 ? h->first_frame : l->first_frame;
	l->end_frame = h->first_frame + h->frames;
	l->tower = h->tower;
	l->floor = h->floor;
	l->frames += h->frames;
	l->lost += h->frames - quantity_frames(b);
	l->hits += quantity_take(&x->quantity, b, x->module);
	x->from = fmin(x->from, utc); /* NaN gives way */
	x->until = fmax(x->until, utc + h->frames * 125e-6);
}

static int gather(struct spectrum *x, double for_s)
{
	double end = ctl_monotonic() + for_s;
	int code = CTL_DONE;

	while (code == CTL_DONE && ctl_monotonic() < end && !ctl_interrupted()) {
		const struct fcmdata_block *b;

		code = listen_next(&x->listen, &b);
		if (b != NULL) {
			listen_heard(&x->listen);
			take_block(x, b);
			listen_release(&x->listen, b);
		}
	}
	return code;
}

/* ------------------------------------------------------------------ the result */

static json_t *links_json(const struct spectrum *x)
{
	json_t *links = json_array();

	for (unsigned n = 0; n < FCM_LINKS; n++) {
		const struct link_data *l = &x->link[n];

		if (l->frames > 0) {
			json_array_append_new(
				links,
				json_pack("{s:i,s:i,s:i,s:I,s:I,s:I,s:I,s:I,s:I}", "link", (int)n,
					  "tower", (int)l->tower, "floor", (int)l->floor,
					  "first_frame", (json_int_t)l->first_frame, "end_frame",
					  (json_int_t)l->end_frame, "frames", (json_int_t)l->frames,
					  "lost", (json_int_t)l->lost, "missed",
					  (json_int_t)x->listen.missed_frames[n], "hits",
					  (json_int_t)l->hits));
		}
	}
	return links;
}

/* Of whole steps what is whole: 12, not 12.0. */
static json_t *in_unit(const struct quantity_row *row, double steps)
{
	double value = steps * row->step;

	/* 0.1 is no binary number: 10 steps of it are to be 1.0. */
	return row->step < 1.0 ? json_real(round(value * 1e6) / 1e6) : json_integer(llround(value));
}

static json_t *bins_json(const struct quantity_row *row, const struct tally_fold *fold)
{
	json_t *bins = json_array();

	for (unsigned i = 0; i < fold->bins; i++) {
		json_array_append_new(bins, json_pack("[o,I]",
						      in_unit(row, fold->first + i * fold->width),
						      (json_int_t)fold->count[i]));
	}
	return bins;
}

static json_t *number_or_null(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

/* What there is only with entries, and null without. */
static void add_moments(json_t *result, const struct quantity_row *row, const struct tally *t)
{
	bool any = t->entries > 0;
	double mean = any ? (double)t->sum / (double)t->entries * row->step : (double)NAN;

	json_object_set_new(result, "mean", number_or_null(mean));
	json_object_set_new(result, "median", any ? in_unit(row, tally_median(t)) : json_null());
	json_object_set_new(result, "least", any ? in_unit(row, t->least) : json_null());
	json_object_set_new(result, "greatest", any ? in_unit(row, t->greatest) : json_null());
}

static json_t *result_json(const struct spectrum *x)
{
	const struct quantity *q = &x->quantity;
	const struct quantity_row *row = quantity_row(q->kind);
	struct tally_fold fold;
	json_t *result;

	tally_fold(&q->tally, &fold);
	result = json_pack("{s:s,s:s,s:s,s:o,s:o,s:o,s:o,s:o,s:I,s:I,s:o,s:o,s:I,s:I}", "quantity",
			   row->name, "unit", row->unit, "of", row->of, "module",
			   x->module == FCMDATA_ALL ? json_null() : json_integer(x->module), "over",
			   q->kind == QUANTITY_OVER ? json_integer(q->over) : json_null(), "from",
			   number_or_null(x->from), "until", number_or_null(x->until), "links",
			   links_json(x), "hits", (json_int_t)q->hits, "entries",
			   (json_int_t)q->tally.entries, "bin", in_unit(row, fold.width), "bins",
			   bins_json(row, &fold), "below", (json_int_t)fold.below, "above",
			   (json_int_t)fold.above);
	add_moments(result, row, &q->tally);
	return result;
}

/* ------------------------------------------------------------------ saying it */

static struct bars bars_look; /* where it is printed: the same for all results */

/* "floors 1, 2, 4", of several towers "tower1.floor1, tower2.floor1" */
static void floors_text(const json_t *links, char *text, size_t size)
{
	long long tower = value_integer(json_array_get(links, 0), "tower", 0);
	bool one = true;
	const json_t *link;
	size_t i;

	json_array_foreach (links, i, link) {
		one = one && value_integer(link, "tower", 0) == tower;
	}
	snprintf(text, size, "%s", !one ? "" : json_array_size(links) == 1 ? "floor " : "floors ");
	json_array_foreach (links, i, link) {
		char floor[64];

		value_fill(link, one ? "{floor}" : "tower{tower}.floor{floor}", floor,
			   sizeof(floor));
		value_append(text, size, "%s%s", i > 0 ? ", " : "", floor);
	}
}

static long long sum_of(const json_t *links, const char *what)
{
	long long sum = 0;
	const json_t *link;
	size_t i;

	json_array_foreach (links, i, link) {
		sum += value_integer(link, what, 0);
	}
	return sum;
}

static void render_losses(struct writer *w, const json_t *links)
{
	long long missed = sum_of(links, "missed"), lost = sum_of(links, "lost");

	if (missed > 0) {
		writer_pair(w, "missed", WRITER_WARN,
			    "%lld frame%s here: a monitor is best effort; no loss of the station",
			    missed, plural((unsigned long long)missed));
	}
	if (lost > 0) {
		writer_pair(w, "lost", WRITER_WARN,
			    "%lld of %lld frames did not come, or were bad (fcmctl ledger show)",
			    lost, sum_of(links, "frames"));
	}
}

static void render_moments(struct writer *w, const json_t *result)
{
	if (value_integer(result, "entries", 0) > 0) {
		value_pair(w, "mean", WRITER_PLAIN, result, "{mean:ps}{unit:behind}");
		value_pair(w, "median", WRITER_PLAIN, result, "{median}{unit:behind}");
		value_pair(w, "least", WRITER_PLAIN, result, "{least}{unit:behind}");
		value_pair(w, "greatest", WRITER_PLAIN, result, "{greatest}{unit:behind}");
	}
	if (json_is_integer(value_at(result, "over"))) {
		value_pair(w, "threshold", WRITER_PLAIN, result,
			   "{over} counts above the mean of a pulse's first four samples");
	}
}

static void render_spectrum(struct writer *w, const json_t *result)
{
	const json_t *links = value_at(result, "links");
	double seconds = value_number(result, "until") - value_number(result, "from");
	const char *of = value_string(result, "of", "?"); /* "blocks of a module" */
	char floors[200], module[16] = "", span[32], counted[32];
	char head[100];

	floors_text(links, floors, sizeof(floors));
	if (json_is_integer(value_at(result, "module"))) {
		snprintf(module, sizeof(module), " om%lld", value_integer(result, "module", 0));
	}
	writer_heading(w, "%s: %s, %s%s, %s", value_string(result, "quantity", "?"),
		       value_fill(result, "{entries} {of}", head, sizeof(head)), floors, module,
		       isfinite(seconds) ? ctl_span_text(seconds, span, sizeof(span))
					 : "without time");
	bars_look.unit = value_string(result, "unit", "");
	snprintf(counted, sizeof(counted), "%.*s", (int)strcspn(of, " "), of);
	bars_look.counted = counted;
	bars_table(w, &bars_look, value_at(result, "bins"), value_number(result, "bin"),
		   value_integer(result, "below", 0), value_integer(result, "above", 0));
	render_moments(w, result);
	render_losses(w, links);
}

/* ------------------------------------------------------------------ the command */

static int parse_quantity(struct ctl *ctl, const struct ctl_args *args, enum quantity_kind *ret)
{
	const char *typed = args->words > 0 ? args->word[0] : "charge";

	for (unsigned i = 0; i < QUANTITIES; i++) {
		*ret = (enum quantity_kind)i;
		if (strncmp(quantity_row(*ret)->name, typed, strlen(typed)) == 0) {
			return *ret != QUANTITY_OVER && ctl_given(args, CTL_OVER)
				       ? ctl_usage(ctl, "fcmctl data plot time-over-threshold",
						   "--over is of time-over-threshold, not of %s",
						   quantity_row(*ret)->name)
				       : CTL_DONE;
		}
	}
	return ctl_usage(ctl, "charge, rate, samples or time-over-threshold",
			 "there is no quantity '%.40s'", typed);
}

static int show(struct spectrum *x, double for_s)
{
	struct ctl *ctl = x->listen.ctl;
	json_t *result;
	char span[32];

	if (!x->any) {
		return ctl_fail(ctl, CTL_NOT, "time-out", "fcmctl link list",
				"no block from %s in %s", x->listen.monitor.endpoint,
				ctl_span_text(for_s, span, sizeof(span)));
	}
	result = result_json(x);
	bars_look.utf8 = ctl_speaks_utf8();
	bars_look.numbers_only = ctl->csv;
	writer_result(ctl->out, result, render_spectrum);
	json_decref(result);
	return CTL_DONE;
}

int spectrum_run(struct ctl *ctl, const struct ctl_args *args)
{
	double for_s = ctl_number(args, CTL_FOR, FOR_S);
	struct spectrum x = {
		.module = (int)ctl_number(args, CTL_MODULE, FCMDATA_ALL),
		.from = (double)NAN,
		.until = (double)NAN,
	};
	enum quantity_kind kind;
	char span[32];
	int code = parse_quantity(ctl, args, &kind);

	if (code != CTL_DONE) {
		return code;
	}
	quantity_init(&x.quantity, kind, (unsigned)ctl_number(args, CTL_OVER, OVER));
	ctl_memory(ctl, x.quantity.tally.count);
	code = listen_open(&x.listen, ctl, args, FCM_PMT, "block");
	if (code == CTL_DONE) {
		if (ctl->terminal) {
			ctl_remark("listening for %s; Ctrl-C ends it earlier",
				   ctl_span_text(for_s, span, sizeof(span)));
		}
		ctl_catch_interrupt();
		code = gather(&x, for_s);
		ctl_release_interrupt();
	}
	code = code == CTL_DONE ? show(&x, for_s) : code;
	listen_close(&x.listen);
	quantity_fini(&x.quantity);
	return code;
}
