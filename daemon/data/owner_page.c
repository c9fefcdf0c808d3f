/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The owner page: its layout, and changes that survive a kill at any moment. See owner_page.h.
 *
 * The host's own byte order: the page never leaves the machine. Only a process dies, not the memory, so
 * the order of the program's stores is what counts. A release store keeps what is before it there; a signal
 * fence behind it keeps there what comes later. The CRCs are for the day when that is not all.
 */
#include "daemon/data/owner_page.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "driver/nanet3.h"
#include "tdm/frame.h"

#define MAGIC	     0x4e574f46u /* "FOWN" */
#define VERSION	     4u
#define KEEP_LINKS   6u
#define KEEP_STREAMS 36u

#define COUNT_END      (1ull << 45) /* cells of 139 years */
#define TAI_UTC_MOST_S 1000

struct kept_link {
	struct owner_link_row row;
	_Atomic uint32_t crc; /* 0: empty */
};
struct kept_stream {
	struct owner_stream_row row;
	_Atomic uint32_t crc;
};
/* 20 bytes: what is kept of a run of lost frames. */
struct short_loss {
	uint32_t first_low, first_high;
	uint32_t span; /* from the first to the last, both included */
	uint32_t frames;
	uint8_t what;  /* kind in the high half, code in the low */
	uint8_t where; /* stream, group */
	uint8_t tower, floor;
};
struct kept_loss {
	struct short_loss row;
	_Atomic uint32_t crc;
};
struct copy {
	struct owner_account account;
	uint32_t crc;
	uint32_t reserved;
};
struct page {
	uint32_t magic, version;
	uint8_t groups, group_streams[GROUPS_MAX], reserved[3];
	uint32_t dma_epoch;
	uint32_t head_crc; /* of the above; 0: they are being adopted */
	uint32_t reserved1;
	_Atomic uint64_t active; /* 0 or 1 */
	_Atomic uint64_t sent;
	struct kept_link links[KEEP_LINKS];
	struct kept_stream streams[KEEP_STREAMS];
	struct kept_loss losses[OWNER_LOSSES];
	struct copy copies[2];
};
_Static_assert(sizeof(struct page) <= NANET3_PAGE, "owner page");
_Static_assert(sizeof(struct owner_link_row) == 24, "no padding");
_Static_assert(sizeof(struct owner_stream_row) == 20, "no padding");
_Static_assert(sizeof(struct short_loss) == 20, "no padding");
_Static_assert(sizeof(struct owner_account) % 8 == 0, "no padding");
_Static_assert(offsetof(struct page, copies) % 8 == 0, "aligned copies");

/* Never 0, which means empty. */
static uint32_t crc_of(const void *bytes, size_t length)
{
	uint32_t crc = tdm_crc32c(bytes, length);

	return crc ? crc : 1;
}

/* No store is moved over this. */
static void in_order(void)
{
	atomic_signal_fence(memory_order_seq_cst);
}

static void make_head(struct page *head, const struct owner_config *config, uint32_t dma_epoch)
{
	head->magic = MAGIC;
	head->version = VERSION;
	head->groups = config->groups;
	memcpy(head->group_streams, config->group_streams, sizeof(head->group_streams));
	memset(head->reserved, 0, sizeof(head->reserved));
	head->dma_epoch = dma_epoch;
	head->head_crc = crc_of(head, offsetof(struct page, head_crc));
}

void owner_format(void *page, const struct owner_config *config, uint32_t dma_epoch,
		  const struct owner_account *account)
{
	struct page *p = page;

	memset(p, 0, sizeof(*p));
	in_order();
	make_head(p, config, dma_epoch);
	in_order();
	owner_commit(page, account); /* killed before: no copy is whole */
}

/* --------------------------------------------------------- what an owner may have written */

static bool length_sane(unsigned slice_blocks)
{
	return slice_blocks > 0 && FCM_SLICE_FRAMES % slice_blocks == 0;
}

/* Sums of label and count fit into nanoseconds. */
static bool label_sane(const struct owner_label *l)
{
	return l->from_frame < COUNT_END && l->label.source <= LABEL_EMULATOR &&
	       l->label.state <= CLOCK_FAULT && l->label.anchor_count < COUNT_END &&
	       (l->label.anchor_tai_ns == FCM_NO_TAI ||
		(l->label.anchor_tai_ns >= 0 && l->label.anchor_tai_ns < INT64_MAX / 2)) &&
	       abs(l->label.tai_utc_s) < TAI_UTC_MOST_S;
}

