/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Finds repeats and gaps in the blocks that a consumer receives. No I/O.
 *
 * Repeats are found with a `track`; there is one for each combination of link, floor, stream, DMA epoch and block
 * length. For the last WINDOW sequence numbers it holds: received by this handle (`seen`), acknowledged by the caller
 * (`acked`), expected by the daemon to be acknowledged (`owed`). A repeat has the flag RESENT, and exactly the frames
 * of the block before: where the block length was changed, no block repeats another in part. A number that comes again
 * without the flag (to a monitor: any number that goes back) means that the board was reset or switched off, and its
 * counts have restarted.
 *
 * Gaps are found with a `line`; there is one for each link and stream, whichever floor is on the link. It holds the
 * frame up to which blocks have come. The daemon sends a link's blocks of one stream to a member in order; only a block
 * that another member left unacknowledged comes late. So a hole that begins in a slice is this member's loss up to the
 * slice's end, if
 *   - the block before it and the one after it came in the same membership: otherwise the slice may have
 *     been given to other members in between,
 *   - the block before it was not sent to another member earlier: otherwise others may have acknowledged what follows,
 *   - and both have the same label: slices are cut by it.
 * After the slice's end the frames belong to other members. A sole member has lost the whole hole, unless the block
 * before it was sent earlier: an earlier membership may have acknowledged what follows, so that it does not come again.
 * A monitor has lost all that it misses. Nothing is certain where the floor's numbering moved (STEP): there may never
 * have been such frames.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/consumer/fcmdata_private.h"

#define WINDOW	   65536u /* sequences: 65 s of 1 ms blocks; rings hold a few s */
#define WORDS	   (WINDOW / 64)
#define TRACKS_MAX 128u /* 4 links x 3 streams, swapped floors, former DMA epochs and lengths */

struct map {
	uint64_t word[WORDS];
};

struct track {
	struct fcm_ack key; /* sequence: only the epoch's bits; block_frames 0: unknown */
	uint64_t top;	    /* sequences [top - WINDOW, top) are remembered; 0: none */
	uint64_t used;	    /* when it was used last, in blocks */
	struct map *map;    /* MAPS of them; anything may be in them while top is 0 */
};
enum { SEEN, ACKED, OWED, MAPS };

struct line {
	bool known;
	uint32_t dma_epoch, time_epoch, membership;
	bool no_time, resent;	  /* of the block at its end */
	uint64_t last_first, end; /* frames: where that block begins and ends */
};

struct tracks {
	enum tracks_of of;
	uint32_t membership;
	uint64_t blocks;
	unsigned count, last;
	struct track track[TRACKS_MAX];
	struct line line[FCM_LINKS][FCM_STREAMS];
};

struct tracks *libfcmdata_tracks_create(enum tracks_of of)
{
	struct tracks *t = calloc(1, sizeof(*t));

	if (t) {
		t->of = of;
	}
	return t;
}

void libfcmdata_tracks_destroy(struct tracks *t)
{
	for (unsigned i = 0; t && i < t->count; i++) {
		free(t->track[i].map);
	}
	free(t);
}

void libfcmdata_tracks_restart(struct tracks *t)
{
	t->membership++;
	for (unsigned i = 0; i < t->count; i++) {
		memset(&t->track[i].map[OWED], 0, sizeof(struct map));
	}
}

/* ---- repeats ---- */

/* Of any length. */
static bool of_stream(const struct track *t, const struct fcm_ack *key)
{
	return t->key.sequence == key->sequence >> FCM_SEQUENCE_BITS &&
	       t->key.stream == key->stream && t->key.link == key->link &&
	       t->key.tower == key->tower && t->key.floor == key->floor;
}

/* Where one of the two has no length, the last used one that matches. */
static struct track *find(struct tracks *t, const struct fcm_ack *key)
{
	struct track *meant = NULL;

	for (unsigned i = 0; i < t->count; i++) {
		unsigned k = (t->last + i) % t->count;
		struct track *it = &t->track[k];

		if (!of_stream(it, key)) {
			continue;
		}
		if (it->key.block_frames == key->block_frames) {
			t->last = k;
			return it;
		}
		if ((!it->key.block_frames || !key->block_frames) &&
		    (!meant || it->used > meant->used)) {
			meant = it;
		}
	}
	if (meant && !meant->key.block_frames) {
		meant->key.block_frames = key->block_frames;
	}
	return meant;
}

/* Another one, or the one unused for longest. */
static struct track *find_or_make(struct tracks *t, const struct fcm_ack *key)
{
	struct track *found = find(t, key);
	struct map *map;

	if (found) {
		return found;
	}
	if (t->count < TRACKS_MAX) {
		map = malloc(MAPS * sizeof(*map));
		if (!map) {
			return NULL;
		}
		found = &t->track[t->count++];
	} else {
		found = &t->track[0];
		for (unsigned i = 1; i < t->count; i++) {
			found = t->track[i].used < found->used ? &t->track[i] : found;
		}
		map = found->map;
	}
	*found = (struct track){.key = *key, .map = map};
	found->key.sequence = key->sequence >> FCM_SEQUENCE_BITS;
	t->last = (unsigned)(found - t->track);
	return found;
}

static bool get(const struct track *t, unsigned map, uint64_t n)
{
	return t->map[map].word[n % WINDOW / 64] >> (n % 64) & 1;
}

static void put(struct track *t, unsigned map, uint64_t n, bool value)
{
	uint64_t *word = &t->map[map].word[n % WINDOW / 64], bit = 1ull << (n % 64);

	*word = value ? *word | bit : *word & ~bit;
}

