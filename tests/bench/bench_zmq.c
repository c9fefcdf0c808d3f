/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bench-zmq: what bare ZeroMQ costs on this machine: PUSH in this process, PULL in a child, tcp over
 * loopback. The messages have the sizes of the daemon's, in the order in which it sends them, and are not
 * copied on the way in (zmq_msg_init_data on blocks of the daemon's own pool, put back by the free hook).
 * One part a message, no header, no answer, nothing looked at: the least that could be done.
 *
 *   --sizes A,B,C   a turn: for each link one message of each size
 *   --links N       (4)
 *   --period-us P   a turn each P us; 0 (default): as fast as they are taken
 *   --hwm N         messages at either end (64)
 *   --seconds S     measured (2), after a fifth of it for warming up
 *
 * Prints one line of JSON: bytes a second at the receiver, CPU seconds of both ends per GB, the latency
 * from just before zmq_msg_send() to zmq_msg_recv(), by a stamp in the message; and, with a period, how
 * late the sender itself woke for its turns: what this host adds to everything that waits for a time.
 */
#include <errno.h>
#include <getopt.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <zmq.h>

#include "daemon/data/block.h"
#include "tests/bench/usage.h"

#define SIZES_MAX   8u
#define SIZE_MAX_MB 24u
#define POOL_BYTES  ((size_t)1 << 30)
#define SAMPLES_MAX (1u << 22)
#define PATIENCE_MS 10000

/* At the begin of each message. */
struct stamp {
	uint64_t ns;
	uint64_t phase; /* enum phase */
};
enum phase { WARMING = 0, MEASURED = 1, END = 2 };

struct options {
	size_t size[SIZES_MAX];
	unsigned sizes, links;
	int hwm;
	uint64_t period_ns;
	double seconds;
};

/* What the child tells of itself when the end has come. */
struct report {
	uint64_t begin_ns, end_ns, bytes, messages;
	double cpu_s;
};

static int fail(const char *what)
{
	fprintf(stderr, "bench-zmq: %s: %s\n", what, zmq_strerror(zmq_errno()));
	return 1;
}

static void *open_socket(const struct options *o, void *context, int type)
{
	const struct {
		int option, value;
	} options[] = {
		{ZMQ_LINGER, 1000},	     {ZMQ_SNDHWM, o->hwm},	  {ZMQ_RCVHWM, o->hwm},
		{ZMQ_RCVTIMEO, PATIENCE_MS}, {ZMQ_SNDTIMEO, PATIENCE_MS},
	};
	void *s = zmq_socket(context, type);

	for (unsigned i = 0; s && i < sizeof(options) / sizeof(options[0]); i++) {
		if (zmq_setsockopt(s, options[i].option, &options[i].value, sizeof(int)) < 0) {
			return NULL;
		}
	}
	return s;
}

/* -------------------------------------------------------------------------------- the receiver */

/* Until END has come; false: the socket failed, or nothing came any more. */
static bool receive_all(void *socket, struct report *r, struct samples *latency)
{
	double cpu_s = bench_cpu_s();
	struct stamp stamp = {.phase = WARMING};
	zmq_msg_t m;

	while (stamp.phase != END) {
		uint64_t now_ns;

		zmq_msg_init(&m);
		if (zmq_msg_recv(&m, socket, 0) < 0) {
			return false;
		}
		now_ns = bench_now_ns();
		memcpy(&stamp, zmq_msg_data(&m), sizeof(stamp));
		if (stamp.phase == MEASURED && r->begin_ns == 0) {
			r->begin_ns = now_ns;
			cpu_s = bench_cpu_s();
		} else if (stamp.phase == MEASURED) { /* the first has begun the time */
			r->end_ns = now_ns;
			r->messages++;
			r->bytes += zmq_msg_size(&m);
			samples_add(latency, now_ns - stamp.ns);
		}
		zmq_msg_close(&m);
	}
	r->cpu_s = bench_cpu_s() - cpu_s;
	return true;
}

/* The child: its endpoint comes through `from`, its report goes through `to`, then its latencies as text
 * to stdout. */
static int receiver(const struct options *o, int from, int to)
{
	char endpoint[256] = "";
	void *context = zmq_ctx_new(), *socket = open_socket(o, context, ZMQ_PULL);
	struct samples latency = {0};
	struct report r = {0};

	if (!socket || samples_create(&latency, SAMPLES_MAX) < 0) {
		return fail("receiver");
	}
	if (read(from, endpoint, sizeof(endpoint) - 1) <= 0 || zmq_connect(socket, endpoint) < 0 ||
	    !receive_all(socket, &r, &latency)) {
		return fail("receiver");
	}
	zmq_close(socket);
	zmq_ctx_term(context);
	if (write(to, &r, sizeof(r)) != (ssize_t)sizeof(r)) {
		return 1;
	}
	printf("{\"latency\":");
	bench_print_latency(&latency);
	fflush(stdout);
	samples_destroy(&latency);
	return 0;
}

/* ---------------------------------------------------------------------------------- the sender */

struct sender {
	const struct options *o;
	void *context, *socket;
	struct block_pool *pool;
	uint64_t sent; /* messages */
	struct samples late;
};

static void unhold(void *data, void *hint)
{
	block_put(hint);
}

static bool send_message(struct sender *s, size_t bytes, enum phase phase)
{
	struct block *b = block_get(s->pool, bytes);
	struct stamp stamp = {.phase = phase};
	zmq_msg_t m;

	if (!b) {
		errno = ENOMEM;
		return false;
	}
	zmq_msg_init_data(&m, b->payload, bytes, unhold, b);
	stamp.ns = bench_now_ns();
	memcpy(b->payload, &stamp, sizeof(stamp));
	if (zmq_msg_send(&m, s->socket, 0) < 0) {
		zmq_msg_close(&m);
		return false;
	}
	s->sent++;
	return true;
}

static bool send_turn(struct sender *s, enum phase phase)
{
	for (unsigned link = 0; link < s->o->links; link++) {
		for (unsigned i = 0; i < s->o->sizes; i++) {
			if (!send_message(s, s->o->size[i], phase)) {
				return false;
			}
		}
	}
	return true;
}

static void sleep_until(uint64_t ns)
{
	struct timespec t = {.tv_sec = (time_t)(ns / 1000000000u),
			     .tv_nsec = (long)(ns % 1000000000u)};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR) {
	}
}

