/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fcmctl top: the status screen and the last events, every second. On a terminal full screen (ncurses), else one
 * screen after the other.
 *
 * The renderers of status and event write into memory, as to a terminal with colours; full screen shows a part of
 * that text, which the keys move.
 */
#include <errno.h>
#include <locale.h>
#include <ncurses.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "slowctl/fcmctl/core/client.h"
#include "slowctl/fcmctl/show/value.h"
#include "slowctl/fcmctl/watch/screens.h"

#define EVENTS_SHOWN 10

/* What one round learnt. */
struct round {
	int err; /* 0: status is there */
	json_t *status, *events;
};

static void round_ask(struct ctl *ctl, struct round *ret_round)
{
	struct round r = {0};

	r.err = ctl_call_quietly(ctl, "status", NULL, &r.status);
	if (r.err == 0) {
		/* Without events the rest is still worth showing. */
		(void)ctl_call_quietly(ctl, "event.list", json_pack("{s:i}", "limit", EVENTS_SHOWN),
				       &r.events);
	}
	*ret_round = r;
}

static void round_fini(struct round *r)
{
	json_decref(r->status);
	json_decref(r->events);
}

/* `page` is the status, with the "events" to show below it. */
static void render_page(struct writer *w, const json_t *page)
{
	ctl_status_render(w, page);
	if (json_array_size(value_at(page, "events")) > 0) {
		writer_newline(w);
		ctl_event_render(w, page);
	}
}

/* Leaves out the oldest events until the page fits `rows`. */
static void fit(const struct writer *w, json_t *page, size_t rows)
{
	json_t *events = json_object_get(page, "events");

	while (json_array_size(events) > 0 && writer_count_rows(w, page, render_page) > rows) {
		json_array_remove(events, json_array_size(events) - 1);
	}
}

/* `rows` 0: as many as it takes. */
static void round_render(struct ctl *ctl, struct writer *w, const struct round *r, size_t rows)
{
	size_t lines = rows > 0 ? rows : CTL_SCREEN_LINES;
	json_t *page;
	char reason[PATH_MAX + 256];
	char action[PATH_MAX];

	if (ctl_is_away(r->err)) {
		page = ctl_status_away(ctl, r->err);
		ctl_status_prepare(ctl, page, lines);
		ctl_status_render_away(w, page);
		json_decref(page);
		return;
	}
	if (r->err != 0) {
		writer_line(w, WRITER_BAD, "RED");
		if (r->err == -ETIMEDOUT || r->err == -ECONNRESET || r->err == -EPROTO ||
		    r->err == -EREMOTEIO) {
			writer_paragraph(w, 2, WRITER_PLAIN, "the daemon at %s does not answer",
					 ctl->station.socket);
			return;
		}
		writer_paragraph(w, 2, WRITER_PLAIN, "%s",
				 ctl_away_reason(ctl, r->err, true, reason, sizeof(reason)));
		writer_paragraph(w, 2, WRITER_PLAIN, "-> %s",
				 ctl_away_action(ctl, r->err, action, sizeof(action)));
		return;
	}
	page = json_copy(r->status);
	json_object_update(page, r->events);
	ctl_status_prepare(ctl, page, lines);
	if (rows > 0) {
		fit(w, page, rows);
	}
	render_page(w, page);
	json_decref(page);
}

static int exit_of_round(const struct round *r)
{
	if (r->err != 0) {
		return r->err == -EACCES ? CTL_NOT : CTL_UNKNOWN;
	}
	return ctl_status_exit(r->status);
}

/* --- full screen --- */

/* Of the number of an ANSI sequence "\033[...m" of the writer. */
static int attribute(int code)
{
	switch (code) {
	case 1:
		return (int)A_BOLD;
	case 2:
		return (int)A_DIM;
	case 31:
		return COLOR_PAIR(3);
	case 32:
		return COLOR_PAIR(1);
	case 33:
		return COLOR_PAIR(2);
	default:
		return (int)A_NORMAL;
	}
}

