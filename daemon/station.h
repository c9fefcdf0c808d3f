/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The station: all parts of one daemon, as the main thread sees them. The state machines (clock, phase,
 * engine, ledger) do not know each other; here they meet. One struct, one thread, a file for each
 * kind of event, from where it comes to who cares:
 *
 *   links.c     registers and board events -> phase, link state, resets, soak
 *   reports.c   what capture reports -> store, engine, clock, run
 *   timing.c    gpsd, PPS, system clock -> clock -> labels for capture
 *   life.c      our own start and stop -> events
 *   shore.c     the shore's own parameters
 *   detector.c  engine <-> board words, journal, waiting clients
 *   status.c    everything -> what an operator is shown
 *   reasons.c   everything -> why it is red, and when that began and ended
 *   reasons_loss.c  of it, what was lost; reasons_floor.c what is not well in the floors
 *   records.c   the recorder: orders to it, black boxes for alarms, what it says
 *   ops.c       control messages -> the above
 *   main.c      start, loop, stop
 */
#ifndef DAEMON_STATION_H
#define DAEMON_STATION_H

#include <event2/event.h>
#include <jansson.h>

#include "daemon/boots.h"
#include "daemon/bursts.h"
#include "daemon/capture.h"
#include "daemon/clock.h"
#include "daemon/comings.h"
#include "daemon/config.h"
#include "daemon/control.h"
#include "daemon/gps.h"
#include "daemon/late.h"
#include "daemon/log.h"
#include "daemon/now.h"
#include "daemon/overflow.h"
#include "daemon/phase.h"
#include "daemon/publisher.h"
#include "daemon/rates.h"
#include "daemon/recorder.h"
#include "daemon/standing.h"
#include "daemon/store.h"
#include "daemon/watch.h"
#include "slowctl/engine.h"
#include "slowctl/param.h"
#include "slowctl/query.h"

#define LOSS_WINDOW_S 60u
/* Few beginnings of a link wait to be settled; one so many older than the last has lost its session. */
#define STATION_SESSIONS 32u

/* A request that waits for a re-lock to be judged: link.reset, link.align, a trial of a soak. */
struct relock {
	struct control_request *rq; /* NULL: nobody waits */
	uint64_t began_ns;
	uint32_t command; /* NANET3_LINK_* */
	/* soak: */
	unsigned trials, trial;
	uint64_t interval_ns, next_ns;
	bool waiting; /* for this trial's judgement */
	json_t *results;
	unsigned passes, slips, jumps, failed;
	double sum_ps, sum2_ps;
};

struct station_link {
	bool enabled;
	struct phase *phase;
	uint64_t phase_put_ns; /* heard_ns of what the parameters have */
	struct relock relock;
	struct capture_link_status data; /* capture's last word */
	double frames_per_s, bytes_per_s, hits_per_s;
	struct rates rates;
	uint64_t loss_at[LOSS_WINDOW_S + 1][TDM_LOSSES]; /* cells by verdict, a snapshot a second */
	bool accounted;
	struct bursts bursts; /* of losses, by enum tdm_loss */
	/* Of the store, for ledger rows: of the link's last beginnings, by capture_report.begun. */
	uint32_t session[STATION_SESSIONS];
	struct overflow_floor overflow; /* hits lost in the modules */
	struct tdm_telemetry telemetry;
	uint64_t telemetry_ns; /* 0: none yet */
	uint64_t dark_since_ns, silent_since_ns;
	uint8_t named_tower, named_floor; /* what the floor calls itself; 0xff: nothing yet */
	uint32_t last_status;
};

struct station_run {
	uint32_t number, last; /* 0: outside a run */
	char note[160];
	int64_t begun_ns;
	uint32_t wanted;	    /* what capture has been asked for */
	struct control_request *rq; /* waits for the slice border */
	bool changing;
};

/* The recorder, as the main thread sees it. */
struct records {
	char directory[CONFIG_STRING + 16];
	struct control_request *rq; /* waits for an order to be carried out */
	uint32_t order;		    /* its number; the last one's that was given */
	char who[128];		    /* who gave it, and from where */
	bool failed; /* the disk has stopped a recording, and nobody has said that he knows */
	char failed_text[600];
	struct recorder_event failure;
	uint64_t let_go, let_go_ns; /* cells, at the last look; when there were more */
	uint64_t boxes_unasked;	    /* black boxes for which the recorder took no order */
};

/* Of the main thread's events: the board, the store, gpsd, the ticks and the watchdog come before clients,
 * which have libevent's default, the middle one. */
