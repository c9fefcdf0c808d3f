/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The GPS receiver on the roof, as gpsd sees it: RMC, GGA, GSA, GSV and ZDA once a second, some
 * 100 ms after its beginning, on a pseudo-terminal or by UDP. The emulator holds both ends of the terminal
 * open for its whole life: a receiver that is lost falls silent or says `void`, its terminal stays.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum gps_state { GPS_OK, GPS_VOID, GPS_SILENT };

/* The sentences of a second of UTC (since 1970; `inserted` for 23:59:60) in buffer, one string.
 * Returns its length, 0 when silent. 1024 bytes are enough. */
size_t gps_sentences(enum gps_state state, int64_t utc_s, bool inserted, char *buffer, size_t size);

struct gps;
/* With `link_path`: opens a pseudo-terminal and puts a symbolic link to it there, replacing a stale link. As
 * root the terminal is given to user gpsd, if there is one: gpsd drops to it. -EEXIST when there is something
 * else than a link. Without: sends to this UDP port of this machine, which gpsd may read where AppArmor keeps it
 * from pseudo-terminals, as on Debian. */
int gps_create(const char *link_path, unsigned port, struct gps **ret_gps);
/* Removes the link. NULL is fine. */
void gps_destroy(struct gps *g);
/* Send the sentences. On a terminal those of the last second that were not read are discarded first, so that a
 * late reader never gets old time. */
void gps_say(struct gps *g, const char *text, size_t length);
