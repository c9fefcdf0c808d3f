// SPDX-License-Identifier: GPL-2.0-or-later
/* The command line of fcm-convert: see options.h. */
#include "daemon/convert/options.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <time.h>

#include "schemas/fcm_data.h"

#define SECOND_NS   1000000000ll
#define ALL_LINKS   15u
#define SAVE_S	    10.0
#define THREADS_MAX 64u
#define OLDEST_NS   (946684800ll * SECOND_NS) /* 2000: the count of slices begins there */

static const char usage_text[] =
	"usage: fcm-convert [OPTION ...] INPUT OUTPUT\n"
	"\n"
	"Converts a recording or live data to HDF5, numpy, CSV or sound, and back.\n"
	"\n"
	"INPUT    a recording's directory, one of its segments, a file made with --cells,\n"
	"         or the endpoint of a daemon's monitors: tcp://127.0.0.1:5730\n"
	"OUTPUT   NAME.h5, NAME.npz, NAME.npy (a directory), NAME.csv, NAME.wav, NAME.flac;\n"
	"         any other name is a directory for a recording\n"
	"\n"
	"  --to KIND           h5, npz, npy, csv, wav, flac, recording; whatever the name\n"
	"  --run N             this run only; 0: what is outside runs\n"
	"  --all-runs          several runs into one output\n"
	"  --from T            begin at; +10 (s after the beginning), 2026-11-27T12:00:00.5\n"
	"  --until T           (UTC), tai:NANOSECONDS\n"
	"  --links L           for example 0,2; all by default\n"
	"  --streams S         of pmt, hydrophone, instrument; with commas\n"
	"  --cells             HDF5: with the cells, too: what the links carried, as it came,\n"
	"                      so that the recording can be made again\n"
	"  --resume            go on with an output whose conversion was interrupted\n"
	"  --force             write over an output that is there\n"
	"  --seconds S         of live data; else until Ctrl-C\n"
	"  --server-key KEY --key-file FILE   of a daemon that asks for keys\n"
	"  --station NAME      for the output's attributes\n"
	"  --threads N         that compress; as many as processors by default\n"
	"  --save-every S      what a crash costs at most (default 10)\n"
	"  --quiet             no progress and no summary\n"
	"  --version, --help\n"
	"\n"
	"Exit status: 0 done; 1 done, but data are missing or damaged in the input; 2 usage;\n"
	"3 refused, or nothing came: nothing was written; 4 failed, 5 stopped: go on with "
	"--resume. Manual: fcm-convert(1).\n";

/* --------------------------------------------------------------------------------------------- values */

static bool take_number(const char *text, double least, double most, double *ret_value)
{
	char *end;
	double value;

	errno = 0;
	value = strtod(text, &end);
	if (end == text || *end || errno || !(value >= least && value <= most)) {
		return false;
	}
	*ret_value = value;
	return true;
}

static bool take_run(const char *text, struct options *o)
{
	double value;

	if (!take_number(text, 0, UINT32_MAX, &value) || floor(value) != value) {
		return false;
	}
	o->one_run = true;
	o->run = (uint32_t)value;
	return true;
}

static bool take_links(const char *text, unsigned *ret_links)
{
	unsigned links = 0;

	for (const char *c = text; *c; c++) {
		if (*c < '0' || *c > '3' || (c[1] && (c[1] != ',' || !c[2]))) {
			return false;
		}
		links |= 1u << (*c - '0');
		c += c[1] == ',';
	}
	*ret_links = links;
	return links != 0;
}

static bool take_streams(const char *text, unsigned *ret_streams)
{
	unsigned streams = 0;

	while (*text) {
		size_t n = strcspn(text, ",");
		unsigned s = 0;

		while (s < FCM_STREAMS && (strlen(fcm_stream_name(s)) != n ||
					   strncmp(text, fcm_stream_name(s), n) != 0)) {
			s++;
		}
		if (s == FCM_STREAMS) {
			return false;
		}
		streams |= 1u << s;
		text += n + (text[n] == ',');
	}
	*ret_streams = streams;
	return streams != 0;
}

