// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * gpsd's client: single reports, a server of our own that misbehaves, the real gpsd on a free port of the
 * loopback, fed with NMEA by UDP.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <gps.h>
#include <math.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/time/gps.h"

#define GPSD "/usr/sbin/gpsd"

static uint64_t mono_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static void pause_ms(unsigned ms)
{
	poll(NULL, 0, (int)ms);
}

/* A socket on a free port of the loopback. */
static int bind_free(int type, char port[8])
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(a);
	int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&a, size), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &size), 0);
	snprintf(port, 8, "%u", ntohs(a.sin_port));
	return fd;
}

struct seen {
	unsigned reports, with_time, fixes;
	struct clock_gps last;
};

static void on_tpv(void *context, const struct clock_gps *gps)
{
	struct seen *s = context;

	s->reports++;
	s->with_time += gps->has_time;
	s->fixes += gps->mode >= 2;
	s->last = *gps;
}

/* ------------------------------------------------------------------ single reports */

static bool take(struct gps *g, const char *text, struct clock_gps *ret_gps)
{
	char line[2048];

	snprintf(line, sizeof(line), "%s", text);
	return gps_take_line(g, line, ret_gps);
}

/* What nanoseconds in 64 bits cannot hold is no time, whoever says it. */
static void dates_out_of_reach(void **state)
{
	static const char *const dates[] = {"9999-12-31T23:59:59.999Z", "2262-04-12T00:00:00Z",
					    "1969-12-31T23:59:59Z", "0000-00-00T00:00:00Z",
					    "2026-11-20T12:00:05.1e308000Z"};
	struct gps *g = gps_create("127.0.0.1", "1");
	struct clock_gps r;
	char text[200];

	assert_non_null(g);
	for (unsigned n = 0; n < sizeof(dates) / sizeof(dates[0]); n++) {
		snprintf(text, sizeof(text), "{\"class\":\"TPV\",\"mode\":3,\"time\":\"%s\"}",
			 dates[n]);
		r = (struct clock_gps){.has_time = true, .utc_ns = 77};
		assert_true(take(g, text, &r));
		assert_int_equal(r.mode, 3);
		assert_false(r.has_time);
		assert_int_equal(r.utc_ns, 0);
	}
	gps_destroy(g);
}

/* libgps 3.22 reads a line with a second class, broken before it, for ever. gpsd's have one. */
static void a_second_class_holds_nobody_up(void **state)
{
	struct gps *g = gps_create("127.0.0.1", "1");
	struct clock_gps r;

	assert_non_null(g);
	alarm(10); /* ends the test, and says so */
	assert_false(take(g, "{\"class\":\"TPV\",\"mode\":[[[[3]]],\"cl{\"class\":\"SKY\",ass\":2}",
			  &r));
	assert_false(take(g, "{\"class\":\"TPV\",\"mode\":3}{\"class\":\"TPV\",\"mode\":3}", &r));
	alarm(0);
	assert_true(take(g, "{\"class\":\"TPV\",\"mode\":3}", &r));
	gps_destroy(g);
}

static void reports(void **state)
{
	struct gps *g = gps_create("127.0.0.1", "1");
	struct clock_gps r = {.mode = 99};

	assert_non_null(g);
	assert_true(take(g,
			 "{\"class\":\"TPV\",\"device\":\"/dev/x\",\"mode\":3,"
			 "\"time\":\"2026-11-20T12:00:01.000Z\",\"leapseconds\":18,\"ept\":0.005,"
			 "\"lat\":36.5,\"lon\":15.0}",
			 &r));
	assert_int_equal(r.mode, 3);
	assert_true(r.has_time);
	assert_int_equal(r.utc_ns, 1795176001ll * 1000000000);
	assert_int_equal(r.leapseconds, 18);
	assert_true(fabs(r.ept_s - 0.005) < 1e-9);
	/* What a report does not say is not taken from the one before. */
	assert_true(take(g, "{\"class\":\"TPV\",\"device\":\"/dev/x\",\"mode\":1}", &r));
	assert_int_equal(r.mode, 1);
	assert_false(r.has_time);
	assert_int_equal(r.leapseconds, 0);
	assert_true(isnan(r.ept_s));
	/* Fractions stay. */
	assert_true(take(g, "{\"class\":\"TPV\",\"mode\":2,\"time\":\"2026-11-20T12:00:01.250Z\"}",
			 &r));
	assert_int_equal(r.utc_ns % 1000000000, 250000000);
	/* Satellites come with SKY. */
	assert_false(take(g,
			  "{\"class\":\"SKY\",\"nSat\":2,\"uSat\":1,\"satellites\":["
			  "{\"PRN\":1,\"el\":10,\"az\":20,\"ss\":30,\"used\":true},{\"PRN\":2,"
			  "\"el\":10,\"az\":20,\"ss\":30,\"used\":false}]}",
			  &r));
	assert_true(take(g, "{\"class\":\"TPV\",\"mode\":2}", &r));
	assert_int_equal(r.satellites_used, 1);
	gps_destroy(g);
}

