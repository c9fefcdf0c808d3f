/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The slow-control word: 16 bytes, a request down or a reply up. OURS; the experiment's is not public.
 *
 *   0  u8   op        enum word_op; a reply carries the request's op with WORD_REPLY set
 *   1  u8   module    0..5 optical module, 6..7 hydrophone, 15 the FCM itself
 *   2  u8   reg       register of that module (schemas/parameters.conf names them)
 *   3  u8   status    0 in a request; enum word_status in a reply
 *   4  s32  value     in the register's raw units
 *   8  u32  sequence  given by the journal, per floor, rising, never reused; 0 is not used
 *   12 u16  boot      low 16 bits of the FCM's boot count in a reply, 0 in a request
 *   14 u16  CRC-16/T10-DIF of bytes 0..13
 *
 * An FCM executes a sequence once, keeps the outcome of its last 256 and answers QUERY (value = the
 * sequence asked for) with the outcome kept, or WORD_UNKNOWN. QUERY of 0 asks for the largest
 * sequence whose outcome it keeps: a journal that does not know what others have sent continues
 * behind it.
 */
#pragma once

#include <stdint.h>

#include "tdm/frame.h"

enum word_op {
	WORD_NONE = 0, /* an empty place */
	WORD_READ = 1,
	WORD_WRITE = 2,
	WORD_ACTION = 3, /* reg names the action: reset, power cycle, clear trip */
	WORD_QUERY = 4,
	WORD_REPLY = 0x80,
};

enum word_status {
	WORD_OK = 0,
	WORD_UNKNOWN = 1,   /* QUERY: that sequence was never executed, or is forgotten */
	WORD_BAD_REG = 2,   /* no such module or register */
	WORD_BAD_VALUE = 3, /* outside the hardware's range */
	WORD_REFUSED = 4,   /* not now: no power, tripped, interlock */
	WORD_READ_ONLY = 5,
	WORD_BUSY = 6,
	WORD_DUPLICATE = 7, /* this sequence was executed before; value is that outcome's */
};

#define WORD_MODULE_FCM 15u

struct word {
	uint8_t op, module, reg, status;
	int32_t value;
	uint32_t sequence;
	uint16_t boot;
};

/* Into its 16 bytes, CRC included; nothing is checked. */
void word_pack(const struct word *w, uint8_t bytes[TDM_WORD_BYTES]);
/* -EBADMSG on a wrong CRC, -ENODATA for an empty place; ret untouched. */
int word_unpack(const uint8_t bytes[TDM_WORD_BYTES], struct word *ret_w);
/* "bad-value"; "?" for none of enum word_status. */
const char *word_status_name(unsigned status);
