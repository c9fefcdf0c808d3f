/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Command line of nanet3-perf: see options.h; driver/options parses it. */
#include "driver/perf/options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "driver/options/options.h"
#include "driver/perf/measure.h"

static const struct perf_command commands[] = {
	{"latency", measure_latency, .sized = true, .drawn = true},
	{"bandwidth", measure_bandwidth, .sized = true, .drawn = true},
	{"receive", measure_receive},
	{"translation", measure_translation, .drawn = true},
	{"selftest", measure_check},
};

/* Bytes; k and M for 1024 and 1024 x 1024 of them. */
static bool size(const char *text, uint64_t *ret_value, const char **ret_end)
{
	const char *end;
	uint64_t value;
	unsigned shift = 0;

	if (!option_whole(text, 1, PERF_SIZE_MAX, &value, &end)) {
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

static const char *take_mode(void *settings, const char *arg)
{
	struct perf_options *o = settings;
	bool both = strcmp(arg, "both") == 0;

	o->modes[PERF_INTERRUPT] = both || strcmp(arg, "interrupt") == 0;
	o->modes[PERF_POLLING] = both || strcmp(arg, "polling") == 0;
	return o->modes[PERF_INTERRUPT] || o->modes[PERF_POLLING] ? NULL
								  : "interrupt, polling or both";
}

static const char *take_sizes(void *settings, const char *arg)
{
	struct perf_options *o = settings;
	const char *end;

	if (!size(arg, &o->size_low, &end) || strncmp(end, "..", 2) != 0 ||
	    !size(end + 2, &o->size_high, &end) || *end != '\0' || o->size_high < o->size_low) {
		return "two sizes, as 16..256k";
	}
	return NULL;
}

static const char *take_size(void *settings, const char *arg)
{
	struct perf_options *o = settings;
	const char *end;

	if (!size(arg, &o->size_low, &end) || *end != '\0') {
		return "bytes, 1 to 64M";
	}
	o->size_high = o->size_low;
	return NULL;
}

/* The settings, and what they are made of. */
struct line {
	struct perf_options o;
	unsigned board;
	bool json, csv;
};

#define NO_BOARD 256u /* none was given */

#define AT(field) .at = offsetof(struct line, field)

static const struct option_entry entries[] = {
	{"board", "N", "the board /dev/nanet3-N (default 0)", OPTION_WHOLE, AT(board), 0, 255,
	 "a board's number, 0 to 255"},
	{"mode", "interrupt|polling|both", "how to wait (default both, in turn)",
	 .take = take_mode},
	{"size", "S", "one packet size in bytes, with k or M for KiB or MiB", .take = take_size},
	{"sizes", "A..B", "packet sizes from A, doubling, to B", .take = take_sizes},
	{"count", "N", "puts per size and mode; buffers; batches; random puts", OPTION_WHOLE64,
	 AT(o.count), 1, 100000000, "1 to 100000000"},
	{"link", "N", "link to receive from (default 0)", OPTION_WHOLE, AT(o.link), 0,
	 NANET3_LINKS - 1, "a link, 0 to 3"},
	{"seed", "N", "seed of the self-test's random numbers (default 1)", OPTION_WHOLE64,
	 AT(o.seed), .wants = "a whole number"},
	{"json", NULL, "results as JSON", OPTION_FLAG, AT(json)},
	{"csv", NULL, "results as CSV", OPTION_FLAG, AT(csv)},
	{"gnuplot", "FILE", "write data and script; gnuplot FILE makes FILE.svg", OPTION_TEXT,
	 AT(o.gnuplot)},
};

static const struct options options = {
	.program = "nanet3-perf",
	.head = "usage: nanet3-perf COMMAND [--board N | WHERE] [OPTION ...]\n"
		"WHERE is a device, or unix:PATH of a nanet3-emu. Commands:\n"
		"  latency      one put at a time, over packet sizes: mean, p50, p99, max, "
		"histogram\n"
		"  bandwidth    many puts at once, over packet sizes\n"
		"  receive      data of a link: how much later than the earliest its reader has "
		"them\n"
		"  translation  time to translate addresses: TLB hit, page walk, table miss\n"
		"  selftest     patterns at odd offsets and lengths, compared bit for bit\n"
		"Options:\n",
	.tail = "",
	.entries = entries,
	.count = sizeof(entries) / sizeof(entries[0]),
};

static int words(char **argv, int count, struct line *line, char *ret_error, size_t error_size)
{
	struct perf_options *o = &line->o;
	const struct perf_command *command = NULL;

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
		snprintf(ret_error, error_size, "unknown command %s", argv[0]);
		return -EINVAL;
	}
	if ((o->size_low != 0 && !command->sized) || (o->gnuplot != NULL && !command->drawn)) {
		snprintf(ret_error, error_size, "%s does not take --%s", command->name,
			 o->size_low != 0 && !command->sized ? "size" : "gnuplot");
		return -EINVAL;
	}
	o->command = command;
	if (count > 2 || (count == 2 && line->board != NO_BOARD)) {
		snprintf(ret_error, error_size, "one board at a time: %s", argv[count - 1]);
		return -EINVAL;
	}
	if (count == 2 && strlen(argv[1]) >= sizeof(o->where)) {
		snprintf(ret_error, error_size, "too long: %s", argv[1]);
		return -EINVAL;
	}
	if (count == 2) {
		strcpy(o->where, argv[1]);
	} else {
		snprintf(o->where, sizeof(o->where), "/dev/nanet3-%u",
			 line->board == NO_BOARD ? 0 : line->board);
	}
	return 0;
}

int perf_options_parse(int argc, char **argv, struct perf_options *ret_options, char *ret_error,
		       size_t error_size)
{
	struct line line = {.o = {.modes = {true, true}, .seed = 1}, .board = NO_BOARD};
	int rest,
		r = options_parse(&options, argc, argv, &line, &rest, NULL, ret_error, error_size);

	if (r != 0) {
		return r;
	}
	if (line.json && line.csv) {
		snprintf(ret_error, error_size, "one of --json and --csv");
		return -EINVAL;
	}
	line.o.format = line.json ? PERF_JSON : line.csv ? PERF_CSV : PERF_TEXT;
	r = words(argv + rest, argc - rest, &line, ret_error, error_size);
	if (r == 0) {
		*ret_options = line.o;
	}
	return r;
}
