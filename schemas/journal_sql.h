/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * SQL that finds the journal's commands without reading all of them; for the writer (daemon/) and
 * the readers (slowctl/).
 */
#pragma once

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
