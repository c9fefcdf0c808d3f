/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Listening sockets that cannot be opened. */
#ifndef DAEMON_STATION_DOORS_SAY_H
#define DAEMON_STATION_DOORS_SAY_H

#include <stddef.h>

struct station;

#define DOORS_TEXT 400 /* bytes */

void doors_second(struct station *s);
/* Sockets that cannot be opened now, as words; "": none. As reports_groups() knew it last. */
void doors_closed(struct station *s, char *text, size_t size);

#endif
