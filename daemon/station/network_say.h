/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The network's control server: its start; who was refused at a door. */
#ifndef DAEMON_STATION_NETWORK_SAY_H
#define DAEMON_STATION_NETWORK_SAY_H

#include "daemon/core/bucket.h"
#include "daemon/core/told.h"

struct station;

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

#endif
