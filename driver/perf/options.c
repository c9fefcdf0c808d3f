/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See options.h. One table says for each option its name, what it takes, what it does, its help. */
#include "driver/perf/options.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_VALUE 256 /* of getopt_long: behind all characters */

static const struct command_entry {
	const char *name, *help;
	bool sized, drawn; /* takes --size and --sizes; --gnuplot */
} commands[] = {
	{"latency", "of one put at a time, over packet sizes: mean, p50, p99, max, histogram", true,
	 true},
	{"bandwidth", "of many puts at once, over packet sizes", true, true},
	{"receive", "data of a link: how much later than the soonest its reader has them", false,
	 false},
	{"translation", "of addresses: TLB hit, page walk, table miss", false, true},
	{"selftest", "patterns at odd offsets and lengths, compared bit for bit", false, false},
};

struct option_entry {
	const char *name;
	const char *arg; /* NULL: takes none */
	const char *help;
	/* NULL when well, else what it wants. */
	const char *(*take)(struct perf_options *o, const char *arg);
};

/* ---------------------------------------------------------------- values */

static bool whole(const char *text, uint64_t low, uint64_t high, uint64_t *ret_value,
		  const char **ret_end)
{
	char *end;
	unsigned long long value;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (text[0] < '0' || text[0] > '9' || errno != 0 || value < low || value > high) {
		return false;
	}
	*ret_value = value;
	*ret_end = end;
	return true;
}

/* Bytes, k and M for 1024 and 1024 x 1024 of them. */
static bool size(const char *text, uint64_t *ret_value, const char **ret_end)
{
	const char *end;
	uint64_t value;
	unsigned shift = 0;

	if (!whole(text, 1, PERF_SIZE_MAX, &value, &end)) {
		return false;
	}
	if (*end == 'k' || *end == 'K' || *end == 'M') {
		shift = *end == 'M' ? 20 : 10;
		end++;
	}
	*ret_value = value << shift;
	*ret_end = end;
	return *ret_value <= PERF_SIZE_MAX;
}

static const char *take_board(struct perf_options *o, const char *arg)
{
	const char *end;
	uint64_t number;

	if (!whole(arg, 0, 255, &number, &end) || *end != '\0') {
		return "a board's number, 0 to 255";
	}
	snprintf(o->where, sizeof(o->where), "/dev/nanet3-%" PRIu64, number);
	return NULL;
}

static const char *take_mode(struct perf_options *o, const char *arg)
{
	bool both = strcmp(arg, "both") == 0;

	o->modes[PERF_INTERRUPT] = both || strcmp(arg, "interrupt") == 0;
	o->modes[PERF_POLLING] = both || strcmp(arg, "polling") == 0;
	return o->modes[PERF_INTERRUPT] || o->modes[PERF_POLLING] ? NULL
								  : "interrupt, polling or both";
}

static const char *take_size(struct perf_options *o, const char *arg)
{
	const char *end;

	if (!size(arg, &o->size_low, &end) || *end != '\0') {
		return "bytes, 1 to 64M";
	}
	o->size_high = o->size_low;
	return NULL;
}

static const char *take_sizes(struct perf_options *o, const char *arg)
{
	const char *end;

	if (!size(arg, &o->size_low, &end) || strncmp(end, "..", 2) != 0 ||
	    !size(end + 2, &o->size_high, &end) || *end != '\0' || o->size_high < o->size_low) {
		return "two sizes, as 16..256k";
	}
	return NULL;
}

static const char *take_count(struct perf_options *o, const char *arg)
{
	const char *end;

	return whole(arg, 1, 100000000, &o->count, &end) && *end == '\0' ? NULL : "1 to 100000000";
}

static const char *take_seed(struct perf_options *o, const char *arg)
{
	const char *end;

	return whole(arg, 0, UINT64_MAX, &o->seed, &end) && *end == '\0' ? NULL : "a whole number";
}

static const char *take_link(struct perf_options *o, const char *arg)
{
	const char *end;
	uint64_t number;

	if (!whole(arg, 0, NANET3_LINKS - 1, &number, &end) || *end != '\0') {
		return "a link, 0 to 3";
	}
	o->link = (unsigned)number;
	return NULL;
}

static const char *take_format(struct perf_options *o, enum perf_format format)
{
	bool other = o->format != PERF_TEXT && o->format != format;

	o->format = format;
	return other ? "one of --json and --csv" : NULL;
}

static const char *take_json(struct perf_options *o, const char *arg)
{
	(void)arg;
	return take_format(o, PERF_JSON);
}

static const char *take_csv(struct perf_options *o, const char *arg)
{
	(void)arg;
	return take_format(o, PERF_CSV);
}

static const char *take_gnuplot(struct perf_options *o, const char *arg)
{
	o->gnuplot = arg;
	return NULL;
}