#define EVENTS_PRIORITIES 3
#define EVENTS_URGENT	  0

/* An event that has begun and not ended. */
#define LIFE_OPEN_MAX 128u
struct life_event {
	char code[32], object[PARAM_NAME_MAX];
};

/* A client that waits for a command's end. */
struct waiter;

struct station {
	struct config config;
	const char *config_path;
	const char *const *overrides; /* --set, ends with NULL */
	struct event_base *base;
	bool stopping;
	uint64_t started_ns;
	int64_t started_utc_ns;
	bool served; /* the main loop has run: the end is an event */

	struct queue blocks, settled, commands, reports;
	struct capture *capture;
	struct capture_status capture_status;
	struct feed *feed; /* NULL: not configured */
	struct tap tap;
	struct recorder *recorder;
	struct records records;
	struct publisher *publisher;
	struct publisher_status publisher_status;
	const char *group_names[GROUPS_MAX];

	struct watch *watch;
	struct event *watch_event;
	unsigned watch_generation;
	bool board_present;
	uint64_t board_gone_ns;
	struct station_link link[NANET3_LINKS];
	struct boots boots;

	struct clock *clock;
	struct gps *gps;
	struct event *gps_event;
	uint64_t gps_tried_ns, leaps_read_ns;
	int leaps_error; /* of the last reading of the leap table; 0: well */
	enum clock_state logged_clock;
	uint32_t logged_epoch;
	/* CLOCK_MONOTONIC of the relabelling that the database has; 0: none */
	uint64_t kept_relabel_ns;
	int32_t kept_tai_utc_s; /* as the database has it */
	uint64_t last_pps_count;
	struct label unsent_label; /* not yet taken by capture's queue */
	bool label_waits;

	struct params *params;
	struct engine *engine;
	struct waiter *waiters;

	struct store *store;
	struct query *query; /* read-only; NULL until first used */
	bool store_failing;
	struct control *control;
	bool control_lost; /* somebody has removed its socket, and it cannot be made anew */
	struct station_run run;
	unsigned loss_second; /* place in loss_at and drop_at */
	uint64_t drop_at[LOSS_WINDOW_S + 1][GROUPS_MAX][OUTCOMES]; /* frames, a snapshot a second */
	struct bursts drops[GROUPS_MAX];			   /* of drops, by enum outcome */
	uint64_t readers_told; /* dropped readers of the feed that an event has told of */
	uint64_t refused_told, refused_told_ns; /* refused ones; when an event last told of them */
	uint64_t disconnected[GROUPS_MAX];	/* members, as far as told */
	struct comings comings;
	struct late_tick tick;
	uint64_t late_ns, late_at_ns; /* the last time the machine did not let us run, how long */
	uint64_t held_at_ns;	      /* the last time the board or other work held this thread */
	uint64_t stalled_at_ns; /* the last time that the board's DMA was seen stalled; 0: never */
	struct standing standing;
	struct {
		unsigned taken, anew; /* links whose ring was taken over, begun anew */
		struct life_event open[LIFE_OPEN_MAX]; /* left so by the daemon before us */
		unsigned opens;
		bool said, crashed; /* crashed: the daemon before us did not end as told */
	} life;
};

/* links.c */
int links_start(struct station *s); /* phases with their references, watch */
void links_stop(struct station *s);
void links_tick(struct station *s);   /* 10 times a second */
void links_second(struct station *s); /* once a second: rates, loss window */
void links_reset(struct station *s, unsigned link, uint32_t command, struct control_request *rq,
		 const char *reason);
#define SOAK_TRIALS_MAX 10000u
void links_soak(struct station *s, unsigned link, uint32_t command, unsigned trials,
		double interval_s, struct control_request *rq);
/* Another floor than configured names itself on the link. */
bool links_other_floor(const struct station *s, unsigned link);
/* Losses of a link by name within the last LOSS_WINDOW_S seconds; their sum. */
uint64_t links_recent_losses(const struct station *s, unsigned link, uint64_t ret[TDM_LOSSES]);

/* life.c */
int life_read(struct station *s);   /* before the store's thread runs */
void life_start(struct station *s); /* when it does */
void life_takeover(struct station *s, unsigned link, bool taken_over);
void life_second(struct station *s);
void life_stop(struct station *s);

/* shore.c */
void shore_second(struct station *s);