/* Turns for `seconds`, at their times or one after the other. */
static bool send_for(struct sender *s, double seconds, enum phase phase)
{
	uint64_t begin = bench_now_ns(), next = begin, end = begin + (uint64_t)(seconds * 1e9);

	while (bench_now_ns() < end) {
		if (s->o->period_ns > 0) {
			sleep_until(next);
			samples_add(&s->late, bench_now_ns() - next);
			next += s->o->period_ns;
		}
		if (!send_turn(s, phase)) {
			return false;
		}
	}
	return true;
}

static void print_report(const struct options *o, const struct report *r, double sender_s,
			 struct samples *late)
{
	double seconds = (double)(r->end_ns - r->begin_ns) * 1e-9, gb = (double)r->bytes * 1e-9;

	printf(",\"seconds\":%.6f,\"messages\":%llu,\"bytes_per_s\":%.0f,\"paced\":%s,"
	       "\"sender_cpu_s\":%.6f,\"receiver_cpu_s\":%.6f,\"cpu_s_per_GB\":%.6f,\"late\":",
	       seconds, (unsigned long long)r->messages, (double)r->bytes / seconds,
	       o->period_ns > 0 ? "true" : "false", sender_s, r->cpu_s, (sender_s + r->cpu_s) / gb);
	bench_print_latency(late);
	printf("}\n");
}

