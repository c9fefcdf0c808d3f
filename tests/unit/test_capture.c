/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The capture thread on the emulator's host, with a publisher of a few lines that gives every block to
 * a consumer (capture_rig.h) and settles it. And a daemon that is killed at any moment: the path then
 * runs in a child, the consumer here.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/capture.h"
#include "daemon/now.h"
#include "tests/unit/floor_rig.h"
#include "tests/unit/capture_rig.h"

#define GROUPS 2u

static char directory[64], where[128], socket_path[100];
static struct rig_control *control;
static pid_t host;
static bool unhurried;
static uint32_t frames_per_buffer;

enum mode { ACK, HOLD, SHARE }; /* SHARE: of a group without a member, half a ring of 2 s is kept */
#define SHARE_BLOCKS (8000u / 80 * FCM_STREAMS)
static enum mode begin_mode;

/* A data path: capture and a publisher. */
static struct path {
	struct queue blocks, settled, commands, reports;
	struct capture *capture;
	pthread_t publisher;
	_Atomic int stop, mode, forget;	       /* forget: the consumer shall begin anew */
	_Atomic unsigned starved;	       /* how often capture said that the pool is empty */
	_Atomic int relieve;		       /* then the oldest blocks shall pay */
	_Atomic uint64_t frames[NANET3_LINKS]; /* of hits, delivered */
	bool running;
	struct rig_consumer *consumer;
	/* what was reported */
	struct rig_rows rows;
	struct ledger_loss losses[4000];
	unsigned loss_count, takeovers, aligns, identities, telemetry, time_words, runs;
	unsigned taken_over;
	uint8_t last_tower, last_floor;
	uint32_t run;
	uint64_t run_slice;
	struct label kept_label;
	unsigned labelled_rows, late_rows; /* late: of a beginning before the last */
	bool drops;			   /* group 1 drops */
} P;

static void sleep_ms(unsigned ms)
{
	nanosleep(&(struct timespec){ms / 1000, (long)(ms % 1000) * 1000000}, NULL);
}

/* --------------------------------------------------------------------------- the publisher */

static void settle(struct block *b, enum outcome outcome)
{
	struct block **place;

	for (unsigned g = 0; g < GROUPS; g++) {
		bool wants =
			g == 0 ? b->header.stream == FCM_PMT : b->header.stream != FCM_INSTRUMENT;

		b->outcome[g] = (uint8_t)(wants ? outcome : OUTCOME_NOT_OFFERED);
		if (wants && g == 1 && P.drops && b->header.first_frame / 80 % 40 < 15) {
			b->outcome[g] = OUTCOME_DROP_SLOW; /* whoever settles it, and when */
		}
	}
	while (!(place = queue_reserve(&P.settled))) {
		sleep_ms(1);
	}
	*place = b;
	queue_commit(&P.settled);
}

static void consume(const struct block *b)
{
	rig_consume(P.consumer, &b->header, b->payload);
	if (b->header.stream == FCM_PMT) {
		atomic_fetch_add(&P.frames[b->header.link], b->header.frames);
	}
}

static unsigned drop_oldest(struct block **held, unsigned n, unsigned count, enum outcome outcome)
{
	for (unsigned i = 0; i < count; i++) {
		settle(held[i], outcome);
	}
	memmove(held, held + count, (n - count) * sizeof(*held));
	return n - count;
}

/* There is no memory: the oldest blocks pay, when they shall. Returns how many are held still. */
static unsigned starve(struct block **held, unsigned n)
{
	unsigned pay = atomic_load(&P.relieve) ? (n < 16 ? n : 16) : 0;

	atomic_fetch_add(&P.starved, 1);
	return drop_oldest(held, n, pay, OUTCOME_DROP_POOL);
}

static void *publisher_main(void *arg)
{
	static struct block *held[20000];
	unsigned n = 0;

	(void)arg;
	while (!atomic_load(&P.stop) || n > 0) {
		struct block **place = queue_peek(&P.blocks);
		bool holds = atomic_load(&P.mode) != ACK && !atomic_load(&P.stop);

		if (atomic_exchange(&P.forget, 0)) {
			memset(P.consumer, 0, sizeof(*P.consumer));
		}
		if (place && !*place) {
			queue_release(&P.blocks);
			n = starve(held, n);
		} else if (place) {
			held[n++] = *place;
			queue_release(&P.blocks);
			consume(held[n - 1]);
		} else {
			sleep_ms(1);
		}
		for (unsigned i = 0; !holds && i < n; i++) {
			/* From the newest: they settle in any order. */
			settle(held[n - 1 - i], OUTCOME_ACKED);
		}
		n = holds ? n : 0;
		while (atomic_load(&P.mode) == SHARE && n > SHARE_BLOCKS) {
			n = drop_oldest(held, n, 1, OUTCOME_DROP_NO_MEMBER);
		}
	}
	return NULL;
}

/* ------------------------------------------------------------------------------- the reports */

/* The label that path_start() commands begins somewhere in a second; from then on rows have it. */
static void check_label_of_row(const struct capture_report *r)
{
	struct label label = rig_label(1);

	if (r->tai_ns != INT64_MIN) {
		assert_int_equal(r->tai_ns, label_tai_ns(&label, r->link_row.second * 8000));
		P.labelled_rows++;
	}
}

