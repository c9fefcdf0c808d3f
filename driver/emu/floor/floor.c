/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A floor's frames, sensors, counters and boots: see floor.h. In a frame period it sends what waits in
 * the FIFOs, generates this period's hits, and then executes what came from the shore. So nothing is
 * sent in the period in which it was made.
 */
#include "driver/emu/floor/floor.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/emu/floor/geometry.h"
#include "driver/emu/floor/private.h"

#define BOOT_FRAMES   4000u /* 0.5 s without light */
#define SENSORS_MS    100u
#define CTD_MS	      1000u
#define CHANNEL_LOOP  0u /* serial channel 0: a plug that sends back what comes */
#define CHANNEL_CTD   1u /* serial channel 1: conductivity, temperature, depth */
#define MODULE_MA     55u
#define HYDROPHONE_MA 12u
#define FCM_MA	      310u
#define SUPPLY_MV     12000

static int create_modules(struct floor *f, const struct pulse_tables *pulses,
			  const struct hydrophone_tables *sound)
{
	const struct floor_config *c = &f->config;

	for (unsigned m = 0; m < TDM_MODULES; m++) {
		f->pmts[m] = pmt_create(c, m, pulses);
		if (!f->pmts[m]) {
			return -1;
		}
	}
	for (unsigned h = 0; h < TDM_HYDROPHONES; h++) {
		hydrophone_init(&f->hydrophones[h], sound, c->seed, c->tower * 64u + c->floor, h,
				c->cold);
	}
	return 0;
}

/* Compass and attitude swing slowly around where the tower's ropes keep the floor. */
static void read_sensors(struct floor *f)
{
	const unsigned n = f->config.floor;
	const double t = f->slow_ms * 1e-3;
	struct tdm_telemetry *s = &f->telemetry;
	const uint32_t mask = floor_power_mask(f);
	double heading = geometry_heading_deg(n) + 1.5 * sin(2 * M_PI * t / 610) +
			 0.05 * rng_normal(&f->rng);

	heading -= 360 * floor(heading / 360);
	s->boot_count = f->boot_count;
	s->uptime_s = (uint32_t)(f->uptime_frames / TDM_FRAMES_PER_SECOND);
	s->temperature_mc = (int32_t)lround(f->temperature_mc + 30 * rng_normal(&f->rng));
	s->humidity_ppm = (uint32_t)lround(182000 + 1000 * n + 300 * rng_normal(&f->rng));
	s->supply_mv = (uint32_t)lround(SUPPLY_MV + 5 * rng_normal(&f->rng));
	s->current_ma = FCM_MA + MODULE_MA * (uint32_t)__builtin_popcount(mask & 0x3f) +
			HYDROPHONE_MA * (uint32_t)__builtin_popcount(mask & 0xc0);
	s->rx_power_nw = f->rx_power_nw;
	s->heading_mdeg = (uint32_t)lround(heading * 1000) % 360000;
	s->pitch_mdeg =
		(int32_t)lround(600 + 150 * sin(2 * M_PI * t / 47 + n) + 20 * rng_normal(&f->rng));
	s->roll_mdeg =
		(int32_t)lround(-300 + 120 * sin(2 * M_PI * t / 53 + n) + 20 * rng_normal(&f->rng));
	s->power_mask = mask;
}

/* All counters near their wrap, but for what the shore numbers, and SILENCED, which is an alarm until it is 0. */
static void age(struct floor *f, uint64_t frames_to_wrap)
{
	f->boot_count = UINT32_MAX;
	f->control.executed = UINT32_MAX;
	f->control.rejected = UINT32_MAX;
	f->crc_errors = UINT8_MAX;
	f->serial.sequence =
		(uint16_t) - (frames_to_wrap / TDM_FRAMES_PER_SECOND); /* one a second */
	f->uptime_frames = (1ull << 32) - frames_to_wrap;
	for (unsigned m = 0; m < TDM_MODULES; m++) {
		pmt_age(f->pmts[m]);
	}
	for (unsigned h = 0; h < TDM_HYDROPHONES; h++) {
		f->hydrophones[h].counter = -(uint32_t)frames_to_wrap * TDM_SAMPLES;
	}
}

