/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The network's control server: its start; refused connections and requests, sockets that cannot be opened. */
#pragma once

#include <stddef.h>

struct station;

int network_start(struct station *s); /* when the store runs */
void network_allow_keys(struct station *s);
void network_second(struct station *s);
/* The last request that its peer's role did not allow. */
void network_note_refused(struct station *s, const char *origin, const char *text);
void doors_second(struct station *s);
/* Sockets that cannot be opened now, as words; "": none. As reports_groups() knew it last. */
void doors_closed(struct station *s, char *text, size_t size);
