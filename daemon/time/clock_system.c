// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The synchronised system clock as a source: which label it confirms, and its veto.
 */
#include <stdlib.h>

#include "daemon/time/clock_private.h"

#define SYSTEM_SECOND_NS 500000000ll   /* nearer it names a second, however strict the tolerance */
#define SYSTEM_SIDES_NS	 3000000000ull /* one reading that a busy host delayed changes no side */

int64_t clock_side_ns(const struct clock *c)
{
	int64_t tolerance_ns = c->config.system_tolerance_ms * 1000000ll;

	return tolerance_ns > SYSTEM_SECOND_NS ? tolerance_ns : SYSTEM_SECOND_NS;
}

void clock_note_side(struct clock *c)
{
	if (c->view.system_synced && c->config.system_tolerance_ms && !c->emulated &&
	    clock_has_label(c) && llabs(c->view.system_minus_label_ns) <= clock_side_ns(c)) {
		c->system_sides_ns = c->now_ns;
	}
}

int64_t clock_line_minus_system(const struct clock *c, int64_t offset)
{
	int64_t tai_ns = offset + (int64_t)c->board_count * TDM_FRAME_NS;
	int leap;

	return label_utc_ns(&c->label, tai_ns, &leap) - c->realtime_ns;
}

enum clock_denial clock_denies(const struct clock *c, int64_t offset)
{
	if (!clock_has_label(c)) {
		return c->view.system_synced && c->config.system_tolerance_ms &&
				       clock_within(c->board_ns, CLOCK_BOARD_FRESH_NS, c->now_ns) &&
				       llabs(clock_line_minus_system(c, offset)) > clock_side_ns(c)
			       ? CLOCK_DENIED_BY_SYSTEM
			       : CLOCK_NOT_DENIED;
	}
	if (offset == clock_label_offset(c)) {
		return CLOCK_NOT_DENIED;
	}
	if (c->gps_leap_mismatch) {
		return CLOCK_DENIED_BY_LEAPS;
	}
	/* Nearer to the label than this, the system clock cannot tell the two apart. */
	return clock_within(c->system_sides_ns, SYSTEM_SIDES_NS, c->now_ns) &&
			       llabs(offset - clock_label_offset(c)) >= 2 * clock_side_ns(c)
		       ? CLOCK_DENIED_BY_SYSTEM
		       : CLOCK_NOT_DENIED;
}
