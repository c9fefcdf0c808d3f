/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One delivery: a program runs and is given the words. A mail is sendmail's, a webhook curl's. It ends within
 * DELIVER_S, or is killed with its process group; nothing waits for it.
 */
#pragma once

#include "slowctl/notify/receiver.h"
#include "slowctl/notify/words.h"

#define DELIVER_S 60

struct event_base;
struct delivery;

/* `why` NULL: delivered; else in one line. The delivery is void then. */
typedef void (*delivered_fn)(void *context, const char *why);

/* `board`: for the program's environment. NULL: it could not be started, and ret_why says why. */
struct delivery *delivery_begin(struct event_base *base, const struct receiver *r, unsigned board,
				const struct notify_words *w, delivered_fn done, void *context,
				char *ret_why, size_t size);
/* Kills it; done() is not called. NULL is fine. */
void delivery_kill(struct delivery *d);
