/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An advice that names a command of fcmctl can be followed: every such command in the texts of the daemon,
 * the command engine and the dictionary is understood by fcmctl's parser as it stands, and the parameters
 * that it names exist. Read from the sources, from the top of the tree. A command ends with a punctuation
 * mark, or with a word of the sentence that goes on ("tells", "shows" ...).
 */
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "slowctl/fcmctl/commands.h"
#include "slowctl/fcmctl/core/args.h"
#include "slowctl/param/param.h"

#define WORDS_MAX 24

static struct params *params;
static unsigned commands, faults;

static char *read_file(const char *path)
{
	FILE *f = fopen(path, "r");
	char *text = calloc(1, 1 << 20);

	assert_non_null(f);
	assert_non_null(text);
	assert_true(fread(text, 1, (1 << 20) - 1, f) > 0);
	fclose(f);
	return text;
}

/* What stands for something when the text is made. */
static void fill_in(char *text, size_t size)
{
	static const char *const known[][2] = {
		{"%llu", "7"},	 {"%u", "1"},
		{"%d", "1"},	 {"%s", "floor1.om0.hv"},
		{"VOLTS", "10"}, {"floorN.omM", "floor1.om0"},
		{"TEXT", "x"},	 {"floorN.hydrophoneM", "floor1.hydrophone0"},
		{"LINK", "1"},	 {"floorN", "floor1"},
	};
	char rest[512];

	for (size_t n = 0; n < sizeof(known) / sizeof(known[0]); n++) {
		char *at;

		while ((at = strstr(text, known[n][0]))) {
			snprintf(rest, sizeof(rest), "%s", at + strlen(known[n][0]));
			snprintf(at, size - (size_t)(at - text), "%s%s", known[n][1], rest);
		}
	}
}

static bool goes_on(const char *word)
{
	static const char *const sentence[] = {"tells",	   "shows", "names", "lists", "brings",
					       "explains", "then",  "and",   "is"};

	for (size_t n = 0; n < sizeof(sentence) / sizeof(sentence[0]); n++) {
		if (strcmp(word, sentence[n]) == 0) {
			return true;
		}
	}
	return false;
}

/* The words of the command at `text`, "fcmctl" itself the first; cuts them out of it. */
static int take_words(char *text, char **argv)
{
	int argc = 0;

	while (argc < WORDS_MAX - 1) {
		char *end, quote = *text == '\'' ? '\'' : '\0';
		bool last;

		text += quote != '\0';
		end = text + strcspn(text, quote ? "'" : " ;:,()?!");
		last = !quote && *end != ' ';
		if (!quote && end > text && end[-1] == '.') {
			end[-1] = '\0';
			last = true;
		}
		last = last || !*end;
		*end = '\0';
		if (*text && !goes_on(text)) {
			argv[argc++] = text;
		} else if (*text) {
			break;
		}
		text = end + 1;
		if (last || (quote && *text != ' ')) {
			break;
		}
		text += strspn(text, " ");
	}
	argv[argc] = NULL;
	return argc;
}

static bool names_exist(const struct ctl_args *args)
{
	static const char *const of_parameters[] = {"get", "set", "action", "history"};

	for (size_t n = 0; n < 4; n++) {
		if (!args->command->noun && strcmp(args->command->verb, of_parameters[n]) == 0 &&
		    args->words > 0) {
			return params_match(params, args->word[0], NULL, NULL) > 0;
		}
	}
	return true;
}

static void check_command(const char *where, const char *text)
{
	char copy[512], *argv[WORDS_MAX + 1], *words[WORDS_MAX + 1];
	struct ctl_args args = {0};
	struct ctl_fault fault = {.text = ""};
	int argc;

	snprintf(copy, sizeof(copy), "%s", text);
	fill_in(copy, sizeof(copy));
	argc = take_words(copy, argv);
	commands++;
	if (argc < 2 || ctl_args_parse(argc, argv, 0, words, &args, &fault) != 0 || !args.command ||
	    !names_exist(&args)) {
		faults++;
		fprintf(stderr, "%s: \"%.60s\": %s\n", where, text,
			*fault.text ? fault.text : "no such command or parameter");
	}
}

static void check_text(const char *where, const char *text)
{
	while ((text = strstr(text, "fcmctl "))) {
		check_command(where, text);
		text += strlen("fcmctl ");
	}
}

static void check_conf(const char *path)
{
	char *text = read_file(path), *save = NULL;

	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		if (strncmp(line, "on_alarm", 8) == 0) {
			check_text(path, line);
		}
	}
	free(text);
}

/* String literals, those that follow each other as one. */
static void check_source(const char *path)
{
	char *source = read_file(path), text[4096];
	size_t used = 0;

	for (const char *at = source; *at; at++) {
		if (strncmp(at, "/*", 2) == 0) {
			at = strstr(at, "*/") + 1;
		} else if (*at == '\'' && at[1] && strchr("\"'\\", at[1])) {
			at += at[1] == '\\' ? 3 : 2;
		} else if (*at == '"') {
			for (at++; *at != '"' && used < sizeof(text) - 2; at++) {
				at += *at == '\\';
				text[used++] = *at == 'n' && at[-1] == '\\' ? ';' : *at;
			}
		} else if (!strchr(" \t\n", *at) && used) {
			text[used] = '\0';
			check_text(path, text);
			used = 0;
		}
	}
	free(source);
}

static void test_advice(void **state)
{
	static const char *const sources[] = {"daemon/*.c", "daemon/*/*.c", "slowctl/engine/*.c",
					      "slowctl/param/*.c", "slowctl/query/*.c"};
	glob_t found = {0};

	for (size_t n = 0; n < sizeof(sources) / sizeof(sources[0]); n++) {
		assert_int_equal(glob(sources[n], n ? GLOB_APPEND : 0, NULL, &found), 0);
	}
	for (size_t n = 0; n < found.gl_pathc; n++) {
		check_source(found.gl_pathv[n]);
	}
	globfree(&found);
	check_conf("schemas/parameters.conf");
	assert_in_range(commands, 30, 300); /* they were found at all */
	assert_int_equal(faults, 0);
}

/* The test's own net holds: what cannot be typed is found. */
static void test_net(void **state)
{
	static const char *const bad[] = {"look: fcmctl get shore shows their ages",
					  "fcmctl link reset; then wait",
					  "fcmctl link show: do bytes come?",
					  "fcmctl phase accept.",
					  "fcmctl nurse",
					  "fcmctl get its power and trip"};

	for (size_t n = 0; n < sizeof(bad) / sizeof(bad[0]); n++) {
		faults = 0;
		check_text("(on purpose)", bad[n]);
		assert_int_equal(faults, 1);
	}
	faults = commands = 0;
}

static int load(void **state)
{
	static const struct param_floor floors[] = {{0, 1, 1}, {1, 1, 2}, {2, 1, 3}, {3, 1, 4}};
	struct sc_error error = {0};

	return params_load("schemas/parameters.conf", floors, 4, &params, &error);
}

static int unload(void **state)
{
	params_destroy(params);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_net),
		cmocka_unit_test(test_advice),
	};

	ctl_tables = ctl_commands;
	return cmocka_run_group_tests(tests, load, unload);
}
