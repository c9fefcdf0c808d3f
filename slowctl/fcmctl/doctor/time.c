/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Time: gpsd and its receiver, PPS, the daemon's clock, the machine's clock. */
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/timex.h>
#include <time.h>
#include <unistd.h>

#include "slowctl/fcmctl/doctor/bounded.h"
#include "slowctl/fcmctl/doctor/doctor.h"
#include "slowctl/fcmctl/doctor/parse.h"
#include "slowctl/fcmctl/show/value.h"

/* ------------------------------------------------------------------ gpsd */

#define GPSD_S 1.9 /* a receiver says something each second */

/* A connection, or negative errno. */
static int connect_by(const char *host, const char *port, double deadline)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
	struct addrinfo *found = NULL;
	int fd = -1, err = EHOSTUNREACH;

	if (getaddrinfo(host, port, &hints, &found) != 0) {
		return -EHOSTUNREACH;
	}
	for (const struct addrinfo *a = found; a != NULL && fd < 0; a = a->ai_next) {
		struct pollfd polled = {.events = POLLOUT};
		socklen_t size = sizeof(err);

		fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		err = fd < 0 || connect(fd, a->ai_addr, a->ai_addrlen) == 0 ? 0 : errno;
		polled.fd = fd;
		if (err == EINPROGRESS) {
			err = poll(&polled, 1, (int)(1e3 * fmax(0.0, deadline - ctl_monotonic()))) >
						      0 &&
					      getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &size) == 0
				      ? err
				      : ETIMEDOUT;
		}
		if (err != 0 && fd >= 0) {
			close(fd);
			fd = -1;
		}
	}
	freeaddrinfo(found);
	return fd >= 0 ? fd : -err;
}

/* All whole lines of `buf`; what is left of it. */
static size_t take_lines(char *buf, size_t used, struct gpsd_said *said, bool *ret_other)
{
	char *line = buf, *end;

	while ((end = memchr(line, '\n', used - (size_t)(line - buf))) != NULL) {
		*ret_other = !parse_gpsd(line, (size_t)(end - line), said) || *ret_other;
		line = end + 1;
	}
	used -= (size_t)(line - buf);
	memmove(buf, line, used);
	return used;
}

/* What gpsd says until `enough`, or in GPSD_S. 0, -EPROTO (that is not gpsd), or why there is no connection. */
static int ask_gpsd(const struct doctor *d, bool (*enough)(const struct gpsd_said *said),
		    struct gpsd_said *said)
{
	static const char watch[] = "?WATCH={\"enable\":true,\"json\":true};\n";
	double deadline = ctl_monotonic() + GPSD_S;
	int fd = connect_by(doctor_value(d, "clock.gpsd_host"), doctor_value(d, "clock.gpsd_port"),
			    deadline);
	char buf[16384];
	size_t used = 0;
	bool other = false;

	*said = (struct gpsd_said){.devices = -1, .mode = -1, .satellites = -1};
	if (fd < 0) {
		return fd;
	}
	if (send(fd, watch, sizeof(watch) - 1, MSG_NOSIGNAL) < 0) {
		close(fd);
		return -ECONNRESET;
	}
	while (!enough(said) && !other && used < sizeof(buf)) {
		struct pollfd polled = {.fd = fd, .events = POLLIN};
		double left = deadline - ctl_monotonic();
		ssize_t n;

		if (left <= 0.0 || poll(&polled, 1, (int)(left * 1e3) + 1) <= 0) {
			break;
		}
		n = read(fd, buf + used, sizeof(buf) - used);
		if (n <= 0) {
			break;
		}
		used = take_lines(buf, used + (size_t)n, said, &other);
	}
	close(fd);
	return other || used == sizeof(buf) ? -EPROTO : 0;
}

static bool has_release(const struct gpsd_said *said)
{
	return said->release[0] != '\0' && said->devices >= 0;
}

static bool has_mode(const struct gpsd_said *said)
{
	return said->devices == 0 || said->mode >= 0;
}

/* "127.0.0.1:2947" */
static const char *gpsd_place(const struct doctor *d, char *buf, size_t size)
{
	snprintf(buf, size, "%.200s:%.8s", doctor_value(d, "clock.gpsd_host"),
		 doctor_value(d, "clock.gpsd_port"));
	return buf;
}

/* gpsd as Debian has it, on this machine. */
static bool is_usual(const struct doctor *d)
{
	const char *host = doctor_value(d, "clock.gpsd_host");

	return strcmp(doctor_value(d, "clock.gpsd_port"), "2947") == 0 &&
	       (strcmp(host, "127.0.0.1") == 0 || strcmp(host, "localhost") == 0 ||
		strcmp(host, "::1") == 0);
}

