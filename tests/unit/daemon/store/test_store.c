/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The store on a real file: opening and refusing, rows and their values, what a restart reads. Commands are in
 * test_store_journal.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/rig/store_rig.h"

static off_t size_of(const char *path)
{
	struct stat st;

	return stat(path, &st) < 0 ? -1 : st.st_size;
}

static void test_open(void **state)
{
	struct store_rig r;
	struct store *other = NULL;
	struct sc_error error = {0};
	struct store_config nowhere = {.path = "/nonexistent/station.db"};

	store_rig_create(&r);
	store_rig_open(&r);
	assert_int_equal(store_rig_number(&r, "PRAGMA user_version"), STORE_SCHEMA);
	assert_int_equal(store_rig_number(&r, "PRAGMA application_id"), ROWS_APPLICATION);
	/* A second writer is refused, and says what to do. */
	assert_int_equal(store_open(&r.config, &other, &error), -EBUSY);
	assert_true(error.hint[0]);
	assert_null(other);
	store_rig_close(&r);
	store_rig_open(&r);
	store_rig_close(&r);
	assert_int_equal(store_open(&nowhere, &other, &error), -ENOENT);
	assert_non_null(strstr(error.message, "/nonexistent/station.db"));
	store_destroy(NULL);
	store_rig_destroy(&r);
}

/* What is put before the thread runs is written when it does; without one it is freed. */
static void test_put_before_start(void **state)
{
	struct store_rig r;
	struct store_status status;

	store_rig_create(&r);
	for (int started = 0; started <= 1; started++) {
		assert_int_equal(store_open(&r.config, &r.s, NULL), 0);
		for (int n = 0; n < 3; n++) {
			assert_int_equal(store_put_event(r.s, "info", "x", "y", "z", "", RIG_UTC),
					 0);
		}
		if (started) {
			assert_int_equal(store_start(r.s), 0);
			store_rig_flush(&r);
			store_get_status(r.s, &status);
			assert_int_equal(status.refused, 0);
			assert_int_equal(store_rig_number(&r, "SELECT count(*) FROM event"), 3);
		}
		store_destroy(r.s);
		r.s = NULL;
	}
	store_rig_destroy(&r);
}

/* Type what the hint says to type. */
static void follow(const struct store_rig *r, const struct sc_error *error)
{
	const char *command = strstr(error->hint, "cd "), *end = strstr(error->hint, " (");
	char text[240];

	assert_non_null(command);
	assert_non_null(end);
	snprintf(text, sizeof(text), "%.*s", (int)(end - command), command);
	assert_int_equal(system(text), 0);
	assert_int_equal(size_of(r->path), -1);
}

/* Refused, left as it is, and begun anew when the file has been moved away with the command of the hint. */
static void test_refuses_files(void **state)
{
	static const struct {
		const char *sql, *text;
		int version;
		bool foreign;
	} others[] = {
		{"PRAGMA user_version=99", "schema is 99", 99, false},
		{"PRAGMA application_id=0x46434d00", "another version", STORE_SCHEMA, false},
		{"PRAGMA user_version=12; PRAGMA application_id=0", "schema is 12", 12, false},
		{"PRAGMA user_version=0; PRAGMA application_id=0", "schema is 0", 0, false},
		{"CREATE TABLE mine(x)", "another program", 0, true},
	};
	struct store_rig r;
	struct sc_error error = {0};
	char command[200];
	off_t size;
	FILE *f;

	store_rig_create(&r);
	for (size_t n = 0; n < sizeof(others) / sizeof(others[0]); n++) {
		if (!others[n].foreign) {
			store_rig_open(&r);
			store_rig_close(&r);
		}
		store_rig_run(r.path, others[n].sql);
		size = size_of(r.path);
		for (int again = 0; again < 2; again++) {
			assert_int_equal(store_open(&r.config, &r.s, &error), -EPROTONOSUPPORT);
			assert_non_null(strstr(error.message, r.path));
			assert_non_null(strstr(error.message, others[n].text));
			assert_int_equal(size, size_of(r.path));
			assert_int_equal(store_rig_number(&r, "PRAGMA user_version"),
					 others[n].version);
		}
		assert_int_equal(store_rig_number(&r, "SELECT count(*) FROM sqlite_schema") == 1,
				 others[n].foreign);
		snprintf(command, sizeof(command), "cd %s && mkdir station.db.old", r.dir);
		assert_non_null(strstr(error.hint, command));
		follow(&r, &error);
		snprintf(command, sizeof(command), "test -s %s/station.db.old%.0d/station.db",
			 r.dir, n ? (int)n + 1 : 0);
		assert_int_equal(system(command), 0);
	}
	snprintf(command, sizeof(command), "rm -r %s/station.db.old*", r.dir);
	assert_int_equal(system(command), 0);
	f = fopen(r.path, "w");
	assert_non_null(f);
	for (int i = 0; i < 5000; i++) {
		fputs("rubbish", f);
	}
	fclose(f);
	assert_int_equal(store_open(&r.config, &r.s, &error), -EUCLEAN);
	assert_null(r.s);
	store_rig_destroy(&r);
}

