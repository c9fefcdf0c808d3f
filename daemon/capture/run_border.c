/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The frame border at which a run begins or ends on all links: see run_border.h. */
#include "daemon/capture/run_border.h"

#include <string.h>
#include <sys/param.h>

#include "daemon/data/ack_tracker.h"

#define AHEAD_SLICES 3u /* the border is so many slices ahead of the one being read */

static uint64_t last_border(const struct owner_account *a)
{
	return a->runs > 0 ? a->run[a->runs - 1].from_frame : 0;
}

/* Ahead of all links, and of the last change. */
static uint64_t next_border(const struct run_links *links)
{
	uint64_t border = 0;

	for (unsigned i = 0; i < links->n; i++) {
		const struct run_link *l = &links->link[i];
		uint64_t ahead = (l->front / ASSEMBLE_SLICE + AHEAD_SLICES) * ASSEMBLE_SLICE;

		border = MAX(border, ahead);
		if (last_border(l->account) >= border) {
			border = last_border(l->account) + ASSEMBLE_SLICE;
		}
	}
	return border;
}

static bool have_room(const struct run_links *links)
{
	for (unsigned i = 0; i < links->n; i++) {
		if (links->link[i].account->runs == OWNER_RUNS) {
			return false;
		}
	}
	return true;
}

/* No link has read anything: no block carries the run before. */
static bool untouched(const struct run_links *links)
{
	for (unsigned i = 0; i < links->n; i++) {
		if (links->link[i].read) {
			return false;
		}
	}
	return true;
}

void run_border_fresh(const struct run_border *r, struct owner_account *account)
{
	account->runs = 0;
	if (r->unsaved) {
		account_add_run(account, 0, r->before, 0);
	}
	account_add_run(account, 0, r->run, r->unsaved);
}

static void begin_with(struct run_border *r, struct run_links *links, uint32_t run)
{
	r->before = r->run;
	r->ended = r->run ? r->run : r->ended;
	r->run = run;
	for (unsigned i = 0; i < links->n; i++) {
		run_border_fresh(r, links->link[i].account);
		*links->link[i].dirty = true;
	}
}

/* ------------------------------------------------------------------------------------ reports */

static struct run_change change_of(const struct run_border *r, const struct owner_account *a,
				   unsigned place)
{
	return (struct run_change){
		.number = a->run[place].change,
		.run = a->run[place].run,
		.ended = place > 0 ? a->run[place - 1].run : 0,
		.frame = a->run[place].from_frame,
		.resumed = a->run[place].change == r->resumed,
	};
}

void run_border_report(struct run_border *r, const struct owner_account *a, uint64_t frame,
		       run_report_fn *report, void *context)
{
	for (unsigned i = 0; i < a->runs && a->run[i].from_frame <= frame; i++) {
		struct run_change change = change_of(r, a, i);

		change.bordered = frame != RUN_BORDER_NEVER && change.frame > 0;
		if (change.number && !change.bordered) {
			r->unsaved = change.number;
			r->before = change.ended;
		}
		if (change.number > r->reported) {
			r->reported = change.number;
			report(context, &change);
		}
	}
}

void run_border_saved(struct run_border *r, struct run_links *links, uint32_t number)
{
	r->unsaved = r->unsaved == number ? 0 : r->unsaved;
	for (unsigned i = 0; i < links->n; i++) {
		struct owner_account *a = links->link[i].account;

		for (unsigned n = 0; n < a->runs; n++) {
			if (a->run[n].change == number) {
				a->run[n].change = 0;
				*links->link[i].dirty = true;
			}
		}
	}
}

/* ------------------------------------------------------------------------------------ changes */

/* Report a planned change before any block carries it, so that the journal has the border even if
 * the pages are lost. */
static void enter(struct run_border *r, struct run_links *links, uint32_t run, bool requested)
{
	struct run_change change = {
		.number = ++r->change,
		.run = run,
		.ended = r->run,
		.frame = next_border(links),
		.planned = true,
		.bordered = true,
	};

	r->resumed = requested ? r->resumed : change.number;
	r->ended = r->run ? r->run : r->ended;
	r->run = run;
	for (unsigned i = 0; i < links->n; i++) {
		account_add_run(links->link[i].account, change.frame, run, change.number);
		*links->link[i].dirty = true;
	}
	links->report(links->context, &change);
}

/* Report a change without a border; those in the accounts are reported at their own border. */
static void report_now(struct run_border *r, const struct run_links *links, uint32_t run,
		       uint32_t ended)
{
	const struct run_change change = {
		.number = ++r->change,
		.run = run,
		.ended = ended,
	};

	links->report(links->context, &change);
}

