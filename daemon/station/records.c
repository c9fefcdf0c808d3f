// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The main thread's side of the recorder: orders from operators, black boxes for incidents; their results go into the
 * events, the answers and the status.
 */
#include "daemon/station/records.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "daemon/alarms/view.h"
#include "daemon/capture/watch.h"
#include "daemon/control/control.h"
#include "daemon/control/json.h"
#include "daemon/core/log.h"
#include "daemon/core/text.h"
#include "daemon/station/base.h"
#include "daemon/station/station.h"
#include "daemon/store/store.h"
#include "slowctl/query/recordings.h"

#define TAP_SIZE	8192u
#define LET_GO_SHOWN_NS 60000000000ull
#define RECORDER	"recorder" /* object of its reasons and events */

static const char failed_action[] = "free space or repair the disk, then fcmctl record start; when "
				    "you have seen it: fcmctl record stop";

/* ------------------------------------------------------------------------------ start and stop */

/* The files are read by other programs, too, which have other working directories. */
static void make_absolute(char *path, size_t size)
{
	char here[PATH_MAX], whole[PATH_MAX + CONFIG_STRING + 16];

	if (*path != '/' && getcwd(here, sizeof(here)) &&
	    (size_t)snprintf(whole, sizeof(whole), "%s/%s", here, path) < size) {
		memcpy(path, whole, strlen(whole) + 1);
	}
}

int records_start(struct station *s)
{
	struct recorder_config c = {
		.place = {.board = (uint8_t)s->config.instance,
			  .segment_bytes = (uint64_t)s->config.record.segment_mb << 20,
			  .maker = {.block_frames = s->config.data.block_frames,
				    .day_origin = s->config.data.day_origin}},
		.min_free_bytes = (uint64_t)s->config.record.min_free_mb << 20,
		.blackbox_s = s->config.record.blackbox_s,
		.blackbox_keep = s->config.record.blackbox_keep,
	};
	struct records *r = &s->records;
	int e;

	if (*s->config.record.directory) {
		snprintf(r->directory, sizeof(r->directory), "%s", s->config.record.directory);
	} else {
		recordings_beside(s->config.store.database, r->directory, sizeof(r->directory));
	}
	make_absolute(r->directory, sizeof(r->directory));
	c.place.directory = r->directory;
	c.links = station_links(s);
	for (unsigned link = 0; link < NANET3_LINKS; link++) {
		c.place.maker.floors[link] = (struct fcm_segment_floor){
			.cable_delay_ns = s->config.link[link].cable_delay_ns,
			.tower = s->config.link[link].tower,
			.floor = s->config.link[link].floor,
		};
	}
	e = tap_init(&s->tap, TAP_SIZE);
	e = e ? e : recorder_start(&c, &s->tap, &s->recorder);
	if (e < 0) {
		log_error("recorder", "cannot start: %s", strerror(-e));
	}
	return e;
}

void records_finish(void *station)
{
	struct station *s = station;

	recorder_finish(s->recorder, 1000);
}

void records_stop(struct station *s)
{
	recorder_destroy(s->recorder);
	s->recorder = NULL;
	if (s->tap.queue.items) {
		tap_fini(&s->tap);
	}
}

/* ----------------------------------------------------------------------------------- operators */

static json_t *counts_json(const struct station *s, const struct recorder_event *e)
{
	return json_pack("{s:s,s:s,s:o,s:o,s:b,s:I,s:I,s:I,s:I}", "name", e->spec.name, "directory",
			 s->records.directory, "links", record_links_json(e->spec.links), "until",
			 json_time(e->spec.until_ns), "resumed", e->resumed, "bytes",
			 (json_int_t)e->counts.bytes, "frames", (json_int_t)e->counts.frames,
			 "gap_frames", (json_int_t)e->counts.gaps, "let_go_frames",
			 (json_int_t)e->counts.let_go);
}

bool records_busy(struct station *s, struct control_request *rq)
{
	if (s->records.rq) {
		control_fail(rq, "refused", "repeat it in a moment", NULL,
			     "a recording is just beginning or ending");
	}
	return s->records.rq != NULL;
}

static uint32_t next_order(struct station *s)
{
	s->records.order++;
	s->records.order += s->records.order == 0;
	return s->records.order;
}

static void ordered(struct station *s, struct control_request *rq, int e)
{
	if (e < 0) {
		control_fail(rq, "refused", "the disk may be stuck: iostat; repeat it later", NULL,
			     "the recorder does not answer");
		return;
	}
	s->records.rq = rq;
	control_peer_words(control_peer(rq), s->records.who, sizeof(s->records.who));
}

void records_order_start(struct station *s, struct control_request *rq,
			 const struct record_spec *spec)
{
	ordered(s, rq, recorder_order_start(s->recorder, next_order(s), spec));
}

