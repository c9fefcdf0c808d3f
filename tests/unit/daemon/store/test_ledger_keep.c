/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Old seconds of the ledger become minutes, minutes hours: what is asked has the same answer before and
 * after, whatever the ledger and wherever the daemon is killed; nobody waits for it; the file stays bounded.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/core/now.h"
#include "tests/unit/rig/query_rig.h"
#include "tests/unit/rig/store_rig.h"

#define SECOND 1000000000ll
#define MINUTE (60 * SECOND)
#define HOUR   (3600 * SECOND)
#define DAY    (24 * HOUR)

static const char *const groups[] = {"trigger", "acoustic"};

static uint64_t dice;
static unsigned roll(unsigned n)
{
	dice = dice * 6364136223846793005ull + 1442695040888963407ull;
	return (unsigned)(dice >> 33) % n;
}

static int setup(void **state)
{
	struct store_rig *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	store_rig_create(r);
	store_rig_open(r);
	*state = r;
	return 0;
}

static int teardown(void **state)
{
	struct store_rig *r = *state;

	store_rig_destroy(r);
	free(r);
	return 0;
}

/* --- ledgers --- */

/* An hour of UTC, so many days ago. */
static int64_t hours_ago(unsigned days)
{
	int64_t now = now_utc_ns();

	return now - now % HOUR - days * DAY;
}

struct writer {
	struct store_rig *r;
	uint32_t session, epoch;
	uint64_t second;
	uint8_t link, tower, floor;
	int64_t time, tai_ns; /* tai_ns: of second 0; INT64_MIN: no label */
};

static void put_link(const struct writer *w, bool right)
{
	struct ledger_link_row row = {.dma_epoch = w->epoch,
				      .second = w->second,
				      .link = w->link,
				      .tower = w->tower,
				      .floor = w->floor,
				      .cells = roll(20) ? 8000 : 1 + roll(8000),
				      .restarts = roll(50) == 0,
				      .closed = 1};
	uint32_t left = row.cells;

	for (unsigned n = 1; n < TDM_LOSSES && roll(3) == 0; n++) {
		row.verdicts[n] = roll(left + 1);
		left -= row.verdicts[n];
	}
	row.verdicts[TDM_GOOD] = left + !right;
	row.partial = row.cells < 8000;
	store_put_link_row(w->r->s, w->session, &row,
			   w->tai_ns == INT64_MIN ? INT64_MIN
						  : w->tai_ns + (int64_t)w->second * SECOND,
			   w->time, 0, 0);
}

static void put_streams(const struct writer *w, bool closed, bool right)
{
	for (uint8_t g = 0; g < 2; g++) {
		struct ledger_stream_row row = {.dma_epoch = w->epoch,
						.second = w->second,
						.link = w->link,
						.stream = g,
						.group = g,
						.offered = 8000,
						.closed = closed};
		uint32_t left = row.offered;

		for (unsigned n = OUTCOME_ACKED; n < OUTCOMES; n++) {
			row.outcome[n] = n == OUTCOMES - 1 && closed ? left : roll(left + 1);
			left -= row.outcome[n];
		}
		row.in_flight = left;
		row.offered += !right;
		store_put_stream_row(w->r->s, w->session, &row, groups, w->time, 0, 0);
	}
}

static void put_loss(const struct writer *w)
{
	struct ledger_loss loss = {.kind = (uint8_t)roll(2),
				   .code = (uint8_t)(2 + roll(4)),
				   .link = w->link,
				   .tower = 1,
				   .floor = 2,
				   .dma_epoch = w->epoch,
				   .first = w->second * 8000 + roll(8000),
				   .frames = 1 + roll(100),
				   .tai_ns = INT64_MIN};

	loss.next = loss.first + loss.frames;
	store_put_loss(w->r->s, w->session, &loss, groups, w->time, 0, 0);
}

/* A link's life: restarts of DMA and of the driver, other floors, rows that come late, pauses, and rows that
 * were never closed or do not balance. */
