/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What of the beacons (beacon.h) reaches a floor in a frame: light for its modules, sound for its
 * hydrophones, and the truth of both. It comes at true time, which the floor itself does not know.
 */
#include <string.h>

#include "driver/emu/floor/private.h"

static uint16_t electrons_of(const struct beacon_light *light)
{
	return (uint16_t)(light->electrons < UINT16_MAX ? light->electrons : UINT16_MAX);
}

static void look_for_light(struct floor *f, const struct beacon_window *window,
			   struct arrivals *ret_arrivals)
{
	const struct flash *flash = beacon_flash(&f->view, window);
	struct truth_light *t = &f->light;

	for (unsigned m = 0; flash && m < TDM_MODULES; m++) {
		struct beacon_light *light = &ret_arrivals->light[m];

		if (!beacon_light(&f->view, flash, m, window, light)) {
			continue;
		}
		ret_arrivals->lit[m] = true;
		t->flash_tai_ns = flash->tai_ns;
		t->led = flash->led;
		t->travel_ps[m] = light->travel_ps;
		t->spread_ps[m] = (int16_t)light->spread_ps;
		t->electrons[m] = electrons_of(light);
		t->light[m] = TRUTH_AWAY; /* unless the FCM is there: then its module decides */
	}
}

static uint8_t heard_by(const struct floor *f, unsigned hydrophone)
{
	if (f->away > 0) {
		return TRUTH_AWAY;
	}
	return f->hydrophones[hydrophone].powered ? TRUTH_HIT : TRUTH_OFF;
}

static void look_for_sound(struct floor *f, const struct beacon_window *window)
{
	struct truth_light *t = &f->light;

	for (unsigned h = 0; h < TDM_HYDROPHONES; h++) {
		struct beacon_sound s;

		if (!beacon_sound(&f->view, h, window, HYDROPHONE_PING_NS, &s)) {
			hydrophone_sound(&f->hydrophones[h], HYDROPHONE_NO_PING, 0);
			continue;
		}
		hydrophone_sound(&f->hydrophones[h], s.since_ns * 1e-9 * HYDROPHONE_HZ, s.loudness);
		if (s.arrives) {
			t->ping_tai_ns = s.ping->tai_ns;
			t->pinger = s.ping->pinger;
			t->sound_ns[h] = s.travel_ns;
			t->sound[h] = heard_by(f, h);
		}
	}
}

void arrivals_look(struct floor *f, int64_t tai_ns, struct arrivals *ret_arrivals)
{
	struct beacon_window window;

	memset(ret_arrivals->lit, 0, sizeof(ret_arrivals->lit));
	if (!f->view.beacons) {
		return;
	}
	memset(&f->light, 0, sizeof(f->light));
	beacon_view_frame(&f->view, tai_ns, &window);
	look_for_light(f, &window, ret_arrivals);
	look_for_sound(f, &window);
}
