/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nanet3-emu: the world, the board in it, and one of two hosts: a socket for libnanet3, or QEMU for a
 * guest's kernel. One thread; board.h, world.h, host.h and qemu.h describe the parts.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "driver/emu/emu_options.h"
#include "driver/emu/floor/beacon.h"
#include "driver/emu/geometry_json.h"
#include "driver/emu/world/leap.h"
#include "driver/emu/play/play.h"

#define EXIT_USAGE 2
#define EXIT_SLOW  3
#define SECOND_NS  1000000000LL

static volatile sig_atomic_t stop;

static void on_signal(int number)
{
	stop = 1;
}

static void catch_signals(void)
{
	const struct sigaction end = {.sa_handler = on_signal};
	const struct sigaction ignore = {.sa_handler = SIG_IGN};

	sigaction(SIGTERM, &end, NULL);
	sigaction(SIGINT, &end, NULL);
	sigaction(SIGPIPE, &ignore, NULL);
}

static int say_ready(const struct emu_options *o)
{
	static const char ready[] = "ready\n";

	if (o->ready_fd < 0) {
		if (o->host.socket_path != NULL) { /* else standard output is QEMU's */
			printf("ready %s\n", o->host.socket_path);
		}
		return fflush(stdout) == 0 ? 0 : -errno;
	}
	if (write(o->ready_fd, ready, sizeof(ready) - 1) != (ssize_t)(sizeof(ready) - 1)) {
		return -errno;
	}
	close(o->ready_fd);
	return 0;
}

static int64_t start_of(const struct emu_options *o)
{
	struct leap_table table;

	if (o->start_utc_s < 0) {
		return world_tai_now(o->world.leap_path) / SECOND_NS * SECOND_NS;
	}
	leap_load_or_default(o->world.leap_path, &table);
	return leap_to_tai(&table, o->start_utc_s) * SECOND_NS;
}

/* Say that we are ready. Real time begins with a second, so that the first PPS falls on step 0. Until then
 * either host serves its clients; the other is NULL. */
static int begin(const struct emu_options *o, struct host *h, struct qemu_host *q, struct world *w)
{
	int64_t now = world_tai_now(o->world.leap_path);
	const int64_t start = (now / SECOND_NS + 1) * SECOND_NS;
	int err = say_ready(o);

	if (o->host.speed != HOST_SPEED_REAL || o->host.factor != 1 || world_play(w) != NULL) {
		return err;
	}
	while (err == 0 && !stop && now < start) {
		const int64_t ns = start - now;

		err = h != NULL ? host_poll(h, (int)((ns + 999999) / 1000000))
				: qemu_wait(q, (uint64_t)ns);
		err = err == -EINTR ? 0 : err;
		now = world_tai_now(o->world.leap_path);
	}
	return err < 0 || o->start_utc_s >= 0 ? err : world_start_at(w, start);
}

/* Print the delays to configure on the shore for these fibres. */
static void say_delays(const struct world *w)
{
	fputs("nanet3-emu: cable_delay_ns of links 0 to 3:", stderr);
	for (unsigned link = 0; link < NANET3_LINKS; link++) {
		fprintf(stderr, " %" PRId64, world_delay_ns(w, link));
	}
	fputc('\n', stderr);
}

static int fail(const char *what, int err)
{
	fprintf(stderr, "nanet3-emu: %s: %s\n", what, strerror(-err));
	return EXIT_FAILURE;
}

static void say(const char *line)
{
	fprintf(stderr, "nanet3-emu: %s\n", line);
}

/* The recording is over: a line that a script can wait for. */
static void say_played(void *context, bool whole)
{
	struct play_stats s;

	play_stats(world_play(context), &s);
	printf("played %" PRIu64 " cells, missed %" PRIu64 ", gaps %" PRIu64 ", let go %" PRIu64
	       ", absent %" PRIu64 ", DMA epochs %u, damaged segments %u%s\n",
	       s.cells, s.missed, s.gaps, s.let_go, s.absent, s.acts, s.damaged,
	       whole ? "" : "; not all of it was read");
	fflush(stdout);
}

/* What became of the frames: the rest of the summary's line. */
static void print_world(FILE *out, const struct world *w)
{
	struct world_stats s;

	world_stats(w, &s);
	for (unsigned fate = 0; fate < TDM_LOSSES; fate++) {
		fprintf(out, ", %s %" PRIu64, tdm_loss_name((enum tdm_loss)fate), s.cells[fate]);
	}
	fprintf(out,
		", hits %" PRIu64 " (lost %" PRIu64 "), executed %" PRIu64
		", scenario events %" PRIu64,
		s.hits, s.hits_lost, s.executed, s.events);
	if (s.flashes + s.pings > 0) {
		fprintf(out, ", flashes %" PRIu64 ", pings %" PRIu64, s.flashes, s.pings);
	}
}

