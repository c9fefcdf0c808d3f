/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Random numbers of the emulator: xoshiro256++ (Blackman, Vigna; public domain), seeded through
 * splitmix64. Each user has a generator of its own, made from the seed and a name
 * (floor, module, purpose), so that a fault or a command on one link changes nothing on another.
 */
#pragma once

#include <stdint.h>

struct rng {
	uint64_t s[4];
};

/* What a generator is for: part of its name. */
enum rng_use {
	RNG_HITS = 1,
	RNG_OM_SLOW,
	RNG_SEA,
	RNG_HYDROPHONE,
	RNG_FIBRE,
	RNG_FAULTS,
	RNG_FLOOR,
	RNG_TABLES,
	RNG_LIGHT, /* of a beacon's flash at a module */
};

static inline uint64_t rng_splitmix(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

static inline void rng_seed(struct rng *r, uint64_t seed, enum rng_use use, unsigned a, unsigned b)
{
	uint64_t state = seed;

	state ^= rng_splitmix(&state) + ((uint64_t)use << 48 | (uint64_t)a << 24 | b);
	for (unsigned i = 0; i < 4; i++) {
		r->s[i] = rng_splitmix(&state);
	}
}

static inline uint64_t rng_rotl(uint64_t x, unsigned k)
{
	return (x << k) | (x >> (64 - k));
}

static inline uint64_t rng_next(struct rng *r)
{
	uint64_t *s = r->s;
	const uint64_t result = rng_rotl(s[0] + s[3], 23) + s[0];
	const uint64_t t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rng_rotl(s[3], 45);
	return result;
}

/* Uniform in 0..n-1; the bias is below n / 2^32. */
static inline uint32_t rng_below(struct rng *r, uint32_t n)
{
	return (uint32_t)(((rng_next(r) >> 32) * n) >> 32);
}

/* Uniform in [0, 1). */
static inline double rng_unit(struct rng *r)
{
	return (double)(rng_next(r) >> 11) * 0x1p-53;
}

/* About normal, sigma 1, from one draw: the sum of its eight bytes; never beyond 4.9 sigma. */
static inline double rng_normal(struct rng *r)
{
	uint64_t x = rng_next(r);
	int sum = 0;

	for (unsigned i = 0; i < 8; i++) {
		sum += (int)(x >> (8 * i) & 0xff);
	}
	return ((double)sum - 8 * 127.5) / 209.02; /* sqrt(8 x (256^2 - 1) / 12) */
}
