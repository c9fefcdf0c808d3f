// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The black boxes: raw data kept at an incident. See recorder.h.
 *
 *            a loss begins                  seconds over          no incident came
 *   NONE --------------------> TAKING ----------------> WAITING -------------------> NONE, removed
 *        an incident begins       | one began before       | an incident begins
 *                                 '--------> kept <--------'
 *
 * A box that is not kept yet is in .box-linkN; a daemon that starts removes it.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/core/now.h"
#include "daemon/record/private.h"
#include "tdm/frame.h"

#define BOX_WAIT_NS    20000000000ull /* for an incident, after the loss */
#define BOX_SUSPECT_NS 60000000000ull /* between two boxes that begin with a loss */
#define BOX_SLACK_NS   2000000000ull  /* for its cells to come */
#define HOUR_NS	       3600000000000ull

static void name_half_done(unsigned link, char *name, size_t size)
{
	snprintf(name, size, ".box-link%u", link);
}

static void arm(struct recorder *r, unsigned link, uint64_t now_ns)
{
	const struct box *b = &r->box[link];

	atomic_store_explicit(&r->tap->link[link].armed,
			      r->config.blackbox_s && b->state == BOX_NONE &&
				      now_ns >= b->next_suspect_ns && r->status.free_bytes > 0,
			      memory_order_relaxed);
}

void box_begin(struct recorder *r)
{
	char name[32];

	for (unsigned link = 0; link < NANET3_LINKS; link++) {
		name_half_done(link, name, sizeof(name));
		record_dir_remove(r->directory, name);
	}
	recorder_look_for_room(r);
}

bool box_wants(const struct recorder *r, unsigned link)
{
	return r->box[link].state == BOX_TAKING;
}

static void forget(struct recorder *r, unsigned link)
{
	struct box *b = &r->box[link];
	char name[32];

	record_dir_destroy(b->recording);
	b->recording = NULL;
	b->state = BOX_NONE;
	b->wanted = false;
	name_half_done(link, name, sizeof(name));
	record_dir_remove(r->directory, name);
}

static int start(struct recorder *r, unsigned link, uint64_t now_ns)
{
	struct record_spec spec = {.links = 1u << link, .begun_ns = now_utc_ns()};
	struct box *b = &r->box[link];
	int e;

	name_half_done(link, spec.name, sizeof(spec.name));
	snprintf(spec.who, sizeof(spec.who), "the daemon");
	e = record_dir_create(&r->config.place, &spec, &b->recording);
	if (e < 0) {
		r->status.box_failed++;
		return e;
	}
	if (r->state[link].kind) {
		record_dir_take(b->recording, r->tap, &r->state[link]);
	}
	b->state = BOX_TAKING;
	b->begun_ns = now_ns;
	b->next_suspect_ns = now_ns + BOX_SUSPECT_NS;
	return 0;
}

/* --------------------------------------------------------------------------------------- keeping */

static int is_visible(const struct dirent *e)
{
	return e->d_name[0] != '.';
}

/* The oldest go: their names begin with their time. */
static void remove_oldest(struct recorder *r)
{
	struct dirent **names = NULL;
	int n = scandir(r->directory, &names, is_visible, alphasort);
	unsigned boxes = 0;

	while (n-- > 0) {
		const char *name = names[n]->d_name;

		if (record_dir_is_box(r->directory, name) && ++boxes > r->config.blackbox_keep) {
			record_dir_remove(r->directory, name);
		}
		free(names[n]);
	}
	free(names);
}

static void name_box(struct record_spec *spec, unsigned link)
{
	char when[32];

	record_dir_name_time(spec->incident_ns, when, sizeof(when));
	snprintf(spec->name, sizeof(spec->name), RECORD_BOX "%s-link%u-%s", when, link,
		 spec->incident);
}

