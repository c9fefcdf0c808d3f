// SPDX-License-Identifier: GPL-2.0-or-later
/* The command line, the kinds of output by their names, rows as text. */
#include <getopt.h>
#include <malloc.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/convert/address.h"
#include "daemon/convert/kinds.h"
#include "daemon/convert/options.h"
#include "daemon/convert/output/text.h"

static struct options o;

static char said[8192]; /* on standard output and standard error */

/* The words of a line. */
static int parse(const char *line)
{
	static char words[256];
	char *argv[32] = {(char *)(uintptr_t) "fcm-convert"}, *rest;
	int argc = 1, code, out = dup(STDOUT_FILENO), err = dup(STDERR_FILENO);
	FILE *f = tmpfile();

	assert_non_null(f);
	snprintf(words, sizeof(words), "%s", line);
	for (char *w = strtok_r(words, " ", &rest); w; w = strtok_r(NULL, " ", &rest)) {
		argv[argc++] = w;
	}
	argv[argc] = NULL;
	optind = 0;
	memset(&o, 0, sizeof(o));
	fflush(NULL);
	dup2(fileno(f), STDOUT_FILENO);
	dup2(fileno(f), STDERR_FILENO);
	code = options_parse(argc, argv, &o);
	fflush(NULL);
	dup2(out, STDOUT_FILENO);
	dup2(err, STDERR_FILENO);
	close(out);
	close(err);
	rewind(f);
	said[fread(said, 1, sizeof(said) - 1, f)] = '\0';
	fclose(f);
	return code;
}

/* It is refused, and that is said. */
static void refused(const char *line, const char *text)
{
	assert_int_equal(parse(line), EXIT_USAGE);
	assert_string_equal(said, text);
}

static void all_that_can_be_said(void **state)
{
	assert_int_equal(parse("--run 7 --links 0,2 --streams pmt,instrument --cells --quiet "
			       "--threads 3 --save-every 0.5 --to h5 in out"),
			 0);
	assert_true(o.one_run && o.cells && o.quiet && !o.all_runs && !o.resume && !o.force);
	assert_int_equal(o.run, 7);
	assert_int_equal(o.links, 5);
	assert_int_equal(o.streams, 5);
	assert_int_equal(o.threads, 3);
	assert_true(o.save_s == 0.5);
	assert_string_equal(o.to, "h5");
	assert_string_equal(o.input, "in");
	assert_string_equal(o.output, "out");
	assert_int_equal(parse("--all-runs --resume --station T --server-key k --key-file f "
			       "--seconds 0 in out"),
			 0);
	assert_true(o.all_runs && o.resume && !o.one_run && !o.cells && !o.quiet && !o.force);
	assert_string_equal(o.station, "T");
	assert_string_equal(o.server_key, "k");
	assert_string_equal(o.key_file, "f");
	assert_true(o.seconds == 0);
	assert_int_equal(parse("--force --from +1 --until +1 in out"), 0);
	assert_true(o.force && !o.resume && o.from.given && o.until.given);
	assert_int_equal(parse("in/ out.npy//"), 0);
	assert_string_equal(o.output, "out.npy");
	assert_int_equal(parse("in /"), 0);
	assert_string_equal(o.output, "/");
}

static void what_is_not_said_has_a_default(void **state)
{
	cpu_set_t set;

	assert_int_equal(parse("in out"), 0);
	assert_string_equal(said, "");
	assert_false(o.one_run || o.all_runs || o.cells || o.quiet || o.resume || o.force ||
		     o.from.given || o.until.given);
	assert_int_equal(o.links, 15);
	assert_int_equal(o.streams, 0);
	assert_true(o.save_s == 10);
	assert_false(o.to || o.station || o.server_key || o.key_file);
	assert_int_equal(sched_getaffinity(0, sizeof(set), &set), 0);
	assert_int_equal(o.threads, CPU_COUNT(&set) < 64 ? CPU_COUNT(&set) : 64);
}

