/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Beacons: see beacon.h. */
#include "driver/emu/floor/beacon.h"

#include <math.h>
#include <string.h>

#include "driver/emu/common/rng.h"

#define SECOND_NS	1000000000LL
#define TICK_PS		5000
#define FRAME_TICKS	25000u
#define AT_100_M	3.0   /* mean photo-electrons of a flash */
#define PE_SIGMA	0.35  /* of the charge of one */
#define LOUDNESS_M	300.0 /* where a ping's loudness is 1 */
#define SMALL_MEAN	50.0  /* above, a Poisson variable is taken as a normal one */
#define REACH_NS	4000  /* light of a tower's own beacons is under way for less */
#define SPREAD_MAX_NS	20    /* random numbers end at 5 sigma */
#define WINDOW_SHIFT_NS 1000  /* a larger step of the fibre's delay leaves a gap */

/* ---------------------------------------------------------------- emission */

static struct flash flash_of(const struct beacons *b, uint64_t number)
{
	uint64_t state = number;
	const int64_t late_ns = (int64_t)(rng_splitmix(&state) % TDM_FRAME_NS);

	return (struct flash){
		.tai_ns = (int64_t)number * b->turn_ns + late_ns,
		.number = number,
		.led = (uint8_t)(number % GEOMETRY_LEDS),
	};
}

void beacons_init(struct beacons *b, double hz)
{
	memset(b, 0, sizeof(*b));
	b->on = true;
	b->turn_ns = llround(1e9 / (hz * GEOMETRY_LEDS));
}

/* A second of TAI begins in [from, until). */
static void ping(struct beacons *b, int64_t from_ns, int64_t until_ns)
{
	const int64_t second = (until_ns - 1) / SECOND_NS;

	if (b->on && second * SECOND_NS >= from_ns) {
		b->pings[b->ping_count++ % BEACON_PINGS] = (struct ping){
			.tai_ns = second * SECOND_NS,
			.pinger = (uint8_t)(second % GEOMETRY_PINGERS),
		};
	}
}

void beacons_step(struct beacons *b, int64_t from_ns, int64_t until_ns)
{
	if (b->next.tai_ns == 0) {
		b->next = flash_of(b, (uint64_t)(from_ns / b->turn_ns));
	}
	while (b->next.tai_ns < until_ns) {
		if (b->on && b->next.tai_ns >= from_ns) {
			b->flashes[b->flash_count++ % BEACON_FLASHES] = b->next;
		}
		b->next = flash_of(b, b->next.number + 1);
	}
	ping(b, from_ns, until_ns);
}

/* ---------------------------------------------------------------- ways */

/* Mean photo-electrons at a distance. */
static double brightness(double m)
{
	return AT_100_M * (100 / m) * (100 / m) * exp((100 - m) / GEOMETRY_ABSORPTION_M);
}

void beacon_view_init(struct beacon_view *v, const struct beacons *beacons, uint64_t seed,
		      unsigned tower, unsigned floor)
{
	memset(v, 0, sizeof(*v));
	v->beacons = beacons;
	v->seed = seed;
	v->floor = tower * 64u + floor;
	for (unsigned i = 0; i < GEOMETRY_LEDS * TDM_MODULES; i++) {
		const unsigned led = i / TDM_MODULES, m = i % TDM_MODULES;
		const double d = geometry_distance_m(geometry_led(tower, led),
						     geometry_module(tower, floor, m));

		v->light_ps[led][m] = (uint32_t)lround(d / GEOMETRY_LIGHT_M_PER_NS * 1000);
		v->electrons[led][m] = brightness(d);
	}
	for (unsigned i = 0; i < GEOMETRY_PINGERS * TDM_HYDROPHONES; i++) {
		const unsigned p = i / TDM_HYDROPHONES, h = i % TDM_HYDROPHONES;
		const double d = geometry_distance_m(geometry_pinger(tower, p),
						     geometry_hydrophone(tower, floor, h));

		v->sound_ns[p][h] = (uint32_t)lround(d / GEOMETRY_SOUND_M_PER_S * 1e9);
		v->loudness[p][h] = LOUDNESS_M / d;
	}
}

