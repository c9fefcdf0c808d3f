// SPDX-License-Identifier: GPL-2.0-or-later
/* The recorder's thread: see recorder.h. */
#include "daemon/record/recorder.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/core/now.h"
#include "daemon/record/private.h"
#include "daemon/core/thread.h"

#define LOOK_MS	    5	/* between two looks while something is recorded */
#define IDLE_MS	    500 /* else */
#define SECOND_NS   1000000000ull
#define BATCH	    256u	  /* entries between two looks at the orders */
#define SETTLE_NS   250000000ull  /* at its end a recording waits for links that show nothing */
#define HURRY_NS    4000000000ull /* and for the disk: what is left then is let go */
#define CLAIM_NS    2000000000ull /* capture shows after a start what the rings have kept */
#define ORDERS_SIZE 32u
#define EVENTS_SIZE 64u

/* ----------------------------------------------------------------------------------- the recording */

static void want_links(struct recorder *r)
{
	unsigned links = r->recording ? record_dir_spec(r->recording)->links : 0;

	for (unsigned link = 0; link < NANET3_LINKS; link++) {
		atomic_store_explicit(&r->tap->link[link].wanted,
				      links >> link & 1 || box_wants(r, link),
				      memory_order_relaxed);
	}
}

static void trouble_text(const struct recorder *r, struct recorder_trouble t,
			 char text[RECORD_TROUBLE])
{
	if (t.no_room) {
		snprintf(text, RECORD_TROUBLE, "less than [record] min_free_mb = %llu MiB are free",
			 (unsigned long long)(r->config.min_free_bytes >> 20));
	} else {
		snprintf(text, RECORD_TROUBLE, "%s", t.error ? strerror(-t.error) : "");
	}
}

static void publish(struct recorder *r)
{
	struct recorder_status *s = &r->status;

	s->active = r->recording != NULL;
	if (r->recording) {
		s->spec = *record_dir_spec(r->recording);
		record_dir_counts(r->recording, &s->counts);
	}
	pthread_mutex_lock(&r->lock);
	r->published = *s;
	pthread_mutex_unlock(&r->lock);
}

/* From here on its time is measured by the monotonic clock. */
static uint64_t until(const struct record_spec *spec)
{
	int64_t at_ns = (int64_t)now_mono_ns() + (spec->until_ns - now_utc_ns());

	return spec->until_ns == 0 ? 0 : at_ns > 1 ? (uint64_t)at_ns : 1;
}

/* `order`: its number; 0: none, the recording is continued. */
static void begin(struct recorder *r, struct record_dir *recording, uint32_t order)
{
	r->recording = recording;
	r->resumed = order == 0;
	r->bytes_before = 0;
	r->status.bytes_per_s = 0;
	memset(&r->ending, 0, sizeof(r->ending));
	r->ending.at_ns = until(record_dir_spec(recording));
	r->ending.asked_ns = now_mono_ns() + (order ? 0 : CLAIM_NS);
	snprintf(r->ending.why, sizeof(r->ending.why), "its time was over");
	/* The state of links whose cells come already. */
	for (unsigned link = 0; link < NANET3_LINKS; link++) {
		if (r->state[link].kind) {
			record_dir_take(recording, r->tap, &r->state[link]);
		}
	}
	publish(r); /* before the event */
	recorder_tell(r,
		      &(struct recorder_event){.type = order ? RECORDER_STARTED : RECORDER_RESUMED,
					       .order = order,
					       .spec = *record_dir_spec(recording)});
}

/* Write the end of the recording that has ended, or the next daemon would continue it. 0 or the disk's error. */
static int seal(struct recorder *r)
{
	int e = r->unsealed ? record_dir_seal(r->unsealed) : 0;

	if (e == 0) {
		record_dir_destroy(r->unsealed);
		r->unsealed = NULL;
	}
	return e;
}

static void refuse(struct recorder *r, const struct recorder_order *order,
		   struct recorder_trouble t, const struct record_spec *spec)
{
	struct recorder_event e = {.type = RECORDER_REFUSED,
				   .order = order->number,
				   .error = t.error,
				   .no_room = t.no_room,
				   .spec = *spec};

