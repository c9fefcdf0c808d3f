/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A pulse as hits: legal ones, each beginning where the one before ends, all but the first with FragFlag. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "driver/emu/floor/pulse.h"
#include "tdm/hit.h"

/* Returns how many hits it has. */
static unsigned check_pulse(const struct pulse *p)
{
	unsigned at = 0, tick = 0;

	for (unsigned i = 0; i < p->fragments; i++) {
		struct hit h;

		hit_unpack(p->data + at, &h);
		assert_int_equal(p->offset[i], at);
		assert_int_equal(p->tick[i], tick);
		assert_int_equal(h.fragment, i > 0);
		assert_in_range(h.samples, 1, h.zip ? 62 : 36);
		at += hit_bytes(p->data + at);
		tick += h.samples;
	}
	assert_int_equal(p->bytes, at);
	assert_int_equal(p->ticks, tick);
	return p->fragments;
}

static void test_hits_of_a_pulse(void **state)
{
	struct pulse_tables *t = pulse_tables_create();
	unsigned of[PULSE_FRAGMENTS + 1] = {0};

	assert_non_null(t);
	for (uint32_t quantile = 0; quantile < PULSE_QUANTILES; quantile++) {
		of[check_pulse(pulse_pick(t, quantile, pulse_gain_steps(1.0), quantile * 7))]++;
	}
	assert_true(of[1] > PULSE_QUANTILES / 2);
	assert_true(of[2] + of[3] + of[4] > 0);
	free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hits_of_a_pulse),
	};

	return cmocka_run_group_tests_name("emulator: pulses", tests, NULL, NULL);
}
