// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The typed table of all options. Reading, checking, printing, the example and the reload use it, and a test compares
 * the manual page with it.
 */
#include "daemon/config/private.h"

#include "schemas/fcm_data.h"

static const char *const day_origins[] = {"0", "1", NULL};
static const char *const holdovers[] = {"rb", "ocxo-good", "ocxo", "tcxo", NULL};
static const char *const streams[] = {FCM_STREAM_NAMES, NULL};
static const char *const links[] = {"0", "1", "2", "3", NULL};
static const char *const policies[] = {FCM_POLICY_NAMES, NULL};

#define AT(type, field) .offset = offsetof(type, field), .size = sizeof(((type *)0)->field)
#define IN(field)	AT(struct config, field)
/* A member's name. NOLINTNEXTLINE(bugprone-macro-parentheses) */
#define KEY(in, name) .section = #in, .key = #name, IN(in.name)
#define GROUP(name)   .section = "group", .key = #name, AT(struct config_group, name)
#define LINK(name)    .section = "link", .key = #name, AT(struct config_link, name)
/* NOLINTNEXTLINE(bugprone-macro-parentheses) */
#define AGE(name, text)                                                                            \
	.section = "store", .key = #name, IN(store.ages.name), WHOLE(text, 0, 36500), .unit = "days"
#define OF(kind, text)		.type = OPTION_##kind, .value = (text)
#define TEXT(text)		OF(STRING, text)
#define ENDPOINT(text)		OF(ENDPOINT, text)
#define YES_NO(text)		OF(BOOL, text)
#define LEVEL(text)		OF(LEVEL, text)
#define RANGE(low, high)	.min = (low), .max = (high)
#define WHOLE(text, low, high)	OF(U32, text), RANGE(low, high)
#define WHOLE8(text, low, high) OF(U8, text), RANGE(low, high)
#define REAL(text, low, high)	OF(DOUBLE, text), RANGE(low, high)
#define DATE(text, low, high)	OF(DATE, text), RANGE(low, high)
#define CHOICE(text, words)	OF(CHOICE, text), .choices = (words)
#define MASK(text, words)	OF(MASK, text), .choices = (words)

