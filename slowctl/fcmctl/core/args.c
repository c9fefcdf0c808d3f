/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What was typed: see args.h. The option table is the only list of options; the help, the manual's
 * check and the parser read it. getopt_long() takes the options apart, everything about what they
 * mean is here.
 */
#include "slowctl/fcmctl/core/args.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "slowctl/fcmctl/show/time.h"
#include "slowctl/fcmctl/show/value.h"
#include "slowctl/param/edits.h"
#include "slowctl/param/number.h"

static const struct ctl_option_row option_table[CTL_OPTIONS] = {
	[CTL_BOARD] = {"board", 'b', "N", "the station of board N (default 0 or $FCM_BOARD); all",
		       CTL_NUMBER, 0, CTL_BOARD_MAX},
	[CTL_DIR] = {"dir", 'd', "DIR", "the station whose files are in DIR ($FCM_DIR)"},
	[CTL_SOCKET] = {"socket", 0, "PATH", "the daemon's control socket ($FCM_SOCKET)"},
	[CTL_DATABASE] = {"database", 0, "PATH", "the station's database ($FCM_DATABASE)"},
	[CTL_JSON] = {"json", 'j', NULL, "print the result as JSON"},
	[CTL_CSV] = {"csv", 0, NULL, "print its tables as CSV"},
	[CTL_COLUMNS] = {"columns", 'o', "NAMES", "only these columns of its tables: time,state"},
	[CTL_TIMEOUT] = {"timeout", 0, "SPAN", "how long to wait for a message from the daemon",
			 CTL_SPAN, 0.1, 86400},
	[CTL_HELP] = {"help", 'h', NULL, "explain a command"},
	[CTL_VERSION] = {"version", 'V', NULL, "print the version"},
	[CTL_SINCE] = {"since", 's', "TIME", "from TIME on: 1h, 30m, 02:00, 2026-11-01T02:00",
		       CTL_TIME},
	[CTL_LIMIT] = {"limit", 'n', "N", "at most N rows, the newest", CTL_NUMBER, 1, 100000},
	[CTL_LINK] = {"link", 'l', "LINK", "only link LINK (0..3)", CTL_NUMBER, 0, 3},
	[CTL_TOWER] = {"tower", 0, "N", "only tower N", CTL_NUMBER, 1, 127},
	[CTL_FLOOR] = {"floor", 'f', "N", "only floor N", CTL_NUMBER, 1, 31},
	[CTL_STATE] = {"state", 0, "STATE", "only commands in STATE"},
	[CTL_STREAM] = {"stream", 0, "STREAM", "pmt, hydrophone or instrument"},
	[CTL_COUNT] = {"count", 'c', "N", "end after N", CTL_NUMBER, 1, 1000000000},
	[CTL_HITS] = {"hits", 0, NULL, "one line a hit"},
	[CTL_ITEMS] = {"items", 0, "N", "show at most N items of a block (default 3)", CTL_NUMBER,
		       0, 100000},
	[CTL_MODULE] = {"module", 'm', "M", "only optical module M (0..5)", CTL_NUMBER, 0, 5},
	[CTL_OVER] = {"over", 0, "N", "a threshold of N counts above the baseline", CTL_NUMBER, 1,
		      65535},
	[CTL_INTERVAL] = {"interval", 'i', "SPAN", "pause between two", CTL_SPAN, 0.1, 86400},
	[CTL_TRIALS] = {"trials", 't', "N", "how often (default 20)", CTL_NUMBER, 1, 10000},
	[CTL_WITH] = {"with", 0, "WHAT", "reset or align (default reset)"},
	[CTL_REASON] = {"reason", 'r', "TEXT", "why; kept in the journal"},
	[CTL_NOTE] = {"note", 0, "TEXT", "kept with the run, the recording or the snapshot"},
	[CTL_CLIENT_ID] = {"client-id", 0, "ID", "repeat a command: the same ID never runs twice"},
	[CTL_YES] = {"yes", 'y', NULL, "do not ask, even if it is dangerous or many"},
	[CTL_FORCE] = {"force", 0, NULL, "allow values beyond the soft limits, ignore interlocks"},
	[CTL_NO_WAIT] = {"no-wait", 0, NULL, "do not wait for the end, print the command's number"},
	[CTL_ONCE] = {"once", 0, NULL, "print once and end"},
	[CTL_ROWS] = {"rows", 0, NULL, "row by row, not summed up"},
	[CTL_FROM] = {"from", 0, "COUNT", "from this board count on", CTL_NUMBER, 0, 1e15},
	[CTL_FRAMES] = {"frames", 0, "N", "at most N frames of a link", CTL_NUMBER, 1, 1e15},
	[CTL_WHAT] = {"what", 0, "WHAT", "records, frames, slots, hits, samples or words"},
	[CTL_PCAP] = {"pcap", 0, "FILE", "write the frames to FILE, for Wireshark"},
	[CTL_TO] = {"to", 0, "TIME", "up to TIME (default: now)", CTL_TIME},
	[CTL_BY] = {"by", 0, "SPAN", "rows by second (as kept), minute or hour"},
	[CTL_LINKS] = {"links", 0, "LINKS", "these links: 0,2"},
	[CTL_NAME] = {"name", 0, "NAME", "its name; a directory's"},
	[CTL_DRY_RUN] = {"dry-run", 0, NULL, "only say what would be done: nothing is sent"},
	[CTL_RATE] = {"rate", 0, "RATE", "ramp rate, per second; it stays set (default: unchanged)",
		      CTL_DECIMAL, 0.1, 10000},
	[CTL_JOB] = {"job", 0, "ID", "continue a job: a command that is done is not sent again"},
	[CTL_KEEP_GOING] = {"keep-going", 0, NULL, "do not stop at the first failure"},
	[CTL_ROLL_BACK] = {"roll-back", 0, NULL,
			   "after a failure set back what was changed, in reverse order"},
	[CTL_PLAN] = {"plan", 0, NULL, "the present set values, as a file for plan and apply"},
	[CTL_FOR] = {"for", 0, "SPAN", "end after SPAN: 90s, 10m, 2h", CTL_SPAN, 1, 31536000},
	[CTL_AT] = {"at", 0, "TIME", "as it was at TIME: 02:00, 3h, 2026-11-01T02:00", CTL_TIME,
		    .again = CTL_AT_AGAIN},
	[CTL_PLOT] = {"plot", 0, NULL, "as a plot, also where the output is no terminal"},
	[CTL_KEY] = {"key", 0, "FILE", "a monitor's key, where the data are encrypted ($FCM_KEY)"},
	[CTL_RAW] = {"raw", 0, NULL, "every byte unchanged, also terminal control sequences"},
	[CTL_VERBOSE] = {"verbose", 'v', NULL, "all of it, however long"},
	[CTL_OBJECT] = {"object", 0, "NAME", "what it is about: floor3, link2"},
	[CTL_INCIDENT] = {"incident", 0, "N", "the number of an incident", CTL_NUMBER, 1, 1e9},
	[CTL_SUMMARY] = {"summary", 0, NULL, "the shift in a sentence: a report begins with it"},
	[CTL_HTML] = {"html", 0, NULL, "as one HTML file, with pictures"},
	[CTL_KEEP] = {"keep", 0, "N", "of this board only the N newest backups stay in DIR",
		      CTL_NUMBER, 1, 100000},
	[CTL_WITH_KEYS] = {"with-keys", 0, NULL,
			   "secret keys, too: keep the backup as safe as them"},
	[CTL_REPLACE] = {"replace", 0, NULL,
			 "also a database that is newer, or of another station"},
	[CTL_DEEP] = {"deep", 0, NULL, "the whole database, however long that takes"},
	[CTL_BUNDLE] = {"bundle", 0, "FILE", "write what a supporter needs to FILE, a tar archive"},
	[CTL_ROOT] = {"root", 0, "DIR",
		      "the machine's files are below DIR: /sys, /proc, /dev, /etc"},
	[CTL_AT_AGAIN] = {"at", 0, "TIME", "a second time; default now", CTL_TIME},
};

