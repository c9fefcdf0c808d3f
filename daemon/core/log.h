/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The system log, for every thread of the daemon except capture's data path.
 *
 * No thread waits for journald: an entry that it does not accept at once is lost, and the next one has the number lost.
 *
 * Under systemd (stderr is the journal's: $JOURNAL_STREAM names its device and inode) each entry goes
 * to journald with PRIORITY=, MESSAGE_ID=, FCM_BOARD=, FCM_OBJECT=, FCM_LINK=, FCM_TOWER=, FCM_FLOOR=, of an incident also
 * FCM_INCIDENT= (its number) and FCM_CODE=. Each code has a MESSAGE_ID of its own, so that `journalctl -x` shows the
 * runbook's text (systemd/fcm-server.catalog). When the daemon is run by hand, each is one line on stderr, written whole:
 *
 *   2026-11-20T15:04:05.123Z warning link2: lock lost
 *
 * An entry says what happened, to which object and, where it helps, what to do. States are logged when
 * they change, never repeatedly. Each call site is held to LOG_BURST entries in LOG_WINDOW_S seconds,
 * per link where one is named; the next entry of the site says how many were held back. Changes of incidents are never
 * held back: there are few, and a limit would drop the latest, which say "cleared".
 * `level` is one of syslog.h's: LOG_ERR, LOG_WARNING, LOG_NOTICE, LOG_INFO, LOG_DEBUG.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <syslog.h>

#define LOG_BURST    10u
#define LOG_WINDOW_S 5u
#define LOG_NO_LINK  (-1)

/* MESSAGE_ID of state changes: `journalctl MESSAGE_ID=...` finds them all. */
#define LOG_ID_NONE	""
#define LOG_ID_START	"ba488ad57c43495483266ed09bf059d4" /* the daemon is ready */
#define LOG_ID_STOP	"32f6ea023fd94bc2a34184f7c7f37a87"
#define LOG_ID_CONFIG	"62907c108fc5475ebbc8c3ea7e392322" /* configuration read, refused, reloaded */
#define LOG_ID_BOARD	"daa2432127df49cda7cf2c37a4fa8e0b" /* board gone, back, stalled */
#define LOG_ID_LINK	"9c6d59bc4f62448ba7bcdab33c79f927" /* lock lost or gained, light */
#define LOG_ID_IDENTITY "725322fff47140ce973c119a44610b20" /* a floor is not the one configured */
#define LOG_ID_TAKEOVER                                                                            \
	"7a706cab15b54be2a3ba57d8eff9fa25" /* ring taken over from an earlier daemon */
#define LOG_ID_CLOCK	"630d2182d0354f3197b435e1684a4ad3" /* clock state or label source */
#define LOG_ID_PHASE	"206fa64eec354a9cbe9a6212f8a8ebf3" /* verdict on a re-lock, drift */
#define LOG_ID_LOSS	"b6ab6220661c4287b86d95ac4ad8d1ed" /* frames lost on a link */
#define LOG_ID_CONSUMER "bfe616f3c1a94237a0f3acf7b23bc44b" /* joined, left, dead */
#define LOG_ID_DROP	"bcf1df2857e44caab93da6202594393e" /* a group's policy dropped blocks */
#define LOG_ID_COMMAND                                                                             \
	"fb04dd8a1ec247e9ae585a61a875509d" /* slow-control command unsettled or failed */
#define LOG_ID_ALARM   "342e57af6d504e4cad713be4de777822" /* what operators do about incidents */
#define LOG_ID_RUN     "9b3996a4481749a4ab220489e2d3cee1" /* run begun or ended */
#define LOG_ID_RECORD  "5d0c0f7f2f0b4b7a9a3c3f3b8a1e6d52" /* recordings, black boxes */
#define LOG_ID_REFUSED "c1f0e4f59a6b4f0c8d4e0f6a2b7c9d13" /* a client without the right */
#define LOG_ID_LOGIN   "0b7de2a6f5c14f0b9c1d7f5a2e6483ab" /* a key of the network was let in */
#define LOG_ID_STORE   "7f1b5f57f2ac4672b03ea28bc82ee9da" /* database trouble */

/* The state of one call site; log_* macros make it. Slot 0 is "no link", 1 + n is link n. */
struct log_site {
	struct {
		_Atomic uint64_t window; /* number of the LOG_WINDOW_S window counted in `used` */
		_Atomic uint32_t used, held;
	} slot[5];
};

/*
 * Begin: every journal entry has `board`, entries less urgent than `level` are not written.
 * Before it, and after log_close(), entries go to stderr down to LOG_INFO. One thread, before others.
 */
void log_open(unsigned board, int level);
void log_close(void);
void log_set_level(int level); /* any thread */
/* The floor that is on a link now: entries of that link carry it. 0 = unknown. Any thread. */
void log_set_floor(unsigned link, unsigned tower, unsigned floor);
/* LOG_ERR.. of "error", "warning", "notice", "info", "debug"; -EINVAL. */
int log_level_parse(const char *name);
const char *log_level_name(int level);

#define LOG_ID_SIZE 33
/* The MESSAGE_ID of incidents with this code: always the same. Returns ret_id. */
const char *log_id_of_code(const char *code, char ret_id[LOG_ID_SIZE]);

/* What an entry is about. */
struct log_about {
	const char *object, *message_id;
	int link;
	const char *code; /* of an incident; NULL: of none */
	unsigned incident;
};

/* Any thread, errno is kept. `site` NULL: without a limit. Use the macros. */
void log_write(struct log_site *site, int level, const struct log_about *about, const char *format,
	       ...) __attribute__((format(printf, 4, 5)));

/* A state change: `link` 0..3 or LOG_NO_LINK, `message_id` one of LOG_ID_*. */
#define log_event(level, name, number, id, ...)                                                    \
	do {                                                                                       \
		static struct log_site log_site_here;                                              \
		const struct log_about log_about_here = {                                          \
			.object = name, .message_id = id, .link = number};                         \
		log_write(&log_site_here, level, &log_about_here, __VA_ARGS__);                    \
	} while (0)

/* A change of an incident. */
#define log_incident(level, name, of_code, number, ...)                                            \
	do {                                                                                       \
		const struct log_about log_about_here = {.object = name,                           \
							 .message_id = LOG_ID_NONE,                \
							 .link = LOG_NO_LINK,                      \
							 .code = of_code,                          \
							 .incident = number};                      \
		log_write(NULL, level, &log_about_here, __VA_ARGS__);                              \
	} while (0)

/* A plain entry: object "clock", "store", "consumer trigger-1", ... */
#define log_line(level, object, ...) log_event(level, object, LOG_NO_LINK, LOG_ID_NONE, __VA_ARGS__)
#define log_error(object, ...)	     log_line(LOG_ERR, object, __VA_ARGS__)
#define log_warning(object, ...)     log_line(LOG_WARNING, object, __VA_ARGS__)
#define log_notice(object, ...)	     log_line(LOG_NOTICE, object, __VA_ARGS__)
#define log_info(object, ...)	     log_line(LOG_INFO, object, __VA_ARGS__)
#define log_debug(object, ...)	     log_line(LOG_DEBUG, object, __VA_ARGS__)

/* For tests: where journal entries go instead of to journald, and stderr's lines; NULL puts the
 * real ones back. `now_ns` replaces CLOCK_MONOTONIC for the rate limit; NULL likewise. */
void log_test_hooks(int (*journal)(const char *bytes, size_t length),
		    void (*line)(const char *bytes, size_t length), uint64_t (*now_ns)(void));
/* For tests: a journald that listens here; NULL: none. */
void log_test_journal(const char *path);
