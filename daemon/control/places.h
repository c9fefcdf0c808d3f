/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The places of the control socket: who gets one, who is cut off for it, and in which order those that have something
 * to be served are served. Without I/O; a place is part of its connection's own struct.
 *
 *   ordinary     PLACES. Each user's first PLACES_UID; with one more, one of his own is cut off
 *     reserved   the last PLACES_RESERVED of them are for root and experts
 *   urgent       PLACES_URGENT more, a user's PLACES_URGENT_UID: who finds all others busy is served what is urgent
 *
 * An ordinary place is taken only from who would miss nothing: who waits for no answer, or has only asked for news. An
 * urgent place is taken from anybody in one, those first that miss least. So whoever comes is let in, however many
 * connections others, or his own other programs, have and keep busy.
 *
 * Users take turns, whatever the number of their connections; of one user's connections those go first that have been
 * served least.
 */
#ifndef DAEMON_CONTROL_PLACES_H
#define DAEMON_CONTROL_PLACES_H

#include <stdbool.h>
#include <stdint.h>

#include <sys/queue.h>

#define PLACES		  112u
#define PLACES_UID	  32u /* of one user */
#define PLACES_RESERVED	  16u
#define PLACES_URGENT	  512u
#define PLACES_URGENT_UID 256u
#define PLACES_YOUNG	  4u /* requests of a connection by which its turn comes sooner */

/* What it would cost its client to be cut off now. */
enum place_cost {
	PLACE_IDLE,
	PLACE_NEWS, /* it has subscribed to something */
	PLACE_ASKS, /* something of it is yet to be read, or stands in the line */
	PLACE_WAITS /* for an answer */
};

struct share;

struct place {
	TAILQ_ENTRY(place) link;    /* of all */
	TAILQ_ENTRY(place) in_line; /* of its user, while `waits` */
	struct share *share;	    /* NULL: it has none */
	bool privileged, urgent;
	bool waits;	 /* to be served */
	unsigned served; /* requests; the owner's to count */
};

TAILQ_HEAD(place_list, place);
TAILQ_HEAD(share_list, share);

struct places {
	struct place_list all;	/* who spoke last is the last */
	struct share_list line; /* of users */
	struct share_list shares;
	unsigned ordinary, urgent, waiting;
	enum place_cost (*cost)(const struct place *place);
};

void places_init(struct places *p, enum place_cost (*cost)(const struct place *place));
/* All have left. */
void places_fini(struct places *p);
/* One more, of a user. `privileged`: root, or an expert. *ret_victim (NULL: nobody) is to be cut off by the caller, with
 * places_leave(). 0, or -ENOMEM. */
int places_enter(struct places *p, struct place *place, int64_t uid, bool privileged,
		 struct place **ret_victim);
/* NULL share: it has none, that is fine. */
void places_leave(struct places *p, struct place *place);
/* It has said something. */
void places_heard(struct places *p, struct place *place);

/* It has something to be served; once in the line it keeps its place there. */
void places_wait(struct places *p, struct place *place);
/* The next one, out of the line. NULL: there is none. */
struct place *places_next(struct places *p);

#endif
