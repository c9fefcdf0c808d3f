-- SPDX-License-Identifier: BSD-2-Clause
-- Version 12: a command is sent when its row is on the disk, so that row's commit writes two pages and no more: the
-- row and its client's id. What it began with is the row itself, and the index by parameter waits for its end. That
-- every command up to station's settled_until has ended is noted each second, instead of an index of the open ones.

DELETE FROM transition WHERE number = 1 AND state IN ('QUEUED', 'REFUSED');
CREATE VIEW command_life(command, number, time, state, frame, detail) AS
	SELECT id, 1, time, CASE WHEN went THEN 'QUEUED' ELSE state END, NULL, CASE WHEN NOT went THEN detail END
	FROM (SELECT *, EXISTS (SELECT 1 FROM transition WHERE command = id) AS went FROM command)
	UNION ALL SELECT command, number, time, state, frame, detail FROM transition;

INSERT OR REPLACE INTO station(key, value)
	SELECT 'settled_until', n FROM (SELECT coalesce((SELECT min(id) - 1 FROM command WHERE ended IS NULL),
	(SELECT max(id) FROM command)) AS n) WHERE n IS NOT NULL;
DROP INDEX command_open;
DROP INDEX command_parameter;
CREATE INDEX command_parameter ON command(parameter, id) WHERE ended IS NOT NULL;
