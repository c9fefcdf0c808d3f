/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Run changes in virtual time, with a board, links, a journal and a client, and with injected faults. See runs_rig.h. */
#include "tests/unit/daemon/capture/runs_rig.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "daemon/data/ack_tracker.h"

#define BLOCK	     80u
#define PATIENCE     3000u /* ticks until something must have come */
#define AWAY_FOR     30u
#define DARK_FOR     (60u * RIG_STEP) /* frames: longer than a border is ahead: rings are lost */
#define ANSWER_LIMIT (RUN_ANSWER_NS + 2 * RIG_TICK_NS)

static void __attribute__((format(printf, 2, 3)))
complain(struct runs_rig *r, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	if (!r->complaint[0]) {
		vsnprintf(r->complaint, sizeof(r->complaint), format, ap);
	}
	va_end(ap);
}

uint32_t runs_rig_roll(struct runs_rig *r, uint32_t n)
{
	r->dice = r->dice * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(r->dice >> 33) % n;
}

/* ------------------------------------------------------------------------------------ trouble */

static void lose_rings(struct runs_rig *r)
{
	for (unsigned i = 0; i < RIG_LINKS; i++) {
		r->link[i].has_page = r->link[i].damaged = false;
		r->link[i].page_sent = 0;
	}
}

/* The daemon is killed. A page is damaged only if other pages have the same; pages are not lost
 * while the journal does not have their rows. */
static void kill_daemon(struct runs_rig *r, enum trouble trouble)
{
	bool journal_lags = r->now_ns < r->held_until_ns;

	if (trouble == TROUBLE_KILL_DAMAGE && r->link[1].page_sent > 0) {
		r->link[0].has_page = false;
		r->link[0].damaged = true;
	} else if (trouble == TROUBLE_KILL_AWAY && !journal_lags) {
		lose_rings(r);
		r->count += DARK_FOR;
	} else if (trouble == TROUBLE_KILL_REBOOT && !journal_lags) {
		r->reboots = true;
		r->board_back = AWAY_FOR;
	}
	longjmp(r->dead, 1);
}

static void hold_store(struct runs_rig *r)
{
	r->store_back = AWAY_FOR;
	r->held_until_ns = r->now_ns + 4 * AWAY_FOR * RIG_TICK_NS;
}

static void strike(struct runs_rig *r)
{
	enum trouble trouble = r->trouble;

	r->trouble = TROUBLE_NONE;
	switch (trouble) {
	case TROUBLE_REBOOT:
		r->reboots = true;
		r->board_back = AWAY_FOR;
		break;
	case TROUBLE_ABSENCE:
		r->board_back = AWAY_FOR;
		break;
	case TROUBLE_STALL:
		r->data_back = AWAY_FOR;
		break;
	case TROUBLE_STORE_HELD:
		hold_store(r);
		break;
	case TROUBLE_STORE_KILL:
		hold_store(r);
		runs_rig_trouble(r, TROUBLE_KILL, 40 + runs_rig_roll(r, 200));
		break;
	default:
		kill_daemon(r, trouble);
	}
}

static void point(struct runs_rig *r)
{
	r->point++;
	if (r->trouble != TROUBLE_NONE && r->point >= r->trouble_at) {
		strike(r);
	}
}

void runs_rig_trouble(struct runs_rig *r, enum trouble trouble, unsigned points)
{
	r->trouble = trouble;
	r->trouble_at = r->point + points;
}

/* ------------------------------------------------------------------------------------ the disk */

static struct rig_row *row_of(struct runs_rig *r, uint32_t number)
{
	for (unsigned i = 0; i < r->row_count; i++) {
		if (r->rows[i].number == number) {
			return &r->rows[i];
		}
	}
	return NULL;
}

