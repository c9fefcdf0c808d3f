/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A link inside capture: how it begins (taken over or fresh) and ends, and its way from completions to
 * verdicts. See private.h; what becomes of verdicts is in out.c.
 *
 * A takeover, by what the page says:
 *   marked cursor   the deframer gets the last good frame and continues at the cursor
 *   cursor alone    the deframer reads from the release position; verdicts below the cursor are history
 *   no cursor yet   from the release position, as the predecessor began
 *   other groups': the same, without what depends on them (owner_adopt())
 *   no use          from the release position, with a new page; the second that starts there is partial
 */
#include <errno.h>
#include <string.h>

#include "daemon/capture/private.h"

#define GAP_PIECE	 1600u	      /* cells of a gap that are judged at a time */
#define COUNT_LIMIT	 (1ull << 50) /* counts from here on are a board that is not well */
#define DRAIN_MAX	 32u /* completions a tick: what is settled must not wait for a backlog */
#define CATCH_UP_LOOK_NS 500000000ull
#define COUNT_JUMP	 16000u	       /* a PPS moves the count by less than a second */
#define BRIDGE_MAX	 240000u       /* frames, half a minute */
#define CALM_NS		 1000000000ull /* without a loss: the next one is news to the black box */

_Static_assert(GAP_PIECE <= ASSEMBLE_PUSH, "a gap's piece is a push");
_Static_assert(NANET3_CHUNK_MAX / NANET3_FRAME_BYTES + 2 <= ASSEMBLE_PUSH, "a buffer is a push");

/* ------------------------------------------------------------------------------ begin and end */

void link_init(struct link *l, struct capture *c, unsigned number)
{
	*l = (struct link){.capture = c, .number = (uint8_t)number, .tower = 0xff, .floor = 0xff};
}

static void drop_machines(struct link *l)
{
	tdm_deframe_destroy(l->deframe);
	assemble_destroy(l->assembler);
	ack_tracker_destroy(l->settle);
	l->deframe = NULL;
	l->assembler = NULL;
	l->settle = NULL;
}

void link_fini(struct link *l)
{
	drop_machines(l);
	for (unsigned i = 0; i < CAPTURE_RETIRED; i++) {
		ack_tracker_destroy(l->retired[i].settle);
		l->retired[i].settle = NULL;
	}
}

bool link_is_read(const struct link *l)
{
	bool lost = l->status.taken_over && !l->kept;

	return lost || l->head > 0 || l->sent > 0 ||
	       ack_tracker_account(l->settle)->cursor.count > 0;
}

/* Behind the last frame of the ring: a predecessor whose page is unusable may have sent all of
 * them. */
static uint64_t frames_that_came(const struct link *l)
{
	uint64_t write = nanet3_write_position(l->capture->board, l->number);
	const struct nanet3_event *last =
		write > l->release_position
			? nanet3_completion(l->capture->board, l->number, write - 1)
			: NULL;

	return last && last->dma_epoch == l->dma_epoch && last->frame_count < COUNT_LIMIT
		       ? last->frame_count + last->frames
		       : 0;
}

uint64_t link_front(const struct link *l)
{
	uint64_t front = l->head > l->sent ? l->head : l->sent;
	uint64_t came = frames_that_came(l);

	return came > front ? came : front;
}

static int make_machines(struct link *l, const struct owner_account *a)
{
	const struct capture_config *config = &l->capture->config;
	uint32_t block = account_block_frames(a, a->cursor.frame);
	uint32_t next = account_block_frames(a, a->change_frame), longest = config->block_frames;
	struct assemble_config assemble = {
		.block_frames = block,
		.gap_frames = link_gap_frames(l, block),
		.tower = config->expected[l->number].tower,
		.floor = config->expected[l->number].floor,
	};

	longest = block > longest ? block : longest;
	longest = next > longest ? next : longest;
	/* A carried frame waits for its block to close, at worst ASSEMBLE_LATE after its end, and
	 * while the link is blocked for the rest of a push. */
	l->deframe = tdm_deframe_create(longest + ASSEMBLE_LATE + 2 * l->frames_per_buffer + 64);
	l->assembler = assemble_create(&assemble);
	l->settle = ack_tracker_create(l->number, &l->owner);
	if (!l->deframe || !l->assembler || !l->settle) {
		drop_machines(l);
		return -ENOMEM;
	}
	return 0;
}

