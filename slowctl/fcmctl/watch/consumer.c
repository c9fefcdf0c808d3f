/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fcmctl consumer: who takes the data, and what their policies dropped. */
#include <stdio.h>
#include <string.h>

#include "slowctl/fcmctl/core/ctl.h"
#include "slowctl/fcmctl/show/value.h"

static void render_members(struct writer *w, const json_t *members)
{
	static const struct value_column columns[] = {{"member", "{member}"},
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

	value_table(w, members, columns, "no member has joined");
}

static void render_delivered(struct writer *w, const json_t *members)
{
	static const struct value_column columns[] = {{"member", "{member}"},
						      {">blocks", "{delivered}"},
						      {">bytes", "{delivered_bytes:rate}"},
						      {">bytes/s", "{bytes_per_s:rate}"},
						      {0}};

	value_table(w, members, columns, "no member has joined");
}

/* The names of the streams as one text, for the table. A new reference. */
static json_t *with_streams(const json_t *groups)
{
	json_t *copy = json_deep_copy(groups);
	json_t *group;
	size_t i;

	json_array_foreach (copy, i, group) {
		char text[64] = "";
		size_t n, used = 0;
		const json_t *stream;

		json_array_foreach (value_at(group, "streams"), n, stream) {
			const char *name = json_string_value(stream);

			if (name != NULL && used < sizeof(text)) {
				used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s",
							 used > 0 ? "," : "", name);
			}
		}
		json_object_set_new(group, "streams", json_string(text));
	}
	return copy;
}

static void render_groups(struct writer *w, const json_t *groups)
{
	static const struct value_column columns[] = {
		{"group", "{group}"},	       {">members", "{members}"},
		{">offered", "{offered}"},     {">acknowledged", "{acknowledged}"},
		{">in flight", "{in_flight}"}, {">waiting", "{waiting}"},
		{">lag", "{oldest_s:age}"},    {">dropped", "{dropped:lost}", VALUE_WARN},
		{"why", "{dropped:losses}"},   {0}};

	value_table(w, groups, columns, "no groups are configured");
}

static void render_memory(struct writer *w, const json_t *groups)
{
	static const struct value_column columns[] = {{"group", "{group}"},
						      {"policy", "{policy}"},
						      {">held", "{held_bytes:rate}"},
						      {">budget", "{budget_bytes:rate}"},
						      {">blocks/s", "{blocks_per_s:rate}"},
						      {">bytes/s", "{bytes_per_s:rate}"},
						      {">beyond", "{beyond_limit}", VALUE_WARN},
						      {">cut off", "{disconnected}"},
						      {"streams", "{streams}"},
						      {0}};
	json_t *named = with_streams(groups);

	value_table(w, named, columns, "no groups are configured");
	json_decref(named);
}

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

/* The cells of a port: of one of its readers, or of the floor that has none. */
static void render_port(struct writer *w, const json_t *port, bool reader)
{
	static const char *const cells[] = {"{:floor}",
					    "{port}",
					    "{address|no reader}",
					    "{bytes:rate}",
					    "{hits}",
					    "{behind_bytes:rate}",
					    "{behind_frames:count}"};
	bool dropped = json_is_object(value_at(port, "dropped"));
	char text[96];

	for (size_t i = 0; i < sizeof(cells) / sizeof(cells[0]); i++) {
		writer_cell(w, !reader && i == 2 ? WRITER_BAD : WRITER_PLAIN, "%s",
			    value_fill(port, cells[i], text, sizeof(text)));
	}
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

/* A floor without a reader has a row, too. */
static void render_floor(struct writer *w, const json_t *floor, const json_t *readers)
{
	long long link = value_integer(floor, "link", -1);
	bool read = false;
	size_t i;
	const json_t *r;

	json_array_foreach (readers, i, r) {
		if (value_integer(r, "link", -1) == link) {
			render_port(w, r, true);
			read |= !json_is_object(value_at(r, "dropped"));
		}
	}
	if (!read) {
		render_port(w, floor, false);
	}
}

static void render_feed(struct writer *w, const json_t *feed)
{
	static const char *const columns[] = {"floor", ">port",	  "reader",  ">bytes",
					      ">hits", ">behind", ">frames", "connected (UTC)"};
	size_t i;
	const json_t *floor;
	char text[160];

	if (!json_is_object(feed)) {
		return;
	}
	writer_newline(w);
	writer_heading(w, "Readers of the TriDAS feed at %s, in bytes; behind: bytes and frames",
		       value_fill(feed, "{address} (dropped {dropped}, refused {refused} so far)",
				  text, sizeof(text)));
	writer_table(w, columns, sizeof(columns) / sizeof(columns[0]));
	json_array_foreach (value_at(feed, "floors"), i, floor) {
		render_floor(w, floor, value_at(feed, "readers"));
	}
	writer_table_end(w, "no floor has a port");
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
	size_t i;
	const json_t *group;

	writer_heading(w, "Groups (in blocks, since the daemon started)");
	render_groups(w, value_at(result, "groups"));
	json_array_foreach (value_at(result, "groups"), i, group) {
		render_last_drop(w, group);
	}
	writer_newline(w);
	writer_heading(w, "Policies, memory (held and budget, in bytes), rates");
	render_memory(w, value_at(result, "groups"));
	writer_newline(w);
	writer_heading(w, "Members");
	render_members(w, value_at(result, "members"));
	if (json_array_size(value_at(result, "members")) > 0) {
		writer_newline(w);
		writer_heading(w, "Delivered to members");
		render_delivered(w, value_at(result, "members"));
	}
	render_feed(w, value_at(result, "feed"));
	render_doors(w, value_at(result, "doors"));
}

const struct ctl_command ctl_consumer_commands[] = {
	{
		.noun = "consumer",
		.verb = "list",
		.arguments = "",
		.summary = "who takes the data, what was dropped for whom",
		.help = "Groups of reserved consumers: blocks offered, acknowledged, in flight, "
			"waiting for a member,\nand dropped by name: no-member, slow, shutdown, "
			"pool (no memory left). lag: age of the\noldest block that is not "
			"settled.\n\nPolicy: what happens when the group has used its share of the "
			"ring or 3/4 of its memory\nbudget. beyond: blocks dropped because 3/4 of "
			"the ring or the whole budget was used,\nwhatever the policy. cut off: "
			"members that the policy disconnected.\n\nMembers: 'in flight' includes "
			"dropped blocks that the member still has to acknowledge,\n'taken over' "
			"counts blocks that a dead member had held. State: alive, left, "
			"silent,\ntoo-slow (disconnected by the policy).\n\nThe group tridas is "
			"the TriDAS feed. Its readers by floor: written, behind, and the "
			"last\nreaders that were dropped because they were too far "
			"behind.\n\nSockets: where to connect to; connections that are open, were "
			"refused (no ZeroMQ), or were\ncut off: crowded (too many), unfinished (a "
			"message without end), silent (no message for a\nminute), greedy (too much "
			"data). Monitors (data tail) are best effort and not listed.",
		.op = "consumer.list",
		.render = render_list,
	},
	{0},
};
