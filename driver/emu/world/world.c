/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The world: model time, the four links and their floors, the roof, the scenario, the files.
 *
 *   board --world_downlink--> fibre (ring of frames under way) --> floor --> receiver --cell--> board
 *
 * A floor is run at the step at which its frame *arrives* on shore: in board step s it builds the
 * frame whose number it received by the downstream frame of step s - delay, delay being the round
 * trip rounded up to the receiver's grid (7 or 8 frames). The floor sees no difference, and
 * no upstream store is needed.
 */
#include "driver/emu/world/world.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "driver/emu/floor/beacon.h"
#include "driver/emu/world/fibre.h"
#include "driver/emu/floor/floor.h"
#include "driver/emu/world/gps.h"
#include "driver/emu/world/leap.h"
#include "driver/emu/common/model_fault.h"
#include "driver/emu/play/play.h"
#include "driver/emu/world/receiver.h"
#include "driver/emu/world/scenario.h"
#include "driver/emu/world/truth_file.h"

#define LINKS	    NANET3_LINKS
#define SLOW_STEPS  8u	  /* a millisecond */
#define GPS_FRAME   800u  /* of the second: 100 ms */
#define SWAP_STEPS  1600u /* hands need a moment: 0.2 s */
#define QUIET_HZ    50000.0
#define DESIGN_BITS 300e6
#define FIXED_BYTES 392u /* of a frame in use besides hits: headers, samples, telemetry, tail */
#define BOARD_MC    47000
#define TX_POWER_NW 1000000u
#define DEFAULT_MV  10

struct link {
	struct fibre *fibre; /* which of the plant's ends here */
	struct receiver receiver;
	uint64_t dark_until; /* step: somebody holds the connector */
	uint64_t plug_at; /* step at which an unplugged one comes back by itself; 0 = it does not */
	bool delivered;	  /* the last cell was handed over */
	struct truth_light lights[2]; /* of the records that the receiver has not emitted yet */
	unsigned light_count;
};

struct world {
	struct world_config config; /* its strings only during world_create() */
	struct play *play;	    /* a recording: then there are neither floors nor fibres */
	struct pulse_tables *pulses;
	struct hydrophone_tables *sound;
	struct beacons beacons; /* config.beacons_hz is 0: not used */
	struct floor *floors[LINKS];
	struct fibre fibres[LINKS];
	struct link links[LINKS];

	uint64_t step;
	bool started;
	uint64_t epoch_frames; /* frames of TAI since 1970 at step 0 */

	struct leap_table leap;
	struct leap_utc utc;
	enum gps_state gps_state;
	int64_t gps_jump_s;
	struct gps *gps;
	bool pps, reference, tod;
	uint64_t stalled_until;
	int32_t board_mc;

	struct scenario scenario;
	size_t scenario_next;
	size_t fault_next; /* where world_fault() goes on: behind it lies what this step has applied */
	bool origin_known;
	uint64_t origin;

	struct truth_file *truth;
	FILE *executed;
	struct world_stats stats;
	int error; /* the first one in writing `executed` */
};

/* ---------------------------------------------------------------- set-up */

void world_config_default(struct world_config *config)
{
	*config = (struct world_config){
		.seed = 1,
		.tower = 1,
		.floors = {1, 2, 3, 4},
		.fibre_km = {80, 86.7, 93.3, 100},
		.load = WORLD_DESIGN,
		.fifo_bytes = 256u << 10,
	};
}

int64_t world_tai_now(const char *leap_path)
{
	struct leap_table table;
	struct timespec now;

	leap_load_or_default(leap_path, &table);
	clock_gettime(CLOCK_REALTIME, &now);
	return leap_to_tai(&table, now.tv_sec) * 1000000000 + now.tv_nsec;
}

