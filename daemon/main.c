// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fcm-server: the daemon of one board. Start, main loop, reload, stop. Start is one chain, undone
 * in reverse; between them libevent runs.
 *
 *   configuration -> log -> dictionary, control socket -> data path (publisher, capture) -> store ->
 *   detector -> links -> timing -> READY
 *
 * What may be refused at once comes first; then the data path, before all that takes time, so that after a
 * crash the rings are emptied again within a second. Its reports and the clients of the control socket wait until the
 * rest has started.
 */
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-daemon.h>

#include "daemon/incidents/reason_kinds.h"
#include "daemon/control/control.h"
#include "daemon/control/network.h"
#include "daemon/core/log.h"
#include "daemon/core/now.h"
#include "daemon/disk/disk.h"
#include "daemon/net/listener.h"
#include "daemon/ops/ops.h"
#include "daemon/station/incident_actions.h"
#include "daemon/station/base.h"
#include "daemon/station/data_path.h"
#include "daemon/station/detector.h"
#include "daemon/station/keys.h"
#include "daemon/station/lifecycle.h"
#include "daemon/station/links.h"
#include "daemon/station/network_say.h"
#include "daemon/station/questions.h"
#include "daemon/station/records.h"
#include "daemon/station/reports.h"
#include "daemon/station/runs.h"
#include "daemon/station/shore.h"
#include "daemon/station/station.h"
#include "daemon/station/timing.h"
#include "daemon/station/view.h"
#include "daemon/store/store.h"
#include "daemon/time/clock.h"

#define BOARD_MAX 999u

struct options {
	unsigned board;
	const char *config;
	char of_board[64];				/* the default, by the board's number */
	int check, print, example, operations, reasons; /* set by getopt_long() */
	const char *overrides[33];
	unsigned override_count;
};

static struct ops operations;

static const char usage_text[] =
	"usage: fcm-server [--board N] [--config FILE] [--set SECTION.KEY=VALUE]...\n"
	"       fcm-server --check-config | --print-config [--board N] [--config FILE]\n"
	"\n"
	"The read-out of one NaNet3 board: data to the consumers, slow control, time, phase.\n"
	"\n"
	"  --board N         instance (default 0)\n"
	"  --config FILE     default /etc/fcm-server/board-N.conf, and FILE.d/*.conf\n"
	"  --set S.K=VALUE   override one value of the configuration; may be repeated\n"
	"  --check-config    check it and exit: 0 if correct, else 78\n"
	"  --print-config    print what is in effect, and where each value comes from\n"
	"  --example-config  print a commented example\n"
	"  --operations      print the operations of the control protocol as JSON\n"
	"  --reasons         print the codes of incidents and what to do as JSON\n"
	"  --version, --help\n"
	"\n"
	"Operate it with fcmctl(1). Manual: fcm-server(8), fcm-server.conf(5).\n";

/* Signals that the main loop handles. They are blocked until it runs and after it has ended: a stop
 * during the start takes effect between two steps, a reload after the start. */
static const int loop_signals[] = {SIGTERM, SIGINT, SIGHUP};

static void take_signals(int how)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t n = 0; n < sizeof(loop_signals) / sizeof(loop_signals[0]); n++) {
		sigaddset(&set, loop_signals[n]);
	}
	pthread_sigmask(how, &set, NULL);
}

static bool stop_requested(void)
{
	sigset_t set;

	return sigpending(&set) == 0 &&
	       (sigismember(&set, SIGTERM) == 1 || sigismember(&set, SIGINT) == 1);
}

/* False: not a board's number; reported. */
static bool take_board(const char *text, unsigned *ret_board)
{
	char *end;
	unsigned long number = strtoul(text, &end, 10); /* ULONG_MAX: out of range */

	if (!isdigit((unsigned char)text[0]) || *end || number > BOARD_MAX) {
		fprintf(stderr, "fcm-server: --board %s: a number 0..%u\n", text, BOARD_MAX);
		return false;
	}
	*ret_board = (unsigned)number;
	return true;
}

