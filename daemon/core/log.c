// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The system log: see log.h. An entry is formatted once into a buffer on the caller's stack and handed
 * over by one call (a datagram to journald, or one write() to stderr), so entries of different threads
 * never mix and no lock is taken. The only shared state is a handful of atomics.
 */
#include "daemon/core/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <xxhash.h>

#include "daemon/core/now.h"

#define TEXT_BYTES 1024
#define LINKS	   4
#define JOURNAL	   "/run/systemd/journal/socket"

static struct {
	_Atomic int level;
	_Atomic int board; /* -1: log_open() was not called */
	_Atomic bool journal;
	_Atomic int journal_fd;	       /* -1: not open */
	_Atomic uint32_t journal_lost; /* entries that journald did not take */
	const char *journal_path;
	_Atomic uint32_t floor[LINKS]; /* tower << 8 | floor */
	int (*_Atomic journal_hook)(const char *bytes, size_t length);
	void (*_Atomic line_hook)(const char *bytes, size_t length);
	uint64_t (*_Atomic now_hook)(void);
} state = {.level = LOG_INFO, .board = -1, .journal_fd = -1, .journal_path = JOURNAL};

static const char *const level_names[] = {
	[LOG_EMERG] = "emergency", [LOG_ALERT] = "alert",     [LOG_CRIT] = "critical",
	[LOG_ERR] = "error",	   [LOG_WARNING] = "warning", [LOG_NOTICE] = "notice",
	[LOG_INFO] = "info",	   [LOG_DEBUG] = "debug",
};

const char *log_level_name(int level)
{
	return level >= LOG_EMERG && level <= LOG_DEBUG ? level_names[level] : "?";
}

int log_level_parse(const char *name)
{
	for (int level = LOG_ERR; level <= LOG_DEBUG; level++) {
		if (!strcmp(name, level_names[level])) {
			return level;
		}
	}
	return -EINVAL;
}

/* systemd sets $JOURNAL_STREAM to device:inode of the stream it connected; a descendant whose stderr
 * was redirected inherits the variable but not the stream, hence the comparison. */
static bool stderr_is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long device, inode;
	struct stat st;

	return stream && sscanf(stream, "%llu:%llu", &device, &inode) == 2 &&
	       fstat(STDERR_FILENO, &st) == 0 && st.st_dev == device && st.st_ino == inode;
}

static void close_journal(void)
{
	int fd = atomic_exchange(&state.journal_fd, -1);

	if (fd >= 0) {
		close(fd);
	}
}

void log_open(unsigned board, int level)
{
	atomic_store(&state.board, (int)board);
	atomic_store(&state.level, level);
	atomic_store(&state.journal, stderr_is_journal());
	close_journal();
	atomic_store(&state.journal_fd, socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
}

void log_close(void)
{
	close_journal();
	atomic_store(&state.journal, false);
	atomic_store(&state.journal_lost, 0);
	atomic_store(&state.board, -1);
	atomic_store(&state.level, LOG_INFO);
}

void log_set_level(int level)
{
	atomic_store(&state.level, level);
}

void log_set_floor(unsigned link, unsigned tower, unsigned floor)
{
	if (link < LINKS) {
		atomic_store(&state.floor[link], (tower & 0xffu) << 8 | (floor & 0xffu));
	}
}

void log_test_hooks(int (*journal)(const char *bytes, size_t length),
		    void (*line)(const char *bytes, size_t length), uint64_t (*now_ns)(void))
{
	atomic_store(&state.journal_hook, journal);
	atomic_store(&state.line_hook, line);
	atomic_store(&state.now_hook, now_ns);
}

void log_test_journal(const char *path)
{
	state.journal_path = path ? path : JOURNAL;
	atomic_store(&state.journal, path != NULL);
}

static uint64_t now_ns(void)
{
	uint64_t (*hook)(void) = atomic_load(&state.now_hook);

	return hook ? hook() : now_mono_ns();
}

/* Whether the site may write now; if so *ret_held is what it could not write since it last did. Two
 * threads that meet at the turn of a window may let one entry more through: harmless. */
static bool admit(struct log_site *site, int link, uint32_t *ret_held)
{
	size_t slot = link >= 0 && link < LINKS ? (size_t)link + 1 : 0;
	uint64_t window = now_ns() / (LOG_WINDOW_S * 1000000000ull) + 1;

	if (atomic_load(&site->slot[slot].window) != window) {
		atomic_store(&site->slot[slot].window, window);
		atomic_store(&site->slot[slot].used, 0);
	}
	if (atomic_fetch_add(&site->slot[slot].used, 1) >= LOG_BURST) {
		atomic_fetch_add(&site->slot[slot].held, 1);
		return false;
	}
	*ret_held = atomic_exchange(&site->slot[slot].held, 0);
	return true;
}

/* A log line is one line: what came from outside must not forge a second one or move the cursor. */
static void make_printable(char *text)
{
	for (; *text; text++) {
		if ((unsigned char)*text < 0x20 || *text == 0x7f) {
			*text = ' ';
		}
	}
}

static void write_line(int level, const char *object, const char *text)
{
	void (*hook)(const char *, size_t) = atomic_load(&state.line_hook);
	char line[TEXT_BYTES + 160];
	struct timespec ts;
	struct tm tm;
	size_t n;

	clock_gettime(CLOCK_REALTIME, &ts);
	gmtime_r(&ts.tv_sec, &tm);
	n = strftime(line, sizeof(line), "%FT%T", &tm);
	n += (size_t)snprintf(line + n, sizeof(line) - n, ".%03ldZ %s %s: %s\n",
			      ts.tv_nsec / 1000000, log_level_name(level), object, text);
	if (hook) {
		hook(line, n);
	} else if (write(STDERR_FILENO, line, n) < 0) {
		return; /* nobody to tell */
	}
}

/* An entry as journald takes it: a datagram of lines FIELD=value. All values are printable and short. */
struct entry {
	char bytes[TEXT_BYTES + 512];
	size_t length;
};

__attribute__((format(printf, 2, 3))) static void add(struct entry *e, const char *format, ...)
{
	size_t room = sizeof(e->bytes) - e->length;
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(e->bytes + e->length, room, format, args);
	va_end(args);
	e->length += n < 0 ? 0 : (size_t)n < room ? (size_t)n : room - 1;
}

/* Not sd_journal_sendv(), which would wait for a journald that hangs with its disk, and the caller with it. */
static int send_journal(const char *bytes, size_t length)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", state.journal_path);
	return sendto(atomic_load(&state.journal_fd), bytes, length, MSG_DONTWAIT | MSG_NOSIGNAL,
		      (struct sockaddr *)&address, sizeof(address)) < 0
		       ? -errno
		       : 0;
}

