/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The capture thread: data that are well and data that are not, want of memory, a board that goes, stops and
 * starts. Daemons that are killed: test_capture_killed.c.
 */
#include "tests/unit/daemon/capture/capture_path.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/core/now.h"
#include "tests/unit/rig/floor_rig.h"
#include "tests/unit/rig/privilege.h"

/* The status counts exactly what was handed over. */
static void assert_counted(unsigned link)
{
	const struct capture_link_status *s = &path.ended.links[link];
	uint64_t blocks = 0, faults = 0;

	for (unsigned st = 0; st < FCM_STREAMS; st++) {
		const struct rig_stream *seen = &path.consumer->stream[link][st];

		blocks += seen->blocks;
		faults += seen->faults;
		assert_int_equal(s->items[st], seen->items);
	}
	assert_int_equal(s->blocks, blocks);
	assert_int_equal(s->bytes, path.consumer->bytes[link]);
	assert_int_equal(s->item_faults, faults);
	assert_int_equal(s->resent, 0);
	assert_int_equal(s->blocks_dropped, 0);
}

static void test_steady(void **state)
{
	struct capture_config c = path_config(0x7);
	struct capture_status s;
	uint64_t good, lost;

	path_host_begin(0x7, 500, HOST_SPEED_MAX);
	path_control->offset[1] = 3333; /* a link whose frames straddle the cells */
	path_start(&c);
	path_wait_frames(2, 17000);
	capture_get_status(path.capture, &s);
	path_stop();
	path_no_complaint();
	for (unsigned link = 0; link < 3; link++) {
		const struct rig_stream *pmt = &path.consumer->stream[link][FCM_PMT];

		assert_counted(link);
		assert_true(pmt->blocks > 200);
		assert_int_equal(pmt->repeats + pmt->holes + pmt->bad, 0);
		assert_true(pmt->items > 10000);
		assert_true(path_check_rows(link, &good, &lost) >= 1);
		assert_true(good > 7000);
		/* Alignment is found over three frames, or four cells. */
		assert_true(s.links[link].cells[TDM_LOSS_ALIGNMENT] <= 5);
		assert_int_equal(s.links[link].cells[TDM_LOSS_RING_FULL], 0);
		assert_int_equal(s.links[link].item_faults, pmt->faults);
		assert_int_equal(s.links[link].tower, 1);
		assert_int_equal(s.links[link].floor, link + 1);
		assert_int_equal(s.links[link].aligned, TDM_LOCKED);
		assert_int_equal(s.links[link].offset, link == 1 ? 3333 : 0);
	}
	assert_true(s.first_release_ns > 0);
	assert_false(s.board_gone);
	assert_int_equal(path.takeovers, 3);
	assert_int_equal(path.aligns, 3);
	assert_int_equal(path.identities, 3);
	assert_true(path.telemetry >= 6 && path.time_words >= 6);
	assert_int_equal(s.reports_lost, 0);
}

/* What capture had read a tick after it told a reply: not yet the block that the reply travelled in. */
static bool told_early(const struct capture_report *reply)
{
	uint64_t block_end = (reply->count - RIG_DELAY) / 80 * 80 + 80 + RIG_DELAY, tick;
	struct capture_status s;

	capture_get_status(path.capture, &s);
	tick = s.ticks;
	while (s.ticks <= tick) {
		nanosleep(&(struct timespec){0, 100000}, NULL);
		capture_get_status(path.capture, &s);
	}
	return s.links[reply->link].last_good_count < block_end;
}

/* A link is read by the block, but somebody waits for a reply: it is told when it comes. */
static void test_reply(void **state)
{
	struct capture_config c = path_config(0x1);
	unsigned replies = 0, early = 0;

	path_host_begin(0x1, 1000, HOST_SPEED_REAL);
	path_start(&c);
	path_wait_frames(0, 800);
	while (replies < 10) {
		const struct capture_report *r = queue_peek(&path.reports);

		if (!r) {
			nanosleep(&(struct timespec){0, 200000}, NULL);
			continue;
		}
		if (r->type == CAPTURE_REPLY) {
			replies++;
			early += told_early(r);
		}
		queue_release(&path.reports);
	}
	path_stop();
	path_no_complaint();
	assert_true(early > 0 || !PATH_KEEPS_PACE);
}