static const struct option_entry entries[] = {
	{"board", "N", "the board /dev/nanet3-N (default 0)", take_board},
	{"mode", "interrupt|polling|both", "how to wait (default both, in turn)", take_mode},
	{"size", "S", "one packet size in bytes; k and M are understood", take_size},
	{"sizes", "A..B", "packet sizes from A, doubling, to B", take_sizes},
	{"count", "N", "puts a size and mode; buffers; batches; random puts", take_count},
	{"link", "N", "to receive from (default 0)", take_link},
	{"seed", "N", "of the self-test's random numbers (default 1)", take_seed},
	{"json", NULL, "results as JSON", take_json},
	{"csv", NULL, "results as CSV", take_csv},
	{"gnuplot", "FILE", "write data and script; gnuplot FILE makes FILE.svg", take_gnuplot},
};
#define ENTRIES (sizeof(entries) / sizeof(entries[0]))

/* ---------------------------------------------------------------- parser */

static void print_help(void)
{
	printf("usage: nanet3-perf COMMAND [--board N | WHERE] [OPTION ...]\n"
	       "WHERE is a device, or unix:PATH of a nanet3-emu. Commands:\n");
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		printf("  %-12s %s\n", commands[i].name, commands[i].help);
	}
	printf("Options:\n");
	for (size_t i = 0; i < ENTRIES; i++) {
		char left[64];

		snprintf(left, sizeof(left), "--%s%s%s", entries[i].name, entries[i].arg ? " " : "",
			 entries[i].arg ? entries[i].arg : "");
		printf("  %-31s %s\n", left, entries[i].help);
	}
	printf("  %-31s %s\n  %-31s %s\n", "--help", "this", "--version", "the version");
}

static void make_longs(struct option *ret_longs)
{
	for (size_t i = 0; i < ENTRIES; i++) {
		ret_longs[i] = (struct option){
			.name = entries[i].name,
			.has_arg = entries[i].arg ? required_argument : no_argument,
			.val = FIRST_VALUE + (int)i,
		};
	}
	ret_longs[ENTRIES] = (struct option){.name = "help", .val = 'h'};
	ret_longs[ENTRIES + 1] = (struct option){.name = "version", .val = 'V'};
	ret_longs[ENTRIES + 2] = (struct option){0};
}

static int words(char **argv, int count, struct perf_options *o, char *ret_error, size_t error_size)
{
	const struct command_entry *command = NULL;

	if (count < 1) {
		snprintf(ret_error, error_size, "which command?");
		return -EINVAL;
	}
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (strcmp(argv[0], commands[i].name) == 0) {
			command = &commands[i];
		}
	}
	if (command == NULL) {
		snprintf(ret_error, error_size, "no command %s", argv[0]);
		return -EINVAL;
	}
	if ((o->size_low != 0 && !command->sized) || (o->gnuplot != NULL && !command->drawn)) {
		snprintf(ret_error, error_size, "%s takes no --%s", command->name,
			 o->size_low != 0 && !command->sized ? "size" : "gnuplot");
		return -EINVAL;
	}
	o->command = command->name;
	if (count > 2 || (count == 2 && o->where[0] != '\0')) {
		snprintf(ret_error, error_size, "one board at a time: %s", argv[count - 1]);
		return -EINVAL;
	}
	if (count == 2 && strlen(argv[1]) >= sizeof(o->where)) {
		snprintf(ret_error, error_size, "too long: %s", argv[1]);
		return -EINVAL;
	}
	if (count == 2 || o->where[0] == '\0') {
		snprintf(o->where, sizeof(o->where), "%s", count == 2 ? argv[1] : "/dev/nanet3-0");
	}
	return 0;
}

int perf_options_parse(int argc, char **argv, struct perf_options *ret_options, char *ret_error,
		       size_t error_size)
{
	struct perf_options o = {.modes = {true, true}, .seed = 1};
	struct option longs[ENTRIES + 3];
	int c, r;

	make_longs(longs);
	optind = 0; /* all anew: tests parse more than once */
	opterr = 0;
	while ((c = getopt_long(argc, argv, "hV", longs, NULL)) != -1) {
		const char *wants;

		if (c == 'h' || c == 'V') {
			if (c == 'h') {
				print_help();
			} else {
				printf("nanet3-perf %s\n", FCM_VERSION);
			}
			return 1;
		}
		if (c < FIRST_VALUE) {
			snprintf(ret_error, error_size, "not understood: %s", argv[optind - 1]);
			return -EINVAL;
		}
		wants = entries[c - FIRST_VALUE].take(&o, optarg);
		if (wants != NULL) {
			snprintf(ret_error, error_size, "--%s%s%s: wants %s",
				 entries[c - FIRST_VALUE].name, optarg ? " " : "",
				 optarg ? optarg : "", wants);
			return -EINVAL;
		}
	}
	r = words(argv + optind, argc - optind, &o, ret_error, error_size);
	if (r == 0) {
		*ret_options = o;
	}
	return r;
}
