/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the daemon says of the station now, asked over its control socket once a second by a reader. Never waits: a daemon
 * that is not running, hangs, or refuses us shows as the age of its last answer, and as a text why.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "slowctl/reader/reader.h"

struct event_base;
struct station;

/* `place` stays the caller's. `news` is called when a status has come. NULL: out of memory. */
struct station *station_new(struct event_base *base, const struct reader_place *place,
			    void (*news)(void *context), void *context);
void station_free(struct station *s); /* NULL is fine */

/* To be called once a second while anybody looks. False: there is no daemon to ask. */
bool station_ask(struct station *s);
/* {time, age_s|null, away|null, do|null, status|null, members, modules}, see README.md. A new reference. */
json_t *station_now(const struct station *s);
/* Where monitors connect, and the daemon's public key; "" and NULL: there is none, or it is not known yet. */
const char *station_monitors(const struct station *s, const char **ret_public_key);
