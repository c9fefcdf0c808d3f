/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What several commands of this room show. */
#pragma once

#include "slowctl/fcmctl/core/ctl.h"

/* The status screen, for status and top; `result` as of op status. top adds "shown": only so many reasons, and how many
 * more there are; and "brief": neither what is inside the daemon, nor addresses, nor silence timers. */
void ctl_status_render(struct writer *w, const json_t *result);
/* The status while the daemon is not running: `err` of ctl_connect(). */
json_t *ctl_status_away(struct ctl *ctl, int err);
void ctl_status_render_away(struct writer *w, const json_t *result);
/* Whether the pause of an alarm, or of a reason of status, covers its present severity. */
bool ctl_alarm_paused(const json_t *alarm);
/* "acknowledged by anna: ...; paused until ... by ...: ...", "" without either. Returns buf. */
const char *ctl_alarm_dealt(const json_t *alarm, char *buf, size_t size);
/* How it was dealt with, what is the matter and what to do, a paragraph each behind `indent` blanks. */
void ctl_alarm_advise(struct writer *w, const json_t *alarm, size_t indent);
/* Recent events, for top and event list. */
void ctl_event_render(struct writer *w, const json_t *result);
/* What follows the clock's state in a sentence: " by gpsd", " since ..., last by gpsd". */
const char *ctl_clock_words(const json_t *clock, char *buffer, size_t size);
