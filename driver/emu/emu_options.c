/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Options of nanet3-emu: the table of options and the checks between them; driver/options parses
 * it. */
#include "driver/emu/emu_options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "driver/emu/floor/beacon.h"
#include "driver/options/options.h"

/* Exactly `count` whole numbers between commas. */
static bool list(const char *text, unsigned count, unsigned high, uint8_t *ret_values)
{
	for (unsigned i = 0; i < count; i++) {
		uint64_t value;

		if (!option_whole(text, 0, high, &value, &text) ||
		    *text++ != (i + 1 < count ? ',' : '\0')) {
			return false;
		}
		ret_values[i] = (uint8_t)value;
	}
	return true;
}

static const char *take_slot(void *settings, const char *arg)
{
	struct emu_options *o = settings;

	o->qemu.launch.bus = arg;
	return strpbrk(arg, " ,") == NULL ? NULL
					  : "the id of a PCI bus, or of a place on it: rp0:0.1";
}

static bool descriptor(const char *text, char end, int *ret_fd, const char **ret_rest)
{
	uint64_t fd;

	if (!option_whole(text, 3, 1 << 20, &fd, ret_rest) || **ret_rest != end) {
		return false;
	}
	*ret_fd = (int)fd;
	return true;
}

static const char *take_attach(void *settings, const char *arg)
{
	struct qemu_child *c = &((struct emu_options *)settings)->qemu.running;
	const char *rest;

	c->pid_fd = -1;
	return descriptor(arg, ',', &c->proxy_fd, &rest) &&
			       descriptor(rest + 1, '\0', &c->qtest_fd, &rest)
		       ? NULL
		       : "the numbers of two descriptors, with a comma: 5,6";
}

static const char *take_speed(void *settings, const char *arg)
{
	struct emu_options *o = settings;

	o->host.speed = strcmp(arg, "max") == 0 ? HOST_SPEED_MAX : HOST_SPEED_REAL;
	o->host.factor = 1;
	if (strcmp(arg, "max") == 0 || strcmp(arg, "realtime") == 0 ||
	    option_number(arg, HOST_FACTOR_MIN, HOST_FACTOR_MAX, &o->host.factor)) {
		return NULL;
	}
	return "realtime, max, or a factor of 0.0001 to 1000";
}

static const char *take_load(void *settings, const char *arg)
{
	static const char *const names[] = {"design", "quiet", "full"}; /* as enum world_load */

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(arg, names[i]) == 0) {
			((struct emu_options *)settings)->world.load = (enum world_load)i;
			return NULL;
		}
	}
	return "quiet, design or full";
}

static const char *take_floors(void *settings, const char *arg)
{
	struct emu_options *o = settings;

	return list(arg, NANET3_LINKS, 31, o->world.floors) ? NULL
							    : "four floors of 0 to 31, with commas";
}

static const char *take_swap(void *settings, const char *arg)
{
	struct emu_options *o = settings;

	if (!list(arg, 2, NANET3_LINKS - 1, o->swap) || o->swap[0] == o->swap[1]) {
		return "two different links of 0 to 3, with a comma";
	}
	return NULL;
}

/* A fibre and the floor at its end go together. */
static void swap_fibres(struct world_config *w, const uint8_t links[2])
{
	const uint8_t floor = w->floors[links[0]];
	const double km = w->fibre_km[links[0]];

	w->floors[links[0]] = w->floors[links[1]];
	w->floors[links[1]] = floor;
	w->fibre_km[links[0]] = w->fibre_km[links[1]];
	w->fibre_km[links[1]] = km;
}

static const char *take_start(void *settings, const char *arg)
{
	struct emu_options *o = settings;
	struct tm tm = {0};
	const char *end = strptime(arg, "%Y-%m-%dT%H:%M:%S", &tm);

	if (end == NULL || (*end != '\0' && strcmp(end, "Z") != 0) || tm.tm_year < 100 ||
	    tm.tm_year > 199) {
		return "UTC as 2026-12-31T23:59:50, 2000 to 2099";
	}
	o->start_utc_s = timegm(&tm);
	return NULL;
}

#define AT(field)   .at = offsetof(struct emu_options, field)
#define TEXT(field) .kind = OPTION_TEXT, AT(field)
#define WHOLE(field, from, to, text)                                                               \
	.kind = OPTION_WHOLE, AT(field), .low = (from), .high = (to), .wants = (text)
#define NUMBER(field, from, to, text)                                                              \
	.kind = OPTION_NUMBER, AT(field), .low = (from), .high = (to), .wants = (text)
#define SEA .marked = true /* of what a recording replaces: not with --play */