static double quiet_rate(const struct world *w)
{
	const struct world_config *c = &w->config;
	double bytes_per_s;

	if (c->rate_hz > 0) {
		return c->rate_hz;
	}
	if (c->load == WORLD_QUIET) {
		return QUIET_HZ;
	}
	bytes_per_s = DESIGN_BITS / 8 - (double)FIXED_BYTES * TDM_FRAMES_PER_SECOND;
	return bytes_per_s / TDM_MODULES / pulse_mean_bytes(w->pulses, DEFAULT_MV);
}

static void note_executed(void *context, uint8_t floor, const struct word *request, int status,
			  int32_t value)
{
	struct world *w = context;

	w->stats.executed++;
	if (w->executed == NULL) {
		return;
	}
	fprintf(w->executed, "%.6f %u %" PRIu32 " %s %u %u %" PRId32 " %s\n",
		(double)w->step / TDM_FRAMES_PER_SECOND, floor, request->sequence,
		request->op == WORD_WRITE ? "write" : "action", request->module, request->reg,
		value, word_status_name((unsigned)status));
	if (fflush(w->executed) != 0 && w->error == 0) {
		w->error = -errno;
	}
}

static bool has_beacons(const struct world *w)
{
	return w->config.beacons_hz > 0;
}

/* A receiver emits a link's records in their order, and holds back one at most. */
static void push_light(struct link *l)
{
	l->lights[l->light_count++] = *floor_light(l->fibre->floor);
}

static struct truth_light take_light(struct link *l)
{
	const struct truth_light light = l->lights[0];

	l->lights[0] = l->lights[1];
	l->light_count--;
	return light;
}

static void emit_truth(void *context, const struct truth_record *truth)
{
	struct world *w = context;
	struct truth_light light = {0};

	if (has_beacons(w)) {
		light = take_light(&w->links[truth->link]);
	}
	w->stats.cells[truth->fate]++;
	w->stats.hits_lost += truth->hits_lost;
	for (unsigned m = 0; m < TDM_MODULES; m++) {
		w->stats.hits += truth->hits[m];
	}
	if (w->truth != NULL) {
		truth_file_put(w->truth, truth, has_beacons(w) ? &light : NULL);
	}
}

static uint64_t wrap_frames(const struct world *w)
{
	return (uint64_t)(w->config.wrap_s * TDM_FRAMES_PER_SECOND);
}

static int create_plant(struct world *w)
{
	const struct world_config *c = &w->config;
	struct floor_config config = {
		.tower = c->tower,
		.cold = c->cold,
		.wrap_frames = wrap_frames(w),
		.full = c->load == WORLD_FULL,
		.fifo_bytes = c->fifo_bytes,
		.hash = c->truth_path != NULL,
		.seed = c->seed,
		.beacons = has_beacons(w) ? &w->beacons : NULL,
		.executed = note_executed,
		.context = w,
	};

	w->pulses = pulse_tables_create();
	w->sound = hydrophone_tables_create();
	if (w->pulses == NULL || w->sound == NULL) {
		return -ENOMEM;
	}
	config.quiet_rate_hz = quiet_rate(w);
	if (has_beacons(w)) {
		beacons_init(&w->beacons, c->beacons_hz);
	}
	for (unsigned i = 0; i < LINKS; i++) {
		config.floor = c->floors[i];
		w->floors[i] = floor_create(&config, w->pulses, w->sound);
		if (w->floors[i] == NULL) {
			return -ENOMEM;
		}
		fibre_init(&w->fibres[i], c->seed, c->floors[i], c->fibre_km[i]);
		w->fibres[i].floor = w->floors[i];
		w->links[i].fibre = &w->fibres[i];
		receiver_init(&w->links[i].receiver, c->seed, i, emit_truth, w);
	}
	return 0;
}

static int open_executed(struct world *w)
{
	if (w->config.executed_path == NULL) {
		return 0;
	}
	w->executed = fopen(w->config.executed_path, "we");
	if (w->executed == NULL) {
		return -errno;
	}
	fprintf(w->executed, "# time_s floor sequence op module reg value status\n");
	return fflush(w->executed) == 0 ? 0 : -errno;
}

