/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fcmctl: all that an operator does. main() reads what was typed, finds the station, and runs the
 * command; the help is made from the same tables. Neighbours: ctl.h draws the map.
 */
#include "slowctl/fcmctl/commands.h"
#include "slowctl/fcmctl/core/ctl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "slowctl/fcmctl/core/args.h"
#include "slowctl/fcmctl/show/value.h"

static void help_option(enum ctl_option option)
{
	const struct ctl_option_row *row = ctl_option_row(option);
	char letter[] = {'-', row->letter, ',', ' ', '\0'};
	char left[48];

	snprintf(left, sizeof(left), "%s--%s%s%s", row->letter != 0 ? letter : "    ", row->name,
		 row->value != NULL ? " " : "", row->value != NULL ? row->value : "");
	printf("  %-24s %s\n", left, row->help);
}

/* Name and arguments. */
static const char *usage(const struct ctl_command *c, char *buf, size_t size)
{
	char name[64];

	snprintf(buf, size, "%s%s%s", ctl_command_name(c, name, sizeof(name)),
		 c->arguments[0] != '\0' ? " " : "", c->arguments);
	return buf;
}

static void help_usage(const struct ctl_command *c, const char *before)
{
	char left[96];

	printf("%s%-32s %s\n", before, usage(c, left, sizeof(left)), c->summary);
}

static void help_all(void)
{
	puts("usage: fcmctl [OPTION...] COMMAND [ARGUMENT...]\n\n"
	     "Operates the FCM-Server of one board: is everything well, and what to do if not.\n"
	     "Begin with: fcmctl status\n\nCommands:");
	for (size_t t = 0; ctl_tables[t] != NULL; t++) {
		for (const struct ctl_command *c = ctl_tables[t]; c->verb != NULL; c++) {
			help_usage(c, "  ");
		}
	}
	puts("\nOptions:");
	for (int i = CTL_BOARD; i <= CTL_VERSION; i++) {
		help_option((enum ctl_option)i);
	}
	puts("\nEach command explains itself: fcmctl link reset --help. All of it: man fcmctl.\n"
	     "Exit codes: 0 done (status: well), 1 refused or not well, 2 not understood,\n"
	     "3 outcome unknown or daemon not running.");
}

static void help_noun(const char *noun)
{
	for (size_t t = 0; ctl_tables[t] != NULL; t++) {
		for (const struct ctl_command *c = ctl_tables[t]; c->verb != NULL; c++) {
			if (c->noun != NULL && strcmp(c->noun, noun) == 0) {
				help_usage(c, "fcmctl ");
			}
		}
	}
	printf("\nfcmctl %s VERB --help explains one.\n", noun);
}

static void help_command(const struct ctl_command *c)
{
	char left[96];

	printf("usage: fcmctl %s%s\n\n%s\n", usage(c, left, sizeof(left)),
	       c->options != 0 ? " [OPTION...]" : "", c->help);
	if (c->options != 0) {
		puts("\nOptions:");
	}
	for (int i = 0; i < CTL_OPTIONS; i++) {
		if ((c->options & CTL_BIT(i)) != 0) {
			help_option((enum ctl_option)i);
		}
	}
	puts("\nand those of fcmctl: --board N, --dir DIR, --json, ... (fcmctl --help)");
}

static void help(const struct ctl_args *args)
{
	if (args->command != NULL) {
		help_command(args->command);
	} else if (args->topic != NULL) {
		help_noun(args->topic);
	} else {
		help_all();
	}
}

static void name_self(struct ctl *ctl, const char *program, const struct ctl_args *args)
{
	static const enum ctl_option naming[] = {CTL_BOARD, CTL_DIR, CTL_SOCKET, CTL_DATABASE};

	ctl_append_word(ctl->self, sizeof(ctl->self), "", program);
	for (size_t i = 0; i < sizeof(naming) / sizeof(naming[0]); i++) {
		if (ctl_given(args, naming[i]) && !ctl_all_boards(args)) {
			ctl_append_word(ctl->self, sizeof(ctl->self),
					ctl_option_row(naming[i])->name, args->text[naming[i]]);
		}
	}
}

