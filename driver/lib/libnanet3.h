/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libnanet3: access to a NaNet3 board for one process, through the character device ("/dev/nanet3-0") or
 * the emulator's socket ("unix:PATH").
 *
 * All calls return 0 or a negative errno (-ENODEV once the board is gone) and leave ret_ arguments
 * untouched on failure. A handle belongs to one thread; open a second one for a second thread. Many
 * handles may read registers. One handle owns a link's ring. The owner, and one other handle to which it
 * grants this, act for the link: send words, reset it. No logging, no exit, no threads.
 */
#ifndef LIBNANET3_H
#define LIBNANET3_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "driver/nanet3.h"

#ifdef __cplusplus
extern "C" {
#endif

struct nanet3;

/* Open and agree on a version: -EPROTO when there is none that both speak, -ENOENT and -ECONNREFUSED
 * when there is no board or emulator, -EMFILE when the device has 64 handles open (an emulator then
 * disconnects: -ENODEV). */
int nanet3_open(const char *where, struct nanet3 **ret_board);
/* The same for a handle that changes nothing and has no events: calls that change something, and
 * nanet3_wait(), return -EBADF. Read permission on the device is enough. -EMFILE when NANET3_READ_HANDLES are open. */
int nanet3_open_read_only(const char *where, struct nanet3 **ret_board);
/* Links that are still claimed go into linger, as if the process had died. NULL is fine. */
void nanet3_close(struct nanet3 *b);
const struct nanet3_info *nanet3_info(const struct nanet3 *b);

/* A descriptor that is readable when events wait; nanet3_wait() clears it. Not usable while
 * polling. */
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
 * (pass flags NANET3_CLAIM_FRESH to refuse that). -EBUSY when it has an owner. */
int nanet3_claim(struct nanet3 *b, unsigned link, uint32_t flags, bool *ret_taken_over);
/* Release the link; its DMA stops. */
int nanet3_yield(struct nanet3 *b, unsigned link);
/* Let another handle (nanet3_info.handle) act for a link that this one owns, until this one
 * releases the link or the other is closed. It replaces the last one; 0: none. -EPERM not the
 * owner, -ENOENT no such handle is open. */
int nanet3_grant(struct nanet3 *b, unsigned link, uint64_t handle);
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
/* The owner page, NANET3_PAGE bytes; NULL when not the owner. */
void *nanet3_owner_page(const struct nanet3 *b, unsigned link);
/* All buffers below `position` may be filled again. -EINVAL backwards or beyond the write position,
 * -EPERM when not the owner. */
int nanet3_release(struct nanet3 *b, unsigned link, uint64_t position);

/*
 * Polling, for all links that this handle owns (-EPERM: none) or claims later. While it is on,
 * nanet3_wait(), nanet3_next_event(), the positions, nanet3_completion() and nanet3_release() make no
 * system call and do not wait for the driver: RX events are read from the board's own queue,
 * releases are written to its doorbell, everything else comes through the handle's mapped queue.
 * nanet3_wait() then spins. Only after 100 ms without any event it asks the kernel whether the
 * board is still there.
 *
 * nanet3_ring() is the driver's view and is some ms behind. A reader that falls a whole queue
 * behind is corrected from it; this loses only time. Time stamps of RX events are the reader's own.
 * Polling ends when the last link is released.
 */
int nanet3_polling(struct nanet3 *b, bool on);

/* Send one downstream word. Completion: NANET3_EVENT_TX with the cookie. -EPERM not owner of the
 * link (broadcast: of all), not granted it, and no CAP_SYS_ADMIN; -EAGAIN no room on the ring, or
 * for the link; -ENOLINK link not locked. */
int nanet3_send(struct nanet3 *b, const struct nanet3_tx *tx);

/* Let the board read and write `length` bytes of the caller's memory, of any alignment, until
 * nanet3_unregister_buffer() or nanet3_close(); it must stay mapped that long. *ret_buffer: its number.
 * -EFAULT not writable memory of ours, -ENOMEM over RLIMIT_MEMLOCK, -ENOSPC no buffer is free, or
 * the handle has its maximum. */
int nanet3_register_buffer(struct nanet3 *b, void *address, size_t length, uint32_t *ret_buffer);
/* Returns when the board does not access it any more. -ENOENT: the caller has no such buffer. */
int nanet3_unregister_buffer(struct nanet3 *b, uint32_t buffer);
/* Copy from one registered buffer into another, or within one, over the board's loop-back port.
 * Completions, both with the cookie: NANET3_EVENT_TX when it has left, NANET3_EVENT_PUT when it has
 * arrived; reason NANET3_TX_FAULT in either: part of it did not. -EAGAIN the TX ring is full, or
 * the source is being written to where DMA is bounced or an IOMMU translates, -E2BIG it will never
 * fit,
 * -EINVAL outside of the buffers, -ENOENT not ours. */
int nanet3_put(struct nanet3 *b, const struct nanet3_put *put);

/* `count` registers (1..NANET3_REGS_MAX) from `offset` on; pairs are read consistently. */
int nanet3_reg_read(struct nanet3 *b, uint32_t offset, uint32_t *ret_values, unsigned count);
int nanet3_reg_write(struct nanet3 *b, uint32_t offset, uint32_t value);
/* NANET3_LINK_RESET, NANET3_LINK_ALIGN or both. -EPERM as nanet3_send(). */
int nanet3_link_command(struct nanet3 *b, unsigned link, uint32_t command);
/* The driver's counters since it found the board; `quarantined` counts for all boards, since it was
 * loaded. */
int nanet3_stats(struct nanet3 *b, struct nanet3_stats *ret_stats);

#ifdef __cplusplus
}
#endif

#endif
