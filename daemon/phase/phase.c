// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The phase of a link: see phase.h. A *lock* begins with an alignment, or with a step of the phase that the board did
 * not report. Mean, deviation, histogram, TDEV and MTIE restart with each lock; the counts of verdicts do not. Within
 * a lock the total delay is followed without wraps:
 *
 *   total = (frames x 10 000 + bytes) x 12 500 ps + bits x 1250 ps + phase
 *
 * so a phase that crosses its wrap while the byte count moves on does not jump. Each new lock is judged, and a drift
 * once per excursion.
 *
 * Units are ps and s inside; a double holds the total (some 10^9 ps) to better than 10^-6 ps.
 */
#include "daemon/phase/phase.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "daemon/phase/private.h"

#define FRAME_PS     125000000.0
#define WINDOW_S     600.0
#define SLOPE_S	     60.0
#define SECOND_S     1.0
#define RECENT_S     2.0  /* mean for drift and difference */
#define REFERENCE_S  10.0 /* mean for a new reference */
#define DRIFT_S	     20.0 /* slope of a drift */
#define DRIFT_MIN_S  5.0  /* a lock must be so old before its drift is judged */
#define OUT_S	     2u	  /* the limit must be passed for so long */
#define LEAVING_S    5u	  /* or the mean must have been leaving for so long */
#define CALM_S	     120u /* without leaving for so long, a drift inside its limit ends */
#define DRIFT_SIGMAS 6.0  /* a slope is certain from so many of its own on */
#define SOON_S	     30.0 /* a drift is reported when it will be out by then */
#define SOON_LEAST   1.0  /* ps/s; slower ones may be wander: reported when they are out */
#define REACH_S	     60.0 /* so long a drift goes on in the dark, at most */
#define RELOCK_MAX   64u
#define STEP_EVERY   3u	 /* samples between two looks for a step */
#define STEP_LEAST   0.2 /* of the tolerance */
#define LINE_SAMPLES 10u /* for a slope */

const char *phase_verdict_name(enum phase_verdict v)
{
	static const char *const names[] = {"none", "first", "PASS", "SLIP", "JUMP", "DRIFT"};

	return v <= PHASE_DRIFT ? names[v] : "?";
}

struct first_sample {
	uint64_t time_ns;
	struct phase_reading reading;
};

/* The second that is open: the last of the samples. */
struct second {
	uint64_t number; /* monotonic s; 0: none begun */
	uint32_t samples;
	struct phase_reading reading;
};

/* The whole bits that a lock is off: so many, or in doubt between two numbers after a jump, which may have been both. */
struct bits {
	int low, high;
};

struct phase {
	struct phase_config config;
	struct phase_view view; /* without what phase_get_view() computes */

	bool judged;
	double step_ps; /* that began this lock; 0: an alignment did */
	uint32_t aligns, measurements;
	struct first_sample relock[RELOCK_MAX]; /* of this lock, until they are judged */
	uint32_t relock_count, whole_off;
	double x; /* total of the last sample, followed from the lock's first */

	struct phase_sample samples[2 * PHASE_SAMPLES_MAX]; /* the window moves through it */
	uint32_t first, count;
	uint32_t histogram[PHASE_BINS];

	struct second second;
	uint32_t unlooked; /* samples since the last look for a step */
	struct phase_row row;
	bool row_ready;

	/* Of this lock or, until a new one is judged, of the last. */
	double place_ps;   /* its difference */
	uint64_t place_ns; /* monotonic: of place_ps */
	struct bits bits;
	bool jumped; /* it is off by more than whole bits, and has not only drifted there */
	double slope_ps_per_s;	    /* as far as it is certain; 0: no drift */
	unsigned leaving_s, calm_s; /* seconds in a row in which the mean was leaving, or was not */
	struct phase_judgement judgement;
	struct phase_judgement of_lock; /* as it was judged; view.last again when a drift ends */
	bool judgement_ready;
};

/* ------------------------------------------------------------------ totals */

/* The total delay of a reading or a reference. */
#define TOTAL_PS(r)                                                                                \
	((r)->rtt_frames * FRAME_PS + (r)->rtt_bytes * (double)PHASE_WRAP_PS +                     \
	 (r)->rtt_bits * (double)PHASE_UI_PS + (r)->phase_ps)

