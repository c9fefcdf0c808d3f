/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Positions as JSON: see geometry_json.h. */
#include "driver/emu/geometry_json.h"

#include "driver/emu/floor/beacon.h"
#include "driver/emu/floor/geometry.h"
#include "driver/emu/floor/hydrophone.h"
#include "driver/emu/floor/pulse.h"

static void put_position(FILE *out, struct position p)
{
	fprintf(out, "\"x_m\": %.6f, \"y_m\": %.6f, \"z_m\": %.6f}", p.x, p.y, p.z);
}

struct part {
	const char *list, *name;
	struct position (*position)(unsigned tower, unsigned floor, unsigned part);
	unsigned count;
};

/* Of every floor. */
static void put_parts(FILE *out, const struct part *part, unsigned tower, const uint8_t *floors,
		      unsigned count)
{
	fprintf(out, " \"%s\": [", part->list);
	for (unsigned i = 0; i < count * part->count; i++) {
		const unsigned link = i / part->count, n = i % part->count;

		fprintf(out, "%s\n  {\"link\": %u, \"tower\": %u, \"floor\": %u, \"%s\": %u, ",
			i > 0 ? "," : "", link, tower, floors[link], part->name, n);
		put_position(out, part->position(tower, floors[link], n));
	}
	fputs("],\n", out);
}

static void put_beacons(FILE *out, const char *list, const char *name, unsigned tower,
			struct position (*position)(unsigned tower, unsigned beacon),
			unsigned count)
{
	fprintf(out, " \"%s\": [", list);
	for (unsigned i = 0; i < count; i++) {
		fprintf(out, "%s\n  {\"tower\": %u, \"%s\": %u, ", i > 0 ? "," : "", tower, name,
			i);
		put_position(out, position(tower, i));
	}
	fputs("],\n", out);
}

void geometry_json(FILE *out, unsigned tower, const uint8_t *floors, unsigned count)
{
	static const struct part parts[] = {
		{"modules", "module", geometry_module, TDM_MODULES},
		{"hydrophones", "hydrophone", geometry_hydrophone, TDM_HYDROPHONES},
	};

	fputs("{\"note\": \"the emulator's own positions, not the experiment's\",\n", out);
	for (unsigned i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		put_parts(out, &parts[i], tower, floors, count);
	}
	put_beacons(out, "led_beacons", "led", tower, geometry_led, GEOMETRY_LEDS);
	put_beacons(out, "acoustic_beacons", "pinger", tower, geometry_pinger, GEOMETRY_PINGERS);
	fprintf(out,
		" \"light_m_per_ns\": %.9f, \"light_absorption_m\": %g, \"light_spread_ns\": %g,\n"
		" \"hit_tick_ns\": 5, \"samples_before_hit\": %u,\n"
		" \"sound_m_per_s\": %g, \"sample_hz\": %g, \"ping_hz\": %g, \"ping_ms\": %g}\n",
		GEOMETRY_LIGHT_M_PER_NS, GEOMETRY_ABSORPTION_M, BEACON_SPREAD_NS, PULSE_PRE_SAMPLES,
		GEOMETRY_SOUND_M_PER_S, HYDROPHONE_HZ, HYDROPHONE_PING_HZ,
		HYDROPHONE_PING_NS * 1e-6);
}
