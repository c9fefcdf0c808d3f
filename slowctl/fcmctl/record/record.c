/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fcmctl record: recordings of raw data, and black boxes. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "slowctl/fcmctl/core/ctl.h"
#include "slowctl/fcmctl/show/value.h"
#include "slowctl/query/recordings.h"

#define DISK_S 30.0 /* the disk may have much to write */

/* 1.2 GB */
static const char *size_text(const json_t *value, char *buf, size_t size)
{
	static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
	double v = json_is_number(value) ? json_number_value(value) : NAN;
	unsigned u = 0;

	if (!isfinite(v)) {
		return "-";
	}
	for (; v >= 1000 && u < 4; u++) {
		v /= 1000;
	}
	snprintf(buf, size, "%.*f %s", u > 0 && v < 100 ? 1 : 0, v, units[u]);
	return buf;
}

static void render_start(struct writer *w, const json_t *result)
{
	value_say(w, WRITER_GOOD, result, "recording {name|?}");
	value_say(w, WRITER_PLAIN, result, " of links {links} goes to {directory|?}/{name|?}");
	writer_newline(w);
	value_line(w, WRITER_PLAIN, result,
		   json_is_number(value_at(result, "until")) ? "until {until:time} UTC"
							     : "until fcmctl record stop");
}

static void render_stop(struct writer *w, const json_t *result)
{
	char bytes[32];
	char text[256];

	writer_paragraph(
		w, 0, WRITER_PLAIN, "%s, %s; %lld cells without data, %lld let go",
		value_fill(result,
			   value_true(result, "resumed")
				   ? "recording {name|?} has ended: since the daemon's start "
				     "{frames|0} frames"
				   : "recording {name|?} has ended: {frames|0} frames",
			   text, sizeof(text)),
		size_text(value_at(result, "bytes"), bytes, sizeof(bytes)),
		value_integer(result, "gap_frames", 0), value_integer(result, "let_go_frames", 0));
}

/* How it ended, or that it has not. */
static void end_cell(struct writer *w, const json_t *r)
{
	const char *trouble = value_string(r, "trouble", "");
	char text[32];

	if (*trouble != '\0') {
		writer_cell(w, WRITER_BAD, "%s", trouble);
	} else if (json_is_number(value_at(r, "ended"))) {
		writer_cell(w, WRITER_PLAIN, "%s",
			    value_fill(r, "{ended:time}", text, sizeof(text)));
	} else if (value_true(r, "active")) {
		writer_cell(w, WRITER_GOOD, "goes on");
	} else {
		writer_cell(w, WRITER_WARN, "%s",
			    json_is_null(value_at(r, "kind")) ? "unknown" : "not ended");
	}
}

static void size_cell(struct writer *w, const json_t *r)
{
	char text[64];

	writer_cell(w, WRITER_PLAIN, "%s", size_text(value_at(r, "bytes"), text, sizeof(text)));
}

static void note_cell(struct writer *w, const json_t *r)
{
	const char *cause = value_string(r, "cause_text", "");

	writer_cell(w, WRITER_PLAIN, "%s", *cause != '\0' ? cause : value_string(r, "note", ""));
}

/* Cells that are missing as the recorder did not keep up. */
static void let_go_cell(struct writer *w, const json_t *r)
{
	const bool more = value_true(r, "let_go_at_least");
	const long long n = value_integer(r, "let_go_frames", -1);

	if (n < 0) {
		writer_cell(w, WRITER_DIM, "-");
	} else {
		writer_cell(w, n > 0 || more ? WRITER_WARN : WRITER_PLAIN, "%s%lld",
			    more ? ">= " : "", n);
	}
}

static void render_list(struct writer *w, const json_t *result)
{
	static const struct value_column columns[] = {{"name", "{name}"},
						      {"?kind", "{kind}"},
						      {"?>links", "{links}"},
						      {">size", .cell = size_cell},
						      {"?>files", "{segments:count}"},
						      {">let go", .cell = let_go_cell},
						      {"?begun (UTC)", "{begun:time}"},
						      {"ended (UTC)", .cell = end_cell},
						      {"?who", "{who}"},
						      {"note", .cell = note_cell},
						      {0}};
	json_t *rows = json_deep_copy(value_at(result, "recordings"));
	json_t *r;
	size_t i;

	json_array_foreach (rows, i, r) {
		json_object_set_new(
			r, "active",
			json_boolean(json_equal(value_at(r, "name"), value_at(result, "active"))));
	}
	writer_line(w, WRITER_DIM, "in %s", value_string(result, "directory", "?"));
	value_table(w, rows, columns, "no recordings yet");
	json_decref(rows);
}

