/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The recorder's thread on a tap that the test feeds, for tests of it: recordings of one link go below a directory
 * of the case. One recorder at a time.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>

#include "daemon/record/recorder.h"
#include "tdm/frame.h"

#define RIG_FIRST 80000u /* the first cell's count */
#define RIG_LINK  1u

struct recorder_rig {
	char directory[64], place[96]; /* of the case; of recordings, below it, made when needed */
	struct tap tap;
	struct recorder *recorder;
	uint32_t number;	  /* of the last order */
	uint64_t position, count; /* of the next completion offered */
	uint64_t age_ns;	  /* what is offered was taken so long ago */
};
extern struct recorder_rig rig;

int rig_set_up(void **state);
int rig_tear_down(void **state);
#define RIG_TEST(f) cmocka_unit_test_setup_teardown(f, rig_set_up, rig_tear_down)

struct recorder_config rig_config(void);
void rig_start(const struct recorder_config *c);
void rig_end(void);

/* As capture does, each millisecond: `n` completions of `frames` cells, data (`bytes`) or gap (0). True while it
 * is wanted. */
bool rig_offer(unsigned n, uint32_t frames, uint32_t bytes);
bool rig_feed(unsigned n); /* data of 16 cells each */
bool rig_feed_gap(void);

/* To record the link under that name. */
void rig_order(const char *name);
void rig_wait_event(struct recorder_event *e, enum recorder_event_type type);
void rig_wait_wanted(bool wanted);
void rig_wait_taken(void); /* all that was offered */
/* A daemon that starts finds nothing that goes on. */
void rig_assert_nothing_goes_on(const struct recorder_config *c);

bool rig_there(const char *name, const char *file);
json_t *rig_passport(const char *name);
/* How many names begin so; the last one. */
unsigned rig_names(const char *prefix, char *last);
/* NAME/FILE, a text or (NULL) a directory: whoever wants to write a file of that name then fails. */
void rig_put(const char *name, const char *file, const char *text);
void rig_take_away(const char *name, const char *file);
