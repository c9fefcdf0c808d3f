// SPDX-License-Identifier: GPL-2.0-or-later
/* Status as metrics: one table says which member of status (schemas/control.md) is which metric. */
#include <stdlib.h>
#include <string.h>

#include "slowctl/metrics/private.h"

#define INCIDENTS_MAX 256u /* that have a sample of their own */

/* The objects that rows are about. */
enum scope { STATION, LINK, PHASE, GROUP, SCOPES };

static const struct {
	const char *list; /* a list of status; NULL: status itself */
	const char *labels;
} scopes[SCOPES] = {
	[STATION] = {NULL, ""},
	[LINK] = {"links", "link tower floor"},
	[PHASE] = {"phases", "link tower floor"},
	[GROUP] = {"groups", "group"},
};

/* A metric. `key`: the value is an object; each of its keys is a label of this name, and `member`, where there is one, of
 * each of its values. */
struct row {
	const char *name;
	enum metrics_type type;
	enum scope scope;
	const char *path, *key, *member;
	const char *help;
	double divide;	  /* into base units; 0: as it is */
	const char *word; /* the value is a text: 1 if it is this one */
};

#define GAUGE	METRICS_GAUGE
#define COUNTER METRICS_COUNTER

static const struct row rows[] = {
	{"fcm_uptime_seconds", GAUGE, STATION, "uptime_s", .help = "time since the daemon's start"},
	{"fcm_clock_gpsd_connected", GAUGE, STATION, "clock.gpsd.connected",
	 .help = "1: gpsd is connected"},
	{"fcm_clock_gpsd_fix", GAUGE, STATION, "clock.gpsd.fix",
	 .help = "1: the receiver has a fix"},
	{"fcm_clock_gpsd_age_seconds", GAUGE, STATION, "clock.gpsd.age_s",
	 .help = "time since gpsd's last report"},
	{"fcm_clock_pps_age_seconds", GAUGE, STATION, "clock.pps.age_s",
	 .help = "time since the board's last pulse per second"},
	{"fcm_clock_system_offset_seconds", GAUGE, STATION, "clock.system_offset_s",
	 .help = "system clock minus the label of the frames"},
	{"fcm_clock_leap_table_expired", GAUGE, STATION, "clock.leap.table_expired",
	 .help = "1: the table of leap seconds has expired"},
	{"fcm_clock_relabels_total", COUNTER, STATION, "clock.relabels",
	 .help = "times that frames got another label, since the daemon's start"},
	{"fcm_clock_rejects_total", COUNTER, STATION, "clock.rejects",
	 .help = "times from gpsd that were refused, since the daemon's start"},
	{"fcm_link_frames_total", COUNTER, LINK, "cells", "verdict",
	 .help = "frames of the link by verdict, good or a loss of the ledger, since the daemon's "
		 "start"},
	{"fcm_link_data_age_seconds", GAUGE, LINK, "age_s",
	 .help = "time since the last good frame"},
	{"fcm_link_locked", GAUGE, LINK, "locked",
	 .help = "1: the board is locked to the link's clock"},
	{"fcm_link_bytes_per_second", GAUGE, LINK, "bytes_per_s",
	 .help = "data of the link, mean of 3 s"},
	{"fcm_link_downlink_errors_total", COUNTER, LINK, "downlink_errors",
	 .help = "frames that the floor received damaged, since the daemon's start"},
	{"fcm_link_lost_locks_total", COUNTER, LINK, "lost_locks",
	 .help = "times that the link lost its lock, by the board's count"},
	{"fcm_link_aligns_total", COUNTER, LINK, "aligns", .help = "alignments of the link"},
	{"fcm_link_item_faults_total", COUNTER, LINK, "item_faults",
	 .help = "good frames with an item that cannot be read"},
	{"fcm_link_ring_buffers", GAUGE, LINK, "ring.depth",
	 .help = "buffers of the ring between board and daemon"},
	{"fcm_link_ring_used_buffers", GAUGE, LINK, "ring.used",
	 .help = "buffers of the ring that are not released yet"},
	{"fcm_link_phase_mean_seconds", GAUGE, PHASE, "mean_ps", .divide = 1e12,
	 .help = "mean phase since the lock, of 600 s at most"},
	{"fcm_link_phase_sigma_seconds", GAUGE, PHASE, "sigma_ps", .divide = 1e12,
	 .help = "standard deviation of the phase since the lock, of 600 s at most"},
	{"fcm_link_phase_age_seconds", GAUGE, PHASE, "age_s",
	 .help = "time since the last sample of the phase"},
	{"fcm_link_relocks_total", COUNTER, PHASE, "relocks", .help = "locks, the first one, too"},
	{"fcm_link_phase_passes_total", COUNTER, PHASE, "passes",
	 .help = "re-locks with verdict PASS"},
	{"fcm_link_phase_slips_total", COUNTER, PHASE, "slips",
	 .help = "re-locks with verdict SLIP"},
	{"fcm_link_phase_jumps_total", COUNTER, PHASE, "jumps", .help = "verdicts JUMP"},
	{"fcm_link_phase_drifts_total", COUNTER, PHASE, "drifts", .help = "verdicts DRIFT"},
	{"fcm_group_members", GAUGE, GROUP, "members", .help = "consumers of the group"},
	{"fcm_group_offered_blocks_total", COUNTER, GROUP, "offered",
	 .help = "blocks for the group, since the daemon's start"},
	{"fcm_group_acknowledged_blocks_total", COUNTER, GROUP, "acknowledged",
	 .help = "blocks that the group has acknowledged"},
	{"fcm_group_acknowledged_bytes_total", COUNTER, GROUP, "acknowledged_bytes",
	 .help = "data that the group has acknowledged"},
	{"fcm_group_dropped_frames_total", COUNTER, GROUP, "dropped", "outcome", "frames",
	 .help = "frames that the group did not get, by outcome of the ledger"},
	{"fcm_group_dropped_blocks_total", COUNTER, GROUP, "dropped", "outcome", "blocks",
	 .help = "blocks that the group did not get, by outcome of the ledger"},
	{"fcm_group_in_flight_blocks", GAUGE, GROUP, "in_flight",
	 .help = "blocks that are sent and not acknowledged yet"},
	{"fcm_group_waiting_blocks", GAUGE, GROUP, "waiting",
	 .help = "blocks that wait for a consumer's credit"},
	{"fcm_group_held_bytes", GAUGE, GROUP, "held_bytes",
	 .help = "memory of the blocks that the group holds"},
	{"fcm_group_budget_bytes", GAUGE, GROUP, "budget_bytes",
	 .help = "memory that the group may hold"},
	{"fcm_group_oldest_seconds", GAUGE, GROUP, "oldest_s",
	 .help = "age of the group's oldest block"},
	{"fcm_group_disconnected_total", COUNTER, GROUP, "disconnected",
	 .help = "consumers of the group that were disconnected"},
	{"fcm_store_failing", GAUGE, STATION, "store.state", .word = "failing",
	 .help = "1: the database cannot be written"},
	{"fcm_store_damaged", GAUGE, STATION, "store.state", .word = "damaged",
	 .help = "1: a part of the database is damaged or cannot be read"},
	{"fcm_store_errors_total", COUNTER, STATION, "store.errors",
	 .help = "writes of the database that failed, since the daemon's start"},
	{"fcm_capture_tick_age_seconds", GAUGE, STATION, "capture.tick_age_s",
	 .help = "time since the capture thread last reported"},
	{"fcm_capture_pool_used_bytes", GAUGE, STATION, "capture.pool_in_use",
	 .help = "block memory in use"},
	{"fcm_capture_pool_bytes", GAUGE, STATION, "capture.pool_bytes", .help = "block memory"},
	{"fcm_capture_reports_lost_total", COUNTER, STATION, "capture.reports_lost",
	 .help = "reports of the capture thread that had no room"},
	{"fcm_commands_open", GAUGE, STATION, "commands.open",
	 .help = "commands that have not ended"},
	{"fcm_commands_unknown", GAUGE, STATION, "commands.unknown",
	 .help = "commands with unknown outcome"},
	{"fcm_recording_active", GAUGE, STATION, "recording.active",
	 .help = "1: a recording is active"},
	{"fcm_recording_bytes_total", COUNTER, STATION, "recording.bytes",
	 .help = "data of the newest recording"},
	{"fcm_recording_let_go_frames_total", COUNTER, STATION, "recording.let_go_frames",
	 .help = "frames of the newest recording that the recorder did not keep up with"},
	{"fcm_recording_free_bytes", GAUGE, STATION, "recording.free_bytes",
	 .help = "space for recordings"},
	{"fcm_black_boxes_total", COUNTER, STATION, "recording.black_boxes", "outcome",
	 .help = "black boxes by outcome, since the daemon's start"},
	{"fcm_control_crowded_total", COUNTER, STATION, "control.crowded",
	 .help = "connections to the control socket that were closed because there were too many"},
	{"fcm_control_strangers_total", COUNTER, STATION, "control.strangers",
	 .help = "connections of users in none of the groups"},
	{"fcm_control_refused_role_total", COUNTER, STATION, "control.refused_role",
	 .help = "requests that the client's role does not allow"},
	{"fcm_network_clients", GAUGE, STATION, "control.network.clients",
	 .help = "clients of the network's control door"},
	{"fcm_network_requests_total", COUNTER, STATION, "control.network.requests",
	 .help = "requests over the network"},
	{"fcm_network_refused_key_total", COUNTER, STATION, "control.network.refused_key",
	 .help = "clients of the network that were refused by their key"},
	{"fcm_network_refused_rate_total", COUNTER, STATION, "control.network.refused_rate",
	 .help = "requests over the network beyond their limits"},
};
#define ROWS (sizeof(rows) / sizeof(rows[0]))

