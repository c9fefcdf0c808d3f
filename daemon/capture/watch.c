// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The main thread's look at the board. See watch.h; the registers are in driver/nanet3.h.
 */
#include "daemon/capture/watch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/core/now.h"

#define REOPEN_NS 500000000ull
#define GRANT_NS  2000000000ull /* capture claims again twice a second */

struct watch {
	char *where;
	unsigned links; /* bit mask */
	struct watch_events events;
	struct nanet3 *board;
	struct nanet3
		*gone; /* closed at the next poll: until then its descriptor is in the event loop */
	unsigned generation;
	uint64_t tried_ns;
	uint64_t waited_ns;
	uint64_t denied_ns[NANET3_LINKS]; /* since when the link is not granted; 0: it is */
	struct watch_board now;
	struct watch_link link[NANET3_LINKS];
};

int watch_create(const char *where, unsigned links, const struct watch_events *events,
		 struct watch **ret_watch)
{
	struct watch *w = calloc(1, sizeof(*w));

	if (!w || !(w->where = strdup(where))) {
		free(w);
		return -ENOMEM;
	}
	w->links = links;
	w->events = *events;
	*ret_watch = w;
	return 0;
}

void watch_destroy(struct watch *w)
{
	if (!w) {
		return;
	}
	nanet3_close(w->gone);
	nanet3_close(w->board);
	free(w->where);
	free(w);
}

static int lost(struct watch *w, int error)
{
	if (error == -ENODEV) {
		nanet3_close(w->gone);
		w->gone = w->board;
		w->board = NULL;
		w->generation++;
		memset(w->link, 0, sizeof(w->link));
	}
	return error;
}

static int try_open(struct watch *w, uint64_t now_ns)
{
	int r;

	if (w->tried_ns && now_ns - w->tried_ns < REOPEN_NS) {
		return -ENODEV;
	}
	r = nanet3_open(w->where, &w->board);
	w->tried_ns = now_mono_ns(); /* it may have taken its time */
	if (r == 0) { /* without its events no command would ever be known to have left */
		r = nanet3_subscribe(w->board, 1u << NANET3_EVENT_LINK | 1u << NANET3_EVENT_PPS |
						       1u << NANET3_EVENT_ERROR);
	}
	if (r < 0) {
		nanet3_close(w->board);
		w->board = NULL;
		return r;
	}
	w->generation++;
	return 0;
}

static int read_board(struct watch *w, uint64_t now_ns)
{
	/* STATUS .. TOD_FLAGS in one reading: count and time of day belong together. */
	enum { FIRST = NANET3_REG_STATUS, N = (NANET3_REG_TOD_FLAGS - FIRST) / 4 + 1 };
	uint32_t v[N];
	int r = nanet3_reg_read(w->board, FIRST, v, N);

	if (r < 0) {
		return r;
	}
#define REG(name) v[(NANET3_REG_##name - FIRST) / 4]
	w->now.status = REG(STATUS);
	w->now.boot_count = REG(BOOT_COUNT);
	w->now.count = (uint64_t)v[(NANET3_REG_COUNT - FIRST) / 4 + 1] << 32 | REG(COUNT);
	w->now.temperature_mc = (int32_t)REG(TEMPERATURE);
	w->now.time = (struct tdm_time){
		.second = REG(TOD),
		.day = REG(TOD_DATE) & 0x1ff,
		.year = REG(TOD_DATE) >> 9 & 0x7f,
		.quality = w->now.status & NANET3_STATUS_TOD ? REG(TOD_FLAGS) & 0xf : TDM_TIME_NONE,
		.leap = REG(TOD_FLAGS) >> 4 & 0x3,
	};
#undef REG
	w->now.read_ns = now_ns;
	return 0;
}

