/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The station: all parts of one daemon, as the main thread sees them. The state machines (clock, phase,
 * engine, ledger) do not know each other; here they meet. One struct, one thread, a file for each
 * kind of event, from where it comes to who cares:
 *
 *   links.c     registers and board events -> phase, link state, resets, soak
 *   reports.c   what capture reports -> store, engine, clock, run
 *   runs.c      runs: clients, capture, journal
 *   timing.c    gpsd, PPS, system clock -> clock -> labels for capture
 *   lifecycle.c      our own start and stop -> events
 *   restore.c   what the database knows of those before us -> everything that goes on with it
 *   shore.c     the shore's own parameters
 *   detector.c  engine <-> board words, journal, waiting clients
 *   command_json.c  a command, from memory
 *   view.c      everything -> the judge (alarms/) -> events, black boxes
 *   alarm_hands.c  what operators did about alarms -> database, events, those who watch
 *   records.c   the recorder: orders to it, black boxes for alarms, what it says
 *   keys.c         the secret key and the allow list of control and data
 *   network_say.c  the network's control server: its start; who was refused at a door
 *   doors_say.c    listening sockets that could not be opened
 *   ops/        control messages -> the above
 *   main.c      start, loop, stop
 */
#ifndef DAEMON_STATION_STATION_H
#define DAEMON_STATION_STATION_H

#include <event2/event.h>
#include <jansson.h>

#include "daemon/data/boots.h"
#include "daemon/core/bucket.h"
#include "daemon/capture/capture.h"
#include "daemon/time/clock.h"
#include "daemon/config/config.h"
#include "daemon/control/control.h"
#include "daemon/disk/disk.h"
#include "daemon/disk/emergency.h"
#include "daemon/time/gps.h"
#include "daemon/alarms/late.h"
#include "daemon/core/log.h"
#include "daemon/control/network.h"
#include "daemon/core/now.h"
#include "daemon/phase/phase.h"
#include "daemon/publish/publisher.h"
#include "daemon/station/questions.h"
#include "daemon/alarms/rates.h"
#include "daemon/record/recorder.h"
#include "daemon/station/run_state.h"
#include "daemon/alarms/judge.h"
#include "daemon/store/store.h"
#include "daemon/core/told.h"
#include "daemon/station/watch.h"
#include "slowctl/alarm/alarm.h"
#include "slowctl/engine/engine.h"
#include "slowctl/param/param.h"

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
	char own[80]; /* the last command of ours that cut it: "reset by ann", and when */
	uint64_t own_ns;
	struct capture_link_status data; /* capture's last word */
	double frames_per_s, bytes_per_s, hits_per_s;
	struct rates rates;
	uint64_t loss_at[LOSS_WINDOW_S + 1][TDM_LOSSES]; /* cells by verdict, a snapshot a second */
	uint64_t downlink_at[LOSS_WINDOW_S + 1];
	uint64_t anew_ns; /* the ring was begun anew, later than at our start; 0: not so */
	bool accounted;
	/* Of the store, for ledger rows: of the link's last beginnings, by capture_report.begun. */
	uint32_t session[STATION_SESSIONS];
	struct tdm_telemetry telemetry;
	uint64_t telemetry_ns; /* 0: none yet */
	uint64_t dark_since_ns, silent_since_ns;
	uint8_t named_tower, named_floor; /* what the floor calls itself; 0xff: nothing yet */
	unsigned slips; /* frames were found off the board's grid, since the start */
	uint32_t last_status;
};