const struct ctl_option_row *ctl_option_row(enum ctl_option option)
{
	return &option_table[option];
}

int ctl_fault(struct ctl_fault *ret, const char *hint, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(ret->text, sizeof(ret->text), format, ap);
	va_end(ap);
	snprintf(ret->hint, sizeof(ret->hint), "%s", hint);
	return -EINVAL;
}

const char *ctl_nearest(const char *word, const char *const *known, size_t count)
{
	const char *best = NULL;
	unsigned least = 3; /* two edits at most, and at most half of the word */

	for (size_t i = 0; i < count; i++) {
		unsigned far = edits(word, known[i]);

		if (far < least && far * 2 <= strlen(word)) {
			least = far;
			best = known[i];
		}
	}
	return best;
}

/* A list of names without repeats, for matching and messages. */
struct names {
	const char *name[64];
	size_t count;
};

static void names_add(struct names *names, const char *name)
{
	for (size_t i = 0; i < names->count; i++) {
		if (strcmp(names->name[i], name) == 0) {
			return;
		}
	}
	if (names->count < sizeof(names->name) / sizeof(names->name[0])) {
		names->name[names->count++] = name;
	}
}

static const char *names_text(const struct names *names, char *buf, size_t size)
{
	*buf = '\0';
	for (size_t i = 0; i < names->count; i++) {
		value_append(buf, size, "%s%s", i > 0 ? ", " : "", names->name[i]);
	}
	return buf;
}

