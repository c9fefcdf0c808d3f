/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The ledger of a link: counts events into rows by second. See ledger.h; who feeds it:
 * capture/link.c and out.c (live) and ack_tracker.c (settled).
 *
 * Rows lie in a ring by second modulo LEDGER_SECONDS; a row is cleared when its second is opened.
 */
#include "daemon/data/ledger.h"

#include <assert.h>
#include <string.h>
#include <sys/param.h>

void ledger_init(struct ledger *l, uint8_t link, uint8_t groups, const uint8_t *group_streams,
		 uint32_t dma_epoch)
{
	memset(l, 0, sizeof(*l));
	l->link = link;
	l->groups = groups;
	memcpy(l->group_streams, group_streams, sizeof(l->group_streams));
	l->dma_epoch = dma_epoch;
	l->tower = 0xff;
	l->floor = 0xff;
}

bool ledger_takes(const struct ledger *l, unsigned group, unsigned stream)
{
	return group < l->groups && l->group_streams[group] & 1u << stream;
}

bool ledger_room(const struct ledger *l, uint64_t second)
{
	if (second < l->closed_below) {
		return false;
	}
	if (!l->started) {
		return true;
	}
	return second < l->first ? l->end - second <= LEDGER_SECONDS
				 : second - l->first < LEDGER_SECONDS;
}

void ledger_identity(struct ledger *l, uint8_t tower, uint8_t floor)
{
	l->tower = tower;
	l->floor = floor;
}

static void open_second(struct ledger *l, uint64_t second)
{
	unsigned at = (unsigned)(second % LEDGER_SECONDS);

	l->links[at] = (struct ledger_link_row){
		.dma_epoch = l->dma_epoch,
		.second = second,
		.link = l->link,
		.tower = l->tower,
		.floor = l->floor,
	};
	for (unsigned s = 0; s < FCM_STREAMS; s++) {
		for (unsigned g = 0; g < GROUPS_MAX; g++) {
			l->streams[at][s][g] = (struct ledger_stream_row){
				.dma_epoch = l->dma_epoch,
				.link = l->link,
				.stream = (uint8_t)s,
				.group = (uint8_t)g,
				.second = second,
			};
		}
	}
}

/* Make sure that the second is open; its place in the ring. */
static unsigned place_of(struct ledger *l, uint64_t second)
{
	assert(ledger_room(l, second));
	if (!l->started) {
		l->started = true;
		l->first = second;
		l->end = second;
	}
	while (second < l->first) {
		open_second(l, --l->first);
	}
	while (second >= l->end) {
		open_second(l, l->end++);
	}
	return (unsigned)(second % LEDGER_SECONDS);
}

static struct ledger_link_row *link_row(struct ledger *l, uint64_t second)
{
	struct ledger_link_row *row = &l->links[place_of(l, second)];

	row->tower = l->tower;
	row->floor = l->floor;
	return row;
}

void ledger_cells(struct ledger *l, uint64_t count, uint64_t cells)
{
	while (cells > 0) {
		uint64_t left = TDM_FRAMES_PER_SECOND - count % TDM_FRAMES_PER_SECOND;
		uint64_t n = cells < left ? cells : left;

		link_row(l, count / TDM_FRAMES_PER_SECOND)->cells += (uint32_t)n;
		count += n;
		cells -= n;
	}
}

void ledger_verdict(struct ledger *l, uint64_t second, enum tdm_loss loss, uint32_t cells)
{
	link_row(l, second)->verdicts[loss] += cells;
}

void ledger_cut(struct ledger *l, uint64_t count)
{
	if (count % TDM_FRAMES_PER_SECOND != 0) {
		link_row(l, count / TDM_FRAMES_PER_SECOND)->partial = 1;
	}
}

void ledger_restarted(struct ledger *l, uint64_t second)
{
	struct ledger_link_row *row = link_row(l, second);

	row->restarts = row->restarts < UINT8_MAX ? (uint8_t)(row->restarts + 1) : UINT8_MAX;
}

void ledger_offer(struct ledger *l, unsigned stream, uint64_t first_frame, uint32_t frames)
{
	unsigned at = place_of(l, first_frame / TDM_FRAMES_PER_SECOND);

	for (unsigned g = 0; g < l->groups; g++) {
		if (ledger_takes(l, g, stream)) {
			l->streams[at][stream][g].offered += frames;
			l->streams[at][stream][g].in_flight += frames;
		}
	}
}

void ledger_outcome(struct ledger *l, unsigned stream, unsigned group, uint64_t first_frame,
		    uint32_t frames, enum outcome outcome)
{
	unsigned at = place_of(l, first_frame / TDM_FRAMES_PER_SECOND);
	struct ledger_stream_row *row = &l->streams[at][stream][group];

	assert(outcome > OUTCOME_NOT_OFFERED && outcome < OUTCOMES && row->in_flight >= frames);
	row->outcome[outcome] += frames;
	row->in_flight -= frames;
}

void ledger_restore_link(struct ledger *l, const struct ledger_link_row *row)
{
	unsigned at = place_of(l, row->second);

	l->links[at] = *row;
	l->tower = row->tower;
	l->floor = row->floor;
}

void ledger_restore_stream(struct ledger *l, const struct ledger_stream_row *row)
{
	l->streams[place_of(l, row->second)][row->stream][row->group] = *row;
}

static void report_second(const struct ledger *l, uint64_t second, bool closed,
			  const struct ledger_sink *sink)
{
	unsigned at = (unsigned)(second % LEDGER_SECONDS);
	struct ledger_link_row link = l->links[at];

	for (unsigned s = 0; s < FCM_STREAMS; s++) {
		for (unsigned g = 0; g < l->groups; g++) {
			struct ledger_stream_row row = l->streams[at][s][g];

			if (row.offered > 0) {
				row.closed = closed;
				sink->stream(sink->context, &row);
			}
		}
	}
	if (link.cells > 0 || link.restarts > 0) {
		link.closed = closed;
		sink->link(sink->context, &link);
	}
}

void ledger_each_open(const struct ledger *l, const struct ledger_sink *sink)
{
	for (uint64_t second = l->first; l->started && second < l->end; second++) {
		report_second(l, second, false, sink);
	}
}

void ledger_close(struct ledger *l, uint64_t second, const struct ledger_sink *sink)
{
	while (l->started && l->first < l->end && l->first < second) {
		if (sink) {
			report_second(l, l->first, true, sink);
		}
		l->first++;
	}
	if (l->started && l->first == l->end) {
		l->started = false;
	}
	l->closed_below = MAX(l->closed_below, second);
}
