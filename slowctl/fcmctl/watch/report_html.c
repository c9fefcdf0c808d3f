/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The report as one HTML file: tables, and pictures as SVG. It asks nothing of the network. Text of others is escaped.
 */
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "slowctl/fcmctl/show/value.h"
#include "slowctl/fcmctl/watch/report.h"

#define WIDTH  900.0 /* of a picture */
#define HEIGHT 120.0

static void put_text(FILE *out, const char *text)
{
	for (; *text != '\0'; text++) {
		switch (*text) {
		case '&':
			fputs("&amp;", out);
			break;
		case '<':
			fputs("&lt;", out);
			break;
		case '>':
			fputs("&gt;", out);
			break;
		case '"':
			fputs("&quot;", out);
			break;
		default:
			fputc((unsigned char)*text < ' ' ? '?' : *text, out);
			break;
		}
	}
}

/* As value_fill(), escaped. */
static void put(FILE *out, const json_t *object, const char *text)
{
	char buf[1200];

	put_text(out, value_fill(object, text, buf, sizeof(buf)));
}

/* --- tables --- */

struct column {
	const char *heading, *text;
};

static void put_table(FILE *out, const json_t *rows, const struct column *columns,
		      const char *empty)
{
	size_t i;
	const json_t *row;

	if (json_array_size(rows) == 0) {
		fprintf(out, "<p class=none>%s</p>\n", empty);
		return;
	}
	fputs("<table><tr>", out);
	for (const struct column *c = columns; c->heading != NULL; c++) {
		fprintf(out, "<th>%s", c->heading);
	}
	fputs("\n", out);
	json_array_foreach (rows, i, row) {
		fprintf(out, "<tr class=\"%s\">",
			strcmp(value_string(row, "severity", ""), "red") == 0 ? "red" : "");
		for (const struct column *c = columns; c->heading != NULL; c++) {
			fputs("<td>", out);
			put(out, row, c->text);
		}
		fputs("\n", out);
	}
	fputs("</table>\n", out);
}

/* --- pictures --- */

struct frame {
	double since, until, low, high; /* the high end is at the top */
};

static double across(const struct frame *f, double time)
{
	return (time - f->since) / (f->until - f->since) * WIDTH;
}

static double down(const struct frame *f, double value)
{
	return f->high > f->low ? (f->high - value) / (f->high - f->low) * HEIGHT : HEIGHT / 2;
}

static void begin_picture(FILE *out, const struct frame *f, const json_t *report, const char *unit)
{
	fprintf(out,
		"<svg viewBox=\"-70 -8 %.0f %.0f\" role=img>"
		"<rect width=\"%.0f\" height=\"%.0f\" class=plane />"
		"<text x=-4 y=10 text-anchor=end>%.6g</text>"
		"<text x=-4 y=\"%.0f\" text-anchor=end>%.6g</text>"
		"<text x=-4 y=\"%.0f\" text-anchor=end>%s</text>",
		WIDTH + 80, HEIGHT + 30, WIDTH, HEIGHT, f->high, HEIGHT, f->low, HEIGHT / 2 + 4,
		unit);
	fprintf(out, "<text x=0 y=\"%.0f\">", HEIGHT + 16);
	put(out, report, "{since:time}");
	fprintf(out, "</text><text x=\"%.0f\" y=\"%.0f\" text-anchor=end>", WIDTH, HEIGHT + 16);
	put(out, report, "{until:time} UTC");
	fputs("</text>", out);
}

static const struct loss_name {
	const char *name, *colour;
} names[] = {{"link-down", "#777"}, {"board-fifo", "#b58900"}, {"ring-full", "#cb4b16"},
	     {"crc", "#dc322f"},    {"alignment", "#6c71c4"},  {"time-fault", "#268bd2"}};
#define NAMES (sizeof(names) / sizeof(names[0]))

static double lost_in(const json_t *row)
{
	double lost = 0;

	for (size_t n = 0; n < NAMES; n++) {
		double v = value_number(row, names[n].name);

		lost += isfinite(v) ? v : 0;
	}
	return lost;
}

/* The bars of a link, by name on each other. */
static void put_bars(FILE *out, const struct frame *f, const json_t *rows, long long link)
{
	size_t i;
	const json_t *row;

	json_array_foreach (rows, i, row) {
		double x = across(f, value_number(row, "begun")), below = 0;
		double wide = WIDTH * value_number(row, "seconds") / (f->until - f->since);

		if (value_integer(row, "link", -1) != link || !isfinite(x)) {
			continue;
		}
		for (size_t n = 0; n < NAMES; n++) {
			double v = value_number(row, names[n].name);

			if (v > 0) {
				fprintf(out,
					"<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\""
					" fill=\"%s\"/>",
					x, down(f, below + v), wide > 2 ? wide : 2.0,
					down(f, below) - down(f, below + v), names[n].colour);
				below += v;
			}
		}
	}
}

