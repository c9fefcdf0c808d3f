/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compares what the floors sent with what consumers received and with the ledger's losses: see truth_book.h.
 *
 * Per link a page: the truth's records by floor frame and by board count (direct tables: the numbers are
 * dense), and per frame and stream a mark of what was seen. Records that differ are kept until all is
 * read: whether a hit was cut depends on what became of the next frame.
 */
#include "tests/system/truth_book.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/system/truth_read.h"

#define NONE	   UINT32_MAX
#define SPAN_MAX   (1ull << 31)
#define CLOCK_LOCK 2u /* enum clock_state: locked */

/* marks */
#define SEEN_GOOD   0x01u
#define SEEN_FRESH  0x02u /* a delivery without RESENT */
#define SEEN_LOST   0x04u /* a block that says the frame is lost */
#define LINK_NAMED  0x08u /* the ledger charges the link with it */
#define DROP_NAMED  0x10u /* the ledger says that a group's policy dropped it */
#define SEEN_DIFFER 0x20u

struct table {
	uint64_t base, span;
	uint32_t *index; /* into the truth; NONE */
};

struct page {
	struct table by_frame, by_count;
	uint8_t *mark[BOOK_STREAMS]; /* by frame */
	uint64_t begun;		     /* first frame that was delivered, of any stream */
};

struct book {
	const uint8_t *map;
	size_t bytes;
	struct truth truth;
	bool ledger; /* there is one: what a block says of a frame must stand in it */
	int64_t drift_ns;
	struct page page[BOOK_LINKS];
	struct book_tally tally[BOOK_LINKS][BOOK_STREAMS];
	struct consumer_record *differing;
	size_t differ, differ_room;
	struct book_example example[BOOK_EXAMPLES];
	unsigned examples;
};

/* ---- tables ---- */

static uint32_t table_get(const struct table *t, uint64_t number)
{
	return number - t->base < t->span ? t->index[number - t->base] : NONE;
}

static int table_make(struct table *t, uint64_t low, uint64_t high)
{
	if (low > high) {
		return 0;
	}
	if (high - low >= SPAN_MAX) {
		return -EBADMSG;
	}
	t->base = low;
	t->span = high - low + 1;
	t->index = malloc(t->span * sizeof(*t->index));
	if (!t->index) {
		return -ENOMEM;
	}
	memset(t->index, 0xff, t->span * sizeof(*t->index));
	return 0;
}

static void table_put(struct table *t, uint64_t number, uint32_t record)
{
	t->index[number - t->base] = record;
}

/* Numbers repeat: where a floor steps back, and where a dark fibre's cells are numbered as if frames had
 * come. The one that can be delivered is the frame that was sent good, the later of two. */
static void frame_put(struct book *b, struct table *t, uint32_t record)
{
	uint64_t number = truth_at(&b->truth, record)->floor_frame;
	uint32_t before = table_get(t, number);

	if (before == NONE || truth_at(&b->truth, before)->fate != TDM_GOOD ||
	    truth_at(&b->truth, record)->fate == TDM_GOOD) {
		table_put(t, number, record);
	}
}

static int index_truth(struct book *b)
{
	uint64_t low[2][BOOK_LINKS], high[2][BOOK_LINKS];
	int r = 0;

	memset(low, 0xff, sizeof(low));
	memset(high, 0, sizeof(high));
	for (uint32_t i = 0; i < b->truth.records; i++) {
		const struct truth_record *t = truth_at(&b->truth, i);
		const uint64_t number[2] = {t->floor_frame, t->count};

		if (t->link >= BOOK_LINKS) {
			return -EBADMSG;
		}
		for (unsigned k = 0; k < 2; k++) {
			low[k][t->link] = number[k] < low[k][t->link] ? number[k] : low[k][t->link];
			high[k][t->link] =
				number[k] > high[k][t->link] ? number[k] : high[k][t->link];
		}
	}
	for (unsigned link = 0; link < BOOK_LINKS && r == 0; link++) {
		struct page *p = &b->page[link];

		r = table_make(&p->by_frame, low[0][link], high[0][link]);
		if (r == 0) {
			r = table_make(&p->by_count, low[1][link], high[1][link]);
		}
		for (unsigned stream = 0; stream < BOOK_STREAMS && r == 0; stream++) {
			p->mark[stream] = calloc(p->by_frame.span + 1, 1);
			r = p->mark[stream] ? 0 : -ENOMEM;
		}
	}
	for (uint32_t i = 0; i < b->truth.records && r == 0; i++) {
		const struct truth_record *t = truth_at(&b->truth, i);

		frame_put(b, &b->page[t->link].by_frame, i);
		table_put(&b->page[t->link].by_count, t->count, i);
	}
	return r;
}

