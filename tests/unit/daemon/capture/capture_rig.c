/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A data path for tests of capture: the emulator's host in a process of its own, and a consumer that checks blocks. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "driver/emu/world/world.h"
#include "tdm/hit.h"
#include "tdm/le.h"
#include "tests/unit/daemon/capture/capture_rig.h"
#include "tests/unit/rig/floor_rig.h"
#include "tests/system/stamped_hit.h"

/* --------------------------------------------------------------------------------- the world */

struct world {
	struct rig_control *control;
	uint64_t step;
	bool started;
	struct {
		struct floor_rig floor;
		uint8_t last[TDM_FRAME_BYTES], frame[TDM_FRAME_BYTES];
		uint64_t frames;
	} links[NANET3_LINKS];
};

void world_step(struct world *w)
{
	w->step += w->started;
	w->started = true;
}

uint32_t world_fault(struct world *w)
{
	return 0;
}

void world_roof(const struct world *w, struct world_roof *ret_roof)
{
	*ret_roof = (struct world_roof){
		.pps = w->step % TDM_FRAMES_PER_SECOND == 0,
		.reference = true,
	};
}

static bool lit(const struct world *w, unsigned link)
{
	return w->control->links & ~w->control->dark & 1u << link;
}

void world_fibre(struct world *w, unsigned link, struct world_fibre *ret_fibre)
{
	*ret_fibre = (struct world_fibre){
		.signal = lit(w, link),
		.lost = w->control->fifo_drop & 1u << link ? TDM_LOSS_BOARD_FIFO : TDM_GOOD,
	};
}

void world_downlink(struct world *w, unsigned link, const uint8_t *frame)
{
}

/* The floor's next frame; damaged if it is its turn. */
static void next_frame(struct world *w, unsigned link, uint64_t n, uint8_t *frame)
{
	struct rig_control *c = w->control;
	unsigned every = c->crc_every[link], down = c->down_every[link];

	if (w->links[link].floor.floor != c->floor[link]) { /* another one, with hits of its own */
		memset(w->links[link].floor.module, 0, sizeof(w->links[link].floor.module));
		w->links[link].floor.floor = (uint8_t)c->floor[link];
	}
	if (down > 0 && w->links[link].frames % down == down - 1) {
		w->links[link].floor.crc_errors++;
		c->damaged_down[link]++;
	}
	floor_rig_frame(&w->links[link].floor, n, frame);
	if (every > 0 && w->links[link].frames % every == every - 1) {
		frame[5000] ^= 1;
		c->damaged[link]++;
	}
	w->links[link].frames++;
}

void world_uplink(struct world *w, unsigned link, uint64_t count, enum tdm_loss fate, uint8_t *cell)
{
	unsigned offset = w->control->offset[link];

	if (!(w->control->links & 1u << link)) {
		return;
	}
	if (offset == 0) {
		next_frame(w, link, count - RIG_DELAY, cell);
		return;
	}
	/* The frame of this cell begins at `offset` and goes on in the next. */
	memcpy(w->links[link].last, w->links[link].frame, TDM_FRAME_BYTES);
	next_frame(w, link, count - RIG_DELAY, w->links[link].frame);
	memcpy(cell, w->links[link].last + TDM_FRAME_BYTES - offset, offset);
	memcpy(cell + offset, w->links[link].frame, TDM_FRAME_BYTES - offset);
}

void world_realign(struct world *w, unsigned link, bool reset)
{
}

struct play *world_play(struct world *w)
{
	return NULL;
}

bool world_locked(const struct world *w, unsigned link)
{
	return lit(w, link);
}

/* ---------------------------------------------------------------------------------- the host */

struct rig_control *rig_control_create(void)
{
	struct rig_control *c =
		mmap(NULL, sizeof(*c), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (c == MAP_FAILED) {
		abort();
	}
	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		c->floor[i] = i + 1;
	}
	return c;
}

static volatile sig_atomic_t stop;

static void on_term(int number)
{
	stop = 1;
}

