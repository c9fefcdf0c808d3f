/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A consumer's checks, see consumer_check.h.
 *
 * A track per link, floor, stream and DMA epoch holds one bit per frame ever seen: repeats are found however
 * late they come, with any block length.
 */
#include "tests/system/consumer_check.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "tdm/frame.h"
#include "tests/system/stamped_hit.h"

#define TRACKS_MAX     256u
#define TRACK_BEFORE   (1u << 19) /* frames kept before the first seen: redelivered ones are older */
#define TRACK_MAX      (1ull << 30) /* frames: a day and a half; bytes: 128 MiB */
#define RECORD_BUFFER  8192u
#define SLICE_MS       200
#define EPOCH_2000_S   946684800
#define SECOND_NS      1000000000ll
#define LABEL_OFF_NS   1000000 /* worse is a wrong label, not an uncertain one */
#define HITS_BYTES_MAX (TDM_PMT_STREAM + HIT_MAX_BYTES)

struct track {
	uint8_t link, tower, floor, stream;
	uint32_t dma_epoch;
	uint64_t base; /* frame of bit 0 */
	uint64_t first, end, seen;
	uint64_t bits; /* allocated */
	uint8_t *map;
};

struct consumer_check {
	int32_t tai_utc_s;
	int64_t leap_utc_s; /* the midnight after a leap second; INT64_MAX: there is none */
	enum hit_day_origin origin;
	struct consumer_counts counts;
	struct track track[TRACKS_MAX];
	unsigned tracks, last_track;
	int64_t stamp_second; /* TAI; `stamp` is of it, stamp_before of the one before */
	struct hit_stamp stamp, stamp_before;
	uint8_t scratch[HITS_BYTES_MAX];
	int record_fd;
	unsigned records;
	struct consumer_record record[RECORD_BUFFER];
};

struct consumer_check *consumer_check_create(int32_t tai_utc_s, int64_t leap_utc_s,
					     enum hit_day_origin origin, int record_fd)
{
	struct consumer_check *c = calloc(1, sizeof(*c));

	if (c) {
		c->tai_utc_s = tai_utc_s;
		c->leap_utc_s = leap_utc_s;
		c->origin = origin;
		c->record_fd = record_fd;
		c->stamp_second = INT64_MIN;
	}
	return c;
}

void consumer_check_destroy(struct consumer_check *c)
{
	for (unsigned i = 0; c && i < c->tracks; i++) {
		free(c->track[i].map);
	}
	free(c);
}

/* ---- repeats ---- */

static bool track_is(const struct track *t, const struct fcm_block_header *h)
{
	return t->link == h->link && t->tower == h->tower && t->floor == h->floor &&
	       t->stream == h->stream && t->dma_epoch == h->dma_epoch;
}

static struct track *track_of(struct consumer_check *c, const struct fcm_block_header *h)
{
	struct track *t;

	for (unsigned i = 0; i < c->tracks; i++) {
		t = &c->track[(c->last_track + i) % c->tracks];
		if (track_is(t, h)) {
			c->last_track = (unsigned)(t - c->track);
			return t;
		}
	}
	if (c->tracks == TRACKS_MAX) {
		return NULL;
	}
	c->last_track = c->tracks;
	t = &c->track[c->tracks++];
	*t = (struct track){.link = h->link,
			    .tower = h->tower,
			    .floor = h->floor,
			    .stream = h->stream,
			    .dma_epoch = h->dma_epoch,
			    .base = h->first_frame > TRACK_BEFORE ? h->first_frame - TRACK_BEFORE
								  : 0,
			    .first = UINT64_MAX};
	return t;
}

static bool track_grow(struct track *t, uint64_t needed)
{
	uint64_t bits = t->bits ? t->bits : 1u << 16;
	uint8_t *map;

	while (bits < needed) {
		bits *= 2;
	}
	if (bits > TRACK_MAX) {
		return false;
	}
	map = realloc(t->map, bits / 8);
	if (!map) {
		return false;
	}
	memset(map + t->bits / 8, 0, (bits - t->bits) / 8);
	t->map = map;
	t->bits = bits;
	return true;
}

