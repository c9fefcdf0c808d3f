// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The control socket's server: connections and lines. dispatch.c serves the lines.
 *
 * The daemon that holds the lock on PATH.lock owns the socket's path; a second daemon, or one that ends late, never
 * touches it. control_tend() makes the socket again if somebody has removed its file.
 *
 * Clients cannot exhaust the main thread or its memory, neither one nor all together: those with something to serve queue,
 * each is served a few requests, and after TURNS_NS the loop continues with its other work. A client is not served while
 * it leaves its answers unread or has too many requests open, and is cut off when it reads nothing for long. places.h
 * decides who is let in when there are too many, and whose turn it is.
 */
#include "daemon/control/control.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>

#include "daemon/control/dispatch.h"
#include "daemon/control/user_names.h"
#include "daemon/core/now.h"
#include "daemon/control/places.h"

#define REQUESTS_A_TURN 16u
#define TURN_NS		5000000u   /* or so long */
#define TURNS_NS	20000000u  /* all clients together, before other events have their turn */
#define PAUSE_US	1000	   /* so long, when that was not enough for all */
#define REQUESTS_OPEN	1000u	   /* of one client */
#define ANSWERS_UNREAD	(1u << 20) /* of one client, before its next request is looked at */
#define UNREAD_LIMIT_S	60    /* a client that takes no byte of its answers for so long is gone */
#define HALF_LIMIT_S	30    /* a message must go on within so long */
#define LISTEN_BACKLOG	1024  /* many connections at once must not make others fail */
#define ACCEPTS_A_TURN	8u    /* then others have their turn */
#define ACCEPT_PAUSE_US 500   /* for so long */
#define HASTY_PAUSE_US	25000 /* or so long, when they come faster than they can be served */
#define URGENT_LINE_MAX (64u << 10)  /* its requests are short, and so is what is kept for it */
#define URGENT_REQUESTS PLACES_YOUNG /* in an urgent place; then it is free again */
#define URGENT_SILENT_S 2	     /* then it goes */
#define GRACE_NS	10000000u    /* between a connection and its first request */

struct client {
	struct control_client base;
	struct place place;
	struct control *control;
	struct bufferevent *stream;
	uint64_t heard_ns; /* when its last bytes came */
	bool named;	   /* its user is known: until then it is not served */
	bool reading;	   /* its turn is now */
	bool closing;	   /* to be closed when its last answer is sent */
	bool ended;	   /* sends no more: what it has sent is still served */
	bool deaf;	   /* receives no more answers */
	bool lost;	   /* does not even read its last answer */
};

struct control {
	struct event_base *base;
	struct evconnlistener *listener;
	struct event *listen_again;
	unsigned accepts; /* connections let in */
	bool hasty;	  /* one of the last took the place of another that was yet to be served */
	struct places places;
	struct event *turns;
	struct dispatch *dispatch;
	struct control_stats stats;
	struct names *names;
	struct control_groups groups;
	struct sockaddr_un address;
	int lock_fd;
	struct stat made; /* our socket, as it was made */
};

static void client_free(struct client *cl)
{
	control_client_fini(&cl->base);
	places_leave(&cl->control->places, &cl->place);
	bufferevent_free(cl->stream);
	free(cl);
}

/* From the loop, when nobody is still holding the client. */
static void stand_in_line(struct client *cl)
{
	struct control *c = cl->control;

	if (!cl->place.waits) {
		places_wait(&c->places, &cl->place);
		if (!evtimer_pending(c->turns, NULL)) {
			event_active(c->turns, EV_TIMEOUT, 0);
		}
	}
}

/* Bytes of answers that it has yet to take. */
static size_t unread(const struct client *cl)
{
	return cl->deaf ? 0 : evbuffer_get_length(bufferevent_get_output(cl->stream));
}

static struct client *client_of(struct control_client *base)
{
	return (struct client *)((char *)base - offsetof(struct client, base));
}

static struct client *client_at(struct place *place)
{
	return (struct client *)((char *)place - offsetof(struct client, place));
}

static void client_say(struct control_client *base, json_t *message)
{
	struct client *cl = client_of(base);
	struct evbuffer *out = bufferevent_get_output(cl->stream);
	char *text = NULL;

	if (unread(cl) > CONTROL_BACKLOG_MAX) {
		cl->lost = true;
		stand_in_line(cl);
	} else if (!cl->deaf) {
		text = json_dumps(message, JSON_COMPACT | JSON_REAL_PRECISION(15));
	}
	json_decref(message);
	if (!text) {
		return;
	}
	evbuffer_add(out, text, strlen(text));
	evbuffer_add(out, "\n", 1);
	free(text);
}

