/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whose socket lies at the path: daemons that start at once, end late, were killed, and people who remove
 * files. And whoever asked is served, though the line is long and he does not wait. Its other
 * conversations are test_control_attack.py's.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <event2/event.h>

#include "daemon/control/dispatch.h"
#include "daemon/control/places.h"

static char directory[] = "/tmp/test_control.XXXXXX";
static char path[64], lock[72];
static struct event_base *base;
static struct dispatch *dispatch;
static struct control_groups groups; /* no roles */

static void answer(struct control_request *rq, json_t *args, void *context)
{
	control_answer(rq, NULL);
}

static char who[64]; /* the last one who asked was */

static void note_who(struct control_request *rq, json_t *args, void *context)
{
	snprintf(who, sizeof(who), "%s", control_peer(rq)->who);
	answer(rq, args, context);
}

/* The name service in the place of the C library's; it hangs for as long as it is told to. */
static _Atomic bool hangs;

int getpwuid_r(uid_t uid, struct passwd *pw, char *room, size_t size, struct passwd **ret)
{
	while (hangs) {
		usleep(1000);
	}
	snprintf(room, size, "anna");
	*pw = (struct passwd){.pw_name = room, .pw_uid = uid};
	*ret = pw;
	return 0;
}

/* `rq` waits for its end, and so does what its client asks next. */
static struct control_request *held;

static void hold(struct control_request *rq, json_t *args, void *context)
{
	control_hold(rq);
	held = rq;
}

static unsigned served;

static void slow(struct control_request *rq, json_t *args, void *context)
{
	served++;
	usleep(5000);
	answer(rq, args, context);
}

static unsigned marks;

static void mark(struct control_request *rq, json_t *args, void *context)
{
	marks++;
	answer(rq, args, context);
}

static struct control_request *kept[PLACES_UID + PLACES_URGENT_UID];
static unsigned kept_count;

static void keep(struct control_request *rq, json_t *args, void *context)
{
	kept[kept_count++] = rq;
}

static void news(struct control_request *rq, json_t *args, void *context)
{
	keep(rq, args, context);
	control_subscribe(rq);
}

static const struct control_op ops[] = {{"info", ACCESS_READER, answer, .urgent = true},
					{"slow", ACCESS_READER, slow},
					{"keep", ACCESS_READER, keep},
					{"hold", ACCESS_READER, keep, .urgent = true},
					{"news", ACCESS_READER, news},
					{"who", ACCESS_READER, note_who},
					{"wait", ACCESS_READER, hold},
					{0}};
static const struct control_op more_ops[] = {{"mark", ACCESS_OPERATOR, mark}, {0}};
static const struct control_op *const tables[] = {ops, more_ops, NULL};

static int begin(void **state)
{
	strcpy(directory + strlen(directory) - 6, "XXXXXX");
	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/control.sock", directory);
	snprintf(lock, sizeof(lock), "%s.lock", path);
	base = event_base_new();
	dispatch = dispatch_create(tables, NULL, NULL);
	return base && dispatch ? 0 : -1;
}

static int end(void **state)
{
	dispatch_destroy(dispatch);
	event_base_free(base);
	unlink(path);
	unlink(lock);
	return rmdir(directory);
}

static int open_at(const char *where, struct control **ret_control)
{
	return control_open(base, where, &groups, dispatch, ret_control);
}

/* A connected client's descriptor, or negative errno. */
static int connect_to(const char *where)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	assert_true(fd >= 0);
	strcpy(address.sun_path, where);
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0) {
		int r = -errno;

		close(fd);
		return r;
	}
	return fd;
}

static bool can_connect(const char *where)
{
	int fd = connect_to(where);

	if (fd >= 0) {
		close(fd);
	}
	return fd >= 0;
}

/* Bound, and listening or not: a socket that is no daemon's. */
static int foreign_socket(bool listening)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	strcpy(address.sun_path, path);
	assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	assert_true(!listening || listen(fd, 1) == 0);
	return fd;
}

static void test_one_daemon(void **state)
{
	struct control *first = NULL, *second = NULL;
	struct stat st;

	assert_int_equal(open_at(path, &first), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0660);
	assert_int_equal(open_at(path, &second), -EADDRINUSE);
	assert_null(second);
	assert_true(can_connect(path)); /* the first one's is untouched */
	assert_int_equal(control_tend(first, 0), 0);
	control_close(first);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(open_at(path, &second), 0);
	control_close(second);
	control_close(NULL);
}

