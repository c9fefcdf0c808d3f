-- SPDX-License-Identifier: BSD-2-Clause
-- Version 7: old samples of parameters, rolled up. The daemon moves samples into minutes, later minutes into
-- hours of UTC. A row is of samples that follow each other with the same set point, so a change of it is kept to
-- the sample. Parameters whose values are words (states, switches) stay as they are. A sample is in one row only,
-- here or in the table of samples.

CREATE TABLE sample_sum (
	parameter TEXT NOT NULL,
	time INTEGER NOT NULL,          -- of the first sample
	span INTEGER NOT NULL,          -- 60: of a minute, 3600: of an hour
	until INTEGER NOT NULL,         -- of the last
	samples INTEGER NOT NULL,       -- how many
	mean REAL,                      -- of them
	low REAL,
	high REAL,
	setpoint REAL,
	PRIMARY KEY (parameter, time, span)
) STRICT, WITHOUT ROWID;
CREATE INDEX sample_sum_time ON sample_sum(time);
CREATE INDEX sample_sum_minute ON sample_sum(time) WHERE span = 60;
