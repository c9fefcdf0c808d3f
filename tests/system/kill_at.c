// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Preloaded into a real daemon, which knows nothing of it: kill -9 at a named point of a command's way.
 *
 *   FCM_KILL_AT=POINT:N      when the daemon has come to POINT for the N-th time
 *
 *   queued     the row of a new command is about to be written      the client knows of nothing
 *   synced     the sync that brought such a row to the disk is over  the daemon has not heard of it
 *   send       a command's word is about to leave                    journaled and synced, not sent
 *   sent       the board has a command's word                        the journal does not know that
 *   answered   the FCM's answer is about to be journaled             executed, the journal does not know
 *   ended      a command's end is about to be journaled              proved, the journal does not know
 *   closed     the sync that brought such an end to the disk is over
 *
 * Between two of these lies all that a crash can cut apart. The calls it looks at are those of
 * libsqlite3 and libc that the daemon makes: sqlite3_bind_text(), fdatasync(), sendmsg().
 */
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "driver/nanet3_socket.h"
#include "tdm/word.h"

struct sqlite3_stmt;

int sqlite3_bind_text(struct sqlite3_stmt *step, int place, const char *text, int bytes,
		      void (*destroy)(void *));

static _Atomic long times_come;
/* The store's thread: what the next sync brings to the disk. */
static _Thread_local bool writes_queued, writes_end;

static void come_to(const char *point)
{
	const char *at = getenv("FCM_KILL_AT");
	const size_t n = strlen(point);

	if (at && strncmp(at, point, n) == 0 && at[n] == ':' &&
	    atomic_fetch_add(&times_come, 1) + 1 == strtol(at + n + 1, NULL, 10)) {
		kill(getpid(), SIGKILL);
		for (;;) {
			pause();
		}
	}
}

int sqlite3_bind_text(struct sqlite3_stmt *step, int place, const char *text, int bytes,
		      void (*destroy)(void *))
{
	static int (*real)(struct sqlite3_stmt *, int, const char *, int, void (*)(void *));

	if (!real) {
		*(void **)&real = dlsym(RTLD_NEXT, "sqlite3_bind_text");
	}
	if (text && strcmp(text, "QUEUED") == 0) {
		come_to("queued");
		writes_queued = true;
	} else if (text && strcmp(text, "ACKED") == 0) {
		come_to("answered");
	} else if (text && strcmp(text, "DONE") == 0) {
		come_to("ended");
		writes_end = true;
	}
	return real(step, place, text, bytes, destroy);
}

int fdatasync(int fd)
{
	static int (*real)(int);
	int r;

	if (!real) {
		*(void **)&real = dlsym(RTLD_NEXT, "fdatasync");
	}
	r = real(fd);
	if (r == 0 && writes_queued) {
		writes_queued = false;
		come_to("synced");
	}
	if (r == 0 && writes_end) {
		writes_end = false;
		come_to("closed");
	}
	return r;
}

/* A packet to the board that has a WRITE or an ACTION in it. */
static bool is_command(const struct msghdr *msg)
{
	const struct nanet3_sock_head *head;
	const struct nanet3_tx *tx;

	if (msg->msg_iovlen != 2 || msg->msg_iov[0].iov_len != sizeof(*head) ||
	    msg->msg_iov[1].iov_len != sizeof(*tx)) {
		return false;
	}
	head = msg->msg_iov[0].iov_base;
	tx = msg->msg_iov[1].iov_base;
	return head->request == NANET3_IOC_SEND && tx->kind == NANET3_TX_REQUEST &&
	       (tx->bytes[0] == WORD_WRITE || tx->bytes[0] == WORD_ACTION);
}

ssize_t sendmsg(int fd, const struct msghdr *msg, int flags)
{
	static ssize_t (*real)(int, const struct msghdr *, int);
	const bool command = is_command(msg);
	ssize_t n;

	if (!real) {
		*(void **)&real = dlsym(RTLD_NEXT, "sendmsg");
	}
	if (command) {
		come_to("send");
	}
	n = real(fd, msg, flags);
	if (command && n > 0) {
		come_to("sent");
	}
	return n;
}