static void read_geometry(struct link *l)
{
	const struct capture_config *config = &l->capture->config;

	l->ring = nanet3_ring(l->capture->board, l->number);
	l->page = nanet3_owner_page(l->capture->board, l->number);
	l->dma_epoch = l->ring->dma_epoch;
	l->frames_per_buffer = l->ring->frames_per_buffer;
	l->depth = l->ring->depth;
	l->release_position = nanet3_release_position(l->capture->board, l->number);
	l->read_position = l->release_position;
	l->looked = l->read_position;
	l->owner = (struct owner_config){.groups = config->groups};
	memcpy(l->owner.group_streams, config->group_streams, sizeof(l->owner.group_streams));
}

/* Nothing of the epoch before is left but what outlives it. */
static void reset_state(struct link *l)
{
	memset(&l->claimed, 0, sizeof(*l) - offsetof(struct link, claimed));
	l->lost_ns = l->capture->now_ns;
	l->moved_ns = l->capture->now_ns;
	l->reported_second = UINT64_MAX;
	l->downlink.known = false;
	l->number_base = l->next_number;
}

/* Whether the label still speaks of this board's counts: they have gone on as time has. */
static bool label_holds(const struct link *l)
{
	const struct capture *c = l->capture;
	uint64_t start = l->ring->start_count, cells = (c->now_ns - c->last_head_ns) / TDM_FRAME_NS;

	if (l->broke_off > 0) { /* of the same boot */
		return c->label_known;
	}
	return c->label_known && start + TDM_FRAMES_PER_SECOND > c->last_head + cells &&
	       start < c->last_head + cells + TDM_FRAMES_PER_SECOND;
}

/* What blocks carry from now on, without a page. */
static void fresh_account(struct link *l, struct owner_account *a)
{
	const struct capture *c = l->capture;

	account_begin(a, c->config.block_frames);
	if (label_holds(l)) {
		account_add_label(a, 0, &c->label);
	}
	run_border_fresh(&c->runs, a);
}

/* The machines continue at the account's cursor. */
static void resume(struct link *l, const struct owner_account *a)
{
	const struct assemble_point *cursor = &a->cursor;

	if (cursor->count == 0) {
		return;
	}
	assemble_resume(l->assembler, cursor);
	l->skip_below = cursor->count;
	l->next_verdict = cursor->count;
	if (cursor->marked && tdm_deframe_resume(l->deframe, &cursor->mark) == 0) {
		l->head = cursor->count;
	}
	l->tower = cursor->tower;
	l->floor = cursor->floor;
	losses_identity(&l->losses, l->tower, l->floor);
	if (a->loss > TDM_GOOD && a->loss < TDM_LOSSES) {
		losses_restore(&l->losses, (enum tdm_loss)a->loss, a->loss_first, cursor->count,
			       a->loss_frames);
	}
}

/* Data are sent again in the same blocks: longer or shorter ones would be partly repeats. A
 * predecessor's change that lies ahead stays where it is; ours comes behind it. */
static void keep_lengths(struct link *l, const struct owner_account *a)
{
	uint32_t next = account_block_frames(a, a->change_frame);

	if (a->change_frame > a->cursor.frame) {
		assemble_change(l->assembler, a->change_frame, next, link_gap_frames(l, next));
	}
	link_change_length(l);
}

/* What lies beyond the cursor will be met again. (Dropped blocks follow each other without a hole.) */
static void kept_loss(void *context, const struct ledger_loss *kept)
{
	struct link *l = context;
	const struct assemble_point *cursor = &ack_tracker_account(l->settle)->cursor;
	uint64_t end = kept->kind == 0 ? cursor->count : cursor->frame;
	struct ledger_loss loss = *kept;
	const struct label *label = ack_tracker_label(l->settle, loss.first);

	if (loss.first >= end) {
		return;
	}
	if (loss.kind == 1 && loss.next > end) {
		loss.frames -= loss.next - end;
		loss.next = end;
	}
	if (label->anchor_tai_ns != FCM_NO_TAI) {
		loss.tai_ns = label_tai_ns(label, loss.first);
	}
	report_loss(l, &loss);
}

