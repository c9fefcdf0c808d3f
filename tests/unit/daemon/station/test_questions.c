// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Questions to the database: which are asked, which are refused at once, and that each request has one answer. The
 * dispatch is the real one. The thread, the database, the disk, the store and the clock are this file's: the thread
 * runs when the test says so.
 */
#include <errno.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/control/dispatch.h"
#include "daemon/core/log.h"
#include "daemon/disk/disk.h"
#include "daemon/station/base.h"
#include "daemon/station/questions.h"
#include "daemon/station/station.h"
#include "daemon/store/store.h"

#define QUESTIONS_MAX 512u /* open at a time */
#define NAME	      "tower1.floor3.om2.hv"

static struct station station;
static struct dispatch *dispatch;
static struct control_client client;
static uint64_t now_ns;
static struct store_status store;
static struct disk_status disk;
static struct question asks; /* what the operation asks; rq and args are the request's */

static json_t *said; /* the last answer */
static unsigned answers;

/* --- the clock, the store and its disk --- */

int clock_gettime(clockid_t id, struct timespec *t)
{
	*t = (struct timespec){(time_t)(now_ns / 1000000000u), (long)(now_ns % 1000000000u)};
	return 0;
}

void store_get_status(struct store *s, struct store_status *ret_status)
{
	*ret_status = store;
}

void disk_get_status(struct disk *d, struct disk_status *ret_status)
{
	*ret_status = disk;
}

struct sc_trouble journal_trouble(int result)
{
	return result == -ENOSPC ? (struct sc_trouble){"no room", "Make room."}
				 : (struct sc_trouble){"?", "?"};
}

/* --- the thread --- */

static struct {
	STAILQ_HEAD(, work) todo;
	unsigned waiting;
	struct work *done; /* run() has ended, the main thread has not heard of it */
	uint64_t busy_ns;
	int starts;	/* worker_start() */
	bool hangs;	/* at its end */
	unsigned stops; /* worker_stop() */
} thread;

int worker_start(struct event_base *base, const char *name, struct worker **ret_worker)
{
	assert_ptr_equal(base, station.base);
	assert_string_equal(name, "questions");
	*ret_worker = (struct worker *)&thread;
	return thread.starts;
}

void worker_give(struct worker *w, struct work *work)
{
	assert_ptr_equal(w, &thread);
	STAILQ_INSERT_TAIL(&thread.todo, work, next);
	thread.waiting++;
}

uint64_t worker_busy_ns(struct worker *w)
{
	assert_ptr_equal(w, &thread);
	return thread.busy_ns;
}

/* The thread does the next piece. */
static void thread_runs(void)
{
	struct work *work = STAILQ_FIRST(&thread.todo);

	assert_non_null(work);
	assert_null(thread.done);
	STAILQ_REMOVE_HEAD(&thread.todo, next);
	thread.waiting--;
	work->run(work);
	thread.done = work;
}

/* The main thread hears of it. */
static void main_hears(void)
{
	struct work *work = thread.done;

	assert_non_null(work);
	thread.done = NULL;
	work->done(work);
}

static void thread_works(void)
{
	while (!STAILQ_EMPTY(&thread.todo)) {
		thread_runs();
		main_hears();
	}
}

bool worker_stop(struct worker *w)
{
	assert_ptr_equal(w, &thread);
	thread.stops++;
	if (thread.done) {
		main_hears();
	}
	return !thread.hangs;
}

/* --- the database --- */

static struct {
	unsigned opens, closes, questions;
	unsigned limit_ms; /* of the next question; 0: none was set */
	int open_fails, fails;
	json_t *answer; /* the last one */
} database;

int query_open(const char *path, struct query **ret_query, struct sc_error *error)
{
	assert_string_equal(path, "/srv/station.db");
	if (database.open_fails) {
		error->code = "damaged";
		strcpy(error->message, "no database");
		strcpy(error->hint, "Repair it.");
		return database.open_fails;
	}
	database.opens++;
	*ret_query = (struct query *)&database;
	return 0;
}

void query_close(struct query *q)
{
	if (q) {
		assert_ptr_equal(q, &database);
		database.closes++;
	}
}

const char *query_error(struct query *q)
{
	assert_ptr_equal(q, &database);
	return "database is locked";
}

void query_limit(struct query *q, unsigned limit_ms)
{
	assert_ptr_equal(q, &database);
	database.limit_ms = limit_ms;
}