static void client_answered(struct control_client *base)
{
	struct client *cl = client_of(base);

	if (!cl->reading && (cl->ended || cl->place.urgent ||
			     evbuffer_get_length(bufferevent_get_input(cl->stream)) > 0)) {
		stand_in_line(cl); /* it may have waited for this end */
	}
}

static const struct control_transport transport = {client_say, client_answered};

/* Send the reason, then close. */
static void cut_off(struct client *cl, const char *why)
{
	cl->control->stats.bad_messages++;
	dispatch_refuse(&cl->base, NULL, "usage", "one JSON object a line, at most 1 MiB",
			DETAIL_NONE, why);
	cl->closing = true;
	bufferevent_disable(cl->stream, EV_READ);
}

/* The last answer must still be sent, as far as the socket's buffer takes it. */
static void send_last(struct client *cl)
{
	struct evbuffer *out = bufferevent_get_output(cl->stream);

	evbuffer_unfreeze(out, 1); /* only the loop may take from it else */
	evbuffer_write(out, bufferevent_getfd(cl->stream));
}

/* Send the reason and close at once. Its commands go on. */
static void end_now(struct client *cl, enum error_detail detail, const char *hint, const char *why)
{
	dispatch_refuse(&cl->base, NULL, control_client_waits(&cl->base) ? "unknown" : "refused",
			hint, detail, why);
	send_last(cl);
	client_free(cl);
}

static void on_line(struct client *cl, const char *line, size_t length)
{
	bool empty = length == 0 || (length == 1 && line[0] == '\r');
	json_error_t error;
	const char *fault = empty ? NULL : dispatch_bytes(&cl->base, line, length, &error);

	if (fault) {
		cut_off(cl, fault);
	}
}

static size_t line_max(const struct client *cl)
{
	return cl->place.urgent ? URGENT_LINE_MAX : CONTROL_LINE_MAX;
}

static bool may_ask(const struct client *cl)
{
	return cl->named && !cl->closing && !cl->lost && cl->base.held == 0 &&
	       cl->base.open < REQUESTS_OPEN &&
	       unread(cl) <= (cl->place.urgent ? URGENT_LINE_MAX : ANSWERS_UNREAD) &&
	       (!cl->place.urgent || cl->place.served < URGENT_REQUESTS);
}

/* It has ended. A last line without its end is a bad message. */
static void turn_last(struct client *cl)
{
	if (evbuffer_get_length(bufferevent_get_input(cl->stream)) > 0) {
		cl->control->stats.bad_messages++;
	}
	cl->closing = true;
}

/* Serve what has come, a few requests. The client may be freed by it. */
static void turn(struct client *cl, uint64_t end_ns)
{
	struct evbuffer *in = bufferevent_get_input(cl->stream);
	unsigned served = 0;
	char *line = NULL;
	size_t length;

	end_ns = now_mono_ns() + TURN_NS < end_ns ? now_mono_ns() + TURN_NS : end_ns;
	cl->reading = true;
	while (may_ask(cl) && (line = evbuffer_readln(in, &length, EVBUFFER_EOL_LF))) {
		on_line(cl, line, length);
		free(line);
		cl->place.served++;
		if (++served == (cl->place.urgent ? 1 : REQUESTS_A_TURN) ||
		    now_mono_ns() > end_ns) {
			break;
		}
	}
	cl->reading = false;
	if (!cl->closing && !cl->ended && evbuffer_get_length(in) <= line_max(cl)) {
		bufferevent_enable(cl->stream, EV_READ);
	}
	cl->closing |=
		cl->place.urgent && cl->place.served >= URGENT_REQUESTS && cl->base.open == 0;
	if (may_ask(cl) && line) {
		stand_in_line(cl);
	} else if (may_ask(cl) && evbuffer_get_length(in) > line_max(cl)) {
		cut_off(cl, cl->place.urgent
				    ? "too many connections, and a message of more than 64 KiB"
				    : "the message is longer than 1 MiB");
	} else if (may_ask(cl) && cl->ended) {
		turn_last(cl);
	}
	if (cl->lost || (cl->closing && unread(cl) == 0)) {
		client_free(cl);
	}
}

