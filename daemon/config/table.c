// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The typed table of all options. The one list: reading, checking, printing, the example and the reload
 * go by it, and a test holds the manual page against it.
 */
#include "daemon/config/private.h"

#include <string.h>

#include "schemas/fcm_data.h"

static const char *const day_origins[] = {"0", "1", NULL};
static const char *const holdovers[] = {"rb", "ocxo-good", "ocxo", "tcxo", NULL};
static const char *const streams[] = {FCM_STREAM_NAMES, NULL};
static const char *const links[] = {"0", "1", "2", "3", NULL};
static const char *const policies[] = {FCM_POLICY_NAMES, NULL};

#define AT(type, field)	 .offset = offsetof(type, field), .size = sizeof(((type *)0)->field)
#define IN(field)	 AT(struct config, field)
#define GROUP(field)	 AT(struct config_group, field)
#define LINK(field)	 AT(struct config_link, field)
#define RANGE(low, high) .min = (low), .max = (high)

const struct option config_options[] = {
	{"board", "device", OPTION_STRING, IN(board.device), .value = "/dev/nanet3-%N",
	 .restart = true,
	 .help = "The board: a character device, or unix:PATH for the emulator's socket."},

	{"data", "block_frames", OPTION_U32, IN(data.block_frames), .value = "80", RANGE(8, 1600),
	 .restart = true, .unit = "frames",
	 .help = "Frames of 125 us in a data message; a divisor of 1600."},
	{"data", "tick_us", OPTION_U32, IN(data.tick_us), .value = "2000", RANGE(1000, 20000),
	 .restart = true, .unit = "us", .help = "How often the capture thread wakes."},
	{"data", "pool_mb", OPTION_U32, IN(data.pool_mb), .value = "512", RANGE(16, 65536),
	 .restart = true, .unit = "MiB",
	 .help = "Memory for data on its way to consumers; used only as far as needed."},
	{"data", "day_origin", OPTION_CHOICE, IN(data.day_origin), .value = "0",
	 .choices = day_origins, .restart = true,
	 .help = "Number of 1 January in the hits' day of year: 0 as TriDAS counts, 1 as IRIG-B."},
	{"data", "reserved_endpoint", OPTION_ENDPOINT, IN(data.reserved_endpoint),
	 .value = "tcp://127.0.0.1:%(5710+N)", .restart = true,
	 .help = "Where reserved consumers (trigger, acoustics) connect; by default port 5710 + "
		 "N."},
	{"data", "monitor_endpoint", OPTION_ENDPOINT, IN(data.monitor_endpoint),
	 .value = "tcp://127.0.0.1:%(5730+N)", .may_be_empty = true, .restart = true,
	 .help = "Where monitors subscribe; by default port 5730 + N; empty: nowhere."},
	{"data", "monitor_hwm", OPTION_U32, IN(data.monitor_hwm), .value = "32", RANGE(1, 10000),
	 .restart = true, .unit = "messages",
	 .help = "Messages queued for one monitor before it misses some."},
	{"data", "consumer_dead_ms", OPTION_U32, IN(data.consumer_dead_ms), .value = "3000",
	 RANGE(1500, 60000), .restart = true, .unit = "ms",
	 .help = "Silence after which a reserved consumer counts as dead; it owes a sign of life "
		 "each second."},
	{"data", "curve", OPTION_BOOL, IN(data.curve), .value = "no", .restart = true,
	 .help = "Whether both endpoints encrypt, and ask for keys: the daemon's own and the "
		 "consumers' are those of [network] key_file and allow_list."},
	{"data", "insecure", OPTION_BOOL, IN(data.insecure), .value = "no", .restart = true,
	 .help = "Whether an endpoint may be beyond this machine without curve: whoever reaches "
		 "it can take the data, and the place of a consumer. Status warns of it."},

	{"feed", "enabled", OPTION_BOOL, IN(feed.enabled), .value = "no", .restart = true,
	 .help = "Whether hits are given out as plain TriDAS data frames over TCP, a port a "
		 "floor."},
	{"feed", "address", OPTION_STRING, IN(feed.address), .value = "127.0.0.1", .restart = true,
	 .help = "Where to listen: an IPv4 or IPv6 address of this machine, as a number. Anyone "
		 "who reaches it can read."},
	{"feed", "base_port", OPTION_U32, IN(feed.base_port), .value = "5600", RANGE(1, 65535),
	 .restart = true,
	 .help = "The floor on link L of board N has the port base_port + 4 x N + L."},
	{"feed", "budget_mb", OPTION_U32, IN(feed.budget_mb), .value = "32", RANGE(1, 65536),
	 .restart = true, .unit = "MiB",
	 .help = "A reader that is behind by more, or by more than half a ring, is disconnected."},

	{"clock", "gpsd_host", OPTION_STRING, IN(clock.gpsd_host), .value = "127.0.0.1",
	 .restart = true, .help = "Host of gpsd."},
	{"clock", "gpsd_port", OPTION_U32, IN(clock.gpsd_port), .value = "2947", RANGE(1, 65535),
	 .restart = true, .help = "Port of gpsd."},
	{"clock", "leap_file", OPTION_STRING, IN(clock.leap_file),
	 .value = "/usr/share/zoneinfo/leap-seconds.list", .restart = true,
	 .help = "Table of leap seconds: TAI-UTC comes from it."},
	{"clock", "silence_ms", OPTION_U32, IN(clock.silence_ms), .value = "3000",
	 RANGE(1200, 60000), .restart = true, .unit = "ms",
	 .help = "A source that labels no second for so long is silent."},
	{"clock", "confirm", OPTION_U32, IN(clock.confirm), .value = "3", RANGE(1, 60),
	 .restart = true, .unit = "labels",
	 .help = "Labels in a row that must agree with the board's count before it is locked."},
	{"clock", "holdover", OPTION_CHOICE, IN(clock.holdover), .value = "ocxo",
	 .choices = holdovers, .restart = true,
	 .help = "Oscillator behind the board's reference: how fast uncertainty grows without "
		 "GPS."},
	{"clock", "receiver_ns", OPTION_U32, IN(clock.receiver_ns), .value = "50",
	 RANGE(1, 1000000), .restart = true, .unit = "ns",
	 .help = "Uncertainty of the receiver's second."},
	{"clock", "holdover_limit_ns", OPTION_U32, IN(clock.holdover_limit_ns), .value = "62500",
	 RANGE(100, 500000000), .restart = true, .unit = "ns",
	 .help = "Uncertainty at which holdover ends and data carry no time; half a frame: beyond "
		 "it the frame's own number is in doubt."},
	{"clock", "system_clock", OPTION_BOOL, IN(clock.system_clock), .value = "yes",
	 .restart = true,
	 .help = "Whether the synchronised system clock may label when neither gpsd nor the floors "
		 "do."},
	{"clock", "far_s", OPTION_U32, IN(clock.far_s), .value = "10", RANGE(0, 1000000),
	 .restart = true, .unit = "s",
	 .help = "A new label further from the synchronised system clock is not believed; 0: do "
		 "not compare."},
	{"clock", "system_tolerance_ms", OPTION_U32, IN(clock.system_tolerance_ms), .value = "500",
	 RANGE(0, 1000000), .restart = true, .unit = "ms",
	 .help = "The synchronised system clock may be so far from the time in use before status "
		 "warns, and (or 500 ms, if that is more) from the first label; 0: it is not "
		 "asked."},
	{"clock", "earliest", OPTION_DATE, IN(clock.earliest_utc_s), .value = "2026-01-01",
	 RANGE(946684800, 4102444799.0), /* 2000 to 2099 */
	 .restart = true, .help = "No date before this is believed: receivers jump 1024 weeks."},

	{"phase", "tolerance_ps", OPTION_DOUBLE, IN(phase.tolerance_ps), .value = "100",
	 RANGE(1, 600), .restart = true, .unit = "ps",
	 .help = "A re-lock within this of the reference passes."},
	{"phase", "drift_ps", OPTION_DOUBLE, IN(phase.drift_ps), .value = "300", RANGE(1, 6000),
	 .restart = true, .unit = "ps",
	 .help = "The mean may move so far from the reference before it is called a drift."},
	{"phase", "relock_samples", OPTION_U32, IN(phase.relock_samples), .value = "5",
	 RANGE(1, 64), .restart = true, .unit = "samples",
	 .help = "Samples of a new lock that are averaged before it is judged."},

	{"slowctl", "dictionary", OPTION_STRING, IN(slowctl.dictionary),
	 .value = FCM_DATADIR "/parameters.conf", .restart = true,
	 .help = "The parameter dictionary."},
	{"slowctl", "site_dictionary", OPTION_STRING, IN(slowctl.site_dictionary), .value = "",
	 .may_be_empty = true, .restart = true,
	 .help = "What this site has otherwise than the dictionary: a file, or a directory of "
		 "*.conf; empty: nothing."},
	{"slowctl", "poll", OPTION_BOOL, IN(slowctl.poll), .value = "yes", .restart = true,
	 .help = "Whether the floors' parameters are read regularly."},
	{"slowctl", "reply_timeout_ms", OPTION_U32, IN(slowctl.reply_timeout_ms), .value = "500",
	 RANGE(10, 60000), .restart = true, .unit = "ms",
	 .help = "A request unanswered for so long is asked after."},

	{"control", "socket", OPTION_STRING, IN(control.socket),
	 .value = "/run/fcm-server/%N/control.sock", .restart = true,
	 .help = "Unix socket for fcmctl."},
	{"control", "socket_group", OPTION_STRING, IN(control.socket_group), .value = "",
	 .may_be_empty = true,
	 .help = "Group whose members are operators; empty: the daemon's own. While neither of the "
		 "next two is set, they are experts."},
	{"control", "expert_group", OPTION_STRING, IN(control.expert_group), .value = "",
	 .may_be_empty = true,
	 .help = "Group whose members are experts, as root is; empty: only root is."},
	{"control", "reader_group", OPTION_STRING, IN(control.reader_group), .value = "",
	 .may_be_empty = true, .help = "Group whose members are readers; empty: nobody is."},

	{"network", "endpoint", OPTION_ENDPOINT, IN(network.endpoint), .value = "",
	 .may_be_empty = true, .restart = true,
	 .help = "Where clients with a key connect, for instance tcp://10.0.0.5:5750; always "
		 "encrypted; empty: nowhere."},
	{"network", "key_file", OPTION_STRING, IN(network.key_file),
	 .value = "/etc/fcm-server/network-%N.key", .restart = true,
	 .help = "The daemon's own secret key, of its user and mode 600, for control and data: "
		 "fcmctl "
		 "key server FILE."},
	{"network", "allow_list", OPTION_STRING, IN(network.allow_list),
	 .value = "/etc/fcm-server/network-%N.allow", .restart = true,
	 .help = "Whose keys may what, NAME ROLE PUBLICKEY a line; read again by a reload."},
	{"network", "rate", OPTION_U32, IN(network.rate), .value = "50", RANGE(1, 10000),
	 .unit = "1/s", .help = "Requests of one key that are served in the long run."},
	{"network", "burst", OPTION_U32, IN(network.burst), .value = "200", RANGE(1, 10000),
	 .help = "Requests of one key that are served at once, after a rest."},

	{"store", "database", OPTION_STRING, IN(store.database),
	 .value = "/var/lib/fcm-server/%N/station.db", .restart = true,
	 .help = "SQLite database: command journal, ledger, history."},
	{"store", "emergency", OPTION_STRING, IN(store.emergency),
	 .value = "/run/fcm-server/%N/emergency.journal", .restart = true,
	 .help = "Emergency journal, in memory (a tmpfs): commands that make safer, sent while the "
		 "database does not answer."},
	{"store", "ledger_seconds_days", OPTION_U32, IN(store.ledger_seconds_days), .value = "7",
	 RANGE(0, 36500), .restart = true, .unit = "days",
	 .help = "Older seconds of the ledger are summed up to minutes; 0: never."},
	{"store", "ledger_minutes_days", OPTION_U32, IN(store.ledger_minutes_days), .value = "90",
	 RANGE(0, 36500), .restart = true, .unit = "days",
	 .help = "Older minutes of the ledger are summed up to hours, which are kept; 0: never."},
	{"store", "losses_days", OPTION_U32, IN(store.losses_days), .value = "730", RANGE(0, 36500),
	 .restart = true, .unit = "days",
	 .help = "Older losses by name and frame range are deleted (their sums are kept in the "
		 "ledger); 0: never."},
	{"store", "phase_days", OPTION_U32, IN(store.phase_days), .value = "365", RANGE(0, 36500),
	 .restart = true, .unit = "days",
	 .help = "Older rows of the links' phases, one a second and link, are deleted (verdicts "
		 "and references are kept); 0: never."},
	{"store", "samples_full_days", OPTION_U32, IN(store.samples_full_days), .value = "30",
	 RANGE(0, 36500), .restart = true, .unit = "days",
	 .help = "Older history of parameters is rolled up to minutes (mean, least, greatest); "
		 "states and switches are kept as they are; 0: never."},
	{"store", "samples_minutes_days", OPTION_U32, IN(store.samples_minutes_days),
	 .value = "365", RANGE(0, 36500), .restart = true, .unit = "days",
	 .help = "Older minutes of that history are rolled up to hours; 0: never."},
	{"store", "samples_days", OPTION_U32, IN(store.samples_days), .value = "1825",
	 RANGE(0, 36500), .restart = true, .unit = "days",
	 .help = "Older history of parameters is deleted; 0: never."},
	{"store", "journal_days", OPTION_U32, IN(store.journal_days), .value = "1825",
	 RANGE(0, 36500), .restart = true, .unit = "days",
	 .help = "Older commands and events are moved to a file a year beside the database; 0: "
		 "never."},

	{"record", "directory", OPTION_STRING, IN(record.directory), .value = "",
	 .may_be_empty = true, .restart = true,
	 .help = "Where recordings and black boxes go; empty: recordings, beside the database."},
	{"record", "links", OPTION_MASK, IN(record.links), .value = "0,1,2,3", .choices = links,
	 .restart = true, .help = "Links that are recorded when none are named."},
	{"record", "segment_mb", OPTION_U32, IN(record.segment_mb), .value = "1024",
	 RANGE(1, 65536), .restart = true, .unit = "MiB",
	 .help = "A file of a recording is ended when it has become so large; a link at full rate "
		 "makes 80 MB a second."},
	{"record", "min_free_mb", OPTION_U32, IN(record.min_free_mb), .value = "2048",
	 RANGE(0, 16777216), .restart = true, .unit = "MiB",
	 .help = "So much of the disk stays free, for the database: a recording ends before."},
	{"record", "blackbox_s", OPTION_U32, IN(record.blackbox_s), .value = "1", RANGE(0, 10),
	 .restart = true, .unit = "s",
	 .help = "Seconds of a link's raw data that are kept when its alarm fires; 0: none."},
	{"record", "blackbox_keep", OPTION_U32, IN(record.blackbox_keep), .value = "20",
	 RANGE(1, 1000), .restart = true,
	 .help = "Black boxes that are kept: beyond, the oldest is removed."},

	{"daemon", "name", OPTION_STRING, IN(daemon.name), .value = "board %N",
	 .help = "What operators see."},
	{"daemon", "log_level", OPTION_LEVEL, IN(daemon.log_level), .value = "info",
	 .help = "The least urgent entries that are logged."},
	{NULL},
};

