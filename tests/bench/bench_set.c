/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bench-set: a `param.set` as its client sees it, from request to end (schemas/control.md): sets of one parameter, one
 * after the other, each begun anywhere in a buffer. It takes nothing to make a request and looks at no answer before the
 * clock was read, so that the time is the station's.
 *
 *   bench-set SOCKET PARAMETER VALUE OTHER [COUNT]     to VALUE and OTHER in turn; SOCKET: control.sock of a station
 *
 * Prints one line of JSON, times in us.
 */
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/bench/usage.h"

#define COUNT_MAX  10000u
#define ANSWER_MAX (1u << 20) /* of a message, by schemas/control.md */
#define ROOM_FIRST 16384u     /* room to begin with */
#define PATIENCE_S 10	      /* between two words of the daemon */
#define PHASE_US   4000u      /* as of bench-trip: two buffers */

struct client {
	int fd;
	char *in; /* received, not yet taken */
	size_t used, room;
	uint64_t heard_ns; /* when the last of it had come */
	struct samples times;
	char text[256]; /* the daemon's own words about an error; empty: none */
};

/* What a call on the socket could not. EAGAIN is its time-out. */
static int link_error(void)
{
	return errno == EAGAIN ? -ETIMEDOUT : errno == EPIPE ? -ECONNRESET : -errno;
}

static int client_open(struct client *c, const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const struct timeval patience = {.tv_sec = PATIENCE_S};

	if (strlen(path) >= sizeof(address.sun_path)) {
		return -ENAMETOOLONG;
	}
	strcpy(address.sun_path, path);
	c->in = malloc(ROOM_FIRST);
	if (c->in == NULL) {
		return -ENOMEM;
	}
	c->room = ROOM_FIRST;
	c->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (c->fd < 0 ||
	    setsockopt(c->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) != 0 ||
	    setsockopt(c->fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) != 0 ||
	    connect(c->fd, (const struct sockaddr *)&address, sizeof(address)) != 0) {
		return link_error();
	}
	return 0;
}

static void client_close(struct client *c)
{
	if (c->fd >= 0) {
		close(c->fd);
	}
	free(c->in);
}

static int send_all(struct client *c, const char *bytes, size_t length)
{
	while (length > 0) {
		ssize_t n = send(c->fd, bytes, length, MSG_NOSIGNAL);

		if (n > 0) {
			bytes += n;
			length -= (size_t)n;
		} else if (errno != EINTR) {
			return link_error();
		}
	}
	return 0;
}

static int make_room(struct client *c)
{
	char *in;

	if (c->used < c->room) {
		return 0;
	}
	if (c->room > ANSWER_MAX) {
		return -EMSGSIZE;
	}
	in = realloc(c->in, 2 * c->room);
	if (in == NULL) {
		return -ENOMEM;
	}
	c->in = in;
	c->room *= 2;
	return 0;
}

static int receive(struct client *c)
{
	int r = make_room(c);
	ssize_t n;

	if (r < 0) {
		return r;
	}
	n = recv(c->fd, c->in + c->used, c->room - c->used, 0);
	if (n > 0) {
		c->heard_ns = bench_now_ns();
		c->used += (size_t)n;
		return 0;
	}
	if (n == 0) {
		return -ECONNRESET;
	}
	return errno == EINTR ? 0 : link_error();
}

/* The daemon's words, for whoever reads the error. */
static int quote(struct client *c, int error, const char *text, size_t length)
{
	int n = length < sizeof(c->text) ? (int)length : (int)sizeof(c->text) - 1;

	snprintf(c->text, sizeof(c->text), "%.*s", n, text);
	return error;
}

/* 0: this line is the good end. -EAGAIN: not yet; -EREMOTEIO: the daemon says no; -EPROTO: it is no answer. */
static int judge(struct client *c, const char *line, size_t length)
{
	json_t *message = json_loadb(line, length, 0, NULL);
	const json_t *ok = json_object_get(message, "ok");
	const char *no =
		json_string_value(json_object_get(json_object_get(message, "error"), "message"));
	int r;

	if (json_object_get(message, "progress") != NULL) {
		r = -EAGAIN;
	} else if (json_is_true(ok)) {
		r = 0;
	} else if (json_is_false(ok) && no != NULL) {
		r = quote(c, -EREMOTEIO, no, strlen(no));
	} else {
		r = quote(c, -EPROTO, line, length);
	}
	json_decref(message);
	return r;
}