static void put_losses(FILE *out, const json_t *report)
{
	const json_t *rows = value_at(report, "losses");
	struct frame f = {.since = value_number(report, "since"),
			  .until = value_number(report, "until"),
			  .high = 1};
	size_t i;
	const json_t *row;

	json_array_foreach (rows, i, row) {
		f.high = fmax(f.high, lost_in(row));
	}
	fputs("<p>", out);
	for (size_t n = 0; n < NAMES; n++) {
		fprintf(out, "<span class=key style=\"background:%s\"></span>%s ", names[n].colour,
			names[n].name);
	}
	fputs("</p>\n", out);
	for (long long link = 0; link < 4; link++) {
		fprintf(out, "<h3>link %lld</h3>", link);
		begin_picture(out, &f, report, "frames");
		put_bars(out, &f, rows, link);
		fputs("</svg>\n", out);
	}
}

/* Mean against time, each row a point with its spread (least and greatest against the mean). */
static void put_means(FILE *out, const json_t *report, const json_t *phase)
{
	const json_t *rows = value_at(phase, "rows");
	struct frame f = {.since = value_number(report, "since"),
			  .until = value_number(report, "until"),
			  .low = INFINITY,
			  .high = -INFINITY};
	size_t i;
	const json_t *row;

	json_array_foreach (rows, i, row) {
		double mean = value_number(row, "mean_ps");

		f.low = fmin(f.low, mean + value_number(row, "min_ps"));
		f.high = fmax(f.high, mean + value_number(row, "max_ps"));
	}
	if (!(f.low <= f.high)) {
		return;
	}
	begin_picture(out, &f, report, "ps");
	json_array_foreach (rows, i, row) {
		double x = across(&f, value_number(row, "time"));
		double mean = value_number(row, "mean_ps");

		if (isfinite(mean) && x >= 0 && x <= WIDTH) {
			fprintf(out,
				"<path d=\"M%.1f %.1fV%.1f\" class=spread />"
				"<circle cx=\"%.1f\" cy=\"%.1f\" r=1 />",
				x, down(&f, mean + value_number(row, "min_ps")),
				down(&f, mean + value_number(row, "max_ps")) + 0.1, x,
				down(&f, mean));
		}
	}
	fputs("</svg>\n", out);
}

static void put_phase(FILE *out, const json_t *report, const json_t *phase)
{
	static const struct column verdicts[] = {{"time (UTC)", "{time:time}"},
						 {"verdict", "{verdict}"},
						 {"moved ps", "{difference_ps:+ps}"},
						 {"who", "{who|}"},
						 {"reason", "{reason|}"},
						 {0}};

	fprintf(out, "<h3>link %lld</h3>", value_integer(phase, "link", -1));
	put_means(out, report, phase);
	put_table(out, value_at(phase, "events"), verdicts, "no verdict");
}

/* --- the page --- */

static const char style[] =
	"<style>:root{color-scheme:light dark}body{font:16px/1.4 sans-serif;max-width:72em;"
	"margin:1em auto;padding:0 1em}table{border-collapse:collapse;font-size:14px}"
	"td,th{padding:2px 10px 2px 0;text-align:left;vertical-align:top}"
	"tr.red td:first-child{border-left:4px solid #d33;padding-left:6px}"
	"td{font-variant-numeric:tabular-nums;overflow-wrap:anywhere}svg{width:100%;height:auto}"
	"text{font-size:11px;fill:currentColor}.plane{fill:none;stroke:currentColor;opacity:.4}"
	".spread{stroke:#268bd2;opacity:.5}circle{fill:#268bd2}.none{opacity:.7}"
	".key{display:inline-block;width:.8em;height:.8em;margin-right:.3em}</style>\n";