/* "0,2" */
static int parse_links(struct ctl *ctl, const char *text, json_t *links)
{
	const char *p = text;

	for (;;) {
		if (*p < '0' || *p > '3' || (p[1] != ',' && p[1] != '\0')) {
			return ctl_usage(ctl, "--links 0,2",
					 "'%.60s' is not a list of links: they are numbered 0 to 3",
					 text);
		}
		json_array_append_new(links, json_integer(*p - '0'));
		if (p[1] == '\0') {
			return CTL_DONE;
		}
		p += 2;
	}
}

static int start_record(struct ctl *ctl, const struct ctl_args *args)
{
	json_t *links = ctl_given(args, CTL_LINKS) ? json_array() : NULL;
	json_t *what =
		json_pack("{s:o*,s:s*,s:s*,s:o*}", "links", links, "name", args->text[CTL_NAME],
			  "note", args->text[CTL_NOTE], "seconds",
			  ctl_given(args, CTL_FOR) ? json_real(args->number[CTL_FOR]) : NULL);
	int code = links != NULL ? parse_links(ctl, args->text[CTL_LINKS], links) : CTL_DONE;

	if (code != CTL_DONE) {
		json_decref(what);
		return code;
	}
	return ctl_run_row(ctl, args, what);
}

void ctl_recordings_place(const struct ctl *ctl, char *path, size_t size)
{
	struct sc_error error = {0};

	ctl_away_setting(ctl, "recordings", path, size, &error);
	if (path[0] != '/') { /* daemons write absolute paths */
		recordings_beside(ctl->station.database, path, size);
	}
}

/* The daemon says where they are; how many and how large is between us and the disk. */
static int list_records(struct ctl *ctl, const struct ctl_args *args)
{
	const unsigned limit = (unsigned)ctl_number(args, CTL_LIMIT, 20);
	char path[PATH_MAX], action[PATH_MAX];
	json_t *place = NULL, *list = NULL;
	int code = CTL_DONE, err;

	if (ctl_is_away(ctl_connect(ctl))) {
		ctl_recordings_place(ctl, path, sizeof(path));
		ctl_remark("the daemon is not running; this is from the files in %s", path);
		place = json_pack("{s:s,s:n}", "directory", path, "active");
	} else {
		code = ctl_ask(ctl, "record.list", NULL, &place);
	}
	if (code != CTL_DONE) {
		return code;
	}
	snprintf(path, sizeof(path), "%s", value_string(place, "directory", ""));
	err = recordings_list(path, limit, &list);
	if (err == 0) {
		json_object_set_new(place, "recordings", list);
		writer_result(ctl->out, place, render_list);
	} else {
		code = ctl_fail(ctl, CTL_NOT, "failed",
				err == -EACCES ? ctl_access_action(path, action, sizeof(action))
					       : "is its disk mounted, and working?",
				"%s: %s", path, strerror(-err));
	}
	json_decref(place);
	return code;
}

const struct ctl_command ctl_record_commands[] = {
	{"record", "start", "", "record raw data of links",
	 .help = "Writes the raw data of links, as they come off the fibre, below\n"
		 "[record] directory. The recording continues when the daemon restarts.\n"
		 "It ends when its time is over, when you stop it, or when the disk is\n"
		 "full; it never changes the data flow. Each link writes 80 MB/s to the\n"
		 "disk, however quiet the sea. Data that could not be written in time\n"
		 "are marked in the recording and counted by record list.\n\n"
		 "  fcmctl record start --links 0,1 --for 10m --note 'noise on floor 2'",
	 .options = CTL_BIT(CTL_LINKS) | CTL_BIT(CTL_NAME) | CTL_BIT(CTL_NOTE) | CTL_BIT(CTL_FOR) |
		    CTL_BIT(CTL_DRY_RUN),
	 .run = start_record, .op = "record.start", .look = "record list", .timeout_s = DISK_S,
	 .render = render_start},
	{"record", "stop", "", "end the recording",
	 .help = "Returns when the recording is on the disk. After a recording that the\n"
		 "disk has ended, it acknowledges that.",
	 .options = CTL_BIT(CTL_DRY_RUN), .op = "record.stop", .look = "record list",
	 .timeout_s = DISK_S, .render = render_stop},
	{"record", "list", "", "recordings, and black boxes of incidents",
	 .help = "A black box is the raw data of a link and its registers from when\n"
		 "it became red. let go: cells that are missing because\n"
		 "the recorder was too slow; >= when the daemon was killed before it had\n"
		 "counted them, - while the recording is active (then: fcmctl status).\n"
		 "Reads the files, so you need the right to read them. Also works while\n"
		 "the daemon is not running.",
	 .options = CTL_BIT(CTL_LIMIT), .run = list_records},
	{0},
};
