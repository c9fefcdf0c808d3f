// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The network's control server on loopback, with real clients of ZeroMQ: who gets in, what a key may, and what
 * becomes of a request whose client has gone. Strangers and crowds are test_network.py's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <event2/event.h>
#include <zmq.h>

#include "daemon/control/dispatch.h"
#include "daemon/control/network.h"
#include "daemon/core/now.h"
#include "slowctl/access/keyfile.h"

#define PATIENCE_NS 20000000000ull

struct pair {
	char public[ACCESS_KEY_TEXT], secret[ACCESS_KEY_TEXT];
};

static char directory[] = "/tmp/test_network.XXXXXX";
static char path[64], endpoint[64], server_key[ACCESS_KEY_TEXT];
static struct pair reader, operator, stranger;
static struct access_list list;
static struct event_base *base;
static struct dispatch *dispatch;
static struct network *network;
static void *context, *clients[8];
static unsigned clients_count;
static struct control_request *kept;
static char kept_who[200];
static unsigned logins;
static char login_text[120]; /* of the last */

static void op_ask(struct control_request *rq, json_t *args, void *unused)
{
	control_answer(rq, json_pack("{s:s}", "who", control_peer(rq)->origin));
}

static void op_keep(struct control_request *rq, json_t *args, void *unused)
{
	kept = rq;
	control_peer_words(control_peer(rq), kept_who, sizeof(kept_who));
}

static void op_much(struct control_request *rq, json_t *args, void *unused)
{
	static char text[1 << 20];

	memset(text, 'x', sizeof(text) - 1);
	control_answer(rq, json_pack("{s:s}", "much", text));
}

/* Says more than anybody keeps for it, at once. */
static void op_chatter(struct control_request *rq, json_t *args, void *unused)
{
	struct network_status v = {.unsent = 0};

	for (unsigned n = 0; n < 1000000 && v.unsent == 0; n++) {
		control_progress(rq, json_pack("{s:i}", "n", n));
		network_get_status(network, &v);
	}
	kept = rq;
}

static const struct control_op ops[] = {
	{"ask", ACCESS_READER, op_ask},	  {"chatter", ACCESS_READER, op_chatter},
	{"keep", ACCESS_READER, op_keep}, {"much", ACCESS_READER, op_much},
	{"set", ACCESS_OPERATOR, op_ask}, {0},
};
static const struct control_op *const tables[] = {ops, NULL};

static void on_login(void *unused, const struct access_key *key, const char *address, uint64_t more)
{
	logins++;
	snprintf(login_text, sizeof(login_text), "%s %s %s %u", key->name,
		 access_role_name(key->right.role), address, (unsigned)more);
}

static uint16_t free_port(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&address, length), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &length), 0);
	close(fd);
	return ntohs(address.sin_port);
}

static void allow(const char *name, enum access_role role, const struct pair *p)
{
	struct access_key *k = &list.key[list.count++];

	snprintf(k->name, sizeof(k->name), "%s", name);
	memcpy(k->key, p->public, sizeof(k->key));
	k->right = (struct access_right){.role = role};
}

static int begin(void **state)
{
	struct network_config c = {
		.endpoint = endpoint, .key_file = path, .rate = 1, .burst = 60, .login = on_login};
	struct sc_error error = {0};

	kept = NULL;
	logins = 0;
	list.count = 0;
	strcpy(directory + strlen(directory) - 6, "XXXXXX");
	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/key", directory);
	snprintf(endpoint, sizeof(endpoint), "tcp://127.0.0.1:%u", free_port());
	assert_int_equal(keyfile_make(path, "test", server_key, &error), 0);
	zmq_curve_keypair(reader.public, reader.secret);
	zmq_curve_keypair(operator.public, operator.secret);
	zmq_curve_keypair(stranger.public, stranger.secret);
	allow("look", ACCESS_READER, &reader);
	allow("do", ACCESS_OPERATOR, &operator);
	base = event_base_new();
	dispatch = dispatch_create(tables, NULL, NULL);
	context = zmq_ctx_new();
	assert_int_equal(network_open(base, &c, &list, dispatch, &network, &error), 0);
	return 0;
}

static int end(void **state)
{
	while (clients_count) {
		zmq_close(clients[--clients_count]);
	}
	network_close(network);
	dispatch_destroy(dispatch);
	event_base_free(base);
	zmq_ctx_term(context);
	unlink(path);
	return rmdir(directory);
}

static void *client(const struct pair *p)
{
	void *s = zmq_socket(context, ZMQ_DEALER);
	int zero = 0;

	zmq_setsockopt(s, ZMQ_LINGER, &zero, sizeof(zero));
	zmq_setsockopt(s, ZMQ_CURVE_SERVERKEY, server_key, ACCESS_KEY_TEXT);
	zmq_setsockopt(s, ZMQ_CURVE_PUBLICKEY, p->public, ACCESS_KEY_TEXT);
	zmq_setsockopt(s, ZMQ_CURVE_SECRETKEY, p->secret, ACCESS_KEY_TEXT);
	clients[clients_count++] = s;
	assert_int_equal(zmq_connect(s, endpoint), 0);
	return s;
}

static void serve(void)
{
	event_base_loop(base, EVLOOP_NONBLOCK);
	usleep(1000);
}

static void ask(void *s, const char *op)
{
	char text[128];
	int length = snprintf(text, sizeof(text), "{\"v\":2,\"id\":7,\"op\":\"%s\"}", op);

	assert_int_equal(zmq_send(s, text, (size_t)length, 0), length);
}