static void put_head(FILE *out, const json_t *r)
{
	size_t i;
	const json_t *cut;

	fputs("<!doctype html>\n<html lang=en><meta charset=utf-8>"
	      "<meta name=viewport content=\"width=device-width\"><title>",
	      out);
	put(out, r, "Report of board {board}, {since:time} to {until:time} UTC");
	fputs("</title>\n", out);
	fputs(style, out);
	fputs("<h1>", out);
	put(out, r, "Report of board {board}, {since:time} to {until:time} UTC");
	fputs("</h1>\n<p><b>", out);
	put_text(out, value_string(r, "summary", "No summary of the shift was written."));
	fputs("</b></p>\n<p>", out);
	put(out, value_at(r, "sums"),
	    "incidents: {incidents}, {red} of them red, {active} active at the end; "
	    "{frames:count} frames lost, {dropped:count} dropped for groups; {dark_s:rate} "
	    "module-seconds dark, "
	    "{hits:rate} hits lost in modules; commands: {commands}, {failed} of them not done, "
	    "{open} open at the end.");
	fputs("</p>\n", out);
	json_array_foreach (value_at(r, "cut"), i, cut) {
		fputs("<p><b>", out);
		put(out, cut, "{text}");
		fputs("</b></p>\n", out);
	}
}

void report_html(FILE *out, const json_t *r)
{
	static const struct column incidents[] = {{"no.", "{number}"},
						  {"severity", "{severity}"},
						  {"since (UTC)", "{since:time}"},
						  {"until (UTC)", "{until:time|active}"},
						  {"cause", "{object}/{code}: {text}"},
						  {"frames", "{cost.frames:count}"},
						  {"dropped", "{cost.dropped:count}"},
						  {"hits", "{cost.hits:rate}"},
						  {"module-s dark", "{cost.dark_s:rate}"},
						  {"by", "{own|}"},
						  {"acknowledged by", "{acknowledged_by|}"},
						  {"remarks", "{written|}"},
						  {0}},
				   events[] = {{"time (UTC)", "{time:time}"},
					       {"object", "{object}"},
					       {"text", "{text}"},
					       {0}},
				   hops[] = {{"what", "{code}"},
					     {"link", "{link}"},
					     {"floor", "{:floor}"},
					     {"frames", "{frames}"},
					     {"losses", "{losses}"},
					     {"for", "{group|all}"},
					     {0}},
				   dark[] = {{"link", "{link}"},
					     {"floor", "{:floor}"},
					     {"module-s dark", "{dark_s:rate}"},
					     {"hits lost", "{hits:rate}"},
					     {"cause", "{object}/{code}"},
					     {0}},
				   commands[] = {{"time (UTC)", "{time:time}"},
						 {"who", "{who}"},
						 {"parameter", "{parameter}"},
						 {"old", "{old:word}"},
						 {"new", "{new:word}"},
						 {"ended (UTC)", "{ended:time|open}"},
						 {"state", "{state|?}"},
						 {"reason", "{reason|}"},
						 {0}},
				   clock[] = {{"time (UTC)", "{time:time}"},
					      {"state", "{state}"},
					      {"source", "{source}"},
					      {"reason", "{reason}"},
					      {0}},
				   runs[] = {{"run", "{number}"},
					     {"begun (UTC)", "{begun:time}"},
					     {"ended (UTC)", "{ended:time}"},
					     {"note", "{note}"},
					     {0}};
	size_t i;
	const json_t *phase;

	put_head(out, r);
	fputs("<h2>Open at the end</h2>\n", out);
	put_table(out, value_at(r, "open.incidents"), incidents, "no incident");
	put_table(out, value_at(r, "open.commands"), commands, "no command");
	fputs("<h2>Incidents</h2>\n", out);
	put_table(out, value_at(r, "incidents"), incidents, "none");
	fputs("<h2>Lost frames</h2>\n", out);
	put_table(out, value_at(r, "hops"), hops, "none");
	put_losses(out, r);
	fputs("<h2>What the modules did not see</h2>\n", out);
	put_table(out, value_at(r, "dark.causes"), dark, "nothing");
	fputs("<h2>Logbook</h2>\n", out);
	put_table(out, value_at(r, "remarks"), events, "no remarks");
	fputs("<h2>Acknowledged and paused</h2>\n", out);
	put_table(out, value_at(r, "handled"), events, "nothing");
	fputs("<h2>Phase</h2>\n", out);
	json_array_foreach (value_at(r, "phases"), i, phase) {
		put_phase(out, r, phase);
	}
	fputs("<h2>Commands</h2>\n", out);
	put_table(out, value_at(r, "commands"), commands, "none");
	fputs("<h2>Links that were reset or aligned</h2>\n", out);
	put_table(out, value_at(r, "relocks"), events, "none");
	fputs("<h2>Clock</h2>\n", out);
	put_table(out, value_at(r, "clock"), clock, "no change");
	fputs("<h2>Runs</h2>\n", out);
	put_table(out, value_at(r, "runs"), runs, "none");
	fputs("<h2>Starts and ends of the daemon</h2>\n", out);
	put_table(out, value_at(r, "restarts"), events, "none");
}