static int map_file(const char *path, const uint8_t **ret_map, size_t *ret_bytes)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), r = 0;
	struct stat st;
	void *map;

	if (fd < 0) {
		return -errno;
	}
	if (fstat(fd, &st) < 0) {
		r = -errno;
	} else if (st.st_size == 0) {
		*ret_map = NULL;
		*ret_bytes = 0;
	} else {
		map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (map == MAP_FAILED) {
			r = -errno;
		} else {
			*ret_map = map;
			*ret_bytes = (size_t)st.st_size;
		}
	}
	close(fd);
	return r;
}

int book_open(const char *path, struct book **ret_book)
{
	struct book *b = calloc(1, sizeof(*b));
	int r = b ? map_file(path, &b->map, &b->bytes) : -ENOMEM;

	if (r < 0) {
		free(b);
		return r;
	}
	r = truth_read(b->map, b->bytes, &b->truth);
	if (r == 0) {
		r = b->truth.records < NONE ? index_truth(b) : -EBADMSG;
	}
	for (unsigned i = 0; i < BOOK_LINKS * BOOK_STREAMS; i++) {
		b->tally[i / BOOK_STREAMS][i % BOOK_STREAMS].first = UINT64_MAX;
		b->page[i / BOOK_STREAMS].begun = UINT64_MAX;
	}
	if (r < 0) {
		book_close(b);
		return r;
	}
	*ret_book = b;
	return 0;
}

void book_close(struct book *b)
{
	if (!b) {
		return;
	}
	for (unsigned link = 0; link < BOOK_LINKS; link++) {
		free(b->page[link].by_frame.index);
		free(b->page[link].by_count.index);
		for (unsigned stream = 0; stream < BOOK_STREAMS; stream++) {
			free(b->page[link].mark[stream]);
		}
	}
	free(b->differing);
	if (b->map) {
		munmap((void *)(uintptr_t)b->map, b->bytes);
	}
	free(b);
}

static void show(struct book *b, const char *what, unsigned link, unsigned stream, uint64_t frame,
		 const struct consumer_record *record, const struct truth_record *truth)
{
	struct book_example *e;

	if (b->examples == BOOK_EXAMPLES) {
		return;
	}
	e = &b->example[b->examples++];
	*e = (struct book_example){.what = what,
				   .link = (uint8_t)link,
				   .stream = (uint8_t)stream,
				   .floor_frame = frame};
	if (record) {
		e->record = *record;
	}
	if (truth) {
		e->truth = *truth;
		e->count = truth->count;
	}
}

/* ---- the ledger ---- */

/* The part of [*first, *end) that the table has. */
static void clip(const struct table *t, uint64_t *first, uint64_t *end)
{
	*first = *first > t->base ? *first : t->base;
	*end = *end < t->base + t->span ? *end : t->base + t->span;
}

