/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The feed's thread: sockets and queues around the lines (line.h), which know what each reader has
 * got.
 *
 * Nothing here waits for a reader: sockets are non-blocking, each gets at most TURN_BYTES before the others
 * have their turn. A reader that has shut its sending side down goes on reading; one that is gone is seen
 * by the next write, by TCP's own keep-alive, or by the end of its budget, whichever comes first.
 *
 * Each write ends at the border of a hit, so that a reader that parses what it has read at once meets whole
 * hits, and so that a connection ends behind one, also when the daemon is killed (TRIDAS.md). TCP takes as many
 * bytes as it has memory for, at any border: the thread asks for that memory first, and writes less.
 */
#include "daemon/feed/feed.h"

#include <errno.h>
#include <linux/sock_diag.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/data/rate.h"
#include "daemon/feed/line.h"
#include "daemon/net/address.h"
#include "daemon/net/listener.h"
#include "daemon/core/now.h"
#include "daemon/core/queue.h"
#include "daemon/core/thread.h"
#include "tdm/hit.h"

#define TICK_MS	       100
#define RETRY_MS       1 /* the publisher has not taken what is settled */
#define STATUS_NS      100000000ull
#define OPEN_NS	       1000000000ull /* between two tries of a port that another program has */
#define QUEUE_BLOCKS   4096u
#define BLOCKS_A_TURN  64u	  /* taken before the readers are written to again; */
#define BYTES_A_TURN   (1u << 20) /* after so many bytes no more */
#define PIECES	       64u
#define TURN_BYTES     (4u << 20) /* written to a reader before the others get theirs */
#define ACCEPTS_A_TURN 64u
#define REST_NS	       100000000ull /* from accepting, when there are no descriptors left */
#define PASSING_NS     100000000ull /* a younger block is on its way, and not what fills the pool */
/* TCP's own watch over a peer that has lost its power or its cable, s. */
#define KEEP_IDLE_S	10
#define KEEP_INTERVAL_S 5
#define KEEP_COUNT	3
/* Unacknowledged by the peer's TCP for so long: it is gone; also the end of what a dropped reader left. */
#define UNACKED_MS 30000

struct settled {
	struct block *block;
	enum outcome outcome;
};

struct reader {
	int fd; /* -1: free */
	uint8_t link;
	bool stuck; /* its socket is full */
	bool ended; /* it says nothing more: perhaps it is gone */
	bool deaf;  /* it is not listened to: ended, or has said too much */
	uint64_t heard;
	struct feed_place place;
	struct feed_reader_status status;
};

struct feed {
	struct feed_config config;
	int listener[NANET3_LINKS];
	struct queue offered, settled;
	int wake_fd; /* feed_stop(), feed_pool_empty() ring it */
	pthread_t thread;
	bool started, stopped;
	_Atomic bool stopping, pool_empty;
	_Atomic uint64_t oldest_ns;

	/* The thread's own. */
	struct feed_line line[NANET3_LINKS];
	struct reader reader[FEED_READERS];
	bool settled_waits; /* the queue back is full */
	bool given;	    /* it has something and the publisher was not woken */
	uint64_t now_ns, next_status_ns, next_open_ns, rest_until_ns;
	struct rate rate;
	struct feed_status counters; /* the next status */

	pthread_mutex_t lock;
	struct feed_status status; /* under lock */
};

/* ---- blocks ---- */

static void count_drop(struct feed *f, const struct block *b, enum outcome outcome)
{
	struct group_status *c = &f->counters.group;

	c->dropped[outcome]++;
	c->dropped_frames[outcome] += b->header.frames;
	c->last_drop = block_drop(&b->header, outcome, f->now_ns);
}