void beacon_view_frame(struct beacon_view *v, int64_t start_ns, struct beacon_window *ret_window)
{
	const int64_t shift = start_ns - v->seen_until;
	const bool joins = shift <= WINDOW_SHIFT_NS && shift >= -WINDOW_SHIFT_NS;

	*ret_window = (struct beacon_window){
		.start_ns = start_ns,
		.from_ns = joins ? v->seen_until : start_ns,
		.until_ns = start_ns + TDM_FRAME_NS,
	};
	v->seen_until = ret_window->until_ns;
}

/* ---------------------------------------------------------------- light */

const struct flash *beacon_flash(const struct beacon_view *v, const struct beacon_window *window)
{
	const struct beacons *b = v->beacons;
	const uint64_t kept = b->flash_count < BEACON_FLASHES ? b->flash_count : BEACON_FLASHES;

	for (uint64_t i = 1; i <= kept; i++) {
		const struct flash *f = &b->flashes[(b->flash_count - i) % BEACON_FLASHES];

		if (f->tai_ns < window->until_ns + SPREAD_MAX_NS &&
		    f->tai_ns > window->from_ns - REACH_NS) {
			return f;
		}
	}
	return NULL;
}

static uint32_t poisson(struct rng *rng, double mean)
{
	const double none = exp(-mean);
	double product = 1;
	uint32_t n = 0;

	if (mean > SMALL_MEAN) {
		return (uint32_t)lround(fmax(mean + sqrt(mean) * rng_normal(rng), 0));
	}
	while ((product *= rng_unit(rng)) > none) {
		n++;
	}
	return n;
}

/* Random numbers of this flash at this module: the same whenever they are asked for, since light near
 * the border of a frame is looked at in both. */
static void draw(const struct beacon_view *v, const struct flash *flash, unsigned module,
		 struct beacon_light *ret_light)
{
	uint64_t state = flash->number;
	struct rng rng;

	rng_seed(&rng, v->seed ^ rng_splitmix(&state), RNG_LIGHT, v->floor, module);
	ret_light->travel_ps = v->light_ps[flash->led][module];
	ret_light->spread_ps = (int32_t)lround(BEACON_SPREAD_NS * 1000 * rng_normal(&rng));
	ret_light->electrons = poisson(&rng, v->electrons[flash->led][module]);
	ret_light->charge = (float)fmax(
		ret_light->electrons + PE_SIGMA * sqrt(ret_light->electrons) * rng_normal(&rng), 0);
	ret_light->variant = (uint32_t)rng_next(&rng);
}

bool beacon_light(const struct beacon_view *v, const struct flash *flash, unsigned module,
		  const struct beacon_window *window, struct beacon_light *ret_light)
{
	int64_t arrival_ps, tick;

	draw(v, flash, module, ret_light);
	/* From the start of the frame: TAI in ps does not fit into 64 bits. */
	arrival_ps = (flash->tai_ns - window->start_ns) * 1000 + (int64_t)ret_light->travel_ps +
		     ret_light->spread_ps;
	if (arrival_ps < (window->from_ns - window->start_ns) * 1000 ||
	    arrival_ps >= (window->until_ns - window->start_ns) * 1000) {
		return false;
	}
	tick = arrival_ps > 0 ? arrival_ps / TICK_PS : 0;
	ret_light->tick = tick < FRAME_TICKS ? (uint32_t)tick : FRAME_TICKS - 1;
	return true;
}

/* ---------------------------------------------------------------- sound */

bool beacon_sound(const struct beacon_view *v, unsigned hydrophone,
		  const struct beacon_window *window, int64_t length_ns,
		  struct beacon_sound *ret_sound)
{
	const struct beacons *b = v->beacons;
	const uint64_t kept = b->ping_count < BEACON_PINGS ? b->ping_count : BEACON_PINGS;

	for (uint64_t i = 1; i <= kept; i++) {
		const struct ping *p = &b->pings[(b->ping_count - i) % BEACON_PINGS];
		const uint32_t travel_ns = v->sound_ns[p->pinger][hydrophone];
		const int64_t arrival_ns = p->tai_ns + travel_ns;

		if (arrival_ns < window->until_ns && arrival_ns + length_ns > window->from_ns) {
			*ret_sound = (struct beacon_sound){
				.ping = p,
				.travel_ns = travel_ns,
				.since_ns = (double)(window->start_ns - arrival_ns),
				.loudness = v->loudness[p->pinger][hydrophone],
				.arrives = arrival_ns >= window->from_ns,
			};
			return true;
		}
	}
	return false;
}