/* A page of a good file is overwritten: found at the next start. */
static void test_finds_damage(void **state)
{
	struct store_rig r;
	struct sc_error error = {0};
	struct row row;
	char noise[4096];
	int fd;

	store_rig_create(&r);
	store_rig_open(&r);
	for (uint64_t id = 1; id < 2000; id++) {
		store_rig_command(&row, id, NULL, (uint32_t)id);
		assert_int_equal(store_submit(r.s, &row, 0, 0), 0);
	}
	store_rig_close(&r);
	memset(noise, 0x5a, sizeof(noise));
	fd = open(r.path, O_WRONLY | O_CLOEXEC);
	for (off_t at = 30 * 4096; at < 45 * 4096; at += 4096) {
		assert_int_equal(pwrite(fd, noise, sizeof(noise), at), sizeof(noise));
	}
	close(fd);
	assert_int_equal(store_open(&r.config, &r.s, &error), -EUCLEAN);
	assert_true(error.hint[0]);
	store_rig_destroy(&r);
}

static void test_bad_rows(void **state)
{
	struct store_rig r;
	struct store_status status;
	struct row row;

	store_rig_create(&r);
	store_rig_open(&r);
	row_begin(&row, ROW_STATION);
	row_add(&row, ROW_VT("key"));
	assert_int_equal(store_submit(r.s, &row, 0, 0), -EINVAL); /* a value short */
	row_begin(&row, ROW_IDS);
	assert_int_equal(store_submit(r.s, &row, 0, 0), -EINVAL);
	row_begin(&row, ROW_STATION);
	for (int i = 0; i < 40; i++) {
		row_add(&row, ROW_VI(i));
	}
	assert_int_equal(store_submit(r.s, &row, 0, 0), -EINVAL);
	store_get_status(r.s, &status);
	assert_int_equal(status.refused, 3);
	assert_int_equal(status.queued, 0);
	store_rig_destroy(&r);
}

/* Texts longer than a row's arena are cut between characters. */
static void test_arena(void **state)
{
	struct store_rig r;
	struct row row;
	char text[2001];

	for (int i = 0; i < 2000; i += 2) {
		memcpy(text + i, "\xc3\xa9", 2);
	}
	text[2000] = 0;
	store_rig_create(&r);
	store_rig_open(&r);
	row_begin(&row, ROW_STATION);
	row_add(&row, ROW_VT("x"));
	row_add(&row, ROW_VT(text));
	assert_int_equal(store_submit(r.s, &row, 0, 0), 0);
	row_begin(&row, ROW_STATION);
	row_add(&row, ROW_VT(text));
	row_add(&row, ROW_VT("nothing left"));
	assert_int_equal(store_submit(r.s, &row, 0, 0), 0);
	store_rig_close(&r);
	assert_int_equal(store_rig_number(&r, "SELECT length(value) FROM station WHERE key = 'x'"),
			 (ROW_ARENA - 3) / 2);
	assert_int_equal(store_rig_number(&r, "SELECT count(*) FROM station"), 2);
	store_rig_destroy(&r);
}