/* Nobody waits for anything: a link is read when a block is whole, not buffer by buffer (five a block). A
 * look that comes too late sees fewer moves, never more. */
static void test_by_the_block(void **state)
{
	struct capture_config c = path_config(0x1);
	uint64_t first, last, moves = 0;
	struct capture_status s;

	path_host_begin(0x1, 1000, HOST_SPEED_REAL);
	path_start(&c);
	path_wait_frames(0, 800);
	capture_get_status(path.capture, &s);
	first = last = s.links[0].last_good_count;
	while (last < first + 4000) {
		path_pump(0);
		nanosleep(&(struct timespec){0, 200000}, NULL);
		capture_get_status(path.capture, &s);
		moves += s.links[0].last_good_count != last;
		last = s.links[0].last_good_count;
	}
	path_stop();
	path_no_complaint();
	print_message("%llu frames in %llu moves\n", (unsigned long long)(last - first),
		      (unsigned long long)moves);
	assert_true(moves <=
		    (last - first) * 3 / 2 / 80 + 2 * ((last - first) / FLOOR_RIG_REPLY + 1));
}

#define TICK_NS 20000000u

/* Ticks while 4000 frames come, in percent of those that the clock alone makes in this time. */
static uint64_t ticks_of(uint32_t block_frames)
{
	struct capture_config c = path_config(0x1);
	struct capture_status from, to;
	uint64_t begin_ns, took_ns;

	c.block_frames = block_frames;
	c.tick_us = TICK_NS / 1000;
	path_start(&c);
	path_wait_frames(0, 1600);
	begin_ns = now_mono_ns();
	capture_get_status(path.capture, &from);
	do {
		path_sleep_ms(1);
		path_pump(0);
		capture_get_status(path.capture, &to);
	} while (to.links[0].last_good_count < from.links[0].last_good_count + 4000);
	took_ns = now_mono_ns() - begin_ns;
	path_stop();
	return (to.ticks - from.ticks) * TICK_NS * 100 / took_ns;
}

/* Of blocks of two ticks at most a tick comes when the board hands over, once half of it is over; longer ones wait for the
 * clock. */
static void test_short_blocks_do_not_wait(void **state)
{
	uint64_t shorter, longer;
	unsigned tries = 10; /* a board that gets no time to run hands over in lumps */

	path_host_begin(0x1, 1000, HOST_SPEED_REAL);
	do {
		shorter = ticks_of(80);
		longer = ticks_of(400);
		print_message("%llu %% of the clock's ticks with short blocks, %llu %% with long\n",
			      (unsigned long long)shorter, (unsigned long long)longer);
	} while ((shorter * 5 <= longer * 6 || shorter >= longer * 3) && --tries > 0);
	assert_true((shorter * 5 > longer * 6 && shorter < longer * 3) || !PATH_KEEPS_PACE);
}

static void test_losses(void **state)
{
	struct capture_config c = path_config(0x3);
	uint64_t good, lost, good1, lost1;
	unsigned crc = 0, down = 0;

	path_host_begin(0x3, 500, HOST_SPEED_MAX);
	path_start(&c);
	path_wait_frames(0, 8000);
	path_control->crc_every[0] = 500;
	path_wait_frames(0, 8000);
	path_control->crc_every[0] = 0;
	path_wait_frames(0, 8000);
	path_control->dark = 1;
	path_wait_frames(0, 8000);
	path_control->dark = 0;
	path_wait_frames(0, 17000);
	path_stop();
	path_no_complaint();
	path_check_rows(0, &good, &lost);
	path_check_rows(1, &good1, &lost1);
	for (unsigned i = 0; i < path.loss_count; i++) {
		const struct ledger_loss *l = &path.losses[i];

		if (l->link == 0 && l->code == TDM_LOSS_CRC) {
			assert_int_equal(l->frames, 1);
			crc++;
		}
		if (l->link == 0 && l->code == TDM_LOSS_LINK_DOWN) {
			assert_int_equal(l->kind, 0);
			assert_int_equal(l->floor, 1);
			assert_true(l->frames > 4800);
			assert_true(l->tai_ns != FCM_NO_TAI);
			down++;
		}
		if (l->link == 1 && l->code != TDM_LOSS_ALIGNMENT) {
			fail_msg("link 1: kind %u code %u first %llu frames %llu", l->kind, l->code,
				 (unsigned long long)l->first, (unsigned long long)l->frames);
		}
	}
	assert_int_equal(crc, path_control->damaged[0]);
	assert_int_equal(down, 1);
	assert_true(path.consumer->stream[0][FCM_PMT].gaps >= 2);
	assert_true(lost > 4800 && lost1 < 10);
	assert_int_equal(path.consumer->stream[1][FCM_PMT].frames_missing -
				 path.consumer->stream[1][FCM_PMT].gaps,
			 path.consumer->stream[1][FCM_HYDROPHONE].frames_missing);
}

