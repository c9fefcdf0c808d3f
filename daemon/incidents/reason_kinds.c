// SPDX-License-Identifier: GPL-2.0-or-later
/* All codes that a reason may have. See reason_kinds.h. */
#include "daemon/incidents/reason_kinds.h"

#include <stdio.h>
#include <string.h>

#include "daemon/core/log.h"
#include "daemon/core/text.h"

#define SECOND_NS 1000000000ull

/* The text of runbook.md, terminated by zero. */
__asm__(".section .rodata\n.global reason_runbook\nreason_runbook:\n"
	".incbin \"daemon/incidents/runbook.md\"\n.byte 0\n.previous\n");
extern const char reason_runbook[];

const struct reason_kind reason_kinds[] = {
	{"board-gone", OF_THING, "board", .dark = DARK_ALL},
	{"board-back", OF_THING, "board", .quiet = true},
	{"board-stalled", OF_THING, "board", .board = true, .dark = DARK_ALL},
	{"capture-stuck", OF_THING, "capture"},
	{"publisher-stuck", OF_THING, "publisher"},
	{"machine-late", OF_THING, "machine"},
	{"link-dark", OF_LINK, .board = true, .dark = DARK_ALL},
	{"link-unaligned", OF_LINK, .hold_ns = SECOND_NS, .board = true, .dark = DARK_ALL},
	{"byte-slip", OF_LINK, .hold_ns = SECOND_NS, .board = true},
	{"link-silent", OF_LINK, .board = true, .dark = DARK_ALL},
	{"link-loss", OF_LINK, .quiet = true},
	{"downlink-errors", OF_LINK, .board = true},
	{"ring-fill", OF_LINK, .hold_ns = SECOND_NS},
	{"floor-identity", OF_LINK, .board = true},
	{"phase-slip", OF_LINK, .board = true},
	{"phase-jump", OF_LINK, .board = true},
	{"phase-silent", OF_LINK, .board = true},
	{"phase-drift", OF_LINK, .board = true},
	{"floor-mute", OF_FLOOR},
	{"fcm-booted", OF_FLOOR, .quiet = true},
	{"hv-trip", OF_FLOOR, .dark = DARK_PARTS},
	{"hv-silenced", OF_FLOOR, .outlives = true},
	/* a small step is followed at once */
	{"hv-low", OF_FLOOR, .hold_ns = 3 * SECOND_NS, .dark = DARK_PARTS},
	{"hv-off", OF_FLOOR, .hold_ns = 3 * SECOND_NS, .dark = DARK_PARTS},
	{"hits-lost", OF_FLOOR},
	{"sequences", OF_FLOOR},
	/* a link that is back is polled again within seconds */
	{"stale", OF_FLOOR | OF_LINK | OF_THING, "shore", .hold_ns = 5 * SECOND_NS},
	{"limit", OF_VALUE},
	{"command-unknown", OF_VALUE, .outlives = true},
	{"safe-cut", OF_THING, "safe", .outlives = true},
	{"clock-no-time", OF_THING, "clock"},
	{"clock-fault", OF_THING, "clock"},
	{"clock-acquiring", OF_THING, "clock"},
	{"clock-holdover", OF_THING, "clock"},
	{"clock-relabelled", OF_EPOCH, .stays = true},
	{"clock-system", OF_THING, "clock"},
	{"leap-table-missing", OF_THING, "clock"},
	{"leap-table-expired", OF_THING, "clock"},
	{"leap-mismatch", OF_THING, "clock", .hold_ns = 5 * SECOND_NS},
	{"consumer-none", OF_GROUP | OF_FEED, .hold_ns = SECOND_NS},
	{"consumer-lag", OF_GROUP, .hold_ns = SECOND_NS},
	{"consumer-dropping", OF_GROUP, .quiet = true},
	{"data-open", OF_THING, "data"},
	{"feed-reader-dropped", OF_FEED, .quiet = true},
	{"door-not-open", OF_THING, "doors"},
	{"store-failing", OF_THING, "store"},
	{"store-lag", OF_THING, "store", .hold_ns = SECOND_NS},
	{"store-damaged", OF_THING, "store"},
	{"store-keep", OF_THING, "store"},
	{"store-lost", OF_THING, "store"},
	{"emergency-rows", OF_THING, "store", .hold_ns = SECOND_NS},
	{"emergency-memory", OF_THING, "store"},
	{"emergency-full", OF_THING, "store", .board = true},
	{"disk-hangs", OF_THING, "disk"},
	{"disk-low", OF_THING, "disk"},
	{"record-stopped", OF_THING, "recorder", .quiet = true},
	{"record-let-go", OF_THING, "recorder"},
	{"notify-failing", OF_THING, "notify"},
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
	char id[LOG_ID_SIZE];

	for (const struct reason_kind *k = reason_kinds; k->code; k++) {
		json_array_append_new(kinds, json_pack("{s:s, s:s, s:o, s:o*}", "code", k->code,
						       "message_id", log_id_of_code(k->code, id),
						       "objects", objects_json(k), "runbook",
						       runbook_json(k)));
	}
	return json_pack("{s:o}", "reasons", kinds);
}
