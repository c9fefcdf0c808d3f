-- SPDX-License-Identifier: GPL-2.0-or-later
-- A table is written again with another key, and its rows are numbered: what takes longest, and may break off.

CREATE TABLE reading_2 (
	name TEXT NOT NULL,
	number INTEGER NOT NULL,
	id INTEGER NOT NULL,
	value INTEGER,
	PRIMARY KEY (name, number)
) STRICT, WITHOUT ROWID;
INSERT INTO reading_2 SELECT name, row_number() OVER (PARTITION BY name ORDER BY id), id, value FROM reading;
DROP TABLE reading;
ALTER TABLE reading_2 RENAME TO reading;