static int open_scenario(struct world *w, char *error, size_t error_size)
{
	const char *path = w->config.scenario_path;
	const struct scenario *s = &w->scenario;
	int err = scenario_load(path, &w->scenario, error, error_size);

	if (err < 0) {
		return err;
	}
	for (size_t i = 0; i < s->count && !has_beacons(w); i++) {
		if (s->events[i].action == SCENARIO_BEACONS) {
			snprintf(error, error_size, "%s:%u: 'beacons' needs --beacons", path,
				 s->events[i].line);
			return -EINVAL;
		}
	}
	return 0;
}

static int open_files(struct world *w, char *error, size_t error_size)
{
	const struct world_config *c = &w->config;
	const char *path = NULL;
	int err = 0;

	if (c->scenario_path != NULL) {
		err = open_scenario(w, error, error_size);
		if (err < 0) {
			return err;
		}
	}
	if (c->truth_path != NULL) {
		path = c->truth_path;
		err = truth_file_create(path, c->seed, c->tai_start_ns, LINKS, has_beacons(w),
					&w->truth);
	}
	if (err == 0) {
		path = c->executed_path;
		err = open_executed(w);
	}
	if (err == 0 && (c->gps_path != NULL || c->gps_port != 0)) {
		path = c->gps_path ? c->gps_path : "the receiver's UDP port";
		err = gps_create(c->gps_path, c->gps_port, &w->gps);
	}
	if (err < 0) {
		snprintf(error, error_size, "%s: %s", path, strerror(-err));
	}
	return err;
}

static const char *config_fault(const struct world_config *c)
{
	if (c->tai_start_ns <= 0 || c->tai_start_ns % TDM_FRAME_NS != 0) {
		return "the start is not at a frame's border";
	}
	if (c->tower > 127 || c->rate_hz < 0 || c->rate_hz > 2e7) {
		return "tower is above 127, or the rate outside 0..20 MHz";
	}
	if (c->beacons_hz != 0 &&
	    !(c->beacons_hz >= BEACON_HZ_MIN && c->beacons_hz <= BEACON_HZ_MAX)) {
		return "beacons do not flash at this rate";
	}
	for (unsigned i = 0; i < LINKS; i++) {
		if (c->floors[i] > 31 || !(c->fibre_km[i] >= 0.1 && c->fibre_km[i] <= 150)) {
			return "a floor is above 31, or a fibre outside 0.1..150 km";
		}
		for (unsigned k = 0; k < i; k++) {
			if (c->floors[k] == c->floors[i]) {
				return "a floor is on two links";
			}
		}
	}
	return NULL;
}

int world_create(const struct world_config *config, struct world **ret_world, char *error,
		 size_t error_size)
{
	const char *fault = config_fault(config);
	struct world *w;
	int err;

	if (fault != NULL) {
		snprintf(error, error_size, "%s", fault);
		return -EINVAL;
	}
	w = calloc(1, sizeof(*w));
	if (w == NULL) {
		snprintf(error, error_size, "out of memory");
		return -ENOMEM;
	}
	w->config = *config;
	w->epoch_frames = (uint64_t)(config->tai_start_ns / TDM_FRAME_NS);
	w->pps = true;
	w->reference = true;
	w->tod = true;
	w->board_mc = BOARD_MC;
	leap_load_or_default(config->leap_path, &w->leap);
	snprintf(error, error_size, "out of memory, or a FIFO of %u bytes", config->fifo_bytes);
	if (config->play_path != NULL) {
		err = play_create(config->play_path, config->play_say, &w->play, error, error_size);
	} else {
		err = create_plant(w);
	}
	if (err == 0 && w->play == NULL) {
		err = open_files(w, error, error_size);
	}
	if (err < 0) {
		world_destroy(w);
		return err;
	}
	error[0] = '\0';
	w->origin_known = !w->scenario.from_data;
	*ret_world = w;
	return 0;
}