/* Back to the publisher: it is another thread's from then on. False: that has to take some first. */
static bool give_back(struct feed *f, struct block *b, enum outcome outcome)
{
	struct settled *place = queue_reserve(&f->settled);

	f->settled_waits = !place;
	if (!place) {
		return false;
	}
	if (outcome == OUTCOME_ACKED) {
		f->counters.group.acked++;
		f->counters.group.acked_bytes += feed_block_bytes(b);
	} else {
		count_drop(f, b, outcome);
	}
	*place = (struct settled){b, outcome};
	queue_commit(&f->settled);
	f->given = true;
	return true;
}

static void return_settled(struct feed *f)
{
	uint64_t oldest = UINT64_MAX;

	for (unsigned link = 0; link < NANET3_LINKS; link++) {
		struct feed_line *line = &f->line[link];
		enum outcome outcome;
		struct block *b;

		while ((b = feed_line_settled(line, &outcome)) && give_back(f, b, outcome)) {
			feed_line_pop(line);
		}
		b = feed_line_oldest(line);
		oldest = b && b->monotonic_ns < oldest ? b->monotonic_ns : oldest;
	}
	atomic_store_explicit(&f->oldest_ns, oldest, memory_order_relaxed);
	if (f->given) {
		queue_wake(&f->settled);
		f->given = false;
	}
}

/* ---- readers ---- */

/*
 * Bytes that the socket takes for certain: a quarter of the memory that it may still use, because small segments
 * need two and a half times their bytes. Not so little that a hit has no room when poll() calls the
 * socket writable: then a third of its memory is free. A kernel that does not say: any number.
 */
static size_t room_of(int fd)
{
	uint32_t memory[SK_MEMINFO_VARS] = {0};
	socklen_t size = sizeof(memory);

	if (getsockopt(fd, SOL_SOCKET, SO_MEMINFO, memory, &size) < 0 ||
	    memory[SK_MEMINFO_SNDBUF] == 0) {
		return SIZE_MAX;
	}
	return memory[SK_MEMINFO_WMEM_QUEUED] < memory[SK_MEMINFO_SNDBUF]
		       ? (memory[SK_MEMINFO_SNDBUF] - memory[SK_MEMINFO_WMEM_QUEUED]) / 4
		       : 0;
}

static void note_written(struct feed_line *line, struct reader *r, size_t bytes)
{
	r->status.bytes += bytes;
	r->status.hits += feed_line_wrote(line, &r->place, bytes);
}

/* A kernel short of memory has taken a part of a hit, and has no room for the rest: then the connection is reset, and its
 * end is an error for the reader, too. */