/* Number of these frames that were seen before; -1 when they are too far off to be remembered. */
static int track_mark(struct track *t, uint64_t first, uint32_t frames)
{
	uint64_t bit = first - t->base;
	int before = 0;

	if (first < t->base || (bit + frames > t->bits && !track_grow(t, bit + frames))) {
		return -1;
	}
	for (uint64_t end = bit + frames; bit < end; bit++) {
		before += t->map[bit / 8] >> (bit % 8) & 1;
		t->map[bit / 8] |= (uint8_t)(1u << (bit % 8));
	}
	t->seen += frames - (uint32_t)before;
	t->first = first < t->first ? first : t->first;
	t->end = first + frames > t->end ? first + frames : t->end;
	return before;
}

static void check_repeat(struct consumer_check *c, const struct fcmdata_block *b)
{
	const struct fcm_block_header *h = &b->header;
	bool flagged = h->flags & FCM_BLOCK_RESENT;
	struct track *t = track_of(c, h);
	int before = t ? track_mark(t, h->first_frame, h->frames) : -1;
	bool repeat = before == (int)h->frames;

	c->counts.malformed += before < 0;
	c->counts.resent += flagged;
	c->counts.repeats += repeat;
	c->counts.partly += before > 0 && !repeat;
	c->counts.repeats_unflagged += before > 0 && !flagged;
	c->counts.misjudged += (b->repeat || b->again) != (repeat && flagged);
}

/* ---- time ---- */

/* TAI of the block's first frame as labelled, without the cable delay that the header says was added. */
static int64_t labelled_tai_ns(const struct fcm_block_header *h)
{
	return h->tai_ns - h->cable_delay_ns;
}

/* TAI of the second of the board's count in which the block lies. A label may be off the border of seconds
 * by what its source is worth; `*ret_off_ns` says how far. */
static int64_t block_tai_s(const struct fcm_block_header *h, int64_t *ret_off_ns)
{
	int64_t begin_ns = labelled_tai_ns(h) -
			   (int64_t)(h->first_frame % TDM_FRAMES_PER_SECOND) * TDM_FRAME_NS;
	int64_t tai_s = (begin_ns + SECOND_NS / 2) / SECOND_NS;

	*ret_off_ns = begin_ns - tai_s * SECOND_NS;
	return tai_s;
}

/* UTC since 1970, without leap seconds: 23:59:60 has the number of the next midnight. */
static int64_t utc_s(const struct consumer_check *c, int64_t tai_s)
{
	int64_t utc = tai_s - c->tai_utc_s;

	return utc - (utc > c->leap_utc_s);
}

/* As hits say it: 23:59:60 is a second 23:59:59. */
static int64_t hit_utc_s(const struct consumer_check *c, int64_t tai_s)
{
	return utc_s(c, tai_s) - (tai_s - c->tai_utc_s == c->leap_utc_s);
}

static bool has_time(const struct fcm_block_header *h)
{
	return !(h->flags & FCM_BLOCK_NO_TIME) && h->tai_ns != FCM_NO_TAI;
}

/* The slice id is the label's, seconds begin where the frame counter does, and no slice's border
 * lies inside. */
static void check_label(struct consumer_check *c, const struct fcm_block_header *h)
{
	int64_t off_ns, ms;

	c->counts.fifo_full += (h->flags & FCM_BLOCK_FIFO_FULL) != 0;
	if (!has_time(h)) {
		c->counts.no_time++;
		return;
	}
	ms = (utc_s(c, block_tai_s(h, &off_ns)) - EPOCH_2000_S) * 1000 +
	     (int64_t)(h->first_frame % TDM_FRAMES_PER_SECOND / FCM_SLICE_FRAMES) * SLICE_MS;
	if (ms < 0 || h->slice_id != (uint64_t)(ms / SLICE_MS) || llabs(off_ns) > LABEL_OFF_NS ||
	    h->first_frame / FCM_SLICE_FRAMES !=
		    (h->first_frame + h->frames - 1) / FCM_SLICE_FRAMES) {
		c->counts.label_errors++;
	}
}