/* The other daemon has bound its socket and does not listen yet: it looks like a dead one's. */
static void test_two_starts(void **state)
{
	struct control *c = NULL;
	int fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0600), other;

	assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
	other = foreign_socket(false);
	assert_int_equal(connect_to(path), -ECONNREFUSED);
	assert_int_equal(open_at(path, &c), -EADDRINUSE);
	assert_int_equal(listen(other, 1), 0);
	assert_true(can_connect(path));
	close(other);
	close(fd);
}

static void test_stale(void **state)
{
	struct control *c = NULL;

	close(foreign_socket(true)); /* as kill -9 leaves it */
	assert_int_equal(open_at(path, &c), 0);
	assert_true(can_connect(path));
	control_close(c);
}

static void test_foreign(void **state)
{
	struct control *c = NULL;
	int fd = foreign_socket(true), waiting[8], count = 0;

	assert_int_equal(open_at(path, &c), -EADDRINUSE);
	/* It is too busy to answer: nobody waits for that. */
	while (count < 8 && (waiting[count] = connect_to(path)) >= 0) {
		count++;
	}
	assert_true(count < 8 && waiting[count] == -EAGAIN);
	assert_int_equal(open_at(path, &c), -EADDRINUSE);
	while (count > 0) {
		close(waiting[--count]);
	}
	close(fd);
	unlink(path);
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	assert_int_equal(open_at(path, &c), -EEXIST);
	assert_int_equal(access(path, F_OK), 0);
	close(fd);
	unlink(path);
	assert_int_equal(open_at("/nowhere/control.sock", &c), -ENOENT);
}

/* The directory was removed and made anew, with another daemon in it: a late end leaves its socket. */
static void test_late_end(void **state)
{
	struct control *old = NULL, *new = NULL;

	assert_int_equal(open_at(path, &old), 0);
	assert_int_equal(unlink(path) | unlink(lock) | rmdir(directory) | mkdir(directory, 0700),
			 0);
	assert_int_equal(open_at(path, &new), 0);
	assert_int_equal(control_tend(old, 0), -EADDRINUSE);
	assert_int_equal(control_tend(old, 0), -EADDRINUSE);
	control_close(old);
	assert_true(can_connect(path));
	assert_int_equal(control_tend(new, 0), 0);
	control_close(new);
}

static void test_removed(void **state)
{
	struct control *c = NULL;
	struct control_stats stats;
	int fd, before;

	assert_int_equal(open_at(path, &c), 0);
	before = connect_to(path);
	event_base_loop(base, EVLOOP_NONBLOCK);
	unlink(path);
	assert_int_equal(control_tend(c, 0), 1);
	assert_int_equal(control_tend(c, 0), 0);
	fd = connect_to(path);
	assert_true(fd >= 0);
	event_base_loop(base, EVLOOP_NONBLOCK);
	control_get_stats(c, &stats);
	assert_int_equal(stats.clients, 2);
	/* Who was connected still is. */
	assert_int_equal(write(before, "x\n", 2), 2);
	do { /* its name is looked up on a thread */
		event_base_loop(base, EVLOOP_ONCE);
		control_get_stats(c, &stats);
	} while (stats.bad_messages == 0);
	assert_int_equal(stats.bad_messages, 1);
	/* Its directory too: told, tried again, found. */
	assert_int_equal(unlink(path) | unlink(lock) | rmdir(directory), 0);
	assert_int_equal(control_tend(c, 0), -ENOENT);
	assert_int_equal(mkdir(directory, 0700), 0);
	assert_int_equal(control_tend(c, 0), 1);
	assert_true(can_connect(path));
	close(fd);
	close(before);
	control_close(c);
}

/* A crowd that asks for much: in each pass of the loop the other events have their turn after 20 ms of it,
 * and in the end everybody is served. */