struct floor *floor_create(const struct floor_config *config, const struct pulse_tables *pulses,
			   const struct hydrophone_tables *sound)
{
	const unsigned name = config->tower * 64u + config->floor;
	struct floor *f = calloc(1, sizeof(*f));

	if (!f) {
		return NULL;
	}
	f->config = *config;
	rng_seed(&f->rng, config->seed, RNG_FLOOR, name, 0);
	rng_seed(&f->fault_rng, config->seed, RNG_FAULTS, name, 0);
	sea_init(&f->sea, config->seed, name);
	if (config->beacons) {
		beacon_view_init(&f->view, config->beacons, config->seed, config->tower,
				 config->floor);
	}
	if (create_modules(f, pulses, sound) < 0) {
		floor_destroy(f);
		return NULL;
	}
	control_boot(f);
	/* It has been down there for a while. */
	f->boot_count = 10 + rng_below(&f->rng, 20);
	f->uptime_frames = (3600u + rng_below(&f->rng, 864000)) * (uint64_t)TDM_FRAMES_PER_SECOND;
	if (config->wrap_frames > 0) {
		age(f, config->wrap_frames);
	}
	f->sequence = (uint32_t)f->uptime_frames;
	f->time.frame = (uint16_t)rng_below(&f->rng, TDM_FRAMES_PER_SECOND);
	f->temperature_target_mc = 24000 + 200 * config->floor;
	f->temperature_mc = f->temperature_target_mc;
	read_sensors(f);
	return f;
}

void floor_destroy(struct floor *f)
{
	if (f) {
		for (unsigned m = 0; m < TDM_MODULES; m++) {
			pmt_destroy(f->pmts[m]);
		}
		free(f);
	}
}

/* ---------------------------------------------------------------- slow */

static void ctd_speaks(struct floor *f)
{
	const double depth = GEOMETRY_DEPTH_M - geometry_floor(0, f->config.floor).z;

	if (f->serial.length > 0 || f->away > 0) {
		return;
	}
	f->serial.channel = CHANNEL_CTD;
	f->serial.length = (uint8_t)snprintf((char *)f->serial.bytes, sizeof(f->serial.bytes),
					     "%.4f,%.5f,%.2f\r\n", f->sea.temperature_mc * 1e-3,
					     4.48 + 1e-4 * rng_normal(&f->rng),
					     depth * 1.0275 + 0.05 * rng_normal(&f->rng));
}

void floor_slow(struct floor *f)
{
	f->slow_ms++;
	sea_slow(&f->sea);
	for (unsigned m = 0; m < TDM_MODULES; m++) {
		pmt_slow(f->pmts[m], sea_light(&f->sea, m), f->sea.temperature_mc);
	}
	for (unsigned h = 0; h < TDM_HYDROPHONES; h++) {
		hydrophone_slow(&f->hydrophones[h]);
	}
	f->temperature_mc += (f->temperature_target_mc - f->temperature_mc) * 1e-3 / 2;
	if (f->slow_ms % SENSORS_MS == 0) {
		read_sensors(f);
	}
	if (f->slow_ms % CTD_MS == 0) {
		ctd_speaks(f);
	}
}

/* ---------------------------------------------------------------- boots */

static void forget(struct floor *f)
{
	for (unsigned m = 0; m < TDM_MODULES; m++) {
		pmt_boot(f->pmts[m]);
	}
	for (unsigned h = 0; h < TDM_HYDROPHONES; h++) {
		f->hydrophones[h].counter = 0;
	}
}

void floor_boot(struct floor *f)
{
	f->away = BOOT_FRAMES;
	f->boot_in = 0;
	f->boot_count++;
	f->uptime_frames = 0;
	f->sequence = 0;
	f->time = (struct tdm_time){.frame = 0};
	f->echo = 0;
	f->parity = 0;
	f->crc_errors = 0;
	f->code_errors = 0;
	f->timing_seen = false;
	f->serial.length = 0;
	f->serial.sequence = 0;
	f->faults.time_faults = 0;
	control_boot(f);
	forget(f);
	read_sensors(f);
}

/* ---------------------------------------------------------------- receiving */

