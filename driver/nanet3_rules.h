/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Checks that both drivers make in the same way: the kernel module, and the emulator's host. Pure
 * functions of the structs in nanet3.h; for the errors see the requests there.
 */
#ifndef NANET3_RULES_H
#define NANET3_RULES_H

/* The kernel module includes nanet3.h before, from where it is built. */
#ifndef __KERNEL__
#include <stdbool.h>

#include "driver/nanet3.h"
#endif

/* The ABI: codes of requests, which hold the sizes of their structs; these grow at their ends only. */
_Static_assert(NANET3_IOC_INFO == 0xc0504e00u, "INFO");
_Static_assert(NANET3_IOC_CLAIM == 0xc0104e01u, "CLAIM");
_Static_assert(NANET3_IOC_YIELD == 0x40044e02u, "YIELD");
_Static_assert(NANET3_IOC_RELEASE == 0x40104e03u, "RELEASE");
_Static_assert(NANET3_IOC_SEND == 0x40404e04u, "SEND");
_Static_assert(NANET3_IOC_REG_READ == 0xc0784e05u, "REG_READ");
_Static_assert(NANET3_IOC_REG_WRITE == 0x40784e06u, "REG_WRITE");
_Static_assert(NANET3_IOC_LINK_CMD == 0x40084e07u, "LINK_CMD");
_Static_assert(NANET3_IOC_SUBSCRIBE == 0x40084e08u, "SUBSCRIBE");
_Static_assert(NANET3_IOC_WAIT == 0x40084e09u, "WAIT");
_Static_assert(NANET3_IOC_POLLING == 0xc0104e0au, "POLLING");
_Static_assert(NANET3_IOC_REGISTER == 0xc0184e0bu, "REGISTER");
_Static_assert(NANET3_IOC_UNREGISTER == 0x40044e0cu, "UNREGISTER");
_Static_assert(NANET3_IOC_PUT == 0x40304e0du, "PUT");
_Static_assert(NANET3_IOC_STATS == 0x81504e0eu, "STATS");
_Static_assert(NANET3_IOC_GRANT == 0x40104e0fu, "GRANT");
_Static_assert(NANET3_INFO_LEAST == 64 &&
		       __builtin_offsetof(struct nanet3_info, version_min) == NANET3_INFO_LEAST,
	       "the first version of INFO");
_Static_assert(sizeof(struct nanet3_event) == 64, "an event");
_Static_assert(sizeof(struct nanet3_ring) == 192, "a ring's state");
_Static_assert(sizeof(struct nanet3_queue) == 192, "a queue");