/* The stamps a hit may carry in a frame of this second. */
static void prepare_stamps(struct consumer_check *c, int64_t tai_s)
{
	if (tai_s != c->stamp_second) {
		hit_stamp_of(hit_utc_s(c, tai_s), c->origin, &c->stamp);
		hit_stamp_of(hit_utc_s(c, tai_s - 1), c->origin, &c->stamp_before);
		c->stamp_second = tai_s;
	}
}

static bool stamp_right(const struct consumer_check *c, const uint8_t *bytes, unsigned carrier)
{
	const struct hit_stamp *s;
	struct hit hit;

	hit_unpack(bytes, &hit);
	s = hit_second_offset(hit.frame, carrier) == 0 ? &c->stamp : &c->stamp_before;
	return hit.second == s->second && hit.day_bcd == s->day_bcd && hit.year_bcd == s->year_bcd;
}

/* ---- frames ---- */

/* The hits of one module in one frame: count, hash, time of day. */
static void check_hits(struct consumer_check *c, const uint8_t *data, size_t bytes, bool timed,
		       unsigned channel, struct consumer_record *record)
{
	unsigned carrier = (unsigned)(record->floor_frame % TDM_FRAMES_PER_SECOND);
	size_t at = 0;

	if (bytes == 0) {
		return;
	}
	if (bytes > sizeof(c->scratch)) {
		record->bad_hits++;
		return;
	}
	memcpy(c->scratch, data, bytes);
	while (at + HIT_HEADER_BYTES <= bytes && hit_legal(data + at) &&
	       at + hit_bytes(data + at) <= bytes) {
		if (timed &&
		    (!hit_legal_stamped(data + at) || !stamp_right(c, data + at, carrier))) {
			record->time_errors++;
		}
		hit_unstamp(c->scratch + at);
		at += hit_bytes(data + at);
		record->hits[channel]++;
	}
	record->bad_hits = (uint16_t)(record->bad_hits + (at != bytes));
	record->hash[channel] = XXH3_64bits(c->scratch, bytes);
}

static void check_channels(struct consumer_check *c, const struct fcmdata_block *b, uint32_t f,
			   struct consumer_record *record)
{
	const uint8_t *data;

	for (unsigned channel = 0; channel < b->header.channels; channel++) {
		size_t bytes = (size_t)fcmdata_bytes(b, channel, f, &data);

		if (b->header.stream == FCM_PMT) {
			check_hits(c, data, bytes, record->tai_ns != FCM_NO_TAI, channel, record);
			c->counts.hits += record->hits[channel];
		} else if (b->header.stream == FCM_HYDROPHONE && bytes > 0) {
			record->hash[channel] = XXH3_64bits(data, bytes);
			record->bad_hits =
				(uint16_t)(record->bad_hits + (bytes != TDM_SAMPLES * 4));
			c->counts.samples += bytes / 4;
		}
	}
}

