// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The dispatch: which requests reach an operation, whose role is enough, and what becomes of a request whose
 * client has gone. The transport is a list of answers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/control/dispatch.h"

static json_t *said;
static unsigned answered, ran, refused;
static struct control_request *kept;
static struct dispatch *dispatch;
static struct control_client client;

static void say(struct control_client *cl, json_t *message)
{
	assert_ptr_equal(cl, &client);
	json_decref(said);
	said = message;
}

static void on_answered(struct control_client *cl)
{
	assert_ptr_equal(cl, &client);
	answered++;
}

static const struct control_transport transport = {say, on_answered};

static void op_ask(struct control_request *rq, json_t *args, void *context)
{
	ran++;
	control_answer(rq, NULL);
}

static void op_keep(struct control_request *rq, json_t *args, void *context)
{
	ran++;
	kept = rq;
}

/* An operator may, but not with what is dangerous. */
static void op_set(struct control_request *rq, json_t *args, void *context)
{
	if (!json_is_true(json_object_get(args, "dangerous")) ||
	    control_may(rq, args, ACCESS_EXPERT, "that is dangerous")) {
		op_ask(rq, args, context);
	}
}

static bool on_refused(void *context, struct control_request *rq, const char *op, json_t *args,
		       const struct sc_error *error)
{
	assert_ptr_equal(context, &ran);
	assert_string_equal(control_peer(rq)->origin, "curve:daq");
	assert_string_equal(op, "set");
	assert_true(json_is_object(args));
	assert_non_null(strstr(error->message, "daq"));
	refused++;
	control_fail(rq, "refused", error->hint,
		     json_pack("{s:i,s:s}", "command", 17, "detail", error->code), "%s",
		     error->message);
	return true;
}

static void op_must(struct control_request *rq, json_t *args, void *context)
{
	ran++;
	assert_string_equal(arg_text(args, "name"), "a");
	assert_null(arg_text(args, "other"));
	assert_int_equal(arg_int(args, "n", -1), 3);
	assert_int_equal(arg_int(args, "other", -1), -1);
	assert_true(arg_number(args, "by", 0) == 2.5);
	assert_true(arg_number(args, "n", 0) == 3);
	assert_false(arg_true(args, "wait") || arg_false(args, "wait")); /* null: not given */
	control_answer(rq, NULL);
}

static const struct control_arg all_args[] = {
	{"name", ARG_TEXT},   {"n", ARG_INT},	    {"by", ARG_NUMBER},	 {"wait", ARG_BOOL},
	{"value", ARG_VALUE}, {"names", ARG_TEXTS}, {"links", ARG_INTS}, {0},
};
static const struct control_arg must_args[] = {
	{"name", ARG_TEXT, true, 0, 5, .about = "a name"},
	{"n", ARG_INT, false, 1, 4},
	{"by", ARG_NUMBER, false, 0.5, -1, .unit = "s"},
	{"wait", ARG_BOOL},
	{"data", ARG_HEX, false, 1, 2},
	{"names", ARG_TEXTS, false, 1, 2},
	{"links", ARG_INTS, false, 0, 3},
	{"command", ARG_TEXT, .words = "align|reset"},
	{"by_s", ARG_INT, .words = "1|60"},
	{0},
};

static const struct control_op ops[] = {
	{"ask", ACCESS_READER, op_ask},
	{"safe", ACCESS_READER, op_ask, .urgent = true},
	{"keep", ACCESS_READER, op_keep},
	{"info", ACCESS_READER, op_ask},
	{"set", ACCESS_OPERATOR, op_set, .args = CONTROL_ARGS({"dangerous", ARG_BOOL})},
	{"all", ACCESS_READER, op_ask, "each type", all_args},
	{"must", ACCESS_OPERATOR, op_must, .args = must_args},
	{0},
};
static const struct control_op *const tables[] = {ops, NULL};

static int begin(void **state)
{
	said = NULL;
	answered = ran = refused = 0;
	dispatch = dispatch_create(tables, &ran, on_refused);
	control_client_init(&client, dispatch, &transport);
	client.peer =
		(struct control_peer){.uid = -1, .pid = -1, .who = "daq", .origin = "curve:daq"};
	return 0;
}

static int end(void **state)
{
	control_client_fini(&client);
	dispatch_destroy(dispatch);
	json_decref(said);
	return 0;
}

