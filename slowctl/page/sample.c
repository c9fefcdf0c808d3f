// SPDX-License-Identifier: GPL-2.0-or-later
/* See sample.h. */
#include "slowctl/page/sample.h"

#include <complex.h>
#include <errno.h>
#include <fftw3.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/consumer/fcmdata.h"
#include "daemon/core/now.h"
#include "daemon/core/worker.h"

#define LINKS	   4u
#define MODULES	   8u		/* of a floor, at most */
#define PHONES	   4u		/* hydrophones of a floor, at most */
#define ENOUGH	   512u		/* frames of each link and stream: 64 ms */
#define LONGEST_NS 400000000ull /* for all of them together */
#define POINTS	   384u		/* of a spectrum: 16 frames */
#define LINES	   (POINTS / 2)
#define RATE_HZ	   (8000.0 * FCMDATA_SAMPLES)
#define FULL_SCALE 8388608.0 /* 2^23: samples have 24 bits */

struct phone {
	double sum[LINES]; /* of powers */
	unsigned spectra;
};

struct floor_sample {
	bool seen;
	unsigned floor;
	uint32_t frames[FCM_STREAMS];
	unsigned modules;
	uint64_t hits[MODULES];
	uint64_t charge[SAMPLE_CHARGES];
	struct phone phone[PHONES];
};

struct sample {
	struct work work; /* first */
	struct worker *worker;
	bool busy;
	void (*done)(void *context, json_t *sample);
	void *context;
	const char *key_file;
	char endpoint[256], public_key[64];
	char error[160];
	double *in; /* of the transform */
	fftw_complex *out;
	fftw_plan plan;
	struct floor_sample link[LINKS];
};

/* ------------------------------------------------------------------ what is in the blocks */

static void add_hits(struct floor_sample *f, const struct fcmdata_block *b)
{
	f->modules = b->header.channels < MODULES ? b->header.channels : MODULES;
	for (unsigned om = 0; om < f->modules; om++) {
		struct fcmdata_cursor c;
		struct fcmdata_hit hit;
		int r = fcmdata_begin(b, om, &c);

		while (r >= 0 && (r = fcmdata_next_hit(&c, &hit)) == 1) {
			unsigned bin = hit.charge ? (unsigned)(3.0 * log2(hit.charge)) : 0;

			f->hits[om]++;
			f->charge[bin < SAMPLE_CHARGES ? bin : SAMPLE_CHARGES - 1]++;
		}
	}
}

/* The next POINTS samples from `frame` on, of a Hann window: false where some are missing. */
static bool fill(struct sample *s, const struct fcmdata_block *b, unsigned phone, uint32_t frame)
{
	int32_t v[FCMDATA_SAMPLES];

	for (unsigned n = 0; n < POINTS; n += FCMDATA_SAMPLES, frame++) {
		if (fcmdata_samples(b, phone, frame, v) != (int)FCMDATA_SAMPLES) {
			return false;
		}
		for (unsigned k = 0; k < FCMDATA_SAMPLES; k++) {
			double window = 0.5 - 0.5 * cos(2.0 * M_PI * (n + k) / POINTS);

			s->in[n + k] = v[k] / FULL_SCALE * window;
		}
	}
	return true;
}

static void add_spectra(struct sample *s, struct floor_sample *f, const struct fcmdata_block *b)
{
	const uint32_t step = POINTS / FCMDATA_SAMPLES;
	unsigned phones = b->header.channels < PHONES ? b->header.channels : PHONES;

	for (unsigned p = 0; p < phones; p++) {
		for (uint32_t frame = 0; frame + step <= b->header.frames; frame += step) {
			if (!fill(s, b, p, frame)) {
				continue;
			}
			fftw_execute(s->plan);
			for (unsigned k = 0; k < LINES; k++) {
				double a = cabs(s->out[k]) * 4.0 / POINTS; /* amplitude of a tone */

				f->phone[p].sum[k] += a * a;
			}
			f->phone[p].spectra++;
		}
	}
}

static void take(struct sample *s, const struct fcmdata_block *b)
{
	unsigned stream = b->header.stream;
	struct floor_sample *f;

	if (b->header.link >= LINKS || stream >= FCM_STREAMS) {
		return;
	}
	f = &s->link[b->header.link];
	if (f->frames[stream] >= ENOUGH) {
		return;
	}
	f->seen = true;
	f->floor = b->header.floor;
	f->frames[stream] += b->header.frames;
	if (stream == FCM_PMT) {
		add_hits(f, b);
	} else if (stream == FCM_HYDROPHONE) {
		add_spectra(s, f, b);
	}
}

static bool has_enough(const struct sample *s)
{
	for (unsigned link = 0; link < LINKS; link++) {
		if (s->link[link].frames[FCM_PMT] < ENOUGH ||
		    s->link[link].frames[FCM_HYDROPHONE] < ENOUGH) {
			return false;
		}
	}
	return true;
}

/* ------------------------------------------------------------------ on the thread */