static void put_life(struct store_rig *r, uint8_t link, int64_t from, int64_t to, bool faults,
		     bool late)
{
	struct writer w = {r, 1, 1 + link, 5, link, 1, 2, from, INT64_MIN};

	while (w.time < to) {
		bool right = !faults || roll(400) > 0, closed = !faults || roll(300) > 0;

		if (closed) {
			put_link(&w, right);
		}
		put_streams(&w, closed, !faults || roll(400) > 0);
		if (faults && roll(20) == 0) {
			put_loss(&w);
		}
		w.second++;
		w.time += late && roll(100) == 0 ? SECOND / 100 : SECOND;
		if (roll(300) == 0) {
			w.floor = roll(2) ? 0xff : (uint8_t)(1 + roll(3));
		}
		if (roll(300) == 0) {
			w.tai_ns = roll(2) ? INT64_MIN : RIG_UTC + (int64_t)roll(1000) * SECOND;
		}
		if (roll(600) == 0) { /* DMA anew */
			w.epoch++;
			w.session += roll(3) == 0;
			w.second = roll(10);
			w.time += (int64_t)roll(15) * SECOND;
		} else if (roll(600) == 0) { /* rows that are missing */
			w.second += 5;
			w.time += 5 * SECOND;
		}
	}
}

/* --- questions --- */

static void forget_spans(json_t *rows)
{
	size_t n;
	json_t *row;

	json_array_foreach (rows, n, row) {
		json_object_del(row, "span");
	}
}

/* A stream's row that stays behind when its link's has become part of a minute has no label any more. */
static void forget_labels(json_t *rows)
{
	size_t n;
	json_t *row;

	json_array_foreach (rows, n, row) {
		if (json_object_get(row, "group")) {
			json_object_del(row, "tai");
			json_object_del(row, "begun");
		}
	}
}

static json_t *ask(const struct store_rig *r, int64_t since, int64_t until, int link, unsigned by_s)
{
	struct query_filter what = {
		.since_ns = since, .until_ns = until, .link = link, .limit = 300, .by_s = by_s};
	struct query *q = NULL;
	json_t *json = NULL, *totals;

	assert_int_equal(query_open(r->path, &q, NULL), 0);
	if (query_ledger(q, &what, &json) < 0) {
		fail_msg("%s", query_error(q));
	}
	query_close(q);
	totals = json_object_get(json, "totals");
	forget_spans(json_object_get(totals, "links"));
	forget_spans(json_object_get(totals, "streams"));
	if (json_array_size(json_object_get(json, "unbalanced")) > 0) {
		forget_labels(json_object_get(json, "unbalanced"));
		forget_labels(json_object_get(json, "streams"));
	}
	return json;
}

#define QUESTIONS 8
struct answers {
	int64_t now, from, step; /* questions are about whole steps */
	unsigned by_s;
	bool late;
	json_t *answer[QUESTIONS];
};

static json_t *question(const struct store_rig *r, const struct answers *a, unsigned n)
{
	int64_t since =
		n == 0 ? 0 : a->from + (int64_t)n * 7 % (a->step == HOUR ? 3 : 11) * a->step;
	int64_t until = n < 4 ? a->now : since + (int64_t)n * a->step;

	return ask(r, since, until, n % 3 ? QUERY_ALL : (int)n % 4 % 3, a->by_s);
}

static void ask_all(const struct store_rig *r, struct answers *a)
{
	for (unsigned n = 0; n < QUESTIONS; n++) {
		a->answer[n] = question(r, a, n);
	}
}

static void fail_other(unsigned n, const char *key, const json_t *before, const json_t *now)
{
	size_t i;
	const json_t *row;

	json_array_foreach (before, i, row) {
		const json_t *is = json_array_get(now, i);

		if (!is || !json_equal(row, is)) {
			fail_msg("question %u, %s %zu: %s now %s", n, key, i, json_dumps(row, 0),
				 is ? json_dumps(is, 0) : "nothing");
		}
	}
	fail_msg("question %u: another answer in %s", n, key);
}