/* Frames that the floor did not understand are counted by it; what it counted in the dark nobody knows. */
static void test_downlink(void **state)
{
	struct capture_config c = path_config(0x3);
	struct capture_status s;
	uint64_t damaged;

	path_host_begin(0x3, 500, HOST_SPEED_MAX);
	path_start(&c);
	path_wait_frames(1, 1600);
	capture_get_status(path.capture, &s);
	assert_int_equal(s.links[1].downlink_errors, 0);
	path_control->down_every[1] = 3; /* the counter wraps every 768 frames */
	path_wait_frames(1, 8000);
	path_control->down_every[1] = 0;
	path_wait_frames(1, 8000);
	capture_get_status(path.capture, &s);
	damaged = path_control->damaged_down[1];
	assert_true(damaged > 2000);
	assert_int_equal(s.links[1].downlink_errors, damaged);
	assert_int_equal(s.links[0].downlink_errors, 0);
	path_stop();
	path_no_complaint();
}

static void test_run_label_identity(void **state)
{
	struct capture_config c = path_config(0x3);
	struct capture_command run = {.type = CAPTURE_RUN, .run = 42};
	struct capture_command label = path_label_command(2);

	path_host_begin(0x3, 500, HOST_SPEED_MAX);
	path_start(&c);
	path_wait_frames(0, 1600);
	path_command(&run);
	path_wait_frames(0, 12000);
	path_wait_frames(1, 4000);
	path_wait_runs(1);
	assert_int_equal(path.runs, 1);
	assert_int_equal(path.run, 42);
	assert_true(path.run_slice >= (uint64_t)((RIG_UTC_ZERO - 946684800) * 5));
	path_command(&label);
	run.run = 0;
	path_command(&run);
	run.run = 43;
	path_command(&run); /* at once: one border further */
	path_control->floor[0] = 9;
	path_wait_frames(0, 16000);
	path_wait_frames(1, 1600);
	path_stop();
	assert_true(path.labelled_rows >= 4);
	assert_int_equal(path.runs, 3);
	assert_int_equal(path.run, 43);
	assert_int_equal(path.identities, 3);
	assert_int_equal(path.last_floor, 9);
	path_no_complaint();
}

/* Two fibres swapped: the delay belongs to the cable to a floor. A floor that is not configured
 * gets its link's. */
static void test_delay_goes_with_the_floor(void **state)
{
	static const unsigned floors[] = {2, 1, 9};
	static const uint32_t wanted_ns[] = {424828, 392002, 457172};
	struct capture_config c = path_config(0x7);

	path_host_begin(0x7, 500, HOST_SPEED_MAX);
	for (unsigned link = 0; link < 3; link++) {
		path_control->floor[link] = floors[link];
	}
	c.cable_delay_ns[0] = 392002;
	c.cable_delay_ns[1] = 424828;
	c.cable_delay_ns[2] = 457172;
	path_start(&c);
	path_wait_frames(0, 4000);
	path_wait_frames(2, 4000);
	path_stop();
	path_no_complaint();
	for (unsigned link = 0; link < 3; link++) {
		assert_int_equal(path.consumer->stream[link][FCM_PMT].floor, floors[link]);
		assert_int_equal(path.consumer->stream[link][FCM_PMT].cable_delay_ns,
				 wanted_ns[link]);
	}
}