/* A command's row that was cut would be another one: it is refused, also with all its values. */
static void test_cut_command(void **state)
{
	struct store_rig r;
	struct row row;

	store_rig_create(&r);
	store_rig_open(&r);
	store_rig_command(&row, 7, NULL, 7);
	row.cut = true;
	assert_int_equal(store_submit(r.s, &row, 0, STORE_URGENT), -EINVAL);
	row.cut = false;
	assert_int_equal(store_submit(r.s, &row, 0, STORE_URGENT), 0);
	store_rig_close(&r);
	store_rig_destroy(&r);
}

static void test_ledger_rows(void **state)
{
	static const char *const groups[GROUPS_MAX] = {"trigger", "acoustic"};
	struct ledger_link_row l = {.dma_epoch = 1,
				    .cells = 8000,
				    .second = 5,
				    .link = 2,
				    .tower = 1,
				    .floor = 3,
				    .verdicts = {7990, 0, 0, 0, 10}};
	struct ledger_stream_row m = {.dma_epoch = 1,
				      .link = 2,
				      .group = 1,
				      .second = 5,
				      .offered = 8000,
				      .outcome = {0, 7000, 580, 0, 0, 0, 20},
				      .in_flight = 400,
				      .stream = FCM_HYDROPHONE};
	struct ledger_loss loss = {.kind = 0,
				   .code = TDM_LOSS_CRC,
				   .link = 2,
				   .tower = 1,
				   .floor = 3,
				   .open = 1,
				   .dma_epoch = 1,
				   .first = 40000,
				   .frames = 4,
				   .tai_ns = INT64_MIN};
	struct store_rig r;

	store_rig_create(&r);
	store_rig_open(&r);
	assert_int_equal(store_put_link_row(r.s, 1, &l, INT64_MIN, RIG_UTC, 0, 0), 0);
	l.closed = 1;
	l.verdicts[0] = 7989;
	l.verdicts[TDM_LOSS_TIME] = 1;
	assert_int_equal(store_put_link_row(r.s, 1, &l, INT64_MIN, RIG_UTC + 1, 7, STORE_ANSWER),
			 0);
	assert_int_equal(store_rig_wait(&r).cookie, 7);
	l.closed = 0; /* late news of an open row do not undo the closed one */
	l.verdicts[0] = 1;
	store_put_link_row(r.s, 1, &l, INT64_MIN, RIG_UTC + 2, 0, 0);
	/* another session is another row */
	store_put_link_row(r.s, 2, &l, INT64_MIN, RIG_UTC + 2, 0, 0);
	store_put_stream_row(r.s, 1, &m, groups, RIG_UTC, 0, 0);
	store_put_loss(r.s, 1, &loss, groups, RIG_UTC, 0, 0);
	loss.frames = 9;
	loss.open = 0;
	loss.tai_ns = 77;
	store_put_loss(r.s, 1, &loss, groups, RIG_UTC + 5, 0, 0);
	loss.next = 40100; /* joined: it has holes */
	loss.frames = 12;
	store_put_loss(r.s, 1, &loss, groups, RIG_UTC + 5, 0, 0);
	loss.next = 40003;
	loss.frames = 3; /* an old report again */
	store_put_loss(r.s, 1, &loss, groups, RIG_UTC + 6, 0, 0);
	loss.kind = 1;
	loss.code = OUTCOME_DROP_SLOW;
	loss.group = 0;
	store_put_loss(r.s, 1, &loss, groups, RIG_UTC + 6, 0, 0);
	store_rig_flush(&r);
	assert_int_equal(store_rig_number(&r, "SELECT count(*) FROM ledger_link"), 2);
	assert_int_equal(store_rig_number(&r, "SELECT good FROM ledger_link WHERE session=1"),
			 7989);
	assert_int_equal(store_rig_number(&r, "SELECT crc FROM ledger_link WHERE session=1"), 10);
	assert_int_equal(store_rig_number(&r, "SELECT time_fault FROM ledger_link WHERE session=1"),
			 1);
	assert_int_equal(store_rig_number(&r, "SELECT no_member FROM ledger_stream WHERE "
					      "stream='hydrophone' AND grp='acoustic'"),
			 580);
	assert_int_equal(store_rig_number(&r, "SELECT no_time FROM ledger_stream"), 20);
	assert_int_equal(store_rig_number(&r,
					  "SELECT frames FROM loss WHERE kind=0 AND NOT open AND "
					  "tai_ns=77 AND code='crc' AND stream=''"),
			 12);
	assert_int_equal(store_rig_number(&r, "SELECT until FROM loss WHERE kind=0"), 40100);
	assert_int_equal(store_rig_number(&r, "SELECT until IS NULL FROM loss WHERE kind=1"), 1);
	assert_int_equal(store_rig_number(&r, "SELECT time FROM loss WHERE kind=0"), RIG_UTC + 5);
	assert_int_equal(store_rig_number(&r,
					  "SELECT frames FROM loss WHERE kind=1 AND code='slow' "
					  "AND grp='trigger' AND stream='pmt'"),
			 3);
	store_rig_destroy(&r);
}

