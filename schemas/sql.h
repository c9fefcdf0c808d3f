/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * SQL that the writer of the database (daemon/) and its readers (slowctl/) share: what finds the journal's
 * open commands without reading all of them, and what the ledger's columns mean together, over a row of
 * ledger_link, ledger_stream or one of their sums.
 */
#pragma once

/* ---- numbers ---- */

/* "command", "run", "incident", "session": numbers up to this one may have been given after the backup that this file
 * was restored from (daemon/store/copied.c); 0: it is no backup. */
#define NUMBERS_AFTER(what)                                                                        \
	"coalesce((SELECT CAST(value AS INTEGER) FROM station WHERE key = 'after." what "'), 0)"

/* ---- the journal ---- */

/* While a daemon has never read the journal, its commands have numbers from here on
 * (ENGINE_OWN_IDS). */
#define JOURNAL_OWN_IDS "1000000000000"

/* None of the commands up to this number is open (schemas/rows.h). */
#define JOURNAL_SETTLED                                                                            \
	"coalesce((SELECT CAST(value AS INTEGER) FROM station WHERE key = 'settled_until'), 0)"
/* Of a row of command: it is open. */
#define JOURNAL_OPEN "(ended IS NULL AND id > " JOURNAL_SETTLED ")"

/* All commands, for who asks WHERE parameter = ...: the ended ones have an index, the open ones are few. */
#define JOURNAL_BY_PARAMETER                                                                       \
	"(SELECT * FROM command WHERE ended IS NOT NULL"                                           \
	" UNION ALL SELECT * FROM command WHERE " JOURNAL_OPEN ")"

/* ---- the ledger ---- */

/* Cells with a verdict. */
#define LEDGER_LINK_SUM "(good + link_down + board_fifo + ring_full + crc + alignment + time_fault)"
/* Frames that have come back, acknowledged or dropped. */
#define LEDGER_STREAM_DONE "(acked + no_member + slow + shutdown + pool + no_time)"
/* Whether a row balances; a stream's, when nothing of it is in flight. */
#define LEDGER_LINK_RIGHT   "(cells = " LEDGER_LINK_SUM ")"
#define LEDGER_STREAM_RIGHT "(offered = " LEDGER_STREAM_DONE ")"

/* When a second began by the system clock, UTC ns: its row is written when it has ended. */
#define LEDGER_LINK_BEGUN   "(time - cells * 125000)"
#define LEDGER_STREAM_BEGUN "(time - 1000000000)"
