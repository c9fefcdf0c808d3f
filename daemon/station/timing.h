/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpsd, PPS and system clock to the clock; its labels to capture, its states to the log and the store. */
#pragma once

struct station;
struct store_past;

int timing_start(struct station *s);
void timing_stop(struct station *s);
void timing_tick(struct station *s); /* 10 times a second */
void timing_second(struct station *s);
void timing_restore(struct station *s, const struct store_past *past);
void timing_leaps(struct station *s); /* read the table of leap seconds again */
