/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The command status: of one board, and with --board all of each board of this machine, a row each. There each station
 * is asked as it would be alone; one that does not answer is a row as well, and keeps the others waiting for no longer
 * than its time-out.
 */
#include "slowctl/fcmctl/watch/screens.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "slowctl/fcmctl/core/args.h"
#include "slowctl/fcmctl/show/value.h"

/* Boards whose directories are in `place`: their numbers. */
static void note_boards(const char *place, bool *found)
{
	DIR *dir = opendir(place);
	struct dirent *entry;

	while (dir != NULL && (entry = readdir(dir)) != NULL) {
		char *end;
		unsigned long n = strtoul(entry->d_name, &end, 10);

		if (isdigit((unsigned char)entry->d_name[0]) && *end == '\0' &&
		    n <= CTL_BOARD_MAX) {
			found[n] = true;
		}
	}
	if (dir != NULL) {
		closedir(dir);
	}
}

/* `ctl` for one of the boards: of the machine, or with `place` of the directory N in it. */
static int one_of(const struct ctl *all, const char *place, unsigned board, struct ctl *ret_ctl,
		  struct ctl_fault *ret_fault)
{
	char number[16], dir[PATH_MAX];
	struct ctl_args args = {.text[CTL_BOARD] = number, .number[CTL_BOARD] = board};
	int err;

	snprintf(number, sizeof(number), "%u", board);
	if (place != NULL) {
		snprintf(dir, sizeof(dir), "%.*s/%u", PATH_MAX - 16, place, board);
		args.text[CTL_DIR] = dir;
	}
	*ret_ctl = *all;
	err = ctl_station_find(&args, &ret_ctl->station, ret_fault);
	ctl_append_word(ret_ctl->self, sizeof(ret_ctl->self), place != NULL ? "dir" : "board",
			place != NULL ? dir : number);
	return err;
}

/* The status of one, with the command that shows all of it. The exit code. */
static int take(struct ctl *ctl, json_t *boards)
{
	char command[sizeof(ctl->self) + 16];
	json_t *status = NULL;
	int err = ctl_call_quietly(ctl, "status", NULL, &status);

	if (err != 0) {
		json_decref(status);
		status = ctl_status_away(ctl, err);
	}
	ctl_disconnect(ctl);
	snprintf(command, sizeof(command), "%s status", ctl->self);
	json_object_set_new(status, "command", json_string(command));
	json_array_append_new(boards, status);
	return err != 0 ? CTL_UNKNOWN : ctl_status_exit(status);
}

static unsigned links_up(const json_t *status)
{
	const json_t *link;
	unsigned up = 0;
	size_t i;

	json_array_foreach (value_at(status, "links"), i, link) {
		up += strcmp(value_string(link, "state", ""), "up") == 0;
	}
	return up;
}

/* What the table shows of a board. A new reference. */
static json_t *row_of(const json_t *status)
{
	const json_t *incidents = value_at(status, "incidents"), *links = value_at(status, "links");
	const json_t *worst = json_array_get(value_at(incidents, "list"), 0);
	const char *word = value_string(incidents, "word", "RED");
	long long lost = 0;
	const json_t *link;
	size_t i;

	json_array_foreach (links, i, link) {
		lost += value_integer(link, "lost_last_minute", 0);
	}
	return json_pack(
		"{s:i,s:s,s:o,s:o,s:o,s:s,s:s}", "board", (int)value_integer(status, "board", 0),
		"state", word, "links",
		json_is_array(links)
			? json_sprintf("%u/%zu up", links_up(status), json_array_size(links))
			: json_null(),
		"modules",
		json_is_array(links)
			? json_sprintf("%lld/%lld on", value_integer(status, "modules.on", 0),
				       value_integer(status, "modules.count", 0))
			: json_null(),
		"lost", json_is_array(links) ? json_integer(lost) : json_null(), "clock",
		value_string(status, "clock.state", "-"), "cause",
		strcmp(word, "WELL") == 0 ? "-" : value_string(worst, "text", "-"));
}

