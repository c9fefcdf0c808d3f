/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the database's file can answer (slowctl/query/query.h, read-only, nothing is changed), in the shapes of
 * schemas/control.md: while the daemon is away, with since when it is, and in the place of a daemon that
 * must not be kept from its work for so long.
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
#include "slowctl/query/query.h"

/* What a daemon writes while its file is read piles up in its journal: not for ever. */
#define READ_S 60.0

static int64_t time_ns(const json_t *args, const char *key)
{
	double time = value_number(args, key);

	return isfinite(time) && fabs(time) < 9e9 ? (int64_t)(time * 1e9) : 0;
}

static int64_t since_ns(const json_t *args)
{
	return time_ns(args, "since");
}

static unsigned limit_of(const json_t *args)
{
	long long limit = value_integer(args, "limit", 0);

	return limit > 0 && limit < 1000000 ? (unsigned)limit : 0;
}

static int ask_commands(struct query *q, const json_t *args, json_t **ret_json)
{
	struct query_filter filter = {
		.limit = limit_of(args),
		.state = value_string(args, "state", NULL),
		.floor = (int)value_integer(args, "floor", 0),
	};

	return query_commands(q, &filter, ret_json);
}

static int ask_command(struct query *q, const json_t *args, json_t **ret_json)
{
	return query_command(q, (uint64_t)value_integer(args, "command", 0), ret_json);
}

static int ask_job(struct query *q, const json_t *args, json_t **ret_json)
{
	return query_job(q, value_string(args, "job", ""), value_string(args, "after", ""),
			 ret_json);
}

static int ask_jobs(struct query *q, const json_t *args, json_t **ret_json)
{
	return query_jobs(q, limit_of(args), ret_json);
}

static int ask_history(struct query *q, const json_t *args, json_t **ret_json)
{
	return query_history(q, value_string(args, "name", ""), since_ns(args),
			     time_ns(args, "until"), limit_of(args), ret_json);
}

static int ask_at(struct query *q, const json_t *args, json_t **ret_json)
{
	json_t *names = NULL;
	int r = query_names(q, json_object_get(args, "names"), &names);

	r = r == 0 ? query_at(q, names, time_ns(args, "time"), ret_json) : r;
	json_decref(names);
	return r;
}

static int ask_diff(struct query *q, const json_t *args, json_t **ret_json)
{
	json_t *names = NULL;
	int r = query_names(q, json_object_get(args, "names"), &names);

	r = r == 0 ? query_diff(q, names, time_ns(args, "from"), time_ns(args, "to"), ret_json) : r;
	json_decref(names);
	return r;
}

static int ask_ledger(struct query *q, const json_t *args, json_t **ret_json)
{
	struct query_account what = {
		.since_ns = since_ns(args),
		.until_ns = time_ns(args, "until"),
		.link = (int)value_integer(args, "link", QUERY_ALL),
		.limit = limit_of(args),
		.by_s = (unsigned)value_integer(args, "by_s", 1),
	};

	return query_ledger(q, &what, ret_json);
}

static int ask_phase(struct query *q, const json_t *args, json_t **ret_json)
{
	return query_phase_history(q, (int)value_integer(args, "link", 0), since_ns(args),
				   limit_of(args), ret_json);
}

static int ask_clock(struct query *q, const json_t *args, json_t **ret_json)
{
	return query_clock_history(q, since_ns(args), limit_of(args), ret_json);
}

static int ask_runs(struct query *q, const json_t *args, json_t **ret_json)
{
	return query_runs(q, limit_of(args), ret_json);
}

static int ask_events(struct query *q, const json_t *args, json_t **ret_json)
{
	return query_events(q, since_ns(args), limit_of(args), ret_json);
}

static const struct {
	const char *op;
	int (*ask)(struct query *q, const json_t *args, json_t **ret_json);
} questions[] = {
	{"command.list", ask_commands}, {"command.show", ask_command},
	{"job.list", ask_jobs},		{"job.show", ask_job},
	{"param.history", ask_history}, {"param.at", ask_at},
	{"param.diff", ask_diff},	{"ledger.show", ask_ledger},
	{"phase.history", ask_phase},	{"clock.history", ask_clock},
	{"run.show", ask_runs},		{"event.list", ask_events},
};