static void test_crowd(void **state)
{
	static const char ask[] = "{\"v\":2,\"id\":1,\"op\":\"slow\"}\n"
				  "{\"v\":2,\"id\":2,\"op\":\"slow\"}\n";
	enum { CROWD = 30 }; /* as many as one user may have */
	struct control *c = NULL;
	struct control_stats stats;
	unsigned answered = 0;
	int fd[CROWD];

	served = 0;
	assert_int_equal(open_at(path, &c), 0);
	for (unsigned n = 0; n < CROWD; n++) {
		fd[n] = connect_to(path);
		assert_true(fd[n] >= 0);
	}
	do {
		event_base_loop(base, EVLOOP_NONBLOCK);
		control_get_stats(c, &stats);
	} while (stats.clients < CROWD);
	for (unsigned n = 0; n < CROWD; n++) {
		assert_int_equal(write(fd[n], ask, sizeof(ask) - 1), sizeof(ask) - 1);
	}
	while (served < 2 * CROWD) {
		unsigned before = served;

		event_base_loop(base, EVLOOP_ONCE);
		assert_in_range(served - before, 0, 5);
	}
	event_base_loop(base, EVLOOP_NONBLOCK);
	for (unsigned n = 0; n < CROWD; n++) {
		char text[512];
		ssize_t got = read(fd[n], text, sizeof(text));

		for (ssize_t i = 0; i < got; i++) {
			answered += text[i] == '\n';
		}
		close(fd[n]);
	}
	assert_int_equal(answered, 2 * CROWD);
	control_close(c);
}

static unsigned answers_at(int fd)
{
	char text[8192];
	unsigned lines = 0;
	ssize_t got;

	while ((got = read(fd, text, sizeof(text))) > 0) {
		for (ssize_t i = 0; i < got; i++) {
			lines += text[i] == '\n';
		}
	}
	return lines;
}

/* While a crowd keeps the line busy: who says all that he has to say and ends his half, or is gone at
 * once, is served every line as well; and who still listens gets every answer, and the end. */
static void test_ended(void **state)
{
	static const char slowly[] = "{\"v\":2,\"id\":1,\"op\":\"slow\"}\n";
	static const char ask[] = "{\"v\":2,\"id\":1,\"op\":\"mark\"}\n";
	enum { CROWD = 12, LINES = 40 }; /* more than a turn's */
	struct control *c = NULL;
	struct control_stats stats;
	int fd[CROWD], half, gone;

	served = 0;
	marks = 0;
	assert_int_equal(open_at(path, &c), 0);
	for (unsigned n = 0; n < CROWD; n++) {
		fd[n] = connect_to(path);
		assert_int_equal(write(fd[n], slowly, sizeof(slowly) - 1), sizeof(slowly) - 1);
	}
	half = connect_to(path);
	gone = connect_to(path);
	for (unsigned n = 0; n < LINES; n++) {
		assert_int_equal(write(half, ask, sizeof(ask) - 1), sizeof(ask) - 1);
		assert_int_equal(write(gone, ask, sizeof(ask) - 1), sizeof(ask) - 1);
	}
	assert_int_equal(write(half, "half a", 6), 6);
	assert_int_equal(shutdown(half, SHUT_WR), 0);
	close(gone);
	do {
		event_base_loop(base, EVLOOP_ONCE);
		control_get_stats(c, &stats);
	} while (served < CROWD || stats.clients > CROWD);
	assert_int_equal(marks, 2 * LINES);
	assert_int_equal(answers_at(half), LINES);
	assert_int_equal(read(half, &stats, 1), 0);
	assert_int_equal(stats.bad_messages, 1);
	close(half);
	for (unsigned n = 0; n < CROWD; n++) {
		close(fd[n]);
	}
	control_close(c);
}

/* Who a client is goes with its requests: it is served when that is known, but does not wait long for it. */
static void test_name_service(void **state)
{
	static const char ask[] = "{\"v\":2,\"id\":1,\"op\":\"who\"}\n";
	struct control *c = NULL;
	char number[32];
	int fd;

	snprintf(number, sizeof(number), "uid %u", geteuid());
	for (unsigned round = 0; round < 2; round++) {
		hangs = round == 0;
		who[0] = '\0';
		assert_int_equal(open_at(path, &c), 0);
		fd = connect_to(path);
		assert_int_equal(write(fd, ask, sizeof(ask) - 1), sizeof(ask) - 1);
		do {
			event_base_loop(base, EVLOOP_ONCE);
		} while (!who[0]);
		assert_string_equal(who, round == 0 ? number : "anna");
		hangs = false;
		close(fd);
		control_close(c);
	}
}

