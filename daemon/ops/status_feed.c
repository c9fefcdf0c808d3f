// SPDX-License-Identifier: GPL-2.0-or-later
/* The TriDAS feed's ports and readers, for consumer.list. */
#include "daemon/ops/private.h"

#include "daemon/station/reports.h"

static json_t *floor_json(const struct ops *ops, unsigned link)
{
	const struct config_link *l = &ops->config->link[link];

	return json_pack("{s:i,s:i,s:i,s:i}", "link", (int)link, FIELD(l, tower), FIELD(l, floor),
			 "port", ops->publisher_status->feed.port[link]);
}

static json_t *reader_json(const struct ops *ops, const struct feed_reader_status *r,
			   const struct feed_gone_status *gone)
{
	json_t *j = floor_json(ops, r->link);
	json_t *dropped = json_null();

	if (gone) {
		dropped = json_pack("{s:s,s:I,s:o}", "outcome", outcome_name(gone->why),
				    COUNT(gone, frames), "time", json_time_of(gone->at_ns));
	}
	json_object_update_new(j, json_pack("{s:s,s:o,s:I,s:I,s:I,s:I,s:o}", FIELD(r, address),
					    "since", json_time_of(r->since_ns), COUNT(r, bytes),
					    COUNT(r, hits), COUNT(r, behind_bytes),
					    COUNT(r, behind_frames), "dropped", dropped));
	return j;
}

json_t *status_feed(struct ops *ops)
{
	const struct feed_status *f = &ops->publisher_status->feed;
	json_t *floors, *readers;

	reports_groups(ops->station);
	if (!ops->publisher_status->has_feed) {
		return json_null();
	}
	floors = json_array();
	readers = json_array();
	for (unsigned link = 0; link < NANET3_LINKS; link++) {
		if (f->port[link]) {
			json_array_append_new(floors, floor_json(ops, link));
		}
	}
	for (unsigned n = 0; n < f->readers; n++) {
		json_array_append_new(readers, reader_json(ops, &f->reader[n], NULL));
	}
	for (uint64_t n = f->dropped > FEED_GONE ? f->dropped - FEED_GONE : 0; n < f->dropped;
	     n++) {
		const struct feed_gone_status *gone = &f->gone[n % FEED_GONE];

		json_array_append_new(readers, reader_json(ops, &gone->reader, gone));
	}
	return json_pack("{s:s,s:o,s:o,s:I,s:I,s:I,s:I,s:I}", FIELD(&ops->config->feed, address),
			 "floors", floors, "readers", readers, COUNT(f, connects),
			 COUNT(f, refused), COUNT(f, left), COUNT(f, dropped), "ignored_bytes",
			 (json_int_t)f->heard_bytes);
}