bool ctl_away_can(const char *op)
{
	for (size_t i = 0; i < sizeof(questions) / sizeof(questions[0]); i++) {
		if (strcmp(questions[i].op, op) == 0) {
			return true;
		}
	}
	return false;
}

/* The station table keeps texts; a time there is UTC s or ns since 1970. */
static bool station_time(const json_t *station, const char *key, double *ret_time)
{
	const char *text = value_string(station, key, NULL);
	double time = text != NULL ? strtod(text, NULL) : value_number(station, key);

	if (!isfinite(time) || time <= 0.0) {
		return false;
	}
	*ret_time = time > 1e14 ? time / 1e9 : time;
	return true;
}

int ctl_away_since(const struct ctl *ctl, double *ret_time)
{
	struct sc_error error = {0};
	struct query *q = NULL;
	json_t *station = NULL;
	double alive = 0.0;
	double written = 0.0;
	int err = query_open(ctl->station.database, &q, &error);

	if (err == 0) {
		err = query_station(q, &station);
	}
	if (err == 0) {
		station_time(json_object_get(station, "station"), "last_alive", &alive);
		station_time(station, "last_write", &written);
		if (alive <= 0.0 && written <= 0.0) {
			err = -ENODATA;
		}
	}
	json_decref(station);
	query_close(q);
	if (err != 0) {
		return -ENODATA;
	}
	*ret_time = alive > written ? alive : written;
	return 0;
}

#define KNOWN_LIMIT_MS 1000u /* a question: status must not hang on a slow disk */
#define KNOWN_LOST_S   600.0 /* losses of so long before, as ledger show has them */
#define KNOWN_OPEN     1000u /* open commands that are counted */

/* The member `key` of what was answered, null when it was not. */
static json_t *known_member(int err, json_t *answer, const char *key)
{
	json_t *member = err == 0 ? json_incref(json_object_get(answer, key)) : NULL;

	if (err == 0) {
		json_decref(answer);
	}
	return member != NULL ? member : json_null();
}

static json_t *known_run(struct query *q)
{
	json_t *runs;
	json_t *run = NULL;
	json_t *found = NULL;
	int err;

	query_limit(q, KNOWN_LIMIT_MS);
	err = query_runs(q, 1, &found);
	runs = known_member(err, found, "runs");
	run = json_array_get(runs, 0);
	if (run != NULL && json_is_null(json_object_get(run, "ended"))) {
		run = json_pack("{s:O,s:O,s:O}", "number", json_object_get(run, "number"), "note",
				json_object_get(run, "note"), "since",
				json_object_get(run, "begun"));
	} else {
		run = err == 0 ? json_pack("{s:i,s:n,s:n}", "number", 0, "note", "since") : NULL;
	}
	json_decref(runs);
	return run != NULL ? run : json_null();
}

static json_t *known_open(struct query *q)
{
	struct query_filter filter = {.limit = KNOWN_OPEN, .state = "open"};
	json_t *found = NULL;
	json_t *commands;
	json_t *count;
	int err;

	query_limit(q, KNOWN_LIMIT_MS);
	err = query_commands(q, &filter, &found);
	commands = known_member(err, found, "commands");
	count = json_is_array(commands) ? json_integer((json_int_t)json_array_size(commands))
					: json_null();
	json_decref(commands);
	return count;
}

static const json_t *word_of(const json_t *history, double value)
{
	const json_t *words = json_object_get(history, "words");

	return value >= 0.0 && value < (double)json_array_size(words)
		       ? json_array_get(words, (size_t)value)
		       : NULL;
}