static int read_link(struct watch *w, unsigned link)
{
	enum { N = NANET3_LREG_CELLS / 4 + 1 };
	struct watch_link *l = &w->link[link];
	uint32_t v[N];
	int r = nanet3_reg_read(w->board, NANET3_REG_LINK(link, 0), v, N);

	if (r < 0) {
		return r;
	}
#define REG(name) v[NANET3_LREG_##name / 4]
	l->status = REG(STATUS);
	l->rx_power_nw = REG(RX_POWER);
	l->tx_power_nw = REG(TX_POWER);
	l->code_errors = REG(CODE_ERRORS);
	l->lost_locks = REG(LOST_LOCKS);
	l->drop_fifo = REG(DROP_FIFO);
	l->drop_ring = REG(DROP_RING);
	l->drop_down = REG(DROP_DOWN);
	l->cells = REG(CELLS);
	l->phase = (struct phase_reading){
		.phase_ps = REG(PHASE),
		.rtt_frames = (uint8_t)(REG(RTT) & 0xff),
		.rtt_bytes = (uint16_t)(REG(RTT) >> 8 & 0x3fff),
		.rtt_bits = (uint8_t)(REG(RTT) >> 22 & 0xf),
		.aligns = REG(ALIGNS),
		.measurements = REG(PHASE_NUMBER),
		.locked = REG(STATUS) & NANET3_LSTAT_LOCKED,
	};
#undef REG
	return 0;
}

static int poll_board(struct watch *w, uint64_t now_ns)
{
	int r;

	nanet3_close(w->gone);
	w->gone = NULL;
	r = w->board ? 0 : try_open(w, now_ns);
	if (r == 0) {
		r = read_board(w, now_ns);
	}
	for (unsigned link = 0; r == 0 && link < NANET3_LINKS; link++) {
		if (w->links & 1u << link) {
			r = read_link(w, link);
		}
	}
	return r;
}

/* The board has been asked since `begin_ns`. */
static int answered(struct watch *w, uint64_t begin_ns, int result)
{
	w->waited_ns += now_mono_ns() - begin_ns;
	return result < 0 && w->board ? lost(w, result) : result;
}

int watch_poll(struct watch *w, uint64_t now_ns)
{
	uint64_t begin = now_mono_ns();

	return answered(w, begin, poll_board(w, now_ns));
}

uint64_t watch_waited_ns(const struct watch *w)
{
	return w->waited_ns;
}

int watch_fd(const struct watch *w)
{
	return w->board ? nanet3_fd(w->board) : -1;
}

unsigned watch_generation(const struct watch *w)
{
	return w->generation;
}

void watch_dispatch(struct watch *w)
{
	struct nanet3_event event;

	if (!w->board) {
		return;
	}
	if (nanet3_wait(w->board, 0) == -ENODEV) {
		lost(w, -ENODEV);
		return;
	}
	while (w->board && nanet3_next_event(w->board, &event) > 0) {
		w->events.on_event(&event, w->events.context);
	}
}

const struct watch_board *watch_board(const struct watch *w)
{
	return &w->now;
}

const struct watch_link *watch_link(const struct watch *w, unsigned link)
{
	return &w->link[link];
}

const struct nanet3_info *watch_info(const struct watch *w)
{
	return w->board ? nanet3_info(w->board) : NULL;
}

/* Result of a request that acts on a link. */
static int granted(struct watch *w, unsigned link, int result)
{
	uint64_t *denied_ns = &w->denied_ns[link % NANET3_LINKS], now = now_mono_ns();

	if (result != -EPERM) {
		*denied_ns = 0;
		return result;
	}
	if (*denied_ns == 0) {
		*denied_ns = now;
	}
	return now - *denied_ns < GRANT_NS ? -EAGAIN : result;
}

int watch_send(struct watch *w, const struct nanet3_tx *tx)
{
	uint64_t begin = now_mono_ns();
	int r = w->board ? nanet3_send(w->board, tx) : -ENODEV;

	return granted(w, tx->link, answered(w, begin, r));
}

int watch_link_command(struct watch *w, unsigned link, uint32_t command)
{
	uint64_t begin = now_mono_ns();
	int r = w->board ? nanet3_link_command(w->board, link, command) : -ENODEV;

	return granted(w, link, answered(w, begin, r));
}
