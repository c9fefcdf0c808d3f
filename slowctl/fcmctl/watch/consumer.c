/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fcmctl consumer: who takes the data, and what their policies dropped. */
#include <stdio.h>
#include <string.h>

#include "slowctl/fcmctl/core/ctl.h"
#include "slowctl/fcmctl/show/value.h"

static const struct value_column members_columns[] = {{"member", "{member}"},
						      {"group", "{group}"},
						      {"state", "{state}", VALUE_BY_WORD},
						      {">in flight", "{in_flight}"},
						      {"?>credit", "{credit}"},
						      {">lag", "{oldest_s:age}"},
						      {">blocks/s", "{blocks_per_s:rate}"},
						      {">taken over", "{redelivered}"},
						      {">last message", "{age_s:age}"},
						      {"from", "{address}"},
						      {0}};

static const struct value_column delivered_columns[] = {{"member", "{member}"},
							{">blocks", "{delivered}"},
							{">bytes", "{delivered_bytes:rate}"},
							{">bytes/s", "{bytes_per_s:rate}"},
							{0}};

static const struct value_column groups_columns[] = {
	{"group", "{group}"},	       {">members", "{members}"},
	{">offered", "{offered}"},     {">acknowledged", "{acknowledged}"},
	{">in flight", "{in_flight}"}, {">waiting", "{waiting}"},
	{">lag", "{oldest_s:age}"},    {">dropped", "{dropped:lost}", VALUE_WARN},
	{"why", "{dropped:losses}"},   {0}};

static const struct value_column memory_columns[] = {{"group", "{group}"},
						     {"policy", "{policy}"},
						     {">held", "{held_bytes:rate}"},
						     {">budget", "{budget_bytes:rate}"},
						     {">blocks/s", "{blocks_per_s:rate}"},
						     {">bytes/s", "{bytes_per_s:rate}"},
						     {">beyond", "{beyond_limit}", VALUE_WARN},
						     {">cut off", "{disconnected}"},
						     {"streams", "{streams}"},
						     {0}};

static void render_last_drop(struct writer *w, const json_t *group)
{
	const json_t *drop = value_at(group, "last_drop");
	long long first = value_integer(drop, "first_frame", 0);
	char text[160];

	if (json_is_object(drop)) {
		writer_paragraph(w, 0, WRITER_WARN, "%s: last dropped %s, frames %lld to %lld",
				 value_string(group, "group", "?"),
				 value_fill(drop,
					    "{age_s:age} ago ({outcome}): {stream} of {:floor}",
					    text, sizeof(text)),
				 first, first + value_integer(drop, "frames", 0) - 1);
	}
}

static void reader_cell(struct writer *w, const json_t *port)
{
	const char *reader = value_string(port, "address", NULL);

	writer_cell(w, reader != NULL ? WRITER_PLAIN : WRITER_BAD, "%s",
		    reader != NULL ? reader : "no reader");
}

static void connected_cell(struct writer *w, const json_t *port)
{
	bool reader = json_is_string(value_at(port, "address"));
	bool dropped = json_is_object(value_at(port, "dropped"));
	char text[96];

	writer_cell(w,
		    dropped  ? WRITER_BAD
		    : reader ? WRITER_GOOD
			     : WRITER_PLAIN,
		    "%s",
		    value_fill(port,
			       dropped	? "dropped ({dropped.outcome}) {dropped.time:time}"
			       : reader ? "since {since:time}"
					: "-",
			       text, sizeof(text)));
}

/* The readers by floor; a floor that none reads has a row, too. A new reference. */
static json_t *ports_of(const json_t *feed)
{
	json_t *ports = json_array();
	json_t *floor, *reader;
	size_t i, n;

	json_array_foreach (value_at(feed, "floors"), i, floor) {
		bool read = false;

		json_array_foreach (value_at(feed, "readers"), n, reader) {
			if (value_integer(reader, "link", -1) == value_integer(floor, "link", -1)) {
				json_array_append(ports, reader);
				read |= !json_is_object(value_at(reader, "dropped"));
			}
		}
		if (!read) {
			json_array_append(ports, floor);
		}
	}
	return ports;
}

