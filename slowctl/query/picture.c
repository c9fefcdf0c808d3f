// SPDX-License-Identifier: GPL-2.0-or-later
/* See picture.h. */
#include "slowctl/query/picture.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "slowctl/query/private.h"

#define LOSSES_MOST 50000
#define NAMES_MOST  32u
#define NAME_BYTES  64
#define ROWS_MOST   20000 /* of the phase: a seek in an index each */
#define EVENTS_MOST 200
#define LEAST_PS    100.0	 /* height of the scope */
#define TAIL_NS	    5000000000ll /* so late the ledger's newest rows may be */

static double column_ns(const struct picture_window *w)
{
	return fmax(1.0, (double)(w->until_ns - w->since_ns) / w->columns);
}

/* ------------------------------------------------------------------ losses */

/* `time` is when the loss last grew. */
static const char losses_sql[] =
	"SELECT iif(kind = 0, code, grp || ': ' || code) AS name,"
	" time - 125000 * (coalesce(until, first + frames) - first) AS begun, time, frames"
	" FROM loss INDEXED BY loss_time WHERE time >= ?1 ORDER BY time DESC LIMIT ?2";

/* Whether a row accounts for a part of ?1 to ?2: a seek in each table. */
static const char account_sql[] =
	"SELECT EXISTS (SELECT 1 FROM ledger_link INDEXED BY ledger_link_time"
	" WHERE time >= ?1 AND time < ?2)"
	" OR coalesce((SELECT begun < ?2 FROM ledger_link_sum INDEXED BY ledger_link_sum_time"
	" WHERE time >= ?1 ORDER BY time LIMIT 1), 0)";

struct losses {
	const struct picture_window *window;
	unsigned names;
	char name[NAMES_MOST][NAME_BYTES];
	double frames[PICTURE_COLUMNS][NAMES_MOST];
};

/* The index of `text`; the last one is what had no place. */
static unsigned name_index(struct losses *l, const char *text)
{
	char name[NAME_BYTES];
	unsigned n = 0;

	snprintf(name, sizeof(name), "%s", text ? text : "?");
	for (char *c = name; *c; c++) { /* it may have been cut */
		*c = *c >= ' ' && *c <= '~' ? *c : '?';
	}
	while (n < l->names && strcmp(l->name[n], name) != 0) {
		n++;
	}
	if (n == l->names && n < NAMES_MOST) {
		snprintf(l->name[n], NAME_BYTES, "%s", n < NAMES_MOST - 1 ? name : "others");
		l->names++;
	}
	return n < NAMES_MOST ? n : NAMES_MOST - 1;
}

/* `frames` evenly from `begun` to `ended`, as far as that is inside the window. */
static void spread(struct losses *l, unsigned name, double begun, double ended, double frames)
{
	double width = column_ns(l->window);
	double from = (begun - (double)l->window->since_ns) / width;
	double to = fmax((ended - (double)l->window->since_ns) / width, from + 1e-9);
	double last = fmin(to, l->window->columns);

	for (double at = fmax(from, 0.0); at < last;) {
		double next = fmin(floor(at) + 1.0, last);

		l->frames[(unsigned)at][name] += frames * (next - at) / (to - from);
		at = next;
	}
}

static json_t *losses_columns(const struct losses *l)
{
	json_t *columns = json_array();

	for (unsigned c = 0; c < l->window->columns; c++) {
		json_t *column = json_array();
		double sum = 0.0;

		for (unsigned n = 0; n < l->names; n++) {
			json_array_append_new(column, json_real(l->frames[c][n]));
			sum += l->frames[c][n];
		}
		if (sum == 0.0) {
			json_decref(column);
			column = json_null();
		}
		json_array_append_new(columns, column);
	}
	return columns;
}

