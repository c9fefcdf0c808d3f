/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nanet3-perf selftest: runs the self-test of selftest.h on a board, with puts between the two buffers of
 * loopback.h. The fixed puts come first, then --count random ones. Each failure is printed to stderr; the
 * test stops at failure number REPORTED_MAX.
 */
#include <inttypes.h>
#include <string.h>

#include "driver/perf/measure.h"
#include "driver/perf/selftest.h"

#define RANDOM_PUTS  500u
#define REPORTED_MAX 10u /* failures; then it ends */

static const struct table figures = {
	.name = "selftest",
	.columns = {{"puts", 0}, {"bytes", 0}, {"failed", 0}, {"seed", 0}},
};

struct check {
	struct loopback l;
	const struct perf_options *options;
	unsigned turn;
	unsigned reported;
	struct results *results;
};

/* Both ways of waiting in turn, where both are wanted. */
static enum perf_mode mode_of(struct check *c)
{
	enum perf_mode mode;

	do {
		mode = (enum perf_mode)(c->turn++ % PERF_MODES);
	} while (!c->options->modes[mode]);
	return mode;
}

static int move(void *context, const struct selftest_put *put)
{
	struct check *c = context;

	return loopback_move(&c->l, mode_of(c), put->source_offset, put->destination_offset,
			     put->length);
}

static bool failed(void *context, const struct selftest_failure *failure)
{
	struct check *c = context;
	char text[512];

	selftest_describe(failure, text, sizeof(text));
	fprintf(stderr, "nanet3-perf: selftest: %s\n", text);
	return ++c->reported < REPORTED_MAX;
}

static int run(struct check *c, struct selftest_result *ret_result)
{
	const struct selftest test = {
		.source = c->l.source,
		.destination = c->l.destination,
		.seed = c->options->seed,
		.random = c->options->count != 0 ? (unsigned)c->options->count : RANDOM_PUTS,
		.move = move,
		.failed = failed,
		.context = c,
	};
	int err = selftest_run(&test, ret_result);

	if (err < 0) {
		snprintf(c->results->note, sizeof(c->results->note), "put %" PRIu64,
			 ret_result->puts);
	}
	return err;
}

int measure_check(const struct perf_options *o, struct nanet3 *b, struct results *r)
{
	struct check c = {.options = o, .results = r};
	struct selftest_result result;
	int err = loopback_create(b, SELFTEST_BYTES, &c.l);

	r->figures = figures;
	if (err < 0) {
		strcpy(r->note, "registering buffers");
		return err;
	}
	if (o->format == PERF_TEXT) { /* where to look, from outside */
		printf("selftest: %u bytes from %p to %p\n", SELFTEST_BYTES, (void *)c.l.source,
		       (void *)c.l.destination);
		fflush(stdout);
	}
	err = run(&c, &result);
	loopback_destroy(&c.l);
	if (err < 0) {
		return err;
	}
	if (result.failures > 0) {
		r->unsound = true;
		snprintf(r->note, sizeof(r->note),
			 "%" PRIu64 " of %" PRIu64 " puts did not arrive as sent%s",
			 result.failures, result.puts,
			 c.reported == REPORTED_MAX ? "; the test ended there" : "");
	}
	return table_add(&r->figures, (double)result.puts, (double)result.bytes,
			 (double)result.failures, (double)o->seed);
}
