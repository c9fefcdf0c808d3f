/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A link's way through a recording: see lane.h. */
#include "tdm/blocks/lane.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#define BLOCK_FRAMES 80u	  /* the daemon's default */
#define COUNT_LIMIT  (1ull << 45) /* 139 years; beyond, times would overflow */
#define RUN_UP	     64u /* cells before the first wanted one: the lock, and hits that cross */
#define PARTS_KEPT   2u	 /* the deframer may point into the last ones */

/* A record's data, as long as frames in it are needed. */
struct part {
	STAILQ_ENTRY(part) next;
	uint64_t end; /* count behind its last cell */
	uint8_t *data;
};

/* A record from which on the lane may be read. */
struct place {
	size_t segment;	 /* of the list */
	uint64_t offset; /* 0: its first record */
	uint64_t count;
	struct fcm_record_label label;
	bool labelled;
	uint64_t cells; /* with data */
};

/* ------------------------------------------------------------------------------------- segments */

static const char *name_of(const struct recording_segment *s)
{
	const char *slash = strrchr(s->path, '/');

	return slash ? slash + 1 : s->path;
}

static void note_trouble(struct lane_source *r, const struct recording_segment *s, const char *why,
			 uint64_t offset)
{
	r->troubles++;
	snprintf(r->trouble, sizeof(r->trouble), "%.200s: %s at byte %" PRIu64, name_of(s), why,
		 offset);
}

/* The link's first segment with a higher number than the lane's; NULL: none. */
static const struct recording_segment *next_segment(const struct lane *l)
{
	const struct recording *list = &l->source->list;

	for (size_t i = 0; i < list->count; i++) {
		const struct recording_segment *s = &list->segments[i];

		if (s->link == l->link && (int64_t)s->number > l->number) {
			return s;
		}
	}
	return NULL;
}

/* The segment that the lane has read last. */
static const struct recording_segment *this_segment(const struct lane *l)
{
	const struct recording *list = &l->source->list;
	size_t i = 0;

	while (list->segments[i].link != l->link ||
	       (int64_t)list->segments[i].number != l->number) {
		i++;
	}
	return &list->segments[i];
}

void lane_look_again(struct lane_source *r)
{
	struct recording now;

	if (r->config.follow && recording_init(&now, r->path) == 0) {
		if (now.count >=
		    r->list.count) { /* else one has been deleted: what we know is enough */
			recording_fini(&r->list);
			r->list = now;
		} else {
			recording_fini(&now);
		}
	}
}

/* Data of the record just read become the lane's. -ENOMEM: the record is read once more. */
static int keep_part(struct lane *l, const struct fcm_record_header *h)
{
	struct part *p = malloc(sizeof(*p));
	uint8_t *fresh = malloc((size_t)l->file.walk.segment.data_bytes_max + 1);

	if (!p || !fresh) {
		free(p);
		free(fresh);
		l->file.walk.offset -= sizeof(*h) + h->bytes;
		return -ENOMEM;
	}
	*p = (struct part){.end = h->count + h->frames, .data = l->file.data};
	l->file.data = fresh;
	STAILQ_INSERT_TAIL(&l->parts, p, next);
	l->newest = p;
	l->parts_n++;
	return 0;
}

/* Those with cells below `count` only, but for the last ones. */
static void drop_parts(struct lane *l, uint64_t count, unsigned but)
{
	struct part *p;

	while (l->parts_n > but && (p = STAILQ_FIRST(&l->parts)) && p->end <= count) {
		STAILQ_REMOVE_HEAD(&l->parts, next);
		l->parts_n--;
		free(p->data);
		free(p);
	}
}

/* ------------------------------------------------------------------------------------- machines */

static void drop_machines(struct lane *l)
{
	tdm_deframe_destroy(l->deframe);
	assemble_destroy(l->assembler);
	l->deframe = NULL;
	l->assembler = NULL;
	l->closing = false;
	l->gap_next = l->gap_end = 0;
	drop_parts(l, UINT64_MAX, 0);
}

uint32_t lane_block_frames(const struct lane *l)
{
	uint32_t said = l->segment.block_frames;

	if (l->source->config.block_frames) {
		return l->source->config.block_frames;
	}
	return said > 0 && FCM_SLICE_FRAMES % said == 0 ? said : BLOCK_FRAMES;
}