static void render_feed(struct writer *w, const json_t *feed)
{
	static const struct value_column columns[] = {{"floor", "{:floor}"},
						      {">port", "{port}"},
						      {"reader", .cell = reader_cell},
						      {">bytes", "{bytes:rate}"},
						      {">hits", "{hits}"},
						      {">behind", "{behind_bytes:rate}"},
						      {">frames", "{behind_frames:count}"},
						      {"connected (UTC)", .cell = connected_cell},
						      {0}};
	json_t *ports = ports_of(feed);
	char text[160];

	if (json_is_object(feed)) {
		writer_newline(w);
		writer_heading(
			w, "Readers of the TriDAS feed at %s, in bytes; behind: bytes and frames",
			value_fill(feed, "{address} (dropped {dropped}, refused {refused} so far)",
				   text, sizeof(text)));
		value_table(w, ports, columns, "no floor has a port");
	}
	json_decref(ports);
}

static void render_doors(struct writer *w, const json_t *doors)
{
	static const struct value_column columns[] = {{"for", "{for}"},
						      {"connect to", "{endpoint}"},
						      {">connections", "{connections}"},
						      {">refused", "{refused}"},
						      {">crowded", "{crowded}"},
						      {">unfinished", "{unfinished}"},
						      {">silent", "{silent}"},
						      {">greedy", "{greedy}"},
						      {0}};
	static const struct {
		const char *key, *name;
	} kinds[] = {{"reserved", "consumers"}, {"monitors", "monitors"}};
	json_t *rows = json_array();

	if (json_is_object(doors)) {
		for (size_t i = 0; i < 2; i++) {
			json_t *row = json_pack("{s:s}", "for", kinds[i].name);
			json_t *door = json_object_get(doors, kinds[i].key);

			if (json_object_update_missing(row, door) == 0) {
				json_array_append(rows, row);
			}
			json_decref(row);
		}
		writer_newline(w);
		writer_heading(w, "Sockets");
		value_table(w, rows, columns, "none");
	}
	json_decref(rows);
}

static void render_list(struct writer *w, const json_t *result)
{
	const json_t *groups = value_at(result, "groups");
	const json_t *members = value_at(result, "members");
	size_t i;
	const json_t *group;

	writer_heading(w, "Groups (in blocks, since the daemon started)");
	value_table(w, groups, groups_columns, "no groups are configured");
	json_array_foreach (groups, i, group) {
		render_last_drop(w, group);
	}
	writer_newline(w);
	writer_heading(w, "Policies, memory (held and budget, in bytes), rates");
	value_table(w, groups, memory_columns, "no groups are configured");
	writer_newline(w);
	writer_heading(w, "Members");
	value_table(w, members, members_columns, "no member has joined");
	if (json_array_size(members) > 0) {
		writer_newline(w);
		writer_heading(w, "Delivered to members");
		value_table(w, members, delivered_columns, "no member has joined");
	}
	render_feed(w, value_at(result, "feed"));
	render_doors(w, value_at(result, "doors"));
}

const struct ctl_command ctl_consumer_commands[] = {
	{"consumer", "list", "", "who takes the data, what was dropped for whom",
	 .help = "Groups of reserved consumers: blocks offered, acknowledged, in flight, waiting "
		 "for a member,\nand dropped by name: no-member, slow, shutdown, pool (no memory "
		 "left). lag: age of the\noldest block that is not settled.\n\nPolicy: what "
		 "happens when the group has used its share of the ring or 3/4 of its "
		 "memory\nbudget. beyond: blocks dropped because 3/4 of the ring or the whole "
		 "budget was used,\nwhatever the policy. cut off: members that the policy "
		 "disconnected.\n\nMembers: 'in flight' includes dropped blocks that the member "
		 "still has to acknowledge,\n'taken over' counts blocks that a dead member had "
		 "held. State: alive, left, silent,\ntoo-slow (disconnected by the policy).\n\nThe "
		 "group tridas is the TriDAS feed. Its readers by floor: written, behind, and the "
		 "last\nreaders that were dropped because they were too far behind.\n\nSockets: "
		 "where to connect to; connections that are open, were refused (no ZeroMQ), or "
		 "were\ncut off: crowded (too many), unfinished (a message without end), silent "
		 "(no message for a\nminute), greedy (too much data). Monitors (data tail) are "
		 "best effort and not listed.",
	 .op = "consumer.list", .render = render_list},
	{0},
};