static void take_report(const struct capture_report *r)
{
	switch (r->type) {
	case CAPTURE_LINK_ROW:
		assert_in_range(r->begun, 1, 3);
		P.late_rows += r->link_row.closed && r->begun < P.takeovers;
		check_label_of_row(r);
		rig_link_row(&P.rows, &r->link_row);
		break;
	case CAPTURE_STREAM_ROW:
		rig_stream_row(&P.rows, &r->stream_row);
		break;
	case CAPTURE_LOSS:
		if (!r->loss.open && P.loss_count < 4000) {
			P.losses[P.loss_count++] = r->loss;
		}
		break;
	case CAPTURE_TAKEOVER:
		P.takeovers++;
		P.taken_over = r->takeover.taken_over;
		P.kept_label = r->takeover.label;
		P.run = r->takeover.run;
		break;
	case CAPTURE_ALIGN:
		P.aligns++;
		break;
	case CAPTURE_IDENTITY:
		P.identities++;
		P.last_tower = r->tower;
		P.last_floor = r->floor;
		break;
	case CAPTURE_RUN_BEGUN:
		P.runs++;
		P.run = r->run.run;
		P.run_slice = r->run.slice_id;
		break;
	case CAPTURE_TELEMETRY:
		P.telemetry++;
		break;
	case CAPTURE_TIME_WORD:
		P.time_words++;
		break;
	default:
		break;
	}
}

static void pump(unsigned ms)
{
	uint64_t until = now_mono_ns() + ms * 1000000ull;

	do {
		const struct capture_report *r;

		while ((r = queue_peek(&P.reports))) {
			take_report(r);
			queue_release(&P.reports);
		}
		sleep_ms(2);
	} while (now_mono_ns() < until);
}

/* Until so many frames more have come from a link: the host runs as fast as we do. */
static void wait_frames(unsigned link, uint64_t frames)
{
	uint64_t until = now_mono_ns() + 60000000000ull, from = atomic_load(&P.frames[link]);

	while (atomic_load(&P.frames[link]) < from + frames) {
		pump(5);
		if (now_mono_ns() > until) {
			fail_msg("no frames from link %u", link);
		}
	}
	pump(0); /* what was reported before they came */
}

/* ----------------------------------------------------------------------------- begin and end */

static struct capture_config config_of(unsigned links)
{
	struct capture_config c = {
		.board_where = where,
		.links = links,
		.block_frames = 80,
		.tick_us = 1000,
		.groups = GROUPS,
		.group_streams = {1u << FCM_PMT, 1u << FCM_PMT | 1u << FCM_HYDROPHONE},
		.pool_bytes = 256u << 20,
		.hold_frames = 2000,
	};

	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		c.expected[i].tower = 1;
		c.expected[i].floor = (uint8_t)(i + 1);
	}
	return c;
}

static void command(const struct capture_command *what)
{
	struct capture_command *place = queue_reserve(&P.commands);

	assert_non_null(place);
	*place = *what;
	queue_commit(&P.commands);
}

/* A host at full speed waits for us, and the label says so. */
static struct capture_command label_command(uint32_t time_epoch)
{
	struct capture_command c = {.type = CAPTURE_LABEL, .label = rig_label(time_epoch)};

	c.label.source = unhurried ? LABEL_EMULATOR : LABEL_GPSD;
	return c;
}

static void path_start(const struct capture_config *c)
{
	struct rig_consumer *consumer = P.consumer;
	struct capture_command label = label_command(1);

	memset(&P, 0, sizeof(P));
	P.consumer = consumer ? consumer : calloc(1, sizeof(*P.consumer));
	assert_int_equal(queue_init(&P.blocks, sizeof(struct block *), 4096, 1), 0);
	assert_int_equal(queue_init(&P.settled, sizeof(struct block *), 4096, 0), 0);
	assert_int_equal(queue_init(&P.commands, sizeof(struct capture_command), 64, 0), 0);
	assert_int_equal(queue_init(&P.reports, sizeof(struct capture_report), 8192, 1), 0);
	assert_int_equal(
		capture_create(c, &P.blocks, &P.settled, &P.commands, &P.reports, &P.capture), 0);
	command(&label);
	assert_int_equal(capture_start(P.capture), 0);
	atomic_store(&P.mode, begin_mode);
	assert_int_equal(pthread_create(&P.publisher, NULL, publisher_main, NULL), 0);
	P.running = true;
}

static void path_stop_within(unsigned grace_ms)
{
	P.running = false;
	capture_stop(P.capture, grace_ms);
	atomic_store(&P.stop, 1);
	pthread_join(P.publisher, NULL);
	pump(0);
	capture_destroy(P.capture);
	queue_fini(&P.blocks);
	queue_fini(&P.settled);
	queue_fini(&P.commands);
	queue_fini(&P.reports);
}

static void path_stop(void)
{
	path_stop_within(3000);
}

static void host_begin(unsigned links, unsigned depth_ms, enum host_speed speed)
{
	struct host_config config;

	host_config_default(&config);
	config.socket_path = socket_path;
	config.depth_ms = depth_ms;
	config.linger_ms = 20000;
	config.speed = speed;
	frames_per_buffer = config.frames_per_buffer;
	unhurried = speed == HOST_SPEED_MAX;
	control->links = links;
	control->dark = 0;
	control->fifo_drop = 0;
	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		control->crc_every[i] = 0;
		control->offset[i] = 0;
		control->floor[i] = i + 1;
		control->damaged[i] = 0;
	}
	host = rig_host_start(&config, control);
	if (host <= 0) {
		fail_msg("host: %s", strerror(-(int)host));
	}
}