static void receive(struct sample *s, struct fcmdata *h)
{
	uint64_t end = now_mono_ns() + LONGEST_NS;
	const struct fcmdata_block *b;

	while (now_mono_ns() < end && !has_enough(s)) {
		int r = fcmdata_receive(h, 50, &b);

		if (r == 1) {
			take(s, b);
			fcmdata_release(h, b);
		} else if (r == -ECONNREFUSED) {
			snprintf(s->error, sizeof(s->error), "the daemon refuses this monitor: %s",
				 fcmdata_refusal(h));
			return;
		}
	}
}

static void run(struct work *work)
{
	struct sample *s = (struct sample *)work;
	static const char *const topics[] = {"pmt.", "hydrophone.", NULL};
	struct fcmdata_config config = {
		.mode = FCMDATA_MONITOR,
		.endpoint = s->endpoint,
		.topics = topics,
		.server_key = s->public_key[0] ? s->public_key : NULL,
		.key_file = s->public_key[0] ? s->key_file : NULL,
	};
	struct fcmdata_stats stats;
	struct fcmdata *h;
	int r;

	memset(s->link, 0, sizeof(s->link));
	s->error[0] = '\0';
	if (config.server_key && !config.key_file) {
		snprintf(s->error, sizeof(s->error),
			 "the data are encrypted: start fcm-page with --key FILE");
		return;
	}
	r = fcmdata_open(&config, &h);
	if (r < 0) {
		snprintf(s->error, sizeof(s->error), "cannot listen to %.80s: %s", s->endpoint,
			 strerror(-r));
		return;
	}
	receive(s, h);
	fcmdata_get_stats(h, &stats);
	if (stats.state == FCMDATA_CONNECTING && !s->error[0]) {
		snprintf(s->error, sizeof(s->error), "no connection to %.80s", s->endpoint);
	}
	fcmdata_close(h);
}

/* ------------------------------------------------------------------ as JSON */

static json_t *phones_json(const struct floor_sample *f)
{
	json_t *list = json_array();

	for (unsigned p = 0; p < PHONES; p++) {
		json_t *db = f->phone[p].spectra ? json_array() : NULL;

		for (unsigned k = 0; db && k < LINES; k++) {
			double power = f->phone[p].sum[k] / f->phone[p].spectra;

			json_array_append_new(
				db, json_real(round(100.0 * log10(power + 1e-15)) / 10.0));
		}
		if (db) {
			json_array_append_new(list,
					      json_pack("{s:i,s:f,s:o}", "channel", (int)p,
							"bin_hz", RATE_HZ / POINTS, "db", db));
		}
	}
	return list;
}

static json_t *numbers(const uint64_t *value, unsigned count)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < count; i++) {
		json_array_append_new(list, json_integer((json_int_t)value[i]));
	}
	return list;
}

static json_t *links_json(const struct sample *s)
{
	json_t *list = json_array();

	for (unsigned link = 0; link < LINKS; link++) {
		const struct floor_sample *f = &s->link[link];

		if (f->seen) {
			json_array_append_new(list,
					      json_pack("{s:i,s:i,s:i,s:o,s:o,s:o}", "link",
							(int)link, "floor", (int)f->floor, "frames",
							(int)f->frames[FCM_PMT], "hits",
							numbers(f->hits, f->modules), "charge",
							numbers(f->charge, SAMPLE_CHARGES),
							"hydrophones", phones_json(f)));
		}
	}
	return list;
}

static void done(struct work *work)
{
	struct sample *s = (struct sample *)work;

	s->busy = false;
	s->done(s->context, json_pack("{s:f,s:o,s:s?}", "time", (double)now_utc_ns() / 1e9, "links",
				      links_json(s), "error", s->error[0] ? s->error : NULL));
}

/* ------------------------------------------------------------------ begin and end */

void sample_ask(struct sample *s, const char *endpoint, const char *public_key)
{
	if (s->busy || !*endpoint) {
		return;
	}
	snprintf(s->endpoint, sizeof(s->endpoint), "%s", endpoint);
	snprintf(s->public_key, sizeof(s->public_key), "%s", public_key ? public_key : "");
	s->busy = true;
	worker_give(s->worker, &s->work);
}

static void release(struct sample *s)
{
	if (s->plan) {
		fftw_destroy_plan(s->plan);
	}
	fftw_free(s->in);
	fftw_free(s->out);
	free(s);
}

struct sample *sample_new(struct event_base *base, const char *key_file,
			  void (*on_done)(void *context, json_t *sample), void *context)
{
	struct sample *s = calloc(1, sizeof(*s));

	if (!s) {
		return NULL;
	}
	s->work = (struct work){.run = run, .done = done};
	s->done = on_done;
	s->context = context;
	s->key_file = key_file;
	s->in = fftw_alloc_real(POINTS);
	s->out = fftw_alloc_complex(LINES + 1);
	s->plan = s->in && s->out ? fftw_plan_dft_r2c_1d((int)POINTS, s->in, s->out, FFTW_ESTIMATE)
				  : NULL;
	if (!s->plan || worker_start(base, "sample", &s->worker) < 0) {
		release(s);
		return NULL;
	}
	return s;
}

/* A thread that still waits for data keeps what it needs: the process is about to end. */
void sample_free(struct sample *s)
{
	if (s && worker_stop(s->worker)) {
		release(s);
	}
}