static void end_on_border(struct feed_line *line, struct reader *r)
{
	static const struct linger reset = {.l_onoff = 1};
	const uint8_t *rest;
	size_t length = feed_line_cut(line, &r->place, &rest);

	if (length == 0) {
		return;
	}
	if (send(r->fd, rest, length, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)length) {
		note_written(line, r, length);
	} else {
		(void)setsockopt(r->fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	}
}

static void disconnect(struct feed *f, struct reader *r, enum outcome charged)
{
	struct feed_line *line = &f->line[r->link];
	uint64_t behind_bytes, frames;

	end_on_border(line, r);
	behind_bytes = feed_line_behind_bytes(line, &r->place);
	frames = feed_line_leave(line, &r->place, charged);
	if (charged) {
		struct feed_gone_status *gone =
			&f->counters.gone[f->counters.dropped++ % FEED_GONE];

		*gone = (struct feed_gone_status){
			.reader = r->status,
			.why = (uint8_t)charged,
			.frames = frames,
			.at_ns = f->now_ns,
		};
		gone->reader.behind_bytes = behind_bytes;
		gone->reader.behind_frames = frames;
		f->counters.last_gone[r->link] = *gone;
		f->counters.dropped_of[r->link]++;
	} else {
		f->counters.left++;
	}
	close(r->fd);
	r->fd = -1;
	f->next_status_ns = 0;
}

/* Whoever is at the oldest block of the link. */
static void drop_last(struct feed *f, unsigned link, enum outcome charged)
{
	for (unsigned i = 0; i < FEED_READERS; i++) {
		struct reader *r = &f->reader[i];

		if (r->fd >= 0 && r->link == link && r->place.at == f->line[link].oldest) {
			disconnect(f, r, charged);
		}
	}
}

/* Write what is there, as far as the socket takes it. Where its room was the limit, poll() says when it has more. */
static void write_to(struct feed *f, struct reader *r)
{
	struct feed_line *line = &f->line[r->link];
	size_t turn = 0;

	note_written(line, r, 0);
	while (!r->stuck && turn < TURN_BYTES) {
		struct iovec pieces[PIECES];
		struct msghdr message = {.msg_iov = pieces};
		size_t room = room_of(r->fd);
		ssize_t n;

		message.msg_iovlen = feed_line_look(line, &r->place, room, pieces, PIECES);
		if (message.msg_iovlen == 0) {
			r->stuck = feed_line_behind_bytes(line, &r->place) > 0;
			return;
		}
		n = sendmsg(r->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n >= 0) {
			turn += (size_t)n;
			note_written(line, r, (size_t)n);
			r->stuck = room - (size_t)n < HIT_MAX_BYTES &&
				   feed_line_behind_bytes(line, &r->place) > 0;
		} else if (errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM) {
			r->stuck = true;
		} else if (errno != EINTR) {
			disconnect(f, r, OUTCOME_NOT_OFFERED);
			return;
		}
	}
}

static bool too_far_behind(const struct feed *f, const struct reader *r)
{
	const struct feed_line *line = &f->line[r->link];

	return !feed_line_at_newest(line, &r->place) &&
	       (feed_line_behind_bytes(line, &r->place) > f->config.budget_bytes ||
		feed_line_behind_frames(line, &r->place) > f->config.hold_frames);
}

static void serve_readers(struct feed *f)
{
	for (unsigned i = 0; i < FEED_READERS; i++) {
		struct reader *r = &f->reader[i];

		if (r->fd >= 0) {
			write_to(f, r);
		}
		if (r->fd >= 0 && too_far_behind(f, r)) {
			disconnect(f, r, OUTCOME_DROP_SLOW);
		}
	}
	return_settled(f);
}

/* They have nothing to say; read, so that an end is seen and a full buffer does not spoil the close. */
static void hear(struct feed *f, struct reader *r)
{
	uint8_t bytes[4096];
	ssize_t n = recv(r->fd, bytes, sizeof(bytes), MSG_DONTWAIT);

	if (n > 0) {
		r->heard += (uint64_t)n;
		f->counters.heard_bytes += (uint64_t)n;
	}
	r->ended = n == 0;
	r->deaf = r->ended || r->heard >= FEED_HEARD;
	if (n < 0 && errno != EAGAIN && errno != EINTR) {
		disconnect(f, r, OUTCOME_NOT_OFFERED);
	}
}

/* ---- connections ---- */

/* With all places of the floor taken, a reader that has shut its sending side goes: most likely it is gone. */
static struct reader *free_place(struct feed *f, unsigned link)
{
	struct reader *place = NULL, *ended = NULL;
	unsigned there = 0;

	for (unsigned i = 0; i < FEED_READERS; i++) {
		struct reader *r = &f->reader[i];

		if (r->fd < 0) {
			place = r;
		} else if (r->link == link) {
			there++;
			ended = r->ended ? r : ended;
		}
	}
	if (there < FEED_READERS_LINK) {
		return place;
	}
	if (ended) {
		disconnect(f, ended, OUTCOME_NOT_OFFERED);
	}
	return ended;
}

/* "127.0.0.1:40712", "[::1]:40712" */
static void name_address(const struct sockaddr_storage *a, socklen_t length, char *text,
			 size_t size)
{
	char host[48] = "?", port[8] = "?";

	getnameinfo((const struct sockaddr *)a, length, host, sizeof(host), port, sizeof(port),
		    NI_NUMERICHOST | NI_NUMERICSERV);
	snprintf(text, size, strchr(host, ':') ? "[%s]:%s" : "%s:%s", host, port);
}

/* Hits are sent at once; a peer that lost its power or its cable is noticed within half a minute. */
static void tune(int fd)
{
	static const struct {
		int level, option, value;
	} options[] = {
		{IPPROTO_TCP, TCP_NODELAY, 1},
		{SOL_SOCKET, SO_KEEPALIVE, 1},
		{IPPROTO_TCP, TCP_KEEPIDLE, KEEP_IDLE_S},
		{IPPROTO_TCP, TCP_KEEPINTVL, KEEP_INTERVAL_S},
		{IPPROTO_TCP, TCP_KEEPCNT, KEEP_COUNT},
		{IPPROTO_TCP, TCP_USER_TIMEOUT, UNACKED_MS},
	};

	for (unsigned i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		/* None of them is worth losing a reader for. */
		(void)setsockopt(fd, options[i].level, options[i].option, &options[i].value,
				 sizeof(int));
	}
}

static void welcome(struct feed *f, unsigned link, int fd, const struct sockaddr_storage *from,
		    socklen_t length)
{
	struct reader *r = free_place(f, link);
	struct feed_reader_status status = {.link = (uint8_t)link, .since_ns = f->now_ns};

	name_address(from, length, status.address, sizeof(status.address));
	f->next_status_ns = 0;
	if (!r) {
		f->counters.refused++;
		f->counters.refused_last = status;
		close(fd);
		return;
	}
	tune(fd);
	*r = (struct reader){.fd = fd, .link = (uint8_t)link, .status = status};
	feed_line_join(&f->line[link], &r->place);
	f->counters.connects++;
}

static void serve_listener(struct feed *f, unsigned link)
{
	for (unsigned i = 0; i < ACCEPTS_A_TURN; i++) {
		struct sockaddr_storage from;
		socklen_t length = sizeof(from);
		int fd = accept4(f->listener[link], (struct sockaddr *)&from, &length,
				 SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd >= 0) {
			welcome(f, link, fd, &from, length);
		} else if (errno == EAGAIN) {
			return;
		} else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
			   errno == ENOMEM) {
			f->rest_until_ns = f->now_ns + REST_NS;
			return;
		}
	}
}