int world_start_at(struct world *w, int64_t tai_start_ns)
{
	if (tai_start_ns <= 0 || tai_start_ns % TDM_FRAME_NS != 0) {
		return -EINVAL;
	}
	if (w->started) {
		return -EBUSY;
	}
	w->config.tai_start_ns = tai_start_ns;
	w->epoch_frames = (uint64_t)(tai_start_ns / TDM_FRAME_NS);
	if (w->truth != NULL) {
		truth_file_start(w->truth, tai_start_ns);
	}
	return 0;
}

int world_destroy(struct world *w)
{
	int err;

	if (w == NULL) {
		return 0;
	}
	for (unsigned i = 0; i < LINKS; i++) {
		if (w->play == NULL) {
			receiver_flush(&w->links[i].receiver);
		}
		floor_destroy(w->floors[i]);
	}
	play_destroy(w->play);
	err = truth_file_destroy(w->truth);
	if (w->executed != NULL && fclose(w->executed) != 0 && err == 0) {
		err = -errno;
	}
	if (err == 0) {
		err = w->error;
	}
	gps_destroy(w->gps);
	scenario_fini(&w->scenario);
	free(w->pulses);
	free(w->sound);
	free(w);
	return err;
}

/* ---------------------------------------------------------------- scenario */

static uint64_t after(const struct world *w, double seconds)
{
	return w->step + (uint64_t)llround(seconds * TDM_FRAMES_PER_SECOND);
}

static void swap_fibres(struct world *w, unsigned a, unsigned b)
{
	struct fibre *fibre = w->links[a].fibre;

	w->links[a].fibre = w->links[b].fibre;
	w->links[b].fibre = fibre;
	w->links[a].dark_until = w->step + SWAP_STEPS;
	w->links[b].dark_until = w->step + SWAP_STEPS;
	fibre_cut(w->links[a].fibre);
	fibre_cut(w->links[b].fibre);
}

static void apply_to_link(struct world *w, const struct scenario_event *e)
{
	struct link *l = &w->links[e->link];
	const double x = e->args[0];

	switch ((enum scenario_action)e->action) {
	case SCENARIO_CRC:
		l->receiver.crc += (uint32_t)x;
		break;
	case SCENARIO_DOWN_CRC:
		l->fibre->down_bad += (uint32_t)x;
		break;
	case SCENARIO_DROP:
		l->receiver.drop += (uint32_t)x;
		break;
	case SCENARIO_UNALIGN:
		l->receiver.insert =
			e->arg_count > 0 ? (uint32_t)x : 1 + rng_below(&l->receiver.rng, 5000);
		break;
	case SCENARIO_SLIP:
		receiver_slip(&l->receiver, (unsigned)x);
		break;
	case SCENARIO_UNPLUG:
		l->fibre->plugged = false;
		l->plug_at = e->arg_count > 0 ? after(w, x) : 0;
		fibre_cut(l->fibre);
		break;
	case SCENARIO_PLUG:
		l->fibre->plugged = true;
		break;
	case SCENARIO_PHASE_DRIFT:
		l->fibre->drift_ps_per_s = x;
		break;
	case SCENARIO_PHASE_STEP:
		l->fibre->drift_ps += x;
		break;
	case SCENARIO_PHASE:
		l->receiver.no_phase = x == 0;
		break;
	default:
		break;
	}
}