static void test_other_rows(void **state)
{
	struct phase_row row = {.mean_ps = 3000.5,
				.sigma_ps = 20,
				.min_ps = -60,
				.max_ps = 61,
				.samples = 10,
				.rtt_frames = 7,
				.rtt_bytes = 1234,
				.rtt_bits = 3};
	struct phase_judgement j = {.verdict = PHASE_SLIP, .slip = -2, .difference_ps = -2500};
	struct phase_judgement drift = {.verdict = PHASE_DRIFT, .difference_ps = -2900};
	struct phase_reference ref = {.set = true,
				      .phase_ps = 3000.5,
				      .rtt_frames = 7,
				      .rtt_bytes = 1234,
				      .rtt_bits = 3,
				      .time_ns = RIG_UTC};
	struct phase_reference got;
	struct label label = {.time_epoch = 4,
			      .source = LABEL_GPSD,
			      .state = CLOCK_LOCKED,
			      .uncertainty_ns = UINT32_MAX};
	struct store_past *past;
	struct store_rig r;

	store_rig_create(&r);
	store_rig_open(&r);
	store_put_phase_row(r.s, 1, &row, RIG_UTC);
	store_put_phase_event(r.s, 1, &j, NULL, NULL, RIG_UTC);
	store_put_phase_event(r.s, 1, &drift, NULL, NULL, RIG_UTC + 5);
	store_put_phase_reference(r.s, 1, &ref, "expert", "new fibre");
	store_put_clock_event(r.s, &label, "gpsd is back", RIG_UTC);
	store_put_event(r.s, "red", "trip", "floor3.om2", "tripped", "clear it", RIG_UTC);
	store_put_station(r.s, "board", "nanet3-0");
	store_put_station(r.s, "board", "nanet3-1");
	store_put_station(r.s, "relabelled", "1 2 3 4");
	store_put_station(r.s, "boots", "1.3 29, ");
	store_put_run_begin(r.s, 5, "physics", "shift", RIG_UTC);
	assert_int_equal(store_rig_wait(&r).result, 0);
	store_put_run_slice(r.s, 5, 4200, false, 0);
	store_rig_close(&r);

	assert_int_equal(store_open(&r.config, &r.s, NULL), 0);
	past = store_take_past(r.s);
	assert_non_null(past);
	assert_null(store_take_past(r.s));
	got = past->reference[1];
	assert_true(got.set && got.phase_ps == 3000.5 && got.rtt_bytes == 1234);
	assert_false(past->reference[0].set);
	assert_true(past->phase[1].set && past->phase[1].row.mean_ps == 3000.5);
	assert_int_equal(past->phase[1].of_lock.verdict, PHASE_SLIP);
	assert_int_equal(past->phase[1].of_lock.slip, -2);
	assert_true(past->phase[1].of_lock.difference_ps == -2500);
	assert_false(past->phase[0].set);
	assert_true(past->run.open && past->run.last_number == 5);
	assert_string_equal(past->run.note, "physics");
	assert_string_equal(past->relabelled, "1 2 3 4");
	assert_string_equal(past->boots, "1.3 29, ");
	store_past_free(past);
	assert_int_equal(store_rig_number(&r, "SELECT value = 'nanet3-1' FROM station"
					      " WHERE key = 'board'"),
			 1);
	assert_int_equal(store_start(r.s), 0);
	store_put_run_end(r.s, 5, RIG_UTC + 9, 4300, 0);
	store_put_run_begin(r.s, 5, "again", "shift", RIG_UTC);
	assert_int_equal(store_rig_wait(&r).result, -EEXIST);
	assert_int_equal(store_rig_number(&r, "SELECT begun_slice FROM run WHERE number = 5"),
			 4200);
	assert_int_equal(store_rig_number(&r, "SELECT ended_slice FROM run WHERE number = 5"),
			 4300);
	store_put_run_begin(r.s, 6, "no time", "shift", RIG_UTC);
	assert_int_equal(store_rig_wait(&r).result, 0);
	store_put_run_end(r.s, 6, RIG_UTC + 9, 0, 0);
	store_put_run_slice(r.s, 6, 4301, false, 0);
	store_put_run_slice(r.s, 6, 4302, false, 0); /* a successor says it again */
	store_put_run_begin(r.s, 6, "again", "shift", RIG_UTC);
	assert_int_equal(store_rig_wait(&r).result, -EEXIST);
	assert_int_equal(store_rig_number(&r, "SELECT begun_slice FROM run WHERE number = 6"),
			 4301);
	assert_int_equal(
		store_rig_number(&r, "SELECT ended_slice IS NULL FROM run WHERE number = 6"), 1);
	store_put_run_end(r.s, 6, RIG_UTC + 10, 4309, 0); /* the successor knows the slice */
	store_put_run_begin(r.s, 6, "again", "shift", RIG_UTC);
	assert_int_equal(store_rig_wait(&r).result, -EEXIST);
	assert_int_equal(store_rig_number(&r, "SELECT ended_slice FROM run WHERE number = 6"),
			 4309);
	assert_int_equal(store_rig_number(&r, "SELECT ended FROM run WHERE number = 6"),
			 RIG_UTC + 9);
	assert_int_equal(store_rig_number(&r, "SELECT uncertainty_ns IS NULL FROM clock_event "
					      "WHERE state='locked' AND source='gpsd'"),
			 1);
	assert_int_equal(store_rig_number(&r, "SELECT slip FROM phase_event WHERE verdict='SLIP'"),
			 -2);
	store_rig_destroy(&r);
}

