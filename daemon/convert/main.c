// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fcm-convert: recordings and live data for those who compute with them. Options, what is refused before anything is
 * written, and signals; convert.c does the work.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "daemon/convert/address.h"
#include "daemon/convert/convert.h"
#include "daemon/convert/hdf5/hdf5.h"

static volatile sig_atomic_t stop;

static void on_signal(int number)
{
	stop = 1;
}

static int refuse(struct report *r, const char *what, const char *why)
{
	report_say(r, "%s: %s", what, why);
	return EXIT_REFUSED;
}

/* ------------------------------------------------------------------------------------------ the input */

static int open_input(const struct options *o, struct input *in, struct report *r)
{
	int err = input_open(o->input, o->links, in);
	char text[600], advice[400] = "";

	if (err == 0) {
		return in->kind != INPUT_LIVE || address_good(o->input, text, sizeof(text))
			       ? 0
			       : refuse(r, o->input, text);
	}
	if (err == -ENOENT) {
		address_advice(o->input, advice, sizeof(advice));
	}
	snprintf(text, sizeof(text), "%s%s",
		 err == -ENODATA   ? "no segment of these links in it"
		 : err == -EBADMSG ? "neither a segment of a recording nor an HDF5 file"
				   : strerror(-err),
		 advice);
	return refuse(r, o->input, text);
}

/* Several runs, or not the one that is wanted. */
static int check_runs(const struct options *o, const struct input *in, struct report *r)
{
	char text[INPUT_RUNS * 12 + 1] = "";
	size_t n = 0;
	bool there = false;

	for (unsigned i = 0; i < in->runs_n; i++) {
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%" PRIu32, i ? ", " : "",
				      in->runs[i]);
		there = there || in->runs[i] == o->run;
	}
	if (o->one_run && in->runs_n > 0 && !there) {
		report_say(r, "%s: no run %" PRIu32 " in it; it has: %s", o->input, o->run, text);
		return EXIT_REFUSED;
	}
	if (in->runs_n > 1 && !o->one_run && !o->all_runs) {
		report_say(r,
			   "%s: of several runs (%s; 0: outside runs), which are not mixed "
			   "silently: choose one by --run N, or give --all-runs",
			   o->input, text);
		return EXIT_REFUSED;
	}
	return 0;
}

static int check_times(const struct options *o, const struct input *in, struct report *r)
{
	bool wants = o->from.given || o->until.given;

	if (!wants) {
		return 0;
	}
	if (in->kind == INPUT_LIVE) {
		return refuse(r, o->input, "live data have no --from and --until; --seconds");
	}
	if (in->begin_tai_ns == INT64_MIN) {
		return refuse(r, o->input, "has no time, so there is no --from and --until");
	}
	return 0;
}

static int check_input(const struct options *o, const struct kind *kind, const struct input *in,
		       struct report *r)
{
	int code;

	if (o->streams && !(o->streams & kind->streams)) {
		return refuse(r, o->output, "this kind of output has none of the --streams");
	}
	if (o->cells && strcmp(kind->name, "h5") != 0) {
		return refuse(r, o->output, "only HDF5 can have the --cells");
	}
	if (o->cells && in->kind == INPUT_LIVE) {
		return refuse(r, o->input,
			      "live data have no cells; record them (fcmctl record "
			      "start), then convert the recording");
	}
	if (o->cells && in->grows) {
		return refuse(r, o->input,
			      "is still being recorded, and --cells keeps whole files: end it "
			      "(fcmctl record stop), or leave --cells out");
	}
	if (o->seconds > 0 && in->kind != INPUT_LIVE) {
		report_say(r, "%s: --seconds is for live data; use --until +%g", o->input,
			   o->seconds);
		return EXIT_REFUSED;
	}
	if (o->resume && in->kind == INPUT_LIVE) {
		return refuse(r, o->input, "live data cannot be resumed: they have passed");
	}
	code = check_runs(o, in, r);
	return code ? code : check_times(o, in, r);
}