/* The attributes of a sequence such as "\033[1;31m"; behind it. */
static const char *take_sequence(const char *text, int *ret_attributes)
{
	*ret_attributes = 0;
	do {
		char *end;

		*ret_attributes |= attribute((int)strtol(text + 1, &end, 10));
		text = end > text + 1 ? end : text + 1;
	} while (*text == ';' || *text == '[');
	return text + (*text == 'm');
}

/* Stops at the right border. */
static void draw_line(int row, const char *text, size_t bytes)
{
	const char *end = text + bytes;
	int attributes = (int)A_NORMAL;

	move(row, 0);
	while (text < end && getcury(stdscr) == row) {
		const char *sequence = memchr(text, '\033', (size_t)(end - text));

		attrset(attributes);
		addnstr(text, (int)((sequence != NULL ? sequence : end) - text));
		text = sequence != NULL ? take_sequence(sequence + 1, &attributes) : end;
	}
	attrset((int)A_NORMAL);
}

static void draw(const char *page, size_t top, bool paused)
{
	erase();
	for (size_t n = 0; *page != '\0' && n < top + (size_t)LINES - 1; n++) {
		size_t bytes = strcspn(page, "\n");

		if (n >= top) {
			draw_line((int)(n - top), page, bytes);
		}
		page += bytes + (page[bytes] == '\n');
	}
	attrset((int)A_REVERSE);
	mvaddnstr(LINES - 1, 0,
		  paused ? " PAUSED   q quit, space go on, arrows move "
			 : " q quit, space pause, arrows move ",
		  COLS);
	attrset((int)A_NORMAL);
	refresh();
}

/* What the keys changed. */
struct view {
	size_t top;
	bool paused, quit;
};

static void take_key(int key, size_t lines, struct view *v)
{
	size_t screen = LINES > 2 ? (size_t)LINES - 1 : 1;
	size_t last = lines > screen ? lines - screen : 0;

	switch (key) {
	case 'q':
	case 'Q':
		v->quit = true;
		break;
	case ' ':
		v->paused = !v->paused;
		break;
	case KEY_UP:
	case 'k':
		v->top -= v->top > 0;
		break;
	case KEY_DOWN:
	case 'j':
		v->top++;
		break;
	case KEY_PPAGE:
		v->top = v->top > screen ? v->top - screen : 0;
		break;
	case KEY_NPAGE:
		v->top += screen;
		break;
	case KEY_HOME:
		v->top = 0;
		break;
	default:
		break;
	}
	v->top = v->top < last ? v->top : last;
}

/* Show the page and take keys until the next round is due. */
static void show_until(const char *page, double due, struct view *v)
{
	while (!v->quit && !ctl_interrupted()) {
		double left = due - ctl_monotonic();
		int key;

		draw(page, v->top, v->paused);
		if (!v->paused && left <= 0.0) {
			return;
		}
		timeout(v->paused || left > 0.2 ? 200 : (int)(left * 1000.0) + 1);
		key = getch();
		if (key != ERR) {
			take_key(key, writer_lines_of(page), v);
		}
	}
}

static int full_screen_round(struct ctl *ctl, double interval, struct view *v)
{
	char *page = NULL;
	size_t size;
	FILE *memory = open_memstream(&page, &size);
	struct writer *w = memory != NULL ? writer_create_text(memory, true) : NULL;
	double due = ctl_monotonic() + interval;
	struct round r;
	int err;

	if (w == NULL) {
		return -ENOMEM;
	}
	writer_set_width(w, COLS > 0 ? (size_t)COLS : 80);
	round_ask(ctl, &r);
	round_render(ctl, w, &r, LINES > 1 ? (size_t)LINES - 1 : 1);
	writer_destroy(w);
	err = fclose(memory) != 0 ? -ENOMEM : 0;
	if (err == 0) {
		show_until(page, due, v);
	}
	round_fini(&r);
	free(page);
	return err;
}