/* What a predecessor closed but did not see saved; rows that are open still will close once more. */
static void report_kept(struct link *l)
{
	struct ledger_sink sink = report_sink(l);

	owner_each_kept(l->page, l->dma_epoch, l->number, ack_tracker_second(l->settle), &sink);
	owner_each_loss(l->page, l->dma_epoch, l->number, kept_loss, l);
	for (unsigned i = 0; i < OWNER_LOSSES; i++) {
		if (l->loss_of_place[i] == 0) { /* not reported: beyond the cursor */
			owner_loss_saved(l->page, i);
		}
	}
}

static unsigned free_place(const struct link *l)
{
	unsigned i = 0;

	while (i < CAPTURE_RETIRED && l->retired[i].settle) {
		i++;
	}
	return i;
}

bool link_can_begin(const struct link *l)
{
	return free_place(l) < CAPTURE_RETIRED;
}

/* An account of cells that have not come cannot be right: they would never be read. */
static bool ahead_of_ring(const struct link *l, const struct owner_account *a)
{
	uint64_t came = frames_that_came(l);

	return came > 0 &&
	       (a->cursor.count > came || owner_sent(l->page) > came + TDM_FRAMES_PER_SECOND);
}

/* What a predecessor has left: as owner_load(). */
static int load_account(struct link *l, struct owner_account *ret_account)
{
	int r = owner_load(l->page, &l->owner, l->dma_epoch, ret_account);

	if (r == -EREMCHG) {
		r = owner_adopt(l->page, &l->owner, l->dma_epoch, ret_account);
	}
	return r == 0 && ahead_of_ring(l, ret_account) ? -EBADMSG : r;
}

static void begin_tap(struct link *l)
{
	const struct capture *c = l->capture;
	const struct tap_board board = {
		.serial = c->serial,
		.boot_count = c->boot_count,
		.emulated = nanet3_info(c->board)->emulated,
	};

	if (c->config.tap) {
		tap_begin(c->config.tap, l->number, l->dma_epoch, &board, l->release_position);
	}
}

int link_begin(struct link *l, bool taken_over)
{
	struct owner_account account;
	int r, loaded;

	reset_state(l);
	read_geometry(l);
	if (taken_over && l->dma_epoch == l->broke_epoch) {
		l->broke_off = 0; /* that ring goes on */
	}
	loaded = taken_over ? load_account(l, &account) : -ENODATA;
	if (loaded < 0) {
		fresh_account(l, &account);
	}
	r = make_machines(l, &account);
	if (r < 0) {
		return r;
	}
	l->reporting = ++l->generation;
	losses_init(&l->losses, l->number, l->dma_epoch, report_loss, l);
	losses_identity(&l->losses, l->capture->config.expected[l->number].tower,
			l->capture->config.expected[l->number].floor); /* until it names itself */
	if (loaded == 0) {
		l->sent = owner_sent(l->page);
		l->resent_below = l->sent;
	} else {
		l->resent_below = loaded == -EPROTO || loaded == -EBADMSG ? frames_that_came(l) : 0;
		owner_format(l->page, &l->owner, l->dma_epoch, &account);
		/* A successor that reads on before we have come as far flags them, too. */
		l->sent = l->resent_below;
		owner_set_sent(l->page, l->sent);
	}
	l->kept = loaded == 0;
	ack_tracker_begin(l->settle, l->dma_epoch, &account);
	if (loaded == 0) {
		/* The predecessor may not have reported all that its board had counted before this ring. */
		l->broke_off = account.cursor.count > 0 ? account.cursor.count : l->broke_off;
		resume(l, ack_tracker_account(l->settle));
		keep_lengths(l, ack_tracker_account(l->settle));
	}
	begin_tap(l);
	l->live = *ack_tracker_ledger(l->settle);
	ack_tracker_pack(l->settle);
	owner_commit(l->page, ack_tracker_account(l->settle));
	l->claimed = true;
	l->status.taken_over = taken_over;
	report_takeover(l);
	report_kept(l);
	return 0;
}