static int make_machines(struct lane *l, uint64_t count)
{
	const struct assemble_config config = {
		.block_frames = lane_block_frames(l),
		.gap_frames = FCM_SLICE_FRAMES,
		.tower = l->segment.tower,
		.floor = l->segment.floor,
	};

	l->deframe = tdm_deframe_create(FCM_SLICE_FRAMES + ASSEMBLE_LATE + ASSEMBLE_PUSH);
	l->assembler = assemble_create(&config);
	if (!l->deframe || !l->assembler) {
		drop_machines(l);
		return -ENOMEM;
	}
	l->begin = l->next = count;
	l->run_before = l->run;
	l->run_from = 0;
	l->stream = 0;
	return 0;
}

static void close_lane(struct lane *l)
{
	if (l->assembler && !l->closing) {
		assemble_end(l->assembler);
		l->closing = true;
	}
}

static void on_verdict(void *context, const struct tdm_verdict *v)
{
	struct lane *l = context;

	if (v->count >= l->begin) {
		(void)assemble_cell(l->assembler, v);
	}
}

/* -------------------------------------------------------------------------------- labels and runs */

const struct label *lane_label(const struct lane *l, uint64_t frame)
{
	unsigned i = l->labels_n;

	while (i > 1 && l->labels[i - 1].from > frame) {
		i--;
	}
	return &l->labels[i - 1].label;
}

static struct label label_of(const struct fcm_record_label *r, uint64_t count)
{
	struct label l = {
		.time_epoch = r->time_epoch,
		.source = r->source,
		.state = r->state,
		.leap = r->leap_tai_ns != INT64_MAX,
		.uncertainty_ns = r->uncertainty_ns,
		.tai_utc_s = r->tai_utc_s,
		.anchor_count = r->anchor_count,
		.anchor_tai_ns = r->anchor_tai_ns,
		.leap_tai_ns = r->leap_tai_ns,
	};
	int64_t tai_ns;

	if (!recording_tai_ns(r, count, &tai_ns)) {
		l.anchor_tai_ns = FCM_NO_TAI;
	}
	return l;
}

/* From the first frame on that is in no span yet, as in the daemon. */
static void add_label(struct lane *l, const struct fcm_record_label *label, uint64_t count)
{
	uint64_t from = l->assembler ? assemble_frontier(l->assembler) : 0;

	if (l->labels_n > 0 && l->labels[l->labels_n - 1].from == from) {
		l->labels_n--;
	} else if (l->labels_n == LANE_LABELS) {
		memmove(&l->labels[0], &l->labels[1], (LANE_LABELS - 1) * sizeof(l->labels[0]));
		l->labels_n--;
	}
	l->labels[l->labels_n++] = (struct dated_label){from, label_of(label, count)};
}

uint32_t lane_run(const struct lane *l, uint64_t frame)
{
	return frame >= l->run_from ? l->run : l->run_before;
}

/* ------------------------------------------------------------------------------------- records in */

/* The segment's cells go on where the machines are. (A PPS that came early moves the count to a second's begin.) */
static bool goes_on(const struct lane *l, const struct fcm_segment_header *s, uint64_t count)
{
	if (!l->assembler || !tdm_segment_same_epoch(&l->segment, s) || count < l->next) {
		return false;
	}
	return count == l->next ||
	       (count % TDM_FRAMES_PER_SECOND == 0 && count - l->next < TDM_FRAMES_PER_SECOND);
}

/* New machines for the open segment's cells from `count` on. */
static int begin_at(struct lane *l, uint64_t count)
{
	const struct dated_label none = {.label = {.uncertainty_ns = FCM_NO_UNCERTAINTY,
						   .anchor_tai_ns = FCM_NO_TAI,
						   .leap_tai_ns = INT64_MAX}};

	l->first = !l->begun;
	l->inside = !l->begun || tdm_segment_same_epoch(&l->segment, &l->file.walk.segment);
	l->begun = true;
	l->segment = l->file.walk.segment;
	l->run = l->segment.run;
	l->labels[0] = none;
	l->labels_n = 1;
	l->taken = true;
	return make_machines(l, count);
}