static void take(const char *text)
{
	json_t *message = json_loads(text, 0, NULL);

	assert_non_null(message);
	dispatch_take(&client, message);
	json_decref(message);
}

static const char *error_text(const char *key)
{
	return json_string_value(json_object_get(json_object_get(said, "error"), key));
}

/* Whoever waits for news only waits for no answer; an end of that is counted, as are news that end. */
static void test_subscribed(void **state)
{
	struct control_request *first;

	client.peer.role = ACCESS_READER;
	take("{\"v\":2,\"id\":1,\"op\":\"keep\"}");
	assert_true(control_client_waits(&client));
	control_subscribe(kept);
	control_subscribe(kept);
	assert_false(control_client_waits(&client));
	first = kept;
	take("{\"v\":2,\"id\":2,\"op\":\"keep\"}");
	assert_true(control_client_waits(&client));
	assert_true(control_same_peer(first, kept));
	control_answer(first, NULL);
	assert_true(control_client_waits(&client));
	control_answer(kept, NULL);
	assert_false(control_client_waits(&client));
	assert_int_equal(client.open + client.subscribed, 0);
}

/* Nobody hears the answer: what only asks is not done, what does something is. */
static void test_unheard(void **state)
{
	client.peer.role = ACCESS_OPERATOR;
	client.gone = true;
	take("{\"v\":2,\"id\":1,\"op\":\"ask\"}");
	assert_int_equal(ran, 0);
	assert_int_equal(client.open, 0);
	take("{\"v\":2,\"id\":1,\"op\":\"set\",\"args\":{}}");
	assert_int_equal(ran, 1);
}

/* In a place that is kept for what is urgent. */
static void test_urgent_only(void **state)
{
	client.peer.role = ACCESS_READER;
	client.urgent_only = true;
	take("{\"v\":2,\"id\":1,\"op\":\"ask\"}");
	assert_string_equal(error_text("detail"), "crowded");
	assert_int_equal(ran, 0);
	take("{\"v\":2,\"id\":1,\"op\":\"safe\"}");
	assert_true(json_is_true(json_object_get(said, "ok")));
	assert_int_equal(ran, 1);
}

/* A user of this machine is told of groups, not of keys. */
static void test_user(void **state)
{
	dispatch_destroy(dispatch);
	dispatch = dispatch_create(tables, &ran, NULL);
	client.dispatch = dispatch;
	client.peer = (struct control_peer){
		.uid = 1000, .pid = 1, .who = "anna", .origin = "local", .role = ACCESS_READER};
	take("{\"v\":2,\"id\":1,\"op\":\"set\"}");
	assert_string_equal(error_text("detail"), "role");
	assert_string_equal(error_text("message"), "set: that is for operators; anna is a reader");
	assert_non_null(strstr(error_text("hint"), "[control]"));
}

static void test_roles(void **state)
{
	static const char set[] = "{\"v\":2,\"id\":\"a\",\"op\":\"set\",\"args\":{}}";
	static const char danger[] =
		"{\"v\":2,\"id\":\"b\",\"op\":\"set\",\"args\":{\"dangerous\":true}}";

	client.peer.role = ACCESS_READER;
	take("{\"v\":2,\"id\":\"q\",\"op\":\"ask\"}");
	assert_true(json_is_true(json_object_get(said, "ok")));
	take(set);
	assert_string_equal(error_text("code"), "refused");
	assert_string_equal(error_text("detail"), "role");
	assert_non_null(strstr(error_text("message"), "that is for operators"));
	assert_int_equal(
		json_integer_value(json_object_get(json_object_get(said, "error"), "command")), 17);
	assert_int_equal(ran, 1);
	client.peer.role = ACCESS_OPERATOR;
	take(set);
	assert_int_equal(ran, 2);
	take(danger);
	assert_string_equal(error_text("detail"), "role");
	assert_non_null(strstr(error_text("message"), "that is for experts"));
	assert_int_equal(ran, 2);
	client.peer.role = ACCESS_EXPERT;
	take(danger);
	assert_int_equal(ran, 3);
	assert_int_equal(refused, 2);
	assert_int_equal(dispatch_refused(dispatch), 2);
	assert_int_equal(answered, 5);
	assert_int_equal(client.open, 0);
}