static void apply_to_floor(struct floor *f, const struct scenario_event *e)
{
	struct floor_faults *faults = floor_faults(f);
	const double x = e->args[0];

	switch ((enum scenario_action)e->action) {
	case SCENARIO_MUTE:
		faults->mute = x > 0;
		break;
	case SCENARIO_LOSE_REPLIES:
	case SCENARIO_LOSE_SHARE:
		faults->lose = e->action == SCENARIO_LOSE_REPLIES ? (uint32_t)x : 0;
		faults->lose_share = e->action == SCENARIO_LOSE_SHARE ? x : 0;
		break;
	case SCENARIO_DUPLICATE_REPLIES:
		faults->duplicate = (uint32_t)x;
		break;
	case SCENARIO_REORDER_REPLIES:
		faults->reorder = (uint32_t)x;
		break;
	case SCENARIO_REFUSE:
		faults->refuse = (uint32_t)x;
		break;
	case SCENARIO_TIME_FAULT:
		faults->time_faults = (uint32_t)x;
		break;
	case SCENARIO_BOOT:
		floor_boot(f);
		break;
	case SCENARIO_TRIP:
		floor_trip(f, (unsigned)x);
		break;
	case SCENARIO_BURST:
		floor_storm(f, x, (uint32_t)lround(e->args[1] * 1000));
		break;
	case SCENARIO_TEMPERATURE:
		floor_temperature(f, x);
		break;
	default:
		break;
	}
}

static void apply_to_shore(struct world *w, const struct scenario_event *e)
{
	const double x = e->args[0];

	switch ((enum scenario_action)e->action) {
	case SCENARIO_GPS:
		w->gps_state = (enum gps_state)x;
		w->gps_jump_s = w->gps_state == GPS_OK ? 0 : w->gps_jump_s;
		break;
	case SCENARIO_GPS_JUMP:
		w->gps_jump_s += (int64_t)x;
		break;
	case SCENARIO_PPS:
		w->pps = x > 0;
		break;
	case SCENARIO_REFERENCE:
		w->reference = x > 0;
		break;
	case SCENARIO_TOD:
		w->tod = x > 0;
		break;
	case SCENARIO_STALL:
		w->stalled_until = after(w, x);
		break;
	case SCENARIO_BOARD_TEMPERATURE:
		w->board_mc = (int32_t)lround(x * 1000);
		break;
	case SCENARIO_SWAP:
		swap_fibres(w, (unsigned)x, (unsigned)e->args[1]);
		break;
	case SCENARIO_BEACONS:
		w->beacons.on = x > 0;
		break;
	default:
		break;
	}
}

/* Each takes what is its own. */
static void apply(struct world *w, const struct scenario_event *e)
{
	w->stats.events++;
	if (e->link == SCENARIO_SHORE) {
		apply_to_shore(w, e);
		return;
	}
	apply_to_link(w, e);
	apply_to_floor(w->links[e->link].fibre->floor, e);
}

static void run_scenario(struct world *w)
{
	const struct scenario *s = &w->scenario;

	if (!w->origin_known) {
		for (unsigned i = 0; i < LINKS; i++) {
			if (!w->links[i].delivered) {
				return;
			}
		}
		w->origin_known = true;
		w->origin = w->step;
	}
	w->fault_next = w->scenario_next;
	while (w->scenario_next < s->count &&
	       s->events[w->scenario_next].step <= w->step - w->origin) {
		apply(w, &s->events[w->scenario_next++]);
	}
}

uint32_t world_fault(struct world *w)
{
	if (w->play != NULL) {
		return play_fault(w->play);
	}
	while (w->fault_next < w->scenario_next) {
		const struct scenario_event *e = &w->scenario.events[w->fault_next++];

		switch ((enum scenario_action)e->action) {
		case SCENARIO_STUCK_DMA:
			return MODEL_FAULT(MODEL_FAULT_STUCK_DMA, e->link, e->args[0]);
		case SCENARIO_LOSE_IRQS:
			return MODEL_FAULT(MODEL_FAULT_LOSE_IRQS, e->link, e->args[0]);
		case SCENARIO_EXTRA_IRQS:
			return MODEL_FAULT(MODEL_FAULT_SPURIOUS, e->link, e->args[0]);
		case SCENARIO_BOARD_GONE:
			return MODEL_FAULT(MODEL_FAULT_GONE, 0, lround(e->args[0] * 1000));
		case SCENARIO_BOARD_DEAF:
			return MODEL_FAULT(MODEL_FAULT_DEAF, 0, lround(e->args[0] * 1000));
		case SCENARIO_LOSE_EVENTS:
			return MODEL_FAULT(MODEL_FAULT_LOSE_EVENTS, 0, e->args[0]);
		case SCENARIO_LOSE_READS:
			return MODEL_FAULT(MODEL_FAULT_LOSE_READS, 0, e->args[0]);
		case SCENARIO_SLOW_PUTS:
			return MODEL_FAULT(MODEL_FAULT_SLOW_PUTS, 0, e->args[0]);
		case SCENARIO_LOSE_DESCRIPTORS:
			return MODEL_FAULT(MODEL_FAULT_LOSE_DESCRIPTORS, 0, e->args[0]);
		case SCENARIO_LATE_DATA:
			return MODEL_FAULT(MODEL_FAULT_REORDER, 0, e->args[0]);
		case SCENARIO_BOARD_SLOT:
			return MODEL_FAULT(MODEL_FAULT_TRAIN, e->args[0], e->args[1]);
		default:
			break;
		}
	}
	return 0;
}