/* The columns without an account, into `list`. */
static int find_unaccounted(struct query *q, const struct picture_window *w, json_t *list)
{
	int64_t newest = query_utc_ns() - TAIL_NS;
	sqlite3_stmt *s = NULL;
	int r = query_prepare(q, &s, account_sql, "ii", w->since_ns, w->until_ns);

	for (unsigned c = 0; r == 0 && c < w->columns; c++) {
		int64_t from = w->since_ns + (int64_t)(c * column_ns(w));

		sqlite3_bind_int64(s, 1, from < newest ? from : newest);
		sqlite3_bind_int64(s, 2, w->since_ns + (int64_t)((c + 1) * column_ns(w)));
		r = query_step(q, s);
		if (r > 0 && !sqlite3_column_int(s, 0)) {
			json_array_append_new(list, json_integer(c));
		}
		r = r < 0 ? r : 0;
		sqlite3_reset(s);
	}
	sqlite3_finalize(s);
	return r;
}

static json_t *losses_json(const struct losses *l, json_t *unaccounted, bool cut)
{
	json_t *names = json_array();

	for (unsigned n = 0; n < l->names; n++) {
		json_array_append_new(names, json_string(l->name[n]));
	}
	return json_pack("{s:f,s:f,s:f,s:o,s:o,s:O,s:b}", "since",
			 (double)l->window->since_ns / 1e9, "until",
			 (double)l->window->until_ns / 1e9, "column_s", column_ns(l->window) / 1e9,
			 "names", names, "columns", losses_columns(l), "unaccounted", unaccounted,
			 "cut", cut);
}

int picture_losses(struct query *q, const struct picture_window *w, json_t **ret_json)
{
	struct losses *l = calloc(1, sizeof(*l));
	json_t *unaccounted = json_array();
	sqlite3_stmt *s = NULL;
	unsigned rows = 0;
	int r;

	if (!l || !unaccounted) {
		json_decref(unaccounted);
		free(l);
		return query_no_memory(q);
	}
	l->window = w;
	r = query_prepare(q, &s, losses_sql, "ii", w->since_ns, (int64_t)LOSSES_MOST);
	while (r == 0 && (r = query_step(q, s)) > 0) {
		spread(l, name_index(l, (const char *)sqlite3_column_text(s, 0)),
		       (double)sqlite3_column_int64(s, 1), (double)sqlite3_column_int64(s, 2),
		       (double)sqlite3_column_int64(s, 3));
		rows++;
		r = 0;
	}
	sqlite3_finalize(s);
	r = r == 0 ? find_unaccounted(q, w, unaccounted) : r;
	r = query_answer(q, r, r < 0 ? NULL : losses_json(l, unaccounted, rows == LOSSES_MOST),
			 ret_json);
	json_decref(unaccounted);
	free(l);
	return r;
}

/* ------------------------------------------------------------------ phase */

struct phase_point {
	int64_t time;
	double mean, sigma, min, max;
};

struct scope {
	const struct picture_window *window;
	struct phase_point *point;
	unsigned points;
	int64_t every_ns; /* one row is read in so long */
	double low, row_ps;
	float cell[PICTURE_COLUMNS][PICTURE_ROWS];
};

/* One row in each step of time: the cost is that of the steps that have one. The board counts whole bits of 1250 ps beside
 * the phase: the nearest ones, of ten, that a link is off its reference are added, so that a slip is seen. */
static int read_points(struct query *q, int link, struct scope *scope)
{
	const struct picture_window *w = scope->window;
	int64_t step = scope->every_ns;
	sqlite3_stmt *s = NULL;
	int r = query_prepare(
		q, &s,
		"SELECT r.time, r.mean_ps + ((coalesce(r.rtt_bits - f.rtt_bits, 0) + 15) % 10 - 5) "
		"* 1250.0,"
		" r.sigma_ps, r.min_ps, r.max_ps FROM phase_row r LEFT JOIN phase_reference f ON"
		" f.link = r.link WHERE r.link = ?1 AND r.time >= ?2 AND r.time < ?3"
		" AND r.mean_ps IS NOT NULL ORDER BY r.time LIMIT 1",
		"iii", (int64_t)link, w->since_ns, w->until_ns);
	int64_t next = w->since_ns;

	while (r == 0 && scope->points < ROWS_MOST && (r = query_step(q, s)) > 0) {
		struct phase_point *p = &scope->point[scope->points++];
		int64_t time = sqlite3_column_int64(s, 0);

		*p = (struct phase_point){
			.time = time,
			.mean = sqlite3_column_double(s, 1),
			.sigma = sqlite3_column_double(s, 2),
		};
		p->min = p->mean + sqlite3_column_double(s, 3);
		p->max = p->mean + sqlite3_column_double(s, 4);
		scope->points -= isfinite(p->mean + p->sigma + p->min + p->max) ? 0u : 1u;
		next = time + 1 > next + step ? time + 1 : next + step;
		sqlite3_reset(s);
		sqlite3_bind_int64(s, 2, next);
		r = 0;
	}
	sqlite3_finalize(s);
	return r < 0 ? r : 0;
}

