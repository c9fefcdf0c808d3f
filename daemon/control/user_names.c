// SPDX-License-Identifier: GPL-2.0-or-later
/* Names of users, see user_names.h. */
#include "daemon/control/user_names.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "daemon/core/now.h"
#include "daemon/core/worker.h"

#define KEPT 64u
#define OLD_NS                                                                                     \
	60000000000ull /* then it is asked for again, and the old one is used until that is answered */

struct name {
	struct work work;
	struct names *names;
	uint32_t uid;
	uint64_t asked_ns;	  /* 0: the place is free */
	bool known, asked;	  /* asked: the thread has it */
	char text[64], found[64]; /* found: the thread's, while asked */
};

struct names {
	struct worker *worker;
	struct event *late; /* is one that was asked for still waited for? */
	void (*known)(void *context);
	void *context;
	struct name name[KEPT];
};

static void number(uint32_t uid, char *text, size_t size)
{
	snprintf(text, size, "uid %u", uid);
}

static void look_up(struct work *work)
{
	struct name *e = (struct name *)work;
	struct passwd pw, *found = NULL;
	char room[4096];

	number(e->uid, e->found, sizeof(e->found));
	if (getpwuid_r(e->uid, &pw, room, sizeof(room), &found) == 0 && found) {
		snprintf(e->found, sizeof(e->found), "%s", pw.pw_name);
	}
}

static void looked_up(struct work *work)
{
	struct name *e = (struct name *)work;

	e->asked = false;
	e->known = true;
	memcpy(e->text, e->found, sizeof(e->text));
	e->names->known(e->names->context);
}

static void on_late(evutil_socket_t fd, short what, void *arg)
{
	struct names *n = arg;

	n->known(n->context);
}

static void ask(struct names *n, struct name *e, uint64_t now_ns)
{
	e->work = (struct work){.run = look_up, .done = looked_up};
	e->names = n;
	e->asked = true;
	e->asked_ns = now_ns;
	worker_give(n->worker, &e->work);
}

/* Its place, or that of the one that was asked for longest ago; NULL: all of them are being asked for. */
static struct name *place_of(struct names *n, uint32_t uid)
{
	struct name *oldest = NULL;

	for (unsigned i = 0; i < KEPT; i++) {
		struct name *e = &n->name[i];

		if (e->asked_ns && e->uid == uid) {
			return e;
		}
		if (!e->asked && (!oldest || e->asked_ns < oldest->asked_ns)) {
			oldest = e;
		}
	}
	if (oldest) {
		*oldest = (struct name){.uid = uid};
	}
	return oldest;
}

bool names_get(struct names *n, uint32_t uid, char *text, size_t size)
{
	static const struct timeval again = {0, NAMES_WAIT_MS * 1000 / 5};
	struct name *e = place_of(n, uid);
	uint64_t now = now_mono_ns();

	number(uid, text, size);
	if (!e) {
		return true;
	}
	if (!e->asked && (!e->known || now - e->asked_ns > OLD_NS)) {
		ask(n, e, now);
	}
	if (e->known) {
		snprintf(text, size, "%s", e->text);
	} else if (now - e->asked_ns < NAMES_WAIT_MS * 1000000ull) {
		event_add(n->late, &again);
		return false;
	}
	return true;
}

int names_open(struct event_base *base, void (*known)(void *context), void *context,
	       struct names **ret_names)
{
	struct names *n = calloc(1, sizeof(*n));
	int r;

	if (!n) {
		return -ENOMEM;
	}
	n->known = known;
	n->context = context;
	n->late = evtimer_new(base, on_late, n);
	r = n->late ? worker_start(base, "names", &n->worker) : -ENOMEM;
	if (r < 0) {
		names_close(n);
		return r;
	}
	*ret_names = n;
	return 0;
}

static void ignore(void *context)
{
}

void names_close(struct names *n)
{
	if (!n) {
		return;
	}
	n->known = ignore;
	if (n->late) {
		event_free(n->late);
	}
	if (worker_stop(n->worker)) { /* else its thread may still write there */
		free(n);
	}
}