static void check_gpsd(const struct doctor *d, json_t *lines)
{
	char place[256], look[320];
	struct gpsd_said said;
	int r;

	if (!doctor_needs_values(d, lines)) {
		return;
	}
	gpsd_place(d, place, sizeof(place));
	doctor_fix(look, sizeof(look), "gpspipe -w -n 5", place);
	r = ask_gpsd(d, has_release, &said);
	if (r == -EPROTO) {
		doctor_say(lines, DOCTOR_FAIL, look, "what listens at %s is not gpsd", place);
	} else if (r < 0) {
		doctor_say(lines, DOCTOR_FAIL,
			   is_usual(d) && r == -ECONNREFUSED ? "sudo systemctl start gpsd.socket"
							     : look,
			   "no gpsd at %s: %s", place, strerror(-r));
	} else if (said.release[0] == '\0') {
		doctor_say(lines, DOCTOR_FAIL, is_usual(d) ? "sudo systemctl restart gpsd" : look,
			   "%s takes connections and says nothing: gpsd did not answer in %.1f s",
			   place, GPSD_S);
	} else if (said.devices == 0) {
		doctor_say(lines, DOCTOR_FAIL, "sudoedit /etc/default/gpsd",
			   "gpsd %s at %s has no receiver: name it in DEVICES", said.release,
			   place);
	} else {
		doctor_say(lines, DOCTOR_PASS, NULL, "gpsd %s answers at %s", said.release, place);
	}
}

static void say_fix(const char *look, bool fix, int satellites, json_t *lines)
{
	char used[48] = "";

	if (satellites >= 0) {
		snprintf(used, sizeof(used), ", %d satellites", satellites);
	}
	doctor_say(lines, fix ? DOCTOR_PASS : DOCTOR_WARN, fix ? NULL : look, "%s%s",
		   fix ? "fix" : "no fix: it has to see the sky", used);
}

/* An emulated board of another pace keeps the time of day itself: the receiver's second is not the clock's. */
static bool is_other_pace(const struct doctor *d, json_t *lines)
{
	if (d->status == NULL ||
	    strcmp(value_string(d->status, "clock.source", ""), "emulator") != 0) {
		return false;
	}
	doctor_say(lines, DOCTOR_NONE, NULL, "emulator: its time is not real time");
	return true;
}

/* The daemon listens to it all the time: what it knows comes first. */
static void check_receiver(const struct doctor *d, json_t *lines)
{
	double age = value_number(d->status, "clock.gpsd.age_s");
	char place[256], look[320];
	struct gpsd_said said;
	int r;

	if (!doctor_needs_values(d, lines) || is_other_pace(d, lines)) {
		return;
	}
	gpsd_place(d, place, sizeof(place));
	doctor_fix(look, sizeof(look), "gpspipe -w -n 5", place);
	if (d->status != NULL && value_true(d->status, "clock.gpsd.connected") && age < 5.0) {
		say_fix(look, value_true(d->status, "clock.gpsd.fix"),
			(int)value_integer(d->status, "clock.gpsd.satellites", -1), lines);
		return;
	}
	r = ask_gpsd(d, has_mode, &said);
	if (r < 0 || said.release[0] == '\0') {
		doctor_say(lines, DOCTOR_WARN, NULL, "not checked: gpsd does not answer");
	} else if (said.mode < 0) {
		doctor_say(lines, DOCTOR_FAIL, look,
			   "the receiver is silent: gpsd had no word of it in %.1f s", GPSD_S);
	} else {
		say_fix(look, said.mode >= 2, said.satellites, lines);
	}
}

/* ------------------------------------------------------------------ PPS */

/* Its directory in /sys/class/pps. */
static bool find_pps(const struct doctor *d, const char *board, char *ret_name, size_t size)
{
	char path[PATH_MAX], name[64];
	DIR *all = opendir(doctor_path(d, path, "/sys/class/pps"));
	const struct dirent *entry;
	bool found = false;

	while (all != NULL && !found && (entry = readdir(all)) != NULL) {
		found = entry->d_name[0] != '.' &&
			doctor_line(doctor_path(d, path, "/sys/class/pps/%s/name", entry->d_name),
				    name, sizeof(name)) &&
			strcmp(name, board) == 0;
		snprintf(ret_name, size, "%.60s", entry->d_name);
	}
	if (all != NULL) {
		closedir(all);
	}
	return found;
}

/* Two looks at the number of the last pulse. */
static void check_pulses(const struct doctor *d, const char *pps, json_t *lines)
{
	const struct timespec pause = {.tv_sec = 1, .tv_nsec = 200000000};
	char path[PATH_MAX], first[64], second[64];

	doctor_path(d, path, "/sys/class/pps/%s/assert", pps);
	if (!doctor_line(path, first, sizeof(first))) {
		doctor_say(lines, DOCTOR_WARN, NULL, "not checked: %s cannot be read", path);
		return;
	}
	nanosleep(&pause, NULL);
	doctor_line(path, second, sizeof(second));
	if (strcmp(first, second) != 0) {
		doctor_say(lines, DOCTOR_PASS, NULL, "pulses at /dev/%s", pps);
	} else {
		doctor_say(lines, DOCTOR_FAIL, "fcmctl clock show",
			   "no pulse at /dev/%s for a second: the cable from receiver to board",
			   pps);
	}
}

