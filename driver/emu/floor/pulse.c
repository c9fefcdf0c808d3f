/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pulse tables: see pulse.h. The spectrum is a mixture written down in spectrum_cdf(); its inverse is
 * tabulated at PULSE_QUANTILES points. Templates lie on a grid of amplitudes, eight to the octave,
 * with a few variants of noise each. Everything here is fixed: the seed of a run does not enter.
 */
#include "driver/emu/floor/pulse.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STEPS_PER_OCTAVE 8
#define GRID_LOW	 8   /* log2(2 mV) x 8: the lowest template, below any useful threshold */
#define GRID		 96u /* up to 2 mV x 2^12 = 8 V */
#define VARIANTS	 4u
#define COUNTS_PER_MV	 0.5
#define PEDESTAL	 8
#define ZIP_SAMPLES	 62u /* even, so that hits keep to 16-bit words; 6-bit field */
#define WIDE_SAMPLES	 36u /* 2 bytes each: 16 + 72 = 88 */
#define POST_SAMPLES	 25u
#define PULSE_SAMPLES	 140u
#define ADC_MAX		 4095

struct pulse_tables {
	float amplitude_mv[PULSE_QUANTILES]; /* at nominal gain, ascending */
	int16_t amplitude_steps[PULSE_QUANTILES];
	float wait[PULSE_QUANTILES + 1];
	struct pulse pulses[GRID][VARIANTS];
};

/* Share of light pulses with fewer than `pe` photo-electrons: single ones mostly (40K, dark counts),
 * a soft part of noise, few doubles, and a tail of near decays and muons. */
static double spectrum_cdf(double pe)
{
	const double noise = 1 - exp(-pe / 0.12);
	const double one = 0.5 * erfc(-(pe - 1.0) / (0.35 * M_SQRT2));
	const double two = 0.5 * erfc(-(pe - 2.0) / (0.35 * M_SQRT2 * M_SQRT2));
	const double few = 0.5 * erfc(-(pe - 4.0) / (1.5 * M_SQRT2));
	const double tail = 1 - exp(-pe / 12.0);

	return 0.25 * noise + 0.67 * one + 0.065 * two + 0.012 * few + 0.003 * tail;
}

static double spectrum_quantile(double share)
{
	double low = 0;
	double high = 200;

	for (unsigned i = 0; i < 60; i++) {
		const double middle = (low + high) / 2;

		if (spectrum_cdf(middle) < share) {
			low = middle;
		} else {
			high = middle;
		}
	}
	return low;
}

/* Volts of a unit pulse at t ns: fast rise, 20 ns fall, a faint slow tail that makes large pulses
 * long. */
static double shape(double t_ns)
{
	const double tau = 8.0;
	const double fast = t_ns / tau * exp(1 - t_ns / tau);
	const double slow = 0.05 * (1 - exp(-t_ns / 10)) * exp(-t_ns / 80);

	return t_ns <= 0 ? 0 : fast * fast + slow;
}

/* Sample the pulse; returns how many samples it takes, an even number. */
static unsigned digitise(double amplitude_mv, struct rng *rng, uint16_t samples[PULSE_SAMPLES])
{
	const double start_ns = PULSE_PRE_SAMPLES * 5.0 - 5.0 * rng_unit(rng);
	unsigned last = PULSE_PRE_SAMPLES;

	for (unsigned i = 0; i < PULSE_SAMPLES; i++) {
		const double mv = amplitude_mv * shape(i * 5.0 - start_ns);
		const double counts = PEDESTAL + mv * COUNTS_PER_MV + 0.6 * rng_normal(rng);

		samples[i] = (uint16_t)lround(fmin(fmax(counts, 0), ADC_MAX));
		if (mv > 6) {
			last = i;
		}
	}
	last += POST_SAMPLES + rng_below(rng, 3);
	if (last > PULSE_SAMPLES) {
		last = PULSE_SAMPLES;
	}
	return last & ~1u;
}

/* One hit of `count` samples at data + offset. Returns its bytes. */
static unsigned put_hit(uint8_t *bytes, const uint16_t *samples, unsigned count, bool zip,
			bool further)
{
	struct hit h = {.samples = (uint8_t)count, .zip = zip, .fragment = further};
	int32_t charge = 0;

	for (unsigned i = 0; i < count; i++) {
		charge += samples[i] - PEDESTAL;
		if (zip) {
			bytes[HIT_HEADER_BYTES + i] = (uint8_t)samples[i];
		} else {
			bytes[HIT_HEADER_BYTES + 2 * i] = (uint8_t)samples[i];
			bytes[HIT_HEADER_BYTES + 2 * i + 1] = (uint8_t)(samples[i] >> 8);
		}
	}
	h.charge = charge > 0 ? (uint32_t)charge : 0;
	hit_pack(&h, bytes);
	return HIT_HEADER_BYTES + count * (zip ? 1u : 2u);
}