/* No slice is told of it until there is one; then its first, once. */
static void test_run_without_time(void **state)
{
	struct capture_config c = path_config(0x3);
	struct capture_command run = {.type = CAPTURE_RUN, .run = 42};
	struct capture_command label = path_label_command(2);

	label.label.anchor_tai_ns = FCM_NO_TAI;
	path_host_begin(0x3, 500, HOST_SPEED_MAX);
	path_start(&c);
	path_command(&label);
	path_wait_frames(0, 8000);
	path_command(&run);
	path_wait_frames(0, 12000);
	path_wait_runs(1);
	assert_int_equal(path.runs, 1);
	assert_int_equal(path.run_slice, 0);
	assert_int_equal(path.timed, 0);
	label = path_label_command(3);
	path_command(&label);
	path_wait_frames(0, 16000);
	path_wait_frames(1, 1600);
	path_stop();
	assert_int_equal(path.runs, 1);
	assert_int_equal(path.timed, 1);
	assert_true(path.timed_slice >= (uint64_t)((RIG_UTC_ZERO - 946684800) * 5));
	path_no_complaint();
}

/* A path with little memory for blocks. */
static void begin_small(unsigned depth_ms, enum host_speed speed)
{
	struct capture_config c = path_config(0x1);

	path_host_begin(0x1, depth_ms, speed);
	c.pool_bytes = 4u << 20;
	path_start(&c);
	path_wait_frames(0, 3000);
}

/* Of the first group's hits. */
static uint64_t dropped_for_memory(void)
{
	uint64_t frames = 0;

	for (unsigned i = 0; i < RIG_ROWS; i++) {
		frames += path.rows.stream[0][FCM_PMT][0][i].outcome[OUTCOME_DROP_POOL];
	}
	return frames;
}

/* Nobody settles: capture waits, the ring fills, then blocks are dropped by name. Then all goes on. */
static void test_no_memory(void **state)
{
	uint64_t good, lost, dropped, drop_runs = 0;
	struct capture_status s;

	begin_small(800, HOST_SPEED_REAL);
	atomic_store(&path.mode, PATH_HOLD);
	do {
		path_pump(20);
		capture_get_status(path.capture, &s);
		assert_true(s.pool_in_use <= s.pool_bytes);
	} while (s.links[0].blocks_dropped < 30);
	assert_true(path.starved > 0);
	atomic_store(&path.mode, PATH_ACK);
	path_wait_frames(0, 18000);
	capture_get_status(path.capture, &s);
	path_stop();
	/* The holes that the consumer sees are the ledger's. */
	path_check_rows(0, &good, &lost);
	dropped = dropped_for_memory();
	for (unsigned i = 0; i < path.loss_count; i++) {
		if (path.losses[i].kind == 1 && path.losses[i].stream == FCM_PMT &&
		    path.losses[i].group == 0) {
			assert_int_equal(path.losses[i].code, OUTCOME_DROP_POOL);
			drop_runs += path.losses[i].frames;
		}
	}
	assert_true(dropped > 0);
	assert_int_equal(drop_runs, dropped);
	assert_int_equal(s.pool_drops[0].frames, dropped); /* and the status counts them */
	assert_int_equal(s.pool_drops[0].blocks * 80, dropped);
	assert_int_equal(s.pool_drops[0].last.stream, FCM_PMT);
	assert_true(s.pool_drops[1].blocks >= s.pool_drops[0].blocks);
	assert_int_equal(s.pool_drops[2].blocks, 0);
	assert_int_equal(path.consumer->stream[0][FCM_PMT].bad, 0);
	assert_true(path.consumer->stream[0][FCM_PMT].holes > 0);
}

/* No memory, and a publisher that has the oldest blocks pay for it: no newer one is dropped, and the ring never
 * fills. */
static void test_pool_empty(void **state)
{
	uint64_t good, lost, dropped;
	struct capture_status s;

	begin_small(4800, HOST_SPEED_REAL); /* so deep that a slow machine does not fill it */
	atomic_store(&path.relieve, 1);
	atomic_store(&path.mode, PATH_HOLD);
	path_wait_frames(0, 40000); /* more than the ring holds */
	assert_true(path.starved > 0);
	atomic_store(&path.mode, PATH_ACK);
	path_wait_frames(0, 8000);
	capture_get_status(path.capture, &s);
	path_stop();
	path_no_complaint();
	assert_int_equal(s.links[0].blocks_dropped, 0);
	assert_int_equal(s.links[0].cells[TDM_LOSS_RING_FULL], 0);
	assert_int_equal(path.consumer->stream[0][FCM_PMT].holes, 0);
	path_check_rows(0, &good, &lost);
	dropped = dropped_for_memory();
	assert_true(dropped > 0);
}