/* The segment that has been opened: its cells go to the machines, or these must end first. 1, or -ENOMEM. */
static int take_up(struct lane *l)
{
	const struct fcm_segment_header *s = &l->file.walk.segment;
	int err;

	if (l->assembler && !goes_on(l, s, s->count)) {
		close_lane(l);
		return 1;
	}
	if (!l->assembler) {
		err = begin_at(l, s->count);
		return err < 0 ? err : 1;
	}
	if (s->run != l->run) { /* runs begin at the border of a slice */
		l->run_before = l->run;
		l->run = s->run;
		l->run_from = s->count - s->count % FCM_SLICE_FRAMES;
	}
	l->taken = true;
	return 1;
}

static void push_gap(struct lane *l)
{
	uint64_t n = MIN(l->gap_end - l->gap_next, FCM_SLICE_FRAMES);

	tdm_deframe_gap(l->deframe, n, l->gap_next, l->gap_loss, on_verdict, l);
	l->gap_next += n;
	l->next = l->gap_next;
	assemble_clock(l->assembler, l->next);
}

/* The first good frame that a deframer finds. */
static void on_first(void *context, const struct tdm_verdict *v)
{
	struct tdm_deframe_mark *mark = context;

	if (v->loss == TDM_GOOD && mark->count == 0) {
		*mark = (struct tdm_deframe_mark){
			.count = v->count,
			.sequence = v->header.sequence,
			.number = v->header.time.frame,
			.offset = v->offset,
		};
	}
}

/*
 * A deframer needs some frames to find its lock, which the daemon had when it was recorded. So look ahead for a good
 * frame, and begin as if one like it had been right before the first cell; if that is wrong, the deframer finds out.
 */
static void lock_ahead(struct lane *l, const uint8_t *cells, uint32_t n, uint64_t count)
{
	struct tdm_deframe *ahead = tdm_deframe_create(n);
	struct tdm_deframe_mark mark = {0};
	uint64_t back;

	if (!ahead) {
		return; /* some frames are lost, by name */
	}
	tdm_deframe_push(ahead, cells, n, count, on_first, &mark);
	tdm_deframe_destroy(ahead);
	if (mark.count > 0) {
		back = mark.count + 1 -
		       count; /* at most a record's cells, so less than a second's */
		mark.count -= back;
		mark.sequence -= (uint32_t)back;
		mark.number = (uint16_t)((mark.number + TDM_FRAMES_PER_SECOND - back) %
					 TDM_FRAMES_PER_SECOND);
		(void)tdm_deframe_resume(l->deframe, &mark);
	}
}

static int take_cells(struct lane *l, const struct fcm_record_header *h)
{
	int err;

	if (h->kind != FCM_RECORD_DATA) {
		l->gap_next = h->count;
		l->gap_end = h->count + h->frames;
		l->gap_loss = tdm_record_loss(h);
		push_gap(l);
		return 0;
	}
	err = keep_part(l, h);
	if (err < 0) {
		return err;
	}
	if (l->inside && h->count == l->begin) {
		lock_ahead(l, l->newest->data, (uint32_t)h->frames, h->count);
	}
	tdm_deframe_push(l->deframe, l->newest->data, (uint32_t)h->frames, h->count, on_verdict, l);
	l->next = h->count + h->frames;
	assemble_clock(l->assembler, l->next);
	return 0;
}

static bool sane(const struct lane *l, const struct fcm_record_header *h)
{
	return h->count >= l->next && h->count + h->frames < COUNT_LIMIT &&
	       (h->kind != FCM_RECORD_DATA ||
		(h->frames <= FCM_SLICE_FRAMES &&
		 l->file.walk.segment.frame_bytes == TDM_FRAME_BYTES));
}

static void end_segment(struct lane *l)
{
	recording_close(&l->file);
	l->open = false;
}

/* The segment has ended, or not yet: 1: on with the next one, 0: nothing now. */
static int at_end(struct lane *l)
{
	const enum record_end end = l->file.walk.end;

	if (end == RECORD_DAMAGED) {
		note_trouble(l->source, this_segment(l), "damaged", l->file.walk.offset);
	} else if (end != RECORD_WHOLE && l->source->config.follow && !next_segment(l)) {
		return 0;
	}
	end_segment(l);
	return 1;
}

static int take_record(struct lane *l)
{
	struct fcm_record_header h;
	int n = recording_next(&l->file, &h);

	if (n == 0) {
		return at_end(l);
	}
	if (n < 0) {
		return n;
	}
	if (h.kind == FCM_RECORD_LABEL) {
		struct fcm_record_label label = recording_label(l->file.data);

		add_label(l, &label, l->next);
	} else if (tdm_record_has_cells(&h)) {
		if (!sane(l, &h)) {
			note_trouble(l->source, this_segment(l), "counts make no sense",
				     l->file.walk.offset);
			end_segment(l);
			return 1;
		}
		n = take_cells(l, &h);
	}
	return n < 0 ? n : 1;
}

