/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The device model of a NaNet3 board. It has registers (driver/nanet3.h, first half), link rings, an event
 * queue and a TX ring in memory that the host provides, and four fibres that lead to the world.
 *
 *      host (socket, QEMU)  --reg_read/write-->  board  --world_downlink-->  world (floors, sea, GPS)
 *                           <--map(), irq()----         <--world_uplink---
 *
 * It knows no processes, sockets, clocks or threads: one thread calls board_step() once per frame
 * period of model time, and everything happens inside. Host and world are reached through the two
 * interfaces only, so both hosts use the same model.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "driver/nanet3.h"

struct world;
struct board;

/* The bus between board and host. Reads of registers, and writes of events, can be lost on it. */
struct board_bus {
	/* May a write pass the writes before it? */
	bool (*reorders)(void *context);
	/* Retrain the link, with so many lanes of this generation. */
	void (*train)(void *context, unsigned lanes, unsigned generation);
};

struct board_host {
	/* Host memory at a bus address: a pointer good for `length` bytes, to be written if `write`, else
	 * read. NULL when it is in no mapping (counted as a TLB miss, the transfer is dropped). */
	void *(*map)(void *context, uint64_t bus, uint32_t length, bool write);
	/* Raise an interrupt: vector 0..3 = link, 4 = control. Must not call the board. */
	void (*irq)(void *context, unsigned vector);
	/* Copy between two bus addresses, for puts: false when either is in no mapping. NULL: by map(). */
	bool (*copy)(void *context, uint64_t to, uint64_t from, uint32_t length);
	/* Let the board take this long (translation, loop-back only), once a packet; NULL: it takes
	 * no time. */
	void (*delay)(void *context, uint32_t ns);
	const struct board_bus *bus; /* NULL: there is none */
	void *context;
};

struct board *board_create(const struct board_host *host, struct world *world, uint32_t serial);
void board_destroy(struct board *b);

/* On a bus: do what doorbells have asked for, as far as it is due. To be called after they have been answered. */
void board_work(struct board *b);

/* Its seconds are not those of the wall: REG_MODEL says so. By default they are. */
void board_unpaced(struct board *b);

/* `offset` as in NANET3_REG_*; unknown registers read 0 and ignore writes. A write may end in map(),
 * copy(), delay() and irq() before it returns: without a bus a put is done at its doorbell. */
uint32_t board_reg_read(struct board *b, uint32_t offset);
void board_reg_write(struct board *b, uint32_t offset, uint32_t value);

/* One frame period (125 us of model time) on all four links: build and send the downstream frames,
 * take the upstream cells into the rings, hand over what is full or due, count. */
void board_step(struct board *b);
/* Off the bus, as a test has asked (model_fault.h): registers read all ones, writes have no effect, no
 * DMA, no interrupts. When it is back it is as after power-up and has to be set up again. */
bool board_gone(const struct board *b);
/* Whether every running ring has the positions that one step may use at worst: the open buffer, a gap that
 * cuts it, and the next buffer. False when none runs. */
bool board_rings_take(const struct board *b);
/* The board's frame count. */
uint64_t board_count(const struct board *b);
