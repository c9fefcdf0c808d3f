// SPDX-License-Identifier: GPL-2.0-or-later
/* Listening sockets that cannot be opened now, in the operator's words: why it is red, and the log. */
#include <stdio.h>
#include <string.h>

#include "daemon/alarms/reasons.h"

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

/* Empty: all are open. As reports_groups() knew it last. */
static void closed_doors(struct station *s, struct words *w)
{
	const struct publisher_status *p = &s->publisher_status;
	struct network_status network = {.door.closed = 0};

	*w = (struct words){.used = 0};
	add(w, "consumers", s->config.data.reserved_endpoint, p->door.closed);
	add(w, "monitors", s->config.data.monitor_endpoint, p->monitor_door.closed);
	if (s->network) {
		network_get_status(s->network, &network);
	}
	add(w, "control over the network", s->config.network.endpoint, network.door.closed);
	add_feed(s, w);
}

void reasons_doors(struct reasons *r)
{
	struct words w;

	closed_doors(r->station, &w);
	if (w.used) {
		reasons_add(r, true, "door-not-open", "doors",
			    "which program listens there? ss -ltnp; end it: the daemon tries again "
			    "each second",
			    "nobody can connect to %s", w.text);
	}
}

void doors_second(struct station *s)
{
	struct words w;

	reports_groups(s);
	closed_doors(s, &w);
	if (strcmp(w.text, s->doors_told) == 0) {
		return;
	}
	memcpy(s->doors_told, w.text, sizeof(s->doors_told));
	if (w.used) {
		log_warning("doors", "cannot listen at %s; tried again each second", w.text);
	} else {
		log_notice("doors", "all listening sockets are open");
	}
}