static void host_end(void)
{
	if (host > 0) {
		rig_host_end(host, SIGTERM);
		host = 0;
	}
}

static void no_complaint(void)
{
	if (P.consumer->complaint[0]) {
		fail_msg("%s", P.consumer->complaint);
	}
}

/* All closed rows of a link balance; returns how many are closed. */
static unsigned check_rows(unsigned link, uint64_t *ret_good, uint64_t *ret_lost)
{
	unsigned closed = 0;

	*ret_good = 0;
	*ret_lost = 0;
	for (unsigned i = 0; i < RIG_ROWS; i++) {
		const struct ledger_link_row *row = &P.rows.link[link][i];

		if (!row->closed) {
			continue;
		}
		closed++;
		assert_true(ledger_link_balances(row));
		assert_true(row->partial || row->cells == 8000);
		*ret_good += row->verdicts[TDM_GOOD];
		*ret_lost += row->cells - row->verdicts[TDM_GOOD];
		for (unsigned s = 0; s < FCM_STREAMS; s++) {
			for (unsigned g = 0; g < GROUPS; g++) {
				const struct ledger_stream_row *stream =
					&P.rows.stream[link][s][g][row->second % RIG_ROWS];

				if (stream->offered > 0) {
					assert_true(stream->closed);
					assert_true(ledger_stream_balances(stream));
					assert_int_equal(stream->in_flight, 0);
				}
			}
		}
	}
	return closed;
}

static int setup(void **state)
{
	(void)state;
	free(P.consumer);
	begin_mode = ACK;
	P.consumer = NULL;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	if (P.running) { /* a case has failed */
		path_stop();
	}
	host_end();
	free(P.consumer);
	P.consumer = NULL;
	return 0;
}

/* ------------------------------------------------------------------------------------- cases */

static void test_steady(void **state)
{
	struct capture_config c = config_of(0x7);
	struct capture_status s;
	uint64_t good, lost;

	(void)state;
	host_begin(0x7, 500, HOST_SPEED_MAX);
	control->offset[1] = 3333; /* a link whose frames straddle the cells */
	path_start(&c);
	wait_frames(2, 17000);
	capture_get_status(P.capture, &s);
	path_stop();
	no_complaint();
	for (unsigned link = 0; link < 3; link++) {
		const struct rig_stream *pmt = &P.consumer->stream[link][FCM_PMT];

		assert_true(pmt->blocks > 200);
		assert_int_equal(pmt->repeats + pmt->holes + pmt->bad, 0);
		assert_true(pmt->items > 10000);
		assert_true(check_rows(link, &good, &lost) >= 1);
		assert_true(good > 7000);
		/* Alignment is found over three frames, or four cells. */
		assert_true(s.links[link].cells[TDM_LOSS_ALIGNMENT] <= 5);
		assert_int_equal(s.links[link].cells[TDM_LOSS_RING_FULL], 0);
		assert_int_equal(s.links[link].item_faults, pmt->faults);
		assert_int_equal(s.links[link].tower, 1);
		assert_int_equal(s.links[link].floor, link + 1);
	}
	assert_true(s.first_release_ns > 0);
	assert_false(s.board_gone);
	assert_int_equal(P.takeovers, 3);
	assert_int_equal(P.aligns, 3);
	assert_int_equal(P.identities, 3);
	assert_true(P.telemetry >= 6 && P.time_words >= 6);
	assert_int_equal(s.reports_lost, 0);
}

/* What capture had read a tick after it told a reply: not yet the block that the reply travelled in. */
static bool told_early(const struct capture_report *reply)
{
	uint64_t block_end = (reply->count - RIG_DELAY) / 80 * 80 + 80 + RIG_DELAY, tick;
	struct capture_status s;

	capture_get_status(P.capture, &s);
	tick = s.ticks;
	while (s.ticks <= tick) {
		nanosleep(&(struct timespec){0, 100000}, NULL);
		capture_get_status(P.capture, &s);
	}
	return s.links[reply->link].last_good_count < block_end;
}

/* A link is read by the block, but somebody waits for a reply: it is told when it comes. */
static void test_reply(void **state)
{
	struct capture_config c = config_of(0x1);
	unsigned replies = 0, early = 0;

	(void)state;
	host_begin(0x1, 1000, HOST_SPEED_REAL);
	path_start(&c);
	wait_frames(0, 800);
	while (replies < 10) {
		const struct capture_report *r = queue_peek(&P.reports);

		if (!r) {
			nanosleep(&(struct timespec){0, 200000}, NULL);
			continue;
		}
		if (r->type == CAPTURE_REPLY) {
			replies++;
			early += told_early(r);
		}
		queue_release(&P.reports);
	}
	path_stop();
	no_complaint();
	assert_true(early > 0);
}

/* Nobody waits for anything: a link is read when a block is whole, not buffer by buffer (five a block). A
 * look that comes too late sees fewer moves, never more. */
static void test_by_the_block(void **state)
{
	struct capture_config c = config_of(0x1);
	uint64_t first, last, moves = 0;
	struct capture_status s;

	(void)state;
	host_begin(0x1, 1000, HOST_SPEED_REAL);
	path_start(&c);
	wait_frames(0, 800);
	capture_get_status(P.capture, &s);
	first = last = s.links[0].last_good_count;
	while (last < first + 4000) {
		pump(0);
		nanosleep(&(struct timespec){0, 200000}, NULL);
		capture_get_status(P.capture, &s);
		moves += s.links[0].last_good_count != last;
		last = s.links[0].last_good_count;
	}
	path_stop();
	no_complaint();
	print_message("%llu frames in %llu moves\n", (unsigned long long)(last - first),
		      (unsigned long long)moves);
	assert_true(moves <=
		    (last - first) * 3 / 2 / 80 + 2 * ((last - first) / FLOOR_RIG_REPLY + 1));
}

