// SPDX-License-Identifier: GPL-2.0-or-later
/* All codes that a reason may have. See reason_kinds.h. */
#include "daemon/alarms/reason_kinds.h"

#include <stdio.h>
#include <string.h>

#include "daemon/core/text.h"

#define SECOND_NS 1000000000ull

/* The text of runbook.md, terminated by zero. */
__asm__(".section .rodata\n.global reason_runbook\nreason_runbook:\n"
	".incbin \"daemon/alarms/runbook.md\"\n.byte 0\n.previous\n");
extern const char reason_runbook[];

const struct reason_kind reason_kinds[] = {
	{"board-gone", OF_THING, "board", 0, false, false, false, DARK_ALL},
	{"board-back", OF_THING, "board", 0, true, false, false},
	{"board-stalled", OF_THING, "board", 0, false, true, false, DARK_ALL},
	{"capture-stuck", OF_THING, "capture", 0, false, false, false},
	{"machine-late", OF_THING, "machine", 0, false, false, false},
	{"link-dark", OF_LINK, NULL, 0, false, true, false, DARK_ALL},
	{"link-unaligned", OF_LINK, NULL, SECOND_NS, false, true, false, DARK_ALL},
	{"byte-slip", OF_LINK, NULL, SECOND_NS, false, true, false},
	{"link-silent", OF_LINK, NULL, 0, false, true, false, DARK_ALL},
	{"link-loss", OF_LINK, NULL, 0, true, false, false},
	{"downlink-errors", OF_LINK, NULL, 0, false, true, false},
	{"ring-fill", OF_LINK, NULL, SECOND_NS, false, false, false},
	{"floor-identity", OF_LINK, NULL, 0, false, true, false},
	{"phase-slip", OF_LINK, NULL, 0, false, true, false},
	{"phase-jump", OF_LINK, NULL, 0, false, true, false},
	{"phase-silent", OF_LINK, NULL, 0, false, true, false},
	{"phase-drift", OF_LINK, NULL, 0, false, true, false},
	{"floor-mute", OF_FLOOR, NULL, 0, false, false, false},
	{"fcm-booted", OF_FLOOR, NULL, 0, true, false, false},
	{"hv-trip", OF_FLOOR, NULL, 0, false, false, false, DARK_PARTS},
	{"hv-silenced", OF_FLOOR, NULL, 0, false, false, true},
	/* a small step is followed at once */
	{"hv-low", OF_FLOOR, NULL, 3 * SECOND_NS, false, false, false, DARK_PARTS},
	{"hits-lost", OF_FLOOR, NULL, 0, false, false, false},
	{"sequences", OF_FLOOR, NULL, 0, false, false, false},
	/* a link that is back is polled anew within seconds */
	{"stale", OF_FLOOR | OF_THING, "shore", 5 * SECOND_NS, false, false, false},
	{"alarm", OF_VALUE, NULL, 0, false, false, false},
	{"command-unknown", OF_VALUE, NULL, 0, false, false, true},
	{"safe-cut", OF_THING, "safe", 0, false, false, true},
	{"clock-no-time", OF_THING, "clock", 0, false, false, false},
	{"clock-fault", OF_THING, "clock", 0, false, false, false},
	{"clock-acquiring", OF_THING, "clock", 0, false, false, false},
	{"clock-holdover", OF_THING, "clock", 0, false, false, false},
	{"clock-relabelled", OF_EPOCH, NULL, 0, false, false, false},
	{"clock-system", OF_THING, "clock", 0, false, false, false},
	{"leap-table-missing", OF_THING, "clock", 0, false, false, false},
	{"leap-table-expired", OF_THING, "clock", 0, false, false, false},
	{"leap-mismatch", OF_THING, "clock", 5 * SECOND_NS, false, false, false},
	{"consumer-none", OF_GROUP | OF_FEED, NULL, SECOND_NS, false, false, false},
	{"consumer-lag", OF_GROUP, NULL, SECOND_NS, false, false, false},
	{"consumer-dropping", OF_GROUP, NULL, 0, true, false, false},
	{"data-open", OF_THING, "data", 0, false, false, false},
	{"feed-reader-dropped", OF_FEED, NULL, 0, true, false, false},
	{"door-not-open", OF_THING, "doors", 0, false, false, false},
	{"store-failing", OF_THING, "store", 0, false, false, false},
	{"store-lag", OF_THING, "store", SECOND_NS, false, false, false},
	{"store-keep", OF_THING, "store", 0, false, false, false},
	{"store-lost", OF_THING, "store", 0, false, false, false},
	{"emergency-rows", OF_THING, "store", SECOND_NS, false, false, false},
	{"emergency-memory", OF_THING, "store", 0, false, false, false},
	{"emergency-full", OF_THING, "store", 0, false, true, false},
	{"disk-hangs", OF_THING, "disk", 0, false, false, false},
	{"disk-low", OF_THING, "disk", 0, false, false, false},
	{"record-stopped", OF_THING, "recorder", 0, true, false, false},
	{"record-let-go", OF_THING, "recorder", 0, false, false, false},
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
	return (k->of & of) && (of != OF_THING || strcmp(k->thing, thing) == 0);
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

static json_t *objects_json(const struct reason_kind *k)
{
	const char *const names[] = {k->thing, "link", "floor", "group", "feed", "value", "epoch"};
	json_t *objects = json_array();

	for (unsigned n = 0; n < sizeof(names) / sizeof(names[0]); n++) {
		if (k->of & 1u << n) {
			json_array_append_new(objects, json_string(names[n]));
		}
	}
	return objects;
}

/* The text below its heading, up to the next heading; NULL: there is none. */
static json_t *runbook_json(const struct reason_kind *k)
{
	char heading[64];
	int length = snprintf(heading, sizeof(heading), "\n### %s\n\n", k->code);
	const char *text = strstr(reason_runbook, heading), *end;

	if (!text) {
		return NULL;
	}
	text += length;
	end = strstr(text, "\n##");
	return json_stringn(text, end ? (size_t)(end - text) : strlen(text));
}

json_t *reason_kinds_json(void)
{
	json_t *kinds = json_array();

	for (const struct reason_kind *k = reason_kinds; k->code; k++) {
		json_array_append_new(kinds,
				      json_pack("{s:s, s:o, s:o*}", "code", k->code, "objects",
						objects_json(k), "runbook", runbook_json(k)));
	}
	return json_pack("{s:o}", "reasons", kinds);
}
