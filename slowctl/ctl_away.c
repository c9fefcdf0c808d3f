/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * While the daemon is away: what the database can answer (slowctl/query.h, read-only, nothing is
 * changed), in the shapes of schemas/control.md, and since when the daemon is away.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "slowctl/ctl.h"
#include "slowctl/ctl_time.h"
#include "slowctl/ctl_value.h"
#include "slowctl/query.h"

static int64_t since_ns(const json_t *args)
{
	double since = value_number(args, "since");

	return isfinite(since) && fabs(since) < 9e9 ? (int64_t)(since * 1e9) : 0;
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

static int ask_history(struct query *q, const json_t *args, json_t **ret_json)
{
	return query_history(q, value_string(args, "name", ""), since_ns(args), limit_of(args),
			     ret_json);
}

static int ask_ledger(struct query *q, const json_t *args, json_t **ret_json)
{
	return query_ledger(q, since_ns(args), (int)value_integer(args, "link", QUERY_ALL),
			    limit_of(args), ret_json);
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
	{"param.history", ask_history}, {"ledger.show", ask_ledger},
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

static int fail_query(struct ctl *ctl, const char *op, const json_t *args, int err,
		      const char *words)
{
	if (err == -ENOENT && strcmp(op, "command.show") == 0) {
		return ctl_fail(ctl, CTL_USAGE, "usage", "fcmctl command list shows the last ones",
				"there is no command %lld in the journal",
				value_integer(args, "command", 0));
	}
	if (err == -ENOENT && strcmp(op, "param.history") == 0) {
		return ctl_fail(ctl, CTL_USAGE, "usage",
				"names are like tower1.floor3.om2.hv, link2.phase, clock.state",
				"the database has never seen a parameter '%s'",
				value_string(args, "name", ""));
	}
	if (err == -ENOTUNIQ) {
		return ctl_fail(ctl, CTL_USAGE, "usage", "say the tower: tower1.floor3...",
				"'%s' is ambiguous", value_string(args, "name", ""));
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

int ctl_away_ask(struct ctl *ctl, const char *op, const json_t *args, json_t **ret_result)
{
	struct sc_error error = {0};
	struct query *q = NULL;
	char when[32];
	char span[32];
	double last;
	int err = query_open(ctl->station.database, &q, &error);
	int code = CTL_DONE;

	if (err != 0) {
		return fail_open(ctl, &error, err);
	}
	err = -ENOSYS;
	for (size_t i = 0; i < sizeof(questions) / sizeof(questions[0]); i++) {
		if (strcmp(questions[i].op, op) == 0) {
			err = questions[i].ask(q, args, ret_result);
			break;
		}
	}
	if (err != 0) {
		code = fail_query(ctl, op, args, err, query_error(q));
	} else if (ctl_away_since(ctl, &last) == 0) {
		ctl_remark("the daemon is away since %s UTC (%s); this is from %s",
			   ctl_time_text(last, 0, when, sizeof(when)),
			   ctl_span_text(ctl_now() - last, span, sizeof(span)),
			   ctl->station.database);
	} else {
		ctl_remark("the daemon is away; this is from %s", ctl->station.database);
	}
	query_close(q);
	return code;
}
