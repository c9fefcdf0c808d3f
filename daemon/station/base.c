// SPDX-License-Identifier: GPL-2.0-or-later
/* What several files of the main thread use: descriptors to follow, orders to capture, answers to questions. */
#include "daemon/station/base.h"

#include <errno.h>
#include <string.h>

#include "daemon/control/control.h"
#include "daemon/station/station.h"

struct event *station_follow(struct station *s, int fd,
			     void (*on_readable)(int fd, short what, void *station))
{
	struct event *e = event_new(s->base, fd, EV_READ | EV_PERSIST, on_readable, s);

	if (e && (event_priority_set(e, EVENTS_URGENT) < 0 || event_add(e, NULL) < 0)) {
		event_free(e);
		e = NULL;
	}
	return e;
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
	struct capture_command *place = queue_reserve(&s->commands);

	if (!place) {
		return -EAGAIN; /* asked again at the next tick */
	}
	*place = *command;
	queue_commit(&s->commands);
	return 0;
}

/* --- from the database --- */

static void refuse_too_much(struct control_request *rq, const char *what)
{
	control_fail(rq, "refused",
		     "narrow it: a later --since, one --link, a smaller --limit; it reads the "
		     "database by itself where it may",
		     control_detail(DETAIL_TOO_MUCH),
		     "%s: that is more than the daemon reads while all else waits", what);
}

void station_tell(struct control_request *rq, int r, json_t *result, const char *what)
{
	if (r == 0) {
		control_answer(rq, result);
	} else if (r == -ENOENT || r == -ENOTUNIQ) {
		control_fail(rq, "usage",
			     r == -ENOENT ? "fcmctl get lists the names" : "say the tower", NULL,
			     "%s: %s", what, r == -ENOENT ? "there is none" : "not unambiguous");
	} else if (r == -ETIME) {
		refuse_too_much(rq, what);
	} else {
		control_fail(rq, "internal", "journalctl -u fcm-server@N", NULL,
			     "%s: the database says: %s", what, strerror(-r));
	}
}