const struct ctl_command *const *ctl_tables;

/* First words: verbs without noun, and nouns; or, with a noun, its verbs. */
static void collect(const char *noun, struct names *ret_names)
{
	ret_names->count = 0;
	for (size_t t = 0; ctl_tables[t] != NULL; t++) {
		for (const struct ctl_command *c = ctl_tables[t]; c->verb != NULL; c++) {
			if (noun == NULL) {
				names_add(ret_names, c->noun != NULL ? c->noun : c->verb);
			} else if (c->noun != NULL && strcmp(c->noun, noun) == 0) {
				names_add(ret_names, c->verb);
			}
		}
	}
}

/* The one name that `word` is or begins. */
static int match(const char *what, const char *word, const struct names *names,
		 const char **ret_name, struct ctl_fault *ret_fault)
{
	struct names fits = {.count = 0};
	char list[360];
	char hint[400];
	const char *near;

	for (size_t i = 0; i < names->count; i++) {
		if (strcmp(names->name[i], word) == 0) {
			*ret_name = names->name[i];
			return 0;
		}
		if (strncmp(names->name[i], word, strlen(word)) == 0) {
			names_add(&fits, names->name[i]);
		}
	}
	if (fits.count == 1) {
		*ret_name = fits.name[0];
		return 0;
	}
	if (fits.count > 1) {
		ctl_fault(ret_fault, "type more of it", "%s '%.40s' is ambiguous: %s", what, word,
			  names_text(&fits, list, sizeof(list)));
		return -EINVAL;
	}
	near = ctl_nearest(word, names->name, names->count);
	if (near != NULL) {
		snprintf(hint, sizeof(hint), "did you mean '%s'?", near);
	} else {
		snprintf(hint, sizeof(hint), "there are: %s",
			 names_text(names, list, sizeof(list)));
	}
	ctl_fault(ret_fault, hint, "there is no %s '%.40s'", what, word);
	return -EINVAL;
}

const struct ctl_command *ctl_command_find(const char *noun, const char *verb)
{
	for (size_t t = 0; ctl_tables[t] != NULL; t++) {
		for (const struct ctl_command *c = ctl_tables[t]; c->verb != NULL; c++) {
			bool same = noun == NULL ? c->noun == NULL
						 : c->noun != NULL && strcmp(c->noun, noun) == 0;

			if (same && strcmp(c->verb, verb) == 0) {
				return c;
			}
		}
	}
	return NULL;
}

