/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nanet3-perf: the papers' loop-back tests, and the delay of received data, on any board that libnanet3 opens,
 * real or emulated. Exit code: 0 passed, 1 failed, 2 usage.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "driver/perf/measure.h"

#define EXIT_USAGE 2

/* What to do about an error of opening, or of a put. */
static const struct {
	int err;
	const char *advice;
} advices[] = {
	{-ENOENT,
	 "no board: load the driver (modprobe nanet3) and look for /dev/nanet3-*, or give an "
	 "emulator's socket as unix:PATH"},
	{-ECONNREFUSED, "no emulator serves this socket: start nanet3-emu --socket PATH"},
	{-EACCES, "not permitted: become a member of the device's group, or root"},
	{-EPROTO,
	 "driver or emulator has another version than this program: load the module nanet3 of "
	 "the same release (modinfo nanet3), or start its emulator"},
	{-ENODEV, "the board is gone: is it in its slot, its driver loaded, the emulator alive?"},
	{-EBUSY, "the link has an owner, or lingers after one: choose another with --link"},
	{-EOPNOTSUPP, "the emulator does not run in real time: start it without --speed"},
	{-EFAULT, "the emulator cannot access this program's memory: run both as the same user"},
	{-ENOMEM, "too little memory may be pinned: raise RLIMIT_MEMLOCK (ulimit -l), or take "
		  "smaller sizes"},
	{-ENOSPC, "no buffer of the board is free: other processes have registered them"},
	{-E2BIG, "the put is too long for the driver's TX ring: use smaller sizes"},
	{-ETIMEDOUT, "the board has not answered for 2 s: see the system log (journalctl -k)"},
	{-EIO, "the board could not translate an address of a registered buffer"},
};

static int fail(const char *where, const char *what, int err)
{
	const char *advice = NULL;

	for (size_t i = 0; i < sizeof(advices) / sizeof(advices[0]); i++) {
		if (advices[i].err == err) {
			advice = advices[i].advice;
		}
	}
	fprintf(stderr, "nanet3-perf: %s: %s%s", where, what, what[0] != '\0' ? ": " : "");
	if (advice != NULL) {
		fprintf(stderr, "%s (%s)\n", advice, strerror(-err));
	} else {
		fprintf(stderr, "%s\n", strerror(-err));
	}
	return EXIT_FAILURE;
}

static int write_gnuplot(const struct perf_options *o, const struct nanet3_info *info,
			 const struct results *r)
{
	FILE *f = fopen(o->gnuplot, "we");
	int err;

	if (f == NULL) {
		return -errno;
	}
	err = report_gnuplot(f, o->gnuplot, o, info, r);
	return fclose(f) != 0 && err == 0 ? -errno : err;
}

static int measure(const struct perf_options *o, struct nanet3 *b)
{
	struct results r = {0};
	int code = EXIT_SUCCESS, err = o->command->measure(o, b, &r);

	if (err < 0) {
		code = fail(o->where, r.note, err);
		goto out;
	}
	err = report_write(stdout, o, nanet3_info(b), &r);
	if (err < 0) {
		code = fail("standard output", "", err);
	}
	if (o->gnuplot != NULL && err == 0) {
		err = write_gnuplot(o, nanet3_info(b), &r);
		code = err < 0 ? fail(o->gnuplot, "", err) : code;
	}
	if (r.unsound) {
		fprintf(stderr, "nanet3-perf: %s: %s\n", o->where, r.note);
		code = EXIT_FAILURE;
	}
out:
	table_fini(&r.figures);
	table_fini(&r.histogram);
	return code;
}

int main(int argc, char **argv)
{
	struct perf_options options;
	struct nanet3 *board;
	char error[256];
	int code, err = perf_options_parse(argc, argv, &options, error, sizeof(error));

	if (err != 0) {
		if (err > 0) {
			return EXIT_SUCCESS;
		}
		fprintf(stderr, "nanet3-perf: %s; try nanet3-perf --help\n", error);
		return EXIT_USAGE;
	}
	err = nanet3_open(options.where, &board);
	if (err < 0) {
		return fail(options.where, "", err);
	}
	code = measure(&options, board);
	nanet3_close(board);
	return code;
}
