/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parses a command line by a table of options: see options.h. */
#include "driver/options/options.h"

#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENTRIES_MAX 64u
#define FIRST_VALUE 256 /* of getopt_long: behind all characters */

bool option_number(const char *text, double low, double high, double *ret_value)
{
	char *end;
	double value;

	errno = 0;
	value = strtod(text, &end);
	if (end == text || *end != '\0' || errno != 0 || !(value >= low && value <= high)) {
		return false;
	}
	*ret_value = value;
	return true;
}

bool option_whole(const char *text, uint64_t low, uint64_t high, uint64_t *ret_value,
		  const char **ret_end)
{
	char *end;
	unsigned long long value;

	errno = 0;
	value = strtoull(text, &end, strncmp(text, "0x", 2) == 0 ? 16 : 10);
	if (text[0] < '0' || text[0] > '9' || errno != 0 || value < low || value > high) {
		return false;
	}
	*ret_value = value;
	*ret_end = end;
	return true;
}

static bool take_whole(const struct option_entry *e, const char *arg, void *field)
{
	uint64_t value, high = e->high > 0 ? (uint64_t)e->high : UINT64_MAX;
	const char *end;

	if (!option_whole(arg, (uint64_t)e->low, high, &value, &end) || *end != '\0') {
		return false;
	}
	if (e->kind == OPTION_BYTE) {
		*(uint8_t *)field = (uint8_t)value;
	} else if (e->kind == OPTION_WHOLE) {
		*(unsigned *)field = (unsigned)value;
	} else {
		*(uint64_t *)field = value;
	}
	return true;
}

/* NULL when it was taken, else what the option wants. */
static const char *take(const struct option_entry *e, void *settings, const char *arg)
{
	void *field = (char *)settings + e->at;

	switch (e->kind) {
	case OPTION_OWN:
		return e->take(settings, arg);
	case OPTION_FLAG:
		*(bool *)field = true;
		return NULL;
	case OPTION_TEXT:
		*(const char **)field = arg;
		return NULL;
	case OPTION_NUMBER:
		return option_number(arg, e->low, e->high, field) ? NULL : e->wants;
	default:
		return take_whole(e, arg, field) ? NULL : e->wants;
	}
}

static void print_help(const struct options *o)
{
	fputs(o->head, stdout);
	for (size_t i = 0; i < o->count; i++) {
		const struct option_entry *e = &o->entries[i];
		char left[64];

		snprintf(left, sizeof(left), "--%s%s%s", e->name, e->arg != NULL ? " " : "",
			 e->arg != NULL ? e->arg : "");
		printf("  %-31s %s\n", left, e->help);
	}
	printf("  %-31s %s\n  %-31s %s\n%s", "--help", "this text", "--version", "the version",
	       o->tail);
}

int options_parse(const struct options *o, int argc, char **argv, void *settings, int *ret_rest,
		  const char **ret_marked, char *ret_error, size_t error_size)
{
	struct option longs[ENTRIES_MAX + 3] = {{0}};
	int c;

	assert(o->count <= ENTRIES_MAX);
	for (size_t i = 0; i < o->count; i++) {
		longs[i].name = o->entries[i].name;
		longs[i].has_arg = o->entries[i].arg != NULL ? required_argument : no_argument;
		longs[i].val = FIRST_VALUE + (int)i;
	}
	longs[o->count] = (struct option){.name = "help", .val = 'h'};
	longs[o->count + 1] = (struct option){.name = "version", .val = 'V'};
	optind = 0; /* start over: tests parse more than once */
	opterr = 0;
	while ((c = getopt_long(argc, argv, "hV", longs, NULL)) != -1) {
		const struct option_entry *e = &o->entries[c - FIRST_VALUE];
		const char *wants;

		if (c == 'h') {
			print_help(o);
			return 1;
		}
		if (c == 'V') {
			printf("%s %s\n", o->program, FCM_VERSION);
			return 1;
		}
		if (c < FIRST_VALUE) {
			snprintf(ret_error, error_size, "unknown or incomplete option: %s",
				 argv[optind - 1]);
			return -EINVAL;
		}
		wants = take(e, settings, optarg);
		if (wants != NULL) {
			snprintf(ret_error, error_size, "--%s%s%s: needs %s", e->name,
				 optarg != NULL ? " " : "", optarg != NULL ? optarg : "", wants);
			return -EINVAL;
		}
		if (e->marked && ret_marked != NULL) {
			*ret_marked = e->name;
		}
	}
	*ret_rest = optind;
	return 0;
}
