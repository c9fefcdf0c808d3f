// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What is typed: fcmctl's command line, one argument a line of the input, and a scenario of the emulator's.
 * What must be true: a mistake has a text; a number or a value that is understood is one.
 */
#include <math.h>

#include "driver/emu/world/scenario.h"
#include "slowctl/fcmctl/commands.h"
#include "slowctl/fcmctl/core/args.h"
#include "tests/fuzz/fuzz.h"

#define WORDS 64

static void try_scenario(const char *text)
{
	struct scenario s;
	char error[256] = "";

	if (scenario_parse("input", text, &s, error, sizeof(error)) < 0) {
		must(strncmp(error, "input:", 6) == 0);
		return;
	}
	for (size_t n = 1; n < s.count; n++) {
		must(s.events[n].step >= s.events[n - 1].step);
	}
	scenario_fini(&s);
}

static void try_args(char *text)
{
	char *argv[WORDS + 1] = {"fcmctl"}, *words[WORDS + 1], *line;
	struct ctl_args args;
	struct ctl_fault fault = {0};
	int argc = 1;

	while (argc < WORDS && (line = strsep(&text, "\n"))) {
		argv[argc++] = line;
	}
	ctl_tables = ctl_commands;
	if (ctl_args_parse(argc, argv, 1.8e9, words, &args, &fault) < 0) {
		must(fault.text[0]);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	must(text);
	memcpy(text, data, size);
	text[size] = 0;
	if (size > 2 && text[0] == 'a' && text[1] == 't') {
		try_scenario(text);
	} else {
		try_args(text);
	}
	free(text);
	return 0;
}
