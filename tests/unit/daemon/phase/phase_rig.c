// SPDX-License-Identifier: GPL-2.0-or-later
/* A link in virtual time with a seeded delay and jitter, for the tests of its phase. See phase_rig.h. */
#include "tests/unit/daemon/phase/phase_rig.h"

#include <math.h>

static double uniform(struct link *l)
{
	l->random ^= l->random << 13;
	l->random ^= l->random >> 7;
	l->random ^= l->random << 17;
	return (double)(l->random >> 11) / 9007199254740992.0;
}

static double normal(struct link *l)
{
	double r = sqrt(-2 * log(1 - uniform(l)));

	return r * cos(2 * M_PI * uniform(l));
}

void setup(struct link *l, double total_ps, double sigma_ps)
{
	static const struct phase_config config = {
		.tolerance_ps = 100, .drift_ps = 300, .relock_samples = 5};

	*l = (struct link){.phase = phase_create(&config),
			   .total_ps = total_ps,
			   .sigma_ps = sigma_ps,
			   .aligns = 1,
			   .now_ns = 5000000000ull,
			   .random = 0x9e3779b97f4a7c15ull};
	assert_non_null(l->phase);
}

void run(struct link *l, unsigned samples)
{
	for (unsigned i = 0; i < samples; i++) {
		double total = l->total_ps + l->sigma_ps * normal(l), rest;
		struct phase_reading r = {
			.locked = !l->dark, .aligns = l->aligns, .measurements = ++l->measurements};

		total = floor(total);
		r.rtt_frames = (uint8_t)(total / FRAME_PS);
		rest = total - r.rtt_frames * FRAME_PS;
		r.rtt_bytes = (uint16_t)(rest / PHASE_WRAP_PS);
		r.phase_ps = (uint32_t)(rest - r.rtt_bytes * (double)PHASE_WRAP_PS);
		r.rtt_bits = (uint8_t)l->bits;
		if (l->tear && r.phase_ps < 3 * l->sigma_ps && uniform(l) < 0.3) {
			r.rtt_bytes--;
		}
		phase_sample(l->phase, &r, l->now_ns);
		l->judgements += phase_take_judgement(l->phase, &l->judgement);
		l->rows += phase_take_row(l->phase, &l->row);
		l->now_ns += TENTH;
		l->total_ps += l->drift_ps_per_s / 10;
	}
}

void relock(struct link *l)
{
	l->dark = true;
	run(l, 3);
	l->dark = false;
	l->aligns++;
	l->measurements = 0;
}

struct phase_view view(const struct link *l)
{
	struct phase_view v;

	phase_get_view(l->phase, l->now_ns, &v);
	return v;
}

void teardown(struct link *l)
{
	phase_destroy(l->phase);
}

void tell(struct link *l, double total_ps, uint64_t ns)
{
	l->total_ps = 6 * FRAME_PS + total_ps;
	l->now_ns += ns - TENTH;
	run(l, 1);
}