static void test_envelope(void **state)
{
	static const char *const wrong[] = {
		"{}",
		"{\"v\":3,\"op\":\"ask\"}",
		"{\"v\":2}",
		"{\"v\":2,\"op\":7}",
		"{\"v\":2,\"op\":\"ask\",\"args\":[]}",
		"{\"v\":2,\"op\":\"none\"}",
	};

	for (size_t n = 0; n < sizeof(wrong) / sizeof(wrong[0]); n++) {
		take(wrong[n]);
		assert_string_equal(error_text("code"), "usage");
	}
	assert_int_equal(ran, 0);
	assert_int_equal(dispatch_refused(dispatch), 0);
	dispatch_refuse(&client, NULL, "refused", "later", DETAIL_RATE, "too many");
	assert_string_equal(error_text("detail"), "rate");
	assert_true(json_is_null(json_object_get(said, "id")));
}

/* It is kept until the end, and comes back with every step on the way: a name, and no goods. */
static void test_ids(void **state)
{
	static const char *const good[] = {"\"a\"", "7", "0.5", "null"};
	static const char *const bad[] = {"[\"a\"]", "{}", "true"};
	char text[400], much[200];

	for (size_t n = 0; n < sizeof(good) / sizeof(good[0]); n++) {
		snprintf(text, sizeof(text), "{\"v\":2,\"id\":%s,\"op\":\"ask\"}", good[n]);
		take(text);
		assert_true(json_is_true(json_object_get(said, "ok")));
	}
	for (size_t n = 0; n < sizeof(bad) / sizeof(bad[0]); n++) {
		snprintf(text, sizeof(text), "{\"v\":2,\"id\":%s,\"op\":\"ask\"}", bad[n]);
		take(text);
		assert_string_equal(error_text("code"), "usage");
		assert_true(json_is_null(json_object_get(said, "id")));
	}
	for (int bytes = 128; bytes <= 129; bytes++) {
		memset(much, 'x', sizeof(much));
		snprintf(text, sizeof(text), "{\"v\":2,\"id\":\"%.*s\",\"op\":\"ask\"}", bytes,
			 much);
		take(text);
		assert_int_equal(json_is_true(json_object_get(said, "ok")), bytes == 128);
	}
	assert_int_equal(ran, sizeof(good) / sizeof(good[0]) + 1);
	assert_int_equal(client.open, 0);
}

/* Names are cut to what is sensible in an answer, in the middle of a character perhaps. */
static void test_cut_names(void **state)
{
	char text[200];

	for (unsigned ascii = 56; ascii <= 61; ascii++) {
		snprintf(text, sizeof(text), "{\"v\":2,\"id\":%u,\"op\":\"%.*s\xe2\x82\xac\"}",
			 ascii, (int)ascii,
			 "------------------------------------------------------------------");
		take(text);
		assert_string_equal(error_text("code"), "usage");
		assert_non_null(strstr(error_text("message"), "no operation \"---"));
		assert_int_equal(json_integer_value(json_object_get(said, "id")), ascii);
	}
	dispatch_refuse(&client, NULL, "refused", "hint \xe2\x82", DETAIL_NONE, "why \xff");
	assert_string_equal(error_text("message"), "why ?");
	assert_string_equal(error_text("hint"), "hint ??");
}

static void take_args(const char *args)
{
	char text[256];

	snprintf(text, sizeof(text), "{\"v\":2,\"op\":\"all\",\"args\":{%s}}", args);
	take(text);
}

