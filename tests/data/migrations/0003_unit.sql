-- SPDX-License-Identifier: GPL-2.0-or-later
ALTER TABLE place ADD COLUMN unit TEXT;
CREATE TABLE sum (
	name TEXT PRIMARY KEY,
	total INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO sum SELECT name, sum(value) FROM reading GROUP BY name;