static struct store_run past_run(struct store_rig *r)
{
	struct store_past *past;
	struct store_run run;

	store_rig_close(r);
	assert_int_equal(store_open(&r->config, &r->s, NULL), 0);
	past = store_take_past(r->s);
	assert_non_null(past);
	run = past->run;
	store_past_free(past);
	assert_int_equal(store_start(r->s), 0);
	return run;
}

/* The planned slices of a run are stored before any data carry it; the real ones replace them. */
static void test_planned_run(void **state)
{
	struct store_rig r;
	struct store_run run;

	store_rig_create(&r);
	store_rig_open(&r);
	store_put_run_begin(r.s, 5, "physics", "shift", RIG_UTC);
	assert_int_equal(store_rig_wait(&r).result, 0);
	store_put_run_slice(r.s, 5, 4200, false, 0);
	store_put_run_slice(r.s, 5, 4201, true, 7);
	assert_true(store_rig_wait(&r).cookie == 7);
	store_put_run_slice(r.s, 5, 4300, false, 8);
	assert_true(store_rig_wait(&r).cookie == 8);
	assert_int_equal(store_rig_number(&r, "SELECT begun_slice FROM run"), 4201);
	run = past_run(&r);
	assert_true(run.open && !run.ending);
	store_put_run_end(r.s, 5, 0, 4400, 9);
	assert_true(store_rig_wait(&r).cookie == 9);
	run = past_run(&r);
	assert_true(run.open && run.ending);
	assert_int_equal(store_rig_number(&r, "SELECT ended_slice FROM run"), 4400);
	store_put_run_end(r.s, 5, RIG_UTC + 9, 4401, 10);
	assert_true(store_rig_wait(&r).cookie == 10);
	store_put_run_end(r.s, 5, RIG_UTC + 10, 4402, 11);
	assert_true(store_rig_wait(&r).cookie == 11);
	assert_int_equal(store_rig_number(&r, "SELECT ended_slice FROM run"), 4401);
	run = past_run(&r);
	assert_true(!run.open && !run.ending);
	store_put_run_begin(r.s, 6, "", "shift", RIG_UTC); /* its border never came */
	assert_int_equal(store_rig_wait(&r).result, 0);
	store_put_run_end(r.s, 6, 0, 4500, 0);
	store_put_run_end(r.s, 6, RIG_UTC + 9, 0, 12);
	assert_true(store_rig_wait(&r).cookie == 12);
	assert_int_equal(store_rig_number(&r, "SELECT ended_slice FROM run WHERE number = 6"),
			 4500);
	store_rig_destroy(&r);
}

