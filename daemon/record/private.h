/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside the recorder: its recording, its black boxes, its status. All of it belongs to its thread,
 * except the queues and the members under the lock.
 */
#pragma once

#include <errno.h>

#include "daemon/record/dir.h"
#include "daemon/record/recorder.h"

#define REGISTERS_MAX 4096u

enum recorder_order_type { ORDER_START = 1, ORDER_STOP = 2, ORDER_FREEZE = 3 };

struct recorder_order {
	uint8_t type, link;
	uint32_t number;
	uint64_t given_ns; /* CLOCK_MONOTONIC */
	struct record_spec spec;
	char registers[REGISTERS_MAX];
};

enum box_state {
	BOX_NONE = 0,
	BOX_TAKING = 1,	 /* its seconds are not over */
	BOX_WAITING = 2, /* they are; no incident yet */
};

struct box {
	enum box_state state;
	struct record_dir *recording;
	uint64_t begun_ns, next_suspect_ns;
	bool wanted; /* the incident began */
	struct record_spec incident;
	char registers[REGISTERS_MAX];
	uint64_t kept_ns[BOX_HOURLY]; /* when the last ones were kept */
	unsigned kept_at;
};

struct recorder {
	struct recorder_config config;
	char directory[PATH_MAX / 2];
	struct tap *tap;
	struct queue orders, events;
	pthread_t thread;
	bool running;
	_Atomic int stop;
	_Atomic uint64_t stop_by_ns;
	struct record_dir *recording; /* the active one; NULL */
	bool resumed;		      /* it was begun by an earlier daemon */
	struct record_dir *unsealed;  /* one whose end is not in its files yet; NULL */
	struct box box[NANET3_LINKS];
	struct tap_entry state[NANET3_LINKS]; /* the last TAP_STATE; kind 0: none */
	struct {
		uint64_t at_ns;	   /* CLOCK_MONOTONIC: later cells are not its; 0: unknown yet */
		uint64_t asked_ns; /* since when that is known: earlier cells may still come */
		char why[96];
		uint32_t order; /* that it answers; 0: its time was over */
		unsigned over;	/* links that have shown a later cell: bit mask */
	} ending;		/* of the recording */
	uint64_t second_ns, bytes_before;
	struct recorder_status status; /* under construction */
	pthread_mutex_t lock;
	struct recorder_status published; /* under lock */
};

/* Why nothing can be recorded; error 0: no trouble. */
struct recorder_trouble {
	int error;
	bool no_room; /* less than min_free is free */
};

static inline void recorder_tell(struct recorder *r, const struct recorder_event *event)
{
	struct recorder_event *e = queue_reserve(&r->events);

	if (!e) {
		return; /* status and recording.json have it, too */
	}
	*e = *event;
	queue_commit(&r->events);
	queue_wake(&r->events);
}

/* Updates the free space in the status. */
static inline struct recorder_trouble recorder_look_for_room(struct recorder *r)
{
	uint64_t free_bytes = 0, min = r->config.min_free_bytes;
	int e = record_dir_free_bytes(r->directory, &free_bytes);

	r->status.free_bytes = free_bytes > min ? free_bytes - min : 0;
	if (e == 0 && r->status.free_bytes == 0) {
		return (struct recorder_trouble){-ENOSPC, min > 0};
	}
	return (struct recorder_trouble){.error = e};
}

/* box.c */
void box_begin(struct recorder *r); /* removes incomplete boxes of an earlier daemon */
bool box_wants(const struct recorder *r, unsigned link);
/* An entry of the tap. */
void box_take(struct recorder *r, const struct tap_entry *e, uint64_t now_ns);
void box_freeze(struct recorder *r, const struct recorder_order *order, uint64_t now_ns);
void box_tick(struct recorder *r, uint64_t now_ns);
void box_end(struct recorder *r);
