// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * gpsd's client: see gps.h. libgps decodes the reports (gps_unpack). This file connects and reads the socket
 * itself, because gps_open() blocks when the host does not answer, and because the event loop needs the socket.
 * A host's name is resolved in the background. gps_connect() waits CONNECT_WAIT_MS at most for a connection;
 * the next call continues with the same attempt.
 */
#include "daemon/time/gps.h"

#include <assert.h>
#include <errno.h>
#include <gps.h>
#include <math.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONNECT_WAIT_MS 20
#define CONNECT_CALLS	5u     /* an address that does not answer in so many calls is passed over */
#define LINE_BYTES	16384u /* gpsd's longest report is 10 240 */
#define READS_MAX	16u    /* of a call: gpsd shall not keep the event loop */
#define TIME_END_S	7258118400ll /* 2200: sums of it still fit into nanoseconds */

static const char watch[] = "?WATCH={\"enable\":true,\"json\":true};\n";

struct gps {
	const char *host;
	char port[32];
	struct gaicb lookup; /* of a host's name, in the background */
	bool looking_up;
	struct addrinfo *addresses, *next; /* next to try */
	int fd;
	unsigned calls; /* that this address has not answered in */
	bool connected;
	struct gps_data_t data; /* as libgps keeps it from report to report */
	char line[LINE_BYTES];
	size_t length;
	bool overlong; /* the rest of a line too long to keep is passed over */
};

struct gps *gps_create(const char *host, const char *port)
{
	struct gps *g = calloc(1, sizeof(*g));

	if (g) {
		g->fd = -1;
		g->host = host;
		snprintf(g->port, sizeof(g->port), "%s", port);
	}
	return g;
}

static void forget_addresses(struct gps *g)
{
	if (g->addresses) {
		freeaddrinfo(g->addresses);
	}
	g->addresses = g->next = NULL;
}

static void disconnect(struct gps *g)
{
	if (g->fd >= 0) {
		close(g->fd);
	}
	g->fd = -1;
	g->connected = false;
	g->length = 0;
	g->overlong = false;
}

void gps_destroy(struct gps *g)
{
	if (!g) {
		return;
	}
	disconnect(g);
	forget_addresses(g);
	if (g->looking_up) {
		/* The look-up writes into g: wait for its end when it cannot be called off. */
		while (gai_cancel(&g->lookup) == EAI_NOTCANCELED) {
			const struct gaicb *const list[] = {&g->lookup};

			gai_suspend(list, 1, NULL);
		}
		if (g->lookup.ar_result) {
			freeaddrinfo(g->lookup.ar_result);
		}
	}
	free(g);
}

/* ------------------------------------------------------------------ connecting */