static int begin_row(struct runs_rig *r, uint32_t number)
{
	if (row_of(r, number)) {
		return -EEXIST;
	}
	for (unsigned i = 0; i < r->row_count; i++) {
		if (!r->rows[i].ended) {
			complain(r, "run %u begins while %u is open", number, r->rows[i].number);
		}
	}
	r->rows[r->row_count++] = (struct rig_row){.number = number};
	return 0;
}

static int write_row(struct runs_rig *r, const struct rig_stored *s)
{
	struct rig_row *row = row_of(r, s->run);

	if (s->what == STORED_BEGIN) {
		return begin_row(r, s->run);
	}
	if (row && (s->what == STORED_SLICE || (s->what == STORED_FIRST && !row->begun_slice))) {
		row->begun_slice = s->slice;
	} else if (row && s->what == STORED_TIMED && !row->begun_slice) {
		row->begun_slice = s->slice;
		row->late = true;
	} else if (row && s->what > STORED_TIMED) {
		if (row->ended_slice == 0 || (!row->ended && s->slice)) {
			row->ended_slice = s->slice;
		}
		row->ended |= s->what == STORED_END;
	}
	return 0;
}

static void finish(struct runs_rig *r, int result)
{
	struct rig_stored s = r->stored[0];

	s.result = result;
	memmove(&r->stored[0], &r->stored[1], sizeof(s) * --r->stored_count);
	if (s.what == STORED_BEGIN || s.cookie) {
		r->done[r->done_count++] = s;
	}
}

/* Write about a row a tick; a begin row is not tried again. */
static void tick_store(struct runs_rig *r)
{
	if (r->store_back > 0) {
		r->store_back--;
		for (unsigned i = 0; i < r->stored_count; i++) {
			if (r->stored[i].what == STORED_BEGIN) {
				struct rig_stored s = r->stored[i];

				memmove(&r->stored[i], &r->stored[i + 1],
					sizeof(s) * (--r->stored_count - i));
				s.result = -EBUSY;
				r->done[r->done_count++] = s;
				break;
			}
		}
		return;
	}
	if (r->stored_count > 0 && runs_rig_roll(r, 3) > 0) {
		point(r);
		finish(r, write_row(r, &r->stored[0]));
		point(r);
	}
}

static int put(struct runs_rig *r, struct rig_stored s)
{
	if (r->stored_count == RIG_QUEUE) {
		return -ENOBUFS;
	}
	r->stored[r->stored_count++] = s;
	point(r);
	return 0;
}

/* ------------------------------------------------------------------------------------ run_state's world */

static int put_begin(void *context, uint32_t run)
{
	return put(context, (struct rig_stored){.what = STORED_BEGIN, .run = run});
}

static int put_plan(void *context, uint32_t run, uint32_t ended, uint64_t slice)
{
	return put(context, (struct rig_stored){run ? STORED_FIRST : STORED_PLANNED_END,
						run ? run : ended, slice, 0, 0});
}

static int put_slice(void *context, uint32_t run, uint64_t slice, bool exact, uint64_t cookie)
{
	return put(context,
		   (struct rig_stored){exact ? STORED_SLICE : STORED_FIRST, run, slice, cookie, 0});
}

static int put_end(void *context, uint32_t run, uint64_t slice, uint64_t cookie)
{
	return put(context, (struct rig_stored){STORED_END, run, slice, cookie, 0});
}

/* Full at times. */
static int command(void *context, enum capture_command_type type, uint32_t number)
{
	struct runs_rig *r = context;

	if (r->command_count == RIG_QUEUE || (type != CAPTURE_RUN && runs_rig_roll(r, 4) == 0)) {
		return -EAGAIN;
	}
	r->commands[r->command_count++] =
		(struct capture_command){.type = (uint8_t)type, .run = number, .number = number};
	point(r);
	return 0;
}

static void on_effect(void *context, const struct capture_run *e)
{
	point(context);
}