static int run(const struct host_config *config, struct rig_control *control, int ready_fd)
{
	struct world *w = calloc(1, sizeof(*w));
	struct host *h = NULL;
	int r;

	signal(SIGTERM, on_term);
	if (!w) {
		return 1;
	}
	w->control = control;
	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		floor_rig_init(&w->links[i].floor, 1, (uint8_t)(i + 1));
		w->links[i].floor.utc_s = RIG_UTC_ZERO;
		w->links[i].floor.slot_limit = 200;
		w->links[i].floor.hits = 2;
	}
	r = host_create(config, w, &h);
	(void)!write(ready_fd, &r, sizeof(r));
	close(ready_fd);
	if (r == 0) {
		r = host_run(h, &stop);
		host_destroy(h);
	}
	free(w);
	return r == 0 ? 0 : 1;
}

pid_t rig_host_start(const struct host_config *config, struct rig_control *control)
{
	int ready[2], r = -EIO;
	pid_t pid;

	if (pipe(ready) != 0) {
		return -errno;
	}
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(ready[0]);
		_exit(run(config, control, ready[1]));
	}
	close(ready[1]);
	if (pid > 0 && read(ready[0], &r, sizeof(r)) != sizeof(r)) {
		r = -EIO;
	}
	close(ready[0]);
	if (pid > 0 && r < 0) {
		waitpid(pid, NULL, 0);
		return r;
	}
	return pid;
}

