/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The meaning of the ledger's columns together, as SQL over a row of ledger_link, ledger_stream or
 * one of their sums: for who writes them (daemon/) and who reads them (slowctl/).
 */
#pragma once

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