/* Blocks of every length. */
static void forget_stream(struct tracks *t, const struct fcm_ack *key)
{
	for (unsigned i = 0; i < t->count; i++) {
		if (of_stream(&t->track[i], key)) {
			t->track[i].top = 0;
		}
	}
}

static bool inside(const struct track *t, uint64_t n)
{
	return n < t->top && t->top - n <= WINDOW;
}

/* Room for sequence `n` at the window's upper end. */
static void raise_top(struct track *t, uint64_t n)
{
	if (n >= t->top + WINDOW || t->top == 0) {
		memset(t->map, 0, MAPS * sizeof(*t->map));
		t->top = n + 1;
	}
	for (; t->top <= n; t->top++) {
		for (unsigned map = 0; map < MAPS; map++) {
			put(t, map, t->top, false);
		}
	}
}

/* The block's number again without RESENT, or from before the window: the board was restarted. A monitor gets blocks in
 * order: any number that goes back is enough. */
static bool another_life(const struct tracks *all, const struct track *t,
			 const struct fcm_block_header *h, uint64_t n)
{
	return !(h->flags & FCM_BLOCK_RESENT) && n < t->top &&
	       (all->of == TRACKS_MONITOR || !inside(t, n) || get(t, SEEN, n));
}

/* False: the stream's tracks restart, and the line with them. */
static bool note(struct tracks *all, struct track *t, bool owed, struct fcmdata_block *b)
{
	const struct fcm_block_header *h = &b->header;
	uint64_t n = h->sequence & FCM_SEQUENCE_MASK;
	bool goes_on = !another_life(all, t, h, n);

	if (!goes_on) {
		forget_stream(all, &b->key);
	}
	if (n >= t->top) {
		raise_top(t, n);
	} else if (!inside(t, n)) {
		return goes_on; /* too old to know */
	}
	b->repeat = get(t, ACKED, n);
	b->again = !b->repeat && get(t, SEEN, n);
	put(t, SEEN, n, true);
	put(t, OWED, n, owed);
	return goes_on;
}

bool libfcmdata_tracks_ack(struct tracks *t, const struct fcm_ack *key)
{
	struct track *of = find(t, key);
	uint64_t n = key->sequence & FCM_SEQUENCE_MASK;
	bool owed;

	if (!of || (n < of->top && !inside(of, n))) {
		return true; /* forgotten: the daemon will know */
	}
	if (n >= of->top) {
		return false; /* never had */
	}
	owed = get(of, OWED, n);
	put(of, ACKED, n, true);
	put(of, OWED, n, false);
	return owed;
}

int libfcmdata_tracks_remember(struct tracks *t, const struct fcm_ack *key)
{
	struct track *of = find_or_make(t, key);
	uint64_t n = key->sequence & FCM_SEQUENCE_MASK;

	if (!of) {
		return -ENOMEM;
	}
	if (n >= of->top) {
		raise_top(of, n);
	}
	if (inside(of, n)) {
		put(of, SEEN, n, true);
		put(of, ACKED, n, true);
	}
	of->used = t->blocks;
	return 0;
}

/* ---- gaps ---- */

/* Up to where the frames behind the line's end were this member's for certain. */
static uint64_t ours_until(const struct tracks *t, const struct line *l,
			   const struct fcm_block_header *h)
{
	if (h->flags & FCM_BLOCK_STEP) {
		return l->end;
	}
	if (t->of == TRACKS_MONITOR || (t->of == TRACKS_SOLE && !l->resent)) {
		return UINT64_MAX;
	}
	if (l->membership != t->membership || l->resent || l->time_epoch != h->time_epoch ||
	    l->no_time != ((h->flags & FCM_BLOCK_NO_TIME) != 0)) {
		return l->end;
	}
	return (l->end + FCM_SLICE_FRAMES - 1) / FCM_SLICE_FRAMES * FCM_SLICE_FRAMES;
}

/* A block from before the line's end: what another member has left, or one of two floors' that share
 * their frames. What is missing there is not reported. */
static bool is_behind(const struct line *l, const struct fcm_block_header *h)
{
	return l->known && l->dma_epoch == h->dma_epoch && h->first_frame + h->frames <= l->end;
}

static void measure(struct tracks *t, struct fcmdata_block *b, bool *ret_late)
{
	const struct fcm_block_header *h = &b->header;
	struct line *l = &t->line[h->link][h->stream];
	bool resent = h->flags & FCM_BLOCK_RESENT;

	if (is_behind(l, h)) {
		*ret_late = h->first_frame < l->last_first;
		return;
	}
	if (l->known && l->dma_epoch != h->dma_epoch && resent) {
		return; /* a straggler of a former epoch */
	}
	if (l->known && l->dma_epoch == h->dma_epoch && h->first_frame > l->end) {
		uint64_t until = ours_until(t, l, h);

		b->gap_first = l->end;
		b->gap_frames = h->first_frame - l->end;
		b->gap_lost = (until < h->first_frame ? until : h->first_frame) - l->end;
	}
	*l = (struct line){
		.known = true,
		.dma_epoch = h->dma_epoch,
		.time_epoch = h->time_epoch,
		.membership = t->membership,
		.no_time = h->flags & FCM_BLOCK_NO_TIME,
		.resent = resent,
		.last_first = h->first_frame,
		.end = h->first_frame + h->frames,
	};
}

int libfcmdata_tracks_take(struct tracks *t, bool owed, struct fcmdata_block *b, bool *ret_late)
{
	struct track *of = find_or_make(t, &b->key);

	if (!of) {
		return -ENOMEM;
	}
	of->used = ++t->blocks;
	if (!note(t, of, owed, b)) {
		t->line[b->header.link][b->header.stream].known = false;
	}
	*ret_late = false;
	if (!b->repeat && !b->again) {
		measure(t, b, ret_late);
	}
	return 0;
}
