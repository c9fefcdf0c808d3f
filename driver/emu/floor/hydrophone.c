/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A hydrophone: see hydrophone.h. Sound is made from tables; one random number per frame selects the
 * place in the noise table. */
#include "driver/emu/floor/hydrophone.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "tdm/frame.h"
#include "tdm/le.h"
#include "tdm/registers.h"

#define SINES	       4096u
#define NOISES	       65536u
#define SINE_ONE       32767
#define PING_SAMPLES   960u /* 5 ms */
#define FULL_SCALE     8388607
#define DEFAULT_GAIN   200 /* 20 dB: the amplitudes below are at this gain */
#define POWER_CYCLE_MS 200u

static const double tone_hz[2][2] = {{1500, 12400}, {1750, 13100}};

struct hydrophone_tables {
	int16_t sine[SINES];
	int16_t noise[NOISES + TDM_SAMPLES]; /* sigma 4096 */
};

struct hydrophone_tables *hydrophone_tables_create(void)
{
	struct hydrophone_tables *t = malloc(sizeof(*t));
	struct rng rng;

	if (!t) {
		return NULL;
	}
	rng_seed(&rng, 0, RNG_TABLES, 1, 0);
	for (unsigned i = 0; i < SINES; i++) {
		t->sine[i] = (int16_t)lround(SINE_ONE * sin(2 * M_PI * i / SINES));
	}
	for (unsigned i = 0; i < NOISES + TDM_SAMPLES; i++) {
		t->noise[i] = (int16_t)lround(4096 * rng_normal(&rng));
	}
	return t;
}

static void set_gain(struct hydrophone *h, int32_t gain)
{
	const double factor = pow(10, (gain - DEFAULT_GAIN) / 200.0);

	h->gain = gain;
	h->tone[0] = (int32_t)lround(fmin(6000 * factor, FULL_SCALE));
	h->tone[1] = (int32_t)lround(fmin(2500 * factor, FULL_SCALE));
	h->ping = (int32_t)lround(fmin(400000 * factor, FULL_SCALE));
	h->noise = (int32_t)lround(fmin(3000 * factor, FULL_SCALE));
}

void hydrophone_init(struct hydrophone *h, const struct hydrophone_tables *tables, uint64_t seed,
		     unsigned floor, unsigned index, bool cold)
{
	memset(h, 0, sizeof(*h));
	h->tables = tables;
	h->index = index;
	h->powered = !cold;
	rng_seed(&h->rng, seed, RNG_HYDROPHONE, floor, index);
	rng_seed(&h->slow_rng, seed, RNG_HYDROPHONE, floor, 16 + index);
	for (unsigned i = 0; i < 2; i++) {
		h->step[i] = (uint32_t)lround(tone_hz[index][i] / HYDROPHONE_HZ * 0x1p32);
		h->phase[i] = (uint32_t)rng_next(&h->rng);
	}
	h->step[2] = (uint32_t)lround(HYDROPHONE_PING_HZ / HYDROPHONE_HZ * 0x1p32);
	/* The beacon is some 300 m away: 0.2 s, 20 m a floor further, the two 10 m apart. */
	h->ping_delay = 38400 + floor * 2560 + index * 1280;
	set_gain(h, DEFAULT_GAIN);
}

/* The ping's envelope at a sample of the second, 0..256: rises and falls in an eighth of it. */
static int32_t ping_envelope(uint32_t behind)
{
	const uint32_t edge = PING_SAMPLES / 8, left = PING_SAMPLES - behind;
	const uint32_t near = behind < left ? behind : left;

	if (behind >= PING_SAMPLES) {
		return 0;
	}
	return (int32_t)((near < edge ? near : edge) * 256 / edge);
}

static int32_t scaled(int32_t amplitude, int16_t sine)
{
	return (int32_t)(((int64_t)amplitude * sine) >> 15);
}

/* The ping without beacons: its carrier goes on from second to second. */
static void add_steady_ping(struct hydrophone *h, unsigned frame, int32_t samples[TDM_SAMPLES])
{
	const uint32_t first = frame * TDM_SAMPLES;

	if (first + TDM_SAMPLES <= h->ping_delay || first >= h->ping_delay + PING_SAMPLES) {
		return;
	}
	for (unsigned i = 0; i < TDM_SAMPLES; i++) {
		const int32_t envelope = ping_envelope(first + i - h->ping_delay);
		const int16_t sine = h->tables->sine[h->phase[2] >> 20];

		samples[i] += (int32_t)(((int64_t)h->ping * envelope * sine) >> 23);
		h->phase[2] += h->step[2];
	}
}

/* A beacon's ping: its carrier begins with it, between two samples. */
static void add_ping(const struct hydrophone *h, int32_t samples[TDM_SAMPLES])
{
	const double loud = fmin(h->ping * h->ping_loudness, FULL_SCALE);

	for (unsigned i = 0; i < TDM_SAMPLES; i++) {
		const double since = h->ping_since + i;
		double turns;

		if (since < 0 || since >= PING_SAMPLES) {
			continue;
		}
		turns = since * HYDROPHONE_PING_HZ / HYDROPHONE_HZ;
		samples[i] += (int32_t)lround(loud * ping_envelope((uint32_t)since) / 256 *
					      sin(2 * M_PI * turns));
	}
}