/* Without a frame from the shore the FCM counts on; a label goes on counting too, as holdover. */
static void count_on(struct floor *f)
{
	struct tdm_time *t = &f->time;

	t->lock &= (uint8_t)~TDM_LOCK_UPLINK;
	if (t->quality > TDM_TIME_LABELLED) {
		t->quality = TDM_TIME_LABELLED;
	}
	if (++t->frame < TDM_FRAMES_PER_SECOND) {
		return;
	}
	t->frame = 0;
	if (t->quality == TDM_TIME_NONE) {
		return;
	}
	if (++t->second >= 86400) {
		t->second = 0;
		t->day++;
		if (t->day >= 365u + (t->year % 4 == 0)) {
			t->day = 0;
			t->year = (uint8_t)((t->year + 1) % 100);
		}
	}
}

static void take_time(struct floor *f, const struct floor_down *down)
{
	if (down->good && tdm_time_legal(&down->header.time) &&
	    down->header.flags & TDM_FLAG_DOWNSTREAM) {
		f->time = down->header.time;
		f->time.lock |= TDM_LOCK_UPLINK;
		f->echo = down->header.sequence;
		return;
	}
	if (down->lit && !down->good) {
		f->crc_errors++;
	}
	count_on(f);
	if (down->lit) {
		f->time.lock |= TDM_LOCK_UPLINK;
	}
}

static void obey_timing(struct floor *f, const uint8_t *bytes)
{
	struct tdm_timing timing;

	tdm_timing_get(bytes, &timing);
	if (timing.command == TDM_TIMING_NONE ||
	    (f->timing_seen && timing.sequence == f->timing_sequence)) {
		return;
	}
	f->timing_seen = true;
	f->timing_sequence = timing.sequence;
	switch (timing.command) {
	case TDM_TIMING_RESET: /* of the data path: FIFOs and sample counters */
		forget(f);
		break;
	case TDM_TIMING_ALIGN:
		f->aligned_again = true;
		break;
	default: /* LOAD and ARM_PPS: this FCM takes its time from every header anyway */
		break;
	}
}

static void obey_serial(struct floor *f, const uint8_t *bytes)
{
	struct tdm_serial in;

	if (tdm_serial_get(bytes, true, &in) < 0 || in.length == 0 || in.channel != CHANNEL_LOOP ||
	    f->serial.length > 0) {
		return;
	}
	memcpy(f->serial.bytes, in.bytes, in.length);
	f->serial.length = in.length;
	f->serial.channel = in.channel;
}

static void obey(struct floor *f, const struct floor_down *down)
{
	if (!down->good) {
		return;
	}
	control_receive(f, down->bytes);
	obey_timing(f, down->bytes);
	if (down->header.slot_valid & TDM_VALID_SERIAL) {
		obey_serial(f, down->bytes);
	}
}

/* ---------------------------------------------------------------- sending */

static uint16_t send_serial(struct floor *f, uint8_t *frame)
{
	const struct tdm_serial out = {
		.bytes = f->serial.bytes,
		.length = f->serial.length,
		.channel = f->serial.channel,
		.sequence = f->serial.sequence,
	};

	tdm_serial_put(frame, false, &out);
	if (out.length == 0) {
		return 0;
	}
	f->serial.sequence++;
	f->serial.length = 0;
	return TDM_VALID_SERIAL;
}

static void generate(struct floor *f, unsigned module, const struct arrivals *arrivals)
{
	const bool lit = arrivals->lit[module];
	const uint8_t outcome =
		pmt_generate(f->pmts[module], f->time.frame, lit ? &arrivals->light[module] : NULL);

	if (lit) {
		f->light.light[module] = outcome;
	}
}

static uint16_t send_data(struct floor *f, uint8_t *frame, const struct arrivals *arrivals,
			  struct truth_record *truth)
{
	uint16_t valid = 0;
	unsigned lost = 0;

