/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See places.h. */
#include "daemon/control/places.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

/* What one user has. */
struct share {
	TAILQ_ENTRY(share) link;
	TAILQ_ENTRY(share) in_line; /* while `waiting` is not empty */
	int64_t uid;
	unsigned ordinary, urgent;
	struct place_list waiting;
};

void places_init(struct places *p, enum place_cost (*cost)(const struct place *place))
{
	*p = (struct places){.cost = cost};
	TAILQ_INIT(&p->all);
	TAILQ_INIT(&p->line);
	TAILQ_INIT(&p->shares);
}

void places_fini(struct places *p)
{
	assert(TAILQ_EMPTY(&p->all) && TAILQ_EMPTY(&p->shares));
}

/* NULL: out of memory. */
static struct share *share_of(struct places *p, int64_t uid)
{
	struct share *s;

	TAILQ_FOREACH (s, &p->shares, link) {
		if (s->uid == uid) {
			return s;
		}
	}
	s = calloc(1, sizeof(*s));
	if (s) {
		s->uid = uid;
		TAILQ_INIT(&s->waiting);
		TAILQ_INSERT_TAIL(&p->shares, s, link);
	}
	return s;
}

/* --- who is cut off --- */

struct search {
	const struct share *share; /* only of this user; NULL: of all */
	bool urgent;
	bool spare_privileged;
	enum place_cost most; /* that it may cost */
};

/* Whom it costs least; of those, one of the user that has most; of his, the one that has been silent longest. */
static struct place *cheapest(const struct places *p, const struct search *q)
{
	struct place *place, *best = NULL;
	enum place_cost cost, least = q->most;
	unsigned has, most = 0;

	TAILQ_FOREACH (place, &p->all, link) {
		if ((q->share && place->share != q->share) || place->urgent != q->urgent ||
		    (q->spare_privileged && place->privileged)) {
			continue;
		}
		cost = p->cost(place);
		has = q->urgent ? place->share->urgent : place->share->ordinary;
		if (cost < least || (cost == least && has > most)) {
			best = place;
			least = cost;
			most = has;
		}
	}
	return best;
}

/* An ordinary place. False: there is none, and nobody whose place could be taken. */
static bool find_ordinary(const struct places *p, const struct share *s, bool privileged,
			  struct place **ret_victim)
{
	unsigned room = PLACES - (privileged ? 0 : PLACES_RESERVED);
	struct search q = {.most = PLACE_NEWS};

	*ret_victim = NULL;
	if (s->ordinary < PLACES_UID && p->ordinary < room) {
		return true;
	}
	if (s->ordinary >= PLACES_UID) {
		q.share = s;
	} else {
		q.spare_privileged = !privileged;
	}
	*ret_victim = cheapest(p, &q);
	return *ret_victim != NULL;
}

static struct place *find_urgent(const struct places *p, const struct share *s)
{
	struct search q = {.urgent = true, .most = PLACE_WAITS};

	if (s->urgent >= PLACES_URGENT_UID) {
		q.share = s;
	} else if (p->urgent < PLACES_URGENT) {
		return NULL;
	}
	return cheapest(p, &q);
}

/* --- places --- */

int places_enter(struct places *p, struct place *place, int64_t uid, bool privileged,
		 struct place **ret_victim)
{
	struct share *s = share_of(p, uid);

	if (!s) {
		return -ENOMEM;
	}
	*place = (struct place){.share = s, .privileged = privileged};
	place->urgent = !find_ordinary(p, s, privileged, ret_victim);
	if (place->urgent) {
		*ret_victim = find_urgent(p, s);
		s->urgent++;
		p->urgent++;
	} else {
		s->ordinary++;
		p->ordinary++;
	}
	TAILQ_INSERT_TAIL(&p->all, place, link);
	return 0;
}

static void leave_line(struct places *p, struct place *place)
{
	struct share *s = place->share;

	TAILQ_REMOVE(&s->waiting, place, in_line);
	place->waits = false;
	p->waiting--;
	if (TAILQ_EMPTY(&s->waiting)) {
		TAILQ_REMOVE(&p->line, s, in_line);
	}
}

void places_leave(struct places *p, struct place *place)
{
	struct share *s = place->share;

	if (!s) {
		return;
	}
	if (place->waits) {
		leave_line(p, place);
	}
	TAILQ_REMOVE(&p->all, place, link);
	s->urgent -= place->urgent;
	p->urgent -= place->urgent;
	s->ordinary -= !place->urgent;
	p->ordinary -= !place->urgent;
	place->share = NULL;
	if (s->ordinary + s->urgent == 0) {
		TAILQ_REMOVE(&p->shares, s, link);
		free(s);
	}
}

void places_heard(struct places *p, struct place *place)
{
	TAILQ_REMOVE(&p->all, place, link);
	TAILQ_INSERT_TAIL(&p->all, place, link);
}

/* --- the line --- */

/* The order of one user's connections. */
static unsigned age(const struct place *place)
{
	return place->served < PLACES_YOUNG ? place->served : PLACES_YOUNG;
}

void places_wait(struct places *p, struct place *place)
{
	struct share *s = place->share;
	struct place *before;

	if (place->waits) {
		return;
	}
	if (TAILQ_EMPTY(&s->waiting)) {
		TAILQ_INSERT_TAIL(&p->line, s, in_line);
	}
	before = TAILQ_LAST(&s->waiting, place_list);
	while (before && age(before) > age(place)) {
		before = TAILQ_PREV(before, place_list, in_line);
	}
	if (before) {
		TAILQ_INSERT_AFTER(&s->waiting, before, place, in_line);
	} else {
		TAILQ_INSERT_HEAD(&s->waiting, place, in_line);
	}
	place->waits = true;
	p->waiting++;
}

struct place *places_next(struct places *p)
{
	struct share *s = TAILQ_FIRST(&p->line);
	struct place *place;

	if (!s) {
		return NULL;
	}
	TAILQ_REMOVE(&p->line, s, in_line);
	TAILQ_INSERT_TAIL(&p->line, s, in_line);
	place = TAILQ_FIRST(&s->waiting);
	leave_line(p, place);
	return place;
}