static bool cursor_sane(const struct owner_account *a)
{
	const struct assemble_point *c = &a->cursor;

	if (c->count >= COUNT_END || c->frame > c->count || a->change_frame >= COUNT_END ||
	    a->change_frame % FCM_SLICE_FRAMES != 0 || !length_sane(a->slice_blocks[1]) ||
	    (a->change_frame > 0 && !length_sane(a->slice_blocks[0]))) {
		return false;
	}
	return c->frame % (FCM_SLICE_FRAMES / a->slice_blocks[c->frame >= a->change_frame]) == 0;
}

/* The page was written by another process: its checksums say that it is whole, not that it is true. What goes
 * on with an account relies on this. */
static bool account_sane(const struct owner_account *a)
{
	bool sane = cursor_sane(a) && a->link_rows <= OWNER_LINK_ROWS &&
		    a->stream_rows <= 2 * OWNER_PAIRS && a->labels <= OWNER_LABELS &&
		    a->runs <= OWNER_RUNS && a->loss < TDM_LOSSES &&
		    (a->loss == TDM_GOOD || (a->loss_first <= a->cursor.count &&
					     a->loss_frames <= a->cursor.count - a->loss_first));

	for (unsigned i = 0; sane && i < a->labels; i++) {
		sane = label_sane(&a->label[i]);
	}
	for (unsigned i = 0; sane && i < a->runs; i++) {
		sane = a->run[i].from_frame < COUNT_END;
	}
	return sane;
}

static bool loss_sane(const struct ledger_loss *l)
{
	return l->kind == 0 ? l->code > TDM_GOOD && l->code < TDM_LOSSES
			    : l->kind == 1 && l->code > OUTCOME_ACKED && l->code < OUTCOMES &&
				      l->stream < FCM_STREAMS && l->group < GROUPS_MAX;
}

/* A valid page of this DMA epoch, with any groups: its active copy. */
static int check(const struct page *p, uint32_t dma_epoch, const struct owner_account **ret_account)
{
	uint64_t active = atomic_load_explicit(&p->active, memory_order_acquire);

	if (p->magic == 0) {
		return -ENODATA;
	}
	if (p->magic != MAGIC || p->version != VERSION) {
		return -EPROTO;
	}
	if ((p->head_crc != 0 && p->head_crc != crc_of(p, offsetof(struct page, head_crc))) ||
	    active > 1 ||
	    p->copies[active].crc !=
		    crc_of(&p->copies[active].account, sizeof(p->copies[active].account)) ||
	    !account_sane(&p->copies[active].account) || owner_sent(p) >= COUNT_END) {
		return -EBADMSG;
	}
	if (p->dma_epoch != dma_epoch) {
		return -ESTALE;
	}
	*ret_account = &p->copies[active].account;
	return 0;
}

/* Without what a later version has put into the reserved bytes: it would not be kept up to date. */
static struct owner_account known_part(const struct owner_account *account)
{
	struct owner_account a = *account;

	a.reserved = 0;
	memset(a.cursor.reserved, 0, sizeof(a.cursor.reserved));
	for (unsigned i = 0; i < OWNER_LABELS; i++) {
		a.label[i].label.reserved = 0;
		memset(a.label[i].label.reserved1, 0, sizeof(a.label[i].label.reserved1));
	}
	return a;
}

int owner_load(const void *page, const struct owner_config *config, uint32_t dma_epoch,
	       struct owner_account *ret_account)
{
	const struct owner_account *account;
	struct page wanted;
	int r = check(page, dma_epoch, &account);

	if (r < 0) {
		return r;
	}
	memset(&wanted, 0, offsetof(struct page, active));
	make_head(&wanted, config, dma_epoch);
	/* Killed in owner_adopt(): it is unknown which of its words the head has. */
	if (((const struct page *)page)->head_crc == 0 ||
	    memcmp(page, &wanted, offsetof(struct page, dma_epoch)) != 0) {
		return -EREMCHG;
	}
	*ret_account = known_part(account);
	return 0;
}

