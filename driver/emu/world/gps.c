/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The GPS receiver: see gps.h. Its antenna stands at Portopalo di Capo Passero. */
#include "driver/emu/world/gps.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#define LATITUDE  "3641.1180,N"
#define LONGITUDE "01508.2460,E"
#define SENTENCE  96u /* NMEA allows 82 */

/* ---------------------------------------------------------------- NMEA */

struct text {
	char *at;
	size_t room, length;
};

/* "$BODY*CS" and the line's end; what does not fit is left out whole. */
__attribute__((format(printf, 2, 3))) static void say(struct text *t, const char *format, ...)
{
	char body[SENTENCE];
	uint8_t sum = 0;
	va_list ap;
	int n;

	va_start(ap, format);
	n = vsnprintf(body, sizeof(body), format, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= sizeof(body) || t->length + (size_t)n + 7 > t->room) {
		return;
	}
	for (int i = 0; i < n; i++) {
		sum ^= (uint8_t)body[i];
	}
	t->length +=
		(size_t)snprintf(t->at + t->length, t->room - t->length, "$%s*%02X\r\n", body, sum);
}

static void say_satellites(struct text *t, enum gps_state state)
{
	if (state == GPS_VOID) {
		say(t, "GPGSA,A,1,,,,,,,,,,,,,,,");
		say(t, "GPGSV,1,1,02,05,12,048,17,29,08,311,15");
		return;
	}
	say(t, "GPGSA,A,3,02,05,07,09,13,16,20,27,30,,,,1.7,0.9,1.4");
	say(t, "GPGSV,3,1,09,02,31,124,42,05,68,048,47,07,22,201,39,09,44,282,44");
	say(t, "GPGSV,3,2,09,13,17,077,37,16,55,311,46,20,12,158,35,27,29,255,41");
	say(t, "GPGSV,3,3,09,30,37,021,43");
}

size_t gps_sentences(enum gps_state state, int64_t utc_s, bool inserted, char *buffer, size_t size)
{
	struct text t = {.at = buffer, .room = size};
	const time_t posix = (time_t)utc_s;
	char clock[16], date[8];
	struct tm tm;

	if (state == GPS_SILENT || size == 0 || gmtime_r(&posix, &tm) == NULL) {
		return 0;
	}
	buffer[0] = '\0';
	snprintf(clock, sizeof(clock), "%02u%02u%02u.00", (unsigned)tm.tm_hour % 100,
		 (unsigned)tm.tm_min % 100, (unsigned)(tm.tm_sec + inserted) % 100);
	snprintf(date, sizeof(date), "%02u%02u%02u", (unsigned)tm.tm_mday % 100,
		 (unsigned)(tm.tm_mon + 1) % 100, (unsigned)tm.tm_year % 100);
	if (state == GPS_VOID) {
		say(&t, "GPRMC,%s,V,,,,,,,%s,,,N", clock, date);
		say(&t, "GPGGA,%s,,,,,0,02,,,M,,M,,", clock);
	} else {
		say(&t, "GPRMC,%s,A," LATITUDE "," LONGITUDE ",0.00,0.00,%s,,,A", clock, date);
		say(&t, "GPGGA,%s," LATITUDE "," LONGITUDE ",1,09,0.9,31.4,M,38.2,M,,", clock);
	}
	say_satellites(&t, state);
	say(&t, "GPZDA,%s,%02d,%02d,%04d,00,00", clock, tm.tm_mday, tm.tm_mon + 1,
	    tm.tm_year + 1900);
	return t.length;
}

/* ---------------------------------------------------------------- terminal */

struct gps {
	int master, slave;
	char name[64]; /* of the slave */
	char *link_path;
	int udp; /* instead of all that; -1: a terminal */
};

/* gpsd opens its devices as root and again as its own user. */
static void give_away(int slave, const char *name)
{
	const struct passwd *pw = geteuid() == 0 ? getpwnam("gpsd") : NULL;

	if (pw != NULL && chown(name, pw->pw_uid, (gid_t)-1) < 0) {
		return; /* then its group must do */
	}
	if (fchmod(slave, 0660) < 0) {
		return; /* the default, 0620, lets the owner in as well */
	}
}

static int open_pair(struct gps *g)
{
	struct termios raw;

	g->master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
	if (g->master < 0 || grantpt(g->master) < 0 || unlockpt(g->master) < 0) {
		return -errno;
	}
	if (ptsname_r(g->master, g->name, sizeof(g->name)) != 0) {
		return -ENOTTY;
	}
	g->slave = open(g->name, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (g->slave < 0 || tcgetattr(g->slave, &raw) < 0) {
		return -errno;
	}
	cfmakeraw(&raw);
	cfsetspeed(&raw, B9600);
	if (tcsetattr(g->slave, TCSANOW, &raw) < 0) {
		return -errno;
	}
	give_away(g->slave, g->name);
	return 0;
}

static int make_link(struct gps *g, const char *path)
{
	struct stat st;

	if (lstat(path, &st) == 0) {
		if (!S_ISLNK(st.st_mode)) {
			return -EEXIST;
		}
		if (unlink(path) < 0) {
			return -errno;
		}
	}
	if (symlink(g->name, path) < 0) {
		return -errno;
	}
	g->link_path = strdup(path);
	if (g->link_path == NULL) {
		unlink(path);
		return -ENOMEM;
	}
	return 0;
}

static int open_terminal(struct gps *g, const char *link_path)
{
	int err = open_pair(g);

	return err < 0 ? err : make_link(g, link_path);
}

static int open_udp(struct gps *g, unsigned port)
{
	const struct sockaddr_in to = {.sin_family = AF_INET,
				       .sin_port = htons((uint16_t)port),
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

	g->udp = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (g->udp < 0 || connect(g->udp, (const struct sockaddr *)&to, sizeof(to)) < 0) {
		return -errno;
	}
	return 0;
}

int gps_create(const char *link_path, unsigned port, struct gps **ret_gps)
{
	struct gps *g = calloc(1, sizeof(*g));
	int err;

	if (g == NULL) {
		return -ENOMEM;
	}
	g->master = -1;
	g->slave = -1;
	g->udp = -1;
	err = link_path ? open_terminal(g, link_path) : open_udp(g, port);
	if (err < 0) {
		gps_destroy(g);
		return err;
	}
	*ret_gps = g;
	return 0;
}

void gps_destroy(struct gps *g)
{
	if (g == NULL) {
		return;
	}
	if (g->link_path != NULL) {
		unlink(g->link_path);
	}
	if (g->slave >= 0) {
		close(g->slave);
	}
	if (g->master >= 0) {
		close(g->master);
	}
	if (g->udp >= 0) {
		close(g->udp);
	}
	free(g->link_path);
	free(g);
}

static void say_on_terminal(struct gps *g, const char *text, size_t length)
{
	char ignored[256];
	int unread = 0;

	/* gpsd probes for vendors' receivers; this one understands nothing of it. */
	while (read(g->master, ignored, sizeof(ignored)) > 0) {
	}
	if (ioctl(g->slave, FIONREAD, &unread) == 0 && unread > 0) {
		tcflush(g->slave, TCIFLUSH);
	}
	if (write(g->master, text, length) != (ssize_t)length) {
		return; /* the terminal is full: a sentence cut short has a wrong checksum */
	}
}

void gps_say(struct gps *g, const char *text, size_t length)
{
	if (g->udp < 0) {
		say_on_terminal(g, text, length);
	} else if (send(g->udp, text, length, 0) < 0) {
		return; /* no gpsd is there */
	}
}