static void check_all(const struct store_rig *r, struct answers *a)
{
	for (unsigned n = 0; n < QUESTIONS; n++) {
		json_t *now = question(r, a, n);
		const char *key;
		json_t *value;

		if (a->late) { /* of what came late the account ends up to a second sooner */
			json_object_del(a->answer[n], "missing");
			json_object_del(a->answer[n], "missing_s");
		}
		json_object_foreach (a->answer[n], key, value) {
			if (!json_equal(value, json_object_get(now, key))) {
				fail_other(n, key, value, json_object_get(now, key));
			}
		}
		json_decref(now);
		json_decref(a->answer[n]);
	}
}

/* Reopen with these ages and wait until nothing is due. */
static void keep(struct store_rig *r, unsigned seconds_days, unsigned minutes_days, const char *due)
{
	struct store_status status;

	store_rig_close(r);
	r->config.ages.ledger_seconds_days = seconds_days;
	r->config.ages.ledger_minutes_days = minutes_days;
	r->config.keep_ms = 10;
	r->config.keep_rest = 1;
	store_rig_open(r);
	for (unsigned n = 0; n < 1000 && store_rig_number(r, due) > 0; n++) {
		usleep(50000);
	}
	assert_int_equal(store_rig_number(r, due), 0);
	store_get_status(r->s, &status);
	if (status.keep_errors > 0) {
		fail_msg("%s", status.keep_error_text);
	}
}

#define LINK_SUM   "(good+link_down+board_fifo+ring_full+crc+alignment+time_fault)"
#define STREAM_SUM "(acked+no_member+slow+shutdown+pool+no_time)"
#define SECONDS_LEFT                                                                               \
	"SELECT (SELECT count(*) FROM ledger_link WHERE closed AND cells = " LINK_SUM ")"          \
	" + (SELECT count(*) FROM ledger_stream WHERE closed AND offered = " STREAM_SUM ")"
#define MINUTES_LEFT                                                                               \
	"SELECT (SELECT count(*) FROM ledger_link_sum WHERE span = 60)"                            \
	" + (SELECT count(*) FROM ledger_stream_sum WHERE span = 60)"
#define UNBALANCED                                                                                 \
	"SELECT (SELECT count(*) FROM ledger_link_sum WHERE cells <> " LINK_SUM ")"                \
	" + (SELECT count(*) FROM ledger_stream_sum WHERE offered <> " STREAM_SUM ")"

static void test_same_answer(void **state)
{
	struct store_rig *r = *state;

	for (unsigned seed = 1; seed <= 3; seed++) {
		int64_t from = hours_ago(100);
		struct answers minutes = {now_utc_ns(),		from,	  MINUTE,
					  seed % 2 ? 60 : 3600, seed > 2, {NULL}};
		struct answers hours = {now_utc_ns(), from - HOUR, HOUR, 3600, seed > 2, {NULL}};

		dice = seed;
		for (uint8_t link = 0; link < 2; link++) {
			put_life(r, link, from + roll(600) * SECOND, from + 3700 * SECOND, seed > 1,
				 seed > 2);
		}
		store_rig_flush(r);
		ask_all(r, &minutes);
		ask_all(r, &hours);
		keep(r, 7, 0, SECONDS_LEFT);
		assert_true(store_rig_number(r, MINUTES_LEFT) > 0);
		assert_int_equal(store_rig_number(r, UNBALANCED), 0);
		check_all(r, &minutes);
		keep(r, 7, 90, MINUTES_LEFT);
		assert_int_equal(store_rig_number(r, UNBALANCED), 0);
		check_all(r, &hours);
		store_rig_close(r);
		unlink(r->path);
		r->config.ages.ledger_seconds_days = r->config.ages.ledger_minutes_days = 0;
		store_rig_open(r);
	}
}