/* Sum of what capture has given a verdict. */
static uint64_t cells_of(const struct capture_link_status *l)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < TDM_LOSSES; i++) {
		sum += l->cells[i];
	}
	return sum;
}

/* Short blocks of a deep ring, and nobody settles: what groups may hold of it finds its places, so that they
 * let go before capture stops to read. */
static void test_out_frames(void **state)
{
	struct capture_config c = path_config(0x1);
	struct capture_status s;
	uint64_t most;

	path_host_begin(0x1, 6000, HOST_SPEED_MAX);
	c.block_frames = 8;
	c.hold_frames = 0;
	most = capture_out_frames(6 * 8000, c.block_frames);
	assert_true(most < 6 * 8000);
	assert_int_equal(capture_out_frames(2 * 8000, c.block_frames), 2 * 8000);
	assert_true(capture_out_frames(60 * 8000, 1600) < LEDGER_SECONDS * 8000);
	path_start(&c);
	atomic_store(&path.mode, PATH_HOLD);
	do {
		path_pump(20);
		capture_get_status(path.capture, &s);
	} while (!s.links[0].blocked);
	assert_int_equal(s.links[0].blocks_dropped, 0);
	assert_true(cells_of(&s.links[0]) >= most);
	atomic_store(&path.mode, PATH_ACK);
	path_wait_frames(0, 1600);
	path_stop();
	path_no_complaint();
}

static void wait_gone(struct capture_status *ret_status)
{
	do {
		path_pump(20);
		capture_get_status(path.capture, ret_status);
	} while (!ret_status->board_gone);
	path_pump(300); /* what was out comes back, and its rows are told */
}

/* The board goes and comes back: another epoch, nothing of the old one stays open. */
static void test_board_gone(void **state)
{
	struct capture_config c = path_config(0x1);
	struct capture_status s;
	uint64_t good, lost;

	path_host_begin(0x1, 1000, HOST_SPEED_REAL);
	path_start(&c);
	path_wait_frames(0, 10000);
	path_host_end();
	wait_gone(&s);
	assert_true(s.board_error < 0);
	path_check_rows(0, &good, &lost);
	assert_true(good > 9000); /* the last second is closed, cut as it is */
	memset(&path.rows, 0, sizeof(path.rows));
	atomic_store(&path.forget, 1);
	path_pump(50);
	path_host_begin(0x1, 1000, HOST_SPEED_REAL);
	path_wait_frames(0, 3000);
	capture_get_status(path.capture, &s);
	assert_false(s.board_gone);
	assert_true(s.links[0].claimed);
	assert_int_equal(path.takeovers, 2);
	assert_true(path.consumer->stream[0][FCM_PMT].blocks > 30);
	/* It goes with blocks that are out. The next one counts the same epoch; late rows know theirs. */
	atomic_store(&path.mode, PATH_HOLD);
	path_wait_frames(0, 800);
	path_host_end();
	wait_gone(&s);
	atomic_store(&path.forget, 1);
	path_host_begin(0x1, 1000, HOST_SPEED_REAL);
	path_wait_frames(0, 800);
	assert_int_equal(path.takeovers, 3);
	assert_int_equal(path.late_rows, 0);
	atomic_store(&path.mode, PATH_ACK);
	path_pump(100);
	assert_true(path.late_rows > 0);
	path_stop();
	path_no_complaint();
}

/* Another handle's word for link 0, until the answer is the expected one. */
static void wait_answer(struct nanet3 *b, int expected)
{
	const struct nanet3_tx tx = {.kind = NANET3_TX_REQUEST, .bytes = {1}};
	uint64_t until = now_mono_ns() + 20000000000ull;
	int r = nanet3_send(b, &tx);

	while (r != expected) {
		assert_true(r == 0 || r == -EPERM || r == -ENOLINK || r == -EAGAIN);
		if (now_mono_ns() > until) {
			fail_msg("%d, not %d", r, expected);
		}
		path_pump(5);
		r = nanet3_send(b, &tx);
	}
}

