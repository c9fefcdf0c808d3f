/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An optical module: see pmt.h. Gain goes as the 7.5th power of the HV; the share of light pulses
 * above threshold follows from gain and spectrum; times the sea's light it is the rate. The model is
 * OURS; the figures are plausible ones.
 */
#include "driver/emu/floor/pmt.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "driver/emu/floor/beacon.h"
#include "driver/emu/floor/floor.h"
#include "driver/emu/floor/hit_fifo.h"
#include "driver/emu/floor/pulse.h"
#include "tdm/frame.h"
#include "tdm/hit.h"
#include "tdm/le.h"
#include "tdm/registers.h"

#define FRAME_TICKS    25000 /* of 5 ns */
#define TICK_S	       5e-9
#define GAIN_POWER     7.5
#define READ_NOISE     3.0   /* 0.1 V */
#define BASE_OHM       2e8   /* divider of the HV base */
#define ANODE_C	       8e-12 /* charge of a pulse at nominal gain */
#define TRIP_NA	       20000 /* over-current limit: reached just below 2000 V at design load */
#define POWER_CYCLE_MS 200u
#define FULL_FILL      (4u * TDM_PMT_STREAM)
#define NO_HITS	       1e30f
#define HIT_FIFO_FULL  0x80u /* in byte 12 of the hit: bit 7 of its third word */
#define DARK_V	       100   /* below there are no pulses */
#define DEFAULT_MV     10
#define DEFAULT_RAMP   1000

struct pmt {
	const struct pulse_tables *tables;
	unsigned module; /* on its floor */
	bool full;
	double quiet_rate_hz;
	struct hit_fifo fifo;
	struct rng rng;	     /* hits */
	struct rng slow_rng; /* read-back noise */

	/* the hit stream */
	uint32_t identity; /* first word of every hit */
	float mean_wait;   /* ticks between the end of a pulse and the next; NO_HITS */
	float next;	   /* ticks from the start of the next frame */
	float busy_until;  /* likewise: where the last pulse is over */
	uint32_t first_quantile;
	int gain_steps;
	float mean_bytes, mean_ticks;
	double nominal_share;
	uint8_t slot_sequence;

	/* slow control */
	bool powered, tripped;
	double hv;     /* 0.1 V, true */
	double offset; /* 0.1 V, calibration of the read-back */
	int32_t hv_set, threshold_mv, ramp;
	double temperature_mc;
	unsigned cycle_ms; /* until power comes back */
	int32_t cycle_hv;  /* set value to restore */
	uint32_t trips, clears, resets, cycles;
	int32_t lost;
	unsigned second_ms;
	int32_t rate_count, rate;
};

/* Of the light pulses, those from a quantile on. */
static double share_from(uint32_t quantile)
{
	return 1 - (double)quantile / PULSE_QUANTILES;
}

struct pmt *pmt_create(const struct floor_config *config, unsigned module,
		       const struct pulse_tables *tables)
{
	const unsigned name = config->tower * 64u + config->floor;
	const struct hit identity = {
		.pmt = (uint8_t)module, .efcm = config->floor, .tower = config->tower};
	uint8_t header[HIT_HEADER_BYTES];
	struct pmt *p = calloc(1, sizeof(*p));

	if (!p) {
		return NULL;
	}
	if (hit_fifo_init(&p->fifo, config->fifo_bytes) < 0) {
		free(p);
		return NULL;
	}
	p->module = module;
	p->full = config->full;
	p->quiet_rate_hz = config->quiet_rate_hz;
	p->tables = tables;
	rng_seed(&p->rng, config->seed, RNG_HITS, name, module);
	rng_seed(&p->slow_rng, config->seed, RNG_OM_SLOW, name, module);
	hit_pack(&identity, header);
	p->identity = le32_get(header);
	p->powered = !config->cold;
	p->hv_set = config->cold ? 0 : REG_OM_HV_NOMINAL;
	p->hv = p->hv_set;
	p->offset = 2 * rng_normal(&p->slow_rng);
	p->threshold_mv = DEFAULT_MV;
	p->ramp = DEFAULT_RAMP;
	p->temperature_mc = 13500 + (config->cold ? 0 : 6000);
	p->mean_bytes = (float)pulse_mean_bytes(tables, DEFAULT_MV);
	p->mean_ticks = p->mean_bytes - HIT_HEADER_BYTES;
	p->nominal_share = share_from(pulse_first_quantile(tables, 1.0, DEFAULT_MV));
	p->mean_wait = NO_HITS;
	p->next = (float)rng_below(&p->rng, FRAME_TICKS);
	return p;
}

