/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fcm-consumer: a consumer process of the station, on libfcmdata. As a reserved consumer (--endpoint) it
 * acknowledges in batches what it has checked and recorded; as a monitor (--monitor) it only listens.
 * What it checks is in consumer_check.h. Ends with one line of JSON on SIGTERM, SIGINT or after --seconds.
 *
 * Exit: 0; 1 when it was refused, could not record, or --check found something; 2 usage.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <malloc.h>
#include <jansson.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tests/system/consumer_check.h"

#define CREDIT_DEFAULT 64u
#define BATCH_MAX      32u /* blocks before an acknowledgement */
#define BATCH_MS       250 /* a slow consumer lives by its acknowledgements */
#define WAIT_MS	       50

struct options {
	const char *endpoint, *monitor, *topic, *name, *group, *record, *runs, *server_key,
		*key_file;
	unsigned credit, seconds, stall_after, slow_us, leap;
	int tai_utc_s, day_origin;
	bool check, complete, quiet, each_second;
};

/* The run that the blocks of a slice carry. */
struct run_line {
	uint32_t dma_epoch, run;
	uint64_t frames, slice_id; /* frames: the slice's number on the board's count line */
};

struct consumer {
	struct options o;
	struct fcmdata *data;
	struct consumer_check *check;
	int record_fd;
	FILE *runs;
	struct run_line line[FCM_LINKS][FCM_STREAMS]; /* the last ones */
	struct fcm_ack done[BATCH_MAX];		      /* checked, not acknowledged yet */
	unsigned dones;
	int64_t begin_ms, batch_ms;
	int failed; /* exit code */
};

static volatile sig_atomic_t ended;

