/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A rig for tests of the device model alone: a driver of a few lines with a fake world behind the
 * board. Memory comes from one arena, bus address = offset; events are read straight from the queue.
 */
#pragma once

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>

#include <cmocka.h>

#include "driver/emu/board/board.h"
#include "tests/unit/rig/fake_world.h"

#define FIRST	((uint64_t)NANET3_FRAMES_PER_SECOND) /* count of a boot's first cell */
#define DEPTH	8u
#define FRAMES	16u
#define STRIDE	163840u
#define EVQ	256u
#define TX	64u
#define AT_EVQ	0x100000u
#define AT_TX	0x200000u
#define AT_TAB	0x10000u
#define AT_RING 0x1000000u
#define ARENA	(AT_RING + 4 * DEPTH * STRIDE)

#define AGED_FRAMES (2 * FIRST) /* of set_up_aged() */

struct rig {
	struct world world;
	struct board *board;
	uint8_t *arena;
	unsigned irqs[NANET3_VECTORS];
	uint32_t read;		    /* events taken */
	uint64_t delay_ns;	    /* that translation took */
	uint64_t hidden_at;	    /* bus address from which on nothing is mapped; 0: all is */
	bool reorders;		    /* the bus */
	unsigned lanes, generation; /* that a test has trained it to */
};

void wr(struct rig *r, uint32_t offset, uint32_t value);
uint32_t rd(struct rig *r, uint32_t offset);
uint32_t lrd(struct rig *r, unsigned link, uint32_t offset);
uint64_t *rig_table(struct rig *r, unsigned link);
/* Give a link its ring and enable it, with DMA epoch 100 + link. */
void start(struct rig *r, unsigned link);
void release(struct rig *r, unsigned link, uint64_t position);
void steps(struct rig *r, unsigned n);
/* From the next step on, or no longer. */
void stall(struct rig *r, bool on);
/* Take the next event off the queue. */
bool next(struct rig *r, struct nanet3_event *ret_ev);
/* The next event of a type; others are passed over. Fails when there is none. */
struct nanet3_event next_of(struct rig *r, unsigned type);
/* Take events up to one of this type: whether there was one. */
bool has(struct rig *r, unsigned type);
/* cmocka's set-up and tear-down: a rig with event queue and TX ring running, no link enabled. */
int set_up(void **state);
int set_up_without_bus(void **state); /* puts are done at the doorbell */
int set_up_aged(void **state);	      /* its counters wrap soon */
int tear_down(void **state);
/* Every byte of a completed buffer is its cells' pattern. */
void check_data(struct rig *r, const struct nanet3_event *ev);
/* What the completion says is what the world was told of each cell. */
void check_fates(struct rig *r, const struct nanet3_event *ev);
/* Put a word on the TX ring. */
void post(struct rig *r, const struct nanet3_tx *tx);