/* Opens the next segment: 1; 0: there is none (now). One that is none is passed over. */
static int open_next(struct lane *l)
{
	const struct recording_segment *s;
	int err;

	while ((s = next_segment(l))) {
		err = recording_open_segment(&l->file, &l->source->list, s);
		if (err == -ENOMEM || (err == -ENODATA && l->source->config.follow)) {
			return err == -ENODATA ? 0 : err;
		}
		l->number = s->number;
		if (err == 0) {
			l->open = true;
			return 1;
		}
		note_trouble(l->source, s, strerror(-err), 0);
	}
	return 0;
}

/* One step towards the next span. 1: something was done; 0: there is nothing more (now). */
static int feed(struct lane *l)
{
	int n;

	if (l->gap_next < l->gap_end) {
		push_gap(l);
		return 1;
	}
	if (!l->open) {
		n = open_next(l);
		if (n <= 0) {
			return n;
		}
		l->taken = false;
	}
	return l->taken ? take_record(l) : take_up(l);
}

int lane_span(struct lane *l, const struct assembled **ret_span)
{
	int n;

	for (;;) {
		const struct assembled *span = l->assembler ? assemble_next(l->assembler) : NULL;

		if (span) {
			*ret_span = span;
			return 1;
		}
		if (l->closing) {
			drop_machines(l);
		}
		n = feed(l);
		if (n < 0 || (n == 0 && (l->source->config.follow || !l->assembler))) {
			return n;
		}
		if (n == 0) { /* the recording ends here */
			close_lane(l);
		}
	}
}

void lane_span_done(struct lane *l, const struct assembled *span)
{
	uint64_t count = span->behind.count;

	assemble_take(l->assembler);
	l->stream = 0;
	drop_parts(l, count, PARTS_KEPT);
}

/* ------------------------------------------------------------------------------------------ edges */

void lane_edges(const struct lane *l, const struct assembled *span, uint32_t *ret_begin,
		uint32_t *ret_end)
{
	uint64_t first = span->first_frame + span->behind.delay, end = first + span->frames;
	bool last = l->closing && !l->open && !next_segment(l);

	*ret_begin =
		l->first && first < l->begin ? (uint32_t)MIN(l->begin - first, span->frames) : 0;
	*ret_end = last && end > l->next ? (uint32_t)MIN(end - l->next, span->frames) : 0;
}

/* Of a segment, as lane_range(). */
static bool range_of(const struct lane *l, const struct recording_segment *s, int64_t *ret_first_ns,
		     int64_t *ret_last_ns)
{
	struct fcm_record_label label;
	struct fcm_record_header h;
	struct recording_file f;
	bool labelled = false, found = false;
	int64_t ns;

	if (recording_open_segment(&f, &l->source->list, s) < 0) {
		return false;
	}
	for (;;) {
		uint64_t offset = f.walk.offset;

		if (tdm_walk_next(&f.walk, &h, NULL) <= 0) {
			break;
		}
		if (h.kind == FCM_RECORD_LABEL) {
			f.walk.offset = offset;
			labelled = tdm_walk_next(&f.walk, &h, f.data) > 0;
			label = recording_label(f.data);
		} else if (labelled && tdm_record_has_cells(&h)) {
			if (!found && recording_tai_ns(&label, h.count, &ns)) {
				*ret_first_ns = ns;
				found = true;
			}
			if (recording_tai_ns(&label, h.count + h.frames, &ns)) {
				*ret_last_ns = ns;
			}
		}
	}
	recording_close(&f);
	return found;
}

bool lane_range(const struct lane *l, int64_t *ret_first_ns, int64_t *ret_last_ns)
{
	const struct recording *list = &l->source->list;
	int64_t other_ns;
	bool found = false;
	size_t i, last;

	for (i = 0; i < list->count && !found; i++) {
		found = list->segments[i].link == l->link &&
			range_of(l, &list->segments[i], ret_first_ns, ret_last_ns);
	}
	for (last = list->count; last > i; last--) {
		if (list->segments[last - 1].link == l->link &&
		    range_of(l, &list->segments[last - 1], &other_ns, ret_last_ns)) {
			break;
		}
	}
	return found;
}