static void on_answer(void *context, enum run_answer how, uint32_t run, uint64_t slice, int error)
{
	struct runs_rig *r = context;

	if (!r->waits) {
		complain(r, "an answer without a waiting client");
	}
	r->waits = false;
	r->answered = true;
	r->answer = how;
	r->answer_run = run;
	r->answer_slice = slice;
	if (r->now_ns - r->asked_ns > r->slowest_ns) {
		r->slowest_ns = r->now_ns - r->asked_ns;
	}
}

static const struct run_ops ops = {put_begin, put_plan,	 put_slice, put_end,
				   command,   on_effect, on_answer};

/* ------------------------------------------------------------------------------------ capture */

static uint64_t slice_of(const struct runs_rig *r, uint64_t frame)
{
	return r->slice_base + frame / ASSEMBLE_SLICE;
}

static void report(struct runs_rig *r, const struct capture_report *c)
{
	if (r->report_count < RIG_QUEUE) {
		r->reports[r->report_count++] = *c;
	} else {
		complain(r, "the queue of reports is full");
	}
	point(r);
}

static void tell(void *context, const struct run_change *c)
{
	struct runs_rig *r = context;
	struct capture_report report_of_it = {.type = c->planned ? CAPTURE_RUN_PLANNED
								 : CAPTURE_RUN_CHANGED};

	report_of_it.run.run = c->run;
	report_of_it.run.ended = c->ended;
	report_of_it.run.change = c->number;
	report_of_it.run.bordered = c->bordered;
	report_of_it.run.resumed = c->resumed;
	if (c->bordered) {
		report_of_it.run.slice_id = slice_of(r, c->frame);
		r->timed = c->planned ? r->timed : c->run;
	}
	report(r, &report_of_it);
}

static bool is_read(const struct rig_link *l)
{
	return l->damaged || l->head > 0 || l->sent > 0 || l->account.cursor.count > 0;
}

static struct run_links look(struct runs_rig *r)
{
	struct run_links links = {.report = tell, .context = r};

	for (unsigned i = 0; i < RIG_LINKS; i++) {
		struct rig_link *l = &r->link[i];

		if (l->claimed) {
			links.link[links.n++] = (struct run_link){&l->account, r->count, is_read(l),
								  l->kept, &l->dirty};
		}
	}
	return links;
}

static void commit(struct rig_link *l)
{
	l->page = l->account;
	l->page_sent = l->sent;
	l->has_page = true;
	l->dirty = false;
}

static void claim(struct runs_rig *r)
{
	struct run_links links;

	for (unsigned i = 0; i < RIG_LINKS; i++) {
		struct rig_link *l = &r->link[i];

		l->kept = l->has_page;
		if (l->kept) {
			l->account = l->page;
			l->sent = l->page_sent;
			l->head = l->account.cursor.count;
		} else {
			memset(&l->account, 0, sizeof(l->account));
			l->head = 0;
			l->sent = l->damaged ? r->count : 0;
			l->start = r->count / BLOCK * BLOCK;
			run_border_fresh(&r->border, &l->account);
		}
		commit(l);
		l->claimed = true;
		point(r);
	}
	links = look(r);
	run_border_agree(&r->border, &links);
}

static void lose_board(struct runs_rig *r)
{
	for (unsigned i = 0; i < RIG_LINKS; i++) {
		struct rig_link *l = &r->link[i];

		run_border_report(&r->border, &l->account, RUN_BORDER_NEVER, tell, r);
		l->claimed = false;
	}
}

static void take_commands(struct runs_rig *r)
{
	struct run_links links = look(r);

	run_border_retry(&r->border, &links);
	while (r->command_count > 0) {
		struct capture_command c = r->commands[0];

		links = look(r);
		if (c.type == CAPTURE_RUN) {
			run_border_change(&r->border, &links, c.run);
		} else if (c.type == CAPTURE_RUN_JOURNAL) {
			run_border_journal(&r->border, &links, c.run);
		} else if (c.type == CAPTURE_RUN_ENDING) {
			run_border_ending(&r->border, &links, c.run);
		} else {
			run_border_saved(&r->border, &links, (uint32_t)c.number);
		}
		memmove(&r->commands[0], &r->commands[1], sizeof(c) * --r->command_count);
		point(r);
	}
}

