/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Options of nanet3-emu. One table says for each its name, what it takes, what it does, and its help
 * line; the parser below it knows none of them by name.
 */
#include "driver/emu/emu_options.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FIRST_VALUE 256 /* of getopt_long: behind all characters */

struct option_entry {
	const char *name;
	const char *arg; /* NULL: takes none */
	const char *help;
	/* NULL when well, else what it wants. */
	const char *(*take)(struct emu_options *o, const char *arg);
	bool sea; /* of what a recording stands in for: goes with --play nowhere */
};

/* ---------------------------------------------------------------- values */

static bool number(const char *text, double low, double high, double *ret_value)
{
	char *end;
	double value;

	errno = 0;
	value = strtod(text, &end);
	if (end == text || *end != '\0' || errno != 0 || !(value >= low && value <= high)) {
		return false;
	}
	*ret_value = value;
	return true;
}

static bool whole(const char *text, double low, double high, double *ret_value)
{
	return number(text, low, high, ret_value) && *ret_value == floor(*ret_value);
}

static const char *take_unsigned(const char *arg, double low, double high, unsigned *ret_value,
				 const char *wants)
{
	double value;

	if (!whole(arg, low, high, &value)) {
		return wants;
	}
	*ret_value = (unsigned)value;
	return NULL;
}

/* Exactly `count` whole numbers between commas. */
static bool list(const char *text, unsigned count, double high, unsigned *ret_values)
{
	char copy[64];
	char *rest = copy;

	if (strlen(text) >= sizeof(copy)) {
		return false;
	}
	memcpy(copy, text, strlen(text) + 1);
	for (unsigned i = 0; i < count; i++) {
		const char *item = strsep(&rest, ",");
		double value;

		if (item == NULL || !whole(item, 0, high, &value)) {
			return false;
		}
		ret_values[i] = (unsigned)value;
	}
	return rest == NULL;
}

/* ---------------------------------------------------------------- what each does */

static const char *take_socket(struct emu_options *o, const char *arg)
{
	o->host.socket_path = arg;
	return NULL;
}

static const char *take_qemu(struct emu_options *o, const char *arg)
{
	return take_unsigned(arg, 16, 1 << 20, &o->qemu.launch.memory_mib, "16 to 1048576 MiB");
}

static const char *take_slot(struct emu_options *o, const char *arg)
{
	o->qemu.launch.bus = arg;
	return strpbrk(arg, " ,") == NULL ? NULL : "the id of a PCI bus";
}

static const char *take_play(struct emu_options *o, const char *arg)
{
	o->world.play_path = arg;
	return NULL;
}

static const char *take_play_once(struct emu_options *o, const char *arg)
{
	(void)arg;
	o->host.play_once = true;
	return NULL;
}

static const char *take_gps(struct emu_options *o, const char *arg)
{
	o->world.gps_path = arg;
	return NULL;
}

static const char *take_scenario(struct emu_options *o, const char *arg)
{
	o->world.scenario_path = arg;
	return NULL;
}

static const char *take_truth(struct emu_options *o, const char *arg)
{
	o->world.truth_path = arg;
	return NULL;
}

static const char *take_executed(struct emu_options *o, const char *arg)
{
	o->world.executed_path = arg;
	return NULL;
}

static const char *take_leap(struct emu_options *o, const char *arg)
{
	o->world.leap_path = arg;
	return NULL;
}

static const char *take_seed(struct emu_options *o, const char *arg)
{
	char *end;

	errno = 0;
	o->world.seed = strtoull(arg, &end, 0);
	return !isdigit((unsigned char)arg[0]) || *end != '\0' || errno != 0 ? "a whole number"
									     : NULL;
}

static const char *take_speed(struct emu_options *o, const char *arg)
{
	o->host.speed = strcmp(arg, "max") == 0 ? HOST_SPEED_MAX : HOST_SPEED_REAL;
	o->host.factor = 1;
	if (strcmp(arg, "max") == 0 || strcmp(arg, "realtime") == 0 ||
	    number(arg, HOST_FACTOR_MIN, HOST_FACTOR_MAX, &o->host.factor)) {
		return NULL;
	}
	return "realtime, max, or a factor of 0.0001 to 1000";
}

