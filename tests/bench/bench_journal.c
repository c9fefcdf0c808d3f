/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bench-journal: what it costs to have a command in the journal, the daemon's own store (a thread, SQLite with
 * WAL and synchronous=FULL), over the least that could make it durable: a write of 512 bytes and fdatasync, in
 * the same directory, by turns.
 *
 *   one       a command's row, from store_submit() to its answer
 *   hundred   a hundred of them submitted together, until all are answered
 *   pair      intent and outcome: the row, its answer, the last transition, its answer
 *   paced     the same at the pace of a set: after a rest of up to 4 ms, and with a trip of 2 ms between the two; the
 *             rests are not counted
 *   bare      pwrite() and fdatasync() into a file that has its length already, as the WAL has
 *   least     the least that SQLite can make of a command's row: one insert into one table without any index, a commit
 *             of its own, WAL and synchronous=FULL, no other thread
 *
 *   bench-journal DIR [ROUNDS]     makes a database and a file in DIR
 *
 * Prints one line of JSON, medians in us.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/store/store.h"
#include "tests/bench/usage.h"

#define HUNDRED	     100u
#define ONES	     10u /* a round, of each kind but the hundred */
#define ROUNDS_MAX   1000u
#define WARM	     1100u /* commands: more than a checkpoint's 1000 pages */
#define BARE_BYTES   512u
#define BARE_FILE    (4u << 20) /* about the WAL's own length between checkpoints */
#define PATIENCE_MS  5000
#define REST_US	     4000u
#define TRIP_US	     2000u
#define COMMAND_FLAG (STORE_URGENT | STORE_ANSWER | STORE_NOW_OR_NEVER)

struct journal {
	struct store *store;
	int bare_fd;
	uint64_t bare_at;
	uint64_t commands;
	uint8_t bytes[BARE_BYTES];
	sqlite3 *least_db;
	sqlite3_stmt *least_insert;
	struct samples one, hundred, pair, paced, bare, commit, least;
};

/* A set as an operator types it. */
static void command_row(struct journal *j, struct row *row)
{
	char client_id[32];

	j->commands++;
	snprintf(client_id, sizeof(client_id), "bench-%llu", (unsigned long long)j->commands);
	row_begin(row, ROW_COMMAND);
	row_add(row, ROW_VI((int64_t)j->commands));
	row_add(row, ROW_VT(client_id));
	row_add(row, ROW_VI((int64_t)bench_now_ns()));
	row_add(row, ROW_VT("operator"));
	row_add(row, ROW_VI(1000));
	row_add(row, ROW_VI(4711));
	row_add(row, ROW_VT("local"));
	row_add(row, ROW_VT("because it is measured"));
	row_add(row, ROW_VI(2));
	row_add(row, ROW_VI(1));
	row_add(row, ROW_VI(3));
	row_add(row, ROW_VT("tower1.floor3.om2.hv"));
	row_add(row, ROW_VT("set"));
	row_add(row, ROW_VR(1400));
	row_add(row, ROW_VR(1450));
	row_add(row, ROW_VT("V"));
	row_add(row, ROW_VI((int64_t)j->commands));
	row_add(row, ROW_VI(7));
	row_add(row, ROW_VT("QUEUED"));
	row_add(row, ROW_VNULL);
	row_add(row, ROW_VNULL);
}

static void outcome_row(const struct journal *j, struct row *row)
{
	row_begin(row, ROW_TRANSITION);
	row_add(row, ROW_VI((int64_t)j->commands));
	row_add(row, ROW_VI((int64_t)bench_now_ns()));
	row_add(row, ROW_VT("DONE"));
	row_add(row, ROW_VI(123456789));
	row_add(row, ROW_VT("1450 V"));
	row_add(row, ROW_VI((int64_t)j->commands));
	row_add(row, ROW_VI(7));
	row_add(row, ROW_VI(1));
	row_add(row, ROW_VI((int64_t)bench_now_ns()));
}

/* So many answers, all good. */
static int await(struct journal *j, unsigned answers)
{
	struct pollfd fd = {.fd = store_done_fd(j->store), .events = POLLIN};
	struct store_done done;

	while (answers > 0) {
		if (!store_take_done(j->store, &done)) {
			if (poll(&fd, 1, PATIENCE_MS) <= 0) {
				return -ETIMEDOUT;
			}
			continue;
		}
		if (done.result < 0) {
			return done.result;
		}
		answers--;
	}
	return 0;
}

