/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fcmctl snapshot: what is set, kept by the daemon under a name; held against another or against now; restored as a
 * plan (plan.h).
 */
#include "slowctl/fcmctl/jobs/snapshot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "slowctl/fcmctl/jobs/plan.h"
#include "slowctl/fcmctl/show/value.h"
#include "slowctl/param/param.h"
#include "slowctl/param/plural.h"

#define MISSING_NAMED 5u

/* ------------------------------------------------------------------ values */

static void keep(json_t *values, const char *name, const json_t *value, const char *unit)
{
	if (value != NULL && !json_is_null(value)) {
		json_object_set_new(values, name,
				    json_pack("{s:O,s:s}", "value", value, "unit", unit));
	}
}

json_t *snapshot_values(const json_t *shown)
{
	json_t *values = json_object();
	size_t i;
	const json_t *v;

	json_array_foreach (value_at(shown, "values"), i, v) {
		keep(values, value_string(v, "parameter", "?"), value_at(v, "value"),
		     value_string(v, "unit", ""));
	}
	return values;
}

json_t *snapshot_values_now(const json_t *listed, const json_t *among, json_t *unknown)
{
	json_t *values = json_object();
	size_t i;
	const json_t *p;

	json_array_foreach (value_at(listed, "parameters"), i, p) {
		const char *name = value_string(p, "name", "?");
		const json_t *set = value_at(p, "setpoint");
		bool wanted = json_object_get(among, name) != NULL;

		if (wanted && (set == NULL || json_is_null(set))) {
			json_array_append_new(unknown, json_string(name));
		}
		if ((wanted || among == NULL) && strcmp(value_string(p, "access", ""), "rw") == 0) {
			keep(values, name, set, value_string(p, "unit", ""));
		}
	}
	return values;
}