static void commit_links(struct runs_rig *r)
{
	for (unsigned i = 0; i < RIG_LINKS; i++) {
		if (r->link[i].claimed && r->link[i].dirty) {
			commit(&r->link[i]);
			point(r);
		}
	}
}

static void see(struct runs_rig *r, uint64_t slice, uint32_t run)
{
	if (slice >= RIG_SLICES) {
		complain(r, "more slices than the rig has");
		return;
	}
	if (r->seen[slice] != RIG_NO_RUN && r->seen[slice] != (int)run) {
		complain(r, "slice %llu carries run %d and run %u", (unsigned long long)slice,
			 r->seen[slice], run);
	}
	r->seen[slice] = (int)run;
}

static void timed(struct runs_rig *r, const struct rig_link *l, uint64_t frame)
{
	struct capture_report c = {.type = CAPTURE_RUN_TIMED};

	if (r->border.run && r->border.run != r->timed &&
	    account_run(&l->account, frame) == r->border.run) {
		r->timed = r->border.run;
		c.run.run = r->border.run;
		c.run.slice_id = slice_of(r, frame);
		report(r, &c);
	}
}

/* Send some blocks of a link to the consumers; settle those that were sent long ago. */
static void read_link(struct runs_rig *r, struct rig_link *l)
{
	unsigned blocks = runs_rig_roll(r, 6);

	for (; blocks > 0; blocks--) {
		uint64_t frame = l->head ? l->head : l->start;

		if (frame + BLOCK > r->count) {
			break;
		}

		run_border_report(&r->border, &l->account, frame, tell, r);
		timed(r, l, frame);
		if (l->sent < frame + BLOCK) {
			l->sent = l->page_sent = frame + BLOCK;
		}
		see(r, slice_of(r, frame), account_run(&l->account, frame));
		l->head = frame + BLOCK;
		point(r);
	}
	if (runs_rig_roll(r, 3) == 0 && l->head > l->account.cursor.frame + 800) {
		l->account.cursor.frame = l->account.cursor.count = l->head - 400;
		account_forget(&l->account);
		l->dirty = true;
	}
}

static bool awaits_journal(const struct runs_rig *r)
{
	if (r->border.known || r->up > RIG_HOLD) {
		return false;
	}
	for (unsigned i = 0; i < RIG_LINKS; i++) {
		if (r->link[i].claimed && is_read(&r->link[i])) {
			return false;
		}
	}
	return true;
}

static void tick_capture(struct runs_rig *r)
{
	bool claimed = r->link[0].claimed;

	if (claimed && r->board_back > 0) {
		lose_board(r);
	} else if (!claimed && r->board_back == 0) {
		claim(r);
	}
	take_commands(r);
	commit_links(r);
	for (unsigned i = 0; i < RIG_LINKS && !awaits_journal(r); i++) {
		if (r->link[i].claimed) {
			read_link(r, &r->link[i]);
		}
	}
}

/* ------------------------------------------------------------------------------------ main */

/* The last row; the highest number. */
static void restore(struct runs_rig *r)
{
	const struct rig_row *last = r->row_count > 0 ? &r->rows[r->row_count - 1] : NULL;

	r->restored = true;
	run_state_restore(&r->state, last ? last->number : 0, last && !last->ended,
			  last && last->ended_slice);
	point(r);
}

static void take_report(struct runs_rig *r)
{
	struct capture_report c = r->reports[0];

	memmove(&r->reports[0], &r->reports[1], sizeof(c) * --r->report_count);
	if (c.type == CAPTURE_RUN_CHANGED) {
		run_state_effect(&r->state, &c, r->now_ns);
	} else if (c.type == CAPTURE_RUN_PLANNED) {
		run_state_plan(&r->state, &c);
	} else {
		put(r, (struct rig_stored){STORED_TIMED, c.run.run, c.run.slice_id, 0, 0});
	}
}