static const char *take_load(struct emu_options *o, const char *arg)
{
	static const struct {
		const char *name;
		enum world_load load;
	} loads[] = {{"quiet", WORLD_QUIET}, {"design", WORLD_DESIGN}, {"full", WORLD_FULL}};

	for (unsigned i = 0; i < sizeof(loads) / sizeof(loads[0]); i++) {
		if (strcmp(arg, loads[i].name) == 0) {
			o->world.load = loads[i].load;
			return NULL;
		}
	}
	return "quiet, design or full";
}

static const char *take_rate(struct emu_options *o, const char *arg)
{
	return number(arg, 1, 1e7, &o->world.rate_hz) ? NULL : "1 to 10000000 Hz";
}

static const char *take_cold(struct emu_options *o, const char *arg)
{
	(void)arg;
	o->world.cold = true;
	return NULL;
}

static const char *take_tower(struct emu_options *o, const char *arg)
{
	unsigned tower;
	const char *wrong = take_unsigned(arg, 1, 127, &tower, "1 to 127");

	if (wrong == NULL) {
		o->world.tower = (uint8_t)tower;
	}
	return wrong;
}

static const char *take_floors(struct emu_options *o, const char *arg)
{
	unsigned floors[NANET3_LINKS];

	if (!list(arg, NANET3_LINKS, 31, floors)) {
		return "four floors of 0 to 31, with commas";
	}
	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		o->world.floors[i] = (uint8_t)floors[i];
	}
	return NULL;
}

static const char *take_swap(struct emu_options *o, const char *arg)
{
	if (!list(arg, 2, NANET3_LINKS - 1, o->swap) || o->swap[0] == o->swap[1]) {
		return "two different links of 0 to 3, with a comma";
	}
	return NULL;
}

/* A fibre and the floor at its end go together. */
static void swap_fibres(struct world_config *w, const unsigned links[2])
{
	const uint8_t floor = w->floors[links[0]];
	const double km = w->fibre_km[links[0]];

	w->floors[links[0]] = w->floors[links[1]];
	w->floors[links[1]] = floor;
	w->fibre_km[links[0]] = w->fibre_km[links[1]];
	w->fibre_km[links[1]] = km;
}

static const char *take_start(struct emu_options *o, const char *arg)
{
	struct tm tm = {0};
	const char *end = strptime(arg, "%Y-%m-%dT%H:%M:%S", &tm);

	if (end == NULL || (*end != '\0' && strcmp(end, "Z") != 0) || tm.tm_year < 100 ||
	    tm.tm_year > 199) {
		return "UTC as 2026-12-31T23:59:50, 2000 to 2099";
	}
	o->start_utc_s = timegm(&tm);
	return NULL;
}

static const char *take_seconds(struct emu_options *o, const char *arg)
{
	return number(arg, 0.001, 1e7, &o->host.duration_s) ? NULL : "0.001 to 10000000 s";
}

static const char *take_board(struct emu_options *o, const char *arg)
{
	unsigned board;
	const char *wrong = take_unsigned(arg, 0, 255, &board, "0 to 255");

	if (wrong == NULL) {
		snprintf(o->name, sizeof(o->name), "nanet3-%u", board);
		o->host.serial = 1000 + board;
	}
	return wrong;
}

static const char *take_epoch(struct emu_options *o, const char *arg)
{
	return take_unsigned(arg, 0, 4e9, &o->host.first_epoch, "0 to 4000000000");
}

static const char *take_frames(struct emu_options *o, const char *arg)
{
	return take_unsigned(arg, 1, 419, &o->host.frames_per_buffer, "1 to 419");
}

static const char *take_depth(struct emu_options *o, const char *arg)
{
	return take_unsigned(arg, 1, 60000, &o->host.depth_ms, "1 to 60000 ms");
}

static const char *take_deadline(struct emu_options *o, const char *arg)
{
	return take_unsigned(arg, 125, 1000000, &o->host.deadline_us, "125 to 1000000 us");
}

static const char *take_linger(struct emu_options *o, const char *arg)
{
	return take_unsigned(arg, 0, 3600000, &o->host.linger_ms, "0 to 3600000 ms");
}

static const char *take_fifo(struct emu_options *o, const char *arg)
{
	return take_unsigned(arg, 4096, 64 << 20, &o->world.fifo_bytes, "4096 to 67108864 bytes");
}

static const char *take_ready(struct emu_options *o, const char *arg)
{
	unsigned fd;
	const char *wrong = take_unsigned(arg, 0, 1 << 20, &fd, "an open descriptor");

	if (wrong == NULL) {
		o->ready_fd = (int)fd;
	}
	return wrong;
}