/* A turn for each that is in line now, as far as the time goes. */
static void on_turns(evutil_socket_t fd, short what, void *arg)
{
	struct control *c = arg;
	/* In a crowd, new connections must not wait until all others are served. */
	uint64_t end_ns = now_mono_ns() + (c->places.urgent > 0 ? TURN_NS : TURNS_NS);
	struct timeval pause = {0, 0};
	struct place *place;

	for (unsigned n = c->places.waiting; n > 0; n--) {
		if (now_mono_ns() > end_ns) {
			pause.tv_usec = PAUSE_US;
			break;
		}
		place = places_next(&c->places);
		if (!place) {
			break;
		}
		turn(client_at(place), end_ns);
	}
	if (c->places.waiting > 0) {
		event_add(c->turns, &pause);
	}
}

/* When no more fits, reading is switched off until a turn has made room: libevent would call again and again, and with a
 * call to come it forgets to free the stream at the end. */
static void on_readable(struct bufferevent *stream, void *arg)
{
	struct client *cl = arg;

	cl->heard_ns = now_mono_ns();
	places_heard(&cl->control->places, &cl->place);
	if (evbuffer_get_length(bufferevent_get_input(stream)) > line_max(cl)) {
		bufferevent_disable(stream, EV_READ);
	}
	stand_in_line(cl);
}

/* All answers are out: the next may come, or the end. */
static void on_written(struct bufferevent *stream, void *arg)
{
	stand_in_line(arg);
}

/* One half has come to its end, and libevent has switched it off. What it has asked may stand in line
 * still, and what is answered may have to get out. */
static void on_event(struct bufferevent *stream, short what, void *arg)
{
	struct client *cl = arg;

	if (what & BEV_EVENT_TIMEOUT) {
		client_free(cl);
		return;
	}
	cl->ended |= (what & BEV_EVENT_READING) != 0;
	cl->deaf |= (what & BEV_EVENT_WRITING) != 0;
	cl->base.gone = cl->deaf;
	stand_in_line(cl);
}

static void name_client(struct client *cl)
{
	struct control_peer *peer = &cl->base.peer;

	cl->named =
		names_get(cl->control->names, (uint32_t)peer->uid, peer->who, sizeof(peer->who));
}

static void on_names(void *context)
{
	struct control *c = context;
	struct place *place;

	TAILQ_FOREACH (place, &c->places.all, link) {
		struct client *cl = client_at(place);

		if (!cl->named) {
			name_client(cl);
			stand_in_line(cl);
		}
	}
}

static void identify(int fd, struct control_peer *ret_peer)
{
	struct ucred cred = {.uid = (uid_t)-1};
	socklen_t length = sizeof(cred);

	getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &length);
	*ret_peer = (struct control_peer){.uid = cred.uid, .pid = cred.pid, .origin = "local"};
}

/* A new connection may have sent something that is not read yet, or be about to. */
static enum place_cost cost_of(const struct place *place)
{
	const struct client *cl =
		(const struct client *)((const char *)place - offsetof(struct client, place));
	int bytes = 0;

	if (control_client_waits(&cl->base)) {
		return PLACE_WAITS;
	}
	if (place->waits || !cl->named ||
	    (place->served == 0 && now_mono_ns() - cl->heard_ns < GRACE_NS) ||
	    (ioctl(bufferevent_getfd(cl->stream), FIONREAD, &bytes) == 0 && bytes > 0)) {
		return PLACE_ASKS;
	}
	return cl->base.open > 0 ? PLACE_NEWS : PLACE_IDLE;
}

static struct client *client_new(struct control *c, int fd)
{
	static const struct timeval unread = {UNREAD_LIMIT_S, 0};
	struct client *cl = calloc(1, sizeof(*cl));

	if (!cl) {
		return NULL;
	}
	*cl = (struct client){.control = c, .heard_ns = now_mono_ns()};
	control_client_init(&cl->base, c->dispatch, &transport);
	cl->stream = bufferevent_socket_new(c->base, fd, BEV_OPT_CLOSE_ON_FREE);
	if (!cl->stream) {
		free(cl);
		return NULL;
	}
	bufferevent_setcb(cl->stream, on_readable, on_written, on_event, cl);
	bufferevent_set_timeouts(cl->stream, NULL, &unread);
	bufferevent_enable(cl->stream, EV_READ | EV_WRITE);
	return cl;
}

static void turn_away(struct client *cl)
{
	struct control *c = cl->control;

	c->stats.strangers++;
	c->stats.last_stranger = cl->base.peer.uid;
	end_now(cl, DETAIL_ROLE,
		"ask to be put into reader_group, socket_group or expert_group of [control]; it "
		"counts from your next login on",
		"you are in none of the groups that may use this socket");
}