static void take_done(struct runs_rig *r)
{
	struct rig_stored s = r->done[0];

	memmove(&r->done[0], &r->done[1], sizeof(s) * --r->done_count);
	if (s.what == STORED_BEGIN) {
		run_state_journaled(&r->state, s.result);
	} else {
		run_state_written(&r->state, s.cookie, s.result);
	}
}

static void tick_main(struct runs_rig *r)
{
	if (!r->restored && r->up >= r->journal_slow && r->store_back == 0) {
		restore(r);
	}
	while (r->done_count > 0) {
		take_done(r);
		point(r);
	}
	while (r->report_count > 0) {
		take_report(r);
		point(r);
	}
	run_state_tick(&r->state, r->now_ns);
	if (r->waits && r->now_ns - r->asked_ns > ANSWER_LIMIT) {
		complain(r, "a request is not answered");
	}
}

/* ------------------------------------------------------------------------------------ the world */

static void start_daemon(struct runs_rig *r)
{
	memset(&r->border, 0, sizeof(r->border));
	run_state_init(&r->state, &ops, r);
	r->command_count = r->report_count = r->stored_count = r->done_count = 0;
	r->up = 0;
	r->restored = false;
	r->timed = 0;
	r->journal_slow = runs_rig_roll(r, 10);
	r->waits = false; /* its connection has ended */
	for (unsigned i = 0; i < RIG_LINKS; i++) {
		r->link[i].claimed = false;
	}
}

void runs_rig_init(struct runs_rig *r, uint64_t seed)
{
	memset(r, 0, sizeof(*r));
	r->dice = seed;
	r->slice_base = 1;
	for (unsigned i = 0; i < RIG_SLICES; i++) {
		r->seen[i] = RIG_NO_RUN;
	}
	start_daemon(r);
}

static void tick_board(struct runs_rig *r)
{
	r->now_ns += RIG_TICK_NS;
	r->up++;
	if (r->board_back > 0 && --r->board_back == 0 && r->reboots) {
		r->reboots = false;
		r->slice_base = slice_of(r, r->count + DARK_FOR) + 1;
		r->count = 0;
		lose_rings(r);
	}
	if (r->data_back > 0) {
		r->data_back--;
	} else if (r->board_back == 0 || !r->reboots) {
		r->count += RIG_STEP;
	}
}

void runs_rig_tick(struct runs_rig *r)
{
	tick_board(r);
	if (setjmp(r->dead) != 0) {
		start_daemon(r);
		return;
	}
	tick_capture(r);
	tick_main(r);
	tick_store(r);
}

bool runs_rig_ask(struct runs_rig *r, bool start)
{
	const struct run_state *s = &r->state;
	bool may =
		start ? s->step == RUN_AT_REST && s->number == 0
		      : (s->step == RUN_AT_REST && s->number) || (run_state_ending(s) && !s->asked);

	if (!may || !r->restored) {
		return false;
	}
	r->waits = true;
	r->answered = false;
	r->starts = start;
	r->asked_ns = r->now_ns;
	if (setjmp(r->dead) != 0) {
		start_daemon(r);
		return true;
	}
	if (start) {
		run_state_start(&r->state, r->now_ns);
	} else {
		run_state_stop(&r->state, r->now_ns);
	}
	return true;
}

/* Answers agree with the journal. */
static void check_answer(struct runs_rig *r)
{
	if (r->restored && r->ended && r->state.number == r->ended) {
		complain(r, "run %u was answered as ended, and is under way again", r->ended);
	}
	if (!r->restored || !r->answered || r->answer != RUN_DONE) {
		return;
	}
	r->answered = false;
	r->ended = r->starts ? r->ended : r->answer_run;
	if (r->starts ? r->state.number != r->answer_run : r->state.number == r->answer_run) {
		complain(r, "run %u was answered as %s, the status has run %u", r->answer_run,
			 r->starts ? "begun" : "ended", r->state.number);
	}
}