/* The failure, that the disk has stopped a recording, is acknowledged. */
static void acknowledge_failure(struct station *s, const char *who)
{
	char text[128];

	if (s->records.failed) {
		snprintf(text, sizeof(text), "is over: acknowledged by %s", who);
		store_put_event(s->store, "info", "record-stopped", RECORDER, text, "",
				now_utc_ns());
	}
	s->records.failed = false;
}

void records_order_stop(struct station *s, struct control_request *rq)
{
	struct recorder_status v;

	recorder_get_status(s->recorder, &v);
	if (s->records.failed && !v.active) { /* the disk has done it already */
		acknowledge_failure(s, control_peer(rq)->who);
		control_answer(rq, counts_json(s, &s->records.failure));
	} else if (!records_busy(s, rq)) {
		ordered(s, rq,
			recorder_order_stop(s->recorder, next_order(s), control_peer(rq)->who));
	}
}

/* ------------------------------------------------------------------------- events of the recorder */

static void journal(struct station *s, const char *severity, const char *code,
		    const struct recorder_event *e, const char *text, const char *action)
{
	char object[RECORD_NAME + 16];

	snprintf(object, sizeof(object), "recording %s", e->spec.name);
	store_put_event(s->store, severity, code, object, text, action, now_utc_ns());
	log_event(strcmp(severity, "info") == 0 ? LOG_NOTICE : LOG_ERR, "recorder", LOG_NO_LINK,
		  LOG_ID_RECORD, "%s: %s", object, text);
}

static void on_started(struct station *s, const struct recorder_event *e,
		       struct control_request *rq)
{
	char links[32], text[400];

	snprintf(text, sizeof(text), "%s %s, links %s%s%s",
		 e->type == RECORDER_RESUMED ? "resumed, started by" : "started by",
		 rq ? s->records.who : e->spec.who,
		 text_bits(links, sizeof(links), "", e->spec.links), *e->spec.note ? ": " : "",
		 e->spec.note);
	journal(s, "info", "record", e, text, "");
	acknowledge_failure(s, e->spec.who);
	if (rq) {
		control_answer(rq, counts_json(s, e));
	}
}

static void on_refused(struct station *s, const struct recorder_event *e,
		       struct control_request *rq)
{
	if (!rq) {
		return;
	}
	switch (e->error) {
	case -EALREADY:
		control_fail(rq, "refused", "fcmctl record stop", NULL, "recording %s is going on",
			     e->spec.name);
		break;
	case -EBUSY:
		control_fail(rq, "refused", "fcmctl record list", NULL, "no recording is going on");
		break;
	case -EEXIST:
		control_fail(rq, "refused", "give another name", NULL, "there is a recording %s",
			     e->spec.name);
		break;
	default:
		control_fail(rq, e->no_room ? "refused" : "failed",
			     e->no_room ? "remove old recordings, or another [record] directory"
					: "may the daemon's user write there?",
			     NULL, "%s/%s: %s", s->records.directory, e->spec.name, e->trouble);
	}
}

static void on_stopped(struct station *s, const struct recorder_event *e,
		       struct control_request *rq)
{
	char text[400];

	snprintf(text, sizeof(text),
		 "%s%s: %s%llu frames in %llu MB, %llu cells without data, %llu let go",
		 rq ? "stopped by " : "stopped after its set time", rq ? s->records.who : "",
		 e->resumed ? "since the daemon's start " : "",
		 (unsigned long long)e->counts.frames,
		 (unsigned long long)(e->counts.bytes / 1000000),
		 (unsigned long long)e->counts.gaps, (unsigned long long)e->counts.let_go);
	journal(s, "info", "record", e, text, "");
	if (rq) {
		control_answer(rq, counts_json(s, e));
	}
}

/* Its event is written here, so that there is one also in the first seconds of a daemon. */
static void on_failed(struct station *s, const struct recorder_event *e, struct control_request *rq)
{
	struct records *r = &s->records;

	snprintf(r->failed_text, sizeof(r->failed_text),
		 "recording %s was stopped by the disk at %s: %s; %llu frames were written, data "
		 "and consumers are not touched",
		 e->spec.name, r->directory, e->trouble, (unsigned long long)e->counts.frames);
	r->failed = true;
	r->failure = *e;
	store_put_event(s->store, "red", "record-stopped", RECORDER, r->failed_text, failed_action,
			now_utc_ns());
	log_event(LOG_ERR, "recorder", LOG_NO_LINK, LOG_ID_RECORD, "%s", r->failed_text);
	if (rq) { /* it was to be stopped */
		control_fail(rq, "failed", "fcmctl record list", NULL, "%s", r->failed_text);
	}
}

