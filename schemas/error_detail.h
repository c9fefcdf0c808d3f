/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `error.detail` of the control protocol: why a request was refused, for programs. One line each: the enumerator, the
 * word on the wire, what it means. `fcm-server --operations` prints them; control.schema.json and control.md have them
 * from there.
 */
#pragma once

#include <string.h>

/* clang-format off */
#define ERROR_DETAILS(X) \
	/* any request */ \
	X(ROLE, "role", "the peer's role does not allow it; or it has none and is disconnected") \
	X(CROWDED, "crowded", "too many connections to the Unix socket") \
	X(RATE, "rate", "more requests of this key a second than `rate` and `burst` allow") \
	X(OPEN, "open", "500 requests of this key are open") \
	X(KEY, "key", "the key is no longer in the allow list; the connection is closed") \
	X(TOO_LONG, "too-long", "a text has more bytes than are stored") \
	X(MEMORY, "memory", "the daemon is out of memory") \
	/* queries and subscriptions */ \
	X(TOO_MUCH, "too-much", "the query would block the daemon: narrow it, or read the database's file") \
	X(NOT_WRITTEN, "not-written", "the database is not written now; its file has what is older") \
	X(SESSIONS, "sessions", "one user or key has 16 serial channels open") \
	X(WATCHES, "watches", "one user or key has 8 `incident.watch` open") \
	/* commands: the request */ \
	X(NO_SUCH_PARAMETER, "no-such-parameter", "no parameter has this name") \
	X(AMBIGUOUS, "ambiguous", "several towers have a parameter of this name") \
	X(NO_SUCH_MODULE, "no-such-module", "no module has this name, or matches the pattern of `safe`") \
	X(READ_ONLY, "read-only", "the parameter cannot be set") \
	X(NO_ACTION, "no-action", "the parameter is not an action") \
	X(NO_RAMP, "no-ramp", "`rate` was given, and the parameter does not ramp") \
	X(NOT_A_VALUE, "not-a-value", "the text is no value of this parameter") \
	X(WRONG_UNIT, "wrong-unit", "the value has the unit of something else") \
	X(OUT_OF_RANGE, "out-of-range", "the parameter cannot have this value, or only with `force`") \
	X(CLIENT_ID, "client-id", "another command has this client id") \
	/* commands: the state of the station */ \
	X(INTERLOCK, "interlock", "an interlock refuses it: `needs` and `danger` of the dictionary, or a `safe`") \
	X(NOT_LOCKED, "not-locked", "the floor's link is not locked") \
	X(NOT_IDENTIFIED, "not-identified", "the floor has not named itself yet") \
	X(SWAPPED, "swapped", "another floor than configured is on the link") \
	X(SAFER, "safer", "a command that makes safer is under way") \
	X(AFTER, "after", "the command that it waited for was not done") \
	X(TOO_MANY, "too-many", "too many commands are open") \
	X(SEQUENCES, "sequences", "the floor's sequence numbers are used up") \
	X(JOURNAL, "journal", "the command journal cannot be read or written now") \
	/* command.cancel */ \
	X(NO_SUCH_COMMAND, "no-such-command", "no open command has this number") \
	X(ENDED, "ended", "the command has ended") \
	X(SENT, "sent", "the command has been sent, and is no ramp") \
	X(SAFE, "safe", "the command is part of a `safe`")
/* clang-format on */

enum error_detail {
#define X(id, word, meaning) DETAIL_##id,
	ERROR_DETAILS(X)
#undef X
		ERROR_DETAILS_COUNT,
	DETAIL_NONE = ERROR_DETAILS_COUNT
};

/* Its word on the wire, and what it means in Markdown. */
static const struct {
	const char *word, *meaning;
} error_details[] = {
#define X(id, word, meaning) {word, meaning},
	ERROR_DETAILS(X)
#undef X
};

/* DETAIL_NONE: there is no such word. */
static inline enum error_detail error_detail_of(const char *word)
{
	unsigned n = 0;

	while (n < ERROR_DETAILS_COUNT && strcmp(error_details[n].word, word) != 0) {
		n++;
	}
	return (enum error_detail)n;
}