/* Structs that libnanet3 fills by itself; the others are in its interface, which `make lint` compares. */
#define NANET3_AT(type, member, offset)                                                            \
	_Static_assert(__builtin_offsetof(struct nanet3_##type, member) == (offset),               \
		       #type "." #member)
NANET3_AT(claim, link, 0);
NANET3_AT(claim, flags, 4);
NANET3_AT(claim, dma_epoch, 8);
NANET3_AT(grant, link, 0);
NANET3_AT(grant, handle, 8);
NANET3_AT(release, link, 0);
NANET3_AT(release, position, 8);
NANET3_AT(regs, offset, 0);
NANET3_AT(regs, count, 4);
NANET3_AT(regs, values, 8);
NANET3_AT(link_command, link, 0);
NANET3_AT(link_command, command, 4);
NANET3_AT(subscribe, mask, 0);
NANET3_AT(wait, timeout_ms, 0);
NANET3_AT(polling, on, 0);
NANET3_AT(polling, queue_size, 4);
NANET3_AT(polling, next_sequence, 8);
NANET3_AT(register, address, 0);
NANET3_AT(register, length, 8);
NANET3_AT(register, buffer, 16);

/* Bytes of the first version of a request's struct. */
static inline __u32 nanet3_request_least(__u32 code)
{
	return NANET3_REQUEST(code) == NANET3_REQUEST(NANET3_IOC_INFO) ? NANET3_INFO_LEAST
								       : _IOC_SIZE(code);
}

/* INFO: the newest version that both speak, 0: there is none. */
static inline __u32 nanet3_version_agreed(const struct nanet3_info *i)
{
	const __u32 newest = i->version < NANET3_ABI_VERSION ? i->version : NANET3_ABI_VERSION;
	const __u32 oldest = i->version_min ? i->version_min : i->version;

	return newest >= NANET3_ABI_VERSION_MIN && newest >= oldest ? newest : 0;
}

/* Does a driver know a board of this version? */
static inline bool nanet3_board_known(__u32 version)
{
	return version >= NANET3_HW_VERSION_MIN && version <= NANET3_HW_VERSION;
}

/* REG_READ, REG_WRITE: is the range aligned, and inside of the BAR? */
static inline bool nanet3_regs_sound(const struct nanet3_regs *r)
{
	return r->count >= 1 && r->count <= NANET3_REGS_MAX && r->offset % 4 == 0 &&
	       r->offset < NANET3_BAR_BYTES && r->offset + r->count * 4 <= NANET3_BAR_BYTES;
}

/* Does the register hold a half of a bus address? Without the right to see it, it reads as 0. */
static inline bool nanet3_reg_is_address(__u32 offset)
{
	const __u32 low = offset & ~4u;
	__u32 i;

	for (i = 0; i < NANET3_LINKS; i++) {
		if (low == NANET3_REG_LINK(i, NANET3_LREG_TABLE)) {
			return true;
		}
	}
	for (i = 0; i < NANET3_BUFFERS; i++) {
		if (low == NANET3_REG_BUFFER(i, NANET3_BREG_TABLE)) {
			return true;
		}
	}
	return low == NANET3_REG_EVQ_BASE || low == NANET3_REG_TX_BASE;
}

/*
 * May any client write this value? If that depends on a link it sets *ret_link, and the client must act
 * for that link: a short deadline fills a ring with little data, one shorter than a frame with almost none.
 */
static inline bool nanet3_reg_harmless(__u32 offset, __u32 value, __u32 *ret_link)
{
	__u32 i;

	for (i = 0; i < NANET3_LINKS; i++) {
		if (offset == NANET3_REG_LINK(i, NANET3_LREG_DEADLINE)) {
			*ret_link = i;
			return value >= NANET3_DEADLINE_MIN_US && value <= NANET3_DEADLINE_MAX_US;
		}
	}
	return offset == NANET3_REG_SCRATCH;
}

/* LINK_CMD */
static inline bool nanet3_link_command_sound(const struct nanet3_link_command *c)
{
	return c->link < NANET3_LINKS && c->command != 0 &&
	       !(c->command & ~(NANET3_LINK_RESET | NANET3_LINK_ALIGN));
}

/* SUBSCRIBE */
static inline bool nanet3_subscribe_sound(const struct nanet3_subscribe *s)
{
	return s->reserved == 0 && !(s->mask & ~(1u << NANET3_EVENT_LINK | 1u << NANET3_EVENT_PPS |
						 1u << NANET3_EVENT_ERROR));
}

/* Does a word to `link` go to link `i`? A broadcast goes to all. */
static inline bool nanet3_goes_to(__u8 link, __u32 i)
{
	return link == i || link >= NANET3_LINKS;
}

/* SEND: the word itself, apart from its time. Op and command 0 are an empty place. */
static inline bool nanet3_word_sound(const struct nanet3_tx *tx)
{
	const bool broadcast = tx->link == 0xff && tx->kind == NANET3_TX_TIMING;

	if ((tx->link >= NANET3_LINKS && !broadcast) || tx->reserved0 != 0 ||
	    tx->flags & ~NANET3_TX_MORE || tx->reserved2 != 0) {
		return false;
	}
	switch (tx->kind) {
	case NANET3_TX_REQUEST:
		return tx->bytes[0] != 0;
	case NANET3_TX_TIMING:
		return tx->bytes[0] != 0 && tx->bytes[1] == 0 && tx->bytes[2] == 0 &&
		       tx->bytes[3] == 0;
	case NANET3_TX_SERIAL:
		return tx->bytes[1] <= sizeof(tx->bytes) - 2;
	default:
		return false;
	}
}

/* PUT: is it well formed, and inside of buffers of these lengths? UNCHECKED leaves the destination to
 * the board. */
static inline bool nanet3_put_sound(const struct nanet3_put *p, __u64 source_length,
				    __u64 destination_length)
{
	if (p->reserved != 0 || p->flags & ~(NANET3_PUT_MORE | NANET3_PUT_UNCHECKED) ||
	    p->length == 0 || p->length > source_length ||
	    p->source_offset > source_length - p->length ||
	    p->destination_offset + p->length < p->length) { /* would come round to the start */
		return false;
	}
	return p->flags & NANET3_PUT_UNCHECKED ||
	       (p->length <= destination_length &&
		p->destination_offset <= destination_length - p->length);
}

/* Packets of a put whose source begins at `offset` of its first page: one for each of its pages. */
static inline __u64 nanet3_put_packets(const struct nanet3_put *p, __u32 offset)
{
	return ((offset + p->source_offset) % NANET3_PAGE + p->length + NANET3_PAGE - 1) /
	       NANET3_PAGE;
}

#endif