/* A socket that listens at a numeric address and is kept under a name (listener.h). -EINVAL: no such address. */
static int listen_at(const char *address, uint16_t port, unsigned link)
{
	const struct addrinfo hints = {
		.ai_flags = AI_PASSIVE | AI_NUMERICHOST | AI_NUMERICSERV,
		.ai_socktype = SOCK_STREAM,
	};
	struct addrinfo *found = NULL;
	char name[16], service[8];
	int fd;

	snprintf(name, sizeof(name), "feed%u", link);
	snprintf(service, sizeof(service), "%u", port);
	if (getaddrinfo(address, service, &hints, &found) != 0) {
		return -EINVAL;
	}
	fd = listener_open(name, found->ai_addr, found->ai_addrlen);
	freeaddrinfo(found);
	return fd;
}

static int open_listener(struct feed *f, unsigned link)
{
	int fd = listen_at(f->config.address, f->config.port[link], link);
	struct sockaddr_storage at;

	f->listener[link] = fd < 0 ? -1 : fd;
	f->counters.closed[link] = fd < 0 ? fd : 0;
	f->counters.port[link] = fd < 0 ? f->config.port[link] : address_of(fd, false, &at);
	return fd < 0 ? fd : 0;
}

/* Those whose ports were another program's. */
static void open_closed(struct feed *f)
{
	f->next_open_ns = f->now_ns + OPEN_NS;
	for (unsigned link = 0; link < NANET3_LINKS; link++) {
		if (f->counters.closed[link]) {
			open_listener(f, link);
		}
	}
}

/* ---- the thread ---- */

