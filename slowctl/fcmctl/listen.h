/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What `fcmctl data` listens to: the blocks of a stream, of all floors or some, from the monitor's endpoint. Best effort:
 * what this program misses is said on stderr, in one line a second at most, and is no loss of the station.
 */
#pragma once

#include "slowctl/fcmctl/core/monitor.h"

/* Not yet said. */
struct listen_missed {
	unsigned gaps;
	uint64_t frames, first, last;
	double next_s; /* when it may be said */
};

struct listen {
	struct ctl *ctl;
	struct ctl_monitor monitor;
	int stream, link, tower, floor; /* -1: all */
	const char *wanted;		/* "block", "hit": what a silence is without */
	double silence_s, heard_s; /* the longest one, 0: any; when listen_heard() was called */
	bool silence_reported;
	uint64_t missed_frames[FCM_LINKS]; /* all of them */
	struct listen_missed missed[FCM_LINKS][FCM_STREAMS];
};

/* Connects, by --link, --tower, --floor, --key and --timeout. `stream`: -1 is all. CTL_DONE, or the exit code after an error
 * message. listen_close() in either case. */
int listen_open(struct listen *l, struct ctl *ctl, const struct ctl_args *args, int stream,
		const char *wanted);
/* The next wanted block, waited for up to 0.2 s; NULL: none has come. Says what was missed before it, and how long nothing
 * was heard. To be released. CTL_DONE, or the exit code: the daemon refuses us, or the silence is too long. */
int listen_next(struct listen *l, const struct fcmdata_block **ret_block);
void listen_release(struct listen *l, const struct fcmdata_block *b);
/* What is wanted has come; or was not in what came, as listen_next() without a block: CTL_DONE, or the exit code. */
void listen_heard(struct listen *l);
int listen_unheard(struct listen *l);
/* Says what is not yet said of what was missed. */
void listen_close(struct listen *l);
