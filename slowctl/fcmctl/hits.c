/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See hits.h. A block's hits come module by module; they are shown in the order of time. */
#include "slowctl/fcmctl/hits.h"

#include <stdlib.h>
#include <sys/param.h>

#include "slowctl/fcmctl/show/time.h"
#include "slowctl/fcmctl/show/value.h"
#include "tdm/hit.h"

struct hits {
	struct listen *listen;
	int module; /* FCMDATA_ALL */
	double interval_s;
	uint64_t left; /* hits to show */
	double shown_s[FCM_LINKS];
	struct fcm_hit_row *rows, *scratch;
	size_t room; /* of each of the two */
	bool fault_reported;
};

/* ------------------------------------------------------------------ saying it */

static json_t *hit_json(const struct fcm_block_header *h, const struct fcm_hit_row *r)
{
	int64_t utc_ns = ctl_utc_ns(h, r->tai_ns);
	char utc[40];

	return json_pack(
		"{s:i,s:i,s:i,s:i,s:o,s:o,s:i,s:i,s:i,s:I,s:i,s:b,s:b,s:b}", "link", (int)h->link,
		"tower", (int)r->tower, "floor", (int)r->floor, "om", (int)r->module, "utc",
		utc_ns == INT64_MIN ? json_null()
				    : json_string(ctl_time_ns_text(utc_ns, utc, sizeof(utc))),
		"tai_ns", r->tai_ns == FCM_NO_TAI ? json_null() : json_integer(r->tai_ns), "pmt",
		(int)r->pmt, "frame", (int)r->frame, "t5ns", (int)r->t5ns, "charge",
		(json_int_t)r->charge, "samples", (int)r->samples, "zip",
		(r->flags & FCM_HIT_ZIP) != 0, "fragment", (r->flags & FCM_HIT_FRAGMENT) != 0,
		"fifo_full", (r->flags & FCM_HIT_FIFO_FULL) != 0);
}

static void render_hit(struct writer *w, const json_t *hit)
{
	value_say(w, WRITER_DIM, hit, "{utc:-29}");
	value_say(
		w, WRITER_PLAIN, hit,
		" link{link} T{tower:02}.F{floor:02} om{om} charge {charge:7} samples {samples:2}");
	if (value_true(hit, "zip")) {
		writer_text(w, WRITER_DIM, " zip");
	}
	if (value_true(hit, "fragment")) {
		writer_text(w, WRITER_PLAIN, " fragment");
	}
	if (value_true(hit, "fifo_full")) {
		writer_text(w, WRITER_WARN, " fifo-full");
	}
	writer_newline(w);
}

/* ------------------------------------------------------------------ taking it */

static void make_room(struct hits *x, size_t hits)
{
	size_t bytes = hits * sizeof(*x->rows);

	if (hits > x->room) {
		x->rows = ctl_memory(x->listen->ctl, realloc(x->rows, bytes));
		x->scratch = ctl_memory(x->listen->ctl, realloc(x->scratch, bytes));
		x->room = hits;
	}
}

/* The block's hits into `rows`; how many. */
static size_t take_rows(struct hits *x, const struct fcmdata_block *b)
{
	const struct fcm_block_header *h = &b->header;
	int64_t n;

	/* The number of hits is what the header says, and it may say too much. */
	make_room(x, MIN(h->items, h->payload_bytes / HIT_HEADER_BYTES));
	n = fcmdata_hits(b, x->module, 0, x->rows, x->room);
	if (n < 0 && !x->fault_reported) {
		ctl_remark("link %u: a block has bytes that are no hits; such blocks are not shown",
			   h->link);
		x->fault_reported = true;
	}
	if (n <= 0 || x->room == 0) {
		return 0;
	}
	fcmdata_hits_order(x->rows, x->scratch, (size_t)n);
	return (size_t)n;
}

static bool is_due(struct hits *x, unsigned link)
{
	double now = ctl_monotonic();

	if (x->interval_s > 0.0 && now - x->shown_s[link] < x->interval_s) {
		return false;
	}
	x->shown_s[link] = now;
	return true;
}

static void show_rows(struct hits *x, const struct fcm_block_header *h, size_t n)
{
	for (size_t i = 0; i < n && x->left > 0 && !ctl_interrupted(); i++, x->left--) {
		json_t *hit = hit_json(h, &x->rows[i]);

		writer_result(x->listen->ctl->out, hit, render_hit);
		json_decref(hit);
	}
}

static int take_block(struct hits *x, const struct fcmdata_block *b)
{
	size_t n = take_rows(x, b);

	if (n == 0) {
		return listen_unheard(x->listen);
	}
	listen_heard(x->listen);
	if (is_due(x, b->header.link)) {
		show_rows(x, &b->header, n);
	}
	return writer_flush(x->listen->ctl->out) != 0 ? CTL_NOT : CTL_DONE;
}

int hits_tail(struct listen *l, const struct ctl_args *args)
{
	struct hits x = {
		.listen = l,
		.module = (int)ctl_number(args, CTL_MODULE, FCMDATA_ALL),
		.interval_s = args->number[CTL_INTERVAL],
		.left = (uint64_t)ctl_number(args, CTL_COUNT, 1e18),
	};
	int code = CTL_DONE;

	while (code == CTL_DONE && x.left > 0 && !ctl_interrupted()) {
		const struct fcmdata_block *b;

		code = listen_next(l, &b);
		if (b != NULL) {
			code = take_block(&x, b);
			listen_release(l, b);
		}
	}
	free(x.rows);
	free(x.scratch);
	return code;
}
