/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The publisher thread: sockets and queues around the groups (groups.h), which decide.
 *
 *   blocks queue --> groups --SEND--> ROUTER --> members
 *        |             ^                 '-- HELLO, ACK, ALIVE, BYE --> groups
 *        '--copy--> XPUB          SETTLED --> returned list --> settled queue
 *
 * A block sent to a member is not copied: the message points into its payload and holds a reference
 * (block_hold), dropped by ZeroMQ's free hook on whatever thread. Monitors get a copy, made only when
 * one has subscribed: they cannot keep the pool's memory.
 *
 * Nothing here blocks on a peer. A member's pipe is never full while it keeps to its credit: the
 * high-water mark is twice the largest credit (ZeroMQ learns of read messages in lots of half the mark).
 */
#include "daemon/publisher.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <zmq.h>

#include "daemon/feed.h"
#include "daemon/groups.h"
#include "daemon/hello.h"
#include "daemon/monitors.h"
#include "daemon/now.h"
#include "daemon/router.h"

#define TICK_MS		100
#define RETRY_MS	1 /* settled queue full */
#define ALIVE_NS	250000000ull
#define STATUS_NS	100000000ull
#define MESSAGES_A_TURN 256 /* from consumers, before the blocks get their turn again */
#define ROUTER_HWM	(2 * (int)GROUPS_CREDIT_MAX + 64)
#define ACKS_MAX	4096u
#define INCOMING_MAX	(ACKS_MAX * sizeof(struct fcm_ack))
#define INCOMING_LIMIT	(4 * INCOMING_MAX) /* beyond, ZeroMQ cuts the connection */
#define HEARTBEAT_MS	1000
#define SILENCE_MS	3000 /* without an answer, until ZeroMQ ends the connection */

struct publisher {
	unsigned board;
	struct queue *blocks, *settled;
	char reserved_endpoint[256], monitor_endpoint[256];
	int wake_fd; /* publisher_stop() rings it */
	void *context;
	pthread_t thread;
	bool started, stopped;
	_Atomic bool stopping;

	/* The thread's own. */
	void *router;
	struct monitors monitors;
	struct groups *groups;
	struct router_loans loans;
	unsigned reserved_groups;
	struct feed *feed; /* its thread's; NULL: none. Its group is the one behind the reserved */
	struct {
		uint64_t blocks, frames;
	} feed_full;				     /* that its queue had no place for */
	struct peer peer[MEMBERS_MAX];		     /* by member number */
	uint64_t out;				     /* blocks that groups or feed have */
	struct block *returned_head, *returned_tail; /* linked by block->publisher */
	uint64_t now_ns, next_tick_ns, next_status_ns;
	struct publisher_status counters; /* the next status */
	uint64_t bad_messages;
	uint64_t stray_acks; /* messages of them, from nobody we know */

	pthread_mutex_t lock;
	struct publisher_status status; /* under lock */
};

/* ---- blocks on their way back ---- */

static void give_back(struct publisher *p, struct block *b)
{
	b->publisher = NULL;
	if (p->returned_tail) {
		p->returned_tail->publisher = b;
	} else {
		p->returned_head = b;
	}
	p->returned_tail = b;
}

/* Groups or feed are through with it. */
static void done_with(struct publisher *p, struct block *b)
{
	if (--b->holders == 0) {
		p->out--;
		give_back(p, b);
	}
}

/* As many as the settled queue takes. */
static void return_blocks(struct publisher *p)
{
	bool any = false;
	struct block **place;

	while (p->returned_head && (place = queue_reserve(p->settled))) {
		struct block *b = p->returned_head;

		p->returned_head = b->publisher;
		b->publisher = NULL;
		*place = b;
		queue_commit(p->settled);
		any = true;
	}
	if (!p->returned_head) {
		p->returned_tail = NULL;
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
				     "sooner, or share the work with another member; HELLO begins "
				     "anew");
			continue;
		}
		r = router_block(p->router, &p->peer[action.member], &p->loans,
				 groups_number_of(p->groups, action.member), action.block,
				 action.resent);
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