/* Close the world's files; `status` unless that fails. `err`: what has stopped the host; 0: nothing. */
static int finish(struct world *w, int err, int status)
{
	int written = world_destroy(w);

	if (err < 0) {
		return fail("stopped", err);
	}
	return written < 0 && status == EXIT_SUCCESS ? fail("writing its files", written) : status;
}

/* ------------------------------------------------------------------------ on a socket */

static int run_socket(const struct emu_options *o, struct world *w)
{
	struct host_config config = o->host;
	struct host_stats stats;
	struct host *h;
	int err;

	config.played = say_played;
	config.played_context = w;
	err = host_create(&config, w, &h);
	if (err < 0) {
		world_destroy(w);
		return fail(o->host.socket_path, err);
	}
	err = begin(o, h, NULL, w);
	if (err == 0) {
		err = host_run(h, &stop);
	}
	host_stats(h, &stats);
	printf("nanet3-emu: steps %" PRIu64 ", worst lag %.1f ms", stats.steps,
	       (double)stats.worst_lag_ns * 1e-6);
	print_world(stdout, w);
	printf("%s\n", stats.too_slow ? ", host too slow" : "");
	fflush(stdout);
	host_destroy(h);
	return finish(w, err, stats.too_slow ? EXIT_SLOW : EXIT_SUCCESS);
}

/* ------------------------------------------------------------------------ in a guest */

static void print_guest(const struct qemu_host *q, const struct world *w)
{
	struct qemu_stats s;

	qemu_stats(q, &s);
	fprintf(stderr,
		"nanet3-emu: steps %" PRIu64 ", worst lag %.1f ms, accesses %" PRIu64
		", interrupts %" PRIu64 ", memory maps %" PRIu64 " (not reached %" PRIu64
		"), resets %" PRIu64,
		s.steps, (double)s.worst_lag_ns * 1e-6, s.accesses, s.interrupts, s.memory_maps,
		s.not_reached, s.resets);
	print_world(stderr, w);
	fputc('\n', stderr);
}

static int run_guest(const struct emu_options *o, struct world *w)
{
	struct qemu_host *q;
	int status, err = qemu_create(&o->qemu, w, &q);

	if (err < 0) {
		world_destroy(w);
		return fail(o->qemu.launch.command != NULL ? o->qemu.launch.command[0] : "--attach",
			    err);
	}
	err = begin(o, NULL, q, w);
	if (err == 0) {
		err = qemu_run(q, &stop);
	}
	print_guest(q, w);
	status = qemu_destroy(q);
	if (status < 0) {
		err = status;
	}
	return finish(w, err == -ECHILD ? 0 : err, status);
}

/* ------------------------------------------------------------------------ nothing is run */

static int print_geometry(const struct world_config *w)
{
	geometry_json(stdout, w->tower, w->floors, NANET3_LINKS);
	return fflush(stdout) == 0 && !ferror(stdout) ? EXIT_SUCCESS : fail("--geometry", -errno);
}

static int print_flashes(const struct emu_options *o)
{
	const int64_t begin = start_of(o), end = begin + llround(o->host.duration_s * 1e9);
	struct beacons beacons;

	beacons_init(&beacons, o->world.beacons_hz);
	for (int64_t t = begin; t < end; t += beacons.turn_ns) {
		const int64_t until = t + beacons.turn_ns < end ? t + beacons.turn_ns : end;
		uint64_t n = beacons.flash_count;

		for (beacons_step(&beacons, t, until); n < beacons.flash_count; n++) {
			const struct flash *f = &beacons.flashes[n % BEACON_FLASHES];

			printf("%" PRId64 " %u\n", f->tai_ns, f->led);
		}
	}
	return fflush(stdout) == 0 && !ferror(stdout) ? EXIT_SUCCESS : fail("--flashes", -errno);
}

int main(int argc, char **argv)
{
	struct emu_options options;
	struct world *world;
	char error[256];
	int err;

	err = emu_options_parse(argc, argv, &options);
	if (err != 0) {
		return err > 0 ? EXIT_SUCCESS : EXIT_USAGE;
	}
	if (options.geometry) {
		return print_geometry(&options.world);
	}
	if (options.flashes) {
		return print_flashes(&options);
	}
	catch_signals();
	options.world.tai_start_ns = start_of(&options);
	options.world.play_say = say;
	err = world_create(&options.world, &world, error, sizeof(error));
	if (err < 0) {
		fprintf(stderr, "nanet3-emu: %s\n", error);
		return options.world.scenario_path != NULL && err == -EINVAL ? EXIT_USAGE
									     : EXIT_FAILURE;
	}
	if (world_play(world) == NULL) {
		say_delays(world);
	}
	return options.host.socket_path != NULL ? run_socket(&options, world)
						: run_guest(&options, world);
}