/* Words -> command; *ret_used words name it. A noun alone: *ret_noun and no command. */
static int find_command(int words, char **word, const char **ret_noun,
			const struct ctl_command **ret_command, int *ret_used,
			struct ctl_fault *ret_fault)
{
	struct names names;
	const char *first = NULL;
	const char *verb = NULL;
	char what[64];
	int err;

	collect(NULL, &names);
	err = match("command", word[0], &names, &first, ret_fault);
	if (err != 0) {
		return err;
	}
	*ret_command = ctl_command_find(NULL, first);
	*ret_noun = NULL;
	*ret_used = 1;
	if (*ret_command != NULL) {
		return 0;
	}
	*ret_noun = first;
	if (words < 2) {
		return 0;
	}
	collect(first, &names);
	snprintf(what, sizeof(what), "command '%s' with the verb", first);
	err = match(what, word[1], &names, &verb, ret_fault);
	if (err == 0) {
		*ret_command = ctl_command_find(first, verb);
		*ret_used = 2;
	}
	return err;
}

static int option_value(enum ctl_option option, const char *text, double now,
			struct ctl_args *ret_args, struct ctl_fault *ret_fault)
{
	const struct ctl_option_row *row = &option_table[option];
	const char *name = row->name;
	double value = 0.0;
	const char *rest;
	char *end;
	int err = 0;

	if (option == CTL_BOARD && strcmp(text, "all") == 0) {
		ret_args->text[option] = text;
		ret_args->number[option] = CTL_BOARD_ALL;
		return 0;
	}
	switch (row->type) {
	case CTL_TEXT:
		if (row->value != NULL && *text == '\0') {
			return ctl_fault(ret_fault, "give it a value", "--%s is empty", name);
		}
		break;
	case CTL_NUMBER:
		if (option == CTL_LINK && strncmp(text, "link", 4) == 0) {
			text += 4;
		} else if (option == CTL_MODULE && strncmp(text, "om", 2) == 0) {
			text += 2;
		}
		value = (double)strtol(text, &end, 10);
		err = !isdigit((unsigned char)*text) || *end != '\0' ? -EINVAL : 0;
		break;
	case CTL_DECIMAL:
		err = isdigit((unsigned char)*text) ? number_parse(text, &value, &rest) : -EINVAL;
		err = err == 0 && *rest != '\0' ? -EINVAL : err;
		break;
	case CTL_SPAN:
		err = ctl_span_parse(text, &value);
		break;
	case CTL_TIME:
		err = ctl_time_parse(text, now, &value);
		if (err == 0 && value > now + 1.0) {
			return ctl_fault(ret_fault, "times are UTC", "--%s %.60s is in the future",
					 name, text);
		}
		if (err != 0) {
			return ctl_fault(ret_fault,
					 "say 30m, 1h, 2d, 02:00, today or 2026-11-01T02:00 (UTC)",
					 "--%s '%.60s' is not a time", name, text);
		}
		break;
	}
	if (err != 0 || (row->high > 0.0 && (value < row->low || value > row->high))) {
		char hint[96];

		snprintf(hint, sizeof(hint), "%s from %g to %g",
			 row->type == CTL_SPAN	    ? "a span such as 10s or 1m30s,"
			 : row->type == CTL_DECIMAL ? "a number"
						    : "a whole number",
			 row->low, row->high);
		return ctl_fault(ret_fault, hint, "--%s: '%.60s' is invalid", name, text);
	}
	if (ret_args->text[option] != NULL && row->again != 0) {
		option = row->again;
		if (ret_args->text[option] != NULL) {
			return ctl_fault(ret_fault, "leave one out", "--%s is given three times",
					 name);
		}
	}
	ret_args->text[option] = text;
	ret_args->number[option] = value;
	return 0;
}