static int ask_database(struct query *q, const struct question *n, json_t **ret_json)
{
	assert_ptr_equal(q, &database);
	assert_in_range(database.limit_ms, 1, 1000); /* others wait */
	database.limit_ms = 0;
	database.questions++;
	if (database.fails) {
		return database.fails;
	}
	json_decref(database.answer);
	database.answer = json_pack("{s:O?}", "args", n->args);
	*ret_json = json_incref(database.answer);
	return 0;
}

/* --- clients --- */

void station_tell(struct control_request *rq, int r, json_t *result, const char *what)
{
	if (r == 0) {
		control_answer(rq, result);
	} else {
		control_fail(rq, "told", NULL, NULL, "%s: %d", what, r);
	}
}

static void say(struct control_client *cl, json_t *message)
{
	assert_ptr_equal(cl, &client);
	json_decref(said);
	said = message;
	answers++;
}

static void on_answered(struct control_client *cl)
{
}

static const struct control_transport transport = {say, on_answered};

static void op_ask(struct control_request *rq, json_t *args, void *context)
{
	struct question n = asks;

	n.rq = rq;
	n.args = args;
	questions_ask(context, &n);
}

static const struct control_op ops[] = {
	{"ask", ACCESS_READER, op_ask, .args = CONTROL_ARGS({"limit", ARG_INT}, {"n", ARG_INT})},
	{0}};
static const struct control_op *const tables[] = {ops, NULL};

static void client_asks(const char *args)
{
	json_t *message = json_pack("{s:i,s:i,s:s,s:o?}", "v", 2, "id", 7, "op", "ask", "args",
				    json_loads(args, 0, NULL));

	dispatch_take(&client, message);
	json_decref(message);
}

static json_t *result(void)
{
	assert_true(json_is_true(json_object_get(said, "ok")));
	return json_object_get(said, "result");
}

static const char *error_text(const char *key)
{
	assert_true(json_is_false(json_object_get(said, "ok")));
	return json_string_value(json_object_get(json_object_get(said, "error"), key));
}

/* --- set-up --- */

static int begin(void **state)
{
	memset(&station, 0, sizeof(station));
	memset(&thread, 0, sizeof(thread));
	memset(&database, 0, sizeof(database));
	STAILQ_INIT(&thread.todo);
	store = (struct store_status){.last_commit_ns = 1};
	disk = (struct disk_status){.known = true};
	asks = (struct question){.what = "the matter", .ask = ask_database};
	now_ns = 1000000000000;
	answers = 0;
	station.base = (struct event_base *)&station;
	strcpy(station.config.store.database, "/srv/station.db");
	dispatch = dispatch_create(tables, &station, NULL);
	control_client_init(&client, dispatch, &transport);
	assert_int_equal(questions_start(&station), 0);
	assert_non_null(station.questions);
	return 0;
}

static int end(void **state)
{
	thread_works();
	questions_stop(&station);
	questions_stop(&station); /* a second time is fine */
	control_client_fini(&client);
	dispatch_destroy(dispatch);
	json_decref(database.answer);
	json_decref(said);
	said = NULL;
	return 0;
}

/* --- asked and answered --- */

static void test_a_question_is_asked_and_answered(void **state)
{
	client_asks("{\"n\":5}");
	assert_int_equal(answers, 0);
	assert_int_equal(client.open, 1);
	assert_int_equal(client.held, 1); /* its next request waits */
	assert_int_equal(database.opens, 0);
	thread_runs();
	assert_int_equal(answers, 0); /* the main thread answers */
	main_hears();
	assert_int_equal(answers, 1);
	assert_int_equal(
		json_integer_value(json_object_get(json_object_get(result(), "args"), "n")), 5);
	assert_int_equal(client.open, 0);
	assert_int_equal(client.held, 0);
	client_asks("{\"limit\":10000}"); /* ROWS_MAX */
	client_asks("{}");
	assert_int_equal(client.held, 2);
	thread_works();
	assert_int_equal(answers, 3);
	assert_int_equal(database.questions, 3);
	assert_int_equal(database.opens, 1); /* it stays open */
	assert_int_equal(database.closes, 0);
}

static void test_what_the_database_says_is_told(void **state)
{
	database.fails = -ENOENT;
	client_asks("{}");
	thread_works();
	assert_string_equal(error_text("code"), "told");
	assert_string_equal(error_text("message"), "the matter: -2");
	database.fails = 0;
	client_asks("{}");
	thread_works();
	assert_non_null(result());
}