/* Answers come in order where a request holds its client; others are served meanwhile. */
static void test_hold(void **state)
{
	static const char lines[] =
		"{\"v\":2,\"id\":1,\"op\":\"wait\"}\n{\"v\":2,\"id\":2,\"op\":\"mark\"}\n";
	static const char ask[] = "{\"v\":2,\"id\":1,\"op\":\"mark\"}\n";
	struct control *c = NULL;
	char text[512] = "";
	int fd, other;

	marks = 0;
	held = NULL;
	assert_int_equal(open_at(path, &c), 0);
	fd = connect_to(path);
	other = connect_to(path);
	assert_int_equal(write(fd, lines, sizeof(lines) - 1), sizeof(lines) - 1);
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	while (!held) {
		event_base_loop(base, EVLOOP_ONCE);
	}
	assert_int_equal(write(other, ask, sizeof(ask) - 1), sizeof(ask) - 1);
	while (answers_at(other) == 0) {
		event_base_loop(base, EVLOOP_ONCE);
	}
	assert_int_equal(marks, 1);
	control_answer(held, NULL);
	while (marks < 2) {
		event_base_loop(base, EVLOOP_ONCE);
	}
	event_base_loop(base, EVLOOP_NONBLOCK);
	assert_true(read(fd, text, sizeof(text) - 1) > 0);
	assert_true(strstr(text, "\"id\":1") < strstr(text, "\"id\":2"));
	assert_non_null(strstr(text, "\"id\":1"));
	close(fd);
	close(other);
	control_close(c);
}

/* --- places --- */

static void loop(void)
{
	for (unsigned n = 0; n < 20; n++) {
		event_base_loop(base, EVLOOP_NONBLOCK);
		usleep(1000);
	}
}

static int ask_at(int fd, const char *op)
{
	char text[80];
	int length = snprintf(text, sizeof(text), "{\"v\":2,\"id\":1,\"op\":\"%s\"}\n", op);

	return write(fd, text, (size_t)length) == length ? 0 : -errno;
}

/* What has come, at most once a line of it; "closed" when that is all. */
static const char *said_at(int fd)
{
	static char text[8192];
	ssize_t got = read(fd, text, sizeof(text) - 1);

	text[got > 0 ? got : 0] = '\0';
	return got == 0 ? "closed" : text;
}

static void connect_many(int *fd, unsigned count, const char *op)
{
	for (unsigned n = 0; n < count; n++) {
		fd[n] = connect_to(path);
		assert_true(fd[n] >= 0);
		assert_int_equal(op ? ask_at(fd[n], op) : 0, 0);
	}
	loop();
}

/* Of one's own connections the one goes that was idle longest, and says why; the newcomer is served everything. */
static void test_idle_goes(void **state)
{
	struct control *c = NULL;
	struct control_stats stats;
	int fd[PLACES_UID], new;

	assert_int_equal(open_at(path, &c), 0);
	connect_many(fd, PLACES_UID, NULL);
	assert_int_equal(ask_at(fd[0], "info"), 0);
	loop();
	assert_non_null(strstr(said_at(fd[0]), "\"ok\":true"));
	new = connect_to(path);
	assert_int_equal(ask_at(new, "mark"), 0);
	loop();
	assert_non_null(strstr(said_at(new), "\"ok\":true"));
	assert_non_null(strstr(said_at(fd[1]), "crowded"));
	assert_string_equal(said_at(fd[1]), "closed");
	control_get_stats(c, &stats);
	assert_int_equal(stats.clients, PLACES_UID);
	assert_int_equal(stats.crowded, 1);
	/* The others are still served. */
	assert_int_equal(ask_at(fd[2], "info"), 0);
	loop();
	assert_non_null(strstr(said_at(fd[2]), "\"ok\":true"));
	for (unsigned n = 0; n < PLACES_UID; n++) {
		close(fd[n]);
	}
	close(new);
	control_close(c);
}

/* Whoever waits for news only gives his place, and misses no answer. */
static void test_news_go(void **state)
{
	struct control *c = NULL;
	int fd[PLACES_UID], new;

	kept_count = 0;
	assert_int_equal(open_at(path, &c), 0);
	connect_many(fd, PLACES_UID, "news");
	assert_int_equal(kept_count, PLACES_UID);
	connect_many(&new, 1, "mark");
	assert_non_null(strstr(said_at(new), "\"ok\":true"));
	for (unsigned n = 0; n < PLACES_UID; n++) {
		control_answer(kept[n], NULL);
		close(fd[n]);
	}
	close(new);
	control_close(c);
}

