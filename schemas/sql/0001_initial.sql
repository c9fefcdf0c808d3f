-- SPDX-License-Identifier: BSD-2-Clause
-- FCM-Server's database. The daemon's store is its only writer (schemas/rows.h lists the rows); everybody may read it
-- with sqlite3. All times are UTC in ns since 1970. NULL: unknown, or it does not apply.

-- "FCM" and the edition of this file: ROWS_APPLICATION of schemas/rows.h, which says how the schema is changed.
PRAGMA application_id = 0x46434d01;

-- Slow-control commands in their present state. old_value: read-back at the request; new_value: the value requested.
-- A command is sent when its row is on the disk. That commit writes two pages: the row and its client_id. So there is
-- no index of the open commands (station's settled_until says where they begin), the index by parameter has the ended
-- commands only, and a new command has no row in transition.
CREATE TABLE command (
	id INTEGER PRIMARY KEY,
	client_id TEXT UNIQUE CHECK (length(CAST(client_id AS BLOB)) < 96), -- from the client: a repeated request has the same
	time INTEGER NOT NULL,
	who TEXT NOT NULL CHECK (length(CAST(who AS BLOB)) < 96),
	uid INTEGER,
	pid INTEGER,
	origin TEXT CHECK (length(CAST(origin AS BLOB)) < 128), -- "local", "curve:KEY"
	reason TEXT CHECK (length(CAST(reason AS BLOB)) < 433), -- of the client (400 bytes), behind "safe N: "
	link INTEGER,
	tower INTEGER,
	floor INTEGER,
	parameter TEXT NOT NULL,        -- full name: tower1.floor3.om2.hv
	op TEXT NOT NULL,               -- "set", "action"
	old_value REAL,
	new_value REAL,
	unit TEXT,
	sequence INTEGER,               -- of its word on this floor; NULL: refused before it had one
	boot INTEGER,                   -- boot count of the FCM when it was first sent
	state TEXT NOT NULL,
	detail TEXT,
	attempts INTEGER NOT NULL DEFAULT 0,
	ended INTEGER                   -- NULL: open
) STRICT;
CREATE INDEX command_parameter ON command(parameter, id) WHERE ended IS NOT NULL;
-- Commands that ended, but not in DONE: some of them are a reason in status until a later command on their parameter
-- is DONE, also after restarts.
CREATE INDEX command_undone ON command(id) WHERE ended IS NOT NULL AND state <> 'DONE' AND sequence IS NOT NULL;

-- The later states of a command. frame: board frame count in which its word left (SENT).
CREATE TABLE transition (
	command INTEGER NOT NULL,
	number INTEGER NOT NULL,        -- from 2: the first state is that of the row in command
	time INTEGER NOT NULL,
	state TEXT NOT NULL,
	frame INTEGER,
	detail TEXT,
	PRIMARY KEY (command, number)
) STRICT, WITHOUT ROWID;

-- All states of a command, from number 1.
CREATE VIEW command_life(command, number, time, state, frame, detail) AS
	SELECT id, 1, time, CASE WHEN went THEN 'QUEUED' ELSE state END, NULL, CASE WHEN NOT went THEN detail END
	FROM (SELECT *, EXISTS (SELECT 1 FROM transition WHERE command = id) AS went FROM command)
	UNION ALL SELECT command, number, time, state, frame, detail FROM transition;

-- Sequence numbers up to and including reserved_until may be in use on this floor.
CREATE TABLE sequence (
	tower INTEGER NOT NULL,
	floor INTEGER NOT NULL,
	reserved_until INTEGER NOT NULL,
	PRIMARY KEY (tower, floor)
) STRICT, WITHOUT ROWID;

-- Parameter history.
CREATE TABLE sample (
	parameter TEXT NOT NULL,
	time INTEGER NOT NULL,
	value REAL,
	setpoint REAL,
	PRIMARY KEY (parameter, time)
) STRICT, WITHOUT ROWID;

-- Old samples, rolled up to minutes and later to hours of UTC. A row covers samples that follow each other with the
-- same set value, so a change of the set value keeps its exact time. Parameters whose values are words (states,
-- switches) are not rolled up. A sample is in one row only, here or in table sample.
CREATE TABLE sample_sum (
	parameter TEXT NOT NULL,
	time INTEGER NOT NULL,          -- of the first sample
	span INTEGER NOT NULL,          -- 60: a minute, 3600: an hour
	until INTEGER NOT NULL,         -- time of the last sample
	samples INTEGER NOT NULL,       -- number of samples
	mean REAL,
	low REAL,
	high REAL,
	setpoint REAL,
	PRIMARY KEY (parameter, time, span)
) STRICT, WITHOUT ROWID;
CREATE INDEX sample_sum_time ON sample_sum(time);
CREATE INDEX sample_sum_minute ON sample_sum(time) WHERE span = 60;

-- Link phase, a row for each second; min and max relative to the mean.
CREATE TABLE phase_row (
	link INTEGER NOT NULL,
	time INTEGER NOT NULL,
	mean_ps REAL,
	sigma_ps REAL,
	min_ps REAL,
	max_ps REAL,
	samples INTEGER,
	rtt_frames INTEGER,
	rtt_bytes INTEGER,
	rtt_bits INTEGER,
	PRIMARY KEY (link, time)
) STRICT, WITHOUT ROWID;

-- Verdicts on re-locks, drifts, accepted references.
CREATE TABLE phase_event (
	link INTEGER NOT NULL,
	time INTEGER NOT NULL,
	verdict TEXT NOT NULL,
	slip INTEGER,
	difference_ps REAL,
	mean_ps REAL,
	sigma_ps REAL,
	samples INTEGER,
	who TEXT,
	reason TEXT
) STRICT;
CREATE INDEX phase_event_link ON phase_event(link, time);

CREATE TABLE phase_reference (
	link INTEGER PRIMARY KEY,
	phase_ps REAL NOT NULL,
	rtt_frames INTEGER,
	rtt_bytes INTEGER,
	rtt_bits INTEGER,
	time INTEGER NOT NULL,
	who TEXT,
	reason TEXT
) STRICT;

-- Starts of DMA. The board counts dma_epoch from 1 again when it is switched on (the emulator when it is started);
-- the session tells these lives of the board apart.
CREATE TABLE dma (
	session INTEGER NOT NULL,
	link INTEGER NOT NULL,
	dma_epoch INTEGER NOT NULL,
	begun INTEGER NOT NULL,         -- when a daemon first saw it
	serial INTEGER,
	board_boot INTEGER,
	PRIMARY KEY (session, link, dma_epoch)
) STRICT, WITHOUT ROWID;

-- The ledger of links: cells of one second of the board = good + each loss by name.
CREATE TABLE ledger_link (
	session INTEGER NOT NULL,
	dma_epoch INTEGER NOT NULL,
	link INTEGER NOT NULL,
	second INTEGER NOT NULL,        -- board count / 8000
	tower INTEGER,
	floor INTEGER,
	cells INTEGER NOT NULL,
	good INTEGER NOT NULL,
	link_down INTEGER NOT NULL,
	board_fifo INTEGER NOT NULL,
	ring_full INTEGER NOT NULL,
	crc INTEGER NOT NULL,
	alignment INTEGER NOT NULL,
	time_fault INTEGER NOT NULL,
	partial INTEGER NOT NULL,
	restarts INTEGER NOT NULL,
	closed INTEGER NOT NULL,
	time INTEGER NOT NULL,
	tai_ns INTEGER,                 -- TAI of its first frame by the label of the data; NULL: no label
	PRIMARY KEY (session, dma_epoch, link, second)
) STRICT, WITHOUT ROWID;
CREATE INDEX ledger_link_time ON ledger_link(time);
-- A daemon closes what the daemon before it left open.
CREATE INDEX ledger_link_open ON ledger_link(link) WHERE NOT closed;

-- The ledger of consumers: frames offered = acked + in flight + dropped by name. grp: the group.
CREATE TABLE ledger_stream (
	session INTEGER NOT NULL,
	dma_epoch INTEGER NOT NULL,
	link INTEGER NOT NULL,
	stream TEXT NOT NULL,
	grp TEXT NOT NULL,
	second INTEGER NOT NULL,
	offered INTEGER NOT NULL,
	acked INTEGER NOT NULL,
	no_member INTEGER NOT NULL,
	slow INTEGER NOT NULL,
	shutdown INTEGER NOT NULL,
	pool INTEGER NOT NULL,
	no_time INTEGER NOT NULL,       -- not sent to the TriDAS feed: their block had no label
	in_flight INTEGER NOT NULL,
	closed INTEGER NOT NULL,
	time INTEGER NOT NULL,
	PRIMARY KEY (session, dma_epoch, link, stream, grp, second)
) STRICT, WITHOUT ROWID;
CREATE INDEX ledger_stream_time ON ledger_stream(time);
CREATE INDEX ledger_stream_open ON ledger_stream(link) WHERE NOT closed;

-- Old seconds of the ledger, rolled up. The daemon moves rows that are closed and balance: seconds to minutes, later
-- minutes to hours. A row covers seconds that follow each other without a gap, of the same floor, whose `time` is in
-- the same minute or hour of UTC. So a question about whole minutes or hours has the same answer before and after. A
-- second is in one row only, here or in the table of seconds.
CREATE TABLE ledger_link_sum (
	session INTEGER NOT NULL,
	dma_epoch INTEGER NOT NULL,
	link INTEGER NOT NULL,
	second INTEGER NOT NULL,        -- the first second
	span INTEGER NOT NULL,          -- 60: in a minute, 3600: in an hour
	seconds INTEGER NOT NULL,       -- number of seconds
	tower INTEGER,
	floor INTEGER,
	cells INTEGER NOT NULL,         -- from here on sums
	good INTEGER NOT NULL,
	link_down INTEGER NOT NULL,
	board_fifo INTEGER NOT NULL,
	ring_full INTEGER NOT NULL,
	crc INTEGER NOT NULL,
	alignment INTEGER NOT NULL,
	time_fault INTEGER NOT NULL,
	partial INTEGER NOT NULL,       -- number of partial seconds
	restarts INTEGER NOT NULL,
	begun INTEGER NOT NULL,         -- of the first second, by the system clock
	time INTEGER NOT NULL,          -- of the last second
	tai_ns INTEGER,                 -- of the first second
	PRIMARY KEY (session, dma_epoch, link, second, span)
) STRICT, WITHOUT ROWID;
CREATE INDEX ledger_link_sum_time ON ledger_link_sum(time);
CREATE INDEX ledger_link_sum_minute ON ledger_link_sum(time) WHERE span = 60;

CREATE TABLE ledger_stream_sum (
	session INTEGER NOT NULL,
	dma_epoch INTEGER NOT NULL,
	link INTEGER NOT NULL,
	stream TEXT NOT NULL,
	grp TEXT NOT NULL,
	second INTEGER NOT NULL,
	span INTEGER NOT NULL,
	seconds INTEGER NOT NULL,
	offered INTEGER NOT NULL,
	acked INTEGER NOT NULL,
	no_member INTEGER NOT NULL,
	slow INTEGER NOT NULL,
	shutdown INTEGER NOT NULL,
	pool INTEGER NOT NULL,
	no_time INTEGER NOT NULL,
	begun INTEGER NOT NULL,
	time INTEGER NOT NULL,
	tai_ns INTEGER,
	PRIMARY KEY (session, dma_epoch, link, stream, grp, second, span)
) STRICT, WITHOUT ROWID;
CREATE INDEX ledger_stream_sum_time ON ledger_stream_sum(time);
CREATE INDEX ledger_stream_sum_minute ON ledger_stream_sum(time) WHERE span = 60;

-- The whole ledger, rolled up or not. span 1: a second. begun: UTC by the system clock. The TAI of a stream's second
-- is in the row of its link.
CREATE VIEW ledger_link_all AS
	SELECT session, dma_epoch, link, second, 1 AS span, 1 AS seconds, tower, floor, cells, good, link_down,
	       board_fifo, ring_full, crc, alignment, time_fault, partial, restarts, closed,
	       time - cells * 125000 AS begun, time, tai_ns
	FROM ledger_link
	UNION ALL
	SELECT session, dma_epoch, link, second, span, seconds, tower, floor, cells, good, link_down,
	       board_fifo, ring_full, crc, alignment, time_fault, partial, restarts, 1, begun, time, tai_ns
	FROM ledger_link_sum;

CREATE VIEW ledger_stream_all AS
	SELECT session, dma_epoch, link, stream, grp, second, 1 AS span, 1 AS seconds, offered, acked, no_member,
	       slow, shutdown, pool, no_time, in_flight, closed, time - 1000000000 AS begun, time, NULL AS tai_ns
	FROM ledger_stream
	UNION ALL
	SELECT session, dma_epoch, link, stream, grp, second, span, seconds, offered, acked, no_member,
	       slow, shutdown, pool, no_time, 0, 1, begun, time, tai_ns
	FROM ledger_stream_sum;

-- Losses by name and frame range. kind 0: cells of a link (first = board count); 1: frames dropped by the policy of a
-- group (first = first frame).
CREATE TABLE loss (
	session INTEGER NOT NULL,
	kind INTEGER NOT NULL,
	code TEXT NOT NULL,
	link INTEGER NOT NULL,
	tower INTEGER,
	floor INTEGER,
	stream TEXT NOT NULL,           -- "" for kind 0
	grp TEXT NOT NULL,
	dma_epoch INTEGER NOT NULL,
	first INTEGER NOT NULL,
	frames INTEGER NOT NULL,
	tai_ns INTEGER,                 -- TAI of the first frame
	time INTEGER NOT NULL,          -- when it last grew
	open INTEGER NOT NULL,          -- 1: it may still grow
	until INTEGER,                  -- the frame behind the last lost one, when several losses are joined; NULL: first + frames
	PRIMARY KEY (session, kind, code, link, stream, grp, dma_epoch, first)
) STRICT, WITHOUT ROWID;
CREATE INDEX loss_time ON loss(time);
CREATE INDEX loss_open ON loss(link) WHERE open;

CREATE TABLE run (
	number INTEGER PRIMARY KEY,
	note TEXT,
	who TEXT,
	begun INTEGER NOT NULL,
	begun_slice INTEGER,            -- slice at which it took effect
	ended INTEGER,
	ended_slice INTEGER
) STRICT;

CREATE TABLE clock_event (
	time INTEGER NOT NULL,
	state TEXT NOT NULL,
	source TEXT NOT NULL,
	uncertainty_ns INTEGER,
	time_epoch INTEGER NOT NULL,
	reason TEXT
) STRICT;
CREATE INDEX clock_event_time ON clock_event(time);

-- What an operator should be able to look up later: alarms, restarts, faults. action: what to do.
CREATE TABLE event (
	id INTEGER PRIMARY KEY,
	time INTEGER NOT NULL,
	severity TEXT NOT NULL,         -- "info", "warning", "alarm"
	code TEXT NOT NULL,
	object TEXT,
	text TEXT NOT NULL,
	action TEXT
) STRICT;
CREATE INDEX event_time ON event(time);

-- Alarms that a restarted daemon must know: those that are acknowledged, paused, or latched. The row of an alarm with
-- none of these is deleted.
CREATE TABLE alarm (
	object TEXT NOT NULL,
	code TEXT NOT NULL,
	state TEXT NOT NULL,            -- "raised", "latched"; "over": cleared, here because it is paused
	level INTEGER NOT NULL,         -- 0 none, 1 warning, 2 alarm; the last one
	highest INTEGER NOT NULL,       -- since it was raised
	latch INTEGER NOT NULL,         -- 1: it stays until it is acknowledged
	parts INTEGER NOT NULL,         -- bits: parts of the object, numbered by the object
	count INTEGER NOT NULL,         -- how often it was raised
	since INTEGER NOT NULL,         -- when it was raised
	ended INTEGER,                  -- latched: when it cleared
	text TEXT NOT NULL,
	action TEXT NOT NULL,
	acknowledged INTEGER,           -- when; NULL: it is not
	ack_who TEXT,
	ack_origin TEXT,
	ack_text TEXT,
	paused INTEGER,                 -- when; NULL: it is not
	paused_until INTEGER,
	paused_level INTEGER,           -- the pause covers levels up to this one
	pause_who TEXT,
	pause_origin TEXT,
	pause_reason TEXT,
	PRIMARY KEY (object, code)
) STRICT, WITHOUT ROWID;

-- Snapshots: set values of parameters at a time, under a name. The values are written first, then the row of the
-- snapshot, which has their number. Values without that row are of a snapshot that was interrupted; the next snapshot
-- deletes them.
CREATE TABLE snapshot (
	id INTEGER PRIMARY KEY,
	name TEXT NOT NULL UNIQUE,
	time INTEGER NOT NULL,
	who TEXT NOT NULL,
	note TEXT NOT NULL,
	pattern TEXT NOT NULL,          -- of the parameters; empty: all that can be set
	parameters INTEGER NOT NULL,    -- number of parameters in it
	unknown INTEGER NOT NULL        -- number of parameters not in it, because their set value was unknown
) STRICT;

CREATE TABLE snapshot_value (
	snapshot INTEGER NOT NULL,
	parameter TEXT NOT NULL,
	value REAL NOT NULL,            -- the set value, in the parameter's unit; a switch: 0, 1
	PRIMARY KEY (snapshot, parameter)
) STRICT, WITHOUT ROWID;

-- The station's last state by key: board, version, started, last_alive, ... (ROW_STATION of schemas/rows.h)
CREATE TABLE station (
	key TEXT PRIMARY KEY,
	value TEXT
) STRICT, WITHOUT ROWID;