static void test_a_database_that_does_not_open(void **state)
{
	database.open_fails = -EUCLEAN;
	client_asks("{}");
	thread_works();
	assert_string_equal(error_text("code"), "internal");
	assert_string_equal(error_text("message"), "no database");
	assert_string_equal(error_text("hint"), "Repair it.");
	assert_int_equal(database.questions, 0);
	database.open_fails = 0; /* tried again */
	client_asks("{}");
	thread_works();
	assert_non_null(result());
}

/* --- an operation that answers in its own words --- */

static struct {
	unsigned count;
	int r;
	bool answered;
	char code[32], message[320];
} told;

static int context_of(const struct question *n)
{
	return *(int *)n->context;
}

static void tell(struct question *n, int r, json_t *answer, const struct sc_error *error)
{
	told.count++;
	told.r = r;
	told.answered = answer != NULL;
	snprintf(told.code, sizeof(told.code), "%s", error->code);
	snprintf(told.message, sizeof(told.message), "%s", error->message);
	assert_ptr_equal(n->station, &station);
	assert_string_equal(n->what, "the matter");
	assert_string_equal(json_string_value(json_array_get(n->names, 0)), NAME);
	assert_int_equal(n->command, 4711);
	assert_string_equal(n->op, "matter.show");
	assert_int_equal(context_of(n), 42);
	questions_tell(n, r, answer, error);
}

/* A question with all that it may bring. What is its own is freed with it. */
static json_t *give_all(void)
{
	json_t *names = json_pack("[s]", NAME);
	int *context = malloc(sizeof(*context));

	assert_non_null(context);
	*context = 42;
	told.count = 0;
	asks.tell = tell;
	asks.command = 4711;
	asks.op = "matter.show";
	asks.context = context;
	asks.names = json_incref(names);
	return names;
}

static void test_its_own_words_and_its_station(void **state)
{
	json_t *names = give_all();

	client_asks("{}");
	assert_int_equal(told.count, 0);
	thread_works();
	assert_int_equal(told.count, 1);
	assert_int_equal(told.r, 0);
	assert_true(told.answered);
	assert_string_equal(told.code, "");
	assert_string_equal(told.message, "");
	assert_int_equal(answers, 1);
	assert_int_equal(names->refcount, 1);
	json_decref(names);
	names = give_all();
	database.fails = -EBUSY;
	client_asks("{}");
	thread_works();
	assert_int_equal(told.r, -EBUSY);
	assert_false(told.answered);
	assert_string_equal(told.code, ""); /* it was asked */
	assert_string_equal(told.message, "database is locked");
	assert_int_equal(names->refcount, 1);
	json_decref(names);
}

/* --- refused at once --- */

enum trouble { TOO_MANY_ROWS, NOT_WRITTEN, NOT_OPEN, DISK_HANGS, THREAD_HANGS, TROUBLES };

static void make_trouble(enum trouble trouble)
{
	store = (struct store_status){.last_commit_ns = now_ns - 12000000000};
	disk = (struct disk_status){.known = true};
	thread.busy_ns = 0;
	switch (trouble) {
	case NOT_WRITTEN:
		store.failing = true;
		store.last_error = -ENOSPC;
		break;
	case NOT_OPEN:
		store.away = true;
		strcpy(store.last_error_text, "another program holds it");
		strcpy(store.last_error_hint, "End that program.");
		break;
	case DISK_HANGS:
		disk.asked_ns = now_ns - DISK_HANGS_NS;
		break;
	case THREAD_HANGS:
		thread.busy_ns = 2000000000;
		break;
	default:
		break;
	}
}