/* The host's addresses: at once when it is one itself, in the background when it is a name. */
static int look_up(struct gps *g)
{
	static const struct addrinfo numeric = {.ai_socktype = SOCK_STREAM,
						.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
	static const struct addrinfo named = {.ai_socktype = SOCK_STREAM};
	struct gaicb *list[] = {&g->lookup};
	int r;

	if (!g->looking_up) {
		if (!getaddrinfo(g->host, g->port, &numeric, &g->addresses)) {
			return 0;
		}
		g->lookup = (struct gaicb){
			.ar_name = g->host, .ar_service = g->port, .ar_request = &named};
		if (getaddrinfo_a(GAI_NOWAIT, list, 1, NULL)) {
			return -EAGAIN;
		}
		g->looking_up = true;
	}
	gai_suspend((const struct gaicb *const *)list, 1,
		    &(struct timespec){.tv_nsec = CONNECT_WAIT_MS * 1000000l});
	r = gai_error(&g->lookup);
	if (r == EAI_INPROGRESS) {
		return -EINPROGRESS;
	}
	g->looking_up = false;
	if (r) {
		return -EHOSTUNREACH;
	}
	g->addresses = g->lookup.ar_result;
	g->lookup.ar_result = NULL;
	return 0;
}

/* Begin to connect to the next address: 0, -EINPROGRESS, or why not. */
static int begin_connect(struct gps *g)
{
	const struct addrinfo *a = g->next;
	const int one = 1, idle_s = 10, interval_s = 5, count = 3;

	assert(a); /* getaddrinfo() gives one at least */
	g->next = a->ai_next;
	g->calls = 0;
	g->fd = socket(a->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (g->fd < 0) {
		return -errno;
	}
	setsockopt(g->fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
	/* gpsd is silent while its receiver is: only this tells a dead host from a quiet one. */
	setsockopt(g->fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof(idle_s));
	setsockopt(g->fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof(interval_s));
	setsockopt(g->fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count));
	return connect(g->fd, a->ai_addr, a->ai_addrlen) < 0 ? -errno : 0;
}

/* Whether the connection has come about: 0, -EINPROGRESS, or why not. */
static int end_connect(struct gps *g)
{
	struct pollfd p = {.fd = g->fd, .events = POLLOUT};
	int error = 0;
	socklen_t size = sizeof(error);
	int n = poll(&p, 1, CONNECT_WAIT_MS);

	if (n <= 0) {
		return -EINPROGRESS;
	}
	return getsockopt(g->fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0 ? -errno : -error;
}

static int send_watch(struct gps *g)
{
	ssize_t n = send(g->fd, watch, sizeof(watch) - 1, MSG_NOSIGNAL);

	return n < 0 ? -errno : (size_t)n == sizeof(watch) - 1 ? 0 : -EIO;
}

int gps_connect(struct gps *g)
{
	int r;

	if (g->connected) {
		return 0;
	}
	if (g->fd < 0 && !g->next) {
		forget_addresses(g);
		r = look_up(g);
		if (r < 0) {
			return r;
		}
		g->next = g->addresses;
	}
	for (;;) {
		r = g->fd < 0 ? begin_connect(g) : -EINPROGRESS;
		r = r == -EINPROGRESS ? end_connect(g) : r;
		if (r == -EINPROGRESS && ++g->calls < CONNECT_CALLS) {
			return r;
		}
		r = r ? r : send_watch(g);
		if (r == 0) {
			memset(&g->data, 0, sizeof(g->data));
			g->connected = true;
			g->next = NULL;
			return 0;
		}
		disconnect(g);
		if (!g->next) {
			return r;
		}
	}
}

int gps_fd(const struct gps *g)
{
	return g->connected ? g->fd : -1;
}

/* ------------------------------------------------------------------ reports */

/* libgps takes any number for a fraction. */
static bool time_sane(const timespec_t *t)
{
	return t->tv_sec > 0 && t->tv_sec < TIME_END_S && t->tv_nsec >= 0 &&
	       t->tv_nsec < 1000000000;
}

static void take_tpv(struct gps *g, struct clock_gps *ret_gps)
{
	const struct gps_data_t *d = &g->data;

	*ret_gps = (struct clock_gps){
		.mode = d->fix.mode >= 0 && d->fix.mode <= 3 ? (uint8_t)d->fix.mode : 0,
		.has_time = (d->set & TIME_SET) && time_sane(&d->fix.time),
		.ept_s = d->set & TIMERR_SET ? d->fix.ept : (double)NAN,
		.leapseconds = d->leap_seconds,
		/* A fix by none: gpsd has not said by how many yet. */
		.satellites_used =
			d->fix.mode >= 2 && !d->satellites_used ? -1 : d->satellites_used,
	};
	if (ret_gps->has_time) {
		ret_gps->utc_ns = d->fix.time.tv_sec * 1000000000ll + d->fix.time.tv_nsec;
	}
}

#define TPV_HEAD "{\"class\":\"TPV\""
#define SKY_HEAD "{\"class\":\"SKY\""

bool gps_take_line(struct gps *g, char *line, struct clock_gps *ret_gps)
{
	bool tpv = strncmp(line, TPV_HEAD, strlen(TPV_HEAD)) == 0;

	/* Nothing else is of use; what a newer gpsd may say cannot trouble an older library then. */
	if (!tpv && strncmp(line, SKY_HEAD, strlen(SKY_HEAD)) != 0) {
		return false;
	}
	/* libgps goes on to the next class in a line, and where something broken is before it, for ever. */
	if (strstr(line + 2, "\"class\":")) {
		return false;
	}
	if (tpv) {
		g->data.leap_seconds = 0;
		memset(&g->data.fix.time, 0, sizeof(g->data.fix.time));
	}
	g->data.set = 0;
	if (gps_unpack(line, &g->data) < 0 || !tpv) {
		return false;
	}
	take_tpv(g, ret_gps);
	return true;
}

/* The whole lines among what was read; the rest stays. */
static void take_lines(struct gps *g, void (*on_tpv)(void *context, const struct clock_gps *gps),
		       void *context)
{
	char *begin = g->line, *end;
	struct clock_gps report;

	while ((end = memchr(begin, '\n', (size_t)(g->line + g->length - begin)))) {
		*end = '\0';
		if (!g->overlong && gps_take_line(g, begin, &report)) {
			on_tpv(context, &report);
		}
		g->overlong = false;
		begin = end + 1;
	}
	g->length = (size_t)(g->line + g->length - begin);
	memmove(g->line, begin, g->length);
	if (g->length == sizeof(g->line)) {
		g->overlong = true;
		g->length = 0;
	}
}

int gps_read_reports(struct gps *g, void (*on_tpv)(void *context, const struct clock_gps *gps),
		     void *context)
{
	for (unsigned i = 0; i < READS_MAX; i++) {
		ssize_t n;

		if (!g->connected) {
			return -EPIPE;
		}
		n = recv(g->fd, g->line + g->length, sizeof(g->line) - g->length, 0);
		if (n < 0 && errno == EINTR) {
			continue;
		}
		if (n < 0 && errno == EAGAIN) {
			return 0;
		}
		if (n <= 0) {
			disconnect(g);
			return -EPIPE;
		}
		g->length += (size_t)n;
		take_lines(g, on_tpv, context);
	}
	return 0;
}
