/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A floor's hits and the places of its readers, see line.h. */
#include "daemon/feed/line.h"

#include <assert.h>

#include "tdm/hit.h"

_Static_assert((FEED_LINE_BLOCKS & (FEED_LINE_BLOCKS - 1)) == 0, "a power of two");

/* The channels' data lie one behind the other, whole hits each. */
size_t feed_block_bytes(const struct block *b)
{
	const struct fcm_block_header *h = &b->header;

	return h->channels ? h->channel_offset[h->channels] - h->channel_offset[0] : 0;
}

static uint8_t *hits_of(const struct feed_entry *e)
{
	return e->block->payload + e->block->header.channel_offset[0];
}

/* The last border of a hit from `from` on, a border, up to `to`, which lies before the end of the hits. */
static size_t last_border(const uint8_t *hits, size_t from, size_t to)
{
	for (size_t next = from; next <= to; next += hit_bytes(hits + next)) {
		from = next;
	}
	return from;
}

/* The place of a block in the line's entries. */
static size_t at(uint64_t number)
{
	return number & (FEED_LINE_BLOCKS - 1);
}

bool feed_line_full(const struct feed_line *line)
{
	return line->newest - line->oldest == FEED_LINE_BLOCKS;
}

void feed_line_append(struct feed_line *line, struct block *b)
{
	assert(!feed_line_full(line) && line->readers > 0);
	line->entry[at(line->newest++)] = (struct feed_entry){
		.block = b,
		.bytes_before = line->bytes,
		.frames_before = line->frames,
		.owing = line->readers,
	};
	line->bytes += feed_block_bytes(b);
	line->frames += b->header.frames;
}

struct block *feed_line_settled(const struct feed_line *line, enum outcome *ret_outcome)
{
	const struct feed_entry *e = &line->entry[at(line->oldest)];

	if (line->oldest == line->newest || e->owing > 0) {
		return NULL;
	}
	*ret_outcome = e->charged   ? (enum outcome)e->charged
		       : e->written ? OUTCOME_ACKED
				    : OUTCOME_DROP_NO_MEMBER;
	return e->block;
}

struct block *feed_line_oldest(const struct feed_line *line)
{
	return line->oldest == line->newest ? NULL : line->entry[at(line->oldest)].block;
}

void feed_line_pop(struct feed_line *line)
{
	assert(line->oldest < line->newest && line->entry[at(line->oldest)].owing == 0);
	line->oldest++;
}

void feed_line_join(struct feed_line *line, struct feed_place *ret_place)
{
	line->readers++;
	*ret_place = (struct feed_place){
		.at = line->newest,
		.bytes = line->bytes,
		.border = line->bytes,
	};
}

uint64_t feed_line_leave(struct feed_line *line, const struct feed_place *place,
			 enum outcome charged)
{
	uint64_t frames = feed_line_behind_frames(line, place);

	for (uint64_t n = place->at; n < line->newest; n++) {
		struct feed_entry *e = &line->entry[at(n)];

		e->owing--;
		e->charged = charged ? (uint8_t)charged : e->charged;
	}
	line->readers--;
	return frames;
}

unsigned feed_line_look(const struct feed_line *line, const struct feed_place *place, size_t room,
			struct iovec *ret_pieces, unsigned max)
{
	unsigned count = 0;

	for (uint64_t n = place->at; n < line->newest && count < max; n++) {
		const struct feed_entry *e = &line->entry[at(n)];
		size_t bytes = feed_block_bytes(e->block), end = bytes, done = 0, border = 0;

		if (n == place->at) {
			done = (size_t)(place->bytes - e->bytes_before);
			border = (size_t)(place->border - e->bytes_before);
		}
		if (bytes - done > room) {
			end = last_border(hits_of(e), border, done + room);
		}
		if (end > done) {
			ret_pieces[count++] = (struct iovec){hits_of(e) + done, end - done};
		}
		if (end < bytes) {
			break;
		}
		room -= bytes - done;
	}
	return count;
}

static void find_border(const struct feed_line *line, struct feed_place *place)
{
	const struct feed_entry *e = &line->entry[at(place->at)];

	if (place->border < place->bytes) {
		place->border = e->bytes_before +
				last_border(hits_of(e), (size_t)(place->border - e->bytes_before),
					    (size_t)(place->bytes - e->bytes_before));
	}
}

uint64_t feed_line_wrote(struct feed_line *line, struct feed_place *place, size_t bytes)
{
	uint64_t hits = 0;

	place->bytes += bytes;
	assert(place->bytes <= line->bytes);
	while (place->at < line->newest) {
		struct feed_entry *e = &line->entry[at(place->at)];

		if (e->bytes_before + feed_block_bytes(e->block) > place->bytes) {
			break;
		}
		e->owing--;
		e->written = true;
		hits += e->block->header.items;
		place->at++;
		place->border = e->bytes_before + feed_block_bytes(e->block);
	}
	find_border(line, place);
	return hits;
}

size_t feed_line_cut(const struct feed_line *line, const struct feed_place *place,
		     const uint8_t **ret_rest)
{
	const struct feed_entry *e = &line->entry[at(place->at)];
	size_t written = (size_t)(place->bytes - place->border);
	const uint8_t *hit;

	if (written == 0) {
		return 0;
	}
	hit = hits_of(e) + (place->border - e->bytes_before);
	*ret_rest = hit + written;
	return hit_bytes(hit) - written;
}

uint64_t feed_line_behind_bytes(const struct feed_line *line, const struct feed_place *place)
{
	return line->bytes - place->bytes;
}

uint64_t feed_line_behind_frames(const struct feed_line *line, const struct feed_place *place)
{
	return place->at < line->newest ? line->frames - line->entry[at(place->at)].frames_before
					: 0;
}

bool feed_line_at_newest(const struct feed_line *line, const struct feed_place *place)
{
	return place->at + 1 >= line->newest;
}

uint64_t feed_line_held_bytes(const struct feed_line *line)
{
	return line->oldest == line->newest
		       ? 0
		       : line->bytes - line->entry[at(line->oldest)].bytes_before;
}
