/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bench-consumer: a reserved consumer that does nothing but what the contract asks of it (HELLO, receive,
 * look at the header, acknowledge), so that what is measured is the way to it. It never touches a payload.
 *
 * SIGUSR1 ends a window: one line of JSON about all blocks since the one before, its own CPU time, and how
 * many blocks are missing since it began. It ends on SIGTERM.
 *
 * Latency (with --board): a message carries no time of the host. But the board's driver stamps each
 * completion with CLOCK_MONOTONIC, and anyone may map a ring's completions for reading. A block names its
 * carrying frames; floor frame f arrives in cell f + d of the board's count, d being the link's round trip
 * (a register) rounded up to whole frames. So the time between the completion that brought a block's cell
 * and zmq_msg_recv() here is known on one clock, with nothing assumed about the emulator's pace. The
 * completion is still there: its buffer is released only after our acknowledgement.
 *   whole:  from the cell behind the block's last: it has the tails of the last hits and closes the block
 *   last:   from the block's own last cell. Equal, but where the two came in different buffers
 */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zmq.h>

#include "driver/lib/libnanet3.h"
#include "driver/perf/statistics.h"
#include "schemas/fcm_data.h"
#include "tests/bench/usage.h"

#define CREDIT_DEFAULT 64u
#define CREDIT_MAX     1024u /* of the contract */
#define BATCH_MAX      32u
#define PATIENCE_MS    250 /* an ALIVE at least so often */
#define HELLO_AGAIN_NS 100000000ull
#define SAMPLES_MAX    (1u << 20) /* of a window */
#define SEQUENCE_MASK  ((1ull << 40) - 1)
#define TRACK_BITS     65536u /* sequences remembered: 65 s of blocks of 1 ms */

/* Which blocks of a link and stream have come. Slices take turns, so they need not come in order. */
struct track {
	uint64_t first, end; /* sequences from the first on, below `end` */
	uint64_t seen;	     /* of them */
	uint64_t bits[TRACK_BITS / 64];
};

struct sight { /* of a link's completions */
	bool known;
	uint32_t delay;	   /* cells between a floor's frame and its arrival */
	uint64_t position; /* of the completion looked at last */
};

struct window {
	uint64_t begin_ns;
	double cpu_s; /* at its begin */
	uint64_t blocks[FCM_STREAMS], bytes[FCM_STREAMS];
	uint64_t resent, frames_lost, unmatched;
	struct samples whole, last;
};

struct consumer {
	const char *endpoint, *name, *group, *where;
	unsigned credit;
	void *context, *socket;
	struct nanet3 *board;
	struct sight sight[NANET3_LINKS];
	struct track track[NANET3_LINKS][FCM_STREAMS];
	uint32_t dma_epoch[NANET3_LINKS];
	struct fcm_ack ack[BATCH_MAX];
	unsigned acks;
	uint64_t hello_ns;
	struct window window;
};

static volatile sig_atomic_t ended, look;

static void on_signal(int number)
{
	if (number == SIGUSR1) {
		look = 1;
	} else {
		ended = 1;
	}
}

/* ------------------------------------------------------------------------------ to the daemon */

/* A daemon that is away gets a new HELLO later: nothing to do about a refused send. */
static void say(struct consumer *c, const char *verb, const void *body, size_t bytes)
{
	if (zmq_send(c->socket, verb, strlen(verb), ZMQ_DONTWAIT | (body ? ZMQ_SNDMORE : 0)) >= 0 &&
	    body) {
		(void)zmq_send(c->socket, body, bytes, ZMQ_DONTWAIT);
	}
}

static void say_hello(struct consumer *c)
{
	char text[256];
	int n = snprintf(text, sizeof(text),
			 "{\"protocol\":1,\"name\":\"%s\",\"group\":\"%s\",\"credit\":%u}", c->name,
			 c->group, c->credit);

	c->hello_ns = bench_now_ns();
	say(c, "HELLO", text, (size_t)n);
}