static void end_crowded(struct client *cl)
{
	cl->control->stats.crowded++;
	end_now(cl, DETAIL_CROWDED, "connect again, and close what is not needed",
		"too many connections: this one was the first to go");
}

/* Give it a place, at the cost of another if need be. */
static void seat(struct control *c, struct client *cl)
{
	struct control_peer *peer = &cl->base.peer;
	/* Without roles everybody is an expert, which says nothing. */
	bool privileged = peer->uid == 0 || (c->groups.roles && peer->role == ACCESS_EXPERT);
	struct place *victim = places_enter(&c->places, &cl->place, peer->uid, privileged);

	cl->base.urgent_only = cl->place.urgent;
	/* One byte above the limit is enough to know that it was passed. */
	bufferevent_setwatermark(cl->stream, EV_READ, 0, line_max(cl) + 1);
	if (victim) {
		c->hasty |= cost_of(victim) >= PLACE_ASKS;
		end_crowded(client_at(victim));
	}
}

static void let_in(struct control *c, int fd)
{
	struct client *cl = client_new(c, fd);

	if (!cl) {
		close(fd);
		return;
	}
	identify(fd, &cl->base.peer);
	name_client(cl);
	if (control_groups_role(&c->groups, fd, &cl->base.peer.role)) {
		seat(c, cl);
	} else {
		turn_away(cl);
	}
}

/* Connections are accepted in small groups with pauses, so that existing clients are served in between; those that wait
 * in the socket's queue keep their order. */
static void on_connection(struct evconnlistener *listener, evutil_socket_t fd,
			  struct sockaddr *address, int length, void *arg)
{
	static const struct timeval pause = {0, ACCEPT_PAUSE_US}, long_pause = {0, HASTY_PAUSE_US};
	struct control *c = arg;

	let_in(c, fd);
	if (++c->accepts % ACCEPTS_A_TURN == 0) {
		evconnlistener_disable(listener);
		event_add(c->listen_again, c->hasty ? &long_pause : &pause);
		c->hasty = false;
	}
}

/* No descriptor is left: new connections wait, the loop goes on. */
static void on_accept_error(struct evconnlistener *listener, void *arg)
{
	static const struct timeval pause = {1, 0};
	struct control *c = arg;

	evconnlistener_disable(listener);
	event_add(c->listen_again, &pause);
}

static void on_listen_again(evutil_socket_t fd, short what, void *arg)
{
	struct control *c = arg;

	if (c->listener) {
		evconnlistener_enable(c->listener);
	}
}

/* Between two daemons: the holder of the lock may remove a socket that nobody answers at. The lock's file is never removed,
 * so that there is only one. */
static int take_lock(struct control *c)
{
	char path[sizeof(c->address.sun_path) + sizeof(".lock")];
	int r;

	snprintf(path, sizeof(path), "%s.lock", c->address.sun_path);
	c->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (c->lock_fd < 0) {
		return -errno;
	}
	if (flock(c->lock_fd, LOCK_EX | LOCK_NB) < 0) {
		r = errno == EWOULDBLOCK ? -EADDRINUSE : -errno;
		close(c->lock_fd);
		c->lock_fd = -1;
		return r;
	}
	return 0;
}

/* A socket that refuses connections has no owner any more and is replaced. A file that is no socket stays, and so does
 * the socket of a program that answers, or is too busy to. */
static int clear_stale(const struct sockaddr_un *address)
{
	int fd, r = 0;
	struct stat st;

	if (lstat(address->sun_path, &st) == 0 && !S_ISSOCK(st.st_mode)) {
		return -EEXIST;
	}
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0) {
		return -errno;
	}
	if (connect(fd, (const struct sockaddr *)address, sizeof(*address)) == 0 ||
	    errno == EAGAIN) {
		r = -EADDRINUSE;
	} else if (errno == ECONNREFUSED && unlink(address->sun_path) < 0) {
		r = -errno;
	}
	close(fd);
	return r;
}

static int set_mode(const struct control *c)
{
	return chmod(c->address.sun_path, control_groups_mode(&c->groups)) < 0 ? -errno : 0;
}

/* Whether the file at our path is our socket: it may have been removed or replaced. */
static bool is_ours(const struct control *c)
{
	struct stat st;

	return c->listener && lstat(c->address.sun_path, &st) == 0 && st.st_dev == c->made.st_dev &&
	       st.st_ino == c->made.st_ino;
}