/* The next answer, the caller's. */
static json_t *answer(void *s)
{
	static char text[3 << 20];
	uint64_t until = now_mono_ns() + PATIENCE_NS;
	json_t *j;
	int n;

	while ((n = zmq_recv(s, text, sizeof(text), ZMQ_DONTWAIT)) < 0) {
		assert_true(now_mono_ns() < until);
		serve();
	}
	j = json_loadb(text, (size_t)n, 0, NULL);
	assert_non_null(j);
	return j;
}

static void expect(void *s, const char *op, const char *detail)
{
	json_t *j;
	const char *got;

	ask(s, op);
	j = answer(s);
	got = json_string_value(json_object_get(json_object_get(j, "error"), "detail"));
	assert_string_equal(got ? got : "", detail);
	assert_int_equal(json_is_true(json_object_get(j, "ok")), !*detail);
	json_decref(j);
}

static struct network_status status(void)
{
	struct network_status v;

	network_get_status(network, &v);
	return v;
}

#define WAIT(condition)                                                                            \
	for (uint64_t until = now_mono_ns() + PATIENCE_NS; !(condition); serve()) {                \
		assert_true(now_mono_ns() < until);                                                \
	}

static void test_roles(void **state)
{
	void *a = client(&reader), *b = client(&operator), *c = client(&stranger);

	expect(a, "ask", "");
	expect(a, "set", "role");
	expect(b, "set", "");
	zmq_send(c, "{}", 2, ZMQ_DONTWAIT); /* it may have been refused by now, for good */
	WAIT(status().refused_key == 1);
	assert_int_equal(dispatch_refused(dispatch), 1);
	assert_int_equal(status().clients, 2);
	assert_int_equal(strncmp(status().door.last.key, stranger.public, 8), 0);
	assert_string_equal(status().door.last.address, "127.0.0.1");
	/* Another role, and one key less: from now on, on the connections that are there. */
	list.key[0].right.role = ACCESS_OPERATOR;
	list.count = 1;
	network_allow(network, &list, 1, 60);
	expect(a, "set", "");
	WAIT(status().door.ended >= 2); /* the stranger's, and the removed one's */
}

/* Who has got in is told, by key and address; of one that comes again and again once a minute, also over a reload. */
static void test_login(void **state)
{
	void *a = client(&reader), *b;

	expect(a, "ask", "");
	assert_int_equal(logins, 1);
	assert_string_equal(login_text, "look reader 127.0.0.1 1");
	for (unsigned n = 0; n < 3; n++) {
		b = client(&reader);
		expect(b, "ask", "");
	}
	network_allow(network, &list, 1, 60);
	b = client(&reader);
	expect(b, "ask", "");
	network_tend(network);
	assert_int_equal(logins, 1);
	expect(client(&operator), "ask", "");
	assert_int_equal(logins, 2);
	assert_string_equal(login_text, "do operator 127.0.0.1 1");
	client(&stranger);
	WAIT(status().refused_key == 1);
	assert_int_equal(logins, 2);
}

static void test_gone(void **state)
{
	void *a = client(&reader);

	ask(a, "keep");
	WAIT(kept != NULL);
	assert_string_equal(kept_who, "look (curve:look)");
	assert_true(control_alive(kept));
	zmq_close(clients[--clients_count]);
	WAIT(!control_alive(kept)); /* though nothing is said to it */
	control_progress(kept, json_object());
	control_answer(kept, NULL);
	assert_int_equal(status().clients, 0);
	kept = NULL;
	a = client(&reader);
	ask(a, "keep");
	WAIT(kept != NULL);
	zmq_close(clients[--clients_count]); /* the dispatch's end frees it */
}

static void test_rate(void **state)
{
	void *a = client(&reader), *b = client(&operator);

	for (unsigned n = 0; n < 60; n++) {
		expect(a, "ask", "");
	}
	for (unsigned n = 0; n < 120; n++) { /* one a second is given back */
		ask(a, "ask");
	}
	for (unsigned n = 0; n < 120; n++) {
		json_t *j = answer(a);

		assert_int_equal(json_integer_value(json_object_get(j, "id")), 7);
		json_decref(j);
	}
	assert_in_range(status().refused_rate, 90, 120);
	expect(b, "ask", "");
}

/* Asks for much, reads nothing: cut off. */
static void test_unread(void **state)
{
	void *a = client(&reader);

	expect(a, "ask", "");
	for (unsigned n = 0; n < 59; n++) {
		ask(a, "much");
	}
	WAIT(status().unsent > 0 || status().requests == 60);
	if (status().unsent > 0) { /* else the kernel's buffers took all */
		WAIT(status().clients == 0);
	}
}

/* What does not fit into its queue any more is not left out in silence: its connection ends. */
static void test_hole(void **state)
{
	void *a = client(&reader);

	ask(a, "chatter");
	WAIT(kept != NULL);
	assert_true(status().unsent > 0);
	WAIT(status().clients == 0);
	assert_false(control_alive(kept));
	control_answer(kept, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_roles, begin, end),
		cmocka_unit_test_setup_teardown(test_login, begin, end),
		cmocka_unit_test_setup_teardown(test_gone, begin, end),
		cmocka_unit_test_setup_teardown(test_rate, begin, end),
		cmocka_unit_test_setup_teardown(test_unread, begin, end),
		cmocka_unit_test_setup_teardown(test_hole, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