static void acknowledge(struct consumer *c)
{
	if (c->acks > 0) {
		say(c, "ACK", c->ack, c->acks * sizeof(c->ack[0]));
		c->acks = 0;
	}
}

/* ------------------------------------------------------------------------------------ latency */

static int open_board(struct consumer *c)
{
	int r = nanet3_open(c->where, &c->board);

	for (unsigned link = 0; r == 0 && link < NANET3_LINKS; link++) {
		r = nanet3_observe(c->board, link);
	}
	return r;
}

/* The round trip in whole frames, rounded up: the floor answers on the grid it receives. */
static bool learn_delay(struct consumer *c, unsigned link)
{
	struct sight *s = &c->sight[link];
	uint32_t rtt;

	if (nanet3_reg_read(c->board, NANET3_REG_LINK(link, NANET3_LREG_RTT), &rtt, 1) < 0) {
		return false;
	}
	s->delay = (rtt & 0xff) + ((rtt >> 8 & 0x3fff) > 0);
	s->position = nanet3_release_position(c->board, link);
	s->known = true;
	return true;
}

/* When the driver took the completion that covers `cell`, from position *at on; 0: it is not there. */
static uint64_t handed_over_ns(const struct consumer *c, unsigned link, uint64_t cell, uint64_t *at)
{
	uint64_t write = nanet3_write_position(c->board, link);

	for (; *at < write; (*at)++) {
		const struct nanet3_event *e = nanet3_completion(c->board, link, *at);

		if (e->frame_count > cell) {
			return 0;
		}
		if (e->frame_count + e->frames > cell) {
			return e->time_ns;
		}
	}
	return 0;
}

static void note_latency(struct consumer *c, const struct fcm_block_header *h, uint64_t now_ns)
{
	struct sight *s = &c->sight[h->link];
	struct window *w = &c->window;
	uint64_t end, at, last_ns, whole_ns = 0;

	if (!c->board || (!s->known && !learn_delay(c, h->link))) {
		return;
	}
	end = h->first_frame + h->frames + s->delay;
	at = s->position;
	last_ns = handed_over_ns(c, h->link, end - 1, &at);
	if (last_ns > 0) {
		s->position = at; /* the block's other streams ask for it again */
		whole_ns = handed_over_ns(c, h->link, end, &at);
	}
	if (whole_ns == 0 || whole_ns > now_ns) {
		w->unmatched++;
		return;
	}
	samples_add(&w->last, now_ns - last_ns);
	samples_add(&w->whole, now_ns - whole_ns);
}

/* ------------------------------------------------------------------------------------- blocks */

static void mark(struct track *t, uint64_t sequence)
{
	uint64_t *word = &t->bits[sequence % TRACK_BITS / 64], bit = 1ull << sequence % 64;

	if (t->seen == 0) {
		t->first = t->end = sequence;
	}
	if (sequence < t->first || sequence + TRACK_BITS < t->end) {
		return; /* of before our time */
	}
	for (; t->end <= sequence; t->end++) {
		t->bits[t->end % TRACK_BITS / 64] &= ~(1ull << t->end % 64);
	}
	t->seen += (*word & bit) == 0;
	*word |= bit;
}

static void note_sequence(struct consumer *c, const struct fcm_block_header *h)
{
	if (c->dma_epoch[h->link] != h->dma_epoch) {
		c->dma_epoch[h->link] = h->dma_epoch;
		memset(c->track[h->link], 0, sizeof(c->track[h->link]));
		c->sight[h->link].known = false;
	}
	mark(&c->track[h->link][h->stream], h->sequence & SEQUENCE_MASK);
	c->window.resent += (h->flags & FCM_BLOCK_RESENT) != 0;
	c->window.frames_lost += h->frames_lost + h->frames_bad;
}

/* Blocks between the first and the latest that have not come (yet). */
static uint64_t missing(const struct consumer *c)
{
	uint64_t sum = 0;

	for (unsigned link = 0; link < NANET3_LINKS; link++) {
		for (unsigned stream = 0; stream < FCM_STREAMS; stream++) {
			const struct track *t = &c->track[link][stream];

			sum += t->end - t->first - t->seen;
		}
	}
	return sum;
}