static void test_losses(void **state)
{
	struct capture_config c = config_of(0x3);
	uint64_t good, lost, good1, lost1;
	unsigned crc = 0, down = 0;

	(void)state;
	host_begin(0x3, 500, HOST_SPEED_MAX);
	path_start(&c);
	wait_frames(0, 8000);
	control->crc_every[0] = 500;
	wait_frames(0, 8000);
	control->crc_every[0] = 0;
	wait_frames(0, 8000);
	control->dark = 1;
	wait_frames(0, 8000);
	control->dark = 0;
	wait_frames(0, 17000);
	path_stop();
	no_complaint();
	check_rows(0, &good, &lost);
	check_rows(1, &good1, &lost1);
	for (unsigned i = 0; i < P.loss_count; i++) {
		const struct ledger_loss *l = &P.losses[i];

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
	assert_int_equal(crc, control->damaged[0]);
	assert_int_equal(down, 1);
	assert_true(P.consumer->stream[0][FCM_PMT].gaps >= 2);
	assert_true(lost > 4800 && lost1 < 10);
	assert_int_equal(P.consumer->stream[1][FCM_PMT].frames_missing -
				 P.consumer->stream[1][FCM_PMT].gaps,
			 P.consumer->stream[1][FCM_HYDROPHONE].frames_missing);
}

static void test_run_label_identity(void **state)
{
	struct capture_config c = config_of(0x3);
	struct capture_command run = {.type = CAPTURE_RUN, .run = 42};
	struct capture_command label = label_command(2);

	(void)state;
	host_begin(0x3, 500, HOST_SPEED_MAX);
	path_start(&c);
	wait_frames(0, 1600);
	command(&run);
	wait_frames(0, 12000);
	wait_frames(1, 4000);
	assert_int_equal(P.runs, 1);
	assert_int_equal(P.run, 42);
	assert_true(P.run_slice >= (uint64_t)((RIG_UTC_ZERO - 946684800) * 5));
	command(&label);
	run.run = 0;
	command(&run);
	run.run = 43;
	command(&run); /* at once: one border further */
	control->floor[0] = 9;
	wait_frames(0, 16000);
	wait_frames(1, 1600);
	path_stop();
	assert_true(P.labelled_rows >= 4);
	assert_int_equal(P.runs, 3);
	assert_int_equal(P.run, 43);
	assert_int_equal(P.identities, 3);
	assert_int_equal(P.last_floor, 9);
	no_complaint();
}

/* Nobody settles: capture waits, the ring fills, then blocks are dropped by name. Then all goes on. */
static void test_no_memory(void **state)
{
	struct capture_config c = config_of(0x1);
	uint64_t good, lost, dropped = 0, drop_runs = 0;
	struct capture_status s;

	(void)state;
	host_begin(0x1, 800, HOST_SPEED_REAL);
	c.pool_bytes = 4u << 20;
	path_start(&c);
	wait_frames(0, 3000);
	atomic_store(&P.mode, HOLD);
	do {
		pump(20);
		capture_get_status(P.capture, &s);
		assert_true(s.pool_in_use <= s.pool_bytes);
	} while (s.links[0].blocks_dropped < 30);
	assert_true(P.starved > 0);
	atomic_store(&P.mode, ACK);
	wait_frames(0, 18000);
	capture_get_status(P.capture, &s);
	path_stop();
	/* The holes that the consumer sees are the ledger's. */
	check_rows(0, &good, &lost);
	for (unsigned i = 0; i < RIG_ROWS; i++) {
		dropped += P.rows.stream[0][FCM_PMT][0][i].outcome[OUTCOME_DROP_POOL];
	}
	for (unsigned i = 0; i < P.loss_count; i++) {
		if (P.losses[i].kind == 1 && P.losses[i].stream == FCM_PMT &&
		    P.losses[i].group == 0) {
			assert_int_equal(P.losses[i].code, OUTCOME_DROP_POOL);
			drop_runs += P.losses[i].frames;
		}
	}
	assert_true(dropped > 0);
	assert_int_equal(drop_runs, dropped);
	assert_int_equal(s.pool_drops[0].frames, dropped); /* and the status counts them */
	assert_int_equal(s.pool_drops[0].blocks * 80, dropped);
	assert_int_equal(s.pool_drops[0].stream, FCM_PMT);
	assert_true(s.pool_drops[1].blocks >= s.pool_drops[0].blocks);
	assert_int_equal(s.pool_drops[2].blocks, 0);
	assert_int_equal(P.consumer->stream[0][FCM_PMT].bad, 0);
	assert_true(P.consumer->stream[0][FCM_PMT].holes > 0);
}

/* No memory, and a publisher that has the oldest blocks pay for it: no newer one is dropped, and the ring never
 * fills. */
static void test_pool_empty(void **state)
{
	struct capture_config c = config_of(0x1);
	uint64_t good, lost, dropped = 0;
	struct capture_status s;

	(void)state;
	host_begin(0x1, 800, HOST_SPEED_REAL);
	c.pool_bytes = 4u << 20;
	path_start(&c);
	wait_frames(0, 3000);
	atomic_store(&P.relieve, 1);
	atomic_store(&P.mode, HOLD);
	wait_frames(0, 10000); /* more than the ring holds */
	assert_true(P.starved > 0);
	atomic_store(&P.mode, ACK);
	wait_frames(0, 8000);
	capture_get_status(P.capture, &s);
	path_stop();
	no_complaint();
	assert_int_equal(s.links[0].blocks_dropped, 0);
	assert_int_equal(s.links[0].cells[TDM_LOSS_RING_FULL], 0);
	assert_int_equal(P.consumer->stream[0][FCM_PMT].holes, 0);
	check_rows(0, &good, &lost);
	for (unsigned i = 0; i < RIG_ROWS; i++) {
		dropped += P.rows.stream[0][FCM_PMT][0][i].outcome[OUTCOME_DROP_POOL];
	}
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
	struct capture_config c = config_of(0x1);
	struct capture_status s;
	uint64_t most;

	(void)state;
	host_begin(0x1, 6000, HOST_SPEED_MAX);
	c.block_frames = 8;
	c.hold_frames = 0;
	most = capture_out_frames(6 * 8000, c.block_frames);
	assert_true(most < 6 * 8000);
	assert_int_equal(capture_out_frames(2 * 8000, c.block_frames), 2 * 8000);
	assert_true(capture_out_frames(60 * 8000, 1600) < LEDGER_SECONDS * 8000);
	path_start(&c);
	atomic_store(&P.mode, HOLD);
	do {
		pump(20);
		capture_get_status(P.capture, &s);
	} while (!s.links[0].blocked);
	assert_int_equal(s.links[0].blocks_dropped, 0);
	assert_true(cells_of(&s.links[0]) >= most);
	atomic_store(&P.mode, ACK);
	wait_frames(0, 1600);
	path_stop();
	no_complaint();
}

static void wait_gone(struct capture_status *ret_status)
{
	do {
		pump(20);
		capture_get_status(P.capture, ret_status);
	} while (!ret_status->board_gone);
	pump(300); /* what was out comes back, and its rows are told */
}

/* The board goes and comes back: another epoch, nothing of the old one stays open. */
static void test_board_gone(void **state)
{
	struct capture_config c = config_of(0x1);
	struct capture_status s;
	uint64_t good, lost;

	(void)state;
	host_begin(0x1, 1000, HOST_SPEED_REAL);
	path_start(&c);
	wait_frames(0, 10000);
	host_end();
	wait_gone(&s);
	assert_true(s.board_error < 0);
	check_rows(0, &good, &lost);
	assert_true(good > 9000); /* the last second is closed, cut as it is */
	memset(&P.rows, 0, sizeof(P.rows));
	atomic_store(&P.forget, 1);
	pump(50);
	host_begin(0x1, 1000, HOST_SPEED_REAL);
	wait_frames(0, 3000);
	capture_get_status(P.capture, &s);
	assert_false(s.board_gone);
	assert_true(s.links[0].claimed);
	assert_int_equal(P.takeovers, 2);
	assert_true(P.consumer->stream[0][FCM_PMT].blocks > 30);
	/* It goes with blocks that are out. The next one counts the same epoch; late rows know theirs. */
	atomic_store(&P.mode, HOLD);
	wait_frames(0, 800);
	host_end();
	wait_gone(&s);
	atomic_store(&P.forget, 1);
	host_begin(0x1, 1000, HOST_SPEED_REAL);
	wait_frames(0, 800);
	assert_int_equal(P.takeovers, 3);
	assert_int_equal(P.late_rows, 0);
	atomic_store(&P.mode, ACK);
	pump(100);
	assert_true(P.late_rows > 0);
	path_stop();
	no_complaint();
}

/* The ring is full and nobody acknowledges when the board goes: all that it had handed over is accounted,
 * what finds no memory any more by its name. */
static void test_board_gone_backlog(void **state)
{
	struct capture_config c = config_of(0x1);
	uint64_t good, lost, dropped = 0, handed_over;
	struct capture_status s;

	(void)state;
	host_begin(0x1, 1000, HOST_SPEED_MAX);
	c.pool_bytes = 4u << 20;
	path_start(&c);
	wait_frames(0, 3000);
	atomic_store(&P.mode, HOLD);
	do {
		pump(20);
		capture_get_status(P.capture, &s);
	} while (s.links[0].ring_write - s.links[0].ring_release + 3 <= s.links[0].ring_depth);
	handed_over = s.links[0].ring_write * frames_per_buffer;
	assert_true(cells_of(&s.links[0]) < handed_over);
	host_end();
	wait_gone(&s);
	assert_int_equal(cells_of(&s.links[0]), handed_over);
	atomic_store(&P.mode, ACK);
	pump(300);
	path_stop();
	check_rows(0, &good, &lost);
	assert_int_equal(good + lost, handed_over);
	for (unsigned i = 0; i < RIG_ROWS; i++) {
		dropped += P.rows.stream[0][FCM_PMT][0][i].outcome[OUTCOME_DROP_POOL];
	}
	assert_true(dropped > 0);
	assert_true(P.consumer->stream[0][FCM_PMT].frames + dropped >= handed_over);
}

/* A clean stop and a start within the linger time: as if it had never stopped. */
static void test_stop_and_start(void **state)
{
	struct capture_config c = config_of(0x3);
	struct rig_consumer *consumer;
	uint64_t good, lost;

	(void)state;
	host_begin(0x3, 500, HOST_SPEED_MAX);
	path_start(&c);
	wait_frames(0, 10000);
	path_stop();
	no_complaint();
	consumer = P.consumer;
	path_start(&c);
	assert_ptr_equal(P.consumer, consumer);
	wait_frames(0, 18000);
	wait_frames(1, 1600);
	path_stop();
	no_complaint();
	assert_int_equal(P.taken_over, 1);
	assert_int_equal(P.kept_label.time_epoch, 1);
	for (unsigned link = 0; link < 2; link++) {
		const struct rig_stream *pmt = &consumer->stream[link][FCM_PMT];

		assert_int_equal(pmt->holes + pmt->bad + pmt->unflagged, 0);
		assert_true(pmt->frames_missing < 100);
		assert_true(check_rows(link, &good, &lost) >= 1);
		assert_true(lost < 10);
	}
}

/* A stop that waits for a consumer which does not answer leaves the ring its room for the restart. */
static void test_stop_with_a_stalled_consumer(void **state)
{
	struct capture_config c = config_of(0x1);
	struct capture_status s;
	uint64_t used;

	(void)state;
	host_begin(0x1, 2000, HOST_SPEED_REAL);
	path_start(&c);
	wait_frames(0, 800);
	atomic_store(&P.mode, HOLD);
	do { /* half the ring, as a group may hold */
		pump(10);
		capture_get_status(P.capture, &s);
		used = s.links[0].ring_write - s.links[0].ring_release;
	} while (used * 2 < s.links[0].ring_depth);
	path_stop();
	path_start(&c);
	wait_frames(0, 17000); /* a whole ring and more: a gap stands at its end */
	capture_get_status(P.capture, &s);
	path_stop();
	no_complaint();
	assert_int_equal(P.taken_over, 1);
	assert_true(s.links[0].resent > 0);
	assert_int_equal(s.links[0].cells[TDM_LOSS_RING_FULL], 0);
	assert_int_equal(P.consumer->stream[0][FCM_PMT].holes, 0);
}

/* The seconds that are closed are whole, but the epoch's first one. */
static void check_whole(unsigned link, bool same_blocks)
{
	uint64_t good, lost;
	unsigned partial = 0;

	assert_true(check_rows(link, &good, &lost) >= 1);
	for (unsigned i = 0; i < RIG_ROWS; i++) {
		const struct ledger_link_row *row = &P.rows.link[link][i];

		partial += row->closed && row->partial;
		if (same_blocks && row->closed && !row->partial) {
			assert_int_equal(P.rows.stream[link][FCM_PMT][0][i].offered, 8000);
		}
	}
	assert_true(partial <= 1);
}

/* A daemon with another configuration takes the ring over: the account goes on, repeats are flagged. */
static void test_other_configuration(void **state)
{
	struct capture_config c = config_of(0x3);
	uint64_t repeats = 0;

	(void)state;
	host_begin(0x3, 500, HOST_SPEED_REAL);
	path_start(&c);
	wait_frames(0, 2000);
	atomic_store(&P.mode, HOLD);
	pump(100);
	path_stop_within(1);
	c.groups = GROUPS + 1;
	c.group_streams[GROUPS] = 1u << FCM_HYDROPHONE;
	path_start(&c);
	wait_frames(0, 16000);
	no_complaint();
	path_stop();
	assert_int_equal(P.taken_over, 1);
	assert_int_equal(P.kept_label.time_epoch, 1);
	for (unsigned link = 0; link < 2; link++) {
		check_whole(link, true);
		repeats += P.consumer->stream[link][FCM_PMT].repeats;
	}
	assert_true(repeats > 0);
	memset(P.consumer, 0, sizeof(*P.consumer)); /* its blocks are others now */
	c.block_frames = 320;
	path_start(&c);
	wait_frames(0, 16000);
	path_stop();
	no_complaint();
	assert_int_equal(P.taken_over, 1);
	for (unsigned link = 0; link < 2; link++) {
		check_whole(link, false);
	}
}

/* A group without a member keeps its half of the ring over a restart, which is not to fill while the daemon
 * waits for it to acknowledge. */
static void test_restart_without_a_member(void **state)
{
	struct capture_config c = config_of(0x1);
	struct capture_status s;

	(void)state;
	host_begin(0x1, 2000, HOST_SPEED_REAL);
	begin_mode = SHARE;
	path_start(&c);
	wait_frames(0, 9600);
	path_stop();
	sleep_ms(450);
	path_start(&c);
	wait_frames(0, 20000);
	capture_get_status(P.capture, &s);
	path_stop();
	no_complaint();
	assert_int_equal(s.links[0].cells[TDM_LOSS_RING_FULL], 0);
}

/* A second daemon is told that the links are taken. */
static void test_busy(void **state)
{
	struct capture_config c = config_of(0x1);
	struct queue q[4];
	struct capture *second;

	(void)state;
	host_begin(0x1, 500, HOST_SPEED_REAL);
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
	pump(300);
	path_stop();
	no_complaint();
	c.block_frames = 81;
	assert_int_equal(capture_create(&c, NULL, NULL, NULL, NULL, &second), -EINVAL);
	capture_destroy(NULL);
}

/* ---------------------------------------------------------------------------- killed daemons */

/* What a child writes to its parent. */
struct message {
	uint32_t what; /* 0 block: header and payload follow; else a report */
	uint32_t bytes;
};

static int send_all(int fd, const void *bytes, size_t length)
{
	const uint8_t *p = bytes;

	while (length > 0) {
		ssize_t n = send(fd, p, length, MSG_NOSIGNAL);

		if (n <= 0) {
			return -1;
		}
		p += n;
		length -= (size_t)n;
	}
	return 0;
}

static bool receive_all(int fd, void *bytes, size_t length)
{
	return recv(fd, bytes, length, MSG_WAITALL) == (ssize_t)length;
}

/* The daemon that will be killed: each block goes to the parent and is settled when its answer is
 * there; reports go as well. Two sockets, so that rows cannot wait behind blocks. */
static void child_publish(int fd)
{
	for (;;) {
		struct block **place = queue_peek(&P.blocks);
		struct message m;
		struct block *b;
		char ack;

		if (!place) {
			sleep_ms(1);
			continue;
		}
		b = *place;
		queue_release(&P.blocks);
		m = (struct message){0, (uint32_t)sizeof(b->header) + b->header.payload_bytes};
		if (b->already[0] && b->already[1]) {
			settle(b, OUTCOME_ACKED);
			continue;
		}
		if (send_all(fd, &m, sizeof(m)) < 0 ||
		    send_all(fd, &b->header, sizeof(b->header)) < 0 ||
		    send_all(fd, b->payload, b->header.payload_bytes) < 0 ||
		    recv(fd, &ack, 1, MSG_WAITALL) != 1) {
			_exit(2);
		}
		settle(b, OUTCOME_ACKED);
	}
}

static void *child_reports(void *arg)
{
	int fd = *(int *)arg;

	for (;;) {
		struct capture_report *r = queue_peek(&P.reports);

		if (!r) {
			sleep_ms(30); /* as the store writes them: what is young dies with it */
			continue;
		}
		if (send_all(fd, r, sizeof(*r)) < 0) {
			_exit(3);
		}
		queue_release(&P.reports);
	}
	return NULL;
}

static pid_t child_start(int *ret_blocks, int *ret_reports)
{
	static int reports_fd;
	int blocks[2], reports[2];
	pthread_t thread;
	pid_t pid;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, blocks), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, reports), 0);
	pid = fork();
	if (pid == 0) {
		struct capture_config c = config_of(0x3);
		struct capture_command label = label_command(1);

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		queue_init(&P.blocks, sizeof(struct block *), 4096, 1);
		queue_init(&P.settled, sizeof(struct block *), 4096, 0);
		queue_init(&P.commands, sizeof(struct capture_command), 64, 0);
		queue_init(&P.reports, sizeof(struct capture_report), 8192, 1);
		command(&label);
		P.drops = true;
		if (capture_create(&c, &P.blocks, &P.settled, &P.commands, &P.reports, &P.capture) <
			    0 ||
		    capture_start(P.capture) < 0) {
			_exit(4);
		}
		reports_fd = reports[1];
		pthread_create(&thread, NULL, child_reports, &reports_fd);
		child_publish(blocks[1]);
		_exit(0);
	}
	assert_true(pid > 0);
	close(blocks[1]);
	close(reports[1]);
	*ret_blocks = blocks[0];
	*ret_reports = reports[0];
	return pid;
}