	trouble_text(r, t, e.trouble);
	recorder_tell(r, &e);
}

static void order_start(struct recorder *r, struct recorder_order *order)
{
	const struct record_spec *about = &order->spec; /* whose trouble it is */
	struct record_dir *recording = NULL;
	struct recorder_trouble t;

	if (r->recording) {
		refuse(r, order, (struct recorder_trouble){.error = -EALREADY},
		       record_dir_spec(r->recording));
		return;
	}
	t = recorder_look_for_room(r);
	if (t.error == 0) {
		t.error = seal(r);
		about = t.error < 0 ? record_dir_spec(r->unsealed) : about;
	}
	if (t.error == 0) {
		t.error = record_dir_create(&r->config.place, &order->spec, &recording);
	}
	if (t.error < 0) {
		refuse(r, order, t, about);
		return;
	}
	begin(r, recording, order->number);
}

/* `t` none: by an order, or because its time is over. */
static void end(struct recorder *r, const char *why, struct recorder_trouble t)
{
	struct record_dir *recording = r->recording;
	struct recorder_event event = {.order = r->ending.order,
				       .resumed = r->resumed,
				       .spec = *record_dir_spec(recording)};
	int e = record_dir_pause(recording);

	t.error = t.error ? t.error : e;
	trouble_text(r, t, event.trouble);
	record_dir_counts(recording, &event.counts);
	e = record_dir_end(recording, why, event.trouble);
	if (e < 0) {
		r->unsealed = recording; /* there is only one: none begins before it is sealed */
		t.error = t.error ? t.error : e;
		trouble_text(r, t, event.trouble);
	}
	publish(r);
	r->recording = NULL;
	publish(r); /* before the event */
	event.type = t.error ? RECORDER_FAILED : RECORDER_STOPPED;
	event.error = t.error;
	event.no_room = t.no_room;
	recorder_tell(r, &event);
	if (recording != r->unsealed) {
		record_dir_destroy(recording);
	}
}

/* The recording ends when the cells that came before the order are written. */
static void order_stop(struct recorder *r, const struct recorder_order *order)
{
	if (!r->recording || r->ending.order) {
		refuse(r, order, (struct recorder_trouble){.error = -EBUSY}, &order->spec);
		return;
	}
	if (!r->ending.at_ns || order->given_ns < r->ending.at_ns) {
		r->ending.at_ns = r->ending.asked_ns = order->given_ns;
		snprintf(r->ending.why, sizeof(r->ending.why), "stopped by %s", order->spec.who);
	}
	r->ending.order = order->number;
}

static void take_orders(struct recorder *r)
{
	struct recorder_order *order;

	queue_hush(&r->orders);
	while ((order = queue_peek(&r->orders))) {
		switch (order->type) {
		case ORDER_START:
			order_start(r, order);
			break;
		case ORDER_STOP:
			order_stop(r, order);
			break;
		case ORDER_FREEZE:
			box_freeze(r, order, now_mono_ns());
			break;
		default:
			break;
		}
		queue_release(&r->orders);
	}
}

/* ------------------------------------------------------------------------------------ the thread */

static uint64_t ends_since_ns(const struct recorder *r)
{
	return r->ending.at_ns > r->ending.asked_ns ? r->ending.at_ns : r->ending.asked_ns;
}

/* Its time is over, or an order has stopped it: its last cells are being written. */
static bool is_ending(const struct recorder *r, uint64_t now_ns)
{
	return r->recording && r->ending.at_ns && now_ns >= r->ending.at_ns;
}

/* All that came before its end has been taken. */
static bool is_over(struct recorder *r, uint64_t now_ns)
{
	return is_ending(r, now_ns) &&
	       ((record_dir_spec(r->recording)->links & ~r->ending.over) == 0 ||
		(!queue_peek(&r->tap->queue) && now_ns >= ends_since_ns(r) + SETTLE_NS));
}

/* An entry of the tap. `let_go`: without its data. 0 or the disk's error. */
static int take(struct recorder *r, const struct tap_entry *e, bool let_go)
{
	if (!r->recording) {
		return 0;
	}
	if (e->kind == TAP_CELLS && r->ending.at_ns && e->cells.time_ns >= r->ending.at_ns) {
		r->ending.over |= 1u << e->link;
	}
	return r->ending.over >> e->link & 1
		       ? 0
		       : record_dir_take(r->recording, let_go ? NULL : r->tap, e);
}