/* The phase in a total: without whole bytes, and without the bits that the board counts. */
static double circle_ps(double total, uint8_t bits)
{
	double rest = total - bits * (double)PHASE_UI_PS;

	return rest - floor(rest / PHASE_WRAP_PS) * PHASE_WRAP_PS;
}

/* A total as frames, bytes and phase, with the bits as the board counts them. */
static void split_total(double total, uint8_t bits, struct phase_reference *ret_reference)
{
	double rest = total - bits * (double)PHASE_UI_PS, frames, bytes;

	frames = floor(rest / FRAME_PS);
	rest -= frames * FRAME_PS;
	bytes = floor(rest / PHASE_WRAP_PS);
	rest -= bytes * PHASE_WRAP_PS;
	ret_reference->rtt_frames = frames < 0 ? 0 : (uint8_t)fmin(frames, 255);
	ret_reference->rtt_bytes = (uint16_t)bytes;
	ret_reference->rtt_bits = bits;
	ret_reference->phase_ps = rest;
}

/* ------------------------------------------------------------------ statistics of the lock */

static const struct phase_sample *sample(const struct phase *p, uint32_t i)
{
	return &p->samples[p->first + i];
}

/* First sample of the last `seconds`. */
static uint32_t since(const struct phase *p, double seconds)
{
	uint32_t low = 0, high = p->count;
	double from;

	if (!p->count) {
		return 0;
	}
	from = sample(p, p->count - 1)->s - seconds;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (sample(p, middle)->s < from) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low;
}

struct moments {
	double mean, sigma, min, max, slope, slope_sigma;
};

/*
 * Mean, standard deviation (n - 1), extremes and least-squares slope of x over time with its own standard deviation, from
 * sample `from` on. Because x does not wrap, the mean is the circular mean of the phase (plus whole turns) for any
 * spread well below half a turn, and the rest needs no circular form.
 */
static void moments(const struct phase *p, uint32_t from, struct moments *ret)
{
	const struct phase_sample *base = sample(p, from);
	double n = p->count - from, sx = 0, st = 0, sxx = 0, stt = 0, stx = 0;
	double min = INFINITY, max = -INFINITY;

	for (uint32_t i = from; i < p->count; i++) {
		double x = sample(p, i)->x - base->x, t = sample(p, i)->s - base->s;

		sx += x;
		st += t;
		sxx += x * x;
		stt += t * t;
		stx += t * x;
		min = fmin(min, x);
		max = fmax(max, x);
	}
	ret->mean = base->x + sx / n;
	sxx -= sx * sx / n;
	ret->sigma = n > 1 ? sqrt(fmax(0, sxx / (n - 1))) : 0;
	ret->min = base->x + min;
	ret->max = base->x + max;
	stt -= st * st / n;
	ret->slope = stt > 0 ? (stx - st * sx / n) / stt : 0;
	ret->slope_sigma = n > 2 && stt > 0
				   ? sqrt(fmax(0, sxx / stt - ret->slope * ret->slope) / (n - 2))
				   : INFINITY;
}

/* Mean total of the last `seconds`. */
static double mean_over(const struct phase *p, double seconds)
{
	struct moments m;

	moments(p, since(p, seconds), &m);
	return m.mean;
}

/* Of the last minute, where a line fits; else NaN. */
static double slope(const struct phase *p)
{
	uint32_t from = since(p, SLOPE_S), n = p->count - from;
	struct moments m;

	if (n < LINE_SAMPLES || !phase_is_line(sample(p, from), n)) {
		return (double)NAN;
	}
	moments(p, from, &m);
	return m.slope;
}

static void stability(struct phase *p)
{
	static const double taus_s[3] = {1, 10, 100};
	uint32_t from = since(p, WINDOW_S);

	for (unsigned i = 0; i < 3; i++) {
		p->view.tdev_ps[i] = phase_tdev(sample(p, from), p->count - from, taus_s[i]);
		p->view.mtie_ps[i] = phase_mtie(sample(p, from), p->count - from, taus_s[i]);
	}
}