/* ---- messages in ---- */

static bool same_peer(const struct peer *a, const struct peer *b)
{
	return a->id_bytes == b->id_bytes && memcmp(a->id, b->id, a->id_bytes) == 0;
}

static int find_member(const struct publisher *p, const struct peer *from)
{
	for (unsigned i = 0; i < MEMBERS_MAX; i++) {
		if (groups_alive(p->groups, i) && same_peer(&p->peer[i], from)) {
			return (int)i;
		}
	}
	return -1;
}

static void refuse_hello(struct publisher *p, const struct peer *from, int error)
{
	char hint[256] = "";

	switch (error) {
	case -ENOENT:
		snprintf(hint, sizeof(hint), "groups of this daemon:");
		for (unsigned i = 0; i < p->reserved_groups; i++) {
			size_t used = strlen(hint);

			snprintf(hint + used, sizeof(hint) - used, " %.32s",
				 p->counters.group[i].name);
		}
		router_error(p->router, from, "no-such-group", hint);
		break;
	case -EUSERS:
		snprintf(hint, sizeof(hint), "%u members are there: end one first", MEMBERS_MAX);
		router_error(p->router, from, "too-many-members", hint);
		break;
	default:
		router_error(p->router, from, "bad-hello", strerror(-error));
		break;
	}
	p->counters.refused_hellos++;
}

/* Another connection that carries this name: perhaps a second process by mistake. */
static bool find_namesake(const struct publisher *p, const struct peer *from, const char *name,
			  struct peer *ret_peer)
{
	for (unsigned i = 0; i < MEMBERS_MAX; i++) {
		if (groups_alive(p->groups, i) && !same_peer(&p->peer[i], from) &&
		    strcmp(groups_member_name(p->groups, i), name) == 0) {
			*ret_peer = p->peer[i];
			return true;
		}
	}
	return false;
}

static void on_hello(struct publisher *p, const struct peer *from, const uint8_t *body,
		     size_t length)
{
	int known = find_member(p, from);
	const struct publisher_group_config *group;
	struct hello hello;
	char hint[160], text[HELLO_TEXT_MAX];
	struct peer namesake;
	bool has_namesake;
	unsigned member;
	int r = hello_parse(body, length, &hello, hint, sizeof(hint));

	if (r < 0) {
		p->counters.refused_hellos++;
		router_error(p->router, from, "bad-hello", hint);
		return;
	}
	has_namesake = find_namesake(p, from, hello.name, &namesake);
	if (known >= 0) {
		groups_leave(p->groups, (unsigned)known);
	}
	r = groups_hello(p->groups, hello.name, hello.group, hello.credit, p->now_ns, &member);
	if (r < 0) {
		refuse_hello(p, from, r);
		return;
	}
	if (has_namesake) {
		router_error(p->router, &namesake, "replaced",
			     "another connection said HELLO with this name: choose another");
	}
	p->peer[member] = *from;
	p->peer[member].last_sent_ns = p->now_ns;
	group = groups_config_of(p->groups, member);
	length = hello_welcome(p->board, hello.group, group->streams, group->policy, text);
	if (router_words(p->router, from, "WELCOME", text, length) == -EHOSTUNREACH) {
		groups_leave(p->groups, member);
	}
}

static void on_ack(struct publisher *p, unsigned member, const uint8_t *body, size_t length)
{
	struct fcm_ack ack;

	if (length == 0 || length > INCOMING_MAX || length % sizeof(ack) != 0) {
		p->bad_messages++;
		return;
	}
	for (size_t at = 0; at < length; at += sizeof(ack)) {
		memcpy(&ack, body + at, sizeof(ack));
		groups_ack(p->groups, member, &ack);
	}
}

enum verb { VERB_HELLO, VERB_ACK, VERB_ALIVE, VERB_BYE, VERBS };

