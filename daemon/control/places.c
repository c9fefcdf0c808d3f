/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which connections the control socket accepts, and their order: see places.h. There are some
 * hundred places at most: what a user has is counted when it is asked for. */
#include "daemon/control/places.h"

#include <assert.h>
#include <stddef.h>

void places_init(struct places *p, enum place_cost (*cost)(const struct place *place))
{
	*p = (struct places){.cost = cost};
	TAILQ_INIT(&p->all);
}

void places_fini(struct places *p)
{
	assert(TAILQ_EMPTY(&p->all));
}

/* How many ordinary, or urgent, places a user has. */
static unsigned count(const struct places *p, int64_t uid, bool urgent)
{
	const struct place *place;
	unsigned n = 0;

	TAILQ_FOREACH (place, &p->all, link) {
		n += place->uid == uid && place->urgent == urgent;
	}
	return n;
}

/* --- who is cut off --- */

struct search {
	const int64_t *uid; /* only of this user; NULL: of all */
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
		if ((q->uid && place->uid != *q->uid) || place->urgent != q->urgent ||
		    (q->spare_privileged && place->privileged)) {
			continue;
		}
		cost = p->cost(place);
		has = cost <= least ? count(p, place->uid, q->urgent) : 0;
		if (cost < least || (cost == least && has > most)) {
			best = place;
			least = cost;
			most = has;
		}
	}
	return best;
}

/* An ordinary place. False: there is none, and nobody whose place could be taken. */
static bool find_ordinary(const struct places *p, int64_t uid, bool privileged,
			  struct place **ret_victim)
{
	unsigned room = PLACES - (privileged ? 0 : PLACES_RESERVED), has = count(p, uid, false);
	struct search q = {.most = PLACE_NEWS};

	*ret_victim = NULL;
	if (has < PLACES_UID && p->ordinary < room) {
		return true;
	}
	if (has >= PLACES_UID) {
		q.uid = &uid;
	} else {
		q.spare_privileged = !privileged;
	}
	*ret_victim = cheapest(p, &q);
	return *ret_victim != NULL;
}

static struct place *find_urgent(const struct places *p, int64_t uid)
{
	struct search q = {.urgent = true, .most = PLACE_WAITS};

	if (count(p, uid, true) >= PLACES_URGENT_UID) {
		q.uid = &uid;
	} else if (p->urgent < PLACES_URGENT) {
		return NULL;
	}
	return cheapest(p, &q);
}

/* --- places --- */

struct place *places_enter(struct places *p, struct place *place, int64_t uid, bool privileged)
{
	struct place *victim;

	*place = (struct place){.uid = uid, .seated = true, .privileged = privileged};
	place->urgent = !find_ordinary(p, uid, privileged, &victim);
	if (place->urgent) {
		victim = find_urgent(p, uid);
	}
	*(place->urgent ? &p->urgent : &p->ordinary) += 1;
	TAILQ_INSERT_TAIL(&p->all, place, link);
	return victim;
}

void places_leave(struct places *p, struct place *place)
{
	if (!place->seated) {
		return;
	}
	TAILQ_REMOVE(&p->all, place, link);
	*(place->urgent ? &p->urgent : &p->ordinary) -= 1;
	p->waiting -= place->waits;
	place->seated = place->waits = false;
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
	const struct place *other;

	if (place->waits) {
		return;
	}
	place->since = place->turn = ++p->clock;
	TAILQ_FOREACH (other, &p->all, link) {
		if (other->waits && other->uid == place->uid) {
			place->turn = other->turn;
			break;
		}
	}
	place->waits = true;
	p->waiting++;
}

static bool is_before(const struct place *a, const struct place *b)
{
	if (a->turn != b->turn) {
		return a->turn < b->turn;
	}
	return age(a) != age(b) ? age(a) < age(b) : a->since < b->since;
}

struct place *places_next(struct places *p)
{
	struct place *place, *first = NULL;

	TAILQ_FOREACH (place, &p->all, link) {
		if (place->waits && (!first || is_before(place, first))) {
			first = place;
		}
	}
	if (!first) {
		return NULL;
	}
	first->waits = false;
	p->waiting--;
	p->clock++;
	TAILQ_FOREACH (place, &p->all, link) {
		if (place->waits && place->uid == first->uid) {
			place->turn = p->clock; /* behind all other users */
		}
	}
	return first;
}