/* ------------------------------------------------------------------ members of status */

/* "clock.gpsd.age_s"; NULL: there is none. */
static const json_t *member(const json_t *object, const char *path)
{
	char name[48];
	size_t length;

	for (; object && *path; path += length + (path[length] == '.')) {
		length = strcspn(path, ".");
		snprintf(name, sizeof(name), "%.*s", (int)length, path);
		object = json_object_get(object, name);
	}
	return object;
}

static const char *text_of(const json_t *object, const char *path)
{
	const char *text = json_string_value(member(object, path));

	return text ? text : "";
}

void metrics_floor_of(const json_t *status, json_int_t link, json_int_t *ret_tower,
		      json_int_t *ret_floor)
{
	size_t n;
	const json_t *l;

	*ret_tower = *ret_floor = 0;
	json_array_foreach (json_object_get(status, "links"), n, l) {
		if (json_integer_value(json_object_get(l, "link")) == link) {
			*ret_tower = json_integer_value(member(l, "expected.tower"));
			*ret_floor = json_integer_value(member(l, "expected.floor"));
		}
	}
}

/* ------------------------------------------------------------------ rows */

static struct metrics_labels labels_of(enum scope scope, const json_t *status, const json_t *object)
{
	struct metrics_labels labels = {0};
	json_int_t link, tower, floor;