static int submit_commands(struct journal *j, unsigned n)
{
	struct row row;
	int r = 0;

	for (unsigned i = 0; r == 0 && i < n; i++) {
		command_row(j, &row);
		r = store_submit(j->store, &row, j->commands, COMMAND_FLAG);
	}
	return r < 0 ? r : await(j, n);
}

static int time_commands(struct journal *j, unsigned n, struct samples *to)
{
	uint64_t begin = bench_now_ns();
	int r = submit_commands(j, n);

	samples_add(to, bench_now_ns() - begin);
	return r;
}

static int outcome(struct journal *j)
{
	struct row row;
	int r;

	outcome_row(j, &row);
	r = store_submit(j->store, &row, j->commands, COMMAND_FLAG);
	return r < 0 ? r : await(j, 1);
}

static int time_pair(struct journal *j)
{
	uint64_t begin = bench_now_ns();
	int r = submit_commands(j, 1);

	r = r ? r : outcome(j);
	samples_add(&j->pair, bench_now_ns() - begin);
	return r;
}

static int time_paced(struct journal *j)
{
	uint64_t begin, first_ns;
	int r;

	usleep((useconds_t)random() % REST_US);
	begin = bench_now_ns();
	r = submit_commands(j, 1);
	first_ns = bench_now_ns() - begin;
	usleep(TRIP_US);
	begin = bench_now_ns();
	r = r ? r : outcome(j);
	samples_add(&j->paced, first_ns + bench_now_ns() - begin);
	return r;
}

static int time_bare(struct journal *j)
{
	uint64_t begin = bench_now_ns();

	if (pwrite(j->bare_fd, j->bytes, BARE_BYTES, (off_t)(j->bare_at % BARE_FILE)) !=
		    (ssize_t)BARE_BYTES ||
	    fdatasync(j->bare_fd) < 0) {
		return -errno;
	}
	j->bare_at += BARE_BYTES;
	samples_add(&j->bare, bench_now_ns() - begin);
	return 0;
}

static int bind_row(sqlite3_stmt *q, const struct row *row)
{
	int rc = SQLITE_OK;

	for (unsigned n = 0; rc == SQLITE_OK && n < row->count; n++) {
		const struct row_value *v = &row->values[n];
		int place = (int)n + 1;

		rc = v->type == ROW_INT	   ? sqlite3_bind_int64(q, place, v->i)
		     : v->type == ROW_REAL ? sqlite3_bind_double(q, place, v->d)
		     : v->type == ROW_TEXT
			     ? sqlite3_bind_text(q, place, row->arena + v->text, -1, SQLITE_STATIC)
			     : sqlite3_bind_null(q, place);
	}
	return rc;
}

static int insert_least(struct journal *j)
{
	struct row row;
	int rc;

	command_row(j, &row);
	rc = bind_row(j->least_insert, &row);
	rc = rc == SQLITE_OK ? sqlite3_step(j->least_insert) : rc; /* commits by itself */
	sqlite3_reset(j->least_insert);
	return rc == SQLITE_DONE ? 0 : -EIO;
}

static int time_least(struct journal *j)
{
	uint64_t begin = bench_now_ns();
	int r = insert_least(j);

	samples_add(&j->least, bench_now_ns() - begin);
	return r;
}

static int round_of(struct journal *j)
{
	struct store_status status;
	int r = 0;

	for (unsigned i = 0; r == 0 && i < ONES; i++) {
		r = time_bare(j);
		r = r ? r : time_least(j);
		r = r ? r : time_commands(j, 1, &j->one);
		store_get_status(j->store, &status);
		samples_add(&j->commit, status.commit_last_ns);
		r = r ? r : time_pair(j);
	}
	for (unsigned i = 0; r == 0 && i < ONES;
	     i++) { /* by themselves: a rest is felt by what comes next */
		r = time_paced(j);
	}
	return r ? r : time_commands(j, HUNDRED, &j->hundred);
}