static void check_frame(struct consumer_check *c, const struct fcmdata_block *b, uint32_t f,
			bool repeat)
{
	const struct fcm_block_header *h = &b->header;
	struct consumer_record record = {
		.magic = RECORD_MAGIC,
		.link = h->link,
		.tower = h->tower,
		.floor = h->floor,
		.stream = h->stream,
		.status = (uint8_t)fcmdata_status(b, f),
		.flags = (uint8_t)((h->flags & FCM_BLOCK_RESENT ? RECORD_RESENT : 0) |
				   (repeat ? RECORD_REPEAT : 0)),
		.floor_frame = h->first_frame + f,
		.tai_ns = FCM_NO_TAI,
		.dma_epoch = h->dma_epoch,
		.block_flags = h->flags,
		.uncertainty_ns = h->uncertainty_ns,
		.clock_state = h->clock_state,
		.label_source = h->label_source,
		.sequence = h->sequence,
	};

	if (has_time(h)) {
		record.tai_ns = h->tai_ns + (int64_t)f * TDM_FRAME_NS;
	}
	check_channels(c, b, f, &record);
	c->counts.bad_hits += record.bad_hits;
	c->counts.time_errors += record.time_errors;
	if (c->record_fd >= 0 && h->stream != FCM_INSTRUMENT) {
		c->record[c->records++] = record;
	}
}

static void note_latency(struct consumer_counts *n, const struct fcm_block_header *h, int64_t now)
{
	int64_t ns, bin;

	if (!has_time(h)) {
		return;
	}
	ns = now - h->tai_ns - (int64_t)h->frames * TDM_FRAME_NS;
	bin = ns < 0 ? 0 : ns / (LATENCY_BIN_US * 1000);
	n->latency[bin < LATENCY_BINS ? bin : LATENCY_BINS]++;
	n->latency_min_ns = n->latencies == 0 || ns < n->latency_min_ns ? ns : n->latency_min_ns;
	n->latency_max_ns = n->latencies == 0 || ns > n->latency_max_ns ? ns : n->latency_max_ns;
	n->latencies++;
}

bool consumer_check_block(struct consumer_check *c, const struct fcmdata_block *b,
			  int64_t tai_now_ns)
{
	struct consumer_counts *n = &c->counts;
	const struct fcm_block_header *h = &b->header;
	bool repeat = b->repeat || b->again;

	n->blocks++;
	n->bytes += sizeof(*h) + h->payload_bytes;
	n->frames += h->frames;
	n->frames_lost += h->frames_lost;
	n->frames_bad += h->frames_bad;
	n->instrument_records += h->stream == FCM_INSTRUMENT ? h->items : 0;
	if (h->stream == FCM_PMT) {
		n->link_frames[h->link] += h->frames;
	}
	check_repeat(c, b);
	check_label(c, h);
	note_latency(n, h, tai_now_ns);
	if (has_time(h)) {
		int64_t off_ns;

		prepare_stamps(c, block_tai_s(h, &off_ns));
	}
	for (uint32_t f = 0; f < h->frames; f++) {
		if (c->records == RECORD_BUFFER && consumer_check_flush(c) < 0) {
			return false;
		}
		check_frame(c, b, f, repeat);
	}
	return true;
}

int consumer_check_flush(struct consumer_check *c)
{
	const uint8_t *bytes = (const uint8_t *)c->record;
	size_t left = c->records * sizeof(c->record[0]);

	while (left > 0) {
		ssize_t n = write(c->record_fd, bytes, left);

		if (n < 0 && errno != EINTR) {
			return -errno;
		}
		if (n > 0) {
			bytes += n;
			left -= (size_t)n;
		}
	}
	c->records = 0;
	return 0;
}

const struct consumer_counts *consumer_check_counts(struct consumer_check *c)
{
	c->counts.gaps = 0;
	for (unsigned i = 0; i < c->tracks; i++) {
		const struct track *t = &c->track[i];

		if (t->seen > 0) {
			c->counts.gaps += t->end - t->first - t->seen;
		}
	}
	return &c->counts;
}

int64_t consumer_check_latency(const struct consumer_counts *counts, double share)
{
	uint64_t below = 0, wanted = (uint64_t)(share * (double)counts->latencies);

	for (unsigned bin = 0; bin <= LATENCY_BINS; bin++) {
		below += counts->latency[bin];
		if (below > 0 && below >= wanted) {
			return (int64_t)(bin + 1) * LATENCY_BIN_US * 1000;
		}
	}
	return 0;
}