static void listen_end(struct control *c)
{
	if (is_ours(c)) {
		unlink(c->address.sun_path);
	}
	if (c->listener) {
		evconnlistener_free(c->listener);
		c->listener = NULL;
	}
	if (c->lock_fd >= 0) {
		close(c->lock_fd);
		c->lock_fd = -1;
	}
}

static int listen_begin(struct control *c)
{
	mode_t mask;
	int r = take_lock(c);

	r = r ? r : clear_stale(&c->address);
	if (r == 0) {
		mask = umask(0117);
		c->listener = evconnlistener_new_bind(
			c->base, on_connection, c, LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC,
			LISTEN_BACKLOG, (struct sockaddr *)&c->address, (int)sizeof(c->address));
		r = c->listener ? 0 : -errno;
		umask(mask);
	}
	if (r == 0 && lstat(c->address.sun_path, &c->made) < 0) {
		r = -errno;
	}
	if (r == 0) {
		evconnlistener_set_error_cb(c->listener, on_accept_error);
		r = set_mode(c);
	}
	if (r < 0) {
		listen_end(c);
	}
	return r;
}

int control_open(struct event_base *base, const char *path, const struct control_groups *groups,
		 struct dispatch *dispatch, struct control **ret_control)
{
	struct control *c;
	int r;

	if (strlen(path) >= sizeof(c->address.sun_path)) {
		return -ENAMETOOLONG;
	}
	c = calloc(1, sizeof(*c));
	if (!c) {
		return -ENOMEM;
	}
	*c = (struct control){.base = base, .dispatch = dispatch, .groups = *groups, .lock_fd = -1};
	c->address.sun_family = AF_UNIX;
	strcpy(c->address.sun_path, path);
	places_init(&c->places, cost_of);
	c->listen_again = evtimer_new(base, on_listen_again, c);
	c->turns = evtimer_new(base, on_turns, c);
	r = c->listen_again && c->turns ? names_open(base, on_names, c, &c->names) : -ENOMEM;
	r = r ? r : listen_begin(c);
	if (r < 0) {
		control_close(c);
		return r;
	}
	*ret_control = c;
	return 0;
}

/* A client is cut off that has sent half a message and no more, as it would keep its place for ever, or that does not use
 * its urgent place. */
static void end_silent(struct control *c, uint64_t now_ns)
{
	struct place *place, *next;

	for (place = TAILQ_FIRST(&c->places.all); place; place = next) {
		struct client *cl = client_at(place);

		next = TAILQ_NEXT(place, link);
		if (place->waits) {
			continue;
		}
		if (may_ask(cl) && now_ns > cl->heard_ns + HALF_LIMIT_S * 1000000000ull &&
		    evbuffer_get_length(bufferevent_get_input(cl->stream)) > 0) {
			cut_off(cl, "half a message, and nothing more for 30 s");
			stand_in_line(cl);
		} else if (place->urgent && cl->base.open == 0 &&
			   now_ns > cl->heard_ns + URGENT_SILENT_S * 1000000000ull) {
			end_crowded(cl);
		}
	}
}

int control_regroup(struct control *c, const struct control_groups *groups)
{
	struct place *place, *next;

	c->groups = *groups;
	for (place = TAILQ_FIRST(&c->places.all); place; place = next) {
		struct client *cl = client_at(place);

		next = TAILQ_NEXT(place, link);
		if (!control_groups_role(&c->groups, bufferevent_getfd(cl->stream),
					 &cl->base.peer.role)) {
			turn_away(cl);
		}
	}
	return c->listener ? set_mode(c) : 0;
}

int control_tend(struct control *c, uint64_t now_ns)
{
	int r;

	end_silent(c, now_ns);
	if (is_ours(c)) {
		return 0;
	}
	listen_end(c);
	r = listen_begin(c);
	return r < 0 ? r : 1;
}

void control_close(struct control *c)
{
	struct place *place;
	struct client *cl;

	if (!c) {
		return;
	}
	listen_end(c);
	if (c->listen_again) {
		event_free(c->listen_again);
	}
	while ((place = TAILQ_FIRST(&c->places.all))) {
		/* The analyzer does not see that TAILQ_REMOVE moved the head on. */
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
		cl = client_at(place);
		send_last(cl);
		client_free(cl);
	}
	if (c->turns) {
		event_free(c->turns);
	}
	names_close(c->names);
	free(c);
}

void control_get_stats(const struct control *c, struct control_stats *ret_stats)
{
	*ret_stats = c->stats;
	ret_stats->clients = c->places.ordinary + c->places.urgent;
}