static void on_block(struct consumer *c, zmq_msg_t part[3])
{
	uint64_t now_ns = bench_now_ns();
	struct fcm_block_header h;

	if (zmq_msg_size(&part[1]) != sizeof(h)) {
		return;
	}
	memcpy(&h, zmq_msg_data(&part[1]), sizeof(h));
	if (h.magic != FCM_BLOCK_MAGIC || h.stream >= FCM_STREAMS || h.link >= NANET3_LINKS ||
	    h.payload_bytes != zmq_msg_size(&part[2])) {
		return; /* never acknowledged: the driver of this program sees that */
	}
	note_sequence(c, &h);
	note_latency(c, &h, now_ns);
	c->window.blocks[h.stream]++;
	c->window.bytes[h.stream] += sizeof(h) + h.payload_bytes;
	c->ack[c->acks++] = (struct fcm_ack){.sequence = h.sequence,
					     .stream = h.stream,
					     .link = h.link,
					     .tower = h.tower,
					     .floor = h.floor};
	if (c->acks == BATCH_MAX || c->acks * 4 >= c->credit) {
		acknowledge(c);
	}
}

static bool is(zmq_msg_t *part, const char *verb)
{
	return zmq_msg_size(part) == strlen(verb) &&
	       memcmp(zmq_msg_data(part), verb, strlen(verb)) == 0;
}

/* Parts of one message; more than four are none of the protocol. False: none is there. */
static bool receive(struct consumer *c, int flags)
{
	zmq_msg_t part[4];
	unsigned parts = 0;
	bool more = true;

	while (more && parts < 4) {
		zmq_msg_init(&part[parts]);
		if (zmq_msg_recv(&part[parts], c->socket, parts > 0 ? 0 : flags) < 0) {
			zmq_msg_close(&part[parts]);
			break;
		}
		more = zmq_msg_more(&part[parts++]);
	}
	if (parts == 4 && is(&part[0], "BLOCK")) {
		on_block(c, &part[1]);
	} else if (parts > 0 && is(&part[0], "ERROR") &&
		   bench_now_ns() - c->hello_ns > HELLO_AGAIN_NS) {
		say_hello(c); /* a new daemon, or one that took us for dead */
	}
	for (unsigned i = 0; i < parts; i++) {
		zmq_msg_close(&part[i]);
	}
	return parts > 0;
}

/* ------------------------------------------------------------------------------------- windows */

static void window_begin(struct window *w)
{
	struct samples whole = w->whole, last = w->last;

	whole.count = last.count = 0;
	*w = (struct window){
		.begin_ns = bench_now_ns(), .cpu_s = bench_cpu_s(), .whole = whole, .last = last};
}

static void window_print(struct consumer *c)
{
	struct window *w = &c->window;
	double seconds = (double)(bench_now_ns() - w->begin_ns) * 1e-9;

	printf("{\"seconds\":%.6f,\"cpu_s\":%.6f,\"blocks\":[", seconds, bench_cpu_s() - w->cpu_s);
	for (unsigned s = 0; s < FCM_STREAMS; s++) {
		printf("%s%llu", s ? "," : "", (unsigned long long)w->blocks[s]);
	}
	printf("],\"bytes\":[");
	for (unsigned s = 0; s < FCM_STREAMS; s++) {
		printf("%s%llu", s ? "," : "", (unsigned long long)w->bytes[s]);
	}
	printf("],\"missing\":%llu,\"resent\":%llu,\"frames_lost\":%llu,\"unmatched\":%llu",
	       (unsigned long long)missing(c), (unsigned long long)w->resent,
	       (unsigned long long)w->frames_lost, (unsigned long long)w->unmatched);
	printf(",\"whole\":");
	bench_print_latency(&w->whole);
	printf(",\"last\":");
	bench_print_latency(&w->last);
	printf("}\n");
	fflush(stdout);
}

