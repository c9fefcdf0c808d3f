// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Carries out what the command engine asks for: its rows to the store, its words to the board, its progress to the
 * operations. Nothing is decided here.
 *
 *   client --submit--> engine --row--> store --stored--> engine --word--> board --left--> engine
 *                        ^                                                  floor --reply--'
 */
#include "daemon/station/detector.h"

#include <errno.h>
#include <string.h>

#include "daemon/capture/watch.h"
#include "daemon/core/log.h"
#include "daemon/core/now.h"
#include "daemon/disk/disk.h"
#include "daemon/disk/emergency.h"
#include "daemon/station/base.h"
#include "daemon/station/lifecycle.h"
#include "daemon/station/station.h"
#include "daemon/station/reports.h"
#include "daemon/store/store.h"

int detector_load(struct station *s, struct sc_error *error)
{
	const char *site = s->config.slowctl.site_dictionary;
	struct param_floor floors[NANET3_LINKS];
	unsigned n = 0, sections = 0;
	int r;

	for (unsigned link = 0; link < NANET3_LINKS; link++) {
		const struct config_link *c = &s->config.link[link];

		if (c->enabled) {
			floors[n++] = (struct param_floor){(uint8_t)link, c->tower, c->floor};
		}
	}
	r = params_load(s->config.slowctl.dictionary, floors, n, &s->params, error);
	if (r < 0 || !*site) {
		return r;
	}
	r = params_override(s->params, site, &sections, error);
	if (r == 0) { /* logged, so that the origin of a limit can be found */
		log_event(LOG_NOTICE, "parameters", LOG_NO_LINK, LOG_ID_CONFIG,
			  "%s: %u sections go before the dictionary", site, sections);
	}
	return r;
}

/* The database is of one instance only; its directory need not be. */
static const char *copy_path(const struct station *s, char *path, size_t size)
{
	snprintf(path, size, "%s.emergency", s->config.store.database);
	return path;
}

int detector_disk(struct station *s)
{
	char copy[CONFIG_STRING + 32];
	int r = disk_start(s->config.store.database, copy_path(s, copy, sizeof(copy)), &s->disk);

	if (r < 0) {
		log_error("disk", "cannot start: %s", strerror(-r));
	}
	return r;
}

/* Read first: what a previous daemon has sent without the database, and the numbers it has used. */
static int emergency_start(struct station *s)
{
	char copy[CONFIG_STRING + 32];
	struct sc_error error = {0};
	int r = emergency_open(s->config.store.emergency,
			       disk_has_answered(s->disk, 0) ? copy_path(s, copy, sizeof(copy))
							     : NULL,
			       &s->emergency, &error);

	if (r < 0) {
		return r;
	}
	if (r > 0) {
		log_event(LOG_WARNING, "store", LOG_NO_LINK, LOG_ID_STORE, "%s. %s", error.message,
			  error.hint);
	}
	s->emergency_copied = UINT64_MAX; /* the disk is asked by reading the copy: there is one */
	engine_marks(s->engine, emergency_marks(s->emergency));
	return emergency_recover(s->emergency, s->engine, station_now());
}

int detector_start(struct station *s)
{
	struct engine_config config;
	int r;

	engine_config_default(&config);
	config.poll = s->config.slowctl.poll;
	config.timeout_ms = s->config.slowctl.reply_timeout_ms;
	config.journal = s->config.store.database;
	s->engine = engine_create(s->params, &config);
	r = s->engine ? emergency_start(s) : -ENOMEM;
	if (r < 0) {
		log_error("slowctl", "cannot start: %s", strerror(-r));
	}
	return r;
}

void detector_stop(struct station *s)
{
	if (s->ops) {
		s->ops->stop(s->ops_context); /* while clients can still be answered */
	}
	engine_destroy(s->engine);
	s->engine = NULL;
	if (disk_stop(s->disk)) { /* else it ends with the process */
		emergency_close(s->emergency);
	}
	params_destroy(s->params);
	s->params = NULL;
}

static void on_progress(struct station *s, const struct engine_out *o)
{
	if (o->progress.alarm || o->progress.state == COMMAND_FAILED) {
		log_event(LOG_WARNING, "command", LOG_NO_LINK, LOG_ID_COMMAND,
			  "command %llu: %s: %s", (unsigned long long)o->progress.id,
			  command_state_name(o->progress.state), o->progress.text);
	}
	if (s->ops) {
		s->ops->progress(s->ops_context, o);
	}
}

static void on_store(struct station *s, const struct engine_out *o)
{
	unsigned asked = o->store.flags;
	unsigned flags = (asked & ENGINE_STORE_URGENT ? STORE_URGENT : 0) |
			 (asked & ENGINE_STORE_ANSWER ? STORE_ANSWER : 0) |
			 (asked & ENGINE_STORE_NOW_OR_NEVER ? STORE_NOW_OR_NEVER : 0);
	int r = store_submit(s->store, &o->store.row, o->cookie, flags);

	if (r < 0 && flags & STORE_ANSWER) {
		engine_stored(s->engine, o->cookie, r, station_now());
	}
}