/* The next line, judged. */
static int next_line(struct client *c)
{
	char *end = memchr(c->in, '\n', c->used);
	int r = 0;

	while (r == 0 && end == NULL) {
		size_t seen = c->used;

		r = receive(c);
		end = memchr(c->in + seen, '\n', c->used - seen);
	}
	if (r == 0) {
		r = judge(c, c->in, (size_t)(end - c->in));
		c->used -= (size_t)(end + 1 - c->in);
		memmove(c->in, end + 1, c->used);
	}
	return r;
}

/* One set, from request to end. What is there before it is asked for is nobody's. */
static int set(struct client *c, const char *request)
{
	size_t length = strlen(request);
	uint64_t begin_ns;
	int r;

	if (c->used > 0) {
		return quote(c, -EPROTO, c->in, c->used);
	}
	begin_ns = bench_now_ns();
	r = send_all(c, request, length);
	r = r ? r : -EAGAIN;
	while (r == -EAGAIN) {
		r = next_line(c);
	}
	if (r == 0) {
		samples_add(&c->times, c->heard_ns - begin_ns);
	}
	return r;
}

/* The line that asks for it, with its end; the caller's. NULL: no memory, or the name is no UTF-8. */
static char *make_request(const char *name, double value)
{
	json_t *request = json_pack("{s:i,s:s,s:s,s:{s:s,s:f,s:b}}", "v", 2, "id", "b", "op",
				    "param.set", "args", "name", name, "value", value, "yes", 1);
	char *text = request != NULL ? json_dumps(request, JSON_COMPACT) : NULL;
	char *line = NULL;

	if (text != NULL && asprintf(&line, "%s\n", text) < 0) {
		line = NULL;
	}
	free(text);
	json_decref(request);
	return line;
}

static int run(struct client *c, const char *path, char *const requests[2], unsigned count)
{
	int r = requests[0] != NULL && requests[1] != NULL ? samples_create(&c->times, count)
							   : -EINVAL;

	r = r ? r : client_open(c, path);
	for (unsigned i = 0; r == 0 && i < count; i++) {
		usleep((useconds_t)random() % PHASE_US);
		r = set(c, requests[i % 2]);
	}
	return r;
}

static void complain(const struct client *c, const char *path, int r)
{
	const char *what = strerror(-r);
	char late[64];

	if (r == -ETIMEDOUT) {
		snprintf(late, sizeof(late), "no word from the daemon for %d s", PATIENCE_S);
		what = late;
	} else if (r == -ECONNRESET) {
		what = "the daemon closed the connection";
	} else if (r == -EMSGSIZE) {
		what = "a line longer than 1 MiB";
	} else if (r == -EREMOTEIO) {
		what = "the daemon says no";
	} else if (r == -EPROTO) {
		what = "no answer to what was asked";
	}
	fprintf(stderr, "bench-set: %s: after %zu sets: %s%s%s\n", path, c->times.count, what,
		c->text[0] != '\0' ? ": " : "", c->text);
}

/* Whole and finite: JSON knows no other numbers. */
static bool parse_number(const char *text, double *ret_value)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || *end != '\0' || !isfinite(value)) {
		return false;
	}
	*ret_value = value;
	return true;
}

static bool parse(int argc, char **argv, double values[2], double *ret_count)
{
	return (argc == 5 || argc == 6) && parse_number(argv[3], &values[0]) &&
	       parse_number(argv[4], &values[1]) &&
	       (argc == 5 || parse_number(argv[5], ret_count)) && *ret_count >= 1 &&
	       *ret_count <= COUNT_MAX && *ret_count == floor(*ret_count);
}

int main(int argc, char **argv)
{
	double values[2], count = 200;
	struct client c = {.fd = -1};
	char *requests[2];
	int r;

	if (!parse(argc, argv, values, &count)) {
		fprintf(stderr,
			"usage: bench-set SOCKET PARAMETER VALUE OTHER [COUNT]    numbers; COUNT 1 "
			"to %u, default 200\n",
			COUNT_MAX);
		return 2;
	}
	srandom((unsigned)bench_now_ns()); /* else every round begins its sets in the same places */
	for (unsigned i = 0; i < 2; i++) {
		requests[i] = make_request(argv[2], values[i]);
	}
	r = run(&c, argv[1], requests, (unsigned)count);
	if (r == 0) {
		printf("{\"set\":");
		bench_print_latency(&c.times);
		printf("}\n");
	} else {
		complain(&c, argv[1], r);
	}
	client_close(&c);
	samples_destroy(&c.times);
	free(requests[0]);
	free(requests[1]);
	return r != 0;
}