/* ------------------------------------------------------------------ verdicts */

/* The second that is open becomes a row, unless it has no samples. */
static void close_row(struct phase *p)
{
	struct second *s = &p->second;
	struct moments m;

	if (!s->samples) {
		return;
	}
	moments(p, p->count - s->samples, &m);
	p->row = (struct phase_row){
		.mean_ps = circle_ps(m.mean, s->reading.rtt_bits),
		.sigma_ps = m.sigma,
		.min_ps = m.min - m.mean,
		.max_ps = m.max - m.mean,
		.samples = s->samples,
		.rtt_frames = s->reading.rtt_frames,
		.rtt_bytes = s->reading.rtt_bytes,
		.rtt_bits = s->reading.rtt_bits,
	};
	p->row_ready = true;
	s->samples = 0;
}

static void begin_lock(struct phase *p, uint64_t now_ns)
{
	close_row(p);
	p->step_ps = 0;
	p->view.lock_ns = now_ns;
	p->view.last = (struct phase_judgement){.verdict = PHASE_NONE};
	p->judged = false;
	p->relock_count = 0;
	p->whole_off = 0;
	p->first = p->count = 0;
	p->unlooked = 0;
	p->leaving_s = p->calm_s = 0;
	p->view.drifting = false;
	memset(p->histogram, 0, sizeof(p->histogram));
	for (unsigned i = 0; i < 3; i++) {
		p->view.tdev_ps[i] = p->view.mtie_ps[i] = (double)NAN;
	}
}

/* Of the lock, when it came back, or of a step. */
static bool is_displaced(const struct phase *p)
{
	return p->of_lock.verdict == PHASE_SLIP || p->of_lock.verdict == PHASE_JUMP;
}

/* As others see it: a lock that is off where the phase had drifted to has not jumped there. */
static struct phase_judgement as_seen(const struct phase_judgement *j)
{
	struct phase_judgement seen = *j;

	if (j->drifted) {
		seen.verdict = PHASE_DRIFT;
	}
	return seen;
}

static void end_drift(struct phase *p)
{
	p->view.drifting = false;
	if (p->view.last.verdict == PHASE_DRIFT) {
		p->view.last = as_seen(&p->of_lock);
	}
}

