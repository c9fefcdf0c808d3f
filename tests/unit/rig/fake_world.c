/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A world of four fibres that do what a test sets, for tests of the board and its host. See fake_world.h. */
#include <string.h>

#include "tests/unit/rig/fake_world.h"

void fake_world_init(struct world *w)
{
	memset(w, 0, sizeof(*w));
	w->pps = true;
	w->roof = (struct world_roof){
		.reference = true,
		.tod_valid = true,
		.tod_second = 45296,
		.tod_day = 171,
		.tod_year = 26,
		.tod_quality = TDM_TIME_LOCKED,
		.temperature_mc = 41500,
	};
	for (unsigned i = 0; i < FAKE_LINKS; i++) {
		w->links[i].relock_steps = 400;
		w->links[i].phase_ps = 1000 * (i + 1);
	}
}

uint64_t fake_pattern(uint64_t count, unsigned link)
{
	return (count << 8 | link) * 0x9e3779b97f4a7c15u;
}

int fake_fate(const struct world *w, unsigned link, uint64_t count)
{
	const struct fake_link *l = &w->links[link];

	return l->counts[count % FAKE_FATES] == count ? l->fates[count % FAKE_FATES] : -1;
}

void world_step(struct world *w)
{
	w->step += w->started;
	w->started = true;
	w->roof.pps = w->pps && w->step % TDM_FRAMES_PER_SECOND == w->pps_phase;
}

void world_roof(const struct world *w, struct world_roof *ret_roof)
{
	*ret_roof = w->roof;
}

uint32_t world_fault(struct world *w)
{
	uint32_t fault = w->fault;

	w->fault = 0;
	return fault;
}

void world_fibre(struct world *w, unsigned link, struct world_fibre *ret_fibre)
{
	const struct fake_link *l = &w->links[link];

	*ret_fibre = (struct world_fibre){
		.signal = !l->dark,
		.rx_power_nw = l->dark ? 0 : 200000,
		.tx_power_nw = 500000,
		.no_phase = l->no_phase,
		.phase_ps = l->phase_ps,
		.rtt_frames = 7,
		.rtt_bytes = (uint16_t)(1000 + link),
		.rtt_bits = 3,
		.code_errors = l->code_errors,
		.lost = (uint8_t)(l->fifo_drop ? TDM_LOSS_BOARD_FIFO : l->lost),
	};
}

void world_downlink(struct world *w, unsigned link, const uint8_t *frame)
{
	struct fake_link *l = &w->links[link];

	l->down_frames++;
	l->down_off = frame == NULL;
	if (frame != NULL) {
		memcpy(l->down, frame, sizeof(l->down));
	}
}

void world_uplink(struct world *w, unsigned link, uint64_t count, enum tdm_loss fate, uint8_t *cell)
{
	struct fake_link *l = &w->links[link];
	uint64_t word = fake_pattern(count, link);

	for (unsigned i = 0; i < TDM_FRAME_BYTES; i += sizeof(word)) {
		memcpy(cell + i, &word, sizeof(word));
	}
	l->counts[count % FAKE_FATES] = count;
	l->fates[count % FAKE_FATES] = (uint8_t)fate;
}

void world_realign(struct world *w, unsigned link, bool reset)
{
	struct fake_link *l = &w->links[link];

	l->realigns++;
	l->resets += reset;
	l->locked_from = w->step + l->relock_steps;
}

bool world_locked(const struct world *w, unsigned link)
{
	return !w->links[link].dark && w->step >= w->links[link].locked_from;
}

struct play *world_play(struct world *w)
{
	return NULL;
}