static void expect_refusal(enum trouble trouble)
{
	static const struct {
		const char *code, *message, *hint, *detail;
	} wanted[TROUBLES] = {
		[TOO_MANY_ROWS] = {"told", "the matter: -62", "", NULL},
		[NOT_WRITTEN] = {"refused",
				 "the database /srv/station.db is not written now: no room; what "
				 "happened in the last 12 s is not in it",
				 "Make room.", "not-written"},
		[NOT_OPEN] = {"refused",
			      "the database /srv/station.db is not written now: another program "
			      "holds it; what happened in the last 12 s is not in it",
			      "End that program.", "not-written"},
		[DISK_HANGS] = {"internal", "the disk of /srv/station.db does not answer",
				"Look at the disk: fcmctl status.", NULL},
		[THREAD_HANGS] = {"internal", "the disk of /srv/station.db does not answer",
				  "Look at the disk: fcmctl status.", NULL},
	};
	const char *detail = error_text("detail");

	assert_string_equal(error_text("code"), wanted[trouble].code);
	assert_string_equal(error_text("message"), wanted[trouble].message);
	assert_string_equal(error_text("hint"), wanted[trouble].hint);
	assert_string_equal(detail ? detail : "",
			    wanted[trouble].detail ? wanted[trouble].detail : "");
}

/* Whoever answers for the operation goes on with the station, as if it had been asked. */
static void test_a_refused_question_knows_its_station(void **state)
{
	for (enum trouble trouble = 0; trouble < TROUBLES; trouble++) {
		json_t *names = give_all();

		make_trouble(trouble);
		answers = 0;
		client_asks(trouble == TOO_MANY_ROWS ? "{\"limit\":10001}" : "{}");
		assert_int_equal(told.count, 1);
		assert_true(told.r < 0);
		assert_false(told.answered);
		assert_int_equal(answers, 1);
		expect_refusal(trouble);
		assert_int_equal(names->refcount, 1);
		json_decref(names);
		assert_int_equal(client.open, 0);
		assert_int_equal(client.held, 0);
		assert_int_equal(thread.waiting, 0);
	}
	asks = (struct question){.what = "the matter", .ask = ask_database};
	make_trouble(TROUBLES);
	client_asks("{}"); /* all goes on */
	thread_works();
	assert_non_null(result());
}

static void test_nothing_written_since_the_start(void **state)
{
	make_trouble(NOT_WRITTEN);
	store.last_commit_ns = 0;
	client_asks("{}");
	assert_non_null(strstr(error_text("message"), "what happened since the daemon's start is"));
}

/* A disk that takes its time, and a question that does, keep nothing from being asked. */
static void test_what_is_slow_does_not_hang(void **state)
{
	disk.asked_ns = now_ns - DISK_HANGS_NS + 1;
	thread.busy_ns = 1999999999;
	client_asks("{}");
	thread_runs();
	questions_tick(&station);
	assert_int_equal(answers, 0);
	main_hears();
	assert_non_null(result());
}

static void test_so_many_may_be_open(void **state)
{
	for (unsigned n = 0; n < QUESTIONS_MAX; n++) {
		client_asks("{}");
	}
	assert_int_equal(answers, 0);
	client_asks("{}");
	assert_int_equal(answers, 1);
	assert_string_equal(error_text("code"), "internal");
	assert_string_equal(error_text("message"),
			    "the matter: 512 questions to the database wait");
	thread_runs();
	main_hears();
	assert_int_equal(answers, 2);
	client_asks("{}");
	assert_int_equal(answers, 2);
	thread_works();
	assert_int_equal(answers, QUESTIONS_MAX + 2);
	assert_non_null(result());
}

/* --- what hangs --- */

/* All are answered, once; what the thread finds in the end is nobody's. */
static void test_a_disk_that_hangs_is_not_waited_for(void **state)
{
	json_t *names = give_all();

	client_asks("{}");
	asks = (struct question){.what = "the matter", .ask = ask_database};
	client_asks("{}");
	thread_runs();
	make_trouble(DISK_HANGS);
	questions_tick(&station);
	assert_int_equal(answers, 2);
	expect_refusal(DISK_HANGS);
	assert_int_equal(client.open, 0);
	assert_int_equal(names->refcount, 2); /* the thread may be at it */
	questions_tick(&station);
	make_trouble(TROUBLES);
	main_hears();
	thread_works();
	assert_int_equal(answers, 2);
	assert_int_equal(told.count, 1);
	assert_int_equal(names->refcount, 1);
	json_decref(names);
	assert_int_equal(database.answer->refcount, 1);
	make_trouble(THREAD_HANGS);
	questions_tick(&station); /* nothing is open */
	assert_int_equal(answers, 2);
}

static void test_a_client_that_is_gone(void **state)
{
	client_asks("{}");
	control_client_fini(&client);
	control_client_init(&client, dispatch, &transport);
	thread_works();
	assert_int_equal(answers, 0);
	assert_int_equal(database.answer->refcount, 1);
}