/* All of a user's are busy: what is urgent is served, the rest is refused, and none of the busy ones is lost. */
static void test_urgent_only(void **state)
{
	struct control *c = NULL;
	int fd[PLACES_UID], more[10];

	kept_count = 0;
	assert_int_equal(open_at(path, &c), 0);
	connect_many(fd, PLACES_UID, "keep");
	connect_many(more, 1, "mark");
	assert_non_null(strstr(said_at(more[0]), "\"detail\":\"crowded\""));
	assert_int_equal(ask_at(more[0], "info"), 0);
	loop();
	assert_non_null(strstr(said_at(more[0]), "\"ok\":true"));
	connect_many(more + 1, 9, "info");
	for (unsigned n = 1; n < 10; n++) {
		assert_non_null(strstr(said_at(more[n]), "\"ok\":true"));
	}
	for (unsigned n = 0; n < PLACES_UID; n++) {
		control_answer(kept[n], NULL);
	}
	loop();
	for (unsigned n = 0; n < PLACES_UID; n++) {
		assert_non_null(strstr(said_at(fd[n]), "\"ok\":true"));
		close(fd[n]);
	}
	for (unsigned n = 0; n < 10; n++) {
		close(more[n]);
	}
	control_close(c);
}

/* It is served so many requests, and closed. */
static void test_urgent_ends(void **state)
{
	struct control *c = NULL;
	int fd[PLACES_UID], urgent;

	kept_count = 0;
	assert_int_equal(open_at(path, &c), 0);
	connect_many(fd, PLACES_UID, "keep");
	urgent = connect_to(path);
	for (unsigned n = 0; n < 20; n++) {
		assert_int_equal(ask_at(urgent, "info"), 0);
	}
	loop();
	assert_int_equal(answers_at(urgent), PLACES_YOUNG);
	assert_int_not_equal(ask_at(urgent, "info"), 0);
	for (unsigned n = 0; n < PLACES_UID; n++) {
		control_answer(kept[n], NULL);
		close(fd[n]);
	}
	close(urgent);
	control_close(c);
}

/* All urgent ones of a user wait, too: the newest is let in, and who goes for it learns that his request goes on. */
static void test_urgent_full(void **state)
{
	static int fd[PLACES_UID + PLACES_URGENT_UID];
	struct control *c = NULL;
	const char *last;
	int new;

	kept_count = 0;
	assert_int_equal(open_at(path, &c), 0);
	connect_many(fd, PLACES_UID, "keep");
	connect_many(fd + PLACES_UID, PLACES_URGENT_UID, "hold");
	for (unsigned n = 0; n < 100 && kept_count < PLACES_UID + PLACES_URGENT_UID; n++) {
		loop();
	}
	assert_int_equal(kept_count, PLACES_UID + PLACES_URGENT_UID);
	connect_many(&new, 1, "info");
	assert_non_null(strstr(said_at(new), "\"ok\":true"));
	last = said_at(fd[PLACES_UID]);
	assert_non_null(strstr(last, "\"code\":\"unknown\""));
	assert_non_null(strstr(last, "\"detail\":\"crowded\""));
	assert_false(control_alive(kept[PLACES_UID]));
	for (unsigned n = 0; n < kept_count; n++) {
		control_answer(kept[n], NULL);
		close(fd[n]);
	}
	close(new);
	control_close(c);
}

/* Those who connect as fast as they are let in leave the loop its other work. */
static void test_flood(void **state)
{
	struct control *c = NULL;
	struct control_stats stats;
	int fd[200];

	assert_int_equal(open_at(path, &c), 0);
	for (unsigned n = 0; n < 200; n++) {
		fd[n] = connect_to(path);
		assert_true(fd[n] >= 0);
	}
	event_base_loop(base, EVLOOP_NONBLOCK);
	control_get_stats(c, &stats);
	assert_in_range(stats.clients + stats.crowded, 1, 64);
	do {
		event_base_loop(base, EVLOOP_ONCE);
		control_get_stats(c, &stats);
	} while (stats.clients + stats.crowded < 200);
	for (unsigned n = 0; n < 200; n++) {
		close(fd[n]);
	}
	control_close(c);
}

/* Of a user who is in no group. */
static void stranger_asks(void)
{
	int fd;

	if (geteuid() == 0 && (setgroups(0, NULL) < 0 || setgid(65534) < 0 || setuid(65534) < 0)) {
		_exit(100);
	}
	fd = connect_to(path);
	if (fd < 0 || fcntl(fd, F_SETFL, 0) < 0) {
		_exit(101);
	}
	_exit(strstr(said_at(fd), "\"detail\":\"role\"") && !strcmp(said_at(fd), "closed") ? 0
											   : 102);
}