/* 0: go on; 1: printed what was asked for; 2: wrong usage, reported. */
static int parse_options(int argc, char **argv, struct options *o)
{
	const struct option longs[] = {
		{"board", required_argument, NULL, 'b'},
		{"config", required_argument, NULL, 'c'},
		{"set", required_argument, NULL, 's'},
		{"check-config", no_argument, &o->check, true},
		{"print-config", no_argument, &o->print, true},
		{"example-config", no_argument, &o->example, true},
		{"operations", no_argument, &o->operations, true},
		{"reasons", no_argument, &o->reasons, true},
		{"version", no_argument, NULL, 'V'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	int c;

	while ((c = getopt_long(argc, argv, "b:c:h", longs, NULL)) != -1) {
		switch (c) {
		case 0: /* a flag */
			break;
		case 'b':
			if (!take_board(optarg, &o->board)) {
				return 2;
			}
			break;
		case 'c':
			o->config = optarg;
			break;
		case 's':
			if (o->override_count >= 32) {
				fputs("fcm-server: too many --set (at most 32)\n", stderr);
				return 2;
			}
			o->overrides[o->override_count++] = optarg;
			break;
		case 'V':
			puts("fcm-server " FCM_VERSION);
			return 1;
		case 'h':
			fputs(usage_text, stdout);
			return 1;
		default:
			fputs(usage_text, stderr);
			return 2;
		}
	}
	if (optind < argc) {
		fprintf(stderr, "fcm-server: unexpected argument \"%s\"\n%s", argv[optind],
			usage_text);
		return 2;
	}
	if (!o->config) {
		snprintf(o->of_board, sizeof(o->of_board), "/etc/fcm-server/board-%u.conf",
			 o->board);
		o->config = o->of_board;
	}
	return 0;
}

/* --- store, detector, links --- */

/* A start that migrates an old database takes long, but does not hang. */
static void tell_systemd(void)
{
	sd_notify(0, "EXTEND_TIMEOUT_USEC=60000000\nSTATUS=migrating the database to this version");
}

/* The start does not wait longer for a disk that hangs: floors are read and made safe without it. */
#define DISK_NS 1000000000ull

static int start_store(struct station *s)
{
	struct store_config c = {
		.later = !disk_has_answered(s->disk, DISK_NS),
		.path = s->config.store.database,
		.ages = s->config.store.ages,
		.patient = true,
		.at_work = tell_systemd,
	};
	struct sc_error error = {0};
	int r = store_open(&c, &s->store, &error);

	if (r < 0) {
		log_event(LOG_ERR, "store", LOG_NO_LINK, LOG_ID_STORE, "%s. %s", error.message,
			  error.hint);
	}
	r = r == -EBUSY ? r : station_blame_config(s, r); /* that is another daemon */
	return r ? r : view_start(s);
}

/* The thread starts when all that the database knows has been taken over. */
static int start_store_thread(struct station *s)
{
	station_restore(s);
	return store_start(s->store);
}

static int load_detector(struct station *s)
{
	struct sc_error error = {0};
	int r = detector_load(s, &error);

	if (r < 0) {
		log_error("slowctl", "%s. %s", error.message, error.hint);
	}
	return station_blame_config(s, r);
}

static const char *control_trouble(int r)
{
	switch (r) {
	case -EADDRINUSE:
		return "another daemon answers there; stop it, or give this one another socket";
	case -EEXIST:
		return "this path is not a socket; move the file away, or name another path";
	case -ENOENT:
		return "its directory does not exist; make it, or name another path";
	case -EACCES:
		return "the daemon's user has no permission to make a socket there";
	default:
		return strerror(-r);
	}
}

static int find_groups(const struct config *c, struct control_groups *ret_groups,
		       struct sc_error *error)
{
	const char *const names[ACCESS_ROLES] = {
		[ACCESS_READER] = c->control.reader_group,
		[ACCESS_OPERATOR] = c->control.socket_group,
		[ACCESS_EXPERT] = c->control.expert_group,
	};

	return control_groups_find(names, ret_groups, error);
}

static void warn_of_experts(struct station *s, const struct control_groups *groups)
{
	s->has_roles = groups->roles;
	if (!groups->roles) {
		log_event(LOG_WARNING, "control", LOG_NO_LINK, LOG_ID_CONFIG,
			  "every user who can connect to %s is an expert: name expert_group or "
			  "reader_group in [control] of %s",
			  s->config.control.socket, s->config_path);
	}
}

static int start_control(struct station *s)
{
	struct control_groups groups;
	struct sc_error error = {0};
	int r = find_groups(&s->config, &groups, &error);

	if (r < 0) {
		log_error("control", "%s; %s: %s", error.message, error.hint, s->config_path);
		return station_blame_config(s, r);
	}
	warn_of_experts(s, &groups);
	s->dispatch = dispatch_create(station_op_tables, &operations, station_refused);
	r = s->dispatch ? control_open(s->base, s->config.control.socket, &groups, s->dispatch,
				       &s->control)
			: -ENOMEM;
	if (r < 0) {
		log_error("control", "%s: %s: [control] in %s", s->config.control.socket,
			  control_trouble(r), s->config_path);
	}
	return r == -EADDRINUSE ? r : station_blame_config(s, r); /* that is another daemon */
}

static int start_operations(struct station *s)
{
	int r;

	listener_settle(); /* this configuration has no use for the other sockets */
	operations = (struct ops){
		.station = s,
		.config = &s->config,
		.started_utc_ns = s->started_utc_ns,
		.started_ns = s->started_ns,
		.link = s->link,
		.run = &s->run,
		.records = &s->records,
		.notices = &s->notices,
		.capture_status = &s->capture_status,
		.publisher_status = &s->publisher_status,
		.public_key = s->public_key,
		.has_roles = &s->has_roles,
		.watch = s->watch,
		.clock = s->clock,
		.params = s->params,
		.engine = s->engine,
		.store = s->store,
		.judge = s->judge,
		.recorder = s->recorder,
		.publisher = s->publisher,
		.dispatch = s->dispatch,
		.control = s->control,
		.network = s->network,
	};
	r = ops_start(&operations);
	s->ops = r ? NULL : &ops_handlers;
	s->ops_context = &operations;
	return r;
}

/* --- the loop --- */

static void every_10ms(struct station *s)
{
	detector_tick(s);
	waiters_tick(&operations);
}

static void every_100ms(struct station *s)
{
	links_tick(s);
	timing_tick(s);
	runs_tick(s);
	questions_tick(s);
	view_judge(s);
	ops_tick(&operations);
}

/* systemd's watchdog is fed only while both threads run that all data pass. */
static void feed_watchdog(struct station *s)
{
	const uint64_t capture_ns = s->capture_status.last_tick_ns;
	const uint64_t publisher_ns = s->publisher_status.at_ns;
	uint64_t limit_us = 0;

	if (sd_watchdog_enabled(0, &limit_us) > 0 &&
	    now_mono_ns() - (capture_ns < publisher_ns ? capture_ns : publisher_ns) <
		    limit_us * 1000 / 2) {
		sd_notify(0, "WATCHDOG=1");
	}
}

/* Without its socket the daemon goes on, but nobody can ask it anything. */
static void tend_control(struct station *s)
{
	int r = control_tend(s->control, now_mono_ns());

	if (r > 0) {
		log_error("control", "%s was removed; the daemon has made it again",
			  s->config.control.socket);
	} else if (r < 0 && !s->control_lost) {
		log_error("control", "%s was removed and cannot be made again: %s",
			  s->config.control.socket, control_trouble(r));
	}
	s->control_lost = r < 0;
}

static void every_second(struct station *s)
{
	char line[160];

	tend_control(s);
	links_second(s);
	lifecycle_second(s);
	incident_actions_second(s);
	network_second(s);
	doors_second(s);
	shore_second(s);
	timing_second(s);
	detector_second(s);
	store_put_alive(s->store, now_utc_ns());
	status_line(&operations, line, sizeof(line));
	sd_notifyf(0, "STATUS=%s", line);
}

static void stop_on(struct station *s, const char *signal)
{
	if (!s->stopping) {
		log_event(LOG_NOTICE, "fcm-server", LOG_NO_LINK, LOG_ID_STOP, "stopping on %s",
			  signal);
		sd_notify(0, "STOPPING=1");
		s->stopping = true;
		event_base_loopbreak(s->base);
	}
}

static void on_term(struct station *s)
{
	stop_on(s, strsignal(SIGTERM));
}

static void on_int(struct station *s)
{
	stop_on(s, strsignal(SIGINT));
}

static void say_difference(void *context, const char *section, const char *key, bool restart)
{
	log_event(LOG_NOTICE, "fcm-server", LOG_NO_LINK, LOG_ID_CONFIG, "[%s] %s has changed%s",
		  section, key, restart ? ": takes effect after systemctl restart" : "");
}

/* Members of the groups may have changed, too: new connections get the groups of now. */
static void reload_groups(struct station *s, struct config *fresh)
{
	struct control_groups groups;
	struct sc_error error = {0};
	int r = find_groups(fresh, &groups, &error);

	if (r < 0) {
		log_error("control", "reload refused, the roles stay as before: %s; %s",
			  error.message, error.hint);
		return;
	}
	memcpy(fresh->control.socket, s->config.control.socket, sizeof(fresh->control.socket));
	s->config.control = fresh->control; /* but for the socket */
	warn_of_experts(s, &groups);
	r = control_regroup(s->control, &groups);
	if (r < 0) {
		log_error("control", "%s: cannot set the access for its groups: %s",
			  s->config.control.socket, control_trouble(r));
	}
}

/* Only what the table says needs no restart is taken over. */
static void reload(struct station *s)
{
	struct config_report *report = NULL;
	struct config fresh;
	int r;

	sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%llu",
		   (unsigned long long)(now_mono_ns() / 1000));
	r = config_load(s->config_path, s->config.instance, s->overrides, &fresh, &report);
	for (size_t n = 0; r < 0 && n < config_errors(report); n++) {
		log_event(LOG_ERR, "fcm-server", LOG_NO_LINK, LOG_ID_CONFIG, "%s",
			  config_error(report, n));
	}
	if (r < 0) {
		log_error("fcm-server",
			  "reload refused, the configuration stays as before: %s has mistakes",
			  s->config_path);
	} else {
		config_diff(&s->config, &fresh, say_difference, s);
		s->config.daemon = fresh.daemon;
		log_set_level(fresh.daemon.log_level);
		timing_leaps(s);
		s->config.network.rate = fresh.network.rate;
		s->config.network.burst = fresh.network.burst;
		reload_groups(s, &fresh);
	}
	/* Also when the configuration has mistakes: a removed key must not stay valid. */
	keys_reload(s);
	config_report_destroy(report);
	sd_notify(0, "READY=1");
}

/* Report READY, and run until the stop. What the engine has put out in a turn of the loop is carried out at its end. */
static void serve(struct station *s)
{
	/* Look at the board before the first request, so that the first status is right. */
	reports_drain(s);
	links_tick(s);
	timing_tick(s);
	view_judge(s);
	store_put_words(s->store, s->params);
	store_put_station(s->store, "recordings", s->records.directory);
	keys_put_place(s);
	log_event(LOG_NOTICE, "fcm-server", LOG_NO_LINK, LOG_ID_START,
		  "version " FCM_VERSION ", board %u at %s, ready", s->config.instance,
		  s->config.board.device);
	sd_notify(0, "READY=1");
	take_signals(SIG_UNBLOCK);
	detector_drain(s);
	while (!s->stopping && event_base_loop(s->base, EVLOOP_ONCE) == 0) {
		detector_drain(s);
	}
	take_signals(SIG_BLOCK);
	s->served = true;
}

static int run_loop(struct station *s)
{
	const struct {
		int fd;
		short what;
		unsigned every_ms;
		void (*run)(struct station *s);
	} sources[] = {
		{s->reports.fd, EV_READ, 0, reports_drain},
		{store_done_fd(s->store), EV_READ, 0, detector_stored},
		{recorder_fd(s->recorder), EV_READ, 0, records_drain},
		{-1, 0, 10, every_10ms},
		{-1, 0, 100, every_100ms},
		{-1, 0, 1000, every_second},
		{-1, 0, 500, feed_watchdog},
		{SIGTERM, EV_SIGNAL, 0, on_term},
		{SIGINT, EV_SIGNAL, 0, on_int},
		{SIGHUP, EV_SIGNAL, 0, reload},
	};
	struct station_event events[sizeof(sources) / sizeof(sources[0])] = {0};
	size_t count = sizeof(sources) / sizeof(sources[0]);
	int r = 0;

	for (size_t n = 0; r == 0 && n < count; n++) {
		r = station_follow(s, &events[n], sources[n].fd, sources[n].what,
				   sources[n].every_ms, sources[n].run);
	}
	if (r == 0) {
		serve(s);
	}
	for (size_t n = 0; n < count; n++) {
		station_unfollow(&events[n]);
	}
	return r;
}

/* --- stop --- */

static void stop(struct station *s)
{
	unsigned unwritten;

	data_stop(s);
	if (s->served) {
		lifecycle_stop(s); /* after the last events of the others */
	}
	runs_end(s);
	questions_stop(s);
	detector_stop(s);
	incident_actions_stop(s);
	view_stop(s);
	network_close(s->network);
	control_close(s->control);
	dispatch_destroy(s->dispatch);
	timing_stop(s);
	links_stop(s);
	if (s->store) {
		unwritten = store_stop(s->store, GRACE_MS);
		if (unwritten) {
			log_error("store", "%u rows could not be written: %s", unwritten,
				  s->config.store.database);
		}
		store_destroy(s->store);
	}
	queue_fini(&s->blocks);
	queue_fini(&s->settled);
	queue_fini(&s->commands);
	queue_fini(&s->reports);
	if (s->base) {
		event_base_free(s->base);
	}
}

static int start_base(struct station *s)
{
	runs_begin(s);
	s->started_ns = now_mono_ns();
	s->started_utc_ns = now_utc_ns();
	s->base = event_base_new();
	return s->base && event_base_priority_init(s->base, EVENTS_PRIORITIES) == 0 ? 0 : -ENOMEM;
}

/* -ECANCELED: a stop signal arrived meanwhile. */
static int start(struct station *s)
{
	static int (*const steps[])(struct station *) = {
		start_base,   questions_start,	  load_detector, detector_disk,	   start_control,
		keys_start,   data_start,	  start_store,	 detector_start,   links_start,
		timing_start, start_store_thread, network_start, start_operations,
	};
	int r = 0;

	for (size_t n = 0; r == 0 && n < sizeof(steps) / sizeof(steps[0]); n++) {
		r = stop_requested() ? -ECANCELED : steps[n](s);
	}
	if (r == -ECANCELED) {
		log_event(LOG_NOTICE, "fcm-server", LOG_NO_LINK, LOG_ID_STOP,
			  "stopped while starting");
		sd_notify(0, "STOPPING=1");
	}
	return r;
}

static int run(struct station *s)
{
	int r = start(s);

	r = r ? r : run_loop(s);
	stop(s);
	return r == -ECANCELED ? 0 : r;
}

/* --check-config: the configuration, and the files that it names. */
static int check(const struct options *o)
{
	static struct station s;
	struct config_report *report = NULL;
	struct sc_error error = {0};
	struct control_groups groups;
	struct leap_table leaps;
	int r = config_check(o->config, o->board, o->overrides, stdout, stderr);

	if (r != 0 || config_load(o->config, o->board, o->overrides, &s.config, &report) < 0) {
		config_report_destroy(report);
		return CONFIG_EX_CONFIG;
	}
	config_report_destroy(report);
	if (detector_load(&s, &error) < 0) {
		fprintf(stderr, "%s. %s\n", error.message, error.hint);
		r = CONFIG_EX_CONFIG;
	}
	params_destroy(s.params);
	if (find_groups(&s.config, &groups, &error) < 0) {
		fprintf(stderr, "%s: %s; %s\n", o->config, error.message, error.hint);
		r = CONFIG_EX_CONFIG;
	}
	if (keys_check(&s.config, stderr) < 0) {
		r = CONFIG_EX_CONFIG;
	}
	if (leap_table_read(s.config.clock.leap_file, now_utc_ns() / 1000000000, &leaps) < 0) {
		fprintf(stderr,
			"%s: [clock] leap_file = %s cannot be read. Install tzdata or name "
			"another\n",
			o->config, s.config.clock.leap_file);
		r = CONFIG_EX_CONFIG;
	}
	return r;
}

static int print_json(json_t *table)
{
	int r = json_dumpf(table, stdout, JSON_INDENT(2));

	puts("");
	json_decref(table);
	return r < 0;
}

/* Options that only print something. Returns the exit code. */
static int answer(const struct options *o)
{
	if (o->operations) {
		return print_json(control_ops_json(station_op_tables));
	}
	if (o->reasons) {
		return print_json(reason_kinds_json());
	}
	if (o->example) {
		config_print_example(stdout);
		return 0;
	}
	return o->check ? check(o)
			: config_print(o->config, o->board, o->overrides, stdout, stderr);
}

int main(int argc, char **argv)
{
	static struct station s;
	struct options o = {0};
	struct config_report *report = NULL;
	int r;

	take_signals(SIG_BLOCK);
	r = parse_options(argc, argv, &o);
	if (r) {
		return r == 1 ? 0 : 2;
	}
	if (o.example || o.operations || o.reasons || o.check || o.print) {
		take_signals(SIG_UNBLOCK);
		return answer(&o);
	}
	r = config_load(o.config, o.board, o.overrides, &s.config, &report);
	if (r < 0) {
		config_print_errors(report, stderr);
		config_report_destroy(report);
		return CONFIG_EX_CONFIG;
	}
	config_report_destroy(report);
	s.config_path = o.config;
	s.overrides = o.overrides;
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* a limit on files is a full disk, not our end */
	log_open(s.config.instance, s.config.daemon.log_level);
	listener_inherit();
	r = run(&s);
	log_close();
	return r >= 0 ? 0 : s.misconfigured ? CONFIG_EX_CONFIG : 1;
}