static uint8_t payload[32u << 20];

/* One block from the child, if one is there within `ms`. False: nothing. */
static bool parent_block(int fd, bool acknowledge)
{
	struct fcm_block_header header;
	struct message m;

	if (!receive_all(fd, &m, sizeof(m)) || !receive_all(fd, &header, sizeof(header)) ||
	    !receive_all(fd, payload, header.payload_bytes)) {
		return false;
	}
	rig_consume(P.consumer, &header, payload);
	return !acknowledge || send(fd, "a", 1, MSG_NOSIGNAL) == 1;
}

static void parent_reports(int fd)
{
	struct capture_report r;

	while (recv(fd, &r, sizeof(r), MSG_PEEK | MSG_DONTWAIT) == (ssize_t)sizeof(r)) {
		if (recv(fd, &r, sizeof(r), MSG_WAITALL) != (ssize_t)sizeof(r)) {
			return;
		}
		take_report(&r);
	}
}

static uint64_t dice = 11;
static uint32_t roll(uint32_t n)
{
	dice = dice * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(dice >> 33) % n;
}

/* Of a run: its frames that count in a second. Dropped ones do in that of their block. */
static uint64_t frames_of(const struct ledger_loss *l, uint64_t second)
{
	uint64_t frames = 0, step = l->kind == 1 ? 80 : 1;

	assert_int_equal(l->next - l->first, l->frames);
	for (uint64_t f = l->first; f < l->next; f += step) {
		frames += f / TDM_FRAMES_PER_SECOND == second ? step : 0;
	}
	return frames;
}

