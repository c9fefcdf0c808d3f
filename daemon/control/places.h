/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The places of the control socket: which connection gets one, which one is closed for it, and in
 * which order waiting connections are served. No I/O; a place is part of its connection's own
 * struct.
 *
 *   ordinary     PLACES, of one user PLACES_UID; with one more, one of the same user is closed
 *     reserved   the last PLACES_RESERVED of them are for root and experts
 *   urgent       PLACES_URGENT more, of one user PLACES_URGENT_UID, for when all ordinary ones are busy; only urgent
 *                operations are served there
 *
 * An ordinary place is taken only from a connection that waits for no answer. An urgent place is
 * taken from the connection in one that has the lowest cost. So every new connection is accepted,
 * however many connections are busy.
 *
 * Users take turns, whatever the number of their connections; of one user's connections those that
 * have been served least come first.
 */
#pragma once

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
	PLACE_ASKS, /* a part of it is yet to be read, or it is queued */
	PLACE_WAITS /* for an answer */
};

struct place {
	TAILQ_ENTRY(place) link; /* of all */
	int64_t uid;
	bool seated, privileged, urgent;
	bool waits;	      /* to be served */
	unsigned served;      /* requests; the owner's to count */
	uint64_t since, turn; /* while it waits, by `clock`: since when; its user's turn */
};

TAILQ_HEAD(place_list, place);

struct places {
	struct place_list all; /* who spoke last is the last */
	unsigned ordinary, urgent, waiting;
	uint64_t clock; /* counts what changes the line */
	enum place_cost (*cost)(const struct place *place);
};

void places_init(struct places *p, enum place_cost (*cost)(const struct place *place));
/* All have left. */
void places_fini(struct places *p);
/* A new connection of a user. `privileged`: root, or an expert. Returns the connection that the
 * caller has to close for it, with places_leave(); NULL: none. */
struct place *places_enter(struct places *p, struct place *place, int64_t uid, bool privileged);
/* One that is not seated is fine. */
void places_leave(struct places *p, struct place *place);
/* It has said something. */
void places_heard(struct places *p, struct place *place);

/* It has a request to be served; once in the line it keeps its place there. */
void places_wait(struct places *p, struct place *place);
/* The next one, out of the line. NULL: there is none. */
struct place *places_next(struct places *p);