static void the_least_and_the_most_are_taken(void **state)
{
	assert_int_equal(parse("--run 4294967295 --threads 64 --links 3 in out"), 0);
	assert_int_equal(o.run, UINT32_MAX);
	assert_int_equal(o.threads, 64);
	assert_int_equal(o.links, 8);
	assert_int_equal(parse("--run 0 --threads 1 --links 0,1,2,3 in out"), 0);
	assert_true(o.one_run);
	assert_int_equal(o.run, 0);
	assert_int_equal(o.threads, 1);
	assert_int_equal(o.links, 15);
}

/* Times of different kinds may be in any order: only the input says. */
static void limits_of_different_kinds_are_not_compared(void **state)
{
	assert_int_equal(parse("--from +5 in out"), 0);
	assert_int_equal(parse("--until +5 in out"), 0);
	assert_int_equal(parse("--from tai:1795780800000000000 --until +1 in out"), 0);
	assert_int_equal(parse("--from +5 --until tai:1795780800000000000 in out"), 0);
	assert_int_equal(parse("--from tai:1795780800000000000 --until 2026-11-27T11:00 in out"),
			 0);
}

static void help_and_version_are_printed(void **state)
{
	assert_int_equal(parse("--version"), 1);
	assert_string_equal(said, "fcm-convert " FCM_VERSION "\n");
	assert_int_equal(parse("--help --what"), 1);
	assert_ptr_equal(strstr(said, "usage: fcm-convert [OPTION ...] INPUT OUTPUT\n"), said);
	assert_int_equal(parse("-h"), 1);
	assert_ptr_equal(strstr(said, "usage: "), said);
}

static void what_is_refused_is_named(void **state)
{
	refused("in", "fcm-convert: an input and an output are needed; fcm-convert --help\n");
	refused("in out more even", "fcm-convert: unexpected argument more; fcm-convert --help\n");
	refused("--run x in out", "fcm-convert: --run x: wanted: a run's number\n");
	refused("--until x in out", "fcm-convert: --until x: wanted: +SECONDS, "
				    "YYYY-MM-DDThh:mm:ss (UTC) or tai:NANOSECONDS since 1970\n");
	refused("--links x in out",
		"fcm-convert: --links x: wanted: numbers 0 to 3 with commas between\n");
	refused("--streams x in out", "fcm-convert: --streams x: wanted: pmt, hydrophone, "
				      "instrument, with commas between\n");
	refused("--save-every x in out", "fcm-convert: --save-every x: wanted: seconds\n");
	refused("--threads x in out", "fcm-convert: --threads x: wanted: a number 1 to 64\n");
	refused("--key-file x in out", "fcm-convert: --server-key and --key-file: both, or "
				       "neither; fcm-convert --help\n");
}

static void what_cannot(void **state)
{
	static const char *const lines[] = {
		"",
		"in",
		"in out more",
		"--run -1 in out",
		"--run 1.5 in out",
		"--run x in out",
		"--run 7x in out",
		"--run 4294967296 in out",
		"--links 4 in out",
		"--links 0,,1 in out",
		"--links 0, in out",
		"--streams pmt,sound in out",
		"--from yesterday in out",
		"--until +x in out",
		"--threads 0 in out",
		"--threads 65 in out",
		"--threads 1.5 in out",
		"--seconds -1 in out",
		"--seconds nan in out",
		"--run 1 --all-runs in out",
		"--resume --force in out",
		"--server-key x in out",
		"--cells --from +1 in out",
		"--from +2 --until +1.5 in out",
		"--from tai:1795780800000000002 --until tai:1795780800000000001 in out",
		"--from 2026-11-27T12:00 --until 2026-11-27T11:00 in out",
		"--what in out",
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		if (parse(lines[i]) != EXIT_USAGE) {
			fail_msg("%s", lines[i]);
		}
	}
}

