// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * record-check TRUTH RECORDING: holds a recording against what the floors sent. Of each link:
 *
 *   its cells follow each other, over all segments, with nothing twice
 *   each good frame in them is the one that the truth has at its count: floor, number, hydrophone samples
 *   (the frame's own checksum covers the rest); a good one of the truth is good here, unless a cell that
 *   is not there was before it and alignment is being found anew
 *
 * Prints a JSON object; exit 0 when nothing is wrong.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <xxhash.h>

#include "tdm/deframe.h"
#include "tdm/recording.h"
#include "tests/system/truth_read.h"

#define LINKS  4u
#define SETTLE 8u /* frames until alignment is found anew */

struct link {
	uint32_t *truth; /* record by count - low */
	uint64_t low, high;
	struct tdm_deframe *deframe;
	struct fcm_segment_header segment; /* the last one */
	uint64_t next, settle_until;
	unsigned segments, whole;
	/* what was found */
	uint64_t data, gaps, let_go, good, holes, repeats, unknown, different, missing;
};

static struct truth truth;
static struct link links[LINKS];

static int open_truth(const char *path)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	const uint8_t *map;

	if (fd < 0 || fstat(fd, &st) < 0) {
		return -errno;
	}
	map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	return map == MAP_FAILED ? -errno : truth_read(map, (size_t)st.st_size, &truth);
}

static void index_truth(void)
{
	for (unsigned i = 0; i < LINKS; i++) {
		links[i].low = UINT64_MAX;
	}
	for (size_t i = 0; i < truth.records; i++) {
		const struct truth_record *t = truth_at(&truth, i);
		struct link *l = &links[t->link % LINKS];

		l->low = t->count < l->low ? t->count : l->low;
		l->high = t->count > l->high ? t->count : l->high;
	}
	for (unsigned i = 0; i < LINKS; i++) {
		struct link *l = &links[i];

		l->truth =
			l->low <= l->high ? calloc(l->high - l->low + 1, sizeof(*l->truth)) : NULL;
		l->deframe = tdm_deframe_create(4096);
		if ((l->low <= l->high && !l->truth) || !l->deframe) {
			perror("record-check");
			exit(2);
		}
	}
	for (size_t i = 0; i < truth.records; i++) {
		const struct truth_record *t = truth_at(&truth, i);
		struct link *l = &links[t->link % LINKS];

		l->truth[t->count - l->low] = (uint32_t)i + 1;
	}
}

static bool same(const struct truth_record *t, const struct tdm_verdict *v)
{
	for (unsigned h = 0; h < TDM_HYDROPHONES; h++) {
		struct tdm_hydro_slot slot;

		tdm_hydro_slot_get(v->frame, h, &slot);
		if (t->sample_hash[h] &&
		    t->sample_hash[h] != XXH3_64bits(slot.samples, TDM_SAMPLES * 4)) {
			return false;
		}
	}
	return t->floor_frame == v->floor_frame && t->floor == v->header.floor &&
	       t->tower == v->header.tower;
}

static void on_verdict(void *context, const struct tdm_verdict *v)
{
	struct link *l = context;
	bool known = v->count - l->low <= l->high - l->low && l->truth;
	uint32_t at = known ? l->truth[v->count - l->low] : 0;
	const struct truth_record *t = at ? truth_at(&truth, at - 1) : NULL;

	if (!t) {
		l->unknown += v->loss == TDM_GOOD;
		return;
	}
	if (v->loss == TDM_GOOD) {
		l->good++;
		l->different += !same(t, v);
	} else if (t->fate == TDM_GOOD && v->count >= l->settle_until) {
		l->missing++;
	}
	if (t->fate != TDM_GOOD && l->settle_until < v->count + SETTLE) {
		/* Alignment may be found anew behind it. */
		l->settle_until = v->count + SETTLE;
	}
}

/* Counts that never were: a PPS came early. */
static bool is_pps_hole(uint64_t from, uint64_t to)
{
	return to % TDM_FRAMES_PER_SECOND == 0 && to > from && to - from < TDM_FRAMES_PER_SECOND;
}

