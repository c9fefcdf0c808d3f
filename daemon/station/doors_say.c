// SPDX-License-Identifier: GPL-2.0-or-later
/* Listening sockets that cannot be opened now: words for status, and the log. */
#include "daemon/station/doors_say.h"

#include <stdio.h>
#include <string.h>

#include "daemon/control/network.h"
#include "daemon/core/log.h"
#include "daemon/station/reports.h"
#include "daemon/station/station.h"

struct words {
	char text[400];
	size_t used;
};

static void add(struct words *w, const char *who, const char *where, int error)
{
	if (error && w->used < sizeof(w->text)) {
		w->used += (size_t)snprintf(w->text + w->used, sizeof(w->text) - w->used,
					    "%s%s for %s (%s)", w->used ? ", " : "", where, who,
					    strerror(-error));
	}
}

static void add_feed(struct station *s, struct words *w)
{
	const struct feed_status *f = &s->publisher_status.feed;
	char where[sizeof(s->config.feed.address) + 16];

	for (unsigned link = 0; s->publisher_status.has_feed && link < NANET3_LINKS; link++) {
		snprintf(where, sizeof(where), "%s port %u", s->config.feed.address, f->port[link]);
		add(w, "readers of the TriDAS feed", where, f->closed[link]);
	}
}

void doors_closed(struct station *s, char *text, size_t size)
{
	const struct publisher_status *p = &s->publisher_status;
	struct network_status network = {.door.closed = 0};
	struct words w = {.used = 0};

	add(&w, "consumers", s->config.data.reserved_endpoint, p->door.closed);
	add(&w, "monitors", s->config.data.monitor_endpoint, p->monitor_door.closed);
	if (s->network) {
		network_get_status(s->network, &network);
	}
	add(&w, "control over the network", s->config.network.endpoint, network.door.closed);
	add_feed(s, &w);
	snprintf(text, size, "%s", w.text);
}

void doors_second(struct station *s)
{
	char text[sizeof(s->doors_told)];

	reports_groups(s);
	doors_closed(s, text, sizeof(text));
	if (strcmp(text, s->doors_told) == 0) {
		return;
	}
	memcpy(s->doors_told, text, sizeof(s->doors_told));
	if (*text) {
		log_warning("doors", "cannot listen at %s; tried again each second", text);
	} else {
		log_notice("doors", "all listening sockets are open");
	}
}