/* What is young stays, second by second; so does what is open or does not balance, however old. */
static void test_stays(void **state)
{
	struct store_rig *r = *state;
	struct writer old = {r, 1, 1, 10, 0, 1, 2, hours_ago(30), INT64_MIN};
	struct writer young = {r, 1, 1, 900, 0, 1, 2, now_utc_ns() - 6 * DAY, INT64_MIN};
	struct writer *all[] = {&old, &young};

	dice = 3;
	for (unsigned n = 0; n < 2; n++) {
		put_link(all[n], true);
		all[n]->second++;
		put_link(all[n], false);
		put_streams(all[n], false, true);
		put_streams(all[n], true, true);
	}
	store_rig_flush(r);
	keep(r, 7, 90, "SELECT count(*) FROM ledger_link WHERE second = 10");
	assert_int_equal(store_rig_number(r, "SELECT count(*) FROM ledger_link"), 3);
	assert_int_equal(store_rig_number(r, "SELECT count(*) FROM ledger_link_sum"), 1);
	assert_int_equal(
		store_rig_number(r, "SELECT count(*) FROM ledger_stream WHERE second > 900"), 2);
}

/* A daemon that comes back may put a row again that it had not seen saved. Once it has become part of a
 * minute it is not counted twice; its neighbours are written. */
static void test_closed_for_good(void **state)
{
	struct store_rig *r = *state;
	struct writer w = {r, 1, 1, 100, 0, 1, 2, hours_ago(30), INT64_MIN};
	int64_t cells;

	dice = 4;
	for (; w.second < 110; w.second++, w.time += SECOND) {
		if (w.second != 105) {
			put_link(&w, true);
			put_streams(&w, true, true);
		}
	}
	store_rig_flush(r);
	keep(r, 7, 90, SECONDS_LEFT);
	cells = store_rig_number(r, "SELECT sum(cells) FROM ledger_link_all");
	for (w.second = 98; w.second < 112; w.second++) {
		w.time = now_utc_ns();
		put_link(&w, true);
		put_streams(&w, true, true);
	}
	store_rig_flush(r);
	assert_int_equal(store_rig_number(r, "SELECT count(*) FROM ledger_link"), 5);
	assert_int_equal(store_rig_number(r, "SELECT count(*) FROM ledger_stream"), 10);
	assert_int_equal(store_rig_number(r, "SELECT sum(seconds) FROM ledger_link_all"), 14);
	assert_int_equal(store_rig_number(r, "SELECT sum(cells) FROM ledger_link_all"
					     " WHERE second BETWEEN 100 AND 109 AND second <> 105"),
			 cells);
}

/* Losses are the names: they go by an age of their own. */
static void test_losses(void **state)
{
	struct store_rig *r = *state;
	struct writer w = {r, 1, 1, 100, 0, 1, 2, hours_ago(30), INT64_MIN};

	for (unsigned n = 0; n < 100; n++, w.second++, w.time += DAY / 4) {
		put_loss(&w);
	}
	store_rig_flush(r);
	r->config.ages.losses_days = 10;
	keep(r, 0, 0,
	     "SELECT count(*) FROM loss WHERE time < (unixepoch() - 864000 - 10) * 1000000000");
	assert_true(store_rig_number(r, "SELECT count(*) FROM loss") >= 19);
}

/* --- kill -9 --- */

static void child(const char *path, int ready_fd)
{
	struct store_config config = {.path = path,
				      .ages.ledger_seconds_days = 7,
				      .ages.ledger_minutes_days = 90,
				      .keep_ms = 1,
				      .keep_rest = 1};
	struct store *s = NULL;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (store_open(&config, &s, NULL) < 0 || store_start(s) < 0 || write(ready_fd, "", 1) < 0) {
		_exit(1);
	}
	for (;;) {
		pause();
	}
}

/* A life that ends somewhere. */
static void live(const char *path, unsigned ms)
{
	int ready[2], status;
	char byte;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		child(path, ready[1]);
	}
	assert_true(pid > 0);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	usleep(1000 * ms);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	close(ready[0]);
	close(ready[1]);
}