static enum verb verb_of(const uint8_t *bytes, size_t length)
{
	static const char *const names[VERBS] = {"HELLO", "ACK", "ALIVE", "BYE"};
	unsigned verb = 0;

	while (verb < VERBS &&
	       (strlen(names[verb]) != length || memcmp(names[verb], bytes, length) != 0)) {
		verb++;
	}
	return verb;
}

/* One whole message: `parts` parts behind the sender's id, the first two of them at hand. */
static void on_message(struct publisher *p, const struct peer *from, unsigned parts,
		       zmq_msg_t part[2])
{
	enum verb verb =
		parts == 0 ? VERBS : verb_of(zmq_msg_data(&part[0]), zmq_msg_size(&part[0]));
	bool has_body = verb == VERB_HELLO || verb == VERB_ACK;
	const uint8_t *body = has_body && parts > 1 ? zmq_msg_data(&part[1]) : NULL;
	int member;

	if (verb == VERBS || parts != 1u + has_body) {
		p->bad_messages++;
		return;
	}
	if (verb == VERB_HELLO) {
		on_hello(p, from, body, zmq_msg_size(&part[1]));
		return;
	}
	member = find_member(p, from);
	if (member < 0) {
		if (verb != VERB_BYE) {
			router_error(p->router, from, "unknown-member", "say HELLO");
		}
		p->stray_acks += verb == VERB_ACK;
		return;
	}
	groups_seen(p->groups, (unsigned)member, p->now_ns);
	if (verb == VERB_ACK) {
		on_ack(p, (unsigned)member, body, zmq_msg_size(&part[1]));
	} else if (verb == VERB_BYE) {
		groups_leave(p->groups, (unsigned)member);
	}
}

static bool more(void *socket)
{
	int value = 0;
	size_t size = sizeof(value);

	return zmq_getsockopt(socket, ZMQ_RCVMORE, &value, &size) == 0 && value;
}

/* Take one message off the ROUTER, whatever it is made of. */
static bool receive(struct publisher *p)
{
	struct peer from = {.id_bytes = 0};
	int n = zmq_recv(p->router, from.id, sizeof(from.id), ZMQ_DONTWAIT);
	zmq_msg_t part[2], rest;
	unsigned parts = 0;

	if (n < 0) {
		return false;
	}
	from.id_bytes = (uint8_t)n;
	zmq_msg_init(&part[0]);
	zmq_msg_init(&part[1]);
	zmq_msg_init(&rest);
	while (more(p->router)) {
		zmq_msg_t *to = parts < 2 ? &part[parts] : &rest;

		if (zmq_msg_recv(to, p->router, ZMQ_DONTWAIT) < 0) {
			break;
		}
		parts++;
	}
	on_message(p, &from, parts, part);
	zmq_msg_close(&part[0]);
	zmq_msg_close(&part[1]);
	zmq_msg_close(&rest);
	return true;
}

static void serve_consumers(struct publisher *p)
{
	for (unsigned i = 0; i < MESSAGES_A_TURN && receive(p); i++) {
		carry_out(p);
	}
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
	monitors_copy(&p->monitors, b);
	p->out++;
	r = groups_offer(p->groups, b);
	offer_to_feed(p, b);
	if (r < 0) {
		done_with(p, b);
	}
}

/* Who holds back what is oldest pays; when both do, both. */
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
	struct block **place;
	bool any = false, empty = false;

	queue_hush(p->blocks);
	while ((place = queue_peek(p->blocks))) {
		struct block *b = *place;

		queue_release(p->blocks);
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
}