/* Digits after a point, as ns: false when there is something else. */
static bool take_fraction(const char *text, int64_t *ret_ns)
{
	int64_t unit = SECOND_NS / 10, ns = 0;

	if (*text == '.') {
		for (text++; isdigit((unsigned char)*text); text++) {
			ns += (*text - '0') * unit;
			unit /= 10;
		}
	}
	*ret_ns = ns;
	return *text == '\0' || strcmp(text, "Z") == 0;
}

static bool take_utc(const char *text, struct when *w)
{
	struct tm tm = {0};
	int64_t fraction;
	const char *end = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);

	if (!end) {
		end = strptime(text, "%Y-%m-%dT%H:%M", &tm);
	}
	if (!end || !take_fraction(end, &fraction) || tm.tm_year < 70 || tm.tm_year > 300) {
		return false;
	}
	w->utc = true;
	w->ns = timegm(&tm) * SECOND_NS + fraction;
	return true;
}

bool options_when(const char *text, struct when *ret_when)
{
	struct when w = {.given = true};
	double value;
	char *end;

	if (*text == '+') {
		size_t n = strlen(text);
		char number[32];

		snprintf(number, sizeof(number), "%.*s", (int)(n - 1 - (text[n - 1] == 's')),
			 text + 1);
		if (n > 30 || !take_number(number, 0, 1e9, &value)) {
			return false;
		}
		w.relative = true;
		w.ns = llround(value * 1e9);
	} else if (strncmp(text, "tai:", 4) == 0) {
		errno = 0;
		w.ns = strtoll(text + 4, &end, 10);
		if (!isdigit((unsigned char)text[4]) || *end || errno || w.ns < OLDEST_NS) {
			return false;
		}
	} else if (!take_utc(text, &w)) {
		return false;
	}
	*ret_when = w;
	return true;
}

/* -------------------------------------------------------------------------------------------- options */

enum option_id {
	TO = 256,
	RUN,
	ALL_RUNS,
	FROM,
	UNTIL,
	LINKS,
	STREAMS,
	CELLS,
	RESUME,
	FORCE,
	SECONDS,
	SERVER_KEY,
	KEY_FILE,
	STATION,
	THREADS,
	SAVE_EVERY,
	QUIET,
	VERSION,
	HELP,
};

static const struct option longs[] = {
	{"to", required_argument, NULL, TO},
	{"run", required_argument, NULL, RUN},
	{"all-runs", no_argument, NULL, ALL_RUNS},
	{"from", required_argument, NULL, FROM},
	{"until", required_argument, NULL, UNTIL},
	{"links", required_argument, NULL, LINKS},
	{"streams", required_argument, NULL, STREAMS},
	{"cells", no_argument, NULL, CELLS},
	{"resume", no_argument, NULL, RESUME},
	{"force", no_argument, NULL, FORCE},
	{"seconds", required_argument, NULL, SECONDS},
	{"server-key", required_argument, NULL, SERVER_KEY},
	{"key-file", required_argument, NULL, KEY_FILE},
	{"station", required_argument, NULL, STATION},
	{"threads", required_argument, NULL, THREADS},
	{"save-every", required_argument, NULL, SAVE_EVERY},
	{"quiet", no_argument, NULL, QUIET},
	{"version", no_argument, NULL, VERSION},
	{"help", no_argument, NULL, HELP},
	{0},
};

/* What an option must be; NULL: any text. */
static const char *wanted(int option)
{
	switch (option) {
	case RUN:
		return "a run's number";
	case FROM:
	case UNTIL:
		return "+SECONDS, YYYY-MM-DDThh:mm:ss (UTC) or tai:NANOSECONDS since 1970";
	case LINKS:
		return "numbers 0 to 3 with commas between";
	case STREAMS:
		return "pmt, hydrophone, instrument, with commas between";
	case SECONDS:
	case SAVE_EVERY:
		return "seconds";
	case THREADS:
		return "a number 1 to 64";
	default:
		return NULL;
	}
}