static int sender(const struct options *o, int to, int from, pid_t child)
{
	struct sender s = {.o = o, .context = zmq_ctx_new()};
	char endpoint[256];
	size_t length = sizeof(endpoint);
	struct report r;
	double cpu_s = 0;
	bool good;
	int status = 0;

	s.socket = open_socket(o, s.context, ZMQ_PUSH);
	s.pool = block_pool_create(POOL_BYTES);
	good = s.socket && s.pool && samples_create(&s.late, SAMPLES_MAX) == 0 &&
	       zmq_bind(s.socket, "tcp://127.0.0.1:*") == 0 &&
	       zmq_getsockopt(s.socket, ZMQ_LAST_ENDPOINT, endpoint, &length) == 0 &&
	       write(to, endpoint, length) == (ssize_t)length;
	good = good && send_for(&s, o->seconds / 5, WARMING);
	cpu_s = bench_cpu_s();
	good = good && send_for(&s, o->seconds, MEASURED) &&
	       send_message(&s, sizeof(struct stamp), END);
	if (!good) {
		fail("sender");
	}
	/* The report comes when all has been received: then the sender's work is done, too. */
	good = good && read(from, &r, sizeof(r)) == (ssize_t)sizeof(r);
	cpu_s = bench_cpu_s() - cpu_s;
	if (s.socket) {
		zmq_close(s.socket);
	}
	zmq_ctx_term(s.context);
	block_pool_destroy(s.pool);
	close(to);
	waitpid(child, &status, 0);
	if (!good || status != 0 || r.messages == 0) {
		return 1;
	}
	print_report(o, &r, cpu_s, &s.late);
	samples_destroy(&s.late);
	return 0;
}

/* ------------------------------------------------------------------------------------- options */

static bool parse_sizes(const char *text, struct options *o)
{
	char *end = NULL;

	for (o->sizes = 0; o->sizes < SIZES_MAX; text = end + 1) {
		size_t size = strtoul(text, &end, 10);

		if (end == text || size < sizeof(struct stamp) || size > SIZE_MAX_MB << 20) {
			return false;
		}
		o->size[o->sizes++] = size;
		if (*end == '\0') {
			return true;
		}
	}
	return false;
}

static bool parse_options(int argc, char **argv, struct options *o)
{
	static const struct option longs[] = {
		{"sizes", 1, NULL, 's'},     {"hwm", 1, NULL, 'h'},	{"links", 1, NULL, 'l'},
		{"period-us", 1, NULL, 'p'}, {"seconds", 1, NULL, 't'}, {NULL},
	};
	bool good = true;
	int k;

	while ((k = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		switch (k) {
		case 's':
			good = good && parse_sizes(optarg, o);
			break;
		case 'l':
			o->links = (unsigned)strtoul(optarg, NULL, 10);
			break;
		case 'h':
			o->hwm = atoi(optarg);
			break;
		case 'p':
			o->period_ns = strtoull(optarg, NULL, 10) * 1000;
			break;
		case 't':
			o->seconds = strtod(optarg, NULL);
			break;
		default:
			return false;
		}
	}
	return good && optind == argc && o->sizes > 0 && o->links > 0 && o->hwm > 0 &&
	       o->seconds > 0;
}

int main(int argc, char **argv)
{
	struct options o = {.links = 4, .hwm = 64, .seconds = 2};
	int down[2], up[2];
	pid_t child;

	if (!parse_options(argc, argv, &o)) {
		fprintf(stderr, "usage: bench-zmq --sizes A,B,... [--links N] [--period-us P] "
				"[--hwm N] [--seconds S]\n");
		return 2;
	}
	if (pipe(down) < 0 || pipe(up) < 0 || (child = fork()) < 0) {
		fprintf(stderr, "bench-zmq: %s\n", strerror(errno));
		return 1;
	}
	if (child == 0) {
		/* As bench-consumer does: fcmdata(3), Memory. */
		mallopt(M_MMAP_THRESHOLD, 32 << 20);
		mallopt(M_TRIM_THRESHOLD, 256 << 20);
		close(down[1]);
		return receiver(&o, down[0], up[1]);
	}
	close(up[1]);
	return sender(&o, down[1], up[0], child);
}
