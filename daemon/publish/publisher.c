/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The publisher thread. It takes blocks from capture, copies each to the monitors, and offers it to the groups
 * and, if its stream is pmt, to the TriDAS feed. When groups and feed are done with a block, it goes back
 * through the settled queue. groups.h decides which member gets a block; this file sends it. members.c
 * handles the messages of members.
 *
 *   blocks queue --> groups --SEND--> ROUTER --> members --HELLO, ACK, ALIVE, BYE--> groups
 *                --> feed
 *                --copy--> monitors
 *   groups, feed --> returned list --> settled queue
 *
 * Nothing here waits for a peer: a member has at most `credit` unacknowledged blocks, and ZeroMQ's queue to it
 * (ROUTER_HWM) has room for twice the largest credit, because ZeroMQ counts messages as read only in lots of
 * half that limit.
 */
#include "daemon/publish/publisher.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <zmq.h>

#include "daemon/core/now.h"
#include "daemon/publish/private.h"
#include "daemon/core/thread.h"
#include "daemon/net/zmq_error.h"

#define WATCH_MS	((int)(DOOR_WATCH_NS / 1000000))
#define TICK_NS		100000000ull
#define SECOND_NS	1000000000ull
#define RETRY_MS	1 /* settled queue full */
#define ALIVE_NS	250000000ull
#define STATUS_NS	100000000ull
#define MESSAGES_A_TURN 256 /* from consumers, before the blocks get their turn again */
#define ROUTER_HWM	(2 * (int)GROUPS_CREDIT_MAX + 64)
#define INCOMING_LIMIT	(4 * PUBLISHER_INCOMING_MAX) /* beyond, ZeroMQ cuts the connection */
#define HEARTBEAT_MS	1000
#define SILENCE_MS	3000	    /* without an answer, until ZeroMQ ends the connection */
#define UNFINISHED	(64u << 10) /* bytes of a connection without the end of a message */

/* ---- blocks on their way back ---- */

/* Groups or feed are through with it. */
static void done_with(struct publisher *p, struct block *b)
{
	if (--b->holders == 0) {
		STAILQ_INSERT_TAIL(&p->returned, b, returned);
	}
}

/* As many as the settled queue takes. */
static void return_blocks(struct publisher *p)
{
	bool any = false;
	struct block *b, **place;

	while ((b = STAILQ_FIRST(&p->returned)) && (place = queue_reserve(p->settled))) {
		STAILQ_REMOVE_HEAD(&p->returned, returned);
		*place = b;
		queue_commit(p->settled);
		any = true;
	}
	if (any) {
		queue_wake(p->settled);
	}
}

/* What the groups want done. */
static void carry_out(struct publisher *p)
{
	struct groups_action action;
	int r;

	while (groups_next(p->groups, &action)) {
		if (action.type == GROUPS_SETTLED) {
			done_with(p, action.block);
			continue;
		}
		if (action.type == GROUPS_EXPEL) {
			router_error(p->router, &p->peer[action.member], "too-slow",
				     "the group's share of ring or memory was used up; acknowledge "
				     "sooner, or share the work with another member; then send "
				     "HELLO again",
				     0);
			continue;
		}
		r = router_block(p->router, &p->peer[action.member], &p->loans, action.group,
				 action.block, action.resent);
		if (r == 0) {
			p->peer[action.member].last_sent_ns = p->now_ns;
			continue;
		}
		groups_unsent(p->groups, &action);
		if (r != -EAGAIN && r != -ENOMEM) {
			groups_leave(p->groups, action.member);
		}
	}
	return_blocks(p);
}

/* Tell members to whom nothing went for a while; that is also how a dead one is noticed that is owed
 * nothing, or has used up its credit. */
static void say_alive(struct publisher *p)
{
	for (unsigned i = 0; i < MEMBERS_MAX; i++) {
		int r;

		if (!groups_alive(p->groups, i) || p->now_ns - p->peer[i].last_sent_ns < ALIVE_NS) {
			continue;
		}
		r = router_words(p->router, &p->peer[i], "ALIVE", NULL, 0);
		p->peer[i].last_sent_ns = p->now_ns;
		if (r < 0 && r != -EAGAIN) {
			groups_leave(p->groups, i);
		}
	}
}

/* False: there are more. */
static bool serve_consumers(struct publisher *p)
{
	for (unsigned i = 0; i < MESSAGES_A_TURN; i++) {
		if (!publisher_receive(p)) {
			return true;
		}
		carry_out(p);
	}
	return false;
}

/* ---- the thread ---- */