/* `let_go`: there is no time to write data. True: there may be more entries. */
static bool take_entries(struct recorder *r, bool let_go)
{
	const struct tap_entry *e;
	unsigned n = 0;
	int error;

	queue_hush(&r->tap->queue);
	while (n++ < BATCH && (e = queue_peek(&r->tap->queue))) {
		if (e->kind == TAP_STATE) {
			r->state[e->link] = *e;
		}
		error = take(r, e, let_go);
		box_take(r, e, now_mono_ns());
		tap_done(r->tap, e);
		queue_release(&r->tap->queue);
		if (error < 0) {
			end(r, "the disk", (struct recorder_trouble){.error = error});
		}
	}
	return n > BATCH;
}

/* Smoothed over some seconds, for the estimate of how long the disk will last. */
static void measure(struct recorder *r, double seconds)
{
	struct segment_counts c;
	double rate;

	record_dir_counts(r->recording, &c);
	rate = (double)(c.bytes - r->bytes_before) / seconds;
	r->status.bytes_per_s += (rate - r->status.bytes_per_s) * (r->bytes_before ? 0.2 : 1);
	r->bytes_before = c.bytes;
}

static void each_second(struct recorder *r, uint64_t now_ns)
{
	double seconds = (double)(now_ns - r->second_ns) / 1e9;
	struct recorder_trouble t;
	int e;

	if (now_ns - r->second_ns < SECOND_NS) {
		return;
	}
	r->second_ns = now_ns;
	seal(r);
	t = recorder_look_for_room(r);
	if (!r->recording) {
		return;
	}
	measure(r, seconds);
	e = record_dir_tick(r->recording);
	if (e < 0) {
		t = (struct recorder_trouble){.error = e};
	}
	if (t.error < 0) {
		end(r, "the disk", t);
	}
}

static bool must_hurry(const struct recorder *r, uint64_t now_ns)
{
	return is_ending(r, now_ns) && now_ns >= ends_since_ns(r) + HURRY_NS;
}

static void wait_for_work(struct recorder *r, bool busy)
{
	struct pollfd fds[2] = {{.fd = r->orders.fd, .events = POLLIN},
				{.fd = r->tap->queue.fd, .events = POLLIN}};

	poll(fds, 2, busy ? LOOK_MS : IDLE_MS);
}

static bool anything_wanted(const struct recorder *r)
{
	bool any = r->recording != NULL;

	for (unsigned link = 0; link < NANET3_LINKS; link++) {
		any |= r->box[link].state != BOX_NONE;
	}
	return any;
}

static void turn(struct recorder *r)
{
	uint64_t now_ns;

	take_orders(r);
	now_ns = now_mono_ns(); /* after the orders, which take the time themselves */
	box_tick(r, now_ns);
	each_second(r, now_ns);
	if (is_over(r, now_ns)) {
		end(r, r->ending.why, (struct recorder_trouble){0});
	}
	want_links(r);
	publish(r);
}

static void resume(struct recorder *r)
{
	struct record_dir *recording;
	int e = record_dir_resume(&r->config.place, &recording);

	if (e == 0) {
		begin(r, recording, 0);
	} else if (e != -ENOENT) {
		struct recorder_event event = {.type = RECORDER_FAILED, .error = e};

		trouble_text(r, (struct recorder_trouble){.error = e}, event.trouble);
		recorder_tell(r, &event);
	}
}

/* The recorder's thread. Owns the recording, the boxes and all files below its directory. */
static void *recorder_main(void *context)
{
	struct recorder *r = context;

	box_begin(r);
	resume(r);
	while (!atomic_load_explicit(&r->stop, memory_order_acquire)) {
		turn(r);
		if (!take_entries(r, must_hurry(r, now_mono_ns()))) {
			wait_for_work(r, anything_wanted(r));
		}
	}
	/* Capture has ended: no more entries will come. */
	take_orders(r);
	while (now_mono_ns() < atomic_load(&r->stop_by_ns) && take_entries(r, false)) {
	}
	if (is_ending(r, now_mono_ns())) { /* the next daemon does not continue it */
		while (take_entries(r, true)) {
		}
	}
	if (is_ending(r, now_mono_ns())) {
		end(r, r->ending.why, (struct recorder_trouble){0});
	}
	box_end(r);
	seal(r);
	if (r->recording) {
		record_dir_leave(r->recording);
	}
	publish(r);
	return NULL;
}