/* The feed as one more group: its members are its readers. */
static void add_feed_status(struct publisher *p)
{
	struct feed_status *f = &p->counters.feed;
	struct publisher_group_status *g = &p->counters.group[p->counters.groups++];

	feed_get_status(p->feed, f);
	*g = (struct publisher_group_status){
		.name = FEED_GROUP,
		.streams = 1u << FCM_PMT,
		.members = f->readers,
		.offered = f->offered,
		.acked = f->acked,
		.policy = FCM_DISCONNECT,
		.disconnected = f->dropped,
		.in_flight = f->held,
		.in_flight_bytes = f->held_bytes,
		.held_bytes = f->held_bytes,
		.budget_bytes = f->budget_bytes,
		.acked_bytes = f->acked_bytes,
		.blocks_per_s = f->acked_blocks_per_s,
		.bytes_per_s = f->acked_bytes_per_s,
		.oldest_ns = f->oldest_ns,
		.last_drop_tower = f->last_drop_tower,
		.last_drop_floor = f->last_drop_floor,
		.last_drop_stream = FCM_PMT,
		.last_drop_outcome = f->last_drop_outcome,
		.last_drop_first_frame = f->last_drop_first_frame,
		.last_drop_frames = f->last_drop_frames,
		.last_drop_ns = f->last_drop_ns,
	};
	memcpy(g->dropped, f->drops, sizeof(g->dropped));
	memcpy(g->dropped_frames, f->drop_frames, sizeof(g->dropped_frames));
	g->offered += p->feed_full.blocks;
	g->dropped[OUTCOME_DROP_SLOW] += p->feed_full.blocks;
	g->dropped_frames[OUTCOME_DROP_SLOW] += p->feed_full.frames;
}

static void publish_status(struct publisher *p)
{
	groups_get_status(p->groups, p->now_ns, &p->counters);
	p->counters.has_feed = p->feed != NULL;
	if (p->feed) {
		add_feed_status(p);
	}
	p->counters.unknown_acks += p->stray_acks;
	p->counters.bad_messages = p->bad_messages + p->monitors.bad_messages;
	p->counters.monitor_blocks = p->monitors.blocks;
	p->counters.monitor_dropped = p->monitors.dropped;
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
		{.socket = p->monitors.xpub, .events = ZMQ_POLLIN},
	};
	uint64_t rung;

	zmq_poll(items, p->monitors.xpub ? 5 : 4, p->returned_head ? RETRY_MS : TICK_MS);
	if (items[3].revents) {
		feed_hush(p->feed);
	}
	if (items[2].revents && read(p->wake_fd, &rung, sizeof(rung)) < 0) {
		assert(errno == EAGAIN);
	}
	p->now_ns = now_mono_ns();
}

