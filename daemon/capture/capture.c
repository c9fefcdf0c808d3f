/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The capture thread: opens the board, claims the links, ticks. See capture.h for the contract,
 * private.h for the parts.
 *
 * A tick, for all links together:
 *
 *   commands -> settled blocks -> cursor, page, release -> completions -> blocks -> reports, status
 *
 * The order matters: a label or a run lies in the owner page before a block carries it, and a block's
 * number lies there (`sent`) before the publisher can have it.
 */
#include "daemon/capture/capture.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "daemon/capture/private.h"
#include "daemon/core/now.h"
#include "daemon/core/thread.h"

#define RETRY_NS	 500000000ull /* between two attempts to open a board that is gone */
#define OPEN_ROWS_NS	 500000000ull
#define SETTLING_TICK_NS 1000000ull
#define SETTLING_IDLE_NS 100000000ull /* nothing came back: who had to acknowledge is not there */
#define ATTEND_NS	 10000000ull /* nine frames there and back, and a buffer's deadline of 5 ms */
#define SPANS_MOST	 (SETTLE_SPANS - SETTLE_SPANS / 8) /* the others: gaps and pieces of blocks */
#define SECONDS_MOST	 (LEDGER_SECONDS - 2u)

/* -------------------------------------------------------------------------------- the board */

static void close_board(struct capture *c)
{
	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		link_end(&c->links[i]);
	}
	nanet3_close(c->board);
	c->board = NULL;
}

/* The claimed link behind `l`; NULL: the first; NULL at the end. */
static struct link *next_claimed(struct capture *c, const struct link *l)
{
	for (unsigned i = l ? l->number + 1u : 0; i < NANET3_LINKS; i++) {
		if (c->links[i].claimed) {
			return &c->links[i];
		}
	}
	return NULL;
}

/* Its owner replaces a handle that has been closed meanwhile. */
static void grant_links(struct capture *c)
{
	uint64_t handle = atomic_load_explicit(&c->delegate, memory_order_relaxed);

	if (!c->board || handle == c->granted) {
		return;
	}
	for (struct link *l = NULL; (l = next_claimed(c, l));) {
		(void)nanet3_grant(c->board, l->number, handle);
	}
	c->granted = handle;
}

static bool links_ready(const struct capture *c)
{
	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		if (c->config.links & 1u << i && !link_can_begin(&c->links[i])) {
			return false;
		}
	}
	return true;
}

/* The links as runs see them. Reports that belong to no link are the first one's. */
static struct run_links look_at_runs(struct capture *c)
{
	struct link *first = next_claimed(c, NULL);
	struct run_links links = {
		.report = report_run,
		.context = first ? first : &c->links[0],
	};

	for (struct link *l = NULL; (l = next_claimed(c, l));) {
		links.link[links.n++] = (struct run_link){
			.account = ack_tracker_change(l->settle),
			.front = link_front(l),
			.read = link_is_read(l),
			.kept = l->kept,
			.dirty = &l->dirty,
		};
	}
	return links;
}

/* Open it and claim all links, or none. */
static int open_board(struct capture *c)
{
	const struct nanet3_info *info;
	struct run_links links;
	int r;

	if (!links_ready(c)) {
		return -EAGAIN;
	}
	r = nanet3_open(c->board_where, &c->board);
	if (r < 0) {
		return r;
	}
	info = nanet3_info(c->board);
	/* A label speaks of the counts of one boot, and so does where a ring broke off. */
	if (info->serial != c->serial || info->boot_count != c->boot_count) {
		c->label_known = false;
		for (unsigned i = 0; i < NANET3_LINKS; i++) {
			c->links[i].broke_off = 0;
		}
	}
	c->serial = info->serial;
	c->boot_count = info->boot_count;
	c->granted = 0;
	for (unsigned i = 0; r == 0 && i < NANET3_LINKS; i++) {
		bool taken_over = false;

		if (c->config.links & 1u << i) {
			r = nanet3_claim(c->board, i, 0, &taken_over);
			r = r < 0 ? r : link_begin(&c->links[i], taken_over);
		}
	}
	if (r < 0) {
		close_board(c);
		return r;
	}
	links = look_at_runs(c);
	run_border_agree(&c->runs, &links);
	return 0;
}

static void take_settled(struct capture *c)
{
	struct block *b;

	while (queue_take(c->settled, &b)) {
		c->returned_ns = c->now_ns;
		out_settled(&c->links[b->header.link % NANET3_LINKS], b);
		block_put(b);
	}
}