/* What a predecessor's readers had got is not written again. */
static void offer_to_feed(struct publisher *p, struct block *b)
{
	uint8_t *outcome = &b->outcome[p->reserved_groups];

	if (!p->feed || b->header.stream != FCM_PMT) {
		return;
	}
	if (b->already[p->reserved_groups]) {
		*outcome = OUTCOME_ACKED;
	} else if (feed_offer(p->feed, b)) {
		b->holders++;
	} else {
		*outcome = OUTCOME_DROP_SLOW;
		p->feed_full.blocks++;
		p->feed_full.frames += b->header.frames;
	}
}

static void take_from_feed(struct publisher *p)
{
	enum outcome outcome;
	struct block *b;

	while (p->feed && (b = feed_take(p->feed, &outcome))) {
		b->outcome[p->reserved_groups] = (uint8_t)outcome;
		done_with(p, b);
	}
}

static void take_block(struct publisher *p, struct block *b)
{
	int r;

	p->counters.blocks++;
	b->holders = 1;
	router_lend(&p->loans, b);
	if (p->monitors) {
		monitors_copy(p->monitors, b);
	}
	r = groups_offer(p->groups, b);
	offer_to_feed(p, b);
	if (r < 0) {
		done_with(p, b);
	}
}

/* Drop blocks of the one that holds back the oldest: groups, feed, or both. */
static void pool_empty(struct publisher *p)
{
	uint64_t groups = groups_pool_oldest_ns(p->groups);
	uint64_t feed = p->feed ? feed_oldest_ns(p->feed) : UINT64_MAX;

	if (feed < UINT64_MAX && feed <= groups) {
		feed_pool_empty(p->feed);
	}
	if (groups <= feed) {
		groups_pool_empty(p->groups);
	}
}

static void take_blocks(struct publisher *p)
{
	struct block *b;
	bool any = false, empty = false;

	queue_hush(p->blocks);
	while (queue_take(p->blocks, &b)) {
		if (b) {
			take_block(p, b);
			carry_out(p);
		}
		any = true;
		empty |= !b;
	}
	if (empty) { /* once, however often it was said while we did not run */
		pool_empty(p);
		carry_out(p);
	}
	if (any && p->feed) {
		feed_wake(p->feed);
	}
	if (any && p->monitors) {
		monitors_wake(p->monitors);
	}
}

/* The feed as one more group: its members are its readers. */
static void add_feed_status(struct publisher *p)
{
	struct feed_status *f = &p->counters.feed;
	struct group_status *g = &p->counters.group[p->counters.groups++];

	feed_get_status(p->feed, f);
	*g = f->group;
	g->offered += p->feed_full.blocks;
	g->dropped[OUTCOME_DROP_SLOW] += p->feed_full.blocks;
	g->dropped_frames[OUTCOME_DROP_SLOW] += p->feed_full.frames;
}

static void add_monitors_status(struct publisher *p)
{
	struct monitors_status m;

	monitors_get_status(p->monitors, &m);
	p->counters.bad_messages += m.bad_messages;
	p->counters.monitor_blocks = m.blocks;
	door_get_status(monitors_door(p->monitors), &p->counters.monitor_door);
}

static void publish_status(struct publisher *p)
{
	p->counters.at_ns = p->now_ns;
	groups_get_status(p->groups, p->now_ns, &p->counters);
	for (unsigned i = 0; i < p->counters.members; i++) {
		memcpy(p->counters.member[i].address, p->peer[i].address, PEER_ADDRESS_MAX);
	}
	p->counters.has_feed = p->feed != NULL;
	if (p->feed) {
		add_feed_status(p);
	}
	p->counters.unknown_acks += p->stray_acks;
	p->counters.bad_messages = p->bad_messages;
	door_get_status(p->door, &p->counters.door);
	if (p->monitors) {
		add_monitors_status(p);
	}
	pthread_mutex_lock(&p->lock);
	p->status = p->counters;
	pthread_mutex_unlock(&p->lock);
	p->next_status_ns = p->now_ns + STATUS_NS;
}