/* Frames lost in a second by name, every run once, however often it was told. */
static uint64_t named(unsigned kind, unsigned code, unsigned link, unsigned stream, uint64_t second)
{
	uint64_t frames = 0;

	for (unsigned i = 0; i < P.loss_count; i++) {
		const struct ledger_loss *l = &P.losses[i];
		bool again = false;

		if (l->kind != kind || l->code != code || l->link != link || l->stream != stream) {
			continue;
		}
		for (unsigned k = 0; k < P.loss_count && !again; k++) {
			const struct ledger_loss *o = &P.losses[k];

			again = o->kind == kind && o->code == code && o->link == link &&
				o->stream == stream && o->first == l->first &&
				(o->frames > l->frames || (o->frames == l->frames && k > i));
		}
		frames += again ? 0 : frames_of(l, second);
	}
	return frames;
}

/* Every frame that the closed rows call lost has its name, wherever the daemons died. */
static void check_names(unsigned link)
{
	uint64_t crc = 0, slow = 0;

	for (unsigned i = 0; i < RIG_ROWS; i++) {
		const struct ledger_link_row *row = &P.rows.link[link][i];

		if (row->closed) {
			assert_int_equal(named(0, TDM_LOSS_CRC, link, 0, row->second),
					 row->verdicts[TDM_LOSS_CRC]);
			crc += row->verdicts[TDM_LOSS_CRC];
		}
		for (unsigned s = 0; row->closed && s < FCM_STREAMS; s++) {
			const struct ledger_stream_row *stream =
				&P.rows.stream[link][s][1][row->second % RIG_ROWS];

			assert_int_equal(named(1, OUTCOME_DROP_SLOW, link, s, row->second),
					 stream->outcome[OUTCOME_DROP_SLOW]);
			slow += stream->outcome[OUTCOME_DROP_SLOW];
		}
	}
	assert_true(link > 0 || crc > 20);
	assert_true(slow > 20 * 80);
	assert_true(P.loss_count < sizeof(P.losses) / sizeof(P.losses[0]));
}

