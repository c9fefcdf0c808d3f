-- SPDX-License-Identifier: BSD-2-Clause
-- Version 8: what a restart has to know of alarms: those that are acknowledged, paused, or stay until they are
-- acknowledged. A row goes when there is nothing to remember of it.

CREATE TABLE alarm (
	object TEXT NOT NULL,
	code TEXT NOT NULL,
	state TEXT NOT NULL,            -- "raised", "latched"; "over": here for its pause only
	level INTEGER NOT NULL,         -- 0 none, 1 warning, 2 alarm; as it was last
	highest INTEGER NOT NULL,       -- since it began
	latch INTEGER NOT NULL,         -- 1: it stays until it is acknowledged
	parts INTEGER NOT NULL,         -- bits: which parts of the object, its own numbers
	count INTEGER NOT NULL,         -- how often it began
	since INTEGER NOT NULL,         -- when it began
	ended INTEGER,                  -- latched: when it was over
	text TEXT NOT NULL,
	action TEXT NOT NULL,
	acknowledged INTEGER,           -- when; NULL: it is not
	ack_who TEXT,
	ack_origin TEXT,
	ack_text TEXT,
	paused INTEGER,                 -- when; NULL: it is not
	paused_until INTEGER,
	paused_level INTEGER,           -- it covers levels up to this one
	pause_who TEXT,
	pause_origin TEXT,
	pause_reason TEXT,
	PRIMARY KEY (object, code)
) STRICT, WITHOUT ROWID;