static struct nanet3 *open_another(const struct capture_config *c)
{
	struct nanet3 *b = NULL;

	assert_int_equal(nanet3_open(c->board_where, &b), 0);
	return b;
}

/* The main thread's handle sends words because capture, which owns the links, grants that: again
 * after each claim. */
static void test_grant(void **state)
{
	struct capture_config c = path_config(0x1);
	struct capture_status s;
	struct nanet3 *b;

	assert_int_equal(privilege_admin(false), 0);
	path_host_begin(0x1, 1000, HOST_SPEED_REAL);
	b = open_another(&c);
	path_start(&c);
	wait_answer(b, -EPERM);
	capture_grant(path.capture, nanet3_info(b)->handle);
	wait_answer(b, 0);
	path_host_end();
	nanet3_close(b);
	wait_gone(&s);
	atomic_store(&path.forget, 1);
	path_host_begin(0x1, 1000, HOST_SPEED_REAL);
	b = open_another(&c);
	capture_grant(path.capture, nanet3_info(b)->handle);
	wait_answer(b, 0);
	capture_grant(path.capture, 0);
	wait_answer(b, -EPERM);
	capture_grant(path.capture, nanet3_info(b)->handle);
	wait_answer(b, 0);
	path_stop(); /* the ring lingers without owner */
	wait_answer(b, -EPERM);
	path_start(&c);
	capture_grant(path.capture, nanet3_info(b)->handle);
	wait_answer(b, 0);
	path_stop();
	nanet3_close(b);
	path_no_complaint();
	assert_int_equal(privilege_admin(true), 0);
}

/* The ring is full and nobody acknowledges when the board goes: all that it had handed over is accounted,
 * what finds no memory any more by its name. */
static void test_board_gone_backlog(void **state)
{
	uint64_t good, lost, dropped, handed_over;
	struct capture_status s;

	begin_small(1000, HOST_SPEED_MAX);
	atomic_store(&path.mode, PATH_HOLD);
	do {
		path_pump(20);
		capture_get_status(path.capture, &s);
	} while (s.links[0].ring_write - s.links[0].ring_release + 3 <= s.links[0].ring_depth);
	handed_over = s.links[0].ring_write * path_frames_per_buffer;
	assert_true(cells_of(&s.links[0]) < handed_over);
	path_host_end();
	wait_gone(&s);
	assert_int_equal(cells_of(&s.links[0]), handed_over);
	atomic_store(&path.mode, PATH_ACK);
	path_pump(300);
	path_stop();
	path_check_rows(0, &good, &lost);
	assert_int_equal(good + lost, handed_over);
	dropped = dropped_for_memory();
	assert_true(dropped > 0);
	assert_true(path.consumer->stream[0][FCM_PMT].frames + dropped >= handed_over);
}

/* A clean stop and a start within the linger time: as if it had never stopped. */
static void test_stop_and_start(void **state)
{
	struct capture_config c = path_config(0x3);
	struct rig_consumer *consumer;
	uint64_t good, lost;

	path_host_begin(0x3, 500, HOST_SPEED_MAX);
	path_start(&c);
	path_wait_frames(0, 10000);
	path_stop();
	path_no_complaint();
	consumer = path.consumer;
	path_start(&c);
	assert_ptr_equal(path.consumer, consumer);
	path_wait_frames(0, 18000);
	path_wait_frames(1, 1600);
	path_stop();
	path_no_complaint();
	assert_int_equal(path.taken_over, 1);
	assert_int_equal(path.kept_label.time_epoch, 1);
	for (unsigned link = 0; link < 2; link++) {
		const struct rig_stream *pmt = &consumer->stream[link][FCM_PMT];

		assert_int_equal(pmt->holes + pmt->bad + pmt->unflagged, 0);
		assert_true(pmt->frames_missing < 100);
		assert_true(path_check_rows(link, &good, &lost) >= 1);
		assert_true(lost < 10);
	}
}

