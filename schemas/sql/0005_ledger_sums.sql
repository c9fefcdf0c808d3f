-- SPDX-License-Identifier: BSD-2-Clause
-- Version 5: old seconds of the ledger, rolled up. The daemon moves what is closed and balances: seconds into
-- minutes, later minutes into hours. A row is a run of seconds that follow each other without a hole, of the
-- same floor, whose `time` lies in one minute or hour of UTC: so what is asked of whole minutes or hours has
-- the same answer before and after. A second is in one row only, here or in the table of seconds.

CREATE TABLE ledger_link_sum (
	session INTEGER NOT NULL,
	dma_epoch INTEGER NOT NULL,
	link INTEGER NOT NULL,
	second INTEGER NOT NULL,        -- the first of them
	span INTEGER NOT NULL,          -- 60: of a minute, 3600: of an hour
	seconds INTEGER NOT NULL,       -- how many
	tower INTEGER,
	floor INTEGER,
	cells INTEGER NOT NULL,         -- from here on sums
	good INTEGER NOT NULL,
	link_down INTEGER NOT NULL,
	board_fifo INTEGER NOT NULL,
	ring_full INTEGER NOT NULL,
	crc INTEGER NOT NULL,
	alignment INTEGER NOT NULL,
	time_fault INTEGER NOT NULL,
	partial INTEGER NOT NULL,       -- seconds that were partial
	restarts INTEGER NOT NULL,
	begun INTEGER NOT NULL,         -- of the first, by the system clock
	time INTEGER NOT NULL,          -- of the last
	tai_ns INTEGER,                 -- of the first
	PRIMARY KEY (session, dma_epoch, link, second, span)
) STRICT, WITHOUT ROWID;
CREATE INDEX ledger_link_sum_time ON ledger_link_sum(time);
CREATE INDEX ledger_link_sum_minute ON ledger_link_sum(time) WHERE span = 60;

CREATE TABLE ledger_stream_sum (
	session INTEGER NOT NULL,
	dma_epoch INTEGER NOT NULL,
	link INTEGER NOT NULL,
	stream TEXT NOT NULL,
	grp TEXT NOT NULL,
	second INTEGER NOT NULL,
	span INTEGER NOT NULL,
	seconds INTEGER NOT NULL,
	offered INTEGER NOT NULL,
	acked INTEGER NOT NULL,
	no_member INTEGER NOT NULL,
	slow INTEGER NOT NULL,
	shutdown INTEGER NOT NULL,
	pool INTEGER NOT NULL,
	no_time INTEGER NOT NULL,
	begun INTEGER NOT NULL,
	time INTEGER NOT NULL,
	tai_ns INTEGER,
	PRIMARY KEY (session, dma_epoch, link, stream, grp, second, span)
) STRICT, WITHOUT ROWID;
CREATE INDEX ledger_stream_sum_time ON ledger_stream_sum(time);
CREATE INDEX ledger_stream_sum_minute ON ledger_stream_sum(time) WHERE span = 60;

-- The whole ledger, whatever has been rolled up of it. span 1: a second. begun: UTC by the system clock. The
-- TAI of a stream's second is that of its link's.
CREATE VIEW ledger_link_all AS
	SELECT session, dma_epoch, link, second, 1 AS span, 1 AS seconds, tower, floor, cells, good, link_down,
	       board_fifo, ring_full, crc, alignment, time_fault, partial, restarts, closed,
	       time - cells * 125000 AS begun, time, tai_ns
	FROM ledger_link
	UNION ALL
	SELECT session, dma_epoch, link, second, span, seconds, tower, floor, cells, good, link_down,
	       board_fifo, ring_full, crc, alignment, time_fault, partial, restarts, 1, begun, time, tai_ns
	FROM ledger_link_sum;

CREATE VIEW ledger_stream_all AS
	SELECT session, dma_epoch, link, stream, grp, second, 1 AS span, 1 AS seconds, offered, acked, no_member,
	       slow, shutdown, pool, no_time, in_flight, closed, time - 1000000000 AS begun, time, NULL AS tai_ns
	FROM ledger_stream
	UNION ALL
	SELECT session, dma_epoch, link, stream, grp, second, span, seconds, offered, acked, no_member,
	       slow, shutdown, pool, no_time, 0, 1, begun, time, tai_ns
	FROM ledger_stream_sum;