static void nonsense(void **state)
{
	static const char *const lines[] = {
		"",
		"{",
		"TPV",
		"{\"class\":\"TPV\"",
		"{\"class\":\"TPV\",\"mode\":\"three\"}",
		"{\"class\":\"TPVX\",\"mode\":3}",
		"{\"class\":\"VERSION\",\"release\":\"9.9\",\"proto_major\":99,\"proto_minor\":0}",
		"{\"class\":\"ERROR\",\"message\":\"no\"}",
		"{\"class\":\"SKY\",\"satellites\":[{\"PRN\":1,{}]}",
		"{\"class\":\"DEVICES\",\"devices\":[]}",
		"\xff\xfe\x01",
	};
	struct gps *g = gps_create("127.0.0.1", "1");
	struct clock_gps r;

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		take(g, lines[i], &r);
	}
	/* Odd values are passed on as what they can be at most. */
	assert_true(take(g, "{\"class\":\"TPV\",\"mode\":77}", &r));
	assert_int_equal(r.mode, 0);
	if (take(g, "{\"class\":\"TPV\",\"mode\":3,\"time\":\"1969-12-31T00:00:00Z\"}", &r)) {
		assert_false(r.has_time);
	}
	gps_destroy(g);
	gps_destroy(NULL);
}

/* ------------------------------------------------------------------ a server of our own */

static int accept_client(int listener, struct gps *g)
{
	char command[256] = "";
	int fd;

	assert_int_equal(gps_connect(g), 0);
	assert_true(gps_fd(g) >= 0);
	fd = accept(listener, NULL, NULL);
	assert_true(fd >= 0);
	assert_true(recv(fd, command, sizeof(command) - 1, 0) > 0);
	assert_non_null(strstr(command, "?WATCH={\"enable\":true,\"json\":true}"));
	return fd;
}