/* An entry that is not taken now is lost, and counted: the next one says so. */
static int give_journal(const struct entry *e, uint32_t lost)
{
	int (*hook)(const char *, size_t) = atomic_load(&state.journal_hook);
	int r = hook ? hook(e->bytes, e->length) : send_journal(e->bytes, e->length);

	if (r == -EAGAIN) {
		atomic_fetch_add(&state.journal_lost, lost + 1);
		return 0;
	}
	return r;
}

const char *log_id_of_code(const char *code, char ret_id[LOG_ID_SIZE])
{
	char name[64];
	XXH128_hash_t h;

	snprintf(name, sizeof(name), "fcm-server incident %s", code);
	h = XXH3_128bits(name, strlen(name));
	snprintf(ret_id, LOG_ID_SIZE, "%016llx%016llx", (unsigned long long)h.high64,
		 (unsigned long long)h.low64);
	return ret_id;
}

static int write_journal(int level, const char *object, const struct log_about *about,
			 const char *text)
{
	uint32_t floor, lost = atomic_exchange(&state.journal_lost, 0);
	struct entry e = {.length = 0};
	char id[LOG_ID_SIZE];
	int link = about->link;

	add(&e, "SYSLOG_IDENTIFIER=%s\nMESSAGE=%s: %s", program_invocation_short_name, object,
	    text);
	if (lost) {
		add(&e, " (journald did not take %u entries before)", lost);
	}
	add(&e, "\nPRIORITY=%d\nFCM_BOARD=%d\nFCM_OBJECT=%s\n", level, atomic_load(&state.board),
	    object);
	if (about->code) {
		add(&e, "MESSAGE_ID=%s\nFCM_CODE=%s\nFCM_INCIDENT=%u\n",
		    log_id_of_code(about->code, id), about->code, about->incident);
	} else if (about->message_id[0]) {
		add(&e, "MESSAGE_ID=%s\n", about->message_id);
	}
	if (link >= 0 && link < LINKS) {
		add(&e, "FCM_LINK=%d\n", link);
		floor = atomic_load(&state.floor[link]);
		if (floor) {
			add(&e, "FCM_TOWER=%u\nFCM_FLOOR=%u\n", floor >> 8, floor & 0xffu);
		}
	}
	return give_journal(&e, lost);
}

void log_write(struct log_site *site, int level, const struct log_about *about, const char *format,
	       ...)
{
	int saved_errno = errno;
	char text[TEXT_BYTES], name[81];
	uint32_t held = 0;
	va_list args;
	int n;

	if (level > atomic_load(&state.level) || (site && !admit(site, about->link, &held))) {
		goto out;
	}
	va_start(args, format);
	n = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (n < 0) {
		goto out;
	}
	if ((size_t)n >= sizeof(text)) {
		n = (int)sizeof(text) - 1;
		memcpy(text + n - 3, "...", 3);
	}
	if (held && (size_t)n < sizeof(text) - 48) {
		snprintf(text + n, sizeof(text) - (size_t)n, " (%u like it held back)", held);
	}
	make_printable(text);
	snprintf(name, sizeof(name), "%s", about->object);
	make_printable(name);
	if (!atomic_load(&state.journal) || write_journal(level, name, about, text) < 0) {
		write_line(level, name, text);
	}
out:
	errno = saved_errno;
}
