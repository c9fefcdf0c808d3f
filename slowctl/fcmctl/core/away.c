/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Answers from the database's file (slowctl/query/query.h, read only), in the shapes of schemas/control.md: while the
 * daemon is not running, and in the place of a daemon for which the question is too large. And what is said about a
 * daemon that is not running.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "schemas/fcm_data.h"
#include "slowctl/fcmctl/core/ctl.h"
#include "slowctl/fcmctl/show/time.h"
#include "slowctl/fcmctl/show/value.h"
#include "slowctl/query/ask.h"

/* While a file is read, what the daemon writes piles up in its journal: the time for that has a limit. */
#define READ_S 60.0

/* The station table keeps texts; a time there is UTC s or ns since 1970. 0: unknown. */
static double station_time(const json_t *station, const char *key)
{
	const char *text = value_string(station, key, NULL);
	double time = text != NULL ? strtod(text, NULL) : value_number(station, key);

	return !isfinite(time) ? 0.0 : time > 1e14 ? time / 1e9 : time;
}

/* What the daemon has kept of itself. Negative errno and *error: the database cannot be opened. */
static int read_station(const struct ctl *ctl, json_t **ret_station, struct sc_error *error)
{
	struct query *q = NULL;
	int err = query_open(ctl->station.database, &q, error);

	if (err == 0 && query_station(q, ret_station) != 0) {
		*ret_station = NULL;
	}
	query_close(q);
	return err;
}

int ctl_away_since(const struct ctl *ctl, double *ret_time)
{
	struct sc_error error = {0};
	json_t *station = NULL;
	double last;

	read_station(ctl, &station, &error);
	last = fmax(station_time(json_object_get(station, "station"), "last_alive"),
		    station_time(station, "last_write"));
	json_decref(station);
	if (last <= 0.0) {
		return -ENODATA;
	}
	*ret_time = last;
	return 0;
}

int ctl_away_setting(const struct ctl *ctl, const char *key, char *text, size_t size,
		     struct sc_error *error)
{
	json_t *station = NULL;
	int err = read_station(ctl, &station, error);

	snprintf(text, size, "%s", value_string(json_object_get(station, "station"), key, ""));
	json_decref(station);
	return err;
}

const char *ctl_away_since_text(const struct ctl *ctl, char *buf, size_t size)
{
	char when[32];
	char span[32];
	double last;

	*buf = '\0';
	if (ctl_away_since(ctl, &last) == 0) {
		snprintf(buf, size, " since %s UTC (%s)",
			 ctl_time_text(last, 0, when, sizeof(when)),
			 ctl_span_text(ctl_now() - last, span, sizeof(span)));
	}
	return buf;
}

#define KNOWN_LIMIT_MS 1000u /* a question: status must not hang on a slow disk */
#define KNOWN_LOST_S   600.0 /* losses of so long before, as ledger show has them */
#define KNOWN_OPEN     1000  /* open commands that are counted */

/* The answer to `op` (`args` are taken over), NULL: there is none in time. */
static json_t *known(struct query *q, const char *op, json_t *args)
{
	json_t *answer = NULL;

	query_limit(q, KNOWN_LIMIT_MS);
	if (query_ask(q, op, args, NULL, &answer) != 0) {
		answer = NULL;
	}
	json_decref(args);
	return answer;
}

/* Only this member of it. */
static json_t *known_member(struct query *q, const char *op, json_t *args, const char *member)
{
	json_t *answer = known(q, op, args);
	json_t *value = json_incref(json_object_get(answer, member));

	json_decref(answer);
	return value;
}