static void test_killed(void **state)
{
	struct store_rig *r = *state;
	int64_t from = hours_ago(100);
	struct answers hours = {now_utc_ns(), from - HOUR, HOUR, 3600, false, {NULL}};
	unsigned lives = 0, cut = 0;
	int64_t left;

	dice = 99;
	for (uint8_t link = 0; link < 2; link++) {
		put_life(r, link, from, from + HOUR / 2, true, false);
	}
	store_rig_flush(r);
	ask_all(r, &hours);
	store_rig_close(r);
	do {
		live(r->path, roll(200));
		left = store_rig_number(r, SECONDS_LEFT) + store_rig_number(r, MINUTES_LEFT);
		lives++;
		cut += left > 0 &&
		       store_rig_number(r, "SELECT count(*) FROM ledger_stream_sum") > 0;
	} while (left > 0 && lives < 1000);
	printf("%u lives, %u of them in the middle\n", lives, cut);
	assert_true(cut > 1);
	check_all(r, &hours);
}

/* --- who waits --- */

static uint64_t steps_done(struct store_rig *r)
{
	struct store_status status;

	store_get_status(r->s, &status);
	return status.keep_steps;
}

/* Commands that more steps were done for, from when they were put to their answer, than the one that was under
 * way then and the one that may have followed the answer before we saw it. */
static unsigned waited(struct store_rig *r, unsigned commands)
{
	static uint64_t id;
	unsigned late = 0;

	for (unsigned n = 0; n < commands; n++) {
		uint64_t steps = steps_done(r);
		struct row row;

		store_rig_command(&row, ++id, NULL, 1);
		assert_int_equal(store_submit(r->s, &row, id,
					      STORE_URGENT | STORE_ANSWER | STORE_NOW_OR_NEVER),
				 0);
		assert_int_equal(store_rig_wait(r).result, 0);
		late += steps_done(r) > steps + 2;
		usleep(1000 + roll(3000));
	}
	return late;
}

/* Commands are answered while hours are rolled up: each waits for one step at most. (A few are seen late on a
 * machine that lets this thread wait.) */
static void test_nobody_waits(void **state)
{
	struct store_rig *r = *state;
	struct writer w = {r, 1, 1, 100, 0, 1, 2, hours_ago(100), INT64_MIN};

	dice = 5;
	for (unsigned n = 0; n < 2000; n++, w.second += 60, w.time += MINUTE) { /* a step each */
		put_link(&w, true);
		put_streams(&w, true, true);
	}
	store_rig_flush(r);
	keep(r, 7, 90, "SELECT 0");
	assert_true(waited(r, 100) < 25);
	assert_true(store_rig_number(r, SECONDS_LEFT) > 0); /* it went on all the while */
}

/* --- the clock --- */

static _Atomic int64_t clock_off;
static int64_t moved_clock(void)
{
	return now_utc_ns() + atomic_load(&clock_off);
}

static bool keep_fails(struct store_rig *r, const char *text)
{
	struct store_status status = {0};

	for (unsigned n = 0; n < 1000 && !status.keep_failing; n++) {
		usleep(5000);
		store_get_status(r->s, &status);
	}
	return status.keep_failing && strstr(status.keep_error_text, text);
}

/* It keeps again, and nothing is left to say. */
static bool keeps_well(struct store_rig *r)
{
	struct store_status status = {.keep_failing = true};

	for (unsigned n = 0; n < 1000 && status.keep_failing; n++) {
		usleep(5000);
		store_get_status(r->s, &status);
	}
	return !status.keep_failing && !status.keep_error_text[0];
}

#define LOSSES "SELECT count(*) FROM loss"