static void set_range(struct scope *scope)
{
	double low = INFINITY, high = -INFINITY, middle;

	for (unsigned i = 0; i < scope->points; i++) {
		low = fmin(low, scope->point[i].min);
		high = fmax(high, scope->point[i].max);
	}
	if (scope->points == 0) {
		low = high = 0.0;
	}
	middle = (low + high) / 2.0;
	high = fmax(high + (high - low) * 0.05, middle + LEAST_PS / 2.0);
	scope->low = fmin(low - (high - low) * 0.05, middle - LEAST_PS / 2.0);
	scope->row_ps = (high - scope->low) / scope->window->rows;
}

/* The share of a Gaussian below `x`. */
static double below(double x, double mean, double sigma)
{
	return 0.5 * erfc((mean - x) / (sigma * M_SQRT2));
}

static void draw(struct scope *scope, const struct phase_point *p)
{
	const struct picture_window *w = scope->window;
	unsigned column = (unsigned)((double)(p->time - w->since_ns) / column_ns(w));
	double sigma = fmax(p->sigma, scope->row_ps / 10.0);
	double first = floor((p->mean - 4.0 * sigma - scope->low) / scope->row_ps);
	double last = floor((p->mean + 4.0 * sigma - scope->low) / scope->row_ps);

	column = column < w->columns ? column : w->columns - 1;
	for (unsigned row = (unsigned)fmin(fmax(first, 0.0), w->rows); row < w->rows && row <= last;
	     row++) {
		double edge = scope->low + row * scope->row_ps;

		scope->cell[column][row] += (float)(below(edge + scope->row_ps, p->mean, sigma) -
						    below(edge, p->mean, sigma));
	}
}

/* See picture.h. */
static json_t *cells(const struct scope *scope)
{
	static const char digits[] = "0123456789abcdef";
	const struct picture_window *w = scope->window;
	char *text = malloc(2u * w->columns * w->rows + 1);
	size_t n = 0;
	double most = 0.0;
	json_t *json;

	if (!text) {
		return NULL;
	}
	for (unsigned c = 0; c < w->columns; c++) {
		for (unsigned row = 0; row < w->rows; row++) {
			most = fmax(most, scope->cell[c][row]);
		}
	}
	for (unsigned c = 0; c < w->columns; c++) {
		for (unsigned row = 0; row < w->rows; row++) {
			/* Four decades below the densest. */
			double share = most > 0.0 ? scope->cell[c][row] / most : 0.0;
			unsigned v = (unsigned)(255.0 * log1p(share * 1e4) / log1p(1e4));

			text[n++] = digits[v >> 4];
			text[n++] = digits[v & 15];
		}
	}
	json = json_stringn(text, n);
	free(text);
	return json;
}

static json_t *histogram(const struct scope *scope, double *ret_mean, double *ret_sigma)
{
	const struct picture_window *w = scope->window;
	double weight[PICTURE_ROWS] = {0};
	double sum = 0.0, first = 0.0, second = 0.0;
	json_t *list = json_array();

	for (unsigned row = 0; row < w->rows; row++) {
		double at = scope->low + (row + 0.5) * scope->row_ps;

		for (unsigned c = 0; c < w->columns; c++) {
			weight[row] += scope->cell[c][row];
		}
		sum += weight[row];
		first += weight[row] * at;
		second += weight[row] * at * at;
	}
	for (unsigned row = 0; row < w->rows; row++) {
		json_array_append_new(list, json_real(sum > 0.0 ? weight[row] / sum : 0.0));
	}
	*ret_mean = first / sum;
	*ret_sigma = sqrt(fmax(0.0, second / sum - *ret_mean * *ret_mean));
	return list;
}