/* Whole seconds that both links have closed. */
static unsigned rows_closed(void)
{
	uint64_t good, lost;
	unsigned a = check_rows(0, &good, &lost), b = check_rows(1, &good, &lost);

	return a < b ? a : b;
}

static void test_killed(void **state)
{
	const unsigned lives = 14;
	int blocks, reports, status;
	unsigned restarts = 0;
	pid_t pid;

	(void)state;
	memset(&P, 0, sizeof(P));
	P.consumer = calloc(1, sizeof(*P.consumer));
	host_begin(0x3, 500, HOST_SPEED_MAX);
	control->offset[1] = 7777;
	control->crc_every[0] = 333;
	for (unsigned life = 0; life < lives; life++) {
		bool last = life == lives - 1;
		uint64_t until = now_mono_ns() + (last ? 60000 : 100 + roll(300)) * 1000000ull;

		pid = child_start(&blocks, &reports);
		while (now_mono_ns() < until && !(last && rows_closed() >= 4)) {
			/* Sometimes it dies with a block that was taken but not acknowledged. */
			bool acknowledge = last || roll(200) > 0;

			if (!parent_block(blocks, acknowledge)) {
				break;
			}
			if (!acknowledge) {
				sleep_ms(roll(50));
				break;
			}
			parent_reports(reports);
		}
		kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status));
		parent_reports(reports);
		close(blocks);
		close(reports);
	}
	no_complaint();
	for (unsigned link = 0; link < 2; link++) {
		const struct rig_stream *pmt = &P.consumer->stream[link][FCM_PMT];
		uint64_t good, lost;

		assert_int_equal(pmt->holes + pmt->bad + pmt->unflagged + pmt->different, 0);
		assert_true(pmt->repeats > 0);
		assert_true(check_rows(link, &good, &lost) >= 4);
		assert_true(link == 0 || lost <= 5); /* the alignment, once */
		check_names(link);
		for (unsigned i = 0; i < RIG_ROWS; i++) {
			restarts += P.rows.link[link][i].restarts;
		}
		printf("link %u: %llu blocks, %llu repeated, %llu good frames in closed rows\n",
		       link, (unsigned long long)pmt->blocks, (unsigned long long)pmt->repeats,
		       (unsigned long long)good);
	}
	assert_int_equal(P.rows.closed_twice, 0);
	assert_true(restarts > 0);
}

