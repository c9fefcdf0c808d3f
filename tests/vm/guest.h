/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the guest's test programs share: a board opened and waited for, faults asked of the model, and a
 * reader that checks every byte of a link.
 *
 * Model time in a VM is slow and uneven: nothing here or in the tests asserts how long something took.
 * Waits have one limit, GUEST_LIMIT_MS, that only a hang reaches.
 */
#pragma once

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <cmocka.h>

#include "driver/emu/common/model_fault.h"
#include "driver/lib/libnanet3.h"
#include "tdm/deframe.h"

#define GUEST_LIMIT_MS 60000u

const char *guest_where(void); /* NANET3_WHERE, or /dev/nanet3-0 */
struct nanet3 *guest_open(void);
void guest_close(struct nanet3 *b); /* NULL is fine */
/* A test of a group; handles that it left open when it failed are closed, so that the next one can work. */
#define GUEST_TEST(function) cmocka_unit_test_teardown(function, guest_close_all)
int guest_close_all(void **state);
/* The device itself, after INFO. Fails the test when it does not open. */
int guest_open_raw(void);
uint64_t guest_ms(void); /* CLOCK_MONOTONIC */
void guest_sleep_ms(unsigned ms);

/* Write `text` to a file of /sys: 0, or -errno. */
int guest_write(const char *path, const char *text);
/* The board's directory below /sys/devices, and a file in it ("" for none). */
void guest_pci_path(char *path, size_t size, const char *file);
/* Write `name`, as a bus knows the board, to the driver's file `what`: "bind" or "unbind". 0, or -errno. */
int guest_driver(const char *what, const char *name);

uint32_t guest_reg(struct nanet3 *b, uint32_t offset);
void guest_reg_set(struct nanet3 *b, uint32_t offset, uint32_t value);
/* Ask the model for a fault: driver/emu/common/model_fault.h. */
void guest_fault(struct nanet3 *b, enum model_fault code, unsigned which, unsigned argument);
struct nanet3_stats guest_stats(struct nanet3 *b);

void guest_wait_locked(struct nanet3 *b, unsigned link);
/* Claims a locked link anew, at position 0. */
void guest_claim(struct nanet3 *b, unsigned link);
void guest_yield(struct nanet3 *b, unsigned link);
/* Until position `position` is completed; events of the handle are taken and thrown away. */
void guest_wait_completed(struct nanet3 *b, unsigned link, uint64_t position);
/* Until an event of the type comes; others are thrown away. */
struct nanet3_event guest_wait_event(struct nanet3 *b, enum nanet3_event_type type);
/* Until `value(context)` is at least `least`; fails the test with `what` at the limit. */
void guest_wait_for(uint64_t (*value)(void *context), void *context, uint64_t least,
		    const char *what);
/* For guest_wait_for(): whether the board opens, no context; whether the handle `context` says -ENODEV. */
uint64_t guest_can_open(void *context);
uint64_t guest_says_gone(void *context);
/* Lines of the kernel's log that contain `text`. */
uint64_t guest_logged(void *text);

/*
 * Reads a claimed link: every completion follows the one before without a hole, every frame is found,
 * has the floor's own CRC-32C over all its bytes, the floor's next sequence number and the right floor.
 */
struct guest_reader {
	unsigned link;
	uint64_t position; /* next completion */
	uint64_t count;	   /* where it must begin; 0: anywhere */
	uint64_t good, lost[TDM_LOSSES];
	uint64_t data_cells, gap_cells;
	struct tdm_deframe *deframe;
	uint64_t
		forgiven; /* count up to which the floor may still number by the second before a hole */
	bool aligned;	  /* a good frame was seen: from then on, none may be lost but in gaps */
	struct tdm_deframe_mark mark; /* the last good frame, once one was */
};
void guest_reader_init(struct guest_reader *r, unsigned link, uint64_t position);
/* As a successor of a reader that left these: no frame may be lost between the two. */
void guest_reader_resume(struct guest_reader *r, uint64_t count,
			 const struct tdm_deframe_mark *mark);
void guest_reader_fini(struct guest_reader *r);
/* Check all that is completed; how many completions. Releases nothing. */
unsigned guest_reader_take(struct guest_reader *r, struct nanet3 *b);
/* Wait, take and release until `good` frames in all were good. */
void guest_reader_run(struct guest_reader *r, struct nanet3 *b, uint64_t good);

/* A child process that dies with this one; in it, a failed assertion ends in SIGABRT, and says why. */
pid_t guest_fork(void (*run)(void *context), void *context);
/* Exit status, or -signal. */
int guest_join(pid_t pid);
