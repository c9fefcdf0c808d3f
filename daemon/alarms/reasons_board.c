// SPDX-License-Identifier: GPL-2.0-or-later
/* Reasons of the board, of this machine, of sockets, of what is written to disk. */
#include <stdio.h>

#include "daemon/alarms/private.h"

#define BACK_SHOWN_NS	 600000000000ull
#define TICK_STUCK_NS	 1000000000ull
#define LATE_SHOWN_NS	 60000000000ull
#define DISK_LOW	 0.05		/* of a disk, */
#define DISK_LOW_BYTES	 10e9		/* and of a large one this: weeks of the database */
#define NOTIFY_SILENT_NS 60000000000ull /* it reports once a second */

/* Its counts restarted while it was away: the rings, and what the floors sent meanwhile, are in no account. */
static void back_reason(struct judge *j)
{
	static const char action[] =
		"nothing to do at the fibres; which time: fcmctl ledger show; why it went: dmesg";
	const struct judge_view *v = j->v;
	char text[128];

	if (v->board.restarted_ns < v->board.gone_ns || !v->board.gone_ns ||
	    v->now_ns - v->board.back_ns > BACK_SHOWN_NS) {
		return;
	}
	snprintf(text, sizeof(text),
		 "the board was gone and its counts restarted: about %.1f s of all links are not "
		 "accounted for",
		 (double)(v->board.back_ns - v->board.gone_ns) / 1e9);
	if (j->back_reported_ns != v->board.back_ns) {
		j->back_reported_ns = v->board.back_ns;
		judge_put_event(j, "warning", "board-back", object_thing("board"), text, action,
				NULL);
	}
	reasons_add_at(j, "board-back", object_thing("board"), v->board.back_ns, 0, action, "%s",
		       text);
}

/* `ran_ns`: when the thread reported for the last time; 0: never yet. */
static void stuck_reason(struct judge *j, const char *code, const char *thread, uint64_t ran_ns)
{
	double since_s = judge_seconds_since(j, ran_ns);

	if (ran_ns && since_s * 1e9 > (double)TICK_STUCK_NS) {
		reasons_add(
			j, true, code, object_thing(thread),
			"systemd's watchdog restarts the daemon; see journalctl -u fcm-server@N",
			"the %s thread has not run for %.1f s", thread, since_s);
	}
}

void reasons_board(struct judge *j)
{
	if (!j->v->board.present) {
		reasons_add(j, true, "board-gone", object_thing("board"),
			    "check lspci, dmesg and the module nanet3; the daemon re-opens it by "
			    "itself",
			    "the board at %s is gone", j->v->config.device);
		return;
	}
	back_reason(j);
	if (j->v->board.stalled) {
		j->stalled_at_ns = j->v->now_ns;
		reasons_add(j, true, "board-stalled", object_thing("board"),
			    "if it does not recover within seconds, reload the module nanet3 or "
			    "power-cycle the board",
			    "the board's DMA has stalled: it hands over no data");
	}
	stuck_reason(j, "capture-stuck", "capture", j->v->capture_tick_ns);
	stuck_reason(j, "publisher-stuck", "publisher", j->v->publisher->at_ns);
}

/* The machine did not run us: links then look silent and consumers slow, but are not. */
void reasons_machine(struct judge *j)
{
	const struct judge_view *v = j->v;

	if (v->late.ns && v->now_ns - v->late.at_ns < LATE_SHOWN_NS) {
		reasons_add_at(
			j, "machine-late", object_thing("machine"), v->late.at_ns, v->late.ns,
			"what else runs on this PC? top, vmstat 1. Links seen as silent and "
			"consumers dropped as slow in that time are its doing",
			"the daemon did not get to run for %.1f s", (double)v->late.ns / 1e9);
	}
}

bool board_just_stalled(const struct judge *j)
{
	return j->stalled_at_ns && j->v->now_ns - j->stalled_at_ns < 3 * LINK_SILENT_NS;
}

static void disk_reasons(struct judge *j)
{
	const struct disk_status *v = &j->v->disk;
	uint64_t now = j->v->now_ns;

	if (v->asked_ns && now - v->asked_ns > DISK_HANGS_NS) {
		reasons_add(
			j, true, "disk-hangs", object_thing("disk"),
			"look at the disk: dmesg, iostat. What makes safer (fcmctl safe) does not "
			"need it",
			"the disk of %s has not answered for %.1f s; other commands wait for it",
			j->v->config.database, (double)(now - v->asked_ns) / 1e9);
	}
	if (v->known && v->free_bytes < DISK_LOW * v->size_bytes &&
	    v->free_bytes < DISK_LOW_BYTES) {
		reasons_add(j, true, "disk-low", object_thing("disk"),
			    "free space on it; what recordings take: fcmctl record list",
			    "less than %.0f %% and less than %.0f GB of the disk of %s are free",
			    DISK_LOW * 100, DISK_LOW_BYTES / 1e9, j->v->config.database);
	}
}

