/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nanet3-perf without a board: statistics, options, patterns, the self-test's judgement, results. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "driver/perf/options.h"
#include "driver/perf/measure.h"
#include "driver/perf/selftest.h"
#include "driver/perf/statistics.h"

/* ------------------------------------------------------------------------ statistics */

static void percentiles(void **state)
{
	static const struct {
		size_t count; /* samples 1..count, in a wild order */
		uint64_t p50, p99;
		double mean;
	} cases[] = {
		{1, 1, 1, 1},
		{2, 1, 2, 1.5},
		{3, 2, 3, 2},
		{100, 50, 99, 50.5},
		{101, 51, 100, 51},
		{1000, 500, 990, 500.5},
		{9999, 5000, 9900, 5000},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct samples s;
		struct summary r;

		assert_int_equal(samples_create(&s, cases[i].count), 0);
		for (size_t k = 0; k < cases[i].count; k++) {
			samples_add(&s, (k * 7919) % cases[i].count + 1); /* a prime: each once */
		}
		samples_add(&s, 1000000); /* no room */
		r = samples_summary(&s);
		assert_int_equal(r.count, cases[i].count);
		assert_int_equal(r.min, 1);
		assert_int_equal(r.max, cases[i].count);
		assert_int_equal(r.p10, (cases[i].count + 9) / 10);
		assert_int_equal(r.p50, cases[i].p50);
		assert_int_equal(r.p99, cases[i].p99);
		assert_true(r.mean == cases[i].mean);
		assert_int_equal(samples_quantile(&s, 1), cases[i].count);
		assert_int_equal(samples_quantile(&s, 1e-9), 1);
		samples_destroy(&s);
	}
}

static void no_samples(void **state)
{
	struct samples s;
	struct summary r;
	struct bin bins[HISTOGRAM_BINS];

	assert_int_equal(samples_create(&s, 1), 0);
	r = samples_summary(&s);
	assert_int_equal(r.count + r.min + r.max + r.p10 + r.p50 + r.p99, 0);
	assert_int_equal(samples_histogram(&s, bins), 0);
	samples_destroy(&s);
}

/* Every value falls into the one bin that says so, and bins join without a hole. */
static void histogram(void **state)
{
	static const uint64_t values[] = {0,
					  1,
					  3,
					  4,
					  5,
					  7,
					  8,
					  9,
					  15,
					  16,
					  19,
					  20,
					  1000,
					  1023,
					  1024,
					  1279,
					  1280,
					  999999,
					  123456789,
					  UINT64_MAX / 2,
					  UINT64_MAX - 1};
	struct bin bins[HISTOGRAM_BINS];
	const size_t n = sizeof(values) / sizeof(values[0]);
	struct samples s;
	size_t all = 0;
	unsigned used;

	assert_int_equal(samples_create(&s, n), 0);
	for (size_t i = 0; i < n; i++) {
		samples_add(&s, values[i]);
	}
	used = samples_histogram(&s, bins);
	for (unsigned i = 0; i < used; i++) {
		size_t inside = 0;

		for (size_t k = 0; k < n; k++) {
			inside += values[k] >= bins[i].low && values[k] < bins[i].high;
		}
		assert_int_equal(bins[i].count, inside);
		assert_true(i == 0 || bins[i].low == bins[i - 1].high);
		assert_true(bins[i].high > bins[i].low);
		all += bins[i].count;
	}
	assert_int_equal(all, n);
	assert_int_equal(bins[0].low, 0);
	samples_destroy(&s);
}

/* ------------------------------------------------------------------------ options */

static int parse(const char *line, struct perf_options *o, char *error, size_t size)
{
	char copy[256], *argv[16] = {"nanet3-perf"}, *rest = copy, *word;
	int argc = 1;

	snprintf(copy, sizeof(copy), "%s", line);
	while ((word = strsep(&rest, " ")) != NULL) {
		argv[argc++] = word;
	}
	return perf_options_parse(argc, argv, o, error, size);
}