/* ----------------------------------------------------------------------------------------- the output */

static int check_output(const struct options *o, const struct kind *kind, struct report *r)
{
	char journal[4200], found[4200];
	struct stat st;

	snprintf(journal, sizeof(journal), "%s.resume", o->output);
	if (o->resume || o->force) { /* convert() clears it when something comes */
		return 0;
	}
	if (stat(journal, &st) == 0) {
		return refuse(r, o->output,
			      "its conversion was interrupted: --resume goes on, "
			      "--force begins again");
	}
	return kind_there(kind, o->output, found, sizeof(found))
		       ? refuse(r, found, "is there already; --force writes over it")
		       : 0;
}

/* Back to a recording. */
static int restore(const struct options *o, const struct input *in, struct report *r)
{
	char why[400] = "";
	int err;

	if (in->kind != INPUT_HDF5) {
		return refuse(r, o->output,
			      "a recording is made of an HDF5 file with --cells only; what kind of "
			      "output do you want? (.h5, .npz, .npy, .csv, .wav, .flac, or --to)");
	}
	err = hdf5_restore(o->input, o->output, why, sizeof(why));
	if (err == 0) {
		if (!o->quiet) {
			report_say(r, "%s: the recording is as it was, file by file", o->output);
		}
		return EXIT_DONE;
	}
	report_say(r, "%s", why);
	return err == -ENODATA || err == -EPROTO || err == -EEXIST || err == -ENOENT ||
			       err == -EACCES
		       ? EXIT_REFUSED
		       : EXIT_FAILED;
}

/* ------------------------------------------------------------------------------------------------ main */

static void catch_signals(void)
{
	const struct sigaction action = {.sa_handler = on_signal};
	const struct sigaction ignore = {.sa_handler = SIG_IGN};

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	sigaction(SIGXFSZ, &ignore, NULL); /* the write fails then, and says so */
}

/* The command line in one string; malloc'ed. */
static char *command_of(int argc, char **argv)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	for (int i = 0; f && i < argc; i++) {
		fprintf(f, "%s%s", i ? " " : "", argv[i]);
	}
	return f && fclose(f) == 0 ? text : NULL;
}

static int run(const struct options *o, const struct kind *kind, struct input *in, char *command,
	       struct report *r)
{
	char host[256] = "";
	struct about about = {
		.source = o->input,
		.recording_json = in->json,
		.command = command,
		.host = host,
		.station = o->station,
		.created_utc_s = time(NULL),
	};
	int code = check_input(o, kind, in, r);

	gethostname(host, sizeof(host) - 1);
	if (code == 0) {
		code = check_output(o, kind, r);
	}
	if (code != 0) {
		return code;
	}
	report_begin(r, o->quiet, o->from.given || o->until.given || o->one_run ? 0 : in->bytes);
	return convert(o, kind, in, &about, r, &stop);
}

int main(int argc, char **argv)
{
	const struct kind *kind;
	struct options o;
	struct report report;
	struct input in = {0};
	char *command;
	int code = options_parse(argc, argv, &o);

	if (code != 0) {
		return code == 1 ? EXIT_DONE : code;
	}
	report_begin(&report, o.quiet, 0);
	kind = kind_of(o.to, o.output);
	if (!kind) {
		report_say(&report, "--to %s: wanted: h5, npz, npy, csv, wav, flac or recording",
			   o.to);
		return EXIT_USAGE;
	}
	catch_signals();
	code = open_input(&o, &in, &report);
	if (code == 0 && !kind->open) {
		code = restore(&o, &in, &report);
	} else if (code == 0 && in.kind == INPUT_HDF5) {
		code = refuse(&report, o.input,
			      "an HDF5 file becomes a recording only; name a directory");
	} else if (code == 0) {
		command = command_of(argc, argv);
		code = run(&o, kind, &in, command, &report);
		free(command);
	}
	input_close(&in);
	return code;
}