/* "CODE OBJECT;" of each event left open, and whether it crashed. */
static bool read_events(struct store *s, char *all, size_t size)
{
	struct store_past *past = store_take_past(s);
	size_t used = 0;
	bool crashed;

	assert_non_null(past);
	*all = '\0';
	for (unsigned n = 0; n < past->event_count; n++) {
		used += (size_t)snprintf(all + used, size - used, "%s %s;", past->events[n].code,
					 past->events[n].object);
	}
	crashed = past->crashed;
	store_past_free(past);
	return crashed;
}

/* What a daemon left open in the events, and whether it told its own end. */
static void test_read_events(void **state)
{
	static const struct {
		const char *severity, *code, *object;
	} told[] = {{"info", "daemon-start", "daemon"},
		    {"red", "link-dark", "link0"},
		    {"red", "link-dark", "link1"},
		    {"info", "link-dark", "link0"},
		    {"warning", "fcm-booted", "link2"},
		    {"warning", "stale", "tower1.floor1"},
		    {"info", "stale", "tower1.floor1"},
		    {"warning", "clock-holdover", "clock"},
		    {"red", "clock-holdover", "clock"},
		    {"info", "run", "run 5"},
		    {"warning", "consumer-disconnected", "group trigger"},
		    {"warning", "feed-reader-dropped", "feed tower1.floor2"},
		    {"warning", "feed-reader-refused", "feed tower1.floor2"},
		    {"warning", "data-refused", "reserved"},
		    {"warning", "consumer-name-taken", "group trigger"}};
	struct store_rig r;
	char all[200] = "";

	store_rig_create(&r);
	assert_int_equal(store_open(&r.config, &r.s, NULL), 0);
	assert_false(read_events(r.s, all, sizeof(all))); /* there was none */
	assert_string_equal(all, "");
	assert_int_equal(store_start(r.s), 0);
	for (size_t n = 0; n < sizeof(told) / sizeof(told[0]); n++) {
		store_put_event(r.s, told[n].severity, told[n].code, told[n].object, "", "",
				RIG_UTC + (int64_t)n);
	}
	store_rig_close(&r);
	assert_int_equal(store_open(&r.config, &r.s, NULL), 0);
	assert_true(read_events(r.s, all, sizeof(all)));
	assert_string_equal(all, "link-dark link1;clock-holdover clock;");
	assert_int_equal(store_start(r.s), 0);
	store_put_event(r.s, "info", "link-dark", "link1", "ended with the daemon", "", RIG_UTC);
	store_put_event(r.s, "info", "daemon-stop", "daemon", "", "", RIG_UTC);
	store_rig_close(&r);
	assert_int_equal(store_open(&r.config, &r.s, NULL), 0);
	assert_false(read_events(r.s, all, sizeof(all)));
	assert_string_equal(all, "clock-holdover clock;");
	assert_int_equal(store_start(r.s), 0);
	store_rig_destroy(&r);
}