/* False: the queue back is full. */
static bool take_block(struct feed *f, struct block *b)
{
	unsigned link = b->header.link;
	struct feed_line *line = &f->line[link];

	if (b->header.flags & FCM_BLOCK_NO_TIME) {
		return give_back(f, b, OUTCOME_DROP_NO_TIME);
	}
	if (feed_line_full(line)) {
		drop_last(f, link, OUTCOME_DROP_SLOW);
		return_settled(f);
	}
	if (line->readers == 0) {
		/* In order: what was settled before it goes first. */
		return line->oldest == line->newest && give_back(f, b, OUTCOME_DROP_NO_MEMBER);
	}
	if (feed_line_full(line)) {
		return false;
	}
	feed_line_append(line, b);
	return true;
}

/* True: there may be more. */
static bool take_blocks(struct feed *f)
{
	struct block **place = NULL;
	size_t bytes = 0;

	for (unsigned i = 0;
	     i < BLOCKS_A_TURN && bytes < BYTES_A_TURN && (place = queue_peek(&f->offered)); i++) {
		bytes += feed_block_bytes(*place);
		if (!take_block(f, *place)) {
			break;
		}
		f->counters.group.offered++;
		queue_release(&f->offered);
	}
	return place != NULL;
}

static void publish_status(struct feed *f)
{
	struct feed_status *c = &f->counters;
	struct group_status *g = &c->group;
	uint64_t oldest = atomic_load_explicit(&f->oldest_ns, memory_order_relaxed);

	c->readers = 0;
	for (unsigned i = 0; i < FEED_READERS; i++) {
		const struct reader *r = &f->reader[i];
		struct feed_reader_status *s;

		if (r->fd < 0) {
			continue;
		}
		s = &c->reader[c->readers++];
		*s = r->status;
		s->behind_bytes = feed_line_behind_bytes(&f->line[r->link], &r->place);
		s->behind_frames = feed_line_behind_frames(&f->line[r->link], &r->place);
	}
	g->members = c->readers;
	g->disconnected = c->dropped;
	g->in_flight = g->in_flight_bytes = 0;
	for (unsigned link = 0; link < NANET3_LINKS; link++) {
		g->in_flight += f->line[link].newest - f->line[link].oldest;
		g->in_flight_bytes += feed_line_held_bytes(&f->line[link]);
	}
	g->held_bytes = g->in_flight_bytes;
	rate_step(&f->rate, g->acked, g->acked_bytes, f->now_ns);
	g->blocks_per_s = f->rate.blocks_per_s;
	g->bytes_per_s = f->rate.bytes_per_s;
	g->oldest_ns = oldest < f->now_ns ? f->now_ns - oldest : 0;
	pthread_mutex_lock(&f->lock);
	f->status = *c;
	pthread_mutex_unlock(&f->lock);
	f->next_status_ns = f->now_ns + STATUS_NS;
}

/* The reader that holds the oldest block of all lines is dropped, if it is behind at all. */
static void relieve_pool(struct feed *f)
{
	const struct block *oldest = NULL;

	for (unsigned link = 0; link < NANET3_LINKS; link++) {
		const struct block *b = feed_line_oldest(&f->line[link]);

		if (b && (!oldest || b->monotonic_ns < oldest->monotonic_ns)) {
			oldest = b;
		}
	}
	if (oldest && oldest->monotonic_ns + PASSING_NS < f->now_ns) {
		drop_last(f, oldest->header.link, OUTCOME_DROP_POOL);
		return_settled(f);
	}
}

/* How long to sleep when nothing happens. */
static int patience_ms(const struct feed *f, bool more)
{
	bool writable = false, stuck = false;

	for (unsigned i = 0; i < FEED_READERS; i++) {
		const struct reader *r = &f->reader[i];

		if (r->fd >= 0) {
			stuck |= r->stuck;
			writable |= !r->stuck &&
				    feed_line_behind_bytes(&f->line[r->link], &r->place) > 0;
		}
	}
	if (f->settled_waits) {
		return RETRY_MS;
	}
	/* A burst goes to the readers at a pace that gives their sockets time to take it. */
	return writable ? 0 : more ? (stuck ? RETRY_MS : 0) : TICK_MS;
}