static void times(void **state)
{
	struct when w;

	assert_true(options_when("+10", &w) && w.relative && w.ns == 10000000000);
	assert_true(options_when("+0.5s", &w) && w.relative && w.ns == 500000000);
	assert_true(options_when("tai:1795194047000000001", &w) && !w.relative && !w.utc &&
		    w.ns == 1795194047000000001);
	assert_true(options_when("2026-11-27T12:00:00.25", &w) && w.utc &&
		    w.ns == 1795780800250000000);
	assert_true(options_when("2026-11-27T12:00:00Z", &w) && w.ns == 1795780800000000000);
	assert_true(options_when("2026-11-27T12:00", &w) && w.ns == 1795780800000000000);
	assert_true(options_when("1970-01-01T00:00:01", &w) && w.ns == 1000000000);
	assert_true(options_when("2200-01-01T00:00", &w) && w.ns == 7258118400000000000);
	assert_false(options_when("1969-12-31T23:59:59", &w));
	assert_false(options_when("2201-01-01T00:00", &w));
	assert_false(options_when("2026-11-27T12:00:75", &w));
	assert_false(options_when("", &w));
	assert_false(options_when("+", &w));
	assert_false(options_when("+s", &w));
	assert_false(options_when("tai:", &w));
	assert_false(options_when("tai:1x", &w));
	assert_true(options_when("tai:946684800000000000", &w));
	assert_false(options_when("tai:946684799999999999", &w));
	assert_false(options_when("tai:1795194047", &w)); /* seconds */
	assert_false(options_when("2026-11-27", &w));
	assert_false(options_when("2026-11-27T12:00:00.5x", &w));
	assert_false(options_when("+10000000000000000000000000000000000000000000", &w));
}

static void refused_address(const char *input, const char *wanted)
{
	char why[200] = "";

	assert_false(address_good(input, why, sizeof(why)));
	assert_string_equal(why, wanted);
}

static void advice_is(const char *input, const char *wanted)
{
	char advice[200];

	address_advice(input, advice, sizeof(advice));
	assert_string_equal(advice, wanted);
}

static void addresses(void **state)
{
	char why[200];

	advice_is("127.0.0.1:5730", "; did you mean tcp://127.0.0.1:5730?");
	advice_is("tcp:/127.0.0.1:5731", "; did you mean tcp://127.0.0.1:5731?");
	advice_is("http://here:5730/", "; did you mean tcp://here:5730?");
	advice_is("http://here", "; did you mean tcp://here:5730?");
	advice_is("night", "; a recording is a folder: give its path, for example "
			   "build/run/recordings/night");
	advice_is("./night", "");
	advice_is("recordings/night", "");
	advice_is("night.h5", "");
	advice_is("", "");
	advice_is("http://", "");
	advice_is(":5730", "");
	assert_true(address_is("tcp://here:5730") && address_is("ipc:///run/x"));
	assert_false(address_is("here:5730") || address_is("./tcp://") || address_is(""));
	assert_true(address_good("ipc:///run/x", why, sizeof(why)));
	assert_true(address_good("tcp://127.0.0.1:5730", why, sizeof(why)));
	assert_true(address_good("tcp://[::1]:5730", why, sizeof(why)));
	refused_address("tcp://127.0.0.1", "has no port; monitors have 5730 + board number: "
					   "tcp://127.0.0.1:5730");
	refused_address("tcp://here:port",
			"has no port; monitors have 5730 + board number: tcp://here:5730");
	refused_address("tcp://:5731", "has no host; for this one: tcp://127.0.0.1:5731");
	/* Too long for a name: it is not even asked for. */
	refused_address("tcp://a123456789b123456789c123456789d123456789e123456789f123456789g1234:1",
			"a123456789b123456789c123456789d123456789e123456789f123456789g1234: "
			"unknown host");
	assert_false(address_good("tcp://127.0.0.1:", why, sizeof(why)));
}

static void what_a_host_was_found_by_is_given_back(void **state)
{
	size_t memory = 0;
	char why[200];

	for (unsigned i = 0; i < 40; i++) {
		memory = i == 20 ? mallinfo2().uordblks : memory;
		assert_true(address_good("tcp://127.0.0.1:5730", why, sizeof(why)));
	}
	assert_int_equal(mallinfo2().uordblks, memory);
}

