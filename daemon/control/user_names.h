/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of users. The name service may block (files, other machines), so a separate thread asks it.
 * Names are cached for a minute. Main thread, libevent.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event_base;
struct names;

#define NAMES_WAIT_MS 250u /* then the number is used instead */

/* `known` is called when names_get() that was false may be called again. Negative errno. */
int names_open(struct event_base *base, void (*known)(void *context), void *context,
	       struct names **ret_names);
/* The user's name; "uid 1000" when it has none, or did not come within NAMES_WAIT_MS. False: it is asked for. */
bool names_get(struct names *n, uint32_t uid, char *text, size_t size);
/* NULL is fine. */
void names_close(struct names *n);