struct station_run {
	struct run_state state;
	char note[160];
	int64_t begun_ns;
	struct control_request *rq; /* waits for run_state's answer ... */
	bool begins;		    /* ... to run.start; else to run.stop */
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

/* The snapshot that is being saved or removed, or was last. */
struct snapshots {
	struct control_request *rq; /* waits for it; NULL: none is */
	int64_t id;		    /* UTC ns */
	char name[64], who[64], note[200], pattern[64];
	unsigned parameters, unknown;
	json_t *missing; /* the names of the unknown */
};

/* The reading of the table of leap seconds, on the thread of questions.h. */
struct station_leaps {
	struct work work;
	struct station *station;
	const char *path;
	bool asked; /* the rest is the thread's */
	int result;
	int32_t tai_utc_s;
	int64_t leap_tai_ns, expires_utc_s;
};

/* Of the main thread's events: the board, the store, gpsd, the ticks and the watchdog come before clients,
 * which have libevent's default, the middle one. */
#define EVENTS_PRIORITIES 3
#define EVENTS_URGENT	  0

/* Who may not, and tried. */
struct access_news {
	struct told_count control, reserved, monitors; /* connections */
	struct told_count requests, strangers;
	struct bucket rows;	    /* of refused commands in the journal */
	char origin[80], text[320]; /* of the last request that its peer's role did not allow */
};

/* A client that waits for a command's end. */
struct waiter;

/* Modules that are being made safe. */
struct safing;

/* What the operations (ops/) want to hear; set by ops_start(). */
struct station_ops {
	void (*progress)(struct station *s, const struct engine_out *out);
	void (*stored)(struct station *s, const struct store_done *done); /* rows of snapshots */
	void (*stop)(struct station *s); /* while clients can still be answered */
};

struct station {
	struct config config;
	const char *config_path;
	const char *const *overrides; /* --set, ends with NULL */
	struct event_base *base;
	bool stopping;
	uint64_t started_ns;
	int64_t started_utc_ns;
	bool served;	    /* the main loop has run: the end is an event */
	bool misconfigured; /* why the start has failed */

	struct queue blocks, settled, commands, reports;
	struct capture *capture;
	struct capture_status capture_status;
	struct feed *feed; /* NULL: not configured */
	struct tap tap;
	struct recorder *recorder;
	struct records records;
	struct snapshots snapshots;
	struct publisher *publisher;
	struct publisher_status publisher_status;
	const char *group_names[GROUPS_MAX];

	struct watch *watch;
	struct event *watch_event;
	unsigned watch_generation;
	bool board_present;
	uint64_t board_gone_ns, board_back_ns; /* when it was seen to go, to come back; 0: never */
	uint64_t counts_restarted_ns; /* when a ring was begun anew, later than at our start */
	struct station_link link[NANET3_LINKS];
	struct boots boots;

	struct clock *clock;
	struct gps *gps;
	struct event *gps_event;
	uint64_t gps_tried_ns, leaps_read_ns;
	struct station_leaps leaps;
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
	uint64_t losses_saved
		[NANET3_LINKS]; /* cookies of the newest losses in the database; 0: told */
	struct station_ops ops;
	struct waiter *waiters;
	struct safing *safings; /* under way */
	struct serial_session *serials;