static void keep(struct recorder *r, unsigned link, uint64_t now_ns)
{
	struct box *b = &r->box[link];
	struct record_spec spec = *record_dir_spec(b->recording);
	struct segment_counts counts;

	memcpy(spec.incident, b->incident.incident, sizeof(spec.incident));
	memcpy(spec.incident_text, b->incident.incident_text, sizeof(spec.incident_text));
	spec.incident_ns = b->incident.incident_ns;
	name_box(&spec, link);
	record_dir_counts(b->recording, &counts);
	/* Empty: the disk, or the machine, was too slow for it. */
	if (counts.frames + counts.gaps > 0 &&
	    record_dir_adopt(b->recording, &spec, b->registers) == 0) {
		b->kept_ns[b->kept_at++ % BOX_HOURLY] = now_ns;
		r->status.boxes++;
		recorder_tell(r, &(struct recorder_event){.type = RECORDER_BLACK_BOX,
							  .link = (uint8_t)link,
							  .spec = spec,
							  .counts = counts});
		remove_oldest(r);
	} else {
		r->status.box_failed++;
	}
	forget(r, link);
}

/* It has all its cells, or no more cells come. */
static bool full(const struct recorder *r, const struct box *b, uint64_t now_ns)
{
	uint64_t seconds = r->config.blackbox_s;
	struct segment_counts c;

	record_dir_counts(b->recording, &c);
	return c.frames + c.gaps + c.let_go >= seconds * TDM_FRAMES_PER_SECOND ||
	       now_ns - b->begun_ns > seconds * 1000000000ull + BOX_SLACK_NS;
}

static void taken(struct recorder *r, unsigned link, uint64_t now_ns)
{
	struct box *b = &r->box[link];

	if (record_dir_pause(b->recording) < 0) {
		r->status.box_failed++;
		forget(r, link);
		return;
	}
	b->state = BOX_WAITING;
	if (b->wanted) {
		keep(r, link, now_ns);
	}
}

/* ------------------------------------------------------------------------------------- the contract */

void box_take(struct recorder *r, const struct tap_entry *e, uint64_t now_ns)
{
	struct box *b = &r->box[e->link];

	if (e->kind == TAP_SUSPECT && b->state == BOX_NONE && r->config.blackbox_s) {
		start(r, e->link, now_ns);
		/* At once: the tap keeps unwanted cells for a moment only. */
		atomic_store_explicit(&r->tap->link[e->link].wanted, true, memory_order_relaxed);
	} else if (b->state == BOX_TAKING) {
		if (record_dir_take(b->recording, r->tap, e) < 0) {
			r->status.box_failed++;
			forget(r, e->link);
		} else if (full(r, b, now_ns)) {
			taken(r, e->link, now_ns);
		}
	}
}

static bool too_many(const struct box *b, uint64_t now_ns)
{
	for (unsigned i = 0; i < BOX_HOURLY; i++) {
		if (!b->kept_ns[i] || now_ns - b->kept_ns[i] > HOUR_NS) {
			return false;
		}
	}
	return true;
}

void box_freeze(struct recorder *r, const struct recorder_order *order, uint64_t now_ns)
{
	struct box *b = &r->box[order->link];

	if (!r->config.blackbox_s || b->wanted) { /* the first incident has its name on it */
		return;
	}
	if (too_many(b, now_ns) || r->status.free_bytes == 0) {
		r->status.box_refused++;
		return;
	}
	if (b->state == BOX_NONE && start(r, order->link, now_ns) < 0) {
		return;
	}
	b->wanted = true;
	b->incident = order->spec;
	memcpy(b->registers, order->registers, sizeof(b->registers));
	if (b->state == BOX_WAITING) {
		keep(r, order->link, now_ns);
	}
}

void box_tick(struct recorder *r, uint64_t now_ns)
{
	for (unsigned link = 0; link < NANET3_LINKS; link++) {
		struct box *b = &r->box[link];

		if (b->state == BOX_TAKING && full(r, b, now_ns)) {
			taken(r, link, now_ns);
		}
		if (b->state == BOX_WAITING && now_ns - b->begun_ns > BOX_WAIT_NS) {
			forget(r, link);
		}
		arm(r, link, now_ns);
	}
}

void box_end(struct recorder *r)
{
	for (unsigned link = 0; link < NANET3_LINKS; link++) {
		if (r->box[link].state == BOX_TAKING && r->box[link].wanted) {
			taken(r, link, now_mono_ns());
		} else if (r->box[link].state != BOX_NONE) {
			forget(r, link);
		}
	}
}