static void take(struct link *l, const struct fcm_record_header *h, const uint8_t *data)
{
	if (h->count < l->next) {
		l->repeats += l->next - h->count;
	} else if (l->next && h->count != l->next && !is_pps_hole(l->next, h->count)) {
		l->holes += h->count - l->next;
	}
	l->next = h->count + h->frames;
	if (h->kind == FCM_RECORD_DATA) {
		l->data += h->frames;
		tdm_deframe_push(l->deframe, data, (uint32_t)h->frames, h->count, on_verdict, l);
		return;
	}
	*(h->kind == FCM_RECORD_GAP ? &l->gaps : &l->let_go) += h->frames;
	/* The frame before may have ended in it, and alignment may be found anew. */
	l->settle_until = l->next + SETTLE;
	tdm_deframe_gap(l->deframe, h->frames, h->count, TDM_LOSS_RING_FULL, on_verdict, l);
}

static int read_segment(const struct recording_segment *s)
{
	struct link *l = &links[s->link % LINKS];
	struct fcm_record_header h;
	struct recording_file f;
	int r = recording_open(&f, s->path);

	if (r == -ENODATA) {
		return 0; /* cut before its header was whole */
	}
	if (r < 0) {
		fprintf(stderr, "%s: %s\n", s->path, strerror(-r));
		return r;
	}
	if (l->segments++ == 0 || !tdm_segment_same_epoch(&f.walk.segment, &l->segment)) {
		tdm_deframe_reset(l->deframe);
		l->next = 0;
		l->settle_until = f.walk.segment.count + SETTLE;
	}
	l->segment = f.walk.segment;
	while ((r = recording_next(&f, &h)) > 0) {
		if (tdm_record_has_cells(&h)) {
			take(l, &h, f.data);
		}
	}
	l->whole += f.walk.end == RECORD_WHOLE;
	recording_close(&f);
	return r;
}

static uint64_t print_link(unsigned n)
{
	struct link *l = &links[n];

	printf("%s\"%u\":{\"segments\":%u,\"whole\":%u,\"data\":%llu,\"gaps\":%llu,\"let_go\":%llu,"
	       "\"good\":%llu,\"holes\":%llu,\"repeats\":%llu,\"unknown\":%llu,\"different\":%llu,"
	       "\"missing\":%llu}",
	       n ? "," : "", n, l->segments, l->whole, (unsigned long long)l->data,
	       (unsigned long long)l->gaps, (unsigned long long)l->let_go,
	       (unsigned long long)l->good, (unsigned long long)l->holes,
	       (unsigned long long)l->repeats, (unsigned long long)l->unknown,
	       (unsigned long long)l->different, (unsigned long long)l->missing);
	return l->holes + l->repeats + l->unknown + l->different + l->missing;
}

int main(int argc, char **argv)
{
	struct recording recording;
	uint64_t wrong = 0;
	int r;

	if (argc != 3) {
		fputs("usage: record-check TRUTH RECORDING\n", stderr);
		return 2;
	}
	r = open_truth(argv[1]);
	if (r < 0) {
		fprintf(stderr, "%s: %s\n", argv[1],
			r == -EBADMSG || r == -EPROTO ? truth_error(r) : strerror(-r));
		return 2;
	}
	r = recording_init(&recording, argv[2]);
	if (r < 0) {
		fprintf(stderr, "%s: %s\n", argv[2], strerror(-r));
		return 2;
	}
	index_truth();
	for (size_t i = 0; i < recording.count && r == 0; i++) {
		r = read_segment(&recording.segments[i]);
	}
	recording_fini(&recording);
	printf("{");
	for (unsigned n = 0; n < LINKS; n++) {
		wrong += print_link(n);
		free(links[n].truth);
		tdm_deframe_destroy(links[n].deframe);
	}
	printf("}\n");
	return r < 0 ? 2 : wrong ? 1 : 0;
}