/* getopt's tables out of ours. */
static void getopt_tables(struct option *longs, char *shorts)
{
	*shorts++ = '-'; /* hand out words in their place */
	*shorts++ = ':';
	for (int i = 0; i < CTL_OPTIONS; i++) {
		const struct ctl_option_row *row = &option_table[i];
		bool value = row->value != NULL;

		if (i == CTL_AT_AGAIN) {
			continue; /* getopt knows a name once */
		}
		*longs++ = (struct option){.name = row->name,
					   .has_arg = value ? required_argument : no_argument,
					   .val = 256 + i};
		if (row->letter != 0) {
			*shorts++ = row->letter;
			if (value) {
				*shorts++ = ':';
			}
		}
	}
	*longs = (struct option){0};
	*shorts = '\0';
}

static int option_of(int c)
{
	if (c >= 256) {
		return c - 256;
	}
	for (int i = 0; i < CTL_OPTIONS; i++) {
		if (option_table[i].letter == c) {
			return i;
		}
	}
	return -1;
}

/* A value to set; no option of ours is a digit. */
static bool is_negative_number(const char *text)
{
	return text[0] == '-' && (isdigit((unsigned char)text[1]) || text[1] == '.');
}

/* What getopt does not know. */
static int unknown_option(const char *typed, struct ctl_fault *ret_fault)
{
	const char *known[CTL_OPTIONS];
	char name[64];
	char hint[96] = "fcmctl --help lists the options";
	const char *near;

	for (int i = 0; i < CTL_OPTIONS; i++) {
		known[i] = option_table[i].name;
	}
	snprintf(name, sizeof(name), "%s", typed + strspn(typed, "-"));
	name[strcspn(name, "=")] = '\0';
	near = ctl_nearest(name, known, CTL_OPTIONS);
	if (near != NULL) {
		snprintf(hint, sizeof(hint), "did you mean --%s?", near);
	}
	return ctl_fault(ret_fault, hint, "there is no option '%.60s'", typed);
}

static int take_options(int argc, char **argv, double now, char **words, struct ctl_args *ret_args,
			struct ctl_fault *ret_fault)
{
	struct option longs[CTL_OPTIONS + 1];
	char shorts[2 * CTL_OPTIONS + 4];
	int option;
	int err;

	getopt_tables(longs, shorts);
	opterr = 0;
	optind = 0; /* glibc: restart, here and not at the first option */
	getopt_long(1, argv, shorts, longs, NULL);
	for (;;) {
		int at = optind;
		int c;

		if (at < argc && is_negative_number(argv[at])) {
			words[ret_args->words++] = argv[at];
			optind = at + 1;
			continue;
		}
		c = getopt_long(argc, argv, shorts, longs, NULL);
		if (c == -1) {
			break;
		}
		if (c == 1) {
			words[ret_args->words++] = optarg;
			continue;
		}
		if (c == ':') {
			return ctl_fault(ret_fault, "give it a value",
					 "option '%.60s' needs a value", argv[optind - 1]);
		}
		option = c == '?' ? -1 : option_of(c);
		if (option < 0) {
			return unknown_option(argv[optind > at ? optind - 1 : at], ret_fault);
		}
		err = option_value((enum ctl_option)option, optarg != NULL ? optarg : "", now,
				   ret_args, ret_fault);
		if (err != 0) {
			return err;
		}
	}
	while (optind < argc) { /* behind "--" */
		words[ret_args->words++] = argv[optind++];
	}
	return 0;
}

const char *ctl_command_name(const struct ctl_command *c, char *buf, size_t size)
{
	snprintf(buf, size, "%s%s%s", c->noun != NULL ? c->noun : "", c->noun != NULL ? " " : "",
		 c->verb);
	return buf;
}

#define WORDS_MAX 64u /* of a command that takes any number */

