/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fcmctl consumer: who takes the data, and what their policies dropped. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "slowctl/fcmctl/core/ctl.h"
#include "slowctl/fcmctl/show/value.h"

static void render_members(struct writer *w, const json_t *members)
{
	static const char *const columns[] = {
		"member", "group",     "state",	   ">in flight",  ">credit",	">lag", ">blocks",
		">bytes", ">blocks/s", ">bytes/s", ">taken over", ">last word", "from"};
	size_t i;
	const json_t *m;

	writer_table(w, columns, sizeof(columns) / sizeof(columns[0]));
	json_array_foreach (members, i, m) {
		bool alive = value_true(m, "alive");

		value_cell(w, m, "member", VALUE_PLAIN);
		value_cell(w, m, "group", VALUE_PLAIN);
		writer_cell(w, alive ? WRITER_GOOD : WRITER_BAD, "%s",
			    value_string(m, "state", alive ? "alive" : "dead"));
		value_cell(w, m, "in_flight", VALUE_COUNT);
		value_cell(w, m, "credit", VALUE_COUNT);
		value_cell(w, m, "oldest_s", VALUE_AGE);
		value_cell(w, m, "delivered", VALUE_COUNT);
		value_cell(w, m, "delivered_bytes", VALUE_RATE);
		value_cell(w, m, "blocks_per_s", VALUE_RATE);
		value_cell(w, m, "bytes_per_s", VALUE_RATE);
		value_cell(w, m, "redelivered", VALUE_COUNT);
		value_cell(w, m, "age_s", VALUE_AGE);
		value_cell(w, m, "address", VALUE_PLAIN);
	}
	writer_table_end(w, "nobody has joined");
}

static void streams_text(const json_t *group, char *buf, size_t size)
{
	size_t used = 0;
	size_t i;
	const json_t *stream;

	buf[0] = '\0';
	json_array_foreach (value_at(group, "streams"), i, stream) {
		const char *name = json_is_string(stream) ? json_string_value(stream) : "?";
		int n = snprintf(buf + used, size - used, "%s%s", i > 0 ? "," : "", name);

		used = n > 0 && used + (size_t)n < size ? used + (size_t)n : size - 1;
	}
}

static void render_groups(struct writer *w, const json_t *groups)
{
	static const char *const columns[] = {"group",	       "streams",    ">members", ">offered",
					      ">acknowledged", ">in flight", ">waiting", ">dropped",
					      "why",	       ">lag"};
	size_t i;
	const json_t *g;

	writer_table(w, columns, sizeof(columns) / sizeof(columns[0]));
	json_array_foreach (groups, i, g) {
		char streams[64];
		char names[128];
		long long dropped;

		streams_text(g, streams, sizeof(streams));
		value_cell(w, g, "group", VALUE_PLAIN);
		writer_cell(w, WRITER_PLAIN, "%s", streams);
		value_cell(w, g, "members", VALUE_COUNT);
		value_cell(w, g, "offered", VALUE_COUNT);
		value_cell(w, g, "acknowledged", VALUE_COUNT);
		value_cell(w, g, "in_flight", VALUE_COUNT);
		value_cell(w, g, "waiting", VALUE_COUNT);
		dropped = value_losses(value_at(g, "dropped"), &value_drops, "blocks", names,
				       sizeof(names));
		writer_cell(w, dropped > 0 ? WRITER_WARN : WRITER_PLAIN, "%lld", dropped);
		writer_cell(w, WRITER_PLAIN, "%s", names);
		value_cell(w, g, "oldest_s", VALUE_AGE);
	}
	writer_table_end(w, "no groups are configured");
}