int main(int argc, char **argv) /* names of cases, as a pattern */
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_steady, setup, teardown),
		cmocka_unit_test_setup_teardown(test_reply, setup, teardown),
		cmocka_unit_test_setup_teardown(test_by_the_block, setup, teardown),
		cmocka_unit_test_setup_teardown(test_losses, setup, teardown),
		cmocka_unit_test_setup_teardown(test_run_label_identity, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_memory, setup, teardown),
		cmocka_unit_test_setup_teardown(test_pool_empty, setup, teardown),
		cmocka_unit_test_setup_teardown(test_out_frames, setup, teardown),
		cmocka_unit_test_setup_teardown(test_board_gone, setup, teardown),
		cmocka_unit_test_setup_teardown(test_board_gone_backlog, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stop_and_start, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stop_with_a_stalled_consumer, setup, teardown),
		cmocka_unit_test_setup_teardown(test_other_configuration, setup, teardown),
		cmocka_unit_test_setup_teardown(test_restart_without_a_member, setup, teardown),
		cmocka_unit_test_setup_teardown(test_busy, setup, teardown),
		cmocka_unit_test_setup_teardown(test_killed, setup, teardown),
	};
	int r;

	snprintf(directory, sizeof(directory), "/tmp/fcm-capture-XXXXXX");
	if (!mkdtemp(directory)) {
		return 1;
	}
	snprintf(socket_path, sizeof(socket_path), "%s/board", directory);
	snprintf(where, sizeof(where), "unix:%s", socket_path);
	control = rig_control_create();
	if (argc > 1) {
		cmocka_set_test_filter(argv[1]);
	}
	r = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(socket_path);
	rmdir(directory);
	return r;
}