static void mark_loss(struct book *b, int kind, unsigned link, const char *stream, uint64_t first,
		      uint64_t frames)
{
	struct page *p = &b->page[link];
	uint64_t end = first + frames;

	clip(kind == 0 ? &p->by_count : &p->by_frame, &first, &end);
	for (uint64_t n = first; n < end; n++) {
		uint32_t i;

		if (kind == 0) {
			i = table_get(&p->by_count, n);
			if (i == NONE ||
			    table_get(&p->by_frame, truth_at(&b->truth, i)->floor_frame) != i) {
				continue; /* the cell of another frame than the one judged */
			}
			for (unsigned s = 0; s < BOOK_STREAMS; s++) {
				p->mark[s][truth_at(&b->truth, i)->floor_frame -
					   p->by_frame.base] |= LINK_NAMED;
			}
		} else if (table_get(&p->by_frame, n) != NONE &&
			   (strcmp(stream, "pmt") == 0 || strcmp(stream, "hydrophone") == 0)) {
			p->mark[strcmp(stream, "pmt") != 0][n - p->by_frame.base] |= DROP_NAMED;
		}
	}
}

int book_add_ledger(struct book *b, const char *path, const char *group, const char **ret_reason)
{
	static char reason[256];
	sqlite3_stmt *rows = NULL;
	sqlite3 *db = NULL;
	int r = sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL);

	if (r == SQLITE_OK) {
		sqlite3_busy_timeout(db, 5000);
		/* A loss that was joined from several has holes up to its end. */
		r = sqlite3_prepare_v2(
			db,
			"SELECT kind, link, stream, first,"
			" coalesce(until - first, frames) FROM loss"
			/* The feed's readers record nothing. */
			" WHERE kind = 0 OR grp = ?1 OR (?1 IS NULL AND grp <> 'tridas')",
			-1, &rows, NULL);
	}
	if (r == SQLITE_OK && group) {
		r = sqlite3_bind_text(rows, 1, group, -1, SQLITE_STATIC);
	}
	while (r == SQLITE_OK || r == SQLITE_ROW) {
		r = sqlite3_step(rows);
		if (r == SQLITE_ROW) {
			int64_t link = sqlite3_column_int64(rows, 1);
			int64_t frames = sqlite3_column_int64(rows, 4);
			const char *stream = (const char *)sqlite3_column_text(rows, 2);

			if (link >= 0 && link < BOOK_LINKS && frames > 0 && stream) {
				mark_loss(b, sqlite3_column_int(rows, 0), (unsigned)link, stream,
					  (uint64_t)sqlite3_column_int64(rows, 3),
					  (uint64_t)frames);
			}
		}
	}
	if (r != SQLITE_DONE) {
		strncpy(reason, sqlite3_errmsg(db), sizeof(reason) - 1);
		*ret_reason = reason;
	}
	sqlite3_finalize(rows);
	sqlite3_close(db);
	b->ledger = true;
	return r == SQLITE_DONE ? 0 : -EIO;
}

/* ---- records ---- */

void book_allow_drift(struct book *b, int64_t ns)
{
	b->drift_ns = ns;
}

static int keep_differing(struct book *b, const struct consumer_record *r)
{
	if (b->differ == b->differ_room) {
		size_t room = b->differ_room ? 2 * b->differ_room : 1024;
		void *more = realloc(b->differing, room * sizeof(*b->differing));

		if (!more) {
			return -ENOMEM;
		}
		b->differing = more;
		b->differ_room = room;
	}
	b->differing[b->differ++] = *r;
	return 0;
}

static bool same_content(const struct consumer_record *r, const struct truth_record *t)
{
	if (r->stream == FCM_HYDROPHONE) {
		return memcmp(r->hash, t->sample_hash, sizeof(t->sample_hash)) == 0;
	}
	return memcmp(r->hits, t->hits, sizeof(t->hits)) == 0 &&
	       memcmp(r->hash, t->hit_hash, sizeof(t->hit_hash)) == 0;
}

