// SPDX-License-Identifier: GPL-2.0-or-later
/* All codes that a reason may have. See reason_kinds.h. */
#include "daemon/alarms/reason_kinds.h"

#include <string.h>

#include "daemon/core/text.h"

#define SECOND_NS 1000000000ull
#define THING	  (1u << OF_THING)
#define LINK	  (1u << OF_LINK)
#define FLOOR	  (1u << OF_FLOOR)
#define GROUP	  (1u << OF_GROUP)
#define FEED	  (1u << OF_FEED)
#define VALUE	  (1u << OF_VALUE)

const struct reason_kind reason_kinds[] = {
	{"board-gone", THING, "board", 0, false, false, false, DARK_ALL},
	{"board-back", THING, "board", 0, true, false, false},
	{"board-stalled", THING, "board", 0, false, true, false, DARK_ALL},
	{"capture-stuck", THING, "capture", 0, false, false, false},
	{"machine-late", THING, "machine", 0, false, false, false},
	{"link-dark", LINK, NULL, 0, false, true, false, DARK_ALL},
	{"link-unaligned", LINK, NULL, SECOND_NS, false, true, false, DARK_ALL},
	{"byte-slip", LINK, NULL, SECOND_NS, false, true, false},
	{"link-silent", LINK, NULL, 0, false, true, false, DARK_ALL},
	{"link-loss", LINK, NULL, 0, true, false, false},
	{"downlink-errors", LINK, NULL, 0, false, true, false},
	{"ring-fill", LINK, NULL, SECOND_NS, false, false, false},
	{"floor-identity", LINK, NULL, 0, false, true, false},
	{"phase-slip", LINK, NULL, 0, false, true, false},
	{"phase-jump", LINK, NULL, 0, false, true, false},
	{"phase-silent", LINK, NULL, 0, false, true, false},
	{"phase-drift", LINK, NULL, 0, false, true, false},
	{"floor-mute", FLOOR, NULL, 0, false, false, false},
	{"fcm-booted", FLOOR, NULL, 0, true, false, false},
	{"hv-trip", FLOOR, NULL, 0, false, false, false, DARK_PARTS},
	{"hv-silenced", FLOOR, NULL, 0, false, false, true},
	/* a small step is followed at once */
	{"hv-low", FLOOR, NULL, 3 * SECOND_NS, false, false, false, DARK_PARTS},
	{"hits-lost", FLOOR, NULL, 0, false, false, false},
	{"sequences", FLOOR, NULL, 0, false, false, false},
	/* a link that is back is polled anew within seconds */
	{"stale", FLOOR | THING, "shore", 5 * SECOND_NS, false, false, false},
	{"alarm", VALUE, NULL, 0, false, false, false},
	{"command-unknown", VALUE, NULL, 0, false, false, true},
	{"safe-cut", THING, "safe", 0, false, false, true},
	{"clock-no-time", THING, "clock", 0, false, false, false},
	{"clock-fault", THING, "clock", 0, false, false, false},
	{"clock-acquiring", THING, "clock", 0, false, false, false},
	{"clock-holdover", THING, "clock", 0, false, false, false},
	{"clock-relabelled", 1u << OF_EPOCH, NULL, 0, false, false, false},
	{"clock-system", THING, "clock", 0, false, false, false},
	{"leap-table-missing", THING, "clock", 0, false, false, false},
	{"leap-table-expired", THING, "clock", 0, false, false, false},
	{"leap-mismatch", THING, "clock", 5 * SECOND_NS, false, false, false},
	{"consumer-none", GROUP | FEED, NULL, SECOND_NS, false, false, false},
	{"consumer-lag", GROUP, NULL, SECOND_NS, false, false, false},
	{"consumer-dropping", GROUP, NULL, 0, true, false, false},
	{"data-open", THING, "data", 0, false, false, false},
	{"feed-reader-dropped", FEED, NULL, 0, true, false, false},
	{"door-not-open", THING, "doors", 0, false, false, false},
	{"store-failing", THING, "store", 0, false, false, false},
	{"store-lag", THING, "store", SECOND_NS, false, false, false},
	{"store-keep", THING, "store", 0, false, false, false},
	{"store-lost", THING, "store", 0, false, false, false},
	{"emergency-rows", THING, "store", SECOND_NS, false, false, false},
	{"emergency-memory", THING, "store", 0, false, false, false},
	{"emergency-full", THING, "store", 0, false, true, false},
	{"disk-hangs", THING, "disk", 0, false, false, false},
	{"disk-low", THING, "disk", 0, false, false, false},
	{"record-stopped", THING, "recorder", 0, true, false, false},
	{"record-let-go", THING, "recorder", 0, false, false, false},
	{0},
};

const struct reason_kind *reason_kind(const char *code)
{
	for (const struct reason_kind *k = reason_kinds; k->code; k++) {
		if (strcmp(k->code, code) == 0) {
			return k;
		}
	}
	return NULL;
}

bool reason_kind_is_of(const struct reason_kind *k, enum reason_of of, const char *thing)
{
	return (k->of & 1u << of) && (of != OF_THING || strcmp(k->thing, thing) == 0);
}

const char *reason_kinds_of(enum reason_of of, const char *thing, char *buf, size_t size)
{
	*buf = '\0';
	for (const struct reason_kind *k = reason_kinds; k->code; k++) {
		if (reason_kind_is_of(k, of, thing)) {
			text_list(buf, size, "%s", k->code);
		}
	}
	return buf;
}

bool reason_thing(const char *name)
{
	for (const struct reason_kind *k = reason_kinds; k->code; k++) {
		if (k->thing && strcmp(k->thing, name) == 0) {
			return true;
		}
	}
	return false;
}
