/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A floor that sends frames full of hits which prove themselves, for tests of the data path. See floor_rig.h. */
#include <string.h>
#include <time.h>

#include "tdm/hit.h"
#include "tdm/le.h"
#include "tests/unit/rig/floor_rig.h"

static uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15ull;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

void floor_rig_init(struct floor_rig *r, uint8_t tower, uint8_t floor)
{
	memset(r, 0, sizeof(*r));
	r->tower = tower;
	r->floor = floor;
	r->slot_limit = 300;
	r->hits = 3;
	r->age_max = 3;
	r->random = mix((uint64_t)tower << 8 | floor);
}

static uint64_t seed_of(const struct floor_rig *r, unsigned module, uint64_t counter)
{
	return mix((uint64_t)r->tower << 56 | (uint64_t)r->floor << 48 | (uint64_t)module << 40) ^
	       mix(counter);
}

/* 16 samples that say who it is, and up to 56 that follow from it. */
static size_t make_hit(struct floor_rig *r, unsigned module, uint64_t n, uint8_t *at)
{
	uint64_t counter = r->module[module].counter++;
	uint64_t seed = seed_of(r, module, counter);
	uint64_t age = r->age_max ? seed % (r->age_max + 1) : 0;
	struct hit h = {
		.pmt = (uint8_t)module,
		.efcm = r->floor,
		.tower = r->tower,
		.t5ns = (uint16_t)(seed >> 8) % 25000,
		.frame = (uint16_t)((n - age) % TDM_FRAMES_PER_SECOND),
		.samples = (uint8_t)(16 + seed % 48),
		.charge = (uint32_t)(seed >> 24) & 0x3fffff,
		.zip = true,
	};

	hit_pack(&h, at);
	le64_put(at + 16, counter);
	le64_put(at + 24, 0);
	for (unsigned i = 16; i < h.samples; i++) {
		at[16 + i] = (uint8_t)(mix(seed + i) >> 5);
	}
	return HIT_HEADER_BYTES + h.samples;
}

/* Hits that start in this frame learn so. */
static void mark_starts(uint8_t *fifo, size_t from, size_t to, uint64_t n)
{
	while (from < to) {
		le64_put(fifo + from + 24, n);
		from += hit_bytes(fifo + from);
	}
}

static void put_module(struct floor_rig *r, unsigned m, uint64_t n, uint8_t *frame)
{
	uint8_t *fifo = r->module[m].fifo;
	size_t *used = &r->module[m].used, rest = r->module[m].rest, length, at;
	unsigned hits;

	r->random = mix(r->random);
	hits = r->hits ? (unsigned)(r->random % (2 * r->hits + 1)) : 0;
	while (hits-- > 0 && *used + HIT_MAX_BYTES <= FLOOR_RIG_FIFO) {
		*used += make_hit(r, m, n, fifo + *used);
	}
	length = *used < r->slot_limit ? *used : r->slot_limit;
	mark_starts(fifo, rest, length, n);
	tdm_pmt_slot_put(frame, m,
			 &(struct tdm_pmt_slot){
				 .stream = fifo,
				 .length = (uint16_t)length,
				 .first = (uint16_t)(rest < length ? rest : length),
				 .flags = TDM_PMT_POWERED,
			 });
	for (at = rest; at < length;) {
		at += hit_bytes(fifo + at);
	}
	r->module[m].rest = at - length;
	memmove(fifo, fifo + length, *used - length);
	*used -= length;
}

static struct tdm_time time_of(const struct floor_rig *r, uint64_t n)
{
	time_t t = (time_t)(r->utc_s + (int64_t)(n / TDM_FRAMES_PER_SECOND));
	struct tm tm;

	gmtime_r(&t, &tm);
	return (struct tdm_time){
		.frame = (uint16_t)(n % TDM_FRAMES_PER_SECOND),
		.second = (uint32_t)(tm.tm_hour * 3600 + tm.tm_min * 60 + tm.tm_sec),
		.day = (uint16_t)tm.tm_yday,
		.year = (uint8_t)(tm.tm_year - 100),
		.quality = r->utc_s > 0 ? TDM_TIME_LOCKED : TDM_TIME_NONE,
	};
}

int32_t floor_rig_sample(uint8_t floor, unsigned hydrophone, uint64_t n, unsigned i)
{
	return (int32_t)(mix((uint64_t)floor << 40 | (uint64_t)hydrophone << 36 | (n * 24 + i)) >>
			 40);
}

void floor_rig_frame(struct floor_rig *r, uint64_t n, uint8_t *frame)
{
	uint8_t samples[4 * TDM_SAMPLES], text[4];
	struct tdm_telemetry telemetry = {.boot_count = 1, .uptime_s = (uint32_t)n};
	bool reply = n % FLOOR_RIG_REPLY == 0;

	memset(frame, 0, TDM_FRAME_BYTES);
	for (unsigned m = 0; m < TDM_MODULES; m++) {
		put_module(r, m, n, frame);
	}
	for (unsigned h = 0; h < TDM_HYDROPHONES; h++) {
		for (unsigned i = 0; i < TDM_SAMPLES; i++) {
			le32_put(samples + 4 * i, (uint32_t)floor_rig_sample(r->floor, h, n, i));
		}
		tdm_hydro_slot_put(frame, h,
				   &(struct tdm_hydro_slot){.samples = samples, .flags = 1});
	}
	le32_put(text, (uint32_t)n);
	if (n % 7 == 0) {
		tdm_serial_put(
			frame, false,
			&(struct tdm_serial){
				.bytes = text, .length = 4, .channel = 2, .sequence = (uint16_t)n});
	}
	tdm_telemetry_put(frame, &telemetry);
	if (reply) {
		tdm_replies_put(frame, &(const uint8_t[TDM_WORD_BYTES]){(uint8_t)n}, 1);
	}
	tdm_frame_seal(frame, &(struct tdm_header){
				      .tower = r->tower,
				      .floor = r->floor,
				      .sequence = r->sequence++,
				      .time = time_of(r, n),
				      .slot_valid = 0x7ff,
				      .crc_errors = r->crc_errors,
			      });
}

uint64_t floor_rig_hit_counter(const uint8_t *hit)
{
	return le64_get(hit + 16);
}

uint64_t floor_rig_hit_start(const uint8_t *hit)
{
	return le64_get(hit + 24);
}

int floor_rig_hit_bad(const uint8_t *hit, uint8_t tower, uint8_t floor, unsigned module)
{
	struct floor_rig r = {.tower = tower, .floor = floor};
	uint64_t counter = floor_rig_hit_counter(hit);
	uint64_t seed = seed_of(&r, module, counter);
	struct hit h;

	hit_unpack(hit, &h);
	if (h.pmt != module || h.efcm != floor || h.tower != tower) {
		return __LINE__;
	}
	if (h.samples != 16 + seed % 48 || h.t5ns != (uint16_t)(seed >> 8) % 25000 ||
	    h.charge != ((seed >> 24) & 0x3fffff)) {
		return __LINE__;
	}
	for (unsigned i = 16; i < h.samples; i++) {
		if (hit[16 + i] != (uint8_t)(mix(seed + i) >> 5)) {
			return __LINE__;
		}
	}
	return 0;
}
