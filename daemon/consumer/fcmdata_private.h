/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Inside libfcmdata: the handle, and the functions that its files share. README.md says what each
 * file is for.
 */
#pragma once

#include <sys/queue.h>
#include <zmq.h>

#include "daemon/consumer/fcmdata.h"

#define LIBFCMDATA_ALIVE_MS 250 /* of silence, then ALIVE: the daemon wants one a second */

/* ---- check.c ---- */

/* What names a block in an acknowledgement. */
struct fcm_ack libfcmdata_key(const struct fcm_block_header *h);

/* ---- track.c ---- */

struct tracks;

/* A member of a group; one that has no other; a monitor, which gets what members get, too. */
enum tracks_of { TRACKS_MEMBER, TRACKS_SOLE, TRACKS_MONITOR };
struct tracks *libfcmdata_tracks_create(enum tracks_of of);
void libfcmdata_tracks_destroy(struct tracks *t);
/* A membership begins: of what was handed out before, the daemon expects no acknowledgement. */
void libfcmdata_tracks_restart(struct tracks *t);
/* A block comes: fill its facts. `owed`: it is sent in the present membership, so an acknowledgement is
 * expected. *ret_late: it lies before a gap's end. -ENOMEM: it is not noted. */
int libfcmdata_tracks_take(struct tracks *t, bool owed, struct fcmdata_block *b, bool *ret_late);
/* It is processed: whether the daemon expects an acknowledgement. */
bool libfcmdata_tracks_ack(struct tracks *t, const struct fcm_ack *key);
/* It was processed in an earlier life of the consumer. -ENOMEM. */
int libfcmdata_tracks_remember(struct tracks *t, const struct fcm_ack *key);

/* ---- the handle ---- */

/* A block in the caller's hands, or spare. */
struct received {
	struct fcmdata_block block; /* first: what the caller has a pointer to */
	zmq_msg_t payload;
	LIST_ENTRY(received) next;
};
LIST_HEAD(received_list, received);

struct fcmdata {
	enum fcmdata_mode mode;
	char hello[256]; /* the text of it */
	unsigned credit;
	void *context, *socket;
	void *events; /* ZeroMQ's, of the connection: handshakes and ends */
	struct tracks *tracks;
	struct received_list held, spare;
	struct fcm_ack ack[FCMDATA_CREDIT_MAX]; /* to be sent */
	unsigned acks;
	int64_t now_ms, looked_ms, sent_ms, asked_ms; /* CLOCK_MONOTONIC */
	int64_t taken_ms;			      /* since when another has our name; 0: none */
	int epoll_fd, timer_fd, ready_fd;	      /* -1 until fcmdata_fd() */
	bool ready;
	bool keys;	  /* it encrypts */
	bool hello_again; /* a block could not be taken: HELLO lets it come again */
	bool asked;	  /* the last HELLO is out */
	char refusal[512];
	struct fcmdata_stats stats;
};

/* ---- member.c ---- */

int64_t libfcmdata_now_ms(void);
/* ZMQ_POLLIN and ZMQ_POLLOUT, as they hold for the socket. */
int libfcmdata_events(void *socket);
/* What is due: the connection's events, acknowledgements, ALIVE, HELLO again. */
void libfcmdata_member_serve(struct fcmdata *h);
/* 0, -ENOTCONN, -EAGAIN: the acknowledgements stay. */
int libfcmdata_member_flush(struct fcmdata *h);
void libfcmdata_member_welcome(struct fcmdata *h, const void *text, size_t bytes);
/* The daemon `does` ("sends data of version") what needs another major version: refused, finally. */
void libfcmdata_member_refuse_version(struct fcmdata *h, const char *does, int64_t version);
/* The daemon's ERROR; its text is from outside. */
void libfcmdata_member_error(struct fcmdata *h, const void *text, size_t bytes);
void libfcmdata_member_bye(struct fcmdata *h);

/* ---- handle.c ---- */

/* A spare one, or a new; NULL when out of memory. Goes back by libfcmdata_put(). */
struct received *libfcmdata_get(struct fcmdata *h);
void libfcmdata_put(struct fcmdata *h, struct received *r);
/* Before a call returns: is the descriptor to be readable? */
void libfcmdata_settle_fd(struct fcmdata *h);
