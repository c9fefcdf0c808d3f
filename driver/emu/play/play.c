/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nanet3-emu --play: a recording as the source of frames (play.h). Each link reads its segments one after
 * the other; a step asks all links for the same count. One record per link is in memory.
 */
#include "driver/emu/play/play.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "driver/emu/common/model_fault.h"
#include "tdm/recording.h"

#define LINKS	     NANET3_LINKS
#define FRAMES	     TDM_FRAMES_PER_SECOND
#define SECOND_NS    1000000000ll
#define COUNT_LIMIT  (1ull << 45)     /* recorded counts from here on are none */
#define TOGETHER_NS  (10 * SECOND_NS) /* segments that start this close together belong together */
#define HOLE_MAX     (10u * FRAMES)   /* a longer hole in the counts ends the act */
#define PAUSE_MAX_NS (2ull * SECOND_NS) /* between two steps: a board is never silent that long */
#define GONE_MS	     1u
#define REMARKS	     40u /* then they are only counted */
#define RX_POWER_NW  100000u
#define TX_POWER_NW  1000000u
#define TEMPERATURE  47000
#define PHASE_PS     6250u
#define RTT_FRAMES   7u

_Static_assert(LINKS == RECORDING_LINKS, "links of a recording");

/* What a link has at a count. */
struct place {
	bool light;
	enum tdm_loss lost;  /* TDM_GOOD: the cell is there */
	const uint8_t *cell; /* 10 000 bytes; NULL: nothing */
};

struct play_link {
	struct recording_segment *segments;
	size_t count, next; /* the next one to be opened */
	bool open;	    /* `file` is */
	struct recording_file file;
	struct fcm_record_header record; /* being played; frames 0: none yet */
	bool started;			 /* has had a cell in this act */
	bool over;			 /* has no more of this act, or no part in it */
	uint64_t reported_until;	 /* count below which holes have been reported */
	bool labelled;
	struct fcm_record_label label; /* the last one read */
	uint64_t label_count;	       /* it holds from here on */
	struct place now;
};

struct play {
	struct recording recording;
	struct play_link links[LINKS];
	void (*say)(const char *line);
	unsigned remarks;
	enum play_state state;
	unsigned members; /* links of this act */
	bool fault;	  /* the board is to go off the bus */
	uint64_t count;	  /* of this step */
	uint64_t first;	  /* count of the act's first cell */
	uint64_t step_of_act;
	bool pps;
	/* What the next step brings, once looked at. */
	bool ahead, ahead_over;
	uint64_t ahead_count, due_ns;
	uint64_t origin_ns;	   /* monotonic time of the act's first step, when recorded */
	bool labelled, relabelled; /* relabelled: the owners do not know yet */
	struct fcm_record_label label;
	uint64_t label_count;
	struct play_stats stats;
};

__attribute__((format(printf, 2, 3))) static void remark(struct play *p, const char *format, ...)
{
	char line[512];
	va_list ap;

	if (p->say == NULL || p->remarks > REMARKS) {
		return;
	}
	va_start(ap, format);
	vsnprintf(line, sizeof(line), format, ap);
	va_end(ap);
	p->say(p->remarks++ < REMARKS ? line : "no further messages of this kind");
}

