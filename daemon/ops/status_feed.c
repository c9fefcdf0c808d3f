// SPDX-License-Identifier: GPL-2.0-or-later
/* The TriDAS feed's ports and readers, for consumer.list. */
#include "daemon/ops/private.h"

#include "daemon/station/reports.h"

static json_t *floor_json(const struct station *s, unsigned link)
{
	const struct config_link *l = &s->config.link[link];

	return json_pack("{s:i,s:i,s:i,s:i}", "link", (int)link, FIELD(l, tower), FIELD(l, floor),
			 "port", s->publisher_status.feed.port[link]);
}

static json_t *reader_json(const struct station *s, const struct feed_reader_status *r,
			   const struct feed_gone_status *gone)
{
	json_t *j = floor_json(s, r->link);
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

json_t *status_feed(struct station *s)
{
	const struct feed_status *f = &s->publisher_status.feed;
	json_t *floors, *readers;

	reports_groups(s);
	if (!s->publisher_status.has_feed) {
		return json_null();
	}
	floors = json_array();
	readers = json_array();
	for (unsigned link = 0; link < NANET3_LINKS; link++) {
		if (f->port[link]) {
			json_array_append_new(floors, floor_json(s, link));
		}
	}
	for (unsigned n = 0; n < f->readers; n++) {
		json_array_append_new(readers, reader_json(s, &f->reader[n], NULL));
	}
	for (uint64_t n = f->dropped > FEED_GONE ? f->dropped - FEED_GONE : 0; n < f->dropped;
	     n++) {
		const struct feed_gone_status *gone = &f->gone[n % FEED_GONE];

		json_array_append_new(readers, reader_json(s, &gone->reader, gone));
	}
	return json_pack("{s:s,s:o,s:o,s:I,s:I,s:I,s:I,s:I}", FIELD(&s->config.feed, address),
			 "floors", floors, "readers", readers, COUNT(f, connects),
			 COUNT(f, refused), COUNT(f, left), COUNT(f, dropped), "ignored_bytes",
			 (json_int_t)f->heard_bytes);
}