static void wait_for_work(struct publisher *p)
{
	zmq_pollitem_t items[] = {
		{.socket = p->router, .events = ZMQ_POLLIN},
		{.fd = p->blocks->fd, .events = ZMQ_POLLIN},
		{.fd = p->wake_fd, .events = ZMQ_POLLIN},
		{.fd = p->feed ? feed_fd(p->feed) : -1, .events = ZMQ_POLLIN},
		{.socket = door_socket(p->door), .events = ZMQ_POLLIN},
		{0},
		{0},
		{0},
	};
	void *sockets[3];
	unsigned more = p->monitors ? monitors_wait_for(p->monitors, sockets) : 0;
	int count = 5;

	if (p->zap) {
		sockets[more++] = zap_socket(p->zap);
	}
	for (unsigned i = 0; i < more; i++) {
		items[count++] = (zmq_pollitem_t){.socket = sockets[i], .events = ZMQ_POLLIN};
	}
	zmq_poll(items, count, STAILQ_EMPTY(&p->returned) ? WATCH_MS : RETRY_MS);
	if (items[3].revents) {
		feed_hush(p->feed);
	}
	if (items[2].revents) {
		bell_hush(p->wake_fd);
	}
	p->now_ns = now_mono_ns();
}

/* The connection of a member has ended: so has the member, before anybody else can have its routing id. */
static void on_ended(void *context, int fd)
{
	struct publisher *p = context;

	for (unsigned i = 0; i < MEMBERS_MAX; i++) {
		if (groups_alive(p->groups, i) && p->peer[i].fd == fd) {
			groups_leave(p->groups, i);
		}
	}
}

/* The news of connections before what they say. */
static void serve_doors(struct publisher *p)
{
	bool second = p->now_ns >= p->next_second_ns;

	publisher_keys_serve(p);
	door_serve(p->door, p->now_ns);
	if (second) {
		door_second(p->door);
		p->next_second_ns = p->now_ns + SECOND_NS;
	}
	if (p->monitors) {
		monitors_watch(p->monitors, second, p->now_ns);
	}
}

static void turn(struct publisher *p)
{
	wait_for_work(p);
	serve_doors(p);
	door_watch(p->door, serve_consumers(p), p->now_ns);
	take_blocks(p);
	take_from_feed(p);
	if (p->now_ns >= p->next_tick_ns) {
		p->next_tick_ns = p->now_ns + TICK_NS;
		groups_tick(p->groups, p->now_ns);
		say_alive(p);
	}
	carry_out(p);
	if (p->now_ns >= p->next_status_ns) {
		publish_status(p);
	}
}

/* Whatever is held is let go of: capture has ended, and what the settled queue has no place for is
 * publisher_destroy()'s. */
static void wind_up(struct publisher *p)
{
	take_blocks(p);
	groups_shutdown(p->groups);
	if (p->feed) {
		feed_stop(p->feed);
		take_from_feed(p);
	}
	carry_out(p);
	publish_status(p);
}

static void close_sockets(struct publisher *p)
{
	monitors_stop(p->monitors);
	door_close(p->door);
	zap_close(p->zap);
	if (p->router) {
		zmq_close(p->router);
	}
	p->router = NULL;
	p->monitors = NULL;
	p->door = NULL;
	p->zap = NULL;
}

/* Owns the ROUTER, the groups, and every block between the two queues. */
static void *publisher_main(void *arg)
{
	struct publisher *p = arg;

	p->now_ns = now_mono_ns();
	while (!atomic_load(&p->stopping)) {
		turn(p);
	}
	wind_up(p);
	close_sockets(p);
	return NULL;
}

/* ---- start and stop ---- */

/* Mandatory: a gone peer is an error. A second connection that names the same routing id is not heard: with
 * ZMQ_ROUTER_HANDOVER it would take the first one's place. The groups say when a member is dead; the connection of one
 * that only pauses must not end before. Who is no member says nothing for as long as it likes, but no longer. */
static int open_reserved(struct publisher *p, const struct publisher_config *config)
{
	const int silence = (int)(config->dead_ms > SILENCE_MS ? config->dead_ms : SILENCE_MS);
	const struct zmq_number options[] = {
		{ZMQ_LINGER, 0},
		{ZMQ_SNDHWM, ROUTER_HWM},
		{ZMQ_RCVHWM, 1000},
		{ZMQ_HEARTBEAT_IVL, HEARTBEAT_MS},
		{ZMQ_HEARTBEAT_TIMEOUT, silence},
		{ZMQ_ROUTER_MANDATORY, 1},
	};
	struct door_config door = {
		.context = p->context,
		.socket = door_router(p->context),
		.name = "reserved",
		.most = DOOR_MOST,
		.most_a_source = DOOR_MOST_A_SOURCE,
		.unfinished = UNFINISHED,
		.silent_ns = 60 * SECOND_NS,
		.ended = on_ended,
		.ended_context = p,
	};
	int r;

	p->router = door.socket;
	if (!p->router) {
		return zmq_error();
	}
	r = zmq_set_numbers(p->router, options, sizeof(options) / sizeof(options[0]),
			    INCOMING_LIMIT);
	r = r ? r : (p->zap ? zap_guard(p->router, config->secret) : 0);
	r = r ? r : door_open(&door, &p->door);
	r = r ? r : door_bind(p->door, config->reserved_endpoint);
	if (r == 0) {
		snprintf(p->reserved_endpoint, sizeof(p->reserved_endpoint), "%s",
			 door_endpoint(p->door));
	}
	return r;
}