/* ---------------------------------------------------------------------------------- the contract */

int recorder_start(const struct recorder_config *config, struct tap *tap,
		   struct recorder **ret_recorder)
{
	struct recorder *r = queue_home_alloc(sizeof(*r));
	int e;

	if (!r) {
		return -ENOMEM;
	}
	r->config = *config;
	snprintf(r->directory, sizeof(r->directory), "%s", config->place.directory);
	r->config.place.directory = r->directory;
	r->tap = tap;
	pthread_mutex_init(&r->lock, NULL);
	r->orders.fd = r->events.fd = -1;
	e = queue_init(&r->orders, sizeof(struct recorder_order), ORDERS_SIZE, 1);
	e = e ? e : queue_init(&r->events, sizeof(struct recorder_event), EVENTS_SIZE, 1);
	for (unsigned link = 0; e == 0 && link < NANET3_LINKS; link++) {
		atomic_store(&tap->link[link].wanted, config->links >> link & 1);
	}
	e = e ? e : thread_start(&r->thread, "recorder", recorder_main, r);
	if (e < 0) {
		recorder_destroy(r);
		return e;
	}
	r->running = true;
	*ret_recorder = r;
	return 0;
}

void recorder_finish(struct recorder *r, unsigned grace_ms)
{
	if (!r || !r->running) {
		return;
	}
	atomic_store(&r->stop_by_ns, now_mono_ns() + (uint64_t)grace_ms * 1000000);
	atomic_store_explicit(&r->stop, 1, memory_order_release);
	queue_wake(&r->orders);
	pthread_join(r->thread, NULL);
	r->running = false;
}

void recorder_destroy(struct recorder *r)
{
	if (!r) {
		return;
	}
	recorder_finish(r, 0);
	record_dir_destroy(r->recording);
	record_dir_destroy(r->unsealed);
	queue_fini(&r->orders);
	queue_fini(&r->events);
	pthread_mutex_destroy(&r->lock);
	free(r);
}

static int order(struct recorder *r, enum recorder_order_type type, uint32_t number, unsigned link,
		 const struct record_spec *spec, const char *registers)
{
	struct recorder_order *o = queue_reserve(&r->orders);

	if (!o) {
		return -EAGAIN;
	}
	o->type = (uint8_t)type;
	o->link = (uint8_t)link;
	o->number = number;
	o->given_ns = now_mono_ns();
	o->spec = *spec;
	snprintf(o->registers, sizeof(o->registers), "%s", registers);
	queue_commit(&r->orders);
	queue_wake(&r->orders);
	return 0;
}

int recorder_order_start(struct recorder *r, uint32_t number, const struct record_spec *spec)
{
	return order(r, ORDER_START, number, 0, spec, "");
}

int recorder_order_stop(struct recorder *r, uint32_t number, const char *who)
{
	struct record_spec spec = {.begun_ns = 0};

	snprintf(spec.who, sizeof(spec.who), "%s", who);
	return order(r, ORDER_STOP, number, 0, &spec, "");
}

int recorder_order_freeze(struct recorder *r, unsigned link, const struct record_spec *spec,
			  const char *registers)
{
	return order(r, ORDER_FREEZE, 0, link, spec, registers);
}

int recorder_fd(const struct recorder *r)
{
	return r->events.fd;
}

int recorder_next_event(struct recorder *r, struct recorder_event *ret_event)
{
	queue_hush(&r->events);
	return queue_take(&r->events, ret_event);
}

void recorder_get_status(struct recorder *r, struct recorder_status *ret_status)
{
	pthread_mutex_lock(&r->lock);
	*ret_status = r->published;
	pthread_mutex_unlock(&r->lock);
}