static const char *name_of(const char *to, const char *output)
{
	const struct kind *k = kind_of(to, output);

	return k ? k->name : "none";
}

static void kinds_by_name(void **state)
{
	assert_string_equal(name_of(NULL, "a/b.h5"), "h5");
	assert_string_equal(name_of(NULL, "b.hdf5"), "h5");
	assert_string_equal(name_of(NULL, "b.npy"), "npy");
	assert_string_equal(name_of(NULL, "b.npz"), "npz");
	assert_string_equal(name_of(NULL, "b.csv"), "csv");
	assert_string_equal(name_of(NULL, "b.wav"), "wav");
	assert_string_equal(name_of(NULL, "b.flac"), "flac");
	assert_string_equal(name_of(NULL, "storm"), "recording");
	assert_string_equal(name_of("csv", "storm"), "csv");
	assert_string_equal(name_of("xml", "storm"), "none");
}

static void tables_have_no_holes(void **state)
{
	for (unsigned i = 0; i < TABLES; i++) {
		unsigned bytes = 0;

		for (const struct field *f = tables[i].fields; f->name; f++) {
			bytes += f->bytes;
			assert_true(f->at + f->bytes <= tables[i].row_bytes);
		}
		if (bytes != tables[i].row_bytes) {
			fail_msg("%s", tables[i].name);
		}
		assert_true(i == TABLE_HITS ||
			    (size_t)tables[i].row_bytes * tables[i].chunk_rows <= 1u << 20);
	}
}

static void rows_as_text(void **state)
{
	struct out_missing row = {.tai_ns = INT64_MIN,
				  .first_frame = UINT64_MAX,
				  .frames = 12,
				  .stream = 1,
				  .link = 3,
				  .tower = 200,
				  .floor = 4,
				  .code = OUT_BOARD_FIFO,
				  .reason = "board-fifo"};
	char text[TEXT_ROW];

	text[text_names(&tables[TABLE_MISSING], text)] = '\0';
	assert_string_equal(text, "tai_ns,first_frame,frames,reason,stream,link,tower,floor,code,"
				  "edge,run,dma_epoch");
	text[text_row(&tables[TABLE_MISSING], &row, text)] = '\0';
	assert_string_equal(text, "-9223372036854775808,18446744073709551615,12,board-fifo,1,3,200,"
				  "4,2,0,0,0");
	text_utc(1795780837250000001, 37, text, sizeof(text));
	assert_string_equal(text, "2026-11-27T12:00:00.250000001Z");
}

static void facts_as_json(void **state)
{
	const struct about about = {.source = "a \"b\"\n", .command = "c", .host = "h\\"};
	const struct totals totals = {.hits = 5, .emulated = true, .complete = true};
	char *text = text_about(&about, &totals);

	assert_non_null(strstr(text, "\"source\": \"a \\\"b\\\"\\u000a\""));
	assert_non_null(strstr(text, "\"host\": \"h\\\\\""));
	assert_non_null(strstr(text, "EMULATED DATA"));
	assert_non_null(strstr(text, "\"complete\": 1\n}"));
	assert_null(strstr(text, "station"));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_that_can_be_said),
		cmocka_unit_test(what_is_not_said_has_a_default),
		cmocka_unit_test(the_least_and_the_most_are_taken),
		cmocka_unit_test(limits_of_different_kinds_are_not_compared),
		cmocka_unit_test(help_and_version_are_printed),
		cmocka_unit_test(what_is_refused_is_named),
		cmocka_unit_test(what_cannot),
		cmocka_unit_test(times),
		cmocka_unit_test(addresses),
		cmocka_unit_test(what_a_host_was_found_by_is_given_back),
		cmocka_unit_test(kinds_by_name),
		cmocka_unit_test(tables_have_no_holes),
		cmocka_unit_test(rows_as_text),
		cmocka_unit_test(facts_as_json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
