/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What each receiver has been told, and what waits to be delivered: kept in a file, so that neither is lost by a restart.
 * Bounded: of more than BOOK_WAITING notices the oldest are dropped and counted, of more than BOOK_TOLD incidents the
 * oldest forgotten.
 */
#pragma once

#include <jansson.h>

#include "slowctl/notify/receiver.h"

#define BOOK_WAITING 200u
#define BOOK_TOLD    500u

struct book;

/* Reads `path`, or begins a new one; a file that is damaged is renamed to PATH.damaged. NULL: out of memory. */
struct book *book_open(const char *path, const struct receivers *receivers);
/* Writes it, if it has changed. NULL is fine. */
void book_close(struct book *b);
/* Writes it, if it has changed. Negative errno: it is tried again with the next change. */
int book_keep(struct book *b);
/* When the first notice was made ever, UTC s: what had ended before is old. */
double book_started(const struct book *b);

/* Of receiver `r` (its index). NULL: it has been told nothing of it. */
const struct notify_told *book_told(const struct book *b, unsigned r,
				    const struct notify_incident *i);
/* It is due: `notice` (taken over) waits for delivery, and the incident has been told. */
void book_add(struct book *b, unsigned r, const struct notify_incident *i, enum notice kind,
	      json_t *notice);
/* NOTICE_PASSED. */
void book_pass(struct book *b, unsigned r, const struct notify_incident *i);

/* How many wait, and the notices themselves, oldest first (borrowed). */
unsigned book_waiting(const struct book *b, unsigned r);
const json_t *book_notices(const struct book *b, unsigned r);
/* That were dropped since the last delivery. */
unsigned book_dropped(const struct book *b, unsigned r);
/* The oldest `count` are on their way: these are not dropped. 0: they are not any more. */
void book_send(struct book *b, unsigned r, unsigned count);
/* They have been delivered. */
void book_delivered(struct book *b, unsigned r);