static void check_pps(const struct doctor *d, json_t *lines)
{
	const char *device = doctor_value(d, "board.device"), *emulator;
	double age = value_number(d->status, "clock.pps.age_s");
	char name[64], path[PATH_MAX], clock[64];

	if (is_other_pace(d, lines)) {
		return;
	}
	if (d->status != NULL && age >= 0.0) { /* the board's own: it counts by them */
		doctor_say(lines, age < 2.5 ? DOCTOR_PASS : DOCTOR_FAIL,
			   age < 2.5 ? NULL : "fcmctl clock show", "the board saw one %.1f s ago%s",
			   age, age < 2.5 ? "" : ": the cable from receiver to board");
	} else if (doctor_is_emulator(d, &emulator)) {
		doctor_say(lines, DOCTOR_NONE, NULL, "emulator: no board");
	} else if (strncmp(device, "/dev/", 5) != 0) {
		doctor_needs_values(d, lines);
	} else if (find_pps(d, device + 5, name, sizeof(name))) {
		check_pulses(d, name, lines);
	} else {
		doctor_say(lines, DOCTOR_WARN, "sudo journalctl -k -g pps -n 20 --no-pager",
			   "not checked: the kernel has no PPS source of the board");
	}
	for (unsigned n = 0; n < 8; n++) {
		doctor_path(d, path, "/sys/class/ptp/ptp%u/clock_name", n);
		if (doctor_line(path, clock, sizeof(clock))) {
			doctor_say(lines, DOCTOR_NONE, NULL,
				   "/dev/ptp%u (%s): the daemon does not use it", n, clock);
		}
	}
}

/* ------------------------------------------------------------------ clocks */

static void check_clock(const struct doctor *d, json_t *lines)
{
	const char *state = value_string(d->status, "clock.state", "?");
	bool locked = strcmp(state, "locked") == 0;
	bool soon = strcmp(state, "holdover") == 0 || strcmp(state, "acquiring") == 0;

	if (d->status == NULL) {
		doctor_say(lines, ctl_is_away(d->daemon_error) ? DOCTOR_NONE : DOCTOR_WARN, NULL,
			   ctl_is_away(d->daemon_error)
				   ? "fcm-server is not running"
				   : "not checked: fcm-server does not answer");
		return;
	}
	doctor_say(lines,
		   locked ? DOCTOR_PASS
		   : soon ? DOCTOR_WARN
			  : DOCTOR_FAIL,
		   locked ? NULL : "fcmctl clock show", "%s by %s%s%.200s", state,
		   value_string(d->status, "clock.source", "?"), locked ? "" : ": ",
		   locked ? "" : value_string(d->status, "clock.reason", ""));
}

/* The last field of `chronyc -c tracking`: "Normal", "Not synchronised". False: no chrony answers. */
static bool ask_chrony(bool *ret_there, char *ret_leap, size_t size)
{
	static const char *const argv[] = {"chronyc", "-n", "-c", "tracking", NULL};
	char text[1024];
	struct program_text out = {.text = text, .size = sizeof(text)};
	int r = bounded_program(argv, 1.0, &out, NULL);
	const char *comma;

	*ret_there = r != -ENOENT;
	text[strcspn(text, "\n")] = '\0';
	comma = r == 0 ? strrchr(text, ',') : NULL;
	snprintf(ret_leap, size, "%s", comma != NULL ? comma + 1 : "");
	return comma != NULL;
}

static void check_system_clock(const struct doctor *d, json_t *lines)
{
	struct timex timex = {.modes = 0};
	char leap[64], says[96] = "";
	bool there = false, synchronised;

	if (*d->root != '\0') {
		doctor_say(lines, DOCTOR_WARN, NULL, "not checked: --root has only files");
		return;
	}
	if (adjtimex(&timex) < 0) {
		doctor_say(lines, DOCTOR_WARN, NULL, "not checked: %s", strerror(errno));
		return;
	}
	synchronised = (timex.status & STA_UNSYNC) == 0;
	if (ask_chrony(&there, leap, sizeof(leap))) {
		snprintf(says, sizeof(says), "; chrony: %s", leap);
	} else if (there) {
		snprintf(says, sizeof(says), "; chronyd does not answer");
	}
	doctor_say(lines, synchronised ? DOCTOR_PASS : DOCTOR_WARN,
		   synchronised ? NULL
		   : !there	? "timedatectl"
		   : *leap	? "chronyc sources -v"
				: "sudo systemctl start chrony",
		   "%s, +-%.3f ms by the kernel%s",
		   synchronised ? "synchronised"
				: "not synchronised: the daemon cannot use it as a second opinion",
		   (double)timex.maxerror / 1e3, says);
}

const struct doctor_check doctor_time_checks[] = {
	{"gpsd", check_gpsd, "fcmctl clock show", DOCTOR_FAIL},
	{"receiver", check_receiver, "fcmctl clock show", DOCTOR_WARN},
	{"pps", check_pps, "fcmctl clock show", DOCTOR_WARN},
	{"clock", check_clock, "fcmctl clock show", DOCTOR_WARN},
	{"system clock", check_system_clock, "timedatectl", DOCTOR_WARN},
	{0},
};