static int open_bare(struct journal *j, const char *directory)
{
	char path[4096];
	int r = 0;

	snprintf(path, sizeof(path), "%s/bare", directory);
	j->bare_fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	for (unsigned at = 0; j->bare_fd >= 0 && r == 0 && at < BARE_FILE; at += BARE_BYTES) {
		r = write(j->bare_fd, j->bytes, BARE_BYTES) == (ssize_t)BARE_BYTES ? 0 : -errno;
	}
	return j->bare_fd < 0 || fsync(j->bare_fd) < 0 ? -errno : r;
}

/* A place a value of the row, the first one the key. */
static int open_least(struct journal *j, const char *directory)
{
	char path[4096], columns[512] = "c1 INTEGER PRIMARY KEY", places[128] = "?1", sql[1024];
	struct row row;
	size_t at = strlen(columns), put = strlen(places);
	int rc;

	command_row(j, &row);
	for (unsigned n = 2; n <= row.count; n++) {
		at += (size_t)snprintf(columns + at, sizeof(columns) - at, ",c%u", n);
		put += (size_t)snprintf(places + put, sizeof(places) - put, ",?%u", n);
	}
	snprintf(path, sizeof(path), "%s/least.db", directory);
	snprintf(sql, sizeof(sql),
		 "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; CREATE TABLE least(%s)",
		 columns);
	rc = sqlite3_open(path, &j->least_db);
	rc = rc == SQLITE_OK ? sqlite3_exec(j->least_db, sql, NULL, NULL, NULL) : rc;
	snprintf(sql, sizeof(sql), "INSERT INTO least VALUES(%s)", places);
	rc = rc == SQLITE_OK ? sqlite3_prepare_v2(j->least_db, sql, -1, &j->least_insert, NULL)
			     : rc;
	return rc == SQLITE_OK ? 0 : -EIO;
}

static int open_journal(struct journal *j, const char *directory)
{
	char path[4096];
	struct store_config config = {.path = path};
	struct sc_error error = {0};
	int r;

	snprintf(path, sizeof(path), "%s/station.db", directory);
	r = store_open(&config, &j->store, &error);
	if (r < 0) {
		fprintf(stderr, "bench-journal: %s\n", error.message);
		return r;
	}
	return store_start(j->store);
}

static int make_room(struct journal *j, unsigned rounds)
{
	struct samples *all[] = {&j->one,  &j->hundred, &j->pair, &j->paced,
				 &j->bare, &j->commit,	&j->least};

	for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		int r = samples_create(all[i], (size_t)rounds * ONES);

		if (r < 0) {
			return r;
		}
	}
	return 0;
}

static double median_us(struct samples *s)
{
	return (double)samples_summary(s).p50 * 1e-3;
}

int main(int argc, char **argv)
{
	unsigned rounds = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 30;
	struct journal j = {.bare_fd = -1};
	int r;

	if (argc < 2 || argc > 3 || rounds < 1 || rounds > ROUNDS_MAX) {
		fprintf(stderr, "usage: bench-journal DIR [ROUNDS]    1 to %u, default 30\n",
			ROUNDS_MAX);
		return 2;
	}
	r = make_room(&j, rounds);
	r = r ? r : open_bare(&j, argv[1]);
	r = r ? r : open_least(&j, argv[1]);
	r = r ? r : open_journal(&j, argv[1]);
	r = r ? r : submit_commands(&j, WARM); /* the WAL has grown */
	for (unsigned i = 0; r == 0 && i < WARM; i++) {
		r = insert_least(&j);
	}
	for (unsigned i = 0; r == 0 && i < rounds; i++) {
		r = round_of(&j);
	}
	store_destroy(j.store);
	sqlite3_finalize(j.least_insert);
	sqlite3_close(j.least_db);
	if (r < 0) {
		fprintf(stderr, "bench-journal: %s: %s\n", argv[1], strerror(-r));
		return 1;
	}
	printf("{\"one\":%.1f,\"hundred\":%.1f,\"pair\":%.1f,\"paced\":%.1f,\"bare\":%.1f,"
	       "\"least\":%.1f,"
	       "\"commit\":%.1f,\"rounds\":%u}\n",
	       median_us(&j.one), median_us(&j.hundred), median_us(&j.pair), median_us(&j.paced),
	       median_us(&j.bare), median_us(&j.least), median_us(&j.commit), rounds);
	return 0;
}
