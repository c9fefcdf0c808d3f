/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sequences: each is used once on a floor, even if the journal is lost. Commands take theirs with
 * their row; those of reads are reserved ahead, in blocks. A journal that is new, or was restored
 * from a copy, does not know what was sent since: before the first word of a command leaves, the
 * FCM is asked for the largest sequence that it remembers, and what follows goes on behind that.
 * See private.h.
 */
#include "slowctl/engine/private.h"

/* ------------------------------------------------------------------ reserved in the journal */

/* Half a block is kept reserved ahead. */
bool link_wants_sequences(const struct engine *e, const struct link *l)
{
	return l->configured && !e->journal_lost && !l->reserve_cookie &&
	       l->reserved_until != UINT32_MAX && l->next_sequence <= UINT32_MAX &&
	       l->next_sequence + e->config.sequence_block / 2 > l->reserved_until;
}

void sequences_reserve(struct engine *e, struct link *l)
{
	uint64_t until = l->next_sequence + e->config.sequence_block;

	/* A journal that does not answer takes no reservations. */
	l->unreserved = l->unreserved || (l->reserve_cookie && past(e, l->reserve_by));
	if (!link_wants_sequences(e, l) || !past(e, l->reserve_again)) {
		return;
	}
	l->reserving_until = until < UINT32_MAX ? until : UINT32_MAX;
	l->reserve_cookie = engine_cookie(e);
	l->reserve_by = e->now.mono_ns + JOURNAL_WAIT;
	row_make(engine_store(e, STORE_BEFORE_USE, l->reserve_cookie), ROW_SEQUENCE,
		 ROW_VI(l->tower), ROW_VI(l->floor), ROW_VI(l->reserving_until));
}

/* Whether more than `kept` are left. */
static bool sequence_left(const struct link *l, uint64_t kept)
{
	return l->next_sequence + kept <= (l->unreserved ? UINT32_MAX : l->reserved_until);
}

uint32_t sequence_for_read(struct engine *e, struct link *l, bool poll)
{
	return sequence_left(l, poll ? READS_KEPT : 0) ? journal_new_sequence(e, l) : 0;
}

struct link *sequences_stored(struct engine *e, uint64_t cookie, int result)
{
	for (struct link *l = e->links; l < e->links + PARAM_LINKS; l++) {
		if (l->reserve_cookie != cookie) {
			continue;
		}
		l->reserve_cookie = 0;
		l->unreserved = result < 0;
		if (result < 0) {
			l->reserve_again = e->now.mono_ns + SECOND;
		} else {
			l->reserved_until = l->reserving_until;
		}
		return l;
	}
	return NULL;
}

/* ------------------------------------------------------------------ what the FCM remembers */

bool sequences_wait(const struct link *l)
{
	return !l->numbered && sequence_left(l, 0);
}

void sequences_ask(struct engine *e, struct link *l)
{
	struct word w = {.op = WORD_QUERY, .module = WORD_MODULE_FCM};

	if (!sequences_wait(l) || !past(e, l->number_again)) {
		return;
	}
	if (l->number_flight) {
		l->timeouts++;
		l->silent++;
	}
	w.sequence = l->number_flight = sequence_for_read(e, l, false);
	l->number_cookie = link_send(e, l, &w);
	l->asked_since = l->asked_since ? l->asked_since : e->now.mono_ns;
	l->number_again =
		e->now.mono_ns + (l->silent >= MUTE_TIMEOUTS ? SECOND : e->config.timeout_ms * MS);
}

/* The FCM remembers no sequence beyond its largest. If that largest is beyond those our journal has
 * used, another journal has used this floor. That may also stay unnoticed: where our words were
 * lost, or reads have used sequences, others start below our next one. So each command that was not
 * sent yet and is not beyond the largest is queried by itself; urgent commands that overtake make
 * that necessary, too. */
static void note_remembered(struct link *l, const struct word *w)
{
	uint32_t newest = w->status == WORD_OK ? (uint32_t)w->value : 0;
	struct command *c;

	l->number_flight = 0;
	l->asked_since = 0;
	l->numbered = true;
	l->remembered = newest;
	if (newest >= l->next_sequence) {
		l->others_until = newest;
		l->next_sequence = (uint64_t)newest + 1;
	}
	TAILQ_FOREACH (c, &l->open, next) {
		c->free = false;
	}
}

bool sequence_free(struct engine *e, const struct link *l, struct command *c)
{
	if (c->want != WANT_COMMAND || !unsent(c)) {
		return true;
	}
	if (c->sequence <= l->others_until) {
		command_number_taken(e, c);
		return false;
	}
	if (!c->free && c->sequence <= l->remembered) {
		c->want = WANT_QUERY;
	}
	return true;
}

bool sequences_reply(struct link *l, const struct word *w)
{
	if (w->op != (WORD_QUERY | WORD_REPLY) || !l->number_flight ||
	    w->sequence != l->number_flight) {
		return false;
	}
	note_remembered(l, w);
	return true;
}

bool sequences_not_sent(struct engine *e, struct link *l, uint64_t cookie)
{
	if (!l->number_flight || l->number_cookie != cookie) {
		return false;
	}
	l->send_failures++;
	l->number_flight = 0;
	l->number_again = e->now.mono_ns + 50 * MS;
	return true;
}

void sequences_forget(struct link *l)
{
	l->numbered = false;
	l->number_flight = 0;
	l->asked_since = 0;
	l->number_again = 0;
}
