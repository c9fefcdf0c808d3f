/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fcm-consumer: a consumer process of the station. As a reserved consumer (--endpoint) it says HELLO,
 * acknowledges in batches what it has checked and recorded, and starts anew when the daemon did; as a
 * monitor (--monitor) it only listens. What it checks is in consumer_check.h. Ends with one line of
 * JSON on SIGTERM, SIGINT or after --seconds.
 *
 * Exit: 0; 1 when it was refused, could not record, or --check found something; 2 usage.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <jansson.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zmq.h>

#include "tests/system/consumer_check.h"

#define CREDIT_DEFAULT 64u
#define BATCH_MAX      32u /* blocks before an acknowledgement */
#define ALIVE_MS       250
#define HELLO_AGAIN_MS 100
#define WAIT_MS	       50
#define MONITOR_INPROC "inproc://handshakes"

struct options {
	const char *endpoint, *monitor, *topic, *name, *group, *record;
	unsigned credit, seconds, stall_after, slow_us;
	int tai_utc_s, day_origin;
	bool check, complete, quiet, each_second;
};

struct consumer {
	struct options o;
	void *context, *socket, *handshakes;
	struct consumer_check *check;
	int record_fd;
	struct fcm_ack ack[BATCH_MAX];
	unsigned acks;
	uint64_t received; /* BLOCK messages */
	uint64_t hellos, welcomes, acknowledged, too_slow;
	int64_t begin_ms, last_sent_ms, last_hello_ms;
	int failed; /* exit code */
};

static volatile sig_atomic_t ended;

static void on_signal(int number)
{
	(void)number;
	ended = 1;
}

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* CLOCK_TAI is UTC on machines that nobody told the offset. */
static int64_t tai_now_ns(const struct consumer *c)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return ((int64_t)t.tv_sec + c->o.tai_utc_s) * 1000000000 + t.tv_nsec;
}

/* ---- out ---- */

static void send_words(struct consumer *c, const char *verb, const void *body, size_t bytes)
{
	if (zmq_send(c->socket, verb, strlen(verb), ZMQ_DONTWAIT | (body ? ZMQ_SNDMORE : 0)) < 0) {
		return; /* nobody there, and its queue is full: HELLO will begin anew */
	}
	if (body) {
		zmq_send(c->socket, body, bytes, ZMQ_DONTWAIT);
	}
	c->last_sent_ms = now_ms();
}

static void say_hello(struct consumer *c)
{
	char text[256];
	int n = snprintf(text, sizeof(text),
			 "{\"protocol\":1,\"name\":\"%s\",\"group\":\"%s\",\"credit\":%u}",
			 c->o.name, c->o.group, c->o.credit);

	c->last_hello_ms = now_ms();
	c->hellos++;
	send_words(c, "HELLO", text, (size_t)n);
}

/* What is acknowledged lies in the record. */
static void acknowledge(struct consumer *c)
{
	int r = consumer_check_flush(c->check);

	if (r < 0) {
		fprintf(stderr, "fcm-consumer: %s: %s: nothing more is acknowledged\n", c->o.record,
			strerror(-r));
		c->failed = 1;
		ended = 1;
		return;
	}
	if (c->acks > 0 && !c->o.monitor) {
		send_words(c, "ACK", c->ack, c->acks * sizeof(c->ack[0]));
		c->acknowledged += c->acks;
	}
	c->acks = 0;
}

/* ---- in ---- */

struct message {
	zmq_msg_t part[4];
	unsigned parts; /* more than 4: too many */
};

static bool receive(void *socket, struct message *m)
{
	int more = 1;
	size_t size = sizeof(more);
	zmq_msg_t rest;

	m->parts = 0;
	while (more) {
		zmq_msg_t *to = m->parts < 4 ? &m->part[m->parts] : &rest;

		zmq_msg_init(to);
		if (zmq_msg_recv(to, socket, ZMQ_DONTWAIT) < 0) {
			zmq_msg_close(to);
			return m->parts > 0;
		}
		m->parts++;
		if (to == &rest) {
			zmq_msg_close(to);
		}
		zmq_getsockopt(socket, ZMQ_RCVMORE, &more, &size);
	}
	return true;
}