/* The means of each column that has any. */
static json_t *trace(const struct scope *scope)
{
	json_t *list = json_array();
	double width = column_ns(scope->window);

	for (unsigned i = 0, end; i < scope->points; i = end) {
		const struct phase_point *p = &scope->point[i];
		double column = floor((double)(p->time - scope->window->since_ns) / width);
		double sum = 0.0, low = INFINITY, high = -INFINITY;

		for (end = i; end < scope->points &&
			      floor((double)(scope->point[end].time - scope->window->since_ns) /
				    width) == column;
		     end++) {
			sum += scope->point[end].mean;
			low = fmin(low, scope->point[end].min);
			high = fmax(high, scope->point[end].max);
		}
		json_array_append_new(list, json_pack("[f,f,f,f]", (double)p->time / 1e9,
						      sum / (end - i), low, high));
	}
	return list;
}

static json_t *number_or_null(double v)
{
	return isfinite(v) ? json_real(v) : json_null();
}

static json_t *scope_json(const struct scope *scope, int link)
{
	const struct picture_window *w = scope->window;
	double mean, sigma;
	json_t *weights = histogram(scope, &mean, &sigma);

	return json_pack("{s:i,s:f,s:f,s:i,s:i,s:f,s:f,s:f,s:o,s:o,s:o,s:o,s:i,s:f,s:o}", "link",
			 link, "since", (double)w->since_ns / 1e9, "until",
			 (double)w->until_ns / 1e9, "columns", (int)w->columns, "rows",
			 (int)w->rows, "low_ps", scope->low, "high_ps",
			 scope->low + w->rows * scope->row_ps, "row_ps", scope->row_ps, "picture",
			 cells(scope), "histogram", weights, "mean_ps", number_or_null(mean),
			 "sigma_ps", number_or_null(sigma), "samples", (int)scope->points,
			 "every_s", (double)scope->every_ns / 1e9, "trace", trace(scope));
}

static int add_rest(struct query *q, int link, const struct picture_window *w, json_t *json)
{
	json_t *reference = NULL;
	int r = query_row(q, &reference, "SELECT phase_ps FROM phase_reference WHERE link = ?1",
			  "i", (int64_t)link);
	json_t *ps = json_object_get(reference, "phase_ps");

	json_object_set_new(json, "reference_ps", ps ? json_incref(ps) : json_null());
	json_decref(reference);
	return query_add_rows(q, r, json, "events",
			      "SELECT time AS [time:t], verdict, slip, difference_ps FROM"
			      " phase_event WHERE link = ?1 AND time >= ?2 AND time < ?3"
			      " ORDER BY time DESC LIMIT ?4",
			      "iiii", (int64_t)link, w->since_ns, w->until_ns,
			      (int64_t)EVENTS_MOST);
}

int picture_phase(struct query *q, int link, const struct picture_window *w, json_t **ret_json)
{
	struct scope *scope = calloc(1, sizeof(*scope));
	json_t *json = NULL;
	int r;

	if (scope) {
		scope->window = w;
		scope->every_ns = (w->until_ns - w->since_ns) / ROWS_MOST;
		scope->point = calloc(ROWS_MOST, sizeof(*scope->point));
	}
	if (!scope || !scope->point) {
		free(scope);
		return query_no_memory(q);
	}
	r = read_points(q, link, scope);
	if (r == 0) {
		set_range(scope);
		for (unsigned i = 0; i < scope->points; i++) {
			draw(scope, &scope->point[i]);
		}
		json = scope_json(scope, link);
		r = json ? add_rest(q, link, w, json) : query_no_memory(q);
	}
	free(scope->point);
	free(scope);
	return query_answer(q, r, json, ret_json);
}