	struct emergency *emergency;
	uint64_t emergency_copied; /* its generation that was last offered to the disk */
	struct disk *disk;
	struct store *store;
	struct questions *questions; /* to the database */
	struct dispatch *desk;
	bool restored;	   /* what the database knows is known here */
	bool journal_away; /* told: it cannot be opened */
	struct control *control;
	struct network *network;	  /* NULL: not configured */
	struct access_list access_list;	  /* empty where no door asks for keys */
	char public_key[ACCESS_KEY_TEXT]; /* ours, where data ask for keys */
	struct access_news access;
	bool has_roles;	      /* of users of the control socket; else all are experts */
	bool control_lost;    /* somebody has removed its socket, and it cannot be made anew */
	char doors_told[400]; /* what cannot listen, as the log has it */
	struct station_run run;
	unsigned loss_second; /* place in loss_at and drop_at */
	uint64_t drop_at[LOSS_WINDOW_S + 1][GROUPS_MAX][OUTCOMES]; /* frames, a snapshot a second */
	struct late_tick tick;
	uint64_t late_ns, late_at_ns; /* the last time the machine did not let us run, how long */
	uint64_t held_at_ns;	      /* the last time the board or other work held this thread */
	struct judge *judge;
	struct alarm_watcher *alarm_watchers;
	uint64_t alarms_alive_ns; /* when those who watch were last told that we live */
	struct {
		unsigned taken, anew; /* links whose ring was taken over, begun anew */
		bool said, crashed;   /* crashed: the daemon before us did not end as told */
	} life;
};

/* base.c */
/* Call `on_readable` with the station, before clients have their turn. NULL: no memory. */
struct event *station_follow(struct station *s, int fd,
			     void (*on_readable)(int fd, short what, void *station));
/* To capture. -EAGAIN: its queue is full. */
int station_order(struct station *s, const struct capture_command *command);
/* The answer to a question: `result` (taken over), or in words what the query returned. */
void station_tell(struct control_request *rq, int r, json_t *result, const char *what);

/* restore.c */
/* Go on with what the database knows, when it has been opened; where it is away, say so. */
void station_restore(struct station *s);
/* Whether an order that the journal must know of can be taken; else it is refused, answered. */
bool restore_done(struct station *s, struct control_request *rq, const char *what);

/* links.c */
int links_start(struct station *s); /* phases, watch */
/* The references of the phase: the database's; where it has none, ours go there. */
void links_restore(struct station *s, const struct store_past *past);
void links_stop(struct station *s);
void links_tick(struct station *s);   /* 10 times a second */
void links_second(struct station *s); /* once a second: rates, loss window */
void links_reset(struct station *s, unsigned link, uint32_t command, struct control_request *rq,
		 json_t *args);
#define SOAK_TRIALS_MAX 10000u
void links_soak(struct station *s, unsigned link, uint32_t command, unsigned trials,
		double interval_s, struct control_request *rq, json_t *args);
enum link_state links_state(const struct station *s, unsigned link);
const char *link_state_name(enum link_state state); /* "off", "dark", ... */
/* Another floor than configured names itself on the link. */
bool links_other_floor(const struct station *s, unsigned link);
/* The link's ring was begun anew, as the board counts anew: what is lost until its first good frame is its
 * beginning, as at our start. */
void links_ring_restarted(struct station *s, unsigned link);
/* Losses of a link by name within the last LOSS_WINDOW_S seconds; their sum. */
uint64_t links_recent_losses(const struct station *s, unsigned link, uint64_t ret[TDM_LOSSES]);
/* Where frames begin in the board's cells, bytes: 0, unless bytes slipped in while it held its lock. */
uint32_t links_offset(const struct station *s, unsigned link);
/* Frames to its floor that arrived damaged there, of the last minute. */
uint64_t links_recent_downlink(const struct station *s, unsigned link);

/* lifecycle.c */
/* What a predecessor left open ended with it; what stands now is ours. */
void lifecycle_restore(struct station *s, const struct store_past *past);
void lifecycle_takeover(struct station *s, unsigned link, bool taken_over);
void lifecycle_second(struct station *s);
void lifecycle_stop(struct station *s);

/* shore.c */
void shore_second(struct station *s);

/* reports.c */
void reports_drain(struct station *s);
/* A closed ledger row lies in the database: its cookie, as given to the store. */
void reports_saved(struct station *s, uint64_t cookie);
void reports_losses_saved(struct station *s); /* s->losses_saved, which it clears */
/* s->publisher_status anew, with what capture has dropped for the groups: it counts what the ledger does. */
void reports_groups(struct station *s);
/* runs.c */
void runs_begin(struct station *s);
void runs_end(struct station *s); /* answers the client that waits */
/* A run begins: journaled first, then at the next slice border; then `rq` is answered. */
void runs_start(struct station *s, const char *note, struct control_request *rq);
/* The run ends at the next slice border; `rq` is answered when it is journaled. */
void runs_stop(struct station *s, struct control_request *rq);
/* Whether a run may begin, or end, now. False: refused, answered. */
bool runs_may_start(struct station *s, struct control_request *rq);
bool runs_may_stop(struct station *s, struct control_request *rq);
/* CAPTURE_RUN_BEGUN, CAPTURE_RUN_TIMED. */
void runs_effect(struct station *s, const struct capture_report *r);
void runs_timed(struct station *s, const struct capture_report *r);
/* The run of the journal goes on. */
void runs_restore(struct station *s, const struct store_past *past);
void runs_tick(struct station *s); /* every 100 ms */

/* records.c */
int records_start(struct station *s);  /* before capture */
void records_finish(void *station);    /* when capture's thread has ended */
void records_stop(struct station *s);  /* when nobody uses the tap any more */
void records_drain(struct station *s); /* what the recorder says */
json_t *records_status(struct station *s);
/* The operations record.start, record.stop, record.list; `context` is the station. */
void records_op_start(struct control_request *rq, json_t *args, void *context);
void records_op_stop(struct control_request *rq, json_t *args, void *context);
void records_op_list(struct control_request *rq, json_t *args, void *context);
/* An alarm of a link has begun: a black box. */
void records_alarm(struct station *s, unsigned link, const char *code, const char *text);
/* What of it is a reason. */
void records_view(struct station *s, struct judge_recorder *ret_view);

/* timing.c */
int timing_start(struct station *s);
void timing_stop(struct station *s);
void timing_tick(struct station *s); /* 10 times a second */
void timing_second(struct station *s);
void timing_restore(struct station *s, const struct store_past *past);
void timing_leaps(struct station *s); /* read the table of leap seconds again */
void timing_pps(struct station *s, const struct nanet3_event *event);

/* detector.c */
int detector_load(struct station *s, struct sc_error *error); /* the dictionary */
int detector_disk(struct station *s, struct sc_error *error); /* who looks at the database's disk */
int detector_start(struct station *s, struct sc_error *error); /* the engine */
void detector_stop(struct station *s);
void detector_tick(struct station *s);
/* Carry out all that the engine has put out. Once a turn of the main loop. */
void detector_drain(struct station *s);
/* The client of `rq` waits for the end of command `id` (wait), or for its journal row. */
void detector_wait(struct station *s, uint64_t id, struct control_request *rq, bool to_end);
/* Answer a refusal of engine_submit() when it is known whether the journal has it, with its number
 * if so. `id` 0: at once. `code`: of schemas/control.md. */
void detector_refused(struct station *s, uint64_t id, struct control_request *rq, const char *code,
		      const struct sc_error *error);
void detector_second(struct station *s);
/* A client repeated this command: what its waiters wait for has perhaps been said already, and is said again. */
void detector_repeat(struct station *s, const struct engine_command_view *view);
void detector_stored(struct station *s); /* done rows of the store */

/* command_json.c: as in schemas/control.md; for a command that a previous daemon began only its
 * present state. */
json_t *command_json(struct station *s, const struct engine_command_view *v);

/* status.c: objects of schemas/control.md; new references */
json_t *status_json(struct station *s);
json_t *status_link(struct station *s, unsigned link);
json_t *status_phase(struct station *s, unsigned link);
json_t *status_clock(struct station *s);
json_t *status_groups(struct station *s);
json_t *status_members(struct station *s);
json_t *status_doors(struct station *s);
json_t *status_feed(struct station *s); /* null: not configured */
json_t *status_param(struct station *s, const struct param *p);
/* Of what is set: beyond them only with force. Of what is measured: beyond them it is an alarm. Null: none. */
json_t *status_limits(const struct param_kind *k);
/* A value of it as Parameter has it: a number, a bool, the word of an enum. */
json_t *status_value(const struct param *p, double value);
/* By which consumers know us; null: data are not encrypted. */
json_t *status_data_key(const struct station *s);
/* One line for systemctl status. */
void status_line(struct station *s, char *text, size_t size);

/* view.c: the judge looks; 10 times a second, and before somebody is shown what it says */
int view_start(struct station *s);
void view_stop(struct station *s);
void view_judge(struct station *s);

/* keys.c */
int keys_start(struct station *s); /* reads the allow list, where a door asks for keys */
/* Our secret; wipe it when it has been used. Told to the log. */
int keys_secret(struct station *s, char ret_secret[ACCESS_KEY_TEXT]);
/* Key and list of a configuration: 0, or negative, told to `err`. */
int keys_check(const struct config *c, FILE *err);
void keys_reload(struct station *s); /* the list again, for all doors */
/* Where the list is, "" without a door that asks for keys: into the database, for fcmctl key list. */
void keys_put_place(struct station *s);

/* doors_say.c */
void doors_second(struct station *s);
/* Sockets that cannot be opened now, as words; "": none. As reports_groups() knew it last. */
void doors_closed(struct station *s, char *text, size_t size);

/* network_say.c */
int network_start(struct station *s); /* when the store runs */
void network_allow_keys(struct station *s);
void network_second(struct station *s);

/* ops/ */
void ops_start(struct station *s);			   /* before anything is served */
extern const struct control_op *const station_op_tables[]; /* ends with NULL */
/* A request that its peer's role does not allow, into the journal: control_refused_fn of the desk. */
bool station_refused(void *context, struct control_request *rq, const char *op, json_t *args,
		     const struct sc_error *error);
/* Serial sessions whose clients are gone are closed. */
void serial_tick(struct station *s);

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