static const struct option_entry entries[] = {
	{"socket", "PATH", "serve libnanet3 on this Unix socket", TEXT(host.socket_path)},
	{"qemu", "MIB", "or be a PCI device of a guest with this much memory, see below",
	 WHOLE(qemu.launch.memory_mib, 16, 1 << 20, "16 to 1048576 MiB")},
	{"attach", "PROXY,QTEST", "or of a QEMU that runs already: two inherited descriptors",
	 .take = take_attach},
	{"iommu", NULL, "the guest has an IOMMU for the board's DMA", OPTION_FLAG,
	 AT(qemu.launch.iommu)},
	{"slot", "BUS[:PLACE]", "the guest's PCI bus for the board (default the first)",
	 .take = take_slot},
	{"play", "DIR", "play a recording instead of floors and sea, see below",
	 TEXT(world.play_path)},
	{"play-once", NULL, "end when the recording has been played and read", OPTION_FLAG,
	 AT(host.play_once)},
	{"gps-pty", "PATH", "terminal of the GPS receiver (NMEA): make a link to it here",
	 TEXT(world.gps_path), SEA},
	{"gps-udp", "PORT",
	 "or let the receiver send to this UDP port, for gpsd's udp://127.0.0.1:PORT",
	 WHOLE(world.gps_port, 1, 65535, "1 to 65535"), SEA},
	{"scenario", "FILE", "faults at given times; nanet3-emu(1) has the language",
	 TEXT(world.scenario_path), SEA},
	{"truth", "FILE", "write what the floors really sent, a record per link and frame",
	 TEXT(world.truth_path), SEA},
	{"executed", "FILE", "write a line for each command that an FCM executed",
	 TEXT(world.executed_path), SEA},
	{"seed", "N", "the same seed gives the same data (default 1)", OPTION_WHOLE64,
	 AT(world.seed), .wants = "a whole number", SEA},
	{"speed", "F|realtime|max", "F x 8000 frames per second (1), or as fast as they are read",
	 .take = take_speed},
	{"load", "quiet|design|full", "155, 300 (default) or 640 Mbps per floor", .take = take_load,
	 SEA},
	{"rate", "HZ", "hits per module in a quiet sea, instead of --load",
	 NUMBER(world.rate_hz, 1, 1e7, "1 to 10000000 Hz"), SEA},
	{"beacons", "HZ", "LED and acoustic beacons; each LED flashes 0.1 to 100 times a second",
	 NUMBER(world.beacons_hz, BEACON_HZ_MIN, BEACON_HZ_MAX, "0.1 to 100 Hz"), SEA},
	{"cold", NULL, "modules and hydrophones start without power", OPTION_FLAG, AT(world.cold),
	 SEA},
	{"wrap", "S", "counters wrap S seconds after the start, those of events with the next one",
	 NUMBER(world.wrap_s, 1, 3600, "1 to 3600 s"), SEA},
	{"tower", "N", "tower number in the frames (default 1)", OPTION_BYTE, AT(world.tower), 1,
	 127, "1 to 127", SEA},
	{"floors", "A,B,C,D", "floors on links 0 to 3 (default 1,2,3,4)", .take = take_floors, SEA},
	{"swap", "A,B", "fibres of links A and B are swapped from the start", .take = take_swap,
	 SEA},
	{"start", "UTC", "start of model time (default now): 2026-12-31T23:59:50",
	 .take = take_start, SEA},
	{"leap-seconds", "FILE", "leap second table (default the system's)", TEXT(world.leap_path),
	 SEA},
	{"seconds", "N", "stop after N s of model time",
	 NUMBER(host.duration_s, 0.001, 1e7, "0.001 to 10000000 s")},
	{"board", "N", "number of the board: nanet3-N (default 0)",
	 WHOLE(board, 0, 255, "0 to 255")},
	{"first-epoch", "N", "DMA epochs before this start: the next has the next number",
	 WHOLE(host.first_epoch, 0, 4e9, "0 to 4000000000")},
	{"frames-per-buffer", "N", "frames in a DMA buffer (default 16)",
	 WHOLE(host.frames_per_buffer, 1, 419, "1 to 419")},
	{"depth-ms", "MS", "depth of each link's ring (default 2000)",
	 WHOLE(host.depth_ms, 1, 60000, "1 to 60000 ms")},
	{"deadline-us", "US", "a buffer is handed over after this, full or not (default 5000)",
	 WHOLE(host.deadline_us, 125, 1000000, "125 to 1000000 us")},
	{"linger-ms", "MS", "DMA continues for this time after its owner's end (default 10000)",
	 WHOLE(host.linger_ms, 0, 3600000, "0 to 3600000 ms")},
	{"fifo-bytes", "N", "FIFO of each optical module (default 262144)",
	 WHOLE(world.fifo_bytes, 4096, 64 << 20, "4096 to 67108864 bytes"), SEA},
	{"geometry", NULL, "print positions of modules, hydrophones and beacons (JSON), and exit",
	 OPTION_FLAG, AT(geometry)},
	{"flashes", NULL,
	 "print the flashes of --seconds N from --start on (TAI ns, LED), and exit", OPTION_FLAG,
	 AT(flashes)},
	{"ready-fd", "FD", "write \"ready\" to this descriptor, not to standard output",
	 WHOLE(ready_fd, 0, 1 << 20, "an open descriptor")},
};