static void advance_links(struct capture *c)
{
	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		if (c->links[i].claimed) {
			out_advance(&c->links[i]);
		}
		out_retired(&c->links[i]);
	}
}

/* True: a backlog is left, as after a start. */
static bool drain_links(struct capture *c)
{
	bool more = false;

	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		more |= link_drain(&c->links[i]);
		outbox_flush(&c->outbox); /* a reply need not wait for the other links' blocks */
		link_feed(&c->links[i]);
	}
	if (c->blocks_queued) {
		c->blocks_queued = false;
		queue_wake(c->blocks);
	}
	return more;
}

/* Every cell that is in the rings gets its account: what finds no room now never will, and is dropped by
 * name. What comes back meanwhile makes room. */
static void board_lost(struct capture *c, int error)
{
	c->hurried = true;
	c->dropping = true;
	do { /* a link may be blocked until what is back is taken */
		take_settled(c);
		advance_links(c);
	} while (drain_links(c));
	c->dropping = false;
	c->hurried = false;
	for (struct link *l = NULL; (l = next_claimed(c, l));) {
		if (l->next_verdict > 0) { /* else the last loss has not been reported yet */
			l->broke_off = l->next_verdict;
			l->broke_epoch = l->dma_epoch;
		}
	}
	close_board(c);
	c->status.board_gone = true;
	c->status.board_error = error;
	c->next_retry_ns = c->now_ns + RETRY_NS;
}

static void board_retry(struct capture *c)
{
	int r;

	if (c->now_ns < c->next_retry_ns) {
		return;
	}
	c->next_retry_ns = c->now_ns + RETRY_NS;
	r = open_board(c);
	c->status.board_gone = r < 0;
	c->status.board_error = r;
}

/* Events are wake-ups only, but one of them says that the board has gone. */
static void take_events(struct capture *c)
{
	struct nanet3_event e;
	int r = nanet3_wait(c->board, 0);

	while (r > 0 && nanet3_next_event(c->board, &e) > 0) {
		if (e.type == NANET3_EVENT_GONE) {
			r = -ENODEV;
		}
	}
	if (r < 0 && r != -EINTR) {
		board_lost(c, r);
	}
}

/* --------------------------------------------------------------------------------- commands */

static void set_label(struct capture *c, const struct label *label)
{
	c->label = *label;
	c->label_known = true;
	for (struct link *l = NULL; (l = next_claimed(c, l));) {
		account_add_label(ack_tracker_change(l->settle), assemble_frontier(l->assembler),
				  label);
		l->dirty = true;
	}
}

static void rows_saved(struct capture *c, const struct capture_command *command)
{
	const struct link *l = &c->links[command->link % NANET3_LINKS];

	if (l->claimed && l->generation == command->generation) {
		owner_saved(l->page, command->second);
	}
}

/* Commands about runs; NULL: try a change again that found no room. */
static void take_run(struct capture *c, const struct capture_command *command)
{
	struct run_links links = look_at_runs(c);

	if (!command) {
		run_border_retry(&c->runs, &links);
	} else if (command->type == CAPTURE_RUN) {
		run_border_change(&c->runs, &links, command->run);
	} else if (command->type == CAPTURE_RUN_JOURNAL) {
		run_border_journal(&c->runs, &links, command->run);
	} else if (command->type == CAPTURE_RUN_ENDING) {
		run_border_ending(&c->runs, &links, command->run);
	} else {
		run_border_saved(&c->runs, &links, (uint32_t)command->number);
	}
}

static void take_commands(struct capture *c)
{
	const struct capture_command *command;

	if (c->runs.waits) { /* what makes room comes through the queue */
		take_run(c, NULL);
	}
	while ((command = queue_peek(c->commands))) {
		switch (command->type) {
		case CAPTURE_LABEL:
			set_label(c, &command->label);
			break;
		case CAPTURE_RUN:
		case CAPTURE_RUN_JOURNAL:
		case CAPTURE_RUN_ENDING:
		case CAPTURE_RUN_SAVED:
			take_run(c, command);
			break;
		case CAPTURE_SAVED:
			rows_saved(c, command);
			break;
		case CAPTURE_LOSS_SAVED:
			report_losses_saved(&c->links[command->link % NANET3_LINKS],
					    command->number);
			break;
		default:
			break;
		}
		queue_release(c->commands);
	}
}

/* ------------------------------------------------------------------------------------ the tick */