void pmt_destroy(struct pmt *p)
{
	if (p) {
		hit_fifo_fini(&p->fifo);
		free(p);
	}
}

bool pmt_powered(const struct pmt *p)
{
	return p->powered;
}

/* ---------------------------------------------------------------- slow */

static double gain_of(const struct pmt *p)
{
	return pow(p->hv / 10 / (REG_OM_HV_NOMINAL / 10.0), GAIN_POWER);
}

static bool is_dark(const struct pmt *p)
{
	return !p->powered || p->hv / 10 < DARK_V;
}

static double current_na(const struct pmt *p)
{
	const double volts = p->hv / 10;

	return p->powered ? volts / BASE_OHM * 1e9 + p->rate * ANODE_C * gain_of(p) * 1e9 : 0;
}

void pmt_trip(struct pmt *p)
{
	if (p->powered && !p->tripped) {
		p->tripped = true;
		p->trips++;
		p->hv = 0;
	}
}

static void switch_off(struct pmt *p)
{
	p->powered = false;
	p->tripped = false;
	p->hv = 0;
	p->hv_set = 0;
	hit_fifo_clear(&p->fifo, false);
}

static void switch_on(struct pmt *p, int32_t hv_set)
{
	p->powered = true;
	p->hv_set = hv_set;
}

static void ramp_hv(struct pmt *p)
{
	const double step = p->ramp * 1e-3;
	const double target = p->tripped || !p->powered ? 0 : p->hv_set;

	if (p->hv < target) {
		p->hv = fmin(p->hv + step, target);
	} else if (p->hv > target) {
		p->hv = fmax(p->hv - step, target);
	}
}

/* How often a pulse passes the threshold now. */
static void set_rate(struct pmt *p, double light)
{
	const double gain = gain_of(p);
	double rate;

	p->mean_wait = NO_HITS;
	if (is_dark(p)) {
		return;
	}
	p->first_quantile = pulse_first_quantile(p->tables, gain, p->threshold_mv);
	p->gain_steps = pulse_gain_steps(gain);
	if (p->first_quantile >= PULSE_QUANTILES) {
		return;
	}
	rate = p->quiet_rate_hz * light * share_from(p->first_quantile) / p->nominal_share;
	if (rate > 0.1) {
		p->mean_wait = (float)fmax(1 / (rate * TICK_S) - p->mean_ticks, 1);
	}
}

void pmt_slow(struct pmt *p, double light, int32_t water_mc)
{
	const double warm = water_mc + (p->powered ? 6000 : 0);

	p->temperature_mc += (warm - p->temperature_mc) * 1e-3 / 60;
	if (p->cycle_ms > 0 && --p->cycle_ms == 0) {
		switch_on(p, p->cycle_hv);
		p->cycles++;
	}
	ramp_hv(p);
	if (current_na(p) > TRIP_NA) {
		pmt_trip(p);
	}
	set_rate(p, light);
	if (++p->second_ms >= 1000) {
		p->second_ms = 0;
		p->rate = p->rate_count;
		p->rate_count = 0;
	}
}

/* ---------------------------------------------------------------- hits */

/* In --load full the rate follows the FIFO, so that every slot is full and nothing is lost. */
static float wait_for_full(const struct pmt *p)
{
	const uint32_t fill = hit_fifo_fill(&p->fifo);
	const float hits = fill < FULL_FILL ? (float)(FULL_FILL - fill) / p->mean_bytes : 0;

	if (p->mean_wait >= NO_HITS || hits < 1) {
		return NO_HITS;
	}
	return fmaxf(FRAME_TICKS / hits - p->mean_ticks, 1);
}

/* Whether there was room in the FIFO. */
static bool store(struct pmt *p, const struct pulse *pulse, uint32_t tick, unsigned frame)
{
	uint8_t *at = hit_fifo_reserve(&p->fifo, pulse->bytes, pulse->fragments);

	p->rate_count += pulse->fragments;
	if (!at) {
		return false;
	}
	if (pulse->bytes <= 96) {
		memcpy(at, pulse->data, 96); /* fixed length: a few vector moves */
	} else {
		memcpy(at, pulse->data, pulse->bytes);
	}
	for (unsigned i = 0; i < pulse->fragments; i++) {
		uint8_t *hit = at + pulse->offset[i];
		uint32_t start = tick + pulse->tick[i];
		uint32_t born = frame;

		if (start >= FRAME_TICKS) { /* the pulse goes on in the next frame */
			start -= FRAME_TICKS;
			born = frame + 1 < TDM_FRAMES_PER_SECOND ? frame + 1 : 0;
		}
		le32_put(hit, p->identity);
		le32_put(hit + 4, start | born << 16);
	}
	if (p->fifo.mark) {
		at[12] |= HIT_FIFO_FULL;
		p->fifo.mark = false;
	}
	hit_fifo_commit(&p->fifo, pulse->bytes);
	return true;
}