/* Nobody would hear of what is wrong. Only where fcm-notify has reported once since our start. */
static void notices_reasons(struct judge *j)
{
	const struct judge_notices *v = &j->v->notices;
	uint64_t silent = j->v->now_ns - v->reported_ns;

	if (!v->reported_ns) {
		return;
	}
	if (silent > NOTIFY_SILENT_NS) {
		reasons_add(
			j, false, "notify-failing", object_thing("notify"),
			"start it again: systemctl status 'fcm-notify@*'",
			"fcm-notify has not reported for %.0f s: no notices of incidents are sent",
			(double)silent / 1e9);
	} else if (v->failing[0]) {
		reasons_add(j, false, "notify-failing", object_thing("notify"),
			    "look at that program, mail or network; then fcmctl notify test",
			    "cannot be notified of incidents, %u notices wait: %s", v->waiting,
			    v->failing);
	}
}

static void emergency_reasons(struct judge *j)
{
	const struct emergency_status *v = &j->v->emergency;

	if (v->rows > 0 || v->folded > 0) {
		reasons_add(j, false, "emergency-rows", object_thing("store"),
			    "none for these: they are stored when the database answers",
			    "what made safer was sent before it was journaled: %u rows and %llu "
			    "commands without rows wait in the emergency journal",
			    v->rows, (unsigned long long)v->folded);
	}
	if (v->own_memory) {
		reasons_add(
			j, false, "emergency-memory", object_thing("store"),
			"make its directory, of the daemon's user, on a tmpfs: [store] emergency",
			"the emergency journal cannot be mapped (%s): what it holds does not "
			"survive the daemon",
			v->error);
	}
	if (v->dropped > 0) {
		reasons_add(j, true, "emergency-full", object_thing("store"),
			    "the system log names the commands",
			    "%llu rows did not fit into the emergency journal and are not recorded",
			    (unsigned long long)v->dropped);
	}
}

void reasons_store(struct judge *j)
{
	const struct store_status *v = &j->v->store;
	struct observation failing = {.red = true,
				      .code = "store-failing",
				      .object = object_thing("store"),
				      .advice = "%s It is tried again by itself",
				      .with = v->last_error_hint};

	if (v->away) {
		observe(j, &failing,
			"%s; commands are refused, except what makes safer; %llu rows wait in "
			"memory",
			v->last_error_text, (unsigned long long)v->queued);
	} else if (v->failing) {
		struct sc_trouble t = journal_trouble(v->last_error);

		failing.with = t.action;
		observe(j, &failing,
			"the database %s cannot be written: %s; commands are refused, except what "
			"makes safer",
			j->v->config.database, t.what);
	} else if (v->lag_ns > 5000000000ull) {
		reasons_add(j, true, "store-lag", object_thing("store"), "is the disk slow? iostat",
			    "rows wait for %.1f s to be written", (double)v->lag_ns / 1e9);
	}
	if (v->damage[0]) {
		reasons_add(j, true, "store-damaged", object_thing("store"),
			    "fcmctl doctor --deep; it names the command that saves what can be "
			    "read",
			    "the database %s is damaged: %s", j->v->config.database, v->damage);
	}
	if (v->keep_failing && !v->failing) {
		reasons_add(j, false, "store-keep", object_thing("store"),
			    "a clock: set it right, or restart the daemon if it is; else look at "
			    "the disk. The file grows until this is well again",
			    "old rows of %s cannot be rolled up: %s", j->v->config.database,
			    v->keep_error_text);
	}
	if (v->given_up || v->refused || j->v->reports_lost) {
		reasons_add(j, true, "store-lost", object_thing("store"),
			    "keep the system log: what the database misses stands there; look at "
			    "the disk",
			    "rows lost since the start: %llu given up, %llu refused by a full "
			    "queue, %llu reports of capture",
			    (unsigned long long)v->given_up, (unsigned long long)v->refused,
			    (unsigned long long)j->v->reports_lost);
	}
	disk_reasons(j);
	notices_reasons(j);
	emergency_reasons(j);
}

void reasons_doors(struct judge *j)
{
	if (*j->v->closed_doors) {
		reasons_add(j, true, "door-not-open", object_thing("doors"),
			    "which program listens there? ss -ltnp; end it: the daemon tries again "
			    "each second",
			    "nobody can connect to %s", j->v->closed_doors);
	}
}

void reasons_recorder(struct judge *j)
{
	const struct judge_recorder *v = &j->v->recorder;

	if (v->failed) {
		reasons_add(j, true, "record-stopped", object_thing("recorder"), v->failed_action,
			    "%s", v->failed);
	}
	if (v->let_go) {
		reasons_add(j, false, "record-let-go", object_thing("recorder"),
			    v->several_links
				    ? "the disk or the machine is too slow, each link is 80 MB/s: "
				      "iostat -x 1, top; another disk ([record] directory), or "
				      "fewer links"
				    : "the disk or the machine is too slow, a link is 80 MB/s: "
				      "iostat -x 1, top; another disk ([record] directory)",
			    "the recorder did not keep up and has let go of %llu cells of "
			    "recording %s; data and consumers are not touched",
			    (unsigned long long)v->let_go_cells, v->name);
	}
}