static void pass_judgement(struct phase *p, enum phase_verdict verdict, int slip, double difference,
			   double mean, double sigma, uint32_t samples)
{
	bool of_step = p->step_ps != 0 && verdict != PHASE_DRIFT;
	struct phase_judgement j = {
		.verdict = verdict,
		.slip = slip,
		.difference_ps = difference,
		.mean_ps = circle_ps(mean, p->view.reading.rtt_bits),
		.sigma_ps = sigma,
		.step_ps = of_step ? p->step_ps : 0,
		.drifted = verdict == PHASE_JUMP && !p->jumped,
		.samples = samples,
		.time_ns = of_step ? p->view.lock_ns : p->view.last_sample_ns,
	};

	p->judgement = as_seen(&j);
	p->judgement_ready = true;
	if (verdict != PHASE_DRIFT) {
		p->of_lock = j;
	}
	if (verdict != PHASE_DRIFT || !is_displaced(p)) {
		p->view.last = p->judgement;
	}
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/*
 * Mean and sigma of a lock's first totals. Phase and round trip are read one after the other: near a wrap
 * they may disagree by a byte, so each total is taken within half a byte of the median.
 */
static void relock_mean(const struct phase *p, double *ret_mean, double *ret_sigma)
{
	double sorted[RELOCK_MAX] = {0}, median, sum = 0, squares = 0, n = p->relock_count;

	for (uint32_t i = 0; i < p->relock_count; i++) {
		sorted[i] = TOTAL_PS(&p->relock[i].reading);
	}
	qsort(sorted, p->relock_count, sizeof(sorted[0]), ascending);
	median = sorted[p->relock_count / 2];
	for (uint32_t i = 0; i < p->relock_count; i++) {
		double d = remainder(TOTAL_PS(&p->relock[i].reading) - median, PHASE_WRAP_PS);

		sum += d;
		squares += d * d;
	}
	*ret_mean = median + sum / n;
	*ret_sigma = n > 1 ? sqrt(fmax(0, (squares - sum * sum / n) / (n - 1))) : 0;
}

static bool is_near(const struct phase *p, double a, double b)
{
	return fabs(a - b) <= p->config.tolerance_ps;
}

static int nearest_bits(double ps)
{
	double bits = round(ps / PHASE_UI_PS);

	return fabs(bits) < 1e9 ? (int)bits : 0;
}

/* Whether it is so many whole bits, not none. */
static bool is_bits(const struct phase *p, double ps, int *ret_bits)
{
	*ret_bits = nearest_bits(ps);
	return *ret_bits != 0 && is_near(p, ps, *ret_bits * (double)PHASE_UI_PS);
}

/* The number nearest to none. */
static int fewest(struct bits b)
{
	return b.low > 0 ? b.low : b.high < 0 ? b.high : 0;
}

/* By the reference alone. */
static enum phase_verdict compare(const struct phase *p, double difference, struct bits *ret_bits)
{
	int bits;

	*ret_bits = (struct bits){0, 0};
	if (is_near(p, difference, 0)) {
		return PHASE_PASS;
	}
	if (!is_bits(p, difference, &bits)) {
		return PHASE_JUMP;
	}
	*ret_bits = (struct bits){bits, bits};
	return PHASE_SLIP;
}

/* Where the last lock would be now: a drift may have gone on in the dark. */
static double place_by_now(const struct phase *p)
{
	double dark_s = ((double)p->view.lock_ns - (double)p->place_ns) / 1e9;

	return p->place_ps + fmin(dark_s, REACH_S) * p->slope_ps_per_s;
}

/* A new lock is off as the last one was, or would be now. */
static bool is_as_before(const struct phase *p, double difference)
{
	return is_near(p, difference, p->place_ps) || is_near(p, difference, place_by_now(p));
}

/*
 * The verdict on a new lock, and the bits that it is off: by the reference, else by where the last lock was, or would be
 * now, because a drift may have ended in the dark or gone on. What came back there is off as before; whole bits from
 * there are a slip, or take one back; anything else may have been a slip, too.
 */
static enum phase_verdict verdict_on(const struct phase *p, double difference,
				     struct bits *ret_bits)
{
	double by_now = place_by_now(p);
	enum phase_verdict verdict = compare(p, difference, ret_bits);
	int by = 0, nearest = nearest_bits(difference - by_now), of_all = nearest_bits(difference);

	if (verdict != PHASE_JUMP) {
		return verdict;
	}
	*ret_bits = p->bits;
	if (is_as_before(p, difference)) {
		return is_displaced(p) ? p->of_lock.verdict : PHASE_JUMP;
	}
	if (is_bits(p, difference - by_now, &by) || is_bits(p, difference - p->place_ps, &by)) {
		ret_bits->low += by;
		ret_bits->high += by;
	} else {
		ret_bits->low = MIN(p->bits.low + MIN(nearest, 0), of_all);
		ret_bits->high = MAX(p->bits.high + MAX(nearest, 0), of_all);
		by = 0;
	}
	if (fewest(*ret_bits) == 0 && of_all == 0) {
		*ret_bits = (struct bits){0, 0};
	}
	return by != 0 && fewest(*ret_bits) != 0 ? PHASE_SLIP : PHASE_JUMP;
}

/* The verdict on a step inside the lock. One within the tolerance changes nothing. */
static enum phase_verdict verdict_on_step(const struct phase *p, double difference,
					  struct bits *ret_bits)
{
	enum phase_verdict verdict;
	int by;

	if (is_near(p, difference, p->place_ps)) {
		*ret_bits = p->bits;
		return is_displaced(p) ? p->of_lock.verdict : PHASE_PASS;
	}
	verdict = compare(p, difference, ret_bits);
	if (verdict != PHASE_JUMP) {
		return verdict;
	}
	*ret_bits = p->bits;
	if (!is_bits(p, difference - p->place_ps, &by)) {
		return PHASE_JUMP;
	}
	*ret_bits = (struct bits){p->bits.low + by, p->bits.high + by};
	return fewest(*ret_bits) != 0 ? PHASE_SLIP : PHASE_JUMP;
}

/* Off by more than these bits, as before or whole bits from there: what it was that brought it there still holds. */
static bool has_jumped(const struct phase *p, double difference, int bits)
{
	bool is_home = is_near(p, difference, bits * (double)PHASE_UI_PS);
	int by;

	return !is_home && (p->jumped || !(is_as_before(p, difference) ||
					   is_bits(p, difference - p->place_ps, &by) ||
					   is_bits(p, difference - place_by_now(p), &by)));
}

static void judge_lock(struct phase *p, double mean, double sigma, uint32_t n)
{
	enum phase_verdict verdict = PHASE_FIRST;
	struct bits bits = {0, 0};
	double difference = 0;

	p->judged = true;
	if (!p->view.reference.set) {
		p->view.reference = (struct phase_reference){.set = true};
		split_total(mean, p->view.reading.rtt_bits, &p->view.reference);
	} else {
		difference = mean - TOTAL_PS(&p->view.reference);
		verdict = p->step_ps != 0 ? verdict_on_step(p, difference, &bits)
					  : verdict_on(p, difference, &bits);
	}
	p->jumped = has_jumped(p, difference, fewest(bits));
	p->bits = bits;
	p->place_ps = difference;
	p->place_ns = p->view.last_sample_ns;
	p->view.passes += verdict == PHASE_PASS;
	p->view.slips += verdict == PHASE_SLIP;
	p->view.jumps += verdict == PHASE_JUMP && p->jumped;
	p->view.drifts += verdict == PHASE_JUMP && !p->jumped;
	pass_judgement(p, verdict, verdict == PHASE_SLIP ? fewest(bits) : 0, difference, mean,
		       sigma, n);
}

/*
 * How far it has drifted: from where the lock came back, but no farther than it is from home, which is the reference, or the
 * same whole bits away. So nothing drifts on its way home.
 */
static double excursion(const struct phase *p)
{
	double bits = p->bits.low == p->bits.high ? p->bits.low * (double)PHASE_UI_PS : 0;
	double from_home = p->place_ps - bits;
	double moved = p->place_ps - (is_displaced(p) ? p->of_lock.difference_ps : 0);

	return moved * from_home <= 0 ? 0 : fabs(from_home) < fabs(moved) ? from_home : moved;
}

/* Whether it is out and does not come back, or will soon be out by a slope that is certain. */
static bool is_leaving(const struct phase *p, double moved, double slope, bool certain)
{
	double limit = p->config.drift_ps;
	bool back = certain && moved * slope < 0;

	return !back && (fabs(moved) > limit ||
			 (certain && fabs(slope) > SOON_LEAST && !is_near(p, moved, 0) &&
			  fabs(moved + slope * SOON_S) > limit));
}

/* It is inside the limit and has not been leaving for CALM_S; for OUT_S, when it was out and is half way back. */
static bool has_ended(const struct phase *p, double moved)
{
	double limit = p->config.drift_ps;
	bool back = p->view.farthest_ps > limit && fabs(moved) < limit / 2;

	return fabs(moved) <= limit && p->calm_s >= (back ? OUT_S : CALM_S);
}

/* Once a second. A drift is reported once per excursion: after OUT_S when it is out, so that a step is found first; after
 * LEAVING_S when it is not out yet, because it may turn. */
static void judge_drift(struct phase *p)
{
	struct moments m, now;
	double moved;
	bool certain;

	if (!p->judged || !p->view.reference.set || !p->count ||
	    sample(p, p->count - 1)->s - sample(p, 0)->s < DRIFT_MIN_S) {
		return;
	}
	moments(p, since(p, DRIFT_S), &m);
	moments(p, since(p, RECENT_S), &now);
	certain = fabs(m.slope) > DRIFT_SIGMAS * m.slope_sigma;
	/* A short lock that cannot say keeps what the last one said. */
	if (certain || fabs(m.slope - p->slope_ps_per_s) > DRIFT_SIGMAS * m.slope_sigma) {
		p->slope_ps_per_s = certain ? m.slope : 0;
	}
	p->place_ps = now.mean - TOTAL_PS(&p->view.reference);
	p->place_ns = p->view.last_sample_ns - (uint64_t)(RECENT_S / 2 * 1e9);
	moved = excursion(p);
	p->view.moved_ps = moved;
	p->view.drift_ps_per_s = certain ? m.slope : (double)NAN;
	p->view.farthest_ps = fmax(p->view.farthest_ps, fabs(moved));
	if (is_leaving(p, moved, m.slope, certain)) {
		p->leaving_s++;
		p->calm_s = 0;
	} else {
		p->leaving_s = 0;
		p->calm_s++;
	}
	if (p->view.drifting && has_ended(p, moved)) {
		end_drift(p);
	} else if (!p->view.drifting &&
		   p->leaving_s >= (fabs(moved) > p->config.drift_ps ? OUT_S : LEAVING_S)) {
		p->view.drifting = true;
		p->view.farthest_ps = fabs(moved);
		p->view.drifts++;
		pass_judgement(p, PHASE_DRIFT, 0, p->place_ps, now.mean, now.sigma,
			       p->count - since(p, RECENT_S));
	}
}

/* ------------------------------------------------------------------ samples in */

static void close_second(struct phase *p)
{
	close_row(p);
	stability(p);
	judge_drift(p);
}

static void keep_sample(struct phase *p, const struct phase_reading *reading, uint64_t now_ns)
{
	struct second *s = &p->second;

	if (p->count == PHASE_SAMPLES_MAX) {
		p->first++;
		p->count--;
	}
	if (p->first + p->count == 2 * PHASE_SAMPLES_MAX) {
		memmove(p->samples, sample(p, 0), p->count * sizeof(*p->samples));
		p->first = 0;
	}
	p->samples[p->first + p->count++] =
		(struct phase_sample){.s = (double)now_ns / 1e9, .x = p->x};
	p->histogram[reading->phase_ps / PHASE_BIN_PS]++;
	s->number = s->samples ? s->number : now_ns / 1000000000u;
	s->samples += s->samples < PHASE_SAMPLES_MAX;
	s->reading = p->view.reading;
}

/* The `n` last samples begin a lock of their own, which is judged at once. */
static void split_lock(struct phase *p, uint32_t n, double step_ps)
{
	struct second open = p->second;
	struct moments m;

	p->count -= n;
	p->second.samples = open.samples > n ? open.samples - n : 0;
	close_row(p);
	p->place_ps = mean_over(p, RECENT_S) - TOTAL_PS(&p->view.reference);
	p->slope_ps_per_s = 0; /* the step may have been taken for one */
	memmove(p->samples, sample(p, p->count), n * sizeof(*p->samples));
	begin_lock(p, (uint64_t)(p->samples[0].s * 1e9));
	p->count = n;
	p->second = open;
	p->second.samples = open.samples < n ? open.samples : n;
	for (uint32_t i = 0; i < n; i++) {
		double phase_ps = circle_ps(sample(p, i)->x, open.reading.rtt_bits);

		p->histogram[(unsigned)phase_ps / PHASE_BIN_PS % PHASE_BINS]++;
	}
	p->step_ps = step_ps;
	moments(p, 0, &m);
	judge_lock(p, m.mean, m.sigma, n);
}

static void look_for_step(struct phase *p)
{
	uint32_t n = p->count < PHASE_STEP_SAMPLES ? p->count : PHASE_STEP_SAMPLES;
	struct phase_step step;

	if (++p->unlooked < STEP_EVERY) {
		return;
	}
	p->unlooked = 0;
	if (phase_step(sample(p, p->count - n), n, STEP_LEAST * p->config.tolerance_ps, &step)) {
		split_lock(p, n - step.first, step.ps);
	}
}

/* Follow the total from sample to sample. The board's registers are read one after the other: a total
 * that is whole bytes off for some samples is a reading across a wrap; one that stays off has moved. */
static bool follow(struct phase *p, double total)
{
	p->x += remainder(total - p->x, PHASE_WRAP_PS);
	p->whole_off = fabs(total - p->x) > PHASE_WRAP_PS / 2.0 ? p->whole_off + 1 : 0;
	return p->whole_off < p->config.relock_samples;
}

/* A sample of a lock that is not judged yet. The last one needed brings the verdict, and all of them
 * into the statistics. */
static void collect(struct phase *p, uint64_t now_ns)
{
	double mean, sigma;

	p->relock[p->relock_count++] =
		(struct first_sample){.time_ns = now_ns, .reading = p->view.reading};
	if (p->relock_count < p->config.relock_samples) {
		return;
	}
	relock_mean(p, &mean, &sigma);
	p->x = mean;
	judge_lock(p, mean, sigma, p->relock_count);
	for (uint32_t i = 0; i < p->relock_count; i++) {
		const struct first_sample *f = &p->relock[i];

		p->x += remainder(TOTAL_PS(&f->reading) - p->x, PHASE_WRAP_PS);
		keep_sample(p, &f->reading, f->time_ns);
	}
}

void phase_lose(struct phase *p)
{
	close_row(p);
	p->view.locked = false;
}

void phase_sample(struct phase *p, const struct phase_reading *reading, uint64_t now_ns)
{
	if (reading->phase_ps == UINT32_MAX && reading->aligns == UINT32_MAX) {
		return; /* a board that is gone reads all ones */
	}
	if (reading->phase_ps < PHASE_WRAP_PS) {
		p->view.reading = *reading;
	}
	if (!reading->locked) {
		phase_lose(p);
		return;
	}
	if (!p->view.locked || reading->aligns != p->aligns) {
		p->view.locked = true;
		p->aligns = reading->aligns;
		p->measurements = 0;
		p->view.relocks++;
		begin_lock(p, now_ns);
	}
	/* A register that the board has not written since the lock, or since the last look, is no sample,
	 * nor is one that holds no phase. */
	if (reading->measurements == p->measurements || reading->phase_ps >= PHASE_WRAP_PS) {
		return;
	}
	p->measurements = reading->measurements;
	p->view.last_sample_ns = now_ns;
	if (p->judged && p->second.samples && p->second.number != now_ns / 1000000000u) {
		close_second(p);
	}
	if (p->judged && !follow(p, TOTAL_PS(reading))) {
		double step_ps = TOTAL_PS(reading) - mean_over(p, RECENT_S);

		begin_lock(p, now_ns);
		p->step_ps = step_ps;
	}
	if (p->judged) {
		keep_sample(p, reading, now_ns);
		look_for_step(p);
	} else {
		collect(p, now_ns);
	}
}

/* ------------------------------------------------------------------ the rest */

struct phase *phase_create(const struct phase_config *config)
{
	struct phase *p = calloc(1, sizeof(*p));

	if (!p) {
		return NULL;
	}
	p->config = *config;
	p->config.relock_samples = config->relock_samples < 1		 ? 1
				   : config->relock_samples > RELOCK_MAX ? RELOCK_MAX
									 : config->relock_samples;
	begin_lock(p, 0);
	return p;
}

void phase_destroy(struct phase *p)
{
	free(p);
}

void phase_set_reference(struct phase *p, const struct phase_reference *reference)
{
	double by = p->view.reference.set && reference->set
			    ? TOTAL_PS(&p->view.reference) - TOTAL_PS(reference)
			    : 0;
	struct bits now;
	int bits;

	p->view.reference = *reference;
	end_drift(p);
	if (by == 0) {
		return;
	}
	p->place_ps += by;
	bits = nearest_bits(p->place_ps);
	p->bits = (struct bits){MIN(bits, 0), MAX(bits, 0)};
	if (is_displaced(p)) { /* from another reference */
		p->of_lock.verdict = compare(p, p->place_ps, &now);
		p->of_lock.slip = fewest(now);
		p->jumped &= p->of_lock.verdict == PHASE_JUMP;
		p->of_lock.drifted = p->of_lock.verdict == PHASE_JUMP && !p->jumped;
		p->of_lock.difference_ps = p->place_ps;
		if (p->of_lock.verdict != PHASE_JUMP) {
			p->bits = now;
		}
		if (p->judged) {
			p->view.last = as_seen(&p->of_lock);
		}
	}
}

void phase_resume(struct phase *p, const struct phase_past *past)
{
	const struct phase_judgement *j = &past->of_lock;
	const struct phase_reference *ref = &p->view.reference;
	double moved = past->row.mean_ps - ref->phase_ps - j->difference_ps +
		       (past->row.rtt_bits - ref->rtt_bits) * (double)PHASE_UI_PS;

	if (!past->set || !ref->set || p->judged) {
		return;
	}
	p->of_lock = *j;
	p->place_ps = j->difference_ps;
	if (past->row.samples > 0) {
		p->place_ps += remainder(moved, PHASE_WRAP_PS);
	}
	p->bits = (struct bits){j->slip, j->slip};
	/* What passed was at home, or had drifted to where a small step was. */
	p->jumped = j->verdict != PHASE_PASS &&
		    !is_near(p, j->difference_ps, j->slip * (double)PHASE_UI_PS);
}

int phase_candidate(const struct phase *p, int64_t utc_ns, struct phase_reference *ret_reference)
{
	if (!p->view.locked || !p->judged || p->count < p->config.relock_samples) {
		return -EAGAIN;
	}
	*ret_reference = (struct phase_reference){.set = true, .time_ns = utc_ns};
	split_total(mean_over(p, REFERENCE_S), p->view.reading.rtt_bits, ret_reference);
	return 0;
}

int phase_accept(struct phase *p, int64_t utc_ns, struct phase_reference *ret_reference)
{
	int r = phase_candidate(p, utc_ns, &p->view.reference);

	if (r < 0) {
		return r;
	}
	end_drift(p);
	p->place_ps = 0;
	p->bits = (struct bits){0, 0};
	p->jumped = false;
	/* What the last verdict was about is settled. */
	p->view.last = (struct phase_judgement){.verdict = PHASE_FIRST,
						.mean_ps = p->view.reference.phase_ps,
						.samples = p->count - since(p, REFERENCE_S),
						.time_ns = p->view.last_sample_ns};
	p->of_lock = p->view.last;
	*ret_reference = p->view.reference;
	return 0;
}

bool phase_take_judgement(struct phase *p, struct phase_judgement *ret_judgement)
{
	if (!p->judgement_ready) {
		return false;
	}
	p->judgement_ready = false;
	*ret_judgement = p->judgement;
	return true;
}

bool phase_take_row(struct phase *p, struct phase_row *ret_row)
{
	if (!p->row_ready) {
		return false;
	}
	p->row_ready = false;
	*ret_row = p->row;
	return true;
}

const uint32_t *phase_histogram(const struct phase *p)
{
	return p->histogram;
}

static bool longer_than(uint64_t limit_ns, uint64_t since_ns, uint64_t now_ns)
{
	return now_ns > since_ns && now_ns - since_ns > limit_ns;
}

void phase_get_view(const struct phase *p, uint64_t now_ns, struct phase_view *ret_view)
{
	uint64_t heard_ns =
		p->view.last_sample_ns > p->view.lock_ns ? p->view.last_sample_ns : p->view.lock_ns;
	bool silent = p->view.locked && longer_than(PHASE_SILENT_NS, heard_ns, now_ns);
	struct moments m;

	*ret_view = p->view;
	ret_view->heard_ns = heard_ns;
	ret_view->silent = silent;
	ret_view->valid = p->view.locked && p->count > 0 && !silent;
	ret_view->unjudged = p->view.locked && !p->judged &&
			     longer_than(PHASE_UNJUDGED_NS, p->view.lock_ns, now_ns);
	if (!p->count) {
		return;
	}
	ret_view->samples = p->count - since(p, WINDOW_S);
	moments(p, since(p, WINDOW_S), &m);
	ret_view->mean_ps = circle_ps(m.mean, p->view.reading.rtt_bits);
	ret_view->sigma_ps = m.sigma;
	ret_view->peak_to_peak_ps = m.max - m.min;
	ret_view->second_ps = circle_ps(mean_over(p, SECOND_S), p->view.reading.rtt_bits);
	ret_view->farthest_ps = p->view.drifting ? p->view.farthest_ps : 0;
	ret_view->slope_ps_per_s = slope(p);
	if (p->view.reference.set) {
		ret_view->difference_ps = mean_over(p, RECENT_S) - TOTAL_PS(&p->view.reference);
	}
}