static void tell(int fd, const char *text)
{
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

/* As the event loop does: read when readable. */
static int read_now(struct gps *g, struct seen *s)
{
	struct pollfd p = {.fd = gps_fd(g), .events = POLLIN};

	return poll(&p, 1, 300) > 0 ? gps_read_reports(g, on_tpv, s) : -ETIMEDOUT;
}

static void pieces_and_heaps(void **state)
{
	struct seen seen = {0};
	char port[8];
	char *big = malloc(40000);
	int listener = bind_free(SOCK_STREAM, port), fd;
	struct gps *g = gps_create("localhost", port);

	assert_non_null(big);
	assert_int_equal(listen(listener, 1), 0);
	for (unsigned i = 0; i < 50 && gps_connect(g) < 0; i++) {
		pause_ms(20); /* the name is looked up in the background */
	}
	fd = accept_client(listener, g);
	/* Several reports in one piece are all taken at once: the descriptor is readable once. */
	tell(fd, "{\"class\":\"VERSION\",\"release\":\"3.22\"}\n{\"class\":\"TPV\",\"mode\":3}\r\n"
		 "{\"class\":\"TPV\",\"mode\":2}\n{\"class\":\"TPV\",\"mo");
	assert_int_equal(read_now(g, &seen), 0);
	assert_int_equal(seen.reports, 2);
	assert_int_equal(read_now(g, &seen), -ETIMEDOUT);
	tell(fd, "de\":1}\n");
	assert_int_equal(read_now(g, &seen), 0);
	assert_int_equal(seen.reports, 3);
	assert_int_equal(seen.last.mode, 1);
	/* A line longer than any report is passed over whole, also what looks like a report in it. */
	memset(big, 'x', 39999);
	big[39999] = '\0';
	tell(fd, big);
	tell(fd, "{\"class\":\"TPV\",\"mode\":3}\n{\"class\":\"TPV\",\"mode\":2}\n");
	while (read_now(g, &seen) == 0) {
	}
	assert_int_equal(seen.reports, 4);
	assert_int_equal(seen.last.mode, 2);
	/* gpsd ends; it comes back. */
	close(fd);
	assert_int_equal(read_now(g, &seen), -EPIPE);
	assert_int_equal(gps_fd(g), -1);
	assert_int_equal(gps_read_reports(g, on_tpv, &seen), -EPIPE);
	for (unsigned i = 0; i < 50 && gps_connect(g) < 0; i++) {
		pause_ms(20);
	}
	fd = accept_client(listener, g);
	tell(fd, "{\"class\":\"TPV\",\"mode\":3}\n");
	assert_int_equal(read_now(g, &seen), 0);
	assert_int_equal(seen.reports, 5);
	close(fd);
	close(listener);
	gps_destroy(g);
	free(big);
}

static void nobody_there(void **state)
{
	char port[8];
	int fd = bind_free(SOCK_STREAM, port); /* bound, not listening: refused */
	struct gps *g = gps_create("127.0.0.1", port);
	uint64_t begin = mono_ms();

	for (unsigned i = 0; i < 5; i++) {
		assert_int_equal(gps_connect(g), -ECONNREFUSED);
		assert_int_equal(gps_fd(g), -1);
	}
	assert_true(mono_ms() - begin < 1000);
	gps_destroy(g);
	close(fd);
	g = gps_create("no.such.host.invalid", "2947");
	begin = mono_ms();
	for (unsigned i = 0; i < 5; i++) {
		assert_true(gps_connect(g) < 0);
	}
	assert_true(mono_ms() - begin < 1000);
	gps_destroy(g); /* a look-up may still be under way */
	g = gps_create("127.0.0.1", "no-such-port");
	assert_true(gps_connect(g) < 0);
	gps_destroy(g);
}

/* A host that answers nothing, not even "refused": a listener whose backlog is full. */
static void dead_host(void **state)
{
	char port[8];
	int listener = bind_free(SOCK_STREAM, port), fillers[8];
	struct sockaddr_in a = {.sin_family = AF_INET,
				.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				.sin_port = htons((uint16_t)atoi(port))};
	struct gps *g = gps_create("127.0.0.1", port);
	int r = 0;

	assert_int_equal(listen(listener, 0), 0);
	for (unsigned i = 0; i < 8; i++) {
		fillers[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
		connect(fillers[i], (struct sockaddr *)&a, sizeof(a));
	}
	pause_ms(50);
	for (unsigned i = 0; i < 12; i++) {
		uint64_t begin = mono_ms();

		r = gps_connect(g);
		assert_true(r < 0);
		assert_true(mono_ms() - begin < 300); /* 20 ms on a machine that is not busy */
		assert_int_equal(gps_fd(g), -1);
	}
	gps_destroy(g);
	for (unsigned i = 0; i < 8; i++) {
		close(fillers[i]);
	}
	close(listener);
}

/* ------------------------------------------------------------------ the real gpsd */

struct receiver {
	int fd; /* UDP, to gpsd */
	struct sockaddr_in gpsd;
	time_t utc_s;
};

__attribute__((format(printf, 2, 3))) static void sentence(struct receiver *r, const char *format,
							   ...)
{
	char body[200], line[220];
	unsigned sum = 0;
	va_list args;
	int n;

	va_start(args, format);
	vsnprintf(body, sizeof(body), format, args);
	va_end(args);
	for (const char *p = body; *p; p++) {
		sum ^= (unsigned char)*p;
	}
	n = snprintf(line, sizeof(line), "$%s*%02X\r\n", body, sum);
	sendto(r->fd, line, (size_t)n, 0, (struct sockaddr *)&r->gpsd, sizeof(r->gpsd));
}

/* One second as a receiver reports it. */
static void report_second(struct receiver *r, bool fix)
{
	struct tm t;
	char hms[16];

	gmtime_r(&r->utc_s, &t);
	strftime(hms, sizeof(hms), "%H%M%S.00", &t);
	/* Without fix the position is empty: gpsd 3.22 takes a position for a fix, whatever the sentence
	 * calls itself. */
	if (!fix) {
		sentence(r, "GPRMC,%s,V,,,,,,,%02d%02d%02d,,,N", hms, t.tm_mday, t.tm_mon + 1,
			 t.tm_year % 100);
		sentence(r, "GPGGA,%s,,,,,0,02,,,M,,M,,", hms);
		sentence(r, "GPGSA,A,1,,,,,,,,,,,,,,,");
		sentence(r, "GPGSV,1,1,02,05,12,048,17,29,08,311,15");
		r->utc_s++;
		return;
	}
	sentence(r, "GPRMC,%s,A,3633.00,N,01603.00,E,0.0,0.0,%02d%02d%02d,,,A", hms, t.tm_mday,
		 t.tm_mon + 1, t.tm_year % 100);
	sentence(r, "GPGGA,%s,3633.00,N,01603.00,E,1,08,1.0,50.0,M,40.0,M,,", hms);
	sentence(r, "GPGSA,A,3,01,02,03,04,05,06,07,08,,,,,2.0,1.0,1.7");
	sentence(r, "GPGSV,1,1,04,01,40,083,46,02,17,308,41,03,07,344,39,04,22,228,45");
	r->utc_s++;
}

static pid_t gpsd_pid; /* the one that runs; 0: none */

static void start_gpsd(const char *port, const char *source)
{
	pid_t pid = fork();

	if (pid == 0) {
		int null = open("/dev/null", O_RDWR);

		dup2(null, STDIN_FILENO);
		dup2(null, STDOUT_FILENO);
		dup2(null, STDERR_FILENO);
		execl(GPSD, GPSD, "-N", "-n", "-S", port, source, (char *)NULL);
		_exit(127);
	}
	assert_true(pid > 0);
	gpsd_pid = pid;
}

/* Also when the test failed: gpsd changes its user, which ends its bond to us. */
static int end_gpsd(void **state)
{
	pid_t pid = gpsd_pid;

	if (!pid) {
		return 0;
	}
	gpsd_pid = 0;
	kill(pid, SIGTERM);
	for (unsigned i = 0; i < 50; i++) {
		if (waitpid(pid, NULL, WNOHANG) == pid) {
			return 0;
		}
		pause_ms(20);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return 0;
}

/* Feed seconds, ten times as fast as real ones, until `wanted` of seen is there. */
static void feed(struct receiver *r, struct gps *g, struct seen *s, bool fix, unsigned *wanted,
		 unsigned target)
{
	for (unsigned i = 0; i < 100 && *wanted < target; i++) {
		struct pollfd p = {.fd = gps_fd(g), .events = POLLIN};

		report_second(r, fix);
		for (uint64_t end = mono_ms() + 100; mono_ms() < end;) {
			if (poll(&p, 1, 20) > 0) {
				assert_int_equal(gps_read_reports(g, on_tpv, s), 0);
			}
		}
	}
	assert_true(*wanted >= target);
}

static void real_gpsd(void **state)
{
	struct receiver r = {.utc_s = time(NULL), .gpsd.sin_family = AF_INET};
	char tcp[8], udp[8], source[64];
	struct seen seen = {0};
	int a, b;
	struct gps *g;
	unsigned quiet;

	if (access(GPSD, X_OK)) {
		skip();
	}
	a = bind_free(SOCK_STREAM, tcp);
	b = bind_free(SOCK_DGRAM, udp);
	close(a);
	close(b);
	r.fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	r.gpsd.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	r.gpsd.sin_port = htons((uint16_t)atoi(udp));
	snprintf(source, sizeof(source), "udp://127.0.0.1:%s", udp);
	start_gpsd(tcp, source);
	g = gps_create("127.0.0.1", tcp);
	for (unsigned i = 0; i < 100 && gps_connect(g) < 0; i++) {
		pause_ms(50);
	}
	assert_true(gps_fd(g) >= 0);

	feed(&r, g, &seen, true, &seen.with_time, 5);
	assert_true(seen.fixes >= 5);
	assert_int_equal(seen.last.mode, 3);
	assert_int_equal(seen.last.utc_ns % 1000000000, 0);
	/* A report or two may still be on their way. */
	assert_in_range(seen.last.utc_ns / 1000000000, r.utc_s - 4, r.utc_s - 1);
	assert_int_equal(seen.last.leapseconds, 0); /* plain NMEA does not say */

	/* The fix is lost. */
	memset(&seen, 0, sizeof(seen));
	for (unsigned i = 0; i < 50 && seen.last.mode != 1; i++) {
		quiet = seen.reports + 1;
		feed(&r, g, &seen, false, &seen.reports, quiet);
	}
	assert_int_equal(seen.last.mode, 1);

	/* A silent receiver: gpsd says nothing at all. */
	pause_ms(300);
	while (read_now(g, &seen) == 0) {
	}
	quiet = seen.reports;
	pause_ms(1500);
	assert_int_equal(read_now(g, &seen), -ETIMEDOUT);
	assert_int_equal(seen.reports, quiet);
	assert_true(gps_fd(g) >= 0);

	/* gpsd is killed. */
	end_gpsd(NULL);
	assert_int_equal(read_now(g, &seen), -EPIPE);
	assert_true(gps_connect(g) < 0);
	gps_destroy(g);
	close(r.fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reports),
		cmocka_unit_test(dates_out_of_reach),
		cmocka_unit_test(a_second_class_holds_nobody_up),
		cmocka_unit_test(nonsense),
		cmocka_unit_test(pieces_and_heaps),
		cmocka_unit_test(nobody_there),
		cmocka_unit_test(dead_host),
		cmocka_unit_test_teardown(real_gpsd, end_gpsd),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