static void put_snapshot(struct store *st, int64_t id, const char *name, int values, int counted)
{
	struct row row;

	row_begin(&row, ROW_SNAPSHOT_VALUES);
	row_add(&row, ROW_VI(id));
	for (unsigned n = 0; n < ROW_SNAPSHOT_PAIRS; n++) {
		char parameter[16];

		snprintf(parameter, sizeof(parameter), "p%u", n);
		row_add(&row, ROW_VT((int)n < values ? parameter : NULL));
		row_add(&row, ROW_VR(n));
	}
	assert_int_equal(store_submit(st, &row, 0, STORE_URGENT | STORE_NOW_OR_NEVER), 0);
	row_begin(&row, ROW_SNAPSHOT);
	row_add(&row, ROW_VI(id));
	row_add(&row, ROW_VT(name));
	row_add(&row, ROW_VI(id));
	row_add(&row, ROW_VT("who"));
	row_add(&row, ROW_VT(""));
	row_add(&row, ROW_VT(""));
	row_add(&row, ROW_VI(counted));
	row_add(&row, ROW_VI(0));
	assert_int_equal(store_submit(st, &row, 0, STORE_URGENT | STORE_NOW_OR_NEVER), 0);
}

/* A snapshot is there with all its values or not at all; what was cut short is cleared away by the next one. */
static void test_snapshot(void **state)
{
	struct store_rig r;
	struct row row;

	store_rig_create(&r);
	store_rig_open(&r);
	put_snapshot(r.s, 100, "whole", 3, 3);
	put_snapshot(r.s, 200, "torn", 3, 4);
	put_snapshot(r.s, 300, "whole", 2, 2); /* the name is in use */
	put_snapshot(r.s, 400, "next", 11, 11);
	row_begin(&row, ROW_SNAPSHOT_REMOVE);
	row_add(&row, ROW_VI(100));
	assert_int_equal(store_submit(r.s, &row, 0, 0), 0);
	store_rig_close(&r);
	assert_int_equal(store_rig_number(&r, "SELECT count(*) FROM snapshot"), 1);
	assert_int_equal(store_rig_number(&r, "SELECT parameters FROM snapshot WHERE id = 400"),
			 11);
	assert_int_equal(store_rig_number(&r, "SELECT count(*) FROM snapshot_value"), 11);
	store_rig_destroy(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_snapshot),
		cmocka_unit_test(test_open),
		cmocka_unit_test(test_put_before_start),
		cmocka_unit_test(test_refuses_files),
		cmocka_unit_test(test_finds_damage),
		cmocka_unit_test(test_bad_rows),
		cmocka_unit_test(test_arena),
		cmocka_unit_test(test_cut_command),
		cmocka_unit_test(test_ledger_rows),
		cmocka_unit_test(test_other_rows),
		cmocka_unit_test(test_planned_run),
		cmocka_unit_test(test_read_events),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