static void on_black_box(struct station *s, const struct recorder_event *e,
			 struct control_request *rq)
{
	char object[16], text[400];

	snprintf(object, sizeof(object), "link%u", e->link);
	snprintf(text, sizeof(text),
		 "%s: black box kept as %s: %llu frames, %llu cells without data, registers",
		 e->spec.incident, e->spec.name, (unsigned long long)e->counts.frames,
		 (unsigned long long)e->counts.gaps + (unsigned long long)e->counts.let_go);
	store_put_event(s->store, "info", "black-box", object, text,
			"fcmctl record list shows where it is", now_utc_ns());
	log_event(LOG_NOTICE, "recorder", e->link, LOG_ID_RECORD, "%s", text);
}

void records_drain(struct station *s)
{
	static void (*const on_event[])(struct station *, const struct recorder_event *,
					struct control_request *) = {
		[RECORDER_STARTED] = on_started, [RECORDER_REFUSED] = on_refused,
		[RECORDER_STOPPED] = on_stopped, [RECORDER_FAILED] = on_failed,
		[RECORDER_RESUMED] = on_started, [RECORDER_BLACK_BOX] = on_black_box,
	};
	struct recorder_event e;

	while (recorder_next_event(s->recorder, &e)) {
		bool answers = e.order && e.order == s->records.order;
		struct control_request *rq = answers ? s->records.rq : NULL;

		s->records.rq = answers ? NULL : s->records.rq;
		on_event[e.type](s, &e, rq);
	}
}

/* ------------------------------------------------------------------------------------ black boxes */

static void registers_text(struct station *s, unsigned link, char *text, size_t size)
{
	const struct watch_board *b = watch_board(s->watch);
	const struct watch_link *w = watch_link(s->watch, link);

	snprintf(text, size,
		 "# link %u and its board, as read last: %.0f ms before this was written\n"
		 "board.status = 0x%08x\nboard.boot_count = %u\nboard.count = %llu\n"
		 "board.temperature_mc = %d\nlink.status = 0x%08x\nlink.signal = %d\n"
		 "link.locked = %d\nlink.rx_power_nw = %u\nlink.tx_power_nw = %u\n"
		 "link.code_errors = %u\nlink.lost_locks = %u\nlink.drop_fifo = %u\n"
		 "link.drop_ring = %u\nlink.drop_down = %u\nlink.cells = %u\n"
		 "link.phase_ps = %u\nlink.rtt_frames = %u\nlink.rtt_bytes = %u\n"
		 "link.rtt_bits = %u\nlink.aligns = %u\nlink.phase_measurements = %u\n",
		 link, (double)(now_mono_ns() - b->read_ns) / 1e6, b->status, b->boot_count,
		 (unsigned long long)b->count, b->temperature_mc, w->status,
		 (w->status & NANET3_LSTAT_SIGNAL) != 0, (w->status & NANET3_LSTAT_LOCKED) != 0,
		 w->rx_power_nw, w->tx_power_nw, w->code_errors, w->lost_locks, w->drop_fifo,
		 w->drop_ring, w->drop_down, w->cells, (unsigned)w->phase.phase_ps,
		 w->phase.rtt_frames, w->phase.rtt_bytes, w->phase.rtt_bits,
		 (unsigned)w->phase.aligns, (unsigned)w->phase.measurements);
}

void records_incident(void *station, unsigned link, const char *code, const char *text)
{
	struct station *s = station;
	struct record_spec spec = {.incident_ns = now_utc_ns()};
	char registers[2048];

	snprintf(spec.incident, sizeof(spec.incident), "%s", code);
	snprintf(spec.incident_text, sizeof(spec.incident_text), "%s", text);
	registers_text(s, link, registers, sizeof(registers));
	if (recorder_order_freeze(s->recorder, link, &spec, registers) < 0) {
		s->records.boxes_unasked++;
	}
}

/* --------------------------------------------------------------------------------- the judge's view */

void records_view(struct station *s, struct judge_recorder *ret_view)
{
	struct records *rec = &s->records;
	uint64_t now = now_mono_ns();
	struct recorder_status v;

	recorder_get_status(s->recorder, &v);
	if (v.active && v.counts.let_go > rec->let_go) {
		rec->let_go_ns = now;
	}
	rec->let_go = v.active ? v.counts.let_go : 0;
	*ret_view = (struct judge_recorder){
		.failed = rec->failed ? rec->failed_text : NULL,
		.failed_action = failed_action,
		.let_go = rec->let_go_ns && now - rec->let_go_ns < LET_GO_SHOWN_NS,
		.let_go_cells = v.counts.let_go,
		.several_links = (v.spec.links & (v.spec.links - 1)) != 0,
	};
	snprintf(ret_view->name, sizeof(ret_view->name), "%s", v.spec.name);
}