static void render_memory(struct writer *w, const json_t *groups)
{
	static const char *const columns[] = {
		"group",   "policy",	">in flight", ">waiting",	 ">held",
		">budget", ">blocks/s", ">bytes/s",   ">against policy", ">disconnected"};
	size_t i;
	const json_t *g;

	writer_table(w, columns, sizeof(columns) / sizeof(columns[0]));
	json_array_foreach (groups, i, g) {
		bool beyond = value_integer(g, "beyond_limit", 0) > 0;

		value_cell(w, g, "group", VALUE_PLAIN);
		value_cell(w, g, "policy", VALUE_PLAIN);
		value_cell(w, g, "in_flight_bytes", VALUE_RATE);
		value_cell(w, g, "waiting_bytes", VALUE_RATE);
		value_cell(w, g, "held_bytes", VALUE_RATE);
		value_cell(w, g, "budget_bytes", VALUE_RATE);
		value_cell(w, g, "blocks_per_s", VALUE_RATE);
		value_cell(w, g, "bytes_per_s", VALUE_RATE);
		writer_cell(w, beyond ? WRITER_WARN : WRITER_PLAIN, "%lld",
			    value_integer(g, "beyond_limit", 0));
		value_cell(w, g, "disconnected", VALUE_COUNT);
	}
	writer_table_end(w, "no groups are configured");
}

static void render_last_drop(struct writer *w, const json_t *group)
{
	const json_t *drop = value_at(group, "last_drop");
	char floor[48], age[32];

	if (!json_is_object(drop)) {
		return;
	}
	writer_text(w, WRITER_WARN, "%s: last dropped (%s) %s of %s, frames %lld to %lld, %s ago",
		    value_string(group, "group", "?"), value_string(drop, "outcome", "?"),
		    value_string(drop, "stream", "?"), value_floor(drop, floor, sizeof(floor)),
		    value_integer(drop, "first_frame", 0),
		    value_integer(drop, "first_frame", 0) + value_integer(drop, "frames", 0) - 1,
		    value_text(value_at(drop, "age_s"), VALUE_AGE, age, sizeof(age)));
	writer_newline(w);
}

static void render_reader(struct writer *w, const json_t *r)
{
	const json_t *dropped = value_at(r, "dropped");
	char floor[48], time[48];

	writer_cell(w, WRITER_PLAIN, "%s", value_floor(r, floor, sizeof(floor)));
	writer_cell(w, WRITER_PLAIN, "%lld", value_integer(r, "port", 0));
	value_cell(w, r, "address", VALUE_PLAIN);
	value_cell(w, r, "since", VALUE_TIME);
	value_cell(w, r, "bytes", VALUE_RATE);
	value_cell(w, r, "hits", VALUE_COUNT);
	value_cell(w, r, "behind_bytes", VALUE_RATE);
	value_cell(w, r, "behind_frames", VALUE_COUNT);
	if (json_is_object(dropped)) {
		writer_cell(w, WRITER_BAD, "dropped (%s) %s", value_string(dropped, "outcome", "?"),
			    value_text(value_at(dropped, "time"), VALUE_TIME, time, sizeof(time)));
	} else {
		writer_cell(w, WRITER_GOOD, "connected");
	}
}

/* A floor that nobody reads has a line, too. */
static void render_floor(struct writer *w, const json_t *floor, const json_t *readers)
{
	long long link = value_integer(floor, "link", -1);
	bool read = false;
	char text[48];
	size_t i;
	const json_t *r;

	json_array_foreach (readers, i, r) {
		if (value_integer(r, "link", -1) == link) {
			render_reader(w, r);
			read |= !json_is_object(value_at(r, "dropped"));
		}
	}
	if (!read) {
		writer_cell(w, WRITER_PLAIN, "%s", value_floor(floor, text, sizeof(text)));
		writer_cell(w, WRITER_PLAIN, "%lld", value_integer(floor, "port", 0));
		writer_cell(w, WRITER_BAD, "nobody");
		for (unsigned n = 0; n < 6; n++) {
			writer_cell(w, WRITER_PLAIN, "-");
		}
	}
}