	if (scope == LINK || scope == PHASE) {
		link = json_integer_value(json_object_get(object, "link"));
		metrics_floor_of(status, link, &tower, &floor);
		metrics_label_number(&labels, "link", link);
		if (floor) {
			metrics_label_number(&labels, "tower", tower);
			metrics_label_number(&labels, "floor", floor);
		}
	} else if (scope == GROUP) {
		metrics_label(&labels, "group", text_of(object, "group"));
	}
	return labels;
}

static void write_number(struct metrics_text *t, const struct row *r,
			 const struct metrics_labels *labels, const json_t *value)
{
	if (r->word && json_is_string(value)) {
		metrics_sample(t, labels, strcmp(json_string_value(value), r->word) == 0);
	} else if (r->divide != 0 && json_is_number(value)) {
		metrics_sample(t, labels, json_number_value(value) / r->divide);
	} else {
		metrics_json(t, labels, value);
	}
}

static void write_row(struct metrics_text *t, const struct row *r,
		      const struct metrics_labels *labels, const json_t *object)
{
	json_t *value = (json_t *)(uintptr_t)member(object, r->path);
	const char *key;
	json_t *each;

	if (!r->key) {
		write_number(t, r, labels, value);
		return;
	}
	json_object_foreach (value, key, each) {
		struct metrics_labels its = *labels;

		metrics_label(&its, r->key, key);
		write_number(t, r, &its, r->member ? json_object_get(each, r->member) : each);
	}
}

static void write_rows(struct metrics_text *t, const json_t *status)
{
	for (size_t n = 0; n < ROWS; n++) {
		const struct row *r = &rows[n];
		const char *list = scopes[r->scope].list;
		struct metrics_labels labels = {0};
		size_t i;
		const json_t *object;

		metrics_family(t, r->name, r->type, r->help);
		if (!list) {
			write_row(t, r, &labels, status);
		}
		json_array_foreach (list ? json_object_get(status, list) : NULL, i, object) {
			labels = labels_of(r->scope, status, object);
			write_row(t, r, &labels, object);
		}
	}
}

/* ------------------------------------------------------------------ what is no number */

/* Each name and help is written once: the list of metrics needs them, too. */
enum special { INFO, LINK_INFO, STATE, MODULES, INCIDENT, NOT_SHOWN };

static const struct row specials[] = {
	[INFO] = {"fcm_station_info",
		  .help = "number of the board, name and version of the station",
		  .key = "number name version"},
	[LINK_INFO] = {"fcm_link_info", .help = "name of the link, as configured",
		       .key = "link tower floor name"},
	[STATE] = {"fcm_station_state", .help = "state word of the station, by its incidents",
		   .key = "state"},
	[MODULES] = {"fcm_modules",
		     .help = "optical modules by state: low is HV far below what is set",
		     .key = "state"},
	[INCIDENT] = {"fcm_incident", .help = "incidents that are not cleared",
		      .key = "code object severity state"},
	[NOT_SHOWN] = {"fcm_incidents_left_out",
		       .help = "observations and incidents without a sample"},
};