/* reports.c */
void reports_drain(struct station *s);
int reports_command(struct station *s, const struct capture_command *command); /* -EAGAIN: full */
/* A closed ledger row lies in the database: its cookie, as given to the store. */
void reports_saved(struct station *s, uint64_t cookie);
void reports_losses_saved(struct station *s,
			  const uint64_t *cookies); /* of each link the newest, 0: none */
/* s->publisher_status anew, with what capture has dropped for the groups: it counts what the ledger does. */
void reports_groups(struct station *s);
/* A run begins: journaled first, then at the next slice border; then `rq` is answered. */
void run_start(struct station *s, const char *note, struct control_request *rq);
void run_journaled(struct station *s, int result); /* ROW_RUN_BEGIN's answer */
/* The run ends at the next slice border; then `rq` is answered. */
void run_stop(struct station *s, struct control_request *rq);

/* records.c */
int records_start(struct station *s);  /* before capture */
void records_finish(void *station);    /* when capture's thread has ended */
void records_stop(struct station *s);  /* when nobody uses the tap any more */
void records_drain(struct station *s); /* what the recorder says */
json_t *records_status(struct station *s);
void records_op_start(struct station *s, struct control_request *rq, json_t *args);
void records_op_stop(struct station *s, struct control_request *rq);
void records_op_list(struct station *s, struct control_request *rq);
/* An alarm has fired: a black box, if its object is a link. */
void records_alarm(struct station *s, const char *object, const char *code, const char *text);

/* timing.c */
int timing_start(struct station *s);
void timing_stop(struct station *s);
void timing_tick(struct station *s); /* 10 times a second */
void timing_second(struct station *s);
void timing_leaps(struct station *s); /* read the table of leap seconds again */
void timing_pps(struct station *s, const struct nanet3_event *event);

/* detector.c */
int detector_load(struct station *s, struct sc_error *error); /* the dictionary */
/* The engine, with what the journal remembers. */
int detector_start(struct station *s, struct sc_error *error);
void detector_stop(struct station *s);
void detector_tick(struct station *s);
/* Carry out all that the engine has put out. After every call of the engine. */
void detector_drain(struct station *s);
/* The client of `rq` waits for the end of command `id` (wait), or for its journal row. */
void detector_wait(struct station *s, uint64_t id, struct control_request *rq, bool to_end);
/* The client repeated a command that has perhaps ended: tell the waiters what is known now. */
void detector_repeat(struct station *s, const struct engine_command_view *view);
void detector_stored(struct station *s); /* done rows of the store */

/* status.c: objects of schemas/control.md; new references */
json_t *status_json(struct station *s);
json_t *status_link(struct station *s, unsigned link);
json_t *status_phase(struct station *s, unsigned link);
json_t *status_clock(struct station *s);
json_t *status_groups(struct station *s);
json_t *status_members(struct station *s);
json_t *status_feed(struct station *s); /* feed_say.c; null: not configured */
json_t *status_param(const struct param *p);
const char *status_link_state(const struct station *s, unsigned link);
/* One line for systemctl status. */
void status_line(struct station *s, char *text, size_t size);

/* reasons.c */
void reasons_tick(struct station *s); /* 10 times a second: notes when reasons begin and end */

/* ops.c */
extern const struct control_op station_ops[];
/* The reader of the database, opened when first asked for. False: `error` (may be NULL) says why. */
bool station_reader(struct station *s, struct sc_error *error);

/* The links that are enabled, one bit each. */
static inline unsigned station_links(const struct station *s)
{
	unsigned links = 0;

	for (unsigned link = 0; link < NANET3_LINKS; link++) {
		links |= (unsigned)s->config.link[link].enabled << link;
	}
	return links;
}

static inline unsigned station_links_count(const struct station *s)
{
	return (unsigned)__builtin_popcount(station_links(s));
}

/* Numbers that do not exist are null. */
static inline json_t *json_number_or_null(double v)
{
	return __builtin_isfinite(v) ? json_real(v) : json_null();
}

/* Seconds since `then_ns` (CLOCK_MONOTONIC); null when it never was. */
static inline json_t *json_age(uint64_t then_ns)
{
	return then_ns ? json_real((double)(int64_t)(now_mono_ns() - then_ns) / 1e9) : json_null();
}

static inline json_t *json_time(int64_t utc_ns)
{
	return utc_ns ? json_real((double)utc_ns / 1e9) : json_null();
}

/* When that was, in UTC. */
static inline json_t *json_time_of(uint64_t then_ns)
{
	return then_ns ? json_time(now_utc_ns() - (int64_t)(now_mono_ns() - then_ns)) : json_null();
}

#endif