struct polled {
	struct pollfd fds[2 + NANET3_LINKS + FEED_READERS];
	unsigned count;
};

static void poll_add(struct polled *p, int fd, short events)
{
	p->fds[p->count++] = (struct pollfd){.fd = fd, .events = events};
}

/* A negative descriptor is passed over: places in the list are fixed. */
static void wait_for_work(struct feed *f, struct polled *p, bool more)
{
	bool resting = f->now_ns < f->rest_until_ns;

	p->count = 0;
	poll_add(p, more || f->settled_waits ? -1 : f->offered.fd, POLLIN);
	poll_add(p, f->wake_fd, POLLIN);
	for (unsigned link = 0; link < NANET3_LINKS; link++) {
		poll_add(p, resting ? -1 : f->listener[link], POLLIN);
	}
	for (unsigned i = 0; i < FEED_READERS; i++) {
		const struct reader *r = &f->reader[i];

		poll_add(p, r->fd, (short)((r->deaf ? 0 : POLLIN) | (r->stuck ? POLLOUT : 0)));
	}
	poll(p->fds, p->count, patience_ms(f, more));
	f->now_ns = now_mono_ns();
}

static void serve_sockets(struct feed *f, const struct polled *p)
{
	for (unsigned i = 0; i < FEED_READERS; i++) {
		struct reader *r = &f->reader[i];
		short what = p->fds[2 + NANET3_LINKS + i].revents;

		if (r->fd < 0 || !what) {
			continue;
		}
		r->stuck = r->stuck && !(what & POLLOUT);
		if (what & (POLLERR | POLLHUP)) {
			disconnect(f, r, OUTCOME_NOT_OFFERED);
		} else if (what & POLLIN) {
			hear(f, r);
		}
	}
	for (unsigned link = 0; link < NANET3_LINKS; link++) {
		if (p->fds[2 + link].revents) {
			serve_listener(f, link);
		}
	}
}

/* Owns the sockets of the feed and the blocks between feed_offer() and feed_take(). */
static void *feed_main(void *arg)
{
	struct feed *f = arg;
	struct polled polled;
	bool more = false;

	while (!atomic_load(&f->stopping)) {
		wait_for_work(f, &polled, more);
		if (polled.fds[1].revents) {
			bell_hush(f->wake_fd);
		}
		serve_sockets(f, &polled);
		queue_hush(&f->offered);
		more = take_blocks(f);
		serve_readers(f);
		if (atomic_exchange(&f->pool_empty, false)) {
			relieve_pool(f);
		}
		if (f->now_ns >= f->next_open_ns) {
			open_closed(f);
		}
		if (f->now_ns >= f->next_status_ns) {
			publish_status(f);
		}
	}
	return NULL;
}

/* ---- start and stop ---- */

static int open_listeners(struct feed *f, uint16_t *ret_port)
{
	for (unsigned link = 0; link < NANET3_LINKS; link++) {
		int r = f->config.links & 1u << link ? open_listener(f, link) : 0;

		if (r < 0 && !listener_may_wait(r)) {
			*ret_port = f->config.port[link];
			return r;
		}
	}
	return 0;
}