/* A clock that is years ahead, all at once or from the start, costs no row. */
static void test_wrong_clock(void **state)
{
	struct store_rig *r = *state;
	struct writer w = {r, 1, 1, 100, 0, 1, 2, now_utc_ns() - DAY, INT64_MIN};
	char alive[32];

	put_loss(&w);
	store_rig_flush(r);
	r->config.ages.losses_days = 10;
	r->config.utc_ns = moved_clock;
	keep(r, 0, 0, "SELECT 0");
	store_put_station(r->s, "the thread", "runs");
	store_rig_flush(r);
	atomic_store(&clock_off, 4000 * DAY);
	assert_true(keep_fails(r, "moved"));
	assert_int_equal(store_rig_number(r, LOSSES), 1);
	atomic_store(&clock_off, 0);
	assert_true(keeps_well(r));
	atomic_store(&clock_off, 4000 * DAY);
	assert_true(keep_fails(r, "moved"));
	snprintf(alive, sizeof(alive), "%lld", (long long)now_utc_ns());
	store_put_station(r->s, "last_alive", alive);
	store_rig_flush(r);
	keep(r, 0, 0, "SELECT 0");
	assert_true(keep_fails(r, "days"));
	assert_int_equal(store_rig_number(r, LOSSES), 1);
	/* Time really went by: */
	atomic_store(&clock_off, 20 * DAY);
	keep(r, 0, 0, LOSSES);
}

/* The phase's rows and the parameters' history have ages too. */
static void test_other_ages(void **state)
{
	struct store_rig *r = *state;
	struct phase_row p = {.mean_ps = 3000, .samples = 10};
	int64_t from = now_utc_ns() - 30 * DAY;
	struct row row;

	for (unsigned n = 0; n < 60; n++) {
		char name[24];

		store_put_phase_row(r->s, n % 4, &p, from + n * DAY / 2);
		snprintf(name, sizeof(name), "tower1.floor%u.x", n % 7);
		row_begin(&row, ROW_SAMPLE);
		row_add(&row, ROW_VT(name));
		row_add(&row, ROW_VI(from + n * DAY / 2));
		row_add(&row, ROW_VR(1));
		row_add(&row, ROW_VNULL);
		store_submit(r->s, &row, 0, 0);
	}
	store_rig_flush(r);
	r->config.ages.phase_days = 10;
	keep(r, 0, 0,
	     "SELECT count(*) FROM phase_row WHERE time < (unixepoch() - 864000 - 70) * "
	     "1000000000");
	assert_in_range(store_rig_number(r, "SELECT count(*) FROM phase_row"), 19, 21);
	assert_int_equal(store_rig_number(r, "SELECT count(*) FROM sample"), 60);
	r->config.ages.samples_days = 20;
	keep(r, 0, 0,
	     "SELECT count(*) FROM sample WHERE time < (unixepoch() - 1728000 - 70) * 1000000000");
	assert_in_range(store_rig_number(r, "SELECT count(*) FROM sample"), 39, 41);
}

/* Day after day: the file grows to what is kept, and no further. */
static void test_bounded(void **state)
{
	struct store_rig *r = *state;
	int64_t pages[6];

	dice = 6;
	for (unsigned day = 0; day < 6; day++) {
		int64_t from = hours_ago(60 - day);

		put_life(r, 0, from, from + HOUR / 2, false, false);
		store_rig_flush(r);
		pages[day] = store_rig_number(r, "PRAGMA page_count");
		keep(r, 7, 8, SECONDS_LEFT);
	}
	assert_true(pages[5] < pages[1] + pages[1] / 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_same_answer, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stays, setup, teardown),
		cmocka_unit_test_setup_teardown(test_closed_for_good, setup, teardown),
		cmocka_unit_test_setup_teardown(test_losses, setup, teardown),
		cmocka_unit_test_setup_teardown(test_killed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_nobody_waits, setup, teardown),
		cmocka_unit_test_setup_teardown(test_wrong_clock, setup, teardown),
		cmocka_unit_test_setup_teardown(test_other_ages, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bounded, setup, teardown),
	};

	return cmocka_run_group_tests_name("what the ledger keeps", tests, NULL, NULL);
}