static void take_flag(int option, struct options *o)
{
	o->all_runs |= option == ALL_RUNS;
	o->cells |= option == CELLS;
	o->resume |= option == RESUME;
	o->force |= option == FORCE;
	o->quiet |= option == QUIET;
}

static void take_text(int option, struct options *o)
{
	o->to = option == TO ? optarg : o->to;
	o->server_key = option == SERVER_KEY ? optarg : o->server_key;
	o->key_file = option == KEY_FILE ? optarg : o->key_file;
	o->station = option == STATION ? optarg : o->station;
}

static bool take(int option, struct options *o)
{
	double value;

	switch (option) {
	case RUN:
		return take_run(optarg, o);
	case FROM:
		return options_when(optarg, &o->from);
	case UNTIL:
		return options_when(optarg, &o->until);
	case LINKS:
		return take_links(optarg, &o->links);
	case STREAMS:
		return take_streams(optarg, &o->streams);
	case SECONDS:
		return take_number(optarg, 0, 1e9, &o->seconds);
	case SAVE_EVERY:
		return take_number(optarg, 0, 1e9, &o->save_s);
	case THREADS:
		if (!take_number(optarg, 1, THREADS_MAX, &value) || floor(value) != value) {
			return false;
		}
		o->threads = (unsigned)value;
		return true;
	default:
		take_flag(option, o);
		take_text(option, o);
		return true;
	}
}

static unsigned processors(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	return sched_getaffinity(0, sizeof(set), &set) < 0
		       ? 1
		       : MIN(MAX((unsigned)CPU_COUNT(&set), 1u), THREADS_MAX);
}

static int usage(const char *text, const char *what)
{
	fprintf(stderr, "fcm-convert: %s%s; fcm-convert --help\n", what, text);
	return EXIT_USAGE;
}

/* What fits together of itself, whatever the input is. */
static int check(const struct options *o)
{
	if (o->one_run && o->all_runs) {
		return usage("--run and --all-runs exclude each other", "");
	}
	if (o->resume && o->force) {
		return usage("--resume and --force exclude each other", "");
	}
	if (!o->server_key != !o->key_file) {
		return usage("--server-key and --key-file: both, or neither", "");
	}
	if (o->cells && (o->from.given || o->until.given)) {
		return usage("--cells keeps whole segments: leave --from and --until out", "");
	}
	if (o->from.given && o->until.given && o->from.relative == o->until.relative &&
	    o->from.utc == o->until.utc && o->until.ns < o->from.ns) {
		return usage("--until is before --from", "");
	}
	return 0;
}

/* A directory's name may end with them; names beside it are made of it. */
static const char *without_slashes(char *path)
{
	for (size_t n = strlen(path); n > 1 && path[n - 1] == '/'; n--) {
		path[n - 1] = '\0';
	}
	return path;
}

int options_parse(int argc, char **argv, struct options *ret_options)
{
	struct options o = {.links = ALL_LINKS, .save_s = SAVE_S, .threads = processors()};
	int c, index = 0;

	while ((c = getopt_long(argc, argv, "h", longs, &index)) != -1) {
		if (c == VERSION || c == HELP || c == 'h') {
			fputs(c == VERSION ? "fcm-convert " FCM_VERSION "\n" : usage_text, stdout);
			return 1;
		}
		if (c == '?') {
			return EXIT_USAGE;
		}
		if (!take(c, &o)) {
			fprintf(stderr, "fcm-convert: --%s %.80s: wanted: %s\n", longs[index].name,
				optarg, wanted(c));
			return EXIT_USAGE;
		}
	}
	if (argc - optind != 2) {
		return argc - optind > 2 ? usage(argv[optind + 2], "unexpected argument ")
					 : usage("an input and an output are needed", "");
	}
	o.input = argv[optind];
	o.output = without_slashes(argv[optind + 1]);
	*ret_options = o;
	return check(&o);
}