/* ---------------------------------------------------------------- time */

static uint32_t frame_of_second(const struct world *w)
{
	return (uint32_t)((w->epoch_frames + w->step) % TDM_FRAMES_PER_SECOND);
}

static void step_time(struct world *w)
{
	const int64_t tai_s = (int64_t)((w->epoch_frames + w->step) / TDM_FRAMES_PER_SECOND);
	const uint32_t frame = frame_of_second(w);
	char text[1024];
	size_t length;

	if (frame == 0 || w->step == 0) {
		leap_to_utc(&w->leap, tai_s, &w->utc);
	}
	if (w->gps != NULL && !w->config.gps_mute && frame == GPS_FRAME) {
		length = gps_sentences(w->gps_state, w->utc.utc_s + w->gps_jump_s, w->utc.inserted,
				       text, sizeof(text));
		if (length > 0) {
			gps_say(w->gps, text, length);
		}
	}
}

void world_roof(const struct world *w, struct world_roof *ret_roof)
{
	const time_t posix = (time_t)(w->utc.utc_s + w->gps_jump_s);
	struct tm tm = {0};

	if (w->play != NULL) {
		play_roof(w->play, ret_roof);
		return;
	}
	gmtime_r(&posix, &tm);
	*ret_roof = (struct world_roof){
		.pps = w->pps && frame_of_second(w) == 0,
		.wrap_frames = wrap_frames(w),
		.reference = w->reference,
		.tod_valid = w->tod,
		.tod_second = (uint32_t)(tm.tm_hour * 3600 + tm.tm_min * 60 + tm.tm_sec) +
			      (w->utc.inserted ? 1 : 0),
		.tod_day = (uint16_t)tm.tm_yday,
		.tod_year = (uint8_t)((tm.tm_year + 1900) % 100),
		.tod_quality = w->gps_state == GPS_VOID ? TDM_TIME_LABELLED : TDM_TIME_LOCKED,
		.tod_leap = w->utc.announced,
		.temperature_mc = w->board_mc,
		.stalled = w->step < w->stalled_until,
	};
}

/* ---------------------------------------------------------------- links */

static void step_link(struct world *w, struct link *l)
{
	if (l->plug_at > 0 && w->step >= l->plug_at) {
		l->plug_at = 0;
		l->fibre->plugged = true;
	}
	if (floor_take_align(l->fibre->floor)) {
		receiver_realign(&l->receiver, w->step, false);
	}
	receiver_step(&l->receiver, w->step,
		      l->fibre->plugged && w->step >= l->dark_until && floor_lit(l->fibre->floor));
}

/* Emit what falls into this step. Floors are behind: theirs is the light of some frames ago. */
static void step_beacons(struct world *w)
{
	const int64_t now_ns = w->config.tai_start_ns + (int64_t)w->step * TDM_FRAME_NS;

	if (has_beacons(w)) {
		beacons_step(&w->beacons, now_ns, now_ns + TDM_FRAME_NS);
	}
}