static void compare_time(struct book *b, struct book_tally *tally, const struct consumer_record *r,
			 const struct truth_record *t)
{
	int64_t difference;

	tally->time_errors += r->time_errors;
	tally->bad_hits += r->bad_hits;
	if (r->time_errors + r->bad_hits > 0) {
		show(b, "hits with a wrong time of day, or illegal", r->link, r->stream,
		     r->floor_frame, r, t);
	}
	if (r->tai_ns == FCM_NO_TAI) {
		return;
	}
	difference = llabs(r->tai_ns - t->tai_ns);
	tally->tai_max_ns = difference > tally->tai_max_ns ? difference : tally->tai_max_ns;
	if (r->clock_state == CLOCK_LOCK) {
		tally->tai_max_locked_ns = difference > tally->tai_max_locked_ns
						   ? difference
						   : tally->tai_max_locked_ns;
		if (difference > b->drift_ns) {
			tally->tai_errors++;
			show(b, "clock locked, time not the truth's", r->link, r->stream,
			     r->floor_frame, r, t);
		}
	}
}

static int add_good(struct book *b, struct book_tally *tally, const struct consumer_record *r)
{
	struct page *p = &b->page[r->link];
	uint32_t i = table_get(&p->by_frame, r->floor_frame);
	uint8_t *mark;

	if (i == NONE) {
		tally->unknown++;
		show(b, "delivered, not in the truth", r->link, r->stream, r->floor_frame, r, NULL);
		return 0;
	}
	p->begun = r->floor_frame < p->begun ? r->floor_frame : p->begun;
	mark = &p->mark[r->stream][r->floor_frame - p->by_frame.base];
	if (*mark & SEEN_GOOD) {
		tally->repeats++;
		if (*mark & SEEN_FRESH && !(r->flags & RECORD_RESENT)) {
			tally->repeats_unflagged++;
			show(b, "delivered again without RESENT", r->link, r->stream,
			     r->floor_frame, r, truth_at(&b->truth, i));
		}
	}
	*mark |= SEEN_GOOD;
	*mark |= r->flags & RECORD_RESENT ? 0 : SEEN_FRESH;
	compare_time(b, tally, r, truth_at(&b->truth, i));
	if (same_content(r, truth_at(&b->truth, i))) {
		return 0;
	}
	*mark |= SEEN_DIFFER;
	return keep_differing(b, r);
}

static int add_one(struct book *b, const struct consumer_record *r)
{
	struct book_tally *tally;
	struct page *p;

	if (r->magic != RECORD_MAGIC || r->link >= BOOK_LINKS || r->stream >= BOOK_STREAMS) {
		return -EBADMSG;
	}
	tally = &b->tally[r->link][r->stream];
	p = &b->page[r->link];
	tally->tower = r->tower;
	tally->floor = r->floor;
	tally->first = r->floor_frame < tally->first ? r->floor_frame : tally->first;
	tally->last = r->floor_frame > tally->last ? r->floor_frame : tally->last;
	if (r->status == TDM_GOOD) {
		return add_good(b, tally, r);
	}
	if (table_get(&p->by_frame, r->floor_frame) != NONE) {
		p->mark[r->stream][r->floor_frame - p->by_frame.base] |= SEEN_LOST;
	}
	return 0;
}

int book_add_record(struct book *b, const char *path)
{
	const struct consumer_record *record;
	const uint8_t *map = NULL;
	size_t bytes = 0;
	int r = map_file(path, &map, &bytes);

	if (r < 0) {
		return r;
	}
	record = (const struct consumer_record *)(const void *)map;
	for (size_t i = 0; i < bytes / sizeof(*record) && r == 0; i++) {
		r = add_one(b, &record[i]);
	}
	if (map) {
		munmap((void *)(uintptr_t)map, bytes);
	}
	return r;
}

/* ---- the verdict ---- */

/* Each module that differs has one hit less, and the frame that would have brought its tail did not
 * come. */