static void make_pulse(struct pulse *p, double amplitude_mv, struct rng *rng)
{
	uint16_t samples[PULSE_SAMPLES];
	const unsigned count = digitise(amplitude_mv, rng, samples);
	unsigned done = 0;

	memset(p, 0, sizeof(*p));
	p->ticks = (uint16_t)count;
	while (done < count && p->fragments < PULSE_FRAGMENTS) {
		const unsigned left = count - done;
		unsigned n = left < ZIP_SAMPLES ? left : ZIP_SAMPLES;
		bool zip = true;

		for (unsigned i = 0; i < n; i++) {
			zip = zip && samples[done + i] <= UINT8_MAX;
		}
		if (!zip && n > WIDE_SAMPLES) {
			n = WIDE_SAMPLES;
		}

		p->offset[p->fragments] = p->bytes;
		p->tick[p->fragments] = (uint16_t)done;
		p->fragments++;
		p->bytes = (uint16_t)(p->bytes + put_hit(p->data + p->bytes, samples + done, n, zip,
							 done > 0));
		done += n;
	}
}

struct pulse_tables *pulse_tables_create(void)
{
	struct pulse_tables *t = calloc(1, sizeof(*t));
	struct rng rng;

	if (!t) {
		return NULL;
	}
	rng_seed(&rng, 0, RNG_TABLES, 0, 0);
	for (unsigned i = 0; i < PULSE_QUANTILES; i++) {
		const double mv = PULSE_PE_MV * spectrum_quantile((i + 0.5) / PULSE_QUANTILES);

		t->amplitude_mv[i] = (float)mv;
		t->amplitude_steps[i] =
			(int16_t)lround(fmax(log2(fmax(mv, 1e-3)) * STEPS_PER_OCTAVE, -80));
	}
	/* The last entry is where pulse_wait() starts over: an exponential has no memory. */
	for (unsigned i = 0; i <= PULSE_QUANTILES; i++) {
		const double u = i < PULSE_QUANTILES ? i : PULSE_QUANTILES - 1;

		t->wait[i] = (float)-log(1 - u / PULSE_QUANTILES);
	}
	for (unsigned i = 0; i < GRID; i++) {
		const double mv = exp2((double)((int)i + GRID_LOW) / STEPS_PER_OCTAVE);

		for (unsigned v = 0; v < VARIANTS; v++) {
			make_pulse(&t->pulses[i][v], mv, &rng);
		}
	}
	return t;
}

uint32_t pulse_first_quantile(const struct pulse_tables *t, double gain, double threshold_mv)
{
	uint32_t low = 0;
	uint32_t high = PULSE_QUANTILES;

	while (low < high) {
		const uint32_t middle = (low + high) / 2;

		if (t->amplitude_mv[middle] * gain < threshold_mv) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low;
}

int pulse_gain_steps(double gain)
{
	return (int)lround(fmax(log2(fmax(gain, 1e-9)), -30) * STEPS_PER_OCTAVE);
}

static const struct pulse *template_at(const struct pulse_tables *t, int steps, uint32_t variant)
{
	int i = steps - GRID_LOW;

	if (i < 0) {
		i = 0;
	} else if (i >= (int)GRID) {
		i = (int)GRID - 1;
	}
	return &t->pulses[i][variant % VARIANTS];
}

const struct pulse *pulse_pick(const struct pulse_tables *t, uint32_t quantile, int gain_steps,
			       uint32_t variant)
{
	return template_at(t, t->amplitude_steps[quantile] + gain_steps, variant);
}

const struct pulse *pulse_of(const struct pulse_tables *t, double amplitude_mv, uint32_t variant)
{
	const double steps = log2(fmax(amplitude_mv, 1e-3)) * STEPS_PER_OCTAVE;

	return template_at(t, (int)lround(steps), variant);
}

double pulse_mean_bytes(const struct pulse_tables *t, double threshold_mv)
{
	const uint32_t first = pulse_first_quantile(t, 1.0, threshold_mv);
	double sum = 0;

	for (uint32_t q = first; q < PULSE_QUANTILES; q++) {
		for (uint32_t v = 0; v < VARIANTS; v++) {
			sum += pulse_pick(t, q, 0, v)->bytes;
		}
	}
	return first < PULSE_QUANTILES ? sum / ((PULSE_QUANTILES - first) * VARIANTS) : 0;
}

float pulse_wait(const struct pulse_tables *t, uint64_t bits)
{
	const uint32_t i = (uint32_t)(bits >> 52);
	const float fraction = (float)(uint32_t)(bits >> 28 & 0xffffff) * 0x1p-24f;

	if (i == PULSE_QUANTILES - 1) {
		uint64_t state = bits;

		return t->wait[PULSE_QUANTILES - 1] + pulse_wait(t, rng_splitmix(&state));
	}
	return t->wait[i] + (t->wait[i + 1] - t->wait[i]) * fraction;
}
