/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libnanet3: a NaNet3 board for one process. Two ways in behind one interface: the character device
 * ("/dev/nanet3-0") and the emulator's socket ("unix:PATH").
 *
 * All calls return 0 or a negative errno (-ENODEV once the board is gone) and leave ret_ arguments
 * untouched on failure. A handle belongs to one thread; open a second one for a second thread: many
 * handles may read registers and send, one handle owns a link's ring. No logging, no exit.
 */
#ifndef LIBNANET3_H
#define LIBNANET3_H

#include <stdbool.h>
#include <stdint.h>

#include "driver/nanet3.h"

struct nanet3;

/* Open and check the version: -EPROTO when the driver speaks another one, -ENOENT and -ECONNREFUSED
 * when nobody is there. */
int nanet3_open(const char *where, struct nanet3 **ret_board);
/* Links that are still claimed go into linger, as if the process had died. NULL is fine. */
void nanet3_close(struct nanet3 *b);
const struct nanet3_info *nanet3_info(const struct nanet3 *b);

/* A descriptor that polls readable when events wait; nanet3_wait() clears it. */
int nanet3_fd(const struct nanet3 *b);
/* Wait for events: 1 when there are, 0 on time-out (-1 = for ever), -EINTR, -ENODEV. */
int nanet3_wait(struct nanet3 *b, int timeout_ms);
/* Take the next event: 1 and *ret_event, or 0 when there is none. */
int nanet3_next_event(struct nanet3 *b, struct nanet3_event *ret_event);
/* Control events lost because this handle did not take them in time. */
uint64_t nanet3_events_lost(const struct nanet3 *b);
/* Which of NANET3_EVENT_LINK, _PPS, _ERROR this handle gets: a bit mask of 1u << type. */
int nanet3_subscribe(struct nanet3 *b, uint32_t mask);

/* Claim a link and map its ring. *ret_taken_over: positions and owner page are the last owner's
 * (pass flags NANET3_CLAIM_FRESH to refuse that). -EBUSY when somebody owns it. */
int nanet3_claim(struct nanet3 *b, unsigned link, uint32_t flags, bool *ret_taken_over);
/* Give it back; its DMA stops. */
int nanet3_yield(struct nanet3 *b, unsigned link);
/* Map a ring's state for reading only, without owning it: for nanet3_ring(). */
int nanet3_observe(struct nanet3 *b, unsigned link);

/* State of a claimed or observed link; NULL otherwise. Positions by the two calls below. */
const struct nanet3_ring *nanet3_ring(const struct nanet3 *b, unsigned link);
uint64_t nanet3_write_position(const struct nanet3 *b, unsigned link);	 /* acquire */
uint64_t nanet3_release_position(const struct nanet3 *b, unsigned link); /* acquire */
/* Completion and bytes of a position in [release, write) of a claimed link. */
const struct nanet3_event *nanet3_completion(const struct nanet3 *b, unsigned link,
					     uint64_t position);
const uint8_t *nanet3_buffer(const struct nanet3 *b, unsigned link, uint64_t position);
/* The owner's page of NANET3_PAGE bytes; NULL when not the owner. */
void *nanet3_owner_page(const struct nanet3 *b, unsigned link);
/* All buffers below `position` may be filled again. */
int nanet3_release(struct nanet3 *b, unsigned link, uint64_t position);

/* Send one downstream word. Completion: NANET3_EVENT_TX with the cookie. -EAGAIN ring full, -ENOLINK
 * link not locked. */
int nanet3_send(struct nanet3 *b, const struct nanet3_tx *tx);

/* `count` registers (1..NANET3_REGS_MAX) from `offset` on; pairs are read consistently. */
int nanet3_reg_read(struct nanet3 *b, uint32_t offset, uint32_t *ret_values, unsigned count);
int nanet3_reg_write(struct nanet3 *b, uint32_t offset, uint32_t value);
/* NANET3_LINK_RESET, NANET3_LINK_ALIGN or both. */
int nanet3_link_command(struct nanet3 *b, unsigned link, uint32_t command);

#endif