static bool is_cut(const struct book *b, const struct consumer_record *r,
		   const struct truth_record *t)
{
	const struct page *p = &b->page[r->link];
	uint64_t next = r->floor_frame + 1 - p->by_frame.base;

	if (r->stream != FCM_PMT ||
	    (next < p->by_frame.span && p->mark[FCM_PMT][next] & SEEN_GOOD)) {
		return false;
	}
	for (unsigned m = 0; m < 6; m++) {
		bool same = r->hits[m] == t->hits[m] && r->hash[m] == t->hit_hash[m];

		if (!same && r->hits[m] + 1 != t->hits[m]) {
			return false;
		}
	}
	return true;
}

static void judge_differing(struct book *b)
{
	for (size_t i = 0; i < b->differ; i++) {
		const struct consumer_record *r = &b->differing[i];
		struct book_tally *tally = &b->tally[r->link][r->stream];
		uint32_t t = table_get(&b->page[r->link].by_frame, r->floor_frame);

		if (is_cut(b, r, truth_at(&b->truth, t))) {
			tally->cut++;
		} else {
			tally->different++;
			show(b, "delivered, differs from the truth", r->link, r->stream,
			     r->floor_frame, r, truth_at(&b->truth, t));
		}
	}
}

/* Is it known why the frame was not delivered? The ledger says it; without one, or before the link's ring had begun, the
 * truth and the blocks do. */
static bool loss_is_named(const struct book *b, const struct page *p, uint64_t frame, uint8_t mark,
			  uint8_t fate)
{
	bool known = fate != TDM_GOOD || (!b->ledger && mark & SEEN_LOST);

	return mark & LINK_NAMED || (known && (!b->ledger || frame < p->begun));
}

static void judge_frame(struct book *b, unsigned link, unsigned stream, uint64_t frame)
{
	struct page *p = &b->page[link];
	struct book_tally *tally = &b->tally[link][stream];
	uint32_t i = table_get(&p->by_frame, frame);
	const struct truth_record *t;
	uint8_t mark, fate;

	if (i == NONE) {
		return;
	}
	t = truth_at(&b->truth, i);
	mark = p->mark[stream][frame - p->by_frame.base];
	fate = t->fate < TDM_LOSSES ? t->fate : TDM_GOOD;
	tally->frames++;
	if (mark & SEEN_GOOD) {
		tally->charged += (mark & LINK_NAMED) != 0;
		tally->late += (mark & DROP_NAMED) != 0;
		if (!(mark & SEEN_DIFFER)) {
			tally->equal++;
			tally->unexpected += fate != TDM_GOOD;
			for (unsigned m = 0; stream == FCM_PMT && m < 6; m++) {
				tally->hits += t->hits[m];
			}
			tally->samples += stream == FCM_HYDROPHONE ? 48 : 0;
		}
	} else if (loss_is_named(b, p, frame, mark, fate)) {
		tally->missing[fate]++;
	} else if (mark & DROP_NAMED) {
		tally->dropped++;
	} else {
		tally->unnamed++;
		show(b,
		     mark & SEEN_LOST ? "lost by its block, in no ledger" : "missing, in no ledger",
		     link, stream, frame, NULL, t);
	}
}

void book_judge(struct book *b)
{
	judge_differing(b);
	for (unsigned link = 0; link < BOOK_LINKS; link++) {
		for (unsigned stream = 0; stream < BOOK_STREAMS; stream++) {
			const struct book_tally *t = &b->tally[link][stream];
			uint64_t first = t->first, end = t->last + 1;

			clip(&b->page[link].by_frame, &first, &end);
			for (uint64_t f = first; f < end; f++) {
				judge_frame(b, link, stream, f);
			}
		}
	}
}

const struct book_tally *book_tally(const struct book *b, unsigned link, unsigned stream)
{
	return &b->tally[link][stream];
}

uint64_t book_errors(const struct book_tally *t)
{
	return t->different + t->unnamed + t->repeats_unflagged + t->unknown + t->tai_errors +
	       t->time_errors + t->bad_hits;
}

unsigned book_examples(const struct book *b, const struct book_example **ret_examples)
{
	*ret_examples = b->example;
	return b->examples;
}