/* Whether it is, as far as the page can say, the same group: its name is not there. */
static bool same_group(const struct page *p, const struct owner_config *config, unsigned group)
{
	return group < p->groups && group < config->groups && group < GROUPS_MAX &&
	       p->group_streams[group] == config->group_streams[group];
}

/* Rows and losses of groups that are others now would get others' names. */
static void forget_groups(struct page *p, const struct owner_config *config)
{
	for (unsigned i = 0; i < KEEP_STREAMS; i++) {
		if (!same_group(p, config, p->streams[i].row.group)) {
			atomic_store_explicit(&p->streams[i].crc, 0, memory_order_release);
		}
	}
	for (unsigned i = 0; i < OWNER_LOSSES; i++) {
		const struct short_loss *row = &p->losses[i].row;

		if (row->what >> 4 == 1 && !same_group(p, config, row->where & 0xf)) {
			atomic_store_explicit(&p->losses[i].crc, 0, memory_order_release);
		}
	}
}

int owner_adopt(void *page, const struct owner_config *config, uint32_t dma_epoch,
		struct owner_account *ret_account)
{
	struct page *p = page;
	const struct owner_account *account;
	struct owner_account mine;
	int r = check(page, dma_epoch, &account);

	if (r < 0) {
		return r;
	}
	mine = known_part(account);
	mine.stream_rows = 0;
	for (unsigned i = 0; i < account->stream_rows && i < 2 * OWNER_PAIRS; i++) {
		if (same_group(p, config, account->stream_row[i].group)) {
			mine.stream_row[mine.stream_rows++] = account->stream_row[i];
		}
	}
	/* The pairs differ: what was acknowledged beyond the cursor is sent again. */
	memset(mine.acked, 0, sizeof(mine.acked));
	forget_groups(p, config);
	in_order();
	p->head_crc = 0; /* killed from here on: adopted once more, the same */
	in_order();
	owner_commit(page, &mine);
	make_head(p, config, dma_epoch);
	*ret_account = mine;
	return 0;
}

void owner_commit(void *page, const struct owner_account *account)
{
	struct page *p = page;
	uint64_t other = !atomic_load_explicit(&p->active, memory_order_relaxed);
	struct copy *copy = &p->copies[other];

	memcpy(&copy->account, account, sizeof(*account));
	copy->crc = crc_of(account, sizeof(*account));
	atomic_store_explicit(&p->active, other, memory_order_release);
	/* Whatever relies on the commit (a release, a hand-over) comes behind it. */
	in_order();
}

void owner_set_sent(void *page, uint64_t frame)
{
	struct page *p = page;

	atomic_store_explicit(&p->sent, frame, memory_order_release);
	in_order();
}

uint64_t owner_sent(const void *page)
{
	const struct page *p = page;

	return atomic_load_explicit(&p->sent, memory_order_acquire);
}

/* ---------------------------------------------------------------------------------- short rows */

static uint16_t short_of(uint32_t n)
{
	return n > UINT16_MAX ? UINT16_MAX : (uint16_t)n;
}

void owner_pack_link(const struct ledger_link_row *row, struct owner_link_row *ret_row)
{
	*ret_row = (struct owner_link_row){
		.second = (uint32_t)row->second,
		.cells = short_of(row->cells),
		.tower = row->tower,
		.floor = row->floor,
		.partial = row->partial,
		.restarts = row->restarts,
	};
	for (unsigned i = 0; i < TDM_LOSSES; i++) {
		ret_row->verdicts[i] = short_of(row->verdicts[i]);
	}
}

void owner_unpack_link(const struct owner_link_row *row, uint32_t dma_epoch, uint8_t link,
		       struct ledger_link_row *ret_row)
{
	*ret_row = (struct ledger_link_row){
		.dma_epoch = dma_epoch,
		.cells = row->cells,
		.second = row->second,
		.link = link,
		.tower = row->tower,
		.floor = row->floor,
		.partial = row->partial,
		.restarts = row->restarts,
	};
	for (unsigned i = 0; i < TDM_LOSSES; i++) {
		ret_row->verdicts[i] = row->verdicts[i];
	}
}

void owner_pack_stream(const struct ledger_stream_row *row, struct owner_stream_row *ret_row)
{
	*ret_row = (struct owner_stream_row){
		.second = (uint32_t)row->second,
		.offered = short_of(row->offered),
		.stream = row->stream,
		.group = row->group,
	};
	for (unsigned i = 1; i < OUTCOMES; i++) {
		ret_row->outcome[i - 1] = short_of(row->outcome[i]);
	}
}