static void options_understood(void **state)
{
	static const struct {
		const char *line, *command, *where;
		bool interrupt, polling;
		uint64_t low, high, count, seed;
		enum perf_format format;
	} cases[] = {
		{"latency", "latency", "/dev/nanet3-0", true, true, 0, 0, 0, 1, PERF_TEXT},
		{"bandwidth --board 3", "bandwidth", "/dev/nanet3-3", true, true, 0, 0, 0, 1,
		 PERF_TEXT},
		{"latency unix:/run/x --mode polling --size 4k", "latency", "unix:/run/x", false,
		 true, 4096, 4096, 0, 1, PERF_TEXT},
		{"--mode interrupt bandwidth --sizes 16..1M --json", "bandwidth", "/dev/nanet3-0",
		 true, false, 16, 1 << 20, 0, 1, PERF_JSON},
		{"latency --sizes 5..5 --csv --count 100000", "latency", "/dev/nanet3-0", true,
		 true, 5, 5, 100000, 1, PERF_CSV},
		{"selftest --seed 18446744073709551615 --mode both", "selftest", "/dev/nanet3-0",
		 true, true, 0, 0, 0, UINT64_MAX, PERF_TEXT},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct perf_options o;
		char error[256] = "";

		if (parse(cases[i].line, &o, error, sizeof(error)) != 0) {
			fail_msg("%s: %s", cases[i].line, error);
		}
		assert_string_equal(o.command->name, cases[i].command);
		assert_string_equal(o.where, cases[i].where);
		assert_int_equal(o.modes[PERF_INTERRUPT], cases[i].interrupt);
		assert_int_equal(o.modes[PERF_POLLING], cases[i].polling);
		assert_int_equal(o.size_low, cases[i].low);
		assert_int_equal(o.size_high, cases[i].high);
		assert_int_equal(o.count, cases[i].count);
		assert_true(o.seed == cases[i].seed);
		assert_int_equal(o.format, cases[i].format);
	}
}

