-- SPDX-License-Identifier: BSD-2-Clause
-- FCM-Server's database, version 1. Written by the daemon's store only (see schemas/rows.h for the rows),
-- readable by anybody with sqlite3. All times are UTC ns since 1970. NULL: not known or does not apply.

-- Slow-control commands, as they stand now. old_value: read-back when asked; new_value: what was asked for.
CREATE TABLE command (
	id INTEGER PRIMARY KEY,
	client_id TEXT UNIQUE CHECK (length(CAST(client_id AS BLOB)) < 96), -- given by the client, makes its repeat harmless
	time INTEGER NOT NULL,
	who TEXT NOT NULL CHECK (length(CAST(who AS BLOB)) < 96),
	uid INTEGER,
	pid INTEGER,
	origin TEXT CHECK (length(CAST(origin AS BLOB)) < 128), -- "local", "curve:KEY"
	reason TEXT CHECK (length(CAST(reason AS BLOB)) < 433), -- a client's 400 bytes behind "safe N: "
	link INTEGER,
	tower INTEGER,
	floor INTEGER,
	parameter TEXT NOT NULL,        -- full name: tower1.floor3.om2.hv
	op TEXT NOT NULL,               -- "set", "action"
	old_value REAL,
	new_value REAL,
	unit TEXT,
	sequence INTEGER,               -- of its word on this floor; NULL: refused before it had one
	boot INTEGER,                   -- boot count of the FCM when it was first sent, as far as known
	state TEXT NOT NULL,
	detail TEXT,
	attempts INTEGER NOT NULL DEFAULT 0,
	ended INTEGER                   -- NULL: still open
) STRICT;
CREATE INDEX command_open ON command(id) WHERE ended IS NULL;
CREATE INDEX command_parameter ON command(parameter, id);
CREATE INDEX command_floor ON command(tower, floor, id);

-- Every state a command went through. frame: board frame count in which its word left (SENT).
CREATE TABLE transition (
	command INTEGER NOT NULL,
	time INTEGER NOT NULL,
	state TEXT NOT NULL,
	frame INTEGER,
	detail TEXT
) STRICT;
CREATE INDEX transition_command ON transition(command);

-- Sequences up to and including reserved_until may have been used on this floor.
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

-- Link phase, one second a row; min and max relative to the mean.
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

-- Starts of DMA. dma_epoch restarts with the driver; session tells its lives apart.
CREATE TABLE dma (
	session INTEGER NOT NULL,
	link INTEGER NOT NULL,
	dma_epoch INTEGER NOT NULL,
	begun INTEGER NOT NULL,         -- first seen by a daemon
	serial INTEGER,
	board_boot INTEGER,
	PRIMARY KEY (session, link, dma_epoch)
) STRICT, WITHOUT ROWID;

-- The ledger of links: cells of a second of the board = good + each loss by name.
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
	PRIMARY KEY (session, dma_epoch, link, second)
) STRICT, WITHOUT ROWID;
CREATE INDEX ledger_link_time ON ledger_link(time);

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
	in_flight INTEGER NOT NULL,
	closed INTEGER NOT NULL,
	time INTEGER NOT NULL,
	PRIMARY KEY (session, dma_epoch, link, stream, grp, second)
) STRICT, WITHOUT ROWID;
CREATE INDEX ledger_stream_time ON ledger_stream(time);

-- Losses by name and frame range. kind 0: cells of a link (first = board count); 1: frames that a group's
-- policy dropped (first = first frame).
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
	time INTEGER NOT NULL,
	open INTEGER NOT NULL,          -- 1: it may still grow
	PRIMARY KEY (session, kind, code, link, stream, grp, dma_epoch, first)
) STRICT, WITHOUT ROWID;
CREATE INDEX loss_time ON loss(time);

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

-- What an operator should know later: alarms, restarts, faults. action: what to do.
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

-- The station as it was last: board, version, started, last_alive, ...
CREATE TABLE station (
	key TEXT PRIMARY KEY,
	value TEXT
) STRICT, WITHOUT ROWID;
