/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The texts of the consumer protocol (schemas/fcm_data.h): HELLO in, WELCOME and ERROR out. No
 * socket. The input may come from any host of the network and is not trusted.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "schemas/fcm_data.h"

#define HELLO_PROTOCOL	1
#define HELLO_BYTES_MAX 4096u
#define HELLO_TEXT_MAX	512u /* of a WELCOME or ERROR, with its 0 */

struct hello {
	char name[48];
	char group[32];
	uint32_t credit; /* 1..GROUPS_CREDIT_MAX */
};

/* -EBADMSG when it is not a valid HELLO; then `hint` says what is wrong with it. */
int hello_parse(const void *bytes, size_t length, struct hello *ret_hello, char *hint,
		size_t hint_bytes);

/* Text for the peer; returns its length. `streams`: bit mask of enum fcm_stream. */
size_t hello_welcome(unsigned board, const char *group, uint8_t streams, enum fcm_policy policy,
		     char text[HELLO_TEXT_MAX]);
/* `retry_ms`: HELLO may succeed within so long; 0: it does not. */
size_t hello_error(const char *error, const char *hint, uint32_t retry_ms,
		   char text[HELLO_TEXT_MAX]);