void owner_unpack_stream(const struct owner_stream_row *row, uint32_t dma_epoch, uint8_t link,
			 struct ledger_stream_row *ret_row)
{
	uint32_t done = 0;

	*ret_row = (struct ledger_stream_row){
		.dma_epoch = dma_epoch,
		.link = link,
		.stream = row->stream,
		.group = row->group,
		.second = row->second,
		.offered = row->offered,
	};
	for (unsigned i = 1; i < OUTCOMES; i++) {
		ret_row->outcome[i] = row->outcome[i - 1];
		done += row->outcome[i - 1];
	}
	ret_row->in_flight = row->offered > done ? row->offered - done : 0;
}

/* --------------------------------------------------------------------------------- closed rows */

/* 0: the place is empty. A damaged page may have any number there. */
static uint64_t age_of(uint32_t crc, uint64_t number)
{
	return crc ? number + (number < UINT64_MAX) : 0;
}

/* The place of a row: its own from before, else an empty one, else that of the oldest row. */
struct choice {
	unsigned at;
	uint64_t age; /* of what is there; 0: empty */
	bool own;
};

static void consider(struct choice *c, unsigned at, uint64_t age, bool same)
{
	bool own = same && age > 0;

	if (!c->own && (own || age < c->age)) {
		*c = (struct choice){at, age, own};
	}
}

/* A place is empty before its row changes: that must not be moved up. */
static void replace(void *row, _Atomic uint32_t *crc, const void *from, size_t bytes)
{
	atomic_store_explicit(crc, 0, memory_order_release);
	in_order();
	memcpy(row, from, bytes);
	atomic_store_explicit(crc, crc_of(from, bytes), memory_order_release);
}

bool owner_keep_link(void *page, const struct ledger_link_row *row)
{
	struct page *p = page;
	struct choice c = {.age = UINT64_MAX};
	struct owner_link_row packed;

	owner_pack_link(row, &packed);
	for (unsigned i = 0; i < KEEP_LINKS; i++) {
		const struct kept_link *k = &p->links[i];

		consider(&c, i, age_of(k->crc, k->row.second), k->row.second == packed.second);
	}
	replace(&p->links[c.at].row, &p->links[c.at].crc, &packed, sizeof(packed));
	return c.own || c.age == 0;
}

bool owner_keep_stream(void *page, const struct ledger_stream_row *row)
{
	struct page *p = page;
	struct choice c = {.age = UINT64_MAX};
	struct owner_stream_row packed;

	owner_pack_stream(row, &packed);
	for (unsigned i = 0; i < KEEP_STREAMS; i++) {
		const struct kept_stream *k = &p->streams[i];
		bool same = k->row.second == packed.second && k->row.stream == packed.stream &&
			    k->row.group == packed.group;

		consider(&c, i, age_of(k->crc, k->row.second), same);
	}
	replace(&p->streams[c.at].row, &p->streams[c.at].crc, &packed, sizeof(packed));
	return c.own || c.age == 0;
}

void owner_saved(void *page, uint64_t second)
{
	struct page *p = page;

	for (unsigned i = 0; i < KEEP_LINKS; i++) {
		if (p->links[i].crc != 0 && p->links[i].row.second <= second) {
			atomic_store_explicit(&p->links[i].crc, 0, memory_order_release);
		}
	}
	for (unsigned i = 0; i < KEEP_STREAMS; i++) {
		if (p->streams[i].crc != 0 && p->streams[i].row.second <= second) {
			atomic_store_explicit(&p->streams[i].crc, 0, memory_order_release);
		}
	}
}

static void report_streams(const struct page *p, uint64_t second, uint32_t dma_epoch, uint8_t link,
			   const struct ledger_sink *sink)
{
	for (unsigned i = 0; i < KEEP_STREAMS; i++) {
		const struct kept_stream *k = &p->streams[i];
		struct ledger_stream_row row;

		if (k->row.second == second && k->row.stream < FCM_STREAMS &&
		    k->row.group < GROUPS_MAX && k->crc == crc_of(&k->row, sizeof(k->row))) {
			owner_unpack_stream(&k->row, dma_epoch, link, &row);
			row.closed = 1;
			sink->stream(sink->context, &row);
		}
	}
}