	for (unsigned m = 0; m < TDM_MODULES; m++) {
		struct pmt_share share;

		pmt_drain(f->pmts[m], frame, f->config.hash, &share);
		generate(f, m, arrivals);
		truth->hits[m] = share.hits;
		truth->hit_hash[m] = share.hash;
		lost += share.lost;
		/* A module that was just switched off still finishes its hit. */
		if (pmt_powered(f->pmts[m]) || share.bytes > 0) {
			valid |= (uint16_t)TDM_VALID_MODULE(m);
		}
	}
	truth->hits_lost = (uint16_t)(lost < UINT16_MAX ? lost : UINT16_MAX);
	truth->flags |= lost ? TRUTH_FIFO_FULL : 0;
	for (unsigned h = 0; h < TDM_HYDROPHONES; h++) {
		truth->sample_hash[h] =
			hydrophone_frame(&f->hydrophones[h], frame, f->time.frame, f->config.hash);
		if (f->hydrophones[h].powered) {
			valid |= (uint16_t)TDM_VALID_HYDROPHONE(h);
		}
	}
	return valid;
}

/* A wrong number, random each time, so that it never looks like a new sequence. */
static uint16_t false_number(struct floor *f)
{
	const uint32_t shift = 1 + rng_below(&f->fault_rng, TDM_FRAMES_PER_SECOND - 1);

	return (uint16_t)((f->time.frame + shift) % TDM_FRAMES_PER_SECOND);
}

static void send_frame(struct floor *f, uint8_t *frame, const struct arrivals *arrivals,
		       struct truth_record *truth)
{
	struct tdm_header header = {
		.tower = f->config.tower,
		.floor = f->config.floor,
		.flags = f->uptime_frames < TDM_FRAMES_PER_SECOND ? TDM_FLAG_BOOTED : 0,
		.sequence = f->sequence,
		.time = f->time,
		.echo = f->echo,
		.crc_errors = f->crc_errors,
		.code_errors = f->code_errors,
		.parity = f->parity,
	};
	struct tdm_telemetry *t = &f->telemetry;

	truth->flags |= header.flags & TDM_FLAG_BOOTED ? TRUTH_BOOTED : 0;
	if (take_one(&f->faults.time_faults)) {
		header.time.frame = false_number(f);
		truth->flags |= TRUTH_TIME;
	}
	header.slot_valid =
		(uint16_t)(send_data(f, frame, arrivals, truth) | send_serial(f, frame) |
			   TDM_VALID_REPLIES | TDM_VALID_TELEMETRY);
	control_send(f, frame);
	t->executed = f->control.executed;
	t->rejected = f->control.rejected;
	tdm_telemetry_put(frame, t);
	memset(frame + TDM_OFF_RESERVED, 0, TDM_OFF_CRC - TDM_OFF_RESERVED);
	tdm_frame_seal(frame, &header);
	f->parity = tdm_frame_parity(frame);
	f->sequence++;
	f->uptime_frames++;
}

unsigned floor_frame(struct floor *f, const struct floor_down *down, uint8_t *frame,
		     struct truth_record *ret_truth)
{
	struct arrivals arrivals;
	unsigned number;

	ret_truth->tower = f->config.tower;
	ret_truth->floor = f->config.floor;
	f->rx_power_nw = down->rx_power_nw;
	arrivals_look(f, ret_truth->tai_ns, &arrivals);
	if (f->away > 0) {
		f->away--;
		f->time.frame = (uint16_t)((f->time.frame + 1) % TDM_FRAMES_PER_SECOND);
		return f->time.frame;
	}
	take_time(f, down);
	number = f->time.frame;
	send_frame(f, frame, &arrivals, ret_truth);
	control_frame(f);
	obey(f, down);
	if (f->boot_in > 0 && --f->boot_in == 0) {
		floor_boot(f);
	}
	return number;
}

const struct truth_light *floor_light(const struct floor *f)
{
	return &f->light;
}

bool floor_lit(const struct floor *f)
{
	return f->away == 0;
}

bool floor_take_align(struct floor *f)
{
	const bool aligned = f->aligned_again;

	f->aligned_again = false;
	return aligned;
}

/* ---------------------------------------------------------------- scenario */

void floor_trip(struct floor *f, unsigned module)
{
	pmt_trip(f->pmts[module]);
}

void floor_storm(struct floor *f, double rate_hz, uint32_t ms)
{
	sea_storm(&f->sea, rate_hz / f->config.quiet_rate_hz, ms);
}

struct floor_faults *floor_faults(struct floor *f)
{
	return &f->faults;
}

void floor_temperature(struct floor *f, double celsius)
{
	f->temperature_target_mc = celsius * 1000;
}