const struct option config_options[] = {
	{KEY(board, device), TEXT("/dev/nanet3-%N"), .about = "The board.",
	 .help = "The board: a character device, or unix:PATH for the emulator's socket."},

	{KEY(data, block_frames), WHOLE("80", 8, 1600), .unit = "frames",
	 .about = "Data messages and their readers.",
	 .help = "Frames of 125 us in a data message; a divisor of 1600."},
	{KEY(data, tick_us), WHOLE("2000", 1000, 20000), .unit = "us",
	 .help = "How often the capture thread wakes."},
	{KEY(data, pool_mb), WHOLE("512", 16, 65536), .unit = "MiB",
	 .help = "Memory for data on their way to consumers; allocated only as needed."},
	{KEY(data, day_origin), CHOICE("0", day_origins),
	 .help = "Number of 1 January in the hits' day of year: 0 as TriDAS counts, 1 as IRIG-B."},
	{KEY(data, reserved_endpoint), ENDPOINT("tcp://127.0.0.1:%(5710+N)"),
	 .help = "Where reserved consumers (trigger, acoustics) connect; by default port 5710 + "
		 "N."},
	{KEY(data, monitor_endpoint), ENDPOINT("tcp://127.0.0.1:%(5730+N)"), .may_be_empty = true,
	 .help = "Where monitors subscribe; by default port 5730 + N; empty: nowhere."},
	{KEY(data, monitor_hwm), WHOLE("32", 1, 10000), .unit = "messages",
	 .help = "Messages queued for one monitor; when the queue is full it misses messages."},
	{KEY(data, consumer_dead_ms), WHOLE("3000", 1500, 60000), .unit = "ms",
	 .help = "A reserved consumer that sends nothing for so long counts as dead; it should "
		 "send a heartbeat each second."},
	{KEY(data, curve), YES_NO("no"),
	 .help = "Whether both endpoints encrypt and require keys: those of [network] key_file and "
		 "allow_list."},
	{KEY(data, insecure), YES_NO("no"),
	 .help = "Whether an endpoint may listen beyond this machine without curve: whoever "
		 "reaches it can read the data and take the place of a consumer. Status warns "
		 "about it."},

	{KEY(feed, enabled), YES_NO("no"),
	 .about = "The TriDAS feed. While it is enabled it is a separate group, \"tridas\", one of "
		  "the four.",
	 .help = "Whether hits are sent as plain TriDAS data frames over TCP, one port for each "
		 "floor."},
	{KEY(feed, address), TEXT("127.0.0.1"),
	 .help = "Where to listen: an IPv4 or IPv6 address of this machine, as a number. Anyone "
		 "who reaches it can read."},
	{KEY(feed, base_port), WHOLE("5600", 1, 65535),
	 .help = "The floor on link L of board N has the port base_port + 4 x N + L."},
	{KEY(feed, budget_mb), WHOLE("32", 1, 65536), .unit = "MiB",
	 .help = "A reader that is behind by more, or by more than half a ring, is disconnected."},

	{KEY(clock, gpsd_host), TEXT("127.0.0.1"), .about = "Labels of seconds.",
	 .help = "Host of gpsd."},
	{KEY(clock, gpsd_port), WHOLE("2947", 1, 65535), .help = "Port of gpsd."},
	{KEY(clock, leap_file), TEXT("/usr/share/zoneinfo/leap-seconds.list"),
	 .help = "Table of leap seconds: TAI-UTC comes from it."},
	{KEY(clock, silence_ms), WHOLE("3000", 1200, 60000), .unit = "ms",
	 .help = "A source that labels no second for this time is silent."},
	{KEY(clock, confirm), WHOLE("3", 1, 60), .unit = "labels",
	 .help = "Consecutive labels that must agree with the board's count before the clock is "
		 "locked."},
	{KEY(clock, holdover), CHOICE("ocxo", holdovers),
	 .help = "Oscillator of the board's reference: it sets how fast the uncertainty grows "
		 "without GPS."},
	{KEY(clock, receiver_ns), WHOLE("50", 1, 1000000), .unit = "ns",
	 .help = "Uncertainty of the receiver's second."},
	{KEY(clock, holdover_limit_ns), WHOLE("62500", 100, 500000000), .unit = "ns",
	 .help = "Uncertainty at which holdover ends and data carry no time. The default is half a "
		 "frame: beyond it the number of the frame is in doubt."},
	{KEY(clock, system_clock), YES_NO("yes"),
	 .help = "Whether the synchronised system clock may label seconds when neither gpsd nor "
		 "the floors do."},
	{KEY(clock, far_s), WHOLE("10", 0, 1000000), .unit = "s",
	 .help = "A new label further than this from the synchronised system clock is rejected; 0: "
		 "no comparison."},
	{KEY(clock, system_tolerance_ms), WHOLE("500", 0, 1000000), .unit = "ms",
	 .help = "Largest difference between the synchronised system clock and the time in use "
		 "before status warns; the first label may differ by this or 500 ms, whichever is "
		 "larger; 0: no comparison."},
	{"clock", "earliest", IN(clock.earliest_utc_s),
	 DATE("2026-01-01", 946684800, 4102444799.0), /* 2000 to 2099 */
	 .help = "Earlier dates are rejected: receivers jump by 1024 weeks."},

	{KEY(phase, tolerance_ps), REAL("100", 1, 600), .unit = "ps",
	 .about = "Phase of the links.", .help = "A re-lock within this of the reference passes."},
	{KEY(phase, drift_ps), REAL("300", 1, 6000), .unit = "ps",
	 .help = "Distance of the mean from the reference that is a drift."},
	{KEY(phase, relock_samples), WHOLE("5", 1, 64), .unit = "samples",
	 .help = "Samples of a new lock that are averaged before it is judged."},

	{KEY(slowctl, dictionary), TEXT(FCM_DATADIR "/parameters.conf"), .about = "Slow control.",
	 .help = "The parameter dictionary."},
	{KEY(slowctl, site_dictionary), TEXT(""), .may_be_empty = true,
	 .help = "This site's changes to the dictionary: a file, or a directory of *.conf; empty: "
		 "none."},
	{KEY(slowctl, poll), YES_NO("yes"),
	 .help = "Whether the floors' parameters are read regularly."},
	{KEY(slowctl, reply_timeout_ms), WHOLE("500", 10, 60000), .unit = "ms",
	 .help = "Time without a reply after which the daemon asks the FCM for the outcome of a "
		 "request."},

	{KEY(control, socket), TEXT("/run/fcm-server/%N/control.sock"),
	 .about = "The control socket.", .help = "Unix socket for fcmctl."},
	{KEY(control, socket_group), TEXT(""), .may_be_empty = true, .live = true,
	 .help = "Group whose members are operators; empty: the daemon's own group. If neither of "
		 "the next two is set, its members are experts."},
	{KEY(control, expert_group), TEXT(""), .may_be_empty = true, .live = true,
	 .help = "Group whose members are experts, as root is; empty: only root is."},
	{KEY(control, reader_group), TEXT(""), .may_be_empty = true, .live = true,
	 .help = "Group whose members are readers; empty: no group."},

	{KEY(network, endpoint), ENDPOINT(""), .may_be_empty = true,
	 .about = "Control over the network: CURVE keys and an allow list.",
	 .help = "Where clients with a key connect, for instance tcp://10.0.0.5:5750; always "
		 "encrypted; empty: nowhere."},
	{KEY(network, key_file), TEXT("/etc/fcm-server/network-%N.key"),
	 .help = "The daemon's secret key for control and data, owned by its user, mode 600; "
		 "make one: fcmctl key server FILE."},
	{KEY(network, allow_list), TEXT("/etc/fcm-server/network-%N.allow"),
	 .help = "Which key has which role: lines of NAME ROLE PUBLICKEY; a reload reads it "
		 "again."},
	{KEY(network, rate), WHOLE("50", 1, 10000), .unit = "1/s", .live = true,
	 .help = "Requests served for one key, long-term average."},
	{KEY(network, burst), WHOLE("200", 1, 10000), .live = true,
	 .help = "Requests served for one key at once, after a pause."},

	{KEY(store, database), TEXT("/var/lib/fcm-server/%N/station.db"),
	 .about = "The database on disk, and how long its rows are kept.",
	 .help = "SQLite database: command journal, ledger, history."},
	{KEY(store, emergency), TEXT("/run/fcm-server/%N/emergency.journal"),
	 .help = "Emergency journal, in memory (a tmpfs): commands that make something safer and "
		 "are sent while the database does not answer."},
	{AGE(ledger_seconds_days, "7"),
	 .help = "Older seconds of the ledger are rolled up to minutes; 0: never."},
	{AGE(ledger_minutes_days, "90"),
	 .help = "Older minutes of the ledger are rolled up to hours, which are kept; 0: never."},
	{AGE(losses_days, "730"),
	 .help = "Older losses by name and frame range are deleted (their sums are kept in the "
		 "ledger); 0: never."},
	{AGE(phase_days, "365"),
	 .help = "Older rows of the links' phases (one per second and link) are deleted; verdicts "
		 "and references are kept; 0: never."},
	{AGE(samples_full_days, "30"),
	 .help = "Older history of parameters is rolled up to minutes (mean, minimum, maximum); "
		 "states and switches are kept as they are; 0: never."},
	{AGE(samples_minutes_days, "365"),
	 .help = "Older minutes of that history are rolled up to hours; 0: never."},
	{AGE(samples_days, "1825"), .help = "Older history of parameters is deleted; 0: never."},
	{AGE(journal_days, "1825"),
	 .help = "Older commands and events are moved to one file per year beside the database; 0: "
		 "never."},

	{KEY(record, directory), TEXT(""), .may_be_empty = true,
	 .about = "Recordings of raw data, and black boxes.",
	 .help = "Where recordings and black boxes go; empty: recordings, beside the database."},
	{KEY(record, links), MASK("0,1,2,3", links),
	 .help = "Links that are recorded when none are named."},
	{KEY(record, segment_mb), WHOLE("1024", 1, 65536), .unit = "MiB",
	 .help = "Size at which a recording begins its next file; a link at full rate makes 80 "
		 "MB/s."},
	{KEY(record, min_free_mb), WHOLE("2048", 0, 16777216), .unit = "MiB",
	 .help = "Space that stays free on the disk, for the database: a recording ends before it "
		 "is used."},
	{KEY(record, blackbox_s), WHOLE("1", 0, 10), .unit = "s",
	 .help = "Seconds of a link's raw data that are kept when it becomes red; 0: none."},
	{KEY(record, blackbox_keep), WHOLE("20", 1, 1000),
	 .help = "Number of black boxes that are kept; the oldest are removed."},

	{KEY(daemon, name), TEXT("board %N"), .live = true, .about = "The daemon itself.",
	 .help = "Name shown to operators."},
	{KEY(daemon, log_level), LEVEL("info"), .live = true,
	 .help = "The least urgent entries that are logged."},
	{NULL},
};