void world_step(struct world *w)
{
	if (w->started) {
		w->step++;
	}
	w->started = true;
	if (w->play != NULL) {
		play_step(w->play);
		return;
	}
	step_time(w);
	run_scenario(w);
	step_beacons(w);
	for (unsigned i = 0; i < LINKS; i++) {
		/* The links' milliseconds fall into different steps, to keep these even. */
		if (w->step % SLOW_STEPS == i * SLOW_STEPS / LINKS) {
			floor_slow(w->floors[i]);
			fibre_slow(&w->fibres[i]);
		}
		step_link(w, &w->links[i]);
	}
}

void world_fibre(struct world *w, unsigned link, struct world_fibre *ret_fibre)
{
	struct link *l = &w->links[link];
	struct receiver *r = &l->receiver;

	if (w->play != NULL) {
		play_fibre(w->play, link, ret_fibre);
		return;
	}
	*ret_fibre = (struct world_fibre){
		.signal = r->lit,
		.tx_power_nw = TX_POWER_NW,
		.code_errors = r->code_errors,
		.no_phase = r->no_phase,
	};
	r->code_errors = 0;
	fibre_measure(l->fibre, r->slip, ret_fibre);
	if (r->lit) {
		const double noise = 1 + 0.002 * rng_normal(&l->fibre->rng);

		ret_fibre->rx_power_nw = (uint32_t)(l->fibre->power_nw * noise);
	}
	if (r->drop > 0 && r->locked) {
		r->drop--;
		ret_fibre->lost = TDM_LOSS_BOARD_FIFO;
	}
}

int64_t world_delay_ns(const struct world *w, unsigned link)
{
	return w->play != NULL ? 0 : fibre_down_ns(w->links[link].fibre);
}

void world_downlink(struct world *w, unsigned link, const uint8_t *frame)
{
	struct link *l = &w->links[link];

	if (w->play != NULL) { /* there is no floor */
		return;
	}
	fibre_send(l->fibre, w->step, w->step >= l->dark_until ? frame : NULL);
}

/* The floor's frame on the board's count line. `number` is the floor's, 0..7999. */
static uint64_t floor_frame_of(uint64_t count, unsigned number)
{
	return count - (count + TDM_FRAMES_PER_SECOND - number) % TDM_FRAMES_PER_SECOND;
}

void world_uplink(struct world *w, unsigned link, uint64_t count, enum tdm_loss fate, uint8_t *cell)
{
	struct link *l = &w->links[link];
	struct truth_record truth = {.link = (uint8_t)link, .count = count, .fate = (uint8_t)fate};
	unsigned number;
	uint64_t sent;

	if (w->play != NULL) {
		w->stats.cells[fate]++;
		play_uplink(w->play, link, fate, cell);
		return;
	}
	l->delivered = fate == TDM_GOOD;
	sent = w->step - fibre_delay(l->fibre);
	truth.tai_ns =
		w->config.tai_start_ns + (int64_t)sent * TDM_FRAME_NS + world_delay_ns(w, link);
	number = floor_frame(l->fibre->floor, fibre_received(l->fibre, sent),
			     receiver_frame(&l->receiver, cell), &truth);
	truth.floor_frame = floor_frame_of(count, number);
	if (has_beacons(w)) {
		push_light(l);
	}
	receiver_cell(&l->receiver, cell, &truth);
}

void world_realign(struct world *w, unsigned link, bool reset)
{
	if (w->play != NULL) {
		play_powered(w->play);
		return;
	}
	receiver_realign(&w->links[link].receiver, w->step, reset);
}

bool world_locked(const struct world *w, unsigned link)
{
	return w->play != NULL ? play_locked(w->play, link) : w->links[link].receiver.locked;
}

struct play *world_play(struct world *w)
{
	return w->play;
}

void world_stats(const struct world *w, struct world_stats *ret_stats)
{
	*ret_stats = w->stats;
	ret_stats->flashes = w->beacons.flash_count;
	ret_stats->pings = w->beacons.ping_count;
}
