/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A data path in this process: capture on the emulator's host, a publisher and a consumer. See capture_path.h. */
#include "tests/unit/daemon/capture/capture_path.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "daemon/core/now.h"
#include "tests/unit/rig/balances.h"

#define SHARE_BLOCKS (8000u / 80 * FCM_STREAMS)

struct capture_path path;
struct rig_control *path_control;
uint32_t path_frames_per_buffer;
enum path_mode path_begin_mode;

static char directory[64], where[128], socket_path[100];
static pid_t host;
static bool unhurried;

void path_sleep_ms(unsigned ms)
{
	nanosleep(&(struct timespec){ms / 1000, (long)(ms % 1000) * 1000000}, NULL);
}

/* --------------------------------------------------------------------------- the publisher */

void path_settle(struct block *b, enum outcome outcome)
{
	struct block **place;

	for (unsigned g = 0; g < PATH_GROUPS; g++) {
		bool wants =
			g == 0 ? b->header.stream == FCM_PMT : b->header.stream != FCM_INSTRUMENT;

		b->outcome[g] = (uint8_t)(wants ? outcome : OUTCOME_NOT_OFFERED);
		if (wants && g == 1 && path.drops && b->header.first_frame / 80 % 40 < 15) {
			b->outcome[g] = OUTCOME_DROP_SLOW; /* whoever settles it, and when */
		}
	}
	while (!(place = queue_reserve(&path.settled))) {
		path_sleep_ms(1);
	}
	*place = b;
	queue_commit(&path.settled);
}

static void consume(const struct block *b)
{
	rig_consume(path.consumer, &b->header, b->payload);
	if (b->header.stream == FCM_PMT) {
		if (atomic_fetch_add(&path.frames[b->header.link], b->header.frames) == 0) {
			atomic_store(&path.first_run[b->header.link], b->header.run);
		}
		atomic_store(&path.last_run[b->header.link], b->header.run);
	}
}

static unsigned drop_oldest(struct block **held, unsigned n, unsigned count, enum outcome outcome)
{
	for (unsigned i = 0; i < count; i++) {
		path_settle(held[i], outcome);
	}
	memmove(held, held + count, (n - count) * sizeof(*held));
	return n - count;
}

/* There is no memory: the oldest blocks pay, when they shall. Returns how many are held still. */
static unsigned starve(struct block **held, unsigned n)
{
	unsigned pay = atomic_load(&path.relieve) ? (n < 16 ? n : 16) : 0;

	atomic_fetch_add(&path.starved, 1);
	return drop_oldest(held, n, pay, OUTCOME_DROP_POOL);
}