static json_t *known_run(struct query *q)
{
	json_t *runs = known_member(q, "run.show", json_pack("{s:i}", "limit", 1), "runs");
	json_t *run = json_array_get(runs, 0);
	json_t *result = NULL;

	if (run != NULL && json_is_null(json_object_get(run, "ended"))) {
		result = json_pack("{s:O,s:O,s:O}", "number", json_object_get(run, "number"),
				   "note", json_object_get(run, "note"), "since",
				   json_object_get(run, "begun"));
	} else if (runs != NULL) {
		result = json_pack("{s:i,s:n,s:n}", "number", 0, "note", "since");
	}
	json_decref(runs);
	return result;
}

static json_t *known_open(struct query *q)
{
	json_t *commands = known_member(
		q, "command.list", json_pack("{s:i,s:s}", "limit", KNOWN_OPEN, "state", "open"),
		"commands");
	json_t *count =
		commands != NULL ? json_integer((json_int_t)json_array_size(commands)) : NULL;

	json_decref(commands);
	return count;
}

/* Adds the last state of a parameter with words, if one is kept. */
static void add_state(json_t *states, struct query *q, const char *name)
{
	json_t *answer =
		known(q, "param.history", json_pack("{s:s,s:i}", "name", name, "limit", 1));
	json_t *row = json_array_get(json_object_get(answer, "rows"), 0);
	char state[64];

	if (json_array_size(json_object_get(answer, "words")) > 0 && row != NULL) {
		value_word(json_object_get(row, "value"), json_object_get(answer, "words"), state,
			   sizeof(state));
		json_array_append_new(states,
				      json_pack("{s:s,s:s,s:O}", "name", name, "state", state,
						"time", json_object_get(row, "time")));
	}
	json_decref(answer);
}

static json_t *known_states(struct query *q)
{
	json_t *states = json_array();
	char name[32];

	add_state(states, q, "clock.state");
	for (unsigned link = 0; link < FCM_LINKS; link++) {
		snprintf(name, sizeof(name), "link%u.state", link);
		add_state(states, q, name);
	}
	return states;
}

json_t *ctl_away_known(const struct ctl *ctl)
{
	struct sc_error error = {0};
	struct query *q = NULL;
	json_t *all, *lost;
	double last;

	if (ctl_away_since(ctl, &last) != 0 || query_open(ctl->station.database, &q, &error) != 0) {
		return NULL;
	}
	lost = json_pack("{s:f,s:i}", "since", last - KNOWN_LOST_S, "limit", 1);
	all = json_pack("{s:f,s:o?,s:o,s:o?,s:f,s:o?}", "time", last, "run", known_run(q), "states",
			known_states(q), "open", known_open(q), "since", last - KNOWN_LOST_S,
			"hops", known_member(q, "ledger.show", lost, "hops"));
	query_close(q);
	return all;
}

/* Open commands have nobody who waits for them now. */
static void mark_unattended(json_t *command)
{
	if (json_is_null(json_object_get(command, "ended"))) {
		json_object_set_new(command, "unattended", json_true());
	}
}

static void mark_all_unattended(json_t *result)
{
	static const char *const lists[] = {"commands", "sets"};
	size_t n;
	json_t *command;

	mark_unattended(result);
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		json_array_foreach (json_object_get(result, lists[i]), n, command) {
			mark_unattended(command);
		}
	}
}

#define NAMES "names are like tower1.floor3.om2.hv, link2.phase, clock.state"

/* What a failed question means, the first that fits: NULL fits any operation, 0 any error. Texts of value_fill(): the
 * question's arguments, and op, doing, database, words. */