static void retire(struct link *l)
{
	unsigned i = free_place(l);

	if (i < CAPTURE_RETIRED) {
		l->retired[i] =
			(struct retired){l->settle, l->losses, l->generation, l->number_base};
		l->settle = NULL;
	}
}

void link_end(struct link *l)
{
	bool dropping = l->capture->dropping;

	l->begin_failed = false;
	if (!l->claimed) {
		return;
	}
	if (l->capture->config.tap) {
		tap_end(l->capture->config.tap, l->number);
	}
	l->capture->dropping = true;
	out_spans(l);
	if (!l->blocked) {
		assemble_end(l->assembler);
		out_spans(l);
	}
	l->capture->dropping = dropping;
	run_border_report(&l->capture->runs, ack_tracker_account(l->settle), RUN_BORDER_NEVER,
			  report_run, l);
	losses_tick(&l->losses, l->head, false);
	l->capture->last_head = l->head;
	l->capture->last_head_ns = l->capture->now_ns;
	retire(l);
	drop_machines(l);
	l->claimed = false;
	l->page = NULL;
	l->ring = NULL;
}

/* -------------------------------------------------------------------------------- verdicts */

static void note_identity(struct link *l, const struct tdm_verdict *v)
{
	uint8_t tower = v->header.tower, floor = v->header.floor;

	if (l->identity_known && l->tower == tower && l->floor == floor) {
		return;
	}
	l->identity_known = true;
	l->tower = tower;
	l->floor = floor;
	ledger_identity(&l->live, tower, floor);
	losses_identity(&l->losses, tower, floor);
	report_identity(l, v->count);
}

static void good_frame(struct link *l, const struct tdm_verdict *v)
{
	const uint8_t *words;
	int n;

	note_identity(l, v);
	l->status.last_good_count = v->count;
	l->status.last_good_ns = l->capture->now_ns;
	if (v->header.slot_valid & TDM_VALID_REPLIES) {
		n = tdm_replies_get(v->frame, &words);
		for (int i = 0; i < n; i++) {
			report_reply(l, words + i * (int)TDM_WORD_BYTES, v->count);
		}
	}
	if (v->count / TDM_FRAMES_PER_SECOND != l->reported_second) {
		l->reported_second = v->count / TDM_FRAMES_PER_SECOND;
		report_frame(l, v);
	}
}

/* The first loss after a calm, on a link that has had good frames. That the ring was full is our own doing,
 * and no time for a black box. */
static void note_loss(struct link *l, uint64_t count, enum tdm_loss loss)
{
	uint64_t now_ns = l->capture->now_ns;

	if (loss != TDM_LOSS_RING_FULL && now_ns - l->lost_ns > CALM_NS &&
	    l->status.last_good_ns > l->lost_ns) {
		l->suspect_at = count;
	}
	l->lost_ns = now_ns;
}

static void on_verdict(void *context, const struct tdm_verdict *v)
{
	struct link *l = context;
	uint64_t second = v->count / TDM_FRAMES_PER_SECOND;
	enum tdm_loss loss;

	if (v->count < l->skip_below) {
		return;
	}
	if (v->count != l->next_verdict) { /* a PPS has moved it */
		ledger_cut(&l->live, l->next_verdict);
		ledger_cut(&l->live, v->count);
	}
	l->next_verdict = v->count + 1;
	if (v->loss == TDM_GOOD) {
		good_frame(l, v);
	}
	loss = assemble_cell(l->assembler, v);
	ledger_cells(&l->live, v->count, 1);
	ledger_verdict(&l->live, second, loss, 1);
	l->status.cells[loss]++;
	if (loss != TDM_GOOD) {
		note_loss(l, v->count, loss);
		losses_cell(&l->losses, v->count, loss, ack_tracker_label(l->settle, v->count));
	}
}

/* Alignment gained or lost since the last look. */
static void note_alignment(struct link *l)
{
	struct tdm_deframe_stats stats;

	tdm_deframe_stats(l->deframe, &stats);
	if (stats.unlocks != l->unlocks) {
		report_align(l, false, stats.offset);
	}
	if (stats.locks != l->locks && stats.state == TDM_LOCKED) {
		report_align(l, true, stats.offset);
	}
	l->locks = stats.locks;
	l->unlocks = stats.unlocks;
	l->in_step = stats.state == TDM_LOCKED && stats.offset == 0;
	l->status.aligned = (uint8_t)stats.state;
	l->status.offset = stats.offset;
	l->status.hunted_bytes = stats.hunted_bytes;
	l->status.sequence_gaps = stats.sequence_gaps;
	l->status.steps = stats.steps;
}