static void on_signal(int number)
{
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

/* ---- blocks ---- */

static void fail(struct consumer *c)
{
	c->failed = 1;
	ended = 1;
}

/* Write a line when it differs from the last one: link, stream, DMA epoch, slice by count, slice by
 * time (0: none), run. */
static void write_run(struct consumer *c, const struct fcm_block_header *h)
{
	struct run_line *last = &c->line[h->link][h->stream], line;

	memset(&line, 0, sizeof(line));
	line.dma_epoch = h->dma_epoch;
	line.run = h->run;
	line.frames = h->first_frame / FCM_SLICE_FRAMES;
	line.slice_id = h->flags & FCM_BLOCK_NO_TIME ? 0 : h->slice_id;
	if (c->runs && memcmp(&line, last, sizeof(line)) != 0) {
		*last = line;
		fprintf(c->runs, "%u %u %u %llu %llu %u\n", h->link, h->stream, line.dma_epoch,
			(unsigned long long)line.frames, (unsigned long long)line.slice_id,
			line.run);
	}
}

/* What is acknowledged lies in the record. */
static void acknowledge(struct consumer *c)
{
	int r = consumer_check_flush(c->check);

	r = r == 0 && c->runs && fflush(c->runs) != 0 ? -errno : r;
	if (r < 0) {
		fprintf(stderr, "fcm-consumer: %s: %s: nothing more is acknowledged\n",
			c->o.record ? c->o.record : c->o.runs, strerror(-r));
		fail(c);
		return;
	}
	for (unsigned i = 0; i < c->dones && !c->o.monitor; i++) {
		fcmdata_ack(c->data, &c->done[i]);
	}
	c->dones = 0;
	c->batch_ms = now_ms();
	fcmdata_flush(c->data);
}

static void on_block(struct consumer *c, const struct fcmdata_block *b)
{
	if (consumer_check_block(c->check, b, tai_now_ns(c))) {
		c->done[c->dones++] = b->key;
	}
	write_run(c, &b->header);
	fcmdata_release(c->data, b);
	if (c->o.slow_us > 0) {
		usleep(c->o.slow_us);
	}
	if (c->dones == BATCH_MAX || c->dones * 4 >= c->o.credit ||
	    now_ms() - c->batch_ms > BATCH_MS) {
		acknowledge(c);
	}
}

static struct fcmdata_stats stats_of(const struct consumer *c)
{
	struct fcmdata_stats s;

	fcmdata_get_stats(c->data, &s);
	return s;
}

static bool stalled(const struct consumer *c)
{
	return c->o.stall_after > 0 && stats_of(c).blocks >= c->o.stall_after;
}

/* A block, or a while without one. */
static int turn(struct consumer *c)
{
	const struct fcmdata_block *b;
	int r;

	if (stalled(c)) {
		acknowledge(c);
		usleep(WAIT_MS * 1000);
		return fcmdata_alive(c->data);
	}
	r = fcmdata_receive(c->data, c->dones > 0 ? 0 : WAIT_MS, &b);
	if (r == 1) {
		on_block(c, b);
	} else if (r == 0 && c->dones > 0) {
		acknowledge(c);
	}
	return r;
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
	const struct fcmdata_stats s = stats_of(c);
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
		{"acknowledged", s.acknowledged},
		{"resent", n->resent},
		{"repeats", n->repeats},
		{"partly_repeated", n->partly},
		{"repeats_unflagged", n->repeats_unflagged},
		{"gaps", n->gaps},
		{"misjudged", n->misjudged},
		{"gap_frames", s.gap_frames},
		{"gap_lost", s.gap_lost},
		{"crc_errors", s.header_crcs + s.payload_crcs},
		{"malformed", n->malformed + s.malformed + s.strangers},
		{"bad_hits", n->bad_hits},
		{"time_errors", n->time_errors},
		{"label_errors", n->label_errors},
		{"no_time", n->no_time},
		{"fifo_full", n->fifo_full},
		{"hellos", s.hellos},
		{"welcomes", s.welcomes},
		{"too_slow", s.too_slow},
		{"failed_handshakes", s.failed_handshakes},
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
	const struct fcmdata_stats s = stats_of(c);
	uint64_t found = 0;

	if (c->o.check) {
		found = s.header_crcs + s.payload_crcs + s.malformed + s.strangers + n->malformed +
			n->partly + n->repeats_unflagged + n->misjudged + n->bad_hits +
			n->time_errors + n->label_errors;
	}
	return found + (c->o.complete ? n->gaps : 0);
}

/* ---- life ---- */

static void loop(struct consumer *c)
{
	int64_t next_print_ms = c->begin_ms + 1000;

	while (!ended) {
		int r = turn(c);
		int64_t now = now_ms();

		if (r == -ECONNREFUSED) {
			fprintf(stderr, "fcm-consumer: refused by %s: %s\n", c->o.endpoint,
				fcmdata_refusal(c->data));
			fail(c);
		} else if (r < 0 && r != -EINTR) {
			fprintf(stderr, "fcm-consumer: %s\n", strerror(-r));
			fail(c);
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

static int open_data(struct consumer *c)
{
	const char *const topics[] = {c->o.topic, NULL};
	const struct fcmdata_config config = {
		.mode = c->o.monitor ? FCMDATA_MONITOR : FCMDATA_RESERVED,
		.endpoint = c->o.monitor ? c->o.monitor : c->o.endpoint,
		.name = c->o.name,
		.group = c->o.group,
		.credit = c->o.credit,
		.topics = topics,
		.server_key = c->o.server_key,
		.key_file = c->o.key_file,
	};

	return fcmdata_open(&config, &c->data);
}

static int open_record(struct consumer *c)
{
	struct stat st;

	c->record_fd = -1;
	c->runs = c->o.runs ? fopen(c->o.runs, "ae") : NULL;
	if (c->o.runs && !c->runs) {
		return -errno;
	}
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
		fprintf(stderr, "fcm-consumer: %s: %s\n",
			c->o.runs && !c->runs ? c->o.runs : c->o.record, strerror(-r));
		return -1;
	}
	c->check = consumer_check_create(c->o.tai_utc_s, c->o.leap ? c->o.leap : INT64_MAX,
					 (enum hit_day_origin)c->o.day_origin, c->record_fd);
	if (!c->check) {
		fprintf(stderr, "fcm-consumer: out of memory\n");
		return -1;
	}
	r = open_data(c);
	if (r < 0) {
		fprintf(stderr, "fcm-consumer: %s, name %s, group %s: %s\n",
			c->o.monitor ? c->o.monitor : c->o.endpoint, c->o.name, c->o.group,
			strerror(-r));
		return -1;
	}
	return 0;
}

static void stop(struct consumer *c)
{
	fcmdata_close(c->data);
	if (c->record_fd >= 0) {
		close(c->record_fd);
	}
	if (c->runs) {
		fclose(c->runs);
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
	"  --server-key KEY  the daemon's public key, where it asks for keys; with\n"
	"  --key-file FILE   its own, of fcmctl key make\n"
	"  --record FILE     append a record per frame and stream for truth-compare\n"
	"  --runs FILE       append a line per link, stream, slice and run\n"
	"  --check           exit 1 when something is wrong in what came\n"
	"  --complete        exit 1 when blocks are missing as well\n"
	"  --seconds N       end after N seconds\n"
	"  --each-second     a summary line each second, not only at the end\n"
	"  --tai-utc S       TAI - UTC (default 37)\n"
	"  --leap UTC        one more from this midnight on (s since 1970), after 23:59:60\n"
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
		{"runs", TEXT, &o->runs},
		{"server-key", TEXT, &o->server_key},
		{"key-file", TEXT, &o->key_file},
		{"credit", NUMBER, &o->credit, 1, 1024},
		{"seconds", NUMBER, &o->seconds, 1, 1000000000},
		{"stall-after", NUMBER, &o->stall_after, 1, 1000000000},
		{"slow-us", NUMBER, &o->slow_us, 0, 10000000},
		{"tai-utc", NUMBER, &tai_utc, 0, 100},
		{"leap", NUMBER, &o->leap, 1, UINT32_MAX},
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
	/* fcmdata(3), Memory */
	mallopt(M_MMAP_THRESHOLD, 32 << 20);
	mallopt(M_TRIM_THRESHOLD, 256 << 20);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	c.begin_ms = c.batch_ms = now_ms();
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