/* --------------------------------------------------------------------------------- where to begin */

/* The last records that were passed over: those of the cells before the wanted ones are read, too. */
struct search {
	struct place back[RUN_UP];
	unsigned n;
};

static void remember(struct search *s, const struct place *p)
{
	s->back[s->n++ % RUN_UP] = *p;
}

/* The record's cells, or those behind it, are wanted. */
static bool reached(const struct lane *l, const struct fcm_segment_header *s, const struct place *p,
		    uint64_t end)
{
	const struct recorded_config *c = &l->source->config;
	int64_t tai_ns;

	if (c->run && s->run != c->run) {
		return false;
	}
	/* The block of the time may have begun a slice before it, and may end after the last cell. */
	return c->from_tai_ns == INT64_MIN ||
	       (p->labelled && recording_tai_ns(&p->label, end + FCM_SLICE_FRAMES, &tai_ns) &&
		tai_ns > c->from_tai_ns);
}

/* The last place RUN_UP cells before `p`, RUN_UP of them with data, or the first known one. */
static const struct place *run_up_to(const struct search *s, const struct place *p)
{
	const struct place *best = p;
	uint64_t cells = 0;

	for (unsigned i = 1; i < MIN(s->n, RUN_UP); i++) { /* the newest is `p` */
		const struct place *b = &s->back[(s->n - 1 - i) % RUN_UP];

		if (b->count > best->count) { /* of another epoch */
			break;
		}
		best = b;
		cells += b->cells;
		if (b->count + RUN_UP <= p->count && cells >= RUN_UP) {
			break;
		}
	}
	return best;
}

/* Begin at a place: its segment is opened. */
static int begin_at_place(struct lane *l, const struct place *p)
{
	const struct recording_segment *s = &l->source->list.segments[p->segment];
	int err = recording_open_segment(&l->file, &l->source->list, s);

	if (err < 0) {
		return err;
	}
	l->open = true;
	l->number = s->number;
	l->file.walk.offset = p->offset;
	err = begin_at(l, p->count);
	if (err == 0 && p->labelled) {
		add_label(l, &p->label, p->count);
	}
	return err;
}

/* 1: the lane begins in this segment, or shortly before it. */
static int search_segment(struct lane *l, struct search *search, size_t i)
{
	struct place p = {.segment = i}, wanted;
	struct recording_file f;
	struct fcm_record_header h;
	int n = recording_open_segment(&f, &l->source->list, &l->source->list.segments[i]);
	bool found = false;

	if (n < 0) { /* it is passed over, and reported when it is read */
		return n == -ENOMEM ? n : 0;
	}
	do {
		p.offset = f.walk.offset;
		n = tdm_walk_next(&f.walk, &h, NULL);
		if (n > 0 && h.kind == FCM_RECORD_LABEL) {
			f.walk.offset = p.offset;
			n = tdm_walk_next(&f.walk, &h, f.data);
			p.labelled = n > 0;
			p.label = recording_label(f.data);
		} else if (n > 0 && tdm_record_has_cells(&h)) {
			p.count = h.count;
			p.cells = h.kind == FCM_RECORD_DATA ? h.frames : 0;
			found = reached(l, &f.walk.segment, &p, h.count + h.frames);
			wanted = p;
			remember(search, &p);
		}
	} while (n > 0 && !found);
	recording_close(&f);
	if (found) {
		n = begin_at_place(l, run_up_to(search, &wanted));
		return n < 0 ? n : 1;
	}
	return 0;
}

int lane_find_begin(struct lane *l)
{
	struct search search = {.n = 0};
	int n = 0;

	for (size_t i = 0; i < l->source->list.count && n == 0; i++) {
		if (l->source->list.segments[i].link == l->link) {
			n = search_segment(l, &search, i);
		}
	}
	l->done = n == 0 && !l->source->config.follow;
	return n < 0 ? n : 0;
}

/* ------------------------------------------------------------------------------------ begin and end */

void lane_init(struct lane *l, struct lane_source *source, unsigned link)
{
	const struct recorded_config *c = &source->config;

	*l = (struct lane){.source = source, .link = link, .number = -1};
	l->done = c->links && !(c->links & 1u << link);
	STAILQ_INIT(&l->parts);
}

void lane_fini(struct lane *l)
{
	drop_machines(l);
	if (l->open) {
		end_segment(l);
	}
}