static void make_samples(struct hydrophone *h, unsigned frame, int32_t samples[TDM_SAMPLES])
{
	const struct hydrophone_tables *t = h->tables;
	const int16_t *noise = t->noise + (rng_next(&h->rng) >> 48);

	for (unsigned i = 0; i < TDM_SAMPLES; i++) {
		int32_t x = (int32_t)(((int64_t)h->noise * noise[i]) >> 12);

		x += scaled(h->tone[0], t->sine[h->phase[0] >> 20]);
		x += scaled(h->tone[1], t->sine[h->phase[1] >> 20]);
		h->phase[0] += h->step[0];
		h->phase[1] += h->step[1];
		samples[i] = x;
	}
	if (!h->beacons) {
		add_steady_ping(h, frame, samples);
	} else if (h->ping_since < PING_SAMPLES) {
		add_ping(h, samples);
	}
	for (unsigned i = 0; i < TDM_SAMPLES; i++) { /* the converter clips */
		samples[i] = samples[i] > FULL_SCALE ? FULL_SCALE : samples[i];
		samples[i] = samples[i] < -FULL_SCALE - 1 ? -FULL_SCALE - 1 : samples[i];
	}
}

static void account(struct hydrophone *h, const int32_t samples[TDM_SAMPLES])
{
	for (unsigned i = 0; i < TDM_SAMPLES; i += 6) { /* a sixth is enough for an RMS */
		h->square_sum += (double)samples[i] * samples[i];
	}
	if (++h->square_frames >= TDM_FRAMES_PER_SECOND) {
		h->rms = (int32_t)lround(sqrt(h->square_sum / (h->square_frames * 4.0)));
		h->square_sum = 0;
		h->square_frames = 0;
	}
}

uint64_t hydrophone_frame(struct hydrophone *h, uint8_t *cell, unsigned frame, bool hash)
{
	int32_t samples[TDM_SAMPLES] = {0};
	uint8_t bytes[TDM_SAMPLES * 4];
	const struct tdm_hydro_slot slot = {
		.samples = bytes, .flags = h->powered, .counter = h->counter};

	if (h->powered) {
		make_samples(h, frame, samples);
	}
	account(h, samples);
	for (unsigned i = 0; i < TDM_SAMPLES; i++) {
		le32_put(bytes + 4 * i, (uint32_t)samples[i]);
	}
	tdm_hydro_slot_put(cell, h->index, &slot);
	h->counter += TDM_SAMPLES;
	return hash ? XXH3_64bits(bytes, sizeof(bytes)) : 0;
}

void hydrophone_sound(struct hydrophone *h, double since_samples, double loudness)
{
	h->beacons = true;
	h->ping_since = since_samples;
	h->ping_loudness = loudness;
}

void hydrophone_slow(struct hydrophone *h)
{
	if (h->cycle_ms > 0 && --h->cycle_ms == 0) {
		h->powered = true;
	}
}

int hydrophone_read(struct hydrophone *h, unsigned reg, int32_t water_mc, int32_t *ret_value)
{
	const int32_t noise =
		reg == REG_HYDRO_TEMPERATURE ? (int32_t)lround(15 * rng_normal(&h->slow_rng)) : 0;
	const int32_t values[] = {
		[REG_HYDRO_POWER] = h->powered,
		[REG_HYDRO_GAIN] = h->gain,
		[REG_HYDRO_TEMPERATURE] = water_mc + (h->powered ? 800 : 0) + noise,
		[REG_HYDRO_RMS] = h->rms,
	};

	if (reg < REG_HYDRO_POWER || reg >= sizeof(values) / sizeof(values[0])) {
		return WORD_BAD_REG;
	}
	*ret_value = values[reg];
	return WORD_OK;
}

int hydrophone_write(struct hydrophone *h, unsigned reg, int32_t *value)
{
	switch (reg) {
	case REG_HYDRO_POWER:
		if (*value != 0 && *value != 1) {
			return WORD_BAD_VALUE;
		}
		h->cycle_ms = 0;
		h->powered = *value;
		return WORD_OK;
	case REG_HYDRO_GAIN:
		if (*value < 0 || *value > REG_HYDRO_GAIN_MAX) {
			return WORD_BAD_VALUE;
		}
		if (!h->powered) {
			return WORD_REFUSED;
		}
		set_gain(h, *value);
		return WORD_OK;
	default:
		return reg == REG_HYDRO_TEMPERATURE || reg == REG_HYDRO_RMS ? WORD_READ_ONLY
									    : WORD_BAD_REG;
	}
}

int hydrophone_power_cycle(struct hydrophone *h)
{
	if (!h->powered) {
		return WORD_REFUSED;
	}
	h->powered = false;
	h->cycle_ms = POWER_CYCLE_MS;
	return WORD_OK;
}
