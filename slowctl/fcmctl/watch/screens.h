/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What several commands of this room show. */
#pragma once

#include "slowctl/fcmctl/core/ctl.h"

#define CTL_SCREEN_LINES   24u /* of status, however much is wrong */
#define CTL_SCREEN_COLUMNS 80u

/* The status screen, for status and top; `result` as of op status, prepared by ctl_status_prepare(). */
void ctl_status_render(struct writer *w, const json_t *result);
/* Commands as they can be typed; `lines`: of the screen, at most CTL_SCREEN_LINES. */
void ctl_status_prepare(const struct ctl *ctl, json_t *status, size_t lines);
/* All about it, however long. */
void ctl_status_render_all(struct writer *w, const json_t *result);
/* The status while the daemon is not running: `err` of ctl_connect(). To be prepared as well. */
json_t *ctl_status_away(struct ctl *ctl, int err);
void ctl_status_render_away(struct writer *w, const json_t *result);
/* 1 when the station is red. */
int ctl_status_exit(const json_t *status);
/* An incident in one line, and with `advice` one more: what to do, or the command that says it, whichever fits. */
void ctl_incident_lines(struct writer *w, const json_t *incident, bool advice);
/* At the start of a line: that one, without the arrow before it; "": neither fits. */
#define CTL_ADVICE_INDENT "      -> "
const char *ctl_incident_advice(const struct writer *w, const json_t *incident);
/* All about one. */
void ctl_incident_render(struct writer *w, const json_t *incident);
bool ctl_incident_has_cleared(const json_t *incident);
/* Adds `typed` to incidents and observations: what to do, with the options that name this station; `show`: the command. */
void ctl_incident_type(const struct ctl *ctl, json_t *incidents);

/* Those of the past: rows of incident.history. */
void ctl_incident_past_render(struct writer *w, const json_t *incidents);

/* Where frames were lost, and what modules did not see: `hops` of ledger.show, `causes` of dark.show. */
void ctl_hops_render(struct writer *w, const json_t *hops);
void ctl_dark_render(struct writer *w, const json_t *causes);

/* Recent events, for top and event list. */
void ctl_event_render(struct writer *w, const json_t *result);
/* What follows the clock's state in a sentence: " by gpsd", with `since` " since ..., last by gpsd". */
const char *ctl_clock_words(const json_t *clock, bool since, char *buffer, size_t size);