static void render_feed(struct writer *w, const json_t *feed)
{
	static const char *const columns[] = {"floor",	     ">port",	       "reader",
					      "since (UTC)", ">bytes",	       ">hits",
					      ">behind",     ">frames behind", "state"};
	size_t i;
	const json_t *floor;

	if (!json_is_object(feed)) {
		return;
	}
	writer_newline(w);
	writer_heading(w,
		       "Readers of the TriDAS feed at %s (in bytes; dropped so far %lld, refused "
		       "%lld)",
		       value_string(feed, "address", "?"), value_integer(feed, "dropped", 0),
		       value_integer(feed, "refused", 0));
	writer_table(w, columns, sizeof(columns) / sizeof(columns[0]));
	json_array_foreach (value_at(feed, "floors"), i, floor) {
		render_floor(w, floor, value_at(feed, "readers"));
	}
	writer_table_end(w, "no floor has a port");
}

static void render_door(struct writer *w, const char *name, const json_t *door)
{
	if (!json_is_object(door)) {
		return;
	}
	writer_cell(w, WRITER_PLAIN, "%s", name);
	value_cell(w, door, "endpoint", VALUE_PLAIN);
	value_cell(w, door, "connections", VALUE_COUNT);
	value_cell(w, door, "refused", VALUE_COUNT);
	value_cell(w, door, "crowded", VALUE_COUNT);
	value_cell(w, door, "unfinished", VALUE_COUNT);
	value_cell(w, door, "silent", VALUE_COUNT);
	value_cell(w, door, "greedy", VALUE_COUNT);
}

static void render_doors(struct writer *w, const json_t *doors)
{
	static const char *const columns[] = {"for",	  "connect to",	 ">connections", ">refused",
					      ">crowded", ">unfinished", ">silent",	 ">greedy"};

	if (!json_is_object(doors)) {
		return;
	}
	writer_newline(w);
	writer_heading(w, "Doors");
	writer_table(w, columns, sizeof(columns) / sizeof(columns[0]));
	render_door(w, "consumers", value_at(doors, "reserved"));
	render_door(w, "monitors", value_at(doors, "monitors"));
	writer_table_end(w, "none");
}

static void render_list(struct writer *w, const json_t *result)
{
	size_t i;
	const json_t *group;

	writer_heading(w, "Groups (in blocks, since the daemon started)");
	render_groups(w, value_at(result, "groups"));
	json_array_foreach (value_at(result, "groups"), i, group) {
		render_last_drop(w, group);
	}
	writer_newline(w);
	writer_heading(w, "Policies, memory in bytes, pace");
	render_memory(w, value_at(result, "groups"));
	writer_newline(w);
	writer_heading(w, "Members");
	render_members(w, value_at(result, "members"));
	render_feed(w, value_at(result, "feed"));
	render_doors(w, value_at(result, "doors"));
}

static int list_run(struct ctl *ctl, const struct ctl_args *args)
{
	(void)args;
	return ctl_show(ctl, "consumer.list", NULL, render_list);
}

const struct ctl_command ctl_consumer_commands[] = {
	{
		.noun = "consumer",
		.verb = "list",
		.arguments = "",
		.summary = "who takes the data, what was dropped for whom",
		.help = "Groups of reserved consumers with what was offered, acknowledged, is in "
			"flight, waits for\na member, or was dropped by name: no-member (nobody "
			"there), "
			"slow, shutdown, pool (no\nmemory left). lag: age of the oldest block "
			"not settled. Policy: what happens when the\ngroup has used its share of "
			"the ring or 3/4 of its budget of memory; 'against policy' are\nblocks "
			"dropped because 3/4 of the ring or the whole budget was used.\n\n"
			"Members: 'in flight' counts dropped blocks that it still owes, 'taken "
			"over' blocks that a\ndead member had held. State: alive, left, silent, "
			"too-slow (disconnected by the policy).\n\n"
			"The group tridas is the TriDAS feed; its readers by floor: written, "
			"behind, and "
			"the last\nones that were dropped because they were too far behind.\n\n"
			"Doors: where to connect to; connections that are there, were refused "
			"(no ZeroMQ), or were\ncut off: crowded (too many), unfinished (bytes "
			"without the end of a message), silent (no\nmessage for a minute), greedy "
			"(has said too much). Monitors (data tail) are best effort and\nnot "
			"listed.",
		.run = list_run,
	},
	{0},
};