/* How many words a command takes, by its usage: "LINK", "NAME ROLE [FILE]", "[PATTERN...]", "ALARM --for SPAN". */
static void count_words(const struct ctl_command *c, unsigned *ret_min, unsigned *ret_max)
{
	const char *word = c->arguments;
	bool option = false;

	*ret_min = *ret_max = 0;
	for (size_t length; *word != '\0'; word += length + strspn(word + length, " ")) {
		length = strcspn(word, " ");
		option = word[0] == '-' || option;
		if (!option) {
			*ret_min += word[0] != '[';
			*ret_max =
				memmem(word, length, "...", 3) != NULL ? WORDS_MAX : *ret_max + 1;
		}
	}
}

/* Options and number of words against the command's row. */
static int check_command(const struct ctl_args *args, struct ctl_fault *ret_fault)
{
	const struct ctl_command *command = args->command;
	unsigned least, most;
	char name[64];
	char hint[200];

	ctl_command_name(command, name, sizeof(name));
	snprintf(hint, sizeof(hint), "usage: fcmctl %s%s%s [OPTION...]", name,
		 command->arguments[0] != '\0' ? " " : "", command->arguments);
	for (int i = 0; i < CTL_OPTIONS; i++) {
		if (args->text[i] != NULL && i > CTL_VERSION &&
		    (command->options & CTL_BIT(i)) == 0) {
			if ((command->options & CTL_BIT(CTL_AT)) != 0 && i == CTL_AT_AGAIN) {
				return ctl_fault(ret_fault, "fcmctl diff compares two times",
						 "'%s' takes one --%s", name, option_table[i].name);
			}
			snprintf(hint, sizeof(hint), "fcmctl %s --help lists its options", name);
			return ctl_fault(ret_fault, hint, "'%s' has no option --%s", name,
					 option_table[i].name);
		}
	}
	if (ctl_given(args, CTL_SINCE) && ctl_given(args, CTL_TO) &&
	    args->number[CTL_TO] <= args->number[CTL_SINCE]) {
		return ctl_fault(ret_fault, "--since comes first", "--to is not after --since");
	}
	if (ctl_all_boards(args) && !command->all_boards) {
		return ctl_fault(ret_fault, "fcmctl --board all status shows all of them",
				 "'%s' is for one board", name);
	}
	count_words(command, &least, &most);
	if ((unsigned)args->words < least) {
		return ctl_fault(ret_fault, hint, "'%s' needs %s", name, command->arguments);
	}
	if ((unsigned)args->words > most) {
		return ctl_fault(ret_fault, hint, "'%s': unexpected argument '%.60s'", name,
				 args->word[most]);
	}
	return 0;
}

int ctl_args_parse(int argc, char **argv, double now, char **words, struct ctl_args *ret_args,
		   struct ctl_fault *ret_fault)
{
	struct ctl_args args = {.word = words};
	const char *noun = NULL;
	struct names names;
	char list[200];
	int used = 0;
	int err = take_options(argc, argv, now, words, &args, ret_fault);

	if (err != 0) {
		return err;
	}
	if (args.words > 0 && strcmp(words[0], "help") == 0) {
		args.text[CTL_HELP] = "";
		args.word = ++words;
		args.words--;
	}
	if (args.words > 0) {
		err = find_command(args.words, words, &noun, &args.command, &used, ret_fault);
		if (err != 0) {
			return err;
		}
	}
	args.topic = noun;
	args.word = words + used;
	args.words -= used;
	if (!ctl_given(&args, CTL_HELP) && !ctl_given(&args, CTL_VERSION)) {
		if (args.command != NULL) {
			err = check_command(&args, ret_fault);
		} else if (noun != NULL) {
			collect(noun, &names);
			err = ctl_fault(ret_fault, "", "'%s' needs a verb: %s", noun,
					names_text(&names, list, sizeof(list)));
		} else {
			err = ctl_fault(ret_fault,
					"begin with fcmctl status; fcmctl --help lists all",
					"which command?");
		}
	}
	if (err == 0) {
		*ret_args = args;
	}
	return err;
}

