/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The client's end of the control socket: see client.h. The socket is non-blocking; all waiting is
 * in client_wait(), so that time-out and Ctrl-C have one place.
 */
#include "slowctl/fcmctl/core/client.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "slowctl/fcmctl/core/ctl.h"

struct client {
	int fd;
	unsigned last_id;
	char *in; /* bytes received, not yet taken */
	size_t used, room;
};

/* While the daemon's queue of connections is full, waits for 2 s at most. -EAGAIN: it was full for longer. */
static int connect_soon(int fd, const struct sockaddr_un *address)
{
	const struct timeval patience = {.tv_sec = 2};
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) != 0) {
		return -errno;
	}
	while (connect(fd, (const struct sockaddr *)address, sizeof(*address)) != 0) {
		if (errno != EINTR) {
			return -errno;
		}
	}
	return fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0 ? -errno : 0;
}

int client_open(const char *path, struct client **ret_client)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct client *c;
	int err;

	if (strlen(path) >= sizeof(address.sun_path)) {
		return -ENAMETOOLONG;
	}
	memcpy(address.sun_path, path, strlen(path));
	c = calloc(1, sizeof(*c));
	if (c == NULL) {
		return -ENOMEM;
	}
	c->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	err = c->fd < 0 ? -errno : connect_soon(c->fd, &address);
	if (err < 0) {
		client_close(c);
		return err;
	}
	*ret_client = c;
	return 0;
}

void client_close(struct client *c)
{
	if (c == NULL) {
		return;
	}
	if (c->fd >= 0) {
		close(c->fd);
	}
	free(c->in);
	free(c);
}

static int wait_masked(int fd, short events, double deadline, bool (*interrupted)(void),
		       const sigset_t *open)
{
	struct pollfd p = {.fd = fd, .events = events};

	for (;;) {
		double left = deadline - ctl_monotonic();
		struct timespec t;
		int n;

		if (interrupted != NULL && interrupted()) {
			return -EINTR;
		}
		if (left <= 0.0) {
			return -ETIMEDOUT;
		}
		left = left > 1e6 ? 1e6 : left;
		t.tv_sec = (time_t)left;
		t.tv_nsec = (long)((left - floor(left)) * 1e9);
		n = ppoll(&p, 1, &t, open);
		if (n > 0) {
			return 0;
		}
		if (n < 0 && errno != EINTR) {
			return -errno;
		}
	}
}

/* Between the look at the flag and the sleep the signals are held, else one that comes just then would be slept
 * through. */
int client_wait(int fd, short events, double deadline, bool (*interrupted)(void))
{
	sigset_t held;
	sigset_t open;
	int err;

	sigemptyset(&held);
	sigaddset(&held, SIGINT);
	sigaddset(&held, SIGTERM);
	sigprocmask(SIG_BLOCK, &held, &open);
	err = wait_masked(fd, events, deadline, interrupted, &open);
	sigprocmask(SIG_SETMASK, &open, NULL);
	return err;
}

static int send_all(struct client *c, const char *bytes, size_t length, double deadline,
		    bool (*interrupted)(void))
{
	while (length > 0) {
		ssize_t n = send(c->fd, bytes, length, MSG_NOSIGNAL);
		int err;

		if (n >= 0) {
			bytes += n;
			length -= (size_t)n;
			continue;
		}
		if (errno == EINTR) {
			continue;
		}
		if (errno != EAGAIN) {
			return errno == EPIPE || errno == ECONNRESET ? -ECONNRESET : -errno;
		}
		err = client_wait(c->fd, POLLOUT, deadline, interrupted);
		if (err != 0) {
			return err;
		}
	}
	return 0;
}

int client_ask(struct client *c, const char *op, json_t *args, double timeout_s,
	       bool (*interrupted)(void), unsigned *ret_id)
{
	json_t *request;
	char *line;
	char id[24];
	int err = -ENOMEM;

	*ret_id = ++c->last_id;
	snprintf(id, sizeof(id), "%u", c->last_id);
	request = json_pack("{s:i,s:s,s:s,s:o}", "v", 2, "id", id, "op", op, "args",
			    args != NULL ? args : json_object());
	line = request != NULL ? json_dumps(request, JSON_COMPACT) : NULL;
	if (line != NULL) {
		size_t length = strlen(line);

		line[length] = '\n'; /* in place of the terminator */
		err = send_all(c, line, length + 1, ctl_monotonic() + timeout_s, interrupted);
		/* The daemon has closed the connection; why, it may have said before. */
		err = err == -ECONNRESET ? 0 : err;
	}
	free(line);
	json_decref(request);
	return err;
}

