/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nanet3-emu: the world, the board in it, and the user-space host that serves it to libnanet3. One
 * thread; see board.h, world.h and host.h for who does what.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "driver/emu/emu_options.h"
#include "driver/emu/leap.h"

#define EXIT_USAGE 2
#define EXIT_SLOW  3
#define SECOND_NS  1000000000LL

static volatile sig_atomic_t stop;

static void on_signal(int number)
{
	(void)number;
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
		printf("ready %s\n", o->host.socket_path);
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
	if (leap_load(o->world.leap_path != NULL ? o->world.leap_path : LEAP_FILE, &table) < 0) {
		leap_default(&table);
	}
	return leap_to_tai(&table, o->start_utc_s) * SECOND_NS;
}

/* Real time begins with a second, so that the first PPS falls on step 0. Clients are served while it
 * is awaited. */
static int await_second(const struct emu_options *o, struct host *h, struct world *w)
{
	int64_t now = world_tai_now(o->world.leap_path);
	const int64_t start = (now / SECOND_NS + 1) * SECOND_NS;
	int err = 0;

	if (o->host.speed != HOST_SPEED_REAL) {
		return 0;
	}
	while (err == 0 && !stop && now < start) {
		err = host_poll(h, (int)((start - now + 999999) / 1000000));
		err = err == -EINTR ? 0 : err;
		now = world_tai_now(o->world.leap_path);
	}
	return err < 0 || o->start_utc_s >= 0 ? err : world_start_at(w, start);
}

static void print_summary(const struct host *h, const struct world *w)
{
	struct host_stats host;
	struct world_stats world;
	uint64_t cells[TDM_LOSSES] = {0};
	uint64_t hits = 0, lost = 0;

	host_stats(h, &host);
	world_stats(w, &world);
	for (unsigned link = 0; link < NANET3_LINKS; link++) {
		for (unsigned fate = 0; fate < TDM_LOSSES; fate++) {
			cells[fate] += world.cells[link][fate];
		}
		hits += world.hits[link];
		lost += world.hits_lost[link];
	}
	printf("nanet3-emu: steps %" PRIu64 ", worst lag %.1f ms", host.steps,
	       (double)host.worst_lag_ns * 1e-6);
	for (unsigned fate = 0; fate < TDM_LOSSES; fate++) {
		printf(", %s %" PRIu64, tdm_loss_name((enum tdm_loss)fate), cells[fate]);
	}
	printf(", hits %" PRIu64 " (lost %" PRIu64 "), executed %" PRIu64
	       ", scenario events %" PRIu64 "%s\n",
	       hits, lost, world.executed, world.events, host.too_slow ? ", host too slow" : "");
	fflush(stdout);
}

static int run(const struct emu_options *o, struct host *h, struct world *w)
{
	int err = say_ready(o);

	if (err == 0) {
		err = await_second(o, h, w);
	}
	if (err == 0) {
		err = host_run(h, &stop);
	}
	print_summary(h, w);
	return err;
}

static int fail(const char *what, int err)
{
	fprintf(stderr, "nanet3-emu: %s: %s\n", what, strerror(-err));
	return EXIT_FAILURE;
}

static int finish(struct host *h, struct world *w, int err)
{
	struct host_stats stats;

	host_stats(h, &stats);
	host_destroy(h);
	if (err < 0) {
		world_destroy(w);
		return fail("stopped", err);
	}
	err = world_destroy(w);
	if (err < 0) {
		return fail("writing its files", err);
	}
	return stats.too_slow ? EXIT_SLOW : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	struct emu_options options;
	struct world *world;
	struct host *host;
	char error[256];
	int err;

	err = emu_options_parse(argc, argv, &options);
	if (err != 0) {
		return err > 0 ? EXIT_SUCCESS : EXIT_USAGE;
	}
	catch_signals();
	options.world.tai_start_ns = start_of(&options);
	err = world_create(&options.world, &world, error, sizeof(error));
	if (err < 0) {
		fprintf(stderr, "nanet3-emu: %s\n", error);
		return options.world.scenario_path != NULL && err == -EINVAL ? EXIT_USAGE
									     : EXIT_FAILURE;
	}
	err = host_create(&options.host, world, &host);
	if (err < 0) {
		world_destroy(world);
		return fail(options.host.socket_path, err);
	}
	return finish(host, world, run(&options, host, world));
}