static void test_stranger(void **state)
{
	struct control *c = NULL;
	struct control_stats stats;
	struct stat st;
	int status = 0;
	pid_t child;

	groups = (struct control_groups){
		.roles = true, .has = {[ACCESS_READER] = true}, .gid = {[ACCESS_READER] = 70003}};
	assert_int_equal(chmod(directory, 0711), 0);
	assert_int_equal(open_at(path, &c), 0);
	groups = (struct control_groups){.roles = false};
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0666);
	child = fork();
	if (child == 0) {
		stranger_asks();
	}
	while (waitpid(child, &status, WNOHANG) == 0) {
		loop();
	}
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	control_get_stats(c, &stats);
	assert_int_equal(stats.strangers, 1);
	assert_int_equal(stats.last_stranger, geteuid() == 0 ? 65534 : geteuid());
	assert_int_equal(stats.clients, 0);
	/* A reload without roles: the operators' group only, as before. */
	assert_int_equal(control_regroup(c, &groups), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0660);
	control_close(c);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Half a message is a bad one when its client goes, or says nothing more for long. */
static void test_half(void **state)
{
	static const char ask[] = "{\"v\":2,\"id\":1,\"op\":\"mark\"}\n";
	struct control *c = NULL;
	struct control_stats stats;
	int whole, half, slow;
	char text[512] = "";

	assert_int_equal(open_at(path, &c), 0);
	whole = connect_to(path);
	half = connect_to(path);
	slow = connect_to(path);
	assert_int_equal(write(whole, ask, sizeof(ask) - 1), sizeof(ask) - 1);
	assert_int_equal(write(half, ask, 9), 9);
	assert_int_equal(write(slow, ask, 9), 9);
	close(half);
	do {
		event_base_loop(base, EVLOOP_ONCE);
		control_get_stats(c, &stats);
	} while (stats.clients != 2 || answers_at(whole) == 0);
	assert_int_equal(stats.bad_messages, 1);
	assert_int_equal(control_tend(c, now_ns() + 20 * 1000000000ull), 0);
	control_get_stats(c, &stats);
	assert_int_equal(stats.bad_messages, 1);
	assert_int_equal(control_tend(c, now_ns() + 40 * 1000000000ull), 0);
	do {
		event_base_loop(base, EVLOOP_ONCE);
		control_get_stats(c, &stats);
	} while (stats.clients != 1);
	assert_int_equal(stats.bad_messages, 2);
	assert_true(read(slow, text, sizeof(text) - 1) > 0);
	assert_non_null(strstr(text, "half a message"));
	assert_int_equal(read(slow, text, 1), 0);
	close(slow);
	close(whole);
	control_close(c);
}

/* What was answered last is sent before the server goes. */
static void test_last_word(void **state)
{
	static const char ask[] = "{\"v\":2,\"id\":1,\"op\":\"mark\"}\n";
	struct control *c = NULL;
	int fd;

	marks = 0;
	assert_int_equal(open_at(path, &c), 0);
	fd = connect_to(path);
	assert_int_equal(write(fd, ask, sizeof(ask) - 1), sizeof(ask) - 1);
	while (marks == 0) {
		event_base_loop(base, EVLOOP_ONCE);
	}
	control_close(c);
	assert_int_equal(answers_at(fd), 1);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_one_daemon, begin, end),
		cmocka_unit_test_setup_teardown(test_two_starts, begin, end),
		cmocka_unit_test_setup_teardown(test_stale, begin, end),
		cmocka_unit_test_setup_teardown(test_foreign, begin, end),
		cmocka_unit_test_setup_teardown(test_late_end, begin, end),
		cmocka_unit_test_setup_teardown(test_removed, begin, end),
		cmocka_unit_test_setup_teardown(test_crowd, begin, end),
		cmocka_unit_test_setup_teardown(test_ended, begin, end),
		cmocka_unit_test_setup_teardown(test_name_service, begin, end),
		cmocka_unit_test_setup_teardown(test_hold, begin, end),
		cmocka_unit_test_setup_teardown(test_idle_goes, begin, end),
		cmocka_unit_test_setup_teardown(test_news_go, begin, end),
		cmocka_unit_test_setup_teardown(test_urgent_only, begin, end),
		cmocka_unit_test_setup_teardown(test_urgent_ends, begin, end),
		cmocka_unit_test_setup_teardown(test_urgent_full, begin, end),
		cmocka_unit_test_setup_teardown(test_flood, begin, end),
		cmocka_unit_test_setup_teardown(test_stranger, begin, end),
		cmocka_unit_test_setup_teardown(test_half, begin, end),
		cmocka_unit_test_setup_teardown(test_last_word, begin, end),
	};

	signal(SIGPIPE, SIG_IGN); /* as the daemon does */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