static void release(struct message *m)
{
	for (unsigned i = 0; i < m->parts && i < 4; i++) {
		zmq_msg_close(&m->part[i]);
	}
}

static bool is(zmq_msg_t *part, const char *verb)
{
	return zmq_msg_size(part) == strlen(verb) &&
	       memcmp(zmq_msg_data(part), verb, strlen(verb)) == 0;
}

static void on_block(struct consumer *c, zmq_msg_t part[3])
{
	c->received++;
	if (consumer_check_block(c->check, zmq_msg_data(&part[0]), zmq_msg_size(&part[0]),
				 zmq_msg_data(&part[1]), zmq_msg_size(&part[1]),
				 zmq_msg_data(&part[2]), zmq_msg_size(&part[2]), tai_now_ns(c),
				 &c->ack[c->acks])) {
		c->acks++;
	}
	if (c->o.slow_us > 0) {
		usleep(c->o.slow_us);
	}
	if (c->acks == BATCH_MAX || c->acks * 4 >= c->o.credit) {
		acknowledge(c);
	}
}

static void on_error(struct consumer *c, zmq_msg_t *body)
{
	json_t *root = json_loadb(zmq_msg_data(body), zmq_msg_size(body), 0, NULL);
	const char *error = json_string_value(json_object_get(root, "error"));
	const char *hint = json_string_value(json_object_get(root, "hint"));

	if (error && strcmp(error, "too-slow") == 0) {
		c->too_slow++;
		say_hello(c);
	} else if (error && strcmp(error, "unknown-member") == 0) {
		if (now_ms() - c->last_hello_ms > HELLO_AGAIN_MS) {
			say_hello(c);
		}
	} else {
		fprintf(stderr, "fcm-consumer: refused by %s: %s: %s\n", c->o.endpoint,
			error ? error : "no reason given", hint ? hint : "");
		c->failed = 1;
		ended = 1;
	}
	json_decref(root);
}

static void on_message(struct consumer *c, struct message *m)
{
	if (c->o.monitor && m->parts == 3) {
		on_block(c, &m->part[0]);
	} else if (m->parts == 4 && is(&m->part[0], "BLOCK")) {
		on_block(c, &m->part[1]);
	} else if (m->parts == 2 && is(&m->part[0], "WELCOME")) {
		c->welcomes++;
	} else if (m->parts == 2 && is(&m->part[0], "ERROR")) {
		on_error(c, &m->part[1]);
	} else if (m->parts != 1 || !is(&m->part[0], "ALIVE")) {
		fprintf(stderr,
			"fcm-consumer: a message of %u parts that is none of the protocol\n",
			m->parts);
	}
}

static bool stalled(const struct consumer *c)
{
	return c->o.stall_after > 0 && c->received >= c->o.stall_after;
}

static void serve(struct consumer *c)
{
	struct message m;

	while (!ended && !stalled(c) && receive(c->socket, &m)) {
		on_message(c, &m);
		release(&m);
		if (now_ms() - c->last_sent_ms > ALIVE_MS) {
			acknowledge(c); /* a slow consumer lives by its acknowledgements */
			break;
		}
	}
	acknowledge(c);
}

/* A connection stands (again): the daemon at its other end does not know us. */
static void serve_handshakes(struct consumer *c)
{
	struct message m;

	while (receive(c->handshakes, &m)) {
		release(&m);
		say_hello(c);
	}
}

/* ---- summary ---- */

static json_t *latency_json(const struct consumer_counts *n)
{
	return json_pack("{s:f, s:f, s:f, s:f}", "min", (double)n->latency_min_ns / 1e6, "p50",
			 (double)consumer_check_latency(n, 0.5) / 1e6, "p99",
			 (double)consumer_check_latency(n, 0.99) / 1e6, "max",
			 (double)n->latency_max_ns / 1e6);
}

