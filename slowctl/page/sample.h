/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A look into the data: a monitor (libfcmdata) for a fraction of a second, as often as it is asked for. From some
 * blocks of each floor: the modules' hits, the histogram of their charges, the spectrum of each hydrophone. On a thread
 * of its own, because connecting and receiving wait.
 */
#pragma once

#include <jansson.h>

#define SAMPLE_CHARGES 48u /* bins; three to an octave, so bin k begins at 2^(k/3) */

struct event_base;
struct sample;

/* `key_file`: where data are encrypted, of fcmctl key make; else NULL. `done` gets a new reference: {time, links, error},
 * see README.md. NULL: out of memory. */
struct sample *sample_new(struct event_base *base, const char *key_file,
			  void (*done)(void *context, json_t *sample), void *context);
void sample_free(struct sample *s); /* NULL is fine */
/* Takes one, unless it is taking one. `endpoint` "": there is no data to look into. */
void sample_ask(struct sample *s, const char *endpoint, const char *public_key);