static int receive(struct client *c)
{
	size_t room;
	ssize_t n;
	char *in;

	if (c->used == c->room) {
		room = c->room == 0 ? 65536 : c->room * 2;
		if (room > 2u * CLIENT_LINE_MAX) {
			return -EMSGSIZE;
		}
		in = realloc(c->in, room);
		if (in == NULL) {
			return -ENOMEM;
		}
		c->in = in;
		c->room = room;
	}
	n = recv(c->fd, c->in + c->used, c->room - c->used, 0);
	if (n > 0) {
		c->used += (size_t)n;
		return 0;
	}
	if (n == 0) {
		return -ECONNRESET;
	}
	return errno == EAGAIN || errno == EINTR ? 0 : -errno;
}

/* The next whole line as JSON; -EAGAIN: none yet. */
static int take_message(struct client *c, json_t **ret_message)
{
	char *end = c->used > 0 ? memchr(c->in, '\n', c->used) : NULL;
	json_t *message;
	size_t length;

	if (end == NULL) {
		return c->used > CLIENT_LINE_MAX ? -EMSGSIZE : -EAGAIN;
	}
	length = (size_t)(end - c->in);
	message = json_loadb(c->in, length, 0, NULL);
	c->used -= length + 1;
	memmove(c->in, end + 1, c->used);
	if (message == NULL) {
		return -EPROTO;
	}
	*ret_message = message;
	return 0;
}

static int next_message(struct client *c, double deadline, bool (*interrupted)(void),
			json_t **ret_message)
{
	for (;;) {
		int err = take_message(c, ret_message);

		if (err != -EAGAIN) {
			return err;
		}
		err = client_wait(c->fd, POLLIN, deadline, interrupted);
		err = err == 0 ? receive(c) : err;
		if (err != 0) {
			return err;
		}
	}
}

static bool is_answer(const json_t *message)
{
	const json_t *ok = json_object_get(message, "ok");

	return json_is_true(ok)
		       ? json_object_get(message, "result") != NULL
		       : json_is_false(ok) && json_is_object(json_object_get(message, "error"));
}

int client_next(struct client *c, double timeout_s, bool (*interrupted)(void), unsigned *ret_id,
		json_t **ret_message)
{
	json_t *message = NULL;
	const char *id;
	bool last_word; /* of the daemon, to no request */
	int err = next_message(c, ctl_monotonic() + timeout_s, interrupted, &message);

	if (err != 0) {
		return err;
	}
	id = json_string_value(json_object_get(message, "id"));
	last_word = json_is_false(json_object_get(message, "ok")) && is_answer(message);
	if (id == NULL ? !last_word
		       : json_object_get(message, "progress") == NULL && !is_answer(message)) {
		json_decref(message);
		return -EPROTO;
	}
	*ret_id = id != NULL ? (unsigned)strtoul(id, NULL, 10) : c->last_id;
	*ret_message = message;
	return 0;
}

int client_call(struct client *c, const char *op, json_t *args, double timeout_s,
		void (*progress)(void *context, const json_t *progress), void *context,
		bool (*interrupted)(void), json_t **ret_answer)
{
	json_t *message = NULL;
	unsigned ours, id;
	int err = client_ask(c, op, args, timeout_s, interrupted, &ours);

	while (err == 0) {
		const json_t *step;

		err = client_next(c, timeout_s, interrupted, &id, &message);
		if (err != 0) {
			break;
		}
		step = json_object_get(message, "progress");
		if (id == ours && step == NULL) {
			*ret_answer = message;
			return 0;
		}
		if (id == ours && progress != NULL) {
			progress(context, step);
		}
		json_decref(message);
	}
	return err;
}