/* A stop that waits for a consumer which does not answer leaves the ring its room for the restart. */
static void test_stop_with_a_stalled_consumer(void **state)
{
	struct capture_config c = path_config(0x1);
	struct capture_status s;
	uint64_t used;

	path_host_begin(0x1, 2000, HOST_SPEED_REAL);
	path_start(&c);
	path_wait_frames(0, 800);
	atomic_store(&path.mode, PATH_HOLD);
	do { /* half the ring, as a group may hold */
		path_pump(10);
		capture_get_status(path.capture, &s);
		used = s.links[0].ring_write - s.links[0].ring_release;
	} while (used * 2 < s.links[0].ring_depth);
	path_stop();
	path_start(&c);
	path_wait_frames(0, 17000); /* a whole ring and more: a gap stands at its end */
	capture_get_status(path.capture, &s);
	path_stop();
	path_no_complaint();
	assert_int_equal(path.taken_over, 1);
	assert_true(s.links[0].resent > 0);
	assert_int_equal(s.links[0].cells[TDM_LOSS_RING_FULL], 0);
	assert_int_equal(path.consumer->stream[0][FCM_PMT].holes, 0);
}

/* The seconds that are closed are whole, but the epoch's first one. */
static void check_whole(unsigned link, bool same_blocks)
{
	uint64_t good, lost;
	unsigned partial = 0;

	assert_true(path_check_rows(link, &good, &lost) >= 1);
	for (unsigned i = 0; i < RIG_ROWS; i++) {
		const struct ledger_link_row *row = &path.rows.link[link][i];

		partial += row->closed && row->partial;
		if (same_blocks && row->closed && !row->partial) {
			assert_int_equal(path.rows.stream[link][FCM_PMT][0][i].offered, 8000);
		}
	}
	assert_true(partial <= 1);
}

/* A daemon with another configuration takes the ring over: the account goes on, repeats are flagged. */
static void test_other_configuration(void **state)
{
	struct capture_config c = path_config(0x3);
	uint64_t repeats = 0;

	path_host_begin(0x3, 500, HOST_SPEED_REAL);
	path_start(&c);
	path_wait_frames(0, 2000);
	atomic_store(&path.mode, PATH_HOLD);
	path_pump(100);
	path_stop_within(1);
	c.groups = PATH_GROUPS + 1;
	c.group_streams[PATH_GROUPS] = 1u << FCM_HYDROPHONE;
	path_start(&c);
	path_wait_frames(0, 16000);
	path_no_complaint();
	path_stop();
	assert_int_equal(path.taken_over, 1);
	assert_int_equal(path.kept_label.time_epoch, 1);
	for (unsigned link = 0; link < 2; link++) {
		check_whole(link, true);
		repeats += path.consumer->stream[link][FCM_PMT].repeats;
	}
	assert_true(repeats > 0);
	c.block_frames = 320;
	path_start(&c);
	path_wait_frames(0, 16000);
	path_stop();
	path_no_complaint();
	assert_int_equal(path.taken_over, 1);
	for (unsigned link = 0; link < 2; link++) {
		check_whole(link, true);
		assert_int_equal(path.consumer->stream[link][FCM_PMT].block_frames, 320);
	}
}

/* With any block length of the next daemon: data are sent again in the same blocks, flagged, and no
 * block is partly old. */
static void test_other_block_lengths(void **state)
{
	static const uint32_t lengths[] = {16, 80, 8, 1600, 320, 80};
	struct capture_config c = path_config(0x3);

	path_host_begin(0x3, 500, HOST_SPEED_REAL);
	path_start(&c);
	for (unsigned i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		path_wait_frames(0, 2000);
		atomic_store(&path.mode, PATH_HOLD);
		path_pump(60);
		path_stop_within(1);
		c.block_frames = lengths[i];
		path_start(&c);
	}
	path_wait_frames(0, 20000);
	path_stop();
	path_no_complaint();
	for (unsigned link = 0; link < 2; link++) {
		const struct rig_stream *pmt = &path.consumer->stream[link][FCM_PMT];

		assert_true(pmt->repeats > 20);
		assert_int_equal(pmt->unflagged + pmt->different + pmt->holes + pmt->bad, 0);
		assert_int_equal(pmt->block_frames, 80);
		check_whole(link, true);
	}
}