/* A command that makes safer is sent even when there is no room for its row. */
static void on_emergency(struct station *s, const struct engine_out *o)
{
	const struct row *row = &o->store.row;

	if (row->id == ROW_COMMAND) {
		log_event(LOG_WARNING, "command", LOG_NO_LINK, LOG_ID_COMMAND,
			  "command %lld is sent without the database; its row goes into the "
			  "emergency journal",
			  (long long)row->values[0].i);
	}
	if (emergency_put(s->emergency, row) < 0) {
		log_event(LOG_ERR, "command", LOG_NO_LINK, LOG_ID_COMMAND,
			  "the emergency journal is full: the outcome of command %lld is not "
			  "recorded",
			  (long long)row->values[0].i);
	}
}

static void on_send(struct station *s, const struct engine_out *o)
{
	struct nanet3_tx tx = {
		.link = (uint8_t)o->send.link,
		.kind = NANET3_TX_REQUEST,
		.flags = o->send.more ? NANET3_TX_MORE : 0,
		.cookie = o->cookie,
	};
	int r;

	memcpy(tx.bytes, o->send.bytes, TDM_WORD_BYTES);
	r = watch_send(s->watch, &tx);
	if (r < 0) {
		engine_send_failed(s->engine, tx.cookie, r, station_now());
	} else if (o->send.awaited) {
		capture_attend(s->capture);
	}
}

void detector_drain(struct station *s)
{
	static void (*const carry_out[])(struct station *, const struct engine_out *) = {
		[ENGINE_STORE] = on_store,
		[ENGINE_EMERGENCY] = on_emergency,
		[ENGINE_SEND] = on_send,
		[ENGINE_PROGRESS] = on_progress,
	};
	const struct engine_out *o;

	while (engine_next(s->engine, &o)) {
		/* What we do with it may call the engine, which may then move its outputs. */
		struct engine_out out = *o;

		carry_out[out.type](s, &out);
	}
}

static void ledger_stored(struct station *s, const struct store_done *done)
{
	if (done->result == 0) {
		reports_saved(s, done->cookie);
	}
}

static void loss_stored(struct station *s, const struct store_done *done)
{
	if (done->result == 0) { /* the newest of each link */
		s->losses_saved[done->cookie >> 60 & (NANET3_LINKS - 1)] = done->cookie;
	}
}

static void run_begin_stored(struct station *s, const struct store_done *done)
{
	run_state_journaled(&s->run.state, done->result);
}

static void run_stored(struct station *s, const struct store_done *done)
{
	run_state_written(&s->run.state, done->cookie, done->result);
}

static void brought(struct station *s, const struct store_done *done)
{
	emergency_brought(s->emergency, done->cookie, done->result, station_now());
}

static void snapshot_stored(struct station *s, const struct store_done *done)
{
	if (s->ops) {
		s->ops->stored(s->ops_context, done);
	}
}

/* The store's answers, by the row that they are for; what is not here is the engine's. */
static void (*const stored_fns[ROW_IDS])(struct station *, const struct store_done *) = {
	[ROW_LEDGER_LINK] = ledger_stored,
	[ROW_LOSS] = loss_stored,
	[ROW_RUN_BEGIN] = run_begin_stored,
	[ROW_RUN_SLICE] = run_stored,
	[ROW_RUN_END] = run_stored,
	[ROW_COMMAND_BROUGHT] = brought,
	[ROW_TRANSITION_BROUGHT] = brought,
	[ROW_SNAPSHOT] = snapshot_stored,
	[ROW_SNAPSHOT_REMOVE] = snapshot_stored,
};

void detector_stored(struct station *s)
{
	struct store_done done;

	station_restore(s);
	while (store_take_done(s->store, &done)) {
		if (done.row < ROW_IDS && stored_fns[done.row]) {
			stored_fns[done.row](s, &done);
		} else {
			engine_stored(s->engine, done.cookie, done.result, station_now());
		}
	}
	reports_losses_saved(s);
}

void detector_tick(struct station *s)
{
	uint64_t now = now_mono_ns();

	if (engine_next_due(s->engine) <= now) {
		engine_tick(s->engine, station_now());
	}
	if (s->restored) { /* the rows of the file come first */
		emergency_bring(s->emergency, s->store, station_now());
	}
}

void detector_second(struct station *s)
{
	uint64_t generation = s->emergency_copied;
	struct disk_status disk;

	disk_get_status(s->disk, &disk);
	if ((emergency_changed(s->emergency, &generation) || disk.copy_error < 0) &&
	    disk_offer(s->disk, emergency_image(s->emergency), emergency_bytes())) {
		s->emergency_copied = generation;
	}
}