/* The sea's pulses that begin before tick `until`. One that falls into the pulse of a flash is part of
 * that, and gives no hit of its own. */
static void generate_sea(struct pmt *p, float wait, float until, unsigned frame)
{
	const uint32_t span = PULSE_QUANTILES - p->first_quantile;
	float next = p->next;

	while (next < until) {
		const uint64_t bits = rng_next(&p->rng);
		const uint32_t quantile =
			p->first_quantile + (uint32_t)(((bits & 0xffff) * span) >> 16);
		const struct pulse *pulse =
			pulse_pick(p->tables, quantile, p->gain_steps, (uint32_t)(bits >> 16));
		/* One tick more than the pulse: times of a module never repeat. */
		const float over = floorf(next) + (float)pulse->ticks + 1;

		if (next >= p->busy_until) {
			store(p, pulse, (uint32_t)next, frame);
			p->busy_until = over;
		}
		next = over + wait * pulse_wait(p->tables, bits);
	}
	p->next = next;
}

/* The light of a flash is a pulse like others: of its charge, where the module has HV, if it passes the
 * threshold and no other pulse is being digitised. */
static uint8_t take_light(struct pmt *p, const struct beacon_light *light, unsigned frame)
{
	const double mv = light->charge * PULSE_PE_MV * gain_of(p);
	const struct pulse *pulse = pulse_of(p->tables, mv, light->variant);

	if (is_dark(p)) {
		return TRUTH_OFF;
	}
	if (mv < p->threshold_mv) {
		return TRUTH_DIM;
	}
	if ((float)light->tick < p->busy_until) {
		return TRUTH_BUSY;
	}
	p->busy_until = (float)(light->tick + pulse->ticks + 1);
	return store(p, pulse, light->tick, frame) ? TRUTH_HIT : TRUTH_FULL;
}

uint8_t pmt_generate(struct pmt *p, unsigned frame, const struct beacon_light *light)
{
	const float wait = p->full ? wait_for_full(p) : p->mean_wait;
	const bool sea = wait < NO_HITS;
	uint8_t outcome = TRUTH_NOTHING;

	if (light != NULL) {
		if (sea) {
			generate_sea(p, wait, (float)(light->tick + 1), frame);
		}
		outcome = take_light(p, light, frame);
	}
	if (sea) {
		generate_sea(p, wait, FRAME_TICKS, frame);
		/* A rate that rises must not wait for a hit drawn while it was dark. */
		p->next = fminf(p->next - FRAME_TICKS, 100.0f * FRAME_TICKS);
	} else {
		p->next = fmaxf(p->next - FRAME_TICKS, 0);
	}
	p->busy_until = fmaxf(p->busy_until - FRAME_TICKS, 0);
	return outcome;
}

void pmt_drain(struct pmt *p, uint8_t *cell, bool hash, struct pmt_share *ret_share)
{
	const uint32_t fill = hit_fifo_fill(&p->fifo);
	struct tdm_pmt_slot slot;
	struct hit_take take;

	hit_fifo_take(&p->fifo, TDM_PMT_STREAM, &take);
	slot = (struct tdm_pmt_slot){
		.stream = take.bytes,
		.length = (uint16_t)take.length,
		.first = (uint16_t)take.first,
		.flags = (uint8_t)((take.lost ? TDM_PMT_FIFO_FULL : 0u) |
				   (p->powered ? TDM_PMT_POWERED : 0u)),
		.sequence = p->slot_sequence++,
		.fill = (uint16_t)(fill / 64 < UINT16_MAX ? fill / 64 : UINT16_MAX),
	};
	tdm_pmt_slot_put(cell, p->module, &slot);
	p->lost = (int32_t)(((uint32_t)p->lost + take.lost) & INT32_MAX);
	ret_share->bytes = slot.length;
	ret_share->hits = (uint16_t)take.hits;
	ret_share->lost = (uint16_t)(take.lost < UINT16_MAX ? take.lost : UINT16_MAX);
	ret_share->hash = hash && take.hits ? XXH3_64bits(take.bytes + take.first, take.whole) : 0;
}

void pmt_age(struct pmt *p)
{
	p->trips = p->clears = p->resets = p->cycles = UINT32_MAX;
	p->lost = INT32_MAX - 100;
}

