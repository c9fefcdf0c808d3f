/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The frame border at which a run begins or ends on all links: see run_border.h. */
#include "daemon/capture/run_border.h"

#include <string.h>

#include "daemon/data/ack_tracker.h"

#define AHEAD_SLICES 3u /* the border is so many slices ahead of the one being read */

static uint64_t last_border(const struct owner_account *a)
{
	return a->runs > 0 ? a->run[a->runs - 1].from_frame : 0;
}

/* Ahead of all links, and of the last change. */
static uint64_t next_border(const struct run_link links[NANET3_LINKS])
{
	uint64_t border = 0;

	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		uint64_t ahead = (links[i].front / ASSEMBLE_SLICE + AHEAD_SLICES) * ASSEMBLE_SLICE;

		if (!links[i].account) {
			continue;
		}
		border = ahead > border ? ahead : border;
		if (last_border(links[i].account) >= border) {
			border = last_border(links[i].account) + ASSEMBLE_SLICE;
		}
	}
	return border;
}

static bool have_room(const struct run_link links[NANET3_LINKS])
{
	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		if (links[i].account && links[i].account->runs == OWNER_RUNS) {
			return false;
		}
	}
	return true;
}

/* No link has read anything: no block carries the run before. */
static bool untouched(const struct run_link links[NANET3_LINKS])
{
	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		if (links[i].account && links[i].read) {
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

static void begin_with(struct run_border *r, struct run_link links[NANET3_LINKS], uint32_t run)
{
	r->before = r->run;
	r->ended = r->run ? r->run : r->ended;
	r->run = run;
	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		if (links[i].account) {
			run_border_fresh(r, links[i].account);
			links[i].changed = true;
		}
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

void run_border_tell(struct run_border *r, const struct owner_account *a, uint64_t frame,
		     run_border_tell_fn tell, void *context)
{
	for (unsigned i = 0; i < a->runs && a->run[i].from_frame <= frame; i++) {
		struct run_change change = change_of(r, a, i);

		change.bordered = frame != RUN_BORDER_NEVER && change.frame > 0;
		if (change.number && !change.bordered) {
			r->unsaved = change.number;
			r->before = change.ended;
		}
		if (change.number > r->told) {
			r->told = change.number;
			tell(context, &change);
		}
	}
}

void run_border_saved(struct run_border *r, struct run_link links[NANET3_LINKS], uint32_t number)
{
	r->unsaved = r->unsaved == number ? 0 : r->unsaved;
	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		struct owner_account *a = links[i].account;

		for (unsigned n = 0; a && n < a->runs; n++) {
			if (a->run[n].change == number) {
				a->run[n].change = 0;
				links[i].changed = true;
			}
		}
	}
}

/* ------------------------------------------------------------------------------------ changes */

/* Report a planned change before any block carries it, so that the journal has the border even if
 * the pages are lost. */
static void enter(struct run_border *r, struct run_link links[NANET3_LINKS], uint32_t run,
		  bool news, run_border_tell_fn tell, void *context)
{
	struct run_change change = {
		.number = ++r->change,
		.run = run,
		.ended = r->run,
		.frame = next_border(links),
		.planned = true,
		.bordered = true,
	};

	r->resumed = news ? r->resumed : change.number;
	r->ended = r->run ? r->run : r->ended;
	r->run = run;
	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		if (links[i].account) {
			account_add_run(links[i].account, change.frame, run, change.number);
			links[i].changed = true;
		}
	}
	tell(context, &change);
}

/* Report a change without a border; those in the accounts are reported at their own border. */
static void tell_now(struct run_border *r, uint32_t run, uint32_t ended, run_border_tell_fn tell,
		     void *context)
{
	const struct run_change change = {
		.number = ++r->change,
		.run = run,
		.ended = ended,
	};

	tell(context, &change);
}

/* `news`: it was requested. */
static void go_to(struct run_border *r, struct run_link links[NANET3_LINKS], uint32_t run,
		  bool news, run_border_tell_fn tell, void *context)
{
	uint32_t before = r->run;

	r->waits = false;
	if (run == before) {
		return; /* it has been reported, or will be */
	}
	if (untouched(links)) {
		r->unsaved = news ? r->change + 1 : 0;
		begin_with(r, links, run);
		if (news) {
			r->told = r->unsaved;
			tell_now(r, run, before, tell, context);
		}
	} else if (have_room(links)) {
		enter(r, links, run, news, tell, context);
	} else {
		r->waits = true;
		r->waiting = run;
		r->news = news;
	}
}

void run_border_change(struct run_border *r, struct run_link links[NANET3_LINKS], uint32_t run,
		       run_border_tell_fn tell, void *context)
{
	if (r->waits && r->waiting && run == 0) { /* it never began */
		tell_now(r, 0, r->waiting, tell, context);
		go_to(r, links, 0, false, tell, context);
	} else {
		go_to(r, links, run, true, tell, context);
	}
}

void run_border_retry(struct run_border *r, struct run_link links[NANET3_LINKS],
		      run_border_tell_fn tell, void *context)
{
	if (r->waits) {
		go_to(r, links, r->waiting, r->news, tell, context);
	}
}

void run_border_journal(struct run_border *r, struct run_link links[NANET3_LINKS], uint32_t run,
			run_border_tell_fn tell, void *context)
{
	r->known = true;
	if (run == 0 || run != r->ended) {
		go_to(r, links, run, false, tell, context);
	}
}

void run_border_ending(struct run_border *r, struct run_link links[NANET3_LINKS], uint32_t run,
		       run_border_tell_fn tell, void *context)
{
	r->known = true;
	if (run == r->run) {
		go_to(r, links, 0, true, tell, context);
	} else if (run != r->ended) { /* its pages are gone */
		r->ended = run;
		tell_now(r, 0, run, tell, context);
	}
}

/* ------------------------------------------------------------------------------------ a takeover */

/* Of two with the same last change the first: links are committed in order. */
static const struct owner_account *newest_of(const struct run_link links[NANET3_LINKS])
{
	const struct owner_account *newest = NULL;

	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		const struct owner_account *a = links[i].kept ? links[i].account : NULL;

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
		l->changed = true;
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
static void share_saved(struct run_border *r, struct run_link links[NANET3_LINKS], uint32_t number)
{
	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		if (number && links[i].account && !has_number(links[i].account, number)) {
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
		r->change = number > r->change ? number : r->change;
		r->told = number <= r->told ? number - 1 : r->told;
		if (i > 0 && a->run[i - 1].run) {
			r->ended = a->run[i - 1].run;
		}
	}
}

void run_border_agree(struct run_border *r, struct run_link links[NANET3_LINKS],
		      run_border_tell_fn tell, void *context)
{
	const struct owner_account *newest = newest_of(links);
	uint32_t wanted = r->run;

	if (!newest) {
		return;
	}
	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		if (links[i].account && links[i].account != newest) {
			catch_up(&links[i], newest);
		}
	}
	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		for (unsigned n = 0; links[i].account && n < links[i].account->runs; n++) {
			share_saved(r, links, links[i].account->run[n].change);
		}
	}
	r->told = r->change;
	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		if (links[i].account) {
			take_numbers(r, links[i].account);
		}
	}
	r->run = account_run(newest, UINT64_MAX);
	if (r->known) {
		go_to(r, links, wanted, false, tell, context);
	}
}