static void report_rows(struct capture *c, bool now)
{
	bool rows = now || c->now_ns >= c->next_open_rows_ns;

	if (rows) {
		c->next_open_rows_ns = c->now_ns + OPEN_ROWS_NS;
	}
	for (struct link *l = NULL; (l = next_claimed(c, l));) {
		struct ledger_sink sink = report_sink(l);

		losses_tick(&l->losses, l->next_verdict, rows);
		if (rows) {
			ledger_each_open(&l->live, &sink);
		}
	}
}

static void publish_status(struct capture *c)
{
	struct capture_status *s = &c->status;

	s->ticks++;
	s->last_tick_ns = now_mono_ns();
	s->pool_in_use = block_pool_in_use(c->pool);
	s->pool_bytes = c->config.pool_bytes;
	s->reports_lost = c->outbox.lost;
	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		const struct link *l = &c->links[i];

		s->links[i] = l->status;
		s->links[i].claimed = l->claimed;
		s->links[i].tower = l->tower;
		s->links[i].floor = l->floor;
		s->links[i].dma_epoch = l->dma_epoch;
		s->links[i].blocked = l->blocked;
		if (l->claimed) {
			s->links[i].ring_write = nanet3_write_position(c->board, i);
			s->links[i].ring_release = l->release_position;
			s->links[i].ring_depth = l->depth;
			s->links[i].cursor_count = ack_tracker_account(l->settle)->cursor.count;
		}
	}
	pthread_mutex_lock(&c->lock);
	c->published = *s;
	pthread_mutex_unlock(&c->lock);
}

/* The first data of new rings carry the run that continues, if the journal is not too slow. The
 * owner page of a ring that a predecessor has read has its run. */
static bool awaits_journal(struct capture *c)
{
	if (c->runs.known || c->now_ns >= c->journal_by_ns) {
		return false;
	}
	for (struct link *l = NULL; (l = next_claimed(c, l));) {
		if (link_is_read(l)) {
			return false;
		}
	}
	return true;
}

static bool tick(struct capture *c, bool take_data)
{
	bool more = false;

	c->now_ns = now_mono_ns();
	outbox_flush(&c->outbox);
	if (c->board) {
		take_events(c);
	}
	if (!c->board && take_data) {
		board_retry(c);
	}
	grant_links(c);
	take_commands(c);
	take_settled(c);
	advance_links(c);
	if (take_data && !awaits_journal(c)) {
		more = drain_links(c);
	}
	report_rows(c, false);
	outbox_flush(&c->outbox);
	publish_status(c);
	return more;
}

static void sleep_until(uint64_t ns)
{
	struct timespec t = {
		.tv_sec = (time_t)(ns / 1000000000u),
		.tv_nsec = (long)(ns % 1000000000u),
	};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR) {
	}
}

/*
 * Until the next tick. Short blocks, of which a tick is a large part, do not wait for our clock, which knows nothing of the
 * board's: then the tick comes with what the board hands over, but not before half a tick has passed, so that four links
 * that hand over one after the other do not wake us four times. So it does, and at once, while a reply is awaited.
 */
static void rest(struct capture *c)
{
	uint64_t tick_ns = (uint64_t)c->config.tick_us * 1000, due = c->now_ns + tick_ns, now;
	bool attended =
		now_mono_ns() < atomic_load_explicit(&c->attend_until_ns, memory_order_relaxed);

	if (!c->board || !(attended || c->short_blocks)) {
		sleep_until(due);
		return;
	}
	if (!attended) {
		sleep_until(due - tick_ns / 2);
	}
	now = now_mono_ns();
	if (now < due) {
		nanet3_wait(c->board, (int)((due - now + 999999) / 1000000));
	}
}

static uint64_t blocks_out(const struct capture *c)
{
	uint64_t out = 0;

	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		out += out_waiting(&c->links[i]);
	}
	return out;
}

/* A ring must have room for what the board brings until a successor reads it. */
static bool rings_have_room(struct capture *c)
{
	for (struct link *l = NULL; (l = next_claimed(c, l));) {
		if (!out_unhurried(l) &&
		    (nanet3_write_position(c->board, l->number) - l->release_position) * 8 >
			    (uint64_t)l->depth * 5) {
			return false;
		}
	}
	return true;
}

/*
 * A stop was requested: no new data; what is out may still come back. It is waited for as long as some does, and the
 * rings have room: a group without members that holds back its half of a ring would have us wait for
 * nothing until all links lose frames. What has not come back lingers in the rings with all the rest, and is sent
 * again.
 */