const struct option config_group_options[] = {
	{GROUP(streams), MASK("pmt", streams),
	 .about = "A group of reserved consumers; [group NAME], up to four. Their streams are "
		  "delivered "
		  "to one member\n# each and acknowledged. As soon as a key of one group is "
		  "written, only "
		  "the written ones exist.",
	 .help = "Streams that the group takes, separated by commas."},
	{GROUP(policy), CHOICE("drop-oldest", policies),
	 .help = "What happens when the group's share of the ring is used up, or 3/4 of its "
		 "memory."},
	{GROUP(hold_fraction), REAL("0.5", 0.05, 0.5),
	 .help = "Share of a link's ring that unacknowledged data of the group may hold."},
	{GROUP(budget_mb), WHOLE("0", 0, 65536), .unit = "MiB",
	 .help = "Memory of the blocks that are held for the group; 0: automatic, its part of 3/4 "
		 "of pool_mb, or of what a feed leaves of 7/8 (at least half)."},
	{NULL},
};

const struct option config_link_options[] = {
	{"link", "enabled", AT(struct config_link, wanted), YES_NO("yes"),
	 .about = "Which floor is on which link; [link 0] to [link 3].",
	 .help = "no: the link is not used even if a floor is named."},
	{LINK(tower), WHOLE8("1", 1, 127), .help = "Tower of the floor on this link."},
	{LINK(floor), WHOLE8("0", 0, 31), .help = "Floor on this link, from 1; 0: none."},
	{LINK(name), TEXT(""), .may_be_empty = true, .live = true,
	 .help = "A name for the operator, for instance of the cable."},
	{LINK(cable_delay_ns), WHOLE("0", 0, 2000000), .unit = "ns",
	 .help = "One-way cable delay, added to block times and given in their header; 0: none."},
	{NULL},
};