static void print_summary(struct consumer *c, bool final)
{
	const struct consumer_counts *n = consumer_check_counts(c->check);
	const struct {
		const char *name;
		uint64_t value;
	} counts[] = {
		{"blocks", n->blocks},
		{"frames", n->frames},
		{"frames_lost", n->frames_lost},
		{"frames_bad", n->frames_bad},
		{"hits", n->hits},
		{"samples", n->samples},
		{"instrument_records", n->instrument_records},
		{"bytes", n->bytes},
		{"acknowledged", c->acknowledged},
		{"resent", n->resent},
		{"repeats", n->repeats},
		{"repeats_unflagged", n->repeats_unflagged},
		{"gaps", n->gaps},
		{"crc_errors", n->crc_errors},
		{"malformed", n->malformed},
		{"bad_hits", n->bad_hits},
		{"time_errors", n->time_errors},
		{"label_errors", n->label_errors},
		{"no_time", n->no_time},
		{"fifo_full", n->fifo_full},
		{"hellos", c->hellos},
		{"welcomes", c->welcomes},
		{"too_slow", c->too_slow},
	};
	json_t *root = json_object(), *links = json_array();

	json_object_set_new(root, "name", json_string(c->o.name));
	json_object_set_new(root, "group", json_string(c->o.monitor ? "" : c->o.group));
	json_object_set_new(root, "final", json_boolean(final));
	json_object_set_new(root, "seconds", json_real((double)(now_ms() - c->begin_ms) / 1e3));
	for (unsigned i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		json_object_set_new(root, counts[i].name,
				    json_integer((json_int_t)counts[i].value));
	}
	for (unsigned i = 0; i < 4; i++) {
		json_array_append_new(links, json_integer((json_int_t)n->link_frames[i]));
	}
	json_object_set_new(root, "link_frames", links);
	json_object_set_new(root, "latency_ms", latency_json(n));
	json_dumpf(root, stdout, JSON_COMPACT | JSON_REAL_PRECISION(6));
	putchar('\n');
	fflush(stdout);
	json_decref(root);
}

/* What --check (and --complete) hold against the daemon. */
static uint64_t faults(struct consumer *c)
{
	const struct consumer_counts *n = consumer_check_counts(c->check);
	uint64_t found = 0;

	if (c->o.check) {
		found = n->crc_errors + n->malformed + n->repeats_unflagged + n->bad_hits +
			n->time_errors + n->label_errors;
	}
	return found + (c->o.complete ? n->gaps : 0);
}

/* ---- life ---- */

static void loop(struct consumer *c)
{
	int64_t next_print_ms = c->begin_ms + 1000;

	while (!ended) {
		bool still = stalled(c);
		zmq_pollitem_t items[] = {
			{.socket = c->socket, .events = still ? 0 : ZMQ_POLLIN},
			{.socket = c->handshakes, .events = ZMQ_POLLIN},
		};
		int64_t now;

		zmq_poll(items, c->handshakes ? 2 : 1, WAIT_MS);
		if (c->handshakes) {
			serve_handshakes(c);
		}
		serve(c);
		now = now_ms();
		if (!c->o.monitor && c->hellos > 0 && now - c->last_sent_ms >= ALIVE_MS) {
			send_words(c, "ALIVE", NULL, 0);
		}
		if (c->o.each_second && now >= next_print_ms) {
			print_summary(c, false);
			next_print_ms += 1000;
		}
		if (c->o.seconds > 0 && now - c->begin_ms >= (int64_t)c->o.seconds * 1000) {
			break;
		}
	}
}

static int set_number(void *socket, int option, int value)
{
	return zmq_setsockopt(socket, option, &value, sizeof(value));
}