static void settle_down(struct capture *c)
{
	uint64_t by = atomic_load_explicit(&c->stop_by_ns, memory_order_relaxed);

	tick(c, false);
	c->returned_ns = c->now_ns;
	while (blocks_out(c) > 0 && now_mono_ns() < by &&
	       c->now_ns - c->returned_ns < SETTLING_IDLE_NS && rings_have_room(c)) {
		sleep_until(now_mono_ns() + SETTLING_TICK_NS);
		tick(c, false);
	}
	report_rows(c, true);
	outbox_flush(&c->outbox);
	publish_status(c);
}

/* The capture thread. Owns the board's handle, the links, the pool's get side, the outbox. */
static void *capture_main(void *context)
{
	struct capture *c = context;

	while (!atomic_load_explicit(&c->stop, memory_order_acquire)) {
		if (!tick(c, true)) {
			rest(c);
		}
	}
	settle_down(c);
	return NULL;
}

/* ------------------------------------------------------------------------------- the contract */

uint64_t capture_out_frames(uint64_t ring_frames, uint32_t block_frames)
{
	uint64_t spans = (uint64_t)SPANS_MOST * block_frames;
	uint64_t seconds = (uint64_t)SECONDS_MOST * TDM_FRAMES_PER_SECOND;
	uint64_t most = spans < seconds ? spans : seconds;

	return ring_frames < most ? ring_frames : most;
}

int capture_create(const struct capture_config *config, struct queue *blocks, struct queue *settled,
		   struct queue *commands, struct queue *reports, struct capture **ret_capture)
{
	struct capture *c;

	if (config->block_frames == 0 || ASSEMBLE_SLICE % config->block_frames != 0 ||
	    config->groups > GROUPS_MAX || config->tick_us < 1000) {
		return -EINVAL;
	}
	c = calloc(1, sizeof(*c));
	if (!c) {
		return -ENOMEM;
	}
	c->config = *config;
	c->short_blocks = config->block_frames * (NANET3_FRAME_NS / 1000) <= 2 * config->tick_us;
	c->blocks = blocks;
	c->settled = settled;
	c->commands = commands;
	c->outbox.queue = reports;
	pthread_mutex_init(&c->lock, NULL);
	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		link_init(&c->links[i], c, i);
	}
	c->board_where = strdup(config->board_where);
	c->pool = block_pool_create(config->pool_bytes);
	if (!c->pool || !c->board_where) {
		capture_destroy(c);
		return -ENOMEM;
	}
	*ret_capture = c;
	return 0;
}

int capture_start(struct capture *c)
{
	int r;

	c->now_ns = now_mono_ns();
	c->journal_by_ns = c->now_ns + c->config.journal_wait_ms * 1000000ull;
	r = open_board(c);
	if (r < 0) {
		return r;
	}
	r = thread_start(&c->thread, "capture", capture_main, c);
	if (r < 0) {
		nanet3_close(c->board); /* the rings linger, nothing was read */
		c->board = NULL;
		return r;
	}
	c->running = true;
	return 0;
}

void capture_stop(struct capture *c, unsigned grace_ms)
{
	if (!c->running) {
		return;
	}
	atomic_store_explicit(&c->stop_by_ns, now_mono_ns() + (uint64_t)grace_ms * 1000000,
			      memory_order_relaxed);
	atomic_store_explicit(&c->stop, 1, memory_order_release);
	pthread_join(c->thread, NULL);
	c->running = false;
	if (c->config.before_close) {
		c->config.before_close(c->config.context);
	}
	nanet3_close(c->board); /* the rings linger */
	c->board = NULL;
}

/* Blocks that were not taken, or came back after the end: their frames stay in the ring. */
static void drain_blocks(struct queue *q)
{
	struct block *b;

	while (queue_take(q, &b)) {
		if (b) {
			block_put(b);
		}
	}
}

void capture_destroy(struct capture *c)
{
	if (!c) {
		return;
	}
	capture_stop(c, 0);
	drain_blocks(c->settled);
	drain_blocks(c->blocks);
	nanet3_close(c->board);
	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		link_fini(&c->links[i]);
	}
	block_pool_destroy(c->pool);
	pthread_mutex_destroy(&c->lock);
	free(c->board_where);
	free(c);
}

void capture_grant(struct capture *c, uint64_t handle)
{
	atomic_store_explicit(&c->delegate, handle, memory_order_relaxed);
}

void capture_attend(struct capture *c)
{
	atomic_store_explicit(&c->attend_until_ns, now_mono_ns() + ATTEND_NS, memory_order_relaxed);
}

void capture_get_status(struct capture *c, struct capture_status *ret_status)
{
	pthread_mutex_lock(&c->lock);
	*ret_status = c->published;
	pthread_mutex_unlock(&c->lock);
}