static int full_screen(struct ctl *ctl, double interval, double rounds)
{
	const char *no_colour = getenv("NO_COLOR");
	struct view v = {0};
	int err = 0;

	setlocale(LC_CTYPE, ""); /* numbers stay as they are */
	if (newterm(NULL, stdout, stdin) == NULL) {
		return ctl_fail(ctl, CTL_NOT, "internal", "try fcmctl top --once",
				"unknown terminal type '%s'",
				getenv("TERM") != NULL ? getenv("TERM") : "");
	}
	ctl_catch_interrupt();
	cbreak();
	noecho();
	keypad(stdscr, TRUE);
	curs_set(0);
	if (has_colors() && (no_colour == NULL || *no_colour == '\0')) {
		start_color();
		use_default_colors();
		init_pair(1, COLOR_GREEN, -1);
		init_pair(2, COLOR_YELLOW, -1);
		init_pair(3, COLOR_RED, -1);
	}
	for (double n = 0; err == 0 && !v.quit && !ctl_interrupted() && n < rounds; n++) {
		err = full_screen_round(ctl, interval, &v);
	}
	endwin();
	ctl_release_interrupt();
	return err == 0 ? CTL_DONE : ctl_fail(ctl, CTL_NOT, "internal", "", "%s", strerror(-err));
}

/* --- one after the other --- */

static int plain_round(struct ctl *ctl, bool first)
{
	struct winsize size;
	struct round r;
	int code;

	round_ask(ctl, &r);
	code = exit_of_round(&r);
	if (r.err != 0 && !ctl_is_away(r.err)) {
		ctl_away_fail(ctl, r.err, false);
	} else if (ctl->json) {
		r.status = r.err != 0 ? ctl_status_away(ctl, r.err) : r.status;
		writer_result(ctl->out, r.status, NULL);
	} else {
		if (!first) {
			writer_newline(ctl->out);
		}
		/* The last row is for the prompt. */
		round_render(ctl, ctl->out, &r,
			     ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 1
				     ? size.ws_row - 1u
				     : 0);
	}
	round_fini(&r);
	return code;
}

static int one_after_the_other(struct ctl *ctl, double interval, double rounds)
{
	int code = CTL_DONE;

	ctl_catch_interrupt();
	for (double n = 0; n < rounds && !ctl_interrupted(); n++) {
		if (n > 0) {
			(void)poll(NULL, 0, (int)(interval * 1e3)); /* a signal ends it */
			if (ctl_interrupted()) {
				break;
			}
		}
		code = plain_round(ctl, n == 0);
		if (writer_flush(ctl->out) != 0) {
			break;
		}
	}
	ctl_release_interrupt();
	return code;
}

static int top_run(struct ctl *ctl, const struct ctl_args *args)
{
	double interval = ctl_number(args, CTL_INTERVAL, 1.0);
	double rounds = ctl_given(args, CTL_ONCE) ? 1.0 : ctl_number(args, CTL_COUNT, 1e18);

	if (!ctl->json && !ctl_given(args, CTL_ONCE) && isatty(STDIN_FILENO) &&
	    isatty(STDOUT_FILENO)) {
		return full_screen(ctl, interval, rounds);
	}
	return one_after_the_other(ctl, interval, rounds);
}

const struct ctl_command ctl_top_commands[] = {
	{
		.verb = "top",
		.arguments = "",
		.summary = "the status, live",
		.help = "The screen of fcmctl status and the last events, again every second, full "
			"screen on a\nterminal: q quits, space pauses, arrows move. Elsewhere one "
			"screen after the other. It waits\nfor a daemon that is not running.\nWhat "
			"does not fit the terminal is left out: the oldest events, then the least "
			"severe\nincidents, which are counted.\nWith --once or --count, exits as "
			"status does.",
		.options = CTL_BIT(CTL_ONCE) | CTL_BIT(CTL_COUNT) | CTL_BIT(CTL_INTERVAL),
		.run = top_run,
	},
	{0},
};