static int connect_socket(struct consumer *c)
{
	const char *endpoint = c->o.monitor ? c->o.monitor : c->o.endpoint;
	int handshake = ZMQ_EVENT_HANDSHAKE_SUCCEEDED;

	c->context = zmq_ctx_new();
	c->socket = zmq_socket(c->context, c->o.monitor ? ZMQ_SUB : ZMQ_DEALER);
	if (!c->socket) {
		return -1;
	}
	set_number(c->socket, ZMQ_LINGER, 500);
	set_number(c->socket, ZMQ_RECONNECT_IVL, 20);
	set_number(c->socket, ZMQ_RECONNECT_IVL_MAX, 200);
	set_number(c->socket, ZMQ_SNDHWM, 1000);
	/* Never full for what the daemon may send: credit bounds it, not this. */
	set_number(c->socket, ZMQ_RCVHWM, c->o.monitor ? 64 : 4096);
	set_number(c->socket, ZMQ_HEARTBEAT_IVL, 1000);
	set_number(c->socket, ZMQ_HEARTBEAT_TIMEOUT, 3000);
	if (c->o.monitor) {
		zmq_setsockopt(c->socket, ZMQ_SUBSCRIBE, c->o.topic, strlen(c->o.topic));
	} else {
		c->handshakes = zmq_socket(c->context, ZMQ_PAIR);
		if (zmq_socket_monitor(c->socket, MONITOR_INPROC, handshake) < 0 ||
		    zmq_connect(c->handshakes, MONITOR_INPROC) < 0) {
			return -1;
		}
	}
	return zmq_connect(c->socket, endpoint);
}

