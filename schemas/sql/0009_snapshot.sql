-- SPDX-License-Identifier: BSD-2-Clause
-- Version 9: snapshots: set values of parameters at a time, under a name. The values come first; the row of the
-- snapshot itself comes last and counts them: what was cut short on the way is no snapshot, and the next one that
-- is saved clears it away.

CREATE TABLE snapshot (
	id INTEGER PRIMARY KEY,
	name TEXT NOT NULL UNIQUE,
	time INTEGER NOT NULL,
	who TEXT NOT NULL,
	note TEXT NOT NULL,
	pattern TEXT NOT NULL,          -- of what; empty: of all that can be set
	parameters INTEGER NOT NULL,    -- how many
	unknown INTEGER NOT NULL        -- how many are not in it: to what they were set was not known
) STRICT;

CREATE TABLE snapshot_value (
	snapshot INTEGER NOT NULL,
	parameter TEXT NOT NULL,
	value REAL NOT NULL,            -- the set value, in the parameter's unit; a switch: 0, 1
	PRIMARY KEY (snapshot, parameter)
) STRICT, WITHOUT ROWID;