/* --- other work of the thread --- */

static void test_another_file(void **state)
{
	questions_forget(&station); /* none is open: harmless */
	client_asks("{}");
	client_asks("{}");
	questions_forget(&station);
	client_asks("{}");
	thread_works();
	assert_int_equal(answers, 3);
	assert_int_equal(database.opens, 2);
	assert_int_equal(database.closes, 1);
	questions_forget(&station);
	thread_works();
	assert_int_equal(database.closes, 2);
	questions_forget(&station);
	thread_works();
	assert_int_equal(database.closes, 2);
}

static unsigned runs, ends;

static void on_run(struct work *work)
{
	runs++;
}

static void on_end(struct work *work)
{
	ends++;
}

static void test_other_work(void **state)
{
	struct work work = {.run = on_run, .done = on_end};

	runs = ends = 0;
	client_asks("{}");
	questions_work(&station, &work);
	thread_runs();
	main_hears();
	assert_int_equal(runs, 0); /* one after the other */
	thread_works();
	assert_int_equal(runs, 1);
	assert_int_equal(ends, 1);
}

/* --- life --- */

static void test_the_end_answers_all(void **state)
{
	client_asks("{}");
	thread_works();
	client_asks("{}");
	thread_runs(); /* done, but not heard of */
	questions_stop(&station);
	assert_null(station.questions);
	assert_int_equal(answers, 2);
	assert_string_equal(error_text("code"), "internal");
	assert_string_equal(error_text("message"), "the daemon was stopped");
	assert_string_equal(error_text("hint"), "Ask again when it is back.");
	assert_int_equal(thread.stops, 1);
	assert_int_equal(database.closes, 1);
	assert_int_equal(database.answer->refcount, 1);
}

/* The thread uses its database still. */
static void test_an_end_while_it_hangs(void **state)
{
	struct questions *kept = station.questions;

	client_asks("{}");
	thread_works();
	thread.hangs = true;
	questions_stop(&station);
	assert_null(station.questions);
	assert_int_equal(database.closes, 0);
	station.questions = kept; /* for end() */
	thread.hangs = false;
}

static void test_a_start_that_fails(void **state)
{
	questions_stop(&station);
	thread.starts = -EAGAIN;
	assert_int_equal(questions_start(&station), -EAGAIN);
	assert_null(station.questions);
}

/* Every way that a question can go, and the start and the end. */
static void go_every_way(void)
{
	for (enum trouble trouble = 0; trouble <= TROUBLES; trouble++) {
		json_t *names = give_all();

		make_trouble(trouble);
		client_asks(trouble == TOO_MANY_ROWS ? "{\"limit\":10001}" : "{\"n\":1}");
		thread_works();
		json_decref(names);
	}
	asks = (struct question){.what = "the matter", .ask = ask_database};
	client_asks("{}");
	make_trouble(DISK_HANGS);
	questions_tick(&station);
	make_trouble(TROUBLES);
	questions_forget(&station);
	thread_works();
	questions_stop(&station);
	thread.starts = -EAGAIN;
	assert_int_equal(questions_start(&station), -EAGAIN);
	thread.starts = 0;
	assert_int_equal(questions_start(&station), 0);
}

static void test_no_question_leaves_memory_behind(void **state)
{
	size_t memory = 0;

	for (unsigned i = 0; i < 40; i++) {
		go_every_way();
		memory = i == 20 ? mallinfo2().uordblks : memory;
	}
	assert_int_equal(mallinfo2().uordblks, memory);
}

int main(void)
{
#define TEST(t) cmocka_unit_test_setup_teardown(test_##t, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(a_question_is_asked_and_answered),
		TEST(what_the_database_says_is_told),
		TEST(a_database_that_does_not_open),
		TEST(its_own_words_and_its_station),
		TEST(a_refused_question_knows_its_station),
		TEST(nothing_written_since_the_start),
		TEST(what_is_slow_does_not_hang),
		TEST(so_many_may_be_open),
		TEST(a_disk_that_hangs_is_not_waited_for),
		TEST(a_client_that_is_gone),
		TEST(another_file),
		TEST(other_work),
		TEST(the_end_answers_all),
		TEST(an_end_while_it_hangs),
		TEST(a_start_that_fails),
		TEST(no_question_leaves_memory_behind),
	};
#undef TEST

	return cmocka_run_group_tests(tests, NULL, NULL);
}