void runs_rig_reach(struct runs_rig *r, bool started)
{
	for (unsigned n = 0; n < PATIENCE; n++) {
		if (!r->waits && r->restored && r->state.step == RUN_AT_REST &&
		    (r->state.number != 0) == started) {
			return;
		}
		if (!r->waits) {
			runs_rig_ask(r, started);
		}
		runs_rig_tick(r);
		check_answer(r);
	}
	complain(r, "no run could be %s: step %u, run %u", started ? "begun" : "ended",
		 r->state.step, r->state.number);
}

/* ------------------------------------------------------------------------------------ the judge */

static bool at_rest(const struct runs_rig *r)
{
	bool rest = r->restored && !r->waits && r->state.step == RUN_AT_REST &&
		    r->command_count + r->report_count + r->stored_count + r->done_count == 0 &&
		    r->board_back + r->data_back + r->store_back == 0 && r->link[0].claimed &&
		    !r->border.waits && !r->state.journal_unsent && r->trouble == TROUBLE_NONE;

	for (unsigned i = 0; i < RUN_OWED; i++) {
		rest &= r->state.owed[i].step == OWED_NONE;
	}
	for (unsigned i = 0; i < RIG_LINKS; i++) {
		rest &= r->link[i].head > 0 && r->link[i].head + 800 > r->count;
		for (unsigned n = 0; n < r->link[i].account.runs; n++) {
			rest &= r->link[i].account.run[n].change == 0;
		}
	}
	return rest;
}

static uint64_t last_seen(const struct runs_rig *r, uint32_t run)
{
	uint64_t last = 0;

	for (unsigned i = 0; i < RIG_SLICES; i++) {
		last = r->seen[i] == (int)run ? i : last;
	}
	return last;
}

static void judge_row(struct runs_rig *r, const struct rig_row *row)
{
	uint64_t end = row->ended ? row->ended_slice : RIG_SLICES;

	end = end ? end : last_seen(r, row->number);
	for (unsigned i = 0; i < RIG_SLICES; i++) {
		bool carries = r->seen[i] == (int)row->number;
		bool within = row->begun_slice && i >= row->begun_slice && i < end;

		if (carries && ((row->begun_slice && !row->late && i < row->begun_slice) ||
				(row->ended && row->ended_slice && i >= row->ended_slice))) {
			complain(r, "slice %u carries run %u, journal %llu to %llu", i, row->number,
				 (unsigned long long)row->begun_slice,
				 (unsigned long long)row->ended_slice);
		}
		if (within && !carries && r->seen[i] != RIG_NO_RUN) {
			complain(r, "slice %u carries run %d, the journal says %u (%llu to %llu)",
				 i, r->seen[i], row->number, (unsigned long long)row->begun_slice,
				 (unsigned long long)row->ended_slice);
		}
	}
	if (!row->ended && row->number != r->state.number) {
		complain(r, "run %u is open, the status has run %u", row->number, r->state.number);
	}
}

void runs_rig_judge(struct runs_rig *r)
{
	const struct rig_row *last;

	for (unsigned n = 0; n < PATIENCE && !at_rest(r); n++) {
		runs_rig_tick(r);
		check_answer(r);
	}
	if (!at_rest(r)) {
		complain(r, "it does not come to rest");
	}
	for (unsigned i = 0; i < RIG_LINKS; i++) {
		uint32_t run = account_run(&r->link[i].account, UINT64_MAX);

		if (run != r->state.number) {
			complain(r, "link %u carries run %u, the status has run %u", i, run,
				 r->state.number);
		}
	}
	for (unsigned i = 0; i < r->row_count; i++) {
		judge_row(r, &r->rows[i]);
	}
	last = r->state.number ? row_of(r, r->state.number) : NULL;
	if (r->state.number && (!last || last->ended)) {
		complain(r, "the status has run %u, the journal has it not open", r->state.number);
	}
}