static const struct option_entry entries[] = {
	{"socket", "PATH", "serve libnanet3 on this Unix socket", take_socket},
	{"qemu", "MIB", "or be a PCI device of a guest with so much memory, see below", take_qemu},
	{"slot", "BUS", "the guest's PCI bus that the board sits on (default the first)",
	 take_slot},
	{"play", "DIR", "play a recording in the place of floors and sea, see below", take_play},
	{"play-once", NULL, "end when the recording has been played and taken", take_play_once},
	{"gps-pty", "PATH", "the GPS receiver speaks NMEA; link its terminal here", take_gps, true},
	{"scenario", "FILE", "faults by the clock; the language is in nanet3-emu(1)", take_scenario,
	 true},
	{"truth", "FILE", "write what the floors really sent, a record per link and frame",
	 take_truth, true},
	{"executed", "FILE", "write a line for each command that an FCM executed", take_executed,
	 true},
	{"seed", "N", "same seed, same sea (default 1)", take_seed, true},
	{"speed", "F|realtime|max", "F x 8000 frames a second (1), or as fast as they are taken",
	 take_speed},
	{"load", "quiet|design|full", "155, 300 (default) or 640 Mbps a floor", take_load, true},
	{"rate", "HZ", "hits a module in a quiet sea, instead of --load", take_rate, true},
	{"cold", NULL, "modules and hydrophones begin without power", take_cold, true},
	{"tower", "N", "tower that the floors name themselves by (default 1)", take_tower, true},
	{"floors", "A,B,C,D", "floors on links 0 to 3 (default 1,2,3,4)", take_floors, true},
	{"swap", "A,B", "fibres of links A and B are swapped from the start", take_swap, true},
	{"start", "UTC", "model time begins at, not now: 2026-12-31T23:59:50", take_start, true},
	{"leap-seconds", "FILE",
	 "leap second table (default "
	 "the system's)",
	 take_leap, true},
	{"seconds", "N", "stop by itself after N s of model time", take_seconds},
	{"board", "N", "number of the board: nanet3-N (default 0)", take_board},
	{"first-epoch", "N", "DMA starts of an earlier life: the next is one more", take_epoch},
	{"frames-per-buffer", "N", "frames in a DMA buffer (default 16)", take_frames},
	{"depth-ms", "MS", "depth of each link's ring (default 2000)", take_depth},
	{"deadline-us", "US", "a buffer is handed over after this, full or not (default 5000)",
	 take_deadline},
	{"linger-ms", "MS", "DMA goes on so long after its owner's death (default 10000)",
	 take_linger},
	{"fifo-bytes", "N", "FIFO of each optical module (default 262144)", take_fifo, true},
	{"ready-fd", "FD", "write \"ready\" there instead of on standard output", take_ready},
};
#define ENTRIES (sizeof(entries) / sizeof(entries[0]))

/* ---------------------------------------------------------------- the command line */

static void print_help(void)
{
	printf("nanet3-emu: a NaNet3 board, four floors, the sea and a GPS receiver, in "
	       "software\n\n"
	       "usage: nanet3-emu --socket PATH [option ...]\n"
	       "       nanet3-emu --socket PATH --play DIR [option ...]\n"
	       "       nanet3-emu --qemu MIB [option ...] -- qemu-system-x86_64 [argument "
	       "...]\n\n");
	for (size_t i = 0; i < ENTRIES; i++) {
		char left[48];

		snprintf(left, sizeof(left), "--%s%s%s", entries[i].name,
			 entries[i].arg != NULL ? " " : "",
			 entries[i].arg != NULL ? entries[i].arg : "");
		printf("  %-28s %s\n", left, entries[i].help);
	}
	printf("  %-28s %s\n  %-28s %s\n\n", "--help", "this text", "--version", "the version");
	printf("With --play links bring what fcmctl record has kept, to a daemon of its own, at "
	       "the pace\n"
	       "it was recorded at, or --speed times that; at the end \"played N cells\" is said "
	       "and the\n"
	       "links go dark. Options of the floors and of the sea do not go with it.\n\n"
	       "It says \"ready\" when the socket listens. SIGTERM or SIGINT stop it, with a "
	       "summary.\n"
	       "Exit status: 0 stopped in order, 1 failed, 2 usage, 3 host too slow for real "
	       "time;\n"
	       "with --qemu that of QEMU, which gets its memory and the board as arguments.\n"
	       "\n"
	       "example, a station on a desk:\n"
	       "  nanet3-emu --socket /tmp/board.sock --gps-pty /tmp/gps.tty &\n"
	       "  gpsd -N -n -S 2950 $(readlink /tmp/gps.tty)\n");
}