int feed_start(const struct feed_config *config, struct feed **ret_feed, uint16_t *ret_port)
{
	struct feed *f = queue_home_alloc(sizeof(*f));
	int r;

	*ret_port = 0;
	if (!f) {
		return -ENOMEM;
	}
	f->config = *config;
	f->counters.group = (struct group_status){
		.name = FEED_GROUP,
		.streams = 1u << FCM_PMT,
		.policy = FCM_DISCONNECT,
		.budget_bytes = config->budget_bytes,
	};
	for (unsigned i = 0; i < FEED_READERS; i++) {
		f->reader[i].fd = -1;
	}
	for (unsigned link = 0; link < NANET3_LINKS; link++) {
		f->listener[link] = -1;
	}
	pthread_mutex_init(&f->lock, NULL);
	atomic_store(&f->oldest_ns, UINT64_MAX);
	f->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r = f->wake_fd < 0 ? -errno : 0;
	r = r ? r : queue_init(&f->offered, sizeof(struct block *), QUEUE_BLOCKS, 1);
	r = r ? r : queue_init(&f->settled, sizeof(struct settled), QUEUE_BLOCKS, 1);
	r = r ? r : open_listeners(f, ret_port);
	if (r == 0) {
		f->now_ns = now_mono_ns();
		publish_status(f);
		r = thread_start(&f->thread, "feed", feed_main, f);
		f->started = r == 0;
	}
	if (r < 0) {
		feed_destroy(f);
		return r;
	}
	*ret_feed = f;
	return 0;
}

void feed_stop(struct feed *f)
{
	if (f->stopped) {
		return;
	}
	f->stopped = true;
	if (f->started) {
		atomic_store(&f->stopping, true);
		bell_ring(f->wake_fd);
		pthread_join(f->thread, NULL);
	}
	for (unsigned link = 0; link < NANET3_LINKS; link++) {
		if (f->listener[link] >= 0) {
			close(f->listener[link]);
			f->listener[link] = -1;
		}
	}
	for (unsigned i = 0; i < FEED_READERS; i++) {
		if (f->reader[i].fd >= 0) {
			disconnect(f, &f->reader[i], OUTCOME_DROP_SHUTDOWN);
		}
	}
}

void feed_destroy(struct feed *f)
{
	if (!f) {
		return;
	}
	feed_stop(f);
	queue_fini(&f->offered);
	queue_fini(&f->settled);
	if (f->wake_fd >= 0) {
		close(f->wake_fd);
	}
	pthread_mutex_destroy(&f->lock);
	free(f);
}

/* ---- the publisher's side ---- */

int feed_fd(const struct feed *f)
{
	return f->settled.fd;
}

bool feed_offer(struct feed *f, struct block *b)
{
	return !f->stopped && queue_put(&f->offered, &b);
}

void feed_wake(struct feed *f)
{
	queue_wake(&f->offered);
}

void feed_hush(struct feed *f)
{
	queue_hush(&f->settled);
}

/* What the thread has left behind: settled blocks in the line, then those that it never had. */
static struct block *take_left(struct feed *f, enum outcome *ret_outcome)
{
	struct block *b;

	for (unsigned link = 0; link < NANET3_LINKS; link++) {
		b = feed_line_settled(&f->line[link], ret_outcome);
		if (b) {
			feed_line_pop(&f->line[link]);
			return b;
		}
	}
	if (!queue_take(&f->offered, &b)) {
		return NULL;
	}
	*ret_outcome = OUTCOME_DROP_SHUTDOWN;
	return b;
}

struct block *feed_take(struct feed *f, enum outcome *ret_outcome)
{
	struct settled s;

	if (!queue_take(&f->settled, &s)) {
		return f->stopped ? take_left(f, ret_outcome) : NULL;
	}
	*ret_outcome = s.outcome;
	return s.block;
}

uint64_t feed_oldest_ns(const struct feed *f)
{
	return atomic_load_explicit(&f->oldest_ns, memory_order_relaxed);
}

void feed_pool_empty(struct feed *f)
{
	atomic_store(&f->pool_empty, true);
	bell_ring(f->wake_fd);
}

void feed_get_status(struct feed *f, struct feed_status *ret_status)
{
	pthread_mutex_lock(&f->lock);
	*ret_status = f->status;
	pthread_mutex_unlock(&f->lock);
}
