/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether rows of the ledger balance. */
#pragma once

#include "daemon/data/ledger.h"

/* cells = the sum of the verdicts. */
static inline bool ledger_link_balances(const struct ledger_link_row *r)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < TDM_LOSSES; i++) {
		sum += r->verdicts[i];
	}
	return sum == r->cells;
}

/* offered = in flight + the sum of the outcomes. */
static inline bool ledger_stream_balances(const struct ledger_stream_row *r)
{
	uint64_t sum = r->in_flight;

	for (unsigned i = 1; i < OUTCOMES; i++) {
		sum += r->outcome[i];
	}
	return sum == r->offered && r->outcome[0] == 0;
}
