/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See listen.h. */
#include "slowctl/fcmctl/listen.h"

#include <inttypes.h>
#include <stdio.h>

#include "slowctl/fcmctl/show/value.h"

#define SILENCE_S 5.0
#define MISSED_S  1.0 /* between two remarks of a stream of a link */
#define WAIT_MS	  200

/* ------------------------------------------------------------------ what is missed */

static void say_missed(struct listen_missed *m, unsigned link, unsigned stream)
{
	char where[48];

	if (m->gaps == 0) {
		return;
	}
	snprintf(where, sizeof(where), "link %u %s", link, fcm_stream_name(stream));
	if (m->gaps == 1) {
		ctl_remark("%s: frames %" PRIu64 " to %" PRIu64
			   " were missed here (a monitor is best effort; no loss of the station)",
			   where, m->first, m->last);
	} else {
		ctl_remark("%s: %" PRIu64 " frames in %u gaps from %" PRIu64 " to %" PRIu64
			   " were missed here (a monitor is best effort; no loss of the station)",
			   where, m->frames, m->gaps, m->first, m->last);
	}
	*m = (struct listen_missed){.next_s = ctl_monotonic() + MISSED_S};
}

static void note_missed(struct listen *l, const struct fcmdata_block *b)
{
	const struct fcm_block_header *h = &b->header;
	struct listen_missed *m = &l->missed[h->link][h->stream];

	if (b->gap_lost > 0) {
		l->missed_frames[h->link] += b->gap_lost;
		m->first = m->gaps == 0 ? b->gap_first : m->first;
		m->last = b->gap_first + b->gap_lost - 1;
		m->frames += b->gap_lost;
		m->gaps++;
	}
	if (m->gaps > 0 && ctl_monotonic() >= m->next_s) {
		say_missed(m, h->link, h->stream);
	}
}

/* ------------------------------------------------------------------ silence */

void listen_heard(struct listen *l)
{
	l->heard_s = ctl_monotonic();
	l->silence_reported = false;
}

/* A silence is said once; the end where --timeout says so. Else it is no end: the daemon may come back. */
int listen_unheard(struct listen *l)
{
	double silent_s = ctl_monotonic() - l->heard_s;

	if (l->silence_s > 0.0 && silent_s > l->silence_s) {
		return ctl_fail(l->ctl, CTL_NOT, "time-out", "fcmctl link list",
				"no %s from %s for %.1f s", l->wanted, l->monitor.endpoint,
				l->silence_s);
	}
	if (!l->silence_reported && silent_s > SILENCE_S) {
		ctl_remark("no such %s for %.0f s; still waiting (fcmctl link list shows what the "
			   "links do)",
			   l->wanted, SILENCE_S);
		l->silence_reported = true;
	}
	return CTL_DONE;
}

/* ------------------------------------------------------------------ blocks */

static bool is_wanted(const struct listen *l, const struct fcm_block_header *h)
{
	return (l->stream < 0 || h->stream == l->stream) && (l->link < 0 || h->link == l->link) &&
	       (l->tower < 0 || h->tower == l->tower) && (l->floor < 0 || h->floor == l->floor);
}

int listen_next(struct listen *l, const struct fcmdata_block **ret_block)
{
	const struct fcmdata_block *b;
	int code = ctl_monitor_next(l->ctl, &l->monitor, WAIT_MS, &b);

	*ret_block = NULL;
	if (b != NULL && !is_wanted(l, &b->header)) {
		fcmdata_release(l->monitor.data, b);
		b = NULL;
	}
	if (b != NULL) {
		note_missed(l, b);
		*ret_block = b;
	}
	return code == CTL_DONE && b == NULL ? listen_unheard(l) : code;
}

void listen_release(struct listen *l, const struct fcmdata_block *b)
{
	fcmdata_release(l->monitor.data, b);
}

/* ------------------------------------------------------------------ begin and end */

/* The topic's beginning that all wanted blocks share. */
static void topic_prefix(const struct listen *l, char *buf, size_t size)
{
	buf[0] = '\0';
	if (l->stream >= 0) {
		value_append(buf, size, "%s.", fcm_stream_name((unsigned)l->stream));
	}
	if (l->stream >= 0 && l->tower >= 0) {
		value_append(buf, size, "T%02d.", l->tower);
	}
	if (l->stream >= 0 && l->tower >= 0 && l->floor >= 0) {
		value_append(buf, size, "F%02d", l->floor);
	}
}

int listen_open(struct listen *l, struct ctl *ctl, const struct ctl_args *args, int stream,
		const char *wanted)
{
	json_t *info = NULL;
	char topic[32];
	int code;

	*l = (struct listen){
		.ctl = ctl,
		.stream = stream,
		.link = (int)ctl_number(args, CTL_LINK, -1),
		.tower = (int)ctl_number(args, CTL_TOWER, -1),
		.floor = (int)ctl_number(args, CTL_FLOOR, -1),
		.wanted = wanted,
		.silence_s = ctl->timeout_s,
	};
	code = ctl_ask(ctl, "info", NULL, &info);
	if (code != CTL_DONE) {
		return code;
	}
	ctl_disconnect(ctl);
	topic_prefix(l, topic, sizeof(topic));
	code = ctl_monitor_open(ctl, args, info, topic, &l->monitor);
	json_decref(info);
	listen_heard(l);
	return code;
}

void listen_close(struct listen *l)
{
	for (unsigned link = 0; link < FCM_LINKS; link++) {
		for (unsigned stream = 0; stream < FCM_STREAMS; stream++) {
			say_missed(&l->missed[link][stream], link, stream);
		}
	}
	fcmdata_close(l->monitor.data);
}