/* An argument that is overlooked would be as good as not given: all floors instead of one. */
static void test_arguments(void **state)
{
	static const char *const good[] = {
		"",
		"\"name\":\"a\",\"n\":-3",
		"\"by\":2",
		"\"by\":0.5",
		"\"wait\":false",
		"\"value\":\"on\"",
		"\"value\":7",
		"\"names\":[]",
		"\"names\":[\"a\",\"b\"]",
		"\"links\":[0,3]",
		"\"name\":null,\"links\":null",
	};
	static const struct {
		const char *args, *says;
	} bad[] = {
		{"\"name\":[\"a\"]", "\"name\" has to be a string"},
		{"\"n\":1.5", "\"n\" has to be an integer"},
		{"\"n\":\"1\"", "\"n\" has to be an integer"},
		{"\"by\":\"50\"", "\"by\" has to be a number"},
		{"\"wait\":1", "\"wait\" has to be true or false"},
		{"\"wait\":\"true\"", "\"wait\" has to be true or false"},
		{"\"value\":true", "\"value\" has to be a string or a number"},
		{"\"names\":\"a\"", "\"names\" has to be a list of strings"},
		{"\"names\":[\"a\",1]", "\"names\" has to be a list of strings"},
		{"\"links\":[\"0\"]", "\"links\" has to be a list of integers"},
		{"\"nam\":\"a\"", "it takes no argument \"nam\""},
		{"\"name \":\"a\"", "it takes no argument \"name \""},
		{"\"\":1", "it takes no argument \"\""},
		{"\"s n\":1", "it takes no argument \"s n\""},
	};

	for (size_t n = 0; n < sizeof(good) / sizeof(good[0]); n++) {
		take_args(good[n]);
		assert_true(json_is_true(json_object_get(said, "ok")));
	}
	assert_int_equal(ran, sizeof(good) / sizeof(good[0]));
	for (size_t n = 0; n < sizeof(bad) / sizeof(bad[0]); n++) {
		take_args(bad[n].args);
		assert_string_equal(error_text("code"), "usage");
		assert_non_null(strstr(error_text("message"), bad[n].says));
	}
	take("{\"v\":2,\"op\":\"ask\",\"args\":{\"name\":\"a\"}}");
	assert_string_equal(error_text("code"), "usage");
	assert_int_equal(ran, sizeof(good) / sizeof(good[0]));
}

/* Ranges, words and what is required; who lacks the role hears that before what is missing. */
static void test_ranges(void **state)
{
	static const char *const good[] = {
		"\"n\":3,\"by\":2.5,\"wait\":null",
		"\"n\":3,\"by\":2.5,\"data\":\"00\",\"names\":[\"x\"],\"links\":[0,3]",
		"\"n\":3,\"by\":2.5,\"data\":\"0aff\",\"command\":\"align\",\"by_s\":60",
	};
	static const struct {
		const char *args, *says;
	} bad[] = {
		{"\"n\":0", "must: \"n\" has to be an integer, 1 to 4"},
		{"\"n\":5", "\"n\" has to be an integer, 1 to 4"},
		{"\"by\":0.4", "\"by\" has to be a number, at least 0.5 s"},
		{"\"data\":\"0\"", "\"data\" has to be hexadecimal"},
		{"\"data\":\"0A\"", "\"data\" has to be hexadecimal"},
		{"\"data\":\"\"", "1 to 2 bytes"},
		{"\"data\":\"000000\"", "1 to 2 bytes"},
		{"\"names\":[]", "\"names\" has to be a list of strings, 1 to 2"},
		{"\"names\":[\"a\",\"b\",\"c\"]", "\"names\" has to be a list of strings, 1 to 2"},
		{"\"links\":[0,4]", "\"links\" has to be a list of integers, 0 to 3"},
		{"\"command\":\"rese\"", "\"command\" has to be one of align|reset"},
		{"\"command\":\"align|reset\"", "\"command\" has to be one of align|reset"},
		{"\"command\":\"\"", "\"command\" has to be one of align|reset"},
		{"\"by_s\":6", "\"by_s\" has to be one of 1|60"},
	};
	char text[256];

	client.peer.role = ACCESS_OPERATOR;
	for (size_t n = 0; n < sizeof(good) / sizeof(good[0]); n++) {
		snprintf(text, sizeof(text),
			 "{\"v\":2,\"op\":\"must\",\"args\":{\"name\":\"a\",%s}}", good[n]);
		take(text);
		assert_true(json_is_true(json_object_get(said, "ok")));
	}
	assert_int_equal(ran, sizeof(good) / sizeof(good[0]));
	for (size_t n = 0; n < sizeof(bad) / sizeof(bad[0]); n++) {
		snprintf(text, sizeof(text),
			 "{\"v\":2,\"op\":\"must\",\"args\":{\"name\":\"a\",%s}}", bad[n].args);
		take(text);
		assert_string_equal(error_text("code"), "usage");
		assert_non_null(strstr(error_text("message"), bad[n].says));
	}
	take("{\"v\":2,\"op\":\"must\",\"args\":{\"name\":\"abcdef\"}}");
	assert_string_equal(error_text("detail"), "too-long");
	assert_string_equal(error_text("message"),
			    "must: \"name\" has 6 bytes (UTF-8), at most 5; nothing was done");
	for (unsigned n = 0; n < 3; n++) {
		static const char *const missing[] = {"{}", "{\"name\":null}", "{\"name\":\"\"}"};

		snprintf(text, sizeof(text), "{\"v\":2,\"op\":\"must\",\"args\":%s}", missing[n]);
		take(text);
		assert_string_equal(error_text("code"), "usage");
		assert_string_equal(error_text("message"), "must: \"name\" is missing");
		assert_string_equal(error_text("hint"), "a name");
	}
	take("{\"v\":2,\"op\":\"must\"}");
	assert_string_equal(error_text("message"), "must: \"name\" is missing");
	assert_int_equal(ran, sizeof(good) / sizeof(good[0]));
}