static const struct {
	const char *op;
	int err, exit_code;
	const char *code, *hint, *text;
} failures[] = {
	{"command.show", -ENOENT, CTL_USAGE, "usage",
	 "fcmctl command list shows the last ones; what was sent without the database is in the "
	 "emergency journal until the daemon runs",
	 "there is no command {command} in the journal"},
	{"param.history", -ENOENT, CTL_USAGE, "usage", NAMES,
	 "the database has no parameter '{name}'"},
	{"param.history", -ENODATA, CTL_NOT, "failed",
	 "of some parameters no history is kept (fcmctl get shows their value when the daemon "
	 "runs); else: is there such a floor?",
	 "there are no samples of '{name}' in {database}"},
	{"param.at", -ENOENT, CTL_USAGE, "usage",
	 NAMES "; a value that was not recorded is unknown", "{words}"},
	{"param.diff", -ENOENT, CTL_USAGE, "usage",
	 NAMES "; a value that was not recorded is unknown", "{words}"},
	{NULL, -ENOTUNIQ, CTL_USAGE, "usage", "add the tower: tower1.floor3...",
	 "'{name}' is ambiguous"},
	{NULL, -ETIME, CTL_NOT, "refused",
	 "narrow it: a later --since, one --link; or give it longer: --timeout 30m",
	 "{doing}: {database}: {words}"},
	{NULL, 0, CTL_NOT, "internal", "", "{op} from {database}: {words}"},
};

static int fail_query(struct ctl *ctl, const char *op, const json_t *args, int err,
		      const char *words)
{
	json_t *what = args != NULL ? json_copy((json_t *)(uintptr_t)args) : json_object();
	char text[PATH_MAX + 512];
	size_t n = 0;

	while ((failures[n].op != NULL && strcmp(failures[n].op, op) != 0) ||
	       (failures[n].err != 0 && failures[n].err != err)) {
		n++;
	}
	json_object_set_new(what, "op", json_string(op));
	json_object_set_new(what, "doing", json_string(ctl->doing));
	json_object_set_new(what, "database", json_string(ctl->station.database));
	json_object_set_new(what, "words",
			    json_string(words != NULL && *words != '\0' ? words : strerror(-err)));
	value_fill(what, failures[n].text, text, sizeof(text));
	json_decref(what);
	return ctl_fail(ctl, failures[n].exit_code, failures[n].code, failures[n].hint, "%s", text);
}

/* There is no database to open: the reason why the daemon is away matters more. */
static int fail_open(struct ctl *ctl, const struct sc_error *error, int err)
{
	char reason[PATH_MAX + 256];
	char action[PATH_MAX];

	ctl_away_reason(ctl, -ENOENT, false, reason, sizeof(reason));
	ctl_away_action(ctl, -ENOENT, action, sizeof(action));
	return ctl_fail(ctl, CTL_UNKNOWN, "daemon-away", action,
			"%s; and its database %s cannot be read either: %s", reason,
			ctl->station.database,
			err == -ENOENT		    ? "there is no such file"
			: error->message[0] != '\0' ? error->message
						    : strerror(-err));
}

/* The answer to `op`, no longer than `limit_s` (0: as long as it takes), and closes `q`. */
static int ask_and_close(struct ctl *ctl, struct query *q, double limit_s, const char *op,
			 const json_t *args, json_t **ret_result)
{
	int code = CTL_DONE;
	int err;

	query_limit(q, (unsigned)fmin(ceil(limit_s * 1e3), UINT32_MAX));
	err = query_ask(q, op, args, NULL, ret_result);
	if (err != 0) {
		code = fail_query(ctl, op, args, err, query_error(q));
	}
	query_close(q);
	return code;
}

int ctl_away_ask(struct ctl *ctl, const char *op, const json_t *args, json_t **ret_result)
{
	struct sc_error error = {0};
	struct query *q = NULL;
	char since[96];
	int err = query_open(ctl->station.database, &q, &error);
	int code;

	if (err != 0) {
		return fail_open(ctl, &error, err);
	}
	code = ask_and_close(ctl, q, 0.0, op, args, ret_result);
	if (code != CTL_DONE) {
		return code;
	}
	mark_all_unattended(*ret_result);
	if (!ctl->away_reported) {
		ctl_remark("the daemon is not running%s; this is from %s",
			   ctl_away_since_text(ctl, since, sizeof(since)), ctl->station.database);
		ctl->away_reported = true;
	}
	return CTL_DONE;
}