/* `requested`: by an operator. */
static void go_to(struct run_border *r, struct run_links *links, uint32_t run, bool requested)
{
	uint32_t before = r->run;

	r->waits = false;
	if (run == before) {
		return; /* it has been reported, or will be */
	}
	if (untouched(links)) {
		r->unsaved = requested ? r->change + 1 : 0;
		begin_with(r, links, run);
		if (requested) {
			r->reported = r->unsaved;
			report_now(r, links, run, before);
		}
	} else if (have_room(links)) {
		enter(r, links, run, requested);
	} else {
		r->waits = true;
		r->waiting = run;
		r->requested = requested;
	}
}

void run_border_change(struct run_border *r, struct run_links *links, uint32_t run)
{
	if (r->waits && r->waiting && run == 0) { /* it never began */
		report_now(r, links, 0, r->waiting);
		go_to(r, links, 0, false);
	} else {
		go_to(r, links, run, true);
	}
}

void run_border_retry(struct run_border *r, struct run_links *links)
{
	if (r->waits) {
		go_to(r, links, r->waiting, r->requested);
	}
}

void run_border_journal(struct run_border *r, struct run_links *links, uint32_t run)
{
	r->known = true;
	if (run == 0 || run != r->ended) {
		go_to(r, links, run, false);
	}
}

void run_border_ending(struct run_border *r, struct run_links *links, uint32_t run)
{
	r->known = true;
	if (run == r->run) {
		go_to(r, links, 0, true);
	} else if (run != r->ended) { /* its pages are gone */
		r->ended = run;
		report_now(r, links, 0, run);
	}
}

/* ------------------------------------------------------------------------------------ a takeover */

/* Of two with the same last change the first: links are committed in order. */
static const struct owner_account *newest_of(const struct run_links *links)
{
	const struct owner_account *newest = NULL;

	for (unsigned i = 0; i < links->n; i++) {
		const struct owner_account *a = links->link[i].kept ? links->link[i].account : NULL;

		if (a && a->runs > 0 && (!newest || last_border(a) > last_border(newest))) {
			newest = a;
		}
	}
	return newest;
}

/* The changes that an account lacks are those that the predecessor committed last: their border
 * lies ahead. An account of which nothing has been read, or that knows no border, becomes a copy of it. */
static void catch_up(struct run_link *l, const struct owner_account *newest)
{
	struct owner_account *a = l->account;
	bool goes_on = l->kept && l->read && last_border(a) > 0;
	uint64_t from = goes_on ? last_border(a) + 1 : 0;

	a->runs = goes_on ? a->runs : 0;
	for (unsigned i = 0; i < newest->runs; i++) {
		const struct owner_run *run = &newest->run[i];

		if (run->from_frame < from) {
			continue;
		}
		if (a->runs == OWNER_RUNS) {
			memmove(&a->run[0], &a->run[1], sizeof(a->run[0]) * --a->runs);
		}
		account_add_run(a, run->from_frame, run->run, run->change);
		*l->dirty = true;
	}
}

static bool has_number(const struct owner_account *a, uint32_t number)
{
	for (unsigned i = 0; i < a->runs; i++) {
		if (a->run[i].change == number) {
			return true;
		}
	}
	return false;
}

/* The predecessor knew that the journal has it, but had not committed all pages. */
static void share_saved(struct run_border *r, struct run_links *links, uint32_t number)
{
	for (unsigned i = 0; i < links->n; i++) {
		if (number && !has_number(links->link[i].account, number)) {
			run_border_saved(r, links, number);
			return;
		}
	}
}

/* Report unsaved changes again, in order. */
static void take_numbers(struct run_border *r, const struct owner_account *a)
{
	for (unsigned i = 0; i < a->runs; i++) {
		uint32_t number = a->run[i].change;

		if (number == 0) {
			continue;
		}
		r->change = MAX(r->change, number);
		r->reported = MIN(r->reported, number - 1);
		if (i > 0 && a->run[i - 1].run) {
			r->ended = a->run[i - 1].run;
		}
	}
}

void run_border_agree(struct run_border *r, struct run_links *links)
{
	const struct owner_account *newest = newest_of(links);
	uint32_t wanted = r->run;

	if (!newest) {
		return;
	}
	for (unsigned i = 0; i < links->n; i++) {
		if (links->link[i].account != newest) {
			catch_up(&links->link[i], newest);
		}
	}
	for (unsigned i = 0; i < links->n; i++) {
		const struct owner_account *a = links->link[i].account;

		for (unsigned n = 0; n < a->runs; n++) {
			share_saved(r, links, a->run[n].change);
		}
	}
	r->reported = r->change;
	for (unsigned i = 0; i < links->n; i++) {
		take_numbers(r, links->link[i].account);
	}
	r->run = account_run(newest, UINT64_MAX);
	if (r->known) {
		go_to(r, links, wanted, false);
	}
}