/* The schema of each kind of argument, as ops.list gives it. */
static void test_schema(void **state)
{
	json_t *all = control_ops_json(tables), *operations, *op, *schema;
	size_t n;

	assert_int_equal(json_unpack(all, "{s:o}", "operations", &operations), 0);
	assert_int_equal(json_array_size(operations), sizeof(ops) / sizeof(ops[0]) - 1);
	json_array_foreach (operations, n, op) {
		assert_string_equal(json_string_value(json_object_get(op, "op")), ops[n].name);
	}
	op = json_array_get(operations, 6);
	assert_string_equal(json_string_value(json_object_get(op, "role")), "operator");
	schema = json_loads("{\"type\":\"object\",\"required\":[\"name\"],\"properties\":{"
			    "\"name\":{\"description\":\"a "
			    "name\",\"type\":\"string\",\"minLength\":1,\"maxLength\":5},"
			    "\"n\":{\"description\":\"\",\"type\":[\"integer\",\"null\"],"
			    "\"minimum\":1,\"maximum\":4},"
			    "\"by\":{\"description\":\"\",\"type\":[\"number\",\"null\"],\"unit\":"
			    "\"s\",\"minimum\":0.5},"
			    "\"wait\":{\"description\":\"\",\"type\":[\"boolean\",\"null\"]},"
			    "\"data\":{\"description\":\"\",\"type\":[\"string\",\"null\"],"
			    "\"pattern\":\"^([0-9a-f][0-9a-f]){1,2}$\"},"
			    "\"names\":{\"description\":\"\",\"type\":[\"array\",\"null\"],"
			    "\"minItems\":1,\"maxItems\":2,"
			    "\"items\":{\"type\":\"string\"}},"
			    "\"links\":{\"description\":\"\",\"type\":[\"array\",\"null\"],"
			    "\"items\":{\"type\":\"integer\",\"minimum\":0,\"maximum\":3}},"
			    "\"command\":{\"description\":\"\",\"type\":[\"string\",\"null\"],"
			    "\"enum\":[\"align\",\"reset\",null]},"
			    "\"by_s\":{\"description\":\"\",\"type\":[\"integer\",\"null\"],"
			    "\"enum\":[1,60,null]}},"
			    "\"additionalProperties\":false}",
			    0, NULL);
	assert_non_null(schema);
	assert_true(json_equal(json_object_get(op, "args"), schema));
	assert_int_equal(json_array_size(json_object_get(all, "details")), ERROR_DETAILS_COUNT);
	json_decref(schema);
	json_decref(all);
}

static void test_details(void **state)
{
	struct sc_error error = {.code = "interlock", .message = "no", .hint = "wait"};

	for (unsigned n = 0; n < ERROR_DETAILS_COUNT; n++) {
		const char *word = error_details[n].word;

		assert_int_equal(error_detail_of(word), n); /* each once */
		assert_true(*error_details[n].meaning);
	}
	assert_int_equal(error_detail_of("no-such-detail"), DETAIL_NONE);
	take("{\"v\":2,\"id\":1,\"op\":\"keep\"}");
	control_fail_error(kept, "refused", &error, json_pack("{s:i}", "command", 3));
	assert_string_equal(error_text("detail"), "interlock");
	assert_string_equal(error_text("message"), "no");
	assert_string_equal(error_text("hint"), "wait");
	error.code = "out-of-tune"; /* what programs do not know is not said to them */
	take("{\"v\":2,\"id\":1,\"op\":\"keep\"}");
	control_fail_error(kept, "refused", &error, NULL);
	assert_null(error_text("detail"));
}

