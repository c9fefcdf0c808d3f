/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The network's control server: its start; sockets that cannot be opened, who was refused at
 * one. */
#pragma once

#include <stddef.h>

#include "daemon/core/limit.h"

struct station;

#define DOORS_TEXT 400 /* bytes */

/* Who may not, and tried. */
struct access_news {
	struct told_count control, reserved, monitors; /* connections */
	struct told_count requests, strangers;
	struct bucket rows;	    /* of refused commands in the journal */
	char origin[80], text[320]; /* of the last request that its peer's role did not allow */
};

int network_start(struct station *s); /* when the store runs */
void network_allow_keys(struct station *s);
void network_second(struct station *s);
void doors_second(struct station *s);
/* Sockets that cannot be opened now, as words; "": none. As reports_groups() knew it last. */
void doors_closed(struct station *s, char *text, size_t size);