static int open_record(struct consumer *c)
{
	struct stat st;

	c->record_fd = -1;
	if (!c->o.record) {
		return 0;
	}
	c->record_fd = open(c->o.record, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	if (c->record_fd < 0 || fstat(c->record_fd, &st) < 0) {
		return -errno;
	}
	/* A predecessor that was killed may have left a part of a record. */
	if (S_ISREG(st.st_mode) &&
	    ftruncate(c->record_fd,
		      st.st_size - st.st_size % (off_t)sizeof(struct consumer_record)) < 0) {
		return -errno;
	}
	return 0;
}

static int start(struct consumer *c)
{
	int r = open_record(c);

	if (r < 0) {
		fprintf(stderr, "fcm-consumer: %s: %s\n", c->o.record, strerror(-r));
		return -1;
	}
	c->check = consumer_check_create(c->o.tai_utc_s, (enum hit_day_origin)c->o.day_origin,
					 c->record_fd);
	if (!c->check) {
		fprintf(stderr, "fcm-consumer: out of memory\n");
		return -1;
	}
	if (connect_socket(c) < 0) {
		fprintf(stderr, "fcm-consumer: %s: %s\n",
			c->o.monitor ? c->o.monitor : c->o.endpoint, zmq_strerror(zmq_errno()));
		return -1;
	}
	return 0;
}

static void stop(struct consumer *c)
{
	if (c->socket && !c->o.monitor && c->welcomes > 0) {
		send_words(c, "BYE", NULL, 0);
	}
	if (c->handshakes) {
		zmq_socket_monitor(c->socket, NULL, 0);
		set_number(c->handshakes, ZMQ_LINGER, 0);
		zmq_close(c->handshakes);
	}
	if (c->socket) {
		zmq_close(c->socket);
	}
	if (c->context) {
		zmq_ctx_term(c->context);
	}
	if (c->record_fd >= 0) {
		close(c->record_fd);
	}
	consumer_check_destroy(c->check);
}

/* ---- options ---- */

static const char usage[] =
	"usage: fcm-consumer --endpoint URL | --monitor URL [options]\n"
	"  --endpoint URL    reserved consumer of the daemon at URL, e.g. tcp://127.0.0.1:5710\n"
	"  --monitor URL     listen to the monitor stream at URL instead, without acknowledging\n"
	"  --topic PREFIX    of the monitor: e.g. pmt.T01 (default: all)\n"
	"  --name NAME       of this consumer (default consumer-PID)\n"
	"  --group GROUP     its group (default trigger)\n"
	"  --credit N        blocks in flight, 1..1024 (default 64)\n"
	"  --record FILE     append a record per frame and stream for truth-compare\n"
	"  --check           exit 1 when something is wrong in what came\n"
	"  --complete        exit 1 when blocks are missing as well\n"
	"  --seconds N       end after N seconds\n"
	"  --each-second     a summary line each second, not only at the end\n"
	"  --tai-utc S       TAI - UTC (default 37)\n"
	"  --day-origin N    1 January in hits is day 0 (default, as TriDAS) or 1\n"
	"  --stall-after N   stop taking and acknowledging after N blocks, but stay alive\n"
	"  --slow-us N       sleep after each block\n"
	"  --quiet           no summary\n";

static bool to_number(const char *text, long low, long high, unsigned *ret)
{
	char *end;
	long value = strtol(text, &end, 10);

	if (!*text || *end || value < low || value > high) {
		fprintf(stderr, "fcm-consumer: %s: not a number from %ld to %ld\n", text, low,
			high);
		return false;
	}
	*ret = (unsigned)value;
	return true;
}

enum { TEXT, NUMBER, SWITCH };

static bool parse_options(int argc, char **argv, struct options *o)
{
	unsigned origin = 0, tai_utc = 37;
	const struct {
		const char *name;
		int kind;
		void *to;
		long low, high;
	} table[] = {
		{"endpoint", TEXT, &o->endpoint},
		{"monitor", TEXT, &o->monitor},
		{"topic", TEXT, &o->topic},
		{"name", TEXT, &o->name},
		{"group", TEXT, &o->group},
		{"record", TEXT, &o->record},
		{"credit", NUMBER, &o->credit, 1, 1024},
		{"seconds", NUMBER, &o->seconds, 1, 1000000000},
		{"stall-after", NUMBER, &o->stall_after, 1, 1000000000},
		{"slow-us", NUMBER, &o->slow_us, 0, 10000000},
		{"tai-utc", NUMBER, &tai_utc, 0, 100},
		{"day-origin", NUMBER, &origin, 0, 1},
		{"check", SWITCH, &o->check},
		{"complete", SWITCH, &o->complete},
		{"each-second", SWITCH, &o->each_second},
		{"quiet", SWITCH, &o->quiet},
	};
	const int n = sizeof(table) / sizeof(table[0]);
	struct option longs[sizeof(table) / sizeof(table[0]) + 2] = {{NULL}};
	int k;

	for (int i = 0; i < n; i++) {
		longs[i] = (struct option){table[i].name, table[i].kind != SWITCH, NULL, 256 + i};
	}
	longs[n] = (struct option){"help", 0, NULL, 'h'};
	while ((k = getopt_long(argc, argv, "h", longs, NULL)) != -1) {
		if (k == 'h') {
			fputs(usage, stdout);
			exit(0);
		}
		if (k < 256) {
			return false;
		}
		k -= 256;
		if (table[k].kind == TEXT) {
			*(const char **)table[k].to = optarg;
		} else if (table[k].kind == SWITCH) {
			*(bool *)table[k].to = true;
		} else if (!to_number(optarg, table[k].low, table[k].high, table[k].to)) {
			return false;
		}
	}
	o->day_origin = (int)origin;
	o->tai_utc_s = (int)tai_utc;
	return optind == argc && !o->endpoint != !o->monitor;
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = on_signal};
	struct consumer c = {.o = {.group = "trigger", .topic = "", .credit = CREDIT_DEFAULT}};
	char name[32];

	snprintf(name, sizeof(name), "consumer-%d", (int)getpid());
	c.o.name = name;
	if (!parse_options(argc, argv, &c.o)) {
		fputs(usage, stderr);
		return 2;
	}
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	c.begin_ms = now_ms();
	if (start(&c) < 0) {
		c.failed = 1;
	} else {
		loop(&c);
		acknowledge(&c);
		if (!c.o.quiet) {
			print_summary(&c, true);
		}
		c.failed |= faults(&c) > 0;
	}
	stop(&c);
	return c.failed;
}
