/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A fibre: see fibre.h. Sources of the figures: SOURCES.md. The temperature of water at
 * depth moves by millikelvins, so a quiet link stays within some tens of ps. */
#include "driver/emu/world/fibre.h"

#include <math.h>
#include <string.h>

#define NS_PER_KM      4900.0 /* one way */
#define DRIFT_PS_KM_K  33.0
#define SWING_K	       0.004
#define SWING_PERIOD_S 1200.0
#define JITTER_PS      20.0
#define WANDER_PS      2.0
#define WANDER_TAU_S   20.0
#define SLOW_MS	       100u
#define TX_POWER_NW    1000000.0 /* 0 dBm */
#define LOSS_DB_KM     0.19
#define LOSS_DB	       2.0
#define FRAME_PS       125000000LL
#define BYTE_PS	       12500LL
#define BIT_PS	       1250

void fibre_init(struct fibre *f, uint64_t seed, unsigned index, double length_km)
{
	int64_t bytes;

	memset(f, 0, sizeof(*f));
	rng_seed(&f->rng, seed, RNG_FIBRE, index, 0);
	f->length_km = length_km;
	f->plugged = true;
	/* The resting phase stays away from the wrap, so that a quiet link does not carry bytes. */
	bytes = (int64_t)(2 * length_km * NS_PER_KM * 1000) / BYTE_PS;
	f->base_ps = bytes * BYTE_PS + 3000 + 1100 * (int64_t)index;
	f->power_nw = TX_POWER_NW * pow(10, -(LOSS_DB + LOSS_DB_KM * length_km) / 10);
}

void fibre_slow(struct fibre *f)
{
	const double dt = SLOW_MS * 1e-3;
	double swing;

	if (++f->slow_ms % SLOW_MS != 0) {
		return;
	}
	swing = SWING_K * sin(2 * M_PI * f->slow_ms * 1e-3 / SWING_PERIOD_S);
	f->drift_ps += f->drift_ps_per_s * dt;
	f->wander_ps += -f->wander_ps * dt / WANDER_TAU_S +
			WANDER_PS * sqrt(2 * dt / WANDER_TAU_S) * rng_normal(&f->rng);
	f->phase_ps = f->drift_ps + f->wander_ps + DRIFT_PS_KM_K * 2 * f->length_km * swing;
}

unsigned fibre_delay(const struct fibre *f)
{
	return (unsigned)((f->base_ps + FRAME_PS - 1) / FRAME_PS);
}

int64_t fibre_down_ns(const struct fibre *f)
{
	return llround(((double)f->base_ps + f->phase_ps) / 2000);
}

void fibre_send(struct fibre *f, uint64_t step, const uint8_t *frame)
{
	const unsigned i = step % FIBRE_RING;
	struct floor_down *down = &f->ring[i].down;

	f->ring[i].step = step;
	f->ring[i].used = true;
	down->lit = frame != NULL && f->plugged;
	down->good = false;
	down->rx_power_nw = down->lit ? (uint32_t)f->power_nw : 0;
	if (!down->lit) {
		return;
	}
	if (f->down_bad > 0) {
		f->down_bad--;
		return;
	}
	down->good = tdm_frame_check(frame, &down->header) == TDM_OK;
	if (down->good) {
		memcpy(down->bytes, frame, FLOOR_DOWN_BYTES);
	}
}

const struct floor_down *fibre_received(const struct fibre *f, uint64_t step)
{
	static const struct floor_down nothing;
	const unsigned i = step % FIBRE_RING;

	if (!f->ring[i].used || f->ring[i].step != step) {
		return &nothing;
	}
	return &f->ring[i].down;
}

void fibre_cut(struct fibre *f)
{
	for (unsigned i = 0; i < FIBRE_RING; i++) {
		f->ring[i].used = false;
	}
}

void fibre_measure(struct fibre *f, unsigned slip_bits, struct world_fibre *ret_fibre)
{
	const double noise = JITTER_PS * rng_normal(&f->rng);
	const int64_t total = f->base_ps + llround(f->phase_ps + noise);
	int64_t bytes = total / BYTE_PS;

	ret_fibre->phase_ps = (uint32_t)(total % BYTE_PS);
	/* A slip of ten bits is a byte. */
	bytes += slip_bits / (BYTE_PS / BIT_PS);
	ret_fibre->rtt_bits = (uint8_t)(slip_bits % (BYTE_PS / BIT_PS));
	ret_fibre->rtt_frames = (uint8_t)(bytes / TDM_FRAME_BYTES);
	ret_fibre->rtt_bytes = (uint16_t)(bytes % TDM_FRAME_BYTES);
}