/* A column that no table has was mistyped. What has changed something is done all the same. */
static int check_columns(struct ctl *ctl, const struct ctl_command *command, int code)
{
	const struct writer_choice *choice = writer_choice(ctl->out);
	char hint[480], missed[64];

	if (choice == NULL || *choice->there == '\0' ||
	    *writer_choice_missed(choice, missed, sizeof(missed)) == '\0') {
		return code;
	}
	snprintf(hint, sizeof(hint), "there are %s", choice->there);
	if (command->look != NULL) {
		ctl_remark("no column '%s': %s", missed, hint);
		return code;
	}
	return ctl_usage(ctl, hint, "%s: no column '%s'", ctl->doing, missed);
}

static int run(struct ctl *ctl, const char *program, const struct ctl_args *args)
{
	const struct ctl_command *command = args->command;
	struct ctl_fault fault = {.text = ""};
	int code;

	if (ctl_station_find(args, &ctl->station, &fault) != 0) {
		return ctl_usage(ctl, fault.hint, "%s", fault.text);
	}
	name_self(ctl, program, args);
	ctl_command_name(command, ctl->doing, sizeof(ctl->doing));
	code = command->run != NULL ? command->run(ctl, args) : ctl_run_plain(ctl, args);
	ctl_disconnect(ctl);
	if (code == CTL_DONE || code == CTL_NOT) {
		code = check_columns(ctl, command, code);
	}
	if (writer_flush(ctl->out) != 0) {
		return ctl_fail(NULL, CTL_NOT, "internal", "", "the output could not be written");
	}
	return code;
}

static struct writer *make_writer(struct ctl *ctl, const struct ctl_args *args)
{
	struct writer *w = ctl->json  ? writer_create_json(stdout, isatty(STDOUT_FILENO) != 0)
			   : ctl->csv ? writer_create_csv(stdout)
				      : writer_create_text(stdout, writer_wants_colour(stdout));

	ctl_memory(NULL, w);
	if (ctl->csv) {
		value_plain();
	}
	if (ctl_given(args, CTL_COLUMNS)) {
		writer_choose(w, args->text[CTL_COLUMNS]);
	}
	return w;
}

static bool typed_json(int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		if (strcmp(argv[i], "--json") == 0 || strcmp(argv[i], "-j") == 0) {
			return true;
		}
	}
	return false;
}

int main(int argc, char **argv)
{
	struct ctl ctl = {
		.terminal = isatty(STDERR_FILENO) != 0,
		.can_ask = isatty(STDIN_FILENO) != 0 && isatty(STDERR_FILENO) != 0,
	};
	char **words = ctl_memory(NULL, calloc((size_t)argc + 1, sizeof(*words)));
	struct ctl_args args = {0};
	struct ctl_fault fault = {.text = ""};
	int code = CTL_DONE;

	ctl_tables = ctl_commands;
	if (argc > 2 && strcmp(argv[1], "__complete") == 0) {
		free(words);
		return ctl_complete(argc - 2, argv + 2);
	}
	if (ctl_args_parse(argc, argv, ctl_now(), words, &args, &fault) != 0) {
		/* Not understood, so not known for sure: who typed it wants it. */
		ctl.json = typed_json(argc, argv);
		ctl.out = ctl.json ? writer_create_json(stdout, isatty(STDOUT_FILENO) != 0) : NULL;
		ctl.json = ctl.out != NULL;
		code = ctl_usage(&ctl, fault.hint, "%s", fault.text);
		goto out;
	}
	if (ctl_given(&args, CTL_VERSION)) {
		puts("fcmctl " FCM_VERSION);
		goto out;
	}
	if (ctl_given(&args, CTL_HELP)) {
		help(&args);
		goto out;
	}
	ctl.json = ctl_given(&args, CTL_JSON);
	ctl.timeout_s = args.number[CTL_TIMEOUT];
	ctl.csv = ctl_given(&args, CTL_CSV);
	ctl.out = make_writer(&ctl, &args);
	if (ctl.json && (ctl.csv || ctl_given(&args, CTL_COLUMNS))) {
		code = ctl_usage(&ctl, "leave the others out",
				 "--json has all that there is: neither --csv nor --columns");
		goto out;
	}
	code = run(&ctl, argv[0], &args);
out:
	writer_destroy(ctl.out);
	free(words);
	return code;
}