/* As typed they are the same: a switch may be 1 where it was no longer configured, true where it is. */
static bool same(const json_t *a, const json_t *b)
{
	char x[64];
	char y[64];

	return strcmp(value_text(value_at(a, "value"), VALUE_TYPED, x, sizeof(x)),
		      value_text(value_at(b, "value"), VALUE_TYPED, y, sizeof(y))) == 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

json_t *snapshot_diff(const json_t *a, const json_t *b)
{
	json_t *all = json_copy((json_t *)(uintptr_t)a);
	json_t *rows = json_array();
	const char **names;
	const char *name;
	json_t *value;
	size_t count = 0;

	json_object_update_missing(all, (json_t *)(uintptr_t)b);
	names = ctl_memory(NULL, calloc(json_object_size(all) + 1, sizeof(*names)));
	json_object_foreach (all, name, value) {
		names[count++] = name;
	}
	qsort(names, count, sizeof(*names), by_name);
	for (size_t i = 0; i < count; i++) {
		const json_t *x = json_object_get(a, names[i]);
		const json_t *y = json_object_get(b, names[i]);

		if (x != NULL && y != NULL && same(x, y)) {
			continue;
		}
		json_array_append_new(
			rows, json_pack("{s:s,s:s,s:O?,s:O?}", "parameter", names[i], "unit",
					value_string(x != NULL ? x : y, "unit", ""), "a",
					value_at(x, "value"), "b", value_at(y, "value")));
	}
	free(names);
	json_decref(all);
	return rows;
}

char *snapshot_plan(const json_t *shown, const char *pattern, size_t *ret_left)
{
	size_t size = 0;
	char *text = NULL;
	FILE *f = ctl_memory(NULL, open_memstream(&text, &size));
	size_t i;
	const json_t *v;

	*ret_left = 0;
	json_array_foreach (value_at(shown, "values"), i, v) {
		char line[PARAM_NAME_MAX + 64];

		if (pattern != NULL &&
		    !param_name_matches(pattern, value_string(v, "parameter", "?"))) {
			continue;
		}
		if (!value_true(v, "configured")) {
			++*ret_left;
			continue;
		}
		fprintf(f, "%s\n",
			value_fill(v, "{parameter|?} = {value:typed}", line, sizeof(line)));
	}
	return ctl_memory(NULL, fclose(f) == 0 ? text : NULL);
}

/* ------------------------------------------------------------------ shown */

static void render_saved(struct writer *w, const json_t *s)
{
	const json_t *missing = value_at(s, "missing");
	size_t unknown = json_array_size(missing);
	size_t i;
	const json_t *name;

	writer_phrase(w, WRITER_GOOD, "%s: %lld parameter%s", value_string(s, "name", "?"),
		      value_integer(s, "parameters", 0),
		      plural((unsigned long long)value_integer(s, "parameters", 0)));
	if (unknown > 0) {
		writer_phrase(w, WRITER_WARN, "; %zu left out, set value unknown: ", unknown);
	}
	json_array_foreach (missing, i, name) {
		if (i == MISSING_NAMED) {
			writer_phrase(w, WRITER_WARN, " and %zu more", unknown - i);
			break;
		}
		writer_phrase(w, WRITER_WARN, "%s%s", i > 0 ? ", " : "", json_string_value(name));
	}
	writer_newline(w);
}

static void render_removed(struct writer *w, const json_t *result)
{
	writer_line(w, WRITER_PLAIN, "%s: removed", value_string(result, "name", "?"));
}

static void render_list(struct writer *w, const json_t *result)
{
	static const struct value_column columns[] = {
		{"snapshot", "{name}"},	 {"time (UTC)", "{time:time}"},
		{"who", "{who}"},	 {">parameters", "{parameters:count}"},
		{"of", "{pattern|all}"}, {">unknown", "{unknown:count}"},
		{"note", "{note}"},	 {0}};

	value_table(w, value_at(result, "snapshots"), columns,
		    "no snapshots: fcmctl snapshot save NAME");
}

/* As a plan: it can be edited and applied. */
static void render_show(struct writer *w, const json_t *s)
{
	const char *note = value_string(s, "note", "");
	size_t i;
	const json_t *v;

	value_say(w, WRITER_DIM, s, "# snapshot {name|?} of {time:time} UTC by {who|?}");
	writer_line(w, WRITER_DIM, "%s%s", *note != '\0' ? ": " : "", note);
	json_array_foreach (value_at(s, "values"), i, v) {
		value_say(w, WRITER_PLAIN, v,
			  value_true(v, "configured") ? "{parameter|?} = {value:typed}{unit:behind}"
						      : "# no longer configured: {parameter|?} = "
							"{value:typed}{unit:behind}");
		writer_newline(w);
	}
}

static void render_diff(struct writer *w, const json_t *result)
{
	char a[80];
	char b[80];
	const struct value_column columns[] = {
		{"parameter", "{parameter}"},
		{value_fill(result, ">{a|?}", a, sizeof(a)), "{a:typed}"},
		{value_fill(result, ">{b|?}", b, sizeof(b)), "{b:typed}"},
		{"unit", "{unit}"},
		{0}};
	size_t unknown = json_array_size(value_at(result, "unknown"));

	value_table(w, value_at(result, "rows"), columns, "no difference");
	if (unknown > 0) {
		writer_line(w, WRITER_WARN,
			    "%zu present set value%s unknown: not read since the link was down or "
			    "the FCM has booted",
			    unknown, plural(unknown));
	}
}

/* ------------------------------------------------------------------ commands */

static int save_run(struct ctl *ctl, const struct ctl_args *args)
{
	return ctl_run_row(ctl, args,
			   json_pack("{s:s,s:s*,s:s*}", "name", args->word[0], "pattern",
				     args->words > 1 ? args->word[1] : NULL, "note",
				     args->text[CTL_NOTE]));
}

static int values_of(struct ctl *ctl, const char *name, json_t **ret_values)
{
	json_t *result = NULL;
	int code = ctl_ask(ctl, "snapshot.show", json_pack("{s:s}", "name", name), &result);

	if (code == CTL_DONE) {
		*ret_values = snapshot_values(result);
	}
	json_decref(result);
	return code;
}

static int diff_run(struct ctl *ctl, const struct ctl_args *args)
{
	const char *other = args->words > 1 ? args->word[1] : NULL;
	json_t *a = NULL;
	json_t *b = NULL;
	json_t *unknown = json_array();
	json_t *result = NULL;
	int code = values_of(ctl, args->word[0], &a);

	if (code == CTL_DONE && other != NULL) {
		code = values_of(ctl, other, &b);
	} else if (code == CTL_DONE) {
		code = ctl_ask(ctl, "param.list", NULL, &result);
		b = code == CTL_DONE ? snapshot_values_now(result, a, unknown) : NULL;
		json_decref(result);
	}
	if (code == CTL_DONE) {
		result = json_pack("{s:s,s:s,s:o,s:o}", "a", args->word[0], "b",
				   other != NULL ? other : "now", "rows", snapshot_diff(a, b),
				   "unknown", json_incref(unknown));
		writer_result(ctl->out, result, render_diff);
		json_decref(result);
	}
	json_decref(unknown);
	json_decref(a);
	json_decref(b);
	return code;
}

static int restore_run(struct ctl *ctl, const struct ctl_args *args)
{
	const char *pattern = args->words > 1 ? args->word[1] : NULL;
	json_t *shown = NULL;
	size_t left = 0;
	struct job job;
	char source[80];
	char *text;
	int code = ctl_ask(ctl, "snapshot.show", json_pack("{s:s}", "name", args->word[0]), &shown);

	if (code != CTL_DONE) {
		return code;
	}
	text = snapshot_plan(shown, pattern, &left);
	json_decref(shown);
	if (left > 0) {
		ctl_remark("no longer configured: %zu parameter%s of it, left out", left,
			   plural(left));
	}
	snprintf(source, sizeof(source), "snapshot %.63s", args->word[0]);
	code = job_open_text(ctl, args, source, text, &job);
	code = code == CTL_DONE ? plan_apply(&job) : code;
	job_close(&job);
	return code;
}

const struct ctl_command ctl_snapshot_commands[] = {
	{"snapshot", "save", "NAME [PATTERN]", "save the present set values under a name",
	 .help = "Saves the set values of all parameters that can be set, or of those\n"
		 "that match the pattern, with who, when and a note. The daemon keeps\n"
		 "snapshots for all operators. A value that the daemon does not know yet\n"
		 "(of a floor that it has not read since it started) is not saved; its\n"
		 "name is shown.\n\n"
		 "  fcmctl snapshot save before-gain-run --note 'all at nominal'",
	 .options = CTL_BIT(CTL_NOTE) | CTL_BIT(CTL_DRY_RUN), .run = save_run,
	 .op = "snapshot.save", .look = "snapshot list", .timeout_s = 30.0, .render = render_saved},
	{"snapshot", "list", "", "the snapshots, newest first",
	 .help = "Name, time, who, how many parameters, note.\n\n"
		 "  fcmctl snapshot list",
	 .options = CTL_BIT(CTL_LIMIT), .op = "snapshot.list", .render = render_list, .limit = 100},
	{"snapshot", "show", "NAME", "the values of one, as a plan",
	 .help = "Lines NAME = VALUE, as plan and apply take them.\n\n"
		 "  fcmctl snapshot show before-gain-run > mine.plan",
	 .op = "snapshot.show", .member = "name", .render = render_show},
	{"snapshot", "diff", "A [B]", "what differs between two, or from now",
	 .help = "The parameters that have different values or are in only one of the\n"
		 "two. Without B: compares with the present set values, for the parameters of\n"
		 "A.\n\n"
		 "  fcmctl snapshot diff before-gain-run",
	 .run = diff_run},
	{"snapshot", "restore", "NAME [PATTERN]", "set what a snapshot has, in a safe order",
	 .help = "Applies the values of a snapshot (of those that match) as a plan. For\n"
		 "order and options see fcmctl apply --help.\n\n"
		 "  fcmctl snapshot restore before-gain-run 'floor3.*' --dry-run",
	 .options = CTL_BIT(CTL_REASON) | CTL_BIT(CTL_YES) | CTL_BIT(CTL_FORCE) |
		    CTL_BIT(CTL_DRY_RUN) | CTL_BIT(CTL_JOB) | CTL_BIT(CTL_KEEP_GOING) |
		    CTL_BIT(CTL_ROLL_BACK),
	 .run = restore_run},
	{"snapshot", "remove", "NAME", "forget one",
	 .help = "It cannot be brought back. An event records who removed it.\n\n"
		 "  fcmctl snapshot remove before-gain-run",
	 .options = CTL_BIT(CTL_DRY_RUN), .op = "snapshot.remove", .member = "name",
	 .look = "snapshot list", .render = render_removed},
	{0},
};
