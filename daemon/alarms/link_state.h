/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a link is, and how long "the last minute" is: for the station, which finds them out, and the judge. */
#ifndef DAEMON_ALARMS_LINK_STATE_H
#define DAEMON_ALARMS_LINK_STATE_H

#define LOSS_WINDOW_S 60u /* "the last minute" of losses and drops */

/* Each implies that it is not one of those before. */
enum link_state { LINK_OFF, LINK_DARK, LINK_ALIGNING, LINK_SILENT, LINK_UP };

#endif