/* ------------------------------------------------------------------------------ completions */

static enum tdm_loss gap_loss(const struct nanet3_event *e)
{
	/* The board's reasons are the ledger's names; an unknown one is the board's fault. */
	return e->reason >= NANET3_GAP_LINK_DOWN && e->reason <= NANET3_GAP_RING_FULL
		       ? (enum tdm_loss)e->reason
		       : TDM_LOSS_BOARD_FIFO;
}

/* What lies below a predecessor's cursor enters no account, and its seconds may be closed. */
static bool seconds_fit(const struct link *l, uint64_t first, uint64_t last)
{
	if (last < l->skip_below) {
		return true;
	}
	first = first > l->skip_below ? first : l->skip_below;
	return ledger_room(&l->live, last / TDM_FRAMES_PER_SECOND) &&
	       (l->live.started || ledger_room(&l->live, first / TDM_FRAMES_PER_SECOND));
}

/* Give the deframer cells [from, from + n) of a completion. */
static void give(struct link *l, const struct nanet3_event *e, uint64_t from, uint32_t n, bool data)
{
	if (data) {
		const uint8_t *bytes =
			nanet3_buffer(l->capture->board, l->number, l->read_position);

		tdm_deframe_push(l->deframe, bytes + (from - e->frame_count) * TDM_FRAME_BYTES, n,
				 from, on_verdict, l);
	} else {
		tdm_deframe_gap(l->deframe, n, from, gap_loss(e), on_verdict, l);
	}
	l->reading = true;
	l->head = from + n;
	l->recent[l->recent_at] = (typeof(l->recent[0])){.count = l->head, .time_ns = e->time_ns};
	l->recent_at = (l->recent_at + 1) % CAPTURE_RECENT;
	if (l->head > l->skip_below) {
		assemble_clock(l->assembler, l->head);
	}
	note_alignment(l);
}

/* Nothing new in it: of an older epoch, or already read. */
static bool stale(struct link *l, const struct nanet3_event *e)
{
	bool old = e->dma_epoch != l->dma_epoch || e->frame_count >= COUNT_LIMIT ||
		   (l->reading && e->frames > 0 && e->frame_count + e->frames <= l->head);

	l->status.stale_completions += old;
	return old || e->frames == 0;
}

/* How many cells of the completion have data; the contract says all or none. */
static uint32_t data_cells(const struct link *l, const struct nanet3_event *e)
{
	uint32_t cells = e->length / TDM_FRAME_BYTES;

	cells = cells < e->frames ? cells : e->frames;
	return cells < l->frames_per_buffer ? cells : l->frames_per_buffer;
}

/* Buffers not yet read; of a gap what is left of it, in buffers as well. */
static uint64_t backlog(const struct link *l, uint64_t write)
{
	uint64_t unread = write - l->read_position, given = l->head;
	const struct nanet3_event *e;

	given = given > l->broke_off ? given : l->broke_off;
	if (unread > 0 && l->broke_off > 0 && l->ring->start_count > given) {
		unread += (l->ring->start_count - given) / l->frames_per_buffer;
	} else if (unread > 0) {
		e = nanet3_completion(l->capture->board, l->number, l->read_position);
		if (e->length == 0 && l->reading && l->head < e->frame_count + e->frames) {
			unread += (e->frame_count + e->frames - l->head) / l->frames_per_buffer;
		}
	}
	return unread;
}

/*
 * After a death or a pause of ours the ring holds data that no consumer kept us from reading, and after
 * one of the board's the gap's blocks are due all at once. Read in one go they would pile up with the
 * publisher and be dropped as if a consumer were slow. So they are read as fast as the consumers
 * acknowledge, with half of what a group may hold in flight. That is given up when it does not help:
 * when less than half a second's reading has shrunk the backlog, or the ring comes close to full by it (by
 * what is read and not settled, too: a group without a member settles nothing until its policy applies).
 * Then the groups' policy decides, as always.
 */