static void render(struct writer *w, const json_t *result)
{
	static const struct value_column columns[] = {{">board", "{board}"},
						      {"state", "{state}", VALUE_BY_WORD},
						      {"links", "{links}"},
						      {"modules", "{modules}"},
						      {">lost/min", "{lost:count}", VALUE_WARN},
						      {"clock", "{clock}", VALUE_BY_WORD},
						      {"worst", "{cause}"},
						      {0}};
	json_t *rows = json_array();
	const json_t *status;
	size_t i;

	json_array_foreach (value_at(result, "boards"), i, status) {
		json_array_append_new(rows, row_of(status));
	}
	value_table(w, rows, columns, "no boards");
	json_array_foreach (value_at(result, "boards"), i, status) {
		if (strcmp(value_string(status, "incidents.word", "RED"), "WELL") != 0) {
			writer_paragraph(w, 2, WRITER_PLAIN, "-> %s",
					 value_string(status, "command", "-"));
		}
	}
	json_decref(rows);
}

static int all_boards(struct ctl *ctl, const struct ctl_args *args)
{
	const char *place = args->text[CTL_DIR];
	bool found[CTL_BOARD_MAX + 1] = {false};
	struct ctl_fault fault = {.text = ""};
	json_t *result = json_pack("{s:[]}", "boards");
	json_t *boards = json_object_get(result, "boards");
	struct ctl *one = ctl_memory(ctl, malloc(sizeof(*one)));
	int code = CTL_DONE, err = 0;

	note_boards(place != NULL ? place : "/run/fcm-server", found);
	if (place == NULL) {
		note_boards("/var/lib/fcm-server", found); /* one that does not run, too */
	}
	for (unsigned n = 0; n <= CTL_BOARD_MAX && err == 0; n++) {
		err = found[n] ? one_of(ctl, place, n, one, &fault) : 0;
		if (found[n] && err == 0) {
			int its = take(one, boards);

			code = its > code ? its : code;
		}
	}
	if (err != 0) {
		code = ctl_usage(ctl, fault.hint, "%s", fault.text);
	} else if (json_array_size(boards) == 0) {
		code = ctl_fail(ctl, CTL_UNKNOWN, "none",
				"the directory of board N is named N: --dir DIR --board all",
				"there is no station in %s",
				place != NULL ? place : "/run/fcm-server or /var/lib/fcm-server");
	} else {
		writer_result(ctl->out, result, render);
	}
	free(one);
	json_decref(result);
	return code;
}

static int status_run(struct ctl *ctl, const struct ctl_args *args)
{
	json_t *result = NULL;
	int err, code;

	if (ctl_all_boards(args)) {
		return all_boards(ctl, args);
	}
	err = ctl_connect(ctl);
	if (ctl_is_away(err)) {
		result = ctl_status_away(ctl, err);
		if (!ctl->json) {
			ctl_status_prepare(ctl, result, CTL_SCREEN_LINES);
		}
		writer_result(ctl->out, result, ctl_status_render_away);
		json_decref(result);
		return CTL_UNKNOWN;
	}
	code = ctl_ask(ctl, "status", NULL, &result);
	if (code == CTL_DONE) {
		if (!ctl->json) {
			ctl_status_prepare(ctl, result, CTL_SCREEN_LINES);
		}
		writer_result(ctl->out, result,
			      ctl_given(args, CTL_VERBOSE) ? ctl_status_render_all
							   : ctl_status_render);
		code = ctl_status_exit(result);
	}
	json_decref(result);
	return code;
}

const struct ctl_command ctl_status_commands[] = {
	{
		.verb = "status",
		.arguments = "",
		.summary = "is everything well, and what to do if not",
		.help = "Three words: WELL; ATTENTION: something is wrong that can wait for the "
			"day; RED: data\nare being lost, or will be. Then the incidents, the worst "
			"first, each in a line with what\nit has cost and what to do; the clock, "
			"the optical modules, the run, links and consumers.\nAt most 24 lines of "
			"80 columns; -v: all of it. lost/min: frames lost in the last minute; "
			"\nmoved: the phase against the link's reference.\n\nExit 0 WELL or "
			"ATTENTION, 1 RED, 3 the daemon does not answer: then it shows since\n"
			"when, and the last known state from the database.\n\n"
			"--board all: each board of this machine in a line; with --dir DIR each "
			"whose directory N\nis in DIR. The exit code is the highest of them.",
		.options = CTL_BIT(CTL_VERBOSE),
		.all_boards = true,
		.run = status_run,
	},
	{0},
};
