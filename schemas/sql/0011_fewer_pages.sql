-- SPDX-License-Identifier: BSD-2-Clause
-- Version 11: what a command's commit writes is two pages less. A transition lies where its command's other ones
-- are, in one tree, and no question needs the commands by floor.

CREATE TABLE transition_11 (
	command INTEGER NOT NULL,
	number INTEGER NOT NULL,        -- 1: QUEUED or REFUSED, what it began with
	time INTEGER NOT NULL,
	state TEXT NOT NULL,
	frame INTEGER,
	detail TEXT,
	PRIMARY KEY (command, number)
) STRICT, WITHOUT ROWID;
INSERT INTO transition_11 SELECT command, row_number() OVER (PARTITION BY command ORDER BY rowid),
	time, state, frame, detail FROM transition;
DROP TABLE transition;
ALTER TABLE transition_11 RENAME TO transition;
DROP INDEX command_floor;