static void *publisher_main(void *arg)
{
	static struct block *held[20000];
	unsigned n = 0;

	while (!atomic_load(&path.stop) || n > 0) {
		struct block **place = queue_peek(&path.blocks);
		bool holds = atomic_load(&path.mode) != PATH_ACK && !atomic_load(&path.stop);

		if (atomic_exchange(&path.forget, 0)) {
			memset(path.consumer, 0, sizeof(*path.consumer));
		}
		if (place && !*place) {
			queue_release(&path.blocks);
			n = starve(held, n);
		} else if (place) {
			held[n++] = *place;
			queue_release(&path.blocks);
			consume(held[n - 1]);
		} else {
			path_sleep_ms(1);
		}
		for (unsigned i = 0; !holds && i < n; i++) {
			/* From the newest: they settle in any order. */
			path_settle(held[n - 1 - i], OUTCOME_ACKED);
		}
		n = holds ? n : 0;
		while (atomic_load(&path.mode) == PATH_SHARE && n > SHARE_BLOCKS) {
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
		path.labelled_rows++;
	}
}

void path_take_report(const struct capture_report *r)
{
	switch (r->type) {
	case CAPTURE_LINK_ROW:
		assert_in_range(r->generation, 1, 3);
		path.late_rows += r->link_row.closed && r->generation < path.takeovers;
		check_label_of_row(r);
		rig_link_row(&path.rows, &r->link_row);
		break;
	case CAPTURE_STREAM_ROW:
		rig_stream_row(&path.rows, &r->stream_row);
		break;
	case CAPTURE_LOSS:
		if (!r->loss.open && path.loss_count < PATH_LOSSES) {
			path.losses[path.loss_count++] = r->loss;
		}
		break;
	case CAPTURE_TAKEOVER:
		path.takeovers++;
		path.taken_over = r->takeover.taken_over;
		path.kept_label = r->takeover.label;
		path.run = r->takeover.run;
		break;
	case CAPTURE_ALIGN:
		path.aligns++;
		break;
	case CAPTURE_IDENTITY:
		path.identities++;
		path.last_tower = r->tower;
		path.last_floor = r->floor;
		break;
	case CAPTURE_RUN_CHANGED:
		path.runs++;
		path.run = r->run.run;
		path.run_slice = r->run.slice_id;
		path.run_change = r->run.change;
		break;
	case CAPTURE_RUN_PLANNED:
		path.planned++;
		path.planned_slice = r->run.slice_id;
		break;
	case CAPTURE_RUN_TIMED:
		path.timed++;
		path.timed_slice = r->run.slice_id;
		break;
	case CAPTURE_TELEMETRY:
		path.telemetry++;
		break;
	case CAPTURE_TIME_WORD:
		path.time_words++;
		break;
	default:
		break;
	}
}

void path_pump(unsigned ms)
{
	uint64_t until = now_mono_ns() + ms * 1000000ull;

	do {
		const struct capture_report *r;

		while ((r = queue_peek(&path.reports))) {
			path_take_report(r);
			queue_release(&path.reports);
		}
		path_sleep_ms(2);
	} while (now_mono_ns() < until);
}

void path_wait_frames(unsigned link, uint64_t frames)
{
	uint64_t until = now_mono_ns() + 60000000000ull, from = atomic_load(&path.frames[link]);

	while (atomic_load(&path.frames[link]) < from + frames) {
		path_pump(5);
		if (now_mono_ns() > until) {
			fail_msg("no frames from link %u", link);
		}
	}
	path_pump(0); /* what was reported before they came */
}

void path_wait_runs(unsigned runs)
{
	uint64_t until = now_mono_ns() + 60000000000ull;

	while (path.runs < runs) {
		path_pump(5);
		if (now_mono_ns() > until) {
			fail_msg("%u changes of the run were reported, not %u", path.runs, runs);
		}
	}
}

/* ----------------------------------------------------------------------------- begin and end */

struct capture_config path_config(unsigned links)
{
	struct capture_config c = {
		.board_where = where,
		.links = links,
		.block_frames = 80,
		.tick_us = 1000,
		.groups = PATH_GROUPS,
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

void path_command(const struct capture_command *what)
{
	struct capture_command *place = queue_reserve(&path.commands);

	assert_non_null(place);
	*place = *what;
	queue_commit(&path.commands);
}

/* A host at full speed waits for us, and the label says so. */
struct capture_command path_label_command(uint32_t time_epoch)
{
	struct capture_command c = {.type = CAPTURE_LABEL, .label = rig_label(time_epoch)};

	c.label.source = unhurried ? LABEL_EMULATOR : LABEL_GPSD;
	return c;
}

void path_queues(void)
{
	assert_int_equal(queue_init(&path.blocks, sizeof(struct block *), 4096, 1), 0);
	assert_int_equal(queue_init(&path.settled, sizeof(struct block *), 4096, 0), 0);
	assert_int_equal(queue_init(&path.commands, sizeof(struct capture_command), 64, 0), 0);
	assert_int_equal(queue_init(&path.reports, sizeof(struct capture_report), 8192, 1), 0);
}

void path_start(const struct capture_config *c)
{
	struct rig_consumer *consumer = path.consumer;
	struct capture_command label = path_label_command(1);

	memset(&path, 0, sizeof(path));
	path.consumer = consumer ? consumer : calloc(1, sizeof(*path.consumer));
	path_queues();
	assert_int_equal(capture_create(c, &path.blocks, &path.settled, &path.commands,
					&path.reports, &path.capture),
			 0);
	path_command(&label);
	assert_int_equal(capture_start(path.capture), 0);
	atomic_store(&path.mode, path_begin_mode);
	assert_int_equal(pthread_create(&path.publisher, NULL, publisher_main, NULL), 0);
	path.running = true;
}

void path_stop_within(unsigned grace_ms)
{
	path.running = false;
	capture_stop(path.capture, grace_ms);
	atomic_store(&path.stop, 1);
	pthread_join(path.publisher, NULL);
	path_pump(0);
	capture_get_status(path.capture, &path.ended);
	capture_destroy(path.capture);
	queue_fini(&path.blocks);
	queue_fini(&path.settled);
	queue_fini(&path.commands);
	queue_fini(&path.reports);
}

void path_stop(void)
{
	path_stop_within(3000);
}

void path_host_begin(unsigned links, unsigned depth_ms, enum host_speed speed)
{
	struct host_config config;

	host_config_default(&config);
	config.socket_path = socket_path;
	config.depth_ms = depth_ms;
	config.linger_ms = 20000;
	config.speed = speed;
	path_frames_per_buffer = config.frames_per_buffer;
	unhurried = speed == HOST_SPEED_MAX;
	path_control->links = links;
	path_control->dark = 0;
	path_control->fifo_drop = 0;
	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		path_control->crc_every[i] = 0;
		path_control->offset[i] = 0;
		path_control->floor[i] = i + 1;
		path_control->damaged[i] = 0;
	}
	host = rig_host_start(&config, path_control);
	if (host <= 0) {
		fail_msg("host: %s", strerror(-(int)host));
	}
}

void path_host_end(void)
{
	if (host > 0) {
		rig_host_end(host, SIGTERM);
		host = 0;
	}
}

void path_no_complaint(void)
{
	if (path.consumer->complaint[0]) {
		fail_msg("%s", path.consumer->complaint);
	}
}

unsigned path_check_rows(unsigned link, uint64_t *ret_good, uint64_t *ret_lost)
{
	unsigned closed = 0;

	*ret_good = 0;
	*ret_lost = 0;
	for (unsigned i = 0; i < RIG_ROWS; i++) {
		const struct ledger_link_row *row = &path.rows.link[link][i];

		if (!row->closed) {
			continue;
		}
		closed++;
		assert_true(ledger_link_balances(row));
		assert_true(row->partial || row->cells == 8000);
		*ret_good += row->verdicts[TDM_GOOD];
		*ret_lost += row->cells - row->verdicts[TDM_GOOD];
		for (unsigned s = 0; s < FCM_STREAMS; s++) {
			for (unsigned g = 0; g < PATH_GROUPS; g++) {
				const struct ledger_stream_row *stream =
					&path.rows.stream[link][s][g][row->second % RIG_ROWS];

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

int path_setup(void **state)
{
	free(path.consumer);
	path_begin_mode = PATH_ACK;
	path.consumer = NULL;
	return 0;
}

int path_teardown(void **state)
{
	if (path.running) { /* a case has failed */
		path_stop();
	}
	path_host_end();
	free(path.consumer);
	path.consumer = NULL;
	return 0;
}

int path_group_setup(void **state)
{
	snprintf(directory, sizeof(directory), "/tmp/fcm-capture-XXXXXX");
	if (!mkdtemp(directory)) {
		return -1;
	}
	snprintf(socket_path, sizeof(socket_path), "%s/board", directory);
	snprintf(where, sizeof(where), "unix:%s", socket_path);
	path_control = rig_control_create();
	return path_control ? 0 : -1;
}

int path_group_teardown(void **state)
{
	unlink(socket_path);
	return rmdir(directory);
}
