// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Starts and stops the parts that data go through: queues, TriDAS feed, publisher, recorder, capture. Also works out
 * from the ring's depth how many frames each group may hold back.
 */
#include "daemon/station/data_path.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "daemon/core/log.h"
#include "daemon/feed/feed.h"
#include "daemon/station/base.h"
#include "daemon/station/keys.h"
#include "daemon/station/records.h"
#include "daemon/station/reports.h"
#include "daemon/station/station.h"

#define JOURNAL_MS 500u /* new rings hold four times as much */

int data_open_queues(struct station *s)
{
	int r = queue_init(&s->blocks, sizeof(struct block *), 4096, 1);

	r = r ? r : queue_init(&s->settled, sizeof(struct block *), 4096, 0);
	r = r ? r : queue_init(&s->commands, sizeof(struct capture_command), 256, 0);
	return r ? r : queue_init(&s->reports, sizeof(struct capture_report), 8192, 1);
}

static void say_no_board(const struct station *s, int r)
{
	const char *device = s->config.board.device;

	if (r == -EPROTO) {
		log_event(
			LOG_ERR, "board", LOG_NO_LINK, LOG_ID_BOARD,
			"%s: driver or emulator of another version (the daemon needs %u). Load the "
			"nanet3 module of this release, see modinfo nanet3, or start its emulator",
			device, NANET3_ABI_VERSION);
		return;
	}
	log_event(LOG_ERR, "board", LOG_NO_LINK, LOG_ID_BOARD,
		  "%s: %s. Is the module nanet3 loaded, or the emulator started? See [board] "
		  "device in %s",
		  device, strerror(-r), s->config_path);
}

/* How many frames a ring holds: asked from the board, never compiled in. */
static int ring_frames(struct station *s, uint64_t *ret_frames)
{
	const struct nanet3_ring *ring;
	struct nanet3 *board = NULL;
	int r = nanet3_open(s->config.board.device, &board);

	for (unsigned link = 0; r == 0 && link < NANET3_LINKS; link++) {
		if (!s->config.link[link].enabled) {
			continue;
		}
		r = nanet3_observe(board, link);
		if (r == 0) {
			ring = nanet3_ring(board, link);
			*ret_frames = (uint64_t)ring->depth * ring->frames_per_buffer;
			break;
		}
	}
	nanet3_close(board);
	if (r < 0) {
		say_no_board(s, r);
	}
	return r;
}

/* Readers may hold back as much of a ring as any group at most. */
static int start_feed(struct station *s, uint64_t ring_frames)
{
	struct feed_config c = {
		.address = s->config.feed.address,
		.budget_bytes = (uint64_t)s->config.feed.budget_mb << 20,
		.hold_frames = ring_frames / 2,
		.links = station_links(s),
	};
	uint16_t port;
	int r;

	if (!s->config.feed.enabled) {
		return 0;
	}
	for (unsigned link = 0; link < NANET3_LINKS; link++) {
		c.port[link] = (uint16_t)config_feed_port(&s->config, link);
	}
	s->group_names[s->config.groups] = FEED_GROUP;
	r = feed_start(&c, &s->feed, &port);
	if (r < 0) {
		log_error("feed",
			  "TriDAS feed at %s port %u: %s. Name an address of this machine and "
			  "ports that it may use: [feed] in %s",
			  c.address, port, strerror(-r), s->config_path);
	}
	return station_blame_config(s, r);
}

int data_start_publisher(struct station *s, uint64_t ring_frames)
{
	struct publisher_config c = {
		.board = s->config.instance,
		.reserved_endpoint = s->config.data.reserved_endpoint,
		.monitor_endpoint = s->config.data.monitor_endpoint,
		.groups = (uint8_t)s->config.groups,
		.monitor_hwm = s->config.data.monitor_hwm,
		.dead_ms = s->config.data.consumer_dead_ms,
		.feed = s->feed,
		.access = &s->access_list,
	};
	char secret[ACCESS_KEY_TEXT];
	int r = 0;

	for (unsigned n = 0; n < s->config.groups; n++) {
		const struct config_group *g = &s->config.group[n];

		snprintf(c.group[n].name, sizeof(c.group[n].name), "%s", g->name);
		c.group[n].streams = g->streams;
		c.group[n].hold_frames = (uint64_t)(g->hold_fraction * (double)ring_frames);
		c.group[n].policy = g->policy;
		c.group[n].limit_frames = ring_frames / 4 * 3;
		c.group[n].budget_bytes = config_budget_bytes(&s->config, n);
		s->group_names[n] = g->name;
	}
	if (s->config.data.curve) {
		r = keys_secret(s, secret);
		c.secret = secret;
	}
	if (r < 0) {
		return station_blame_config(s, r);
	}
	r = publisher_start(&c, &s->blocks, &s->settled, &s->publisher);
	explicit_bzero(secret, sizeof(secret));
	if (r < 0) {
		log_error("publisher",
			  "reserved_endpoint %s or monitor_endpoint %s: %s. Give both as "
			  "tcp://ADDRESS:PORT, an address of this machine: [data] in %s",
			  c.reserved_endpoint, c.monitor_endpoint, strerror(-r), s->config_path);
	}
	return station_blame_config(s, r);
}