static const struct options options = {
	.program = "nanet3-emu",
	.head = "nanet3-emu: a NaNet3 board, four floors, the sea and a GPS receiver, in "
		"software\n\n"
		"usage: nanet3-emu --socket PATH [option ...]\n"
		"       nanet3-emu --socket PATH --play DIR [option ...]\n"
		"       nanet3-emu --qemu MIB [option ...] -- qemu-system-x86_64 [argument "
		"...]\n"
		"       nanet3-emu --attach PROXY,QTEST [option ...]\n"
		"       nanet3-emu --geometry [--tower N] [--floors A,B,C,D]\n"
		"       nanet3-emu --flashes --beacons HZ --seconds N [--start UTC]\n\n",
	.tail = "\nWith --play the links carry what fcmctl record has kept, to a daemon of its "
		"own, at the\n"
		"pace of the recording, or --speed times that. At the end it prints \"played N "
		"cells\" and\n"
		"the links go dark. Options of the floors and of the sea are refused with "
		"--play.\n\n"
		"It prints \"ready\" when the socket listens. SIGTERM or SIGINT stop it, with a "
		"summary.\n"
		"Exit status: 0 stopped in order, 1 failed, 2 usage, 3 host too slow for real "
		"time;\n"
		"with --qemu that of QEMU, which gets its memory and the board as arguments.\n\n"
		"Example, a station on a desk:\n"
		"  nanet3-emu --socket /tmp/board.sock --gps-udp 2951 &\n"
		"  gpsd -N -n -S 2950 udp://127.0.0.1:2951\n",
	.entries = entries,
	.count = sizeof(entries) / sizeof(entries[0]),
};

/* ---------------------------------------------------------------- the command line */

static void set_defaults(struct emu_options *o)
{
	memset(o, 0, sizeof(*o));
	world_config_default(&o->world);
	host_config_default(&o->host);
	o->start_utc_s = -1;
	o->ready_fd = -1;
}

static int complain(const char *what, const char *name, const char *detail)
{
	fprintf(stderr, "nanet3-emu: %s%s%s (--help lists the options)\n", what, name, detail);
	return -EINVAL;
}

static bool is_attached(const struct emu_options *o)
{
	return o->qemu.running.proxy_fd > 0;
}

static int check_play(const struct emu_options *o, const char *of_the_sea)
{
	if (o->world.play_path == NULL) {
		return o->host.play_once ? complain("--play-once", "", " needs --play") : 0;
	}
	if (o->qemu.launch.memory_mib > 0 || is_attached(o)) {
		return complain("--play", "", " needs --socket");
	}
	if (of_the_sea != NULL) {
		return complain(
			"--", of_the_sea,
			" cannot be used with --play: floors, sea, fibres and time are those of "
			"the recording");
	}
	return 0;
}

/* The rest of the command line is QEMU's; what both hosts need is copied to both. */
static int finish(struct emu_options *o, const char *of_the_sea, char **rest)
{
	const bool qemu = o->qemu.launch.memory_mib > 0, attached = is_attached(o),
		   socket = o->host.socket_path != NULL;

	if (check_play(o, of_the_sea) < 0) {
		return -EINVAL;
	}
	if (!qemu && rest[0] != NULL) {
		return complain("unexpected argument '", rest[0], "'");
	}
	if (o->geometry) {
		swap_fibres(&o->world, o->swap);
		return 0;
	}
	if (o->flashes) {
		return o->world.beacons_hz > 0 && o->host.duration_s > 0
			       ? 0
			       : complain("--flashes", "", " needs --beacons and --seconds");
	}
	if (o->world.gps_path != NULL && o->world.gps_port != 0) {
		return complain("--gps-pty", " or --gps-udp", ": only one of them");
	}
	if (qemu && rest[0] == NULL) {
		return complain("--qemu", "", " needs -- and a command to run");
	}
	if (qemu + attached + socket != 1) {
		return complain("--socket", ", --qemu or --attach",
				qemu || socket ? ": only one of them" : " is missing");
	}
	if (!qemu && (o->qemu.launch.bus != NULL || o->qemu.launch.iommu)) {
		return complain(o->qemu.launch.iommu ? "--iommu" : "--slot", "", " needs --qemu");
	}
	if (o->qemu.launch.bus != NULL && o->qemu.launch.iommu) {
		return complain("--iommu", "", " needs the first bus: not with --slot");
	}
	snprintf(o->name, sizeof(o->name), "nanet3-%u", o->board);
	o->host.name = o->name;
	o->host.serial = 1000 + o->board;
	o->qemu.launch.command = qemu ? rest : NULL;
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
	const char *of_the_sea = NULL;
	char error[256];
	int rest, r;

	set_defaults(ret_options);
	r = options_parse(&options, argc, argv, ret_options, &rest, &of_the_sea, error,
			  sizeof(error));
	if (r < 0) {
		return complain(error, "", "");
	}
	return r > 0 ? r : finish(ret_options, of_the_sea, argv + rest);
}
