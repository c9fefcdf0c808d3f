-- SPDX-License-Identifier: BSD-2-Clause
-- Incidents: what was wrong, one cause a row; and what modules did not see, by second.

-- What operators have done about an observation (one thing that is true of one object), as a restarted daemon must know
-- it: it is acknowledged, paused, or latched. It was called alarm.
ALTER TABLE alarm RENAME TO observation;
UPDATE observation SET code = 'limit' WHERE code = 'alarm';
UPDATE event SET severity = 'red' WHERE severity = 'alarm';
UPDATE event SET code = 'limit' WHERE code = 'alarm';
UPDATE event SET code = 'incident' || substr(code, 6) WHERE code GLOB 'alarm-*';

-- An incident: its cause as last known, and what all that it explains has cost so far. The row is written when the
-- incident changes, and every 10 s while it costs something.
CREATE TABLE incident (
	number INTEGER PRIMARY KEY,     -- never given twice
	code TEXT NOT NULL,
	object TEXT NOT NULL,           -- "link2", "tower1.floor3"
	red INTEGER NOT NULL,           -- 1: it was red at some time
	text TEXT NOT NULL,
	action TEXT NOT NULL,           -- what to do
	since INTEGER NOT NULL,
	until INTEGER,                  -- NULL: not cleared
	own TEXT NOT NULL,              -- the command of ours that caused it: "reset by ann"; "": none
	observations INTEGER NOT NULL,  -- how many it has, its cause one of them
	frames INTEGER NOT NULL,        -- lost of links
	dropped INTEGER NOT NULL,       -- frames that a group of consumers did not get
	hits INTEGER NOT NULL,          -- lost in modules
	dark_ms INTEGER NOT NULL,       -- of all modules together
	acknowledged INTEGER,           -- when; NULL: it is not
	ack_who TEXT NOT NULL,
	ack_origin TEXT NOT NULL,
	ack_text TEXT NOT NULL,
	joined INTEGER NOT NULL         -- 1: it was found to be part of another incident
) STRICT;
CREATE INDEX incident_since ON incident(since);
CREATE INDEX incident_open ON incident(number) WHERE until IS NULL;

-- The account of darkness, beside the ledger of frames: what the modules of a link did not see in a second (later: in a
-- minute, an hour), and which incident that was. A dark module is charged to one incident.
CREATE TABLE dark (
	span INTEGER NOT NULL,          -- s: 1; old rows are summed to 60 and 3600
	time INTEGER NOT NULL,          -- its beginning
	incident INTEGER NOT NULL,
	link INTEGER NOT NULL,
	tower INTEGER,
	floor INTEGER,
	modules INTEGER NOT NULL,       -- bits: those that were dark in it
	dark_ms INTEGER NOT NULL,       -- of all of them together
	hits INTEGER NOT NULL,          -- lost by full FIFOs
	PRIMARY KEY (span, time, incident, link)
) STRICT, WITHOUT ROWID;