static bool catches_up(struct link *l)
{
	const struct capture *c = l->capture;
	uint64_t write = nanet3_write_position(c->board, l->number);
	uint64_t unread = backlog(l, write), used = write - l->release_position;
	uint64_t almost_full = l->depth - l->depth / 8; /* the rest is for what is read then */
	struct catch_up *u = &l->catch_up;
	struct catch_up look = {true, false, unread, used, c->now_ns + CATCH_UP_LOOK_NS};

	if (unread <= l->depth / 16) {
		u->on = u->given_up = false;
	} else if (!u->on && !u->given_up && unread > l->depth / 8) {
		*u = look;
	} else if (u->on && used > almost_full && u->used <= almost_full) {
		u->on = false;
		u->given_up = true;
	} else if (u->on && c->now_ns >= u->look_ns) {
		look.on = unread < u->unread;
		look.given_up = !look.on;
		*u = look;
	}
	return u->on;
}

/* If more were read now, groups would drop blocks though no consumer is slow: the next tick looks again. A ring that
 * goes away has no next tick. */
static bool held_back(struct link *l)
{
	uint64_t hold = l->capture->config.hold_frames;

	return !l->capture->hurried && hold > 0 && (out_unhurried(l) || catches_up(l)) &&
	       out_frames(l) >= hold / 2;
}

/* One completion, from where we are in it. False: blocked in the middle. */
static bool consume(struct link *l, const struct nanet3_event *e)
{
	uint64_t end = e->frame_count + e->frames;
	uint64_t data_end = e->frame_count + data_cells(l, e);

	if (stale(l, e)) {
		return true;
	}
	if (l->reading && e->frame_count > l->head + COUNT_JUMP) {
		l->renew = true;
		return false;
	}
	for (;;) {
		uint64_t from = l->head > e->frame_count ? l->head : e->frame_count;
		bool data = from < data_end;
		uint64_t left = from < end ? (data ? data_end : end) - from : 0;
		uint32_t n = left < GAP_PIECE ? (uint32_t)left : GAP_PIECE;

		if (n == 0) {
			return true;
		}
		if (!seconds_fit(l, from, from + n - 1)) {
			l->blocked = true;
			return false;
		}
		/* The epoch's first cell: its second has no beginning, unless a page says otherwise. */
		if (!l->reading && l->skip_below == 0) {
			l->next_verdict = from;
			ledger_cut(&l->live, from);
			ledger_cut(ack_tracker_ledger(l->settle), from);
		}
		give(l, e, from, n, data);
		if (!out_spans(l) || (!data && held_back(l))) {
			return l->head >= end;
		}
	}
}

/*
 * The board was lost, and has gone on counting since the last ring broke off. The counts up to this ring's
 * first cell enter the account as lost to the board. More than BRIDGE_MAX do not, because the new ring would
 * run full meanwhile: then the ledger has no rows of that time. True when it is done.
 */
static bool bridge(struct link *l)
{
	uint64_t first = l->ring->start_count, missing = first - l->broke_off;
	const struct nanet3_event gap = {
		.reason = NANET3_GAP_BOARD_FIFO,
		.dma_epoch = l->dma_epoch,
		.frame_count = l->broke_off,
		.frames = (uint32_t)missing,
		.time_ns = l->capture->now_ns,
	};

	if (first <= l->broke_off || missing > BRIDGE_MAX || consume(l, &gap)) {
		l->broke_off = 0;
	}
	return l->broke_off == 0;
}

/* Behind what a closed account has read. Without memory for it the next tick tries again: until
 * then the data stay in the ring. (A board that is gone is noticed by the tick.) */
static void begin_again(struct link *l)
{
	l->begin_failed = link_begin(l, false) < 0;
}

/* The count has become another one inside an epoch, which the contract excludes: end the account and
 * begin a new one behind what was read. */
static void renew(struct link *l)
{
	l->renew = false;
	if (!link_can_begin(l)) {
		l->blocked = true;
		return;
	}
	link_end(l);
	if (nanet3_release(l->capture->board, l->number, l->read_position) == 0) {
		begin_again(l);
	}
}

