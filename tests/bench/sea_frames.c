/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sets of frames for benchmarks. See sea_frames.h. The shore is played here: a downstream frame a
 * period, with nothing in it but its time word.
 */
#include "tests/bench/sea_frames.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "driver/emu/floor/floor.h"
#include "tdm/hit.h"

#define WARM_FRAMES 800u /* before frame 0, for the FIFOs to be as they always are */
#define FIRST_COUNT 80000000u
#define UTC_S	    INT64_C(1794000000) /* any second: late in 2026 */
#define TAI_UTC_S   37
#define DEFAULT_MV  10
#define FIFO_BYTES  (256u << 10)
/* Of a frame in use besides hits: header, slot headers, samples, replies, telemetry, tail. */
#define FIXED_BYTES 392u
#define RX_POWER_NW 100000u
#define QUIET_HZ    50000.0

static struct tdm_time time_word(int64_t utc_s, unsigned frame)
{
	struct hit_stamp stamp;
	struct tdm_time t = {
		.frame = (uint16_t)frame,
		.quality = TDM_TIME_LOCKED,
		.lock = TDM_LOCK_PPS | TDM_LOCK_CLOCK,
	};

	hit_stamp_of(utc_s, HIT_DAY_FROM_0, &stamp);
	t.second = stamp.second;
	t.day = (uint16_t)((stamp.day_bcd >> 8) * 100 + (stamp.day_bcd >> 4 & 0xf) * 10 +
			   (stamp.day_bcd & 0xf));
	t.year = (uint8_t)((stamp.year_bcd >> 4) * 10 + (stamp.year_bcd & 0xf));
	return t;
}

static unsigned next_frame(struct floor *f, int64_t utc_s, unsigned number, uint8_t *frame)
{
	struct floor_down down = {
		.lit = true,
		.good = true,
		.rx_power_nw = RX_POWER_NW,
		.header = {.flags = TDM_FLAG_DOWNSTREAM, .time = time_word(utc_s, number)},
	};
	struct truth_record truth = {0};
	unsigned hits = 0;

	if (number % 8 == 0) {
		floor_slow(f);
	}
	floor_frame(f, &down, frame, &truth);
	for (unsigned m = 0; m < TDM_MODULES; m++) {
		hits += truth.hits[m];
	}
	return hits;
}

/* Bytes of hits that a frame carries. */
static unsigned hit_bytes_of(const uint8_t *frame)
{
	unsigned bytes = 0;

	for (unsigned m = 0; m < TDM_MODULES; m++) {
		struct tdm_pmt_slot slot;

		if (tdm_pmt_slot_get(frame, m, &slot) == 0) {
			bytes += slot.length;
		}
	}
	return bytes;
}

static void fill_link(struct sea_frames *s, unsigned link, struct floor *f, uint64_t *hits,
		      uint64_t *bytes)
{
	uint8_t *frame = (uint8_t *)(uintptr_t)sea_buffer(s, link, 0); /* our own memory */

	for (unsigned n = TDM_FRAMES_PER_SECOND - WARM_FRAMES; n < TDM_FRAMES_PER_SECOND; n++) {
		next_frame(f, UTC_S - 1, n, frame);
	}
	for (unsigned n = 0; n < s->frames; n++) {
		frame = (uint8_t *)(uintptr_t)sea_buffer(s, link, n / SEA_BUFFER_FRAMES) +
			(size_t)(n % SEA_BUFFER_FRAMES) * TDM_FRAME_BYTES;
		*hits += next_frame(f, UTC_S, n, frame);
		*bytes += hit_bytes_of(frame);
	}
}

/* Hits a module and second that make a floor fill so much of its link. */
static double rate_for(double mbps, const struct pulse_tables *pulses)
{
	double bytes_per_s = mbps * 1e6 / 8 - (double)FIXED_BYTES * TDM_FRAMES_PER_SECOND;

	return bytes_per_s / TDM_MODULES / pulse_mean_bytes(pulses, DEFAULT_MV);
}

static int fill(struct sea_frames *s, double mbps, uint64_t seed)
{
	struct pulse_tables *pulses = pulse_tables_create();
	struct hydrophone_tables *sound = hydrophone_tables_create();
	uint64_t hits = 0, bytes = 0;
	double seconds = (double)s->frames * SEA_LINKS / TDM_FRAMES_PER_SECOND;
	int r = pulses && sound ? 0 : -ENOMEM;

	for (unsigned link = 0; link < SEA_LINKS && r == 0; link++) {
		struct floor_config config = {
			.tower = 1,
			.floor = (uint8_t)(link + 1),
			.full = mbps <= 0,
			.fifo_bytes = FIFO_BYTES,
			.seed = seed,
		};
		struct floor *f;

		config.quiet_rate_hz = mbps > 0 ? rate_for(mbps, pulses) : QUIET_HZ;
		f = floor_create(&config, pulses, sound);
		if (f) {
			fill_link(s, link, f, &hits, &bytes);
		} else {
			r = -ENOMEM;
		}
		floor_destroy(f);
	}
	s->hit_khz = (double)hits / TDM_MODULES / seconds / 1e3;
	s->fill_mbps = ((double)bytes / seconds + FIXED_BYTES * TDM_FRAMES_PER_SECOND) * 8 / 1e6;
	free(sound);
	free(pulses);
	return r;
}

int sea_frames_init(struct sea_frames *s, unsigned frames, double mbps, uint64_t seed)
{
	int r;

	*s = (struct sea_frames){
		.frames = frames,
		.count = FIRST_COUNT + SEA_DELAY,
		.label =
			{
				.source = LABEL_GPSD,
				.state = CLOCK_LOCKED,
				.uncertainty_ns = 50,
				.tai_utc_s = TAI_UTC_S,
				.anchor_count = FIRST_COUNT,
				.anchor_tai_ns = (UTC_S + TAI_UTC_S) * 1000000000,
				.leap_tai_ns = INT64_MAX,
			},
	};
	s->mapped = (size_t)SEA_LINKS * (frames / SEA_BUFFER_FRAMES) * SEA_STRIDE;
	s->bytes =
		mmap(NULL, s->mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (s->bytes == MAP_FAILED) {
		s->bytes = NULL;
		return -ENOMEM;
	}
	r = fill(s, mbps, seed);
	if (r < 0) {
		sea_frames_fini(s);
	}
	return r;
}

void sea_frames_fini(struct sea_frames *s)
{
	if (s->bytes) {
		munmap(s->bytes, s->mapped);
	}
	s->bytes = NULL;
}