const struct option config_group_options[] = {
	{"group", "streams", OPTION_MASK, GROUP(streams), .value = "pmt", .choices = streams,
	 .restart = true, .help = "What the group takes, separated by commas."},
	{"group", "policy", OPTION_CHOICE, GROUP(policy), .value = "drop-oldest",
	 .choices = policies, .restart = true,
	 .help = "What happens when the group's share of the ring is used up, or 3/4 of its "
		 "memory."},
	{"group", "hold_fraction", OPTION_DOUBLE, GROUP(hold_fraction), .value = "0.5",
	 RANGE(0.05, 0.5), .restart = true,
	 .help = "Share of a link's ring that unacknowledged data of the group may hold."},
	{"group", "budget_mb", OPTION_U32, GROUP(budget_mb), .value = "0", RANGE(0, 65536),
	 .restart = true, .unit = "MiB",
	 .help = "Memory of the blocks that are held for the group; 0: its part of 3/4 of "
		 "pool_mb, or of what a feed leaves of 7/8 (at least half)."},
	{NULL},
};

const struct option config_link_options[] = {
	{"link", "enabled", OPTION_BOOL, LINK(wanted), .value = "yes", .restart = true,
	 .help = "no: the link is left alone although a floor is named."},
	{"link", "tower", OPTION_U8, LINK(tower), .value = "1", RANGE(1, 127), .restart = true,
	 .help = "Tower of the floor on this link."},
	{"link", "floor", OPTION_U8, LINK(floor), .value = "0", RANGE(0, 31), .restart = true,
	 .help = "Floor on this link, from 1; 0: none."},
	{"link", "name", OPTION_STRING, LINK(name), .value = "", .may_be_empty = true,
	 .help = "A word for the operator, for instance the cable."},
	{"link", "cable_delay_ns", OPTION_U32, LINK(cable_delay_ns), .value = "0",
	 RANGE(0, 2000000), .restart = true, .unit = "ns",
	 .help = "One-way cable delay, added to block times and given in their header; 0: none."},
	{NULL},
};

static const struct {
	const char *section, *help;
} sections[] = {
	{"board", "The board."},
	{"data", "Data messages and those who read them."},
	{"group",
	 "A group of reserved consumers; [group NAME], up to four. Their streams are delivered "
	 "to one member\n# each and acknowledged. As soon as a key of one group is written, only "
	 "the written ones exist."},
	{"feed",
	 "The TriDAS feed. While it is enabled it is a group of its own, \"tridas\", one of the "
	 "four."},
	{"link", "Which floor hangs on which link; [link 0] to [link 3]."},
	{"clock", "Labels of seconds."},
	{"phase", "Phase of the links."},
	{"slowctl", "Slow control."},
	{"control", "The control socket."},
	{"network", "Control over the network: CURVE keys and an allow list."},
	{"store", "What is kept on disk."},
	{"record", "Recordings of raw data, and black boxes."},
	{"daemon", "The daemon itself."},
};

const char *config_section_help(const char *section)
{
	for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++) {
		if (!strcmp(sections[i].section, section)) {
			return sections[i].help;
		}
	}
	return NULL;
}