static void turn(struct publisher *p)
{
	wait_for_work(p);
	monitors_serve(&p->monitors);
	serve_consumers(p);
	take_blocks(p);
	take_from_feed(p);
	if (p->now_ns >= p->next_tick_ns) {
		p->next_tick_ns = p->now_ns + TICK_MS * 1000000ull;
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

/* Owns both sockets, the groups, and every block between the two queues. */
static void *publisher_main(void *arg)
{
	struct publisher *p = arg;

	p->now_ns = now_mono_ns();
	while (!atomic_load(&p->stopping)) {
		turn(p);
	}
	wind_up(p);
	zmq_close(p->router);
	if (p->monitors.xpub) {
		zmq_close(p->monitors.xpub);
	}
	p->router = p->monitors.xpub = NULL;
	return NULL;
}

/* ---- start and stop ---- */

/* ZeroMQ has errno values of its own. */
static int zmq_error(void)
{
	int e = zmq_errno();

	return e > 0 && e < ZMQ_HAUSNUMERO ? -e : -EINVAL;
}

static int open_socket(struct publisher *p, int type, int hwm, int silence_ms, const char *endpoint,
		       char *ret_endpoint, size_t size, void **ret_socket)
{
	const struct {
		int option, value;
	} options[] = {
		{ZMQ_LINGER, 0},
		{ZMQ_SNDHWM, hwm},
		{ZMQ_RCVHWM, 1000},
		{ZMQ_HEARTBEAT_IVL, HEARTBEAT_MS},
		{ZMQ_HEARTBEAT_TIMEOUT, silence_ms},
	};
	int64_t limit = (int64_t)INCOMING_LIMIT;
	void *socket = zmq_socket(p->context, type);

	if (!socket) {
		return zmq_error();
	}
	for (unsigned i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		if (zmq_setsockopt(socket, options[i].option, &options[i].value, sizeof(int)) < 0) {
			goto fail;
		}
	}
	if (zmq_setsockopt(socket, ZMQ_MAXMSGSIZE, &limit, sizeof(limit)) < 0) {
		goto fail;
	}
	if (type == ZMQ_ROUTER) {
		int on = 1;

		/* Mandatory: a gone peer is an error. Handover: a peer that names its own routing id
		 * may come back before its old connection is known to be dead. */
		if (zmq_setsockopt(socket, ZMQ_ROUTER_MANDATORY, &on, sizeof(on)) < 0 ||
		    zmq_setsockopt(socket, ZMQ_ROUTER_HANDOVER, &on, sizeof(on)) < 0) {
			goto fail;
		}
	}
	if (zmq_bind(socket, endpoint) < 0 ||
	    zmq_getsockopt(socket, ZMQ_LAST_ENDPOINT, ret_endpoint, &size) < 0) {
		goto fail;
	}
	*ret_socket = socket;
	return 0;

fail:;
	int r = zmq_error();

	zmq_close(socket);
	return r;
}

static int open_sockets(struct publisher *p, const struct publisher_config *config)
{
	int r;

	p->context = zmq_ctx_new();
	if (!p->context) {
		return zmq_error();
	}
	/* The groups say when a member is dead; the connection of one that only pauses must not end
	 * before. */
	r = open_socket(p, ZMQ_ROUTER, ROUTER_HWM,
			config->dead_ms > SILENCE_MS ? (int)config->dead_ms : SILENCE_MS,
			config->reserved_endpoint, p->reserved_endpoint,
			sizeof(p->reserved_endpoint), &p->router);
	if (r == 0 && config->monitor_endpoint && config->monitor_endpoint[0]) {
		int hwm = config->monitor_hwm > 0 && config->monitor_hwm < 1000000
				  ? (int)config->monitor_hwm
				  : 1;

		r = open_socket(p, ZMQ_XPUB, hwm, SILENCE_MS, config->monitor_endpoint,
				p->monitor_endpoint, sizeof(p->monitor_endpoint),
				&p->monitors.xpub);
	}
	return r;
}

static int start_thread(struct publisher *p)
{
	sigset_t all, before;
	int r;

	/* Signals are the main thread's. */
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	r = pthread_create(&p->thread, NULL, publisher_main, p);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	p->started = r == 0;
	return -r;
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
	p->blocks = blocks;
	p->settled = settled;
	p->reserved_groups = config->groups;
	p->feed = config->feed;
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
		r = start_thread(p);
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
	uint64_t one = 1;

	if (p->stopped) {
		return;
	}
	p->stopped = true;
	if (p->started) {
		atomic_store(&p->stopping, true);
		if (write(p->wake_fd, &one, sizeof(one)) < 0) {
			assert(errno == EAGAIN);
		}
		pthread_join(p->thread, NULL);
	}
	if (p->router) {
		zmq_close(p->router);
	}
	if (p->monitors.xpub) {
		zmq_close(p->monitors.xpub);
	}
	if (p->context) {
		zmq_ctx_term(p->context); /* every message's free hook has run */
	}
}

void publisher_destroy(struct publisher *p)
{
	struct block **place;

	if (!p) {
		return;
	}
	publisher_stop(p);
	while (p->returned_head) {
		struct block *b = p->returned_head;

		p->returned_head = b->publisher;
		block_put(b);
	}
	while (p->started && (place = queue_peek(p->blocks))) {
		if (*place) {
			block_put(*place);
		}
		queue_release(p->blocks);
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