/* The last state of a parameter with words; null: none is kept. */
static json_t *known_state(struct query *q, const char *name)
{
	json_t *found = NULL;
	json_t *state = NULL;
	const json_t *row;
	const json_t *word;

	query_limit(q, KNOWN_LIMIT_MS);
	if (query_history(q, name, 0, 0, 1, &found) != 0) {
		return json_null();
	}
	row = json_array_get(json_object_get(found, "rows"), 0);
	word = row != NULL ? word_of(found, value_number(row, "value")) : NULL;
	if (row != NULL && json_is_string(word)) {
		state = json_pack("{s:s,s:O,s:O}", "name", name, "state", word, "time",
				  json_object_get(row, "time"));
	}
	json_decref(found);
	return state != NULL ? state : json_null();
}

static void add_state(json_t *states, struct query *q, const char *name)
{
	json_t *state = known_state(q, name);

	if (json_is_object(state)) {
		json_array_append(states, state);
	}
	json_decref(state);
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

static json_t *known_hops(struct query *q, double last)
{
	struct query_account what = {
		.since_ns = (int64_t)((last - KNOWN_LOST_S) * 1e9),
		.link = QUERY_ALL,
		.limit = 1,
	};
	json_t *found = NULL;
	int err;

	query_limit(q, KNOWN_LIMIT_MS);
	err = query_ledger(q, &what, &found);
	return known_member(err, found, "hops");
}

json_t *ctl_away_known(const struct ctl *ctl)
{
	struct sc_error error = {0};
	struct query *q = NULL;
	json_t *known;
	double last;

	if (ctl_away_since(ctl, &last) != 0 || query_open(ctl->station.database, &q, &error) != 0) {
		return NULL;
	}
	known = json_pack("{s:f,s:o,s:o,s:o,s:f,s:o}", "time", last, "run", known_run(q), "states",
			  known_states(q), "open", known_open(q), "since", last - KNOWN_LOST_S,
			  "hops", known_hops(q, last));
	query_close(q);
	return known;
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

static int fail_query(struct ctl *ctl, const char *op, const json_t *args, int err,
		      const char *words)
{
	if (err == -ENOENT && strcmp(op, "command.show") == 0) {
		return ctl_fail(ctl, CTL_USAGE, "usage",
				"fcmctl command list shows the last ones; what was sent without "
				"the database is in the emergency journal until the daemon runs",
				"there is no command %lld in the journal",
				value_integer(args, "command", 0));
	}
	if (err == -ENOENT && strcmp(op, "param.history") == 0) {
		return ctl_fail(ctl, CTL_USAGE, "usage",
				"names are like tower1.floor3.om2.hv, link2.phase, clock.state",
				"the database has never seen a parameter '%s'",
				value_string(args, "name", ""));
	}
	if (err == -ENODATA && strcmp(op, "param.history") == 0) {
		return ctl_fail(
			ctl, CTL_NOT, "failed",
			"of some parameters no history is kept (fcmctl get shows their value "
			"when the daemon is back); else: is there such a floor?",
			"there are no samples of '%s' in %s", value_string(args, "name", ""),
			ctl->station.database);
	}
	if (err == -ENOENT && (strcmp(op, "param.at") == 0 || strcmp(op, "param.diff") == 0)) {
		return ctl_fail(ctl, CTL_USAGE, "usage",
				"names are like tower1.floor3.om2.hv, link2.phase, clock.state; "
				"of what is not recorded nothing is known later",
				"%s", words);
	}
	if (err == -ENOTUNIQ) {
		return ctl_fail(ctl, CTL_USAGE, "usage", "say the tower: tower1.floor3...",
				"'%s' is ambiguous", value_string(args, "name", ""));
	}
	if (err == -ETIME) {
		return ctl_fail(ctl, CTL_NOT, "refused",
				"narrow it: a later --since, one --link; or give it longer: "
				"--timeout 30m",
				"%s: %s: %s", ctl->doing, ctl->station.database, words);
	}
	return ctl_fail(ctl, CTL_NOT, "internal", "", "%s from %s: %s", op, ctl->station.database,
			words != NULL && *words != '\0' ? words : strerror(-err));
}

/* There is no database to open: the reason why the daemon is away matters more. */
static int fail_open(struct ctl *ctl, const struct sc_error *error, int err)
{
	char reason[PATH_MAX + 256];
	char action[PATH_MAX];

	ctl_away_reason(ctl, -ENOENT, false, reason, sizeof(reason));
	ctl_away_action(ctl, -ENOENT, action, sizeof(action));
	return ctl_fail(ctl, CTL_UNKNOWN, "daemon-away", action,
			"%s; and its database %s does not answer either: %s", reason,
			ctl->station.database,
			err == -ENOENT		    ? "there is no such file"
			: error->message[0] != '\0' ? error->message
						    : strerror(-err));
}

static int ask(struct ctl *ctl, struct query *q, const char *op, const json_t *args,
	       json_t **ret_result)
{
	int err = -ENOSYS;

	for (size_t i = 0; i < sizeof(questions) / sizeof(questions[0]); i++) {
		if (strcmp(questions[i].op, op) == 0) {
			err = questions[i].ask(q, args, ret_result);
			break;
		}
	}
	return err != 0 ? fail_query(ctl, op, args, err, query_error(q)) : CTL_DONE;
}

int ctl_away_ask(struct ctl *ctl, const char *op, const json_t *args, json_t **ret_result)
{
	struct sc_error error = {0};
	struct query *q = NULL;
	char when[32];
	char span[32];
	double last;
	int err = query_open(ctl->station.database, &q, &error);
	int code;

	if (err != 0) {
		return fail_open(ctl, &error, err);
	}
	code = ask(ctl, q, op, args, ret_result);
	query_close(q);
	if (code != CTL_DONE) {
		return code;
	}
	mark_all_unattended(*ret_result);
	if (ctl->told_away) {
		return CTL_DONE;
	}
	ctl->told_away = true;
	if (ctl_away_since(ctl, &last) == 0) {
		ctl_remark("the daemon is away since %s UTC (%s); this is from %s",
			   ctl_time_text(last, 0, when, sizeof(when)),
			   ctl_span_text(ctl_now() - last, span, sizeof(span)),
			   ctl->station.database);
	} else {
		ctl_remark("the daemon is away; this is from %s", ctl->station.database);
	}
	return CTL_DONE;
}

int ctl_away_read(struct ctl *ctl, const char *op, const json_t *args, json_t **ret_result)
{
	double limit_s = ctl->timeout_s > 0.0 ? ctl->timeout_s : READ_S;
	struct sc_error error = {0};
	struct query *q = NULL;
	int err = query_open(ctl->station.database, &q, &error);
	int code;

	if (err != 0) {
		return ctl_fail(ctl, CTL_NOT, "internal", error.hint, "%s", error.message);
	}
	query_limit(q, (unsigned)fmin(ceil(limit_s * 1e3), UINT32_MAX));
	code = ask(ctl, q, op, args, ret_result);
	query_close(q);
	return code;
}

/* ------------------------------------------------------------------ what is said about it */

bool ctl_is_away(int err)
{
	return err == -ENOENT || err == -ECONNREFUSED || err == -ENOTDIR;
}

const char *ctl_away_reason(const struct ctl *ctl, int err, bool since, char *buf, size_t size)
{
	const char *path = ctl->station.socket;
	char when[32];
	char span[32];
	char when_text[96] = "";
	double last;

	if (!ctl_is_away(err)) {
		snprintf(buf, size, "cannot reach the daemon at %s: %s", path, strerror(-err));
		return buf;
	}
	if (since && ctl_away_since(ctl, &last) == 0) {
		snprintf(when_text, sizeof(when_text), " since %s UTC (%s)",
			 ctl_time_text(last, 0, when, sizeof(when)),
			 ctl_span_text(ctl_now() - last, span, sizeof(span)));
	}
	snprintf(buf, size, "the daemon of board %u is away%s: %s %s", ctl->station.board,
		 when_text, err == -ECONNREFUSED ? "nobody listens at" : "there is no socket",
		 path);
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
			 "its make run goes on without it; start the daemon again: fcm-server "
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