static const char *name_of(const struct play_link *l)
{
	const char *path = l->segments[l->next - 1].path, *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

/* ------------------------------------------------------------------------ reading */

/* All links carry the same labels: the first link that reaches a new one provides it; old ones are ignored. Within
 * a time epoch only a leap second may still be announced, which is not urgent. */
static void take_label(struct play *p, const struct play_link *l)
{
	const int32_t ahead = (int32_t)(l->label.time_epoch - p->label.time_epoch);

	if (!l->labelled ||
	    (p->labelled && (ahead < 0 || (ahead == 0 && l->label_count <= p->label_count)))) {
		return;
	}
	p->relabelled = p->relabelled || !p->labelled || ahead > 0;
	p->label = l->label;
	p->label_count = l->label_count;
	p->labelled = true;
}

static void end_segment(struct play *p, struct play_link *l)
{
	const enum record_end end = l->file.walk.end;

	if (end == RECORD_CUT || end == RECORD_DAMAGED) {
		p->stats.damaged++;
		remark(p, "%s is %s at byte %" PRIu64 ": played up to there", name_of(l),
		       end == RECORD_CUT ? "cut off" : "damaged", l->file.walk.offset);
	}
	recording_close(&l->file);
	l->open = false;
}

/* Open the next segment that can be; false: there is none. */
static bool open_segment(struct play *p, struct play_link *l)
{
	while (!l->open && l->next < l->count) {
		const struct recording_segment *s = &l->segments[l->next++];
		int err = recording_open_segment(&l->file, &p->recording, s);

		if (err == 0 && l->file.walk.segment.link != s->link) {
			recording_close(&l->file);
			err = -EBADMSG;
		}
		l->open = err == 0;
		if (err < 0) {
			p->stats.damaged++;
			remark(p, "%s is skipped: %s", name_of(l),
			       err == -EBADMSG || err == -ENODATA
				       ? "it is not a segment of this link"
				       : strerror(-err));
		}
	}
	return l->open;
}

/* The next record with cells of the open segment into l->record; labels on the way are taken. */
static bool read_record(struct play *p, struct play_link *l)
{
	struct fcm_record_header r;
	int n;

	while ((n = recording_next(&l->file, &r)) > 0) {
		if (r.kind == FCM_RECORD_LABEL) {
			l->label = recording_label(l->file.data);
			l->label_count = r.count;
			l->labelled = true;
		}
		if (tdm_record_has_cells(&r) && r.count + r.frames <= COUNT_LIMIT) {
			l->record = r;
			return true;
		}
	}
	if (n < 0) {
		remark(p, "%s: %s at byte %" PRIu64, name_of(l), strerror(-n), l->file.walk.offset);
		l->file.walk.end = RECORD_DAMAGED;
	}
	return false;
}

/* The next record of this link's epoch; false: the epoch is over. */
static bool next_record(struct play *p, struct play_link *l)
{
	const struct fcm_segment_header before = l->file.walk.segment;

	while (!read_record(p, l)) {
		end_segment(p, l);
		l->record.frames = 0;
		if (!open_segment(p, l) ||
		    !tdm_segment_same_epoch(&l->file.walk.segment, &before)) {
			return false;
		}
	}
	return true;
}

/* Come to the record that covers `count`, or lies behind it. False: the link's part is over. */
static bool seek(struct play *p, struct play_link *l, uint64_t count)
{
	while (l->record.frames == 0 || l->record.count + l->record.frames <= count) {
		if (!next_record(p, l)) {
			return false;
		}
	}
	return true;
}

/* ------------------------------------------------------------------------ acts */

/* Bring a link to where it goes on: a segment open, a record read. False: nothing is left of it. */
static bool prepare(struct play *p, struct play_link *l)
{
	while (l->record.frames == 0) {
		if (!open_segment(p, l)) {
			return false;
		}
		if (!read_record(p, l)) {
			end_segment(p, l);
		}
	}
	return true;
}

static bool together(const struct fcm_segment_header *a, const struct fcm_segment_header *b)
{
	/* Unsigned: whatever a file says, the difference is some number. */
	const uint64_t apart = (uint64_t)a->utc_ns - (uint64_t)b->utc_ns;

	return tdm_segment_same_boot(a, b) &&
	       (a->dma_epoch == b->dma_epoch || apart + TOGETHER_NS <= 2 * TOGETHER_NS);
}

static bool earlier(const struct play_link *a, const struct play_link *b)
{
	const struct fcm_segment_header *x = &a->file.walk.segment, *y = &b->file.walk.segment;

	return x->utc_ns != y->utc_ns ? x->utc_ns < y->utc_ns : a->record.count < b->record.count;
}

/* Whose turn it is, of what is left. False: nothing is. */
static bool begin_act(struct play *p)
{
	const struct play_link *leader = NULL;

	for (unsigned i = 0; i < LINKS; i++) {
		struct play_link *l = &p->links[i];

		l->over = !prepare(p, l);
		if (!l->over && (leader == NULL || earlier(l, leader))) {
			leader = l;
		}
	}
	if (leader == NULL) {
		return false;
	}
	p->members = 0;
	p->labelled = false;
	p->first = UINT64_MAX;
	for (unsigned i = 0; i < LINKS; i++) {
		struct play_link *l = &p->links[i];

		l->over = l->over || !together(&l->file.walk.segment, &leader->file.walk.segment);
		l->started = false;
		l->reported_until = 0;
		if (!l->over) {
			p->members |= 1u << i;
			take_label(p, l);
			p->first = l->record.count < p->first ? l->record.count : p->first;
		}
	}
	p->step_of_act = 0;
	p->ahead = false;
	p->due_ns = 0;
	p->state = PLAY_LEAD;
	p->stats.acts++;
	return true;
}

/* ------------------------------------------------------------------------ what comes next */

/* When the cell was handed over, by the recorded completion of its record's last. */
static uint64_t completed_ns(const struct play_link *l, uint64_t count)
{
	const uint64_t behind = (l->record.count + l->record.frames - 1 - count) * TDM_FRAME_NS;

	/* Frames of a gap that took hours to complete are placed by its end, too. */
	return l->record.monotonic_ns > behind ? l->record.monotonic_ns - behind : 0;
}

static void follow_pace(struct play *p, uint64_t when_ns)
{
	uint64_t due;

	if (p->step_of_act == 0) {
		p->origin_ns = when_ns;
	}
	due = when_ns > p->origin_ns ? when_ns - p->origin_ns : 0;
	if (due > p->due_ns + PAUSE_MAX_NS) { /* a host that slept, or a broken file */
		p->origin_ns += due - p->due_ns - PAUSE_MAX_NS;
		due = p->due_ns + PAUSE_MAX_NS;
	}
	p->due_ns = due > p->due_ns ? due : p->due_ns;
}

/* The count behind a hole that begins at `count`. A short second leaves one that the contract knows: up to
 * the next second. 0: it is too long. */
static uint64_t behind_hole(const struct play *p, uint64_t count, uint64_t next)
{
	const uint64_t border = (count + FRAMES - 1) / FRAMES * FRAMES;

	if (next == border) {
		return next;
	}
	if (p->step_of_act > 0 && next - count > HOLE_MAX) {
		return 0;
	}
	return count;
}

static void look_ahead(struct play *p)
{
	uint64_t count = p->step_of_act == 0 ? p->first : p->count + 1, next = UINT64_MAX;
	uint64_t when_ns = 0;
	bool covered = false;

	if (p->ahead) {
		return;
	}
	p->ahead = true;
	for (unsigned i = 0; i < LINKS; i++) {
		struct play_link *l = &p->links[i];

		l->over = l->over || !seek(p, l, count);
		if (l->over) {
			continue;
		}
		take_label(p, l);
		covered = covered || l->record.count <= count;
		next = l->record.count < next ? l->record.count : next;
		if (l->record.count <= count && completed_ns(l, count) > when_ns) {
			when_ns = completed_ns(l, count);
		}
	}
	p->ahead_over = next == UINT64_MAX;
	if (!covered && !p->ahead_over) {
		count = behind_hole(p, count, next);
		p->ahead_over = count == 0;
	}
	p->ahead_count = count;
	follow_pace(p, when_ns != 0 ? when_ns : p->origin_ns + p->due_ns + TDM_FRAME_NS);
}

/* ------------------------------------------------------------------------ a step */

/* Say once which cells are lost as board-fifo, and why; `end`: the count behind them. */
static void report_lost(struct play *p, unsigned link, uint64_t count, uint64_t end,
			const char *why)
{
	struct play_link *l = &p->links[link];

	if (count >= l->reported_until) {
		remark(p,
		       "link %u: %" PRIu64 " cells from count %" PRIu64
		       " on %s: lost as board-fifo",
		       link, end - count, count, why);
		l->reported_until = end;
	}
}

static struct place covered_place(struct play *p, unsigned link, uint64_t count)
{
	struct play_link *l = &p->links[link];

	l->started = true;
	switch (l->record.kind) {
	case FCM_RECORD_DATA:
		return (struct place){true, TDM_GOOD,
				      l->file.data + (count - l->record.count) * TDM_FRAME_BYTES};
	case FCM_RECORD_GAP:
		p->stats.gaps++;
		return (struct place){tdm_record_loss(&l->record) != TDM_LOSS_LINK_DOWN,
				      tdm_record_loss(&l->record), NULL};
	default:
		p->stats.let_go++;
		report_lost(p, link, count, l->record.count + l->record.frames,
			    "were let go by the recorder");
		return (struct place){true, TDM_LOSS_BOARD_FIFO, NULL};
	}
}

static struct place place_of(struct play *p, unsigned link, uint64_t count)
{
	struct play_link *l = &p->links[link];

	if (l->over || (!l->started && l->record.count > count)) {
		return (struct place){false, TDM_LOSS_LINK_DOWN, NULL};
	}
	if (l->record.count > count) {
		p->stats.absent++;
		report_lost(p, link, count, l->record.count, "are not in the recording");
		return (struct place){true, TDM_LOSS_BOARD_FIFO, NULL};
	}
	return covered_place(p, link, count);
}

static void darken(struct play *p)
{
	for (unsigned i = 0; i < LINKS; i++) {
		p->links[i].now = (struct place){false, TDM_LOSS_LINK_DOWN, NULL};
	}
}

static void step_dark(struct play *p, uint64_t count)
{
	p->count = count;
	p->pps = count % FRAMES == 0 && count > 0;
	darken(p);
}

static void step_act(struct play *p)
{
	look_ahead(p);
	if (p->ahead_over) {
		p->state = PLAY_DRAIN;
		step_dark(p, p->count + 1);
		return;
	}
	p->count = p->ahead_count;
	p->pps = p->count % FRAMES == 0;
	for (unsigned i = 0; i < LINKS; i++) {
		p->links[i].now = place_of(p, i, p->count);
	}
	p->step_of_act++;
	p->ahead = false;
	if (p->relabelled) { /* this step's registers have it: wait until the owners have read them */
		p->state = PLAY_WAIT;
	}
}

void play_step(struct play *p)
{
	switch (p->state) {
	case PLAY_LEAD:
		step_dark(p, p->first > 0 ? (p->first - 1) / FRAMES * FRAMES : 0);
		p->state = PLAY_WAIT;
		break;
	case PLAY_RUN:
		step_act(p);
		break;
	case PLAY_GONE:
		darken(p);
		break;
	default:
		step_dark(p, p->count + 1);
		break;
	}
}

void play_roof(const struct play *p, struct world_roof *ret_roof)
{
	int64_t tai_ns, utc_s;
	struct tm tm = {0};
	bool leap;

	*ret_roof = (struct world_roof){
		.counted = true,
		.count = p->count,
		.pps = p->pps,
		.reference = true,
		.temperature_mc = TEMPERATURE,
	};
	if (!p->labelled || p->label.anchor_count % FRAMES != 0 ||
	    p->label.anchor_tai_ns % SECOND_NS != 0 ||
	    !recording_tai_ns(&p->label, p->count / FRAMES * FRAMES, &tai_ns)) {
		return;
	}
	utc_s = recording_utc_ns(&p->label, tai_ns, &leap) / SECOND_NS - (leap ? 1 : 0);
	gmtime_r(&(time_t){utc_s}, &tm);
	ret_roof->tod_valid = tm.tm_year >= 100 && tm.tm_year < 200;
	ret_roof->tod_second =
		(uint32_t)(tm.tm_hour * 3600 + tm.tm_min * 60 + tm.tm_sec) + (leap ? 1 : 0);
	ret_roof->tod_day = (uint16_t)tm.tm_yday;
	ret_roof->tod_year = (uint8_t)(tm.tm_year % 100);
	ret_roof->tod_quality = TDM_TIME_LOCKED;
}

uint32_t play_fault(struct play *p)
{
	const bool fault = p->fault;

	p->fault = false;
	return fault ? MODEL_FAULT(MODEL_FAULT_GONE, 0, GONE_MS) : 0;
}

void play_fibre(const struct play *p, unsigned link, struct world_fibre *ret_fibre)
{
	const struct place *now = &p->links[link].now;

	*ret_fibre = (struct world_fibre){
		.signal = now->light,
		.rx_power_nw = now->light ? RX_POWER_NW : 0,
		.tx_power_nw = TX_POWER_NW,
		.phase_ps = PHASE_PS,
		.rtt_frames = RTT_FRAMES,
		.lost = (uint8_t)(now->light ? now->lost : TDM_GOOD),
	};
}

bool play_locked(const struct play *p, unsigned link)
{
	return p->links[link].now.light;
}

void play_uplink(struct play *p, unsigned link, enum tdm_loss fate, uint8_t *cell)
{
	const struct place *now = &p->links[link].now;

	if (now->cell == NULL) {
		return;
	}
	if (fate != TDM_GOOD) {
		p->stats.missed++;
		return;
	}
	p->stats.cells++;
	memcpy(cell, now->cell, TDM_FRAME_BYTES);
}

void play_powered(struct play *p)
{
	if (p->state == PLAY_GONE) {
		p->state = PLAY_LEAD;
	}
}

/* ------------------------------------------------------------------------ the pace's part */

enum play_state play_state(const struct play *p)
{
	return p->state;
}

unsigned play_links(const struct play *p)
{
	return p->members;
}

uint64_t play_due_ns(struct play *p)
{
	if (p->state == PLAY_RUN) {
		look_ahead(p);
	}
	return p->due_ns;
}

void play_go(struct play *p)
{
	p->relabelled = false;
	p->state = PLAY_RUN;
}

void play_next(struct play *p)
{
	if (!begin_act(p)) {
		p->state = PLAY_OVER;
		return;
	}
	p->state = PLAY_GONE;
	p->fault = true;
}

void play_stats(const struct play *p, struct play_stats *ret_stats)
{
	*ret_stats = p->stats;
}

/* ------------------------------------------------------------------------ life */

static void share_segments(struct play *p)
{
	for (size_t i = 0; i < p->recording.count; i++) {
		struct recording_segment *s = &p->recording.segments[i];
		struct play_link *l = &p->links[s->link];

		l->segments = l->count == 0 ? s : l->segments;
		l->count++;
	}
}

int play_create(const char *path, void (*say)(const char *line), struct play **ret_play,
		char *error, size_t error_size)
{
	struct play *p = calloc(1, sizeof(*p));
	int err = p != NULL ? recording_init(&p->recording, path) : -ENOMEM;

	if (err < 0) {
		snprintf(error, error_size, "%s: %s", path,
			 err == -ENODATA   ? "not a recording: it has no segment"
			 : err == -EBADMSG ? "not a recording, or damaged at its beginning"
			 : err == -EPROTO  ? "a recording of another version"
					   : strerror(-err));
		free(p);
		return err;
	}
	p->say = say;
	share_segments(p);
	if (!begin_act(p)) {
		snprintf(error, error_size, "%s: it has no cell that can be played", path);
		play_destroy(p);
		return -ENODATA;
	}
	*ret_play = p;
	return 0;
}

void play_destroy(struct play *p)
{
	if (p == NULL) {
		return;
	}
	for (unsigned i = 0; i < LINKS; i++) {
		if (p->links[i].open) {
			recording_close(&p->links[i].file);
		}
	}
	recording_fini(&p->recording);
	free(p);
}