int ctl_away_read(struct ctl *ctl, const char *op, const json_t *args, const char *remark,
		  json_t **ret_result)
{
	struct sc_error error = {0};
	struct query *q = NULL;
	int err = query_open(ctl->station.database, &q, &error);

	if (err != 0) {
		return err;
	}
	ctl_remark("%s", remark);
	return ask_and_close(ctl, q, ctl->timeout_s > 0.0 ? ctl->timeout_s : READ_S, op, args,
			     ret_result);
}

/* ------------------------------------------------------------------ what is said about it */

bool ctl_is_away(int err)
{
	return err == -ENOENT || err == -ECONNREFUSED || err == -ENOTDIR;
}

const char *ctl_away_reason(const struct ctl *ctl, int err, bool since, char *buf, size_t size)
{
	const char *path = ctl->station.socket;
	char since_text[96] = "";

	if (!ctl_is_away(err)) {
		snprintf(buf, size, "cannot reach the daemon at %s: %s", path, strerror(-err));
		return buf;
	}
	if (since) {
		ctl_away_since_text(ctl, since_text, sizeof(since_text));
	}
	snprintf(buf, size, "fcm-server for board %u is not running%s (%s %s)", ctl->station.board,
		 since_text, err == -ECONNREFUSED ? "no answer on" : "no socket", path);
	return buf;
}

/* The emulated board of a make run beside the socket: that goes on when its daemon is gone, and would not begin twice.
 * Into `ret_config` the file that its daemon is started with. */
static bool board_runs(const struct ctl *ctl, char *ret_config, size_t size)
{
	const char *socket = ctl->station.socket;
	const char *slash = strrchr(socket, '/');
	int dir = slash != NULL ? (int)(slash + 1 - socket) : 0;
	char board[PATH_MAX];

	return snprintf(board, sizeof(board), "%.*sboard.sock", dir, socket) < (int)sizeof(board) &&
	       snprintf(ret_config, size, "%.*sboard.conf", dir, socket) < (int)size &&
	       access(board, F_OK) == 0 && access(ret_config, R_OK) == 0;
}

const char *ctl_away_action(const struct ctl *ctl, int err, char *buf, size_t size)
{
	unsigned n = ctl->station.board;
	char config[PATH_MAX / 2];

	if (err == -EACCES) {
		ctl_access_action(ctl->station.socket, buf, size);
	} else if (err == -ENAMETOOLONG) {
		snprintf(buf, size,
			 "a socket's path has at most 107 bytes; go nearer with cd and use "
			 "a relative one");
	} else if (!ctl_is_away(err) && !ctl->station.installed) {
		snprintf(buf, size, "look at the daemon's process and its log");
	} else if (ctl->station.installed) {
		snprintf(buf, size,
			 "systemctl status fcm-server@%u; journalctl -u fcm-server@%u -n 50; "
			 "systemctl "
			 "start fcm-server@%u (a station of make run: fcmctl --dir build/run ...)",
			 n, n, n);
	} else if (board_runs(ctl, config, sizeof(config))) {
		snprintf(buf, size,
			 "make run goes on without it; start the daemon again: fcm-server "
			 "--board %u --config %s",
			 n, config);
	} else {
		snprintf(buf, size,
			 "start the station (make run), or name the right one: --dir DIR, --board "
			 "N");
	}
	return buf;
}

int ctl_away_fail(struct ctl *ctl, int err, bool writes)
{
	char reason[PATH_MAX + 256];
	char action[PATH_MAX];
	bool away = ctl_is_away(err) || err == -EAGAIN;

	return ctl_fail(ctl, away ? CTL_UNKNOWN : CTL_NOT, away ? "daemon-away" : "no-access",
			ctl_away_action(ctl, err, action, sizeof(action)), "%s%s",
			writes ? "nothing was sent: " : "",
			ctl_away_reason(ctl, err, true, reason, sizeof(reason)));
}