__attribute__((format(printf, 3, 4))) static int put_path(struct ctl_fault *ret_fault, char *path,
							  const char *format, ...)
{
	va_list ap;
	int length;

	va_start(ap, format);
	length = vsnprintf(path, PATH_MAX, format, ap);
	va_end(ap);
	return length < PATH_MAX ? 0
				 : ctl_fault(ret_fault, "give a shorter one",
					     "the path %.60s... is too long", path);
}

static int station_in_dir(struct ctl_station *s, const char *dir, struct ctl_fault *ret_fault)
{
	size_t length = strlen(dir);
	const char *slash = length > 0 && dir[length - 1] == '/' ? "" : "/";
	int err = put_path(ret_fault, s->socket, "%s%scontrol.sock", dir, slash);

	return err != 0 ? err : put_path(ret_fault, s->database, "%s%sstation.db", dir, slash);
}

/* The socket as given; the database lies beside it unless the socket is an installed one. */
static int station_of_socket(struct ctl_station *s, const char *path, struct ctl_fault *ret_fault)
{
	const char *slash = strrchr(path, '/');
	int err = put_path(ret_fault, s->socket, "%s", path);

	if (err != 0 || strncmp(path, "/run/fcm-server/", 16) == 0) {
		return err;
	}
	return put_path(ret_fault, s->database, "%.*s/station.db",
			slash != NULL ? (int)(slash - path) : 1, slash != NULL ? path : ".");
}

/* The environment counts only where no option names a station. */
static int station_of_environment(struct ctl_station *s, struct ctl_fault *ret_fault)
{
	const char *dir = getenv("FCM_DIR");
	const char *socket = getenv("FCM_SOCKET");
	const char *database = getenv("FCM_DATABASE");
	int err = dir != NULL ? station_in_dir(s, dir, ret_fault) : 0;

	if (err == 0 && socket != NULL) {
		err = station_of_socket(s, socket, ret_fault);
	}
	if (err == 0 && database != NULL) {
		err = put_path(ret_fault, s->database, "%s", database);
	}
	return err;
}

int ctl_station_find(const struct ctl_args *args, struct ctl_station *ret_station,
		     struct ctl_fault *ret_fault)
{
	struct ctl_station s = {.board = 0};
	const char *variable = getenv("FCM_BOARD");
	bool board = ctl_given(args, CTL_BOARD);
	const char *socket = args->text[CTL_SOCKET];
	const char *database = args->text[CTL_DATABASE];
	char *end;
	int err = 0;

	if (ctl_all_boards(args) && (socket != NULL || database != NULL)) {
		return ctl_fault(ret_fault, "name one board, or leave it out",
				 "--board all finds sockets and databases itself");
	}
	if (board) {
		s.board = (unsigned)args->number[CTL_BOARD];
	} else if (variable != NULL) {
		unsigned long n = strtoul(variable, &end, 10);

		if (!isdigit((unsigned char)*variable) || *end != '\0' || n > CTL_BOARD_MAX) {
			return ctl_fault(ret_fault, "export FCM_BOARD=0, or unset it",
					 "$FCM_BOARD '%.40s' is no board number", variable);
		}
		s.board = (unsigned)n;
	}
	snprintf(s.socket, PATH_MAX, "/run/fcm-server/%u/control.sock", s.board);
	snprintf(s.database, PATH_MAX, "/var/lib/fcm-server/%u/station.db", s.board);
	if (ctl_given(args, CTL_DIR)) {
		err = station_in_dir(&s, args->text[CTL_DIR], ret_fault);
	} else if (!board && socket == NULL) {
		err = station_of_environment(&s, ret_fault);
	}
	if (err == 0 && socket != NULL) {
		err = station_of_socket(&s, socket, ret_fault);
	}
	if (err == 0 && database != NULL) {
		err = put_path(ret_fault, s.database, "%s", database);
	}
	s.installed = strncmp(s.socket, "/run/fcm-server/", 16) == 0;
	if (err == 0) {
		*ret_station = s;
	}
	return err;
}