void pmt_boot(struct pmt *p)
{
	hit_fifo_clear(&p->fifo, true);
	p->slot_sequence = 0;
	p->trips = 0;
	p->clears = 0;
	p->resets = 0;
	p->cycles = 0;
	p->lost = 0;
}

/* ---------------------------------------------------------------- registers */

int pmt_read(struct pmt *p, unsigned reg, int32_t *ret_value)
{
	const double noise = READ_NOISE * rng_normal(&p->slow_rng);
	const double hv = p->hv > 0 ? fmax(p->hv + p->offset + noise, 0) : 0;
	const int32_t values[] = {
		[REG_OM_POWER] = p->powered,
		[REG_OM_HV_SET] = p->hv_set,
		[REG_OM_HV] = (int32_t)lround(hv),
		[REG_OM_THRESHOLD] = p->threshold_mv,
		[REG_OM_RAMP] = p->ramp,
		[REG_OM_TEMPERATURE] = (int32_t)lround(p->temperature_mc + 10 * noise),
		[REG_OM_HV_CURRENT] = (int32_t)lround(fmax(current_na(p) + 3 * noise, 0)),
		[REG_OM_TRIP] = p->tripped,
		[REG_OM_RATE] = p->rate,
		[REG_OM_TRIPS] = (int32_t)p->trips,
		[REG_OM_CLEARS] = (int32_t)p->clears,
		[REG_OM_RESETS] = (int32_t)p->resets,
		[REG_OM_LOST] = p->lost,
		[REG_OM_POWER_CYCLES] = (int32_t)p->cycles,
	};

	if (reg < REG_OM_POWER || reg >= sizeof(values) / sizeof(values[0])) {
		return WORD_BAD_REG;
	}
	*ret_value = values[reg];
	return WORD_OK;
}

static int write_power(struct pmt *p, int32_t value)
{
	if (value != 0 && value != 1) {
		return WORD_BAD_VALUE;
	}
	p->cycle_ms = 0; /* an order ends a power cycle under way */
	if (value && !p->powered) {
		switch_on(p, 0);
		p->cycles++;
	} else if (!value && p->powered) {
		switch_off(p);
	}
	return WORD_OK;
}

static int write_ranged(int32_t *field, int32_t value, int32_t low, int32_t high, bool allowed)
{
	if (value < low || value > high) {
		return WORD_BAD_VALUE;
	}
	if (!allowed) {
		return WORD_REFUSED;
	}
	*field = value;
	return WORD_OK;
}

int pmt_write(struct pmt *p, unsigned reg, int32_t *value)
{
	switch (reg) {
	case REG_OM_POWER:
		return write_power(p, *value);
	case REG_OM_HV_SET: /* while tripped: down only, for the HV comes back with the clear */
		return write_ranged(&p->hv_set, *value, 0, REG_OM_HV_SET_MAX,
				    p->powered && (!p->tripped || *value <= p->hv_set));
	case REG_OM_THRESHOLD:
		return write_ranged(&p->threshold_mv, *value, REG_OM_THRESHOLD_MIN,
				    REG_OM_THRESHOLD_MAX, p->powered);
	case REG_OM_RAMP:
		return write_ranged(&p->ramp, *value, REG_OM_RAMP_MIN, REG_OM_RAMP_MAX, p->powered);
	default:
		return pmt_read(p, reg, value) == WORD_OK ? WORD_READ_ONLY : WORD_BAD_REG;
	}
}

bool pmt_ramp_down(struct pmt *p)
{
	const bool was_up = p->hv_set > 0;

	p->hv_set = 0;
	return was_up;
}

int pmt_power_cycle(struct pmt *p, int32_t *ret_value)
{
	if (!p->powered) {
		return WORD_REFUSED;
	}
	p->cycle_hv = p->hv_set;
	p->cycle_ms = POWER_CYCLE_MS;
	switch_off(p);
	*ret_value = (int32_t)(p->cycles + 1);
	return WORD_OK;
}

int pmt_action(struct pmt *p, unsigned action, int32_t *ret_value)
{
	if (action < REG_OM_ACTION_CLEAR_TRIP || action > REG_OM_ACTION_POWER_CYCLE) {
		return WORD_BAD_REG;
	}
	if (!p->powered) {
		return WORD_REFUSED;
	}
	switch (action) {
	case REG_OM_ACTION_CLEAR_TRIP:
		p->tripped = false;
		*ret_value = (int32_t)++p->clears;
		return WORD_OK;
	case REG_OM_ACTION_RESET:
		hit_fifo_clear(&p->fifo, false);
		*ret_value = (int32_t)++p->resets;
		return WORD_OK;
	default:
		return pmt_power_cycle(p, ret_value);
	}
}