/* Blocks while there are some; else what was processed is acknowledged before we sleep. */
static void loop(struct consumer *c)
{
	while (!ended) {
		if (look) {
			look = 0;
			window_print(c);
			window_begin(&c->window);
		}
		if (receive(c, ZMQ_DONTWAIT)) {
			continue;
		}
		acknowledge(c);
		if (!receive(c, 0) && zmq_errno() == EAGAIN) {
			say(c, "ALIVE", NULL, 0);
		}
	}
	acknowledge(c);
	say(c, "BYE", NULL, 0);
}

/* ---------------------------------------------------------------------------------------- life */

static int connect_daemon(struct consumer *c)
{
	const struct {
		int option, value;
	} options[] = {
		{ZMQ_LINGER, 500}, {ZMQ_RECONNECT_IVL, 20},   {ZMQ_RCVTIMEO, PATIENCE_MS},
		{ZMQ_RCVHWM, 0},   {ZMQ_HEARTBEAT_IVL, 1000}, {ZMQ_HEARTBEAT_TIMEOUT, 3000},
	};

	c->context = zmq_ctx_new();
	c->socket = c->context ? zmq_socket(c->context, ZMQ_DEALER) : NULL;
	for (unsigned i = 0; c->socket && i < sizeof(options) / sizeof(options[0]); i++) {
		if (zmq_setsockopt(c->socket, options[i].option, &options[i].value, sizeof(int)) <
		    0) {
			return -1;
		}
	}
	if (!c->socket || zmq_connect(c->socket, c->endpoint) < 0) {
		return -1;
	}
	say_hello(c);
	return 0;
}

static int start(struct consumer *c)
{
	int r = samples_create(&c->window.whole, SAMPLES_MAX);

	r = r ? r : samples_create(&c->window.last, SAMPLES_MAX);
	if (r < 0) {
		fprintf(stderr, "bench-consumer: %s\n", strerror(-r));
		return r;
	}
	r = c->where ? open_board(c) : 0;
	if (r < 0) {
		fprintf(stderr, "bench-consumer: %s: %s\n", c->where, strerror(-r));
		return r;
	}
	if (connect_daemon(c) < 0) {
		fprintf(stderr, "bench-consumer: %s: %s\n", c->endpoint, zmq_strerror(zmq_errno()));
		return -EIO;
	}
	window_begin(&c->window);
	return 0;
}

static void stop(struct consumer *c)
{
	if (c->socket) {
		zmq_close(c->socket);
	}
	if (c->context) {
		zmq_ctx_term(c->context);
	}
	nanet3_close(c->board);
	samples_destroy(&c->window.whole);
	samples_destroy(&c->window.last);
}

static bool parse_options(int argc, char **argv, struct consumer *c)
{
	static const struct option longs[] = {
		{"endpoint", 1, NULL, 'e'}, {"name", 1, NULL, 'n'},  {"group", 1, NULL, 'g'},
		{"credit", 1, NULL, 'c'},   {"board", 1, NULL, 'b'}, {NULL},
	};
	int k;

	while ((k = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		switch (k) {
		case 'e':
			c->endpoint = optarg;
			break;
		case 'n':
			c->name = optarg;
			break;
		case 'g':
			c->group = optarg;
			break;
		case 'c':
			c->credit = (unsigned)strtoul(optarg, NULL, 10);
			break;
		case 'b':
			c->where = optarg;
			break;
		default:
			return false;
		}
	}
	return optind == argc && c->endpoint && c->credit > 0 && c->credit <= CREDIT_MAX;
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = on_signal};
	struct consumer c = {.name = "bench-1", .group = "bench", .credit = CREDIT_DEFAULT};
	int r;

	if (!parse_options(argc, argv, &c)) {
		fprintf(stderr,
			"usage: bench-consumer --endpoint URL [--name NAME] [--group GROUP] "
			"[--credit 1..1024] [--board unix:PATH]\n");
		return 2;
	}
	/* No SA_RESTART: a signal ends the wait for a message. */
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGUSR1, &action, NULL);
	r = start(&c);
	if (r == 0) {
		loop(&c);
	}
	stop(&c);
	return r < 0;
}