/* ---------------------------------------------------------------------------------- patience */

/* A hint, from unchecked bytes: whether a word is in one of the places for replies, which every frame has. */
static bool has_reply(const struct link *l, uint64_t position, uint32_t frames)
{
	const uint8_t *frame = nanet3_buffer(l->capture->board, l->number, position);

	for (uint32_t f = 0; f < frames; f++, frame += TDM_FRAME_BYTES) {
		const uint8_t *words;

		if (tdm_replies_get(frame, &words) != 0) {
			return true;
		}
	}
	return false;
}

/* Nothing in the completions that have come since the last look wants to be read at once. */
static bool nothing_urgent(struct link *l, uint64_t write)
{
	for (; l->looked < write; l->looked++) {
		const struct nanet3_event *e =
			nanet3_completion(l->capture->board, l->number, l->looked);
		uint32_t frames = data_cells(l, e);

		if (e->dma_epoch != l->dma_epoch || frames == 0 || frames != e->frames ||
		    has_reply(l, l->looked, frames)) {
			return false;
		}
	}
	return true;
}

/*
 * A frame is checked when it is read and copied when its block is whole. Read as they come, the frames
 * of four links' blocks have left the core's own cache in between; so a link is read when a block is
 * whole in its ring. At once is read whatever is out of the ordinary: a link that is not in step, what
 * has no data, a reply that somebody waits for, data that do not go on, a backlog.
 */
static bool can_wait(struct link *l, uint64_t write)
{
	const struct capture *c = l->capture;
	uint64_t due = assemble_due(l->assembler);
	const struct nanet3_event *last;

	if (l->looked <= l->read_position) {
		l->looked = l->read_position;
		l->patient_until_ns = c->now_ns + 2ull * c->config.block_frames * TDM_FRAME_NS;
	}
	if (!l->in_step || due == 0 || c->hurried || write - l->read_position > l->depth / 16 ||
	    c->now_ns > l->patient_until_ns) {
		return false;
	}
	last = nanet3_completion(c->board, l->number, write - 1);
	return last->frame_count + last->frames <= due && nothing_urgent(l, write);
}

bool link_drain(struct link *l)
{
	uint64_t write, until;

	if (l->begin_failed) {
		begin_again(l);
	}
	if (!l->claimed || !out_spans(l) || held_back(l)) {
		return false;
	}
	write = nanet3_write_position(l->capture->board, l->number);
	if (write == l->read_position || can_wait(l, write)) {
		return false;
	}
	if (l->broke_off > 0 && !bridge(l)) {
		return false;
	}
	until = write - l->read_position > DRAIN_MAX ? l->read_position + DRAIN_MAX : write;
	while (l->read_position < until) {
		const struct nanet3_event *e =
			nanet3_completion(l->capture->board, l->number, l->read_position);

		if (!consume(l, e)) {
			break;
		}
		l->read_position++;
		if (l->blocked) {
			break;
		}
	}
	if (l->renew) {
		renew(l);
	}
	return l->claimed && !l->blocked && l->read_position < write;
}

/* ------------------------------------------------------------------------------- the recorder */

void link_feed(struct link *l)
{
	struct capture *c = l->capture;
	struct tap *tap = c->config.tap;
	uint64_t at;

	if (!tap || !l->claimed) {
		return;
	}
	if (l->suspect_at) {
		tap_suspect(tap, l->number, l->suspect_at, c->now_ns);
		l->suspect_at = 0;
	}
	if (!tap_feeding(tap, l->number, l->release_position, c->now_ns, &at)) {
		return;
	}
	for (; at < l->read_position; at++) {
		const struct nanet3_event *e = nanet3_completion(c->board, l->number, at);

		if (e->dma_epoch != l->dma_epoch || e->frames == 0 ||
		    e->frame_count >= COUNT_LIMIT) {
			continue;
		}
		tap_offer(tap, l->number, at, e, nanet3_buffer(c->board, l->number, at),
			  data_cells(l, e) * TDM_FRAME_BYTES,
			  ack_tracker_label(l->settle, e->frame_count),
			  account_run(ack_tracker_account(l->settle), e->frame_count), c->now_ns);
	}
}