static void begin(struct metrics_text *t, enum special s)
{
	metrics_family(t, specials[s].name, METRICS_GAUGE, specials[s].help);
}

static void write_infos(struct metrics_text *t, const json_t *status)
{
	struct metrics_labels labels = {0};
	size_t n;
	const json_t *l;

	begin(t, INFO);
	/* Not board: that is the target's own, and Prometheus would rename this one. */
	metrics_label_number(&labels, "number", json_integer_value(member(status, "board")));
	metrics_label(&labels, "name", text_of(status, "name"));
	metrics_label(&labels, "version", text_of(status, "version"));
	metrics_sample(t, &labels, 1);
	begin(t, LINK_INFO);
	json_array_foreach (json_object_get(status, "links"), n, l) {
		labels = labels_of(LINK, status, l);
		metrics_label(&labels, "name", text_of(l, "name"));
		metrics_sample(t, &labels, 1);
	}
}

static void write_modules(struct metrics_text *t, const json_t *status)
{
	const char *key;
	json_t *value, *modules = json_object_get(status, "modules");

	begin(t, MODULES);
	json_object_foreach (modules, key, value) {
		struct metrics_labels labels = {0};

		if (strcmp(key, "count") != 0) {
			metrics_label(&labels, "state", key);
			metrics_sample(t, &labels,
				       json_is_array(value) ? (double)json_array_size(value)
							    : json_number_value(value));
		}
	}
}

static bool same_incident(const json_t *a, const json_t *b)
{
	static const char *const keys[] = {"code", "object", "severity", "state"};

	for (size_t n = 0; n < sizeof(keys) / sizeof(keys[0]); n++) {
		if (strcmp(text_of(a, keys[n]), text_of(b, keys[n])) != 0) {
			return false;
		}
	}
	return true;
}

/* How many are like incident `n`; 0: an earlier one was. */
static unsigned alike(const json_t *list, size_t n)
{
	unsigned count = 0;

	for (size_t i = 0; i < json_array_size(list); i++) {
		if (same_incident(json_array_get(list, i), json_array_get(list, n))) {
			if (i < n) {
				return 0;
			}
			count++;
		}
	}
	return count;
}

static void write_incidents(struct metrics_text *t, const json_t *status)
{
	static const char *const words[] = {"RED", "ATTENTION", "WELL", NULL};
	const json_t *list = member(status, "incidents.list");
	double left_out = json_number_value(member(status, "incidents.left_out"));

	begin(t, STATE);
	metrics_states(t, NULL, words, text_of(status, "incidents.word"));
	begin(t, INCIDENT);
	for (size_t n = 0; n < json_array_size(list); n++) {
		const json_t *i = json_array_get(list, n);
		unsigned count = n < INCIDENTS_MAX ? alike(list, n) : 0;
		struct metrics_labels labels = {0};

		if (strcmp(text_of(i, "state"), "cleared") == 0) {
			continue;
		}
		left_out += n >= INCIDENTS_MAX;
		if (count > 0) {
			metrics_label(&labels, "code", text_of(i, "code"));
			metrics_label(&labels, "object", text_of(i, "object"));
			metrics_label(&labels, "severity", text_of(i, "severity"));
			metrics_label(&labels, "state", text_of(i, "state"));
			metrics_sample(t, &labels, count);
		}
	}
	begin(t, NOT_SHOWN);
	metrics_sample(t, NULL, left_out);
}

void metrics_status(struct metrics_text *t, const json_t *status)
{
	if (status) {
		write_infos(t, status);
		write_incidents(t, status);
		write_modules(t, status);
		write_rows(t, status);
	}
}

void metrics_status_list(FILE *out)
{
	char labels[96];

	for (size_t n = 0; n < sizeof(specials) / sizeof(specials[0]); n++) {
		metrics_list_line(out, specials[n].name, METRICS_GAUGE,
				  specials[n].key ? specials[n].key : "", specials[n].help);
	}
	for (size_t n = 0; n < ROWS; n++) {
		const char *its = scopes[rows[n].scope].labels;

		snprintf(labels, sizeof(labels), "%s%s%s", its, *its && rows[n].key ? " " : "",
			 rows[n].key ? rows[n].key : "");
		metrics_list_line(out, rows[n].name, rows[n].type, labels, rows[n].help);
	}
}
