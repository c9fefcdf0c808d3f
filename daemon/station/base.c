// SPDX-License-Identifier: GPL-2.0-or-later
/* What several files of the room use. See base.h. */
#include "daemon/station/base.h"

#include <errno.h>
#include <string.h>

#include "daemon/control/control.h"
#include "daemon/station/station.h"

static void on_event(evutil_socket_t fd, short what, void *arg)
{
	const struct station_event *e = arg;

	e->run(e->station);
}

int station_follow(struct station *s, struct station_event *e, int fd, short what,
		   unsigned every_ms, void (*run)(struct station *s))
{
	struct timeval every = {every_ms / 1000, every_ms % 1000 * 1000};

	*e = (struct station_event){.run = run, .station = s};
	e->event = event_new(s->base, fd, (short)(what | EV_PERSIST), on_event, e);
	if (!e->event || event_priority_set(e->event, EVENTS_URGENT) < 0 ||
	    event_add(e->event, every_ms ? &every : NULL) < 0) {
		station_unfollow(e);
		return -ENOMEM;
	}
	return 0;
}

void station_unfollow(struct station_event *e)
{
	if (e->event) {
		event_free(e->event);
		e->event = NULL;
	}
}

int station_blame_config(struct station *s, int r)
{
	s->misconfigured =
		r < 0 && r != -EIO && r != -ENOMEM && r != -EMFILE && r != -ENFILE && r != -EAGAIN;
	return r;
}

unsigned station_links(const struct station *s)
{
	unsigned links = 0;

	for (unsigned link = 0; link < NANET3_LINKS; link++) {
		links |= (unsigned)s->config.link[link].enabled << link;
	}
	return links;
}

unsigned station_links_count(const struct station *s)
{
	return (unsigned)__builtin_popcount(station_links(s));
}

int station_order(struct station *s, const struct capture_command *command)
{
	return queue_put(&s->commands, command) ? 0 : -EAGAIN; /* -EAGAIN: again at the next tick */
}

/* --- from the database --- */

void station_tell(struct control_request *rq, int r, json_t *result, const char *what)
{
	if (r == 0) {
		control_answer(rq, result);
	} else if (r == -ENOENT || r == -ENOTUNIQ) {
		control_fail(rq, "usage",
			     r == -ENOENT ? "fcmctl get lists the names" : "say the tower", NULL,
			     "%s: %s", what, r == -ENOENT ? "there is none" : "not unambiguous");
	} else if (r == -ETIME) {
		control_fail(rq, "refused",
			     "narrow it: a later --since, one --link, a smaller --limit; it reads "
			     "the database by itself where it may",
			     control_detail(DETAIL_TOO_MUCH),
			     "%s: query too large for the running daemon", what);
	} else {
		control_fail(rq, "internal", "journalctl -u fcm-server@N", NULL,
			     "%s: the database says: %s", what, strerror(-r));
	}
}