/* An unusable page, for instance of another version: everything in the ring may have been sent. */
static void test_page_of_no_use(void **state)
{
	struct capture_config c = path_config(0x1);
	struct nanet3 *board;
	bool taken_over;

	path_host_begin(0x1, 500, HOST_SPEED_REAL);
	path_start(&c);
	path_wait_frames(0, 2000);
	atomic_store(&path.mode, PATH_HOLD);
	path_pump(100);
	path_stop_within(1);
	assert_int_equal(nanet3_open(c.board_where, &board), 0);
	assert_int_equal(nanet3_claim(board, 0, 0, &taken_over), 0);
	((uint8_t *)nanet3_owner_page(board, 0))[4]++; /* its version */
	nanet3_close(board);
	path.consumer->stream[0][FCM_PMT].begun = false; /* it restarts at the beginning of the
							  * ring */
	path.consumer->stream[0][FCM_HYDROPHONE].begun = false;
	path.consumer->stream[0][FCM_INSTRUMENT].begun = false;
	path_start(&c);
	path_wait_frames(0, 4000);
	assert_int_equal(path.taken_over, 2);
	path_stop();
	for (unsigned stream = 0; stream < FCM_STREAMS; stream++) {
		assert_true(path.consumer->stream[0][stream].repeats > 0);
		assert_int_equal(path.consumer->stream[0][stream].unflagged, 0);
		assert_true(path.consumer->stream[0][stream].different <= 1); /* the first, cut */
	}
}

/* A group without a member keeps its half of the ring over a restart, which is not to fill while the daemon
 * waits for it to acknowledge. */
static void test_restart_without_a_member(void **state)
{
	struct capture_config c = path_config(0x1);
	struct capture_status s;

	path_host_begin(0x1, 4000, HOST_SPEED_REAL); /* two seconds for a busy machine */
	path_begin_mode = PATH_SHARE;
	path_start(&c);
	path_wait_frames(0, 17600);
	path_stop();
	path_sleep_ms(450);
	path_start(&c);
	path_wait_frames(0, 36000);
	capture_get_status(path.capture, &s);
	path_stop();
	path_no_complaint();
	assert_true(!PATH_KEEPS_PACE || s.links[0].cells[TDM_LOSS_RING_FULL] == 0);
}

/* A second daemon is told that the links are taken. */
static void test_busy(void **state)
{
	struct capture_config c = path_config(0x1);
	struct queue q[4];
	struct capture *second;

	path_host_begin(0x1, 500, HOST_SPEED_REAL);
	path_start(&c);
	for (unsigned i = 0; i < 4; i++) {
		queue_init(&q[i], sizeof(struct capture_report), 16, 0);
	}
	assert_int_equal(capture_create(&c, &q[0], &q[1], &q[2], &q[3], &second), 0);
	assert_int_equal(capture_start(second), -EBUSY);
	capture_destroy(second);
	for (unsigned i = 0; i < 4; i++) {
		queue_fini(&q[i]);
	}
	path_pump(300);
	path_stop();
	path_no_complaint();
	c.block_frames = 81;
	assert_int_equal(capture_create(&c, NULL, NULL, NULL, NULL, &second), -EINVAL);
	capture_destroy(NULL);
}

int main(int argc, char **argv) /* names of cases, as a pattern */
{
	const struct CMUnitTest tests[] = {
		PATH_TEST(test_steady),
		PATH_TEST(test_reply),
		PATH_TEST(test_by_the_block),
		PATH_TEST(test_short_blocks_do_not_wait),
		PATH_TEST(test_losses),
		PATH_TEST(test_downlink),
		PATH_TEST(test_run_label_identity),
		PATH_TEST(test_delay_goes_with_the_floor),
		PATH_TEST(test_run_without_time),
		PATH_TEST(test_no_memory),
		PATH_TEST(test_pool_empty),
		PATH_TEST(test_out_frames),
		PATH_TEST(test_board_gone),
		PATH_TEST(test_board_gone_backlog),
		PATH_TEST(test_stop_and_start),
		PATH_TEST(test_stop_with_a_stalled_consumer),
		PATH_TEST(test_other_configuration),
		PATH_TEST(test_other_block_lengths),
		PATH_TEST(test_page_of_no_use),
		PATH_TEST(test_restart_without_a_member),
		PATH_TEST(test_grant),
		PATH_TEST(test_busy),
	};

	if (argc > 1) {
		cmocka_set_test_filter(argv[1]);
	}
	return cmocka_run_group_tests(tests, path_group_setup, path_group_teardown);
}