static int start_monitors(struct publisher *p, const struct publisher_config *config)
{
	const struct monitors_config monitors = {
		.endpoint = config->monitor_endpoint,
		.hwm = config->monitor_hwm > 0 && config->monitor_hwm < 1000000
			       ? (int)config->monitor_hwm
			       : 1,
		.secret = config->secret,
		.judge = publisher_keys_judge_monitor,
		.context = p,
	};

	int r;

	if (!config->monitor_endpoint || !*config->monitor_endpoint) {
		return 0;
	}
	r = monitors_start(&monitors, &p->monitors);
	if (r == 0) {
		snprintf(p->monitor_endpoint, sizeof(p->monitor_endpoint), "%s",
			 door_endpoint(monitors_door(p->monitors)));
	}
	return r;
}

static int open_sockets(struct publisher *p, const struct publisher_config *config)
{
	int r = 0;

	p->context = zmq_ctx_new();
	if (!p->context) {
		return zmq_error();
	}
	if (config->secret) {
		p->access = *config->access;
		r = zap_open(p->context, publisher_keys_judge_consumer, p, &p->zap);
	}
	r = r ? r : open_reserved(p, config);
	return r ? r : start_monitors(p, config);
}

int publisher_start(const struct publisher_config *config, struct queue *blocks,
		    struct queue *settled, struct publisher **ret_publisher)
{
	struct groups_config groups = {
		.groups = config->groups,
		.dead_ns = config->dead_ms * 1000000ull,
	};
	struct publisher *p;
	int r;

	if (config->groups + (config->feed ? 1u : 0u) > GROUPS_MAX || !config->reserved_endpoint ||
	    blocks->fd < 0) {
		return -EINVAL;
	}
	p = calloc(1, sizeof(*p));
	if (!p) {
		return -ENOMEM;
	}
	p->board = config->board;
	p->dead_ms = config->dead_ms;
	p->blocks = blocks;
	p->settled = settled;
	p->reserved_groups = config->groups;
	p->feed = config->feed;
	STAILQ_INIT(&p->returned);
	pthread_mutex_init(&p->lock, NULL);
	memcpy(groups.group, config->group, sizeof(groups.group));
	for (unsigned i = 0; i < config->groups; i++) {
		p->loans.most[i] = config->group[i].budget_bytes / 4 * 3;
	}
	p->groups = groups_create(&groups);
	p->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r = !p->groups ? -ENOMEM : p->wake_fd < 0 ? -errno : open_sockets(p, config);
	if (r == 0) {
		p->now_ns = now_mono_ns();
		publish_status(p);
		r = thread_start(&p->thread, "publisher", publisher_main, p);
		p->started = r == 0;
	}
	if (r < 0) {
		publisher_destroy(p);
		return r;
	}
	*ret_publisher = p;
	return 0;
}

void publisher_stop(struct publisher *p)
{
	if (p->stopped) {
		return;
	}
	p->stopped = true;
	if (p->started) {
		atomic_store(&p->stopping, true);
		bell_ring(p->wake_fd);
		pthread_join(p->thread, NULL);
	}
	close_sockets(p); /* where the thread was never started */
	if (p->context) {
		zmq_ctx_term(p->context); /* every message's free hook has run */
	}
}

void publisher_destroy(struct publisher *p)
{
	struct block *b;

	if (!p) {
		return;
	}
	publisher_stop(p);
	while ((b = STAILQ_FIRST(&p->returned))) {
		STAILQ_REMOVE_HEAD(&p->returned, returned);
		block_put(b);
	}
	while (p->started && queue_take(p->blocks, &b)) {
		if (b) {
			block_put(b);
		}
	}
	groups_destroy(p->groups);
	if (p->wake_fd >= 0) {
		close(p->wake_fd);
	}
	pthread_mutex_destroy(&p->lock);
	free(p);
}

void publisher_get_status(struct publisher *p, struct publisher_status *ret_status)
{
	pthread_mutex_lock(&p->lock);
	*ret_status = p->status;
	pthread_mutex_unlock(&p->lock);
}

const char *publisher_reserved_endpoint(const struct publisher *p)
{
	return p->reserved_endpoint;
}

const char *publisher_monitor_endpoint(const struct publisher *p)
{
	return p->monitor_endpoint;
}