static void report_links(const struct page *p, uint64_t second, uint32_t dma_epoch, uint8_t link,
			 const struct ledger_sink *sink)
{
	for (unsigned i = 0; i < KEEP_LINKS; i++) {
		const struct kept_link *k = &p->links[i];
		struct ledger_link_row row;

		if (k->row.second == second && k->crc == crc_of(&k->row, sizeof(k->row))) {
			owner_unpack_link(&k->row, dma_epoch, link, &row);
			row.closed = 1;
			sink->link(sink->context, &row);
		}
	}
}

/* The smallest second at or above `from` of any row kept; UINT64_MAX: none. */
static uint64_t next_kept(const struct page *p, uint64_t from)
{
	uint64_t next = UINT64_MAX;

	for (unsigned i = 0; i < KEEP_LINKS; i++) {
		if (p->links[i].crc != 0 && p->links[i].row.second >= from) {
			next = MIN(next, p->links[i].row.second);
		}
	}
	for (unsigned i = 0; i < KEEP_STREAMS; i++) {
		if (p->streams[i].crc != 0 && p->streams[i].row.second >= from) {
			next = MIN(next, p->streams[i].row.second);
		}
	}
	return next;
}

void owner_each_kept(const void *page, uint32_t dma_epoch, uint8_t link, uint64_t below,
		     const struct ledger_sink *sink)
{
	const struct page *p = page;

	for (uint64_t s = next_kept(p, 0); s < below; s = next_kept(p, s + 1)) {
		report_streams(p, s, dma_epoch, link, sink);
		report_links(p, s, dma_epoch, link, sink);
	}
}

/* -------------------------------------------------------------------------------------- losses */

static uint32_t whole_of(uint64_t n)
{
	return n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

static struct short_loss shorten(const struct ledger_loss *l)
{
	return (struct short_loss){
		.first_low = (uint32_t)l->first,
		.first_high = (uint32_t)(l->first >> 32),
		.span = whole_of(l->next - l->first),
		.frames = whole_of(l->frames),
		.what = (uint8_t)(l->kind << 4 | l->code),
		.where = (uint8_t)(l->stream << 4 | l->group),
		.tower = l->tower,
		.floor = l->floor,
	};
}

static uint64_t first_of(const struct short_loss *row)
{
	return (uint64_t)row->first_high << 32 | row->first_low;
}

static bool same_loss(const struct short_loss *a, const struct short_loss *b)
{
	return first_of(a) == first_of(b) && a->what == b->what && a->where == b->where;
}

unsigned owner_keep_loss(void *page, const struct ledger_loss *loss, bool *ret_gave_way)
{
	struct page *p = page;
	struct short_loss row = shorten(loss);
	struct choice c = {.age = UINT64_MAX};

	for (unsigned i = 0; i < OWNER_LOSSES; i++) {
		const struct kept_loss *k = &p->losses[i];

		consider(&c, i, age_of(k->crc, first_of(&k->row)), same_loss(&k->row, &row));
	}
	replace(&p->losses[c.at].row, &p->losses[c.at].crc, &row, sizeof(row));
	*ret_gave_way = !c.own && c.age > 0;
	return c.at;
}

void owner_loss_saved(void *page, unsigned place)
{
	struct page *p = page;

	atomic_store_explicit(&p->losses[place].crc, 0, memory_order_release);
}

void owner_each_loss(const void *page, uint32_t dma_epoch, uint8_t link,
		     void (*report)(void *context, const struct ledger_loss *loss), void *context)
{
	const struct page *p = page;

	for (unsigned i = 0; i < OWNER_LOSSES; i++) {
		const struct short_loss *row = &p->losses[i].row;
		struct ledger_loss loss = {
			.kind = row->what >> 4,
			.code = row->what & 0xf,
			.link = link,
			.tower = row->tower,
			.floor = row->floor,
			.stream = row->where >> 4,
			.group = row->where & 0xf,
			.dma_epoch = dma_epoch,
			.first = first_of(row),
			.next = first_of(row) + row->span,
			.frames = row->frames,
			.tai_ns = FCM_NO_TAI,
		};

		if (p->losses[i].crc != 0 && p->losses[i].crc == crc_of(row, sizeof(*row)) &&
		    loss_sane(&loss)) {
			report(context, &loss);
		}
	}
}