static void set_defaults(struct emu_options *o)
{
	memset(o, 0, sizeof(*o));
	world_config_default(&o->world);
	host_config_default(&o->host);
	take_board(o, "0");
	o->host.factor = 1;
	o->start_utc_s = -1;
	o->ready_fd = -1;
}

static int complain(const char *what, const char *name, const char *detail)
{
	fprintf(stderr, "nanet3-emu: %s%s%s (--help lists the options)\n", what, name, detail);
	return -EINVAL;
}

static int take(struct emu_options *o, const struct option_entry *e, const char *arg)
{
	const char *wrong = e->take(o, arg);

	o->of_the_sea = e->sea ? e->name : o->of_the_sea;
	if (wrong == NULL) {
		return 0;
	}
	fprintf(stderr, "nanet3-emu: --%s wants %s, not '%s'\n", e->name, wrong, arg);
	return -EINVAL;
}

/* A recording is what it is: nobody sets a floor's load or breaks it. */
static int finish_play(const struct emu_options *o)
{
	if (o->world.play_path == NULL) {
		return o->host.play_once ? complain("--play-once", "", " goes with --play") : 0;
	}
	if (o->qemu.launch.memory_mib > 0) {
		return complain("--play", "", " goes with --socket, not with --qemu");
	}
	if (o->of_the_sea != NULL) {
		return complain(
			"--", o->of_the_sea,
			" does not go with --play: floors, sea, fibres and time are those of "
			"the recording");
	}
	return 0;
}

/* What is left of the command line is QEMU's; what both hosts need is told both. */
static int finish(struct emu_options *o, char **rest)
{
	const bool qemu = o->qemu.launch.memory_mib > 0;

	if (finish_play(o) < 0) {
		return -EINVAL;
	}
	if (!qemu && rest[0] != NULL) {
		return complain("what is '", rest[0], "'?");
	}
	if (qemu && rest[0] == NULL) {
		return complain("--qemu", "", " wants -- and a command to run");
	}
	if (qemu == (o->host.socket_path != NULL)) {
		return complain("--socket", " or --qemu", qemu ? ", not both" : " is missing");
	}
	if (!qemu && o->qemu.launch.bus != NULL) {
		return complain("--slot", "", " goes with --qemu");
	}
	o->host.name = o->name;
	o->qemu.launch.command = rest;
	o->qemu.serial = o->host.serial;
	o->qemu.speed = o->host.speed;
	o->qemu.factor = o->host.factor;
	o->qemu.duration_s = o->host.duration_s;
	swap_fibres(&o->world, o->swap);
	o->world.gps_mute = o->host.speed == HOST_SPEED_MAX || o->host.factor != 1;
	return 0;
}

int emu_options_parse(int argc, char **argv, struct emu_options *ret_options)
{
	struct option longs[ENTRIES + 3] = {{0}};
	struct emu_options *o = ret_options;
	int c, err = 0;

	for (size_t i = 0; i < ENTRIES; i++) {
		longs[i].name = entries[i].name;
		longs[i].has_arg = entries[i].arg != NULL ? required_argument : no_argument;
		longs[i].val = FIRST_VALUE + (int)i;
	}
	longs[ENTRIES] = (struct option){"help", no_argument, NULL, 'h'};
	longs[ENTRIES + 1] = (struct option){"version", no_argument, NULL, 'V'};
	set_defaults(o);
	while (err == 0 && (c = getopt_long(argc, argv, "hV", longs, NULL)) != -1) {
		if (c == 'h') {
			print_help();
			return 1;
		}
		if (c == 'V') {
			printf("nanet3-emu %s\n", FCM_VERSION);
			return 1;
		}
		if (c < FIRST_VALUE) {
			return -EINVAL; /* getopt has said what */
		}
		err = take(o, &entries[c - FIRST_VALUE], optarg);
	}
	if (err != 0) {
		return err;
	}
	return finish(o, argv + optind);
}