static void options_refused(void **state)
{
	static const struct {
		const char *line, *says; /* part of the message */
	} cases[] = {
		{"--json", "which command"},
		{"latency --json --csv", "one of --json and --csv"},
		{"jump", "unknown command jump"},
		{"latency --what", "unknown or incomplete option: --what"},
		{"latency --size", "unknown or incomplete option"},
		{"latency --size 0", "--size 0: needs bytes"},
		{"latency --size 4x", "needs bytes"},
		{"latency --size -4", "needs bytes"},
		{"latency --size 65M", "needs bytes"},
		{"latency --sizes 16", "needs two sizes"},
		{"latency --sizes 16..", "needs two sizes"},
		{"latency --sizes 32..16", "needs two sizes"},
		{"latency --sizes 16..32..64", "needs two sizes"},
		{"latency --count 0", "needs 1 to"},
		{"latency --mode sleep", "needs interrupt, polling or both"},
		{"latency --board x", "needs a board's number"},
		{"latency --board 0 unix:/x", "one board at a time"},
		{"latency unix:/x unix:/y", "one board at a time"},
		{"translation --size 8", "translation does not take --size"},
		{"selftest --gnuplot x", "selftest does not take --gnuplot"},
		{"receive --link 4", "needs a link"},
		{"receive --sizes 1..2", "receive does not take --size"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct perf_options o = {.seed = 77};
		char error[256] = "";

		assert_int_equal(parse(cases[i].line, &o, error, sizeof(error)), -EINVAL);
		assert_int_equal(o.seed, 77);
		if (strstr(error, cases[i].says) == NULL) {
			fail_msg("%s: says \"%s\"", cases[i].line, error);
		}
	}
}

/* ------------------------------------------------------------------------ patterns */

static void patterns_are_what_they_say(void **state)
{
	uint8_t p[64], q[64];

	pattern_fill(p, sizeof(p), PATTERN_WALKING_ONES, 0);
	for (unsigned i = 0; i < sizeof(p); i++) {
		assert_int_equal(__builtin_popcount(p[i]), 1);
	}
	for (unsigned i = 0; i < 8; i++) { /* in each place each bit */
		unsigned seen = 0;

		for (unsigned k = 0; k < 8; k++) {
			seen |= p[8 * k + i];
		}
		assert_int_equal(seen, 0xff);
	}
	pattern_fill(p, sizeof(p), PATTERN_COUNTER, 0);
	for (uint32_t i = 0; i < sizeof(p) / 4; i++) {
		uint32_t word;

		memcpy(&word, p + 4 * i, 4);
		assert_int_equal(word, i);
	}
	pattern_fill(p, sizeof(p), PATTERN_RANDOM, 1);
	pattern_fill(q, sizeof(q), PATTERN_RANDOM, 1);
	assert_memory_equal(p, q, sizeof(p));
	pattern_fill(q, sizeof(q), PATTERN_RANDOM, 2);
	assert_memory_not_equal(p, q, sizeof(p));
	memset(q, 0, sizeof(q));
	pattern_fill(q, 13, PATTERN_RANDOM, 1); /* not a byte too many */
	assert_memory_equal(p, q, 13);
	assert_int_equal(q[13], 0);
}

static void every_bit_is_compared(void **state)
{
	uint8_t is[100], should[100];

	pattern_fill(is, sizeof(is), PATTERN_RANDOM, 3);
	memcpy(should, is, sizeof(is));
	assert_int_equal(pattern_compare(is, should, sizeof(is)).count, 0);
	for (unsigned bit = 0; bit < 8 * sizeof(is); bit++) {
		struct difference d;

		is[bit / 8] ^= (uint8_t)(1u << bit % 8);
		d = pattern_compare(is, should, sizeof(is));
		assert_int_equal(d.count, 1);
		assert_int_equal(d.first, bit / 8);
		assert_int_equal(d.is ^ d.should, 1u << bit % 8);
		assert_int_equal(d.should, should[bit / 8]);
		is[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	is[7] ^= 1;
	is[99] ^= 0x80;
	assert_int_equal(pattern_compare(is, should, sizeof(is)).count, 2);
	assert_int_equal(pattern_compare(is, should, sizeof(is)).first, 7);
}

/* ------------------------------------------------------------------------ self-test */

enum sabotage {
	NONE,
	FLIP_A_BIT,   /* somewhere in the middle */
	LAST_BYTE,    /* is not written */
	ONE_TOO_MANY, /* behind the end */
	ONE_BEFORE,
	OTHER_PAGE, /* pages of the destination change places */
	NOTHING_MOVED,
	SABOTAGES,
};

struct fake_board {
	uint8_t source[SELFTEST_BYTES], destination[SELFTEST_BYTES];
	enum sabotage sabotage;
	uint64_t at, done; /* put to sabotage */
	struct selftest_failure failure;
	unsigned told;
};

static int fake_move(void *context, const struct selftest_put *put)
{
	struct fake_board *b = context;
	uint8_t *to = b->destination + put->destination_offset, keep = to[put->length - 1];
	bool now = b->done++ == b->at;

	assert_true(put->length >= 1 && put->length <= SELFTEST_LONGEST);
	assert_true(put->source_offset + put->length <= SELFTEST_BYTES);
	assert_true(put->destination_offset + put->length <= SELFTEST_BYTES);
	if (now && b->sabotage == NOTHING_MOVED) {
		return 0;
	}
	memcpy(to, b->source + put->source_offset, put->length);
	if (!now) {
		return 0;
	}
	if (b->sabotage == FLIP_A_BIT) {
		to[put->length / 2] ^= 0x10;
	} else if (b->sabotage == LAST_BYTE) {
		to[put->length - 1] = keep;
	} else if (b->sabotage == ONE_TOO_MANY) {
		to[put->length] ^= 0xff;
	} else if (b->sabotage == ONE_BEFORE) {
		to[-1] ^= 0xff;
	} else if (b->sabotage == OTHER_PAGE) {
		uint8_t page[4096];

		memcpy(page, to, sizeof(page));
		memmove(to, to + 4096, sizeof(page));
		memcpy(to + 4096, page, sizeof(page));
	}
	return 0;
}

static bool fake_failed(void *context, const struct selftest_failure *failure)
{
	struct fake_board *b = context;

	b->failure = *failure;
	b->told++;
	return true;
}

static struct selftest_result run_selftest(struct fake_board *b, enum sabotage sabotage,
					   uint64_t at)
{
	struct selftest test = {
		.source = b->source,
		.destination = b->destination,
		.seed = 5,
		.random = 50,
		.move = fake_move,
		.failed = fake_failed,
		.context = b,
	};
	struct selftest_result r;

	b->sabotage = sabotage;
	b->at = at;
	b->done = 0;
	b->told = 0;
	assert_int_equal(selftest_run(&test, &r), 0);
	assert_int_equal(r.puts, b->done);
	return r;
}

static void selftest_finds_each_sabotage(void **state)
{
	struct fake_board *b = calloc(1, sizeof(*b));
	struct selftest_result good;

	assert_non_null(b);
	good = run_selftest(b, NONE, 0);
	assert_true(good.puts > 1000);
	assert_int_equal(good.failures, 0);
	for (int sabotage = NONE + 1; sabotage < SABOTAGES; sabotage++) {
		/* A long put with an odd destination, of the fixed ones. */
		struct selftest_result r = run_selftest(b, (enum sabotage)sabotage, 16 * 75 + 22);
		const struct selftest_failure *f = &b->failure;
		char text[512];

		assert_int_equal(r.failures, 1);
		assert_int_equal(b->told, 1);
		assert_int_equal(f->number, 16 * 75 + 22);
		assert_int_equal(f->put.length, 65536);
		assert_true(f->put.destination_offset > 0);
		assert_int_equal(f->outside, sabotage == ONE_TOO_MANY || sabotage == ONE_BEFORE);
		selftest_describe(f, text, sizeof(text));
		assert_non_null(strstr(text, "65536 bytes"));
		if (sabotage == FLIP_A_BIT) {
			assert_int_equal(f->offset, f->put.destination_offset + 32768);
			assert_int_equal(f->is ^ f->should, 0x10);
			assert_int_equal(f->wrong, 1);
			assert_non_null(strstr(text, "byte 32768 of it, at destination offset"));
			assert_non_null(strstr(text, "bits 0x10; 1 bytes differ"));
		} else if (sabotage == ONE_TOO_MANY) {
			assert_int_equal(f->offset, f->put.destination_offset + 65536);
			assert_non_null(strstr(text, "of it, outside,"));
		} else if (sabotage == NOTHING_MOVED) {
			assert_int_equal(f->wrong, 65536); /* each byte */
		}
	}
	free(b);
}

/* Whichever put it is, of one byte or many. */
static void selftest_misses_no_put(void **state)
{
	struct fake_board *b = calloc(1, sizeof(*b));
	uint64_t puts = run_selftest(b, NONE, 0).puts;

	for (uint64_t at = 0; at < puts; at += 97) {
		assert_int_equal(run_selftest(b, FLIP_A_BIT, at).failures, 1);
		assert_int_equal(b->failure.number, at);
		assert_int_equal(run_selftest(b, NOTHING_MOVED, at).failures, 1);
	}
	free(b);
}

/* ------------------------------------------------------------------------ results */

static char *written(const struct perf_options *o, const struct results *r, bool gnuplot)
{
	const struct nanet3_info info = {.name = "na\"net'3", .serial = 7, .emulated = 1};
	size_t size;
	char *text = NULL;
	FILE *f = open_memstream(&text, &size);

	assert_non_null(f);
	assert_int_equal(gnuplot ? report_gnuplot(f, "out.gp", o, &info, r)
				 : report_write(f, o, &info, r),
			 0);
	fclose(f);
	return text;
}

static void results_in_each_form(void **state)
{
	struct results r = {.figures = {.name = "bandwidth",
					.columns = {{"size_bytes", 0}, {"mode", -1}, {"x", 2}}}};
	const struct perf_command bandwidth = {.name = "bandwidth"};
	struct perf_options o = {.command = &bandwidth, .where = "unix:/x", .modes = {true, true}};
	char *text;

	for (unsigned i = 0; i < 5; i++) {
		assert_int_equal(
			table_add(&r.figures, (double)(16 << i), perf_mode_name(i % 2), i + 0.125),
			0);
	}
	o.format = PERF_CSV;
	text = written(&o, &r, false);
	assert_string_equal(text, "size_bytes,mode,x\n16,interrupt,0.12\n32,polling,1.12\n"
				  "64,interrupt,2.12\n128,polling,3.12\n256,interrupt,4.12\n");
	free(text);
	o.format = PERF_JSON;
	text = written(&o, &r, false);
	assert_non_null(
		strstr(text, "\"name\": \"na\\\"net'3\", \"serial\": 7, \"emulated\": true"));
	assert_non_null(
		strstr(text, "{\"size_bytes\": 256, \"mode\": \"interrupt\", \"x\": 4.12}\n]}"));
	free(text);
	o.format = PERF_TEXT;
	text = written(&o, &r, false);
	assert_non_null(strstr(text, "bandwidth of na\"net'3 (emulated, serial 7) at unix:/x\n"));
	free(text);
	text = written(&o, &r, true);
	assert_non_null(strstr(
		text, "$polling << EOD\n32 \"polling\" 1.12 \n128 \"polling\" 3.12 \nEOD\n"));
	assert_non_null(strstr(text, "set output 'out.gp.svg'\n"));
	assert_non_null(strstr(text, "na\"net''3"));
	assert_non_null(strstr(text, "plot $interrupt using"));
	free(text);
	table_fini(&r.figures);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(percentiles),
		cmocka_unit_test(no_samples),
		cmocka_unit_test(histogram),
		cmocka_unit_test(options_understood),
		cmocka_unit_test(options_refused),
		cmocka_unit_test(patterns_are_what_they_say),
		cmocka_unit_test(every_bit_is_compared),
		cmocka_unit_test(selftest_finds_each_sabotage),
		cmocka_unit_test(selftest_misses_no_put),
		cmocka_unit_test(results_in_each_form),
	};

	return cmocka_run_group_tests_name("nanet3-perf", tests, NULL, NULL);
}