/* A sanitizer may withhold the signal from a forked child: then it is killed. */
void rig_host_end(pid_t pid, int number)
{
	kill(pid, number);
	for (unsigned n = 0; n < 1000; n++) {
		if (waitpid(pid, NULL, WNOHANG) != 0) {
			return;
		}
		poll(NULL, 0, 10);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

struct label rig_label(uint32_t time_epoch)
{
	return (struct label){
		.time_epoch = time_epoch,
		.source = LABEL_GPSD,
		.state = CLOCK_LOCKED,
		.uncertainty_ns = 50,
		.tai_utc_s = RIG_TAI_UTC,
		.anchor_count = 8000,
		.anchor_tai_ns = (RIG_UTC_ZERO + RIG_TAI_UTC + 1) * 1000000000,
		.leap_tai_ns = INT64_MAX,
	};
}

/* ------------------------------------------------------------------------------ the consumer */

static void complain(struct rig_consumer *c, const struct fcm_block_header *h, const char *what)
{
	if (c->complaint[0] == '\0') {
		snprintf(c->complaint, sizeof(c->complaint),
			 "link %u stream %u frame %llu + %u flags %#x: %s", h->link, h->stream,
			 (unsigned long long)h->first_frame, h->frames, h->flags, what);
	}
}

static void check_hits(struct rig_consumer *c, struct rig_stream *s,
		       const struct fcm_block_header *h, const uint8_t *payload)
{
	bool clean = h->frames_lost + h->frames_bad == 0 && h->item_faults == 0;

	for (unsigned m = 0; m < h->channels; m++) {
		const uint8_t *index = payload + h->index_offset + 4 * m * (h->frames + 1u);
		uint64_t next = s->clean && clean ? s->next_hit[m] : UINT64_MAX;

		for (uint32_t f = 0; f < h->frames; f++) {
			uint32_t at = le32_get(index + 4 * f), end = le32_get(index + 4 * f + 4);

			for (; at < end; at += (uint32_t)hit_bytes(payload + at)) {
				const uint8_t *hit = payload + at;

				if (floor_rig_hit_bad(hit, h->tower, h->floor, m) ||
				    floor_rig_hit_start(hit) != h->first_frame + f) {
					s->bad++;
					complain(c, h, "a hit that is none");
					return;
				}
				if (clean && next != UINT64_MAX &&
				    floor_rig_hit_counter(hit) != next) {
					s->bad++;
					complain(c, h, "a hit is missing");
				}
				if (!(h->flags & FCM_BLOCK_NO_TIME) && !hit_legal_stamped(hit)) {
					complain(c, h, "a hit without time");
				}
				next = floor_rig_hit_counter(hit) + 1;
			}
		}
		s->next_hit[m] = next;
	}
	s->clean = clean;
}

static void check_samples(struct rig_consumer *c, const struct fcm_block_header *h,
			  const uint8_t *payload)
{
	for (unsigned m = 0; m < h->channels; m++) {
		const uint8_t *index = payload + h->index_offset + 4 * m * (h->frames + 1u);

		for (uint32_t f = 0; f < h->frames; f++) {
			uint32_t at = le32_get(index + 4 * f), end = le32_get(index + 4 * f + 4);

			if (end - at != (payload[f] == 0 ? 96u : 0u) ||
			    (end > at &&
			     (int32_t)le32_get(payload + at) !=
				     floor_rig_sample(h->floor, m, h->first_frame + f, 0))) {
				complain(c, h, "samples");
				return;
			}
		}
	}
}

/* True when the block has been here before. */
static bool repeated(struct rig_consumer *c, struct rig_stream *s, const struct fcm_block_header *h)
{
	uint64_t which = h->first_frame | (uint64_t)h->floor << 48 |
			 (h->flags & FCM_BLOCK_GAP ? 1ull << 62 : 0);
	unsigned i = (unsigned)(h->first_frame / 8 % RIG_SEEN); /* none is shorter */

	if (s->seen[i].which == which) {
		s->repeats++;
		if (!(h->flags & FCM_BLOCK_RESENT)) {
			s->unflagged++;
			complain(c, h, "twice, and not flagged");
		}
		if (s->seen[i].crc != h->payload_crc || s->seen[i].frames != h->frames) {
			s->different++;
			complain(c, h, "again, and different");
		}
		return true;
	}
	s->seen[i].which = which;
	s->seen[i].frames = h->frames;
	s->seen[i].crc = h->payload_crc;
	return false;
}

/* No two blocks that may be in flight together have the same number, also with different
 * lengths. */
static void check_number(struct rig_consumer *c, struct rig_stream *s,
			 const struct fcm_block_header *h)
{
	uint64_t *first = &s->first[h->sequence % RIG_SEEN];

	if (*first < h->first_frame && h->first_frame - *first < RIG_IN_FLIGHT) {
		complain(c, h, "the number of another block");
	}
	*first = h->first_frame;
}

void rig_consume(struct rig_consumer *c, const struct fcm_block_header *h, const uint8_t *payload)
{
	struct rig_stream *s = &c->stream[h->link][h->stream];

	s->blocks++;
	if (h->magic != FCM_BLOCK_MAGIC || h->header_crc != tdm_crc32c(h, 252) ||
	    h->payload_crc != tdm_crc32c(payload, h->payload_bytes)) {
		complain(c, h, "CRC");
		return;
	}
	if (!(h->flags & FCM_BLOCK_IDENTITY) == (h->tower != 1 || h->floor != h->link + 1)) {
		complain(c, h, "of another floor, or not");
	}
	c->bytes[h->link] += h->payload_bytes;
	if (repeated(c, s, h)) {
		return;
	}
	check_number(c, s, h);
	/* Where one floor takes another one's place a block comes for both. */
	if (s->begun && h->first_frame != s->next_frame &&
	    (h->floor == s->floor || h->first_frame + h->frames != s->next_frame)) {
		s->holes++;
		s->clean = false;
		complain(c, h, h->first_frame > s->next_frame ? "frames are missing" : "goes back");
	}
	s->begun = true;
	s->clean &= h->floor == s->floor;
	s->floor = h->floor;
	s->next_frame = h->first_frame + h->frames;
	s->gaps += (h->flags & FCM_BLOCK_GAP) != 0;
	s->items += h->items;
	s->faults += h->item_faults;
	s->frames += h->frames;
	s->cable_delay_ns = h->cable_delay_ns;
	s->block_frames = h->frames;
	s->frames_missing += h->frames_lost + h->frames_bad;
	if (h->stream == FCM_PMT && h->channels > 0) {
		check_hits(c, s, h, payload);
	} else if (h->stream == FCM_PMT) {
		s->clean = false;
	} else if (h->stream == FCM_HYDROPHONE) {
		check_samples(c, h, payload);
	}
}

/* ------------------------------------------------------------------------------------- rows */

void rig_link_row(struct rig_rows *r, const struct ledger_link_row *row)
{
	struct ledger_link_row *to = &r->link[row->link][row->second % RIG_ROWS];

	if (to->closed && to->second == row->second && row->closed &&
	    memcmp(to->verdicts, row->verdicts, sizeof(to->verdicts)) != 0) {
		r->closed_twice++;
	}
	*to = *row;
}

void rig_stream_row(struct rig_rows *r, const struct ledger_stream_row *row)
{
	struct ledger_stream_row *to =
		&r->stream[row->link][row->stream][row->group][row->second % RIG_ROWS];

	if (to->closed && to->second == row->second && row->closed &&
	    to->outcome[OUTCOME_ACKED] != row->outcome[OUTCOME_ACKED]) {
		r->closed_twice++;
	}
	*to = *row;
}