static int start_capture(struct station *s, uint64_t hold_frames)
{
	struct capture_config c = {
		.hold_frames = hold_frames,
		.board_where = s->config.board.device,
		.board = s->config.instance,
		.links = station_links(s),
		.block_frames = s->config.data.block_frames,
		.tick_us = s->config.data.tick_us,
		.day_origin = s->config.data.day_origin,
		.groups = (uint8_t)s->config.groups,
		.pool_bytes = (size_t)s->config.data.pool_mb << 20,
		.journal_wait_ms = JOURNAL_MS,
		.tap = &s->tap,
		.before_close = records_finish,
		.context = s,
	};
	int r;

	for (unsigned link = 0; link < NANET3_LINKS; link++) {
		c.expected[link].tower = s->config.link[link].tower;
		c.expected[link].floor = s->config.link[link].floor;
		c.cable_delay_ns[link] = s->config.link[link].cable_delay_ns;
	}
	for (unsigned n = 0; n < s->config.groups; n++) {
		c.group_streams[n] = s->config.group[n].streams;
		c.patient |= s->config.group[n].policy == FCM_WAIT;
	}
	if (s->feed) {
		c.group_streams[c.groups++] = 1u << FCM_PMT;
	}
	r = capture_create(&c, &s->blocks, &s->settled, &s->commands, &s->reports, &s->capture);
	r = r ? r : capture_start(s->capture);
	if (r < 0) {
		log_error("capture", "%s: %s%s", s->config.board.device, strerror(-r),
			  r == -EBUSY ? ". Another daemon owns a link of this board" : "");
	}
	return r;
}

/* Frames of every link that the group's memory holds whatever they carry, before its policy applies. A
 * block's memory is up to half as much again as its bytes. */
static uint64_t budget_frames(const struct station *s, unsigned n)
{
	uint64_t frame = config_stream_bytes(s->config.group[n].streams);

	return config_budget_bytes(&s->config, n) / 2 / (frame * station_links_count(s));
}

/* What every group may hold back: a backlog is read at the pace of the one with the smallest share. */
static uint64_t hold_frames(const struct station *s, uint64_t frames)
{
	uint64_t hold = frames / 2;

	for (unsigned n = 0; n < s->config.groups; n++) {
		uint64_t share = (uint64_t)(s->config.group[n].hold_fraction * (double)frames);
		uint64_t budget = budget_frames(s, n);

		share = budget < share ? budget : share;
		hold = share < hold ? share : hold;
	}
	return hold;
}

int data_start(struct station *s)
{
	uint64_t frames = 0;
	int r = data_open_queues(s);

	r = r ? r : ring_frames(s, &frames);
	frames = capture_out_frames(frames, s->config.data.block_frames);
	r = r ? r : start_feed(s, frames);
	r = r ? r : data_start_publisher(s, frames);
	r = r ? r : records_start(s);
	return r ? r : start_capture(s, hold_frames(s, frames));
}

/* What capture reported last still gets into the store. */
void data_stop(struct station *s)
{
	if (s->capture) {
		capture_stop(s->capture, GRACE_MS);
	}
	if (s->recorder && s->store && s->control) {
		records_drain(s);
	}
	if (s->publisher) {
		publisher_stop(s->publisher);
	}
	if (s->store && s->engine && s->clock) {
		reports_drain(s);
	}
	/* The blocks are the publisher's last to give; the pool goes with capture. */
	publisher_destroy(s->publisher);
	feed_destroy(s->feed);
	capture_destroy(s->capture);
	records_stop(s);
}
