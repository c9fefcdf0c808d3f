-- SPDX-License-Identifier: GPL-2.0-or-later
-- A schema of tests/unit/daemon/store/test_store_migrate.c: the migrations themselves are tested here, whatever the
-- schema of the daemon is.

PRAGMA application_id = 0x54455354;
CREATE TABLE reading (
	id INTEGER PRIMARY KEY,
	name TEXT NOT NULL,
	value INTEGER
) STRICT;
CREATE INDEX reading_name ON reading(name);
CREATE TABLE place (
	key TEXT PRIMARY KEY,
	value TEXT
) STRICT, WITHOUT ROWID;