static void test_gone(void **state)
{
	take("{\"v\":2,\"id\":1,\"op\":\"keep\"}");
	assert_int_equal(client.open, 1);
	assert_true(control_alive(kept));
	control_progress(kept, json_pack("{s:s}", "text", "half"));
	assert_true(json_is_object(json_object_get(said, "progress")));
	control_client_fini(&client);
	assert_false(control_alive(kept));
	control_progress(kept, json_object());
	control_answer(kept, NULL); /* into the void */
	assert_int_equal(answered, 0);
	take("{\"v\":2,\"id\":2,\"op\":\"keep\"}"); /* the dispatch's end frees it */
}

static void test_words(void **state)
{
	struct control_peer p = {.uid = 1000, .pid = 42, .who = "anna", .origin = "local"};
	char text[128];

	control_peer_words(&p, text, sizeof(text));
	assert_string_equal(text, "anna (uid 1000, pid 42, local)");
	control_peer_words(&client.peer, text, sizeof(text));
	assert_string_equal(text, "daq (curve:daq)");
}

/* {"x":[VALUE,VALUE,...]} of so many, and what they come to. */
static json_t *loaded(const char *value, unsigned count, json_error_t *error)
{
	size_t length = strlen(value), at = 6;
	char *text = malloc(at + count * (length + 1) + 2);
	json_t *message;

	assert_non_null(text);
	memcpy(text, "{\"x\":[", at);
	for (unsigned n = 0; n < count; n++) {
		memcpy(text + at, value, length);
		at += length;
		text[at++] = n + 1 < count ? ',' : ']';
	}
	text[at++] = '}';
	message = dispatch_load(text, at, error);
	free(text);
	return message;
}

/* What is in quotes is no value, however it looks. */
static void test_values(void **state)
{
	const unsigned most = CONTROL_VALUES_MAX - 1; /* the object and the list, less the comma */
	json_error_t error;
	json_t *message;

	message = loaded("7", most, &error);
	assert_int_equal(json_array_size(json_object_get(message, "x")), most);
	json_decref(message);
	assert_null(loaded("7", most + 1, &error));
	assert_string_equal(error.text, "more than 4096 values in a message");
	assert_null(loaded("[]", most / 2 + 1, &error));
	assert_null(loaded("{}", 100000, &error));
	message = loaded("\"a,[{\\\",[\"", 1000, &error);
	assert_int_equal(json_array_size(json_object_get(message, "x")), 1000);
	json_decref(message);
	assert_null(loaded("\"\\\\\",[]", 2000, &error)); /* a quoted backslash ends no quotes */
	assert_string_equal(error.text, "more than 4096 values in a message");
}

/* The golden request, one with members of a later version, one of the next version. */
static void test_golden(void **state)
{
	static const char *const names[] = {"request.json", "request-grown.json",
					    "request-next.json"};

	client.peer.role = ACCESS_READER;
	for (unsigned n = 0; n < 3; n++) {
		char path[128];
		json_t *message;

		snprintf(path, sizeof(path), "tests/data/golden/%s", names[n]);
		message = json_load_file(path, 0, NULL);
		assert_non_null(message);
		dispatch_take(&client, message);
		json_decref(message);
		assert_int_equal(ran, n < 2 ? n + 1 : 2);
	}
	assert_string_equal(error_text("code"), "usage");
	assert_string_equal(error_text("message"), "this daemon speaks version 2");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_roles, begin, end),
		cmocka_unit_test_setup_teardown(test_subscribed, begin, end),
		cmocka_unit_test_setup_teardown(test_unheard, begin, end),
		cmocka_unit_test_setup_teardown(test_urgent_only, begin, end),
		cmocka_unit_test_setup_teardown(test_user, begin, end),
		cmocka_unit_test_setup_teardown(test_envelope, begin, end),
		cmocka_unit_test_setup_teardown(test_ids, begin, end),
		cmocka_unit_test_setup_teardown(test_cut_names, begin, end),
		cmocka_unit_test_setup_teardown(test_arguments, begin, end),
		cmocka_unit_test_setup_teardown(test_ranges, begin, end),
		cmocka_unit_test_setup_teardown(test_schema, begin, end),
		cmocka_unit_test_setup_teardown(test_details, begin, end),
		cmocka_unit_test_setup_teardown(test_gone, begin, end),
		cmocka_unit_test_setup_teardown(test_words, begin, end),
		cmocka_unit_test_setup_teardown(test_golden, begin, end),
		cmocka_unit_test(test_values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
